"""The differences of two states as a text table, in 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streameval.cli.terminal import printable
from streameval.cli.views.tables import aligned, chance_title
from streameval.results.number_text import number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from streameval.cli.states.changes import Change
    from streameval.cli.views.readings import Interval

__all__ = ["change_table"]

_WIDTH = 80
_LONGEST_NAME = 24
_SMALL = 1e-3
_MANY = 10**12  # three such counts, with their commas, would not fit beside a name


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
        if max(map(len, aligned(wider))) <= _WIDTH:
            table = wider
        else:
            rows = [pair for pair in zip(numbers[0], column, strict=True) if pair[1]]
            below.append([list(cells) for cells in zip(*rows, strict=True)])
    return ["\n".join(aligned(columns)) for columns in (table, *below)]


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
