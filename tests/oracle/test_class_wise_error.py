"""The class-wise calibration error is the mean of each class's, and lies in its interval."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from offenders import each
from oracle.curve_oracles import Table, ece
from profiles import quick_cases

import streameval as se

COMPARED = {"class_wise_ece"}
N_CASES = quick_cases(200)


@each("budget", [None, 3])
def test_class_wise_error_is_the_mean_of_the_definition(budget: int | None) -> None:
    n_open = 0
    for seed in range(N_CASES):
        random = np.random.default_rng([21, seed])
        n, n_classes, bins = (int(number) for number in random.integers((1, 2, 1), (40, 5, 20)))
        truth = random.integers(0, n_classes, n)
        scores = random.dirichlet(np.ones(n_classes), n)
        curves = se.PRCurveSketch(budget, classes=n_classes).update(truth, scores).compute()
        found = curves.class_wise_ece(bins)
        tables = (
            Table.of((truth == label).tolist(), scores[:, label].tolist())
            for label in range(n_classes)
        )
        expected = sum((Fraction(ece(table, bins)) for table in tables), Fraction(0)) / n_classes
        assert found.exact or budget is not None
        if found.exact:
            assert found == pytest.approx(float(expected), rel=1e-12, abs=1e-15), f"seed {seed}"
        else:
            n_open += 1
            assert found.low <= expected <= found.high, f"seed {seed}"
    assert budget is None or n_open > N_CASES / 2
