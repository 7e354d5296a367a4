"""Paths into nested rows: which name wins, and that nothing in a row can make a search fail."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from offenders import each

from streameval.inputs.paths import ABSENT, Fields, cuts, find, value_at

names = st.sampled_from(["a", "b", "0", "1", "a.b", "", ".", "²", "1" * 12])
rows = st.recursive(
    st.none() | st.integers(-3, 3) | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
)


@each(
    ("row", "path", "expected"),
    [
        ({"a": 1}, "a", 1),
        ({"a": {"b": 1}}, "a.b", 1),
        ({"a": {"b": 1}, "a.b": 2}, "a.b", 2),
        ({"a": {"b": 1}, "a.b": None}, "a.b", None),
        ({"a": {"b.c": 1}, "a.b": {"c": 2}}, "a.b.c", 2),
        ({"a": {"b.c": 1}, "a.b": {"d": 2}}, "a.b.c", 1),
        ({"a": {"b.c": 1, "b": {"c": 2}}}, "a.b.c", 1),
        ({"a": [{"b": 1}]}, "a.0.b", 1),
        ({"a": [1]}, "a.1", ABSENT),
        ({"a": [1]}, "a.-1", ABSENT),
        ({"a": {"0": 1}}, "a.0", 1),
        ({"a": "b"}, "a.b", ABSENT),
        ({"a": None}, "a.b", ABSENT),
        ({}, "a", ABSENT),
    ],
)
def test_value_at_finds_the_longest_name_first(row, path, expected):
    assert value_at(row, path) is expected or value_at(row, path) == expected
    assert find(row, path) == (None if expected is ABSENT else expected)
    assert (path in Fields(row)) == (expected is not ABSENT)


def reached(held, path):
    """Find everything that a path may mean, by trying every way to cut it."""
    if isinstance(held, dict) and path in held:
        yield held[path]
    if isinstance(held, list) and path in {str(index) for index in range(len(held))}:
        yield held[int(path)]
    for name, rest in cuts(path):
        for inner in reached(held, name):
            yield from reached(inner, rest)


@given(rows, st.lists(names, min_size=1, max_size=4).map(".".join))
def test_value_at_finds_something_exactly_when_some_cut_leads_there(row, path):
    found = value_at(row, path)
    everything = list(reached(row, path))
    assert any(found is one for one in everything) if everything else found is ABSENT


@given(st.dictionaries(names, rows, max_size=3))
def test_every_field_that_is_listed_is_found(row):
    fields = Fields(row)
    assert all(name in fields for name in fields)
    assert len(fields) == len(list(fields))


def test_fields_of_a_row_nested_without_end_are_listed():
    row = {"a": {}}
    row["a"]["a"] = row["a"]
    assert len(Fields(row)) == 9


def test_path_to_nothing_is_a_missing_key():
    fields = Fields({"a": {"b": 1}})
    assert fields["a.b"] == 1
    with pytest.raises(KeyError, match=r"a\.c"):
        _ = fields["a.c"]
