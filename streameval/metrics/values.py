"""Means and spreads of values and of losses with their intervals, and exposures of a catalog."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Context, Decimal
from fractions import Fraction
from typing import Self

import attrs
import numpy as np

from streameval.exact.exact_sum import ExactSum
from streameval.exact.fixed_point import FixedPoint
from streameval.metrics.bounded import Interval
from streameval.metrics.intervals import UNDEFINED, student
from streameval.metrics.shares import quotient

_DIGITS = Context(prec=40)
_MAX_LOG = 600.0
_OF_LOSSES, _OF_SIGNED = 4.0, 2.0
_LARGEST_LOG, _SMALLEST_LOG = 710, -746  # beyond, exp is inf or 0


def exp_mean(values: MeanLoss) -> float:
    """Compute the exponential of the mean, rounded once; nan without values, inf past float64."""
    if not values.n:
        return math.nan
    mean = values.mean
    if mean > _LARGEST_LOG:
        return math.inf
    if mean < _SMALLEST_LOG:
        return 0.0
    return float(_decimal(mean).exp(_DIGITS))


def _decimal(number: Fraction) -> Decimal:
    """Round a fraction to many more digits than a float has."""
    return _DIGITS.divide(Decimal(number.numerator), Decimal(number.denominator))


def exp(number: float) -> float:
    """Compute the exponential; inf past float64, and nan of nan."""
    return math.inf if number > _LARGEST_LOG - 1 else math.exp(number)


@attrs.frozen
class MeanLoss:
    """The mean of a loss over rows, and its sampling interval.

    Parameters
    ----------
    n : Fraction
        The number of rows.
    total, squares : Fraction
        The sums of the losses and of their squares.

    Notes
    -----
    The variance of a mean of n independent rows is that of a row, divided by n. A few rows with
    large losses often make up much of the sum, and samples without such rows have a mean and a
    variance that are too small. So the variance is multiplied by ``1 + 4 / sqrt(m)``, where

        m = (sum of losses)**2 / sum of losses**2

    is the effective number of rows that make up the sum (Kish, Survey sampling, 1965): all n rows
    if they have the same loss, and one row if it has all of it. The factor falls to 1 for many
    rows. Losses are at least 0 and skewed, so the intervals are computed on the log scale. Errors
    and differences of losses, which fall to both sides of 0, have 2 instead of 4. Both constants
    were chosen by simulation (docs/interval_coverage.py).
    """

    n: Fraction
    total: Fraction
    squares: Fraction

    @classmethod
    def of(cls, n: FixedPoint, total: ExactSum, squares: ExactSum) -> Self:
        """Use exact sums."""
        return cls(n.to_fraction(), total.to_fraction(), squares.to_fraction())

    @property
    def mean(self) -> Fraction:
        """The mean; there must be a row."""
        return self.total / self.n

    @property
    def spread(self) -> Fraction:
        """The variance of these rows; there must be a row."""
        # squares below 2**-968 are rounded, so the difference may be negative
        return max(self.squares / self.n - self.mean**2, Fraction(0))

    @property
    def deviation(self) -> float:
        """The standard deviation of these rows, as of `numpy.std`, rounded once; nan without."""
        return float(_decimal(self.spread).sqrt(_DIGITS)) if self.n else math.nan

    @property
    def variance(self) -> Fraction:
        """The estimate of the variance of the mean; there must be two rows."""
        return self.spread / (self.n - 1)

    def widening(self, *, is_signed: bool = False) -> float:
        """Compute the factor of variances for the rows that make up the sum; 1 if it is 0.

        `is_signed` tells that the variance is of a number that falls to both sides of 0.
        """
        return widening(self.squares / self.total**2, is_signed=is_signed) if self.total else 1.0

    def deviations(self, z: float, *, is_signed: bool = False) -> float:
        """Compute how many deviations an interval reaches to either side, for z of a normal one."""
        return z * max(math.sqrt(self.widening(is_signed=is_signed)), student(z, float(self.n)))

    def interval(self, z: float, *, largest: float = math.inf) -> Interval:
        """Compute the interval of the mean of a loss in [0, `largest`]; there must be a row.

        nan if the loss does not vary and has no upper end.
        """
        if self.n < 2:
            return 0.0, largest
        variance = self.variance
        if not variance:
            return unvarying(float(self.mean), float(self.n), z, low=0.0, high=largest)
        deviation = math.sqrt(variance / self.mean**2)
        low, high = around(float(self.mean), deviation * self.deviations(z))
        return low, min(high, largest)

    def signed_interval(self, z: float, sizes: MeanLoss, *, largest: float = math.inf) -> Interval:
        """Compute the normal interval of the mean of values within `largest` to both sides of 0.

        `sizes` tell how many rows make it up, such as the magnitudes of the values. nan with fewer
        than two rows, or if values without a largest one do not vary: rows elsewhere may differ.
        """
        if self.n < 2:
            return UNDEFINED
        mean, variance = float(self.mean), self.variance
        if not variance:
            return unvarying(mean, float(self.n), z, low=-largest, high=largest)
        reach = math.sqrt(variance) * sizes.deviations(z, is_signed=True)
        return max(mean - reach, -largest), min(mean + reach, largest)


def widening(share: Fraction | float, *, is_signed: bool = False) -> float:
    """Compute the factor of variances, given 1 over the effective number of rows."""
    return 1.0 + (_OF_SIGNED if is_signed else _OF_LOSSES) * math.sqrt(share)


def around(value: float, reach: float) -> Interval:
    """Compute the interval of a value above 0, given that of its logarithm to either side."""
    factor = math.exp(min(reach, _MAX_LOG))
    return value / factor, value * factor


def unvarying(value: float, n: float, z: float, *, low: float, high: float) -> Interval:
    """Compute the interval of a mean of n rows that are all the same, within a range.

    Rows elsewhere may differ: it is that of a share of 0 of n, by Wilson, of the distance to either
    end of the range. nan if the range has no end.
    """
    if math.isinf(high - low):
        return UNDEFINED
    share = z**2 / (n + z**2)
    return value + share * (low - value), value + share * (high - value)


def coverage(n_recommended: int, n_items: int) -> float:
    """Compute the share of the catalog that has been recommended.

    >>> coverage(3, 4)
    0.75

    References
    ----------
    Ge, Delgado-Battenfeld and Jannach, Beyond accuracy: evaluating recommender systems by coverage
    and serendipity (RecSys 2010).
    """
    return n_recommended / n_items


def gini(exposures: FixedPoint, n_items: int) -> float:
    """Compute the Gini coefficient of the exposures of all items; nan without any exposure.

    With the exposures in rising order, of items that were never recommended too,
    ``sum((2 i - n - 1) c_i) / (n sum(c))``, in integers up to the division.

    >>> gini(FixedPoint(np.array([1, 3])), 4)
    0.625

    References
    ----------
    Shani and Gunawardana, Evaluating recommendation systems (Recommender Systems Handbook, 2011).
    """
    before, total, ranked = n_items - len(exposures.whole), 0, 0
    for exposure, size in _sizes(exposures):
        total += exposure * size
        ranked += exposure * size * (2 * before + size - n_items)
        before += size
    return quotient(ranked, n_items * total)


def entropy(exposures: FixedPoint) -> float:
    """Compute the entropy of the exposures in bits; nan without any exposure.

    >>> entropy(FixedPoint(np.array([2, 1, 1])))
    1.5

    References
    ----------
    Vargas and Castells, Rank and relevance in novelty and diversity metrics for recommender systems
    (RecSys 2011).
    """
    sizes = _sizes(exposures)
    total = sum(exposure * size for exposure, size in sizes)
    terms = (size * (one / total) * math.log2(total / one) for one, size in sizes)
    return math.fsum(terms) if total else math.nan


def _sizes(exposures: FixedPoint) -> list[tuple[int, int]]:
    """List the distinct exposures in rising order, in their units, and how many items have each."""
    if exposures.fraction is None:
        values, sizes = np.unique(exposures.whole, return_counts=True)
        return list(zip(values.tolist(), sizes.tolist(), strict=True))
    return sorted(Counter(exposures.units()).items())
