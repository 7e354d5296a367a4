"""Exact sums of floats: one result, to the last bit, whatever the order of adding."""

from __future__ import annotations

from typing import Self

import attrs
import numpy as np
import numpy.typing as npt

__all__ = ["ExactSum"]

_LIMB_BITS = 32
_LIMB_MASK = np.int64((1 << _LIMB_BITS) - 1)
_MANTISSA_BITS = 53
_SCALE = 1074  # every finite float64 is a whole multiple of 2**-1074
_LIMBS = 66  # the largest float64 reaches bit 2098
_SAFE_ITEMS = 2**29  # each item adds less than 2**32 to each of at most three limbs


@attrs.frozen
class ExactSum:
    """The exact sum of finite float64 values, as an integer.

    Every finite float64 is a whole multiple of ``2**-1074``, so a sum of them is one integer
    in that unit: nothing is rounded before the sum is read. Batches are reduced in limbs of
    32 bits (a superaccumulator), the way of Kulisch (Computer Arithmetic and Validity, 2013).

    Parameters
    ----------
    units : int
        The sum, in units of ``2**-1074``.
    """

    units: int = 0

    @classmethod
    def of(cls, values: npt.NDArray[np.float64]) -> Self:
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
        """Subtract exactly, so that differences of large sums keep every digit."""
        return ExactSum(self.units - other.units)

    def __float__(self) -> float:
        """Give the nearest float64; past its range raises OverflowError."""
        return self.units / (1 << _SCALE)  # Python rounds a ratio of integers correctly


def _limbs(values: npt.NDArray[np.float64]) -> list[int]:
    """Add mantissas into limbs; only frexp, ldexp, shifts and integer sums are used."""
    fractions, exponents = np.frexp(values)
    mantissas = np.ldexp(fractions, _MANTISSA_BITS).astype(np.int64)
    # a subnormal has fewer bits than its mantissa: shift by what would fall below the unit
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
