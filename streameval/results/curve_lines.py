"""The lines of a curve, with bands that contain the exact lines."""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist
from typing import Any, NamedTuple

import attrs
import numpy as np

from streameval.metrics import curves
from streameval.metrics.points import CellTable, Points
from streameval.metrics.thresholds import outcome_at
from streameval.render.blocks import Reliability
from streameval.render.charts import Axis, Chart, ChartMark, Corner, Line, thinned
from streameval.render.text import brief
from streameval.states.bins import bin_indices

Trace = Callable[[Points], Line]

BINS = 15
_CROWDED = 0.9  # of the examples in one of the bins of equal widths
_MAX_POINTS = 2_000
_HISTOGRAM_BINS = 50
_LEFT, _LOW = 0.05, 0.3
"""Where precisions on the left end, often of a few rows, and how high others are on a low axis."""

_RATES = (0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999)
_ERROR_RATES: dict[str, Any] = {
    "ticks": tuple(map(NormalDist().inv_cdf, _RATES)),
    "texts": tuple(f"{100 * rate:g}%" for rate in _RATES),
}
"""The ticks of rates on normal scales."""


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


class LineKind(NamedTuple):
    """What a line shows.

    Parameters
    ----------
    title, across, up : str
        Above the line, and at the axes.
    trace, upper : callable
        Trace the line, and the upper end of its band.
    metric, area : str
        The metric that summarizes the line, and what it is called beside it; empty for none.
    """

    title: str
    across: str
    up: str
    trace: Trace
    upper: Trace
    metric: str = ""
    area: str = ""


KINDS = {
    "pr": LineKind(
        *("Precision over recall", "Recall", "Precision"),
        pr_line,
        pr_steps,
        *("average_precision", "average precision"),
    ),
    "roc": LineKind(
        *("ROC curve", "False positive rate", "True positive rate"),
        roc_line,
        roc_line,
        *("roc_auc", "ROC AUC"),
    ),
    "det": LineKind(
        *("Detection error tradeoff", "False positive rate", "False negative rate"),
        det_line,
        det_line,
    ),
}


def line_chart(table: CellTable, kind: str, area: float) -> Chart:
    """Draw a line, the band between the lines of the extreme data sets, and the line of chance.

    Without examples of both classes there is nothing to draw.
    """
    shown, ticks = KINDS[kind], _ERROR_RATES if kind == "det" else {}
    beside: Corner = "lower left" if area > 0.5 else "upper right"  # of a good curve, of a bad one
    chart = Chart(
        shown.title,
        Axis(0.0, 1.0, label=shown.across, **ticks),
        Axis(0.0, 0.0, label=shown.up, **ticks),
        [],
        spoken=(shown.area, area),
        cut=f"Higher values at a recall below {_LEFT:.0%} are cut off.",
        room=1.02,
        legend="lower right" if kind == "roc" else beside,
    )
    if not (table.estimate.n_pos and table.estimate.n_neg):
        return chart
    x, y = thinned(*shown.trace(table.estimate), _MAX_POINTS)
    name = f"{shown.area} {area:.4f}" if shown.area else ""
    marks = [ChartMark("line", x, y, name, f"{{}} ({name})" if name else "{}")]
    if not table.is_exact:
        low, high = (
            thinned(*trace(points), _MAX_POINTS)
            for trace, points in ((shown.trace, table.low), (shown.upper, table.high))
        )
        x_of, y_of = (np.concatenate([a, b[::-1]]) for a, b in zip(low, high, strict=True))
        said = "The exact curve lies in the band."
        marks.append(ChartMark("band", x_of, y_of, "the exact curve lies here", said=said))
    ends, is_level = np.array([0.0, 1.0]), kind == "pr"
    if kind != "det":  # of precision, chance is level, at the share of positives
        chance = np.full(2, y[-1]) if is_level else ends
        dashed = ChartMark("dashed", ends, chance, "chance", "chance", "Dashed: chance.", is_level)
        marks.append(dashed)
    highest = float(y[x >= _LEFT].max(initial=0.0)) if is_level else 1.0
    y_axis = attrs.evolve(chart.y, high=highest if highest < _LOW else 1.0)
    return attrs.evolve(chart, y=y_axis, marks=marks)


def score_shares(table: CellTable) -> Chart:
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
    return Chart(
        "Scores by class",
        Axis(float(edges[0]), float(edges[-1]), label="Score"),
        Axis(0.0, float(max(positives.max(), negatives.max())), label="Share of the class"),
        [
            ChartMark("bars", edges, positives, "positives", "{}: positives"),
            ChartMark("others", edges, negatives, "negatives", "{}: negatives"),
        ],
        summary="Histograms of the positives and the negatives.",
        said="Coloured: positives. Grey: negatives.",
        is_apart=True,
    )


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
