"""Pictures of curves: precision over recall and ROC, each with its certified band."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from streameval.metrics.points import CellTable
from streameval.render.entries import MOST_DRAWN, style
from streameval.render.markup import Html
from streameval.render.svg import RATES, Axis, Frame, picture
from streameval.results import curve_lines
from streameval.results.curve_lines import BandedLine, Line, thinned

__all__ = ["pr_picture", "roc_picture"]

_MOST_POINTS = 800

_RECALL, _PRECISION = Axis(0, 1, RATES, "Recall"), Axis(0, 1, RATES, "Precision")
_FALSE = Axis(0, 1, RATES, "False positive rate")
_TRUE = Axis(0, 1, RATES, "True positive rate")


def pr_picture(tables: Sequence[CellTable | None], summary: str) -> Html:
    """Draw precision over recall of curves that hold both classes."""
    return _picture(
        Frame(_RECALL, _PRECISION), tables, curve_lines.pr, "Precision over recall", summary
    )


def roc_picture(tables: Sequence[CellTable | None], summary: str) -> Html:
    """Draw the ROC of curves that hold both classes, and that of chance."""
    frame = Frame(_FALSE, _TRUE)
    chance = frame.line([0, 1], [0, 1], "chance")
    return _picture(frame, tables, curve_lines.roc, "ROC curve", summary, chance)


def _picture(
    frame: Frame,
    tables: Sequence[CellTable | None],
    trace: Callable[[CellTable], BandedLine],
    title: str,
    summary: str,
    *below: Html,
) -> Html:
    """Draw all bands, and the lines above them; None keeps its style for no curve."""
    curves = [
        (style(place), trace(table))
        for place, table in enumerate(tables[:MOST_DRAWN])
        if table is not None
    ]
    bands = [
        frame.area(*_few(curve.outline), look)
        for look, curve in curves
        if curve.outline is not None
    ]
    lines = [frame.line(*_few(curve.line), look) for look, curve in curves]
    return picture(frame, title, summary, [frame.grid(), *below, *bands, *lines])


def _few(line: Line) -> Line:
    return thinned(*line, _MOST_POINTS)
