"""How metrics differ between two states, and how sure that is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import attrs

from streameval.render.text import WIDTH, chance_title, named_columns, number, printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from streameval.metrics.table import Interval, Reading

__all__ = ["Change", "change_table"]

_LONGEST_NAME = 24
_SMALL = 1e-3
_MANY = 10**12  # three such counts, with their commas, would not fit beside a name


@attrs.frozen
class Change:
    """A metric before and after.

    Parameters
    ----------
    before, after : Reading
        What the two states say of it.
    """

    before: Reading
    after: Reading

    @property
    def difference(self) -> float:
        """After minus before, nan where either is undefined."""
        return self.after.value - self.before.value

    @property
    def bounds(self) -> Interval:
        """The certified interval of the difference of what was counted."""
        (a_low, a_high), (b_low, b_high) = self.before.certified, self.after.certified
        return b_low - a_high, b_high - a_low

    @property
    def is_open(self) -> bool:
        """Whether what was counted leaves the difference open."""
        low, high = self.bounds
        return low < high

    @property
    def sampling(self) -> Interval | None:
        """The sampling interval of the difference of two independent samples.

        The method of variance estimates recovery: each end takes from both samples the distance
        to the end of their own interval that matters (Newcombe, "Interval estimation for the
        difference between independent proportions", 1998; Zou and Donner, "Construction of
        confidence limits about effect measures", 2008). None where either has no interval.
        """
        a, b = self.before, self.after
        if a.sampling is None or b.sampling is None:
            return None
        (a_low, a_high), (b_low, b_high) = a.sampling, b.sampling
        down = math.hypot(b.value - b_low, a_high - a.value)
        up = math.hypot(b_high - b.value, a.value - a_low)
        return self.difference - down, self.difference + up


def change_table(
    sides: Sequence[tuple[str, str]], changes: Mapping[str, Change], level: float
) -> str:
    """Give each metric a line: both values, the difference, and the intervals that it has.

    Where the lines would be too long, intervals have a table of their own below.

    Parameters
    ----------
    sides : sequence of (str, str)
        The path of each state, and how much it holds.
    changes : mapping of str to Change
        By metric.
    level : float
        That of the sampling intervals.
    """
    items = list(changes.values())
    numbers = [
        ["metric", *map(_shortened, changes)],
        ["A", *(_plain(change.before.value) for change in items)],
        ["B", *(_plain(change.after.value) for change in items)],
        ["B - A", *(_signed(change.difference) for change in items)],
    ]
    intervals = [
        [
            "certified interval",
            *(_interval(change.bounds if change.is_open else None) for change in items),
        ],
        [chance_title(level), *(_interval(change.sampling) for change in items)],
    ]
    heading = [
        printable(f"{name}: {path}, {size}") for name, (path, size) in zip("AB", sides, strict=True)
    ]
    return "\n\n".join(["\n".join(heading), *_tables(numbers, intervals)])


def _tables(numbers: list[list[str]], intervals: list[list[str]]) -> list[str]:
    """Put intervals beside the numbers if they fit, else below, without empty lines."""
    table, below = list(numbers), []
    for column in intervals:
        if not any(column[1:]):
            continue
        wider = [*table, column]
        if max(map(len, named_columns(wider))) <= WIDTH:
            table = wider
        else:
            rows = [pair for pair in zip(numbers[0], column, strict=True) if pair[1]]
            below.append([list(cells) for cells in zip(*rows, strict=True)])
    return ["\n".join(named_columns(columns)) for columns in (table, *below)]


def _shortened(name: str) -> str:
    """Leave out the middle of a long name: many begin alike, and others end so."""
    if len(name) <= _LONGEST_NAME:
        return name
    kept = (_LONGEST_NAME - 3) // 2
    return f"{name[: _LONGEST_NAME - 3 - kept]}...{name[-kept:]}"


def _plain(value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}" if abs(value) < _MANY else f"{value:.6g}"
    return number(value)


def _signed(value: float) -> str:
    """Write a difference with its sign, small ones with three digits; 0 has none."""
    if 0 < abs(value) < _SMALL:
        return f"{value:+.3g}"
    return f"+{_plain(value)}" if value > 0 else _plain(value)


def _interval(interval: Interval | None) -> str:
    return "" if interval is None else f"[{_signed(interval[0])}, {_signed(interval[1])}]"
