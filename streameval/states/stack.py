"""Fields of several states as columns, so that one rule checks all of them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt

from streameval.errors import corrupt, require
from streameval.exact.array_types import Array, Ints, Mask
from streameval.exact.exact_sum import ExactSum, added_sums
from streameval.exact.fixed_point import FixedPoint
from streameval.states.column import Column
from streameval.states.state import OF_NOTHING, State, check_numbers, field_getter, fields_of

StackForm = Any
"""A field without its items.

For numbers, whether they have fractions, and the shape; for a column, its type and length; for
anything else, the value itself.
"""

NOTHING: frozenset[StackForm] = frozenset(
    [("int64", 0), ("uint64", 0), ("text", 0), (False, (0,))],
)
"""The forms of numbers and columns without items."""


_FIRST = np.zeros(1, dtype=np.intp)


def form_of(value: Any) -> StackForm:
    """Return the form of a value: what remains without its items."""
    if isinstance(value, FixedPoint):
        return value.fraction is not None, value.shape
    if isinstance(value, Column):
        return value.kind, len(value)
    return value


@attrs.frozen(eq=False, repr=False)
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

    forms: tuple[StackForm, ...]
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

    @classmethod
    def of_numbers(
        cls, numbers: FixedPoint, shape: tuple[int, ...], has_fraction: Mask | None = None
    ) -> Self:
        """Stack numbers of one shape; by default all of them have fractions, or none."""
        size = len(numbers.whole)
        if has_fraction is None or numbers.is_whole:
            forms: tuple[StackForm, ...] = ((not numbers.is_whole, shape),)
            codes = np.zeros(size, dtype=np.intp)
        else:
            forms, codes = ((False, shape), (True, shape)), has_fraction.astype(np.intp)
        return cls(forms if size else (), codes, numbers.reshape(-1))

    @classmethod
    def of_values(cls, values: Sequence[Any]) -> Self:
        """Stack values without items, such as exact sums."""
        return cls(tuple(values), np.arange(len(values)), None)

    @classmethod
    def of_vectors(cls, items: Any, lengths: Ints, has_fraction: Mask | None = None) -> Self:
        """Stack vectors of different lengths: of numbers, or of a column."""
        is_split = np.zeros(len(lengths), dtype=bool) if has_fraction is None else has_fraction
        found, codes = np.unique(lengths * 2 + is_split, return_inverse=True)
        pairs = [divmod(number, 2) for number in found.tolist()]
        if isinstance(items, FixedPoint):
            return cls(tuple((bool(own), (length,)) for length, own in pairs), codes, items)
        name = form_of(Column(items))[0]
        return cls(tuple((name, length) for length, _ in pairs), codes, items)

    def __len__(self) -> int:
        """Return the number of states."""
        return len(self.codes)

    def __iter__(self) -> Iterator[Any]:
        """Yield the field of each state, which shares the memory of the items."""
        forms = [self.forms[code] for code in self.codes.tolist()]
        if self.items is None:
            yield from forms
        elif len(self.forms) == 1 and isinstance(self.items, FixedPoint) and self.items.is_whole:
            whole = self.items.whole.reshape(len(forms), *forms[0][1])
            yield from (FixedPoint(whole[index, ...]) for index in range(len(forms)))
        elif isinstance(self.items, FixedPoint):
            end, whole = 0, self.items.whole
            fraction: Any = self.items.fraction
            for has_fraction, shape in forms:
                start, end = end, end + math.prod(shape)
                own = fraction[start:end].reshape(shape) if has_fraction else None
                yield FixedPoint(whole[start:end].reshape(shape), own)
        else:
            end = 0
            for _, size in forms:
                start, end = end, end + size
                yield Column(self.items[start:end])

    def summed(self, sizes: Ints) -> Stack:
        """Add up runs of states, each with at least one: numbers of one shape, or exact sums."""
        starts = np.cumsum(sizes) - sizes
        if self.items is None:
            values = [self.forms[code] for code in self.codes.tolist()]
            runs = zip(starts.tolist(), sizes.tolist(), strict=True)
            return Stack.of_values([_sum_of(values[start : start + size]) for start, size in runs])
        has_fraction = np.logical_or.reduceat(self.has_fraction, starts)
        shape = self.forms[0][1]
        if shape == ():
            numbers = self.items.run_totals(sizes)
        else:
            numbers = self.items.reshape(len(self), math.prod(shape)).sum_runs(starts)
        return Stack.of_numbers(numbers, shape, has_fraction)

    @property
    def has_fraction(self) -> Mask:
        """Whether the numbers of each state have fractions."""
        if len(self.forms) == 1:
            return np.full(len(self), self.forms[0][0])
        have: Mask = np.array([form[0] for form in self.forms])[self.codes]
        return have

    def fractions_are(self, claim: Callable[[Any, Any], Any], other: Stack) -> bool:
        """Compare `has_fraction` with another field's, state by state."""
        if len(self.forms) == len(other.forms) == 1:
            return bool(claim(self.forms[0][0], other.forms[0][0]))
        return bool(claim(self.has_fraction, other.has_fraction).all())

    @property
    def lengths(self) -> Ints:
        """The number of items of each state."""
        sizes = [form[1] if isinstance(form[1], int) else math.prod(form[1]) for form in self.forms]
        lengths: Ints = np.array(sizes, dtype=np.int64)[self.codes]
        return lengths

    def numbers(self, shape: tuple[int, ...], name: str) -> FixedPoint:
        """Check the shape and range of the numbers of each state, and return them all."""
        self._check_numbers(shape, name)
        stacked: FixedPoint = self.items.reshape(len(self), *shape)
        return stacked

    def checked_total(self) -> FixedPoint:
        """Check the total of each state as `check_total` does, and return them all."""
        n = self.numbers((), "n")
        require(n.is_positive()[self.has_fraction].all(), OF_NOTHING)
        return n

    def rows(self, shape: tuple[int, ...], name: str) -> tuple[FixedPoint, FixedPoint]:
        """Check numbers as `numbers` does; return them, a row for each state, and their sums."""
        largest = self._check_numbers(shape, name)
        rows: FixedPoint = self.items.reshape(len(self), math.prod(shape))
        return rows, rows.totals(largest)

    def _check_numbers(self, shape: tuple[int, ...], name: str) -> int:
        for _, own in self.forms:
            if own != shape:
                raise corrupt(f"{name} has shape {own} instead of {shape}")
        return check_numbers(self.items, self.items.shape, name)

    def column(self, length: int, column_type: str, name: str) -> Array:
        """Check the type and length of the column of each state, and return them all."""
        require(all(form == (column_type, length) for form in self.forms), name)
        stacked: Array = self.items.reshape(len(self), length)
        return stacked


class SummableState(State):
    """A state that is added up for many groups at once, from common columns.

    By default it adds field by field, so that its fields are numbers of one shape, exact sums, or
    tuples of these. States of any other class are created from the columns, added with ``+``, and
    put back, one by one.
    """

    __slots__ = ()

    def __add__(self, other: Any) -> Self:
        """Add field by field; the total comes first, so that it overflows first."""
        fields = field_getter(type(self))
        return type(self)(*map(_added, fields(self), fields(other)))

    @classmethod
    def sum_all(
        cls,
        config: Any,  # noqa: ARG003 - for those that need it
        fields: Mapping[str, Stack],
        sizes: Ints,
    ) -> dict[str, Stack]:
        """Add up runs of states, and return the fields of the sums.

        Parameters
        ----------
        config : object
            The configuration of all states.
        fields : mapping from name to Stack
            At least one state.
        sizes : int64 array
            The number of states in each run, at least one.
        """
        return {name: stack.summed(sizes) for name, stack in fields.items()}


class StackableState(State):
    """A state whose rules check many states at once; a single one is a stack of one."""

    __slots__ = ()

    @classmethod
    @abstractmethod
    def check_all(cls, config: Any, fields: Mapping[str, Stack]) -> None:
        """Raise `CorruptStateError` unless examples could have built each of some states."""

    def check(self, config: Any) -> None:
        """Raise `CorruptStateError` unless examples could have built this state."""
        stacks = {name: Stack.of(value) for name, value in fields_of(self).items()}
        self.check_all(config, stacks)


def are_same(one: FixedPoint, other: FixedPoint) -> bool:
    """Return whether numbers are equal; fractions that are all zero do not matter."""
    is_same = not np.count_nonzero(one.whole != other.whole)
    if one.is_whole and other.is_whole:
        return is_same
    fraction = (one - other).fraction
    return is_same and not (fraction is not None and fraction.any())


def _added(one: Any, other: Any) -> Any:
    """Add numbers or exact sums, or tuples of exact sums item by item."""
    return added_sums(one, other) if type(one) is tuple else one + other


def _sum_of(values: Sequence[Any]) -> Any:
    """Add up exact sums, or tuples of them item by item."""
    if isinstance(values[0], ExactSum):
        return ExactSum(sum(value.units for value in values))
    return tuple(ExactSum(sum(one.units for one in sums)) for sums in zip(*values, strict=True))
