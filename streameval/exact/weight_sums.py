"""Exact sums of weights by cell, as fast as two counts, by adding floats that never round."""

from __future__ import annotations

import numpy as np

from streameval.exact.array_types import Array, Floats, Indices, Ints
from streameval.exact.fixed_point import FRACTION_BITS, FixedPoint

WeightArray = Floats | Ints

_HIGH_BITS = 24  # of the fraction: 29 are left to the integer part of a sum, up to 2**53
_MAX_SUM = 2.0**29
_LOW_BITS = FRACTION_BITS - _HIGH_BITS
_HIGH_MASK = np.int64((1 << _HIGH_BITS) - 1)
_FRACTION_MASK = np.int64((1 << FRACTION_BITS) - 1)
# a float near one of these is a multiple of 2**-24, or of 2**-62: adding it rounds to such
_ROUNDS_HIGH = 1.5 * 2.0 ** (52 - _HIGH_BITS)
_ROUNDS_LOW = 1.5 * 2.0 ** (52 - FRACTION_BITS)
_CHUNK = 2**14  # its temporaries stay in the cache
_LONG_CHUNK = 2**16  # above this number of cells, the sums of a chunk take longer than its rows


def weights_by_cell(
    weights: WeightArray, cells: Array, size: int, *, checked: bool = False
) -> FixedPoint:
    """Add up weights by cell: ``FixedPoint.of_numbers(weights).scatter(cells, size)``.

    Parameters
    ----------
    weights : float64 or int64 array, shape (n,)
        As `read_weights` returns them.
    cells : int array, shape (n,)
        The cell of each, below `size`, of any integer type.
    size : int
        The number of cells.
    checked : bool
        Whether the caller knows that no cell can exceed 2**63 - 1; if not, the total is checked.

    Notes
    -----
    A weight is split into a multiple of 2**-24 and a rest, which is rounded to a multiple of
    2**-62 as in `FixedPoint.of_floats`. As long as the weights of a chunk add up to at most
    2**29, float64 holds all sums of either part exactly, so ``bincount`` is exact. Larger weights
    are converted to `FixedPoint` first, which takes five times as long.

    Raises
    ------
    CountOverflowError
        When the total would exceed 2**63 - 1.
    """
    step = min(max(len(weights), 1), _CHUNK if size <= _CHUNK else _LONG_CHUNK)
    add = _sums
    if len(weights) and weights.item(weights.argmax()) * step > _MAX_SUM:
        if not checked:
            FixedPoint.of_numbers(weights).total()
        add = _fixed_sums
    parts = (slice(start, start + step) for start in range(0, len(weights), step))
    sums = (add(weights[part], cells[part].astype(np.intp, copy=False), size) for part in parts)
    total = next(sums, None)
    return FixedPoint.zeros(size) if total is None else sum(sums, start=total)


def are_whole(weights: WeightArray) -> bool:
    """Tell whether all weights are whole; usually the first one decides."""
    if weights.dtype.kind != "f":
        return True
    may_be = not len(weights) or weights.item(0) % 1 == 0
    return may_be and bool((np.rint(weights) == weights).all())


def _fixed_sums(weights: WeightArray, cells: Indices, size: int) -> FixedPoint:
    return FixedPoint.of_numbers(weights).scatter(cells, size)


def _sums(weights: WeightArray, cells: Indices, size: int) -> FixedPoint:
    """Add up weights whose sum is at most 2**29."""
    if are_whole(weights):
        return FixedPoint(np.bincount(cells, weights, size).astype(np.int64))
    high: Array = weights + _ROUNDS_HIGH
    high -= _ROUNDS_HIGH
    low: Array = weights - high
    low += _ROUNDS_LOW
    low -= _ROUNDS_LOW
    highs = _in_units(high, cells, size, _HIGH_BITS)
    lows = _in_units(low, cells, size, FRACTION_BITS)
    lows += (highs & _HIGH_MASK) << _LOW_BITS
    return FixedPoint((highs >> _HIGH_BITS) + (lows >> FRACTION_BITS), lows & _FRACTION_MASK)


def _in_units(values: Floats, cells: Indices, size: int, bits: int) -> Ints:
    sums: Array = np.bincount(cells, values, size)
    return np.asarray(sums * 2.0**bits).astype(np.int64)
