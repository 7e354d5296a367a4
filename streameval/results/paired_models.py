"""Several models from the results of their pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from streameval.configs.collection import ModelPair
from streameval.errors import InvalidInputError
from streameval.metrics.bounded import Bounded, Interval
from streameval.metrics.intervals import UNDEFINED, holm
from streameval.results.models import (
    MeasureComparison,
    ModelComparison,
    ModelDifference,
    check_level,
)
from streameval.results.paired import PairedResult

_STEPS = 60  # of a bisection: to the last bits of a level
_OF_ROWS = "that of McNemar's test for accuracy, and of the test of the difference for others"
_OF_VALUES = "that of Student's paired t-test"
_OF_CLUSTERS = "1 minus the level at which the interval for clusters ends at 0"
_LEVEL = 0.95  # of an interval that shows whether there is one


def of_pairs(
    pairs: Sequence[ModelPair | None], results: Sequence[Any], level: float
) -> ModelComparison:
    """Compare the models of a collection that has counted each pair of them.

    Raises
    ------
    InvalidInputError
        If the members are anything else, or the level is outside (0, 1).
    """
    check_level(level)
    held = {
        (pair.a, pair.b): result
        for pair, result in zip(pairs, results, strict=True)
        if pair is not None
    }
    models = tuple(dict.fromkeys(model for pair in held for model in pair))
    if not is_comparable(pairs, results):
        raise InvalidInputError(
            "must be all pairs of some models, as Paired.of_models makes them",
            argument="members",
        )
    first: PairedResult = next(iter(held.values()))
    found = {name: _compared(name, models, held, level) for name in _measures(first)}
    of_rows = _OF_VALUES if first._config.is_of_values else _OF_ROWS
    test = of_rows if first._clusters is None else _OF_CLUSTERS
    n = max(one.n for one in held.values())
    n_left_out = max(one.n_skipped for one in held.values())
    return ModelComparison(models, level, n, n_left_out, "row", test, found)


def is_comparable(pairs: Sequence[ModelPair | None], results: Sequence[Any]) -> bool:
    """Tell whether there is each pair of some models once, counted alike, by a metric."""
    known = [pair for pair in pairs if pair is not None]
    models = {model for pair in known for model in (pair.a, pair.b)}
    unordered = {frozenset((pair.a, pair.b)) for pair in known}
    n_pairs = len(models) * (len(models) - 1) // 2
    if len({pair.terms for pair in known}) != 1 or len(pairs) != len(unordered):
        return False
    return len(unordered) == n_pairs and bool(_measures(results[0]))


def _measures(result: PairedResult) -> tuple[str, ...]:
    """List the metrics that a model has by itself: closeness, of numbers, is that of two."""
    config = result._config
    return config.measures if config.classes is None else ("accuracy", *config.measures)


def _compared(
    measure: str,
    models: Sequence[str],
    held: Mapping[tuple[str, str], PairedResult],
    level: float,
) -> MeasureComparison:
    """Compare models by one metric of the pairs."""
    difference = "difference" if measure == "accuracy" else f"{measure}_difference"
    values, ends = {}, {}
    for model in models:
        of_model = [(pair, one) for pair, one in held.items() if model in pair]
        pair, result = max(of_model, key=lambda item: item[1].n)  # the first, if none has gaps
        name = f"{measure}_{'ab'[pair.index(model)]}"
        reading = result.read(name, level=level).defined
        values[model], ends[model] = reading.value, reading.sampling or UNDEFINED
    pvalues = [_pvalue(result, measure, difference) for result in held.values()]
    corrected = holm([one.high if isinstance(one, Bounded) else one for one in pvalues])
    pairs = [
        ModelDifference(
            a=a,
            b=b,
            difference=result.read(difference, level=0.0).defined.value,
            interval=_interval(result, difference, level),
            pvalue=pvalues[at],
            holm_pvalue=corrected[at],
        )
        for at, ((a, b), result) in enumerate(held.items())
    ]
    return MeasureComparison(
        measure=measure,
        better=PairedResult.TABLE[f"{measure}_a"].better,
        level=level,
        values=values,
        intervals=ends,
        differences=tuple(pairs),
    )


def _interval(result: PairedResult, name: str, level: float) -> Interval:
    """Read a sampling interval; nan if there is none, or if rows do not define the metric."""
    return result.read(name, level=level).defined.sampling or UNDEFINED


def _pvalue(result: PairedResult, measure: str, difference: str) -> float:
    """Return the p-value of a difference."""
    if result._clusters is None:
        name = "mcnemar_pvalue" if measure == "accuracy" else f"{measure}_pvalue"
        pvalue: float = result.value(name)
        return pvalue
    return _pvalue_of_interval(result, difference)


def _pvalue_of_interval(result: PairedResult, name: str) -> float:
    """Find 1 minus the highest level at which an interval does not contain 0."""
    if math.isnan(result.stderr(name)):  # the interval is all that is possible
        return math.nan
    apart, around = 0.0, 1.0  # levels
    for _ in range(_STEPS):
        level = (apart + around) / 2.0
        if not apart < level < around:
            break
        low, high = _interval(result, name, level)
        apart, around = (apart, level) if low <= 0.0 <= high else (level, around)
    return 1.0 - apart
