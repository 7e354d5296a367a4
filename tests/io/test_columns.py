import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from offenders import each

from streameval.io.columns import (
    Flags,
    Labels,
    Lists,
    Numbers,
    ScoresByClass,
    Texts,
    Vectors,
    as_text,
    objects,
    what_is_wrong,
)
from streameval.io.notation import integer_or_text
from streameval.io.times import Steps, Times

KINDS = [
    Numbers(),
    Labels(integers=True),
    Labels(integers=False),
    Labels(integers=False, listed=False),
    Vectors(2),
    Vectors(2, integers=True),
    Numbers(gaps=True),
    Labels(integers=False, longest=2),
    Flags(),
    Texts(),
    Texts(longest=2),
    Lists(Numbers(gaps=True), "numbers"),
    Lists(Labels(integers=False), "text"),
    ScoresByClass(("a", "b")),
    ScoresByClass(("a",)),
]
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-3, 3)
    | st.floats()
    | st.sampled_from([2.0, 10**400, 2**63, 2**63 - 1, -(2**63), "x" * 256, "x" * 257, "\ud800"])
    | st.sampled_from(["3", "3.0", "0.5", "", "nan", "true", "1_0", "9" * 30])
    | st.text(max_size=3)
)
values = (
    scalars
    | st.lists(scalars, max_size=3)
    | st.dictionaries(st.sampled_from(["a", "b", "label", "score"]), scalars, max_size=2)
)
values |= st.lists(st.fixed_dictionaries({"label": scalars, "score": scalars}), max_size=2)


@pytest.mark.parametrize("kind", KINDS, ids=repr)
@given(items=st.lists(values, max_size=4))
def test_whole_is_none_exactly_when_a_value_has_a_fault(kind, items):
    has_fault = any(kind.fault(item) is not None for item in items)
    assert (kind.whole(items) is None) == has_fault


@each(
    ("kind", "items", "expected"),
    [
        (Numbers(), [1, 0.5], np.array([1.0, 0.5])),
        (Labels(integers=True), [True, 2, 3.0], np.array([1, 2, 3])),
        (Labels(integers=True), [False, 2], np.array([0, 2])),
        (Labels(integers=False), ["a", 3], np.array(["a", "3"], dtype=object)),
        (Vectors(2), [[1, 0.5], [2, 3]], np.array([[1.0, 0.5], [2.0, 3.0]])),
        (Vectors(2, integers=True), [[True, 0]], np.array([[1, 0]])),
        (Vectors(2), [], np.empty((0, 2))),
        (Numbers(gaps=True), [1, None], np.array([1.0, math.nan])),
        (Flags(), [True, 0, 1.0, False], np.array([True, False, True, False])),
        (Flags(), [], np.array([], dtype=bool)),
    ],
)
def test_whole_makes_an_array_of_one_type(kind, items, expected):
    array = kind.whole(items)
    assert array.dtype == expected.dtype
    np.testing.assert_array_equal(array, expected)


@each(
    ("kind", "cells", "expected"),
    [
        (Numbers(), ["1", "0.5", "-1e3"], [1.0, 0.5, -1000.0]),
        (Numbers(), ["1", "", "cat"], [1.0, None, "cat"]),
        (Numbers(), ["1_000", "2"], ["1_000", 2.0]),
        (
            Labels(integers=True),
            ["3", "-1", "cat", "1.0", "1.5", ""],
            [3, -1, "cat", 1, "1.5", None],
        ),
        (Labels(integers=True), ["1_0", "+1", " 1", "²"], ["1_0", "+1", " 1", "²"]),
        (Labels(integers=False), ["3", "1.0", "cat", ""], ["3", "1.0", "cat", None]),
        (Labels(integers=False, listed=False), ["3", "cat"], [3, "cat"]),
        (Vectors(2), ["[0, 1]", ""], [[0.0, 1.0], None]),
        (Lists(Numbers(), "numbers"), ["[0, 1]", ""], [[0.0, 1.0], None]),
        (ScoresByClass(("a", "b")), ['{"a": 1}', ""], ['{"a": 1}', None]),
        (Labels(integers=True), ["LABEL_3", "LABEL_", "label_3"], [3, "LABEL_", "label_3"]),
        (Labels(integers=False, listed=False), ["LABEL_3"], ["LABEL_3"]),
        (
            Flags(),
            ["true", "Non", "1", "0.0", "", "yes", " N ", "good"],
            [True, False, True, False, None, True, False, "good"],
        ),
    ],
)
def test_from_text_reads_what_fits_and_leaves_the_rest(kind, cells, expected):
    assert kind.from_text(cells) == expected


def test_from_text_reads_nan():
    assert math.isnan(Numbers().from_text(["nan"])[0])


def test_integer_or_text_leaves_thousands_of_digits():
    assert integer_or_text("9" * 5000) == "9" * 5000


@each(
    ("kind", "value", "message"),
    [
        (Numbers(), None, "`p` is missing"),
        (Numbers(), True, "`p` must be a number, got True"),
        (Numbers(), "0.5", None),
        (Numbers(), "1_0", "`p` must be a number, got '1_0'"),
        (Numbers(), "", "`p` must be a number, got ''"),
        (Labels(integers=True), "3.0", None),
        (Numbers(), 10**400, "`p` must be a number, got 1" + "0" * 17 + "..." + "0" * 19),
        (Labels(integers=True), 0.5, "`p` must be an integer, got 0.5"),
        (
            Labels(integers=True),
            2**63,
            "`p` must be an integer of 64 bits, got 9223372036854775808",
        ),
        (Labels(integers=True), math.inf, "`p` must be an integer, got inf"),
        (Labels(True, False, " (hint)"), "a", "`p` must be an integer (hint), got 'a'"),
        (Labels(integers=False), 0.5, "`p` must be text, got 0.5"),
        (Labels(False, False), 3, "`p` must be text, got 3"),
        (Vectors(2), [1], "`p` must be a list of 2 numbers, got [1]"),
        (Vectors(2), [1, None], "`p` must be a list of 2 numbers, got [1, None]"),
        (Vectors(2, True), [0, 0.5], "`p` must be a list of 2 integers, got [0, 0.5]"),
        (Vectors(2), {"a": 1}, "`p` must be a list of 2 numbers, got {'a': 1}"),
        (Numbers(), 0.5, None),
        (Numbers(gaps=True), None, None),
        (Numbers(gaps=True), "x", "`p` must be a number, got 'x'"),
        (Labels(False, longest=2), "abc", "`p` must be text of at most 2 characters, got 'abc'"),
        (Labels(False), "\udc80", "`p` must be text that UTF-8 can encode, got '\\udc80'"),
        (Texts(), ["x"], "`p` must be a single value, got ['x']"),
        (Texts(longest=2), "abc", "`p` must be text of at most 2 characters, got 'abc'"),
        (Texts(), "\udc80", "`p` must be text that UTF-8 can encode, got '\\udc80'"),
        (Flags(), None, "`p` is missing"),
        (Flags(), 2, "`p` must be true or false, or 1 or 0, got 2"),
        (
            Flags(),
            10**400,
            "`p` must be true or false, or 1 or 0, got 1" + "0" * 17 + "..." + "0" * 19,
        ),
        (Steps(), True, "`p` must be an integer, got True"),
        (Steps(), 7, None),
        (Times("s"), True, '`p` must be a time in ISO 8601, or a number in "s", got True'),
        (Lists(Numbers(), "numbers"), None, "`p` is missing"),
        (Lists(Numbers(), "numbers"), 3, "`p` must be a list of numbers, got 3"),
        (Lists(Numbers(), "numbers"), [1, None], "`p` must be a list of numbers, got [1, None]"),
    ],
)
def test_what_is_wrong_names_field_rule_and_value(kind, value, message):
    assert what_is_wrong("p", kind, value) == message


@each(("label", "fits"), [("x" * 256, True), ("x" * 257, False), ("\ud800", False)])
def test_label_is_short_text_that_utf8_can_say(label, fits):
    assert (Labels(integers=False).fault(label) is None) is fits


@each("kind", [Steps(), Times("s")])
@each("values", [[1_700_000_000, True], [False]])
def test_booleans_are_no_points_in_time(kind, values):
    assert kind.whole(values) is None


def test_what_is_wrong_shortens_a_long_value():
    message = what_is_wrong("p", Numbers(), "x\n" * 10_000)
    assert len(message) < 100
    assert "\n" not in message


def test_what_is_wrong_survives_deep_nesting():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert what_is_wrong("p", Numbers(), deep).startswith("`p` must be a number, got [[[...")


def test_lists_are_an_array_for_each_row():
    array = Lists(Numbers(gaps=True), "numbers").whole([[1, None], [], [2.5]])
    assert [part.tolist() for part in array[[0, 2]][1:]] == [[2.5]]
    assert (array.dtype, [len(part) for part in array]) == (object, [2, 0, 1])
    assert [part.dtype for part in array] == [np.float64] * 3
    assert math.isnan(array[0][1])


def test_objects_of_one_length_stay_apart():
    assert objects([np.zeros(2), np.ones(2)]).shape == (2,)


@each(
    ("value", "text"),
    [("1.50", "1.5"), ("1.00", "1"), ("100", "100"), ("-0.10", "-0.1"), ("1E+2", "100")],
)
def test_decimals_are_written_without_zeros_at_the_end(value, text):
    assert as_text(Decimal(value)) == text
