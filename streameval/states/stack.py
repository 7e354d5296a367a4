"""Fields of several states as columns, so that one rule checks all of them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt

from streameval.errors import corrupt, require
from streameval.exact.array_types import Array, Ints, Mask
from streameval.exact.exact_sum import ExactSum, added_sums
from streameval.exact.fixed_point import FixedPoint
from streameval.states.column import Column
from streameval.states.narrow import narrowed
from streameval.states.runs import run_indices
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


Integers = npt.NDArray[np.integer[Any]]

PARTS = {"FixedPoint": ("whole", "fraction"), "Column": ("int64", "uint64", "text")}
"""The arrays that hold the items of a field of a type; a field of any other type has none."""

_WIDE = {"whole": "i8", "fraction": "i8", "int64": "i8", "uint64": "u8", "text": "O"}
_LONG = 2**6  # items a state from which they are copied state by state


def form_of(value: Any) -> StackForm:
    """Return the form of a value: what remains without its items."""
    if isinstance(value, FixedPoint):
        return value.fraction is not None, value.shape
    if isinstance(value, Column):
        return value.kind, len(value)
    return value


@attrs.frozen(eq=False, repr=False, slots=False)
class Stack:
    """One field of S states.

    Parameters
    ----------
    forms : tuple
        The different forms of the field, in any order.
    codes : int array, shape (S,)
        The index of each state's form.
    parts : mapping from name to array
        The items, one state after the other: of numbers "whole", and "fraction" of the states that
        have fractions; of columns "int64", "uint64" and "text", by their type. `stored` makes
        them narrow, and `between` wide.
    """

    forms: tuple[StackForm, ...]
    codes: Integers
    parts: Mapping[str, Array] = attrs.field(factory=dict)
    _ends: dict[str, Integers] = attrs.field(factory=dict, init=False)

    @classmethod
    def of_items(cls, forms: tuple[StackForm, ...], codes: Integers, items: Any) -> Self:
        """Stack numbers, or a column of one type; if some have fractions, `items` has them all."""
        if not isinstance(items, FixedPoint):
            return cls(forms, codes, {Column(items).kind: items})
        made = cls(forms, codes, {"whole": items.whole.ravel()})
        if items.fraction is None:
            return made
        fraction = items.fraction.ravel()
        if not all(has_fraction for has_fraction, _ in forms):
            fraction = fraction[np.repeat(made.has_fraction, made.lengths)]
        return attrs.evolve(made, parts={**made.parts, "fraction": fraction})

    @classmethod
    def of(cls, value: Any) -> Self:
        """Make a stack of the field of one state."""
        return cls.of_each((value,))

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
        return cls.of_items(forms if size else (), codes, numbers)

    @classmethod
    def of_values(cls, values: Sequence[Any]) -> Self:
        """Stack values without items, such as exact sums."""
        return cls(tuple(values), np.arange(len(values)))

    @classmethod
    def of_vectors(cls, items: Any, lengths: Ints, has_fraction: Mask | None = None) -> Self:
        """Stack vectors of different lengths: of numbers, or of a column."""
        is_split = np.zeros(len(lengths), dtype=bool) if has_fraction is None else has_fraction
        found, codes = np.unique(lengths * 2 + is_split, return_inverse=True)
        pairs = [divmod(number, 2) for number in found.tolist()]
        kind = None if isinstance(items, FixedPoint) else Column(items).kind
        forms = ((kind, length) if kind else (bool(own), (length,)) for length, own in pairs)
        return cls.of_items(tuple(forms), codes, items)

    @classmethod
    def of_each(cls, values: Sequence[Any]) -> Self:
        """Stack the fields of some states, whatever their forms."""
        forms = [form_of(value) for value in values]
        items: dict[str, list[Array]] = {}
        for value, form in zip(values, forms, strict=True):
            if isinstance(value, FixedPoint):
                for part in _parts_of(form):
                    items.setdefault(part, []).append(getattr(value, part).ravel())
            elif isinstance(value, Column):
                items.setdefault(value.kind, []).append(value.values)
        known, codes = _numbered(forms, by_value=bool(items))
        return cls(known, codes, {part: np.concatenate(own) for part, own in items.items()})

    @classmethod
    def concatenated(cls, stacks: Sequence[Self]) -> Self:
        """List the states of several."""
        parts = dict.fromkeys(part for one in stacks for part in one.parts)
        every = [form for one in stacks for form in one.forms]
        forms, numbers = _numbered(every, by_value=bool(parts))
        tables = np.split(numbers, np.cumsum([len(one.forms) for one in stacks])[:-1])
        codes = [table[one.codes] for table, one in zip(tables, stacks, strict=True)]
        joined = {
            part: np.concatenate([one.parts[part] for one in stacks if part in one.parts])
            for part in parts
        }
        return cls(forms, narrowed(np.concatenate(codes)), joined)

    def stored(self, base: Stack | None) -> Stack:
        """Make the arrays narrow; a column becomes its difference from that of `base`, if any."""
        parts = dict(self.parts)
        if base is not None and parts:
            parts["uint64"] = self.items - base.items
        narrow = {
            part: narrowed(items.view(np.uint64) if part in PARTS["FixedPoint"] else items)
            for part, items in parts.items()
            if part != "text"
        }
        return Stack(self.forms, narrowed(self.codes.astype(np.uint64)), parts | narrow)

    def taken(self, indices: Array) -> Stack:
        """Copy the field of some states, in the order of the indices."""
        parts = {part: self._taken_items(part, indices) for part in self.parts}
        return Stack(self.forms, self.codes[indices], parts)

    def _taken_items(self, part: str, indices: Array) -> Array:
        items = self.parts[part]
        if not len(items):
            return items
        if len(self.forms) == 1:
            return items.reshape(len(self.codes), -1)[indices].reshape(-1)
        edges = self._edges(part)
        starts = edges[indices].astype(np.int64)
        ends = edges[1:][indices].astype(np.int64)
        if len(items) >= _LONG * len(edges):  # copying a slice takes less than indices of its items
            runs = zip(starts.tolist(), ends.tolist(), strict=True)
            return np.concatenate([items[:0], *(items[start:end] for start, end in runs)])
        return items[run_indices(starts, ends - starts)]

    def between(self, first: int, last: int, base: Stack | None) -> Stack:
        """Take the field of some states as wide arrays; a column is added to that of `base`."""
        forms, codes = self.forms, np.zeros(last - first, dtype=np.intp)
        if len(forms) != 1 or first == last:
            used, codes = np.unique(self.codes[first:last], return_inverse=True)
            forms = tuple(self.forms[code] for code in used)
        parts = {
            part: items[self._slice(part, first, last)].astype(_WIDE[part])
            for part, items in self.parts.items()
        }
        if base is not None:
            parts["uint64"] = parts["uint64"] + base.items
        return Stack(forms, codes, parts)

    def value(self, index: int, base: Any = None) -> Any:
        """Make the field of one state; `base` is the column to which that of this one is added."""
        form = self.forms[self.codes[index]]
        if not self.parts:
            return form
        items = [
            self.parts[part][self._slice(part, index, index + 1)].astype(_WIDE[part])
            for part in _parts_of(form)
        ]
        if "whole" in self.parts:
            return FixedPoint(*items).reshape(*form[1])
        return Column(items[0] if base is None else items[0] + base.values)

    def __len__(self) -> int:
        """Return the number of states."""
        return len(self.codes)

    def __iter__(self) -> Iterator[Any]:
        """Yield the field of each state, which shares the memory of the items; these are wide."""
        forms, items = [self.forms[code] for code in self.codes.tolist()], self.items
        ends = np.cumsum(self.lengths).tolist() if self.parts else []
        runs = zip(forms, [0, *ends], ends, strict=False)
        if items is None:
            yield from forms
        elif not isinstance(items, FixedPoint):
            yield from (Column(items[start:end]) for _, start, end in runs)
        elif len(self.forms) == 1 and items.is_whole:
            whole = items.whole.reshape(len(forms), *forms[0][1])
            yield from (FixedPoint(whole[index, ...]) for index in range(len(forms)))
        else:
            fraction: Any = items.fraction
            for (has_fraction, shape), start, end in runs:
                own = fraction[start:end].reshape(shape) if has_fraction else None
                yield FixedPoint(items.whole[start:end].reshape(shape), own)

    @cached_property
    def items(self) -> Any:
        """All wide items: numbers, a column of one type, or None. If one has fractions, all do."""
        if "whole" not in self.parts:
            return self.parts[self.forms[0][0]] if self.parts else None
        whole = self.parts["whole"]
        if not any(has_fraction for has_fraction, _ in self.forms):
            return FixedPoint(whole)
        fraction = self.parts["fraction"]
        if len(fraction) < len(whole):
            sparse, fraction = fraction, np.zeros(len(whole), dtype=np.int64)
            fraction[np.repeat(self.has_fraction, self.lengths)] = sparse
        return FixedPoint(whole, fraction)

    def is_all(self, value: Any) -> bool:
        """Return whether every state has a value without items."""
        counts = np.bincount(self.codes, minlength=len(self.forms)).tolist()
        own = form_of(value)
        return all(form == own for form, count in zip(self.forms, counts, strict=True) if count)

    @property
    def nbytes(self) -> int:
        """The memory of the arrays."""
        arrays = (self.codes, *self.parts.values(), *self._ends.values())
        return sum(array.nbytes for array in arrays)

    def _slice(self, part: str, first: int, last: int) -> slice:
        """Find where the items of some states lie in an array."""
        if len(self.forms) == 1:
            (size,) = self.sizes(part)
            return slice(first * size, last * size)
        edges = self._edges(part)
        return slice(int(edges[first]), int(edges[last]))

    def sizes(self, part: str) -> list[int]:
        """Count the items that each form has in an array."""
        return [_size(form) if part in _parts_of(form) else 0 for form in self.forms]

    def _edges(self, part: str) -> Integers:
        """Find where the items of each state begin in an array, and where the last ones end."""
        if part not in self._ends:
            ends = np.cumsum(np.array(self.sizes(part), dtype=np.int64)[self.codes])
            self._ends[part] = narrowed(np.append(0, ends).astype(np.uint64))
        return self._ends[part]

    def summed(self, sizes: Ints) -> Stack:
        """Add up runs of states, each with at least one: numbers of one shape, or exact sums."""
        starts = np.cumsum(sizes) - sizes
        if not self.parts:
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
        lengths: Ints = np.array([*map(_size, self.forms)], dtype=np.int64)[self.codes]
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


def _parts_of(form: StackForm) -> tuple[str, ...]:
    """Name the arrays that hold the items of a form."""
    if isinstance(form[0], str):
        return (form[0],)
    return PARTS["FixedPoint"] if form[0] else ("whole",)


def _size(form: StackForm) -> int:
    size: int = form[1] if isinstance(form[1], int) else math.prod(form[1])
    return size


def _numbered(
    forms: Sequence[StackForm], *, by_value: bool
) -> tuple[tuple[StackForm, ...], Integers]:
    """List the different forms, and the index of each; without items, 1 and True are equal."""
    keys: Sequence[Any] = forms if by_value else [*map(id, forms)]
    known = dict(zip(keys, forms, strict=True))
    codes = {key: code for code, key in enumerate(known)}
    return tuple(known.values()), np.fromiter(map(codes.get, keys), np.uint64, len(keys))
