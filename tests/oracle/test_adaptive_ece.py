"""The calibration error of bins of equal mass, as it is computed from sorted rows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from offenders import each
from profiles import quick_cases

import streameval as se

N_CASES = quick_cases(200)


def direct(truth: np.ndarray, score: np.ndarray, bins: int) -> Fraction:
    """Sort the rows, split them into equal parts, and average the distances, without rounding."""
    order = np.argsort(score)
    labels, scores = (np.split(part[order], bins) for part in (truth, score))
    gaps = [
        abs(int(y.sum()) - sum(map(Fraction, s.tolist())))
        for y, s in zip(labels, scores, strict=True)
    ]
    return sum(gaps, Fraction()) / len(truth)


@each("budget", [None, 20, 3])
def test_adaptive_error_is_that_of_equal_parts_of_sorted_rows(budget: int | None) -> None:
    n_open = 0
    for seed in range(N_CASES):
        random = np.random.default_rng([31, seed])
        bins, rows = int(random.integers(1, 16)), int(random.integers(1, 30))
        score = random.beta(*10 ** random.uniform(-1, 1, 2), bins * rows)
        truth = (random.random(bins * rows) < score**1.5).astype(int)
        expected = direct(truth, score, bins)
        found = se.PRCurveSketch(budget).update(truth, score).compute().adaptive_ece(bins)
        n_open += not found.exact
        if found.exact:
            assert found == pytest.approx(float(expected), rel=1e-12, abs=1e-14), f"seed {seed}"
        else:
            assert found.low <= expected <= found.high, f"seed {seed}"
    assert n_open == 0 if budget is None else n_open > N_CASES / 3


def test_bounds_of_a_large_sketch_are_near() -> None:
    random = np.random.default_rng(3)
    score = random.random(30_000)
    truth = random.random(30_000) < score**1.2
    found = se.PRCurveSketch(4096).update(truth, score).compute().adaptive_ece()
    expected = direct(truth, score, 15)
    assert found.low <= expected <= found.high
    assert abs(found - float(expected)) < 1e-4
    assert 0.0 < found.high - found.low < 0.01


def test_rows_of_one_score_are_shared_by_the_bins_that_they_fill() -> None:
    curve = se.PRCurveSketch().update([0, 1, 1, 0], [0.5] * 4).compute()
    assert curve.adaptive_ece(3) == 0.0
    tied = se.PRCurveSketch().update([1, 0, 0, 0], [0.9, 0.4, 0.4, 0.4]).compute()
    assert tied.adaptive_ece(2) == pytest.approx((0.4 + 0.15) / 2, rel=1e-15)
    weighted = se.PRCurveSketch().update([1, 0], [0.9, 0.4], sample_weight=[1, 3]).compute()
    assert weighted.adaptive_ece(2) == tied.adaptive_ece(2)
