"""Where the documents of a ranking stand: tie levels, positions in them, and their discounts."""

from __future__ import annotations

import functools
from functools import cached_property
from typing import Any, Literal, Self

import attrs
import numpy as np
import numpy.typing as npt

from streameval.exact.log import log
from streameval.states.queries import Queries, Ranked, runs_above

__all__ = ["Arrangement", "Levels", "Spans", "Ties", "discounts", "powers"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

Arrangement = Literal["worst", "random", "best"]
"""How rows that have not been kept are taken to stand: which is not known."""

_KEPT_TABLE = 2**16


@attrs.frozen(eq=False)
class Ties:
    """The tie levels of rankings: runs of documents whose order the scores leave open.

    Parameters
    ----------
    starts : int64 array, shape (t,)
        The first cell of each.
    place, above, size : int64 array, shape (t,)
        The query, how many documents stand above the level, and how many in it.
    of_cell : int64 array, shape (m,)
        The level of each cell.
    """

    starts: Ints
    place: Ints
    above: Ints
    size: Ints
    of_cell: Ints

    @classmethod
    def of(cls, ranked: Ranked, *, by_document: bool) -> Self:
        """Find the levels; where documents break ties, each is a level unless told otherwise."""
        begins = ranked.begins_level(by_document=by_document)
        starts, above, size = np.flatnonzero(begins), ranked.above, ranked.size
        if above is None or size is None:
            above, size = runs_above(ranked.count, ranked.place), _sums(ranked.count, starts)
        elif len(starts) < len(begins):
            size = size[starts]
        if len(starts) == len(begins):
            return cls(starts, ranked.place, above, size, starts)
        return cls(starts, ranked.place[starts], above[starts], size, np.cumsum(begins) - 1)

    @property
    def are_cells(self) -> bool:
        """Whether each cell is a level of its own, as where no two documents are tied."""
        return len(self.starts) == len(self.of_cell)

    def count(self, counts: Ints) -> Ints:
        """Add up the counts of the cells of each level."""
        return counts if self.are_cells else _sums(counts, self.starts)


@attrs.frozen(eq=False, slots=False)
class Levels:
    """Tie levels with the relevant documents in them, those without any left out.

    Any order of the documents of a level is as likely as any other.

    Parameters
    ----------
    place, above, size : int64 array, shape (t,)
        The query, how many documents stand above, and how many in the level.
    relevant : int64 array, shape (t,)
        How many of these are relevant.
    is_tie : bool array, shape (t,)
        Whether the documents have one score, rather than scores that are not known.
    """

    place: Ints
    above: Ints
    size: Ints
    relevant: Ints
    is_tie: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, ties: Ties, relevant: Ints) -> Self:
        """Keep the levels with relevant documents."""
        is_tie = np.ones(len(relevant), dtype=bool)
        levels = cls(ties.place, ties.above, ties.size, relevant, is_tie)
        return levels if relevant.all() else levels.select(np.flatnonzero(relevant))

    def select(self, kept: Ints) -> Self:
        """Keep some levels."""
        return type(self)(
            self.place[kept],
            self.above[kept],
            self.size[kept],
            self.relevant[kept],
            self.is_tie[kept],
        )

    def arranged(self, ties: str) -> Self:
        """Put the relevant documents of each level first or last in it, as the rule says."""
        if ties == "optimistic":
            return attrs.evolve(self, size=self.relevant)
        if ties == "pessimistic":
            above = self.above + self.size - self.relevant
            return attrs.evolve(self, above=above, size=self.relevant)
        return self

    def outside(self, queries: Queries, found: Ints, arrangement: Arrangement) -> Self:
        """Find the relevant documents among the rows that have not been kept.

        Parameters
        ----------
        queries : Queries
            The queries.
        found : int64 array, shape (Q,)
            How many relevant documents were retrieved.
        arrangement : {"worst", "random", "best"}
            Whether they stand last, anywhere, or first among those rows.
        """
        kept = counts_of(queries.ranked.place, queries.ranked.count, len(queries))
        left = found - counts_of(self.place, self.relevant, len(queries))
        place = np.flatnonzero(left)
        relevant, above = left[place], kept[place]
        size = queries.rows[place] - above
        if arrangement == "worst":
            above, size = queries.rows[place] - relevant, relevant
        elif arrangement == "best":
            size = relevant
        return type(self)(place, above, size, relevant, np.full(len(place), arrangement == "best"))

    def joined(self, other: Self, *, in_order: bool = True) -> Self:
        """Put the levels of each query before its other ones; sorted by query if in order."""
        order = np.arange(len(self.place) + len(other.place))
        if in_order:
            order = np.argsort(np.concatenate([self.place, other.place]), kind="stable")
        parts = zip(_columns(self), _columns(other), strict=True)
        return type(self)(*(np.concatenate(pair)[order] for pair in parts))

    @cached_property
    def before(self) -> Ints:
        """How many relevant documents of the query stand above each level."""
        return runs_above(self.relevant, self.place)

    def first(self) -> Self:
        """Keep the first level of each query."""
        return self.select(np.flatnonzero(self.before == 0))

    def positions(self, cutoff: int | None) -> tuple[Ints, Ints]:
        """Give every position in the levels up to a rank: its level, and its rank in that."""
        return expanded(self.reach(cutoff))

    def reach(self, cutoff: int | Ints | None) -> Ints:
        """Count the positions of each level that are not below a rank, of each level's own."""
        if cutoff is None:
            return self.size
        return np.clip(cutoff - self.above, 0, self.size)


@attrs.frozen(eq=False)
class Spans:
    """Runs of positions in rankings, each with one gain at all of its positions.

    Parameters
    ----------
    place, above, size : int64 array, shape (s,)
        The query, how many documents stand above, and how many positions the run has.
    gain : float64 array, shape (s,)
        The gain at each position.
    """

    place: Ints
    above: Ints
    size: Ints
    gain: Floats

    def joined(self, other: Self) -> Self:
        """Put runs together in the order of the ranking."""
        parts = zip(_columns(self), _columns(other), strict=True)
        return type(self)(*(np.concatenate(pair) for pair in parts)).ordered()

    def ordered(self) -> Self:
        """Sort by query and rank, so that sums have one order."""
        return self.select(np.lexsort((self.above, self.place)))

    def select(self, kept: Ints) -> Self:
        """Keep some runs."""
        return type(self)(*(column[kept] for column in _columns(self)))

    def discounted(self, cutoff: int | None, n_queries: int) -> Floats:
        """Add up gain times discount of each query, rank after rank."""
        spans = self if cutoff is None else self.select(np.flatnonzero(self.above < cutoff))
        reach = spans.size if cutoff is None else np.minimum(cutoff - spans.above, spans.size)
        run, step = expanded(reach)
        rank = spans.above[run] + step
        terms = spans.gain[run] * discounts(int(rank.max(initial=0)))[rank - 1]
        return sums_of(spans.place[run], terms, n_queries)


def expanded(sizes: Ints) -> tuple[Ints, Ints]:
    """List the items of runs: the run of each, and its number in that, from 1."""
    if (sizes == 1).all():
        return np.arange(len(sizes)), np.ones_like(sizes)
    run = np.repeat(np.arange(len(sizes)), sizes)
    ends = np.cumsum(sizes)
    return run, np.arange(1, len(run) + 1) - (ends - sizes)[run]


def _columns(rows: Levels | Spans) -> list[npt.NDArray[Any]]:
    return [getattr(rows, field.name) for field in attrs.fields(type(rows))]


def counts_of(place: Ints, counts: Ints, size: int) -> Ints:
    """Add up counts by place."""
    totals = np.zeros(size, dtype=np.int64)
    np.add.at(totals, place, counts)
    return totals


def sums_of(place: Ints, terms: Floats, size: int) -> Floats:
    """Add up terms by place, one after the other: the order of each sum is that of its terms."""
    return np.bincount(place, weights=terms, minlength=size).astype(np.float64, copy=False)


def discounts(ranks: int) -> Floats:
    """Give 1 / log2(rank + 1) for ranks from 1 on; the same bits on every CPU."""
    return _table("discount", 0.0, ranks)


def powers(base: float, ranks: int) -> Floats:
    """Give the powers of a number below 1, from the power 0 on."""
    return _table("power", base, ranks)


def _table(kind: str, base: float, ranks: int) -> Floats:
    if ranks <= _KEPT_TABLE:
        return _kept_table(kind, base)
    return _make_table(kind, base, ranks)


@functools.lru_cache(maxsize=8)
def _kept_table(kind: str, base: float) -> Floats:
    table = _make_table(kind, base, _KEPT_TABLE)
    table.flags.writeable = False
    return table


def _make_table(kind: str, base: float, ranks: int) -> Floats:
    if kind == "discount":
        return np.asarray(log(2.0) / log(np.arange(2.0, ranks + 2.0)))
    factors = np.full(ranks, base)
    factors[:1] = 1.0
    return np.multiply.accumulate(factors)


def _sums(counts: Ints, starts: Ints) -> Ints:
    return np.add.reduceat(counts, starts) if len(starts) else np.zeros(0, dtype=np.int64)
