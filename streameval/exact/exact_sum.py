"""Exact sums of floats: the same bits, whatever the order of adding."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Self

import attrs
import numpy as np

from streameval.exact.array_types import Floats

if TYPE_CHECKING:
    from fractions import Fraction


_LIMB_BITS = 32
_LIMB_MASK = np.int64((1 << _LIMB_BITS) - 1)
_MANTISSA_BITS = 53
_SCALE = 1074  # every finite float64 is a whole multiple of 2**-1074
UNITS_OF_ONE = 1 << _SCALE
"""The number of units of a sum that make 1."""
_LIMBS = 66  # the largest float64 reaches bit 2098
_SPLITTER = 2.0**27 + 1.0
_SAFE_ITEMS = 2**29  # each item adds less than 2**32 to each of at most three limbs


@attrs.frozen
class ExactSum:
    """The exact sum of finite float64 values, as an integer.

    Every finite float64 is an integer multiple of ``2**-1074``, so their sum is one integer
    in that unit: nothing is rounded before the sum is read. Batches are reduced in limbs of
    32 bits: a superaccumulator, after Kulisch (Computer Arithmetic and Validity, 2013).

    Parameters
    ----------
    units : int
        The sum, in units of ``2**-1074``.
    """

    units: int = 0

    @classmethod
    def of(cls, values: Floats) -> Self:
        """Sum an array of finite values."""
        limbs = [0] * _LIMBS
        for start in range(0, len(values), _SAFE_ITEMS):
            part = _limbs(values[start : start + _SAFE_ITEMS])
            limbs = [a + b for a, b in zip(limbs, part, strict=True)]
        return cls(sum(limb << (_LIMB_BITS * i) for i, limb in enumerate(limbs)))

    def __add__(self, other: ExactSum) -> ExactSum:
        """Add two sums exactly."""
        return ExactSum(self.units + other.units)

    def __sub__(self, other: ExactSum) -> ExactSum:
        """Subtract exactly, so that the difference of large sums keeps every digit."""
        return ExactSum(self.units - other.units)

    def to_fraction(self) -> Fraction:
        """Convert to an exact fraction."""
        from fractions import Fraction  # noqa: PLC0415 (slow to import, and for results alone)

        return Fraction(self.units, UNITS_OF_ONE)

    def __float__(self) -> float:
        """Round to the nearest float64; raise OverflowError beyond its range."""
        return self.units / UNITS_OF_ONE  # Python rounds a ratio of integers correctly

    def over(self, number: Fraction) -> float:
        """Divide by a positive number, with one rounding; raise OverflowError beyond float64."""
        return self.units * number.denominator / (number.numerator * UNITS_OF_ONE)


def added_sums(a: tuple[ExactSum, ...], b: tuple[ExactSum, ...]) -> tuple[ExactSum, ...]:
    """Add sums pair by pair."""
    return tuple(map(operator.add, a, b))


def exact_product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Multiply without error: the product is the sum of the two results.

    Dekker's method (A floating-point technique for extending the available precision, 1971):
    it is exact if the factors are below 2**996 and the product is zero or between 2**-968 and
    2**1023. For smaller products, each of four partial products errs by half of 2**-1074 at most.
    """
    product = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


def _halves(values: Floats) -> tuple[Floats, Floats]:
    """Split mantissas in two (Veltkamp), so that products of halves are exact."""
    scaled = values * _SPLITTER
    high = scaled - (scaled - values)
    return high, values - high


def _limbs(values: Floats) -> list[int]:
    """Add mantissas into limbs, using only frexp, ldexp, shifts and integer sums."""
    fractions, exponents = np.frexp(values)
    mantissas = np.ldexp(fractions, _MANTISSA_BITS).astype(np.int64)
    # a subnormal has fewer significant bits: shift out those below the unit, which are 0
    offsets = exponents.astype(np.int64) + (_SCALE - _MANTISSA_BITS)
    below = np.maximum(-offsets, 0)
    signs, magnitudes = np.sign(mantissas), np.abs(mantissas) >> below
    offsets = np.maximum(offsets, 0)
    index, shift = offsets >> 5, offsets & 31

    low = (magnitudes & _LIMB_MASK) << shift
    high = (magnitudes >> _LIMB_BITS) << shift
    limbs = np.zeros(_LIMBS, dtype=np.int64)
    np.add.at(limbs, index, signs * (low & _LIMB_MASK))
    np.add.at(limbs, index + 1, signs * ((low >> _LIMB_BITS) + (high & _LIMB_MASK)))
    np.add.at(limbs, index + 2, signs * (high >> _LIMB_BITS))
    return limbs.tolist()
