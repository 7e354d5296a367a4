"""Count one data set in seven ways, and lay out in a table that the state is the same bytes.

    python docs/engines.py           prints the table
    python docs/engines.py --write   also writes docs/tables/engines.txt
    python docs/engines.py --check   also compares all but versions and seconds with that

Needs the extras dask, spark, beam, ray and torch, and Java 17 for Spark, which is left out where
there is none.
"""

# ruff: noqa: PLC0415 (every way imports an engine of its own)
from __future__ import annotations

import hashlib
import logging
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from shutil import which

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import streameval as se

TABLE = Path(__file__).parent / "tables" / "engines.txt"
ROWS, FILES, BUDGET = 1_000_000, 16, 4096
make = partial(se.PRCurveSketch, BUDGET)


def write_files(folder: Path) -> list[str]:
    """Write a click log, unevenly cut: a million scores with as many values, for 4,096 cells.

    The scores are the larger or the smaller of two uniform numbers: the same bits on every CPU,
    which those of `np.exp` are not.
    """
    random = np.random.default_rng(0)
    y_true = random.integers(0, 2, ROWS)
    one, other = random.random((2, ROWS))
    y_score = np.where(y_true, np.maximum(one, other), np.minimum(one, other))
    table = pa.table({"y_true": y_true, "y_score": y_score, "not_read": np.arange(ROWS)})
    cuts = [ROWS * place**2 // FILES**2 for place in range(FILES + 1)]
    paths = [str(folder / f"part-{place:02}.parquet") for place in range(FILES)]
    for path, start, end in zip(paths, cuts[:-1], cuts[1:], strict=True):
        parquet.write_table(table.slice(start, end - start), path, row_group_size=50_000)
    return paths


def batches(path: str) -> Iterator[pa.RecordBatch]:
    """Read a file in batches."""
    with parquet.ParquetFile(path) as file:
        yield from file.iter_batches(columns=["y_true", "y_score"])


def one_process(paths: list[str]) -> bytes:
    """Count everything here."""
    acc = make()
    for path in paths:
        for batch in batches(path):
            acc.update(batch)
    return acc.to_bytes()


def two_jobs(paths: list[str]) -> bytes:
    """Let the command line count with two processes."""
    state = Path(paths[0]).with_name("state.state")
    command = [str(Path(sys.executable).with_name("streameval")), "eval", *paths, "--jobs", "2"]
    command += ["--task", "binary", "--budget", str(BUDGET), "-o", str(state)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return state.read_bytes()


def gloo_ranks(paths: list[str]) -> bytes:
    """Gather over four ranks; the last one has no file, and all end with the same bytes."""
    from torch import multiprocessing

    folder = str(Path(paths[0]).parent)
    multiprocessing.spawn(_rank, (paths, folder), 4)
    (state,) = {Path(folder, f"rank-{rank}").read_bytes() for rank in range(4)}
    return state


def _rank(rank: int, paths: list[str], folder: str) -> None:
    import torch
    from torch import distributed

    from streameval.engines.torch import gather

    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    store = distributed.FileStore(f"{folder}/store", 4)
    distributed.init_process_group("gloo", store=store, rank=rank, world_size=4)
    acc = make()
    for path in paths[rank::3] if rank < 3 else []:
        for batch in batches(path):
            acc.update(batch)
    Path(folder, f"rank-{rank}").write_bytes(gather(acc).to_bytes())
    distributed.destroy_process_group()


def dask_cluster(paths: list[str]) -> bytes:
    """Count on two workers, and kill one of them in the middle."""
    from dask.distributed import Client, LocalCluster

    from streameval.engines.dask import evaluate

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with cluster, Client(cluster) as client:
        killed = []

        def kill(done: int, total: int) -> None:
            if done >= total // 2 and not killed:
                killed.append(done)
                holders = [address for address, keys in client.has_what().items() if keys]
                os.kill(client.run(os.getpid)[holders[0]], signal.SIGKILL)

        return evaluate(client, paths, make, fan_in=2, target_bytes=2**20, progress=kill).to_bytes()


def spark_session(paths: list[str]) -> bytes:
    """Count in a local Spark session."""
    from pyspark.sql import SparkSession

    from streameval.engines.spark import evaluate

    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    try:
        return evaluate(spark.read.parquet(*paths), make).to_bytes()
    finally:
        spark.stop()


def beam_pipeline(paths: list[str]) -> bytes:
    """Count in a pipeline of Beam's DirectRunner."""
    import apache_beam as beam

    from streameval.engines.beam import EvaluateFn

    output = Path(paths[0]).with_name("beam")
    with beam.Pipeline("DirectRunner") as pipeline:
        acc = (
            pipeline
            | beam.Create(paths)
            | beam.FlatMap(batches)
            | beam.CombineGlobally(EvaluateFn(make))
        )
        _ = acc | beam.Map(partial(_save, path=str(output)))
    return output.read_bytes()


def _save(acc: se.PRCurveSketch, path: str) -> None:
    Path(path).write_bytes(acc.to_bytes())


def ray_cluster(paths: list[str]) -> bytes:
    """Count in tasks of a local Ray cluster."""
    import ray

    from streameval.engines.ray import evaluate

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        return evaluate(paths, make).to_bytes()
    finally:
        ray.shutdown()


WAYS: dict[str, tuple[str, Callable[[list[str]], bytes]]] = {
    "one process": (f"Python {platform.python_version()}", one_process),
    "`streameval eval --jobs 2`": (f"Python {platform.python_version()}", two_jobs),
    "torch.distributed, 4 gloo ranks, one empty": ("torch", gloo_ranks),
    "Dask, one of 2 workers killed": ("dask", dask_cluster),
    "Spark, `local[2]`": ("pyspark", spark_session),
    "Beam, DirectRunner": ("apache-beam", beam_pipeline),
    "Ray, 2 processes": ("ray", ray_cluster),
}


def ways() -> list[str]:
    """List what can run here: Spark needs Java."""
    return [way for way, (package, _) in WAYS.items() if package != "pyspark" or which("java")]


def table() -> str:
    """Run every way and lay out what came of it."""
    lines = ["| way | version | rows | SHA-256 of the state | seconds |", "|---|---|--:|---|--:|"]
    with tempfile.TemporaryDirectory() as folder:
        paths = write_files(Path(folder))
        for way in ways():
            package, run = WAYS[way]
            release = package if " " in package else f"{package} {version(package)}"
            start = time.perf_counter()
            state = run(paths)
            seconds = time.perf_counter() - start
            n, digest = se.from_bytes(state).n, hashlib.sha256(state).hexdigest()[:12]
            lines.append(f"| {way} | {release} | {n:,} | `{digest}` | {seconds:.1f} |")
    return "\n".join(lines)


def is_shown(made: str) -> bool:
    """Compare the ways that can run here."""
    shown = TABLE.read_text(encoding="utf-8")
    rows = [row for row in without_measurements(shown) if row[0] in ways()]
    return rows == without_measurements(made)


def without_measurements(text: str) -> list[list[str]]:
    """Keep the way, the rows and the digest of each line."""
    rows = [line.strip("|").split(" | ") for line in text.splitlines()[2:]]
    return [[row[0].strip(), row[2], row[3]] for row in rows]


def main(arguments: list[str]) -> int:
    """Print the table; see the head of this file."""
    made = table()
    print(made)
    if len(set(re.findall("`([0-9a-f]{12})`", made))) != 1:
        print("the states differ", file=sys.stderr)
        return 1
    if "--write" in arguments:
        TABLE.write_text(f"{made}\n", encoding="utf-8")
    if "--check" in arguments and not is_shown(made):
        print("docs show other ways, rows or bytes", file=sys.stderr)
        return 1
    print(f"\n{len(ways())} ways, the same bytes")
    return 0


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main(sys.argv[1:]))
