"""Brier score, log loss and calibration error of probabilities known to the width of a cell.

A loss that falls with the score of a positive and rises with that of a negative has its least
value with positives at the upper ends of their cells and negatives at the lower ones, and its
greatest value the other way round. The estimate takes the middle of each cell.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from streameval.exact.log import log, log1p
from streameval.metrics.bounded import Bounded, outward
from streameval.metrics.points import CellTable
from streameval.states.calibration import bin_places

__all__ = ["brier", "ece", "log_loss"]

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

_EPSILON = float(np.finfo(np.float64).eps)
_MOST_LOG_LOSS = -math.log(_EPSILON)


def brier(table: CellTable) -> Bounded:
    """Bound the mean of ``(score - label)**2``."""
    return _mean_loss(table, lambda score: (1.0 - score) ** 2, np.square, most=1.0)


def log_loss(table: CellTable) -> Bounded:
    """Bound the mean of ``-log`` of the probability of the truth, clipped at float64's eps."""
    return _mean_loss(
        table,
        lambda score: -log(np.clip(score, _EPSILON, 1.0 - _EPSILON)),
        lambda score: -log1p(-np.clip(score, _EPSILON, 1.0 - _EPSILON)),
        most=_MOST_LOG_LOSS,
    )


def _mean_loss(
    table: CellTable,
    of_positive: Callable[[Floats], Floats],
    of_negative: Callable[[Floats], Floats],
    *,
    most: float,
) -> Bounded:
    """Bound the mean of a loss, which falls with the score of a positive only."""
    pos, neg = table.pos.near_floats(), table.neg.near_floats()
    n = math.fsum(pos) + math.fsum(neg)
    if not n:
        return Bounded(math.nan)

    def mean(positives: Floats, negatives: Floats) -> float:
        return math.fsum(pos * of_positive(positives) + neg * of_negative(negatives)) / n

    if table.is_exact:
        return Bounded(mean(table.lo, table.lo))
    middle = (table.lo + table.hi) / 2
    return outward(
        mean(table.hi, table.lo), mean(middle, middle), mean(table.lo, table.hi), most=most
    )


def ece(table: CellTable, bins: int) -> Bounded:
    """Bound the expected calibration error.

    In each bin the labels less the scores of the cells inside it lie between those with all
    scores at their upper ends and at their lower ones. Of a cell that reaches over an edge any
    part may be in the bin: at least none of its positives and all its negatives, at most the
    reverse.
    """
    pos, neg = table.pos.near_floats(), table.neg.near_floats()
    n = math.fsum(pos) + math.fsum(neg)
    if not n:
        return Bounded(math.nan)

    def excess(cells: Places, scores: Floats, at: Places) -> Floats:
        """Sum labels less scores of some cells, the lowest first, in each bin."""
        terms = pos[cells] * (1.0 - scores[cells]) - neg[cells] * scores[cells]
        ends = np.searchsorted(at[cells], np.arange(bins + 1))
        return np.array([math.fsum(terms[i:j]) for i, j in pairwise(ends)])

    rising = np.arange(len(pos))[::-1]
    middle = (table.lo + table.hi) / 2
    value = math.fsum(np.abs(excess(rising, middle, bin_places(middle, bins)))) / n
    if table.is_exact:
        return Bounded(value)
    first, last = bin_places(table.lo, bins), bin_places(table.hi, bins)
    inside = rising[(first == last)[rising]]
    low, high = excess(inside, table.hi, first), excess(inside, table.lo, first)
    cell, at = _reached(first, last)
    np.subtract.at(low, at, neg[cell] * np.minimum(table.hi[cell], (at + 1) / bins))
    np.add.at(high, at, pos[cell] * (1.0 - np.maximum(table.lo[cell], at / bins)))
    least = np.maximum(np.maximum(low, -high), 0.0)
    most = np.maximum(np.abs(low), np.abs(high))
    return outward(math.fsum(least) / n, value, math.fsum(most) / n)


def _reached(first: Places, last: Places) -> tuple[Places, Places]:
    """List each bin that a cell over several of them reaches, beside the cell."""
    over = np.flatnonzero(first < last)
    spans = (last - first)[over] + 1
    cell = np.repeat(over, spans)
    start = np.cumsum(spans) - spans
    return cell, first[cell] + np.arange(len(cell)) - np.repeat(start, spans)
