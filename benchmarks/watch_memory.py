"""Measure the memory and the checkpoint of a live `watch` with a join; print the table of the docs.

Run ``python benchmarks/watch_memory.py``, with ``--write`` to write the table; it takes
ten minutes, on Linux. Both logs grow while they are followed. A row carries a score and the value
of a slice. Figures of a million rows are the slope between many rows and a few.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs

from streameval.errors import BadDataError
from streameval.monitoring.checkpoint import read_numbers

TABLE = Path(__file__).parents[1] / "docs" / "tables" / "watch-memory.txt"
START = 1_700_000_000
PER_SECOND = 1000
APPENDED = 20_000
AHEAD = 100_000
FEW = 1000
WAIT = 7200
MB = 10**6

IDS: dict[str, Callable[[int], Any]] = {
    "integers": lambda number: number,
    "text of 16 characters": lambda number: f"request-{number:08d}",
    "UUIDs": lambda number: str(
        uuid.UUID(int=number * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128)
    ),
}
PENDING, JOINED, REMEMBERED = "pending", "joined, in their wait", "in their second wait"


@attrs.frozen
class Sizes:
    """Bytes: resident memory, the most of it, and the file."""

    live: int
    restarted: int
    peak: int
    checkpoint: int

    @property
    def above(self) -> int:
        """How much more memory is resident for a while."""
        return self.peak - max(self.live, self.restarted)


class Logs:
    """The two logs of a monitor, and the process that follows them."""

    def __init__(self, folder: Path, name: Callable[[int], Any]) -> None:
        self.folder = folder
        self.checkpoint = folder / "ck.db"
        self.name = name
        self.n_rows = 0

    def append(self, n_rows: int, *, is_labelled: bool, later: int = 0) -> None:
        """Write rows to the end of both logs."""
        numbers = range(self.n_rows, self.n_rows + n_rows)
        self.n_rows += n_rows
        with (self.folder / "predictions.jsonl").open("a") as file:
            for number in numbers:
                row = {"id": self.name(number), "ts": START + later + number // PER_SECOND}
                row |= {"y_score": number % 97 / 97, "country": "FR" if number % 3 else "DE"}
                file.write(f"{json.dumps(row)}\n")
        with (self.folder / "labels.jsonl").open("a") as file:
            for number in numbers if is_labelled else [-number for number in numbers[-10:]]:
                time_of_label = START + later + abs(number) // PER_SECOND
                label = {
                    "id": self.name(number),
                    "ts": time_of_label,
                    "y_true": int(number % 3 == 0),
                }
                file.write(f"{json.dumps(label)}\n")

    @contextmanager
    def followed(self) -> Iterator[int]:
        """Follow them in another process, whose number is yielded."""
        command = [
            *(sys.executable, "-m", "streameval", "watch", "predictions.jsonl", "--quiet"),
            *("--labels", "labels.jsonl", "--key", "id", "--wait", f"{WAIT}s"),
            *("--time", "ts", "--unit", "s", "--pane", "1m", "--keep", "12h"),
            *("--task", "binary", "--by", "country=DE,FR", "--checkpoint", str(self.checkpoint)),
        ]
        process = subprocess.Popen(command, cwd=self.folder)
        try:
            yield process.pid
        finally:
            process.terminate()
            process.wait()

    def await_rows(self, n_rows: int) -> None:
        """Wait until so many predictions are committed."""
        while self.n_read < n_rows:
            time.sleep(0.02)

    @property
    def n_read(self) -> int:
        try:
            numbers = read_numbers(self.checkpoint)
        except BadDataError:  # before the first commit
            return 0
        return int(numbers["n_rows"])


def memory(process: int) -> tuple[int, int]:
    """Return the resident bytes of a process, and the most that they ever were."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    resident, peak = (int(fields[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM"))
    return resident, peak


def measure(name: Callable[[int], Any], state: str, n_rows: int) -> Sizes:
    """Let a monitor join rows, and start it again."""
    is_labelled = state != PENDING
    with tempfile.TemporaryDirectory() as folder:
        logs = Logs(Path(folder), name)
        logs.append(FEW, is_labelled=is_labelled)
        with logs.followed() as process:
            while logs.n_rows < n_rows:
                logs.append(APPENDED, is_labelled=is_labelled)
                logs.await_rows(logs.n_rows - AHEAD)
            later = WAIT * 6 // 5 if state == REMEMBERED else 0
            live, peak = settled(logs, process, is_labelled=is_labelled, later=later)
        with logs.followed() as process:
            restarted, again = settled(logs, process, is_labelled=is_labelled, later=later)
        return Sizes(live, restarted, max(peak, again), logs.checkpoint.stat().st_size)


def settled(logs: Logs, process: int, *, is_labelled: bool, later: int) -> tuple[int, int]:
    """Return the memory of a process once it has read everything, and a few rows more."""
    for _ in range(3):
        logs.append(FEW, is_labelled=is_labelled, later=later)
        logs.await_rows(logs.n_rows)
    time.sleep(1)
    return memory(process)


def table(n_rows: int, ids: list[str]) -> list[str]:
    """Measure every row of the table."""
    lines = [
        "| rows | ids | live, MB | after a restart, MB | for a while, MB | checkpoint, MB |",
        "|---|---|--:|--:|--:|--:|",
    ]

    def add(title: str, name: str, *numbers: float | None) -> None:
        cells = ("" if number is None else f"{number / MB:,.0f}" for number in numbers)
        lines.append(f"| {title} | {name} | {' | '.join(cells)} |")
        print(lines[-1], file=sys.stderr, flush=True)

    few = measure(IDS[ids[0]], JOINED, FEW)
    add("a few", "any", few.live, few.restarted, few.above, few.checkpoint)
    millions = n_rows / 10**6
    for state in (PENDING, JOINED, REMEMBERED):
        for name in ids:
            many = measure(IDS[name], state, n_rows)
            live = (many.live - few.live) / millions
            restarted = (many.restarted - few.restarted) / millions
            file = (many.checkpoint - few.checkpoint) / millions
            above = (
                None if state == REMEMBERED else many.above
            )  # they took more in their first wait
            add(f"1,000,000 {state}", name, live, restarted, above, file)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description="Show the memory of a live join.")
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--ids", nargs="+", choices=IDS, default=[*IDS])
    parser.add_argument("--write", action="store_true", help="write docs/tables/watch-memory.txt")
    given = parser.parse_args()
    text = "".join(f"{line}\n" for line in table(given.rows, given.ids))
    print(text, end="")
    if given.write:
        TABLE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
