"""What a worker does: count batches into states, by slice, and merge states into a new one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from functools import partial
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Self

import attrs
import numpy as np

from streameval.accumulators.base import Accumulator
from streameval.accumulators.checkpoint import from_bytes
from streameval.accumulators.merging import merge
from streameval.accumulators.sliced import Sliced
from streameval.accumulators.windowed import Windowed
from streameval.configs.collection import CollectionConfig, Member
from streameval.configs.inner import OuterConfig
from streameval.errors import BadDataError, IncompatibleStateError, InvalidInputError
from streameval.inputs.batches import Table
from streameval.inputs.paths import cuts
from streameval.io import Values, read_blocks
from streameval.io.errors import shown
from streameval.io.parquet import items_of
from streameval.runs import slices
from streameval.runs.columns import columns_of, group_columns
from streameval.runs.counting import Plan, count
from streameval.runs.sources import files_of, look_ahead
from streameval.runs.totals import Tally, merge_tree

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Make", "Progress", "SourceCounter", "States", "as_sources", "merge_tree", "merged"]

Make = Callable[[], Any]
Progress = Callable[[int, int], object]
States = dict[Any, bytes]
"""The state of each value of the column `by`, or one state under None."""


@attrs.frozen
class SourceCounter:
    """Which columns are counted, and into what; a value that pickles if `make` does.

    Parameters
    ----------
    make : callable
        Gives an empty accumulator.
    columns, required : mapping from argument of `update` to column
        Those that are read if they are there, and those of them that must be.
    by : str or None
        The column whose values are counted apart.
    options : mapping
        Keyword arguments of `update`.
    """

    make: Make
    columns: dict[str, str]
    required: dict[str, str]
    by: str | None
    options: dict[str, Any]

    @classmethod
    def of(
        cls,
        make: Make,
        columns: Mapping[str, str] | None = None,
        by: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Self:
        """Check the arguments that every engine takes."""
        made = _checked(make)
        members, keys = _members(made), _keys(made)
        chosen = _read_columns(columns)
        read = dict.fromkeys(name for member in members for name in member.read.values())
        read |= dict.fromkeys(keys)
        for argument in chosen:
            if argument not in read:
                raise InvalidInputError(
                    f"must be for {', '.join(read)}, got {argument!r}", argument="columns"
                )
        if by is not None and not isinstance(by, str):
            raise InvalidInputError(f"must be the name of a column, got {by!r}", argument="by")
        needed = {name for member in members for name in member.required.values()} | {*keys}
        return cls(
            make=make,
            columns={name: chosen.get(name, name) for name in read},
            required={name: chosen.get(name, name) for name in read if name in needed | {*chosen}},
            by=by,
            options=dict(options or {}),
        )

    def names(self, available: Iterable[str]) -> list[str]:
        """List the existing columns to read; an error names a required one that is missing.

        Of a path into a column, ``ctx.country``, the column is read.
        """
        known = list(available)
        check_there(self._wanted, known)
        held = (column_of(name, known) for name in self._wanted)
        return list(dict.fromkeys(name for name in held if name is not None))

    def count(self, source: Any) -> States:
        """Count a path or a batch.

        A path is a file of Parquet, CSV or JSON lines, or a folder of such, read as the command
        line reads them; it may lie in a store that `pyarrow.fs` knows.

        Raises
        ------
        InvalidInputError
            When a batch is refused.
        BadDataError
            When a file cannot be read or holds a row that is refused; the message names it.
        """
        if not is_path(source):
            return self.count_batches([source])
        held = self._empty()
        for file, form in files_of(fspath(source)):
            try:
                held.merge(self._count_file(file, form))
            except (InvalidInputError, IncompatibleStateError) as error:
                raise BadDataError(f"{file}: {error}") from error
        return self._states(held)

    def count_batches(self, batches: Iterable[Any]) -> States:
        """Count batches into new accumulators."""
        held = self._empty()
        for batch in batches:
            if self.by is None:
                self.update(held, batch)
            else:
                table = _arrow_table(batch)
                held.update(
                    _values(table, self.by),
                    lambda rows, table=table: table.take(rows),
                    self.update,
                )
        return self._states(held)

    def type_of_slices(self, batch: pa.RecordBatch) -> Any:
        """Return the Arrow type of the column `by`."""
        return Table(batch, batch.schema.names).column(str(self.by)).type

    def update(self, accumulator: Any, batch: Any) -> None:
        """Count a batch into an accumulator."""
        arrays = _renamed(batch, self.columns, self.required)
        if not _is_empty(next(iter(arrays.values()))):
            accumulator.update(arrays, **self.options)

    def result(self, slices: States) -> Any:
        """Read the accumulator, or the dict from value to accumulator, in order of the values."""
        if self.by is None:
            return from_bytes(slices[None]) if slices else self.make()
        # files may disagree on the type of a column
        ordered = sorted(slices, key=lambda value: (value is None, type(value).__name__, value))
        return {value: from_bytes(slices[value]) for value in ordered}

    @property
    def _wanted(self) -> dict[str, bool]:
        """The columns to read, and whether they must be there."""
        needed = {*self.required.values(), self.by}
        listed = [*self.columns.values(), *([] if self.by is None else [self.by])]
        return {column: column in needed for column in listed}

    def _count_file(self, file: str, form: str | None) -> Any:
        """Count a file."""
        rows, blocks = look_ahead(read_blocks(file, form), names=self._wanted)
        if not rows:
            return self._empty()
        known = dict.fromkeys(name for row in rows for name in (*row, *self._wanted) if name in row)
        check_there(self._wanted, list(known))
        found = {argument: column for argument, column in self.columns.items() if column in known}
        made = self.make()
        columns = columns_of(_members(made), found, rows)
        if isinstance(made, (Sliced, Windowed)):
            columns = group_columns(made, found, columns)
        plan = Plan(self.make, columns, update=partial(_update, options=self.options))
        if self.by is not None:
            plan = slices.parts_by_value(
                plan, self.by, field_type=Values(), max_values=slices.MAX_SLICES
            )
        tally = Tally(plan)
        for block in blocks:
            tally.add(count(block, plan))
        return tally.total()

    def _empty(self) -> Any:
        if self.by is None:
            return self.make()
        return slices.PartsByValue(self.make, self.by, max_values=slices.MAX_SLICES)

    def _states(self, held: Any) -> States:
        parts = {None: held} if self.by is None else held.slices().by_value
        return {value: part.to_bytes() for value, part in parts.items()}


def merged(*parts: States) -> States:
    """Merge states into new ones; the arguments are left alone, so it may run any number of times.

    Examples
    --------
    >>> import streameval as se
    >>> part = {None: se.ConfusionAccumulator().update([1, 0], [1, 1]).to_bytes()}
    >>> whole = merged(part, merged(part, part))
    >>> se.from_bytes(whole[None]).n
    6
    """
    values = dict.fromkeys(value for part in parts for value in part)
    return {
        value: merge(from_bytes(part[value]) for part in parts if value in part).to_bytes()
        for value in values
    }


def is_path(source: Any) -> bool:
    """Tell the path of a file from a batch."""
    return isinstance(source, (str, PathLike))


def column_of(name: str, names: Sequence[str]) -> str | None:
    """Find the column of a name, or the one that it leads into as a path; None without any."""
    starts = (name, *(start for start, _ in cuts(name)))
    return next((start for start in starts if start in names), None)


def check_there(columns: Mapping[str, bool], names: Sequence[str]) -> None:
    """Refuse names without the columns that must be there."""
    for column, is_needed in columns.items():
        if is_needed and column_of(column, names) is None:
            listed = ", ".join(names) or "none"
            raise InvalidInputError(
                f"is missing: the batch has the columns {listed}", argument=column
            )


def as_sources(sources: Any) -> list[Any]:
    """List the sources; there must be one."""
    listed = [sources] if is_path(sources) else list(sources)
    if not listed:
        raise InvalidInputError("must hold at least one path or batch", argument="sources")
    return listed


def _checked(make: Make) -> Accumulator[Any, Any]:
    if not callable(make):
        raise InvalidInputError(
            f"must be callable and give an empty accumulator, got {type(make).__name__}",
            argument="make",
        )
    made = make()
    if not isinstance(made, Accumulator):
        raise InvalidInputError(
            f"must give an accumulator, got {type(made).__name__}", argument="make"
        )
    if made != made.copy().reset():
        raise InvalidInputError(f"must give an empty accumulator, got n={made.n}", argument="make")
    return made


def _is_empty(column: Any) -> bool:
    """Tell whether a column is empty, whatever its type; non-arrays are refused later."""
    return isinstance(column, Sized) and not len(column)


def _members(accumulator: Accumulator[Any, Any]) -> Sequence[Member]:
    config = accumulator._config
    if isinstance(config, OuterConfig):
        return config.accumulator.members
    if isinstance(config, CollectionConfig):
        return config.members
    return [Member(type(accumulator), config)]


def _keys(accumulator: Accumulator[Any, Any]) -> tuple[str, ...]:
    """List the columns by which an accumulator splits its rows."""
    return accumulator._key_columns if isinstance(accumulator, (Sliced, Windowed)) else ()


def _read_columns(columns: Any) -> dict[str, str]:
    if columns is None:
        return {}
    if not isinstance(columns, Mapping):
        type_name = type(columns).__name__
        raise InvalidInputError(
            f"must map arguments to columns, got {type_name}", argument="columns"
        )
    for argument, column in columns.items():
        if not isinstance(argument, str) or not isinstance(column, str):
            raise InvalidInputError(
                f"must map names to names, got {column!r} for {argument!r}", argument="columns"
            )
    return dict(columns)


def _update(accumulator: Any, batch: Mapping[str, Any], *, options: Mapping[str, Any]) -> str:
    accumulator.update(batch, **options)
    return ""


def _renamed(batch: Any, columns: Mapping[str, str], required: Mapping[str, str]) -> dict[str, Any]:
    """Take the columns out of a batch, under the names of the arguments of `update`.

    Parameters
    ----------
    batch : mapping, data frame or Arrow table
    columns : mapping from argument to column
        Those that are taken if they are there.
    required : mapping from argument to column
        Those of them that must be there.
    """
    table = Table.of(batch)
    if table is None:
        type_name = type(batch).__name__
        raise InvalidInputError(
            f"must be paths, or batches with columns, got {type_name}", argument="sources"
        )
    check_there(dict.fromkeys(required.values(), True), table.names)
    return {
        argument: table.column(column)
        for argument, column in columns.items()
        if column in required.values() or table.holds(column)
    }


def _values(table: pa.Table, by: str) -> Any:
    """List the values of a column, as they are read from files."""
    column, field_type = Table(table, table.column_names).column(by), Values()
    items = items_of(column) if hasattr(column, "type") else column
    values = field_type.whole(items)
    if values is None:
        faults = ((position, field_type.fault(item)) for position, item in enumerate(items))
        position, wanted = next(fault for fault in faults if fault[1] is not None)
        got = shown(items[position])
        raise InvalidInputError(f"must be {wanted}, got {got}", argument=by, position=position)
    return values


def _arrow_table(batch: Any) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415

    if isinstance(batch, pa.RecordBatch):
        return pa.Table.from_batches([batch])
    if isinstance(batch, Mapping):
        return pa.table({name: _items(column) for name, column in batch.items()})
    if hasattr(batch, "to_arrow"):  # of polars, whose text views Arrow cannot take rows of
        return batch.to_arrow()
    return pa.table(batch)


def _items(column: Any) -> list[Any]:
    """List the rows of a column; through an array, text would lose the NULs at its ends."""
    return list(column if isinstance(column, (list, tuple)) else np.asarray(column))
