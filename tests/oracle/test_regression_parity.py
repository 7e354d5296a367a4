"""RegressionAccumulator against scikit-learn and against exact fractions."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from offenders import each
from profiles import cases, quick_cases
from scipy.stats import pearsonr
from sklearn import metrics as sk

import streameval as se
from streameval.metrics.intervals import student

Oracle = Callable[..., float]
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


@each(
    "name",
    [row.name for row in se.Regression.TABLE.values() if not (row.is_count or row.measured)],
)
def test_regression_metric_equals_its_oracle(name: str) -> None:
    for seed in CASES:
        truth, prediction, weights = case(seed)
        result = se.RegressionAccumulator().update(truth, prediction, sample_weight=weights)
        expected = ORACLES[name](truth, prediction, sample_weight=weights)
        ours = result.compute().value(name, *ARGUMENTS.get(name, ()))
        close = pytest.approx(expected, rel=1e-12, abs=1e-13, nan_ok=True)
        assert ours == close, f"seed {seed}"


@each("weighted", [False, True])
@each("mean", [0.0, 1e6])
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


@each("size", [1e-200, 1e-320, 2.0**400])
def test_regression_takes_numbers_of_any_size_it_admits(size: float) -> None:
    accumulator = se.RegressionAccumulator()
    accumulator.update([size, -size, 0.0], [0.0, size, -size], sample_weight=[0.3, 2**62, 2**-19])
    assert se.from_bytes(accumulator.to_bytes()) == accumulator
    assert accumulator.compute().mae > 0


def test_regression_r2_is_minus_infinity_when_errors_pass_any_float_times_the_spread() -> None:
    result = se.RegressionAccumulator().update([1e-150, 0.0], [1e120, 0.0]).compute()
    assert result.r2 == -math.inf


def positive_case(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    random = np.random.default_rng(seed)
    size = int(random.integers(2, 60))
    truth = random.gamma(2.0, 1.0, size)
    prediction = truth * np.exp(random.normal(0.1, 10 ** random.uniform(-1, 0.5), size))
    if seed % 4 == 0:
        truth, prediction = truth.round(1) + 0.1, prediction.round(1) + 0.1
    scale = 10 ** random.uniform(-3, 3)
    truth, prediction = truth * scale, prediction * scale
    weights = [None, random.integers(0, 4, size), random.random(size)][seed % 3]
    if weights is not None:
        weights[:2] = 1
    return truth, prediction, weights


def mean_of(function: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Oracle:
    """The weighted mean of a function of truth and prediction."""
    return lambda y, p, sample_weight: float(np.average(function(y, p), weights=sample_weight))


def huber(delta: float) -> Oracle:
    def loss(y: np.ndarray, p: np.ndarray) -> np.ndarray:
        size = np.abs(y - p)
        return np.where(size <= delta, 0.5 * size**2, delta * size - 0.5 * delta**2)

    return mean_of(loss)


def tweedie(power: float) -> Oracle:
    return lambda y, p, sample_weight: sk.mean_tweedie_deviance(
        y, p, sample_weight=sample_weight, power=power
    )


def wmape(y: np.ndarray, p: np.ndarray, sample_weight: Any) -> float:
    w = np.ones(len(y)) if sample_weight is None else sample_weight
    return float((w * np.abs(y - p)).sum() / (w * np.abs(y)).sum())


def counted(y: np.ndarray, sample_weight: Any) -> np.ndarray:
    """The rows that count."""
    return np.full(len(y), True) if sample_weight is None else sample_weight > 0


def max_error(y: np.ndarray, p: np.ndarray, sample_weight: Any) -> float:
    kept = counted(y, sample_weight)
    return float(sk.max_error(y[kept], p[kept]))


def nrmse_range(y: np.ndarray, p: np.ndarray, sample_weight: Any) -> float:
    rmse = sk.root_mean_squared_error(y, p, sample_weight=sample_weight)
    return float(rmse / np.ptp(y[counted(y, sample_weight)]))


def moments(y: np.ndarray, p: np.ndarray, sample_weight: Any) -> np.ndarray:
    """The covariance matrix, around means taken in one more pass."""
    return np.cov(y, p, aweights=sample_weight, ddof=0)


def pearson(y: np.ndarray, p: np.ndarray, sample_weight: Any) -> float:
    if sample_weight is None:
        return float(pearsonr(y, p).statistic)
    (yy, yp), (_, pp) = moments(y, p, sample_weight)
    return float(yp / np.sqrt(yy * pp))


def concordance(y: np.ndarray, p: np.ndarray, sample_weight: Any) -> float:
    (yy, yp), (_, pp) = moments(y, p, sample_weight)
    apart = mean_error(y, p, sample_weight)
    return float(2 * yp / (yy + pp + apart**2))


def quantile(level: float) -> Oracle:
    """NumPy's, of rows repeated by whole weights: it takes no others for this method."""

    def read(y: np.ndarray, p: np.ndarray, sample_weight: Any) -> float:
        errors = np.abs(y - p)
        if sample_weight is None:
            return float(np.quantile(errors, level, method="averaged_inverted_cdf"))
        if sample_weight.dtype.kind == "i":
            repeated = np.repeat(errors, sample_weight)
            return float(np.quantile(repeated, level, method="averaged_inverted_cdf"))
        return float(np.quantile(errors, level, method="inverted_cdf", weights=sample_weight))

    return read


def median(y: np.ndarray, p: np.ndarray, sample_weight: Any) -> float:
    if sample_weight is None:
        return float(sk.median_absolute_error(y, p))
    return quantile(0.5)(y, p, sample_weight)


MEASURES: dict[str, Oracle] = {
    "mape": sk.mean_absolute_percentage_error,
    "smape": mean_of(lambda y, p: 2 * np.abs(p - y) / np.maximum(np.abs(y) + np.abs(p), 1.17e-06)),
    "wmape": wmape,
    "msle": sk.mean_squared_log_error,
    "rmsle": sk.root_mean_squared_log_error,
    "max_error": max_error,
    "nrmse_range": nrmse_range,
    "tweedie_deviance(power=-1.5)": tweedie(-1.5),
    "tweedie_deviance(power=0)": tweedie(0),
    "tweedie_deviance(power=1)": tweedie(1),
    "tweedie_deviance(power=1.5)": tweedie(1.5),
    "tweedie_deviance(power=2)": tweedie(2),
    "tweedie_deviance(power=3)": tweedie(3),
    "poisson_deviance": sk.mean_poisson_deviance,
    "gamma_deviance": sk.mean_gamma_deviance,
    "huber(delta=1)": huber(1.0),
    "huber(delta=20)": huber(20.0),
    "log_cosh": mean_of(lambda y, p: (p - y) + np.logaddexp(0.0, -2 * (p - y)) - np.log(2.0)),
    "pearson": pearson,
    "concordance": concordance,
    "median_absolute_error": median,
    "absolute_error_quantile(q=0.3)": quantile(0.3),
    "absolute_error_quantile(q=0.9)": quantile(0.9),
    "absolute_error_quantile(q=1)": quantile(1.0),
}
COMPARED = {*ORACLES, *(name.partition("(")[0] for name in MEASURES)}


@functools.cache
def measured(seed: int) -> se.Regression:
    """The result of all measures on a case, of rows in another order and in three updates."""
    truth, prediction, weights = positive_case(seed)
    acc = se.RegressionAccumulator([*MEASURES])
    for rows in np.array_split(np.random.default_rng(seed).permutation(len(truth)), 3):
        part = None if weights is None else weights[rows]
        acc.update(truth[rows], prediction[rows], sample_weight=part)
    return acc.compute()


@each("name", MEASURES)
def test_regression_measure_equals_its_oracle(name: str) -> None:
    for seed in CASES:
        truth, prediction, weights = positive_case(seed)
        expected = MEASURES[name](truth, prediction, sample_weight=weights)
        # where prediction and truth are near, scikit-learn's deviances cancel
        close = pytest.approx(expected, rel=1e-12, abs=1e-13 * (1 + float(truth.max())))
        assert measured(seed).value(name) == close, f"seed {seed}"


@each("power", [-2.0, 1.0, 1.5, 1.9, 2.0, 2.5, 3.0, 5.0])
@each("distance", [1e-4, 1e-2, 1.0, 3.0])
def test_deviance_is_accurate_where_predictions_are_near_the_truth(
    power: float, distance: float
) -> None:
    random = np.random.default_rng(7)
    truth = random.gamma(2.0, 5.0, 40)
    prediction = truth * np.exp(random.normal(0, distance, 40))
    name = f"tweedie_deviance(power={power})"
    ours = se.RegressionAccumulator([name]).update(truth, prediction).compute().value(name)
    with localcontext() as context:
        context.prec = 60
        pairs = zip(truth.tolist(), prediction.tolist(), strict=True)
        terms = [deviance(Decimal(y), Decimal(p), Decimal(power)) for y, p in pairs]
        expected = float(sum(terms) / len(terms))
    assert ours == pytest.approx(expected, rel=1e-14 + 2e-15 / min(distance, 1.0))


def deviance(y: Decimal, p: Decimal, power: Decimal) -> Decimal:
    if power == 1:
        return 2 * (y * (y / p).ln() - y + p)
    if power == 2:
        return 2 * ((p / y).ln() + y / p - 1)
    a, b = 1 - power, 2 - power
    return 2 * (y**b / (a * b) - y * p**a / a + p**b / b)


@each("budget", [1, 2, 5, 17])
def test_bounds_of_quantiles_contain_the_exact_ones(budget: int) -> None:
    levels = [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0]
    for seed in CASES:
        truth, prediction, weights = positive_case(3 * seed + seed % 2)
        acc = se.RegressionAccumulator(["median_absolute_error"], budget=budget)
        part = slice(len(truth) // 2)
        of_part = acc.copy().update(
            truth[part], prediction[part], sample_weight=None if weights is None else weights[part]
        )
        rest = slice(len(truth) // 2, None)
        acc.update(
            truth[rest], prediction[rest], sample_weight=None if weights is None else weights[rest]
        )
        result = (acc + of_part).compute()
        for level in levels:
            exact = quantile(level)(truth, prediction, weights)
            value = result.absolute_error_quantile(level)
            assert value.low <= exact <= value.high, (seed, level)
            assert value.low <= value <= value.high


def interval_by_hand(name: str, y: np.ndarray, p: np.ndarray, z: float) -> tuple[float, float]:
    """The delta method in floats, from the residuals themselves, for the rows that matter."""
    n, e = len(y), p - y

    def root(variables: np.ndarray, losses: np.ndarray, few: int = 4) -> float:
        n_effective = losses.sum() ** 2 / (losses**2).sum()
        wider = max(math.sqrt(1 + few / math.sqrt(n_effective)), student(z, n))
        return float(variables.std(ddof=1) * wider / math.sqrt(n))

    if name == "bias":
        reach = z * root(e, np.abs(e), 2)
        return e.mean() - reach, e.mean() + reach
    if name == "r2":
        d2 = (y - y.mean()) ** 2
        parts = e**2 / (e**2).mean(), d2 / d2.mean()
        factor = math.exp(z * root(parts[0] - parts[1], parts[0] + parts[1]))
        ratio = (e**2).mean() / d2.mean()
        return 1 - ratio * factor, 1 - ratio / factor
    values = np.abs(e) if name == "mae" else e**2
    factor = math.exp(z * root(values, values) / values.mean())
    low, high = values.mean() / factor, values.mean() * factor
    return (math.sqrt(low), math.sqrt(high)) if name == "rmse" else (low, high)


@each("name", ["rmse", "mse", "mae", "r2", "bias"])
def test_sampling_interval_is_that_of_the_residuals(name: str) -> None:
    for seed in CASES:
        truth, prediction, weights = case(seed)
        rows = np.arange(len(truth))
        whole = weights is not None and weights.dtype.kind == "i"
        acc = se.RegressionAccumulator(intervals=True)
        acc.update(truth, prediction, sample_weight=weights if whole else None)
        repeated = np.repeat(rows, weights) if whole else rows
        expected = interval_by_hand(name, truth[repeated], prediction[repeated], 1.6448536269514722)
        ours = acc.compute().confidence(name, level=0.9)
        scale = float(np.abs(prediction - truth).max())
        # the oracle loses digits where the mean of the truth is far beyond its spread
        assert ours == pytest.approx(expected, rel=1e-6, abs=1e-9 * scale), f"seed {seed}"


ERRORS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": lambda random, size: random.normal(0.0, 1.0, size),
    "t": lambda random, size: random.standard_t(4, size),
    "exponential": lambda random, size: random.exponential(1.0, size) - 1.0,
}
VARIANCE = {"normal": 1.0, "t": 2.0, "exponential": 1.0}
ABSOLUTE = {  # the means of |e|
    "normal": math.sqrt(2 / math.pi),
    "t": 1.0,
    "exponential": 2 / math.e,
}


@pytest.mark.long
@pytest.mark.parametrize(
    ("errors", "n", "min_cover"),
    [
        ("normal", 20, 0.95),
        ("normal", 1000, 0.95),
        ("t", 20, 0.93),
        ("t", 100, 0.93),
        ("t", 1000, 0.93),
        ("exponential", 30, 0.89),
        ("exponential", 1000, 0.95),
    ],
)
def test_sampling_intervals_cover_the_population(errors: str, n: int, min_cover: float) -> None:
    random = np.random.default_rng(11)
    population = {
        "rmse": math.sqrt(VARIANCE[errors]),
        "mae": ABSOLUTE[errors],
        "r2": 1 - VARIANCE[errors] / 4,
        "bias": 0.0,
    }
    samples = cases(2000, least=400)
    covered = dict.fromkeys(population, 0)
    for _ in range(samples):
        truth = random.normal(3.0, 2.0, n)
        acc = se.RegressionAccumulator(intervals=True)
        result = acc.update(truth, truth + ERRORS[errors](random, n)).compute()
        for name, value in population.items():
            low, high = result.confidence(name)
            covered[name] += low <= value <= high
    for name, count in covered.items():
        assert min_cover - 0.04 <= count / samples <= 0.995, name


AVERAGED: dict[str, Callable[..., Any]] = {
    "rmse": sk.root_mean_squared_error,
    "mse": sk.mean_squared_error,
    "mae": sk.mean_absolute_error,
    "r2": functools.partial(sk.r2_score, force_finite=False),
    "explained_variance": functools.partial(sk.explained_variance_score, force_finite=False),
    "mape": sk.mean_absolute_percentage_error,
    "msle": sk.mean_squared_log_error,
    "rmsle": sk.root_mean_squared_log_error,
    "median_absolute_error": sk.median_absolute_error,
    "pinball_loss": functools.partial(sk.mean_pinball_loss, alpha=0.3),
}


@each("name", AVERAGED)
def test_averages_over_outputs_equal_scikit_learn(name: str) -> None:
    for seed in CASES:
        random = np.random.default_rng(seed)
        shape = int(random.integers(2, 40)), int(random.integers(1, 6))
        truth = random.gamma(2.0, 10 ** random.uniform(-2, 2, shape[1]), shape)
        prediction = truth * np.exp(random.normal(0, 0.3, shape))
        measures = ["mape", "msle", "rmsle", "median_absolute_error"]
        acc = se.RegressionAccumulator(measures, outputs=shape[1])
        options: dict[str, Any] = {}
        if seed % 3 and name != "median_absolute_error":
            options["sample_weight"] = random.random(len(truth))
        for rows in np.array_split(random.permutation(len(truth)), 3):
            part = {key: value[rows] for key, value in options.items()}
            acc.update(truth[rows], prediction[rows], **part)
        result, args = acc.compute(), ARGUMENTS.get(name, ())
        averages: list[Any] = ["raw_values", "uniform_average", random.random(shape[1])]
        averages += ["variance_weighted"] * (name in ("r2", "explained_variance"))
        for average in averages if shape[1] > 1 else averages[:2]:  # it refuses weights of one
            expected = AVERAGED[name](truth, prediction, multioutput=average, **options)
            ours = result.value(name, *args, multioutput=average)
            assert ours == pytest.approx(expected, rel=1e-12, abs=1e-13), f"seed {seed}"
