"""How much memory an object holds."""

from __future__ import annotations

import gc
import sys
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

_SHARED = (type, ModuleType, FunctionType, BuiltinFunctionType)
"""What belongs to the program, not to its data."""


def bytes_held(*objects: Any) -> int:
    """Add up the bytes of objects and of everything that they reference, counting each object once.

    It takes about a microsecond per object. Buffers count in full, filled or not.

    >>> row = np.zeros(1000)
    >>> bytes_held([row, row[:500]]) - bytes_held([row]) < 200
    True
    """
    seen: set[int] = set()
    left = list(objects)
    total = 0
    while left:
        item = left.pop()
        if id(item) in seen or isinstance(item, _SHARED):
            continue
        seen.add(id(item))
        total += sys.getsizeof(item)  # of an array: its items too, unless it is a view
        left += gc.get_referents(item)
        if isinstance(item, np.ndarray) and item.base is not None:
            left.append(item.base)
    return total
