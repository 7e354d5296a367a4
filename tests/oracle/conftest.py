"""Parity with other libraries is slow as a whole; the inner loop keeps some of each oracle."""

from __future__ import annotations

from pathlib import Path

import pytest
from profiles import is_inner_loop

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


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import a file of which the inner loop keeps nothing."""
    name = collection_path.name
    if not is_inner_loop(config) or is_asked(config) or not name.startswith("test_"):
        return None  # which leaves the answer to the folder above
    return not any(start.startswith(name) for start in QUICK) or None


@pytest.hookimpl(tryfirst=True)  # before tests are deselected by their marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the others slow, except when the command names this folder or a file in it."""
    if is_asked(config):
        return
    for item in items:
        if item.path.parent == FOLDER and not is_quick(item):
            item.add_marker(pytest.mark.slow)


def is_asked(config: pytest.Config) -> bool:
    asked = (config.invocation_params.dir / arg.partition("::")[0] for arg in config.args)
    return any(path.resolve().is_relative_to(FOLDER) for path in asked)


def is_quick(item: pytest.Item) -> bool:
    return f"{item.path.name}::{item.nodeid.partition('::')[2]}".startswith(QUICK)
