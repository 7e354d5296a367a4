"""`streameval diff`: two states in, what changed out."""

import math
import re

import numpy as np
import pytest
from cli.outcome import error_of
from offenders import each

import streameval as se
from streameval.cli.errors import UsageError
from streameval.cli.gates import decide, parse_condition
from streameval.metrics.table import Change, Reading
from streameval.results.names import MetricName


def right(n_right, n, **options):
    """Of n rows of two classes, so many that are predicted right."""
    true = np.arange(n) % 2
    predicted = np.where(np.arange(n) < n_right, true, 1 - true)
    return se.ConfusionAccumulator(2, **options).update(true, predicted)


def curve(n, seed, budget=65_536, **options):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    return se.PRCurveSketch(budget, **options).update(label, (label + 2 * rng.random(n)) / 3)


@pytest.fixture
def pair(save):
    return save("a.state", right(80, 100)), save("b.state", right(70, 100))


def verdict(text, before, after, level=0.95):
    return decide(parse_condition(text), Change(Reading(before), Reading(after)), level).category


ACCUMULATORS = {
    "confusion": lambda: right(80, 100),
    "labels": lambda: se.ConfusionAccumulator("auto").update(["a", "b", "c"], ["a", "c", "c"]),
    "multilabel": lambda: se.ConfusionAccumulator(2, multilabel=True).update([[0, 1]], [[1, 1]]),
    "curve": lambda: curve(200, 0),
    "coarse": lambda: curve(200, 0, 16),
    "logits": lambda: se.PRCurveSketch(scores="real").update([0, 1], [-3.0, 5.0]),
    "classes": lambda: se.PRCurveSketch(classes=2).update([0, 1], [[0.5, 0.5], [0.2, 0.8]]),
    "grouped": lambda: se.GroupedAUC().update([0, 1, 1], [0.1, 0.2, 0.4], [5, 5, 6]),
    "calibration": lambda: se.CalibrationAccumulator().update([0, 1], [0.1, 0.7]),
    "regression": lambda: se.RegressionAccumulator().update([0.0, 1.0], [0.5, 0.5]),
    "ranking": lambda: se.RankingAccumulator().update([[1, 0], [0, 1]], [[0.1, 0.9], [0.3, 0.7]]),
    "collection": lambda: se.Collection(
        {"cm": se.ConfusionAccumulator(), "inner": se.Collection({"curve": se.PRCurveSketch()})}
    ).update({"y_true": [0, 1], "y_pred": [0, 1], "y_score": [0.1, 0.4]}),
    "nothing": se.PRCurveSketch,
    "no labels": lambda: se.ConfusionAccumulator("auto"),
}


@each("kind", ACCUMULATORS)
def test_diff_of_a_state_with_itself_is_zero_or_undefined(kind, call, save):
    name = save("a.state", ACCUMULATORS[kind]())
    metrics = call("diff", name, name, "--json").json["metrics"]
    assert metrics
    assert {entry["difference"] for entry in metrics.values()} <= {0, None}
    assert all(entry["a"] == entry["b"] for entry in metrics.values())


@each("kind", ACCUMULATORS)
def test_diff_lists_the_metrics_that_show_lists(kind, call, save):
    name = save("a.state", ACCUMULATORS[kind]())
    plain = se.load(name).compute().as_dict()
    ends = {f"{metric}_{end}" for metric in plain for end in ("low", "high")}
    listed = list(call("diff", name, name, "--json").json["metrics"])
    assert set(plain) - ends <= {*listed, "n_averaged"}


@each("kind", ACCUMULATORS)
def test_diff_fits_80_columns(kind, call, save):
    name = save("a.state", ACCUMULATORS[kind]())
    done = call("diff", name, name)
    assert (done.code, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 80


def test_diff_lays_out_values_and_differences(call, pair):
    done = call("diff", *pair, "--metrics", "n,accuracy")
    assert done.out == (
        "A: a.state, n = 100\n"
        "B: b.state, n = 100\n"
        "\n"
        "metric           A         B      B - A            95% interval\n"
        "n              100       100          0\n"
        "accuracy  0.800000  0.700000  -0.100000  [-0.216734, +0.020249]\n"
    )


def test_diff_puts_intervals_below_where_they_do_not_fit(call, save):
    a, b = save("a.state", curve(500, 0, 32)), save("b.state", curve(500, 1, 32))
    above, below = call("diff", a, b).out.split("\n\n")[1:]
    assert above.splitlines()[0].split() == ["metric", "A", "B", "B", "-", "A"]
    head, first, second, *rest, caption = below.splitlines()
    assert caption == "Intervals assume independent samples; for the same rows: eval --versus."
    assert " ".join(head.split()) == "metric exact value within 95% interval"
    assert (first.count("["), second.count("["), {line.count("[") for line in rest}) == (2, 2, {1})
    assert "\nn " in above
    assert "\nn " not in below


def test_diff_puts_both_intervals_below_counts_of_billions(call, save):
    weight = [10**11, 10**11]
    states = [
        save(f"{n}.state", se.PRCurveSketch(1).update([0, 1], [n / 4, 0.9], sample_weight=weight))
        for n in (1, 2)
    ]
    lines = call("diff", *states).out.splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.split() == ["n", *["200,000,000,000"] * 2, "0"] for line in lines)


def test_diff_takes_several_states_each_beside_the_first(call, save):
    names = [save(f"{n}.state", right(n, 100)) for n in (80, 70, 90)]
    done = call("diff", *names, "--metrics", "n,accuracy")
    assert done.out == (
        "A: 80.state, n = 100\n"
        "B: 70.state, n = 100\n"
        "C: 90.state, n = 100\n"
        "\n"
        "metric           A         B      B - A         C      C - A\n"
        "n              100       100          0       100          0\n"
        "accuracy  0.800000  0.700000  -0.100000  0.900000  +0.100000\n"
        "\n"
        "metric       B - A, 95% interval     C - A, 95% interval\n"
        "accuracy  [-0.216734, +0.020249]  [+0.000149, +0.199474]\n"
    )


def test_diff_of_several_states_judges_each_and_writes_a_line_of_json_of_each(call, save):
    names = a, b, c = [save(f"{n}.state", right(n, 100)) for n in (80, 70, 90)]
    done = call("diff", *names, "--fail-on", "accuracy drops 0.01", "--json")
    assert done.code == 1
    *notes, failed, passed = [line.split(": ")[1:3] for line in done.err.splitlines()]
    assert [name for name, _ in notes] == ["note"] * 2
    assert [failed, passed] == [["failed", b], ["passed", c]]
    pairs = [call("diff", a, other, "--json").out for other in (b, c)]
    assert done.out == "".join(pairs)


def test_diff_refuses_more_states_than_letters(call):
    done = call("diff", *["a.state"] * 27)
    assert (done.code, done.err) == (
        2,
        "streameval: error: diff compares at most 26 states, got 27.\n",
    )


def test_diff_of_several_states_names_those_that_share_no_metric(call, save):
    measures = (("map",), ("map", "mrr"), ("mrr",))
    names = [save(f"{n}.state", se.RankingAccumulator(of)) for n, of in enumerate(measures)]
    done = call("diff", *names)
    assert "n_queries" in done.out
    assert "map" not in done.out


def test_diff_prints_markdown_for_pull_requests(call, pair):
    done = call("diff", *pair, "--metrics", "accuracy", "--markdown", "--quiet")
    assert done.out == (
        "A: a.state, n = 100  \n"
        "B: b.state, n = 100\n"
        "\n"
        "| metric | A | B | B - A | 95% interval |\n"
        "| :-- | --: | --: | --: | --: |\n"
        "| accuracy | 0.800000 | 0.700000 | -0.100000 | [-0.216734, +0.020249] |\n"
    )


def test_diff_shows_small_differences_with_three_digits(call, save):
    states = [
        save(f"{error}.state", se.RegressionAccumulator().update([0.0], [error]))
        for error in (0.5, 0.5 + 2**-20)
    ]
    done = call("diff", *states, "--metrics", "rmse")
    assert done.out.splitlines()[-1].split() == ["rmse", "0.500000", "0.500001", "+9.54e-07"]


def test_diff_shortens_counts_that_would_not_fit(call, save):
    many = se.ConfusionAccumulator().update([1], [1], sample_weight=[2**62])
    names = save("a.state", many), save("b.state", se.ConfusionAccumulator())
    done = call("diff", *names, "--metrics", "n")
    assert done.out.splitlines()[-1].split() == ["n", "4.61169e+18", "0", "-4.61169e+18"]
    assert call("diff", *names, "--json").json["metrics"]["n"]["difference"] == -(2**62)


def test_diff_cuts_long_names_to_fit_a_terminal_alone(call, save, on_a_terminal):
    collection = se.Collection({"of_the_second_model" * 3: se.PRCurveSketch()})
    name = save("a.state", collection)
    whole = f"{'of_the_second_model' * 3}/average_precision_11pt"
    assert whole in call("diff", name, name).out
    on_a_terminal(80)
    out = call("diff", name, name).out
    assert max(map(len, out.splitlines())) <= 80
    assert whole not in out
    assert re.search(r"^of_the_second.*\u2026.*average_precision_11pt ", out, re.MULTILINE)


def test_diff_gives_the_numbers_of_python(call, save):
    a, b = curve(300, 0, 32), curve(400, 1, 32)
    done = call("diff", save("a.state", a), save("b.state", b), "--json", "--level", "0.9").json
    one, other = a.compute(), b.compute()
    assert (done["task"], done["states"], done["level"]) == ("binary", ["a.state", "b.state"], 0.9)
    entry = done["metrics"]["roc_auc"]
    assert (entry["a"], entry["b"]) == (one.roc_auc, other.roc_auc)
    assert entry["difference"] == other.roc_auc - one.roc_auc
    assert entry["bounds"] == [
        other.roc_auc.low - one.roc_auc.high,
        other.roc_auc.high - one.roc_auc.low,
    ]
    (la, ua), (lb, ub) = (result.confidence("roc_auc", level=0.9) for result in (one, other))
    down = math.sqrt((other.roc_auc.low - lb) ** 2 + (ua - one.roc_auc.high) ** 2)
    up = math.sqrt((ub - other.roc_auc.high) ** 2 + (one.roc_auc.low - la) ** 2)
    low, high = entry["bounds"]
    assert low < high
    assert entry["interval"] == pytest.approx([low - down, high + up], rel=1e-12)
    assert "interval" not in done["metrics"]["ks"]


@each(
    ("before", "after", "interval"),
    [
        ((48, 80), (56, 70), (0.0524, 0.3339)),
        ((3, 10), (9, 10), (0.1705, 0.8090)),
        ((2, 10), (5, 10), None),
    ],
)
def test_diff_gives_the_interval_of_newcombe(before, after, interval, call, save):
    """Method 10 of Newcombe (1998), table II."""
    names = save("a.state", right(*before)), save("b.state", right(*after))
    found = call("diff", *names, "--json").json["metrics"]["accuracy"]["interval"]
    mirrored = call("diff", *reversed(names), "--json").json["metrics"]["accuracy"]["interval"]
    assert mirrored == pytest.approx([-found[1], -found[0]])
    if interval is not None:
        assert found == pytest.approx(interval, abs=5e-5)


def test_diff_leaves_sampling_intervals_out_at_level_0(call, pair):
    assert "interval" not in call("diff", *pair, "--level", "0").out
    metrics = call("diff", *pair, "--level", "0", "--json").json["metrics"]
    assert not any("interval" in entry for entry in metrics.values())


def test_diff_of_an_undefined_value_is_undefined(call, save):
    a, b = save("a.state", se.PRCurveSketch()), save("b.state", curve(50, 0))
    entry = call("diff", a, b, "--metrics", "roc_auc", "--json").json["metrics"]["roc_auc"]
    assert (entry["a"], entry["difference"], entry["bounds"]) == (None, None, [None, None])
    assert "interval" not in entry
    assert (
        call("diff", a, b, "--metrics", "roc_auc").out.splitlines()[-3].split()[-1] == "\N{EN DASH}"
    )


def test_diff_reads_averages_classes_members_and_arguments(call, save):
    name = save("a.state", ACCUMULATORS["collection"]())
    wanted = "cm/recall[macro],cm/recall[1],inner/curve/recall_at(0.5)"
    done = call("diff", name, name, "--metrics", wanted, "--json").json
    assert list(done["metrics"]) == wanted.split(",")
    assert done["task"] == "collection"


def test_diff_of_a_class_that_has_not_been_met_is_undefined(call, save):
    name = save("a.state", se.ConfusionAccumulator("auto"))
    done = call("diff", name, name, "--metrics", "recall[cat]", "--json")
    assert done.json["metrics"]["recall[cat]"]["a"] is None


def test_diff_decides_a_condition_of_a_member(call, save):
    def member(n_right):
        members = {"cm": se.ConfusionAccumulator(), "fit": se.RegressionAccumulator()}
        true, predicted = [1] * 10, [1] * n_right + [0] * (10 - n_right)
        return se.Collection(members).update(true, predicted)

    names = save("a.state", member(8)), save("b.state", member(6))
    done = call("diff", *names, "--fail-on", "cm/recall drops 20%", "--fail-on", "fit/mae drops 0")
    assert done.code == 1
    assert [line.split(": ")[1:3] for line in done.err.splitlines()[1:]] == [
        ["failed", "cm/recall must not drop by 20% or more"],
        ["passed", "fit/mae must not drop"],
    ]


@each("level", [0.95, 0])
@each("kind", ACCUMULATORS)
def test_readings_at_once_are_those_one_by_one(kind, level):
    result = ACCUMULATORS[kind]().compute()
    for name, reading in result.readings(level).items():
        alone = result.read(MetricName(name), level=level)
        assert repr(reading.value) == repr(alone.value)
        assert (reading.sampling, reading.why_none) == (alone.sampling, alone.why_none)


def test_diff_names_the_options_that_differ(call, save):
    a = save("a.state", right(8, 10, threshold=0.5))
    b = save("b.state", right(8, 12, threshold=0.7, include_unseen=True))
    assert call("diff", a, b).err == (
        "streameval: note: counted with different options: threshold (0.5 and 0.7), "
        "include_unseen (False and True).\n"
    )
    assert call("diff", a, b, "--quiet").err == ""


def test_diff_names_the_options_of_members_that_differ(call, save):
    names = [
        save(
            f"{n}.state",
            se.Collection({"in": se.Collection({"c": se.PRCurveSketch(n)}), "r": r}),
        )
        for n, r in [(8, se.RegressionAccumulator()), (9, se.RegressionAccumulator())]
    ]
    assert call("diff", *names).err == (
        "streameval: note: counted with different options: in/c/budget (8 and 9).\n"
    )


def test_diff_names_the_columns_of_members_that_differ(call, save):
    names = [
        save(f"{n}.state", se.Collection({"c": se.PRCurveSketch()}, columns={"c": columns}))
        for n, columns in enumerate([{"y_score": "p"}, {}])
    ]
    assert call("diff", *names).err == (
        "streameval: note: counted with different options: c/columns ({'y_score': 'p'} and {}).\n"
    )


def test_diff_compares_the_members_that_both_have(call, save):
    fit, shared = se.RegressionAccumulator(), se.PRCurveSketch()
    a = save("a.state", se.Collection({"fit": fit, "shared": shared}))
    b = save("b.state", se.Collection({"shared": shared, "more": se.PRCurveSketch(8)}))
    done = call("diff", a, b, "--json")
    assert {name.partition("/")[0] for name in done.json["metrics"]} == {"shared"}
    assert [line.partition(" has ")[0] for line in done.err.splitlines()] == [
        "streameval: note: only a.state",
        "streameval: note: only b.state",
    ]


def test_diff_shortens_an_option_of_many_classes(call, save):
    names = [
        save(f"{end}.state", se.ConfusionAccumulator([f"c{n}" for n in range(50)] + [end]))
        for end in ("x", "y")
    ]
    line, _ = call("diff", *names).err.splitlines()
    assert line.startswith("streameval: note: counted with different options: classes (('c0', 'c1'")
    assert len(line) < 160


def test_diff_names_the_metrics_that_only_one_has(call, save):
    a = save("a.state", se.RankingAccumulator(["map", "p@5"]))
    b = save("b.state", se.RankingAccumulator(["map", *(f"r@{k}" for k in range(1, 13))]))
    notes = call("diff", a, b).err.splitlines()
    assert "streameval: note: only a.state has p@5." in notes
    assert (
        "streameval: note: only b.state has r@1, r@2, r@3, r@4, r@5, r@6, r@7, r@8, r@9, r@10 "
        "and 2 more." in notes
    )
    assert "only" not in call("diff", a, b, "--metrics", "map").err


def test_diff_says_which_state_lacks_a_metric(call, save):
    a = save("a.state", se.RankingAccumulator(["map", "p@5"]))
    b = save("b.state", se.RankingAccumulator(["map", "p@1"]))
    found = error_of(call("diff", a, b, "--metrics", "p@5"), 2)
    assert found.startswith("b.state: no metric 'p@5': did you mean 'p@1'? Choose from map, p@1, ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--metrics", "acuracy"], "a.state: no metric 'acuracy': did you mean 'accuracy'?"),
        (["--fail-on", "acuracy drops 1"], "a.state: no metric 'acuracy': did you mean"),
        (["--metrics", "recall[2]"], "a.state: no class '2'"),
        (["--metrics", "n[2]"], "a.state: 'n[2]': n has no averages and no classes."),
        (["--metrics", "accuracy>0"], "'accuracy>0' is not a metric"),
        (["--fail-on", "accuracy>0"], "'accuracy>0' is not a condition; write one like"),
        (["--fail-on", "accuracy drops"], "'accuracy drops' is not a condition"),
        (["--fail-on", "accuracy falls 1"], "'accuracy falls 1' is not a condition"),
        (
            ["--fail-on", "accuracy drops -1"],
            "'accuracy drops -1': '-1' is not a number of at least",
        ),
        (["--fail-on", "accuracy drops nan"], "'accuracy drops nan': 'nan' is not a number of"),
        (["--fail-on", "accuracy drops inf%"], "'accuracy drops inf%': 'inf' is not a number"),
        (["--fail-on", "accuracy drops x"], "'accuracy drops x': 'x' is not a number"),
    ],
)
def test_diff_refuses_what_cannot_be_meant(arguments, message, call, pair):
    assert error_of(call("diff", *pair, *arguments), 2).startswith(message)


def test_diff_refuses_states_of_two_kinds(call, save):
    a, b = save("a.state", right(1, 2)), save("b.state", se.RegressionAccumulator())
    assert error_of(call("diff", a, b), 4) == (
        "a.state holds a ConfusionAccumulator and b.state a RegressionAccumulator: "
        "only states of one type can be compared."
    )


def test_diff_refuses_one_curve_and_several(call, save):
    a, b = save("a.state", se.PRCurveSketch()), save("b.state", se.PRCurveSketch(classes=3))
    assert error_of(call("diff", a, b), 4).startswith("a.state holds a Curve and b.state a Class")


def test_diff_refuses_members_of_two_kinds(call, save):
    a = save("a.state", se.Collection({"x": right(0, 0), "y": se.PRCurveSketch()}))
    b = save("b.state", se.Collection({"x": se.RegressionAccumulator(), "z": se.PRCurveSketch()}))
    assert error_of(call("diff", a, b), 4).startswith(
        "a.state holds a Confusion as 'x' and b.state a Regression: "
    )


def test_diff_refuses_states_with_no_metric_in_common(call, save):
    a = save("a.state", se.Collection({"x": se.PRCurveSketch()}))
    b = save("b.state", se.Collection({"y": se.PRCurveSketch()}))
    assert error_of(call("diff", a, b), 4) == "a.state and b.state have no metric in common."


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent.state", "absent.state: no such file or directory."),
        ("text.state", "text.state: "),
        ("cut.state", "cut.state: "),
    ],
)
def test_diff_names_a_state_that_cannot_be_read(name, message, call, pair, folder):
    (folder / "text.state").write_text("no state")
    (folder / "cut.state").write_bytes((folder / "a.state").read_bytes()[:-1])
    for arguments in ([name, "b.state"], ["a.state", name]):
        assert error_of(call("diff", *arguments), 3).startswith(message)


@each(
    ("text", "metric", "drops", "size", "is_share"),
    [
        ("accuracy drops 0.01", MetricName("accuracy"), True, 0.01, False),
        ("  log_loss   rises  5% ", MetricName("log_loss"), False, 0.05, True),
        ("recall[macro] drops 0", MetricName("recall", "macro"), True, 0.0, False),
        ("curve/roc_auc drops 1e-3", MetricName("curve/roc_auc"), True, 0.001, False),
        ("recall_at(0.5) drops .5%", MetricName("recall_at(0.5)"), True, 0.005, True),
        ("recall[drops 1] drops 1", MetricName("recall", "drops 1"), True, 1.0, False),
    ],
)
def test_condition_reads_metric_direction_and_size(text, metric, drops, size, is_share):
    found = parse_condition(text)
    assert (found.text, found.metric) == (text.strip(), metric)
    assert (found.drops, found.size, found.is_share) == (drops, size, is_share)


def test_condition_is_refused_in_python_too():
    with pytest.raises(UsageError):
        parse_condition("accuracy drops 1 %%")


@each(
    ("text", "before", "after", "kind"),
    [
        ("x drops 0.1", 0.9, 0.8, "failed"),
        ("x drops 0.1", 0.3, 0.2, "failed"),
        ("x drops 0.1", 0.9, 0.8 + 1e-9, "passed"),
        ("x drops 0.1", 0.8, 0.9, "passed"),
        ("x drops 0", 0.9, 0.9, "passed"),
        ("x drops 0", 0.3, 0.1 + 0.2, "passed"),
        ("x drops 0", 0.1 + 0.2, 0.3, "passed"),
        ("x drops 0", 0.9, 0.9 - 1e-12, "failed"),
        ("x drops 1e-300", 0.9, 0.9, "passed"),
        ("x drops 1e-300", 0.9, 0.8, "failed"),
        ("x rises 0.1", 0.8, 0.9, "failed"),
        ("x rises 0.1", 0.9, 0.8, "passed"),
        ("x rises 0", 0.8, 0.9, "failed"),
        ("x drops 10%", 0.5, 0.45, "failed"),
        ("x drops 10%", 0.5, 0.4500001, "passed"),
        ("x drops 10%", -0.5, -0.55, "failed"),
        ("x rises 10%", -0.5, -0.45, "failed"),
        ("x rises 300%", 2, 8, "failed"),
        ("x rises 10%", 0.0, 1e-9, "failed"),
        ("x rises 10%", 0.0, 0.0, "passed"),
        ("x drops 0", 2**62 + 1, 2**62, "failed"),
        ("x drops 2", 2**62 + 1, 2**62, "passed"),
        ("x drops 0.1", math.inf, 0.5, "failed"),
        ("x rises 0.1", math.inf, 0.5, "passed"),
        ("x drops 0", math.nan, 0.5, "undecided"),
        ("x drops 0", 0.5, math.nan, "undecided"),
    ],
)
def test_condition_of_exact_values_is_about_the_difference(text, before, after, kind):
    assert verdict(text, before, after) == kind


@each(
    ("text", "before", "after", "kind"),
    [
        ("x drops 0.1", (0.8, 0.7, 0.9), (0.5, 0.4, 0.55), "failed"),
        ("x drops 0.1", (0.8, 0.7, 0.9), (0.5, 0.4, 0.6), "failed"),
        ("x drops 0.1", (0.8, 0.7, 0.9), (0.5, 0.4, 0.61), "undecided"),
        ("x drops 0.1", (0.8, 0.7, 0.9), (0.8, 0.7, 0.9), "undecided"),
        ("x drops 0.1", (0.8, 0.8, 0.85), (0.8, 0.8, 0.85), "passed"),
        ("x drops 0", (0.8, 0.7, 0.9), (0.95, 0.9, 1.0), "passed"),
        ("x drops 0", (0.8, 0.7, 0.9), (0.95, 0.89, 1.0), "undecided"),
        ("x rises 0.1", (0.5, 0.4, 0.6), (0.8, 0.7, 0.9), "failed"),
        ("x rises 0.2", (0.5, 0.4, 0.6), (0.8, 0.7, 0.9), "undecided"),
        ("x rises 0.6", (0.5, 0.4, 0.6), (0.8, 0.7, 0.9), "passed"),
        ("x drops 50%", (0.8, 0.6, 1.0), (0.3, 0.2, 0.3), "failed"),
        ("x drops 50%", (0.8, 0.6, 1.0), (0.3, 0.2, 0.31), "undecided"),
        ("x rises 200%", (0.2, -0.5, 0.5), (0.4, 0.4, 0.4), "undecided"),
        ("x rises 100%", (0.0, -0.5, 0.5), (-0.25, -0.25, -0.25), "passed"),
        ("x rises 200%", (0.5, -1.0, 1.0), (0.9, 0.9, 0.9), "undecided"),
    ],
)
def test_condition_of_bounded_values_leaves_no_doubt(text, before, after, kind):
    assert verdict(text, se.Bounded(*before), se.Bounded(*after)) == kind


@each("text", ["x drops 0.15", "x drops 30%", "x rises 40%", "x rises 0"])
def test_condition_is_decided_as_for_every_value_within_the_bounds(text):
    rng = np.random.default_rng(0)
    condition = parse_condition(text)
    for _ in range(200):
        (a_low, a_high), (b_low, b_high) = np.sort(rng.uniform(-1, 1, (2, 2)))
        before = se.Bounded((a_low + a_high) / 2, a_low, a_high)
        after = se.Bounded((b_low + b_high) / 2, b_low, b_high)
        pairs = rng.uniform((a_low, b_low), (a_high, b_high), (200, 2)).tolist()
        held = {condition.holds(*pair) for pair in pairs}
        kind = verdict(text, before, after)
        assert kind == "undecided" or held == {kind == "failed"}


@pytest.mark.parametrize(
    ("condition", "code", "line"),
    [
        (
            "accuracy drops 0.1",
            1,
            (
                "failed: accuracy must not drop by 0.1 or more: 0.8 to 0.7, -0.1, "
                "perhaps of the same rows (see --versus); if the samples are independent: "
                "95% interval [-0.216734, +0.0202494]."
            ),
        ),
        (
            "accuracy rises 0",
            0,
            (
                "passed: accuracy must not rise: 0.8 to 0.7, -0.1, "
                "perhaps of the same rows (see --versus); if the samples are independent: "
                "95% interval [-0.216734, +0.0202494]."
            ),
        ),
        ("n drops 5%", 0, "passed: n must not drop by 5% or more: 100 to 100, +0."),
    ],
)
def test_diff_decides_a_condition(condition, code, line, call, pair):
    done = call("diff", *pair, "--fail-on", condition)
    assert (done.code, done.err.splitlines()[-1]) == (code, f"streameval: {line}")


@each(("n", "side"), [(1002, "beyond"), (60, "within")])
def test_diff_says_whether_chance_explains_a_change_of_independent_samples(call, save, n, side):
    names = save("a.state", right(n * 8 // 10, n)), save("b.state", right(n * 7 // 10, n + 1))
    done = call("diff", *names, "--fail-on", "accuracy drops 0.01", "--level", "0.99")
    assert f", {side} chance if the samples are independent: 99% interval [-0." in done.err
    assert "note" not in done.err
    assert "Intervals assume independent samples" in call("diff", *names).out


def labels(n, n_wrong):
    true = np.arange(n) % 2
    return true, np.where(np.arange(n) < n_wrong, 1 - true, true)


@each(
    "make",
    [
        lambda true, pred: se.ConfusionAccumulator(2).update(true, pred),
        lambda true, pred: se.PRCurveSketch().update(true, pred / 2 + 0.1),
        lambda true, pred: se.CalibrationAccumulator().update(true, pred / 2 + 0.1),
        lambda true, pred: se.RegressionAccumulator().update(true, pred),
        lambda true, pred: se.RankingAccumulator(["map"]).update(
            true.reshape(-1, 2), pred.reshape(-1, 2) + 0.1
        ),
        lambda true, pred: se.PRCurveSketch(classes=2).update(
            true, np.stack([1 - pred, pred], axis=1) * 1.0
        ),
        lambda true, pred: se.Collection({"c": se.ConfusionAccumulator(2)}).update(true, pred),
        lambda true, pred: se.GroupedAUC().update(true, pred / 2 + 0.1, true // 2),
    ],
)
def test_diff_does_not_judge_states_that_may_count_the_same_rows(call, save, make):
    same = save("a.state", make(*labels(40, 4))), save("b.state", make(*labels(40, 9)))
    done = call("diff", *same)
    assert "a.state and b.state count equally many rows" in done.err
    assert "Intervals assume" not in done.out
    other = save("c.state", make(*labels(44, 9)))
    assert "count equally many" not in call("diff", same[0], other).err
    assert "count equally many" not in call("diff", same[0], same[0]).err
    empty = save("d.state", make(*labels(0, 0)))
    assert "count equally many" not in call("diff", empty, empty).err
    metrics = call("diff", *same, "--json").json["metrics"].values()
    assert {one["samples"] for one in metrics if "interval" in one} <= {"alike"}


def ranking(scores, queries, **options):
    made = se.RankingAccumulator(["map", "mrr"], per_query=True, **options)
    return made.update(np.tile([0, 1, 0, 1], (len(scores), 1)), scores, query=queries)


def test_diff_pairs_rankings_by_query(call, save):
    random = np.random.default_rng(3)
    old = random.random((50, 4))
    new = old + random.random((50, 4)) * np.array([0.0, 0.1, 0.0, 0.1])
    a, b = ranking(old, range(50)), ranking(new, range(50))
    names = save("a.state", a), save("b.state", b)
    done = call("diff", *names, "--fail-on", "map drops 0.01", "--json")
    expected = se.compare(b.compute(), a.compute())["map"].confidence()
    found = done.json["metrics"]["map"]
    assert (found["interval"], found["samples"]) == ([*expected], "paired")
    assert "intervals are paired by the 50 queries of both." in done.err
    assert ", beyond chance, paired by query: 95% interval [+" in done.err
    fewer = save("c.state", ranking(new[1:], range(1, 50)))
    done = call("diff", names[0], fewer)
    assert "paired by the 49 queries of both, which are not all of either." in done.err
    columns = {"relevance": np.tile([0, 1, 0, 1], 50), "query": np.repeat(range(50), 4)}
    in_collections = []
    for n, scores in enumerate((old, new)):
        made = se.Collection({"r": se.RankingAccumulator(["map"], per_query=True)})
        in_collections.append(save(f"{n}.state", made.update(columns | {"score": scores.ravel()})))
    assert "of 'r' are paired by the 50 queries" in call("diff", *in_collections).err
    assert call("diff", *names, "--level", "0", "--json").json["metrics"]["map"].keys() == {
        *("a", "b", "difference", "bounds")
    }


def test_diff_of_windows_of_one_state_is_of_different_rows(call, save):
    w = se.Windowed(se.ConfusionAccumulator(2), pane=1, time="t")
    for time, wrong in ((0, 4), (1, 9)):
        true, pred = labels(40, wrong)
        w.update({"y_true": true, "y_pred": pred, "t": [time] * 40})
    name = save("w.state", w)
    done = call("diff", name, name, "--window", "1", "--ends", "1,2")
    assert "count equally many" not in done.err
    assert "Intervals assume independent samples" in done.out


def test_diff_is_undecided_where_the_bounds_leave_it_open(call, save):
    names = save("a.state", curve(300, 0, 16)), save("b.state", curve(300, 1, 16))
    done = call("diff", *names, "--fail-on", "ks drops 0.001")
    assert done.code == 1
    (line,) = done.err.splitlines()
    assert line.startswith("streameval: undecided: ks must not drop by 0.001 or more: ")
    assert " in [-" in line


def test_diff_is_undecided_where_a_value_is_undefined(call, save):
    names = save("a.state", se.PRCurveSketch()), save("b.state", curve(50, 0))
    done = call("diff", *names, "--fail-on", "roc_auc drops 0.5", "--level", "0")
    assert done.code == 1
    assert "roc_auc must not drop by 0.5 or more: nan to 0." in done.err
    assert done.err.endswith(", so the change is undefined.\n")


def test_diff_decides_every_condition(call, pair):
    conditions = ["accuracy drops 0.5", "accuracy drops 0.01", "recall[1] drops 90%"]
    arguments = [part for text in conditions for part in ("--fail-on", text)]
    done = call("diff", *pair, *arguments, "--quiet")
    assert done.code == 1
    assert [line.split(": ")[1] for line in done.err.splitlines()] == ["failed"]


@each("kind", [kind for kind in ACCUMULATORS if not kind.startswith("no")])
def test_diff_of_a_state_with_itself_passes(kind, call, save):
    name = save("a.state", ACCUMULATORS[kind]())
    metrics = call("diff", name, name, "--json").json["metrics"]
    exact = [metric for metric, entry in metrics.items() if entry["bounds"] == [0, 0]]
    conditions = [part for metric in exact for part in ("--fail-on", f"{metric} drops 0.01")]
    done = call("diff", name, name, *conditions)
    assert (done.code, done.err.count("passed")) == (0, len(exact))


def test_diff_is_undecided_where_a_value_is_a_convention(call, save):
    a, b = save("a.state", right(80, 100)), save("b.state", right(1, 1))
    done = call("diff", a, b, "--fail-on", "f_score drops 0.1", "--level", 0)
    assert (done.code, "0.8 to 0, so the change is undefined" in done.err) == (1, True)


def counted(labels, predicted, **options):
    return se.ConfusionAccumulator("auto", **options).update(labels, predicted)


def test_diff_says_that_classes_differ(call, folder):
    se.save(counted([0, 1], [0, 1]), "a.state")
    se.save(counted([0, 1, 2], [0, 1, 2]), "b.state")
    done = call("diff", "a.state", "b.state", "--metrics", "recall")
    note = (
        "the metrics are not of the same classes: per-class metrics are means over "
        "2 classes (macro) in a.state, and per-class metrics are means over 3 classes "
        "(macro) in b.state."
    )
    assert (done.code, done.err) == (0, f"streameval: note: {note}\n")
    assert call("diff", "a.state", "b.state", "--json").json["notes"] == [note]
    assert call("diff", "a.state", "a.state", "--json").json["notes"] == []


def test_diff_refuses_classes_that_have_nothing_in_common(call, folder):
    se.save(counted([0, 1], [0, 1]), "a.state")
    se.save(counted(["cat"], ["dog"]), "b.state")
    done = call("diff", "a.state", "b.state", "--metrics", "recall")
    assert (done.code, done.out) == (4, "")
    assert done.err == (
        "streameval: error: a.state and b.state have no class in common: 0, 1, and cat, dog.\n"
    )
