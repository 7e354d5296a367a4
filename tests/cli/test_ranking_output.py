"""`--task ranking`: values of queries, gates, states, help."""

import json
import shutil
import tempfile
from pathlib import Path

import pytest
import pytrec_eval
from cli.memory import peak_of
from cli.ranking_data import JUDGED, QRELS, RUN, as_lists, as_rows, run_text
from offenders import each

import streameval as se
from streameval.cli import eval as command
from streameval.configs.measures.trec_eval import trec_name
from streameval.io import lines
from streameval.runs import judged_runs

RANKING = ("--task", "ranking")
QUERIES = ("--per-query", *RANKING)
DATA = Path(__file__).parents[2] / "docs" / "data"
TREC = (
    *("map", "Rprec", "bpref", "recip_rank", "P_5", "P_10", "recall_10", "ndcg", "ndcg_cut_10"),
    *("map_cut_10", "success_1", "set_P", "set_recall", "set_F"),
)


@pytest.fixture
def lists(write):
    return write("a.jsonl", as_lists())


def per_query(measures, like="trec_eval"):
    accumulator = se.RankingAccumulator.like(like, measures, per_query=True)
    columns = accumulator.update_run(RUN, QRELS, False).compute().per_query()
    names = [name for name in columns if name != "query"]
    rows = zip(*(columns[name].tolist() for name in ("query", *names)), strict=True)
    return {query: dict(zip(names, values, strict=True)) for query, *values in rows}


def trec_eval(run, qrels, level=1):
    """What trec_eval prints for each query, in the order of the run, and for all."""
    whole = {query: {doc: int(rel) for doc, rel in docs.items()} for query, docs in qrels.items()}
    found = pytrec_eval.RelevanceEvaluator(whole, set(TREC), level).evaluate(run)
    rows = {query: found[query] for query in run if query in found}
    means = {name: sum(row[name] for row in rows.values()) / len(rows) for name in TREC}
    return "".join(
        f"{name:<22}\t{query}\t{row[name]:6.4f}\n"
        for query, row in (rows | {"all": means}).items()
        for name in TREC
    )


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("rows", [1, 10**6])
def test_per_query_prints_what_trec_eval_does(rows, level, call, run, monkeypatch):
    monkeypatch.setattr(judged_runs, "_ROWS", rows)
    options = ("--like", "trec_eval", "--measures", ",".join(TREC), "--relevance-level", level)
    done = call("eval", run, "--qrels", "a.qrels", *options, *QUERIES)
    assert done.code == 0
    assert done.out == trec_eval(RUN, QRELS, level)


def test_per_query_of_the_sample_is_what_trec_eval_prints(call):
    run, qrels = DATA / "digits_retrieval.run.gz", DATA / "digits_retrieval.qrels.gz"
    options = ("--like", "trec_eval", "--measures", ",".join(TREC))
    done = call("eval", run, "--qrels", qrels, *options, *QUERIES)
    assert done.out == trec_eval(dict(se.io.read_run(run)), dict(se.io.read_qrels(qrels)))


def test_trec_prints_the_lines_of_all_queries_alone(call, run):
    options = ("--like", "trec_eval", "--measures", ",".join(TREC), "--trec")
    done = call("eval", run, "--qrels", "a.qrels", *options, *RANKING)
    assert done.out == "".join(trec_eval(RUN, QRELS).splitlines(keepends=True)[-len(TREC) :])


LIKE = ("--like", "trec_eval", "--trec", *RANKING)


def printed(call, *arguments):
    """The first and last column of each line."""
    done = call("eval", *arguments, *LIKE)
    assert done.code == 0, done.err
    return {line.split("\t")[0].rstrip(): line.split("\t")[-1] for line in done.out.splitlines()}


def test_trec_prints_the_official_measures_unless_others_are_asked_for(call, run):
    found = printed(call, run, "--qrels", "a.qrels")
    points = [f"iprec_at_recall_{i / 10:.2f}" for i in range(11)]
    assert list(found) == [
        *("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec"),
        *("bpref", "recip_rank", *points),
        *(f"P_{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)),
    ]
    assert found["runid"] == "tag"
    assert found["num_q"] == str(len(JUDGED))
    assert found["num_ret"] == str(sum(len(RUN[query]) for query in JUDGED))


def test_trec_counts_missing_queries_if_they_enter_means(call, run):
    found = printed(call, run, "--qrels", "a.qrels", "--missing", "zero", "--measures", "num_q,map")
    assert found["num_q"] == str(len(JUDGED) + len(MISSING))


@each("asked", ["P.10,5,map", "map,P_10,P_5", "P_5,map,P.10"])
def test_trec_prints_in_the_order_of_trec_eval(asked, call, run):
    assert list(printed(call, run, "--qrels", "a.qrels", "--measures", asked)) == [
        *("map", "P_5", "P_10")
    ]


def test_trec_names_no_run_whose_rows_have_no_tag(call, folder, run):
    rows = (folder / run).read_text().splitlines()
    text = "# a comment\n" + "".join(f"{row.rsplit(' ', 1)[0]}\n" for row in rows)
    (folder / "b.run").write_text(text)
    assert "runid" not in printed(call, "b.run", "--qrels", "a.qrels")


def test_json_holds_the_tag_of_the_run(call, folder, run, monkeypatch):
    monkeypatch.setattr(lines, "PIECE_BYTES", 16)
    (folder / run).write_text(f"# a comment\n\n{run_text()}")
    done = call("eval", run, "--qrels", "a.qrels", "--json", *RANKING)
    assert json.loads(done.out)["runid"] == "tag"


def test_max_docs_cuts_each_query_as_trec_eval_does(call, folder):
    (folder / "b.run").write_text("q 0 a 1 2 t\nq 0 b 1 1 t\nq 0 c 1 1 t\nr 0 a 1 1 t\n")
    (folder / "b.qrels").write_text("q 0 a 0\nq 0 b 0\nq 0 c 1\nr 0 a 1\n")
    asked = ("--measures", "num_ret,num_rel,num_rel_ret,recip_rank")
    found = printed(call, "b.run", "--qrels", "b.qrels", "--max-docs", "2", *asked)
    assert found == {"num_ret": "3", "num_rel": "2", "num_rel_ret": "2", "recip_rank": "0.7500"}


def test_max_docs_needs_judgements(call, lists):
    done = call("eval", lists, "--max-docs", "2", *RANKING)
    assert done.code == 2
    assert "--max-docs needs --qrels." in done.err


@each("name", TREC)
def test_trec_name_of_a_measure_is_that_of_trec_eval(name):
    (measure,) = se.RankingAccumulator(name).compute()
    assert trec_name(measure) == name


@each("name", ["mrr@10", "dcg@5", "p(rel=2)@5", "lrap", "map(rel=2)", "err@20", "judged@10"])
def test_trec_name_is_its_own_where_trec_eval_has_none(name):
    assert trec_name(name) == name


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("rows", [1, 10**6])
def test_per_query_writes_lines_of_json_in_the_order_of_the_run(jobs, rows, call, run, monkeypatch):
    monkeypatch.setattr(judged_runs, "_ROWS", rows)
    options = ("--like", "trec_eval", "--measures", "map,ndcg@5", "--json", "--jobs", jobs)
    done = call("eval", run, "--qrels", "a.qrels", *options, *QUERIES)
    *found, whole = map(json.loads, done.out.splitlines())
    values = per_query(["map", "ndcg@5"])
    assert found == [{"query": query, **values[query]} for query in JUDGED]
    assert whole["metrics"]["n_queries"] == len(JUDGED)


MISSING = ["t99", "t98"]


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_per_query_lists_missing_queries_that_count_as_zero(jobs, call, run):
    options = ("--like", "trec_eval", "--measures", "map,set_F", "--jobs", jobs)
    done = call("eval", run, "--qrels", "a.qrels", *options, "--missing", "zero", *QUERIES)
    rows = [line.split("\t") for line in done.out.splitlines()]
    assert [query for _, query, _ in rows[::2]] == [*JUDGED, *MISSING, "all"]
    assert {value for _, query, value in rows if query in MISSING} == {"0.0000"}
    found = [float(value) for name, query, value in rows if name.strip() == "map"]
    assert found[-1] == pytest.approx(sum(found[:-1]) / len(found[:-1]), abs=1e-4)


def test_per_query_writes_missing_queries_as_lines_of_json(call, run):
    options = ("--measures", "map,p@5", "--missing", "map=zero,p@5=skip", "--json")
    done = call("eval", run, "--qrels", "a.qrels", *options, *QUERIES)
    *found, _ = map(json.loads, done.out.splitlines())
    assert found[-2:] == [{"query": query, "map": 0.0, "p@5": None} for query in MISSING]


@each("options", [["--missing", "skip"], ["--no-count-missing"]])
def test_per_query_leaves_out_missing_queries_that_do_not_count(options, call, run):
    done = call("eval", run, "--qrels", "a.qrels", "--measures", "map", *options, *QUERIES)
    assert [line.split("\t")[1] for line in done.out.splitlines()] == [*JUDGED, "all"]


def test_per_query_has_no_geometric_mean(call, run):
    options = ("--measures", "gm_map,map", "--missing", "skip")
    done = call("eval", run, "--qrels", "a.qrels", *options, *QUERIES)
    names = [line.split("\t")[0].strip() for line in done.out.splitlines()]
    assert names == ["map"] * len(JUDGED) + ["map", "gm_map"]


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_per_query_of_lists_is_that_of_the_run(jobs, call, run, lists, monkeypatch):
    monkeypatch.setattr(lines, "PIECE_BYTES", 3000)
    options = ("--like", "trec_eval", "--measures", "num_q,map,P.5,10", *QUERIES)
    of_run = call("eval", run, "--qrels", "a.qrels", *options)
    found = call("eval", lists, "--jobs", jobs, *options)
    assert found.out == of_run.out


@each("name", ["a.csv", "a.jsonl", "a.parquet"])
def test_per_query_of_rows_is_sorted(name, call, write):
    options = ("--like", "trec_eval", "--measures", "map,P_5", "--json")
    done = call("eval", write(name, as_rows()), *options, *QUERIES)
    *found, _ = map(json.loads, done.out.splitlines())
    values = per_query(["map", "p@5"])
    assert found == [{"query": query, **values[query]} for query in sorted(JUDGED)]


def test_per_query_of_many_rows_comes_in_pieces(call, write, monkeypatch):
    monkeypatch.setattr("streameval.cli.tasks.ranking._PIECE", 3)
    log = write("a.csv", [{"query": n, "relevance": 1, "score": 1} for n in range(10)])
    done = call("eval", log, "--measures", "mrr", "--trec", *QUERIES)
    expected = [f"recip_rank            \t{query}\t1.0000" for query in (*range(10), "all")]
    assert done.out.splitlines() == expected


def test_per_query_gives_what_an_empty_query_counts(call, lists):
    options = ("--measures", "map", "--empty", "nan", "--json")
    *found, whole = map(json.loads, call("eval", lists, *options, *QUERIES).out.splitlines())
    assert [row["query"] for row in found if row["map"] is None] == ["t4"]
    assert whole["metrics"]["map"] is None


def test_per_query_keeps_an_id_on_its_line(call, write):
    log = write("a.jsonl", [{"query": "a\n\tb ü", "relevance": [1], "score": [1]}])
    done = call("eval", log, "--measures", "mrr", *QUERIES)
    assert done.out.splitlines()[0] == r"recip_rank            " + "\t" + r"a\n\tb ü" + "\t1.0000"


def test_per_query_changes_nothing_in_the_state(call, lists):
    call("eval", lists, *QUERIES, "-o", "a.state")
    call("eval", lists, *RANKING, "-o", "b.state")
    assert Path("a.state").read_bytes() == Path("b.state").read_bytes()


def test_per_query_prints_nothing_of_a_file_that_turns_bad(call, write, monkeypatch):
    monkeypatch.setattr(lines, "PIECE_BYTES", 100)
    monkeypatch.setattr(command, "_IN_MEMORY", 10)
    log = write("a.jsonl", [*as_lists(), {"query": "z", "relevance": [1], "score": ["x"]}])
    done = call("eval", log, *QUERIES)
    assert (done.code, done.out) == (3, "")
    assert done.err.startswith("streameval: error: a.jsonl, line 8: `score` must be a list of num")


def test_per_query_says_that_there_is_no_room(call, lists, monkeypatch):
    class Full(tempfile.SpooledTemporaryFile):
        def write(self, text):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "SpooledTemporaryFile", Full)
    done = call("eval", lists, *QUERIES)
    message = "a temporary file cannot be written: no space left on device."
    assert (done.code, done.err) == (5, f"streameval: error: {message}\n")


def test_ranking_leaves_out_a_bad_line_and_counts_the_others(call, write):
    bad = {"query": "z", "relevance": [1, 0], "score": [1], "doc": ["a"], "retrieved": [True]}
    log = write("a.jsonl", [*as_lists()[:2], bad, *as_lists()[2:]])
    options = ("--measures", "map", "--max-bad", 1, "--like", "trec_eval")
    done = call("eval", log, "--json", *options, *QUERIES)
    assert [json.loads(line)["query"] for line in done.out.splitlines()[:-1]] == JUDGED
    assert json.loads(done.out.splitlines()[-1])["bad"] == 1
    reason = "`score` must be as long as `relevance`, got a list of 1 beside one of 2."
    assert done.err == f"streameval: warning: a.jsonl, line 3: {reason}\n"


@pytest.mark.parametrize(
    ("gate", "options", "verdict"),
    [
        ("map>=0.01", [], "passed"),
        ("map>=0.15", [], "undecided"),
        ("map>=0.9", [], "failed"),
        ("ndcg_cut_10>=0.05", [], "passed"),
        ("nDCG@10>=0.05", [], "passed"),
        ("rbp(p=0.8,rel=2)>=0.9", [], "failed"),
        ("p(rel=2)@5 < 0.9", [], "passed"),
        ("map>=0.15", ["--level", 0], "passed"),
        ("n_queries>=7", [], "passed"),
        ("n_missing<1", [], "passed"),
    ],
)
def test_ranking_decides_a_gate_by_the_sampling_interval(gate, options, verdict, call, lists):
    measures = ("--measures", "map,ndcg@10,rbp(p=0.8,rel=2),p(rel=2)@5")
    done = call("eval", lists, *RANKING, *measures, "--require", gate, *options)
    assert done.err.startswith(f"streameval: {verdict}: {gate}: ")
    assert done.code == (verdict != "passed")


def test_ranking_gate_names_the_interval_that_decides(call, lists):
    done = call("eval", lists, *RANKING, "--require", "map>=0.9", "--level", 0.8)
    accumulator = se.RankingAccumulator()
    result = accumulator.update_run({query: RUN[query] for query in JUDGED}, QRELS, False).compute()
    low, high = result.confidence("map", level=0.8)
    found = f"map>=0.9: {result.map:.6g} in [{low:.6g}, {high:.6g}]"
    assert done.err == f"streameval: failed: {found}.\n"


def test_ranking_gate_is_undecided_by_one_query(call, write):
    done = call("eval", write("a.jsonl", as_lists()[:1]), *RANKING, "--require", "map>=0.01")
    assert done.code == 1
    assert " in [0, 1]. To decide it: " in done.err
    options = ("--require", "map>=0.01", "--level", 0)
    assert call("eval", "a.jsonl", *RANKING, *options).code == 0


def test_ranking_gate_is_decided_by_the_certified_interval_at_level_0(call, write):
    log = write("a.jsonl", as_rows())
    options = ("--measures", "map", "--rows-per-query", 3, "--level", 0)
    done = call("eval", log, *RANKING, *options, "--require", "map>=0.15")
    assert done.err.startswith("streameval: undecided: map>=0.15: 0.")


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        ("mpa>0", "no metric 'mpa': did you mean 'map'? Choose from map, mrr, ndcg@10, p@10,"),
        ("ndcg@5>0", "no metric 'ndcg@5': did you mean 'ndcg@10'? Choose from map,"),
        ("map[1]>0", "'map[1]': map has no averages and no classes."),
    ],
)
def test_ranking_gate_says_what_there_is(gate, message, call, lists):
    done = call("eval", lists, *RANKING, "--require", gate)
    assert done.code == 2
    assert done.err.startswith(f"streameval: error: {message}")


def test_ranking_states_merge_and_show(call, write, run):
    for name, part in (("a", as_lists()[:3]), ("b", as_lists()[3:])):
        log = write(f"{name}.jsonl", part)
        assert call("eval", log, *RANKING, "-o", f"{name}.state").code == 0
    assert call("merge", "b.state", "a.state", "-o", "sum.state").out == (
        "2 states merged into sum.state, n = 7\n"
    )
    whole = call("eval", run, *RANKING, "--qrels", "a.qrels", "--no-count-missing")
    assert call("show", "sum.state").out == (
        "sum.state, n = 7\n\n" + whole.out.partition("\n\n")[2]
    )
    shown = call("show", "sum.state", "--json", "--require", "map>=0.01")
    assert (shown.code, shown.json["task"], shown.json["n"]) == (0, "ranking", 7)


def test_ranking_states_of_tracked_queries_are_not_merged_twice(call, lists):
    call("eval", lists, *RANKING, "--track-queries", "-o", "a.state")
    shutil.copy("a.state", "b.state")
    done = call("merge", "a.state", "b.state", "-o", "sum.state")
    assert done.code == 4
    assert done.err == (
        "streameval: error: b.state does not fit a.state: cannot merge: query 't21' is in both.\n"
    )


def test_ranking_states_of_other_measures_are_not_merged(call, lists):
    call("eval", lists, *RANKING, "-o", "a.state")
    call("eval", lists, *RANKING, "--measures", "map", "-o", "b.state")
    done = call("merge", "a.state", "b.state", "-o", "sum.state")
    assert done.code == 4
    assert "cannot merge: `measures` differs" in done.err


MANY = ",".join(f"P_{k}" for k in range(1, 61))


@pytest.mark.uncovered
@pytest.mark.slow
@pytest.mark.usefixtures("small_buffers")
def test_memory_does_not_grow_with_the_run(folder):
    peaks = []
    for queries in (200, 800):
        with (folder / "a.run").open("w") as file:
            for query in range(queries):
                file.writelines(f"q{query} Q0 d{n:030} {n} {100 - n} tag\n" for n in range(100))
        (folder / "a.qrels").write_text("".join(f"q{n} 0 d{7:030} 1\n" for n in range(queries)))
        options = ("--qrels", "a.qrels", "--measures", "map", "--quiet", *QUERIES, "--jobs", 1)
        peak, text = peak_of("eval", "a.run", *options)
        peaks.append(peak)
        assert text.count("\n") == queries + 1
    # The large run has 3.3 MB more; the judgements, and the ids of its queries, are kept.
    assert peaks[1] - peaks[0] < 400_000


@pytest.mark.uncovered
@pytest.mark.slow
@pytest.mark.usefixtures("small_buffers")
def test_memory_does_not_grow_with_the_values_of_queries(folder, monkeypatch):
    monkeypatch.setattr(command, "_IN_MEMORY", 2**14)
    line = json.dumps({"relevance": [0, 1], "score": [1, 2], "note": "x" * 800})[1:]
    peaks = []
    for queries in (200, 800):
        text = "".join(f'{{"query": {query}, {line}\n' for query in range(queries))
        (folder / "a.jsonl").write_text(text)
        options = ("--measures", MANY, "--quiet", *QUERIES, "--jobs", 1)
        peak, text = peak_of("eval", "a.jsonl", *options)
        peaks.append(peak)
        assert text.count("\n") == 60 * (queries + 1)
    # The large file has 1.3 MB more of values.
    assert peaks[1] - peaks[0] < 200_000
