"""What is said of rankings: from a result to gates, JSON and a report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from streameval.cli.views import meanings
from streameval.cli.views.readings import Metric, Reading, check_name, refuse_brackets
from streameval.configs.measures import measure as parsed
from streameval.errors import InvalidInputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from streameval.results.ranking import Ranking

__all__ = ["check", "describe", "draw", "meaning", "measure", "names", "report"]

_COUNTS = ("n_queries", "n_empty", "n_missing", "n_open")


def names(result: Ranking) -> list[str]:
    """List the metrics of a result."""
    return [*result, *_COUNTS]


def check(result: Ranking, metric: Metric) -> None:
    """Raise UsageError if the result has no such metric."""
    refuse_brackets(metric)
    if _canonical(metric.name) not in result:
        check_name(metric, names(result))


def measure(result: Ranking, metric: Metric, level: float) -> Reading:
    """Read a metric with its sampling interval.

    Raises
    ------
    UsageError
        If the result has no such metric.
    """
    check(result, metric)
    if metric.name in _COUNTS:
        return Reading(getattr(result, metric.name))
    value = result[metric.name]
    if level == 0:
        return Reading(value)
    interval = _intervals(result, level).get(_canonical(metric.name))
    return Reading(value, interval, "it takes two queries")


def describe(result: Ranking, level: float) -> dict[str, Any]:
    """Give the entries of the JSON object."""
    return {
        "n": result.n_queries,
        "metrics": {name: getattr(result, name) for name in _COUNTS} | dict(result),
        "bounds": {name: (value.low, value.high) for name, value in result.items()},
        "exact": all(value.exact for value in result.values()),
        "intervals": _intervals(result, level) if level else {},
        "level": level,
    }


def report(result: Ranking, level: float) -> str:
    """Lay the measures out as a text table."""
    return result.report(level=level)


def draw(result: Ranking, ax: Axes, label: str | None) -> None:
    """Draw the mean of each measure."""
    result.plot(ax, label=label)


def meaning(result: Ranking, name: str) -> str:
    """Say what a metric means; of a measure, what it is of one query."""
    if name not in result:
        return meanings.meaning(result, name)
    return meanings.bullets(type(result)).get(parsed(name).kind, "")


def _intervals(result: Ranking, level: float) -> dict[str, tuple[float, float]]:
    """Give the sampling intervals, of the measures that have one."""
    intervals = {name: result.confidence(name, level) for name in result}
    return {name: ends for name, ends in intervals.items() if not math.isnan(ends[0])}


def _canonical(name: str) -> str:
    """Give the one form of a name, if it is that of a measure."""
    try:
        return parsed(name).name
    except InvalidInputError:
        return name
