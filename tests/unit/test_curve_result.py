"""What a curve says of its scores: arguments, bounds, thresholds, intervals, words."""

from __future__ import annotations

import json
import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from offenders import each
from profiles import quick_cases
from sklearn import metrics as sk
from small_states import EVERY

import streameval as se
from streameval.metrics import curves

TRUTH = [0, 0, 1, 1, 0, 1, 0, 1]
SCORES = [0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 1.0]

SCALARS = (
    *("roc_auc", "average_precision", "average_precision_interpolated"),
    *("average_precision_11pt", "pr_auc", "ks"),
)
METHODS: dict[str, tuple[Any, ...]] = {
    "partial_roc_auc": (0.25,),
    "precision_at": (0.5,),
    "recall_at": (0.5,),
    "f_at": (0.5, 2.0),
    "recall_at_precision": (0.75,),
    "precision_at_recall": (0.5,),
    "threshold_at_precision": (0.6,),
    "ece": (5,),
}


def curve(
    truth: Any = TRUTH, score: Any = SCORES, /, *, weights: Any = None, **options: Any
) -> Any:
    return se.PRCurveSketch(**options).update(truth, score, sample_weight=weights).compute()


def beta_curve(budget: int | None, size: int = 20_000, seed: int = 1) -> Any:
    random = np.random.default_rng(seed)
    scores = random.beta(2, 3, size)
    return curve(random.random(size) < scores, scores, budget=budget)


def test_counts_are_plain_numbers() -> None:
    found = curve(weights=[1, 2, 3, 1, 1, 1, 1, 1])
    assert (found.n, found.n_pos, found.n_neg, found.n_skipped, found.cells) == (11, 6, 5, 0, 8)
    for name in ("n", "n_pos", "n_neg", "n_skipped", "cells"):
        assert type(getattr(found, name)) is int


def test_counts_are_floats_once_a_weight_has_a_fraction() -> None:
    found = curve(weights=[1, 2, 3.5, 1, 1, 1, 1, 1])
    assert (found.n, found.n_pos, found.n_neg) == (11.5, 6.5, 5)
    assert type(found.n) is float


def test_skipped_rows_are_counted_by_weight() -> None:
    found = curve([1, 0, 1], [0.5, math.nan, math.nan], weights=[1, 2, 0.5], nan="skip")
    assert (found.n, found.n_skipped) == (1, 2.5)


@each(("budget", "exact", "resolution"), [(None, True, 0.0), (8, True, 0.0), (3, False, 0.625)])
def test_resolution_is_the_width_of_the_widest_cell(
    budget: int | None, exact: bool, resolution: float
) -> None:
    found = curve(budget=budget)
    assert (found.exact, found.resolution) == (exact, resolution)


def test_resolution_is_infinite_when_a_cell_reaches_infinity() -> None:
    assert curve([0, 1, 1], [1.0, 2.0, math.inf], budget=1, scores="real").resolution == math.inf


@each("name", [*SCALARS, "brier", "log_loss"])
@each("budget", [None, 3])
def test_metric_is_a_bounded_number(name: str, budget: int | None) -> None:
    value = getattr(curve(budget=budget), name)
    assert type(value) is se.Bounded
    assert value.low <= value <= value.high
    assert value.exact or budget


@each("name", METHODS)
@each("budget", [None, 3])
def test_metric_of_an_argument_is_a_bounded_number(name: str, budget: int | None) -> None:
    value = getattr(curve(budget=budget), name)(*METHODS[name])
    assert isinstance(value, se.Bounded)
    assert value.low <= value <= value.high
    assert value.exact or budget


@each("name", METHODS)
def test_a_wrong_number_of_arguments_names_the_metric(name: str) -> None:
    with pytest.raises(TypeError, match=rf"^{name}\(\): too many positional arguments$"):
        getattr(curve(), name)(*range(9))


def test_what_is_read_shows_its_value() -> None:
    reading = curve().read("precision_at(0.5)")
    assert repr(reading).startswith("Reading(value=")


@each("name", ["empty_curve", "no positive", "no negative"])
def test_undefined_metrics_are_nan(name: str) -> None:
    truth = {"no positive": 0, "no negative": 1}
    found = EVERY[name]().compute() if name in EVERY else curve([truth[name]] * 8)
    needs_both = [found.roc_auc, found.ks, found.partial_roc_auc(0.5)]
    assert all(map(math.isnan, needs_both))
    needs_positive = [found.average_precision, found.pr_auc, found.recall_at(0.5)]
    needs_positive += [found.average_precision_interpolated, found.average_precision_11pt]
    needs_positive += [found.recall_at_precision(0.5), found.precision_at_recall(0.5)]
    needs_positive += [*found.best_f()]
    assert all(map(math.isnan, needs_positive)) == (name != "no negative")
    assert math.isnan(found.log_loss) == math.isnan(found.brier) == (name == "empty_curve")
    assert math.isnan(found.ece()) == (name == "empty_curve")


@each("name", ["no positive", "no negative"])
def test_coarse_curve_of_one_class_is_undefined_where_an_exact_one_is(name: str) -> None:
    truth = [int(name == "no negative")] * 8
    exact, coarse = (curve(truth, budget=budget).metrics() for budget in (None, 2))
    assert [math.isnan(value) for value in coarse.values()] == [
        math.isnan(value) for value in exact.values()
    ]


def test_lists_of_a_curve_of_one_class_are_those_of_scikit_learn() -> None:
    fpr, tpr, _ = curve([0] * 8).roc_curve()
    assert np.isnan(tpr).all()
    assert fpr[-1] == 1
    fpr, tpr, _ = curve([1] * 8).roc_curve()
    assert np.isnan(fpr).all()
    assert tpr[-1] == 1
    precision, recall, _ = curve([0] * 8).precision_recall_curve()
    np.testing.assert_array_equal(precision, [0] * 8 + [1])
    np.testing.assert_array_equal(recall, [1] * 8 + [0])


def test_lists_of_nothing_have_their_end_point() -> None:
    empty = EVERY["empty_curve"]().compute()
    fpr, tpr, thresholds = empty.roc_curve()
    np.testing.assert_array_equal(thresholds, [math.inf])
    assert len(fpr) == len(tpr) == 1
    precision, recall, thresholds = empty.precision_recall_curve()
    assert (precision.tolist(), recall.tolist(), thresholds.tolist()) == ([1.0], [0.0], [])


def test_lists_can_be_changed_without_a_trace() -> None:
    found = curve()
    before = [part.tolist() for part in (*found.roc_curve(), *found.precision_recall_curve())]
    for part in (*found.roc_curve(), *found.precision_recall_curve()):
        part[:] = 7
    after = [part.tolist() for part in (*found.roc_curve(), *found.precision_recall_curve())]
    assert after == before


@each("name", ["n", "exact", "_table"])
def test_curve_is_frozen(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(curve(), name, 1)


def test_curve_stays_as_it_is_when_more_is_counted() -> None:
    sketch = se.PRCurveSketch(4).update(TRUTH, SCORES)
    found = sketch.compute()
    before = found.as_dict()
    sketch.update(TRUTH, SCORES).merge(sketch)
    assert found.as_dict() == before


@each("budget", [None, 3])
def test_dictionary_holds_plain_numbers(budget: int | None) -> None:
    numbers = curve(budget=budget).as_dict(bounds=True)
    assert {type(value) for value in numbers.values()} == {int, float}
    assert numbers["n"] == 8
    for name in (*SCALARS, "best_f", "best_f_threshold", "log_loss", "brier", "ece"):
        assert numbers[f"{name}_low"] <= numbers[name] <= numbers[f"{name}_high"]
    assert json.loads(json.dumps(numbers)) == numbers


def test_dictionary_of_real_scores_leaves_out_the_losses() -> None:
    numbers = curve(scores="real").as_dict()
    assert {"log_loss", "brier", "ece"} & numbers.keys() == set()


@each("name", ["brier", "log_loss"])
def test_loss_of_real_scores_is_refused(name: str) -> None:
    with pytest.raises(se.InvalidInputError, match=f"`{name}` needs probabilities"):
        getattr(curve(scores="real"), name)


@each("threshold", [-math.inf, -1, 0, 0.3, 0.5, 1, 2, math.inf])
def test_outcomes_at_a_threshold_are_counted(threshold: float) -> None:
    predicted = np.array(SCORES) >= threshold
    found = curve().confusion_at(threshold)
    np.testing.assert_array_equal(found.matrix, sk.confusion_matrix(TRUTH, predicted))
    assert found.precision() == curve().precision_at(threshold)
    assert found.recall() == curve().recall_at(threshold)
    assert found.f_score(2) == pytest.approx(curve().f_at(threshold, 2), rel=1e-15)


def test_outcomes_of_weights_with_fractions_are_counted() -> None:
    weights = np.arange(1, 9) / 4
    found = curve(weights=weights).confusion_at(0.5)
    expected = sk.confusion_matrix(TRUTH, np.array(SCORES) >= 0.5, sample_weight=weights)
    np.testing.assert_array_equal(found.matrix, expected)


def test_outcomes_are_a_confusion_with_its_methods() -> None:
    found = curve().confusion_at(0.5)
    assert isinstance(found, se.Confusion)
    assert found.accuracy == sk.accuracy_score(TRUTH, np.array(SCORES) >= 0.5)
    assert "accuracy" in found.report()


# With a budget of 3 the cells are 0, from 0.125 to 0.75, and 1.
def test_ends_of_the_outcomes_hold_every_data_set_of_the_cells() -> None:
    found = curve(budget=3)
    low, high = (found.confusion_at(0.75, bound=bound) for bound in ("low", "high"))
    assert low.recall() == found.recall_at(0.75).low <= 0.25 <= found.recall_at(0.75).high
    assert high.recall() == found.recall_at(0.75).high
    assert low.precision() == found.precision_at(0.75).low
    assert high.precision() == found.precision_at(0.75).high
    assert low.n == high.n == 8


@each("bound", [None, "low", "high"])
def test_outcomes_at_the_end_of_a_cell_are_exact(bound: Any) -> None:
    found = curve(budget=3)
    for threshold in np.unique(found.roc_curve()[2]):
        predicted = np.array(SCORES) >= threshold
        np.testing.assert_array_equal(
            found.confusion_at(threshold, bound=bound).matrix,
            sk.confusion_matrix(TRUTH, predicted),
        )


@settings(max_examples=quick_cases(200))
@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 64)), min_size=1, max_size=30),
    st.integers(1, 4),
    st.integers(-1, 66),
)
def test_thresholds_that_a_refusal_names_are_exact(
    rows: list[tuple[bool, int]], budget: int, place: int
) -> None:
    truth, scores = [row[0] for row in rows], [row[1] / 64 for row in rows]
    found, threshold = curve(truth, scores, budget=budget), (place + 0.5) / 65
    try:
        found.confusion_at(threshold)
    except se.InvalidInputError as error:
        below, above = str(error).split("ones are ")[1].split(";")[0].split(" and ")
        assert float(below) < threshold < float(above)
        for near in (float(below), float(above)):
            predicted = np.array(scores) >= near
            expected = sk.confusion_matrix(truth, predicted, labels=[False, True])
            np.testing.assert_array_equal(found.confusion_at(near).matrix, expected)
    else:
        predicted = np.array(scores) >= threshold
        expected = sk.confusion_matrix(truth, predicted, labels=[False, True])
        np.testing.assert_array_equal(found.confusion_at(threshold).matrix, expected)


def test_refusal_names_no_threshold_above_an_infinite_score() -> None:
    found = curve([0, 1, 1], [1.0, 2.0, math.inf], budget=1, scores="real")
    with pytest.raises(se.InvalidInputError, match=r"The nearest exact one is 1\.0; bound="):
        found.confusion_at(math.inf)


COARSE = (
    [0, 0, 0, 1, 1, 1, 0, 1, 1],
    [0.1, 0.11, 0.12, 0.5, 0.51, 0.52, 0.9, 0.91, 0.92],
)
"""Rows of three cells: of negatives, of positives, and of both."""


@each(
    ("threshold", "below", "above"), [(0.115, 0.1, 0.5), (0.515, 0.5, 0.9), (0.905, 0.9, math.inf)]
)
def test_refusal_names_the_exact_thresholds_on_either_side(
    threshold: float, below: float, above: float
) -> None:
    found = curve(*COARSE, budget=3)
    with pytest.raises(se.InvalidInputError, match=f"nearest exact ones are {below} and {above};"):
        found.confusion_at(threshold)


def test_metrics_are_nan_at_a_threshold_where_nothing_may_be_predicted() -> None:
    found = curve(*COARSE, budget=3).at([0.905, 0.5], ["markedness", "recall"])
    assert [math.isnan(one) for one in found["markedness"]] == [True, False]
    assert [math.isnan(one) for one in found["recall"]] == [False, False]


@each(
    ("metric", "least", "most"),
    [("recall", 0, 1), ("tp", 0, math.inf), ("matthews_corrcoef", -1, 1), ("fp", 0, math.inf)],
)
def test_bounds_of_metrics_at_thresholds_are_within_the_range_of_each(
    metric: str, least: float, most: float
) -> None:
    found = curve([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9], budget=1).at([0.5], [metric])[metric][0]
    assert least <= found.low < found < found.high <= most


def test_confusions_of_equal_counts_differ_by_their_thresholds() -> None:
    found = curve(*COARSE, budget=3)
    assert found.confusion_at(0.2) == found.confusion_at(0.2) != found.confusion_at(0.3)


@each(("threshold", "share"), [(0.5, 1), (0.5625, 0.75), (0.6875, 0.25)])
def test_estimate_at_a_threshold_that_divides_a_cell_fills_it_evenly(
    threshold: float, share: float
) -> None:
    found = curve([1] * 8 + [0] * 4, [0.5] * 4 + [0.75] * 4 + [0.5, 0.75] * 2, budget=1)
    assert found.recall_at(threshold) == share
    assert found.precision_at(threshold) == pytest.approx(2 / 3, rel=1e-15)
    assert found.f_at(threshold) == pytest.approx(2 * 8 * share / (8 + 12 * share), rel=1e-15)


def test_estimate_at_a_threshold_in_a_cell_without_end_is_half_of_it() -> None:
    recall = curve([1] * 4, [-1.0, math.inf] * 2, budget=1, scores="real").recall_at(3)
    assert (float(recall), recall.low, recall.high) == (0.5, 0.25, 0.75)


INSIDE = (0.625, 0.6875, 0.75)
"""Thresholds that divide a cell from 0.5 to 0.75, the last one of its ends."""


@each("threshold", INSIDE)
@each(
    ("weights", "recall", "precision", "f"),
    [
        ([1, 1, 1, 1], (1 / 3, 2 / 3), (1, 1), (1 / 2, 4 / 5)),
        ([2, 1, 1, 1], (1 / 4, 3 / 4), (1, 1), (2 / 5, 6 / 7)),
        ([0.5, 0.5, 0.5, 1], (0, 1), (1, 1), (0, 1)),
    ],
)
def test_cell_of_positives_has_some_on_either_side_of_a_threshold_that_divides_it(
    weights: list[float], recall: Any, precision: Any, f: Any, threshold: float
) -> None:
    found = curve([1, 1, 1, 0], [0.5, 0.625, 0.75, 0.125], weights=weights, budget=2)
    for name, ends in {"recall_at": recall, "precision_at": precision, "f_at": f}.items():
        number = getattr(found, name)(threshold)
        assert (number.low, number.high) == pytest.approx(ends, abs=1e-15), name


@each("threshold", INSIDE)
def test_cell_of_negatives_has_some_on_either_side_of_a_threshold_that_divides_it(
    threshold: float,
) -> None:
    found = curve([0, 0, 0, 1], [0.5, 0.625, 0.75, 0.875], budget=2)
    precision, f = found.precision_at(threshold), found.f_at(threshold)
    assert (precision.low, precision.high) == (1 / 3, 1 / 2)
    assert (f.low, f.high) == (1 / 2, 2 / 3)


def test_cell_of_two_examples_of_a_class_is_known_at_a_threshold_that_divides_it() -> None:
    found = curve([1, 1, 0], [0.625, 0.75, 0.0], budget=2)
    np.testing.assert_array_equal(found.confusion_at(0.7).matrix, [[1, 0], [1, 1]])
    assert found.recall_at(0.7).exact
    assert found.confidence("precision_at", 0.7) == found.confidence("precision_at", 0.75)


@each("weights", [[1, 1, 1, 1], [0.5, 0.5, 0.5, 1.5]])
def test_cell_of_both_classes_can_have_all_of_one_above_a_threshold(weights: list[float]) -> None:
    found = curve([1, 1, 0, 0], [0.5, 0.75, 0.625, 0.125], weights=weights, budget=2)
    assert (found.recall_at(0.75).low, found.recall_at(0.75).high) == (0, 1)
    assert (found.precision_at(0.75).low, found.precision_at(0.75).high) == (0, 1)


@pytest.mark.filterwarnings("error")
def test_best_f_without_recall_is_defined_where_a_first_cell_may_hold_nothing_above() -> None:
    value, threshold = curve([0, 0, 1, 1, 0], [0.9, 0.91, 0.2, 0.3, 0.1], budget=3).best_f(0)
    assert float(value) == 0.5
    assert threshold.low <= 0.3 <= threshold.high


def test_best_f_is_that_of_the_best_threshold() -> None:
    value, threshold = curve().best_f(0.5)
    candidates = {
        t: sk.fbeta_score(TRUTH, np.array(SCORES) >= t, beta=0.5, zero_division=0) for t in SCORES
    }
    assert value == pytest.approx(max(candidates.values()), rel=1e-15)
    assert candidates[float(threshold)] == max(candidates.values())


def test_best_f_has_the_highest_of_several_thresholds() -> None:
    value, threshold = curve([1, 0, 1, 0, 0, 0], [0.9, 0.8, 0.7, 0.3, 0.2, 0.1]).best_f(0.0)
    assert (float(value), float(threshold)) == (1.0, 0.9)


def test_threshold_at_precision_is_that_of_the_recall() -> None:
    for wanted in (0.0, 0.3, 0.5, 0.6, 0.75, 1.0):
        threshold = curve().threshold_at_precision(wanted)
        assert curve().precision_at(threshold) >= wanted
        assert curve().recall_at(threshold) == curve().recall_at_precision(wanted)


def test_threshold_at_precision_compares_recalls_that_are_not_rounded() -> None:
    found = curve([1, 1, 0], [0.9, 0.8, 0.7], weights=np.array([2**53, 1, 5]))
    assert found.threshold_at_precision(1.0) == 0.8


def test_threshold_at_precision_is_no_lower_end_that_is_known_to_miss() -> None:
    found = curve([0, 1, 1, 0], [0.9, 0.8, 0.7, 0.6], budget=1)
    threshold = found.threshold_at_precision(0.75)
    assert float(found.precision_at(0.6)) == 0.5
    assert (float(threshold), threshold.low, threshold.high) == (0.9, math.nextafter(0.6, 1), 0.9)


def test_threshold_at_precision_is_above_the_lower_end_of_a_later_cell() -> None:
    found = curve([1, 1, 1, 0, 1], [0.95, 0.7, 0.6, 0.3, 0.26], budget=3)
    threshold = found.threshold_at_precision(0.85)
    assert (float(threshold), threshold.low, threshold.high) == (0.6, math.nextafter(0.26, 1), 0.7)


@each(
    ("y", "scores", "least"),
    [
        ([1, 1, 0, 0, 0], [0.7, 0.3, 0.3, 0.01, 0.011], 2 / 3),
        ([1, 0, 1, 1], [0.7, 0.5, 0.3, 0.28], 3 / 4),
    ],
)
def test_threshold_at_precision_is_not_in_a_cell_whose_lower_end_is_best_and_misses(
    y: list[int], scores: list[float], least: float
) -> None:
    found = curve(y, scores, budget=3)
    assert not found.exact
    threshold = found.threshold_at_precision(math.nextafter(least, 1))
    assert (float(threshold), threshold.low, threshold.high) == (0.7, 0.7, 0.7)


def test_threshold_at_a_precision_that_is_not_reached_is_nan() -> None:
    found = curve([0, 1], [0.9, 0.1])
    assert math.isnan(found.threshold_at_precision(0.75))
    assert found.recall_at_precision(0.75) == 0.0


def test_recall_at_precision_is_the_highest() -> None:
    precision, recall, _ = sk.precision_recall_curve(TRUTH, SCORES)
    for wanted in (0.5, 0.6, 0.75, 1.0):
        reached = recall[:-1][precision[:-1] >= wanted]
        assert curve().recall_at_precision(wanted) == reached.max(initial=0)
        assert curve().precision_at_recall(wanted) == precision[recall >= wanted].max()


def raw_variance(truth: np.ndarray, scores: np.ndarray) -> tuple[float, float]:
    """DeLong's AUC and its variance from all pairs."""
    positives, negatives = scores[truth == 1], scores[truth == 0]
    wins = (positives[:, None] > negatives) + (positives[:, None] == negatives) / 2
    of_positives, of_negatives = wins.mean(axis=1), wins.mean(axis=0)
    auc = wins.mean()
    return auc, (
        ((of_positives - auc) ** 2).sum() / (len(positives) - 1) / len(positives)
        + ((of_negatives - auc) ** 2).sum() / (len(negatives) - 1) / len(negatives)
    )


def area_interval(truth: np.ndarray, scores: np.ndarray, z: float) -> tuple[float, float]:
    """Find the areas whose distance is `z` deviations, for the variance of as many draws."""
    auc, variance = raw_variance(truth, scores)
    n_pos, n_neg = np.count_nonzero(truth == 1), np.count_nonzero(truth == 0)
    at_random = (n_pos + n_neg + 1) / (12 * n_pos * n_neg)
    spread = auc * (1 - auc)
    share = 4 * at_random / (1 + 2 * min(n_pos, n_neg) * spread)
    if spread:
        share += variance / spread
    # (t - auc)**2 = z**2 share t (1 - t)
    ends = np.roots([1 + z**2 * share, -2 * auc - z**2 * share, auc**2])
    low, high = sorted(ends.real.tolist())
    return low, high


@each(("level", "z"), [(0.95, 1.959963984540054), (0.5, 0.6744897501960817)])
@each("values", [5, 20, 1000])
def test_interval_of_roc_auc_is_that_of_all_pairs(values: int, level: float, z: float) -> None:
    for seed in range(40):
        random = np.random.default_rng(seed)
        size = int(random.integers(6, 300))
        truth = random.integers(0, 2, size)
        truth[:4] = [0, 0, 1, 1]
        scores = np.clip(random.integers(0, values, size) + truth * values // 4, 0, None) / values
        found = curve(truth, scores, scores="real").confidence("roc_auc", level=level)
        assert found == pytest.approx(area_interval(truth, scores, z), rel=1e-9, abs=1e-9)


def test_interval_takes_whole_weights_as_repeats() -> None:
    random = np.random.default_rng(3)
    truth, scores = random.integers(0, 2, 60), random.integers(0, 20, 60) / 20
    weights = random.integers(0, 4, 60)
    repeated = curve(np.repeat(truth, weights), np.repeat(scores, weights))
    for call in (("roc_auc",), ("precision_at", 0.5), ("recall_at", 0.25)):
        assert curve(truth, scores, weights=weights).confidence(*call) == repeated.confidence(*call)


@each(
    ("truth", "scores"),
    [([0, 0], [0.1, 0.2]), ([], [])],
)
def test_interval_of_roc_auc_is_nan_when_it_is(truth: list[int], scores: list[float]) -> None:
    low, high = curve(truth, scores).confidence("roc_auc")
    assert math.isnan(low)
    assert math.isnan(high)


@each("n_pos", [2, 10, 1000])
def test_interval_of_a_perfect_order_reaches_as_far_as_few_examples_allow(n_pos: int) -> None:
    truth = np.repeat([0, 1], [500, n_pos])
    low, high = curve(truth, truth.astype(float)).confidence("roc_auc")
    share = 1.959963984540054**2 * (500 + n_pos + 1) / (3 * 500 * n_pos)
    assert (low, high) == (pytest.approx(1 / (1 + share), rel=1e-9), 1.0)
    reverse = curve(truth, 1.0 - truth).confidence("roc_auc")
    assert reverse == (0.0, pytest.approx(1 - low, rel=1e-9))


@each(
    ("truth", "scores"),
    [([0, 1, 1], [0.1, 0.05, 0.9]), ([0, 0, 1], [0.1, 0.2, 0.15]), ([0, 1], [0.1, 0.2])],
)
def test_interval_of_one_example_of_a_class_is_that_of_one_draw(
    truth: list[int], scores: list[float]
) -> None:
    found = curve(truth, scores)
    assert found.confidence("roc_auc") == pytest.approx(wilson(found.roc_auc, 1), rel=1e-12)


def test_area_is_computed_once_for_the_value_and_its_interval(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, usual = [], curves.roc_auc

    def roc_auc(outcomes: Any) -> float:
        asked.append(outcomes)
        return usual(outcomes)

    monkeypatch.setattr(curves, "roc_auc", roc_auc)
    found = curve()
    assert found.read("roc_auc", level=0.95).sampling == found.confidence("roc_auc")
    assert float(found.roc_auc) == sk.roc_auc_score(TRUTH, SCORES)
    assert len(asked) == 1


def test_interval_of_a_constant_score_narrows_with_the_examples() -> None:
    widths = []
    for size in (2, 10, 1000):
        low, high = curve([0, 1] * size, [0.5] * 2 * size).confidence("roc_auc")
        assert low == pytest.approx(1 - high)
        widths.append(high - low)
    assert widths[0] > 0.6
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.01


@each("call", [("roc_auc",), ("precision_at", 0.5), ("recall_at", 0.5)])
def test_interval_grows_with_its_level_from_the_value_on(call: tuple[Any, ...]) -> None:
    found = curve()
    value = float(getattr(found, call[0])(*call[1:]) if call[1:] else found.roc_auc)
    assert found.confidence(*call, level=0) == pytest.approx((value, value), rel=1e-12)
    ends = [found.confidence(*call, level=level) for level in (0.5, 0.8, 0.95, 0.999)]
    assert all(0 <= low <= value <= high <= 1 for low, high in ends)
    widths = [high - low for low, high in ends]
    assert widths == sorted(set(widths))


def wilson(hits: float, n: float, z: float = 1.959963984540054) -> tuple[float, float]:
    middle = (hits + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * math.sqrt(hits * (n - hits) / n + z * z / 4)
    return middle - half, middle + half


def test_interval_of_precision_and_recall_is_that_of_wilson() -> None:
    assert curve().confidence("precision_at", 0.5) == pytest.approx(wilson(2, 4), rel=1e-12)
    assert curve().confidence("recall_at", 0.25) == pytest.approx(wilson(4, 4), rel=1e-12)
    assert curve().confidence("recall_at", 0.5) == pytest.approx(wilson(2, 4), rel=1e-12)


@each(
    ("found", "call"),
    [
        (curve(), ("precision_at", 2.0)),
        (curve([0] * 8), ("recall_at", 0.5)),
        (curve([], []), ("precision_at", 0.5)),
        (curve([], []), ("recall_at", 0.5)),
    ],
)
def test_share_of_nothing_may_be_anything_unless_undefined(
    found: Any, call: tuple[Any, ...]
) -> None:
    name, at = call
    ends = found.confidence(name, at)
    assert str(ends) == str((math.nan,) * 2 if math.isnan(found.value(name, at)) else (0.0, 1.0))


def test_interval_of_a_coarse_curve_covers_those_of_its_ends() -> None:
    coarse, exact = beta_curve(100), beta_curve(None)
    for call in (("roc_auc",), ("precision_at", 0.3), ("recall_at", 0.3)):
        low, high = coarse.confidence(*call)
        inner = exact.confidence(*call)
        assert low < inner[0] < inner[1] < high
        value = coarse.roc_auc if len(call) == 1 else getattr(coarse, call[0])(call[1])
        assert low < value.low < value.high < high


def test_interval_of_a_coarse_curve_is_that_of_its_extreme_data() -> None:
    # cells 0.125 (negative) and from 0.5 to 0.75, of two positives and two negatives
    truth, scores = [0, 0, 1, 1, 0, 0, 1], [0.125, 0.125, 0.125, 0.5, 0.5, 0.75, 0.75]
    found = curve(truth, scores, budget=2)
    ends = []
    for worst in (True, False):
        moved = [0.75 if (label == 0) == worst else 0.5 for label in truth[3:]]
        at = np.array([*scores[:3], *moved])
        ends.append(area_interval(np.array(truth), at, 1.959963984540054))
    expected = min(low for low, _ in ends), max(high for _, high in ends)
    assert found.confidence("roc_auc") == pytest.approx(expected, rel=1e-12)


@each("metric", ["average_precision", "pr_auc", "roc_auc"])
def test_areas_of_a_perfect_order_are_one(metric: str) -> None:
    for n_pos in range(1, 100):
        truth, score = [0, *[1] * n_pos], [0.0, *np.linspace(0.5, 1.0, n_pos)]
        curve = se.PRCurveSketch().update(truth, score).compute()
        assert curve.value(metric) == pytest.approx(1.0, abs=1e-12)
        assert curve.value(metric) <= 1.0
    if metric != "pr_auc":
        assert max(curve.confidence(metric, level=0.0)) <= 1.0


def test_interval_of_a_coarse_curve_covers_a_perfect_and_a_reverse_order() -> None:
    found = curve([0, 0, 1, 1], [0.5, 0.625, 0.5625, 0.6875], budget=1)
    assert (found.roc_auc.low, found.roc_auc.high) == (0, 1)
    assert found.confidence("roc_auc") == (0, 1)


def test_interval_of_a_coarse_curve_covers_a_perfect_order() -> None:
    found = curve([0, 0, 1, 1], [0.125, 0.5, 0.625, 0.75], budget=2)
    assert (found.roc_auc.low, found.roc_auc.high) == pytest.approx((0.5, 1), rel=1e-11)
    low, high = found.confidence("roc_auc")
    assert 0 < low < 0.2
    assert high == 1


@pytest.mark.slow
def test_interval_of_roc_auc_covers_the_truth_as_often_as_it_says() -> None:
    truth_auc, covered, times = 0.7602499389065233, 0, 400  # Phi(1 / sqrt 2)
    random = np.random.default_rng(5)
    for _ in range(times):
        labels = np.repeat([0, 1], 60)
        scores = random.normal(labels)
        low, high = curve(labels, scores, scores="real").confidence("roc_auc", level=0.9)
        covered += low <= truth_auc <= high
    assert 0.86 <= covered / times <= 0.94


@pytest.mark.slow
@each(
    ("n_pos", "n_neg", "auc", "is_skewed"),
    [
        (10, 990, 0.961, False),
        (10, 490, 0.856, False),
        (60, 140, 0.993, False),
        (10, 490, 0.96, True),
    ],
)
def test_interval_of_roc_auc_covers_the_truth_with_few_positives(
    n_pos: int, n_neg: int, auc: float, is_skewed: bool
) -> None:
    random, covered, times = np.random.default_rng(6), 0, 300
    labels = np.repeat([0, 1], [n_neg, n_pos])
    for _ in range(times):
        if is_skewed:
            scores = random.exponential(np.where(labels, auc / (1 - auc), 1.0))
        else:
            scores = random.normal(labels * NormalDist().inv_cdf(auc) * math.sqrt(2))
        low, high = curve(labels, scores, scores="real").confidence("roc_auc")
        covered += low <= auc <= high
    assert covered / times >= 0.93


@pytest.mark.slow
@each(("n_pos", "n_neg", "max_fpr", "auc"), [(10, 490, 0.1, 0.96), (10, 90, 0.3, 0.86)])
def test_interval_of_a_partial_area_covers_the_truth_with_few_positives(
    n_pos: int, n_neg: int, max_fpr: float, auc: float
) -> None:
    random, covered, times = np.random.default_rng(12), 0, 300
    labels, power = np.repeat([0, 1], [n_neg, n_pos]), (1 - auc) / auc
    # the true positive rate of exponential scores is fpr**power
    mean_rate = max_fpr**power / (1 + power)
    area = 0.5 + 0.5 * (mean_rate - max_fpr / 2) / (1 - max_fpr / 2)
    for _ in range(times):
        scores = random.exponential(np.where(labels, 1 / power, 1.0))
        found = curve(labels, scores, scores="real")
        low, high = found.confidence("partial_roc_auc", max_fpr)
        covered += low <= area <= high
    assert covered / times >= 0.93


def test_interval_of_a_partial_area_needs_both_classes_and_a_rate() -> None:
    assert all(map(math.isnan, curve([0, 0], [0.1, 0.2]).confidence("partial_roc_auc", 0.5)))
    with pytest.raises(se.InvalidInputError, match="`max_fpr` must lie in"):
        curve([0, 1], [0.1, 0.2]).confidence("partial_roc_auc", 2)


@pytest.mark.slow
@each(("n_pos", "n", "distance", "share"), [(50, 1000, 4.0, 0.05), (10, 2000, 1.0, 0.05)])
def test_interval_of_recall_at_the_top_covers_the_truth(
    n_pos: int, n: int, distance: float, share: float
) -> None:
    random, covered, times = np.random.default_rng(13), 0, 120
    normal, rate = NormalDist(), n_pos / n
    cuts = np.linspace(-5, 5 + distance, 10_001)
    tails = [1 - np.vectorize(normal.cdf)(cuts - at) for at in (distance, 0.0)]
    above = rate * tails[0] + (1 - rate) * tails[1]
    truth = float(np.interp(share, above[::-1], tails[0][::-1]))
    for _ in range(times):
        labels = random.random(n) < rate
        found = curve(labels, random.normal(distance * labels), scores="real")
        low, high = found.confidence("recall_at_top", share)
        covered += low <= truth <= high
        lift = found.confidence("lift_at_top", share)
        assert lift == pytest.approx((low / share, high / share))
    assert covered / times >= 0.95


def test_interval_of_recall_at_the_top_holds_its_bounds_and_needs_positives() -> None:
    found = curve([0, 1] * 50, np.linspace(0, 1, 100), budget=4)
    held = found.recall_at_top(0.3)
    low, high = found.confidence("recall_at_top", 0.3)
    assert low < held.low < held.high < high
    assert found.confidence("recall_at_top", 0.3, level=0) == (held.low, held.high)
    assert found.confidence("recall_at_top", 1.0)[1] == 1.0
    assert found.confidence("lift_at_top", 0.3) == (low / 0.3, high / 0.3)
    assert all(map(math.isnan, curve([0, 0], [0.1, 0.2]).confidence("recall_at_top", 0.5)))
    with pytest.raises(se.InvalidInputError, match="`share` must be above 0"):
        found.confidence("lift_at_top", 0)


@given(
    truth=st.lists(st.booleans(), min_size=1, max_size=40).filter(lambda rows: len({*rows}) == 2),
    max_fpr=st.sampled_from([2.0**-1000, 0.01, 0.1, 0.5, 1.0]),
    data=st.data(),
)
def test_interval_of_a_partial_area_holds_the_bounds_and_becomes_that_of_the_area(
    truth: list[bool], max_fpr: float, data: st.DataObject
) -> None:
    size = len(truth)
    scores = data.draw(
        st.lists(st.sampled_from(np.linspace(0, 1, 17)), min_size=size, max_size=size)
    )
    found = curve(truth, scores, budget=data.draw(st.sampled_from([1, 3, 64])))
    bounded = found.partial_roc_auc(max_fpr)
    levels = (1e-9, 0.5, 0.99)
    ends = [found.confidence("partial_roc_auc", max_fpr, level=level) for level in levels]
    assert found.confidence("partial_roc_auc", max_fpr, level=0) == (bounded.low, bounded.high)
    lows, highs = zip(*ends, strict=True)
    assert [*lows] == sorted(lows, reverse=True)
    assert [*highs] == sorted(highs)
    least = (1 - max_fpr) / (2 - max_fpr)
    assert least - 1e-12 <= lows[-1] <= lows[0] <= bounded.low + 1e-9
    assert bounded.high - 1e-9 <= highs[0] <= highs[-1] <= 1 + 1e-12
    if max_fpr == 1:
        area = found.confidence("roc_auc", level=0.99)
        assert ends[-1] == pytest.approx(area, rel=1e-9, abs=1e-12)


@given(
    truth=st.lists(st.booleans(), min_size=1, max_size=40).filter(lambda rows: len({*rows}) == 2),
    data=st.data(),
)
def test_interval_of_roc_auc_is_within_0_and_1_and_holds_the_bounds_at_every_level(
    truth: list[bool], data: st.DataObject
) -> None:
    size = len(truth)
    scores = data.draw(
        st.lists(st.sampled_from(np.linspace(0, 1, 17)), min_size=size, max_size=size)
    )
    found = curve(truth, scores, budget=data.draw(st.sampled_from([1, 3, 64])))
    ends = [found.confidence("roc_auc", level=level) for level in (1e-9, 0.5, 0.95, 0.999)]
    assert found.confidence("roc_auc", level=0) == (found.roc_auc.low, found.roc_auc.high)
    lows, highs = zip(*ends, strict=True)
    assert [*lows] == sorted(lows, reverse=True)
    assert [*highs] == sorted(highs)
    assert 0 <= lows[-1] <= lows[0] <= found.roc_auc.low + 1e-9
    assert found.roc_auc.high - 1e-9 <= highs[0] <= highs[-1] <= 1


def test_repr_is_one_line() -> None:
    assert repr(curve()) == "Curve(n=8, exact, roc_auc=0.6875, average_precision=0.733333)"
    assert repr(curve(budget=3)).startswith("Curve(n=8, 3 bins, roc_auc=")


WORDS = {
    "nothing": (curve([], []), "Nothing has been counted yet."),
    "no positive": (curve([0] * 8), "No positive has been seen: one class only. Every metric but"),
    "no negative": (curve([1] * 8), "No negative has been seen: one class only. ROC AUC and KS"),
    "a constant": (curve([0, 1], [0.25] * 2), "All scores are 0.25: a constant ranks nothing."),
    "ends": (curve(), "25.0% of the scores are exactly 0 or 1: the model is saturated, or its"),
    "logits": (
        curve([0, 1], [-2, 1e3], scores="real"),
        "Scores reach from -2 to 1000: they look like logits or margins. Ranking metrics do not",
    ),
    "probabilities": (
        curve(scores="real"),
        'All scores lie in [0, 1]: scores="probability" would give log loss, Brier and ECE too',
    ),
    "ties": (
        curve([0, 1, 0, 1], [0.25, 0.25, 0.25, 0.75]),
        "50.0% of the pairs of a positive and a negative tie: each counts half.",
    ),
    "exact": (curve(), "Every number is exact: each of 8 distinct scores has its own bin."),
    "cells": (curve(budget=3), "1 of 3 bins hold several scores; the widest spans 0.625."),
    "open": (
        curve([0, 1], [0.5, 0.625], budget=1),
        "The interval of ROC AUC is 1 wide: in that share of the",
    ),
    "budget": (curve([0, 1], [0.5, 0.625], budget=1), "budget=2 would have kept these data one"),
}


@each("claim", WORDS)
def test_explanation_speaks_of(claim: str) -> None:
    found, words = WORDS[claim]
    assert words in " ".join(found.explain().split())


SILENT = {
    "no saturation": (curve([0, 1] * 200, [0.5, *np.linspace(0, 0.9, 399)]), "saturated"),
    "no ties": (curve(), "tie"),
    "no ties within wide cells": (curve(TRUTH, SCORES, budget=2), " tie"),
    "no constant": (curve(), "constant"),
    "no ties of a constant": (curve([0, 1], [0.25] * 2), " tie"),
    "no scale of probabilities": (curve(), "logits"),
    "no cells": (curve(), "several"),
    "no certified width of one class": (curve([0] * 8, budget=2), "ROC AUC is open"),
    "nothing of nothing": (curve([], []), "exact"),
    "both classes": (curve(), "one class"),
}


@each("claim", SILENT)
def test_explanation_is_silent_when_there_are(claim: str) -> None:
    found, words = SILENT[claim]
    assert words not in " ".join(found.explain().split())


@each("name", [name for name in EVERY if "curve" in name])
def test_explanation_is_a_list_of_sentences_of_at_most_80_columns(name: str) -> None:
    text = EVERY[name]().compute().explain()
    assert max(map(len, text.split("\n"))) <= 80
    for part in text.split("\n\n"):
        items = part.partition("\n")[2] if part.startswith("class ") else part
        assert items.startswith("* ")
        for item in items.removeprefix("* ").split("\n* "):
            assert item.endswith(".")
            assert all(line.startswith("  ") for line in item.split("\n")[1:])


def named_budget(found: Any) -> int:
    return int(found.explain().split("budget=")[1].split()[0].replace(",", ""))


def level(found: se.PRCurveSketch) -> int:
    return int(found._state.levels.values[0])


@each("budget", [50, 300, 2000])
def test_budget_that_the_explanation_names_is_the_least_that_keeps_a_bit_more(budget: int) -> None:
    random = np.random.default_rng(budget)
    scores = random.beta(2, 3, 20_000)
    truth = random.random(20_000) < scores
    sketch = se.PRCurveSketch(budget).update(truth, scores)
    wanted = named_budget(sketch.compute())
    assert wanted > budget
    for finer, expected in ((wanted, level(sketch) - 1), (wanted - 1, level(sketch))):
        assert level(se.PRCurveSketch(finer).update(truth, scores)) == expected


@each("budget", [50, 300, 2000])
def test_budget_that_the_explanation_names_about_halves_the_interval(budget: int) -> None:
    coarse = beta_curve(budget)
    fine = beta_curve(named_budget(coarse))
    widths = [found.roc_auc.high - found.roc_auc.low for found in (coarse, fine)]
    assert 0.4 < widths[1] / widths[0] < 0.6


def test_f_of_a_huge_beta_is_recall() -> None:
    curve = se.PRCurveSketch().update([0, 1, 1, 0], [0.1, 0.4, 0.35, 0.8]).compute()
    for beta in (1e200, math.inf):
        assert curve.f_at(0.38, beta) == curve.recall_at(0.38) == 0.5
        value, threshold = curve.best_f(beta)
        assert (value, threshold) == (1.0, 0.35)


def test_precision_a_rounding_below_is_not_enough_where_weights_have_fractions() -> None:
    sketch = se.PRCurveSketch().update([1, 0, 1], [0.9, 0.8, 0.7], sample_weight=[0.5, 1, 0.5])
    curve, above_half = sketch.compute(), math.nextafter(0.5, 1)
    assert (curve.recall_at_precision(0.5), curve.threshold_at_precision(0.5)) == (1.0, 0.7)
    assert curve.recall_at_precision(above_half) == 0.5
    assert curve.threshold_at_precision(above_half) == 0.9


def test_partial_area_up_to_a_rate_of_one_is_the_area() -> None:
    curve = se.PRCurveSketch().update([0, 1, 1, 0], [0.1, 0.4, 0.35, 0.8]).compute()
    assert curve.partial_roc_auc(1.0) == curve.roc_auc


def test_partial_area_up_to_a_rate_that_would_underflow_is_refused() -> None:
    found = curve([0, 1, 1, 0], [0.1, 0.4, 0.35, 0.2])
    assert found.partial_roc_auc(2.0**-1000) == 1.0
    with pytest.raises(se.InvalidInputError, match="`max_fpr` must lie in"):
        found.partial_roc_auc(np.nextafter(2.0**-1000, 0))


def test_precision_that_no_threshold_has_leaves_no_recall_where_counts_pass_floats() -> None:
    weight = [2**60, 2**60 + 1]
    result = se.PRCurveSketch().update([0, 1], [0.75, 0.25], sample_weight=weight).compute()
    assert result.recall_at_precision(0.9) == 0.0
    assert result.recall_at_precision(0.5) == 1.0


def test_class_wise_error_is_read_by_name_and_left_out_of_all_else() -> None:
    curves = se.PRCurveSketch(classes=2).update([0, 1, 1], [[1, 0], [0.5, 0.5], [0.25, 0.75]])
    result = curves.compute()
    assert result.class_wise_ece(1) == result[0].ece(1) == 0.25
    assert result.read("class_wise_ece").value == result.class_wise_ece()
    assert "class_wise_ece" not in result.report()
    assert "class_wise_ece" not in result.as_dict()


def test_class_wise_error_of_margins_is_refused() -> None:
    result = se.PRCurveSketch(classes=2, scores="real").compute()
    with pytest.raises(se.InvalidInputError, match="needs probabilities"):
        result.class_wise_ece()
    with pytest.raises(se.InvalidInputError, match="class_wise_ece is not defined here"):
        result.read("class_wise_ece")


def test_davis_goadrich_area_is_the_integral_from_point_to_point() -> None:
    """From nothing to 1 of 1 found, then to 2 of 3: t / (2 t - 1) from 1 to 2."""
    curve = se.PRCurveSketch().update([1, 1, 0, 0], [0.9, 0.5, 0.5, 0.1]).compute()
    expected = (1 + 0.5 + math.log(3) / 4) / 2
    assert curve.pr_auc_davis_goadrich == pytest.approx(expected, rel=1e-14)
    assert curve.pr_auc_davis_goadrich.exact


def test_davis_goadrich_area_lies_between_negatives_first_and_last() -> None:
    curve = se.PRCurveSketch(1).update([1, 0, 1, 0], [0.9, 0.5, 0.6, 0.1]).compute()
    area = curve.pr_auc_davis_goadrich
    assert (area.low, area.high) == pytest.approx((1 - math.log(2), 1.0))
    assert area == pytest.approx(0.5)


def test_davis_goadrich_area_without_a_positive_is_nan() -> None:
    assert math.isnan(se.PRCurveSketch().update([0], [0.5]).compute().pr_auc_davis_goadrich)


OF_POSITIVES = {
    *("average_precision", "average_precision_interpolated", "average_precision_11pt"),
    *("pr_auc", "pr_auc_davis_goadrich", "best_f", "best_f_threshold"),
    *("recall_at", "recall_at_precision", "precision_at_recall", "threshold_at_precision"),
    *("precision_at_top", "recall_at_top", "lift_at_top", "threshold_at_sensitivity"),
}
"""The metrics that need a positive."""
OF_BOTH = {
    *("roc_auc", "gini", "partial_roc_auc", "ks", "d2_log_loss_score", "d2_brier_score"),
    *("equal_error_rate", "equal_error_rate_threshold", "youden_j", "youden_j_threshold"),
    *("min_cost", "tpr_at_fpr", "fpr_at_tpr", "sensitivity_at_specificity"),
    *("specificity_at_sensitivity", "threshold_at_fpr", "threshold_at_specificity"),
}
"""The metrics that need both classes."""


@each("budget", [1, 64])
def test_a_metric_is_nan_exactly_where_its_row_lacks_what_it_needs(budget: int) -> None:
    for truth in ([], [0], [1], [0, 0, 0], [1, 1, 1], [0, 1], [0, 1, 0, 1]):
        scores = [0.25 + 0.125 * index for index in range(len(truth))]
        curve = se.PRCurveSketch(budget).update(truth, scores).compute()
        asked = [curve.asked(name.replace("(x)", "(0.5)")) for name in curve.readable()]
        undefined = {one.row.name for one in asked if math.isnan(one.value())}
        everything = {one.row.name for one in asked if not one.row.is_count}
        expected = [
            everything - {"precision_at", "f_at"} if not truth else set(),
            OF_POSITIVES if 1 not in truth else set(),
            OF_BOTH if len({*truth}) < 2 else set(),
        ]
        assert undefined == set().union(*expected)
