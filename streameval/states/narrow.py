"""Arrays of integers in the narrowest type that holds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

WIDTHS = 1, 2, 4, 8
"""The number of bytes that an integer may take."""

_FEW = 16  # Python is faster than NumPy below this size
_BY_BITS = (*(1,) * 9, *(2,) * 8, *(4,) * 16, *(8,) * 32)

Integers = npt.NDArray[np.integer[Any]]


def narrowed(array: Integers) -> Integers:
    """Return an array in the narrowest type that holds it, signed or not as before."""
    dtype = array.dtype
    width = narrowest_width(array)
    return array if width == dtype.itemsize else array.astype(f"{dtype.kind}{width}")


def is_narrow(array: Integers, widths: Sequence[int] = WIDTHS) -> bool:
    """Return whether `narrowed` would return an array unchanged."""
    return array.itemsize == widths[0] or narrowest_width(array, widths) == array.itemsize


def min_width(number: int) -> int:
    """Return the smallest number of bytes that hold a non-negative integer of 64 bits."""
    return _BY_BITS[number.bit_length()]


def narrowest_width(array: Integers, widths: Sequence[int] = WIDTHS) -> int:
    """Return the smallest number of bytes that hold each item; `widths` end as `WIDTHS` do."""
    is_signed = array.dtype.kind == "i"
    if array.size >= _FEW:
        highest = array.item(array.argmax())  # takes a third of the time of max
        bits = highest.bit_length()
        if is_signed:
            bits = max(~array.item(array.argmin()), highest).bit_length() + 1
    else:
        numbers = array.ravel().tolist()
        highest = max(numbers, default=0)
        bits = highest.bit_length()
        if is_signed:
            bits = max(~min(numbers, default=0), highest).bit_length() + 1
    return max(_BY_BITS[bits], widths[0])
