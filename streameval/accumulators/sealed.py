"""Accumulators of many groups as flat columns: in memory, and in bytes."""

from __future__ import annotations

import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
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
from streameval.errors import CorruptStateError, IncompatibleStateError, require
from streameval.exact.array_types import Array, Ints
from streameval.exact.fixed_point import FixedPoint
from streameval.inputs.values import Value, rank_of
from streameval.states import codec
from streameval.states.column import Column
from streameval.states.flat import Add, FlatStates
from streameval.states.runs import mapped, observed_codes, paired_codes, run_indices
from streameval.states.state import State, as_corrupt

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
        if isinstance(some[0], Sealed):
            yield from some[0].columns.in_turn([one.index for one in some])
        else:
            yield some


def encode_inner(inner: Inner) -> codec.Nested:
    """Encode an inner accumulator, as one that has counted nothing."""
    return codec.Nested((inner.empty().to_bytes(),))


def decode_inner(nested: Any, version: int, outer: Iterable[type[Any]]) -> Inner:
    """Read what `encode_inner` wrote.

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
    columns = {id(part.columns): part.columns for part in parts}
    positions: dict[int, list[int]] = {key: [] for key in columns}
    for position, part in enumerate(parts):
        positions[id(part.columns)].append(position)
    held = [
        columns[key].taken(np.array([parts[position].index for position in own]))
        for key, own in positions.items()
    ]
    flat = held[0].concatenated(held)
    order = np.concatenate([*positions.values()])
    return flat if len(columns) == 1 else flat.taken(np.argsort(order))


def merged_all(inner: Inner, groups: Sequence[Sequence[Sealed]]) -> list[Sealed]:
    """Merge each group of one or more accumulators; all groups at once."""
    several = [parts for parts in groups if len(parts) > 1]
    flat = gathered(inner, [part for parts in several for part in parts])
    numbers = np.repeat(np.arange(len(several)), [len(parts) for parts in several])
    columns = flat.summed(numbers, len(several)) if several else flat
    sums = iter([Sealed(columns, index) for index in range(len(several))])
    return [next(sums) if len(parts) > 1 else parts[0] for parts in groups]


class FlatTable(ABC):
    """Groups of one configuration in columns; equal tables are the same bytes."""

    __slots__ = ()

    @abstractmethod
    def fields(self) -> dict[str, Any]:
        """Return the fields that bytes hold, by name."""

    def __eq__(self, other: object) -> bool:
        """Return whether the bytes are equal."""
        return isinstance(other, FlatTable) and self.fields() == other.fields()

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
        if not len(self):
            return self.inner.empty()
        return self.summed(np.zeros(len(self), dtype=np.int64), 1).part(0)

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

    @staticmethod
    def names(inner: Inner) -> list[str]:  # noqa: ARG004 - one signature for all
        """List the names of `fields`, in their order."""
        return ["leaves"]

    def fields(self) -> dict[str, Any]:
        """Return the fields that bytes hold, by name."""
        return {"leaves": codec.Nested(tuple(flat.encode() for flat in self.columns))}

    @classmethod
    def read(cls, inner: Inner, size: int, fields: Mapping[str, Any]) -> Self:
        """Make and check accumulators from their `fields`."""
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

    def checked_total(self) -> Any:
        """Merge all accumulators that were read, which no rows have made if that is refused."""
        errors = tuple(error for one in self.inner.counted for error in one.cls._definition.errors)
        try:
            return self.all_rows()
        except errors as error:
            raise as_corrupt(error) from error

    def weights(self, owners: Array, n_owners: int) -> list[FixedPoint]:
        """Add up the `n` of all that is counted over the accumulators of each owner."""
        weights = (flat.weights(owners, n_owners) for flat in self.columns)
        return [*itertools.chain.from_iterable(weights)]


def choose_slices(
    config: SlicedConfig,
    values: Sequence[Value],
    owners: Array,
    codes: Array,
    with_others: Array,
    n_owners: int,
) -> tuple[tuple[Array, Array, Array], int, Array, Array]:
    """Choose the values that have a slice in each of several `Sliced`; find the leaf of each item.

    The first values of each owner keep a slice; the others share its last leaf.

    Parameters
    ----------
    config : SlicedConfig
    values : sequence
        In the order of their hashes.
    owners, codes : int arrays, shape (n,)
        The index of the `Sliced`, and of the value, of each item.
    with_others : int array
        The `Sliced` that have other rows already.
    n_owners : int

    Returns
    -------
    columns : tuple of int arrays
        The `lengths`, `codes` and `others` of `FlatSlices`.
    n_leaves : int
        How many leaves they have.
    items : int array, shape (n,)
        The leaf of each item.
    of_others : int array
        The leaf of the other rows of each `Sliced` in `with_others`.
    """
    n_values = max(1, len(values))
    pairs = paired_codes(owners, codes, n_owners, n_values)
    found = observed_codes(pairs, n_owners * n_values)
    owner, code = np.divmod(found, n_values)
    is_named = np.array([value in config.named for value in values], dtype=bool)
    is_kept = np.zeros(len(found), dtype=bool) if not len(found) else is_named[code]
    unnamed = np.flatnonzero(~is_kept)
    is_kept[unnamed[_ranks(owner[unnamed], n_owners) < config.max_others]] = True
    lengths = np.bincount(owner[is_kept], minlength=n_owners)
    others = np.zeros(n_owners, dtype=np.int64)
    others[owner[~is_kept]] = others[with_others] = 1
    ends = np.cumsum(lengths + others)
    leaf = ends[owner] - 1
    kept = owner[is_kept]
    leaf[is_kept] = (ends - others - lengths)[kept] + _ranks(kept, n_owners)
    columns = (
        lengths.astype(np.uint64),
        code[is_kept].astype(np.uint64),
        others.astype(np.uint64),
    )
    items = mapped(pairs, found, leaf) if len(pairs) else leaf
    return columns, int(lengths.sum() + others.sum()), items, ends[with_others] - 1


@attrs.frozen(eq=False, slots=False)
class FlatSlices(FlatTable):
    """The slices of several `Sliced` with one configuration, or the state of one.

    It never changes: rows are counted into new slices, and these are added.

    Parameters
    ----------
    inner : Inner
        Their class and options.
    values : list
        The values that may have a slice in any of them, in the order of their hashes.
    lengths : int array, shape (S,)
        How many values have a slice in each.
    codes : int array
        The indices of their values, one `Sliced` after the other, each in rising order.
    others : int array, shape (S,)
        1 for a `Sliced` with rows outside its slices.
    leaves : FlatLeaves or FlatSlices
        The slices in this order, each `Sliced` ending with its other rows.
    total : accumulator or None
        The accumulator of all rows, if it is known.
    """

    NAMES: ClassVar[tuple[str, ...]] = ("values", "lengths", "codes", "others")
    """The names of its own `fields`."""

    inner: Inner
    values: list[Value]
    lengths: Array
    codes: Array
    others: Array
    leaves: FlatLeaves | FlatSlices
    total: Any = None

    @classmethod
    def empty(cls, inner: Inner, size: int) -> Self:
        """Hold `Sliced` accumulators without slices."""
        nothing, zeros = np.zeros(0, dtype=np.uint64), np.zeros(size, dtype=np.uint64)
        held = inner.options.accumulator
        return cls(inner, [], zeros, nothing, zeros, flat_type(held).empty(held, 0))

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
        if self.others.any() and not is_fewer:
            raise IncompatibleStateError(
                "would need the rows of values without a slice, which were counted together",
                argument="values",
                where="cannot continue: ",
            )
        state = attrs.evolve(self, inner=Inner(self.inner.cls, config))
        return state.summed(np.arange(len(self)), len(self))

    @cached_property
    def parts(self) -> dict[Value, Sealed]:
        """The slice of each value of the one `Sliced` that this is the state of."""
        keys = [self.values[code] for code in self.codes.tolist()]
        return {value: Sealed(self.leaves, at) for at, value in enumerate(keys)}

    @property
    def other(self) -> Sealed | None:
        """The rows outside the slices of the one `Sliced` that this is the state of."""
        return Sealed(self.leaves, len(self.leaves) - 1) if self.others[0] else None

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
        values, codes = first.values, [part.codes for part in parts]
        if any(part.values != values for part in parts):
            observed = dict.fromkeys(itertools.chain.from_iterable(part.values for part in parts))
            values = sorted(observed, key=rank_of)
            code_of = {value: code for code, value in enumerate(values)}
            new = [np.array([*map(code_of.get, part.values)], dtype=np.uint64) for part in parts]
            codes = [table[part.codes] for table, part in zip(new, parts, strict=True)]
        leaves: list[Any] = [part.leaves for part in parts]
        return cls(
            first.inner,
            values,
            np.concatenate([part.lengths for part in parts]),
            np.concatenate(codes),
            np.concatenate([part.others for part in parts]),
            type(first.leaves).concatenated(leaves),
        )

    def __len__(self) -> int:
        """Return the number of accumulators."""
        return len(self.lengths)

    @cached_property
    def edges(self) -> tuple[Ints, Ints]:
        """Where the codes, and the leaves, of each accumulator begin, and where the last end."""
        sizes = self.lengths.astype(np.int64)
        with_others = sizes + self.others.astype(np.int64)
        return np.append(0, np.cumsum(sizes)), np.append(0, np.cumsum(with_others))

    def taken(self, indices: Array) -> Self:
        """Copy some accumulators, in the order of the indices."""
        if np.array_equal(indices, np.arange(len(self))):
            return self
        chosen = [
            run_indices(edges[indices], edges[1:][indices] - edges[indices]) for edges in self.edges
        ]
        return type(self)(
            self.inner,
            self.values,
            self.lengths[indices],
            self.codes[chosen[0]],
            self.others[indices],
            self.leaves.taken(chosen[1]),
        )

    def summed(self, groups: Array, n_groups: int, add: Add | None = None) -> Self:  # noqa: ARG002 - one signature for all
        """Merge the accumulators of each non-empty group.

        The first values of all, in their fixed order, keep a slice; other rows take the rest.
        """
        lengths = self.lengths.astype(np.int64)
        columns, n_leaves, of_slices, of_others = choose_slices(
            *(self.inner.options, self.values, np.repeat(groups, lengths)),
            *(self.codes.astype(np.int64), groups[self.others == 1], n_groups),
        )
        target = np.empty(len(self.leaves), dtype=np.int64)
        is_other = np.zeros(len(target), dtype=bool)
        is_other[self.edges[1][1:][self.others == 1] - 1] = True
        target[~is_other], target[is_other] = of_slices, of_others
        leaves = self.leaves
        if len(target):
            leaves = leaves.summed(target, n_leaves)
        return type(self)(self.inner, self.values, *columns, leaves)

    def all_rows(self) -> Any:
        """Merge all accumulators into a new one, whatever their values."""
        return self.leaves.all_rows()

    def part(self, index: int) -> Any:
        """Make the accumulator at an index."""
        return self.inner.cls._make(self.inner.options, self.state(index))

    def state(self, index: int) -> Self:
        """Make the state of the accumulator at an index."""
        return attrs.evolve(self.taken(np.array([index])), total=None)

    def states(self, indices: Sequence[int]) -> list[Self]:
        """Make the states of the accumulators at some indices."""
        return [*map(self.state, indices)]

    def in_turn(self, indices: Sequence[int]) -> Iterator[list[Any]]:
        """Yield the accumulators at some indices, one by one."""
        return ([self.part(index)] for index in indices)

    def weight(self, index: int) -> int | float:
        """Return the weight of an accumulator; of a collection, that of its heaviest member."""
        return max(n[index].to_numbers().item() for n in self._each_weight)

    @cached_property
    def _each_weight(self) -> list[FixedPoint]:
        return self.weights(np.arange(len(self)), len(self))

    @cached_property
    def plain(self) -> FlatLeaves:
        """The accumulators of all rows of each."""
        sizes, held = np.diff(self.edges[1]), self.leaves.plain
        without = np.flatnonzero(sizes == 0)
        owners = np.append(np.repeat(np.arange(len(self)), sizes), without)
        blank = FlatLeaves.of(held.inner, [held.inner.empty()] * len(without))
        return FlatLeaves.concatenated([held, blank]).summed(owners, len(self))

    def numbers(self) -> dict[str, Array]:
        """Return the fields whose numbers have one shape in all of them, as arrays by name."""
        return self.plain.numbers()

    @classmethod
    def names(cls, inner: Inner) -> list[str]:
        """List the names of `fields`, in their order."""
        held = inner.options.accumulator
        return [*cls.NAMES, *flat_type(held).names(held)]

    def fields(self) -> dict[str, Any]:
        """Return the fields that bytes hold, by name."""
        used, codes = np.unique(self.codes, return_inverse=True)
        values = [codec.canonical_json(self.values[code]) for code in used.tolist()]
        texts = np.array([*values, None], dtype=object)[:-1]
        numbers = (self.lengths, codes.astype(np.uint64), self.others)
        columns = (Column(texts), *map(Column, numbers))
        return dict(zip(self.NAMES, columns, strict=True)) | self.leaves.fields()

    @classmethod
    def read(cls, inner: Inner, size: int, fields: Mapping[str, Any]) -> Self:
        """Make and check accumulators from their `fields`."""
        config: SlicedConfig = inner.options
        texts = fields["values"]
        require(isinstance(texts, Column) and texts.kind == "text", "values")
        values = [_read_text(text, config) for text in texts.values.tolist()]
        ranks = [rank_of(value) for value in values]
        require(all(a < b for a, b in itertools.pairwise(ranks)), "values are out of order")
        lengths, codes, others = (
            _unsigned(fields[name], name) for name in ("lengths", "codes", "others")
        )
        require(len(lengths) == len(others) == size, "lengths of slices")
        limit = config.max_values
        require(not size or int(lengths.max()) <= limit, f"more than {limit} slices")
        require(not size or int(others.max()) <= 1, "others")
        require(int(lengths.sum(dtype=np.int64)) == len(codes), "codes of slices")
        require(not len(codes) or int(codes.max()) < len(values), "codes of slices")
        uses = np.bincount(codes.astype(np.intp), minlength=len(values))
        require(bool(uses.all()), "a value that no slice is of")
        return cls._checked(inner, values, lengths, codes, others, fields)

    @classmethod
    def _checked(
        cls,
        inner: Inner,
        values: list[Value],
        lengths: Array,
        codes: Array,
        others: Array,
        fields: Mapping[str, Any],
    ) -> Self:
        """Check which values have a slice, and read the slices."""
        config = inner.options
        _check_kept(values, lengths, codes, others, config)
        held = config.accumulator
        leaves = flat_type(held).read(held, len(codes) + int(others.sum()), fields)
        leaves.check_filled()
        return cls(inner, values, lengths, codes, others, leaves)

    def check_filled(self) -> None:
        """Check that each has slices."""
        require(bool(np.diff(self.edges[1]).all()), "a group without rows")

    def checked_total(self) -> Any:
        """Merge all accumulators that were read, which no rows have made if that is refused."""
        return self.leaves.checked_total()

    def weights(self, owners: Array, n_owners: int) -> list[FixedPoint]:
        """Add up the `n` of all that is counted over the accumulators of each owner."""
        return self.leaves.weights(np.repeat(owners, np.diff(self.edges[1])), n_owners)


@attrs.frozen(eq=False, slots=False)
class FlatGroups(FlatSlices):
    """The groups of clusters of several `Clustered`, or the state of one: slices by number."""

    NAMES = ("group_lengths", "groups")

    @classmethod
    def empty(cls, inner: Inner, size: int) -> Self:
        """Hold `Clustered` accumulators without rows."""
        return attrs.evolve(super().empty(inner, size), values=inner.options.values)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the fields that bytes hold, as results of clusters do."""
        return type(self).read, (self.inner, len(self), self.fields())

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

    def fields(self) -> dict[str, Any]:
        """Return the fields that bytes hold, by name."""
        columns = map(Column, (self.lengths, self.codes))
        return dict(zip(self.NAMES, columns, strict=True)) | self.leaves.fields()

    @classmethod
    def read(cls, inner: Inner, size: int, fields: Mapping[str, Any]) -> Self:
        """Make and check accumulators from their `fields`."""
        lengths, codes = (_unsigned(fields[name], name) for name in cls.NAMES)
        values = inner.options.values
        require(len(lengths) == size, "lengths of groups")
        require(not size or int(lengths.max()) <= len(values), "more groups than there are")
        require(int(lengths.sum(dtype=np.int64)) == len(codes), "groups")
        require(not len(codes) or int(codes.max()) < len(values), "groups")
        return cls._checked(inner, values, lengths, codes, np.zeros_like(lengths), fields)

    def encode(self) -> bytes:
        """Write the groups within the states of a collection; equal ones give equal bytes."""
        return codec.encode_block(self.fields())


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
    try:
        value = codec.from_json(json.loads(text))
    except (ValueError, RecursionError):
        raise CorruptStateError("state is corrupt: a value is not JSON.") from None
    read = read_value(value, config.column, name="values")
    require(codec.canonical_json(read) == text, "a value is not in canonical form")
    return read


def _unsigned(column: Any, name: str) -> Array:
    require(isinstance(column, Column) and column.values.dtype.kind == "u", name)
    values: Array = column.values.astype(np.uint64, copy=False)
    return values


def _check_kept(
    values: list[Value], lengths: Array, codes: Array, others: Array, config: SlicedConfig
) -> None:
    """Check that slices are in the fixed order, and that `other` exists only past the limit."""
    numbers = codes.astype(np.int64)
    ends = np.cumsum(lengths.astype(np.int64))
    rises = np.diff(numbers) > 0
    is_end = np.zeros(len(numbers), dtype=bool)
    is_end[ends[ends > 0] - 1] = True
    require(bool((rises | is_end[:-1]).all()), "slices are out of order")
    unnamed = np.array([value not in config.named for value in values], dtype=np.int64)
    before = np.append(0, np.cumsum(unnamed[numbers]))
    n_others = before[ends] - before[ends - lengths.astype(np.int64)]
    limit = config.max_others
    require(bool((n_others <= limit).all()), f"more than {limit} slices besides the named ones")
    require(bool((n_others[others == 1] == limit).all()), "rows without a slice that may have one")
