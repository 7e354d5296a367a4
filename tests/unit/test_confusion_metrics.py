"""The parts of metrics of counts against their definitions, in fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from offenders import each
from profiles import quick_cases

import streameval as se
from streameval.exact.fixed_point import FixedPoint
from streameval.metrics import confusion as metrics
from streameval.metrics.confusion import ClassOutcomes, Ratio

many = settings(max_examples=quick_cases(200))

RATIOS: dict[str, Ratio] = {
    "precision": metrics.PRECISION,
    "recall": metrics.RECALL,
    "specificity": metrics.SPECIFICITY,
    "jaccard": metrics.JACCARD,
    "f1": metrics.f_ratio(),
    "f0": metrics.f_ratio(0.0),
    "f of a third": metrics.f_ratio(1 / 3),
    "f of 1e60": metrics.f_ratio(1e60),
}

sides = st.integers(1, 5)
units = st.one_of(st.just(0), st.integers(0, 9).map(lambda n: n << 62), st.integers(0, 2**66))


def fixed(numbers: list[int], *shape: int, whole: bool) -> FixedPoint:
    """The numbers whose units of 2**-62 are given, or only their integer parts."""
    integers = np.array([number >> 62 for number in numbers], np.int64).reshape(shape)
    rest = np.array([number & (2**62 - 1) for number in numbers], np.int64).reshape(shape)
    return FixedPoint(integers, None if whole else rest)


def exact(numbers: FixedPoint) -> list[Fraction]:
    return [unit * numbers.unit for unit in numbers.units()]


@st.composite
def matrices(draw: st.DrawFn) -> FixedPoint:
    size = draw(sides)
    cells = draw(st.lists(units, min_size=size * size, max_size=size * size))
    return fixed(cells, size, size, whole=draw(st.booleans()))


def of_matrix(matrix: FixedPoint) -> tuple[ClassOutcomes, list[list[Fraction]]]:
    size = len(matrix.whole)
    flat = exact(matrix)
    rows = [flat[size * row : size * (row + 1)] for row in range(size)]
    return ClassOutcomes.of_matrix(matrix.reshape(-1).total(), matrix), rows


@given(matrices())
@many
def test_outcomes_of_a_matrix_are_the_sums_of_its_cells(matrix: FixedPoint) -> None:
    outcomes, rows = of_matrix(matrix)
    places = range(len(rows))
    tp = [rows[k][k] for k in places]
    truth = [sum(rows[k], Fraction()) for k in places]
    predicted = [sum((row[k] for row in rows), Fraction()) for k in places]
    n = sum(truth, Fraction())
    assert exact(outcomes.tp) == tp
    assert exact(outcomes.fp) == [predicted[k] - tp[k] for k in places]
    assert exact(outcomes.fn) == [truth[k] - tp[k] for k in places]
    assert exact(outcomes.tn) == [n - truth[k] - predicted[k] + tp[k] for k in places]
    assert (exact(outcomes.support), exact(outcomes.predicted)) == (truth, predicted)
    parts = (outcomes.tp, outcomes.fp, outcomes.fn, outcomes.tn)
    assert {part.is_whole for part in parts} == {matrix.is_whole}
    floats = [[float(number) for number in exact(part)] for part in parts]
    assert outcomes.floats.tolist() == floats
    assert outcomes.seen().tolist() == [truth[k] + predicted[k] > 0 for k in places]


@given(matrices())
@many
def test_agreement_is_that_of_exact_margins(matrix: FixedPoint) -> None:
    outcomes, rows = of_matrix(matrix)
    places = range(len(rows))
    truth = [sum(rows[k], Fraction()) for k in places]
    predicted = [sum((row[k] for row in rows), Fraction()) for k in places]
    n, hits = sum(truth), sum(rows[k][k] for k in places)
    chance = sum(truth[k] * predicted[k] for k in places)
    kappa, correlation = metrics.cohen_kappa(outcomes), metrics.matthews_corrcoef(outcomes)
    if n * n == chance:
        assert math.isnan(kappa)
    else:
        assert kappa == float((n * hits - chance) / (n * n - chance))
    spread = (n * n - sum(t * t for t in truth)) * (n * n - sum(p * p for p in predicted))
    if n == 0:
        assert math.isnan(correlation)
    elif spread == 0:
        assert correlation == 0.0
    else:
        covariance = n * hits - chance
        root = math.sqrt(float(covariance**2 / spread))
        assert correlation == math.copysign(root, covariance)


@pytest.mark.parametrize("name", RATIOS)
@pytest.mark.parametrize("zero_division", [0.0, 1.0, math.nan], ids=str)
@given(outcomes=st.lists(st.floats(0, 2.0**63) | st.integers(0, 3).map(float), min_size=4))
@many
def test_the_ratio_of_one_is_that_of_its_column(
    name: str, zero_division: float, outcomes: list[float]
) -> None:
    columns = np.array(outcomes[: len(outcomes) // 4 * 4]).reshape(4, -1)
    values = RATIOS[name].of(columns, zero_division)
    ones: list[Any] = [
        RATIOS[name].of_one(columns[:, place], zero_division) for place in range(len(values))
    ]
    assert all(type(one) is float for one in ones)
    assert np.array(ones).tobytes() == values.tobytes()


@each("whole", [True, False])
def test_credited_cells_are_those_with_any_weight(whole: bool) -> None:
    numbers = [3 << 62, 0, 0, 0, 1, 5 << 62]
    expected = [((1, 1), 3), ((2, 3), 5)]
    if not whole:
        expected = [((1, 1), 3 << 62), ((2, 2), 1), ((2, 3), 5 << 62)]
    assert metrics.credited_cells(fixed(numbers, 2, 3, whole=whole)) == expected


@each("weight", [1, 0.5])
def test_metric_of_the_positive_class_is_its_column_of_the_metric_of_each(weight: float) -> None:
    labels = [0, 1, 1, 0, 1], [0, 1, 0, 1, 1]
    for positive in (0, 1):
        acc = se.ConfusionAccumulator([0, 1], pos_label=positive)
        result = acc.update(*labels, sample_weight=[weight, 1, 2, 1, 3]).compute()
        for metric in (result.precision, result.specificity, result.f_score):
            assert float(metric) == metric(average=None)[positive]
