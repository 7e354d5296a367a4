"""`--by`: one result for each value of a column."""

import datetime
import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from cli.memory import peak_of
from offenders import each
from pyarrow import parquet

import streameval as se
from streameval.cli import eval_run
from streameval.inputs.coded import CodedTexts
from streameval.inputs.values import rank_of
from streameval.runs.counting import update_with
from streameval.runs.slices import ARGUMENT, Apart, RowsByValue, SizeLimit, ValueCounts

COUNTRIES = ["DE"] * 60 + ["FR"] * 30 + ["IT"] * 8 + ["ES"] * 2


def log():
    return [
        {"y_true": n % 3, "y_pred": (n + (n % 7 == 0)) % 3, "country": country}
        for n, country in enumerate(COUNTRIES)
    ]


def expected(rows):
    return (
        se.ConfusionAccumulator("auto")
        .update([row["y_true"] for row in rows], [row["y_pred"] for row in rows])
        .compute()
    )


@pytest.fixture(params=["log.jsonl", "log.csv", "log.parquet"])
def name(request, write):
    rows = log()
    random.Random(0).shuffle(rows)
    return write(request.param, rows)


def test_by_gives_each_value_its_own_result(name, call):
    done = call("eval", name, "--by", "country", "--json").json
    assert done["metrics"] == expected(log()).as_dict()
    assert done["by"] == "country"
    assert [part["value"] for part in done["slices"]] == ["DE", "FR", "IT", "ES"]
    for part in done["slices"]:
        rows = [row for row in log() if row["country"] == part["value"]]
        assert part["n"] == len(rows)
        assert part["metrics"] == expected(rows).as_dict()
        assert part["matrix"] == expected(rows).matrix.tolist()
    assert "other" not in done


def test_top_values_are_the_most_frequent_and_the_rest_is_other(name, call):
    done = call("eval", name, "--by", "country", "--top", "2", "--json").json
    assert [part["value"] for part in done["slices"]] == ["DE", "FR"]
    rest = [row for row in log() if row["country"] in ("IT", "ES")]
    assert done["other"]["metrics"] == expected(rest).as_dict()


@each("split", [["--by", "country"], ["--time", "at", "--pane", "50"]])
def test_size_of_slices_has_one_column_when_it_is_asked_for(split, write, call):
    rows = [row | {"at": n} for n, row in enumerate(log())]
    done = call("eval", write("log.jsonl", rows), *split, "--metrics", "n,accuracy")
    assert done.out.splitlines()[2].split()[1:] == ["n", "accuracy", "95%", "interval"]
    done = call("eval", "log.jsonl", *split, "--metrics", "n")
    assert done.out.splitlines()[2].split()[1:] == ["n"]


def test_values_can_be_named(name, call):
    done = call("eval", name, "--by", "country=IT,PT,DE", "--json").json
    assert [(part["value"], part["n"]) for part in done["slices"]] == [
        ("IT", 8),
        ("PT", 0),
        ("DE", 60),
    ]
    assert done["other"]["n"] == 32


@pytest.mark.slow
def test_jobs_change_nothing(write, call):
    rows = [{"y_true": n % 2, "y_pred": n % 3 % 2, "day": n % 5} for n in range(1000)]
    name = write("log.parquet", rows)
    alone, together = (
        call("eval", name, "--by", "day", "--top", "3", "--json", "--jobs", jobs).out
        for jobs in ("1", "2")
    )
    assert alone == together


def test_table_has_a_line_for_each_value(call, write):
    name = write("log.jsonl", log())
    done = call("eval", name, "--by", "country", "--top", "2")
    head, _, *table, _, scope = done.out.splitlines()
    assert head == "100 rows of 1 file"
    assert scope == "per-class metrics are means over 3 classes (macro)"
    cells = [line.split() for line in table]
    assert [line[:2] for line in cells] == [
        ["country", "n"],
        ["(all)", "100"],
        ["DE", "60"],
        ["FR", "30"],
        ["(other)", "10"],
    ]
    assert cells[0][2:] == ["accuracy", "95%", "interval", "f_score", "95%", "interval"]
    result = expected([row for row in log() if row["country"] == "FR"])
    low, high = result.confidence("accuracy")
    assert cells[3][2:5] == [f"{result.accuracy:.4f}", f"[{low:.4f},", f"{high:.4f}]"]
    assert max(map(len, done.out.splitlines())) <= 80


def test_metrics_that_do_not_fit_stand_below(call, write):
    name = write("log.jsonl", log())
    metrics = "accuracy,cohen_kappa,recall[macro],recall[2],n"
    done = call("eval", name, "--by", "country", "--metrics", metrics)
    tables = done.out.split("\n\n")[1:]
    assert len(tables) == 2
    assert {table.splitlines()[0].split()[0] for table in tables} == {"country"}
    assert max(map(len, done.out.splitlines())) <= 80


def test_class_that_a_slice_lacks_is_undefined_there(call, write):
    rows = [{"y_true": k, "y_pred": k, "country": "DE"} for k in (0, 1)]
    rows.append({"y_true": 2, "y_pred": 2, "country": "FR"})
    name = write("log.jsonl", rows)
    chosen = ["--by", "country", "--metrics", "recall[2]"]
    assert call("eval", name, *chosen).out.splitlines()[4].split() == ["DE", "2", "\N{EN DASH}"]
    done = call("eval", name, *chosen, "--json").json
    assert [part["metrics"]["recall[2]"] for part in done["slices"]] == [None, 1.0]


def test_certified_intervals_are_shown_where_there_are_no_others(call, write):
    rows = [
        {"y_true": n % 2, "y_score": n * 7 % 100 / 100, "half": str(n % 4 > 1)} for n in range(400)
    ]
    name = write("log.jsonl", rows)
    chosen = ["--task", "binary", "--budget", "8", "--by", "half", "--metrics", "ks"]
    done = call("eval", name, *chosen)
    assert done.out.splitlines()[2].split() == ["half", "n", "ks", "exact", "value", "within"]
    assert call("eval", name, *chosen, "--metrics", "n").out.count("exact value within") == 1


@each(
    ("values", "texts"),
    [
        ([True, False, True], ["true", "false"]),
        ([3, 3.0, 4], ["3", "4"]),
        ([1, 1, True], ["1", "true"]),
        ([0.5, 0.5, -1e300], ["0.5", "-1e+300"]),
        ([None, None, "x"], [None, "x"]),
        (["", "", None], ["", None]),
        (["a b/c", "a b/c", "\u20ac"], ["a b/c", "\u20ac"]),
    ],
)
def test_values_of_any_type_are_text(values, texts, call, write):
    rows = [{"y_true": 1, "y_pred": 1, "v": value} for value in values]
    done = call("eval", write("log.jsonl", rows), "--by", "v", "--json").json
    assert [part["value"] for part in done["slices"]] == texts


def test_missing_values_are_a_slice_of_their_own(call, write):
    name = write("log.csv", [{"y_true": 1, "y_pred": 1, "v": v} for v in ("", "", "x")])
    done = call("eval", name, "--by", "v")
    assert [line.split()[0] for line in done.out.splitlines()[4:6]] == ["(missing)", "x"]


def test_days_of_a_parquet_file_are_values(call, folder):
    days = [datetime.date(2026, 1, 1 + n % 2) for n in range(3)]
    parquet.write_table(
        pa.table({"y_true": [1, 0, 1], "y_pred": [1, 1, 1], "d": days}), "a.parquet"
    )
    done = call("eval", "a.parquet", "--by", "d", "--json").json
    assert [part["value"] for part in done["slices"]] == ["2026-01-01", "2026-01-02"]


def test_value_that_is_a_list_makes_a_bad_row(call, write):
    rows = [{"y_true": 1, "y_pred": 1, "v": value} for value in ("x", ["y"], "z" * 257)]
    name = write("log.jsonl", rows)
    done = call("eval", name, "--by", "v")
    assert done.code == 3
    assert "log.jsonl, line 2: `v` must be a single value, got ['y']" in done.err
    done = call("eval", name, "--by", "v", "--max-bad", "2", "--json")
    assert (done.json["bad"], done.json["n"]) == (2, 1)


def test_bad_rows_count_once(call, write):
    rows = [{"y_true": 1, "y_pred": 1, "v": "x"}, {"y_true": 1, "y_pred": None, "v": "y"}]
    name = write("log.jsonl", rows)
    done = call("eval", name, "--by", "v", "--max-bad", "1", "--json")
    assert done.json["bad"] == 1
    assert call("eval", name, "--by", "v").code == 3


def test_row_that_is_refused_leaves_no_trace_in_any_slice(call, write):
    rows = [
        {"y_true": 1, "y_score": 0.5, "v": "a"},
        {"y_true": 1, "y_score": 7.0, "v": "b"},
        {"y_true": 0, "y_score": 0.25, "v": "a"},
    ]
    name = write("log.jsonl", rows)
    done = call("eval", name, "--task", "binary", "--by", "v=a,b", "--max-bad", "1", "--json").json
    assert [part["n"] for part in done["slices"]] == [2, 0]
    assert done["n"] == 2


TASKS = {
    "classification": ([], {"y_true": 1, "y_pred": 0}),
    "regression": (["--task", "regression"], {"y_true": 1.5, "y_pred": 0.5}),
    "binary": (["--task", "binary"], {"y_true": 1, "y_score": 0.5}),
    "grouped": (["--task", "binary", "--group", "g"], {"y_true": 1, "y_score": 0.5, "g": 1}),
    "calibration": (["--task", "calibration"], {"y_true": 1, "y_prob": 0.5}),
    "lists": (["--task", "ranking"], {"relevance": [1, 0], "score": [0.5, 0.7]}),
    "rows": (["--task", "ranking"], {"query": "q", "relevance": 1, "score": 0.5}),
}


@each("task", TASKS)
def test_every_task_goes_by_slices(task, call, write, folder):
    options, row = TASKS[task]
    rows = [row | {"v": value} for value in "aab"]
    name = write("log.jsonl", rows)
    done = call("eval", name, *options, "--by", "v", "-o", "states")
    assert done.code == 0
    assert [line.split()[0] for line in done.out.splitlines()[3:6]] == ["(all)", "a", "b"]
    whole, a, b = (se.load(f"states/{file}.state") for file in ("all", "v=a", "v=b"))
    assert call("eval", name, *options, "-o", "whole.state").code == 0
    assert se.load("whole.state").to_bytes() == whole.to_bytes()
    if task != "rows":  # queries that are evaluated cannot go on
        assert (a + b).to_bytes() == whole.to_bytes()


def test_states_are_named_by_column_and_value(call, write, folder):
    values = ["a/b", "..", "50%", "\u00e9", None, "c"]
    rows = [{"y_true": 1, "y_pred": 1, "my col": value} for value in [*values, *values, "x"]]
    name = write("log.jsonl", rows)
    assert call("eval", name, "--by", "my col", "--top", "6", "-o", "by").code == 0
    assert {path.name for path in folder.joinpath("by").iterdir()} == {
        "all.state",
        "other.state",
        "my col=...state",
        "my col=50%25.state",
        "my col=a%2Fb.state",
        "my col=c.state",
        "my col=\u00e9.state",
        "my col.missing.state",
    }
    assert se.load("by/other.state").n == 1


def test_folder_may_be_there_already(call, write, folder):
    name = write("log.jsonl", log())
    (folder / "by").mkdir()
    for _ in range(2):
        assert call("eval", name, "--by", "country", "-o", "by").code == 0


@each(
    ("arguments", "code", "message"),
    [
        (["--by", "contry"], 2, "no column 'contry' in the first rows: did you mean 'country'?"),
        (["--by", "country="], 2, "must be a column, or COLUMN=A,B,C, got 'country='"),
        (["--by", "country=A,A"], 2, "must name each value once, got 'country=A,A'"),
        (["--by", "country=1,1.0"], 2, "must name each value once, got 'country=1,1.0'"),
        (
            ["--by", "country=true,True", "--by", "y_true=1"],
            2,
            "must name each value once, got 'country=true,True'",
        ),
        (["--top", "3"], 2, "--top needs --by"),
        (["--by", "country=DE", "--top", "3"], 2, "--top cannot be used with --by COLUMN=A,B,C"),
        (["--by", "country", "--by", "country"], 2, "--by was given twice for one column."),
        (
            ["--by", "country=DE", "--by", "y_true"],
            2,
            "--by names values of every column or of none; --where COLUMN=A,B,C picks rows.",
        ),
        (["--by", "country", "-o", ""], 2, "argument -o/--output: must be a path, got ''"),
        (["--by", "country", "--metrics", "recall[7]"], 2, "no class '7': choose from 0, 1, 2"),
        (["--by", "country", "--top", "0"], 2, "must be an integer of at least 1, got '0'"),
        (
            ["--by", "country", "-o", "log.jsonl"],
            3,
            "log.jsonl: is not a folder, and each slice is a file",
        ),
        (["--by", "country", "-o", "no/by"], 3, "no/by: its parent folder does not exist."),
        (["--by", "country", "-o", "x" * 300], 3, "file name too long."),
    ],
)
def test_what_cannot_be_meant_is_told(arguments, code, message, call, write):
    done = call("eval", write("log.jsonl", log()), *arguments)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert done.err.count("\n") == 1


def test_folder_that_cannot_be_made_is_told(call, write, folder, monkeypatch):
    def full(self, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "mkdir", full)
    done = call("eval", write("log.jsonl", log()), "--by", "country", "-o", "by")
    assert (done.code, done.err) == (5, "streameval: error: by: no space left on device.\n")


@pytest.mark.parametrize("by", ["country", "country=FR,DE"])
def test_standard_input_is_read_once(by, call, stdin):
    stdin("".join(json.dumps(row) + "\n" for row in log()).encode())
    done = call("eval", "-", "--by", by, *([] if "=" in by else ["--top", 2]), "--json").json
    assert {part["value"]: part["n"] for part in done["slices"]} == {"FR": 30, "DE": 60}
    assert done["other"]["n"] == 10


@pytest.mark.slow
def test_pipe_is_read_once(folder):
    os.mkfifo("pipe")
    data = "".join(json.dumps(row) + "\n" for row in log())
    command = [sys.executable, "-m", "streameval", "eval", "pipe", "--by", "country", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        folder.joinpath("pipe").write_text(data)
        done = json.load(process.stdout)
    assert process.returncode == 0
    assert [part["n"] for part in done["slices"]] == [60, 30, 8, 2]


def many_values(number):
    """Values of which the fifth are in two rows and the others in one, shuffled."""
    rows = [{"y_true": n % 2, "y_pred": n % 3 % 2, "user": f"u{n}"} for n in range(number)]
    rows += rows[::5]
    random.Random(1).shuffle(rows)
    return rows


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_values_past_the_limit_are_chosen_in_a_pass_of_their_own(jobs, call, write, monkeypatch):
    name = write("log.csv", many_values(300))
    options = ["eval", name, "--by", "user", "--top", 7, "--json", "--jobs", jobs]
    once = call(*options, "-o", "once")
    monkeypatch.setattr(eval_run, "_MAX_BYTES", 10**6)
    twice = call(*options, "-o", "twice")
    assert (twice.out, twice.err, twice.code) == (once.out, "", 0)
    assert [part["n"] for part in once.json["slices"]] == [2] * 7
    files = sorted(path.name for path in Path("once").iterdir())
    assert files == sorted(path.name for path in Path("twice").iterdir())
    for file in files:
        assert Path("once", file).read_bytes() == Path("twice", file).read_bytes()


@pytest.mark.usefixtures("small_buffers")
@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("limit", [1, 10**6])
def test_values_of_a_pipe_past_the_limit_are_chosen_by_hash(limit, jobs, call, stdin, monkeypatch):
    monkeypatch.setattr(eval_run, "_MAX_BYTES", limit)
    monkeypatch.setattr("streameval.runs.counting._BUFFERED_ROWS", 50)
    rows = many_values(600)
    first = sorted({row["user"] for row in rows}, key=rank_of)[:7]
    sizes = Counter(row["user"] for row in rows if row["user"] in first)
    outs = set()
    for ordered in (rows, rows[::-1], sorted(rows, key=lambda row: rank_of(row["user"]))):
        stdin("".join(json.dumps(row) + "\n" for row in ordered).encode())
        done = call("eval", "-", "--by", "user", "--top", 7, "--json", "--jobs", jobs)
        assert {part["value"]: part["n"] for part in done.json["slices"]} == sizes
        assert (done.json["other"]["n"], done.json["chosen_by"]) == (720 - sizes.total(), "hash")
        assert "note: 7 values chosen by hash, whether frequent or not, because the" in done.err
        outs.add(done.out)
    assert len(outs) == 1


def test_values_are_chosen_by_count_where_a_pipe_has_few_states_or_few_values(
    call, stdin, write, monkeypatch
):
    data = "".join(json.dumps(row) + "\n" for row in many_values(300))
    stdin(data.encode())
    done = call("eval", "-", "--by", "user", "--top", 7, "--json")
    assert (done.json["chosen_by"], done.err) == ("count", "")
    name = write("log.jsonl", many_values(300))
    assert call("eval", name, "--by", "user=u5", "--json").json.keys().isdisjoint({"chosen_by"})
    monkeypatch.setattr(eval_run, "_MAX_BYTES", 1)
    stdin(data.encode())
    done = call("eval", "-", "--by", "user=u5", "--json").json
    assert (done["slices"][0]["n"], done["other"]["n"]) == (2, 358)
    stdin(data.encode())
    done = call("eval", "-", "--by", "y_true", "--json")
    assert [part["n"] for part in done.json["slices"]] == [180, 180]
    assert done.json.keys().isdisjoint({"chosen_by", "other"})
    assert done.err.count("\n") == 1, "nothing but the note on ids that repeat"
    assert "`user` repeats" in done.err


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        (["--by", "y_true", "--each"], "name fewer columns with --by and --each"),
        (
            [
                "--by",
                "user",
                "--task",
                "ranking",
                *("--query", "q", "--relevance", "rel", "--score", "s"),
            ],
            "standard input can be read only once, and the states of all",
        ),
    ],
)
def test_values_of_a_pipe_that_have_no_order_must_be_named(
    options, advice, call, stdin, monkeypatch
):
    monkeypatch.setattr(eval_run, "_MAX_BYTES", 1)
    rows = [row | {"q": n, "rel": 1, "s": n} for n, row in enumerate(many_values(300))]
    stdin("".join(json.dumps(row) + "\n" for row in rows).encode())
    done = call("eval", "-", *options)
    assert done.code == 2
    assert advice in done.err


def test_states_are_measured_when_the_rows_may_have_reached_the_limit():
    limit = SizeLimit(1000)
    tally = SimpleNamespace(n_good=Counter({"a": 10}), accumulators=[Measured(200), Measured(50)])
    assert not limit.is_passed_by(tally)
    tally.n_good["a"] = 39
    assert not limit.is_passed_by(tally)
    assert [one.times for one in tally.accumulators] == [1, 1]
    tally.n_good["b"] = 1
    tally.accumulators[0].size = 950
    assert not limit.is_passed_by(tally)
    tally.accumulators[0].size = 951
    tally.n_good["b"] = 4  # less than a tenth more rows
    assert not limit.is_passed_by(tally)
    tally.n_good["b"] = 5
    assert limit.is_passed_by(tally)
    assert [one.times for one in tally.accumulators] == [3, 3]


class Measured:
    """Slices that know how often they were measured."""

    def __init__(self, size):
        self.size = size
        self.times = 0

    def measured(self):
        self.times += 1
        return self.size


@pytest.mark.parametrize(
    "task", [[], ["--task", "binary", "--y-score", "y_pred", "--budget", "none"]]
)
@pytest.mark.parametrize("limit", [1, 700, 2**20])
def test_slices_are_those_of_their_rows_wherever_blocks_end(
    task, limit, call, write, folder, small_buffers, monkeypatch
):
    monkeypatch.setattr("streameval.runs.counting._BUFFERED_ROWS", limit)
    rows = [{"y_true": n % 2, "y_pred": n % 7 % 2, "v": f"v{n % 5}"} for n in range(3000)]
    options = ["--by", "v", "--top", "2", "-o", "states"]
    assert call("eval", write("log.jsonl", rows), *task, *options).code == 0
    for file, values in {"v=v0": ["v0"], "v=v1": ["v1"], "other": ["v2", "v3", "v4"]}.items():
        write("part.jsonl", [row for row in rows if row["v"] in values])
        assert call("eval", "part.jsonl", *task, "-o", "part.state").code == 0
        assert se.load(f"states/{file}.state") == se.load("part.state")


@each("by", ["v", "v=a,b"])
def test_values_of_rows_without_weight_are_shown(by, call, write):
    rows = [{"y_true": 1, "y_pred": 1, "v": v, "w": v == "a"} for v in "aabc"]
    rows = [row | {"w": int(row["w"])} for row in rows]
    done = call("eval", write("log.jsonl", rows), "--sample-weight", "w", "--by", by, "--json").json
    shown = {part["value"]: part["n"] for part in done["slices"]}
    assert shown == ({"a": 2, "b": 0, "c": 0} if by == "v" else {"a": 2, "b": 0})
    assert done.get("other", {"n": None})["n"] == (None if by == "v" else 0)


def test_values_of_several_columns_can_be_named(call, write):
    rows = [row | {"day": n % 2} for n, row in enumerate(log())]
    options = ["--by", "country=DE,PT", "--by", "day=1", "--json"]
    ran = call("eval", write("log.jsonl", rows), *options)
    assert ran.err == "streameval: note: no row has country=PT,day=1.\n"
    done = ran.json
    inside = [row for row in rows if (row["country"], row["day"]) == ("DE", 1)]
    assert [(part["value"], part["n"]) for part in done["slices"]] == [
        (["DE", "1"], len(inside)),
        (["PT", "1"], 0),
    ]
    assert done["slices"][0]["metrics"] == expected(inside).as_dict()
    assert done["other"]["n"] == len(rows) - len(inside)


@each("options", [["v=a,c"], ["v", "--top", "2"]])
@each("task", ["lists", "rows"])
def test_values_of_queries_can_be_named_or_the_most_frequent(task, options, call, write):
    asked, row = TASKS[task]
    rows = [row | {"v": value, "query": f"q{n}"} for n, value in enumerate("aaabbcccd")]
    done = call("eval", write("log.jsonl", rows), *asked, "--by", *options, "--json").json
    assert [(part["value"], part["n"]) for part in done["slices"]] == [("a", 3), ("c", 3)]
    assert done["other"]["n"] == 3


def test_column_of_values_may_be_one_that_is_evaluated(call, write):
    name = write("log.jsonl", log())
    done = call("eval", name, "--by", "y_true", "--by", "country", "--top", "1", "--json").json
    assert done["by"] == ["y_true", "country"]
    assert [(part["value"], part["n"]) for part in done["slices"]] == [(["0", "DE"], 20)]


def test_memory_of_rows_by_value_is_that_of_their_states_and_buffers():
    rows = RowsByValue(lambda: se.PRCurveSketch(None), "v")
    assert rows.measured() == 0
    scores = np.arange(20_000) / 20_000
    for n in range(3):
        batch = {
            "y_true": scores > 0.5,
            "y_score": scores,
            f"{ARGUMENT} v": np.full(20_000, f"v{n}", object),
        }
        rows.update(batch)
    cells = 3 * 20_000 * 11  # a key, the distance of the ends, and two counts
    assert cells < rows.measured() < cells + 3 * 15_000


def test_memory_of_rows_counted_apart_is_that_of_their_states_and_buffers():
    rows = RowsByValue(lambda: se.PRCurveSketch(None), "v", update=update_with)
    assert rows.measured() == 0
    scores = np.arange(20_000) / 20_000
    for n in range(3):
        values = np.full(20_000, f"v{n}", object)
        rows.update({"y_true": scores > 0.5, "y_score": scores, f"{ARGUMENT} v": values})
    cells = 3 * 20_000 * 24  # a key, which is both ends, and two counts
    assert cells < rows.measured() < cells + 3 * 15_000


@each(
    ("option", "message"),
    [
        ("--per-query", "--per-query cannot be used with --by"),
        ("--trec", "--trec cannot be used with --by"),
    ],
)
def test_lines_of_queries_do_not_go_by_slices(option, message, call, write):
    rows = [{"query": n, "relevance": [1], "score": [0.5], "v": "a"} for n in range(3)]
    done = call("eval", write("log.jsonl", rows), "--task", "ranking", "--by", "v", option)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_run_has_no_columns_to_go_by(call, folder):
    (folder / "a.run").write_text("q1 Q0 d1 1 0.5 tag\n")
    (folder / "a.qrels").write_text("q1 0 d1 1\n")
    for options in (["a.run"], ["a.run", "b.run", "--compare"]):
        done = call("eval", *options, "--task", "ranking", "--qrels", "a.qrels", "--by", "v")
        assert done.code == 2
        assert "--by with --qrels needs --queries, a table with a row for each query" in done.err


def test_gates_are_about_all_rows(call, write):
    done = call("eval", write("log.jsonl", log()), "--by", "country", "--require", "n>=100")
    assert (done.code, done.err) == (0, "streameval: passed: n>=100: 100.\n")


def counted(values, held=None):
    counts = ValueCounts() if held is None else ValueCounts(held)
    counts.update(values)
    return counts


def test_counts_are_exact_while_all_values_are_held():
    assert counted("bbbaac", 3).top(2) == (("b", "a"), True)
    assert counted("bbbaac", 3).top(9) == (("b", "a", "c"), True)


def test_equally_frequent_values_are_ordered_as_text_with_missing_ones_first():
    assert counted(["b", None, "a"]).top(3) == ((None, "a", "b"), True)


def test_most_frequent_values_are_found_and_sure_in_a_long_tail():
    values = ["a"] * 300 + ["b"] * 200 + [str(n) for n in range(1000)]
    random.Random(0).shuffle(values)
    total = ValueCounts(64)
    for part in parts(values):
        total.merge(counted(part, 64))
    assert total.top(2) == (("a", "b"), True)
    assert not total.top(3)[1]


def parts(values):
    return [values[start : start + 100] for start in range(0, len(values), 100)]


@each("seed", range(50))
def test_what_is_sure_is_true(seed):
    choose = random.Random(seed)
    values = [str(int(choose.expovariate(0.2))) for _ in range(300)]
    total = ValueCounts(8)
    for part in parts(values):
        total.merge(counted(part, 8))
    for number in range(1, 6):
        chosen, is_sure = total.top(number)
        if is_sure:
            assert set(chosen) == set(counted(values).top(number)[0])


def test_note_says_that_the_top_values_may_be_others(call, write, small_buffers, monkeypatch):
    rows = [{"y_true": 1, "y_pred": 1, "id": n} for n in range(2**12 + 1)]
    monkeypatch.setattr(eval_run, "_MAX_BYTES", 2**16)
    done = call("eval", write("log.jsonl", rows), "--by", "id")
    assert done.code == 0
    assert "`id` has so many values that others may be more frequent than those shown" in done.err


@pytest.mark.uncovered
@pytest.mark.slow
@pytest.mark.usefixtures("small_buffers")
def test_memory_does_not_grow_with_the_file_or_the_number_of_values(folder):
    """A column of 20,000 different values, 4,096 of which are counted at a time."""
    peaks = []
    for size in (10_000, 20_000):
        rows = (f"{n % 7},{n % 5},u{n}\n" for n in range(size))
        (folder / "a.csv").write_text("y_true,y_pred,user\n" + "".join(rows))
        peak, out = peak_of("eval", "a.csv", "--by", "user", "--jobs", 1)
        assert out.startswith(f"{size:,} rows of 1 file\n")
        peaks.append(peak)
    assert peaks[1] - peaks[0] < 50_000


def test_counts_are_shown_as_counts(call, write):
    done = call("eval", write("log.jsonl", log()), "--by", "country=DE", "--metrics", "n")
    assert [line.split() for line in done.out.splitlines()[2:]] == [
        ["country", "n"],
        ["(all)", "100"],
        ["DE", "60"],
        ["(other)", "40"],
    ]


@each("name", ["log.csv", "log.jsonl", "log.parquet"])
def test_values_are_the_same_text_in_every_format(name, call, write):
    rows = [{"y_true": 1, "y_pred": 1, "w": w, "t": w > 1} for w in (1.0, 1.5, 2.0)]
    log = write(name, rows)
    done = call("eval", log, "--by", "w", "--json").json
    assert [part["value"] for part in done["slices"]] == ["1", "1.5", "2"]
    done = call("eval", log, "--by", "w=2.0, 1", "--json").json
    assert [(part["value"], part["n"]) for part in done["slices"]] == [("2", 1), ("1", 1)]
    done = call("eval", log, "--by", "t", "--json").json
    assert [part["value"] for part in done["slices"]] == ["true", "false"]


def test_midnight_of_a_parquet_file_is_a_day(call, folder):
    times = [datetime.datetime(2026, 1, 1, hour) for hour in (0, 6)]
    parquet.write_table(pa.table({"y_true": [1, 0], "y_pred": [1, 1], "d": times}), "a.parquet")
    done = call("eval", "a.parquet", "--by", "d", "--json").json
    assert [part["value"] for part in done["slices"]] == ["2026-01-01", "2026-01-01 06:00:00"]


def test_long_values_have_short_files(call, write, folder):
    values = ["\u6f22" * 90, "\u6f22" * 90 + "x"]
    name = write("log.jsonl", [{"y_true": 1, "y_pred": 1, "v": value} for value in values])
    assert call("eval", name, "--by", "v", "-o", "by").code == 0
    files = [path.name for path in folder.joinpath("by").iterdir()]
    assert len(files) == 3
    assert all(len(file.encode()) < 255 for file in files)


@pytest.mark.parametrize(("n", "more"), [(1, ""), (3, " and 2 more")])
def test_states_from_before_are_told(n, more, call, write, folder):
    name = write("log.jsonl", log())
    (folder / "by").mkdir()
    for number in range(n):
        (folder / "by" / f"old{number}.state").touch()
    done = call("eval", name, "--by", "country", "-o", "by")
    assert (done.code, done.err) == (
        0,
        (
            f"streameval: warning: by: also holds old0.state{more}, from before: "
            "not a slice of this run.\n"
        ),
    )


def test_file_that_vanishes_is_told(call, write):
    done = call("eval", write("log.jsonl", log()), "missing.jsonl", "--by", "country")
    assert (done.code, done.err) == (
        3,
        "streameval: error: missing.jsonl: no such file or directory.\n",
    )


@each("command", ["eval", "merge"])
def test_state_never_takes_the_place_of_another_file(command, call, write, folder):
    name = write("log.jsonl", log())
    assert call("eval", name, "-o", "a.state").code == 0
    (folder / "notes.txt").write_text("mine")
    (folder / "empty").touch()
    inputs = [name] if command == "eval" else ["a.state"]
    done = call(command, *inputs, "-o", "notes.txt")
    assert (done.code, done.err) == (
        3,
        "streameval: error: notes.txt: exists and is not a state; choose another name.\n",
    )
    assert (folder / "notes.txt").read_text() == "mine"
    assert call(command, *inputs, "-o", "empty").code == 0
    assert call(command, *inputs, "-o", "empty").code == 0


def test_slices_print_markdown_for_pull_requests(call, write):
    rows = [{"y_true": n % 2, "y_pred": 1, "country": "DE" if n % 3 else "F|R"} for n in range(9)]
    options = ("--by", "country", "--metrics", "accuracy", "--level", 0, "--markdown")
    assert call("eval", write("a.csv", rows), *options).out == (
        "9 rows of 1 file\n"
        "\n"
        "| country | n | accuracy |\n"
        "| :-- | --: | --: |\n"
        "| (all) | 9 | 0.4444 |\n"
        "| DE | 6 | 0.5000 |\n"
        "| F\\|R | 3 | 0.3333 |\n"
    )


def test_name_of_a_class_is_cut_on_a_terminal_alone(call, write, on_a_terminal):
    name = "a_class_whose_name_is_as_long_as_those_of_taxonomies_often_are"
    pairs = [(name, name), ("b", name), (name, "b")]
    log = write("a.csv", [{"y_true": truth, "y_pred": guess} for truth, guess in pairs])
    assert f"{name}  " in call("eval", log).out
    on_a_terminal(60)
    out = call("eval", log).out
    assert max(map(len, out.splitlines())) <= 60
    assert "\u2026" in out
    on_a_terminal(120)
    assert f"{name}  " in call("eval", log).out


PAIRS = [
    {"y_true": 1, "y_pred": n % 2, "at": {"country": country}, "device": device}
    for n, (country, device) in enumerate(
        [("DE", "ios")] * 6 + [("FR", "ios")] * 4 + [(None, "ios")] * 3 + [("DE", None)] * 2
    )
]
COUNTS = {("DE", "ios"): 6, ("FR", "ios"): 4, (None, "ios"): 3, ("DE", None): 2}
BY_PAIRS = ("--by", "at.country", "--by", "device")


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["log.jsonl", "log.parquet"])
def test_by_several_columns_counts_their_combinations(name, jobs, call, write):
    done = call("eval", write(name, PAIRS), *BY_PAIRS, "--json", "--jobs", jobs)
    assert done.json["by"] == ["at.country", "device"]
    found = [(tuple(part["value"]), part["n"]) for part in done.json["slices"]]
    assert found == list(COUNTS.items())
    assert "other" not in done.json


def test_by_several_columns_takes_the_most_frequent_combinations(call, write):
    rows = [*PAIRS, {"y_true": 1, "y_pred": 1, "at": {}, "device": None}] * 2
    done = call("eval", write("log.jsonl", rows), *BY_PAIRS, "--top", "4", "--json")
    assert [tuple(part["value"]) for part in done.json["slices"]] == list(COUNTS)
    assert done.json["other"]["n"] == 2


def test_by_several_columns_orders_equally_frequent_combinations(call, write):
    values = [(a, b) for a in ("x", None, "w") for b in (None, "b", "a")]
    rows = [{"y_true": 1, "y_pred": 1, "a": a, "b": b} for a, b in values]
    done = call("eval", write("log.jsonl", rows), "--by", "a", "--by", "b", "--json")
    expected = [[a, b] for a in (None, "w", "x") for b in (None, "a", "b")]
    assert [part["value"] for part in done.json["slices"]] == expected


def test_by_several_columns_takes_every_combination_of_named_values(call, write):
    by = ("--by", "at.country=FR,US", "--by", "device=ios,1.0")
    done = call("eval", write("log.jsonl", PAIRS), *by, "--json")
    found = {tuple(part["value"]): part["n"] for part in done.json["slices"]}
    assert found == {("FR", "ios"): 4, ("FR", "1"): 0, ("US", "ios"): 0, ("US", "1"): 0}
    assert list(found) == [("FR", "ios"), ("FR", "1"), ("US", "ios"), ("US", "1")]
    assert done.json["other"]["n"] == 11


def test_by_several_columns_prints_and_saves_their_combinations(call, write, folder):
    done = call("eval", write("log.jsonl", PAIRS), *BY_PAIRS, "-o", "states")
    lines = [line.split("  ")[0] for line in done.out.splitlines()[2:]]
    assert lines[0].startswith("at.country, device")
    names = ["(all)", "DE, ios", "FR, ios", "(missing), ios", "DE, (missing)"]
    assert lines[1 : len(names) + 1] == names
    assert sorted(path.name for path in (folder / "states").iterdir()) == [
        "all.state",
        "at.country.missing,device=ios.state",
        "at.country=DE,device.missing.state",
        "at.country=DE,device=ios.state",
        "at.country=FR,device=ios.state",
    ]


def test_by_several_columns_notes_that_the_choice_is_unsure(call, write, monkeypatch):
    monkeypatch.setattr(ValueCounts.__init__, "__defaults__", (3,))
    monkeypatch.setattr(eval_run, "_MAX_BYTES", 1)
    rows = [*PAIRS, {"y_true": 1, "y_pred": 1, "at": {"country": "US"}, "device": "ios"}]
    done = call("eval", write("log.jsonl", rows), *BY_PAIRS, "--top", "4")
    assert "note: `at.country, device` has so many values that others may be" in done.err


@each("values", [None, ("b",)])
def test_accumulators_of_workers_are_merged_by_value(values):
    whole, one, other = (Apart(se.ConfusionAccumulator(), ("v",), values) for _ in range(3))

    for apart, rows in ((one, "ab"), (other, "bcb"), (whole, "abbcb")):
        labels = np.ones(len(rows), dtype=int)
        apart.update({"y_true": labels, "y_pred": labels, "v": CodedTexts.of([*rows])})
    one.merge(other)
    assert one.every == whole.every


@each(
    ("options", "shown"),
    [
        (("--task", "regression", "--y-pred", "p", "--measures", "mape,huber(delta=2)"),
         ["mape", "huber(delta=2)"]),
        (("--task", "regression", "--y-true", "y,z", "--y-pred", "p,q", "--measures", "mape"),
         ["mape"]),
        (("--y-score", "p", "--versus", "q", "--measures", "roc_auc"),
         ["difference", "roc_auc_difference", "roc_auc_a", "roc_auc_b"]),
        (("--y-score", "p,q,r", "--measures", "top_k", "--top-k", "2"), ["top_k_precision"]),
        (("--y-score", "p,q,r", "--task", "binary", "--measures", "one_vs_one"), ["roc_auc_ovo"]),
        (("--multilabel", "--y-true", "y,z", "--y-pred", "y,z", "--measures", "samples"),
         ["f_score[samples]"]),
        (("--task", "ranking", "--query", "c", "--relevance", "y", "--y-score", "p",
          "--measures", "map,ndcg@2,p@1,mrr"), ["map", "ndcg@2", "p@1", "mrr"]),
    ],
)  # fmt: skip
@each("split", ["--by", "--time"])
def test_lines_of_slices_and_windows_have_the_measures(split, options, shown, write, call):
    rows = [
        {"y": n % 2, "z": 1, "p": 0.5, "q": 0.25, "r": 0.25, "c": "ab"[n // 4], "t": n // 4}
        for n in range(8)
    ]
    label = () if "--y-true" in options or "--query" in options else ("--y-true", "y")
    by = ("--by", "c") if split == "--by" else ("--time", "t", "--pane", "1")
    done = call("eval", write("a.jsonl", rows), *label, *options, *by)
    assert done.code == 0, done.err
    assert [name for name in shown if name not in done.out] == []
