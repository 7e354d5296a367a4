"""What a worker does: count batches into states, by slice, and merge states into a new one."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Mapping, Sequence, Sized
from datetime import date, datetime, time
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
from streameval.io import Block, Column, Values, read_blocks
from streameval.io.errors import shown
from streameval.io.json_lines import JsonBlock
from streameval.io.parquet import values_of
from streameval.runs import slices
from streameval.runs.columns import columns_of, group_columns
from streameval.runs.counting import Plan, count
from streameval.runs.sources import Row, files_of, look_ahead
from streameval.runs.totals import BadRows

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "Layout",
    "Make",
    "MixedColumnsError",
    "Progress",
    "RunningCount",
    "SourceCounter",
    "States",
    "as_sources",
    "by_value",
    "merged",
    "same_layout",
    "text_of",
    "value_of",
]

Make = Callable[[], Any]
Progress = Callable[[int, int], object]
States = dict[Any, bytes]
"""The state of each value of the column `by`, or one state under None."""
Layout = dict[str, tuple[bool, str]]
"""Whether sources have an optional column, and the first of them."""


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
    missing_columns : str
        Whether sources that lack an optional column are refused beside others that have it
        ("raise"), or counted without it ("default").
    """

    make: Make
    columns: dict[str, str]
    required: dict[str, str]
    by: str | None
    options: dict[str, Any]
    missing_columns: str = "raise"

    @classmethod
    def of(
        cls,
        make: Make,
        columns: Mapping[str, str] | None = None,
        by: str | None = None,
        options: Mapping[str, Any] | None = None,
        missing_columns: str = "raise",
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
        if missing_columns not in ("raise", "default"):
            raise InvalidInputError(
                f"must be 'raise' or 'default', got {missing_columns!r}", argument="missing_columns"
            )
        needed = {name for member in members for name in member.required.values()} | {*keys}
        return cls(
            make=make,
            columns={name: chosen.get(name, name) for name in read},
            required={name: chosen.get(name, name) for name in read if name in needed | {*chosen}},
            by=by,
            options=dict(options or {}),
            missing_columns=missing_columns,
        )

    def names(self, available: Iterable[str]) -> list[str]:
        """List the existing columns to read; an error names a required one that is missing.

        Of a path into a column, ``ctx.country``, the column is read.
        """
        known = list(available)
        check_there(self.wanted, known)
        held = (column_of(name, known) for name in self.wanted)
        return list(dict.fromkeys(name for name in held if name is not None))

    def layout(self, names: Container[str], source: str) -> Layout:
        """Note which optional columns a source has."""
        if self.missing_columns == "default":
            return {}
        optional = [column for column, is_needed in self.wanted.items() if not is_needed]
        return {column: (column in names, source) for column in optional}

    def layout_of(self, batch: Any, name: str) -> Layout:
        """Note which optional columns a batch has; one without rows says nothing."""
        table = _table_of(batch)
        found = [column for column in self.wanted if table.holds(column)]
        is_empty = bool(found) and _is_empty(table.column(found[0]))
        return {} if is_empty else self.layout(found, name)

    def count(self, source: Any) -> States:
        """Count a path or a batch.

        A path is a file of Parquet, CSV or JSON lines, or a folder or pattern of such, read as the
        command line reads them; it may lie in a store that `pyarrow.fs` knows.

        Raises
        ------
        InvalidInputError
            When a batch is refused.
        BadDataError
            When a file cannot be read or holds a row that is refused; the message names it.
        """
        if not is_path(source):
            return self.count_batches([source])
        running = RunningCount(self)
        for file, form in files_of(fspath(source)):
            running.add_file(file, form)
        return running.states()

    def count_batches(self, batches: Iterable[Any]) -> States:
        """Count batches into new accumulators."""
        running = RunningCount(self)
        for batch in batches:
            running.add_batch(batch)
        return running.states()

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
        return by_value(slices)

    @property
    def wanted(self) -> dict[str, bool]:
        """The columns to read, and whether they must be there."""
        needed = {*self.required.values(), self.by}
        listed = [*self.columns.values(), *([] if self.by is None else [self.by])]
        return {column: column in needed for column in listed}


def by_value(slices: States) -> dict[Any, Any]:
    """Read the accumulator of each value, in order."""
    # files may disagree on the type of a column
    ordered = sorted(slices, key=lambda value: (value is None, type(value).__name__, value))
    return {value: from_bytes(slices[value]) for value in ordered}


class MixedColumnsError(BadDataError):
    """Some sources have an optional column, and others do not."""


class RunningCount:
    """What one task counts: batches and files, one after the other, into one accumulator.

    Parameters
    ----------
    counter : SourceCounter
        What is counted.

    Attributes
    ----------
    layout : Layout
        Which optional columns the sources with rows have.
    """

    def __init__(self, counter: SourceCounter) -> None:
        self._counter = counter
        self._held: Any = counter.make()
        if counter.by is not None:
            self._held = slices.PartsByValue(counter.make, counter.by, max_values=slices.MAX_SLICES)
        self.layout: Layout = {}

    def add_batch(self, batch: Any, name: str = "a batch") -> None:
        """Count a batch, all of it or nothing."""
        counter = self._counter
        found = same_layout(self.layout, counter.layout_of(batch, name))
        if counter.by is None:
            counter.update(self._held, batch)
        else:
            arrow = _arrow_table(batch)
            self._held.update(_values(arrow, counter.by), arrow.take, counter.update)
        self.layout = found

    def add_file(
        self, file: str, form: str | None = None, groups: Container[int] | None = None
    ) -> None:
        """Count a file, or some row groups of it.

        Raises
        ------
        BadDataError
            If it cannot be read or holds a row that is refused. What stands before that row may
            have been counted by then.
        """
        try:
            self._add_file(file, form, groups)
        except (InvalidInputError, IncompatibleStateError) as error:
            raise BadDataError(f"{file}: {error}") from error

    def _add_file(self, file: str, form: str | None, groups: Container[int] | None) -> None:
        counter, wanted = self._counter, self._counter.wanted
        rows, blocks = look_ahead(read_blocks(file, form), names=wanted)
        if not rows:
            return
        known = [column for column in wanted if any(column in row for row in rows)]
        if len(known) < len(wanted):
            names = dict.fromkeys(name for row in rows for name in row)
            check_there(wanted, [*(names | dict.fromkeys(known))])
        self.layout = same_layout(self.layout, counter.layout(known, file))
        unknown = [column for column in wanted if column not in known]
        plan = self._plan(known, rows)
        for block in blocks:
            group: Any = getattr(block, "group", None)
            if groups is None or group in groups:
                check_unread(block, unknown)
                BadRows(plan.max_bad).add(count(block, plan, self._held).bad)

    def _plan(self, known: Container[str], rows: Sequence[Row]) -> Plan:
        """Choose how the columns of a file are read, by its first rows."""
        counter = self._counter
        found = {argument: name for argument, name in counter.columns.items() if name in known}
        made = counter.make()
        columns = columns_of(_members(made), found, rows)
        if isinstance(made, (Sliced, Windowed)):
            columns = group_columns(made, found, columns)
        plan = Plan(counter.make, columns, update=partial(_update, options=counter.options))
        if counter.by is not None:
            plan = slices.parts_by_value(
                plan, counter.by, field_type=Values(), max_values=slices.MAX_SLICES
            )
        return plan

    def states(self) -> States:
        """End the count with the state of each value of the column `by`, or the one state."""
        held, self._held = self._held, None
        if self._counter.by is None:
            return {None: held.to_bytes()}
        parts = held.slices().by_value
        del held
        # each part is freed before the next one is written, which takes as much memory again
        return {value: parts.pop(value).to_bytes() for value in list(parts)}


def same_layout(layout: Layout, other: Layout) -> Layout:
    """Return what two sources, or lots of them, have in common.

    Raises
    ------
    MixedColumnsError
        If one has an optional column that the other lacks: rows would count with a weight in one
        and without in the other.
    """
    for column in layout.keys() & other.keys():
        (is_there, source), (is_in_other, name) = layout[column], other[column]
        if is_there != is_in_other:
            has, lacks = (source, name) if is_there else (name, source)
            raise MixedColumnsError(
                f"{lacks}: `{column}` is missing, and {has} has it. Pass "
                'missing_columns="default" to count each source with the columns that it has.'
            )
    return other | layout


def check_unread(block: Block, columns: Iterable[str]) -> None:
    """Refuse lines of JSON that have a column which the first lines of their file lack."""
    data = block.data if isinstance(block, JsonBlock) else b""
    for name in columns:
        if json.dumps(name.rpartition(".")[2]).encode() not in data:
            continue
        parsed = block.parse([Column(name, (name,), Values())])
        found = zip(parsed.row_ids, parsed.batch[name].tolist(), strict=True)
        line = next((line for line, value in found if value is not None), None)
        if line is not None:
            raise BadDataError(
                f"{block.source}, {block.unit} {line}: has `{name}`, which the first lines lack."
            )


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
    by_value: dict[Any, list[bytes]] = {}
    for part in parts:
        for value, state in part.items():
            by_value.setdefault(value, []).append(state)
    return {
        value: merge([from_bytes(state) for state in states]).to_bytes()
        for value, states in by_value.items()
    }


_TYPES: dict[str, Callable[[str], Any]] = {
    "NoneType": lambda _: None,
    "bool": "True".__eq__,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "int": int,
    "str": str,
    "time": time.fromisoformat,
}


def text_of(value: Any) -> tuple[str, str]:
    """Write a value of the column `by` as its type and its text."""
    return type(value).__name__, value.isoformat() if isinstance(value, (date, time)) else str(
        value
    )


def value_of(type_name: str, text: str) -> Any:
    """Read what `text_of` wrote.

    >>> value_of(*text_of(date(2024, 2, 29)))
    datetime.date(2024, 2, 29)
    """
    return _TYPES[type_name](text)


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
    """List the sources; there must be one. A batch is one, as a path is."""
    if is_path(sources) or Table.of(sources) is not None:
        return [sources]
    if not isinstance(sources, Iterable):
        type_name = type(sources).__name__
        raise InvalidInputError(
            f"must be paths, or batches with columns, got {type_name}", argument="sources"
        )
    listed = list(sources)
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
    table = _table_of(batch)
    check_there(dict.fromkeys(required.values(), True), table.names)
    return {
        argument: table.column(column)
        for argument, column in columns.items()
        if column in required.values() or table.holds(column)
    }


def _table_of(batch: Any) -> Table:
    """Read the names of the columns of a batch."""
    table = Table.of(batch)
    if table is None:
        type_name = type(batch).__name__
        raise InvalidInputError(
            f"must be paths, or batches with columns, got {type_name}", argument="sources"
        )
    return table


def _values(table: pa.Table, by: str) -> Any:
    """List the values of a column, as they are read from files."""
    column, field_type = Table(table, table.column_names).column(by), Values()
    items = values_of(column, "", field_type) if hasattr(column, "type") else column
    values = items if isinstance(items, np.ndarray) else field_type.whole(items)
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
