"""A metric over time on a page: a picture, the share of labelled rows below, and a table."""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
import numpy as np

from streameval.exact.array_types import Floats
from streameval.metrics.table import Reading
from streameval.render.blocks import TimeLine
from streameval.render.charts import RATES, Axis, layer, nice_axis, time_axis
from streameval.render.markup import Html, element, label, short
from streameval.render.svg import Frame, picture
from streameval.render.tables import rows_table
from streameval.render.text import percent, time_texts

_LOOK = "s0"
_MAX_LINES = 60
_TICK = 60  # between two dates of an axis
_MAX_SMALL = 24
_MAX_COLUMNS = 8
_NAME_WIDTH = 28
_SMALL = 228, 130


def pictures_over_time(lines: Sequence[TimeLine], metric: str, level: float) -> Html:
    """Draw a metric of all rows over time, below it each slice, and list the values in a table."""
    whole, *slices = lines
    title = element("figcaption", element("h3", f"{metric} over time"))
    drawn = [time_picture(whole, metric)]
    if whole.has_unlabelled:
        drawn.append(coverage_picture(whole))
    every = [one.value for line in slices for one in line.readings]
    y = _value_axis([value for value in every if math.isfinite(value)], "")
    y = Axis(y.low, y.high, y.ticks[:: len(y.ticks) - 1])
    small = [
        element(
            "figure",
            element("figcaption", element("h4", label(line.name, 40))),
            time_picture(line, metric, width=_SMALL[0], height=_SMALL[1], y=y),
        )
        for line in slices[:_MAX_SMALL]
    ]
    more = len(slices) - len(small)
    note = [element("p", f"and {more:,} more, left out", class_="note")] if more else []
    beside = [element("div", *small, class_="small"), *note] if small else []
    listed = slices[:_MAX_COLUMNS]
    of = f", of the first {len(listed)} slices" if len(listed) < len(slices) else ""
    table = _time_table(whole, metric, level, listed)
    folded = element("details", element("summary", f"Values{of}"), table)
    return element("figure", title, *drawn, *beside, folded, class_="over-time")


def time_picture(
    line: TimeLine,
    metric: str,
    limits: Sequence[float] = (),
    width: int = 480,
    height: int = 240,
    fired: Sequence[int] = (),
    y: Axis | None = None,
) -> Html:
    """Draw a metric over time, its limits, and where alerts began; open panes are hatched.

    `y` is the vertical axis of pictures that share one, on which sampling intervals are clipped.
    """
    x, edges = _time_axis(line, width)
    x = x if y is None else attrs.evolve(x, label="")
    defined = line.defined
    ends = [end for reading in defined.readings for end in reading.ends]
    y = _value_axis(ends, metric) if y is None else y
    frame = Frame(x, y, width=width, height=height, bottom=46 if x.label else 28)
    kept = [
        frame.line([x.low, x.high], [limit, limit], "limit")
        for limit in limits
        if y.low <= limit <= y.high
    ]
    kept += [frame.line([edges[at].mean()] * 2, [y.low, y.high], "limit fired") for at in fired]
    n_panes, n_defined = len(line.panes), len(defined.panes)
    summary = f"{metric} in {n_panes} panes of time, of which {n_defined} define it"
    summary += f"; the last {line.n_open} are open" if line.n_open else ""
    drawn = sorted(defined.marks(0.0) if n_defined else [], key=layer)
    marks = [*_hatched(frame, edges, line.n_open), frame.grid(), *kept]
    marks += [frame.drawn(mark, _LOOK) for mark in drawn]
    return picture(frame, f"{metric} over time", summary, marks)


def _value_axis(ends: Sequence[float], name: str) -> Axis:
    return nice_axis(min(ends, default=0.0), max(ends, default=1.0), name)


def _hatched(frame: Frame, edges: Floats, n_open: int) -> list[Html]:
    return [frame.hatched(edges[-n_open, 0], edges[-1, 1])] if n_open else []


def _time_axis(line: TimeLine, width: int) -> tuple[Axis, Floats]:
    """Choose the horizontal axis, and find the ends of the panes on it."""
    edges = np.column_stack(line.edges)
    first, last = edges.min(), edges.max()
    is_step = isinstance(line.panes[0].start, int)
    axis = nice_axis(first, last, "Step") if is_step else time_axis(first, last, width // _TICK)
    return axis, edges.astype(np.float64)


def coverage_picture(line: TimeLine, width: int = 480, height: int = 100) -> Html:
    """Draw the share of the rows that have labels."""
    shares = line.coverages
    summary = f"From {percent(min(shares))} to {percent(max(shares))} of the rows have labels"
    return share_picture(line, shares, "Labelled", summary, width, height)


def share_picture(
    line: TimeLine,
    shares: Sequence[float],
    name: str,
    summary: str,
    width: int,
    height: int,
) -> Html:
    """Draw a bar for each pane of a line; nan is no bar."""
    x, edges = _time_axis(line, width)
    frame = Frame(x, Axis(0, 1, RATES[::5], name), width=width, height=height)
    opened = _hatched(frame, edges, line.n_open)
    tops = np.outer(np.nan_to_num(shares), [0, 1, 1, 0])
    bars = frame.area(np.repeat(edges, 2), tops.ravel(), "plain")
    return picture(frame, name, summary, [*opened, frame.grid(), bars])


def _time_table(whole: TimeLine, metric: str, level: float, slices: Sequence[TimeLine]) -> Html:
    """List the newest values of a metric, also those of slices."""
    shown = whole.panes[-_MAX_LINES:]
    sizes = [("Rows", [pane.n_rows for pane in shown])]
    if whole.has_unlabelled:
        sizes.append(("Labelled", [pane.n_labelled for pane in shown]))
    columns = [(name, [Reading(n, is_count=True) for n in column]) for name, column in sizes]
    lines = [(metric, whole), *((short(line.name, _NAME_WIDTH), line) for line in slices)]
    columns += [(heading, [*line.readings[-_MAX_LINES:]]) for heading, line in lines]
    return rows_table("start", time_texts([pane.start for pane in shown]), columns, level, metric)
