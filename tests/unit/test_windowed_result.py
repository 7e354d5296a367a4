"""The result of `Windowed.over_time`: panes as an axis."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from offenders import each
from small_states import EVERY
from win_rate import WinRate

import streameval as se

BATCH = {"y_true": [1, 1, 0, 1], "y_pred": [1, 0, 0, 0], "step": [3, 8, 11, 25]}


def counted(inner: Any = None, **options: Any) -> se.Windowed:
    held = se.ConfusionAccumulator() if inner is None else inner
    return se.Windowed(held, pane=10, time="step", **options).update(BATCH)


def test_result_maps_each_start_to_the_result_of_its_pane() -> None:
    w = counted()
    result = w.over_time()
    assert dict(result) == {start: part.compute() for start, _, part in w.panes()}
    assert list(result) == [0, 10, 20]
    assert 10 in result
    by_time = se.Windowed(se.ConfusionAccumulator(), pane="10s").update(
        {"y_true": [0], "y_pred": [0], "time": ["2026-01-01T00:00:00Z"]}
    )
    assert "2026-01-01" in by_time.over_time()
    assert all(absent not in by_time.over_time() for absent in ("2025-01-01", "x", None))
    for absent in (5, 30, "x", None):
        with pytest.raises(KeyError, match=f"no pane with rows starts at {absent!r}"):
            result[absent]


def test_starts_are_any_form_of_a_time() -> None:
    batch = {"y_true": [1, 0], "y_pred": [1, 1], "time": [0, 60]}
    w = se.Windowed(se.ConfusionAccumulator(), pane="1m", unit="s").update(batch)
    result = w.over_time()
    assert result["1970-01-01T00:01"].accuracy == 0.0
    assert result[np.datetime64("1970-01-01T00:00")].accuracy == 1.0
    assert result.as_dict()["time=1970-01-01T00:00:00/accuracy"] == 1.0


@each("width", [20, 40])
def test_windows_equal_those_of_the_accumulator(width: int) -> None:
    w = counted()
    found = {pane.end: pane.result for pane in w.over_time(width).panes}
    every = {end: part.compute() for end, part in w.windows(width) if part.n}
    assert found == every


def test_rows_before_all_panes_are_named() -> None:
    result = counted(keep=10).over_time()
    assert result.before is not None
    assert result.before.n_rows == 3
    assert result.as_dict()["before/accuracy"] == result.before.result.accuracy
    assert result.table()["start"] == [None, 20]
    assert str(result).splitlines()[2].startswith("(before)")
    assert repr(result).startswith("WindowedResult({'before': Confusion(")
    assert repr(result.panes[0]).startswith("PaneResult(20, 30, Confusion(")


def test_rows_of_a_table_are_those_of_each_pane() -> None:
    result = counted().over_time()
    table = result.table()
    assert table["accuracy"] == [one.accuracy for one in result.values()]
    assert (table["end"], table["n_rows"]) == ([10, 20, 30], [2, 1, 1])
    by_class = result.table("class")
    assert (by_class["start"][:2], by_class["class"][:2]) == ([0, 0], [0, 1])


def test_slices_are_those_of_the_whole() -> None:
    inner = se.Sliced(se.ConfusionAccumulator(), "c", max_values=1)
    held = se.Windowed(inner, pane=10, time="step")
    w = held.update(BATCH | {"c": ["a", "b", "a", "b"]})
    (value,) = w.total()
    result = w.over_time()
    for pane, (_, _, part) in zip(result.panes, w.panes(), strict=True):
        assert pane.slices is not None
        assert set(pane.slices) <= {value}
        assert pane.result == part.total().compute()
        sizes = [one.n for one in pane.slices.values()]
        assert sum(sizes) + pane.slices.n_turned_away == part.n
    wanted = result.panes[0].slices.get(value)
    assert result.panes[0].read("accuracy", value=value) == wanted.read("accuracy")
    assert math.isnan(result.panes[0].read("accuracy", value="no such value").value)
    assert "(other)" in str(result)


def test_results_are_equal_and_pickled_by_what_they_hold() -> None:
    for name in ("windowed", "windowed_slices", "empty_windowed"):
        result = EVERY[name]().over_time()
        assert result == EVERY[name]().over_time()
        assert pickle.loads(pickle.dumps(result)) == result
    assert counted().over_time() != counted(keep=10).over_time()
    assert counted().over_time().panes[0] != 0


def test_a_metric_of_a_pane_without_labels_is_undefined() -> None:
    batch = {"y_true": [1, None], "y_pred": [1, 1], "step": [3, 11]}
    result = se.Windowed(se.ConfusionAccumulator(), pane=10, time="step").update(batch).over_time()
    labelled, other = result.panes
    assert labelled.read("accuracy").value == 1.0
    assert math.isnan(other.read("accuracy").value)
    assert math.isnan(labelled.read("recall[cat]").value)
    assert str(result).splitlines()[0].split()[:3] == ["start", "rows", "n"]


def test_only_the_newest_panes_have_a_line() -> None:
    steps = list(range(0, 700, 10))
    batch = {"y_true": [1] * 70, "y_pred": [1] * 70, "step": steps}
    w = se.Windowed(se.ConfusionAccumulator(), pane=10, time="step").update(batch)
    lines = str(w.over_time()).splitlines()
    assert (lines[2].split()[0], lines[-1]) == ("100", "and 10 earlier windows")


def test_results_of_user_defined_classes_are_listed() -> None:
    batch = {"preference": ["a", "b", "a"], "time": [1, 2, 11]}
    result = se.Windowed(WinRate(), pane=10).update(batch).over_time()
    assert result[10] == WinRate().update(["a"]).compute()
    assert str(result).startswith("time=0\n  ")
    assert result.table() == {}
