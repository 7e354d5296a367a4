"""Write a click log of any size, as JSON lines, packed or not, CSV or Parquet.

Run ``python benchmarks/make_logs.py clicks.jsonl --bytes 1e9``; the name decides the format.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

SEED = 0
ROWS = 2**18
USERS = 1_000_000

Columns = dict[str, np.ndarray]


def blocks(random: np.random.Generator) -> Iterator[Columns]:
    """Draw users, ads, clicks and the rates that a model gave, without an end."""
    while True:
        rate = 1 / (1 + np.exp(-random.normal(-3, 1.5, ROWS)))
        yield {
            "user": random.integers(0, USERS, ROWS),
            "ad": random.integers(0, 1000, ROWS),
            "y_true": (random.random(ROWS) < rate).astype(np.int64),
            "y_score": rate,
        }


def json_lines(block: Columns) -> Iterator[str]:
    """Write an object a row."""
    rows = zip(*(column.tolist() for column in block.values()), strict=True)
    return (json.dumps(dict(zip(block, row, strict=True))) for row in rows)


def csv_lines(block: Columns) -> Iterator[str]:
    """Write a line of cells a row; the header is written apart."""
    rows = zip(*(column.tolist() for column in block.values()), strict=True)
    return (",".join(map(repr, row)) for row in rows)


def write_text(
    path: Path, size: int, lines: Callable[[Columns], Iterator[str]], header: str = ""
) -> int:
    """Write blocks until the file is large enough, and return the number of rows."""
    rows = 0
    with path.open("wb") as file:
        pack = gzip.compress if path.suffix == ".gz" else bytes
        for block in blocks(np.random.default_rng(SEED)):
            text = header + "\n".join(lines(block)) + "\n"
            file.write(pack(text.encode()))  # parts of a packed file follow each other
            header, rows = "", rows + ROWS
            if file.tell() >= size:
                return rows
    raise AssertionError("blocks never end")


def write_json_lines(path: Path, size: int) -> int:
    """Write JSON lines, packed if the name says so."""
    return write_text(path, size, json_lines)


def write_csv(path: Path, size: int) -> int:
    """Write a table with a header."""
    return write_text(path, size, csv_lines, "user,ad,y_true,y_score\n")


def write_parquet(path: Path, size: int) -> int:
    """Write blocks, a row group each, until the file is large enough."""
    import pyarrow as pa  # noqa: PLC0415 - JSON lines need it not
    import pyarrow.parquet as pq  # noqa: PLC0415

    rows = 0
    drawn = blocks(np.random.default_rng(SEED))
    first = pa.table(next(drawn))
    with path.open("wb") as file, pq.ParquetWriter(file, first.schema) as writer:
        while True:
            writer.write_table(first if not rows else pa.table(next(drawn)))
            rows += ROWS
            if file.tell() >= size:
                return rows


def write(path: Path, size: int) -> int:
    """Write a log of at least so many bytes, and return the number of rows."""
    writers = {
        ".jsonl": write_json_lines,
        ".gz": write_json_lines,
        ".csv": write_csv,
        ".parquet": write_parquet,
    }
    return writers[path.suffix](path, size)


def main() -> None:
    """Write a log."""
    parser = argparse.ArgumentParser(description="Write a click log.")
    parser.add_argument("path", type=Path, help="ends in .jsonl, .jsonl.gz, .csv or .parquet")
    parser.add_argument("--bytes", type=float, default=1e9, help="at least so many, default 1e9")
    given = parser.parse_args()
    print(f"{write(given.path, int(given.bytes)):,} rows")


if __name__ == "__main__":
    main()
