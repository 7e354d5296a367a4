"""What AUCs within groups say: metrics, gates and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streameval.cli.views.readings import Metric, Reading, check_name, refuse_brackets

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from streameval.results.grouped import GroupedCurves

__all__ = ["HEADLINE", "check", "describe", "draw", "measure", "names", "report"]

HEADLINE = ("gauc", "coverage")

_NUMBERS = ("n", "n_groups", "n_averaged", "cells", "gauc", "coverage")


def names(result: GroupedCurves) -> list[str]:
    """List the metrics of a result."""
    return list(_numbers(result))


def check(result: GroupedCurves, metric: Metric) -> None:
    """Raise UsageError if the result has no such metric."""
    check_name(metric, names(result))
    refuse_brackets(metric)


def measure(
    result: GroupedCurves,
    metric: Metric,
    level: float,  # noqa: ARG001 - there are no sampling intervals
) -> Reading:
    """Read a metric.

    Raises
    ------
    UsageError
        If the result has no such metric.
    """
    check(result, metric)
    return Reading(_numbers(result)[metric.name])


def describe(result: GroupedCurves, level: float) -> dict[str, Any]:
    """Give the entries of the JSON object; groups may be too many for it."""
    gauc = result.gauc
    return {
        "n": result.n,
        "metrics": _numbers(result),
        "bounds": {"gauc": (gauc.low, gauc.high)},
        "exact": result.exact,
        "intervals": {},
        "level": level,
    }


def report(result: GroupedCurves, level: float) -> str:  # noqa: ARG001 - there are no intervals
    """Lay the metrics out as a text table."""
    return result.report()


def draw(result: GroupedCurves, ax: Axes, label: str | None) -> None:
    """Draw how the AUCs of the groups are spread."""
    result.plot(ax, label=label)


def _numbers(result: GroupedCurves) -> dict[str, Any]:
    return {name: getattr(result, name) for name in _NUMBERS}
