"""The members of a collection: their arguments, their accumulators, and the batches they read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import attrs

from streameval.accumulators.base import Accumulator, fork, merged_alike
from streameval.configs.collection import SEPARATOR, CollectionConfig, Member, canonical_name
from streameval.errors import InvalidInputError, StreamevalError
from streameval.inputs.arrays import to_host
from streameval.inputs.batches import TableBatch, arguments

_MAX_DEPTH = 2  # of `Clustered`: slices and panes are of whole collections


@attrs.frozen
class _Naming:
    """Name the member in errors that the block raises; their class stays."""

    name: str

    def __enter__(self) -> None:
        """Begin to watch."""

    def __exit__(self, error_type: Any, error: BaseException | None, trace: Any) -> None:
        if error is None:
            return
        if isinstance(error, StreamevalError):
            raise error.within(f"member {self.name!r}") from error
        error.add_note(f"This was member {self.name!r}.")


def read_members(members: Any, columns: Any) -> CollectionConfig:
    """Check the arguments of a collection."""
    if not isinstance(members, Mapping):
        type_name = type(members).__name__
        raise InvalidInputError(
            f"must map names to accumulators, got {type_name}", argument="members"
        )
    renamed = _read_columns(columns, members)
    flat: dict[str, Member] = {}
    for key, accumulator in members.items():
        name = _read_name(key)
        flat |= _renamed(name, _read_member(name, accumulator), renamed.get(name, {}))
    return CollectionConfig.of(names=tuple(flat), members=tuple(flat.values()))


def _read_name(value: Any) -> str:
    name = canonical_name(value, name="members")
    if SEPARATOR in name:
        raise InvalidInputError(
            f"must have names without {SEPARATOR!r}, which separates those of a collection "
            f"and its members, got {name!r}",
            argument="members",
        )
    return name


def _read_member(name: str, accumulator: Any) -> dict[str, Member]:
    """Name a member, or the members of a collection."""
    if not isinstance(accumulator, Accumulator):
        type_name = type(accumulator).__name__
        raise InvalidInputError(
            f"must be accumulators, got {type_name} for {name!r}", argument="members"
        )
    if accumulator != accumulator.copy().reset():
        raise InvalidInputError(
            f"must have counted nothing yet, got {name!r} with n={accumulator.n}",
            argument="members",
            remedy="Reset it, or give a new one.",
        )
    member = Member.of(accumulator)
    if isinstance(member.options, CollectionConfig):
        paths = (SEPARATOR.join((name, inner)) for inner in member.options.names)
        return dict(zip(paths, member.options.members, strict=True))
    if accumulator._depth > _MAX_DEPTH:
        given = type(accumulator).__name__
        raise InvalidInputError(
            f"cannot be a {given}, got one for {name!r}",
            argument="members",
            remedy=f"Make a {given} of the collection.",
        )
    return {name: member}


def _read_columns(columns: Any, members: Mapping[Any, Any]) -> dict[str, dict[str, str]]:
    if columns is None:
        return {}
    if not isinstance(columns, Mapping):
        type_name = type(columns).__name__
        raise InvalidInputError(
            f"must map members to their columns, got {type_name}", argument="columns"
        )
    for name, renames in columns.items():
        if name not in members:
            listed = ", ".join(map(str, members))
            raise InvalidInputError(
                f"must be for members, {listed}, got {name!r}", argument="columns"
            )
        if not isinstance(renames, Mapping):
            type_name = type(renames).__name__
            raise InvalidInputError(
                f"must map arrays of {name!r} to columns, got {type_name}", argument="columns"
            )
    return {
        name: {
            canonical_name(array, name="columns"): canonical_name(column, name="columns")
            for array, column in renames.items()
        }
        for name, renames in columns.items()
    }


def _renamed(name: str, members: dict[str, Member], columns: dict[str, str]) -> dict[str, Member]:
    read = dict.fromkeys(column for member in members.values() for column in member.read.values())
    for column in columns:
        if column not in read:
            raise InvalidInputError(
                f"must be for arrays of {name!r}, {', '.join(read)}, got {column!r}",
                argument="columns",
            )
    return {path: member.renamed(columns) for path, member in members.items()}


@attrs.frozen
class Members:
    """The accumulators of a collection, one for each part of its configuration.

    None of them is ever changed: an update changes forks, which then replace all of them at once.
    """

    names: tuple[str, ...]
    accumulators: tuple[Accumulator[Any, Any], ...]

    @classmethod
    def zero(cls, config: CollectionConfig) -> Self:
        """Make the members of a collection that has counted nothing."""
        empty = (part.cls._empty(part.options) for part in config.parts)
        return cls(config.part_names, tuple(empty))

    @classmethod
    def sum_of(cls, members: Sequence[Self]) -> Self:
        """Merge the members of one or more collections, member by member."""
        total = []
        for name, *alike in zip(
            members[0].names, *(one.accumulators for one in members), strict=True
        ):
            with _Naming(name):
                total.append(merged_alike(alike))
        return cls(members[0].names, tuple(total))

    def detached(self) -> Self:
        """Copy the members, so that later updates of either side do not reach the other."""
        copies = tuple(accumulator.copy() for accumulator in self.accumulators)
        return type(self)(self.names, copies)

    def updated(self, batch: SharedBatch, parts: tuple[Member, ...]) -> Self:
        """Count a batch in all members, or raise the error of the first that refuses it."""
        forks = []
        for name, part, accumulator in zip(self.names, parts, self.accumulators, strict=True):
            tried = fork(accumulator)
            with _Naming(name):
                batch.hand_to(tried, part)
            forks.append(tried)
        return type(self)(self.names, tuple(forks))


@attrs.frozen
class SharedBatch:
    """A batch that members read parts of: columns, or truth and prediction."""

    _table: TableBatch | None
    _pair: tuple[Any, Any]
    _weights: Any

    @classmethod
    def of(cls, y_true: Any, y_pred: Any, sample_weight: Any) -> Self:
        """Read a table, or arrays."""
        weights = None if sample_weight is None else to_host(sample_weight, name="sample_weight")
        if y_pred is None:
            table = TableBatch.of(y_true)
            if table is not None:
                return cls(table, (None, None), weights)
        if y_true is None or y_pred is None:
            given = arguments(
                *(y_true, y_pred),
                names=("y_true", "y_pred"),
                optional={"sample_weight": weights},
            )
            y_true, y_pred, weights = given.values()
        pair = to_host(y_true, name="y_true"), to_host(y_pred, name="y_pred")
        return cls(None, pair, weights)

    def hand_to(self, accumulator: Any, member: Member) -> None:
        """Update an accumulator with its part of the batch."""
        weights = {} if self._weights is None else self._weights_of(member)
        if self._table is not None:
            accumulator.update(self._columns_of(self._table, member), **weights)
        elif member.takes_truth_and_prediction:
            accumulator.update(*self._pair, **weights)
        else:
            raise InvalidInputError(
                f"must be a mapping or a table, because {member.cls.__name__} reads "
                f"{', '.join(member.positional)}, got arrays",
                argument="batch",
            )

    def _columns_of(self, table: TableBatch, member: Member) -> dict[str, Any]:
        """Select the arrays that a member reads, by name."""
        required = member.required
        return {
            array: table.column(column)
            for array, column in member.read.items()
            if array in required or table.holds(column)
        }

    def _weights_of(self, member: Member) -> dict[str, Any]:
        """Return the weights that were passed by keyword, for a member."""
        if "sample_weight" not in member.arrays:
            raise InvalidInputError(
                f"has no meaning here: {member.cls.__name__} reads {', '.join(member.arrays)}",
                argument="sample_weight",
            )
        return {"sample_weight": self._weights}
