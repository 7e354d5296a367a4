"""A metric over time in the space of a few words, for a hundred series at once."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any, Self

import attrs

from streameval.metrics.table import Reading
from streameval.render.markup import Html, element, joined
from streameval.render.svg import hatch

__all__ = ["Marks", "Strip", "sparkline"]

_WIDTH, _HEIGHT = 260, 62
_LEFT, _RIGHT, _TOP, _BOTTOM = 3, 40, 7, 7
_LOOK = "s0"
_DOT = 3


@attrs.frozen
class Strip:
    """The horizontal positions of panes in a sparkline, equal for all series so that they align.

    Parameters
    ----------
    middles : sequence of str
        The middle of each pane, in units of the picture.
    hatched : Html
        The hatching over the open panes.
    """

    middles: Sequence[str]
    hatched: Html

    @classmethod
    def of(cls, starts: Sequence[Any], ends: Sequence[Any], n_mature: int) -> Self:
        """Lay out panes, given in order of time, the mature ones first."""
        first, whole = starts[0], ends[-1] - starts[0]
        scale = _WIDTH - _LEFT - _RIGHT
        left, right = (
            [_LEFT + scale * ((time - first) / whole) for time in times] for times in (starts, ends)
        )
        middles = [f"{(start + end) / 2:.1f}" for start, end in zip(left, right, strict=True)]
        opened = left[n_mature:]
        hatched = hatch(opened[0], 0, right[-1] - opened[0], _HEIGHT) if opened else Html()
        return cls(middles, hatched)


class Marks:
    """The marks of each reading, kept because most are the same in the next picture.

    Attributes
    ----------
    values : list of float
        The value of each reading.
    opened : list of bool
        Whether the certified interval of each reading is more than one point.
    whiskers : list of str
        The sampling interval of each reading, as a part of a path; empty without one.
    points : list of str
        The position of each value.
    """

    def __init__(self) -> None:
        self.values: list[float] = []
        self.opened: list[bool] = []
        self.whiskers: list[str] = []
        self.points: list[str] = []
        self._readings: Sequence[Reading] = ()
        self._lows: list[float] = []
        self._highs: list[float] = []
        self._frame: tuple[Sequence[str], float, float] = ((), 0.0, 0.0)

    def look(self, readings: Sequence[Reading]) -> tuple[float, float]:
        """Set new readings, and return the range of the numbers to draw."""
        before, self._readings = self._readings, readings
        changed = itertools.compress(itertools.count(), map(operator.is_not, before, readings))
        same = next(changed, min(len(before), len(readings)))
        every = self.values, self.opened, self._lows, self._highs, self.whiskers, self.points
        for column in every:
            del column[same:]
        for one in readings[same:]:
            self.values.append(float(one.value))
            self.opened.append(one.is_open)
            ends = one.ends
            self._lows.append(min(ends, default=math.inf))
            self._highs.append(max(ends, default=-math.inf))
        return _range(min(self._lows), max(self._highs))

    def draw(self, middles: Sequence[str], zero: float, scale: float) -> None:
        """Draw the readings that have not been drawn in this frame."""
        frame = middles, zero, scale
        if frame != self._frame:
            self._frame = frame
            self.whiskers, self.points = [], []
        first = len(self.points)
        for x, one in zip(middles[first:], self._readings[first:], strict=True):
            self.points.append(f"{x} {zero - one.value * scale:.1f}")
            ends, whisker = one.sampling, ""
            if ends is not None:
                whisker = f"M{x} {zero - ends[0] * scale:.1f}V{zero - ends[1] * scale:.1f}"
            self.whiskers.append(whisker)


def sparkline(
    strip: Strip,
    readings: Sequence[Reading],
    n_mature: int,
    limits: Sequence[float],
    spoken: str,
    marks: Marks | None = None,
) -> Html:
    """Draw a metric pane by pane.

    Parameters
    ----------
    strip : Strip
        Where the panes are.
    readings : sequence of Reading
        One for each pane; NaN where the metric is undefined.
    n_mature : int
        How many of the first panes are mature; the last of them has a dot.
    limits : sequence of float
        The limits of alerts, drawn if they are within the range of the numbers.
    spoken : str
        The text for readers who do not see the picture.
    marks : Marks, optional
        The marks of this series that were drawn before.
    """
    marks = Marks() if marks is None else marks
    low, high = marks.look(readings)
    scale = (_HEIGHT - _TOP - _BOTTOM) / (high - low)
    zero = _TOP + high * scale  # the position of 0: a number v is at zero - v * scale
    marks.draw(strip.middles, zero, scale)

    parts = [strip.hatched]
    for limit in limits:
        if low <= limit <= high:
            path = f"M{_LEFT} {zero - limit * scale:.1f}H{_WIDTH - _RIGHT}"
            parts.append(_drawn(path, "line limit"))
    sampled = "".join(marks.whiskers)
    if sampled:
        parts.append(_drawn(sampled, f"line whisker {_LOOK}"))
    runs = _runs(marks.values)
    for run in runs:
        if True in marks.opened:
            upper, lower = [], []
            for at in run:
                x, (start, end) = strip.middles[at], readings[at].certified
                upper.append(f"{x} {zero - end * scale:.1f}")
                lower.append(f"{x} {zero - start * scale:.1f}")
            outline = f"M{'L'.join([*upper, *reversed(lower)])}Z"
            parts.append(_drawn(outline, f"area {_LOOK}"))
        line = "L".join(marks.points[run.start : run.stop])
        parts.append(_drawn(f"M{line}", f"line {_LOOK}"))
    newest = readings[n_mature - 1].value if n_mature else math.nan
    if math.isfinite(newest):
        x, y = strip.middles[n_mature - 1], f"{zero - newest * scale:.1f}"
        parts.append(Html(f'<circle cx="{x}" cy="{y}" r="{_DOT}" class="dot {_LOOK}"></circle>'))
    if runs:
        parts += [_end_text(high, _TOP + 4), _end_text(low, _HEIGHT - _BOTTOM + 4)]
    return element(
        "svg",
        joined(parts),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_label=spoken,
        class_="spark",
    )


def _range(low: float, high: float) -> tuple[float, float]:
    """Widen the range of all numbers and their intervals if it is empty."""
    if low > high:
        low, high = 0.0, 1.0
    if high - low > 1e-12 * max(abs(low), abs(high)):
        return low, high
    reach = abs(low) / 2 or 0.5
    return low - reach, high + reach


def _runs(values: Sequence[float]) -> list[range]:
    """Split panes where the metric is undefined."""
    gaps = [at for at, value in enumerate(values) if not math.isfinite(value)]
    edges = itertools.pairwise([-1, *gaps, len(values)])
    return [range(before + 1, gap) for before, gap in edges if gap > before + 1]


def _drawn(path: str, style: str) -> Html:
    """Write a path, which needs no escaping."""
    return Html(f'<path d="{path}" class="{style}"></path>')


def _end_text(value: float, down: int) -> Html:
    text = f"{value:.3g}".replace("-", "\N{MINUS SIGN}")
    return Html(f'<text x="{_WIDTH - _RIGHT + 5}" y="{down}" class="tick">{text}</text>')
