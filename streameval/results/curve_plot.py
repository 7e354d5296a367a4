"""A `Curve` as a picture, with the band in which the exact curve lies."""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from streameval.configs.options import one_of
from streameval.errors import InvalidInputError
from streameval.metrics import average_precision as areas
from streameval.metrics import curves
from streameval.metrics.points import CellTable, Points
from streameval.metrics.thresholds import outcome_at
from streameval.results.pictures import new_axes
from streameval.states.calibration import bin_places

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["KINDS", "plot"]

Floats = npt.NDArray[np.float64]
Line = tuple[Floats, Floats]

_MOST_POINTS = 2_000
_BINS = 15
_HISTOGRAM_BINS = 50
_RATES = (0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999)


def plot(table: CellTable, ax: Axes | None, *, kind: str, label: str | None) -> Axes:
    """Draw one curve, or one of several; see `Curve.plot`."""
    draw = KINDS[one_of(kind, tuple(KINDS), name="kind")]
    _check(table, kind)
    axes = new_axes() if ax is None else ax
    draw(axes, table, label)
    return axes


def _check(table: CellTable, kind: str) -> None:
    """Refuse what cannot be drawn, before there are axes."""
    if kind == "reliability" and table.scale != "probability":
        raise InvalidInputError('`kind` "reliability" needs probabilities, not scores="real".')
    is_curve = kind not in ("reliability", "score")
    if is_curve and not (table.estimate.n_pos and table.estimate.n_neg):
        raise InvalidInputError("`plot` needs examples of both classes.")


def _plot_pr(axes: Axes, table: CellTable, label: str | None) -> None:
    _draw(axes, table, _pr_line, label, upper=_pr_steps)
    value = areas.average_precision(table)
    axes.set(xlabel="recall", ylabel="precision", xlim=(0, 1), ylim=(0, 1.02))
    _name(axes, label, f"average precision {value:.4f}")


def _plot_roc(axes: Axes, table: CellTable, label: str | None) -> None:
    _draw(axes, table, _roc_line, label)
    if label is None:
        axes.plot([0, 1], [0, 1], linestyle="--", color="grey", label="chance")
    axes.set(xlabel="false positive rate", ylabel="true positive rate", xlim=(0, 1), ylim=(0, 1.02))
    _name(axes, label, f"ROC AUC {curves.roc_auc(table.estimate):.4f}")


def _plot_det(axes: Axes, table: CellTable, label: str | None) -> None:
    _draw(axes, table, _det_line, label)
    ticks = [NormalDist().inv_cdf(rate) for rate in _RATES]
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(ticks, [f"{rate:.3g}" for rate in _RATES])
    axes.set(xlabel="false positive rate", ylabel="false negative rate")
    _name(axes, label, "detection error tradeoff")


def _plot_reliability(axes: Axes, table: CellTable, label: str | None) -> None:
    middle = (table.lo + table.hi) / 2
    pos = table.pos.near_floats()
    weight = pos + table.neg.near_floats()
    bins = bin_places(middle, _BINS)
    total, positive, score = (
        np.bincount(bins, weights=part, minlength=_BINS) for part in (weight, pos, weight * middle)
    )
    held = total > 0
    if label is None:
        axes.stairs(total / (total.sum() or 1.0), np.arange(_BINS + 1) / _BINS, **_SHADE)
        axes.plot([0, 1], [0, 1], linestyle="--", color="grey", label="perfectly calibrated")
    axes.plot(score[held] / total[held], positive[held] / total[held], marker="o", label=label)
    axes.set(xlabel="mean score", ylabel="share of positives", xlim=(0, 1), ylim=(0, 1.02))
    _name(axes, label, "reliability, and the share of the examples in each bin")


def _plot_score(axes: Axes, table: CellTable, label: str | None) -> None:
    ends = np.concatenate([table.lo, table.hi])
    finite = ends[np.isfinite(ends)]
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
    halves = np.linspace(low / 2, high / 2 if high > low else low / 2 + 0.5, _HISTOGRAM_BINS + 1)
    edges = 2 * halves  # the whole span might be infinite
    from_each = [*edges[:-1], np.nextafter(edges[-1], np.inf)]  # the last bin is closed
    outcomes = np.array([outcome_at(table, edge).estimate for edge in from_each], dtype=np.float64)
    totals = table.estimate.n_pos, table.estimate.n_neg
    for part, total, name in zip(outcomes.T, totals, ("positives", "negatives"), strict=True):
        share = -np.diff(part) / (total or 1.0)
        axes.stairs(share, edges, label=name if label is None else f"{label}: {name}")
    axes.set(xlabel="score", ylabel="share of the class")
    _name(axes, label, "scores by class")
    axes.legend()


KINDS: dict[str, Callable[[Any, CellTable, str | None], None]] = {
    "pr": _plot_pr,
    "roc": _plot_roc,
    "det": _plot_det,
    "reliability": _plot_reliability,
    "score": _plot_score,
}
"""By name, what draws the curve on axes; with a label, as one of several."""

_SHADE: dict[str, Any] = {"fill": True, "color": "lightsteelblue", "alpha": 0.6}


def _draw(
    axes: Axes,
    table: CellTable,
    line: Callable[[Points], Line],
    label: str | None,
    upper: Callable[[Points], Line] | None = None,
) -> None:
    """Draw the estimate, and shade what lies between the extreme data sets."""
    (drawn,) = axes.plot(*_thinned(*line(table.estimate)), label=label)
    if not table.is_exact:
        low, high = _thinned(*line(table.low)), _thinned(*(upper or line)(table.high))
        outline = (np.concatenate([a, b[::-1]]) for a, b in zip(low, high, strict=True))
        band = "the exact curve lies here" if label is None else None
        axes.fill(*outline, alpha=0.3, linewidth=0, color=drawn.get_color(), label=band)
        if band:
            axes.legend()


def _roc_line(points: Points) -> Line:
    fpr, tpr, _ = curves.roc_curve(points)
    return fpr, tpr


def _pr_line(points: Points) -> Line:
    """List recall and precision, from a recall of 0 on."""
    recall, precision = points.recall, points.precision
    return np.append(0.0, recall), np.append(precision[0], precision)


def _pr_steps(points: Points) -> Line:
    """Give each recall the precision at the next point.

    As true positives come in, precision rises along a line that is curved upwards: it passes
    the straight one, but not its own end.
    """
    recall, precision = _pr_line(points)
    return np.repeat(recall, 2)[:-1], np.repeat(precision, 2)[1:]


def _det_line(points: Points) -> Line:
    """List the error rates that are neither 0 nor 1, on normal scales."""
    fpr, tpr, _ = curves.roc_curve(points)
    inside = (fpr > 0) & (fpr < 1) & (tpr > 0) & (tpr < 1)
    quantile = np.vectorize(NormalDist().inv_cdf, otypes=[float])
    x, y = _thinned(fpr[inside], 1.0 - tpr[inside])
    return quantile(x), quantile(y)


def _thinned(x: Floats, y: Floats) -> Line:
    """Keep points that are evenly spaced along the line: a picture has not more of them."""
    if len(x) <= _MOST_POINTS:
        return x, y
    length = np.cumsum(np.abs(np.diff(x, prepend=x[0])) + np.abs(np.diff(y, prepend=y[0])))
    places = np.searchsorted(length, np.linspace(0.0, length[-1], _MOST_POINTS))
    kept = np.unique(np.append(np.minimum(places, len(x) - 1), [0, len(x) - 1]))
    return x[kept], y[kept]


def _name(axes: Axes, label: str | None, title: str) -> None:
    """Give one curve a title, and several a legend."""
    if label is None:
        axes.set_title(title)
    else:
        axes.legend()
