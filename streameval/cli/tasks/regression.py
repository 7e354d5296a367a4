"""Regression: from options and the first rows to a plan."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from streameval.accumulators.regression import RegressionAccumulator
from streameval.cli.tasks.columns import check_one_column, given, lay_out, weight_columns
from streameval.io import Column, Numbers
from streameval.runs.counting import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streameval.cli.options import Options
    from streameval.runs.sources import Row

__all__ = ["plan"]


def plan(options: Options, rows: Sequence[Row]) -> Plan:
    """Choose the columns and the measures.

    Raises
    ------
    UsageError
        If a column is not in the first rows.
    InvalidInputError
        If the accumulator refuses the options.
    """
    chosen = given(measures=options.measures, budget=options.budget, intervals=options.intervals)
    is_bounded = options.budget != "none"
    make = partial(RegressionAccumulator, **chosen | ({} if is_bounded else {"budget": None}))
    make()  # mistakes in the options are reported before any row is read
    check_one_column(options, "label", "pred")
    layout = lay_out(options, rows, options.pred or ("y_pred",), of_scores=False)
    columns = (
        Column("y_true", layout.label, Numbers()),
        Column("y_pred", layout.prediction, Numbers()),
        *weight_columns(options),
    )
    return Plan(make, columns, options.max_bad, is_bounded=is_bounded)
