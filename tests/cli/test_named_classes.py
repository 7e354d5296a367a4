"""Display names of classes that --classes gives: 0=neg,1=pos."""

from __future__ import annotations

import math
from itertools import permutations

import pytest
from offenders import each

import streameval as se

TO_DIGITS = str.maketrans("abc", "012")
PAIRS = "a word, or pairs such as a=1,b=2 with different keys"
OF_TWO = "--classes with names needs more than two classes here: a curve of two shows no labels"


@pytest.fixture
def labels(write):
    return write("l.csv", [{"y_true": t, "y_pred": p} for t, p in [(1, 1), (0, 1), (0, 0)]])


@pytest.fixture
def scores(write):
    rows = [(1, 0.1, 0.8, 0.1), (0, 0.5, 0.3, 0.2), (2, 0.2, 0.2, 0.6)]
    return write("s.csv", [dict(zip(("y_true", *"abc"), row, strict=True)) for row in rows])


def test_names_are_those_of_the_state_that_a_program_makes(labels, call, folder):
    assert call("eval", labels, "--classes", "0=neg,1=pos", "-o", "a.state").code == 0
    made = se.ConfusionAccumulator({0: "neg", 1: "pos"}).update([1, 0, 0], [1, 1, 0])
    assert se.load(folder / "a.state") == made


def test_text_labels_take_names_in_the_order_that_was_typed(write, call):
    log = write("t.csv", [{"y_true": "cat", "y_pred": "dog"}])
    done = call("eval", log, "--classes", "dog=Hund,cat=Katze")
    assert [line.split()[0] for line in done.out.splitlines()[3:5]] == ["Hund", "Katze"]


@each("label", ["neg", "0"])
def test_positive_and_ignored_labels_are_given_by_name_or_label(label, labels, call):
    done = call("eval", labels, "--classes", "0=neg,1=pos", "--pos-label", label, "--json")
    assert done.json["metrics"]["recall"] == 0.5
    done = call("eval", labels, "--classes", "0=neg,1=pos", "--ignore-label", label, "--json")
    assert done.json["n"] == 1


@pytest.mark.parametrize(
    ("task", "make"),
    [
        ("binary", se.PRCurveSketch),
        ("calibration", se.CalibrationAccumulator),
        ("classification", se.ConfusionAccumulator),
    ],
)
def test_names_of_scored_classes_are_shown(task, make, scores, call, folder):
    options = ("--task", task, "--y-score", "a,b,c", "--classes", "0=x,1=y,2=z")
    assert call("eval", scores, *options, "-o", "a.state").code == 0
    rows = [[0.1, 0.8, 0.1], [0.5, 0.3, 0.2], [0.2, 0.2, 0.6]]
    made = make(classes={0: "x", 1: "y", 2: "z"}).update([1, 0, 2], rows)
    assert se.load(folder / "a.state") == made


@each(
    ("options", "error"),
    [
        (
            ["--classes", "1=pos,0=neg"],
            "--classes with names lists numbers in ascending order, as in 0=neg,1=pos.",
        ),
        (["--classes", "0=neg,1=neg"], "--classes must be distinct, got 'neg' twice."),
        (
            ["--classes", "0=a,0=b"],
            f"argument --classes: must be {PAIRS}, got '0=a,0=b'; see streameval eval --help.",
        ),
        (
            ["--classes", "0=neg,1=pos", "--task", "binary", "--y-score", "y_pred"],
            f"{OF_TWO}; list 0,1.",
        ),
    ],
)
def test_names_that_cannot_be_right_are_refused(options, error, labels, call):
    done = call("eval", labels, *options)
    assert (done.code, done.err) == (2, f"streameval: error: {error}\n")


SCORES = [
    {"y_true": "a", "a": 0.7, "b": 0.2, "c": 0.1},
    {"y_true": "b", "a": 0.2, "b": 0.7, "c": 0.1},
    {"y_true": "c", "a": 0.1, "b": 0.2, "c": 0.7},
]
NUMBERED = [{name.translate(TO_DIGITS): value if name != "y_true" else "abc".index(value)
             for name, value in row.items()} for row in SCORES]  # fmt: skip


@each("name", ["{}", "p_{}", "{}_score", "p({})", "a{}a"])
@each("typed", [(), ("--classes", "a,b,c")])
def test_columns_named_as_the_classes_are_in_their_order_with_what_all_names_share(
    typed, name, call, write
):
    rows = [
        {"y_true": row["y_true"], **{name.format(label): row[label] for label in "abc"}}
        for row in SCORES
    ]
    columns = ",".join(map(name.format, "cab"))
    done = call("eval", write("a.csv", rows), "--y-score", columns, *typed, "--json")
    assert done.json["metrics"]["accuracy"] == 1.0


@pytest.mark.slow
@each("name", ["a.csv", "a.jsonl"])
@each("columns", [*permutations("abc")])
@each("task", ["classification", "binary", "calibration"])
def test_columns_named_as_the_classes_hold_their_scores(task, columns, name, call, write):
    metric = {"binary": "roc_auc_macro", "calibration": "log_loss"}.get(task, "accuracy")
    options = ("--task", task, "--json")
    log, named = write(name, SCORES), ("--y-score", ",".join(columns))
    typed = call("eval", log, *named, "--classes", "a,b,c", *options).json["metrics"]
    assert typed[metric] == pytest.approx({"log_loss": -math.log(0.7)}.get(metric, 1.0))
    assert call("eval", log, *named, *options).json["metrics"] == typed
    numbered = write(f"n{name}", NUMBERED)
    named = ("--y-score", ",".join(columns).translate(TO_DIGITS))
    for classes in [(), ("--classes", "3"), ("--classes", "0=a,1=b,2=c"), ("--classes", "0,1,2")]:
        assert call("eval", numbered, *named, *classes, *options).json["metrics"] == typed


def test_columns_named_as_the_display_names_hold_their_scores(call, write):
    rows = [{**row, "y_true": "abc".index(row["y_true"])} for row in SCORES]
    options = ("--y-score", "c,a,b", "--classes", "0=a,1=b,2=c", "--json")
    assert call("eval", write("a.csv", rows), *options).json["metrics"]["accuracy"] == 1.0


def test_columns_named_as_classes_may_have_an_ignored_label_beside_them(call, write):
    rows = [*SCORES, {**SCORES[0], "y_true": "?"}]
    done = call("eval", write("a.csv", rows), "--y-score", "c,a,b", "--ignore-label", "?", "--json")
    assert (done.json["metrics"]["accuracy"], done.json["n"]) == (1.0, 3)


def test_numbers_of_columns_without_a_header_are_no_classes(call, folder):
    (folder / "a.csv").write_text("0.1,0.8,0.1,1\n0.8,0.1,0.1,2\n0.1,0.1,0.8,3\n")
    options = ("--header", "none", "--y-true", "4", "--y-score", "2,1,3", "--classes", "1,2,3")
    assert call("eval", "a.csv", *options, "--json").json["metrics"]["accuracy"] == 1.0


@each(
    ("options", "other"),
    [(("--versus", "x,y,z"), "--versus"), (("--multilabel", "--y-true", "x,y,z"), "--y-true")],
)
def test_columns_named_as_classes_are_listed_in_their_order_beside_others(
    options, other, call, write
):
    rows = [{**row, "x": 1, "y": 0, "z": 1} for row in SCORES]
    log = write("a.csv", rows)
    done = call("eval", log, "--y-score", "b,a,c", "--classes", "a,b,c", *options)
    assert done.code == 2
    assert done.err == (
        "streameval: error: `b,a,c` are named as the classes are, but in another order. List them "
        f"as a,b,c, and the columns of {other} in the same order.\n"
    )


def test_columns_of_another_model_named_as_classes_are_in_the_same_order(call, write):
    columns = ("p_cat", "p_dog", "p_ant", "q_dog", "q_cat", "q_ant")
    scores = {"cat": (8, 1, 1, 1, 8, 1), "ant": (1, 1, 8, 1, 1, 8), "dog": (1, 8, 1, 8, 1, 1)}
    rows = [
        {"y_true": of, **dict(zip(columns, (one / 10 for one in own), strict=True))}
        for of, own in scores.items()
    ]
    options = ("--y-score", "p_cat,p_dog,p_ant", "--versus")
    refused = call("eval", write("a.csv", rows), *options, "q_dog,q_cat,q_ant")
    assert "List them as q_cat,q_dog,q_ant, and the columns of --y-score" in refused.err
    done = call("eval", "a.csv", *options, "q_cat,q_dog,q_ant", "--json")
    assert done.json["metrics"]["accuracy_b"] == 1.0
