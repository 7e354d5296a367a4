"""`eval --cluster COLUMN`, and the note about ids that repeat."""

import json

import numpy as np
import pytest
from offenders import each

import streameval as se

RANDOM = np.random.default_rng(7)
USERS = [f"u{number}" for number in RANDOM.integers(0, 60, 300)]
TRUTH = RANDOM.integers(0, 2, 300).tolist()
SCORES = np.round(RANDOM.random(300), 3).tolist()
ROWS = [
    {"user_id": user, "y_true": truth, "y_score": score, "country": "DE" if at % 3 else "FR"}
    for at, (user, truth, score) in enumerate(zip(USERS, TRUTH, SCORES, strict=True))
]
NOTE = "`user_id` repeats, and intervals assume that rows are independent"
CLUSTERS = "Intervals are for clusters (user_id), in "


@pytest.fixture
def log(write):
    return write("log.csv", ROWS)


def curve_of(rows=ROWS):
    acc = se.Clustered(se.PRCurveSketch(), by="user_id")
    return acc.update(
        *([row[name] for row in rows] for name in ("y_true", "y_score")),
        by=[row["user_id"] for row in rows],
    )


@pytest.mark.slow
def test_state_is_that_of_clustered_for_any_format_and_number_of_processes(call, write):
    for number, name in enumerate(("log.csv", "log.jsonl", "log.parquet")):
        done = call(
            "eval",
            write(name, ROWS),
            "--task",
            "binary",
            "--cluster",
            "user_id",
            "--jobs",
            number + 1,
            "-o",
            "a.state",
        )
        assert (done.code, done.err) == (0, "")
        assert se.load("a.state").to_bytes() == curve_of().to_bytes()
        shown = call("show", "a.state")
        assert CLUSTERS in shown.out


def test_reports_json_and_gates_have_clustered_intervals(call, log):
    low, high = curve_of().compute().confidence("roc_auc")
    command = ("eval", log, "--task", "binary", "--cluster", "user_id", "--metrics", "roc_auc")
    done = call(*command)
    assert f"[{low:.6f}, {high:.6f}]" in done.out
    assert done.out.rstrip().endswith("groups.")
    told = call(*command, "--json").json
    assert told["intervals"]["roc_auc"] == [low, high]
    assert told["clusters"]["column"] == "user_id"
    assert call(*command, "--require", f"roc_auc>={low - 1e-6}").code == 0
    assert call(*command, "--require", f"roc_auc>={low + 1e-6}").code == 1
    assert CLUSTERS not in call(*command, "--level", 0).out


@pytest.mark.slow
def test_slices_and_panes_have_clustered_intervals(call, log, write):
    part = curve_of([row for row in ROWS if row["country"] == "DE"]).compute()
    low, high = part.confidence("roc_auc")
    command = ("eval", log, "--task", "binary", "--cluster", "user_id", "--by", "country")
    done = call(*command, "--metrics", "roc_auc")
    assert f"[{low:.4f}, {high:.4f}]" in done.out
    assert CLUSTERS in done.out
    timed = write("timed.csv", [row | {"t": at // 100} for at, row in enumerate(ROWS)])
    done = call(
        "eval",
        timed,
        "--task",
        "binary",
        "--cluster",
        "user_id",
        "--time",
        "t",
        "--pane",
        1,
        "--by",
        "country",
        "--json",
    )
    assert (done.code, done.err) == (0, "")
    assert done.json["intervals"]["roc_auc"] == list(curve_of().compute().confidence("roc_auc"))


REFUSED = {
    "a missing column": (("--cluster", "nobody"), "no column 'nobody' in the first rows"),
    "an evaluated column": (("--cluster", "y_true"), "cannot be both evaluated and the column of"),
    "values of queries": (
        (*("--task", "ranking", "--cluster", "user_id"), "--per-query"),
        "--per-query cannot be used with --cluster",
    ),
    "parts of queries": (
        (*("--task", "ranking", "--cluster", "user_id"), "--max-open-queries", "9"),
        "--max-open-queries cannot be used with --cluster, which counts complete queries",
    ),
    "a run": (
        (*("--task", "ranking", "--cluster", "user_id"), "--qrels", "a.qrels"),
        "--cluster with --qrels needs --queries, a table with a row for each query",
    ),
    "a table without a run": (
        (*("--task", "ranking", "--cluster", "user_id"), "--queries", "a.csv"),
        "--queries needs --qrels",
    ),
}


@each("name", REFUSED)
def test_usage_is_refused(name, call, log):
    options, message = REFUSED[name]
    done = call("eval", log, *options)
    assert done.code == 2
    assert message in done.err


QUERIES = [
    {
        "query": f"q{number}",
        "topic": f"t{number % 40}",
        "t": number // 30,
        "relevance": RANDOM.integers(0, 2, 4).tolist(),
        "score": np.round(RANDOM.random(4), 2).tolist(),
    }
    for number in range(90)
]
AS_ROWS = [
    one | {"relevance": relevance, "score": score}
    for one in QUERIES
    for relevance, score in zip(one["relevance"], one["score"], strict=True)
]
RANKING = ("--task", "ranking", "--cluster", "topic", "--measures", "map")


def rankings():
    table = {name: [row[name] for row in AS_ROWS] for name in (*QUERIES[0], "topic")}
    return table, se.Clustered(se.RankingAccumulator(["map"]), by="topic")


@pytest.mark.slow
def test_rankings_have_clusters_of_queries(call, write):
    table, counted = rankings()
    for number, rows in enumerate((QUERIES, AS_ROWS)):
        log = write(f"{number}.jsonl", rows)
        done = call("eval", log, *RANKING, "-o", "a.state", "--metrics", "map")
        assert (done.code, done.err) == (0, "")
        assert se.load("a.state").to_bytes() == counted.copy().update(table).to_bytes()
        low, high = se.load("a.state").compute().confidence("map")
        assert f"[{low:.6f}, {high:.6f}]" in done.out
        assert "Intervals are for clusters (topic), in " in done.out
        done = call("eval", log, *RANKING, "--time", "t", "--pane", 1, "-o", "b.state")
        assert (done.code, done.err) == (0, "")
        panes = se.Windowed(counted, pane=1, time="t").update(table)
        assert se.load("b.state").to_bytes() == panes.to_bytes()


@pytest.mark.slow
@each("rows", [QUERIES, AS_ROWS])
def test_slices_of_rankings_have_clusters_of_queries(rows, call, write):
    rows = [row | {"kind": "ab"[int(row["query"][1:]) % 3 == 0]} for row in rows]
    command = ("eval", write("a.jsonl", rows), *RANKING, "--by", "kind")
    done = call(*command, "--json")
    assert (done.code, done.err) == (0, "")
    table, counted = rankings()
    assert done.json["intervals"]["map"] == list(
        counted.copy().update(table).compute().confidence("map")
    )
    for entry in done.json["slices"]:
        own = [("ab"[int(query[1:]) % 3 == 0]) == entry["value"] for query in table["query"]]
        part = {name: np.array(column)[own] for name, column in table.items()}
        result = counted.copy().update(part).compute()
        assert entry["intervals"]["map"] == list(result.confidence("map"))
        assert entry["metrics"]["n_queries"] == result.n_queries
    assert call(*command, "-o", "states").code == 0
    assert se.load("states/all.state").to_bytes() == counted.copy().update(table).to_bytes()


def test_a_query_with_two_clusters_is_refused(call, write):
    log = write("a.jsonl", [*AS_ROWS, AS_ROWS[0] | {"topic": "t1"}])
    done = call("eval", log, *RANKING)
    assert done.code != 0
    assert "`topic` must be the same in all rows of a query" in done.err


def test_numbers_of_relevant_documents_are_refused(call, write):
    log = write("a.jsonl", [row | {"num_relevant": 2} for row in AS_ROWS])
    done = call("eval", log, *RANKING)
    assert done.code == 2
    assert "--cluster cannot be used with `num_relevant`, a number for each query" in done.err


@pytest.mark.slow
def test_watch_counts_clusters_in_each_pane(call, write):
    timed = write("timed.csv", [row | {"t": at // 100} for at, row in enumerate(ROWS)])
    options = ("--task", "binary", "--cluster", "user_id", "--time", "t", "--pane", 1)
    done = call("watch", timed, *options, "--checkpoint", "ck.db", "--once")
    assert (done.code, done.err) == (0, "")
    assert CLUSTERS in done.out
    assert CLUSTERS in call("show", "ck.db").out
    assert call("merge", "ck.db", "-o", "a.state").code == 0
    assert call("eval", timed, *options, "-o", "b.state").code == 0
    assert se.load("a.state").to_bytes() == se.load("b.state").to_bytes()
    done = call(
        "watch", timed, *options, "--checkpoint", "b.db", "--once", "--alerts", "accuracy<1"
    )
    assert done.code == 2


def test_a_row_without_a_cluster_is_bad(call, write):
    log = write("gaps.jsonl", [*ROWS, ROWS[0] | {"user_id": None}])
    command = ("eval", log, "--task", "binary", "--cluster", "user_id")
    done = call(*command)
    assert done.code != 0
    assert "`user_id` must hold a cluster in every row" in done.err
    done = call(*command, "--max-bad", 1, "-o", "a.state")
    assert done.code == 0
    assert se.load("a.state").to_bytes() == curve_of().to_bytes()


NOTED = {
    "ids that repeat": ((), True),
    "no intervals": (("--level", 0), False),
    "clusters": (("--cluster", "user_id"), False),
    "slices of them": (("--by", "user_id=u1"), False),
    "slices of others": (("--by", "country"), True),
    "groups of them": (("--group", "user_id"), False),
    "metrics with intervals": (("--metrics", "n,roc_auc"), True),
    "metrics without": (("--metrics", "n,ece"), False),
    "a gate with an interval": (("--metrics", "n", "--require", "roc_auc>0.1"), True),
    "a gate without": (("--metrics", "n", "--require", "n>1"), False),
    "some rows": (("--where", "country=DE"), False),
    "losses without intervals": (("--task", "calibration", "--y-score", "y_score"), False),
    "losses with intervals": (
        ("--task", "calibration", "--y-score", "y_score", "--intervals"),
        True,
    ),
}


@each("name", NOTED)
def test_ids_that_repeat_are_noted_where_rows_have_intervals(name, call, log):
    options, is_noted = NOTED[name]
    task = () if "--task" in options else ("--task", "binary")
    done = call("eval", log, *task, *options)
    assert done.code == 0, done.err
    assert (NOTE in done.err, done.err.count("repeats")) == (is_noted, int(is_noted))


WEIGHED = {
    "fractions": (("--sample-weight", "half"), True),
    "fractions, and a value of nan": (("--sample-weight", "half", "--where", "y_true=1"), True),
    "a value of nan alone": (
        ("--sample-weight", "half", "--where", "y_true=1", "--metrics", "roc_auc"),
        False,
    ),
    "whole weights": (("--sample-weight", "y_true"), False),
    "no weights": ((), False),
    "no intervals": (("--sample-weight", "half", "--level", 0), False),
    "clusters": (("--sample-weight", "half", "--cluster", "user_id"), False),
    "losses without intervals": (
        ("--sample-weight", "half", "--task", "calibration", "--y-score", "y_score"),
        False,
    ),
}


@each("name", WEIGHED)
def test_weights_with_fractions_are_noted_instead_where_they_take_the_intervals(name, call, write):
    options, is_noted = WEIGHED[name]
    task = () if "--task" in options else ("--task", "binary")
    log = write("log.csv", [row | {"half": 0.5 + row["y_true"]} for row in ROWS])
    done = call("eval", log, *task, *options)
    note = "no sampling intervals (fractional weights have none); --cluster COLUMN adds them."
    assert (done.code, note in done.err) == (0, is_noted)
    assert ("no sampling intervals" in done.err) == is_noted
    assert not (is_noted and NOTE in done.err)


COLUMNS = {
    "another name": ("qid", True),
    "a word and id": ("Session ID", True),
    "a word": ("question", True),
    "ids of rows": ("id", False),
    "a category": ("device", False),
    "a prefix": ("user_id_kind", False),
}


@each("name", COLUMNS)
def test_columns_are_known_by_their_names(name, call, write):
    column, is_noted = COLUMNS[name]
    rows = [{column: at // 2, "y_true": at % 2, "y_pred": 1} for at in range(20)]
    done = call("eval", write("log.jsonl", rows))
    assert ("repeats, and intervals" in done.err) == is_noted


def test_ids_that_do_not_repeat_or_are_missing_are_not_noted(call, write):
    rows = [{"user_id": at if at < 10 else None, "y_true": at % 2, "y_pred": 1} for at in range(20)]
    rows[11]["user_id"] = ""
    done = call("eval", write("log.jsonl", [json.loads(json.dumps(row)) for row in rows]))
    assert (done.code, "repeats" in done.err) == (0, False)


def test_gate_on_few_positives_that_are_all_found_is_undecided(call, write):
    rows = [
        {"user_id": at % 1000, "y_true": int(at < 3), "y_pred": int(at < 3)} for at in range(5000)
    ]
    gate = ("eval", write("rare.csv", rows), "--y-pred", "y_pred", "--require", "recall[1]>=0.9")
    for clustered in ((), ("--cluster", "user_id")):
        done = call(*gate, *clustered)
        assert done.code == 1
        assert "undecided: recall[1]>=0.9" in done.err


@pytest.mark.slow
def test_show_of_a_folder_and_explain_say_what_intervals_are_of(call, log):
    call("eval", log, "--task", "binary", "--cluster", "user_id", "--by", "country", "-o", "states")
    assert CLUSTERS in call("show", "states", "--metrics", "roc_auc").out
    assert CLUSTERS not in call("show", "states", "--metrics", "roc_auc", "--level", 0).out
    assert "if clusters were drawn" in " ".join(call("explain", "states/all.state").out.split())
    call("eval", log, "--task", "binary", "--quiet", "-o", "plain.state")
    assert "if the data were drawn" in " ".join(call("explain", "plain.state").out.split())


@each("options", [(), ("--check",)])
def test_watch_notes_ids_that_repeat_once(options, call, write):
    timed = write("timed.csv", [row | {"t": at // 100} for at, row in enumerate(ROWS)])
    command = ("watch", timed, "--task", "binary", "--time", "t", "--pane", 1, "--once")
    done = call(*command, "--checkpoint", "c.db", *options)
    assert (done.code, done.err.count(NOTE)) == (0, 1)
    assert NOTE not in call(*command, "--checkpoint", "d.db", "--cluster", "user_id", *options).err
