"""`ClassCurves` as one picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from streameval.configs.options import one_of, positive_integer
from streameval.errors import InvalidInputError
from streameval.inputs.labels import Label
from streameval.results.confusion_text import shorten
from streameval.results.curve import Curve
from streameval.results.curve_plot import KINDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot"]


def plot(curves: Mapping[Label, Curve], ax: Axes | None, *, kind: Any, max_classes: int) -> Axes:
    """Draw the curves of the classes with most positives; see `ClassCurves.plot`."""
    one_of(kind, tuple(KINDS), name="kind")
    both = [(label, curve) for label, curve in curves.items() if curve.n_pos and curve.n_neg]
    if not both:
        raise InvalidInputError("`plot` needs a class that some examples have and some have not.")
    most = positive_integer(max_classes, name="max_classes")
    largest = sorted(both, key=lambda item: -item[1].n_pos)[:most]
    hidden, axes = len(curves) - len(largest), ax
    for label, curve in largest:
        # matplotlib reads what stands between dollars as mathematics
        axes = curve.plot(axes, kind=kind, label=shorten(label, 20).replace("$", r"\$"))
    assert axes is not None  # noqa: S101 - tells the type checker: there is a class
    axes.set_title(f"{len(largest)} of {len(curves)} classes" if hidden else "")
    return axes
