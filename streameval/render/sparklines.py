"""A metric over time in the space of a few words, drawn for a hundred series at once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import attrs

from streameval.metrics.table import Interval, Reading
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
    certified = [one.certified for one in readings]
    is_open = any(start < end for start, end in certified)
    low, high = _range(readings, certified if is_open else ())
    scale = (_HEIGHT - _TOP - _BOTTOM) / (high - low)
    zero = _TOP + high * scale  # where 0 is: a number v is at zero - v * scale

    parts = []
    if strip.opened is not None:
        parts.append(hatch(strip.opened[0], 0, strip.opened[1] - strip.opened[0], _HEIGHT))
    for limit in limits:
        if low <= limit <= high:
            path = f"M{_LEFT} {zero - limit * scale:.1f}H{_WIDTH - _RIGHT}"
            parts.append(_drawn(path, "line limit"))
    sampled = "".join(
        [
            f"M{x} {zero - ends[0] * scale:.1f}V{zero - ends[1] * scale:.1f}"
            for x, ends in zip(strip.middles, [one.sampling for one in readings], strict=True)
            if ends is not None
        ]
    )
    if sampled:
        parts.append(_drawn(sampled, f"line whisker {_LOOK}"))
    runs = [*_runs(readings)]
    for run in runs:
        across, held = strip.middles[run.start : run.stop], readings[run.start : run.stop]
        if is_open:
            ends = certified[run.start : run.stop]
            upper = [
                f"{x} {zero - end * scale:.1f}" for x, (_, end) in zip(across, ends, strict=True)
            ]
            lower = [
                f"{x} {zero - end * scale:.1f}" for x, (end, _) in zip(across, ends, strict=True)
            ]
            outline = f"M{'L'.join([*upper, *reversed(lower)])}Z"
            parts.append(_drawn(outline, f"area {_LOOK}"))
        line = [f"{x} {zero - one.value * scale:.1f}" for x, one in zip(across, held, strict=True)]
        parts.append(_drawn(f"M{'L'.join(line)}", f"line {_LOOK}"))
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


def _range(readings: Sequence[Reading], certified: Sequence[Interval]) -> tuple[float, float]:
    """Find the ends of all numbers and their intervals; a range without width is widened."""
    ends = [float(one.value) for one in readings if math.isfinite(one.value)]
    ends += [end for one in readings if one.sampling is not None for end in one.sampling]
    ends += [end for pair in certified for end in pair if math.isfinite(end)]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
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


def _drawn(path: str, style: str) -> Html:
    """Write a path; nothing in it needs to be escaped."""
    return Html(f'<path d="{path}" class="{style}"></path>')


def _end_text(value: float, down: int) -> Html:
    text = f"{value:.3g}".replace("-", "\N{MINUS SIGN}")
    return Html(f'<text x="{_WIDTH - _RIGHT + 5}" y="{down}" class="tick">{text}</text>')
