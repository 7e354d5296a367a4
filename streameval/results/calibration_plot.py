"""A `Calibration` as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from streameval.metrics.calibration import ReliabilityCurve
from streameval.results.pictures import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot"]

_BAR = "lightsteelblue"


def plot(
    ax: Axes | None,
    curve: ReliabilityCurve,
    weight: npt.NDArray[np.float64],
    *,
    ece: float,
    of_classes: bool,
) -> Axes:
    """Draw a reliability diagram on `ax`; see `Calibration.plot`.

    Parameters
    ----------
    ax : matplotlib Axes, optional
        Where to draw.
    curve : tuple of arrays
        Of the occupied bins.
    weight : float64 array, shape (B,)
        Of all bins.
    ece : float
        For the title.
    of_classes : bool
        Whether predictions are the highest of several probabilities.
    """
    axes: Axes = new_axes() if ax is None else ax
    edges = np.arange(len(weight) + 1) / len(weight)
    shares = weight / max(weight.sum(), 1e-300)
    axes.stairs(shares, edges, fill=True, color=_BAR, label="share of the examples")
    axes.plot([0, 1], [0, 1], linestyle="--", color="grey", label="perfectly calibrated")
    mean_prediction, mean_label, _ = curve
    axes.plot(mean_prediction, mean_label, marker="o", label="observed")
    axes.set(
        xlim=(0, 1),
        ylim=(0, 1.02),
        xlabel="mean confidence" if of_classes else "mean prediction",
        ylabel="accuracy" if of_classes else "share of positives",
        title=f"expected calibration error {ece:.4f}",
    )
    axes.legend(loc="upper left")
    return axes
