"""Interval widths against derivatives taken numerically, where samples are large."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from offenders import each
from scipy.optimize import brentq
from scipy.stats import rankdata

import streameval as se

Z = 1.959963984540054
MATRIX = np.array([[50, 9, 4], [3, 70, 11], [17, 2, 90]]) * 1_000_000
TABLES = np.array([[[50, 9], [4, 37]], [[70, 3], [11, 16]], [[30, 2], [17, 51]]]) * 1_000_000
RATIOS = [
    row.name
    for row in se.Confusion.TABLE.values()
    if row.averages and not row.name.startswith("top_k")  # they are of other counts
]


def of_matrix(matrix: np.ndarray, **options: Any) -> se.Confusion:
    truth, prediction = np.indices(matrix.shape).reshape(2, -1)
    acc = se.ConfusionAccumulator(len(matrix), **options)
    return acc.update(truth, prediction, sample_weight=matrix.ravel()).compute()


def of_tables(tables: np.ndarray) -> se.Confusion:
    """Count tables whose labels are known one at a time, so that any tables can be built."""
    labels, truths, predictions = np.indices(tables.shape).reshape(3, -1)
    rows = np.arange(len(labels))
    y_true = np.full((len(labels), len(tables)), -1)
    y_pred = np.zeros_like(y_true)
    y_true[rows, labels], y_pred[rows, labels] = truths, predictions
    acc = se.ConfusionAccumulator(len(tables), multilabel=True, ignore_label=-1)
    return acc.update(y_true, y_pred, sample_weight=tables.ravel()).compute()


def gradient(make: Any, counts: np.ndarray, name: str, **options: Any) -> np.ndarray:
    """Take the derivative by each count, by central differences."""
    slopes = []
    for cell in np.ndindex(counts.shape):
        step = np.zeros(counts.shape)
        step[cell] = counts[cell] * 1e-3
        above = make(counts + step).value(name, **options)
        below = make(counts - step).value(name, **options)
        slopes.append((above - below) / (2 * step[cell]))
    return np.moveaxis(np.array(slopes), 0, -1).reshape(np.shape(slopes[0]) + counts.shape)


def half_width(result: se.Confusion, name: str, **options: Any) -> Any:
    low, high = result.confidence(name, **options)
    return (np.asarray(high) - low) / 2


@each("name", ["accuracy", "hamming_loss", "matthews_corrcoef", "cohen_kappa"])
def test_width_is_that_of_the_derivatives(name: str) -> None:
    variance = (MATRIX * gradient(of_matrix, MATRIX, name) ** 2).sum()
    assert half_width(of_matrix(MATRIX), name) == pytest.approx(Z * np.sqrt(variance), rel=1e-5)


@each("name", RATIOS)
def test_width_of_each_class_is_that_of_the_derivatives(name: str) -> None:
    slopes = gradient(of_matrix, MATRIX, name, average=None)
    expected = Z * np.sqrt((MATRIX * slopes**2).sum(axis=(1, 2)))
    widths = half_width(of_matrix(MATRIX), name, average=None)
    np.testing.assert_allclose(widths, expected, rtol=1e-3)


@each("unseen", [0, 2])
@each("name", RATIOS)
def test_width_of_pooled_counts_is_that_of_the_derivatives(name: str, unseen: int) -> None:
    padded = np.pad(MATRIX, (0, unseen))
    variance = (MATRIX * gradient(of_matrix, MATRIX, name, average="micro") ** 2).sum()
    width = half_width(of_matrix(padded), name, average="micro")
    if name == "selection_rate":  # each row selects one class: a constant, which rounding widens
        assert variance == pytest.approx(0.0, abs=1e-20)
        assert width < 1e-4
        return
    assert width == pytest.approx(Z * np.sqrt(variance), rel=1e-3)


@each("average", ["macro", "weighted"])
@each("name", RATIOS)
def test_width_of_a_mean_is_the_wider_of_two_approximations(name: str, average: str) -> None:
    linear = (MATRIX * gradient(of_matrix, MATRIX, name, average=average) ** 2).sum()
    slopes = gradient(of_matrix, MATRIX, name, average=None)
    of_class = (MATRIX * slopes**2).sum(axis=(1, 2))
    shares = MATRIX.sum(axis=1) / MATRIX.sum() if average == "weighted" else np.full(3, 1 / 3)
    combined = (shares**2 * of_class).sum()
    expected = Z * np.sqrt(max(linear, combined))
    width = half_width(of_matrix(MATRIX), name, average=average)
    assert width == pytest.approx(expected, rel=1e-3)


def test_width_of_balanced_accuracy_is_that_of_macro_recall() -> None:
    result = of_matrix(MATRIX)
    macro = half_width(result, "recall", average="macro")
    assert half_width(result, "balanced_accuracy") == pytest.approx(macro, rel=1e-12)


@each(
    ("name", "options"),
    [("hamming_loss", {}), *((name, {"average": "micro"}) for name in RATIOS)],
)
def test_width_of_pooled_labels_allows_any_dependence(name: str, options: dict[str, Any]) -> None:
    slopes = gradient(of_tables, TABLES, name, **options)
    means = (TABLES * slopes).sum(axis=(1, 2)) / TABLES.sum(axis=(1, 2))
    variances = (TABLES * (slopes - means[:, None, None]) ** 2).sum(axis=(1, 2))
    expected = Z * np.sqrt(variances).sum()
    assert half_width(of_tables(TABLES), name, **options) == pytest.approx(expected, rel=1e-3)


@each("name", RATIOS)
def test_width_of_a_mean_over_labels_allows_any_dependence(name: str) -> None:
    slopes = gradient(of_tables, TABLES, name, average=None)
    deviations = np.sqrt((TABLES * slopes**2).sum(axis=(1, 2, 3)))
    width = half_width(of_tables(TABLES), name, average="macro")
    assert width == pytest.approx(Z * deviations.mean(), rel=1e-3)


def test_width_of_top_k_accuracy_is_that_of_the_credits() -> None:
    rows = 200_000
    scores = np.tile([0.5, 0.2, 0.2, 0.1], (rows, 1))
    truth = np.arange(rows) % 4
    result = se.ConfusionAccumulator(4, top_k=2).update(truth, scores).compute()
    credit = np.array([1.0, 0.5, 0.5, 0.0])
    expected = Z * credit.std() / np.sqrt(rows)
    assert half_width(result, "top_k_accuracy") == pytest.approx(expected, rel=1e-3)


@each(
    ("matrix", "name", "options", "draws"),
    [
        ([[10, 0], [0, 5]], "f_score", {}, 10),
        ([[10, 0], [0, 5]], "f_score", {"beta": 2.0}, 5 * 5 / 4),
        ([[7, 3], [5, 0]], "f_score", {}, 8 / 2),
        ([[10, 0], [0, 5]], "jaccard", {"average": "micro"}, 15 / 2),  # accuracy / (2 - accuracy)
        ([[10, 0], [0, 5]], "f_score", {"average": "micro"}, 15),
    ],
)
def test_interval_at_an_end_is_wilsons_of_the_limit(
    matrix: list[list[int]], name: str, options: dict[str, Any], draws: float
) -> None:
    result = of_matrix(np.array(matrix))
    low, high = result.confidence(name, **options)
    share = Z * Z / draws
    reach = share / (1 + share)
    assert (low, high) == pytest.approx((1 - reach, 1.0) if low else (0.0, reach))


def test_a_small_class_keeps_the_interval_of_a_mean_wide() -> None:
    result = of_matrix(np.array([[970, 30], [0, 2]]))
    recall_of_two = result.confidence("recall", average=None)[0][1]
    low, _ = result.confidence("balanced_accuracy")
    assert low < result.balanced_accuracy - (1 - recall_of_two) / 2 * 0.99


@each(
    ("matrix", "name", "average"),
    [
        ([[28, 1, 0], [0, 20, 1], [0, 0, 0]], "recall", "macro"),
        ([[28, 1, 0], [0, 20, 0], [9, 0, 0]], "precision", "macro"),
        ([[28, 1, 0], [0, 20, 0], [9, 0, 0]], "precision", "weighted"),
    ],
)
def test_interval_of_a_mean_holds_it_for_every_value_of_a_class_without_one(
    matrix: list[list[int]], name: str, average: str
) -> None:
    result = of_matrix(np.array(matrix))
    for convention in (0.0, 1.0):
        low, high = result.confidence(name, average=average, zero_division=convention)
        for other in (0.0, 1.0):
            assert low < result.value(name, average=average, zero_division=other) < high


@each("name", ["cohen_kappa", "matthews_corrcoef", "cohen_kappa_linear"])
@each("size", [2, 3])
def test_few_examples_of_a_class_widen_a_correlation(name: str, size: int) -> None:
    matrix = np.random.default_rng(size).integers(3, 30, (size, size)) + 20.0 * np.eye(size)
    slopes = gradient(of_matrix, matrix, name)
    swaps = [(slopes[k, k] - slopes[k, j]) ** 2 for k, j in np.ndindex(size, size) if k != j]
    variance = (matrix * slopes**2).sum() + Z**2 * np.sum(swaps) / (size - 1) / 4
    result = of_matrix(matrix)
    value = result.value(name)
    reach = Z * np.sqrt(variance) / (1 - value**2)
    expected = np.tanh(np.arctanh(value) + np.array([-reach, reach]))
    assert result.confidence(name) == pytest.approx(expected, rel=1e-4)


def test_correlation_of_one_predicted_class_has_a_wide_interval() -> None:
    result = of_matrix(np.array([[0, 20], [0, 180]]))
    low, high = result.confidence("cohen_kappa")
    assert low < -0.1
    assert high > 0.1
    assert result.matthews_corrcoef == 0.0
    assert result.confidence("matthews_corrcoef") == (-1.0, 1.0)


@each("name", ["cohen_kappa", "matthews_corrcoef", "cohen_kappa_linear", "cohen_kappa_quadratic"])
def test_interval_of_perfect_disagreement_mirrors_that_of_agreement(name: str) -> None:
    low, high = of_matrix(np.array([[9, 0], [0, 9]])).confidence(name)
    mirrored = of_matrix(np.array([[0, 9], [9, 0]])).confidence(name)
    assert mirrored == pytest.approx((-high, -low))
    assert low < 0.8


def test_intervals_of_a_thousand_classes_take_no_cubic_time() -> None:
    labels = np.arange(2000) % 1000
    result = se.ConfusionAccumulator(1000).update(labels, labels).compute()
    low, high = result.confidence("recall", average=None)
    assert low.shape == high.shape == (1000,)


def slopes_of_rows(value: Any, truth: np.ndarray) -> np.ndarray:
    """Take the derivative by the weight of each row, by central differences."""
    steps = 1e-5 * np.eye(len(truth))
    return np.array([(value(1 + step) - value(1 - step)) / 2e-5 for step in steps])


@each("digits", [0, 1, 12])
@each(("n_pos", "n_neg", "max_fpr"), [(5, 60, 0.07), (30, 40, 0.33), (9, 30, 1.0)])
def test_limits_of_a_partial_area_solve_the_score_equation(
    n_pos: int, n_neg: int, max_fpr: float, digits: int
) -> None:
    truth = np.arange(n_pos + n_neg) < n_pos
    scores = np.random.default_rng(n_pos).normal(1.5 * truth).round(digits)

    def mean_rate(weights: np.ndarray | None = None) -> float:
        """The mean true positive rate below the limit, from the standardized area."""
        sketch = se.PRCurveSketch(scores="real").update(truth, scores, sample_weight=weights)
        standard = sketch.compute().partial_roc_auc(max_fpr)
        return max_fpr / 2 + (2 * standard - 1) * (1 - max_fpr / 2)

    # a derivative by a weight is the distance of a placement from its mean, over the rows
    slopes, share = slopes_of_rows(mean_rate, truth), mean_rate()
    variance = sum((slopes[of] ** 2).sum() * of.sum() / (of.sum() - 1) for of in (truth, ~truth))
    reached, spread = max_fpr * n_neg, share * (1 - share)
    random_ranks = (n_pos + reached + 1) / 12 / n_pos / reached
    added = random_ranks * (6 - 2 * max_fpr) * spread / (1 + 2 * min(n_pos, reached) * spread)

    def score(limit: float) -> float:
        return (limit - share) ** 2 - Z**2 * (variance + added) * limit * (1 - limit) / spread

    limits = [brentq(score, *ends, xtol=1e-14) for ends in ((0, share), (share, 1))]
    expected = [0.5 + 0.5 * (end - max_fpr / 2) / (1 - max_fpr / 2) for end in limits]
    result = se.PRCurveSketch(scores="real").update(truth, scores).compute()
    assert result.confidence("partial_roc_auc", max_fpr) == pytest.approx(expected, rel=1e-6)


def area_and_variance(truth: np.ndarray, scores: np.ndarray) -> tuple[float, float]:
    """Give the area and DeLong's variance from mid-ranks (Sun and Xu, 2014)."""
    n_pos, n_neg = truth.sum(), (~truth).sum()
    ranks = rankdata(scores)
    above = (ranks[truth] - rankdata(scores[truth])) / n_neg
    below = 1 - (ranks[~truth] - rankdata(scores[~truth])) / n_pos
    return above.mean(), above.var(ddof=1) / n_pos + below.var(ddof=1) / n_neg


@each(("n_pos", "n_neg"), [(2, 3), (5, 200), (10, 990), (60, 40), (900, 800)])
@each("digits", [0, 1, 12])
def test_limits_of_an_area_solve_the_score_equation(n_pos: int, n_neg: int, digits: int) -> None:
    truth = np.arange(n_pos + n_neg) < n_pos
    scores = np.random.default_rng(n_pos).normal(1.5 * truth).round(digits)
    area, delong = area_and_variance(truth, scores)
    random_ranks = (n_pos + n_neg + 1) / 12 / n_pos / n_neg
    spread = area * (1 - area)
    added = random_ranks * 4 * spread / (1 + 2 * min(n_pos, n_neg) * spread)

    def score(limit: float) -> float:
        return (limit - area) ** 2 - Z**2 * (delong + added) * limit * (1 - limit) / spread

    result = se.PRCurveSketch(scores="real").update(truth, scores).compute()
    limits = brentq(score, 0, area, xtol=1e-14), brentq(score, area, 1, xtol=1e-14)
    assert result.confidence("roc_auc") == pytest.approx(limits, rel=1e-9, abs=1e-12)
