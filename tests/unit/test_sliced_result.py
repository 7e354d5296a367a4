"""Searches over slices: the worst, the gap, the order, and intervals that hold for all."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from offenders import each

import streameval as se
from streameval.results.collection import CollectionResult
from streameval.results.sliced import SliceResults

ROWS = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.integers(0, 1), st.integers(0, 1)),
    min_size=1,
    max_size=60,
)


def sliced(rows: list[tuple[str, int, int]], **options: Any) -> Any:
    groups, truth, predicted = zip(*rows, strict=True)
    batch = {"g": list(groups), "y_true": list(truth), "y_pred": list(predicted)}
    return se.Sliced(se.ConfusionAccumulator(), "g", **options).update(batch).compute()


def accuracies(rows: list[tuple[str, int, int]]) -> dict[str, float]:
    hits: dict[str, list[bool]] = {}
    for group, truth, predicted in rows:
        hits.setdefault(group, []).append(truth == predicted)
    return {group: float(np.mean(own)) for group, own in sorted(hits.items())}


@given(rows=ROWS, k=st.integers(1, 7), min_n=st.integers(0, 12))
def test_worst_slices_are_those_of_the_rows(
    rows: list[tuple[str, int, int]], k: int, min_n: int
) -> None:
    sizes = {group: sum(row[0] == group for row in rows) for group in "abcdef"}
    known = {group: one for group, one in accuracies(rows).items() if sizes[group] >= min_n}
    worst = sliced(rows).worst("accuracy", k, min_n)
    assert [group for group, _ in worst] == sorted(known, key=lambda one: known[one])[:k]
    assert [number for _, number in worst] == pytest.approx(sorted(known.values())[:k])


def test_an_argument_that_is_out_of_range_is_refused_although_every_slice_refuses_it() -> None:
    batch = {"y_true": [0, 1], "y_score": [0.25, 0.5], "g": ["a", "b"]}
    result = se.Sliced(se.PRCurveSketch(), "g").update(batch).compute()
    with pytest.raises(se.InvalidInputError, match=r"must lie in \[2\*\*-1000, 1\], got 7"):
        result.worst("partial_roc_auc(7)")


@given(rows=ROWS)
def test_gap_is_that_of_the_extreme_slices(rows: list[tuple[str, int, int]]) -> None:
    known = accuracies(rows).values()
    result = sliced(rows)
    assert result.gap("accuracy") == pytest.approx(max(known) - min(known))
    ratio = min(known) / max(known) if max(known) else math.nan
    assert result.gap("accuracy", "ratio") == pytest.approx(ratio, nan_ok=True)
    low, high = result.gap_interval("accuracy")
    assert 0.0 <= low <= result.gap("accuracy") <= high
    low, high = result.gap_interval("accuracy", "ratio")
    assert low <= (0.0 if math.isnan(ratio) else ratio) or math.isnan(ratio)
    assert low <= high <= 1.0


def test_metrics_that_are_better_lower_have_their_worst_on_top() -> None:
    batch = {"g": list("aabb"), "y_true": [1.0, 2.0, 1.0, 2.0], "y_pred": [1.0, 2.0, 3.0, 2.0]}
    result = se.Sliced(se.RegressionAccumulator(), "g").update(batch).compute()
    assert result.worst("rmse") == [("b", math.sqrt(2))]
    assert list(result.sorted_by("rmse")) == ["b", "a"]
    with pytest.raises(se.InvalidInputError, match=r"^`metric` must have a better direction.*bias"):
        result.worst("bias")
    assert list(result.sorted_by("bias")) == ["a", "b"]


def test_order_of_slices_has_undefined_ones_last_and_small_ones_left_out() -> None:
    batch = {"g": list("aaabbccd"), "y_true": [0, 1, 1, 0, 1, 1, 1, 0]}
    scores = [0.1, 0.9, 0.8, 0.9, 0.1, 0.5, 0.6, 0.3]
    result = se.Sliced(se.PRCurveSketch(), "g").update(batch | {"y_score": scores}).compute()
    assert list(result.sorted_by("roc_auc")) == ["b", "a", "c", "d"]
    assert list(result.sorted_by("roc_auc", min_n=2)) == ["b", "a", "c"]
    assert result.worst("roc_auc", 9) == [("b", 0.0), ("a", 1.0)]
    assert result.worst("roc_auc", min_n=3) == [("a", 1.0)]
    assert set(result.intervals("roc_auc", min_n=3)) <= {"a"}


def test_gap_of_certified_metrics_contains_that_of_all_rows() -> None:
    random = np.random.default_rng(3)
    n = 4000
    y = random.integers(0, 2, n)
    batch = {"g": random.integers(0, 5, n), "y_true": y, "y_score": random.random(n) / 2 + y / 9}
    coarse, exact = (
        se.Sliced(se.PRCurveSketch(budget), "g").update(batch).compute() for budget in (6, None)
    )
    for kind in ("difference", "ratio"):
        bounded = coarse.gap("roc_auc", kind)
        assert isinstance(bounded, se.Bounded)
        assert not bounded.exact
        assert bounded.low <= exact.gap("roc_auc", kind) <= bounded.high


def test_intervals_of_all_slices_are_wider_than_that_of_one() -> None:
    rows = [("ab"[at % 2], 1, int(at % 5 > 0)) for at in range(200)]
    result = sliced(rows)
    found = result.intervals("accuracy", level=0.9)
    assert found == {one: result[one].read("accuracy", level=0.95).sampling for one in "ab"}
    assert result.intervals("accuracy", level=0.0, min_n=101) == {}
    assert result.gap_interval("accuracy", level=0.9, min_n=101) == pytest.approx(
        (math.nan, math.nan), nan_ok=True
    )


def test_slices_of_a_collection_are_searched_by_member() -> None:
    members = {"cm": se.ConfusionAccumulator(), "curve": se.PRCurveSketch()}
    collection = se.Collection(members, columns={"curve": {"y_score": "p"}})
    batch = {"g": list("aabb"), "y_true": [0, 1, 0, 1], "y_pred": [0, 1, 1, 1]}
    made = se.Sliced(collection, "g").update(batch | {"p": [0.1, 0.2, 0.4, 0.3]})
    result = made.compute()
    assert result.worst("cm/accuracy") == [("b", 0.5)]
    assert result.worst("curve/roc_auc", 2) == [("b", 0.0), ("a", 1.0)]
    assert result.gap("curve/roc_auc") == 1.0


def test_rows_without_a_slice_take_no_part() -> None:
    rows = [("a", 1, 1), ("b", 1, 0), ("c", 1, 0)]
    result = sliced(rows, values=["a"], max_values=1)
    assert result.worst("accuracy", 5) == [("a", 1.0)]
    assert result.gap("accuracy") == 0.0
    assert result.other.accuracy == 0.0


def test_no_slices_have_no_gap_and_unknown_metrics_are_refused() -> None:
    result = se.Sliced(se.ConfusionAccumulator(), "g").compute()
    assert result.worst("accuracy") == []
    assert math.isnan(result.gap("accuracy"))
    assert list(result.sorted_by("accuracy")) == []
    for search in (result.worst, result.gap, result.sorted_by, result.intervals):
        with pytest.raises(se.InvalidInputError, match="no metric 'acuracy'"):
            search("acuracy")
    with pytest.raises(se.InvalidInputError, match=r"^`kind` must be"):
        result.gap("accuracy", "quotient")
    with pytest.raises(se.InvalidInputError, match=r"^`k` must be"):
        result.worst("accuracy", 0)
    with pytest.raises(se.InvalidInputError, match=r"^`min_n` must be"):
        result.worst("accuracy", min_n="many")
    with pytest.raises(se.InvalidInputError, match=r"^`level` must lie"):
        result.intervals("accuracy", level=1.0)


def test_slices_are_computed_when_they_are_read_and_only_once() -> None:
    asked: list[list[Any]] = []

    def compute(values: Any) -> list[str]:
        asked.append([*values])
        return [f"result of {value}" for value in values]

    lazy = SliceResults([*range(200)], compute)
    assert (len(lazy), 3 in lazy, asked) == (200, True, [])
    assert lazy[150] == "result of 150"
    assert lazy[151] == "result of 151"
    assert asked == [[150], [*range(151, 200)]]
    assert list(lazy)[:2] == [0, 1]
    assert lazy.complete() == {value: f"result of {value}" for value in range(200)}
    assert asked[2:] == [[*range(150)]]
    assert pickle.loads(pickle.dumps(lazy)) == lazy.complete()


def test_results_of_another_kind_cannot_be_searched() -> None:

    result = sliced([("a", 1, 1)])
    odd = type(result)((), (), result._config, {"a": 0.5}, 0.5, 0, False)
    with pytest.raises(se.InvalidInputError, match=r"^`metric` needs slices with a table"):
        odd.worst("accuracy")


def test_class_that_a_slice_never_saw_is_undefined_there() -> None:
    batch = {"g": list("aab"), "y_true": [0, 1, 2], "y_pred": [0, 1, 2]}
    result = se.Sliced(se.ConfusionAccumulator("auto"), "g").update(batch).compute()
    assert result.worst("recall[2]", 5) == [("b", 1.0)]
    assert list(result.sorted_by("recall[2]")) == ["b", "a"]
    assert list(result.sorted_by("recall[2]", min_n=2)) == ["a"]
    with pytest.raises(se.InvalidInputError, match="no class '3'"):
        result.worst("recall[3]")


def test_intervals_at_level_0_are_left_out() -> None:
    result = sliced([("a", 1, 1), ("b", 1, 0)])
    assert result.intervals("accuracy", level=0.0) == {}


def curves(member: bool) -> Any:
    numbers = np.arange(2000)
    batch = {"y_true": numbers % 3 % 2, "y_score": numbers % 7 / 7, "g": numbers % 200}
    sketch = se.PRCurveSketch()
    inner = se.Collection({"curve": sketch}) if member else sketch
    return se.Sliced(inner, "g", max_values=200).update(batch).compute()


@each("member", [False, True])
def test_slices_read_in_turn_are_prepared_as_those_before_and_equal_single_ones(
    member: bool,
) -> None:
    def curve_of(value: int) -> Any:
        return in_turn[value]["curve"] if member else in_turn[value]

    in_turn, alone = curves(member), curves(member)
    metric = "curve/roc_auc" if member else "roc_auc"
    found = [curve_of(value).read("roc_auc") for value in range(65)]
    assert curve_of(66)._table.areas  # with those of all slices that were computed with it
    found += [curve_of(value).read("roc_auc") for value in range(65, 200)]
    assert found == [alone[value].read(metric) for value in reversed(range(200))][::-1]


def test_results_without_a_table_are_not_prepared() -> None:
    single = CollectionResult(("a",), (0.5,))
    single._prepare([single, single])
    assert (*single.items(),) == (("a", 0.5),)
