"""`--versus`: two models on the same rows."""

import json

import numpy as np
import pytest
from offenders import each

import streameval as se

ROWS = 300
RANDOM = np.random.default_rng(0)
TRUTH = RANDOM.integers(0, 2, ROWS)
OLD, NEW = (np.where(RANDOM.random(ROWS) < share, TRUTH, 1 - TRUTH) for share in (0.7, 0.9))
SCORES = {
    name: np.abs(labels - RANDOM.random(ROWS) * 0.4) for name, labels in (("p", OLD), ("q", NEW))
}
COLUMNS = {
    "y_true": TRUTH,
    "old": OLD,
    "new": NEW,
    **SCORES,
    "w": RANDOM.integers(1, 4, ROWS),
    "c": RANDOM.integers(0, 3, ROWS),
}


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.jsonl"
    rows = zip(*(column.tolist() for column in COLUMNS.values()), strict=True)
    path.write_text(
        "".join(json.dumps(dict(zip(COLUMNS, row, strict=True))) + "\n" for row in rows)
    )
    return path


def counted(*names, weight=None, **options):
    weights = None if weight is None else COLUMNS[weight]
    arrays = (COLUMNS[name] for name in ("y_true", *names))
    return se.Paired(**options).update(*arrays, sample_weight=weights)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--y-pred", "old", "--versus", "new"), counted("old", "new", classes="auto")),
        (("--y-score", "p", "--versus", "q"), counted("p", "q")),
        (
            ("--y-score", "p", "--versus", "q", "--threshold", "0.3", "--pos-label", "0"),
            counted("p", "q", threshold=0.3, pos_label=0),
        ),
        (
            ("--y-pred", "new", "--versus", "old", "--sample-weight", "w", "--classes", "2"),
            counted("new", "old", weight="w"),
        ),
        (
            ("--task", "paired", "--y-pred", "old", "--versus", "new"),
            counted("old", "new", classes="auto"),
        ),
        (
            ("--y-score", "p", "--versus", "q", "--measures", "roc_auc,brier", "--budget", "99"),
            counted("p", "q", measures=["roc_auc", "brier"], budget=99),
        ),
        (
            ("--y-score", "p", "--versus", "q", "--measures", "roc_auc", "--budget", "none"),
            counted("p", "q", measures=["roc_auc"], budget=None),
        ),
    ],
    ids=["labels", "scores", "threshold", "weights", "task", "measures", "no budget"],
)
def test_versus_counts_what_a_program_does(options, expected, call, log, tmp_path):
    assert call("eval", log, *options, "-o", tmp_path / "a.state").code == 0
    assert (tmp_path / "a.state").read_bytes() == expected.to_bytes()


def test_versus_reports_both_models_and_whether_they_differ(call, log):
    result = counted("old", "new", classes="auto").compute()
    found = call("eval", log, "--y-pred", "old", "--versus", "new", "--json").json
    assert found["task"] == "paired"
    assert found["metrics"]["difference"] == result.difference < 0
    assert found["metrics"]["mcnemar_pvalue"] == result.mcnemar_pvalue
    assert found["intervals"]["accuracy_b"] == list(result.confidence("accuracy_b"))
    text = call("eval", log, "--y-pred", "old", "--versus", "new", "--by", "w").out
    assert text.splitlines()[0].endswith(" of 1 file; A is old, B is new")


def test_accuracy_of_numbers_is_explained_in_text_and_markdown(call, log):
    options = ("--task", "regression", "--y-pred", "p", "--versus", "q")
    *_, closer, looks = call("eval", log, *options).out.splitlines()
    assert closer == "accuracy: how often a model is at least as close to the truth as the other"
    assert looks.startswith("mcnemar_pvalue is for one look")
    assert call("eval", log, *options, "--markdown").out.splitlines()[-2].startswith(closer)
    assert closer not in call("eval", log, "--y-pred", "old", "--versus", "new").out


def test_versus_is_a_gate(call, log):
    gate = ("--require", "anytime_pvalue<=0.01")
    assert call("eval", log, "--y-pred", "old", "--versus", "new", *gate).code == 0
    assert call("eval", log, "--y-pred", "old", "--versus", "w", *gate).code == 0
    assert call("eval", log, "--y-score", "p", "--versus", "p", "--pos-label", "1", *gate).code == 2


def test_versus_says_whether_b_is_better_from_a_state_alone(call, log, tmp_path):
    options = ("--y-score", "p", "--versus", "q", "--measures", "roc_auc,log_loss")
    assert call("eval", log, *options, "-o", tmp_path / "a.state").code == 0
    log.unlink()
    result = counted("p", "q", measures=["roc_auc", "log_loss"]).compute()
    found = call("show", tmp_path / "a.state", "--json").json
    assert found["metrics"]["roc_auc_difference"] == result.roc_auc_difference < 0
    assert found["metrics"]["log_loss_pvalue"] == result.log_loss_pvalue < 0.05
    assert found["intervals"]["log_loss_a"] == list(result.confidence("log_loss_a"))
    assert "roc_auc_difference" in call("explain", tmp_path / "a.state").out
    page = tmp_path / "a.html"
    assert call("report", tmp_path / "a.state", "-o", page).code == 0
    assert "ROC AUC, A minus B" in page.read_text()


def test_measures_of_two_models_are_gates(call, log):
    options = ("eval", log, "--y-score", "p", "--versus", "q", "--measures", "roc_auc", "--quiet")
    assert call(*options, "--require", "roc_auc_difference<=0").code == 0
    assert call(*options, "--require", "roc_auc_difference>=0").code == 1
    assert call(*options, "--require", "roc_auc_pvalue<=0.05").code == 0


def test_explain_says_that_merged_pairs_have_bounds(call, log, tmp_path):
    options = ("--y-score", "p", "--versus", "q", "--measures", "roc_auc", "--budget", "20")
    assert call("eval", log, *options, "-o", tmp_path / "a.state").code == 0
    assert "More pairs of scores than the budget" in call("explain", tmp_path / "a.state").out


def test_versus_goes_with_slices_and_shows_again(call, log, tmp_path):
    options = ("--y-pred", "old", "--versus", "new", "--by", "c", "--json")
    done = call("eval", log, *options, "-o", tmp_path / "states")
    slices = {one["value"]: one["n"] for one in done.json["slices"]}
    assert slices == {str(value): int((COLUMNS["c"] == value).sum()) for value in range(3)}
    shown = call("show", tmp_path / "states" / "all.state", "--json").json
    assert shown["metrics"] == done.json["metrics"]


def test_versus_takes_multilabel(call, tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"y_true": [0, 1], "a": [0, 1], "b": [1, 1]}\n')
    done = call("eval", path, "--multilabel", "--y-pred", "a", "--versus", "b", "--json")
    assert (done.json["metrics"]["accuracy_a"], done.json["metrics"]["accuracy_b"]) == (1.0, 0.0)


@each(
    ("options", "message"),
    [
        (("--task", "paired"), "--task paired needs --versus, the predictions of the other model."),
        (("--y-pred", "old", "--versus", "old"), "--versus is the column of --y-pred itself."),
        (("--y-score", "p", "--versus", "p"), "--versus is the column of --y-score itself."),
        (("--task", "binary", "--versus", "q"), "--versus cannot be used with --task binary"),
        (
            ("--y-pred", "old", "--versus", "mew"),
            "no column 'mew' in the first rows: did you mean 'new'?",
        ),
        (("--y-pred", "old", "--versus", "q"), "`q` holds fractions"),
        (("--y-pred", "old,new", "--versus", "c"), "--y-pred takes one column"),
        (("--y-pred", "old", "--versus", "new,old"), "--versus is the column of --y-pred itself."),
        (("--y-pred", "old", "--versus", "new,new"), "--versus has the column 'new' twice."),
        (("--y-pred", "old", "--versus", "new,y_true"), "--versus must be columns of predictions"),
        (("--y-pred", "old", "--versus", "new,mew"), "no column 'mew' in the first rows"),
        (("--y-pred", "old", "--versus", "new,q"), "`q` holds fractions"),
        (
            ("--y-pred", "old", "--versus", "new", "--top-k", "2"),
            "--top-k cannot be used with --task paired",
        ),
    ],
)
def test_versus_refuses(options, message, call, log):
    done = call("eval", log, *options)
    assert done.code == 2
    assert message in done.err


@each(
    ("options", "name"),
    [
        (("--classes", "1,0"), "0"),
        (("--pos-label", "0"), "0"),
        (("--classes", "0=no,1=yes"), "yes"),
        (("--classes", "0,1"), None),
        (("--classes", "2,0,1"), None),
    ],
)
def test_versus_names_the_positive_class(options, name, call, log):
    a, b = ("c,p,q", "p,c,q") if options[-1] == "2,0,1" else ("p", "q")
    done = call("eval", log, "--y-score", a, "--versus", b, *options)
    note = f"streameval: note: per-class metrics are for class {name}.\n"
    assert done.code == 0
    assert [line for line in done.err.splitlines(True) if "per-class" in line] == [note] * bool(
        name
    )


@each(
    ("metric", "options", "measures"),
    [
        ("roc_auc_difference", ("--y-score", "p", "--versus", "q"), "roc_auc"),
        ("roc_auc", ("--y-score", "p", "--versus", "q"), "roc_auc"),
        ("brier_a", ("--y-score", "p", "--versus", "q", "--measures", "recall"), "recall,brier"),
        ("mse_b", ("--task", "regression", "--y-pred", "p", "--versus", "q"), "mse"),
    ],
)
def test_versus_says_which_measure_has_a_metric(metric, options, measures, call, log):
    if "regression" in options:
        options += ("--measures", "mae")
        measures = f"mae,{measures}"
    done = call("eval", log, *options, "--metrics", metric)
    assert (done.code, done.err.endswith(f" Add --measures {measures}.\n")) == (2, True), done.err


@each("metric", ["roc_auc_macro", "roc_auc", "acuracy_a"])
def test_versus_says_no_measure_that_is_there_or_does_not_help(metric, call, log):
    given = ("--y-score", "p", "--versus", "q", "--measures", "roc_auc", "--metrics", metric)
    done = call("eval", log, *given)
    assert (done.code, "Add --measures" in done.err) == (2, False)


NUMBERS = [
    {"y": 3.0, "old": 2.5, "new": 2.0},
    {"y": -0.5, "old": 0.0, "new": 0.5},
    {"y": 2.0, "old": 2.0, "new": 2.5},
]
OLD_NUMBERS = ("--task", "regression", "--y-true", "y", "--y-pred", "old")
OF_NUMBERS = (*OLD_NUMBERS, "--versus", "new")


def test_two_models_of_numbers_are_compared(call, write):
    options = ("--measures", "mse,mae", "--metrics", "mse_a,mae_difference,n_only_a")
    found = call("eval", write("a.jsonl", NUMBERS), *OF_NUMBERS, *options, "--json").json
    expected = se.Paired(None, measures=["mse", "mae"])
    expected.update([3.0, -0.5, 2.0], [2.5, 0.0, 2.0], [2.0, 0.5, 2.5])
    result = expected.compute()
    names = ("mse_a", "mae_difference", "n_only_a")
    assert found["metrics"] == {name: result.value(name) for name in names}


@each(
    ("options", "says"),
    [
        (("--versus", "old"), "--versus is the column of --y-pred itself."),
        (
            ("--versus", "new", "--threshold", "0.7"),
            "--threshold cannot be used with --task regression; it is for classification",
        ),
        (("--versus", "new", "--intervals"), "--intervals cannot be used with --task paired"),
        (("--versus", "new,old"), "--versus is the column of --y-pred itself."),
        (("--versus", "new,y"), '--measures must name "mse" or "mae"'),
        (("--versus", "new", "--measures", "recall"), "needs classes"),
    ],
)
def test_options_of_classes_do_not_go_with_numbers(call, write, options, says):
    done = call("eval", write("a.jsonl", NUMBERS), *OLD_NUMBERS, *options)
    assert done.code == 2
    assert says in done.err


@each(
    ("options", "expected"),
    [
        (
            ("--y-pred", "new", "--versus", "old,c"),
            se.Paired.of_models(["new", "old", "c"], "auto").update(COLUMNS),
        ),
        (
            (
                *("--y-score", "p", "--versus", "q,old", "--measures", "roc_auc,f_score"),
                *("--sample-weight", "w", "--threshold", "0.4", "--max-bad", "1"),
            ),
            se.Paired.of_models(
                ["p", "q", "old"], measures=["roc_auc", "f_score"], threshold=0.4
            ).update(COLUMNS, sample_weight=COLUMNS["w"]),
        ),
        (
            ("--task", "regression", "--y-pred", "p", "--versus", "q,w", "--measures", "mse"),
            se.Paired.of_models(["p", "q", "w"], None, measures=["mse"]).update(COLUMNS),
        ),
        (
            ("--task", "values", "--value", "p", "--versus", "q,w", "--measures", "loss"),
            se.Paired.of_models(["p", "q", "w"], None, measures=["loss"]).update(COLUMNS),
        ),
    ],
)
def test_versus_counts_several_models_as_a_program_does(options, expected, call, log, tmp_path):
    done = call("eval", log, *options, "-o", tmp_path / "a.state")
    assert done.code == 0
    assert (tmp_path / "a.state").read_bytes() == expected.to_bytes()
    assert expected.compute().report() in done.out
    assert expected.compute().report() in call("show", tmp_path / "a.state").out


def test_several_models_are_the_same_bytes_from_several_processes(call, log, tmp_path):
    options = ("--y-pred", "new", "--versus", "old,c", "-o")
    for jobs in ("1", "2"):
        call("eval", log, log, *options, tmp_path / jobs, "--jobs", jobs)
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def test_several_models_have_their_comparison_in_json(call, log):
    options = ("--y-pred", "new", "--versus", "old,c", "--json", "--level", "0.9")
    found = call("eval", log, *options).json
    expected = se.Paired.of_models(["new", "old", "c"], "auto").update(COLUMNS).compute()
    comparison = expected.comparison(level=0.9).as_dict()
    assert found["comparison"] == json.loads(json.dumps(comparison))
    assert found["metrics"]["new vs old/difference"] > 0
    by = call("eval", log, *options, "--by", "c").json
    assert [one["comparison"]["accuracy"]["best"] for one in by["slices"]] == ["new"] * 3


def test_several_models_have_gates_clusters_and_multilabel(call, log, tmp_path):
    options = ("--y-pred", "new", "--versus", "old,c")
    gate = ("--require", "new vs old/difference>=0")
    assert call("eval", log, *options, *gate).code == 0
    assert call("eval", log, *options, "--cluster", "w").out.count("best") >= 2
    path = tmp_path / "lists.jsonl"
    path.write_text('{"y_true": [0, 1], "a": [0, 1], "b": [1, 1], "d": [0, 0]}\n')
    done = call("eval", path, "--multilabel", "--y-pred", "a", "--versus", "b,d", "--json")
    assert done.json["comparison"]["accuracy"]["values"] == {"a": 1.0, "b": 0.0, "d": 0.0}


def test_a_row_without_one_of_several_models_is_bad(call, log):
    with log.open("a") as file:
        file.write('{"y_true": 1, "old": 0, "new": 1, "c": null}\n')
    done = call("eval", log, "--y-pred", "new", "--versus", "old,c")
    assert done.code == 3
    assert "line 301: `c` is missing" in done.err
    assert call("eval", log, "--y-pred", "new", "--versus", "old,c", "--max-bad", "1").code == 0


def test_watch_names_the_metrics_of_pairs_of_models(call, tmp_path):
    path = tmp_path / "log.jsonl"
    rows = zip(*(column.tolist() for column in COLUMNS.values()), strict=True)
    times = ({"ts": f"2026-01-0{1 + at // 100}T00:00:00Z"} for at in range(ROWS))
    path.write_text(
        "".join(
            json.dumps(dict(zip(COLUMNS, row, strict=True)) | time) + "\n"
            for row, time in zip(rows, times, strict=True)
        )
    )
    given = (path, "--y-pred", "new", "--versus", "old,c", "--time", "ts", "--pane", "1d")
    given = (*given, "--checkpoint", tmp_path / "ck", "--once", "--metrics")
    assert "new vs old/difference" in call("watch", *given, "new vs old/difference").out
    done = call("watch", *given, "new vs old/differences")
    assert (done.code, "did you mean" in done.err) == (2, True)


def test_values_of_two_models_have_gates_slices_and_clusters(call, log, tmp_path):
    given = ("eval", log, "--task", "values", "--value", "p", "--versus", "q", "--measures")
    done = call(*given, "score", "-o", tmp_path / "a.state", "--require", "score_difference>=1")
    assert done.code == 1
    acc = se.Paired(None, measures=["score"])
    acc.update(COLUMNS["p"], COLUMNS["q"])
    assert (tmp_path / "a.state").read_bytes() == acc.to_bytes()
    assert "score_pvalue" in done.out
    assert "accuracy" not in done.out
    found = call(*given, "loss", "--by", "c", "--json").json
    assert {"loss_a", "loss_difference"} <= found["slices"][0]["metrics"].keys()
    assert "clusters" in call(*given, "loss", "--cluster", "c", "--json").json


def test_values_of_models_may_have_gaps(call, write, tmp_path):
    log = write(
        "gaps.csv", [{"a": a, "b": b} for a, b in zip([1, "", 3, 5], [2, 3, "NaN", 4], strict=True)]
    )
    given = ("eval", log, "--task", "values", "--value", "a", "--versus", "b")
    refused = call(*given, "--measures", "loss")
    assert refused.code == 3
    assert "line 3: `a` is missing (--nan skip leaves it out)" in refused.err
    found = call(*given, "--measures", "loss", "--nan", "skip", "-o", tmp_path / "a.state")
    assert "n = 2, n_skipped = 2" in found.out
    expected = se.Paired(None, measures=["loss"], nan="skip")
    expected.update([1, None, 3, 5], [2, 3, float("nan"), 4])
    assert se.load(tmp_path / "a.state") == expected
    refused = call("eval", log, "--y-pred", "a", "--versus", "b", "--nan", "skip")
    assert refused.err == "streameval: error: --nan is for --task values.\n"


@pytest.mark.slow
@each("versus", ["q", "q,w"])
def test_values_of_models_have_panes_and_alerts(versus, call, write, tmp_path):
    columns = [np.asarray(column).tolist() for column in COLUMNS.values()]
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*columns, strict=True)]
    timed = write("timed.jsonl", [row | {"ts": at} for at, row in enumerate(rows)])
    given = (timed, "--task", "values", "--value", "p", "--versus", versus, "--measures", "score")
    panes = ("--time", "ts", "--unit", "s", "--pane", "2s")
    assert call("eval", *given, *panes, "-o", tmp_path / "p.state").code == 0
    acc = se.Paired(None, measures=["score"]).update(COLUMNS["p"], COLUMNS["q"])
    models = se.Paired.of_models(["p", *versus.split(",")], None, measures=["score"])
    expected = acc if versus == "q" else models.update(COLUMNS)
    assert se.load(tmp_path / "p.state").total() == expected
    name = "score_difference" if versus == "q" else "p vs q/score_difference"
    done = call(
        *("watch", *given, *panes, "--checkpoint", tmp_path / f"{len(versus)}.db", "--once"),
        *("--metrics", name, "--alerts", f"{name} < 100 for 1 pane"),
    )
    assert done.code in (0, 1), done.err
    assert "score_difference" in done.out


@each(
    ("options", "says"),
    [
        (("--task", "values", "--value", "p"), "needs --measures loss, if lower values are better"),
        (("--task", "values", "--value", "p", "--measures", "mse"), "needs --measures loss"),
        (("--task", "values", "--value", "p", "--measures", "loss,score"), "needs --measures loss"),
        (("--task", "values", "--value", "p,w", "--measures", "loss"), "--value takes one column"),
        (("--task", "values", "--value", "q", "--measures", "loss"), "is the column of --value"),
        (("--task", "values", "--measures", "loss"), "no column 'value' in the first rows"),
        (
            ("--task", "values", "--value", "p", "--measures", "loss", "--y-true", "c"),
            "--y-true cannot be used with --task values; it is for classification",
        ),
        (("--y-score", "p", "--value", "w"), "--value is for --task values."),
        (
            ("--task", "values", "--value", "p", "--measures", "loss", "--metrics", "score_a"),
            "score_a is counted only where it is asked for",
        ),
    ],
)
def test_mistakes_about_values_of_models_are_named(call, log, options, says):
    done = call("eval", log, *options, "--versus", "q")
    assert done.code == 2
    assert says in done.err
