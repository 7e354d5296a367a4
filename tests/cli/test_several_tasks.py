"""Several tasks of one log, counted in one reading."""

import random

import pytest
from offenders import each

import streameval as se

ALL = ("binary", "classification", "calibration")


@pytest.fixture
def log(write):
    chance = random.Random(7)
    scores = [round(chance.random(), 3) for _ in range(300)]
    rows = [
        {"y_true": int(chance.random() < score), "y_score": score, "w": 1 + n % 3, "c": "ab"[n % 2]}
        for n, score in enumerate(scores)
    ]
    return write("log.csv", rows)


@each(
    ("tasks", "options"),
    [(ALL, []), (ALL, ["--sample-weight", "w", "--jobs", "2"]), (ALL[:2], ["--classes", "2"])],
)
def test_each_task_has_the_numbers_of_its_own_command(tasks, options, call, log):
    done = call("eval", log, "--task", ",".join(tasks), *options, "--json")
    for task in tasks:
        alone = call("eval", log, "--task", task, *options, "--json").json["metrics"]
        both = done.json["metrics"]
        assert {name: both[f"{task}/{name}"] for name in alone} == alone


def test_state_is_that_of_a_collection(call, log, folder):
    call("eval", log, "--task", "binary,calibration", "-o", "both.state")
    members = {"binary": se.PRCurveSketch(), "calibration": se.CalibrationAccumulator()}
    columns = [line.split(",")[:2] for line in (folder / log).read_text().split()[1:]]
    y_true, y_score = ([float(one) for one in column] for column in zip(*columns, strict=True))
    col = se.Collection(members).update({"y_true": y_true, "y_score": y_score, "y_prob": y_score})
    assert se.load("both.state") == col


def test_columns_that_tasks_read_differently_are_read_twice(call, write):
    rows = [{"y_true": n % 5, "y_pred": n % 4} for n in range(100)]
    name = write("log.csv", [*rows, {"y_true": "1.5", "y_pred": 2}])
    given = ("eval", name, "--task", "classification,regression", "--classes", "5")
    assert "line 102: `y_true` must be an integer, got '1.5'" in call(*given).err
    found = call(*given, "--max-bad", 1, "--json").json["metrics"]
    assert found["regression/n"] == found["classification/n"] == 100
    assert found["regression/mae"] == sum(abs(n % 5 - n % 4) for n in range(100)) / 100


def test_metrics_gates_and_the_order_of_slices_need_no_task(call, log):
    given = ("eval", log, "--task", "binary,classification", "--by", "c", "--json")
    done = call(
        *(*given, "--metrics", "accuracy,roc_auc,log_loss,recall_at_precision(0.6)"),
        *("--require", "roc_auc>=0.5", "--sort", "recall[1]"),
    )
    assert list(done.json["metrics"]) == [
        *("classification/accuracy", "binary/roc_auc", "binary/log_loss"),
        "binary/recall_at_precision(0.6)",
    ]
    assert done.json["sorted_by"] == "classification/recall[1]"
    assert "roc_auc>=0.5: " in done.err
    unknown = call(*given, "--metrics", "mae")
    assert unknown.err.endswith(" For mae as well, use --task binary,classification,regression.\n")
    assert unknown.code == call(*given, "--metrics", "nothing").code == 2


@each(
    ("given", "said"),
    [
        (["--task", "binary,binary"], "--task takes one task, or several different ones of "),
        (["--task", "binary,ranking"], "--task takes one task, or several different ones of "),
        (["--task", "binary,nothing"], "argument --task: invalid choice: 'binary,nothing'"),
        (
            ["--task", "binary,classification", "--versus", "b"],
            "--versus needs a single --task",
        ),
        (["--task", "binary,calibration", "--top-k", "3"], "--top-k cannot be used with --task bi"),
    ],
)
def test_tasks_that_cannot_share_a_reading_are_refused(given, said, call, log):
    done = call("eval", log, *given)
    assert done.code == 2
    assert said in done.err
