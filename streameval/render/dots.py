"""Numbers as dots, with whiskers for their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

from streameval.render.entries import MOST_DRAWN, Measured, style
from streameval.render.markup import Html, joined
from streameval.render.svg import Axis, Frame, nice_axis, picture
from streameval.render.wording import percent, short

__all__ = ["MOST_ROWS", "dot_picture", "interval_note"]

MOST_ROWS = 24
"""How many rows a picture has."""

Rows = Sequence[tuple[object, Sequence[Measured | None]]]

_ROW, _STEP = 14, 13


def dot_picture(rows: Rows, title: str, summary: str) -> Html:
    """Draw the numbers of each row on one axis: a dot for each state.

    A thin line is the sampling interval, and a broad one the certified interval.
    """
    shown = rows[:MOST_ROWS]
    every = [end for _, cells in shown for cell in cells if cell for end in cell.ends]
    x = nice_axis(min(every, default=0.0), max(every, default=1.0))
    n_states = max((min(len(cells), MOST_DRAWN) for _, cells in shown), default=1)
    y = Axis(len(shown) - 0.5, -0.5, tuple(range(len(shown))))
    height = len(shown) * (_ROW + _STEP * n_states) + 40
    frame = Frame(x, y, height=height, left=156, bottom=30)
    texts = [short(name, 22) for name, _ in shown]
    dots = [
        _dot(frame, cell, row + (place + 0.5) / n_states * 0.7 - 0.35, style(place))
        for row, (_, cells) in enumerate(shown)
        for place, cell in enumerate(cells[:MOST_DRAWN])
        if cell is not None and math.isfinite(cell.value)
    ]
    return picture(frame, title, summary, [frame.grid(texts), *dots])


def interval_note(rows: Rows, level: float) -> str:
    """Say what the thin lines are, where there are any."""
    has_sampling = any(cell is not None and cell.sampling for _, cells in rows for cell in cells)
    return f"With sampling intervals at {percent(level)}." if has_sampling else ""


def _dot(frame: Frame, cell: Measured, row: float, style: str) -> Html:
    parts = []
    if cell.sampling is not None:
        parts.append(frame.line(cell.sampling, [row, row], f"whisker {style}"))
    if cell.certified is not None:
        parts.append(frame.line(cell.certified, [row, row], f"certified {style}"))
    return joined([*parts, frame.dots([cell.value], [row], style, 4)])
