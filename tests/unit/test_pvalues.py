"""P-values and intervals beside scipy, and Holm's correction beside its definition."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from offenders import each
from scipy import optimize, stats

from streameval.metrics.intervals import (
    holm,
    or_limits,
    paired_proportions,
    student,
    student_pvalue,
)


@each("degrees", [1, 2, 3, 7, 30, 199, 200, 1_000, 10**6, 10**7])
@each("t", [0.0, 1e-9, 1e-3, 0.5, 1.0, 1.96, 3.0, 7.0, 20.0, -2.0])
def test_pvalue_of_t_is_that_of_scipy(degrees: int, t: float) -> None:
    expected = 2.0 * stats.t.sf(abs(t), degrees)
    assert student_pvalue(t, degrees) == pytest.approx(expected, rel=1e-9, abs=1e-300)


def test_pvalue_of_t_without_a_statistic_is_nan_and_of_an_infinite_one_is_0() -> None:
    assert math.isnan(student_pvalue(math.nan, 3))
    assert student_pvalue(-math.inf, 3) == student_pvalue(1e200, 3) == 0.0


@each("level", [0.5, 0.9, 0.95, 0.99])
@each("n", [2, 3, 5, 10, 31, 101, 1001])
def test_factor_of_few_numbers_is_that_of_students_quantile(level: float, n: int) -> None:
    z = stats.norm.ppf((1.0 + level) / 2.0)
    within = 1e-13 if n == 2 else 1e-13 + 4.0 / (n - 1) ** 5  # the series has four terms
    expected = stats.t.ppf((1.0 + level) / 2.0, n - 1) / z
    assert student(z, n) == pytest.approx(expected, rel=within)


def score_statistic(only_a: float, only_b: float, n: float, d: float) -> float:
    """Compute Tango's statistic of a difference d, whose likelihood is maximized numerically."""

    def unlikelihood(q: float) -> float:
        counts, shares = (only_a, only_b, n - only_a - only_b), (q + d, q, 1.0 - 2.0 * q - d)
        terms = zip(counts, shares, strict=True)
        return -sum(count * math.log(share) for count, share in terms if count)

    ends, options = (max(0.0, -d), (1.0 - d) / 2.0), {"xatol": 1e-14}
    q = optimize.minimize_scalar(unlikelihood, bounds=ends, method="bounded", options=options).x
    return (only_a - only_b - n * d) / math.sqrt(n * (2.0 * q + d - d * d))


@each("z", [1.0, 1.96, 2.58])
@each(("only_a", "only_b", "n"), [(1, 12, 50), (9, 4, 40), (3, 3, 20), (70, 20, 1000), (2, 1, 9)])
def test_limits_of_paired_proportions_are_where_the_score_statistic_is_z(
    only_a: int, only_b: int, n: int, z: float
) -> None:
    low, high = paired_proportions(only_a, only_b, n, z)
    assert -1.0 < low < (only_a - only_b) / n < high < 1.0
    assert score_statistic(only_a, only_b, n, low) == pytest.approx(z, rel=1e-6)
    assert score_statistic(only_a, only_b, n, high) == pytest.approx(-z, rel=1e-6)


@each("n", [1, 20, 10**6])
def test_limits_of_paired_proportions_without_a_difference_are_those_of_no_example(n: int) -> None:
    limit = 1.96**2 / (n + 1.96**2)
    assert paired_proportions(0, 0, n, 1.96) == pytest.approx((-limit, limit), rel=1e-12)


def test_intervals_that_rows_say_nothing_of_are_the_range_where_the_metric_is_defined() -> None:
    ends = np.array([math.nan, 0.25, math.nan]), np.array([math.nan, 0.75, math.nan])
    low, high = or_limits(ends, np.array([0.5, 0.5, math.nan]), (-1.0, 1.0))
    np.testing.assert_array_equal(low, [-1.0, 0.25, math.nan])
    np.testing.assert_array_equal(high, [1.0, 0.75, math.nan])
    assert or_limits((math.nan, math.nan), 0.5, (-1.0, 1.0)) == (-1.0, 1.0)


def by_definition(pvalues: list[float]) -> list[float]:
    """Return the least alpha at which the step-down procedure rejects each hypothesis."""
    ordered = sorted(pvalues)
    steps = [(len(ordered) - rank) * one for rank, one in enumerate(ordered)]
    return [min(max(steps[: ordered.index(one) + 1]), 1.0) for one in pvalues]


@given(st.lists(st.floats(0.0, 1.0), max_size=8))
def test_holm_is_the_least_level_at_which_the_procedure_rejects(pvalues: list[float]) -> None:
    assert holm(pvalues) == pytest.approx(by_definition(pvalues), rel=1e-12)


def test_holm_agrees_with_the_worked_example_of_r() -> None:
    # p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "holm"), and with an NA among them
    assert holm([0.01, 0.02, 0.03, 0.04, 0.05]) == pytest.approx([0.05, 0.08, 0.09, 0.09, 0.09])
    assert np.array_equal(holm([0.02, math.nan, 0.01]), [0.02, math.nan, 0.02], equal_nan=True)
    assert holm([]) == []
