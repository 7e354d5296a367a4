"""`--metrics`: which numbers are shown."""

import math

from certified import outward
from offenders import each

import streameval as se
from streameval.metrics.table import Reading
from streameval.results.names import MetricName, parse_metric


@each(
    ("text", "metric"),
    [
        ("accuracy", MetricName("accuracy")),
        (" recall[macro] ", MetricName("recall", "macro")),
        ("precision[x[0],y]", MetricName("precision", "x[0],y")),
        ("rbp(p=0.8,rel=2)", MetricName("rbp(p=0.8,rel=2)")),
        ("ndcg@10", MetricName("ndcg@10")),
        ("outer/in ner/roc_auc[3]", MetricName("outer/in ner/roc_auc", "3")),
    ],
)
def test_metric_is_a_name_and_perhaps_brackets(text, metric):
    assert parse_metric(text) == metric
    assert str(metric) == text.strip()


@each("text", ["", "[macro]", "recall[", "recall[]", "a b", ">=1"])
def test_what_is_no_metric_is_refused(text, call, labels):
    done = call("eval", labels, "--metrics", text)
    assert (done.code, done.out) == (2, "")
    assert f"{text.strip()!r} is not a metric; write one like 'accuracy'" in done.err


def test_reading_has_the_certified_interval_of_its_value():
    assert Reading(se.Bounded(0.5, 0.4, 0.6)).certified == (0.4, 0.6)
    assert Reading(0.5).certified == (0.5, 0.5)


def test_interval_that_decides_is_of_sampling_where_there_is_one():
    value = se.Bounded(0.5, 0.4, 0.6)
    assert Reading(value, (0.1, 0.9), "").deciding == (0.1, 0.9)
    assert Reading(value, None, "").deciding == (0.4, 0.6)
    assert Reading(value, None, "too few").deciding is None


def test_metrics_chooses_the_lines_of_the_report(call, labels):
    done = call("eval", labels, "--metrics", "accuracy,n", "--metrics", "recall[1]")
    result = se.ConfusionAccumulator("auto").update(*truth_and_prediction()).compute()
    recall = result.confidence("recall", average=None)
    lines = done.out.splitlines()
    assert lines[0] == "200 rows of 1 file"
    assert [line.split(maxsplit=2) for line in lines[2:]] == [
        ["metric", "value", "95% interval"],
        ["accuracy", f"{result.accuracy:.6f}", interval(result.confidence("accuracy"))],
        ["n", "200"],
        ["recall[1]", f"{result.recall(average=None)[1]:.6f}", interval([e[1] for e in recall])],
    ]


def truth_and_prediction():
    return [n % 3 for n in range(200)], [(n + (n % 5 == 0)) % 3 for n in range(200)]


def interval(ends):
    low, high = ends
    return f"[{low:.6f}, {high:.6f}]"


def test_metrics_shows_certified_and_sampling_intervals_side_by_side(call, write):
    rows = [{"y_true": n % 2, "y_score": (n * 7 % 100) / 100} for n in range(100)]
    name = write("log.csv", rows)
    chosen = ["--task", "binary", "--budget", "8", "--metrics", "roc_auc,ks"]
    done = call("eval", name, *chosen)
    curve = se.PRCurveSketch(8).update(
        [row["y_true"] for row in rows], [row["y_score"] for row in rows]
    )
    auc, ks = curve.compute().roc_auc, curve.compute().ks
    assert not auc.exact
    lines = [line.split("  ") for line in done.out.splitlines()[2:]]
    assert [[cell.strip() for cell in line if cell] for line in lines] == [
        ["metric", "value", "exact value within", "95% interval"],
        [
            "roc_auc",
            f"{auc:.6f}",
            outward(auc.low, auc.high),
            interval(curve.compute().confidence("roc_auc")),
        ],
        ["ks", f"{ks:.6f}", outward(ks.low, ks.high)],
    ]


def test_json_holds_the_chosen_metrics_alone(call, labels):
    done = call("eval", labels, "--json", "--bounds", "--metrics", "accuracy,recall[macro],n").json
    result = se.ConfusionAccumulator("auto").update(*truth_and_prediction()).compute()
    assert done["metrics"] == {
        "accuracy": result.accuracy,
        "recall[macro]": result.recall("macro"),
        "n": 200,
    }
    assert done["bounds"]["accuracy"] == [result.accuracy] * 2
    assert done["intervals"] == {
        "accuracy": list(result.confidence("accuracy")),
        "recall[macro]": list(result.confidence("recall", average="macro")),
    }
    assert "matrix" not in done
    assert done["n"] == 200


def test_show_takes_metrics_too(call, labels):
    call("eval", labels, "-o", "a.state")
    shown = call("show", "a.state", "--metrics", "accuracy")
    assert (
        shown.out.splitlines()[2:]
        == call("eval", labels, "--metrics", "accuracy").out.splitlines()[2:]
    )


def test_metrics_of_a_collection_are_those_of_its_members(call, folder):
    members = {"counts": se.ConfusionAccumulator(), "curve": se.PRCurveSketch()}
    batch = {"y_true": [0, 1, 1], "y_pred": [0, 1, 0], "y_score": [0.1, 0.9, 0.4]}
    se.save(se.Collection(members).update(batch), "a.state")
    shown = call("show", "a.state", "--metrics", "counts/accuracy,curve/recall_at(0.5)", "--json")
    assert shown.json["metrics"] == {"counts/accuracy": 2 / 3, "curve/recall_at(0.5)": 0.5}


@each(
    ("metric", "expected"),
    [
        ("recall_at(0.5)", lambda curve: curve.recall_at(0.5)),
        ("precision_at(0.25)", lambda curve: curve.precision_at(0.25)),
        ("f_at(0.5)", lambda curve: curve.f_at(0.5)),
        ("partial_roc_auc(0.5)", lambda curve: curve.partial_roc_auc(0.5)),
        ("recall_at_precision(0.9)", lambda curve: curve.recall_at_precision(0.9)),
        ("precision_at_recall(0.9)", lambda curve: curve.precision_at_recall(0.9)),
        ("threshold_at_precision(0.9)", lambda curve: curve.threshold_at_precision(0.9)),
    ],
)
def test_metric_of_a_curve_may_take_a_number(metric, expected, call, write):
    rows = [{"y_true": n % 4 > 0, "y_score": n / 16} for n in range(16)]
    name = write("log.jsonl", rows)
    done = call("eval", name, "--task", "binary", "--json", "--metrics", metric).json
    curve = se.PRCurveSketch().update(
        [row["y_true"] for row in rows], [row["y_score"] for row in rows]
    )
    assert done["metrics"] == {metric: expected(curve.compute())}


def test_counts_at_a_threshold_have_a_sampling_interval(call, write):
    name = write("log.jsonl", [{"y_true": n % 2, "y_score": n / 16} for n in range(16)])
    chosen = ["--task", "binary", "--metrics", "recall_at(0.5),f_at(0.5)", "--json"]
    done = call("eval", name, *chosen).json
    curve = se.PRCurveSketch().update([n % 2 for n in range(16)], [n / 16 for n in range(16)])
    assert done["intervals"] == {
        "recall_at(0.5)": list(curve.compute().confidence("recall_at", 0.5))
    }


@each(
    ("metric", "message"),
    [
        ("recall_at(x)", "'recall_at(x)': 'x' is not a number."),
        ("recall_at_precision(7)", "recall_at_precision(7): `p` must lie in [0, 1], got 7"),
        ("recall_at(nan)", "recall_at(nan): `threshold` must be a number, got nan"),
        ("recall_ta(0.5)", "no metric 'recall_ta(0.5)': did you mean 'recall_at(x)'?"),
        ("recall_at", "no metric 'recall_at': did you mean 'recall_at(x)'?"),
    ],
)
def test_number_of_a_metric_has_to_make_sense(metric, message, call, write):
    name = write("log.jsonl", [{"y_true": n % 2, "y_score": n / 16} for n in range(16)])
    done = call("eval", name, "--task", "binary", "--metrics", metric)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_class_of_several_curves_takes_a_number_too(call, write):
    rows = [
        {"y_true": n % 3, "y_score": [n % 3 == k, 0.5, 0.1]} for n in range(9) for k in range(3)
    ]
    rows = [row | {"y_score": [float(score) for score in row["y_score"]]} for row in rows]
    name = write("log.jsonl", rows)
    done = call(
        "eval",
        name,
        "--task",
        "binary",
        "--json",
        "--metrics",
        "recall_at(0.5)[1],roc_auc[macro],roc_auc_macro",
    ).json
    curves = se.PRCurveSketch(classes=3).update(
        [row["y_true"] for row in rows], [row["y_score"] for row in rows]
    )
    assert done["metrics"]["recall_at(0.5)[1]"] == curves.compute()[1].recall_at(0.5)
    assert done["metrics"]["roc_auc[macro]"] == done["metrics"]["roc_auc_macro"]
    done = call("eval", name, "--task", "binary", "--metrics", "recall_at(0.5)")
    assert done.code == 2
    assert "no metric 'recall_at(0.5)'" in done.err


def test_metric_that_is_not_there_is_refused_before_reading(call, write):
    name = write("log.jsonl", [{"y_true": 1, "y_pred": 1}, {"y_true": "x", "y_pred": []}])
    done = call("eval", name, "--metrics", "acuracy")
    assert (done.code, done.out) == (2, "")
    assert "no metric 'acuracy': did you mean 'accuracy'?" in done.err


def test_undefined_metric_is_nan_and_in_json_null(call, write):
    name = write("log.jsonl", [{"y_true": 1, "y_score": 0.5}])
    chosen = ["--task", "binary", "--metrics", "roc_auc"]
    assert call("eval", name, *chosen).out.splitlines()[-3].split() == ["roc_auc", "\N{EN DASH}"]
    assert call("eval", name, *chosen, "--json").json["metrics"] == {"roc_auc": None}
    assert math.isnan(se.PRCurveSketch().update([1], [0.5]).compute().roc_auc)


def test_report_says_what_an_open_average_is(call, labels):
    shown = call("eval", labels, "--metrics", "recall,n").out
    assert shown.endswith("\n\nper-class metrics are means over 3 classes (macro)\n")
    assert "macro" not in call("eval", labels, "--metrics", "recall[1],accuracy").out
    assert call("eval", labels, "--metrics", "recall", "--json").json["scope"] == (
        "per-class metrics are means over 3 classes (macro)"
    )


def test_level_0_leaves_intervals_out_of_json_too(call, labels):
    assert call("eval", labels, "--json", "--level", "0").json["intervals"] == {}
    chosen = ["--metrics", "accuracy,recall[1],recall[macro]"]
    assert call("eval", labels, "--json", "--level", "0", *chosen).json["intervals"] == {}


@each(
    ("typed", "suggestion"),
    [
        ("f1", "did you mean 'f_score'? Choose from"),
        ("MCC", "did you mean 'matthews_corrcoef'? Choose from"),
        ("auc", "roc_auc is a metric of --task binary (PRCurveSketch), gauc is a metric of"),
        ("roc_auc", "roc_auc is a metric of --task binary (PRCurveSketch). Choose from n, "),
        ("rmse", "rmse is a metric of --task regression (RegressionAccumulator). Choose from n, "),
        ("ndcg@10", "ndcg is a metric of --task ranking (RankingAccumulator). Choose from n, "),
    ],
)
def test_name_of_another_tool_or_task_is_suggested_to_classification(
    typed, suggestion, call, labels
):
    done = call("eval", labels, "--metrics", typed)
    assert done.code == 2
    assert f"no metric {typed!r}: {suggestion}" in done.err


@each(
    ("typed", "advice"),
    [
        ("roc_auc", " as well, use --task classification,binary"),
        ("auc", " as well, use --task classification,binary"),
        ("ndcg@10", ", run a second command with --task ranking"),
    ],
)
def test_metric_of_another_task_names_the_command_that_has_it(typed, advice, call, labels):
    done = call("eval", labels, "--metrics", f"accuracy,{typed}")
    assert done.code == 2
    assert done.err.endswith(f" For {typed}{advice}.\n")
    assert done.err.count(f"For {typed}") == 1


@each("typed", ["f1", "acuracy", "nothing_like_it"])
def test_metric_of_no_other_task_needs_no_second_command(typed, call, labels):
    done = call("eval", labels, "--metrics", typed)
    assert (done.code, "second command" in done.err) == (2, False)


@each(
    ("typed", "suggestion"),
    [
        ("auc", "did you mean 'roc_auc'? Choose from"),
        ("f1", "did you mean 'best_f' or 'f_at(x)'? Choose from"),
        ("precision", "did you mean 'precision_at(x)'? Choose from"),
        ("accuracy", "accuracy is a metric of --task classification (ConfusionAccumulator). "),
    ],
)
def test_name_of_another_tool_or_task_is_suggested_to_curves(typed, suggestion, call, write):
    log = write("a.csv", [{"y_true": n % 2, "y_score": n / 8} for n in range(8)])
    done = call("eval", log, "--task", "binary", "--require", f"{typed}>=0")
    assert done.code == 2
    assert f"no metric {typed!r}: {suggestion}" in done.err


def test_name_of_another_tool_is_suggested_to_a_collection_with_its_member(call, folder):
    members = {"counts": se.ConfusionAccumulator(), "curve": se.PRCurveSketch()}
    se.save(se.Collection(members), folder / "a.state")
    done = call("show", "a.state", "--metrics", "f1")
    assert "did you mean 'counts/f_score' or 'curve/best_f' or 'curve/f_at(x)'? Choose" in done.err


def test_name_of_a_mean_is_suggested_to_curves_of_classes(call, folder):
    se.save(se.PRCurveSketch(classes=3), folder / "a.state")
    done = call("show", "a.state", "--metrics", "auc")
    assert "no metric 'auc': did you mean 'roc_auc_macro'? Choose from n, " in done.err
