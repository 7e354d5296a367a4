"""A metric over time in matplotlib: value, intervals, and the share of labelled rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import numpy.typing as npt

from streameval.metrics.table import Reading

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]

MAX_LINES = 8
"""The maximum number of lines in a picture, limited by distinguishable colours."""


@attrs.frozen
class TimeLine:
    """A metric in a sequence of windows.

    Parameters
    ----------
    name : str
        The name of the line in the legend.
    starts, ends : array of datetime64 or int, shape (n,)
        The ends of the windows.
    readings : sequence of Reading, length n
        NaN where the metric is undefined.
    """

    name: str
    starts: npt.NDArray[Any]
    ends: npt.NDArray[Any]
    readings: Sequence[Reading]

    @property
    def middles(self) -> npt.NDArray[Any]:
        """The middle of each window."""
        middles: npt.NDArray[Any] = self.starts + (self.ends - self.starts) // 2
        return middles

    @property
    def values(self) -> Floats:
        """The value in each window."""
        return np.array([float(reading.value) for reading in self.readings])

    @property
    def certified(self) -> tuple[Floats, Floats]:
        """The ends of the certified intervals; for an exact number, both are the number."""
        return _ends([reading.certified for reading in self.readings])

    @property
    def sampling(self) -> tuple[Floats, Floats]:
        """The ends of the sampling intervals; NaN where there is none."""
        none = (np.nan, np.nan)
        return _ends([reading.sampling or none for reading in self.readings])


def over_time(
    figure: Figure, metric: str, lines: Sequence[TimeLine], coverage: Floats, level: float
) -> None:
    """Draw lines over time, and below them the share of labelled rows.

    Parameters
    ----------
    figure : matplotlib Figure
        The figure to draw in, without axes.
    metric : str
        The metric that the lines show.
    lines : sequence of TimeLine
        The first has intervals: certified ones as a band, sampling ones as thin vertical lines.
    coverage : array, shape (n,)
        The share of labelled rows in each window of the first line.
    level : float
        The level of the sampling intervals; 0 draws none.
    """
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[4, 1])
    draw_lines(above, metric, lines, level)
    edges = np.repeat(np.column_stack([lines[0].starts, lines[0].ends]), 2)
    bars = np.outer(coverage, [0, 1, 1, 0]).ravel()  # one shape: thousands take seconds to draw
    below.fill_between(edges, bars, color="lightsteelblue", linewidth=0)
    below.set(ylim=(0, 1), ylabel="labelled")
    below.tick_params(axis="x", rotation=30)


def draw_lines(above: Axes, metric: str, lines: Sequence[TimeLine], level: float) -> None:
    """Draw lines over time on some axes; the first has intervals."""
    first, *others = lines
    (drawn,) = above.plot(first.middles, first.values, marker="o", markersize=3, label=first.name)
    _add_intervals(above, first, drawn.get_color(), level)
    for line in others[: MAX_LINES - 1]:
        above.plot(
            line.middles, line.values, marker="o", markersize=2, linewidth=1, label=line.name
        )
    above.set(ylabel=metric)
    if others or len(above.get_legend_handles_labels()[0]) > 1:
        above.legend()


def _add_intervals(ax: Axes, line: TimeLine, colour: Any, level: float) -> None:
    low, high = line.certified
    if np.any(low < high):
        ax.fill_between(
            line.middles, low, high, alpha=0.3, color=colour, linewidth=0, label="certified"
        )
    bottom, top = line.sampling
    if level and not np.isnan(bottom).all():
        title = f"{100 * level:.6g}% sampling interval"
        ax.vlines(line.middles, bottom, top, color=colour, linewidth=1, alpha=0.6, label=title)


def _ends(pairs: Sequence[tuple[float, float]]) -> tuple[Floats, Floats]:
    ends = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    return ends[:, 0], ends[:, 1]
