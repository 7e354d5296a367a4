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

Floats = npt.NDArray[np.float64]


def auc_variance(points: Points) -> float:
    """Estimate the variance of the AUC; nan with fewer than two of a class."""
    if points.n_pos < 2 or points.n_neg < 2:
        return math.nan
    return float(variances_of(points.tp, points.fp)[-1])


def variances_of(tp: Floats, fp: Floats) -> Floats:
    """Estimate the variance of the AUC of each row of points, with two of each class or more.

    Points that repeat the last one of a row change nothing.
    """
    n_pos, n_neg = tp[..., -1:], fp[..., -1:]
    pos, neg = tp.copy(), fp.copy()
    for each in (pos, neg):  # np.diff with `prepend` costs more than all the rest
        each[..., 1:] -= each[..., :-1].copy()
    below = (n_neg - fp + neg / 2) / n_neg  # the share that each positive outranks
    above = (tp - pos / 2) / n_pos
    auc = _sums(pos * below) / n_pos
    of_positives = _sums(pos * (below - auc) ** 2) / (n_pos - 1)
    of_negatives = _sums(neg * (above - auc) ** 2) / (n_neg - 1)
    variances: Floats = of_positives / n_pos + of_negatives / n_neg
    return variances


def variance_of(table: CellTable) -> float:
    """Estimate the variance of the AUC of a table once."""
    areas = table.areas  # looked up once: another thread may make it at the same time
    if "auc_variance" not in areas:
        areas["auc_variance"] = auc_variance(table.estimate)
    return areas["auc_variance"]


def auc_confidence(table: CellTable, z: float) -> tuple[float, float]:
    """Compute the interval of `z` deviations; nan for an AUC of 0 or 1 or without a variance.

    If cells hold several scores, it covers the intervals of both extreme data sets.
    """
    if table.is_exact:
        return _interval(curves.area_of(table), variance_of(table), z)
    extremes = (table.low, table.high)
    areas = [curves.roc_auc(points.outcomes()) for points in extremes]
    variances = map(auc_variance, extremes)
    return hull([_interval(*pair, z) for pair in zip(areas, variances, strict=True)])


def _sums(values: Floats) -> Floats:
    """Add in the order of scores: unlike those of `np.sum`, the bits are the same on every CPU."""
    sums: Floats = np.add.accumulate(values, axis=-1)[..., -1:]
    return sums


def _interval(auc: float, variance: float, z: float) -> tuple[float, float]:
    if math.isnan(variance) or not 0.0 < auc < 1.0:
        return math.nan, math.nan
    return on_logit_scale(auc, math.sqrt(variance) / (auc * (1.0 - auc)), z)
