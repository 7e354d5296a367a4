"""Parquet files, read with pyarrow, the extra `arrow`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np

from streameval.errors import BadDataError, InvalidInputError
from streameval.exact.array_types import Array
from streameval.inputs.coded import CodedTexts, coded_texts
from streameval.inputs.paths import cuts, find
from streameval.io.blocks import Parsed, assemble, fields_read
from streameval.io.columns import (
    Argument,
    FieldType,
    Flags,
    Labels,
    Lists,
    Numbers,
    Values,
    Vectors,
    array_of,
    objects,
)
from streameval.io.errors import shown
from streameval.io.recognition import PARQUET_MAGIC, check_is_text
from streameval.io.streams import STANDARD_INPUT, opened, reading, size_of, store_of

if TYPE_CHECKING:
    from streameval.io.row_filters import RowFilter

_SHOWN = 128
_SMALL = 2**20
"""Up to this number of bytes, a file or a row group is read at once, and only once."""
_LARGE = 2**16
"""For at least this many rows, the threads of pyarrow save more time than they cost.

Their values, decoded, may take a thousand times as many bytes as in the file.
"""
_WORD = 8
_ENCRYPTED_MAGIC = b"PARE"
_NUMBERS = ("int", "uint", "float", "double", "halffloat", "bool")
_REPEATED = ("int", "uint", "bool", "date")
"""Types whose values are equal only if they are identical."""
_SINGLE = (*_NUMBERS, "decimal", "string", "large_string", "date", "timestamp", "time")


@attrs.frozen
class ParquetBlock:
    """One row group of a file; the worker reads only the columns that it needs.

    Parameters
    ----------
    source : str
        The path of the file.
    group : int
        The number of the row group.
    first_row : int
        The number of its first row, counted from 1.
    taken : int
        The number of bytes of the file that it covers.
    unended : str
        Empty: a Parquet file is read completely or not at all.
    opened : _OpenParquet, optional
        The file while it is open; another process opens it again.
    """

    unit: ClassVar[str] = "row"
    source: str
    group: int
    first_row: int
    taken: int
    unended: str = ""
    _opened: Any = attrs.field(default=None, alias="opened", eq=False, repr=False)

    def __reduce__(self) -> tuple[type[ParquetBlock], tuple[Any, ...]]:
        """Pickle everything but the open file."""
        return ParquetBlock, (self.source, self.group, self.first_row, self.taken, self.unended)

    def rows(self, names: Iterable[str] | None = None) -> Iterator[Mapping[str, Any]]:
        """Yield the rows; columns of bytes, unions and other nested types are left out as None."""
        with _file(self.source, self._opened) as file:
            shown = [
                path
                for field in file.schema
                if names is None or _is_wanted(field.name, names)
                for path in _readable_paths(field)
            ]
            listed = list(dict.fromkeys(file.schema.names))
            for batch in file.batches(self.group, shown):
                unread = [None] * batch.num_rows
                read = dict(zip(batch.schema.names, map(arrow_items, batch.columns), strict=True))
                columns = [read.get(name, unread) for name in listed]
                rows = zip(*columns, strict=True) if columns else repeat((), batch.num_rows)
                yield from map(dict, map(zip, repeat(listed), rows))

    def parse(self, columns: Sequence[Argument], where: RowFilter | None = None) -> Parsed:
        """Read the columns; a row with a null in one of them is bad."""
        fields = fields_read(columns, where)
        with _file(self.source, self._opened) as file:
            paths = {name: _found(name, file.schema, self.source) for name, _ in fields}
            table = file.table(self.group, [".".join(path.structs) for path in paths.values()])
            values = {
                field: values_of(*paths[field[0]].within(table), field[1]) for field in fields
            }
        row_ids = range(self.first_row, self.first_row + table.num_rows)
        return assemble(columns, values, row_ids, where=where)


class _OpenParquet:
    """An open file that remembers the last small row group it read.

    The rows that are looked at first are counted next, by the same columns.

    Parameters
    ----------
    file : ParquetFile

    Attributes
    ----------
    schema : pyarrow.Schema
        Its columns.
    metadata : pyarrow.parquet.FileMetaData
        Its row groups.
    is_closed : bool
        Whether it can no longer be read.
    """

    def __init__(self, file: Any) -> None:
        self._file = file
        self.schema: Any = file.schema_arrow
        self.metadata: Any = file.metadata
        self.is_closed = False
        self._last: tuple[int, set[str], Any] | None = None

    def close(self) -> None:
        """Free what is held of the file."""
        self.is_closed = True
        self._last = None
        self._file.close(force=True)

    def batches(self, group: int, columns: Sequence[str]) -> Iterator[Any]:
        """Read a few rows at a time."""
        if self._is_small(group):
            table, size = self.table(group, columns), self.metadata.row_group(group).num_rows
            # a slice of no columns is as long as it is asked to be
            return (table.slice(at, min(_SHOWN, size - at)) for at in range(0, size, _SHOWN))
        batches: Iterator[Any] = self._file.iter_batches(
            batch_size=_SHOWN, row_groups=[group], columns=columns, use_threads=False
        )
        return batches

    def table(self, group: int, columns: Iterable[str]) -> Any:
        """Read a row group."""
        wanted = set(columns)
        if self._last is not None and self._last[:2] == (group, wanted):
            return self._last[2]
        table = self._file.read_row_group(
            group, columns=list(wanted), use_threads=self._is_long(group)
        )
        if self._is_small(group):
            self._last = group, wanted, table
        return table

    def _is_long(self, group: int) -> bool:
        return bool(self.metadata.row_group(group).num_rows >= _LARGE)

    def _is_small(self, group: int) -> bool:
        n_bytes = self.metadata.row_group(group).total_byte_size
        return bool(n_bytes <= _SMALL) and not self._is_long(group)


def parquet_blocks(source: str) -> Iterator[ParquetBlock]:
    """Yield the row groups of a file as blocks."""
    if source == STANDARD_INPUT:
        raise InvalidInputError("parquet cannot be read from standard input", argument="format")
    first_row = 1
    with _file(source) as file:
        for number in range(file.metadata.num_row_groups):
            group = file.metadata.row_group(number)
            size = sum(group.column(at).total_compressed_size for at in range(group.num_columns))
            yield ParquetBlock(source, number, first_row, size, opened=file)
            first_row += group.num_rows


@contextmanager
def _file(source: str, open_file: _OpenParquet | None = None) -> Iterator[_OpenParquet]:
    """Open a file with pyarrow, unless it is still open; convert errors to ours."""
    held = None if open_file is None or open_file.is_closed else open_file
    data = _checked(source) if held is None else None
    try:
        import pyarrow  # noqa: PLC0415 (optional, and slow to import)
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError:
        needed = 'pip install "streameval[arrow]"'
        raise InvalidInputError(f"{source}: Parquet needs pyarrow: {needed}.") from None
    found = store_of(source) if held is None else None
    try:
        stored: Any = source if found is None else found[0].open_input_file(found[1])
        if data is not None:  # which pyarrow decodes without a second thread
            stored = pyarrow.BufferReader(data)
        file = held or _OpenParquet(parquet.ParquetFile(stored))
        with nullcontext() if held else closing(file):
            yield file
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        # The message may quote the file, with any content.
        reason = repr(str(error).partition("\n")[0].rstrip("."))[1:-1]
        raise BadDataError(f"{source}: not a sound Parquet file ({reason}).") from None


def _checked(source: str) -> bytes | None:
    """Refuse a file that does not begin and end like Parquet, before pyarrow allocates memory.

    Returns
    -------
    bytes or None
        All of a small file.
    """
    size, data = size_of(source), None
    if size is not None and size <= _SMALL:
        with reading(source):
            data = Path(source).read_bytes()
    if data is None or not data.startswith(PARQUET_MAGIC):
        with opened(source) as stream:  # what is wrong is reported as for every other format
            head = stream.peek()
        if not head.startswith(PARQUET_MAGIC):
            check_is_text(head, source)
    if size is None:  # pyarrow reads it from a store
        return None
    end = _end(source) if data is None else data[-len(PARQUET_MAGIC) :]
    if end not in (PARQUET_MAGIC, _ENCRYPTED_MAGIC):
        reason = "it does not end as one; is it cut short?"
        raise BadDataError(f"{source}: not a sound Parquet file ({reason}).")
    return data


def _end(source: str) -> bytes:
    with reading(source), Path(source).open("rb", buffering=0) as file:
        file.seek(-min(len(PARQUET_MAGIC), os.fstat(file.fileno()).st_size), os.SEEK_END)
        return file.read()


@attrs.frozen
class _Path:
    """The position of a field in a table.

    Parameters
    ----------
    structs : tuple of str
        The column, and the nested fields of structures in it.
    rest : str
        The path inside the values if these are lists or maps; usually empty.
    """

    structs: tuple[str, ...]
    rest: str = ""

    def within(self, table: Any) -> tuple[Any, str]:
        """Return the column, and the path inside its values."""
        column, *inner = self.structs
        found = table.column(column)
        return (_field_within(found, list(inner)) if inner else found), self.rest


def _found(name: str, schema: Any, source: str) -> _Path:
    """Find a column that the file has exactly once, or a path into one.

    Raises
    ------
    BadDataError
        If there is none, or there are several.
    """
    n_found = schema.names.count(name)
    if n_found > 1:
        raise BadDataError(f"{source}: there are {n_found} columns {shown(name)}.")
    if n_found:
        return _Path((name,))
    for column, rest in cuts(name):
        if schema.names.count(column) == 1:
            inner = _inside(schema.field(column).type, rest)
            if inner is not None:
                return _Path((column, *inner.structs), inner.rest)
    raise BadDataError(f"{source}: there is no column {shown(name)}.")


def _inside(arrow_type: Any, path: str) -> _Path | None:
    """Follow a path into nested structures of a type."""
    if not path or hasattr(arrow_type, "value_type") or hasattr(arrow_type, "item_type"):
        return _Path((), path)
    if not str(arrow_type).startswith("struct"):
        return None
    known = {field.name: field.type for field in arrow_type}
    for name, rest in [(path, ""), *cuts(path)]:
        inner = _inside(known[name], rest) if name in known else None
        if inner is not None:
            return _Path((name, *inner.structs), inner.rest)
    return None


def _is_wanted(column: str, names: Iterable[str]) -> bool:
    """Tell whether a column, or a field inside it, is to be read."""
    return any(name == column or name.startswith(f"{column}.") for name in names)


def _readable_paths(field: Any, prefix: str = "") -> Iterator[str]:
    """List the columns of numbers, text, dates, and lists of these, in a column of a file."""
    path = prefix + field.name
    if str(field.type).startswith("struct"):
        for inner in field.type:
            yield from _readable_paths(inner, f"{path}.")
    elif _is_readable(field.type):
        yield path


def _is_readable(arrow_type: Any) -> bool:
    """Tell whether JSON could hold a value, from the name of its Arrow type."""
    if str(arrow_type).startswith("struct"):
        return all(_is_readable(field.type) for field in arrow_type)
    inner = getattr(arrow_type, "item_type", getattr(arrow_type, "value_type", None))
    return str(arrow_type).startswith(_SINGLE) if inner is None else _is_readable(inner)


def values_of(column: Any, path: str, wanted: FieldType) -> Sequence[Any] | Array:
    """Convert an Arrow column to an array if that is safe, else to a list to be checked."""
    coded: Sequence[Any] | None = None if path else _coded(column, wanted)
    if coded is not None:
        return coded
    column = _decoded(column)
    if path:
        return [find(item, path) for item in arrow_items(column)]
    if isinstance(wanted, Values) and str(column.type).startswith(_REPEATED):
        return _repeated(column, wanted)
    array = None
    if column.null_count == 0 and not isinstance(wanted, Lists):
        array = (
            _vectors(column, wanted) if isinstance(wanted, Vectors) else _scalars(column, wanted)
        )
    return arrow_items(column) if array is None else array


def arrow_items(column: Any) -> list[Any]:
    """List the values of an Arrow column; times finer than microseconds become text."""
    import pyarrow as pa  # noqa: PLC0415

    if pa.types.is_struct(column.type):
        return _structs(column)
    if str(column.type).startswith(("timestamp[ns", "time64[ns")):
        is_time = pa.types.is_time(column.type)
        coarser = pa.time64("us") if is_time else pa.timestamp("us", column.type.tz)
        try:
            column = column.cast(coarser)
        except pa.ArrowInvalid:  # Python has no nanoseconds
            column = column.cast(pa.string())
    items: list[Any] = column.to_pylist()
    if str(column.type).startswith("map<"):
        return [None if item is None else dict(item) for item in items]
    return items


def _field_within(column: Any, path: list[Any]) -> Any:
    """Return a nested field of structures, given a path of names or positions."""
    import pyarrow.compute  # noqa: PLC0415

    compute: Any = pyarrow.compute
    return compute.struct_field(column, path)


def _structs(column: Any) -> list[Any]:
    """List structures as dicts, with their fields read like columns."""
    names = [field.name for field in column.type]
    parts = [arrow_items(_field_within(column, [at])) for at in range(len(names))]
    rows = zip(column.is_valid().to_pylist(), *parts, strict=True)
    return [dict(zip(names, row, strict=True)) if is_valid else None for is_valid, *row in rows]


def _decoded(column: Any) -> Any:
    """Decode a dictionary column, which pandas calls categorical, to one value per row."""
    is_encoded = str(column.type).startswith("dictionary")
    return column.cast(column.type.value_type) if is_encoded else column


def _scalars(column: Any, wanted: FieldType) -> Array | None:
    """Return numbers as an array, no wider than they are in the column where that is exact."""
    if not str(column.type).startswith(_NUMBERS):
        return None
    values = array_of(column)
    category = values.dtype.kind
    if isinstance(wanted, Numbers) and category in "fiu":
        return values if values.dtype == np.float32 else values.astype(np.float64, copy=False)
    if isinstance(wanted, Labels) and wanted.integers:
        if category == "b":
            return values.view(np.int8)
        fits = category == "u" and values.itemsize < _WORD and not wanted.among
        return values if category == "i" or fits else None
    if isinstance(wanted, Flags) and category == "b":
        return values
    return None


def _repeated(column: Any, wanted: Values) -> Array:
    """Read each distinct value once."""
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    distinct = objects([wanted.made(value) for value in arrow_items(encoded.dictionary)])
    values: Array = distinct[array_of(encoded.indices)]
    return values


def _coded(column: Any, wanted: FieldType) -> Any:
    """Read texts as codes, which a dictionary has; None for anything else."""
    if not isinstance(wanted, Values | Labels) or (isinstance(wanted, Labels) and wanted.integers):
        return None
    coded = coded_texts(column)
    if coded is None and isinstance(wanted, Values):
        column = _decoded(column)
        if str(column.type) not in ("string", "large_string"):
            return None
        encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
        codes = array_of(encoded.indices).astype(np.int64)
        coded = CodedTexts(codes, encoded.dictionary.to_pylist())
    return None if coded is None or any(map(wanted.fault, coded.texts)) else coded


def _vectors(column: Any, wanted: Vectors) -> Array | None:
    lists = column.combine_chunks()
    # Only Arrow's list types have lengths.
    if not hasattr(lists, "value_lengths") or np.any(
        array_of(lists.value_lengths()) != wanted.width
    ):
        return None
    flat = lists.flatten()
    if flat.null_count or not str(flat.type).startswith(_NUMBERS):
        return None
    values = array_of(flat)
    if values.dtype.kind not in ("ib" if wanted.integers else "fiu"):
        return None
    dtype = np.int64 if wanted.integers else np.float64
    return values.astype(dtype).reshape(-1, wanted.width)
