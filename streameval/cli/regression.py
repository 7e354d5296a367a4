"""Regression: from options and the first rows to a plan, from a result to gates and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streameval.cli.layout import check_one_column, lay_out, weight_columns
from streameval.cli.plan import Plan
from streameval.cli.readings import Metric, Reading, check_name, refuse_brackets
from streameval.io import Column, Numbers
from streameval.regression import RegressionAccumulator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streameval.cli.first_rows import Row
    from streameval.cli.options import Options
    from streameval.results.regression import Regression

__all__ = ["HEADLINE", "check", "describe", "measure", "names", "plan", "report"]

HEADLINE = ("rmse", "mae", "bias")


def plan(options: Options, rows: Sequence[Row]) -> Plan:
    """Choose the columns.

    Raises
    ------
    UsageError
        If a column is not in the first row.
    """
    check_one_column(options, "label", "pred")
    layout = lay_out(options, rows, options.pred or ("y_pred",), of_scores=False)
    columns = (
        Column("y_true", layout.label, Numbers()),
        Column("y_pred", layout.prediction, Numbers()),
        *weight_columns(options),
    )
    return Plan(RegressionAccumulator, columns, options.max_bad)


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
