"""Classification: from options and the first rows to a plan."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from streameval.accumulators.confusion import ConfusionAccumulator
from streameval.cli.errors import UsageError
from streameval.cli.tasks.columns import (
    TaskColumns,
    check_one_column,
    check_positive,
    configured,
    given,
    has_column,
    is_integer_text,
    label_type,
    lay_out,
    listed_classes,
    maker,
    n_classes,
    note_of_classes,
    read_label,
    refuse_two_models,
    typed_label,
    vector_type,
    weight_columns,
    with_names,
)
from streameval.configs.confusion import ConfusionConfig
from streameval.io.columns import Argument, Numbers
from streameval.runs.column_types import has_integer_labels, says_truth
from streameval.runs.counting import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from streameval.cli.options import Options
    from streameval.runs.sources import RawRow


def plan(options: Options, rows: Sequence[RawRow]) -> Plan:
    """Choose the columns, the classes and the configuration.

    Raises
    ------
    UsageError
        If a column is not in the first rows, or the options do not fit what it holds.
    InvalidInputError
        If the accumulator refuses the options.
    """
    prediction, of_scores = predictions(options, rows)
    layout = lay_out(options, rows, prediction, of_scores=of_scores)
    make, classes, positive = choose(ConfusionAccumulator, ConfusionConfig, options, layout)
    columns = (
        Argument("y_true", layout.label, label_type(layout, layout.label, classes)),
        prediction_column(layout, classes, positive, "y_pred"),
        *weight_columns(options),
    )
    counted = layout.label if layout.multilabel else layout.prediction
    notes = note_of_classes(options, classes, counted)
    return Plan(make, columns, options.max_bad, notes, is_bounded=True)


def choose(
    cls: Callable[..., Any], config: type, options: Options, *layouts: TaskColumns
) -> tuple[Callable[[], Any], Any, int]:
    """Choose the classes and the configuration, for predictions in one or more layouts.

    Returns
    -------
    make : callable
        Makes an accumulator of the class.
    classes : int, tuple of int, tuple of str, or "auto"
    positive : int
        The index of the positive one of two classes.
    """
    for layout in layouts:
        _check_options(options, layout)
    first = layouts[0]
    classes = _classes(options, first)
    if classes == "auto":
        for layout in layouts:
            _refuse_fractions(layout)
    configuration = configured(options, config) | _labels(options, classes, first)
    make = maker(cls, **configuration | {"classes": with_names(options, classes)})
    positive = _positive_index(classes, configuration)
    for layout in layouts:
        _refuse_two_models(options, layout, classes, positive)
    return make, classes, positive


def predictions(options: Options, rows: Sequence[RawRow]) -> tuple[tuple[str, ...], bool]:
    """Choose the columns of the predictions, and tell whether they are scores."""
    if options.y_score is not None:
        return options.y_score, True
    if options.y_pred is None and not has_column("y_pred", rows) and has_column("y_score", rows):
        return ("y_score",), True
    return options.y_pred or ("y_pred",), False


def _check_options(options: Options, layout: TaskColumns) -> None:
    """Refuse options that would be ignored."""
    of_scores = {
        "--threshold": options.threshold,
        "--scores": options.scores,
        "--top-k": options.top_k,
    }
    option = next((name for name, value in of_scores.items() if value is not None), None)
    if not layout.of_scores and option is not None:
        raise UsageError(f"{option} is for scores, and `{layout.prediction[0]}` holds labels.")
    if not layout.multilabel:
        check_one_column(options, "y_true", "y_pred", unless=", unless --multilabel is given")


def _refuse_fractions(layout: TaskColumns) -> None:
    """Refuse fractions as observed labels, and say what the numbers might be."""
    for name in (*layout.label, *layout.prediction):
        value = layout.row[name]
        if isinstance(value, float) and value != value // 1:
            raise UsageError(
                f"`{name}` holds fractions, {value!r}, which are not labels; --task regression "
                "compares numbers, and --y-score names a score."
            )


def _refuse_two_models(options: Options, layout: TaskColumns, classes: Any, positive: int) -> None:
    """Refuse two named columns for two classes if they are not the probabilities of both."""
    is_of_two = layout.of_scores and len(layout.prediction) == 2 and n_classes(classes) == 2
    if is_of_two and not layout.multilabel:
        label = positive if isinstance(classes, int) else classes[positive]
        refuse_two_models(options, layout, label)


def _classes(options: Options, layout: TaskColumns) -> Any:
    """Choose the classes: the typed ones, or the classes of the first row.

    Returns
    -------
    int, tuple of int, tuple of str, or "auto"
    """
    if isinstance(options.classes, tuple):
        return listed_classes(options.classes)
    if isinstance(options.classes, int):
        return options.classes
    if layout.multilabel:
        width = layout.width(layout.label)
        if width is None:
            name = layout.label[0]
            raise UsageError(f"--multilabel needs a list of 0 and 1, or columns, in `{name}`.")
        return width
    if not layout.of_scores:
        return "auto"
    return layout.named_classes(layout.prediction) or layout.width(layout.prediction) or 2


def _labels(options: Options, classes: Any, layout: TaskColumns) -> dict[str, Any]:
    """Read the options that are labels."""
    integers = layout.multilabel or has_integer_labels(classes, layout.first_label)
    _check_positive(options, layout, classes, integers=integers)
    return given(
        pos_label=read_label(
            typed_label(options, options.pos_label), "--pos-label", integers=integers
        ),
        ignore_label=read_label(
            typed_label(options, options.ignore_label), "--ignore-label", integers=integers
        ),
    )


def _check_positive(options: Options, layout: TaskColumns, classes: Any, *, integers: bool) -> None:
    """Refuse a positive label that is text, as in the file, unless the classes are listed."""
    typed, label = options.pos_label, layout.first_label
    is_text = isinstance(label, str) and not (is_integer_text(label) or says_truth(label))
    if typed is None or classes != 2 or not (integers and is_text) or layout.multilabel:
        return
    check_positive(options, layout)
    raise UsageError(
        f"--pos-label {shlex.quote(typed)} needs the labels listed: add "
        f"{layout.classes_to_type(typed)}."
    )


def _positive_index(classes: Any, configuration: dict[str, Any]) -> int:
    """Find the column of the positive one of two classes, by default the second."""
    if "pos_label" not in configuration:
        return 1
    labels = range(classes) if isinstance(classes, int) else classes
    return labels.index(configuration["pos_label"])


def prediction_column(layout: TaskColumns, classes: Any, positive: int, array: str) -> Argument:
    """Read the predictions as an array of the accumulator: labels, or scores.

    With a score for each of two classes, the score of the `positive` one counts.
    """
    names = layout.prediction
    if not layout.of_scores:
        return Argument(array, names, label_type(layout, names, classes))
    is_binary = n_classes(classes) == 2 and not layout.multilabel
    if is_binary and layout.width(names) is None:
        return Argument(array, names, Numbers())
    field_type = vector_type(layout, names, classes, integers=False)
    return Argument(array, names, field_type, positive if is_binary else None)
