"""Accumulators of many groups as flat columns: in memory, and in bytes."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt

from streameval.accumulators.classes import single_class
from streameval.accumulators.collection import Collection
from streameval.accumulators.members import Members
from streameval.configs.inner import Inner
from streameval.configs.sliced import SlicedConfig, read_value
from streameval.errors import CorruptStateError, require
from streameval.inputs.values import Value, rank_of
from streameval.states import codec
from streameval.states.column import Column
from streameval.states.flat import FlatStates
from streameval.states.slices import Slices

__all__ = ["FlatLeaves", "FlatSlices", "decode_inner", "encode_inner"]


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

    def part(self, index: int) -> Any:
        """Make the accumulator at an index."""
        made = [
            member.cls._make(member.options, flat.state(index))
            for member, flat in zip(self.inner.members, self.columns, strict=True)
        ]
        if self.inner.cls is not Collection:
            return made[0]
        options = self.inner.options
        return Collection._make(options, Members(options.part_names, tuple(made)))

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
            flat.totals().total()  # past 2**63 - 1 it raises
            columns.append(flat)
        return cls(inner, tuple(columns))


@attrs.frozen(eq=False)
class FlatSlices:
    """The slices of several `Sliced` with one configuration.

    Parameters
    ----------
    inner : Inner
        Their class and options.
    values : list
        The values that have a slice in any of them, in the order of their hashes.
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
            FlatLeaves.of(inner.options.accumulator, leaves),
        )

    def part(self, index: int) -> Any:
        """Make the accumulator at an index."""
        return self.inner.cls._make(self.inner.options, self.slices(index))

    def slices(self, index: int) -> Slices:
        """Make the slices of the accumulator at an index."""
        lengths = self.lengths[: index + 1].astype(np.int64)
        first = int(lengths[:-1].sum())
        end = first + int(lengths[-1])
        leaf = first + int(self.others[:index].sum())
        codes = self.codes[first:end].tolist()
        parts = {self.values[code]: self.leaves.part(leaf + at) for at, code in enumerate(codes)}
        other = self.leaves.part(leaf + len(codes)) if self.others[index] else None
        return Slices(parts, other)

    @staticmethod
    def names(inner: Inner) -> list[str]:
        """List the names of `fields`, in their order."""
        return ["values", "lengths", "codes", "others", *FlatLeaves.names(inner)]

    def fields(self) -> dict[str, Any]:
        """Return the fields that bytes hold, by name."""
        texts = np.array([*map(codec.canonical_json, self.values), None], dtype=object)[:-1]
        columns = (Column(texts), Column(self.lengths), Column(self.codes), Column(self.others))
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
