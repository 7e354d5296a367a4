"""Display names of classes that --classes gives: 0=neg,1=pos."""

from __future__ import annotations

import pytest

import streameval as se

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


@pytest.mark.parametrize("label", ["neg", "0"])
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
    options = ("--task", task, "--score", "a,b,c", "--classes", "0=x,1=y,2=z")
    assert call("eval", scores, *options, "-o", "a.state").code == 0
    rows = [[0.1, 0.8, 0.1], [0.5, 0.3, 0.2], [0.2, 0.2, 0.6]]
    made = make(classes={0: "x", 1: "y", 2: "z"}).update([1, 0, 2], rows)
    assert se.load(folder / "a.state") == made


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (
            ["--classes", "1=pos,0=neg"],
            "--classes with names lists numbers in ascending order, as in 0=neg,1=pos.",
        ),
        (["--classes", "0=neg,1=neg"], "--classes must be distinct, got 'neg' twice."),
        (
            ["--classes", "0=neg,1=pos", "--task", "binary", "--score", "y_pred"],
            f"{OF_TWO}; list 0,1.",
        ),
    ],
)
def test_names_that_cannot_be_right_are_refused(options, error, labels, call):
    done = call("eval", labels, *options)
    assert (done.code, done.err) == (2, f"streameval: error: {error}\n")
