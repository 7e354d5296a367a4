"""Results in a notebook: small HTML tables with their own styles."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

import numpy as np

from streameval.render.blocks import Matrix
from streameval.render.sheets import Grid, Part, Section, Sheet
from streameval.render.text import shorten

_MAX_CELLS = 20
_CELL = "text-align:right;padding:2px 8px;"
_WIDE = "<div style='overflow-x:auto'>{}</div>"  # a wide table scrolls, and the notebook does not


def table(rows: Iterable[Sequence[str]], *, head: Sequence[str] = (), caption: str = "") -> str:
    """Lay out rows, each with a name and cells."""
    top = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    if head:
        cells = "".join(f"<th style='{_CELL}'>{html.escape(text)}</th>" for text in head[1:])
        top += f"<tr>{_name(head[0])}{cells}</tr>"
    lines = (f"<tr>{_name(name)}{''.join(map(_cell, cells))}</tr>" for name, *cells in rows)
    return _WIDE.format(f"<table>{top}{''.join(lines)}</table>")


def sheet(parts: Sheet) -> str:
    """Lay out the tables and sentences of a sheet."""
    return f"<div>{''.join(_part(one) for one in parts if one)}</div>"


def _part(part: Part) -> str:
    if isinstance(part, Section):
        return f"<h4>{html.escape(part.title)}</h4>{sheet(part.parts)}"
    if not isinstance(part, Grid):
        return f"<p>{html.escape(str(part))}</p>"
    head, *rows = zip(*(column.cells for column in part.held), strict=True)
    said = f"<p>{html.escape(part.caption)}</p>" if part.caption else ""
    return table(rows, head=head) + said


def matrix_table(matrix: Matrix) -> str:
    """Lay out the first rows and columns of a matrix with shaded cells."""
    counts, size = matrix.counts, min(len(matrix.counts), _MAX_CELLS)
    labels = [html.escape(shorten(label)) for label in matrix.labels[:size]]
    head = "".join(f"<th style='{_CELL}'>{label}</th>" for label in labels)
    shades = matrix.row_shares()
    rows = "".join(
        f"<tr><th style='{_CELL}'>{labels[i]}</th>"
        + "".join(_cell(f"{counts[i, j]:,}", shades[i, j]) for j in range(size))
        + "</tr>"
        for i in range(size)
    )
    cut = f"<p>The first {size} of {len(counts)} classes.</p>" if size < len(counts) else ""
    corner = f"<th style='{_CELL}'>truth \\ prediction</th>"
    return _WIDE.format(f"<table><tr>{corner}{head}</tr>{rows}</table>") + cut


def _name(text: str) -> str:
    return f"<th style='text-align:left'>{html.escape(text)}</th>"


def _cell(text: str, shade: float | np.float64 = 0.0) -> str:
    colour = f"background:rgba(31,119,180,{0.6 * shade:.3f});" if shade else ""
    return f"<td style='{_CELL}{colour}'>{html.escape(text)}</td>"
