"""Sorted runs of pending rows: what is found, taken, merged and forgotten."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from streameval.monitoring import pending_runs
from streameval.monitoring.pending_runs import BlobLog, PendingRuns, key_order, key_starts

VALUE = {"value": np.dtype(np.float64)}


def rows(high: Any, low: Any = 0, time: Any = 0) -> dict[str, np.ndarray]:
    high = np.array(high, dtype=np.uint64)
    made = {
        "high": high,
        "low": np.broadcast_to(np.array(low, dtype=np.uint64), high.shape).copy(),
        "time": np.broadcast_to(np.array(time, dtype=np.int64), high.shape).copy(),
        "value": np.arange(len(high), dtype=np.float64),
    }
    order = key_order(made)
    return {name: column[order] for name, column in made.items()}


def store(*, keeps_taken: bool = True) -> PendingRuns:
    return PendingRuns(VALUE, BlobLog(), keeps_taken=keeps_taken)


def changes(runs: PendingRuns) -> tuple[dict[int, bytes], set[int]]:
    """Write runs, and return the blobs to add and the numbers of those to remove."""
    runs.write()
    return runs._blobs.changes(runs.to_json())


def values(runs: PendingRuns, high: Any, low: Any = 0) -> list[list[float]]:
    """Return the values that are found of each key."""
    keys = rows(high, low)
    found = runs.find(keys)
    of_rows = runs.column("value", found.rows)
    return [sorted(of_rows[found.keys == key].tolist()) for key in range(len(keys["high"]))]


def test_key_order_keeps_the_order_of_equal_ids_that_share_half_a_hash_with_others() -> None:
    keys = {
        "high": np.array([7, 9, 7, 7, 7], np.uint64),
        "low": np.array([2, 0, 1, 2, 1], np.uint64),
    }
    order = key_order(keys)
    assert order.tolist() == [2, 4, 0, 3, 1]
    sorted_keys = {name: column[order] for name, column in keys.items()}
    assert key_starts(sorted_keys).tolist() == [True, False, True, False, True]


def test_runs_find_every_row_and_no_other() -> None:
    random = np.random.default_rng(0)
    known = np.unique(random.integers(0, 2**63, 5000, dtype=np.uint64)) * np.uint64(2)
    runs = store()
    for part in np.array_split(random.permutation(known), 7):
        runs.add(rows(part))
    found = runs.find(rows(known))
    assert sorted(found.keys.tolist()) == list(range(len(known)))
    assert len(np.unique(found.rows)) == len(known)
    assert len(runs.find(rows(known + np.uint64(1))).keys) == 0


def test_runs_find_hashes_that_were_chosen_to_be_close() -> None:
    runs = store()
    runs.add(rows(np.arange(1000)))
    assert values(runs, [0, 500, 999, 1000]) == [[0.0], [500.0], [999.0], []]


def test_runs_tell_ids_apart_that_share_half_of_their_hash() -> None:
    runs = store()
    runs.add(rows([7, 7, 7, 9], [3, 1, 2, 1]))
    assert values(runs, [7, 7, 7, 7], [0, 1, 2, 3]) == [[], [1.0], [2.0], [0.0]]


def test_runs_find_all_rows_of_an_id() -> None:
    runs = store()
    runs.add(rows([5] * 40 + [8]))
    assert values(runs, [5, 8]) == [[float(i) for i in range(40)], [40.0]]


def test_runs_of_like_size_become_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending_runs, "MAX_RUN", 64)
    runs = store()
    for number in range(100):
        runs.add(rows([number]))
    sizes = [len(run) for run in runs._runs]
    assert sum(sizes) == len(runs) == 100
    assert max(sizes) <= 64
    assert len(sizes) <= 8


def test_runs_cut_what_is_larger_than_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending_runs, "MAX_RUN", 16)
    runs = store()
    runs.add(rows(np.arange(100)))
    assert [len(run) for run in runs._runs] == [16] * 6 + [4]


def test_taken_rows_are_forgotten_where_they_are_not_kept() -> None:
    runs = store(keeps_taken=False)
    runs.add(rows([1, 2, 3]))
    runs.take(runs.find(rows([1, 2])).rows)
    assert runs.n_untaken == 1
    assert values(runs, [1, 2, 3]) == [[], [], [2.0]]
    runs.add(rows([4, 5]))
    assert len(runs) == 3
    runs.take(runs.find(rows([3, 4, 5])).rows)
    runs.drop(-1)
    assert len(runs) == 0


def test_merged_runs_of_nothing_are_gone() -> None:
    runs = store(keeps_taken=False)
    runs.add(rows([1], time=1))
    runs.take(runs.find(rows([1])).rows)
    runs._horizon = 5
    runs.add(rows([2], time=2))
    assert len(runs) == 0


def test_rows_are_past_once() -> None:
    runs = store()
    runs.add(rows([1, 2, 3, 4], time=[4, 3, 2, 1]))
    runs.take(runs.find(rows([3])).rows)
    assert sorted(runs.column("time", runs.take_past(4)).tolist()) == [1, 3]
    assert runs.n_current == 1
    assert len(runs.take_past(4)) == 0
    assert runs.column("time", runs.take_past(5)).tolist() == [4]
    assert runs.n_current == 0


def test_rows_that_are_past_leave_only_their_keys_and_whether_they_were_taken_in_memory() -> None:
    runs = store()
    runs.add(rows([1, 2], time=[1, 2]))
    runs.take_past(3)
    runs.drop(1)
    runs.add(rows([3], time=[9]))
    assert [sorted(run.columns) for run in runs._runs] == [
        ["high", "low", "taken", "time"],
        ["high", "low", "taken", "time", "value"],
    ]
    added, removed = changes(runs)
    assert (len(added), removed) == (2, set())
    runs.drop(3)
    assert len(runs) == 1
    assert len(changes(runs)[1]) == 1


def test_no_row_is_written_again_once_its_blob_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending_runs, "MAX_BLOB", 8)
    runs = store()
    written: dict[int, bytes] = {}
    n_written = 0
    for number in range(64):
        runs.add(rows([number]))
        added, removed = changes(runs)
        n_rows = [len(blob) // 32 for blob in added.values()]  # of 32 bytes, after a short head
        assert max(n_rows) <= 8
        n_written += sum(n_rows)
        written = {key: blob for key, blob in (written | added).items() if key not in removed}
    assert list(written) == runs.to_json()
    assert len(written) <= 16
    assert n_written <= 4 * 64


def test_merged_runs_keep_the_order_of_rows_of_one_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending_runs, "_CHUNK", 1)
    runs = store()
    for time in range(3):
        runs.add(rows([1, 2, 2, 3], time=time))
    assert len(runs._runs) == 1
    found = runs.find(rows([2]))
    assert runs.column("time", found.rows).tolist() == [0, 0, 1, 1, 2, 2]
