"""Metrics that are shown on request, means over named classes, and shares of the matrix."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from offenders import each

import streameval as se
from streameval.exact.fixed_point import FixedPoint
from streameval.metrics.confusion import weighted_kappa

ON_REQUEST = [row.name for row in se.Confusion.TABLE.values() if row.on_request]
OF_TWO = ["positive_likelihood_ratio", "negative_likelihood_ratio", "informedness", "markedness"]
TAGS = se.ConfusionAccumulator(["LOC", "O", "PER"]).update(
    ["O", "O", "PER", "LOC", "PER"], ["O", "LOC", "PER", "O", "LOC"]
)


def of_two(tp: int, fp: int, fn: int, tn: int, **options: Any) -> se.Confusion:
    weights = [tp, fp, fn, tn]
    acc = se.ConfusionAccumulator(**options)
    return acc.update([1, 0, 1, 0], [1, 1, 0, 0], sample_weight=weights).compute()


def wilson(hits: int, draws: int) -> tuple[float, float, float]:
    """The share and its limits, which are the roots of the score equation."""
    share, spread = hits / draws, 1.959963984540054**2 / draws
    low, high = np.sort(np.roots([1 + spread, -2 * share - spread, share**2]).real)
    return low, share, high


@each("name", ON_REQUEST)
def test_metric_on_request_is_read_by_name_and_left_out_of_all_else(name: str) -> None:
    result: Any = of_two(3, 1, 2, 4)
    reading = result.read(name)
    assert reading.value == result.value(name) == getattr(result, name)
    assert name not in result.as_dict()
    assert name not in result.report()
    assert name not in result.metric_names
    assert f"{name}</th>" not in result._repr_html_()


@each("name", ON_REQUEST)
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


@each("name", OF_TWO)
def test_metric_of_two_classes_is_refused_for_three(name: str) -> None:
    with pytest.raises(se.InvalidInputError, match=f"`{name}` is defined for two classes"):
        TAGS.compute().value(name)
    with pytest.raises(se.StreamevalError, match=f"{name} is not defined here"):
        TAGS.compute().read(name)


@each("name", [*OF_TWO, "geometric_mean", "cohen_kappa_linear"])
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


def test_ratio_of_rates_combines_their_limits_on_the_log_scale() -> None:
    result = of_two(3, 1, 2, 4)
    tpr, fpr = wilson(3, 5), wilson(1, 5)
    for name, above, below, value in (
        ("positive_likelihood_ratio", tpr, fpr, 3.0),
        ("negative_likelihood_ratio", wilson(2, 5), wilson(4, 5), 0.5),
    ):
        down = math.hypot(math.log(above[1] / above[0]), math.log(below[2] / below[1]))
        up = math.hypot(math.log(above[2] / above[1]), math.log(below[1] / below[0]))
        assert result.confidence(name) == pytest.approx(
            (value * math.exp(-down), value * math.exp(up))
        )


@each(("name", "parts"), [("informedness", ((9, 50), (8, 10))), ("markedness", ((9, 11), (8, 49)))])
def test_sum_of_shares_combines_the_distances_of_their_limits(name: str, parts: Any) -> None:
    (l1, p1, u1), (l2, p2, u2) = (wilson(*part) for part in parts)
    low, high = of_two(9, 2, 41, 8).confidence(name)
    value = p1 + p2 - 1
    assert low == pytest.approx(value - math.hypot(p1 - l1, p2 - l2))  # Newcombe, 1998, method 10
    assert high == pytest.approx(value + math.hypot(u1 - p1, u2 - p2))


OF_CLASSES = [
    row.name for row in se.Confusion.TABLE.values() if row.averages and "top" not in row.name
]


@each("name", OF_CLASSES)
@each("counts", [(9, 2, 41, 8), (0, 3, 4, 5), (7, 0, 0, 2)])
def test_interval_of_the_positive_class_is_its_own_among_those_of_classes(
    name: str, counts: tuple[int, int, int, int]
) -> None:
    result = of_two(*counts)
    own, every = result.confidence(name), result.confidence(name, average=None)
    assert own == pytest.approx([ends[1] for ends in every], rel=1e-12, nan_ok=True)
    draws = {"precision": counts[0] + counts[1], "specificity": counts[1] + counts[3]}.get(name)
    if draws and 0 < result.value(name) < 1:
        low, _, high = wilson(round(result.value(name) * draws), draws)
        assert own == pytest.approx((low, high))


def test_ratio_without_a_hit_reaches_from_0_and_one_by_0_has_no_interval() -> None:
    result = of_two(3, 0, 2, 4)
    assert math.isnan(result.value("positive_likelihood_ratio"))
    assert all(map(math.isnan, result.confidence("positive_likelihood_ratio")))
    result = of_two(3, 2, 0, 4)
    assert result.value("negative_likelihood_ratio") == 0.0
    high = wilson(0, 3)[2] / wilson(4, 6)[0]
    assert result.confidence("negative_likelihood_ratio") == pytest.approx((0.0, high))


def test_geometric_mean_of_0_reaches_to_the_mean_of_the_upper_limits() -> None:
    result = of_two(0, 1, 2, 4)
    assert result.value("geometric_mean") == 0.0
    high = math.sqrt(wilson(0, 2)[2] * wilson(4, 5)[2])
    assert result.confidence("geometric_mean") == pytest.approx((0.0, high))


def test_geometric_mean_of_one_reaches_as_far_as_few_examples_allow() -> None:
    low, high = of_two(5, 0, 0, 100).confidence("geometric_mean")
    reach = math.hypot(*(math.log(wilson(n, n)[0]) for n in (5, 100))) / 2
    assert (low, high) == (pytest.approx(math.exp(-reach)), 1.0)


AUDITED = (
    *("geometric_mean", "cohen_kappa", "cohen_kappa_quadratic", "matthews_corrcoef"),
    *("positive_likelihood_ratio", "negative_likelihood_ratio", "f_score", "informedness"),
)


@pytest.mark.uncovered
@pytest.mark.slow
@each(
    ("prevalence", "recall", "specificity", "n"),
    [(0.01, 0.7, 0.95, 1000), (0.01, 0.9, 0.99, 1000), (0.05, 0.95, 0.95, 200)],
)
def test_intervals_cover_with_ten_examples_of_the_rarer_class(
    prevalence: float, recall: float, specificity: float, n: int
) -> None:
    random, times = np.random.default_rng(n), 500
    shares = np.array([recall, 1 - recall, 1 - specificity, specificity])
    shares *= np.repeat([prevalence, 1 - prevalence], 2)
    population = of_two(*np.round(shares * 1e9).astype(int)[[0, 2, 1, 3]].tolist())
    covered = dict.fromkeys(AUDITED, 0)
    for _ in range(times):
        tp, fn, fp, tn = random.multinomial(n, shares).tolist()
        result = of_two(tp, fp, fn, tn)
        for name in AUDITED:
            low, high = result.confidence(name)
            covered[name] += low <= population.value(name) <= high or math.isnan(low)
    assert {name: count for name, count in covered.items() if count / times < 0.92} == {}


@each("name", ["cohen_kappa_linear", "cohen_kappa_quadratic"])
def test_weighted_kappa_of_two_classes_is_cohens(name: str) -> None:
    for counts in ((3, 1, 2, 4), (5, 0, 0, 9), (1, 1, 1, 1)):
        result = of_two(*counts)
        assert result.value(name) == result.cohen_kappa
        assert result.confidence(name) == pytest.approx(result.confidence("cohen_kappa"))


@each("name", ["cohen_kappa_linear", "cohen_kappa_quadratic"])
def test_weighted_kappa_of_one_class_is_nan_without_an_interval(name: str) -> None:
    result = of_two(3, 0, 0, 0)
    assert math.isnan(result.value(name))
    assert all(map(math.isnan, result.confidence(name)))


@each("power", [1, 2])
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


def test_multilabel_matthews_may_be_anything() -> None:
    acc = se.ConfusionAccumulator(2, multilabel=True)
    result = acc.update(np.array([[1, 0], [1, 1]]), np.array([[1, 1], [1, 1]])).compute()
    assert result.matthews_corrcoef == 0.0  # every label is predicted
    assert result.confidence("matthews_corrcoef") == (-1.0, 1.0)


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


@each(
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
