"""From rows of documents, those of a query together, to what is known of each query."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt

from streameval.configs.gains import gains_of
from streameval.configs.ranking import RankingConfig
from streameval.exact.row_order import distinct_values, standings
from streameval.exact.score_keys import keys_of
from streameval.inputs.labels import distinct
from streameval.states.queries import Gained, Queries, Ranked

__all__ = ["Documents", "complete_queries", "queries_of"]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]

_BLOCK = 2**17  # rows that are asked for: what is made of so many mostly stays in the cache
_MOST_ROWS = 2**20


@attrs.frozen(eq=False)
class Documents:
    """Documents that have been checked, those of each query together.

    Parameters
    ----------
    ids : int64 or object array, shape (Q,), optional
        Sorted; None where queries have no names.
    sizes, declared : int64 array, shape (Q,)
        How many documents each query has, and how many relevant ones there are, -1 where that is
        not given.
    relevance : float64 array, shape (n,), or integers
        NaN for what has not been judged; integers are not negative.
    score : float32 or float64 array, shape (n,)
        NaN ranks last.
    is_retrieved : bool array, shape (n,), optional
        None where all are.
    document : int64 or object array, shape (n,), optional
        The id of each.
    """

    ids: Array | None
    sizes: Ints
    declared: Ints
    relevance: Array
    score: Array
    is_retrieved: Mask | None
    document: Array | None

    @classmethod
    def of_queries(cls, query: Ints, relevance: Array, score: Array) -> Self:
        """Take documents of queries that have no names, but numbers that rise."""
        sizes = np.bincount(query - query[0])
        return cls(None, sizes, np.full_like(sizes, -1), relevance, score, None, None)

    def __len__(self) -> int:
        """Give the number of queries."""
        return len(self.sizes)

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing but relevances and scores, some for each query."""
        optional = self.ids, self.is_retrieved, self.document
        if any(column is not None for column in optional) or (self.declared >= 0).any():
            return False
        return bool(self.sizes.all())

    def select(self, kept: Mask) -> Self:
        """Keep some documents; the queries stay."""
        rows = np.flatnonzero(kept)
        return self._part(slice(None), rows, self.counts(rows))

    def blocks(self, size: int) -> Iterator[Self]:
        """Cut into blocks of queries that have about so many documents."""
        if len(self.score) <= size:
            yield self
            return
        ends = np.cumsum(self.sizes)
        starts = np.flatnonzero(np.diff((ends - self.sizes) // size, prepend=-1))
        for first, last in pairwise([*starts.tolist(), len(self)]):
            begin, queries = int(ends[first] - self.sizes[first]), slice(first, last)
            yield self._part(queries, slice(begin, int(ends[last - 1])), self.sizes[queries])

    def _part(self, queries: slice, rows: Any, sizes: Ints) -> Self:
        return type(self)(
            None if self.ids is None else self.ids[queries],
            sizes,
            self.declared[queries],
            self.relevance[rows],
            self.score[rows],
            None if self.is_retrieved is None else self.is_retrieved[rows],
            None if self.document is None else self.document[rows],
        )

    def counts(self, rows: Ints) -> Ints:
        """Count by query some rows, which are in order."""
        counts = np.searchsorted(rows, np.cumsum(self.sizes))
        counts[1:] -= counts[:-1].copy()
        return counts

    def places(self, rows: Ints | None = None) -> Ints:
        """Give the place of the query of each row, or of some, which are in order."""
        sizes = self.sizes if rows is None else self.counts(rows)
        return np.repeat(np.arange(len(sizes)), sizes)


@attrs.frozen(eq=False, slots=False)
class _Asked:
    """The rows that a measure asks for, mostly few of all, with their relevances as codes.

    What follows from a relevance is found once for each that there is.

    Parameters
    ----------
    rows, place : int64 array, shape (m,)
        The rows in order, and the places of their queries.
    is_retrieved : bool array, shape (m,), optional
        None where all rows are.
    relevances : float64 array, shape (d,)
        The distinct ones, rising.
    code : int64 array, shape (m,)
        The place of the relevance of each row among them.
    config : RankingConfig
        What is asked.
    """

    rows: Ints
    place: Ints
    is_retrieved: Mask | None
    relevances: Floats
    code: Ints
    config: RankingConfig

    @classmethod
    def of(cls, rows: Documents, config: RankingConfig) -> Self:
        """Find the rows that reach a relevance level, or have a gain."""
        asked = np.flatnonzero(_is_asked(rows.relevance, config))
        retrieved = None if rows.is_retrieved is None else rows.is_retrieved[asked]
        return cls(asked, rows.places(asked), retrieved, *_distinct(rows.relevance[asked]), config)

    @cached_property
    def gains(self) -> Floats:
        """The gain of each relevance."""
        return gains_of(self.relevances, self.config)

    @cached_property
    def grades(self) -> Keys:
        """The grade of each relevance: itself, or the level that stands for it in all measures."""
        own, levels = self.relevances, np.array(self.config.levels)
        reached = np.searchsorted(levels, own, side="right") - 1
        stands = np.where(reached >= 0, levels[reached], own)
        if self.config.uses_gains:
            stands = np.where(self.gains > 0.0, own, stands)
        if self.config.most_grade < np.inf:
            stands = np.where(own >= 1.0, own, stands)
        return keys_of(stands, "real")

    def counted(self, n_queries: int) -> tuple[Ints, Ints]:
        """Count by query the rows that reach each level, all and those retrieved."""
        levels = self.config.levels
        relevant = np.empty((n_queries, len(levels)), dtype=np.int64)
        found = relevant if self.is_retrieved is None else np.empty_like(relevant)
        for number, level in enumerate(levels):
            reaching = self._having(self.relevances >= level)
            place = self.place[reaching]
            relevant[:, number] = np.bincount(place, minlength=n_queries)
            if self.is_retrieved is not None:
                place = place[self.is_retrieved[reaching]]
                found[:, number] = np.bincount(place, minlength=n_queries)
        return relevant, found

    def _having(self, kept: Mask) -> Any:
        """Find the rows that have one of some relevances; no copy is made where all have."""
        return slice(None) if kept.all() else np.flatnonzero(kept[self.code])

    def gained(self) -> Gained:
        """Count the rows of each query and gain."""
        some = self._having(self.gains > 0.0)
        gains, of_relevance = distinct_values(self.gains)
        found = None if self.is_retrieved is None else self.is_retrieved[some]
        place, code = self.place[some], of_relevance[self.code[some]]
        return Gained.of_documents(place, keys_of(gains, "real"), code, found)


def complete_queries(rows: Documents, config: RankingConfig) -> Iterator[Queries]:
    """Count documents of queries that are complete, block by block.

    Only what is asked for is kept.
    """
    for block in rows.blocks(_block_size(rows, config)):
        yield queries_of(block, config, goes_on=False)


def _block_size(rows: Documents, config: RankingConfig) -> int:
    """Tell how many rows to take at a time, by the share of a sample that is asked for.

    Smaller blocks take more calls, and larger ones leave the cache. Where a tenth is asked for,
    blocks of 2**20 rows take 0.8 of the time of 2**18; where all are, those of 2**17 do.
    """
    if len(rows.score) <= _BLOCK:
        return _BLOCK
    sample = rows.relevance[:: len(rows.score) // _BLOCK | 1]
    n_asked = int(np.count_nonzero(_is_asked(sample, config)))
    return min(_BLOCK * len(sample) // max(n_asked, 1), _MOST_ROWS)


def queries_of(rows: Documents, config: RankingConfig, *, goes_on: bool = True) -> Queries:
    """Count documents by score and grade, and check what a query may hold.

    Parameters
    ----------
    rows : Documents
        The documents.
    config : RankingConfig
        What is counted.
    goes_on : bool
        Whether more rows of these queries may come; if not, only what is asked for is kept.
    """
    asked = _Asked.of(rows, config)
    gained = asked.gained() if config.uses_gains else Queries.none(config).gained
    if goes_on or config.keeps_documents:
        n_rows, ranked = _ranked(rows, asked, config)
    else:
        n_rows, ranked = _ranked_complete(rows, asked, is_nan_last=config.nan == "last")
    relevant, found = asked.counted(len(rows))
    queries = Queries(rows.ids, n_rows, relevant, found, rows.declared, ranked, gained)
    queries.check_limits()
    return queries


def _ranked(rows: Documents, asked: _Asked, config: RankingConfig) -> tuple[Ints, Ranked]:
    """Rank all that was retrieved."""
    grade = np.zeros(len(rows.score), dtype=np.uint64)
    grade[asked.rows] = asked.grades[asked.code]
    if rows.is_retrieved is not None:
        grade, rows = grade[rows.is_retrieved], rows.select(rows.is_retrieved)
    document = rows.document if config.keeps_documents else None
    return rows.sizes, Ranked.of(rows.places(), _keys(rows.score), document, grade)


def _ranked_complete(rows: Documents, asked: _Asked, *, is_nan_last: bool) -> tuple[Ints, Ranked]:
    """Rank what was retrieved and is asked for, given how many rows stand above."""
    asked_rows, place, code = asked.rows, asked.place, asked.code
    if rows.is_retrieved is not None and asked.is_retrieved is not None:
        own = np.cumsum(rows.is_retrieved) - 1
        kept, rows = np.flatnonzero(asked.is_retrieved), rows.select(rows.is_retrieved)
        asked_rows, place, code = own[asked_rows[kept]], place[kept], code[kept]
    score = rows.score
    if is_nan_last and np.isnan(score).any():
        score = _keys(score)
    above, size = standings(score, rows.sizes, asked_rows, place)
    return rows.sizes, Ranked.of_complete(place, above, size, asked.grades, code)


def _keys(score: Array) -> Keys:
    """Give the keys of scores, 0 for NaN, which ranks last."""
    wide = score.astype(np.float64, copy=False)
    return np.where(np.isnan(wide), np.uint64(0), keys_of(wide, "real"))


def _is_asked(relevance: Array, config: RankingConfig) -> Mask:
    """Tell which relevances reach a level or have a gain; NaN does neither."""
    least = config.levels[0]
    if config.uses_gains and isinstance(config.gain, tuple):
        return (relevance >= least) | (gains_of(relevance, config) > 0.0)
    if config.uses_gains and least > 0.0:
        return relevance > 0
    if relevance.dtype.kind != "f":
        least = math.ceil(max(least, 0.0))  # a comparison of integers needs no cast
    return relevance >= least


def _distinct(relevance: Array) -> tuple[Floats, Ints]:
    """Give the distinct relevances, rising, and the place of each row's among them."""
    if relevance.dtype.kind == "f":
        known, code = np.unique(relevance, return_inverse=True)
        return known, code
    known, code = distinct(relevance.astype(np.int64), name="relevance")
    return known.astype(np.float64), code
