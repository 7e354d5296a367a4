"""Areas of classes against each other are scikit-learn's, and lie in their intervals."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from offenders import each
from profiles import quick_cases
from sklearn.metrics import roc_auc_score

import streameval as se

COMPARED = {"roc_auc_ovo": "macro", "roc_auc_ovo_weighted": "weighted"}
N_CASES = quick_cases(200)


def case(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows in which each of a few classes occurs; some scores are tied."""
    random = np.random.default_rng([23, seed])
    n_classes = int(random.integers(3, 6))
    truth = np.append(np.arange(n_classes), random.integers(0, n_classes, random.integers(1, 60)))
    scores = random.dirichlet(np.ones(n_classes), len(truth))
    if seed % 2:
        scores = (scores * 8 + 1).round() / 1
        scores = np.divide(scores, scores.sum(axis=1, keepdims=True))
    return truth, scores


def sketch(truth: np.ndarray, scores: np.ndarray, seed: int, budget: int | None) -> Any:
    made = se.PRCurveSketch(budget, classes=scores.shape[1], measures=["one_vs_one"])
    for rows in np.array_split(np.random.default_rng(seed).permutation(len(truth)), 3):
        made.update(truth[rows], scores[rows])
    return made


def exact_area(truth: np.ndarray, scores: np.ndarray, average: str) -> Fraction:
    """Count the pairs of rows that are in order, and average over pairs of classes."""
    areas, weights = [], []
    for one, other in combinations(range(scores.shape[1]), 2):
        rows = (truth == one), (truth == other)
        n_pairs = int(rows[0].sum()) * int(rows[1].sum())
        twice = 0  # a pair in order counts 2, a tie 1
        for own, mine, others in ((one, *rows), (other, *rows[::-1])):
            differences = scores[mine, own][:, None] - scores[others, own]
            twice += 2 * int((differences > 0).sum()) + int((differences == 0).sum())
        areas.append(Fraction(twice, 4 * n_pairs))
        weights.append(int(sum(map(np.sum, rows))) if average == "weighted" else 1)
    total = sum(area * weight for area, weight in zip(areas, weights, strict=True))
    return Fraction(total, sum(weights))


@each("name", COMPARED)
def test_area_of_pairs_of_classes_equals_scikit_learn(name: str) -> None:
    for seed in range(N_CASES):
        truth, scores = case(seed)
        found = sketch(truth, scores, seed, None).compute().value(name)
        expected = roc_auc_score(truth, scores, multi_class="ovo", average=COMPARED[name])
        assert found.exact
        assert found == pytest.approx(expected, rel=1e-12), f"seed {seed}"


@each("name", COMPARED)
def test_interval_of_the_area_of_pairs_of_classes_contains_it(name: str) -> None:
    n_open = 0
    for seed in range(N_CASES):
        truth, scores = case(seed)
        found = sketch(truth, scores, seed, 3).compute().value(name)
        n_open += not found.exact
        expected = exact_area(truth, scores, COMPARED[name])
        assert found.low <= float(expected) <= found.high, f"seed {seed}"
    assert n_open > N_CASES / 2
