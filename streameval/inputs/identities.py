"""Codes of columns that hold few items many times: text objects by their addresses, integers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from streameval.exact.array_types import Array, Indices
from streameval.inputs.coded import AnyWords

Codes = npt.NDArray[np.uint32]

_MIN_ROWS = 2**9  # a dict is as fast for fewer
_SAMPLE = 2**12  # rows in which items that repeat are looked for
_MAX_ITEMS = 2**14  # a table of 3 MB
_CHUNK = 2**15  # its temporaries stay in the cache
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class Identities:
    """A hash table from the addresses of objects, or from integers, to codes.

    A word of 64 bits is an address, or an integer modulo 2**64. Array operations look words up:
    a row costs 2 ns, where a dict costs 40. The table keeps its
    objects alive, so no other object can have an address that it finds.

    Parameters
    ----------
    are_numbers : bool
        Whether columns hold integers; by default they hold objects.
    """

    __slots__ = ("_are_numbers", "_table")

    def __init__(self, *, are_numbers: bool = False) -> None:
        self._are_numbers, self._table = are_numbers, _Table({}, {})

    def find(self, column: Array, codes: Mapping[Any, int]) -> Codes | None:
        """Return the code of each item; None if one has none, or if a dict is as fast.

        Parameters
        ----------
        column : array of objects, or of integers below 2**63, shape (n,)
        codes : mapping from value to code
            A value that has a code keeps it.
        """
        if len(column) < _MIN_ROWS or not column.flags.c_contiguous:
            return None
        words: AnyWords
        if self._are_numbers:
            words = column.astype(np.int64, copy=False).view(np.uint64)
        else:
            words = np.ndarray(column.shape, np.uintp, buffer=column)
        few = len(column) // 8
        found, missed = self._table.find(words)
        try:
            if len(missed) > few and self._table.n_values < len(codes) <= _MAX_ITEMS:
                self._learn(codes, codes)
                found, missed = self._table.find(words)
            if len(missed) > few:
                items = _repeated(column, words, missed[:_SAMPLE])
                if items is None:
                    return None
                self._learn(items, codes)
                found, missed = self._table.find(words)
            if len(missed):
                others = map(codes.__getitem__, column[missed].tolist())
                found[missed] = np.fromiter(others, np.uint32, len(missed))
        except (KeyError, TypeError):  # a new value, or one that cannot be hashed
            return None
        return found

    def _learn(self, items: Iterable[Any], codes: Mapping[Any, int]) -> None:
        """Replace the table by one with more items, or with these alone if they were many."""
        new: dict[int, Any]
        if self._are_numbers:
            new = {item % 2**64: item for item in items if type(item) is int}
        else:
            new = {id(item): item for item in items if type(item) is str or item is None}
        known = self._table.items | new
        # at once, for readers on other threads
        self._table = _Table(known if len(known) <= _MAX_ITEMS else new, codes)


class _Table:
    """Words and codes by hash; of items with the same hash only one is found.

    Attributes
    ----------
    items : dict from word to item
    n_values : int
        How many values had a code.
    """

    __slots__ = ("_codes", "_shift", "_words", "items", "n_values")

    def __init__(self, items: dict[int, Any], codes: Mapping[Any, int]) -> None:
        self.items, self.n_values = items, len(codes)
        bits = max(8, (16 * len(items)).bit_length())
        self._shift = np.uint64(64 - bits)
        self._words = np.zeros(1 << bits, dtype=np.uint64)
        self._words[0] = 1  # no empty slot holds a word that belongs to it, as 0 belongs to slot 0
        self._codes = np.zeros(1 << bits, dtype=np.uint32)
        words = np.array(list(items), dtype=np.uint64)
        slots = self._slots(words)
        self._words[slots] = words
        self._codes[slots] = [codes[item] for item in items.values()]

    def find(self, words: AnyWords) -> tuple[Codes, Indices]:
        """Return a code for each word, and the indices of those not found."""
        codes = np.empty(len(words), dtype=np.uint32)
        missed = []
        for start in range(0, len(words), _CHUNK):
            chunk = words[start : start + _CHUNK]
            slots = self._slots(chunk)
            np.take(self._codes, slots, out=codes[start : start + _CHUNK], mode="clip")
            is_missed = self._words.take(slots) != chunk
            if is_missed.any():
                missed.append(np.flatnonzero(is_missed) + start)
        return codes, np.concatenate(missed) if missed else np.zeros(0, dtype=np.intp)

    def _slots(self, words: AnyWords) -> Indices:
        hashed = words.astype(np.uint64, copy=False) * _MULTIPLIER
        hashed >>= self._shift
        return hashed.view(np.int64).astype(np.intp, copy=False)


def _repeated(column: Array, words: AnyWords, rows: Indices) -> list[Any] | None:
    """Return the items in some rows; None if few of them repeat, or the rows are few."""
    if len(rows) < _SAMPLE:
        return None
    _, first = np.unique(words[rows], return_index=True)
    items: list[Any] = column[rows[first]].tolist()
    return items if len(first) <= len(rows) // 2 else None
