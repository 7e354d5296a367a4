"""Everything that can be done with an accumulator, whatever its bytes say."""

from __future__ import annotations

import json
import math
import pickle
from typing import Any

import streameval as se

__all__ = ["use"]


def use(accumulator: Any) -> None:
    """Do everything that can be done with a decoded accumulator."""
    empty = accumulator.copy().reset()
    assert empty + accumulator == accumulator + empty == accumulator
    assert pickle.loads(pickle.dumps(accumulator)) == accumulator
    assert repr(accumulator)
    result = accumulator.compute()
    assert repr(result)
    assert result.report()
    assert result._repr_html_()
    assert json.dumps(result.as_dict())
    if isinstance(result, se.Confusion):
        use_metrics(result, has_intervals=accumulator._state.n.is_whole)
    elif isinstance(result, se.Curve):
        use_curve(result, has_intervals=accumulator._state.n.is_whole)
    elif isinstance(result, se.ClassCurves):
        assert result.explain()
        for curve in (*result.values(), result.micro):
            use_curve(curve, has_intervals=accumulator._state.n.is_whole)
    elif isinstance(accumulator, se.RankingAccumulator):
        use_ranking(accumulator)
    elif isinstance(result, se.GroupedCurves):
        assert len({len(column) for column in result.per_group().values()}) == 1
        assert math.isnan(result.coverage) or 0.0 <= result.coverage <= 1.0
        check_bounds(result.gauc)


def use_ranking(accumulator: se.RankingAccumulator) -> None:
    """Read every number, before and after open queries are closed, and merge it with itself."""
    closed = accumulator.copy().close()
    if not accumulator._state.weights.whole.size:
        assert closed.n == accumulator.n + accumulator.compute().n_open
    assert closed.compute().n_open == 0
    for held in (accumulator, closed):
        assert se.from_bytes(held.to_bytes()) == held
        for empty in (None, "zero", "skip", "one", "nan"):
            use_ranking_result(held.compute(empty=empty))
        if held._config.per_query:
            columns = held.compute().per_query()
            assert {len(column) for column in columns.values()} == {len(columns["query"])}
        try:
            twice = held + held
        except (se.InvalidInputError, se.IncompatibleStateError, se.CountOverflowError):
            continue
        assert twice.n == 2 * held.n
        assert se.from_bytes(twice.to_bytes()) == twice
        twice.close().compute()


def use_ranking_result(result: se.Ranking) -> None:
    """Compute every mean, error and interval; a value lies in its range and in its bounds."""
    assert result.report()
    assert json.dumps(result.as_dict())
    errors = result.stderr if result._is_whole else {}
    assert set(errors) <= set(result.empty) <= set(result)
    for name, value in result.items():
        most = math.inf if name.startswith("dcg") else 1.0
        assert math.isnan(value) or 0.0 <= value.low <= value <= value.high <= most, name
        if name not in errors:
            continue
        low, high = result.confidence(name)
        assert math.isnan(low) or 0.0 <= low <= high <= most, name
        assert math.isnan(errors[name]) or errors[name] >= 0.0


def use_metrics(result: se.Confusion, *, has_intervals: bool) -> None:
    """Compute every metric, average and interval; a value lies in [-1, 1] and in its interval."""
    averages = ["micro", "macro", "weighted", *(["binary"] if len(result.labels) == 2 else [])]
    for name in result.metric_names:
        calls: list[dict[str, Any]] = [{}]
        if result.TABLE[name].averages:
            calls += [{"average": average} for average in averages if _allows(result, average)]
            low, high = result.confidence(name, average=None, level=0)
            assert low.shape == high.shape == (len(result.labels),)
        for options in calls:
            value = result.value(name, **options)
            assert math.isnan(value) or -1.0 <= value <= 1.0, name
            if has_intervals:
                low, high = result.confidence(name, **options)
                assert math.isnan(low) or low <= value <= high, name


def use_curve(curve: se.Curve, *, has_intervals: bool) -> None:
    """Compute every metric, list and interval; a value lies in its range and in its bounds."""
    assert curve.explain()
    thresholds = [0.5, -math.inf, math.inf, *curve.roc_curve()[2][1:3].tolist()]
    values = [value for name, value in curve.metrics().items() if "threshold" not in name]
    for rate in (0.0, 0.25, 1.0):
        values += [curve.recall_at_precision(rate), curve.precision_at_recall(rate)]
        curve.threshold_at_precision(rate)
    values += [curve.partial_roc_auc(0.25), curve.partial_roc_auc(1.0)]
    for at in thresholds:
        values += [curve.precision_at(at), curve.recall_at(at), curve.f_at(at)]
        assert curve.confusion_at(at, bound="low").n == curve.confusion_at(at, bound="high").n
        if has_intervals:
            for name in ("precision_at", "recall_at"):
                low, high = curve.confidence(name, at)
                assert math.isnan(low) or 0.0 <= low <= high <= 1.0
    for value in values:
        check_bounds(value)
    precision, recall, thresholds = curve.precision_recall_curve()
    assert len(precision) == len(recall) == len(thresholds) + 1 == curve.cells + 1
    if has_intervals:
        low, high = curve.confidence("roc_auc")
        assert math.isnan(low) or 0.0 <= low <= curve.roc_auc <= high <= 1.0


def check_bounds(value: se.Bounded) -> None:
    assert math.isnan(value) or 0.0 <= value.low <= value <= value.high <= 36.1


def _allows(result: Any, average: str) -> bool:
    return average != "binary" or isinstance(result.tp, (int, float))
