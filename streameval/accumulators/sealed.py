"""Accumulators of many groups as flat columns: in memory, and in bytes."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from types import NoneType
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt

from streameval.accumulators.base import merged
from streameval.accumulators.classes import single_class
from streameval.accumulators.collection import Collection
from streameval.accumulators.members import Members
from streameval.configs.inner import Inner
from streameval.configs.sliced import SlicedConfig, read_value
from streameval.errors import CorruptStateError, require
from streameval.exact.fixed_point import FixedPoint
from streameval.inputs.values import Value, rank_of
from streameval.states import codec
from streameval.states.column import Column
from streameval.states.flat import Add, FlatStates
from streameval.states.runs import run_indices
from streameval.states.sealed import Sealed, detached
from streameval.states.slices import Slices
from streameval.states.state import State, as_corrupt

__all__ = [
    "FlatLeaves",
    "FlatSlices",
    "Layout",
    "decode_inner",
    "encode_inner",
    "gathered",
    "merged_all",
    "sealed_all",
    "total_of",
]

Indices = npt.NDArray[Any]

_AT_ONCE = 8  # accumulators in one merge
_ITEMS = 2**20  # of the accumulators that are made at once


def encode_inner(inner: Inner) -> codec.Nested:
    """Encode an inner accumulator, as one that has counted nothing."""
    return codec.Nested((inner.empty().to_bytes(),))


def decode_inner(nested: Any, version: int, outer: Mapping[int, type[Any]]) -> Inner:
    """Read what `encode_inner` wrote.

    Parameters
    ----------
    nested : Nested
    version : int
        The version of the bytes around it.
    outer : mapping from type id to class
        Other classes it may have besides single accumulators, so that nesting ends.
    """
    require(isinstance(nested, codec.Nested) and len(nested.items) == 1, "accumulator")
    parts = codec.split(nested.items[0])
    require(parts.version == version, "an accumulator of another version")
    cls = outer.get(parts.type_id) or single_class(parts)
    empty = cls._decode(parts)
    inner = Inner(cls, empty._config)
    require(empty == inner.empty(), "an accumulator of groups that has counted something")
    return inner


def gathered(inner: Inner, parts: Sequence[Any]) -> Any:
    """Store accumulators as flat columns in their order, whether live or sealed."""
    flat_type: Any = FlatLeaves if inner is inner.leaf else FlatSlices
    indices: dict[int, list[int]] = {}
    blocks: dict[int, Any] = {}
    positions: dict[int, list[int]] = {}
    live: list[Any] = []
    for position, part in enumerate(parts):
        columns = part.columns if isinstance(part, Sealed) else None
        blocks.setdefault(id(columns), columns)
        positions.setdefault(id(columns), []).append(position)
        if columns is None:
            live.append(part)
        else:
            indices.setdefault(id(columns), []).append(part.index)
    if not blocks:
        return flat_type.of(inner, [])
    held = [
        flat_type.of(inner, live) if block is None else block.taken(np.array(indices[key]))
        for key, block in blocks.items()
    ]
    order = np.concatenate([positions[key] for key in blocks])
    flat = flat_type.concatenated(held)
    return flat if len(blocks) == 1 else flat.taken(np.argsort(order))


def merged_all(inner: Inner, groups: Sequence[Sequence[Any]]) -> list[Any]:
    """Merge each group of accumulators; all groups at once, and sealed, if one has a sealed part.

    An accumulator alone in its group is copied.
    """
    made = [detached(parts[0]) if len(parts) == 1 else None for parts in groups]
    several = [at for at, parts in enumerate(groups) if len(parts) > 1]
    chosen = [groups[at] for at in several]
    if any(isinstance(part, Sealed) for parts in chosen for part in parts):
        flat = gathered(inner, [part for parts in chosen for part in parts])
        numbers = np.repeat(np.arange(len(chosen)), [len(parts) for parts in chosen])
        columns = flat.summed(numbers, len(chosen))
        sums: list[Any] = [Sealed(columns, index) for index in range(len(chosen))]
    else:
        sums = [merged(parts) for parts in chosen]
    for at, total in zip(several, sums, strict=True):
        made[at] = total
    return made


def sealed_all(inner: Inner, parts: Sequence[Any]) -> list[Any]:
    """Seal the live ones among accumulators; None stays what it is."""
    chosen = [part for part in parts if not isinstance(part, (Sealed, NoneType))]
    columns = gathered(inner, chosen)
    made = (Sealed(columns, index) for index in range(len(chosen)))
    return [part if isinstance(part, (Sealed, NoneType)) else next(made) for part in parts]


def total_of(inner: Inner, parts: Sequence[Any]) -> Any:
    """Merge accumulators, live or sealed, into a new one of all their rows, without groups."""
    held = [part for part in parts if isinstance(part, Sealed)]
    totals = [gathered(inner, held).total() if held else inner.leaf.empty()]
    others = [part for part in parts if not isinstance(part, Sealed)]
    if inner is not inner.leaf:
        others = [part._all_rows(part._held) for part in others]
    return merged([*totals, *others])


@attrs.frozen(eq=False)
class FlatLeaves:
    """Single accumulators, or collections, with one configuration.

    Parameters
    ----------
    inner : Inner
        Their class and options.
    columns : tuple of FlatStates
        The states of each member.
    """

    inner: Inner
    columns: tuple[FlatStates, ...]

    @classmethod
    def of(cls, inner: Inner, accumulators: Sequence[Any]) -> Self:
        """Hold accumulators, in their order."""
        members = inner.members
        if inner.cls is Collection:
            held = [one._held.accumulators for one in accumulators]
            columns = [[parts[at]._state for parts in held] for at in range(len(members))]
        else:
            columns = [[one._state for one in accumulators]]
        flat = (
            FlatStates.of(member.options, states, member.cls._state_type(member.options))
            for member, states in zip(members, columns, strict=True)
        )
        return cls(inner, tuple(flat))

    @classmethod
    def concatenated(cls, parts: Sequence[Self]) -> Self:
        """List the accumulators of several."""
        columns = zip(*(part.columns for part in parts), strict=True)
        return cls(parts[0].inner, tuple(map(FlatStates.concatenated, columns)))

    def __len__(self) -> int:
        """Return the number of accumulators."""
        return len(self.columns[0])

    def taken(self, indices: Indices) -> Self:
        """Copy some accumulators, in the order of the indices."""
        if np.array_equal(indices, np.arange(len(self))):
            return self
        return type(self)(self.inner, tuple(flat.taken(indices) for flat in self.columns))

    def summed(self, groups: Indices, n_groups: int) -> Self:
        """Merge the accumulators of each group, of which none is empty."""
        columns = (
            flat.summed(groups, n_groups, _addition(member))
            for member, flat in zip(self.inner.members, self.columns, strict=True)
        )
        return type(self)(self.inner, tuple(columns))

    def total(self) -> Any:
        """Merge all accumulators into a new one."""
        if not len(self):
            return self.inner.empty()
        return self.summed(np.zeros(len(self), dtype=np.int64), 1).part(0)

    def part(self, index: int) -> Any:
        """Make the accumulator at an index."""
        return self._made([flat.state(index) for flat in self.columns])

    @property
    def n_at_once(self) -> int:
        """How many accumulators may be made at once: fewer if they are large."""
        return max(1, min(flat.n_states_of(_ITEMS) for flat in self.columns))

    def parts(self, indices: Sequence[int]) -> list[Any]:
        """Make the accumulators at some indices, which must not change: they share memory."""
        states = [flat.states(indices) for flat in self.columns]
        return [*map(self._made, zip(*states, strict=True))]

    def _made(self, states: Iterable[State]) -> Any:
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
        return max(flat.total(index).to_numbers().item() for flat in self.columns)

    @staticmethod
    def names(inner: Inner) -> list[str]:  # noqa: ARG004 - one signature for both
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
        columns = []
        for member, data in zip(members, nested.items, strict=True):
            options = member.options
            errors = member.cls._definition.errors
            flat = FlatStates.decode(member.cls._state_type(options), options, data, errors)
            require(len(flat) == size, f"{len(flat)} states instead of {size}")
            columns.append(flat)
        read = cls(inner, tuple(columns))
        read._check_traces()
        return read

    def _check_traces(self) -> None:
        """Check that each has counted something, if no row can be left out."""
        if not all(map(_leaves_traces, self.inner.members)):
            return
        is_empty = np.ones(len(self), dtype=bool)
        for flat in self.columns:
            is_empty &= ~flat.totals().is_positive()
        for index in np.flatnonzero(is_empty).tolist():
            has_counted = any(
                flat.state(index) != flat.state_type.zero(flat.config) for flat in self.columns
            )
            require(has_counted, "a group without rows")

    def checked_total(self) -> Any:
        """Merge all accumulators that were read, which no rows have made if that is refused."""
        errors = tuple(error for one in self.inner.members for error in one.cls._definition.errors)
        try:
            return self.total()
        except errors as error:
            raise as_corrupt(error) from error

    def weights(self, owners: Indices, n_owners: int) -> list[FixedPoint]:
        """Add up the `n` of each member over the accumulators of each owner."""
        return [flat.totals().scatter(owners, n_owners) for flat in self.columns]


@attrs.frozen(eq=False)
class Layout:
    """Which values have a slice in each of several `Sliced`, as columns of `FlatSlices`."""

    lengths: npt.NDArray[Any]
    codes: npt.NDArray[Any]
    others: npt.NDArray[Any]

    @classmethod
    def of(
        cls,
        config: SlicedConfig,
        values: Sequence[Value],
        owners: Indices,
        codes: Indices,
        with_others: Indices,
        n_owners: int,
    ) -> tuple[Self, Indices, Indices]:
        """Choose the values that have a slice, and find the leaf of each item.

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
        layout : Layout
        leaves : int array, shape (n,)
            The leaf of each item.
        others : int array
            The leaf of the other rows of each `Sliced` in `with_others`.
        """
        n_values = max(1, len(values))
        found, item = np.unique(owners * n_values + codes, return_inverse=True)
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
        columns = (column.astype(np.uint64) for column in (lengths, code[is_kept], others))
        return cls(*columns), leaf[item], ends[with_others] - 1

    def flat(self, inner: Inner, values: list[Value], leaves: FlatLeaves) -> FlatSlices:
        """Hold the slices whose accumulators are the leaves."""
        return FlatSlices(inner, values, self.lengths, self.codes, self.others, leaves)

    @property
    def size(self) -> int:
        """The number of leaves."""
        return int(self.lengths.sum() + self.others.sum())


@attrs.frozen(eq=False)
class FlatSlices:
    """The slices of several `Sliced` with one configuration.

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
    leaves : FlatLeaves
        The slices in this order, each `Sliced` ending with its other rows.
    """

    inner: Inner
    values: list[Value]
    lengths: npt.NDArray[Any]
    codes: npt.NDArray[Any]
    others: npt.NDArray[Any]
    leaves: FlatLeaves
    _edges: list[npt.NDArray[np.int64]] = attrs.field(factory=list, init=False)

    @classmethod
    def of(cls, inner: Inner, accumulators: Sequence[Any]) -> Self:
        """Hold `Sliced` accumulators in their order, pending rows counted."""
        return cls.of_slices(inner, [one._everything(one._held) for one in accumulators])

    @classmethod
    def of_slices(cls, inner: Inner, states: Sequence[Slices]) -> Self:
        """Hold the slices of several."""
        observed = dict.fromkeys(itertools.chain.from_iterable(state.parts for state in states))
        values = sorted(observed, key=rank_of)
        code_of = {value: code for code, value in enumerate(values)}
        leaves: list[Any] = []
        codes: list[int] = []
        for state in states:
            own = sorted(code_of[value] for value in state.parts)
            codes += own
            leaves += [state.parts[values[code]] for code in own]
            leaves += [] if state.other is None else [state.other]
        return cls(
            inner,
            values,
            np.array([len(state.parts) for state in states], dtype=np.uint64),
            np.array(codes, dtype=np.uint64),
            np.array([state.other is not None for state in states], dtype=np.uint64),
            gathered(inner.options.accumulator, leaves),
        )

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
            codes = [_recoded(part.codes, part.values, code_of) for part in parts]
        return cls(
            first.inner,
            values,
            np.concatenate([part.lengths for part in parts]),
            np.concatenate(codes),
            np.concatenate([part.others for part in parts]),
            FlatLeaves.concatenated([part.leaves for part in parts]),
        )

    def __len__(self) -> int:
        """Return the number of accumulators."""
        return len(self.lengths)

    @property
    def edges(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Where the codes, and the leaves, of each accumulator begin, and where the last end."""
        if not self._edges:
            sizes = self.lengths.astype(np.int64)
            with_others = sizes + self.others.astype(np.int64)
            self._edges[:] = [np.append(0, np.cumsum(one)) for one in (sizes, with_others)]
        of_codes, of_leaves = self._edges
        return of_codes, of_leaves

    def taken(self, indices: Indices) -> Self:
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

    def summed(self, groups: Indices, n_groups: int) -> FlatSlices:
        """Merge the accumulators of each non-empty group.

        The first values of all, in their fixed order, keep a slice; other rows take the rest.
        """
        lengths = self.lengths.astype(np.int64)
        layout, of_slices, of_others = Layout.of(
            *(self.inner.options, self.values, np.repeat(groups, lengths)),
            *(self.codes.astype(np.int64), groups[self.others == 1], n_groups),
        )
        target = np.empty(len(self.leaves), dtype=np.int64)
        is_other = np.zeros(len(target), dtype=bool)
        is_other[self.edges[1][1:][self.others == 1] - 1] = True
        target[~is_other], target[is_other] = of_slices, of_others
        leaves = self.leaves
        if len(target):
            leaves = leaves.summed(target, layout.size)
        return layout.flat(self.inner, self.values, leaves)

    def total(self) -> Any:
        """Merge all accumulators into a new one, whatever their values."""
        return self.leaves.total()

    def part(self, index: int) -> Any:
        """Make the accumulator at an index; its slices are made when they are read."""
        return self.inner.cls._make(self.inner.options, self.slices(index))

    def slices(self, index: int) -> Slices:
        """Make the slices of the accumulator at an index, sealed ones."""
        of_codes, of_leaves = self.edges
        first, end = of_codes[index : index + 2].tolist()
        leaf, after = of_leaves[index : index + 2].tolist()
        codes = self.codes[first:end].tolist()
        leaves = [Sealed(self.leaves, at) for at in range(leaf, after)]
        parts = {self.values[code]: leaves[at] for at, code in enumerate(codes)}
        return Slices(parts, leaves[-1] if self.others[index] else None)

    @staticmethod
    def names(inner: Inner) -> list[str]:
        """List the names of `fields`, in their order."""
        return ["values", "lengths", "codes", "others", *FlatLeaves.names(inner)]

    def fields(self) -> dict[str, Any]:
        """Return the fields that bytes hold, by name."""
        used, codes = np.unique(self.codes, return_inverse=True)
        values = [codec.canonical_json(self.values[code]) for code in used.tolist()]
        texts = np.array([*values, None], dtype=object)[:-1]
        numbers = (self.lengths, codes.astype(np.uint64), self.others)
        columns = (Column(texts), *map(Column, numbers))
        names = FlatSlices.names(self.inner)
        return dict(zip(names, columns, strict=False)) | self.leaves.fields()

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
        _check_kept(values, lengths, codes, others, config)
        leaves = FlatLeaves.read(config.accumulator, len(codes) + int(others.sum()), fields)
        return cls(inner, values, lengths, codes, others, leaves)

    def checked_total(self) -> Any:
        """Merge all accumulators that were read, which no rows have made if that is refused."""
        return self.leaves.checked_total()

    def weights(self, owners: Indices, n_owners: int) -> list[FixedPoint]:
        """Add up the `n` of each member over the accumulators of each owner."""
        sizes = np.diff(self.edges[1])
        require(bool(sizes.all()), "a pane without slices")
        return self.leaves.weights(np.repeat(owners, sizes), n_owners)


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


def _recoded(codes: Indices, values: list[Value], code_of: Mapping[Value, int]) -> Indices:
    """Replace the codes of values by those of another list."""
    return np.array([code_of[value] for value in values], dtype=np.uint64)[codes]


def _ranks(groups: Indices, n_groups: int) -> npt.NDArray[np.int64]:
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


def _unsigned(column: Any, name: str) -> npt.NDArray[Any]:
    require(isinstance(column, Column) and column.values.dtype.kind == "u", name)
    values: npt.NDArray[Any] = column.values
    return values


def _check_kept(
    values: list[Value],
    lengths: npt.NDArray[Any],
    codes: npt.NDArray[Any],
    others: npt.NDArray[Any],
    config: SlicedConfig,
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
