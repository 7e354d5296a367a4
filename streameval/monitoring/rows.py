"""Rows of monitored sources: checked on arrival, and stored as records that can wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from streameval.exact.array_types import Array
from streameval.inputs.coded import CodedTexts
from streameval.io.blocks import assemble, fields_of
from streameval.io.columns import Argument, as_text, objects

_LONGEST = 256


@attrs.frozen
class Ids:
    """What joins a prediction and its label: text or a number in every row, read as text."""

    def from_text(self, cells: Sequence[str]) -> list[Any]:
        """Keep the cells as they are; an empty one is missing."""
        return [cell or None for cell in cells]

    def whole(self, values: Sequence[Any]) -> Array | None:
        """Make an object array of text if every value is an id."""
        usual = set(map(type, values)) <= {str}
        if usual and "".join(values).isascii() and max(map(len, values), default=1) <= _LONGEST:
            return objects(values) if all(values) else None
        return None if any(map(self.fault, values)) else objects(list(map(as_text, values)))

    def fault(self, value: Any) -> str | None:
        """Accept text and integers."""
        if type(value) is int:
            return None
        fits = type(value) is str and 0 < len(value) <= _LONGEST
        if fits and not any("\ud800" <= character <= "\udfff" for character in value):
            return None
        return f"an id: an integer, or text of at most {_LONGEST} characters"


class RecordCodes:
    """Codes for values that numeric records cannot hold.

    Parameters
    ----------
    values : iterable
        The values of the codes 0, 1, ...
    """

    def __init__(self, values: Sequence[Any] = ()) -> None:
        self._values = [_hashable(value) for value in values]
        self._codes = {value: code for code, value in enumerate(self._values)}
        self._n_stored = len(self._values)

    def encode(self, items: Sequence[Any]) -> Array:
        """Find the code of each item, and add missing ones."""
        codes, known = self._codes, self._codes.get
        found = [known(item) for item in items]
        if None in found:
            for at, item in enumerate(items):
                if found[at] is None:
                    found[at] = codes.setdefault(item, len(codes))
            self._values += list(codes)[len(self._values) :]
        return np.array(found, dtype=np.int64)

    def decode(self, codes: Array) -> list[Any]:
        """Return the value of each code."""
        values = self._values
        return [values[code] for code in codes.tolist()]

    @property
    def added(self) -> list[Any]:
        """The values that have not been stored."""
        return self._values[self._n_stored :]

    def stored(self) -> None:
        """Record that all values have been stored."""
        self._n_stored = len(self._values)


class Records:
    """Arrays of a batch as one array of records, and back; objects become codes.

    Parameters
    ----------
    columns : sequence of Argument
        The columns of a batch.
    values : mapping from argument to list
        The dictionaries that have been stored.
    """

    def __init__(self, columns: Sequence[Argument], values: Mapping[str, Sequence[Any]]) -> None:
        empty = empty_batch(columns)
        self._fields = {name: (array.dtype, array.shape[1:]) for name, array in empty.items()}
        self.dictionaries = {
            name: RecordCodes(values.get(name, ()))
            for name, (dtype, _) in self._fields.items()
            if dtype.kind == "O"
        }
        self.dtype = np.dtype(
            [
                (name, np.dtype(np.int64) if dtype.kind == "O" else dtype, shape)
                for name, (dtype, shape) in self._fields.items()
            ]
        )

    def encode(self, batch: Mapping[str, Array], size: int) -> Array:
        """Make one record of each row."""
        records = np.empty(size, dtype=self.dtype)
        for name in self._fields:
            coder = self.dictionaries.get(name)
            records[name] = batch[name] if coder is None else _codes(coder, batch[name])
        return records

    def decode(self, records: Array) -> dict[str, Array]:
        """Rebuild the arrays of a batch."""
        batch: dict[str, Array] = {}
        for name in self._fields:
            coder = self.dictionaries.get(name)
            column = np.ascontiguousarray(records[name])
            batch[name] = column if coder is None else _items(coder, column)
        return batch


class Truths:
    """Labels as numbers, and back: a code, unless the label is a number itself.

    Parameters
    ----------
    columns : sequence of Argument
        The truths of a row.
    values : mapping from name to list
        The dictionaries that have been stored.
    """

    NAME = "label`"
    """What the dictionary is called; no argument has such a name."""

    def __init__(self, columns: Sequence[Argument], values: Mapping[str, Sequence[Any]]) -> None:
        self._fields = empty_batch(columns)
        array = next(iter(self._fields.values()))
        is_number = len(self._fields) == 1 and array.ndim == 1 and array.dtype.kind in "biuf"
        self.dictionaries = {} if is_number else {self.NAME: RecordCodes(values.get(self.NAME, ()))}
        is_real = is_number and array.dtype.kind == "f"
        self.dtype = np.dtype(np.float64 if is_real else np.int64)

    def encode(self, batch: Mapping[str, Array]) -> Array:
        """Make one number of the truths of each row."""
        coder = self.dictionaries.get(self.NAME)
        arrays = [batch[name] for name in self._fields]
        if coder is None:
            return arrays[0].astype(self.dtype)
        rows = zip(*(array.tolist() for array in arrays), strict=True)
        return coder.encode(list(map(_hashable, rows)))

    def decode(self, labels: Array) -> dict[str, Array]:
        """Rebuild the arrays of truths."""
        coder = self.dictionaries.get(self.NAME)
        if coder is None:
            ((name, array),) = self._fields.items()
            return {name: labels.astype(array.dtype)}
        columns = zip(*coder.decode(labels), strict=True)
        return {
            name: np.array(column, dtype=array.dtype)
            if array.dtype.kind != "O"
            else objects(column)
            for (name, array), column in zip(self._fields.items(), columns, strict=True)
        }

    def missing(self, size: int) -> dict[str, Array]:
        """Make missing truths."""
        return {name: objects([None] * size) for name in self._fields}


def empty_batch(columns: Sequence[Argument]) -> dict[str, Array]:
    """Make the arrays of no rows, for their types and shapes."""
    fields: dict[Any, Any] = {field: [] for field in fields_of(columns)}
    return dict(assemble(columns, fields, []).batch)


def _codes(coder: RecordCodes, array: Any) -> Array:
    """Encode values of any shape; of coded texts, each distinct one once."""
    if isinstance(array, CodedTexts):
        return coder.encode(list(array.texts))[array.codes]
    return coder.encode(array.ravel().tolist()).reshape(array.shape)


def _items(coder: RecordCodes, codes: Array) -> Any:
    """Decode values of any shape; a vector of texts stays coded."""
    different, numbers = np.unique(codes, return_inverse=True)
    values = coder.decode(different)
    if codes.ndim == 1 and set(map(type, values)) <= {str, type(None)}:
        return CodedTexts(numbers, values)
    return objects(values)[numbers].reshape(codes.shape)


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list | tuple) else value
