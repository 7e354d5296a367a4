"""Parquet files, by way of pyarrow, the extra `arrow`."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np

from streameval.errors import BadDataError, InvalidInputError
from streameval.io.columns import Array, Flags, Kind, Labels, Lists, Numbers, Vectors
from streameval.io.errors import shown
from streameval.io.rows import Parsed, assemble, fields_of
from streameval.io.streams import STANDARD_INPUT, opened

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from streameval.io.columns import Column

__all__ = ["ParquetBlock", "parquet_blocks"]

_SHOWN = 128


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
    """

    unit: ClassVar[str] = "row"
    source: str
    group: int
    first_row: int
    taken: int
    unended: str = ""

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Give the rows; columns of times, bytes and the like are left out as None."""
        with _file(self.source) as file:
            names = file.schema_arrow.names
            plain = [field.name for field in file.schema_arrow if _is_plain(field.type)]
            batches = file.iter_batches(batch_size=_SHOWN, row_groups=[self.group], columns=plain)
            for batch in batches:
                yield from (dict.fromkeys(names) | row for row in batch.to_pylist())

    def parse(self, columns: Sequence[Column]) -> Parsed:
        """Read the columns; rows with a null in one of them are bad."""
        fields = fields_of(columns)
        names = list(dict.fromkeys(name for name, _ in fields))
        with _file(self.source) as file:
            _check_columns(names, file.schema_arrow.names, self.source)
            table = file.read_row_group(self.group, columns=names)
            values = {field: _values(table.column(field[0]), field[1]) for field in fields}
        places = range(self.first_row, self.first_row + table.num_rows)
        return assemble(columns, values, places)


def parquet_blocks(source: str) -> Iterator[ParquetBlock]:
    """Give the row groups of a file as blocks."""
    if source == STANDARD_INPUT:
        raise InvalidInputError("`format` parquet cannot be read from standard input.")
    first_row = 1
    with _file(source) as file:
        groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
    for number, group in enumerate(groups):
        size = sum(group.column(at).total_compressed_size for at in range(group.num_columns))
        yield ParquetBlock(source, number, first_row, size)
        first_row += group.num_rows


@contextmanager
def _file(source: str) -> Iterator[Any]:
    """Open a file with pyarrow, its errors made into ours."""
    try:
        import pyarrow  # noqa: PLC0415 (optional, and slow to import)
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError:
        needed = 'pip install "streameval[arrow]"'
        raise InvalidInputError(f"{source}: Parquet needs pyarrow: {needed}.") from None
    with opened(source):
        pass  # a missing file is reported as it is for every other format
    try:
        with parquet.ParquetFile(source) as file:
            yield file
    except (pyarrow.ArrowException, OSError) as error:
        # The message may quote the file, whatever it holds.
        reason = repr(str(error).partition("\n")[0].rstrip("."))[1:-1]
        raise BadDataError(f"{source}: not a sound Parquet file ({reason}).") from None


def _check_columns(names: list[str], known: list[str], source: str) -> None:
    """Refuse a column that the file does not have exactly once."""
    for name in names:
        n_found = known.count(name)
        if n_found != 1:
            trouble = "there is no column" if n_found == 0 else f"there are {n_found} columns"
            raise BadDataError(f"{source}: {trouble} {shown(name)}.")


def _is_plain(kind: Any) -> bool:
    """Tell numbers, text, and lists of these, by the names that Arrow gives its types."""
    name = str(getattr(kind, "value_type", kind))
    return name.startswith(
        ("int", "uint", "float", "double", "halffloat", "bool", "string", "large_string")
    )


def _values(column: Any, kind: Kind) -> Sequence[Any] | Array:
    """Take an Arrow column as an array where that is safe, else as a list to be checked."""
    array = None
    if column.null_count == 0 and not isinstance(kind, Lists):
        array = _vectors(column, kind) if isinstance(kind, Vectors) else _scalars(column, kind)
    return column.to_pylist() if array is None else array


def _scalars(column: Any, kind: Kind) -> Array | None:
    values: Array = column.to_numpy()
    if isinstance(kind, Numbers) and values.dtype.kind in "fiu":
        return values.astype(np.float64)
    if isinstance(kind, Labels) and kind.integers and values.dtype.kind in "ib":
        return values.astype(np.int64)
    if isinstance(kind, Flags) and values.dtype.kind == "b":
        return values
    return None


def _vectors(column: Any, kind: Vectors) -> Array | None:
    lists = column.combine_chunks()
    # Only Arrow's list types have lengths.
    if not hasattr(lists, "value_lengths") or np.any(
        lists.value_lengths().to_numpy() != kind.width
    ):
        return None
    flat = lists.flatten()
    values: Array = flat.to_numpy(zero_copy_only=False)
    if flat.null_count or values.dtype.kind not in ("ib" if kind.integers else "fiu"):
        return None
    dtype = np.int64 if kind.integers else np.float64
    return values.astype(dtype).reshape(-1, kind.width)
