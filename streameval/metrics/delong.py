"""Sampling intervals of the AUC.

DeLong, DeLong and Clarke-Pearson, Comparing the areas under two or more correlated receiver
operating characteristic curves (1988): the variance of the mean placement of the positives
plus that of the negatives. Cells give the same placements as rows, ties included. The interval is
on the logit scale (Pepe, The statistical evaluation of medical tests, 2003), so it stays within
[0, 1].
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from streameval.metrics import curves
from streameval.metrics.intervals import hull, on_logit_scale
from streameval.metrics.points import CellTable, Points

__all__ = ["auc_confidence", "auc_variance"]


def auc_variance(points: Points) -> float:
    """Estimate the variance of the AUC; nan with fewer than two of a class."""
    n_pos, n_neg = points.n_pos, points.n_neg
    if n_pos < 2 or n_neg < 2:
        return math.nan
    pos, neg = points.tp.copy(), points.fp.copy()
    for each in (pos, neg):  # np.diff with `prepend` costs more than all the rest
        each[1:] -= each[:-1].copy()
    below = (n_neg - points.fp + neg / 2) / n_neg  # the share that each positive outranks
    above = (points.tp - pos / 2) / n_pos
    auc = _sum(pos * below) / n_pos
    of_positives = _sum(pos * (below - auc) ** 2) / (n_pos - 1)
    of_negatives = _sum(neg * (above - auc) ** 2) / (n_neg - 1)
    return of_positives / n_pos + of_negatives / n_neg


def auc_confidence(table: CellTable, z: float) -> tuple[float, float]:
    """Compute the interval of `z` deviations; nan for an AUC of 0 or 1 or without a variance.

    If cells hold several scores, it covers the intervals of both extreme data sets.
    """
    if table.is_exact:
        return _interval(table.estimate, curves.area_of(table), z)
    extremes = (table.low, table.high)
    return hull([_interval(points, curves.roc_auc(points.outcomes()), z) for points in extremes])


def _sum(values: npt.NDArray[np.float64]) -> float:
    """Add in the order of scores: unlike those of `np.sum`, the bits are the same on every CPU."""
    return float(np.add.accumulate(values)[-1])


def _interval(points: Points, auc: float, z: float) -> tuple[float, float]:
    variance = auc_variance(points)
    if math.isnan(variance) or not 0.0 < auc < 1.0:
        return math.nan, math.nan
    return on_logit_scale(auc, math.sqrt(variance) / (auc * (1.0 - auc)), z)
