"""Where the documents of a ranking stand: tie levels, positions in them, and their discounts."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, Self

import attrs
import numpy as np
import numpy.typing as npt

from streameval.exact.log import log
from streameval.metrics.smooth_sums import LAID_OUT, power, smooth_sums
from streameval.states.queries import Queries, Ranked, runs_above

__all__ = [
    "Arrangement",
    "Levels",
    "Spans",
    "Ties",
    "discounts",
    "own_rank",
    "position_sums",
    "powers",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

Arrangement = Literal["worst", "random", "best"]
"""How rows that have not been kept are taken to stand: which is not known."""

_KEPT_TABLE = 2**16
_BLOCK = 2**17  # positions
_NONE = np.zeros(0, dtype=np.int64)


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

        def terms(run: Ints, step: Ints) -> Floats:
            return spans.gain[run] * discounts(spans.above[run] + step)

        def rest(run: Ints, first: Ints, last: Ints) -> Floats:
            return spans.gain[run] * smooth_sums(_discount, first, last, own_rank)

        return position_sums(spans.place, spans.above, reach, terms, rest, n_queries)


def position_sums(
    place: Ints,
    above: Ints,
    reach: Ints,
    terms: Callable[[Ints, Ints], Floats],
    rest: Callable[[Ints, Ints, Ints], Floats],
    size: int,
) -> Floats:
    """Add up by place the terms of the positions of runs, in memory that no count decides.

    Parameters
    ----------
    place, above, reach : int64 array, shape (s,)
        The place of each run, how many ranks come before it, and how many positions of it count.
    terms : callable
        From runs and numbers of positions in them, from 1, to terms.
    rest : callable
        From runs, and the first and the last rank of those positions that are not laid out, to
        the sums of their terms.
    size : int
        How many places there are.
    """
    is_long = reach > LAID_OUT
    long = np.flatnonzero(is_long) if is_long.any() else _NONE
    laid_out = np.minimum(reach, LAID_OUT) if len(long) else reach
    totals = np.zeros(size)
    for runs in _blocks(laid_out):
        run, step = expanded(laid_out[runs])
        if runs.start == 0:
            totals = sums_of(place[run], terms(run, step), size)
        else:  # term after term, as if there were no blocks
            run = run + runs.start
            np.add.at(totals, place[run], terms(run, step))
    if len(long):
        first = above[long] + LAID_OUT + 1
        totals += sums_of(place[long], rest(long, first, above[long] + reach[long]), size)
    return totals


def _blocks(sizes: Ints) -> Iterator[slice]:
    """Cut runs into blocks of about as many positions as are laid out at a time."""
    if sizes.sum() <= _BLOCK:
        yield slice(0, len(sizes))
        return
    ends = np.cumsum(sizes)
    starts = np.flatnonzero(np.diff((ends - sizes) // _BLOCK, prepend=-1)).tolist()
    yield from (slice(*bounds) for bounds in pairwise([*starts, len(sizes)]))


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


def discounts(rank: Ints) -> Floats:
    """Give 1 / log2(rank + 1) of ranks from 1 on; the same bits on every CPU."""
    return _looked_up(_discount_table(), rank, lambda far: _discount(far.astype(np.float64)))


def powers(base: float, exponent: Ints) -> Floats:
    """Give whole powers, from 0 on, of a number below 1."""
    return _looked_up(_power_table(base), exponent + 1, lambda far: power(base, far - 1))


def _looked_up(table: Floats, rank: Ints, beyond: Callable[[Ints], Floats]) -> Floats:
    """Look up what belongs to ranks, and compute it for those that are not in the table."""
    if int(rank.max(initial=0)) <= _KEPT_TABLE:
        return np.asarray(table[rank - 1])
    found = table[np.minimum(rank, _KEPT_TABLE) - 1]
    far = np.flatnonzero(rank > _KEPT_TABLE)
    found[far] = beyond(rank[far])
    return np.asarray(found)


@functools.lru_cache(maxsize=1)
def _discount_table() -> Floats:
    table = _discount(np.arange(1.0, _KEPT_TABLE + 1.0))
    table.flags.writeable = False
    return table


@functools.lru_cache(maxsize=8)
def _power_table(base: float) -> Floats:
    factors = np.full(_KEPT_TABLE, base)
    factors[:1] = 1.0
    table = np.multiply.accumulate(factors)
    table.flags.writeable = False
    return table


def _discount(rank: Floats, _: object = None) -> Floats:
    return np.asarray(log(2.0) / log(rank + 1.0))


def own_rank(rank: Floats, _: object) -> Floats:
    """Give the scale on which what depends on the rank alone changes: the rank."""
    return rank


def _sums(counts: Ints, starts: Ints) -> Ints:
    return np.add.reduceat(counts, starts) if len(starts) else np.zeros(0, dtype=np.int64)
