"""Whether the scores that a confusion accumulator cuts at its threshold are probabilities."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from offenders import each
from small_states import parse

import streameval as se

GOLDEN = Path(__file__).parents[1] / "golden" / "version-1"
LOGITS = [2.0, 0.25, 0.25, -1.0]
LARGE = 400_000  # rows: more than may be pending


def truth_like(scores: np.ndarray) -> np.ndarray:
    return np.zeros(scores.shape, dtype=np.int64)


@each("bad", [1.5, -0.25, np.inf, -np.inf])
@each("dtype", ["f2", "f4", "f8", ">f8", "longdouble"])
@each("n", [1, 5, LARGE])
def test_scores_outside_0_and_1_are_refused(bad: float, dtype: str, n: int) -> None:
    scores = np.full(n, 0.25, dtype)
    scores[-1] = bad
    accumulator = se.ConfusionAccumulator().update([1], [0.75])
    before = accumulator.to_bytes()
    with pytest.raises(se.InvalidInputError) as caught:
        accumulator.update(truth_like(scores), scores)
    of_percentages = " If they are percentages, divide them by 100." if bad == 1.5 else ""
    assert str(caught.value) == (
        f"`y_pred` must lie in [0, 1], got {bad!r} at position {n - 1}. Pass "
        'scores="real" for logits or margins, and a threshold on their scale, such as threshold=0.'
        f"{of_percentages}"
    )
    assert accumulator.to_bytes() == before


@each("n", [1, 5, 20_000])
def test_multilabel_scores_outside_0_and_1_are_refused(n: int) -> None:
    scores = np.full((n, 3), 0.25)
    scores[-1, 1] = 85.0
    with pytest.raises(se.InvalidInputError, match=rf"got 85.0 at position \({n - 1}, 1\)"):
        se.ConfusionAccumulator(3, multilabel=True).update(truth_like(scores), scores)


def test_percentages_given_as_integer_scores_are_refused() -> None:
    accumulator = se.ConfusionAccumulator(from_scores=True)
    with pytest.raises(se.InvalidInputError, match=r"must lie in \[0, 1\], got 85.0"):
        accumulator.update([1, 0], [85, 20])


def test_weighted_scores_outside_0_and_1_are_refused() -> None:
    with pytest.raises(se.InvalidInputError, match=r"got 85\.0"):
        se.ConfusionAccumulator().update([1], [85.0], sample_weight=[0.5])


@each("scores", [[0.0, -0.0, 1.0], [-0.0], [1.0], [5e-324]])
@each("dtype", ["f2", "f4", "f8"])
def test_the_ends_of_0_to_1_are_probabilities(scores: list[float], dtype: str) -> None:
    accumulator = se.ConfusionAccumulator()
    accumulator.update(np.ones(len(scores), dtype=np.int64), np.array(scores, dtype))
    assert accumulator.compute().tp == scores.count(1.0)


@each("multilabel", [False, True])
def test_real_scores_may_be_any_number(multilabel: bool) -> None:
    options: dict[str, Any] = {"classes": 1, "multilabel": True} if multilabel else {}
    accumulator = se.ConfusionAccumulator(scores="real", **options)
    shape = (-1, 1) if multilabel else (-1,)
    scores = np.array([*LOGITS, np.inf, -np.inf]).reshape(shape)
    accumulator.update(np.ones_like(scores, dtype=np.int64), scores)
    result = accumulator.compute()
    assert (np.sum(result.tp), np.sum(result.fn)) == (2, 4)


@each("threshold", [0, -0.0, 1.0000001, -3, 50])
def test_a_threshold_that_no_probability_has_means_real_scores(threshold: float) -> None:
    accumulator = se.ConfusionAccumulator(threshold=threshold)
    accumulator.update([1, 1, 1, 1], [100.0, 50.0, -3.0, -4.0])
    assert accumulator.options["scores"] is None
    assert accumulator == accumulator + se.ConfusionAccumulator(threshold=threshold, scores="real")


@each("threshold", [1e-300, 0.5, 1.0])
def test_a_threshold_above_0_and_at_most_1_means_probabilities(threshold: float) -> None:
    accumulator = se.ConfusionAccumulator(threshold=threshold)
    assert accumulator == se.ConfusionAccumulator(threshold=threshold, scores="probability")
    with pytest.raises(se.InvalidInputError, match="must lie in"):
        accumulator.update([1], [1.5])


@each("make", [se.ConfusionAccumulator, se.Paired])
@each("threshold", [2, -1e-300, 1.0000001])
def test_probabilities_have_no_threshold_outside_0_and_1(make: Any, threshold: float) -> None:
    with pytest.raises(se.InvalidInputError) as caught:
        make(threshold=threshold, scores="probability")
    assert str(caught.value) == (
        f'`threshold` must lie in [0, 1] with scores="probability", got {float(threshold)!r}.'
    )


def test_probabilities_may_have_a_threshold_of_0() -> None:
    accumulator = se.ConfusionAccumulator(threshold=0, scores="probability")
    assert accumulator.update([1, 1], [0.0, 1.0]).compute().tp == 2
    with pytest.raises(se.InvalidInputError, match="must lie in"):
        accumulator.update([1], [-0.5])


def test_scores_of_probability_and_of_real_do_not_merge() -> None:
    real = se.ConfusionAccumulator(scores="real")
    with pytest.raises(se.IncompatibleStateError, match=r"`scores` differs \(None and 'real'\)"):
        se.ConfusionAccumulator().merge(real)


@each("scale", [None, "probability"])
def test_the_usual_scores_are_not_written(scale: Any) -> None:
    data = se.ConfusionAccumulator(scores=scale).to_bytes()
    assert "scores" not in parse(data).settings["config"]
    assert data == (GOLDEN.parent / "version-2" / "confusion-empty.se").read_bytes()


def test_other_scores_are_written_and_read() -> None:
    accumulator = se.ConfusionAccumulator(scores="real").update([1, 0], [3.0, -2.0])
    data = accumulator.to_bytes()
    assert parse(data).settings["config"]["scores"] == "real"
    assert se.from_bytes(data) == accumulator
    assert se.from_bytes(data).options["scores"] == "real"


def test_a_state_from_before_merges_and_refuses_scores_outside_0_and_1() -> None:
    before = se.load(GOLDEN / "confusion-binary.se")
    now = se.ConfusionAccumulator(["ham", "spam"], threshold=0.25).update(["spam"], [0.5])
    assert (before + now).n == before.n + 1
    with pytest.raises(se.InvalidInputError, match=r"must lie in \[0, 1\], got 3.0"):
        before.update(["spam"], [3.0])


def test_labels_of_a_threshold_accumulator_have_no_range() -> None:
    accumulator = se.ConfusionAccumulator([5, 9]).update([5, 9], [9, 9])
    assert accumulator.compute().matrix.tolist() == [[0, 1], [0, 1]]


@each("options", [{"classes": 3}, {"classes": "auto"}])
@each("scale", ["probability", "real"])
def test_scores_of_several_classes_have_no_range_to_choose(options: Any, scale: Any) -> None:
    with pytest.raises(se.InvalidInputError) as caught:
        se.ConfusionAccumulator(scores=scale, **options)
    assert str(caught.value) == (
        f"`scores` is for scores of two classes or multilabel, got {scale!r}. Leave it out: among "
        "several classes the highest score decides, whatever its range."
    )


def test_logits_of_several_classes_are_taken() -> None:
    result = se.ConfusionAccumulator(3).update([2, 0], [[-5.0, 2.0, 7.5], [3.0, -1.0, 0.0]])
    assert result.compute().accuracy == 1.0


def test_a_word_that_is_no_scale_is_refused() -> None:
    wrong: Any = "logits"
    with pytest.raises(se.InvalidInputError, match="`scores` must be"):
        se.ConfusionAccumulator(scores=wrong)
