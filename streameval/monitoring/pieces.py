"""An accumulator in a table of SQLite: pieces that commits append, merged now and then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streameval.accumulators.merging import merge
from streameval.accumulators.windowed import Windowed

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence

_FAN_IN = 16
_MAX_PARTS = 2
_WHOLE = 1_000_000
"""The level of the piece that holds everything up to some commit."""


class Pieces:
    """The pieces that one accumulator is the sum of.

    A commit appends the rows that it has counted as an accumulator of their own. `Windowed` is a
    sum, so pieces are merged when they are loaded. Sixteen pieces of one level are merged into
    one of the next. Once the pieces are twice as large as everything together, everything is
    written instead. So a commit of a few rows writes little, whatever the number of panes.

    Parameters
    ----------
    base : Connection
    table : str
        With the columns `id`, `level` and `data`.
    """

    def __init__(self, base: sqlite3.Connection, table: str) -> None:
        self._base = base
        self._table = table
        query = f"SELECT id, level, length(data) FROM {table} ORDER BY id"  # noqa: S608
        self._held: list[tuple[int, int, int]] = base.execute(query).fetchall()
        self._new = self._held

    def append(self, data: bytes, whole: Callable[[], Windowed]) -> None:
        """Store the rows of a commit within its transaction, and merge pieces where that is due.

        Parameters
        ----------
        data : bytes
            The accumulator of the rows; empty if there are none.
        whole : callable
            Returns the accumulator of all rows.
        """
        held = self._new = list(self._held)
        if not data:
            return
        all_of_them = sum(size for _, level, size in held if level == _WHOLE)
        parts = sum(size for _, level, size in held if level < _WHOLE)
        if parts + len(data) > _MAX_PARTS * all_of_them:
            self._replace(0, _WHOLE, whole().to_bytes() if held else data)
            return
        self._replace(len(held), 0, data)
        first, level = self._alike(held)
        while len(held) - first >= _FAN_IN:
            parts_held = [Windowed.from_bytes(self._read(name)) for name, _, _ in held[first:]]
            self._replace(first, level + 1, merge(parts_held).to_bytes())
            first, level = self._alike(held)

    def note_committed(self) -> None:
        """Note that what was appended is stored."""
        self._held = self._new

    @staticmethod
    def _alike(pieces: Sequence[tuple[int, int, int]]) -> tuple[int, int]:
        """Return the index of the first of the last pieces of one level, and the level."""
        level = pieces[-1][1]
        first = len(pieces)
        while first and pieces[first - 1][1] == level:
            first -= 1
        return first, level

    def _replace(self, first: int, level: int, data: bytes) -> None:
        """Put one piece where the last ones are."""
        held, table = self._new, self._table
        for name, _, _ in held[first:]:
            self._base.execute(f"DELETE FROM {table} WHERE id = ?", (name,))  # noqa: S608
        name = 1 + (held[first - 1][0] if first else 0)
        row = name, level, data
        self._base.execute(f"INSERT INTO {table} VALUES (?, ?, ?)", row)  # noqa: S608
        held[first:] = [(name, level, len(data))]

    def _read(self, name: int) -> bytes:
        query = f"SELECT data FROM {self._table} WHERE id = ?"  # noqa: S608
        data: bytes = self._base.execute(query, (name,)).fetchone()[0]
        return data
