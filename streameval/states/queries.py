"""What is known of queries whose documents have been counted: tie levels, totals, gains."""

from __future__ import annotations

from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt

from streameval.configs.ranking import RankingConfig
from streameval.errors import CountOverflowError, InvalidInputError
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
from streameval.inputs.labels import canonical_label, distinct

__all__ = ["MOST_ROWS", "Gained", "Queries", "Ranked", "check_documents", "runs_above"]

Ints = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]

MOST_ROWS = 2**24
"""How many rows a query may have: products of two counts stay exact in float64."""


@attrs.frozen(eq=False)
class Ranked:
    """Retrieved documents, those of one query, score and grade counted together.

    In the order of the ranking: by query, then by falling score, then by falling document where
    documents break ties, then by falling grade.

    Parameters
    ----------
    place : int64 array, shape (m,)
        The place of the query.
    key : uint64 array, shape (m,)
        The key of the score, 0 for NaN, which comes last; or what orders scores as it does.
    document : int64 or object array, shape (m,), optional
        The id of the document where documents break ties.
    grade : uint64 array, shape (m,)
        The key of the relevance, 0 for a document that no measure asks for.
    count : int64 array, shape (m,)
        How many documents.
    above, size : int64 array, shape (m,), optional
        How many documents stand above the tie level of each cell, and how many in it, where
        the cells of grade 0 have been left out.
    """

    place: Ints
    key: Keys
    document: npt.NDArray[Any] | None
    grade: Keys
    count: Ints
    above: Ints | None = None
    size: Ints | None = None

    @classmethod
    def of(
        cls,
        place: Ints,
        key: Keys,
        document: npt.NDArray[Any] | None,
        grade: Keys,
    ) -> Self:
        """Sort documents, and count the equal ones together."""
        _, minor = coded(grade)
        if document is not None:  # no query has one twice, so that grades need no order
            known, codes = distinct(document, name="doc")
            minor = codes, len(known).bit_length()
        rows = cls(place, key, document, grade, np.ones_like(place))
        cells = rows.select(order_in_groups(place, key, minor))
        begins = cells.begins_level(by_document=True)
        begins[1:] |= cells.grade[1:] != cells.grade[:-1]
        if begins.all():
            return cells
        starts = np.flatnonzero(begins)
        return attrs.evolve(cells.select(starts), count=np.diff(starts, append=len(place)))

    @classmethod
    def of_complete(cls, place: Ints, above: Ints, size: Ints, grades: Keys, code: Ints) -> Self:
        """Count the documents of complete queries that stand alike.

        Nobody asks for those of grade 0 once the others know how many stand above, and that
        orders the levels as their scores would.

        Parameters
        ----------
        place, above, size : int64 array, shape (n,)
            The query of each document that is asked for, and its tie level.
        grades : uint64 array, shape (d,)
            Grades, of which some may be the same.
        code : int64 array, shape (n,)
            The place among these of the grade of each document.
        """
        known, codes = distinct_values(grades)
        minor = turned((codes[code], len(known).bit_length()))
        columns = [_column(place), _column(above), _column(size), minor]
        (place, above, size, code), count = distinct_rows(columns)
        key, grade = ~above.astype(np.uint64), known[turned((code, minor[1]))[0]]
        return cls(place, key, None, grade, count, above, size)

    def __len__(self) -> int:
        """Give the number of cells."""
        return len(self.place)

    def select(self, kept: Any, place: Ints | None = None) -> Self:
        """Keep some cells, with other places of their queries if `place` gives them."""
        optional = (self.document, self.above, self.size)
        document, above, size = (None if part is None else part[kept] for part in optional)
        place = self.place[kept] if place is None else place
        key, grade, count = self.key[kept], self.grade[kept], self.count[kept]
        return type(self)(place, key, document, grade, count, above, size)

    def joined(self, other: Self) -> Self:
        """Count the documents of both, whose places are of the same queries."""
        if not len(self) or not len(other):
            return self if len(self) else other
        order, starts = merged_rows(self.columns, other.columns)
        counts = np.concatenate([self.count, other.count])[order]
        kept = order[starts]
        document = None
        if self.document is not None and other.document is not None:
            document = np.concatenate([self.document, other.document])[kept]
        return type(self)(
            np.concatenate([self.place, other.place])[kept],
            np.concatenate([self.key, other.key])[kept],
            document,
            np.concatenate([self.grade, other.grade])[kept],
            np.add.reduceat(counts, starts),
        )

    @property
    def columns(self) -> list[npt.NDArray[Any]]:
        """What tells cells apart, in the order by which they are sorted."""
        document = [] if self.document is None else [self.document]
        return [self.place, self.key, *document, self.grade]

    def begins_level(self, *, by_document: bool) -> Mask:
        """Tell where another tie level begins: another query, score, or document if asked."""
        begins = np.ones(len(self), dtype=bool)
        begins[1:] = (self.place[1:] != self.place[:-1]) | (self.key[1:] != self.key[:-1])
        if by_document and self.document is not None:
            begins[1:] |= self.document[1:] != self.document[:-1]
        return begins

    def trimmed(self, config: RankingConfig) -> Self:
        """Keep the tie levels with fewer rows above them than measures ask for."""
        above = runs_above(self.count, self.place)
        begins = self.begins_level(by_document=not config.keeps_whole_ties)
        level = np.cumsum(begins) - 1
        kept = above[begins][level] < config.kept_rows
        return self if kept.all() else self.select(kept)


@attrs.frozen(eq=False)
class Gained:
    """Judged documents with a gain, those of one query and gain counted together.

    By query, then by falling gain.

    Parameters
    ----------
    place : int64 array, shape (m,)
        The place of the query.
    gain : uint64 array, shape (m,)
        The key of the gain.
    count, found : int64 array, shape (m,)
        How many documents, and how many of them were retrieved.
    """

    place: Ints
    gain: Keys
    count: Ints
    found: Ints

    @classmethod
    def of(cls, place: Ints, gain: Keys, count: Ints, found: Ints) -> Self:
        """Sort documents, and count the equal ones together."""
        gains, gained = coded(gain)
        columns = [_column(place), turned(gained)]
        (places, codes), counts = distinct_rows(columns, count)
        _, founds = distinct_rows(columns, found)
        return cls(places, gains[turned((codes, gained[1]))[0]], counts, founds)

    @classmethod
    def of_documents(cls, place: Ints, gains: Keys, code: Ints, is_found: Mask | None) -> Self:
        """Count documents with gains, of which there is a sorted list; None if all are found."""
        gained = code, len(gains).bit_length()
        columns = [_column(place), turned(gained)]
        (places, codes), counts = distinct_rows(columns)
        founds = counts
        if is_found is not None:
            _, founds = distinct_rows(columns, is_found.astype(np.int64))
        return cls(places, gains[turned((codes, gained[1]))[0]], counts, founds)

    def __len__(self) -> int:
        """Give the number of cells."""
        return len(self.place)

    def select(self, kept: Any, place: Ints | None = None) -> Self:
        """Keep some cells, with other places of their queries if `place` gives them."""
        place = self.place[kept] if place is None else place
        return type(self)(place, self.gain[kept], self.count[kept], self.found[kept])

    def joined(self, other: Self) -> Self:
        """Count the documents of both, whose places are of the same queries."""
        if not len(self) or not len(other):
            return self if len(self) else other
        order, starts = merged_rows(self.columns, other.columns)
        kept = order[starts]
        return type(self)(
            np.concatenate([self.place, other.place])[kept],
            np.concatenate([self.gain, other.gain])[kept],
            np.add.reduceat(np.concatenate([self.count, other.count])[order], starts),
            np.add.reduceat(np.concatenate([self.found, other.found])[order], starts),
        )

    @property
    def columns(self) -> list[npt.NDArray[Any]]:
        """What tells cells apart, in the order by which they are sorted."""
        return [self.place, self.gain]

    def trimmed(self, config: RankingConfig) -> Self:
        """Keep the highest gains, as many as an ideal ranking asks for."""
        if config.kept_gains is None:
            return self
        kept = runs_above(self.count, self.place) < config.kept_gains
        return self if kept.all() else self.select(kept)


@attrs.frozen(eq=False)
class Queries:
    """Queries, each with its totals, its ranking and its gains.

    Parameters
    ----------
    ids : int64 or object array, shape (Q,), optional
        Sorted; None where queries have no names.
    rows : int64 array, shape (Q,)
        How many documents were retrieved.
    relevant, found : int64 array, shape (Q, L)
        How many judged documents reach each relevance level, and how many of them were
        retrieved.
    declared : int64 array, shape (Q,)
        How many relevant documents there are if that was given, else -1.
    ranked : Ranked
        The retrieved documents.
    gained : Gained
        The judged documents with a gain, while measures ask for gains.
    """

    ids: npt.NDArray[Any] | None
    rows: Ints
    relevant: Ints
    found: Ints
    declared: Ints
    ranked: Ranked
    gained: Gained

    @classmethod
    def none(cls, config: RankingConfig) -> Self:
        """Hold no query."""
        nothing, keys = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint64)
        levels = np.zeros((0, len(config.levels)), dtype=np.int64)
        document = nothing if config.keeps_documents else None
        ranked = Ranked(nothing, keys, document, keys, nothing)
        gained = Gained(nothing, keys, nothing, nothing)
        return cls(nothing, nothing, levels, levels, nothing, ranked, gained)

    def __len__(self) -> int:
        """Give the number of queries."""
        return len(self.rows)

    def joined(self, other: Self, ids: npt.NDArray[Any], mine: Ints, theirs: Ints) -> Self:
        """Join the rows of each query, given all ids and the places of each side's."""
        size, levels = len(ids), self.relevant.shape[1]
        rows = np.zeros(size, dtype=np.int64)
        relevant, found = np.zeros((2, size, levels), dtype=np.int64)
        declared = np.full(size, -1, dtype=np.int64)
        for side, place in ((self, mine), (other, theirs)):
            rows[place] += side.rows
            relevant[place] += side.relevant
            found[place] += side.found
            _declare(declared, side, place, ids)
        ranked = self.ranked.select(slice(None), mine[self.ranked.place])
        gained = self.gained.select(slice(None), mine[self.gained.place])
        ranked = ranked.joined(other.ranked.select(slice(None), theirs[other.ranked.place]))
        gained = gained.joined(other.gained.select(slice(None), theirs[other.gained.place]))
        return type(self)(ids, rows, relevant, found, declared, ranked, gained)

    def select(self, kept: Ints) -> Self:
        """Keep the queries at some places, which are sorted."""
        new = np.full(len(self), -1, dtype=np.int64)
        new[kept] = np.arange(len(kept))
        ranked, gained = new[self.ranked.place], new[self.gained.place]
        return type(self)(
            None if self.ids is None else self.ids[kept],
            self.rows[kept],
            self.relevant[kept],
            self.found[kept],
            self.declared[kept],
            self.ranked.select(ranked >= 0, ranked[ranked >= 0]),
            self.gained.select(gained >= 0, gained[gained >= 0]),
        )

    @property
    def largest(self) -> int:
        """The most rows that a query has, retrieved, relevant, or with a gain."""
        gained = np.bincount(self.gained.place, weights=self.gained.count)
        counts = self.rows, self.relevant, gained.astype(np.int64)
        return max(int(column.max(initial=0)) for column in counts)

    def check_limits(self) -> None:
        """Refuse queries with too many rows, or with more relevant ones than were declared.

        Raises
        ------
        CountOverflowError
            When a query has more than `MOST_ROWS` rows.
        InvalidInputError
            When more rows of one are relevant than there should be, or a document is there twice.
        """
        largest = self.largest
        known = self.relevant[:, -1]  # a number is declared at the one level there is
        if largest > MOST_ROWS:
            raise CountOverflowError(
                f"`query` would give a query {largest} rows, past {MOST_ROWS}."
            )
        passed = (self.declared >= 0) & (self.declared < known)
        if passed.any():
            place = int(passed.argmax())
            raise InvalidInputError(
                f"`num_relevant` must not be less than the relevant rows given, got "
                f"{self.declared[place]} for {known[place]}."
            )
        if self.ranked.document is not None:
            each = self.ranked.count  # equal rows have become one cell
            known, codes = distinct(self.ranked.document.repeat(each), name="doc")
            check_documents(np.repeat(self.ranked.place, each), codes, known)

    def trimmed(self, config: RankingConfig) -> Self:
        """Forget what no measure asks for."""
        return attrs.evolve(
            self, ranked=self.ranked.trimmed(config), gained=self.gained.trimmed(config)
        )


def check_documents(place: Ints, codes: Ints, known: npt.NDArray[Any]) -> None:
    """Refuse a document that a query has twice, given the place of each among those known."""
    (_, code), counts = distinct_rows([_column(place), (codes, len(known).bit_length())])
    if len(counts) < len(codes):
        twice = canonical_label(known[code[int((counts > 1).argmax())]], name="doc")
        raise InvalidInputError(f"`doc` must be distinct in a query, got {twice!r} twice in one.")


def _declare(declared: Ints, side: Queries, place: Ints, ids: npt.NDArray[Any]) -> None:
    """Enter the declared numbers of one side; two for one query must be the same."""
    before, given = declared[place], side.declared
    differ = (before >= 0) & (given >= 0) & (before != given)
    if differ.any():
        first = int(differ.argmax())
        raise InvalidInputError(
            f"`num_relevant` must be the same whenever a query goes on, got {before[first]} and "
            f"{given[first]} for query {canonical_label(ids[place[first]], name='query')!r}."
        )
    declared[place] = np.maximum(before, given)


def runs_above(count: Ints, place: Ints) -> Ints:
    """Count the rows of the same query that stand before each cell."""
    before = np.cumsum(count) - count
    bounds = run_bounds(place)
    return before - before[bounds[:-1]].repeat(np.diff(bounds))


def _column(place: Ints) -> Coded:
    return place, int(place.max(initial=0)).bit_length()
