"""Calibration: from options and the first rows to a plan."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from streameval.accumulators.calibration import CalibrationAccumulator
from streameval.cli.counting.layout import (
    check_one_column,
    label_kind,
    lay_out,
    note_of_classes,
    presence_kind,
    score_classes,
    vector_kind,
    weight_columns,
)
from streameval.cli.counting.plan import Plan
from streameval.io import Column, Kind, Numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streameval.cli.counting.first_rows import Row
    from streameval.cli.options import Options

__all__ = ["plan"]


def plan(options: Options, rows: Sequence[Row]) -> Plan:
    """Choose the columns and the classes.

    Raises
    ------
    UsageError
        If a column is not in the first row, or the options do not fit what it holds.
    InvalidInputError
        If the accumulator refuses the options.
    """
    check_one_column(options, "label")
    usual = ("y_score",) if "y_prob" not in rows[0] and "y_score" in rows[0] else ("y_prob",)
    layout = lay_out(options, rows, options.score or usual, of_scores=True)
    classes = score_classes(options, layout)
    chosen = {"bins": options.bins, "classes": classes}
    given = {name: value for name, value in chosen.items() if value is not None}
    make = partial(CalibrationAccumulator, **given)
    make()  # what it refuses is a mistake in the options, to be told once
    names = layout.prediction
    if classes is None:
        truth = presence_kind(layout, "0 and 1 are needed, or a probability for each class")
        probability: Kind = Numbers()
    else:
        truth = label_kind(layout, layout.label, classes)
        probability = vector_kind(layout, names, classes, integers=False)
    columns = (
        Column("y_true", layout.label, truth),
        Column("y_prob", names, probability),
        *weight_columns(options),
    )
    return Plan(make, columns, options.max_bad, note_of_classes(options, classes, names))
