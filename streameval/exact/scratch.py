"""Columns of temporary floats that are reused.

The system hands out newly allocated memory page by page, which takes longer than the arithmetic
on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from streameval.exact.array_types import Floats

ROWS = 2**13
"""The number of rows of a column, small enough for several columns to stay in the cache."""

_COLUMNS = 9
_FREE: list[Floats] = []


@contextmanager
def borrowed(columns: int) -> Iterator[Floats]:
    """Lend uninitialized columns of shape (columns, ROWS) to one caller.

    A second caller, on another thread or in a signal handler, gets other columns, because taking
    them from a list and returning them are atomic. After an exception they are not returned.
    """
    try:
        taken = _FREE.pop()
    except IndexError:
        taken = np.empty((_COLUMNS, ROWS))
    yield taken[:columns]
    _FREE.append(taken)
