"""RegressionAccumulator against scikit-learn and against exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from profiles import quick_cases
from sklearn import metrics as sk

import streameval as se

CASES = range(quick_cases(200))


def case(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    random = np.random.default_rng(seed)
    size = int(random.integers(2, 60))
    truth = random.normal(random.normal(0, 10), 10 ** random.uniform(-3, 3), size)
    prediction = truth + random.normal(0, 10 ** random.uniform(-3, 3), size)
    weights = [None, random.integers(0, 4, size), random.random(size)][seed % 3]
    if weights is not None:
        weights[:2] = 1
    return truth, prediction, weights


def mean_error(truth: np.ndarray, prediction: np.ndarray, sample_weight: object) -> float:
    return float(np.average(prediction - truth, weights=sample_weight))  # type: ignore[arg-type]


def adjusted_r2(truth: np.ndarray, prediction: np.ndarray, sample_weight: object) -> float:
    n = float(np.sum(np.ones(len(truth)) if sample_weight is None else sample_weight))  # type: ignore[arg-type]
    left = n - FEATURES - 1
    r2 = sk.r2_score(truth, prediction, sample_weight=sample_weight)
    return 1 - (1 - r2) * (n - 1) / left if left > 0 else math.nan


def deviation(truth: np.ndarray, sample_weight: object) -> float:
    mean = np.average(truth, weights=sample_weight)  # type: ignore[arg-type]
    return float(np.sqrt(np.average((truth - mean) ** 2, weights=sample_weight)))  # type: ignore[arg-type]


FEATURES = 3
ORACLES = {
    "explained_variance": sk.explained_variance_score,
    "adjusted_r2": adjusted_r2,
    "relative_squared_error": lambda y, p, sample_weight: (
        1 - sk.r2_score(y, p, sample_weight=sample_weight)
    ),
    "nrmse_std": lambda y, p, sample_weight: (
        sk.root_mean_squared_error(y, p, sample_weight=sample_weight) / deviation(y, sample_weight)
    ),
    "nrmse_mean": lambda y, p, sample_weight: (
        sk.root_mean_squared_error(y, p, sample_weight=sample_weight)
        / np.average(y, weights=sample_weight)
    ),
    "pinball_loss": lambda y, p, sample_weight: sk.mean_pinball_loss(
        y, p, sample_weight=sample_weight, alpha=0.3
    ),
    "bias": mean_error,
    "mse": sk.mean_squared_error,
    "rmse": sk.root_mean_squared_error,
    "mae": sk.mean_absolute_error,
    "r2": sk.r2_score,
}
ARGUMENTS = {"adjusted_r2": (FEATURES,), "pinball_loss": (0.3,)}


@pytest.mark.parametrize(
    "name", [row.name for row in se.Regression.TABLE.values() if not row.is_count]
)
def test_regression_metric_equals_its_oracle(name: str) -> None:
    for seed in CASES:
        truth, prediction, weights = case(seed)
        result = se.RegressionAccumulator().update(truth, prediction, sample_weight=weights)
        expected = ORACLES[name](truth, prediction, sample_weight=weights)
        ours = result.compute().value(name, *ARGUMENTS.get(name, ()))
        close = pytest.approx(expected, rel=1e-12, abs=1e-13, nan_ok=True)
        assert ours == close, f"seed {seed}"


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("mean", [0.0, 1e6], ids=["centred", "mean far beyond the spread"])
def test_regression_metrics_are_the_exact_values_rounded_once(mean: float, weighted: bool) -> None:
    for seed in range(20):
        random = np.random.default_rng(seed)
        truth = random.normal(mean, 1.0, 50) * 10 ** random.uniform(-12, 12)
        prediction = truth * random.normal(1, 0.01, 50)
        weights = random.random(50) if weighted else np.ones(50)
        result = se.RegressionAccumulator()
        for rows in np.array_split(random.permutation(50), 7):
            result.update(truth[rows], prediction[rows], sample_weight=weights[rows])
        computed = result.compute()

        w = [Fraction(x) for x in weights.tolist()]
        w = [Fraction(round(x * 2**62), 2**62) for x in w]
        y = [Fraction(x) for x in truth.tolist()]
        e = [Fraction(x) for x in (prediction - truth).tolist()]
        n = sum(w)
        squared = sum(a * b * b for a, b in zip(w, e, strict=True))
        spread = sum(a * b * b for a, b in zip(w, y, strict=True)) - (
            sum(a * b for a, b in zip(w, y, strict=True)) ** 2 / n
        )
        assert computed.mse == float(squared / n)
        assert computed.mae == float(sum(a * abs(b) for a, b in zip(w, e, strict=True)) / n)
        assert computed.bias == float(sum(a * b for a, b in zip(w, e, strict=True)) / n)
        assert computed.r2 == float(1 - squared / spread)


def test_regression_r2_is_undefined_for_a_constant_truth() -> None:
    result = se.RegressionAccumulator().update([0.1] * 3, [0.1, 0.2, 0.3]).compute()
    assert math.isnan(result.r2)
    assert result.mae > 0


def test_regression_of_nothing_is_undefined() -> None:
    numbers = se.RegressionAccumulator().compute().as_dict()
    assert numbers.pop("n") == 0
    assert all(math.isnan(number) for number in numbers.values())


@pytest.mark.parametrize("size", [1e-200, 1e-320, 2.0**400])
def test_regression_takes_numbers_of_any_size_it_admits(size: float) -> None:
    accumulator = se.RegressionAccumulator()
    accumulator.update([size, -size, 0.0], [0.0, size, -size], sample_weight=[0.3, 2**62, 2**-19])
    assert se.from_bytes(accumulator.to_bytes()) == accumulator
    assert accumulator.compute().mae > 0


def test_regression_r2_is_minus_infinity_when_errors_pass_any_float_times_the_spread() -> None:
    result = se.RegressionAccumulator().update([1e-150, 0.0], [1e120, 0.0]).compute()
    assert result.r2 == -math.inf
