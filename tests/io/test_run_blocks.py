import pickle

import numpy as np
import pytest

from streameval.io.trec import gathered_runs, is_scattered, sized_runs
from streameval.runs.judged_runs import RunBlock

RUN = "q1 Q0 a 1 2.5 t\nq1 Q0 b 2 1 t\nq2 Q0 a 1 1 t\nq3 Q0 c 1 -inf t\n"
JUDGED = {"q3": {"c": 2.0}, "q1": {"b": 1.0, "z": 0.0}}


@pytest.fixture
def path(tmp_path):
    (tmp_path / "a.run").write_text(RUN)
    return str(tmp_path / "a.run")


@pytest.fixture
def block(path):
    ((run, taken),) = sized_runs(path, 10)
    return RunBlock("a.run", run, JUDGED, taken)


def test_block_gives_the_rows_of_the_run(block):
    rows = list(block.rows())
    assert rows[0] == {"query": "q1", "doc": "a", "score": 2.5}
    assert [row["query"] for row in rows] == ["q1", "q1", "q2", "q3"]


def test_block_lays_out_judged_queries_as_lists(block):
    parsed = pickle.loads(pickle.dumps(block)).parse(())
    lists = {name: [list(part) for part in array] for name, array in parsed.batch.items()}
    assert lists["doc"] == [["c"], ["a", "b", "z"]]
    assert lists["retrieved"] == [[True], [True, True, False]]
    assert lists["score"] == [[-np.inf], [2.5, 1.0, 0.0]]
    np.testing.assert_array_equal(lists["relevance"][1], [np.nan, 1.0, 0.0])
    assert parsed.batch["query"].tolist() == parsed.row_ids == ["q3", "q1"]
    assert (parsed.n_rows, parsed.faults) == (4, [])


def test_block_of_queries_without_judgements_has_rows(path):
    ((run, taken),) = sized_runs(path, 10)
    parsed = RunBlock("a.run", run, {}, taken).parse(())
    assert (len(parsed.row_ids), parsed.n_rows) == (0, 4)


@pytest.mark.parametrize("rows", [1, 2, 10])
def test_sized_runs_account_for_every_byte(rows, path):
    parts = list(sized_runs(path, rows))
    assert sum(taken for _, taken in parts) == len(RUN)
    assert [query for run, _ in parts for query in run] == ["q1", "q2", "q3"]


SCATTERED = "q2 Q0 a 1 1 t\nq1 Q0 a 1 2.5 t\nq3 Q0 c 1 -inf t\nq1 Q0 b 2 1 t\n"


@pytest.mark.parametrize(
    ("rows", "queries"),
    [(1, [["q2"], ["q1"], ["q3"]]), (2, [["q2", "q1"], ["q3"]]), (10, [["q2", "q1", "q3"]])],
)
def test_gathered_runs_are_whole_queries_of_a_scattered_run(rows, queries, tmp_path):
    path = str(tmp_path / "b.run")
    (tmp_path / "b.run").write_text(SCATTERED)
    parts = list(gathered_runs(path, rows))
    assert [list(run) for run, _ in parts] == queries
    assert [run["q1"] for run, _ in parts if "q1" in run] == [{"a": 2.5, "b": 1.0}]
    assert [taken for _, taken in parts] == [len(SCATTERED)] + [0] * (len(parts) - 1)


@pytest.mark.parametrize(("text", "expected"), [(RUN, False), (SCATTERED, True), ("", False)])
def test_scattered_run_is_told(text, expected, tmp_path):
    (tmp_path / "b.run").write_text(text)
    assert is_scattered(str(tmp_path / "b.run")) is expected
