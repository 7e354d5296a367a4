"""Means and spreads of values, from exact sums; every division is of exact fractions."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

from streameval.exact.exact_sum import ExactSum
from streameval.metrics.bounded import Interval
from streameval.metrics.mean_losses import MeanLoss

_DIGITS = Context(prec=40)
_LARGEST_LOG, _SMALLEST_LOG = 710, -746  # beyond, exp is inf or 0


def deviation(total: ExactSum, squares: ExactSum, n: Fraction) -> float:
    """Compute the standard deviation of the n values, as `numpy.std` does; nan without values.

    It is the root of ``sum(x**2) / n - mean**2``, rounded once.
    """
    if not n:
        return math.nan
    mean = total.to_fraction() / n
    # squares below 2**-968 are rounded, so the difference may be negative
    variance = max(squares.to_fraction() / n - mean**2, Fraction(0))
    return float(_decimal(variance).sqrt(_DIGITS))


def exp_mean(total: ExactSum, n: Fraction) -> float:
    """Compute the exponential of the mean, rounded once; nan without values, inf past float64."""
    if not n:
        return math.nan
    mean = total.to_fraction() / n
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


def mean_interval(
    total: ExactSum, magnitude: ExactSum, squares: ExactSum, n: Fraction, z: float
) -> Interval:
    """Compute the normal interval of a mean of values of either sign.

    It is wider where few values make up much of the sum of their magnitudes.
    """
    return MeanLoss(n, total.to_fraction(), squares.to_fraction()).signed_interval(
        z, magnitude=magnitude.to_fraction()
    )
