"""What a confusion state counts: from labels, scores and weights, past any float, unwrapped."""

import itertools
import tracemalloc
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from offenders import each
from profiles import quick_cases

import streameval as se
from streameval.accumulators import decisions
from streameval.accumulators.best_scores import top_k_credit
from streameval.errors import CountOverflowError

LARGEST = 2**63 - 1

NO_ROWS_OF_SCORES = (
    "`y_pred` must have shape (n, 3) as scores, got (2,). "
    "Make the accumulator with from_scores=False if these are labels."
)
FLOATS_FOR_AUTO = (
    '`y_pred` holds floats, and classes="auto" takes labels. Make the accumulator with '
    "from_scores=False if these are labels, or list the classes in the order of the score columns."
)
NO_PRESENCE = (
    "`y_pred` must hold 0 and 1, got 5 at position (0, 1). "
    "Pass from_scores=True if these are scores."
)

KINDS: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "binary": ({}, [1], [1]),
    "scores": ({}, [1], [0.75]),
    "multiclass": ({"classes": 3}, [2], [2]),
    "top-k": ({"classes": 3, "top_k": 2}, [2], [[0.25, 0.25, 0.5]]),
    "strings": ({"classes": ["a", "b"]}, ["b"], ["b"]),
    "auto": ({"classes": "auto"}, [7], [7]),
    "multilabel": ({"classes": 2, "multilabel": True}, [[0, 1]], [[0, 1]]),
}
every_kind = each(("options", "y_true", "y_pred"), KINDS.values())

# without weights a batch may be read the short way, with them it never is
every_reading = each("one", [None, [1]])


def count(y_true: Any, y_pred: Any, sample_weight: Any = None, **options: Any) -> Any:
    acc = se.ConfusionAccumulator(**options).update(y_true, y_pred, sample_weight=sample_weight)
    return acc.compute()


def matrix(y_true: Any, y_pred: Any, sample_weight: Any = None, **options: Any) -> Any:
    return count(y_true, y_pred, sample_weight, **options).matrix.tolist()


def refused(y_true: Any, y_pred: Any, sample_weight: Any = None, **options: Any) -> str:
    acc = se.ConfusionAccumulator(**options)
    before = acc.to_bytes()
    with pytest.raises(se.InvalidInputError) as caught:
        acc.update(y_true, y_pred, sample_weight=sample_weight)
    assert acc.to_bytes() == before
    return str(caught.value)


def rows_of_one(y_true: Any, y_pred: Any, n: int) -> tuple[Any, Any]:
    return np.repeat(y_true, n, axis=0), np.repeat(y_pred, n, axis=0)


@every_kind
@each("state", [2**24, 2**53, 2**62])
def test_counts_go_on_from_a_built_state(
    options: Any, y_true: Any, y_pred: Any, state: int
) -> None:
    acc = se.ConfusionAccumulator(**options).update(y_true, y_pred, sample_weight=[state])
    for n in (1, 1, 3):
        acc.update(*rows_of_one(y_true, y_pred, n))

    counts = acc.compute().matrix
    assert (acc.n, counts.dtype, counts.max()) == (state + 5, np.int64, state + 5)


@every_kind
def test_counts_reach_the_largest_int64(options: Any, y_true: Any, y_pred: Any) -> None:
    acc = se.ConfusionAccumulator(**options).update(y_true, y_pred, sample_weight=[LARGEST - 1])
    acc.update(y_true, y_pred)
    assert (acc.n, acc.compute().matrix.max()) == (LARGEST, LARGEST)


@each("dtype", ["bool", "uint8", "int8", "uint64", "float16", "float32"])
def test_counts_do_not_depend_on_the_dtype_of_labels_or_weights(dtype: str) -> None:
    acc = se.ConfusionAccumulator(from_scores=False).update([1], [1], sample_weight=[2**53])
    ones = np.ones(300).astype(dtype)
    acc.update(ones, ones, sample_weight=ones)
    assert acc.n == 2**53 + 300


@every_kind
@each("weight", [1, 2**63 - 1, 0.5])
def test_update_past_the_largest_count_is_refused_and_nothing_counted(
    options: Any, y_true: Any, y_pred: Any, weight: float
) -> None:
    acc = se.ConfusionAccumulator(**options).update(y_true, y_pred, sample_weight=[LARGEST])
    if weight == 0.5:
        acc.update(y_true, y_pred, sample_weight=[0.5])  # still below 2**63
    before = acc.to_bytes()

    with pytest.raises(se.CountOverflowError, match=r"past 2\*\*63 - 1\.$"):
        acc.update(y_true, y_pred, sample_weight=[weight])
    assert acc.to_bytes() == before


@every_kind
def test_update_without_weights_past_the_largest_count_is_refused(
    options: Any, y_true: Any, y_pred: Any
) -> None:
    acc = se.ConfusionAccumulator(**options).update(y_true, y_pred, sample_weight=[LARGEST - 2])
    acc.update(y_true, y_pred).update(y_true, y_pred)
    before = acc.to_bytes()
    with pytest.raises(se.CountOverflowError):
        acc.update(y_true, y_pred)
    assert acc.to_bytes() == before


@every_kind
@each(
    "weights",
    [[2**62] * 4, [2**63 - 1, 2**63 - 1], [2**63 - 1, 1], [2.0**62, 2.0**62], [2**63], [2.0**63]],
)
def test_a_batch_past_the_largest_count_is_refused(
    options: Any, y_true: Any, y_pred: Any, weights: list[float]
) -> None:
    acc = se.ConfusionAccumulator(**options).update(y_true, y_pred)
    before = acc.to_bytes()
    with pytest.raises(se.CountOverflowError):
        acc.update(*rows_of_one(y_true, y_pred, len(weights)), sample_weight=weights)
    assert acc.to_bytes() == before


@every_kind
def test_a_merge_past_the_largest_count_is_refused_and_nothing_merged(
    options: Any, y_true: Any, y_pred: Any
) -> None:
    def counted(weight: int) -> Any:
        return se.ConfusionAccumulator(**options).update(y_true, y_pred, sample_weight=[weight])

    parts = [counted(LARGEST - 1), counted(1), counted(1)]  # the second fits, the third does not
    before = [part.to_bytes() for part in parts]
    with pytest.raises(se.CountOverflowError):
        parts[0].merge(*parts[1:])
    with pytest.raises(se.CountOverflowError):
        se.merge(parts)
    assert [part.to_bytes() for part in parts] == before


def test_merge_with_itself_past_the_largest_count_is_refused() -> None:
    acc = se.ConfusionAccumulator().update([1], [1], sample_weight=[2**62])
    before = acc.to_bytes()
    with pytest.raises(se.CountOverflowError):
        acc.merge(acc)
    assert acc.to_bytes() == before


@every_kind
def test_cells_that_fit_are_refused_when_their_total_does_not(
    options: Any, y_true: Any, y_pred: Any
) -> None:
    acc = se.ConfusionAccumulator(["x", "y"]).update(["x"], ["x"], sample_weight=[LARGEST])
    with pytest.raises(se.CountOverflowError):
        acc.update(["y"], ["x"])
    assert acc.compute().matrix.tolist() == [[LARGEST, 0], [0, 0]]


def test_whole_weights_of_any_dtype_give_an_integer_matrix() -> None:
    for weights in ([1, 2], [1.0, 2.0], np.array([1, 2], np.float16), np.array([1, 2], np.uint8)):
        result = count([1, 0], [1, 1], weights)
        assert (result.matrix.dtype, result.matrix.tolist()) == (np.int64, [[0, 2], [0, 1]])


@every_kind
def test_a_fraction_makes_the_matrix_float64_for_good(
    options: Any, y_true: Any, y_pred: Any
) -> None:
    acc = se.ConfusionAccumulator(**options).update(y_true, y_pred, sample_weight=[0.5])
    for n in (0.5, 1.0):
        assert (acc.n, acc.compute().matrix.dtype) == (n, np.float64)
        acc.update(y_true, y_pred, sample_weight=[0.5])


def test_fractions_add_up_exactly() -> None:
    tenth = 0.1
    acc = se.ConfusionAccumulator()
    for _ in range(10):
        acc.update([1] * 1000, [1] * 1000, sample_weight=[tenth] * 1000)
    assert acc.n == float(10_000 * Fraction(tenth))


@every_kind
def test_weight_two_is_the_row_twice(options: Any, y_true: Any, y_pred: Any) -> None:
    weighted = se.ConfusionAccumulator(**options).update(y_true, y_pred, sample_weight=[2])
    twice = se.ConfusionAccumulator(**options).update(*rows_of_one(y_true, y_pred, 2))
    assert weighted.to_bytes() == twice.to_bytes()


@every_kind
@each("zero", [0, 0.0, False, -0.0])
def test_weight_zero_leaves_no_trace(options: Any, y_true: Any, y_pred: Any, zero: Any) -> None:
    acc = se.ConfusionAccumulator(**options).update(y_true, y_pred, sample_weight=[zero])
    assert acc == se.ConfusionAccumulator(**options)


def test_labels_of_weight_zero_have_not_been_met() -> None:
    result = count([1, 2, 3, 1], [1, 4, 3, 5], [1, 0, 2.5, 0], classes="auto")
    assert (result.labels, result.matrix.tolist()) == ((1, 3), [[1.0, 0.0], [0.0, 2.5]])


@each(
    ("options", "y_true", "y_pred"),
    [
        ({}, [7], [1]),
        ({}, [1], [np.nan]),
        ({"classes": "auto"}, [0.5], [1]),
        ({"classes": 2, "multilabel": True}, [[0, 2]], [[0, 1]]),
    ],
)
def test_rows_of_weight_zero_are_not_looked_at(options: Any, y_true: Any, y_pred: Any) -> None:
    acc = se.ConfusionAccumulator(**options).update(y_true, y_pred, sample_weight=[0])
    assert acc == se.ConfusionAccumulator(**options)


def test_error_beside_rows_of_weight_zero_has_the_position_in_the_batch() -> None:
    acc = se.ConfusionAccumulator(2)
    with pytest.raises(se.InvalidInputError, match="got 7 at position 2") as refusal:
        acc.update([-1, 1, 7], [np.nan, 1, 0], sample_weight=[0, 1, 1])
    assert refusal.value.position == 2
    with pytest.raises(se.InvalidInputError, match=r"got 2 at position \(2, 1\)"):
        se.ConfusionAccumulator(2, multilabel=True).update(
            [[-1, 9], [0, 1], [0, 2]], [[5, 5], [0, 1], [0, 1]], sample_weight=[0, 1, 1]
        )
    assert acc.n == 0


@each(
    ("y_pred", "options", "expected"),
    [
        ([1, 0], {}, [[0, 1], [1, 0]]),
        ([True, False], {}, [[0, 1], [1, 0]]),
        ([0.9, 0.1], {}, [[0, 1], [1, 0]]),
        ([1.0, 0.0], {}, [[0, 1], [1, 0]]),
        ([1.0, 0.0], {"from_scores": False}, [[0, 1], [1, 0]]),
        ([9, -9], {"from_scores": True, "threshold": 3}, [[0, 1], [1, 0]]),
        ([1, 0], {"from_scores": True}, [[0, 1], [1, 0]]),
        ([1, 0], {"threshold": 1}, [[0, 1], [1, 0]]),
        ([1, 0], {"from_scores": False, "threshold": 3}, [[0, 1], [1, 0]]),
        ([1, 0], {"from_scores": True, "threshold": 3}, [[1, 0], [1, 0]]),
        ([1, 0], {"from_scores": True, "threshold": -1}, [[0, 1], [0, 1]]),
        ([1.0, 0.0], {"classes": 3, "from_scores": False}, [[0, 1, 0], [1, 0, 0], [0, 0, 0]]),
        ([[0, 5, 1], [9, 0, 0]], {"classes": 3, "from_scores": True}, "same"),
        ([[0, 0.5, 0.1], [0.9, 0, 0]], {"classes": 3}, "same"),
        ([[0, 0.5, 0.1], [0.9, 0, 0]], {"classes": 3, "top_k": 3}, "same"),
    ],
)
@each("weights", [None, [1, 1]])
def test_from_scores_settles_what_y_pred_holds(
    y_pred: Any, options: Any, expected: Any, weights: Any
) -> None:
    if expected == "same":
        expected = [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    assert matrix([0, 1], y_pred, weights, **options) == expected


@each(
    ("y_pred", "options"),
    [
        ([1, 0], {"threshold": 3}),
        ([1, 0], {"threshold": 0}),
        ([1, 0], {"threshold": -1.5}),
        ([True, False], {"threshold": 2}),
        ([[1, 0], [0, 1]], {}),
        ([[0, 1, 0], [1, 0, 0]], {"classes": 3}),
        (np.array([[0, 1, 0], [1, 0, 0]], np.uint8), {"classes": 3, "top_k": 2}),
        ([[False, True, False], [True, False, False]], {"classes": 3}),
    ],
)
def test_integers_that_could_be_labels_or_scores_are_refused(y_pred: Any, options: Any) -> None:
    assert refused([0, 1], y_pred, **options) == (
        f"`y_pred` holds integers of shape {np.shape(y_pred)}, which could be labels or scores. "
        "Pass from_scores=True or from_scores=False."
    )


@each(
    ("y_pred", "options", "message"),
    [
        (["a", "b"], {"from_scores": True}, "`y_pred` must hold scores, got strings."),
        (
            [0.5, 1],
            {"from_scores": False},
            "`y_pred` must hold labels, whole if numbers, got 0.5 at position 0.",
        ),
        (
            [0.5, 0.5],
            {"classes": 3},
            NO_ROWS_OF_SCORES,
        ),
        (
            [1, 2],
            {"classes": 3, "from_scores": True},
            NO_ROWS_OF_SCORES,
        ),
        (
            [[0.5, 0.5], [0.5, 0.5]],
            {"classes": 3},
            "`y_pred` must have shape (n, 3), got (2, 2). Pass classes=2 for 2 columns.",
        ),
        (
            [[[0.5]], [[0.5]]],
            {"classes": 3},
            "`y_pred` must have shape (n, 3), got (2, 1, 1).",
        ),
        (
            [[1, 0], [0, 1]],
            {"from_scores": False},
            "`y_pred` must have shape (n,), got (2, 2).",
        ),
        (
            [[0.5] * 3] * 2,
            {},
            "`y_pred` must have shape (n,), got (2, 3). classes=3 takes a score of each class.",
        ),
        (
            [1, 2],
            {"classes": 3, "top_k": 2},
            "`y_pred` must hold scores for top_k=2, got labels.",
        ),
        (
            [1.0, 2.0],
            {"classes": "auto"},
            FLOATS_FOR_AUTO,
        ),
    ],
)
def test_update_refuses_predictions(y_pred: Any, options: Any, message: str) -> None:
    assert refused([0, 1], y_pred, **options) == message


def test_auto_takes_whole_floats_when_told_that_they_are_labels() -> None:
    result = count([1.0, 2.0], [2.0, 2.0], classes="auto", from_scores=False)
    assert (result.labels, result.matrix.tolist()) == ((1, 2), [[0, 1], [0, 1]])


@each(
    ("options", "scores", "expected"),
    [
        ({}, [[0.25, 0.75], [0.625, 0.375], [0.5, 0.5]], [1, 0, 0]),
        ({}, [[-3, 2.5], [1, -np.inf], [7, 8]], [1, 0, 1]),
        ({"from_scores": True}, [[1, 2], [2, 1], [2, 2]], [1, 0, 0]),
        ({"pos_label": 0}, [[0.25, 0.75], [0.625, 0.375], [0.5, 0.5]], [1, 0, 0]),
        ({"threshold": 0.75}, [[0.25, 0.75], [0.375, 0.625], [1, 0]], [1, 0, 0]),
        ({"threshold": 0.75, "pos_label": 0}, [[0.75, 0.25], [0.375, 0.625], [1, 0]], [0, 1, 0]),
        ({"scores": "real", "threshold": 1}, [[1, 2], [1, 1.5], [-4, 9]], [1, 0, 1]),
        ({"scores": "probability"}, [[0.5, 0.5], [0.625, 0.375], [0, 1]], [0, 0, 1]),
    ],
)
def test_two_columns_are_scores_of_two_classes(
    options: Any, scores: Any, expected: list[int]
) -> None:
    acc = se.ConfusionAccumulator(**options).update([0, 1, 1], np.array(scores))
    labels = {name: value for name, value in options.items() if name == "pos_label"}
    same = se.ConfusionAccumulator(**labels).update([0, 1, 1], expected)
    assert acc.compute().matrix.tolist() == same.compute().matrix.tolist()


def test_ties_of_two_classes_have_no_credit_that_three_would_not_have() -> None:
    acc = se.ConfusionAccumulator().update([0, 1], np.array([[0.5, 0.5], [0.5, 0.5]]))
    assert acc == se.ConfusionAccumulator().update([0, 1], [0, 0])


ITEMS = np.random.default_rng(0).integers(0, 5, (4, 3, 2))
ITEM_SCORES = np.random.default_rng(1).integers(0, 6, (4, 3, 2, 5)) / 8  # with ties


@each("dimensions", [2, 3])
@each("form", ["labels", "last", "second", "lists", "column"])
@each("weighted", [False, True])
def test_labels_of_more_dimensions_are_counted_item_by_item(
    dimensions: int, form: str, weighted: bool
) -> None:
    truth, scores = (
        (ITEMS, ITEM_SCORES) if dimensions == 3 else (ITEMS[..., 0], ITEM_SCORES[:, :, 0])
    )
    top_k = 1 if form == "labels" else 2
    weights = np.arange(truth.size).reshape(truth.shape) % 3 if weighted else None
    given: Any = {
        "labels": scores.argmax(axis=-1),
        "last": scores,
        "second": np.moveaxis(scores, -1, 1),
        "lists": scores.tolist(),
        "column": scores.reshape(-1, 5),
    }[form]
    labels: Any = truth.tolist() if form == "lists" else truth
    if form == "column":
        labels = truth.reshape(-1, 1)
        weights = None if weights is None else weights.ravel()
    acc = se.ConfusionAccumulator(5, top_k=top_k).update(labels, given, sample_weight=weights)
    rows = scores.argmax(axis=-1).ravel() if form == "labels" else scores.reshape(-1, 5)
    of_rows = None if weights is None else weights.ravel()
    other = se.ConfusionAccumulator(5, top_k=top_k)
    assert acc == other.update(truth.ravel(), rows, sample_weight=of_rows)


def test_masks_of_two_classes_have_one_score_or_two() -> None:
    truth, scores = ITEMS % 2, ITEM_SCORES[..., 0]
    flat = se.ConfusionAccumulator().update(truth.ravel(), scores.ravel())
    assert se.ConfusionAccumulator().update(truth, scores) == flat
    assert se.ConfusionAccumulator().update(truth, scores[:, None]) == flat
    assert se.ConfusionAccumulator().update(truth, scores[..., None]) == flat
    both = np.stack([0.4375 - scores, scores - 0.4375], axis=1)  # no score of these is a tie
    assert se.ConfusionAccumulator().update(truth, both) == flat
    assert se.ConfusionAccumulator("auto").update(truth, truth).n == truth.size


def test_pairs_of_models_are_counted_item_by_item() -> None:
    truth, scores = ITEMS[..., 0], ITEM_SCORES[:, :, 0]
    weights = np.arange(truth.size).reshape(truth.shape) % 2
    items = se.Paired(5, measures=["f_score"])
    items.update(truth, scores, scores.argmax(axis=-1), sample_weight=weights)
    rows = se.Paired(5, measures=["f_score"])
    predicted = scores.argmax(axis=-1).ravel()
    rows.update(truth.ravel(), predicted, predicted, sample_weight=weights.ravel())
    assert items == rows
    two = np.array([[0.25, 0.75], [0.625, 0.375]])
    pair = se.Paired(measures=["roc_auc", "brier"]).update([1, 0], two, two[:, 1])
    assert pair == se.Paired(measures=["roc_auc", "brier"]).update([1, 0], two[:, 1], two[:, 1])


@every_reading
def test_a_score_at_the_threshold_is_positive(one: Any) -> None:
    below = np.nextafter(0.5, 0)
    assert matrix([1, 1, 0], [0.5, below, 0.5], one and one * 3) == [[0, 1], [1, 1]]


@every_reading
@each("threshold", [0.7, 1e-300, -2.5, 0.1 + 0.2])
def test_any_threshold_includes_itself(threshold: float, one: Any) -> None:
    scores = [threshold, np.nextafter(threshold, -np.inf), np.inf, -np.inf]
    counts = matrix([1, 1, 1, 1], scores, one and one * 4, threshold=threshold, scores="real")
    assert counts == [[0, 0], [2, 2]]


@every_reading
@each(
    ("dtype", "threshold", "positive"),
    [
        ("float32", 0.7, False),  # the nearest float32 is 0.699999988
        ("float32", 0.1, True),  # 0.100000001
        ("float16", 0.7, True),  # 0.7001953125
        ("float16", 0.1, False),  # 0.0999755859375
        ("float32", 0.5, True),
        ("longdouble", 0.7, True),
    ],
)
def test_scores_are_widened_before_they_meet_the_threshold(
    dtype: str, threshold: float, positive: bool, one: Any
) -> None:
    scores = np.array([threshold], dtype)
    expected = [[0, 0], [1 - positive, int(positive)]]
    assert matrix([1], scores, one, threshold=threshold) == expected


@each(
    ("classes", "pos_label", "tp", "recall"),
    [
        (["a", "b"], None, 1, 1 / 2),
        (["a", "b"], "b", 1, 1 / 2),
        (["a", "b"], "a", 2, 2 / 3),
        (["b", "a"], None, 2, 2 / 3),
        (["b", "a"], "b", 1, 1 / 2),
    ],
)
def test_pos_label_chooses_the_positive_class(
    classes: Any, pos_label: Any, tp: int, recall: float
) -> None:
    y_true, y_pred = ["a", "a", "a", "b", "b"], ["a", "a", "b", "b", "a"]
    result = count(y_true, y_pred, classes=classes, pos_label=pos_label)
    assert (result.tp, result.recall()) == (tp, recall)


@each(
    ("options", "expected"),
    [
        ({"classes": ["a", "b"]}, [[1, 1], [0, 1]]),
        ({"classes": ["a", "b"], "pos_label": "b"}, [[1, 1], [0, 1]]),
        ({"classes": ["a", "b"], "pos_label": "a"}, [[1, 1], [1, 0]]),
    ],
)
def test_a_high_score_means_pos_label(options: Any, expected: Any) -> None:
    assert matrix(["a", "a", "b"], [0.1, 0.9, 0.7], **options) == expected


@every_reading
@each(("pos_label", "expected"), [(1, [[1, 1], [0, 1]]), (0, [[1, 1], [1, 0]])])
def test_a_high_score_means_pos_label_of_a_number_of_classes(
    pos_label: int, expected: Any, one: Any
) -> None:
    counts = matrix([0, 0, 1], [0.1, 0.9, 0.7], one and one * 3, pos_label=pos_label)
    assert counts == expected


@each("pos_label", [0, False, 0.0, np.int8(0)])
def test_pos_label_zero_of_a_number_of_classes_is_a_label(pos_label: Any) -> None:
    result = count([0, 0, 1], [0.9, 0.2, 0.7], pos_label=pos_label)
    assert (result.tp, result.fn, result.fp, result.tn) == (1, 1, 1, 0)


@each("classes", [2, [0, 1], [1, 2], [-1, 1]])
def test_pos_label_is_the_second_class_by_default(classes: Any) -> None:
    second = 1 if classes == 2 else classes[1]
    assert count([second], [0.9], classes=classes).tp == 1


@each("k", [1, 2, 3, 4, 5])
@each("score", [0.2, 0.0, np.inf, -np.inf])
def test_a_constant_scorer_has_the_top_k_accuracy_of_chance(k: int, score: float) -> None:
    scores = np.full((7, 5), score)
    result = count([0, 1, 2, 3, 4, 0, 0], scores, classes=5, top_k=k)
    assert result.top_k_accuracy == pytest.approx(k / 5, rel=1e-15)


def credit_over_all_orders(scores: list[int], truth: int, k: int) -> Fraction:
    """The share of the orders of equal scores that bring the true class into the first k."""
    orders = [
        order
        for order in itertools.permutations(range(len(scores)))
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))
    ]
    return Fraction(sum(truth in order[:k] for order in orders), len(orders))


@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(0, 2), min_size=4, max_size=4),
            st.integers(0, 3),
            st.integers(0, 5),
        ),
        min_size=1,
        max_size=6,
    ),
    st.integers(1, 4),
)
@settings(max_examples=quick_cases(100))
def test_top_k_accuracy_is_the_mean_over_all_orders_of_ties(
    rows: list[tuple[list[int], int, int]], k: int
) -> None:
    scores, truth, weights = zip(*rows, strict=True)
    shares = [credit_over_all_orders(row, place, k) for row, place, _ in rows]
    result = count(truth, np.array(scores, float), weights, classes=4, top_k=k)
    if sum(weights):
        expected = sum(w * c for w, c in zip(weights, shares, strict=True)) / sum(weights)
        assert result.top_k_accuracy == pytest.approx(float(expected), rel=1e-14)
    else:
        assert np.isnan(result.top_k_accuracy)


@each(
    ("scores", "truth", "k", "within", "tied", "first"),
    [
        ([3, 2, 1], 0, 1, 1, 1, True),
        ([3, 2, 1], 1, 1, 0, 1, False),
        ([3, 2, 1], 1, 2, 1, 1, True),
        ([2, 2, 1], 0, 1, 1, 2, True),
        ([2, 2, 1], 1, 1, 1, 2, False),
        ([2, 2, 2], 1, 2, 2, 3, True),
        ([3, 2, 2], 2, 2, 1, 2, False),
        ([3, 2, 2], 2, 3, 2, 2, True),
        ([3, 2, 2], 2, 1, 0, 2, False),
    ],
)
@each("beside", [[], [[9, 9, 9]]])
def test_top_k_credit_counts_places_and_ties(
    scores: list[float],
    truth: int,
    k: int,
    within: int,
    tied: int,
    first: bool,
    beside: list[list[float]],
) -> None:
    rows = np.array([scores, *beside], float)
    code = int(top_k_credit(rows, np.full(len(rows), truth), k)[0])
    cells = [(0, 0), *((row + 1, column + 1) for row in range(3) for column in range(3))]
    full = (1, 1) if within == tied else (within, tied if within else 0)
    assert (cells[code // 2 + bool(code)], bool(code % 2)) == (full, first)


def test_the_first_of_equal_best_scores_is_the_prediction() -> None:
    assert matrix([2], [[0.1, 0.45, 0.45]], classes=3)[2] == [0, 1, 0]


@each(
    ("options", "y_true", "y_pred", "kept"),
    [
        ({"classes": 2, "ignore_label": -1}, [1, -1, 0], [1, 1, 1], [0, 2]),
        ({"classes": 2, "ignore_label": -1}, [1, -1, 0], [0.9, 0.9, 0.9], [0, 2]),
        ({"classes": 3, "ignore_label": 255}, [2, 255, 0], [1, 1, 0], [0, 2]),
        ({"classes": 3, "ignore_label": 0}, [2, 0, 1], [1, 1, 0], [0, 2]),
        ({"classes": 3, "ignore_label": 0, "top_k": 2}, [2, 0, 1], np.ones((3, 3)), [0, 2]),
        ({"classes": [5, 9], "ignore_label": -100}, [5, -100, 9], [9, 9, 9], [0, 2]),
        ({"classes": ["a", "b"], "ignore_label": "?"}, ["a", "?", "b"], ["b", "b", "b"], [0, 2]),
        ({"classes": "auto", "ignore_label": 3}, [1, 3, 2], [1, 8, 1], [0, 2]),
        ({"classes": "auto", "ignore_label": "?"}, ["a", "?", "b"], ["b", "x", "b"], [0, 2]),
        (
            {"classes": 2, "multilabel": True, "ignore_label": -1},
            [[0, 1], [-1, -1], [1, 1]],
            [[0, 1], [1, 1], [1, 0]],
            [0, 2],
        ),
    ],
)
@each("weights", [None, [1, 7, 2], [1, 0.5, 2], [0.5, 1, 0.25]])
def test_ignored_rows_leave_no_trace(
    options: Any, y_true: Any, y_pred: Any, kept: list[int], weights: Any
) -> None:
    y_true, y_pred = np.array(y_true), np.array(y_pred)
    weights = None if weights is None else np.array(weights)
    whole = se.ConfusionAccumulator(**options).update(y_true, y_pred, sample_weight=weights)
    rest = se.ConfusionAccumulator(**options).update(
        y_true[kept], y_pred[kept], sample_weight=None if weights is None else weights[kept]
    )
    assert whole.to_bytes() == rest.to_bytes()
    assert whole.n == (2 if weights is None else weights[kept].sum())


@every_kind
def test_a_batch_of_ignored_rows_changes_nothing(options: Any, y_true: Any, y_pred: Any) -> None:
    ignored = np.ravel(y_true)[-1].item()
    acc = se.ConfusionAccumulator(**options, ignore_label=ignored)
    empty = acc.to_bytes()
    if options.get("multilabel"):
        y_true = [[ignored, ignored]]
    acc.update(np.repeat(y_true, 3, axis=0), np.repeat(y_pred, 3, axis=0))
    assert acc.to_bytes() == empty


def test_ignored_entries_of_a_multilabel_row_do_not_count() -> None:
    y_true, y_pred = [[1, -1], [0, 1], [-1, -1], [-1, 0]], [[1, 1], [1, 1], [1, 1], [0, 1]]
    result = count(y_true, y_pred, classes=2, multilabel=True, ignore_label=-1)
    assert result.matrix.tolist() == [[[0, 1], [0, 1]], [[0, 1], [0, 1]]]
    assert (result.n, result.accuracy) == (3, pytest.approx(1 / 3))


def test_a_prediction_may_not_be_the_ignored_label() -> None:
    message = refused([-1, 1], [-1, 1], ignore_label=-1)
    assert message == (
        "`y_pred` must hold labels 0 to 1, got -1 at position 0. List the labels, as in "
        "classes=[-1, 1]."
    )


@each(
    ("y_true", "y_pred", "options", "message"),
    [
        ([[2, 0]], [[1, 0]], {}, "`y_true` must hold 0 and 1, got 2 at position (0, 0)."),
        ([[0, -1]], [[1, 0]], {}, "`y_true` must hold 0 and 1, got -1 at position (0, 1)."),
        (
            [[1, 0]],
            [[1, 5]],
            {},
            NO_PRESENCE,
        ),
        ([["a", "b"]], [[1, 0]], {}, "`y_true` must hold 0 and 1, got 'a' at position (0, 0)."),
        ([[0.5, 0]], [[1, 0]], {}, "`y_true` must hold labels, whole if numbers, got 0.5 at "),
        ([[1, 0]], [[1, np.nan]], {}, "`y_pred` must not hold NaN, got NaN at position (0, 1)."),
        ([1, 0], [1, 0], {}, "`y_true` must have shape (n, 2), got (2,)."),
        ([[1, 0]], [1, 0], {}, "`y_pred` must have shape (n, 2), got (2,)."),
        ([[1, 0, 1]], [[1, 0]], {}, "`y_true` must have shape (n, 2), got (1, 3)."),
        ([[1, 0]], [[1, 0], [0, 1]], {}, "`y_pred` must have 1 rows, got 2."),
        ([[-2, -1]], [[1, 0]], {"ignore_label": -1}, "`y_true` must hold 0 and 1, got -2 at "),
    ],
)
def test_update_refuses_multilabel(y_true: Any, y_pred: Any, options: Any, message: str) -> None:
    given_out = refused(y_true, y_pred, classes=2, multilabel=True, **options)
    assert given_out.startswith(message)


@each(
    ("y_pred", "options"),
    [
        ([[1, 0], [1, 1]], {}),
        ([[True, False], [True, True]], {}),
        ([[0.5, 0.4], [0.9, 0.5]], {}),
        ([[0.25, 0.2], [0.9, 0.3]], {"threshold": 0.25}),
        ([[1.0, 0.0], [1.0, 1.0]], {"from_scores": False}),
        ([[7, -7], [7, 7]], {"from_scores": True, "threshold": 7}),
    ],
)
def test_multilabel_takes_labels_and_scores(y_pred: Any, options: Any) -> None:
    result = count([[1, 0], [0, 1]], y_pred, classes=2, multilabel=True, **options)
    assert result.matrix.tolist() == [[[0, 1], [0, 1]], [[1, 0], [0, 1]]]


EMPTY: dict[str, tuple[dict[str, Any], list[tuple[Any, Any]]]] = {
    "binary": ({}, [([], []), (np.array([], int), np.array([], float)), ((), ())]),
    "multiclass": ({"classes": 3}, [([], []), ([], np.zeros((0, 3)))]),
    "strings": ({"classes": ["a", "b"]}, [([], []), (np.array([], str), np.array([], object))]),
    "auto": ({"classes": "auto"}, [([], []), (np.array([], str), np.array([], str))]),
    "multilabel": (
        {"classes": 2, "multilabel": True},
        [([], []), (np.zeros((0, 2)), np.zeros((0, 2)))],
    ),
}


@each(("options", "batches"), EMPTY.values())
@each("weights", [None, [], np.array([])])
def test_an_empty_batch_changes_nothing(options: Any, batches: Any, weights: Any) -> None:
    acc = se.ConfusionAccumulator(**options)
    before = acc.to_bytes()
    for y_true, y_pred in batches:
        assert acc.update(y_true, y_pred, sample_weight=weights) is acc
    assert acc.to_bytes() == before
    assert acc.n == 0


@each(
    ("options", "y_true", "y_pred", "weights", "message"),
    [
        ({}, [1, 0], [1], None, "`y_pred` must have 2 rows, got 1."),
        ({}, [1], [1, 0], None, "`y_pred` must have 1 rows, got 2."),
        ({}, [], [1], None, "`y_pred` must have 0 rows, got 1."),
        ({}, [1], [], None, "`y_pred` must have 1 rows, got 0."),
        ({}, [1, 0], [0.5], None, "`y_pred` must have 2 rows, got 1."),
        ({"classes": 3}, [1, 0], np.ones((3, 3)), None, "`y_pred` must have 2 rows, got 3."),
        ({"classes": "auto"}, [1, 0], [1], None, "`y_pred` must have 2 rows, got 1."),
        ({}, [1, 0], [1, 0], [1], "`sample_weight` must have 2 rows, got 1."),
        ({}, [], [], [1], "`sample_weight` must have 0 rows, got 1."),
        ({"classes": "auto"}, [1, 0], [1, 0], [1], "`sample_weight` must have 2 rows, got 1."),
    ],
)
def test_rows_that_do_not_match_are_refused(
    options: Any, y_true: Any, y_pred: Any, weights: Any, message: str
) -> None:
    assert refused(y_true, y_pred, weights, **options) == message


def test_weights_of_a_multilabel_batch_are_one_a_row_or_entry() -> None:
    options = {"classes": 2, "multilabel": True}
    message = refused([[1, 0]], [[1, 0]], [[[1, 1]]], **options)
    assert message == "`sample_weight` must have shape (n,), got (1, 1, 2)."
    nothing, acc = np.zeros((0, 2)), se.ConfusionAccumulator(2, multilabel=True)
    clustered = se.Clustered(acc, by="user")
    assert clustered.update(nothing, nothing, by=[], sample_weight=nothing).n == 0


def test_a_listed_order_is_the_order_of_rows_columns_and_scores() -> None:
    scores = [[0.9, 0.1, 0.0], [0.1, 0.2, 0.7]]
    result = count(["c", "b"], scores, classes=["c", "a", "b"])
    assert (result.labels, result.matrix.tolist()) == (
        ("c", "a", "b"),
        [[1, 0, 0], [0, 0, 0], [0, 0, 1]],
    )


def test_rows_are_truth_and_columns_prediction() -> None:
    assert matrix([0, 0, 1], [1, 1, 1]) == [[0, 2], [0, 1]]


def test_met_labels_merge_by_union() -> None:
    a = se.ConfusionAccumulator("auto").update([1, 3], [3, 3])
    result = (a + se.ConfusionAccumulator("auto").update([2], [1])).compute()
    assert (result.labels, result.matrix.tolist()) == (
        (1, 2, 3),
        [[0, 0, 1], [1, 0, 0], [0, 0, 1]],
    )


def test_a_result_does_not_change_with_later_updates() -> None:
    acc = se.ConfusionAccumulator().update([1], [1])
    result = acc.compute()
    acc.update([1], [1])
    assert (result.n, result.matrix.tolist()) == (1, [[0, 0], [0, 1]])


def test_options_that_say_the_same_are_equal() -> None:
    spelled = se.ConfusionAccumulator(
        range(2),
        threshold=np.float32(0.5),
        pos_label=True,
        top_k=np.int8(1),
        include_unseen=np.False_,
    )
    assert spelled.to_bytes() == se.ConfusionAccumulator().to_bytes()


def test_a_negative_zero_threshold_is_zero() -> None:
    negative, zero = se.ConfusionAccumulator(threshold=-0.0), se.ConfusionAccumulator(threshold=0.0)
    assert negative.to_bytes() == zero.to_bytes()


@each("threshold", ["0.5", b"0.5", None, 1j, [], np.nan, np.inf, 10**400])
def test_a_threshold_that_is_no_finite_number_is_refused(threshold: Any) -> None:
    with pytest.raises(se.InvalidInputError, match=r"^`threshold` must be a (finite )?number, got"):
        se.ConfusionAccumulator(threshold=threshold)


def test_refused_labels_are_not_kept() -> None:
    accumulator = se.ConfusionAccumulator("auto").update([1], [1])
    for start in range(10, 80_000, 8_000):
        labels = np.arange(start, start + 8_000)
        with pytest.raises(se.InvalidInputError, match="4096"):
            accumulator.update(labels, labels)
    assert accumulator._held.block.dictionary is None
    assert accumulator == se.ConfusionAccumulator("auto").update([1], [1])


LARGE = np.zeros(20_000, dtype=np.int64)  # more than may be pending


@each("options", [{"classes": 3}, {"classes": 4, "multilabel": True}])
def test_a_large_weighted_batch_counts_as_its_parts_do(options: dict[str, Any]) -> None:
    draw = np.random.default_rng(3)
    shape = (40_000, 4) if "multilabel" in options else (40_000,)
    truth, prediction = draw.integers(0, 2, (2, *shape))
    weights = draw.random(len(truth)) + 0.25
    whole = se.ConfusionAccumulator(**options).update(truth, prediction, sample_weight=weights)
    parts = se.ConfusionAccumulator(**options)
    for start in range(0, len(truth), 333):
        part = slice(start, start + 333)
        parts.update(truth[part], prediction[part], sample_weight=weights[part])
    assert whole == parts
    assert whole.to_bytes() == parts.to_bytes()


@each(
    ("truth", "weights"),
    [(0, 1), (7, 1), (7, -1), (0, -1)],
)
def test_a_large_batch_is_refused_for_what_a_small_one_is(truth: int, weights: int) -> None:
    def refusal(rows: int) -> str:
        labels, wrong = np.zeros(rows, dtype=np.int64), np.full(rows, truth)
        spare = weights > 0 and not truth
        return refused(wrong, labels, np.full(rows + spare, weights), classes=3)

    assert refusal(20_000) == refusal(2).replace("2 rows, got 3", "20000 rows, got 20001")


@each("weight", [2**50, 2.0**50])
def test_a_large_weighted_batch_past_the_limit_is_refused(weight: float) -> None:
    acc = se.ConfusionAccumulator(3).update([1], [1], sample_weight=[LARGEST - 2])
    with pytest.raises(CountOverflowError, match="past"):
        acc.update(LARGE, LARGE, sample_weight=np.full(len(LARGE), weight))
    assert acc.n == LARGEST - 2


def test_a_count_of_pending_rows_takes_one_matrix_more_than_the_state():
    size = 1000
    rows = np.arange(size)
    counted = se.ConfusionAccumulator(size).update(rows, rows).to_bytes()
    accumulator = se.ConfusionAccumulator.from_bytes(counted).update(rows, rows)
    tracemalloc.start()
    accumulator._state  # noqa: B018 - counted here
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.1 * 8 * size**2
    assert accumulator.compute().matrix.diagonal().tolist() == [2] * size


MANY = 512  # classes, whose matrix is large


def large_and_pending(seed: int, *, weights: Any = None, scores: bool = False) -> Any:
    """A matrix of many classes, and a few pending rows beside it."""
    random = np.random.default_rng(seed)
    acc = se.ConfusionAccumulator.from_matrix(random.integers(0, 5, (MANY, MANY)))
    prediction = random.integers(0, 3, (20, MANY)) / 2 if scores else random.integers(0, MANY, 20)
    return acc.update(random.integers(0, MANY, 20), prediction, sample_weight=weights)


@each(
    "parts",
    [
        [large_and_pending(0), large_and_pending(1)],
        [large_and_pending(0), large_and_pending(1, scores=True), large_and_pending(2)],
        [large_and_pending(0), large_and_pending(1, weights=[0.5] * 20), large_and_pending(2)],
        [large_and_pending(0), se.ConfusionAccumulator(MANY), se.ConfusionAccumulator(MANY)],
    ],
)
def test_merging_large_matrices_counts_pending_rows_and_changes_no_part(parts: list[Any]) -> None:
    counted = [se.from_bytes(part.to_bytes()) for part in parts]
    expected = sum(part.compute().matrix for part in counted)
    before = [part.copy() for part in parts]
    total = se.merge(parts)
    assert (total.compute().matrix == expected).all()
    assert total.to_bytes() == se.merge(counted).to_bytes()
    assert parts == before


def test_merging_two_large_matrices_takes_the_memory_of_the_sum_alone() -> None:
    one, other = large_and_pending(0), large_and_pending(1)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    one.merge(other)
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    assert peak < 1.2 * 8 * MANY**2


@pytest.fixture
def few_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let images of 4 by 5 pixels and 3 classes be counted two at a time."""
    monkeypatch.setattr(decisions, "_IMAGE_ENTRIES", 2 * 3 * 4 * 5)


def images(n_images: int = 5) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(0)
    labels = random.integers(0, 3, (n_images, 4, 5))
    return labels, random.integers(0, 9, (n_images, 3, 4, 5)) / 8, random.random(labels.shape)


@pytest.mark.usefixtures("few_pixels")
@each("form", ["none", "of images", "flat"])
def test_images_are_counted_as_their_pixels(form: str) -> None:
    labels, scores, weights = images()
    given = {"none": None, "of images": weights, "flat": weights.ravel()}[form]
    acc = se.ConfusionAccumulator(3, top_k=2).update(labels, scores, sample_weight=given)
    rows = labels.ravel(), np.moveaxis(scores, 1, -1).reshape(-1, 3)
    flat = None if given is None else given.ravel()
    assert acc == se.ConfusionAccumulator(3, top_k=2).update(*rows, sample_weight=flat)


@pytest.mark.usefixtures("few_pixels")
def test_a_mistake_in_a_late_image_counts_none_and_has_its_position() -> None:
    labels, scores, weights = images()
    acc = se.ConfusionAccumulator(3).update([0, 1], [2, 1])
    before = acc.to_bytes()
    labels[4, 1, 2] = 7
    with pytest.raises(se.InvalidInputError, match="got 7 at position 87"):
        acc.update(labels, scores)
    with pytest.raises(se.InvalidInputError, match="must have 100 rows, got 80"):
        acc.update(labels, scores, sample_weight=weights[1:].ravel())
    scores[0] = np.nan
    with pytest.raises(se.InvalidInputError, match="must not hold NaN"):
        acc.update(labels, scores)
    with pytest.raises(se.InvalidInputError, match="which could be labels or scores"):
        acc.update(labels, np.ones(scores.shape, dtype=int))
    assert acc.to_bytes() == before


def test_many_images_take_the_memory_of_a_few() -> None:
    random = np.random.default_rng(0)
    labels = random.integers(0, 21, (24, 64, 64))
    scores = random.random((24, 21, 64, 64), np.float32)
    acc = se.ConfusionAccumulator(21).update(labels[:1], scores[:1])
    tracemalloc.start()
    acc.update(labels, scores)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < scores.nbytes
