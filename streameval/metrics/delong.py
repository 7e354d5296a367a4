"""Sampling intervals of the AUC.

DeLong, DeLong and Clarke-Pearson, Comparing the areas under two or more correlated receiver
operating characteristic curves (1988): the variance of the mean placement of the positives
plus that of the negatives. Cells give the same placements as rows, ties included.

Few placements often miss those that are far from the others, and then this variance is too small.
So a part of the variance of random ranks is added (Wilcoxon, Individual comparisons by ranking
methods, 1945), the less of it the more the data says. With A the area, n the examples of both
classes and r those of the rarer one, ::

    (n + 1) / (12 n_pos n_neg) * 4 A (1 - A) / (1 + 2 r A (1 - A))

is at most 2 / r of the variance of random ranks, and vanishes beside DeLong's for many examples.
The area is then a proportion of ``A (1 - A) / variance`` draws, and has Wilson's interval, which
exists at 0 and 1. The constants were chosen by simulation (docs/interval_coverage.py).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from streameval.metrics import curves
from streameval.metrics.intervals import hull, wilson
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


def variance_by_chance(n_pos: float, n_neg: float) -> float:
    """Compute the variance of the AUC of random ranks without ties."""
    return (n_pos + n_neg + 1.0) / (12.0 * n_pos * n_neg)


def auc_confidence(table: CellTable, z: float) -> tuple[float, float]:
    """Compute the interval of `z` deviations; nan unless both classes occur.

    If cells hold several scores, it covers the intervals of both extreme data sets.
    """
    if table.is_exact:
        points, variance = table.estimate, variance_of(table)
        return _interval(curves.area_of(table), variance, points, z)
    extremes = (table.low, table.high)
    areas = [curves.roc_auc(points.outcomes()) for points in extremes]
    variances = map(auc_variance, extremes)
    return hull([_interval(*each, z) for each in zip(areas, variances, extremes, strict=True)])


def _sums(values: Floats) -> Floats:
    """Add in the order of scores: unlike those of `np.sum`, the bits are the same on every CPU."""
    sums: Floats = np.add.accumulate(values, axis=-1)[..., -1:]
    return sums


def _interval(auc: float, variance: float, points: Points, z: float) -> tuple[float, float]:
    return wilson(auc, _draws(auc, variance, points.n_pos, points.n_neg), z)


def _draws(auc: float, variance: float, n_pos: float, n_neg: float) -> float:
    """Compute the draws of a proportion that varies as the area does.

    One example of a class gives no estimate, and counts as one draw.
    """
    rarer, spread = min(n_pos, n_neg), auc * (1.0 - auc)
    if rarer < 2.0:
        return 1.0
    chance = 4.0 * variance_by_chance(n_pos, n_neg) / (1.0 + 2.0 * rarer * spread)
    return 1.0 / (chance + variance / spread if spread > 0.0 else chance)
