"""Values that group rows: one canonical form, a fixed order, and codes."""

from __future__ import annotations

import functools
import math
from collections.abc import Container, Sequence
from contextlib import suppress
from copy import deepcopy
from typing import Any

import numpy as np
import numpy.typing as npt

from streameval.errors import InvalidInputError
from streameval.exact.array_types import Array, Ints, Mask
from streameval.inputs.arrays import as_labels, passes_int64
from streameval.inputs.classes import Label, canonical_label
from streameval.inputs.coded import arrow_texts, coded_texts
from streameval.inputs.identities import Codes, Identities
from streameval.inputs.labels import Dictionary, distinct

Value = Any
"""A label, None for a missing one, or a tuple of these for several columns."""

Words = npt.NDArray[np.uint64]

_VALUES = ("string", "integer")  # what all categories can be
_CHUNK = 2**16  # rows of text that are read at once
MAX_CHARACTERS = 2**16  # of one value, which is a name
_MULTIPLIERS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_INCREMENT = np.uint64(0x9E3779B97F4A7C15)


def canonical_value(value: Any, *, name: str) -> Label | None:
    """Return a value as int, str, or None for a missing one: True is 1, 2.0 is 2.

    An integer past 64 bits is text, as it is in files.
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, (float, np.floating)) and math.isnan(value):
        return None
    if isinstance(value, (int, np.integer)) and 63 < int(value).bit_length() < 2**10:
        value = int(value) if value == -(2**63) else str(value)
    label = canonical_label(value, name=name)
    if isinstance(label, str) and len(label) > MAX_CHARACTERS:
        raise InvalidInputError(
            f"must hold values of at most {MAX_CHARACTERS} characters, got one of {len(label)}",
            argument=name,
        )
    return label


def items_of(value: Value) -> tuple[Any, ...]:
    """List the value of each column: of one, or of several."""
    return value if isinstance(value, tuple) else (value,)


def order_of(value: Value) -> tuple[Any, ...]:
    """Return what sorts values to be shown: item by item, by type, a missing one last."""
    return tuple([(item is None, type(item).__name__, item) for item in items_of(value)])


def value_text(value: Value) -> str:
    """Write the value of a column, or of several."""
    return ", ".join(["(missing)" if item is None else str(item) for item in items_of(value)])


@functools.lru_cache(maxsize=2**16)
def rank_of(value: Value) -> tuple[int, bytes]:
    """Return the sort key of a value: a 64-bit hash, then the value itself for ties.

    The hash is a BLAKE2b digest of 8 bytes, read big-endian, of ``n`` for a missing value, ``i``
    and the digits of an integer, or ``s`` and the UTF-8 of text; for several columns, of ``t`` and
    for each item the length of its bytes in 8 bytes, big-endian, and these bytes. The order is
    independent of the data, so the first values are a uniform sample.
    """
    from hashlib import blake2b  # noqa: PLC0415 (loads OpenSSL)

    written = _written(value)
    digest = blake2b(written, digest_size=8).digest()
    return int.from_bytes(digest, "big"), written


def _written(value: Value) -> bytes:
    """Write type and text of a value, so that different values are different bytes."""
    if value is None:
        return b"n"
    if isinstance(value, tuple):
        items = map(_written, value)
        return b"t" + b"".join(len(item).to_bytes(8, "big") + item for item in items)
    if isinstance(value, str):
        return b"s" + value.encode("utf-8")
    return b"i%d" % value


def mixed(words: Words) -> Words:
    """Mix 64 bits by one step of splitmix64.

    The sum with ``0x9E3779B97F4A7C15`` is mixed by shifts of 30, 27 and 31 bits and the factors
    ``0xBF58476D1CE4E5B9`` and ``0x94D049BB133111EB``.
    """
    with np.errstate(over="ignore"):
        found = words + _INCREMENT
        for shift, multiplier in zip((30, 27), _MULTIPLIERS, strict=True):
            found ^= found >> np.uint64(shift)
            found *= multiplier
        return found ^ (found >> np.uint64(31))


def hash_of(value: Value) -> int:
    """Hash a value to 64 bits: an integer, modulo 2**64, as `mixed` does, others as `rank_of`."""
    if type(value) is not int:
        return rank_of(value)[0]
    return int(mixed(np.array([value], dtype=np.int64).view(np.uint64))[0])


class ValueCodes(Dictionary):
    """The values of columns, in order of first appearance, with their ranks and hashes."""

    __slots__ = ("_hashes", "_identities", "_known", "_parts", "_ranks")

    def __init__(self) -> None:
        super().__init__()
        self._identities: dict[bool, Identities] = {}
        self._known: tuple[Any, Codes] = (), np.zeros(0, dtype=np.uint32)
        self._parts: dict[str, ValueCodes] = {}  # of each column, if there are several
        self._hashes = np.zeros(0, dtype=np.uint64)
        self._ranks = np.zeros(0, dtype=np.int64)

    def ranks(self) -> Ints:
        """Return the rank of the value of each code in the order of `rank_of`, computed once."""
        ranks, size = self._ranks, len(self.values)
        if len(ranks) != size:
            order = sorted(range(size), key=lambda code: rank_of(self.values[code]))
            ranks = np.empty(size, dtype=np.int64)
            ranks[order] = np.arange(size)
            self._ranks = ranks  # at once, for readers on other threads
        return ranks

    def missing(self, codes: Codes) -> Mask:
        """Return which rows have a missing value."""
        return np.asarray(codes == np.int64(self._codes.get(None, -1)))

    def hashes(self) -> Words:
        """Return the hash of the value of each code, computed once."""
        known, size = self._hashes, len(self.values)
        if len(known) < size:
            new = map(hash_of, self.values[len(known) : size])
            known = np.append(known, np.fromiter(new, np.uint64, size - len(known)))
            self._hashes = known  # at once, for readers on other threads
        return known

    def read(self, columns: Sequence[Any], names: Sequence[str]) -> Codes:
        """Return the code of the value of each row.

        Parameters
        ----------
        columns : sequence of arrays, each of shape (n,)
            One column for each name; the values of several are tuples.
        names : sequence of str
            The names of the columns.
        """
        if len(columns) == 1:
            return self._read(columns[0], names[0])
        parts = []
        for column, name in zip(columns, names, strict=True):
            known = self._parts.setdefault(name, ValueCodes())
            parts.append((known._read(column, name), known.values))
        rows = {len(codes) for codes, _ in parts}
        if len(rows) > 1:
            raise InvalidInputError(
                f"must have {min(rows)} rows like other columns", argument=names[0]
            )
        codes, values = combined(parts)
        self.add(values)
        return self.codes_of(values).astype(np.uint32)[codes]

    def _read(self, column: Any, name: str) -> Codes:
        """Return the codes of one column; most batches hold little new text."""
        if isinstance(column, np.ndarray) and column.ndim == 1:
            if column.dtype.kind in "OU" and len(column) > _CHUNK:  # the first rows teach the rest
                chunks = [column[at : at + _CHUNK] for at in range(0, len(column), _CHUNK)]
                with suppress(InvalidInputError):  # which has a position in the whole column
                    return np.concatenate([self._read(chunk, name) for chunk in chunks])
            found = self._found(column)
            if found is not None:
                return found
        last, codes = self._known
        indices, items = _listed(column, name, last)
        first = items if len(items) <= len(last) else items[: len(last)]
        goes_on = type(items) is type(last) and last.equals(first)
        start = len(last) if goes_on else 0
        if not goes_on or start < len(items):
            try:
                new = self._codes_of_items(_as_list(items[start:]), name)
            except InvalidInputError:
                if indices is None:
                    raise
                return self._codes_of_items(_of_rows(indices, _as_list(items)), name)
            codes = np.append(codes[:start], new)
            if not isinstance(items, list):  # copied, because others may write to their memory
                self._known = deepcopy(items), codes  # at once, for other threads
        return codes if indices is None else codes[indices]

    def _found(self, column: Array) -> Codes | None:
        """Return the codes of objects or integers that are known; None if a dict is as fast."""
        are_numbers = column.dtype.kind in "iu"
        if passes_int64(column) if are_numbers else column.dtype != object:
            return None
        if are_numbers not in self._identities:
            self._identities[are_numbers] = Identities(are_numbers=are_numbers)
        return self._identities[are_numbers].find(column, self._codes)

    def _codes_of_items(self, items: list[Any], name: str) -> Codes:
        """Return the codes of items, which may be new."""
        try:
            codes = self.codes_of(items)
        except (KeyError, TypeError):  # of a new item, or one that cannot be a value
            new = _canonical(items, name, self._codes)
            self.add(new.values())
            codes = self.codes_of([new.get(item, item) for item in items])
        return codes.astype(np.uint32)


def _listed(column: Any, name: str, known: Any = ()) -> tuple[Array | None, Any]:
    """List the items of a column as they are: of all rows, or different ones and indices of them.

    An index of -1 is that of a missing item, the last one. A dictionary of Arrow, or categories
    of pandas, which batches of one table share, are returned as they are. A dictionary made here
    begins with the known one, if the column is as long.
    """
    column = arrow_texts(column)
    if hasattr(column, "dictionary_encode"):  # Arrow
        return _listed_of_arrow(column, known)
    if hasattr(column, "factorize"):  # pandas, and codes of texts
        return _listed_of_pandas(column)
    array = column if isinstance(column, np.ndarray) else _to_array(column)
    if array.ndim != 1:
        raise InvalidInputError(f"must have shape (n,), got {array.shape}", argument=name)
    coded = coded_texts(array) if array.dtype.kind == "U" else None
    if coded is not None:
        return coded.codes, list(coded.texts)
    has_gaps = array.dtype.kind == "f" and np.isnan(array).any()
    if array.dtype.kind in "UTO" or has_gaps or not array.size:
        return None, array.tolist()
    if passes_int64(array):
        numbers, codes = np.unique(array, return_inverse=True)
    else:
        numbers, codes = distinct(as_labels(array, name=name), name=name)
    return codes, numbers.tolist()


def _listed_of_pandas(column: Any) -> tuple[Array | None, Any]:
    known = getattr(column.dtype, "categories", None)
    if known is not None and len(known) <= len(column) and known.inferred_type in _VALUES:
        return np.asarray(getattr(column, "cat", column).codes), known
    try:
        codes, values = column.factorize()
    except TypeError:  # of lists, which cannot be values
        return None, column.tolist()
    return codes, [*values.tolist(), None]


def _as_list(items: Any) -> list[Any]:
    if isinstance(items, list):
        return items
    return [*(items.to_pylist() if hasattr(items, "to_pylist") else items.tolist()), None]


def _of_rows(indices: Array, items: list[Any]) -> list[Any]:
    """List the item of each row, where an item of no row may be no value."""
    return [items[index] for index in indices.tolist()]


def _listed_of_arrow(column: Any, known: Any) -> tuple[Array | None, Any]:
    start = 0
    if getattr(known, "type", None) == column.type and len(known) <= len(column):
        from pyarrow import chunked_array  # noqa: PLC0415 (only for its columns)

        column, start = chunked_array([known, *getattr(column, "chunks", [column])]), len(known)
    try:
        column = column.dictionary_encode()
    except NotImplementedError:  # of a nested type
        return None, column.to_pylist()
    column = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    return np.asarray(column.indices.slice(start).cast("int64").fill_null(-1)), column.dictionary


def _to_array(column: Any) -> Array:
    """Keep the items of a list as objects; NumPy would turn numbers among text into text."""
    if hasattr(column, "to_list"):
        column = column.to_list()  # polars
    if isinstance(column, (list, tuple)):
        array = np.empty(len(column), dtype=object)
        array[:] = column
        return array
    return np.asarray(column)


def _canonical(items: list[Any], name: str, besides: Container[Any] = ()) -> dict[Any, Value]:
    """Return the value of each different item, besides those that are known."""
    try:
        return {
            item: canonical_value(item, name=name)
            for item in dict.fromkeys(items)
            if item not in besides
        }
    except (InvalidInputError, TypeError) as error:
        raise _placed(items, name, error) from None


def _placed(items: list[Any], name: str, error: Exception) -> InvalidInputError:
    """Find the position of the first invalid value."""
    for position, item in enumerate(items):
        try:
            hash(item)
            canonical_value(item, name=name)
        except InvalidInputError as found:
            return InvalidInputError(found.reason, argument=name, position=position)
        except TypeError:
            type_name = type(item).__name__
            return InvalidInputError(
                f"must hold integers or strings, got {type_name}", argument=name, position=position
            )
    return InvalidInputError(f"cannot be read: {error}", argument=name)  # pragma: no cover


def combined(parts: Sequence[tuple[Array, list[Value]]]) -> tuple[Ints, list[Value]]:
    """Combine the values of several columns into the tuples that occur in rows."""
    codes, values = np.zeros(len(parts[0][0]), dtype=np.int64), [()]
    for others, more in parts:  # which may hold many more values than these rows
        kept, codes = distinct(codes * len(more) + others, name="column")
        pairs = (divmod(code, len(more)) for code in kept.tolist())
        values = [(*values[first], more[second]) for first, second in pairs]
    return codes, values
