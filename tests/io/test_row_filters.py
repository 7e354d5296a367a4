"""Row filters: what a condition says about a value, alike in every format."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from offenders import each

from streameval.io.columns import as_text
from streameval.io.row_filters import RELATIONS, Condition, RowFilter


def holds(relation, values, value):
    typed = values if isinstance(values, tuple) else (values,)
    return Condition("c", relation, typed).holds(as_text(value))


@each(
    ("typed", "value"),
    [("DE", "DE"), ("3", 3), ("3", 3.0), ("3", "3"), ("3.0", 3), ("0.50", 0.5), ("1e3", 1000),
     ("0.5", "0.50"), ("true", True), ("True", True), ("", None), ("nan", "nan"),
     (("DE", "FR"), "FR"), ("2024-05-01", "2024-05-01"), ("9" * 20, int("9" * 20))],
)  # fmt: skip
def test_equal_values_are_equal_however_they_are_written(typed, value):
    assert holds("=", typed, value)
    assert not holds("!=", typed, value)


@each(
    ("typed", "value"),
    [("DE", "de"), ("DE", None), ("3", 4), ("3", "x"), ("", "x"), ("x", 3), (("DE", "FR"), "US"),
     ("1", True)],
)  # fmt: skip
def test_different_values_are_different(typed, value):
    assert holds("!=", typed, value)
    assert not holds("=", typed, value)


@each(
    ("typed", "value"),
    [("3", 2), ("3", 2.5), ("10", "9"), ("-1", -2), ("2024-05-02", "2024-05-01"),
     ("b", "a"), ("1e2", 99), ("0.3", "0.25")],
)  # fmt: skip
def test_order_is_that_of_numbers_or_of_texts(typed, value):
    found = {relation: holds(relation, typed, value) for relation in ("<", "<=", ">", ">=")}
    assert found == {"<": True, "<=": True, ">": False, ">=": False}


@each("value", [None, "cat", ""])
@each("relation", ["<", "<=", ">", ">="])
def test_what_is_no_number_is_in_no_order_with_one(relation, value):
    assert not holds(relation, "3", value)


@each("value", [None, 3, 0.5, "3"])
@each("relation", ["<", "<=", ">", ">="])
def test_what_is_no_word_is_in_no_order_with_one(relation, value):
    assert not holds(relation, "b", value)


@given(st.integers() | st.floats(allow_nan=False), st.integers(-9, 9))
def test_relations_of_numbers_are_those_of_python(value, bound):
    expected = {
        "=": value == bound, "!=": value != bound, "<": value < bound, "<=": value <= bound,
        ">": value > bound, ">=": value >= bound,
    }  # fmt: skip
    assert {relation: holds(relation, str(bound), value) for relation in RELATIONS} == expected


def test_filter_keeps_rows_that_fit_all_conditions():
    where = RowFilter((Condition("a", "=", ("x",)), Condition("b.c", ">", ("1",))))
    batch = {"0": ["x", "x", "y"], "1": ["2", "1", "2"]}
    assert where.kept(batch).tolist() == [True, False, False]
    rows = [{"a": "x", "b": {"c": 2}}, {"a": "x"}, {"a": "y", "b": {"c": 2}}]
    assert list(map(where.keeps, rows)) == [True, False, False]
