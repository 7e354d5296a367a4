"""What classes with cached properties have in common."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar


class Cached:
    """The base of classes with cached properties, which copies and pickles leave out.

    Another thread may cache a value meanwhile: the copy of the attributes is atomic, and iterating
    over themselves, as pickle does, fails then.
    """

    __slots__ = ()

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes that are not cached properties."""
        cls = type(self)
        return {
            name: value
            for name, value in self.__dict__.copy().items()
            if not isinstance(getattr(cls, name, None), cached_property)
        }


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
