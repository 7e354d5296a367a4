"""An interval is nan only where the metric is, and never a single point, however few the rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from offenders import each
from scipy import stats

import streameval as se

MEASURES = ("map", "mrr", "ndcg@3", "dcg@3", "p@2", "hit@1", "gm_map", "utility", "num_rel")
FEW: dict[str, Any] = {
    "one row": se.ConfusionAccumulator().update([1], [1]),
    "a wrong row": se.ConfusionAccumulator(3).update([1], [0]),
    "negatives alone": se.ConfusionAccumulator().update([0, 0], [0, 0]),
    "one true class": se.ConfusionAccumulator().update([1, 1], [1, 0]),
    "one label": se.ConfusionAccumulator(2, multilabel=True).update([[1, 0]], [[1, 1]]),
    "one of each class": se.PRCurveSketch().update([0, 1], [0.2, 0.8]),
    "three curves": se.PRCurveSketch(classes=3).update([0, 1, 2], np.eye(3) * 0.7 + 0.1),
    "one error": se.RegressionAccumulator(intervals=True).update([1.0], [2.0]),
    "equal errors": se.RegressionAccumulator(intervals=True).update([1.0, 2.0], [2.0, 3.0]),
    "one probability": se.CalibrationAccumulator(intervals=True).update([1], [0.7]),
    "one value": se.MeanAccumulator(quantiles=[0.5]).update(3.0),
    "equal values": se.MeanAccumulator(quantiles=[0.5]).update([3.0, 3.0]),
    "one query": se.RankingAccumulator(MEASURES).update([[1, 0, 1]], [[3, 2, 1]]),
    "equal queries": se.RankingAccumulator(MEASURES).update([[1, 0, 1]] * 3, [[3, 2, 1]] * 3),
    "one group": se.GroupedAUC().update([0, 1], [0.2, 0.3], [1, 1]),
    "one pair": se.Paired(measures=["brier", "precision", "roc_auc"]).update([1], [0.7], [0.4]),
    "equal pairs": se.Paired(None, measures=["loss"]).update([1.0, 2.0], [2.0, 3.0]),
    "one cluster": se.Clustered(se.ConfusionAccumulator(), by="user").update([1], [1], by=[0]),
    "equal clusters": se.Clustered(se.MeanAccumulator(), by="user").update([3, 3], by=[0, 1]),
}


@each("name", FEW)
def test_interval_is_nan_where_the_metric_is_and_nowhere_else(name: str) -> None:
    result = FEW[name].compute()
    n_intervals = 0
    for metric in result.readable():
        try:
            low, high = result.confidence(metric)
        except se.InvalidInputError:  # it has none, or needs an argument
            continue
        value = float(result.value(metric))
        n_intervals += 1
        assert math.isnan(low) == math.isnan(high) == math.isnan(value), metric
        assert math.isnan(value) or low <= value <= high, metric
        assert low != high, metric
        shown = result.read(metric).sampling
        assert shown == (None if math.isnan(value) else (low, high)), metric
    assert n_intervals


@each("n", [2, 3, 4])
def test_mean_of_few_values_has_students_interval(n: int) -> None:
    values = np.array([1.0, 2.0, 5.0, 3.0])[:n]
    reach = stats.t.ppf(0.975, n - 1) * values.std(ddof=1) / math.sqrt(n)
    low, high = se.MeanAccumulator().update(values).compute().confidence("mean")
    near = 1e-9 if n == 2 else 0.02
    assert low == pytest.approx(values.mean() - reach, abs=near * reach)
    assert high == pytest.approx(values.mean() + reach, abs=near * reach)


@each(("n", "differs"), [(2, False), (3, False), (40, True)])
def test_difference_of_losses_has_a_pvalue_that_agrees_with_its_interval(
    n: int, differs: bool
) -> None:
    random = np.random.default_rng(n)
    truth, a = random.normal(size=(2, n))
    result: Any = se.Paired(None, measures=["mse"]).update(truth, a, truth).compute()
    low, high = result.confidence("mse_difference", level=1.0 - result.mse_pvalue)
    assert min(abs(low), abs(high)) == pytest.approx(0.0, abs=0.03 * (high - low))
    assert (result.mse_pvalue < 0.05) is differs


def test_nan_of_a_score_names_the_option_that_leaves_it_out() -> None:
    for sketch, truth, score in (
        (se.PRCurveSketch(), [0, 1], [0.5, math.nan]),
        (se.PRCurveSketch(), [0, 1], [[0.5, 0.5], [math.nan, 0.5]]),
        (se.PRCurveSketch(classes=2, multilabel=True), [[0, 1]], [[0.5, math.nan]]),
    ):
        with pytest.raises(se.InvalidInputError, match=r'NaN at .* nan="skip" leaves it out'):
            sketch.update(truth, score)


def test_gauc_of_weight_on_few_groups_has_students_interval() -> None:
    truth, score = [0, 0, 1, 1] * 3, [1, 2, 3, 4, 1, 4, 2, 3, 1, 2, 4, 2]  # areas of 1, 0.5, 0.875
    acc = se.GroupedAUC(scores="real").update(truth, score, np.repeat([0, 1, 2], 4))
    areas = np.array([1.0, 0.5, 0.875])
    t = stats.t.ppf(0.975, 2)  # more than 1.96 times the root of 1 + 2 / sqrt(m), m at least 1
    draws = (
        areas.mean() * (1 - areas.mean()) / (areas.var(ddof=1) / 3) * (1.959963984540054 / t) ** 2
    )
    z_squared = 1.959963984540054**2
    middle = (areas.mean() + z_squared / draws / 2) / (1 + z_squared / draws)
    low, high = acc.compute().confidence("gauc")
    assert (low + high) / 2 == pytest.approx(middle, rel=0.01)


def test_intervals_of_zero_divisions_are_the_range_of_the_metric() -> None:
    result = se.ConfusionAccumulator(3).update([0, 0], [0, 0]).compute()
    assert result.confidence("precision", "micro", labels=[1]) == (0.0, 1.0)
    alone = se.ConfusionAccumulator("auto").update(["a"], ["a"]).compute()
    assert alone.confidence("mean_class_distance") == (0.0, math.inf)
    none = se.ConfusionAccumulator(4).update([3, 2], [1, 1]).compute()
    for name, average in [("fowlkes_mallows", "macro"), ("precision", "weighted")]:
        assert none.confidence(name, average) == (0.0, 1.0)
    pair = se.Paired(2, measures=["recall"]).update([0, 0], [0, 1], [0, 0]).compute()
    assert pair.confidence("recall_a") == (0.0, 1.0)
    assert all(map(math.isnan, pair.confidence("recall_difference")))  # as the difference is
