"""`--sort`, `--worst` and `--min-n`: which slices are shown, and in which order."""

from __future__ import annotations

import pytest
from offenders import each


@pytest.fixture
def log(write):
    sizes = {"DE": (40, 30), "FR": (30, 27), "IT": (20, 8), "ES": (2, 0)}
    rows = [
        {"y_true": at % 2, "y_pred": (at + (at >= right)) % 2, "country": name, "t": at % 2}
        for name, (n, right) in sizes.items()
        for at in range(n)
    ]
    return write("log.jsonl", rows)


def names(done):
    """Read the first column of the table."""
    return [line.split()[0] for line in done.out.split("\n\n")[1].splitlines()[1:]]


COMMON = ("--classes", 2, "--by", "country", "--metrics", "accuracy")


@each(
    ("options", "shown", "remark"),
    [
        (["--sort", "accuracy"], "ES IT DE FR", "by accuracy, the worst first"),
        (["--sort", "zero_one_loss"], "ES IT DE FR", "by zero_one_loss, the worst first"),
        (["--sort", "n"], "ES IT FR DE", "by n, the lowest first"),
        (["--worst", 2], "ES IT", "the worst 2 of 4 slices by accuracy"),
        (
            ["--worst", 2, "--min-n", 10, "--sort", "f_score"],
            "IT DE",
            "the worst 2 of 4 slices by f_score; left out by --min-n: country=ES",
        ),
        (["--min-n", 25], "DE FR", "left out by --min-n: country=IT, country=ES"),
    ],
)
def test_slices_are_shown_in_order(options, shown, remark, call, log):
    done = call("eval", log, *COMMON, *options)
    assert (names(done), done.err) == (["(all)", *shown.split()], "")
    assert done.out.endswith(f"\n\n{remark}\n")
    in_markdown = call("eval", log, *COMMON, *options, "--markdown")
    assert in_markdown.out.endswith(f"\n\n{remark}\n")


def test_rows_of_other_values_stay_below(call, log):
    done = call("eval", log, *COMMON, "--sort", "accuracy", "--top", 3, "--worst", 2)
    assert names(done) == ["(all)", "IT", "DE", "(other)"]
    few = "values in (other) are not among them; --top N takes more"
    assert done.out.replace("\n", " ").endswith(f" the worst 2 of 3 slices by accuracy; {few} ")
    named = [*COMMON[:2], "--by", "country=DE,IT", "--sort", "accuracy"]
    assert call("eval", log, *named).out.endswith("\n\nby accuracy, the worst first\n")
    assert few not in call("eval", log, *COMMON, "--top", 3, "--min-n", 1).out


def test_json_has_the_slices_in_order_and_what_is_left_out(call, log):
    done = call("eval", log, *COMMON, "--json", "--worst", 2, "--min-n", 10).json
    assert [part["value"] for part in done["slices"]] == ["IT", "DE"]
    assert (done["sorted_by"], done["n_slices"], done["small"]) == ("accuracy", 4, ["ES"])
    done = call("eval", log, *COMMON, "--json", "--min-n", 10).json
    assert ("sorted_by" in done, done["small"]) == (False, ["ES"])
    done = call("eval", log, *COMMON, "--json").json
    assert not {"n_slices", "small", "sorted_by"} & set(done)


def test_undefined_slices_come_last_and_are_named(call, write):
    rows = [{"y_true": at % 2, "y_score": at % 2 / 2, "c": "a"} for at in range(20)]
    rows += [{"y_true": 1, "y_score": 0.5, "c": "b"} for _ in range(40)]
    common = ["eval", write("log.jsonl", rows), "--task", "binary", "--by", "c"]
    assert names(call(*common, "--sort", "roc_auc")) == ["(all)", "a", "b"]
    done = call(*common, "--worst", 2)
    assert names(done) == ["(all)", "a"]
    assert done.out.endswith("\n\nthe worst 1 of 2 slices by roc_auc; undefined in c=b\n")


def test_states_hold_all_slices_whatever_is_shown(call, log, folder):
    call("eval", log, *COMMON, "--worst", 1, "-o", "slices")
    assert len(list((folder / "slices").iterdir())) == 5


def test_windows_have_their_slices_in_the_same_order(call, log):
    options = ["--time", "t", "--pane", "1", "--sort", "accuracy", "--min-n", 10]
    done = call("eval", log, *COMMON, *options, "-o", "a.state")
    assert done.out.split("\n\n")[1].splitlines()[1].split() == [
        *("start", "(all)", "IT", "DE", "FR")
    ]
    assert done.out.endswith("\n\nby accuracy, the worst first; left out by --min-n: country=ES\n")
    done = call("show", "a.state", "--metrics", "accuracy", "--worst", 2, "--json").json
    every = [done, *done["windows"]]
    assert [[part["value"] for part in one["slices"]] for one in every] == [["ES", "IT"]] * 3


def test_order_of_slices_is_refused_without_slices(call, log):
    for option in (["--sort", "accuracy"], ["--worst", 2], ["--min-n", 3]):
        done = call("eval", log, *option)
        assert (done.code, done.err) == (2, f"streameval: error: {option[0]} needs --by.\n")
    call("eval", log, "-o", "a.state")
    done = call("show", "a.state", "--worst", 1)
    assert (done.code, done.err) == (
        2, "streameval: error: --worst needs slices, and a.state has none.\n",
    )  # fmt: skip


def test_order_of_slices_is_of_one_state(call, log):
    for name in ("a.state", "b.state"):
        call("eval", log, *COMMON, "--time", "t", "--pane", "1", "-o", name)
    done = call("show", "a.state", "b.state", "--worst", 1)
    assert (done.code, done.err) == (
        2, "streameval: error: --worst orders the slices of one state.\n",
    )  # fmt: skip
    assert call("show", "a.state", "b.state", "--worst", 1, "--json").code == 0


@each(
    ("options", "message"),
    [
        (["--sort", "acuracy"], "no metric 'acuracy': did you mean 'accuracy'"),
        (
            ["--worst", 2, "--sort", "n"],
            "n has no better direction, so no worst slice; name another with --sort.",
        ),
        (["--worst", 0], "must be an integer of at least 1"),
        (["--min-n", "few"], "must be an integer of at least 1"),
    ],
)
def test_wrong_order_is_refused_before_rows_are_read(options, message, call, log):
    done = call("eval", log, "--by", "country", *options)
    assert (done.code, done.out, message in done.err) == (2, "", True), done.err
