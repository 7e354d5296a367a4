"""What slices, panes and their results do where it rarely matters."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from offenders import each

import streameval as se
from streameval.accumulators.sealed import _read_text
from streameval.cli.states.explain import _about
from streameval.io.streams import is_read_once
from streameval.results.collection import read_or_nan


def sliced() -> se.Sliced:
    rows = {"y_true": [1, 0, 1], "y_pred": [1, 1, 1], "c": ["a", "b", "a"]}
    return se.Sliced(se.ConfusionAccumulator(), "c").update(rows)


@each("text", ["{", "[" * 100_000, ""])
def test_value_of_a_slice_that_is_no_json_is_corrupt(text: str) -> None:
    with pytest.raises(se.CorruptStateError, match="a value is not JSON"):
        _read_text(text, sliced()._config)


def test_file_that_is_absent_is_not_read_once(tmp_path: Path) -> None:
    assert not is_read_once(str(tmp_path / "absent"))


def test_metric_of_a_class_that_a_pane_has_not_observed_is_undefined() -> None:
    result = se.ConfusionAccumulator("auto").update(["a", "b", "c"], ["a", "b", "b"]).compute()
    assert math.isnan(read_or_nan(result, "recall[absent]", 0.95).value)


def test_share_of_a_class_before_any_label_is_empty() -> None:
    assert se.ConfusionAccumulator("auto").compute().statistic("recall[a]").is_empty


def test_explanation_of_slices_and_panes_explains_all_rows() -> None:
    windowed = se.Windowed(se.ConfusionAccumulator(), pane=10, time="t")
    windowed.update({"y_true": [1, 0], "y_pred": [1, 1], "t": [3, 14]})
    for accumulator in (sliced(), windowed):
        assert any("all rows" in line for line, _ in _about("state", accumulator))


def test_names_of_a_collection_are_those_of_its_members() -> None:
    result = se.Collection({"cm": se.ConfusionAccumulator()}).compute()
    assert "cm/accuracy" in result._names()
