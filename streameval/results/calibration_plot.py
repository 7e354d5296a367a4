"""A `Calibration` as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streameval.results.pictures import new_axes
from streameval.results.reliability import Reliability

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot"]

_BAR = "lightsteelblue"


def plot(ax: Axes | None, diagram: Reliability, *, ece: float, of_classes: bool) -> Axes:
    """Draw a reliability diagram on `ax`; see `Calibration.plot`.

    Parameters
    ----------
    ax : matplotlib Axes, optional
        Where to draw.
    diagram : Reliability
        What to draw.
    ece : float
        For the title.
    of_classes : bool
        Whether predictions are the highest of several probabilities.
    """
    axes: Axes = new_axes() if ax is None else ax
    axes.stairs(diagram.share, diagram.edges, fill=True, color=_BAR, label="share of the examples")
    axes.plot([0, 1], [0, 1], linestyle="--", color="grey", label="perfectly calibrated")
    axes.plot(diagram.predicted, diagram.observed, marker="o", label="observed")
    axes.set(
        xlim=(0, 1),
        ylim=(0, 1.02),
        xlabel="mean confidence" if of_classes else "mean prediction",
        ylabel="accuracy" if of_classes else "share of positives",
        title=f"expected calibration error {ece:.4f}",
    )
    axes.legend(loc="upper left")
    return axes
