"""Sums by cell against fractions and against the slower exact sum."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from offenders import each
from profiles import quick_cases

from streameval.exact import cell_sums as _cell_sums
from streameval.exact.cell_sums import cell_sums, column_sums, single_sum
from streameval.exact.exact_sum import ExactSum, exact_product
from streameval.exact.fixed_point import FixedPoint

UNIT = Fraction(1, 2**1074)

many = settings(max_examples=quick_cases(300))
finite = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(finite, st.integers(0, 4)), max_size=30))
@many
def test_cell_sums_are_exact_for_any_finite_floats(items: list[tuple[float, int]]) -> None:
    values, cells = np.array([x for x, _ in items]), np.array([c for _, c in items], dtype=np.intp)
    sums = cell_sums(values, None, cells, 5)
    expected = [sum((Fraction(x) for x, c in items if c == cell), Fraction()) for cell in range(5)]
    assert [total.units * UNIT for total in sums] == expected


@pytest.mark.slow
@each("shape", [(1, 3), (10, 4), (9000, 7), (2, 40_000)])
@each("power", [1, 4, 90])
@each("sign", [1, -1])
def test_column_sums_are_those_of_cells(shape: tuple[int, int], power: int, sign: int) -> None:
    random = np.random.default_rng(power)
    values = sign * random.random(shape) ** power * (random.random(shape) > 0.2)
    cells = np.tile(np.arange(shape[1]), shape[0])
    expected = cell_sums(values.ravel(), None, cells, shape[1])
    assert column_sums(values, None) == expected
    if values.size > 40:  # weights take the way of `cell_sums`
        return
    weights = FixedPoint.of_integers(random.integers(0, 3, values.size))
    expected = cell_sums(values.ravel(), weights, cells, shape[1])
    assert column_sums(values, weights) == expected


@given(st.lists(finite, max_size=30))
@many
def test_single_sum_is_exact_for_any_finite_floats(values: list[float]) -> None:
    assert single_sum([np.array(values)], None).units * UNIT == sum(map(Fraction, values))


def weighted_sum(terms: list[np.ndarray], weights: FixedPoint) -> ExactSum:
    """Multiply every part of every weight out, and sum in limbs: slow, and plain to see."""
    parts = list(weights.float_parts())
    pieces = [piece for term in terms for part in parts for piece in exact_product(part, term)]
    return ExactSum.of(np.concatenate(pieces))


@each("decades", [0, 1, 12, 100])
def test_weighted_sums_are_those_of_the_slower_way(decades: int) -> None:
    random = np.random.default_rng(decades)
    size = 3000
    values = random.normal(size=size) * 10.0 ** random.uniform(-decades, decades, size)
    numbers = np.where(random.random(size) < 0.5, random.random(size), random.integers(0, 9, size))
    numbers[0] = 2.0**61
    weights = FixedPoint.of_floats(numbers, name="weights")
    cells = random.integers(0, 7, size)
    expected = [
        weighted_sum([values[cells == cell]], weights.select(cells == cell)) for cell in range(7)
    ]
    assert list(cell_sums(values, weights, cells, 7)) == expected
    assert single_sum([values, -values[::-1]], weights) == weighted_sum(
        [values, -values[::-1]], weights
    )


def test_long_arrays_are_summed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_cell_sums, "_CHUNK_BITS", 3)
    values = np.random.default_rng(0).random(100)
    cells = np.arange(100) % 3
    expected = tuple(ExactSum.of(values[cells == cell]) for cell in range(3))
    assert cell_sums(values, None, cells, 3) == expected


def test_as_many_full_digits_as_are_safe_sum_exactly() -> None:
    size = 1 << _cell_sums._CHUNK_BITS
    values = np.full(size, 1 - 2.0**-53)
    exact = size * Fraction(1 - 2.0**-53)
    assert single_sum([values], None).units * UNIT == exact
    (total,) = cell_sums(values, None, np.zeros(size, dtype=np.intp), 1)
    assert total.units * UNIT == exact


def test_sums_of_nothing_are_zero() -> None:
    nothing = np.array([])
    assert cell_sums(nothing, None, nothing.astype(np.intp), 2) == (ExactSum(), ExactSum())
    assert single_sum([nothing, np.zeros(3)], None) == ExactSum()


@pytest.mark.slow
@each("scale", [1.0, 2.0**-1040, 2.0**970])
@each("size", [3, 20_000])
def test_sums_of_several_chunks_are_those_of_limbs(scale: float, size: int) -> None:
    draw = np.random.default_rng(1)
    values = draw.normal(size=150_000) * scale
    values[::100] *= 2.0**-50
    cells = draw.integers(0, 3, len(values))
    expected = [ExactSum.of(values[cells == cell]) for cell in range(3)]
    sums = cell_sums(values, None, cells, size)
    assert list(sums[:3]) == expected
    assert set(sums[3:]) <= {ExactSum()}
    assert single_sum([values], None) == ExactSum.of(values)
