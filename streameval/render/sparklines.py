"""A metric over time in the space of a few words, drawn for a hundred series at once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import attrs

from streameval.metrics.table import Reading
from streameval.render.markup import Html, element, joined
from streameval.render.svg import hatch
from streameval.render.time_pictures import Pane

__all__ = ["Strip", "sparkline"]

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


def sparkline(
    strip: Strip, readings: Sequence[Reading], n_mature: int, limits: Sequence[float], spoken: str
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
    """
    every = [end for reading in readings for end in reading.ends]
    low, high = _range(min(every, default=0.0), max(every, default=1.0))
    scale = (_HEIGHT - _TOP - _BOTTOM) / (high - low)

    def down(value: float) -> float:
        return _TOP + (high - value) * scale

    parts = []
    if strip.opened is not None:
        parts.append(hatch(strip.opened[0], 0, strip.opened[1] - strip.opened[0], _HEIGHT))
    for limit in limits:
        if low <= limit <= high:
            path = f"M{_LEFT} {down(limit):.1f}H{_WIDTH - _RIGHT}"
            parts.append(element("path", d=path, class_="line limit"))
    sampled = "".join(
        f"M{x} {down(one.sampling[0]):.1f}V{down(one.sampling[1]):.1f}"
        for x, one in zip(strip.middles, readings, strict=True)
        if one.sampling is not None
    )
    if sampled:
        parts.append(element("path", d=sampled, class_=f"line whisker {_LOOK}"))
    for run in _runs(readings):
        points = [(strip.middles[index], readings[index]) for index in run]
        if any(one.is_open for _, one in points):
            upper = [(x, down(one.certified[1])) for x, one in points]
            lower = [(x, down(one.certified[0])) for x, one in reversed(points)]
            outline = f"{_path(upper + lower)}Z"
            parts.append(element("path", d=outline, class_=f"area {_LOOK}"))
        line = _path([(x, down(one.value)) for x, one in points])
        parts.append(element("path", d=line, class_=f"line {_LOOK}"))
    newest = readings[n_mature - 1] if n_mature else None
    if newest is not None and math.isfinite(newest.value):
        x, y = strip.middles[n_mature - 1], f"{down(newest.value):.1f}"
        parts.append(element("circle", cx=x, cy=y, r=_DOT, class_=f"dot {_LOOK}"))
    if every:
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
    """Widen a range without width."""
    if high - low > 1e-12 * max(abs(low), abs(high)):
        return low, high
    reach = abs(low) / 2 or 0.5
    return low - reach, high + reach


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


def _path(points: Sequence[tuple[str, float]]) -> str:
    corners = [f"{x} {y:.1f}" for x, y in points]
    return f"M{'L'.join(corners if len(corners) > 1 else corners * 2)}"


def _end_text(value: float, down: float) -> Html:
    text = f"{value:.3g}".replace("-", "\N{MINUS SIGN}")
    return element("text", text, x=_WIDTH - _RIGHT + 5, y=f"{down:.0f}", class_="tick")
