"""What is said of rankings: from a result to gates, JSON and a report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from streameval.cli.gates import Gate, Measured, certified, check_metric, refuse_brackets
from streameval.configs.measures import measure as parsed
from streameval.errors import InvalidInputError

if TYPE_CHECKING:
    from streameval.results.ranking import Ranking

__all__ = ["check", "describe", "measure", "report"]

_COUNTS = ("n_queries", "n_empty", "n_missing", "n_open")


def check(result: Ranking, gate: Gate) -> None:
    """Raise UsageError if the result has no such metric."""
    refuse_brackets(gate)
    if _canonical(gate.metric) not in result:
        check_metric(gate, (*_COUNTS, *result))


def measure(result: Ranking, gate: Gate, level: float) -> Measured:
    """Compute the metric of a gate with its sampling interval, or at level 0 the certified one.

    Raises
    ------
    UsageError
        If the result has no such metric.
    """
    check(result, gate)
    if gate.metric in _COUNTS:
        return certified(getattr(result, gate.metric))
    value = result[gate.metric]
    if level == 0:
        return certified(value)
    interval = _intervals(result, level).get(_canonical(gate.metric))
    return Measured(value, interval, "it takes two queries")


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
