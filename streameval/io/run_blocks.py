"""TREC runs joined with their judgements, in blocks of whole queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np

from streameval.inputs.judged_runs import judged_rows
from streameval.io.columns import objects
from streameval.io.rows import Parsed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from streameval.io.columns import Argument
    from streameval.io.row_filters import RowFilter
    from streameval.io.trec import Run

_TYPES: dict[str, Any] = {
    "relevance": np.float64,
    "score": np.float64,
    "doc": object,
    "retrieved": bool,
}


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
    """

    unit: ClassVar[str] = "query"
    source: str
    run: Run
    judged: Mapping[str, Mapping[str, float]]
    taken: int
    unended: str = ""
    max_documents: int | None = None

    def rows(
        self,
        names: Iterable[str] | None = None,  # noqa: ARG002 - all are read anyway
    ) -> Iterator[Mapping[str, Any]]:
        """Yield the rows of the run."""
        run = self.run
        for query, doc, score in zip(run.query, run.doc, run.score.tolist(), strict=True):
            yield {"query": query, "doc": doc, "score": score}

    def parse(
        self,
        columns: Sequence[Argument],  # noqa: ARG002 - they are always the same
        where: RowFilter | None = None,  # noqa: ARG002 - queries are counted whole
    ) -> Parsed:
        """Lay out each judged query as lists; documents that were not returned come last."""
        queries = list(self.judged)
        rows = [self._query(query) for query in queries]
        batch = {
            name: objects([np.array(row[name], dtype=dtype) for row in rows])
            for name, dtype in _TYPES.items()
        }
        return Parsed({"query": objects(queries), **batch}, queries, [], n_rows=len(self.run.doc))

    def _query(self, query: str) -> dict[str, Any]:
        run, qrels = {query: self.run[query]}, {query: self.judged[query]}
        return next(judged_rows(run, qrels, max_documents=self.max_documents))
