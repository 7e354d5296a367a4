"""Merging many accumulators into one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, cast

from streameval.accumulators.base import Accumulator, merged, merged_of_one_class
from streameval.accumulators.parts import Parts
from streameval.errors import InvalidInputError


def merge(accumulators: Iterable[Accumulator[Any, Any] | Parts]) -> Any:
    """Merge any number of accumulators into a new one; the arguments are left untouched.

    Any order and any grouping give the same bytes. An accumulator that is given twice counts
    twice, because a state does not know which rows it has counted. If a message, a task or a
    file may arrive twice, merge `Parts`, whose union counts every part once.

    Parameters
    ----------
    accumulators : iterable of accumulators, or of Parts
        At least one, and all of one class with equal options. An iterator is consumed one by
        one, so that only the result and one argument need be in memory; a list or tuple is
        merged at once, which is faster.

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
    >>> se.merge([parts[0], parts[0]]).n
    4
    """
    if isinstance(accumulators, (Accumulator, Parts)):
        raise InvalidInputError(
            "must be an iterable of accumulators, got one", argument="accumulators"
        )
    given = map(_checked, accumulators)
    first = next(given, None)
    if first is None:
        raise InvalidInputError("must hold at least one accumulator", argument="accumulators")
    if isinstance(accumulators, (list, tuple)) and isinstance(first, Accumulator):
        if len(set(map(type, accumulators))) == 1:
            return merged_of_one_class(cast("Sequence[Accumulator[Any, Any]]", accumulators))
        return merged(chain([first], given))
    total = first.copy()
    for accumulator in given:
        total.merge(accumulator)
    return total


def _checked(value: Any) -> Any:
    if not isinstance(value, (Accumulator, Parts)):
        raise InvalidInputError(
            f"must hold accumulators, got {type(value).__name__}", argument="accumulators"
        )
    return value
