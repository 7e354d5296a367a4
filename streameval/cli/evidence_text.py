"""Evidence that metrics have passed limits, for the panes of a state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streameval.accumulators.evidence import evidence
from streameval.accumulators.windowed import Windowed
from streameval.cli.errors import UsageError
from streameval.cli.gates import parse_gate
from streameval.cli.terminal import Note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streameval.cli.gates import Gate
    from streameval.cli.options import Reporting
    from streameval.results.evidence import Evidence

__all__ = ["evidence_entries", "evidence_of", "parse_limit", "verdicts_of"]

_USUAL = "1 per 30d"


def parse_limit(text: str) -> Gate:
    """Read a limit like ``recall[1]>=0.8``.

    Raises
    ------
    UsageError
        If the text is not a gate, or leaves the limit itself out.
    """
    limit = parse_gate(text)
    if len(limit.bound.sign) == 1:
        raise UsageError(f"{text!r} must have >= or <=: reaching a limit counts as keeping it.")
    return limit


def evidence_of(accumulator: Any, reporting: Reporting) -> tuple[Evidence, ...]:
    """Weigh the evidence against each limit that was asked about; they share one promise.

    Raises
    ------
    UsageError
        If there are no panes of time.
    InvalidInputError
        If there is no evidence of a metric that stays valid.
    """
    limits, promise = reporting.limits, reporting.false_alarms
    if promise is not None and not limits:
        raise UsageError("--false-alarms needs --evidence.")
    if limits and not isinstance(accumulator, Windowed):
        raise UsageError("--evidence needs panes of time, which eval counts with --time.")
    return tuple(
        evidence(
            accumulator,
            str(limit.metric),
            at_least=limit.bound.number if limit.bound.sign == ">=" else None,
            at_most=limit.bound.number if limit.bound.sign == "<=" else None,
            false_alarms=_USUAL if promise is None else promise,
            n_series=len(limits),
        )
        for limit in limits
    )


def verdicts_of(found: Sequence[Evidence]) -> list[Note]:
    """Say of each limit whether an alarm has fired."""
    return [Note("failed" if one.firing else "passed", f"{one.line()}.") for one in found]


def evidence_entries(found: Sequence[Evidence]) -> dict[str, Any]:
    """Return the entries of the JSON object; none where no limit was asked about."""
    return {"evidence": [_entry(one) for one in found]} if found else {}


def _entry(one: Evidence) -> dict[str, Any]:
    fired_at = one.fired_at
    return {
        "metric": one.metric,
        "limit": str(one.limit),
        **one.as_dict(),
        "fired_at": fired_at if fired_at is None or isinstance(fired_at, int) else f"{fired_at}Z",
        "mean_panes": one.mean_panes,
        "n_series": one.n_series,
        "exact": one.exact,
    }
