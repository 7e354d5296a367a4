"""Predicted numbers, and values without a truth: from options and the first rows to a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streameval as se
from streameval.cli.errors import UsageError
from streameval.cli.tasks.columns import (
    GAP_HINT,
    TaskColumns,
    check_columns,
    configured,
    lay_out,
    maker,
    weight_columns,
)
from streameval.io.columns import Argument, FieldType, Numbers, Vectors, value_type
from streameval.render.text import plural
from streameval.runs.counting import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streameval.cli.options import Options
    from streameval.runs.sources import RawRow


def plan_of_regression(options: Options, rows: Sequence[RawRow]) -> Plan:
    """Choose the columns and the measures.

    Raises
    ------
    UsageError
        If a column is not in the first rows, truth and prediction differ in the number of
        outputs, or neither has any.
    InvalidInputError
        If the accumulator refuses the options.
    """
    chosen = configured(options, se.RegressionAccumulator)
    chosen.pop("outputs", None)  # compared with the rows first
    make = maker(se.RegressionAccumulator, **chosen)
    layout = lay_out(options, rows, options.y_pred or ("y_pred",), of_scores=False)
    outputs = _number_of_outputs(layout)
    if options.outputs is not None and len(options.outputs) != outputs:
        found = "no list of numbers" if outputs is None else plural(outputs, "number")
        raise UsageError(
            f"--outputs names {plural(len(options.outputs), 'output')}, but a row predicts {found}."
        )
    if outputs is not None:
        make = maker(make, outputs=options.outputs or outputs)
    columns = (
        Argument("y_true", layout.label, _numbers(layout.label, outputs)),
        Argument("y_pred", layout.prediction, _numbers(layout.prediction, outputs)),
        *weight_columns(options),
    )
    return Plan(make, columns, options.max_bad, is_bounded=options.budget != "none")


def _number_of_outputs(layout: TaskColumns) -> int | None:
    """Count the numbers that a row predicts; None for a single number."""
    found = {names: layout.width(names) for names in (layout.label, layout.prediction)}
    if len(set(found.values())) > 1:
        counts = (
            f"`{','.join(names)}` holds {plural(1 if width is None else width, 'number')}"
            for names, width in found.items()
        )
        raise UsageError(f"{' and '.join(counts)} a row, but each output needs both.")
    outputs = found[layout.label]
    if outputs == 0:
        raise UsageError(f"`{layout.label[0]}` holds an empty list, which predicts nothing.")
    return outputs


def _numbers(names: tuple[str, ...], outputs: int | None) -> FieldType:
    """Read a number from each column, or a list of them from one."""
    is_one = outputs is None or len(names) > 1
    return Numbers(gap_hint=GAP_HINT) if is_one else Vectors(outputs or 1)


def plan_of_values(options: Options, rows: Sequence[RawRow]) -> Plan:
    """Choose the columns and what is kept of them; one column alone needs no name.

    Raises
    ------
    UsageError
        If a column is not in the first rows.
    InvalidInputError
        If the accumulator refuses the options.
    """
    names = options.value or ("value",)
    chosen = configured(options, se.MeanAccumulator)
    arrays = ("value",) if len(names) == 1 else names
    make = maker(se.MeanAccumulator, None if len(names) == 1 else names, **chosen)
    check_columns(names, rows)
    weights = weight_columns(options, rows)
    numbers = value_type(options.nan, GAP_HINT)
    columns = [Argument(array, (name,), numbers) for array, name in zip(arrays, names, strict=True)]
    is_bounded = options.budget != "none" or not options.quantiles
    return Plan(make, (*columns, *weights), options.max_bad, is_bounded=is_bounded)
