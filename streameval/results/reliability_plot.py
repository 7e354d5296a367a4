"""The reliability of one of several sets of probabilities as a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streameval.results.pictures import new_axes
from streameval.results.reliability import Reliability

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot"]


def plot(diagram: Reliability, ax: Axes | None, *, label: str, of_classes: bool) -> Axes:
    """Draw the line of one among several on `ax`; see `Calibration.plot`.

    Parameters
    ----------
    diagram : Reliability
        What to draw.
    ax : matplotlib Axes, optional
        Where to draw.
    label : str
        The name in the legend.
    of_classes : bool
        Whether predictions are the highest of several probabilities.
    """
    axes = new_axes() if ax is None else ax
    axes.plot(diagram.predicted, diagram.observed, marker="o", label=label)
    axes.set(
        xlim=(0, 1),
        ylim=(0, 1.02),
        xlabel="mean confidence" if of_classes else "mean prediction",
        ylabel="accuracy" if of_classes else "share of positives",
    )
    axes.legend()
    return axes
