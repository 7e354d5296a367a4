"""Reading: evaluate a log, beside those who read it alone and those who evaluate it too."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import streameval as se
from speed import data
from speed.contest import Contest, Data, Numbers, Peer, Side, yardstick
from streameval.cli import main

# One thread, as NumPy has; polars reads this when it is imported.
os.environ.setdefault("POLARS_MAX_THREADS", "1")

ROWS = 200_000
COLUMNS = ["y_true", "y_score"]
MATRIX = "confusion matrix"
WHY = "The peer loads the whole log at once; we read blocks, check each row, and save a state."
CELLS = [(truth, decided) for truth in (0, 1) for decided in (False, True)]


def log(rows: int, suffix: str) -> Data:
    """Write a log of four columns, of which two are evaluated."""
    truth, score = data.binary(rows)
    random = np.random.default_rng(data.SEED)
    columns = {
        "user": random.integers(0, 1_000_000, rows).tolist(),
        "ad": random.integers(0, 1000, rows).tolist(),
        "y_true": truth.tolist(),
        "y_score": score.astype(np.float64).tolist(),
    }
    folder = TemporaryDirectory()  # goes with the data
    path = Path(folder.name) / f"log{suffix}"
    write(path, columns)
    return folder, path


def write(path: Path, columns: dict[str, list[Any]]) -> None:
    """Write columns in the format that the name tells."""
    if path.suffix == ".parquet":
        import pyarrow as pa  # noqa: PLC0415 - other formats need it not
        from pyarrow import parquet  # noqa: PLC0415

        parquet.write_table(pa.table(columns), path)
        return
    rows = zip(*columns.values(), strict=True)
    if path.suffix == ".csv":
        lines = [",".join(columns), *(",".join(map(repr, row)) for row in rows)]
    else:
        lines = [json.dumps(dict(zip(columns, row, strict=True))) for row in rows]
    text = "\n".join([*lines, ""]).encode()
    path.write_bytes(gzip.compress(text, 6) if path.suffix == ".gz" else text)


def state_of(held: Data) -> Path:
    """Say where the state of a log is saved."""
    path: Path = held[1]
    return path.with_name("log.state")


def ours(held: Data) -> Side:
    """Evaluate the log as the command line does, and save the state."""

    def run() -> None:
        path, state = str(held[1]), str(state_of(held))
        command = ["eval", path, "--y-score", "y_score", "--classes", "2", "-o", state]
        with redirect_stdout(StringIO()):
            code = main(command)
        assert code == 0

    return Side(run, lambda: {MATRIX: se.load(state_of(held)).compute().matrix})


def peer(
    library: str,
    read: Callable[[Any, Path], Any],
    counts: Callable[[Any], Iterable[tuple[int, bool, int]]] | None = None,
    goal: float | None = 1.0,
    why: str = "",
) -> Peer:
    """Read the two columns, and perhaps count truths by decisions."""

    def ready(module: Any, held: Data) -> Side:
        if counts is None:
            return Side(lambda: read(module, held[1]))

        def run() -> Numbers:
            found = {(truth, decided): n for truth, decided, n in counts(read(module, held[1]))}
            return {MATRIX: np.reshape([found.get(cell, 0) for cell in CELLS], (2, 2))}

        return Side.of_function(run)

    name = "reads the two columns" if counts is None else "reads and counts"
    return Peer(library=library, name=name, ready=ready, goal=goal, why=why)


def polars_frame(polars: Any, path: Path) -> Any:
    scans = {".csv": polars.scan_csv, ".parquet": polars.scan_parquet}
    return scans.get(path.suffix, polars.scan_ndjson)(path).select(COLUMNS).collect()


def polars_counts(frame: Any) -> Iterable[tuple[int, bool, int]]:
    decided = frame["y_score"] >= 0.5
    found = frame.with_columns(decided=decided).group_by("y_true", "decided").len()
    return found.iter_rows()


def pandas_frame(pandas: Any, path: Path) -> Any:
    if path.suffix == ".parquet":
        return pandas.read_parquet(path, columns=COLUMNS)
    if path.suffix == ".csv":
        return pandas.read_csv(path, usecols=COLUMNS)
    return pandas.read_json(path, lines=True)[COLUMNS]


def pandas_counts(frame: Any) -> Iterable[tuple[int, bool, int]]:
    sizes = frame.groupby([frame["y_true"], frame["y_score"] >= 0.5]).size()
    return [(truth, decided, n) for (truth, decided), n in sizes.items()]


def duckdb_counts(duckdb: Any, path: Path) -> Any:
    with duckdb.connect(config={"threads": 1}) as connection:
        decided = "select y_true, y_score >= 0.5, count(*)"
        return connection.execute(f"{decided} from '{path}' group by all").fetchall()


def ten_rows(suffix: str) -> Peer:
    """Show what the command costs before it reads a row, and when it saves the state."""
    folder_and_path = partial(log, 10, suffix)
    return yardstick(
        "the same command on ten rows", lambda _: ours(folder_and_path()).run, "streameval"
    )


def arrow_reads(path_of: Callable[[Data], Path] = itemgetter(1)) -> Peer:
    """Read the two columns with Arrow, as we do block by block."""

    def make(held: Data) -> Callable[[], Any]:
        from pyarrow import csv, parquet  # noqa: PLC0415 - other formats need it not

        path = path_of(held)
        if path.suffix == ".parquet":
            return partial(parquet.read_table, path, columns=COLUMNS, use_threads=False)
        options = csv.ConvertOptions(include_columns=COLUMNS)
        one_thread = csv.ReadOptions(use_threads=False)
        return partial(csv.read_csv, path, one_thread, convert_options=options)

    return yardstick("reading the two columns", make, "pyarrow")


def contest(work: str, suffix: str, *, reading_goal: float | None) -> Contest:
    return Contest(
        verb="reading",
        accumulator="eval",
        work=work,
        size=ROWS,
        data=partial(log, suffix=suffix),
        ours=ours,
        peers=[
            peer("polars", polars_frame, goal=reading_goal),
            peer("polars", polars_frame, polars_counts, goal=None),
            peer("pandas", pandas_frame, goal=None),
            peer("pandas", pandas_frame, pandas_counts, why=WHY),
            peer("duckdb", duckdb_counts, iter, goal=None),
            *([arrow_reads(), ten_rows(suffix)] if suffix in (".csv", ".parquet") else []),
        ],
    )


CONTESTS = [
    contest("JSON lines", ".jsonl", reading_goal=0.5),
    contest("JSON lines, gzip", ".jsonl.gz", reading_goal=None),
    contest("CSV", ".csv", reading_goal=None),
    contest("Parquet", ".parquet", reading_goal=None),
]
