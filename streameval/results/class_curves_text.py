"""`ClassCurves` as a text table of at most 80 columns."""

from __future__ import annotations

import html as escaping
from typing import TYPE_CHECKING

from streameval.errors import InvalidInputError
from streameval.metrics.intervals import normal_quantile
from streameval.results.confusion_text import shorten
from streameval.results.curve_text import interval_text, number

if TYPE_CHECKING:
    from streameval.results.class_curves import ClassCurves
    from streameval.results.curve import Curve

__all__ = ["html", "report"]

_COLUMNS = ("roc_auc", "average_precision")


def report(curves: ClassCurves, *, level: float, max_classes: int) -> str:
    """Lay out a line for each class and for each average."""
    normal_quantile(level)
    if not isinstance(max_classes, int) or max_classes < 0:
        raise InvalidInputError(
            f"`max_classes` must be an integer of at least 0, got {max_classes!r}."
        )
    rows = [_class_row(label, curve) for label, curve in curves.items()]
    hidden = len(rows) - max_classes
    if hidden > 0:
        rows[max_classes:] = [(f"... and {hidden:,} more", "", "", "")]
    rows += [_average_row(curves, average) for average in ("macro", "weighted", "micro")]
    rows.insert(0, ("class", "roc_auc", "average_precision", "positives"))
    width, last = (max(len(row[place]) for row in rows) for place in (0, 3))
    table = [
        f"{label:<{width}}  {auc:>10}  {precision:>17}  {count:>{last}}".rstrip()
        for label, auc, precision, count in rows
    ]
    return "\n".join([_sizes(curves), "", *table, *_open(curves)])


def html(curves: ClassCurves) -> str:
    """Lay the report out for a notebook."""
    return f"<pre>{escaping.escape(report(curves, level=0.95, max_classes=50))}</pre>"


def _sizes(curves: ClassCurves) -> str:
    state = "exact" if curves.exact else "cells of several scores"
    return f"n = {curves.n:,}, {len(curves):,} classes, {state}"


def _class_row(label: object, curve: Curve) -> tuple[str, str, str, str]:
    values = (number(getattr(curve, name)) for name in _COLUMNS)
    return shorten(label), *values, f"{curve.n_pos:,}"  # type: ignore[return-value]


def _average_row(curves: ClassCurves, average: str) -> tuple[str, str, str, str]:
    metrics = curves.metrics()
    values = (number(metrics[f"{name}_{average}"]) for name in _COLUMNS)
    return f"{average} mean", *values, ""  # type: ignore[return-value]


def _open(curves: ClassCurves) -> list[str]:
    """Say how far the averages are certified."""
    if curves.exact:
        return []
    lines = (
        f"{name:<26}  {interval_text(value.low, value.high)}"
        for name, value in curves.metrics().items()
    )
    return ["", "certified intervals", *lines]
