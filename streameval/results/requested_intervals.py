"""Results that have sampling intervals only if the accumulator was asked for them."""

from __future__ import annotations

from typing import Any

from streameval.errors import InvalidInputError
from streameval.metrics.intervals import normal_quantile
from streameval.metrics.table import Metric, Reading
from streameval.results.result import SumsResult


class RequestedIntervals(SumsResult):
    """The base of results of accumulators with an option `intervals`."""

    __slots__ = ()

    _config: Any

    def _deviations(self, name: str, level: float) -> float | None:
        """Return how many deviations an interval extends; None with fewer than two examples.

        Raises
        ------
        InvalidInputError
            For a metric without intervals, a level outside [0, 1), an accumulator without
            intervals, or weights with fractions.
        """
        known = [row.name for row in self.TABLE.values() if row.sampling]
        if name not in known:
            raise InvalidInputError(
                f"must be a metric with a sampling interval ({', '.join(known)}), got {name!r}",
                argument="name",
            )
        if not self._config.intervals:
            raise InvalidInputError(
                "must be True when the accumulator is made", argument="intervals"
            )
        if not self._state.n.is_whole:
            raise InvalidInputError(
                "had fractions, and a fraction of an example is not a draw: there are no intervals",
                argument="sample_weight",
            )
        z = normal_quantile(level)
        return None if self._state.n.to_fraction() < 2 else z

    def _reading(
        self, row: Metric, number: Any, level: float, *args: Any, **options: Any
    ) -> Reading:
        """Leave out sampling intervals that were not requested."""
        if self._config.intervals or row.is_count or self._clusters is not None:
            return super()._reading(row, number, level, *args, **options)
        return Reading(number)
