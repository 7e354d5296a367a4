"""Arrays of other shapes than (n,): which mean the same, and what the others may be meant for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from offenders import each

import streameval as se

TRUTH, DECIDED, SCORES = [0, 1, 1, 0], [0, 1, 0, 0], [0.1, 0.9, 0.4, 0.2]
PAIRS: dict[str, tuple[Any, list[Any]]] = {
    "labels": (se.ConfusionAccumulator, [TRUTH, DECIDED]),
    "labels of three classes": (lambda: se.ConfusionAccumulator(3), [TRUTH, DECIDED]),
    "observed labels": (lambda: se.ConfusionAccumulator("auto"), [TRUTH, DECIDED]),
    "texts": (lambda: se.ConfusionAccumulator(["a", "b"]), [["a", "b"], ["b", "b"]]),
    "scores": (se.ConfusionAccumulator, [TRUTH, SCORES]),
    "curve": (se.PRCurveSketch, [TRUTH, SCORES]),
    "calibration": (se.CalibrationAccumulator, [TRUTH, SCORES]),
    "regression": (se.RegressionAccumulator, [SCORES, SCORES[::-1]]),
    "groups": (se.GroupedAUC, [TRUTH, SCORES, [1, 1, 2, 2]]),
}


def columns(values: list[Any]) -> np.ndarray:
    return np.array(values, object if isinstance(values[0], str) else None)[:, None]


@each("weights", [None, [2, 0.5, 1, 0]])
@each("tall", ["truth", "prediction", "both"])
@each("name", PAIRS)
def test_arrays_of_one_column_are_vectors(name: str, tall: str, weights: Any) -> None:
    make, arrays = PAIRS[name]
    weights = weights and weights[: len(arrays[0])]
    expected = make().update(*arrays, sample_weight=weights)
    given = list(arrays)
    if tall != "prediction":
        given[0] = columns(arrays[0])
    if tall != "truth":
        given[1] = columns(arrays[1])
    assert make().update(*given, sample_weight=weights).to_bytes() == expected.to_bytes()


@pytest.mark.parametrize("make", [lambda: se.PRCurveSketch(classes=2)], ids=["curves"])
def test_truth_of_one_column_is_a_vector_beside_scores_of_classes(make: Any) -> None:
    scores = [[0.25, 0.75], [0.5, 0.5]]
    assert make().update([[1], [0]], scores) == make().update([1, 0], scores)


def test_truth_of_one_column_is_a_vector_beside_probabilities_of_classes() -> None:
    make, scores = se.CalibrationAccumulator, [[0.25, 0.75], [0.5, 0.5]]
    assert make(classes=2).update([[1], [0]], scores) == make(classes=2).update([1, 0], scores)


def test_a_column_is_no_vector_where_it_is_one_label_of_multilabel() -> None:
    result = se.ConfusionAccumulator(1, multilabel=True).update([[1], [0]], [[1], [1]]).compute()
    assert result.matrix.shape == (1, 2, 2)


@each("shape", [(2, 3, 4), (2, 1, 3, 4)])
@each("as_scores", [False, True])
def test_masks_count_item_by_item(shape: tuple[int, ...], as_scores: bool) -> None:
    random = np.random.default_rng(0)
    truth = random.integers(0, 2, shape)
    prediction = random.random(shape) if as_scores else random.integers(0, 2, shape)
    masks = se.ConfusionAccumulator().update(truth, prediction)
    assert masks == se.ConfusionAccumulator().update(truth.ravel(), prediction.ravel())
    assert masks.n == 24


def test_masks_of_several_classes_in_any_layout_count_item_by_item() -> None:
    truth = np.arange(24).reshape(2, 3, 4) % 3
    turned = np.asfortranarray(truth)
    assert se.ConfusionAccumulator(3).update(truth, turned).compute().accuracy == 1.0


def message(make: Any, *arrays: Any) -> str:
    with pytest.raises(se.InvalidInputError) as caught:
        make().update(*arrays)
    return str(caught.value)


def test_scores_of_masks_that_no_dimension_fits_are_refused() -> None:
    masks = np.zeros((2, 4, 4), int)
    assert message(lambda: se.ConfusionAccumulator(3), masks, np.zeros((2, 5, 4, 4))) == (
        "`y_pred` must hold a score of each of 3 classes in its last dimension or its second, got "
        "(2, 5, 4, 4)."
    )
    assert message(lambda: se.ConfusionAccumulator(3), masks, np.zeros((2, 4))) == (
        "`y_true` must have shape (n,), got (2, 4, 4). Pass `y_pred` of shape (2, 4, 4) too, or "
        "with one dimension more, last or second, for the scores of the classes."
    )


def test_texts_of_two_dimensions_are_no_one_hot_rows() -> None:
    tags = np.array([["B", "O"], ["O", "O"]])
    acc = se.ConfusionAccumulator(["B", "O"]).update(tags, tags)
    assert acc.compute().matrix.tolist() == [[1, 0], [0, 3]]


@each("predicted", [[1, 0], [[0, 1, 0], [1, 0, 0]]])
def test_one_hot_truth_is_refused_with_the_remedy(predicted: Any) -> None:
    truth = [[0, 1, 0], [1, 0, 0]]
    assert message(lambda: se.ConfusionAccumulator(3), truth, predicted) == (
        "`y_true` must have shape (n,), got (2, 3). Pass y_true.argmax(axis=1) for one-hot rows, "
        "multilabel=True for several labels a row, or ravel() both arrays to count item by item."
    )


def test_one_hot_truth_of_curves_is_refused_with_the_remedy() -> None:
    found = message(lambda: se.PRCurveSketch(classes=3), [[0, 1, 0]], [[0.1, 0.8, 0.1]])
    assert found == (
        "`y_true` must have shape (n,), got (1, 3). Pass y_true.argmax(axis=1) for one-hot rows, "
        "or multilabel=True for several labels a row."
    )


def test_one_hot_truth_of_probabilities_is_refused_with_the_remedy() -> None:
    found = message(lambda: se.CalibrationAccumulator(classes=3), [[0, 1, 0]], [[0.1, 0.8, 0.1]])
    assert "got (1, 3). Pass y_true.argmax(axis=1) for one-hot rows, or ravel() both" in found


@each("scores", [[0, 1, 2], np.eye(3)])
def test_three_classes_without_classes_are_refused_with_the_remedy(scores: Any) -> None:
    assert message(se.ConfusionAccumulator, [0, 1, 2], scores) == (
        "`y_true` must hold labels 0 to 1, got 2 at position 2. Pass classes=3 for labels 0 to 2, "
        "or `classes` as a list."
    )


def test_scores_of_three_classes_without_classes_are_refused_with_the_remedy() -> None:
    assert message(se.ConfusionAccumulator, [0, 1], [[0.1, 0.2, 0.7]] * 2) == (
        "`y_pred` must have shape (n,), got (2, 3). classes=3 takes a score of each class."
    )


def test_three_labels_of_a_curve_are_refused_with_the_remedy() -> None:
    assert message(se.PRCurveSketch, [0, 1, 2], SCORES[:3]) == (
        "`y_true` must hold 0 and 1, got 2 at position 2. Pass pos_label= to name the positive one "
        "of two other labels, or classes= for a curve of each class."
    )


@each(
    ("labels", "listed"),
    [
        (["b", "a", "b"], "'a', 'b'"),
        ([f"c{k}" for k in range(8)], "'c0', 'c1', 'c2', 'c3', 'c4', 'c5', ..."),
        (["x" * 100], "'xxxxxxxxxxxx...xxxxxxxxxxxxx', ..."),
    ],
)
def test_text_labels_without_classes_are_refused_with_the_remedy(labels: Any, listed: str) -> None:
    assert message(se.ConfusionAccumulator, labels, labels) == (
        "`y_true` holds strings, but the classes are numbers: labels 0 to 1. List the labels, as "
        f"in classes=[{listed}]."
    )


@each(("labels", "listed"), [([-1, 1, -1], "-1, 1"), ([2**15, 5], "5, 32768")])
def test_numbers_that_no_count_of_classes_holds_are_refused_with_the_remedy(
    labels: Any, listed: str
) -> None:
    found = message(se.ConfusionAccumulator, labels, labels)
    assert found.endswith(f"List the labels, as in classes=[{listed}].")


MULTICLASS = {"curve": se.PRCurveSketch, "calibration": se.CalibrationAccumulator}


@each("name", MULTICLASS)
@each("axis", [1, -1])
@each("weights", [None, "items", "one weight a row"])
def test_tokens_and_pixels_are_counted_item_by_item(name: str, axis: int, weights: Any) -> None:
    random = np.random.default_rng(0)
    truth = random.integers(0, 3, (2, 4, 5))
    scores = random.dirichlet([1.0] * 3, truth.size)
    given = None if weights is None else random.integers(0, 3, truth.shape)
    flat = {} if given is None else {"sample_weight": given.ravel()}
    expected = MULTICLASS[name](classes=3).update(truth.ravel(), scores, **flat)
    if weights == "one weight a row":
        given = flat["sample_weight"]
    shaped = np.moveaxis(scores.reshape(2, 4, 5, 3), -1, axis)
    assert MULTICLASS[name](classes=3).update(truth, shaped, sample_weight=given) == expected


@each("name", MULTICLASS)
def test_scores_of_items_without_the_dimension_of_classes_are_refused(name: str) -> None:
    acc, array = MULTICLASS[name](classes=3), {"curve": "y_score", "calibration": "y_prob"}[name]
    with pytest.raises(se.InvalidInputError, match=f"`{array}` must hold a score of each of 3"):
        acc.update(np.zeros((2, 4), int), np.zeros((2, 4, 4)))
    with pytest.raises(se.InvalidInputError, match=f"`{array}` has shape .* may be the second"):
        acc.update(np.zeros((3, 3), int), np.zeros((3, 3, 3)))
    with pytest.raises(se.InvalidInputError, match="must have shape"):
        acc.update(np.zeros((2, 4), int), np.zeros((2, 4)))
