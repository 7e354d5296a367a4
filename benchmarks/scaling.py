"""Measure what grows: streams of 1e8 rows, files of 1 GB, trees of 100,000 states, Dask.

Run ``python benchmarks/scaling.py``; it takes 40 minutes. ``--quick`` takes a hundredth of it and
prints only. Logs are written into a temporary folder, and are gone afterwards.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import make_logs
import numpy as np
from speed import dask_rows, data, far, merge_tree, results, tables
from speed.processes import Done, run

import streameval as se

SCALING = results.RESULTS.with_name("scaling.json")
DOCS = Path(__file__).parents[1] / "docs"
PICTURES, TABLES = DOCS / "figures" / "speed.py", DOCS / "tables"

BATCH = 2**16
PARTS = ["stream", "files", "tree", "dask"]
FAR = PARTS[2:]
USERS = 1000
FIRST = 10_000

READ = {
    ".jsonl": "polars.scan_ndjson({0!r})",
    ".jsonl.gz": "polars.scan_ndjson({0!r})",
    ".csv": "polars.scan_csv({0!r})",
    ".parquet": "polars.scan_parquet({0!r})",
}
POLARS = "import polars; print(len({0}.select('y_true', 'y_score').collect()))"
BLOCKS = (
    "from streameval.runs.sources import RowFiles; "
    "print(sum(block.taken for block in RowFiles([{0!r}], None).blocks()))"
)
WAYS = ("`streameval eval`", "`streameval eval --jobs 2`", "polars, reading only")
START, CUT = "start", "cut into blocks"
MODELS = (2, 8)

FORMATS = {
    ".jsonl": "JSON lines",
    ".jsonl.gz": "JSON lines, gzip",
    ".csv": "CSV",
    ".parquet": "Parquet",
}

Marks = dict[str, list[dict[str, float]]]


def accumulators() -> dict[str, Any]:
    """Make what counts the stream, each within its budget."""
    return {
        "ConfusionAccumulator()": se.ConfusionAccumulator(),
        "PRCurveSketch(65_536)": se.PRCurveSketch(),
        "CalibrationAccumulator()": se.CalibrationAccumulator(),
        "RegressionAccumulator()": se.RegressionAccumulator(),
        "GroupedAUC(65_536)": se.GroupedAUC(2**16),
    }


def stream(most: int) -> Marks:
    """Count batches that never exist at once, and note what an example costs in each decade.

    Only updates are timed. Reading the bytes at a mark also counts what has waited.
    """
    held = accumulators()
    seconds = dict.fromkeys(held, 0.0)
    marks: Marks = {name: [] for name in held}
    random = np.random.default_rng(data.SEED)
    rows, since = 0, 0
    for mark in decades(most):
        while rows < mark:
            truth, score, user = draw(random, min(BATCH, mark - rows))
            for name, accumulator in held.items():
                batch = (truth, score, user) if name.startswith("GroupedAUC") else (truth, score)
                start = time.perf_counter()
                accumulator.update(*batch)
                seconds[name] += time.perf_counter() - start
            rows += len(truth)
        for name, accumulator in held.items():
            start = time.perf_counter()
            size = len(accumulator.to_bytes())
            waited = time.perf_counter() - start
            cost = round((seconds[name] + waited) / (rows - since) * 1e9, 3)
            marks[name].append({"rows": rows, "nanoseconds": cost, "bytes": size})
            seconds[name] = 0.0
        print(f"{rows:,} rows streamed", file=sys.stderr, flush=True)
        since = rows
    return marks


def decades(most: int) -> Iterator[int]:
    """Give 10,000 and its multiples by ten."""
    mark = FIRST
    while mark <= most:
        yield mark
        mark *= 10


def draw(random: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw clicks, float32 rates and users."""
    rate = 1 / (1 + np.exp(-random.normal(-3, 1.5, rows).astype(np.float32)))
    return (random.random(rows) < rate).astype(np.int64), rate, random.integers(0, USERS, rows)


def files(size: int, n_rounds: int) -> list[dict[str, Any]]:
    """Evaluate logs with one process and with two, beside polars reading the two columns."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for suffix in READ:
            path = Path(folder) / f"clicks{suffix}"
            rows = make_logs.write(path, size // 4 if suffix.endswith(".gz") else size)
            print(f"{path.name} written", file=sys.stderr, flush=True)
            small = Path(folder) / f"small{suffix}"
            make_logs.write(small, 1)
            blocks = [sys.executable, "-c", BLOCKS.format(str(path))]
            ways = commands(path) | {START: commands(small)[WAYS[0]], CUT: blocks}
            rounds = [{way: run(ways[way]) for way in ways} for _ in range(n_rounds)]
            check(rounds, rows)
            for done in rounds:
                done |= {model(n_cores): on_cores(n_cores, done) for n_cores in MODELS}
            bytes_read = path.stat().st_size
            shown = [*WAYS, *map(model, MODELS)]
            found += [file_row(way, path, rows, bytes_read, rounds) for way in shown]
            path.unlink()
    return found


def model(n_cores: int) -> str:
    """Name the prediction for a number of cores."""
    return f"{WAYS[0]}, a model of {n_cores} cores"


def on_cores(n_cores: int, done: dict[str, Done]) -> Done:
    """Predict from measured parts how long an evaluation takes on a number of cores.

    All of them count; one also cuts the file into blocks, and it takes at least as long as that.
    """
    whole, start, cut = (done[part].seconds for part in (WAYS[0], START, CUT))
    return Done(max(cut, start + (whole - start) / n_cores), 0, "")


def commands(path: Path) -> dict[str, list[str]]:
    """Write the commands that take turns."""
    evaluate = [sys.executable, "-P", "-m", "streameval", "eval", str(path), "--task", "binary"]
    evaluate += ["--y-true", "y_true", "--y-score", "y_score", "--json", "--quiet"]
    polars = POLARS.format(READ["".join(path.suffixes)].format(str(path)))
    return {
        WAYS[0]: [*evaluate, "--jobs", "1"],
        WAYS[1]: [*evaluate, "--jobs", "2"],
        WAYS[2]: [sys.executable, "-c", polars],
    }


def check(rounds: list[dict[str, Done]], rows: int) -> None:
    """Make sure that all saw all rows, and that two processes give the numbers of one."""
    for done in rounds:
        one, two, polars = (done[way].printed for way in WAYS)
        assert one == two, "two processes give other numbers"
        assert json.loads(one)["n"] == int(polars) == rows, "not all rows were read"


def file_row(
    way: str, path: Path, rows: int, size: int, rounds: list[dict[str, Done]]
) -> dict[str, Any]:
    """Take medians over the rounds, and ratios to polars within each."""
    one, _, yardstick = WAYS
    seconds = median(done[way].seconds for done in rounds)
    return {
        "format": FORMATS["".join(path.suffixes)],
        "way": way,
        "rows": rows,
        "bytes": size,
        "seconds": round(seconds, 2),
        "to_one_job": round(median(d[one].seconds / d[way].seconds for d in rounds), 2),
        "to_polars": round(median(d[way].seconds / d[yardstick].seconds for d in rounds), 2),
        "peak": max(done[way].peak for done in rounds),
    }


def block(found: dict[str, Any]) -> str:
    """Lay out both tables, each with its setting."""
    parts: list[str] = []
    for part, table in (("stream", stream_table), ("files", files_table)):
        if part in found:
            about = found.get(f"about {part}", found["about"])
            parts += [tables.found_with(about), table(found[part])]
    return "\n\n".join(parts)


def stream_table(marks: Marks) -> str:
    """Lay out the cost of an example in each decade, as multiples of that up to a million."""
    stops = [int(mark["rows"]) for mark in next(iter(marks.values()))]
    base = min(2, len(stops) - 1)
    columns = ["cost of an example", *(f"to {stop:,}" for stop in stops), "bytes of state"]
    lines = tables.head(columns)
    for name, found in marks.items():
        costs = [mark["nanoseconds"] / found[base]["nanoseconds"] for mark in found]
        cells = [f"`{name}`", *map(tables.number, costs), f"{int(found[-1]['bytes']):,}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def files_table(rows: list[dict[str, Any]]) -> str:
    """Lay out throughput and memory."""
    columns = [
        "log",
        "read by",
        "rows",
        "MB",
        "MB/s",
        "times one job",
        "times polars takes",
        "peak MB",
    ]
    lines = tables.head(columns)
    for row in rows:
        cells = [
            row["format"],
            row["way"],
            f"{row['rows']:,}",
            f"{row['bytes'] / 1e6:,.0f}",
            f"{row['bytes'] / 1e6 / row['seconds']:,.0f}",
            tables.number(row["to_one_job"]) if "to_one_job" in row else "",
            tables.number(row["to_polars"]),
            f"{row['peak'] / 1e6:,.0f}" if row["peak"] else "",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and write unless it is a quick look."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a hundredth of it, one round")
    parser.add_argument("--only", choices=PARTS, help="the rest stays as it is")
    parser.add_argument("--rows", type=float, default=1e8, help="of the stream")
    parser.add_argument("--bytes", type=float, default=1e9, help="of a file")
    parser.add_argument("--rounds", type=int, default=3, help="in which the commands take turns")
    given = parser.parse_args()
    if given.quick:
        given.rows, given.bytes, given.rounds = given.rows / 100, given.bytes / 100, 1
    found = json.loads(SCALING.read_text(encoding="utf-8")) if SCALING.exists() else {}
    shrink = 100 if given.quick else 1
    measures: dict[str, Callable[[], Any]] = {
        "stream": lambda: stream(int(given.rows)),
        "files": lambda: files(int(given.bytes), given.rounds),
        "tree": lambda: [merge_tree.measure(worker, shrink) for worker in merge_tree.WORKERS],
        "dask": lambda: dask_rows.measure(1000 // min(shrink, 20)),
    }
    for part in PARTS if given.only is None else [given.only]:
        found[part] = measures[part]()
        if part in FAR:
            found["far"] = results.about({"numpy"} | ({"dask"} if "dask" in found else set()))
        else:
            about = results.about({"msgspec", "numpy", "polars", "pyarrow"})
            found[f"about {part}"] = about
            found.setdefault("about", about)
    print(block(found))
    if "far" in found:
        print(far_block(found))
    if not given.quick:
        write(found)
        if given.only in (None, "stream"):
            subprocess.run([sys.executable, str(PICTURES), "scaling"], check=True)


def far_block(found: dict[str, Any]) -> str:
    """Lay out the tables of the page on a day of 1e12 predictions."""
    return far.block(found | {"about": found["far"]})


def write(found: dict[str, Any]) -> None:
    """Keep the results, and write the tables of the docs."""
    SCALING.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (TABLES / "scaling.txt").write_text(f"{block(found)}\n", encoding="utf-8")
    if "far" in found:
        (TABLES / "far.txt").write_text(f"{far_block(found)}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
