"""Dask: a real cluster of two processes, one of which dies."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from engines.cases import CASES, TABLE, every_case, parts, slow_make, write_parts

import streameval as se

dask = pytest.importorskip("dask", reason="dask is not installed")
pytest.importorskip("distributed", reason="distributed is not installed")

from distributed import Client, LocalCluster, Lock, wait  # noqa: E402

from streameval.engines import dask as adapter  # noqa: E402
from streameval.engines._counting import SourceCounter  # noqa: E402
from streameval.engines._shipping import merged  # noqa: E402
from streameval.engines.dask import _with_steady_memory, evaluate  # noqa: E402

pytestmark = pytest.mark.engine(name="dask")


@pytest.fixture(scope="module")
def client():
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with cluster, Client(cluster) as client:
        yield client


@pytest.fixture(scope="module", params=["parquet", "csv", "jsonl"])
def paths(request, tmp_path_factory):
    return write_parts(tmp_path_factory.mktemp("parts"), request.param)


@pytest.fixture(scope="module")
def parquet_paths(tmp_path_factory):
    return write_parts(tmp_path_factory.mktemp("parquet"))


@every_case
def test_bytes_are_those_of_one_process(case, client, parquet_paths):
    counted = evaluate(client, parquet_paths, **case.arguments, target_bytes=20_000)
    assert counted.to_bytes() == case.serial().to_bytes()


def test_files_of_every_format_are_read(client, paths):
    case = CASES["grouped"]
    filled = [path for path in paths if Path(path).stat().st_size]
    counted = evaluate(client, filled, **case.arguments)
    assert counted == case.serial()


@pytest.mark.parametrize("fan_in", [2, 3, 100])
def test_order_and_tree_change_nothing(fan_in, client, parquet_paths):
    case = CASES["coarsened curve"]
    shuffled = random.Random(fan_in).sample(parquet_paths, len(parquet_paths))
    counted = evaluate(client, shuffled, case.make, fan_in=fan_in, target_bytes=1)
    assert counted.to_bytes() == case.serial().to_bytes()


def test_delayed_batches_are_counted(client):
    case = CASES["collection"]
    batches = [dask.delayed(part) for part in parts()]
    frames = [dask.delayed(part.to_pandas()) for part in parts()]
    for sources in (batches, frames):
        counted = evaluate(client, sources, **case.arguments)
        assert counted.to_bytes() == case.serial().to_bytes()


def test_data_frame_is_counted_by_partition(client, parquet_paths):
    from dask import dataframe

    case = CASES["grouped"]
    counted = []
    frame = dataframe.read_parquet(parquet_paths)
    result = evaluate(client, frame, **case.arguments, progress=lambda *done: counted.append(done))
    assert result.to_bytes() == case.serial().to_bytes()
    assert counted == [(n + 1, frame.npartitions) for n in range(frame.npartitions)]


def test_values_of_a_column_are_counted_apart(client, parquet_paths):
    case = CASES["grouped"]
    counted = evaluate(client, parquet_paths, **case.arguments, by="country", target_bytes=20_000)
    assert list(counted) == ["DE", "FR", "IT"]
    for value, acc in counted.items():
        rows = [country == value for country in TABLE.column("country").to_pylist()]
        assert acc.to_bytes() == case.serial(TABLE.filter(rows)).to_bytes()


def test_progress_is_told_as_tasks_finish(client, paths):
    told = []
    filled = [path for path in paths if Path(path).stat().st_size]
    case, options = CASES["coarsened curve"], {"target_bytes": 1}
    evaluate(client, filled, case.make, **options, progress=lambda *done: told.append(done))
    ((_, total), *_) = told
    assert len(told) >= len(filled)
    assert told == [(n + 1, total) for n in range(total)]


def test_a_source_that_is_listed_twice_counts_twice(client, parquet_paths):
    case = CASES["regression"]
    counted = evaluate(client, parquet_paths * 2, **case.arguments)
    assert counted.to_bytes() == (case.serial() + case.serial()).to_bytes()


def test_a_merge_that_runs_twice_counts_once(client, parquet_paths):
    case = CASES["coarsened curve"]
    counting = SourceCounter.of(case.make)
    states = client.map(counting.count, parquet_paths)
    twice = [client.submit(merged, *states, pure=False) for _ in range(2)]
    more = client.submit(merged, *twice)
    one = case.serial()
    assert [counting.result(slices) for slices in client.gather([*twice, more])] == [
        one,
        one,
        one + one,
    ]


def test_results_of_a_task_are_taken_out_where_they_are(client):
    cluster = adapter._DaskCluster(client)
    for results in cluster.start_several(_numbers, [(number,) for number in range(2)], 12):
        client.gather(results)
        holders = {tuple(workers) for workers in client.who_has(results).values()}
        assert len(holders) == 1


def _numbers(first):
    return [first + number for number in range(12)]


def test_workers_merge_in_turn(client):
    cluster = adapter._DaskCluster(client)
    state = {None: se.ConfusionAccumulator().to_bytes()}
    held = client.scatter([state, state], workers=[*client.nthreads()][:1], hash=False)
    merges = [cluster.merge(merged, held, lane) for lane in range(4)]
    client.gather(merges)
    holders = [workers for (workers,) in client.who_has(merges).values()]
    assert sorted(map(holders.count, holders)) == [2, 2, 2, 2]


def test_of_two_results_the_second_stays_with_the_first(client):
    cluster = adapter._DaskCluster(client)
    ((done, state),) = cluster.start_several(_numbers_and_state, [(3,)], 2)
    assert cluster.result(done) == 3
    assert cluster.result(state) == {3: b"state"}
    assert client.who_has([state])[state.key] == client.who_has([done])[done.key]
    assert state.key[0].startswith("_numbers_and_state-"), "a task took it out"


def test_a_failure_does_not_wait_for_results_that_cannot_be_taken_out(client, monkeypatch):
    monkeypatch.setattr(adapter, "_TAKING_OUT", 0.01)
    cluster = adapter._DaskCluster(client)
    lock = Lock("taking out")
    with lock:
        source = client.submit(int, 3)
        wait(source)
        result = client.submit(_held_up, source, lock)
        cluster._sources[result.key] = source.key
        assert cluster.ready([source, result]) == [source]
    wait(result)
    assert cluster.ready([source, result]) == [source, result]


def _held_up(number, lock):
    with lock:
        return number


def _numbers_and_state(number):
    return number, {number: b"state"}


def test_results_beside_a_failure_are_told_before_it(client, monkeypatch):
    class Together:
        """Futures that finish at the same moment."""

        def __init__(self, futures):
            self.futures = futures

        def batches(self):
            return [self.futures]

    good, bad = client.submit(len, "ab"), client.submit(len, 1)
    wait([good, bad])
    monkeypatch.setattr(adapter, "as_completed", Together)
    found = adapter._DaskCluster(client).finished([bad, good])
    assert next(found) == (good, 2)
    with pytest.raises(TypeError):
        next(found)


@pytest.mark.parametrize(("is_local", "expected"), [(True, {True}), (False, {None})])
def test_results_of_a_local_cluster_come_directly(is_local, expected, client, monkeypatch):
    """Workers of another cluster may be out of reach, and the client has been told if not."""
    asked = set()
    with nullcontext(client) if is_local else Client(client.scheduler.address) as asking:
        gather = asking.gather
        monkeypatch.setattr(
            asking, "gather", lambda some, direct: asked.add(direct) or gather(some, direct=direct)
        )
        evaluate(asking, [TABLE] * 3, se.PRCurveSketch)
    assert asked == expected


def test_workers_may_come_later():
    cluster = LocalCluster(n_workers=0, processes=False, dashboard_address=":0")
    with cluster, Client(cluster) as client:
        later = threading.Timer(0.2, cluster.scale, [1])
        later.start()
        counted = evaluate(client, [TABLE, TABLE], se.PRCurveSketch)
        later.join()
    assert counted.n == 2 * TABLE.num_rows


def test_killed_worker_changes_nothing(client, tmp_path):
    """A worker that holds states dies in the middle of the reduction, and is not missed."""
    case = CASES["coarsened curve"]
    killed = []

    def kill(done, total):
        if done >= total // 2 and not killed:
            holders = [address for address, keys in client.has_what().items() if keys]
            pid = client.run(os.getpid)[holders[0]]
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    sources = write_parts(tmp_path, n_parts=20)
    make = partial(slow_make, case.make, str(tmp_path))
    counted = evaluate(client, sources, make, fan_in=2, progress=kill, target_bytes=20_000)
    assert counted.to_bytes() == case.serial().to_bytes()
    assert len(killed) == 1
    made = len((tmp_path / "made").read_text())
    evaluate(client, sources, make, fan_in=2, target_bytes=20_000)
    again = len((tmp_path / "made").read_text()) - made
    assert made > again, "no task ran again"


def test_a_file_that_changed_is_read_again(client, tmp_path):
    path = tmp_path / "log.csv"
    accuracies = []
    for prediction in (0, 1):
        path.write_text(f"y_true,y_pred\n1,{prediction}\n")
        accuracies.append(evaluate(client, path, se.ConfusionAccumulator).compute().accuracy)
    assert accuracies == [0.0, 1.0]


def test_file_with_a_bad_row_is_named(client, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("y_true,y_score\n1,0.5\n0,7\n")
    with pytest.raises(se.BadDataError, match=r"log\.csv, line 3: `y_score` must lie in"):
        evaluate(client, [path], se.PRCurveSketch)


def test_batch_that_is_refused_raises(client):
    with pytest.raises(se.InvalidInputError, match="`y_true` is missing: the batch has"):
        evaluate(client, [{"y_score": [0.5]}], se.PRCurveSketch)


def test_the_first_failure_stops_the_run(client, tmp_path):
    case = CASES["coarsened curve"]
    sources = write_parts(tmp_path, "jsonl", n_parts=60)
    Path(sources[0]).write_text("no row\n")
    make = partial(slow_make, case.make, str(tmp_path))
    with pytest.raises(se.BadDataError, match=r"part-0\.jsonl, line 1: not JSON"):
        evaluate(client, sources, make, target_bytes=1)
    time.sleep(0.5)
    assert len((tmp_path / "made").read_text()) < len(sources), "all tasks went on"


def test_a_second_run_counts_only_the_rest(client, tmp_path):
    case, folder = CASES["coarsened curve"], tmp_path / "log"
    folder.mkdir()
    sources = write_parts(folder, "jsonl", n_parts=12)
    last = Path(max(sources))
    whole = last.read_text()
    last.write_text("no row\n")
    options = {"target_bytes": 1, "resume": tmp_path / "parts.se"}
    with pytest.raises(se.BadDataError):
        evaluate(client, folder, case.make, **options)
    assert len(se.load(tmp_path / "parts.se")) >= 9, "each of two workers may have been at one more"
    last.write_text(whole)
    counted = evaluate(client, folder, case.make, **options)
    assert counted.to_bytes() == case.serial().to_bytes()
    assert len(se.load(tmp_path / "parts.se")) == 12


def test_what_fails_is_left_out(client, tmp_path):
    left_out = []
    sources = write_parts(tmp_path, "jsonl")
    Path(sources[0]).write_text("no row\n")
    counted = evaluate(client, sources, CASES["coarsened curve"].make, on_error=left_out.append)
    rest = evaluate(client, sources[1:], CASES["coarsened curve"].make)
    assert counted == rest
    assert len(left_out) == 1


def test_an_asynchronous_client_is_refused(client):
    class Asynchronous:
        asynchronous = True

    with pytest.raises(se.InvalidInputError, match="`client` must not be asynchronous"):
        evaluate(Asynchronous(), [TABLE], se.PRCurveSketch)


def test_thresholds_of_the_allocator_are_those_of_before(monkeypatch):
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    nested = partial(_with_steady_memory, _with_steady_memory, sum, [1, 2])
    assert nested() == 3
    assert adapter._n_steady == 0
    with pytest.raises(TypeError):
        _with_steady_memory(sum, 1)
    assert adapter._n_steady == 0
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "-1")
    assert nested() == 3


@pytest.mark.parametrize("by", [None, "country"])
def test_arrays_are_counted_by_their_chunks(by, client):
    from dask import array

    names = ["y_true", "y_score", "country"]
    columns = {name: TABLE.column(name).to_numpy(zero_copy_only=False) for name in names}
    sizes = {"y_true": 700, "y_score": 1000, "country": 3000}
    arrays = {name: array.from_array(columns[name], sizes[name]) for name in names}
    told = []
    counted = evaluate(
        client, arrays, se.PRCurveSketch, by=by, progress=lambda *done: told.append(done)
    )
    expected = evaluate(client, TABLE.select(names), se.PRCurveSketch, by=by)
    assert counted == expected
    assert told[-1] == (5, 5)


def test_rows_of_scores_stay_together(client):
    from dask import array

    scores = np.random.default_rng(0).random((60, 3))
    labels = np.arange(60) % 3
    arrays = {
        "y_true": array.from_array(labels, 25),
        "y_pred": array.from_array(scores, (10, 2)),
    }
    counted = evaluate(client, arrays, se.ConfusionAccumulator(3).copy)
    assert counted == se.ConfusionAccumulator(3).update(labels, scores)


def test_a_partition_with_a_null_is_named(client):
    from dask import dataframe

    frame = pd.DataFrame({"y_true": [1, 0, None, 1], "y_pred": [1, 0, 1, 1]})
    parts = dataframe.from_pandas(frame, npartitions=2, sort=False)
    with pytest.raises(se.InvalidInputError, match=r"^partition 2: `y_true` .* at position 0"):
        evaluate(client, parts, se.ConfusionAccumulator)
    with pytest.warns(UserWarning, match="^left out 1 rows with nulls$"):
        assert evaluate(client, parts, se.ConfusionAccumulator, nulls="skip").n == 3
