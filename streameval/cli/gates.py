"""Gates: bounds that a metric has to keep, with its interval."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import attrs

from streameval.cli.errors import UsageError, nearest
from streameval.cli.terminal import Note
from streameval.metrics.bounded import Bounded

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "Gate",
    "Measured",
    "certified",
    "check_metric",
    "judge",
    "parse_gate",
    "refuse_brackets",
]

_METRIC = r"[A-Za-z]\w*(?:\([^()]*\))?(?:@[0-9]+)?"  # recall, ndcg@10, rbp(p=0.8)
_GATE = re.compile(rf"\s*({_METRIC})(?:\[(.+)\])?\s*(>=|<=|>|<)\s*(\S+)\s*")


@attrs.frozen
class Gate:
    """A bound on a metric.

    Parameters
    ----------
    text : str
        The gate as it was given.
    metric : str
        The name of the metric.
    of : str or None
        What stands in brackets: an average or a class.
    sign : str
        One of ">=", ">", "<=" and "<".
    bound : float
        The number that the metric is compared with.
    """

    text: str
    metric: str
    of: str | None
    sign: str
    bound: float

    def keeps(self, value: float) -> bool:
        """Tell whether one value is on the right side."""
        if self.sign[0] == "<":
            return value < self.bound or (self.sign == "<=" and value == self.bound)
        return value > self.bound or (self.sign == ">=" and value == self.bound)


@attrs.frozen
class Measured:
    """A metric, and its interval; or why there is none."""

    value: float
    interval: tuple[float, float] | None
    why_none: str = ""


def parse_gate(text: str) -> Gate:
    """Read a gate like ``recall[macro]>=0.9``.

    Raises
    ------
    UsageError
        If the text is no gate, or the bound is no finite number.
    """
    match = _GATE.fullmatch(text)
    if match is None:
        raise UsageError(f"{text!r} is no gate; write one like 'accuracy>=0.9'.")
    metric, of, sign, number = match.groups()
    try:
        bound = float(number)
    except ValueError:
        bound = math.nan
    if not math.isfinite(bound):
        raise UsageError(f"{text!r} compares with {number!r}, which is no finite number.")
    return Gate(text.strip(), metric, of, sign, bound)


def check_metric(gate: Gate, known: Iterable[str]) -> None:
    """Raise UsageError if the metric of a gate is not known."""
    if gate.metric not in known:
        raise UsageError(f"no metric {gate.metric!r}: {nearest(gate.metric, known)}")


def refuse_brackets(gate: Gate) -> None:
    """Raise UsageError if a gate asks for an average or a class of a metric that has none."""
    if gate.of is not None:
        raise UsageError(f"{gate.text!r}: {gate.metric} has no averages and no classes.")


def certified(number: float) -> Measured:
    """Give a metric with its certified interval; a count, or another plain number, is its own."""
    if isinstance(number, Bounded):
        return Measured(number, (number.low, number.high))
    return Measured(number, (number, number))


def judge(gate: Gate, measured: Measured) -> Note:
    """Decide a gate; its verdict, "passed", "failed" or "undecided", is the kind of the note.

    A gate passes only if the whole interval is on the right side, and fails if none of it is;
    in between, and where there is no interval, it is undecided.
    """
    found = f"{gate.text}: {measured.value:.6g}"
    if math.isnan(measured.value):
        return Note("undecided", f"{found}, undefined on these rows.")
    if measured.interval is None:
        why = f"no sampling interval ({measured.why_none})"
        return Note("undecided", f"{found}, {why}; --level 0 compares the value itself.")
    low, high = measured.interval
    if low < high:
        found += f" in [{low:.6g}, {high:.6g}]"
    kept = {gate.keeps(low), gate.keeps(high)}
    verdict = "undecided" if len(kept) == 2 else "passed" if kept == {True} else "failed"
    return Note(verdict, f"{found}.")
