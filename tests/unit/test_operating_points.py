"""Operating points of a curve: their arguments, and what is undefined."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from offenders import each
from profiles import quick_cases

import streameval as se
from streameval.metrics import thresholds as of_thresholds

many = settings(max_examples=quick_cases(200))

CURVE = se.PRCurveSketch().update([0, 0, 0, 1, 1, 0], [0.1, 0.05, 0.4, 0.35, 0.8, 0.9]).compute()
WITH_A_RATE = [
    *("tpr_at_fpr", "fpr_at_tpr", "sensitivity_at_specificity", "specificity_at_sensitivity"),
    *("threshold_at_fpr", "threshold_at_specificity", "threshold_at_sensitivity"),
    *("precision_at_top", "recall_at_top", "lift_at_top"),
]
ABOVE_0 = [
    *("fpr_at_tpr", "specificity_at_sensitivity", "threshold_at_sensitivity"),
    *("precision_at_top", "recall_at_top", "lift_at_top"),
]


@each("name", WITH_A_RATE)
@each("rate", [-0.1, 1.5, math.nan, "half"])
def test_rate_outside_0_to_1_is_refused(name: str, rate: Any) -> None:
    with pytest.raises(se.InvalidInputError, match=r"must (lie in \[0, 1\]|be a)"):
        getattr(CURVE, name)(rate)


@each("name", ABOVE_0)
def test_rate_of_0_is_refused_where_nothing_reaches_it_first(name: str) -> None:
    with pytest.raises(se.InvalidInputError, match="must be above 0"):
        getattr(CURVE, name)(0.0)


@each("name", WITH_A_RATE)
def test_operating_point_is_read_with_its_rate(name: str) -> None:
    assert CURVE.read(f"{name}(0.5)").value == getattr(CURVE, name)(0.5)


@each(
    ("options", "message"),
    [
        ({"fp_cost": -1.0}, "`fp_cost` must be at least 0"),
        ({"fn_cost": math.inf}, "`fn_cost` must be a finite"),
        ({"prevalence": 1.5}, r"`prevalence` must lie in \[0, 1\]"),
    ],
)
def test_wrong_costs_are_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(se.InvalidInputError, match=message):
        CURVE.min_cost(**options)


def test_min_cost_is_at_most_that_of_predicting_nothing_or_everything() -> None:
    for prevalence in (0.0, 0.2, 0.9, 1.0):
        cost = CURVE.min_cost(2.0, 3.0, prevalence=prevalence)
        assert 0.0 <= cost <= min(3.0 * prevalence, 2.0 * (1.0 - prevalence))
        assert CURVE.min_cost(0.0, 3.0, prevalence=prevalence) == 0.0


def test_limit_that_no_positive_holds_has_no_threshold() -> None:
    assert CURVE.tpr_at_fpr(0.1) == 0.0
    assert math.isnan(CURVE.threshold_at_fpr(0.1))


def test_threshold_reaches_what_it_is_named_for() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 500)
    curve = se.PRCurveSketch(16).update(y, (y + 2.0 * rng.random(500)) / 3.0).compute()
    for rate in (0.1, 0.5, 0.9):
        at = curve.confusion_at(float(curve.threshold_at_fpr(rate)))
        assert 1.0 - at.specificity <= rate
        assert at.recall == curve.tpr_at_fpr(rate)
        at = curve.confusion_at(float(curve.threshold_at_sensitivity(rate)))
        assert at.recall >= rate
        assert at.specificity == curve.specificity_at_sensitivity(rate)


def test_interval_of_gini_is_that_of_the_area() -> None:
    acc = se.PRCurveSketch().update([0, 1, 0, 1, 1], [0.1, 0.4, 0.5, 0.6, 0.9])
    curve: Any = acc.compute()
    low, high = curve.confidence("roc_auc", level=0.8)
    assert curve.confidence("gini", level=0.8) == pytest.approx((2 * low - 1, 2 * high - 1))
    assert low < curve.roc_auc < high


def test_gini_and_equal_error_rate_of_chance() -> None:
    curve = se.PRCurveSketch().update([0, 1, 0, 1], [0.5] * 4).compute()
    assert (curve.gini, curve.equal_error_rate, curve.youden_j) == (0.0, 0.5, 0.0)


def test_curves_of_nothing_are_a_point_or_undefined() -> None:
    curve = se.PRCurveSketch().compute()
    assert [part.tolist() for part in curve.gain_curve()][2] == [math.inf]
    assert all(len(part) == 1 for part in curve.det_curve())
    of_one = se.PRCurveSketch().update([1, 1], [0.2, 0.3]).compute()
    assert np.isnan(of_one.det_curve()[0]).all()


OF_BOTH = ["equal_error_rate", "equal_error_rate_threshold", "youden_j", "youden_j_threshold"]


@each("name", [*OF_BOTH, "gini", "min_cost"])
@each("label", [0, 1])
def test_point_of_one_class_is_undefined(name: str, label: int) -> None:
    of_one = se.PRCurveSketch().update([label, label], [0.2, 0.3]).compute()
    assert math.isnan(of_one.value(name))


@each("name", WITH_A_RATE)
def test_point_at_a_rate_without_a_positive_is_undefined(name: str) -> None:
    of_one = se.PRCurveSketch().update([0, 0], [0.2, 0.3]).compute()
    assert math.isnan(getattr(of_one, name)(0.5))


@each("name", [*OF_BOTH, "gini", "min_cost"])
def test_coarse_point_holds_the_exact_one(name: str) -> None:
    rng = np.random.default_rng(1)
    y, score = rng.integers(0, 2, 400), rng.random(400)
    coarse = se.PRCurveSketch(8).update(y, score).compute().value(name)
    exact = se.PRCurveSketch().update(y, score).compute().value(name)
    assert coarse.low <= exact <= coarse.high
    assert coarse.low < coarse.high


@each("name", WITH_A_RATE)
def test_coarse_point_at_a_rate_holds_the_exact_one(name: str) -> None:
    rng = np.random.default_rng(1)
    y, score = rng.integers(0, 2, 400), rng.random(400)
    coarse = getattr(se.PRCurveSketch(8).update(y, score).compute(), name)(0.3)
    exact = getattr(se.PRCurveSketch().update(y, score).compute(), name)(0.3)
    assert coarse.low <= exact <= coarse.high


def test_threshold_of_youden_is_the_highest_of_several_equally_good_ones() -> None:
    curve = se.PRCurveSketch().update([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.6]).compute()
    assert (curve.youden_j, curve.youden_j_threshold) == (0.5, 0.9)


def test_share_of_the_top_divides_ties_evenly() -> None:
    curve = se.PRCurveSketch().update([1, 0, 1, 0], [0.9, 0.5, 0.5, 0.1]).compute()
    assert curve.recall_at_top(0.5) == 0.75
    assert curve.precision_at_top(0.25) == 1.0


def test_rates_are_those_of_each_threshold() -> None:
    thresholds = [0.9, 0.35, -1.0, 0.36, math.inf]
    rates = CURVE.at(thresholds)
    assert rates.thresholds.tolist() == thresholds
    assert list(rates.precision) == [CURVE.precision_at(x) for x in thresholds]
    assert list(rates.recall) == [CURVE.recall_at(x) for x in thresholds]
    assert rates.fpr.value.tolist() == [0.25, 0.5, 1.0, 0.5, 0.0]
    assert rates.fpr.exact


def test_rates_have_the_intervals_of_a_divided_cell() -> None:
    curve = se.PRCurveSketch(1).update([0, 1, 0, 1], [0.1, 0.35, 0.4, 0.8]).compute()
    rates = curve.at([0.5, 0.0])
    assert not rates.precision.exact
    assert (rates.fpr[0].low, rates.fpr[0].high) == (0.0, 1.0)
    assert rates.recall[0].low == curve.recall_at(0.5).low
    assert rates.fpr[1].exact
    assert repr(rates.fpr) == f"BoundedArray([{rates.fpr[0]!r}, 1.0])"


def test_rates_of_an_absent_class_are_nan() -> None:
    rates = se.PRCurveSketch().compute().at([0.5])
    assert math.isnan(rates.recall[0])
    assert math.isnan(rates.fpr[0])
    assert rates.precision[0] == 0.0


def test_rates_are_arrays_to_numpy() -> None:
    recall = CURVE.at(np.array([0.0, 1.0])).recall
    assert np.asarray(recall).tolist() == [1.0, 0.0]
    assert np.array(recall, dtype=np.float32, copy=True).dtype == np.float32
    assert recall[1:].value.tolist() == [0.0]
    assert len(recall) == 2
    assert repr(recall) == "BoundedArray([1.0, 0.0])"
    with pytest.raises(ValueError, match="read-only"):
        recall.value[0] = 0.5


@each(
    ("thresholds", "message"),
    [
        (
            0.5,
            (
                "`thresholds` must have shape (n,), got a scalar. "
                "reshape(-1) makes one value a vector."
            ),
        ),
        ([[0.5]], "`thresholds` must have shape (n,), got (1, 1)."),
        ([0.5, math.nan], "`thresholds` must not hold NaN, got NaN at position 1."),
        (["a"], "`thresholds` must hold scores, got strings."),
    ],
)
def test_thresholds_that_are_no_vector_of_numbers_are_refused(
    thresholds: Any, message: str
) -> None:
    with pytest.raises(se.InvalidInputError) as error:
        CURVE.at(thresholds)
    assert str(error.value) == message


def test_value_takes_an_argument_within_the_name() -> None:
    curve: Any = se.PRCurveSketch().update([0, 1, 0, 1], [0.1, 0.4, 0.5, 0.9]).compute()
    for name in ("recall_at", "recall_at_precision", "threshold_at_precision"):
        assert curve.value(f"{name}(0.75)") == curve.value(name, 0.75)
    with pytest.raises(se.InvalidInputError, match="'p' is not a number"):
        curve.value("recall_at_precision(p)")


def test_net_benefit_of_everybody_is_what_the_docstring_says() -> None:
    n_pos, n_neg = 2, 4
    for threshold in (0.0, 0.05):
        odds = threshold / (1 - threshold)
        everybody = n_pos / 6 - n_neg / 6 * odds
        assert CURVE.net_benefit(threshold) == pytest.approx(everybody, rel=1e-15)
    assert CURVE.net_benefit(0.95) == 0.0
    assert CURVE.read("net_benefit(0.35)").value == CURVE.net_benefit(0.35)


@each(
    ("threshold", "message"),
    [(1.0, "`threshold` must be below 1"), (-0.1, r"`threshold` must lie in \[0, 1\], got -0.1")],
)
def test_threshold_of_a_net_benefit_is_a_probability_below_1(
    threshold: float, message: str
) -> None:
    with pytest.raises(se.InvalidInputError, match=message):
        CURVE.net_benefit(threshold)


def test_net_benefit_needs_probabilities_and_examples() -> None:
    with pytest.raises(se.InvalidInputError, match="`net_benefit` needs probabilities"):
        se.PRCurveSketch(scores="real").update([0, 1], [2, 3]).compute().net_benefit(0.5)
    assert math.isnan(se.PRCurveSketch().compute().net_benefit(0.5))


def test_selection_rate_of_observed_zeros_is_that_of_ones() -> None:
    counted = se.ConfusionAccumulator("auto").update([0, 0], [0, 0])
    assert counted.compute().read("selection_rate").value == 0.0
    assert counted.update([1, 0], [1, 0]).compute().selection_rate() == 0.25


OF_TWO_CLASSES = [
    *("accuracy", "balanced_accuracy", "precision", "recall", "specificity", "f_score"),
    *("jaccard", "fowlkes_mallows", "matthews_corrcoef", "cohen_kappa", "zero_one_loss"),
    *("geometric_mean", "negative_predictive_value", "false_omission_rate", "selection_rate"),
    *("false_discovery_rate", "informedness", "markedness", "positive_likelihood_ratio"),
    *("negative_likelihood_ratio", "recall[macro]", "f_score[macro]", "precision[weighted]"),
    *("tp", "fp", "fn", "tn"),
]
"""Metrics of `Confusion` that `Curve.at` takes."""


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 30), st.integers(1, 3)), max_size=40),
    st.lists(st.sampled_from([-math.inf, 0.05, 1 / 3, 0.5, 0.51, 1.0, math.inf]), max_size=4),
)
@many
def test_metrics_at_thresholds_are_those_of_the_confusion(
    rows: list[tuple[bool, int, int]], thresholds: list[float]
) -> None:
    y_true, scores, weights = ([row[at] for row in rows] for at in range(3))
    arrays: Any = y_true, np.array(scores) / 30
    whole, coarse = (
        se.PRCurveSketch(budget).update(*arrays, sample_weight=np.array(weights, int)).compute()
        for budget in (None, 3)
    )
    found, bounded = (one.at(thresholds, OF_TWO_CLASSES) for one in (whole, coarse))
    assert [*found] == OF_TWO_CLASSES
    for at, threshold in enumerate(thresholds):
        confusion = whole.confusion_at(threshold)
        for name, values in found.items():
            number = float(confusion.read(name, level=0).value)
            assert values.exact
            assert values[at] == number or (math.isnan(values[at]) and math.isnan(number))
            bounds = bounded[name][at]
            assert math.isnan(number) or math.isnan(bounds) or bounds.low <= number <= bounds.high
            if bounds.exact and not math.isnan(bounds):
                assert bounds == number


def test_estimates_at_thresholds_are_those_of_precision_and_recall() -> None:
    random = np.random.default_rng(0)
    curve = se.PRCurveSketch(9).update(random.integers(0, 2, 500), random.random(500)).compute()
    thresholds = [0.1, 0.33, 0.5, 0.77]
    found, rates = curve.at(thresholds, ["precision", "recall"]), curve.at(thresholds)
    for name in found:
        for one, other in zip(found[name], getattr(rates, name), strict=True):
            assert not one.exact
            assert [one, one.low, one.high] == pytest.approx([other, other.low, other.high])


def test_rates_keep_their_thresholds() -> None:
    given = np.array([0.5])
    rates = CURVE.at(given)
    given[0] = 0.25
    assert rates.thresholds.tolist() == [0.5]


def test_metrics_at_thresholds_are_checked_even_without_thresholds() -> None:
    for metrics in (["roc_auc"], "recall_at(0.5)"):
        with pytest.raises(se.InvalidInputError, match="no metric"):
            CURVE.at([], metrics)
    with pytest.raises(se.InvalidInputError, match="`metrics` must be a sequence of names"):
        CURVE.at([0.5], {"accuracy"})
    assert CURVE.at([0.5], "accuracy").keys() == {"accuracy"}


def test_confidence_of_a_decision_is_that_of_the_likelier_class() -> None:
    curve = se.PRCurveSketch().update([0, 0, 1, 0], [0.1, 0.5, 0.9, 0.95]).compute()
    assert (curve.selective_accuracy(0.5), curve.selective_coverage(0.5)) == (0.5, 1.0)
    for confidence in (0.55, 0.9):  # 1 - 0.1 is 0.9, though 1 - 0.9 is below 0.1
        assert curve.selective_accuracy(confidence) == 2 / 3
        assert curve.selective_coverage(confidence) == 0.75
    assert curve.read("selective_accuracy(0.95)").value == 0.0
    assert (curve.selective_accuracy(1.0), curve.selective_coverage(1.0)) == (0.0, 0.0)
    assert math.isnan(se.PRCurveSketch().compute().selective_coverage(0.5))


@given(st.floats(0.5, 1.0))
@many
def test_scores_below_are_kept_up_to_the_complement_of_a_confidence(confidence: float) -> None:
    first = of_thresholds._above_complement(confidence)
    assert 1.0 - first < confidence <= 1.0 - math.nextafter(first, -1.0)


@each("confidence", [0.49, 1.5])
def test_confidence_is_from_one_half_to_one(confidence: float) -> None:
    for read in (CURVE.selective_accuracy, CURVE.selective_coverage):
        with pytest.raises(se.InvalidInputError, match="`confidence` must"):
            read(confidence)
