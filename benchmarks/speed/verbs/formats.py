"""Formats: evaluate logs of each, beside JSON lines with as many rows.

The goals were set in rows a second, with 2.3 million of JSON lines; here they are ratios to these.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import numpy as np

from speed import data
from speed.contest import Contest, Data, Peer, Side
from speed.verbs.reading import arrow_reads, log, peer, polars_frame, write
from streameval.cli import main

ROWS = 500_000
SCORES = ["--y-score", "y_score", "--classes", "2", "--quiet"]


def evaluate(path: Path, options: Sequence[str]) -> None:
    """Evaluate a log as the command line does."""
    with redirect_stdout(StringIO()):
        assert main(["eval", str(path), *options]) == 0


def evaluate_by_numpy(path: Path, options: Sequence[str]) -> None:
    """Evaluate a log as if pyarrow was not installed."""
    with mock.patch.dict(sys.modules, {"pyarrow": None}):
        evaluate(path, options)


def lists(rows: int) -> Data:
    """Write lists of 10 scores."""
    random = np.random.default_rng(data.SEED)
    scores = random.random((rows, 10)).round(4)
    return written({"y_true": random.integers(0, 10, rows).tolist(), "y_score": scores.tolist()})


def texts(rows: int) -> Data:
    """Write labels that are texts."""
    random = np.random.default_rng(data.SEED)
    names = np.array([f"class {number}" for number in range(10)])
    return written({name: random.choice(names, rows).tolist() for name in ("y_true", "y_pred")})


def written(columns: dict[str, list[Any]]) -> Data:
    """Write JSON lines into a folder that goes with the data."""
    folder = TemporaryDirectory()
    path = Path(folder.name) / "log.jsonl"
    write(path, columns)
    return folder, path


def large(rows: int) -> Data:
    """Write a Parquet file of a million rows a group, without Python's objects."""
    import pyarrow as pa  # noqa: PLC0415 - other formats do not need it
    from pyarrow import parquet  # noqa: PLC0415

    truth, score = data.binary(rows)
    folder = TemporaryDirectory()
    path = Path(folder.name) / "log.parquet"
    columns = {"y_true": truth, "y_score": score.astype(np.float64)}
    parquet.write_table(pa.table(columns), path, row_group_size=2**20)
    return folder, path


def beside_json_lines(make: Callable[[int], Data], rows: int) -> Data:
    """Write a log, and JSON lines of two numbers with as many rows."""
    return make(rows), log(rows, ".jsonl")


def contest(
    work: str,
    make: Callable[[int], Data],
    options: Sequence[str],
    *,
    goal: float,
    why: str,
    yardsticks: Sequence[Peer] = (),
    read: Callable[[Path, Sequence[str]], None] = evaluate,
) -> Contest:
    return Contest(
        verb="formats",
        accumulator="eval",
        work=work,
        size=ROWS,
        data=partial(beside_json_lines, make),
        ours=lambda held: Side(lambda: read(held[0][1], options)),
        peers=[
            Peer(
                library="streameval",
                name="eval of JSON lines",
                ready=lambda _, held: Side(lambda: evaluate(held[1][1], SCORES)),
                goal=goal,
                why=why,
            ),
            *yardsticks,
        ],
    )


CONTESTS = [
    contest(
        "JSON lines, gzip",
        partial(log, suffix=".jsonl.gz"),
        SCORES,
        goal=0.61,
        why="The standard library inflates in this process, on one thread.",
    ),
    contest(
        "JSON lines, lists of 10 scores",
        lists,
        ["--y-score", "y_score", "--classes", "10", "--quiet"],
        goal=0.22,
        why="Every list holds ten numbers to read, check and compare.",
    ),
    contest(
        "JSON lines, text labels",
        texts,
        ["--quiet"],
        goal=0.61,
        why="Every text is looked up in a dictionary.",
    ),
    contest(
        "CSV, by pyarrow",
        partial(log, suffix=".csv"),
        SCORES,
        goal=2.4,
        why="The command checks every block before pyarrow reads it.",
        yardsticks=[arrow_reads(lambda held: held[0][1])],
    ),
    contest(
        "CSV, by NumPy alone",
        partial(log, suffix=".csv"),
        SCORES,
        goal=0.82,
        why="NumPy splits lines into objects before it reads numbers.",
        read=evaluate_by_numpy,
    ),
    Contest(
        verb="formats",
        accumulator="eval",
        work="Parquet",
        size=18_600_000,
        data=large,
        ours=lambda held: Side(lambda: evaluate(held[1], SCORES)),
        peers=[
            peer("polars", polars_frame, goal=0.47, why="polars only reads the two columns."),
            arrow_reads(),
        ],
    ),
]
