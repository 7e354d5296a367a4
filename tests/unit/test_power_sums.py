"""Sums of values, magnitudes and squares against fractions and the sums of their terms."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from offenders import each
from profiles import quick_cases

from streameval.exact import power_sums as module
from streameval.exact.cell_sums import single_sum
from streameval.exact.exact_sum import exact_product
from streameval.exact.fixed_point import FixedPoint
from streameval.exact.power_sums import power_sums, square_sum, sum_and_square, value_sum

RANGES = {
    "usual": st.floats(-1000, 1000),
    "whole": st.integers(-(2**53), 2**53).map(float),
    "wide": st.floats(-(2.0**400), 2.0**400),
    "tiny": st.floats(-(2.0**-480), 2.0**-480),
    "equal": st.just(-0.1),
}
numbers = st.sampled_from(sorted(RANGES)).flatmap(lambda name: st.lists(RANGES[name], max_size=30))


@given(numbers)
@settings(max_examples=quick_cases(300))
def test_power_sums_are_exact(listed: list[float]) -> None:
    exact = [Fraction(number) for number in listed]
    total, magnitude, square = power_sums(np.array(listed, dtype=np.float64), None)
    assert total.to_fraction() == sum(exact)
    assert magnitude.to_fraction() == sum(map(abs, exact))
    if all(abs(number) > 2.0**-480 or not number for number in listed):
        assert square.to_fraction() == sum(number**2 for number in exact)


def by_terms(values: np.ndarray, weights: FixedPoint | None = None) -> tuple[object, ...]:
    return (
        single_sum([values], weights),
        single_sum([np.abs(values)], weights),
        single_sum(exact_product(values, values), weights),
    )


@each("scale", [2.0**-400, 2.0**-300, 1.0, 2.0**401])
@each("spread", [0, 40, 200])
def test_power_sums_of_several_blocks_equal_those_of_terms(scale: float, spread: int) -> None:
    draw = np.random.default_rng(5)
    shares = draw.uniform(-1, 1, 20_000) * 2.0 ** -draw.integers(0, spread + 1, 20_000)
    assert power_sums(shares * scale, None) == by_terms(shares * scale)


def test_power_sums_are_exact_where_each_slice_is_full() -> None:
    values = np.full(2**14, np.nextafter(2.0**20, 0.0))
    assert power_sums(values, None) == by_terms(values)
    assert power_sums(-values, None) == by_terms(-values)


def test_power_sums_are_added_up_before_an_integer_overflows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = np.random.default_rng(1).normal(size=50_000)
    expected = power_sums(values, None)
    monkeypatch.setattr(module, "_SAFE_ROWS", module.ROWS)
    assert power_sums(values, None) == expected


def test_power_sums_of_float32_beside_float64_equal_those_of_terms() -> None:
    draw = np.random.default_rng(4)
    values = draw.random(5 * module.ROWS)
    values[: 3 * module.ROWS] = values[: 3 * module.ROWS].astype(np.float32)
    values[0] = values[-1] = 2.0**-60  # blocks with small values, and without
    assert power_sums(values, None) == by_terms(values)


def test_square_sum_is_less_a_mask_as_it_is_less_its_numbers() -> None:
    draw = np.random.default_rng(5)
    values, mask = draw.random(20_000).astype(np.float32).astype(float), draw.random(20_000) < 0.5
    assert square_sum(values, None, less=mask) == square_sum(values - mask, None)


def test_weighted_power_sums_equal_those_of_terms() -> None:
    draw = np.random.default_rng(2)
    values, weights = draw.normal(size=20_000), FixedPoint.of_numbers(draw.random(20_000) + 0.01)
    assert power_sums(values, weights) == by_terms(values, weights)


@each("weights", [None, FixedPoint.of_numbers(np.arange(20_000) / 4)])
def test_square_sum_is_that_of_power_sums(weights: FixedPoint | None) -> None:
    values = np.random.default_rng(3).normal(size=20_000)
    assert square_sum(values, weights) == power_sums(values, weights)[2]


@each("weights", [None, FixedPoint.of_numbers(np.arange(20_000) / 4)])
def test_power_sums_of_differences_equal_those_of_the_rounded_differences(
    weights: FixedPoint | None,
) -> None:
    draw = np.random.default_rng(4)
    truth = draw.normal(1e6, 1.0, size=20_000)
    prediction = truth + draw.normal(size=20_000)
    expected = by_terms(prediction - truth, weights)
    assert power_sums(prediction, weights, less=truth) == expected
    assert square_sum(prediction, weights, less=truth) == expected[2]


def test_power_sums_are_exact_beside_outliers() -> None:
    values = np.random.default_rng(6).normal(size=20_000)
    values[[3, 9_000, 19_999]] = 1e12, -1e40, 1e-30
    assert power_sums(values, None) == by_terms(values)
    assert sum_and_square(values, None) == by_terms(values)[::2]
    assert value_sum(values, None) == by_terms(values)[0]
