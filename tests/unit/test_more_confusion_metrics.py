"""Metrics that are shown on request, means over named classes, and shares of the matrix."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

import streameval as se
from streameval.exact.fixed_point import FixedPoint
from streameval.metrics.confusion import weighted_kappa

ON_REQUEST = [row.name for row in se.Confusion.TABLE.values() if row.on_request]
OF_TWO = ["positive_likelihood_ratio", "negative_likelihood_ratio", "informedness", "markedness"]
TAGS = se.ConfusionAccumulator(["LOC", "O", "PER"]).update(
    ["O", "O", "PER", "LOC", "PER"], ["O", "LOC", "PER", "O", "LOC"]
)


def of_two(tp: int, fp: int, fn: int, tn: int, **options: Any) -> se.Confusion:
    truth = [1] * tp + [0] * fp + [1] * fn + [0] * tn
    predicted = [1] * (tp + fp) + [0] * (fn + tn)
    return se.ConfusionAccumulator(**options).update(truth, predicted).compute()


@pytest.mark.parametrize("name", ON_REQUEST)
def test_metric_on_request_is_read_by_name_and_left_out_of_all_else(name: str) -> None:
    result: Any = of_two(3, 1, 2, 4)
    reading = result.read(name)
    assert reading.value == result.value(name) == getattr(result, name)
    assert name not in result.as_dict()
    assert name not in result.report()
    assert name not in result.metric_names
    assert f"{name}</th>" not in result._repr_html_()


@pytest.mark.parametrize("name", ON_REQUEST)
def test_metric_on_request_has_an_interval_that_holds_it(name: str) -> None:
    low, high = of_two(30, 10, 20, 40).confidence(name)
    assert low < of_two(30, 10, 20, 40).value(name) < high


def test_metric_on_request_has_evidence_where_it_is_a_proportion() -> None:
    result = of_two(3, 1, 2, 4)
    low, high = result.confidence_sequence("zero_one_loss")
    mirrored = result.confidence_sequence("accuracy")
    assert (low, high) == pytest.approx((1 - mirrored[1], 1 - mirrored[0]))
    assert result.confidence_sequence("false_positive_rate[1]") != (low, high)
    with pytest.raises(se.InvalidInputError, match="no evidence that stays valid"):
        result.statistic("informedness")


@pytest.mark.parametrize("name", OF_TWO)
def test_metric_of_two_classes_is_refused_for_three(name: str) -> None:
    with pytest.raises(se.InvalidInputError, match=f"`{name}` is defined for two classes"):
        TAGS.compute().value(name)
    with pytest.raises(se.StreamevalError, match=f"{name} is not defined here"):
        TAGS.compute().read(name)


@pytest.mark.parametrize("name", [*OF_TWO, "geometric_mean", "cohen_kappa_linear"])
def test_metric_of_nothing_is_nan_without_an_interval(name: str) -> None:
    result = se.ConfusionAccumulator().compute()
    assert math.isnan(result.value(name))
    assert all(map(math.isnan, result.confidence(name)))


def test_mean_class_distance_of_nothing_is_nan_without_an_interval() -> None:
    for classes in (2, "auto"):
        result = se.ConfusionAccumulator(classes).compute()
        assert math.isnan(result.mean_class_distance)
        assert all(map(math.isnan, result.confidence("mean_class_distance")))


def test_positive_class_decides_which_way_round_a_metric_is() -> None:
    result: Any = of_two(3, 1, 2, 4)
    turned: Any = of_two(3, 1, 2, 4, pos_label=0)
    assert result.positive_likelihood_ratio == pytest.approx((3 / 5) / (1 / 5))
    assert turned.positive_likelihood_ratio == pytest.approx((4 / 5) / (2 / 5))
    assert result.informedness == turned.informedness == pytest.approx(3 / 5 + 4 / 5 - 1)
    assert result.markedness == turned.markedness == pytest.approx(3 / 4 + 4 / 6 - 1)


def test_ratio_without_a_hit_has_no_interval() -> None:
    result = of_two(3, 0, 2, 4)
    assert math.isnan(result.value("positive_likelihood_ratio"))
    assert all(map(math.isnan, result.confidence("positive_likelihood_ratio")))
    assert of_two(3, 2, 0, 4).value("negative_likelihood_ratio") == 0.0
    assert all(map(math.isnan, of_two(3, 2, 0, 4).confidence("negative_likelihood_ratio")))


def test_geometric_mean_is_zero_without_an_interval_if_a_class_is_never_found() -> None:
    result = of_two(0, 1, 2, 4)
    assert result.value("geometric_mean") == 0.0
    assert all(map(math.isnan, result.confidence("geometric_mean")))


def test_geometric_mean_of_one_has_the_interval_of_the_smallest_class() -> None:
    low, high = of_two(5, 0, 0, 100).confidence("geometric_mean")
    narrow, _ = of_two(50, 0, 0, 100).confidence("geometric_mean")
    assert (low < narrow < 1.0, high) == (True, 1.0)


@pytest.mark.parametrize("name", ["cohen_kappa_linear", "cohen_kappa_quadratic"])
def test_weighted_kappa_of_two_classes_is_cohens(name: str) -> None:
    for counts in ((3, 1, 2, 4), (5, 0, 0, 9), (1, 1, 1, 1)):
        result = of_two(*counts)
        assert result.value(name) == result.cohen_kappa
        assert result.confidence(name) == pytest.approx(result.confidence("cohen_kappa"))


@pytest.mark.parametrize("name", ["cohen_kappa_linear", "cohen_kappa_quadratic"])
def test_weighted_kappa_of_one_class_is_nan_without_an_interval(name: str) -> None:
    result = of_two(3, 0, 0, 0)
    assert math.isnan(result.value(name))
    assert all(map(math.isnan, result.confidence(name)))


@pytest.mark.parametrize("power", [1, 2])
def test_weighted_kappa_is_exact_where_floats_are_not(power: int) -> None:
    large = 2**61
    matrix = FixedPoint.of_integers(np.array([[large, 1], [0, large]]))
    n, chance = 2 * large + 1, large * large + (large + 1) * (large + 1)
    assert weighted_kappa(matrix, power) == (chance - n) / chance


def test_quadratic_kappa_is_lower_the_farther_errors_lie() -> None:
    def kappa(wrong: int) -> float:
        acc = se.ConfusionAccumulator(4).update([0, 0, 1, 2, 3], [0, wrong, 1, 2, 3])
        return acc.compute().value("cohen_kappa_quadratic")

    assert kappa(1) > kappa(2) > kappa(3)


def test_zero_one_loss_of_multilabel_is_of_examples_with_any_label_wrong() -> None:
    acc = se.ConfusionAccumulator(2, multilabel=True)
    result = acc.update(np.array([[1, 0], [1, 1]]), np.array([[1, 1], [1, 1]])).compute()
    assert result.value("zero_one_loss") == 0.5


def test_multilabel_matthews_has_no_interval() -> None:
    acc = se.ConfusionAccumulator(2, multilabel=True)
    result = acc.update(np.array([[1, 0], [1, 1]]), np.array([[1, 1], [1, 1]])).compute()
    assert result.matthews_corrcoef == 0.0  # every label is predicted
    assert all(map(math.isnan, result.confidence("matthews_corrcoef")))


def test_mean_over_named_classes_takes_labels_and_display_names() -> None:
    recall = TAGS.compute().recall
    assert recall("micro", labels=["LOC", "PER"]) == recall(labels=["LOC", "PER"]) * 4 / 3 == 1 / 3
    named = se.ConfusionAccumulator({0: "neg", 1: "pos"}).update([0, 1, 1], [0, 1, 0]).compute()
    assert named.recall(labels=["neg"]) == named.recall(labels=[0]) == 1.0
    assert named.f_score(labels=[1], average="micro") == named[1].f_score


def test_interval_of_a_mean_over_named_classes_is_of_these() -> None:
    result = TAGS.compute()
    for average in ("macro", "micro", "weighted"):
        ends = result.confidence("recall", average=average, labels=["PER"])
        assert ends == pytest.approx([end[2] for end in result.confidence("recall", None)])


def test_mean_over_named_classes_is_read_by_name() -> None:
    result = TAGS.compute()
    reading = result.read("recall[micro:LOC,PER]")
    assert reading.value == result.recall("micro", labels=["LOC", "PER"])
    assert reading.sampling == result.confidence("recall", "micro", labels=["LOC", "PER"])
    with pytest.raises(se.InvalidInputError, match="is a mean over classes"):
        result.statistic("recall[micro:LOC,PER]")


def test_mean_over_named_classes_of_none_observed_is_undefined() -> None:
    result = se.ConfusionAccumulator("auto").compute()
    assert str(result.read("recall[macro:LOC]").value) == "nan"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": ["LOC", "MISC"]}, "`labels` has no class 'MISC'. Choose from LOC, O, PER."),
        ({"labels": "LOC"}, "`labels` must name one class or several, got 'LOC'."),
        ({"labels": []}, "`labels` must name one class or several, got []."),
        (
            {"labels": ["LOC"], "average": None},
            '`labels` are of "macro", "micro" and "weighted" means, not of average=None.',
        ),
        ({"labels": ["LOC"], "average": "mean"}, "`average` must be one of"),
    ],
)
def test_wrong_labels_of_a_mean_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(se.InvalidInputError, match=re.escape(message)):
        TAGS.compute().value("recall", **options)


def test_normalized_matrix_of_multilabel_has_shares_of_each_label() -> None:
    acc = se.ConfusionAccumulator(2, multilabel=True)
    result = acc.update(np.array([[1, 0], [1, 1]]), np.array([[1, 1], [0, 1]])).compute()
    assert result.normalized_matrix("all").sum(axis=(1, 2)).tolist() == [1.0, 1.0]
    assert result.normalized_matrix()[0].tolist() == [[0.0, 0.0], [0.5, 0.5]]


def test_normalized_matrix_refuses_another_way() -> None:
    with pytest.raises(se.InvalidInputError, match='`normalize` must be "true", "pred" or "all"'):
        TAGS.compute().normalized_matrix("rows")  # type: ignore[arg-type]


def test_metric_that_does_not_apply_is_said_to_be_of_others() -> None:
    message = "markedness is not defined here. PPV + NPV - 1, in [-1, 1]; of two classes."
    with pytest.raises(se.StreamevalError, match=re.escape(message)):
        TAGS.compute().read("markedness")


def test_readable_names_are_those_that_read_takes() -> None:
    result = TAGS.compute()
    assert set(result.as_dict()) < set(result.readable())
    assert all(result.read(name) for name in result.readable())
    assert "markedness" not in result.readable()
