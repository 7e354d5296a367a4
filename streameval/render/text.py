"""Numbers, names and tables as text: what `report`, `show`, `diff` and `explain` print."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, takewhile

import attrs

from streameval.errors import InvalidInputError
from streameval.metrics.table import Interval, Reading

__all__ = [
    "WIDTH",
    "Column",
    "chance_title",
    "check_count",
    "interval_text",
    "lines_of",
    "named_columns",
    "number",
    "on_the_point",
    "plural",
    "printable",
    "printable_lines",
    "reading_table",
    "short_interval",
    "short_number",
    "shorten",
    "side_by_side",
    "value_text",
]

WIDTH = 80
"""How many columns a text has at most."""

# C0 and C1 with DEL, the ends of lines and paragraphs, and what turns the text beside it.
_CONTROLS = r"\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
_CONTROL = re.compile(f"[{_CONTROLS}]")
_CONTROL_IN_LINES = re.compile(rf"(?![\n\t])[{_CONTROLS}]")

_GAP = "  "
_LONGEST_NAME = 24


@attrs.frozen
class Column:
    """A heading and a cell for each line.

    Parameters
    ----------
    cells : sequence of str
        The texts.
    width : int
        At least so many characters.
    is_left : bool
        Whether the cells begin one below the other; else they end so.
    """

    cells: Sequence[str]
    width: int = 0
    is_left: bool = False

    def padded(self) -> list[str]:
        """Fill each cell up with spaces."""
        widths = [_width(cell) for cell in self.cells]
        whole = max([self.width, *widths])
        blanks = (" " * (whole - width) for width in widths)
        if self.is_left:
            return [cell + blank for cell, blank in zip(self.cells, blanks, strict=True)]
        return [blank + cell for cell, blank in zip(self.cells, blanks, strict=True)]


def lines_of(columns: Iterable[Column]) -> list[str]:
    """Lay columns out side by side.

    >>> lines_of([Column(["a", "long"], is_left=True), Column(["1", "23"], width=4)])
    ['a        1', 'long    23']
    """
    padded = [column.padded() for column in columns]
    return [_GAP.join(cells).rstrip() for cells in zip(*padded, strict=True)]


def named_columns(columns: Sequence[Sequence[str]]) -> list[str]:
    """Make lines of columns: the first one, of names, to the left, the others to the right."""
    names, *others = columns
    texts = [Column(list(map(printable, cells))) for cells in others]
    return lines_of([Column(list(map(_on_a_line, names)), is_left=True), *texts])


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
        if not tables or max(map(len, named_columns([*tables[-1], *group]))) > WIDTH:
            tables.append(list(first))
        tables[-1] += group
    return "\n\n".join("\n".join(named_columns(table)) for table in tables)


def reading_table(readings: Mapping[str, Reading], level: float) -> str:
    """Give each metric a line: its value, and the intervals that it has."""
    items = list(readings.values())
    columns = [
        ["metric", *readings],
        ["value", *(value_text(reading.value) for reading in items)],
        [
            "certified interval",
            *(interval_text(*reading.certified) if reading.is_open else "" for reading in items),
        ],
        [chance_title(level), *(interval_text(*(reading.sampling or _NONE)) for reading in items)],
    ]
    return "\n".join(named_columns([column for column in columns if any(column[1:])]))


_NONE = (math.nan, math.nan)


def on_the_point(numbers: Mapping[str, str]) -> list[str]:
    """Lay out names and numbers, the decimal points one below the other.

    >>> on_the_point({"rmse": "54.5424", "mse": "2974.88", "n": "442"})
    ['rmse    54.5424', 'mse   2974.88', 'n      442']
    """
    first = max(map(len, numbers))
    wholes = {name: len(text.partition(".")[0]) for name, text in numbers.items()}
    most = max(wholes.values())
    return [
        f"{name:<{first}}  {' ' * (most - wholes[name])}{text}" for name, text in numbers.items()
    ]


def number(value: float) -> str:
    """Write a metric with six decimals, and small or large ones with six digits."""
    if math.isfinite(value) and (abs(value) >= 100 or 0 < abs(value) < 1e-3):
        return f"{value:.6g}"
    return f"{value:.6f}"


def value_text(value: float) -> str:
    """Write a count in full, and a metric as `number` does."""
    return f"{value:,}" if isinstance(value, int) else number(value)


def interval_text(low: float, high: float) -> str:
    """Write an interval; nan ends are no interval."""
    return "" if math.isnan(low) else f"[{number(low)}, {number(high)}]"


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


def chance_title(level: float) -> str:
    """Name the sampling interval.

    >>> chance_title(0.95)
    '95% interval'
    """
    return f"{100 * level:.6g}% interval"


def plural(count: float, one: str, many: str = "") -> str:
    """Write a number of things.

    >>> plural(1, "row"), plural(1797, "row"), plural(2, "query", "queries")
    ('1 row', '1,797 rows', '2 queries')
    """
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def check_count(value: object, *, name: str) -> None:
    """Refuse what is no number of lines."""
    if not isinstance(value, int) or value < 0:
        raise InvalidInputError(f"`{name}` must be an integer of at least 0, got {value!r}.")


def printable(text: str) -> str:
    r"""Escape what a terminal would obey: text from files and arguments may hold anything.

    >>> printable("a\nb\x1b[2J")
    'a\\nb\\x1b[2J'
    """
    return _CONTROL.sub(_escaped, text)


def printable_lines(text: str) -> str:
    """Escape the same in text that was laid out already, but for its newlines and tabs."""
    return _CONTROL_IN_LINES.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


def shorten(label: object, width: int = _LONGEST_NAME) -> str:
    """Write a label in one line of at most `width` columns."""
    text = "".join(map(_shown, str(label)))
    if _width(text) <= width:
        return text
    ends = accumulate(map(_width, text))  # one pass: a label may be long
    kept = sum(1 for _ in takewhile(lambda end: end < width, ends))
    return f"{text[:kept]}…"


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character.isspace() else "\N{REPLACEMENT CHARACTER}"


def _on_a_line(name: str) -> str:
    """Keep a name on its line, and in its column."""
    text = printable(name)
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 3]}..."


def _width(text: str) -> int:
    """Count the columns of a terminal that a text takes: wide characters take two."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    marks = sum(unicodedata.combining(character) > 0 for character in text)
    return len(text) + wide - marks
