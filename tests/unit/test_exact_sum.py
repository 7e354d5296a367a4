"""Exact sums against fractions: no bit lost, none gained, whatever the order."""

import math
import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from offenders import each
from profiles import quick_cases

from streameval.exact.cell_sums import rounded_sum, single_sum
from streameval.exact.exact_sum import ExactSum, exact_product
from streameval.exact.fixed_point import FixedPoint

UNIT = Fraction(1, 2**1074)
LARGEST = float(np.finfo(np.float64).max)
SMALLEST = 5e-324

many = settings(max_examples=quick_cases(300))
finite = st.floats(allow_nan=False, allow_infinity=False)
finite_lists = st.lists(finite, max_size=30)


def total(*values: float) -> ExactSum:
    return ExactSum.of(np.array(values, dtype=np.float64))


def exact(values: list[float]) -> Fraction:
    return sum(map(Fraction, values), Fraction())


def random_values(decades: int, n: int = 2000) -> list[float]:
    """Values of both signs, spread over decades around 1."""
    rng = np.random.default_rng(decades)
    scale = 10.0 ** rng.uniform(-decades / 2, decades / 2, n)
    values: list[float] = (rng.standard_normal(n) * scale).tolist()
    return values


@given(finite_lists)
@many
def test_of_is_exact_for_any_finite_floats(values: list[float]) -> None:
    assert total(*values).units * UNIT == exact(values)


@each("decades", [0, 1, 6, 12, 24, 600])
def test_of_is_exact_over_decades(decades: int) -> None:
    values = random_values(decades)
    assert total(*values).units * UNIT == exact(values)


@each("decades", [0, 1, 6, 12, 24])
def test_float_is_the_correctly_rounded_sum(decades: int) -> None:
    values = random_values(decades)
    assert float(total(*values)) == math.fsum(values)


@given(st.lists(st.floats(-1e290, 1e290), max_size=30))
@many
def test_float_is_the_correctly_rounded_sum_of_any_floats(values: list[float]) -> None:
    assert float(total(*values)) == math.fsum(values)


@given(st.lists(st.floats(-1e-300, 1e-300), max_size=30))
@many
def test_float_is_the_correctly_rounded_sum_of_tiny_floats(values: list[float]) -> None:
    assert float(total(*values)) == math.fsum(values)


@each(
    "value",
    [
        *(0.0, 1.0, 0.1, SMALLEST, 3 * SMALLEST, 2.0**-1022, 2.0**-1022 - SMALLEST),
        *(LARGEST, 2.0**1023, 2.0**53 + 2, 1 / 3),
    ],
)
@each("sign", [1, -1])
def test_one_float_comes_back_as_it_was(value: float, sign: int) -> None:
    assert float(total(sign * value)) == sign * value


def test_every_power_of_two_has_its_place() -> None:
    for exponent in range(-1074, 1024):
        odd = math.ldexp(1.0, exponent) + math.ldexp(1.0, max(exponent - 52, -1074))
        assert total(odd).units * UNIT == Fraction(odd)


@given(finite_lists, st.randoms())
@many
def test_the_order_of_adding_does_not_matter(values: list[float], shuffler: random.Random) -> None:
    shuffled = list(values)
    shuffler.shuffle(shuffled)
    assert total(*values) == total(*shuffled)


@given(finite_lists, st.integers(0, 30))
@many
def test_the_parts_of_a_cut_add_up(values: list[float], cut: int) -> None:
    assert total(*values[:cut]) + total(*values[cut:]) == total(*values)


@given(finite_lists)
@many
def test_values_and_their_negatives_cancel(values: list[float]) -> None:
    assert total(*values, *(-value for value in values)) == ExactSum(0)


@each(
    ("values", "expected"),
    [
        ([1e300, 1.0, -1e300], 1.0),
        ([LARGEST, SMALLEST, -LARGEST], SMALLEST),
        ([2.0**53, 1.0, -(2.0**53)], 1.0),
        ([1e16, 1.0, 1e-16, -1e16, -1.0], 1e-16),
        ([LARGEST, LARGEST, -LARGEST, -LARGEST], 0.0),
    ],
)
def test_cancellation_loses_nothing(values: list[float], expected: float) -> None:
    assert float(total(*values)) == expected


@each("value", [0.1, 1 / 3, 1e-310, 1e17 + 16, -0.7])
@each("n", [1, 10, 1_000_003])
def test_constant_data_sum_to_n_times_the_constant(value: float, n: int) -> None:
    constant = ExactSum.of(np.full(n, value))
    assert constant.units * UNIT == n * Fraction(value)
    assert float(constant) == float(n * Fraction(value))


def test_a_difference_of_large_sums_keeps_every_digit() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(1e6, 1.0, 20_000)  # mean / sd = 1e6
    moved = values + rng.normal(0.0, 1e-6, 20_000)
    difference = ExactSum.of(moved) - ExactSum.of(values)
    assert float(difference) == float(exact(moved.tolist()) - exact(values.tolist()))


@given(finite_lists, finite_lists)
@many
def test_add_and_subtract_are_exact(a: list[float], b: list[float]) -> None:
    assert (total(*a) + total(*b)).units * UNIT == exact(a) + exact(b)
    assert (total(*a) - total(*b)).units * UNIT == exact(a) - exact(b)


@pytest.mark.parametrize("items", [1, 2, 3, 7])
def test_sums_in_chunks_are_exact(monkeypatch: pytest.MonkeyPatch, items: int) -> None:
    monkeypatch.setattr("streameval.exact.exact_sum._SAFE_ITEMS", items)
    for n in range(10):
        values = random_values(24, n)
        assert total(*values).units * UNIT == exact(values)


@each(
    "view",
    [
        lambda values: values[::-1],
        lambda values: np.repeat(values, 3)[::3],
        lambda values: values.astype(">f8"),
    ],
)
def test_views_have_the_same_sum(view: Callable[..., np.ndarray]) -> None:
    values = np.array(random_values(24))
    assert ExactSum.of(view(values)) == ExactSum.of(values)


def test_the_input_is_not_written_to() -> None:
    values = np.array(random_values(6))
    values.flags.writeable = False
    before = values.copy()
    ExactSum.of(values)
    assert np.array_equal(values, before)


@each("values", [[], [0.0], [-0.0], [0.0, -0.0]])
def test_nothing_sums_to_a_positive_zero(values: list[float]) -> None:
    assert total(*values) == ExactSum()
    assert math.copysign(1.0, float(total(*values))) == 1.0


@each("sign", [1, -1])
def test_float_past_its_range_raises_and_the_sum_goes_on(sign: int) -> None:
    past = total(sign * LARGEST, sign * LARGEST)
    with pytest.raises(OverflowError):
        float(past)
    assert float(past - total(sign * LARGEST)) == sign * LARGEST


def test_float_rounds_half_to_even() -> None:
    assert float(total(2.0**53, 1.0)) == 2.0**53
    assert float(total(2.0**53, 1.0, SMALLEST)) == 2.0**53 + 2
    assert float(total(2.0**53, 2.0, 1.0)) == 2.0**53 + 4


def test_the_largest_float_is_reached_below_the_midpoint() -> None:
    half_ulp = 2.0**970
    assert float(total(LARGEST, half_ulp, -SMALLEST)) == LARGEST


@given(finite_lists)
@many
def test_to_fraction_is_exact(values: list[float]) -> None:
    assert total(*values).to_fraction() == exact(values)


def magnitudes(low: int, high: int) -> st.SearchStrategy[float]:
    """Floats of both signs between two powers of two, and zero."""
    sizes = st.floats(2.0**low, 2.0**high)
    return st.one_of(st.just(0.0), sizes, sizes.map(lambda size: -size))


@given(st.lists(st.tuples(magnitudes(-484, 511), magnitudes(-484, 511)), min_size=1, max_size=8))
@many
def test_exact_product_loses_nothing(pairs: list[tuple[float, float]]) -> None:
    a, b = (np.array(factors) for factors in zip(*pairs, strict=True))
    product, error = exact_product(a, b)
    assert product.tolist() == (a * b).tolist()
    sums = [
        Fraction(p) + Fraction(e) for p, e in zip(product.tolist(), error.tolist(), strict=True)
    ]
    assert sums == [Fraction(x) * Fraction(y) for x, y in pairs]


@given(magnitudes(-1074, 0), magnitudes(-1074, 0))
@example(0.47, 2.2250738585e-313)  # errs by 1.22 units
@many
def test_exact_product_errs_by_two_units_at_most_when_it_underflows(a: float, b: float) -> None:
    product, error = exact_product(np.array([a]), np.array([b]))
    kept = Fraction(product.item()) + Fraction(error.item())
    assert abs(kept - Fraction(a) * Fraction(b)) <= 2 * UNIT


weights_and_terms = st.lists(
    st.tuples(st.integers(0, 2**60), magnitudes(-500, 500), magnitudes(-500, 500)),
    min_size=1,
    max_size=8,
)


@given(weights_and_terms)
@many
def test_weighted_sum_without_weights_is_the_sum_of_the_terms(
    rows: list[tuple[int, float, float]],
) -> None:
    _, first, second = zip(*rows, strict=True)
    given_out = single_sum([np.array(first), np.array(second)], None)
    assert given_out.to_fraction() == exact([*first, *second])


@given(weights_and_terms)
@many
def test_weighted_sum_of_whole_weights_is_exact(rows: list[tuple[int, float, float]]) -> None:
    weights, first, second = zip(*rows, strict=True)
    numbers = FixedPoint(np.array(weights, dtype=np.int64))
    given_out = single_sum([np.array(first), np.array(second)], numbers)
    expected = sum(w * (Fraction(a) + Fraction(b)) for w, a, b in rows)
    assert given_out.to_fraction() == expected


@given(weights_and_terms)
@many
def test_weighted_sum_of_fractional_weights_is_exact(rows: list[tuple[int, float, float]]) -> None:
    weights, first, second = zip(*rows, strict=True)  # in units of 2**-62
    numbers = FixedPoint(np.zeros(len(rows), dtype=np.int64), np.array(weights, dtype=np.int64))
    given_out = single_sum([np.array(first), np.array(second)], numbers)
    expected = sum(Fraction(w, 2**62) * (Fraction(a) + Fraction(b)) for w, a, b in rows)
    assert given_out.to_fraction() == expected


@given(st.integers(0, 20), magnitudes(-1074, 400))
@many
def test_a_whole_weight_is_the_term_as_often(weight: int, term: float) -> None:
    weighted = single_sum([np.array([term])], FixedPoint(np.array([weight])))
    assert weighted == single_sum([np.full(weight, term)], None)


@each("n", [0, 1, 511, 512, 5000])
def test_rounded_sum_is_that_of_python(n: int) -> None:
    draw = np.random.default_rng(n)
    values = draw.standard_normal(n) * 10.0 ** draw.integers(-300, 290, n)
    assert rounded_sum(values) == math.fsum(values)
    assert rounded_sum(np.concatenate([values, -values])) == 0.0


@each("value", [math.inf, -math.inf])
def test_rounded_sum_of_an_infinite_value_is_infinite(value: float) -> None:
    assert rounded_sum(np.append(np.ones(1000), value)) == value
    assert math.isnan(rounded_sum(np.append(np.ones(1000), math.nan)))


@each("n", [2, 1000])
def test_rounded_sum_past_the_range_of_floats_raises(n: int) -> None:
    with pytest.raises(OverflowError):
        rounded_sum(np.full(n, 1e308))
