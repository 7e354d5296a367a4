"""A join goes on from what was written, and refuses what was not."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.random import default_rng
from offenders import each

from streameval.errors import CorruptStateError, IncompatibleStateError
from streameval.monitoring import pending_runs
from streameval.monitoring.join import Join

DTYPE = np.dtype([("score", "f4"), ("slice", "i8")])
OPTIONS: dict[str, Any] = {"wait": 10, "out_of_order": 2, "settle": 3, "max_pending": 100}

Written = tuple[dict[str, Any], dict[int, bytes], dict[int, bytes]]


def read(join: Join, seed: int, start: int) -> None:
    random = default_rng([seed, start])
    for partition in ("one", "two"):
        times = np.sort(random.integers(start, start + 20, 12))
        ids = random.integers(0, 9, 12).tolist()
        rows = np.zeros(12, DTYPE)
        rows["score"], rows["slice"] = random.random(12), random.integers(0, 3, 12)
        join.predict(partition, ids, times, rows)
        join.label(partition, random.permutation(ids), times + 1, random.integers(0, 2, 12))


def written(seed: int = 0) -> Written:
    """Write a join that has rows of every sort: waiting, labelled, settling and orphans."""
    join = Join(DTYPE, **OPTIONS)
    runs: dict[int, bytes] = {}
    dead: dict[int, bytes] = {}
    for start in (0, 20, 40):
        read(join, seed, start)
        join.ready()
        changes = join.changes()
        runs |= changes.added
        dead |= changes.dead
        for number in changes.removed:
            del runs[number]
            dead.pop(number, None)
    return json.loads(json.dumps(changes.state)), runs, dead


def restored(state: Any, runs: Any, dead: Any, **options: Any) -> Join:
    return Join.restore(DTYPE, OPTIONS | options, state, runs, dead)


def test_written_joins_hold_rows_of_every_sort() -> None:
    state, _, dead = written()
    assert dead
    for name in ("rows", "accepted", "orphans", "settling"):
        assert state[name], name
    for name in ("predictions", "labels"):
        assert state[name]["chunks"], name


def test_restored_join_goes_on_as_if_it_had_not_stopped() -> None:
    for seed in range(5):
        whole = Join(DTYPE, **OPTIONS)
        for start in (0, 20, 40, 60):
            read(whole, seed, start)
            last = whole.ready()
        again = restored(*written(seed))
        read(again, seed, 60)
        ready = again.ready()
        assert ready.times.tolist() == last.times.tolist()
        assert ready.rows.tolist() == last.rows.tolist()
        assert ready.labels.tolist() == last.labels.tolist()
        assert again.counters == whole.counters
        assert (again.n_pending, again.watermarks) == (whole.n_pending, whole.watermarks)


def test_join_that_is_restored_often_goes_on_once_its_runs_are_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Past runs are merged when they are restored, and each one has a number of its own."""
    monkeypatch.setattr(pending_runs, "MAX_BLOB", 8)
    options = {"wait": 40}
    whole, again = Join(DTYPE, **options), Join(DTYPE, **options)
    runs: dict[int, bytes] = {}
    for start in range(0, 150, 5):
        for join in (whole, again):
            join.predict("p", [*range(start, start + 5)], np.arange(5) + start, np.zeros(5, DTYPE))
            join.label("l", [start], np.array([start + 4]), np.ones(1))
            join.ready()
        changes = again.changes()
        assert not runs.keys() & changes.added.keys()
        runs = {n: b for n, b in (runs | changes.added).items() if n not in changes.removed}
        again = Join.restore(DTYPE, options, changes.state, runs, changes.dead)
    assert (again.counters, again.n_pending) == (whole.counters, whole.n_pending)


def test_nothing_is_written_twice() -> None:
    join = restored(*written())
    state = join.changes().state
    changes = join.changes()
    assert (changes.added, changes.dead, changes.removed) == ({}, {}, ())
    assert changes.state == state


@each("name", ["wait", "out_of_order", "settle"])
def test_restore_refuses_other_options(name: str) -> None:
    with pytest.raises(IncompatibleStateError, match=rf"^cannot restore the join: `{name}` diff"):
        restored(*written(), **{name: 5})


def test_restore_takes_another_max_pending() -> None:
    assert restored(*written(), max_pending=1).is_full


def test_restore_refuses_another_dtype() -> None:
    with pytest.raises(IncompatibleStateError, match=r"^cannot restore the join: `dtype` differs"):
        Join.restore(np.dtype([("score", "f8")]), OPTIONS, *written())


@pytest.mark.uncovered
def test_every_flipped_bit_and_every_cut_of_a_blob_is_refused() -> None:
    state, runs, dead = written()
    for blobs in (runs, dead):
        for number, blob in blobs.items():
            for damaged in _damaged(blob):
                changed = {**blobs, number: damaged}
                with pytest.raises(CorruptStateError, match=r"^state is corrupt: "):
                    restored(
                        state,
                        changed if blobs is runs else runs,
                        changed if blobs is dead else dead,
                    )


def _damaged(blob: bytes) -> Iterator[bytes]:
    for size in range(0, len(blob), 31):
        yield blob[:size]
    for bit in range(0, 8 * len(blob), 61):
        flipped = bytearray(blob)
        flipped[bit // 8] ^= 1 << bit % 8
        yield bytes(flipped)
    yield blob + b"\0"


JUNK = [None, True, -1, 2**70, 1.5, "x", [], {}, [1], [[1]], [[0, "one", 10**6]], {"a": 1}]


@pytest.mark.slow
def test_junk_in_the_state_is_refused_or_harmless() -> None:
    state, runs, dead = written()
    paths, refused = list(_paths(state)), 0
    for path in paths:
        for junk in JUNK:
            changed = copy.deepcopy(state)
            _put(changed, path, junk)
            try:
                join = restored(changed, runs, dead)
            except (CorruptStateError, IncompatibleStateError):
                refused += 1
            else:
                read(join, 0, 60)
                join.ready()
                join.changes()
    assert refused > 8 * len(paths)


def _paths(state: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = state.items() if isinstance(state, dict) else enumerate(state)
    for key, value in items:
        yield (*path, key)
        if isinstance(value, (dict, list)):
            yield from _paths(value, (*path, key))


def _put(state: Any, path: tuple[Any, ...], value: Any) -> None:
    for key in path[:-1]:
        state = state[key]
    state[path[-1]] = value


def sealed(body: bytes, n_rows: int) -> bytes:
    return pending_runs._sealed([body], n_rows)


def body(blob: bytes) -> bytes:
    return blob[pending_runs._HEAD.size :]


def swapped(blob: bytes) -> bytes:
    """Turn the bytes of the rows around, so that they are not sorted."""
    return sealed(body(blob)[::-1], pending_runs._opened(blob)[0])


Change = Callable[[dict[str, Any], dict[int, bytes], dict[int, bytes]], Any]


def _first(state: dict[str, Any], name: str) -> int:
    return state[name][0] if isinstance(state[name], list) else state[name]["chunks"][0][0]


def _far(runs: dict[int, bytes], number: int, position: int) -> None:
    """Set the last time of a blob, whose columns begin with two hashes, out of range."""
    n_rows, rows = pending_runs._opened(runs[number])
    changed = bytearray(rows)
    at = position * 8 * n_rows - 8
    changed[at : at + 8] = (2**62).to_bytes(8, "little")
    runs[number] = sealed(bytes(changed), n_rows)


CHANGES: dict[str, tuple[Change, str]] = {
    "a run is gone": (lambda s, r, d: r.pop(_first(s, "rows")), "a run is missing"),
    "a chunk is gone": (lambda s, r, d: r.pop(_first(s, "labels")), "a chunk is missing"),
    "a blob too many": (lambda s, r, d: r.update({99: b""}), "a blob is not used"),
    "a blob twice": (lambda s, r, d: s["rows"].append(s["rows"][0]), "a blob is used twice"),
    "a bitmap too many": (lambda s, r, d: d.update({99: b""}), "a bitmap is not used"),
    "a bitmap of a chunk": (
        lambda s, r, d: d.update({_first(s, "labels"): b""}),
        "a bitmap is not used",
    ),
    "no bytes": (lambda s, r, d: r.update({_first(s, "rows"): "x"}), "is not bytes"),
    "unsorted ids": (
        lambda s, r, d: r.update({_first(s, "rows"): swapped(r[_first(s, "rows")])}),
        "a run is not sorted",
    ),
    "unsorted times": (
        lambda s, r, d: r.update({_first(s, "labels"): swapped(r[_first(s, "labels")])}),
        "a chunk is not sorted by time",
    ),
    "a far time of a run": (lambda s, r, d: _far(r, _first(s, "rows"), 3), "a time is out of"),
    "a far time of a chunk": (lambda s, r, d: _far(r, _first(s, "labels"), 3), "a time is out of"),
    "no rows": (
        lambda s, r, d: r.update({_first(s, "rows"): sealed(b"", 0)}),
        "0 bytes are not 0 rows",
    ),
    "a row too few": (
        lambda s, r, d: r.update({_first(s, "rows"): sealed(b"x" * 99, 1)}),
        "99 bytes are not 1 rows",
    ),
    "a long bitmap": (
        lambda s, r, d: d.update({next(iter(d)): sealed(b"\0\0", 99)}),
        "a bitmap has 99 rows instead of",
    ),
    "a short bitmap": (
        lambda s, r, d: d.update(
            {n: sealed(b"", pending_runs._opened(b)[0]) for n, b in list(d.items())[:1]}
        ),
        "a bitmap has another length",
    ),
    "bits past the end": (
        lambda s, r, d: d.update(
            {
                n: sealed(b"\xff" * len(body(b)), pending_runs._opened(b)[0])
                for n, b in d.items()
                if pending_runs._opened(b)[0] % 8
            }
        ),
        "a bitmap has bits past its end",
    ),
    "labels without rows": (lambda s, r, d: r.pop(s["rows"].pop()), "without"),
    "the next id": (lambda s, r, d: s.update(next_id=max(r)), "the next id is used"),
    "a counter too many": (lambda s, r, d: s["counters"].update(other=0), "counters have other"),
    "no counters": (lambda s, r, d: s.update(counters=[]), "the counters have other names"),
}


@each("name", CHANGES)
def test_restore_refuses_parts_that_do_not_belong_together(name: str) -> None:
    change, message = CHANGES[name]
    state, runs, dead = written()
    change(state, runs, dead)
    with pytest.raises(CorruptStateError, match=message):
        restored(state, runs, dead)


def test_restore_refuses_two_labels_of_one_row() -> None:
    state, runs, dead = written()
    number = state["accepted"][0]
    runs[state["next_id"]] = runs[number]
    state["accepted"].append(state["next_id"])
    state["next_id"] += 1
    with pytest.raises(CorruptStateError, match="two labels belong to one row"):
        restored(state, runs, dead)
