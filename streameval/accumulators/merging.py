"""Many accumulators into one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from streameval.accumulators.base import Accumulator
from streameval.errors import InvalidInputError

__all__ = ["merge"]


def merge(accumulators: Iterable[Accumulator[Any, Any]]) -> Any:
    """Merge any number of accumulators into a new one; the arguments are left untouched.

    Any order and any grouping give the same bytes. An iterator is consumed one by one, so
    that only the result and one argument need be in memory; a list or tuple, all of which are
    in memory already, is merged at once, which is faster.

    Parameters
    ----------
    accumulators : iterable of accumulators
        Of one class and with equal options; at least one.

    Raises
    ------
    InvalidInputError
        When there is nothing to merge.
    IncompatibleStateError
        When class or options differ.

    Examples
    --------
    >>> import streameval as se
    >>> parts = [se.ConfusionAccumulator().update([1, 0], [1, y]) for y in (0, 1)]
    >>> se.merge(parts).compute().accuracy
    0.75
    """
    if isinstance(accumulators, Accumulator):
        raise InvalidInputError(
            "must be an iterable of accumulators, got one", argument="accumulators"
        )
    given = map(_checked, accumulators)
    first = next(given, None)
    if first is None:
        raise InvalidInputError("must hold at least one accumulator", argument="accumulators")
    if isinstance(accumulators, (list, tuple)):
        return first._make(first._config, first._sum_of([first, *map(first._alike, given)]))
    total = first.copy()
    for accumulator in given:
        total.merge(accumulator)
    return total


def _checked(value: Any) -> Accumulator[Any, Any]:
    if not isinstance(value, Accumulator):
        raise InvalidInputError(
            f"must hold accumulators, got {type(value).__name__}", argument="accumulators"
        )
    return value
