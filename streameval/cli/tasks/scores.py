"""Curves, areas within groups and calibration of scores: from options and rows to a plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

import streameval as se
from streameval.cli.errors import UsageError
from streameval.cli.options import Options
from streameval.cli.tasks import fields
from streameval.io.columns import Argument, FieldType, Labels, Numbers, has_integer_labels, id_type
from streameval.runs.counting import Plan
from streameval.runs.sources import RawRow

_COMPARED_BY = " --measures roc_auc without --task"


def plan_of_curves(options: Options, rows: Sequence[RawRow]) -> Plan:
    """Choose the columns, the classes and the configuration.

    Raises
    ------
    UsageError
        If a column is not in the first rows, or the options do not fit what it holds.
    InvalidInputError
        If the accumulator refuses the options.
    """
    layout = fields.lay_out(options, rows, options.columns("y_score"), of_scores=True)
    if not layout.multilabel:
        fields.check_one_column(options, "y_true", unless=", unless --multilabel is given")
    is_open = options.pos_label is None and options.classes is None and not layout.multilabel
    if is_open and layout.are_signs and layout.width(layout.prediction) in (None, 1, 2):
        signed = plan_of_curves(attrs.evolve(options, pos_label="1"), rows)
        return attrs.evolve(
            signed, notes=(*signed.notes, "took 1 of the labels -1 and 1 as positive.")
        )
    is_listed = options.classes not in (None, "auto")
    if not (is_listed or layout.multilabel) and layout.width(layout.prediction) == 2:
        return _plan_of_two(options, layout)
    classes = fields.score_classes(options, layout)
    if classes is not None and fields.n_classes(classes) == 2 and not layout.multilabel:
        return _plan_of_listed(options, layout, classes)
    names = layout.prediction
    of_one = classes is None
    truth = (
        _truth_type(options, layout) if of_one else fields.label_type(layout, layout.label, classes)
    )
    score = (
        Numbers(options.nan == "skip", gap_hint=fields.GAP_HINT)
        if of_one
        else fields.vector_type(layout, names, classes, integers=False)
    )
    note = fields.note_of_classes(options, classes, names)
    column, pos_label = Argument("y_score", names, score), _pos_label(options, layout)
    named = fields.with_names(options, classes)
    return _planned(options, layout, truth, column, note, pos_label=pos_label, classes=named)


def _plan_of_two(options: Options, layout: fields.TaskColumns) -> Plan:
    """Use the score of the positive class of two, by default the second."""
    names = layout.prediction
    truth = _truth_type(options, layout)
    named = layout.named_classes(names)
    classes = (0, 1) if named is None else named
    positive = "1" if options.pos_label is None else options.pos_label
    labels = tuple(map(str, classes))
    if positive not in labels and named is not None:
        raise UsageError(
            f"`{','.join(names)}` holds scores of {' and '.join(labels)}; name the positive one "
            "with --pos-label."
        )
    if positive not in labels:
        raise UsageError(
            f"`{','.join(names)}` holds 2 values a row, and it is not clear which is of "
            f"{positive!r}; name the column of its score, or list both classes with --classes."
        )
    if named is None and len(names) == 2:
        fields.refuse_two_models(options, layout, positive, _COMPARED_BY, is_sure=False)
    index = labels.index(positive)
    score = Argument(
        "y_score", names, fields.vector_type(layout, names, classes, integers=False), index
    )
    note = f"took the score of class {positive} of the two in `{','.join(names)}`."
    return _planned(options, layout, truth, score, (note,), pos_label=_pos_label(options, layout))


def _plan_of_listed(options: Options, layout: fields.TaskColumns, classes: Any) -> Plan:
    """Read two listed classes; the second is positive unless another is named."""
    if isinstance(options.classes, dict):
        raise UsageError(
            "--classes with names needs more than two classes here: a curve of two shows no "
            f"labels; list {','.join(options.classes)}."
        )
    names, labels = layout.prediction, tuple(range(2)) if isinstance(classes, int) else classes
    integers = isinstance(labels[0], int)
    named = fields.read_label(options, "pos_label", integers=integers)
    positive = labels[1] if named is None else named
    if positive not in labels:
        raise UsageError(
            f"--pos-label must be one of the two classes {labels!r}, got {positive!r}."
        )
    if len(names) == 2 and not layout.class_columns:
        fields.refuse_two_models(options, layout, positive, _COMPARED_BY)
    if layout.width(names) is None:
        score = Argument("y_score", names, Numbers())
    else:
        field_type = fields.vector_type(layout, names, classes, integers=False)
        score = Argument("y_score", names, field_type, labels.index(positive))
    truth = fields.label_type(layout, layout.label, classes)
    if isinstance(truth, Labels):
        ignored = fields.read_label(options, "ignore_label", integers=integers)
        among = labels if ignored is None else (*labels, ignored)
        truth = attrs.evolve(truth, among=among)
    is_usual = labels == (0, 1) and positive == 1  # as without --classes, to merge
    return _planned(options, layout, truth, score, (), pos_label=None if is_usual else positive)


def _planned(
    options: Options,
    layout: fields.TaskColumns,
    truth: FieldType,
    score: Argument,
    notes: tuple[str, ...],
    *,
    pos_label: Any,
    classes: Any = None,
) -> Plan:
    """Combine the columns and the configuration of the sketch."""
    ignored = fields.ignored_label(options, truth)
    read = {"classes": classes, "pos_label": pos_label, "ignore_label": ignored}
    make = fields.maker(options, se.PRCurveSketch, **read)
    columns = (Argument("y_true", layout.label, truth), score)
    return Plan(make, columns, notes=notes, is_bounded=options.budget != "none")


def _pos_label(options: Options, layout: fields.TaskColumns) -> Any:
    """Read the positive label in the way the labels of the file are read."""
    integers = not isinstance(layout.row[layout.label[0]], str)
    fields.check_positive(options, layout)
    return fields.read_label(options, "pos_label", integers=integers)


def _truth_type(options: Options, layout: fields.TaskColumns) -> FieldType:
    """Read 0 and 1, or any two labels if the positive one is named."""
    label = layout.row[layout.label[0]]
    if options.pos_label is not None and not isinstance(label, list):
        return Labels(integers=has_integer_labels("auto", label))
    return fields.presence_type(layout, "name the positive one of two labels with --pos-label")


def plan_of_calibration(options: Options, rows: Sequence[RawRow]) -> Plan:
    """Choose the columns and the classes.

    Raises
    ------
    UsageError
        If a column is not in the first rows, or the options do not fit what it holds.
    InvalidInputError
        If the accumulator refuses the options.
    """
    fields.check_one_column(options, "y_true")
    has_only_scores = fields.has_column("y_score", rows) and not fields.has_column("y_prob", rows)
    usual = ("y_score",) if has_only_scores else ("y_prob",)
    layout = fields.lay_out(options, rows, options.y_score or usual, of_scores=True)
    classes = fields.score_classes(options, layout)
    names = layout.prediction
    if classes is None:
        truth = fields.presence_type(layout, "0 and 1 are needed, or a probability for each class")
        probability: FieldType = Numbers()
    else:
        truth = fields.label_type(layout, layout.label, classes)
        probability = fields.vector_type(layout, names, classes, integers=False)
    read = {
        "classes": fields.with_names(options, classes),
        "ignore_label": fields.ignored_label(options, truth),
    }
    make = fields.maker(options, se.CalibrationAccumulator, **read)
    columns = (Argument("y_true", layout.label, truth), Argument("y_prob", names, probability))
    notes = fields.note_of_classes(options, classes, names)
    return Plan(make, columns, notes=notes, is_bounded=True)


def plan_of_groups(options: Options, rows: Sequence[RawRow]) -> Plan:
    """Choose the columns and the configuration.

    Raises
    ------
    UsageError
        If a column is not in the first rows, or no group column was named.
    InvalidInputError
        If the accumulator refuses the options.
    """
    if options.group is None:
        raise UsageError("--task grouped needs --group, the column of the group.")
    if options.budget == "none":
        raise UsageError("--budget none is for curves; groups share a number of bins.")
    fields.check_one_column(options, "y_true", "y_score")
    layout = fields.lay_out(options, rows, options.columns("y_score"), of_scores=True)
    make = fields.maker(options, se.GroupedAUC)
    groups = [row[options.group] for row in rows if row.get(options.group) is not None]
    group = id_type(groups, " as the first groups are", longest=256)
    columns = (
        Argument("y_true", layout.label, fields.presence_type(layout, "0 and 1 are needed")),
        Argument("y_score", layout.prediction, Numbers()),
        Argument("group", (options.group,), group),
    )
    return Plan(make, columns)


PLANS = {
    "binary": plan_of_curves,
    "grouped": plan_of_groups,
    "calibration": plan_of_calibration,
}
