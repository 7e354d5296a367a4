"""The rows of groups, and how the accumulators of the groups count them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, Self

import attrs
import numpy as np

from streameval.accumulators.pending import Rows
from streameval.accumulators.sealed import FlatGroups, FlatLeaves, choose_slices, flat_type
from streameval.configs.collection import Member
from streameval.configs.inner import Inner
from streameval.configs.sliced import ClusteredConfig
from streameval.exact.array_types import Array
from streameval.inputs.arrays import as_ids, read_entry_weights, read_weights
from streameval.inputs.values import Value, ValueCodes
from streameval.inputs.weighted_rows import rows_of_units, weighted_rows
from streameval.states.flat import FlatStates
from streameval.states.runs import mapped, observed_codes, order_in_groups

Key = Hashable

CODES, TIMES, WEIGHTS, CLUSTERS = 0, 1, 2, 3
"""Keys of the columns that are not in the batch; its own columns have names."""


@attrs.frozen(eq=False)
class GroupedRows:
    """Checked rows: the counted columns, and the columns that define groups.

    Parameters
    ----------
    columns : dict from key to array, shapes (n, ...)
        The columns of the batch by name; `CODES`, `TIMES`, `WEIGHTS` and `CLUSTERS` where they
        exist; the clusters of members by (number of groups, column).
    size : int
    codes : ValueCodes
        The value of each code.
    """

    columns: dict[Key, Array]
    size: int
    codes: ValueCodes

    @property
    def layout(self) -> tuple[Any, ...]:
        """The keys, types and shapes that rows must share to be pending together."""
        return tuple(
            (key, type(part), part.dtype, part.shape[1:]) for key, part in self.columns.items()
        )

    def taken(self, rows: Array) -> GroupedRows:
        """Copy some of the rows."""
        taken = {key: part[rows] for key, part in self.columns.items()}
        return GroupedRows(taken, len(rows), self.codes)

    @classmethod
    def together(cls, parts: Iterable[Self]) -> list[Self]:
        """Concatenate those that can be pending together."""
        alike: dict[Any, list[Self]] = {}
        for part in parts:
            alike.setdefault((part.layout, id(part.codes)), []).append(part)
        return [
            cls(
                {key: np.concatenate([one.columns[key] for one in own]) for key in own[0].columns},
                sum(one.size for one in own),
                own[0].codes,
            )
            for own in alike.values()
        ]

    def part(self, start: int, end: int) -> GroupedRows:
        """Return neighbouring rows, as views."""
        part = {key: column[start:end] for key, column in self.columns.items()}
        return GroupedRows(part, end - start, self.codes)


def _groups_of(
    rows: GroupedRows, groups: Array, n_groups: int
) -> Iterator[tuple[int, GroupedRows]]:
    """Split rows by the number of their group, and yield the groups with rows, in order.

    All rows are sorted once, whatever the number of groups.
    """
    counts = np.bincount(groups, minlength=n_groups)
    found = np.flatnonzero(counts)
    if len(found) == 1:
        yield int(found[0]), rows
        return
    ordered = rows.taken(order_in_groups(groups, n_groups))
    ends = np.cumsum(counts[found]).tolist()
    start = 0
    for number, end in zip(found.tolist(), ends, strict=True):
        yield number, ordered.part(start, end)
        start = end


def count_flat(inner: Inner, rows: GroupedRows, groups: Array, n_groups: int) -> Any:
    """Count the rows of many groups into flat columns, whatever the accumulator of a group.

    Parameters
    ----------
    inner : Inner
        The class and options of the accumulators.
    rows : GroupedRows
        Accepted rows, with the columns that define the groups within.
    groups : int array, shape (n,)
        The group of each row.
    n_groups : int
        How many groups there are; each has rows.
    """
    if inner is inner.leaf:
        return count_groups(inner, rows, groups, n_groups)
    columns = dict(rows.columns)
    values, of_rows = _values_of_rows(inner.options, columns, rows.codes)
    nobody = np.zeros(0, dtype=np.int64)
    chosen, n_leaves, leaves, _ = choose_slices(
        inner.options, values, groups, of_rows, nobody, n_groups
    )
    left = GroupedRows(columns, rows.size, rows.codes)
    flat = count_flat(inner.options.accumulator, left, leaves, n_leaves)
    return flat_type(inner)(inner, values, *chosen, flat)


def _values_of_rows(
    config: Any, columns: dict[Key, Array], codes: ValueCodes
) -> tuple[list[Value], Array]:
    """Take out the column of the values; return these in order, and the index of each row's."""
    if isinstance(config, ClusteredConfig):
        return config.values, columns.pop(CLUSTERS)
    of_rows = columns.pop(CODES)
    ranks = codes.ranks()
    found = observed_codes(of_rows, len(ranks))
    order = np.argsort(ranks[found])
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return [codes.values[code] for code in found[order].tolist()], mapped(of_rows, found, rank)


def count_groups(inner: Inner, rows: GroupedRows, groups: Array, n_groups: int) -> FlatLeaves:
    """Count the rows of many groups into flat columns.

    What a member reads is checked once, for all groups together.

    Parameters
    ----------
    inner : Inner
        A single accumulator, or a collection, whose members may have clusters.
    rows : GroupedRows
        Accepted rows.
    groups : int array, shape (n,)
        The group of each row.
    n_groups : int
        How many groups there are; each has rows.
    """
    groups = groups.astype(np.intp, copy=False)  # cells are numbered by products of narrow codes
    columns: dict[Key, Array] = {}
    readers = [
        None if member.cls._depth else _MemberReader.of(member, rows.columns, number, columns)
        for number, member in enumerate(inner.members)
    ]
    counted = (
        _count_clusters(member, rows, groups, n_groups)
        if reader is None
        else _count_member(member, reader, columns, groups, n_groups)
        for member, reader in zip(inner.members, readers, strict=True)
    )
    return FlatLeaves(inner, tuple(counted))


def _count_clusters(member: Member, rows: GroupedRows, groups: Array, n_groups: int) -> FlatGroups:
    """Count what a member reads into a table of its clusters for each group."""
    inner, held = Inner(member.cls, member.options), member.options.accumulator
    columns: dict[Key, Array] = {}
    for array, column in member.read.items():
        for key in (column, ("query", column)):
            if key in rows.columns:
                columns[array if key == column else ("query", array)] = rows.columns[key]
    columns[CLUSTERS] = rows.columns[member.options.groups, member.required[member.options.by]]
    own = GroupedRows(columns, rows.size, rows.codes)
    index = rows_with_weight(held, columns, rows.size)  # for this member
    if index is not None:
        own, groups = own.taken(index), groups[index]
    if not own.size:
        return FlatGroups.empty(inner, n_groups)
    counted: FlatGroups = count_flat(inner, own, groups, n_groups)
    return counted


def weights_of(inner: Inner, columns: Mapping[Any, Any], size: int) -> Array | None:
    """Return the weight of each row, the maximum over what is counted; None if all are 1."""
    names = dict.fromkeys(inner.weights)
    given = [name for name in names if name is not None and name in columns]
    found: Array | None = None
    for name in given:
        entries = read_entry_weights(columns[name], rows=size, columns=None, name=name)
        weights: Any = (
            read_weights(columns[name], rows=size, name=name)
            if entries is None
            else entries.max(axis=1, initial=0)
        )
        found = weights if found is None else np.maximum(found, weights)
    return found if found is None or len(given) == len(names) else np.maximum(found, 1)


def rows_with_weight(inner: Inner, columns: Mapping[Any, Any], size: int) -> Array | None:
    """Find the rows that have weight, and those of their queries; None if all have."""
    index = weighted_rows(weights_of(inner, columns, size))
    for name, _ in inner.queries:
        if index is not None and name in columns:
            labels = as_ids(columns[name], name=name)
            index = rows_of_units(index, labels) if len(labels) == size else None
    return None if index is None or len(index) == size else index


def _count_member(
    member: Any, reader: _MemberReader, columns: Mapping[Key, Array], groups: Array, n_groups: int
) -> FlatStates:
    """Count what one member reads: all groups at once, or one after the other."""
    state_type = member.cls._state_type(member.options)
    if reader.is_read:
        rows = reader.rows(columns)
        stacks = member.cls._loose_rows.count_groups(member.options, rows, groups, n_groups)
        if stacks is not None:
            return FlatStates.of_stacks(member.options, stacks, state_type)
    states = []
    own = GroupedRows({key: columns[key] for key in reader.keys}, len(groups), ValueCodes())
    for _, part in _groups_of(own, groups, n_groups):
        made = member.cls._empty(member.options)
        reader.hand_over(made, part.columns)
        states.append(made._state)
    return FlatStates.of(member.options, states, state_type)


@attrs.frozen(eq=False)
class _MemberReader:
    """What one member counts.

    Parameters
    ----------
    positional : tuple
        The keys of the columns: of `Rows` if they have been read, else of arrays by position.
    by_name : tuple of (array, key)
        The keys of arrays that `update` takes by name.
    weights : key, optional
        The key of the weights that have been read.
    is_read : bool
        Whether the columns have been read.
    is_open : bool
        Whether the member has a user's class, which takes one batch.
    dictionary : Dictionary, optional
        The labels of the codes that have been read.
    """

    positional: tuple[Key, ...]
    by_name: tuple[tuple[str, Key], ...] = ()
    weights: Key = None
    is_read: bool = False
    is_open: bool = False
    dictionary: Any = None

    @classmethod
    def of(
        cls, member: Any, given: Mapping[Key, Array], number: int, columns: dict[Key, Array]
    ) -> Self:
        """Read the columns of a member, and add what it counts to the columns of all."""
        keys: dict[str, Key] = {}
        for array, column in member.read.items():
            own = (array, column)
            key: Key = own if own in given else column
            if key in given:
                keys[array] = key
        arrays = {array: given[key] for array, key in keys.items()}
        all_count = weighted_rows(arrays.get("sample_weight")) is None  # for this member
        loose = member.cls._loose_rows if all_count else None
        rows = None if loose is None else loose.read(member.options, arrays)
        if rows is not None:
            parts = tuple((number, at) for at in range(len(rows.columns)))
            columns |= zip(parts, rows.columns, strict=True)
            made = cls(parts, is_read=True, dictionary=rows.dictionary)
            if rows.weights is None:
                return made
            columns[number, "weights"] = rows.weights
            return attrs.evolve(made, weights=(number, "weights"))
        columns |= {key: given[key] for key in keys.values()}
        is_open = member.cls._definition.is_open
        by_position = () if is_open else member.positional
        first = tuple(keys.pop(array) for array in by_position)
        return cls(first, tuple(keys.items()), is_open=is_open)

    @property
    def keys(self) -> list[Key]:
        """The keys of all columns."""
        named = [key for _, key in self.by_name]
        return [*self.positional, *named, *([] if self.weights is None else [self.weights])]

    def rows(self, columns: Mapping[Key, Array]) -> Rows:
        """Return rows that have been read."""
        weights = None if self.weights is None else columns[self.weights]
        return Rows(tuple([columns[key] for key in self.positional]), weights, self.dictionary)

    def hand_over(self, accumulator: Any, columns: Mapping[Key, Array]) -> None:
        """Count rows; an accumulator of a user's class is sure to accept one batch."""
        if self.is_read:
            accumulator._append(self.rows(columns))
            return
        named = {array: columns[key] for array, key in self.by_name}
        if self.is_open:
            accumulator.update(named)
        else:
            accumulator.update(*[columns[key] for key in self.positional], **named)
