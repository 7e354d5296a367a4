"""Tables: metrics by state, metrics of each class, and confusion matrices."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from typing import Any

import numpy as np

from streameval.metrics.table import Change, Reading
from streameval.render.blocks import Confusions, Matrix
from streameval.render.markup import DASH, Html, element, joined, label
from streameval.render.sheets import Grid, Part, Section, Sheet, explained
from streameval.render.text import (
    ABOUT_UNDEFINED,
    UNDEFINED,
    chance_title,
    common_decimals,
    count,
    decimals_of,
    ends_of,
    grouped,
    percent,
    share,
)

MAX_CLASSES = 30
"""How many classes have a line in a table."""
MAX_CELLS = 40
"""The maximum number of classes of a matrix that is shown cell by cell."""
MAX_IN_SHEET = 20
"""How many of them a sheet shows."""
MAX_BESIDE = 2
"""How many results have columns side by side; each of more has a row."""

Cell = Reading | Change | None
CellRows = Sequence[tuple[str, Sequence[Cell]]]
"""The titles of metrics, each with a number for every state."""

_LARGEST = 1e12  # of the numbers that are written without an exponent
_MAX_BELOW = 12  # numbers that a phone lays out below their name; page.css has a rule for each
_MAX_PAIRS = 20
_SHADES = 10
_DENSE = 16  # with more classes, smaller cells
_MAX_ACROSS = 8  # metrics that fit a screen, with their intervals
_NAME_WIDTH = 24  # characters beside and above a matrix
_LONGEST_UPRIGHT = 4
_SPACIOUS = 4  # up to this many classes, shares fit beside the counts

_CLASS = re.compile(r'(<[^>]*) class="([^"]*)"')
_NAME = re.compile(r' scope="(row|col)">')
_STYLES = {
    "scroll": "overflow-x:auto",
    "number": "text-align:right",
    "hit": "--of:42 99 212",
    "miss": "--of:194 65 12",
    **{f"h{n}": f"background:rgb(var(--of) / {0.06 * n:.2f})" for n in range(1, _SHADES + 1)},
}
"""What the classes of tables look like in a notebook."""


def metric_table(
    rows: Sequence[tuple[str, Sequence[Reading | None]]],
    names: Sequence[str],
    level: float,
    by: str = "",
    changes: Sequence[Sequence[Change | None]] = (),
) -> Html:
    """Lay out metrics by state: two side by side, and more in rows, as slices are.

    The states but the first have differences from the first one, a list for each metric; slices
    overlap with all rows, and have none. A single state has a column for each interval.
    """
    if len(names) == 1:
        return _single([(name, cell) for name, (cell,) in rows if cell], level)
    if by:
        return rows_table(by, names, rows, level)
    first, *others = names
    both = list(zip(rows, changes, strict=True))
    if len(names) > MAX_BESIDE:
        title = element("h4", "Differences from ", label(first, 40))
        table = joined([rows_table("state", names, rows, level), title])
        differences = [(title, more) for (title, _), more in both]
        table = joined([table, rows_table("state", others, differences, level, "Differences")])
    else:
        head = _head("Metric", *(label(name, 28) for name in names), "Difference")
        beside = [(title, [*cells, *more]) for (title, cells), more in both]
        table = _stacked(head, beside, "Metrics by state", level, is_by_row=True)
    said = ["Differences are from ", label(first, 40), "."]
    held = [change for cells in changes for change in cells if change and change.sampling]
    if held:
        how = ("assume results on different data", "compare the same queries")
        every = dict.fromkeys(how[change.samples == "paired"] for change in held)
        said.append(f" Their intervals {' or '.join(every)}.")
    return joined([table, element("p", *said, class_="note")])


def rows_table(
    what: str, names: Sequence[str], columns: CellRows, level: float, of: str = "Metrics"
) -> Html:
    """Lay out a row for each state or slice, in several tables if there are many metrics.

    Screen readers announce what the numbers are of.
    """
    tables = []
    for start in range(0, len(columns), _MAX_ACROSS):
        chunk = columns[start : start + _MAX_ACROSS]
        titles = [title for title, _ in chunk]
        head = _head(what.capitalize(), *titles)
        cells = zip(*(column for _, column in chunk), strict=True)
        rows = [(label(name, 40), row) for name, row in zip(names, cells, strict=True)]
        tables.append(_stacked(head, rows, f"{of} by {what}", level, of=titles))
    return joined(tables)


def _head(first: str, *others: str) -> Html:
    """Head the names of rows, and columns of numbers."""
    numbers = (element("th", text, scope="col", class_="number") for text in others)
    return element("tr", element("th", first, scope="col"), *numbers)


def _single(rows: Sequence[tuple[str, Reading]], level: float) -> Html:
    """Lay out the metrics of one state, with a column for each interval that there is."""
    lines = [("Metric", "Value", "Exact within", chance_title(level))]
    for name, cell in rows:
        decimals = _decimals([cell])
        value = DASH if math.isnan(cell.value) else _value(cell, decimals)
        lines.append((name, value, *ends_of(cell, decimals)))
    columns = [column for column in zip(*lines, strict=True) if any(column[1:])]
    heads, *shown = zip(*columns, strict=True)
    looks = [None, "number", *["number range"] * (len(heads) - 2)]
    table = text_table(heads, shown, "Metrics", looks, _several(len(heads) - 1))
    return joined([table, *dash_note(cell for _, cell in rows)])


def _decimals(cells: Iterable[Reading | None]) -> int:
    """Count the decimals of a metric: four, or six significant digits of large numbers.

    Small numbers have three significant digits.
    They are enough to distinguish the ends of certified intervals.
    """
    held = [cell for cell in cells if cell is not None and not cell.is_count]
    opened = [cell.certified for cell in held if cell.is_open]
    values = [cell.value for cell in held]
    largest = max((abs(one) for one in values if abs(one) < _LARGEST), default=0.0)
    usual = min(4, max(6 - len(str(int(largest))), 0))
    if 0.0 < largest < 0.01:
        usual = 2 - math.floor(math.log10(largest))
    return common_decimals(values, max([usual, *(decimals_of(*pair) for pair in opened)]))


def _value(cell: Reading, decimals: int, sign: str = "") -> Html:
    text = count(cell.value) if cell.is_count else grouped(cell.value, decimals)
    return element("span", f"{sign}{text}", class_="value")


def _stacked(
    head: Html,
    rows: CellRows,
    name: str,
    level: float,
    more: Sequence[Html] = (),
    of: Sequence[str] = (),
    *,
    is_by_row: bool = False,
) -> Html:
    """Lay out numbers with their intervals below, named if there are two types.

    On a phone, each number is below its heading if `of` lists the headings. The numbers of a metric
    have equally many decimals: of a column, or else of a row.
    """
    table = [[_reading(cell) for cell in cells] for _, cells in rows]
    every = [cell for row in table for cell in row]
    has_certified = any(cell is not None and cell.is_open for cell in every)
    has_sampling = any(cell is not None and cell.sampling for cell in every)
    names = ("exact within", percent(level)) if has_certified and has_sampling else ("", "")
    columns = [_decimals(column) for column in zip(*table, strict=True)]
    decimals = [[_decimals(row)] * len(row) if is_by_row else columns for row in table]
    body = (
        element(
            "tr",
            element("th", title, scope="row"),
            *map(_cell, cells, repeat(names), needed, of or repeat(None)),
        )
        for (title, cells), needed in zip(rows, decimals, strict=True)
    )
    said = []
    if has_certified != has_sampling:
        only = (
            "bounds, between which the exact value lies" if has_certified else chance_title(level)
        )
        said.append(_note(f"Below a number: its {only}."))
    said += dash_note(every)
    look = "rows" if of else _several(len(columns))
    return joined([scrolled_table(head, [*body, *more], name, look), *said])


def _reading(cell: Cell) -> Reading | None:
    return cell.reading if isinstance(cell, Change) else cell


def _cell(cell: Cell, names: tuple[str, str], decimals: int, of: str | None) -> Html:
    """Write a number, and its intervals one below the other; a difference has a sign."""
    reading = _reading(cell)
    if reading is None or math.isnan(reading.value):
        return element("td", DASH, class_="number", data_of=of)
    sign = "+" if isinstance(cell, Change) and reading.value > 0 else ""
    ends = zip(names, ends_of(reading, decimals), strict=True)
    below = (_within(name, text) for name, text in ends if text)
    return element("td", _value(reading, decimals, sign), *below, class_="number", data_of=of)


def _within(name: str, ends: str) -> Html:
    named = [element("small", name), Html(" ")] if name else []
    return element("span", *named, ends, class_="within")


def by_class(
    what: str,
    columns: Sequence[str],
    tables: Mapping[str, Mapping[Any, Sequence[Reading]]],
    order: Sequence[Any],
    level: float,
) -> Html:
    """Lay out the numbers of each class, or of each other item, by state.

    Parameters
    ----------
    what : str
        The name of the items, one per row.
    columns : sequence of str
        The numbers, the same for every state.
    tables : mapping from the name of a state to a mapping from class to its numbers
    order : sequence of classes
        All classes, of which the first have a row.
    level : float
        That of the sampling intervals.
    """
    shown, nothing = order[:MAX_CLASSES], [None] * len(columns)
    rows = [
        (label(name, 32), [cell for table in tables.values() for cell in table.get(name, nothing)])
        for name in shown
    ]
    hidden, more = len(order) - len(shown), []
    if len(tables) > MAX_BESIDE:
        parts = []
        for at, title in enumerate(columns):
            of_title = [(name, cells[at :: len(columns)]) for name, cells in rows]
            head = _class_head(what, list(tables), [title])
            table = _stacked(head, of_title, f"{title} by {what}", level)
            parts += [element("h4", title), table]
        return joined(parts)
    if hidden > 0:
        width = 1 + len(columns) * len(tables)
        more.append(
            element("tr", element("td", f"and {hidden:,} more", colspan=width, class_="more"))
        )
    return _stacked(_class_head(what, columns, list(tables)), rows, f"By {what}", level, more)


def _class_head(what: str, columns: Sequence[str], names: Sequence[str]) -> Html:
    if len(names) == 1:
        return _head(what.capitalize(), *columns)
    first = element("th", what.capitalize(), scope="col", rowspan=2)
    below = [element("th", text, scope="col", class_="number") for _ in names for text in columns]
    groups = (
        element(
            "th",
            label(name, 28),
            scope="colgroup",
            colspan=len(columns),
            class_=f"of columns-{len(columns)}",
        )
        for name in names
    )
    return joined([element("tr", first, *groups), element("tr", *below)])


def scrolled_table(head: Html, body: Iterable[Html], name: str, look: str | None = None) -> Html:
    """Assemble a table; a wide one scrolls sideways on its own, also with the keyboard."""
    made = element("table", element("thead", head), element("tbody", *body), class_=look)
    return element("div", made, class_="scroll", role="group", aria_label=name, tabindex=0)


def _several(n_numbers: int) -> str | None:
    """Name the look of a table that a phone lays out below the names of rows: several numbers."""
    return f"several columns-{n_numbers}" if 1 < n_numbers <= _MAX_BELOW else None


def dash_note(cells: Iterable[Reading | None]) -> list[Html]:
    """Explain a dash, if there is one."""
    is_there = any(cell is None or math.isnan(cell.value) for cell in cells)
    return [_note(ABOUT_UNDEFINED)] if is_there else []


def _note(text: str) -> Html:
    return element("p", text, class_="note")


def sheet_tables(sheet: Sheet, name: str = "", blank: str = DASH) -> Html:
    """Lay out a sheet, the sections of which have headings; `blank` is shown in empty cells."""
    return joined(_part_html(part, name, blank) for part in sheet if part)


def _part_html(part: Part, name: str, blank: str) -> Html:
    if isinstance(part, Section):
        title = element("h3", label(part.title, 80))
        return joined([title, sheet_tables(part.parts, part.title, blank)])
    if isinstance(part, Matrix):
        return heat_table(part, MAX_IN_SHEET)
    if isinstance(part, Grid):
        return _grid_table(part, name, blank)
    return joined(map(_note, part.split("\n")))


def _grid_table(grid: Grid, name: str, blank: str) -> Html:
    """Lay out a table whose first column has the names of its rows."""
    looks = [None if column.is_left else "number" for column in grid.held]
    head, *rows = zip(*(column.cells for column in grid.held), strict=True)
    special = {"": blank, UNDEFINED: DASH}
    shown = (
        (label(first, 60), *(special.get(text, text) for text in cells)) for first, *cells in rows
    )
    said = map(_note, filter(None, grid.caption.split("\n")))
    return joined([text_table(head, shown, f"{name}: {head[0]}".lstrip(": "), looks), *said])


def notebook(sheet: Sheet) -> str:
    """Lay a sheet out for a notebook, which has no style sheet: the classes become styles."""
    styled = _CLASS.sub(_with_style, element("div", sheet_tables(explained(sheet), blank="")))
    named = _NAME.sub(r' scope="\1" style="text-align:left">', styled)
    return named.replace("<small>", '<small style="display:block">')


def _with_style(match: re.Match[str]) -> str:
    styles = [_STYLES[look] for look in match[2].split() if look in _STYLES]
    return match[1] + (f' style="{";".join(styles)}"' if styles else "")


def text_table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    name: str,
    looks: Sequence[str | None],
    of: str | None = None,
) -> Html:
    """Lay out rows of texts, of which the first names the row; `looks` are the columns'."""
    columns = (
        element("th", text, scope="col", class_=look and look.split()[0])
        for text, look in zip(heads, looks, strict=True)
    )
    body = (_text_row(tuple(looks[1:]), *row) for row in rows)
    return scrolled_table(element("tr", *columns), body, name, of)


@lru_cache(maxsize=1024, typed=True)
def _text_row(looks: Sequence[str | None], first: str, *cells: str) -> Html:
    """Write a row; the next update of a live page has most of them again."""
    pairs = zip(cells, looks, strict=True)
    numbers = (element("td", text, class_=look) for text, look in pairs)
    return element("tr", element("th", first, scope="row"), *numbers)


def heat_table(matrix: Matrix, limit: int = MAX_CELLS) -> Html:
    """Lay the matrix out, rows truth and columns prediction: the first of them."""
    counts, labels = matrix.counts, matrix.labels[:limit]
    shares, is_spacious = matrix.row_shares(), len(labels) <= _SPACIOUS
    is_long = not is_spacious and max(len(str(name)) for name in labels) > _LONGEST_UPRIGHT
    head = [
        element("th", element("span", label(name, _NAME_WIDTH, by_end=True)), scope="col")
        for name in labels
    ]
    corner = element("td", class_="corner", colspan=2)
    axis = element("span", "Prediction")
    named = element("th", axis, scope="colgroup", colspan=len(labels), class_="axis")
    truth = element("th", element("span", "Truth"), scope="rowgroup", rowspan=len(labels))
    body = [
        element(
            "tr",
            *([truth] if row == 0 else []),
            element("th", label(labels[row], _NAME_WIDTH, by_end=True), scope="row"),
            *(
                _count_cell(counts[row, column], shares[row, column], row == column, is_spacious)
                for column in range(len(labels))
            ),
        )
        for row in range(len(labels))
    ]
    blank = element("td", colspan=2)
    rows = joined(
        [
            element("tr", corner, named),
            element("tr", blank, *head, class_="turned" if is_long else None),
        ]
    )
    look = "heat spacious" if is_spacious else "heat dense" if len(labels) > _DENSE else "heat"
    hidden = len(matrix.labels) > limit
    said = [_note(f"The first {limit} of {len(matrix.labels):,} classes.")] if hidden else []
    return joined([scrolled_table(rows, body, "Confusion matrix", look), *said])


def _count_cell(weight: Any, part: float, is_right: bool, is_spacious: bool) -> Html:
    """Write a count on a shade: the square root of its share, so that small counts are visible."""
    shade = min(int(np.ceil(np.sqrt(part) * _SHADES)), _SHADES)
    look = f"{'hit' if is_right else 'miss'} h{shade}" if shade else None
    number = count(weight.item())
    if is_spacious:
        return element("td", number, element("small", share(part)), class_=look)
    return element("td", number if weight else "·", class_=look)


def confused_pairs(matrix: Matrix, by: Confusions) -> Html:
    """List the most confused pairs of a true and a predicted class.

    Parameters
    ----------
    matrix : Matrix
        The counts.
    by : {"count", "rate"}
        Rank by examples, or by their share of the true class.
    """
    shares = matrix.row_shares()
    rows = (
        (
            label(matrix.labels[row]),
            label(matrix.labels[column]),
            count(matrix.counts[row, column].item()),
            share(float(shares[row, column])),
        )
        for row, column in matrix.confused(by)[:_MAX_PAIRS]
    )
    heads = ("Truth", "Prediction", "Examples", "Share of class")
    return text_table(heads, rows, "Pairs most confused", (None, None, "number", "number"))
