"""Areas of classes against each other are scikit-learn's, and lie in their intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
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


@pytest.mark.parametrize("name", COMPARED)
@pytest.mark.parametrize("budget", [None, 3], ids=["exact", "bounds"])
def test_area_of_pairs_of_classes_equals_scikit_learn(name: str, budget: int | None) -> None:
    n_open = 0
    for seed in range(N_CASES):
        truth, scores = case(seed)
        options: dict[str, Any] = {"classes": scores.shape[1], "measures": ["one_vs_one"]}
        sketch = se.PRCurveSketch(budget, **options)
        for rows in np.array_split(np.random.default_rng(seed).permutation(len(truth)), 3):
            sketch.update(truth[rows], scores[rows])
        found = sketch.compute().value(name)
        expected = roc_auc_score(truth, scores, multi_class="ovo", average=COMPARED[name])
        if budget is None:
            assert found.exact
            assert found == pytest.approx(expected, rel=1e-12), f"seed {seed}"
        else:
            n_open += not found.exact
            assert found.low <= expected <= found.high, f"seed {seed}"
    assert budget is None or n_open > N_CASES / 2
