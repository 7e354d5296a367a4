"""Numbers of prefixes: dense, in order, and back, for all binades in a range or some of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streameval.exact.score_keys import Keys, keys_of, prefixes
from streameval.states.key_ranges import KeyRange

Make = Callable[[Keys], KeyRange]
MANTISSA = 52
NEAR_ENDS = st.sampled_from([0, 1, 2, 2**30, 2**52 - 2, 2**52 - 1])
KEYS = st.integers(0, 2**64 - 1) | st.builds(
    lambda binade, offset: (binade << MANTISSA) + offset, st.integers(0, 2**12 - 1), NEAR_ENDS
)


def sorted_keys(keys: list[int]) -> Keys:
    return np.array(sorted(keys), dtype=np.uint64)


FEW_KEYS = st.lists(KEYS, min_size=1, max_size=12).map(sorted_keys)


def whole(keys: Keys) -> KeyRange:
    return KeyRange.of(keys)


def without_empty_binades(keys: Keys) -> KeyRange:
    return KeyRange.of(keys).only([keys])


both_ranges = pytest.mark.parametrize("make", [whole, without_empty_binades])


@both_ranges
@given(keys=FEW_KEYS, level=st.integers(1, 64))
def test_numbers_are_in_order_and_stand_for_prefixes(make: Make, keys: Keys, level: int) -> None:
    numbers = make(keys).numbers(level)
    found = numbers.of(keys)
    assert found[0] == 0
    assert found[-1] == numbers.size - 1
    assert (np.diff(found) >= 0).all()
    np.testing.assert_array_equal(numbers.prefixes(found), prefixes(keys, level))


@given(FEW_KEYS, st.integers(1, 64))
def test_a_number_is_given_to_each_prefix_of_the_range(keys: Keys, level: int) -> None:
    numbers = whole(keys).numbers(level)
    first, last = (int(key) >> level for key in keys[[0, -1]])
    assert numbers.size == last - first + 1


@given(FEW_KEYS, st.integers(1, 64))
def test_no_number_is_given_to_a_binade_without_keys(keys: Keys, level: int) -> None:
    numbers = without_empty_binades(keys).numbers(level)
    first, last = (int(key) for key in keys[[0, -1]])
    spans = set()
    for binade in {int(key) >> MANTISSA for key in keys}:
        start, end = binade << MANTISSA, ((binade + 1) << MANTISSA) - 1
        if level > MANTISSA:  # binades share prefixes
            start = start >> level << level
            end = start + 2**level - 1
        spans.add((max(start, first) >> level, min(end, last) >> level))
    assert numbers.size == sum(end - start + 1 for start, end in spans)


@both_ranges
@given(keys=FEW_KEYS, size=st.integers(1, 500))
def test_every_number_has_a_prefix_of_its_own(make: Make, keys: Keys, size: int) -> None:
    numbers = make(keys).numbers(make(keys).lowest_level(size))
    every = np.arange(numbers.size)
    found = numbers.prefixes(every)
    assert (found[1:] > found[:-1]).all()
    starts = found << np.uint64(numbers.level) if numbers.level < 64 else np.zeros_like(found)
    np.testing.assert_array_equal(numbers.of(np.maximum(starts, keys[0])), every)


@both_ranges
@given(keys=FEW_KEYS, size=st.integers(1, 10**6))
def test_lowest_level_is_the_first_with_so_few_numbers(make: Make, keys: Keys, size: int) -> None:
    level = make(keys).lowest_level(size)
    assert make(keys).numbers(level).size <= size
    assert level == 1 or make(keys).numbers(level - 1).size > size


def test_zero_does_not_widen_the_table_of_scores() -> None:
    keys = keys_of(np.append(0.0, np.linspace(0.25, 0.75, 100)), "probability")
    level = 40
    assert whole(keys).numbers(level).size > 2**21
    assert without_empty_binades(keys).numbers(level).size < 2**14


def test_parts_without_keys_are_in_no_range() -> None:
    keys, none = sorted_keys([5, 9]), sorted_keys([])
    assert (KeyRange.of(none, keys).first, KeyRange.of(keys, none).last) == (5, 9)
    assert KeyRange.of(keys, none).only([none]).binades.tolist() == [0]  # type: ignore[union-attr]
