"""Processes of `streameval watch` that are killed at any time count every row once."""

import gzip
import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from monitoring.histories import OUT_OF_ORDER, WAIT, History

from streameval.monitoring.checkpoint import read_checkpoint

HANGS = 120
COUNTING = (
    *("--task", "binary", "--budget", "16", "--by", "country=DE,FR"),
    *("--time", "ts", "--time-unit", "s", "--pane", "1m", "--keep", "6m", "--rollup", "3m:9m"),
)
JOIN = (
    *("--labels", "labels.jsonl", "--join", "id", "--wait", f"{WAIT}s"),
    *("--out-of-order", f"{OUT_OF_ORDER}s"),
)


def streameval(*arguments, **options):
    command = [sys.executable, "-m", "streameval", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **options)


def ended(process):
    """Wait for a process that must not fail."""
    _, said = process.communicate(timeout=HANGS)
    assert (process.returncode, said) == (0, b"")


class Log:
    """A log that grows, and rotates by rename; older parts are compressed."""

    def __init__(self, path, rows):
        self.path = Path(path)
        self.rows = [json.dumps(row) + "\n" for row in rows]
        self.path.touch()

    def grow(self, share, rng):
        """Write a share of the rows that are left; the last line may lack its end for a while."""
        number = max(int(len(self.rows) * share), 1)
        written, self.rows = self.rows[:number], self.rows[number:]
        text = "".join(written)
        with self.path.open("a") as file:
            cut = rng.randrange(len(text) + 1)
            file.write(text[:cut])
            file.flush()
            time.sleep(0.002)
            file.write(text[cut:])

    def rotate(self):
        def part(number):
            return self.path.with_name(f"{self.path.name}.{number}")

        numbers = [n for n in range(1, 100) if part(n).exists() or Path(f"{part(n)}.gz").exists()]
        for number in reversed(numbers):
            packed = Path(f"{part(number)}.gz")
            if packed.exists():
                packed.rename(f"{part(number + 1)}.gz")
            else:
                whole = Path(f"{part(number + 1)}.gz.tmp")
                whole.write_bytes(gzip.compress(part(number).read_bytes()))
                whole.rename(f"{part(number + 1)}.gz")
                part(number).unlink()
        self.path.rename(part(1))
        self.path.touch()


def counters(path):
    saved = read_checkpoint(path)
    own = saved.state["monitor"]["counters"]
    return own | saved.state["join"]["counters"] | {"rows": saved.state["monitor"]["rows"]}


def killed_often(folder, seed, n_kills):
    """Follow logs that grow and rotate while the process is killed; return the checkpoint."""
    rng, history = random.Random(seed), History.draw(seed, size=1500, span=2400)
    logs = [
        Log(folder / "predictions.jsonl", history.predictions),
        Log(folder / "labels.jsonl", history.labels),
    ]
    options = ("--checkpoint", "ck.db", "--out", "out.jsonl", "--quiet")
    for number in range(n_kills):
        pieces = rng.choice([300, 3000, 30_000, 10**7])
        watch = streameval(
            *("watch", "predictions.jsonl", *JOIN, *COUNTING, *options, "--commit-bytes", pieces),
            cwd=folder,
        )
        end = time.monotonic() + rng.uniform(0.4, 2.0)
        while time.monotonic() < end:
            if rng.random() < 0.3:
                rng.choice(logs).grow(0.5 / (n_kills - number), rng)
            if rng.random() < 0.03:
                rng.choice(logs).rotate()
            time.sleep(0.05)
        watch.send_signal(signal.SIGKILL)
        _, said = watch.communicate(timeout=HANGS)
        assert (watch.returncode, said) == (-signal.SIGKILL, b"")
    for log in logs:
        if log.rows:
            log.grow(1.0, rng)
    ended(
        streameval("watch", "predictions.jsonl", *JOIN, *COUNTING, *options, "--once", cwd=folder)
    )
    return history


def check(folder, seed, n_kills):
    history = killed_often(folder, seed, n_kills)
    whole = folder / "whole"
    whole.mkdir()
    for name in ("predictions", "labels", "joined"):
        rows = getattr(history, name)
        (whole / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    options = ("--checkpoint", "ck.db", "--quiet", "--once")
    ended(streameval("watch", "predictions.jsonl", *JOIN, *COUNTING, *options, cwd=whole))
    ended(streameval("eval", "joined.jsonl", *COUNTING, "-o", "all.state", "--quiet", cwd=whole))
    state = read_checkpoint(folder / "ck.db").windowed.to_bytes()
    assert state == (whole / "all.state").read_bytes()
    assert counters(folder / "ck.db") == counters(whole / "ck.db")
    lines = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    starts = [line["start"] for line in lines if not line["revised"]]
    assert len(starts) == len(set(starts)) > 0


@pytest.mark.slow
def test_killed_processes_count_every_row_once(tmp_path):
    check(tmp_path, seed=1, n_kills=4)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_processes_killed_twenty_times_count_every_row_once(seed, tmp_path):
    check(tmp_path, seed, n_kills=20)
