"""Rows that come one at a time as Python numbers: counted as arrays of one row are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from offenders import each

import streameval as se

MAKERS: dict[str, Callable[[], Any]] = {
    "two classes": se.ConfusionAccumulator,
    "the other one is positive": lambda: se.ConfusionAccumulator(pos_label=0, threshold=0.25),
    "three classes": lambda: se.ConfusionAccumulator(3),
    "texts": lambda: se.ConfusionAccumulator(["cat", "dog"]),
    "any labels": lambda: se.ConfusionAccumulator("auto"),
    "real scores of classes": lambda: se.ConfusionAccumulator(scores="real", threshold=0),
    "a label to ignore": lambda: se.ConfusionAccumulator(ignore_label=0),
    "several best classes": lambda: se.ConfusionAccumulator(3, top_k=2),
    "a curve": se.PRCurveSketch,
    "a curve of a few cells": lambda: se.PRCurveSketch(2),
    "a curve of real scores": lambda: se.PRCurveSketch(scores="real"),
    "a curve of another label": lambda: se.PRCurveSketch(pos_label=0),
    "calibration": se.CalibrationAccumulator,
    "calibration without a label": lambda: se.CalibrationAccumulator(ignore_label=0),
    "regression": se.RegressionAccumulator,
    "more measures": lambda: se.RegressionAccumulator(["mape"]),
    "two outputs": lambda: se.RegressionAccumulator(outputs=2),
    "a collection": lambda: se.Collection(
        {"c": se.ConfusionAccumulator(), "p": se.PRCurveSketch()}
    ),
}
NUMBERS = [
    *(0, 1, 2, -1, True, False, 0.0, -0.0, 1.0, 0.25, 0.5, 0.1, 1.5, -3.0, 1e-300, 2**60, 1e200),
    *(float("nan"), float("inf"), -float("inf"), 10**400, np.float32(0.1), np.int8(1), np.True_),
]
rows = st.lists(st.tuples(st.sampled_from(NUMBERS), st.sampled_from(NUMBERS)), max_size=8)


def counted(acc: Any, *arrays: Any, **options: Any) -> str:
    """Update, and return what an error says about it."""
    try:
        acc.update(*arrays, **options)
    except se.StreamevalError as error:
        return str(error)
    return ""


def check_rows(make: Callable[[], Any], given: list[tuple[Any, Any]]) -> None:
    one, other, lists = make(), make(), make()
    for truth, prediction in given:
        said = counted(other, (truth,), (prediction,))  # as arrays, not as a row
        assert counted(one, truth, prediction) == counted(lists, [truth], [prediction]) == said
        assert one.n == lists.n == other.n
    assert one.to_bytes() == lists.to_bytes() == other.to_bytes()


@given(st.sampled_from(sorted(MAKERS)), rows)
def test_row_of_numbers_is_an_array_of_one_row(name: str, given: list[tuple[Any, Any]]) -> None:
    check_rows(MAKERS[name], given)


@pytest.mark.slow
@each("name", MAKERS)
def test_every_pair_of_numbers_is_an_array_of_one_row(name: str) -> None:
    check_rows(MAKERS[name], [(a, b) for a in NUMBERS for b in NUMBERS])


@each("name", ["texts", "any labels"])
def test_row_of_texts_is_an_array_of_one_row(name: str) -> None:
    check_rows(MAKERS[name], [("cat", "dog"), ("dog", "dog"), ("cow", "dog")])


@each("make", [se.ConfusionAccumulator, se.PRCurveSketch, se.CalibrationAccumulator])
def test_rows_beside_arrays_weights_and_full_blocks_are_all_counted(make: Any) -> None:
    one, other = make(), make()
    one.update(1, 0.75, sample_weight=0.5).update(0, 0.25)
    other.update([1, 0], [0.75, 0.25], sample_weight=[0.5, 1.0])
    half = np.full(140_000, 0.5)
    one.update(half > 1, half).update(1, 0.5)
    other.update([*(half > 1), True], [*half, 0.5])
    assert one == other
    one.update(np.array([1, 0]), np.array([0.5, 0.25], dtype=np.float32)).update(1, 0.1)
    assert one == other.update([1, 0, 1], [0.5, 0.25, 0.1])
    for _ in range(2):
        one.reset().update(1, 0.5)
        for _ in range(20):
            one.update(1, 0.5)
    assert one == make().update([1] * 21, [0.5] * 21)


@each("name", MAKERS)
@each("dtype", [np.int8, np.uint64, bool, np.float32, np.float64])
def test_arrays_of_one_row_are_those_of_several(name: str, dtype: Any) -> None:
    if name == "two outputs":
        return
    one, other = MAKERS[name](), MAKERS[name]()
    for truth, prediction in [(0, 1), (1, 1), (1, 0), (0, 0)]:
        rows = np.array([truth]), np.array([prediction], dtype)
        assert counted(one, *rows) == counted(other, *rows, sample_weight=np.ones(1))
    assert one.n == other.n
    assert one.to_bytes() == other.to_bytes()


@each("make", [se.ConfusionAccumulator, se.PRCurveSketch, se.CalibrationAccumulator])
@each("dtype", ["M8[ns]", "m8[ns]", "M8[us]", "m8[s]"])
def test_times_in_arrays_of_one_row_are_no_labels(make: Any, dtype: str) -> None:
    acc, time = make().update([1, 0], [0.75, 0.25]), np.array([1]).view(dtype)
    for rows in [(time, np.array([0.5])), (np.array([1]), time), (time, time)]:
        with pytest.raises(se.InvalidInputError, match=r"must hold (numbers|scores)"):
            acc.update(*rows)
    assert acc.n == 2


@each("dtype", ["M8[ns]", "m8[ns]"])
def test_times_in_arrays_of_one_row_are_no_values(dtype: str) -> None:
    acc, time = se.RegressionAccumulator().update([1, 0], [0.75, 0.25]), np.array([1]).view(dtype)
    with pytest.raises(se.InvalidInputError, match="must hold numbers"):
        acc.update(time, time)
    assert acc.n == 2


def test_rows_fill_a_block_of_numbers() -> None:
    acc = se.RegressionAccumulator()
    for _ in range(2**14 + 2):
        acc.update(1.0, 2)
    assert acc == se.RegressionAccumulator().update([1.0] * (2**14 + 2), [2] * (2**14 + 2))


def test_reads_between_rows_change_nothing() -> None:
    acc, n_hits = se.ConfusionAccumulator(), 0
    for row in range(5):
        n_hits += acc.update(row % 2, 0.75).compute().tp
    assert (acc.n, n_hits) == (5, 0 + 1 + 1 + 2 + 2)


@each("name", ["two classes", "a curve", "a curve of a few cells", "calibration"])
@each(
    ("truth", "score"),
    [(1, 1.5), (1, -0.25), (1, float("inf")), (1, float("nan")), (2, 0.5), (-1, 0.5), (0.5, 0.5)],
)
def test_row_of_no_label_or_probability_is_refused_beside_others(
    name: str, truth: float, score: float
) -> None:
    acc = MAKERS[name]().update([1, 0], [0.25, 0.5])
    for row in ((truth, score), ([truth], [score]), (np.array([truth]), np.array([score]))):
        with pytest.raises(se.InvalidInputError, match="must "):
            acc.update(*row)
    assert acc.n == 2


@each("make", [se.ConfusionAccumulator, se.PRCurveSketch, se.RegressionAccumulator])
def test_single_number_beside_an_array_is_refused(make: Any) -> None:
    with pytest.raises(se.InvalidInputError, match=r"`y_(true|pred|score)` must have"):
        make().update(1, [0.5, 0.25])


@each("make", [*MAKERS.values()])
def test_list_of_two_numbers_is_no_row(make: Any) -> None:
    acc = make()
    with pytest.raises(se.InvalidInputError, match=r"must|missing"):
        acc.update([1, 0])
