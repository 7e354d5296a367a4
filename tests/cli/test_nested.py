"""Nested logs: fields by path, scores by class name, and digits written as text."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from offenders import each
from pyarrow import parquet

import streameval as se
from streameval.io.columns import Argument, Numbers, ScoresByClass, Texts
from streameval.io.formats import read_blocks

ROWS = [
    {
        "truth": {"label": ["cat", "dog"][n % 2]},
        "ctx": {"country": ["DE", "FR", None][n % 3], "device": {"os": "ios"}},
        "scores": {"cat": 0.9 - n / 50, "dog": 0.1 + n / 50},
        "top": [{"label": "dog", "score": 0.1 + n / 50}, {"label": "cat", "score": 0.9 - n / 50}],
    }
    for n in range(30)
]
TRUTH = [n % 2 for n in range(30)]
DOG = [0.1 + n / 50 for n in range(30)]
FORMATS = ["log.jsonl", "log.jsonl.gz", "log.parquet"]


@pytest.fixture(params=FORMATS)
def log(request, write):
    return write(request.param, ROWS)


def test_by_takes_a_path(log, call):
    done = call("eval", log, "--y-true", "truth.label", "--y-pred", "top.0.label", "--json",
                "--by", "ctx.country")  # fmt: skip
    assert done.code == 0, done.err
    assert done.json["by"] == "ctx.country"
    assert {part["value"]: part["n"] for part in done.json["slices"]} == {
        "DE": 10, "FR": 10, None: 10,
    }  # fmt: skip


def test_score_takes_a_path_to_a_class(log, call):
    arguments = ("--y-true", "truth.label", "--y-score", "scores.dog", "--pos-label", "dog")
    done = call("eval", log, "--task", "binary", *arguments, "--json")
    expected = se.PRCurveSketch().update(TRUTH, DOG).compute().roc_auc
    assert done.json["metrics"]["roc_auc"] == float(expected)


@each("column", ["scores", "top"])
def test_scores_by_class_name_are_those_of_columns(column, log, call):
    done = call("eval", log, "--y-true", "truth.label", "--y-score", column, "-o", "all.state")
    assert done.code == 0, done.err
    assert f"took 2 classes (cat, dog) from the first `{column}`; --classes sets them." in done.err
    expected = se.ConfusionAccumulator(("cat", "dog"))
    expected.update([row["truth"]["label"] for row in ROWS], np.array(DOG))
    assert se.load("all.state").to_bytes() == expected.to_bytes()


@each("task", ["binary", "calibration"])
def test_scores_by_class_name_make_curves(task, log, call):
    arguments = ("--task", task, "--y-true", "truth.label", "--y-score", "top")
    done = call("eval", log, *arguments, "--classes", "dog,cat", "--json")
    assert done.code == 0, done.err
    assert done.json["n"] == 30


def test_score_of_the_positive_one_of_two_classes_by_name(log, call):
    arguments = ("--y-true", "truth.label", "--y-score", "scores", "--pos-label", "dog", "--json")
    done = call("eval", log, "--task", "binary", *arguments)
    assert "took the score of class dog of the two in `scores`." in done.err
    expected = se.PRCurveSketch().update(TRUTH, DOG).compute().roc_auc
    assert done.json["metrics"]["roc_auc"] == float(expected)


def test_scores_of_two_classes_by_name_need_a_positive_one(write, call):
    rows = [row | {"truth": n % 2} for n, row in enumerate(ROWS)]
    name = write("log.jsonl", rows)
    done = call("eval", name, "--task", "binary", "--y-true", "truth", "--y-score", "scores")
    message = "`scores` holds scores of cat and dog; name the positive one with --pos-label.\n"
    assert (done.code, done.err) == (2, f"streameval: error: {message}")


@each("task", ["binary", "calibration"])
def test_classes_are_the_names_of_scores_when_there_are_more_than_two(task, write, call):
    names = ["cat", "dog", "owl"]
    rows = [{"y_true": names[n % 3], "y_score": dict(zip(names, (0.5, 0.25, 0.25), strict=True))}
            for n in range(9)]  # fmt: skip
    done = call("eval", write("log.jsonl", rows), "--task", task, "--y-score", "y_score", "--json")
    assert done.code == 0, done.err
    assert done.json["n"] == 9


def test_scores_by_the_numbers_of_classes(write, call):
    rows = [{"y_true": n % 3, "y_score": {str(k): (k == n % 3) * 0.5 for k in range(3)}}
            for n in range(9)]  # fmt: skip
    done = call("eval", write("log.jsonl", rows), "--json", "--classes", "3")
    assert (done.code, done.json["metrics"]["accuracy"]) == (0, 1.0)


@each(
    "scores",
    [{"cat": 0.5}, {"cat": 0.5, "cow": 0.5}, {"cat": 1, "dog": 0, "cow": 0}, {"cat": 1, "dog": "x"},
     [{"label": "cat", "score": 1}, {"label": "cat", "score": 0}], [{"label": "cat"}], [0.5, 0.5]],
)  # fmt: skip
def test_scores_that_lack_a_class_are_a_bad_row(scores, write, call):
    name = write("log.jsonl", [*ROWS, {"truth": {"label": "cat"}, "scores": scores}])
    done = call("eval", name, "--y-true", "truth.label", "--y-score", "scores")
    wanted = "must be an object with a number for each of 'cat', 'dog', got "
    assert done.code == 3
    assert f"log.jsonl, line 31: `scores` {wanted}" in done.err


def test_missing_path_is_a_missing_column(write, call):
    name = write("log.jsonl", [*ROWS, {"truth": 3, "top": []}, {"truth": {"label": "cat"}}])
    arguments = ("--y-true", "truth.label", "--y-pred", "top.0.label", "--max-bad", "2")
    done = call("eval", name, *arguments)
    assert "log.jsonl, line 31: `truth.label` is missing." in done.err
    assert "log.jsonl, line 32: `top.0.label` is missing." in done.err


def test_path_that_no_first_row_has_suggests_the_nearest(log, call):
    done = call("eval", log, "--y-true", "truth.labl", "--y-pred", "top.0.label")
    assert done.code == 2
    message = "no column 'truth.labl' in the first rows: did you mean 'truth.label'?"
    assert message in done.err


def test_first_row_may_lack_a_column_that_others_have(write, call):
    name = write("log.jsonl", [{"id": 1}, {"truth": None}, *ROWS])
    arguments = ("--y-true", "truth.label", "--y-pred", "top.0.label", "--max-bad", "2", "--json")
    assert call("eval", name, *arguments).json["n"] == 30


def test_columns_of_which_no_first_row_has_all_are_told_by_each(write, call):
    rows = [{"y_true": 1, "y_pred": None}, {"y_true": None, "y_pred": 1}] * 60
    name = write("log.jsonl", [*rows, {"y_true": 1, "y_pred": 1}])
    assert call("eval", name, "--max-bad", "120", "--json").json["n"] == 1


def test_column_of_the_whole_name_wins_over_the_path(write, call):
    rows = [{"a.b": n, "a": {"b": 0, "c.d": n, "c": {"d": 0}}} for n in range(3)]
    for name in ("log.jsonl", "log.parquet"):
        done = call("eval", write(name, rows), "--y-true", "a.b", "--y-pred", "a.c.d", "--json")
        assert (done.json["n"], done.json["metrics"]["accuracy"]) == (3, 1.0)


def test_parquet_reads_only_the_leaf_of_a_structure(folder):
    wide = pa.array([{"id": n, "blob": "x" * 1000 + str(n)} for n in range(2000)])
    parquet.write_table(pa.table({"a": wide}), folder / "log.parquet", compression="none")
    (block,) = read_blocks("log.parquet")
    column = Argument("x", ("a.id",), Numbers())
    assert block.parse([column]).batch["x"].tolist() == list(range(2000))
    data = bytearray((folder / "log.parquet").read_bytes())
    start = data.index(b"x" * 900)
    data[start : start + 300_000] = b"\xff" * 300_000  # the other leaf is unreadable now
    (folder / "log.parquet").write_bytes(data)
    assert next(read_blocks("log.parquet")).parse([column]).batch["x"].tolist() == list(range(2000))


@each(
    ("name", "found"),
    [("m.k", ["v", None]), ("a.b", ["1", "2"]), ("c.tags.1", ["y", None]), ("c.at", ["7", None]),
     ("c.m.k", ["w", None])],
)  # fmt: skip
def test_parquet_follows_maps_lists_and_structures(name, found, folder):
    times = pa.array([7, None], pa.int64())
    maps = pa.array([[("k", "v")], []], pa.map_(pa.string(), pa.string()))
    more = pa.array([[("k", "w")], None], pa.map_(pa.string(), pa.string()))
    struct = pa.StructArray.from_arrays(
        [pa.array([["x", "y"], ["x"]]), times, more, pa.array([b"1", b"2"])],
        ["tags", "at", "m", "image"],
    )
    both = pa.array([{"b": 3}, {"b": 4}])
    table = pa.table({"m": maps, "c": struct, "a.b": [1, 2], "a": both})
    parquet.write_table(table, folder / "log.parquet")
    (block,) = read_blocks("log.parquet")
    assert block.parse([Argument("x", (name,), Texts())]).batch["x"].tolist() == found
    row = next(block.rows())
    assert row["m"] == {"k": "v"}
    assert row["c"] == {"tags": ["x", "y"], "at": 7, "m": {"k": "w"}}


def test_parquet_names_a_path_that_it_lacks(folder, call):
    table = pa.table({"y_pred": [1], "a": pa.array([{"b": 1}])})
    parquet.write_table(table, folder / "log.parquet")
    (block,) = read_blocks("log.parquet")
    for name in ("a.c", "y_pred.c", "b.c"):
        with pytest.raises(se.errors.BadDataError, match=f"there is no column '{name}'"):
            block.parse([Argument("x", (name,), Texts())])


def test_structure_of_scores_may_be_null(folder):
    scores = pa.array([{"cat": 0.5, "dog": 0.5}, None, {"cat": None, "dog": 0.5}])
    parquet.write_table(pa.table({"s": scores}), folder / "log.parquet")
    (block,) = read_blocks("log.parquet")
    parsed = block.parse([Argument("x", ("s",), ScoresByClass(("cat", "dog")))])
    assert parsed.batch["x"].tolist() == [[0.5, 0.5]]
    assert [row for row, _ in parsed.faults] == [2, 3]


def test_digits_as_text_are_integers_and_scores(write, call):
    rows = [{"y_true": str(n % 2), "y_score": str(n / 30), "w": "1.0"} for n in range(30)]
    texts, numbers = write("texts.jsonl", rows), write(
        "numbers.jsonl",
        [{name: json.loads(text) for name, text in row.items()} for row in rows],
    )  # fmt: skip
    for options in (
        ["--task", "binary"],
        ["--task", "calibration"],
        ["--task", "regression", "--y-pred", "y_score"],
        ["--classes", "2"],
        ["--threshold", "0.3"],
        [],
    ):
        outs = [
            call("eval", name, *options, "--sample-weight", "w", "--json")
            for name in (texts, numbers)
        ]
        first, second = (done.json | {"files": None} for done in outs)
        assert [done.code for done in outs] == [0, 0], outs
        assert first == second


def test_label_of_digits_beside_predicted_numbers_is_a_number(write, call):
    rows = [{"y_true": str(n % 3), "y_pred": n % 3} for n in range(9)]
    done = call("eval", write("log.jsonl", rows), "--json")
    assert (done.code, done.json["metrics"]["accuracy"]) == (0, 1.0)


def test_text_that_is_no_integer_is_a_bad_row_of_integer_classes(write, call):
    rows = [{"y_true": "1", "y_pred": "0"}, {"y_true": "one", "y_pred": "0"}]
    done = call("eval", write("log.jsonl", rows), "--classes", "2")
    assert done.code == 3
    assert "line 2: `y_true` must be an integer, got 'one'" in done.err


UNNAMED = [
    {"label": n % 12, "prediction": [{"label": f"LABEL_{k}", "score": 0.5 * (k == n % 12)}
                                     for k in range(12)]}
    for n in range(24)
]  # fmt: skip


@each("options", [[], ["--classes", "12"]])
@each("name", ["log.jsonl", "log.parquet"])
def test_classes_without_names_have_the_numbers_that_hugging_face_gives(name, options, call, write):
    arguments = ("--y-true", "label", "--y-score", "prediction", *options, "--json")
    done = call("eval", write(name, UNNAMED), *arguments, "-o", "all.state")
    assert (done.code, done.json["metrics"]["accuracy"]) == (0, 1.0), done.err
    assert done.json["classes"] == list(range(12))


@each("name", ["log.jsonl", "log.csv"])
def test_predicted_class_without_a_name_is_its_number(name, call, write):
    rows = [{"y_true": n % 3, "y_pred": f"LABEL_{n % 3}"} for n in range(6)]
    done = call("eval", write(name, rows), "--classes", "3", "--json")
    assert (done.code, done.json["metrics"]["accuracy"]) == (0, 1.0), done.err


def test_score_of_the_second_of_two_classes_without_names(call, write):
    rows = [{"y_true": n % 2, "y_score": {"LABEL_1": n / 9, "LABEL_0": 1 - n / 9}}
            for n in range(9)]  # fmt: skip
    done = call("eval", write("log.jsonl", rows), "--task", "binary", "--json")
    expected = se.PRCurveSketch().update([n % 2 for n in range(9)], [n / 9 for n in range(9)])
    assert done.json["metrics"]["roc_auc"] == float(expected.compute().roc_auc)
    assert "took the score of class 1 of the two in `y_score`." in done.err
