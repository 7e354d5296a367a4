"""A metric over time in the space of a few words, for a hundred series at once."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import attrs
import numpy as np

from streameval.metrics.table import Reading
from streameval.render.markup import Html, element, joined
from streameval.render.svg import hatch

_WIDTH, _HEIGHT = 260, 62
_LEFT, _RIGHT, _TOP, _BOTTOM = 3, 40, 7, 7
_GAUGE_HEIGHT, _GAUGE_TOP = 24, 7
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
            _LEFT + scale * ((np.array(times) - first) / whole) for times in (starts, ends)
        )
        middles = [f"{middle:.1f}" for middle in ((left + right) / 2).tolist()]
        hatched = Html()
        if n_mature < len(starts):
            hatched = hatch(left[n_mature], 0, right[-1] - left[n_mature], _HEIGHT)
        return cls(middles, hatched)


class Extent(NamedTuple):
    """What some readings have in common.

    Parameters
    ----------
    n_defined : int
        How many of them have a finite value.
    min_value, max_value : float
        The range of these values.
    is_open : bool
        Whether a certified interval is more than one point.
    low, high : float
        The range of the values and of the ends of their intervals, where they are finite.
    """

    n_defined: int = 0
    min_value: float = math.inf
    max_value: float = -math.inf
    is_open: bool = False
    low: float = math.inf
    high: float = -math.inf

    def with_one(self, reading: Reading) -> Extent:
        """Add a reading."""
        value, ends = float(reading.value), reading.ends
        values = [value] if math.isfinite(value) else []
        return Extent(
            self.n_defined + len(values),
            min([self.min_value, *values]),
            max([self.max_value, *values]),
            self.is_open or reading.is_open,
            min([self.low, *ends]),
            max([self.high, *ends]),
        )


class Marks:
    """The marks of each reading, kept because most are the same in the next picture.

    Attributes
    ----------
    whiskers : list of str
        The sampling interval of each reading, as a part of a path; empty without one.
    points : list of str
        The position of each value.
    """

    def __init__(self) -> None:
        self.whiskers: list[str] = []
        self.points: list[str] = []
        self._readings: Sequence[Reading] = ()
        self._extents: list[Extent] = []
        self._frame: tuple[Sequence[str], float, float] = ((), 0.0, 0.0)

    def extent(self, readings: Sequence[Reading], size: int) -> Extent:
        """Set new readings, and return what the first of them have in common."""
        if readings is not self._readings:
            self._look(readings)
        return self._extents[size - 1] if size else Extent()

    def _look(self, readings: Sequence[Reading]) -> None:
        before, self._readings = self._readings, readings
        changed = itertools.compress(itertools.count(), map(operator.is_not, before, readings))
        same = next(changed, min(len(before), len(readings)))
        for column in (self._extents, self.whiskers, self.points):
            del column[same:]
        extent = self._extents[-1] if same else Extent()
        for one in readings[same:]:
            extent = extent.with_one(one)
            self._extents.append(extent)

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
    fired: Sequence[int] = (),
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
    fired : sequence of int
        The panes with which alerts began that are firing.
    """
    marks = Marks() if marks is None else marks
    extent = marks.extent(readings, len(readings))
    low, high = _range(extent.low, extent.high)
    scale = (_HEIGHT - _TOP - _BOTTOM) / (high - low)
    zero = _TOP + high * scale  # the position of 0: a number v is at zero - v * scale
    marks.draw(strip.middles, zero, scale)

    parts = [strip.hatched]
    for limit in limits:
        if low <= limit <= high:
            path = f"M{_LEFT} {zero - limit * scale:.1f}H{_WIDTH - _RIGHT}"
            parts.append(_drawn(path, "line limit"))
    upright = f"{_TOP}V{_HEIGHT - _BOTTOM}"
    parts += [_drawn(f"M{strip.middles[at]} {upright}", "line limit fired") for at in fired]
    sampled = "".join(marks.whiskers)
    if sampled:
        parts.append(_drawn(sampled, f"line whisker {_LOOK}"))
    runs = [range(len(readings))]
    if extent.n_defined < len(readings):
        runs = _runs([one.value for one in readings])
    for run in runs:
        if extent.is_open:
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
    return _picture(parts, _HEIGHT, spoken)


def gauge(strip: Strip, shares: Sequence[float], spoken: str) -> Html:
    """Draw the share of an alarm in each pane as a bar."""
    base, reach = _GAUGE_HEIGHT - 1, _GAUGE_HEIGHT - _GAUGE_TOP - 1
    bars = [
        f"M{x} {base}V{base - one * reach:.1f}"
        for x, one in zip(strip.middles, shares, strict=True)
        if one > 0
    ]
    parts = [_drawn(f"M{_LEFT} {_GAUGE_TOP}H{_WIDTH - _RIGHT}", "line limit")]
    parts += [_drawn("".join(bars), "line evidence")] if bars else []
    parts.append(_side_text("alarm", _GAUGE_TOP + 4))
    return _picture(parts, _GAUGE_HEIGHT, spoken)


def _picture(parts: Sequence[Html], height: float, spoken: str) -> Html:
    """Join the parts of a strip as an image of the full width, which screen readers speak of."""
    return element(
        "svg",
        joined(parts),
        viewBox=f"0 0 {_WIDTH} {height}",
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
    return _side_text(f"{value:.3g}".replace("-", "\N{MINUS SIGN}"), down)


def _side_text(text: str, down: int) -> Html:
    return Html(f'<text x="{_WIDTH - _RIGHT + 5}" y="{down}" class="tick">{text}</text>')
