"""Pictures as SVG: lines, reliability, distributions and dots, each of one or several states."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import attrs
import numpy as np

from streameval.exact.array_types import Floats
from streameval.metrics.table import Reading
from streameval.render.blocks import (
    MAX_DRAWN,
    BandedLine,
    Curves,
    Line,
    Reliability,
    ScoreShares,
    thinned,
)
from streameval.render.markup import Html, joined, short
from streameval.render.svg import RATES, Axis, Frame, nice_axis, picture
from streameval.render.text import brief

MAX_ROWS = 24
"""How many rows a picture of dots has."""

NamedRows = Sequence[tuple[object, Sequence[Reading | None]]]

_GROUP_BINS = 20
_MAX_NAME = 22
_CHARACTER = 8  # the width of a character at the larger font size on a phone
_MAX_POINTS = 800
_ROW, _STEP = 14, 13


def style(index: int) -> str:
    """Name the colour and the dashes of a line by its index."""
    return f"s{index}"


def _styled(blocks: Iterable[Any]) -> list[tuple[str, Any]]:
    """Pair the first lines with their styles; None uses up a style."""
    first = zip(range(MAX_DRAWN), blocks, strict=False)
    return [(style(index), block) for index, block in first if block is not None]


def lines(curves: Curves, drawn: Iterable[BandedLine | None], summary: str) -> Html:
    """Draw all bands, and the lines above them."""
    held = _styled(drawn)
    top = max(curve.top for _, curve in held) if curves.is_fitted else 1.0
    y = nice_axis(0.0, top, curves.up) if 0.0 < top < 1.0 else Axis(0, 1, RATES, curves.up)
    frame = Frame(Axis(0, 1, RATES, curves.across), y)
    chance = curves.chance_line(curve for _, curve in held)
    below = [] if chance is None else [frame.line(*chance, "chance")]
    bands = [
        frame.area(*_few(curve.outline), look) for look, curve in held if curve.outline is not None
    ]
    above = [frame.line(*_few(curve.line), look) for look, curve in held]
    return picture(frame, curves.title, summary, [frame.grid(), *below, *bands, *above])


def _few(line: Line) -> Line:
    return thinned(*line, _MAX_POINTS)


def reliability(diagrams: Sequence[Reliability | None], level: float) -> tuple[Html, bool]:
    """Draw observed over predicted values, and say whether there are whiskers.

    A single diagram of bins of equal width also has the examples of each, and bars of shares.
    """
    held = _styled(diagrams)
    sampling = [one.sampling(level) for _, one in held]
    across, up, top = held[0][1].across, held[0][1].up, max(one.top for _, one in held)
    top = max([top, *(high for every in sampling for _, high in every)])
    ends = nice_axis(0.0, top) if top < 1.0 else Axis(0, 1, RATES)
    frame = Frame(attrs.evolve(ends, label=across), attrs.evolve(ends, label=up))
    parts = [frame.grid()]
    for _, one in held if len(diagrams) == 1 else ():
        if one.share is not None:
            edges = np.linspace(0.0, 1.0, len(one.share) + 1)
            parts.append(frame.stairs(one.share, edges, "plain", filled=True))
            parts.append(frame.upright(one.predicted, one.observed, map(brief, one.weight)))
    parts.append(frame.line([0, 1], [0, 1], "chance"))
    whiskers = [
        frame.line([across, across], ends, f"whisker {look}")
        for (look, one), every in zip(held, sampling, strict=True)
        for across, ends in zip(one.predicted, every, strict=False)
    ]
    parts += whiskers
    for look, diagram in held:
        parts.append(frame.line(diagram.predicted, diagram.observed, look))
        parts.append(frame.dots(diagram.predicted, diagram.observed, look))
    summary = f"{up} over {across.lower()}"
    return picture(frame, "Reliability diagram", summary, parts), bool(whiskers)


def scores(every: Sequence[ScoreShares], summary: str) -> list[Html]:
    """Draw the scores of both classes, with a picture for each state on equal axes.

    The positives have the style of the state.
    """
    low = min(float(shares.edges[0]) for shares in every)
    high = max(float(shares.edges[-1]) for shares in every)
    highest = max(float(part.max()) for one in every for part in (one.positives, one.negatives))
    x = Axis(0, 1, RATES, "Score") if (low, high) == (0, 1) else nice_axis(low, high, "Score")
    frame = Frame(x, nice_axis(0.0, highest or 1.0, "Share of the class"), height=300)
    return [
        _score_picture(frame, shares, style(index), summary) for index, shares in enumerate(every)
    ]


def _score_picture(frame: Frame, shares: ScoreShares, look: str, summary: str) -> Html:
    bars = ((shares.negatives, "plain"), (shares.positives, f"solid {look}"))
    return picture(frame, "Scores by class", summary, _histograms(frame, shares.edges, bars))


def _histograms(frame: Frame, edges: Floats, bars: Sequence[tuple[Floats, str]]) -> list[Html]:
    """Fill the bars of all histograms, and draw their outlines above."""
    return [
        frame.grid(),
        *(
            frame.stairs(shares, edges, look, filled=filled)
            for filled in (True, False)
            for shares, look in bars
        ),
    ]


def spread(areas: Sequence[Floats], summary: str) -> Html:
    """Draw how the AUCs of groups are spread, each given as an array."""
    edges = np.arange(_GROUP_BINS + 1) / _GROUP_BINS
    shares = [np.histogram(area, edges)[0] / max(len(area), 1) for area in areas[:MAX_DRAWN]]
    highest = max(float(share.max()) for share in shares) or 1.0
    x, y = Axis(0, 1, RATES, "AUC within the group"), nice_axis(0, highest, "Share of the groups")
    frame, bars = Frame(x, y, height=300), [(share, style(at)) for at, share in enumerate(shares)]
    return picture(frame, "AUC of the groups", summary, _histograms(frame, edges, bars))


def dots(rows: NamedRows, title: str, summary: str) -> Html:
    """Draw the numbers of each row on one axis: a dot for each state.

    A thin line is the sampling interval, and a broad one the certified interval.
    """
    shown = rows[:MAX_ROWS]
    every = [end for _, cells in shown for cell in cells if cell for end in cell.ends]
    x = nice_axis(min(every, default=0.0), max(every, default=1.0))
    n_states = max((min(len(cells), MAX_DRAWN) for _, cells in shown), default=1)
    texts = tuple(short(name, _MAX_NAME) for name, _ in shown)
    y = Axis(len(shown) - 0.5, -0.5, tuple(range(len(shown))), texts=texts)
    height = len(shown) * (_ROW + _STEP * n_states) + 40
    left = 20 + _CHARACTER * max(map(len, texts), default=0)
    frame = Frame(x, y, height=height, left=left, bottom=30)
    drawn = [
        _dot(frame, cell, row + (index + 0.5) / n_states * 0.7 - 0.35, style(index))
        for row, (_, cells) in enumerate(shown)
        for index, cell in enumerate(cells[:MAX_DRAWN])
        if cell is not None and math.isfinite(cell.value)
    ]
    return picture(frame, title, summary, [frame.grid(), *drawn])


def _dot(frame: Frame, cell: Reading, row: float, style: str) -> Html:
    parts = []
    if cell.sampling is not None:
        parts.append(frame.line(cell.sampling, [row, row], f"whisker {style}"))
    if cell.is_open:
        parts.append(frame.line(cell.certified, [row, row], f"certified {style}"))
    return joined([*parts, frame.dots([cell.value], [row], style, 4)])
