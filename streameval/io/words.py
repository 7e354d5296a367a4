"""Cells of a table, read eight bytes at a time without a Python object for each.

This reads only the usual cells; the rest are left to the caller.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from streameval.exact.array_types import Floats, Indices, Ints, Mask
from streameval.exact.exact_sum import exact_product

Words = npt.NDArray[np.uint64]

_WORD, _WORDS = 8, 3
_MAX_DECIMALS = 22  # 10**22 is the largest power of ten that is a float64
_MAX_POWER = 18  # the most digits that always fit into an int64
_MAX_INTEGER = 9e18
_MAX_DISTINCT = 64
_SAMPLE = 2**10
_NEARLY = 2.0**-45
_MINUS, _POINT = b"-."
_POWERS = np.array([float(10**power) for power in range(_MAX_DECIMALS + 1)])
_INTEGER_POWERS = np.array([10**power for power in range(_MAX_POWER + 1)], dtype=np.int64)
# Words are little-endian: the last k bytes are the highest.
_LAST_BYTES = np.array([2**64 - 2 ** (64 - 8 * k) for k in range(_WORD + 1)], dtype=np.uint64)
_ZEROS, _PAST_NINE, _TOP_BITS = (np.uint64(byte * 0x0101010101010101) for byte in b"0\x76\x80")
# Digits are combined into pairs, then into numbers of four digits and of eight.
_JOINS = [
    (np.uint64(bits), np.uint64((10 ** (bits // 8) << bits) + 1), np.uint64(kept))
    for bits, kept in ((8, 0x00FF00FF00FF00FF), (16, 0x0000FFFF0000FFFF), (32, 0xFFFFFFFF))
]


class CellWords:
    """The bytes of a table, as words that end at any byte.

    Parameters
    ----------
    data : bytes
        Without NUL bytes. Arrays of starts and ends define its cells.
    """

    def __init__(self, data: bytes) -> None:
        padding = bytes(_WORD * _WORDS)
        padded = padding + data + padding
        self._bytes = np.frombuffer(padded, np.uint8)[len(padding) :]
        n_words = len(padded) - _WORD + 1
        self._ending = np.ndarray((n_words,), "<u8", padded, strides=(1,))[len(padding) - _WORD :]

    def distinct(self, starts: Indices, ends: Indices) -> tuple[Indices, Indices] | None:
        """Find the positions of the distinct cells, and which of them each cell equals.

        None if a cell has more than eight bytes, or if there are many distinct cells.
        """
        lengths = ends - starts
        if lengths.max() > _WORD:
            return None
        keys = self._ending[ends] & _LAST_BYTES[lengths]
        known, positions = np.unique(keys[:_SAMPLE], return_index=True)
        if len(known) > _MAX_DISTINCT:
            return None
        codes = np.searchsorted(known[1:], keys, side="right")
        return (positions, codes) if np.array_equal(known[codes], keys) else None

    def decimals(self, starts: Indices, ends: Indices) -> tuple[Floats, Mask]:
        """Read cells such as -0.25 as the nearest float64, and tell which could be read.

        The digits form an integer, which is divided by a power of ten in float64. The exact
        remainder corrects the quotient; cells whose last bit remains in doubt are left out.
        """
        is_negative = self._bytes[starts] == _MINUS
        points = self._points(starts, ends)
        n_whole, n_decimals = points - starts - is_negative, ends - points - 1
        is_short = (n_whole > 0) & (n_whole <= _WORD)
        is_short &= (n_decimals > 0) & (n_decimals <= _MAX_DECIMALS)
        n_whole, n_decimals = n_whole * is_short, n_decimals * is_short
        digits, are_digits = self._integers(ends, points, n_whole, n_decimals)
        values, are_sure = _quotients(digits, _POWERS[n_decimals])
        return np.where(is_negative, -values, values), is_short & are_digits & are_sure

    def _points(self, starts: Indices, ends: Indices) -> Indices:
        """Find the decimal point near the start of each cell; without one, the end or later."""
        points = starts + 1
        left = np.flatnonzero(self._bytes[points] != _POINT)
        for _ in range(_WORD):
            points[left] += 1
            left = left[self._bytes[points[left]] != _POINT]
        points[left] = ends[left]
        return points

    def _integers(
        self, ends: Indices, points: Indices, n_whole: Indices, n_decimals: Indices
    ) -> tuple[Ints, Mask]:
        """Read the digits on both sides of the point as an integer; 0 for no or too many digits."""
        total, are_digits = self._digits(points, n_whole)
        estimate = total * _POWERS[n_decimals]
        total = total * _INTEGER_POWERS[np.minimum(n_decimals, _MAX_POWER)]  # can wrap around
        for behind in range(0, _WORD * _WORDS, _WORD):
            lengths = np.clip(n_decimals - behind, 0, _WORD)
            if not lengths.any():
                break
            part, are_parts = self._digits(ends - behind, lengths)
            estimate += part * _POWERS[behind]
            total += part * _INTEGER_POWERS[behind]
            are_digits &= are_parts
        are_digits &= estimate <= _MAX_INTEGER
        return total * are_digits, are_digits

    def _digits(self, ends: Indices, lengths: Indices) -> tuple[Ints, Mask]:
        """Read up to eight digits before each position, and tell which were digits."""
        word = (self._ending[ends] ^ _ZEROS) & _LAST_BYTES[lengths]
        are_digits = ((word + _PAST_NINE) | word) & _TOP_BITS == 0
        for bits, tens, kept in _JOINS:
            word = (word * tens >> bits) & kept
        return word.astype(np.int64), are_digits


def _quotients(digits: Ints, powers: Floats) -> tuple[Floats, Mask]:
    """Divide and round once, and tell where the result is certain."""
    rounded = digits.astype(np.float64)
    lost = (digits - rounded.astype(np.int64)).astype(np.float64)
    quotient = rounded / powers
    product, error = exact_product(quotient, powers)
    correction = (((rounded - product) - error) + lost) / powers
    value = quotient + correction
    are_sure = quotient + correction * (1.0 + _NEARLY) == quotient + correction * (1.0 - _NEARLY)
    return value, are_sure
