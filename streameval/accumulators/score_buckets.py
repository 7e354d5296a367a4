"""Scores by class in buckets, whose counts never fall as rows are added."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

from streameval.accumulators.calibration import CalibrationAccumulator
from streameval.accumulators.curve import PRCurveSketch
from streameval.exact import Scale
from streameval.exact.fixed_point import FixedPoint
from streameval.exact.score_keys import keys_of, scores_of
from streameval.inputs.classes import Label
from streameval.states.cells import Cells

_HALF = (2.0**-10, 2.0**-8, 2.0**-6, 0.0625, 0.125, 0.25, 0.375)
_EDGES: dict[Scale, tuple[float, ...]] = {
    "probability": (*_HALF, 0.5, *(1.0 - edge for edge in reversed(_HALF))),
    "real": (-8.0, -4.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 4.0, 8.0),
}
_MAX_KEY: dict[Scale, int] = {
    "probability": int(keys_of(np.ones(1), "probability")[0]),
    "real": 2**64 - 1,
}
_MAX_BINS = 64


@attrs.frozen
class ScoreBuckets:
    """The scores of one class.

    Parameters
    ----------
    label : label
        The true class.
    edges : tuple of float
        Ascending.
    below : tuple of float
        The weight of the scores below each edge.
    n : float
        The weight of all scores.
    total : float or None
        The sum of the scores, each taken as the middle of the narrowest interval that no further
        row can widen: within 1/64 of the score, or of 1 minus the score, for a curve of 65,536
        cells. None of scores that may be negative, whose sum may fall.
    """

    label: Label
    edges: tuple[float, ...]
    below: tuple[float, ...]
    n: float
    total: float | None


def score_buckets(accumulator: PRCurveSketch | CalibrationAccumulator) -> list[ScoreBuckets]:
    """Count the scores of each class in buckets; there are none if they could fall.

    Neither a count nor a sum falls as rows are added. So the edges lie where no cell of a curve can
    straddle them, however wide the cells become within the budget. With a budget of less than some
    4,000 cells one could, and more than 64 bins of a calibration are too many: there are no
    buckets then, nor with several classes.
    """
    if isinstance(accumulator, PRCurveSketch):
        return _of_curve(accumulator)
    return _of_calibration(accumulator)


def _of_curve(sketch: PRCurveSketch) -> list[ScoreBuckets]:
    config = sketch._config
    level = _max_level(config.budget, config.scores)
    edges = _EDGES[config.scores]
    keys = keys_of(np.array(edges), config.scores)
    if config.classes is not None or (keys & np.uint64((1 << level) - 1)).any():
        return []
    ((_, held),) = sketch._state.tables()
    cells = held.joined(Cells.none(), level)
    middles = _middles(cells, level, config.scores)
    index = np.searchsorted(cells.lo, keys)
    labels: tuple[Label, ...] = (1, 0)
    if config.pos_label is not None:
        labels = (config.pos_label, *sketch._state.negative_label)
    return [
        _buckets(label, edges, weights, index, middles)
        for label, weights in zip(labels, (cells.pos, cells.neg), strict=False)
    ]


def _max_level(budget: int | None, scale: Scale) -> int:
    """Return the level that cells never pass: its prefixes are no more than the budget."""
    if budget is None:
        return 0
    return next(level for level in range(65) if (_MAX_KEY[scale] >> level) < budget)


def _middles(cells: Cells, level: int, scale: Scale) -> Any:
    """Return a score for each cell that depends on the highest bits of its keys alone."""
    if not level:
        return scores_of(cells.lo, scale)
    shift = np.uint64(level)
    middle = (cells.lo >> shift << shift) + np.uint64(1 << (level - 1))
    return scores_of(np.minimum(middle, np.uint64(_MAX_KEY[scale])), scale)


def _of_calibration(accumulator: CalibrationAccumulator) -> list[ScoreBuckets]:
    config, state = accumulator._config, accumulator._state
    bins = config.bins
    if config.classes is not None or bins > _MAX_BINS:
        return []
    edges = tuple((np.arange(1, bins) / bins).tolist())
    middles = (np.arange(bins) + 0.5) / bins
    return [
        _buckets(label, edges, weights, np.arange(1, bins), middles)
        for label, weights in ((1, state.hits), (0, state.weight - state.hits))
    ]


def _buckets(
    label: Label, edges: tuple[float, ...], weights: FixedPoint, index: Any, scores: Any
) -> ScoreBuckets:
    """Add up the weights below edges, where the first `index` scores are below each."""
    below = weights.cumsum().near_floats()
    total = None
    if edges[0] > 0.0:
        # a product and an exact sum are rounded once each: neither falls as weights grow
        total = math.fsum((weights.near_floats() * scores).tolist())
    return ScoreBuckets(label, edges, tuple(below[index].tolist()), float(below[-1]), total)
