"""Top-k accuracy: scikit-learn's without ties, the mean over all orders of tied classes with."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from offenders import each
from oracle.classification_cases import distinct_scores, weights
from oracle.classification_oracles import scikit_learn
from profiles import quick_cases
from sklearn import metrics

import streameval as se

N_CASES = quick_cases(200)
COMPARED = {"top_k_accuracy", "top_k_precision", "top_k_recall", "top_k_f_score"}


def top_k_result(
    true: np.ndarray, scores: np.ndarray, weight: np.ndarray | None, k: int, classes: Any
) -> float:
    acc = se.ConfusionAccumulator(classes, top_k=k)
    half = len(true) // 2
    for rows in (slice(half), slice(half, None)):
        part = None if weight is None else weight[rows]
        acc.update(true[rows], scores[rows], sample_weight=part)
    return acc.compute().top_k_accuracy


@each("k", range(1, 6))
def test_top_k_accuracy_equals_scikit_learn_without_ties(k: int) -> None:
    for seed in range(N_CASES):
        rng = np.random.default_rng([2, seed])
        n_classes = int(rng.integers(max(3, k), 7))
        n = int(rng.integers(1, 40))
        true = rng.integers(0, n_classes, n)
        scores, weight = distinct_scores(rng, n, n_classes), weights(rng, n)
        names = rng.permutation(np.array(["f", "dd", "a", "ccc", "e", "b"]))[:n_classes]

        by_number = top_k_result(true, scores, weight, k, n_classes)
        by_name = top_k_result(names[true], scores, weight, k, names.tolist())

        expected = scikit_learn(
            metrics.top_k_accuracy_score,
            true,
            scores,
            k=k,
            labels=np.arange(n_classes),
            sample_weight=weight,
        )
        assert by_number == pytest.approx(expected, rel=1e-12, abs=1e-14), f"seed {seed}"
        assert by_name == by_number, f"seed {seed}"


@each("n_classes", [64, 65, 1000])
@each("k", [2, 5, 63])
def test_top_k_accuracy_of_many_classes_in_small_batches_equals_scikit_learn(
    n_classes: int, k: int
) -> None:
    rng = np.random.default_rng([4, n_classes, k])
    true, scores = rng.integers(0, n_classes, 600), rng.random((600, n_classes))
    scores[np.arange(600), true] += 0.3
    acc = se.ConfusionAccumulator(n_classes, top_k=k)
    for start in range(0, 600, 32):
        acc.update(true[start : start + 32], scores[start : start + 32])
    expected = metrics.top_k_accuracy_score(true, scores, k=k, labels=np.arange(n_classes))
    assert acc.compute().top_k_accuracy == pytest.approx(expected, rel=1e-14)


def share_of_orders_with_a_hit(true: int, scores: np.ndarray, k: int) -> float:
    """Share of the orders of the classes whose stable sort puts the true one in the first k."""
    hits = []
    for order in permutations(range(len(scores))):
        ranked = sorted(order, key=lambda label: -scores[label])
        hits.append(true in ranked[:k])
    return sum(hits) / len(hits)


@each("k", range(1, 5))
def test_top_k_accuracy_is_the_mean_over_the_orders_of_tied_classes(k: int) -> None:
    for seed in range(N_CASES):
        rng = np.random.default_rng([3, seed])
        n_classes = int(rng.integers(max(3, k), 5))
        n = int(rng.integers(1, 8))
        true = rng.integers(0, n_classes, n)
        scores, weight = rng.integers(0, 3, (n, n_classes)) / 2, weights(rng, n)

        hits = [share_of_orders_with_a_hit(t, s, k) for t, s in zip(true, scores, strict=True)]

        expected = np.average(hits, weights=weight)
        ours = top_k_result(true, scores, weight, k, n_classes)
        assert ours == pytest.approx(expected, rel=1e-12, abs=1e-14), f"seed {seed}"


@each("k", range(1, 6))
def test_top_k_accuracy_of_a_constant_model_is_chance(k: int) -> None:
    scores = np.full((50, 5), 0.2)

    assert top_k_result(np.repeat(np.arange(5), 10), scores, None, k, 5) == pytest.approx(k / 5)


def test_top_k_accuracy_of_nothing_is_nan() -> None:
    assert np.isnan(se.ConfusionAccumulator(3, top_k=2).compute().top_k_accuracy)


@each("classes", [3, 32, 33, 255, 300])
def test_one_tie_among_many_rows_is_seen(classes: int) -> None:
    scores = np.tile(np.linspace(0.0, 1.0, classes), (100_000 if classes == 3 else 600, 1))
    scores[0] = 0.5
    acc = se.ConfusionAccumulator(classes).update(np.zeros(len(scores), int), scores)
    assert acc.compute().top_k_accuracy * len(scores) == pytest.approx(1 / classes)
    assert acc.compute().matrix[0, [0, -1]].tolist() == [1, len(scores) - 1]


@each("average", ["macro", "micro", "weighted", None])
def test_top_k_precision_equals_scikit_learns_of_what_torchmetrics_predicts(average: Any) -> None:
    """There the true class is predicted if it is among the best k, else the best one is."""
    for seed in range(N_CASES):
        rng = np.random.default_rng([3, seed])
        n_classes = int(rng.integers(3, 7))
        k, n = int(rng.integers(2, n_classes + 1)), int(rng.integers(1, 40))
        true, weight = rng.integers(0, n_classes, n), weights(rng, n)
        scores = rng.integers(0, 6, (n, n_classes)) / 8  # of tied classes the first come first
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        predicted = np.where((best == true[:, None]).any(axis=1), true, best[:, 0])
        acc = se.ConfusionAccumulator(n_classes, top_k=k, measures=["top_k"])
        half = n // 2
        for rows in (slice(half), slice(half, None)):
            part = None if weight is None else weight[rows]
            acc.update(true[rows], scores[rows], sample_weight=part)
        result = acc.compute()
        kept = slice(None) if weight is None else weight > 0
        *expected, _ = scikit_learn(
            metrics.precision_recall_fscore_support,
            true[kept],
            predicted[kept],
            beta=2.0,
            average=average,
            labels=np.arange(n_classes) if average is None else None,
            sample_weight=None if weight is None else weight[kept],
            zero_division=0.0,
        )
        ours = (
            result.top_k_precision(average=average),
            result.top_k_recall(average=average),
            result.top_k_f_score(2.0, average=average),
        )
        for own, other in zip(ours, expected, strict=True):
            np.testing.assert_allclose(own, other, rtol=1e-12, err_msg=f"seed {seed}")
