"""Processes of `streameval watch` that are killed at any time, whatever they read."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from monitoring.histories import OUT_OF_ORDER, WAIT

from streameval.cli.errors import UNAVAILABLE
from streameval.monitoring.checkpoint import read_checkpoint
from streameval.monitoring.status import BAD

__all__ = ["check", "counters", "drawn_share", "ended", "killed_often", "streameval"]

HANGS = 120
N_LAST_RUNS = 20
LOST = (*BAD, "late_label", "orphan_expired")
COUNTING = (
    *("--task", "binary", "--budget", "16", "--by", "country=DE,FR"),
    *("--time", "ts", "--unit", "s", "--pane", "1m", "--keep", "6m", "--rollups", "3m:9m"),
)
ALWAYS = "coverage < 0.79"
SOMETIMES = ("roc_auc < 0.75 over 2m", "roc_auc < 0.75", "late labels > 1%")
MISTAKES = ("", "", "", "max_pending = 7\n", "alerts = [\n")
JOIN = ("--key", "id", "--wait", f"{WAIT}s", "--out-of-order", f"{OUT_OF_ORDER}s")


def streameval(*arguments, **options):
    command = [sys.executable, "-m", "streameval", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **options)


def ended(process):
    """Wait for a process that must not fail."""
    _, said = process.communicate(timeout=HANGS)
    assert (process.returncode, said) == (0, b"")


def said_by(process, codes):
    """Wait for a process that may warn, and return what it has said."""
    _, said = process.communicate(timeout=HANGS)
    assert process.returncode in codes, (process.returncode, said)
    whole, _, _ = said.rpartition(b"\n")  # a kill may cut the last line
    lines = [json.loads(line) for line in whole.splitlines()]
    texts = [line["message"] for line in lines]
    refused = [text for text in texts if text.endswith("The reload is refused; watch goes on.")]
    errors = [line["message"] for line in lines if line["level"] == "error"]
    if UNAVAILABLE in codes:  # a broker was down as the process began; it may be killed as it ends
        refused += [text for text in errors if ": cannot be reached: " in text]
    assert [text for text in errors if not text.startswith("on-alert: ")] == refused, errors
    return Counter(
        reloaded=texts.count("monitor.toml: alerts, receivers and title are reloaded."),
        refused=len(refused),
        dropped=sum("dropped" in text for text in texts),
    )


def opens_checkpoint(process):
    """Tell whether a process has its checkpoint open, and so heeds hangups."""
    with suppress(OSError):  # it has ended, or closes a file meanwhile
        files = map(os.readlink, Path(f"/proc/{process.pid}/fd").iterdir())
        return any(name.endswith("ck.db-lock") for name in files)
    return False


def wait_for_checkpoint(process):
    while not opens_checkpoint(process) and process.poll() is None:
        time.sleep(0.02)


class Receivers:
    """A file of rules and receivers that changes while a monitor runs, and the events they got.

    One rule and one receiver are always there. Other rules come and go, and the second receiver is
    one of two, so that together they get the same events. All refuse while there is no file `up`.

    Parameters
    ----------
    folder : Path
    rng : Random
    """

    def __init__(self, folder, rng):
        self._folder = folder
        self._rng = rng

    def change(self, *, is_running):
        """Write other rules and receivers; to a monitor that is running, mistakes too."""
        rng = self._rng
        rules = [ALWAYS, *rng.sample(SOMETIMES, rng.randrange(len(SOMETIMES) + 1))]
        mistake = rng.choice(MISTAKES) if is_running else ""
        self._write(rules, ("always", rng.choice(["one", "other"])), mistake)

    def disturb(self):
        """Let receivers refuse events, or accept them again."""
        if self._rng.random() < 0.5:
            (self._folder / "up").unlink(missing_ok=True)
        else:
            (self._folder / "up").touch()

    def settle(self):
        """Let receivers accept what is left."""
        (self._folder / "up").touch()
        self._write([ALWAYS], ("always", "one"))

    def _write(self, rules, names, mistake=""):
        commands = [f"sh -c 'test -e up && cat >> {name}-events.jsonl'" for name in names]
        tables = [f"[[alerts]]\nrule = {json.dumps(rule)}\n" for rule in rules]
        tables += [f"[[on_alert]]\nto = {json.dumps(command)}\n" for command in commands]
        whole = self._folder / "new.toml"
        whole.write_text(mistake + "".join(tables))
        whole.rename(self._folder / "monitor.toml")

    def check(self):
        """Compare what receivers got with each other, and with the alerts of the last commit."""
        always, one, other = map(self._events, ("always", "one", "other"))
        assert always.keys() == one.keys() | other.keys()
        states = {}
        for event in always.values():
            if event["rule"] == ALWAYS:
                states.setdefault(event["alert"], []).append(event["state"])
        stored = read_checkpoint(self._folder / "ck.db").state["alerts"]
        for key, alert in stored.items():
            if json.loads(key)[0] == ALWAYS and alert["state"] == "firing":
                states[alert["alert"]].append("resolved")  # is still to come
        assert {*map(tuple, states.values())} == {("firing", "resolved")}, states

    def _events(self, name):
        """Return the events that a receiver got, by id, in the order in which they came first."""
        path = self._folder / f"{name}-events.jsonl"
        events = {}
        for event in map(json.loads, path.read_text().splitlines() if path.exists() else ()):
            events.setdefault(event["id"], event)
        return events


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


def lost_rows(path):
    """Count the rows in a quarantine by reason; files of other names held them."""
    lines = map(json.loads, path.read_text().splitlines())
    return Counter((line["reason"], line["row"]) for line in lines)


def killed_often(folder, sources, logs, rng, n_kills, disturb=None):
    """Follow logs that grow while the process is killed, until all rows have been counted.

    Rules and receivers change at restarts, and by reloads between them.

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

    Returns
    -------
    Counter
        How many reloads succeeded, and how many were refused.
    """
    predictions, labels = sources
    options = (
        *("--checkpoint", "ck.db", "--output", "out.jsonl"),
        *("--quarantine", "q.jsonl", "--config", "monitor.toml", "--log-format", "json"),
    )
    receivers, said = Receivers(folder, rng), Counter()
    for number in range(n_kills):
        pieces = rng.choice([300, 3000, 30_000, 10**7])
        receivers.change(is_running=False)
        watch = streameval(
            *("watch", predictions, "--labels", labels, *JOIN, *COUNTING, *options),
            *("--commit-bytes", pieces),
            cwd=folder,
        )
        if rng.random() < 0.8:  # the others may die before they begin
            wait_for_checkpoint(watch)
        end = time.monotonic() + rng.uniform(0.4, 2.0)
        while time.monotonic() < end:
            if rng.random() < 0.3:
                rng.choice(logs).grow(0.5 / (n_kills - number), rng)
            if disturb is not None and rng.random() < 0.03:
                disturb()
            if rng.random() < 0.15:
                receivers.disturb()
            if rng.random() < 0.15 and opens_checkpoint(watch):
                receivers.change(is_running=True)
                watch.send_signal(signal.SIGHUP)
            time.sleep(0.05)
        watch.send_signal(signal.SIGKILL)
        said += said_by(
            watch, {-signal.SIGKILL} if disturb is None else {-signal.SIGKILL, UNAVAILABLE}
        )
    for log in logs:
        if log.rows:
            log.grow(1.0, rng)
    receivers.settle()
    for _ in range(N_LAST_RUNS):
        last = streameval(
            *("watch", predictions, "--labels", labels, *JOIN, *COUNTING, *options, "--once"),
            cwd=folder,
        )
        said += said_by(last, {0, 1})  # an alert may be firing
        if not read_checkpoint(folder / "ck.db").outbox:
            break
    else:
        raise AssertionError("events are not delivered")
    receivers.check()
    assert not said["dropped"]
    return said


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
    whole = read_checkpoint(folder / "whole.db").windowed
    assert state == whole.to_bytes()
    assert whole.view().held("unlabelled")
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
