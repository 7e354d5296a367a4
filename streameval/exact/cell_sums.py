"""Exact sums of many floats, in total or by cell."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from streameval.exact.exact_sum import ExactSum, exact_product
from streameval.exact.fixed_point import FixedPoint

__all__ = ["cell_sums", "single_sum"]

Floats = npt.NDArray[np.float64]
Cells = npt.NDArray[np.intp]

_SMALLEST = -1074  # every finite float64 is a whole multiple of 2**-1074
_DIGIT_BITS = 31
_SAFE_ITEMS = 2**22  # this many digits sum to less than 2**53, where float64 holds every integer
_SAFE_EXPONENT = 1000  # powers of two up to here are floats


def single_sum(terms: Iterable[Floats], weights: FixedPoint | None) -> ExactSum:
    """Sum vectors of terms, each item times its weight; nothing is rounded."""
    totals = [0]
    for piece in _pieces(terms, weights):
        _add_all(piece, None, totals)
    return ExactSum(totals[0])


def cell_sums(
    values: Floats, weights: FixedPoint | None, cells: Cells, size: int
) -> tuple[ExactSum, ...]:
    """Sum the values of each cell, each item times its weight; nothing is rounded.

    Parameters
    ----------
    values : float64 array, shape (n,)
        Finite.
    weights : FixedPoint, shape (n,), optional
        1 for every item by default.
    cells : int array, shape (n,)
        The cell of each item.
    size : int
        The number of cells.

    Notes
    -----
    Values are split into digits of 31 bits, most significant first, as many as the data needs:
    three for most probabilities. Sums of digits are integers that float64 holds exactly, so the
    order of adding does not matter.
    """
    totals = [0] * size
    for piece in _pieces([values], weights):
        _add_all(piece, cells, totals)
    return tuple(map(ExactSum, totals))


def _pieces(terms: Iterable[Floats], weights: FixedPoint | None) -> Iterable[Floats]:
    """Split the products of terms and weights into vectors that add up to them."""
    if weights is None:
        yield from terms
        return
    parts = [part for part in weights.float_parts() if part.any()]
    for term in terms:
        for part in parts:
            yield from exact_product(part, term)


def _add_all(values: Floats, cells: Cells | None, totals: list[int]) -> None:
    for start in range(0, len(values), _SAFE_ITEMS):
        items = slice(start, start + _SAFE_ITEMS)
        _add(values[items], None if cells is None else cells[items], totals)


def _add(values: Floats, cells: Cells | None, totals: list[int]) -> None:
    """Add values to the totals, in units of 2**-1074, digit by digit."""
    largest = max(values.max(), -values.min())
    digit = (int(np.frexp(largest)[1]) - _SMALLEST - 1) // _DIGIT_BITS
    left = np.count_nonzero(values)
    while left:
        if 2 * left < len(values):
            kept = values != 0.0
            values, cells = values[kept], None if cells is None else cells[kept]
        shift = digit * _DIGIT_BITS
        digits = np.trunc(_scale(values, -shift - _SMALLEST))
        for cell, total in _sums(digits, cells, len(totals)):
            totals[cell] += int(total) << shift
        values = values - _scale(digits, shift + _SMALLEST)
        left = np.count_nonzero(values)
        digit -= 1


def _scale(values: Floats, exponent: int) -> Floats:
    """Multiply by a power of two; exact, or below 1."""
    if abs(exponent) < _SAFE_EXPONENT:
        return values * 2.0**exponent
    return np.ldexp(values, exponent)


def _sums(digits: Floats, cells: Cells | None, size: int) -> Iterable[tuple[int, float]]:
    """Add up digits by cell; only nonzero sums are listed."""
    if cells is None:
        return [(0, digits.sum())]
    sums = np.bincount(cells, weights=digits, minlength=size)
    occupied = np.flatnonzero(sums)
    return zip(occupied.tolist(), sums[occupied].tolist(), strict=True)
