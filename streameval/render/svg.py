"""A small painter of pictures: axes, lines, areas, bars and dots as SVG."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from streameval.exact.array_types import Floats
from streameval.render.markup import Html, element, joined

Line = tuple[Floats, Floats]
Time = Any  # a datetime64[us]

_HATCHING = "hatching"
_N_STEPS = 5
_MIN, _MAX = 1e-300, sys.float_info.max
_HALF_LETTER = 4.6  # where letters are largest
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TIME_STEPS = (
    *((step, unit) for unit in "sm" for step in (1, 5, 15, 30)),
    *((step, "h") for step in (1, 3, 6, 12)),
    *((step, "D") for step in (1, 2, 7, 14)),
    *((step, "M") for step in (1, 3, 6)),
    *((step * power, "Y") for power in (1, 10, 100, 1000, 10_000) for step in (1, 2, 5)),
)
_GRID = 10  # round positions to a tenth of a unit, which is less than a pixel


@attrs.frozen
class Axis:
    """The range of an axis, its ticks and its label.

    Parameters
    ----------
    low, high : float
        The numbers at both ends.
    ticks : tuple of float
        The numbers that are written.
    label : str
        What the numbers are.
    texts : tuple of str
        What is written at the ticks; by default their numbers.
    moments : tuple of str
        What the ticks are in UTC, in ISO 8601; empty if they are no times.
    """

    low: float
    high: float
    ticks: tuple[float, ...]
    label: str = ""
    texts: tuple[str, ...] = attrs.field(
        default=attrs.Factory(lambda self: tuple(map(tick_text, self.ticks)), takes_self=True)
    )
    moments: tuple[str, ...] = ()

    def shares(self, values: npt.ArrayLike) -> Floats:
        """Map numbers to [0, 1]; clip numbers beyond an end."""
        halves = np.asarray(values, dtype=np.float64) / 2  # the whole span might overflow
        span = self.high / 2 - self.low / 2
        return np.clip((halves - self.low / 2) / span, 0.0, 1.0)


RATES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
"""The ticks of an axis of shares."""


def nice_axis(low: float, high: float, label: str = "") -> Axis:
    """Choose round ends around two numbers, and round ticks.

    >>> nice_axis(0.13, 0.88).ticks
    (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    """
    if high / 2 - low / 2 < _MIN:
        reach = abs(low) / 2 if abs(low) > _MIN else 0.5
        low, high = max(low - reach, -_MAX), min(high + reach, _MAX)
    step = _round_step((high / 2 - low / 2) / _N_STEPS * 2)
    positions = range(math.floor(low / step), math.ceil(high / step) + 1)
    ticks = tuple(float(f"{position * step:.12g}") for position in positions)
    if not (math.isfinite(ticks[-1] - ticks[0]) and len(set(ticks)) == len(ticks) > 1):
        return Axis(low, high, (low, high), label)  # near the largest float
    return Axis(ticks[0], ticks[-1], ticks, label)


def time_axis(start: Time, end: Time, limit: int = 8) -> Axis:
    """Count the seconds of a span, with ticks at up to `limit` moments: dates, or times of day.

    >>> axis = time_axis(np.datetime64("2026-01-30", "us"), np.datetime64("2026-02-02", "us"))
    >>> axis.texts, axis.label
    (('30 Jan', '12:00', '31 Jan', '12:00', '1 Feb', '12:00', '2 Feb'), '2026, UTC')
    """
    moments, unit = _moments(start, end, limit)
    ticks = [float((moment - start) / np.timedelta64(1, "s")) for moment in moments]
    texts = tuple(_moment_text(_date_of(moment), unit) for moment in moments)
    first, last = _date_of(start), _date_of(end)
    label = f"{' to '.join(map(str, dict.fromkeys([first.year, last.year])))}, UTC"
    if not any(text[-1].isalpha() for text in texts) and unit != "Y":
        label = f"{_day_text(first)} {label}"
    iso = tuple(f"{moment.astype('M8[s]')}Z" for moment in moments)
    return Axis(0.0, float((end - start) / np.timedelta64(1, "s")), tuple(ticks), label, texts, iso)


def _moments(start: Time, end: Time, limit: int) -> tuple[list[Time], str]:
    """List round moments of a span, and say of which unit they are."""
    every = ((_multiples(start, end, *step), step[1]) for step in _TIME_STEPS)
    steps, unit = next(pair for pair in every if len(pair[0]) <= limit)
    moments = np.array(steps, dtype=np.int64).astype(f"M8[{unit}]").astype("M8[us]")
    return [moment for moment in moments if start <= moment <= end], unit


def _multiples(start: Time, end: Time, step: int, unit: str) -> range:
    """List the multiples of some units since 1970, from the one before the start on."""
    low, high = (int(time.astype(f"M8[{unit}]").astype(np.int64)) for time in (start, end))
    return range(low - low % step, high + 1, step)


def _date_of(moment: Time) -> datetime:
    found: datetime = moment.astype("M8[s]").item()
    return found


def _moment_text(moment: datetime, unit: str) -> str:
    if unit in ("M", "Y"):
        return str(moment.year) if unit == "Y" or moment.month == 1 else _MONTHS[moment.month - 1]
    if moment.hour == moment.minute == moment.second == 0:
        return _day_text(moment)
    return f"{moment:%H:%M:%S}" if unit == "s" else f"{moment:%H:%M}"


def _day_text(moment: datetime) -> str:
    return f"{moment.day} {_MONTHS[moment.month - 1]}"


def _round_step(minimum: float) -> float:
    """Return the first of 1, 2, 2.5, 5 and 10 times a power of ten that is large enough."""
    power = 10.0 ** math.floor(math.log10(minimum))
    return next(power * part for part in (1, 2, 2.5, 5, 10) if power * part >= minimum * 0.999)


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


def tick_text(tick: float) -> str:
    """Write the number of a tick."""
    digits = ".0f" if float(tick).is_integer() and abs(tick) < 1e12 else ".6g"
    return f"{tick:{digits}}".replace("-", "\N{MINUS SIGN}")


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
