"""Classification: from options and the first rows to a plan."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from streameval.cli.classification_columns import label_column, n_classes, prediction_column
from streameval.cli.errors import UsageError
from streameval.cli.first_rows import Row, check_columns, typical_row
from streameval.cli.layout import Layout, choose_classes, has_integer_labels, read_label
from streameval.cli.plan import Plan
from streameval.confusion import ConfusionAccumulator
from streameval.io import Column, Numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streameval.cli.options import Options

__all__ = ["plan"]


def plan(options: Options, rows: Sequence[Row]) -> Plan:
    """Choose the columns, the classes and the configuration.

    Raises
    ------
    UsageError
        If a column is not in the first row, or the options do not fit what it holds.
    InvalidInputError
        If the accumulator refuses the options.
    """
    layout = _layout(options, rows)
    _check(options, layout)
    classes = choose_classes(options.classes, layout)
    configuration = _configuration(options, classes, layout)
    make = partial(ConfusionAccumulator, classes, **configuration)
    make()  # what it refuses is a mistake in the options, to be told once
    positive = _positive_place(classes, configuration)
    columns = [label_column(layout, classes), prediction_column(layout, classes, positive)]
    if options.weight is not None:
        columns.append(Column("sample_weight", (options.weight,), Numbers()))
    return Plan(make, tuple(columns), options.max_bad, _notes(options, classes, layout))


def _layout(options: Options, rows: Sequence[Row]) -> Layout:
    prediction, of_scores = _prediction(options, rows[0])
    weight = () if options.weight is None else (options.weight,)
    names = (*options.label, *prediction, *weight)
    check_columns(names, rows[0])
    row = typical_row(rows, names)
    return Layout(options.label, prediction, of_scores, options.multilabel, row)


def _prediction(options: Options, first: Row) -> tuple[tuple[str, ...], bool]:
    """Choose the columns of the predictions, and tell whether they are scores."""
    if options.score is not None:
        return options.score, True
    if options.pred is None and "y_pred" not in first and "y_score" in first:
        return ("y_score",), True
    return options.pred or ("y_pred",), False


def _check(options: Options, layout: Layout) -> None:
    """Refuse options that would be ignored."""
    if not layout.of_scores and (options.threshold is not None or options.top_k is not None):
        option = "--threshold" if options.threshold is not None else "--top-k"
        raise UsageError(f"{option} decides by scores, and `{layout.prediction[0]}` holds labels.")
    if not layout.multilabel and (len(layout.label) > 1 or len(options.pred or ()) > 1):
        option = "--label" if len(layout.label) > 1 else "--pred"
        raise UsageError(f"{option} takes one column, unless --multilabel is given.")


def _configuration(options: Options, classes: Any, layout: Layout) -> dict[str, Any]:
    """Give the options of the accumulator that were chosen; the rest keeps its defaults.

    `from_scores` too: the readers give scores as floats and labels as none, so that the state
    merges with those that a program makes.
    """
    integers = layout.multilabel or has_integer_labels(classes, layout)
    chosen = {
        "multilabel": options.multilabel or None,
        "threshold": options.threshold,
        "pos_label": read_label(options.pos_label, "--pos-label", integers=integers),
        "top_k": options.top_k,
        "ignore_label": read_label(options.ignore_label, "--ignore-label", integers=integers),
    }
    return {name: value for name, value in chosen.items() if value is not None}


def _positive_place(classes: Any, configuration: dict[str, Any]) -> int:
    """Find the column of the positive one of two classes, by default the second."""
    if "pos_label" not in configuration:
        return 1
    labels = range(classes) if isinstance(classes, int) else classes
    return labels.index(configuration["pos_label"])


def _notes(options: Options, classes: Any, layout: Layout) -> tuple[str, ...]:
    """Say how many classes were taken from the first row."""
    if options.classes != "auto" or classes == "auto":
        return ()
    name = ",".join(layout.label if layout.multilabel else layout.prediction)
    return (f"took {n_classes(classes)} classes from the first `{name}`; --classes sets them.",)
