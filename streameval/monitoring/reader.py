"""One of the two sources of a monitor, and its progress."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from streameval.errors import BadDataError
from streameval.inputs.paths import Fields
from streameval.runs.counting import bad_rows

if TYPE_CHECKING:
    from streameval.io.blocks import Block, Parsed
    from streameval.io.row_filters import RowFilter
    from streameval.monitoring.source_protocol import Chunk, Source
    from streameval.monitoring.watermarks import Partitions
    from streameval.runs.totals import BadRows

_FIRST_ROWS = 100
_MAX_HELD = 64


class Reader:
    """A source that is read chunk by chunk, after its first rows have shown how.

    Parameters
    ----------
    role : {"predictions", "labels"}
    source : Source
    partitions : Partitions
        The progress of its event time.
    """

    def __init__(self, role: str, source: Source, partitions: Partitions) -> None:
        self.role = role
        self.source = source
        self.partitions = partitions
        self.plan: Any = None  # a Plan, once there is one
        self.position: Any = None
        self.held: list[Chunk] = []
        self.rows: list[Fields] = []
        self.waits_for: int | None = None
        """The event time that the clock must reach before the next chunk is taken."""
        self._others: list[Fields] = []
        self._n_seen = self._n_bytes = 0
        self.n_held = 0
        """The number of rows in the chunks that `hold` has seen."""
        self.is_full = False
        """Whether `hold` has held as much as it may."""

    def look(self, limit: int, where: RowFilter | None, bad: BadRows) -> bool:
        """Hold chunks until there are rows to examine; return whether there are.

        They are the first rows that the filter keeps, unless these come very late.
        """
        while not self.rows and len(self.held) < _MAX_HELD:
            chunk = self.source.read(limit)
            if chunk is None:
                break
            self.held.append(chunk)
            rows = list(map(Fields, chunk.block.rows()))
            self.rows = [row for row in rows if where is None or where.keeps(row)][:_FIRST_ROWS]
            self._others = self._others or rows[:_FIRST_ROWS]
            if not rows:
                bad.add(bad_rows(chunk.block, chunk.block.parse(()).faults))
        self.rows = self.rows or self._others
        if not self.rows and len(self.held) == _MAX_HELD:
            raise BadDataError(f"{self.source.name}: none of the first rows can be counted.")
        return bool(self.rows)

    def hold(self, limit: int, max_rows: int, count: Callable[[Block], int]) -> None:
        """Hold the next chunks while another source has no rows, and count their rows.

        Parameters
        ----------
        limit : int
            The bytes of a chunk; 64 times as many are held.
        max_rows : int
            The number of rows at which to stop.
        count : callable
            Counts the rows of a block.
        """
        while not self.is_full:
            if self._n_seen == len(self.held):
                chunk = self.source.read(limit) if self.rows else None  # else `look` has tried
                if chunk is None:
                    return
                self.held.append(chunk)
            block = self.held[self._n_seen].block
            self.n_held += count(block)
            self._n_bytes += block.taken
            self._n_seen += 1
            self.is_full = self._n_bytes >= _MAX_HELD * limit or self.n_held >= max_rows

    def next(self, limit: int) -> Chunk | None:
        """Return the next chunk; None if there is none, or if it must wait for the clock."""
        if self.waits_for is not None:
            return None
        return self.held.pop(0) if self.held else self.source.read(limit)

    def following(self, partition: str, limit: int) -> Iterator[tuple[bool, Callable[[], Parsed]]]:
        """Look at the chunks after the one returned last; a limited number is held.

        Yields
        ------
        bool
            Whether it is of a partition.
        callable
            Parses it.
        """
        for at in range(_MAX_HELD):
            if at == len(self.held):
                chunk = self.source.read(limit)
                if chunk is None:
                    return
                self.held.append(chunk)
            found = self.held[at]
            parse = partial(found.block.parse, self.plan.columns, self.plan.where)
            yield found.partition == partition, parse

    def put_back(self, chunk: Chunk, until: int) -> None:
        """Return the next chunk again, once the clock has reached a time."""
        self.held.insert(0, chunk)
        self.waits_for = until


def row_to_json(row: Any) -> Any:
    """Write one of the first rows as JSON that reads as the same types."""
    if isinstance(row, Mapping):
        return {str(name): row_to_json(value) for name, value in row.items()}
    if isinstance(row, list):
        return list(map(row_to_json, row))
    if isinstance(row, Decimal):
        return float(row)
    return row.isoformat() if isinstance(row, datetime.date | datetime.time) else row
