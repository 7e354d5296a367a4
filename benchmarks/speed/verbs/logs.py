"""Logs: whole commands that read a file and compute ROC AUC and the counts at 0.5, on all cores."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from speed import data
from speed.contest import Contest, Data, Numbers, Peer, Side

ROWS = 3_000_000
BUDGET = ["--budget", "none"]
WHY = {
    ".jsonl": "Reading takes 0.9 s of CPU time, DuckDB 0.75, polars 1.0; a second process more.",
    ".csv": "Starting takes 0.2 s, reading 0.45 s of CPU time; DuckDB 0.4, polars 0.24.",
    ".parquet": "Reading is as fast; starting takes 0.2 s, and 28 more metrics 0.07.",
}
"""By format; CPU time of 3,000,000 rows."""

DUCKDB = """
import duckdb, json, sys
print(json.dumps(duckdb.sql(f'''
    with scores as (
        select y_score, count(*) filter (y_true = 1) as pos, count(*) filter (y_true = 0) as neg
        from '{sys.argv[1]}' group by y_score
    ), ranks as (
        select *, sum(neg) over (order by y_score) - neg / 2.0 as below from scores
    )
    select sum(pos * below)::double / (sum(pos)::double * sum(neg)::double),
        coalesce(sum(pos) filter (y_score >= 0.5), 0)::bigint,
        coalesce(sum(neg) filter (y_score >= 0.5), 0)::bigint
    from ranks
''').fetchall()[0]))
"""
POLARS = """
import json, sys
import polars as pl
path = sys.argv[1]
scans = {"csv": pl.scan_csv, "parquet": pl.scan_parquet, "jsonl": pl.scan_ndjson}
scan = scans[path.rpartition(".")[2]](path).select("y_true", "y_score")
"""
GROUPED = """
pos, n, score = pl.col("pos"), pl.col("n"), pl.col("y_score")
found = (
    scan.group_by("y_score").agg(pl.col("y_true").sum().alias("pos"), pl.len().alias("n"))
    .sort("y_score").with_columns((n - pos).alias("neg"))
    .with_columns((pl.col("neg").cum_sum() - pl.col("neg") / 2).alias("below"))
    .select(
        (pos * pl.col("below")).sum() / (pos.sum().cast(float) * pl.col("neg").sum()),
        pos.filter(score >= 0.5).sum().alias("tp"),
        pl.col("neg").filter(score >= 0.5).sum().alias("fp"),
    ).collect()
)
print(json.dumps(found.row(0)))
"""
COUNTED = """
at = frame.filter(pl.col("y_score") >= 0.5)["y_true"]
print(json.dumps([area, int(at.sum()), len(at) - int(at.sum())]))
"""
POLARS_DS = """
import polars_ds
frame = scan.collect()
area = frame.select(polars_ds.query_roc_auc("y_true", "y_score")).item()
"""
RAPIDSTATS = """
from rapidstats import metrics
frame = scan.collect()
area = metrics.roc_auc(frame["y_true"], frame["y_score"])
"""


def log(rows: int, suffix: str, *, decimals: int | None) -> Data:
    """Write a log of five columns, of which two are evaluated, with rounded or distinct scores."""
    import pyarrow as pa  # noqa: PLC0415 - other verbs do not need it
    from pyarrow import csv, parquet  # noqa: PLC0415

    truth, score = data.binary(rows)
    score = score.astype(np.float64)
    score = score if decimals is None else score.round(decimals)
    random = np.random.default_rng(data.SEED)
    columns = {
        "id": np.arange(rows),
        "ts": 1_767_225_600 + np.arange(rows) // 100,
        "country": random.choice(["DE", "FR", "ES", "IT"], rows),
        "y_true": truth.astype(np.int64),
        "y_score": score,
    }
    folder = TemporaryDirectory()  # goes with the data
    path = Path(folder.name) / f"log{suffix}"
    table = pa.table(columns)
    if suffix == ".parquet":
        parquet.write_table(table, path, row_group_size=2**20)
    elif suffix == ".csv":
        csv.write_csv(table, path)
    else:
        with path.open("w", encoding="utf-8") as file:
            for batch in table.to_batches(2**16):
                file.writelines(f"{json.dumps(row)}\n" for row in batch.to_pylist())
    return folder, path


def side(arguments: Sequence[str], held: Data, read: Any = tuple) -> Side:
    """Run Python in a new process, start included; the data lives as long as the side."""

    # `reading` sets one thread for peers in this process; byte code is written, as by `pip`
    others = {"POLARS_MAX_THREADS", "PYTHONDONTWRITEBYTECODE"}
    environment = {key: value for key, value in os.environ.items() if key not in others}

    def run() -> Numbers:
        command = [sys.executable, "-P", *arguments, str(held[1])]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        area, tp, fp = read(json.loads(done.stdout))
        return {"ROC AUC": area, "true positives": tp, "false positives": fp}

    return Side.of_function(run)


def of_both(found: dict[str, Any]) -> tuple[float, int, int]:
    """Read the numbers of a collection of a curve and a matrix."""
    (_, fp), (_, tp) = found["members"]["classification"]["matrix"]
    return found["metrics"]["binary/roc_auc"], tp, fp


def ours(held: Data, *, exact: bool) -> Side:
    """Evaluate as a user types it: in bins, or so that no score shares a bin."""
    options = ["--task", "binary,classification", "--classes", "2", "--json", "--quiet"]
    return side(["-m", "streameval", "eval", *options, *BUDGET * exact], held, of_both)


def contest(name: str, suffix: str, decimals: int | None, *, exact: bool) -> Contest:
    def peer(library: str, does: str, script: str, goal: float | None, module: str = "") -> Peer:
        return Peer(
            library=library,
            name=does,
            module=module,
            ready=lambda _, held: side(["-c", script], held),
            goal=None if exact else goal,  # bins are what makes a log of any length fit
            tolerance=1e-7 if exact else 1e-3,
            why=WHY[suffix],
        )

    scores = "distinct scores" if decimals is None else f"scores of {decimals} digits"
    return Contest(
        verb="logs",
        accumulator="eval",
        work=f"{name}, {scores}" + ", exact" * exact,
        size=ROWS,
        data=partial(log, suffix=suffix, decimals=decimals),
        ours=partial(ours, exact=exact),
        peers=[
            peer("duckdb", "groups scores", DUCKDB, 1.0),
            peer("polars", "groups scores", POLARS + GROUPED, 1.0),
            peer("polars-ds", "query_roc_auc", POLARS + POLARS_DS + COUNTED, None, "polars_ds"),
            peer("rapidstats", "roc_auc", POLARS + RAPIDSTATS + COUNTED, None),
        ],
    )


CONTESTS = [
    contest(name, suffix, decimals, exact=exact)
    for name, suffix in (("JSON lines", ".jsonl"), ("CSV", ".csv"), ("Parquet", ".parquet"))
    for decimals, exact in ((6, False), (None, False), (6, True))
]
