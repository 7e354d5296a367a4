"""`--json` against scikit-learn, on the same log."""

import json
import math

import numpy as np
import pytest
from offenders import each
from sklearn import metrics as sk

from streameval.render.text import json_line

rng = np.random.default_rng(3)
WORDS = np.array(["cat", "dog", "owl"])
TRUTH = WORDS[rng.integers(0, 3, 250)]
PREDICTION = np.where(rng.random(250) < 0.7, TRUTH, WORDS[rng.integers(0, 3, 250)])
WEIGHTS = rng.integers(0, 4, 250)
ROWS = [
    {"y_true": t, "y_pred": p, "w": int(w)}
    for t, p, w in zip(TRUTH, PREDICTION, WEIGHTS, strict=True)
]


@pytest.fixture(params=["plain", "weighted"])
def answer(request, call, write):
    """The JSON object, and the arguments of the same metrics in scikit-learn."""
    weigh = request.param == "weighted"
    done = call(
        "eval", write("a.jsonl", ROWS), "--json", *(["--sample-weight", "w"] if weigh else [])
    )
    assert (done.code, done.err) == (0, "")
    return done.json, (TRUTH, PREDICTION), {"sample_weight": WEIGHTS if weigh else None}


AVERAGED = {"average": "macro", "zero_division": 0.0}
ORACLES = {
    "accuracy": lambda a, k: sk.accuracy_score(*a, **k),
    "balanced_accuracy": lambda a, k: sk.balanced_accuracy_score(*a, **k),
    "precision": lambda a, k: sk.precision_score(*a, **AVERAGED, **k),
    "recall": lambda a, k: sk.recall_score(*a, **AVERAGED, **k),
    "f_score": lambda a, k: sk.f1_score(*a, **AVERAGED, **k),
    "jaccard": lambda a, k: sk.jaccard_score(*a, **AVERAGED, **k),
    "matthews_corrcoef": lambda a, k: sk.matthews_corrcoef(*a, **k),
    "cohen_kappa": lambda a, k: sk.cohen_kappa_score(*a, **k),
}


@pytest.mark.parametrize("name", ORACLES)
def test_json_metric_is_that_of_sklearn(name, answer):
    found, arrays, options = answer
    assert found["metrics"][name] == pytest.approx(ORACLES[name](arrays, options), rel=1e-12)


def test_json_matrix_is_that_of_sklearn(answer):
    found, arrays, options = answer
    np.testing.assert_array_equal(found["matrix"], sk.confusion_matrix(*arrays, **options))


def test_json_classes_are_those_of_sklearn(answer):
    found, arrays, options = answer
    expected = sk.precision_recall_fscore_support(*arrays, zero_division=0.0, **options)
    rows = [
        dict(zip(("precision", "recall", "f_score", "support"), r, strict=True))
        for r in zip(*expected, strict=True)
    ]
    assert found["classes"] == ["cat", "dog", "owl"]
    for name, row in zip(found["classes"], rows, strict=True):
        held = dict(found["per_class"][name])
        ends = held.pop("intervals")
        assert held == pytest.approx(row, rel=1e-12)
        assert ends.keys() == {"precision", "recall", "f_score"}
        assert all(low <= held[metric] <= high for metric, (low, high) in ends.items())


def test_json_says_what_was_read(answer):
    found = answer[0]
    wanted = {"task": "classification", "files": ["a.jsonl"], "rows": 250, "bad": 0, "level": 0.95}
    assert found | wanted == found


def test_json_intervals_hold_their_metrics(answer):
    found = answer[0]
    assert {"accuracy", "precision", "recall", "f_score", "jaccard"} <= found["intervals"].keys()
    for name, (low, high) in found["intervals"].items():
        assert low <= found["metrics"][name] <= high


def test_json_is_one_line(call, labels):
    assert call("eval", labels, "--json").out.count("\n") == 1


def test_json_counts_labels_of_multilabel_rows(call, write):
    rows = [{"y_true": [1, 0], "y_pred": [1, 1]}, {"y_true": [1, 1], "y_pred": [0, 1]}]
    found = call("eval", write("a.jsonl", rows), "--multilabel", "--json").json
    assert (
        found["matrix"]
        == sk.multilabel_confusion_matrix([[1, 0], [1, 1]], [[1, 1], [0, 1]]).tolist()
    )
    assert [found["per_class"][name]["support"] for name in ("0", "1")] == [2, 1]


def test_json_has_no_intervals_when_weights_have_fractions(call, write):
    log = write("a.csv", [{"y_true": 1, "y_pred": 1, "w": 0.5}])
    found = call("eval", log, "--sample-weight", "w", "--json").json
    assert (found["intervals"], found["n"]) == ({}, 0.5)


def test_json_writes_null_for_what_is_undefined(call, write):
    def refuse(constant):
        raise AssertionError(constant)

    done = call("eval", write("a.csv", [{"y_true": 1, "y_pred": 1}]), "--json")
    found = json.loads(done.out, parse_constant=refuse)
    assert found["metrics"]["cohen_kappa"] is None


@each("value", [math.nan, math.inf, -math.inf])
def test_json_line_is_strict_at_any_depth(value):
    assert json_line({"a": [1, {"b": (value, 0.1)}]}) == '{"a": [1, {"b": [null, 0.1]}]}\n'


def test_show_gives_the_numbers_of_eval(call, labels):
    found = call("eval", labels, "--json", "-o", "a.state").json
    shown = call("show", "a.state", "--json").json
    assert shown == {k: v for k, v in found.items() if k not in ("files", "rows", "bad")} | {
        "state": "a.state"
    }
