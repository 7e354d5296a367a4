"""The lines of a curve, with bands that contain the exact lines."""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist

import numpy as np

from streameval.metrics import curves
from streameval.metrics.points import CellTable, Points
from streameval.metrics.thresholds import outcome_at
from streameval.render.blocks import BandedLine, Curves, Line, Reliability, ScoreShares, thinned
from streameval.render.text import brief
from streameval.states.bins import bin_indices

Trace = Callable[[Points], Line]

BINS = 15
_CROWDED = 0.9  # of the examples in one of the bins of equal widths
_MAX_POINTS = 2_000
_HISTOGRAM_BINS = 50


def banded(
    table: CellTable,
    line: Trace,
    upper: Trace,
) -> BandedLine:
    """Trace the estimate, and the band between the extreme data sets."""
    estimate = thinned(*line(table.estimate), _MAX_POINTS)
    if table.is_exact:
        return BandedLine(estimate, None)
    low, high = (
        thinned(*trace(points), _MAX_POINTS)
        for trace, points in ((line, table.low), (upper, table.high))
    )
    x, y = (np.concatenate([a, b[::-1]]) for a, b in zip(low, high, strict=True))
    return BandedLine(estimate, (x, y))


def roc_line(points: Points) -> Line:
    """List the false and the true positive rates."""
    fpr, tpr, _ = curves.roc_curve(points)
    return fpr, tpr


def pr_line(points: Points) -> Line:
    """List recall and precision from a recall of 0 on."""
    recall, precision = points.recall, points.precision
    return np.append(0.0, recall), np.append(precision[0], precision)


def pr_steps(points: Points) -> Line:
    """Trace precision in steps: each recall has the precision of the next point.

    Between points, precision rises along a concave line: above the straight line, but not above
    its own end.
    """
    recall, precision = pr_line(points)
    return np.repeat(recall, 2)[:-1], np.repeat(precision, 2)[1:]


def det_line(points: Points) -> Line:
    """List the error rates that are neither 0 nor 1, on normal scales."""
    fpr, tpr, _ = curves.roc_curve(points)
    inside = (fpr > 0) & (fpr < 1) & (tpr > 0) & (tpr < 1)
    quantile = np.vectorize(NormalDist().inv_cdf, otypes=[float])
    x, y = thinned(fpr[inside], 1.0 - tpr[inside], _MAX_POINTS)
    return quantile(x), quantile(y)


_PR = Curves(
    *("Precision over recall", "Recall", "Precision", "average precision", "Precision over recall"),
    chance="level",
    is_fitted=True,
)
_ROC = Curves(
    *("ROC curve", "False positive rate", "True positive rate", "ROC AUC", "ROC curves"),
    chance="diagonal",
)
_DET = Curves(
    *("Detection error tradeoff", "False positive rate", "False negative rate"), is_normal=True
)

KINDS: dict[str, tuple[Curves, Trace, Trace, str | None]] = {
    "pr": (_PR, pr_line, pr_steps, "average_precision"),
    "roc": (_ROC, roc_line, roc_line, "roc_auc"),
    "det": (_DET, det_line, det_line, None),
}
"""What a kind of line shows, its trace, that of the upper end of the band, and its area."""


def score_shares(table: CellTable) -> ScoreShares:
    """Distribute the scores of each class over bins, assuming evenly filled cells."""
    ends = np.concatenate([table.lo, table.hi])
    finite = ends[np.isfinite(ends)]
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
    halves = np.linspace(low / 2, high / 2 if high > low else low / 2 + 0.5, _HISTOGRAM_BINS + 1)
    edges = 2 * halves  # the whole span might overflow
    from_each = [*edges[:-1], np.nextafter(edges[-1], np.inf)]  # the last bin is closed
    outcomes = np.array([outcome_at(table, edge).estimate for edge in from_each], dtype=np.float64)
    totals = table.estimate.n_pos, table.estimate.n_neg
    positives, negatives = (
        -np.diff(part) / (total or 1.0) for part, total in zip(outcomes.T, totals, strict=True)
    )
    return ScoreShares(edges, positives, negatives)


def reliability(table: CellTable, *, are_draws: bool) -> Reliability:
    """Compare probabilities, the middles of their cells, with observed rates.

    The bins have equal widths, or equal weights if one would have nearly all examples.
    """
    middle = (table.lo + table.hi) / 2
    pos = table.pos.near_floats()
    weight = pos + table.neg.near_floats()
    bins, n = bin_indices(middle, BINS), weight.sum() or 1.0
    is_crowded = np.bincount(bins, weights=weight, minlength=1).max() > _CROWDED * n
    if is_crowded:
        before = np.cumsum(weight[::-1])[::-1] - weight  # scores fall
        bins = np.minimum((before / n * BINS).astype(np.int64), BINS - 1)
    total, positive, score = (
        np.bincount(bins, weights=part, minlength=BINS) for part in (weight, pos, weight * middle)
    )
    occupied = total > 0
    title = "Reliability, and the examples in each bin"
    if is_crowded:
        title = f"Reliability, in bins of {brief(total[occupied].mean())} examples"
    return Reliability(
        title=title,
        across="Mean score",
        up="Share of positives",
        predicted=score[occupied] / total[occupied],
        observed=positive[occupied] / total[occupied],
        weight=total[occupied],
        share=None if is_crowded else total / n,
        are_draws=are_draws,
    )
