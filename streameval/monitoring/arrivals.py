"""The rows of one side of a join, in an order that does not depend on how they were read."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import attrs
import numpy as np

from streameval.errors import require
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
from streameval.monitoring.watermarks import Partitions, PartitionTime

_MAX_CHUNKS = 16  # small ones of one partition, before they become one
_SMALL = 2**16  # rows; larger chunks are not written again


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
    """The rows of one side that are not released yet.

    Parameters
    ----------
    layout : mapping from str to dtype
        The columns of a row.
    partitions : Partitions
        Their partitions.
    blobs : BlobLog
        Where blobs go.
    """

    def __init__(self, layout: ColumnTypes, partitions: Partitions, blobs: BlobLog) -> None:
        self._layout = layout
        self.partitions = partitions
        self._blobs = blobs
        self._chunks: list[_Chunk] = []
        self.n_pending = 0

    def put(
        self, partition: str, times: Ints, columns: ArrayColumns, is_own: Mask | None = None
    ) -> Ints:
        """Add rows of a partition in its order; rows of other shards only move the watermark.

        Returns
        -------
        array of int64, shape (n,)
            The watermark of the partition just before each row.
        """
        marks = self.partitions.observe(partition, times)
        floor = self.partitions.found[partition].floor
        arrived = np.maximum(times, marks if floor is None else np.maximum(marks, floor))
        order = np.argsort(arrived, kind="stable")  # copies: the caller may use its arrays again
        if is_own is not None:
            order = order[is_own[order]]
        if len(order):
            rows = select({**columns, "time": arrived}, order)
            self._chunks.append(_Chunk(partition, rows))
            self.n_pending += len(order)
        return marks

    def release(self) -> ArrayColumns | None:
        """Remove and return, in order, the rows that no later row can precede."""
        bound = self.partitions.bound
        if bound is None:
            return None
        self.partitions.reached = bound[0]
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
        known = self.partitions
        return {
            "partitions": {
                name: [one.log.time, one.floor, one.log.to_json()]
                for name, one in known.found.items()
            },
            "newest_finished": known.newest_finished,
            "reached": known.reached,
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
        self.partitions.newest_finished = _time_or_none(state["newest_finished"])
        self.partitions.reached = _time_or_none(state["reached"])
        for name, fields in state["partitions"].items():
            self.partitions.found[name] = self._restored(fields)
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

    def _restored(self, fields: Any) -> PartitionTime:
        """Restore a partition; earlier releases stored only its newest row and the floor."""
        require(isinstance(fields, list) and len(fields) in (2, 3), "a partition has other fields")
        time, floor = map(_time_or_none, fields[:2])
        recent = fields[2] if len(fields) > 2 else []
        require(isinstance(recent, list), "the last rows of a partition are not a list")
        return self.partitions.restored(time, floor, list(map(checked_time, recent)))

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


def checked_time(value: Any) -> int:
    """Check a time in a stored state; a watermark can precede the first time."""
    require(type(value) is int and -2 * MAX_TIME < value < MAX_TIME, "a time is out of range")
    return int(value)


def _time_or_none(value: Any) -> int | None:
    return None if value is None else checked_time(value)
