"""Calibration: from options and the first rows to a plan, from a result to gates and JSON."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from streameval.calibration import CalibrationAccumulator
from streameval.cli.layout import (
    check_one_column,
    label_kind,
    lay_out,
    note_of_classes,
    presence_kind,
    score_classes,
    vector_kind,
    weight_columns,
)
from streameval.cli.plan import Plan
from streameval.cli.readings import Metric, Reading, check_name, refuse_brackets
from streameval.io import Column, Kind, Numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from streameval.cli.first_rows import Row
    from streameval.cli.options import Options
    from streameval.results.calibration import Calibration

__all__ = ["HEADLINE", "check", "describe", "draw", "measure", "names", "plan", "report"]

HEADLINE = ("log_loss", "pcopc", "ece")

_COUNTS = ("n", "n_clipped")
_PER_CLASS = ("pcopc", "mean_prediction", "mean_label")
_CURVE = ("mean_prediction", "mean_label", "weight")


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


def names(result: Calibration) -> list[str]:
    """List the metrics of a result."""
    return list(result.as_dict())


def check(result: Calibration, metric: Metric) -> None:
    """Raise UsageError if the result has no such metric."""
    check_name(metric, names(result))
    refuse_brackets(metric)


def measure(result: Calibration, metric: Metric, level: float) -> Reading:
    """Read a metric; only a count is its own interval.

    Raises
    ------
    UsageError
        If the result has no such metric.
    """
    check(result, metric)
    number = result.as_dict()[metric.name]
    needs_none = metric.name in _COUNTS or level == 0
    return Reading(number, why_none="" if needs_none else "metrics of calibration have none")


def describe(result: Calibration, level: float) -> dict[str, Any]:
    """Give the entries of the JSON object."""
    curve = zip(_CURVE, result.reliability_curve(), strict=True)
    entries = {
        "n": result.n,
        "metrics": result.as_dict(),
        "intervals": {},
        "level": level,
        "reliability": {name: array.tolist() for name, array in curve},
    }
    return entries | _of_classes(result) if result.labels else entries


def report(result: Calibration, level: float) -> str:  # noqa: ARG001 - there are no intervals
    """Lay the metrics out as a text table."""
    return result.report()


def draw(result: Calibration, ax: Axes, label: str | None) -> None:
    """Draw the reliability diagram."""
    result.plot(ax, label=label)


def _of_classes(result: Calibration) -> dict[str, Any]:
    columns = [list(getattr(result, name)) for name in _PER_CLASS]
    rows = [dict(zip(_PER_CLASS, values, strict=True)) for values in zip(*columns, strict=True)]
    names = map(str, result.labels)
    return {"classes": list(result.labels), "per_class": dict(zip(names, rows, strict=True))}
