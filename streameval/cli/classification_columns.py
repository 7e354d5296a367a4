"""The columns of a classification log, as its first row shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streameval.cli.errors import UsageError
from streameval.cli.layout import has_integer_labels
from streameval.io import Column, Kind, Labels, Numbers, Vectors

if TYPE_CHECKING:
    from streameval.cli.layout import Layout

__all__ = ["label_column", "prediction_column"]

_AS_THE_FIRST = " as the first label is (--score reads scores, --classes lists mixed labels)"


def label_column(layout: Layout, classes: Any) -> Column:
    """Read the truth: a label, or for multilabel a 0 or 1 for each class."""
    return Column("y_true", layout.label, _label_kind(layout, layout.label, classes))


def prediction_column(layout: Layout, classes: Any, positive: int) -> Column:
    """Read the predictions: labels, or scores.

    Where there is a score for each of two classes, that of the `positive` one counts.
    """
    names = layout.prediction
    if not layout.of_scores:
        return Column("y_pred", names, _label_kind(layout, names, classes))
    is_binary = n_classes(classes) == 2 and not layout.multilabel
    if is_binary and layout.width(names) is None:
        return Column("y_pred", names, Numbers())
    kind = _vector_kind(layout, names, classes, integers=False)
    return Column("y_pred", names, kind, positive if is_binary else None)


def n_classes(classes: Any) -> int:
    """Count a fixed set of classes."""
    return classes if isinstance(classes, int) else len(classes)


def _label_kind(layout: Layout, names: tuple[str, ...], classes: Any) -> Kind:
    if layout.multilabel:
        return _vector_kind(layout, names, classes, integers=True)
    listed = classes != "auto"
    integers = has_integer_labels(classes, layout)
    label = layout.row[layout.label[0]]
    if isinstance(label, list):
        raise UsageError(f"`{layout.label[0]}` holds lists; pass --multilabel if they are 0 and 1.")
    if listed and integers and isinstance(label, str):
        raise UsageError(
            f"`{layout.label[0]}` holds text, {label!r}, but the classes are numbers; "
            "list the labels with --classes a,b,..."
        )
    return Labels(integers, listed, "" if listed else _AS_THE_FIRST)


def _vector_kind(layout: Layout, names: tuple[str, ...], classes: Any, *, integers: bool) -> Kind:
    """Read a value for each class, from one column of lists or one column for each."""
    wanted, width = n_classes(classes), layout.width(names)
    if width != wanted:
        found = "one value" if width is None else f"{width} values"
        raise UsageError(
            f"`{','.join(names)}` holds {found} a row, but there are {wanted} classes."
        )
    if len(names) == 1:
        return Vectors(wanted, integers)
    return Labels(integers=True) if integers else Numbers()
