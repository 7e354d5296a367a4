"""Calibration: from options and first rows to a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streameval.accumulators.calibration import CalibrationAccumulator
from streameval.cli.tasks.columns import (
    check_one_column,
    configured,
    has_column,
    ignored_label,
    label_type,
    lay_out,
    maker,
    note_of_classes,
    presence_type,
    score_classes,
    vector_type,
    weight_columns,
    with_names,
)
from streameval.configs.calibration import CalibrationConfig
from streameval.io.columns import Argument, FieldType, Numbers
from streameval.runs.counting import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streameval.cli.options import Options
    from streameval.runs.sources import RawRow


def plan(options: Options, rows: Sequence[RawRow]) -> Plan:
    """Choose the columns and the classes.

    Raises
    ------
    UsageError
        If a column is not in the first rows, or the options do not fit what it holds.
    InvalidInputError
        If the accumulator refuses the options.
    """
    check_one_column(options, "y_true")
    has_only_scores = has_column("y_score", rows) and not has_column("y_prob", rows)
    usual = ("y_score",) if has_only_scores else ("y_prob",)
    layout = lay_out(options, rows, options.y_score or usual, of_scores=True)
    classes = score_classes(options, layout)
    names = layout.prediction
    if classes is None:
        truth = presence_type(layout, "0 and 1 are needed, or a probability for each class")
        probability: FieldType = Numbers()
    else:
        truth = label_type(layout, layout.label, classes)
        probability = vector_type(layout, names, classes, integers=False)
    read = {"classes": with_names(options, classes), "ignore_label": ignored_label(options, truth)}
    make = maker(CalibrationAccumulator, **configured(options, CalibrationConfig) | read)
    columns = (
        Argument("y_true", layout.label, truth),
        Argument("y_prob", names, probability),
        *weight_columns(options),
    )
    notes = note_of_classes(options, classes, names)
    return Plan(make, columns, options.max_bad, notes, is_bounded=True)
