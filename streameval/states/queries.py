"""Queries whose documents have been counted: tie levels, totals, gains."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import attrs
import numpy as np

from streameval.configs.ranking import RankingConfig
from streameval.errors import CountOverflowError, InvalidInputError
from streameval.exact.array_types import Array, Floats, Ints, Mask
from streameval.exact.fixed_point import FixedPoint
from streameval.exact.row_order import (
    Coded,
    coded,
    distinct_rows,
    distinct_values,
    merged_rows,
    order_in_groups,
    run_bounds,
    turned,
)
from streameval.exact.score_keys import Keys, keys_of, scores_of
from streameval.inputs.classes import canonical_label
from streameval.inputs.labels import distinct

NO_WEIGHTS = FixedPoint.zeros(0)
"""The weights if every query counts once."""


def canonical_weights(weights: FixedPoint) -> FixedPoint:
    """Drop weights that are all 1, and fractions that are all 0."""
    weights = weights.canonical()
    is_usual = weights.is_whole and bool((weights.whole == 1).all())
    return NO_WEIGHTS if is_usual else weights


def listed_weights(weights: FixedPoint, size: int) -> FixedPoint:
    """List the weights of some queries."""
    return weights if weights.whole.size else FixedPoint(np.ones(size, dtype=np.int64))


def weights_of(weights: FixedPoint, kept: Any) -> FixedPoint:
    """Select the weights of some queries by indices, a slice or a mask."""
    return canonical_weights(weights[kept]) if weights.whole.size else weights


def joined_weights(one: FixedPoint, other: FixedPoint, mine: Ints, theirs: Ints) -> FixedPoint:
    """Join the weights of two sides, given the indices of their queries in the whole."""
    if not one.whole.size and not other.whole.size:
        return NO_WEIGHTS
    size = max(int(index.max(initial=-1)) for index in (mine, theirs)) + 1
    whole, fraction = np.zeros((2, size), dtype=np.int64)
    for weights, index in ((one, mine), (other, theirs)):
        listed = listed_weights(weights, len(index))
        whole[index] = listed.whole
        fraction[index] = 0 if listed.fraction is None else listed.fraction
    return canonical_weights(FixedPoint(whole, fraction))


def check_same_weights(one: FixedPoint, other: FixedPoint, ids: Array, among: str) -> None:
    """Refuse a query with two different weights, in rows or batches, given the id of each item."""
    apart = one - other
    differ = apart.whole != 0
    if apart.fraction is not None:
        differ |= apart.fraction != 0
    if differ.any():
        first = int(differ.argmax())
        two = " and ".join(f"{each[first].to_floats():.12g}" for each in (one, other))
        raise InvalidInputError(
            f"must be the same in all {among} of a query, got {two} for query "
            f"{canonical_label(ids[first], name='query')!r}",
            argument="query_weight",
        )


MAX_ROWS = 2**24
"""The max number of rows of a query, so that products of two counts are exact in float64."""


@attrs.frozen(eq=False)
class _Cells:
    """Documents of queries, equal ones counted together, in sorted order.

    Parameters
    ----------
    query, count : int64 array, shape (m,)
        The index of the query, and the number of documents.
    """

    query: Ints
    count: Ints

    _KEYS: ClassVar[tuple[str, ...]]
    """The columns that distinguish cells, in sorting order."""
    _COUNTS: ClassVar[tuple[str, ...]]
    """The columns that add up when equal cells are joined."""

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.query)

    @property
    def columns(self) -> list[Array]:
        """The columns that identify a cell."""
        columns = (getattr(self, name) for name in self._KEYS)
        return [column for column in columns if column is not None]

    def select(self, kept: Any, query: Ints | None = None) -> Self:
        """Keep some cells, with new indices of their queries if `query` gives them."""
        columns: dict[str, Any] = {"query": query}
        for field in attrs.fields(type(self)):
            if columns.get(field.name) is None:
                column = getattr(self, field.name)
                columns[field.name] = None if column is None else column[kept]
        return type(self)(**columns)

    def joined(self, other: Self) -> Self:
        """Join the cells of the same queries."""
        if not len(self) or not len(other):
            return self if len(self) else other
        order, starts = merged_rows(self.columns, other.columns)
        found: dict[str, Any] = {}
        for name in (*self._KEYS, *self._COUNTS):
            mine, theirs = getattr(self, name), getattr(other, name)
            column = None if mine is None else np.concatenate([mine, theirs])[order]
            if column is not None:
                is_count = name in self._COUNTS
                column = np.add.reduceat(column, starts) if is_count else column[starts]
            found[name] = column
        return type(self)(**found)

    def per_query(self, n_queries: int, counts: Ints | None = None) -> Ints:
        """Add up the counts of the cells, or other counts, by query."""
        return counts_of(self.query, self.count if counts is None else counts, n_queries)


@attrs.frozen(eq=False)
class Ranked(_Cells):
    """Retrieved documents; equal ones of a query, by score and grade, are counted together.

    They are in ranking order: by query, then by falling score, then by falling document if
    documents break ties, then by falling grade.

    Parameters
    ----------
    query, count : int64 array, shape (m,)
        The index of the query, and the number of documents.
    key : uint64 array, shape (m,)
        The key of the score, 0 for NaN, which ranks last; or any key of the same order.
    document : int64 or object array, shape (m,), optional
        The id of the document, if documents break ties.
    grade : uint64 array, shape (m,)
        The key of the relevance, 0 for a document that no measure uses.
    above, size : int64 array, shape (m,), optional
        The numbers of documents above the tie level of each cell and in it, if the cells of
        grade 0 have been dropped.
    """

    key: Keys
    document: Array | None
    grade: Keys
    above: Ints | None = None
    size: Ints | None = None

    _KEYS = ("query", "key", "document", "grade")
    _COUNTS = ("count",)

    @classmethod
    def of(cls, query: Ints, key: Keys, document: Array | None, grade: Keys) -> Self:
        """Sort documents, and count equal ones together."""
        _, minor = coded(grade)
        if document is not None:  # distinct within a query, so grades break no ties
            known, codes = distinct(document, name="doc")
            minor = codes, len(known).bit_length()
        rows = cls(query, np.ones_like(query), key, document, grade)
        cells = rows.select(order_in_groups(query, key, minor))
        begins = cells.begins_level(by_document=True)
        begins[1:] |= cells.grade[1:] != cells.grade[:-1]
        if begins.all():
            return cells
        starts = np.flatnonzero(begins)
        return attrs.evolve(cells.select(starts), count=np.diff(starts, append=len(query)))

    @classmethod
    def of_complete(cls, query: Ints, above: Ints, size: Ints, grades: Keys, code: Ints) -> Self:
        """Count together the documents of complete queries with equal grades and tie levels.

        Once the number of documents above each document is known, grade 0 is not needed, and tie
        levels sort by this number instead of the score.

        Parameters
        ----------
        query, above, size : int64 array, shape (n,)
            The query of each document in use, and its tie level.
        grades : uint64 array, shape (d,)
            Grades, perhaps with repeats.
        code : int64 array, shape (n,)
            The index in `grades` of the grade of each document.
        """
        known, codes = distinct_values(grades)
        minor = turned((codes[code], len(known).bit_length()))
        columns = [_column(query), _column(above), _column(size), minor]
        (query, above, size, code), count = distinct_rows(columns)
        key, grade = ~above.astype(np.uint64), known[turned((code, minor[1]))[0]]
        return cls(query, count, key, None, grade, above, size)

    @property
    def relevance(self) -> Floats:
        """The relevance of each cell; -inf for grade 0, which no measure uses."""
        known = scores_of(np.maximum(self.grade, np.uint64(1)), "real")
        return np.where(self.grade == 0, -np.inf, known)

    def begins_level(self, *, by_document: bool) -> Mask:
        """Find the cells that begin a tie level: a new query or score, or document if asked."""
        begins = np.ones(len(self), dtype=bool)
        begins[1:] = (self.query[1:] != self.query[:-1]) | (self.key[1:] != self.key[:-1])
        if by_document and self.document is not None:
            begins[1:] |= self.document[1:] != self.document[:-1]
        return begins

    def trimmed(self, config: RankingConfig) -> Self:
        """Keep the tie levels with fewer rows above them than measures need."""
        above = runs_above(self.count, self.query)
        begins = self.begins_level(by_document=not config.keeps_whole_ties)
        level = np.cumsum(begins) - 1
        kept = above[begins][level] < config.kept_rows
        return self if kept.all() else self.select(kept)


@attrs.frozen(eq=False)
class Gained(_Cells):
    """Judged documents with a gain; those with equal query and gain are counted together.

    They are sorted by query, then by falling gain.

    Parameters
    ----------
    query, count : int64 array, shape (m,)
        The index of the query, and the number of documents.
    gain : uint64 array, shape (m,)
        The key of the gain.
    found : int64 array, shape (m,)
        The number of documents that were retrieved.
    """

    gain: Keys
    found: Ints

    _KEYS = ("query", "gain")
    _COUNTS = ("count", "found")

    @classmethod
    def of(
        cls,
        query: Ints,
        gains: Keys,
        code: Ints,
        *,
        count: Ints | None = None,
        found: Ints | None = None,
    ) -> Self:
        """Sort documents, and count equal ones together.

        Parameters
        ----------
        query : int64 array, shape (n,)
            The index of the query.
        gains : uint64 array, shape (d,)
            The keys of the distinct gains, sorted.
        code : int64 array, shape (n,)
            The index in `gains` of the gain of each document.
        count, found : int64 array, shape (n,), optional
            The number of documents, 1 by default, and how many of them were retrieved, all by
            default.
        """
        gained = code, len(gains).bit_length()
        columns = [_column(query), turned(gained)]
        (queries, codes), counts = distinct_rows(columns, count)
        founds = counts if found is None else distinct_rows(columns, found)[1]
        return cls(queries, counts, gains[turned((codes, gained[1]))[0]], founds)

    def trimmed(self, config: RankingConfig) -> Self:
        """Keep as many of the highest gains as an ideal ranking needs."""
        if config.kept_gains is None:
            return self
        kept = runs_above(self.count, self.query) < config.kept_gains
        return self if kept.all() else self.select(kept)


@attrs.frozen(eq=False)
class Queries:
    """Queries, each with its totals, its ranking and its gains.

    Parameters
    ----------
    ids : int64 or object array, shape (Q,), optional
        Sorted; None if queries have no ids.
    rows : int64 array, shape (Q,)
        The number of retrieved documents.
    relevant, found : int64 array, shape (Q, L)
        The number of judged documents that reach each relevance level, and how many of them
        were retrieved.
    declared : int64 array, shape (Q,)
        The declared number of relevant documents, -1 without one.
    ranked : Ranked
        The retrieved documents.
    gained : Gained
        The judged documents with a gain, if a measure uses gains.
    weights : FixedPoint, shape (Q,)
        The weight of each query; empty if all weights are 1.
    """

    ids: Array | None
    rows: Ints
    relevant: Ints
    found: Ints
    declared: Ints
    ranked: Ranked
    gained: Gained
    weights: FixedPoint = NO_WEIGHTS

    @classmethod
    def none(cls, config: RankingConfig) -> Self:
        """Return no queries."""
        nothing, keys = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint64)
        levels = np.zeros((0, len(config.levels)), dtype=np.int64)
        document = nothing if config.keeps_documents else None
        ranked = Ranked(nothing, nothing, keys, document, keys)
        gained = Gained(nothing, nothing, keys, nothing)
        return cls(nothing, nothing, levels, levels, nothing, ranked, gained)

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.rows)

    def joined(self, other: Self, ids: Array, mine: Ints, theirs: Ints) -> Self:
        """Join the rows of each query, given all ids and the indices of each side's ids."""
        size, levels = len(ids), self.relevant.shape[1]
        rows = np.zeros(size, dtype=np.int64)
        relevant, found = np.zeros((2, size, levels), dtype=np.int64)
        declared = np.full(size, -1, dtype=np.int64)
        for side, index in ((self, mine), (other, theirs)):
            rows[index] += side.rows
            relevant[index] += side.relevant
            found[index] += side.found
            _declare(declared, side, index, ids)
        ranked = self.ranked.select(slice(None), mine[self.ranked.query])
        gained = self.gained.select(slice(None), mine[self.gained.query])
        ranked = ranked.joined(other.ranked.select(slice(None), theirs[other.ranked.query]))
        gained = gained.joined(other.gained.select(slice(None), theirs[other.gained.query]))
        weights = joined_weights(self.weights, other.weights, mine, theirs)
        before, now = listed_weights(self.weights, len(mine)), listed_weights(weights, size)[mine]
        check_same_weights(before, now, ids[mine], "batches")
        return type(self)(ids, rows, relevant, found, declared, ranked, gained, weights)

    def select(self, kept: Ints) -> Self:
        """Keep some queries, given their sorted indices."""
        new = np.full(len(self), -1, dtype=np.int64)
        new[kept] = np.arange(len(kept))
        ranked, gained = new[self.ranked.query], new[self.gained.query]
        return self._part(
            kept,
            self.ranked.select(ranked >= 0, ranked[ranked >= 0]),
            self.gained.select(gained >= 0, gained[gained >= 0]),
        )

    def between(self, first: int, last: int) -> Self:
        """Keep the queries from `first` up to but not including `last`; copy only their indices."""
        ranked = slice(*np.searchsorted(self.ranked.query, (first, last)))
        gained = slice(*np.searchsorted(self.gained.query, (first, last)))
        return self._part(
            slice(first, last),
            self.ranked.select(ranked, self.ranked.query[ranked] - first),
            self.gained.select(gained, self.gained.query[gained] - first),
        )

    def _part(self, kept: Any, ranked: Ranked, gained: Gained) -> Self:
        ids = None if self.ids is None else self.ids[kept]
        return type(self)(
            ids,
            self.rows[kept],
            self.relevant[kept],
            self.found[kept],
            self.declared[kept],
            ranked,
            gained,
            weights_of(self.weights, kept),
        )

    @property
    def n_kept(self) -> Ints:
        """The number of rows of each query that `ranked` holds."""
        return self.ranked.per_query(len(self))

    @property
    def largest(self) -> int:
        """The max number of rows of a query: retrieved, relevant, or with a gain."""
        gained = self.gained.per_query(len(self))
        return max(int(column.max(initial=0)) for column in (self.rows, self.relevant, gained))

    def outside(self, gains: Floats) -> Gained:
        """Count the gains of the rows that `ranked` does not hold, given those of its cells."""
        inside = np.flatnonzero(gains > 0.0)
        query = np.concatenate([self.gained.query, self.ranked.query[inside]])
        known = np.concatenate([self.gained.gain, keys_of(gains[inside], "real")])
        left = np.concatenate([self.gained.found, -self.ranked.count[inside]])
        return Gained.of(query, *distinct_values(known), count=left)

    def check_limits(self) -> None:
        """Refuse queries with too many rows, or with more relevant ones than declared.

        Raises
        ------
        CountOverflowError
            When a query has more than `MAX_ROWS` rows.
        InvalidInputError
            When a query has more relevant rows than declared, or has a document twice.
        """
        largest = self.largest
        known = self.relevant[:, -1]  # a declared number implies a single level
        if largest > MAX_ROWS:
            raise CountOverflowError(
                f"would give a query {largest} rows, past {MAX_ROWS}", argument="query"
            )
        passed = (self.declared >= 0) & (self.declared < known)
        if passed.any():
            query = int(passed.argmax())
            raise InvalidInputError(
                f"must not be less than the relevant rows given, got {self.declared[query]} for "
                f"{known[query]}",
                argument="num_relevant",
            )
        if self.ranked.document is not None:
            each = self.ranked.count  # equal rows have become one cell
            known, codes = distinct(self.ranked.document.repeat(each), name="doc")
            check_documents(np.repeat(self.ranked.query, each), codes, known)

    def trimmed(self, config: RankingConfig) -> Self:
        """Drop what no measure needs."""
        return attrs.evolve(
            self, ranked=self.ranked.trimmed(config), gained=self.gained.trimmed(config)
        )


def check_documents(query: Ints, codes: Ints, known: Array) -> None:
    """Refuse a document that occurs twice in a query, given the index of each in `known`."""
    (_, code), counts = distinct_rows([_column(query), (codes, len(known).bit_length())])
    if len(counts) < len(codes):
        twice = canonical_label(known[code[int((counts > 1).argmax())]], name="doc")
        raise InvalidInputError(
            f"must be distinct in a query, got {twice!r} twice in one", argument="doc"
        )


def _declare(declared: Ints, side: Queries, index: Ints, ids: Array) -> None:
    """Set the declared numbers of one side; two numbers for one query must be equal."""
    before, given = declared[index], side.declared
    differ = (before >= 0) & (given >= 0) & (before != given)
    if differ.any():
        first = int(differ.argmax())
        raise InvalidInputError(
            f"must be the same in all batches of a query, got {before[first]} and {given[first]} "
            f"for query {canonical_label(ids[index[first]], name='query')!r}",
            argument="num_relevant",
        )
    declared[index] = np.maximum(before, given)


def runs_above(count: Ints, query: Ints) -> Ints:
    """Count the rows of the same query before each cell."""
    before = np.cumsum(count) - count
    bounds = run_bounds(query)
    return before - before[bounds[:-1]].repeat(np.diff(bounds))


def counts_of(index: Ints, counts: Ints, size: int) -> Ints:
    """Add up counts by index."""
    totals = np.zeros(size, dtype=np.int64)
    np.add.at(totals, index, counts)
    return totals


def _column(codes: Ints) -> Coded:
    return codes, int(codes.max(initial=0)).bit_length()
