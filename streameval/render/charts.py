"""Pictures as plain values: axes, and marks between them, which SVG and matplotlib paint."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple, get_args

import attrs
import numpy as np
import numpy.typing as npt

from streameval.exact.array_types import Floats
from streameval.render.text import in_sentence

Line = tuple[Floats, Floats]
Time = Any  # a datetime64[us]

_N_STEPS = 5
_MIN, _MAX = 1e-300, sys.float_info.max
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TIME_STEPS = (
    *((step, unit) for unit in "sm" for step in (1, 5, 15, 30)),
    *((step, "h") for step in (1, 3, 6, 12)),
    *((step, "D") for step in (1, 2, 7, 14)),
    *((step, "M") for step in (1, 3, 6)),
    *((step * power, "Y") for power in (1, 10, 100, 1000, 10_000) for step in (1, 2, 5)),
)


@attrs.frozen
class Axis:
    """The range of an axis, its ticks and its label.

    Parameters
    ----------
    low, high : float
        The numbers at both ends.
    ticks : tuple of float
        The numbers that are written; empty if the painter chooses round ones.
    label : str
        What the numbers are.
    texts : tuple of str
        What is written at the ticks; by default their numbers.
    moments : tuple of str
        What the ticks are in UTC, in ISO 8601; empty if they are no times.
    """

    low: float
    high: float
    ticks: tuple[float, ...] = ()
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

    def rounded(self) -> Axis:
        """Choose round ends and ticks, unless there are ticks; of 0 alone up to 1."""
        high = self.high if self.low or self.high else 1.0
        return self if self.ticks else nice_axis(self.low, high, self.label)


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
    """Count microseconds since 1970, with ticks at up to `limit` moments: dates, or times of day.

    >>> axis = time_axis(np.datetime64("2026-01-30", "us"), np.datetime64("2026-02-02", "us"))
    >>> axis.texts, axis.label
    (('30 Jan', '12:00', '31 Jan', '12:00', '1 Feb', '12:00', '2 Feb'), '2026, UTC')
    """
    moments, unit = _moments(start, end, limit)
    low, high, *ticks = np.array([start, end, *moments], dtype="M8[us]").astype(np.float64).tolist()
    texts = tuple(_moment_text(_date_of(moment), unit) for moment in moments)
    first, last = _date_of(start), _date_of(end)
    label = f"{' to '.join(map(str, dict.fromkeys([first.year, last.year])))}, UTC"
    if not any(text[-1].isalpha() for text in texts) and unit != "Y":
        label = f"{_day_text(first)} {label}"
    iso = tuple(f"{moment.astype('M8[s]')}Z" for moment in moments)
    return Axis(low, high, tuple(ticks), label, texts, iso)


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


def tick_text(tick: float) -> str:
    """Write the number of a tick."""
    digits = ".0f" if float(tick).is_integer() and abs(tick) < 1e12 else ".6g"
    return f"{tick:{digits}}".replace("-", "\N{MINUS SIGN}")


def thinned(x: Floats, y: Floats, limit: int) -> Line:
    """Keep at most `limit` points that are evenly spaced along the line."""
    if len(x) <= limit:
        return x, y
    length = np.cumsum(np.abs(np.diff(x, prepend=x[0])) + np.abs(np.diff(y, prepend=y[0])))
    indices = np.searchsorted(length, np.linspace(0.0, length[-1], limit))
    kept = np.unique(np.append(np.minimum(indices, len(x) - 1), [0, len(x) - 1]))
    return x[kept], y[kept]


Kind = Literal[
    "shares",
    "others",
    "bars",
    "counts",
    "dashed",
    "span",
    "band",
    "between",
    "whiskers",
    "upright",
    "line",
    "points",
    "series",
]
"""From the lowest to the highest."""


class ChartMark(NamedTuple):
    """What stands between the axes.

    Parameters
    ----------
    kind : str
        Lines go through points; "points" and "series", of many, have dots besides. A "dashed" line
        is of no result. A "band" is a polygon, and "between" one of two lines; a "span" and an
        "upright" are as high as the picture. "bars" stand
        between edges, "others" beside them, and "shares" behind all. "counts" are texts, and
        "whiskers" are vertical.
    x, y : arrays
        The points; edges and heights of bars. "between" and whiskers have two rows: from, to.
    name : str
        In a legend; empty for none.
    beside : str
        The same if several results share the picture, with {} for the name of the result.
    said : str
        The same on a page.
    is_alone : bool
        Whether it is left out if several results share the picture. On a page, a dashed line is
        there if it is the same for all.
    texts : sequence of str
        What is written.
    """

    kind: Kind
    x: Floats
    y: Floats
    name: str = ""
    beside: str = ""
    said: str = ""
    is_alone: bool = False
    texts: Sequence[str] = ()


Corner = Literal["upper left", "upper right", "lower left", "lower right"]


@attrs.frozen(eq=False)
class Chart:
    """A picture of a result.

    Parameters
    ----------
    title : str
        Above it.
    x, y : Axis
        What both axes must reach.
    marks : sequence of ChartMark
        In the order of a legend; empty if there is nothing to draw.
    own_title : str
        The title of a plot of one result.
    spoken : (str, float), optional
        A number and its name, for readers who do not see the picture.
    summary : str
        What they hear without a number.
    said, cut : str
        What a page says below it, and if the vertical axis ends below a line.
    room : float
        How far above the highest number a plot ends; 0 leaves that to matplotlib.
    legend : str
        Where a plot has its legend.
    is_apart : bool
        Whether each state has a picture of its own on a page, and a plot reaches all numbers.
    """

    title: str
    x: Axis
    y: Axis
    marks: Sequence[ChartMark]
    own_title: str = ""
    spoken: tuple[str, float] | None = None
    summary: str = attrs.field(
        default=attrs.Factory(
            lambda self: f"{self.y.label} over {in_sentence(self.x.label)}", takes_self=True
        )
    )
    said: str = ""
    cut: str = ""
    room: float = 0.0
    legend: Corner | Literal["best"] = "best"
    is_apart: bool = False


def joined_axes(charts: Sequence[Chart]) -> tuple[Axis, Axis]:
    """Reach all numbers of several pictures, and say what they are."""
    return _joined([one.x for one in charts]), _joined([one.y for one in charts])


def _joined(axes: Sequence[Axis]) -> Axis:
    first, *others = dict.fromkeys(one.label for one in axes)
    return attrs.evolve(
        axes[0],
        low=min(one.low for one in axes),
        high=max(one.high for one in axes),
        label=" or ".join([first, *map(in_sentence, others)]),
    )


def shared_marks(charts: Sequence[Chart | None]) -> list[tuple[int, ChartMark]]:
    """List the marks of one picture of several results, each with its index: the lowest first."""
    held = [(at, one) for at, chart in enumerate(charts) if chart for one in chart.marks]
    dashed = [one for _, one in held if one.kind == "dashed"]
    is_shared = all(np.array_equal(one.y, dashed[0].y) for one in dashed)
    kept = [
        (at, one)
        for at, one in held
        if (is_shared and one is dashed[0] if one.kind == "dashed" else not one.is_alone)
        or len(charts) == 1
    ]
    return sorted(kept, key=lambda pair: layer(pair[1]))


def layer(mark: ChartMark) -> int:
    """Say how many kinds of marks are below one."""
    return get_args(Kind).index(mark.kind)
