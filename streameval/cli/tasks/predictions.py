"""Predictions of one model, or of several on the same rows: from options and rows to a plan."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

import streameval as se
from streameval.cli.errors import UsageError
from streameval.cli.options import Options, option_text, refuse
from streameval.cli.tasks import fields
from streameval.configs.paired import VALUES
from streameval.errors import InvalidInputError
from streameval.io.columns import Argument, Numbers, has_integer_labels, says_truth, value_type
from streameval.runs.counting import Plan
from streameval.runs.sources import RawRow

if TYPE_CHECKING:
    from streameval.accumulators.base import Accumulator

_MOST_CLASSES = 10_000
_BYTES_OF_PAIR = 56  # of two classes: a count, and derivatives of several metrics at a time


def plan_of_classes(options: Options, rows: Sequence[RawRow]) -> Plan:
    """Choose the columns, the classes and the configuration.

    Raises
    ------
    UsageError
        If a column is not in the first rows, or the options do not fit what it holds.
    InvalidInputError
        If the accumulator refuses the options.
    """
    prediction, of_scores = _predictions(options, rows)
    layout = fields.lay_out(options, rows, prediction, of_scores=of_scores)
    make, classes, positive = _choose(se.ConfusionAccumulator, options, layout)
    columns = (
        Argument("y_true", layout.label, fields.label_type(layout, layout.label, classes)),
        _prediction_column(layout, classes, positive, "y_pred"),
    )
    counted = layout.label if layout.multilabel else layout.prediction
    notes = fields.note_of_classes(options, classes, counted)
    return Plan(make, columns, notes=notes, is_bounded=True)


def _choose(
    accumulator: type[Accumulator[Any, Any]],
    options: Options,
    *layouts: fields.TaskColumns,
    make: Callable[..., Any] | None = None,
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
    elif not options.multilabel:
        _check_number(fields.n_classes(classes))
    labels = _labels(options, classes, first)
    named = fields.with_names(options, classes)
    made = fields.maker(options, accumulator, make, classes=named, **labels)
    positive = _positive_index(classes, labels)
    for layout in layouts:
        _refuse_two_models(options, layout, classes, positive)
    return made, classes, positive


def _predictions(options: Options, rows: Sequence[RawRow]) -> tuple[tuple[str, ...], bool]:
    """Choose the columns of the predictions, and tell whether they are scores."""
    if options.y_score is not None:
        return options.y_score, True
    if (
        options.y_pred is None
        and not fields.has_column("y_pred", rows)
        and fields.has_column("y_score", rows)
    ):
        return ("y_score",), True
    return options.columns("y_pred"), False


def _check_options(options: Options, layout: fields.TaskColumns) -> None:
    """Refuse options that would be ignored."""
    if not layout.of_scores:
        why = f"is for scores, and `{layout.prediction[0]}` holds labels"
        refuse(options, ["threshold", "scores", "top_k"], why)
    if not layout.multilabel:
        fields.check_one_column(
            options, "y_true", "y_pred", unless=", unless --multilabel is given"
        )


def _refuse_fractions(layout: fields.TaskColumns) -> None:
    """Refuse fractions as observed labels, and say what the numbers might be."""
    for name in (*layout.label, *layout.prediction):
        value = layout.row[name]
        if isinstance(value, float) and value != value // 1:
            raise UsageError(
                f"`{name}` holds fractions, {value!r}, which are not labels; --task regression "
                "compares numbers, and --y-score names a score."
            )


def _check_number(n_classes: int) -> None:
    """Refuse so many classes that the report would take minutes and most of the memory."""
    if n_classes > _MOST_CLASSES:
        size = round(n_classes**2 * _BYTES_OF_PAIR / 1e9)
        raise UsageError(
            f"the matrix of {n_classes:,} classes and the intervals of its report take {size} GB, "
            f"so there may be {_MOST_CLASSES:,}; --classes auto counts those that occur, up to "
            "4,096, and --task values a column that says whether each row is right."
        )


def _refuse_two_models(
    options: Options, layout: fields.TaskColumns, classes: Any, positive: int
) -> None:
    """Refuse two named columns for two classes if they are not the probabilities of both."""
    is_of_two = layout.of_scores and len(layout.prediction) == 2 and fields.n_classes(classes) == 2
    if is_of_two and not layout.multilabel:
        label = positive if isinstance(classes, int) else classes[positive]
        fields.refuse_two_models(options, layout, label)


def _classes(options: Options, layout: fields.TaskColumns) -> Any:
    """Choose the classes: the typed ones, or the classes of the first row.

    Returns
    -------
    int, tuple of int, tuple of str, or "auto"
    """
    if options.classes not in (None, "auto"):
        return fields.score_classes(options, layout)
    if layout.multilabel:
        width = layout.width(layout.label)
        if width is None:
            name = layout.label[0]
            raise UsageError(f"--multilabel needs a list of 0 and 1, or columns, in `{name}`.")
        return width
    if not layout.of_scores:
        return "auto"
    return fields.score_classes(options, layout) or 2


def _labels(options: Options, classes: Any, layout: fields.TaskColumns) -> dict[str, Any]:
    """Read the options that are labels."""
    integers = layout.multilabel or has_integer_labels(classes, layout.first_label)
    _check_positive(options, layout, classes, integers=integers)
    read = partial(fields.read_label, options, integers=integers)
    return fields.given(pos_label=read("pos_label"), ignore_label=read("ignore_label"))


def _check_positive(
    options: Options, layout: fields.TaskColumns, classes: Any, *, integers: bool
) -> None:
    """Refuse a positive label that is text, as in the file, unless the classes are listed."""
    typed, label = options.pos_label, layout.first_label
    is_text = isinstance(label, str) and not (fields.is_integer_text(label) or says_truth(label))
    if typed is None or classes != 2 or not (integers and is_text) or layout.multilabel:
        return
    fields.check_positive(options, layout)
    raise UsageError(
        f"--pos-label {shlex.quote(typed)} needs the labels listed: add "
        f"{layout.classes_to_type(typed)}."
    )


def _positive_index(classes: Any, labels: dict[str, Any]) -> int:
    """Find the column of the positive one of two classes, by default the second."""
    if "pos_label" not in labels:
        return 1
    every = range(classes) if isinstance(classes, int) else classes
    return every.index(labels["pos_label"])


def _prediction_column(
    layout: fields.TaskColumns, classes: Any, positive: int, array: str
) -> Argument:
    """Read the predictions as an array of the accumulator: labels, or scores.

    With a score for each of two classes, the score of the `positive` one counts.
    """
    names = layout.prediction
    if not layout.of_scores:
        return Argument(array, names, fields.label_type(layout, names, classes))
    is_binary = fields.n_classes(classes) == 2 and not layout.multilabel
    if is_binary and layout.width(names) is None:
        return Argument(array, names, Numbers())
    field_type = fields.vector_type(layout, names, classes, integers=False)
    return Argument(array, names, field_type, positive if is_binary else None)


def plan_of_models(options: Options, rows: Sequence[RawRow]) -> Plan:
    """Choose the columns, the classes and the configuration; all models are read alike.

    Raises
    ------
    UsageError
        If a column is not in the first rows, or the options do not fit what it holds.
    InvalidInputError
        If the accumulator refuses the options.
    """
    if options.versus is None:
        raise UsageError("--task paired needs --versus, the predictions of the other model.")
    if options.task != "values":
        refuse(options, ["value", "nan"], "is for --task values")
    of_models = _OF_TASKS.get(options.task, _plan_of_classes)
    try:
        return of_models(options, rows, options.versus)
    except InvalidInputError as error:
        raise error.renamed("models", "versus") from None


def _plan_of_classes(options: Options, rows: Sequence[RawRow], versus: tuple[str, ...]) -> Plan:
    """Choose the columns of models of classes."""
    names, of_scores = _predictions(options, rows)
    models, count = _models(options, names, "y_score" if of_scores else "y_pred")
    a = fields.lay_out(options, rows, names, of_scores=of_scores, also=versus)
    if a.prediction != names:
        fields.refuse_order(names, a.prediction, "--versus")
    _, *others = models.values()
    for one in others if a.class_columns else ():
        found = fields.lay_out(options, rows, one, of_scores=True)
        by_class = dict(zip(found.class_columns, found.prediction, strict=False))
        in_order = tuple(by_class[of] for of in a.class_columns if of in by_class)
        if len(in_order) == len(one) and in_order != one:
            fields.refuse_order(one, in_order, "--y-score")
    layouts = [a, *(attrs.evolve(a, prediction=one, class_columns=()) for one in others)]
    make, classes, positive = _choose(se.Paired, options, *layouts, make=count)
    columns = (
        Argument("y_true", a.label, fields.label_type(a, a.label, classes)),
        *(
            _prediction_column(layout, classes, positive, array)
            for layout, array in zip(layouts, models, strict=True)
        ),
    )
    counted = a.label if a.multilabel else a.prediction
    notes = (
        *fields.note_of_classes(options, classes, counted),
        *_note_of_positive(options, a, classes, positive),
    )
    return Plan(make, columns, notes=notes)


def others_of(options: Options, names: tuple[str, ...], option: str) -> list[tuple[str, ...]]:
    """List the columns of each other model: one, where that of A is one.

    Raises
    ------
    UsageError
        If a model is named twice.
    """
    versus = options.versus or ()
    others: list[tuple[str, ...]] = [(name,) for name in versus] if len(names) == 1 else [versus]
    if names in others:
        raise UsageError(f"--versus is the column of {option_text(option)} itself.")
    for at, one in enumerate(others):
        if one in others[:at]:
            raise UsageError(f"--versus has the column {','.join(one)!r} twice.")
    return others


def _models(
    options: Options, names: tuple[str, ...], option: str
) -> tuple[dict[str, tuple[str, ...]], Callable[..., Any]]:
    """List the columns of each model by the array that an update takes, and what counts them.

    Raises
    ------
    UsageError
        If a model is named twice.
    """
    others = others_of(options, names, option)
    if len(others) == 1:
        return {"y_pred_a": names, "y_pred_b": others[0]}, se.Paired
    listed = [*names, *(name for (name,) in others)]
    return {name: (name,) for name in listed}, partial(se.Paired.of_models, listed)


def _note_of_positive(
    options: Options, layout: fields.TaskColumns, classes: Any, positive: int
) -> tuple[str, ...]:
    """Name the positive one of two classes, unless it is 1, as usual."""
    if layout.multilabel or classes == "auto" or fields.n_classes(classes) != 2:
        return ()
    label = positive if isinstance(classes, int) else classes[positive]
    if isinstance(options.classes, dict):
        label = [*options.classes.values()][positive]
    return () if label == 1 else (f"per-class metrics are for class {label}.",)


def _plan_of_numbers(options: Options, rows: Sequence[RawRow], versus: tuple[str, ...]) -> Plan:
    """Choose the columns of models of numbers."""
    fields.check_one_column(options, "y_true", "y_pred")
    pred = options.columns("y_pred")
    models, count = _models(options, pred, "y_pred")
    layout = fields.lay_out(options, rows, pred, of_scores=False, also=versus)
    make = fields.maker(options, se.Paired, count, classes=None)
    columns = (
        Argument("y_true", layout.label, Numbers()),
        *(Argument(array, names, Numbers()) for array, names in models.items()),
    )
    return Plan(make, columns)


def _plan_of_values(options: Options, rows: Sequence[RawRow], versus: tuple[str, ...]) -> Plan:
    """Choose the columns of values of models, which have no truth."""
    if tuple(options.measures or ()) not in {(one,) for one in VALUES}:
        raise UsageError(
            "--task values with --versus needs --measures loss, if lower values are better, or "
            "--measures score, if higher ones are."
        )
    fields.check_one_column(options, "value")
    value = options.columns("value")
    models, count = _models(options, value, "value")
    fields.check_columns([*value, *versus], rows)
    make = fields.maker(options, se.Paired, count, classes=None)
    number = value_type(options.nan, fields.GAP_HINT)
    return Plan(make, tuple(Argument(array, names, number) for array, names in models.items()))


_OF_TASKS = {"regression": _plan_of_numbers, "values": _plan_of_values}

PLANS = {"classification": plan_of_classes, "paired": plan_of_models}
