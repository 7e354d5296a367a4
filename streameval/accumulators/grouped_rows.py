"""The rows of groups, and how the accumulators of the groups count them."""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Self

import attrs
import numpy as np

from streameval.accumulators.sealed import FlatGroups, FlatLeaves, choose_slices, flat_type
from streameval.configs.collection import Member
from streameval.configs.inner import Inner
from streameval.configs.sliced import ClusteredConfig
from streameval.exact.array_types import Array
from streameval.exact.fixed_point import FixedPoint
from streameval.inputs.arrays import as_array, as_ids, read_weights
from streameval.inputs.values import Value, ValueCodes
from streameval.inputs.weighted_rows import rows_of_units, weighted_rows
from streameval.states.flat import FlatStates
from streameval.states.runs import mapped, observed_codes, stable_order

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
    lengths, codes, leaves = choose_slices(inner.options, values, groups, of_rows, n_groups)
    left = GroupedRows(columns, rows.size, rows.codes)
    flat = count_flat(inner.options.accumulator, left, leaves, len(codes))
    return flat_type(inner)(inner, values, lengths, codes, flat)


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
    counted = (
        _count_clusters(member, rows, groups, n_groups)
        if member.cls._depth
        else _count_member(member, rows.columns, groups, n_groups)
        for member in inner.members
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
    """Return the weight of each row, the maximum over what is counted; None if all are 1.

    Where rows have several items, such as masks, it is the sum of their weights, (n, items): of the
    items whose exact sum is the largest in that row.
    """
    kinds = dict.fromkeys(
        (name if name in columns else None, _n_items(member, columns))
        for member, name in zip(inner.counted, inner.weights, strict=True)
    )
    if not size or kinds.keys() == {(None, 1)}:
        return None
    every = [_weights_of_kind(*kind, columns, size) for kind in kinds]
    width = max(weights.shape[1] for weights in every)
    if len(every) > 1:
        every = [np.pad(weights, ((0, 0), (0, width - weights.shape[1]))) for weights in every]
    if width == 1:
        largest: Array = functools.reduce(np.maximum, every)[:, 0]
        return largest
    return _heaviest(every) if len(every) > 1 else every[0]


def _heaviest(every: Sequence[Array]) -> Array:
    """Choose for each row the weights of items, (n, items), with the largest exact sum."""
    sums = [FixedPoint.of_numbers(one.ravel()).reshape(*one.shape).totals() for one in every]
    whole = [one.whole for one in sums]
    fraction = [np.zeros(one.shape) if one.fraction is None else one.fraction for one in sums]
    heaviest = np.lexsort((fraction, whole), axis=0)[-1]
    return np.asarray(np.take_along_axis(np.stack(every), heaviest[None, :, None], axis=0)[0])


def _n_items(member: Member, columns: Mapping[Any, Any]) -> int:
    """Return the number of items that a member counts in each row."""
    shape: Any = getattr(columns.get(next(iter(member.read.values()))), "shape", ())
    return math.prod(shape[1:]) if getattr(member.options, "counts_items", False) else 1


def _weights_of_kind(
    name: str | None, n_items: int, columns: Mapping[Any, Any], size: int
) -> Array:
    """Read the weights of the items of rows, (n, items), or one for each row, (n, 1)."""
    if name is None:
        return np.full((size, 1), n_items)
    array = as_array(columns[name], name=name)
    are_entries = array.ndim > 1 and array.size > 0 and len(array) == size
    items, rows = (array.ravel(), array.size) if are_entries else (array, size)
    weights: Any = read_weights(items, rows=rows, name=name)
    weights = weights.reshape(size, -1)
    if n_items == 1:
        return np.asarray(weights.max(axis=1, keepdims=True))
    return np.repeat(weights, n_items, axis=1) if weights.shape[1] == 1 else np.asarray(weights)


def rows_with_weight(inner: Inner, columns: Mapping[Any, Any], size: int) -> Array | None:
    """Find the rows that have weight, and those of their queries; None if all have."""
    index = weighted_rows(weights_of(inner, columns, size))
    for name, _ in inner.queries:
        if index is not None and name in columns:
            labels = as_ids(columns[name], name=name)
            index = rows_of_units(index, labels) if len(labels) == size else None
    return None if index is None or len(index) == size else index


def _count_member(
    member: Member, given: Mapping[Key, Array], groups: Array, n_groups: int
) -> FlatStates:
    """Count what one member reads: all groups at once, or one after the other."""
    state_type = member.cls._state_type(member.options)
    arrays: dict[str, Array] = {}
    for own in member.read.items():
        for key in (own, own[1]):
            if key in given:
                arrays.setdefault(own[0], given[key])
    all_count = weighted_rows(arrays.get("sample_weight")) is None  # for this member
    loose = member.cls._loose_rows if all_count else None
    rows = None if loose is None else loose.read(member.options, arrays)
    if rows is not None and loose is not None:
        stacks = loose.count_groups(member.options, rows, groups, n_groups)
        if stacks is not None:
            return FlatStates.of_stacks(member.options, stacks, state_type)
    if n_groups > 1:
        order = stable_order(groups, n_groups)
        if rows is None:
            arrays = {array: column[order] for array, column in arrays.items()}
        else:
            rows = rows.taken(order)
    states = []
    ends = np.cumsum(np.bincount(groups, minlength=n_groups)).tolist()
    for part in map(slice, [0, *ends], ends):
        made = member.cls._empty(member.options)
        if rows is None:
            _update(made, member, {array: column[part] for array, column in arrays.items()})
        else:
            made._append(rows.taken(part))
        states.append(made._state)
    return FlatStates.of(member.options, states, state_type)


def _update(accumulator: Any, member: Member, arrays: dict[str, Array]) -> None:
    """Count rows; an accumulator of a user's class is sure to accept one batch."""
    if accumulator._definition.is_open:
        accumulator.update(arrays)
    else:
        accumulator.update(*[arrays.pop(array) for array in member.positional], **arrays)
