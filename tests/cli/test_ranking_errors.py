"""`--task ranking`: what does not fit is said in one line."""

import io
import json

import pytest
from cli.outcome import error_of
from cli.ranking_data import QRELS, RUN, as_lists, as_rows, qrels_text, run_text
from offenders import each

from streameval.io import lines
from streameval.runs import judged_runs

RANKING = ("--task", "ranking")
COMPARE = "To compare runs query by query, use --task ranking --compare."
ONE = {"query": "a", "relevance": 1, "score": 0.5}
LIST = {"query": "a", "relevance": [1], "score": [0.5]}


@each(
    ("options", "message"),
    [
        (["--query", "q"], "--query cannot be used with --qrels: TREC files have no header."),
        (
            ["--relevance", "r"],
            "--relevance cannot be used with --qrels: TREC files have no header.",
        ),
        (["--y-score", "s"], "--y-score cannot be used with --qrels: TREC files have no header."),
        (["--num-relevant", "n"], "--num-relevant cannot be used with --qrels: TREC files have no"),
        (["--format", "csv"], "--format cannot be used with --qrels: both are TREC files."),
        (
            ["--max-bad", "1"],
            "--max-bad cannot be used with --qrels: every row of a run must be valid.",
        ),
        (["--trec", "--json"], "--trec cannot be used with --json."),
        (
            ["--measures", "mpa"],
            "--measures has no 'mpa': did you mean 'map'? Choose from map, mrr, ",
        ),
        (["--measures", "p"], "--measures needs a cutoff for 'p', as in p@10."),
        (["--measures", "map,AP"], "--measures must be distinct, got 'map' twice."),
        (["--empty", "ndcg@7=one"], "--empty must name measures among map, mrr,"),
        (["--empty", "never"], "--empty must be "),
        (["--nan", "skip"], "--nan must be "),
        (["--gain", "log"], "--gain must be "),
        (["--require", "mpa>1"], "no metric 'mpa': did you mean 'map'?"),
        (["-o", "a.qrels"], "-o a.qrels would overwrite an input."),
        (["-o", "a.run"], "-o a.run would overwrite an input."),
    ],
)
def test_ranking_of_a_run_says_what_does_not_fit(options, message, call, run):
    found = error_of(call("eval", run, *RANKING, "--qrels", "a.qrels", *options), 2)
    assert found.startswith(message)


@each(
    ("row", "options", "message"),
    [
        ({"score": 1, "relevanc": 1}, [], "no column 'relevance' in the first rows: did you mean"),
        (
            ONE,
            ["--relevance", "rel"],
            "no column 'rel' in the first rows: choose from query, relevance",
        ),
        (ONE, ["--query", "querry"], "no column 'querry' in the first rows: did you mean 'query'?"),
        (
            LIST,
            ["--doc", "dok"],
            "no column 'dok' in the first rows: choose from query, relevance,",
        ),
        ({"relevance": 1, "score": 1}, [], "no column 'query' in the first rows: choose from"),
        (ONE, ["--y-score", "a,b"], "--y-score takes one column."),
        (ONE, ["--no-count-missing"], "--no-count-missing needs --qrels."),
        (ONE, ["--ties", "docid_desc"], "--doc is missing: --ties docid_desc needs the documents."),
        (LIST, ["--like", "trec_eval"], "--doc is missing: --ties docid_desc needs the documents."),
        (
            LIST | {"num_relevant": 3},
            ["--measures", "p@5,p(rel=2)@5"],
            "--num-relevant is one number, but the measures have several relevance levels.",
        ),
        (
            {"relevance": [1], "score": [1]},
            ["--per-query"],
            "--per-query needs the queries: a column `query`, or the one that --query names.",
        ),
        (
            {"relevance": [1], "score": [1]},
            ["--track-queries"],
            "--track-queries needs the queries: a column `query`, or the one that --query",
        ),
        (ONE, ["--require", "ndgc@10>0"], "no metric 'ndgc@10': did you mean 'ndcg@10'? Choose"),
    ],
)
def test_ranking_of_rows_says_what_does_not_fit(row, options, message, call, write):
    found = error_of(call("eval", write("a.jsonl", [row]), *RANKING, *options), 2)
    assert found.startswith(message)


@each("options", [["--gain", "1=x"], ["--gain", "1=1,1=2"], ["--gain", "=2"]])
def test_ranking_refuses_a_gain_that_is_none(options, call):
    done = call("eval", "a", *RANKING, *options)
    assert done.code == 2
    assert "argument --gain: must be " in done.err.splitlines()[-1]


@each("option", ["--empty", "--missing"])
def test_ranking_refuses_a_policy_that_names_no_measure(option, call):
    done = call("eval", "a", *RANKING, option, "=skip")
    pairs = "pairs such as a=1,b=2 with different keys"
    assert f"argument {option}: must be a word, or {pairs}, got" in done.err


@pytest.mark.parametrize("space", [" ", "\t"])
@pytest.mark.parametrize("name", ["a.run", "-"])
def test_ranking_asks_for_the_judgements_of_a_run(name, space, call, stdin, folder):
    text = run_text().replace(" ", space)
    (folder / "a.run").write_text(text)
    stdin(text.encode())
    message = "the file looks like a TREC run; pass its judgements with --qrels."
    assert error_of(call("eval", name, *RANKING), 2) == message
    stdin(text.encode())
    assert error_of(call("eval", name), 2) == message


def test_eval_takes_columns_of_numbered_classes_for_no_run(call, write):
    row = {"y": 0, "0": 0.5, "1": 0.25, "2": 0.125, "3": 0.125, "4": 0.0}
    done = call("eval", write("a.csv", [row]), "--y-score", "0,1,2,3,4")
    assert "no column 'y_true'" in done.err


@each(
    ("names", "what"),
    [
        (["-", "--qrels", "-"], "the run and its --qrels"),
        (["-", "--qrels", "q", "--sample-weight", "-"], "the run and its --sample-weight"),
        (["a.run", "--qrels", "-", "--sample-weight", "-"], "its --qrels and its --sample-weight"),
    ],
)
def test_ranking_reads_standard_input_once(names, what, call):
    found = error_of(call("eval", *names, *RANKING), 2)
    assert found == f"standard input cannot be {what}."


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_ranking_names_a_query_of_two_files(jobs, call, run, folder, monkeypatch):
    monkeypatch.setattr(judged_runs, "_ROWS", 1)
    (folder / "b.run").write_text(run_text({"t7": RUN["t7"]}))
    done = call("eval", run, "b.run", *RANKING, "--qrels", "a.qrels", "--jobs", jobs)
    assert error_of(done, 3) == f"b.run: query 't7' is in a.run as well. {COMPARE}"


def test_ranking_says_how_to_compare_a_run_with_scattered_queries(call, run, folder):
    (folder / "b.run").write_text("t1 Q0 x 1 1 t\nt7 Q0 x 1 1 t\nt1 Q0 y 1 1 t\n")
    found = error_of(call("eval", run, "b.run", *RANKING, "--qrels", "a.qrels"), 3)
    assert found.endswith(f" is in a.run as well. {COMPARE}")


@each("options", [RANKING, ()])
def test_ranking_says_how_to_compare_runs(options, call, run):
    done = call("eval", run, *options, "--qrels", "a.qrels", "--versus", "b.run")
    assert error_of(done, 2).endswith(COMPARE)


def test_ranking_asks_whether_run_and_qrels_are_swapped(call, run):
    found = error_of(call("eval", "a.qrels", *RANKING, "--qrels", run), 3)
    assert found == (
        "a.run, line 1: qrels have 4 fields (qid iter docid rel), and this row has 6. Are the run "
        "and --qrels swapped?"
    )
    found = error_of(call("eval", "a.qrels", *RANKING, "--qrels", "a.qrels"), 3)
    assert found == (
        "a.qrels, line 1: a run has 6 fields (qid Q0 docid rank score tag), and this row has 4. "
        "Are the run and --qrels swapped?"
    )


def test_ranking_does_not_ask_whether_a_stream_is_swapped(call, run, stdin):
    stdin(run_text().encode())
    found = error_of(call("eval", run, *RANKING, "--qrels", "-"), 3)
    assert found.endswith("(qid iter docid rel), and this row has 6.")


def test_ranking_names_a_document_that_comes_back_with_its_query(call, run, folder):
    (folder / "a.run").write_text("t7 Q0 x 1 1 t\nt8 Q0 x 1 1 t\nt7 Q0 x 1 1 t\n")
    found = error_of(call("eval", run, *RANKING, "--qrels", "a.qrels"), 3)
    reason = "document 'x' of query 't7' is already on line 1"
    assert found == f"a.run, line 3: {reason}."


def test_ranking_names_a_bad_line_after_a_query_that_comes_back(call, run, folder):
    (folder / "a.run").write_text("t7 Q0 x 1 1 t\nt8 Q0 x 1 1 t\nt7 Q0 y 1 1 t\nbad\n")
    (folder / "b.run").write_text("t3 Q0 x 1 1 t\nbad\n")
    found = error_of(call("eval", "b.run", run, *RANKING, "--qrels", "a.qrels"), 3)
    assert found.startswith("b.run, line 2: a run has 6 fields")
    found = error_of(call("eval", run, *RANKING, "--qrels", "a.qrels"), 3)
    assert found.startswith("a.run, line 4: a run has 6 fields")


def test_ranking_says_that_there_is_no_room_for_a_copy(call, run, stdin, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    class Full(io.BytesIO):
        write = full

    monkeypatch.setattr(judged_runs, "TemporaryFile", Full)
    stdin(run_text().encode())
    found = error_of(call("eval", "-", *RANKING, "--qrels", "a.qrels"), 5)
    assert found == "a temporary file cannot be written: no space left on device."


@each("text", ["", "\n\n", "# nothing\n"])
def test_ranking_says_that_a_run_has_no_rows(text, call, folder):
    (folder / "c.run").write_text(text)
    (folder / "c.qrels").write_text("q 0 d1 1\n")
    found = error_of(call("eval", "c.run", *RANKING, "--qrels", "c.qrels"), 3)
    assert found.startswith("c.run: holds no rows")


def test_ranking_notes_that_no_document_is_judged(call, run, folder):
    (folder / "b.qrels").write_text("t3 0 x 1\n")
    done = call("eval", run, *RANKING, "--qrels", "b.qrels", "--json")
    assert done.json["metrics"]["map"] == 0
    assert done.err.startswith(
        "streameval: note: b.qrels: none of the documents of the run is judged; the run begins "
        "with document '"
    )
    assert "', and the judgements with 'x'.\n" in done.err


@each(
    ("scores", "note"),
    [
        (
            "123",
            "rank 1 has the lowest score, but the highest score comes first; of distances, use",
        ),
        (
            "111",
            "all scores of a query are equal, and ranks do not count; `awk '{$5 = -$4} 1'` mak",
        ),
        ("321", ""),
        ("113", ""),
        ("1", ""),
    ],
)
def test_ranking_notes_scores_that_do_not_fall_with_the_rank(scores, note, call, folder):
    rows = [
        f"{query} Q0 d{rank} {rank} {score} tag\n"
        for query in ("q1", "q2")
        for rank, score in enumerate(scores, 1)
    ]
    (folder / "c.run").write_text("".join(rows[::-1]))
    (folder / "c.qrels").write_text("q1 0 d1 1\nq2 0 d1 1\n")
    told = call("eval", "c.run", *RANKING, "--qrels", "c.qrels").err
    assert told.startswith(f"streameval: note: c.run: {note}") if note else not told


@each("row", ["q Q0 {} 0 {} tag\n", "q Q0 {} first {} tag\n"])
def test_ranking_notes_nothing_of_ranks_that_are_none(row, call, folder):
    (folder / "c.run").write_text("".join(row.format(f"d{n}", n) for n in range(3)))
    (folder / "c.qrels").write_text("q 0 d1 1\n")
    assert call("eval", "c.run", *RANKING, "--qrels", "c.qrels").err == ""


def test_ranking_names_the_command_that_finds_clicked_ids_among_shown_ones(call, write):
    log = write("a.jsonl", [{"query": "q", "shown": ["a", "b"], "clicked": ["b"]}])
    options = ("--relevance", "clicked", "--doc", "shown")
    assert error_of(call("eval", log, *RANKING, *options), 2) == (
        "`clicked` holds ids, not numbers; jq -c '.clicked as $ids | .relevance = [.shown[] | if "
        "IN($ids[]) then 1 else 0 end] | .rank = [range(1; (.shown | length) + 1)]' FILE > "
        "rows.jsonl writes the relevance of each of `shown`, and --rank rank reads its place."
    )


def test_ranking_says_it_of_the_first_run_that_has_rows(call, run, folder):
    (folder / "empty.run").write_text("\n")
    (folder / "b.qrels").write_text("t3 0 x 1\n")
    done = call("eval", "empty.run", run, "--qrels", "b.qrels", *RANKING)
    assert "none of the documents of the run is judged" in done.err


def test_ranking_says_that_no_query_is_judged(call, run, folder):
    (folder / "b.qrels").write_text("x 0 d1 1\n")
    found = error_of(call("eval", run, *RANKING, "--qrels", "b.qrels"), 3)
    assert found == (
        "b.qrels: none of the queries of the run is judged; the run begins with query 't12', and "
        "the judgements with 'x'."
    )


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.qrels", "", "a.qrels: holds no rows."),
        ("a.qrels", "t7 0 d1 x\n", "a.qrels, line 1: `rel` must be a finite number, got 'x'."),
        ("a.run", "", "a.run: holds no rows."),
        ("a.run", "t7 Q0 d1 1 nan x\n", "a.run, line 1: `score` must be a number, got 'nan'."),
        (
            "a.run",
            "t7 d1\n",
            "a.run, line 1: a run has 6 fields (qid Q0 docid rank score tag), and",
        ),
    ],
)
def test_ranking_names_the_line_of_a_bad_file(name, text, message, call, run, folder):
    (folder / name).write_text(text)
    assert error_of(call("eval", run, *RANKING, "--qrels", "a.qrels"), 3).startswith(message)


def test_ranking_names_a_file_that_is_not_there(call, run):
    found = error_of(call("eval", run, *RANKING, "--qrels", "b.qrels"), 3)
    assert found == "b.qrels: no such file or directory."


def test_ranking_warns_of_a_run_without_rows(call, run, folder):
    (folder / "b.run").write_text("# nothing\n")
    done = call("eval", run, "b.run", *RANKING, "--qrels", "a.qrels")
    assert done.code == 0
    assert "streameval: warning: b.run: holds no rows.\n" in done.err


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_ranking_names_the_query_whose_judgements_are_refused(jobs, call, run, folder):
    (folder / "b.qrels").write_text(qrels_text(QRELS | {"t21": {"d5": -1.0}}))
    done = call("eval", run, *RANKING, "--qrels", "b.qrels", "--jobs", jobs)
    found = error_of(done, 3)
    rule = "`relevance` must not be negative (see --negative zero), got -1.0."
    assert found == f"a.run, query t21: {rule}"


@each(
    ("row", "message"),
    [
        ({"relevance": "x"}, "`relevance` must be a number, got 'x'."),
        ({"relevance": -1}, "`relevance` must not be negative (see --negative zero), got -1.0."),
        ({"score": None}, "`score` is missing."),
        ({"score": "nan"}, "`score` must not hold NaN, got NaN. Pass --nan last to rank it below"),
        ({"query": None}, "`query` is missing."),
        ({"doc": "x" * 5000}, "`doc` must be text of at most 4096 characters"),
        ({"retrieved": "maybe"}, "`retrieved` must be true or false, or 1 or 0, got 'maybe'."),
    ],
)
def test_ranking_names_the_row_that_does_not_fit(row, message, call, write):
    rows = as_rows()
    rows[150] |= {"retrieved": True, "score": 1.0} | row
    if "score" in row:
        rows = [{key: row[key] for key in ("query", "relevance", "score")} for row in rows]
        rows = [row if row["score"] is not None else row | {"score": 0} for row in rows]
        rows[150] |= row
    log = write("a.csv", rows)
    found = error_of(call("eval", log, *RANKING), 3)
    assert found.startswith(f"a.csv, line 152: {message}")


@each(
    ("line", "message"),
    [
        ({"relevance": 1}, "`relevance` must be a list of numbers, got 1."),
        ({"relevance": ["x"]}, "`relevance` must be a list of numbers, got ['x']."),
        (
            {"score": [1, 2]},
            "`score` must be as long as `relevance`, got a list of 2 beside one of 1.",
        ),
        ({"score": [None]}, "`score` must be a list of numbers, got [None]."),
        ({"score": None}, "`score` is missing."),
        ({"query": 7.5}, "`query` must be text as the first ones are"),
    ],
)
def test_ranking_names_the_line_that_does_not_fit(line, message, call, write):
    log = write("a.jsonl", [LIST | {"query": "b"}, LIST | line])
    assert error_of(call("eval", log, *RANKING), 3).startswith(f"a.jsonl, line 2: {message}")


@pytest.mark.parametrize("size", [10, 10**6])
def test_ranking_names_a_query_of_two_lines(size, call, write, monkeypatch):
    monkeypatch.setattr(lines, "PIECE_BYTES", size)
    found = error_of(call("eval", write("a.jsonl", [LIST] * 2), *RANKING), 3)
    assert found == "a.jsonl: query 'a' comes twice."


def test_ranking_names_a_line_query_of_two_files(call, write):
    files = [write(name, [LIST]) for name in ("a.jsonl", "b.jsonl")]
    assert (
        error_of(call("eval", *files, *RANKING), 3)
        == f"b.jsonl: query 'a' is in a.jsonl as well. {COMPARE}"
    )


def test_ranking_refuses_a_document_that_a_line_has_twice(call, write):
    line = {"query": "a", "relevance": [1, 0], "score": [1, 2], "doc": ["x", "x"]}
    found = error_of(call("eval", write("a.jsonl", [line]), *RANKING), 3)
    assert found.startswith("a.jsonl, line 1: `doc` ")


@each("n_bad", [0, 1])
def test_ranking_refuses_a_document_that_a_query_of_rows_has_twice(n_bad, call, write):
    rows = [ONE | {"doc": doc} for doc in ("x", "y", "z", "x")] + [
        ONE | {"doc": "b", "relevance": -1}
    ] * n_bad
    found = error_of(call("eval", write("a.csv", rows), *RANKING, "--max-bad", 1), 3)
    assert found.startswith("a.csv: `doc` ")
    assert "'x'" in found


def test_ranking_refuses_other_numbers_of_relevant_documents(call, write):
    rows = [ONE | {"num_relevant": n} for n in (3, 4)]
    found = error_of(call("eval", write("a.csv", rows), *RANKING, "--measures", "p@5"), 3)
    assert found.startswith("a.csv, line 3: `num_relevant` must be ")
    assert "got 3 and 4 for query 'a'" in found


@pytest.mark.parametrize("size", [20, 10**6])
def test_ranking_refuses_more_open_queries_than_asked_for(size, call, write, monkeypatch):
    monkeypatch.setattr(lines, "PIECE_BYTES", size)
    log = write("a.csv", [ONE | {"query": f"q{n}"} for n in range(9)])
    found = error_of(call("eval", log, *RANKING, "--max-open-queries", 8), 3)
    assert (
        "`query` would bring the number of open queries to 9, past --max-open-queries 8." in found
    )


def test_ranking_leaves_out_bad_rows_up_to_a_number(call, write):
    rows = [
        ONE,
        ONE | {"relevance": -1},
        ONE | {"score": 1, "relevance": 0},
        ONE | {"relevance": -2},
    ]
    log = write("a.csv", rows)
    options = ("--measures", "mrr", "--json")
    done = call("eval", log, *RANKING, "--max-bad", 2, *options)
    assert (done.json["bad"], done.json["metrics"]["mrr"]) == (2, 0.5)
    assert done.err.splitlines()[0].startswith("streameval: warning: a.csv, line 3: `relevance` ")
    past = error_of(call("eval", log, *RANKING, "--max-bad", 1, *options), 3)
    assert past.endswith(" That is bad row 2; --max-bad is 1.")


def test_ranking_says_that_all_rows_are_bad(call, write):
    rows = [ONE | {"relevance": -1}] * 2
    assert error_of(call("eval", write("a.csv", rows), *RANKING, "--max-bad", 2), 3) == (
        "a.csv, line 2: `relevance` must not be negative (see --negative zero), got -1.0. "
        "No row is valid; bad rows: 2."
    )


def test_ranking_of_lists_in_a_table_of_text_says_so(call, write):
    log = write("a.csv", [{key: json.dumps(value) for key, value in as_lists()[0].items()}])
    assert error_of(call("eval", log, *RANKING), 3).startswith(
        "a.csv, line 2: `relevance` must be a number, got '["
    )
