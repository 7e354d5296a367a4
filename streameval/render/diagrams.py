"""Pictures of distributions: reliability, scores by class, AUCs of groups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from streameval.metrics.intervals import normal_quantile, wilson
from streameval.render.entries import MOST_DRAWN, figure, style
from streameval.render.markup import Html, joined
from streameval.render.svg import RATES, Axis, Frame, nice_axis, picture
from streameval.render.wording import percent
from streameval.results.curve_lines import ScoreShares
from streameval.results.reliability import Reliability

__all__ = ["group_picture", "reliability_figures", "score_pictures"]

Floats = npt.NDArray[np.float64]

_GROUP_BINS = 20


def reliability_figures(
    diagrams: Sequence[Reliability | None], names: tuple[str, str], level: float
) -> list[Html]:
    """Draw what happened over what was predicted, if any state holds something.

    One diagram has bars for the share of the examples in each bin, too. None keeps its style
    for no diagram.
    """
    held = [
        (style(place), diagram)
        for place, diagram in enumerate(diagrams[:MOST_DRAWN])
        if diagram is not None
    ]
    if not held:
        return []
    across, up = names
    frame, is_single = Frame(Axis(0, 1, RATES, across), Axis(0, 1, RATES, up)), len(diagrams) == 1
    parts = [frame.grid()]
    if is_single:
        parts += [frame.stairs(one.share, one.edges, "plain", filled=True) for _, one in held]
    parts.append(frame.line([0, 1], [0, 1], "chance"))
    whiskers = [_whiskers(frame, diagram, look, level) for look, diagram in held]
    parts += whiskers
    for look, diagram in held:
        parts.append(frame.line(diagram.predicted, diagram.observed, look))
        parts.append(frame.dots(diagram.predicted, diagram.observed, look))
    title = "Reliability diagram"
    image = picture(frame, title, f"{up} over {across.lower()}", parts)
    bars = " Bars: the share of the examples." if is_single else ""
    thin = f" Whiskers: sampling intervals at {percent(level)}." if any(whiskers) else ""
    return [figure(title, image, f"Dashed: perfectly calibrated.{bars}{thin}")]


def _whiskers(frame: Frame, diagram: Reliability, style: str, level: float) -> Html:
    """Draw Wilson's interval of each bin; there is none of weights with fractions."""
    weight = np.asarray(diagram.weight, dtype=np.float64)
    if not level or np.any(weight != np.rint(weight)):
        return Html()
    z, whiskers = normal_quantile(level), []
    for across, rate, n in zip(diagram.predicted, diagram.observed, weight, strict=True):
        whiskers.append(frame.line([across, across], wilson(rate, n, z), f"whisker {style}"))
    return joined(whiskers)


def score_pictures(every: Sequence[ScoreShares], summary: str) -> list[Html]:
    """Draw where the scores of both classes lie, a picture for each state on equal axes.

    The positives have the style of the state.
    """
    low = min(float(shares.edges[0]) for shares in every)
    high = max(float(shares.edges[-1]) for shares in every)
    most = max(float(part.max()) for one in every for part in (one.positives, one.negatives))
    x = Axis(0, 1, RATES, "Score") if (low, high) == (0, 1) else nice_axis(low, high, "Score")
    frame = Frame(x, nice_axis(0.0, most or 1.0, "Share of the class"), height=300)
    return [_scores(frame, shares, style(place), summary) for place, shares in enumerate(every)]


def _scores(frame: Frame, shares: ScoreShares, look: str, summary: str) -> Html:
    bars = [
        frame.stairs(share, shares.edges, style, filled=filled)
        for filled in (True, False)
        for share, style in ((shares.negatives, "plain"), (shares.positives, f"solid {look}"))
    ]
    return picture(frame, "Scores by class", summary, [frame.grid(), *bars])


def group_picture(areas: Sequence[Floats], summary: str) -> Html:
    """Draw how the AUCs of groups are spread, each given as an array."""
    edges = np.arange(_GROUP_BINS + 1) / _GROUP_BINS
    shares = [np.histogram(area, edges)[0] / max(len(area), 1) for area in areas[:MOST_DRAWN]]
    most = max(float(share.max()) for share in shares) or 1.0
    x, y = Axis(0, 1, RATES, "AUC within the group"), nice_axis(0, most, "Share of the groups")
    frame = Frame(x, y, height=300)
    filled = [
        frame.stairs(share, edges, style(place), filled=True) for place, share in enumerate(shares)
    ]
    outlines = [
        frame.stairs(share, edges, style(place), filled=False) for place, share in enumerate(shares)
    ]
    return picture(frame, "AUC of the groups", summary, [frame.grid(), *filled, *outlines])
