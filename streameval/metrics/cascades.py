"""Expected reciprocal rank: a reader goes down the ranking and stops when satisfied."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import attrs
import numpy as np

from streameval.exact.array_types import Floats, Ints, Mask
from streameval.metrics.ranks import Ties, expanded
from streameval.states.queries import counts_of, runs_above

_BLOCK = 2**17
_FEW = 32  # documents


def expected_reciprocal_rank(
    ties: Ties, stops: Floats, counts: Ints, rule: str, cutoff: int, n_queries: int
) -> Floats:
    """Compute the mean of 1 / rank of the stop (Chapelle et al., 2009).

    Over all orders of the documents of a tie level, the probability of passing its first j
    positions is the mean of the product of ``1 - stop`` over all sets of j of its documents.

    Parameters
    ----------
    ties : Ties
        The tie levels.
    stops : float64 array, shape (m,)
        The probability that a document of a cell satisfies the reader.
    counts : int64 array, shape (m,)
        How many documents each cell holds.
    rule : {"expected", "docid_desc", "pessimistic", "optimistic"}
        How ties are broken.
    cutoff : int
        The last rank in use.
    """
    graded = np.flatnonzero((stops > 0.0) & (ties.above[ties.of_cell] < cutoff))
    level, stop, count = ties.of_cell[graded], stops[graded], counts[graded]
    if rule in ("pessimistic", "optimistic"):
        order = np.lexsort((-stop if rule == "optimistic" else stop, level))
        cells = _Stops(level[order], stop[order], count[order])
        return _sum_up(*_in_order(cells, ties, cutoff, is_first=rule == "optimistic"), n_queries)
    cells = _Stops(level, stop, count)
    own, gain, left = _over_orders(cells, ties.above, ties.size, cutoff)
    return _sum_up(ties.query[own], gain, left, n_queries)


@attrs.frozen(eq=False)
class _Stops:
    """Documents that may stop a reader, grouped by level and chance.

    Parameters
    ----------
    level, count : int64 array, shape (c,)
        The tie level, rising, and the number of documents.
    stop : float64 array, shape (c,)
        The chance of each document.
    """

    level: Ints
    stop: Floats
    count: Ints

    def select(self, kept: Ints | Mask) -> _Stops:
        """Choose some of the cells."""
        return _Stops(self.level[kept], self.stop[kept], self.count[kept])


def _in_order(
    cells: _Stops, ties: Ties, cutoff: int, *, is_first: bool
) -> tuple[Ints, Floats, Floats]:
    """Compute the query, the gain and the chance of passing, for documents down to the cutoff.

    The documents of each level rank in the order of their cells, first or last in it.
    """
    above = ties.above[cells.level] + runs_above(cells.count, cells.level)
    if not is_first:
        above += (ties.size - counts_of(cells.level, cells.count, len(ties.size)))[cells.level]
    cell, step = expanded(np.clip(cutoff - above, 0, cells.count))
    stop = cells.stop[cell]
    return ties.query[cells.level[cell]], stop / (above[cell] + step), 1.0 - stop


def _over_orders(
    cells: _Stops, above: Ints, size: Ints, cutoff: int
) -> tuple[Ints, Floats, Floats]:
    """Compute the gain of each level that has cells, and the probability of continuing after it."""
    own, begins = np.unique(cells.level, return_index=True)
    above, size = above[own], size[own]
    first, rows = cells.stop[begins], np.add.reduceat(cells.count, begins) if len(own) else begins
    gain, left = first / (above + 1), 1.0 - first  # for a level with one document
    width = np.minimum(cutoff - above, size)
    # The cost by document grows with the documents that may stop a reader. The cost by rank
    # grows with the ranks alone, but that recurrence is stable only above the middle of the level.
    is_short = (size <= 2 * width) | (rows <= _FEW)
    number = np.repeat(np.arange(len(own)), np.diff(begins, append=len(cells.level)))
    for part in _of_like_width(np.flatnonzero((size > 1) & is_short), width):
        documents, _ = expanded(cells.count[_among(number, part)])
        stop = cells.stop[_among(number, part)][documents]
        starts = np.cumsum(rows[part]) - rows[part]
        gain[part], left[part] = _tie(
            stop, starts, rows[part], size[part], above[part], cutoff, int(width[part].max()) + 1
        )
    for part in _of_like_width(np.flatnonzero((size > 1) & ~is_short), width):
        of_part = _among(number, part)
        some = attrs.evolve(cells.select(of_part), level=np.searchsorted(part, number[of_part]))
        gain[part] = _long_ties(some, size[part], above[part], width[part])
        left[part] = 0.0  # they reach beyond the cutoff
    return own, gain, left


def _of_like_width(levels: Ints, width: Ints) -> Iterator[Ints]:
    """Group levels by width, within a factor of 2, in blocks that need little memory."""
    if not len(levels):
        return
    digits = np.frexp(width[levels])[1]
    for number in np.unique(digits).tolist():
        group = levels[digits == number]
        n_parts = (len(group) << number) // _BLOCK + 1
        yield from np.array_split(group, min(n_parts, len(group)))


def _among(numbers: Ints, chosen: Ints) -> Mask:
    """Check which numbers are among the chosen ones."""
    is_chosen = np.zeros(int(max(numbers.max(), chosen.max())) + 1, dtype=bool)
    is_chosen[chosen] = True
    return np.asarray(is_chosen[numbers])


def _sum_up(query: Ints, gain: Floats, left: Floats, n_queries: int) -> Floats:
    """Walk down all rankings together, step by step, and sum up the gain of each query."""
    turn = _number(query)
    order = np.argsort(turn, kind="stable")
    bounds = np.searchsorted(turn[order], np.arange(int(turn.max(initial=-1)) + 2)).tolist()
    value, going_on = np.zeros(n_queries), np.ones(n_queries)
    for start, end in pairwise(bounds):
        now = order[start:end]
        own = query[now]
        value[own] += going_on[own] * gain[now]
        going_on[own] *= left[now]
    return value


def _long_ties(cells: _Stops, size: Ints, above: Ints, width: Ints) -> Floats:
    """Compute the gains of tie levels with more than twice as many ranks as the cutoff leaves.

    Draw by draw for all levels: ``passed`` is the probability that nobody has stopped, and
    ``others[c]`` that no drawn document stops if they are drawn from all but one of cell c. Of
    n documents, j + 1 of them drawn with one of c among these or not,

        ``passed[j + 1] = (n - j - 1) / n * others[c, j + 1] + (j + 1) / n * on[c] * others[c, j]``,

    whose error shrinks from draw to draw while j is below n / 2.
    """
    order = np.argsort(-width, kind="stable")  # the levels that still draw come first
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    by_level = np.argsort(rank[cells.level], kind="stable")
    own, stop, count = rank[cells.level][by_level], cells.stop[by_level], cells.count[by_level]
    above, n = above[order], size[order].astype(np.float64)[own]
    chosen, on = count * stop / n, 1.0 - stop
    passed, value, others = np.ones(len(order)), np.zeros(len(order)), np.ones(len(own))
    active = np.searchsorted(-width[order], -np.arange(int(width.max())))
    for drawn, (k, c) in enumerate(zip(active, np.searchsorted(own, active), strict=True), 1):
        stopped = np.bincount(own[:c], weights=chosen[:c] * others[:c], minlength=k)
        value[:k] += stopped / (above[:k] + drawn)
        passed[:k] = np.maximum(passed[:k] - stopped, 0.0)
        going_on = n[:c] * passed[own[:c]] - drawn * (on[:c] * others[:c])
        others[:c] = np.maximum(going_on, 0.0) / (n[:c] - drawn)
    return value[rank]


def _tie(
    stop: Floats, first: Ints, rows: Ints, size: Ints, above: Ints, cutoff: int, width: int
) -> tuple[Floats, Floats]:
    """Compute the gain of each tie level, and the probability of continuing after it."""
    order = np.argsort(-rows, kind="stable")  # the levels that still draw come first
    first, rows, size, above = first[order], rows[order], size[order], above[order]
    drawn, n, left = np.arange(width, dtype=np.float64), (size - rows)[:, None], np.ones(len(first))
    # means[:, 1 + j]: mean product of 1 - stop over all sets of j documents so far
    means = np.zeros((len(first), width + 1))
    means[:, 1:] = drawn <= n
    active = np.searchsorted(-rows, -np.arange(int(rows.max(initial=0))))
    for number, k in enumerate(active.tolist()):
        on, total = 1.0 - stop[first[:k] + number], n[:k] + (number + 1.0)
        left[:k] *= on
        drawn_now = np.minimum(drawn, total) * (on[:, None] * means[:k, :-1])
        means[:k, 1:] = (np.maximum(total - drawn, 0.0) * means[:k, 1:] + drawn_now) / total
    reach = np.minimum(cutoff - above, size)[:, None]
    terms = (means[:, 1:-1] - means[:, 2:]) / (above[:, None] + drawn[1:])
    terms = np.where(drawn[1:] <= reach, terms, 0.0)
    found = np.empty((2, len(first)))
    found[:, order] = np.add.accumulate(terms, axis=1)[:, -1:].sum(axis=1), left
    return found[0], found[1]


def _number(group: Ints) -> Ints:
    """Count, for each item, the equal ones before it in its run."""
    begins = np.diff(group, prepend=-1) != 0
    first = np.maximum.accumulate(np.where(begins, np.arange(len(group)), 0))
    return np.asarray(np.arange(len(group)) - first)
