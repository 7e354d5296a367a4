"""A `Confusion` as a notebook shows it."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from streameval.results.confusion_text import number, shorten

if TYPE_CHECKING:
    from streameval.results.confusion import Confusion

__all__ = ["page"]

_MAX_CELLS = 20
_CELL = "text-align:right;padding:2px 8px;"


def page(result: Confusion) -> str:
    """Lay out the headline, the matrix with shaded cells, and the metrics."""
    counted = f"<p><b>Confusion</b> of {result.n:,} examples, {len(result.labels)} classes</p>"
    return f"<div>{counted}{_matrix(result)}{_metrics(result)}</div>"


def _metrics(result: Confusion) -> str:
    with_interval = result._state.n.is_whole
    rows = []
    for name in result.metric_names:
        cells = [f"<th style='text-align:left'>{name}</th>", _cell(number(result.value(name)))]
        if with_interval:
            low, high = result.confidence(name)
            cells.append(_cell(f"[{number(low)}, {number(high)}]"))
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(rows)}</table>"


def _matrix(result: Confusion) -> str:
    matrix = result.matrix
    if matrix.ndim == 3:
        return ""
    size = min(len(matrix), _MAX_CELLS)
    labels = [html.escape(shorten(label)) for label in result.labels[:size]]
    head = "".join(f"<th style='{_CELL}'>{label}</th>" for label in labels)
    shades = _row_shares(matrix)
    rows = "".join(
        f"<tr><th style='{_CELL}'>{labels[i]}</th>"
        + "".join(_cell(f"{matrix[i, j]:,}", shade=shades[i, j]) for j in range(size))
        + "</tr>"
        for i in range(size)
    )
    cut = f"<p>The first {size} of {len(matrix)} classes.</p>" if size < len(matrix) else ""
    corner = f"<th style='{_CELL}'>truth \\ prediction</th>"
    return f"<table><tr>{corner}{head}</tr>{rows}</table>{cut}"


def _row_shares(matrix: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    totals = matrix.sum(axis=1, keepdims=True, dtype=np.float64)
    shares = np.zeros(matrix.shape)
    np.divide(matrix, totals, out=shares, where=totals > 0)
    return shares


def _cell(text: str, shade: float = 0.0) -> str:
    colour = f"background:rgba(31,119,180,{0.6 * shade:.3f});" if shade else ""
    return f"<td style='{_CELL}{colour}'>{text}</td>"
