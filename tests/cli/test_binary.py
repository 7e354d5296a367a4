"""`--task binary`: columns, numbers, gates, pictures."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from offenders import each
from sklearn import metrics as sk

import streameval as se
from streameval.io import lines

DATA = Path(__file__).parents[2] / "docs" / "data"
BINARY = ("--task", "binary")
CANCER = np.loadtxt(DATA / "breast_cancer.csv", delimiter=",", skiprows=1, usecols=(1, 2))
TRUTH, SCORE = CANCER[:, 0].astype(int), CANCER[:, 1]
rng = np.random.default_rng(11)
LABELS = rng.integers(0, 3, 120)
SCORES = (2 * rng.random((120, 3)) + np.eye(3)[LABELS]) / 3
NOTE = "streameval: note: "
COUNTS = {"n", "n_pos", "n_neg", "n_skipped", "cells"}


@pytest.fixture
def evaluate(call):
    """Evaluate the shipped log of two classes."""

    def evaluate(*options):
        return call("eval", DATA / "breast_cancer.csv", *BINARY, *options)

    return evaluate


@pytest.fixture
def three(write):
    """A log of three classes with a score for each."""
    rows = [{"y_true": int(t), "y_score": s.tolist()} for t, s in zip(LABELS, SCORES, strict=True)]
    return write("three.jsonl", rows)


def state(call, *arguments):
    done = call("eval", *arguments, *BINARY, "-o", "a.state")
    assert (done.code, done.err.count("error")) == (0, 0), done.err
    return se.load("a.state")


def test_binary_reports_the_shipped_log(evaluate):
    done = evaluate()
    assert (done.code, done.err) == (0, "")
    result = se.PRCurveSketch().update(TRUTH, SCORE).compute()
    assert done.out == f"569 rows of 1 file\n\n{result.report()}\n"


def test_binary_report_has_the_level_asked_for(evaluate):
    assert "90% interval" in evaluate("--level", 0.9).out
    assert "interval" not in evaluate("--level", 0).out


def test_binary_json_is_that_of_sklearn(evaluate):
    found = evaluate("--json").json
    metrics = found["metrics"]
    assert metrics["roc_auc"] == pytest.approx(sk.roc_auc_score(TRUTH, SCORE), rel=1e-12)
    ap = sk.average_precision_score(TRUTH, SCORE)
    assert metrics["average_precision"] == pytest.approx(ap, rel=1e-12)
    assert metrics["log_loss"] == pytest.approx(sk.log_loss(TRUTH, SCORE), rel=1e-12)
    origin = {"task": "binary", "n": 569, "exact": True, "level": 0.95}
    assert found | origin == found
    assert (metrics["n_pos"], metrics["n_neg"]) == (212, 357)


@each("options", [[], ["--metrics", "roc_auc"]])
def test_binary_json_has_bounds_where_metrics_are_not_exact(options, evaluate):
    found = evaluate("--json", *options).json
    assert "bounds" not in found
    assert isinstance(found["metrics"]["roc_auc"], float)
    inexact = evaluate("--json", *options, "--budget", 50).json
    low, high = inexact["bounds"]["roc_auc"]
    assert low <= found["metrics"]["roc_auc"] <= high
    assert inexact == evaluate("--json", *options, "--budget", 50, "--bounds").json


def test_slices_and_classes_in_json_have_bounds_where_metrics_are_not_exact(call, three):
    found = call("eval", three, *BINARY, "--by", "y_true", "--budget", 5, "--json").json
    assert all("bounds" in found["per_class"][name] for name in "012")
    assert all("bounds" in one for one in (found, *found["slices"]))


def test_binary_json_has_bounds_of_no_width_when_exact(evaluate):
    found = evaluate("--json", "--bounds").json
    assert found["bounds"]["roc_auc"] == [found["metrics"]["roc_auc"]] * 2
    assert found["bounds"].keys() == found["metrics"].keys() - COUNTS


def test_binary_json_has_bounds_that_hold_the_exact_value(evaluate):
    exact = evaluate("--json").json["metrics"]
    found = evaluate("--json", "--bounds", "--budget", 50).json
    assert not found["exact"]
    assert found["bounds"].keys() == found["metrics"].keys() - COUNTS
    for name, (low, high) in found["bounds"].items():
        assert low <= exact[name] <= high
        assert low < high


def test_binary_json_has_the_sampling_intervals_of_areas(evaluate):
    found = evaluate("--json", "--level", 0.8).json
    curve = se.PRCurveSketch().update(TRUTH, SCORE).compute()
    names = ("roc_auc", "average_precision")
    assert found["intervals"] == {name: [*curve.confidence(name, level=0.8)] for name in names}


@each(
    ("rows", "options"),
    [
        ([(0, 0.2, 0.5), (1, 0.7, 1)], ["--sample-weight", "w"]),
        ([(0, 0.2, 1), (0, 0.7, 1)], []),
    ],
)
def test_binary_json_has_no_interval_where_there_is_none(rows, options, call, write):
    log = write("a.csv", [dict(zip(("y_true", "y_score", "w"), row, strict=True)) for row in rows])
    assert call("eval", log, *BINARY, "--json", *options).json["intervals"] == {}


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_binary_state_is_that_of_a_program(jobs, evaluate):
    assert evaluate("-o", "a.state", "--jobs", jobs).code == 0
    assert se.load("a.state") == se.PRCurveSketch().update(TRUTH, SCORE)


@each(
    ("options", "configuration"),
    [
        (["--budget", 64], {"budget": 64}),
        (["--budget", "none"], {"budget": None}),
        (["--scores", "real"], {"scores": "real"}),
        (["--nan", "skip"], {"nan": "skip"}),
        (["--pos-label", 0], {"pos_label": 0}),
        (["--classes", "auto"], {}),
    ],
)
def test_binary_options_are_those_of_the_sketch(options, configuration, evaluate):
    assert evaluate(*options, "-o", "a.state").code == 0
    assert se.load("a.state") == se.PRCurveSketch(**configuration).update(TRUTH, SCORE)


@each("name", ["a.jsonl", "a.csv", "a.parquet"])
def test_binary_reads_named_columns_words_and_weights(name, call, write):
    rows = [{"label": t, "s": s, "w": w} for t, s, w in [("spam", 2.5, 2), ("ham", -1.0, 1)]]
    options = ["--y-true", "label", "--y-score", "s", "--sample-weight", "w", "--pos-label", "spam"]
    found = state(call, write(name, rows), *options, "--scores", "real")
    expected = se.PRCurveSketch(scores="real", pos_label="spam")
    assert found == expected.update(["spam", "ham"], [2.5, -1.0], sample_weight=[2, 1])


def test_binary_reads_true_and_false(call, write):
    log = write("a.jsonl", [{"y_true": True, "y_score": 0.5}, {"y_true": False, "y_score": 0.25}])
    assert state(call, log) == se.PRCurveSketch().update([1, 0], [0.5, 0.25])


@each("name", ["a.jsonl", "a.csv"])
def test_binary_skips_and_counts_nan(name, call, write):
    rows = [{"y_true": n % 2, "y_score": n / 10} for n in range(9)]
    rows[4]["y_score"] = float("nan")
    log = write(name, rows)
    assert call("eval", log, *BINARY).code == 3
    found = call("eval", log, *BINARY, "--nan", "skip", "--json").json["metrics"]
    assert (found["n"], found["n_skipped"]) == (8, 1)


@pytest.mark.parametrize(
    "options", [[], ["--classes", 3], ["--classes", "0,1,2"], ["--classes", "auto"]], ids=str
)
def test_binary_makes_a_curve_for_each_class(options, call, three):
    assert state(call, three, *options) == se.PRCurveSketch(classes=3).update(LABELS, SCORES)


def test_binary_notes_the_classes_it_took(call, three):
    note = f"{NOTE}took 3 classes from the first `y_score`; --classes sets them.\n"
    assert call("eval", three, *BINARY).err == note
    assert call("eval", three, *BINARY, "--classes", 3).err == ""


NAMED = [{"y_true": "b", "p": 0.25, "q": 0.75}, {"y_true": "a", "p": 0.6, "q": 0.4}]


@each(("positive", "scores"), [("b", [0.75, 0.4]), ("a", [0.25, 0.6])])
@each("is_alone", [True, False])
def test_binary_takes_the_second_of_two_listed_classes_as_positive(
    is_alone, positive, scores, call, write
):
    score = {"a": "p", "b": "q"}[positive] if is_alone else "p,q"
    named = [] if positive == "b" else ["--pos-label", positive]
    expected = se.PRCurveSketch(pos_label=positive).update(["b", "a"], scores)
    log = write("a.csv", NAMED)
    assert state(call, log, "--y-score", score, "--classes", "a,b", *named) == expected


@each("options", [(), ("--classes", "0,1"), ("--scores", "real")])
def test_binary_refuses_the_scores_of_two_models(options, call, write):
    rows = [{"y_true": 1, "old": 0.75, "new": 0.25}, {"y_true": 0, "old": 0.5, "new": 0.75}]
    done = call("eval", write("a.csv", rows), *BINARY, "--y-score", "old,new", *options)
    compare = "--y-score old --versus new --measures roc_auc"
    assert done.code == 2
    assert done.err.endswith(f"of class 1; to compare two models use {compare} without --task.\n")
    done = call("eval", write("a.csv", rows), *compare.split(), "--metrics", "roc_auc_difference")
    assert done.code == 0


def test_binary_finds_two_models_whose_first_scores_sum_to_one(call, write):
    rows = [{"y_true": 1, "p": 0.25, "q": 0.75}, {"y_true": 0, "p": 0.25, "q": 0.5}]
    done = call("eval", write("a.csv", rows), *BINARY, "--y-score", "p,q")
    assert (done.code, "but do not sum to 1" in done.err) == (2, True)


def test_binary_takes_one_of_minus_one_and_one_as_positive(call, write):
    rows = [{"y_true": t, "y_score": s} for t, s in [(1, 0.75), (-1, 0.25), (1, 0.5)]]
    done = call("eval", write("a.csv", rows), *BINARY, "--json")
    assert done.json["metrics"]["roc_auc"] == 1.0
    assert done.err == "streameval: note: took 1 of the labels -1 and 1 as positive.\n"
    done = call("eval", write("a.csv", rows), *BINARY, "--pos-label=-1", "--json")
    assert (done.json["metrics"]["roc_auc"], done.err) == (0.0, "")


def test_binary_names_the_list_in_a_vector_of_spark(call, write):
    rows = [{"y_true": 1, "p": {"type": 1, "values": [0.25, 0.75]}}]
    refused = call("eval", write("a.jsonl", rows), *BINARY, "--y-score", "p").err
    assert refused == ("streameval: error: `p` holds an object; name a list in it, p.values.\n")


def test_binary_reads_real_scores_of_two_listed_classes(call, write):
    rows = [{"y_true": 1, "p": -3, "q": 2}, {"y_true": 0, "p": 4, "q": -1}]
    options = ("--y-score", "p,q", "--classes", "0,1", "--scores", "real")
    done = call("eval", write("a.csv", rows), *BINARY, *options, "--json")
    assert done.json["metrics"]["roc_auc"] == 1.0


def test_binary_takes_the_score_of_the_positive_class_by_the_name_of_its_column(call, write):
    rows = [{"y_true": "no", "yes": 0.1, "no": 0.9}, {"y_true": "yes", "yes": 0.7, "no": 0.3}]
    log, options = write("a.csv", rows), ("--y-score", "yes,no", "--pos-label", "yes")
    expected = se.PRCurveSketch(pos_label="yes").update(["no", "yes"], [0.1, 0.7])
    assert state(call, log, *options) == expected
    assert state(call, log, *options[:2], "--classes", "no,yes") == expected
    done = call("eval", log, *BINARY, *options[:3], "maybe")
    assert done.code == 2
    assert "`yes,no` holds scores of yes and no; name the positive one with" in done.err


def test_binary_reads_listed_classes_as_classification_does(call, write):
    log = write("a.csv", NAMED)
    options = ("--y-score", "q", "--classes", "a,b")
    assert call("eval", log, *options, "--json").json["metrics"]["tp"] == 1
    curve = call("eval", log, *options, *BINARY, "--json").json
    assert (curve["metrics"]["n_pos"], curve["metrics"]["roc_auc"]) == (1, 1.0)


@each("classes", ["2", "0,1"])
def test_binary_of_two_listed_numbers_is_the_usual_curve(classes, call, write):
    rows = [{"y_true": t, "y_score": s} for t, s in ((1, 0.9), (0, 0.2))]
    log = write("a.csv", rows)
    assert state(call, log, "--classes", classes) == state(call, log)
    flipped = se.PRCurveSketch(pos_label=0).update([1, 0], [0.9, 0.2])
    assert state(call, log, "--classes", classes, "--pos-label", "0") == flipped


def test_binary_of_two_listed_numbers_reads_words_of_truth(call, write):
    log = write("a.csv", [{"y_true": t, "y_score": s} for t, s in (("True", 0.9), ("False", 0.2))])
    assert state(call, log, "--classes", "0,1") == state(call, log)


@each(("label", "classes", "fault"), [("c", "a,b", "one of a, b"), (7, "1,2", "one of 1, 2")])
def test_binary_refuses_a_label_that_is_not_listed(label, classes, fault, call, write):
    first = classes.split(",")[0]
    rows = [{"y_true": one, "y_score": 0.5} for one in (first, label)]
    done = call("eval", write("a.csv", rows), *BINARY, "--classes", classes)
    assert done.code == 3
    assert (
        done.err == f"streameval: error: a.csv, line 3: `y_true` must be {fault}, got {label!r}.\n"
    )


def test_binary_refuses_a_positive_label_that_is_not_listed(call, write):
    options = ("--y-score", "q", "--classes", "a,b", "--pos-label", "c")
    done = call("eval", write("a.csv", NAMED), *BINARY, *options)
    message = "--pos-label must be one of the two classes ('a', 'b'), got 'c'."
    assert (done.code, done.err) == (2, f"streameval: error: {message}\n")


def test_binary_reads_a_column_for_each_named_class(call, write):
    rows = [row | {"r": 0.1} for row in NAMED]
    options = ["--y-score", "p,q,r", "--classes", "a,b,c"]
    expected = se.PRCurveSketch(classes=["a", "b", "c"])
    expected.update(["b", "a"], [[0.25, 0.75, 0.1], [0.6, 0.4, 0.1]])
    assert state(call, write("a.csv", rows), *options) == expected


def test_binary_reads_several_labels_a_row(call, write):
    rows = [
        {"y_true": [1, 0, 1], "y_score": [0.9, 0.2, 0.4]},
        {"y_true": [0, 0, 1], "y_score": [0.1, 0.3, 0.6]},
    ]
    expected = se.PRCurveSketch(classes=3, multilabel=True)
    expected.update([row["y_true"] for row in rows], [row["y_score"] for row in rows])
    assert state(call, write("a.jsonl", rows), "--multilabel") == expected


def test_binary_reads_columns_of_several_labels(call, write):
    rows = [{"a": 1, "b": 0, "p": 0.9, "q": 0.6}, {"a": 0, "b": 1, "p": 0.1, "q": 0.4}]
    options = ["--multilabel", "--y-true", "a,b", "--y-score", "p,q", "--classes", "red,blue"]
    expected = se.PRCurveSketch(classes=["red", "blue"], multilabel=True)
    expected.update([[1, 0], [0, 1]], [[0.9, 0.6], [0.1, 0.4]])
    assert state(call, write("a.csv", rows), *options) == expected


@each(("positive", "place"), [(None, 1), (1, 1), (0, 0)])
def test_binary_takes_the_positive_score_of_two(positive, place, call, write):
    scores = [[0.1, 0.9], [0.7, 0.3], [0.6, 0.4]]
    rows = [{"y_true": t, "y_score": s} for t, s in zip([1, 0, 1], scores, strict=True)]
    options = [] if positive is None else ["--pos-label", positive]
    expected = se.PRCurveSketch(pos_label=positive)
    expected.update([1, 0, 1], np.array(scores)[:, place])
    assert state(call, write("a.jsonl", rows), *options) == expected


def test_binary_notes_which_score_of_two_it_took(call, write):
    log = write("a.csv", [{"y_true": 1, "p": 0.1, "q": 0.9}])
    done = call("eval", log, *BINARY, "--y-score", "p,q")
    assert done.err == f"{NOTE}took the score of class 1 of the two in `p,q`.\n"


def test_binary_json_has_an_entry_for_each_class(call, three):
    found = call("eval", three, *BINARY, "--json").json
    truth = np.eye(3)[LABELS]
    macro = sk.roc_auc_score(truth, SCORES, average="macro")
    assert found["metrics"]["roc_auc_macro"] == pytest.approx(macro, rel=1e-12)
    assert (found["n"], found["classes"], found["exact"]) == (120, [0, 1, 2], True)
    assert list(found["per_class"]) == ["0", "1", "2"]
    entry = found["per_class"]["2"]
    auc = sk.roc_auc_score(truth[:, 2], SCORES[:, 2])
    assert entry["metrics"]["roc_auc"] == pytest.approx(auc, rel=1e-12)
    low, high = entry["intervals"]["roc_auc"]
    assert low < auc < high


@each(
    ("gate", "options", "verdict"),
    [
        ("roc_auc>=0.98", [], "passed"),
        ("roc_auc>=0.99", [], "undecided"),
        ("roc_auc>=0.999", [], "failed"),
        ("roc_auc>=0.995", ["--level", 0], "passed"),
        ("roc_auc>=0.996", ["--level", 0], "failed"),
        ("roc_auc>=0.995", ["--level", 0, "--budget", 50], "undecided"),
        ("roc_auc>=0.98", ["--level", 0, "--budget", 50], "passed"),
        ("average_precision>=0.96", [], "passed"),
        ("average_precision>=0.994", [], "undecided"),
        ("average_precision>=0.9995", [], "failed"),
        ("pr_auc>=0.994", [], "passed"),
        ("pr_auc>=0.995", [], "failed"),
        ("pr_auc>=0.994", ["--budget", 50], "undecided"),
        ("pr_auc>=0.98", ["--budget", 50], "passed"),
        ("log_loss<0.08", [], "passed"),
        ("n_pos>=212", [], "passed"),
        ("n_pos>212", [], "failed"),
    ],
)
def test_binary_decides_a_gate(gate, options, verdict, evaluate):
    done = evaluate("--require", gate, *options)
    assert done.code == (verdict != "passed")
    assert done.err.startswith(f"streameval: {verdict}: {gate}: ")


@pytest.mark.parametrize(
    ("gate", "verdict"),
    [
        ("roc_auc[2]>=0.7", "passed"),
        ("roc_auc[2]>=0.9", "undecided"),
        ("best_f[1]>=0.1", "passed"),
        ("n_pos[1]>=1", "passed"),
        ("roc_auc[macro]>=0.5", "passed"),
        ("roc_auc_macro>=0.999", "failed"),
        ("average_precision[micro]>=0.2", "passed"),
        ("average_precision[weighted]>=0.999", "failed"),
        ("n_averaged>=3", "passed"),
    ],
)
def test_binary_decides_a_gate_of_classes(gate, verdict, call, three):
    done = call("eval", three, *BINARY, "--classes", 3, "--require", gate)
    assert done.code == (verdict != "passed")
    assert done.err.startswith(f"streameval: {verdict}: {gate}: ")


@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
@pytest.mark.parametrize("name", ["roc_auc", "average_precision"])
def test_binary_compares_the_average_in_brackets(name, average, call, three):
    gate = f"{name}[{average}]>=0"
    done = call("eval", three, *BINARY, "--classes", 3, "--json", "--require", gate)
    value = done.json["metrics"][f"{name}_{average}"]
    ends = done.json["intervals"].get(f"{name}_{average}")
    assert (ends is None) == (average == "micro")
    within = f" in [{ends[0]:.6g}, {ends[1]:.6g}]" if ends else ""
    assert done.err == f"streameval: passed: {gate}: {value:.6g}{within}.\n"


def test_binary_leaves_the_auc_undecided_without_an_interval(call, write):
    rows = [{"y_true": t, "y_score": s, "w": 0.5} for t, s in [(0, 0.2), (1, 0.7), (1, 0.9)]]
    log, options = write("a.csv", rows), ["--sample-weight", "w"]
    done = call("eval", log, *BINARY, "--require", "roc_auc>=0.5", *options)
    assert done.code == 1
    assert done.err == (
        "streameval: undecided: roc_auc>=0.5: 1, no sampling interval (fractional weights have "
        "none); --level 0 ignores sampling error.\n"
    )
    assert call("eval", log, *BINARY, "--require", "roc_auc>=0.5", "--level", 0).code == 0


def test_binary_leaves_a_perfect_auc_of_three_rows_undecided(call, write):
    log = write("a.csv", [{"y_true": t, "y_score": s} for t, s in [(0, 0.2), (1, 0.7), (1, 0.9)]])
    done = call("eval", log, *BINARY, "--require", "roc_auc>=0.5")
    assert done.code == 1
    said = "To decide it: about 2.5 times the rows, or --level 0, which ignores sampling error."
    assert done.err == f"streameval: undecided: roc_auc>=0.5: 1 in [0.206549, 1]. {said}\n"


@pytest.mark.slow
@each("kind", ["pr", "roc", "det", "reliability", "score"])
def test_binary_states_plot_every_kind(kind, call, evaluate, folder):
    evaluate("-o", "a.state")
    done = call("plot", "a.state", "--kind", kind, "-o", "a.svg")
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{kind} of a.state drawn in a.svg, n = 569\n"


def test_binary_states_plot_precision_and_recall_by_default(call, evaluate):
    evaluate("-o", "a.state")
    assert call("plot", "a.state", "-o", "a.svg").out.startswith("pr of a.state")


def test_binary_states_list_their_curves(call, evaluate):
    evaluate("-o", "a.state")
    done = call("plot", "a.state", "--kind", "prc", "-o", "a.svg")
    assert done.err == (
        "streameval: error: no curve 'prc' of a.state: did you mean 'pr'? "
        "Choose from pr, roc, det, reliability, score.\n"
    )


def test_binary_states_of_classes_plot(call, three):
    state(call, three)
    assert call("plot", "a.state", "--kind", "roc", "-o", "a.png").code == 0


def test_binary_states_merge_and_show(call, evaluate):
    found = evaluate("-o", "a.state", "--json").json
    shutil.copy("a.state", "again.state")
    call("merge", "a.state", "again.state", "-o", "b.state")
    shown = call("show", "b.state", "--json").json
    assert (shown["task"], shown["n"]) == ("binary", 1138)
    assert shown["metrics"]["roc_auc"] == pytest.approx(found["metrics"]["roc_auc"], rel=1e-12)


@each(
    ("options", "message"),
    [
        (["--require", "roc_uac>1"], "no metric 'roc_uac': did you mean 'roc_auc'? Choose from"),
        (["--require", "ks[1]>1"], "'ks[1]': ks has no averages and no classes."),
        (
            ["--y-true", "label"],
            "`label` holds text, 'malignant'; name the positive one of two labels with --pos-label",
        ),
        (
            ["--pos-label", "x"],
            "--pos-label must be an integer as the labels are, got 'x'.",
        ),
        (
            ["--pos-label", "Malignant", "--y-true", "label"],
            "--pos-label: none of the first rows has the label 'Malignant'; did you mean 'mali",
        ),
        (["--y-true", "y_true,id"], "--y-true takes one column, unless --multilabel is given."),
        (["--classes", "3"], "`y_score` holds one value a row, but there are 3 classes."),
        (["--multilabel"], "--classes must be given with --multilabel."),
        (
            ["--y-score", "y_score,id,id", "--classes", "3", "--pos-label", "1"],
            "--pos-label names the positive one of two labels; with --classes every class is",
        ),
        (
            ["--y-score", "y_score,id", "--pos-label", "malignant", "--y-true", "label"],
            "`y_score,id` holds 2 values a row, and it is not clear which is of 'malignant'; name",
        ),
        (["--y-score", "y_scor"], "no column 'y_scor' in the first rows: did you mean 'y_score'?"),
    ],
)
def test_binary_says_what_does_not_fit(options, message, evaluate):
    done = evaluate(*options)
    assert done.code == 2
    assert done.err.startswith(f"streameval: error: {message}")


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        (
            "roc_auc>1",
            "no metric 'roc_auc': did you mean 'roc_auc_macro'? Choose from n, n_averaged",
        ),
        ("roc_auc[7]>1", "no class '7': choose from 0, 1, 2, macro, micro, weighted."),
        ("ks[macro]>1", "no metric 'ks': choose from roc_auc, average_precision."),
        ("roc_uac[1]>1", "no metric 'roc_uac': did you mean 'roc_auc'? Choose from n, n_pos"),
    ],
)
def test_binary_names_the_gates_of_classes(gate, message, call, three):
    done = call("eval", three, *BINARY, "--require", gate)
    assert done.code == 2
    assert done.err.startswith(f"streameval: error: {message}")


def test_binary_refuses_lists_of_labels_for_one_score(call, write):
    done = call("eval", write("a.jsonl", [{"y_true": [1, 0], "y_score": 0.5}]), *BINARY)
    assert done.code == 2
    assert done.err == "streameval: error: `y_true` holds lists, but there is one score per row.\n"


@each(
    ("task", "options", "length"),
    [
        ("binary", [], 1),
        ("binary", [], 0),
        ("binary", ["--multilabel"], 0),
        ("classification", [], 1),
        ("calibration", ["--y-score", "y_score"], 1),
    ],
)
def test_scores_of_a_list_too_short_are_refused(task, options, length, call, write):
    log = write("a.jsonl", [{"y_true": 1, "y_score": [0.5] * length}])
    done = call("eval", log, "--task", task, *options)
    assert done.code == 2
    hint = " Use `--y-score y_score.0`." * length
    assert done.err == (
        f"streameval: error: `y_score` holds a list of {length}; a score is a number, or a list "
        f"of one for each of several classes.{hint}\n"
    )


def test_binary_takes_a_list_of_one_label(call, write):
    log = write("a.jsonl", [{"y_true": [1], "y_score": [0.5]}])
    expected = se.PRCurveSketch(classes=1, multilabel=True).update([[1]], [[0.5]])
    assert state(call, log, "--multilabel") == expected


def test_binary_states_of_real_scores_have_no_reliability(call, evaluate):
    evaluate("--scores", "real", "-o", "a.state")
    done = call("plot", "a.state", "--kind", "reliability", "-o", "a.png")
    assert done.code == 2
    assert done.err == (
        'streameval: error: --kind "reliability" needs probabilities, not --scores real.\n'
    )


@each(
    ("row", "options", "reason"),
    [
        ({"y_score": 3.5}, [], "`y_score` must lie in [0, 1], got 3.5. Pass --scores real for"),
        ({"y_score": float("nan")}, [], "`y_score` must not hold NaN, got NaN"),
        ({"y_true": 2}, [], "`y_true` must hold 0 and 1, got 2. Pass --pos-label to name"),
        ({"y_true": 2}, ["--pos-label", "1"], "`y_true` must hold two labels, 1 and 0 as before"),
        ({"y_true": "x"}, [], "`y_true` must be an integer, got 'x'"),
    ],
)
def test_binary_names_the_line_that_is_bad(row, options, reason, call, write):
    rows = [{"y_true": n % 2, "y_score": n / 40} for n in range(40)]
    rows[21] |= row
    done = call("eval", write("a.jsonl", rows), *BINARY, *options)
    assert done.code == 3
    assert done.err.startswith(f"streameval: error: a.jsonl, line 22: {reason}")


def test_binary_refuses_a_third_label_over_blocks(call, write, monkeypatch):
    monkeypatch.setattr(lines, "PIECE_BYTES", 600)
    rows = [{"y_true": "ab"[n % 2], "y_score": n / 90} for n in range(90)]
    for row in rows[60:]:
        row["y_true"] = row["y_true"].replace("b", "c")
    log = write("a.csv", rows)
    done = call("eval", log, *BINARY, "--pos-label", "a", "--max-bad", 90)
    assert done.code == 3
    assert done.err == (
        "streameval: error: a.csv: cannot merge: the negative label differs ('b' and 'c').\n"
    )


@each("text", ["0", "-1", "1.5", "all"])
def test_binary_budget_is_a_number_or_none(text, call):
    done = call("eval", "a.csv", *BINARY, "--budget", text)
    assert done.code == 2
    assert f"--budget: must be an integer of at least 1, or none, got {text!r}" in done.err


@each("name", ["a.jsonl", "a.csv"])
def test_binary_ignores_a_label(name, call, write):
    rows = [{"y_true": t, "y_score": s} for t, s in [(1, 0.5), (-1, 0.75), (0, 0.25)]]
    expected = se.PRCurveSketch(ignore_label=-1).update([1, 0], [0.5, 0.25])
    assert state(call, write(name, rows), "--ignore-label=-1") == expected


def test_binary_ignores_a_word_beside_two_listed_classes(call, write):
    rows = [{"y_true": t, "y_score": s} for t, s in [("spam", 0.5), ("?", 0.75), ("ham", 0.25)]]
    log = write("a.jsonl", rows)
    found = state(call, log, "--classes", "ham,spam", "--ignore-label", "?")
    expected = se.PRCurveSketch(pos_label="spam", ignore_label="?")
    assert found == expected.update(["spam", "ham"], [0.5, 0.25])


def test_binary_ignores_entries_of_labels(call, write):
    rows = [{"y_true": [1, -1], "y_score": [0.5, 0.25]}, {"y_true": [0, 1], "y_score": [0.25, 1]}]
    found = state(call, write("a.jsonl", rows), "--multilabel", "--ignore-label=-1")
    expected = se.PRCurveSketch(classes=2, multilabel=True, ignore_label=-1)
    assert found == expected.update([[1, -1], [0, 1]], [[0.5, 0.25], [0.25, 1]])


def test_one_vs_one_is_asked_for_by_name(call, write):
    rows = [
        {"y_true": label, "y_score": scores}
        for label, scores in [
            *((0, [0.8, 0.1, 0.1]), (1, [0.2, 0.5, 0.3])),
            *((2, [0.6, 0.3, 0.1]), (2, [0.3, 0.1, 0.6])),
        ]
    ]
    options = ("--task", "binary", "--measures", "roc_auc_ovo", "--metrics", "roc_auc_ovo")
    found = call("eval", write("a.jsonl", rows), *options, "--json").json["metrics"]
    assert found == {"roc_auc_ovo": pytest.approx(0.875, rel=1e-15)}
    usual = call("eval", "a.jsonl", "--task", "binary", "--metrics", "roc_auc_ovo")
    assert usual.code == 2
    assert "count with --measures roc_auc_ovo" in usual.err


@pytest.mark.parametrize("words", [("yes", "no"), ("Y", "N"), (" T ", "f"), ("TRUE", "False")])
@pytest.mark.parametrize("name", ["yes.csv", "yes.jsonl"])
def test_words_say_whether_a_row_is_positive(words, name, call, write, folder):
    rows = [(words[0], 0.9), (words[1], 0.2), (words[0], 0.6), (words[1], 0.7)]
    if name.endswith(".jsonl"):
        write(name, [{"y_true": label, "y_score": score} for label, score in rows])
    else:
        lines = [f"{label},{score}\n" for label, score in rows]
        (folder / name).write_text("".join(["y_true,y_score\n", *lines]), encoding="utf-8")
    found = call("eval", name, "--task", "binary", "--json", "--level", "0").json
    assert (found["n"], found["metrics"]["n_pos"], found["metrics"]["roc_auc"]) == (4, 2, 0.75)
    assert call("eval", name, "--task", "calibration", "--json").json["n"] == 4


def test_other_words_need_the_name_of_the_positive_one(call, folder):
    (folder / "a.csv").write_text("y_true,y_score\ngood,0.9\nbad,0.2\n", encoding="utf-8")
    assert (
        "name the positive one of two labels with --pos-label"
        in call("eval", "a.csv", "--task", "binary").err
    )


@each(
    ("rows", "options"),
    [
        (
            [{"y_true": of, "p_-1": 0.25, "p_0": 0.25, "p_1": 0.5} for of in (-1, 1)],
            ["--y-score", "p_-1,p_0,p_1"],
        ),
        (
            [{"y_true": of, "b": -of, "s": 0.5, "t": 0.25} for of in (-1, 1)],
            ["--multilabel", "--y-true", "y_true,b", "--y-score", "s,t"],
        ),
    ],
)
def test_binary_takes_no_label_of_many_classes_as_positive(rows, options, call, write):
    assert "pos" not in call("eval", write("a.csv", rows), *BINARY, *options).err
