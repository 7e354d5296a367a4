"""Gaps between slices equal fairlearn's fairness metrics, whose formulas are written out here.

fairlearn computes a metric in each group, weighted by `sample_weight`; its difference is the
highest minus the lowest value, and its ratio the lowest divided by the highest.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from offenders import each

import streameval as se
from streameval.errors import UnknownMetricError

N_CASES = 25


def drawn(seed: int) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    n = int(random.integers(40, 400))
    group = random.integers(0, 4, n)
    return {
        "group": group,
        "y_true": random.integers(0, 2, n),
        "y_pred": (random.random(n) < 0.2 + 0.2 * group).astype(int),
        "sample_weight": random.integers(1, 5, n) / 4.0 if seed % 2 else np.ones(n),
    }


def by_group(batch: dict[str, Any], among: Any) -> list[float]:
    """The weighted mean of the predictions among some rows, in each group."""
    rows = [among & (batch["group"] == group) for group in np.unique(batch["group"])]
    return [np.average(batch["y_pred"][one], weights=batch["sample_weight"][one]) for one in rows]


def sliced(batch: dict[str, Any]) -> se.SlicedResult:
    return se.Sliced(se.ConfusionAccumulator(2), "group").update(batch).compute()


@each("seed", range(N_CASES))
def test_gaps_between_slices_are_demographic_parity_and_equalized_odds(seed: int) -> None:
    batch = drawn(seed)
    result, truth = sliced(batch), batch["y_true"]
    groups = {
        "selection_rate": by_group(batch, truth >= 0),  # demographic_parity_difference, ..._ratio
        "recall": by_group(batch, truth == 1),  # equal_opportunity_difference, ..._ratio
        "false_positive_rate": by_group(batch, truth == 0),
    }
    for metric, rates in groups.items():
        assert result.gap(metric) == pytest.approx(max(rates) - min(rates), rel=1e-12)
        assert result.gap(metric, "ratio") == pytest.approx(min(rates) / max(rates), rel=1e-12)
    odds = [max(rates) - min(rates) for name, rates in groups.items() if name != "selection_rate"]
    ours = max(result.gap("recall"), result.gap("false_positive_rate"))
    assert ours == pytest.approx(max(odds), rel=1e-12)  # equalized_odds_difference


@each("labels", [([0, 1, 1], [1, 0, 0]), ([0, 0], [0, 0]), ([1], [1])])
@each("weight", [None, 0.5, 3])
def test_selection_rate_of_observed_labels_is_that_of_ones(
    labels: tuple[list[int], list[int]], weight: float | None
) -> None:
    weights = None if weight is None else [weight] * len(labels[0])
    observed, declared = (
        se.ConfusionAccumulator(classes).update(*labels, sample_weight=weights).compute()
        for classes in ("auto", 2)
    )
    assert observed.read("selection_rate") == declared.read("selection_rate")
    if weight != 0.5:
        assert observed.statistic("selection_rate") == declared.statistic("selection_rate")


@each("classes", ["auto", ["a", "b", "c"]])
def test_selection_rate_of_other_labels_is_that_of_a_named_class(classes: Any) -> None:
    """Each row selects one class, so that the mean over classes is the same for all data."""
    sliced = se.Sliced(se.ConfusionAccumulator(classes), "group")
    rows = {"y_true": ["a", "b", "b"], "y_pred": ["b", "b", "a"], "group": [0, 0, 1]}
    result = sliced.update(rows).compute()
    assert result[0].selection_rate() == result[0].selection_rate("macro") == 0.5
    assert "selection_rate" not in result[0].readable()
    for metric in ("selection_rate", "selection_rate[macro]"):
        for gap in (result.gap, result.gap_interval):
            with pytest.raises(UnknownMetricError, match=r"declare two or name one"):
                gap(metric)
    assert result[0].selection_rate(labels=["b"]) == result.gap("selection_rate[b]") == 1.0
    labels = se.Sliced(se.ConfusionAccumulator(2, multilabel=True), "group")
    rows = {"y_true": [[1, 0], [1, 0]], "y_pred": [[1, 1], [0, 1]], "group": [0, 1]}
    assert labels.update(rows).compute().gap("selection_rate") == 0.5
    nothing = se.ConfusionAccumulator("auto").compute().read("selection_rate")
    assert math.isnan(nothing.value), "there are no labels, so none says that they are 0 and 1"


def test_selection_rate_has_the_score_interval_of_a_proportion() -> None:
    result = se.ConfusionAccumulator(2).update([1, 0] * 50, [1] * 30 + [0] * 70).compute()
    z, n, p = 1.959963984540054, 100, 0.3
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    assert result.selection_rate() == p
    assert result.confidence("selection_rate") == pytest.approx((centre - half, centre + half))
