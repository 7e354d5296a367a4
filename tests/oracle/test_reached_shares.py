"""What is asked at a precision or a recall, and the best F, of counts that no float holds.

The truth is a fraction of integers by the definitions of `curve_oracles`. Weights are decimals,
lie near 2**53 and 2**62, or are whole; bounds are shares of the data, their neighbours, and numbers
that people type.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from offenders import each
from oracle.curve_oracles import (
    Table,
    best_f,
    f_from_counts,
    precision_at_recall,
    recall_at_precision,
    threshold_at_precision,
    typed,
)
from profiles import cases

import streameval as se
from streameval.metrics.shares import simplest_fraction

N_CASES = 25_000
TYPED = (0.0, 0.1, 0.25, 0.3, 1 / 3, 0.5, 0.6, 2 / 3, 0.75, 0.9, 0.99, 1.0)
LARGE = [2**53 - 1, 2**53, 2**53 + 1, 2**54 - 1, 2**54 + 3, 2**52 + 1, 1, 2]


def weights_of(rng: np.random.Generator, n: int) -> Any:
    draws = {
        "decimals": lambda: rng.integers(1, 12, n) / 10,
        "thirds": lambda: rng.integers(1, 9, n) / 3,
        "large": lambda: rng.choice(LARGE, n),
        "larger": lambda: 2**58 + rng.integers(-2, 3, n),
        "whole": lambda: rng.integers(1, 6, n),
        "large and small fractions": lambda: rng.choice([2.0**40 + 2**-12, 2.0**-20, 0.5], n),
        "none": lambda: None,
    }
    return draws[list(draws)[rng.integers(len(draws))]]()


def bounds_of(rng: np.random.Generator, table: Table) -> tuple[float, float]:
    """A precision and a recall: a share of the data, a neighbour of it, or what people type."""
    cut = rng.integers(len(table.tp))
    tp, fp = table.tp[cut], table.fp[cut]
    chosen = []
    for share in (tp / (tp + fp), tp / table.n_pos):
        near = math.nextafter(share, rng.integers(0, 2))
        chosen.append([share, near, float(rng.choice(TYPED))][rng.integers(3)])
    return chosen[0], chosen[1]


def draw(seed: int) -> tuple[Table, Any, int]:
    """Draw a data set with a positive, its accumulator's input and a small budget."""
    rng = np.random.default_rng([53, seed])
    n = int(rng.integers(1, 13))
    y = rng.random(n) < rng.choice([0.3, 0.5, 0.9])
    y[rng.integers(n)] = True
    scores = rng.integers(1, 12, n) / 12 if rng.random() < 0.7 else rng.random(n)
    weights = weights_of(rng, n)
    rows = {"y_true": y.astype(int), "y_score": scores, "sample_weight": weights}
    return (
        Table.of(y, scores, None if weights is None else weights.tolist()),
        rows,
        int(rng.integers(1, 5)),
    )


def failures_of(seed: int) -> list[str]:
    """Compare every number of one data set with its definition, exact and in few cells."""
    table, rows, budget = draw(seed)
    rng = np.random.default_rng([54, seed])
    precision, recall = bounds_of(rng, table)
    beta = float(rng.choice([0.0, 0.5, 1.0, 2.0, 0.3]))
    f, f_threshold = best_f(table, beta)
    truth = {
        f"recall_at_precision({precision!r})": recall_at_precision(table, precision),
        f"precision_at_recall({recall!r})": precision_at_recall(table, recall),
        f"threshold_at_precision({precision!r})": threshold_at_precision(table, precision),
        f"best_f({beta})": f,
        f"threshold of best_f({beta})": f_threshold,
    }
    failed = []
    for limit in (None, budget):
        curve = se.PRCurveSketch(limit).update(**rows).compute()
        ours = [
            curve.recall_at_precision(precision),
            curve.precision_at_recall(recall),
            curve.threshold_at_precision(precision),
            *curve.best_f(beta),
        ]
        for (name, value), number in zip(truth.items(), ours, strict=True):
            expected = float(value)
            if math.isnan(expected):
                # few cells may not show that no threshold reaches the bound
                is_right = math.isnan(number) or limit is not None
            elif limit is None:
                is_right = float(number) == number.low == number.high == expected
            else:
                is_right = number.low <= expected <= number.high
            if not is_right:
                failed.append(f"{name}: {number!r}, {expected!r}: budget {limit}, {rows}")
    return failed


def assert_all_right(seeds: range) -> None:
    failed = [failure for seed in seeds for failure in failures_of(seed)]
    assert not failed, f"{len(failed)} failures\n" + "\n".join(sorted(failed, key=len)[:5])


def test_numbers_at_a_bound_equal_their_definition_whatever_the_weights() -> None:
    assert_all_right(range(cases(N_CASES)))


@pytest.mark.long
@pytest.mark.parametrize("part", range(5))
def test_numbers_at_a_bound_equal_their_definition_in_a_long_run(part: int) -> None:
    assert_all_right(range(part * N_CASES // 5, (part + 1) * N_CASES // 5))


def test_recall_that_is_printed_as_the_bound_is_enough() -> None:
    sketch = se.PRCurveSketch(None).update(
        [1, 0, 1, 1], [0.9, 0.5, 0.4, 0.3], sample_weight=[0.3, 1, 0.1, 0.2]
    )
    assert Fraction(0.3) / (Fraction(0.3) + Fraction(0.1) + Fraction(0.2)) < Fraction(1, 2)
    assert sketch.compute().recall_at(0.9) == 0.5
    assert sketch.compute().precision_at_recall(0.5) == 1.0


def test_weights_past_2_to_the_53_reach_the_precision_that_is_printed() -> None:
    y = [0, 0, 1, 1, 1, 1, 0, 1, 1, 0]
    large, half = 3.602879701896397e16, 9007199254740994
    weights = [large, half, large, large, 3, 1, 3, half, 1, half]
    curve = se.PRCurveSketch().update(y, [0.0] * 10, sample_weight=weights).compute()
    assert curve.precision_at(0.0) == 0.6
    assert curve.recall_at_precision(0.6) == 1.0
    assert curve.threshold_at_precision(0.6) == 0.0


@each("weight", [2**40, 2**53, 2**54, 2**60])
def test_precision_below_what_rounds_to_the_bound_is_not_enough(weight: int) -> None:
    less = int(Fraction(1, 2) * weight * 2**-50) or 1
    misses = se.PRCurveSketch().update(
        [1, 0], [0.5, 0.5], sample_weight=[weight - less, weight + less]
    )
    meets = se.PRCurveSketch().update([1, 0], [0.5, 0.5], sample_weight=[weight, weight])
    assert misses.compute().precision_at(0.5) < 0.5
    assert misses.compute().recall_at_precision(0.5) == 0.0
    assert math.isnan(misses.compute().threshold_at_precision(0.5))
    assert meets.compute().recall_at_precision(0.5) == 1.0
    assert meets.compute().threshold_at_precision(0.5) == 0.5


def rounds_of(seed: int) -> list[str]:
    """Ask a curve for what it prints at each threshold, which it must reach."""
    _, rows, budget = draw(seed)
    failed = []
    for limit in (None, budget):
        curve = se.PRCurveSketch(limit).update(**rows).compute()
        for score in {*np.asarray(rows["y_score"]).tolist()}:
            precision, recall = curve.precision_at(score), curve.recall_at(score)
            again = curve.recall_at_precision(precision.low)
            if not again.high >= recall.low:
                failed.append(f"recall {again!r}, {recall!r} at {score}: budget {limit}, {rows}")
            if limit is None and not again >= recall:
                failed.append(f"recall {again!r}, {recall!r} at {score}: {rows}")
            again = curve.precision_at_recall(recall.low)
            if not again.high >= precision.low:
                failed.append(f"precision {again!r}, {precision!r} at {score}: {limit}, {rows}")
            if recall.low and math.isnan(curve.threshold_at_precision(precision.low)):
                failed.append(f"no threshold at {precision!r}: budget {limit}, {rows}")
    return failed


def test_values_that_are_printed_go_round() -> None:
    failed = [failure for seed in range(cases(N_CASES)) for failure in rounds_of(seed)]
    assert not failed, f"{len(failed)} failures\n" + "\n".join(sorted(failed, key=len)[:5])


def test_best_f_is_at_the_exactly_highest_of_values_that_round_alike() -> None:
    weight = np.array([2**60, 1, 1])
    found = se.PRCurveSketch().update([1, 1, 0], [0.9, 0.8, 0.7], sample_weight=weight).compute()
    assert f_from_counts(2**60, 0, 2**60 + 1, 1.0) < f_from_counts(2**60 + 1, 0, 2**60 + 1, 1.0)
    assert found.best_f()[1] == 0.8


@each(
    ("number", "meant"),
    [(0.9, "9/10"), (0.1, "1/10"), (5 / 6, "5/6"), (0.5, "1/2"), (0.0, "0"), (1.0, "1")],
)
def test_share_of_the_examples_is_the_simplest_fraction(number: float, meant: str) -> None:
    assert typed(number) == simplest_fraction(number) == Fraction(meant)
