"""Rows that await their turn: what is written of them, and how often."""

from __future__ import annotations

import numpy as np
import pytest

from streameval.monitoring import arrivals
from streameval.monitoring.arrivals import Arrivals
from streameval.monitoring.pending_runs import BlobLog
from streameval.monitoring.watermarks import Partitions

LAYOUT = {"time": np.dtype(np.int64), "value": np.dtype(np.int64)}


def put(side: Arrivals, partition: str, start: int, size: int) -> None:
    times = np.arange(start, start + size)
    side.put(partition, times, {"value": times + 1})


def test_released_rows_are_in_order_of_time_and_partition() -> None:
    side = Arrivals(LAYOUT, Partitions(0), BlobLog())
    side.partitions.declare(["b", "a"])
    put(side, "b", 0, 3)
    assert side.release() is None
    put(side, "a", 1, 1)
    released = side.release()
    assert released is not None
    assert released["time"].tolist() == [0, 1]
    put(side, "a", 2, 2)
    released = side.release()
    assert released is not None
    assert released["time"].tolist() == [1, 2, 2]
    assert side.n_pending == 1


def test_rows_that_wait_long_are_written_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrivals, "_SMALL", 32)
    monkeypatch.setattr(arrivals, "_MAX_CHUNKS", 4)
    blobs = BlobLog()
    side = Arrivals(LAYOUT, Partitions(0), blobs)
    side.partitions.declare(["silent"])
    kept: set[int] = set()
    n_written = 0
    for start in range(0, 1000, 10):
        put(side, "busy", start, 10)
        added, removed = blobs.changes(side.write())
        kept = (kept | added.keys()) - removed
        n_written += sum(len(blob) // 16 for blob in added.values())
    assert len(kept) == len(side.to_json()["chunks"]) <= 25
    assert n_written <= 3 * 1000
