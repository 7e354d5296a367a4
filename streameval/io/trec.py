"""TREC files: runs, which rank documents for queries, and qrels, which judge them."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from typing import BinaryIO, TypeVar

import attrs
import numpy as np

from streameval.configs.options import positive_integer
from streameval.errors import BadDataError, InvalidInputError
from streameval.exact.array_types import Indices
from streameval.io.errors import BadRow, ScatteredQueryError, shown
from streameval.io.streams import name_of, opened
from streameval.io.trec_rows import (
    QRELS,
    RUN,
    FloatArray,
    TextArray,
    TrecForm,
    TrecTable,
    cut_between_queries,
    first_rows,
    tables,
)

Path = str | os.PathLike[str]


@attrs.frozen(eq=False)
class _QueryIndex:
    """The positions of the rows of each query.

    Parameters
    ----------
    order : ndarray of int, shape (n,)
        The positions of all rows, grouped by query, in the order of the file within a query.
    bounds : ndarray of int, shape (n_queries + 1,)
        The positions in `order` where each query begins, and where the last one ends.
    numbers : mapping from query to int
        The number of each query, in the order of first rows.
    """

    order: Indices
    bounds: Indices
    numbers: dict[str, int]

    @classmethod
    def of(cls, query: TextArray) -> _QueryIndex:
        """Give each query a number, and sort the rows by it."""
        numbers = {name: number for number, name in enumerate(dict.fromkeys(query))}
        codes = np.fromiter(map(numbers.__getitem__, query), dtype=np.intp, count=len(query))
        bounds = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(numbers)))])
        return cls(np.argsort(codes, kind="stable"), bounds, numbers)

    def rows(self, query: str) -> Indices:
        """Return the positions of the rows of one query."""
        number = self.numbers[query]
        return self.order[self.bounds[number] : self.bounds[number + 1]]


@attrs.frozen(eq=False, repr=False, slots=False)
class _ByQuery(Mapping[str, dict[str, float]]):
    """Columns of queries, documents and numbers, with look-up by query."""

    query: TextArray
    doc: TextArray

    @property
    @abstractmethod
    def _values(self) -> FloatArray:
        """The number of each row."""

    @cached_property
    def _index(self) -> _QueryIndex:
        return _QueryIndex.of(self.query)

    def __getitem__(self, query: str) -> dict[str, float]:
        rows = self._index.rows(query)
        return dict(zip(self.doc[rows].tolist(), self._values[rows].tolist(), strict=True))

    def __contains__(self, query: object) -> bool:
        return query in self._index.numbers

    def __iter__(self) -> Iterator[str]:
        return iter(self._index.numbers)

    def __len__(self) -> int:
        return len(self._index.numbers)

    def __repr__(self) -> str:
        """Show the size."""
        return f"{type(self).__name__}(queries={len(self)}, rows={len(self.doc)})"


@attrs.frozen(eq=False, repr=False, slots=False)
class Run(_ByQuery):
    """The result of a system: documents with scores, for every query.

    `read_run` and `iter_run` return it. It holds the rows as columns, in the order of the file,
    and it is also a mapping from query to ``{doc: score}``. Its length is the number of queries,
    which are in the order of first appearance. Runs compare as mappings do, whatever the order
    of their rows.

    Parameters
    ----------
    query : ndarray of object, shape (n,)
        The query of each row, a str.
    doc : ndarray of object, shape (n,)
        The document, a str; no query has one twice.
    score : ndarray of float64, shape (n,)
        The score that ranks it, highest first; it can be infinite, but not NaN.

    Notes
    -----
    A look-up makes a new dict, in time proportional to the number of rows of the query.
    """

    score: FloatArray

    @property
    def _values(self) -> FloatArray:
        return self.score


@attrs.frozen(eq=False, repr=False, slots=False)
class Qrels(_ByQuery):
    """Relevance judgments: documents with their relevance, for every query.

    `read_qrels` returns it. It holds the rows as columns, in the order of the file, and it is
    also a mapping from query to ``{doc: relevance}``, as `Run` is for scores.

    Parameters
    ----------
    query : ndarray of object, shape (n,)
        The query of each row, a str.
    doc : ndarray of object, shape (n,)
        The document, a str; no query has one twice.
    relevance : ndarray of float64, shape (n,)
        Its judged relevance, finite; usually a whole number.
    """

    relevance: FloatArray

    @property
    def _values(self) -> FloatArray:
        return self.relevance


def read_run(path: Path) -> Run:
    r"""Read a run: the documents that a system returned for every query.

    A row is a line ``qid Q0 docid rank score tag``, with fields separated by spaces or tabs. The
    rank is ignored, as in trec_eval, because the scores rank; so are Q0 and everything after the
    score. The tag can be omitted in all lines, and any fields can follow it. Queries can be in
    any order. Blank lines are skipped, and so are lines that begin with ``#``.

    Parameters
    ----------
    path : path
        A file of UTF-8 text, gzipped or not; "-" is standard input.

    Returns
    -------
    Run
        The columns, and a mapping from query to ``{doc: score}``. Empty if the file is.

    Raises
    ------
    BadDataError
        When the file cannot be read, a line is not such a row, a score is NaN, or a query has
        a document twice; the message names file and line.
    InvalidInputError
        When `path` is not a path.

    Notes
    -----
    All rows are held in memory; `iter_run` reads a run that is too large for that.

    References
    ----------
    The README of trec_eval, https://github.com/usnistgov/trec_eval.

    Examples
    --------
    >>> import pathlib, tempfile, streameval as se
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "bm25.run")
    ...     n = path.write_text("q1 Q0 d7 1 3.5 bm25\nq1 Q0 d2 2 1.25 bm25\n")
    ...     run = se.io.read_run(path)
    >>> run
    Run(queries=1, rows=2)
    >>> run["q1"]
    {'d7': 3.5, 'd2': 1.25}
    """
    source = _source(path)
    return _checked(Run, _read(source, RUN), name_of(source))


def read_qrels(path: Path) -> Qrels:
    r"""Read qrels: the judged documents of every query.

    A row is a line ``qid iter docid rel``, with fields separated by spaces or tabs; the second one
    is ignored. Blank lines are skipped, and so are lines that begin with ``#``.

    Parameters
    ----------
    path : path
        A file of UTF-8 text, gzipped or not; "-" is standard input.

    Returns
    -------
    Qrels
        The columns, and a mapping from query to ``{doc: relevance}``. Empty if the file is.

    Raises
    ------
    BadDataError
        When the file cannot be read, a line is not such a row, a relevance is not finite, or a
        query has a document twice; the message names file and line.
    InvalidInputError
        When `path` is not a path.

    References
    ----------
    The README of trec_eval, https://github.com/usnistgov/trec_eval.

    Examples
    --------
    >>> import pathlib, tempfile, streameval as se
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "test.qrels")
    ...     n = path.write_text("q1 0 d2 1\nq1 0 d5 2\nq2 0 d7 0\n")
    ...     qrels = se.io.read_qrels(path)
    >>> dict(qrels)
    {'q1': {'d2': 1.0, 'd5': 2.0}, 'q2': {'d7': 0.0}}
    """
    source = _source(path)
    return _checked(Qrels, _read(source, QRELS), name_of(source))


def iter_run(path: Path, *, rows: int = 2**18) -> Iterator[Run]:
    r"""Read a run in pieces of whole queries, in memory that does not grow with its rows.

    The rows of a query must be contiguous. Together, the pieces equal what `read_run` reads.

    Parameters
    ----------
    path : path
        As for `read_run`.
    rows : int, default 262144
        The minimum number of rows of a piece, except for the last one. A query with more rows
        is one piece.

    Yields
    ------
    Run
        The rows of one or more queries; none at all from an empty file.

    Raises
    ------
    BadDataError
        As for `read_run`, on reaching the line, and when a query reappears after another.
    InvalidInputError
        When `path` is not a path, or `rows` is not an integer of at least 1.

    Notes
    -----
    The identifiers of all queries are kept, to detect one that reappears.

    Examples
    --------
    >>> import pathlib, tempfile, streameval as se
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "bm25.run")
    ...     n = path.write_text("q1 Q0 d7 1 3.5 bm25\nq2 Q0 d2 1 1.25 bm25\n")
    ...     [list(run) for run in se.io.iter_run(path, rows=1)]
    [['q1'], ['q2']]
    """
    return _pieces(_source(path), positive_integer(rows, name="rows"))


def _pieces(source: str, rows: int) -> Iterator[Run]:
    try:
        for run, _ in sized_runs(source, rows):
            yield run
    except ScatteredQueryError as error:
        raise BadDataError(str(error)) from None


def sized_runs(
    source: str, rows: int, *, copy: BinaryIO | None = None
) -> Iterator[tuple[Run, int]]:
    """Yield the pieces of a run, each with the number of bytes of the file read for it.

    Raises
    ------
    ScatteredQueryError
        When a query reappears after another.
    """
    taken = 0
    with opened(source, copy=copy) as stream:
        for table in cut_between_queries(tables(stream, RUN), rows, stream.name):
            yield _checked(Run, table, stream.name), stream.taken - taken
            taken = stream.taken


def is_scattered(source: str, *, copy: BinaryIO | None = None) -> bool:
    """Tell whether a query of a run reappears after another one, in one pass over the file."""
    with opened(source, copy=copy) as stream:
        try:
            for _ in cut_between_queries(tables(stream, RUN), 1, stream.name):
                pass
        except ScatteredQueryError:
            return True
    return False


def gathered_runs(
    source: str, rows: int, *, copy: BinaryIO | None = None
) -> Iterator[tuple[Run, int]]:
    """Yield pieces as `sized_runs` does, after reading a run with scattered queries completely."""
    with opened(source, copy=copy) as stream:
        run = _checked(Run, TrecTable.joined(tables(stream, RUN)), stream.name)
        taken = stream.taken
    bounds = run._index.bounds
    steps = np.searchsorted(bounds, np.arange(rows, len(run.doc), rows)).tolist()
    for start, end in pairwise(dict.fromkeys([0, *bounds[steps].tolist(), len(run.doc)])):
        part = run._index.order[start:end]
        yield Run(run.query[part], run.doc[part], run.score[part]), taken
        taken = 0


def rows_of_run(source: str, *, copy: BinaryIO | None = None) -> list[list[str]]:
    """Read the fields of the first rows of a run."""
    with opened(source, copy=copy) as stream:
        return first_rows(stream)


def _source(path: Path) -> str:
    try:
        return os.fsdecode(path)
    except TypeError:
        given = type(path).__name__
        raise InvalidInputError(
            f"must be the path of a file, got {given}", argument="path"
        ) from None


def _read(source: str, form: TrecForm) -> TrecTable:
    """Read all rows of a file."""
    none = TrecTable.of([], [], np.empty(0), [])
    with opened(source) as stream:
        return TrecTable.joined([none, *tables(stream, form)])


HeldT = TypeVar("HeldT", Run, Qrels)


def _checked(kind: type[HeldT], table: TrecTable, name: str) -> HeldT:
    """Refuse a document that a query lists twice, as trec_eval does, and name the second line."""
    held, line = kind(table.query, table.doc, table.value), table.line
    order, bounds = held._index.order, held._index.bounds.tolist()
    docs = held.doc[order].tolist()
    repeats = [
        _first_repeat(docs[start:end], order[start:end].tolist())
        for start, end in pairwise(bounds)
        if len(set(docs[start:end])) < end - start
    ]
    if repeats:
        again, before = min(repeats)
        pair = f"document {shown(held.doc[again])} of query {shown(held.query[again])}"
        reason = f"{pair} is already on line {line[before]}"
        raise BadDataError(str(BadRow(name, "line", int(line[again]), reason)))
    return held


def _first_repeat(docs: list[str], rows: list[int]) -> tuple[int, int]:
    """Find the first row that repeats the document of an earlier row, and the earlier row."""
    first = dict(zip(reversed(docs), reversed(rows), strict=True))
    again = min(set(rows) - set(first.values()))
    return again, first[docs[rows.index(again)]]
