"""A metric over time in the space of a few words, for a hundred series at once."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Self

import attrs
import numpy as np

from streameval.exact.array_types import Array, Floats
from streameval.render.markup import Html, element, joined
from streameval.render.svg import hatch

_WIDTH, _HEIGHT = 260, 62
_LEFT, _RIGHT, _TOP, _BOTTOM = 3, 40, 7, 7
_GAUGE_HEIGHT, _GAUGE_TOP = 24, 7
_LOOK = "s0"
_DOT = 3
_TENTHS = [f"{tenth / 10:.1f}" for tenth in range(10 * _HEIGHT + 1)]


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


def sparkline(
    strip: Strip,
    numbers: Floats,
    n_mature: int,
    limits: Sequence[float],
    spoken: str,
    fired: Sequence[int] = (),
) -> Html:
    """Draw a metric pane by pane.

    Parameters
    ----------
    strip : Strip
        Where the panes are.
    numbers : float64 array, shape (5, panes)
        Those of `numbers_of`.
    n_mature : int
        How many of the first panes are mature; the last of them has a dot.
    limits : sequence of float
        The limits of alerts, drawn if they are within the range of the numbers.
    spoken : str
        The text for readers who do not see the picture.
    fired : sequence of int
        The panes with which alerts began that are firing.
    """
    is_known = np.isfinite(numbers)
    low, high = _range(numbers[is_known])
    scale = (_HEIGHT - _TOP - _BOTTOM) / (high - low)
    zero = _TOP + high * scale  # the position of 0: a number v is at zero - v * scale
    down = zero - np.fmin(np.fmax(numbers, low), high) * scale
    is_open = (numbers[1] < numbers[2]).any()
    values, starts, ends, bottoms, tops = (
        [_TENTHS[at] for at in row] for row in np.rint(down * 10).astype(np.int64).tolist()
    )

    parts = [strip.hatched]
    for limit in limits:
        if low <= limit <= high:
            path = f"M{_LEFT} {zero - limit * scale:.1f}H{_WIDTH - _RIGHT}"
            parts.append(_drawn(path, "line limit"))
    upright = f"{_TOP}V{_HEIGHT - _BOTTOM}"
    parts += [_drawn(f"M{strip.middles[at]} {upright}", "line limit fired") for at in fired]
    sampled = np.flatnonzero(~np.isnan(numbers[3])).tolist()
    if sampled:
        path = "".join([f"M{strip.middles[at]} {bottoms[at]}V{tops[at]}" for at in sampled])
        parts.append(_drawn(path, f"line whisker {_LOOK}"))
    for run in (runs := _runs(is_known[0])):
        x = strip.middles[run]
        if is_open:
            outline = [*_places(x, ends[run]), *_places(x, starts[run])[::-1]]
            parts.append(_drawn(f"M{'L'.join(outline)}Z", f"area {_LOOK}"))
        parts.append(_drawn(f"M{'L'.join(_places(x, values[run]))}", f"line {_LOOK}"))
    if n_mature and is_known[0, n_mature - 1]:
        x, y = strip.middles[n_mature - 1], values[n_mature - 1]
        parts.append(Html(f'<circle cx="{x}" cy="{y}" r="{_DOT}" class="dot {_LOOK}"></circle>'))
    if runs:
        parts += [_end_text(high, _TOP + 4), _end_text(low, _HEIGHT - _BOTTOM + 4)]
    return _picture(parts, _HEIGHT, spoken)


def _places(x: Sequence[str], y: Sequence[str]) -> list[str]:
    return [*map(" ".join, zip(x, y, strict=True))]


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


def _range(numbers: Floats) -> tuple[float, float]:
    """Find the range of numbers, and widen it if it is empty."""
    if not len(numbers):
        return 0.0, 1.0
    low, high = float(numbers.min()), float(numbers.max())
    if high - low > 1e-12 * max(abs(low), abs(high)):
        return low, high
    reach = abs(low) / 2 or 0.5
    return low - reach, high + reach


def _runs(is_known: Array) -> list[slice]:
    """Split panes where the metric is undefined."""
    gaps = np.flatnonzero(~is_known).tolist()
    edges = itertools.pairwise([-1, *gaps, len(is_known)])
    return [slice(before + 1, gap) for before, gap in edges if gap > before + 1]


def _drawn(path: str, style: str) -> Html:
    """Write a path, which needs no escaping."""
    return Html(f'<path d="{path}" class="{style}"></path>')


def _end_text(value: float, down: int) -> Html:
    return _side_text(f"{value:.3g}".replace("-", "\N{MINUS SIGN}"), down)


def _side_text(text: str, down: int) -> Html:
    return Html(f'<text x="{_WIDTH - _RIGHT + 5}" y="{down}" class="tick">{text}</text>')
