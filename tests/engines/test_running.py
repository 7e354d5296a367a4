"""What the engines share: tasks, merging, progress, failures, and going on after one."""

from __future__ import annotations

import json
import random
from datetime import UTC, date, datetime, time
from functools import partial
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from engines.cases import CASES, TABLE, every_case, parts, write_parts
from engines.here import Here, evaluate
from offenders import each
from profiles import quick_cases
from pyarrow import csv, dataset, fs, parquet

import streameval as se
from streameval.engines._counting import text_of, value_of
from streameval.engines._tasks import Cut, plan_tasks

ROWS = {"y_true": [1, 0, 1], "y_pred": [1, 1, 0]}
WEIGHTED = ROWS | {"sample_weight": [2, 3, 4]}
TYPES = {"y_true": pa.string(), "y_pred": pa.string(), "sample_weight": pa.int64()}


def write(path, columns):
    """Write columns to a file of the format that its name says."""
    table = pa.table(columns)
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
    elif path.suffix == ".csv":
        csv.write_csv(table, path)
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in table.to_pylist()))
    return path


def confusion(*batches):
    total = se.ConfusionAccumulator()
    for batch in batches:
        total.update(batch)
    return total


@pytest.mark.slow
@pytest.mark.uncovered
@every_case
@pytest.mark.parametrize(
    "options",
    [{}, *(pytest.param({"target_bytes": size}, marks=pytest.mark.slow) for size in (1, 20_000))],
)
def test_bytes_are_those_of_one_process(case, options, tmp_path):
    paths, expected = write_parts(tmp_path), case.serial().to_bytes()
    for sources in (paths, tmp_path, f"{tmp_path}/*.parquet", parts()):
        counted = evaluate(sources, **case.arguments, **options)
        assert counted.to_bytes() == expected


@pytest.mark.parametrize("fan_in", [2, 3, 8])
def test_any_order_and_tree_give_the_same_bytes(fan_in, tmp_path):
    paths = write_parts(tmp_path, n_parts=20)
    case = CASES["coarsened curve"]
    engine = Here(seed=fan_in)
    counted = evaluate(paths, case.make, engine=engine, fan_in=fan_in, target_bytes=1)
    assert counted.to_bytes() == case.serial().to_bytes()
    assert max(engine.n_merged) == fan_in


@pytest.mark.slow
@pytest.mark.parametrize(
    "at_once", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 7, 20))]
)
@pytest.mark.parametrize("by", [None, "country"])
def test_tasks_started_one_after_another_give_the_same_bytes(by, at_once, tmp_path):
    paths = write_parts(tmp_path, n_parts=20)
    case, engine = CASES["coarsened curve"], Here(at_once=at_once)
    options = {"by": by, "target_bytes": 1, "fan_in": 3}
    counted = evaluate(paths, case.make, engine=engine, **options)
    assert len(engine.n_results) > 20
    assert max(engine.n_merged) == 3
    whole = evaluate(paths, case.make, **options)
    if by is None:
        whole, counted = {None: whole}, {None: counted}
    assert {value: acc.to_bytes() for value, acc in counted.items()} == {
        value: acc.to_bytes() for value, acc in whole.items()
    }


def test_few_states_are_pending_however_many_tasks_there_are(tmp_path):
    paths = write_parts(tmp_path, n_parts=60)
    case, engine = CASES["confusion"], Here(n_slots=2, at_once=1)
    counted = evaluate(paths, **case.arguments, engine=engine, fan_in=3, target_bytes=1)
    assert counted.to_bytes() == case.serial().to_bytes()
    assert len(engine.n_pending) >= 60
    assert max(engine.n_pending) == 3 + 2  # those of a merge, and one of each chain


@pytest.mark.slow
@pytest.mark.parametrize(("n_slots", "n_shares", "n_lanes"), [(1, 4, 4), (2, 8, 8), (40, 16, 48)])
def test_merges_of_a_share_stay_on_its_lanes(n_slots, n_shares, n_lanes, tmp_path):
    paths = write_parts(tmp_path, n_parts=60)
    case, engine = CASES["confusion"], Here(n_slots=n_slots)
    evaluate(paths, **case.arguments, by="country", engine=engine, fan_in=4, target_bytes=1)
    assert set(engine.n_results) == {1 + n_shares}
    assert sorted(set(engine.lanes)) == list(range(n_lanes))
    lane_of = dict(zip(engine.merges, engine.lanes, strict=True))
    for merge, lane in lane_of.items():
        before = [lane_of[one] % n_shares for one in merge.arguments if one in lane_of]
        assert set(before) <= {lane % n_shares}


def test_files_are_grouped_by_size_in_order(tmp_path):
    paths = [tmp_path / f"{number:02}.csv" for number in range(10)]
    for path in paths:
        path.write_bytes(b"x" * 100)
    tasks = plan_tasks([tmp_path], Cut(250, 2, None, False, ""), {})
    assert [len(task.pieces) for task in tasks] == [3, 3, 3, 1]
    assert [piece.file for task in tasks for piece in task.pieces] == list(map(str, paths))


@pytest.mark.parametrize(
    ("n_files", "size", "n_merged", "n_tasks"),
    [
        (100, 2**20, None, 4),
        (1000, 2**10, None, 4),
        (5, 2**10, None, 1),
        (10, 2**28, None, 10),
        (100, 2**24, None, 8),
        (200, 2**24, None, 14),
        (60, 2**24, 8, 6),
        (200, 2**24, 8, 50),
        (200, 2**24, 2, 26),
    ],
)
def test_tasks_fill_the_slots_but_are_neither_tiny_nor_huge(
    n_files, size, n_merged, n_tasks, tmp_path
):
    for number in range(n_files):
        with (tmp_path / f"{number:03}.csv").open("wb") as file:
            file.truncate(size)
    assert len(plan_tasks([tmp_path], Cut(None, 2, n_merged, False, ""), {})) == n_tasks


def test_the_first_tasks_of_each_slot_are_larger_than_the_last(tmp_path):
    for number in range(100):
        with (tmp_path / f"{number:03}.csv").open("wb") as file:
            file.truncate(2**20)
    tasks = plan_tasks([tmp_path], Cut(None, 2, None, False, ""), {})
    assert [len(task.pieces) for task in tasks] == [40, 40, 10, 10]


def test_row_groups_of_a_large_file_are_counted_by_several_tasks(tmp_path):
    path = tmp_path / "log.parquet"
    parquet.write_table(TABLE, path, row_group_size=100)
    size = path.stat().st_size
    tasks = plan_tasks([path], Cut(size // 4, 2, None, False, ""), {})
    assert len(tasks) == 3
    assert [piece.group for task in tasks for piece in task.pieces] == list(range(30))
    case = CASES["collection"]
    counted = evaluate(path, **case.arguments, target_bytes=size // 4)
    assert counted.to_bytes() == case.serial().to_bytes()


@pytest.mark.slow
def test_values_are_dealt_out_to_several_merges(tmp_path):
    paths = write_parts(tmp_path)
    case, engine = CASES["grouped"], Here()
    counted = evaluate(paths, **case.arguments, by="user", engine=engine, target_bytes=1)
    assert sum(acc.n for acc in counted.values()) == case.serial().n
    assert len(counted) == 40
    users = TABLE.column("user").to_pylist()
    for value, acc in counted.items():
        mine = TABLE.filter([user == value for user in users])
        assert acc.to_bytes() == case.serial(mine).to_bytes()
    assert len(engine.n_merged) >= 16


@each(
    ("n_slots", "n_tasks", "fan_in", "n_shares"),
    [(1, 1, 8, 4), (1, 7, 8, 7), (1, 9, 8, 8), (2, 2, 8, 8), (2, 9, 20, 9), (9, 1, 8, 16)],
)
def test_values_are_shared_by_as_many_merges_as_pay(n_slots, n_tasks, fan_in, n_shares):
    engine = Here(n_slots)
    batches = [TABLE.slice(0, 100)] * n_tasks
    evaluate(batches, se.PRCurveSketch, by="country", engine=engine, fan_in=fan_in)
    assert engine.n_results == [n_shares + 1] * n_tasks


def test_rows_that_are_counted_together_have_one_merge():
    engine = Here(n_slots=9)
    evaluate([TABLE.slice(0, 100)] * 3, se.PRCurveSketch, engine=engine)
    assert engine.n_results == [2, 2, 2]
    assert engine.n_merged == [3]


def test_progress_says_all_only_when_it_is_all(tmp_path):
    told, engine = [], Here()
    paths = [
        write(tmp_path / f"{n}.csv", WEIGHTED | {"y_score": [0.1, 0.2, 0.3]}) for n in range(7)
    ]

    def progress(done, total):
        told.append((done, total, all(merge.is_done for merge in engine.merges)))

    evaluate(paths, se.PRCurveSketch, progress=progress, target_bytes=1, engine=engine)
    assert told == [(n + 1, 7, n == 6) for n in range(7)]


def test_progress_is_not_told_after_a_failure(tmp_path):
    told = []
    paths = [write(tmp_path / f"{n}.csv", ROWS) for n in range(4)]
    paths[3].write_text("y_true,y_pred\n1,5\n")
    with pytest.raises(se.io.BadDataError, match=r"3\.csv, line 2: "):
        evaluate(paths, se.ConfusionAccumulator, progress=lambda *n: told.append(n), target_bytes=1)
    assert told == [(1, 4), (2, 4), (3, 4)]


def test_the_first_failure_stops_the_run(tmp_path):
    paths = [write(tmp_path / f"{n:02}.csv", ROWS) for n in range(20)]
    paths[0].write_text("y_true,y_pred\n1,1\n0,5\n")
    engine = Here()
    with pytest.raises(se.io.BadDataError, match=r"00\.csv, line 3: "):
        evaluate(tmp_path, se.ConfusionAccumulator, target_bytes=1, engine=engine)
    assert sum(handle.is_done for handle in engine.started) == 1
    assert engine.cancelled[-1] is engine.merges[-1]
    assert len(engine.cancelled) == 20 + 1


def test_no_task_starts_after_a_failure_where_few_are_started_at_once(tmp_path):
    paths = [write(tmp_path / f"{n:02}.csv", ROWS) for n in range(20)]
    paths[5].write_text("y_true,y_pred\n1,5\n")
    engine = Here(at_once=4)
    with pytest.raises(se.io.BadDataError, match=r"05\.csv, line 2: "):
        evaluate(tmp_path, se.ConfusionAccumulator, target_bytes=1, fan_in=3, engine=engine)
    assert len(engine.n_results) == 8
    assert [len(group) for group in (engine.merges, engine.cancelled)] == [2, 8]


def test_states_are_merged_before_the_last_tasks_start(tmp_path):
    paths = [write(tmp_path / f"{n:02}.csv", ROWS) for n in range(20)]
    paths[13].write_text("y_true,y_pred\n1,5\n")
    engine = Here(at_once=1)
    with pytest.raises(se.io.BadDataError, match=r"13\.csv, line 2: "):
        evaluate(tmp_path, se.ConfusionAccumulator, target_bytes=1, fan_in=3, engine=engine)
    assert len(engine.n_results) == 14
    assert engine.n_merged == [3] * 5


def test_results_are_given_up_when_a_later_task_fails(tmp_path):
    for n in range(3):
        write(tmp_path / f"{n}.csv", ROWS)
    write(tmp_path / "3.csv", {"y_true": [1], "y_pred": [5]})
    engine = Here()
    with pytest.raises(se.io.BadDataError, match=r"3\.csv"):
        evaluate(tmp_path, se.ConfusionAccumulator, target_bytes=1, engine=engine)
    assert len(engine.cancelled) == 4 + 1


def test_results_are_given_up_when_every_source_is_left_out(tmp_path):
    path = write(tmp_path / "0.csv", {"y_true": [1], "y_pred": [5]})
    engine = Here()
    with pytest.raises(se.io.BadDataError, match=r"0\.csv"):
        evaluate(path, se.ConfusionAccumulator, on_error="skip", engine=engine)
    assert len(engine.cancelled) == 2


def test_a_batch_that_fails_is_named():
    batches = [ROWS, ROWS, {"y_true": [1], "y_pred": [5]}]
    with pytest.raises(se.InvalidInputError, match=r"^source 3: `y_pred` .* at position 0"):
        evaluate(batches, se.ConfusionAccumulator)


def corrupted(folder, n_files=12):
    """Write files of which two cannot be counted."""
    paths = [write(folder / f"{n:02}.csv", ROWS) for n in range(n_files)]
    paths[3].write_text("y_true,y_pred\n1,1\n0,5\n")
    paths[7].write_text("y_true\n1\n")
    return [path for path in paths if path not in (paths[3], paths[7])]


@pytest.mark.parametrize("target_bytes", [1, 50, None])
def test_what_fails_is_left_out_and_listed(target_bytes, tmp_path):
    good = corrupted(tmp_path)
    errors = []
    options = {"target_bytes": target_bytes, "on_error": errors.append}
    counted = evaluate(tmp_path, se.ConfusionAccumulator, **options)
    assert counted == confusion(*[ROWS] * len(good))
    assert sorted(str(error).partition(":")[0].rpartition("/")[2] for error in errors) == [
        "03.csv, line 3",
        "07.csv",
    ]


def test_what_is_left_out_is_warned_about_with_its_count(tmp_path):
    corrupted(tmp_path)
    for number in range(5):
        (tmp_path / f"more-{number}.csv").write_text("y_true\n1\n")
    with pytest.warns(UserWarning, match=r"left out 7 sources: .*03\.csv.* And 4 more\."):
        evaluate(tmp_path, se.ConfusionAccumulator, on_error="skip", target_bytes=1)


def test_without_failures_nothing_is_warned_about(tmp_path):
    write(tmp_path / "log.csv", ROWS)
    assert evaluate(tmp_path, se.ConfusionAccumulator, on_error="skip").n == 3


def test_a_large_file_is_left_out_as_a_whole(tmp_path):
    table = pa.table({"y_true": [1] * 400, "y_pred": [1] * 399 + [5]})
    path = tmp_path / "log.parquet"
    parquet.write_table(table, path, row_group_size=100)
    write(tmp_path / "more.parquet", ROWS)
    errors = []
    counted = evaluate(tmp_path, se.ConfusionAccumulator, on_error=errors.append, target_bytes=1)
    assert counted.n == 3
    assert len(errors) == 1


def test_batches_are_left_out_by_their_number():
    errors = []
    counted = evaluate([ROWS, {"y_true": [1]}], se.ConfusionAccumulator, on_error=errors.append)
    assert counted.n == 3
    assert str(errors[0]).startswith("source 2: `y_pred` is missing")


def test_a_run_of_which_all_is_left_out_fails(tmp_path):
    (tmp_path / "log.csv").write_text("y_true\n1\n")
    with pytest.raises(se.io.BadDataError, match="`y_pred` is missing"):
        evaluate(tmp_path, se.ConfusionAccumulator, on_error="skip")


@pytest.mark.parametrize("by", [None, "country"])
def test_a_second_run_counts_only_the_rest(by, tmp_path):
    folder = tmp_path / "log"
    folder.mkdir()
    paths = [path for path in write_parts(folder, "jsonl", 12) if Path(path).stat().st_size]
    assert len(paths) == 12
    case, kept = CASES["coarsened curve"], tmp_path / "parts.se"
    whole = (folder / "part-5.jsonl").read_bytes()
    (folder / "part-5.jsonl").write_bytes(whole[:100])
    options = {"target_bytes": 1, "resume": kept, "by": by}
    with pytest.raises(se.io.BadDataError, match=r"part-5\.jsonl, line 1: not JSON"):
        evaluate(paths, case.make, **options)
    assert isinstance(se.load(kept), se.Parts)
    (folder / "part-5.jsonl").write_bytes(whole)
    told, engine = [], Here()
    counted = evaluate(
        paths, case.make, **options, engine=engine, progress=lambda *n: told.append(n)
    )
    expected = evaluate(paths, case.make, by=by)
    assert counted == expected
    assert len(engine.started) == 1 + 12 - 5
    assert told[-1] == (12, 12)
    again = Here()
    assert evaluate(paths, case.make, **options, engine=again) == expected
    assert len(again.started) == 1


def test_resumed_tasks_keep_their_bounds_when_a_file_changes(tmp_path):
    folder = tmp_path / "log"
    folder.mkdir()
    paths = [write(folder / f"{n:02}.csv", ROWS) for n in range(12)]
    options = {"target_bytes": 90, "resume": tmp_path / "parts.se"}
    first = Here()
    evaluate(folder, se.ConfusionAccumulator, **options, engine=first)
    assert len(first.started) == 1 + 4
    write(paths[4], {"y_true": [1] * 50, "y_pred": [1] * 50})
    write(folder / "03-more.csv", ROWS)
    second = Here()
    counted = evaluate(folder, se.ConfusionAccumulator, **options, engine=second)
    assert counted.n == 12 * 3 + 50
    assert len(second.started) == 1 + 2


def test_resume_counts_anew_what_is_counted_otherwise(tmp_path):
    write(tmp_path / "log.csv", ROWS | {"guess": [1, 1, 1]})
    options = {"resume": tmp_path / "parts.se"}
    sources = [tmp_path / "log.csv"]
    evaluate(sources, se.ConfusionAccumulator, **options)
    columns = {"y_pred": "guess"}
    other = evaluate(sources, se.ConfusionAccumulator, **options, columns=columns)
    assert other.compute().recall() == 1


def test_resume_refuses_another_accumulator(tmp_path):
    path = write(tmp_path / "log.csv", ROWS)
    options = {"resume": tmp_path / "parts.se"}
    evaluate([path], se.ConfusionAccumulator, **options)
    write(path, {name: column * 2 for name, column in ROWS.items()})
    with pytest.raises(se.IncompatibleStateError, match="`classes`"):
        evaluate([path], partial(se.ConfusionAccumulator, 3), **options)


def test_resume_checks_optional_columns_of_both_runs(tmp_path):
    paths = [write(tmp_path / f"{n}.csv", ROWS) for n in range(2)]
    options = {"resume": tmp_path / "parts.se", "target_bytes": 1}
    evaluate(paths, se.ConfusionAccumulator, **options)
    paths.append(write(tmp_path / "2.csv", WEIGHTED))
    with pytest.raises(se.io.BadDataError, match="`sample_weight` is missing, and"):
        evaluate(paths, se.ConfusionAccumulator, **options)


def test_resume_leaves_parts_of_others_alone(tmp_path):
    path, kept = write(tmp_path / "log.csv", ROWS), tmp_path / "parts.se"
    se.save(se.Parts().add("theirs", confusion(ROWS, ROWS)), kept)
    assert evaluate(path, se.ConfusionAccumulator, resume=kept) == confusion(ROWS)
    assert len(se.load(kept)) == 2
    assert "theirs" in se.load(kept)


def test_resume_keeps_tasks_that_finished_beside_the_one_that_failed(tmp_path):
    class Late(Here):
        """The last task has finished before the first is asked for."""

        def finished(self, handles):
            started = list(handles)
            self.early = started[-1:]
            return super().finished(started)

    paths = [write(tmp_path / f"{n}.csv", ROWS) for n in range(3)]
    paths[0].write_text("y_true,y_pred\n1,5\n")
    options = {"resume": tmp_path / "parts.se", "target_bytes": 1, "engine": Late()}
    with pytest.raises(se.io.BadDataError, match=r"0\.csv"):
        evaluate(paths, se.ConfusionAccumulator, **options)
    ((name, *_),) = se.load(tmp_path / "parts.se")
    assert name == str(paths[2])


def test_resume_is_saved_at_times(tmp_path, monkeypatch):
    saved = []
    monkeypatch.setattr("streameval.engines._running._SAVING", 1e-9)
    monkeypatch.setattr("streameval.engines._running.save", lambda *given: saved.append(given))
    paths = [write(tmp_path / f"{n}.csv", ROWS) for n in range(5)]
    evaluate(paths, se.ConfusionAccumulator, resume=tmp_path / "parts.se", target_bytes=1)
    assert len(saved) == 2, "after the first part, and at the end"


@each(
    "value",
    [
        None,
        True,
        False,
        7,
        "a b",
        date(2024, 1, 1),
        datetime(2024, 1, 1, 12, tzinfo=UTC),
        time(1, 2, 3, 4),
    ],
)
def test_values_are_read_back(value):
    found = value_of(*text_of(value))
    assert (found, type(found)) == (value, type(value))


@each(
    ("options", "message"),
    [
        ({"fan_in": 1}, "`fan_in` must be an integer of at least 2, got 1."),
        ({"fan_in": 2.0}, "`fan_in` must be an integer, got 2.0."),
        ({"fan_in": True}, "`fan_in` must be an integer of at least 2, got True."),
        ({"target_bytes": 0}, "`target_bytes` must be an integer of at least 1, got 0."),
        ({"on_error": "warn"}, "`on_error` must be 'raise', 'skip' or callable, got 'warn'."),
        ({"missing_columns": None}, "`missing_columns` must be 'raise' or 'default', got None."),
        ({"resume": "parts.se"}, "`resume` needs files, which a later run can recognise."),
    ],
)
def test_argument_that_breaks_a_rule_is_named(options, message):
    with pytest.raises(se.InvalidInputError) as caught:
        evaluate([ROWS], se.ConfusionAccumulator, **options)
    assert str(caught.value) == message


def test_resume_must_be_a_file_of_parts(tmp_path):
    path = write(tmp_path / "log.csv", ROWS)
    se.save(se.ConfusionAccumulator(), tmp_path / "state.se")
    with pytest.raises(se.InvalidInputError, match="`resume` must be a file of parts, got"):
        evaluate(path, se.ConfusionAccumulator, resume=tmp_path / "state.se")


FORMS = ["parquet", "csv", "jsonl"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("target_bytes", [1, None])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_file_without_an_optional_column_is_named(form, target_bytes, is_first, tmp_path):
    columns = [WEIGHTED, ROWS] if is_first else [ROWS, WEIGHTED]
    paths = [write(tmp_path / f"{n}.{form}", given) for n, given in enumerate(columns)]
    lacks = paths[is_first]
    for sources in (tmp_path, paths, f"{tmp_path}/*.{form}"):
        with pytest.raises(se.io.BadDataError) as caught:
            evaluate(sources, se.ConfusionAccumulator, target_bytes=target_bytes)
        has = paths[not is_first]
        assert str(caught.value).startswith(f"{lacks}: `sample_weight` is missing, and {has} has")
    counted = evaluate(tmp_path, se.ConfusionAccumulator, missing_columns="default")
    assert counted == confusion(ROWS, WEIGHTED)


def test_a_batch_without_an_optional_column_is_named():
    message = "^source 2: `sample_weight` is missing, and source 1 has it"
    with pytest.raises(se.io.BadDataError, match=message):
        evaluate([WEIGHTED, ROWS], se.ConfusionAccumulator)


def test_what_has_no_rows_may_lack_a_column(tmp_path):
    write(tmp_path / "0.parquet", WEIGHTED)
    write(tmp_path / "1.parquet", {name: [] for name in ROWS})
    (tmp_path / "2.jsonl").write_text("")
    assert evaluate(tmp_path, se.ConfusionAccumulator) == confusion(WEIGHTED)
    empty = {name: [] for name in ROWS}
    assert evaluate([WEIGHTED, empty], se.ConfusionAccumulator) == confusion(WEIGHTED)


def test_a_column_that_only_later_lines_have_is_refused(tmp_path):
    path = tmp_path / "log.jsonl"
    row = {"y_true": 1, "y_pred": 1, "note": "sample_weight"}
    rows = [row] * 150 + [row | {"more": {"sample_weight": 1}}] * 2
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert evaluate(path, se.ConfusionAccumulator).n == 152
    rows.append(row | {"sample_weight": 3})
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    message = r"log\.jsonl, line 153: has `sample_weight`, which the first lines lack\."
    for missing_columns in ("raise", "default"):
        with pytest.raises(se.io.BadDataError, match=message):
            evaluate(path, se.ConfusionAccumulator, missing_columns=missing_columns)


def test_a_mapping_or_a_table_is_a_batch():
    table = pa.table(ROWS)
    for batch in (ROWS, table, table.to_batches()[0], table.to_pandas()):
        assert evaluate(batch, se.ConfusionAccumulator) == confusion(ROWS)


def test_what_is_no_source_is_refused():
    with pytest.raises(
        se.InvalidInputError, match=r"`sources` must be paths, or batches .* got int"
    ):
        evaluate(7, se.ConfusionAccumulator)


def test_patterns_leave_out_what_folders_do(tmp_path):
    for name in ("a.csv", "_b.csv", ".c.csv"):
        write(tmp_path / name, ROWS)
    (tmp_path / "day").mkdir()
    write(tmp_path / "day" / "d.csv", ROWS)
    assert evaluate(f"{tmp_path}/*", se.ConfusionAccumulator).n == 6
    assert evaluate(f"{tmp_path}/**/*.csv", se.ConfusionAccumulator).n == 6
    assert evaluate(f"{tmp_path}/**", se.ConfusionAccumulator).n == 6


def test_a_file_may_be_named_like_a_pattern(tmp_path):
    path = write(tmp_path / "log[1].csv", ROWS)
    assert evaluate(str(path), se.ConfusionAccumulator).n == 3


@pytest.mark.parametrize(
    ("name", "message"),
    [("*.csv", "no file matches this pattern"), ("", "there is no file in this")],
)
def test_sources_without_files_are_refused(name, message, tmp_path):
    with pytest.raises(se.io.BadDataError, match=message):
        evaluate(str(tmp_path / name), se.ConfusionAccumulator)


def test_files_of_a_store_are_grouped_by_size(tmp_path):
    for number in range(6):
        write(tmp_path / f"{number}.csv", ROWS)
    address = f"file://{tmp_path}"
    size = (tmp_path / "0.csv").stat().st_size
    tasks = plan_tasks([address], Cut(2 * size, 2, None, False, ""), {})
    assert [len(task.pieces) for task in tasks] == [2, 2, 2]
    assert all(piece.stamp for task in tasks for piece in task.pieces)
    assert evaluate(address, se.ConfusionAccumulator).n == 18


def test_a_file_that_is_cut_into_row_groups_may_be_damaged(tmp_path):
    path = tmp_path / "log.parquet"
    path.write_bytes(b"no parquet" * 10)
    with pytest.raises(se.io.BadDataError, match=r"log\.parquet: not a sound Parquet file"):
        evaluate(path, se.ConfusionAccumulator, target_bytes=1)


def random_layout(chance, folder):
    """Write files that may lack an optional column, have others, or hold no rows."""
    n_files = chance.randint(1, 6)
    share = chance.choice([0, 0, 0.5, 1, 1])
    tables = []
    for number in range(n_files):
        n_rows = chance.choice([0, 1, 5, 30])
        labels = pa.array([chance.choice("ab") for _ in range(n_rows)], pa.string())
        columns = {"y_pred": labels, "y_true": pa.array(chance.sample(labels.to_pylist(), n_rows))}
        columns["y_true"] = columns["y_true"].cast(pa.string())
        if chance.random() < share:
            weights = [chance.randint(0, 9) for _ in range(n_rows)]
            columns["sample_weight"] = pa.array(weights, pa.int64())
        for extra in chance.sample(["note", "day", "id"], chance.randint(0, 3)):
            columns[extra] = pa.array([extra] * n_rows, pa.string())
        for name in chance.sample(["y_true", "y_pred"], chance.randint(0, 2)):
            columns[name] = columns[name].dictionary_encode()
        names = chance.sample(list(columns), len(columns))
        table = pa.table({name: columns[name] for name in names})
        tables.append(table)
        size = chance.choice([1, 7, 100])
        parquet.write_table(table, folder / f"{number}.parquet", row_group_size=size)
        part = folder.with_name("hive") / f"shard={number % 3}" / f"no={number}"
        part.mkdir(parents=True)
        parquet.write_table(table, part / "part.parquet", row_group_size=size)
    return tables


def plain(number, table):
    """The columns that are counted, with text instead of dictionaries, of the rows of a shard."""
    names = [name for name in table.column_names if name in WEIGHTED]
    made = {name: pa.array(table.column(name).to_pylist(), TYPES[name]) for name in names}
    return pa.table(made | {"shard": pa.array([number % 3] * len(table), pa.int64())})


def outcome(sources, **options):
    """The bytes of a count, or its error without the folder, for any order of tasks."""
    try:
        counted = evaluate(sources, partial(se.ConfusionAccumulator, ["a", "b"]), **options)
        if "by" in options:
            return {value: part.to_bytes() for value, part in counted.items()}
        return counted.to_bytes()
    except se.StreamevalError as error:
        return type(error).__name__, "`sample_weight` is missing, and" in str(error)


@pytest.mark.parametrize("seed", range(quick_cases(200)))
def test_every_layout_gives_the_same_bytes_or_error(seed, tmp_path):
    chance = random.Random(seed)
    flat, hive = tmp_path / "any folder", tmp_path / "hive"
    flat.mkdir()
    tables = random_layout(chance, flat)
    hive_set = dataset.dataset(hive, partitioning="hive")
    paths = sorted(flat.glob("*.parquet"))
    shuffled = chance.sample(paths, len(paths))
    options = {"target_bytes": chance.choice([None, 1, 3000]), "engine": Here(seed=seed)}
    folder = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    filled = [table for table in tables if table.num_rows]
    flat_set = dataset.dataset(flat)
    with_rows = dataset.dataset(flat, schema=filled[0].schema) if filled else flat_set
    ways = [
        (flat, {}),
        (f"{flat}/*.parquet", {"target_bytes": 1}),
        (shuffled, options),
        (tables, {}),
        ([table.to_pandas() for table in tables], {}),
        ([pl.from_arrow(table).lazy() for table in tables], {}),
        ([table.to_reader(max_chunksize=4) for table in tables], {}),
        (flat.as_uri(), {}),
        ("any folder", {"filesystem": folder}),
        (flat_set, options),
        (with_rows.filter(dataset.field("y_true").is_valid()), {}),
        (hive, {}),
        (f"{hive}/shard=*/**/*.parquet", {"target_bytes": 1}),
        (hive_set, {}),
    ]
    found = {outcome(sources, **some) for sources, some in chance.sample(ways, 4)}
    (one,) = found
    are_mixed = len({"sample_weight" in table.column_names for table in filled}) > 1
    assert one == ("MixedColumnsError", True) if are_mixed else isinstance(one, bytes)
    if not are_mixed:
        total = se.ConfusionAccumulator(["a", "b"])
        for table in filled:
            total.update(table)
        assert one == total.to_bytes()
        numbered = [pair for pair in enumerate(tables) if pair[1].num_rows]
        whole = pa.concat_tables(
            [plain(*pair) for pair in numbered or [(0, tables[0])]], promote_options="default"
        )
        whole = whole.to_pandas()
        for by in ("shard", ["shard", "y_pred"]):
            counted = [outcome(sources, by=by) for sources in (whole, hive, hive_set)]
            assert counted[0] == counted[1] == counted[2]
