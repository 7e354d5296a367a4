"""Tables of text: CSV with any delimiter, with or without a header, quoted as in RFC 4180."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from streameval.errors import BadDataError, Named
from streameval.exact.array_types import Array
from streameval.io.blocks import Fault, Field, Parsed, assemble, fields_read
from streameval.io.columns import Argument
from streameval.io.csv_columns import PlainRows
from streameval.io.errors import shown
from streameval.io.lines import (
    LONGEST_LINE,
    Piece,
    RowEnds,
    is_text,
    is_utf8,
    n_newlines,
    text_blocks,
    text_of,
)
from streameval.io.notation import (
    UTF8,
    ContradictedCell,
    Dialect,
    Notation,
    OddCell,
    as_written,
    has_decimal_comma,
    may_have_thousands,
    two_notations,
    value_of_cell,
    without_currency,
    without_spaces,
)

if TYPE_CHECKING:
    from streameval.io.blocks import Block
    from streameval.io.row_filters import RowFilter
    from streameval.io.streams import ByteStream

_FIRST_ROWS = 100
_LOOKED_AT = 20  # rows that show titles, or columns between spaces
_COMMENT = "#"  # numpy.savetxt writes it before a header
_USUAL = Notation()
_NOT_UTF8 = "not UTF-8 (--encoding names another one, such as cp1252)"
_SEPARATOR_LINE = re.compile(rb'"?sep=([\x20!\x23-\x7e\t])"?\r*(?:\n|\Z)', re.IGNORECASE)
_POINT = re.compile(r"\s*[+-]?[0-9]*\.[0-9]+\s*")
_LIST = re.compile(r"\s*[+-]?[0-9]+(,\s*[+-]?[0-9]+){2,}\s*")
_TOTAL = re.compile(
    r"\s*(?:(?:grand|sub)[ -]?)?totals?(?: g[eé]n[eé]ral)?:?\s*|\s*(?:sum|summe|suma|overall|"
    r"gesamt(?:summe|ergebnis|wert)?|insgesamt|average|mean|durchschnitt|mittelwert|somme|moyenne|"
    r"media|promedio|totale):?\s*",
    re.IGNORECASE,
)
_LETTER = re.compile(r"[^\W\d_]")
_COUNTING = re.compile(
    r"(?:.*[^a-z])?(?:ids?|index|idx|rows?|lines?|n[or]?|i|num|number|key|)", re.IGNORECASE
)
_ROUNDED = 0.99  # a total may be of numbers that were rounded later

# The known delimiters, each with the option that reads such a file.
_DELIMITERS: dict[str, tuple[object, ...]] = {
    ",": ("that is the format csv.",),
    "\t": ("that is the format tsv.",),
    ";": (Named("delimiter", "';'"), " reads it."),
    "|": (Named("delimiter", "'|'"), " reads it."),
}


@attrs.frozen(repr=False)
class CsvLayout:
    """How the rows of a table of text are cut, and what its columns are called.

    Parameters
    ----------
    header : tuple of str
        The names of the columns.
    delimiter : str
        The separator of cells.
    top : str
        What messages call the row that sets the number of cells.
    notation : Notation
        What cells mean.
    found : str
        What the first rows have shown of the dialect, for people; empty if nothing.
    header_line : int
        The line of the file that ends the header; 0 if the file has none.
    """

    header: tuple[str, ...]
    delimiter: str
    top: str = "header"
    notation: Notation = _USUAL
    found: str = ""
    header_line: int = 0

    @staticmethod
    def ends() -> RowEnds:
        """Return where a file may be cut."""
        return RowEnds()

    @classmethod
    def blocks(cls, stream: ByteStream, dialect: Dialect, usual: str, **_: Any) -> Iterator[Block]:
        """Cut a file into whole rows."""
        return text_blocks(stream, cls, dialect, usual)

    @classmethod
    def of(
        cls, piece: Piece, dialect: Dialect, usual: str, *, ahead: bytes | None = None
    ) -> tuple[CsvLayout | None, Piece]:
        """Read the layout from the first rows, or None if they are blank; also return the rest.

        Parameters
        ----------
        piece : Piece
            The beginning of the table.
        dialect : Dialect
            What the user has set.
        usual : str
            The delimiter, unless the first row shows another one.
        ahead : bytes, optional
            What follows the piece, so that rows below the first one may show titles above the
            header, columns between spaces, numbers of rows, spaces around cells, and decimal
            commas. None of a file that grows: these rows might have come later.

        Raises
        ------
        BadDataError
            If the first row cannot be read, or looks like one with another delimiter.
        """
        piece, said = _without_separator_line(piece)
        usual, given, is_free = said or usual, dialect.delimiter, dialect.header is None
        lines = dialect.notation.decoded(piece.data + (ahead or b""))
        n_rows = 1 if ahead is None else _FIRST_ROWS
        n_whole = n_newlines(piece.data) if ahead else inf
        notation = attrs.evolve(dialect.notation, is_spaced=" " not in (given, usual))
        cut = cache(partial(_FirstRows.of, lines, n_rows, n_whole, notation))
        ways = (given,) if given else (usual, *_DELIMITERS)
        top = _n_titles(map(cut, ways)) if is_free else 0
        first = _split(cut, ways, top, piece)
        if not first.rows or first.rows[0][0] >= n_whole:
            return None, piece
        delimiter, notation, names = first.delimiter, first.notation, first.names
        found = [f"the header of line {piece.first_line + top}"] if top else []
        found += [] if delimiter in (given, usual) else [f"the delimiter {delimiter!r}"]
        if is_free and first.have_numbers:
            names = ("row", *names)
            found.append("numbers of rows before the first column")
        is_told = given or dialect.decimal or dialect.thousands in (",", ".") or delimiter == ","
        if not is_told and ahead is not None:
            decimal, why = first.decimal
            notation = attrs.evolve(notation, decimal=decimal)
            found += why
        if is_free and first.are_spaced:
            notation = attrs.evolve(notation, is_spaced=True)
            names = tuple(name.strip().strip('"') for name in names)
            found.append("spaces around cells")
        shown = " and ".join(found)
        if is_free:
            rest = _without_lines(piece, first.rows[0][1])
            return cls(names, delimiter, "header", notation, shown, rest.first_line - 1), rest
        numbers = tuple(str(number) for number in range(1, len(names) + 1))
        row = "header" if dialect.header else "first row"
        return cls(dialect.header or numbers, delimiter, row, notation, shown), piece

    def block(self, piece: Piece) -> CsvBlock:
        """Make a block of whole rows."""
        data = self.notation.decoded(piece.data)
        return CsvBlock(**{**attrs.asdict(piece), "data": data}, layout=self)


@attrs.frozen(repr=False)
class CsvBlock(Piece):
    """Whole rows of a table of text.

    Parameters
    ----------
    layout : CsvLayout
        How its file is laid out.
    """

    unit: ClassVar[str] = "line"
    layout: CsvLayout = attrs.field(kw_only=True)

    @property
    def found(self) -> str:
        """What the first rows of its file have shown of the dialect, for people."""
        return self.layout.found

    def rows(
        self,
        names: Iterable[str] | None = None,  # noqa: ARG002 - all are read anyway
    ) -> Iterator[Mapping[str, Any]]:
        """Yield the rows of the right length, with cells that look like numbers as numbers."""
        for _, row in self._rows():
            if isinstance(row, list):
                yield dict(zip(self.layout.header, map(value_of_cell, row), strict=True))

    def parse(self, columns: Sequence[Argument], where: RowFilter | None = None) -> Parsed:
        """Read the columns of all rows of the right length."""
        fields = {
            (name, field_type): _position(name, self.layout.header, self.source)
            for name, field_type in fields_read(columns, where)
        }
        values = self._whole(fields)
        if values is None:
            return self._row_by_row(columns, where, fields)
        last_line = self.first_line + len(next(iter(values.values())))
        return assemble(columns, values, range(self.first_line, last_line), (), where)

    def _whole(self, fields: Mapping[Field, int]) -> Mapping[Field, Sequence[Any] | Array] | None:
        """Read the columns if all rows have the same form; otherwise return None."""
        cells = PlainRows.of(self.data, len(self.layout.header), self.layout.delimiter)
        if not fields or cells is None or not self.layout.notation.is_usual:
            return None
        return cells.arrays(fields) or cells.split(fields)

    def _row_by_row(
        self, columns: Sequence[Argument], where: RowFilter | None, fields: Mapping[Field, int]
    ) -> Parsed:
        """Read rows with the standard library, and name those that do not fit."""
        cells: list[list[str]] = [[] for _ in fields]
        # Lists by column: a list for each row would keep the garbage collector busy.
        adders = [(at, items.append) for at, items in zip(fields.values(), cells, strict=True)]
        row_ids: list[int] = []
        faults: list[Fault] = []
        for line, row in self._rows():
            if isinstance(row, str):
                faults.append((line, row))
                continue
            row_ids.append(line)
            for position, add in adders:
                add(row[position])
        values = {field: field[1].from_text(c) for field, c in zip(fields, cells, strict=True)}
        if not self.layout.notation.is_usual:
            values = {field: self._reconsidered(field[0], own) for field, own in values.items()}
        return assemble(columns, values, row_ids, faults, where)

    def _reconsidered(self, name: str, values: list[Any]) -> list[Any]:
        """Keep marks of contradiction only where cells contradict each other as they are written.

        What was read with a decimal comma has a point.
        """
        if ContradictedCell not in set(map(type, values)):
            return values
        if two_notations(as_written(self).cells([name])[name]):
            return values
        return [OddCell(one) if type(one) is ContradictedCell else one for one in values]

    def _rows(self) -> Iterator[tuple[int, list[str] | str]]:
        """Yield the cells of every good row, and the fault of every line of a bad one."""
        notation = self.layout.notation
        for before, after, row in _records(self.data, self.layout.delimiter, notation):
            line = self.first_line + before
            reason = row if isinstance(row, str) else self._misfit(row, line)
            if reason is None:
                yield line, row if notation.is_usual else list(map(notation.read, row))
                continue
            yield line, reason
            for more in range(line + 1, self.first_line + after):
                yield more, f"part of the bad row that begins on line {line}"

    def cells(self, names: Iterable[str]) -> dict[str, dict[int, str]]:
        """List the cells of some columns by line, as far as there are such."""
        rows = {line: row for line, row in self._rows() if isinstance(row, list)}
        header = self.layout.header
        indexes = {name: header.index(name) for name in names if name in header}
        return {name: {n: row[at] for n, row in rows.items()} for name, at in indexes.items()}

    def total(self, first: CsvBlock) -> tuple[int, Mapping[str, Any], str] | None:
        """Return the line and cells of a last row like a total, and the column that shows it.

        A cell says so, beside cells without letters, where neither the first rows nor the one
        before it do; or one is empty, where none of these is, and all other cells are numbers as
        large as the first ones together.
        """
        data = self.data.rstrip(b"\r\n")
        lines = data.rsplit(b"\n", 2)[-2:]
        *before, row = (next(attrs.evolve(self, data=line).rows(), {}) for line in lines)
        named = [name for name, cell in row.items() if _TOTAL.fullmatch(str(cell))]
        empty = [name for name, cell in row.items() if cell is None]
        looks = named or 0 < len(empty) < len(row)
        found = islice(first.rows(), _FIRST_ROWS if looks else 0)  # with those of its folders
        others = [one for one in found if not row.items() <= one.items()]
        if len(others) < 2:
            return None
        known = [*others, *filter(None, before)]
        named = [name for name in named if all(one[name] != row[name] for one in known)]
        empty = [name for name in empty if all(one[name] is not None for one in known)]
        cells = {name: row[name] for name in row if row[name] is not None and name not in named[:1]}
        if named:
            fits = not any(isinstance(one, str) and _LETTER.search(one) for one in cells.values())
        else:
            fits = all(_is_sum(cell, [one[name] for one in others]) for name, cell in cells.items())
        line = self.first_line + n_newlines(data)
        return next(((line, row, name) for name in (*named, *empty) if fits), None)

    def _misfit(self, row: list[str], line: int) -> str | None:
        layout, advice, width = self.layout, "", len(self.layout.header)
        if len(row) == width:
            return None
        if width == 1:
            advice = f" (`tail -n +{line}` leaves out what is above a header)"
        elif len(row) == width + 1 and line == layout.header_line + 1:
            mark = layout.delimiter.replace("\t", "\\t")
            is_sure = mark != "," or sum(map(str.isdigit, row)) < 2
            doubt = "" if is_sure else ", if no number has a decimal comma"
            if not row[-1]:
                advice = f" (`sed 's/{mark}\\r*$//'` leaves out what is last in each row)"
            elif at := layout.header_line:
                named = f"`sed '{at}s/^/row{mark}/'` names a column before the others"
                advice = f" ({named}{doubt})"
        elif len(row) == 1 and line == self.first_line + n_newlines(self.data.rstrip()):
            advice = " (--max-bad 1 leaves out one such row)"
        cells = "1 cell" if width == 1 else f"{width} cells"
        return f"the {layout.top} has {cells}, and this row has {len(row)}{advice}"


def _without_separator_line(piece: Piece) -> tuple[Piece, str]:
    """Leave out a first line such as sep=;, which Excel reads; also return the delimiter in it."""
    match = _SEPARATOR_LINE.match(piece.data)
    return (piece, "") if match is None else (_without_lines(piece, 1), match[1].decode())


def _without_lines(piece: Piece, n_lines: int) -> Piece:
    """Leave out the first lines."""
    data = b"".join(piece.data.split(b"\n", n_lines)[n_lines:])
    return attrs.evolve(piece, first_line=piece.first_line + n_lines, data=data)


@attrs.frozen
class _FirstRows:
    """The first rows of a table as one delimiter cuts them, and what they show.

    Parameters
    ----------
    delimiter : str
        The separator of cells.
    notation : Notation
        What cells mean.
    rows : list of (int, int, list of str or str)
        The cells of each row, or its fault, with the number of lines before and after it.
    lines : bytes
        The lines of the table.
    """

    delimiter: str
    notation: Notation
    rows: list[tuple[int, int, list[str] | str]]
    lines: bytes

    @classmethod
    def of(
        cls, lines: bytes, n_rows: int, n_whole: float, notation: Notation, delimiter: str
    ) -> _FirstRows:
        """Cut some rows; those without an end show something if they are as long as the others."""
        own = attrs.evolve(notation, is_spaced=notation.is_spaced and delimiter == " ")
        rows = list(islice(_records(lines, delimiter, own), n_rows))
        whole = [row for row in rows if row[0] < n_whole]
        if any(len(row[2]) != len(whole[-1][2]) for row in rows[len(whole) :] if whole):
            rows = whole
        return cls(delimiter, own, rows, lines)

    def below(self, n_lines: int) -> _FirstRows:
        """Leave out the rows of the first lines."""
        return attrs.evolve(self, rows=[row for row in self.rows if row[0] >= n_lines])

    @property
    def cells(self) -> list[list[str]]:
        """The rows that show the columns; none if one of these is a fault."""
        rows = [row for *_, row in self.rows[:_LOOKED_AT]]
        read = [row for row in rows if isinstance(row, list)]
        return read if len(read) == len(rows) else []

    @property
    def are_columns(self) -> bool:
        """Whether the rows have as many cells as the header; R names none for that of names."""
        width, *widths = [len(row) - (row[0] == _COMMENT) for row in self.cells] or [0]
        return width > 1 and len({*widths}) == 1 and widths[0] - width in (0, 1)

    @property
    def names(self) -> tuple[str, ...]:
        """The cells of the first row, without the mark of a comment before them."""
        *_, row = self.rows[0]
        is_marked = self.notation.is_spaced and row[0] == _COMMENT
        return tuple(row[is_marked and len(self.cells[-1]) < len(row) :])

    @property
    def uncut(self) -> str:
        """The first row, if the delimiter is not in it; otherwise empty."""
        for before, _, row in self.rows[:1]:
            # Quotes make no sense around cells that another delimiter separates.
            line = self._line(before) if isinstance(row, str) else row[0]
            if self.delimiter not in line and (isinstance(row, str) or len(row) == 1):
                return line
        return ""

    def _line(self, before: int) -> str:
        return text_of(self.lines).split("\n", before + 1)[before].rstrip("\r")

    @property
    def have_numbers(self) -> bool:
        """Whether the rows begin with their numbers, as R and pandas write them.

        R quotes them, and pandas indents the header. Other rows may end with what has no name, a
        delimiter or a decimal, and a name such as id may be that of the numbers.
        """
        names, rows, (top, after, _) = self.names, self.cells[1:], self.rows[0]
        are_longer = all(len(row) == len(names) + 1 and row[-1] for row in rows)
        if self.delimiter == "," or not are_longer or _COUNTING.fullmatch(names[0]):
            return False
        counted = (list(map(str, range(start, start + len(rows)))) for start in (0, 1))
        are_counted = len(rows) > 1 and [row[0] for row in rows] in counted
        return are_counted and (self._line(top)[:1] == " " or self._line(after)[:1] == '"')

    @property
    def are_spaced(self) -> bool:
        """Whether the header, or all rows below it, have a space after each delimiter."""
        named, *rows = [
            len(row) > 1 and all(cell[:1] == " " for cell in row[1:])
            for row in (self.names, *self.cells[1:])
        ]
        are_distinct = len({name.strip() for name in self.names}) == len(self.names)
        return (named and are_distinct) or (bool(rows) and all(rows))

    @property
    def decimal(self) -> tuple[str, list[str]]:
        """The decimal separator, and what the rows show of it.

        It is a comma if some numbers have one, and nothing speaks against it: 1,234 may be more
        than a thousand, and shows nothing, a point speaks against it, and so do lists such as
        1,5,2, beside which 1,5 may be one too. If each point has three digits behind it, all may be
        of thousands.
        """
        rows = (row for *_, row in self.rows if isinstance(row, list))
        first = (cell.strip() for row in rows for cell in row)
        cells = [without_spaces(without_currency(cell)).rstrip(" %") for cell in first]
        are_clear = any(has_decimal_comma(cell) and not may_have_thousands(cell) for cell in cells)
        pointed = [cell for cell in cells if _POINT.fullmatch(cell)]
        if are_clear and not pointed and not any(map(_LIST.fullmatch, cells)):
            return ",", ["decimal commas"]
        if pointed and all(map(may_have_thousands, pointed)):
            return ".", [f"decimal points in {pointed[0]} (--thousands . reads thousands)"]
        return ".", []


def _n_titles(cuts: Iterable[_FirstRows]) -> int:
    """Count the lines above a header, each with one cell at most; 0 if nothing shows a header.

    A header has names alone, each once, and the rows below have as many cells.
    """
    found = []
    for cut in cuts:
        rows = cut.cells
        # pandas names no column of an index: a header `,label` is none of titles
        are_wide = (sum(map(bool, row)) > 1 or (len(row) == 2 and row[1] > "") for row in rows)
        at = next((at for at, is_wide in enumerate(are_wide) if is_wide), len(rows))
        if not at and len(rows) > 1 and len(rows[0]) == len(rows[1]):
            return 0
        if len({len(row) for row in rows[at:]}) == 1 < len(rows) - at:
            names = {name for name in rows[at] if isinstance(value_of_cell(name), str)}
            found += [cut.rows[at][0]] if len(names) == len(rows[at]) else []
    return min(found, default=0)


def _split(
    cut: Callable[[str], _FirstRows], ways: Sequence[str], top: int, piece: Piece
) -> _FirstRows:
    """Cut the rows below some lines in the usual way, or as they alone show it."""
    first = cut(ways[0]).below(top)
    others = _delimiters_in(first.uncut)
    if len(ways) > 1 and len(others) == 1:
        first = cut(others[0]).below(top)
        others = _delimiters_in(first.uncut)
    elif len(ways) > 1 and first.uncut and not others:
        spaced = cut(" ").below(top)
        first = spaced if spaced.are_columns else first
    if others:
        advice = _DELIMITERS[others[0]]
        raise BadDataError(f"{piece.source}: the delimiter looks like {others[0]!r}; ", *advice)
    for before, _, row in first.rows[:1]:
        if isinstance(row, str):
            raise BadDataError(f"{piece.source}, line {piece.first_line + before}: {row}.")
    return first


def _delimiters_in(line: str) -> list[str]:
    """List the known delimiters that would split a line."""
    return [
        one for one in _DELIMITERS if one in line and all(map(str.isprintable, line.split(one)))
    ]


def _is_sum(cell: Any, others: Sequence[Any]) -> bool:
    """Whether all of these are numbers, of which the first may be the sum of more than the rest."""
    if not all(isinstance(one, int | float) for one in (cell, *others)):
        return False
    return bool(cell > max(others) and cell >= _ROUNDED * sum(others))


def _records(
    data: bytes, delimiter: str, notation: Notation = _USUAL
) -> Iterator[tuple[int, int, list[str] | str]]:
    """Yield rows or their faults, each with the numbers of lines read before and after it.

    A bad row of several lines may have swallowed good rows after a stray quote, so each of its
    lines counts as bad. Blank lines are skipped.
    """
    is_clean = is_utf8(data)
    # Often only the first rows are needed, so bytes are decoded as they are read.
    text = io.TextIOWrapper(io.BytesIO(data), "utf-8", "surrogateescape", newline="\n")
    # The csv module limits fields to 128 KiB for the whole process; LONGEST_LINE limits ours.
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
    reader = csv.reader(text, delimiter=delimiter, strict=True, skipinitialspace=notation.is_spaced)
    row: list[str] | str | None
    while True:
        before = reader.line_num
        try:
            row = next(reader, None)
        except csv.Error as error:
            # The rest of the message advises programmers to open the file in another mode.
            row = f"not CSV ({str(error).partition(' - ')[0]})"
        if row is None:
            return
        if not is_clean and not all(map(is_text, row)):
            row = _NOT_UTF8 if notation.encoding == UTF8 else f"not {notation.encoding}"
        if row:
            yield before, reader.line_num, row


def _position(name: str, header: tuple[str, ...], source: str) -> int:
    """Find a column that the header names exactly once."""
    n_found = header.count(name)
    if n_found != 1:
        trouble = "has no column" if n_found == 0 else f"has {n_found} columns"
        raise BadDataError(f"{source}: the header {trouble} {shown(name)}.")
    return header.index(name)
