"""Gates: bounds that a metric and its interval must satisfy."""

from __future__ import annotations

import math
import re

import attrs

from streameval.cli.errors import UsageError
from streameval.cli.terminal import Note
from streameval.metrics.table import Reading
from streameval.render.text import significant
from streameval.results.inequality import SIGN, Inequality, read_number
from streameval.results.names import METRIC, MetricName, parse_metric

_GATE = re.compile(rf"\s*({METRIC})\s*({SIGN})\s*(\S+)\s*")


@attrs.frozen
class Gate:
    """A bound on a metric.

    Parameters
    ----------
    text : str
        The gate as it was given.
    bound : Inequality
        The inequality that must hold.
    """

    text: str
    bound: Inequality

    @property
    def metric(self) -> MetricName:
        """The metric that is bounded."""
        return self.bound.metric


def parse_gate(text: str) -> Gate:
    """Read a gate like ``recall[macro]>=0.9``.

    Raises
    ------
    UsageError
        If the text is not a gate, or the bound is not a finite number.
    """
    match = _GATE.fullmatch(text)
    if match is None:
        raise UsageError(f"{text!r} is not a gate; write one like 'accuracy>=0.9'.")
    metric, sign, written = match.groups()
    number = read_number(written)
    if number is None:
        raise UsageError(f"{text!r} compares with {written!r}, which is not a finite number.")
    return Gate(text.strip(), Inequality(parse_metric(metric), sign, number))


def parse_limit(text: str) -> Gate:
    """Read a limit like ``recall[1]>=0.8``.

    Raises
    ------
    UsageError
        If the text is not a gate, or does not include the limit itself.
    """
    limit = parse_gate(text)
    if len(limit.bound.sign) == 1:
        raise UsageError(f"{text!r} must have >= or <=: reaching a limit counts as keeping it.")
    return limit


def judge(gate: Gate, reading: Reading) -> Note:
    """Decide a gate; the category of the note is "passed", "failed" or "undecided".

    A gate passes if the whole interval satisfies the bound, and fails if no part of it does.
    Otherwise, or without an interval, it is undecided.
    """
    found = f"{gate.text}: {significant(reading.value)}"
    if math.isnan(reading.value):
        return Note("undecided", f"{found}, undefined on these rows.")
    if reading.deciding is None:
        why = f"no sampling interval ({reading.why_none})"
        return Note("undecided", f"{found}, {why}; --level 0 ignores sampling error.")
    low, high = reading.deciding
    if low < high:
        found += f" in [{low:.6g}, {high:.6g}]"
    kept = {gate.bound.holds(low), gate.bound.holds(high)}
    verdict = "undecided" if len(kept) == 2 else "passed" if kept == {True} else "failed"
    return Note(verdict, f"{found}.")
