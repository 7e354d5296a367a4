"""Metrics of numbers, from exact sums; every division is of exact fractions, rounded once."""

from __future__ import annotations

import math

from streameval.exact.exact_sum import ExactSum
from streameval.exact.fixed_point import FixedPoint

__all__ = ["mean", "r2"]


def mean(total: ExactSum | FixedPoint, n: FixedPoint) -> float:
    """Divide a weighted sum by the sum of the weights; nan of nothing."""
    weight = n.to_fraction()
    return float(total.to_fraction() / weight) if weight else math.nan


def r2(squared_error: ExactSum, truth: ExactSum, squared_truth: ExactSum, n: FixedPoint) -> float:
    """Compute 1 - SSE / SST, the share of the variance of the truth that is explained.

    SST is ``sum(y**2) - sum(y)**2 / n``, a difference that floats would lose where the mean is
    large beside the spread. nan when the truth is constant, or of nothing.
    """
    weight = n.to_fraction()
    if not weight:
        return math.nan
    spread = squared_truth.to_fraction() - truth.to_fraction() ** 2 / weight
    if spread <= 0:
        return math.nan
    try:
        return float(1 - squared_error.to_fraction() / spread)
    except OverflowError:  # errors beyond any float times the spread
        return -math.inf
