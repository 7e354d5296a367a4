"""Two or more models on the same rows: from options and the first rows to a plan."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from streameval.accumulators.paired import Paired
from streameval.cli.argument_values import NamedTexts
from streameval.cli.errors import UsageError
from streameval.cli.options import option_text, refuse
from streameval.cli.tasks.classification import choose, prediction_column, predictions
from streameval.cli.tasks.columns import (
    GAP_HINT,
    check_columns,
    check_one_column,
    given,
    label_type,
    lay_out,
    maker,
    n_classes,
    note_of_classes,
    refuse_order,
    weight_columns,
)
from streameval.configs.paired import VALUES, PairedConfig
from streameval.errors import InvalidInputError
from streameval.io.columns import Argument, Numbers
from streameval.runs.column_types import value_type
from streameval.runs.counting import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from streameval.cli.options import Options
    from streameval.cli.tasks.columns import TaskColumns
    from streameval.runs.sources import RawRow


def plan(options: Options, rows: Sequence[RawRow]) -> Plan:
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
    names, of_scores = predictions(options, rows)
    others = others_of(options, names, "y_score" if of_scores else "y_pred")
    a = lay_out(options, rows, names, of_scores=of_scores, also=versus)
    if a.prediction != names:
        refuse_order(names, a.prediction, "--versus")
    layouts = [a]
    layouts += (attrs.evolve(a, prediction=one, has_class_columns=False) for one in others)
    make, classes, positive = choose(_maker(names, others), PairedConfig, options, *layouts)
    columns = (
        Argument("y_true", a.label, label_type(a, a.label, classes)),
        *(
            prediction_column(layout, classes, positive, array)
            for layout, array in zip(layouts, _arrays(names, others), strict=True)
        ),
        *weight_columns(options),
    )
    counted = a.label if a.multilabel else a.prediction
    notes = (
        *note_of_classes(options, classes, counted),
        *_note_of_positive(options, a, classes, positive),
    )
    return Plan(make, columns, options.max_bad, notes)


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


def _maker(names: tuple[str, ...], others: Sequence[tuple[str, ...]]) -> Callable[..., Any]:
    """Choose what counts two models, or the pairs of more."""
    if len(others) == 1:
        return Paired
    return partial(Paired.of_models, [*names, *(name for (name,) in others)])


def _arrays(names: tuple[str, ...], others: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Name the arrays that an update takes: those of two models, or a column of each."""
    if len(others) == 1:
        return "y_pred_a", "y_pred_b"
    return (*names, *(name for (name,) in others))


def _note_of_positive(
    options: Options, layout: TaskColumns, classes: Any, positive: int
) -> tuple[str, ...]:
    """Name the positive one of two classes, unless it is 1, as usual."""
    if layout.multilabel or classes == "auto" or n_classes(classes) != 2:
        return ()
    label = positive if isinstance(classes, int) else classes[positive]
    if isinstance(options.classes, NamedTexts):
        label = options.classes.names[positive]
    return () if label == 1 else (f"per-class metrics are for class {label}.",)


def _plan_of_numbers(options: Options, rows: Sequence[RawRow], versus: tuple[str, ...]) -> Plan:
    """Choose the columns of models of numbers."""
    of_classes = ("y_score", "classes", "multilabel", "threshold", "scores", "pos_label")
    refuse(options, (*of_classes, "ignore_label"), "cannot be used with --task regression")
    check_one_column(options, "y_true", "y_pred")
    pred = options.y_pred or ("y_pred",)
    others = others_of(options, pred, "y_pred")
    layout = lay_out(options, rows, pred, of_scores=False, also=versus)
    measures = given(measures=options.measures, budget=options.budget)
    make = maker(_maker(pred, others), classes=None, **measures)
    columns = (
        Argument("y_true", layout.label, Numbers()),
        *(
            Argument(array, names, Numbers())
            for array, names in zip(_arrays(pred, others), (pred, *others), strict=True)
        ),
        *weight_columns(options),
    )
    return Plan(make, columns, options.max_bad)


def _plan_of_values(options: Options, rows: Sequence[RawRow], versus: tuple[str, ...]) -> Plan:
    """Choose the columns of values of models, which have no truth."""
    of_truth = ("y_true", "y_pred", "y_score", "classes", "multilabel", "threshold", "scores")
    why = "cannot be used with --task values and --versus"
    refuse(options, (*of_truth, "pos_label", "ignore_label", "budget"), why)
    if tuple(options.measures or ()) not in {(one,) for one in VALUES}:
        raise UsageError(
            "--task values with --versus needs --measures loss, if lower values are better, or "
            "--measures score, if higher ones are."
        )
    check_one_column(options, "value")
    value = options.value or ("value",)
    others = others_of(options, value, "value")
    check_columns([*value, *versus], rows)
    weights = weight_columns(options, rows)
    chosen = given(measures=options.measures, nan=options.nan)
    make = maker(_maker(value, others), classes=None, **chosen)
    arrays = _arrays(value, others)
    columns = (
        Argument(array, names, value_type(options.nan, GAP_HINT))
        for array, names in zip(arrays, (value, *others), strict=True)
    )
    return Plan(make, (*columns, *weights), options.max_bad)


_OF_TASKS = {"regression": _plan_of_numbers, "values": _plan_of_values}
