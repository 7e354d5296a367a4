"""Processes of `streameval watch` that are killed at any time count every row once."""

import gzip
import json
import random
import time
from pathlib import Path

import pytest
from monitoring.histories import History
from monitoring.killing import check, drawn_share, killed_often


class Log:
    """A log that grows, and rotates by rename; older parts are compressed."""

    def __init__(self, path, rows):
        self.path = Path(path)
        self.rows = [json.dumps(row) + "\n" for row in rows]
        self.path.touch()

    def grow(self, share, rng):
        """Write a share of the rows that are left; the last line may lack its end for a while."""
        written, self.rows = drawn_share(self.rows, share)
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


def check_files(folder, seed, n_kills):
    rng, history = random.Random(seed), History.draw(seed, size=1500, span=2400)
    logs = [
        Log(folder / "predictions.jsonl", history.predictions),
        Log(folder / "labels.jsonl", history.labels),
    ]
    sources = ("predictions.jsonl", "labels.jsonl")
    killed_often(folder, sources, logs, rng, n_kills, lambda: rng.choice(logs).rotate())
    whole = [folder / f"whole-{name}" for name in sources]
    for path, rows in zip(whole, (history.predictions, history.labels), strict=True):
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    check(folder, whole, history.joined)


@pytest.mark.slow
def test_killed_processes_count_every_row_once(tmp_path):
    check_files(tmp_path, seed=1, n_kills=4)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_processes_killed_twenty_times_count_every_row_once(seed, tmp_path):
    check_files(tmp_path, seed, n_kills=20)
