"""Sources: folders, addresses of stores, and how the first rows decide what columns hold."""

from __future__ import annotations

import json
import sys

import numpy as np
import pyarrow as pa
import pytest
from offenders import each
from pyarrow import parquet

import streameval as se
from streameval.engines._counting import SourceCounter
from streameval.runs.files import files_of

ROWS = [{"y_true": n % 2, "y_score": n / 8} for n in range(8)]


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def counted(path, make=se.PRCurveSketch, **arguments):
    counting = SourceCounter.of(make, **arguments)
    return counting.result(counting.count(path))


@pytest.fixture
def log(tmp_path):
    """A folder of files, of marks that engines leave, and of a folder within."""
    folder = tmp_path / "log"
    (folder / "day=2").mkdir(parents=True)
    (folder / "_marks").mkdir()
    write_lines(folder / "b.jsonl", ROWS[:3])
    write_lines(folder / "a.jsonl", ROWS[3:5])
    parquet.write_table(pa.Table.from_pylist(ROWS[5:]), folder / "day=2" / "c.parquet")
    (folder / "_SUCCESS").write_text("")
    (folder / ".a.jsonl.crc").write_text("{")
    (folder / "_marks" / "x.jsonl").write_text("{")
    return folder


@each("prefix", ["", "file://"])
def test_folder_is_its_files_but_for_marks(log, prefix):
    root = f"{prefix}{log}"
    assert files_of(f"{root}/") == [
        (f"{root}/{name}", form)
        for name, form in [
            ("a.jsonl", "jsonl"),
            ("b.jsonl", "jsonl"),
            ("day=2/c.parquet", "parquet"),
        ]
    ]
    assert counted(root) == se.PRCurveSketch().update(pa.Table.from_pylist(ROWS))


@pytest.mark.parametrize("name", ["log.jsonl", "log.parquet"])
def test_file_in_a_store_is_a_source(name, tmp_path):
    path = tmp_path / name
    if name.endswith("parquet"):
        parquet.write_table(pa.Table.from_pylist(ROWS), path)
    else:
        write_lines(path, ROWS)
    assert counted(f"file://{path}") == counted(path)


def test_absent_file_in_a_store_is_named():
    with pytest.raises(se.BadDataError, match=r"^file:///absent\.csv: "):
        counted("file:///absent.csv")


def test_address_that_no_store_has_is_a_path():
    with pytest.raises(se.BadDataError, match=r"^no://where\.csv: no such file or directory\.$"):
        counted("no://where.csv")


def test_addresses_are_paths_without_pyarrow(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(se.BadDataError, match=r"^file:///absent\.csv: no such file"):
        counted("file:///absent.csv")


def test_name_of_a_folder_tells_the_format(tmp_path):
    folder = tmp_path / "log.jsonl"
    folder.mkdir()
    write_lines(folder / "part-0", ROWS)
    assert counted(folder).n == len(ROWS)


def test_folder_may_itself_have_the_name_of_a_mark(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "_log.jsonl"
    folder.mkdir()
    write_lines(folder / "part-0", ROWS)
    assert counted("./_log.jsonl").n == counted("_log.jsonl/").n == len(ROWS)


def test_file_without_rows_counts_nothing(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("y_true,y_score\n", encoding="utf-8")
    assert counted(path) == se.PRCurveSketch()


def test_files_that_do_not_fit_together_are_refused(tmp_path):
    folder = tmp_path / "log.jsonl"
    folder.mkdir()
    write_lines(folder / "a", [{"y_true": 1, "y_pred": 1}])
    path = write_lines(folder / "b", [{"y_true": "x", "y_pred": "x"}])
    with pytest.raises(se.BadDataError) as caught:
        counted(folder, se.ConfusionAccumulator("auto").copy)
    assert str(caught.value).startswith(
        f"{path}: `y_true` and `y_pred` must hold labels of the type before"
    )


SCORES = [[0.1, 0.2, 0.7], [0.8, 0.1, 0.1]]


@pytest.mark.parametrize(
    ("make", "rows", "expected"),
    [
        (
            se.ConfusionAccumulator(3).copy,
            [{"y_true": t, "y_pred": p} for t, p in zip((2, 1), SCORES, strict=True)],
            se.ConfusionAccumulator(3).update([2, 1], SCORES),
        ),
        (
            se.ConfusionAccumulator(2, multilabel=True).copy,
            [{"y_true": [0, 1], "y_pred": [1, 1]}],
            se.ConfusionAccumulator(2, multilabel=True).update([[0, 1]], [[1, 1]]),
        ),
        (
            se.ConfusionAccumulator(threshold=0.25).copy,
            [{"y_true": 1, "y_pred": 0.5}, {"y_true": 0, "y_pred": 0}],
            se.ConfusionAccumulator(threshold=0.25).update([1, 0], [0.5, 0.0]),
        ),
        (
            se.ConfusionAccumulator(threshold=0.25, from_scores=True).copy,
            [{"y_true": 1, "y_pred": 0}, {"y_true": 0, "y_pred": 0.5}],
            se.ConfusionAccumulator(threshold=0.25, from_scores=True).update([1, 0], [0.0, 0.5]),
        ),
        (
            se.ConfusionAccumulator("auto").copy,
            [{"y_true": 1.0, "y_pred": 0.0}],
            se.ConfusionAccumulator("auto").update([1], [0]),
        ),
        (
            se.ConfusionAccumulator(["1", "b"]).copy,
            [{"y_true": "b", "y_pred": 1}],
            se.ConfusionAccumulator(["1", "b"]).update(["b"], ["1"]),
        ),
        (
            se.CalibrationAccumulator(classes=["a", "b", "c"]).copy,
            [{"y_true": "c", "y_prob": [0.125, 0.25, 0.625]}],
            se.CalibrationAccumulator(classes=["a", "b", "c"]).update(
                ["c"], [[0.125, 0.25, 0.625]]
            ),
        ),
        (
            se.PRCurveSketch(pos_label="spam").copy,
            [{"y_true": "spam", "y_score": 1}, {"y_true": "ham", "y_score": 0.5}],
            se.PRCurveSketch(pos_label="spam").update(["spam", "ham"], [1, 0.5]),
        ),
        (
            se.PRCurveSketch,
            [{"y_true": "True", "y_score": 0.5}, {"y_true": "false", "y_score": 0.25}],
            se.PRCurveSketch().update([1, 0], [0.5, 0.25]),
        ),
        (
            se.GroupedAUC,
            [
                {"y_true": 1, "y_score": 0.5, "group": 7},
                {"y_true": 0, "y_score": 0.5, "group": "x"},
            ],
            se.GroupedAUC().update([1, 0], [0.5, 0.5], ["7", "x"]),
        ),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_first_rows_decide_what_columns_hold(make, rows, expected, tmp_path):
    path = write_lines(tmp_path / "log.jsonl", rows)
    assert counted(path, make).to_bytes() == expected.to_bytes()


def test_words_for_truth_are_read_from_tables_of_text(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("y_true,y_score\nTrue,0.5\nfalse,0.25\n", encoding="utf-8")
    assert counted(path) == se.PRCurveSketch().update([1, 0], [0.5, 0.25])


def test_rankings_may_have_gaps_and_documents_that_were_not_retrieved(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(
        "query,doc,relevance,score,retrieved\nq,a,1,0.5,true\nq,b,,0.25,true\nq,c,1,,false\n",
        encoding="utf-8",
    )
    make = se.RankingAccumulator(["map", "recall@1"]).copy
    total = counted(path, make, options={"partial": True})
    expected = make()
    expected.update(
        [1, np.nan, 1],
        [0.5, 0.25, 0.0],
        query=["q"] * 3,
        doc=["a", "b", "c"],
        retrieved=[True, True, False],
        partial=True,
    )
    assert total.close().compute().as_dict() == expected.close().compute().as_dict()


def test_array_that_members_share_is_read_for_all(tmp_path):
    members = {"error": se.RegressionAccumulator(), "rate": se.ConfusionAccumulator("auto")}
    make = se.Collection(members).copy
    path = write_lines(tmp_path / "log.jsonl", [{"y_true": 1, "y_pred": 1}])
    found = counted(path, make)
    assert found.n == {"error": 1, "rate": 1}
