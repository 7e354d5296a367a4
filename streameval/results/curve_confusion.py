"""The confusion of a curve at one threshold."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from streameval.configs.confusion import ConfusionConfig
from streameval.configs.options import one_of
from streameval.errors import InvalidInputError
from streameval.exact.fixed_point import FixedPoint
from streameval.metrics.label_counts import LabelCounts
from streameval.metrics.points import CellTable
from streameval.metrics.thresholds import outcome_at
from streameval.results.confusion import Confusion
from streameval.states.confusion import MatrixCounts


def confusion_at(
    table: CellTable, threshold: float, bound: Literal["low", "high"] | None
) -> Confusion:
    """Count the outcomes; a threshold that divides a cell needs a `bound`."""
    if bound is not None:
        one_of(bound, ("low", "high"), name="bound")
    outcome = outcome_at(table, threshold)
    is_exact = outcome.min_tp == outcome.max_tp and outcome.min_fp == outcome.max_fp
    if not is_exact and bound is None:
        cell = int(np.searchsorted(-table.lo, -threshold, side="right"))
        below, above = float(table.lo[cell]), float(table.lo[cell - 1]) if cell else math.inf
        is_above = above > table.hi[cell]  # no threshold exceeds a score of infinity
        nearest = f"ones are {below!r} and {above!r}" if is_above else f"one is {below!r}"
        raise InvalidInputError(
            f"must not divide a cell, got {threshold!r}",
            argument="threshold",
            remedy=f'The nearest exact {nearest}; bound="low" and bound="high" give the ends.',
        )
    if bound == "high":
        return _confusion(table, threshold, outcome.max_tp, outcome.min_fp)
    return _confusion(table, threshold, outcome.min_tp, outcome.max_fp)


def _confusion(table: CellTable, threshold: float, tp: FixedPoint, fp: FixedPoint) -> Confusion:
    """Create the confusion from true and false positives."""
    every_tp, every_fp = (part[len(table.lo)] for part in table.cumulated)
    limit = float(np.finfo(np.float64).max)
    config = ConfusionConfig.of(
        threshold=min(max(threshold, -limit), limit), pos_label=1, from_scores=True
    )
    state = MatrixCounts.of_outcomes(tp, fp, every_tp - tp, every_fp - fp)
    return Confusion(LabelCounts.of(config, state))
