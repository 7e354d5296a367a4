"""Processes of `streameval watch` that are killed at any time count every row once."""

import gzip
import json
import random
import time
from pathlib import Path

import pytest
from monitoring.histories import History
from monitoring.killing import check, counters, drawn_share, killed_often


class Log:
    """A log that grows, rotates by rename, and has half lines; older parts are compressed.

    Parameters
    ----------
    path : Path
        The newest file.
    rows : sequence of dict
        All rows to come.

    Attributes
    ----------
    rows : list of str
        The lines that are not written to their end.
    half : str
        What is written of the first of them.
    lines : list of str
        The written lines, also those that a crash cut, as if no file had been rotated.
    """

    def __init__(self, path, rows):
        self.path = Path(path)
        self.rows = [json.dumps(row) + "\n" for row in rows]
        self.half = ""
        self.lines = []
        self.path.touch()

    def grow(self, share, rng):
        """Write a share of the rows that are left; the last line may lack its end for a while."""
        self.finish(self.path)
        written, self.rows = drawn_share(self.rows, share)
        self.lines += written
        text = "".join(written)
        cut = rng.randrange(len(text) + 1)
        for part in (text[:cut], text[cut:]):
            append(self.path, part)
            time.sleep(0.002)
        if rng.random() < 0.5:
            self.begin(rng)

    def begin(self, rng):
        """Write half of the next row, unless it is there."""
        if self.rows and not self.half:
            self.half = self.rows[0][: rng.randrange(1, len(self.rows[0]) - 1)]
            append(self.path, self.half)

    def finish(self, path):
        """Write the other half."""
        if self.half:
            row = self.rows.pop(0)
            append(path, row[len(self.half) :])
            self.lines.append(row)
            self.half = ""

    def crash(self, rng):
        """Leave a half line at the end of a file; its row is written whole to the next one."""
        self.begin(rng)
        if self.half:
            self.lines.append(f"{self.half}\n")
            self.half = ""
        self.rotate(rng)

    def rotate(self, rng):
        """Rename the file; a half line gets its end before or after that."""
        numbers = [n for n in range(1, 100) if any(path.exists() for path in self.parts(n))]
        for number in reversed(numbers):
            self.compress(number)
            self.parts(number)[1].rename(self.parts(number + 1)[1])
        newest = self.parts(1)[0]
        if rng.random() < 0.5:
            self.finish(self.path)
        self.path.rename(newest)
        self.finish(newest)
        if rng.random() < 0.5:
            self.compress(1)
        self.path.touch()

    def parts(self, number):
        """Return the names of a rotated file, plain and compressed."""
        return [self.path.with_name(f"{self.path.name}.{number}{end}") for end in ("", ".gz")]

    def compress(self, number):
        plain, packed = self.parts(number)
        if plain.exists():
            whole = packed.with_name(f"{packed.name}.tmp")
            whole.write_bytes(gzip.compress(plain.read_bytes()))
            whole.rename(packed)
            plain.unlink()


def append(path, text):
    with path.open("a") as file:
        file.write(text)


def check_files(folder, seed, n_kills, size=1500):
    rng, history = random.Random(seed), History.draw(seed, size, span=2400)
    sources = ("predictions.jsonl", "labels.jsonl")
    sides = (history.predictions, history.labels)
    logs = [Log(folder / name, rows) for name, rows in zip(sources, sides, strict=True)]
    for log in logs:
        log.grow(0.05, rng)
        log.crash(rng)

    def disturb():
        rng.choice([Log.rotate, Log.crash])(rng.choice(logs), rng)

    said = killed_often(folder, sources, logs, rng, n_kills, disturb)
    assert said["reloaded"]
    whole = [folder / f"whole-{name}" for name in sources]
    for path, log in zip(whole, logs, strict=True):
        path.write_text("".join(log.lines))
    assert check(folder, whole, history.joined).total() > 0
    n_halves = sum(len(log.lines) - len(rows) for log, rows in zip(logs, sides, strict=True))
    assert counters(folder / "ck.db")["unreadable"] == n_halves > 1


@pytest.mark.uncovered
@pytest.mark.slow
def test_killed_processes_count_every_row_once(tmp_path):
    check_files(tmp_path, seed=1, n_kills=4)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_processes_killed_twenty_times_count_every_row_once(seed, tmp_path):
    check_files(tmp_path, seed, n_kills=20)


@pytest.mark.long
def test_a_process_killed_sixty_times_counts_every_row_once(tmp_path):
    check_files(tmp_path, seed=32, n_kills=60, size=6000)
