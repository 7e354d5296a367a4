"""What frozen classes have in common: cached properties, and an equality that ignores them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeVar

import attrs


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


class Comparable:
    """The base of results: equal if class and fields are, whatever has been computed so far.

    A nan equals a nan. Results cannot be hashed, because accumulators cannot.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        """Compare class and fields."""
        if type(self) is not type(other):
            return NotImplemented
        return _have_same_fields(self, other)

    __hash__ = None  # type: ignore[assignment]


def _have_same_fields(one: Any, other: Any) -> bool:
    names = (field.name for field in attrs.fields(type(one)))
    return all(_are_same(getattr(one, name), getattr(other, name)) for name in names)


def _are_same(one: Any, other: Any) -> bool:  # noqa: PLR0911 - one for each type of part
    """Compare parts of results; those without an equality of their own by their fields."""
    if one is other:
        return True
    if _is_mapping(one) and _is_mapping(other):  # results of slices may be computed on demand
        items = ((one[key], other[key]) for key in one)
        return one.keys() == other.keys() and all(_are_same(*pair) for pair in items)
    if type(one) is not type(other):
        return False
    if hasattr(one, "dtype"):
        import numpy as np  # noqa: PLC0415 (configurations need none)

        return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(_are_same, one, other))
    if attrs.has(type(one)) and not _defines_equality(type(one)):
        return _have_same_fields(one, other)
    return bool(one == other) or (one != one and other != other)  # noqa: PLR0124 - nan


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping) and not isinstance(value, Comparable)


def _defines_equality(cls: type[Any]) -> bool:
    return any("__eq__" in vars(base) for base in cls.__mro__[:-1])
