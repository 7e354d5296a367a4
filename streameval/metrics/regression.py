"""Metrics of numbers, from exact sums; every division is of exact fractions, rounded once."""

from __future__ import annotations

import math
from fractions import Fraction

import attrs

from streameval.exact.exact_sum import UNITS_OF_ONE, ExactSum
from streameval.exact.fixed_point import FixedPoint
from streameval.metrics.bounded import Interval
from streameval.metrics.intervals import UNDEFINED
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
        return error.signed_interval(z, magnitude=self.absolute_error)

    def mae(self, z: float) -> Interval:
        """Compute the interval of the mean absolute error."""
        return MeanLoss(self.n, self.absolute_error, self.squared_error).interval(z)

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
        if not errors:
            return UNDEFINED
        fourth = (self.fourth_truth - 4 * mean * self.third_truth) / n
        fourth += 6 * mean**2 * self.squared_truth / n - 3 * mean**4
        crossed = self.squared_error_by_squared_truth - 2 * mean * self.squared_error_by_truth
        crossed = crossed / n + mean**2 * errors
        own = self.fourth_error / errors**2 + n * fourth / squares**2
        shared = 2 * n * crossed / (errors * squares)
        unexplained = ratio(errors, squares)
        if math.isinf(unexplained):
            return UNDEFINED
        variance = MeanLoss(n, Fraction(0), own - shared).variance
        if not variance:
            return UNDEFINED
        deviations = MeanLoss(n, 2 * n, own + shared).deviations(z)
        low, high = around(unexplained, math.sqrt(variance) * deviations)
        return 1.0 - high, 1.0 - low


def mean(total: ExactSum | FixedPoint, n: FixedPoint) -> float:
    """Divide a weighted sum by the sum of the weights; nan without examples."""
    weight = n.to_fraction()
    if not weight:
        return math.nan
    return total.over(weight) if type(total) is ExactSum else float(total.to_fraction() / weight)


def spread(total: ExactSum, squares: ExactSum, n: FixedPoint) -> Fraction:
    """Compute ``sum((x - mean)**2)``, from the sums of numbers and of their squares.

    It is ``sum(x**2) - sum(x)**2 / n``. In floats this difference would lose its digits if the mean
    is large relative to the spread. 0 without examples.
    """
    weight = n.to_fraction()
    return squares.to_fraction() - total.to_fraction() ** 2 / weight if weight else Fraction(0)


def ratio(part: Fraction | int, whole: Fraction | int) -> float:
    """Divide, rounded once; nan unless the divisor is above 0."""
    if whole <= 0:
        return math.nan
    try:
        return float(part / whole)  # Python rounds a ratio of integers correctly
    except OverflowError:
        return math.inf


def explained(rest: Fraction | int, whole: Fraction | int) -> float:
    """Compute 1 - rest / whole, rounded once; nan unless there is something to explain."""
    return -ratio(rest - whole, whole)


def r2(squared_error: ExactSum, truth: ExactSum, squared_truth: ExactSum, n: FixedPoint) -> float:
    """Compute 1 - SSE / SST, the share of the variance of the truth that is explained.

    nan when the truth is constant or empty.
    """
    weight = n.to_fraction()
    # as `explained`, times n over the squared unit: integers take a third of the time
    scale = weight.numerator * UNITS_OF_ONE
    whole = squared_truth.units * scale - truth.units**2 * weight.denominator
    return explained(squared_error.units * scale, whole)


def adjusted_r2(r2: float, n: FixedPoint, n_features: int) -> float:
    """Compute ``1 - (1 - R2) (n - 1) / (n - p - 1)``; nan unless n is more than p + 1."""
    left = n.to_fraction() - n_features - 1
    return 1 - (1 - r2) * float((left + n_features) / left) if left > 0 else math.nan


def pinball_loss(absolute_error: ExactSum, error: ExactSum, n: FixedPoint, alpha: float) -> float:
    """Compute the mean pinball loss from the sums of errors, and of their absolute values.

    The total error of predictions that are too low is ``(sum |e| - sum e) / 2``, and of the others
    ``(sum |e| + sum e) / 2``. The loss adds the shares alpha and 1 - alpha of these.
    """
    weight, level = n.to_fraction(), Fraction(alpha)
    if not weight:
        return math.nan
    magnitude, total = absolute_error.to_fraction(), error.to_fraction()
    missed = level * (magnitude - total) + (1 - level) * (magnitude + total)
    return float(missed / (2 * weight))


def covariation(
    truth: ExactSum, prediction: ExactSum, product: ExactSum, n: FixedPoint
) -> Fraction:
    """Compute ``sum((y - mean of y) (p - mean of p))``, from the sum of products; 0 if empty."""
    weight = n.to_fraction()
    if not weight:
        return Fraction(0)
    return product.to_fraction() - truth.to_fraction() * prediction.to_fraction() / weight


def pearson(together: Fraction, truth: Fraction, prediction: Fraction) -> float:
    """Compute the correlation, given the covariation and both spreads; nan unless both are."""
    if truth <= 0 or prediction <= 0:
        return math.nan
    size = math.sqrt(together**2 / (truth * prediction))
    return math.copysign(size, together)


def concordance(
    together: Fraction, truth: Fraction, prediction: Fraction, apart: Fraction
) -> float:
    """Compute the concordance correlation (Lin, 1989).

    Parameters
    ----------
    together : Fraction
        The covariation.
    truth, prediction : Fraction
        The spreads.
    apart : Fraction
        The squared difference of the means, times the sum of the weights.
    """
    whole = truth + prediction + apart
    return float(2 * together / whole) if whole > 0 else math.nan
