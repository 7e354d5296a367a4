"""`eval --compare`: several runs of the same queries, compared with tests."""

import json
import shutil

import numpy as np
import pytest
from offenders import each

import streameval as se

QUERIES = [f"q{number}" for number in range(30)]
SYSTEMS = {"best": 0.6, "good": 0.5, "poor": 0.0}
RANKING = ("--task", "ranking", "--measures", "map,ndcg@5")


def rows_of(system):
    """Return the query, the relevance and the score of each document of a run."""
    random = np.random.default_rng(len(system) + ord(system[0]))
    relevance = np.arange(8) < 3
    return [
        (query, int(relevant), float(score))
        for query in QUERIES
        for relevant, score in zip(
            relevance, random.random(8).round(4) + SYSTEMS[system] * relevance, strict=True
        )
    ]


def run_text(system, queries=QUERIES):
    rows = [row for row in rows_of(system) if row[0] in queries]
    return "".join(
        f"{query} Q0 d{place % 8} 0 {score} {system}\n"
        for place, (query, _, score) in enumerate(rows)
    )


@pytest.fixture
def runs(folder):
    for system in SYSTEMS:
        (folder / f"{system}.run").write_text(run_text(system))
    qrels = [f"{query} 0 d{doc} {int(doc < 3)}\n" for query in QUERIES for doc in range(8)]
    (folder / "qrels").write_text("".join(qrels))
    return [f"{system}.run" for system in SYSTEMS]


def compared(*systems, level=0.95, suffix=".run"):
    results = []
    for system in systems:
        query, relevance, score = zip(*rows_of(system), strict=True)
        acc = se.RankingAccumulator(["map", "ndcg@5"], per_query=True)
        table = {"relevance": relevance, "score": score, "query": query}
        results.append(acc.update({name: np.array(one) for name, one in table.items()}).compute())
    return se.compare(*results, names=[f"{one}{suffix}" for one in systems], level=level)


@each("jobs", ["1", "2"])
def test_runs_are_compared_as_in_a_program(call, runs, jobs):
    done = call("eval", *runs, *RANKING, "--qrels", "qrels", "--compare", "--jobs", jobs)
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{compared(*SYSTEMS).report()}\n"
    assert done.out.startswith("30 queries, 3 models\n")


def test_two_runs_are_compared_in_json(call, runs):
    options = ("--qrels", "qrels", "--compare", "--json", "--level", "0.9")
    found = call("eval", *runs[:2], *RANKING, *options).json
    comparison = compared("best", "good", level=0.9)
    assert found.pop("comparison") == json.loads(json.dumps(comparison.as_dict()))
    assert found == {
        "task": "ranking",
        "files": ["best.run", "good.run"],
        "qrels": "qrels",
        "n_queries": 30,
        "n_left_out": 0,
        "level": 0.9,
    }


def test_rows_of_other_formats_are_compared(call, folder):
    for system in SYSTEMS:
        names = ("query", "relevance", "score")
        lines = (json.dumps(dict(zip(names, row, strict=True))) for row in rows_of(system))
        (folder / f"{system}.jsonl").write_text("\n".join(lines))
    files = [f"{system}.jsonl" for system in SYSTEMS]
    done = call("eval", *files, *RANKING, "--compare")
    assert done.out == f"{compared(*SYSTEMS, suffix='.jsonl').report()}\n"
    assert "qrels" not in call("eval", *files, *RANKING, "--compare", "--json").json
    refused = call("eval", *files, *RANKING, "--compare", "--time", "t", "--pane", "1h")
    assert "use --where COLUMN=VALUE to compare the queries of one value." in refused.err


def test_runs_in_folders_have_their_paths_where_names_are_equal(call, runs, folder):
    (folder / "old").mkdir()
    shutil.copy("poor.run", folder / "old" / "best.run")
    options = (*RANKING, "--qrels", "qrels", "--compare", "--json")
    found = call("eval", "best.run", "old/best.run", *options).json
    assert list(found["comparison"]["map"]["values"]) == ["best.run", "old/best.run"]
    found = call("eval", "good.run", "old/best.run", *options).json
    assert list(found["comparison"]["map"]["values"]) == ["good.run", "best.run"]


def test_level_markdown_and_quiet(call, runs):
    given = ("eval", *runs, *RANKING, "--qrels", "qrels", "--compare")
    assert "interval" not in call(*given, "--level", "0").out
    assert "| model | value | 95% interval | verdict |" in call(*given, "--markdown").out
    assert call(*given, "--quiet").out == ""


def test_gates_are_on_values_and_on_differences_in_either_order(call, runs):
    given = ("eval", *runs, *RANKING, "--qrels", "qrels", "--compare", "--require")
    passed = call(*given, "map[best.run - poor.run]>=0", "--require", "ndcg@5[best.run]>=0.5")
    assert passed.code == 0
    assert "passed: map[best.run - poor.run]>=0: " in passed.err
    failed = call(*given, "map[poor.run - best.run]>=0")
    assert failed.code == 1
    low, high = compared(*SYSTEMS)["map"].differences[1].interval
    assert "failed: map[poor.run - best.run]>=0: " in failed.err
    assert f"in [{-high:.6g}, {-low:.6g}]" in failed.err
    unsure = ("map[best.run - good.run]>=0.0001", "--json")
    found = call(*given, *unsure)
    assert found.code == 1
    assert found.json["n_queries"] == 30
    assert call(*given, unsure[0], "--level", "0").code == 0


def test_gates_are_undecided_where_no_query_has_anything_to_find(call, runs, folder):
    (folder / "qrels").write_text("".join(f"{query} 0 d0 0\n" for query in QUERIES))
    given = ("eval", *runs, *RANKING, "--qrels", "qrels", "--compare", "--require")
    done = call(*given, "map[best.run - poor.run]>=0", "--level", "0")
    assert done.code == 1
    assert done.err.endswith("map[best.run - poor.run]>=0: nan, undefined on these rows.\n")


def test_queries_that_a_run_lacks_count_unless_they_are_left_out(call, runs, folder):
    (folder / "good.run").write_text(run_text("good", QUERIES[5:]))
    given = ("eval", *runs, *RANKING, "--qrels", "qrels", "--compare")
    whole = call(*given).out.splitlines()
    assert whole[0] == "30 queries, 3 models"
    left = call(*given, "--no-count-missing").out.splitlines()
    assert left[0] == "25 queries of all and 5 of some, left out, 3 models"


def test_scattered_queries_are_gathered_and_notes_name_the_run(call, runs, folder):
    lines = run_text("good").splitlines(True)
    (folder / "good.run").write_text("".join(lines[::2] + lines[1::2]) + "odd Q0 d 0 1 good\n")
    done = call("eval", *runs, *RANKING, "--qrels", "qrels", "--compare")
    assert done.out == f"{compared(*SYSTEMS).report()}\n"
    assert done.err == (
        "streameval: note: good.run: was read again and held in memory: the rows of a query are "
        "not together.\n"
        "streameval: note: good.run: left out 1 query of the run without judgements.\n"
    )


@each(
    ("options", "code", "message"),
    [
        (("best.run",), 2, "--compare needs from 2 to 64 files, each of them the run of a system"),
        (("best.run", "./best.run"), 2, "./best.run is named more than once, and --compare needs"),
        (
            ("best.run", "good.run", "-o", "a.state"),
            2,
            "with --compare: a comparison has no state",
        ),
        (
            ("best.run", "good.run", "--per-query"),
            2,
            "--per-query cannot be used with --compare",
        ),
        (
            ("best.run", "good.run", "--trec"),
            2,
            "give it to a command for each run.",
        ),
        (
            ("best.run", "good.run", "--metrics", "map"),
            2,
            "--metrics cannot be used with --compare: --measures chooses.",
        ),
        (("best.run", "good.run", "--require", "map>0"), 2, "map is of no model: write map[best"),
        (("best.run", "good.run", "--require", "mpa[best.run]>0"), 2, "no metric 'mpa': did you"),
        (("best.run", "good.run", "--require", "worst(map)>0"), 2, "compares slices, and gates"),
        (("best.run", "good.run", "--by", "v"), 2, "--by with --qrels needs --queries"),
        (("best.run", "good.run", "--versus", "b"), 2, "--versus cannot be used with --compare"),
        (("best.run", "good.run", "--sample-weight", "w"), 2, "--sample-weight cannot be used"),
        (("best.run", "good.run", "--measures", "mpa"), 2, "--measures has no 'mpa'"),
        (("best.run", "none.run"), 3, "none.run: no such file or directory."),
        (("best.run", "empty.run"), 3, "empty.run: holds no rows."),
        (("best.run", "qrels"), 3, "Are the run and --qrels swapped?"),
        (
            ("best.run", "first.run", "last.run", "--no-count-missing"),
            2,
            "`last.run` must have a query that `best.run` has too.",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(options, code, message, call, runs, folder):
    (folder / "empty.run").write_text("")
    (folder / "first.run").write_text(run_text("good", QUERIES[:5]))
    (folder / "last.run").write_text(run_text("good", QUERIES[5:]))
    done = call("eval", *options, *RANKING, "--qrels", "qrels", "--compare")
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert len(done.err.splitlines()) == 1


def test_geometric_means_alone_are_refused(call, runs):
    options = ("--task", "ranking", "--measures", "gm_map", "--qrels", "qrels", "--compare")
    done = call("eval", *runs, *options)
    assert (done.code, done.out) == (2, "")
    assert "`best.run` must have a measure other than geometric means." in done.err


def test_measures_that_are_no_means_are_left_out(call, runs):
    options = ("--measures", "gm_map,map,map[median]", "--qrels", "qrels", "--compare")
    done = call("eval", *runs, "--task", "ranking", *options)
    assert done.err == (
        "streameval: note: gm_map, map[median]: left out, because means over queries are "
        "compared.\n"
    )
    assert "\nmap\n" in done.out


def test_compare_is_of_rankings(call, runs):
    done = call("eval", *runs, "--compare")
    assert "--compare cannot be used with --task classification; it is for ranking." in done.err


def test_lists_with_a_query_twice_are_refused_without_advice(call, folder):
    line = json.dumps({"query": "a", "relevance": [1, 0], "score": [0.5, 0.2]})
    (folder / "a.jsonl").write_text(line)
    (folder / "b.jsonl").write_text(f"{line}\n{line}\n")
    done = call("eval", "a.jsonl", "b.jsonl", *RANKING, "--compare")
    assert done.code == 3
    assert "--compare" not in done.err


def test_a_file_without_a_valid_row_is_refused(call, folder):
    for name, relevance in (("a.jsonl", 1), ("b.jsonl", "x")):
        (folder / name).write_text(json.dumps({"query": "a", "relevance": relevance, "score": 1}))
    done = call("eval", "a.jsonl", "b.jsonl", *RANKING, "--compare", "--max-bad", "3")
    assert done.code == 3
    assert done.err.startswith("streameval: error: b.jsonl, line 1: `relevance` must be a number")


SCORES = {"score": 0.6, "old": 0.3, "older": 0.0}


def scored():
    """Return rows of documents with the scores of three systems, in 25 topics of two kinds."""
    random = np.random.default_rng(3)
    rows = []
    for number in range(75):
        of_query = {"query": f"q{number}", "topic": f"t{number % 25}", "kind": "ab"[number % 2]}
        for _ in range(6):
            relevance = int(random.random() < 0.4)
            scores = {
                name: round(random.random() + gain * relevance, 3) for name, gain in SCORES.items()
            }
            rows.append({**of_query, "relevance": relevance, **scores})
    return rows


def of_columns(rows, *names, clusters=None):
    results = []
    for name in names:
        acc = se.RankingAccumulator(["map"], per_query=True)
        read = {"query": "query", "relevance": "relevance", "score": name}
        if clusters is not None:
            acc, read = se.Clustered(acc, by=clusters), read | {clusters: clusters}
        table = {array: np.array([row[column] for row in rows]) for array, column in read.items()}
        results.append(acc.update(table).compute())
    return se.compare(*results, names=names)


MAP = ("--task", "ranking", "--measures", "map")


@each("jobs", ["1", "2"])
def test_columns_of_scores_are_compared(jobs, call, write):
    rows = scored()
    done = call("eval", write("a.jsonl", rows), *MAP, "--versus", "old,older", "--jobs", jobs)
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{of_columns(rows, *SCORES).report()}\n"


def test_columns_of_ranks_are_compared(call, write):
    lines = [row | {name: -row[name] for name in SCORES} for row in scored()]
    done = call("eval", write("a.jsonl", lines), *MAP, "--rank", "old", "--versus", "older")
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{of_columns(scored(), 'old', 'older').report()}\n"


@pytest.mark.slow
def test_comparisons_have_clusters_and_slices(call, write):
    rows = scored()
    options = ("--versus", "old,older", "--cluster", "topic", "--by", "kind")
    command = ("eval", write("a.jsonl", rows), *MAP, *options)
    found = call(*command, "--json").json
    assert found["clusters"]["column"] == "topic"
    assert found["by"] == "kind"
    whole = of_columns(rows, *SCORES, clusters="topic")
    assert found["comparison"] == json.loads(json.dumps(whole.as_dict()))
    parts = {}
    for entry in found["slices"]:
        own = [row for row in rows if row["kind"] == entry["value"]]
        parts[entry["value"]] = of_columns(own, *SCORES, clusters="topic")
        text = json.dumps(parts[entry["value"]].as_dict())
        assert entry["comparison"] == json.loads(text)
    assert sorted(parts) == ["a", "b"]
    shown = call(*command).out
    assert "\nkind=a\n  38 queries, 3 models\n" in shown
    assert shown.count("p is that of the randomization test of clusters (topic), two-s") == 1
    few = call("eval", "a.jsonl", *MAP, *options[:4], "--by", "kind=b,z")
    assert "kind=z: not compared, because not all systems have queries." in few.err
    assert "\n(other)\n  38 queries" in few.out


@each(
    ("options", "message"),
    [
        (("--versus", "score"), "--versus is the column of --y-score itself."),
        (("--versus", "old,old"), "--versus has the column 'old' twice."),
        (("--versus", ",".join(map(str, range(64)))), "--versus needs from 2 to 64 systems"),
        (
            ("--versus", "old", "-o", "a.state"),
            "--output cannot be used with --versus: a comparison",
        ),
        (("--versus", "old", "--by", "kind", "--sort", "map"), "--sort cannot be used with --ver"),
        (("--versus", "old", "--y-score", "a,b"), "--y-score takes one column"),
    ],
)
def test_columns_that_cannot_be_compared_are_refused(options, message, call, write):
    done = call("eval", write("a.jsonl", scored()), *MAP, *options)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_columns_of_a_pipe_are_refused(call, monkeypatch):
    done = call("eval", "-", *MAP, "--versus", "old")
    assert done.code == 2
    assert "can be read only once, and each column of scores needs a reading." in done.err


@pytest.fixture
def topics(runs, folder):
    rows = [f"{query},{'ab'[at % 2]},t{at % 10}\n" for at, query in enumerate(QUERIES)]
    (folder / "topics.csv").write_text("qid,kind,topic\n" + "".join(rows))
    return {
        query: {"kind": "ab"[at % 2], "topic": f"t{at % 10}"} for at, query in enumerate(QUERIES)
    }


OF_TOPICS = ("--qrels", "qrels", "--queries", "topics.csv", "--query", "qid")


def test_runs_have_slices_and_clusters_of_a_table_of_queries(call, runs, topics):
    rows = [
        {"query": query, "relevance": relevance, "score": score, **topics[query]}
        for query, relevance, score in rows_of("good")
    ]
    table = {name: [row[name] for row in rows] for name in rows[0]}
    measured = se.RankingAccumulator(["map", "ndcg@5"])
    counted = se.Clustered(measured, by="topic").update(table)
    options = (*RANKING, *OF_TOPICS, "--cluster", "topic")
    done = call("eval", "good.run", *options, "-o", "a.state", "--quiet")
    assert (done.code, done.err) == (0, "")
    assert se.load("a.state").compute() == counted.compute()
    found = call("eval", "good.run", *options, "--by", "kind", "--json").json
    assert found["intervals"]["map"] == list(counted.compute().confidence("map"))
    parts = se.Sliced(se.Clustered(measured, by="topic"), "kind").update(table)
    for entry in found["slices"]:
        result = parts[entry["value"]].compute()
        assert entry["intervals"]["map"] == list(result.confidence("map"))
    both = call("eval", *runs[:2], *options, "--compare", "--by", "kind", "--json").json
    assert [entry["value"] for entry in both["slices"]] == ["a", "b"]
    assert both["clusters"]["column"] == "topic"


@each("weights", [(), ("--sample-weight", "weights")])
def test_judged_queries_that_a_run_lacks_count_in_their_slice_and_cluster(
    weights, call, topics, folder
):
    (folder / "good.run").write_text(run_text("good", QUERIES[5:]))
    (folder / "weights").write_text("".join(f"{query} 2\n" for query in QUERIES))
    options = (*RANKING, *OF_TOPICS, *weights, "--cluster", "topic", "--by", "kind", "--json")
    found = call("eval", "good.run", *options).json
    plain = call("eval", "good.run", *RANKING, "--qrels", "qrels", *weights, "--json").json
    weight = 2 if weights else 1
    assert found["metrics"] == plain["metrics"]
    assert found["metrics"]["n_missing"] == 5 * weight
    assert {one["value"]: one["metrics"]["n_missing"] for one in found["slices"]} == {
        "a": 3 * weight,
        "b": 2 * weight,
    }
    left = call("eval", "good.run", *options, "--no-count-missing").json
    assert left["metrics"]["n_missing"] == 0


TABLES = {
    "a row that cannot be read": ("qid,topic\nq0,a\nq1,b,c\n", "topics.csv, line 3: "),
    "a query without a row": ("qid,topic\nq0,a\n", "has no row for query 'q1'"),
    "a query with two rows": ("qid,topic\nq0,a\nq0,b\n", "query 'q0' has a row already"),
    "no column of queries": ("id,topic\nq0,a\n", "topics.csv: the header has no column 'qid'"),
    "no column of clusters": (
        "qid,b\n" + "".join(f"{query},1\n" for query in QUERIES),
        "no column 'topic' in the first rows",
    ),
    "a query without a cluster": (
        "qid,topic\n" + "".join(f"{query},{query if query != 'q3' else ''}\n" for query in QUERIES),
        "good.run, query q3: `topic` must hold a cluster in every row",
    ),
}


@each("name", TABLES)
def test_tables_that_lack_something_are_refused(name, call, runs, folder):
    text, message = TABLES[name]
    (folder / "topics.csv").write_text(text)
    done = call("eval", "good.run", *RANKING, *OF_TOPICS, "--cluster", "topic")
    assert (done.code, done.out) == (3 if "column 'topic'" not in message else 2, "")
    assert message in done.err
