"""A service that writes a log and rotates it in every way, and a reader that dies at any time."""

from __future__ import annotations

import gzip
import json
import shutil

from streameval.monitoring.files import Tail

__all__ = ["MortalReader", "RotatingLog", "json_row", "read_all", "values"]


def json_row(number):
    return json.dumps({"i": number})


class RotatingLog:
    """Write rows to a log, and rotate it; the rows are numbered from 0.

    Parameters
    ----------
    path : Path
        The log.
    rng : Random
        Draws what happens.
    is_dated : bool
        Whether rotated files are called by their time, and not by number.
    row : callable
        Makes the text of a row of its number.
    header : str
        The first line of every file.
    """

    def __init__(self, path, rng, *, is_dated=False, row=json_row, header=""):
        self.path = path
        self.rng = rng
        self.is_dated = is_dated
        self.row = row
        self.header = header
        self.n_rows = 0
        self.rest = ""
        self.rotated = []  # the oldest first
        self.n_rotations = 0
        self.file = self.opened()

    def opened(self):
        file = self.path.open("ab", buffering=0)
        file.write(self.header.encode())
        return file

    def close(self):
        self.finish_half()
        self.file.close()

    def append(self, n_rows):
        self.finish_half()
        for _ in range(n_rows):
            self.file.write(f"{self.row(self.n_rows)}\n".encode())
            self.n_rows += 1

    def append_half(self):
        """Write the beginning of a row."""
        self.finish_half()
        text = f"{self.row(self.n_rows)}\n"
        cut = self.rng.randrange(1, len(text))
        self.file.write(text[:cut].encode())
        self.rest = text[cut:]

    def finish_half(self):
        if self.rest:
            self.file.write(self.rest.encode())
            self.rest = ""
            self.n_rows += 1

    def rotate(self):
        """Rename the log; the writer may write on before it opens a new one."""
        self.finish_half()
        name = self.next_name()
        self.path.rename(name)
        self.rotated.append(name)
        if self.rng.random() < 0.5:
            self.path.touch()  # by logrotate, before the writer knows
        self.append(self.rng.randrange(3))
        self.file.close()
        self.file = self.opened()

    def copy(self):
        """Copy the log, to truncate it afterwards."""
        self.finish_half()
        name = self.next_name()
        shutil.copyfile(self.path, name)
        self.rotated.append(name)

    def truncate(self):
        """Empty the log, whose rows from here on overwrite what was there."""
        self.finish_half()
        self.file.truncate(0)
        self.file.write(self.header.encode())

    def next_name(self):
        """Name the file to come, and make way for it."""
        self.n_rotations += 1
        if self.is_dated:
            minute, second = divmod(self.n_rotations, 60)
            return self.path.with_name(f"{self.path.name}-2026112210{minute:02}{second:02}")
        for number, path in zip(range(len(self.rotated), 0, -1), self.rotated[:], strict=True):
            end = ".gz" if path.suffix == ".gz" else ""
            self.rotated[-number] = path.rename(f"{self.path}.{number + 1}{end}")
        return self.path.with_name(f"{self.path.name}.1")

    def compress(self, n_kept=1):
        """Compress what was rotated before the last files."""
        for position, path in enumerate(self.rotated[: len(self.rotated) - n_kept]):
            if path.suffix != ".gz":
                packed = path.with_name(f"{path.name}.gz")
                packed.write_bytes(gzip.compress(path.read_bytes(), 1))
                path.unlink()
                self.rotated[position] = packed

    def remove(self, n_kept):
        """Remove the oldest files."""
        gone = self.rotated[: len(self.rotated) - n_kept]
        self.rotated = self.rotated[len(gone) :]
        for path in gone:
            path.unlink()


def values(block):
    return [row["i"] for row in block.rows()]


def read_all(source, limit=64):
    """Read what is there, and return the values of the column `i`."""
    found = []
    while (chunk := source.read(limit)) is not None:
        found += values(chunk.block)
    return found


class MortalReader:
    """Follow a log, die at any time, and go on from a position that was committed."""

    def __init__(self, pattern, rng, limits=(1, 20, 100, 1000)):
        self.pattern = pattern
        self.rng = rng
        self.limits = limits
        self.position = self.last_position = None
        self.n_committed = 0
        self.rows = []
        self.said = []
        self.partitions = set()
        self.begin()

    def begin(self):
        self.tail = Tail(self.pattern)
        self.tail.seek(json.loads(json.dumps(self.position)))

    def die(self):
        self.said += self.tail.warnings()
        self.tail.close()
        self.last_position = self.position
        del self.rows[self.n_committed :]
        self.begin()

    def read(self, n_chunks):
        for _ in range(n_chunks):
            chunk = self.tail.read(self.rng.choice(self.limits))
            if chunk is None:
                return
            self.rows += values(chunk.block)
            self.partitions.add(chunk.partition)
            self.last_position = chunk.position
            if self.rng.random() < 0.7:
                self.commit()

    def commit(self):
        self.position, self.n_committed = self.last_position, len(self.rows)

    def finish(self):
        self.read(10**6)
        self.said += self.tail.warnings()
        self.tail.close()
        return self.rows
