"""Numbers of `RegressionAccumulator` at the ends of what floats can say."""

from __future__ import annotations

import math

import pytest

import streameval as se


@pytest.mark.parametrize(
    ("y_true", "y_pred", "r2"),
    [
        ([0.0, 1e-150], [1e100, 1e100], -math.inf),
        ([1.0, 2.0], [1.0, 2.0], 1.0),
        ([1.0, 2.0], [1.5, 1.5], 0.0),
    ],
    ids=["errors beyond any float times the spread", "perfect", "the mean"],
)
def test_r2_is_what_the_fractions_say(y_true: list[float], y_pred: list[float], r2: float) -> None:
    assert se.RegressionAccumulator().update(y_true, y_pred).compute().r2 == r2


@pytest.mark.parametrize("y_true", [[], [2.0], [2.0, 2.0]], ids=["nothing", "one", "constant"])
def test_r2_is_undefined_without_a_spread(y_true: list[float]) -> None:
    assert math.isnan(se.RegressionAccumulator().update(y_true, y_true).compute().r2)
