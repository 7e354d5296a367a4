"""Regression: from options and the first rows to a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streameval.accumulators.regression import RegressionAccumulator
from streameval.cli.tasks.columns import check_one_column, lay_out, weight_columns
from streameval.io import Column, Numbers
from streameval.runs.counting import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streameval.cli.options import Options
    from streameval.runs.sources import Row

__all__ = ["plan"]


def plan(options: Options, rows: Sequence[Row]) -> Plan:
    """Choose the columns.

    Raises
    ------
    UsageError
        If a column is not in the first rows.
    """
    check_one_column(options, "label", "pred")
    layout = lay_out(options, rows, options.pred or ("y_pred",), of_scores=False)
    columns = (
        Column("y_true", layout.label, Numbers()),
        Column("y_pred", layout.prediction, Numbers()),
        *weight_columns(options),
    )
    return Plan(RegressionAccumulator, columns, options.max_bad, is_bounded=True)
