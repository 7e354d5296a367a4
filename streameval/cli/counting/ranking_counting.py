"""Queries counted: from batches of rows, or of lists for each query, to what is printed of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from streameval.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from streameval.accumulators.ranking import RankingAccumulator

__all__ = ["close_queries", "count_lists", "count_missing", "count_rows"]

Array = npt.NDArray[Any]

_LISTS = ("relevance", "score", "doc", "retrieved")
# A row that says nothing: a query of which no document is known has to have a row.
_BLANK = {"relevance": math.nan, "score": 0.0, "retrieved": False}
_PIECE = 2**12


def count_lists(
    accumulator: RankingAccumulator,
    batch: Mapping[str, Array],
    *,
    write: Callable[[Mapping[str, Any]], str] | None = None,
) -> str:
    """Count complete queries, each with lists of its documents.

    Parameters
    ----------
    accumulator : RankingAccumulator
        What counts.
    batch : mapping from argument to array
        An array of arrays for relevances, scores, documents, and whether they were retrieved;
        the query and its number of relevant documents. Only the first two must be there.
    write : callable, optional
        Lays out the values of queries.

    Returns
    -------
    str
        The values of the queries, in their order.

    Raises
    ------
    InvalidInputError
        If lists differ in length, or the accumulator refuses something. Nothing is counted.
    """
    sizes = _sizes({name: batch[name] for name in _LISTS if name in batch})
    queries = batch.get("query", np.arange(len(sizes)))
    rows = {name: np.concatenate(batch[name].tolist()) for name in _LISTS if name in batch}
    places = np.repeat(np.arange(len(sizes)), sizes)
    empty = np.flatnonzero(sizes == 0)
    if len(empty):
        rows, places = _with_blanks(rows, len(empty)), np.concatenate([places, empty])
    numbers = batch.get("num_relevant")
    held: list[Mapping[str, Array]] = []
    accumulator.update(
        {**rows, "query": queries[places]},
        num_relevant=None if numbers is None else _by_query(queries, numbers),
        on_queries=None if write is None else held.append,
    )
    return "" if write is None else write(_in_order(held[0], queries))


def count_rows(accumulator: RankingAccumulator, batch: Mapping[str, Array]) -> str:
    """Count rows of queries that may go on; nothing of them is to be printed yet."""
    arguments: dict[str, Any] = dict(batch)
    if "num_relevant" in batch:
        arguments["num_relevant"] = _by_query(batch["query"], batch["num_relevant"])
    accumulator.update(arguments, partial=True)
    return ""


def close_queries(
    accumulator: RankingAccumulator,
    missing: Sequence[str],  # noqa: ARG001 - rows have no judgements apart
    *,
    write: Callable[[Mapping[str, Any]], str] | None = None,
) -> Iterator[str]:
    """Evaluate the queries that were counted row by row; give their values in pieces."""
    held: list[Mapping[str, Array]] = []
    accumulator.close(on_queries=held.append)
    return _written(held, write)


def count_missing(
    accumulator: RankingAccumulator,
    missing: Sequence[str],
    *,
    write: Callable[[Mapping[str, Any]], str] | None = None,
) -> Iterator[str]:
    """Count judged queries that no file has; give what they count, in their order, in pieces."""
    held: list[Mapping[str, Array]] = []
    accumulator.add_missing(missing, on_queries=held.append)
    return _written([_in_order(columns, np.array(missing, object)) for columns in held], write)


def _written(
    held: Sequence[Mapping[str, Array]], write: Callable[[Mapping[str, Any]], str] | None
) -> Iterator[str]:
    if write is None:
        return
    for columns in held:
        for start in range(0, len(columns["query"]), _PIECE):
            part = slice(start, start + _PIECE)
            yield write({name: column[part] for name, column in columns.items()})


def _sizes(lists: Mapping[str, Array]) -> Array:
    """Count the documents of each query."""
    sizes = {
        name: np.fromiter(map(len, arrays), dtype=np.intp, count=len(arrays))
        for name, arrays in lists.items()
    }
    wanted = sizes["relevance"]
    for name, found in sizes.items():
        differs = found != wanted
        if differs.any():
            place = int(differs.argmax())
            raise InvalidInputError(
                f"`{name}` must be as long as `relevance`, got a list of {found[place]} beside "
                f"one of {wanted[place]}."
            )
    return wanted


def _with_blanks(rows: Mapping[str, Array], number: int) -> dict[str, Array]:
    """Add rows that say nothing."""
    size = len(rows["relevance"])
    whole = {"retrieved": np.ones(size, dtype=bool)} | dict(rows)
    blank = {"doc": "" if "doc" in rows and rows["doc"].dtype == object else 0} | _BLANK
    return {
        name: np.concatenate([column, np.full(number, blank[name], dtype=column.dtype)])
        for name, column in whole.items()
    }


def _by_query(queries: Array, numbers: Array) -> dict[Any, int]:
    """Map each query to its number."""
    pairs = list(zip(queries.tolist(), numbers.tolist(), strict=True))
    known = dict(pairs)
    for query, number in pairs:
        if known[query] != number:
            raise InvalidInputError(
                f"`num_relevant` must be one number for a query, got {number} and "
                f"{known[query]} for {query!r}."
            )
    return known


def _in_order(columns: Mapping[str, Array], queries: Array) -> dict[str, Array]:
    """Sort the values of queries by the order of these."""
    places = {query: place for place, query in enumerate(columns["query"].tolist())}
    order = [places[query] for query in queries.tolist()]
    return {name: column[order] for name, column in columns.items()}
