"""Sampling intervals of average precision and of paired differences: formulas and coverage."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from offenders import each
from scipy.special import expit

import streameval as se
from streameval.metrics.intervals import UNDEFINED, wilson

MEASURES = ("recall", "roc_auc", "log_loss", "brier")
POPULATIONS = {  # share of positives, size of a sample, distance of the classes
    "even": (0.5, 200, 1.0),
    "well apart": (0.5, 300, 2.5),
    "one in ten": (0.1, 600, 1.0),
    "nearly alike": (0.3, 400, 0.3),
    "one in a hundred": (0.01, 6_000, 1.5),
    "many": (0.2, 3_000, 1.5),
}


def drawn(population: str, size: int, random: np.random.Generator) -> Any:
    """Draw truth, and two models that see the same and add noise of their own."""
    share, _, distance = POPULATIONS[population]
    truth = (random.random(size) < share).astype(int)
    looks = truth * distance + random.normal(size=size)
    return truth, *(expit(looks + noise * random.normal(size=size)) for noise in (0.2, 0.6))


def average_precision(curve: tuple[Any, Any], **options: Any) -> Any:
    return se.PRCurveSketch(**options).update(*curve).compute()


def coverage(population: str, samples: int) -> dict[str, float]:
    """How often each interval, where there is one, holds the value of a sample of 200,000."""
    random = np.random.default_rng(5)
    rows = drawn(population, 200_000, random)
    differences = [f"{name}_difference" for name in MEASURES]
    whole: Any = se.Paired(measures=MEASURES, budget=None).update(*rows).compute()
    expected = {name: float(whole.value(name)) for name in differences}
    expected["average_precision"] = float(average_precision(rows[:2]).average_precision)
    covered, defined = dict.fromkeys(expected, 0), dict.fromkeys(expected, 0)
    for _ in range(samples):
        rows = drawn(population, POPULATIONS[population][1], random)
        result: Any = se.Paired(measures=MEASURES).update(*rows).compute()
        ends = {name: result.confidence(name) for name in differences}
        ends["average_precision"] = average_precision(rows[:2]).confidence("average_precision")
        for name, (low, high) in ends.items():
            covered[name] += low <= expected[name] <= high
            defined[name] += not math.isnan(low)
    return {name: covered[name] / defined[name] for name in expected}


def test_interval_of_average_precision_is_that_of_its_source() -> None:
    truth, score, _ = drawn("even", 100, np.random.default_rng(1))
    curve = average_precision((truth, score))
    value, draws = curve.average_precision, truth.sum() - 2
    # (t - value)**2 = z**2 t (1 - t) / draws
    share = 1.6448536269514722**2 / draws
    expected = sorted(np.roots([1 + share, -2 * value - share, value**2]))
    found = curve.confidence("average_precision", level=0.9)
    assert found == pytest.approx(expected, rel=1e-9)


def test_average_precision_without_a_positive_has_no_interval() -> None:
    curve = average_precision(([0, 0], [0.1, 0.9]))
    assert all(map(math.isnan, curve.confidence("average_precision")))


@each(("truth", "draws"), [([0, 1], 1), ([0, 0, 1, 1], 1), ([0] + [1] * 9, 7)])
def test_perfect_average_precision_has_an_interval(truth: list[int], draws: int) -> None:
    curve = average_precision((truth, np.linspace(0.1, 0.9, len(truth))))
    low, high = curve.confidence("average_precision")
    assert (low, high) == (pytest.approx(1 / (1 + 1.959963984540054**2 / draws)), 1.0)


def test_interval_of_average_precision_covers_those_of_both_bounds() -> None:
    truth, score, _ = drawn("even", 500, np.random.default_rng(2))
    exact = average_precision((truth, score)).confidence("average_precision")
    low, high = average_precision((truth, score), budget=40).confidence("average_precision")
    assert low < exact[0] < exact[1] < high


def test_interval_of_a_tiny_average_precision_is_finite() -> None:
    truth, score = [0, 0, 1, 1], [0.9, 0.8, 0.2, 0.1]
    weights = [2**60, 2**60, 1, 1]
    acc = se.PRCurveSketch().update(truth, score, sample_weight=weights)
    low, high = acc.compute().confidence("average_precision")  # type: ignore[union-attr]
    assert 0.0 <= low < high <= 1.0


@pytest.mark.slow
@each("population", ["even", "one in ten"])
def test_interval_covers_the_population_about_as_often_as_it_says(population: str) -> None:
    found = coverage(population, 80)
    assert min(found.values()) >= 0.86  # 0.95 is expected, with a deviation of 0.024


@pytest.mark.long
@pytest.mark.parametrize("population", POPULATIONS)
def test_interval_covers_each_population_about_as_often_as_it_says(population: str) -> None:
    found = coverage(population, 600)
    # a deviation of 0.009; the interval of average precision is an approximation
    assert all(0.90 <= share <= 0.999 for share in found.values()), found


@each(("value", "draws"), [(0.5, 0.0), (0.5, math.nan), (math.nan, 5.0)])
def test_a_proportion_without_draws_has_no_interval(value: float, draws: float) -> None:
    assert wilson(value, draws, 1.96) is UNDEFINED
