"""Accumulators of many groups as flat columns: in memory, and in bytes."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any, ClassVar, Self

import attrs
import numpy as np

from streameval.accumulators.base import merged
from streameval.accumulators.classes import single_class
from streameval.accumulators.collection import Collection
from streameval.accumulators.members import Members
from streameval.configs.collection import SEPARATOR, CollectionConfig, Member
from streameval.configs.inner import Inner
from streameval.configs.sliced import ClusteredConfig, SlicedConfig, read_value
from streameval.errors import IncompatibleStateError, require
from streameval.exact.array_types import Array, Ints, Mask
from streameval.exact.fixed_point import FixedPoint
from streameval.inputs.values import Value, rank_of
from streameval.states import codec
from streameval.states.column import Column
from streameval.states.flat import Add, FlatStates, read_json
from streameval.states.runs import mapped, observed_codes, paired_codes, run_indices
from streameval.states.state import State

_AT_ONCE = 8  # accumulators in one merge
_ITEMS = 2**20  # of the accumulators that are made at once


@attrs.frozen(eq=False)
class Sealed:
    """An accumulator stored in flat columns together with many others.

    Parameters
    ----------
    columns : object
        An object whose method `part` makes the accumulator at an index, and `weight` weighs it.
    index : int
    """

    columns: Any
    index: int

    def copy(self) -> Any:
        """Make the accumulator."""
        return self.columns.part(self.index)

    @property
    def weight(self) -> int | float:
        """The weight of its rows, read without making the accumulator."""
        weight: int | float = self.columns.weight(self.index)
        return weight

    def __eq__(self, other: object) -> bool:
        """Return whether the accumulators are equal."""
        return bool(self.copy() == live(other))

    __hash__ = None  # type: ignore[assignment]


def live(part: Any) -> Any:
    """Return an accumulator as it is, or make one from a sealed one."""
    return part.copy() if isinstance(part, Sealed) else part


def live_in_turn(parts: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield single accumulators as they are, or made from sealed ones; nobody may change them.

    Small ones of the same columns are made together, which takes half of the time.
    """
    for _, run in itertools.groupby(parts, lambda one: id(getattr(one, "columns", None))):
        some = [*run]
        columns = getattr(some[0], "columns", None)
        if isinstance(columns, FlatLeaves):
            yield from columns.in_turn([one.index for one in some])
        else:
            yield [*map(live, some)]


def decode_inner(nested: Any, version: int, outer: Iterable[type[Any]]) -> Inner:
    """Read the accumulator of a group from the bytes of one that has counted nothing.

    Parameters
    ----------
    nested : Nested
    version : int
        The version of the bytes around it.
    outer : iterable of classes
        The classes that it may have besides those of single accumulators, so that nesting ends.
    """
    require(isinstance(nested, codec.Nested) and len(nested.items) == 1, "accumulator")
    parts = codec.split(nested.items[0])
    require(parts.version == version, "an accumulator of another version")
    cls = {one.type_id: one for one in outer}.get(parts.type_id) or single_class(parts)
    empty = cls._decode(parts)
    inner = Inner(cls, empty._config)
    require(empty == inner.empty(), "an accumulator of groups that has counted something")
    return inner


def gathered(inner: Inner, parts: Sequence[Sealed]) -> Any:
    """Store accumulators of several columns in one, in their order."""
    if not parts:
        return flat_type(inner).empty(inner, 0)
    positions: dict[int, list[int]] = {}
    for position, part in enumerate(parts):
        positions.setdefault(id(part.columns), []).append(position)
    held = [
        parts[own[0]].columns.taken(np.array([parts[at].index for at in own]))
        for own in positions.values()
    ]
    flat = held[0].concatenated(held)
    order = np.concatenate([*positions.values()])
    return flat if len(held) == 1 else flat.taken(np.argsort(order))


def merged_all(inner: Inner, groups: Sequence[Sequence[Sealed]]) -> list[Sealed]:
    """Merge each group of one or more accumulators, all groups at once; one alone is itself."""
    several = [parts for parts in groups if len(parts) > 1]
    flat = gathered(inner, [part for parts in several for part in parts])
    numbers = np.repeat(np.arange(len(several)), [len(parts) for parts in several])
    columns = flat.summed(numbers, len(several)) if several else flat
    sums = (Sealed(columns, index) for index in range(len(several)))
    return [parts[0] if len(parts) == 1 else next(sums) for parts in groups]


class FlatTable(ABC):
    """Groups of one configuration in columns; equal tables are the same bytes."""

    __slots__ = ()

    NAMES: ClassVar[tuple[str, ...]]
    """The names of its own fields in bytes, in their order."""
    OPTIONAL: ClassVar[tuple[str, ...]] = ()
    """The names of those behind them that are omitted at their default."""

    inner: Inner
    leaves: Any
    """The accumulators of all groups."""
    _total: Any = None

    config = property(
        attrgetter("inner.options"), doc="The options of the accumulator whose groups these are."
    )

    @property
    def total(self) -> Any:
        """The accumulator of all rows."""
        return self.all_rows() if self._total is None else self._total

    def copy(self: Any) -> Any:
        """Make an accumulator of these groups."""
        return self.inner.cls._make(self.config, attrs.evolve(self, total=self.total.copy()))

    @classmethod
    def names(cls, inner: Inner) -> list[str]:
        """List the names of all fields, in their order."""
        held = None if inner is inner.leaf else inner.options.accumulator
        within = [] if held is None else flat_type(held).names(held)
        return [*cls.NAMES, *within, *cls.OPTIONAL]

    @abstractmethod
    def written(self) -> dict[str, Any]:
        """Return the fields that bytes hold, by name."""

    def all_rows(self) -> Any:
        """Merge all rows into a new accumulator, whatever groups they are in."""
        return self.leaves.all_rows()

    def merged(self: Any) -> Any:
        """Merge all accumulators into a new one."""
        if not len(self):
            return self.inner.empty()
        return self.summed(np.zeros(len(self), dtype=np.int64), 1).part(0)

    def __eq__(self, other: object) -> bool:
        """Return whether the bytes are equal."""
        return isinstance(other, FlatTable) and self.written() == other.written()

    __hash__ = None  # type: ignore[assignment]


@attrs.frozen(eq=False)
class FlatLeaves(FlatTable):
    """Single accumulators, or collections, with one configuration.

    Parameters
    ----------
    inner : Inner
        Their class and options.
    columns : tuple of FlatStates or FlatGroups
        The states of each member; those of one that is `Clustered` are its groups.
    """

    NAMES = ("leaves",)

    inner: Inner
    columns: tuple[FlatStates | FlatGroups, ...]

    @classmethod
    def of(cls, inner: Inner, accumulators: Sequence[Any]) -> Self:
        """Hold accumulators, in their order."""
        members = inner.members
        if inner.cls is Collection:
            held = [one._held.accumulators for one in accumulators]
            columns = [[parts[at]._state for parts in held] for at in range(len(members))]
        else:
            columns = [[one._state for one in accumulators]]
        return cls(inner, tuple(map(_flat_of, members, columns)))

    @classmethod
    def empty(cls, inner: Inner, size: int) -> Self:  # noqa: ARG003 - one signature for all
        """Hold no accumulators."""
        return cls.of(inner, [])

    @classmethod
    def concatenated(cls, parts: Sequence[Self]) -> Self:
        """List the accumulators of several."""
        columns: Iterable[Any] = zip(*(part.columns for part in parts), strict=True)
        return cls(parts[0].inner, tuple(type(own[0]).concatenated(own) for own in columns))

    def __len__(self) -> int:
        """Return the number of accumulators."""
        return len(self.columns[0])

    def taken(self, indices: Array) -> Self:
        """Copy some accumulators, in the order of the indices."""
        if np.array_equal(indices, np.arange(len(self))):
            return self
        return type(self)(self.inner, tuple(flat.taken(indices) for flat in self.columns))

    def summed(self, groups: Array, n_groups: int) -> Self:
        """Merge the accumulators of each group, of which none is empty."""
        columns = (
            flat.summed(groups, n_groups, _addition(member))
            for member, flat in zip(self.inner.members, self.columns, strict=True)
        )
        return type(self)(self.inner, tuple(columns))

    def all_rows(self) -> Any:
        """Merge all accumulators into a new one."""
        return self.merged()

    def part(self, index: int) -> Any:
        """Make the accumulator at an index."""
        return self._made([flat.state(index) for flat in self.columns])

    @property
    def plain(self) -> Self:
        """The accumulators themselves, which have no groups."""
        return self

    @property
    def n_items(self) -> int:
        """The number of items of all states."""
        return sum(flat.n_items for flat in self.columns)

    @property
    def nbytes(self) -> int:
        """The memory of the columns."""
        return sum(flat.nbytes for flat in self.columns)

    def in_turn(self, indices: Sequence[int]) -> Iterator[list[Any]]:
        """Yield the accumulators at some indices, fewer at once if they are large.

        They must not change: they share memory.
        """
        step = max(1, _ITEMS * len(self) // max(1, self.n_items))
        for first in range(0, len(indices), step):
            chunk = indices[first : first + step]
            states: list[list[Any]] = [flat.states(chunk) for flat in self.columns]
            yield [*map(self._made, zip(*states, strict=True))]

    def _made(self, states: Iterable[Any]) -> Any:
        made = [
            member.cls._make(member.options, state)
            for member, state in zip(self.inner.members, states, strict=True)
        ]
        if self.inner.cls is not Collection:
            return made[0]
        options = self.inner.options
        return Collection._make(options, Members(options.part_names, tuple(made)))

    def weight(self, index: int) -> int | float:
        """Return the weight of an accumulator; of a collection, that of its heaviest member."""
        return max(flat.weight(index) for flat in self.columns)

    def numbers(self) -> dict[str, Array]:
        """Return the fields whose numbers have one shape in all of them, as arrays by name."""
        options = self.inner.options
        is_collection = isinstance(options, CollectionConfig)
        starts = [f"{name}{SEPARATOR}" for name in options.part_names] if is_collection else [""]
        return {
            f"{start}{name}": numbers
            for start, flat in zip(starts, self.columns, strict=True)
            for name, numbers in flat.numbers().items()
        }

    def written(self) -> dict[str, Any]:
        """Return the fields that bytes hold, by name."""
        return {"leaves": codec.Nested(tuple(flat.encode() for flat in self.columns))}

    @classmethod
    def read(cls, inner: Inner, size: int, fields: Mapping[str, Any]) -> Self:
        """Make and check accumulators from what `written` returned."""
        nested, members = fields["leaves"], inner.members
        require(isinstance(nested, codec.Nested) and len(nested.items) == len(members), "leaves")
        pairs = zip(members, nested.items, strict=True)
        return cls(inner, tuple(_flat_read(member, size, data) for member, data in pairs))

    def check_filled(self) -> None:
        """Check that each has counted something, if no row can be left out."""
        if not all(map(_leaves_traces, self.inner.counted)):
            return
        is_empty = np.ones(len(self), dtype=bool)
        for weights in self.weights(np.arange(len(self)), len(self)):
            is_empty &= ~weights.is_positive()
        for index in np.flatnonzero(is_empty).tolist():
            require(self.part(index) != self.inner.empty(), "a group without rows")

    def weights(self, owners: Array, n_owners: int) -> list[FixedPoint]:
        """Add up the `n` of all that is counted over the accumulators of each owner."""
        weights = (flat.weights(owners, n_owners) for flat in self.columns)
        return [*itertools.chain.from_iterable(weights)]


def choose_slices(
    config: SlicedConfig, values: Sequence[Value], owners: Array, codes: Array, n_owners: int
) -> tuple[Array, Array, Array]:
    """Choose the values that have a slice in each of several `Sliced`; find the leaf of each item.

    The first values of each owner keep a slice; the others share its last leaf.

    Parameters
    ----------
    config : SlicedConfig
    values : sequence
        In the order of their hashes.
    owners, codes : int arrays, shape (n,)
        The index of the `Sliced`, and of the value, of each item; for other rows, the number of
        values.
    n_owners : int

    Returns
    -------
    lengths, codes : int arrays
        Those of `FlatSlices`.
    leaves : int array, shape (n,)
        The leaf of each item.
    """
    other = len(values)
    pairs = paired_codes(owners, codes, n_owners, other + 1)
    found = observed_codes(pairs, n_owners * (other + 1))
    owner, code = np.divmod(found, other + 1)
    unnamed = np.flatnonzero(_are_unnamed(values, config)[code])
    code[unnamed[_ranks(owner[unnamed], n_owners) >= config.max_others]] = other
    chosen = paired_codes(owner, code, n_owners, other + 1)
    kept = observed_codes(chosen, n_owners * (other + 1))
    owner, code = np.divmod(kept, other + 1)
    lengths = np.bincount(owner, minlength=n_owners)
    leaves = mapped(chosen, kept).astype(np.int64)  # as codes of rows are: no second copy
    return lengths, code, mapped(pairs, found, leaves)


class Rest:
    """What stands for all values without a slice of their own; the class itself is the value."""


@attrs.frozen(eq=False, slots=False)
class FlatSlices(FlatTable):
    """The slices of several `Sliced` with one configuration, or the state of one: `Sliced.view`.

    It never changes: rows are counted into new slices, and these are added. Arrays and accumulators
    must not be changed.

    Parameters
    ----------
    inner : Inner
        Their class and options.
    known : list
        The values that may have a slice in any of them, in the order of their hashes.
    lengths : int array, shape (S,)
        How many slices each has. Rows of the values without one are the slice of any other value.
    codes : int array
        The indices of their values, one `Sliced` after the other, each in rising order; for other
        rows, the number of values.
    leaves : FlatLeaves or FlatSlices
        The slices in this order.
    total : accumulator or None
        The accumulator of all rows, if it has been counted.
    """

    NAMES: ClassVar[tuple[str, ...]] = ("values", "lengths", "codes", "others")

    inner: Inner
    known: list[Value]
    lengths: Array
    codes: Array
    leaves: FlatLeaves | FlatSlices
    _total: Any = None

    @classmethod
    def empty(cls, inner: Inner, size: int) -> Self:
        """Hold `Sliced` accumulators without slices."""
        lengths, held = np.zeros(size, dtype=np.int64), inner.options.accumulator
        return cls(inner, [], lengths, lengths[:0], flat_type(held).empty(held, 0))

    @classmethod
    def joined(cls, states: Sequence[Self]) -> FlatSlices:
        """Merge the states of `Sliced` accumulators."""
        every = cls.concatenated([state for state in states if len(state.leaves)] or states[:1])
        return every.summed(np.zeros(len(every), dtype=np.int64), 1)

    def chosen_again(self, config: SlicedConfig) -> Self:
        """Choose the slices of each `Sliced` by other options: the state of counting with these.

        Raises
        ------
        IncompatibleStateError
            If a value that gets a slice may be among the rows that have none.
        """
        before = self.inner.options
        is_fewer = config.named <= before.named and config.max_others <= before.max_others
        if self._are_other.any() and not is_fewer:
            raise IncompatibleStateError(
                "would need the rows of values without a slice, which were counted together",
                argument="values",
                where="cannot continue: ",
            )
        state = attrs.evolve(self, inner=Inner(self.inner.cls, config))
        return attrs.evolve(state.summed(np.arange(len(self)), len(self)), total=self._total)

    def only(self, kept: Container[Value]) -> Self:
        """Merge the slices of other values into that of the rest, in the state of one `Sliced`."""
        others = [code for code, value in enumerate(self.known) if value not in kept]
        chosen = np.where(np.isin(self.codes, others), len(self.known), self.codes)
        codes, leaf_of = np.unique(chosen, return_inverse=True)
        leaves = self.leaves.summed(leaf_of, len(codes)) if others else self.leaves
        return attrs.evolve(self, lengths=np.array([len(codes)]), codes=codes, leaves=leaves)

    @cached_property
    def parts(self) -> dict[Value, Sealed]:
        """The slice of each value with rows; its method `copy` makes the accumulator."""
        codes = self.codes[~self._are_other].tolist()
        return {self.known[code]: Sealed(self.leaves, at) for at, code in enumerate(codes)}

    @property
    def other(self) -> Sealed | None:
        """The rows of values without a slice; None if there are none."""
        return Sealed(self.leaves, len(self.leaves) - 1) if self._are_other.any() else None

    @property
    def every(self) -> dict[Value, Sealed]:
        """The slice of each value with rows, then that of `Rest` if it has any."""
        return self.parts if self.other is None else {**self.parts, Rest: self.other}

    @property
    def values(self) -> tuple[Value, ...]:
        """The values with rows, in the fixed order of their hashes."""
        return tuple(self.parts)

    @property
    def n(self) -> Array:
        """The weight of each value; in a collection, the max over its members."""
        weights = self.leaves.weights(np.arange(len(self.leaves)), len(self.leaves))
        found: Array = np.maximum.reduce([one.to_numbers() for one in weights])
        return found[: len(self.parts)]

    @property
    def fields(self) -> dict[str, Array]:
        """The numbers that every value has, such as its matrix, as arrays (values, ...) by name.

        Fields of a collection are named ``member/field``. Cells and labels, of which values have
        different numbers, are not among them.
        """
        numbers, size = self.leaves.numbers(), len(self.parts)
        return {name: column[:size] for name, column in numbers.items()}

    @property
    def _are_other(self) -> Mask:
        """Which slices have the rows of any other value."""
        return np.asarray(self.codes == len(self.known))

    @property
    def n_items(self) -> int:
        """The number of items of all states, which adding rows has to read."""
        return self.leaves.n_items

    @property
    def nbytes(self) -> int:
        """The memory of the columns."""
        return self.leaves.nbytes

    @classmethod
    def concatenated(cls, parts: Sequence[Self]) -> Self:
        """List the accumulators of several."""
        first = parts[0]
        if len(parts) == 1:
            return first
        values, codes = first.known, [part.codes for part in parts]
        if any(part.known != values for part in parts):
            observed = dict.fromkeys(itertools.chain.from_iterable(part.known for part in parts))
            values = sorted(observed, key=rank_of)
            code_of = {value: code for code, value in enumerate(values)}
            new = [np.array([*map(code_of.get, part.known), len(values)]) for part in parts]
            codes = [table[part.codes] for table, part in zip(new, parts, strict=True)]
        leaves: list[Any] = [part.leaves for part in parts]
        return cls(
            first.inner,
            values,
            np.concatenate([part.lengths for part in parts]),
            np.concatenate(codes),
            type(first.leaves).concatenated(leaves),
        )

    def __len__(self) -> int:
        """Return the number of accumulators."""
        return len(self.lengths)

    @cached_property
    def owners(self) -> Ints:
        """The accumulator of each slice."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def taken(self, indices: Array) -> Self:
        """Copy some accumulators, in the order of the indices."""
        if np.array_equal(indices, np.arange(len(self))):
            return self
        lengths = self.lengths[indices]
        slices = run_indices(np.cumsum(self.lengths)[indices] - lengths, lengths)
        leaves = self.leaves.taken(slices)
        return type(self)(self.inner, self.known, lengths, self.codes[slices], leaves)

    def summed(self, groups: Array, n_groups: int, add: Add | None = None) -> Self:  # noqa: ARG002 - one signature for all
        """Merge the accumulators of each non-empty group.

        The first values of all, in their fixed order, keep a slice; other rows take the rest.
        """
        lengths, codes, target = choose_slices(
            self.inner.options, self.known, groups[self.owners], self.codes, n_groups
        )
        leaves = self.leaves.summed(target, len(codes)) if len(codes) else self.leaves
        return type(self)(self.inner, self.known, lengths, codes, leaves)

    def part(self, index: int) -> Any:
        """Make the accumulator at an index."""
        return self.inner.cls._make(self.inner.options, self.state(index))

    def state(self, index: int) -> Self:
        """Make the state of the accumulator at an index."""
        return attrs.evolve(self.taken(np.array([index])), total=None)

    def states(self, indices: Sequence[int]) -> list[Self]:
        """Make the states of the accumulators at some indices."""
        return [*map(self.state, indices)]

    def weight(self, index: int) -> int | float:
        """Return the weight of an accumulator; of a collection, that of its heaviest member."""
        return max(n[index].to_numbers().item() for n in self._each_weight)

    @cached_property
    def _each_weight(self) -> list[FixedPoint]:
        return self.weights(np.arange(len(self)), len(self))

    @cached_property
    def plain(self) -> FlatLeaves:
        """The accumulators of all rows of each."""
        held, without = self.leaves.plain, np.flatnonzero(self.lengths == 0)
        owners = np.append(self.owners, without)
        blank = FlatLeaves.of(held.inner, [held.inner.empty()] * len(without))
        return FlatLeaves.concatenated([held, blank]).summed(owners, len(self))

    def numbers(self) -> dict[str, Array]:
        """Return the fields whose numbers have one shape in all of them, as arrays by name."""
        return self.plain.numbers()

    def written(self) -> dict[str, Any]:
        """Return the fields that bytes hold, by name."""
        used, codes = np.unique(self.codes[~self._are_other], return_inverse=True)
        values = [codec.canonical_json(self.known[code]) for code in used.tolist()]
        texts = np.array([*values, None], dtype=object)[:-1]
        others = np.bincount(self.owners[self._are_other], minlength=len(self))
        columns = (Column(texts), *map(unsigned_column, (self.lengths - others, codes, others)))
        return dict(zip(self.NAMES, columns, strict=True)) | self.leaves.written()

    @classmethod
    def read(cls, inner: Inner, size: int, fields: Mapping[str, Any]) -> Self:
        """Make and check accumulators from what `written` returned."""
        config: SlicedConfig = inner.options
        texts = fields["values"]
        require(isinstance(texts, Column) and texts.kind == "text", "values")
        values = [_read_text(text, config) for text in texts.values.tolist()]
        ranks = [rank_of(value) for value in values]
        require(all(a < b for a, b in itertools.pairwise(ranks)), "values are out of order")
        lengths, codes, others = (
            read_unsigned(fields[name], name) for name in ("lengths", "codes", "others")
        )
        require(len(lengths) == len(others) == size, "lengths of slices")
        limit = config.max_values
        require(not size or int(lengths.max()) <= limit, f"more than {limit} slices")
        require(not size or int(others.max()) <= 1, "others")
        require(int(lengths.sum(dtype=np.int64)) == len(codes), "codes of slices")
        require(not len(codes) or int(codes.max()) < len(values), "codes of slices")
        uses = np.bincount(codes.astype(np.intp), minlength=len(values))
        require(bool(uses.all()), "a value that no slice is of")
        ends = np.cumsum(lengths, dtype=np.int64)[others == 1]
        codes = np.insert(codes, ends, len(values))
        return cls._checked(inner, values, lengths + others, codes, fields)

    @classmethod
    def _checked(
        cls,
        inner: Inner,
        values: list[Value],
        lengths: Array,
        codes: Array,
        fields: Mapping[str, Any],
    ) -> Self:
        """Read slices; they are in the fixed order, and rows have none only past the limit."""
        held = inner.options.accumulator
        leaves = flat_type(held).read(held, len(codes), fields)
        leaves.check_filled()
        made = cls(inner, values, lengths.astype(np.int64), codes.astype(np.int64), leaves)
        config, owners, is_other = inner.options, made.owners, made._are_other
        rises = (np.diff(made.codes) > 0) | (np.diff(owners) > 0)
        require(bool(rises.all()), "slices are out of order")
        is_unnamed = _are_unnamed(values, config)[made.codes] & ~is_other
        n_others = np.bincount(owners[is_unnamed], minlength=len(made))
        limit = config.max_others
        require(bool((n_others <= limit).all()), f"more than {limit} slices besides the named ones")
        is_full = n_others[owners[is_other]] == limit
        require(bool(is_full.all()), "rows without a slice that may have one")
        return made

    def check_filled(self) -> None:
        """Check that each has slices."""
        require(bool(self.lengths.all()), "a group without rows")

    def weights(self, owners: Array, n_owners: int) -> list[FixedPoint]:
        """Add up the `n` of all that is counted over the accumulators of each owner."""
        return self.leaves.weights(owners[self.owners], n_owners)


@attrs.frozen(eq=False, slots=False)
class FlatGroups(FlatSlices):
    """The groups of clusters of several `Clustered`, or the state of one: slices by number."""

    NAMES = ("group_lengths", "groups")

    @classmethod
    def empty(cls, inner: Inner, size: int) -> Self:
        """Hold `Clustered` accumulators without rows."""
        return attrs.evolve(super().empty(inner, size), known=inner.options.values)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the fields that bytes hold, as results of clusters do."""
        return type(self).read, (self.inner, len(self), self.written())

    @property
    def n_groups(self) -> int:
        """How many groups have rows that count: not only ignored or skipped ones."""
        leaves: Any = self.leaves
        counted = ([state.has_counted for state in _states_of(flat)] for flat in leaves.columns)
        return sum(map(any, zip(*counted, strict=True)))

    def each(self, member: int) -> list[tuple[int, Any]]:
        """List the groups with rows, and make the accumulator of one member in each."""
        leaves: Any = self.leaves
        flat, held = leaves.columns[member], leaves.inner.members[member]
        made = (held.cls._make(held.options, state) for state in _states_of(flat))
        return [*zip(self.codes.tolist(), made, strict=True)]

    def left_out(self, member: int) -> list[Any]:
        """Make the accumulators of one member without each of the groups where it has counted.

        Each is the sum of the groups before and of those after, so nothing is subtracted, and the
        cost is three merges a group.
        """
        every = [one for _, one in self.each(member) if one._state.has_counted]
        if len(every) == 1 or not every:
            return []
        empty = every[0].copy().reset()
        before = itertools.accumulate(every[:-1], _both, initial=empty)
        after = [*itertools.accumulate(reversed(every[1:]), _both, initial=empty)]
        return [*map(_both, before, reversed(after))]

    def written(self) -> dict[str, Any]:
        """Return the fields that bytes hold, by name."""
        columns = map(unsigned_column, (self.lengths, self.codes))
        return dict(zip(self.NAMES, columns, strict=True)) | self.leaves.written()

    @classmethod
    def read(cls, inner: Inner, size: int, fields: Mapping[str, Any]) -> Self:
        """Make and check accumulators from what `written` returned."""
        lengths, codes = (read_unsigned(fields[name], name) for name in cls.NAMES)
        values = inner.options.values
        require(len(lengths) == size, "lengths of groups")
        require(not size or int(lengths.max()) <= len(values), "more groups than there are")
        require(int(lengths.sum(dtype=np.int64)) == len(codes), "groups")
        require(not len(codes) or int(codes.max()) < len(values), "groups")
        return cls._checked(inner, values, lengths, codes, fields)

    def encode(self) -> bytes:
        """Write the groups within the states of a collection; equal ones give equal bytes."""
        return codec.encode_block(self.written())


def _flat_of(member: Member, states: Sequence[Any]) -> FlatStates | FlatGroups:
    """Hold the states of a member."""
    state_type = member.cls._state_type(member.options)
    if state_type is not FlatGroups:
        return FlatStates.of(member.options, states, state_type)
    return FlatGroups.concatenated(
        [FlatGroups.empty(Inner(member.cls, member.options), 0), *states]
    )


def _flat_read(member: Member, size: int, data: bytes | memoryview) -> FlatStates | FlatGroups:
    """Read and check the states of a member."""
    state_type = member.cls._state_type(member.options)
    if state_type is FlatGroups:
        inner = Inner(member.cls, member.options)
        return FlatGroups.read(inner, size, codec.decode_block(FlatGroups.names(inner), data))
    errors = member.cls._definition.errors
    flat = FlatStates.decode(state_type, member.options, data, errors)
    require(len(flat) == size, f"{len(flat)} states instead of {size}")
    return flat


def _both(one: Any, other: Any) -> Any:
    return merged([one, other])


def flat_type(inner: Inner) -> Any:
    """Return the class of the columns that hold accumulators of some options."""
    if isinstance(inner.options, SlicedConfig):
        return FlatSlices
    return FlatGroups if isinstance(inner.options, ClusteredConfig) else FlatLeaves


def _addition(member: Any) -> Add:
    """Return what adds up states of a member by its accumulators."""

    def add(states: Sequence[Any]) -> Any:
        alike = [member.cls._make(member.options, state) for state in states]
        while len(alike) > 1:  # one by one would take quadratic time
            alike = [merged(alike[at : at + _AT_ONCE]) for at in range(0, len(alike), _AT_ONCE)]
        return alike[0]._state

    return add


def _leaves_traces(member: Any) -> bool:
    """Tell whether every row of any weight changes the state of a member."""
    definition = member.cls._definition
    return not definition.is_open and getattr(member.options, "ignore_label", None) is None


def _states_of(flat: FlatStates) -> Sequence[State]:
    return flat.states(range(len(flat))) if len(flat) else []


def _ranks(groups: Array, n_groups: int) -> Ints:
    """Return the position of each item in its group; groups are in order."""
    sizes = np.bincount(groups, minlength=n_groups)
    return np.arange(len(groups)) - (np.cumsum(sizes) - sizes)[groups]


def _read_text(text: str, config: SlicedConfig) -> Value:
    read = read_value(read_json(text, "a value"), config.column, name="values")
    require(codec.canonical_json(read) == text, "a value is not in canonical form")
    return read


def read_unsigned(column: Any, name: str) -> Array:
    """Check that a field is such a column, and return its numbers."""
    require(isinstance(column, Column) and column.values.dtype.kind == "u", name)
    values: Array = column.values.astype(np.uint64, copy=False)
    return values


def unsigned_column(numbers: Array) -> Column:
    """Make a column of numbers that are not negative."""
    return Column(numbers.astype(np.uint64))


def _are_unnamed(values: Sequence[Value], config: SlicedConfig) -> Mask:
    """Return which values have no name; any other value, which comes last, has none."""
    return np.array([*(value not in config.named for value in values), True])
