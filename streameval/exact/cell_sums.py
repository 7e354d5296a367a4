"""Exact sums of many floats, in total or by cell."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from streameval.exact.array_types import Floats, Indices
from streameval.exact.exact_sum import ExactSum, exact_product
from streameval.exact.fixed_point import FixedPoint

_SMALLEST = -1074  # every finite float64 is a whole multiple of 2**-1074
_SUM_BITS = 53  # up to 2**53 float64 holds every integer
_CHUNK_BITS, _LONG_CHUNK_BITS = 13, 17  # a long chunk if there are more cells than 2**13
_MAX_EXPONENT = 900  # larger values are scaled down before they are added
_SHIFT = 200
_ENTRIES = 2**13  # of a few rows: memory for more is allocated anew each time
_FEW = 2**9  # values that `math.fsum` adds faster
_USUAL_DIGITS = 2  # most values have no further digits


def single_sum(terms: Iterable[Floats], weights: FixedPoint | None) -> ExactSum:
    """Sum vectors of terms, each item times its weight; nothing is rounded."""
    totals = [0]
    for term in terms:
        _add_all(term, weights, None, totals)
    return ExactSum(totals[0])


def rounded_sum(values: Floats) -> float:
    """Sum values with one rounding, as `math.fsum` does, in a tenth of its time if there are many.

    Raises
    ------
    OverflowError
        If the sum of finite values is beyond float64.
    """
    if len(values) < _FEW or not np.isfinite(values).all():
        return math.fsum(values.tolist())
    return float(single_sum([values], None))


def cell_sums(
    values: Floats, weights: FixedPoint | None, cells: Indices, size: int
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
    Chunks of values are split into digits of 40 bits, most significant first, as many as the data
    needs: two for most probabilities. Sums of digits are integers that float64 holds exactly, so
    the order of adding does not matter.
    """
    totals = [0] * size
    _add_all(values, weights, cells, totals)
    return tuple(map(ExactSum, totals))


def cell_squares(values: Floats, cells: Indices, size: int) -> tuple[ExactSum, ...]:
    """Sum the squares of the values of each cell, as `cell_sums` does; nothing is rounded."""
    totals = [0] * size
    for term in exact_product(values, values):
        _add_all(term, None, cells, totals)
    return tuple(map(ExactSum, totals))


def column_sums(values: Floats, weights: FixedPoint | None) -> tuple[ExactSum, ...]:
    """Sum each column as `cell_sums` does, in a third of the time if there are no weights.

    Parameters
    ----------
    values : float64 array, shape (n, K)
        The largest magnitude lies between 2**-900 and 2**900.
    weights : FixedPoint, shape (n K,), optional
        Those of the items, row by row.
    """
    n_rows, size = values.shape
    if weights is not None:
        cells = np.tile(np.arange(size), n_rows)
        return cell_sums(values.ravel(), weights, cells, size)
    totals = [0] * size
    for start in range(0, n_rows, 1 << _CHUNK_BITS):
        _add_columns(values[start : start + (1 << _CHUNK_BITS)], totals)
    return tuple(map(ExactSum, totals))


def _add_columns(values: Floats, totals: list[int]) -> None:
    """Add two digits of each value column by column, a few rows at a time, and then the rest."""
    size, digit_bits = len(totals), _SUM_BITS - _CHUNK_BITS
    exponent = math.frexp(_largest(values.ravel()))[1]
    units = [exponent - digit_bits, exponent - 2 * digit_bits]
    sums = np.zeros((len(units), size))
    left, cells = [np.zeros(0)], [np.zeros(0, dtype=np.intp)]
    step = max(_ENTRIES // size, 1)
    for start in range(0, len(values), step):
        rest = values[start : start + step]
        for digit, unit in enumerate(units):
            rounds = 1.5 * 2.0 ** (_SUM_BITS - 1 + unit)
            digits = rest + rounds
            digits -= rounds
            sums[digit] += digits.sum(axis=0)
            rest = rest - digits
        if rest.any():
            kept = np.flatnonzero(rest)
            left.append(rest.ravel()[kept])
            cells.append(kept % size)
    upper, lower = np.ldexp(sums, [[-unit] for unit in units]).astype(np.int64).tolist()
    for cell, (high, low) in enumerate(zip(upper, lower, strict=True)):
        totals[cell] += ((high << digit_bits) + low) << (units[1] - _SMALLEST)
    _add(np.concatenate(left), np.concatenate(cells), totals, digit_bits)


def _add_all(
    values: Floats, weights: FixedPoint | None, cells: Indices | None, totals: list[int]
) -> None:
    """Add values times weights to the totals, in units of 2**-1074, chunk by chunk."""
    bits = _CHUNK_BITS if len(totals) <= 1 << _CHUNK_BITS else _LONG_CHUNK_BITS
    for start in range(0, len(values), 1 << bits):
        rows = slice(start, start + (1 << bits))
        own = None if cells is None else cells[rows]
        for piece in _pieces(values[rows], None if weights is None else weights[rows]):
            _add(piece, own, totals, _SUM_BITS - bits)


def _pieces(term: Floats, weights: FixedPoint | None) -> Iterable[Floats]:
    """Split the product of a term and weights into vectors that add up to it."""
    if weights is None:
        yield term
        return
    for part in weights.float_parts():
        if part.any():
            yield from exact_product(part, term)


def _add(values: Floats, cells: Indices | None, totals: list[int], digit_bits: int) -> None:
    """Add the values of a chunk to the totals, digit by digit."""
    taken = 0
    while largest := _largest(values):
        if taken >= _USUAL_DIGITS:
            kept = values != 0.0
            values, cells = values[kept], None if cells is None else cells[kept]
        exponent = math.frexp(largest)[1]
        if exponent > _MAX_EXPONENT:
            _add_large(values, cells, totals, digit_bits)
            return
        unit = max(exponent - digit_bits, _SMALLEST)
        rounds = 1.5 * 2.0 ** (_SUM_BITS - 1 + unit)  # floats near it are multiples of a digit
        digits = values + rounds
        digits -= rounds
        for cell, total in _sums(digits, cells, len(totals)):
            totals[cell] += int(math.ldexp(total, -unit)) << (unit - _SMALLEST)
        values = values - digits
        taken += 1


def _add_large(values: Floats, cells: Indices | None, totals: list[int], digit_bits: int) -> None:
    """Scale the largest values down and add them; add the others unchanged."""
    scaled = [0] * len(totals)
    is_large = np.abs(values) >= 2.0 ** (_MAX_EXPONENT - 1)
    for kept, scale, sums in ((is_large, 2.0**-_SHIFT, scaled), (~is_large, 1.0, totals)):
        _add(values[kept] * scale, None if cells is None else cells[kept], sums, digit_bits)
    for cell, total in enumerate(scaled):
        totals[cell] += total << _SHIFT


def _largest(values: Floats) -> float:
    """Find the max of the magnitudes, or 0.0 if there are no values."""
    if not len(values):
        return 0.0
    return max(values.item(values.argmax()), -values.item(values.argmin()))


def _sums(digits: Floats, cells: Indices | None, size: int) -> Iterable[tuple[int, float]]:
    """Add up digits by cell; only nonzero sums are listed."""
    if cells is None:
        return [(0, float(digits.sum()))]
    sums = np.bincount(cells, weights=digits, minlength=size)
    occupied = np.flatnonzero(sums)
    return zip(occupied.tolist(), sums[occupied].tolist(), strict=True)
