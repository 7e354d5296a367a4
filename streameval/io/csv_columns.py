"""Tables of text with a cell for each column, read column by column instead of row by row.

If something does not fit, the result is None, and the caller reads the table another way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from streameval.exact.array_types import Array
from streameval.io.columns import Numbers, array_of
from streameval.io.lines import BYTE_ORDER_MARK, is_utf8, n_newlines

if TYPE_CHECKING:
    from streameval.io.blocks import Field

_NEWLINE, _QUOTE = b'\n"'
_HIDDEN = "\0"
"""Stands for a delimiter inside quotes; no table read here holds such a byte."""
_WIDE = 6  # times as many columns as are asked for
_ARROW_BYTES = 2**16  # smaller tables are read before pyarrow would be imported
_SPECIAL = (b"\r", b"\0")


@attrs.frozen(eq=False, repr=False)
class PlainRows:
    """Rows with one cell for each column, without blank lines.

    Parameters
    ----------
    data : bytes
        The rows, each with its newline; quotes are around whole cells.
    n_columns : int
        The number of cells that every row should have.
    delimiter : str
        The separator of cells, one byte.
    """

    _data: bytes
    _n_columns: int
    _delimiter: str

    @classmethod
    def of(cls, data: bytes, n_columns: int, delimiter: str) -> PlainRows | None:
        """Prepare rows; None if a first look shows that they must be read another way."""
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n")
        if data[-1:] != b"\n":
            data += b"\n"  # to drop it everywhere else would copy all data
        is_simple = len(delimiter.encode()) == 1 and not any(byte in data for byte in _SPECIAL)
        if data == b"\n" or not is_simple or not is_utf8(data):
            return None
        if _QUOTE in data and (n_columns == 1 or not _are_whole_cells_quoted(data, delimiter)):
            return None
        return cls(data, n_columns, delimiter)

    def __len__(self) -> int:
        """Count the rows."""
        return n_newlines(self._data)

    def arrays(self, fields: Mapping[Field, int]) -> dict[Field, Array] | None:
        """Read columns with pyarrow, each distinct text of a column once.

        Parameters
        ----------
        fields : mapping from field to int
            Where the columns are.

        Returns
        -------
        mapping from field to array, or None
            None if a value does not fit, or is NaN, because pyarrow reads nan(1) as NaN.
        """
        if len(self._data) < _ARROW_BYTES or self._data.startswith(BYTE_ORDER_MARK):
            return None  # pyarrow drops the byte order mark of any block
        table = self._table({at: _is_number(at, fields) for at in fields.values()})
        if table is None or table.num_rows != len(self):
            return None
        arrays: dict[Field, Array] = {}
        for field, at in fields.items():
            column = table.column(str(at)).combine_chunks()
            is_number = _is_number(at, fields)
            array = _numbers(column, field) if is_number else _coded(column, field)
            if array is None:
                return None
            arrays[field] = array
        return arrays

    def _table(self, numeric: Mapping[int, bool]) -> Any:
        """Read numbers as float64, other columns as codes of texts."""
        try:
            import pyarrow as pa  # noqa: PLC0415 (optional, and slow to import)
            from pyarrow import csv  # noqa: PLC0415
        except ImportError:
            return None
        coded = pa.dictionary(pa.int32(), pa.string())
        types = {str(at): pa.float64() if is_number else coded for at, is_number in numeric.items()}
        try:
            reader = csv.open_csv(  # `read_csv` takes signals, and may lose Ctrl-C
                pa.BufferReader(self._data),
                read_options=csv.ReadOptions(
                    use_threads=False,
                    block_size=len(self._data) + 1,
                    column_names=list(map(str, range(self._n_columns))),
                ),
                parse_options=csv.ParseOptions(
                    delimiter=self._delimiter,
                    quote_char='"' if _QUOTE in self._data else False,
                ),
                convert_options=csv.ConvertOptions(
                    column_types=types,
                    include_columns=list(types),
                    null_values=[""],
                    strings_can_be_null=False,
                ),
            )
            return reader.read_all()
        except pa.ArrowException:
            return None

    def split(self, fields: Mapping[Field, int]) -> dict[Field, Sequence[Any]] | None:
        """Cut all cells at once; None if a row has more or fewer, or a cell several lines.

        A list for each row would keep the garbage collector busy.
        """
        text, delimiter = self._data.decode(), self._delimiter
        if '"' in text:
            parts = text.split('"')
            parts[1::2] = [part.replace(delimiter, _HIDDEN) for part in parts[1::2]]
            if any("\n" in part for part in parts[1::2]):
                return None
            text = "".join(parts)
        columns = self._columns(text, sorted({*fields.values()}))
        if columns is None:
            return None
        if _HIDDEN in text:
            columns = {
                at: [cell.replace(_HIDDEN, delimiter) for cell in column]
                for at, column in columns.items()
            }
        return {field: field[1].from_text(columns[at]) for field, at in fields.items()}

    def _columns(self, text: str, ats: Sequence[int]) -> dict[int, list[str]] | None:
        """Cut the cells of some columns: of a wide table only these, which is faster there."""
        n_rows, width, step = len(self), self._n_columns, self._n_columns + 1
        if width > _WIDE * len(ats):
            data = text.encode()
            array = np.frombuffer(data, dtype=np.uint8)
            ends = np.flatnonzero((array == ord(self._delimiter)) | (array == _NEWLINE))
            if len(ends) != width * n_rows or np.any(array[ends[width - 1 :: width]] != _NEWLINE):
                return None
            starts = np.concatenate([[0], ends[:-1] + 1])
            spans = {at: (starts[at::width].tolist(), ends[at::width].tolist()) for at in ats}
            return {
                at: b"\n".join(map(data.__getitem__, map(slice, *span))).decode().split("\n")
                for at, span in spans.items()
            }
        cells = text.replace("\n", f"{self._delimiter}\n{self._delimiter}").split(self._delimiter)
        if len(cells) != step * n_rows + 1 or cells[width::step].count("\n") != n_rows:
            return None
        if width == 1 and "" in cells[:-1:step]:
            return None  # a blank line is not a row
        return {at: cells[at:-1:step] for at in ats}


def _are_whole_cells_quoted(data: bytes, delimiter: str) -> bool:
    """Tell whether quotes are around whole cells."""
    array = np.frombuffer(data, dtype=np.uint8)
    quotes = np.flatnonzero(array == _QUOTE)
    # A quote that opens the first cell follows the last newline, which has the index -1.
    around = array[np.concatenate([quotes[::2] - 1, quotes[1::2] + 1])]
    are_whole = (around == ord(delimiter)) | (around == _NEWLINE)
    return len(quotes) % 2 == 0 and bool(are_whole.all())


def _is_number(at: int, fields: Mapping[Field, int]) -> bool:
    """Tell whether a column holds only numbers."""
    types = [field_type for (_, field_type), position in fields.items() if position == at]
    return all(isinstance(field_type, Numbers) for field_type in types)


def _coded(column: Any, field: Field) -> Array | None:
    """Convert each distinct text of pyarrow's to a value once."""
    distinct = field[1].whole(field[1].from_text(column.dictionary.to_pylist()))
    return None if distinct is None else distinct[array_of(column.indices)]


def _numbers(column: Any, field: Field) -> Array | None:
    """Read numbers, and empty cells where gaps are allowed."""
    n_empty = column.null_count
    array: Array = column.to_numpy(zero_copy_only=False) if n_empty else array_of(column)
    are_sound = int(np.isnan(array).sum()) == n_empty
    return array if are_sound and (not n_empty or getattr(field[1], "gaps", False)) else None
