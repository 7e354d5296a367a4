"""Commands: whole processes, which import what they need and may start others."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import make_logs

from speed.contest import Contest, Data, Peer, Side, yardstick

BYTES_A_ROW = 73
SLOW_ATTRS = "attrs compiles methods for each class that the import defines."
START = "The second process takes time to start, and the two share caches and memory bandwidth."


def command(arguments: Sequence[str], held: Data = ()) -> Side:
    """Run Python in a process of its own; the data lives as long as the side."""

    def run() -> Data:
        subprocess.run([sys.executable, "-P", *arguments], check=True, capture_output=True)
        return held

    return Side(run)


def command_of(arguments: Callable[[Data], Sequence[str]]) -> Callable[[Any, Data], Side]:
    """Make the side of a peer that is a command."""
    return lambda _, held: command(arguments(held), held)


def evaluate(held: Data, jobs: int) -> list[str]:
    """Write the command that evaluates a log in so many processes."""
    options = ["--task", "binary", "--y-score", "y_score", "--json", "--quiet"]
    return ["-m", "streameval", "eval", str(held[1]), *options, "--jobs", str(jobs)]


def log(rows: int) -> Data:
    """Write JSON lines of four columns, of which two are evaluated."""
    folder = TemporaryDirectory()  # goes with the data
    path = Path(folder.name) / "log.jsonl"
    make_logs.write(path, rows * BYTES_A_ROW)
    return folder, path


def evaluate_halves(held: Data) -> Callable[[], None]:
    """Evaluate each half of the log in a process of its own, at the same time."""
    whole: Path = held[1]
    lines = whole.read_bytes()
    middle = lines.index(b"\n", len(lines) // 2) + 1
    halves = {"first.jsonl": lines[:middle], "second.jsonl": lines[middle:]}
    for name, half in halves.items():
        whole.with_name(name).write_bytes(half)
    commands = [evaluate((held[0], whole.with_name(name)), 1) for name in halves]

    def run() -> None:
        started = [
            subprocess.Popen([sys.executable, "-P", *one], stdout=subprocess.DEVNULL)
            for one in commands
        ]
        assert [process.wait() for process in started] == [0, 0]

    return run


def imports(name: str, goal: float) -> Contest:
    """Import a name of ours, beside the libraries that it needs."""
    return Contest(
        verb="commands",
        accumulator=name,
        work="import in a new process",
        size=1,
        data=lambda _: (),
        ours=lambda _: command(["-c", f"from streameval import {name}"]),
        peers=[
            Peer(
                library="numpy",
                name="and attrs",
                ready=command_of(lambda _: ["-c", "import numpy, attrs"]),
                goal=goal,
                why=SLOW_ATTRS,
            )
        ],
    )


CONTESTS = [
    imports("PRCurveSketch", round(1 / 1.15, 2)),
    imports("Collection", round(1 / 1.5, 2)),
    Contest(
        verb="commands",
        accumulator="eval --jobs 2",
        work="JSON lines",
        size=6_000_000,
        data=log,
        ours=lambda held: command(evaluate(held, 2), held),
        peers=[
            Peer(
                library="streameval",
                name="eval with one job",
                ready=command_of(partial(evaluate, jobs=1)),
                goal=1.6,
                why=START,
            ),
            yardstick("two processes, half of the log each", evaluate_halves, "streameval"),
        ],
    ),
]
