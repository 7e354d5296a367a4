"""Rows of scores: the fast path reads what the general one reads, or leaves the batch to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from offenders import each
from profiles import quick_cases

import streameval as se
from streameval.accumulators import curve, scored_rows
from streameval.accumulators.pending import BufferedState
from streameval.accumulators.scored_rows import _has_fast_path

OPTIONS: list[dict[str, Any]] = [
    {},
    {"scores": "real"},
    {"nan": "skip"},
    {"scores": "real", "nan": "skip"},
    {"pos_label": 1},
    {"classes": 2, "multilabel": True},
    {"budget": 2},
]
LABELS = ["?", "i1", "u1", ">i2", "u4", "i8", "u8", "f4", "O"]
SCORES = ["f2", "f4", ">f4", "f8", "g", "i8", "?"]
USUAL = [0.0, 2.0**-24, 0.25, 0.5, 0.75, 1.0]
UNUSUAL = [-0.0, -0.5, 1.5, np.nan, np.inf, -np.inf, -np.nan]


def outcome(options: dict[str, Any], y_true: Any, y_score: Any) -> Any:
    try:
        return se.PRCurveSketch(**options).update(y_true, y_score).to_bytes()
    except se.InvalidInputError as error:
        return str(error)


def general(options: dict[str, Any], y_true: Any, y_score: Any) -> Any:
    """Return the outcome of the general path alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scored_rows, "_has_fast_path", lambda *_: False)
        return outcome(options, y_true, y_score)


@given(
    options=st.sampled_from(OPTIONS),
    labels=st.sampled_from(LABELS),
    dtype=st.sampled_from(SCORES),
    scores=st.lists(st.sampled_from(USUAL), max_size=6),
    unusual=st.none() | st.sampled_from(UNUSUAL),
    limit=st.sampled_from([2, 2, 3]),
    columns=st.sampled_from([None, None, 1, 2]),
    step=st.sampled_from([1, 2, -1]),
    shift=st.sampled_from([0, 0, 1, -1]),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=quick_cases(1000))
def test_fast_and_general_path_agree(
    options: dict[str, Any],
    labels: str,
    dtype: str,
    scores: list[float],
    unusual: float | None,
    limit: int,
    columns: int | None,
    step: int,
    shift: int,
    seed: int,
) -> None:
    random = np.random.default_rng(seed)
    values = np.array(scores if unusual is None else [*scores, unusual])
    truth = random.integers(0, limit, max(len(values) + shift, 0)) - (seed % 7 == 0)
    with np.errstate(invalid="ignore"):
        y_score, y_true = values.astype(dtype)[::step], truth.astype(labels)[::step]
    if columns:
        y_score = np.repeat(y_score[:, None], columns, axis=1)
        y_true = np.repeat(y_true[:, None], columns, axis=1)
    assert outcome(options, y_true, y_score) == general(options, y_true, y_score)


@each("labels", ["?", "i1", "u1", "i2", "i4", "i8", "u8"])
@each("scores", ["f2", "f4", "f8"])
@each("scale", ["probability", "real"])
def test_the_usual_batches_has_fast_path(labels: str, scores: str, scale: Any) -> None:
    config = se.PRCurveSketch(scores=scale)._config
    y_true, y_score = np.array([0, 1, 1]).astype(labels), np.array([0, 0.25, 1]).astype(scores)
    assert _has_fast_path(y_true, y_score, config)
    assert _has_fast_path(y_true[::-2], y_score[::-2], config)


@each("score", [-0.0, -0.5, np.nextafter(1, 2), np.nan, -np.nan, np.inf, -np.inf])
@each("dtype", ["f4", "f8"])
def test_a_score_that_is_no_probability_is_not_plain(score: float, dtype: str) -> None:
    with np.errstate(over="ignore"):
        scores = np.array([0.5, score if dtype == "f8" else 1.5 * score, 0.5]).astype(dtype)
    assert not _has_fast_path(np.array([0, 1, 0]), scores, se.PRCurveSketch()._config)


@each("label", [-1, 2, 127, -128])
@each("dtype", ["i1", "i8"])
def test_a_label_other_than_0_and_1_is_not_plain(label: int, dtype: str) -> None:
    labels = np.array([0, label, 1]).astype(dtype)
    assert not _has_fast_path(labels, np.full(3, 0.5), se.PRCurveSketch()._config)


def test_what_was_read_is_no_view_of_the_batch() -> None:
    y_true, y_score = np.array([False, True]), np.array([0.25, 0.5])
    sketch = se.PRCurveSketch().update(y_true, y_score)
    before = sketch.to_bytes()
    y_true[:], y_score[:] = True, 1.0
    assert sketch.to_bytes() == before


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("_ENTRIES", 8), ("_MIN_ROWS", 8), ("_MAX_ENTRIES", 40)):
        monkeypatch.setattr(curve, name, size)


def updated_one_by_one(scores: list[float], budget: int | None) -> list[int]:
    """Return how many cells the state has while each score in turn is pending."""
    sketch, sizes = se.PRCurveSketch(budget), []
    for score in scores:
        sketch.update(np.array([0]), np.array([score]))
        sizes.append(len(sketch._held.state.lo))
    assert len(sketch._state.lo) == len(set(scores))
    return sizes


@pytest.mark.usefixtures("small_blocks")
def test_block_of_pending_rows_grows_with_the_cells() -> None:
    """Else an exact curve of n scores would take n / block passes over up to n cells."""
    for budget in (None, 10_000):
        sizes = updated_one_by_one([i / 2000 for i in range(2000)], budget)
        assert 3 < len(set(sizes)) < 12


@pytest.mark.usefixtures("small_blocks")
@each("budget", [None, 64])
def test_distinct_scores_are_pending_longer(budget: int | None) -> None:
    assert updated_one_by_one([i / 40 for i in range(40)], budget).count(0) == 40


@pytest.mark.usefixtures("small_blocks")
def test_distinct_scores_are_pending_up_to_twice_the_budget() -> None:
    sketch = se.PRCurveSketch(10)
    for i in range(20):
        assert sketch.update(np.array([0]), np.array([i / 40]))._held.used == i + 1
    assert len(sketch.update(np.array([0]), np.array([0.5]))._held.state.lo) == 9


@pytest.mark.usefixtures("small_blocks")
def test_scores_that_come_again_are_not_pending_longer() -> None:
    assert updated_one_by_one([i % 4 / 4 for i in range(40)], None).count(0) == 8


@pytest.mark.usefixtures("small_blocks")
@each(("n_rows", "waits"), [(7, True), (9, True), (40, True), (41, False)])
def test_a_large_batch_of_distinct_scores_is_pending_too(n_rows: int, waits: bool) -> None:
    scores = np.arange(n_rows) / n_rows
    sketch = se.PRCurveSketch(None).update(np.zeros(n_rows, dtype=int), scores)
    assert (sketch._held.used == n_rows) == waits
    sketch.update([1], [0.5], sample_weight=[0.5])
    assert sketch._held.used == (n_rows + 1 if n_rows < 10 else 1)
    assert sketch.n == n_rows + 0.5
    weighted = se.PRCurveSketch(None)
    weighted.update(np.zeros(n_rows, dtype=int), scores, sample_weight=np.full(n_rows, 2))
    assert (weighted._held.used == n_rows) == (n_rows == 7)


def test_rows_that_were_read_are_not_counted_again() -> None:
    sketch = se.PRCurveSketch(4).update([0, 1, 1], [0.25, 0.5, 0.75])
    assert sketch._state is sketch._state
    read = sketch._state
    sketch.update([0], [0.5])
    assert sketch._held.state is read
    assert sketch == se.PRCurveSketch(4).update([0, 1, 1, 0], [0.25, 0.5, 0.75, 0.5])


@pytest.mark.parametrize("budget", [None, 1, 65_536])
def test_a_reader_at_any_moment_of_an_update_takes_no_row_away(
    budget: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.array([0, 1, 1, 0]), np.array([0.1, 0.5, 0.6, 0.7])
    sketch = se.PRCurveSketch(budget).update(*rows).update(*rows)
    has_capacity_for = BufferedState.has_capacity_for

    def asked_while_read(buffered: BufferedState[Any], *asked: Any) -> bool:
        answer = has_capacity_for(buffered, *asked)
        sketch.to_bytes()
        return answer

    monkeypatch.setattr(BufferedState, "has_capacity_for", asked_while_read)
    sketch.update(*rows)
    assert sketch.n == 12
    assert (sketch + sketch).n == 24


def test_a_budget_bounds_what_reading_keeps() -> None:
    """Without one, the state may be many times as large as the pending rows."""
    for budget in (None, 4):
        sketch = se.PRCurveSketch(budget).update([0, 1], [0.25, 0.5])
        sketch.to_bytes()
        assert (sketch._held.counted is None) == (budget is None)


LITTLE = np.arange(100) // 4 / 25
TO_MERGE: dict[str, tuple[bool, dict[str, Any]]] = {
    "rows that wait": (True, {}),
    "rows that wait, with fractions": (True, {"weight": 0.25}),
    "cells of one score each": (True, {"read": True}),
    "cells of more rows than are few": (False, {"read": True, "weight": 50}),
    "cells with fractions": (False, {"read": True, "weight": 0.25}),
    "cells of several scores": (False, {"read": True, "budget": 10}),
}


@each("case", TO_MERGE)
@each("classes", [None, 2])
def test_little_is_merged_as_rows(case: str, classes: int | None) -> None:
    waits, given = TO_MERGE[case]
    budget = given.get("budget", 65_536)
    scores = LITTLE if classes is None else np.stack([LITTLE, 1 - LITTLE], axis=1)
    weights = None if "weight" not in given else np.full(100, given["weight"])
    labels = np.arange(100) % 3 // 2
    other = se.PRCurveSketch(budget, classes=classes)
    other.update(labels, scores, sample_weight=weights)
    if "read" in given:
        other = se.from_bytes(other.to_bytes())
    mine = se.PRCurveSketch(budget, classes=classes).update(labels[:9], scores[:9] / 3)
    together = mine.copy().update(labels, scores, sample_weight=weights)
    before = other.to_bytes()
    joined = mine._joined(mine._held, other._held)
    assert (joined.used > 0) == waits
    assert mine + other == together
    assert other + mine == together
    assert other.to_bytes() == before


def test_what_was_left_out_and_labels_are_merged_with_rows() -> None:
    options = {"pos_label": "yes", "nan": "skip"}
    one, other, third = (se.PRCurveSketch(**options) for _ in range(3))
    one.update(["yes"], [0.5])
    other.update(["no", "yes", "no"], [0.25, np.nan, np.nan])
    third.update(["nay"], [0.25])
    assert (one + other).compute().n_skipped == 2
    assert se.from_bytes((one + other).to_bytes()) == one + other
    before = other.to_bytes(), one.to_bytes()
    with pytest.raises(se.IncompatibleStateError, match="the negative label differs"):
        other.merge(one, third)
    assert (other.to_bytes(), one.to_bytes()) == before


@pytest.mark.slow
@pytest.mark.usefixtures("small_blocks")
@each("budget", [None, 3])
@each("classes", [None, 2])
def test_a_result_stays_as_it_was_when_rows_come(budget: int | None, classes: int | None) -> None:
    random = np.random.default_rng(0)
    sketch = se.PRCurveSketch(budget, classes=classes)
    results: list[Any] = []
    for _ in range(30):
        scores = random.random((3, 2))
        sketch.update(random.integers(0, 2, 3), scores[:, 1] if classes is None else scores)
        results.append((sketch.compute(), sketch.copy().compute().as_dict()))
        np.testing.assert_equal(results[-1][0].as_dict(), results[-1][1])
    for result, numbers in results:
        np.testing.assert_equal(result.as_dict(), numbers)


def test_pending_rows_are_kept_as_wide_as_they_came() -> None:
    """One third of float32 is nearer to a third than to any float16, and so on up."""
    batches = [np.array([1 / 3]).astype(dtype) for dtype in ("f2", "f4", "f8", "f4", "f2")]
    sketch = se.PRCurveSketch()
    for scores in batches:
        sketch.update(np.array([1]), scores)
    together = np.concatenate(batches)  # as float64
    assert sketch == se.PRCurveSketch().update(np.ones(5, dtype=int), together)
    assert len(sketch._state.lo) == 3


@each("scores", [[0.5, None, 0.25], np.array([0.5, np.nan, 0.25], object)])
def test_a_missing_score_is_skipped_where_nan_is(scores: Any) -> None:
    sketch = se.PRCurveSketch(nan="skip").update([1, 1, 0], scores)
    assert sketch == se.PRCurveSketch(nan="skip").update([1, 1, 0], [0.5, np.nan, 0.25])
    with pytest.raises(se.InvalidInputError, match="`y_score` must not hold missing values"):
        se.PRCurveSketch().update([1, 1, 0], scores)


PAIRS = [[0.25, 0.75], [0.625, 0.375], [1.0, 0.0]]


@each("dtype", ["f4", "f8", "O"])
def test_second_of_two_columns_is_the_score(dtype: str) -> None:
    pairs = np.array(PAIRS, dtype=dtype)
    for made in (se.PRCurveSketch(), se.PRCurveSketch(pos_label=1), se.PRCurveSketch(nan="skip")):
        one = made.copy().update([1, 0, 0], pairs[:, 1])
        assert made.update([1, 0, 0], pairs) == one


def test_difference_of_two_real_scores_is_the_score() -> None:
    pairs = np.array([[-3.0, 2.0], [1.0, 0.5], [-np.inf, 0.0]])
    acc = se.PRCurveSketch(scores="real").update([1, 0, 1], pairs)
    assert acc == se.PRCurveSketch(scores="real").update([1, 0, 1], [5.0, -0.5, np.inf])


@each("scores", ["probability", "real"])
@each("gap", [[np.nan, 0.5], [0.5, np.nan], [np.nan, np.nan]])
def test_row_that_lacks_one_of_two_scores_is_skipped(scores: Any, gap: list[float]) -> None:
    acc = se.PRCurveSketch(scores=scores, nan="skip").update([1, 0], [gap, [0.75, 0.25]])
    assert (acc.n, acc.compute().n_skipped) == (1, 1)
    with pytest.raises(se.InvalidInputError, match="must not hold NaN"):
        se.PRCurveSketch(scores=scores).update([1, 0], [gap, [0.75, 0.25]])


def test_no_rows_of_two_columns_are_counted() -> None:
    assert se.PRCurveSketch().update(np.zeros(0), np.zeros((0, 2))).n == 0
    assert se.PRCurveSketch(scores="real").update(np.zeros(0), np.zeros((0, 2))).n == 0


SCORES_OF_9 = np.arange(9) / 8
OF_SLICES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {"y_true": np.arange(9) % 2, "sample_weight": np.arange(9) / 2}),
    ({"pos_label": "yes"}, {"y_true": np.where(np.arange(9) % 3, "yes", "no")}),
    ({"nan": "skip"}, {"y_score": np.where(np.arange(9) == 4, np.nan, SCORES_OF_9)}),
    ({"ignore_label": -1}, {"y_true": np.arange(9) % 3 - 1}),
    (
        {"classes": 3, "multilabel": True, "ignore_label": -1},
        {
            "y_true": np.arange(27).reshape(9, 3) // 2 % 3 - 1,
            "y_score": np.arange(27).reshape(9, 3) / 27,
        },
    ),
    (
        {"classes": 3, "multilabel": True},
        {
            "y_true": np.arange(27).reshape(9, 3) % 2,
            "y_score": np.arange(27).reshape(9, 3) / 27,
            "sample_weight": np.arange(27).reshape(9, 3) % 4 + 1,
        },
    ),
]


@each(("options", "given"), OF_SLICES)
def test_slices_are_counted_as_they_are_alone(
    options: dict[str, Any], given: dict[str, Any]
) -> None:
    arrays = {"y_true": np.ones(9, dtype=int), "y_score": SCORES_OF_9} | given
    sliced = se.Sliced(se.PRCurveSketch(**options), "group")
    sliced.update({"group": np.arange(9) % 2} | arrays)
    for group in range(2):
        own = {name: array[group::2] for name, array in arrays.items()}
        assert sliced[group] == se.PRCurveSketch(**options).update(**own)


def test_truth_that_is_none_is_missing() -> None:
    with pytest.raises(se.InvalidInputError, match=r"^`y_true` is missing\.$"):
        se.PRCurveSketch().update(None, [0.5])
