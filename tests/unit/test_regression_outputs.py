"""`RegressionAccumulator(outputs=d)`: the errors of each output, and their averages."""

from __future__ import annotations

import json
import math
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from certified import outward
from offenders import each

import streameval as se
from streameval.errors import UnknownMetricError
from streameval.reports import html_report

MEASURES = ["mape", "huber(delta=1)", "max_error", "pearson", "median_absolute_error"]
RANDOM = np.random.default_rng(5)
TRUTH = RANDOM.gamma(2.0, [1.0, 5.0, 20.0], (60, 3))
PREDICTION = TRUTH * RANDOM.lognormal(0.0, 0.2, (60, 3))


def counted(**options: Any) -> Any:
    return se.RegressionAccumulator(outputs=3, **options).update(TRUTH, PREDICTION).compute()


def alone(output: int, **options: Any) -> Any:
    acc = se.RegressionAccumulator(**options).update(TRUTH[:, output], PREDICTION[:, output])
    return acc.compute()


@each("budget", [65_536, 5])
def test_each_output_is_a_regression_of_its_own(budget: int) -> None:
    options: dict[str, Any] = {"measures": MEASURES, "intervals": True, "budget": budget}
    result = counted(**options)
    assert result.exact == (budget > 5)
    assert list(result) == [0, 1, 2]
    for output, one in result.items():
        assert one.entries(0.9, bounds=True) == alone(output, **options).entries(0.9, bounds=True)


def test_averages_are_those_of_the_values_of_the_outputs() -> None:
    result, each = counted(), [alone(output) for output in range(3)]
    values, spreads = [one.mae for one in each], TRUTH.var(axis=0)
    assert result.mae == pytest.approx(np.mean(values), rel=1e-15)
    assert result.mae("raw_values").tolist() == values
    weighted = result.mae("variance_weighted")
    assert weighted == pytest.approx(np.average(values, weights=spreads), rel=1e-14)
    assert result[1].mae == values[1]
    for name in ("rmse", "bias"):
        assert getattr(result, name)("raw_values").tolist() == [one.value(name) for one in each]
    adjusted = np.mean([one.adjusted_r2(1) for one in each])
    assert result.adjusted_r2(1) == pytest.approx(adjusted, rel=1e-14)
    alphas = [one.pinball_loss(0.2) for one in each]
    assert result.pinball_loss(0.2, multioutput="raw_values").tolist() == alphas


def test_average_leaves_out_outputs_where_it_is_undefined() -> None:
    acc = se.RegressionAccumulator(outputs=2).update([[1, 5], [2, 5]], [[1, 5], [3, 5]])
    result: Any = acc.compute()
    assert math.isnan(result[1].r2)
    assert result.r2 == result.r2("variance_weighted") == result[0].r2 == -1.0


def test_average_of_quantiles_past_the_budget_contains_the_exact_one() -> None:
    name = "median_absolute_error"
    narrow = counted(measures=[name], budget=4).median_absolute_error
    exact = counted(measures=[name]).median_absolute_error
    assert narrow.low <= exact <= narrow.high
    assert narrow.low < narrow.high
    assert exact.exact
    assert isinstance(counted(measures=[name]).entries(0.95)["exact"], bool)


def test_averages_are_read_by_name() -> None:
    result = counted(measures=["mape", "huber"], intervals=True)
    assert result.read("r2[variance_weighted]").value == result.r2("variance_weighted")
    assert result.read("r2[uniform_average]").value == result.read("r2").value == result.r2()
    assert result.read("huber(delta=1)").value == result.huber(1.0)
    assert result.read("pinball_loss(0.3)").value == result.pinball_loss(0.3)
    assert result.read("rmse[2]") == alone(2, intervals=True).read("rmse")
    assert result.read("rmse").sampling is None
    assert result.read("n").value == result.n == 60
    assert result.read("n[uniform_average]").value == 60


def test_result_is_shown_whole() -> None:
    result = counted(measures=["mape"])
    text = str(result)
    assert text.startswith("n = 60, 3 outputs\n\noutput")
    assert [line.split()[0] for line in text.splitlines()[2:]] == [
        *("output", "0", "1", "2", "uniform_average", "variance_weighted"),
    ]
    assert result._repr_html_()
    assert repr(result).startswith("RegressionOutputs(n=60, outputs=3, rmse=")
    found = json.loads(json.dumps(result.entries(0.95)))
    assert found["metrics"]["mape"] == result.mape
    assert found["per_output"]["2"]["metrics"]["mape"] == result[2].mape
    assert result.as_dict(per_class=True)["rmse[1]"] == result[1].rmse
    assert "By output" in html_report({"a": se.RegressionAccumulator(outputs=1)})
    assert result.meaning("mape") == result[0].meaning("mape")
    assert "mape" in dir(result)
    assert "msle" not in dir(result)
    assert "msle" not in result.readable()


def test_many_outputs_are_cut_in_text() -> None:
    acc = se.RegressionAccumulator(outputs=60).update(np.ones((2, 60)), np.zeros((2, 60)))
    lines = acc.compute().report().splitlines()
    assert [line.split()[0] for line in lines[-6:-2]] == [
        *("49", "...", "uniform_average", "variance_weighted"),
    ]
    assert "... and 10 more" in lines[-5]


def test_metrics_and_results_survive_pickle() -> None:
    result = counted(measures=["huber"])
    assert str(result) == str(pickle.loads(pickle.dumps(result)))
    assert pickle.loads(pickle.dumps(result.mse)) == result.mse()


def test_one_output_is_not_a_vector() -> None:
    one = se.RegressionAccumulator(outputs=1)
    assert one.to_bytes() != se.RegressionAccumulator().to_bytes()
    with pytest.raises(se.IncompatibleStateError, match="`outputs` differs"):
        one.merge(se.RegressionAccumulator())


@each(
    ("wrong", "says"),
    [
        (lambda: se.RegressionAccumulator(outputs=0), "`outputs` must be an integer of at least 1"),
        (lambda: se.RegressionAccumulator(outputs=1025), "`outputs` must be at most 1024, got"),
        (lambda: counted().value("mae", multioutput="mean"), "`multioutput` must be "),
        (
            lambda: se.RegressionAccumulator(outputs=3).update([1, 2, 3], [1, 2, 3]),
            "`y_true` must have shape (n, 3), got (3,)",
        ),
        (
            lambda: se.RegressionAccumulator(outputs=2).update([[1, 2]], [[1, 2], [1, 2]]),
            "`y_pred` must have 1 rows, got 2",
        ),
        (
            lambda: se.RegressionAccumulator(["msle"], outputs=2).update(
                [[1, 2], [0, 1], [1, 1]], [[1, 2], [1, -1], [-2, 1]]
            ),
            "`y_pred` must lie in (-1, 2**400] for msle, got -1.0 at position 1",
        ),
        *(
            (
                lambda weights=weights: counted().mae(weights),
                "raw_values or a weight of at least 0 for each of 3 outputs, not all 0, got",
            )
            for weights in ([1, 2], [1, 2, -1], [0, 0, 0], [])
        ),
        (lambda: counted().mae([1, "x", 2]), "`multioutput` must be a number, got 'x'"),
        (lambda: counted().mae({1, 2, 3}), "`multioutput` must be a sequence of weights, whose"),
        (lambda: counted().mae({0: 1}), "whose order counts, got dict"),
        (lambda: counted().mae(3), "`multioutput` must be "),
        *(
            (
                lambda name=name: se.RegressionAccumulator(outputs=["a", name]),
                f"names, none of them a number or an average, got {name!r}",
            )
            for name in ("", "7", 7, "uniform_average")
        ),
        (lambda: se.RegressionAccumulator(outputs=["a", "a"]), "`outputs` must be distinct"),
        (lambda: se.RegressionAccumulator(outputs=[]), "`outputs` must hold at least one name"),
        (lambda: se.RegressionAccumulator(outputs=["\ud800"]), "`outputs` must be Unicode text"),
        (lambda: se.RegressionAccumulator(outputs=1.5), "`outputs` must be an integer"),
        (lambda: counted().confidence("mae"), "`mae` is an average over outputs, of which no"),
        (lambda: counted().statistic("mae[1]"), "`mae` has no evidence"),
        (lambda: counted().statistic("mae"), "`mae` has no evidence"),
    ],
)
def test_wrong_use_of_outputs_is_refused(wrong: Callable[[], Any], says: str) -> None:
    with pytest.raises(se.InvalidInputError, match=re.escape(says)):
        wrong()


@each("name", ["mae[3]", "mae[-1]", "mae[x]"])
def test_output_that_there_is_not_is_named(name: str) -> None:
    with pytest.raises(UnknownMetricError, match=r"no output '.*': there are 0 to 2, and averages"):
        counted().read(name)


def test_lookup_of_other_outputs_and_metrics_fails() -> None:
    result = counted()
    for other in (3, -1, 0.0, "lat"):
        assert other not in result
        with pytest.raises(KeyError, match=re.escape(f"no output {other!r}: there are 0 to 2")):
            result[other]
    with pytest.raises(AttributeError, match="'msle' is not among the measures"):
        _ = result.msle
    with pytest.raises(AttributeError, match="no attribute 'rmsd'"):
        _ = result.rmsd


def test_sum_of_states_without_a_budget_keeps_every_cell() -> None:
    acc = se.RegressionAccumulator(["median_absolute_error"], outputs=3, budget=5)
    state: Any = acc.update(TRUTH, PREDICTION)._state
    total = state + state
    assert total.outputs()[0].n == state.n + state.n
    assert total == state.joined(state, None)


def test_weights_of_outputs_give_their_weighted_mean() -> None:
    result, each = counted(), [alone(output) for output in range(3)]
    weights = [3, 0, 0.5]
    expected = np.average([one.mae for one in each], weights=weights)
    assert result.mae(weights) == pytest.approx(expected, rel=1e-15)
    assert result.value("mae", multioutput=np.array(weights)) == result.mae(weights)
    assert result.pinball_loss(0.2, multioutput=(0, 1, 0)) == each[1].pinball_loss(0.2)


def test_weights_of_outputs_may_be_as_large_or_small_as_floats_are() -> None:
    result = counted()
    for scale in (1e308, 5e-324):
        assert result.mse([scale] * 3) == result.mse([1, 1, 1]) == result.mse()


def test_weights_of_outputs_leave_out_outputs_where_it_is_undefined() -> None:
    acc = se.RegressionAccumulator(outputs=2).update([[1, 5], [2, 5]], [[1, 5], [3, 5]])
    result: Any = acc.compute()
    assert result.r2([1, 9]) == -1.0
    assert math.isnan(result.r2([0, 1]))


def test_output_is_read_by_a_name_of_several_lines() -> None:
    acc = se.RegressionAccumulator(outputs=["a\nb", "c"]).update([[1, 5]], [[2, 5]])
    assert acc.compute().read("mse[a\nb]").value == 1.0


def test_named_outputs_are_found_by_name_and_index() -> None:
    acc = se.RegressionAccumulator(outputs=("x", "日本", "z")).update(TRUTH, PREDICTION)
    result: Any = se.from_bytes(acc.to_bytes()).compute()
    assert acc.options["outputs"] == ("x", "日本", "z")
    assert list(result) == ["x", "日本", "z"]
    assert result["日本"].mae == result[1].mae == alone(1).mae
    assert result.read("mae[z]").value == result.read("mae[2]").value == alone(2).mae
    assert [line.split()[0] for line in str(result).splitlines()[3:6]] == ["x", "日本", "z"]
    assert result.entries(0.95)["per_output"].keys() == {"x", "日本", "z"}
    assert result.table("output")["output"] == ["x", "日本", "z"]
    assert "日本" in html_report({"a": acc})
    with pytest.raises(KeyError, match="no output 'y': there are x, 日本, z"):
        result["y"]


def test_outputs_of_other_names_do_not_merge() -> None:
    one = se.RegressionAccumulator(outputs=["a", "b"])
    for other in (2, ["b", "a"]):
        with pytest.raises(se.IncompatibleStateError, match="`outputs` differs"):
            one.copy().merge(se.RegressionAccumulator(outputs=other))


def test_text_has_the_certified_intervals_of_outputs_and_averages() -> None:
    result = counted(measures=["median_absolute_error"], budget=4)
    lines = str(result).splitlines()
    first = next(index for index, line in enumerate(lines) if "exact value within" in line)
    shown = result[0].median_absolute_error
    assert outward(shown.low, shown.high) in lines[first + 1]
    average = result.median_absolute_error
    assert outward(average.low, average.high) in lines[first + 4]
    assert "exact value within" not in str(counted(measures=["median_absolute_error"]))


def test_text_says_one_output() -> None:
    result = se.RegressionAccumulator(outputs=1).update([[1]], [[2]]).compute()
    assert str(result).startswith("n = 1, 1 output\n")
