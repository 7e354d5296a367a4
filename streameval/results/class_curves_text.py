"""`ClassCurves` as a text table of at most 80 columns."""

from __future__ import annotations

from collections.abc import Mapping

from streameval.errors import InvalidInputError
from streameval.inputs.labels import Label
from streameval.metrics.bounded import Bounded
from streameval.results.confusion_text import shorten
from streameval.results.curve import Curve
from streameval.results.number_text import interval_text, number

__all__ = ["report"]

_COLUMNS = ("roc_auc", "average_precision")
_AVERAGES = ("macro", "weighted", "micro")

Row = tuple[str, str, str, str]


def report(
    heading: str,
    curves: Mapping[Label, Curve],
    averages: Mapping[str, Bounded],
    *,
    max_classes: int,
) -> str:
    """Lay out a line for each class and for each average."""
    if not isinstance(max_classes, int) or max_classes < 0:
        raise InvalidInputError(
            f"`max_classes` must be an integer of at least 0, got {max_classes!r}."
        )
    rows = [_class_row(label, curve) for label, curve in curves.items()]
    hidden = len(rows) - max_classes
    if hidden > 0:
        rows[max_classes:] = [(f"... and {hidden:,} more", "", "", "")]
    rows += [_average_row(averages, average) for average in _AVERAGES]
    rows.insert(0, ("class", *_COLUMNS, "positives"))
    width, last = (max(len(row[place]) for row in rows) for place in (0, 3))
    table = [
        f"{label:<{width}}  {auc:>10}  {precision:>17}  {count:>{last}}".rstrip()
        for label, auc, precision, count in rows
    ]
    return "\n".join([heading, "", *table, *_open(averages)])


def _class_row(label: Label, curve: Curve) -> Row:
    auc, precision = number(curve.roc_auc), number(curve.average_precision)
    return shorten(label), auc, precision, f"{curve.n_pos:,}"


def _average_row(averages: Mapping[str, Bounded], average: str) -> Row:
    auc, precision = (number(averages[f"{name}_{average}"]) for name in _COLUMNS)
    return f"{average} mean", auc, precision, ""


def _open(averages: Mapping[str, Bounded]) -> list[str]:
    """Say how far the averages are certified, where something is open."""
    lines = [
        f"{name:<26}  {interval_text(value.low, value.high)}"
        for name, value in averages.items()
        if not value.exact
    ]
    return ["", "certified intervals", *lines] if lines else []
