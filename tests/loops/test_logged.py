"""What the adapters to training loops share, without any framework."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import streameval as se
from streameval.loops._logged import Logged, binary_scores
from streameval.loops.transformers import Evaluate

LOGITS = np.array([[2.0, -1.0], [0.0, 3.0], [-1000.0, 1000.0]])
PROBABILITIES = np.array([[0.9, 0.1], [0.25, 0.75]])
BOTH = {"cm": se.ConfusionAccumulator(), "curve": se.PRCurveSketch()}


@pytest.mark.parametrize(
    "acc",
    [
        se.ConfusionAccumulator(),
        se.ConfusionAccumulator(["cat", "dog"]),
        se.PRCurveSketch(),
        se.CalibrationAccumulator(),
        se.Collection(BOTH),
    ],
)
def test_two_logits_become_the_probability_of_the_second_class(acc):
    expected = 1 / (1 + np.exp([3.0, -3.0]))
    scores = binary_scores(acc, LOGITS)
    assert scores[:2] == pytest.approx(expected)
    assert scores[2] == 1
    assert binary_scores(acc, -LOGITS)[2] == 0
    assert binary_scores(acc, PROBABILITIES).tolist() == [0.1, 0.75]


def test_two_logits_become_their_difference_where_scores_are_real():
    assert binary_scores(se.PRCurveSketch(scores="real"), LOGITS).tolist() == [-3, 3, 2000]


@pytest.mark.parametrize(
    "acc",
    [
        se.ConfusionAccumulator(3),
        se.ConfusionAccumulator("auto"),
        se.ConfusionAccumulator(2, multilabel=True),
        se.RegressionAccumulator(),
        se.Collection({"cm": se.ConfusionAccumulator(), "many": se.ConfusionAccumulator(3)}),
    ],
)
def test_other_counts_are_given_what_the_model_predicts(acc):
    assert binary_scores(acc, LOGITS) is LOGITS


@pytest.mark.parametrize("predictions", [np.eye(3), np.ones(2), [[0.5, 0.5]]])
def test_other_shapes_are_left_alone(predictions):
    assert binary_scores(se.ConfusionAccumulator(), predictions) is predictions


def test_a_batch_without_rows_has_no_scores():
    assert binary_scores(se.ConfusionAccumulator(), np.empty((0, 2))).shape == (0,)


def test_metrics_are_chosen_and_named():
    result = se.ConfusionAccumulator().update([1, 0], [1, 1]).compute()
    assert Logged(["accuracy", "n"], "new_").of(result) == {"new_accuracy": 0.5, "new_n": 2}
    assert Logged(None, "").of(result) == result.as_dict()


def test_a_metric_that_does_not_exist_is_named():
    result = se.ConfusionAccumulator().update([1, 0], [1, 1]).compute()
    with pytest.raises(se.InvalidInputError, match=r"`metrics` must be among n, .*, got 'acuracy'"):
        Logged(["acuracy"], "").of(result)


@pytest.mark.parametrize("metrics", ["accuracy", []])
def test_metrics_must_be_some_names(metrics):
    with pytest.raises(se.InvalidInputError, match="`metrics` must be the names of some metrics"):
        Logged(metrics, "")


def test_a_trainer_with_two_logits_gets_the_chosen_metrics():
    evaluate = Evaluate(se.Collection(BOTH), metrics=["curve/roc_auc"], prefix="new_")
    batch = SimpleNamespace(predictions=LOGITS, label_ids=np.array([0, 1, 1]))
    assert evaluate(batch, compute_result=True) == {"new_curve/roc_auc": 1.0}
