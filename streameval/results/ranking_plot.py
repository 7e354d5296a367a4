"""A `Ranking` as a picture: the mean of each measure, and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from streameval.configs.measures import measure
from streameval.errors import InvalidInputError
from streameval.metrics.bounded import Bounded
from streameval.results.pictures import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot"]

_APART = 0.12  # of several rankings in one line


def plot(
    values: Mapping[str, Bounded],
    intervals: Sequence[tuple[float, float]],
    ax: Axes | None,
    *,
    title: str,
    label: str | None,
) -> Axes:
    """Draw a line for each measure on `ax`; see `Ranking.plot`.

    Parameters
    ----------
    values : mapping of str to Bounded
        The mean of each measure.
    intervals : sequence of (low, high)
        Their sampling intervals, nan where there is none.
    ax : matplotlib Axes, optional
        Where to draw; rankings that are drawn there already keep their lines.
    title : str
        Of a single ranking.
    label : str, optional
        The name of one of several.
    """
    if all(map(math.isnan, values.values())):
        raise InvalidInputError("`plot` needs a query that was counted.")
    axes = new_axes() if ax is None else ax
    drawn = len(axes.containers)
    names = [tick.get_text() for tick in axes.get_yticklabels()] if drawn else []
    names += [name for name in values if name not in names]
    places = np.array([names.index(name) for name in values]) + drawn * _APART
    _draw(axes, places, values, intervals, label)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5 + drawn * _APART, -0.5)
    axes.set_xlabel("mean over the queries")
    if all(measure(name).most == 1.0 for name in names):
        axes.set_xlim(0, 1.02)
    if label is None:
        axes.set_title(title)
    else:
        axes.legend()
    return axes


def _draw(
    axes: Axes,
    places: npt.NDArray[np.float64],
    values: Mapping[str, Bounded],
    intervals: Sequence[tuple[float, float]],
    label: str | None,
) -> None:
    """Draw points, whiskers of the sampling intervals, and bars of what is certified."""
    means = np.array(list(values.values()), dtype=np.float64)
    low, high = np.array(intervals, dtype=np.float64).T
    reach = np.array([means - low, high - means])
    bars = axes.errorbar(means, places, xerr=reach, fmt="o", capsize=3, label=label)
    colour = bars.lines[0].get_color()
    pairs = zip(places, values.values(), strict=True)
    spans = [(place, value.low, value.high) for place, value in pairs if not value.exact]
    if spans:
        name = "certified" if label is None else ""
        heights, lows, highs = zip(*spans, strict=True)
        axes.hlines(heights, lows, highs, linewidth=8, alpha=0.3, color=colour, label=name)
        if name:
            axes.legend()
