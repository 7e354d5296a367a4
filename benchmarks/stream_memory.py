"""Stream scores that never exist at once, and print how time, memory and state grow.

Run ``python benchmarks/stream_memory.py``, or with ``--grouped`` for the AUC within groups.
Each batch is made when it is needed, so what grows is the accumulator.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

import numpy as np

import streameval as se

BATCH = 2**16
SEED = 0
GROUP_ROWS = 20


def peak_mebibytes() -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20


def click_rates(random: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    score = 1 / (1 + np.exp(-random.normal(-7, 1.5, rows)))
    return random.random(rows) < score, score.astype(np.float32)


def stream(marks: list[int], budget: int) -> None:
    """Count click rates, and print a line at each mark; time is that of updates alone."""
    random = np.random.default_rng(SEED)
    sketch = se.PRCurveSketch(budget)
    rows, seconds = 0, 0.0
    print("| rows | seconds | peak MiB | bins | bytes of state | width of the bounds of ROC AUC |")
    print("|---|---|---|---|---|---|")
    print(f"| 0 | 0 | {peak_mebibytes():.0f} | 0 | {len(sketch.to_bytes()):,} | |", flush=True)
    for mark in marks:
        while rows < mark:
            batch = click_rates(random, min(BATCH, mark - rows))
            start = time.perf_counter()
            sketch.update(*batch)
            seconds += time.perf_counter() - start
            rows += len(batch[0])
        curve, size = sketch.compute(), len(sketch.to_bytes())
        open_by = curve.roc_auc.high - curve.roc_auc.low
        print(
            f"| {rows:,} | {seconds:.1f} | {peak_mebibytes():.0f} | {curve.cells:,} | {size:,} "
            f"| {open_by:.1e} |",
            flush=True,
        )


def stream_groups(groups: int, budget: int) -> None:
    """Count rows of many groups, whose rows come far apart, and print one line."""
    random = np.random.default_rng(SEED)
    before = peak_mebibytes()
    acc = se.GroupedAUC(budget)
    taste = random.normal(-3, 1, groups)
    seconds = 0.0
    for _ in range(GROUP_ROWS):
        for group in np.array_split(random.permutation(groups), max(groups // BATCH, 1)):
            logit = taste[group] + random.normal(size=len(group))
            score = 1 / (1 + np.exp(-logit))
            truth = random.random(len(group)) < score
            start = time.perf_counter()
            acc.update(truth, score.astype(np.float32), group)
            seconds += time.perf_counter() - start
    start = time.perf_counter()
    result = acc.compute()
    gauc, cells, coverage = result.gauc, result.cells, result.coverage
    reading = time.perf_counter() - start
    print(
        f"| {budget:,} | {cells:,} | {gauc:.6f} | {gauc.high - gauc.low:.1e} | {coverage:.3f} "
        f"| {seconds:.1f} | {reading:.1f} | {peak_mebibytes() - before:.0f} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Show that memory does not grow with the rows.")
    parser.add_argument("--rows", type=int, nargs="+", default=[10**6, 10**7, 3 * 10**7, 10**8])
    parser.add_argument("--budget", type=int, nargs="+", help="by default 65536; grouped several")
    parser.add_argument("--grouped", action="store_true", help="groups of 20 rows each")
    parser.add_argument("--groups", type=int, default=10**6)
    given = parser.parse_args()
    if not given.grouped:
        stream(sorted(given.rows), (given.budget or [2**16])[0])
        return
    budgets = given.budget or [2**22, 2**25]
    if len(budgets) == 1:
        stream_groups(given.groups, budgets[0])
        return
    print("| budget | bins | GAUC | width of the bounds | coverage | update s | compute s | MiB |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for budget in budgets:  # each in a process of its own, whose peak is its own
        options = ["--grouped", f"--groups={given.groups}", f"--budget={budget}"]
        subprocess.run([sys.executable, __file__, *options], check=True)


if __name__ == "__main__":
    main()
