"""Blocks: parts of a file that a worker process can parse by itself, into a batch and bad rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import attrs
import numpy as np

from streameval.exact.array_types import Array
from streameval.inputs.coded import CodedTexts
from streameval.io.columns import Argument, FieldType, what_is_wrong

if TYPE_CHECKING:
    from streameval.io.row_filters import RowFilter

# The number of a line or row, or the name of a query, and its fault.
Fault = tuple[Any, str]
# The name and type of a field: one column of a file may serve two arguments.
Field = tuple[str, FieldType]

_ARRAYS = (np.ndarray, CodedTexts)


@attrs.frozen(eq=False, repr=False)
class Parsed:
    """What a block holds.

    Parameters
    ----------
    batch : mapping from argument to array
        The good rows.
    row_ids : sequence of int or str
        The line or row number of each, or its query.
    faults : list of (int or str, str)
        The bad rows, in order.
    n_left_out : int
        The number of rows that a filter left out.
    n_rows : int, optional
        The number of rows of the file that are good; by default the number of `row_ids`.
    zones : set of bool
        Whether times as text have an offset from UTC: some, none, or both.
    """

    batch: Mapping[str, Array]
    row_ids: Sequence[Any]
    faults: list[Fault]
    n_left_out: int = 0
    n_rows: int = attrs.field(
        default=attrs.Factory(lambda parsed: len(parsed.row_ids), takes_self=True)
    )
    zones: set[bool] = attrs.field(factory=set)


def fields_read(columns: Sequence[Argument], where: RowFilter | None = None) -> list[Field]:
    """List the fields that the columns and a filter read, each once."""
    read = columns if where is None else (*columns, *where.columns)
    fields = [
        (name, column.field_type)
        for column in read
        for name in column.names
        if name not in dict(column.fixed)
    ]
    return list(dict.fromkeys(fields))


def assemble(
    columns: Sequence[Argument],
    values: Mapping[Field, Sequence[Any] | Array],
    row_ids: Sequence[int],
    faults: Iterable[Fault] = (),
    where: RowFilter | None = None,
) -> Parsed:
    """Make a batch from the rows that a filter keeps and whose fields are all valid.

    Parameters
    ----------
    columns : sequence of Argument
        The arguments to make.
    values : mapping
        The values of every field, all of the same length: unchecked lists, or arrays.
    row_ids : sequence of int
        The line or row number of each.
    faults : iterable of (int, str)
        The bad rows found so far.
    where : RowFilter, optional
        The rows to use.
    """
    if where is not None:
        return _filtered(columns, values, row_ids, faults, where)
    values = {**dict(_fixed(columns, len(row_ids))), **values}
    arrays = {field: _checked(field, items) for field, items in values.items()}
    bad = _misfits({field: values[field] for field, array in arrays.items() if array is None})
    if bad:
        good = [position not in bad for position in range(len(row_ids))]
        kept = {field: _kept(items, good) for field, items in values.items()}
        more = [(row_ids[position], reason) for position, reason in bad.items()]
        return assemble(columns, kept, list(compress(row_ids, good)), [*faults, *more])
    batch = {column.argument: _argument(column, arrays) for column in columns}
    zones = set[bool]()
    for (_, field_type), items in values.items():
        if zones_of := getattr(field_type, "zones", None):  # of times
            zones |= zones_of(items)
    return Parsed(batch, row_ids, sorted(faults), zones=zones)


def _filtered(
    columns: Sequence[Argument],
    values: Mapping[Field, Sequence[Any] | Array],
    row_ids: Sequence[int],
    faults: Iterable[Fault],
    where: RowFilter,
) -> Parsed:
    """Assemble the rows that a filter keeps, and ignore faults of other rows."""
    asked = {field: values[field] for field in fields_read(where.columns)}
    decided = assemble(where.columns, asked, range(len(row_ids)))
    kept = np.zeros(len(row_ids), dtype=bool)
    kept[decided.row_ids] = where.kept(decided.batch)
    good = kept.tolist()
    chosen = {field: _kept(values[field], good) for field in fields_read(columns)}
    more = [(row_ids[position], reason) for position, reason in decided.faults]
    parsed = assemble(columns, chosen, list(compress(row_ids, good)), [*faults, *more])
    return attrs.evolve(parsed, n_left_out=len(decided.row_ids) - int(kept.sum()))


def _fixed(columns: Sequence[Argument], n_rows: int) -> Iterator[tuple[Field, Any]]:
    """Repeat the values of fields that no row holds."""
    for column in columns:
        for name, value in column.fixed:
            if name in column.names:
                one = column.field_type.whole([value])
                every = [value] * n_rows if one is None else one[np.zeros(n_rows, dtype=np.intp)]
                yield (name, column.field_type), every


def _checked(field: Field, values: Sequence[Any] | Array) -> Array | None:
    return values if isinstance(values, _ARRAYS) else field[1].whole(values)


def _misfits(values: Mapping[Field, Sequence[Any] | Array]) -> dict[int, str]:
    """Find the positions of invalid rows, each with its first fault."""
    found: dict[int, str] = {}
    for field, items in values.items():
        for position, value in enumerate(items):
            reason = what_is_wrong(*field, value)
            if reason is not None:
                found.setdefault(position, reason)
    return found


def _kept(values: Sequence[Any] | Array, good: list[bool]) -> Sequence[Any] | Array:
    return values[good] if isinstance(values, _ARRAYS) else list(compress(values, good))


def _argument(column: Argument, arrays: Mapping[Field, Any]) -> Array:
    parts = [arrays[name, column.field_type] for name in column.names]
    array: Array = np.stack(parts, axis=1) if len(parts) > 1 else parts[0]
    return array if column.item is None else array[:, column.item]


class Block(Protocol):
    """A part of a file: a frozen value that pickles and can be parsed on its own.

    Its `unit` is what messages call a row: "line", "row" or "query" of a file, "offset" or
    "entry" of a server.
    """

    unit: ClassVar[str]

    @property
    def source(self) -> str:
        """The name of the file for messages."""
        ...

    @property
    def taken(self) -> int:
        """How many bytes of the file it covers, before unpacking."""
        ...

    @property
    def unended(self) -> str:
        """What the last line of the file lacks, if the block ends with it; otherwise empty."""
        ...

    def rows(self, names: Iterable[str] | None = None) -> Iterator[Mapping[str, Any]]:
        """Yield the readable rows with all of their fields, for display.

        Fields that are not among `names` may be None.
        """
        ...

    def parse(self, columns: Sequence[Argument], where: RowFilter | None = None) -> Parsed:
        """Read the columns of the rows that a filter keeps; set apart rows that cannot be read.

        Raises
        ------
        BadDataError
            If the block as a whole cannot be read.
        """
        ...
