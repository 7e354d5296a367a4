"""Pictures as SVG: axes, the marks of charts, and dots, each of one or several states."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import attrs
import numpy as np
import numpy.typing as npt

from streameval.exact.array_types import Floats
from streameval.metrics.table import Reading
from streameval.render.blocks import MAX_DRAWN
from streameval.render.charts import (
    Axis,
    Chart,
    ChartMark,
    Line,
    joined_axes,
    nice_axis,
    shared_marks,
    thinned,
)
from streameval.render.markup import Html, element, joined, short

NamedRows = Sequence[tuple[object, Sequence[Reading | None]]]

MAX_ROWS = 24
"""How many rows a picture of dots has."""

_CHARACTER = 8  # the width of a character at the larger font size on a phone
_MAX_NAME = 22
_MAX_POINTS = 800
_FILLED = 0.35  # the radius of a dot of many, of the distance to the next
_ROW, _STEP = 14, 13
_HATCHING = "hatching"
_HALF_LETTER = 4.6  # where letters are largest
_GRID = 10  # round positions to a tenth of a unit, which is less than a pixel


@attrs.frozen
class Frame:
    """The axes of a picture: everything else is drawn between them.

    Parameters
    ----------
    x, y : Axis
        `y` points up.
    width, height : int
        Of the picture.
    left, bottom : int
        The space for the numbers and the names of the axes; by default at the left what the numbers
        need on a phone.
    """

    x: Axis
    y: Axis
    width: int = 480
    height: int = 360
    left: int = attrs.field(
        default=attrs.Factory(lambda self: _left_of(self.y.texts), takes_self=True)
    )
    bottom: int = 46
    right: int = 14
    top: int = 10

    def positions(self, x: npt.ArrayLike, y: npt.ArrayLike) -> Line:
        """Find where points are drawn."""
        right, up = self.x.shares(x), self.y.shares(y)
        across = self.left + right * (self.width - self.left - self.right)
        return across, self.top + (1.0 - up) * (self.height - self.top - self.bottom)

    def line(self, x: npt.ArrayLike, y: npt.ArrayLike, style: str) -> Html:
        """Draw a line through points."""
        return element("path", d=_path(*self.positions(x, y)), class_=f"line {style}")

    def area(self, x: npt.ArrayLike, y: npt.ArrayLike, style: str) -> Html:
        """Fill a polygon."""
        return element("path", d=_path(*self.positions(x, y)) + "Z", class_=f"area {style}")

    def uprights(
        self, x: npt.ArrayLike, low: npt.ArrayLike, high: npt.ArrayLike, style: str
    ) -> Html:
        """Draw a vertical line at each `x`, all of them in one path."""
        across, bottom = self.positions(x, low)
        _, top = self.positions(x, high)
        ends = zip(across.tolist(), bottom.tolist(), top.tolist(), strict=True)
        path = "".join(f"M{a:.1f} {b:.1f}V{c:.1f}" for a, b, c in ends)
        return element("path", d=path, class_=f"line {style}")

    def hatched(self, start: float, end: float) -> Html:
        """Hatch the span between two numbers of the horizontal axis."""
        (left, right), (top, bottom) = self.positions([start, end], [self.y.high, self.y.low])
        return hatch(left, top, right - left, bottom - top)

    def stairs(self, values: Floats, edges: Floats, style: str, *, filled: bool) -> Html:
        """Draw the outline of bars that start at 0."""
        x = np.repeat(edges, 2)
        y = np.concatenate([[0.0], np.repeat(values, 2), [0.0]])
        return (self.area if filled else self.line)(x, y, style)

    def drawn(self, mark: ChartMark, style: str) -> Html:
        """Draw a mark in the style of its state."""
        x, y, ends = mark.x, mark.y, [self.y.low, self.y.high]
        match mark.kind:
            case "shares":
                parts = [self.stairs(y, x, "plain", filled=True)]
            case "bars" | "others":
                look = style if mark.kind == "bars" else "plain"
                parts = [self.stairs(y, x, look, filled=filled) for filled in (True, False)]
            case "counts":
                parts = [self.upright(x, y, mark.texts)]
            case "dashed":
                parts = [self.line(x, y, "chance")]
            case "span":
                parts = [self.area(np.repeat(x, 2), [*ends, *ends[::-1]], style)]
            case "band":
                parts = [self.area(*thinned(x, y, _MAX_POINTS), style)]
            case "between":
                parts = [self.area([*x, *x[::-1]], [*y[0], *y[1][::-1]], style)]
            case "series":
                radius = max(1.2, min(3.5, _FILLED * self.width / max(len(x), 1)))
                parts = [self.line(x, y, style), self.dots(x, y, style, round(radius, 1))]
            case "whiskers":
                kept = ~np.isnan(y[0])
                parts = [self.uprights(x[kept], y[0, kept], y[1, kept], f"whisker {style}")]
            case "upright":
                parts = [self.line([*x, *x], ends, style)]
            case _:
                parts = [self.line(*thinned(x, y, _MAX_POINTS), style)]
                parts += [self.dots(x, y, style)] if mark.kind == "points" else []
        return joined(parts)

    def dots(self, x: npt.ArrayLike, y: npt.ArrayLike, style: str, radius: float = 3.5) -> Html:
        """Draw a dot at each point."""
        across, down = (map(_text, part.tolist()) for part in self.positions(x, y))
        rest = f'r="{radius}" class="dot {style}"'
        circles = (
            f'<circle cx="{a}" cy="{d}" {rest}></circle>' for a, d in zip(across, down, strict=True)
        )
        return Html("".join(circles))

    def upright(self, x: npt.ArrayLike, y: npt.ArrayLike, texts: Iterable[str]) -> Html:
        """Write a text from each point up, at its left, or near the top down, at its right."""
        across, down = self.positions(x, y)
        written = []
        for text, a, d in zip(texts, across.tolist(), down.tolist(), strict=True):
            is_up = d > self.top + 50
            beside, off = (max(a - 4, self.left + 12), -9) if is_up else (a + 14, 9)
            at = f"{_text(beside)} {_text(d + off)}"
            look = f"tick {'start' if is_up else 'end'}"
            turned = f"translate({at}) rotate(-90)"
            written.append(element("text", text, transform=turned, class_=look))
        return joined(written)

    def grid(self) -> Html:
        """Draw the lines and the texts of the ticks of both axes, and their names."""
        return joined(
            [
                *map(
                    self._upright,
                    self.x.ticks,
                    self.x.texts,
                    self.x.moments or (None,) * len(self.x.ticks),
                ),
                *map(self._level, self.y.ticks, self.y.texts),
                *self._names(),
            ]
        )

    def _upright(self, tick: float, text: str, moment: str | None) -> Html:
        (across,), (down,) = self.positions([tick], [self.y.low])
        is_inside = across + _HALF_LETTER * len(text) <= self.width
        at, look = (across, "tick middle") if is_inside else (self.width, "tick end")
        if moment and not self.x.label:  # in a small picture, beside the lowest number
            at = max(at, self.left - 8 + _HALF_LETTER * len(text))
        return joined(
            [
                _rule(across, self.top, across, down),
                _words(text, at, down + 17, look, moment),
            ]
        )

    def _level(self, tick: float, text: str) -> Html:
        (across,), (down,) = self.positions([self.x.low], [tick])
        return joined(
            [
                _rule(across, down, self.width - self.right, down),
                _words(text, across - 8, down + 4, "tick end"),
            ]
        )

    def _names(self) -> Iterable[Html]:
        middle = (self.left + self.width - self.right) / 2
        if self.x.label:
            yield _words(self.x.label, middle, self.height - 7, "name middle")
        if self.y.label:
            half = (self.top + self.height - self.bottom) / 2
            turned = f"translate(13 {_text(half)}) rotate(-90)"
            yield element("text", self.y.label, transform=turned, class_="name middle")


def style(index: int) -> str:
    """Name the colour and the dashes of a line by its index."""
    return f"s{index}"


def painted(charts: Sequence[Chart | None], summary: str) -> Html:
    """Draw charts of several states as one picture; None uses up a style."""
    held = [chart for chart in charts if chart is not None]
    x, y = (axis.rounded() for axis in joined_axes(held))
    marks, look = shared_marks(charts), "solid " * held[0].is_apart
    has_bars = any(mark.kind == "bars" for _, mark in marks)
    frame = Frame(x, y, height=300 if has_bars else 360)
    drawn = [frame.drawn(mark, f"{look}{style(at)}") for at, mark in marks]
    return picture(frame, held[0].title, summary, [frame.grid(), *drawn])


def _left_of(texts: Iterable[str]) -> int:
    """Return how much space the numbers of an axis and its name need."""
    return max(62, round(26 + 9.6 * max(map(len, texts), default=0)))


def hatch(left: float, top: float, width: float, height: float) -> Html:
    """Hatch a rectangle, as `hatching` defines."""
    return element(
        "rect",
        x=_text(left),
        y=_text(top),
        width=_text(width),
        height=_text(height),
        fill=f"url(#{_HATCHING})",
    )


def hatching() -> Html:
    """Define the hatching, once for all pictures of a page."""
    line = element("path", d="M-1 7L7 -1M5 7L7 5M-1 1L1 -1", class_="hatching")
    pattern = element(
        "pattern", line, id=_HATCHING, width=6, height=6, patternUnits="userSpaceOnUse"
    )
    return element("svg", pattern, class_="definitions", width=0, height=0, aria_hidden="true")


def picture(frame: Frame, title: str, summary: str, parts: Iterable[Html]) -> Html:
    """Assemble a picture; `title` and `summary` are for readers who do not see it."""
    return element(
        "svg",
        element("title", title),
        element("desc", summary),
        *parts,
        viewBox=f"0 0 {frame.width} {frame.height}",
        role="img",
        aria_label=f"{title}. {summary}",
    )


def dots(rows: NamedRows, title: str, summary: str) -> Html:
    """Draw the numbers of each row on one axis: a dot for each state.

    A thin line is the sampling interval, and a broad one the certified interval.
    """
    shown = rows[:MAX_ROWS]
    every = [end for _, cells in shown for cell in cells if cell for end in cell.ends]
    x = nice_axis(min(every, default=0.0), max(every, default=1.0))
    n_states = max((min(len(cells), MAX_DRAWN) for _, cells in shown), default=1)
    texts = tuple(short(name, _MAX_NAME) for name, _ in shown)
    y = Axis(len(shown) - 0.5, -0.5, tuple(range(len(shown))), texts=texts)
    height = len(shown) * (_ROW + _STEP * n_states) + 40
    left = 20 + _CHARACTER * max(map(len, texts), default=0)
    frame = Frame(x, y, height=height, left=left, bottom=30)
    drawn = [
        _dot(frame, cell, row + (index + 0.5) / n_states * 0.7 - 0.35, style(index))
        for row, (_, cells) in enumerate(shown)
        for index, cell in enumerate(cells[:MAX_DRAWN])
        if cell is not None and math.isfinite(cell.value)
    ]
    return picture(frame, title, summary, [frame.grid(), *drawn])


def _dot(frame: Frame, cell: Reading, row: float, style: str) -> Html:
    parts = []
    if cell.sampling is not None:
        parts.append(frame.line(cell.sampling, [row, row], f"whisker {style}"))
    if cell.is_open:
        parts.append(frame.line(cell.certified, [row, row], f"certified {style}"))
    return joined([*parts, frame.dots([cell.value], [row], style, 4)])


def _rule(x1: float, y1: float, x2: float, y2: float) -> Html:
    return element("path", d=f"M{_text(x1)} {_text(y1)}L{_text(x2)} {_text(y2)}", class_="grid")


def _words(text: str, x: float, y: float, style: str, moment: str | None = None) -> Html:
    return element("text", text, x=_text(x), y=_text(y), class_=style, data_at=moment)


def _path(x: Floats, y: Floats) -> str:
    """Write a line on a fine grid, without points that do not change it there."""
    points = np.rint(np.stack([x, y], axis=1) * _GRID).astype(np.int64)
    moved = np.append(True, np.any(np.diff(points, axis=0) != 0, axis=1))
    points = points[moved]
    steps = np.diff(points, axis=0)
    turns = steps[:-1, 0] * steps[1:, 1] != steps[:-1, 1] * steps[1:, 0]
    ahead = (steps[:-1] * steps[1:]).sum(axis=1) > 0
    kept = np.ones(len(points), dtype=bool)
    kept[1:-1] = turns | ~ahead
    corners = [f"{_text(a / _GRID)} {_text(b / _GRID)}" for a, b in points[kept].tolist()]
    return f"M{'L'.join(corners)}"


def _text(position: float) -> str:
    return f"{position:.1f}".removesuffix(".0")
