"""Gates over slices: `worst(METRIC)`, `gap(METRIC)`, and what other gates say where slices are."""

from __future__ import annotations

import pytest
from offenders import each

import streameval as se
from streameval.cli.errors import UsageError
from streameval.cli.gates import parse_gate, parse_limit
from streameval.results.names import MetricName


def rows_of(country, n, n_right):
    """Make rows of two classes, the first ones predicted right."""
    return [
        {"y_true": at % 2, "y_pred": at % 2 if at < n_right else 1 - at % 2, "country": country}
        for at in range(n)
    ]


@pytest.fixture
def log(write):
    sizes = {"DE": (400, 380), "FR": (200, 180), "IT": (100, 50), "ES": (4, 4)}
    return write("log.jsonl", [row for name, one in sizes.items() for row in rows_of(name, *one)])


def sliced(pairs):
    """Count the same rows in Python."""
    rows = [row for name, one in pairs.items() for row in rows_of(name, *one)]
    batch = {name: [row[name] for row in rows] for name in rows[0]}
    return se.Sliced(se.ConfusionAccumulator(), "country").update(batch).compute()


def verdict(done):
    return done.err.removeprefix("streameval: ").rstrip("\n")


@each(
    ("text", "over", "metric", "of"),
    [
        ("worst(recall)>=0.7", "worst", "recall", None),
        (" worst( recall[1] ) >= 0.7 ", "worst", "recall", "1"),
        ("worst(recall_at(0.5))>=0.7", "worst", "recall_at(0.5)", None),
        ("gap(recall)<=0.05", "difference", "recall", None),
        ("gap(recall, ratio)>=0.8", "ratio", "recall", None),
        ("gap(recall,difference)<0.1", "difference", "recall", None),
        ("gap(recall[a,ratio])<0.1", "difference", "recall", "a,ratio"),
        ("gap(rbp(p=0.8,rel=2), ratio)>=0.8", "ratio", "rbp(p=0.8,rel=2)", None),
        ("gap(curve/roc_auc)<=0.05", "difference", "curve/roc_auc", None),
        ("recall[worst(x)]>=0.05", None, "recall", "worst(x)"),
    ],
)
def test_gate_over_slices_reads_what_it_compares(text, over, metric, of):
    gate = parse_gate(text)
    assert (gate.over, gate.metric) == (over, MetricName(metric, of))


@each(
    ("text", "match"),
    [
        ("gap(recall, quotient)<=1", "must have difference or ratio after the comma, got 'quoti"),
        ("worst()>=0.7", "'' is not a metric"),
        ("worst(recall, ratio)>=0.7", "'recall, ratio' is not a metric"),
        ("worst(recall)>=high", "'high', which is not a finite number"),
    ],
)
def test_gate_over_slices_is_refused_with_its_reason(text, match):
    with pytest.raises(se.StreamevalError, match=match):
        parse_gate(text)


def test_limits_of_evidence_are_not_over_slices():
    with pytest.raises(UsageError, match="compares slices; evidence is of all rows or one slice"):
        parse_limit("worst(recall)>=0.7")


@each(
    ("gate", "expected", "code"),
    [
        ("worst(accuracy)>=0.3", "passed", 0),
        ("worst(accuracy)>=0.45", "undecided", 1),
        ("worst(accuracy)>=0.7", "failed", 1),
        ("gap(accuracy)<=0.7", "passed", 0),
        ("gap(accuracy)<=0.45", "undecided", 1),
        ("gap(accuracy)<=0.1", "failed", 1),
        ("gap(accuracy, ratio)>=0.35", "passed", 0),
        ("gap(accuracy, ratio)>=0.8", "failed", 1),
        ("gap(selection_rate)<=0.3", "passed", 0),
        ("worst(zero_one_loss)<=0.7", "passed", 0),
        ("worst(zero_one_loss)<=0.2", "failed", 1),
    ],
)
@each("option", ["--require", "--fail-under"])
def test_gate_over_slices_is_decided(option, gate, expected, code, call, log):
    done = call("eval", log, "--classes", 2, "--by", "country", "--min-n", 50, option, gate)
    assert (verdict(done).partition(":")[0], done.code) == (expected, code)
    assert "left out by --min-n: country=ES" in done.err


def test_gate_over_slices_has_the_intervals_that_hold_for_all(call, log):
    result = sliced({"DE": (400, 380), "FR": (200, 180), "IT": (100, 50)})
    low, high = result.intervals("accuracy")["IT"]
    common = ["eval", log, "--classes", 2, "--by", "country", "--min-n", 50, "--require"]
    assert verdict(call(*common, "worst(accuracy)>=0.7")) == (
        f"failed: worst(accuracy)>=0.7: 0.5 (country=IT, n = 100) in [{low:.6g}, {high:.6g}] over "
        "3 slices; left out by --min-n: country=ES."
    )
    low, high = result.gap_interval("accuracy", "ratio", 0.9)
    assert verdict(call(*common, "gap(accuracy, ratio)>=0.8", "--level", 0.9)) == (
        f"failed: gap(accuracy, ratio)>=0.8: {0.5 / 0.95:.6g} (country=IT, n = 100; country=DE, "
        f"n = 400) in [{low:.6g}, {high:.6g}] over 3 slices; left out by --min-n: country=ES."
    )


def test_gate_over_slices_compares_values_at_level_0(call, log):
    common = ["eval", log, "--classes", 2, "--by", "country", "--level", 0, "--require"]
    assert verdict(call(*common, "worst(accuracy)>=0.5")) == (
        "passed: worst(accuracy)>=0.5: 0.5 (country=IT, n = 100) over 4 slices."
    )
    assert call(*common, "gap(accuracy)<=0.5").code == 0
    assert call(*common, "gap(accuracy)<=0.49").code == 1


def test_gate_of_all_rows_says_that_slices_are_not_gated_and_names_the_worst(call, log):
    common = ["eval", log, "--classes", 2, "--by", "country", "--require"]
    done = call(*common, "accuracy>=0.8")
    assert done.code == 0
    assert done.err.endswith(
        " Slices are not gated; the worst is 0.5 (country=IT, n = 100). "
        "To gate each: 'worst(accuracy)>=0.8'.\n"
    )
    assert "Slices" not in call(*common, "accuracy>=0.99").err  # it fails anyway
    assert "Slices" not in call(*common, "n>=100").err
    for gate in ("selection_rate<=0.9", "accuracy<=0.99"):
        assert call(*common, gate).err.endswith(" Slices are not gated.\n")


def test_gate_of_a_class_without_a_slice_says_that_slices_are_not_gated(call, write):
    rows = [{"y_true": at % 3, "y_pred": at % 3, "c": "ab"[at % 3 == 2]} for at in range(300)]
    log = write("log.jsonl", rows)
    done = call("eval", log, "--by", "c=a", "--require", "recall[2]>=0.9")
    assert (done.code, done.err.endswith(" Slices are not gated.\n")) == (0, True)
    done = call("eval", log, "--by", "c=a", "--require", "worst(recall[2])>=0.9")
    assert verdict(done) == (
        "undecided: worst(recall[2])>=0.9: undefined in every slice; rows of other values are not "
        "gated."
    )
    done = call("eval", log, "--by", "c=a", "--require", "worst(recall[3])>=0.9")
    assert (done.code, "no class '3'" in done.err) == (2, True)


def test_slice_where_the_metric_is_undefined_keeps_a_gate_from_passing(call, write):
    rows = [{"y_true": at % 2, "y_score": at % 2 / 4 + at % 7 / 10, "c": "a"} for at in range(200)]
    rows += [{"y_true": 1, "y_score": 0.5, "c": "b"} for _ in range(20)]
    common = ["eval", write("log.jsonl", rows), "--task", "binary", "--by", "c", "--require"]
    done = call(*common, "worst(roc_auc)>=0.6")
    assert done.code == 1
    assert done.err.startswith("streameval: undecided: worst(roc_auc)>=0.6: 0.7")
    assert done.err.endswith(" over 1 slice; undefined in c=b.\n")
    assert call(*common, "worst(roc_auc)>=0.6", "--min-n", 21).code == 0
    assert "undecided" in call(*common, "gap(roc_auc)<=0.7").err
    assert "undecided" in call(*common, "gap(roc_auc, ratio)>=0.1").err
    done = call(*common, "worst(roc_auc)>=0.6", "--where", "c=b")
    assert verdict(done) == "undecided: worst(roc_auc)>=0.6: undefined in every slice."


def test_slice_without_an_interval_keeps_a_gate_from_passing_but_not_from_failing(call, write):
    rows = rows_of("DE", 400, 380) + [row | {"w": 0.5} for row in rows_of("FR", 400, 380)]
    log = write("log.jsonl", [{"w": 1} | row for row in rows])
    common = ["eval", log, "--classes", 2, "--sample-weight", "w", "--by", "country", "--require"]
    done = call(*common, "worst(accuracy)>=0.7")
    assert verdict(done) == (
        "undecided: worst(accuracy)>=0.7: 0.95 (country=DE, n = 400); country=FR: no sampling "
        "interval (fractional weights have none); --level 0 ignores sampling "
        "error."
    )
    assert "failed" in call(*common, "worst(accuracy)>=0.99").err
    assert "undecided" in call(*common, "worst(zero_one_loss)<=0.3").err
    assert "failed" in call(*common, "worst(zero_one_loss)<=0.01").err
    assert call(*common, "worst(accuracy)>=0.7", "--level", 0).code == 0
    done = call(*common, "worst(accuracy)>=0.7", "--where", "country=FR")
    assert done.err.startswith("streameval: undecided: ")


def test_rows_of_other_values_are_named_as_not_gated(call, log):
    common = ["eval", log, "--classes", 2, "--by", "country", "--top", 2]
    done = call(*common, "--require", "worst(accuracy)>=0.7")
    assert (done.code, done.err.endswith("; rows of other values are not gated.\n")) == (0, True)


def test_gates_over_slices_of_a_state_and_of_windows_are_decided(call, write):
    rows = [row | {"t": at // 100} for at, row in enumerate(rows_of("DE", 300, 270))]
    rows += [row | {"t": at // 100} for at, row in enumerate(rows_of("FR", 300, 150))]
    log = write("log.jsonl", rows)
    gate = ["--require", "worst(accuracy)>=0.6"]
    options = ["--classes", 2, "--time", "t", "--pane", "1", "--by", "country=DE,FR"]
    done = call("eval", log, *options, "-o", "a.state", *gate)
    assert (done.code, verdict(done)[:43]) == (1, "failed: worst(accuracy)>=0.6: 0.5 (country=")
    assert call("show", "a.state", *gate).err == done.err
    assert call("show", "a.state", "--require", "worst(acuracy)>=0.6").code == 2


@each(
    ("options", "message"),
    [
        (
            ["--require", "worst(accuracy)>=0.7"],
            (
                "'worst(accuracy)>=0.7' is a gate over slices, and there are none; "
                "eval --by makes them."
            ),
        ),
        (
            ["--by", "country", "--require", "worst(selection_rate)>=0.2"],
            (
                "'worst(selection_rate)>=0.2': selection_rate has no better direction, so no worst "
                "slice; 'gap(selection_rate)<=...' compares its extremes."
            ),
        ),
    ],
)
def test_gate_that_cannot_be_decided_is_refused_before_rows_are_read(options, message, call, log):
    done = call("eval", log, *options)
    assert (done.code, done.out, done.err) == (2, "", f"streameval: error: {message}\n")
    done = call("eval", log, "--by", "country", "--require", "gap(acuracy)<=1")
    assert (done.code, "did you mean 'accuracy'" in done.err) == (2, True)
