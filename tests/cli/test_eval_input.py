"""One log, however it is packed, gives one state."""

import numpy as np
import pytest
from offenders import each

import streameval as se
from streameval.io import lines

rng = np.random.default_rng(7)
TRUTH = rng.integers(0, 3, 300)
SCORES = rng.random((300, 3)) + 0.5 * np.eye(3)[TRUTH]
ROWS = [
    {"id": f"row {n}", "y_true": int(t), "y_pred": int(s.argmax())}
    | {f"p{k}": float(p) for k, p in enumerate(s)}
    for n, (t, s) in enumerate(zip(TRUTH, SCORES, strict=True))
]
NAMES = ["a.jsonl", "a.jsonl.gz", "a.csv", "a.csv.gz", "a.tsv", "a.parquet"]


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", NAMES)
def test_eval_gives_the_state_of_the_library_from_any_format(name, jobs, call, write, monkeypatch):
    monkeypatch.setattr(lines, "PIECE_BYTES", 4096)
    done = call("eval", write(name, ROWS), "--jobs", jobs, "-o", "a.state")
    assert done.code == 0
    expected = se.ConfusionAccumulator("auto").update(TRUTH, SCORES.argmax(axis=1))
    assert se.load("a.state").to_bytes() == expected.to_bytes()


@each("name", NAMES)
def test_eval_joins_score_columns_in_any_format(name, call, write):
    done = call("eval", write(name, ROWS), "--y-score", "p0,p1,p2", "--top-k", 2, "-o", "a.state")
    assert done.code == 0
    expected = se.ConfusionAccumulator(3, top_k=2).update(TRUTH, SCORES)
    assert se.load("a.state") == expected


@each("name", ["a.jsonl", "a.parquet"])
def test_eval_reads_a_list_of_scores(name, call, write):
    rows = [{"y_true": int(t), "y_score": s.tolist()} for t, s in zip(TRUTH, SCORES, strict=True)]
    done = call("eval", write(name, rows), "-o", "a.state")
    assert (
        done.err
        == "streameval: note: took 3 classes from the first `y_score`; --classes sets them.\n"
    )
    assert se.load("a.state") == se.ConfusionAccumulator(3).update(TRUTH, SCORES)


@pytest.mark.parametrize("size", [64, 500, 10**6])
@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
def test_eval_gives_the_same_state_for_any_size_of_blocks(name, size, call, write, monkeypatch):
    monkeypatch.setattr(lines, "PIECE_BYTES", size)
    call("eval", write(name, ROWS), "-o", "a.state")
    expected = se.ConfusionAccumulator("auto").update(TRUTH, SCORES.argmax(axis=1))
    assert se.load("a.state").to_bytes() == expected.to_bytes()


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.csv", "a.csv.gz"])
def test_eval_reads_standard_input(name, call, write, stdin, folder):
    stdin((folder / write(name, ROWS)).read_bytes())
    done = call("eval", "-", "-o", "a.state")
    assert done.out.startswith("300 rows of 1 file\n")
    assert se.load("a.state") == se.ConfusionAccumulator("auto").update(TRUTH, SCORES.argmax(1))


def test_eval_reads_standard_input_as_the_format_says(call, stdin):
    stdin(b"y_true\ty_pred\tnote\n1\t1\ta,b\n")
    assert call("eval", "-", "--format", "tsv", "--json").json["n"] == 1


def test_eval_counts_files_together(call, write):
    parts = [write("a.jsonl", ROWS[:50]), write("b.csv", ROWS[50:90]), write("c.tsv", ROWS[90:])]
    done = call("eval", *parts, "-o", "abc.state")
    assert done.out.startswith("300 rows of 3 files\n")
    assert se.load("abc.state") == se.ConfusionAccumulator("auto").update(TRUTH, SCORES.argmax(1))


def test_merge_of_parts_is_the_whole(call, write, folder):
    call("eval", write("all.csv", ROWS), "-o", "all.state")
    call("eval", write("a.csv", ROWS[:120]), "-o", "a.state")
    call("eval", write("b.csv", ROWS[120:]), "-o", "b.state")
    done = call("merge", "b.state", "a.state", "-o", "sum.state")
    assert done.code == 0
    assert done.out == "2 states merged into sum.state, n = 300\n"
    assert (folder / "sum.state").read_bytes() == (folder / "all.state").read_bytes()


def test_eval_warns_of_a_file_without_rows(call, write, folder):
    (folder / "empty.jsonl").touch()
    done = call("eval", write("a.csv", ROWS), "empty.jsonl")
    assert done.code == 0
    assert done.err == "streameval: warning: empty.jsonl: holds no rows.\n"
