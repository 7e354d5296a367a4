"""Gates: bounds that a metric has to keep, with its interval."""

from __future__ import annotations

import math
import re

import attrs

from streameval.cli.errors import UsageError
from streameval.cli.terminal import Note
from streameval.metrics.table import Reading
from streameval.results.names import METRIC, MetricName, parse_metric

__all__ = ["Gate", "judge", "parse_gate"]

_GATE = re.compile(rf"\s*({METRIC})\s*(>=|<=|>|<)\s*(\S+)\s*")


@attrs.frozen
class Gate:
    """A bound on a metric.

    Parameters
    ----------
    text : str
        The gate as it was given.
    metric : MetricName
        What is bounded.
    sign : str
        One of ">=", ">", "<=" and "<".
    bound : float
        The number that the metric is compared with.
    """

    text: str
    metric: MetricName
    sign: str
    bound: float

    def keeps(self, value: float) -> bool:
        """Tell whether one value is on the right side."""
        if self.sign[0] == "<":
            return value < self.bound or (self.sign == "<=" and value == self.bound)
        return value > self.bound or (self.sign == ">=" and value == self.bound)


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
    metric, sign, number = match.groups()
    try:
        bound = float(number)
    except ValueError:
        bound = math.nan
    if not math.isfinite(bound):
        raise UsageError(f"{text!r} compares with {number!r}, which is no finite number.")
    return Gate(text.strip(), parse_metric(metric), sign, bound)


def judge(gate: Gate, reading: Reading) -> Note:
    """Decide a gate; the category of the note is "passed", "failed" or "undecided".

    A gate passes only if the whole interval is on the right side, and fails if none of it is;
    in between, and where there is no interval, it is undecided.
    """
    found = f"{gate.text}: {reading.value:.6g}"
    if math.isnan(reading.value):
        return Note("undecided", f"{found}, undefined on these rows.")
    if reading.deciding is None:
        why = f"no sampling interval ({reading.why_none})"
        return Note("undecided", f"{found}, {why}; --level 0 compares the value itself.")
    low, high = reading.deciding
    if low < high:
        found += f" in [{low:.6g}, {high:.6g}]"
    kept = {gate.keeps(low), gate.keeps(high)}
    verdict = "undecided" if len(kept) == 2 else "passed" if kept == {True} else "failed"
    return Note(verdict, f"{found}.")
