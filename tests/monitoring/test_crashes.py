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
    """Start a monitor that reads and commits in pieces of random size."""
    joins = {"labels": Rows("labels", a=history.labels), "key": "id", "wait": f"{WAIT}s"}
    return se.Monitor(
        path,
        windowed(),
        predictions=Rows("predictions", a=history.predictions),
        time="ts",
        out_of_order=f"{OUT_OF_ORDER}s",
        clock=Clock(),
        read_bytes=rng.choice([1, 200, 3000]),
        commit_bytes=rng.choice([1, 500, 5000, 10**6]),
        alerts=["coverage < 0.5"],
        quarantine=path.with_name("whole.jsonl" if path.stem == "whole" else "killed.jsonl"),
        **joins | options,
    )


def finished(one):
    """Step until everything has been read."""
    while not one.step().is_idle:
        pass
    return one.windowed.to_bytes(), one.status()


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, cases(200, least=8)))]


@pytest.mark.uncovered
@pytest.mark.parametrize("seed", SEEDS)
def test_every_row_is_counted_once_wherever_the_process_dies(seed, tmp_path, mortal):
    rng, history = random.Random(seed), History.draw(seed)
    with monitor(tmp_path / "whole.db", history, rng) as one:
        state, status = finished(one)
    assert state == history.expected
    paths = (tmp_path / f"{number}.db" for number in itertools.count())
    path, n_deaths = next(paths), 0
    while True:
        copy = next(paths)
        mortal(rng.randrange(40 if n_deaths else 6) if n_deaths < 12 else 10**9, copy)
        try:
            with monitor(path, history, rng) as one:
                found, again = finished(one)
            break
        except Killed:
            path, n_deaths = copy, n_deaths + 1
    assert n_deaths
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
