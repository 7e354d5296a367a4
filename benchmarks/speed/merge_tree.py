"""What it costs to merge very many states: bytes in and bytes out, in a tree, in flat memory."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import attrs
import numpy as np

import streameval as se
from speed import data

FAN_IN = 32
_LEAVES = 32  # different states, which come again and again


@attrs.frozen
class Worker:
    """What workers count, and the states that they send.

    Parameters
    ----------
    name : str
    make : callable
        Makes an empty accumulator.
    batch : callable
        Draws the arrays of a number of rows.
    rows : int
        How many rows each state has counted.
    states : int
        How many states there are at most.
    """

    name: str
    make: Callable[[], Any]
    batch: Callable[[np.random.Generator, int], tuple[np.ndarray, ...]]
    rows: int
    states: int

    def state(self, seed: int) -> bytes:
        """Count rows, and write the state."""
        random = np.random.default_rng([data.SEED, seed])
        found: bytes = self.make().update(*self.batch(random, self.rows)).to_bytes()
        return found


def classes(random: np.random.Generator, rows: int) -> tuple[np.ndarray, ...]:
    """Draw true and predicted classes."""
    return tuple(random.integers(0, 10, (2, rows)))


def clicks(random: np.random.Generator, rows: int) -> tuple[np.ndarray, ...]:
    """Draw clicks and rates."""
    rate = 1 / (1 + np.exp(-random.normal(-3, 1.5, rows)))
    return (random.random(rows) < rate).astype(np.int64), rate


WORKERS = [
    Worker("ConfusionAccumulator(10)", lambda: se.ConfusionAccumulator(10), classes, 1000, 100_000),
    Worker("RegressionAccumulator()", se.RegressionAccumulator, clicks, 1000, 100_000),
    Worker("CalibrationAccumulator()", se.CalibrationAccumulator, clicks, 1000, 10_000),
    Worker("PRCurveSketch(1024)", lambda: se.PRCurveSketch(1024), clicks, 10_000, 10_000),
    Worker("PRCurveSketch(65_536)", se.PRCurveSketch, clicks, 1_000_000, 1000),
]


def measure(worker: Worker, shrink: int) -> dict[str, Any]:
    """Merge states in a tree; memory is read when a hundredth of them, a tenth, and all are merged.

    Returns
    -------
    dict
        Bytes of a state and of the result, CPU microseconds a state, and MB held at the marks.
    """
    leaves = [worker.state(seed) for seed in range(_LEAVES)]
    n_states = max(worker.states // shrink, 100)
    held: list[float] = []
    marks = {n_states // 100, n_states // 10, n_states}

    def states() -> Iterator[bytes]:
        for number in range(1, n_states + 1):
            if number in marks:
                held.append(round(resident() / 1e6, 1))
            yield leaves[number % _LEAVES]

    start = time.process_time()
    total = merged_in_a_tree(states(), FAN_IN)
    seconds = time.process_time() - start
    assert se.from_bytes(total).n == n_states * worker.rows, "rows were lost"
    return {
        "name": worker.name,
        "rows": worker.rows,
        "states": n_states,
        "bytes": len(leaves[0]),
        "result": len(total),
        "microseconds": round(seconds / n_states * 1e6, 2),
        "megabytes": held,
    }


def merged_in_a_tree(states: Iterable[bytes], fan_in: int) -> bytes:
    """Merge states that come one by one, and hold `fan_in` of each level at most."""
    levels: list[list[bytes]] = [[]]
    for state in states:
        levels[0].append(state)
        for level, part in enumerate(levels):
            if len(part) < fan_in:
                break
            if level + 1 == len(levels):
                levels.append([])
            levels[level + 1].append(merged(part))
            part.clear()
    return merged([state for part in levels for state in part])


def merged(states: list[bytes]) -> bytes:
    """Read states, merge them at once, and write the result."""
    found: bytes = se.merge([se.from_bytes(state) for state in states]).to_bytes()
    return found


def resident() -> int:
    """Read how many bytes this process holds; 0 where there is no /proc."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        return 0
    return int(statm.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
