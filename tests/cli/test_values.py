"""`--task values`: which columns are summed, and how results and gates name them."""

import numpy as np
import pytest

import streameval as se

ROWS = [
    {"loss": n % 7 / 2 - 1, "ms": None if n % 10 == 0 else 5 * n, "user": n % 4, "w": 1 + n % 3}
    for n in range(100)
]


@pytest.fixture
def log(write):
    return write("values.jsonl", [row | {"ts": 1_700_000_000 + n} for n, row in enumerate(ROWS)])


def columns(*names, rows=ROWS):
    return [[np.nan if row[name] is None else row[name] for row in rows] for name in names]


def test_one_column_has_plain_names_and_the_state_is_that_of_python(call, log):
    found = call("eval", log, "--task", "values", "--value", "loss", "-o", "a.state", "--json")
    acc = se.MeanAccumulator().update(*columns("loss"))
    assert se.load("a.state").to_bytes() == acc.to_bytes()
    assert found.json["metrics"]["mean"] == acc.compute().mean
    assert found.json["intervals"]["mean"] == list(acc.compute().confidence("mean"))
    assert call("show", "a.state", "--metrics", "std,exp_mean").code == 0


def test_several_columns_have_a_result_each(call, log):
    given = ("--value", "loss,ms", "--nan", "skip", "--quantiles", "0.5,0.9", "--budget", "8")
    found = call(
        *("eval", log, "--task", "values", *given, "--sample-weight", "w", "-o", "a.state"),
        *("--require", "ms/quantile(0.9)<=500", "--require", "loss/mean>=5"),
    )
    assert found.code == 1
    assert "failed: loss/mean>=5" in found.err
    assert "ms/quantile(0.9)<=500" in found.err
    options = {"quantiles": [0.5, 0.9], "budget": 8, "nan": "skip"}
    acc = se.MeanAccumulator(["loss", "ms"], **options)
    loss, ms, weight = columns("loss", "ms", "w")
    acc.update(loss, ms, sample_weight=weight)
    assert se.load("a.state") == acc
    own = acc.compute()["ms"]
    assert f"ms\n  n = {own.n}, n_skipped = {own.n_skipped}" in found.out
    assert f"loss\n  n = {sum(weight)}" in found.out


def test_columns_are_explained_reported_and_gated_in_collections_too(call, log):
    names = ["loss", "w", "user"]
    rows = dict(zip(names, columns(*names), strict=True))
    acc = se.MeanAccumulator(["loss", "w"], quantiles=[0.5])
    col = se.Collection({"m": acc})
    for name, state in {"one": acc, "col": col, "slices": se.Sliced(col, "user")}.items():
        se.save(state.copy().update(rows), f"{name}.state")
    for name, start in (("one", ""), ("col", "m/"), ("slices", "m/")):
        said = call("explain", f"{name}.state").out
        assert "loss/mean" in said
        assert "The weighted mean of the values." in said
        assert call("report", f"{name}.state", "-o", f"{name}.html").code == 0
        gate = ("--require", f"{start}w/quantile(0.25)<=9", "--metrics", f"{start}loss/mean")
        assert call("show", f"{name}.state", *gate).code == 0
    assert "n = 100" in call("explain", "one.state").out
    drawn = call("plot", "col.state", "-o", "col.svg", "--member", "m")
    assert "there is no picture; report draws it" in drawn.err


def test_a_quantile_that_is_not_kept_is_explained(call, log):
    gate = ("--require", "loss/quantile(0.9)<=2")
    found = call("eval", log, "--task", "values", "--value", "loss,w", *gate)
    assert found.code == 2
    assert "quantiles are not kept: count with --quantiles '0.5, 0.99'" in found.err


def test_a_missing_value_is_a_bad_row(call, log):
    found = call("eval", log, "--task", "values", "--value", "ms")
    assert found.code == 3
    assert "line 1: `ms` is missing (--nan skip leaves it out)" in found.err


def test_slices_panes_and_clusters_of_columns(call, log):
    given = ("eval", log, "--task", "values", "--value", "loss,w")
    slices = call(*given, "--by", "user", "--json").json["slices"]
    sliced = {one["value"]: one for one in slices}
    own = se.MeanAccumulator().update(*columns("loss", rows=ROWS[1::4])).compute()
    assert sliced["1"]["metrics"]["loss/mean"] == own.mean
    panes = call(*given, "--time", "ts", "--unit", "s", "--pane", "10s", "-o", "p.state")
    assert panes.code == 0
    assert se.load("p.state").total().compute()["w"].sum == sum(columns("w")[0])
    clusters = call(*given, "--cluster", "user", "--json").json
    assert clusters["members"]["loss"]["clusters"]["groups"] == 4


def test_true_and_false_are_one_and_zero_in_every_format(call, write):
    right = [True, False, None, True]
    rows = [{"n": n, "right": one} for n, one in enumerate(right)]
    cells = [{"n": n, "right": one} for n, one in enumerate(["True", "false", "", "TRUE"])]
    expected = se.MeanAccumulator(nan="skip").update(right)
    for name, held in (("a.jsonl", rows), ("a.parquet", rows), ("a.csv", cells)):
        given = ("--task", "values", "--value", "right", "--nan", "skip", "-o", "a.state")
        assert call("eval", write(name, held), *given).code == 0
        assert se.load("a.state") == expected
    refused = call("eval", "a.csv", "--task", "values", "--value", "right")
    assert "line 4: `right` is missing" in refused.err


def test_watch_reads_values(call, log):
    found = call(
        *("watch", log, "--task", "values", "--value", "loss,w", "--time", "ts", "--unit", "s"),
        *("--pane", "10s", "--checkpoint", "c.db", "--once", "--metrics", "loss/mean"),
    )
    assert found.code == 0
    assert call("show", "c.db", "--json").code == 0
    refused = call(
        *("watch", log, "--task", "values", "--value", "loss", "--time", "ts", "--unit", "s"),
        *("--pane", "10s", "--checkpoint", "d.db", "--once", "--metrics", "accuracy"),
    )
    assert "no metric 'accuracy'" in refused.err


def test_watch_leaves_nothing_behind_where_it_is_refused(call, log, folder):
    given = ("--time", "ts", "--unit", "s", "--pane", "10s", "--checkpoint", "c.db", "--once")
    for task in (("values", "--value", "loss"), ("values", "--value", "w", "--versus", "loss")):
        join = ("--labels", log, "--key", "user", "--wait", "1h")
        refused = call("watch", log, "--task", *task, *given, *join)
        assert "--labels cannot be used with --task values; it is for classification" in refused.err
    wrong = call("watch", log, "--task", "values", "--value", "gain", *given)
    assert "no column 'gain' in the first rows" in wrong.err
    assert [path.name for path in folder.iterdir()] == ["values.jsonl"]
    assert call("watch", log, "--task", "values", "--value", "loss", *given).code == 0
    again = call("watch", log, "--task", "values", "--value", "gain", *given)
    assert again.code == 2
    assert call("show", "c.db").code == 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--value", "gain"), "no column 'gain' in the first rows"),
        (("--value", "loss", "--quantiles", "2"), "must lie in [0, 1], got '2'"),
        (("--value", "loss", "--quantiles", "p99"), "must be a number, got 'p99'"),
        (("--value", "loss", "--nan", "last"), 'must be "raise" or "skip", got \'last\''),
        (("--value", "loss", "--budget", "9"), "is for quantiles, none of which was given"),
        (("--value", "loss,loss"), "--value must be distinct, got 'loss' twice"),
        (("--value", "loss,"), "--value must be names, none of them 'sample_weight' or with '/'"),
        (("--value", "loss", "--y-true", "w"), "--y-true cannot be used with --task values"),
    ],
)
def test_mistakes_are_named(given, message, call, log):
    found = call("eval", log, "--task", "values", *given)
    assert found.code == 2
    assert message in found.err


def test_slices_of_several_models_say_which_is_best_in_each(call, write):
    random = np.random.default_rng(2)
    rows = [
        {
            "kind": "ab"[at % 2],
            "new": base,
            "old": base + random.normal() / 9 + at % 2,
            "x": 9 * base,
        }
        for at, base in enumerate(random.random(80).tolist())
    ]
    command = (
        "eval",
        write("models.jsonl", rows),
        "--task",
        "values",
        "--value",
        "new",
        "--by",
        "kind",
    )
    done = call(*command, "--versus", "old,x", "--measures", "loss")
    assert (done.code, done.err) == (0, "")
    table = done.out.split("\n\n")[-1].splitlines()
    assert table[0].split(None, 1) == ["kind", "best loss  not distinguishable"]
    assert [line.split() for line in table[1:]] == [
        ["(all)", "new"],
        ["a", "old", "new"],
        ["b", "new"],
    ]
    assert "best loss" not in call(*command, "--versus", "old", "--measures", "loss").out
    asked = ("--versus", "old,x", "--measures", "loss", "--metrics", "new vs old/difference")
    assert "best loss" not in call(*command, *asked).out
    assert "best loss" in call(*command, *asked[:4], "--level", "0").out
