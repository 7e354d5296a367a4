"""Arrays of integers in the narrowest type that holds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["WIDTHS", "is_narrow", "narrowed"]

WIDTHS = 1, 2, 4, 8
"""The number of bytes that an integer may take."""

_FEW = 16  # Python is faster than NumPy below this size

Integers = npt.NDArray[np.integer[Any]]


def narrowed(array: Integers, widths: Sequence[int] = WIDTHS) -> Integers:
    """Return an array in the narrowest type that holds it, signed or not as before."""
    letter = array.dtype.kind
    width = _needed(array, widths)
    return array if width == array.itemsize else array.astype(f"{letter}{width}")


def is_narrow(array: Integers, widths: Sequence[int] = WIDTHS) -> bool:
    """Tell whether `narrowed` would return an array as it is."""
    return array.itemsize == widths[0] or _needed(array, widths) == array.itemsize


def _needed(array: Integers, widths: Sequence[int]) -> int:
    if array.size < _FEW:
        numbers = array.ravel().tolist()
        low, high = min(numbers, default=0), max(numbers, default=0)
        bits = high.bit_length() if array.dtype.kind == "u" else max(~low, high).bit_length() + 1
    elif array.dtype.kind == "u":
        bits = int(np.bitwise_or.reduce(array, axis=None)).bit_length()
    else:
        low, high = int(array.min()), int(array.max())
        bits = max(~low, high).bit_length() + 1
    return next(width for width in widths if bits <= 8 * width)
