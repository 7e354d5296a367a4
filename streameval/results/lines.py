"""Several results side by side: a line for each slice, pane or state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from streameval.errors import UnknownMetricError
from streameval.metrics.table import Reading
from streameval.render.sheets import Grid, Sheet, SheetColumn
from streameval.render.text import chance_title, intervals, numbers
from streameval.results.names import MetricName
from streameval.results.result import Result

DECIMALS = 4

_MISSING = "(missing)"


def line_sheet(
    what: str,
    names: Sequence[str],
    results: Sequence[Result],
    metrics: Sequence[MetricName],
    level: float,
    more: Sequence[SheetColumn] = (),
) -> Sheet:
    """Lay out a line for each of several results: its size, and the metrics with their intervals.

    Parameters
    ----------
    what : str
        The heading above the names.
    names : sequence of str
        The names of the results.
    results : sequence of result
        Results of one type; the first has every metric.
    metrics : sequence of MetricName
        The metrics, in order.
    level : float
        The level of the sampling intervals.
    more : sequence of SheetColumn
        More columns beside the sizes.
    """
    first, size = results[0], results[0].SIZE
    shown = [metric for metric in metrics if str(metric) != size]  # in its own column
    sizes = [f"{getattr(result, size):,}" if size else "" for result in results]
    columns = [SheetColumn.of_names(what, names), *more, SheetColumn([size, *sizes])]
    groups = [_columns(metric, results, level) for metric in shown]
    return [Grid(columns, groups), first.scope_of(shown)]


def read_or_nan(result: Result, metric: str | MetricName, level: float) -> Reading:
    """Read a metric, nan if no row of the result has its class."""
    try:
        return result.read(metric, level=level)
    except UnknownMetricError:
        return Reading(math.nan)


def _columns(metric: MetricName, results: Sequence[Result], level: float) -> list[SheetColumn]:
    """Lay out one metric: the values, and the intervals if there are any."""
    whole, *parts = results
    of_all = whole.read(metric, level=level)  # raises for a class that no row has
    readings = [of_all, *(read_or_nan(result, metric, level) for result in parts)]
    values = numbers([reading.value for reading in readings], DECIMALS)
    if any(reading.sampling is not None for reading in readings):
        title, ends = chance_title(level), [reading.sampling for reading in readings]
    else:
        title = "certified interval"
        ends = [reading.certified if reading.is_open else None for reading in readings]
    return [SheetColumn([str(metric), *values]), SheetColumn([title, *intervals(ends, DECIMALS)])]


def value_name(value: Any) -> str:
    """Write the value of a column, or of several columns."""
    if isinstance(value, tuple):
        return ", ".join(map(value_name, value))
    return _MISSING if value is None else str(value)


def time_texts(times: Sequence[Any]) -> list[str]:
    """Write the edges of panes; leave out seconds or times of day if all of them are zero."""
    texts = [str(time) for time in times]
    for zeros in (".000000", ":00", "T00:00"):
        if all("T" in text and text.endswith(zeros) for text in texts):
            texts = [text.removesuffix(zeros) for text in texts]
    return texts
