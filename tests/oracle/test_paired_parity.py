"""Paired against scikit-learn, scipy and exact fractions."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from profiles import quick_cases
from scipy.stats import binomtest
from sklearn.metrics import accuracy_score

import streameval as se

CASES = range(quick_cases(200))

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


@pytest.mark.parametrize("name", ORACLES)
def test_paired_metric_equals_its_oracle(name: str) -> None:
    for seed in CASES:
        rows = case(seed)
        ours = getattr(se.Paired(4).update(*rows).compute(), name)
        assert ours == pytest.approx(ORACLES[name](*rows), rel=1e-12, abs=1e-13), f"seed {seed}"
