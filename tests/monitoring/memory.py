"""Sources in memory, and a clock that tests set."""

from __future__ import annotations

import json

import attrs

from streameval.io.json_lines import JsonBlock
from streameval.monitoring.sources import Chunk

__all__ = ["Clock", "Rows", "ServedRows", "lines"]


def lines(rows):
    """Write rows as JSON lines; text stays as it is."""
    return [row if isinstance(row, str) else json.dumps(row) for row in rows]


@attrs.define
class Clock:
    now: float = 1_700_000_000.0

    def __call__(self):
        return self.now


class Rows:
    """Partitions of rows that grow; reads go round, about `limit` bytes at a time."""

    is_replayable = True

    def __init__(self, name="rows", **logs):
        self.name = name
        self.logs = {key: lines(rows) for key, rows in logs.items()}
        self.partitions = ()
        self.at = None
        self.said = []
        self.is_at_end = False
        self.is_closed = False

    def add(self, partition, *rows):
        self.logs.setdefault(partition, []).extend(lines(rows))

    def seek(self, position):
        self.at = dict(position or {})

    def read(self, limit):
        for partition in sorted(self.logs, key=lambda key: self.at.get(key, 0)):
            rows, start = self.logs[partition], self.at.get(partition, 0)
            end, size = start, 0
            while end < len(rows) and size < limit:
                size += len(rows[end]) + 1
                end += 1
            if end > start:
                self.at = {**self.at, partition: end}
                data = "".join(f"{row}\n" for row in rows[start:end]).encode()
                block = JsonBlock(f"{self.name}/{partition}", start + 1, data, len(data))
                return Chunk(block, partition, self.at)
        return None

    def warnings(self):
        said, self.said = self.said, []
        return said

    def close(self):
        self.is_closed = True


class ServedRows(Rows):
    """Rows of a server that may be away, and that counts what tests tell it to."""

    def __init__(self, name="rows", **logs):
        super().__init__(name, **logs)
        self.is_caught_up = True
        self.counted = {}

    def read(self, limit):
        return super().read(limit) if self.is_caught_up else None

    def counts(self):
        counted, self.counted = self.counted, {}
        return counted
