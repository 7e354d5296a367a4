"""Paired against scikit-learn, scipy and exact fractions."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from offenders import each
from profiles import quick_cases
from scipy.optimize import brentq
from scipy.stats import binomtest, norm, t, ttest_rel
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    brier_score_loss,
    cohen_kappa_score,
    log_loss,
    matthews_corrcoef,
    mean_absolute_error,
    mean_squared_error,
    precision_recall_fscore_support,
    roc_auc_score,
)

import streameval as se
from streameval.metrics.intervals import student

CASES = range(quick_cases(200))
MEASURES = ("roc_auc", "log_loss", "brier")
K = 3

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


def case(seed: int) -> Rows:
    """Draw a truth of four classes, and two models of other quality."""
    random = np.random.default_rng(seed)
    size = int(random.integers(1, 400))
    truth = random.integers(0, 4, size)
    qualities = random.uniform(0.3, 1.0, 2)
    models = [np.where(random.random(size) < q, truth, (truth + 1) % 4) for q in qualities]
    return truth, models[0], models[1]


def discordant(truth: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[int, int]:
    right_a, right_b = truth == a, truth == b
    return int((right_a & ~right_b).sum()), int((right_b & ~right_a).sum())


def evidence(*rows: np.ndarray) -> Fraction:
    only_a, only_b = discordant(*rows)
    n = only_a + only_b
    return Fraction(2**n, (n + 1) * math.comb(n, only_a))


def mcnemar(*rows: np.ndarray) -> float:
    only_a, only_b = discordant(*rows)
    return float(binomtest(only_a, only_a + only_b).pvalue) if only_a + only_b else 1.0


ORACLES: dict[str, Callable[..., float]] = {
    "accuracy_a": lambda truth, a, _: accuracy_score(truth, a),
    "accuracy_b": lambda truth, _, b: accuracy_score(truth, b),
    "difference": lambda truth, a, b: accuracy_score(truth, a) - accuracy_score(truth, b),
    "mcnemar_pvalue": mcnemar,
    "log_evidence": lambda *rows: math.log(evidence(*rows)),
    "anytime_pvalue": lambda *rows: float(min(1 / evidence(*rows), 1)),
}


@each("name", ORACLES)
def test_paired_metric_equals_its_oracle(name: str) -> None:
    for seed in CASES:
        rows = case(seed)
        ours = getattr(se.Paired(4).update(*rows).compute(), name)
        assert ours == pytest.approx(ORACLES[name](*rows), rel=1e-12, abs=1e-13), f"seed {seed}"


def scored(seed: int) -> Rows:
    """Draw two classes and the probabilities of two models that err alike, often with ties."""
    random = np.random.default_rng(seed)
    size = int(random.integers(8, 120))
    truth = random.permutation(np.arange(size) % 4 == 0).astype(int)
    looks = 2 * truth - 1 + 1.5 * random.normal(size=size)
    digits = int(random.choice([1, 2, 12]))
    noise = random.uniform(0, 1.5, 2)
    scores = (1 / (1 + np.exp(-looks - by * random.normal(size=size))) for by in noise)
    a, b = (np.clip(one.round(digits), 0.01, 0.99) for one in scores)
    return truth, a, b


def two_sided(difference: float, deviation: float) -> float:
    return 2 * float(norm.sf(abs(difference) / deviation)) if deviation else 1.0


def unseen(truth: np.ndarray) -> float:
    """The variance that a squared deviation adds to that of a difference of areas."""
    counts = np.bincount(truth, minlength=2)
    return float((len(truth) + 1) / (12 * counts.prod()) / (2 * counts.min()))


def at_zero(truth: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    """The p-value of the z whose interval ends at 0, found by bisection."""
    middle, deviation = delong(truth, a, b)

    def beyond(z: float) -> float:
        return z * math.sqrt(deviation**2 + z**2 * unseen(truth)) - abs(middle)

    return 2 * float(norm.sf(brentq(beyond, 0, 1e3, xtol=1e-15, rtol=1e-15)))


def placements(truth: np.ndarray, score: np.ndarray) -> tuple[list[float], list[float]]:
    """How each positive ranks among the negatives and each negative below the positives."""
    positives, negatives = score[truth == 1].tolist(), score[truth == 0].tolist()

    def wins(p: float, q: float) -> float:
        return 1.0 if p > q else 0.5 if p == q else 0.0

    of_positives = [sum(wins(p, q) for q in negatives) / len(negatives) for p in positives]
    of_negatives = [sum(wins(p, q) for p in positives) / len(positives) for q in negatives]
    return of_positives, of_negatives


def delong(truth: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """The difference of two areas and its deviation, with DeLong's matrices written out."""
    both = [placements(truth, score) for score in (a, b)]
    areas = [np.mean(of_positives) for of_positives, _ in both]
    matrix = np.zeros((2, 2))
    for which in (0, 1):
        values = np.array([one[which] for one in both])
        matrix += np.cov(values, ddof=1) / values.shape[1]
    contrast = np.array([1.0, -1.0])
    variance = float(contrast @ matrix @ contrast)
    return float(areas[0] - areas[1]), math.sqrt(variance) if variance > 1e-15 else 0.0


def differences(loss: Callable[[np.ndarray, np.ndarray], np.ndarray], *rows: np.ndarray) -> float:
    return two_sided(*of_losses(loss, *rows))


def of_losses(
    loss: Callable[[np.ndarray, np.ndarray], np.ndarray], *rows: np.ndarray, z: float = math.nan
) -> tuple[float, float]:
    """The mean of the differences, and its deviation for the rows that make up both losses.

    With z deviations, it is at least that of Student's distribution.
    """
    truth, a, b = rows
    each, both = loss(truth, a) - loss(truth, b), loss(truth, a) + loss(truth, b)
    n_effective = both.sum() ** 2 / (both**2).sum() if both.any() else math.inf
    widening = math.sqrt(1 + 2 / math.sqrt(n_effective))
    if not math.isnan(z):
        widening = max(widening, student(z, len(each)))
    return each.mean(), each.std(ddof=1) / math.sqrt(len(each)) * widening


def squares(truth: np.ndarray, score: np.ndarray) -> np.ndarray:
    return np.asarray((score - truth) ** 2)


def logs(truth: np.ndarray, score: np.ndarray) -> np.ndarray:
    return -np.log(np.where(truth == 1, score, 1 - score))


SCORED: dict[str, Callable[..., float]] = {
    f"{name}_{which}": function
    for name, metric, test in (
        ("roc_auc", roc_auc_score, at_zero),
        ("log_loss", log_loss, lambda *rows: differences(logs, *rows)),
        ("brier", brier_score_loss, lambda *rows: differences(squares, *rows)),
    )
    for which, function in (
        ("a", lambda truth, a, _, metric=metric: metric(truth, a)),
        ("b", lambda truth, _, b, metric=metric: metric(truth, b)),
        ("difference", lambda t, a, b, metric=metric: metric(t, a) - metric(t, b)),
        ("pvalue", test),
    )
}


@each("name", SCORED)
def test_measure_of_two_models_equals_its_oracle(name: str) -> None:
    for seed in CASES:
        rows = scored(seed)
        ours = se.Paired(measures=MEASURES).update(*rows).compute().value(name)
        expected = SCORED[name](*rows)
        # the relative error of a p-value is that of its deviation, times z squared
        near = 1e-9 if name.endswith("pvalue") else 1e-12
        assert ours == pytest.approx(expected, rel=near, abs=1e-13), f"seed {seed}"


@each("measure", MEASURES)
def test_interval_of_a_difference_equals_its_oracle(measure: str) -> None:
    for seed in CASES:
        truth, *_ = rows = scored(seed)
        result = se.Paired(measures=MEASURES).update(*rows).compute()
        middle, deviation = delong(*rows)
        deviation = math.hypot(deviation, norm.isf(0.1) * math.sqrt(unseen(truth)))
        if measure != "roc_auc":
            middle, deviation = of_losses(squares if measure == "brier" else logs, *rows)
        found = result.confidence(f"{measure}_difference", level=0.8)
        if deviation > 0:
            expected = np.array(norm.interval(0.8, middle, deviation))
        else:  # Wilson's interval of 0 of n, of the distance to either end of the range
            n, z = len(truth), norm.isf(0.1)
            expected = middle + (np.array([-1.0, 1.0]) - middle) * z**2 / (n + z**2)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12), f"seed {seed}"


def predicted(seed: int) -> Rows:
    """Draw numbers and the predictions of two models; some errors are ties."""
    random = np.random.default_rng([5, seed])
    truth = random.normal(random.normal(0, 9), 10 ** random.uniform(-2, 2), random.integers(2, 80))
    noise = random.normal(0, 10 ** random.uniform(-2, 2, (2, 1)), (2, len(truth)))
    if seed % 2:
        noise[1] = np.where(random.random(len(truth)) < 0.3, noise[0], noise[1])
    return truth, truth + noise[0], truth + noise[1]


ERRORS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "mse": squares,
    "mae": lambda truth, number: np.asarray(np.abs(truth - number)),
}
OF_ERRORS = {f"{name}_{which}" for name in ERRORS for which in ("a", "b", "difference", "pvalue")}


@each("measure", ERRORS)
def test_errors_of_two_models_equal_their_oracle(measure: str) -> None:
    metric = {"mse": mean_squared_error, "mae": mean_absolute_error}[measure]
    loss = ERRORS[measure]
    for seed in CASES:
        truth, a, b = rows = predicted(seed)
        result = se.Paired(None, measures=["mse", "mae"]).update(*rows).compute()
        first, second = metric(truth, a), metric(truth, b)
        near = {"rel": 1e-12, "abs": 1e-13}
        assert result.value(f"{measure}_a") == pytest.approx(first, **near), f"seed {seed}"
        assert result.value(f"{measure}_b") == pytest.approx(second, **near), f"seed {seed}"
        middle, deviation = of_losses(loss, *rows)
        scale = {"rel": 1e-9, "abs": 1e-12 * (first + second)}
        found = result.value(f"{measure}_difference")
        assert found == pytest.approx(middle, **scale), f"seed {seed}"
        ends = result.confidence(f"{measure}_difference", level=0.8)
        expected = norm.interval(0.8, *of_losses(loss, *rows, z=norm.isf(0.1)))
        assert ends == pytest.approx(expected, **scale), f"seed {seed}"
        by_t = ttest_rel(loss(truth, a), loss(truth, b)).pvalue
        pvalue = max(two_sided(middle, deviation), by_t)
        assert result.value(f"{measure}_pvalue") == pytest.approx(pvalue, rel=1e-6, abs=1e-12)


VALUES = {
    f"{name}_{which}" for name in ("loss", "score") for which in ("a", "b", "difference", "pvalue")
}


def test_values_of_two_models_equal_the_paired_t_test() -> None:
    for seed in CASES:
        _, a, b = predicted(seed)
        for measure in ("loss", "score"):
            result = se.Paired(None, measures=[measure]).update(a, b).compute()
            scale = np.abs([a, b]).max()
            for name, values in (("a", a), ("b", b), ("difference", a - b)):
                found = result.value(f"{measure}_{name}")
                assert found == pytest.approx(np.average(values), rel=1e-12, abs=1e-12 * scale)
            expected = ttest_rel(a, b)
            assert result.value(f"{measure}_pvalue") == pytest.approx(expected.pvalue, rel=1e-6)
            if len(a) < 4:
                continue
            low, high = result.confidence(f"{measure}_difference")
            reach = t.ppf(0.975, len(a) - 1) * np.std(a - b, ddof=1) / math.sqrt(len(a))
            assert (high - low) / 2 == pytest.approx(reach, rel=1e-2), f"seed {seed}"


def test_closer_model_of_numbers_is_the_one_that_is_right() -> None:
    for seed in CASES:
        truth, a, b = rows = predicted(seed)
        distance_a, distance_b = abs(a - truth), abs(b - truth)
        result = se.Paired(None).update(*rows).compute()
        counts = [result.n_only_a, result.n_only_b, result.n_both, result.n_neither]
        closer, farther = (distance_a < distance_b).sum(), (distance_a > distance_b).sum()
        assert counts == [closer, farther, len(truth) - closer - farther, 0]
        expected = binomtest(closer, closer + farther).pvalue
        assert result.mcnemar_pvalue == pytest.approx(expected, rel=1e-12)


def of_support(position: int) -> Callable[[np.ndarray, np.ndarray, np.ndarray], float]:
    def metric(truth: np.ndarray, prediction: np.ndarray, weights: np.ndarray) -> float:
        options: Any = {"sample_weight": weights, "average": "macro", "zero_division": 0}
        found: Any = precision_recall_fscore_support(truth, prediction, **options)
        return float(found[position])

    return metric


def specificity(truth: np.ndarray, prediction: np.ndarray, weights: np.ndarray) -> float:
    """The mean over observed classes of the share of the others that are not taken for it."""
    shares = []
    for label in np.union1d(truth, prediction):
        others = truth != label
        right = weights[others & (prediction != label)].sum()
        shares.append(right / weights[others].sum() if others.any() else 0.0)
    return float(np.mean(shares))


DECIDED: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], float]] = {
    "precision": of_support(0),
    "recall": of_support(1),
    "specificity": specificity,
    "f_score": of_support(2),
    "balanced_accuracy": lambda t, p, w: balanced_accuracy_score(t, p, sample_weight=w),
    "matthews_corrcoef": lambda t, p, w: matthews_corrcoef(t, p, sample_weight=w),
    "cohen_kappa": lambda t, p, w: cohen_kappa_score(t, p, sample_weight=w),
}


def decided(seed: int) -> Rows:
    """Draw rows of which each class has many, so that derivatives are smooth."""
    random = np.random.default_rng(seed)
    size = int(random.integers(40, 200))
    truth = random.permutation(np.arange(size) % K)
    a, b = (
        np.where(random.random(size) < random.uniform(0.4, 0.9), truth, random.integers(0, K, size))
        for _ in "ab"
    )
    return truth, a, b


def linear_variances(metric: Callable[..., float], *rows: np.ndarray) -> tuple[float, float]:
    """The delta method's variance of a difference, and that of one disagreement of each class.

    A derivative is the effect of a little more of one kind of row. A disagreement is a row of a
    true class on which one model alone is right, either with the same chance, and the other one
    takes it for any other class.
    """
    step = 1e-5
    cells, counts = np.unique(np.stack(rows, axis=1), axis=0, return_counts=True)

    def effect(*cell: int) -> float:
        (truth, a, b), ends = np.vstack([cells, cell]).T, []
        for by in (step, -step):
            weights = np.append(counts, by)
            ends.append(metric(truth, a, weights) - metric(truth, b, weights))
        return (ends[0] - ends[1]) / (2 * step)

    variance = sum(count * effect(*cell) ** 2 for cell, count in zip(cells, counts, strict=True))
    of_one = sum(
        (effect(own, own, other) ** 2 + effect(own, other, own) ** 2) / 2
        for own in range(K)
        for other in set(range(K)) - {own}
    )
    return float(variance), of_one / (K - 1)


@each("name", DECIDED)
def test_decisions_of_two_models_equal_their_oracle(name: str) -> None:
    metric = DECIDED[name]
    for seed in range(quick_cases(200)):
        truth, a, b = rows = decided(seed)
        result = se.Paired(K, measures=[name]).update(*rows).compute()
        ones = np.ones(len(truth))
        of_a, of_b = metric(truth, a, ones), metric(truth, b, ones)
        found = [result.value(f"{name}_{which}") for which in ("a", "b", "difference")]
        expected = [of_a, of_b, of_a - of_b]
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-13), f"seed {seed}"


def least_root(reach: Callable[[float], float], distance: float) -> float:
    return float(brentq(lambda z: reach(z) - distance, 0.0, 1e3, xtol=1e-13))


@pytest.mark.slow
@each("name", DECIDED)
def test_test_of_decisions_equals_that_of_finite_differences(name: str) -> None:
    for seed in range(quick_cases(4, least=2)):
        rows = decided(seed)
        result = se.Paired(K, measures=[name]).update(*rows).compute()
        variance, of_one = linear_variances(DECIDED[name], *rows)
        difference = result.value(f"{name}_difference")

        def reach(z: float, variance: float = variance, of_one: float = of_one) -> float:
            return math.sqrt(z**2 * variance + z**4 * of_one)

        z = least_root(reach, abs(difference))
        expected = pytest.approx(2 * float(norm.sf(z)), rel=1e-5)
        assert result.value(f"{name}_pvalue") == expected, f"seed {seed}"
        most = 2.0 if name in ("matthews_corrcoef", "cohen_kappa") else 1.0
        ends = [difference - reach(norm.isf(0.025)), difference + reach(norm.isf(0.025))]
        found = result.confidence(f"{name}_difference")
        assert found == pytest.approx(np.clip(ends, -most, most), rel=1e-5), f"seed {seed}"
        # of many rows the interval is about as wide as that of a normal mean
        assert (found[1] - found[0]) / (2 * 1.96 * math.sqrt(variance)) < 1.15
