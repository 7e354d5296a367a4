"""Join predictions and labels, and print what pending rows cost.

Run ``python benchmarks/pending_rows.py``. Rates are of CPU time; a call is what takes a batch and
asks for what can be counted. A commit writes what 100,000 new predictions and as many labels have
changed into SQLite, with a write-ahead log and every commit on disk; its time is that of the clock.
"""

from __future__ import annotations

import argparse
import gc
import json
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from streameval.monitoring.join import Join, RunChanges

BATCH = 10_000
COMMIT = 100_000
COMMITS = 10
SEED = 0
DTYPE = np.dtype([("score", np.float64)])


class Timer:
    """CPU seconds of calls: all of them, and the longest."""

    def __init__(self) -> None:
        self.total = self.longest = 0.0

    def __call__(self, *calls: Callable[[], Any]) -> Any:
        start = time.process_time()
        for call in calls:
            result = call()
        seconds = time.process_time() - start
        self.total += seconds
        self.longest = max(self.longest, seconds)
        return result


class Checkpoint:
    """The blobs of a join in SQLite."""

    def __init__(self, path: Path) -> None:
        self.base = sqlite3.connect(path, isolation_level=None)
        self.base.execute("PRAGMA page_size=16384")  # half the time of 4096 for large blobs
        self.base.execute("PRAGMA journal_mode=WAL")
        self.base.execute("PRAGMA synchronous=FULL")
        for table in ("run", "dead", "state"):
            self.base.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, blob)")

    def write(self, changes: RunChanges) -> None:
        run = self.base.executemany
        self.base.execute("BEGIN IMMEDIATE")
        removed = [(number,) for number in changes.removed]
        run("DELETE FROM run WHERE id = ?", removed)
        run("DELETE FROM dead WHERE id = ?", removed)
        run("INSERT INTO run VALUES (?, ?)", changes.added.items())
        run("INSERT OR REPLACE INTO dead VALUES (?, ?)", changes.dead.items())
        run("INSERT OR REPLACE INTO state VALUES (0, ?)", [(json.dumps(changes.state),)])
        self.base.execute("COMMIT")

    def read(self, join: Join, options: dict[str, Any]) -> Join:
        tables = [
            dict(self.base.execute(f"SELECT id, blob FROM {name}")) for name in ("run", "dead")
        ]
        [(state,)] = self.base.execute("SELECT blob FROM state")
        return Join.restore(join.dtype, options, json.loads(state), *tables)


def resident_bytes() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def ids_of(numbers: np.ndarray) -> list[str]:
    mixed = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return [f"{number:016x}" for number in mixed.tolist()]


def batches(start: int, end: int) -> Iterator[np.ndarray]:
    for first in range(start, end, BATCH):
        yield np.arange(first, min(first + BATCH, end))


def measure(pending: int, folder: Path) -> dict[str, float]:
    """Return the figures of one number of pending rows."""
    random = np.random.default_rng(SEED)
    options = {"wait": 10**12, "max_pending": 10**9}
    join = Join(DTYPE, **options)
    checkpoint = Checkpoint(folder / "join.db")

    def put(numbers: np.ndarray, timer: Timer) -> None:
        ids, rows = ids_of(numbers), np.zeros(len(numbers), DTYPE)
        rows["score"] = random.random(len(numbers))
        timer(lambda: join.predict("predictions", ids, numbers, rows), join.ready)

    def take(numbers: np.ndarray, first: int, timer: Timer) -> int:
        ids, times = ids_of(numbers), np.arange(len(numbers)) + first
        labels = random.integers(0, 2, len(numbers))
        return len(timer(lambda: join.label("labels", ids, times, labels), join.ready))

    before = resident_bytes()
    putting = Timer()
    for numbers in batches(0, pending):
        put(numbers, putting)
        if numbers[-1] % COMMIT == COMMIT - 1:
            checkpoint.write(join.changes())
    gc.collect()
    held = resident_bytes() - before

    order = random.permutation(pending)
    commits, taken, taking, more, committing = [], 0, Timer(), Timer(), Timer()
    size = min(COMMIT, pending // (2 * COMMITS))
    for part in range(COMMITS):
        new, old = pending + part * size, part * size
        for numbers in batches(new, new + size):
            put(numbers, more)
        for numbers in batches(old, old + size):
            taken += take(order[numbers], pending + old, taking)
        start = time.perf_counter()
        committing(lambda: checkpoint.write(join.changes()))
        commits.append(time.perf_counter() - start)
    if taken != COMMITS * size or checkpoint.read(join, options).counters != join.counters:
        raise SystemExit("the join has lost rows")
    return {
        "pending": pending,
        "put": pending / putting.total,
        "take": taken / taking.total,
        "bytes": held / pending,
        "longest": max(putting.longest, taking.longest, more.longest),
        "commit": float(np.median(commits)),
        "longest commit": max(commits),
        "cpu": committing.total / COMMITS,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Show what rows cost that await their label.")
    parser.add_argument("--pending", type=int, nargs="+", default=[10**6, 10**7])
    given = parser.parse_args()
    if len(given.pending) > 1:
        for pending in given.pending:  # each in a process of its own, whose memory is its own
            subprocess.run([sys.executable, __file__, f"--pending={pending}"], check=True)
        return
    with tempfile.TemporaryDirectory() as folder:
        found = measure(given.pending[0], Path(folder))
    print(
        f"{found['pending']:,} pending: put {found['put']:,.0f} rows/s, "
        f"take {found['take']:,.0f} rows/s, {found['bytes']:.0f} bytes a row, "
        f"longest call {found['longest'] * 1e3:.0f} ms, commit {found['commit'] * 1e3:.0f} ms "
        f"({found['cpu'] * 1e3:.0f} ms of CPU), "
        f"longest {found['longest commit'] * 1e3:.0f} ms"
    )


if __name__ == "__main__":
    main()
