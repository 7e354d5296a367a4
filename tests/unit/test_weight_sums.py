"""Sums of weights by cell against those of fixed point, which has tests of its own."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from offenders import each
from profiles import quick_cases

import streameval as se
from streameval.errors import CountOverflowError
from streameval.exact import weight_sums
from streameval.exact.fixed_point import FixedPoint
from streameval.exact.weight_sums import are_whole, weights_by_cell

SIZES = {
    "whole": st.integers(0, 2**20).map(float),
    "halves": st.integers(0, 2**8).map(lambda n: n / 2),
    "small": st.floats(2.0**-20, 2.0**-9),
    "usual": st.floats(2.0**-20, 100.0),
    "wide": st.floats(2.0**-20, 2.0**50),
}
weights = st.sampled_from(sorted(SIZES)).flatmap(lambda name: st.lists(SIZES[name], max_size=40))


def reference(values: np.ndarray, cells: np.ndarray, size: int) -> FixedPoint:
    return FixedPoint.of_numbers(values).scatter(cells.astype(np.intp), size)


@given(weights, st.integers(1, 5), st.integers(0, 2**32 - 1))
@settings(max_examples=quick_cases(300))
def test_sums_by_cell_equal_those_in_fixed_point(listed: list[float], size: int, seed: int) -> None:
    values = np.array(listed, dtype=np.float64)
    cells = np.random.default_rng(seed).integers(0, size, len(values)).astype(np.uint8)
    assert weights_by_cell(values, cells, size) == reference(values, cells, size)


@each("scale", [1.0, 2.0**14, 2.0**20])
@each("size", [3, 20_000])
def test_sums_of_several_chunks_equal_those_in_fixed_point(scale: float, size: int) -> None:
    draw = np.random.default_rng(7)
    values, cells = draw.random(150_000) * scale + 2.0**-20, draw.integers(0, size, 150_000)
    assert weights_by_cell(values, cells, size) == reference(values, cells, size)


def test_sums_are_exact_at_the_largest_weight_of_the_fast_path() -> None:
    largest = weight_sums._MAX_SUM / weight_sums._CHUNK
    values = np.full(weight_sums._CHUNK, np.nextafter(largest, 0.0))
    cells = np.zeros(len(values), dtype=np.intp)
    assert weights_by_cell(values, cells, 1) == reference(values, cells, 1)


@each("dtype", [np.int64, np.float64])
def test_whole_weights_have_no_fraction(dtype: type) -> None:
    sums = weights_by_cell(np.array([3, 4, 5], dtype=dtype), np.array([0, 1, 0]), 2)
    assert sums.whole.tolist() == [8, 4]
    assert sums.is_whole


def test_no_weights_sum_to_zero() -> None:
    assert weights_by_cell(np.zeros(0), np.zeros(0, dtype=np.intp), 3) == FixedPoint.zeros(3)
    assert are_whole(np.zeros(0))


def test_a_total_past_the_limit_is_refused_unless_the_cells_were_checked() -> None:
    values, cells = np.full(2, 2.0**62), np.array([0, 1])
    with pytest.raises(CountOverflowError, match="past"):
        weights_by_cell(values, cells, 2)
    assert weights_by_cell(values, cells, 2, checked=True).whole.tolist() == [2**62, 2**62]


def test_credit_is_whole_while_only_misses_have_fractions() -> None:
    # 2**13 rows fill the buffer, so that they are counted as one large batch
    truth, weights = np.zeros(2**15, dtype=np.int64), np.full(2**15, 0.5)
    miss: Any = se.ConfusionAccumulator(3).update(truth, truth + 1, sample_weight=weights)
    hit: Any = se.ConfusionAccumulator(3).update(truth, truth, sample_weight=weights)
    one_by_one = se.ConfusionAccumulator(3)
    for start in range(0, 2**15, 1000):
        part = slice(start, start + 1000)
        one_by_one.update(truth[part], truth[part], sample_weight=weights[part])
    assert miss._state.credit.is_whole
    assert not hit._state.credit.is_whole
    assert hit.to_bytes() == one_by_one.to_bytes()
