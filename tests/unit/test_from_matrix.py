"""Counts that were made elsewhere: the state of counting their rows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from offenders import each

import streameval as se

LABELS: list[Any] = [None, ["a", "bé", "c"], [7, -2, 5], {0: "neg", 1: "mid", 2: "pos"}]


def counted(matrix: Any, labels: Any, **options: Any) -> se.ConfusionAccumulator:
    """Count the rows one by one."""
    acc = se.ConfusionAccumulator(len(matrix) if labels is None else labels, **options)
    names = list(range(len(matrix))) if labels is None else list(labels)
    for row, truth in enumerate(names):
        for column, prediction in enumerate(names):
            weight = matrix[row][column]
            acc.update([truth], [prediction], sample_weight=[weight])
    return acc


sides = st.integers(2, 4)
counts = sides.flatmap(lambda k: arrays(np.int64, (k, k), elements=st.integers(0, 2**40)))


@given(matrix=counts)
def test_state_is_that_of_the_rows(matrix: Any) -> None:
    made = se.ConfusionAccumulator.from_matrix(matrix)
    assert made.to_bytes() == counted(matrix.tolist(), None).to_bytes()
    assert made.compute().matrix.tolist() == matrix.tolist()


@given(first=counts, second=counts)
def test_parts_merge_as_their_sum(first: Any, second: Any) -> None:
    k = min(len(first), len(second))
    first, second = first[:k, :k], second[:k, :k]
    made = se.ConfusionAccumulator.from_matrix
    assert (made(first) + made(second)).to_bytes() == made(first + second).to_bytes()


@each("labels", LABELS)
def test_rows_have_the_order_of_the_classes(labels: Any) -> None:
    matrix = np.arange(9).reshape(3, 3)
    made = se.ConfusionAccumulator.from_matrix(matrix, labels)
    assert made.to_bytes() == counted(matrix.tolist(), labels).to_bytes()
    assert made.compute().matrix.tolist() == matrix.tolist()


@each(
    "options",
    [{"pos_label": 0}, {"ignore_label": 1}, {"ignore_label": 9}, {"include_unseen": True}],
)
def test_options_are_those_of_the_class(options: Any) -> None:
    matrix = [[5, 2], [1, 7]]
    made = se.ConfusionAccumulator.from_matrix(matrix, **options)
    assert made.to_bytes() == counted(matrix, None, **options).to_bytes()


@given(matrix=arrays(np.float64, (2, 2), elements=st.floats(0, 2.0**40).map(lambda x: round(x, 3))))
def test_weights_with_fractions_are_kept(matrix: Any) -> None:
    made = se.ConfusionAccumulator.from_matrix(matrix)
    assert made.to_bytes() == counted(matrix.tolist(), None).to_bytes()


@each("convert", [list, np.array, pd.DataFrame, lambda m: np.array(m, dtype=np.uint8)])
def test_counts_come_in_many_forms(convert: Any) -> None:
    matrix = [[5, 2], [1, 7]]
    made = se.ConfusionAccumulator.from_matrix(convert(matrix))
    assert made.to_bytes() == counted(matrix, None).to_bytes()


def test_counts_come_from_a_tensor() -> None:
    torch = pytest.importorskip("torch")
    made = se.ConfusionAccumulator.from_matrix(torch.tensor([[5, 2], [1, 7]]))
    assert made.to_bytes() == counted([[5, 2], [1, 7]], None).to_bytes()


def test_floats_of_whole_counts_are_counts() -> None:
    made = se.ConfusionAccumulator.from_matrix([[5.0, 2.0], [1.0, 7.0]])
    assert made.to_bytes() == counted([[5, 2], [1, 7]], None).to_bytes()


def test_counts_are_exact_beyond_those_of_floats() -> None:
    matrix = [[2**62 + 1, 1], [0, 2**62 - 3]]
    assert se.ConfusionAccumulator.from_matrix(matrix).compute().matrix.tolist() == matrix


def test_labels_of_a_cross_table_are_the_classes() -> None:
    truth, prediction = pd.Series(list("abcab")), pd.Series(list("abcba"))
    made = se.ConfusionAccumulator.from_matrix(pd.crosstab(truth, prediction))
    rows = se.ConfusionAccumulator(["a", "b", "c"]).update(truth, prediction)
    assert made.to_bytes() == rows.to_bytes()


def test_missing_label_of_a_cross_table_is_refused() -> None:
    names = pd.Index([pd.NA, "b"])
    with pytest.raises(se.InvalidInputError, match="`classes` must"):
        se.ConfusionAccumulator.from_matrix(
            pd.DataFrame([[1, 2], [3, 4]], index=names, columns=names)
        )


def test_nothing_was_counted() -> None:
    made = se.ConfusionAccumulator.from_matrix(np.zeros((3, 3), dtype=int))
    assert made.to_bytes() == se.ConfusionAccumulator(3).to_bytes()


@pytest.mark.slow
def test_large_matrix_takes_only_what_was_counted() -> None:
    matrix = np.zeros((3000, 3000), dtype=np.int64)
    matrix[7, 2999] = 4
    acc = se.ConfusionAccumulator(3000).update(np.full(4, 7), np.full(4, 2999))
    assert se.ConfusionAccumulator.from_matrix(matrix).to_bytes() == acc.to_bytes()


@each(
    ("matrix", "message"),
    [
        ([[1, -1], [0, 0]], "`matrix` must not be negative, got -1 at position (0, 1)."),
        ([[1, 0], [np.nan, 0]], "`matrix` must be finite, got nan at position (1, 0)."),
        ([[1, 0], [np.inf, 0]], "`matrix` must be finite, got inf at position (1, 0)."),
        ([[1, 2]], "`matrix` must have shape (K, K) for at least two classes, got (1, 2)."),
        ([[1]], "`matrix` must have shape (K, K) for at least two classes, got (1, 1)."),
        ([], "`matrix` must have shape (K, K) for at least two classes, got (0,)."),
        (np.ones((2, 2, 2)), "`matrix` must have shape (K, K) for at least two classes, got (2, 2"),
        ([["a", "b"], ["c", "d"]], "`matrix` must hold numbers, got strings."),
        (None, "`matrix` must be an array, got NoneType."),
        ([[2**63, 0], [0, 0]], "`matrix` would bring the total past 2**63 - 1."),
        ([[2**62, 2**62], [0, 0]], "`matrix` would bring the total past 2**63 - 1."),
        (
            pd.DataFrame([[1, 2], [3, 4]], index=["a", "b"], columns=["b", "a"]),
            "`matrix` must have the same labels in the same order for rows and columns, got ['a', ",
        ),
    ],
)
def test_what_is_no_matrix_is_refused(matrix: Any, message: str) -> None:
    with pytest.raises(se.StreamevalError) as caught:
        se.ConfusionAccumulator.from_matrix(matrix)
    assert str(caught.value).startswith(message)


@each(
    ("options", "message"),
    [
        ({"multilabel": True}, "`multilabel` cannot be told from a matrix, got True."),
        ({"from_scores": False}, "`from_scores` cannot be told from a matrix, got False."),
        ({"top_k": 2}, "`top_k` cannot be told from a matrix, got 2."),
        ({"measures": "top_k"}, "`measures` cannot be told from a matrix, got 'top_k'."),
        ({"classes": "auto"}, '`classes` must list the labels, got "auto".'),
        ({"classes": 3}, "`matrix` must have one row for each of 3 classes, got 2."),
    ],
)
def test_options_that_no_matrix_tells_are_refused(options: Any, message: str) -> None:
    with pytest.raises(se.InvalidInputError) as caught:
        se.ConfusionAccumulator.from_matrix([[1, 2], [3, 4]], **options)
    assert str(caught.value) == message


def test_metrics_are_those_of_the_counts() -> None:
    result = se.ConfusionAccumulator.from_matrix([[50, 2], [7, 41]]).compute()
    assert result.recall() == float(Fraction(41, 48))
