"""`Paired` with measures: areas by DeLong, mean losses, and the states that hold them."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping
from statistics import NormalDist
from typing import Any

import attrs
import numpy as np
import pytest
from offenders import each
from scipy import stats

import streameval as se
from streameval.configs.paired import DECISIONS, ERRORS, PAIRED_MEASURES
from streameval.exact.exact_sum import ExactSum
from streameval.exact.fixed_point import FixedPoint
from streameval.exact.score_keys import keys_of, prefixes
from streameval.states.column import Column

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]

EIGHT: Rows = (
    np.array([0, 0, 0, 0, 1, 1, 1, 1]),
    np.array([0.1, 0.6, 0.3, 0.7, 0.4, 0.8, 0.5, 0.9]),
    np.array([0.1, 0.2, 0.3, 0.6, 0.5, 0.8, 0.7, 0.9]),
)


def rows_of(size: int, seed: int = 0, digits: int = 17) -> Rows:
    """Draw a truth and the probabilities of two models, which err alike."""
    random = np.random.default_rng(seed)
    truth = random.integers(0, 2, size)
    looks = 2 * truth - 1 + 1.4 * random.normal(size=size)
    a, b = (1 / (1 + np.exp(-looks - noise * random.normal(size=size))) for noise in (0.3, 0.7))
    return truth, a.round(digits), b.round(digits)


def of(rows: Rows, *measures: str, **options: Any) -> Any:
    return se.Paired(measures=measures, **options).update(*rows)


def delong(truth: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """The difference of the areas and its deviation, pair by pair."""
    kernels = [
        (s[truth == 1][:, None] > s[truth == 0]) + 0.5 * (s[truth == 1][:, None] == s[truth == 0])
        for s in (a, b)
    ]
    areas = [kernel.mean() for kernel in kernels]
    of_positives = np.cov([kernel.mean(axis=1) for kernel in kernels]) / (truth == 1).sum()
    of_negatives = np.cov([kernel.mean(axis=0) for kernel in kernels]) / (truth == 0).sum()
    covariance = of_positives + of_negatives
    variance = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    return areas[0] - areas[1], math.sqrt(max(variance, 0.0))


def unseen(truth: np.ndarray) -> float:
    """The variance that each squared deviation of an interval adds for few of a class."""
    rarer, other = sorted(np.bincount(truth, minlength=2).tolist())
    return (len(truth) + 1) / (12 * rarer * other) / (2 * rarer)


def test_areas_and_their_test_are_those_of_delong_when_every_pair_is_kept() -> None:
    rows = rows_of(300, digits=1)  # many ties
    result = of(rows, "roc_auc").compute()
    difference, deviation = delong(*rows)
    assert result.roc_auc_difference == pytest.approx(difference, rel=1e-12)
    low, high = result.confidence("roc_auc_difference")
    z, unit = 1.959963984540054, unseen(rows[0])
    assert (high - low) / 2 == pytest.approx(z * math.sqrt(deviation**2 + z**2 * unit), rel=1e-12)
    assert result.exact


def test_interval_of_areas_ends_at_0_at_the_level_of_their_test() -> None:
    for seed, budget in itertools.product(range(8), (None, 40)):
        truth, a, b = rows_of(60, seed)
        for rows in ((truth, a, b), (truth, truth.astype(float), a), (truth, a, a)):
            result = of(rows, "roc_auc", budget=budget).compute()
            level = 1 - result.roc_auc_pvalue.high
            for share, contains in ((0.999, True), (1.001, False)):
                low, high = result.confidence(
                    "roc_auc_difference", level=min(level * share, 1 - 1e-9)
                )
                assert (low <= 0 <= high) != contains or not level


@pytest.mark.slow
@each(
    ("n_pos", "n_neg", "areas"),
    [
        (10, 190, (0.96, 0.9)),
        (10, 490, (0.99, 0.98)),
        (10, 190, (0.8, 0.8)),
        (60, 140, (0.99, 0.98)),
    ],
)
def test_interval_of_areas_covers_their_difference_with_few_positives(
    n_pos: int, n_neg: int, areas: tuple[float, float]
) -> None:
    random, truth, covered, times = (
        np.random.default_rng(7),
        np.repeat([0, 1], [n_neg, n_pos]),
        0,
        200,
    )
    apart = [NormalDist().inv_cdf(area) * math.sqrt(2) for area in areas]
    for _ in range(times):
        noise = random.normal(size=(2, len(truth)))
        a, b = noise[0] + truth * apart[0], 0.8 * noise[0] + 0.6 * noise[1] + truth * apart[1]
        result = of((truth, a, b), "roc_auc", scores="real").compute()
        low, high = result.confidence("roc_auc_difference")
        covered += low <= areas[0] - areas[1] <= high
    assert covered / times >= 0.93


def test_areas_are_those_of_a_curve_of_each_model() -> None:
    rows = rows_of(500)
    result = of(rows, "roc_auc", budget=64).compute()
    for model, scores in (("a", rows[1]), ("b", rows[2])):
        curve: Any = se.PRCurveSketch(budget=64).update(rows[0], scores).compute()
        area = result.value(f"roc_auc_{model}")
        assert repr(area) == repr(curve.roc_auc)
        assert result.confidence(f"roc_auc_{model}") == curve.confidence("roc_auc")


@each("budget", [1, 2, 7, 30, 100, 250])
@each("seed", range(6))
def test_bounds_contain_what_every_pair_would_have_given(budget: int, seed: int) -> None:
    rows = rows_of(300, seed)
    exact = of(rows, "roc_auc", budget=None).compute()
    merged = of(rows, "roc_auc", budget=budget).compute()
    assert not merged.exact
    for name in ("roc_auc_a", "roc_auc_b", "roc_auc_difference", "roc_auc_pvalue"):
        bounded = merged.value(name)
        assert bounded.low <= exact.value(name) <= bounded.high, name
    deviation = merged._compared["roc_auc"].deviation
    assert deviation.low <= delong(*rows)[1] <= deviation.high
    low, high = merged.confidence("roc_auc_difference")
    inner_low, inner_high = exact.confidence("roc_auc_difference")
    assert low <= inner_low < inner_high <= high


@each("budget", [1, 5, 40, 150])
def test_pairs_are_merged_no_further_than_the_budget_demands(budget: int) -> None:
    rows = rows_of(200)
    pairs = of(rows, "roc_auc", budget=budget)._state.pairs
    keys = [keys_of(scores, "probability") for scores in rows[1:]]
    sizes = [
        len(set(zip(*(prefixes(part, level).tolist() for part in keys), strict=True)))
        for level in (pairs.level - 1, pairs.level)
    ]
    assert sizes[0] > budget >= sizes[1] == len(pairs)


def test_merged_pairs_cost_little_of_the_interval() -> None:
    rows = rows_of(20_000)
    exact = of(rows, "roc_auc", budget=None).compute().confidence("roc_auc_difference")
    merged = of(rows, "roc_auc", budget=10_000).compute().confidence("roc_auc_difference")
    assert merged[1] - merged[0] < 1.15 * (exact[1] - exact[0])


def test_pairs_may_be_merged_where_the_scores_of_each_model_fit() -> None:
    rows = rows_of(2_000, digits=2)
    result = of(rows, "roc_auc", budget=128).compute()
    assert (result.exact, result.roc_auc_difference.exact) == (False, True)
    bounded = result.roc_auc_pvalue
    assert bounded.low < of(rows, "roc_auc").compute().roc_auc_pvalue < bounded.high


@each("budget", [1, 10, 65_536])
def test_models_with_equal_scores_do_not_differ(budget: int) -> None:
    truth, a, _ = rows_of(100)
    result = of((truth, a, a), *PAIRED_MEASURES, budget=budget).compute()
    assert (result.roc_auc_difference, result.roc_auc_pvalue) == (0.0, 1.0)
    assert (result.brier_difference, result.log_loss_pvalue) == (0.0, 1.0)
    z = 1.959963984540054
    of_rows, of_class = z**2 / (100 + z**2), z**2 * math.sqrt(unseen(truth))
    assert result.confidence("brier_difference") == pytest.approx((-of_rows, of_rows))
    low, high = result.confidence("roc_auc_difference")
    assert (low, high) == pytest.approx((-of_class, of_class)) or budget < 65_536
    assert low <= -of_class + 1e-12 < of_class <= high + 1e-12


def test_numbers_whose_errors_never_differ_may_differ_by_anything_elsewhere() -> None:
    result = se.Paired(None, measures=["mse"]).update([1, 2, 3], [1, 2, 3], [1, 2, 3]).compute()
    assert result.confidence("mse_difference") == (-math.inf, math.inf)
    assert result.readings()["mse_difference"].sampling == (-math.inf, math.inf)


def test_areas_without_a_deviation_have_a_wide_interval_and_a_test() -> None:
    truth = np.array([0, 0, 1, 1])
    result = of((truth, truth * 1.0, 1.0 - truth), "roc_auc").compute()
    assert (result.roc_auc_a, result.roc_auc_b, result.roc_auc_difference) == (1.0, 0.0, 1.0)
    z_squared = 1 / math.sqrt(unseen(truth))
    assert result.roc_auc_pvalue == pytest.approx(math.erfc(math.sqrt(z_squared / 2)))
    low, high = result.confidence("roc_auc_difference")
    assert (low, high) == pytest.approx((1 - 1.959963984540054**2 / z_squared, 1.0))


@each("truth", [[], [1], [1, 1, 1], [0, 1, 1], [0, 1]])
def test_areas_need_both_classes_for_a_test(truth: list[int]) -> None:
    scores = np.linspace(0.1, 0.9, len(truth))
    result = of((np.array(truth), scores, scores[::-1]), "roc_auc", "brier").compute()
    low, high = result.confidence("roc_auc_difference")
    assert math.isnan(result.roc_auc_pvalue) == math.isnan(low) == (0 not in truth)
    assert math.isnan(low) or high - low > 0.7
    assert math.isnan(result.roc_auc_a) == (0 not in truth)
    assert math.isnan(result.brier_a) == (not truth)
    assert math.isnan(result.brier_pvalue) == (len(truth) < 2)
    for name, widest in (("brier_a", (0.0, 1.0)), ("brier_difference", (-1.0, 1.0))):
        assert result.confidence(name) == widest or len(truth) != 1
        assert all(map(math.isnan, result.confidence(name))) == (not truth)


def test_whole_weights_are_repeats() -> None:
    weights = np.array([1, 2, 3, 1, 0, 2, 1, 4])
    weighted = se.Paired(measures=PAIRED_MEASURES).update(*EIGHT, sample_weight=weights)
    repeated = of(tuple(np.repeat(part, weights) for part in EIGHT), *PAIRED_MEASURES)  # type: ignore[arg-type]
    assert weighted.to_bytes() == repeated.to_bytes()


def test_fractions_of_weights_leave_values_without_tests() -> None:
    accumulator = se.Paired(measures=PAIRED_MEASURES)
    result: Any = accumulator.update(*EIGHT, sample_weight=[0.5] * 8).compute()
    assert (result.roc_auc_a, result.roc_auc_difference) == (0.75, -0.1875)
    assert math.isnan(result.roc_auc_pvalue)
    assert math.isnan(result.log_loss_pvalue)
    with pytest.raises(se.InvalidInputError, match="`sample_weight` had fractions"):
        result.confidence("brier_difference")
    assert result.readings()["brier_a"].sampling is None


def test_losses_are_those_of_calibration() -> None:
    rows = rows_of(400)
    result = of(rows, "log_loss", "brier").compute()
    for model, scores in (("a", rows[1]), ("b", rows[2])):
        alone = se.CalibrationAccumulator().update(rows[0], scores).compute()
        assert result.value(f"log_loss_{model}") == alone.log_loss
        assert result.value(f"brier_{model}") == pytest.approx(alone.brier, rel=1e-15)


def test_interval_of_a_loss_difference_is_that_of_the_mean_of_differences() -> None:
    truth, a, b = rows_of(400)
    result = of((truth, a, b), "brier").compute()
    each, both = (((a - truth) ** 2 + sign * (b - truth) ** 2) for sign in (-1, 1))
    few = 1 + 2 * math.sqrt((both**2).sum()) / both.sum()
    deviation = each.std(ddof=1) * math.sqrt(few / len(each))
    low, high = result.confidence("brier_difference", level=0.9)
    assert (low + high) / 2 == pytest.approx(each.mean(), rel=1e-9)
    assert (high - low) / 2 == pytest.approx(1.6448536269514722 * deviation, rel=1e-12)
    z = abs(each.mean()) / deviation
    assert result.brier_pvalue == pytest.approx(math.erfc(z / math.sqrt(2)), rel=1e-9)
    calibration = se.CalibrationAccumulator(intervals=True).update(truth, a).compute()
    assert result.confidence("brier_a") == calibration.confidence("brier")
    assert result.confidence("brier_b")[0] < result.brier_b


NAMED: Rows = (
    np.array([0, 1, 2, 0, 1, 2, 0, 1, 2, 2]),
    np.array([0, 1, 2, 0, 1, 1, 0, 2, 2, 2]),
    np.array([0, 1, 2, 1, 1, 1, 0, 2, 0, 2]),
)


@each("rows", [NAMED, tuple((part > 0) + 0 for part in NAMED)])
def test_decisions_are_those_of_a_confusion_matrix_of_each_model(rows: Rows) -> None:
    classes = int(rows[0].max()) + 1
    result = of(rows, *DECISIONS, classes=classes).compute()
    for model, prediction in (("a", rows[1]), ("b", rows[2])):
        alone = se.ConfusionAccumulator(classes).update(rows[0], prediction).compute()
        for name in DECISIONS:
            expected = alone.read(name, level=0.9)
            assert result.value(f"{name}_{model}") == expected.value
            assert result.confidence(f"{name}_{model}", level=0.9) == expected.sampling
    assert result.recall_difference == result.recall_a - result.recall_b > 0


def test_interval_of_a_recall_difference_is_that_of_the_positives_alone() -> None:
    truth = np.repeat([1, 0], [60, 40])
    a = np.repeat([1, 0, 1, 0], [50, 10, 5, 35])
    b = np.repeat([1, 0, 1, 0, 1, 0], [40, 15, 5, 20, 10, 10])
    result = of((truth, a, b), "recall").compute()
    positives = se.Paired().update(truth[:60], a[:60], b[:60]).compute()
    assert result.recall_difference == pytest.approx(positives.difference, rel=1e-14)
    assert result.confidence("recall_difference") == pytest.approx(
        positives.confidence("difference"), rel=1e-12
    )


@pytest.mark.slow
@each("level", [0.5, 0.9, 0.95, 0.999])
def test_intervals_of_decisions_agree_with_their_tests(level: float) -> None:
    random = np.random.default_rng(17)
    wrong = []
    for classes in (2, 3):
        for _ in range(60):
            truth = random.integers(0, classes, 40)
            a, b = (
                np.where(random.random(40) < random.choice([0.05, 0.3]), truth * 0, truth)
                for _ in range(2)
            )
            result = of((truth, a, b), *DECISIONS, classes=classes).compute()
            for name in DECISIONS:
                low, high = result.confidence(f"{name}_difference", level=level)
                pvalue = result.value(f"{name}_pvalue")
                if not math.isnan(low) and (low <= 0.0 <= high) != (pvalue >= 1.0 - level):
                    wrong.append((name, low, high, pvalue))
    assert not wrong


@each("name", DECISIONS)
def test_intervals_of_decisions_turn_with_the_models_where_a_class_is_absent(name: str) -> None:
    random = np.random.default_rng(18)
    truth = random.integers(0, 2, 60)  # of three classes
    a, b = (np.where(random.random(60) < p, truth, random.integers(0, 3, 60)) for p in (0.8, 0.6))
    result, turned = (of((truth, *pair), name, classes=3).compute() for pair in ((a, b), (b, a)))
    low, high = result.confidence(f"{name}_difference")
    assert -1 < low < result.value(f"{name}_difference") < high < 1
    assert turned.confidence(f"{name}_difference") == pytest.approx((-high, -low))


def test_interval_without_disagreements_has_the_variance_of_one_in_each_class() -> None:
    truth = np.repeat([0, 1], [30, 10])
    guess = np.repeat([0, 1, 0, 1], [25, 5, 2, 8])
    result = of((truth, guess, guess), "balanced_accuracy").compute()
    reach = 1.959963984540054**2 * math.hypot(1 / (2 * 30), 1 / (2 * 10))  # each moves one recall
    ends = result.confidence("balanced_accuracy_difference")
    assert ends == pytest.approx((-reach, reach))


@each("name", ["matthews_corrcoef", "cohen_kappa"])
def test_correlation_of_a_model_that_knows_one_class_has_no_narrower_interval(name: str) -> None:
    truth = np.repeat([0, 1], 20)
    result = of((truth, np.roll(truth, 2), np.ones(40, dtype=int)), name).compute()
    assert result.confidence(f"{name}_difference") == (-2.0, 2.0)


@each("is_first", [False, True])
def test_difference_of_an_exact_area_and_a_bounded_one_is_bounded(is_first: bool) -> None:
    random = np.random.default_rng(19)
    truth = random.integers(0, 2, 3000)
    fine, few = random.random(3000) / 2 + truth / 4, random.integers(0, 4, 3000) / 4
    rows = (truth, fine, few) if is_first else (truth, few, fine)
    found = of(rows, "roc_auc", budget=16).compute().roc_auc_difference
    exact = of(rows, "roc_auc").compute().roc_auc_difference
    assert not found.exact
    assert exact.exact
    assert found.low <= exact <= found.high


def test_equal_decisions_do_not_differ() -> None:
    result = of((NAMED[0], NAMED[1], NAMED[1]), *DECISIONS, classes=3).compute()
    assert all(result.value(f"{name}_pvalue") == 1.0 for name in DECISIONS)
    for name in DECISIONS:
        low, high = result.confidence(f"{name}_difference")
        assert low == -high < 0.0


def test_single_measure_may_stand_alone() -> None:
    assert se.Paired(measures="recall").options == se.Paired(measures=["recall"]).options


def test_errors_of_numbers_are_worked_by_hand() -> None:
    acc = se.Paired(None, measures=["mae", "mse"])
    result: Any = acc.update([0.0, 0.0, 2.0], [1.0, -2.0, 2.0], [1.0, 1.0, 4.0]).compute()
    assert (result.n_both, result.n_only_a, result.n_only_b, result.n_neither) == (1, 1, 1, 0)
    assert (result.mse_a, result.mse_b, result.mae_a, result.mae_b) == (5 / 3, 2.0, 1.0, 4 / 3)
    assert result.mse_difference == pytest.approx(-1 / 3, rel=1e-15)
    assert result.mcnemar_pvalue == 1.0
    # squares of 1, 4, 0: the variance of their mean is 13/9, that of its logarithm 13/25; t of 2
    # degrees of freedom is more than 1.96 times the root of 1 + 4 * math.sqrt(17) / 5
    factor = math.exp(4.302653 * math.sqrt(13 / 25))
    assert result.confidence("mse_a") == pytest.approx((5 / 3 / factor, 5 / 3 * factor), rel=3e-2)
    assert "mse_pvalue" in dir(result)
    assert "brier_a" not in dir(result)
    assert "mse_difference" in str(result)


def test_values_without_a_truth_are_worked_by_hand() -> None:
    acc = se.Paired(None, measures=["score"])
    assert acc.update({"y_pred_a": [], "y_pred_b": []}).n == 0
    result: Any = acc.update([1.0, 2.0, 6.0], [0.0, -2.0, 5.0], sample_weight=[1, 2, 1]).compute()
    assert (result.score_a, result.score_b, result.score_difference) == (2.75, 0.25, 2.5)
    assert (result.n_only_a, result.n_only_b) == (0, 4)  # B is lower
    # differences of 1, 4, 4, 1: their variance is 3, that of their mean 3 / 4
    assert result.score_pvalue == pytest.approx(0.063, abs=1e-3)
    low, high = result.confidence("score_difference")
    assert (high - low) / 2 == pytest.approx(3.182446 * math.sqrt(0.75), rel=1e-2)
    assert "score_pvalue" in dir(result)
    assert "accuracy_a" not in result.readable()
    assert repr(result) == "PairedResult(n=4, score_difference=+2.5, score_pvalue=0.0632)"
    assert result.described(0.95).title == "Values"


def test_values_that_do_not_vary_may_be_anything_elsewhere() -> None:
    def of_values(*rows: Any) -> Any:
        return se.Paired(None, measures=["loss"]).update(*rows).compute()

    assert math.isnan(of_values([1.0], [2.0]).loss_pvalue)
    assert math.isnan(of_values([1.0, 3.0], [2.0, 4.0]).loss_pvalue)
    assert of_values([1.0, 3.0], [1.0, 3.0]).loss_pvalue == 1.0
    never = of_values([1.0, 3.0], [2.0, 4.0]).confidence("loss_difference")
    assert never == (-math.inf, math.inf)
    halves = se.Paired(None, measures=["loss"]).update([1, 2], [3, 5], sample_weight=[0.5, 1])
    assert math.isnan(halves.compute().loss_pvalue)


def test_several_models_of_values_have_a_best_one() -> None:
    random = np.random.default_rng(4)
    base = random.normal(size=400)
    rows = {"new": base, "old": base + 0.5 + random.normal(size=400), "same": base + 0.001}
    for measure, best in (("loss", "new"), ("score", "old")):
        acc = se.Paired.of_models([*rows], None, measures=[measure]).update(rows)
        found = acc.compute().comparison()
        assert found[measure].best == best
        assert "Student's paired t-test" in found.report()
    assert {*se.merge([acc, acc]).n.values()} == {800}
    with pytest.raises(se.InvalidInputError, match='"mse" or "mae", or "loss" or "score"'):
        se.Paired.of_models([*rows], None)


GAPS_A = np.where(np.arange(200) % 7 == 0, np.nan, np.random.default_rng(5).normal(size=200))
GAPS_B = np.where(np.arange(200) % 11 == 0, np.nan, GAPS_A**2 + np.arange(200) % 3)
GAPS_B[[7, 14]] = 1.0


def test_pairs_with_a_gap_are_left_out_as_scipy_omits_them() -> None:
    acc = se.Paired(None, measures=["loss"], nan="skip")
    for rows in np.array_split(np.arange(200), 7):
        acc.update(GAPS_A[rows], GAPS_B[rows])
    result: Any = acc.compute()
    is_whole = ~(np.isnan(GAPS_A) | np.isnan(GAPS_B))
    assert (result.n, result.n_skipped) == (is_whole.sum(), (~is_whole).sum())
    expected = stats.ttest_rel(GAPS_A, GAPS_B, nan_policy="omit")
    assert result.loss_pvalue == pytest.approx(expected.pvalue, rel=1e-9)
    left = se.Paired(None, measures=["loss"]).update(GAPS_A[is_whole], GAPS_B[is_whole]).compute()
    assert result.confidence("loss_difference") == left.confidence("loss_difference")
    assert next(iter(result.findings())) == (
        f"Rows left out because the value of either model is NaN: {result.n_skipped}."
    )
    assert "n_skipped" in result.report()
    assert "n_skipped" not in left.readings()
    halves = [acc.copy().reset().update(GAPS_A[part], GAPS_B[part]) for part in (FIRST, LAST)]
    assert se.merge(halves).to_bytes() == acc.to_bytes()
    assert se.from_bytes(acc.to_bytes()).compute() == result


FIRST, LAST = slice(0, 90), slice(90, 200)


def test_weights_of_pairs_with_a_gap_are_skipped() -> None:
    acc = se.Paired(None, measures=["score"], nan="skip")
    acc.update([1.0, None, 3.0], [2.0, 1.0, math.nan], sample_weight=[1, 0.5, 2])
    assert (acc.n, acc.compute().n_skipped) == (1, 2.5)
    only: Any = acc.reset().update([math.nan], [1.0]).compute()
    assert (only.n, only.n_skipped) == (0, 1)
    assert math.isnan(only.score_a)
    assert se.Paired(None, measures=["score"]).compute().n_skipped == 0
    assert se.Paired().compute().n_skipped == 0


def test_gaps_are_refused_with_the_option_that_leaves_them_out() -> None:
    for gap in (None, math.nan):
        for acc in (se.Paired(None, measures=["loss"]), se.MeanAccumulator(["y_pred_a"])):
            with pytest.raises(se.InvalidInputError) as told:
                acc.update({"y_pred_a": [1.0, gap], "y_pred_b": [1.0, 2.0]})
            assert str(told.value) == (
                '`y_pred_a` must not hold NaN, got nan at position 1. nan="skip" leaves it out.'
            )
    with pytest.raises(se.InvalidInputError, match=r"must be finite and at most.*got inf"):
        se.Paired(None, measures=["loss"], nan="skip").update([math.inf], [1.0])
    for options in ({}, {"classes": None, "measures": ["mse"]}):
        with pytest.raises(se.InvalidInputError, match="`nan` is for values without a truth"):
            se.Paired(**options, nan="skip")


def test_pairs_of_models_leave_out_their_own_gaps() -> None:
    rows = {"a": GAPS_A, "b": GAPS_B, "c": np.arange(200.0) % 5}
    acc = se.Paired.of_models([*rows], None, measures=["loss"], nan="skip").update(rows)
    found = acc.compute().comparison()
    assert (found.n, found.n_left_out) == (171, acc.compute()["a vs b"].n_skipped)
    assert found["loss"].values["b"] == pytest.approx(np.nanmean(GAPS_B), rel=1e-9)
    text = f"n = 171, pairs leave out up to {found.n_left_out} rows without a value, 3 models"
    assert text in found.report()


def test_update_of_values_takes_no_truth() -> None:
    acc = se.Paired(None, measures=["loss"])
    with pytest.raises(se.InvalidInputError, match="takes the values of two models, and no truth"):
        acc.update([1.0], [2.0], [3.0])
    with pytest.raises(se.InvalidInputError, match="`y_pred_b` must have 2 rows"):
        acc.update([1.0, 2.0], [2.0])
    assert acc == se.Paired(None, measures=["loss"])
    acc.update([1.0, 2.0], [2.0, 4.0], sample_weight=[0, 1])
    assert acc == se.Paired(None, measures=["loss"]).update([2.0], [4.0])


def test_errors_of_nothing_are_undefined() -> None:
    result: Any = se.Paired(None, measures=["mse"]).update([], [], []).compute()
    assert math.isnan(result.mse_a)
    assert math.isnan(result.mse_pvalue)


@each(
    ("rows", "says"),
    [
        (([1, 2], [1, 2.0**201], [0, 0]), "`y_pred_a` must lie in [-2**200, 2**200], got 3.2"),
        (([1, 2], [1, 2], [0, 0, 0]), "`y_pred_b` must have 2 "),
        (([1, 2], [1, 2], [0, math.nan]), "`y_pred_b` must be finite"),
        ((["a"], [1], [1]), "`y_true` must hold numbers, got strings"),
    ],
)
def test_numbers_of_two_models_are_checked(rows: Any, says: str) -> None:
    acc = se.Paired(None, measures=["mse"])
    with pytest.raises(se.InvalidInputError, match=re.escape(says)):
        acc.update(*rows)
    assert acc == se.Paired(None, measures=["mse"])


@each("truth", [[], [1, 1, 1]])
def test_decisions_without_a_second_class_have_no_test_of_agreement(truth: list[int]) -> None:
    prediction = np.ones(len(truth), dtype=int)
    result = of((np.array(truth, dtype=int), prediction, prediction), *DECISIONS).compute()
    assert math.isnan(result.matthews_corrcoef_pvalue)
    assert all(map(math.isnan, result.confidence("cohen_kappa_difference")))
    assert math.isnan(result.recall_pvalue) == (not truth)


def test_positive_label_is_the_one_whose_scores_are_given() -> None:
    truth, a, b = EIGHT
    options: dict[str, Any] = {"classes": ["no", "yes"], "pos_label": "no"}
    names = np.array(["yes", "no"], dtype=object)[truth]
    found = se.Paired(measures=PAIRED_MEASURES, **options).update(names, a, b).compute()
    expected = of(EIGHT, *PAIRED_MEASURES).compute()
    assert found.as_dict() == expected.as_dict()


def test_ignored_rows_do_not_count() -> None:
    truth, a, b = EIGHT
    kept = truth.copy()
    kept[[1, 5]] = -1
    found = of((kept, a, b), *PAIRED_MEASURES, ignore_label=-1).compute()
    rest = kept >= 0
    expected = of((truth[rest], a[rest], b[rest]), *PAIRED_MEASURES).compute()
    assert found.as_dict() == expected.as_dict()


def test_integers_are_scores_where_a_measure_reads_scores() -> None:
    result = of((EIGHT[0], EIGHT[0], EIGHT[2]), "roc_auc").compute()
    assert result.roc_auc_a == 1.0


def test_measures_are_listed_in_the_order_of_reports() -> None:
    acc = se.Paired(measures=["brier", "roc_auc"])
    assert acc.options["measures"] == ("roc_auc", "brier")
    assert acc == se.Paired(measures=("roc_auc", "brier"))
    assert se.Paired(measures=[]) == se.Paired()
    assert se.Paired(measures=[]).to_bytes() == se.Paired().to_bytes()


def test_result_lists_what_was_asked_for() -> None:
    result = of(EIGHT, "brier").compute()
    names = list(result.readings())
    assert names[-4:] == ["brier_a", "brier_b", "brier_difference", "brier_pvalue"]
    assert not any(name.startswith(("roc_auc", "log_loss")) for name in names)
    assert "Brier score, A minus B" in se.reports.html_report({"a": of(EIGHT, "brier")})


def test_metric_that_was_not_asked_for_is_refused_by_name() -> None:
    result = of(EIGHT, "brier").compute()
    says = re.escape(
        "roc_auc_a is counted only where it is asked for: Paired(measures=['roc_auc'])"
    )
    with pytest.raises(se.InvalidInputError, match=says):
        result.value("roc_auc_a")
    with pytest.raises(AttributeError, match=says):
        _ = result.roc_auc_a
    with pytest.raises(se.InvalidInputError, match="roc_auc_difference"):
        result.read("roc_auc_difference")
    with pytest.raises(se.InvalidInputError, match="roc_auc_difference is counted only where"):
        result.confidence("roc_auc_difference")
    with pytest.raises(se.InvalidInputError, match=r"one: accuracy_a, .* brier_difference\.$"):
        result.confidence("mcnemar_pvalue")


@each(
    ("options", "says"),
    [
        ({"measures": 3}, "`measures` must be a sequence of names, whose order counts, got int."),
        (
            {"measures": ["auc"]},
            "`measures` has no 'auc': did you mean 'roc_auc'? Choose from precision, recall, "
            + ", ".join((*PAIRED_MEASURES[2:], *ERRORS, "loss", "score"))
            + ".",
        ),
        ({"measures": ["loss"]}, '`measures` "loss" needs numbers, got classes=2.'),
        (
            {"classes": None, "measures": ["mse", "score"]},
            '`measures` "score" is of values without a truth, and takes no other measure.',
        ),
        ({"measures": ["mse"]}, '`measures` "mse" needs predicted numbers, got classes=2.'),
        (
            {"classes": None, "measures": ["recall"]},
            '`measures` "recall" needs classes, got classes=None.',
        ),
        (
            {"classes": None, "threshold": 0.7},
            "`threshold` is for predicted classes, got classes=None.",
        ),
        (
            {"classes": None, "scores": np.array([0.5, 0.6])},
            "`scores` is for predicted classes, got classes=None.",
        ),
        ({"measures": ["brier"] * 2}, "`measures` must be distinct, got 'brier' twice."),
        (
            {"classes": 3, "measures": ["roc_auc"]},
            '`measures` "roc_auc" compares the scores of two classes, got classes=3.',
        ),
        (
            {"from_scores": False, "measures": ["brier"]},
            '`measures` "brier" needs scores, got from_scores=False.',
        ),
        (
            {"scores": "real", "measures": ["roc_auc", "brier"]},
            (
                '`measures` "brier" needs probabilities, got scores of any size. Apply a sigmoid '
                "first, or leave it out."
            ),
        ),
        (
            {"classes": "auto", "measures": ["recall"]},
            '`measures` "recall" needs a list of the classes, got classes="auto".',
        ),
        (
            {"classes": 3, "multilabel": True, "measures": ["recall"]},
            '`measures` "recall" needs one class a row, got multilabel=True.',
        ),
        (
            {"classes": 65, "measures": ["recall"]},
            '`measures` "recall" takes at most 64 classes, got 65.',
        ),
        ({"budget": 9}, '`budget` is for `measures` with "roc_auc".'),
        (
            {"budget": 0, "measures": ["roc_auc"]},
            "`budget` must be an integer of at least 1, got 0.",
        ),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(se.InvalidInputError, match=f"^{re.escape(says)}$"):
        se.Paired(**options)


@each(
    ("batch", "says"),
    [
        (([0, 1], [0.5, 0.5], [0.5, 1.5]), "`y_pred_b` must lie in [0, 1], got 1.5 at position 1."),
        (([0, 1], [0.5, math.nan], [0, 1]), "`y_pred_a` must not hold NaN"),
        (([0, 1], [0.5], [0, 1]), "`y_pred_a` must have 2 rows"),
    ],
)
def test_refused_batch_of_scores_leaves_no_trace(batch: Any, says: str) -> None:
    accumulator = of(EIGHT, *PAIRED_MEASURES)
    with pytest.raises(se.InvalidInputError, match=f"^{re.escape(says)}"):
        accumulator.update(*batch)
    assert accumulator == of(EIGHT, *PAIRED_MEASURES)


def test_bytes_do_not_depend_on_the_cut_when_pairs_are_merged() -> None:
    rows = rows_of(5_000)
    whole = of(rows, *PAIRED_MEASURES, budget=300)
    random = np.random.default_rng(1)
    order = random.permutation(5_000)
    cuts = np.split(order, np.sort(random.integers(0, 5_000, 6)))
    shards = [of(tuple(part[cut] for part in rows), *PAIRED_MEASURES, budget=300) for cut in cuts]  # type: ignore[arg-type]
    assert se.merge(shards).to_bytes() == whole.to_bytes()
    assert se.from_bytes(whole.to_bytes()) == whole


@pytest.mark.slow
@pytest.mark.parametrize(
    "budget", [20, *(pytest.param(n, marks=pytest.mark.slow) for n in (3, 60))]
)
def test_bytes_do_not_depend_on_the_cut_when_the_level_rises_step_by_step(budget: int) -> None:
    rows = rows_of(300, seed=3)
    total = se.Paired(measures=["roc_auc"], budget=budget)
    for start in range(300):
        total += of(tuple(part[start : start + 1] for part in rows), "roc_auc", budget=budget)  # type: ignore[arg-type]
    assert total.to_bytes() == of(rows, "roc_auc", budget=budget).to_bytes()


def test_states_add_up_without_a_budget() -> None:
    rows = rows_of(20)
    twice: Any = tuple(np.tile(part, 2) for part in rows)
    state = of(rows, "roc_auc", budget=4)._state
    assert state + state == of(twice, "roc_auc", budget=4)._state


def test_groups_hold_what_each_of_them_would_alone() -> None:
    truth, a, b = rows_of(200)
    group = np.arange(200) % 3
    sliced = se.Sliced(se.Paired(measures=PAIRED_MEASURES, budget=20), "g")
    sliced.update({"y_true": truth, "y_pred_a": a, "y_pred_b": b, "g": group})
    again = se.from_bytes(sliced.to_bytes())
    for value in range(3):
        rows = tuple(part[group == value] for part in (truth, a, b))
        assert again[value] == of(rows, *PAIRED_MEASURES, budget=20)


SMALL = of(EIGHT, *PAIRED_MEASURES, budget=100)
COARSE = of(EIGHT, *PAIRED_MEASURES, budget=3)
LOSSES = of(EIGHT, "brier")
VALUES = se.Paired(None, measures=["score"]).update([1.0, -2.0, 4.0], [0.5, 1.0, -3.0])
SKIPPING = se.Paired(None, measures=["score"], nan="skip").update([1.0], [2.0])


def changed(field: str, position: int, by: int) -> Any:
    """Change one integer of a field."""

    def change(state: Any) -> Any:
        held = getattr(state, field)
        whole = (held.values if isinstance(held, Column) else held.whole).copy()
        whole.reshape(-1)[position] += np.array(by).astype(whole.dtype)
        made = Column(whole) if isinstance(held, Column) else FixedPoint(whole)
        return attrs.evolve(state, **{field: made})

    return change


def put(**fields: Any) -> Any:
    return lambda state: attrs.evolve(state, **fields)


def loss(position: int, by: float) -> Any:
    def change(state: Any) -> Any:
        losses = list(state.losses)
        losses[position] += ExactSum.of(np.array([by]))
        return attrs.evolve(state, losses=tuple(losses))

    return change


LEVELS = Column(np.zeros(3, dtype=np.int64))
BROKEN: Mapping[str, tuple[Any, Any, str]] = {
    "outcomes": (SMALL, changed("outcomes", 0, 1), "outcomes do not add up to n"),
    "joint counts of another shape": (SMALL, put(joint=FixedPoint.zeros(8)), "joint has shape"),
    "joint counts of other outcomes": (SMALL, changed("joint", 0, 1), "joint differs"),
    "joint counts that are not kept": (LOSSES, put(joint=FixedPoint.zeros(1)), "joint has shape"),
    "fractions of joint counts that are not kept": (
        LOSSES,
        put(joint=FixedPoint(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))),
        "joint has fractions of nothing",
    ),
    "fewer sums": (SMALL, put(losses=()), "losses has other sums"),
    "labels for sums": (SMALL, put(losses=("a",) * 10), "losses holds no sums"),
    "a negative loss": (SMALL, loss(0, -100.0), "log_loss of a"),
    "a loss beyond its squares": (SMALL, loss(0, 100.0), "log_loss of a passes its squares"),
    "squares beyond the range": (LOSSES, loss(2, 100.0), "squared brier of a is too large"),
    "a loss beyond its range": (
        LOSSES,
        lambda state: loss(3, 1e9)(loss(1, 100.0)(state)),
        "brier of b is outside its range",
    ),
    "products beyond the squares": (LOSSES, loss(4, 100.0), "difference passes its squares"),
    "values beyond their range": (
        VALUES,
        lambda state: loss(2, 2.0**500)(loss(0, 2.0**210)(state)),
        "score of a is outside its range",
    ),
    "squares of values beyond their range": (
        VALUES,
        loss(3, 2.0**410),
        "squared score of b is too large",
    ),
    "products below what both have": (VALUES, loss(4, -1e9), "both passes its squares"),
    "skipped rows where none may be": (
        VALUES,
        put(skipped=FixedPoint.zeros(1)),
        "skipped has shape",
    ),
    "fractions of no skipped rows": (
        SKIPPING,
        put(skipped=FixedPoint(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))),
        "skipped has fractions of nothing",
    ),
    "negative products": (LOSSES, loss(4, -100.0), "the product of brier is negative"),
    "levels of another type": (SMALL, put(levels=Column(LEVELS.values.astype("u8"))), "levels"),
    "no sizes": (SMALL, put(sizes=Column(LEVELS.values[:0])), "sizes"),
    "keys that are not kept": (LOSSES, put(pair_a=SMALL._state.pair_a), "scores that are not kept"),
    "weights that are not kept": (LOSSES, put(pos=SMALL._state.pos), "weights that are not kept"),
    "fractions that are not kept": (
        LOSSES,
        put(neg=FixedPoint(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))),
        "weights that are not kept",
    ),
    "signed keys": (SMALL, put(pair_a=Column(np.arange(8))), "pair_a"),
    "negative sizes": (SMALL, changed("sizes", 0, -1), "sizes outside the cells"),
    "more cells": (SMALL, changed("sizes", 0, 1), "sizes of other cells"),
    "fewer pairs": (SMALL, changed("sizes", 2, -1), "sizes of other pairs"),
    "fewer weights": (
        SMALL,
        lambda state: attrs.evolve(state, neg=state.neg[1:]),
        "neg has shape",
    ),
    "a level out of range": (COARSE, changed("levels", 2, 65), "a level out of range"),
    "an empty pair": (SMALL, changed("neg", 0, -1), "an empty pair"),
    "more weight": (SMALL, changed("pos", 0, 1), "pairs do not add up to n"),
    "pairs out of order": (SMALL, changed("pair_a", 0, 2**62 - 1), "pairs are out of order"),
    "keys of no score": (SMALL, changed("pair_b", 7, 2**62), "pairs hold no keys"),
    "prefixes of no key": (COARSE, changed("pair_b", -1, 2**63), "pairs hold no prefixes"),
    "a level without a reason": (
        SMALL,
        changed("levels", 0, 1),
        "cells of pairs that are exact",
    ),
    "coarser cells than pairs": (COARSE, changed("levels", 2, -1), "cells are coarser than pairs"),
    "other cells than pairs": (COARSE, changed("lo", 0, -(2**55)), "."),
    "a positive elsewhere": (
        COARSE,
        lambda state: changed("pos", 0, 1)(changed("neg", 0, -1)(state)),
        "cells and pairs hold other rows",
    ),
}


@each("claim", BROKEN)
def test_state_that_no_rows_give_is_refused(claim: str) -> None:
    accumulator, change, says = BROKEN[claim]
    state = change(accumulator._state)
    data = se.Paired._make(accumulator._config, state).to_bytes()
    with pytest.raises(se.CorruptStateError, match=says):
        se.Paired.from_bytes(data)


def test_state_over_its_budget_is_refused() -> None:
    state = SMALL._state
    data = se.Paired._make(COARSE._config, state).to_bytes()
    with pytest.raises(se.CorruptStateError, match="pairs over budget"):
        se.Paired.from_bytes(data)


def test_merged_pairs_without_a_budget_are_refused() -> None:
    config = se.Paired(measures=PAIRED_MEASURES, budget=None)._config
    with pytest.raises(se.CorruptStateError, match="level above the lowest that fits"):
        se.Paired.from_bytes(se.Paired._make(config, COARSE._state).to_bytes())


def test_fractions_of_nothing_are_refused() -> None:
    truth, a, b = EIGHT
    only = se.Paired(measures=["roc_auc"]).update(truth[:4], a[:4], b[:4], sample_weight=[0.5] * 4)
    state: Any = only._state
    pos = FixedPoint(state.pos.whole, np.zeros_like(state.pos.whole))
    data = se.Paired._make(only._config, attrs.evolve(state, pos=pos)).to_bytes()
    with pytest.raises(se.CorruptStateError, match="pos has fractions of nothing"):
        se.Paired.from_bytes(data)


def test_names_of_a_result_are_those_that_were_asked_for() -> None:
    rows = ([0, 1, 1], [0, 1, 0], [1, 1, 0])
    few = dir(se.Paired().update(*rows).compute())
    more = dir(se.Paired(measures=["precision"], classes=2).update(*rows).compute())
    added = {f"precision_{part}" for part in ("a", "b", "difference", "pvalue")}
    assert set(more) - set(few) == added
    assert "recall_a" not in more
    assert {"accuracy_a", "n"} <= set(few)


def test_asking_for_one_measure_does_not_compute_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    acc = se.Paired(measures=["roc_auc", "log_loss", "f_score"])
    acc.update([0, 1, 1, 0], [0.1, 0.7, 0.6, 0.4], [0.2, 0.9, 0.4, 0.6])
    result = acc.compute()
    asked: list[str] = []
    compare = type(result)._compare
    monkeypatch.setattr(
        type(result), "_compare", lambda self, name: asked.append(name) or compare(self, name)
    )
    assert result.value("log_loss_difference") == result.value("log_loss_difference")
    assert asked == ["log_loss"]


def test_one_row_that_says_nothing_of_chance_has_no_interval() -> None:
    paired = se.Paired(classes=["ham", "spam", ""], measures=["precision"])
    result = paired.update(["spam"], ["spam"], [""]).compute()
    assert result.read("precision_difference").value > 0.0
    assert math.isnan(result.read("precision_pvalue").value)
