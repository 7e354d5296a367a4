"""Evidence that metrics have passed limits, for the panes of a state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streameval.cli.errors import UsageError
from streameval.cli.terminal import Note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streameval.cli.options import Reporting
    from streameval.results.evidence import Evidence

_DEFAULT_PROMISE = "1 per 30d"


def evidence_of(accumulator: Any, reporting: Reporting) -> tuple[Evidence, ...]:
    """Weigh the evidence against each requested limit; all limits share one promise.

    Raises
    ------
    UsageError
        If there are no panes of time.
    InvalidInputError
        If a metric has no evidence that stays valid.
    """
    limits, promise = reporting.limits, reporting.false_alarms
    if promise is not None and not limits:
        raise UsageError("--false-alarms needs --evidence.")
    if not limits:
        return ()
    from streameval.accumulators.evidence import evidence  # noqa: PLC0415 (rarely asked for)
    from streameval.accumulators.windowed import Windowed  # noqa: PLC0415

    if not isinstance(accumulator, Windowed):
        raise UsageError("--evidence needs panes of time, which eval counts with --time.")
    return tuple(
        evidence(
            accumulator,
            str(limit.metric),
            at_least=limit.bound.number if limit.bound.sign == ">=" else None,
            at_most=limit.bound.number if limit.bound.sign == "<=" else None,
            false_alarms=_DEFAULT_PROMISE if promise is None else promise,
            n_series=len(limits),
        )
        for limit in limits
    )


def verdicts_of(found: Sequence[Evidence]) -> list[Note]:
    """Say for each limit whether an alarm has fired."""
    return [Note("failed" if one.firing else "passed", f"{one.line()}.") for one in found]


def evidence_entries(found: Sequence[Evidence]) -> dict[str, Any]:
    """Return the entries of the JSON object; empty if no limit was requested."""
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
