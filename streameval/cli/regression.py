"""Regression: from options and the first rows to a plan, from a result to gates and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streameval.cli.gates import Gate, Measured, certified, check_metric, refuse_brackets
from streameval.cli.layout import check_one_column, lay_out, weight_columns
from streameval.cli.plan import Plan
from streameval.io import Column, Numbers
from streameval.regression import RegressionAccumulator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streameval.cli.first_rows import Row
    from streameval.cli.options import Options
    from streameval.results.regression import Regression

__all__ = ["check", "describe", "measure", "plan", "report"]


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


def check(result: Regression, gate: Gate) -> None:
    """Raise UsageError if the result has no such metric."""
    check_metric(gate, result.as_dict())
    refuse_brackets(gate)


def measure(result: Regression, gate: Gate, level: float) -> Measured:
    """Compute the metric of a gate; only the count is its own interval.

    Raises
    ------
    UsageError
        If the result has no such metric.
    """
    check(result, gate)
    number = result.as_dict()[gate.metric]
    if gate.metric == "n" or level == 0:
        return certified(number)
    return Measured(number, None, "metrics of regression have none")


def describe(result: Regression, level: float) -> dict[str, Any]:
    """Give the entries of the JSON object."""
    return {"n": result.n, "metrics": result.as_dict(), "intervals": {}, "level": level}


def report(result: Regression, level: float) -> str:  # noqa: ARG001 - there are no intervals
    """Lay the metrics out as a text table."""
    return result.report()
