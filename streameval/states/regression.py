"""Exact sums of errors and of the truth."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Self, final

import attrs
import numpy as np
import numpy.typing as npt

from streameval.configs.regression import RegressionConfig
from streameval.errors import require
from streameval.exact.exact_sum import ExactSum
from streameval.exact.fixed_point import FixedPoint
from streameval.exact.power_sums import power_sums
from streameval.states.stack import SummableState
from streameval.states.state import check_numbers

__all__ = ["RegressionSums"]

Floats = npt.NDArray[np.float64]

_UNITS = ExactSum.of(np.ones(1)).units
_FIELDS = operator.attrgetter(
    "n", "error", "absolute_error", "squared_error", "truth", "squared_truth"
)
_LARGEST_SUM = _UNITS << 1000  # sums of numbers that are let in stay far below


@final
@attrs.frozen
class RegressionSums(SummableState):
    """What the metrics of numbers need, weighted and exact.

    The error is the prediction minus the truth, rounded once to float64; its square and those
    of the truth are kept without rounding.

    Parameters
    ----------
    n : FixedPoint, shape ()
        The sum of the weights.
    error, absolute_error, squared_error : ExactSum
        Of the errors.
    truth, squared_truth : ExactSum
        Of the true values.
    """

    error: ExactSum
    absolute_error: ExactSum
    squared_error: ExactSum
    truth: ExactSum
    squared_truth: ExactSum

    @classmethod
    def zero(cls, config: RegressionConfig) -> Self:  # noqa: ARG003 - one signature for all
        """Sum nothing."""
        nothing = ExactSum()
        return cls(FixedPoint.zeros(()), nothing, nothing, nothing, nothing, nothing)

    @classmethod
    def of(cls, truth: Floats, prediction: Floats, weights: FixedPoint | None) -> Self:
        """Sum a batch."""
        rows = FixedPoint(np.array(len(truth), dtype=np.int64))
        errors = power_sums(prediction - truth, weights)
        total, _, squared = power_sums(truth, weights)
        return cls(rows if weights is None else weights.total(), *errors, total, squared)

    def __add__(self, other: Self) -> Self:
        """Add sum by sum."""
        return type(self)(
            self.n + other.n,
            self.error + other.error,
            self.absolute_error + other.absolute_error,
            self.squared_error + other.squared_error,
            self.truth + other.truth,
            self.squared_truth + other.squared_truth,
        )

    @classmethod
    def sum_of(cls, states: Iterable[Self]) -> Self:
        """Add up one state or more: five columns of integers, not five sums for each state."""
        counts, *sums = zip(*map(_FIELDS, states), strict=True)
        totals = (ExactSum(sum(one.units for one in part)) for part in sums)
        return cls(FixedPoint.total_of(counts), *totals)

    def check(self, config: RegressionConfig) -> None:
        """Check ranges, and that squares are no less than their means demand."""
        check_numbers(self.n, (), "n")
        n = self.n.to_fraction()
        spare = ExactSum(round((n + 1) * 2**64)).to_fraction()  # squares below 2**-968 are rounded
        pairs = {
            "error": (self.error, self.squared_error),
            "absolute_error": (self.absolute_error, self.squared_error),
            "truth": (self.truth, self.squared_truth),
        }
        for name, (total, squares) in pairs.items():
            enough = total.to_fraction() ** 2 <= n * (squares.to_fraction() + spare)
            require(enough and 0 <= squares.units < _LARGEST_SUM, f"{name} passes its squares")
        require(abs(self.error.units) <= self.absolute_error.units, "error passes absolute_error")
        require(n or self == self.zero(config), "sums of nothing")
