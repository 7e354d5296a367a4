"""What regressions say: metrics, gates and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streameval.cli.views.readings import Metric, Reading, check_name, refuse_brackets

if TYPE_CHECKING:
    from streameval.results.regression import Regression

__all__ = ["HEADLINE", "check", "describe", "measure", "names", "report"]

HEADLINE = ("rmse", "mae", "bias")


def names(result: Regression) -> list[str]:
    """List the metrics of a result."""
    return list(result.as_dict())


def check(result: Regression, metric: Metric) -> None:
    """Raise UsageError if the result has no such metric."""
    check_name(metric, names(result))
    refuse_brackets(metric)


def measure(result: Regression, metric: Metric, level: float) -> Reading:
    """Read a metric; only the count is its own interval.

    Raises
    ------
    UsageError
        If the result has no such metric.
    """
    check(result, metric)
    number = result.as_dict()[metric.name]
    needs_none = metric.name == "n" or level == 0
    return Reading(number, why_none="" if needs_none else "metrics of regression have none")


def describe(result: Regression, level: float) -> dict[str, Any]:
    """Give the entries of the JSON object."""
    return {"n": result.n, "metrics": result.as_dict(), "intervals": {}, "level": level}


def report(result: Regression, level: float) -> str:  # noqa: ARG001 - there are no intervals
    """Lay the metrics out as a text table."""
    return result.report()
