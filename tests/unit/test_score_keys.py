"""Scores as integers: in the same order, apart from each other, and back."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from offenders import each

from streameval.exact import Scale
from streameval.exact.score_keys import are_keys, keys_of, prefixes, scores_of

HALF, ONE = 0x3FE0 << 48, 0x7FC0 << 48
"""The keys of the probabilities one half and one."""

TINY = 5e-324
PROBABILITIES = sorted(
    {
        *(0.0, TINY, 2 * TINY, 2.0**-1022, np.nextafter(2.0**-1022, 0), 1e-300, 2.0**-53),
        *(0.25, np.nextafter(0.5, 0), 0.5, np.nextafter(0.5, 1), 0.75),
        *(1 - 2.0**-52, 1 - 2.0**-53, 1.0),
        *np.linspace(0, 1, 97).tolist(),
    }
)
NUMBERS = sorted(
    {
        *PROBABILITIES,
        *(-score for score in PROBABILITIES if score),
        *(-math.inf, math.inf, 1.0 + 2.0**-52, np.finfo(float).max, -np.finfo(float).max),
    }
)
SCORES: dict[Scale, list[float]] = {"probability": PROBABILITIES, "real": NUMBERS}

every_scale = pytest.mark.parametrize("scale", SCORES)
probabilities = st.floats(0, 1) | st.floats(0, 1).map(lambda score: 1 - score)
numbers = st.floats(allow_nan=False)
drawn = {"probability": probabilities, "real": numbers}


def key(score: float, scale: Scale) -> int:
    return int(keys_of(np.array([score]), scale)[0])


@each("scale", SCORES)
def test_keys_of_greater_scores_are_greater(scale: Scale) -> None:
    keys = keys_of(np.array(SCORES[scale]), scale).tolist()
    assert keys == sorted(set(keys))


@given(probabilities, probabilities)
def test_keys_are_in_the_order_of_probabilities(one: float, other: float) -> None:
    keys = key(one, "probability"), key(other, "probability")
    assert (keys[0] < keys[1], keys[0] == keys[1]) == (one < other, one == other)


@given(numbers, numbers)
def test_keys_are_in_the_order_of_numbers(one: float, other: float) -> None:
    keys = key(one, "real"), key(other, "real")
    assert (keys[0] < keys[1], keys[0] == keys[1]) == (one < other, one == other)


@every_scale
@given(data=st.data())
def test_keys_of_neighbours_differ(scale: Scale, data: st.DataObject) -> None:
    score = data.draw(drawn[scale])
    above = math.nextafter(score, 1.0 if scale == "probability" else math.inf)
    assert (key(score, scale) < key(above, scale)) == (score < above)


@every_scale
@given(data=st.data())
def test_key_gives_back_its_score(scale: Scale, data: st.DataObject) -> None:
    score = data.draw(drawn[scale])
    (back,) = scores_of(keys_of(np.array([score]), scale), scale).tolist()
    assert back == score
    assert math.copysign(1, back) == (math.copysign(1, score) if score else 1)


@each("scale", SCORES)
def test_keys_of_an_array_of_any_shape_give_back_their_scores(scale: Scale) -> None:
    scores = np.array(SCORES[scale][:96]).reshape(4, 24)
    np.testing.assert_array_equal(scores_of(keys_of(scores, scale), scale), scores)


@each("scale", SCORES)
def test_minus_zero_has_the_key_of_zero(scale: Scale) -> None:
    assert key(-0.0, scale) == key(0.0, scale)


@each(
    ("score", "expected"),
    [(0.0, 0), (TINY, 1), (0.5, HALF), (1 - 2.0**-53, ONE - (0x3CA0 << 48)), (1.0, ONE)],
)
def test_key_of_a_probability_is_mirrored_at_one_half(score: float, expected: int) -> None:
    assert key(score, "probability") == expected


@given(st.floats(0.5, 1))
def test_keys_are_as_fine_near_1_as_near_0(score: float) -> None:
    assert key(score, "probability") + key(1 - score, "probability") == ONE


@each("dtype", [np.float16, np.float32])
@each("scale", SCORES)
def test_key_of_a_narrow_float_is_that_of_its_value(scale: Scale, dtype: type) -> None:
    patterns = np.arange(2**16, dtype=np.uint16)
    with np.errstate(invalid="ignore"):
        scores = patterns.view(np.float16).astype(dtype)
    scores = scores[~np.isnan(scores)]
    if scale == "probability":
        scores = scores[(scores >= 0) & (scores <= 1)]
    expected = [key(float(score), scale) for score in scores[::17]]
    assert keys_of(scores[::17].astype(np.float64), scale).tolist() == expected


@each("scale", SCORES)
def test_keys_of_scores_are_keys(scale: Scale) -> None:
    assert are_keys(keys_of(np.array(SCORES[scale]), scale), scale)


@each("scale", SCORES)
def test_no_keys_are_keys(scale: Scale) -> None:
    assert are_keys(np.zeros(0, dtype=np.uint64), scale)


@each(
    ("scale", "number"),
    [
        ("probability", ONE + 1),
        ("probability", 2**64 - 1),
        ("probability", HALF + 1),
        ("probability", ONE - 1),
        ("real", key(math.inf, "real") + 1),
        ("real", key(-math.inf, "real") - 1),
        ("real", 0),
        ("real", 2**64 - 1),
    ],
)
def test_number_that_no_score_has_is_no_key(scale: Scale, number: int) -> None:
    keys = keys_of(np.array([0.25, 0.5, 0.75]), scale)
    assert not are_keys(np.append(keys, np.uint64(number)), scale)


@given(st.integers(0, 2**64 - 1))
def test_number_is_a_key_if_its_score_has_it(number: int) -> None:
    keys = np.array([number], dtype=np.uint64)
    score = float(scores_of(keys, "real")[0])
    assert are_keys(keys, "real") == (not math.isnan(score) and key(score, "real") == number)


@given(
    st.integers(0, ONE)
    | st.integers(HALF - 2**10, HALF + 2**10)
    | st.integers(0, 2**53).map(lambda steps: key(steps * 2.0**-53, "probability"))
    | st.integers(0, 2**52).map(lambda steps: key(1 - steps * 2.0**-53, "probability") - 1)
)
def test_number_is_a_key_if_its_probability_has_it(number: int) -> None:
    keys = np.array([number], dtype=np.uint64)
    score = float(scores_of(keys, "probability")[0])
    assert are_keys(keys, "probability") == (key(score, "probability") == number)


@each("level", [0, 1, 52, 63, 64])
@each("scale", SCORES)
def test_prefixes_drop_the_lowest_bits(scale: Scale, level: int) -> None:
    keys = keys_of(np.array(SCORES[scale]), scale)
    assert prefixes(keys, level).tolist() == [number >> level for number in keys.tolist()]


def test_prefixes_at_level_64_are_one() -> None:
    assert prefixes(np.array([0, 1, 2**64 - 1], dtype=np.uint64), 64).tolist() == [0, 0, 0]


@each("scale", ["probability", "real"])
@each("shape", [(), (1,), (2, 3), (0, 2)])
def test_keys_have_the_shape_of_the_scores(scale: Scale, shape: tuple[int, ...]) -> None:
    scores = np.full(shape, 0.75)
    assert keys_of(scores, scale).shape == shape
    np.testing.assert_array_equal(scores_of(keys_of(scores, scale), scale), scores)
