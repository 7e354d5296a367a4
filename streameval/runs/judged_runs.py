"""TREC runs with their judgements, as blocks of whole queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar

import attrs
import numpy as np

from streameval.errors import BadDataError
from streameval.exact.array_types import Array
from streameval.inputs.judged_runs import judged_rows
from streameval.io.blocks import Block, Parsed, assemble, fields_read
from streameval.io.columns import Argument, Texts, objects
from streameval.io.errors import BadRow, shown
from streameval.io.formats import read_blocks
from streameval.io.streams import is_read_once, name_of, opened, writing_temporary_file
from streameval.io.trec import Run, gathered_runs, is_scattered, read_qrels, rows_of_run, sized_runs
from streameval.io.trec_rows import order_by_rank
from streameval.runs.sources import BlockSource, RawRow
from streameval.runs.totals import Seen

if TYPE_CHECKING:
    from streameval.io.row_filters import RowFilter

_ROWS = 2**16  # so many make a block worth a worker's while
_COPIED = 2**20  # bytes at a time
_TYPES: dict[str, Any] = {
    "relevance": np.float64,
    "score": np.float64,
    "doc": object,
    "retrieved": bool,
}
_QUERY = "query"
ARGUMENTS = (*_TYPES, _QUERY, "num_relevant", "query_weight")
"""What a block of queries is laid out as; other arguments are columns of a table of queries."""
_DOUBTS = {
    "rise": (
        "rank 1 has the lowest score, but the highest score comes first; of distances, use "
        "`awk '{$5 = -$5} 1'`"
    ),
    "are equal": (
        "all scores of a query are equal, and ranks do not count; `awk '{$5 = -$4} 1'` makes "
        "scores of ranks"
    ),
}
"""What to say of a run whose scores rise with the rank or are equal."""
MISSING = "missing"
"""The argument that tells judged queries that no file has."""


def read_queries(path: str, key: str) -> dict[str, RawRow]:
    """Read a table with a row for each query, by the ids of queries.

    Parameters
    ----------
    path : str
        A file of rows in any format.
    key : str
        The column of the queries.

    Raises
    ------
    BadDataError
        If the table cannot be read, lacks the column, or has a query twice.
    """
    found: dict[str, RawRow] = {}
    for block in read_blocks(path, None):
        parsed = block.parse((Argument(_QUERY, (key,), Texts()),))
        if parsed.faults:
            row_id, reason = parsed.faults[0]
            raise BadDataError(str(BadRow(block.source, block.unit, row_id, reason)))
        for query, row in zip(parsed.batch[_QUERY].tolist(), block.rows(), strict=True):
            if query in found:
                raise BadDataError(f"{block.source}: query {shown(query)} has a row already.")
            found[query] = row
    return found


@attrs.frozen(eq=False)
class QueryRows:
    """What is known of each of some queries besides their documents.

    Parameters
    ----------
    queries : list of str
    rows : list of Row
        The row of each query in the table of queries; empty where there is no table.
    weights : list of float, optional
        What each counts, by default 1.
    """

    queries: list[str]
    rows: list[RawRow]
    weights: list[float] | None = None

    def parsed(
        self, columns: Sequence[Argument], laid_out: Mapping[str, Array], n_rows: int
    ) -> Parsed:
        """Add ids, weights and columns of the table to what is laid out; queries may be bad."""
        given = {_QUERY: objects(self.queries), **laid_out}
        if self.weights is not None:
            given["query_weight"] = np.array(self.weights)
        more = [column for column in columns if column.argument not in ARGUMENTS]
        values = {
            (name, field_type): [row.get(name) for row in self.rows]
            for name, field_type in fields_read(more)
        }
        found = assemble(more, values, range(len(self.queries)))
        kept = np.array(found.row_ids, dtype=np.intp)
        batch = {name: array[kept] for name, array in given.items()} | dict(found.batch)
        faults = [(self.queries[position], reason) for position, reason in found.faults]
        return Parsed(batch, batch[_QUERY].tolist(), faults, n_rows=n_rows)


@attrs.frozen(eq=False)
class MissingBlock:
    """The judged queries that no file has.

    Parameters
    ----------
    source : str
        The name of the file with their judgements.
    known : QueryRows
    """

    unit: ClassVar[str] = "query"
    source: str
    known: QueryRows
    taken: int = 0
    unended: str = ""

    def rows(
        self,
        names: Iterable[str] | None = None,  # noqa: ARG002 - all are read anyway
    ) -> Iterator[Mapping[str, Any]]:
        """Yield nothing: they have no documents."""
        return iter(())

    def parse(
        self,
        columns: Sequence[Argument],
        where: RowFilter | None = None,  # noqa: ARG002 - queries are counted whole
    ) -> Parsed:
        """Name the queries, and say that they are missing."""
        missing = np.ones(len(self.known.queries), dtype=bool)
        return self.known.parsed(columns, {MISSING: missing}, n_rows=0)


@attrs.frozen(eq=False)
class RunBlock:
    """Several queries of a run, with all their rows and judgements.

    Parameters
    ----------
    source : str
        The name of the file.
    run : Run
        The rows.
    judged : mapping from query to mapping from document to relevance
        The judgements of the queries; queries without judgements are left out.
    taken : int
        Their number of bytes in the file, before unpacking.
    unended : str
        Empty: a run is read completely or not at all.
    max_documents : int, optional
        The number of documents of a query that count as retrieved, by default all.
    known : QueryRows, optional
        What else is known of the judged queries, in their order.
    """

    unit: ClassVar[str] = "query"
    source: str
    run: Run
    judged: Mapping[str, Mapping[str, float]]
    taken: int
    unended: str = ""
    max_documents: int | None = None
    known: QueryRows = attrs.field(
        default=attrs.Factory(lambda block: QueryRows(list(block.judged), []), takes_self=True)
    )

    def rows(
        self,
        names: Iterable[str] | None = None,  # noqa: ARG002 - all are read anyway
    ) -> Iterator[Mapping[str, Any]]:
        """Yield the rows of the run, with the columns of the table of queries."""
        run, known = self.run, dict(zip(self.known.queries, self.known.rows, strict=False))
        for query, doc, score in zip(run.query, run.doc, run.score.tolist(), strict=True):
            yield {**known.get(query, {}), "query": query, "doc": doc, "score": score}

    def parse(
        self,
        columns: Sequence[Argument],
        where: RowFilter | None = None,  # noqa: ARG002 - queries are counted whole
    ) -> Parsed:
        """Lay out each judged query as lists; documents that were not returned come last."""
        rows = [self._query(query) for query in self.judged]
        lists = {
            name: objects([np.array(row[name], dtype=dtype) for row in rows])
            for name, dtype in _TYPES.items()
        }
        return self.known.parsed(columns, lists, n_rows=len(self.run.doc))

    def _query(self, query: str) -> dict[str, Any]:
        run, qrels = {query: self.run[query]}, {query: self.judged[query]}
        return next(judged_rows(run, qrels, max_documents=self.max_documents))


class JudgedRuns(BlockSource):
    """The parts of one TREC run, with its judgements.

    Parameters
    ----------
    files : sequence of str
        The parts.
    qrels : str
        The judgements.
    count_missing : bool
        Whether judged queries that no part has are counted.
    max_documents : int, optional
        How many documents of a query count as retrieved, all by default.
    weights : mapping from query to number, optional
        What each query counts.
    table : mapping from query to Row, optional
        What else is known of each query, as `read_queries` reads it.

    Raises
    ------
    BadDataError
        If the judgements are missing or cannot be read.
    """

    def __init__(
        self,
        files: Sequence[str],
        qrels: str,
        *,
        count_missing: bool,
        max_documents: int | None = None,
        weights: Mapping[str, float] | None = None,
        table: Mapping[str, RawRow] | None = None,
    ) -> None:
        self._files = files
        self._weights, self._table = weights, table
        self._path = qrels
        self._count_missing = count_missing
        self._max_documents = max_documents
        self._rows: list[list[str]] = []  # the first ones
        self._qrels = read_qrels(qrels)
        if not self._qrels:
            raise BadDataError(f"{name_of(qrels)}: holds no rows.")
        self._seen = Seen()
        self._n_judged = self._n_unjudged = 0
        self._finds_judged = False
        self._gathers = False
        self._scattered: list[str] = []
        self._copies: dict[str, BinaryIO] = {}
        self._open = ExitStack()

    def blocks(self) -> Iterator[Block]:
        """Split the run between queries, and attach the judgements of each part.

        The last block has the judged queries that no file has, unless other parts may have them.

        Raises
        ------
        ScatteredQueryError
            If a query continues after another one; after `gather` it may.
        BadDataError
            If two files have the same query, or one has no weight or row; the message names it.
        """
        self._seen = Seen()
        self._n_judged = self._n_unjudged = 0
        for file in self._files:
            for run, taken in self._runs(file):
                self._seen.add(run, name_of(file))
                judged = {query: self._qrels[query] for query in run if query in self._qrels}
                self._n_judged += len(judged)
                self._finds_judged = self._finds_judged or any(
                    not docs.keys().isdisjoint(run[query]) for query, docs in judged.items()
                )
                self._n_unjudged += len(run) - len(judged)
                known = self._known(list(judged))
                limit = self._max_documents
                yield RunBlock(name_of(file), run, judged, taken, max_documents=limit, known=known)
        missing = [query for query in self._qrels if query not in self._seen]
        if missing and self._count_missing:
            yield MissingBlock(name_of(self._path), self._known(missing))

    def _known(self, queries: list[str]) -> QueryRows:
        """Find the weights of queries and their rows of the table."""
        weights = None if self._weights is None else [self._weights[query] for query in queries]
        table = self._table
        if table is None:
            return QueryRows(queries, [], weights)
        lacking = next((query for query in queries if query not in table), None)
        if lacking is not None:
            raise BadDataError(f"the table of --queries has no row for query {shown(lacking)}.")
        return QueryRows(queries, [table[query] for query in queries], weights)

    def _runs(self, file: str) -> Iterator[tuple[Run, int]]:
        copy = self._copies.get(file)
        if copy is None and is_read_once(file):
            copy = self._copies[file] = self._open.enter_context(TemporaryFile())  # noqa: SIM115
            _copy(file, copy)
        if not self._rows:
            self._rows = rows_of_run(file, copy=copy)
        if self._gathers and is_scattered(file, copy=copy):
            self._scattered.append(name_of(file))
            return gathered_runs(file, _ROWS, copy=copy)
        return sized_runs(file, _ROWS, copy=copy)

    def gather(self) -> None:
        """Check from now on whether queries are contiguous in each file; if not, hold the file."""
        self._gathers = True

    def close(self) -> None:
        """Delete the copies of what can be read only once."""
        self._open.close()

    def remarks(self) -> list[str]:
        """Say how many queries have been left out.

        Raises
        ------
        BadDataError
            If no query is judged at all.
        """
        name, first = name_of(self._path), next(iter(self._qrels.items()))
        if not self._n_judged:
            raise BadDataError(
                f"{name}: none of the queries of the run is judged; the run begins with query "
                f"{shown(self._rows[0][0])}, and the judgements with {shown(first[0])}."
            )
        remarks = [
            f"{name}: was read again and held in memory: the rows of a query are not together."
            for name in self._scattered
        ]
        if not self._finds_judged:
            remarks.append(
                f"{name}: none of the documents of the run is judged; the run begins with document "
                f"{shown(self._rows[0][2])}, and the judgements with {shown(next(iter(first[1])))}."
            )
        if order := order_by_rank(self._rows):
            remarks.append(f"{name_of(self._files[0])}: {_DOUBTS[order]}.")
        if self._n_unjudged:
            left_out = "1 query" if self._n_unjudged == 1 else f"{self._n_unjudged:,} queries"
            remarks.append(f"left out {left_out} of the run without judgements.")
        return remarks

    def origin(self) -> dict[str, Any]:
        """Say where the judgements come from, how many queries have none, and the run's tag."""
        row = self._rows[0] if self._rows else []
        tag = {"runid": row[5]} if len(row) > 5 else {}
        return {"qrels": self._path, "unjudged": self._n_unjudged, **tag}


def _copy(file: str, copy: BinaryIO) -> None:
    """Copy a source that can be read only once, in case it is read again."""
    with opened(file) as stream:
        while piece := stream.read(_COPIED):
            with writing_temporary_file():
                copy.write(piece)
