"""What one accumulator refuses, one of groups refuses for the same reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from offenders import each

import streameval as se

LABELS = {"y_true": [0, 1, 1], "y_pred": [0, 1, 0]}
MARKS = dict.fromkeys(("y_true", "y_pred"), np.eye(3, dtype=int))
KEYS = {"key": [1, 2, 3]}

CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "zeros of two dimensions": (
        se.ConfusionAccumulator(2),
        LABELS | {"sample_weight": np.zeros((3, 1))},
    ),
    "zeros and ones of two dimensions": (
        se.RegressionAccumulator(),
        LABELS | {"sample_weight": np.array([[0], [1], [0]])},
    ),
    "zeros of another number of classes": (
        se.ConfusionAccumulator(3, multilabel=True),
        MARKS | {"sample_weight": np.zeros((3, 1))},
    ),
    "zeros of outputs": (
        se.RegressionAccumulator(outputs=3),
        MARKS | {"sample_weight": np.zeros((3, 3))},
    ),
    "labels and weights": (
        se.ConfusionAccumulator(2),
        {"y_true": [0, 1, 7], "y_pred": [0, 1, 0], "sample_weight": [-1, 1, 1]},
    ),
    "labels that are no array": (
        se.ConfusionAccumulator(2),
        {"y_true": 1, "y_pred": [0, 1, 0], "sample_weight": [0, 1, 1]},
    ),
    "text that is no array": (
        se.ConfusionAccumulator(2),
        {"y_true": [0, 1, 1], "y_pred": "abc", "sample_weight": [0, 1, 1]},
    ),
    "labels that are missing": (
        se.PRCurveSketch(pos_label="a"),
        {"y_true": pd.array(["a", None, "b"]), "y_score": [0.1, 0.2, 0.3]},
    ),
}


@each("name", CASES)
def test_groups_refuse_what_one_accumulator_refuses(name: str) -> None:
    accumulator, batch = CASES[name]
    with pytest.raises(se.InvalidInputError) as refused:
        accumulator.copy().update(batch)
    groups = [se.Sliced(accumulator, "key"), se.Clustered(accumulator, by="key")]
    if name != "labels that are missing":
        groups.append(se.Windowed(accumulator, pane=1, time="key"))
    for group in groups:
        with pytest.raises(se.InvalidInputError) as raised:
            group.update(batch | KEYS)
        assert str(raised.value) == str(refused.value), group
        assert group == group.copy().reset(), group


def test_number_that_is_no_array_is_refused_by_groups() -> None:
    slices = se.Sliced(se.MeanAccumulator(), "key")
    with pytest.raises(se.InvalidInputError, match=r"`value` must have shape \(n,\), got a scalar"):
        slices.update({"value": 0.5, "key": []})
    assert slices.n == 0


def test_predictions_that_are_no_array_are_refused_beside_missing_labels() -> None:
    panes = se.Windowed(se.ConfusionAccumulator(2), pane=1, time="key")
    with pytest.raises(se.InvalidInputError, match="`y_pred` must have 3 rows, got a scalar"):
        panes.update({"y_true": [0, None, 1], "y_pred": 1} | KEYS)


def test_labels_of_pandas_arrays_may_be_missing_in_panes() -> None:
    truth = pd.array(["a", None, "b"])
    panes = se.Windowed(se.PRCurveSketch(pos_label="a"), pane=1, time="key")
    panes.update({"y_true": truth, "y_score": [0.1, 0.2, 0.3]} | KEYS)
    assert panes.n == 2
    assert [span.n_rows for span in panes.view().spans()] == [1, 1, 1]


@each("values", [["a", "a", 2.5], ["a", "a", ["b"]]])
def test_value_that_is_no_key_is_refused_by_its_row_in_any_column(values: list[Any]) -> None:
    for column in (values, pd.Series(values, dtype=object)):
        slices = se.Sliced(se.ConfusionAccumulator(2), "key")
        with pytest.raises(se.InvalidInputError, match=r"`key` must .* at position 2"):
            slices.update(LABELS | {"key": column})
