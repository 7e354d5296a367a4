"""A monitor that dies between any two statements counts every row once."""

import itertools
import random
import shutil

import pytest
from monitoring.histories import OUT_OF_ORDER, WAIT, History, windowed
from monitoring.memory import Clock, Rows
from profiles import cases

import streameval as se
from streameval.monitoring.checkpoint import Checkpoint


class Killed(BaseException):
    """The process dies here."""


@pytest.fixture
def mortal(monkeypatch):
    """Let a checkpoint die before its n-th statement, and leave a copy of its files behind."""
    execute = Checkpoint._execute
    left = [None, None]

    def counted(self, *arguments):
        if left[0] is not None:
            if left[0] == 0:
                left[0] = None
                for suffix in ("", "-wal"):
                    file = f"{self.name}{suffix}"
                    shutil.copy(file, f"{left[1]}{suffix}")
                raise Killed
            left[0] -= 1
        return execute(self, *arguments)

    monkeypatch.setattr(Checkpoint, "_execute", counted)

    def die(after, copy):
        left[:] = [after, copy]

    return die


def monitor(path, history, rng, **options):
    """Start a monitor that reads and commits in pieces of random size, unless they are given."""
    pieces = {
        "read_bytes": rng.choice([1, 200, 3000]),
        "commit_bytes": rng.choice([1, 500, 5000, 10**6]),
    }
    joins = {"labels": Rows("labels", a=history.labels), "key": "id", "wait": f"{WAIT}s"}
    return se.Monitor(
        path,
        windowed(),
        predictions=Rows("predictions", a=history.predictions),
        time="ts",
        out_of_order=f"{OUT_OF_ORDER}s",
        clock=Clock(),
        alerts=["coverage < 0.5", "cm/accuracy < 0.9"],
        false_alarms="1 per 10m",
        quarantine=path.with_name("whole.jsonl" if path.stem == "whole" else "killed.jsonl"),
        **joins | pieces | options,
    )


def finished(one):
    """Step until everything has been read."""
    while not one.step().is_idle:
        pass
    return one.windowed.to_bytes(), one.status(), one.snapshot().alerts


def survived(folder, history, rng, mortal, n_statements=40, **pieces):
    """Finish with a monitor that dies again and again, within so many statements."""
    paths = (folder / f"{number}.db" for number in itertools.count())
    path, n_deaths = next(paths), 0
    while True:
        copy = next(paths)
        mortal(rng.randrange(n_statements if n_deaths else 6) if n_deaths < 12 else 10**9, copy)
        try:
            with monitor(path, history, rng, **pieces) as one:
                found = finished(one)
            break
        except Killed:
            path, n_deaths = copy, n_deaths + 1
    assert n_deaths
    return found


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, cases(200, least=8)))]


@pytest.mark.slow
@pytest.mark.uncovered
@pytest.mark.parametrize("seed", SEEDS)
def test_every_row_is_counted_once_wherever_the_process_dies(seed, tmp_path, mortal):
    rng, history = random.Random(seed), History.draw(seed)
    with monitor(tmp_path / "whole.db", history, rng) as one:
        state, status, _ = finished(one)
    assert state == history.expected
    found, again, _ = survived(tmp_path, history, rng, mortal)
    assert found == history.expected
    assert again.counters == status.counters
    assert (again.n_rows, again.n_labelled) == (status.n_rows, status.n_labelled)
    written, once = (
        sorted((tmp_path / f"{name}.jsonl").read_text().splitlines())
        for name in ("killed", "whole")
    )
    assert written == once
    n_lost = sum(status.counters.get(name, 0) for name in ("late_label", "orphan_expired"))
    assert len(once) == n_lost


@pytest.mark.slow
@pytest.mark.uncovered
@pytest.mark.parametrize("seed", SEEDS)
def test_alerts_and_their_evidence_are_the_same_wherever_the_process_dies(seed, tmp_path, mortal):
    """If it reads the same pieces: later rows of a pane that was looked at change no decision."""
    rng, history = random.Random(seed), History.draw(seed)
    pieces = {"read_bytes": 200, "commit_bytes": 500}
    with monitor(tmp_path / "whole.db", history, rng, **pieces) as one:
        _, _, alerts = finished(one)
    assert any(alert.history for alert in alerts)
    _, _, judged = survived(tmp_path, history, rng, mortal, 400, **pieces)
    assert judged == alerts
