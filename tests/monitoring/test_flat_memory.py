"""The memory of a monitor with a join does not grow with time."""

import ctypes
import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import streameval as se
from streameval.io.json_lines import JsonBlock
from streameval.monitoring.sources import Chunk

START = 1_699_999_980
A_MINUTE = 300
DELAY = 600


class Minutes:
    """Rows that are made when they are read, a minute at a time, up to a time that tests set."""

    is_replayable = True
    is_at_end = False

    def __init__(self, name, row, first=0):
        self.name = name
        self.row = row
        self.at = self.first = first
        self.until = 0

    def seek(self, position):
        self.at = self.first if position is None else position

    def read(self, limit):
        if self.at >= self.until:
            return None
        numbers = range(self.at * A_MINUTE, (self.at + 1) * A_MINUTE)
        data = "".join(f"{json.dumps(self.row(number))}\n" for number in numbers).encode()
        self.at += 1
        return Chunk(JsonBlock(self.name, 1, data, len(data)), self.name, self.at)

    def warnings(self):
        return []

    def close(self):
        pass


def prediction(number):
    name = f"request-{number:016d}"
    return {"id": name, "ts": START + number // 5, "y_score": number % 97 / 97, "c": "DE"}


def label(number):
    return {
        "id": f"request-{number:016d}",
        "ts": START + DELAY + number // 5,
        "y_true": int(number % 3 == 0),
    }


def resident():
    with Path("/proc/self/status").open() as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


@pytest.mark.long
def test_memory_is_flat_over_24_hours(tmp_path):
    sources = {"predictions": Minutes("p", prediction), "labels": Minutes("l", label)}
    inner = se.Sliced(se.PRCurveSketch(64), "c", values=["DE", "FR"], max_values=3)
    windowed = se.Windowed(inner, pane="1m", unit="s", keep="1h", rollups=[("10m", "3h")])
    alerts = ["roc_auc < 0.3", "coverage < 0.5 for 3 panes", "no data for 10m"]
    options = {"key": "id", "time": "ts", "wait": "15m", "alerts": alerts}
    found, sizes = [], []
    with se.Monitor(tmp_path / "ck.db", windowed, **sources, **options) as monitor:
        for minute in range(1, 24 * 60 + 1):
            for source in sources.values():
                source.until = minute
            while not monitor.step().is_idle:
                pass
            if minute % 60 == 0:
                found.append(resident())
                sizes.append((tmp_path / "ck.db").stat().st_size)
        status = monitor.status()
    assert status.n_rows == 24 * 60 * A_MINUTE
    assert np.mean(found[20:]) < 1.05 * np.mean(found[6:10]), found
    assert max(sizes[12:]) < 1.5 * max(sizes[4:12]), sizes


@pytest.fixture
def joined(tmp_path):
    """Start a monitor on 240,000 joined rows whose wait is not over."""
    sources = {"predictions": Minutes("p", prediction), "labels": Minutes("l", label)}
    windowed = se.Windowed(se.PRCurveSketch(64), pane="1m", unit="s")
    options = {"key": "id", "time": "ts", "wait": "24h"}

    def start():
        with se.Monitor(tmp_path / "ck.db", windowed, **sources, **options) as monitor:
            for source in sources.values():
                source.until = 800
            while not monitor.step().is_idle:
                pass
            assert monitor.status().n_pending == 0
            before = resident()
            ctypes.CDLL(None).malloc_trim(0)
            return before - resident()

    return start


@pytest.mark.uncovered
@pytest.mark.slow
def test_memory_of_joined_rows_is_given_back(joined):
    """The C library keeps no holes of parsed rows: a trim finds little."""
    assert joined() < 20 * 1024  # 43 MB were kept


@pytest.mark.uncovered
@pytest.mark.slow
def test_memory_of_stored_rows_is_given_back_at_a_restart(joined):
    """No more is read at once than a few runs."""
    joined()
    tracemalloc.start()
    try:
        assert joined() < 20 * 1024  # 43 MB were kept
        assert tracemalloc.get_traced_memory()[1] < 45e6  # 63 MB
    finally:
        tracemalloc.stop()
