"""Where truth and prediction stand in a row of a classification log."""

from __future__ import annotations

from typing import Any

import attrs

from streameval.cli.errors import UsageError
from streameval.cli.first_rows import Row
from streameval.io import integer_or_text

__all__ = ["Layout", "choose_classes", "has_integer_labels", "read_label"]


@attrs.frozen
class Layout:
    """The columns of truth and prediction, and a row that shows what is in them.

    Parameters
    ----------
    label, prediction : tuple of str
        The names of the columns.
    of_scores : bool
        Whether the predictions are scores.
    multilabel : bool
        Whether each class is present or absent on its own.
    row : Row
        A row that has all the columns.
    """

    label: tuple[str, ...]
    prediction: tuple[str, ...]
    of_scores: bool
    multilabel: bool
    row: Row

    def width(self, names: tuple[str, ...]) -> int | None:
        """Give the number of values a row has in some columns; None for a single one."""
        if len(names) != 1:
            return len(names)
        value = self.row[names[0]]
        return len(value) if isinstance(value, list) else None


def choose_classes(typed: int | tuple[str, ...] | str, layout: Layout) -> Any:
    """Settle the classes: as they were typed, or as many as the first row shows.

    Returns
    -------
    int, tuple of int, tuple of str, or "auto"
    """
    if isinstance(typed, tuple):
        labels = tuple(map(integer_or_text, typed))
        return labels if all(isinstance(label, int) for label in labels) else typed
    if isinstance(typed, int):
        return typed
    if layout.multilabel:
        width = layout.width(layout.label)
        if width is None:
            name = layout.label[0]
            raise UsageError(f"--multilabel needs a list of 0 and 1, or columns, in `{name}`.")
        return width
    return (layout.width(layout.prediction) or 2) if layout.of_scores else "auto"


def has_integer_labels(classes: Any, layout: Layout) -> bool:
    """Tell whether labels are integers: by the classes, else by the first label."""
    if isinstance(classes, tuple):
        return isinstance(classes[0], int)
    return isinstance(classes, int) or not isinstance(layout.row[layout.label[0]], str)


def read_label(text: str | None, option: str, *, integers: bool) -> int | str | None:
    """Read a label that was typed, as the labels of the file are."""
    label = integer_or_text(text) if text is not None and integers else text
    if integers and isinstance(label, str):
        raise UsageError(f"{option} must be an integer as the labels are, got {text!r}.")
    return label
