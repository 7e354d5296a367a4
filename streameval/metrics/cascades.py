"""Expected reciprocal rank: a reader goes down the ranking and stops where satisfied."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from streameval.metrics.ranks import Ties, expanded

__all__ = ["expected_reciprocal_rank"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_BLOCK = 2**20


def expected_reciprocal_rank(
    ties: Ties, stops: Floats, counts: Ints, rule: str, cutoff: int, n_queries: int
) -> Floats:
    """Compute the mean of 1 / rank of the stop (Chapelle et al., 2009).

    Over all orders of the documents of a tie level, the probability to come to position j of
    it is the mean, over all j documents of the level, of the product of their ``1 - stop``.

    Parameters
    ----------
    ties : Ties
        The tie levels.
    stops : float64 array, shape (m,)
        The probability that a document of a cell satisfies.
    counts : int64 array, shape (m,)
        How many documents each cell holds.
    rule : {"expected", "docid_desc", "pessimistic", "optimistic"}
        How ties are broken.
    cutoff : int
        The last rank that counts.
    """
    graded = np.flatnonzero((stops > 0.0) & (ties.above[ties.of_cell] < cutoff))
    cell, _ = expanded(counts[graded])
    cell = graded[cell]
    level, stop = ties.of_cell[cell], stops[cell]
    above, size = ties.above[level], ties.size[level]
    if rule in ("pessimistic", "optimistic"):
        falling = rule == "optimistic"
        order = np.lexsort((-stop if falling else stop, level))
        level, stop, above, size = level[order], stop[order], above[order], size[order]
        inside = _number(level)
        above = above + (inside if falling else size - _sizes(level) + inside)
        level, size = np.arange(len(stop)), np.ones(len(stop), dtype=np.int64)
    place = ties.place[ties.of_cell[cell]]  # sorted by query whatever the order in a level
    return _walk(place, level, above, size, stop, cutoff, n_queries)


def _walk(
    place: Ints, level: Ints, above: Ints, size: Ints, stop: Floats, cutoff: int, n_queries: int
) -> Floats:
    """Go down all rankings at once, tie level by tie level."""
    begins = np.flatnonzero(np.diff(level, prepend=-1))
    rows = np.diff(begins, append=len(level))
    turn = _number(place[begins])
    value, going_on = np.zeros(n_queries), np.ones(n_queries)
    for number in range(int(turn.max(initial=-1)) + 1):
        now = np.flatnonzero(turn == number)
        first = begins[now]
        single = size[first] == 1
        gain = np.where(above[first] < cutoff, stop[first] / (above[first] + 1), 0.0)
        left = 1.0 - stop[first]
        width = max(int(np.minimum(cutoff - above[first], size[first]).max()), 0) + 1
        tied = np.flatnonzero(~single)
        for part in np.array_split(tied, len(tied) * width // _BLOCK + 1):
            at = first[part]
            gain[part], left[part] = _tie(
                stop, at, rows[now[part]], size[at], above[at], cutoff, width
            )
        query = place[first]
        value[query] += going_on[query] * gain
        going_on[query] *= left
    return value


def _tie(
    stop: Floats, first: Ints, rows: Ints, size: Ints, above: Ints, cutoff: int, width: int
) -> tuple[Floats, Floats]:
    """Give what each tie level adds, and the probability to go on after it."""
    order = np.argsort(-rows, kind="stable")  # the levels that still draw stand in front
    first, rows, size, above = first[order], rows[order], size[order], above[order]
    drawn, n, left = np.arange(width, dtype=np.float64), (size - rows)[:, None], np.ones(len(first))
    # means[:, 1 + j]: over all j of the documents so far, of the product of going on
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
    """Give each item its number, from 0, in its run of equal items."""
    begins = np.diff(group, prepend=-1) != 0
    first = np.maximum.accumulate(np.where(begins, np.arange(len(group)), 0))
    return np.asarray(np.arange(len(group)) - first)


def _sizes(group: Ints) -> Ints:
    """Give the size of the run that each item is in."""
    begins = np.flatnonzero(np.diff(group, prepend=-1))
    return np.repeat(np.diff(begins, append=len(group)), np.diff(begins, append=len(group)))
