"""Values by key that are computed when they are first read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


class OnDemand(dict[KeyT, ValueT]):
    """Values of a function by its argument, each computed once, when it is first looked up.

    A result that is read for one metric does not pay for the others.

    >>> squares = OnDemand(lambda number: number**2)
    >>> squares[3], squares
    (9, {3: 9})
    """

    def __init__(self, compute: Callable[[KeyT], ValueT]) -> None:
        super().__init__()
        self._compute = compute

    def __missing__(self, key: KeyT) -> ValueT:
        """Compute the value of a key."""
        value = self[key] = self._compute(key)
        return value
