"""A `Confusion` as a notebook shows it."""

from __future__ import annotations

import html
from typing import Any

import numpy as np
import numpy.typing as npt

from streameval.results.confusion_intervals import confidence
from streameval.results.confusion_reading import Reading
from streameval.results.confusion_text import number, shorten
from streameval.results.confusion_values import metric_names, value

__all__ = ["page", "row_shares"]

_MAX_CELLS = 20
_CELL = "text-align:right;padding:2px 8px;"


def page(reading: Reading) -> str:
    """Lay out the headline, the matrix with shaded cells, and the metrics."""
    size = f"{reading.n:,} examples, {len(reading.labels)} classes"
    counted = f"<p><b>Confusion</b> of {size}</p>"
    return f"<div>{counted}{_matrix(reading)}{_metrics(reading)}</div>"


def _metrics(reading: Reading) -> str:
    with_interval = reading.has_whole_weights
    rows = []
    for name in metric_names(reading):
        cells = [
            f"<th style='text-align:left'>{name}</th>",
            _cell(number(value(reading, name))),
        ]
        if with_interval:
            low, high = confidence(reading, name, level=0.95)
            cells.append(_cell(f"[{number(low)}, {number(high)}]"))
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(rows)}</table>"


def _matrix(reading: Reading) -> str:
    matrix = reading.counts
    if matrix.ndim == 3:
        return ""
    size = min(len(matrix), _MAX_CELLS)
    labels = [html.escape(shorten(label)) for label in reading.labels[:size]]
    head = "".join(f"<th style='{_CELL}'>{label}</th>" for label in labels)
    shades = row_shares(matrix)
    rows = "".join(
        f"<tr><th style='{_CELL}'>{labels[i]}</th>"
        + "".join(_cell(f"{matrix[i, j]:,}", shade=shades[i, j]) for j in range(size))
        + "</tr>"
        for i in range(size)
    )
    cut = f"<p>The first {size} of {len(matrix)} classes.</p>" if size < len(matrix) else ""
    corner = f"<th style='{_CELL}'>truth \\ prediction</th>"
    return f"<table><tr>{corner}{head}</tr>{rows}</table>{cut}"


def row_shares(matrix: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Divide each row of a matrix by its total; rows of nothing stay zeros."""
    totals = matrix.sum(axis=1, keepdims=True, dtype=np.float64)
    shares = np.zeros(matrix.shape)
    np.divide(matrix, totals, out=shares, where=totals > 0)
    return shares


def _cell(text: str, shade: float = 0.0) -> str:
    colour = f"background:rgba(31,119,180,{0.6 * shade:.3f});" if shade else ""
    return f"<td style='{_CELL}{colour}'>{text}</td>"
