"""Fields of several states side by side, so that one rule checks all at once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt

from streameval.errors import require
from streameval.exact.fixed_point import FixedPoint
from streameval.states.column import Column
from streameval.states.fields import fields_of
from streameval.states.state import State, check_numbers

__all__ = ["Form", "Stack", "StackableState", "are_same", "form_of"]

Form = Any
"""A field without its items.

For numbers, whether they have fractions, and the shape; for a column, its type and length; for
anything else, the value itself.
"""

Mask = npt.NDArray[np.bool_]

_FIRST = np.zeros(1, dtype=np.intp)


def form_of(value: Any) -> Form:
    """Return the form of a value: what remains without its items."""
    if isinstance(value, FixedPoint):
        return value.fraction is not None, value.shape
    if isinstance(value, Column):
        return value.kind, len(value)
    return value


@attrs.frozen(eq=False)
class Stack:
    """One field of S states.

    Parameters
    ----------
    forms : tuple
        The different forms of the field.
    codes : int array, shape (S,)
        The index of each state's form.
    items : FixedPoint or array, shape (m,), or None
        The items, one state after the other. If one state has fractions, all do.
    """

    forms: tuple[Form, ...]
    codes: npt.NDArray[np.integer[Any]]
    items: Any

    @classmethod
    def of(cls, value: Any) -> Self:
        """Make a stack of the field of one state."""
        items: Any = None
        if isinstance(value, FixedPoint):
            items = value.reshape(-1)
        elif isinstance(value, Column):
            items = value.values
        return cls((form_of(value),), _FIRST, items)

    def __len__(self) -> int:
        """Return the number of states."""
        return len(self.codes)

    @property
    def has_fraction(self) -> Mask:
        """Whether the numbers of each state have fractions."""
        if len(self.forms) == 1:
            return np.full(len(self), self.forms[0][0])
        have: Mask = np.array([form[0] for form in self.forms])[self.codes]
        return have

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """The number of items of each state, which must have one dimension."""
        sizes = [form[1] if isinstance(form[1], int) else form[1][0] for form in self.forms]
        lengths: npt.NDArray[np.int64] = np.array(sizes, dtype=np.int64)[self.codes]
        return lengths

    def numbers(self, shape: tuple[int, ...], name: str) -> FixedPoint:
        """Check the shape and range of the numbers of each state, and return them all."""
        for _, own in self.forms:
            require(own == shape, f"{name} has shape {own} instead of {shape}")
        check_numbers(self.items, self.items.shape, name)
        stacked: FixedPoint = self.items.reshape(len(self), *shape)
        return stacked

    def column(self, length: int, column_type: str, name: str) -> npt.NDArray[Any]:
        """Check the type and length of the column of each state, and return them all."""
        require(all(form == (column_type, length) for form in self.forms), name)
        stacked: npt.NDArray[Any] = self.items.reshape(len(self), length)
        return stacked


@attrs.frozen
class StackableState(State):
    """A state whose rules check many states at once; a single one is a stack of one."""

    @classmethod
    @abstractmethod
    def check_all(cls, config: Any, fields: Mapping[str, Stack]) -> None:
        """Raise `CorruptStateError` unless examples could have built each of some states."""

    def check(self, config: Any) -> None:
        """Raise `CorruptStateError` unless examples could have built this state."""
        stacks = {name: Stack.of(value) for name, value in fields_of(self).items()}
        self.check_all(config, stacks)


def are_same(one: FixedPoint, other: FixedPoint) -> bool:
    """Tell whether numbers are equal; fractions that are all zero do not matter."""
    if one.is_whole and other.is_whole:
        return bool((one.whole == other.whole).all())
    fraction = (one - other).fraction
    return bool((one.whole == other.whole).all()) and not (fraction is not None and fraction.any())
