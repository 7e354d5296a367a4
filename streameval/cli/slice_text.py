"""What `--by` prints: a line, or a JSON object, for each value of a column."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from streameval.errors import UnknownMetricError
from streameval.metrics.table import Reading
from streameval.render.text import chance_title, short_interval, short_number, side_by_side
from streameval.results.names import parse_metric

if TYPE_CHECKING:
    from collections.abc import Callable

    from streameval.cli.options import Reporting
    from streameval.results.names import MetricName
    from streameval.results.result import Result
    from streameval.runs.slices import Slices

__all__ = ["slice_entries", "slice_reading", "slice_table"]

_MISSING = "(missing)"


def slice_table(result: Result, slices: Slices, reporting: Reporting) -> str:
    """Lay out the chosen metrics, or those that stand for all: a line for each value.

    Parameters
    ----------
    result : result
        That of all rows.
    slices : Slices
        Those of each value.
    reporting : Reporting
        The metrics and the level.
    """
    names = ["(all)", *map(_name, slices.by_value)]
    results = [result, *slices]
    if slices.other is not None:
        names.append("(other)")
    chosen = reporting.metrics or tuple(map(parse_metric, result.headline()))
    sizes = [result.SIZE, *(f"{getattr(held, result.SIZE):,}" for held in results)]
    title = slices.column if isinstance(slices.column, str) else ", ".join(slices.column)
    first = [[title, *names], sizes]
    groups = (_columns(metric, results, reporting.level) for metric in chosen)
    return "\n\n".join(filter(None, [side_by_side(first, groups), result.scope_of(chosen)]))


def slice_entries(slices: Slices, describe: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """Give the entries of the JSON object: the values in order, and what is left."""
    values = [{"value": value, **describe(held)} for value, held in slices.by_value.items()]
    entries: dict[str, Any] = {"by": slices.column, "slices": values}
    return entries if slices.other is None else entries | {"other": describe(slices.other)}


def slice_reading(result: Result, metric: MetricName, level: float) -> Reading:
    """Read a metric; that of a class which no row of the slice has is undefined."""
    try:
        return result.read(metric, level=level)
    except UnknownMetricError:
        return Reading(math.nan)


def _columns(metric: MetricName, results: list[Result], level: float) -> list[list[str]]:
    """Lay out one metric: the values, and the intervals if there are any."""
    whole, *parts = results
    of_all = whole.read(metric, level=level)  # a class that no row has is a mistake
    readings = [of_all, *(slice_reading(result, metric, level) for result in parts)]
    values = [str(metric), *(short_number(reading.value) for reading in readings)]
    sampled = any(reading.sampling is not None for reading in readings)
    title = chance_title(level) if sampled else "certified interval"
    intervals = [title, *(_interval(reading, sampled) for reading in readings)]
    return [values, intervals] if any(intervals[1:]) else [values]


def _interval(reading: Reading, sampled: bool) -> str:
    if sampled:
        return short_interval(reading.sampling)
    return short_interval(reading.certified) if reading.is_open else ""


def _name(value: str | tuple[str | None, ...] | None) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_name, value))
    return _MISSING if value is None else value
