"""Pictures by matplotlib, which is imported only to draw one."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, cast

import attrs
import numpy as np

from streameval.errors import InvalidInputError
from streameval.exact.array_types import Array, Floats
from streameval.metrics.table import Reading
from streameval.render.blocks import (
    MAX_DRAWN,
    CurveLine,
    Dots,
    Figure,
    Matrix,
    OverTime,
    Reliability,
    ScoreShares,
    Several,
    Spread,
    TimeLine,
)
from streameval.render.text import brief, chance_title, shorten

if TYPE_CHECKING:
    from matplotlib import figure
    from matplotlib.axes import Axes

_APART = 0.12  # the offset between several rankings in one row
_BAR = "lightsteelblue"
_BINS = 20  # of the areas of groups
_MAX_NAMED = 60
_ROOMY = 12  # classes of a matrix in a figure of the default size
_MIN_POINTS = 4.5
_RATES = (0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999)


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


def _line(block: CurveLine, request: PlotRequest) -> Axes:
    """Draw the line of one state with its band; with a label, as one of several."""
    curves, curve, area = block
    if curve is None:
        raise InvalidInputError("needs examples of both classes", argument="plot")
    axes, label = axes_on(request.ax), request.label
    several = axes.has_data()
    name = f"{curves.area} {area:.4f}" if curves.area else ""
    if label is not None:
        name = f"{label} ({name})" if name else label
    (drawn,) = axes.plot(*curve.line, label=name or None)
    if curve.outline is not None:
        band = "the exact curve lies here" if label is None else None
        axes.fill(*curve.outline, alpha=0.3, linewidth=0, color=drawn.get_color(), label=band)
    chance = curves.chance_line([curve])
    if chance is not None and (label is None or (curves.chance == "diagonal" and not several)):
        axes.plot(*chance, linestyle="--", color="grey", label="chance")
    axes.set(xlabel=curves.across.lower(), ylabel=curves.up.lower(), title=curves.title)
    if curves.is_normal:
        ticks = [NormalDist().inv_cdf(rate) for rate in _RATES]
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_ticks(ticks, [f"{100 * rate:g}%" for rate in _RATES])
    else:
        top = curve.top if curves.is_fitted else 1.0
        top = max(top, axes.get_ylim()[1] / 1.02) if several else top
        axes.set(xlim=(0, 1), ylim=(0, 1.02 * top))
    if name or curve.outline is not None:  # below a good curve, and above a bad one
        is_diagonal, is_good = curves.chance == "diagonal", area > 0.5
        axes.legend(
            loc="lower right" if is_diagonal else "lower left" if is_good else "upper right"
        )
    return axes


def _reliability(diagram: Reliability, request: PlotRequest) -> Axes:
    """Draw observed over predicted values; of one diagram, also how many examples bins have."""
    axes, label = axes_on(request.ax), request.label
    top = diagram.top if label is None else max(diagram.top, axes.get_xlim()[1] * axes.has_data())
    sampling = np.array(diagram.sampling(request.level))
    top = max(top, sampling.max(initial=0.0))
    if label is None:
        if diagram.share is not None:
            edges = np.linspace(0.0, 1.0, len(diagram.share) + 1)
            name = "share of the examples"
            axes.stairs(diagram.share, edges, fill=True, color=_BAR, alpha=0.6, label=name)
        axes.plot([0, 1], [0, 1], linestyle="--", color="grey", label="perfectly calibrated")
        counted = zip(diagram.predicted, diagram.observed, diagram.weight, strict=True)
        for x, y, weight in counted if diagram.share is not None else ():
            look: dict[str, Any] = {"fontsize": 8, "color": "dimgrey", "rotation": 90}
            look |= {"ha": "right", "va": "bottom", "textcoords": "offset points"}
            axes.annotate(brief(weight), (x, y), (-1, 5), **look)
    (line,) = axes.plot(diagram.predicted, diagram.observed, marker="o", label=label or "observed")
    if len(sampling):
        name = chance_title(request.level) if label is None else ""
        look = {"color": line.get_color(), "linewidth": 1}
        axes.vlines(diagram.predicted, *sampling.T, label=name, **look)
    across, up = diagram.across.lower(), diagram.up.lower()
    axes.set(xlim=(0, top), ylim=(0, 1.08 * top), xlabel=across, ylabel=up, title=diagram.title)
    axes.legend(loc="upper left")
    return axes


def _scores(shares: ScoreShares, request: PlotRequest) -> Axes:
    """Draw the scores of both classes."""
    axes, label = axes_on(request.ax), request.label
    for share, name in ((shares.positives, "positives"), (shares.negatives, "negatives")):
        axes.stairs(share, shares.edges, label=name if label is None else f"{label}: {name}")
    axes.set(xlabel="score", ylabel="share of the class", title="Scores by class")
    axes.legend()
    return axes


def _spread(block: Spread, request: PlotRequest) -> Axes:
    """Draw how the AUCs of groups are spread, by weight, and their mean."""
    axes, label, mean = axes_on(request.ax), request.label, block.mean
    weights, of_one = block.weights / block.weights.sum(), label is None
    shares, edges = np.histogram(block.areas, _BINS, (0.0, 1.0), weights=weights)
    steps = axes.stairs(shares, edges, fill=of_one, alpha=0.6 if of_one else 1.0, label=label)
    colour = steps.get_facecolor() if of_one else steps.get_edgecolor()
    name = f"GAUC {mean:.4f}" if of_one else None
    axes.axvline(mean, linestyle="--", color=colour, alpha=1.0, label=name)
    if not mean.exact:
        band = "the exact GAUC lies here" if of_one else None
        axes.axvspan(mean.low, mean.high, alpha=0.2, linewidth=0, color=colour, label=band)
    axes.set(xlim=(0, 1), xlabel="AUC within a group", ylabel=block.up)
    axes.set_title(f"{len(block.areas):,} groups" if of_one else "AUC of the groups")
    axes.legend()
    return axes


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
    coverage = [pane.labelled / pane.rows for pane in block.lines[0].panes]
    bars = np.outer(coverage, [0, 1, 1, 0]).ravel()  # one shape: thousands take seconds to draw
    below.fill_between(edges, bars, color=_BAR, linewidth=0)
    below.set(ylim=(0, 1), ylabel="labelled")


def _over_time(block: OverTime, request: PlotRequest) -> Axes:
    """Draw lines over time on some axes; the first has intervals."""
    axes, metric = axes_on(request.ax), block.metric
    first, *others = block.lines
    (drawn,) = axes.plot(first.middles, first.values, marker="o", markersize=3, label=first.name)
    _add_intervals(axes, first, drawn.get_color(), request.level)
    for line in others[: MAX_DRAWN - 1]:
        axes.plot(line.middles, line.values, marker="o", markersize=2, linewidth=1, label=line.name)
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


def _add_intervals(ax: Axes, line: TimeLine, colour: Any, level: float) -> None:
    low, high = line.certified
    if np.any(low < high):
        ax.fill_between(
            line.middles,
            low,
            high,
            alpha=0.3,
            color=colour,
            linewidth=0,
            label="exact value within",
        )
    bottom, top = line.sampling
    if level and not np.isnan(bottom).all():
        title = chance_title(level)
        ax.vlines(line.middles, bottom, top, color=colour, linewidth=1, alpha=0.6, label=title)


_PAINTERS: dict[type[Any], Callable[[Any, PlotRequest], Axes]] = {
    CurveLine: _line,
    Reliability: _reliability,
    ScoreShares: _scores,
    Matrix: _matrix,
    Spread: _spread,
    Dots: _dots,
    OverTime: _over_time,
    Several: _several,
}
