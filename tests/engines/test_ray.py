"""Ray: a tree of tasks on a local cluster of two processes."""

from __future__ import annotations

import os
import random
import signal
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from engines.cases import CASES, TABLE, every_case, parts, write_parts

import streameval as se

ray = pytest.importorskip("ray", reason="ray is not installed")

from streameval.engines._counting import SourceCounter  # noqa: E402
from streameval.engines.ray import EvaluateFn, _count_block, _RayCluster, evaluate  # noqa: E402

pytestmark = pytest.mark.engine(name="ray")


@pytest.fixture(scope="module", autouse=True)
def cluster():
    with pytest.MonkeyPatch.context() as patch:  # a `runtime_env` would start other workers
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return write_parts(tmp_path_factory.mktemp("parts"))


@every_case
def test_bytes_are_those_of_one_process(case, paths):
    counted = evaluate(paths, **case.arguments, target_bytes=20_000)
    assert counted.to_bytes() == case.serial().to_bytes()


@pytest.mark.parametrize("fan_in", [2, 3, 100])
def test_order_and_tree_change_nothing(fan_in, paths):
    case = CASES["coarsened curve"]
    shuffled = random.Random(fan_in).sample(paths, len(paths))
    counted = evaluate(shuffled, case.make, fan_in=fan_in, target_bytes=1)
    assert counted.to_bytes() == case.serial().to_bytes()


@every_case
def test_read_only_arrays_of_the_object_store_are_counted(case):
    arrays = [
        {name: part.column(name).to_numpy() for name in part.column_names} for part in parts()
    ]
    stored = [ray.put(batch) for batch in arrays]
    assert not ray.get(stored[3])["y_score"].flags.writeable
    assert evaluate(stored, **case.arguments).to_bytes() == case.serial().to_bytes()


# Ray's data sets read their own options that are deprecated.
data_set = pytest.mark.filterwarnings("ignore:.* is deprecated:DeprecationWarning")


@data_set
@pytest.mark.parametrize("fan_in", [2, 8])
def test_data_set_is_counted_as_it_streams(fan_in):
    case = CASES["grouped"]
    data = ray.data.from_arrow(parts())
    assert evaluate(data, **case.arguments, fan_in=fan_in).to_bytes() == case.serial().to_bytes()


@data_set
def test_values_of_a_data_set_are_counted_apart():
    case = CASES["grouped"]
    counted = evaluate(ray.data.from_arrow(parts()), **case.arguments, by="country")
    assert list(counted) == ["DE", "FR", "IT"]
    assert sum(acc.n for acc in counted.values()) == case.serial().n


@data_set
def test_block_of_a_data_set_that_is_refused_raises():
    data = ray.data.from_arrow(pa.table({"y_true": [1], "y_score": [7.0]}))
    with pytest.raises(se.InvalidInputError, match=r"`y_score` must lie in \[0, 1\], got 7.0"):
        evaluate(data, se.PRCurveSketch)


@data_set
def test_column_that_a_data_set_lacks_is_named():
    with pytest.raises(se.InvalidInputError, match="`y_score` is missing: the batch has"):
        evaluate(ray.data.from_arrow(pa.table({"y_true": [1]})), se.PRCurveSketch)


@data_set
def test_aggregate_of_a_data_set_is_the_bytes_of_one_process():
    case = CASES["coarsened curve"]
    data = ray.data.from_arrow(parts())
    found = data.aggregate(EvaluateFn(**case.arguments))
    assert found == {"state": case.serial().to_bytes()}


@data_set
def test_aggregate_of_groups_stands_beside_those_of_ray():
    case = CASES["collection"]
    data = ray.data.from_arrow(parts())
    counted = data.groupby("country", num_partitions=2).aggregate(
        EvaluateFn(**case.arguments, name="counted"), ray.data.aggregate.Count()
    )
    rows = {row.pop("country"): row for row in counted.take_all()}
    countries = TABLE.column("country").to_pylist()
    assert rows.keys() == {*countries}
    for value, row in rows.items():
        mine = TABLE.filter([country == value for country in countries])
        assert row == {"counted": case.serial(mine).to_bytes(), "count()": mine.num_rows}


@data_set
def test_aggregate_names_rows_that_are_refused_or_leaves_nulls_out():
    data = ray.data.from_arrow(pa.table({"y_true": [1, None], "y_pred": [1, 0]}))
    with pytest.raises(ray.exceptions.RayTaskError, match=r"`y_true` must .* at position 1"):
        data.aggregate(EvaluateFn(se.ConfusionAccumulator))
    counted = data.aggregate(EvaluateFn(se.ConfusionAccumulator, nulls="skip"))
    assert se.from_bytes(counted["state"]).n == 1


def test_aggregate_adds_blocks_and_states():
    made = EvaluateFn(se.ConfusionAccumulator)
    block = pa.table({"y_true": [1, 0, 1], "y_pred": [1, 0, 0]})
    state = made.accumulate_block(made.init(None), block)
    state = made.merge(made.accumulate_block(state, block), made.accumulate_block(state, block[:0]))
    expected = se.ConfusionAccumulator().update([1, 0, 1] * 3, [1, 0, 0] * 3)
    assert state == expected.to_bytes()


@pytest.mark.parametrize("by", [None, "country"])
def test_blocks_become_rows_of_states(by):
    counter = SourceCounter.of(se.PRCurveSketch, by=by)
    assert _count_block(TABLE, counter).num_rows == (1 if by is None else 3)
    (row,) = _count_block(pa.table({"country": ["DE"]}), counter).to_pylist()
    assert row["type"] == "refused"


def test_what_fails_is_left_out(paths, tmp_path):
    bad, left_out = tmp_path / "bad.jsonl", []
    bad.write_text("no row\n")
    case = CASES["coarsened curve"]
    counted = evaluate([bad, *paths], case.make, on_error=left_out.append, target_bytes=1)
    assert counted.to_bytes() == case.serial().to_bytes()
    assert len(left_out) == 1


def test_values_of_a_column_are_counted_apart(paths):
    case = CASES["grouped"]
    counted = evaluate(paths, **case.arguments, by="country", target_bytes=20_000)
    assert list(counted) == ["DE", "FR", "IT"]
    for value, acc in counted.items():
        rows = [country == value for country in TABLE.column("country").to_pylist()]
        assert acc.to_bytes() == case.serial(TABLE.filter(rows)).to_bytes()


def test_progress_is_told_as_tasks_finish(paths):
    told = []
    case, options = CASES["coarsened curve"], {"target_bytes": 1}
    evaluate(paths, case.make, **options, progress=lambda *done: told.append(done))
    ((_, total), *_) = told
    assert total >= len(paths)
    assert told == [(n + 1, total) for n in range(total)]


def test_worker_that_dies_changes_nothing(paths, tmp_path):
    case = CASES["coarsened curve"]
    marker = tmp_path / "died"

    def make():
        if not marker.exists() and os.getpid() != driver:
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return case.make()

    driver = os.getpid()
    assert evaluate(paths, make).to_bytes() == case.serial().to_bytes()
    assert marker.exists()


@pytest.mark.parametrize("progress", [None, lambda *done: None])
def test_file_with_a_bad_row_is_named(progress, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("y_true,y_score\n1,0.5\n0,7\n")
    with pytest.raises(se.BadDataError, match=r"log\.csv, line 3: `y_score` must lie in"):
        evaluate([path], se.PRCurveSketch, progress=progress)


def test_batch_that_is_refused_raises():
    with pytest.raises(se.InvalidInputError, match="`y_true` is missing: the batch has"):
        evaluate([{"y_score": [0.5]}], partial(se.PRCurveSketch, 64))


def test_a_second_run_counts_only_the_rest(tmp_path):
    case, folder = CASES["coarsened curve"], tmp_path / "log"
    folder.mkdir()
    sources = write_parts(folder, "jsonl")
    whole = Path(sources[-2]).read_text()
    Path(sources[-2]).write_text("no row\n")
    options = {"target_bytes": 1, "resume": tmp_path / "parts.se"}
    with pytest.raises(se.BadDataError):
        evaluate(folder, case.make, **options)
    Path(sources[-2]).write_text(whole)
    assert evaluate(folder, case.make, **options).to_bytes() == case.serial().to_bytes()
    assert len(se.load(tmp_path / "parts.se")) == len(sources)


def test_objects_that_are_there_are_told_from_failures():
    @ray.remote
    def divide(number):
        return 1 / number

    handles = [divide.remote(number) for number in (1, 0)]
    ray.wait(handles, num_returns=2)
    assert _RayCluster().ready(handles) == handles[:1]
    assert _RayCluster().ready([]) == []
