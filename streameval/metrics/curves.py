"""Metrics of a curve, computed from the outcomes at falling thresholds.

All metrics but `ks` never fall with true positives and never rise with false positives, so their
values on the two extreme data sets of a table bound the exact value (see `CellTable`). Sources:
Hanley and McNeil (1982) for the area under the ROC curve; McClish (1989) for the partial one;
Manning, Raghavan and Schuetze, Introduction to Information Retrieval (2008), for interpolated
precision. The arithmetic follows scikit-learn operation by operation, so that exact values are
equal. A function is called only where its row in the table of a curve finds what the metric needs.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from streameval.exact.array_types import Floats, Indices
from streameval.metrics.points import CellTable, Outcomes, Points
from streameval.metrics.shares import first_of_highest, ratios, reaches, share_of, units_of


def roc_curve(points: Points) -> tuple[Floats, Floats, Floats]:
    """List false and true positive rates at falling thresholds, from (0, 0) at infinity.

    The rate of an absent class is nan.
    """
    tp, fp = np.append(0.0, points.tp), np.append(0.0, points.fp)
    return _share(fp), _share(tp), np.append(np.inf, points.thresholds)


def precision_recall_curve(points: Points) -> tuple[Floats, Floats, Floats]:
    """List precision and recall at rising thresholds, then (1, 0) without a threshold.

    Recall is 1 throughout where there is no positive, as in scikit-learn.
    """
    recall = points.recall if points.n_pos else np.ones_like(points.tp)
    return (
        np.append(points.precision[::-1], 1.0),
        np.append(recall[::-1], 0.0),
        points.thresholds[::-1].copy(),
    )


def det_curve(points: Points) -> tuple[Floats, Floats, Floats]:
    """List false positive and false negative rates at rising thresholds, as scikit-learn does.

    The list begins at the last point without a false negative, and ends at the first point without
    a false positive.
    """
    tp, fp = np.append(0.0, points.tp), np.append(0.0, points.fp)
    first, last = fp.searchsorted(0.0, side="right") - 1, tp.searchsorted(tp[-1])
    kept = slice(first, max(last, first) + 1)
    fpr, fnr = _share(fp), _share(tp[-1] - tp, tp[-1])
    thresholds = np.append(np.inf, points.thresholds)
    return fpr[kept][::-1].copy(), fnr[kept][::-1].copy(), thresholds[kept][::-1].copy()


def gain_curve(points: Points) -> tuple[Floats, Floats, Floats]:
    """List the shares of examples and of positives at falling thresholds, from (0, 0) on."""
    tp, fp = np.append(0.0, points.tp), np.append(0.0, points.fp)
    return _share(tp + fp), _share(tp), np.append(np.inf, points.thresholds)


def roc_auc(outcomes: Outcomes) -> float:
    """Compute the area under the ROC curve: ties of a positive and a negative count half.

    As in scikit-learn, collinear points are dropped.
    """
    n_pos, n_neg = outcomes.n_pos, outcomes.n_neg
    if not (n_pos and n_neg):
        return math.nan
    areas = np.empty(outcomes.max_size)  # of the trapezoids; unwritten pages take no memory
    end, tpr, fpr = 0, np.zeros(1), np.zeros(1)  # np.append costs more than np.concatenate
    for tp, fp in _turning_points(outcomes.parts):
        start, end = end, end + len(tp)
        x, y = np.concatenate((fpr, fp / n_neg)), np.concatenate((tpr, tp / n_pos))
        fpr, tpr = x[-1:], y[-1:]
        np.multiply(x[1:] - x[:-1], y[1:] + y[:-1], out=areas[start:end])
        areas[start:end] /= 2.0
    return float(areas[:end].sum())


def area_of(table: CellTable) -> float:
    """Compute `roc_auc` of a table once."""
    return table.once("roc_auc", lambda: roc_auc(table.outcomes()))


def partial_roc_auc(points: Points, max_fpr: float) -> float:
    """Compute the area up to a false positive rate, scaled to 0.5 for chance and 1 for best."""
    fpr, tpr = _corners(points)
    if max_fpr == 1.0:
        return _area(fpr, tpr)
    stop = int(np.searchsorted(fpr, max_fpr, side="right"))
    last = np.interp(max_fpr, fpr[stop - 1 : stop + 1], tpr[stop - 1 : stop + 1])
    area = _area(np.append(fpr[:stop], max_fpr), np.append(tpr[:stop], last))
    chance = 0.5 * max_fpr**2
    return 0.5 * (1 + (area - chance) / (max_fpr - chance))


def average_precision(points: Points) -> float:
    """Sum precision over the steps of recall; ties are one threshold."""
    precision, recall, _ = precision_recall_curve(points)
    area = -float(np.sum(np.diff(recall) * precision[:-1]))
    return min(max(0.0, area), 1.0)  # rounded steps may exceed it


def pr_auc(points: Points) -> float:
    """Compute the area of the trapezoids under the precision-recall points."""
    precision, recall, _ = precision_recall_curve(points)
    return min(-float(np.trapezoid(precision, recall)), 1.0)


def average_precision_interpolated(points: Points) -> float:
    """Sum, over the steps of recall, the highest precision at that recall or above."""
    steps = np.diff(points.recall, prepend=0.0)
    return float(np.sum(steps * best_from(points.precision)))


def average_precision_11pt(points: Points) -> float:
    """Average the highest precision at a recall of at least 0, 0.1, ..., 1."""
    best = best_from(points.precision)
    return math.fsum(best[index] for index in tenths(points)) / 11


def tenths(points: Points) -> list[int]:
    """Find the first index with a recall of at least i/10, for i from 0 to 10.

    This compares integers: 10 times the true positives, and i times all positives.
    """
    tp = points.exact_tp
    size = len(tp.whole)
    every = tp.units_at(size - 1)
    return [
        bisect_left(range(size), i * every, key=lambda at: 10 * tp.units_at(at)) for i in range(11)
    ]


def ks(points: Points) -> tuple[float, float]:
    """Compute the max distance of the TPR above the FPR, and below it.

    The larger one is the two-sample Kolmogorov-Smirnov statistic of positives and negatives.
    """
    above = points.tp / points.n_pos - points.fp / points.n_neg
    return max(float(above.max()), 0.0), max(float(-above.min()), 0.0)


def f_scores(tp: Floats, fp: Floats, n_pos: float, beta: float) -> Floats:
    """Compute F at each threshold: ``(1 + b^2) TP / ((1 + b^2) TP + b^2 FN + FP)``.

    0 where nothing is predicted positive and `beta` is 0.
    """
    square = beta * beta
    below = square * n_pos + tp + fp
    return ratios((1 + square) * tp, below)


def best_f(points: Points, beta: float) -> float:
    """Find the highest F of all thresholds; there must be a positive."""
    above, below = next(_exact_f(points, beta, np.array([best_f_index(points, beta)])))
    return above / below


def best_f_index(points: Points, beta: float) -> int:
    """Find the first index of the highest F; there must be a positive."""
    near = f_scores(points.tp, points.fp, points.n_pos, beta)
    return first_of_highest(near, lambda indices: _exact_f(points, beta, indices))


def _exact_f(points: Points, beta: float, indices: Indices) -> Iterator[tuple[int, int]]:
    """Yield the numerators and the denominators of F at some thresholds."""
    square, unit = (Fraction(beta) ** 2).as_integer_ratio()
    tp, fp = points.exact_tp, points.exact_fp
    some_tp, some_fp, (n_pos,) = units_of(tp[indices], fp[indices], tp[-1:])
    for hits, errors in zip(some_tp, some_fp, strict=True):
        yield (unit + square) * hits, unit * (hits + errors) + square * n_pos


def recall_at_precision(points: Points, min_precision: float) -> float:
    """Find the highest recall with a precision of at least `min_precision`; 0 if there is none."""
    last = last_at_precision(points, min_precision)
    tp = points.exact_tp
    return 0.0 if last is None else share_of(tp[last], tp[-1] - tp[last])


def last_at_precision(points: Points, min_precision: float) -> int | None:
    """Find the last index with a precision of at least `min_precision`: recall is highest there."""
    reached = reaches(points.exact_tp, points.exact_fp, min_precision)
    return max(np.flatnonzero(reached).tolist(), default=None)


def precision_at_recall(points: Points, min_recall: float) -> float:
    """Find the highest precision with a recall of at least `min_recall`."""
    tp, fp = points.exact_tp, points.exact_fp
    first = int(reaches(tp, tp[-1] - tp, min_recall).argmax())

    def exact(indices: Indices) -> Iterator[tuple[int, int]]:
        some_tp, some_fp = units_of(tp[first + indices], fp[first + indices])
        return ((hits, hits + errors) for hits, errors in zip(some_tp, some_fp, strict=True))

    best = first + first_of_highest(points.precision[first:], exact)
    return share_of(tp[best], fp[best])


def best_from(values: Floats) -> Floats:
    """Compute the running max from the end."""
    return np.asarray(np.maximum.accumulate(values[::-1])[::-1])


def _corners(points: Points) -> tuple[Floats, Floats]:
    """List the rates where the ROC curve turns."""
    turning = [*_turning_points(points.outcomes().parts)]
    tp, fp = (np.concatenate(parts) for parts in zip(*turning, strict=True))
    return _share(np.append(0.0, fp)), _share(np.append(0.0, tp))


def _turning_points(parts: Iterator[tuple[Floats, Floats]]) -> Iterator[tuple[Floats, Floats]]:
    """Drop points where a step equals the previous step; keep the first and the last point."""
    tp = fp = nowhere = np.array([np.nan])  # a nan step equals no other step
    after = nowhere, nowhere
    for (more_tp, more_fp), following in itertools.pairwise(itertools.chain(parts, [after])):
        end = (nowhere,) if following is after else ()
        tp, fp = np.concatenate((tp, more_tp, *end)), np.concatenate((fp, more_fp, *end))
        yield _turns(tp, fp)
        tp, fp = tp[-2:], fp[-2:]  # the next points decide about these


def _turns(tp: Floats, fp: Floats) -> tuple[Floats, Floats]:
    """Keep the points, except the ends, where a step differs from the previous step."""
    tp_steps, fp_steps = tp[1:] - tp[:-1], fp[1:] - fp[:-1]  # np.diff costs more than this
    is_turn = (tp_steps[1:] != tp_steps[:-1]) | (fp_steps[1:] != fp_steps[:-1])
    return tp[1:-1][is_turn], fp[1:-1][is_turn]


def _share(cumulated: Floats, total: float | None = None) -> Floats:
    total = float(cumulated[-1]) if total is None else total
    return cumulated / total if total > 0 else np.full(len(cumulated), np.nan)


def _area(x: Floats, y: Floats) -> float:
    return float(np.trapezoid(y, x))
