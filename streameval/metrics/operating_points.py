"""Operating points of a curve: the best rate while another rate is limited, and its threshold.

A score of at least the threshold is a positive prediction. To predict no positives is an operating
point too, without true and false positives. Sources: Youden, Index for rating diagnostic tests
(1950); Martin et al., The DET curve in assessment of detection task performance (1997), for the
equal error rate and costs; Ling and Li, Data mining for direct marketing (1998), for lift.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np

from streameval.exact.array_types import Indices, Mask
from streameval.exact.fixed_point import FixedPoint
from streameval.metrics import curves
from streameval.metrics.bounded import ROUNDING, Bounded, Interval, Threshold, outward
from streameval.metrics.envelope import of_shares, of_sums
from streameval.metrics.intervals import wilson
from streameval.metrics.points import CellTable, Points
from streameval.metrics.shares import (
    first_of_highest,
    is_within,
    reaches,
    share_of,
    simplest_fraction,
    units_of,
)
from streameval.metrics.thresholds import hull, min_fp, of_highest_recall

Requirement = Callable[[FixedPoint, FixedPoint], Mask]


def partial_roc_auc(table: CellTable, max_fpr: float) -> Bounded:
    """Compute the area up to a false positive rate, standardized (McClish, 1989).

    Parameters
    ----------
    max_fpr : float
        From 2**-1000 to 1.

    Returns
    -------
    Bounded
        0.5 for chance and 1 for a perfect order; nan unless both classes occur.
    """
    return of_sums(table, lambda points: curves.partial_roc_auc(points, max_fpr))


def recall_at_precision(table: CellTable, p: float) -> Bounded:
    """Find the highest recall with a precision of at least `p`.

    0 where no threshold reaches `p`, and nan without a positive. `p` is compared with the
    quotient of the exact counts, rounded once, as `precision_at` returns it: 9 of 10 reach 0.9.
    """
    return of_shares(table, lambda points: curves.recall_at_precision(points, p))


def precision_at_recall(table: CellTable, r: float) -> Bounded:
    """Find the highest precision with a recall of at least `r`; nan without a positive.

    Recalls are compared as precisions are in `recall_at_precision`.
    """
    return of_shares(table, lambda points: curves.precision_at_recall(points, r))


def tpr_at_fpr(table: CellTable, f: float) -> Bounded:
    """Find the highest true positive rate with a false positive rate of at most `f`.

    Rates are compared as precisions are in `recall_at_precision`. nan unless both classes
    occur.
    """
    return of_shares(
        table, lambda points: _sensitivity(points, lambda fp, tn: is_within(fp, tn, f))
    )


def sensitivity_at_specificity(table: CellTable, s: float) -> Bounded:
    """Find the highest sensitivity (recall) with a specificity of at least `s`.

    nan unless both classes occur.
    """
    return of_shares(table, lambda points: _sensitivity(points, lambda fp, tn: reaches(tn, fp, s)))


def specificity_at_sensitivity(table: CellTable, s: float) -> Bounded:
    """Find the highest specificity with a sensitivity (recall) of at least `s`, above 0.

    nan unless both classes occur.
    """

    def specificity(points: Points) -> float:
        at, fp = _reached(points, s), points.exact_fp
        return share_of(fp[-1] - fp[at], fp[at])

    return of_shares(table, specificity)


def fpr_at_tpr(table: CellTable, t: float) -> Bounded:
    """Find the lowest false positive rate with a true positive rate of at least `t`, above 0.

    nan unless both classes occur.
    """

    def fpr(points: Points) -> float:
        at, fp = _reached(points, t), points.exact_fp
        return share_of(fp[at], fp[-1] - fp[at])

    value = fpr(table.estimate)
    return Bounded(value) if table.is_exact else Bounded(value, fpr(table.high), fpr(table.low))


def threshold_at_fpr(table: CellTable, f: float) -> Threshold:
    """Find the threshold of `tpr_at_fpr`, the highest of several.

    nan if no threshold that finds a positive is within it.
    """
    return _of_limit(table, lambda fp, tn: is_within(fp, tn, f))


def threshold_at_specificity(table: CellTable, s: float) -> Threshold:
    """Find the threshold of `sensitivity_at_specificity`, the highest of several.

    nan if no threshold that finds a positive reaches it.
    """
    return _of_limit(table, lambda fp, tn: reaches(tn, fp, s))


def threshold_at_sensitivity(table: CellTable, s: float) -> Threshold:
    """Find the highest threshold with a sensitivity (recall, TPR) of at least `s`, above 0.

    It is that of `specificity_at_sensitivity` and `fpr_at_tpr`; nan without a positive.
    """
    return hull(table, _reached(table.estimate, s))


def equal_error_rate(table: CellTable) -> Bounded:
    """Bound the rate at which the ROC curve, joined by lines, has an FPR equal to its FNR."""
    value = _equal_error_rate(table.estimate)
    if table.is_exact:
        return Bounded(value)
    return outward(_equal_error_rate(table.high), value, _equal_error_rate(table.low))


def equal_error_rate_threshold(table: CellTable) -> Threshold:
    """Bound the highest threshold at which the FPR is at least the FNR."""
    points = table.estimate
    tp, fp = points.exact_tp, points.exact_fp
    n_pos, n_neg = tp[-1].to_fraction(), fp[-1].to_fraction()

    def excess(at: int) -> Fraction:
        return tp[at].to_fraction() * n_neg + fp[at].to_fraction() * n_pos

    return hull(table, bisect_left(range(len(points.tp)), n_pos * n_neg, key=excess))


def youden_j(table: CellTable) -> Bounded:
    """Bound the max over thresholds of TPR - FPR."""
    return of_sums(table, _youden_j)


def youden_j_threshold(table: CellTable) -> Threshold:
    """Bound the threshold of `youden_j`, the highest of several."""
    points = table.estimate
    n_pos, n_neg = points.n_pos, points.n_neg
    tp, fp = points.exact_tp, points.exact_fp
    tn = fp[-1] - fp

    def exact(indices: Indices) -> Iterator[tuple[int, int]]:
        some_tp, some_tn, (of_pos,), (of_neg,) = units_of(
            tp[indices], tn[indices], tp[-1:], fp[-1:]
        )
        for of_tp, of_tn in zip(some_tp, some_tn, strict=True):
            yield of_tp * of_neg + of_tn * of_pos, of_pos * of_neg

    near = points.tp / n_pos + tn.near_floats() / n_neg
    first = first_of_highest(near, exact)
    threshold = float(table.lo[first])
    if table.is_exact:
        return Threshold(threshold)
    highest = points.tp / n_pos + (n_neg - min_fp(table).near_floats()) / n_neg
    can_hold = (highest >= near[first] * (1.0 - ROUNDING)) & table.pos.is_positive()
    cells = np.flatnonzero(can_hold)
    return Threshold(threshold, float(table.lo[cells[-1]]), float(table.hi[cells[0]]))


def min_cost(
    table: CellTable,
    fp_cost: float = 1.0,
    fn_cost: float = 1.0,
    prevalence: float | None = None,
) -> Bounded:
    """Find the lowest expected cost of an example over all thresholds.

    ``prevalence * fn_cost * FNR + (1 - prevalence) * fp_cost * FPR``, where nothing predicted
    is a threshold too; nan unless both classes occur. Call it for other costs, as in
    ``min_cost(fp_cost=1, fn_cost=10)``.

    Parameters
    ----------
    fp_cost, fn_cost : float
        The cost of a false positive and of a false negative, at least 0.
    prevalence : float, optional
        The share of positives where the scores will be used, in [0, 1]; by default that of
        the examples.
    """

    def cost(points: Points) -> float:
        n_pos, n_neg = points.n_pos, points.n_neg
        share = n_pos / (n_pos + n_neg) if prevalence is None else prevalence
        tpr, fpr = np.append(0.0, points.tp / n_pos), np.append(0.0, points.fp / n_neg)
        return float((share * fn_cost * (1.0 - tpr) + (1.0 - share) * fp_cost * fpr).min())

    value = cost(table.estimate)
    if table.is_exact:
        return Bounded(value)
    return outward(cost(table.high), value, cost(table.low), max_value=max(fp_cost, fn_cost))


def precision_at_top(table: CellTable, share: float) -> Bounded:
    """Compute the share of positives among the highest `share` of the examples, in (0, 1].

    Examples of one score are in any order, so it is the mean over all orders. nan without a
    positive.
    """
    return of_shares(table, lambda points: _of_top(points, share, lambda tp, top, *_: tp / top))


def recall_at_top(table: CellTable, share: float) -> Bounded:
    """Compute the share of the positives among the highest `share` of the examples: the gain.

    Ties are as in `precision_at_top`; nan without a positive.
    """
    return of_shares(
        table, lambda points: _of_top(points, share, lambda tp, _, n_pos, __: tp / n_pos)
    )


def recall_at_top_confidence(table: CellTable, z: float, share: float) -> Interval:
    """Compute the interval of the gain, whose threshold follows from the data.

    It combines two distances, as for the sum of independent terms: from the gain to the end of
    Wilson's interval for the positives as draws, which a fixed threshold would have; and to the
    gain at the end of Wilson's interval for `share` of the examples, as the threshold of the
    population may be there. Where a sample has more positives at the top, its threshold is higher:
    the two errors have opposite signs, so that the interval is rather too wide.
    """
    held, n_pos = recall_at_top(table, share), float(table.n_pos)
    fewer, more = (recall_at_top(table, end) for end in wilson(share, float(table.n), z))
    below = held.low - wilson(held.low, n_pos, z)[0], held.low - fewer.low
    above = wilson(held.high, n_pos, z)[1] - held.high, more.high - held.high
    return max(held.low - math.hypot(*below), 0.0), min(held.high + math.hypot(*above), 1.0)


def lift_at_top(table: CellTable, share: float) -> Bounded:
    """Compute the precision of the highest `share` of the examples over that of all.

    1 is chance. Ties are as in `precision_at_top`; nan without a positive.
    """
    return of_shares(
        table, lambda points: _of_top(points, share, lambda tp, top, p, n: tp * n / (top * p))
    )


def _sensitivity(points: Points, holds: Requirement) -> float:
    """Compute the sensitivity of the lowest threshold that keeps a limit on false positives."""
    tp, fp = points.exact_tp, points.exact_fp
    held = int(np.count_nonzero(holds(fp, fp[-1] - fp)))
    return share_of(tp[held - 1], tp[-1] - tp[held - 1]) if held else 0.0


def _reached(points: Points, min_sensitivity: float) -> int:
    """Find the highest threshold with a sensitivity; there must be a positive."""
    tp = points.exact_tp
    return int(reaches(tp, tp[-1] - tp, min_sensitivity).argmax())


def _of_limit(table: CellTable, holds: Requirement) -> Threshold:
    """Bound the threshold of the highest sensitivity that keeps a limit on false positives."""
    points = table.estimate
    n_neg = points.exact_fp[-1]
    held = int(np.count_nonzero(holds(points.exact_fp, n_neg - points.exact_fp)))
    fewest = min_fp(table)
    return of_highest_recall(table, held - 1 if held else None, holds(fewest, n_neg - fewest))


def _equal_error_rate(points: Points) -> float:
    fpr, tpr = points.fp / points.n_neg, points.tp / points.n_pos
    above = fpr + tpr - 1.0
    at = int((above >= 0.0).argmax())
    before = (float(fpr[at - 1]), float(above[at - 1])) if at else (0.0, -1.0)
    share = -before[1] / (float(above[at]) - before[1])
    return before[0] + share * (float(fpr[at]) - before[0])


def _youden_j(points: Points) -> float:
    return max(float((points.tp / points.n_pos - points.fp / points.n_neg).max()), 0.0)


def _of_top(
    points: Points,
    share: float,
    metric: Callable[[Fraction, Fraction, Fraction, Fraction], Fraction],
) -> float:
    """Compute a metric of the expected positives among the top; ties are in random order."""
    tp, fp = points.exact_tp, points.exact_fp

    def positives(at: int) -> Fraction:
        return tp[at].to_fraction() if at >= 0 else Fraction(0)

    def examples(at: int) -> Fraction:
        return positives(at) + fp[at].to_fraction() if at >= 0 else Fraction(0)

    size = len(points.tp)
    n_pos, n = positives(size - 1), examples(size - 1)
    top = simplest_fraction(share) * n
    at = bisect_left(range(size), top, key=examples)
    inside = (top - examples(at - 1)) / (examples(at) - examples(at - 1))
    found = positives(at - 1) + inside * (positives(at) - positives(at - 1))
    return float(metric(found, top, n_pos, n))
