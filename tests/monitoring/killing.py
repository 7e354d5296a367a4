"""Processes of `streameval watch` that are killed at any time, whatever they read."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter

from monitoring.histories import OUT_OF_ORDER, WAIT

from streameval.monitoring.checkpoint import read_checkpoint
from streameval.monitoring.status import BAD

__all__ = ["check", "counters", "drawn_share", "ended", "killed_often", "streameval"]

HANGS = 120
LOST = (*BAD, "late_label", "orphan_expired")
COUNTING = (
    *("--task", "binary", "--budget", "16", "--by", "country=DE,FR"),
    *("--time", "ts", "--unit", "s", "--pane", "1m", "--keep", "6m", "--rollups", "3m:9m"),
)
JOIN = ("--key", "id", "--wait", f"{WAIT}s", "--out-of-order", f"{OUT_OF_ORDER}s")


def streameval(*arguments, **options):
    command = [sys.executable, "-m", "streameval", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **options)


def ended(process):
    """Wait for a process that must not fail."""
    _, said = process.communicate(timeout=HANGS)
    assert (process.returncode, said) == (0, b"")


def drawn_share(rows, share):
    """Split rows into the next share of them, at least one, and the others."""
    number = max(int(len(rows) * share), 1)
    return rows[:number], rows[number:]


def counters(path):
    """Return what was counted of rows; how often a server went away is another matter."""
    saved = read_checkpoint(path)
    own = saved.state["monitor"]["counters"]
    own.pop("disconnected", None)
    return own | saved.state["join"]["counters"] | {"rows": saved.state["monitor"]["rows"]}


def unlabelled(path):
    """Return the rows without a label by slice, which are in no state."""
    held = read_checkpoint(path).unlabelled
    assert held.n > 0
    return held.to_bytes()


def lost_rows(path):
    """Count the rows in a quarantine by reason; files of other names held them."""
    lines = map(json.loads, path.read_text().splitlines())
    return Counter((line["reason"], line["row"]) for line in lines)


def killed_often(folder, sources, logs, rng, n_kills, disturb=None):
    """Follow logs that grow while the process is killed, until all rows have been counted.

    Parameters
    ----------
    folder : Path
        Where `ck.db` and `out.jsonl` are made.
    sources : (str, str)
        Where predictions and labels are read.
    logs : list
        Each has `rows` that are left, and grows by a share of them.
    rng : Random
    n_kills : int
    disturb : callable, optional
        What else happens to the logs now and then.
    """
    predictions, labels = sources
    options = (
        *("--checkpoint", "ck.db", "--output", "out.jsonl", "--quiet"),
        *("--quarantine", "q.jsonl"),
    )
    for number in range(n_kills):
        pieces = rng.choice([300, 3000, 30_000, 10**7])
        watch = streameval(
            *("watch", predictions, "--labels", labels, *JOIN, *COUNTING, *options),
            *("--commit-bytes", pieces),
            cwd=folder,
        )
        end = time.monotonic() + rng.uniform(0.4, 2.0)
        while time.monotonic() < end:
            if rng.random() < 0.3:
                rng.choice(logs).grow(0.5 / (n_kills - number), rng)
            if disturb is not None and rng.random() < 0.03:
                disturb()
            time.sleep(0.05)
        watch.send_signal(signal.SIGKILL)
        _, said = watch.communicate(timeout=HANGS)
        assert (watch.returncode, said) == (-signal.SIGKILL, b"")
    for log in logs:
        if log.rows:
            log.grow(1.0, rng)
    ended(
        streameval(
            *("watch", predictions, "--labels", labels, *JOIN, *COUNTING, *options, "--once"),
            cwd=folder,
        )
    )


def check(folder, sources, joined):
    """Compare what was counted with one process that is not killed, and with the joined rows.

    Returns
    -------
    Counter
        How many rows are in the quarantine, by reason.
    """
    predictions, labels = sources
    (folder / "joined.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in joined))
    options = ("--checkpoint", "whole.db", "--quiet", "--once", "--quarantine", "whole-q.jsonl")
    ended(
        streameval(
            *("watch", predictions, "--labels", labels, *JOIN, *COUNTING, *options), cwd=folder
        )
    )
    ended(streameval("eval", "joined.jsonl", *COUNTING, "-o", "all.state", "--quiet", cwd=folder))
    state = read_checkpoint(folder / "ck.db").windowed.to_bytes()
    assert state == (folder / "all.state").read_bytes()
    assert unlabelled(folder / "ck.db") == unlabelled(folder / "whole.db")
    again, once = counters(folder / "ck.db"), counters(folder / "whole.db")
    assert again == once, (again, once)
    quarantined = lost_rows(folder / "q.jsonl")
    assert quarantined == lost_rows(folder / "whole-q.jsonl")
    counted = Counter(reason for reason, _ in quarantined.elements())
    assert counted == Counter({reason: again.get(reason, 0) for reason in LOST})
    lines = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    starts = [line["start"] for line in lines if not line["revised"]]
    assert len(starts) == len(set(starts)) > 0
    return counted
