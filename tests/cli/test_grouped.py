"""`--task binary --group`: columns, numbers, gates."""

import numpy as np
import pytest
from offenders import each
from sklearn.metrics import roc_auc_score

import streameval as se
from streameval.io import lines

GROUPED = ("--task", "binary", "--group", "user")
rng = np.random.default_rng(5)
USERS = rng.integers(0, 20, 400)
TRUTH = rng.integers(0, 2, 400)
SCORES = np.round(np.clip(rng.normal(0.4 + 0.2 * TRUTH, 0.2), 0, 1), 3)
ROWS = [
    {"user": f"u{u}", "y_true": int(t), "y_score": float(s)}
    for u, t, s in zip(USERS, TRUTH, SCORES, strict=True)
]


@pytest.fixture
def log(write):
    return write("clicks.csv", ROWS)


def state(call, *arguments):
    done = call("eval", *arguments, *GROUPED, "-o", "a.state")
    assert (done.code, done.err) == (0, "")
    return se.load("a.state")


def of_users(**options):
    names = [row["user"] for row in ROWS]
    return se.GroupedAUC(**options).update(TRUTH, SCORES, names)


def gauc():
    """The mean of scikit-learn's AUC of each user, weighted by rows; all have both classes."""
    places = [np.flatnonzero(np.equal(USERS, user)) for user in range(20)]
    areas = [roc_auc_score(TRUTH[rows], SCORES[rows]) for rows in places]
    return np.average(areas, weights=np.bincount(USERS))


@each("name", ["a.jsonl", "a.csv", "a.parquet"])
def test_grouped_state_is_that_of_a_program(name, call, write):
    assert state(call, write(name, ROWS)) == of_users()


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_grouped_state_is_the_same_over_blocks_and_processes(jobs, call, log, monkeypatch):
    monkeypatch.setattr(lines, "PIECE_BYTES", 500)
    assert state(call, log, "--jobs", jobs) == of_users()


def test_grouped_reports_the_numbers_of_the_result(call, log):
    done = call("eval", log, *GROUPED)
    assert (done.code, done.err) == (0, "")
    assert done.out == f"400 rows of 1 file\n\n{of_users().compute().report()}\n"


def test_grouped_json_is_that_of_sklearn(call, log):
    found = call("eval", log, *GROUPED, "--json", "--bounds").json
    metrics = found["metrics"]
    assert metrics["gauc"] == pytest.approx(gauc(), rel=1e-12)
    assert (metrics["n_groups"], metrics["n_averaged"], metrics["coverage"]) == (20, 20, 1)
    assert found["bounds"] == {"gauc": [metrics["gauc"]] * 2}
    assert found | {"task": "grouped", "n": 400, "exact": True} == found
    assert found["intervals"] == {"gauc": list(of_users().compute().confidence("gauc"))}


def test_grouped_json_has_bounds_that_hold_the_exact_value(call, log):
    found = call("eval", log, *GROUPED, "--json", "--bounds", "--budget", 60).json
    low, high = found["bounds"]["gauc"]
    assert low < gauc() < high
    assert not found["exact"]


@each(
    ("options", "configuration"),
    [
        (["--budget", 64], {"budget": 64}),
        (["--scores", "real"], {"scores": "real"}),
        (["--group-weight", "uniform"], {"group_weight": "uniform"}),
        (["--max-groups", 20], {"max_groups": 20}),
    ],
)
def test_grouped_options_are_those_of_the_accumulator(options, configuration, call, log):
    assert state(call, log, *options) == of_users(**configuration)


def test_grouped_is_a_task_of_its_own(call, log):
    done = call("eval", log, "--task", "grouped", "--group", "user", "-o", "a.state")
    assert done.code == 0
    assert se.load("a.state") == of_users()


@each("name", ["a.jsonl", "a.csv"])
def test_grouped_reads_integers_as_groups_and_weights(name, call, write):
    rows = [{"user": u, "y_true": t, "s": 0.5, "w": 2} for u, t in [(7, 1), (7, 0), (-1, 1)]]
    found = state(call, write(name, rows), "--y-score", "s", "--sample-weight", "w")
    expected = se.GroupedAUC().update([1, 0, 1], [0.5] * 3, [7, 7, -1], sample_weight=[2] * 3)
    assert found == expected


def test_grouped_reads_identifiers_of_digits_as_text_among_others(call, write):
    rows = [
        {"user": u, "y_true": t, "y_score": 0.5} for u, t in [("12", 1), ("0012", 0), ("1a", 1)]
    ]
    expected = se.GroupedAUC().update([1, 0, 1], [0.5] * 3, ["12", "0012", "1a"])
    assert state(call, write("a.csv", rows)) == expected


def test_grouped_states_merge_and_show(call, write):
    call("eval", write("a.csv", ROWS[:150]), *GROUPED, "-o", "a.state")
    call("eval", write("b.csv", ROWS[150:]), *GROUPED, "-o", "b.state")
    call("merge", "b.state", "a.state", "-o", "sum.state")
    assert se.load("sum.state") == of_users()
    shown = call("show", "sum.state")
    assert shown.out == f"sum.state, n = 400\n\n{of_users().compute().report()}\n"


@each(
    ("gate", "options", "verdict"),
    [
        ("gauc>=0.6", [], "passed"),
        ("gauc>=0.7", [], "undecided"),
        ("gauc>=0.9", [], "failed"),
        ("gauc>=0.7", ["--level", 0], "passed"),
        ("gauc>=0.76", ["--budget", 60, "--level", 0], "undecided"),
        ("coverage>=1", [], "passed"),
        ("n_groups>=21", [], "failed"),
    ],
)
def test_grouped_decides_a_gate_by_its_interval(gate, options, verdict, call, log):
    done = call("eval", log, *GROUPED, "--require", gate, *options)
    assert done.code == (verdict != "passed")
    assert done.err.startswith(f"streameval: {verdict}: {gate}: ")


@each(
    ("options", "message"),
    [
        (["--budget", "none"], "--budget none is for curves; groups share a number of bins."),
        (["--y-score", "y_score,y_true"], "--y-score takes one column."),
        (["--y-true", "y_score,y_true"], "--y-true takes one column."),
        (["--y-true", "user"], "`user` holds text, 'u"),
        (["--require", "gacu>0"], "no metric 'gacu': did you mean 'gauc'? Choose from n, n_gr"),
        (["--require", "gauc[1]>0"], "'gauc[1]': gauc has no averages and no classes."),
    ],
)
def test_grouped_says_what_does_not_fit(options, message, call, log):
    done = call("eval", log, *GROUPED, *options)
    assert done.code == 2
    assert done.err.startswith(f"streameval: error: {message}")


def test_grouped_says_which_column_it_lacks(call, log):
    done = call("eval", log, "--task", "binary", "--group", "usr")
    assert done.code == 2
    message = "no column 'usr' in the first rows: did you mean 'user'? Choose from"
    assert done.err.startswith(f"streameval: error: {message}")


def test_grouped_needs_a_group(call, log):
    done = call("eval", log, "--task", "grouped")
    assert done.code == 2
    assert done.err == "streameval: error: --task grouped needs --group, the column of the group.\n"


@pytest.mark.parametrize("size", [500, 10**6])
def test_grouped_refuses_more_groups_than_asked_for(size, call, write, monkeypatch):
    monkeypatch.setattr(lines, "PIECE_BYTES", size)
    rows = [{"user": n // 30, "y_true": n % 2, "y_score": 0.5} for n in range(300)]
    done = call("eval", write("a.csv", rows), *GROUPED, "--max-groups", 9)
    assert done.code == 3
    assert done.err.startswith("streameval: error: a.csv")
    assert done.err.endswith(
        ": `user` would bring the number of groups to 10, past --max-groups 9.\n"
    )


def test_grouped_names_the_line_with_a_group_of_another_kind(call, write):
    rows = [{"user": n, "y_true": n % 2, "y_score": 0.5} for n in range(300)]
    rows[200]["user"] = "x"
    done = call("eval", write("a.jsonl", rows), *GROUPED)
    assert done.code == 3
    assert done.err.endswith(
        "a.jsonl, line 201: `user` must be an integer as the first groups are, got 'x'.\n"
    )
