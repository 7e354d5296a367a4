"""Parity with other libraries is slow as a whole; the inner loop keeps some of each oracle."""

from __future__ import annotations

from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
QUICK = (
    "test_calibration_parity.py",
    "test_classification_parity.py::test_metric_equals_its_oracle[f_score",
    "test_classification_parity.py::test_metric_equals_its_oracle[matrix",
    "test_curve_canonical.py::test_state_is_the_reference[",
    "test_curve_parity.py::test_area_is_scikit_learns_float",
    "test_curve_parity.py::test_number_equals_its_definition",
    "test_every_metric.py",
    "test_intervals.py::test_accuracy_interval_equals_the_published_one",
    "test_paired_parity.py::test_paired_metric_equals_its_oracle",
    "test_ranking_examples.py",
    "test_ranking_parity.py::test_rows_equal_pytrec_eval",
    "test_ranking_ties.py::test_each_query_equals_brute_force_when",
    "test_regression_parity.py::test_regression_metric_equals_its_oracle",
    "test_top_k_accuracy.py",
)
"""How the tests begin that the inner loop runs."""


@pytest.hookimpl(tryfirst=True)  # before tests are deselected by their marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the others slow, except when the command names this folder or a file in it."""
    asked = (config.invocation_params.dir / arg.partition("::")[0] for arg in config.args)
    if any(path.resolve().is_relative_to(FOLDER) for path in asked):
        return
    for item in items:
        if item.path.parent == FOLDER and not is_quick(item):
            item.add_marker(pytest.mark.slow)


def is_quick(item: pytest.Item) -> bool:
    return f"{item.path.name}::{item.nodeid.partition('::')[2]}".startswith(QUICK)
