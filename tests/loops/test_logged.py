"""What the adapters to training loops share, without any framework."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest
from offenders import each

import streameval as se
from streameval.loops._logged import (
    Conversion,
    Logged,
    binary_scores,
    is_function,
    labels_of_one_hot,
)
from streameval.loops.transformers import Evaluate

LOGITS = np.array([[2.0, -1.0], [0.0, 3.0], [-1000.0, 1000.0]])
PROBABILITIES = np.array([[0.9, 0.1], [0.25, 0.75]])
BOTH = {"cm": se.ConfusionAccumulator(), "curve": se.PRCurveSketch()}


@each(
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


@each(
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


@each("predictions", [np.eye(3), np.ones(2), [[0.5, 0.5]]])
def test_other_shapes_are_left_alone(predictions):
    assert binary_scores(se.ConfusionAccumulator(), predictions) is predictions


def test_a_batch_without_rows_has_no_scores():
    assert binary_scores(se.ConfusionAccumulator(), np.empty((0, 2))).shape == (0,)


def test_metrics_are_chosen_and_named():
    result = se.ConfusionAccumulator().update([1, 0], [1, 1]).compute()
    assert Logged(["accuracy", "n"], "new_").of(result) == {"new_accuracy": 0.5, "new_n": 2}
    assert Logged(None, "").of(result) == result.as_dict()


NAMES = [
    (se.ConfusionAccumulator({0: "neg", 1: "pos"}), ["recall[neg]", "recall[1]", "f_score[micro]"]),
    (se.ConfusionAccumulator(3), ["cohen_kappa_quadratic", "recall[macro:0,1]", "n"]),
    (se.ConfusionAccumulator("auto"), ["recall[1]"]),
    (se.PRCurveSketch(), ["recall_at(0.5)", "youden_j"]),
    (se.Collection(BOTH), ["cm/recall[1]", "curve/precision_at(0.25)"]),
]


@each(("acc", "names"), NAMES)
def test_metrics_have_the_names_of_the_command_line(acc, names):
    logged = Logged.checked(names, "val_", acc)
    if isinstance(acc, se.Collection):
        acc = acc.copy().update({"y_true": [0, 1], "y_pred": [0, 1], "y_score": [0.25, 0.75]})
    else:
        acc = acc.copy().update([0, 1], [0, 1])
    result = acc.compute()
    found = logged.of(result)
    assert found == {f"val_{name}": result.read(name).value for name in names}
    assert {type(value) for value in found.values()} <= {int, float}


@each(
    ("wrong", "says"),
    [("acuracy", "did you mean 'accuracy'"), ("f1", "'f_score'"), ("recall[7]", "no class '7'")],
)
def test_a_metric_that_does_not_exist_is_refused_at_once(wrong, says):
    with pytest.raises(se.InvalidInputError, match=re.escape(says)):
        Evaluate(se.ConfusionAccumulator(), metrics=["accuracy", wrong])


def test_what_is_not_a_name_of_a_metric_is_refused_at_once():
    with pytest.raises(se.InvalidInputError, match=r"is not a metric; write one like"):
        Evaluate(se.Sliced(se.ConfusionAccumulator(), "c"), metrics=["acc uracy"])


def test_metrics_of_slices_are_known_when_these_are():
    sliced = se.Sliced(se.ConfusionAccumulator(), "c")
    logged = Logged.checked(["c=DE/recall[0]"], "", sliced)
    result = sliced.update({"c": ["DE"], "y_true": [0], "y_pred": [0]}).compute()
    assert logged.of(result) == {"c=DE/recall[0]": 1.0}
    with pytest.raises(se.InvalidInputError, match="no metric 'c=FR/n'"):
        Logged(["c=FR/n"], "").of(result)


@each("metrics", ["accuracy", []])
def test_metrics_must_be_some_names(metrics):
    with pytest.raises(se.InvalidInputError, match="`metrics` must be the names of some metrics"):
        Logged.checked(metrics, "")


def test_a_trainer_with_two_logits_gets_the_chosen_metrics():
    evaluate = Evaluate(se.Collection(BOTH), metrics=["curve/roc_auc"], prefix="new_")
    batch = SimpleNamespace(predictions=LOGITS, label_ids=np.array([0, 1, 1]))
    assert evaluate(batch, compute_result=True) == {"new_curve/roc_auc": 1.0}


def test_metrics_of_each_class_are_added():
    evaluate = Evaluate(se.ConfusionAccumulator(["cat", "dog"]), per_class=True)
    batch = SimpleNamespace(predictions=np.array(["cat", "dog"]), label_ids=np.array(["cat"] * 2))
    found = evaluate(batch, compute_result=True)
    assert (found["recall[cat]"], found["accuracy"]) == (0.5, 0.5)
    with pytest.raises(se.InvalidInputError, match="`per_class` adds metrics to those of as_dict"):
        Evaluate(se.ConfusionAccumulator(), metrics=["accuracy"], per_class=True)


ONE_HOT = np.eye(3)[[2, 0, 1]]


@each(
    ("acc", "labels"),
    [
        (se.ConfusionAccumulator(3), [2, 0, 1]),
        (se.CalibrationAccumulator(classes=["a", "b", "c"]), ["c", "a", "b"]),
        (se.PRCurveSketch(classes={0: "x", 1: "y", 2: "z"}), [2, 0, 1]),
        (
            se.Collection({"cm": se.ConfusionAccumulator(3), "p": se.PRCurveSketch(classes=3)}),
            [2, 0, 1],
        ),
    ],
)
def test_rows_that_mark_one_class_become_labels(acc, labels):
    assert labels_of_one_hot(acc, ONE_HOT).tolist() == labels
    assert labels_of_one_hot(se.PRCurveSketch(), ONE_HOT[:, 1:][[0, 2]]).tolist() == [1, 0]


@each(
    ("acc", "labels"),
    [
        (se.ConfusionAccumulator(3, multilabel=True), ONE_HOT),
        (se.ConfusionAccumulator(4), ONE_HOT),
        (se.ConfusionAccumulator(3), 2 * ONE_HOT),
        (se.ConfusionAccumulator(3), ONE_HOT[:, ::-1].cumsum(axis=1)),
        (se.ConfusionAccumulator(3), ONE_HOT.argmax(axis=1)),
        (se.Collection({"cm": se.ConfusionAccumulator(3), "p": se.PRCurveSketch()}), ONE_HOT),
        (se.RegressionAccumulator(outputs=2), ONE_HOT[[0, 2], 1:]),
    ],
)
def test_other_labels_are_left_alone(acc, labels):
    assert labels_of_one_hot(acc, labels) is labels


def test_only_accumulators_are_logged():
    with pytest.raises(se.InvalidInputError, match="`accumulator` must be an accumulator, got int"):
        Evaluate(3)


def test_a_function_of_the_model_is_told_from_accumulators_and_their_classes():
    assert is_function(lambda model: se.ConfusionAccumulator(model.k))
    assert not any(map(is_function, [se.ConfusionAccumulator(), se.ConfusionAccumulator, 3]))


TOKENS = np.array([[0, 1, 2], [2, 1, 0]])


def test_outputs_are_shifted_to_the_labels_that_they_are_about():
    scores, mask = np.arange(18).reshape(2, 3, 3), TOKENS > 0
    given = {"y_true": TOKENS, "y_pred": scores, "y_score": scores, "sample_weight": mask}
    read = Conversion(shift=True).named(se.ConfusionAccumulator(3), given | {"loss": 0.5})
    assert read["y_true"].tolist() == [[1, 2], [1, 0]]
    assert read["sample_weight"].tolist() == [[True, True], [True, False]]
    assert read["y_pred"].tolist() == read["y_score"].tolist() == scores[:, :2].tolist()
    assert read["loss"] == 0.5


def test_weights_of_rows_and_other_outputs_are_not_shifted():
    weights = np.ones(2)
    assert Conversion(shift=True).weights(se.ConfusionAccumulator(3), weights) is weights
    given = {"y_true": TOKENS, "y_pred": TOKENS, "sample_weight": TOKENS}
    assert Conversion().named(se.ConfusionAccumulator(3), given) == given


@each(
    ("arrays", "message"),
    [
        ({"y_true": TOKENS[0], "y_pred": TOKENS[0]}, "takes labels of tokens, of shape (B, T)"),
        ({"p": TOKENS, "labels": TOKENS}, "needs labels named y_true, got 'p', 'labels'"),
    ],
)
def test_what_cannot_be_shifted_is_refused(arrays, message):
    with pytest.raises(se.InvalidInputError, match=re.escape(f"`shift` {message}")):
        Conversion(shift=True).named(se.ConfusionAccumulator(3), arrays)


def test_a_trainer_shifts_what_read_returns():
    logits = np.eye(3)[[[1, 2, 0], [1, 0, 0]]]
    batch = SimpleNamespace(predictions=(logits, None), label_ids=TOKENS)
    evaluate = Evaluate(
        se.ConfusionAccumulator(3),
        read=lambda pred: {"y_true": pred.label_ids, "y_pred": pred.predictions[0]},
        shift=True,
    )
    assert evaluate(batch, compute_result=True)["accuracy"] == 1.0
