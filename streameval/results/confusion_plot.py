"""A `Confusion` as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from streameval.errors import InvalidInputError
from streameval.results.confusion_html import row_shares
from streameval.results.confusion_reading import Reading
from streameval.results.confusion_text import shorten
from streameval.results.confusion_values import accuracy
from streameval.results.pictures import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot"]

_MAX_WRITTEN = 20


def plot(reading: Reading, ax: Axes | None, *, normalize: bool) -> Axes:
    """Draw the matrix on `ax`; see `Confusion.plot`."""
    matrix = reading.counts
    if matrix.ndim == 3:
        raise InvalidInputError("`plot` draws one matrix; multilabel counts have one a label.")
    axes: Axes = new_axes() if ax is None else ax
    shades = row_shares(matrix) if normalize else matrix
    if shades.size:
        image = axes.imshow(shades, cmap="Blues", vmin=0, vmax=1 if normalize else None)
        scale = "share of the true class" if normalize else "examples"
        axes.figure.colorbar(image, ax=axes, label=scale)
    axes.set(xlabel="prediction", ylabel="truth", title=f"accuracy {accuracy(reading):.4f}")
    if len(matrix) <= _MAX_WRITTEN:
        most = 1.0 if normalize else max(shades.max(initial=0.0), 1e-300)  # the darkest shade
        _write_cells(axes, reading, shades / most)
    return axes


def _write_cells(ax: Axes, reading: Reading, shades: npt.NDArray[Any]) -> None:
    matrix, ticks = reading.counts, range(len(reading.labels))
    # matplotlib reads what stands between dollars as mathematics
    labels = [shorten(label, 12).replace("$", r"\$") for label in reading.labels]
    slanted = max(map(len, labels), default=0) > 4
    ax.set_xticks(ticks, labels, rotation=45 if slanted else 0, ha="right" if slanted else "center")
    ax.set_yticks(ticks, labels)
    for i, j in zip(*np.nonzero(matrix), strict=True):
        colour = "white" if shades[i, j] > 0.5 else "black"
        ax.text(j, i, f"{matrix[i, j]:,}", ha="center", va="center", color=colour)
