"""Exact sums of floats, of their magnitudes and of their squares, all three at once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import numpy.typing as npt

from streameval.exact.cell_sums import single_sum
from streameval.exact.exact_sum import ExactSum, added_sums, exact_product
from streameval.exact.fixed_point import FixedPoint

__all__ = ["power_sums", "square_sum"]

Floats = npt.NDArray[np.float64]
Sums = tuple[ExactSum, ExactSum, ExactSum]

_BLOCK = 2**13  # rows whose slices stay in the cache
_SLICES, _SLICE_BITS = 4, 20
_PAIRS = list(combinations_with_replacement(range(_SLICES), 2))
_SAFE_ROWS = 2**9 * _BLOCK  # a block adds at most 2**53 to a sum
_SMALLEST = -1074  # every finite float64 is a whole multiple of 2**-1074
_MIN_EXPONENT = -300  # from here on the squares of slices are far from underflow


def power_sums(values: Floats, weights: FixedPoint | None) -> Sums:
    """Sum values, their magnitudes and their squares, each item times its weight.

    Parameters
    ----------
    values : float64 array, shape (n,)
        At most 2**402 in magnitude.
    weights : FixedPoint, shape (n,), optional
        1 for every item by default.

    Notes
    -----
    The results are those of `single_sum`, with `exact_product` for squares. Without weights,
    values are cut into four slices of 20 bits below the largest of them. In a block of 2**13
    rows, sums of slices and of their products are integers, in some unit, that float64 holds, so
    that dot products are exact in any order. The few values with bits below the last slice take
    the general way.
    """
    total = (ExactSum(), ExactSum(), ExactSum())
    exponent = int(np.frexp(np.abs(values).max(initial=0.0))[1])
    if weights is not None or exponent < _MIN_EXPONENT:
        for rows in _cut(len(values), _BLOCK):
            part = None if weights is None else weights[rows]
            total = _added(total, _general(values[rows], part))
        return total
    for rows in _cut(len(values), _SAFE_ROWS):
        total = _added(total, _sliced(values[rows], exponent))
    return total


def square_sum(values: Floats, weights: FixedPoint | None) -> ExactSum:
    """Sum the squares of values alone, each item times its weight."""
    if weights is None:
        return power_sums(values, None)[2]
    parts = [
        single_sum(exact_product(values[rows], values[rows]), weights[rows])
        for rows in _cut(len(values), _BLOCK)
    ]
    return ExactSum(sum(part.units for part in parts))


def _cut(rows: int, step: int) -> Iterator[slice]:
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def _added(a: Sums, b: Sums) -> Sums:
    total, magnitude, square = added_sums(a, b)
    return total, magnitude, square


def _general(values: Floats, weights: FixedPoint | None) -> Sums:
    return (
        single_sum([values], weights),
        single_sum([np.abs(values)], weights),
        single_sum(exact_product(values, values), weights),
    )


def _sliced(values: Floats, exponent: int) -> Sums:
    """Sum values below ``2**exponent`` by their slices."""
    lowest = [exponent - _SLICE_BITS * (level + 1) for level in range(_SLICES)]
    to_units = np.ldexp(1.0, -np.array(lowest))
    pairs_to_units = np.array([to_units[i] * to_units[j] for i, j in _PAIRS])
    slices = [np.empty(min(_BLOCK, len(values))) for _ in lowest]
    sums, magnitudes = np.zeros((2, _SLICES), dtype=np.int64)
    squares = np.zeros(len(_PAIRS), dtype=np.int64)
    left: list[Floats] = []
    for rows in _cut(len(values), _BLOCK):
        block = values[rows]
        parts = [part[: len(block)] for part in slices]
        left.append(_cut_into(block, parts, lowest))
        ones, signs = np.ones(len(block)), np.copysign(1.0, block)
        sums += _in_units([part.dot(ones) for part in parts], to_units)
        magnitudes += _in_units([part.dot(signs) for part in parts], to_units)
        squares += _in_units([parts[i].dot(parts[j]) for i, j in _PAIRS], pairs_to_units)
    twice = [(1 if i == j else 2, lowest[i] + lowest[j]) for i, j in _PAIRS]
    products = zip(squares.tolist(), twice, strict=True)
    found = (
        _exact((number, at) for number, at in zip(sums.tolist(), lowest, strict=True)),
        _exact((number, at) for number, at in zip(magnitudes.tolist(), lowest, strict=True)),
        _exact((number * times, at) for number, (times, at) in products),
    )
    rest = np.concatenate(left)
    return _added(found, _general(rest, None)) if len(rest) else found


def _cut_into(values: Floats, parts: list[Floats], lowest: list[int]) -> Floats:
    """Write multiples of ``2**lowest`` that add up to the values; return those with bits left.

    Their slices are 0.
    """
    rest = values
    for part, bit in zip(parts, lowest, strict=True):
        rounds = 1.5 * 2.0 ** (52 + bit)  # a float near it is a multiple of 2**bit
        np.add(rest, rounds, out=part)
        np.subtract(part, rounds, out=part)
        rest = rest - part
    uncut = np.flatnonzero(rest)
    if len(uncut):
        for part in parts:
            part[uncut] = 0.0
    return values[uncut]


def _in_units(sums: list[Any], to_units: Floats) -> npt.NDArray[np.int64]:
    return (np.array(sums) * to_units).astype(np.int64)


def _exact(numbers: Iterator[tuple[int, int]]) -> ExactSum:
    """Add up integers times powers of two."""
    return ExactSum(sum(number << (exponent - _SMALLEST) for number, exponent in numbers))
