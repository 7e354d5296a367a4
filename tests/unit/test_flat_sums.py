"""States of many groups are added, and rows counted, in columns as one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws.cases import LAWS
from offenders import each
from small_states import EVERY, ONCE
from unit.test_flat import LAWS_OF_SINGLE, SINGLE, flat_of, singles
from unit.test_hostile_bytes import fuzzed

import streameval as se
from streameval.accumulators.base import merged_alike
from streameval.accumulators.sealed import FlatLeaves, FlatSlices, Sealed, gathered, merged_all
from streameval.configs.inner import Inner
from streameval.exact.fixed_point import FixedPoint
from streameval.states import flat
from streameval.states.cells import Cells
from streameval.states.flat import FlatStates
from streameval.states.tables import joined_tables

RANDOM = np.random.default_rng(5)


def added(states: Sequence[Any], like: Any) -> Any:
    alike = [like._make(like._config, state) for state in states]
    return merged_alike(alike)._state


def check_sums(members: Sequence[Any], groups: Sequence[int]) -> None:
    """Compare the columns of the sums with those of the merged accumulators, byte for byte."""
    n_groups = max(groups) + 1
    columns = flat_of(members)
    sums = columns.summed(np.array(groups), n_groups, lambda states: added(states, members[0]))
    expected = [
        se.merge([one for one, group in zip(members, groups, strict=True) if group == number])
        for number in range(n_groups)
    ]
    assert list(sums) == [one._state for one in expected]
    assert sums.encode() == flat_of(expected).encode()


@pytest.mark.parametrize("name", [name for name in LAWS if name in LAWS_OF_SINGLE])
@given(data=st.data())
@fuzzed
def test_sums_of_groups_equal_merging_one_by_one(name: str, data: st.DataObject) -> None:
    case = data.draw(LAWS[name].cases)
    parts = data.draw(st.lists(st.integers(0, 5), min_size=case.size, max_size=case.size))
    made = [case.of(np.flatnonzero(np.array(parts, dtype=int) == part)) for part in range(6)]
    groups = [0, 1, *data.draw(st.lists(st.integers(0, 1), min_size=4, max_size=4))]
    for members in zip(*map(singles, made), strict=True):
        check_sums(members, data.draw(st.permutations(groups)))


@pytest.mark.slow
@each("name", [name for name in SINGLE if name not in ONCE])
def test_sums_of_some_groups_leave_the_others_as_they_are(name: str) -> None:
    made = EVERY[name]()
    empty = made.copy().reset()
    check_sums([made, empty, made], [2, 0, 1])
    if name != "open_queries":
        check_sums([made, empty, made, made, empty], [2, 0, 1, 2, 3])


def test_long_runs_of_states_are_added_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flat, "_SUMMED", 0)
    check_sums(sketches(14, 9, budget=4), [2, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 3, 2])


def sketches(n: int, rows: int, **options: Any) -> list[se.PRCurveSketch]:
    made = [se.PRCurveSketch(**options) for _ in range(n)]
    for sketch in made:
        shape = (rows, *([sketch._config.n_curves] if "classes" in options else []))
        size = int(RANDOM.integers(1, rows))
        truth = RANDOM.integers(0, max(2, sketch._config.n_curves), size)
        sketch.update(truth, RANDOM.random(shape)[:size])
    return made


@pytest.mark.slow
@each(
    ("n", "rows", "options"),
    [
        (400, 30, {"budget": 4}),  # levels of all heights
        (400, 300, {"budget": 1}),  # one cell takes all scores
        (300, 40, {"budget": None}),  # keys that leave no bits for their table
        (60, 2000, {"budget": 512}),  # more than a chunk
        (50, 60, {"budget": 9, "classes": 3}),
    ],
)
def test_sums_of_many_sketches_equal_merging_one_by_one(
    n: int, rows: int, options: dict[str, Any]
) -> None:
    check_sums(sketches(n, rows, **options), [*range(20), *RANDOM.integers(0, 20, n - 20).tolist()])


def test_a_score_in_many_states_is_one_cell() -> None:
    ones = [se.PRCurveSketch().update([1], [0.25]) for _ in range(9)]
    mixed = [se.PRCurveSketch().update([0, 1], [0.25, 0.5], sample_weight=[0.5, 2]) for _ in ones]
    check_sums([*ones, *mixed], [0] * 9 + [1] * 9)
    check_sums([*ones, *mixed], [0, 1] * 9)


def test_few_scores_in_three_states_are_one_cell_each() -> None:
    alone = RANDOM.random((3, 200))
    for budget in (None, 100):
        made = []
        for scores in alone:
            shared = np.concatenate([scores, [0.25, 0.5]])
            truth = np.append(scores > 0.5, [True, False])
            made.append(se.PRCurveSketch(budget).update(truth, shared))
        check_sums(made, [0, 0, 0])


def test_neighbouring_tables_with_one_score_stay_apart() -> None:
    """Keys that reach from end to end leave no bits for the number of their table."""
    wide = [-np.inf, -1.0, 1e-300, 2.0, np.inf]
    made = [
        se.PRCurveSketch(None, scores="real").update([1] * len(scores), scores)
        for scores in ([3.0], wide, [3.0], [np.inf], [np.inf], [3.0], wide)
    ]
    check_sums(made, [0, 1, 2, 3, 4, 5, 6 % 2])
    check_sums(made, [0, 0, 1, 1, 2, 2, 3])


def test_levels_of_all_heights_lie_side_by_side() -> None:
    wide = se.PRCurveSketch(1, scores="real").update([0, 1], [-np.inf, np.inf])
    narrow = se.PRCurveSketch(1, scores="real").update([0, 1], [1.0, 1.0])
    check_sums([wide, narrow, narrow, narrow], [0, 0, 1, 1])


def test_sums_refuse_other_negative_labels() -> None:
    made = [se.PRCurveSketch(pos_label="b").update(["b", label], [0.1, 0.2]) for label in "ac"]
    check_sums([made[0], made[0], made[1]], [0, 0, 1])
    with pytest.raises(se.IncompatibleStateError, match="negative label differs"):
        check_sums(made, [0, 0])


def test_sums_past_the_largest_number_are_refused() -> None:
    large = [
        se.ConfusionAccumulator().update([1], [1], sample_weight=np.array([2**62]))
        for _ in range(3)
    ]
    for groups in ([0, 0, 1], [0, 0, 0]):
        with pytest.raises(se.CountOverflowError):
            check_sums(large, groups)


def test_cells_of_a_table_without_any_are_none() -> None:
    sizes = np.array([0, 0], dtype=np.int64)
    levels, n_cells, cells = joined_tables(Cells.none(), sizes, sizes, np.array([1, 1]), 4)
    assert (levels.tolist(), n_cells.tolist(), len(cells)) == ([0, 0], [0, 0], 0)


def counted_alone(empty: Any, arrays: dict[str, Any], groups: Any, n: int) -> list[Any]:
    return [
        empty.copy().update(**{name: array[groups == at] for name, array in arrays.items()})
        for at in range(n)
    ]


ROWS = 300
TRUTH, SCORES = RANDOM.integers(0, 2, ROWS), RANDOM.random(ROWS)
WEIGHTS = RANDOM.integers(0, 4, ROWS)
CLASSES = RANDOM.random((ROWS, 3))
TEXTS = np.array(["a", "b"], dtype=object)[TRUTH]
TIED = np.round(CLASSES, 0)
MANY = {"y_true": TRUTH, "y_pred": TRUTH}

AT_ONCE: dict[str, tuple[Any, dict[str, Any]]] = {
    "labels": (se.ConfusionAccumulator(), MANY),
    "numbers": (se.RegressionAccumulator(), {"y_true": SCORES, "y_pred": TRUTH}),
    "probabilities": (se.CalibrationAccumulator(), {"y_true": TRUTH, "y_prob": SCORES}),
    "scores": (se.ConfusionAccumulator(), {"y_true": TRUTH, "y_pred": SCORES}),
    "weights": (se.ConfusionAccumulator(), MANY | {"sample_weight": WEIGHTS}),
    "columns": (se.ConfusionAccumulator(), {"y_true": TRUTH, "y_pred": SCORES[:, None]}),
    "classes": (se.ConfusionAccumulator(3), {"y_true": TRUTH, "y_pred": CLASSES}),
    "ties": (se.ConfusionAccumulator(3), {"y_true": TRUTH, "y_pred": TIED}),
    "top 2": (se.ConfusionAccumulator(3, top_k=2), {"y_true": TRUTH, "y_pred": TIED}),
    "weighted top 2": (
        se.ConfusionAccumulator(3, top_k=2),
        {"y_true": TRUTH, "y_pred": TIED, "sample_weight": WEIGHTS},
    ),
    "texts": (se.ConfusionAccumulator(["a", "b"]), {"y_true": TEXTS, "y_pred": SCORES}),
    "observed": (
        se.ConfusionAccumulator("auto"),
        {"y_true": TRUTH * 7 - 2, "y_pred": np.where(SCORES < 0.02, 2**40, TRUTH)},
    ),
    "observed texts": (
        se.ConfusionAccumulator("auto"),
        {"y_true": TEXTS, "y_pred": np.where(SCORES < 0.02, "0", TEXTS).astype(object)},
    ),
    "weighted observed": (
        se.ConfusionAccumulator("auto"),
        {"y_true": TRUTH, "y_pred": TRUTH + 1, "sample_weight": WEIGHTS + 1},
    ),
    "curve": (se.PRCurveSketch(16), {"y_true": TRUTH, "y_score": SCORES}),
    "weighted curve": (
        se.PRCurveSketch(16),
        {"y_true": TRUTH, "y_score": SCORES, "sample_weight": WEIGHTS + 1},
    ),
    "curves": (se.PRCurveSketch(8, classes=3), {"y_true": TRUTH, "y_score": CLASSES}),
    "real scores": (
        se.PRCurveSketch(8, scores="real"),
        {"y_true": TRUTH, "y_score": 9 * SCORES - 4},
    ),
}

ONE_BY_ONE: dict[str, tuple[Any, dict[str, Any]]] = {
    "observed masks": (
        se.ConfusionAccumulator("auto"),
        {"y_true": TRUTH.reshape(-1, 2, 1), "y_pred": TRUTH.reshape(-1, 2, 1)},
    ),
    "observed labels of fractions": (
        se.ConfusionAccumulator("auto"),
        MANY | {"sample_weight": SCORES},
    ),
    "many observed labels": (
        se.ConfusionAccumulator("auto"),
        {"y_true": np.arange(1000), "y_pred": np.arange(1000)},
    ),
    "too many observed labels": (
        se.ConfusionAccumulator("auto"),
        {"y_true": np.arange(5000), "y_pred": np.arange(5000)},
    ),
    "several labels": (
        se.ConfusionAccumulator(3, multilabel=True),
        {"y_true": CLASSES > 0.5, "y_pred": CLASSES},
    ),
    "ignored rows": (se.ConfusionAccumulator(ignore_label=0), MANY),
    "masks": (
        se.ConfusionAccumulator(),
        {"y_true": TRUTH.reshape(-1, 2, 1), "y_pred": TRUTH.reshape(-1, 2, 1)},
    ),
    "many cells": (se.ConfusionAccumulator(2**10), MANY),
    "best scores": (
        se.ConfusionAccumulator(3, top_k=2, measures="top_k"),
        {"y_true": TRUTH, "y_pred": TIED},
    ),
    "fractions": (se.ConfusionAccumulator(), MANY | {"sample_weight": SCORES}),
    "skipped rows": (
        se.PRCurveSketch(8, nan="skip"),
        {"y_true": TRUTH, "y_score": np.where(SCORES < 0.1, np.nan, SCORES)},
    ),
    "a negative label": (se.PRCurveSketch(8, pos_label="b"), {"y_true": TEXTS, "y_score": SCORES}),
    "fractions of a curve": (
        se.PRCurveSketch(8),
        {"y_true": TRUTH, "y_score": SCORES, "sample_weight": SCORES},
    ),
    "weights of numbers": (
        se.RegressionAccumulator(),
        {"y_true": SCORES, "y_pred": SCORES, "sample_weight": SCORES},
    ),
}


def counted_at_once(empty: Any, arrays: dict[str, Any], groups: Any, n_groups: int) -> Any:
    """Count the rows of all groups, if the class reads such rows and counts them at once."""
    loose = empty._loose_rows
    if loose is None or (rows := loose.read(empty._config, arrays)) is None:
        return None
    return loose.count_groups(empty._config, rows, groups, n_groups)


@each("name", AT_ONCE)
def test_rows_of_groups_counted_at_once_equal_each_counted_alone(name: str) -> None:
    empty, arrays = AT_ONCE[name]
    groups = np.append(np.arange(7), RANDOM.integers(0, 7, ROWS - 7))
    stacks = counted_at_once(empty, arrays, groups, 7)
    assert stacks is not None
    flat = FlatStates.of_stacks(empty._config, stacks, type(empty)._state_type(empty._config))
    alone = counted_alone(empty, arrays, groups, 7)
    assert list(flat) == [one._state for one in alone]
    assert flat.encode() == flat_of(alone).encode()


@each("name", ONE_BY_ONE)
def test_unusual_rows_are_left_to_each_group(name: str) -> None:
    empty, arrays = ONE_BY_ONE[name]
    groups = np.zeros(len(arrays["y_true"]), dtype=np.int64)
    assert counted_at_once(empty, arrays, groups, 8) is None


@pytest.mark.slow
@each("n_labels", [3, 1500])
@each("ignored", [None, 1])
def test_observed_labels_of_slices_are_those_of_each_alone(n_labels: int, ignored: Any) -> None:
    """With many labels, matrices of all groups would be too large: each is counted alone."""
    inner = se.ConfusionAccumulator("auto", ignore_label=ignored)
    size = max(900, 2 * n_labels)
    labels, weights = RANDOM.permutation(size) % n_labels, RANDOM.random(size) + 0.5
    values = np.arange(size) % 3
    for weighed in (None, np.ceil(weights).astype(int), weights):
        made = se.Sliced(inner, "c")
        made.update({"y_true": labels, "y_pred": labels[::-1], "c": values}, sample_weight=weighed)
        for value in range(3):
            own = values == value
            weight = None if weighed is None else weighed[own]
            alone = inner.copy().update(labels[own], labels[::-1][own], sample_weight=weight)
            assert made[value].to_bytes() == alone.to_bytes()


def sealed_all(inner: Inner, made: Sequence[Any]) -> list[Sealed]:
    if inner is inner.leaf:
        flat: Any = FlatLeaves.of(inner, made)
    else:
        flat = FlatSlices.concatenated([one._everything(one._held) for one in made])
    return [Sealed(flat, index) for index in range(len(made))]


def test_parts_of_several_columns_are_gathered_in_their_order() -> None:
    made = [se.ConfusionAccumulator().update([1] * n, [1] * n) for n in range(5)]
    inner = Inner(se.ConfusionAccumulator, made[0]._config)
    first, second = sealed_all(inner, made[:2]), sealed_all(inner, made[2:])
    parts = [second[1], second[2], first[0], second[0], first[1]]
    flat = gathered(inner, parts)
    assert [flat.part(at).n for at in range(5)] == [3, 4, 0, 2, 1]
    assert len(gathered(inner, [])) == 0
    assert gathered(inner, parts).all_rows().n == 10
    assert gathered(inner, []).all_rows().n == 0
    alone, both = [second[2]], [first[1], second[0]]
    assert [one.copy().n for one in merged_all(inner, [both, alone])] == [3, 4]
    assert merged_all(inner, [alone]) == alone


def test_totals_of_sealed_slices_are_those_of_all_rows() -> None:
    sliced = se.Sliced(se.ConfusionAccumulator(), "c", values=["z"], max_values=3)
    inner = Inner(se.Sliced, sliced._config)
    batches = [{"y_true": [1] * 9, "y_pred": [1] * 9, "c": list(text)} for text in TEXTS_OF_SLICES]
    made = [sliced.copy().update(batch) for batch in batches]
    sealed = sealed_all(inner, [*made, sliced.copy()])
    assert gathered(inner, sealed).all_rows() == se.merge(made).total()
    (both,) = merged_all(inner, [sealed])
    assert both.copy() == se.merge(made)
    assert both.copy().to_bytes() == se.merge(made).to_bytes()
    assert gathered(inner, [sealed[-1]]).all_rows().n == 0
    (empty,) = merged_all(inner, [[sealed[-1]] * 2])
    assert empty.copy() == sliced


TEXTS_OF_SLICES = ["abcdefghi", "zzzaaabbb", "aaaaaaaaa", "ihgfedcba"]


def test_numbers_at_an_index_are_their_units() -> None:
    numbers = FixedPoint.of_floats(np.array([1.5, 2.0, 0.25]), name="x")
    assert [numbers.units_at(at) for at in range(3)] == numbers.units()
    assert attrs.evolve(numbers, fraction=None).units_at(1) == 2


@each("budget", [3000, 2**14])
def test_long_tables_are_added_as_short_ones_are(budget: int) -> None:
    rows = RANDOM.random((4, 2**13))
    check_sums([se.PRCurveSketch(budget).update(row > 0.5, row) for row in rows], [1, 0, 1, 1])


def test_columns_equal_nothing_but_columns() -> None:
    sliced = EVERY["sliced"]()._state
    assert isinstance(sliced, FlatSlices)
    for columns in (sliced, sliced.leaves):
        assert columns != 1
        assert columns == columns  # noqa: PLR0124 - what is tested
