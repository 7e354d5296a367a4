"""The rows of one side of a join, in an order that does not depend on how they were read."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import attrs
import numpy as np

from streameval.errors import InvalidInputError, require
from streameval.exact.array_types import Array, Ints, Mask
from streameval.monitoring.pending_runs import (
    MAX_TIME,
    ArrayColumns,
    BlobLog,
    ColumnTypes,
    concatenate,
    decode,
    encode,
    select,
)
from streameval.monitoring.watermarks import NO_TIME, LogTime

_MAX_CHUNKS = 16  # small ones of one partition, before they become one
_SMALL = 2**16  # rows; larger chunks are not written again


@attrs.define
class _PartitionTime:
    """Event time of a partition: how far it has come, and the start of its watermark."""

    log: LogTime
    floor: int | None = None

    def watermark(self, out_of_order: int) -> int | None:
        """Return the arrival time that no later row will precede; None before the first row."""
        reached = [] if self.log.time is None else [self.log.time - out_of_order]
        return max(reached + ([] if self.floor is None else [self.floor]), default=None)


@attrs.define(eq=False)
class _Chunk:
    """Rows of one partition by arrival time; those before `start` have been released."""

    partition: str
    columns: ArrayColumns
    start: int = 0
    id: int | None = None

    def __len__(self) -> int:
        return len(self.columns["time"]) - self.start

    def rest(self) -> ArrayColumns:
        """Return the rows that have not been released."""
        return {name: column[self.start :] for name, column in self.columns.items()}


class Arrivals:
    """The partitions of one side: their watermarks, and rows that are not released yet.

    Parameters
    ----------
    layout : mapping from str to dtype
        The columns of a row.
    out_of_order : int
        How much older a row may be than the time that its partition has reached.
    blobs : BlobLog
        Where blobs go.
    max_step : int, optional
        By how much a row can always move its partition; see `LogTime`.
    """

    def __init__(
        self, layout: ColumnTypes, out_of_order: int, blobs: BlobLog, max_step: int | None = None
    ) -> None:
        self._layout = layout
        self._out_of_order = out_of_order
        self._blobs = blobs
        self._max_step = max_step
        self._live: dict[str, _PartitionTime] = {}
        self._chunks: list[_Chunk] = []
        self._newest_finished: int | None = None
        self.reached: int | None = None
        self.n_pending = 0

    @property
    def watermark(self) -> int | None:
        """The arrival time that no later row will precede; None until every partition has rows."""
        bound = self._bound()
        return None if bound is None else bound[0]

    def declare(self, partition: str) -> None:
        """Register a partition before its first row, so that the others wait for it."""
        if partition not in self._live:
            self._live[partition] = _PartitionTime(LogTime(self._max_step), self.reached)

    def finish(self, partition: str) -> None:
        """Release a partition that will have no more rows."""
        gone = self._live.pop(partition, None)
        if gone is None:
            raise InvalidInputError(f"is unknown: {partition!r}", argument="partition")
        known = [
            time for time in (gone.log.time, gone.floor, self._newest_finished) if time is not None
        ]
        self._newest_finished = max(known, default=None)

    def put(
        self, partition: str, times: Ints, columns: ArrayColumns, is_own: Mask | None = None
    ) -> None:
        """Add rows of a partition in its order; rows of other shards only move the watermark."""
        self.declare(partition)
        if not len(times):
            return
        one = self._live[partition]
        arrived = self._arrival_times(one, times)
        order = np.argsort(arrived, kind="stable")  # copies: the caller may use its arrays again
        if is_own is not None:
            order = order[is_own[order]]
        if len(order):
            rows = select({**columns, "time": arrived}, order)
            self._chunks.append(_Chunk(partition, rows))
            self.n_pending += len(order)

    def release(self) -> ArrayColumns | None:
        """Remove and return, in order, the rows that no later row can precede."""
        bound = self._bound()
        if bound is None:
            return None
        self.reached = bound[0]
        parts = []
        for chunk in self._chunks:
            is_with_ties = bound[1] is None or chunk.partition <= bound[1]
            side: Literal["left", "right"] = "right" if is_with_ties else "left"
            end = int(np.searchsorted(chunk.columns["time"], bound[0], side))
            if end > chunk.start:
                part = {name: column[chunk.start : end] for name, column in chunk.columns.items()}
                parts.append((chunk.partition, part))
                chunk.start = end
        if not parts:
            return None
        self._chunks = [chunk for chunk in self._chunks if len(chunk)]
        parts.sort(key=lambda pair: pair[0])
        rows = concatenate([part for _, part in parts])
        self.n_pending -= len(rows["time"])
        times = rows["time"]
        if (times[1:] < times[:-1]).any():
            rows = select(rows, np.argsort(times, kind="stable"))
        return rows

    def pending(self, name: str) -> Array:
        """Return one column of the rows that have not been released."""
        columns = [chunk.rest()[name] for chunk in self._chunks]
        return np.concatenate([np.zeros(0, self._layout[name]), *columns])

    def write(self) -> Iterator[int]:
        """Make a blob of each new chunk; yield the ids of blobs in use."""
        self._compact()
        for chunk in self._chunks:
            if chunk.id is None:
                chunk.columns, chunk.start = chunk.rest(), 0
                chunk.id = self._blobs.add(encode(chunk.columns, self._layout))
            yield chunk.id

    def to_json(self) -> dict[str, Any]:
        """Return the state except for the blobs."""
        return {
            "partitions": {
                name: [one.log.time, one.floor, one.log.to_json()]
                for name, one in self._live.items()
            },
            "newest_finished": self._newest_finished,
            "reached": self.reached,
            "chunks": [[chunk.id, chunk.partition, chunk.start] for chunk in self._chunks],
        }

    def restore(self, state: Any, blobs: Mapping[int, bytes]) -> Iterator[int]:
        """Restore what `write` and `to_json` returned; yield the ids of blobs in use."""
        require(
            isinstance(state, dict)
            and state.keys() == {"partitions", "newest_finished", "reached", "chunks"}
            and isinstance(state["partitions"], dict)
            and isinstance(state["chunks"], list),
            "a side of the join has other fields",
        )
        self._newest_finished = _time_or_none(state["newest_finished"])
        self.reached = _time_or_none(state["reached"])
        for name, fields in state["partitions"].items():
            self._live[name] = self._restored(fields)
        for item in state["chunks"]:
            require(isinstance(item, list) and len(item) == 3, "a chunk has other fields")
            number, partition, start = item
            require(type(number) is int and number in blobs, "a chunk is missing")
            require(isinstance(partition, str), "the partition of a chunk is not text")
            columns = decode(blobs[number], self._layout)
            times = columns["time"]
            require(
                type(start) is int and 0 <= start < len(times),
                "the start of a chunk is out of range",
            )
            require((times[:-1] <= times[1:]).all(), "a chunk is not sorted by time")
            require(abs(times[[0, -1]]).max() < MAX_TIME, "a time is out of range")
            self._chunks.append(_Chunk(partition, columns, start, number))
            self.n_pending += len(times) - start
            yield number

    def _restored(self, fields: Any) -> _PartitionTime:
        """Restore a partition; earlier releases stored only its newest row and the floor."""
        require(isinstance(fields, list) and len(fields) in (2, 3), "a partition has other fields")
        time, floor = map(_time_or_none, fields[:2])
        recent = fields[2] if len(fields) > 2 else []
        require(isinstance(recent, list), "the last rows of a partition are not a list")
        return _PartitionTime(LogTime(self._max_step, time, list(map(read_time, recent))), floor)

    def _arrival_times(self, one: _PartitionTime, times: Ints) -> Ints:
        """Note rows; return the later of the time of each and the watermark just before it."""
        before = np.maximum(one.log.observe(times), NO_TIME + self._out_of_order)
        arrived: Ints = np.maximum(times, before - self._out_of_order)
        if one.floor is not None:
            arrived = np.maximum(arrived, one.floor)
        return arrived

    def _bound(self) -> tuple[int, str | None] | None:
        """Return the time and the partition (None: any) that no later row can precede."""
        if not self._live:
            newest = self._newest_finished
            return None if newest is None else (newest, None)
        marks = [(one.watermark(self._out_of_order), name) for name, one in self._live.items()]
        if any(mark is None for mark, _ in marks):
            return None
        return min((mark, name) for mark, name in marks if mark is not None)

    def _compact(self) -> None:
        """Join the newest chunks of a partition if many of them are small."""
        by_partition: dict[str, list[_Chunk]] = {}
        for chunk in self._chunks:
            by_partition.setdefault(chunk.partition, []).append(chunk)
        self._chunks = []
        for partition, chunks in by_partition.items():
            is_small = (len(chunk) < _SMALL for chunk in reversed(chunks))
            n_small = sum(1 for _ in itertools.takewhile(bool, is_small))
            end = len(chunks) - n_small if n_small > _MAX_CHUNKS else len(chunks)
            self._chunks += chunks[:end]
            if chunks[end:]:
                rows = concatenate([chunk.rest() for chunk in chunks[end:]])
                order = np.argsort(rows["time"], kind="stable")
                self._chunks.append(_Chunk(partition, select(rows, order)))


def read_time(value: Any) -> int:
    """Check a time in a stored state; a watermark can precede the first time."""
    require(type(value) is int and -2 * MAX_TIME < value < MAX_TIME, "a time is out of range")
    return int(value)


def _time_or_none(value: Any) -> int | None:
    return None if value is None else read_time(value)
