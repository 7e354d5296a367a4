"""`--by '*'` and `--each`: the worst slices of each of several columns, in one pass."""

from __future__ import annotations

import pytest
from offenders import each

from streameval.cli import eval_run

COUNTRIES = ("DE", "FR", "IT")


@pytest.fixture
def log(write):
    rows = [
        {
            "id": f"r{at}",
            "y_true": at % 2,
            "y_pred": at % 2 if at % 3 != 2 or at % 5 else 1 - at % 2,
            "country": COUNTRIES[at % 3],
            "device": ["ios", "web"][at % 4 == 3],
            "version": 7,
            "price": at % 2 + 0.5,
            "at": f"2026-11-{1 + at % 20:02}T10:00:00",
            "tags": ["x"],
            "gone": None,
        }
        for at in range(240)
    ]
    return write("log.jsonl", rows)


def names(done):
    return [line.split()[0] for line in done.out.split("\n\n")[1].splitlines()[1:]]


COMMON = ("--classes", 2, "--metrics", "accuracy")


def test_every_column_has_its_worst_slices_and_the_others_are_named(call, log):
    done = call("eval", log, *COMMON, "--by", "*")
    assert names(done) == [
        *("(all)", "country=IT", "country=DE", "country=FR", "device=ios", "device=web")
    ]
    assert done.out.endswith("the worst of each column by accuracy, 5 of 5 slices\n")
    assert done.err == (
        "streameval: note: no slices by y_true, y_pred (labels, scores or weights); price "
        "(numbers with fractions); at (times); tags (lists, objects or long text); gone (no "
        "values in the first rows); id (more than 100 values); version (one value).\n"
    )


def test_each_column_is_counted_as_by_its_own_command(call, log):
    options = ["--by", "country", "--by", "device", "--each", "--json", "--worst", 9]
    done = call("eval", log, *COMMON, *options).json
    assert (done["by"], done["n_slices"]) == (["country", "device"], 5)
    for column in ("country", "device"):
        alone = call("eval", log, *COMMON, "--by", column, "--json", "--worst", 9).json
        assert alone["metrics"] == done["metrics"]
        assert alone["slices"] == [
            {name: one[name] for name in one if name != "column"}
            for one in done["slices"]
            if one["column"] == column
        ]


def test_gate_over_each_column_holds_for_the_slices_of_all(call, log):
    alone = call("eval", log, *COMMON, "--by", "country", "--require", "worst(accuracy)>=0.9")
    done = call("eval", log, *COMMON, "--by", "*", "--require", "worst(accuracy)>=0.9")
    assert done.code == 1
    assert " over 5 slices." in done.err
    low, wide = (float(one.err.split(" in [")[1].split(",")[0]) for one in (alone, done))
    assert wide < low


def test_worst_slices_of_each_column_can_be_limited_and_saved(call, log, folder):
    options = ["--by", "country", "--by", "device", "--each", "--worst", 1, "--min-n", 61]
    done = call("eval", log, *COMMON, *options, "-o", "slices")
    assert names(done) == ["(all)", "country=IT", "device=ios"]
    assert done.out.endswith("2 of 5 slices; left out by --min-n:\ndevice=web\n")
    assert sorted(path.stem for path in (folder / "slices").iterdir()) == [
        *("all", "country=DE", "country=FR", "country=IT", "device=ios", "device=web")
    ]


def test_chosen_columns_of_one_value_are_shown_and_those_of_many_are_named(call, log):
    done = call("eval", log, *COMMON, "--by", "version", "--by", "id", "--each")
    assert names(done) == ["(all)", "version=7"]
    assert done.err == "streameval: note: no slices by id (more than 100 values).\n"
    done = call("eval", log, *COMMON, "--by", "id", "--each")
    assert (done.code, done.err) == (
        2,
        "streameval: error: --by finds no column with slices: id (more than 100 values).\n",
    )


def test_column_with_a_value_for_almost_every_row_has_no_slices(call, write):
    rows = [{"y_true": at % 2, "y_pred": 1, "user": at // 2 * 3, "half": at % 2} for at in range(9)]
    done = call("eval", write("log.csv", rows), "--classes", 2, "--by", "*")
    assert "user (a value for almost every row)" in done.err
    assert names(done) == ["(all)", "half=0", "half=1"]


@pytest.mark.slow
def test_each_column_is_the_same_with_several_processes(call, log, small_buffers):
    alone, together = (
        call("eval", log, "--by", "*", "--json", "--jobs", jobs).out for jobs in (1, 2)
    )
    assert alone == together


def test_states_of_each_column_have_a_limit(call, log, monkeypatch):
    monkeypatch.setattr(eval_run, "_MAX_BYTES", 1000)
    done = call("eval", log, *COMMON, "--by", "*")
    assert (done.code, done.err) == (
        2,
        (
            "streameval: error: the states of all values take more than 0 MB; name fewer columns "
            "with --by and --each.\n"
        ),
    )


@each(
    ("options", "message"),
    [
        (["--each"], "--each needs --by."),
        (
            ["--by", "country=DE", "--each"],
            "--by cannot name values where columns are compared one at a time.",
        ),
        (
            ["--by", "*", "--by", "country"],
            "--by '*' is every column; it cannot be used with another --by.",
        ),
        (["--by", "*", "--by", "*"], "--by was given twice for one column."),
        (["--by", "*", "--top", 3], "--top cannot be used with --by '*'."),
        (["--by", "device", "--each", "--top", 3], "--top cannot be used with --each."),
        (
            ["--by", "*", "--time", "at", "--pane", "1d"],
            "--time needs --by with the names of columns, without --each.",
        ),
        (
            ["--by", "*", "--task", "ranking", "--query", "id", "--relevance", "y_true"],
            "--by '*' cannot be used with --task ranking.",
        ),
        (
            ["--by", "*", "--require", "gap(accuracy)<=1"],
            "'gap(accuracy)<=1' needs slices of one column, not of each of several.",
        ),
        (
            ["--by", "*", "--sort", "n"],
            "n has no better direction, so no worst slice; name another with --sort.",
        ),
    ],
)
def test_each_column_is_refused_with_what_does_not_fit(options, message, call, log):
    done = call("eval", log, *options)
    assert (done.code, done.out, done.err) == (2, "", f"streameval: error: {message}\n")


def test_a_column_with_the_name_of_a_weight_of_groups_has_slices_too(call, write):
    rows = [
        {
            "y_true": at % 2,
            "y_score": 0.2 + 0.5 * (at % 2),
            "user": at % 3,
            "positives": "ab"[at % 4 // 2],
        }
        for at in range(24)
    ]
    options = ("--group", "user", "--group-weight", "positives", "--by", "*")
    done = call("eval", write("log.jsonl", rows), "--task", "binary", *options)
    assert "positives=a" in names(done)
