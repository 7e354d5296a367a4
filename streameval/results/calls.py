"""Results with metrics that take an argument, as in ``recall_at(0.5)``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from streameval.errors import InvalidInputError, UnknownMetricError
from streameval.metrics.evidence import Statistic
from streameval.metrics.table import Metric, Reading
from streameval.results.names import MetricName
from streameval.results.result import Result, refuse_brackets


class CalledMetrics(Result):
    """The base of results with metrics that take a number, also within their name."""

    __slots__ = ()

    def value(self, name: str, *args: Any, **options: Any) -> Any:
        """Compute a metric by name, with arguments behind or within it: ``recall_at(0.5)``."""
        call = None if args or options else self._call(MetricName(name))
        if call is None:
            return super().value(name, *args, **options)
        row, argument = call
        return super().value(row.name, argument)

    def readable(self) -> list[str]:
        """List the names that `read` accepts."""
        called = (row.typed for row in self.TABLE.values() if row.needs_argument)
        return [*self._applicable(), *called]

    def _find(self, metric: MetricName) -> Callable[[float], Reading]:
        """Find a metric, with its argument if it takes one."""
        call = self._call(metric)
        return super()._find(metric) if call is None else functools.partial(self._called, *call)

    def _statistic(self, metric: MetricName) -> Statistic:
        """Return the statistic that a test of a metric reads, with its argument if it takes one."""
        call = self._call(metric)
        if call is None:
            return super()._statistic(metric)
        row, argument = call
        return row.statistic(self, argument)

    def _call(self, metric: MetricName) -> tuple[Metric, float] | None:
        """Split a metric into name and argument; None if it takes no argument."""
        row = self.TABLE.get(metric.call[0]) if metric.call else None
        if row is None or metric.call is None or not row.needs_argument:
            return None
        refuse_brackets(metric)
        text = metric.call[1]
        try:
            argument = float(text)
        except ValueError:
            raise UnknownMetricError(f"{metric.name!r}: {text!r} is not a number.") from None
        return row, argument

    def _called(self, row: Metric, argument: float, level: float) -> Reading:
        """Read a metric that takes an argument."""
        try:
            value = row.value(self, argument)
        except InvalidInputError as error:  # raised by the metric itself
            raise UnknownMetricError(f"{row.name}({argument:g}): {error}") from None
        return self._reading(row, value, level, argument)
