"""Gates: bounds that a metric has to keep, with its sampling interval."""

from __future__ import annotations

import math
import re

import attrs

from streameval.cli.errors import UsageError
from streameval.cli.terminal import Note

__all__ = ["Gate", "Measured", "judge", "parse_gate"]

_GATE = re.compile(r"\s*([A-Za-z]\w*)(?:\[(.+)\])?\s*(>=|<=|>|<)\s*(\S+)\s*")


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
    """A metric, and its sampling interval if there is one."""

    value: float
    interval: tuple[float, float] | None


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


def judge(gate: Gate, measured: Measured) -> Note:
    """Decide a gate; its verdict, "passed", "failed" or "undecided", is the kind of the note.

    A gate passes only if the whole interval is on the right side, and fails if none of it is;
    in between, and where there is no interval, it is undecided.
    """
    found = f"{gate.text}: {measured.value:.6g}"
    if math.isnan(measured.value):
        return Note("undecided", f"{found}, undefined on these rows.")
    if measured.interval is None:
        why = "no sampling interval (fractional weights and empty classes have none)"
        return Note("undecided", f"{found}, {why}; --level 0 compares the value itself.")
    low, high = measured.interval
    if low < high:
        found += f" in [{low:.6g}, {high:.6g}]"
    kept = {gate.keeps(low), gate.keeps(high)}
    verdict = "undecided" if len(kept) == 2 else "passed" if kept == {True} else "failed"
    return Note(verdict, f"{found}.")
