"""Watch logs, and print what the monitor, its page and fifty readers of it cost.

Run ``python benchmarks/watching.py``. All times are of CPU. Rates of ``watch`` are of a whole
process over a log of JSON lines, less those of one over a log of a few rows. An update of the page
is what a commit of more rows of every slice costs beside counting them: to render it once, and for
readers, which are another process, to compress and send it too. It ends when the process is idle,
because on a busy machine a fixed time may end before the last reader has it.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

import streameval as se
from streameval.accumulators.windowed import Windowed
from streameval.monitoring.live_page import LivePage
from streameval.monitoring.server import Server
from streameval.monitoring.status import Snapshot, Status

SEED = 0
START = 1_700_000_000
PER_SECOND = 1000
VALUES = 100
PANES = 60
PER_SLICE = 20
FEW = 1000
UPDATES = 12
READERS = 50
IDLE = 0.02
PANE = 60
METRICS = ("roc_auc",)
OPTIONS = (
    *("--task", "binary", "--time", "ts", "--unit", "s", "--pane", "1m", "--keep", "3h"),
    *("--by", f"country={','.join(f'c{value}' for value in range(VALUES))}"),
)
JOIN = ("--key", "id", "--wait", "30s", "--out-of-order", "1s")

_READERS = """
import socket, sys, threading
host, port, number = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
request = f"GET /events HTTP/1.1\\r\\nHost: {host}\\r\\nAccept-Encoding: gzip\\r\\n\\r\\n".encode()
def read(connection):
    while connection.recv(1 << 16):
        pass
found = [socket.create_connection((host, port)) for _ in range(number)]
for one in found:
    one.sendall(request)
threads = [threading.Thread(target=read, args=[one]) for one in found]
for one in threads:
    one.start()
print("ready", flush=True)
for one in threads:
    one.join()
"""


def write_logs(folder: Path, name: str, n_rows: int) -> None:
    """Write a log of predictions with their labels, and the same as two logs."""
    random = np.random.default_rng(SEED)
    scores = random.random(n_rows).round(6)
    truths = (random.random(n_rows) < scores).astype(int)
    countries = random.integers(0, VALUES, n_rows)
    with (
        (folder / f"{name}.jsonl").open("w") as whole,
        (folder / f"{name}-predictions.jsonl").open("w") as predictions,
        (folder / f"{name}-labels.jsonl").open("w") as labels,
    ):
        rows = zip(scores.tolist(), truths.tolist(), countries.tolist(), strict=True)
        for number, (score, truth, country) in enumerate(rows):
            now = START + number // PER_SECOND
            row = {"ts": now, "y_score": score, "country": f"c{country}"}
            whole.write(f"{json.dumps({**row, 'y_true': truth})}\n")
            predictions.write(f"{json.dumps({'id': f'{number:016x}', **row})}\n")
            label = {"id": f"{number:016x}", "ts": now + 10, "y_true": truth}
            labels.write(f"{json.dumps(label)}\n")


def cpu_of_watch(folder: Path, *arguments: str) -> float:
    """Return the CPU seconds of a process that watches logs once."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(
            [
                *(sys.executable, "-m", "streameval", "watch", *arguments, *OPTIONS),
                *("--checkpoint", str(Path(place) / "ck.db"), "--once", "--quiet"),
            ],
            check=True,
            cwd=folder,
        )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rate_of_watch(folder: Path, n_rows: int, rounds: int, *, is_joined: bool) -> float:
    """Return the best rows a second, over rounds of a long and a short log."""

    def cpu(name: str) -> float:
        if is_joined:
            labels = ("--labels", f"{name}-labels.jsonl", *JOIN)
            return cpu_of_watch(folder, f"{name}-predictions.jsonl", *labels)
        return cpu_of_watch(folder, f"{name}.jsonl")

    return max((n_rows - FEW) / (cpu("long") - cpu("short")) for _ in range(rounds))


class Service:
    """A monitor's accumulators, and the commits that add a pane to them."""

    def __init__(self) -> None:
        counts = se.Sliced(se.PRCurveSketch(), "country", max_values=VALUES)
        empty = Windowed(counts, pane=f"{PANE}s", unit="s")
        self._empty, self._total = empty, empty.copy()
        self._random = np.random.default_rng(SEED)
        self._number = self._pane = 0
        for _ in range(PANES):
            self.add()
            self._pane += 1

    def add(self) -> Snapshot:
        """Count more rows of the newest pane, a tenth of them without a label."""
        size = VALUES * PER_SLICE
        scores = self._random.random(size).astype(np.float32).astype(np.float64)
        truths = (self._random.random(size) < scores).astype(float)
        truths[self._random.random(size) < 0.1] = np.nan
        times = np.full(size, self._pane * PANE).astype("M8[s]").astype("M8[us]")
        countries = [f"c{value}" for value in np.repeat(np.arange(VALUES), PER_SLICE).tolist()]
        batch = {"y_true": truths, "y_score": scores, "country": countries, "time": times}
        fresh = self._empty.copy().update(batch)
        self._total.merge(fresh)
        fresh.to_bytes()  # as a commit stores it
        self._number += 1
        return self.snapshot()

    def snapshot(self) -> Snapshot:
        """Return what a page shows."""
        held = self._total
        newest = held.newest
        status = Status(
            number=self._number,
            n_rows=held.n_rows(),
            n_counted=held.n_rows(),
            n_labelled=held.n,
            n_pending=0,
            watermark=newest,
            label_watermark=None,
            mature_until=newest,
            last_event_time=newest,
            counters={},
            positions={},
            is_full=False,
            committed_at=0.0,
        )
        return Snapshot(windowed=held, status=status, alerts=())


def cpu_of_render() -> list[float]:
    """Return the CPU seconds of rendering each of some commits."""
    service = Service()
    page = LivePage("benchmark", service.snapshot(), metrics=METRICS)
    _settle(page)
    found = []
    for _ in range(UPDATES):
        page.show(service.add())
        found.append(_cpu(page._newest))
    return found


def cpu_of_readers() -> list[float]:
    """Return the CPU seconds of rendering each of some commits and sending it to readers."""
    service = Service()
    page = LivePage("benchmark", service.snapshot(), metrics=METRICS, pace=0.0)
    _settle(page)
    found = []
    with Server(page.routes, "127.0.0.1:0", on_close=page.close) as server:
        host, port = server.url.removeprefix("http://").rstrip("/").rsplit(":", 1)
        command = [sys.executable, "-c", _READERS, host, port, str(READERS)]
        readers = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        with closing(readers.stdout):  # type: ignore[type-var]
            readers.stdout.readline()  # type: ignore[union-attr]
            time.sleep(1.0)
            for _ in range(UPDATES):
                snapshot = service.add()
                found.append(_cpu(lambda shown=snapshot: (page.show(shown), _await_idle())))  # type: ignore[misc]
            readers.kill()
            readers.wait()
    return found


def _settle(page: LivePage) -> None:
    """Render until all panes have been read."""
    while not page._newest().view.is_complete:
        time.sleep(0)


def _await_idle() -> None:
    """Wait until all threads have been idle for a while."""
    used, before = time.process_time(), -1.0
    while used - before > IDLE:
        time.sleep(0.7)
        used, before = time.process_time(), used


def _cpu(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description="Show what it costs to watch logs.")
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=["watch", "join", "page", "readers"])
    given = parser.parse_args()

    def is_wanted(name: str) -> bool:
        return given.only in (None, name)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if is_wanted("watch") or is_wanted("join"):
            write_logs(folder, "long", given.rows)
            write_logs(folder, "short", FEW)
        for title, is_joined in (("watch", False), ("join", True)):
            if is_wanted(title):
                rate = rate_of_watch(folder, given.rows, given.rounds, is_joined=is_joined)
                print(f"{title} --by of {VALUES} values: {rate:,.0f} rows/s", flush=True)
    for title, measure in (("page", cpu_of_render), ("readers", cpu_of_readers)):
        if is_wanted(title):
            found = sorted(measure())
            middle, least = found[len(found) // 2], found[0]
            what = (
                "render a page of" if title == "page" else f"render for {READERS} readers a page of"
            )
            print(
                f"{what} {VALUES} series: {middle * 1e3:.0f} ms an update, "
                f"{least * 1e3:.0f} at least",
                flush=True,
            )


if __name__ == "__main__":
    main()
