"""Words of cells, against the texts of the same cells."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from offenders import each
from profiles import quick_cases

from streameval.io.words import CellWords

DIGITS = st.from_regex(r"-?[0-9]{1,10}\.[0-9]{0,25}", fullmatch=True)
REPRS = st.floats(allow_nan=False, allow_infinity=False).map(repr)
USUAL = st.floats(-1000, 1000).map(repr)
TEXTS = st.text("0123456789.-e+ x_,", max_size=12).map(lambda text: text.replace(",", ""))


def cells_of(texts: list[str]) -> tuple[CellWords, np.ndarray, np.ndarray]:
    ends = np.cumsum([len(text.encode()) + 1 for text in texts]) - 1
    starts = np.concatenate([[0], ends[:-1] + 1])
    return CellWords(",".join(texts).encode()), starts, ends


@given(st.lists(DIGITS | REPRS | USUAL | TEXTS, min_size=1, max_size=20))
@settings(max_examples=quick_cases(500))
def test_decimals_are_those_of_float(texts: list[str]) -> None:
    words, starts, ends = cells_of(texts)
    values, are_read = words.decimals(starts, ends)
    read = np.flatnonzero(are_read).tolist()
    expected = np.array([float(texts[index]) for index in read])
    np.testing.assert_array_equal(values[read].view(np.int64), expected.view(np.int64))


@each("text", ["0.5", "-0.0", "12345678.25", "0.30000000000000004", "0.0000000000000000000001"])
def test_decimal_of_few_digits_is_read(text: str) -> None:
    words, starts, ends = cells_of([text])
    values, are_read = words.decimals(starts, ends)
    assert are_read.tolist() == [True]
    assert str(values[0]) == str(float(text))


@each(
    "text",
    [
        "",
        "-",
        ".5",
        "5.",
        "5",
        "-.5",
        "+0.5",
        "1.2.3",
        "1e-05",
        "0x1.8",
        "123456789.5",
        "0._5",
        "nan",
    ],
)
def test_decimal_in_another_form_is_left(text: str) -> None:
    words, starts, ends = cells_of(["0.5", text, "0.25"])
    assert words.decimals(starts, ends)[1].tolist() == [True, False, True]


def test_decimals_beside_the_middle_of_two_floats_are_rounded_once() -> None:
    lower = np.random.default_rng(2).random(5_000)
    pairs = zip(lower.tolist(), np.nextafter(lower, 1.0).tolist(), strict=True)
    middles = [(Fraction(low) + Fraction(high)) / 2 for low, high in pairs]
    texts = [f"0.{int(middle * 10**18 + more):018}" for middle in middles for more in (0, 1)]
    words, starts, ends = cells_of(texts)
    values, are_read = words.decimals(starts, ends)
    assert are_read.all()
    assert values.tolist() == list(map(float, texts))


def test_decimals_of_random_floats_are_nearly_all_read() -> None:
    scores = np.random.default_rng(1).random(20_000)
    words, starts, ends = cells_of(list(map(repr, scores.tolist())))
    values, are_read = words.decimals(starts, ends)
    assert are_read.mean() > 0.99
    np.testing.assert_array_equal(values[are_read], scores[are_read])


@given(st.lists(st.sampled_from(["a", "b", "", "abc", "12345678", "\xe9", "12"]), min_size=1))
def test_distinct_cells_stand_for_all(texts: list[str]) -> None:
    words, starts, ends = cells_of(texts)
    found = words.distinct(starts, ends)
    assert found is not None
    positions, codes = found
    assert [texts[position] for position in positions[codes]] == texts
    assert len(positions) == len(set(texts))


@each(
    "texts",
    [["123456789"], [str(number) for number in range(65)], ["a"] * 2**10 + ["b"]],
)
def test_distinct_cells_are_left_where_they_are(texts: list[str]) -> None:
    assert CellWords.distinct(*cells_of(texts)) is None
