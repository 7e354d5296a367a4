"""A metric over time in the space of a few words, drawn for a hundred series at once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import attrs

from streameval.metrics.table import Reading
from streameval.render.markup import Html, element, joined
from streameval.render.svg import hatch
from streameval.render.time_pictures import Pane

__all__ = ["Marks", "Strip", "sparkline"]

_WIDTH, _HEIGHT = 260, 62
_LEFT, _RIGHT, _TOP, _BOTTOM = 3, 40, 7, 7
_LOOK = "s0"
_DOT = 3


@attrs.frozen
class Strip:
    """Where panes of time lie in a sparkline: equal for all series, so that they line up.

    Parameters
    ----------
    middles : sequence of str
        The middle of each pane, in units of the picture.
    opened : tuple of float, optional
        From where to where panes are open.
    """

    middles: Sequence[str]
    opened: tuple[float, float] | None

    @classmethod
    def of(cls, panes: Sequence[Pane]) -> Strip:
        """Lay out panes, which are in order of time."""
        first, whole = panes[0].start, panes[-1].end - panes[0].start
        scale = _WIDTH - _LEFT - _RIGHT
        edges = [
            (
                _LEFT + scale * ((one.start - first) / whole),
                _LEFT + scale * ((one.end - first) / whole),
            )
            for one in panes
        ]
        opened = [pair for pair, pane in zip(edges, panes, strict=True) if pane.is_open]
        middles = [f"{(start + end) / 2:.1f}" for start, end in edges]
        return cls(middles, (opened[0][0], opened[-1][1]) if opened else None)


Extent = tuple[float, float, bool]


class Marks:
    """What has been drawn of each reading, for the next picture, of which most are the same.

    Attributes
    ----------
    is_open : bool
        Whether a certified interval is more than one point.
    whiskers : list of str
        The sampling interval of each reading, as a part of a path; empty without one.
    points : list of str
        Where the value of each reading is.
    """

    def __init__(self) -> None:
        self.is_open = False
        self.whiskers: list[str] = []
        self.points: list[str] = []
        self._readings: Sequence[Reading] = ()
        self._extents: list[Extent] = []
        self._frame: tuple[Sequence[str], float, float] = ((), 0.0, 0.0)

    def look(self, readings: Sequence[Reading]) -> tuple[float, float]:
        """Take other readings, and return the range of the numbers to draw."""
        pairs = zip(self._readings, readings, strict=False)
        changed = (at for at, (old, new) in enumerate(pairs) if old is not new)
        same = next(changed, min(len(self._readings), len(readings)))
        self._readings = readings
        self._extents[same:] = map(_extent, readings[same:])
        del self.whiskers[same:], self.points[same:]
        self.is_open = True in [one[2] for one in self._extents]
        return _range(self._extents)

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
        The limits of alerts, drawn where they are within the range of the numbers.
    spoken : str
        What the picture says, for those who do not see it.
    marks : Marks, optional
        What was drawn of this series before.
    """
    marks = Marks() if marks is None else marks
    low, high = marks.look(readings)
    scale = (_HEIGHT - _TOP - _BOTTOM) / (high - low)
    zero = _TOP + high * scale  # where 0 is: a number v is at zero - v * scale
    marks.draw(strip.middles, zero, scale)

    parts = []
    if strip.opened is not None:
        parts.append(hatch(strip.opened[0], 0, strip.opened[1] - strip.opened[0], _HEIGHT))
    for limit in limits:
        if low <= limit <= high:
            path = f"M{_LEFT} {zero - limit * scale:.1f}H{_WIDTH - _RIGHT}"
            parts.append(_drawn(path, "line limit"))
    sampled = "".join(marks.whiskers)
    if sampled:
        parts.append(_drawn(sampled, f"line whisker {_LOOK}"))
    runs = [*_runs(readings)]
    for run in runs:
        if marks.is_open:
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


def _range(extents: Sequence[Extent]) -> tuple[float, float]:
    """Find the ends of all numbers and their intervals; a range without width is widened."""
    low = min([one[0] for one in extents], default=math.inf)
    high = max([one[1] for one in extents], default=-math.inf)
    if low > high:
        low, high = 0.0, 1.0
    if high - low > 1e-12 * max(abs(low), abs(high)):
        return low, high
    reach = abs(low) / 2 or 0.5
    return low - reach, high + reach


def _extent(one: Reading) -> Extent:
    """Return the lowest and the highest number of a reading, and whether it is no single point."""
    start, end = one.certified
    ends = [float(number) for number in (one.value, start, end) if math.isfinite(number)]
    ends += one.sampling or ()
    return min(ends, default=math.inf), max(ends, default=-math.inf), start < end


def _runs(readings: Sequence[Reading]) -> Iterator[range]:
    """Split panes where the metric is undefined."""
    start = None
    for index, reading in enumerate(readings):
        if math.isfinite(reading.value):
            start = index if start is None else start
        elif start is not None:
            yield range(start, index)
            start = None
    if start is not None:
        yield range(start, len(readings))


def _drawn(path: str, style: str) -> Html:
    """Write a path; nothing in it needs to be escaped."""
    return Html(f'<path d="{path}" class="{style}"></path>')


def _end_text(value: float, down: int) -> Html:
    text = f"{value:.3g}".replace("-", "\N{MINUS SIGN}")
    return Html(f'<text x="{_WIDTH - _RIGHT + 5}" y="{down}" class="tick">{text}</text>')
