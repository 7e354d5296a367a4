"""Text tables of chosen metrics, in 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streameval.cli.terminal import printable
from streameval.results.number_text import interval_text, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from streameval.cli.views.readings import Interval, Reading

__all__ = [
    "aligned",
    "chance_title",
    "metric_table",
    "short_interval",
    "short_number",
    "side_by_side",
]

_WIDTH = 80
_GAP = "  "
_LONGEST_NAME = 24


def metric_table(readings: Mapping[str, Reading], level: float) -> str:
    """Give each metric a line: its value, and the intervals that it has."""
    items = list(readings.values())
    columns = [
        ["metric", *readings],
        ["value", *(_value(reading.value) for reading in items)],
        ["certified interval", *(_certified(reading) for reading in items)],
        [chance_title(level), *(_interval(reading.sampling) for reading in items)],
    ]
    return "\n".join(aligned([column for column in columns if any(column[1:])]))


def chance_title(level: float) -> str:
    """Name the sampling interval.

    >>> chance_title(0.95)
    '95% interval'
    """
    return f"{100 * level:.6g}% interval"


def side_by_side(first: Sequence[list[str]], groups: Iterable[Sequence[list[str]]]) -> str:
    """Lay out groups of columns, as many beside the first columns as fit, the rest below.

    Parameters
    ----------
    first : sequence of lists of str
        The columns that every table begins with: a heading and a cell for each line.
    groups : iterable of sequences of lists of str
        Columns that stay together.
    """
    tables: list[list[list[str]]] = []
    for group in groups:
        if not tables or _width([*tables[-1], *group]) > _WIDTH:
            tables.append(list(first))
        tables[-1] += group
    return "\n\n".join("\n".join(aligned(table)) for table in tables)


def aligned(columns: Sequence[Sequence[str]]) -> list[str]:
    """Make lines of columns: the first one to the left, the others to the right."""
    names, *others = columns
    padded = [
        _padded(list(map(_shortened, names)), "<"),
        *(_padded(cells, ">") for cells in others),
    ]
    return [_GAP.join(line).rstrip() for line in zip(*padded, strict=True)]


def short_number(value: float) -> str:
    """Write a metric with four decimals, small or large ones with four digits, and a count.

    >>> short_number(0.97051), short_number(0.00012345), short_number(1797)
    ('0.9705', '0.0001234', '1,797')
    """
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if 0 < abs(value) < 1e-3 or abs(value) >= 1000 else f"{value:.4f}"


def short_interval(interval: Interval | None) -> str:
    """Write an interval that briefly; none is nothing."""
    return "" if interval is None else f"[{short_number(interval[0])}, {short_number(interval[1])}]"


def _value(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else number(value)


def _certified(reading: Reading) -> str:
    low, high = reading.certified
    return interval_text(low, high) if low < high else ""


def _interval(interval: Interval | None) -> str:
    return "" if interval is None else interval_text(*interval)


def _padded(cells: Sequence[str], side: str) -> list[str]:
    texts = list(map(printable, cells))
    width = max(map(len, texts))
    return [f"{text:{side}{width}}" for text in texts]


def _shortened(name: str) -> str:
    """Keep a name on its line, and in its column."""
    text = printable(name)
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 3]}..."


def _width(columns: Sequence[Sequence[str]]) -> int:
    return len(max(aligned([list(column) for column in columns]), key=len))
