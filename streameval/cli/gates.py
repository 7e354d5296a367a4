"""Gates: bounds that a metric and its interval must satisfy, of all rows or over slices."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, cast

import attrs

from streameval.cli.errors import UsageError
from streameval.cli.terminal import Note
from streameval.render.text import significant
from streameval.results.names import METRIC, SIGN, Inequality, MetricName, parse_metric, read_number
from streameval.results.slice_search import GAPS, Contrast

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streameval.metrics.bounded import Interval
    from streameval.metrics.table import Reading

_GATE = re.compile(rf"\s*({METRIC})\s*({SIGN})\s*(\S+)\s*")
_OVER_SLICES = re.compile(rf"\s*(worst|gap)\((.*)\)\s*({SIGN})\s*(\S+)\s*", re.DOTALL)
_KIND = re.compile(r"(.+),\s*(\w+)\s*", re.DOTALL)  # not of a metric, which would end in a bracket


@attrs.frozen
class Gate:
    """A bound on a metric, or on what compares the metric of slices.

    Parameters
    ----------
    text : str
        The gate as it was given.
    bound : Inequality
        The inequality that must hold.
    over : {"worst", "difference", "ratio"}, optional
        What is bounded: the metric of the worst slice, or the gap between slices; by default, the
        metric of all rows.
    """

    text: str
    bound: Inequality
    over: Contrast | None = None

    @property
    def metric(self) -> MetricName:
        """The metric that is bounded."""
        return self.bound.metric


def parse_gate(text: str) -> Gate:
    """Read a gate like ``recall[macro]>=0.9``, ``worst(recall)>=0.7`` or ``gap(recall)<=0.05``.

    Raises
    ------
    UsageError
        If the text is not a gate, or the bound is not a finite number.
    """
    over_slices = _OVER_SLICES.fullmatch(text)
    match = over_slices or _GATE.fullmatch(text)
    if match is None:
        raise UsageError(f"{text!r} is not a gate; write one like 'accuracy>=0.9'.")
    *what, sign, written = match.groups()
    over, metric = _compared(text, *what) if over_slices else (None, what[0])
    number = read_number(written)
    if number is None:
        raise UsageError(f"{text!r} compares with {written!r}, which is not a finite number.")
    return Gate(text.strip(), Inequality(parse_metric(metric), sign, number), over)


def _compared(text: str, function: str, inside: str) -> tuple[Contrast, str]:
    """Read what a gate over slices compares, and its metric."""
    if function == "worst":
        return "worst", inside
    match = _KIND.fullmatch(inside)
    metric, kind = match.groups() if match else (inside, "difference")
    if kind not in GAPS:
        raise UsageError(f"{text!r} must have {' or '.join(GAPS)} after the comma, got {kind!r}.")
    return cast("Contrast", kind), metric


def parse_limit(text: str) -> Gate:
    """Read a limit like ``recall[1]>=0.8``.

    Raises
    ------
    UsageError
        If the text is not a gate, is over slices, or does not include the limit itself.
    """
    limit = parse_gate(text)
    if limit.over:
        raise UsageError(f"{text!r} compares slices; evidence is of all rows or one slice.")
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
        return Note("undecided", f"{found}, {without_interval(reading)}.")
    return Note(verdict(gate, reading.deciding), f"{found}{within(reading.deciding)}.")


def without_interval(reading: Reading) -> str:
    """Say why there is no interval, and what decides the gate without one."""
    return f"no sampling interval ({reading.why_none}); --level 0 ignores sampling error"


def within(ends: Interval) -> str:
    """Write the ends of an interval that is more than one point."""
    low, high = ends
    return f" in [{low:.6g}, {high:.6g}]" if low < high else ""


def verdict(gate: Gate, ends: Iterable[float]) -> str:
    """Decide a gate by the ends of an interval."""
    kept = set(map(gate.bound.holds, ends))
    return "undecided" if len(kept) == 2 else "passed" if kept == {True} else "failed"
