"""Print what slices and panes cost: CPU time of rows, loading and sliding windows, and memory.

Run ``python benchmarks/groups.py``. Every slice counts a confusion matrix and a curve of 4,096
cells. Each figure is the best of several turns, so that other work on the machine matters less.
"""

from __future__ import annotations

import argparse
import gc
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from speed.verbs.groups import decided, in_batches, logs, sliced_panes

import streameval as se

TURNS = 5
PENDING = 2**18  # rows are split together once so many are pending


def seconds(run: Callable[[], Any], turns: int = TURNS) -> float:
    """Return the CPU time of the fastest of some turns."""
    found = []
    for _ in range(turns):
        start = time.process_time()
        run()
        found.append(time.process_time() - start)
    return min(found)


def of_updates(rows: int, slices: int, panes: int, shrink: int) -> float:
    """Return the nanoseconds of a row, in updates of accumulators that hold rows already."""
    calls = max(1, PENDING // rows // shrink)
    batches = [logs(rows, slices=slices, panes=panes, seed=seed)[0] for seed in range(calls)]
    names = {name: name for name in batches[0]["name"]}
    for batch in batches:  # what reads a log has each name once
        batch["name"][:] = [names.setdefault(name, name) for name in batch["name"]]
    running = sliced_panes(slices)

    def run() -> None:
        for batch in batches:
            running.update(batch)

    run()
    return seconds(run) / (rows * calls) * 1e9


def of_matrices(rows: int, shrink: int) -> Iterator[tuple[str, float, str, float]]:
    """Measure the nanoseconds of a row of matrices in 2 panes of 100 slices, a minute a batch."""
    (batch,) = decided(rows // shrink, 100)
    minutes = in_batches(batch, 2)

    def counted() -> se.Windowed:
        sliced = se.Sliced(se.ConfusionAccumulator(2), "name")
        made = se.Windowed(sliced, pane="1m", unit="s")
        for minute in minutes:
            made.update(minute)
        made.n_rows()  # a read, so that nothing is pending
        return made

    what = "matrices of 100 slices, 2 panes"
    number = shrink / rows * 1e9
    yield what, seconds(counted) * number, "ns a row", 80.0
    yield f"{what}, bytes", seconds(lambda: counted().to_bytes()) * number, "ns a row", 160.0


def of_memory(values: int, cells: int) -> Iterator[tuple[str, float, str, float]]:
    """Measure the memory of many slices with full curves, as multiples of their columns."""
    names = np.array([f"v{number:05}" for number in range(values)], dtype=object)
    batches = 20
    score = np.linspace(0.0, 1.0, cells)
    tracemalloc.start()
    counted = se.Sliced(se.PRCurveSketch(cells), "name", max_values=values)
    for own in np.array_split(names, batches):
        truth, scores = np.arange(len(own) * cells) % 2, np.tile(score, len(own))
        counted.update({"y_true": truth, "y_score": scores, "name": np.repeat(own, cells)})
    n_bytes = len(counted.to_bytes())  # the columns, and what is written beside them
    del own, truth, scores
    gc.collect()
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    what = f"{values:,} slices of {cells:,} cells, memory"
    yield what, held / n_bytes, "of its columns", 1.2
    yield f"{what}, at its peak", peak / n_bytes, "of its columns", 4.0


def of_loading(groups: int) -> Iterator[tuple[str, float, str, float]]:
    """Measure groups of ten rows: their bytes, and what loading takes."""
    (batch,) = logs(10 * groups, panes=max(1, groups // 100))
    counted = sliced_panes().update(batch)
    data = counted.to_bytes()
    yield f"{groups:,} groups of 10 rows, bytes", len(data) / 1e9, "GB", 0.1
    yield f"{groups:,} groups of 10 rows, load", seconds(lambda: se.from_bytes(data), 3), "s", 2.0


def of_sliding(rows: int, panes: int) -> float:
    """Return the milliseconds of a step of a minute, of a window of an hour over 100 slices."""
    (batch,) = logs(rows, panes=panes)
    counted = sliced_panes().update(batch)
    n_steps = sum(1 for _ in counted.windows("1h"))
    return seconds(lambda: [end for end, _ in counted.windows("1h")], 3) / n_steps * 1e3


def measure(shrink: int = 1) -> Iterator[tuple[str, float, str, float]]:
    """Yield what was measured, the number, its unit, and the goal."""
    sizes = [(65_536, 100, 2), (1000, 1000, 1)]
    for rows, slices, panes in sizes:
        what = f"batches of {rows:,} rows, {slices:,} slices, panes: {panes}"
        yield (
            what,
            of_updates(rows // shrink, slices, panes, shrink),
            "ns a row",
            (80.0 if rows > 1000 else 250.0),
        )
    yield from of_matrices(1_000_000, shrink)
    yield from of_memory(10_000 // shrink, 1024)
    yield from of_loading(100_000 // shrink)
    yield (
        "slide an hour by the minute, 100 slices",
        *(of_sliding(2_400_000 // shrink, 120), "ms a step", 60.0),
    )


def main() -> None:
    """Print a line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shrink", type=int, default=1, help="by how much data is smaller")
    for what, number, unit, goal in measure(parser.parse_args().shrink):
        print(f"{what:48} {number:10.3g} {unit} (goal {goal:g})", flush=True)


if __name__ == "__main__":
    main()
