"""Metrics of numbers, from exact sums; every division is of exact fractions, rounded once."""

from __future__ import annotations

import math
from fractions import Fraction

import attrs

from streameval.exact.exact_sum import UNITS_OF_ONE, ExactSum
from streameval.exact.fixed_point import FixedPoint
from streameval.metrics.bounded import Interval
from streameval.metrics.intervals import UNDEFINED
from streameval.metrics.shares import quotient
from streameval.metrics.values import MeanLoss, around

_NONE = Fraction(0)


@attrs.frozen
class Moments:
    """Exact moments of examples around 0, for sampling intervals.

    The variance of a metric is that of its linear approximation, the delta method (van der Vaart,
    Asymptotic statistics, 1998, chapter 3), divided by n - 1 for n, and as much wider as that of a
    mean loss. Errors and 1 - R2 are at least 0 and skewed, so their intervals are computed on the
    log scale.

    Parameters
    ----------
    n : Fraction
        The number of examples.
    error, absolute_error, squared_error : Fraction
        The sums of e, |e| and e**2.
    truth, squared_truth : Fraction
        The sums of y and y**2.
    fourth_error, third_truth, fourth_truth : Fraction
        The sums of e**4, y**3 and y**4, which only some metrics need.
    squared_error_by_truth, squared_error_by_squared_truth : Fraction
        Those of e**2 y and e**2 y**2.
    """

    n: Fraction
    error: Fraction
    absolute_error: Fraction
    squared_error: Fraction
    truth: Fraction
    squared_truth: Fraction
    fourth_error: Fraction = _NONE
    third_truth: Fraction = _NONE
    fourth_truth: Fraction = _NONE
    squared_error_by_truth: Fraction = _NONE
    squared_error_by_squared_truth: Fraction = _NONE

    def bias(self, z: float) -> Interval:
        """Compute the normal interval of the mean error."""
        error = MeanLoss(self.n, self.error, self.squared_error)
        return error.signed_interval(z, self._absolute_error)

    def mae(self, z: float) -> Interval:
        """Compute the interval of the mean absolute error."""
        return self._absolute_error.interval(z)

    def mse(self, z: float) -> Interval:
        """Compute the interval of the mean squared error."""
        return MeanLoss(self.n, self.squared_error, self.fourth_error).interval(z)

    def rmse(self, z: float) -> Interval:
        """Compute the interval of the root of the mean squared error."""
        low, high = self.mse(z)
        return math.sqrt(low), math.sqrt(high)

    def r2(self, z: float) -> Interval:
        """Compute the interval of R2, as 1 - S / T for the mean squares of e and of d = y - mean.

        The logarithm of S / T has the variance of ``e**2 / S - d**2 / T``, and
        ``e**2 / S + d**2 / T`` is the loss that tells how many rows make it up.
        """
        n, mean = self.n, self.truth / self.n
        squares = self.squared_truth / n - mean**2
        errors = self.squared_error / n
        if not errors or n < 2:
            return UNDEFINED
        fourth = (self.fourth_truth - 4 * mean * self.third_truth) / n
        fourth += 6 * mean**2 * self.squared_truth / n - 3 * mean**4
        crossed = self.squared_error_by_squared_truth - 2 * mean * self.squared_error_by_truth
        crossed = crossed / n + mean**2 * errors
        own = self.fourth_error / errors**2 + n * fourth / squares**2
        shared = 2 * n * crossed / (errors * squares)
        unexplained = quotient(errors, squares)
        if math.isinf(unexplained):
            return UNDEFINED
        variance = MeanLoss(n, Fraction(0), own - shared).variance
        if not variance or own + shared < 0:  # moments below 2**-968 are rounded
            return UNDEFINED
        deviations = MeanLoss(n, 2 * n, own + shared).deviations(z)
        low, high = around(unexplained, math.sqrt(variance) * deviations)
        return 1.0 - high, 1.0 - low

    @property
    def _absolute_error(self) -> MeanLoss:
        return MeanLoss(self.n, self.absolute_error, self.squared_error)


def scaled(total: ExactSum, n: Fraction) -> int:
    """Multiply a sum by the sum of the weights, in a unit that depends on the latter alone.

    Integers of one unit take a third of the time of fractions.
    """
    return n.numerator * UNITS_OF_ONE * total.units


def covariation(x: ExactSum, y: ExactSum, product: ExactSum, n: Fraction) -> int:
    """Compute n times ``sum((x - mean of x) (y - mean of y))``, in the unit of `scaled`.

    It is ``n sum(x y) - sum(x) sum(y)``. In floats this difference would lose its digits if the
    means are large relative to the spreads.
    """
    return scaled(product, n) - n.denominator * x.units * y.units


def spread(total: ExactSum, squares: ExactSum, n: Fraction) -> int:
    """Compute n times ``sum((x - mean)**2)``, in the unit of `scaled`."""
    return scaled(squares, n) - n.denominator * total.units**2


def explained(rest: int, whole: int) -> float:
    """Compute 1 - rest / whole, rounded once; nan unless there is something to explain."""
    return 0.0 - quotient(rest - whole, whole)


def adjusted_r2(r2: float, n: FixedPoint, n_features: int) -> float:
    """Compute ``1 - (1 - R2) (n - 1) / (n - p - 1)``; nan unless n is more than p + 1."""
    left = n.to_fraction() - n_features - 1
    return 1 - (1 - r2) * quotient(left + n_features, left)


def pinball_loss(absolute_error: ExactSum, error: ExactSum, n: FixedPoint, alpha: float) -> float:
    """Compute the mean pinball loss from the sums of errors, and of their absolute values.

    The total error of predictions that are too low is ``(sum |e| - sum e) / 2``, and of the others
    ``(sum |e| + sum e) / 2``. The loss adds the shares alpha and 1 - alpha of these.
    """
    magnitude, total, level = absolute_error.to_fraction(), error.to_fraction(), Fraction(alpha)
    missed = level * (magnitude - total) + (1 - level) * (magnitude + total)
    return quotient(missed, 2 * n.to_fraction())


def pearson(together: int, truth: int, prediction: int) -> float:
    """Compute the correlation, given the covariation and both spreads; nan unless both are."""
    if truth <= 0 or prediction <= 0:
        return math.nan
    size = math.sqrt(together**2 / (truth * prediction))
    return -size if together < 0 else size


def concordance(together: int, truth: int, prediction: int, apart: int) -> float:
    """Compute the concordance correlation (Lin, 1989).

    Parameters
    ----------
    together : int
        The covariation.
    truth, prediction : int
        The spreads.
    apart : int
        The squared difference of the sums, in the same unit.
    """
    return quotient(2 * together, truth + prediction + apart)
