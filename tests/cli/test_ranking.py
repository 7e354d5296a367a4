"""`--task ranking`: runs, lists and rows are counted as a program would."""

import gzip
import json
import os
import threading
from pathlib import Path

import numpy as np
import pytest
from cli.ranking_data import JUDGED, QRELS, RUN, as_lists, as_rows, qrels_text, run_text
from offenders import each

import streameval as se
from streameval.io import lines
from streameval.runs import judged_runs

RANKING = ("--task", "ranking")
DATA = Path(__file__).parents[2] / "docs" / "data"
MEASURES = ("map", "ndcg@5", "p(rel=2)@5", "rbp(p=0.8,rel=2)", "bpref", "judged@10", "gm_map")


def counted(call, *arguments):
    """Count, and return the state and the notes."""
    done = call("eval", *arguments, *RANKING, "-o", "a.state")
    assert done.code == 0, done.err
    return se.load("a.state")


def of_run(measures=None, *, like=None, **options):
    names = {} if measures is None else {"measures": measures}
    make = se.RankingAccumulator if like is None else se.RankingAccumulator.like
    accumulator = make(**names, **({} if like is None else {"name": like}), **options)
    return accumulator.update_run(RUN, QRELS)


def of_queries(*arguments, **options):
    """What the judged queries of the run come to, without the missing ones."""
    accumulator = se.RankingAccumulator(*arguments, **options)
    return accumulator.update_run({query: RUN[query] for query in JUDGED}, QRELS, False)


def parts(folder):
    """Write the run in two files."""
    names = list(RUN)
    for number, part in enumerate((names[:3], names[3:])):
        (folder / f"{number}.run").write_text(run_text({name: RUN[name] for name in part}))
    return ["0.run", "1.run"]


WEIGHTS = dict(zip(JUDGED, [2, 0.5, 1, 0, 3, 1, 2], strict=True))
RUN_WEIGHTS = WEIGHTS | {"t98": 4, "t99": 0.25}


def weighted():
    """What the judged queries of the run come to, each with its weight."""
    accumulator = se.RankingAccumulator(["map", "ndcg@5"])
    queries = {query: RUN[query] for query in JUDGED}
    return accumulator.update_run(queries, QRELS, False, query_weight=WEIGHTS)


@each("form", ["lists", "rows"])
def test_ranking_weight_is_that_of_the_query(form, call, folder):
    lines = as_lists() if form == "lists" else as_rows()
    text = "".join(json.dumps({**line, "w": WEIGHTS[line["query"]]}) + "\n" for line in lines)
    (folder / "a.jsonl").write_text(text)
    found = counted(call, "a.jsonl", "--sample-weight", "w", "--measures", "map,ndcg@5")
    assert found == weighted()


def test_ranking_weight_of_0_prints_no_values_of_the_query(call, folder):
    lines = [{**line, "w": WEIGHTS[line["query"]]} for line in as_lists()]
    (folder / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    options = ("--sample-weight", "w", "--measures", "map", "--per-query", "--json")
    done = call("eval", "a.jsonl", *RANKING, *options)
    assert done.code == 0, done.err
    printed = [json.loads(line) for line in done.out.splitlines()[: len(JUDGED) - 1]]
    kept = [query for query in JUDGED if WEIGHTS[query]]
    assert [(one["query"], one["query_weight"]) for one in printed] == [
        (query, WEIGHTS[query]) for query in kept
    ]


def test_ranking_quantile_is_printed_and_checked_by_name(call, run):
    names = ("--measures", "map,map[median],ndcg@5[q=0.9]", "--budget", "none")
    expected = of_run(["map", "map[median]", "ndcg@5[q=0.9]"], budget=None).compute()
    done = call("eval", run, *RANKING, "--qrels", "a.qrels", *names, "--trec")
    assert done.code == 0, done.err
    lines = dict(line.split("\tall\t") for line in done.out.splitlines())
    assert lines[f"{'map[median]':<22}"] == f"{expected['map[median]']:6.4f}"
    assert lines[f"{'ndcg@5[q=0.9]':<22}"] == f"{expected['ndcg@5[q=0.9]']:6.4f}"
    done = call("eval", run, *RANKING, "--qrels", "a.qrels", *names)
    assert "map[median]" in done.out
    assert "ndcg@5[q=0.9]" in done.out
    gate = ("--require", "map[median]>=0.999", "-o", "a.state")
    done = call("eval", run, *RANKING, "--qrels", "a.qrels", *names, *gate)
    assert done.code == 1, done.err
    assert "map[median]" in done.err


def write_weights(text=None, name="w.txt"):
    lines = (f"{query}\t{weight:g}\n" for query, weight in RUN_WEIGHTS.items())
    Path(name).write_text("# weights\n\n" + "".join(lines) if text is None else text)
    return "--sample-weight", name


@pytest.mark.parametrize("rows", [1, 10**6])
@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_ranking_weights_of_a_run_are_those_of_a_program(jobs, rows, call, run, monkeypatch):
    monkeypatch.setattr(judged_runs, "_ROWS", rows)
    done = call(
        *("eval", run, *RANKING, "--qrels", "a.qrels", *write_weights(), "--jobs", jobs),
        *("--measures", "map,p@5", "-o", "a.state"),
    )
    assert (done.code, done.err) == (
        0,
        "streameval: note: left out 1 query of the run without judgements.\n",
    )
    acc = se.RankingAccumulator(["map", "p@5"]).update_run(RUN, QRELS, query_weight=RUN_WEIGHTS)
    assert se.load("a.state") == acc
    assert acc.compute().n_missing == RUN_WEIGHTS["t98"] + RUN_WEIGHTS["t99"]


@each(
    ("text", "message"),
    [
        ("t3 1\n", "w.txt: has no weight for query 't"),
        ("t3 1\n\nt3 2\n", "w.txt, line 3: query 't3' has a weight already."),
        ("t3\n", "w.txt, line 1: weights have 2 fields (qid weight), and this row has 1."),
        ("t3 -1\n", "w.txt, line 1: `weight` must be a finite number of at least 0, got '-1'."),
        ("t3 inf\n", "w.txt, line 1: `weight` must be a finite number of at least 0, got 'inf'."),
        ("t3 x\n", "w.txt, line 1: `weight` must be a finite number of at least 0, got 'x'."),
    ],
)
def test_ranking_weights_that_do_not_fit_are_named(text, message, call, run):
    done = call("eval", run, *RANKING, "--qrels", "a.qrels", *write_weights(text))
    assert done.code == 3
    assert message in done.err


def test_ranking_weights_that_are_not_text_are_named(call, run):
    Path("w.txt").write_bytes(b"t3 1\nt\xff 1\n")
    done = call("eval", run, *RANKING, "--qrels", "a.qrels", "--sample-weight", "w.txt")
    assert done.code == 3
    assert "w.txt, line 2: not UTF-8." in done.err


def test_ranking_weights_that_are_missing_are_named(call, run):
    done = call("eval", run, *RANKING, "--qrels", "a.qrels", "--sample-weight", "none.txt")
    assert done.code == 3
    assert "none.txt" in done.err


@pytest.mark.parametrize("rows", [1, 40, 10**6])
@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_ranking_state_of_a_run_is_that_of_a_program(jobs, rows, call, run, monkeypatch):
    monkeypatch.setattr(judged_runs, "_ROWS", rows)
    assert counted(call, run, "--qrels", "a.qrels", "--jobs", jobs) == of_run()


def test_ranking_reads_packed_runs_and_qrels(call, run, folder):
    for name in ("a.run", "a.qrels"):
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
    assert counted(call, "a.run.gz", "--qrels", "a.qrels.gz") == of_run()


@pytest.mark.parametrize("piped", ["run", "qrels"])
@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_ranking_reads_standard_input(jobs, piped, call, run, stdin, folder):
    stdin((folder / f"a.{piped}").read_bytes())
    files = ("-", "--qrels", "a.qrels") if piped == "run" else ("a.run", "--qrels", "-")
    assert counted(call, *files, "--jobs", jobs) == of_run()


def test_ranking_takes_files_as_parts_of_one_run(call, run, folder):
    found = counted(call, *parts(folder), "--qrels", "a.qrels")
    assert found == of_run()
    assert found.compute().n_missing == 2


def scattered(lines):
    """Shuffle the rows of a run."""
    rows = lines.splitlines(keepends=True)
    return "".join(rows[place] for place in np.random.default_rng(3).permutation(len(rows)))


@pytest.mark.parametrize("rows", [1, 40, 10**6])
@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_ranking_of_scattered_queries_is_that_of_the_sorted_run(
    jobs, rows, call, run, folder, monkeypatch
):
    monkeypatch.setattr(judged_runs, "_ROWS", rows)
    (folder / "a.run").write_text(scattered(run_text()))
    assert counted(call, run, "--qrels", "a.qrels", "--jobs", jobs) == of_run()


def test_ranking_reads_a_run_with_more_than_six_fields(call, run, folder):
    expected = counted(call, run, "--qrels", "a.qrels")
    (folder / run).write_text(run_text().replace("\n", " a comment\n"))
    assert counted(call, run, "--qrels", "a.qrels") == expected


def test_ranking_says_that_a_run_of_scattered_queries_is_held(call, run, folder):
    first, second = parts(folder)
    (folder / second).write_text(scattered((folder / second).read_text()))
    done = call("eval", first, second, *RANKING, "--qrels", "a.qrels", "-o", "a.state")
    assert se.load("a.state") == of_run()
    why = "was read again and held in memory: the rows of a query are not together."
    assert done.err.splitlines()[0] == f"streameval: note: {second}: {why}"
    assert done.err.count("was read again") == 1


@pytest.mark.parametrize("piped", ["standard input", "a named pipe"])
def test_ranking_reads_scattered_queries_from_a_pipe(piped, call, run, stdin, folder):
    data = gzip.compress(scattered(run_text()).encode())
    if piped == "standard input":
        stdin(data)
        assert counted(call, "-", "--qrels", "a.qrels") == of_run()
        return
    os.mkfifo("pipe")
    writer = threading.Thread(target=(folder / "pipe").write_bytes, args=(data,))
    writer.start()
    assert counted(call, "pipe", "--qrels", "a.qrels") == of_run()
    writer.join()


def test_ranking_lists_scattered_queries_as_they_first_come(call, run, folder):
    text = scattered(run_text())
    (folder / "a.run").write_text(text)
    done = call("eval", run, *RANKING, "--qrels", "a.qrels", "--measures", "map", "--per-query")
    queries = list(dict.fromkeys(line.split()[0] for line in text.splitlines()))
    listed = [line.split("\t")[1] for line in done.out.splitlines()]
    assert listed == [q for q in queries if q in JUDGED] + ["t99", "t98", "all"]


def test_ranking_counts_no_missing_queries_of_a_part_when_told(call, run, folder):
    sums = []
    for name in parts(folder):
        done = call(
            "eval", name, *RANKING, "--qrels", "a.qrels", "--no-count-missing", "-o", name[0]
        )
        assert done.code == 0
        sums.append(name[0])
    assert call("merge", *sums, "-o", "sum").code == 0
    assert se.load("sum") == of_queries()


@pytest.mark.slow
@each(
    ("options", "configuration"),
    [
        (["--measures", "map,rbp(p=0.8,rel=2)"], {"measures": ["map", "rbp(p=0.8,rel=2)"]}),
        (["--measures", "map", "--measures", "P_5,nDCG@3"], {"measures": ["map", "p@5", "ndcg@3"]}),
        (["--relevance-level", 2], {"relevance_level": 2}),
        (["--gain", "exp2"], {"gain": "exp2"}),
        (["--gain", "1=1,2=3,3=8"], {"gain": {1: 1, 2: 3, 3: 8}}),
        (["--ties", "pessimistic"], {"ties": "pessimistic"}),
        (["--ties", "docid_desc"], {"ties": "docid_desc"}),
        (["--ap-norm", "min"], {"ap_norm": "min"}),
        (["--unjudged", "drop"], {"unjudged": "drop"}),
        (["--negative", "zero"], {"negative": "zero"}),
        (["--nan", "last"], {"nan": "last"}),
        (["--empty", "skip"], {"empty": "skip"}),
        (["--empty", "map=skip,ndcg@10=one"], {"empty": {"map": "skip", "ndcg@10": "one"}}),
        (["--missing", "skip"], {"missing": "skip"}),
        (["--missing", "map=skip"], {"missing": {"map": "skip"}}),
        (["--track-queries"], {"track_queries": True}),
        (["--rows-per-query", 5], {"rows_per_query": 5}),
        (["--max-open-queries", 9], {"max_open_queries": 9}),
        (["--like", "trec_eval"], {"like": "trec_eval"}),
        (["--like", "ltr", "--empty", "zero"], {"like": "ltr", "empty": "zero"}),
        (
            ["--like", "trec_eval", "--measures", "ndcg", "--relevance-level", 3],
            {"like": "trec_eval", "measures": ["ndcg"], "relevance_level": 3},
        ),
    ],
)
def test_ranking_options_are_those_of_the_accumulator(options, configuration, call, run):
    assert counted(call, run, "--qrels", "a.qrels", *options) == of_run(**configuration)


def test_ranking_json_is_that_of_the_result(call, run):
    options = ("--qrels", "a.qrels", "--measures", ",".join(MEASURES), "--json", "--bounds")
    found = call("eval", run, *RANKING, *options).json
    expected = of_run(MEASURES).compute()
    assert found["metrics"] == expected.as_dict()
    assert found["intervals"] == {name: list(expected.confidence(name)) for name in expected}
    assert found["bounds"] == {name: [value.low, value.high] for name, value in expected.items()}
    rest = {"task": "ranking", "n": 7, "rows": sum(map(len, RUN.values())), "bad": 0, "exact": True}
    assert found | rest | {"qrels": "a.qrels", "unjudged": 1, "level": 0.95} == found


def test_ranking_json_leaves_intervals_out_at_level_0(call, run):
    found = call("eval", run, *RANKING, "--qrels", "a.qrels", "--json", "--level", 0).json
    assert (found["intervals"], found["level"]) == ({}, 0)


def test_ranking_json_has_the_whole_range_of_one_query(call, write):
    log = write("a.jsonl", as_lists()[:1])
    intervals = call("eval", log, *RANKING, "--json").json["intervals"]
    assert intervals
    assert all(ends == [0.0, 1.0] for ends in intervals.values())


def test_ranking_reports_measures_intervals_and_counts(call, run):
    done = call(
        "eval", run, *RANKING, "--qrels", "a.qrels", "--measures", "map,P_5", "--level", 0.9
    )
    result = of_run(["map", "p@5"]).compute()
    low, high = result.confidence("map", level=0.9)
    heading, blank, counts, _, head, first, second = done.out.splitlines()
    assert (heading, blank) == (f"{sum(map(len, RUN.values()))} rows of 1 file", "")
    assert head.split("  ")[-1].strip() == "90% interval"
    assert first == f"map     {float(result.map):.6f}  [{low:.6f}, {high:.6f}]"
    assert second.startswith("p@5  ")
    assert counts == "7 queries, 1 with nothing relevant, 2 judged but missing"
    assert done.err == "streameval: note: left out 1 query of the run without judgements.\n"


@pytest.mark.parametrize("rows", [1, 10**6])
def test_ranking_says_how_many_queries_have_no_judgements(rows, call, run, folder, monkeypatch):
    monkeypatch.setattr(judged_runs, "_ROWS", rows)
    (folder / "few.qrels").write_text(qrels_text({"t7": QRELS["t7"]}))
    done = call("eval", run, *RANKING, "--qrels", "few.qrels")
    assert done.err == "streameval: note: left out 7 queries of the run without judgements.\n"
    quiet = call("eval", run, *RANKING, "--qrels", "few.qrels", "--quiet")
    assert quiet.err == ""


def test_ranking_says_nothing_of_a_run_that_is_judged_in_full(call, folder):
    (folder / "a.run").write_text(run_text({"t7": RUN["t7"]}))
    (folder / "a.qrels").write_text(qrels_text())
    assert call("eval", "a.run", *RANKING, "--qrels", "a.qrels").err == ""


def test_ranking_report_has_certified_intervals_of_what_was_not_kept(call, write):
    options = ("--rows-per-query", 3, "--measures", "map", "--level", 0)
    found = call("eval", write("a.jsonl", as_rows()), *RANKING, *options)
    head, first = found.out.splitlines()[4:6]
    assert head.endswith("  exact value within")
    assert first.startswith("map     0.")
    assert "  [0." in first


@each("name", ["a.jsonl", "a.jsonl.gz", "a.parquet"])
def test_ranking_reads_lists_of_whole_queries(name, call, write):
    assert counted(call, write(name, as_lists())) == of_queries()


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_ranking_of_lists_is_the_same_over_blocks_and_processes(jobs, call, write, monkeypatch):
    monkeypatch.setattr(lines, "PIECE_BYTES", 2000)
    found = counted(call, write("a.jsonl", as_lists()), "--jobs", jobs, "--like", "trec_eval")
    expected = se.RankingAccumulator.like("trec_eval")
    assert found == expected.update_run({query: RUN[query] for query in JUDGED}, QRELS, False)


def test_ranking_needs_no_more_than_relevances_and_scores(call, write):
    log = write(
        "a.jsonl", [{"relevance": [0, 1], "score": [2, 1]}, {"relevance": [1], "score": [0]}]
    )
    found = counted(call, log, "--measures", "mrr")
    relevance, score, mask = [[0, 1], [1, 0]], [[2, 1], [0, 0]], [[True, True], [True, False]]
    assert found == se.RankingAccumulator("mrr").update(relevance, score, mask=mask)


@each("doc", ["d", 7])
def test_ranking_counts_a_query_without_documents(doc, call, write):
    names = ("relevance", "score", "doc", "retrieved")
    rows = [
        {"query": 1, **{name: [] for name in names}},
        {"query": 2, "relevance": [1], "score": [0.5], "doc": [doc], "retrieved": [True]},
    ]
    found = counted(call, write("a.jsonl", rows), "--track-queries")
    expected = se.RankingAccumulator(track_queries=True)
    mask = [[False], [True]]
    assert found == expected.update([[0], [1]], [[0.0], [0.5]], mask=mask, query=[1, 2])


def test_ranking_counts_queries_that_are_all_without_documents(call, write):
    found = counted(call, write("a.jsonl", [{"relevance": [], "score": []}] * 3))
    assert found.compute().as_dict() | {"n_queries": 3, "n_empty": 3, "map": 0.0} == (
        found.compute().as_dict()
    )


def test_ranking_reads_how_many_relevant_documents_there_are(call, write):
    lists = {"relevance": [1, 0], "score": [2, 1]}
    rows = [{"query": query, **lists, "num_relevant": n} for query, n in [("a", 4), ("b", 2)]]
    found = counted(call, write("a.jsonl", rows), "--measures", "r@10")
    assert found.compute()["r@10"] == (1 / 4 + 1 / 2) / 2


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz", "a.jsonl", "a.parquet"])
@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_ranking_reads_rows_of_queries_in_any_order(jobs, name, call, write, monkeypatch):
    monkeypatch.setattr(lines, "PIECE_BYTES", 1000)
    found = counted(call, write(name, as_rows()), "--jobs", jobs, "--like", "trec_eval")
    expected = se.RankingAccumulator.like("trec_eval")
    assert found == expected.update_run({query: RUN[query] for query in JUDGED}, QRELS, False)


def test_ranking_reads_columns_of_other_names(call, write):
    names = {"query": "q", "doc": "d", "relevance": "rel", "score": "s", "retrieved": "was"}
    log = write("a.csv", [{names[key]: row[key] for key in names} for row in as_rows()])
    options = [word for key in names for word in (f"--{key}", names[key])]
    found = counted(call, log, *options, "--ties", "docid_desc")
    assert found == of_queries(ties="docid_desc")


@each("name", ["a.csv", "a.jsonl"])
def test_ranking_reads_integers_as_queries(name, call, write):
    rows = [
        {"query": q, "relevance": r, "score": s} for q, r, s in [(7, 1, 1), (8, 0, 2), (7, 0, 2)]
    ]
    found = counted(call, write(name, rows), "--track-queries")
    expected = se.RankingAccumulator(track_queries=True)
    assert found == expected.update([1, 0, 0], [1, 2, 2], query=[7, 8, 7])


@each("words", [("true", "false"), ("1", "0"), (True, False), ("1.0", "0.0")])
def test_ranking_reads_what_was_retrieved_in_words(words, call, write):
    yes, no = words
    rows = [
        {"query": "a", "relevance": 0, "score": 1, "retrieved": yes},
        {"query": "a", "relevance": 1, "score": "", "retrieved": no},
    ]
    found = counted(call, write("a.csv", rows), "--measures", "r@10")
    expected = se.RankingAccumulator("r@10")
    assert found == expected.update([[0, 1]], [[1, 0]], retrieved=[[True, False]])


def test_ranking_reads_rows_with_how_many_are_relevant(call, write):
    rows = [
        {"query": q, "relevance": 1, "score": s, "R": 4} for q, s in [("a", 1), ("b", 1), ("a", 2)]
    ]
    found = counted(call, write("a.csv", rows), "--num-relevant", "R", "--measures", "r@10")
    assert found.compute()["r@10"] == (2 / 4 + 1 / 4) / 2


def test_ranking_of_the_sample_is_that_of_its_page(call):
    """The numbers in docs/data/README.md are computed by definition."""
    page = (DATA / "README.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith("| `digits_retrieval.*`"))
    run, qrels, log = (DATA / f"digits_retrieval.{end}.gz" for end in ("run", "qrels", "jsonl"))
    options = ("--measures", "map,ndcg@10,p@10,r@50,mrr", "--json", *RANKING)
    of_run = call("eval", run, "--qrels", qrels, *options).json["metrics"]
    names = ("MAP", "nDCG@10", "precision@10", "recall@50", "MRR")
    values = [of_run[name] for name in ("map", "ndcg@10", "p@10", "r@50", "mrr")]
    for name, value in zip(names, values, strict=True):
        assert f"{name} {value:.5f}" in row
    assert call("eval", log, *options).json["metrics"] == of_run


def test_ranking_json_lines_of_lists_may_hold_more(call, write):
    """What is not read may be anything."""
    lists = [json.loads(json.dumps(line)) | {"note": {"a": [1, None]}} for line in as_lists()]
    assert counted(call, write("a.jsonl", lists)) == of_queries()


def test_judgements_need_no_task(call, folder):
    (folder / "a.run").write_text("q1 Q0 d1 1 2.5 tag\n")
    (folder / "a.qrels").write_text("q1 0 d1 1\n")
    given = ("eval", "a.run", "--qrels", "a.qrels", "--json")
    assert call(*given).json == call(*given, "--task", "ranking").json


@each(
    ("suffix", "in_lists"),
    [("csv", False), ("jsonl", False), ("parquet", False), ("jsonl", True), ("parquet", True)],
)
def test_ranks_are_told_from_scores_and_read_as_such(suffix, in_lists, call, write):
    rows = [
        {"query": f"q{q}", "relevance": int(at <= q % 2), "position": at + 1, "minus": -at}
        for q in range(5)
        for at in range(4 + q)
    ]
    if in_lists:
        names = ("relevance", "position", "minus")
        rows = [
            {"query": query, **{name: [one[name] for one in of_one] for name in names}}
            for query in dict.fromkeys(row["query"] for row in rows)
            for of_one in [[row for row in rows if row["query"] == query]]
        ]
    given = ("eval", write(f"log.{suffix}", rows), "--task", "ranking", "--json")
    as_scores = call(*given, "--y-score", "position")
    assert as_scores.err == (
        "streameval: note: `position` is 1, 2, 3 and so on in each query, and the highest score "
        "comes first; if these are ranks, use --rank position.\n"
    )
    as_ranks = call(*given, "--rank", "position")
    assert as_ranks.err == ""
    right = call(*given, "--y-score", "minus")
    assert as_ranks.json["metrics"] == right.json["metrics"] != as_scores.json["metrics"]
    assert right.err == ""


def test_ranks_are_told_where_the_rows_of_queries_are_not_together(call, write):
    rows = [{"query": q, "relevance": 1, "position": at} for at in (3, 1, 2) for q in "abc"]
    done = call("eval", write("a.csv", rows), "--task", "ranking", "--y-score", "position")
    assert "use --rank position" in done.err


def test_ranks_that_are_no_numbers_are_bad_rows(call, write):
    rows = [{"query": "a", "relevance": 1, "position": at} for at in (1, "x")]
    given = ("eval", write("log.csv", rows), "--task", "ranking", "--rank", "position")
    assert "line 3: `position` must be a number, got 'x'" in call(*given).err
    assert call(*given, "--y-score", "s").err.startswith(
        "streameval: error: --y-score cannot be used with --rank"
    )


def test_scores_of_few_rows_or_with_gaps_are_no_ranks(call, write):
    for scores in ([1, 2], [1, 2, 4], [2, 3, 4], [0.5, 1, 2]):
        rows = [{"query": "a", "relevance": 1, "score": score} for score in scores]
        assert call("eval", write("log.jsonl", rows), "--task", "ranking").err == ""
