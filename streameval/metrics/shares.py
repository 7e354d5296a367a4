"""Quotients and means, and shares of exact counts: which reach a bound, and which is the highest.

A share reaches a bound if the share that users see does: the quotient of the exact counts, rounded
once. So a printed share goes round, and an unweighted one has scikit-learn's answer. Floats of
large or weighted counts are rounded more than once, so they decide only clear cases, and integers
decide close ones.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from streameval.exact.array_types import Array, Floats, Indices, Mask
from streameval.exact.exact_sum import ExactSum
from streameval.exact.fixed_point import FixedPoint
from streameval.metrics.bounded import ROUNDING

_ROUNDS_APART = 2.0**26


def quotient(above: Fraction | float, below: Fraction | float) -> float:
    """Divide, rounded once; nan unless the divisor is above 0, inf past float64."""
    if below <= 0:
        return math.nan
    try:
        return float(above / below)  # Python rounds a ratio of integers correctly
    except OverflowError:
        return math.inf


def mean(total: ExactSum | FixedPoint, n: FixedPoint) -> float:
    """Divide a weighted sum by the sum of the weights; nan without examples."""
    weight = n.to_fraction()
    if weight and type(total) is ExactSum:
        return total.over(weight)
    return quotient(total.to_fraction(), weight)


def ratios(above: Array, below: Array, otherwise: float = 0.0) -> Floats:
    """Divide arrays of one shape; `otherwise` where a divisor is not above 0."""
    values: Floats = np.full(below.shape, otherwise)
    np.divide(above, below, out=values, where=below > 0)
    return values


def simplest_fraction(number: float) -> Fraction:
    """Find the fraction with the smallest denominator that rounds to a nonnegative number.

    Somebody who types 0.1 means 1/10, although the float is slightly above.
    """
    exact = Fraction(number)
    below, above = (Fraction(math.nextafter(number, end)) for end in (-math.inf, math.inf))
    return _simplest_between((below + exact) / 2, (exact + above) / 2)


def _simplest_between(low: Fraction, high: Fraction) -> Fraction:
    """Follow the continued fractions of both ends while they agree (Stern and Brocot)."""
    whole = max(math.ceil(low), 0)
    if whole <= high:
        return Fraction(whole)
    whole -= 1
    return whole + 1 / _simplest_between(1 / (high - whole), 1 / (low - whole))


def reaches(part: FixedPoint, rest: FixedPoint, bound: float) -> Mask:
    """Find the shares ``part / (part + rest)`` of at least `bound`; 0 / 0 never is."""
    return _compared(part, rest, bound, operator.ge)


def is_within(part: FixedPoint, rest: FixedPoint, bound: float) -> Mask:
    """Find the shares ``part / (part + rest)`` of at most `bound`; 0 / 0 never is."""
    return _compared(part, rest, bound, operator.le)


def _compared(
    part: FixedPoint, rest: FixedPoint, bound: float, compare: Callable[[Any, Any], Any]
) -> Mask:
    near = part.near_floats()
    total = near + rest.near_floats()
    share = ratios(near, total, math.nan)
    found = np.asarray(compare(share, bound))
    if part.is_whole and rest.is_whole and total.max(initial=0.0) < _ROUNDS_APART:
        return found
    close = np.flatnonzero(np.abs(share - bound) <= bound * ROUNDING)
    if len(close):
        pairs = zip(*units_of(part[close], rest[close]), strict=True)
        found[close] = [compare(own / (own + other), bound) for own, other in pairs]
    return found


def first_of_highest(near: Floats, ratios: Callable[[Indices], Iterable[tuple[int, int]]]) -> int:
    """Find the first of the highest ratios, none of which is negative.

    Parameters
    ----------
    near : float64 array, shape (n,)
        The ratios, within a relative error far below 2**-40; one or more.
    ratios : callable
        The exact numerators and denominators at some indices.
    """
    close = np.flatnonzero(near >= near.max() * (1.0 - ROUNDING))
    if len(close) == 1:
        return int(close[0])
    best, above, below = 0, -1, 1
    for index, (numerator, denominator) in zip(close.tolist(), ratios(close), strict=True):
        if numerator * below > above * denominator:
            best, above, below = index, numerator, denominator
    return best


def share_of(part: FixedPoint, rest: FixedPoint) -> float:
    """Round ``part / (part + rest)`` of two positive scalars once."""
    (above,), (others,) = units_of(part, rest)
    return above / (above + others)


def units_of(*numbers: FixedPoint) -> tuple[list[int], ...]:
    """List numbers as integers of one unit."""
    unit = min(number.unit for number in numbers)
    scales = [int(number.unit / unit) for number in numbers]
    return tuple(
        [scale * units for units in number.units()]
        for number, scale in zip(numbers, scales, strict=True)
    )
