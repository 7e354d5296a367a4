"""Rows a second on workers of Dask in their steady state, apart from what starting them costs."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import streameval as se
from speed import data

ROWS = 2**16  # of a partition
FEW = 10


def partition(seed: int) -> dict[str, np.ndarray]:
    """Draw the batch of a partition, on the worker."""
    random = np.random.default_rng([data.SEED, seed])
    return {"y_true": random.integers(0, 2, ROWS), "y_score": random.random(ROWS)}


def measure(n_partitions: int, workers: int = 2) -> dict[str, Any]:
    """Evaluate a few partitions, then many; the difference is the steady state.

    Returns
    -------
    dict
        Seconds until the workers have counted a few partitions, and rows a second after that.
        Drawing the rows is measured alone, and is left out of neither.
    """
    import dask  # noqa: PLC0415 - nothing else here needs it
    from distributed import Client  # noqa: PLC0415

    from streameval.engines.dask import evaluate  # noqa: PLC0415

    def seconds(client: Any, n: int) -> float:
        parts = [dask.delayed(partition)(seed) for seed in range(n)]
        start = time.perf_counter()
        found = evaluate(client, parts, se.PRCurveSketch)
        taken = time.perf_counter() - start
        assert found.n == n * ROWS, "rows were lost"
        return taken

    start = time.perf_counter()
    with Client(n_workers=workers, threads_per_worker=1, dashboard_address=None) as client:
        seconds(client, FEW)
        started = time.perf_counter() - start
        few, many = seconds(client, FEW), seconds(client, n_partitions)
    start = time.perf_counter()
    for seed in range(FEW):
        partition(seed)
    drawing = (time.perf_counter() - start) / FEW / ROWS
    return {
        "partitions": n_partitions,
        "rows": n_partitions * ROWS,
        "workers": workers,
        "start_up": round(started, 2),
        "rows_a_second": round((n_partitions - FEW) * ROWS / max(many - few, 1e-9)),
        "drawing_ns": round(drawing * 1e9, 1),
    }
