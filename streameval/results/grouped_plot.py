"""A `GroupedCurves` as a picture: the AUCs of the groups, and their mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from streameval.errors import InvalidInputError
from streameval.metrics.bounded import Bounded
from streameval.metrics.grouped import GroupAreas
from streameval.results.pictures import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from streameval.configs.grouped import GroupWeight

__all__ = ["plot"]

_BINS = 20


def plot(
    areas: GroupAreas, weight: GroupWeight, mean: Bounded, ax: Axes | None, *, label: str | None
) -> Axes:
    """Draw how the AUCs of the groups are spread on `ax`; see `GroupedCurves.plot`.

    Parameters
    ----------
    areas : GroupAreas
        Of all groups; those of one class are left out.
    weight : str
        What a group weighs, as in the mean.
    mean : Bounded
        The weighted mean.
    ax : matplotlib Axes, optional
        Where to draw.
    label : str, optional
        The name of one of several.
    """
    if not areas.is_defined.any():
        raise InvalidInputError("`plot` needs a group with examples of both classes.")
    axes = new_axes() if ax is None else ax
    shares, edges = _shares(areas, weight)
    of_one = label is None
    steps = axes.stairs(shares, edges, fill=of_one, alpha=0.6 if of_one else 1.0, label=label)
    colour = steps.get_facecolor() if of_one else steps.get_edgecolor()
    name = f"GAUC {mean:.4f}" if of_one else None
    axes.axvline(mean, linestyle="--", color=colour, alpha=1.0, label=name)
    if not mean.exact:
        band = "the exact GAUC lies here" if of_one else None
        axes.axvspan(mean.low, mean.high, alpha=0.2, linewidth=0, color=colour, label=band)
    axes.set(xlim=(0, 1), xlabel="AUC within a group", ylabel=_YLABELS[weight])
    axes.set_title(f"{np.count_nonzero(areas.is_defined):,} groups" if of_one else "")
    axes.legend()
    return axes


_YLABELS = {
    "impressions": "share of the examples",
    "uniform": "share of the groups",
    "positives": "share of the positives",
}


def _shares(
    areas: GroupAreas, weight: GroupWeight
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Give the share of the weight in each bin of the AUC, and the ends of the bins."""
    held = areas.is_defined
    weights = areas.weights(weight)[held]
    auc = np.clip(areas.auc[held], 0.0, 1.0)  # rounding may lead past the ends
    return np.histogram(auc, _BINS, (0.0, 1.0), weights=weights / weights.sum())
