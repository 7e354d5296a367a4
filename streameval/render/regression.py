"""The section of predicted numbers."""

from __future__ import annotations

from collections.abc import Sequence

from streameval.render.entries import Entry, Measured, beside, figure
from streameval.render.markup import Html
from streameval.render.tables import metric_table
from streameval.results.regression import Regression

__all__ = ["heading", "section"]

_NAMES = {
    "rmse": "Root mean squared error",
    "mse": "Mean squared error",
    "mae": "Mean absolute error",
    "r2": "R²",
    "bias": "Bias, prediction over truth",
}


def heading(results: Sequence[Regression]) -> str:  # noqa: ARG001 - as every kind has one
    """Name the task."""
    return "Regression"


def section(entries: Sequence[Entry], level: float) -> Html:
    """Lay out the errors."""
    rows = [
        ("Examples", [Measured.count(entry.result.n) for entry in entries]),
        *(
            (title, [Measured.of(getattr(entry.result, name)) for entry in entries])
            for name, title in _NAMES.items()
        ),
    ]
    table = metric_table(rows, [entry.name for entry in entries], level)
    return beside(figure("Errors", table), [], len(entries))
