"""Exact sums of floats, of their magnitudes and of their squares, together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations_with_replacement
from typing import Any, Self

import attrs
import numpy as np

from streameval.exact.array_types import Floats
from streameval.exact.cell_sums import single_sum
from streameval.exact.exact_sum import ExactSum, exact_product
from streameval.exact.fixed_point import FixedPoint
from streameval.exact.scratch import ROWS, borrowed

_SLICE_BITS = 20
_SLICES = range(4)
_UPPER, _LOWER, _ONES, _SIGNS = range(4, 8)
_LOWER_PIECES = (2, 3, _LOWER)
_PIECE_BITS = (20, 40, 60, 80, 40, 80, 0, 0)  # how far below the exponent a slice or half ends
_SAFE_BITS = 80 - 53  # a value no smaller than this has all its bits in the slices
_SAFE_ROWS = 2**9 * ROWS  # a block adds at most 2**53 to a sum
_SMALLEST = -1074  # every finite float64 is a whole multiple of 2**-1074
_MIN_EXPONENT = -300  # above it the squares of slices are far from underflow


@attrs.frozen(eq=False)
class _Power:
    """A power of the values to sum, as sums of products of pairs of pieces.

    The lowest bit of a product lies `bits` below the exponent, or below twice the exponent for
    squares. `shifts` convert each product to the unit of the last pair, and double the products
    that count twice.
    """

    terms: Callable[[Floats], Iterable[Floats]]
    degree: int
    pairs: tuple[tuple[int, int], ...]
    bits: tuple[int, ...]
    shifts: tuple[int, ...]

    @classmethod
    def of(
        cls,
        terms: Callable[[Floats], Iterable[Floats]],
        degree: int,
        pairs: tuple[tuple[int, int], ...],
    ) -> Self:
        """Derive bits and shifts."""
        bits = tuple(_PIECE_BITS[i] + _PIECE_BITS[j] for i, j in pairs)
        twice = (i < j < _UPPER for i, j in pairs)
        shifts = tuple(bits[-1] - low + two for low, two in zip(bits, twice, strict=True))
        return cls(terms, degree, pairs, bits, shifts)

    def general_sum(self, values: Floats, weights: FixedPoint | None) -> int:
        """Sum a block of any values."""
        return single_sum(self.terms(values), weights).units

    def sum_of_products(self, products: Iterator[int], exponent: int) -> int:
        """Add up the products of the pairs."""
        total = sum(next(products) << shift for shift in self.shifts)
        return total << (self.degree * exponent - self.bits[-1] - _SMALLEST)


_VALUE = _Power.of(lambda values: [values], 1, ((_UPPER, _ONES), (_LOWER, _ONES)))
_MAGNITUDE = _Power.of(lambda values: [np.abs(values)], 1, ((_UPPER, _SIGNS), (_LOWER, _SIGNS)))
_SQUARE = _Power.of(
    lambda values: exact_product(values, values),
    2,
    tuple(combinations_with_replacement(_SLICES, 2)),
)


def power_sums(
    values: Floats, weights: FixedPoint | None, *, less: Floats | None = None
) -> tuple[ExactSum, ExactSum, ExactSum]:
    """Sum values, their magnitudes and their squares, each item times its weight.

    Parameters
    ----------
    values : float64 array, shape (n,)
        At most 2**402 in magnitude.
    weights : FixedPoint, shape (n,), optional
        1 for every item by default.
    less : float64 or bool array, shape (n,), optional
        Subtracted from the values first, with one rounding.

    Notes
    -----
    The results equal those of `single_sum`, with `exact_product` for squares. Without weights,
    each value is cut into two halves of 40 bits and four slices of 20 bits, starting at the
    exponent of the largest value. In a block of 2**13 rows, the sums of halves and of products of
    slices are integers in a fixed unit that float64 holds exactly, so dot products are exact in
    any order. Values with bits below the last slice are far smaller than the largest; they are
    cut again separately.
    """
    total, magnitude, square = _sums((_VALUE, _MAGNITUDE, _SQUARE), values, less, weights)
    return total, magnitude, square


def value_sum(values: Floats, weights: FixedPoint | None) -> ExactSum:
    """Sum values alone, as `power_sums` does."""
    (total,) = _sums((_VALUE,), values, None, weights)
    return total


def sum_and_square(values: Floats, weights: FixedPoint | None) -> tuple[ExactSum, ExactSum]:
    """Sum values and their squares, as `power_sums` does."""
    total, square = _sums((_VALUE, _SQUARE), values, None, weights)
    return total, square


def square_sum(
    values: Floats, weights: FixedPoint | None, *, less: Floats | None = None
) -> ExactSum:
    """Sum the squares of values alone, as `power_sums` does."""
    (square,) = _sums((_SQUARE,), values, less, weights)
    return square


def _sums(
    powers: tuple[_Power, ...], values: Floats, less: Floats | None, weights: FixedPoint | None
) -> list[ExactSum]:
    totals = [0] * len(powers)
    for rows in _cut(len(values), _SAFE_ROWS):
        blocks = _Blocks(values[rows], None if less is None else less[rows])
        part = None if weights is None else weights[rows]
        while blocks.size:
            sums, blocks = _sums_of(powers, blocks, part)
            totals = [a + b for a, b in zip(totals, sums, strict=True)]
    return list(map(ExactSum, totals))


class _Blocks:
    """Differences of two arrays, computed block by block without a full-length temporary."""

    def __init__(self, values: Floats, less: Floats | None) -> None:
        self._values, self._less = values, less
        self.size = len(values)

    def __iter__(self) -> Iterator[Floats]:
        """Yield the blocks; each is overwritten by the next."""
        if self._less is None:
            yield from (self._values[rows] for rows in _cut(self.size, ROWS))
            return
        scratch = np.empty(min(self.size, ROWS))
        for rows in _cut(self.size, ROWS):
            values = self._values[rows]
            yield np.subtract(values, self._less[rows], out=scratch[: len(values)])

    def range(self) -> tuple[float, float]:
        """Find the min and max of the magnitudes."""
        scratch = np.empty(min(self.size, ROWS))
        sizes = (np.abs(block, out=scratch[: len(block)]) for block in self)
        ends = [(size.item(size.argmin()), size.item(size.argmax())) for size in sizes]
        lowest, highest = zip(*ends, strict=True)
        return min(lowest), max(highest)


def _cut(rows: int, step: int) -> Iterator[slice]:
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def _sums_of(
    powers: tuple[_Power, ...], blocks: _Blocks, weights: FixedPoint | None
) -> tuple[list[int], _Blocks]:
    """Sum the values that slices can hold, or all of them; also return the values left over."""
    smallest, largest = blocks.range()
    exponent = math.frexp(largest)[1]
    if weights is None and exponent >= _MIN_EXPONENT:
        return _sliced(powers, blocks, exponent, smallest < math.ldexp(1.0, exponent - _SAFE_BITS))
    totals = [0] * len(powers)
    for block, rows in zip(blocks, _cut(blocks.size, ROWS), strict=True):
        part = None if weights is None else weights[rows]
        sums = [power.general_sum(block, part) for power in powers]
        totals = [a + b for a, b in zip(totals, sums, strict=True)]
    return totals, _Blocks(np.empty(0), None)


def _sliced(
    powers: tuple[_Power, ...], blocks: _Blocks, exponent: int, has_small: bool
) -> tuple[list[int], _Blocks]:
    """Sum the values, all below ``2**exponent``, that slices hold; return the others."""
    pairs = [pair for power in powers for pair in power.pairs]
    used = {piece for pair in pairs for piece in pair if piece < _ONES}
    dots: list[list[Any]] = []
    left: list[Floats] = []
    with borrowed(len(_PIECE_BITS)) as scratch:
        scratch[_ONES, : blocks.size].fill(1.0)
        for block in blocks:
            pieces = list(scratch[:, : len(block)])
            _cut_in_two(block, pieces, exponent)
            is_short = not pieces[_LOWER].any()  # of float32, say
            if _SQUARE in powers:
                _cut_in_four(pieces, exponent, is_short=is_short)
            if has_small and not is_short:
                left.append(_take_out(block, pieces, used, exponent))
            if _MAGNITUDE in powers:
                np.copysign(pieces[_ONES], block, out=pieces[_SIGNS])
            empty = _LOWER_PIECES if is_short else ()
            dots.append(
                [0.0 if i in empty or j in empty else pieces[i].dot(pieces[j]) for i, j in pairs]
            )
    to_units = [bit - power.degree * exponent for power in powers for bit in power.bits]
    sums = (np.array(dots) * np.ldexp(1.0, to_units)).astype(np.int64).sum(axis=0)
    products = iter(sums.tolist())
    totals = [power.sum_of_products(products, exponent) for power in powers]
    return totals, _Blocks(np.concatenate([np.empty(0), *left]), None)


def _cut_in_two(values: Floats, pieces: list[Floats], exponent: int) -> None:
    """Write the halves of the values."""
    _round(values, exponent - 2 * _SLICE_BITS, pieces[_UPPER])
    np.subtract(values, pieces[_UPPER], out=pieces[_LOWER])


def _cut_in_four(pieces: list[Floats], exponent: int, *, is_short: bool) -> None:
    """Write the slices of the halves, or of the upper half only if the lower one is 0."""
    first, second, third, fourth, upper, lower, *_ = pieces
    _round(upper, exponent - _SLICE_BITS, first)
    np.subtract(upper, first, out=second)
    if is_short:
        return
    _round(lower, exponent - 3 * _SLICE_BITS, third)
    np.subtract(lower, third, out=fourth)


def _take_out(values: Floats, pieces: list[Floats], used: set[int], exponent: int) -> Floats:
    """Return the values with bits below the last slice, and set their pieces to 0."""
    rounded = pieces[_SIGNS]
    _round(pieces[_LOWER], exponent - 4 * _SLICE_BITS, rounded)
    is_whole = rounded == pieces[_LOWER]
    if is_whole.all():
        return values[:0]
    kept = is_whole.astype(np.float64)
    for piece in (pieces[i] for i in used):
        np.multiply(piece, kept, out=piece)  # a sixth of the time of a write where a mask is true
    return np.compress(~is_whole, values)


def _round(values: Floats, bit: int, out: Floats) -> None:
    """Round values below ``2**(bit + 51)`` to multiples of ``2**bit``."""
    rounds = 1.5 * 2.0 ** (52 + bit)  # a float near it is such a multiple
    np.add(values, rounds, out=out)
    np.subtract(out, rounds, out=out)
