"""Documents grouped by query, and how they are counted into queries."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Self

import attrs
import numpy as np

from streameval.configs.ranking import RankingConfig, gains_of
from streameval.exact.array_types import Array, Floats, Ints, Mask
from streameval.exact.fixed_point import FixedPoint
from streameval.exact.row_order import blocks, distinct_values, standings
from streameval.exact.score_keys import Keys, keys_of
from streameval.inputs.labels import distinct
from streameval.states.queries import NO_WEIGHTS, Gained, Queries, Ranked, weights_of

_BLOCK = 2**17  # rows in use: temporaries of this size mostly fit in the cache
_MAX_ROWS = 2**20


@attrs.frozen(eq=False)
class Documents:
    """Documents that have been checked, grouped by query.

    Parameters
    ----------
    ids : int64 or object array, shape (Q,), optional
        Sorted; None if queries have no ids.
    sizes, declared : int64 array, shape (Q,)
        The number of documents of each query, and the declared number of relevant ones, -1 if
        there is none.
    relevance : float64 array, shape (n,), or integers
        NaN for a document that has not been judged; integers are not negative.
    score : float32 or float64 array, shape (n,)
        NaN ranks last.
    is_retrieved : bool array, shape (n,), optional
        None if all are.
    document : int64 or object array, shape (n,), optional
        The id of each.
    weights : FixedPoint, shape (Q,)
        The weight of each query; empty if all weights are 1.
    """

    ids: Array | None
    sizes: Ints
    declared: Ints
    relevance: Array
    score: Array
    is_retrieved: Mask | None
    document: Array | None
    weights: FixedPoint = NO_WEIGHTS

    @classmethod
    def of_queries(cls, query: Ints, relevance: Array, score: Array) -> Self:
        """Make documents of queries without ids; the query numbers rise."""
        sizes = np.bincount(query - query[0])
        return cls(None, sizes, np.full_like(sizes, -1), relevance, score, None, None)

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.sizes)

    @property
    def is_minimal(self) -> bool:
        """Whether rows have nothing but relevances and scores, and each query has a document."""
        optional = self.ids, self.is_retrieved, self.document
        if any(column is not None for column in optional) or (self.declared >= 0).any():
            return False
        return bool(self.sizes.all()) and not self.weights.whole.size

    def select(self, kept: Mask) -> Self:
        """Keep some documents and all queries."""
        rows = np.flatnonzero(kept)
        return self._part(slice(None), rows, self.counts(rows))

    def blocks(self, size: int) -> Iterator[Self]:
        """Cut into blocks of queries with about `size` documents in total."""
        if len(self.score) <= size:
            yield self
            return
        start = 0
        for queries in blocks(self.sizes, size):
            sizes = self.sizes[queries]
            rows = slice(start, start + int(sizes.sum()))
            yield self._part(queries, rows, sizes)
            start = rows.stop

    def _part(self, queries: slice | Ints, rows: Any, sizes: Ints) -> Self:
        return type(self)(
            None if self.ids is None else self.ids[queries],
            sizes,
            self.declared[queries],
            self.relevance[rows],
            self.score[rows],
            None if self.is_retrieved is None else self.is_retrieved[rows],
            None if self.document is None else self.document[rows],
            weights_of(self.weights, queries),
        )

    def counts(self, rows: Ints) -> Ints:
        """Count some rows, given in order, by query."""
        counts = np.searchsorted(rows, np.cumsum(self.sizes))
        counts[1:] -= counts[:-1].copy()
        return counts

    def queries(self, rows: Ints | None = None) -> Ints:
        """Index the query of each row, or of some rows, given in order."""
        sizes = self.sizes if rows is None else self.counts(rows)
        return np.repeat(np.arange(len(sizes)), sizes)


@attrs.frozen(eq=False, slots=False)
class _Asked:
    """The rows that measures use, usually few, with their relevances as codes.

    Gains and grades are computed once for each distinct relevance.

    Parameters
    ----------
    rows, query : int64 array, shape (m,)
        The rows in order, and the indices of their queries.
    is_retrieved : bool array, shape (m,), optional
        None if all rows are.
    relevances : float64 array, shape (d,)
        The distinct relevances, rising.
    code : int64 array, shape (m,)
        The index of the relevance of each row among them.
    config : RankingConfig
        The options.
    """

    rows: Ints
    query: Ints
    is_retrieved: Mask | None
    relevances: Floats
    code: Ints
    config: RankingConfig

    @classmethod
    def of(cls, rows: Documents, config: RankingConfig) -> Self:
        """Find the rows that reach a relevance level or have a gain."""
        asked = np.flatnonzero(_is_asked(rows.relevance, config))
        retrieved = None if rows.is_retrieved is None else rows.is_retrieved[asked]
        return cls(asked, rows.queries(asked), retrieved, *_distinct(rows.relevance[asked]), config)

    @cached_property
    def gains(self) -> Floats:
        """The gain of each relevance."""
        return gains_of(self.relevances, self.config)

    @cached_property
    def grades(self) -> Keys:
        """The grade of each relevance: its own key, or the key of an equivalent level."""
        own, levels = self.relevances, np.array(self.config.levels)
        reached = np.searchsorted(levels, own, side="right") - 1
        grade = np.where(reached >= 0, levels[reached], own)
        if self.config.uses_gains:
            grade = np.where(self.gains > 0.0, own, grade)
        if self.config.max_grade < np.inf:
            grade = np.where(own >= 1.0, own, grade)
        return keys_of(grade, "real")

    def counted(self, n_queries: int) -> tuple[Ints, Ints]:
        """Count by query the rows that reach each level, all and those retrieved."""
        levels = self.config.levels
        relevant = np.empty((n_queries, len(levels)), dtype=np.int64)
        found = relevant if self.is_retrieved is None else np.empty_like(relevant)
        for number, level in enumerate(levels):
            reaching = self._having(self.relevances >= level)
            query = self.query[reaching]
            relevant[:, number] = np.bincount(query, minlength=n_queries)
            if self.is_retrieved is not None:
                query = query[self.is_retrieved[reaching]]
                found[:, number] = np.bincount(query, minlength=n_queries)
        return relevant, found

    def _having(self, kept: Mask) -> Any:
        """Find the rows with one of some relevances; do not copy if all rows match."""
        return slice(None) if kept.all() else np.flatnonzero(kept[self.code])

    def gained(self) -> Gained:
        """Count the rows of each query and gain."""
        some = self._having(self.gains > 0.0)
        gains, of_relevance = distinct_values(self.gains)
        found = None if self.is_retrieved is None else self.is_retrieved[some].astype(np.int64)
        query, code = self.query[some], of_relevance[self.code[some]]
        return Gained.of(query, keys_of(gains, "real"), code, found=found)


def complete_queries(rows: Documents, config: RankingConfig) -> Iterator[Queries]:
    """Count documents of complete queries, block by block, and keep only rows in use."""
    for block in rows.blocks(_block_size(rows, config)):
        yield queries_of(block, config, goes_on=False)


def _block_size(rows: Documents, config: RankingConfig) -> int:
    """Choose the number of rows of a block by the share of a sample that is in use.

    Smaller blocks need more calls, and larger ones exceed the cache. If a tenth is in use,
    blocks of 2**20 rows take 0.8 of the time of 2**18; if all are, blocks of 2**17 do.
    """
    if len(rows.score) <= _BLOCK:
        return _BLOCK
    sample = rows.relevance[:: len(rows.score) // _BLOCK | 1]
    n_asked = int(np.count_nonzero(_is_asked(sample, config)))
    return min(_BLOCK * len(sample) // max(n_asked, 1), _MAX_ROWS)


def queries_of(rows: Documents, config: RankingConfig, *, goes_on: bool = True) -> Queries:
    """Count documents by score and grade, and check the limits of queries.

    Parameters
    ----------
    rows : Documents
        The documents.
    config : RankingConfig
        The options.
    goes_on : bool
        Whether more rows of these queries may follow; if not, only rows in use are kept.
    """
    asked = _Asked.of(rows, config)
    gained = asked.gained() if config.uses_gains else Queries.none(config).gained
    if goes_on or config.keeps_documents:
        n_rows, ranked = _ranked(rows, asked, config)
    else:
        n_rows, ranked = _ranked_complete(rows, asked, is_nan_last=config.nan == "last")
    relevant, found = asked.counted(len(rows))
    counts = n_rows, relevant, found, rows.declared
    queries = Queries(rows.ids, *counts, ranked, gained, rows.weights)
    queries.check_limits()
    return queries


def _ranked(rows: Documents, asked: _Asked, config: RankingConfig) -> tuple[Ints, Ranked]:
    """Rank all retrieved documents."""
    grade = np.zeros(len(rows.score), dtype=np.uint64)
    grade[asked.rows] = asked.grades[asked.code]
    if rows.is_retrieved is not None:
        grade, rows = grade[rows.is_retrieved], rows.select(rows.is_retrieved)
    document = rows.document if config.keeps_documents else None
    return rows.sizes, Ranked.of(rows.queries(), _keys(rows.score), document, grade)


def _ranked_complete(rows: Documents, asked: _Asked, *, is_nan_last: bool) -> tuple[Ints, Ranked]:
    """Rank the retrieved documents in use by the number of rows above them."""
    asked_rows, query, code = asked.rows, asked.query, asked.code
    if rows.is_retrieved is not None and asked.is_retrieved is not None:
        own = np.cumsum(rows.is_retrieved) - 1
        kept, rows = np.flatnonzero(asked.is_retrieved), rows.select(rows.is_retrieved)
        asked_rows, query, code = own[asked_rows[kept]], query[kept], code[kept]
    score = rows.score
    if is_nan_last and np.isnan(score).any():
        score = _keys(score)
    above, size = standings(score, rows.sizes, asked_rows, query)
    return rows.sizes, Ranked.of_complete(query, above, size, asked.grades, code)


def _keys(score: Array) -> Keys:
    """Compute the keys of scores, 0 for NaN, which ranks last."""
    wide = score.astype(np.float64, copy=False)
    return np.where(np.isnan(wide), np.uint64(0), keys_of(wide, "real"))


def _is_asked(relevance: Array, config: RankingConfig) -> Mask:
    """Check which relevances reach a level or have a gain; NaN has neither."""
    lowest = config.levels[0]
    if config.uses_gains and isinstance(config.gain, tuple):
        return (relevance >= lowest) | (gains_of(relevance, config) > 0.0)
    if config.uses_gains and lowest > 0.0:
        return relevance > 0
    if relevance.dtype.kind != "f":
        lowest = math.ceil(max(lowest, 0.0))  # a comparison of integers needs no cast
    return relevance >= lowest


def _distinct(relevance: Array) -> tuple[Floats, Ints]:
    """Find the distinct relevances, rising, and the index of each row's."""
    if relevance.dtype.kind == "f":
        known, code = np.unique(relevance, return_inverse=True)
        return known, code
    known, code = distinct(relevance.astype(np.int64), name="relevance")
    return known.astype(np.float64), code
