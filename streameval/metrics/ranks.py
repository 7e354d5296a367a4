"""Ranks of documents: tie levels, positions in them, and their discounts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from functools import cached_property
from typing import Literal, Self, TypeVar

import attrs
import numpy as np

from streameval.exact.array_types import Array, Floats, Ints, Mask
from streameval.exact.log import log
from streameval.exact.row_order import blocks
from streameval.metrics.smooth_sums import LAID_OUT, power, smooth_sums
from streameval.states.queries import Queries, Ranked, counts_of, runs_above

TieOrder = Literal["worst", "random", "best"]
"""How dropped rows, whose order is unknown, are assumed to be ranked."""

RowsT = TypeVar("RowsT", "Levels", "Spans")

_KEPT_TABLE = 2**16
_BLOCK = 2**17  # positions
_NONE = np.zeros(0, dtype=np.int64)


@attrs.frozen(eq=False)
class Ties:
    """The tie levels of rankings: runs of documents that the scores do not order.

    Parameters
    ----------
    starts : int64 array, shape (t,)
        The first cell of each.
    query, above, size : int64 array, shape (t,)
        The query, the number of documents above the level, and the number in it.
    of_cell : int64 array, shape (m,)
        The level of each cell.
    """

    starts: Ints
    query: Ints
    above: Ints
    size: Ints
    of_cell: Ints

    @classmethod
    def of(cls, ranked: Ranked, *, by_document: bool) -> Self:
        """Find the levels; where documents break ties, each is a level if `by_document`."""
        begins = ranked.begins_level(by_document=by_document)
        starts, above, size = np.flatnonzero(begins), ranked.above, ranked.size
        if above is None or size is None:
            above, size = runs_above(ranked.count, ranked.query), _sums(ranked.count, starts)
        elif len(starts) < len(begins):
            size = size[starts]
        if len(starts) == len(begins):
            return cls(starts, ranked.query, above, size, starts)
        return cls(starts, ranked.query[starts], above[starts], size, np.cumsum(begins) - 1)

    @property
    def are_cells(self) -> bool:
        """Whether each cell is a level of its own, as it is without ties."""
        return len(self.starts) == len(self.of_cell)

    def count(self, counts: Ints) -> Ints:
        """Add up the counts of the cells of each level."""
        return counts if self.are_cells else _sums(counts, self.starts)


@attrs.frozen(eq=False, slots=False)
class Levels:
    """Tie levels with relevant documents.

    All orders of the documents of a level are equally likely.

    Parameters
    ----------
    query, above, size : int64 array, shape (t,)
        The query, the number of documents above the level, and the number in it.
    relevant : int64 array, shape (t,)
        How many of these are relevant.
    is_tie : bool array, shape (t,)
        Whether the documents have equal scores, rather than unknown ones.
    """

    query: Ints
    above: Ints
    size: Ints
    relevant: Ints
    is_tie: Mask

    @classmethod
    def of(cls, ties: Ties, relevant: Ints) -> Self:
        """Keep the levels with relevant documents."""
        is_tie = np.ones(len(relevant), dtype=bool)
        levels = cls(ties.query, ties.above, ties.size, relevant, is_tie)
        return levels if relevant.all() else levels.select(np.flatnonzero(relevant))

    def select(self, kept: Ints) -> Self:
        """Keep some levels."""
        return type(self)(*(column[kept] for column in _columns(self)))

    def arranged(self, ties: str) -> Self:
        """Rank the relevant documents of each level first or last in it, as the rule says."""
        if ties == "optimistic":
            return attrs.evolve(self, size=self.relevant)
        if ties == "pessimistic":
            above = self.above + self.size - self.relevant
            return attrs.evolve(self, above=above, size=self.relevant)
        return self

    def outside(self, queries: Queries, found: Ints, arrangement: TieOrder) -> Self:
        """Find the relevant documents among the dropped rows.

        Parameters
        ----------
        queries : Queries
            The queries.
        found : int64 array, shape (Q,)
            The number of relevant documents that were retrieved.
        arrangement : {"worst", "random", "best"}
            Whether they rank last, anywhere, or first among those rows.
        """
        left = found - counts_of(self.query, self.relevant, len(queries))
        query = np.flatnonzero(left)
        relevant, above = left[query], queries.n_kept[query]
        size = queries.rows[query] - above
        if arrangement == "worst":
            above, size = queries.rows[query] - relevant, relevant
        elif arrangement == "best":
            size = relevant
        return type(self)(query, above, size, relevant, np.full(len(query), arrangement == "best"))

    def joined(self, other: Levels, *, in_order: bool = True) -> Levels:
        """Put the levels of each query before its other ones; sorted by query if `in_order`."""
        joined = _concatenated(self, other)
        return joined.select(np.argsort(joined.query, kind="stable")) if in_order else joined

    @cached_property
    def before(self) -> Ints:
        """The number of relevant documents of the query above each level."""
        return runs_above(self.relevant, self.query)

    def first(self) -> Self:
        """Keep the first level of each query."""
        return self.select(np.flatnonzero(self.before == 0))

    def reach(self, cutoff: int | Ints | None) -> Ints:
        """Count the positions of each level down to a rank, the same or one for each level."""
        if cutoff is None:
            return self.size
        return np.clip(cutoff - self.above, 0, self.size)


@attrs.frozen(eq=False)
class Spans:
    """Runs of positions in rankings with equal gains.

    Parameters
    ----------
    query, above, size : int64 array, shape (s,)
        The query, the number of documents above the run, and the number of its positions.
    gain : float64 array, shape (s,)
        The gain at each position.
    """

    query: Ints
    above: Ints
    size: Ints
    gain: Floats

    @classmethod
    def of_others(cls, levels: Levels) -> Self:
        """Spread each relevant document over the numbers of other ones that may be above it.

        Among b others in its level it has each of 0..b above it with equal chance.
        """
        size = levels.size - levels.relevant + 1
        return cls(levels.query, levels.above - levels.before, size, levels.relevant / size)

    def joined(self, other: Spans) -> Spans:
        """Concatenate runs and sort by query and rank, so that sums have one order."""
        joined = _concatenated(self, other)
        return joined.select(np.lexsort((joined.above, joined.query)))

    def select(self, kept: Ints) -> Self:
        """Keep some runs."""
        return type(self)(*(column[kept] for column in _columns(self)))

    def discounted(self, cutoff: int | Ints | None, n_queries: int) -> Floats:
        """Add up gain times discount of each query, rank by rank.

        The cutoff may be one number, or one per query.
        """
        spans, reach = self, self.size
        if cutoff is not None:
            own = cutoff if isinstance(cutoff, int) else cutoff[self.query]
            left = own - self.above
            some = np.flatnonzero(left > 0)
            spans = self.select(some)
            reach = np.minimum(left[some], spans.size)

        def terms(run: Ints, step: Ints) -> Floats:
            return spans.gain[run] * discounts(spans.above[run] + step)

        def rest(run: Ints, first: Ints, last: Ints) -> Floats:
            return spans.gain[run] * smooth_sums(_discount, first, last, own_rank)

        return position_sums(spans.query, spans.above, reach, terms, rest, n_queries)


def position_sums(
    group: Ints,
    above: Ints,
    reach: Ints,
    terms: Callable[[Ints, Ints], Floats],
    rest: Callable[[Ints, Ints, Ints], Floats],
    size: int,
) -> Floats:
    """Add up by group the terms of the positions of runs, in memory bounded by their number.

    Parameters
    ----------
    group, above, reach : int64 array, shape (s,)
        The group of each run, the number of ranks above it, and how many of its positions count.
    terms : callable
        From runs and positions in them, from 1, to terms.
    rest : callable
        From runs, and the first and last rank of the positions that are not laid out, to the
        sums of their terms.
    size : int
        The number of groups.
    """
    is_long = reach > LAID_OUT
    long = np.flatnonzero(is_long) if is_long.any() else _NONE
    laid_out = np.minimum(reach, LAID_OUT) if len(long) else reach
    totals = np.zeros(size)
    for runs in blocks(laid_out, _BLOCK):
        run, step = expanded(laid_out[runs])
        if runs.start == 0:
            totals = sums_of(group[run], terms(run, step), size)
        else:  # term by term, as if there were no blocks
            run = run + runs.start
            np.add.at(totals, group[run], terms(run, step))
    if len(long):
        first = above[long] + LAID_OUT + 1
        totals += sums_of(group[long], rest(long, first, above[long] + reach[long]), size)
    return totals


def expanded(sizes: Ints) -> tuple[Ints, Ints]:
    """List the items of runs: the run of each, and its position in that, from 1."""
    if (sizes == 1).all():
        return np.arange(len(sizes)), np.ones_like(sizes)
    run = np.repeat(np.arange(len(sizes)), sizes)
    ends = np.cumsum(sizes)
    return run, np.arange(1, len(run) + 1) - (ends - sizes)[run]


def _columns(rows: Levels | Spans) -> list[Array]:
    return [getattr(rows, field.name) for field in attrs.fields(type(rows))]


def _concatenated(a: RowsT, b: RowsT) -> RowsT:
    parts = zip(_columns(a), _columns(b), strict=True)
    return type(a)(*map(np.concatenate, parts))


def sums_of(group: Ints, terms: Floats, size: int) -> Floats:
    """Add up terms by group, each sum in the order of its terms."""
    return np.bincount(group, weights=terms, minlength=size).astype(np.float64, copy=False)


def discounts(rank: Ints) -> Floats:
    """Compute 1 / log2(rank + 1) of ranks from 1 on; the same bits on every CPU."""
    return _looked_up(_discount_table(), rank, lambda far: _discount(far.astype(np.float64)))


def powers(base: float, exponent: Ints) -> Floats:
    """Compute integer powers, from 0 on, of a number below 1."""
    return _looked_up(_power_table(base), exponent + 1, lambda far: power(base, far - 1))


def _looked_up(table: Floats, rank: Ints, beyond: Callable[[Ints], Floats]) -> Floats:
    """Look up the values at ranks, and compute those beyond the table."""
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
    """Return the rank: the scale on which functions of the rank alone change."""
    return rank


def _sums(counts: Ints, starts: Ints) -> Ints:
    return np.add.reduceat(counts, starts) if len(starts) else np.zeros(0, dtype=np.int64)
