"""Several results side by side: a line, or a JSON object, for each slice or state."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from streameval.cli.states.phrases import listed
from streameval.errors import UnknownMetricError
from streameval.metrics.table import Reading
from streameval.render.sheets import Column, Grid
from streameval.render.text import chance_title, intervals, numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from streameval.cli.options import Reporting
    from streameval.render.sheets import Sheet
    from streameval.results.names import MetricName
    from streameval.results.result import Result
    from streameval.runs.slices import Slices

_MISSING = "(missing)"
_DECIMALS = 4


def slice_sheet(result: Result, slices: Slices, reporting: Reporting) -> Sheet:
    """Lay out a line for each value, with the chosen metrics or the headline ones.

    Parameters
    ----------
    result : result
        The result of all rows.
    slices : Slices
        The results of each value.
    reporting : Reporting
        The metrics and the level.
    """
    names = [value_name(value) for value in slices.by_value]
    title = slices.column if isinstance(slices.column, str) else ", ".join(slices.column)
    if slices.is_each:
        title, names = "slice", [slice_name(slices, value) for value in slices.by_value]
    names = ["(all)", *names, *([] if slices.other is None else ["(other)"])]
    return line_sheet(title, names, [result, *slices], reporting)


def line_sheet(
    what: str,
    names: Sequence[str],
    results: Sequence[Result],
    reporting: Reporting,
    more: Sequence[Column] = (),
) -> Sheet:
    """Lay out a line for each of several results: its size, and the metrics with their intervals.

    Parameters
    ----------
    what : str
        The heading above the names.
    names : sequence of str
        The names of the results.
    results : sequence of result
        Results of one type; the first has every chosen metric.
    reporting : Reporting
        The metrics and the level.
    more : sequence of Column
        More columns beside the sizes.
    """
    first, size = results[0], results[0].SIZE
    chosen = reporting.chosen(first)
    chosen = tuple(metric for metric in chosen if str(metric) != size)  # in its own column
    sizes = [f"{getattr(result, size):,}" if size else "" for result in results]
    columns = [Column.of_names(what, names), *more, Column([size, *sizes])]
    groups = [_columns(metric, results, reporting.level) for metric in chosen]
    return [Grid(columns, groups), first.scope_of(chosen)]


def slice_entries(slices: Slices, describe: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """Return the entries of the JSON object: the values in order, then the rest."""
    values = [
        {**_named(slices, value), **describe(held)} for value, held in slices.by_value.items()
    ]
    entries: dict[str, Any] = {"by": slices.column, "slices": values}
    return entries if slices.other is None else entries | {"other": describe(slices.other)}


def _named(slices: Slices, value: Any) -> dict[str, Any]:
    if slices.is_each:
        column, item = value
        return {"column": column, "value": item}
    return {"value": value}


def slice_reading(result: Result, metric: MetricName, level: float) -> Reading:
    """Read a metric, nan if no row of the slice has its class."""
    try:
        return result.read(metric, level=level)
    except UnknownMetricError:
        return Reading(math.nan)


def _columns(metric: MetricName, results: Sequence[Result], level: float) -> list[Column]:
    """Lay out one metric: the values, and the intervals if there are any."""
    whole, *parts = results
    of_all = whole.read(metric, level=level)  # raises for a class that no row has
    readings = [of_all, *(slice_reading(result, metric, level) for result in parts)]
    values = numbers([reading.value for reading in readings], _DECIMALS)
    if any(reading.sampling is not None for reading in readings):
        title, ends = chance_title(level), [reading.sampling for reading in readings]
    else:
        title = "certified interval"
        ends = [reading.certified if reading.is_open else None for reading in readings]
    return [Column([str(metric), *values]), Column([title, *intervals(ends, _DECIMALS)])]


def value_name(value: Any) -> str:
    """Write the value of a column, or of several columns."""
    if isinstance(value, tuple):
        return ", ".join(map(value_name, value))
    return _MISSING if value is None else str(value)


def slice_name(slices: Slices, value: Any) -> str:
    """Write a slice in a sentence, such as ``country=DE`` or ``country=DE,device=ios``."""
    return ",".join(f"{column}={value_name(item)}" for column, item in slices.pairs(value))


def slice_names(slices: Slices, values: Iterable[Any]) -> str:
    """List some slices in a sentence."""
    return listed(slice_name(slices, value) for value in values)
