"""Conditions: how far a metric may drop or rise from one state to another."""

from __future__ import annotations

import math
import re
from itertools import product
from typing import TYPE_CHECKING

import attrs

from streameval.cli.errors import UsageError
from streameval.cli.terminal import Note
from streameval.render.text import chance_title, significant
from streameval.results.names import METRIC, MetricName, parse_metric

if TYPE_CHECKING:
    from streameval.metrics.bounded import Interval
    from streameval.metrics.changes import Change

_CONDITION = re.compile(rf"\s*({METRIC})\s+(drops|rises)\s+([^\s%]+)(%?)\s*")
_EQUAL = 4 * 2.0**-52
"""Numbers that differ by less than this share of the larger one count as equal."""


@attrs.frozen
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
    try:
        size = float(number)
    except ValueError:
        size = math.nan
    if not (math.isfinite(size) and size >= 0):
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
    text = f"{condition.text}: {values}, {change.difference:+.6g}"
    if math.isnan(change.difference):
        return Note("undecided", f"{condition.text}: {values}, so the change is undefined.")
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
