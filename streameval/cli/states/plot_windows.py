"""`streameval plot` of a state with panes of time: a metric over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from streameval.cli.errors import UsageError
from streameval.cli.slice_text import slice_reading, value_name
from streameval.cli.window_text import Window, Windows, results_of, window_of
from streameval.metrics.table import Reading
from streameval.render.text import plural
from streameval.render.time_plots import TimeLine, over_time
from streameval.results.names import MetricName, parse_metric

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from streameval.accumulators.windowed import Windowed


@attrs.frozen
class TimePicture:
    """A metric over time, ready to be drawn.

    Parameters
    ----------
    metric : MetricName
        The metric.
    lines : list of TimeLine
        The line of all rows, and those of slices.
    coverage : array
        The share of the rows that have labels, by window.
    level : float
        The level of the sampling intervals.
    """

    metric: MetricName
    lines: list[TimeLine]
    coverage: Any
    level: float

    @classmethod
    def of(
        cls,
        held: Windowed,
        metric: MetricName | None,
        width: str | int | None,
        level: float,
    ) -> TimePicture:
        """Read a metric in each pane, or in windows that slide by one pane.

        Raises
        ------
        UsageError
            If there is no window.
        UnknownMetricError
            If there is no such metric.
        """
        total = held.total()
        windows = Windows.of(held, total).every if width is None else _sliding(held, total, width)
        shown = [window for window in windows if window.start is not None]
        if not shown:
            raise UsageError("there is nothing to draw: the state has no window with rows.")
        whole, slices = results_of(total)
        chosen = parse_metric(whole.headline()[0]) if metric is None else metric
        whole.check(chosen)
        lines = [_line("(all)", shown, [window.result for window in shown], chosen, level)]
        for value in () if slices is None else slices.by_value:
            results = [_slice(window, value) for window in shown]
            lines.append(_line(value_name(value), shown, results, chosen, level))
        coverage = np.array([window.labelled / window.rows for window in shown])
        return cls(chosen, lines, coverage, level)

    def draw(self, figure: Figure) -> None:
        """Draw the metric on a figure without axes."""
        over_time(figure, str(self.metric), self.lines, self.coverage, self.level)

    def __str__(self) -> str:
        """Describe the picture."""
        return f"{self.metric} over {plural(len(self.coverage), 'window')}"


def _sliding(held: Windowed, total: Any, width: str | int) -> list[Window]:
    """Compute windows that slide by one pane, and leave out those without rows."""
    return [window_of(*counted, total) for counted in held._counted_windows(width)]


def _slice(window: Window, value: Any) -> Any:
    return None if window.slices is None else window.slices.by_value.get(value)


def _line(
    name: str, windows: list[Window], results: list[Any], metric: MetricName, level: float
) -> TimeLine:
    readings = [
        slice_reading(one, metric, level)
        if one is not None and window.labelled
        else Reading(np.nan)
        for window, one in zip(windows, results, strict=True)
    ]
    starts = np.array([window.start for window in windows])
    return TimeLine(name, starts, np.array([window.end for window in windows]), readings)
