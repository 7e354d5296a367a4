"""What a worker does: count batches into states, by slice, and merge states into a new one."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Sized
from datetime import UTC, date, datetime, time
from functools import partial, reduce
from operator import methodcaller
from os import fspath
from typing import TYPE_CHECKING, Any, Self

import attrs
import numpy as np

from streameval.accumulators.base import Accumulator
from streameval.accumulators.persistence import from_bytes
from streameval.accumulators.sealed import live
from streameval.accumulators.sliced import Sliced
from streameval.accumulators.windowed import Windowed
from streameval.configs.collection import Member
from streameval.configs.inner import Inner, key_columns
from streameval.engines._shipping import Shipment, shipped
from streameval.engines._sources import PolarsFrame, Stream, is_path
from streameval.errors import BadDataError, IncompatibleStateError, InvalidInputError
from streameval.inputs.batches import TableBatch
from streameval.inputs.coded import CodedTexts
from streameval.inputs.paths import cuts
from streameval.inputs.values import order_of
from streameval.io.blocks import Block
from streameval.io.columns import Argument, Values
from streameval.io.errors import shown
from streameval.io.formats import read_blocks
from streameval.io.json_lines import JsonBlock
from streameval.io.parquet import values_of
from streameval.io.row_filters import Condition, RowFilter
from streameval.runs import slices
from streameval.runs.columns import chosen_columns, columns_of, group_columns
from streameval.runs.counting import Plan, count, update_with
from streameval.runs.files import Partition, files_of, partitions_of, with_partition
from streameval.runs.sources import RawRow, look_ahead, named_in
from streameval.runs.totals import BadRows
from streameval.states.state import field_types

if TYPE_CHECKING:
    import pyarrow as pa

Make = Callable[[], Any]
OnProgress = Callable[[int, int], object]
States = dict[Any, bytes]
"""The state of each value of the column `by`, or one state under None."""
OptionalColumns = dict[str, tuple[bool, str]]
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
    by : str, tuple of str or None
        The column whose values are counted apart, or several, whose values are tuples.
    options : mapping
        Keyword arguments of `update`.
    missing_columns : str
        Whether sources that lack an optional column are refused beside others that have it
        ("raise"), or counted without it ("default").
    complete : tuple of str
        The columns in which a null leaves its row out.
    """

    make: Make
    columns: dict[str, str]
    required: dict[str, str]
    by: str | tuple[str, ...] | None
    options: dict[str, Any]
    missing_columns: str = "raise"
    complete: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        make: Make,
        columns: Mapping[str, str] | None = None,
        by: str | Sequence[str] | None = None,
        options: Mapping[str, Any] | None = None,
        missing_columns: str = "raise",
        nulls: str = "raise",
    ) -> Self:
        """Check the arguments that every engine takes."""
        made = _checked(make)
        members, keys = _members(made), key_columns(made._config)
        read = dict.fromkeys(name for member in members for name in member.read.values())
        read |= dict.fromkeys(keys)
        chosen = chosen_columns(columns, read)
        if nulls not in ("raise", "skip"):
            raise InvalidInputError(f"must be 'raise' or 'skip', got {nulls!r}", argument="nulls")
        if missing_columns not in ("raise", "default"):
            raise InvalidInputError(
                f"must be 'raise' or 'default', got {missing_columns!r}", argument="missing_columns"
            )
        has_gaps = {
            array
            for member in members
            for argument, array in member.read.items()
            if argument in member.cls._arrays  # not a column of values that has this name
            and (argument in _GAPS or (argument == "y_true" and isinstance(made, Windowed)))
        }
        needed = {name for member in members for name in member.required.values()} | {*keys}
        return cls(
            make=make,
            columns={name: chosen.get(name, name) for name in read},
            required={name: chosen.get(name, name) for name in read if name in needed | {*chosen}},
            by=_by(by),
            options=dict(options or {}),
            missing_columns=missing_columns,
            complete=tuple(
                chosen.get(name, name) for name in read if nulls == "skip" and name not in has_gaps
            ),
        )

    def names(self, available: Iterable[str]) -> list[str]:
        """List the existing columns to read; an error names a required one that is missing.

        Of a path into a column, ``ctx.country``, the column is read.
        """
        known = list(available)
        check_there(self.wanted, known)
        held = (column_of(name, known) for name in self.wanted)
        return list(dict.fromkeys(name for name in held if name is not None))

    def layout(self, names: Container[str], source: str) -> OptionalColumns:
        """Note which optional columns a source has."""
        if self.missing_columns == "default":
            return {}
        optional = [column for column, is_needed in self.wanted.items() if not is_needed]
        return {column: (column in names, source) for column in optional}

    def layout_of(self, batch: Any, name: str) -> OptionalColumns:
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
            running = RunningCount(self)
            running.add_batch(source)
            return running.states()
        running = RunningCount(self)
        files = files_of(fspath(source))
        partitions = partitions_of([file for file, _ in files])
        for (file, form), partition in zip(files, partitions, strict=True):
            running.add_file(file, form, partition)
        return running.states()

    def count_batches(self, batches: Iterable[Any], name: str = "a batch") -> States:
        """Count batches into new accumulators; an error names the rows of its batch."""
        running = RunningCount(self)
        running.add_batches(batches, name)
        return running.states()

    def held(self) -> Any:
        """Make what counts batches: an accumulator, or one for each value of a column."""
        return self.make() if self.by is None else ByValue(self)

    def update(self, held: Any, batch: Any, values: Mapping[str, Any] | None = None) -> None:
        """Count a batch, with the column of values if rows are counted apart."""
        arrays = _renamed(batch, self.columns, self.required)
        if not _is_empty(next(iter(arrays.values()))):
            held.update({**arrays, **(values or {})}, **self.options)

    def result(self, states: States) -> Any:
        """Read the accumulator, or the dict from value to accumulator, in order of the values."""
        return self.result_of([states])

    def result_of(self, shares: Iterable[States]) -> Any:
        """Read states that come share by share, each with its own values."""
        read = read_in_order(shares)
        if self.by is None:
            return read[None] if read else self.make()
        return read

    @property
    def wanted(self) -> dict[str, bool]:
        """The columns to read, and whether they must be there."""
        by = () if self.by is None else slices.names_of(self.by)
        needed = {*self.required.values(), *by}
        return {column: column in needed for column in (*self.columns.values(), *by)}


def read_in_order(shares: Iterable[States]) -> dict[Any, Any]:
    """Read the accumulator of each value of a column, and put the values in order."""
    read = {value: from_bytes(states[value]) for states in shares for value in states}
    return {value: read[value] for value in sorted(read, key=order_of)}


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
    layout : OptionalColumns
        Which optional columns the sources with rows have.
    n_skipped : int
        How many rows were left out for their nulls.
    """

    def __init__(self, counter: SourceCounter) -> None:
        self._counter = counter
        self._empty = counter.make()
        self._held: Any = counter.held()
        self.layout: OptionalColumns = {}
        self.n_skipped = 0

    def add_batch(self, batch: Any, name: str = "a batch") -> None:
        """Count a batch, all of it or nothing."""
        counter = self._counter
        found = same_layout(self.layout, counter.layout_of(batch, name))
        n_skipped = 0
        if counter.complete:
            batch, n_skipped = _without_nulls(_arrow_table(batch), counter.complete)
        if counter.by is None:
            counter.update(self._held, batch)
        else:
            table = _arrow_table(batch)
            counter.update(self._held, table, {slices.ARGUMENT: _values(table, counter.by)})
        self.layout = found
        self.n_skipped += n_skipped

    def add_stream(self, source: PolarsFrame | Stream, name: str) -> None:
        """Count the batches of a frame or a stream."""
        counter = self._counter
        columns = counter.names(source.names())
        if isinstance(source, Stream):
            for file, names in source.files():
                self.layout = same_layout(self.layout, counter.layout(names, file))
        self.add_batches(source.batches(columns), name)

    def add_batches(self, batches: Iterable[Any], name: str) -> None:
        """Count batches, one after the other; an error names the rows of its batch."""
        n_rows = 0
        for batch in batches:
            start, n_rows = n_rows + 1, n_rows + len(batch)
            try:
                self.add_batch(batch, name)
            except InvalidInputError as error:
                raise error.within(f"{name}, rows {start:,} to {n_rows:,}") from error

    def add_file(
        self,
        file: str,
        form: str | None = None,
        partition: Partition = (),
        groups: Container[int] | None = None,
    ) -> None:
        """Count a file, or some row groups of it, with the columns that its folders name.

        Raises
        ------
        BadDataError
            If it cannot be read or holds a row that is refused. What stands before that row may
            have been counted by then.
        """
        try:
            self._add_file(file, form, partition, groups)
        except (InvalidInputError, IncompatibleStateError) as error:
            raise BadDataError(f"{file}: {error}") from error

    def _add_file(
        self, file: str, form: str | None, partition: Partition, groups: Container[int] | None
    ) -> None:
        counter, wanted = self._counter, self._counter.wanted
        read = with_partition(read_blocks(file, form), partition, wanted)
        rows, blocks = look_ahead(read, names=wanted)
        if not rows:
            return
        known = named_in(rows, wanted)
        unknown = [column for column in wanted if column not in known]
        if any(wanted[column] for column in unknown):
            names = dict.fromkeys(name for row in rows for name in row)
            check_there(wanted, [*(names | dict.fromkeys(known))])
        self.layout = same_layout(self.layout, counter.layout(known, file))
        plan = self._plan(known, rows)
        for block in blocks:
            group: Any = getattr(block, "group", None)
            if groups is None or group in groups:
                check_unread(block, unknown)
                counted = count(block, plan, self._held)
                BadRows(plan.max_bad).add(counted.bad)
                self.n_skipped += counted.n_left_out

    def _plan(self, known: Container[str], rows: Sequence[RawRow]) -> Plan:
        """Choose how the columns of a file are read, by its first rows."""
        counter = self._counter
        found = {argument: name for argument, name in counter.columns.items() if name in known}
        columns = columns_of(_members(self._empty), found, rows)
        columns = group_columns(self._empty, found, columns)
        conditions = [Condition(name, "!=", ("",)) for name in counter.complete if name in known]
        if counter.by is not None:
            columns = (*columns, Argument(slices.ARGUMENT, slices.names_of(counter.by), Values()))
        return Plan(
            counter.held,
            columns,
            update=partial(update_with, **counter.options),
            where=RowFilter(tuple(conditions)) if conditions else None,
        )

    def states(self) -> States:
        """End the count with the state of each value of the column `by`, or the one state."""
        return self._ended(methodcaller("to_bytes"))

    def shipment(self) -> Shipment:
        """End the count as `states` does, with rows uncounted that a merge will count."""
        return self._ended(shipped)

    def _ended(self, write: Callable[[Any], Any]) -> dict[Any, Any]:
        held, self._held = self._held, None
        if self._counter.by is None:
            return {None: write(held)}
        return {_key(value): write(part) for value, part in held.taken_apart()}


class ByValue:
    """Rows counted apart for each value of a column, of any type: a table knows their numbers.

    Parameters
    ----------
    counter : SourceCounter
        What is counted.
    """

    def __init__(self, counter: SourceCounter) -> None:
        empty, self._column = counter.make(), counter.by
        self._empty = empty
        self._numbers: dict[Any, int] = {}
        self._table: Any = None
        if counter.options or _goes_apart(empty):
            self._table = slices.Apart(empty, (slices.ARGUMENT,))
        else:
            self._table = Sliced(empty, slices.ARGUMENT, max_values=slices.MAX_SLICES)

    def update(self, batch: Mapping[str, Any], **options: Any) -> None:
        """Count each row with the accumulator of its value, all or nothing."""
        values, numbers = batch[slices.ARGUMENT], dict(self._numbers)
        if not isinstance(values, CodedTexts):
            items = values.tolist() if isinstance(values, np.ndarray) else values
            is_one = isinstance(self._column, str)
            values = CodedTexts.of_items(items if is_one else [*map(tuple, items)])
        codes = values.recoded(
            lambda observed: np.array([numbers.setdefault(one, len(numbers)) for one in observed])
        )
        limit = slices.MAX_SLICES
        if len(numbers) > limit:
            raise InvalidInputError(
                f"must name a column of at most {limit} values, got more of {self._column!r}",
                argument="by",
            )
        self._table.update(
            {**batch, slices.ARGUMENT: CodedTexts(codes, range(len(numbers)))}, **options
        )
        self._numbers = numbers

    def taken_apart(self) -> Iterator[tuple[Any, Any]]:
        """Yield the values and their accumulators.

        Each is freed before the next one, because to write it takes as much memory again.
        """
        parts, self._table = dict(self._table.view().every), None
        for value, number in self._numbers.items():
            yield value, live(parts.pop(number, self._empty))


def _goes_apart(empty: Accumulator[Any, Any]) -> bool:
    """Tell whether each value is counted apart: queries, panes, slices, and states that grow.

    A table would copy the cells of all values with each batch, and could send no rows of curves;
    and the labels that values have of their own need not be few, or of one type, for all together.
    """
    inner = Inner(type(empty), empty._config)
    if empty._depth >= Sliced._depth or inner.queries:
        return True
    return any(
        getattr(member.options, "is_open", False)
        or "Column" in field_types(member.cls._state_type(member.options)).values()
        for member in inner.counted
    )


def same_layout(layout: OptionalColumns, other: OptionalColumns) -> OptionalColumns:
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
    if not isinstance(block, JsonBlock):
        return
    for name in columns:
        if json.dumps(name.rpartition(".")[2]).encode() not in block.data:
            continue
        parsed = block.parse([Argument(name, (name,), Values())])
        found = zip(parsed.row_ids, parsed.batch[name].tolist(), strict=True)
        line = next((line for line, value in found if value is not None), None)
        if line is not None:
            raise BadDataError(
                f"{block.source}, {block.unit} {line}: has `{name}`, which the first lines lack."
            )


_GAPS = ("relevance", "score")
"""Arguments that may be null, of documents that are not judged or not retrieved."""

_TYPES: dict[str, Callable[[str], Any]] = {
    "NoneType": lambda _: None,
    "bool": "True".__eq__,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "int": int,
    "str": str,
    "time": time.fromisoformat,
    "tuple": lambda text: tuple(value_of(*item) for item in json.loads(text)),
}


def text_of(value: Any) -> tuple[str, str]:
    """Write a value of the column `by`, or of several, as its type and its text."""
    if isinstance(value, tuple):
        text = json.dumps(list(map(text_of, value)))
    else:
        text = value.isoformat() if isinstance(value, (date, time)) else str(value)
    return type(value).__name__, text


def value_of(type_name: str, text: str) -> Any:
    """Read what `text_of` wrote.

    >>> value_of(*text_of(date(2024, 2, 29)))
    datetime.date(2024, 2, 29)
    """
    return _TYPES[type_name](text)


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


def _by(by: Any) -> str | tuple[str, ...] | None:
    """Check the names of columns; a list of one is that one."""
    if by is None or isinstance(by, str):
        return by
    names: list[Any] = list(by) if isinstance(by, Sequence) else []
    if not names or len(set(names)) < len(names) or set(map(type, names)) != {str}:
        raise InvalidInputError(
            f"must be the name of a column, or different ones, got {by!r}", argument="by"
        )
    return tuple(names) if len(names) > 1 else names[0]


def _key(value: Any) -> Any:
    """Tell moments apart by themselves, whatever the time zone that they are written in."""
    if isinstance(value, tuple):
        return tuple(map(_key, value))
    is_moment = isinstance(value, datetime) and value.tzinfo is not None
    return value.astimezone(UTC) if is_moment else value


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
    return Inner(type(accumulator), accumulator._config).counted


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


def _table_of(batch: Any) -> TableBatch:
    """Read the names of the columns of a batch."""
    table = TableBatch.of(batch)
    if table is None:
        type_name = type(batch).__name__
        raise InvalidInputError(
            f"must be paths, or batches with columns, got {type_name}", argument="sources"
        )
    return table


def _without_nulls(table: pa.Table, names: Iterable[str]) -> tuple[pa.Table, int]:
    """Leave out the rows with a null in a column, and count them."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    read = TableBatch(table, table.column_names)
    columns = [read.column(name) for name in names if read.holds(name)]
    masks = [
        (column if hasattr(column, "type") else pa.array(column)).is_valid() for column in columns
    ]
    both = partial(pc.call_function, "and")
    kept = table.filter(reduce(lambda *pair: both(list(pair)), masks)) if masks else table
    return kept, table.num_rows - kept.num_rows


def _values(table: pa.Table, by: str | tuple[str, ...]) -> Any:
    """List the values of a column, or of several, as they are read from files."""
    if isinstance(by, tuple):
        return list(zip(*(_values(table, name) for name in by), strict=True))
    column, field_type = TableBatch(table, table.column_names).column(by), Values()
    items = values_of(column, "", field_type) if hasattr(column, "type") else column
    values = items if isinstance(items, (np.ndarray, CodedTexts)) else field_type.whole(items)
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
