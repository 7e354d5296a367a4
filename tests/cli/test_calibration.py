"""`--task calibration`: columns, numbers, gates."""

from pathlib import Path

import numpy as np
import pytest
from offenders import each
from sklearn import metrics as sk

import streameval as se

DATA = Path(__file__).parents[2] / "docs" / "data"
CALIBRATION = ("--task", "calibration")
CANCER = np.loadtxt(DATA / "breast_cancer.csv", delimiter=",", skiprows=1, usecols=(1, 2))
TRUTH, SCORE = CANCER[:, 0].astype(int), CANCER[:, 1]
WORDS = [
    {"label": "dog", "p": [0.25, 0.75, 0.0], "w": 2},
    {"label": "owl", "p": [0.5, 0.25, 0.25], "w": 1},
]


@pytest.fixture
def evaluate(call):
    """Evaluate the shipped log of two classes."""

    def evaluate(*options):
        return call("eval", DATA / "breast_cancer.csv", *CALIBRATION, *options)

    return evaluate


def state(call, *arguments):
    done = call("eval", *arguments, *CALIBRATION, "-o", "a.state")
    assert (done.code, done.err.count("error")) == (0, 0), done.err
    return se.load("a.state")


def test_calibration_reports_the_shipped_log(evaluate):
    done = evaluate()
    assert (done.code, done.err) == (0, "")
    heading, empty, *lines = done.out.splitlines()
    assert (heading, empty) == ("569 rows of 1 file", "")
    assert lines[3].split() == ["log_loss", f"{sk.log_loss(TRUTH, SCORE):.6f}"]


def test_calibration_json_is_that_of_sklearn(evaluate):
    found = evaluate("--json").json
    metrics = found["metrics"]
    assert metrics["log_loss"] == pytest.approx(sk.log_loss(TRUTH, SCORE), rel=1e-12)
    assert metrics["brier"] == pytest.approx(sk.brier_score_loss(TRUTH, SCORE), rel=1e-12)
    assert metrics["pcopc"] == pytest.approx(SCORE.sum() / TRUTH.sum(), rel=1e-12)
    assert found | {"task": "calibration", "n": 569, "intervals": {}, "level": 0.95} == found
    assert "classes" not in found


def test_calibration_json_holds_the_reliability_curve(evaluate):
    found = evaluate("--json", "--bins", 4).json["reliability"]
    places = np.minimum((SCORE * 4).astype(int), 3)
    weight = np.bincount(places)
    assert found["weight"] == weight.tolist()
    assert found["mean_prediction"] == pytest.approx(np.bincount(places, SCORE) / weight)
    assert found["mean_label"] == pytest.approx(np.bincount(places, TRUTH) / weight)
    clicks = np.bincount(places, TRUTH)
    assert found["pcopc"] == pytest.approx(np.bincount(places, SCORE) / clicks)


def test_calibration_counts_bins(evaluate):
    assert evaluate("--bins", 4, "-o", "a.state").code == 0
    assert se.load("a.state") == se.CalibrationAccumulator(bins=4).update(TRUTH, SCORE)


@each(
    ("row", "options", "expected"),
    [
        ({"y_prob": 0.25, "y_score": 0.5}, [], 0.25),
        ({"y_score": 0.5}, [], 0.5),
        ({"y_prob": 0.25, "y_score": 0.5}, ["--y-score", "y_score"], 0.5),
    ],
)
def test_calibration_reads_the_probability(row, options, expected, call, write):
    found = state(call, write("a.csv", [{"y_true": 1} | row]), *options)
    assert found == se.CalibrationAccumulator().update([1], [expected])


def test_calibration_asks_for_the_usual_column(call, write):
    done = call("eval", write("a.csv", [{"y_true": 1, "p": 1}]), *CALIBRATION)
    assert done.code == 2
    assert "no column 'y_prob' in the first rows" in done.err


@each("name", ["a.jsonl", "a.parquet"])
def test_calibration_reads_lists_of_probabilities_and_weights(name, call, write):
    options = [
        "--y-true",
        "label",
        "--y-score",
        "p",
        "--classes",
        "cat,dog,owl",
        "--sample-weight",
        "w",
    ]
    expected = se.CalibrationAccumulator(classes=["cat", "dog", "owl"])
    expected.update(["dog", "owl"], [row["p"] for row in WORDS], sample_weight=[2, 1])
    assert state(call, write(name, WORDS), *options) == expected


def test_calibration_reads_a_column_for_each_class(call, write):
    rows = [{"y_true": 1, "a": 0.25, "b": 0.75}, {"y_true": 0, "a": 0.5, "b": 0.5}]
    found = state(call, write("a.csv", rows), "--y-score", "a,b", "--classes", 2)
    expected = se.CalibrationAccumulator(classes=2)
    assert found == expected.update([1, 0], [[0.25, 0.75], [0.5, 0.5]])


@each("options", [[], ["--classes", "auto"]])
def test_calibration_takes_the_number_of_classes_from_the_first_row(options, call):
    done = call("eval", DATA / "digits.jsonl.gz", *CALIBRATION, *options, "-o", "a.state")
    assert done.code == 0
    assert done.err == (
        "streameval: note: took 10 classes from the first `y_score`; --classes sets them.\n"
    )
    assert "classes=10" in repr(se.load("a.state").compute())


def test_calibration_json_has_an_entry_for_each_class(call, write):
    options = ["--y-true", "label", "--y-score", "p", "--classes", "cat,dog,owl", "--json"]
    found = call("eval", write("a.jsonl", WORDS), *CALIBRATION, *options).json
    assert found["classes"] == ["cat", "dog", "owl"]
    assert found["per_class"]["dog"] == {"pcopc": 1.0, "mean_prediction": 0.5, "mean_label": 0.5}
    assert found["per_class"]["cat"]["pcopc"] is None


@pytest.mark.slow
def test_calibration_states_show_and_plot(call, evaluate):
    evaluate("-o", "a.state")
    assert call("show", "a.state").out.splitlines()[1:] == evaluate().out.splitlines()[1:]
    for options in ([], ["--kind", "reliability"]):
        done = call("plot", "a.state", *options, "-o", "a.svg")
        assert done.out == "reliability of a.state drawn in a.svg, n = 569\n"


@each(("gate", "code"), [("ece<0.02", 0), ("ece<0.01", 1), ("log_loss<=0.08", 0), ("pcopc>1", 1)])
def test_calibration_gate_compares_the_value_at_level_0(gate, code, evaluate):
    assert evaluate("--require", gate, "--level", 0).code == code


@each(("gate", "code"), [("ece<0.02", 0), ("ece<0.01", 1), ("log_loss<=0.08", 0), ("pcopc>1", 1)])
def test_calibration_gate_compares_the_value_which_has_no_interval(gate, code, evaluate):
    assert evaluate("--require", gate).code == code


@each(("gate", "code"), [("n>=569", 0), ("n>569", 1), ("n_clipped>=1", 0)])
def test_calibration_count_is_its_own_interval(gate, code, evaluate):
    assert evaluate("--require", gate).code == code


@each(
    ("options", "message"),
    [
        (
            ["--require", "ecce<1"],
            "no metric 'ecce': did you mean 'ece'? Choose from n, log_loss",
        ),
        (["--require", "ece[1]<1"], "'ece[1]': ece has no averages and no classes."),
        (["--y-true", "y_true,y_pred"], "--y-true takes one column."),
        (["--classes", "3"], "`y_score` holds one value a row, but there are 3 classes."),
        (["--bins", "70000"], "--bins must be at most 65536, got 70000."),
        (["--y-true", "label"], "`label` holds text, 'malignant'; 0 and 1 are needed, or a "),
    ],
)
def test_calibration_says_what_does_not_fit(options, message, evaluate):
    done = evaluate(*options)
    assert done.code == 2
    assert done.err.startswith(f"streameval: error: {message}")


@each(
    ("row", "reason"),
    [
        ({"p": [0.5, 1.5]}, "`p` must lie in [0, 1], got 1.5. Logits are not probabilities: "),
        ({"p": [0.5, 0.25]}, "`p` must have rows that sum to 1 within 0.01, got 0.75. Logits"),
    ],
)
def test_calibration_names_the_line_that_is_bad(row, reason, call, write):
    rows = [{"y_true": n % 2, "p": [0.5, 0.5]} for n in range(40)]
    rows[20] |= row
    done = call("eval", write("a.jsonl", rows), *CALIBRATION, "--y-score", "p")
    assert done.code == 3
    assert done.err.splitlines()[-1].startswith(f"streameval: error: a.jsonl, line 21: {reason}")


def test_calibration_has_intervals_where_they_are_asked_for(call, write):
    rows = [{"y_true": y, "y_prob": p} for y, p in [(1, 0.75), (0, 0.25), (1, 0.5), (0, 0.5)]]
    options = ("--task", "calibration", "--intervals", "--json")
    found = call("eval", write("a.jsonl", rows), *options).json["intervals"]
    acc = se.CalibrationAccumulator(intervals=True)
    result = acc.update([1, 0, 1, 0], [0.75, 0.25, 0.5, 0.5]).compute()
    assert found == {name: [*result.confidence(name)] for name in ("log_loss", "brier")}


@each(("labels", "ignored"), [([1, 0, -1], "-1"), (["a", "b", "?"], "?")])
def test_calibration_ignores_a_label(labels, ignored, call, write):
    is_text = ignored == "?"
    scores = [[0.75, 0.25], [0.25, 0.75], [0.5, 0.5]] if is_text else [0.75, 0.25, 0.5]
    rows = [{"y_true": t, "y_prob": p} for t, p in zip(labels, scores, strict=True)]
    listed = ["--classes", "a,b"] if is_text else []
    found = state(call, write("a.jsonl", rows), f"--ignore-label={ignored}", *listed)
    options = {"classes": ["a", "b"]} if is_text else {}
    acc = se.CalibrationAccumulator(**options, ignore_label="?" if is_text else -1)
    assert found == acc.update(labels[:2], scores[:2])
