"""A `Curve` as a picture, with the band in which the exact curve lies."""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from streameval.configs.options import one_of
from streameval.errors import InvalidInputError, Named
from streameval.metrics import average_precision as areas
from streameval.metrics import envelope
from streameval.metrics.points import CellTable
from streameval.results import curve_lines
from streameval.results.curve_lines import BandedLine
from streameval.results.pictures import new_axes
from streameval.results.reliability import Reliability

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["KINDS", "plot"]

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
        raise InvalidInputError(
            '"reliability" needs probabilities, not ', Named("scores", '"real"'), argument="kind"
        )
    is_curve = kind not in ("reliability", "score")
    if is_curve and not (table.estimate.n_pos and table.estimate.n_neg):
        raise InvalidInputError("`plot` needs examples of both classes.")


def _plot_pr(axes: Axes, table: CellTable, label: str | None) -> None:
    _draw(axes, curve_lines.pr(table), label)
    value = areas.average_precision(table)
    axes.set(xlabel="recall", ylabel="precision", xlim=(0, 1), ylim=(0, 1.02))
    _name(axes, label, f"average precision {value:.4f}")


def _plot_roc(axes: Axes, table: CellTable, label: str | None) -> None:
    _draw(axes, curve_lines.roc(table), label)
    if label is None:
        axes.plot([0, 1], [0, 1], linestyle="--", color="grey", label="chance")
    axes.set(xlabel="false positive rate", ylabel="true positive rate", xlim=(0, 1), ylim=(0, 1.02))
    _name(axes, label, f"ROC AUC {envelope.roc_auc(table):.4f}")


def _plot_det(axes: Axes, table: CellTable, label: str | None) -> None:
    _draw(axes, curve_lines.det(table), label)
    ticks = [NormalDist().inv_cdf(rate) for rate in _RATES]
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(ticks, [f"{rate:.3g}" for rate in _RATES])
    axes.set(xlabel="false positive rate", ylabel="false negative rate")
    _name(axes, label, "detection error tradeoff")


def _plot_reliability(axes: Axes, table: CellTable, label: str | None) -> None:
    diagram = Reliability.of_table(table)
    if label is None:
        axes.stairs(diagram.share, diagram.edges, **_SHADE)
        axes.plot([0, 1], [0, 1], linestyle="--", color="grey", label="perfectly calibrated")
    axes.plot(diagram.predicted, diagram.observed, marker="o", label=label)
    axes.set(xlabel="mean score", ylabel="share of positives", xlim=(0, 1), ylim=(0, 1.02))
    _name(axes, label, "reliability, and the share of the examples in each bin")


def _plot_score(axes: Axes, table: CellTable, label: str | None) -> None:
    shares = curve_lines.score_shares(table)
    for share, name in ((shares.positives, "positives"), (shares.negatives, "negatives")):
        axes.stairs(share, shares.edges, label=name if label is None else f"{label}: {name}")
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


def _draw(axes: Axes, curve: BandedLine, label: str | None) -> None:
    """Draw the line, and shade the band."""
    (drawn,) = axes.plot(*curve.line, label=label)
    if curve.outline is not None:
        band = "the exact curve lies here" if label is None else None
        axes.fill(*curve.outline, alpha=0.3, linewidth=0, color=drawn.get_color(), label=band)
        if band:
            axes.legend()


def _name(axes: Axes, label: str | None, title: str) -> None:
    """Give one curve a title, and several a legend."""
    if label is None:
        axes.set_title(title)
    else:
        axes.legend()
