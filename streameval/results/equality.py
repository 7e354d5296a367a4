"""Equality of results: of their class, and of what they hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np


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
    if isinstance(one, np.ndarray):
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
