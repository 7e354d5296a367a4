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

The partial area up to a rate f is the mean true positive rate below it, times f. Its placements are
those of the negatives above the threshold of that rate, less the rate of positives there, since the
threshold varies with the negatives (He and Escobar, Nonparametric statistical inference method for
partial areas under receiver operating characteristic curves, 2010). Only f n_neg negatives matter,
and ``6 - 2 f`` takes the place of 4, which it is at f = 1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from streameval.exact.array_types import Floats, Ints, Mask
from streameval.metrics import curves
from streameval.metrics.intervals import hull, wilson
from streameval.metrics.points import CellTable, Points
from streameval.states.cells import Cells


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
    return of_positives / n_pos + of_negatives / n_neg


def variance_of(table: CellTable) -> float:
    """Estimate the variance of the AUC of a table once."""
    return table.once("auc_variance", lambda: auc_variance(table.estimate))


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


def partial_auc_confidence(table: CellTable, z: float, max_fpr: float) -> tuple[float, float]:
    """Compute the interval of the standardized area up to `max_fpr`, as `auc_confidence` does."""
    each = [table.estimate] if table.is_exact else [table.low, table.high]
    low, high = hull([_partial_interval(points, z, max_fpr) for points in each])
    chance = max_fpr / 2.0
    return 0.5 + 0.5 * (low - chance) / (1.0 - chance), 0.5 + 0.5 * (high - chance) / (1.0 - chance)


def _partial_interval(points: Points, z: float, max_fpr: float) -> tuple[float, float]:
    """Compute the interval of the mean true positive rate below a false positive rate."""
    share, variance = _partial_share(points, max_fpr)
    n_pos, n_neg = points.n_pos, max(max_fpr * points.n_neg, 1.0)
    draws = _draws(share, variance, n_pos, n_neg, added=6.0 - 2.0 * max_fpr)
    return wilson(share, draws, z)


def _partial_share(points: Points, max_fpr: float) -> tuple[float, float]:
    """Compute the mean true positive rate below a rate, and its variance between placements."""
    n_pos, n_neg = points.n_pos, points.n_neg
    tpr, fpr = points.tp / n_pos, points.fp / n_neg
    tpr_before, fpr_before = np.append(0.0, tpr)[:-1], np.append(0.0, fpr)[:-1]
    width = fpr - fpr_before
    inside = np.clip(max_fpr - fpr_before, 0.0, width)  # the part of each cell below the rate
    part = np.divide(inside, width, out=np.where(fpr <= max_fpr, 1.0, 0.0), where=width > 0.0)
    tpr_inside = tpr_before + (tpr - tpr_before) * part
    at_rate = float(tpr_inside[part > 0.0][-1])
    below = (inside * part / 2.0 + np.clip(max_fpr - fpr, 0.0, None)) / max_fpr
    above = part * ((tpr_before + tpr_inside) / 2.0 - at_rate)  # times `max_fpr`
    pos, neg = (np.diff(counts, prepend=0.0) for counts in (points.tp, points.fp))
    share = float(_sums(pos * below)[0]) / n_pos
    middle = _sums(neg * above) / n_neg
    of_positives = _sums(pos * (below - share) ** 2) / (max(n_pos - 1.0, 1.0) * n_pos)
    of_negatives = _sums(neg * (above - middle) ** 2) / (max(n_neg - 1.0, 1.0) * n_neg)
    return min(share, 1.0), float((of_positives + of_negatives / max_fpr / max_fpr)[0])


def _sums(values: Floats) -> Floats:
    """Add in the order of scores: unlike those of `np.sum`, the bits are the same on every CPU."""
    return np.add.accumulate(values, axis=-1)[..., -1:]


def _interval(auc: float, variance: float, points: Points, z: float) -> tuple[float, float]:
    return wilson(auc, _draws(auc, variance, points.n_pos, points.n_neg), z)


def _draws(auc: float, variance: float, n_pos: float, n_neg: float, added: float = 4.0) -> float:
    """Compute the draws of a proportion that varies as the area does.

    One example of a class gives no estimate, and counts as one draw. `added` is the factor of the
    variance of random ranks.
    """
    rarer, spread = min(n_pos, n_neg), auc * (1.0 - auc)
    if rarer < 2.0:
        return 1.0
    chance = added * variance_by_chance(n_pos, n_neg) / (1.0 + 2.0 * rarer * spread)
    return 1.0 / (chance + variance / spread if spread > 0.0 else chance)


_MAX_CELLS = 1024  # for a larger curve, calls of NumPy cost less than its cells
_AT_ONCE = 128  # curves, so that temporaries are small


def note_areas(tables: Sequence[CellTable]) -> None:
    """Compute the areas and variances of tables for which it pays, and note them there."""
    small = sorted(filter(_is_small, tables), key=_size)
    for start in range(0, len(small), _AT_ONCE):
        _note(small[start : start + _AT_ONCE])


def _is_small(table: CellTable) -> bool:
    """Return whether a table has few cells, of one score and of whole weights."""
    source = table.source
    is_short = isinstance(source, Cells) and 0 < len(source.lo) <= _MAX_CELLS
    return is_short and table.is_whole and table.is_exact


def _size(table: CellTable) -> int:
    return len(table.cells.lo)


def _note(tables: Sequence[CellTable]) -> None:
    """Lay each table out as a row; the cells that short rows lack are empty and change no sum."""
    sizes = np.array([*map(_size, tables)])
    is_cell = np.arange(sizes.max()) < sizes[:, None]
    tp = _cumulated([table.pos.whole for table in tables], is_cell)
    fp = _cumulated([table.neg.whole for table in tables], is_cell)
    has_two = np.flatnonzero(np.minimum(tp[:, -1], fp[:, -1]) >= 2)  # of each class
    tp, fp = tp[has_two], fp[has_two]
    areas = _areas(tp, fp, is_cell[has_two], sizes[has_two])
    variances = variances_of(tp, fp).ravel().tolist()
    for index, area, variance in zip(has_two.tolist(), areas, variances, strict=True):
        tables[index].areas.update(roc_auc=area, auc_variance=variance)


def _cumulated(counts: Sequence[Ints], is_cell: Mask) -> Floats:
    rows = np.zeros(is_cell.shape, dtype=np.int64)
    rows[is_cell] = np.concatenate(counts)
    return rows.cumsum(axis=1).astype(np.float64)


def _areas(tp: Floats, fp: Floats, is_cell: Mask, sizes: Ints) -> list[float]:
    """Compute the area under each row of points, as `curves.roc_auc` does."""
    is_corner = is_cell & (_turns(tp, sizes) | _turns(fp, sizes))
    ends = np.cumsum(np.count_nonzero(is_corner, axis=1))
    x, y = (fp / fp[:, -1:])[is_corner], (tp / tp[:, -1:])[is_corner]
    x_before, y_before = np.append(0.0, x)[:-1], np.append(0.0, y)[:-1]
    x_before[ends[:-1]] = y_before[ends[:-1]] = 0.0
    parts = (x - x_before) * (y + y_before) / 2.0
    runs = itertools.pairwise([0, *ends.tolist()])
    return [float(parts[start:end].sum()) for start, end in runs]


def _turns(cumulated: Floats, sizes: Ints) -> Mask:
    """Return where a step differs from the one before; the ends of each row always do."""
    steps = np.full((len(sizes), cumulated.shape[1] + 1), np.nan)
    steps[:, 1:-1] = cumulated[:, 1:] - cumulated[:, :-1]
    steps[np.arange(len(sizes)), sizes] = np.nan
    turns: Mask = steps[:, 1:] != steps[:, :-1]
    return turns
