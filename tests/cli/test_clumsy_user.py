"""What people get wrong: one line on standard error, and the exit code that belongs to it."""

import gzip
import json
import subprocess
import sys

import pytest
from offenders import each

SCORES = "y_true,y_score\n1,0.75\n0,0.25\n"
LABELS = "y_true,y_pred\n1,1\n0,1\n"
BINARY = ("--task", "binary")
NO_TRUTH = "no column 'y_true' in the first rows: choose from "

MISNAMED = [
    (
        LABELS,
        ["--y-true", "y_treu"],
        "no column 'y_treu' in the first rows: did you mean 'y_true'?",
    ),
    (
        LABELS.upper(),
        [],
        "no column 'y_true' in the first rows: did you mean 'Y_TRUE'? Choose from",
    ),
    (",a\n0,1\n", [], "no column 'y_true' in the first rows: choose from '', a."),
    (
        "clicked,p\n1,1\n",
        [],
        "no column 'y_true' in the first rows: choose from clicked, p. --y-true, --y-pred name the",
    ),
    (LABELS, BINARY, "no column 'y_score' in the first rows: did you mean"),
    (
        "Report,May,\n2026,,\nan id,y_true,y_pred\n7,1,1\n",
        [],
        f"{NO_TRUTH}Report, May, ''. A later row names 'y_true': `sed -n '/^[^[:alnum:]]*an.id/",
    ),
    (
        "a,b,c\nx,,\n,y_true,y_pred\n0,1,1\n",
        [],
        f"{NO_TRUTH}a, b, c. A later row names 'y_true': `sed -n '/^[^[:alnum:]]*y_true/,$p' ",
    ),
    (
        "1.0e+00 2.5e-01\n0.0e+00 5.0e-01\n",
        BINARY,
        f"{NO_TRUTH}1.0e+00, 2.5e-01. The first row has numbers alone; --header A,B,C names",
    ),
    (
        "1.0e+00 2.5e+00\n-1.0e+00 nan\n",
        BINARY,
        (
            f"{NO_TRUTH}1.0e+00, 2.5e+00. The first row has numbers alone; --header A,B,C names "
            "the columns of a file without. --scores real reads scores outside [0, 1]."
        ),
    ),
    (
        "1.0e+00 2.5e-01\n0.0e+00 5.0e-01\n",
        [*BINARY, "--y-true", "1", "--y-score", "2"],
        (
            "no column '1' in the first rows: choose from 1.0e+00, 2.5e-01. The first row has "
            "numbers alone; --header none numbers the columns of a file without."
        ),
    ),
    (
        "LABEL,SCORE\n\\N,0.5\n1,0.5\n",
        [*BINARY, "--y-true", "label", "--y-score", "score"],
        (
            "no column 'label' in the first rows: did you mean 'LABEL'? Choose from LABEL, SCORE. "
            "Their names differ in case: LABEL, SCORE. --na '\\N' --where 'LABEL!=' leaves out"
        ),
    ),
    (
        "y_true,y_pred\n['a'],['b']\n",
        ["--multilabel"],
        "`y_true` holds lists of names, and --multilabel reads 0 and 1, which MultiLabelBinarizer",
    ),
    (
        "model_a,model_b,winner\nx,y,a\n",
        [],
        f"{NO_TRUTH}model_a, model_b, winner. The columns are those of --task preferences.",
    ),
    (
        "query,relevance\nq,1\n",
        [],
        f"{NO_TRUTH}query, relevance. The columns are those of --task ranking.",
    ),
    (SCORES, ["--task", "regression"], "no column 'y_pred' in the first rows: did you mean"),
    (
        SCORES,
        ["--task", "ranking"],
        "no column 'relevance' in the first rows: choose from y_true, y",
    ),
    (SCORES.replace("1,", "good,"), BINARY, "`y_true` holds text, 'good'; name the positive one"),
    ("y_true,y_pred\n1,0.75\n", [], "`y_pred` holds fractions, 0.75, which are not labels; --task"),
    (
        "y_true,y_pred\n0.5,0.75\n",
        [],
        "`y_true` holds fractions, 0.5, which are not labels; --task",
    ),
]
BAD = [
    (SCORES.replace("0.75", "high"), [], "line 2: `y_score` must be a number, got 'high'."),
    (
        SCORES.replace("0.75", "75%"),
        BINARY,
        "line 2: `y_score` must be a number (--percent reads percentages), got '75%'.",
    ),
    (SCORES.replace("0.75", "75"), BINARY, "line 2: `y_score` must lie in [0, 1], got 75.0. Pass"),
    (SCORES.replace("0.75", "nan"), BINARY, "line 2: `y_score` must not hold NaN, got NaN."),
    (
        SCORES.replace("0.75", '"0,75"'),
        BINARY,
        "line 2: `y_score` must be a number with a decimal point (--decimal , reads commas), got",
    ),
    (
        'y_true,y_pred\n2,3\n"1,234","1,230"\n',
        ["--task", "regression"],
        (
            "line 3: `y_true` must be a number (--thousands , or --decimal , reads such numbers), "
            "got '1,234'."
        ),
    ),
    (
        LABELS.replace(",", "|"),
        ["--delimiter", ","],
        "the delimiter looks like '|'; --delimiter '|' reads it.",
    ),
    (
        LABELS.replace("\n", "\r"),
        [],
        "has carriage returns for line ends; `tr '\\r' '\\n' < a.csv | streameval eval -` reads",
    ),
    (
        "# made by a tool\n" + LABELS + "1,0,1\n",
        [],
        (
            "line 2: the header has 1 cell, and this row has 2 (`tail -n +2` leaves out what is "
            "above a header)."
        ),
    ),
    (
        "y_true,y_pred\n1,1,\n0,1,\n",
        [],
        "line 2: the header has 2 cells, and this row has 3 (`sed 's/,\\r*$//'` leaves out what is",
    ),
    (
        "y_true\ty_pred\n7\t1\t1\n8\t0\t1\n",
        [],
        "line 2: the header has 2 cells, and this row has 3 (`sed '1s/^/row\\t/'` names a column b",
    ),
    (
        LABELS + "y_true,y_pred\n",
        [],
        (
            "line 4: `y_true` must be an integer as the first label is (--y-score reads scores, "
            "--classes lists mixed labels), got 'y_true'. Use `--where 'y_true!=y_true'`."
        ),
    ),
    (
        "y_true,y_pred\nTrue,1\n",
        [],
        "line 2: `y_pred` must be text as the first label is (--classes 2 reads true as 1, ",
    ),
    (
        "y_true,y_score\nN/A,0.5\n1,0.5\n",
        BINARY,
        "line 2: `y_true` must be an integer (--na N/A reads this as missing), got 'N/A'. Use ",
    ),
    (LABELS + "1,1,1\n", [], "line 4: the header has 2 cells, and this row has 3."),
]


@pytest.fixture
def told(call, folder):
    """Evaluate what a file holds; return the exit code and what is said about it."""

    def told(data, *options):
        (folder / "a.csv").write_bytes(data if isinstance(data, bytes) else data.encode())
        done = call("eval", "a.csv", *options)
        assert done.out == ""
        (line,) = done.err.splitlines()
        return done.code, line.removeprefix("streameval: error: ")

    return told


@pytest.mark.parametrize(("data", "options", "message"), MISNAMED)
def test_eval_says_what_is_asked_wrongly(data, options, message, told):
    code, line = told(data, *options)
    assert (code, line[: len(message)]) == (2, message)


@each(
    ("data", "message"),
    [
        (
            '{"status": "ok", "rows": [{"y_true": 1, "y_pred": 0}]}',
            (
                "no column 'y_true' in the first rows: choose from status, rows. `rows` holds "
                "rows; write each on a line: jq -c '.rows[]' FILE > rows.jsonl."
            ),
        ),
        (
            '{"data-rows": [{"y_true": 1, "y_pred": 0}]}',
            (
                "no column 'y_true' in the first rows: choose from data-rows. `data-rows` holds "
                """rows; write each on a line: jq -c '.["data-rows"][]' FILE > rows.jsonl."""
            ),
        ),
        (
            '{"runs": [{"a": {"y_true": 1}, "y_pred": 0}]}',
            (
                "no column 'a.y_true' in the first rows: choose from runs. `runs` holds rows; "
                "write each on a line: jq -c '.runs[]' FILE > rows.jsonl."
            ),
        ),
        (
            '{"0": {"y_true": 1, "y_pred": 0}, "1": {"y_true": 1, "y_pred": 0}}',
            (
                "no column 'y_true' in the first rows: did you mean '1.y_true'? Choose from 0, "
                "0.y_true, 0.y_pred, 1, 1.y_true, 1.y_pred. Each field holds a row; write each on "
                "a line: jq -c '.[]' FILE > rows.jsonl."
            ),
        ),
        (
            '{"columns": ["y_true", "y_pred"], "data": [[1, 0], [1, 1]]}',
            (
                "no column 'y_true' in the first rows: choose from columns, data. `data` holds "
                "rows of `columns`; write each on a line: jq -c '.columns as $c | .data[] | "
                "[$c, .] | transpose | map({(.[0]): .[1]}) | add' FILE > rows.jsonl."
            ),
        ),
        (
            '{"y_true": {"0": 1, "1": 0}, "y_pred": {"0": 1, "1": 0}}',
            (
                "`y_true` holds an object, {'0': 1, '1': 0}, and not a label; if it is a column of "
                "a data frame, write each row on a line: jq -c '[to_entries[] | .key as $c | "
                ".value | to_entries[] | {r: .key, v: {($c): .value}}] | group_by(.r)[] | map(.v) "
                "| add' FILE > rows.jsonl."
            ),
        ),
        (
            '{"y_true": 1, "y_score": 0.5}\n{"y_true": NaN, "y_score": 0.5}\n',
            "a.jsonl, line 2: `y_true` must be an integer, got nan. Use `--where 'y_true!=nan'`.",
        ),
    ],
)
def test_eval_says_how_rows_of_json_are_read(data, message, call, folder):
    (folder / "a.jsonl").write_text(data)
    label = "a.y_true" if "'a.y_true'" in message else "y_true"
    done = call("eval", "a.jsonl", "--y-true", label)
    assert done.err == f"streameval: error: {message}\n"


@pytest.mark.parametrize(("data", "options", "message"), BAD)
def test_eval_says_what_is_wrong_with_the_file(data, options, message, told):
    code, line = told(data, *options)
    place = "a.csv, " if message.startswith("line") else "a.csv: "
    assert (code, line[: len(place + message)]) == (3, place + message)


@each(
    "data",
    [
        b"\xef\xbb\xbf" + LABELS.encode(),
        LABELS.replace("\n", "\r\n").encode(),
        LABELS.encode() + b"\n\n",
        gzip.compress(LABELS.encode()),
        LABELS.encode("utf-16-le"),
        gzip.compress(LABELS.encode("utf-16")),
        LABELS.replace("1", "True").replace("0", "False").encode(),
        b"".join(b'"%s"\n' % line.replace(b",", b'","') for line in LABELS.encode().split()),
    ],
)
def test_eval_reads_what_spreadsheets_and_data_frames_write(data, call, folder):
    (folder / "a.csv").write_bytes(data)
    done = call("eval", "a.csv")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("2 rows of 1 file\n")


@each(
    "options",
    [BINARY, [], ["--task", "calibration", "--y-score", "y_score"], [*BINARY, "--group", "g"]],
)
def test_words_for_truth_are_labels_beside_scores(options, call, folder):
    for name, yes, no in [("a.csv", "True", "False"), ("b.csv", "1", "0")]:
        (folder / name).write_text(f"y_true,y_score,g\n{no},0.25,1\n{yes},0.5,1\n{no},0.75,1\n")
    words, numbers = (call("eval", name, *options) for name in ("a.csv", "b.csv"))
    assert (words.code, words.out) == (0, numbers.out)


def test_lists_in_cells_are_scores_of_classes(call, folder):
    (folder / "a.csv").write_text('y_true,p\n1,[0.25 0.75]\n0,"[0.75, 0.25]"\n1,[1. 0.]\n')
    (folder / "b.csv").write_text("y_true,p\n1,0.75\n0,0.25\n1,0\n")
    lists, numbers = (call("eval", name, "--y-score", "p") for name in ("a.csv", "b.csv"))
    assert (lists.code, lists.out) == (0, numbers.out)


def test_cell_may_be_as_long_as_a_line(call, folder):
    (folder / "a.csv").write_text(f"prompt,y_true,y_pred\n{'x' * 1_000_000},1,1\n")
    assert call("eval", "a.csv").code == 0


def test_groups_may_look_like_fractions(call, folder):
    (folder / "a.csv").write_text("y_true,y_score,user\n1,0.5,1.5\n0,0.25,2\n")
    done = call("eval", "a.csv", *BINARY, "--group", "user", "--json")
    assert done.json["metrics"]["n_groups"] == 2


@each("typed", ["ndgc", "ngcd"])
def test_measure_that_was_perhaps_meant_is_named(call, folder, typed):
    (folder / "a.csv").write_text("query,relevance,score\n1,1,1\n")
    done = call("eval", "a.csv", "--task", "ranking", "--measures", f"{typed}@5")
    assert done.code == 2
    assert f"--measures has no '{typed}@5': did you mean 'ndcg@5'? Choose from map, " in done.err
    assert done.err.endswith(", ... Some take a cutoff, as in p@10.\n")


def test_areas_of_two_models_are_named_when_their_curves_cannot_be_compared(call, folder):
    (folder / "a.csv").write_text("y_true,y_score,other\n1,0.5,0.5\n")
    done = call("eval", "a.csv", "--task", "binary", "--versus", "other")
    assert done.code == 2
    assert done.err.endswith(". To compare areas, use --measures roc_auc without --task.\n")


def test_file_that_is_given_twice_is_noticed(call, folder):
    (folder / "a.csv").write_text(LABELS)
    done = call("eval", "a.csv", "./a.csv")
    assert done.code == 0
    assert (
        done.err == "streameval: warning: ./a.csv: named more than once, and counted each time.\n"
    )


def test_eval_says_what_to_install_for_parquet(call, write, monkeypatch):
    log = write("a.parquet", [{"y_true": 1, "y_pred": 1}])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    done = call("eval", log)
    needed = 'a.parquet: Parquet needs pyarrow: pip install "streameval[arrow]".'
    assert (done.code, done.err) == (2, f"streameval: error: {needed}\n")


def test_a_file_without_a_header_is_told_the_option(call, folder):
    (folder / "a.csv").write_text("1,0.5\n0,0.25\n")
    assert "numbers alone; --header A,B,C names the columns" in call("eval", "a.csv").err


def test_a_first_row_with_numbers_and_gaps_is_told_what_reads_it(call, folder):
    (folder / "a.tsv").write_text("DE\t0.5\t\\N\nFR\t0.25\t1\n")
    refused = call("eval", "a.tsv").err
    assert "The first row has the number 0.5; --header A,B,C names the columns" in refused
    assert refused.endswith(" --na '\\N' --where 'A!=' leaves out its rows without A.\n")


def test_names_of_columns_that_are_numbers_leave_the_option_that_names_the_label(call, folder):
    (folder / "a.csv").write_text("target,0,1\n1,0.5,0.5\n")
    refused = call("eval", "a.csv", "--y-score", "0,1", "--classes", "2").err
    assert "--y-true names the column. The first row has the number 0; --header A,B,C" in refused


def test_absent_score_of_values_is_not_taken_for_one_of_a_ranking(call, folder):
    (folder / "a.csv").write_text("a,b\n1,2\n")
    refused = call("eval", "a.csv", "--task", "values", "--value", "score").err
    assert refused.endswith("no column 'score' in the first rows: choose from a, b.\n")


@each(
    ("rows", "said"),
    [
        ("spam,Spam\nham,ham\n", "the classes 'Spam' and 'spam' differ only in case or spaces."),
        (
            "spam,spam\nNULL,ham\n",
            "the classes include 'NULL'; --where 'y_true!=NULL' leaves these rows out.",
        ),
        (
            "spam,spam\nnan,ham\n",
            "the classes include 'nan'; --where 'y_true!=nan' leaves these rows out.",
        ),
        (
            "spam,spam\ny_true,y_pred\n",
            "the classes include 'y_true'; --where 'y_true!=y_true' leaves these rows out.",
        ),
    ],
)
def test_classes_that_are_perhaps_none_are_noted(rows, said, call, folder):
    (folder / "a.csv").write_text(f"y_true,y_pred\n{rows}")
    assert call("eval", "a.csv").err == f"streameval: note: {said}\n"
    assert call("eval", "a.csv", "--classes", "spam,Spam,ham,NULL,nan,y_true,y_pred").err == ""


@each(
    ("rows", "is_noted"),
    [
        ("spam,LABEL_1\nham,LABEL_0\n", True),
        ("1,7\n0,8\n", True),
        ("1,0\n0,1\n", False),
        ("1,2\n2,3\n3,4\n", False),
    ],
)
def test_classes_with_other_names_in_the_predictions_are_noted(rows, is_noted, call, folder):
    (folder / "a.csv").write_text(f"truth,guess\n{rows}")
    done = call("eval", "a.csv", "--y-true", "truth", "--y-pred", "guess")
    note = "streameval: note: no row is right; does `guess` name the classes as `truth` does?\n"
    assert (done.code, done.err) == (0, note if is_noted else "")


@each("n_rows", [20, 21])
def test_labels_of_more_than_every_second_row_may_be_ids(n_rows, call, folder):
    (folder / "a.csv").write_text("y_true,y_pred\n" + "".join(f"{n},{n}\n" for n in range(n_rows)))
    note = "streameval: note: 21 classes in 21 rows may be ids; is `y_true` the truth?\n"
    assert call("eval", "a.csv").err == (note if n_rows > 20 else "")


@each(("label", "is_noted"), [("spam", True), ("ham", False)])
def test_scores_of_the_other_label_are_noted(label, is_noted, call, folder):
    rows = [f"{'ham' if n % 4 else 'spam'},{n % 4 / 4}\n" for n in range(40)]
    (folder / "a.csv").write_text("y_true,y_score\n" + "".join(rows))
    said = (
        "streameval: note: roc_auc is below 0.5 by more than chance: the scores may be of the "
        "other label, which --pos-label names.\n"
    )
    assert call("eval", "a.csv", *BINARY, "--pos-label", label).err == (said if is_noted else "")


def test_an_area_below_a_half_by_chance_is_not_noted(call, folder):
    (folder / "a.csv").write_text("y_true,y_score\n1,0.25\n0,0.5\n1,0.75\n0,0.625\n1,0.5\n")
    done = call("eval", "a.csv", *BINARY, "--json")
    assert (done.json["metrics"]["roc_auc"] < 0.5, done.err) == (True, "")


def test_all_absent_columns_of_a_ranking_are_told_at_once(call, folder):
    (folder / "a.csv").write_text("session,sku,at,clicked\n1,a,1,0\n")
    refused = call("eval", "a.csv", "--task", "ranking").err
    assert refused.endswith("--relevance, --y-score or --rank, --query name the columns.\n")


def test_events_without_a_truth_are_told_their_task(call, folder):
    (folder / "a.csv").write_text(
        "gen_ai.evaluation.name,gen_ai.evaluation.score.value\nfluency,0.5\n"
    )
    task, *options = call("eval", "a.csv").err.rpartition("--task ")[2].rstrip(".\n").split()
    assert call("eval", "a.csv", "--task", task, *options, "--json").code == 0


@each("clicked", ["clicked", "y-clicked", "1"])
@each("order", [1, -1])
def test_eval_names_the_command_that_makes_a_row_of_each_shown_item(clicked, order, call, folder):
    shown = [{clicked: [1, 0], "s": [0.9, 0.2]}, {clicked: [0, 1, 0], "s": [0.3, 0.8, 0.1]}]
    rows = shown[::order]
    (folder / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    said = call("eval", "a.jsonl", *BINARY, "--y-true", clicked, "--y-score", "s").err
    command = said.rpartition("; ")[2].partition(" makes a row of each")[0]
    subprocess.run(command.replace("FILE", "a.jsonl"), shell=True, check=True)
    found = call("eval", "rows.jsonl", *BINARY, "--json").json
    assert (found["rows"], found["metrics"]["roc_auc"]) == (5, 1.0)
    assert "makes a row" not in call("eval", "a.jsonl", "--y-true", clicked, "--y-pred", "s").err


def test_eval_warns_of_copies(call, folder):
    for name, text in (("a", "1,1"), ("b", "0,1"), ("copy", "1,1"), ("empty", "")):
        (folder / f"{name}.csv").write_text(f"y_true,y_pred\n{text}\n" if text else "")
    done = call("eval", "a.csv", "b.csv", "copy.csv")
    assert done.code == 0
    assert done.err == (
        "streameval: warning: copy.csv: holds the same bytes as a.csv, and both are counted.\n"
    )
    assert not call("eval", "a.csv", "b.csv").err
    for name, end in (("long a", 0), ("long b", 1), ("long c", 1)):
        (folder / f"{name}.csv").write_text("y_true,y_pred\n" + "1,1\n" * 2000 + f"{end},1\n")
    (line,) = call("eval", "long a.csv", "long b.csv", "long c.csv").err.splitlines()
    assert "long c.csv: holds the same bytes as long b.csv, and" in line
    (folder / "link.csv").symlink_to("a.csv")
    (line,) = call("eval", "a.csv", "link.csv").err.splitlines()
    assert line.endswith("link.csv: named more than once, and counted each time.")


def test_eval_notes_numbers_that_often_stand_where_there_is_none(call, folder):
    (folder / "a.csv").write_text("y_true,y_pred,x\n3,2.5,-999\n-999,1,-999\n4,-9999,0\n")
    assert call("eval", "a.csv", "--task", "regression").err == (
        "streameval: note: `y_true` has -999; if it means none, --where 'y_true!=-999'.\n"
        "streameval: note: `y_pred` has -9999; if it means none, --where 'y_pred!=-9999'.\n"
    )
    left = ("--where", "y_true!=-999", "--where", "y_pred!=-9999")
    assert not call("eval", "a.csv", "--task", "regression", *left).err
    (folder / "b.csv").write_text("y_true,y_pred\n1,1\n-999,0\n0,0\n")
    assert "has -999" in call("eval", "b.csv", "--classes", "0,1,-999").err
    assert not call("eval", "b.csv", "--classes", "0,1", "--ignore-label", "-999").err


def test_eval_refuses_a_matrix_that_takes_most_of_the_memory(call, write):
    name = write("a.csv", [{"y_true": 1, "y_pred": 1}])
    said = call("eval", name, "--classes", "20000")
    assert said.code == 2
    assert said.err == (
        "streameval: error: the matrix of 20,000 classes and the intervals of its report take 22 "
        "GB, so there may be 10,000; --classes auto counts those that occur, up to 4,096, and "
        "--task values a column that says whether each row is right.\n"
    )


def test_eval_names_the_items_of_lists_of_one(call, folder):
    rows = [{"y_true": n % 2, "y_score": [n / 4]} for n in range(4)]
    (folder / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    said = call("eval", "a.jsonl", *BINARY).err
    assert said.endswith("several classes. Use `--y-score y_score.0`.\n")
    assert call("eval", "a.jsonl", *BINARY, "--y-score", "y_score.0").code == 0
    (folder / "b.jsonl").write_text('{"y_true": 1, "y_score": []}\n')
    assert call("eval", "b.jsonl", *BINARY).err.endswith("one for each of several classes.\n")


def test_eval_refuses_one_column_for_truth_and_prediction(call, write):
    name = write("a.csv", [{"y": 1, "s": 0}])
    said = call("eval", name, "--y-true", "y", "--y-pred", "y").err
    assert said == "streameval: error: `y` cannot be both the truth and the prediction.\n"


@each("options", [["--y-true", "no"], ["--by", "no"], ["--where", "no=1"], ["--cluster", "no"]])
def test_the_file_that_lacks_a_column_is_named_among_several(options, folder, call):
    (folder / "log").mkdir(exist_ok=True)
    for name, text in {"a": "y_true,y_pred\n", "b": LABELS, "c": LABELS}.items():
        (folder / "log" / f"{name}.csv").write_text(text)
    message = "no column 'no' in the first rows: choose from y_true, y_pred."
    for where in ([], ["--where", "y_true=0"], ["--where", "y_true=7"]):
        said = call("eval", "log", *where, *options).err
        assert said == f"streameval: error: log/b.csv: {message}\n"
    assert call("eval", "log/b.csv", *options).err == f"streameval: error: {message}\n"
