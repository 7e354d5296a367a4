"""`--task regression`: columns, numbers, gates."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from offenders import each
from sklearn import metrics as sk

import streameval as se

DIABETES = Path(__file__).parents[2] / "docs" / "data" / "diabetes.csv"
TRUTH, PREDICTION = np.loadtxt(DIABETES, delimiter=",", skiprows=1, usecols=(1, 2), unpack=True)
REGRESSION = ("--task", "regression")
ROWS = [
    {"price": 3, "guess": 2.5, "w": 1},
    {"price": -0.5, "guess": 0, "w": 0.5},
    {"price": 2, "guess": 2, "w": 3},
]


@pytest.fixture
def evaluate(call):
    """Evaluate the shipped log."""

    def evaluate(*options):
        return call("eval", DIABETES, *REGRESSION, *options)

    return evaluate


def test_regression_reports_the_shipped_log(evaluate):
    done = evaluate()
    assert (done.code, done.err) == (0, "")
    heading, empty, *lines = done.out.splitlines()
    assert (heading, empty) == ("442 rows of 1 file", "")
    names = [line.split()[0] for line in lines if line]
    assert names == ["n", "metric", "rmse", "mse", "mae", "r2", "bias"]
    assert lines[3].split()[1] == f"{np.sqrt(sk.mean_squared_error(TRUTH, PREDICTION)):.6f}"


ORACLES = {
    "rmse": sk.root_mean_squared_error,
    "mse": sk.mean_squared_error,
    "mae": sk.mean_absolute_error,
    "r2": sk.r2_score,
    "bias": lambda truth, prediction: (prediction - truth).mean(),
}


@each("name", ORACLES)
def test_regression_json_is_that_of_sklearn(name, evaluate):
    found = evaluate("--json").json
    assert found["metrics"][name] == pytest.approx(ORACLES[name](TRUTH, PREDICTION), rel=1e-9)


def test_regression_json_says_what_was_read(evaluate):
    found = evaluate("--json", "--level", 0.9).json
    del found["metrics"], found["files"]
    assert list(found.pop("intervals")) == ["mae", "bias"]
    origin = {"task": "regression", "rows": 442, "bad": 0}
    assert found == origin | {"n": 442, "level": 0.9}


@each("name", ["a.jsonl", "a.csv", "a.parquet"])
def test_regression_reads_named_columns_and_weights(name, call, write):
    options = ["--y-true", "price", "--y-pred", "guess", "--sample-weight", "w", "-o", "a.state"]
    assert call("eval", write(name, ROWS), *REGRESSION, *options).code == 0
    expected = se.RegressionAccumulator()
    expected.update([3, -0.5, 2], [2.5, 0, 2], sample_weight=[1, 0.5, 3])
    assert se.load("a.state") == expected


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_regression_state_is_that_of_a_program(jobs, evaluate):
    assert evaluate("-o", "a.state", "--jobs", jobs).code == 0
    assert se.load("a.state") == se.RegressionAccumulator().update(TRUTH, PREDICTION)


def test_regression_states_merge_and_show(call, evaluate):
    evaluate("-o", "a.state")
    shutil.copy("a.state", "again.state")
    assert call("merge", "a.state", "again.state", "-o", "b.state").code == 0
    shown = call("show", "b.state")
    assert shown.out.startswith("b.state, n = 884\n\nn = 884\n")
    assert call("show", "b.state", "--json").json["task"] == "regression"


@each(
    ("gate", "code"),
    [
        ("rmse<=54.6", 0),
        ("rmse<=54.5", 1),
        ("mse<3000", 0),
        ("mae<45", 0),
        ("mae<44", 1),
        ("r2>=0.49", 0),
        ("bias>-0.2", 0),
        ("bias>0", 1),
    ],
)
def test_regression_gate_compares_the_value_at_level_0(gate, code, evaluate):
    done = evaluate("--require", gate, "--level", 0)
    assert done.code == code
    assert done.err.startswith(f"streameval: {'failed' if code else 'passed'}: {gate}: ")


@each(("gate", "verdict"), [("rmse<=60", "passed"), ("rmse<=50", "failed"), ("r2>=0.4", "passed")])
def test_regression_gate_compares_the_value_which_has_no_interval(gate, verdict, evaluate):
    done = evaluate("--require", gate)
    assert done.code == (verdict == "failed")
    assert done.err.startswith(f"streameval: {verdict}: {gate}: ")


def test_regression_count_is_its_own_interval(evaluate):
    assert evaluate("--require", "n>=442").code == 0
    assert evaluate("--require", "n>442").code == 1


@each(
    ("options", "message"),
    [
        (
            ["--require", "rsme<1"],
            "no metric 'rsme': did you mean 'rmse'? Choose from n, rmse, mse, mae, r2, bias, ",
        ),
        (["--require", "mae[1]<1"], "'mae[1]': mae has no averages and no classes."),
        (
            ["--y-true", "y_true,y_pred"],
            "`y_true,y_pred` holds 2 numbers and `y_pred` holds 1 number a row",
        ),
        (
            ["--y-pred", "y_true,y_pred"],
            "`y_true` holds 1 number and `y_true,y_pred` holds 2 numbers a row",
        ),
        (
            ["--y-pred", "y_prde"],
            "no column 'y_prde' in the first rows: did you mean 'y_pred'? Choose from id, y_true, ",
        ),
    ],
)
def test_regression_says_what_does_not_fit(options, message, evaluate):
    done = evaluate(*options)
    assert done.code == 2
    assert done.err.startswith(f"streameval: error: {message}")


@each(
    ("row", "reason"),
    [
        ({"y_true": 1, "y_pred": "much"}, "`y_pred` must be a number, got 'much'"),
        ({"y_true": 1, "y_pred": None}, "`y_pred` is missing (--nan skip leaves it out)"),
        (
            {"y_true": float("inf"), "y_pred": 1},
            "`y_true` must be finite and at most 2**400 in magnitude, got inf",
        ),
    ],
)
def test_regression_names_the_line_that_is_bad(row, reason, call, write):
    rows = [{"y_true": n, "y_pred": n} for n in range(40)]
    rows[20] = row
    done = call("eval", write("a.jsonl", rows), *REGRESSION)
    assert (done.code, done.err) == (3, f"streameval: error: a.jsonl, line 21: {reason}.\n")


def test_rows_without_truth_or_prediction_are_left_out_if_asked(call, write, folder):
    cells = ["1,2", "2,", ",5", "3,nan", "NaN,1", "4,6"]
    (folder / "a.csv").write_text("\n".join(["y_true,y_pred", *cells]))
    rows = [{"y_true": 3, "y_pred": float("nan")}, {"y_true": 1, "y_pred": 2}, {"y_true": 4}]
    refused = call("eval", write("a.jsonl", rows), *REGRESSION).err
    assert refused.endswith("in magnitude, got nan. Use `--nan skip`.\n")
    found = call("eval", "a.csv", *REGRESSION, "--nan", "skip")
    assert found.out.startswith("2 rows of 1 file; 4 more left out by --nan skip\n")
    skipped = call("eval", "a.csv", *REGRESSION, "--nan", "skip", "--json").json
    assert (skipped["n"], skipped["metrics"]["mae"]) == (2, 1.5)
    both = call("eval", "a.csv", *REGRESSION, "--nan", "skip", "--where", "y_true>1")
    assert both.out.startswith("1 row of 1 file; 5 more left out by --where and --nan skip\n")
    assert call("eval", "a.jsonl", *REGRESSION, "--nan", "skip", "--json").json["n"] == 1


def test_regression_ranks_no_gaps(call, evaluate):
    assert "--nan last cannot be used with --task regression" in evaluate("--nan", "last").err
    given = ("watch", "a.csv", *REGRESSION, "--nan", "skip", "--time", "t", "--pane", "1h")
    assert (
        "--nan cannot be used with watch and --task regression"
        in call(*given, "--checkpoint", "c.db", "--once").err
    )


def test_regression_counts_the_measures_that_it_is_asked_for(evaluate):
    measures = "mape,huber(delta=20),median_absolute_error,error_quantile(0.9)"
    found = evaluate("--measures", measures, "--json", "--bounds").json
    errors = np.abs(PREDICTION - TRUTH)
    names = ["mape", "huber(delta=20)", "median_absolute_error", "absolute_error_quantile(q=0.9)"]
    assert [*found["metrics"]][6:] == names
    assert found["metrics"]["mape"] == pytest.approx((errors / TRUTH).mean(), rel=1e-12)
    assert found["metrics"]["median_absolute_error"] == np.median(errors)
    assert found["exact"] is True


@each("budget", ["8", "none"])
def test_regression_quantiles_have_bounds_past_the_budget(budget, evaluate):
    options = ("--measures", "medae", "--budget", budget, "--json", "--bounds")
    found = evaluate(*options).json
    low, high = found["bounds"]["median_absolute_error"]
    exact = np.median(np.abs(PREDICTION - TRUTH))
    assert low <= exact <= high
    assert found["exact"] is (low == high) is (budget == "none")


def test_regression_gate_of_a_quantile_checks_its_bounds(evaluate):
    options = ("--measures", "medae", "--budget", 2)
    assert evaluate(*options, "--require", "median_absolute_error<=1e6").code == 0
    done = evaluate(*options, "--require", "medae<=40")
    assert "undecided: medae<=40: " in done.err


def test_regression_gate_of_a_measure_says_how_to_count_it(evaluate):
    done = evaluate("--require", "mape<=1")
    assert done.code == 2
    assert ": count with --measures mape." in done.err


def test_states_of_other_measures_do_not_merge(evaluate, call):
    evaluate("--measures", "mape", "-o", "a.state")
    evaluate("-o", "b.state")
    done = call("merge", "a.state", "b.state", "-o", "c.state")
    assert done.code != 0
    assert "`measures` differs" in done.err


OUTPUTS = [
    {"y": [1, 2], "p": [1, 4], "y0": 1, "y1": 2, "p0": 1, "p1": 4},
    {"y": [3, 4], "p": [2, 4], "y0": 3, "y1": 4, "p0": 2, "p1": 4},
]


@each("columns", [("y", "p"), ("y0,y1", "p0,p1"), ("y", "p0,p1")])
def test_regression_counts_several_outputs(columns, call, write):
    label, pred = columns
    options = ("--y-true", label, "--y-pred", pred, "--metrics", "mse,mse[1],r2[variance_weighted]")
    found = call("eval", write("o.jsonl", OUTPUTS), *REGRESSION, *options, "--json").json
    expected = se.RegressionAccumulator(outputs=2)
    expected.update([[1, 2], [3, 4]], [[1, 4], [2, 4]])
    result = expected.compute()
    assert found["metrics"] == {
        "mse": result.mse(),
        "mse[1]": 2.0,
        "r2[variance_weighted]": result.r2("variance_weighted"),
    }


def test_an_empty_list_of_outputs_is_refused(call, write):
    done = call("eval", write("a.jsonl", [{"y_true": [], "y_pred": []}]), *REGRESSION)
    assert done.code == 2
    assert done.err == (
        "streameval: error: `y_true` holds an empty list, which predicts nothing.\n"
    )


def test_regression_names_its_outputs(call, write):
    path = write("o.jsonl", OUTPUTS)
    options = ("--y-true", "y", "--y-pred", "p", "--outputs", "lat,lon", "--metrics", "mse[lon]")
    assert call("eval", path, *REGRESSION, *options, "--json").json["metrics"] == {"mse[lon]": 2.0}


@each(("columns", "found"), [(("y", "p"), "2 numbers"), (("y0", "p0"), "no list of numbers")])
def test_regression_refuses_names_of_other_outputs(columns, found, call, write):
    label, pred = columns
    options = ("--y-true", label, "--y-pred", pred, "--outputs", "lat")
    done = call("eval", write("o.jsonl", OUTPUTS), *REGRESSION, *options)
    assert done.code == 2
    assert done.err == f"streameval: error: --outputs names 1 output, but a row predicts {found}.\n"
