"""Write a click log of any size, as JSON lines or Parquet.

Run ``python benchmarks/make_logs.py clicks.jsonl --bytes 1e9``; the name decides the format.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
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


def write_json_lines(path: Path, size: int) -> int:
    """Write blocks until the file is large enough, and return the number of rows."""
    rows = 0
    with path.open("w", encoding="ascii") as file:
        for block in blocks(np.random.default_rng(SEED)):
            rows_of_block = zip(*(column.tolist() for column in block.values()), strict=True)
            lines = (json.dumps(dict(zip(block, row, strict=True))) for row in rows_of_block)
            file.write("\n".join(lines) + "\n")
            rows += ROWS
            if file.tell() >= size:
                return rows
    raise AssertionError("blocks never end")


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
    writers = {".jsonl": write_json_lines, ".parquet": write_parquet}
    return writers[path.suffix](path, size)


def main() -> None:
    """Write a log."""
    parser = argparse.ArgumentParser(description="Write a click log.")
    parser.add_argument("path", type=Path, help="ends in .jsonl or .parquet")
    parser.add_argument("--bytes", type=float, default=1e9, help="at least so many, default 1e9")
    given = parser.parse_args()
    print(f"{write(given.path, int(given.bytes)):,} rows")


if __name__ == "__main__":
    main()
