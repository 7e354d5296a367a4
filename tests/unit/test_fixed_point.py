"""Fixed-point sums against fractions: exact, free of order, and refused where they would wrap."""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from offenders import each
from profiles import quick_cases

import streameval as se
from streameval.exact.fixed_point import FRACTION_BITS, MAX_TOTAL, FixedPoint

UNIT = Fraction(1, 2**62)
MASK = 2**62 - 1

many = settings(max_examples=quick_cases(300))

small_units = st.integers(0, 2**72)  # up to 1024 in units of 2**-62
any_units = st.integers(0, (2**63 - 1) << 62)
wholes = st.integers(0, 2**63 - 1)


def fixed(units: list[int]) -> FixedPoint:
    """The numbers whose units of 2**-62 are given."""
    whole = np.array([unit >> 62 for unit in units], dtype=np.int64)
    return FixedPoint(whole, np.array([unit & MASK for unit in units], dtype=np.int64))


def whole_numbers(values: list[int]) -> FixedPoint:
    return FixedPoint(np.array(values, dtype=np.int64))


def fractions(numbers: FixedPoint) -> list[Fraction]:
    """What the fields say, read by their definition."""
    whole = numbers.whole.ravel().tolist()
    fraction = [0] * len(whole) if numbers.fraction is None else numbers.fraction.ravel().tolist()
    assert all(0 <= part < 2**62 for part in fraction)
    return [Fraction(a) + b * UNIT for a, b in zip(whole, fraction, strict=True)]


def of(*values: float) -> FixedPoint:
    return FixedPoint.of_floats(np.array(values, dtype=np.float64), name="sample_weight")


def field_bytes(numbers: FixedPoint) -> tuple[bytes, bytes | None]:
    part = None if numbers.fraction is None else numbers.fraction.tobytes()
    return numbers.whole.tobytes(), part


def test_the_constants_are_those_of_the_format() -> None:
    assert (FRACTION_BITS, MAX_TOTAL) == (62, 2**63 - 1)


@given(st.lists(st.floats(2.0**-20, 2.0**62), max_size=8))
@many
def test_of_floats_errs_by_half_a_unit_at_most(values: list[float]) -> None:
    for value, kept in zip(values, fractions(of(*values)), strict=True):
        assert abs(Fraction(value) - kept) <= Fraction(1, 2**63)


@given(st.floats(2.0**-20, 2.0**-10))
@many
def test_of_floats_rounds_to_the_nearest_unit_and_ties_to_even(value: float) -> None:
    assert fractions(of(value)) == [round(Fraction(value) / UNIT) * UNIT]


@given(st.floats(2.0**-10, 2.0**63, exclude_max=True))
@many
def test_of_floats_is_exact_from_a_thousandth_on(value: float) -> None:
    assert fractions(of(value)) == [Fraction(value)]


@given(st.integers(0, 2**42 - 1))
@many
def test_of_floats_keeps_small_multiples_of_a_unit(units: int) -> None:
    assert fractions(of(units * 2.0**-62)) == [units * UNIT]


@each(
    "value",
    [0.0, -0.0, 2.0**-62, 2.0**-20, 2.0**-10, 0.5, 1.0 - 2.0**-53, 1.0, 2.0**53, 2.0**63 - 1024],
)
def test_of_floats_is_exact_at_the_edges(value: float) -> None:
    assert fractions(of(value)) == [Fraction(value)]


@each(
    "value",
    [5e-324, 2.0**-63, 2.0**-61 + 2.0**-100, np.nextafter(2.0**-20, 0), 1e-10],
)
def test_of_floats_refuses_a_small_value_that_would_be_rounded(value: float) -> None:
    with pytest.raises(se.InvalidInputError) as caught:
        of(1.0, 0.1, value, value)
    assert str(caught.value) == (
        "`sample_weight` below 2**-20 must be multiples of 2**-62 to be kept exactly, "
        f"got {float(value)!r} at position 2. Rescale the weights."
    )


@each("value", [2.0**63, 1e300, np.finfo(np.float64).max])
def test_of_floats_refuses_two_to_the_63(value: float) -> None:
    with pytest.raises(se.CountOverflowError):
        of(1.0, value)


@each("values", [[], [0.0], [3.0, 2.0**62]])
def test_of_floats_of_whole_values_has_no_fraction(values: list[float]) -> None:
    assert of(*values).is_whole


@each("dtype", ["int8", "uint8", "int32", "int64", "uint64", ">i4"])
def test_of_integers_takes_any_integers(dtype: str) -> None:
    numbers = FixedPoint.of_integers(np.array([0, 1, 100], dtype))
    assert (numbers.whole.dtype, numbers.whole.tolist(), numbers.is_whole) == (
        np.int64,
        [0, 1, 100],
        True,
    )


def test_of_integers_takes_no_integers() -> None:
    assert FixedPoint.of_integers(np.array([], np.uint64)).shape == (0,)


def test_of_integers_takes_the_largest_total() -> None:
    assert FixedPoint.of_integers(np.array([2**63 - 1], np.uint64)).units() == [2**63 - 1]


@each("value", [2**63, 2**64 - 1])
def test_of_integers_refuses_two_to_the_63(value: int) -> None:
    with pytest.raises(se.CountOverflowError):
        FixedPoint.of_integers(np.array([1, value], np.uint64))


def test_of_integers_copies_its_input() -> None:
    values = np.array([1, 2])
    numbers = FixedPoint.of_integers(values)
    values[0] = 9
    assert numbers.units() == [1, 2]


@given(st.lists(st.tuples(small_units, small_units), min_size=1, max_size=8))
@many
def test_add_is_exact(pairs: list[tuple[int, int]]) -> None:
    a, b = zip(*pairs, strict=True)
    total = fixed(list(a)) + fixed(list(b))
    assert fractions(total) == [(x + y) * UNIT for x, y in pairs]


@given(small_units, st.integers(0, 2**40))
@many
def test_add_is_exact_for_a_whole_beside_a_fraction(units: int, whole: int) -> None:
    for total in (fixed([units]) + whole_numbers([whole]), whole_numbers([whole]) + fixed([units])):
        assert fractions(total) == [units * UNIT + whole]


def test_add_of_wholes_is_whole() -> None:
    total = whole_numbers([1, 2**62]) + whole_numbers([2, 2**62 - 1])
    assert (total.units(), total.is_whole) == ([3, 2**63 - 1], True)


@given(small_units, small_units)
@many
def test_subtract_is_exact(a: int, b: int) -> None:
    assert fractions(fixed([a]) - fixed([b])) == [(a - b) * UNIT]


@given(small_units, st.integers(0, 2**40))
@many
def test_subtract_is_exact_for_a_whole_beside_a_fraction(units: int, whole: int) -> None:
    assert fractions(fixed([units]) - whole_numbers([whole])) == [units * UNIT - whole]
    assert fractions(whole_numbers([whole]) - fixed([units])) == [whole - units * UNIT]


def test_subtract_of_wholes_is_whole() -> None:
    rest = whole_numbers([5, 0]) - whole_numbers([3, 1])
    assert (rest.whole.tolist(), rest.is_whole) == ([2, -1], True)


@given(st.lists(small_units, max_size=20))
@many
def test_sum_and_total_are_exact(units: list[int]) -> None:
    for total in (fixed(units).sum(), fixed(units).total()):
        assert total.shape == ()
        assert fractions(total) == [sum(units) * UNIT]


@given(st.lists(st.integers(0, 2**40), max_size=20))
@many
def test_sum_and_total_of_wholes_are_whole(values: list[int]) -> None:
    for total in (whole_numbers(values).sum(), whole_numbers(values).total()):
        assert (total.units(), total.is_whole, total.shape) == ([sum(values)], True, ())


@given(st.lists(small_units, min_size=12, max_size=12))
@many
def test_sum_along_axes_is_exact(units: list[int]) -> None:
    numbers = fixed(units).reshape(3, 2, 2)
    grid = np.array(units, dtype=object).reshape(3, 2, 2)
    for axis in (0, 1, 2, (0, 2), (1, 2)):
        expected = [unit * UNIT for unit in np.ravel(grid.sum(axis=axis)).tolist()]
        assert fractions(numbers.sum(axis=axis)) == expected


@given(st.lists(st.tuples(st.integers(0, 4), small_units), max_size=30))
@many
def test_scatter_is_exact(items: list[tuple[int, int]]) -> None:
    index = np.array([place for place, _ in items], dtype=np.int64)
    cells = fixed([units for _, units in items]).scatter(index, 5)
    expected = [sum(units for place, units in items if place == cell) * UNIT for cell in range(5)]
    assert fractions(cells) == expected


def test_scatter_of_wholes_is_whole() -> None:
    cells = whole_numbers([1, 2, 4]).scatter(np.array([2, 0, 2]), 4)
    assert (cells.units(), cells.is_whole) == ([2, 0, 5, 0], True)


@given(st.lists(st.tuples(st.integers(0, 2), st.floats(2.0**-20, 100)), min_size=2), st.randoms())
@many
def test_sums_are_the_same_bytes_in_any_order(items: list[tuple[int, float]], random: Any) -> None:
    shuffled = list(items)
    random.shuffle(shuffled)
    results = []
    for order in (items, shuffled):
        numbers = of(*(value for _, value in order))
        cells = numbers.scatter(np.array([place for place, _ in order]), 3)
        results.append(list(map(field_bytes, (cells, numbers.total(), numbers.sum()))))
    assert results[0] == results[1]


def test_fractions_carry_into_the_whole() -> None:
    total = of(0.9, 0.9, 0.9, 0.9).total()
    assert total.whole.item() == 3
    assert fractions(total) == [4 * Fraction(0.9)]


def test_many_fractions_carry_exactly() -> None:
    largest = 1.0 - 2.0**-53
    numbers = of(*[largest] * 100_000)
    cells = numbers.scatter(np.zeros(100_000, dtype=np.int64), 1)
    assert fractions(cells) == fractions(numbers.total()) == [100_000 * Fraction(largest)]


@each(
    ("a", "b"),
    [
        (whole_numbers([2**63 - 1]), whole_numbers([1])),
        (whole_numbers([2**63 - 1]), whole_numbers([2**63 - 1])),
        (whole_numbers([0, 2**62]), whole_numbers([0, 2**62])),
        (fixed([(2**63 - 1) << 62 | MASK]), fixed([1])),
        (fixed([((2**63 - 1) << 62) + 2**61]), fixed([2**61])),
        (whole_numbers([2**63 - 1]), fixed([1 << 62])),
    ],
)
def test_add_refuses_a_total_of_two_to_the_63(a: FixedPoint, b: FixedPoint) -> None:
    for left, right in ((a, b), (b, a)):
        with pytest.raises(se.CountOverflowError, match=r"past 2\*\*63 - 1\.$"):
            _ = left + right


def test_add_reaches_the_last_unit_before_two_to_the_63() -> None:
    total = fixed([((2**63 - 1) << 62) + MASK - 1]) + fixed([1])
    assert fractions(total) == [2**63 - UNIT]


@given(st.lists(wholes, max_size=12))
@many
def test_total_of_wholes_is_exact_or_refused(values: list[int]) -> None:
    if sum(values) < 2**63:
        assert whole_numbers(values).total().units() == [sum(values)]
    else:
        with pytest.raises(se.CountOverflowError):
            whole_numbers(values).total()


@given(st.lists(any_units, max_size=6))
@many
def test_total_of_fractions_is_exact_or_refused(units: list[int]) -> None:
    if sum(units) < 2**125:
        assert fractions(fixed(units).total()) == [sum(units) * UNIT]
    else:
        with pytest.raises(se.CountOverflowError):
            fixed(units).total()


@each("n", [2, 3, 4, 5, 8, 1000, 2**17])
@each("weight", [2**62, 2**63 - 1])
def test_total_of_many_large_weights_never_wraps(n: int, weight: int) -> None:
    with pytest.raises(se.CountOverflowError):
        FixedPoint.of_integers(np.full(n, weight, np.uint64)).total()


def test_total_refuses_halves_that_carry_to_two_to_the_63() -> None:
    units = [(2**63 - 1) << 62, 1 << 61, 1 << 61]
    assert fractions(fixed(units[:2]).total()) == [2**63 - Fraction(1, 2)]
    with pytest.raises(se.CountOverflowError):
        fixed(units).total()


@pytest.fixture
def three_items(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streameval.exact.fixed_point._SAFE_ITEMS", 3)


@pytest.mark.usefixtures("three_items")
@each("n", [0, 1, 2, 3, 4, 6, 7, 100])
@each("kind", ["whole", "fraction"])
def test_sums_in_chunks_are_exact(n: int, kind: str) -> None:
    random = np.random.default_rng(n)
    index = random.integers(0, 4, n)
    if kind == "whole":
        values = random.integers(0, 2**40, n).tolist()
        numbers, exact = whole_numbers(values), [Fraction(value) for value in values]
    else:
        floats = random.uniform(0.5, 2.0, n)
        numbers, exact = of(*floats), [Fraction(value) for value in floats.tolist()]

    by_cell = [
        sum((exact[i] for i in range(n) if index[i] == cell), Fraction()) for cell in range(4)
    ]
    assert fractions(numbers.scatter(index, 4)) == by_cell
    assert fractions(numbers.total()) == [sum(exact, Fraction())]


@pytest.mark.usefixtures("three_items")
@each("fraction", [0, 1])
def test_total_in_chunks_refuses_two_to_the_63(fraction: int) -> None:
    units = [2**61 << 62] * 4  # a chunk of three fits, and the fourth does not
    numbers = fixed(units) if fraction else whole_numbers([2**61] * 4)
    assert fractions(numbers[:3].total()) == [Fraction(3 * 2**61)]
    with pytest.raises(se.CountOverflowError):
        numbers.total()


@pytest.mark.usefixtures("three_items")
@each("with_fraction", [False, True])
def test_sums_in_chunks_have_a_fraction_exactly_when_the_numbers_have(with_fraction: bool) -> None:
    numbers = of(1.0, 2.0, 3.0, 0.5 if with_fraction else 4.0)
    assert numbers.scatter(np.arange(4) % 2, 2).is_whole is not with_fraction
    assert numbers.total().is_whole is not with_fraction


@each(
    ("a", "b", "equal"),
    [
        (whole_numbers([1, 2]), whole_numbers([1, 2]), True),
        (whole_numbers([1, 2]), whole_numbers([2, 1]), False),
        (whole_numbers([1, 2]), whole_numbers([1]), False),
        (whole_numbers([1, 2]), whole_numbers([1, 2]).reshape(1, 2), False),
        (fixed([1, 2]), fixed([1, 2]), True),
        (fixed([1, 2]), fixed([1, 3]), False),
        (fixed([1 << 62]), whole_numbers([1]), False),
        (fixed([1]), fixed([1 + (1 << 62)]), False),
    ],
)
def test_equality_is_of_numbers_shape_and_presence(a: Any, b: Any, equal: bool) -> None:
    assert (a == b) is equal
    assert (b == a) is equal


def test_a_single_whole_differs_from_the_same_with_a_fraction() -> None:
    assert FixedPoint(np.array(3)) == FixedPoint(np.array(3))
    assert FixedPoint(np.array(3)) != FixedPoint(np.array(3), np.array(0))


def test_numbers_equal_no_other_kind() -> None:
    assert whole_numbers([1]) != 1
    assert whole_numbers([1]).__eq__(1) is NotImplemented


def test_numbers_are_not_hashable() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(whole_numbers([1]))


def test_units_of_wholes_are_the_wholes() -> None:
    assert whole_numbers([3, 0, 2**63 - 1]).units() == [3, 0, 2**63 - 1]


@given(st.lists(any_units, max_size=5))
@many
def test_units_of_fractions_are_exact(units: list[int]) -> None:
    assert fixed(units).units() == units


@given(any_units)
@many
def test_to_fraction_is_exact(units: int) -> None:
    assert fixed([units])[0].to_fraction() == units * UNIT
    assert whole_numbers([units >> 62])[0].to_fraction() == units >> 62


def test_the_unit_is_one_until_a_fraction_has_been_seen() -> None:
    assert (whole_numbers([3]).unit, fixed([3]).unit) == (1, UNIT)


@given(st.lists(any_units, max_size=5), st.booleans())
@many
def test_float_parts_add_up_exactly(units: list[int], whole: bool) -> None:
    numbers = whole_numbers([unit >> 62 for unit in units]) if whole else fixed(units)
    parts = [part.tolist() for part in numbers.float_parts()]
    sums = [sum(map(Fraction, items), Fraction()) for items in zip(*parts, strict=True)]
    assert sums == fractions(numbers)


def test_float_parts_of_small_wholes_are_one_array() -> None:
    assert [part.tolist() for part in whole_numbers([1, 2**32 - 1]).float_parts()] == [
        [1.0, 2.0**32 - 1]
    ]


def test_to_numbers_of_wholes_is_an_int64_copy() -> None:
    numbers = whole_numbers([2**53 + 1, 2])
    given_out = numbers.to_numbers()
    given_out[1] = 9
    assert (given_out.dtype, numbers.to_numbers().tolist()) == (np.int64, [2**53 + 1, 2])


@given(st.lists(any_units, max_size=5))
@many
def test_to_numbers_of_fractions_is_the_nearest_float64(units: list[int]) -> None:
    numbers = fixed(units).to_numbers()
    assert numbers.dtype == np.float64
    assert numbers.tolist() == [float(unit * UNIT) for unit in units]


@each("bits", [0, 1, 5, 10, 40, 53, 62])
def test_to_numbers_of_random_fractions_is_the_nearest_float64(bits: int) -> None:
    rng = np.random.default_rng(bits)
    numbers = FixedPoint(rng.integers(0, 2**bits, 5000), rng.integers(0, 2**62, 5000))
    assert numbers.to_numbers().tolist() == list(map(float, fractions(numbers)))


def test_to_numbers_is_the_nearest_float64_past_two_to_the_53() -> None:
    number = FixedPoint(np.array(2**53 + 1), np.array(2**61))  # 2**53 + 1.5
    assert number.to_numbers().item() == float(Fraction(2**53 + 1) + Fraction(1, 2))


@given(st.lists(st.floats(2.0**-10, 1e6), max_size=5))
@many
def test_to_floats_gives_back_the_floats(values: list[float]) -> None:
    assert of(*values).to_floats().tolist() == values


def test_to_floats_of_wholes_is_float64() -> None:
    floats = whole_numbers([1, 2**53]).to_floats()
    assert (floats.dtype, floats.tolist()) == (np.float64, [1.0, 2.0**53])


@each(
    ("numbers", "positive"),
    [(whole_numbers([0, 1]), [False, True]), (fixed([0, 1, 1 << 62]), [False, True, True])],
)
def test_is_positive_sees_the_smallest_unit(numbers: FixedPoint, positive: list[bool]) -> None:
    assert numbers.is_positive().tolist() == positive


@each(
    ("kept", "units", "whole"),
    [([True, False, True], [1, 3], True), ([True, True, False], [1, 2.5], False)],
)
def test_select_forgets_fractions_that_are_left_out(kept: Any, units: Any, whole: bool) -> None:
    chosen = of(1.0, 2.5, 3.0).select(np.array(kept))
    assert (chosen.to_floats().tolist(), chosen.is_whole) == (units, whole)


def test_select_repeats_places() -> None:
    assert whole_numbers([5, 7]).select(np.array([1, 1, 0])).units() == [7, 7, 5]


def test_index_and_reshape_keep_the_fractions() -> None:
    numbers = of(1.5, 2.5, 3.5, 4.5).reshape(2, 2)
    assert numbers.shape == (2, 2)
    assert numbers[1].to_floats().tolist() == [3.5, 4.5]
    assert numbers[:, 0].to_floats().tolist() == [1.5, 3.5]
    assert numbers[1, 1].shape == ()


@each("shape", [(), 3, (2, 0), (2, 3)])
def test_zeros_are_whole(shape: Any) -> None:
    zeros = FixedPoint.zeros(shape)
    assert (zeros.shape, zeros.is_whole) == (np.zeros(shape).shape, True)
    assert not zeros.whole.any()


mixed = st.lists(st.one_of(small_units, st.integers(0, 1000).map(lambda whole: whole << 62)))


def whole_or_fixed(units: list[int]) -> FixedPoint:
    """The numbers whose units are given, without a fraction where all are whole."""
    numbers = fixed(units)
    assert numbers.fraction is not None
    return numbers if numbers.fraction.any() else FixedPoint(numbers.whole)


@given(st.lists(st.lists(small_units, min_size=3, max_size=3), min_size=1, max_size=6))
@many
def test_sum_of_is_the_sum_one_by_one(rows: list[list[int]]) -> None:
    parts = [whole_or_fixed([unit & ~MASK for unit in row] if row[0] % 2 else row) for row in rows]
    before = [field_bytes(part) for part in parts]
    one_by_one = parts[0]
    for part in parts[1:]:
        one_by_one = one_by_one + part
    assert field_bytes(FixedPoint.sum_of(parts)) == field_bytes(one_by_one)
    assert [field_bytes(part) for part in parts] == before


def test_sum_of_single_numbers_is_a_single_number() -> None:
    total = FixedPoint.sum_of([FixedPoint(np.array(number)) for number in (1, 2, 3, 4)])
    assert (total.shape, fractions(total)) == ((), [Fraction(10)])


@given(mixed.filter(bool))
@many
def test_total_of_is_exact(units: list[int]) -> None:
    parts = [whole_or_fixed([unit]).reshape() for unit in units]
    total = FixedPoint.total_of(parts)
    assert (total.shape, fractions(total)) == ((), [sum(units) * UNIT])
    assert total.is_whole == all(unit & MASK == 0 for unit in units)


@each("last", [1, 1.5])
def test_total_of_refuses_two_to_the_63(last: float) -> None:
    parts = [whole_numbers([2**63 - 2]).reshape(), of(last).reshape()]
    assert fractions(FixedPoint.total_of(parts)) == [2**63 - 2 + Fraction(last)]
    with pytest.raises(se.CountOverflowError):
        FixedPoint.total_of([*parts, of(1.0).reshape()])


@each("units", [range(9), [unit << 62 for unit in range(9)]])
def test_diagonal_is_where_row_and_column_are_the_same(units: list[int]) -> None:
    square = whole_or_fixed(list(units)).reshape(3, 3)
    assert fractions(square.diagonal()) == [units[place] * UNIT for place in (0, 4, 8)]
    assert square.diagonal().is_whole == square.is_whole


def test_total_of_a_vector_near_its_bound_is_exact() -> None:
    for n in (2, 3, 1000):
        bound = (2**63 - 1) // n
        assert fractions(whole_numbers([bound] * n).total()) == [Fraction(bound * n)]
        assert fractions(whole_numbers([bound + 1] * (n - 1)).total()) == [(bound + 1) * (n - 1)]
        with pytest.raises(se.CountOverflowError):
            whole_numbers([bound + 1] * n).total()


def _sums(numbers: FixedPoint, runs: list[slice]) -> list[Fraction]:
    return [
        sum((numbers[i].to_fraction() for i in range(r.start, r.stop)), Fraction()) for r in runs
    ]


@each("whole", [True, False])
@each("largest", [5, 2**61])
@each("sizes", [[7], [3, 4], [0, 3, 0, 4, 0], [1] * 7, [7, 0]])
def test_totals_of_runs_are_those_of_each(sizes: list[int], largest: int, *, whole: bool) -> None:
    random = np.random.default_rng(0)
    wholes = np.array([largest // 5, 0, 1, largest, 2, 0, largest])
    numbers = FixedPoint(wholes, None if whole else random.integers(0, 2**62, 7))
    ends = np.cumsum([0, *sizes]).tolist()
    expected = _sums(numbers, [slice(a, b) for a, b in itertools.pairwise(ends)])
    totals = numbers.run_totals(np.array(sizes))
    assert [totals[i].to_fraction() for i in range(len(sizes))] == expected
    rows = FixedPoint(numbers.whole[:6], None if whole else numbers.fraction[:6]).reshape(2, 3)
    both = rows.totals()
    assert [both[i].to_fraction() for i in (0, 1)] == _sums(numbers, [slice(0, 3), slice(3, 6)])


def test_totals_of_nothing_are_zeros() -> None:
    assert FixedPoint.zeros(0).run_totals(np.zeros(3, int)) == FixedPoint.zeros(3)
    assert FixedPoint.zeros((2, 0)).totals() == FixedPoint.zeros(2)


@each("fraction", [None, np.full(4, 2**61)])
def test_totals_past_the_largest_raise(fraction: np.ndarray | None) -> None:
    fits = FixedPoint(np.array([2**62 - 2, 2**62, 1, 1]), fraction)
    assert fits.run_totals(np.array([2, 2])).whole[0] == 2**63 - (2 if fraction is None else 1)
    assert fits.reshape(2, 2).totals() == fits.run_totals(np.array([2, 2]))
    past = FixedPoint(np.array([1, 1, 2**62, 2**62]), fraction)
    with pytest.raises(se.CountOverflowError):
        past.run_totals(np.array([2, 2]))
    with pytest.raises(se.CountOverflowError):
        past.reshape(2, 2).totals()
    with pytest.raises(se.CountOverflowError):
        FixedPoint(np.full(4, 2**63 - 1), fraction).reshape(1, 4).totals()
