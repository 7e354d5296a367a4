"""Metrics of labels as attributes: numbers that may be called, and asked for a class."""

from __future__ import annotations

import copy
import json
import math
import pickle
from typing import Any

import numpy as np
import pytest

import streameval as se

ACC = se.ConfusionAccumulator({0: "neg", 1: "pos"}).update([0, 1, 1, 1], [0, 1, 0, 0])
RESULT = ACC.compute()
PLAIN = ["accuracy", "balanced_accuracy", "matthews_corrcoef", "cohen_kappa", "top_k_accuracy"]
OF_CLASSES = ["precision", "recall", "specificity", "jaccard", "f_score", "fowlkes_mallows"]


@pytest.mark.parametrize("name", [*PLAIN, *OF_CLASSES])
def test_a_metric_reads_the_same_with_and_without_a_call(name: str) -> None:
    value: Any = getattr(RESULT, name)
    assert value == value() == RESULT.value(name)
    assert type(value()) is float
    assert (f"{value:.3f}", str(value), repr(value)) == (
        f"{value():.3f}",
        str(float(value)),
        repr(float(value)),
    )


@pytest.mark.parametrize("name", [*PLAIN, *OF_CLASSES])
def test_a_metric_is_a_number_to_others(name: str) -> None:
    value = getattr(RESULT, name)
    assert np.asarray([value, value]).dtype == np.float64
    assert json.loads(json.dumps({name: value})) == {name: float(value)}
    assert value + 1 == 1 + value()
    assert round(value, 2) == round(value(), 2)


@pytest.mark.parametrize("name", [*PLAIN, *OF_CLASSES])
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_a_metric_survives_copies(name: str, copied: Any) -> None:
    assert copied(getattr(RESULT, name)) == getattr(RESULT, name)


def test_a_copy_of_a_metric_of_classes_may_be_asked_further() -> None:
    assert pickle.loads(pickle.dumps(RESULT.recall))["neg"] == 1.0


@pytest.mark.parametrize(
    ("of", "recall"), [(0, 1.0), (1, 1 / 3), ("neg", 1.0), ("pos", 1 / 3), ("1", 1 / 3)], ids=repr
)
def test_a_metric_of_classes_is_asked_by_label_and_by_name(of: Any, recall: float) -> None:
    assert RESULT.recall[of] == recall
    assert type(RESULT.recall[of]) is float


def test_an_unknown_class_of_a_metric_is_a_key_error_with_the_nearest() -> None:
    with pytest.raises(KeyError, match="no class 'poss': did you mean 'pos'"):
        RESULT.recall["poss"]


def test_a_metric_of_classes_is_no_sequence() -> None:
    values: Any = RESULT.recall
    with pytest.raises(TypeError, match="not iterable"):
        list(values)


def test_a_metric_of_classes_takes_its_options() -> None:
    assert RESULT.recall(average=None).tolist() == [1.0, 1 / 3]
    assert RESULT.recall("micro") == RESULT.accuracy
    assert RESULT.f_score(2.0, average="macro") == RESULT.value("f_score", 2.0, average="macro")
    empty = se.ConfusionAccumulator().compute()
    assert empty.precision == 0.0
    assert math.isnan(empty.precision(zero_division=math.nan))


def test_f_of_one_class_has_the_usual_beta() -> None:
    assert RESULT.f_score["neg"] == RESULT.f_score(average=None)[0]


def test_a_metric_of_observed_labels_is_asked_by_label() -> None:
    result = se.ConfusionAccumulator("auto").update(["b", "a"], ["b", "b"]).compute()
    assert (result.recall["a"], result.recall["b"]) == (0.0, 1.0)


def test_as_dict_holds_floats_alone() -> None:
    assert {type(value) for value in RESULT.as_dict().values()} == {int, float}


@pytest.mark.parametrize(
    ("wrong", "meant"), [("f1", "f_score"), ("acc", "accuracy"), ("mcc", "matthews_corrcoef")]
)
def test_the_name_that_others_give_a_metric_is_suggested(wrong: str, meant: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(RESULT, wrong)
    assert str(caught.value) == (
        f"'Confusion' object has no attribute {wrong!r}. Did you mean {meant!r}?"
    )


def test_the_method_of_a_curve_that_others_call_differently_is_suggested() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'auc'\. Did you mean 'roc_auc'\?"):
        getattr(se.PRCurveSketch().compute(), "auc")  # noqa: B009 - there is no such attribute


def test_the_accumulator_that_gives_a_metric_is_named_by_a_result_that_lacks_it() -> None:
    with pytest.raises(AttributeError, match=r"'roc_auc': roc_auc is a metric of PRCurveSketch$"):
        getattr(RESULT, "roc_auc")  # noqa: B009 - there is no such attribute


def test_hasattr_is_false_of_names_that_others_give() -> None:
    assert not hasattr(RESULT, "f1")


@pytest.mark.parametrize(
    "result",
    [
        se.RegressionAccumulator().update([1, 2, 4], [1, 3, 3]).compute(),
        se.CalibrationAccumulator().update([1, 0], [0.75, 0.5]).compute(),
        se.PRCurveSketch().update([1, 0], [0.75, 0.5]).compute(),
        se.GroupedAUC().update([1, 0], [0.75, 0.5], [1, 1]).compute(),
    ],
    ids=lambda result: type(result).__name__,
)
def test_metrics_of_other_results_read_the_same_with_and_without_a_call(result: Any) -> None:
    rows = [row for row in result.TABLE.listed(result) if not row.is_count and not row.arguments]
    for row in rows:
        value = getattr(result, row.name)
        np.testing.assert_equal(value(), value)


@pytest.fixture
def class_curves() -> se.ClassCurves:
    rows = [[0.8, 0.1, 0.1], [0.2, 0.5, 0.3], [0.6, 0.3, 0.1], [0.2, 0.1, 0.7]]
    names = {0: "cat", 1: "dog", 2: "owl"}
    return se.PRCurveSketch(classes=names).update([0, 1, 2, 0], rows).compute()


@pytest.mark.parametrize("name", ["roc_auc", "average_precision"])
def test_a_metric_of_class_curves_reads_the_same_with_and_without_a_call(
    name: str, class_curves: se.ClassCurves
) -> None:
    metric = getattr(class_curves, name)
    every = [getattr(curve, name) for curve in class_curves.values()]
    assert isinstance(metric, se.Bounded)
    assert f"{metric:.3f}" == f"{sum(every) / 3:.3f}"
    assert metric == metric() == metric("macro")
    assert metric(None) == tuple(every)
    assert metric("micro") == getattr(class_curves.micro, name)
    assert [metric["dog"], metric[2]] == every[1:]
    with pytest.raises(KeyError, match="bird"):
        metric["bird"]
    with pytest.raises(TypeError):
        iter(metric)


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_a_copy_of_a_metric_of_class_curves_may_be_asked_further(
    copied: Any, class_curves: se.ClassCurves
) -> None:
    found = copied(class_curves.roc_auc)
    assert (found, found["dog"]) == (class_curves.roc_auc, class_curves["dog"].roc_auc)


def test_a_metric_of_class_curves_keeps_its_interval() -> None:
    rng = np.random.default_rng(0)
    scores = rng.dirichlet([1, 1, 1], 500)
    auc = se.PRCurveSketch(16, classes=3).update(rng.integers(0, 3, 500), scores).compute().roc_auc
    assert auc.low < auc < auc.high
    assert (auc.low, auc.high) == (auc("macro").low, auc("macro").high)


@pytest.mark.parametrize("name", OF_CLASSES)
def test_a_call_refuses_what_only_equals_the_default(name: str) -> None:
    with pytest.raises(se.InvalidInputError, match="`zero_division` must be a number"):
        getattr(RESULT, name)(zero_division=False)


def test_f_score_refuses_a_beta_that_only_equals_the_default() -> None:
    with pytest.raises(se.InvalidInputError, match="`beta` must be a number"):
        RESULT.f_score(True)
    assert RESULT.f_score(np.float32(1)) == RESULT.f_score(1) == RESULT.f_score


def test_a_usual_average_is_not_computed_again_when_called(monkeypatch: Any) -> None:
    recall, f_score = RESULT.recall, RESULT.f_score
    monkeypatch.setattr(type(RESULT), "value", None)
    assert (recall(), f_score()) == (recall, f_score)


def test_a_macro_mean_without_a_defined_class_is_nan() -> None:
    nothing = se.ConfusionAccumulator(3).compute()
    assert math.isnan(nothing.recall())
    assert math.isnan(nothing.recall(zero_division=math.nan))
