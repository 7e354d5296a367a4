"""Numbers that carry the interval in which the exact value lies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

from streameval.errors import InvalidInputError

Interval = tuple[float, float]
"""Low and high."""

ROUNDING = 2.0**-40
"""Far above the relative rounding error of a sum over the cells of a budget."""

_ABSOLUTE = 2.0**-50


class Bounded(float):
    """An estimate and an interval that always contains the exact value.

    It is a `float` whose `repr` also shows the interval; `str`, `format`, arithmetic, CSV and JSON
    use the estimate.

    Parameters
    ----------
    value : float
        The estimate; the exact value itself if `low` and `high` are left out. nan if the metric
        is undefined.
    low, high : float
        The ends of the interval, which contains `value`.

    Examples
    --------
    >>> import streameval as se
    >>> auc = se.Bounded(0.75, 0.5, 1.0)
    >>> auc
    0.75 [0.5, 1.0]
    >>> auc.high - auc, auc.exact, f"{auc:.3f}"
    (0.25, False, '0.750')
    """

    __slots__ = ("high", "low")

    low: float
    """The lower bound of the exact value."""
    high: float
    """The upper bound of the exact value."""

    def __new__(cls, value: float, low: float | None = None, high: float | None = None) -> Self:
        """Create a number; without an interval it is exact."""
        number = super().__new__(cls, value)
        ends = (number if low is None else low), (number if high is None else high)
        if not (ends[0] <= number <= ends[1] or math.isnan(number)):
            raise InvalidInputError(
                f"must lie in [low, high], got {value!r} and [{low!r}, {high!r}]", argument="value"
            )
        for name, end in zip(("low", "high"), ends, strict=True):
            object.__setattr__(number, name, float(end))
        return number

    @property
    def exact(self) -> bool:
        """Whether the value is certain, so that the interval is one point, or nan."""
        return self.low == self.high or math.isnan(self)

    def __call__(self) -> Self:
        """Return itself, so that a metric works with and without a call."""
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Bounded is frozen: {name} cannot be set.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Bounded is frozen: {name} cannot be deleted.")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (float(self), self.low, self.high)

    def __repr__(self) -> str:
        value = float.__repr__(self)
        return value if self.exact else f"{value} [{self.low!r}, {self.high!r}]"

    __str__ = float.__repr__


class Threshold(Bounded):
    """A score from which on a prediction is positive.

    Texts show all of its digits: a rounded threshold decides otherwise.
    """

    __slots__ = ()


def outward(
    low: float, value: float, high: float, *, min_value: float = 0.0, max_value: float = 1.0
) -> Bounded:
    """Make a number from rounded sums: widen the interval by more than their rounding error.

    `min_value` and `max_value` are the ends of the metric's range.
    """
    if math.isnan(value):
        return Bounded(math.nan)
    low = max(low - abs(low) * ROUNDING - _ABSOLUTE, min_value)
    high = min(high + abs(high) * ROUNDING + _ABSOLUTE, max_value)
    return Bounded(min(max(value, low), high), low, high)


def mean_of(
    values: Sequence[Bounded], weights: Sequence[float], *, max_value: float = 1.0
) -> Bounded:
    """Average the defined values; the mean bounds, moved outward once more, bound the result.

    nan if none is defined. Values with bounds lie in [0, `max_value`].
    """
    defined = [
        (value, weight)
        for value, weight in zip(values, weights, strict=True)
        if not math.isnan(value) and weight
    ]
    total = math.fsum(weight for _, weight in defined)
    if not total:
        return Bounded(math.nan)

    def mean(ends: list[float]) -> float:
        terms = (end * weight for end, (_, weight) in zip(ends, defined, strict=True))
        return math.fsum(terms) / total

    value = mean([float(value) for value, _ in defined])
    if all(value.exact for value, _ in defined):
        return Bounded(value)
    low = mean([value.low for value, _ in defined])
    high = mean([value.high for value, _ in defined])
    return outward(low, value, high, max_value=max_value)
