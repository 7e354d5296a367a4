"""Bounds of Brier score, log loss and calibration error for probabilities grouped in cells.

A loss that falls with the score of a positive and rises with that of a negative is smallest if
positives are at the upper ends of their cells and negatives at the lower ends. The reverse makes it
largest. In a cell of one class, one example is at the other end. The estimate uses the middle of
each cell.

The calibration error is bounded by duality. With ``S[b]`` the labels less the scores of bin b,
``n * ece = sum |S[b]|``, which is the max of ``sum m[b] * S[b]`` over multipliers m in [-1, 1],
reached where each is the sign of ``S[b]``. Let ``H(m)`` be the min of that sum over all data sets
with these cells, in which one example lies at each end of a cell. For every m

    H(m) <= n * ece <= max over signs s of -H(s).

H is a sum over cells, as each cell arranges its examples independently. The upper bound is
attained, except for scores next to an edge. The lower bound uses the best of a few multipliers for
each bin.

Bins of equal mass are cut by rank. A part with mass x of a cell of several scores has at least x
minus the negatives of the cell, and at most the smaller of x and its positives, as labels. With the
ends of the cell as scores, this bounds ``S[b]`` and its distance from 0, bin by bin.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import attrs
import numpy as np

from streameval.exact.array_types import Floats, Indices
from streameval.exact.cell_sums import rounded_sum
from streameval.exact.log import log_of_either
from streameval.metrics.bounded import Bounded, outward
from streameval.metrics.calibration import d2, entropy, gini_impurity
from streameval.metrics.points import CellTable
from streameval.states.bins import bin_indices

_EPSILON = float(np.finfo(np.float64).eps)
_MAX_LOG_LOSS = -math.log(_EPSILON)
_MULTIPLIERS = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
_SIGNS = np.array([-1.0, 1.0])
_ECE_ROUNDING = 2.0**-46  # far above the rounding error of a sum over bins
_CHUNK = 2**10  # cells: their sums by three multipliers stay in the cache


def brier(table: CellTable) -> Bounded:
    """Bound the mean of ``(score - label)**2``."""
    return _mean_loss(table, lambda score: (1.0 - score) ** 2, np.square, max_value=1.0)


def log_loss(table: CellTable) -> Bounded:
    """Bound the mean of ``-log`` of the probability of the truth, clipped at float64's eps."""
    return _mean_loss(
        table,
        lambda score: _log_losses(score, are_positive=True),
        lambda score: _log_losses(score, are_positive=False),
        max_value=_MAX_LOG_LOSS,
    )


def _log_losses(score: Floats, *, are_positive: bool) -> Floats:
    clipped = np.clip(score, _EPSILON, 1.0 - _EPSILON)
    return -log_of_either(clipped, np.full(len(clipped), are_positive), out=clipped)


def d2_log_loss_score(table: CellTable) -> Bounded:
    """Bound 1 - the log loss over that of always predicting the share of positives."""
    return _d2(log_loss(table), entropy(_class_weights(table)))


def d2_brier_score(table: CellTable) -> Bounded:
    """Bound 1 - the Brier score over that of always predicting the share of positives."""
    return _d2(brier(table), gini_impurity(_class_weights(table)) / 2)  # of one class, not of both


def _class_weights(table: CellTable) -> list[Fraction]:
    return [table.pos.sum().to_fraction(), table.neg.sum().to_fraction()]


def _d2(loss: Bounded, null: Fraction | float) -> Bounded:
    """Bound a score that falls with a loss; the loss of the constant prediction is exact."""
    low, value, high = (d2(end, float(null)) for end in (loss.high, loss, loss.low))
    if loss.exact:
        return Bounded(value)
    return outward(low, value, high, min_value=-math.inf)


def _mean_loss(
    table: CellTable,
    of_positive: Callable[[Floats], Floats],
    of_negative: Callable[[Floats], Floats],
    *,
    max_value: float,
) -> Bounded:
    """Bound the mean of a loss that falls with the score of a positive and rises otherwise.

    Each end is the value of a data set with these cells. In a cell of both classes, the example
    at either end can be of the class that is put there. In a cell of one class, an example of
    min weight is at the end opposite to the others.
    """
    pos, neg = table.pos.near_floats(), table.neg.near_floats()
    n = rounded_sum(pos) + rounded_sum(neg)

    def mean(positives: Floats, negatives: Floats) -> float:
        return rounded_sum(pos * of_positive(positives) + neg * of_negative(negatives)) / n

    if table.is_exact:
        return Bounded(mean(table.lo, table.lo))
    middle = (table.lo + table.hi) / 2
    value = mean(middle, middle)
    weight = table.min_weight.near_floats()
    pos_apart, neg_apart = (
        np.where(other.is_positive(), 0.0, weight) for other in (table.neg, table.pos)
    )

    def end(positives: Floats, negatives: Floats) -> float:
        terms = (pos - pos_apart) * of_positive(positives) + pos_apart * of_positive(negatives)
        terms += (neg - neg_apart) * of_negative(negatives) + neg_apart * of_negative(positives)
        return rounded_sum(terms) / n

    return outward(end(table.hi, table.lo), value, end(table.lo, table.hi), max_value=max_value)


def ece(table: CellTable, bins: int = 15) -> Bounded:
    """Compute the expected calibration error, in [0, 1]; for probabilities.

    ``|mean label - mean score|`` in each of the bins ``[i/bins, (i+1)/bins)``, the last
    closed, weighted by their examples (Naeini, Cooper and Hauskrecht, 2015). Call it for
    another number of bins, as in ``ece(bins=10)``.

    Parameters
    ----------
    bins : int
        The number of bins, from 1 to 65,536.
    """
    pos, neg = table.pos.near_floats(), table.neg.near_floats()
    n = rounded_sum(pos) + rounded_sum(neg)

    def excess(cells: Indices, terms: Floats, at: Indices) -> Floats:
        """Sum the terms of some cells, the lowest first, in each bin."""
        ends = np.searchsorted(at[cells], np.arange(bins + 1))
        return np.array([rounded_sum(terms[cells[i:j]]) for i, j in pairwise(ends)])

    def labels_less(scores: Floats) -> Floats:
        return pos * (1.0 - scores) - neg * scores

    rising = np.arange(len(pos))[::-1]
    middle = (table.lo + table.hi) / 2
    value = math.fsum(np.abs(excess(rising, labels_less(middle), bin_indices(middle, bins)))) / n
    if table.is_exact:
        return Bounded(value)
    first, last = bin_indices(table.lo, bins), bin_indices(table.hi, bins)
    is_cut = first < last
    inside, cut = rising[~is_cut[rising]], rising[is_cut[rising]]
    weight = float(table.min_weight.near_floats())
    apart = weight * (table.hi - table.lo)  # one example is at the other end
    low = excess(inside, labels_less(table.hi) + apart, first)
    high = excess(inside, labels_less(table.lo) - apart, first)
    cells = _CutCells(table.lo, table.hi, pos, neg, first, last, weight, bins)[cut]
    lower = _max_total(1, _MULTIPLIERS, cells, low, high)
    upper = _max_total(-1, _SIGNS, cells, low, high)
    return outward(lower / n - _ECE_ROUNDING, value, upper / n + _ECE_ROUNDING)


def adaptive_ece(table: CellTable, bins: int = 15) -> Bounded:
    """Compute the calibration error of bins of equal mass, in [0, 1]; for probabilities.

    ``|mean label - mean score|`` in each of the bins, which hold the same share of the
    examples, by rising score, averaged (Nixon et al., 2019). A row, or rows of one score, that
    an edge cuts count in both bins by their shares. Call it for another number of bins.

    Parameters
    ----------
    bins : int
        The number of bins, from 1 to 65,536.

    Examples
    --------
    >>> import streameval as se
    >>> curve = se.PRCurveSketch().update([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.9]).compute()
    >>> f"{curve.adaptive_ece(2):.3f}", f"{curve.ece(2):.3f}"
    ('0.225', '0.125')
    """
    pos, neg = (part.near_floats()[::-1] for part in (table.pos, table.neg))
    low, high = table.lo[::-1], table.hi[::-1]
    ends = np.append(0.0, np.cumsum(pos + neg))
    n = float(ends[-1])
    edges = np.arange(bins + 1) * n / bins
    edges[-1] = n
    cuts = np.union1d(ends, edges)
    middle, mass = (cuts[1:] + cuts[:-1]) / 2, np.diff(cuts)
    cell = np.searchsorted(ends[1:-1], middle, side="right")
    parts = np.searchsorted(cuts, edges)
    pos, neg, low, high = (column[cell] for column in (pos, neg, low, high))

    def excess(labels: Floats, scores: Floats) -> Floats:
        """Sum labels minus scores in each bin."""
        terms = labels - mass * scores
        return np.array([rounded_sum(terms[i:j]) for i, j in pairwise(parts)])

    labels = pos * mass / (pos + neg)
    value = math.fsum(np.abs(excess(labels, (low + high) / 2))) / n
    if table.is_exact:
        return Bounded(value)
    is_open = low < high
    lowest = excess(np.where(is_open, np.maximum(mass - neg, 0.0), labels), high)
    highest = excess(np.where(is_open, np.minimum(mass, pos), labels), low)
    nearest = np.maximum(np.maximum(lowest, -highest), 0.0)
    farthest = np.maximum(np.abs(lowest), np.abs(highest))
    lower, upper = (math.fsum(part) / n for part in (nearest, farthest))
    return outward(lower - _ECE_ROUNDING, value, upper + _ECE_ROUNDING)


@attrs.frozen(eq=False)
class _CutCells:
    """Cells that span an edge of a bin, the lowest first, and their terms of H.

    Parameters
    ----------
    lo, hi, pos, neg : float64 arrays, shape (m,)
        The ends and the weights.
    first, last : int arrays, shape (m,)
        The bins of the ends.
    min_weight : float
        The min weight at each end.
    bins : int
        The number of bins.
    """

    lo: Floats
    hi: Floats
    pos: Floats
    neg: Floats
    first: Indices
    last: Indices
    min_weight: float
    bins: int

    def __getitem__(self, key: Indices | slice) -> _CutCells:
        names = ("lo", "hi", "pos", "neg", "first", "last")
        return attrs.evolve(self, **{name: getattr(self, name)[key] for name in names})

    def __len__(self) -> int:
        return len(self.lo)

    def sums(self, sign: int, multipliers: Floats) -> Floats:
        """Compute `sign` times the term of each cell in H, at its max over inner bins.

        Parameters
        ----------
        sign : {1, -1}
            1 for the lower bound, -1 for the upper one.
        multipliers : float64 array, shape (k,)
            The candidates for the first and the last bin of a cell.

        Returns
        -------
        float64 array, shape (m, k, k)
            By the multipliers of the first and of the last bin.

        Notes
        -----
        No other cell has an example in the inner bins. For the lower bound they count as one bin
        with one multiplier: all their examples could be in one of them, at the same mean score.
        For the upper bound each has its own sign: of two or more, one has the best
        sign for the positives and another the best for the negatives.
        """
        starts, ends = (self.first + 1) / self.bins, self.last / self.bins
        of_first = _min_terms(multipliers, self.lo, starts)
        of_last = _min_terms(multipliers, ends, self.hi)
        inner = _min_terms(multipliers, starts, ends)
        n_inner = (self.last - self.first - 1)[:, None]
        if sign < 0:
            several = np.where(n_inner > 1, inner.min(axis=-1, keepdims=True), inner)
            inner = np.concatenate([inner, several[..., :1]], axis=-1)
        inner[:, n_inner[:, 0] == 0] = np.inf

        # the min term per unit of each class, then the extra terms of the examples at both ends
        anywhere = np.minimum(of_first[..., :, None], of_last[..., None, :])[..., None]
        anywhere = np.minimum(anywhere, inner[..., None, None, :])
        labels = np.array([0.0, 1.0])[:, None, None]
        at_lo = (multipliers * (labels - self.lo[:, None]))[..., :, None, None] - anywhere
        at_hi = (multipliers * (labels - self.hi[:, None]))[..., None, :, None] - anywhere
        neg, pos = (part[:, None, None, None] for part in (self.neg, self.pos))
        one, two = self.min_weight, 2 * self.min_weight
        mixed = np.minimum(at_lo[0] + at_hi[1], at_lo[1] + at_hi[0])
        extra = np.where((neg >= one) & (pos >= one), mixed, np.inf)
        extra = np.minimum(extra, np.where(neg >= two, at_lo[0] + at_hi[0], np.inf))
        extra = np.minimum(extra, np.where(pos >= two, at_lo[1] + at_hi[1], np.inf))
        sums = sign * (neg * anywhere[0] + pos * anywhere[1] + one * extra)
        return np.asarray(sums.max(axis=-1))


def _min_terms(multipliers: Floats, start: Floats, end: Floats) -> Floats:
    """Compute the min multiple of label minus score within a range, for both labels.

    The shape is (2, m, k) for m ranges and k multipliers.
    """
    scores = np.where(multipliers < 0, start[:, None], end[:, None])
    return np.stack([-multipliers * scores, multipliers * (1.0 - scores)])


def _max_total(
    sign: int, multipliers: Floats, cells: _CutCells, low: Floats, high: Floats
) -> float:
    """Maximize `sign` times H over the choices of a multiplier for each bin.

    `low` and `high` bound the excess of the cells inside each bin. At most one cell spans an
    edge, so cells form a chain, and a single multiplier links each to the bins before it.
    """
    inside = sign * np.where(
        multipliers < 0, multipliers * high[:, None], multipliers * low[:, None]
    )
    is_reached = np.zeros(len(low), dtype=bool)
    is_reached[cells.first] = is_reached[cells.last] = True
    alone = math.fsum(inside[~is_reached].max(axis=1))
    if not len(cells):
        return alone
    parts = (cells[start : start + _CHUNK] for start in range(0, len(cells), _CHUNK))
    links = np.concatenate([part.sums(sign, multipliers) for part in parts])
    links += inside[cells.last][:, None, :]
    is_start = np.append(True, cells.first[1:] != cells.last[:-1])
    starts = links[is_start] + inside[cells.first[is_start]][:, :, None]
    links[is_start] = starts.max(axis=1, keepdims=True)  # independent of earlier bins
    return alone + float(_joined(links).max())


def _joined(links: Floats) -> Floats:
    """Add up a chain of links, shape (m, k, k), with the best choice of shared multipliers."""
    while len(links) > 1:
        odd = links[len(links) // 2 * 2 :]
        before, after = links[: len(links) // 2 * 2 : 2], links[1::2]
        pairs = (before[:, :, :, None] + after[:, None, :, :]).max(axis=2)
        links = np.concatenate([pairs, odd])
    return links
