"""`ClassCurves` as one picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streameval.configs.options import one_of, positive_integer
from streameval.errors import InvalidInputError
from streameval.results.confusion_text import shorten
from streameval.results.curve_plot import KINDS
from streameval.results.pictures import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from streameval.results.class_curves import ClassCurves

__all__ = ["plot"]


def plot(curves: ClassCurves, ax: Axes | None, *, kind: Any, max_classes: int) -> Axes:
    """Draw the curves of the classes with most positives; see `ClassCurves.plot`."""
    one_of(kind, tuple(KINDS), name="kind")
    both = [(label, curve) for label, curve in curves.items() if curve.n_pos and curve.n_neg]
    if not both:
        raise InvalidInputError("`plot` needs a class that some examples have and some have not.")
    most = positive_integer(max_classes, name="max_classes")
    largest = sorted(both, key=lambda item: -item[1].n_pos)[:most]
    axes = new_axes() if ax is None else ax
    for label, curve in largest:
        # matplotlib reads what stands between dollars as mathematics
        curve.plot(axes, kind=kind, label=shorten(label, 20).replace("$", r"\$"))
    shown = f"{len(largest)} of {len(curves)} classes" if len(largest) < len(curves) else ""
    axes.set_title(shown)
    return axes
