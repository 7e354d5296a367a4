"""The laws of the join: what is counted is a function of the rows of each partition."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest
from monitoring import join_model
from numpy.random import Generator, default_rng
from offenders import each
from profiles import cases

from streameval.monitoring import arrivals, pending_runs
from streameval.monitoring.join import Join, Joined

DTYPE = np.dtype([("score", "f8")])


class Reading:
    """A join that is read in some order, and what has been counted."""

    def __init__(self, options: dict[str, Any], names: dict[str, list[str]]) -> None:
        self.options = options
        self.join = Join(DTYPE, **options)
        self.read: dict[str, dict[str, list[Any]]] = {
            side: {name: [] for name in names[side]} for side in names
        }
        self.finished: dict[str, set[str]] = {side: set() for side in names}
        self.counted: Counter[tuple[int, float, float | None]] = Counter()
        self.blobs: tuple[dict[int, bytes], dict[int, bytes]] = {}, {}
        for side, own in names.items():
            for name in own:
                self.join.partitions[side].declare([name])

    def put(self, side: str, name: str, rows: list[Any]) -> None:
        ids, times, values = zip(*rows, strict=True) if rows else ((), (), ())
        event = np.array(times, dtype=np.int64)
        if side == "predictions":
            carried = np.array([(value,) for value in values], dtype=DTYPE)
            self.join.predict(name, list(ids), event, carried)
        else:
            self.join.label(name, list(ids), event, np.array(values, dtype=np.float64))
        self.read[side][name] += rows

    def finish(self, side: str, name: str) -> None:
        self.join.partitions[side].finish(name)
        self.finished[side].add(name)

    def ready(self) -> None:
        self.counted += rows_of(self.join.ready())

    def restart(self) -> None:
        changes = self.join.changes()
        runs, dead = self.blobs
        assert runs.keys().isdisjoint(changes.added)
        runs.update(changes.added)
        dead.update(changes.dead)
        for number in changes.removed:
            del runs[number]
            dead.pop(number, None)
        state = json.loads(json.dumps(changes.state))
        self.join = Join.restore(DTYPE, self.options, state, runs, dead)

    def check(self) -> None:
        wanted = {name: value for name, value in self.options.items() if name != "max_pending"}
        expected = join_model.outcome(
            **self.read,
            **wanted,
            finished_predictions=self.finished["predictions"],
            finished_labels=self.finished["labels"],
        )
        assert self.counted == expected.rows
        assert +Counter(self.join.counters) == expected.counters
        assert self.join.n_pending == expected.n_pending


def rows_of(joined: Joined) -> Counter[tuple[int, float, float | None]]:
    assert (np.diff(joined.times) >= 0).all()
    columns = joined.times, joined.rows["score"], joined.labels, joined.is_labelled
    return Counter(
        (time, score, label if is_labelled else None)
        for time, score, label, is_labelled in zip(*(c.tolist() for c in columns), strict=True)
    )


def history(random: Generator) -> tuple[dict[str, Any], dict[str, dict[str, list[Any]]]]:
    """Draw options, and the rows of each partition of each side."""
    wait = int(random.integers(1, 12))
    options = {
        "wait": wait,
        "out_of_order": int(random.integers(0, 5)) * int(random.integers(0, 2)),
        "settle": [None, int(random.integers(0, 8))][int(random.integers(0, 2))],
        "max_pending": 10,
        "max_step": [None, int(random.integers(0, 8))][int(random.integers(0, 2))],
    }
    ids = [*range(int(random.integers(1, 7))), "1", "zwölf"]
    span = int(random.integers(5, 60))
    return options, {
        side: {
            name: rows(random, ids, span, 1 if side == "predictions" else 3)
            for name in ["a", "b", "c"][: int(random.integers(1, 4))]
        }
        for side in ("predictions", "labels")
    }


def rows(random: Generator, ids: list[Any], span: int, values: int) -> list[Any]:
    size = int(random.integers(0, 25))
    times = np.sort(random.integers(-span, span, size)) + random.integers(0, 4, size)
    if random.random() < 0.2:
        random.shuffle(times)
    if random.random() < 0.3:
        times += random.integers(0, 60, size) * (random.random(size) < 0.1)  # some skewed ones
    carried = random.integers(0, values, size) if values > 1 else random.random(size)
    return [
        (ids[int(random.integers(len(ids)))], int(time), float(value))
        for time, value in zip(times, carried, strict=True)
    ]


def read_at_random(random: Generator, reading: Reading, sides: Any, *, restarts: bool) -> None:
    left = {(side, name): list(own) for side in sides for name, own in sides[side].items()}
    while left:
        side, name = key = list(left)[int(random.integers(len(left)))]
        size = int(random.integers(0, 9))
        reading.put(side, name, left[key][:size])
        left[key] = left[key][size:]
        if not left[key]:
            del left[key]
            if random.random() < 0.3:
                reading.finish(side, name)
        if random.random() < 0.5:
            reading.ready()
            reading.check()
        if restarts and random.random() < 0.3:
            reading.restart()
    reading.ready()
    reading.check()


@pytest.fixture
def small_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending_runs, "MAX_RUN", 16)
    monkeypatch.setattr(pending_runs, "MAX_BLOB", 4)
    monkeypatch.setattr(pending_runs, "_CHUNK", 3)
    monkeypatch.setattr(pending_runs, "_MAPPED", 50)
    monkeypatch.setattr(arrivals, "_MAX_CHUNKS", 2)
    monkeypatch.setattr(arrivals, "_SMALL", 5)


@pytest.mark.slow
@pytest.mark.usefixtures("small_runs")
@each("seed", range(10))
def test_join_counts_what_its_rules_say_however_it_is_read(seed: int) -> None:
    for case in range(cases(4000, least=40) // 10):
        random = default_rng([seed, case])
        options, sides = history(random)
        reading = Reading(options, {side: list(sides[side]) for side in sides})
        read_at_random(random, reading, sides, restarts=case % 2 == 0)
        assert reading.read == sides


@pytest.mark.usefixtures("small_runs")
def test_restarts_change_nothing_when_partitions_are_named_late() -> None:
    for case in range(cases(2000, least=20)):
        random = default_rng([7, case])
        options, sides = history(random)
        names: dict[str, list[str]] = {side: [] for side in sides}
        pair = Reading(options, names), Reading(options, names)
        left = [(side, name, rows) for side in sides for name, rows in sides[side].items()]
        while left:
            side, name, rows = left.pop(int(random.integers(len(left))))
            size = int(random.integers(1, 9))
            is_ready = random.random() < 0.5
            for reading in pair:
                reading.read[side].setdefault(name, [])
                reading.put(side, name, rows[:size])
                if is_ready:
                    reading.ready()
            pair[1].restart()
            if rows[size:]:
                left.append((side, name, rows[size:]))
        for reading in pair:
            reading.ready()
        assert pair[0].counted == pair[1].counted
        assert pair[0].join.counters == pair[1].join.counters
        assert max(pair[0].counted.values(), default=0) <= len(sides["predictions"])
