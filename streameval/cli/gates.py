"""Gates, bounds on a metric of all rows or over slices, and conditions on its change."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from itertools import product
from typing import TYPE_CHECKING, cast

import attrs

from streameval.cli.errors import UsageError
from streameval.cli.terminal import Note
from streameval.configs.names import read_number
from streameval.metrics.bounded import Interval
from streameval.render.text import chance_title, significant
from streameval.results.names import (
    GAPS,
    METRIC,
    SIGN,
    Contrast,
    Inequality,
    MetricName,
    parse_metric,
)

if TYPE_CHECKING:
    from streameval.metrics.table import Change, Reading

_GATE = re.compile(rf"\s*({METRIC})\s*({SIGN})\s*(\S+)\s*")
_OVER_SLICES = re.compile(rf"\s*(worst|gap)\((.*)\)\s*({SIGN})\s*(\S+)\s*", re.DOTALL)
_MAX_TIMES = 100  # as many rows as somebody may get
_KIND = re.compile(r"(.+),\s*(\w+)\s*", re.DOTALL)  # not of a metric, which would end in a bracket


@attrs.frozen(repr=False)
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
    if not reading.is_defined:
        return Note("undecided", f"{found}, undefined on these rows.")
    if reading.deciding is None:
        return Note("undecided", f"{found}, {why_no_interval(reading)}.")
    decision = verdict(gate, reading.deciding)
    remedy = _remedy(gate, reading) if decision == "undecided" else ""
    return Note(decision, f"{found}{in_brackets(reading.deciding)}.{remedy}")


def _remedy(gate: Gate, reading: Reading) -> str:
    """Say what would decide a gate whose bound lies within the interval."""
    if reading.sampling is None:
        return " A larger --budget narrows it."
    low, high = reading.sampling
    distance = abs(reading.value - gate.bound.number)
    reach = reading.value - low if reading.value > gate.bound.number else high - reading.value
    times = (reach / distance) ** 2 if distance else math.inf  # widths shrink as the root of rows
    rows = f"about {max(times, 1.1):.2g} times the" if times < _MAX_TIMES else "many more"
    return f" To decide it: {rows} rows, or --level 0, which ignores sampling error."


def why_no_interval(reading: Reading) -> str:
    """Say why there is no interval, and what decides the gate without one."""
    return f"no sampling interval ({reading.why_none}); --level 0 ignores sampling error"


def in_brackets(ends: Interval) -> str:
    """Write the ends of an interval that is more than one point."""
    low, high = ends
    return f" in [{low:.6g}, {high:.6g}]" if low < high else ""


def verdict(gate: Gate, ends: Iterable[float]) -> str:
    """Decide a gate by the ends of an interval."""
    kept = set(map(gate.bound.holds, ends))
    return "undecided" if len(kept) == 2 else "passed" if kept == {True} else "failed"


_CONDITION = re.compile(rf"\s*({METRIC})\s+(drops|rises)\s+([^\s%]+)(%?)\s*")
_EQUAL = 4 * 2.0**-52
"""Numbers that differ by less than this share of the larger one count as equal."""


@attrs.frozen(repr=False)
class Worsening:
    """A change for the worse.

    Parameters
    ----------
    text : str
        The condition as it was given.
    metric : MetricName
        What changes.
    drops : bool
        Whether it is a drop; otherwise it is a rise.
    size : float
        The smallest change that counts; 0 counts every change.
    is_share : bool
        Whether the size is a share of the first value.
    """

    text: str
    metric: MetricName
    drops: bool
    size: float
    is_share: bool

    @property
    def required(self) -> str:
        """What the condition requires: the opposite, as verdicts are about what is required."""
        least = f" by {self.text.split()[-1]} or more" if self.size else ""
        return f"{self.metric} must not {'drop' if self.drops else 'rise'}{least}"

    def holds(self, before: float, after: float) -> bool:
        """Tell whether the change of a value meets the condition, up to rounding.

        The drop from 0.9 to 0.8 is 0.1, although the difference of these floats is a little less.
        """
        change = before - after if self.drops else after - before
        scale = max(abs(before), abs(after))
        is_rounded = isinstance(scale, float) and math.isfinite(scale)
        rounding = _EQUAL * scale if is_rounded else 0.0
        size = self.size * abs(before) if self.is_share else self.size
        return change > rounding and change >= size - rounding


def parse_condition(text: str) -> Worsening:
    """Read a condition like ``recall[macro] drops 0.01`` or ``log_loss rises 5%``.

    Raises
    ------
    UsageError
        If the text is not a condition, or the size is not a finite number of at least 0.
    """
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise UsageError(
            f"{text!r} is not a condition; write one like 'accuracy drops 0.01' or "
            "'log_loss rises 5%'."
        )
    metric, verb, number, percent = match.groups()
    size = read_number(number)
    if size is None or size < 0:
        raise UsageError(f"{text!r}: {number!r} is not a number of at least 0.")
    share = size / 100 if percent else size
    return Worsening(text.strip(), parse_metric(metric), verb == "drops", share, bool(percent))


def decide(condition: Worsening, change: Change, level: float) -> Note:
    """Decide a condition; the category of the note is "passed", "failed" or "undecided".

    The verdict considers every value that each state can have within its certified interval:
    "failed" if the condition holds for all of them, "passed" if for none, and otherwise
    "undecided". It is "undecided" too if a value is undefined.
    """
    values = f"{significant(change.before.value)} to {significant(change.after.value)}"
    found = f"{condition.required}: {values}"
    if math.isnan(change.difference):
        return Note("undecided", f"{found}, so the change is undefined.")
    text = f"{found}, {change.difference:+.6g}"
    if change.is_open:
        text += f" in {_signed(change.bounds)}"
    held = {condition.holds(*pair) for pair in _extremes(change)}
    verdict = "undecided" if len(held) == 2 else "failed" if held == {True} else "passed"
    return Note(verdict, f"{text}{_chance(change, level)}.")


def _extremes(change: Change) -> product[tuple[float, float]]:
    """Pair the first with the second values at which a change is largest or smallest.

    A share of the first value is smallest at 0.
    """
    low, high = change.before.certified
    befores = [low, high, *([0.0] if low < 0.0 < high else [])]
    return product(befores, change.after.certified)


def _chance(change: Change, level: float) -> str:
    """Say whether samples of these sizes may differ this much by chance, and what that assumes."""
    interval = change.sampling
    if interval is None:
        return ""
    low, high = interval
    side = "within" if low <= 0.0 <= high else "beyond"
    said = {
        "independent": f"{side} chance if the samples are independent",
        "alike": "perhaps of the same rows (see --versus); if the samples are independent",
        "paired": f"{side} chance, paired by query",
    }
    return f", {said[change.samples]}: {chance_title(level)} {_signed(interval)}"


def _signed(interval: Interval) -> str:
    return f"[{interval[0]:+.6g}, {interval[1]:+.6g}]"
