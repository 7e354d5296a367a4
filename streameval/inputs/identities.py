"""Codes of text objects by their addresses: a column of names holds few objects many times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from streameval.exact.array_types import Array, Indices

Codes = npt.NDArray[np.uint32]

_MIN_ROWS = 2**9  # a dict is as fast for fewer
_SAMPLE = 2**12  # rows in which objects that repeat are looked for
_MAX_OBJECTS = 2**14  # a table of 3 MB
_CHUNK = 2**15  # its temporaries stay in the cache
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class Identities:
    """A hash table from the addresses of objects to codes, read by array operations.

    A row costs 2 ns, where a dict costs 40. The table keeps its objects alive, so no other object
    can have an address that it finds.
    """

    __slots__ = ("_table",)

    def __init__(self) -> None:
        self._table = _Table({}, {})

    def find(self, column: Array, codes: Mapping[Any, int]) -> Codes | None:
        """Return the code of each object; None if one has none, or if a dict is as fast.

        Parameters
        ----------
        column : object array, shape (n,)
        codes : mapping from value to code
            A value that has a code keeps it.
        """
        if len(column) < _MIN_ROWS or not column.flags.c_contiguous:
            return None
        addresses: Any = np.ndarray(column.shape, np.uintp, buffer=column)
        few = len(column) // 8
        found, missed = self._table.find(addresses)
        try:
            if len(missed) > few and len(codes) > self._table.n_values:
                self._learn(codes, codes)
                found, missed = self._table.find(addresses)
            if len(missed) > few:
                objects = _repeated(column, addresses, missed[:_SAMPLE])
                if objects is None:
                    return None
                self._learn(objects, codes)
                found, missed = self._table.find(addresses)
            if len(missed):
                items = map(codes.__getitem__, column[missed].tolist())
                found[missed] = np.fromiter(items, np.uint32, len(missed))
        except (KeyError, TypeError):  # a new value, or one that cannot be hashed
            return None
        return found

    def _learn(self, items: Iterable[Any], codes: Mapping[Any, int]) -> None:
        """Replace the table by one with more objects, or with these alone if they were many."""
        new = {id(item): item for item in items if type(item) is str or item is None}
        objects = self._table.objects | new
        if len(objects) > _MAX_OBJECTS:
            objects = new if len(new) <= _MAX_OBJECTS else {}
        self._table = _Table(objects, codes)  # at once, for readers on other threads


class _Table:
    """Addresses and codes by hash; of objects with the same hash only one is found.

    Attributes
    ----------
    objects : dict from address to object
    n_values : int
        How many values had a code.
    """

    __slots__ = ("_addresses", "_codes", "_shift", "n_values", "objects")

    def __init__(self, objects: dict[int, Any], codes: Mapping[Any, int]) -> None:
        self.objects, self.n_values = objects, len(codes)
        bits = max(8, (16 * len(objects)).bit_length())
        self._shift = np.uint64(64 - bits)
        self._addresses = np.ones(1 << bits, dtype=np.uintp)  # 0 is that of an item never set
        self._codes = np.zeros(1 << bits, dtype=np.uint32)
        addresses = np.array(list(objects), dtype=np.uintp)
        slots = self._slots(addresses)
        self._addresses[slots] = addresses
        self._codes[slots] = [codes[item] for item in objects.values()]

    def find(self, addresses: npt.NDArray[np.uintp]) -> tuple[Codes, Indices]:
        """Return a code for each address, and the indices of those not found."""
        codes = np.empty(len(addresses), dtype=np.uint32)
        missed = []
        for start in range(0, len(addresses), _CHUNK):
            chunk = addresses[start : start + _CHUNK]
            slots = self._slots(chunk)
            np.take(self._codes, slots, out=codes[start : start + _CHUNK], mode="clip")
            is_missed = self._addresses.take(slots) != chunk
            if is_missed.any():
                missed.append(np.flatnonzero(is_missed) + start)
        return codes, np.concatenate(missed) if missed else np.zeros(0, dtype=np.intp)

    def _slots(self, addresses: npt.NDArray[np.uintp]) -> Indices:
        hashed = addresses.astype(np.uint64, copy=False) * _MULTIPLIER
        hashed >>= self._shift
        return hashed.view(np.int64).astype(np.intp, copy=False)


def _repeated(column: Array, addresses: npt.NDArray[np.uintp], rows: Indices) -> list[Any] | None:
    """Return the objects in some rows; None if few of them repeat, or the rows are few."""
    if len(rows) < _SAMPLE:
        return None
    _, first = np.unique(addresses[rows], return_index=True)
    objects: list[Any] = column[rows[first]].tolist()
    return objects if len(first) <= len(rows) // 2 else None
