"""The confusion of a curve at one threshold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Literal

import numpy as np

from streameval.configs.confusion import ConfusionConfig
from streameval.configs.options import one_of
from streameval.errors import InvalidInputError
from streameval.exact.array_types import Floats
from streameval.exact.fixed_point import FRACTION_BITS, FixedPoint
from streameval.metrics.bounded import Bounded, Interval, outward
from streameval.metrics.label_counts import LabelCounts
from streameval.metrics.points import CellTable
from streameval.metrics.table import UNLIMITED
from streameval.metrics.thresholds import BoundedArray, outcome_at
from streameval.results.confusion import Confusion
from streameval.results.names import metric_name
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


def metrics_at(
    table: CellTable, thresholds: Floats, names: Sequence[str]
) -> dict[str, BoundedArray]:
    """Bound metrics of two classes at each of some thresholds.

    Each metric rises, or falls, with the number of true positives if that of false ones stays, and
    the other way round; so its extremes are at the corners of what is possible.
    """
    found: dict[str, list[Bounded]] = {name: [] for name in names}
    none = FixedPoint.zeros(())
    for name in names:  # without thresholds, too
        _confusion(table, 0.0, none, none).check(metric_name(name))
    for threshold in thresholds.tolist():
        outcome = outcome_at(table, threshold)
        corners = product((outcome.min_tp, outcome.max_tp), (outcome.min_fp, outcome.max_fp))
        estimate = _confusion(table, threshold, *map(_nearest, outcome.estimate))
        every = [estimate, *(_confusion(table, threshold, *corner) for corner in corners)]
        for name, values in found.items():
            limits = estimate.asked(name).row.limits or UNLIMITED
            values.append(_hull(limits, *(float(one.read(name, level=0.0).value) for one in every)))
    return {name: BoundedArray.of(values) for name, values in found.items()}


def _nearest(number: Fraction) -> FixedPoint:
    """Round to a multiple of 2**-62."""
    whole, fraction = divmod(round(number * 2**FRACTION_BITS), 2**FRACTION_BITS)
    return FixedPoint(np.array(whole), np.array(fraction) if fraction else None)


def _hull(limits: Interval, value: float, *corners: float) -> Bounded:
    """Bound a rounded number by those at the corners; nan if it is undefined at one of them.

    `limits` are the ends of the metric's range.
    """
    if any(map(math.isnan, (value, *corners))) or len({*corners}) == 1:
        return Bounded(math.nan if len({*corners}) > 1 else value)
    lowest, highest = limits
    return outward(min(corners), value, max(corners), min_value=lowest, max_value=highest)


def _confusion(table: CellTable, threshold: float, tp: FixedPoint, fp: FixedPoint) -> Confusion:
    """Create the confusion from true and false positives."""
    every_tp, every_fp = (part[len(table.lo)] for part in table.cumulated)
    limit = float(np.finfo(np.float64).max)
    config = ConfusionConfig.of(
        threshold=min(max(threshold, -limit), limit), pos_label=1, from_scores=True
    )
    state = MatrixCounts.of_outcomes(tp, fp, every_tp - tp, every_fp - fp)
    return Confusion(LabelCounts.of(config, state))
