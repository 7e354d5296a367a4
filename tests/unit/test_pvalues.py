"""P-values beside scipy, and Holm's correction beside its definition."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from offenders import each
from scipy import stats

from streameval.metrics.intervals import holm, student_pvalue


@each("degrees", [1, 2, 3, 7, 30, 199, 200, 1_000, 10**6, 10**7])
@each("t", [0.0, 1e-9, 1e-3, 0.5, 1.0, 1.96, 3.0, 7.0, 20.0, -2.0])
def test_pvalue_of_t_is_that_of_scipy(degrees: int, t: float) -> None:
    expected = 2.0 * stats.t.sf(abs(t), degrees)
    assert student_pvalue(t, degrees) == pytest.approx(expected, rel=1e-9, abs=1e-300)


def test_pvalue_of_t_without_a_statistic_is_nan_and_of_an_infinite_one_is_0() -> None:
    assert math.isnan(student_pvalue(math.nan, 3))
    assert student_pvalue(-math.inf, 3) == student_pvalue(1e200, 3) == 0.0


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
