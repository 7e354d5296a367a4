"""Every row of the tables of metrics is compared with an oracle: one that is not fails here."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from offenders import each
from oracle import (
    test_calibration_parity,
    test_catalog_parity,
    test_class_wise_error,
    test_classification_parity,
    test_curve_parity,
    test_one_vs_one_parity,
    test_paired_parity,
    test_regression_parity,
    test_top_k_accuracy,
)
from oracle.conftest import QUICK
from oracle.curve_oracles import metrics_at
from oracle.ranking_oracles import ARRANGED, GEOMETRIC, MEASURES, ORDERED

import streameval as se
from streameval.configs.measures import measure
from streameval.reports import RESULTS


def bases(names: Iterable[str]) -> set[str]:
    """Metrics by name, without arguments, averages and thresholds."""
    cut = ("(", "-", " ", ".")
    found = set()
    for name in names:
        ends = [name.index(mark) for mark in cut if mark in name]
        found.add(name[: min(ends, default=None)])
    return found


COMPARED = {
    "Confusion": bases(row.name for row in test_classification_parity.PARITY)
    | test_top_k_accuracy.COMPARED,
    "Curve": bases([*test_curve_parity.ALL_METRICS, *metrics_at(0.5)]) | {"best_f_threshold"},
    "ClassCurves": {
        *test_curve_parity.AVERAGED,
        *test_class_wise_error.COMPARED,
        *test_one_vs_one_parity.COMPARED,
    },
    "GroupedCurves": {"gauc", "coverage"},  # in tests/unit/test_grouped_result.py
    "Catalog": test_catalog_parity.COMPARED,
    "Calibration": test_calibration_parity.COMPARED,
    "Regression": test_regression_parity.COMPARED,
    "Summary": {row.name for row in se.Summary.TABLE.values()},  # in tests/unit/test_values.py
    "Preferences": {"tie_rate", "win_rate", "bradley_terry"},  # in tests/unit/test_preferences.py
    "PairedResult": test_paired_parity.ORACLES.keys()
    | test_paired_parity.SCORED.keys()
    | test_paired_parity.OF_ERRORS
    | test_paired_parity.VALUES
    | {
        f"{name}_{which}"
        for name in test_paired_parity.DECIDED
        for which in ("a", "b", "difference", "pvalue")
    },
    "Ranking": {measure(name).family for name in (*MEASURES, *GEOMETRIC, *ARRANGED, *ORDERED)}
    | {"quantile"},
}


@each("kind", [kind for kind in RESULTS if kind.TABLE and kind is not se.RegressionOutputs])
def test_every_metric_is_compared_with_an_oracle(kind: type[se.Confusion]) -> None:
    rows = {row.name for row in kind.TABLE.values() if not row.is_count}
    assert rows - COMPARED[kind.__name__] == set()


def test_quick_oracles_are_tests_of_this_folder() -> None:
    missing = []
    for name in QUICK:
        file, test = re.fullmatch(r"(\w+\.py)(?:::(\w+))?.*", name).groups()
        if f"def {test or 'test_'}" not in (Path(__file__).parent / file).read_text("utf-8"):
            missing.append(name)
    assert missing == []
