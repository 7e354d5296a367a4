"""Sheets: sentences and tables of text, for terminals, files, Markdown and LaTeX.

Results and commands fill a sheet; this module and `render.tables`, for HTML, decide its layout.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import attrs

from streameval.metrics.table import Reading
from streameval.render.blocks import Matrix
from streameval.render.text import (
    ABOUT_UNDEFINED,
    UNDEFINED,
    WIDTH,
    Write,
    chance_title,
    intervals,
    numbers,
    printable,
    printable_lines,
    shorten,
    shorten_middle,
    widths_of,
)

_GAP = "  "
_SHORTEST_NAME = 8
_NOMINAL_NAME = 32
"""The maximum width of names when columns are placed beside them."""

_MARKS = re.compile(r"[\\`*\[\]<>|~#]|(?<!\w)_|_(?!\w)")
"""Characters that Markdown would interpret."""


_LATEX = {mark: f"\\{mark}" for mark in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}
_SPECIAL = re.compile(f"[{re.escape(''.join(_LATEX))}]")


def _with_printable_heading(cells: Sequence[str]) -> Sequence[str]:
    """Escape the heading, which may be a value or the name of a column of a file."""
    return [*map(printable, cells[:1]), *cells[1:]]


class Marked(str):
    """A cell that a terminal shows in colour, such as the number of a slice that is worse."""

    __slots__ = ()


Paint = Callable[[str], str]
"""Returns a marked cell in colour, or as it is."""

_BAR_WIDTH = 10
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def share_bars(shares: Iterable[float]) -> SheetColumn:
    """Make a column of bars, which only terminals show."""
    bars = (divmod(math.ceil(8 * _BAR_WIDTH * share), 8) for share in shares)
    cells = (f"{'█' * whole}{_EIGHTHS[rest]}".rstrip() for whole, rest in bars)
    return SheetColumn(["", *cells], is_left=True, is_drawn=True)


@attrs.frozen(eq=False, repr=False)
class SheetColumn:
    """A heading and a cell for each line.

    Parameters
    ----------
    cells : sequence of str
        The heading, then the text of each line.
    width : int
        The minimum number of characters.
    is_left : bool
        Whether the cells are aligned to the left.
    cut : {"", "end", "middle"}
        Where cells are shortened if the line is too long; "" never.
    is_drawn : bool
        Whether only terminals show the column.
    """

    cells: Sequence[str] = attrs.field(converter=_with_printable_heading)
    width: int = 0
    is_left: bool = False
    cut: Literal["", "end", "middle"] = ""
    is_drawn: bool = False

    @classmethod
    def of_names(
        cls, heading: str, names: Iterable[object], *, by_end: bool = False
    ) -> SheetColumn:
        """Make a column of names; `by_end` keeps the ends of names that begin alike."""
        cells = [heading, *(printable(str(name)) for name in names)]
        return cls(cells, is_left=True, cut="middle" if by_end else "end")

    @property
    def taken(self) -> int:
        """The width of the widest cell, in characters."""
        return max([self.width, *widths_of(self.cells)])

    def fitted(self, width: int) -> SheetColumn:
        """Shorten the cells that are wider than `width`."""
        cut = shorten if self.cut == "end" else shorten_middle
        return attrs.evolve(self, cells=[cut(cell, width) for cell in self.cells])

    def padded(self, paint: Paint | None = None) -> list[str]:
        """Pad every cell with spaces to the width of the column; paint those that are marked."""
        whole = self.taken
        blanks = (" " * (whole - width) for width in widths_of(self.cells))
        cells = (paint(cell) if paint and isinstance(cell, Marked) else cell for cell in self.cells)
        if self.is_left:
            return [cell + blank for cell, blank in zip(cells, blanks, strict=True)]
        return [blank + cell for cell, blank in zip(cells, blanks, strict=True)]


@attrs.frozen(eq=False, repr=False)
class Grid:
    """A table.

    Parameters
    ----------
    columns : sequence of SheetColumn
        The columns; a column with nothing but a heading is left out.
    groups : sequence of sequences of SheetColumn
        Groups of columns that stay together. If a line would be too long, a group goes below,
        beside a repetition of the first columns.
    caption : str
        A line below the table.
    """

    columns: Sequence[SheetColumn]
    groups: Sequence[Sequence[SheetColumn]] = ()
    caption: str = ""

    @property
    def held(self) -> list[SheetColumn]:
        """All columns with more than a heading, side by side."""
        every = [*self.columns, *(column for group in self.groups for column in group)]
        return [one for one in every if not one.is_drawn and _holds_anything(one)]


@attrs.frozen(eq=False, repr=False)
class Section:
    """A sheet within a sheet, under a title."""

    title: str
    parts: Sequence[Part]


Part = str | Grid | Section | Matrix
"""A matrix is shown in notebooks and pages only."""
Sheet = Sequence[Part]


def _written(sheet: Sheet) -> Iterator[str | Grid | Section]:
    """Yield what text can show."""
    yield from (part for part in sheet if part and not isinstance(part, Matrix))


def explained(sheet: Sheet) -> Sheet:
    """Say what a dash is, below the last part of a sheet that has any."""
    after = max((at for at, part in enumerate(sheet, 1) if _has_dash(part)), default=0)
    return [*sheet[:after], ABOUT_UNDEFINED, *sheet[after:]] if after else sheet


def _has_dash(part: Part) -> bool:
    if isinstance(part, Section):
        return any(map(_has_dash, part.parts))
    return isinstance(part, Grid) and any(
        UNDEFINED in column.cells[1:] for column in part.held if not column.is_left
    )


def sheet_text(sheet: Sheet, width: int | None = WIDTH, paint: Paint | None = None) -> str:
    """Lay a sheet out as text, without control characters but those of `paint`.

    Parameters
    ----------
    sheet : sequence of str, Grid, Section or Matrix
        The parts; an empty text and a matrix are left out.
    width : int, optional
        The maximum width of a line, to which names are cut; None never cuts.
    paint : callable, optional
        For a terminal: how marked cells are shown. By default, bars are left out too.
    """
    return _sheet_text(explained(sheet), width, paint)


def markdown(sheet: Sheet) -> str:
    """Lay a sheet out as Markdown, for pull requests and wikis."""
    return _sheet_markdown(explained(sheet))


def latex(grid: Grid) -> str:
    """Lay a table out for LaTeX, with the rules of booktabs; nothing without numbers or names."""
    if not grid.held:
        return ""
    head, *rows = zip(*(map(_in_latex, one.cells) for one in grid.held), strict=True)
    aligned = "".join("l" if one.is_left else "r" for one in grid.held)
    lines = [f"{' & '.join(cells)} \\\\" for cells in (head, *rows)]
    body = [r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"]
    if _has_dash(grid):
        body.append(rf"\multicolumn{{{len(aligned)}}}{{l}}{{\footnotesize {ABOUT_UNDEFINED}}} \\")
    return "\n".join([rf"\begin{{tabular}}{{{aligned}}}", *body, r"\end{tabular}"])


def columns_grid(columns: Mapping[str, Sequence[Any]]) -> Grid:
    """Lay out columns of numbers and names; a gap is empty."""
    return Grid([_filled_column(name, values) for name, values in columns.items()])


def _filled_column(name: str, values: Sequence[Any]) -> SheetColumn:
    """Make a column of numbers or names; a gap is empty."""
    held = [value for value in values if value is not None]
    if not all(isinstance(value, (int, float)) for value in held):
        return SheetColumn.of_names(name, ["" if value is None else value for value in values])
    written = iter(numbers(held))
    return SheetColumn([name, *("" if value is None else next(written) for value in values)])


def _in_latex(text: str) -> str:
    return _SPECIAL.sub(lambda match: _LATEX[match[0]], printable(text))


def reading_grid(
    readings: Mapping[str, Reading], level: float, *, decimals: int = 6, caption: str = ""
) -> Grid:
    """Lay out a line for each metric: its value and its intervals."""
    *measured, sampling = reading_columns("value", [*readings.values()], level, decimals)
    names = SheetColumn.of_names("metric", readings, by_end=True)
    return Grid([names], [measured, [sampling]], caption)


def reading_columns(
    heading: str,
    readings: Sequence[Reading | None],
    level: float,
    decimals: int = 6,
    *,
    of: str = "",
    write: Write = numbers,
) -> list[SheetColumn]:
    """Make three columns: values, certified intervals and sampling intervals; a gap is empty.

    What rows do not define is a dash. The headings of intervals begin with `of`.
    """
    shown = [one and one.defined for one in readings]
    values = iter(write([one.value for one in shown if one], decimals))
    open_ends = [one.certified if one and one.is_open else None for one in shown]
    certified = intervals(open_ends, decimals, write, are_certified=True)
    sampling = [one.sampling if one else None for one in shown]
    return [
        SheetColumn([heading, *(next(values) if one else "" for one in shown)]),
        SheetColumn([f"{of}exact value within", *certified]),
        SheetColumn([f"{of}{chance_title(level)}", *intervals(sampling, decimals, write)]),
    ]


def _sheet_text(sheet: Sheet, width: int | None, paint: Paint | None) -> str:
    return "\n\n".join(_part_text(part, width, paint) for part in _written(sheet))


def _part_text(part: str | Grid | Section, width: int | None, paint: Paint | None) -> str:
    if isinstance(part, str):
        return printable_lines(part if "\n" in part else _wrapped(part))
    if isinstance(part, Section):
        inner = _sheet_text(part.parts, width and width - 2, paint)
        return f"{printable(part.title)}\n{textwrap.indent(inner, '  ')}"
    if paint is None:
        part = Grid([one for one in part.columns if not one.is_drawn], part.groups, part.caption)
    tables = ("\n".join(_lines(table, width, paint)) for table in _tables(part, width or WIDTH))
    return "\n".join(filter(None, ["\n\n".join(tables), printable_lines(part.caption)]))


def _wrapped(text: str) -> str:
    lines = textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)


def _tables(grid: Grid, width: int) -> Iterator[list[SheetColumn]]:
    """Put as many groups beside the first columns as fit, and the rest below."""
    first = list(filter(_holds_anything, grid.columns))
    table, is_first = list(first), True
    for group in grid.groups:
        held = list(filter(_holds_anything, group))
        if held and len(table) > len(first) and _nominal_width([*table, *held]) > width:
            yield table if is_first else _without_empty_lines(table, len(first))
            table, is_first = list(first), False
        table += held
    yield table if is_first else _without_empty_lines(table, len(first))


def _holds_anything(column: SheetColumn) -> bool:
    return any(column.cells[1:]) or len(column.cells) == 1


def _without_empty_lines(table: list[SheetColumn], n_first: int) -> list[SheetColumn]:
    lines = range(len(table[0].cells))
    kept = [line for line in lines if any(column.cells[line] for column in table[n_first:])]
    return [attrs.evolve(one, cells=[one.cells[line] for line in kept]) for one in table]


def _nominal_width(columns: Sequence[SheetColumn]) -> int:
    taken = (min(one.taken, _NOMINAL_NAME) if one.cut else one.taken for one in columns)
    return sum(taken) + len(_GAP) * (len(columns) - 1)


def _lines(columns: Sequence[SheetColumn], width: int | None, paint: Paint | None) -> list[str]:
    """Lay columns out side by side, and cut names where lines would be too long."""
    over = sum(one.taken for one in columns) + len(_GAP) * (len(columns) - 1) - (width or 0)
    if width is not None and over > 0:
        columns = [
            one.fitted(max(one.taken - over, _SHORTEST_NAME)) if one.cut else one for one in columns
        ]
    padded = (column.padded(paint) for column in columns)
    return [_GAP.join(cells).rstrip() for cells in zip(*padded, strict=True)]


def _sheet_markdown(sheet: Sheet) -> str:
    return "\n\n".join(map(_part_markdown, _written(sheet)))


def _part_markdown(part: str | Grid | Section) -> str:
    if isinstance(part, str):
        return "\n".join(f"{line}  " for line in map(_escaped, part.split("\n"))).rstrip()
    if isinstance(part, Section):
        return f"**{_escaped(part.title)}**\n\n{_sheet_markdown(part.parts)}"
    if not part.held:
        return _part_markdown(part.caption)
    shown = [
        map(_escaped, one.cells) if one.is_left else [_escaped(one.cells[0]), *one.cells[1:]]
        for one in part.held
    ]
    head, *rows = zip(*shown, strict=True)
    rule = [":--" if column.is_left else "--:" for column in part.held]
    lines = (f"| {' | '.join(cells)} |" for cells in (head, rule, *rows))
    return "\n\n".join(filter(None, ["\n".join(lines), _part_markdown(part.caption)]))


def _escaped(text: str) -> str:
    return _MARKS.sub(r"\\\g<0>", printable(text))
