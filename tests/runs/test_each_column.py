"""Rows counted once for each of several columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import streameval as se
from streameval.inputs.coded import CodedTexts
from streameval.runs.slices import ARGUMENT, RowsByColumn

ROWS = st.lists(
    st.tuples(
        st.integers(0, 1), st.integers(0, 1), st.sampled_from("ab"), st.sampled_from(["x", None])
    ),
    max_size=30,
)


def empty():
    return RowsByColumn(se.ConfusionAccumulator, ("g", "h"), {}, finds_columns=False)


def batch(rows):
    y_true, y_pred, *columns = zip(*rows, strict=True)
    coded = [CodedTexts.of(list(column)) for column in columns]
    return {
        "y_true": np.array(y_true),
        "y_pred": np.array(y_pred),
        **dict(zip((f"{ARGUMENT} g", f"{ARGUMENT} h"), coded, strict=True)),
    }


def counted(*parts):
    held = empty()
    for rows in parts:
        if rows:
            held.update(batch(rows))
    return held


def contents(held):
    states = {key: one.to_bytes() for key, one in held.slices().by_value.items()}
    return held.total().to_bytes(), states, held.left_out()


@given(first=ROWS, second=ROWS)
def test_each_column_counts_the_same_however_rows_are_cut_and_merged(first, second):
    whole = contents(counted(first + second))
    assert contents(counted(first, second)) == whole
    merged = counted(first)
    merged.merge(counted(second))
    assert contents(merged) == whole


def test_rows_are_checked_after_every_column_was_left_out():
    held = counted([(1, at % 2, str(at), str(at)) for at in range(101)], [(1, 1, "a", "x")])
    assert held.left_out() == dict.fromkeys("gh", "more than 100 values")
    with pytest.raises(se.InvalidInputError, match="`y_pred`"):
        held.update(batch([(1, 7, "a", "x")]))


def test_column_of_too_many_values_is_left_out_in_any_part():
    many = [(1, at % 2, str(at), "x") for at in range(101)]
    whole = counted(many, [(1, 1, "a", "x")])
    assert whole.left_out() == {"g": "more than 100 values"}
    assert list(whole.slices().by_value) == [("h", "x")]
    assert whole.total().compute().n == 102
    merged = counted(many[:60])
    merged.merge(counted(many[60:], [(1, 1, "a", "x")]))
    assert contents(merged) == contents(whole)


def test_failed_update_leaves_no_trace():
    held = counted([(1, 1, "a", "x")])
    before = contents(held)
    with pytest.raises(se.InvalidInputError, match=r"^`y_true`"):
        held.update(batch([(1, 1, "a", "x"), (7, 1, "b", "x")]))
    assert contents(held) == before
    held.update(batch([(1, 1, "b", "x")]))
    assert held.total().compute().n == 2
