"""`Curve.adaptive_ece`: bins of equal mass, worked by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

import streameval as se


def curve(truth: list[int], score: list[float], budget: int | None = None, **options: Any) -> Any:
    return se.PRCurveSketch(budget).update(truth, score, **options).compute()


def test_bins_hold_equal_shares_of_the_rows() -> None:
    found = curve([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.9])
    assert found.adaptive_ece(2) == pytest.approx((0.35 + 0.1) / 2, rel=1e-14)
    assert found.adaptive_ece(4) == pytest.approx((0.1 + 0.8 + 0.3 + 0.1) / 4, rel=1e-14)
    assert found.adaptive_ece(1) == found.ece(1)


def test_rows_that_an_edge_cuts_are_shared() -> None:
    tied = curve([1, 0, 0, 0], [0.9, 0.4, 0.4, 0.4])
    weighted = curve([1, 0], [0.9, 0.4], sample_weight=[1, 3])
    assert tied.adaptive_ece(2) == weighted.adaptive_ece(2)
    assert tied.adaptive_ece(2) == pytest.approx((0.4 + 0.15) / 2, rel=1e-14)


def test_bounds_contain_the_exact_error() -> None:
    truth, score = [0, 1, 0, 1, 1, 0, 1, 1], [0.1, 0.15, 0.2, 0.4, 0.5, 0.6, 0.8, 0.9]
    for budget in (1, 2, 4):
        for bins in (1, 2, 3, 8):
            found = curve(truth, score, budget).adaptive_ece(bins)
            exact = curve(truth, score).adaptive_ece(bins)
            assert exact.exact
            assert found.low <= exact <= found.high
            assert found.low < found.high


def test_error_of_nothing_is_undefined() -> None:
    assert math.isnan(curve([], []).adaptive_ece())


def test_scores_of_any_size_have_none() -> None:
    real = se.PRCurveSketch(scores="real").update([0, 1], [-3.0, 4.0]).compute()
    assert isinstance(real, se.Curve)
    with pytest.raises(se.InvalidInputError, match="`adaptive_ece` needs probabilities"):
        real.adaptive_ece()
