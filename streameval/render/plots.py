"""Pictures by matplotlib, which is imported only to draw one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import attrs
import numpy as np

from streameval.errors import InvalidInputError
from streameval.exact.array_types import Array, Floats
from streameval.metrics.table import Reading
from streameval.render.blocks import (
    MAX_DRAWN,
    Dots,
    Figure,
    Matrix,
    OverTime,
    Reliability,
    Several,
)
from streameval.render.charts import Chart, ChartMark
from streameval.render.text import in_sentence, shorten

if TYPE_CHECKING:
    from matplotlib import figure
    from matplotlib.axes import Axes

_APART = 0.12  # the offset between several rankings in one row
_BAR = "lightsteelblue"
_MAX_NAMED = 60
_ROOMY = 12  # classes of a matrix in a figure of the default size
_MIN_POINTS = 4.5


def axes_on(ax: Axes | None, side: float | None = None) -> Axes:
    """Return some axes, or make those of a new figure, of the default size or a square in inches.

    Raises
    ------
    InvalidInputError
        If `ax` is something else.
    """
    try:
        from matplotlib import axes, pyplot  # noqa: PLC0415
    except ImportError as error:
        message = 'a picture needs matplotlib: pip install "streameval[plot]".'
        raise ImportError(message) from error
    if isinstance(ax, axes.Axes):
        return ax
    if ax is not None:
        raise InvalidInputError(f"must be axes of matplotlib, got {ax!r:.60}", argument="ax")
    size = None if side is None else (side * 1.15, side)
    return pyplot.subplots(layout="constrained", figsize=size)[1]


@attrs.frozen(eq=False, repr=False)
class PlotRequest:
    """What `plot` was called with, of which each picture reads what it needs."""

    ax: Axes | None
    kind: Any = None
    label: str | None = None
    level: float = 0.95
    max_classes: int = 10
    normalize: bool = True


def draw(figure: Figure, request: PlotRequest) -> Axes:
    """Draw a picture, on the axes and under the name that were requested."""
    return _PAINTERS[type(figure)](figure, request)


def _several(block: Several, request: PlotRequest) -> Axes:
    """Draw pictures of classes on the same axes."""
    axes, label = axes_on(request.ax), request.label
    for of, one in block.pictures.items():
        shown = _literal(shorten(of, 20))
        name = shown if label is None else f"{label} {shown}"
        draw(one, attrs.evolve(request, ax=axes, label=name))
    if len(block.pictures) < block.of:
        axes.set_title(f"{axes.get_title()}, {len(block.pictures)} of {block.of} classes")
    return axes


def _matrix(block: Matrix, request: PlotRequest) -> Axes:
    """Draw a matrix with names and counts where they fit, coloured by count or share of a row."""
    n_classes, normalize = len(block.labels), request.normalize
    side = 2.0 + 0.3 * min(n_classes, _MAX_NAMED) if n_classes > _ROOMY else None
    axes = axes_on(request.ax, side)
    shades = block.row_shares() if normalize else block.counts
    if shades.size:
        image = axes.imshow(shades, cmap="Blues", vmin=0, vmax=1 if normalize else None)
        scale = "share of the true class" if normalize else "examples"
        axes.figure.colorbar(image, ax=axes, label=scale)
    title = ", ".join(filter(None, ["Confusion matrix", request.label, block.title]))
    axes.set(xlabel="prediction", ylabel="truth", title=title)
    if n_classes <= _MAX_NAMED:
        darkest = 1.0 if normalize else max(shades.max(initial=0.0), 1e-300)
        _write_cells(axes, block, shades / darkest)
    return axes


def _write_cells(ax: Axes, block: Matrix, shades: Array) -> None:
    labels, ticks = [_literal(shorten(label)) for label in block.labels], range(len(shades))
    cell = 0.75 * 72 * ax.bbox.height / ax.figure.dpi / max(len(labels), 1)  # in points
    size: dict[str, Any] = {"fontsize": min(10.0, 0.8 * cell)}
    slanted = 0.6 * size["fontsize"] * max(map(len, labels), default=0) > cell
    turn, end = (90 if len(labels) > _ROOMY else 45, "right") if slanted else (0, "center")
    ax.set_xticks(ticks, labels, rotation=turn, ha="center" if turn == 90 else end, **size)
    ax.set_yticks(ticks, labels, **size)
    longest = max((len(f"{count:,}") for count in block.counts.ravel()), default=1)
    digits = min(10.0, 0.8 * cell, 1.7 * cell / longest)
    if digits < _MIN_POINTS:
        return
    for i, j in zip(*np.nonzero(block.counts), strict=True):
        colour = "white" if shades[i, j] > 0.5 else "black"
        text = f"{block.counts[i, j]:,}"
        ax.text(j, i, text, ha="center", va="center", color=colour, fontsize=digits)


def _literal(text: str) -> str:
    """Keep matplotlib from reading text between dollars as mathematics."""
    return text.replace("$", r"\$")


def _chart(chart: Chart, request: PlotRequest) -> Axes:
    """Draw the marks of a chart; with a label, as one of several."""
    axes, label, colour = axes_on(request.ax), request.label, None
    right, top, is_first = axes.get_xlim()[1], axes.get_ylim()[1], not axes.has_data()
    for mark in chart.marks:
        if label is None:
            colour = _paint(axes, mark, colour, mark.name, is_filled=not chart.is_apart)
        elif not mark.is_alone and (mark.kind != "dashed" or is_first):
            colour = _paint(axes, mark, colour, mark.beside.format(label), is_filled=False)
    axes.set(xlabel=in_sentence(chart.x.label), ylabel=in_sentence(chart.y.label))
    axes.set_title((label is None and chart.own_title) or chart.title)
    if chart.x.ticks:
        axes.xaxis.set_ticks(chart.x.ticks, chart.x.texts)
        axes.yaxis.set_ticks(chart.y.ticks, chart.y.texts)
    elif not chart.is_apart:
        reached = (0.0, 0.0) if is_first else (min(right, 1.0), top)  # by what was there before
        axes.set_xlim(0.0, max(chart.x.high, reached[0]))
        if chart.room:
            axes.set_ylim(0.0, max(chart.room * chart.y.high, reached[1]))
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc=chart.legend)
    return axes


def _paint(axes: Axes, mark: ChartMark, colour: Any, name: str, *, is_filled: bool) -> Any:
    """Draw a mark, and return the colour of the result."""
    x, y, label = mark.x, mark.y, name or None
    match mark.kind:
        case "line":
            return axes.plot(x, y, label=label)[0].get_color()
        case "points" | "series":
            size = 3 if mark.kind == "series" else None
            return axes.plot(x, y, marker="o", markersize=size, label=label)[0].get_color()
        case "bars" | "others":
            steps = axes.stairs(y, x, fill=is_filled, alpha=0.6 if is_filled else 1.0, label=label)
            return steps.get_facecolor() if is_filled else steps.get_edgecolor()
        case "shares":
            axes.stairs(y, x, fill=True, color=_BAR, alpha=0.6, label=label)
        case "counts":
            look: dict[str, Any] = {"fontsize": 8, "color": "dimgrey", "rotation": 90}
            look |= {"ha": "right", "va": "bottom", "textcoords": "offset points"}
            for text, across, up in zip(mark.texts, x, y, strict=True):
                axes.annotate(text, (across, up), (-1, 5), **look)
        case "dashed":
            axes.plot(x, y, linestyle="--", color="grey", label=label)
        case "upright":
            axes.axvline(x[0], linestyle="--", color=colour, alpha=1.0, label=label)
        case "span":
            axes.axvspan(*x, alpha=0.2, linewidth=0, color=colour, label=label)
        case "between":
            axes.fill_between(x, *y, alpha=0.3, linewidth=0, color=colour, label=label)
        case "band":
            axes.fill(x, y, alpha=0.3, linewidth=0, color=colour, label=label)
        case _:
            axes.vlines(x, *y, color=colour, linewidth=1, alpha=0.6, label=name)
    return colour


def _dots(block: Dots, request: PlotRequest) -> Axes:
    """Draw a line for each number: a dot, whiskers for the sampling and a bar for the certified.

    Arrows to the edge of the axes are whiskers without a limit. Numbers already on the axes keep
    their rows.
    """
    axes, label, readings = axes_on(request.ax), request.label, block.readings
    drawn = len(axes.containers)
    names = [tick.get_text() for tick in axes.get_yticklabels()] if drawn else []
    names += [name for name in readings if name not in names]
    heights = np.array([names.index(name) for name in readings]) + drawn * _APART
    _draw_dots(axes, heights, list(readings.values()), label)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5 + drawn * _APART, -0.5)
    axes.set(xlabel=block.across, title=block.title)
    ends = [end for one in readings.values() for end in one.ends]
    if min(ends, default=0.0) < 0.0 < max(ends, default=0.0):
        axes.axvline(0.0, color="grey", linewidth=1, linestyle="--")
    if all(map(block.is_share, names)):
        highest = max((end for one in readings.values() for end in one.ends), default=1.0)
        highest = max(highest, axes.get_xlim()[1] if drawn else 0.0)
        axes.set_xlim(0, 1.02 if highest > 0.5 or highest <= 0.0 else 1.1 * highest)
    if label is not None:
        _legend_beside(axes)
    return axes


def _legend_beside(axes: Axes) -> None:
    """Put the legend beside the axes, where it covers nothing, if the layout makes space."""
    if axes.figure.get_layout_engine() is None:
        axes.legend()
    else:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _draw_dots(axes: Axes, heights: Floats, readings: list[Reading], label: str | None) -> None:
    means = np.array([reading.value for reading in readings], dtype=np.float64)
    nothing = (math.nan, math.nan)
    low, high = np.array([reading.sampling or nothing for reading in readings]).T
    reach = np.array([means - low, high - means])
    limited = np.where(np.isinf(reach), 0.0, reach)
    bars = axes.errorbar(means, heights, xerr=limited, fmt="o", capsize=3, label=label)
    colour = bars.lines[0].get_color()
    arrow = {"arrowstyle": "->", "color": colour, "shrinkA": 0.0, "shrinkB": 0.0}
    for edge, at in zip(*np.nonzero(np.isinf(reach)), strict=True):
        end, start = (float(edge), heights[at]), (means[at], heights[at])
        across = axes.get_yaxis_transform()
        axes.annotate("", end, start, across, axes.transData, arrowprops=arrow)
    pairs = zip(heights, readings, strict=True)
    spans = [(height, *reading.certified) for height, reading in pairs if reading.is_open]
    if spans:
        name = "exact value within" if label is None else ""
        certain, lows, highs = zip(*spans, strict=True)
        axes.hlines(certain, lows, highs, linewidth=8, alpha=0.3, color=colour, label=name)
        if name:
            axes.legend()


def over_time(figure: figure.Figure, block: OverTime, level: float) -> None:
    """Draw lines over time, and below them the share of labelled rows.

    Parameters
    ----------
    figure : matplotlib Figure
        The figure to draw in, without axes.
    block : OverTime
        The first line has intervals: certified ones as a band, sampling ones as thin vertical
        lines.
    level : float
        The level of the sampling intervals; 0 draws none.
    """
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[4, 1])
    draw(block, PlotRequest(above, level=level))
    edges = np.repeat(np.column_stack(block.lines[0].edges), 2)
    bars = np.outer(block.lines[0].coverages, [0, 1, 1, 0])  # one shape: many take seconds to draw
    below.fill_between(edges, bars.ravel(), color=_BAR, linewidth=0)
    below.set(ylim=(0, 1), ylabel="labelled")


def _over_time(block: OverTime, request: PlotRequest) -> Axes:
    """Draw lines over time on some axes; the first has intervals."""
    axes, metric, colour = axes_on(request.ax), block.metric, None
    first, *others = block.lines
    for mark in first.marks(request.level):
        colour = _paint(axes, mark, colour, mark.name, is_filled=False)
    for line in others[: MAX_DRAWN - 1]:
        _paint(axes, line.marks(0.0)[0], None, line.name, is_filled=False)
        axes.lines[-1].set(markersize=2, linewidth=1)
    axes.set(ylabel=metric, title=f"{metric} over time")
    if first.panes and not isinstance(first.panes[0].start, int):
        from matplotlib import dates  # noqa: PLC0415

        locator: Any = cast("Any", dates.AutoDateLocator)()
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(cast("Any", dates.ConciseDateFormatter)(locator))
    if others:
        _legend_beside(axes)
    elif len(axes.get_legend_handles_labels()[0]) > 1:
        axes.legend()
    return axes


_PAINTERS: dict[type[Any], Callable[[Any, PlotRequest], Axes]] = {
    Chart: _chart,
    Reliability: lambda block, request: _chart(block.chart(request.level), request),
    Matrix: _matrix,
    Dots: _dots,
    OverTime: _over_time,
    Several: _several,
}
