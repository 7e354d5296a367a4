"""Where each metric of a `Curve` comes from: bounds by the extreme data sets of its cells."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from streameval.configs.confusion import ConfusionConfig
from streameval.configs.options import finite_number, one_of, real_number
from streameval.errors import InvalidInputError
from streameval.exact.fixed_point import FixedPoint
from streameval.metrics import curves
from streameval.metrics.delong import auc_interval
from streameval.metrics.intervals import normal_quantile, wilson
from streameval.metrics.points import CellTable
from streameval.metrics.thresholds import outcome_at
from streameval.results.confusion import Confusion
from streameval.results.confusion_reading import Reading
from streameval.states.confusion import MatrixCounts

__all__ = [
    "beta_value",
    "confidence",
    "confusion_at",
    "false_positive_rate",
    "rate",
    "threshold_value",
]


def confusion_at(
    table: CellTable, threshold: Any, bound: Literal["low", "high"] | None
) -> Confusion:
    """Read the confusion matrix at a threshold; see `Curve.confusion_at`."""
    threshold = threshold_value(threshold)
    if bound is not None:
        one_of(bound, ("low", "high"), name="bound")
    outcome = outcome_at(table, threshold)
    is_exact = outcome.least_tp == outcome.most_tp and outcome.least_fp == outcome.most_fp
    if not is_exact and bound is None:
        cell = int(np.searchsorted(-table.lo, -threshold, side="right"))
        below, above = float(table.lo[cell]), float(table.lo[cell - 1]) if cell else math.inf
        is_above = above > table.hi[cell]  # no threshold is above a score of infinity
        nearest = f"ones are {below!r} and {above!r}" if is_above else f"one is {below!r}"
        raise InvalidInputError(
            f"`threshold` must not divide a cell, got {threshold!r}. The nearest exact {nearest}; "
            'bound="low" and bound="high" give the ends.'
        )
    if bound == "high":
        return _confusion(table, threshold, outcome.most_tp, outcome.least_fp)
    return _confusion(table, threshold, outcome.least_tp, outcome.most_fp)


def _confusion(table: CellTable, threshold: float, tp: FixedPoint, fp: FixedPoint) -> Confusion:
    every_tp, every_fp = (part[len(table.lo)] for part in table.cumulated)
    cells = (every_fp - fp, fp, every_tp - tp, tp)
    n, right = every_tp + every_fp, tp + cells[0]
    limit = float(np.finfo(np.float64).max)
    config = ConfusionConfig.of(
        classes=2,
        multilabel=False,
        threshold=min(max(threshold, -limit), limit),
        pos_label=1,
        from_scores=True,
        top_k=1,
        ignore_label=None,
        include_unseen=False,
    )
    matrix = FixedPoint.concatenate([cell.reshape(1) for cell in cells]).reshape(2, 2)
    credit = FixedPoint.concatenate([right.reshape(1), FixedPoint.zeros(1)]).reshape(1, 2)
    return Confusion(Reading.of(config, MatrixCounts(n, matrix, credit)))


def confidence(table: CellTable, name: str, *args: Any, level: float) -> tuple[float, float]:
    """Give the sampling interval of a metric; see `Curve.confidence`."""
    if not isinstance(name, str) or name not in _SAMPLED:
        names = ", ".join(_SAMPLED)
        raise InvalidInputError(
            f"`name` must be a metric with a sampling interval ({names}), got {name!r}."
        )
    z = normal_quantile(level)
    if not table.is_whole:
        raise InvalidInputError(
            "`sample_weight` had fractions, and a fraction of an example is no draw: "
            f"`{name}` has no sampling interval."
        )
    metric, n_arguments = _SAMPLED[name]
    if len(args) != n_arguments:
        raise InvalidInputError(
            f"`{name}` takes {n_arguments} arguments beside its name, got {len(args)}."
        )
    return metric(table, z, *args)


def _auc_confidence(table: CellTable, z: float) -> tuple[float, float]:
    extremes = [table.estimate] if table.is_exact else [table.low, table.high]
    areas = [curves.roc_auc(points.outcomes()) for points in extremes]
    return _hull([auc_interval(*pair, z) for pair in zip(extremes, areas, strict=True)])


def _precision_confidence(table: CellTable, z: float, threshold: Any) -> tuple[float, float]:
    outcome = outcome_at(table, threshold_value(threshold))
    return _hull(
        [
            wilson(float(tp / (tp + fp)), float(tp + fp), z) if tp + fp else (math.nan, math.nan)
            for tp, fp in (outcome.low, outcome.high)
        ]
    )


def _recall_confidence(table: CellTable, z: float, threshold: Any) -> tuple[float, float]:
    outcome, n_pos = outcome_at(table, threshold_value(threshold)), table.estimate.n_pos
    if not n_pos:
        return math.nan, math.nan
    return _hull([wilson(float(tp) / n_pos, n_pos, z) for tp, _ in (outcome.low, outcome.high)])


_SAMPLED: dict[str, tuple[Callable[..., tuple[float, float]], int]] = {
    "roc_auc": (_auc_confidence, 0),
    "precision_at": (_precision_confidence, 1),
    "recall_at": (_recall_confidence, 1),
}


def _hull(intervals: list[tuple[float, float]]) -> tuple[float, float]:
    """Cover all intervals; nan if there is none on one of the data sets."""
    lows, highs = zip(*intervals, strict=True)
    if any(map(math.isnan, lows)):
        return math.nan, math.nan
    return min(lows), max(highs)


def threshold_value(value: Any) -> float:
    """Check a threshold: any number but nan."""
    number = real_number(value, name="threshold")
    if math.isnan(number):
        raise InvalidInputError("`threshold` must be a number, got nan.")
    return number


def rate(value: Any, *, name: str) -> float:
    """Check a share in [0, 1]."""
    number = finite_number(value, name=name)
    if not 0.0 <= number <= 1.0:
        raise InvalidInputError(f"`{name}` must lie in [0, 1], got {number!r}.")
    return number


def false_positive_rate(value: Any) -> float:
    """Check a rate above 0; of smaller ones than 2**-1000 the areas are no floats."""
    number = finite_number(value, name="max_fpr")
    if not 2.0**-1000 <= number <= 1.0:
        raise InvalidInputError(f"`max_fpr` must lie in [2**-1000, 1], got {number!r}.")
    return number


def beta_value(value: Any) -> float:
    """Check a beta; from 2**100 on F is recall to the last bit, and its square stays finite."""
    number = real_number(value, name="beta")
    if not number >= 0:
        raise InvalidInputError(f"`beta` must be at least 0, got {number!r}.")
    return min(number, 2.0**100)
