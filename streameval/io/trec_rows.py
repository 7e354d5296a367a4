"""Rows of TREC files: lines split into columns, many at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from streameval.errors import BadDataError
from streameval.exact.array_types import Array, Floats, Indices, Ints
from streameval.io.columns import Numbers
from streameval.io.errors import BadRow, ScatteredQueryError, shown
from streameval.io.lines import LineEnds, is_text, pieces, text_of
from streameval.io.notation import number_or_text
from streameval.io.streams import ByteStream

TextArray = npt.NDArray[np.object_]
FloatArray = Floats

# It separates lines while a text is split into fields, so lines must not hold it.
_END = "\0"
_COMMENT = "#"
_BEIR, _HEADER = 3, "query-id"
_FIRST_ROWS = 1000
_NUMBERS = Numbers()


@attrs.frozen
class TrecForm:
    """The fields of a line of a run or of judgements: the query first, the document third.

    Lines of three fields are judgements as in BEIR: query, document and number.

    Parameters
    ----------
    widths : tuple of int
        The valid numbers of fields, the usual number first.
    takes_more : bool
        Whether fields after the usual number are ignored.
    layout : str
        The names of the fields, for messages.
    number : str
        The name of the numeric field.
    at : int
        The position of the numeric field.
    is_finite : bool
        Whether the number must be finite; if not, it can be infinite, but not NaN.
    between : (str, str)
        What stands between query, document and number in a row that advice makes.
    """

    widths: tuple[int, ...]
    takes_more: bool
    layout: str
    number: str
    at: int
    is_finite: bool
    between: tuple[str, str]

    def positions(self, width: int) -> tuple[int, int, int]:
        """Find the query, the document and the number in a line of that many fields."""
        return (0, 1, 2) if width == _BEIR else (0, 2, self.at)

    def numbers(self, cells: Sequence[str]) -> FloatArray | None:
        """Read the numbers, or return None if one of them does not fit."""
        values = _NUMBERS.whole(_NUMBERS.from_text(cells))
        if values is None:
            return None
        fits = np.isfinite(values) if self.is_finite else ~np.isnan(values)
        return values if fits.all() else None

    def fits(self, width: int) -> bool:
        """Tell whether a line can have that number of fields."""
        return width in self.widths or (self.takes_more and width > self.widths[0])

    def without_rest(self, line: str) -> str:
        """Drop the ignored fields of a line, unless it holds a byte that is refused."""
        fields = _fields(line)
        if not self.takes_more or len(fields) <= self.widths[0] or not _is_clean(line):
            return line
        return " ".join(fields[: self.widths[0]])

    def reason(self, line: str, width: int) -> str:
        """Describe the fault of a line that does not match a first row of `width` fields."""
        if not is_text(line):
            return "not UTF-8"
        if _END in line:
            return "holds a NUL byte"
        fields = _fields(line)
        if line.startswith("{"):
            row = r"\($q){}\(.key){}\(.value)".format(*self.between)
            each = "to_entries[] | .key as $q | .value | to_entries[]"
            return f"{self.layout}; `jq -r '{each} | \"{row}\"'` makes rows of an object of objects"
        if not self.fits(len(fields)):
            more = self._advice(line) if len(fields) == width else ""
            return f"{self.layout}, and this row has {len(fields)}{more}"
        if min(len(fields), self.widths[0]) != min(width, self.widths[0]):
            return f"the first row has {width} fields, and this row has {len(fields)}"
        wanted = "a finite number" if self.is_finite else "a number"
        number = fields[self.positions(len(fields))[2]]
        return f"`{self.number}` must be {wanted}, got {shown(number)}"

    def _advice(self, line: str) -> str:
        """Name the command that makes rows of three columns, such as those of MS MARCO."""
        mark, cells = (",", line.split(",")) if "," in line else (r"\s+", _fields(line))
        if mark == "," and len(cells) > _BEIR and self.fits(len(cells)):
            return " (`tr , ' '` separates them)"
        if len(cells) < _BEIR or (mark != "," and len(cells) > _BEIR):
            return ""
        has_header = not any(isinstance(number_or_text(cell), float) for cell in cells)
        first, second = self.between
        steps = f"{'1d; ' * has_header}s/{mark}/{second}/2; s/{mark}/{first}/"
        rank = "; before a rank, ' 0 -'" if second.strip() else ""
        return f" (`sed -E '{steps}'` makes rows of query, document and {self.number}{rank})"


RUN = TrecForm(
    widths=(6, 5),
    takes_more=True,
    layout="a run has 6 fields (qid Q0 docid rank score tag)",
    number="score",
    at=4,
    is_finite=False,
    between=(" Q0 ", " 0 "),
)
QRELS = TrecForm(
    widths=(4, _BEIR),
    takes_more=False,
    layout="qrels have 4 fields (qid iter docid rel)",
    number="rel",
    at=3,
    is_finite=True,
    between=(" 0 ", " "),
)


@attrs.frozen(eq=False)
class TrecTable:
    """Rows as columns, with the number of the line that each comes from."""

    query: TextArray
    doc: TextArray
    value: FloatArray
    line: Ints

    @classmethod
    def of(
        cls, query: Sequence[str], doc: Sequence[str], value: FloatArray, line: Any
    ) -> TrecTable:
        """Turn lists into arrays."""
        texts = np.array(query, dtype=object), np.array(doc, dtype=object)
        return cls(*texts, value, np.array(line, dtype=np.int64))

    @classmethod
    def joined(cls, parts: Iterable[TrecTable]) -> TrecTable:
        """Concatenate one or more tables."""
        columns = zip(*(part.columns() for part in parts), strict=True)
        return cls(*map(np.concatenate, columns))

    def columns(self) -> tuple[Array, ...]:
        """Return the columns in the order of the constructor."""
        return self.query, self.doc, self.value, self.line

    def cut(self, at: int) -> list[TrecTable]:
        """Cut into two tables, as copies that do not keep each other in memory."""
        halves = (slice(None, at), slice(at, None))
        return [TrecTable(*(column[half].copy() for column in self.columns())) for half in halves]


def tables(stream: ByteStream, form: TrecForm) -> Iterator[TrecTable]:
    """Read the rows of a stream, piece by piece; equal queries share one string.

    The first row sets the number of fields of all rows, apart from ignored fields.

    Raises
    ------
    BadDataError
        If a line that is neither blank nor a comment does not fit the form.
    """
    known: dict[str, str] = {}
    width = 0
    for piece in pieces(stream, LineEnds()):
        text = text_of(piece.data)
        width = width or _width_of_first_row(text)
        if width:
            (query, doc, value), line = _parsed(text, piece.first_line, form, width, stream.name)
            yield TrecTable.of(list(map(known.setdefault, query, query)), doc, value, line)


def first_rows(stream: ByteStream) -> list[list[str]]:
    """Read the fields of the first rows."""
    for piece in pieces(stream, LineEnds()):
        lines = islice(filter(_holds_a_row, text_of(piece.data).split("\n")), _FIRST_ROWS)
        if rows := list(map(_fields, lines)):
            return rows
    return []


def order_by_rank(rows: Sequence[Sequence[str]]) -> str:
    """Tell whether the scores of each query rise with the rank, or are equal; else nothing.

    >>> order_by_rank([["q", "Q0", "a", "2", "0.5"], ["q", "Q0", "b", "1", "0.3"]])
    'rise'
    """
    try:
        scores = {(row[0], int(row[3])): float(row[4]) for row in rows}
    except (ValueError, IndexError):
        return ""
    ranked = pairwise(sorted(scores.items()))
    steps = [after - before for (key, before), (other, after) in ranked if key[0] == other[0]]
    if len(scores) < len(rows) or not steps or min(steps) < 0:  # a rank twice is none
        return ""
    return "rise" if min(steps) > 0 else "" if any(steps) else "are equal"


def cut_between_queries(
    parts: Iterable[TrecTable], min_rows: int, source: str
) -> Iterator[TrecTable]:
    """Cut tables between queries instead, each after at least `min_rows` rows.

    Raises
    ------
    ScatteredQueryError
        If a query reappears after another.
    """
    seen: set[str] = set()
    last: str | None = None
    pending: list[TrecTable] = []
    n_rows = cut = 0
    for part in parts:
        starts = _starts(part.query, last)
        _note_queries(part, starts, seen, source)
        if len(starts):
            cut, last = n_rows + int(starts[-1]), part.query[-1]
        pending.append(part)
        n_rows += len(part.line)
        if cut >= min_rows:
            pending = TrecTable.joined(pending).cut(cut)
            n_rows, cut = n_rows - cut, 0
            yield pending.pop(0)
    if pending:
        yield TrecTable.joined(pending)


_Columns = tuple[list[str], list[str], FloatArray]
"""The queries, documents and numbers of rows."""


def _parsed(
    text: str, first_line: int, form: TrecForm, width: int, source: str
) -> tuple[_Columns, Sequence[int]]:
    """Read whole lines, and the number of the line of each row."""
    columns = _columns(text, form, width)
    if columns is not None:
        return columns, range(first_line, first_line + text.count("\n"))
    lines = enumerate(text.split("\n"), first_line)
    rows = {number: line for number, line in lines if _holds_a_row(line)}
    read = {number: f"{form.without_rest(line)}\n" for number, line in rows.items()}
    usual = min(width, form.widths[0])
    columns = _columns("".join(read.values()), form, usual)
    if columns is not None:
        return columns, list(rows)
    bad = next(number for number, line in read.items() if _columns(line, form, usual) is None)
    raise BadDataError(str(BadRow(source, "line", bad, form.reason(rows[bad], width))))


def _columns(text: str, form: TrecForm, width: int) -> _Columns | None:
    """Split complete lines, or return None if one is not a good row of `width` fields.

    All lines are split together, because a list for each line would keep the garbage collector
    busy for five times as long as this takes.
    """
    if not form.fits(width) or not _is_clean(text):
        return None
    fields = _fields(text.replace("\n", f" {_END} "))
    step, n_lines = width + 1, text.count("\n")
    if len(fields) != step * n_lines or fields[width::step].count(_END) != n_lines:
        return None
    query, doc, cells = (fields[at::step] for at in form.positions(width))
    values = form.numbers(cells)
    if values is None or (_COMMENT in text and any(map(_is_comment, query))):
        return None
    return query, doc, values


def _fields(text: str) -> list[str]:
    r"""Split at spaces and tabs, and at the carriage returns of line ends ``\r\n``.

    Nothing else separates fields; `str.split` would also split at U+3000 and at U+001F.
    """
    spaced = text.replace("\t", " ").replace("\r", " ").strip(" ")
    fields = spaced.split(" ")
    return list(filter(None, fields)) if "  " in spaced or not spaced else fields


def _is_clean(text: str) -> bool:
    return _END not in text and is_text(text)


def _holds_a_row(line: str) -> bool:
    """Tell rows from blank lines, comments, and the header of BEIR."""
    fields = _fields(line)
    return bool(fields) and not _is_comment(fields[0])


def _is_comment(first_field: str) -> bool:
    return first_field.startswith(_COMMENT) or first_field == _HEADER


def _width_of_first_row(text: str) -> int:
    """Count the fields of the first row, 0 if there is none."""
    return next((len(_fields(line)) for line in text.split("\n") if _holds_a_row(line)), 0)


def _starts(query: TextArray, last: str | None) -> Indices:
    """Find the rows whose query differs from that of the row before."""
    before = np.empty_like(query)
    before[:1], before[1:] = last, query[:-1]
    return np.flatnonzero(query != before)


def _note_queries(table: TrecTable, starts: Iterable[int], seen: set[str], source: str) -> None:
    """Note the queries that begin, and refuse one that has appeared before."""
    for start in starts:
        name = table.query[start]
        if name in seen:
            advice = "`read_run` reads queries in any order"
            reason = f"query {shown(name)} comes back after another; {advice}"
            raise ScatteredQueryError(str(BadRow(source, "line", int(table.line[start]), reason)))
        seen.add(name)
