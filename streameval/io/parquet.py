"""Parquet files, by way of pyarrow, the extra `arrow`."""

from __future__ import annotations

import os
from contextlib import contextmanager, nullcontext
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np

from streameval.errors import BadDataError, InvalidInputError
from streameval.inputs.coded import CodedTexts
from streameval.inputs.paths import cuts, find
from streameval.io.columns import (
    Array,
    FieldType,
    Flags,
    Labels,
    Lists,
    Numbers,
    Values,
    Vectors,
    objects,
)
from streameval.io.errors import shown
from streameval.io.recognition import PARQUET_MAGIC, check_is_text
from streameval.io.rows import Parsed, assemble, fields_of
from streameval.io.streams import STANDARD_INPUT, opened, reading, size_of, store_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from streameval.io.columns import Column
    from streameval.io.row_filters import RowFilter

__all__ = ["ParquetBlock", "items_of", "parquet_blocks", "values_of"]

_SHOWN = 128
_LARGE = 2**16
"""From so many rows on, the threads of pyarrow save more time than they take."""
_ENCRYPTED_MAGIC = b"PARE"
_NUMBERS = ("int", "uint", "float", "double", "halffloat", "bool")
_REPEATED = ("int", "uint", "bool", "date")
"""Every value of these types can be told apart."""
_SINGLE = (*_NUMBERS, "decimal", "string", "large_string", "date", "timestamp", "time")


@attrs.frozen
class ParquetBlock:
    """One row group of a file; the worker reads it, and of it only the columns it needs.

    Parameters
    ----------
    source : str
        The path of the file.
    group : int
        The number of the row group.
    first_row : int
        The number of its first row, counted from 1.
    taken : int
        How many bytes of the file it covers.
    unended : str
        Nothing: such a file is read whole or not at all.
    opened : ParquetFile, optional
        The open file, as long as it is; another process opens it again.
    """

    unit: ClassVar[str] = "row"
    source: str
    group: int
    first_row: int
    taken: int
    unended: str = ""
    _opened: Any = attrs.field(default=None, alias="opened", eq=False, repr=False)

    def __reduce__(self) -> tuple[type[ParquetBlock], tuple[Any, ...]]:
        """Leave the open file here."""
        return ParquetBlock, (self.source, self.group, self.first_row, self.taken, self.unended)

    def rows(self, names: Iterable[str] | None = None) -> Iterator[Mapping[str, Any]]:
        """Yield the rows; columns of bytes, unions and other nested types are left out as None."""
        with _file(self.source, self._opened) as file:
            schema = file.schema_arrow
            shown = [
                path
                for field in schema
                if names is None or _is_wanted(field.name, names)
                for path in _plain_paths(field)
            ]
            batches = file.iter_batches(
                batch_size=_SHOWN, row_groups=[self.group], columns=shown, use_threads=False
            )
            unread = dict.fromkeys(schema.names)
            for batch in batches:
                found = batch.schema.names
                columns = [items_of(column) for column in batch.columns]
                listed = zip(*columns, strict=True) if columns else repeat((), batch.num_rows)
                for row in listed:
                    yield unread | dict(zip(found, row, strict=True))

    def parse(self, columns: Sequence[Column], where: RowFilter | None = None) -> Parsed:
        """Read the columns; rows with a null in one of them are bad."""
        fields = fields_of(columns, where)
        with _file(self.source, self._opened) as file:
            paths = {name: _found(name, file.schema_arrow, self.source) for name, _ in fields}
            read = [".".join(path.structs) for path in paths.values()]
            is_large = file.metadata.row_group(self.group).num_rows >= _LARGE
            table = file.read_row_group(
                self.group, columns=list(dict.fromkeys(read)), use_threads=is_large
            )
            values = {
                field: values_of(*paths[field[0]].within(table), field[1]) for field in fields
            }
        row_ids = range(self.first_row, self.first_row + table.num_rows)
        return assemble(columns, values, row_ids, where=where)


def parquet_blocks(source: str) -> Iterator[ParquetBlock]:
    """Yield the row groups of a file as blocks."""
    if source == STANDARD_INPUT:
        raise InvalidInputError("parquet cannot be read from standard input", argument="format")
    first_row = 1
    with _file(source) as file:
        for number in range(file.num_row_groups):
            group = file.metadata.row_group(number)
            size = sum(group.column(at).total_compressed_size for at in range(group.num_columns))
            yield ParquetBlock(source, number, first_row, size, opened=file)
            first_row += group.num_rows


@contextmanager
def _file(source: str, open_file: Any = None) -> Iterator[Any]:
    """Open a file with pyarrow, unless it is open still; its errors are made into ours."""
    is_open = open_file is not None and not open_file.closed
    if not is_open:
        _check_ends(source)
    try:
        import pyarrow  # noqa: PLC0415 (optional, and slow to import)
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError:
        needed = 'pip install "streameval[arrow]"'
        raise InvalidInputError(f"{source}: Parquet needs pyarrow: {needed}.") from None
    found = None if is_open else store_of(source)
    try:
        stored = source if found is None else found[0].open_input_file(found[1])
        with nullcontext(open_file) if is_open else parquet.ParquetFile(stored) as file:
            yield file
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        # The message may quote the file, whatever it holds.
        reason = repr(str(error).partition("\n")[0].rstrip("."))[1:-1]
        raise BadDataError(f"{source}: not a sound Parquet file ({reason}).") from None


def _check_ends(source: str) -> None:
    """Refuse a file that does not begin and end as Parquet, before pyarrow takes memory."""
    with opened(source) as stream:  # what is wrong is reported as for every other format
        head = stream.peek()
    if not head.startswith(PARQUET_MAGIC):
        check_is_text(head, source)
    if size_of(source) is None:  # pyarrow reads it from a store
        return
    with reading(source), Path(source).open("rb") as file:
        file.seek(-min(len(PARQUET_MAGIC), os.fstat(file.fileno()).st_size), os.SEEK_END)
        end = file.read()
    if end not in (PARQUET_MAGIC, _ENCRYPTED_MAGIC):
        reason = "the last bytes are not those of one; is it cut short?"
        raise BadDataError(f"{source}: not a sound Parquet file ({reason}).")


@attrs.frozen
class _Path:
    """Where a field is in a table.

    Parameters
    ----------
    structs : tuple of str
        The column, and the fields of structures inside of it.
    rest : str
        The path inside of the values, where these are lists or maps; mostly empty.
    """

    structs: tuple[str, ...]
    rest: str = ""

    def within(self, table: Any) -> tuple[Any, str]:
        """Return the column, and the path inside of its values."""
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


def _plain_paths(field: Any, prefix: str = "") -> Iterator[str]:
    """List the columns of numbers, text, dates, and lists of these, in a column of a file."""
    path = prefix + field.name
    if str(field.type).startswith("struct"):
        for inner in field.type:
            yield from _plain_paths(inner, f"{path}.")
    elif _is_plain(field.type):
        yield path


def _is_plain(arrow_type: Any) -> bool:
    """Tell what JSON could hold by the names that Arrow gives its types."""
    if str(arrow_type).startswith("struct"):
        return all(_is_plain(field.type) for field in arrow_type)
    inner = getattr(arrow_type, "item_type", getattr(arrow_type, "value_type", None))
    return str(arrow_type).startswith(_SINGLE) if inner is None else _is_plain(inner)


def values_of(column: Any, path: str, wanted: FieldType) -> Sequence[Any] | Array:
    """Take an Arrow column as an array where that is safe, else as a list to be checked."""
    column = _decoded(column)
    if path:
        return [find(item, path) for item in items_of(column)]
    if isinstance(wanted, Values) and str(column.type).startswith(_REPEATED):
        return _repeated(column, wanted)
    if isinstance(wanted, Values) and str(column.type) in ("string", "large_string"):
        coded: Sequence[Any] = _coded(column, wanted)
        return coded
    array = None
    if column.null_count == 0 and not isinstance(wanted, Lists):
        array = (
            _vectors(column, wanted) if isinstance(wanted, Vectors) else _scalars(column, wanted)
        )
    return items_of(column) if array is None else array


def items_of(column: Any) -> list[Any]:
    """List the values of an Arrow column; times past the microsecond are text."""
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
    """Return the field of structures at a path of names or positions."""
    import pyarrow.compute  # noqa: PLC0415

    compute: Any = pyarrow.compute
    return compute.struct_field(column, path)


def _structs(column: Any) -> list[Any]:
    """List structures as dicts, what is in them read as columns are."""
    names = [field.name for field in column.type]
    parts = [items_of(_field_within(column, [at])) for at in range(len(names))]
    rows = zip(column.is_valid().to_pylist(), *parts, strict=True)
    return [dict(zip(names, row, strict=True)) if is_valid else None for is_valid, *row in rows]


def _decoded(column: Any) -> Any:
    """Write the values of a dictionary, which pandas calls categories, in every row."""
    is_encoded = str(column.type).startswith("dictionary")
    return column.cast(column.type.value_type) if is_encoded else column


def _scalars(column: Any, wanted: FieldType) -> Array | None:
    if not str(column.type).startswith(_NUMBERS):
        return None
    values: Array = column.to_numpy()
    if isinstance(wanted, Numbers) and values.dtype.kind in "fiu":
        return values.astype(np.float64)
    if isinstance(wanted, Labels) and wanted.integers and values.dtype.kind in "ib":
        return values.astype(np.int64)
    if isinstance(wanted, Flags) and values.dtype.kind == "b":
        return values
    return None


def _repeated(column: Any, wanted: Values) -> Array:
    """Read every different value once."""
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    distinct = objects([wanted.made(value) for value in items_of(encoded.dictionary)])
    values: Array = distinct[encoded.indices.to_numpy()]
    return values


def _coded(column: Any, wanted: Values) -> Any:
    """Code texts by the dictionary that Arrow makes; a list where one does not fit."""
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    texts = encoded.dictionary.to_pylist()
    if any(map(wanted.fault, texts)):
        return items_of(column)
    return CodedTexts(encoded.indices.to_numpy().astype(np.int64), texts)


def _vectors(column: Any, wanted: Vectors) -> Array | None:
    lists = column.combine_chunks()
    # Only Arrow's list types have lengths.
    if not hasattr(lists, "value_lengths") or np.any(
        lists.value_lengths().to_numpy() != wanted.width
    ):
        return None
    flat = lists.flatten()
    values: Array = flat.to_numpy(zero_copy_only=False)
    if flat.null_count or values.dtype.kind not in ("ib" if wanted.integers else "fiu"):
        return None
    dtype = np.int64 if wanted.integers else np.float64
    return values.astype(dtype).reshape(-1, wanted.width)
