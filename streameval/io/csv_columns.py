"""Tables of text with a cell for each column, split column by column instead of row by row.

If something does not fit, the result is None, and the caller reads the table another way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import attrs
import numpy as np

from streameval.exact.array_types import Array, Indices
from streameval.io.columns import FieldType, Numbers, array_of
from streameval.io.lines import BYTE_ORDER_MARK, is_utf8, n_newlines
from streameval.io.words import CellWords

if TYPE_CHECKING:
    from streameval.io.blocks import Field

_NEWLINE, _QUOTE = b'\n"'
_HIDDEN = 0
"""Stands for a delimiter inside quotes; no table read here holds such a byte."""
_ARROW_BYTES = 2**16  # smaller tables are read before pyarrow would be imported
_WORDS_ROWS = 2**7  # Python reads fewer before NumPy gets started
_SHORT_CELL = 2**6
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
    delimiter : bytes
        The separator of cells.
    """

    _data: bytes = attrs.field(repr=False)
    _n_columns: int
    _delimiter: bytes

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
        separator = delimiter.encode()
        if _QUOTE in data and (n_columns == 1 or _quoted(data, separator[0]) is None):
            return None
        return cls(data, n_columns, separator)

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
            return csv.read_csv(
                pa.BufferReader(self._data),
                read_options=csv.ReadOptions(
                    use_threads=False,
                    block_size=len(self._data) + 1,
                    column_names=list(map(str, range(self._n_columns))),
                ),
                parse_options=csv.ParseOptions(
                    delimiter=self._delimiter.decode(),
                    quote_char='"' if _QUOTE in self._data else False,
                ),
                convert_options=csv.ConvertOptions(
                    column_types=types,
                    include_columns=list(types),
                    null_values=[""],
                    strings_can_be_null=False,
                ),
            )
        except pa.ArrowException:
            return None

    def split(self, fields: Mapping[Field, int]) -> dict[Field, Sequence[Any] | Array] | None:
        """Read columns with NumPy; None if a row has more or fewer cells, or a cell several lines.

        Python reads the cells that NumPy cannot.
        """
        if _QUOTE in self._data:
            data = _unquoted(self._data, self._delimiter[0])
            return None if data is None else attrs.evolve(self, data=data).split(fields)
        array = np.frombuffer(self._data, dtype=np.uint8)
        cuts = np.flatnonzero((array == _NEWLINE) | (array == self._delimiter[0]))
        cuts = np.concatenate([[-1], cuts])
        n_rows, n_columns = len(self), self._n_columns
        row_ends = cuts[n_columns::n_columns]
        if len(cuts) != n_rows * n_columns + 1 or np.any(array[row_ends] != _NEWLINE):
            return None
        if n_columns == 1 and np.any(np.diff(cuts) == 1):
            return None  # a blank line is not a row
        words = CellWords(self._data) if n_rows >= _WORDS_ROWS else None
        found: dict[Field, Sequence[Any] | Array] = {}
        for field, at in fields.items():
            starts, ends = cuts[at:-1:n_columns] + 1, cuts[at + 1 :: n_columns]
            values = None if words is None else self._array(words, field[1], starts, ends)
            found[field] = (
                field[1].from_text(self._texts(starts, ends)) if values is None else values
            )
        return found

    def _array(
        self, words: CellWords, field_type: FieldType, starts: Indices, ends: Indices
    ) -> Array | None:
        """Read each distinct cell once if there are few of them, or all decimal numbers at once."""
        coded = words.distinct(starts, ends)
        if coded is not None:
            positions, codes = coded
            texts = self._texts(starts[positions], ends[positions])
            distinct = field_type.whole(field_type.from_text(texts))
            return None if distinct is None else distinct[codes]
        if not isinstance(field_type, Numbers):
            return None
        values, are_read = words.decimals(starts, ends)
        others = np.flatnonzero(~are_read)
        if len(others) > len(values) // 2:
            return None
        texts = self._texts(starts[others], ends[others])
        read = field_type.whole(field_type.from_text(texts))
        if read is None:
            return None
        values[others] = read
        return values

    def _texts(self, starts: Indices, ends: Indices) -> list[str]:
        """Cut some cells."""
        is_ascii = self._data.isascii()
        held: Any = self._data.decode() if is_ascii else self._data
        cells = [held[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
        return self._shown(cells if is_ascii else [cell.decode() for cell in cells])

    def _shown(self, texts: list[str]) -> list[str]:
        """Put delimiters back into cells that were quoted."""
        if _HIDDEN not in self._data:
            return texts
        hidden, delimiter = chr(_HIDDEN), self._delimiter.decode()
        return [text.replace(hidden, delimiter) for text in texts]


def _quoted(data: bytes, delimiter: int) -> tuple[Indices, Indices] | None:
    """Find the starts and ends of what is quoted; None if quotes are not around whole cells."""
    array = np.frombuffer(data, dtype=np.uint8)
    quotes = np.flatnonzero(array == _QUOTE)
    starts, ends = quotes[::2] + 1, quotes[1::2]
    if len(starts) > len(ends):
        return None
    # A quote that opens the first cell follows the last newline, which has the index -1.
    around = array[np.concatenate([starts - 2, ends + 1])]
    are_whole = np.all((around == delimiter) | (around == _NEWLINE))
    return (starts, ends) if are_whole else None


def _unquoted(data: bytes, delimiter: int) -> bytes | None:
    """Drop the quotes around whole cells; None if a cell has several lines."""
    array, hidden = np.frombuffer(data, dtype=np.uint8), []
    starts, ends = cast("tuple[Indices, Indices]", _quoted(data, delimiter))
    for _ in range(_SHORT_CELL):  # one byte of each cell at a time: these are few of all bytes
        is_left = starts < ends
        starts, ends = starts[is_left], ends[is_left]
        if not len(starts):
            break
        marks = array[starts]
        if np.any(marks == _NEWLINE):
            return None
        hidden.append(starts[marks == delimiter])
        starts = starts + 1
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        if data.find(b"\n", start, end) >= 0:
            return None
        hidden.append(np.flatnonzero(array[start:end] == delimiter) + start)
    if any(map(len, hidden)):
        changed = array.copy()
        changed[np.concatenate(hidden)] = _HIDDEN
        data = changed.tobytes()
    return data.replace(b'"', b"")


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
