import json
import math

import pytest
from offenders import each

import streameval as se
from streameval.cli.gates import judge, parse_gate
from streameval.metrics.table import Reading
from streameval.results.names import Inequality, MetricName


@each(
    ("text", "metric", "of", "sign", "bound"),
    [
        ("accuracy>=0.9", "accuracy", None, ">=", 0.9),
        (" accuracy  >  .9 ", "accuracy", None, ">", 0.9),
        ("hamming_loss<=1e-2", "hamming_loss", None, "<=", 0.01),
        ("recall[macro]<1", "recall", "macro", "<", 1.0),
        ("precision[a>=b]>=0.5", "precision", "a>=b", ">=", 0.5),
        ("precision[x[0]]>-1", "precision", "x[0]", ">", -1.0),
    ],
)
def test_gate_reads_metric_sign_and_bound(text, metric, of, sign, bound):
    gate = parse_gate(text)
    assert gate.bound == Inequality(MetricName(metric, of), sign, bound)


@each(
    ("sign", "kept"),
    [
        (">=", [False, True, True]),
        (">", [False, False, True]),
        ("<=", [True, True, False]),
        ("<", [True, False, False]),
    ],
)
def test_gate_keeps_the_right_side(sign, kept):
    gate = parse_gate(f"accuracy{sign}0.5")
    assert [gate.bound.holds(value) for value in (0.4, 0.5, 0.6)] == kept


@each(
    ("text", "interval", "verdict"),
    [
        ("accuracy>=0.5", (0.5, 0.9), "passed"),
        ("accuracy>0.5", (0.5, 0.9), "undecided"),
        ("accuracy>=0.5", (0.4, 0.9), "undecided"),
        ("accuracy>=0.5", (0.3, 0.5), "undecided"),
        ("accuracy>0.5", (0.3, 0.5), "failed"),
        ("accuracy>=0.5", (0.3, 0.4), "failed"),
        ("accuracy<=0.5", (0.3, 0.5), "passed"),
        ("accuracy<0.5", (0.3, 0.5), "undecided"),
        ("accuracy<0.5", (0.5, 0.6), "failed"),
        ("accuracy>=0.5", None, "undecided"),
    ],
)
def test_judge_asks_that_the_whole_interval_keeps_the_bound(text, interval, verdict):
    assert judge(parse_gate(text), Reading(0.5, interval, "no reason")).category == verdict


def test_judge_never_passes_nan():
    note = judge(parse_gate("accuracy>=0"), Reading(math.nan, (math.nan, math.nan)))
    assert (note.category, note.text) == ("undecided", "accuracy>=0: nan, undefined on these rows.")


def gate_lines(done):
    return [line for line in done.err.splitlines() if "note" not in line]


@each(
    ("gate", "verdict", "code"),
    [
        ("accuracy>=0.7", "passed", 0),
        ("accuracy>=0.8", "undecided", 1),
        ("accuracy>=0.95", "failed", 1),
        ("specificity<1", "passed", 0),
        ("recall[macro]>=0.7", "passed", 0),
        ("recall[micro]>0.9", "failed", 1),
        ("recall[weighted]>=0.8", "undecided", 1),
        ("recall[1]>=0.6", "passed", 0),
        ("f_score[2]>=0.99", "failed", 1),
        ("n>=200", "passed", 0),
        ("n>200", "failed", 1),
        ("n_averaged>=3", "passed", 0),
    ],
)
def test_eval_decides_a_gate(gate, verdict, code, call, labels):
    done = call("eval", labels, "--require", gate)
    assert done.code == code
    (line,) = gate_lines(done)
    assert line.startswith(f"streameval: {verdict}: {gate}: ")


def test_eval_gives_value_and_interval_of_a_gate(call, labels):
    done = call("eval", labels, "--require", "accuracy>=0.8")
    result = se.ConfusionAccumulator("auto").update([0] * 160 + [1] * 40, [0] * 200).compute()
    low, high = result.confidence("accuracy")
    (line,) = gate_lines(done)
    assert line == (
        f"streameval: undecided: accuracy>=0.8: 0.8 in [{low:.6g}, {high:.6g}]. To decide it: many "
        "more rows, or --level 0, which ignores sampling error."
    )


def test_undecided_gate_says_how_many_rows_would_decide_it(call, labels):
    (line,) = gate_lines(call("eval", labels, "--require", "accuracy>=0.78"))
    result = se.ConfusionAccumulator("auto").update([0] * 160 + [1] * 40, [0] * 200).compute()
    times = ((0.8 - result.confidence("accuracy")[0]) / 0.02) ** 2
    assert f"To decide it: about {times:.2g} times the rows," in line
    (line,) = gate_lines(call("eval", labels, "--require", "accuracy>=0.82"))
    times = ((result.confidence("accuracy")[1] - 0.8) / 0.02) ** 2
    assert f"To decide it: about {times:.2g} times the rows," in line
    bound = result.confidence("accuracy")[0] + 1e-6
    (line,) = gate_lines(call("eval", labels, "--require", f"accuracy>={bound}"))
    assert "undecided: accuracy" in line
    assert "about 1.1 times the rows," in line


def test_undecided_gate_of_a_certified_interval_names_the_budget(call, write):
    rows = [{"y_true": k % 2, "y_score": (k * 7 % 11) / 11} for k in range(40)]
    log = write("b.jsonl", rows)
    arguments = ["--task", "binary", "--budget", 2, "--level", 0, "--require", "roc_auc>=0.5"]
    assert gate_lines(call("eval", log, *arguments))[0].endswith("A larger --budget narrows it.")


def test_json_and_markdown_have_the_verdicts(call, labels):
    gates = ["--require", "accuracy>=0.5", "--require", "accuracy>=0.9"]
    found = json.loads(call("eval", labels, *gates, "--json").out)
    verdicts = [(one["gate"], one["verdict"]) for one in found["gates"]]
    assert verdicts == [("accuracy>=0.5", "passed"), ("accuracy>=0.9", "failed")]
    assert found["gates"][0]["message"].startswith("accuracy>=0.5: 0.8 in [")
    assert "passed: accuracy" in call("eval", labels, *gates, "--markdown").out
    assert "gates" not in json.loads(call("eval", labels, "--json").out)


def test_eval_compares_the_value_itself_at_level_0(call, labels):
    done = call("eval", labels, "--require", "accuracy>=0.8", "--level", 0)
    assert (done.code, done.err) == (0, "streameval: passed: accuracy>=0.8: 0.8.\n")


def test_eval_decides_more_with_a_lower_level(call, labels):
    assert call("eval", labels, "--require", "accuracy>=0.78").code == 1
    assert call("eval", labels, "--require", "accuracy>=0.78", "--level", 0.4).code == 0


def test_eval_prints_a_line_for_every_gate_and_fails_if_one_does(call, labels):
    gates = ["accuracy>=0.7", "accuracy>=0.99", "recall[0]>=0.5"]
    done = call("eval", labels, *(part for gate in gates for part in ("--require", gate)))
    assert done.code == 1
    verdicts = [line.split(": ")[1] for line in gate_lines(done)]
    assert verdicts == ["passed", "failed", "passed"]
    assert "macro mean" in done.out


def test_eval_says_only_what_did_not_pass_when_quiet(call, labels):
    done = call("eval", labels, "--quiet", "--require", "n>1", "--require", "n<1")
    assert (done.out, done.err) == ("", "streameval: failed: n<1: 200.\n")


def test_eval_says_nothing_when_quiet_and_all_is_well(call, labels):
    done = call("eval", labels, "--quiet", "--require", "n>1", "-o", "a.state")
    assert (done.code, done.out, done.err) == (0, "", "")


def test_every_command_with_a_report_or_a_remark_may_be_quiet(call, labels):
    call("eval", labels, "-o", "a.state")
    call("eval", labels, "--classes", 3, "-o", "b.state")
    for command in (
        ("show", "a.state"),
        ("diff", "a.state", "b.state"),
        ("merge", "a.state", "-o", "c.state"),
        ("plot", "a.state", "-o", "a.png"),
        ("report", "a.state", "-o", "a.html"),
    ):
        done = call(*command, "--quiet")
        assert (done.code, done.out, done.err) == (0, "", ""), command


def test_quiet_prints_json_that_is_asked_for(call, labels):
    call("eval", labels, "-o", "a.state")
    assert call("eval", labels, "--quiet", "--json").json["n"] == 200
    assert call("diff", "a.state", "a.state", "--quiet", "--json").json["task"] == "classification"


@each("option", ["--require", "--fail-under"])
def test_gate_has_a_name_that_reads_well_with_an_upper_bound(option, call, labels):
    done = call("eval", labels, option, "n<=100")
    assert (done.code, done.err) == (1, "streameval: failed: n<=100: 200.\n")


@pytest.fixture
def weighted(write):
    return write(
        "w.csv", [{"y_true": 1, "y_pred": 1, "w": 0.5}, {"y_true": 0, "y_pred": 0, "w": 1}]
    )


@pytest.mark.parametrize("gate", ["accuracy>=0.1", "recall[macro]>=0.1", "recall[0]>=0.1"])
def test_eval_leaves_a_gate_undecided_when_weights_have_fractions(gate, call, weighted):
    done = call("eval", weighted, "--sample-weight", "w", "--require", gate)
    assert done.code == 1
    assert done.err == (
        f"streameval: undecided: {gate}: 1, no sampling interval (fractional weights have none); "
        "--level 0 ignores sampling error.\n"
    )


@pytest.mark.parametrize(
    "gate", ["accuracy>=0.1", "recall[macro]>=0.1", "recall[0]>=0.1", "n>=1.5"]
)
def test_eval_compares_values_of_fractional_weights_at_level_0(gate, call, weighted):
    options = ["--sample-weight", "w", "--require", gate, "--level", 0]
    assert call("eval", weighted, *options).code == 0


def test_eval_leaves_a_gate_undecided_when_the_class_is_empty(call, write):
    log = write("a.csv", [{"y_true": 0, "y_pred": 0}])
    for level in (0.95, 0):
        done = call("eval", log, "--classes", 3, "--require", "recall[2]<0.5", "--level", level)
        assert done.code == 1
        said = "streameval: undecided: recall[2]<0.5: 0, undefined on these rows."
        assert done.err.startswith(said)


def test_show_decides_gates_too(call, labels):
    call("eval", labels, "-o", "a.state")
    assert call("show", "a.state", "--require", "accuracy>=0.7").code == 0
    assert call("show", "a.state", "--require", "accuracy>=0.9").code == 1


def test_eval_saves_the_state_although_a_gate_fails(call, labels, folder):
    assert call("eval", labels, "--require", "n>1e9", "-o", "a.state").code == 1
    assert (folder / "a.state").exists()


def test_eval_says_undecided_gates_when_quiet(call, labels):
    done = call("eval", labels, "--quiet", "--require", "accuracy>=0.8")
    assert done.code == 1
    assert "undecided: accuracy>=0.8" in done.err
