"""Searches over slices: one metric of each, the worst ones, the gap, and what holds for all."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Self

import attrs

from streameval.configs.options import finite_number
from streameval.errors import InvalidInputError, UnknownMetricError
from streameval.inputs.values import Value
from streameval.metrics.bounded import Bounded, Interval
from streameval.metrics.intervals import normal_quantile
from streameval.metrics.table import Reading
from streameval.results.names import Contrast, Gap, MetricName
from streameval.results.reading import Asked
from streameval.results.result import Result


@attrs.frozen(eq=False, repr=False)
class Search:
    """A metric of every slice that has enough examples.

    Parameters
    ----------
    metric : MetricName
        The metric.
    better : {"higher", "lower", ""}
        Its better direction.
    results : mapping of value to result
        The slices with enough examples.
    numbers : dict of value to number
        The metric where it is defined.
    small : tuple of values
        The slices with too few examples.
    """

    metric: MetricName
    better: str
    results: Mapping[Value, Any]
    numbers: dict[Value, float]
    small: tuple[Value, ...]

    @classmethod
    def of(
        cls, by_value: Mapping[Value, Any], metric: MetricName, min_n: float, others: Any
    ) -> Self:
        """Read a metric of the slices; a class that no row of a slice has is undefined there.

        Raises
        ------
        InvalidInputError
            If neither a slice nor the result of other rows has the metric, or a result has no table
            of metrics.
        """
        limit = finite_number(min_n, name="min_n")
        held = [*by_value.values()]
        if not all(isinstance(one, Result) for one in held):
            raise InvalidInputError("needs slices with a table of metrics", argument="metric")
        if held:
            held[0]._prepare(held, [metric])
        read = {value: _number(one, metric) for value, one in by_value.items()}
        if all(number is None for number in read.values()) and isinstance(others, Result):
            others.check(metric)
        small = [one for one in read if limit and _found(by_value[one], metric).size < limit]
        left = dict.fromkeys(small)
        return cls(
            metric=metric,
            better=better_of(held[0] if held else others, metric),
            results={value: by_value[value] for value in read if value not in left},
            numbers={
                value: number
                for value, number in read.items()
                if value not in left and number is not None and not math.isnan(number)
            },
            small=tuple(small),
        )

    @property
    def undefined(self) -> list[Value]:
        """The slices with enough examples where the metric is undefined."""
        return [value for value in self.results if value not in self.numbers]

    def size(self, value: Value) -> int | float:
        """Return how much a slice has counted."""
        return _found(self.results[value], self.metric).size

    def check_direction(self) -> None:
        """Raise InvalidInputError if neither high nor low values are better."""
        if not self.better:
            raise InvalidInputError(
                f"must have a better direction, and {self.metric} has none", argument="metric"
            )

    def worst(self, k: int | None = None) -> list[tuple[Value, float]]:
        """List the slices where the metric is defined, the worst or else the lowest first."""
        sign = -1.0 if self.better == "lower" else 1.0
        return sorted(self.numbers.items(), key=lambda pair: sign * float(pair[1]))[:k]

    def gap(self, kind: Gap) -> float:
        """Subtract the lowest from the highest value, or divide it by the highest."""
        numbers = [*self.numbers.values()]
        if not numbers:
            return math.nan
        gap = _gap(kind, numbers, numbers)
        if not any(isinstance(number, Bounded) for number in numbers):
            return gap
        low, high = self.bounds(kind, [Reading(number).certified for number in numbers])
        return Bounded(min(max(gap, low), high), low, high)

    def readings(self, level: float) -> dict[Value, Reading]:
        """Read the slices where the metric is defined, so that all intervals hold at once."""
        normal_quantile(level)  # checks it, even without slices
        return {value: self.reading(value, level) for value in self.numbers}

    def reading(self, value: Value, level: float) -> Reading:
        """Read one of the slices, with an interval that holds for all of them at once.

        The interval of each of m slices has the level ``1 - (1 - level) / m`` (Bonferroni); at the
        level 0, there are no sampling intervals.
        """
        each = 1.0 - (1.0 - level) / max(len(self.numbers), 1) if level else 0.0
        reading: Reading = self.results[value].read(self.metric, level=each)
        return reading

    def intervals(self, level: float) -> dict[Value, Interval]:
        """Compute sampling intervals that hold at once, of the slices that have one."""
        readings = self.readings(level).items()
        return {value: one.sampling for value, one in readings if one.sampling is not None}

    def bounds(self, what: Contrast, ends: Collection[Interval]) -> Interval:
        """Bound the worst value, or the gap, of slices that lie within some ends; nan if none."""
        if not ends:
            return math.nan, math.nan
        lows, highs = zip(*ends, strict=True)
        if what == "worst":
            worst = max if self.better == "lower" else min
            return worst(lows), worst(highs)
        closest = max(lows), min(highs)
        widest = _gap(what, lows, highs)
        if what == "difference":
            return max(0.0, closest[0] - closest[1]), widest
        nearest_one = min(1.0, closest[1] / closest[0]) if closest[0] > 0.0 else 1.0
        return min(widest, nearest_one), nearest_one


def better_of(result: Any, metric: MetricName) -> str:
    """Return the better direction of a metric of a result."""
    return _found(result, metric).row.better


def _found(result: Result, metric: MetricName) -> Asked:
    """Find a metric, even if no row of the result has the class it names."""
    try:
        return result.asked(metric)
    except UnknownMetricError:
        return result.asked(attrs.evolve(metric, of=None))


def _number(result: Any, metric: MetricName) -> float | None:
    """Read a metric of a slice; None if no row of it has the class."""
    try:
        number: float = result.read(metric, level=0.0).value
    except UnknownMetricError:
        return None
    return number


def _gap(kind: Gap, lows: Sequence[float], highs: Sequence[float]) -> float:
    """Subtract the lowest from the highest value, or divide it by the highest."""
    low, high = float(min(lows)), float(max(highs))
    if kind == "difference":
        return high - low
    return low / high if high else math.nan
