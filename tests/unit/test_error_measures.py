"""What `RegressionAccumulator` counts where `measures` ask for it."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from offenders import each

import streameval as se
from streameval.configs.error_measures import ERROR_MEASURES, error_measure
from streameval.metrics.regression_table import TABLE

TRUTH, PREDICTION = [4.0, 1.0, 2.0, 8.0], [5.0, 0.5, 2.0, 8.0]
EVERY = [
    row.name
    + {"tweedie_deviance": "(power=1.5)", "absolute_error_quantile": "(q=0.9)"}.get(name, "")
    for name, row in ERROR_MEASURES.items()
]


def measured(*measures: str, budget: int | None = 65_536) -> se.RegressionAccumulator:
    acc = se.RegressionAccumulator(measures, budget=budget)
    return acc.update(TRUTH, PREDICTION)


BY_HAND = {
    "mape": (1 / 4 + 1 / 2) / 4,
    "smape": (2 / 9 + 1 / 1.5) / 4,
    "wmape": 1.5 / 15,
    "msle": (math.log(6 / 5) ** 2 + math.log(1.5 / 2) ** 2) / 4,
    "rmsle": math.sqrt((math.log(6 / 5) ** 2 + math.log(1.5 / 2) ** 2) / 4),
    "max_error": 1.0,
    "nrmse_range": math.sqrt(1.25 / 4) / 7,
    "tweedie_deviance(power=0)": 1.25 / 4,
    "tweedie_deviance(power=3)": (1 / (5 * 5 * 4) + 0.25 / 0.25) / 4,
    "poisson_deviance": (2 * (4 * math.log(4 / 5) + 1) + 2 * (math.log(2) - 0.5)) / 4,
    "gamma_deviance": (2 * (math.log(5 / 4) - 1 / 5) + 2 * (1 - math.log(2))) / 4,
    "huber(delta=0.75)": (0.75 * (1 - 0.375) + 0.125) / 4,
    "log_cosh": (math.log(math.cosh(1)) + math.log(math.cosh(0.5))) / 4,
    "pearson": 30.375 / math.sqrt(28.75 * 33.1875),
    "median_absolute_error": 0.25,
    "absolute_error_quantile(q=0.75)": 0.75,
    "absolute_error_quantile(q=0.8)": 1.0,
}


@each("name", BY_HAND)
def test_measure_is_worked_by_hand(name: str) -> None:
    assert measured(name).compute().value(name) == pytest.approx(BY_HAND[name], rel=1e-13)


def test_concordance_is_lowered_by_a_shift_and_correlation_is_not() -> None:
    acc = se.RegressionAccumulator(["pearson", "concordance"])
    result = acc.update([0.0, 1.0, 2.0], [1.0, 2.0, 3.0]).compute()
    assert (result.pearson, result.concordance) == (1.0, (2 * 2) / (2 + 2 + 3))


def test_correlation_has_the_sign_of_the_covariance() -> None:
    acc = se.RegressionAccumulator(["pearson", "concordance"])
    result = acc.update([0.0, 1.0, 2.0], [2.0, 1.0, 0.0]).compute()
    assert (result.pearson, result.concordance) == (-1.0, -1.0)


@each("name", EVERY)
def test_measure_is_undefined_of_nothing(name: str) -> None:
    assert math.isnan(se.RegressionAccumulator([name]).compute().value(name))


@each("name", ["pearson", "concordance", "nrmse_range", "wmape"])
def test_measure_is_undefined_where_it_divides_by_nothing(name: str) -> None:
    acc = se.RegressionAccumulator([name]).update([0.0, 0.0], [0.0, 0.0])
    assert math.isnan(acc.compute().value(name))


def test_percentage_errors_of_zeros_are_those_of_their_definitions() -> None:
    acc = se.RegressionAccumulator(["mape", "smape"]).update([0.0, 0.0], [0.0, 1.0])
    assert (acc.compute().mape, acc.compute().smape) == (2.0**52 / 2, 1.0)


def test_log_cosh_of_errors_of_any_size() -> None:
    errors = np.array([1e-9, 0.1, 19.999, 20.001, 1e100])
    for error in errors.tolist():
        acc = se.RegressionAccumulator(["log_cosh"]).update([0.0], [-error])
        small, large = math.log1p(2 * math.sinh(min(error, 20.0) / 2) ** 2), error - math.log(2)
        expected = small if error < 20 else large
        assert acc.compute().log_cosh == pytest.approx(expected, rel=4e-16)


@each("power", [-1.0, 1.0, 1.5, 2.0, 3.0, 100.0, -100.0])
def test_deviance_is_finite_at_the_ends_of_its_range(power: float) -> None:
    name = f"tweedie_deviance(power={power})"
    exponent = math.floor(min(400, 480 / (1 + abs(1 - power))))
    low, high = 2.0**-exponent, 2.0**exponent
    acc = se.RegressionAccumulator([name]).update([low, high, high, low], [high, low, high, low])
    assert 0 < acc.compute().value(name) < math.inf
    assert acc.compute().value(name) == acc.from_bytes(acc.to_bytes()).compute().value(name)


@each(
    ("name", "truth", "prediction", "message"),
    [
        (
            "msle",
            [0, -1],
            [0, 0],
            r"`y_true` must lie in \(-1, 2\*\*400\] for msle, got -1.0 at",
        ),
        ("rmsle", [0, 0], [0, -2], r"`y_pred` must lie in \(-1, 2\*\*400\] for rmsle, got -2.0"),
        ("poisson", [0, -1], [1, 1], r"`y_true` must lie in \[0, 2\*\*400\] for poisson_deviance"),
        ("poisson", [0, 0], [1, 0], r"`y_pred` must lie in \[2\*\*-400, 2\*\*400\] for poisson"),
        ("gamma", [1, 0], [1, 1], r"`y_true` must lie in \[2\*\*-240, 2\*\*240\] for gamma"),
        (
            "tweedie(3)",
            [1, 1e60],
            [1, 1],
            r"`y_true` must lie in .* for tweedie_deviance\(",
        ),
        ("tweedie(-1)", [-5, 1], [1, -1], r"`y_pred` must lie in \[2\*\*-160, .* at position 1"),
    ],
)
def test_update_refuses_numbers_of_which_a_measure_is_undefined(
    name: str, truth: list[float], prediction: list[float], message: str
) -> None:
    acc = se.RegressionAccumulator([name])
    with pytest.raises(se.InvalidInputError, match=message):
        acc.update(truth, prediction, sample_weight=[1, 2])
    assert acc.n == 0
    assert acc.update(truth, prediction, sample_weight=[1, 0]).n == 1


@each("power", [-1.0, 0.0])
def test_deviance_of_low_powers_takes_any_truth(power: float) -> None:
    name = f"tweedie_deviance(power={power})"
    acc = se.RegressionAccumulator([name]).update([-2.0], [1.0])
    assert acc.compute().value(name) == {0.0: 9.0, -1.0: 2 * (2 / 2 + 1 / 3)}[power]


@each(
    ("given", "name"),
    [
        ("mean_absolute_percentage_error", "mape"),
        ("Huber", "huber(delta=1)"),
        ("huber(2.50)", "huber(delta=2.5)"),
        ("huber( delta = 3 )", "huber(delta=3)"),
        ("tweedie(power=1e0)", "tweedie_deviance(power=1)"),
        ("ccc", "concordance"),
    ],
)
def test_measure_has_one_canonical_name(given: str, name: str) -> None:
    assert se.RegressionAccumulator(given).options["measures"] == (name,)
    assert se.RegressionAccumulator([given]) == se.RegressionAccumulator([name])


def test_an_unknown_measure_is_told_which_metrics_need_none() -> None:
    with pytest.raises(se.InvalidInputError) as refused:
        se.RegressionAccumulator(["explained_variance"])
    told = str(refused.value).partition("These need no measure, only `read` or --metrics: ")[2]
    free = {row.name for row in TABLE.values() if not (row.measured or row.is_count)}
    assert {*told.removesuffix(".").split(", ")} == free


@each(
    ("measures", "message"),
    [
        (["mapee"], "`measures` has no 'mapee': did you mean 'mape'?"),
        (["mape(1"], "`measures` has no 'mape\\(1': "),
        ([3], "`measures` must hold names, got 3"),
        (b"mape", "`measures` must be a sequence of names, whose order counts, got bytes"),
        ({"mape"}, "`measures` must be a sequence of names, whose order counts, got set"),
        (["huber", "huber(1)"], "`measures` must be distinct, got 'huber\\(delta=1\\)' twice"),
        (["mape(1)"], "`measures` accepts nothing in brackets of 'mape', got 'mape\\(1\\)'"),
        (["tweedie"], "`measures` needs power= in brackets of 'tweedie_deviance', got 'tweedie'"),
        (["huber(alpha=1)"], "`measures` accepts delta= in brackets of 'huber'"),
        (
            ["huber(one)"],
            "`measures` needs a delta= above 0, at most 2\\*\\*400, got 'huber",
        ),
        (["huber()"], "`measures` needs a delta= above 0"),
        (["huber(nan)"], "`measures` needs a delta= above 0"),
        (["huber(0)"], "`measures` needs a delta= above 0"),
        (["tweedie(0.5)"], "`measures` needs a power= at most 0, or at least 1, within 100 of 0"),
        (["error_quantile(1.5)"], r"`measures` needs a q= in \[0, 1\]"),
    ],
)
def test_accumulator_refuses_measures_that_there_are_not(measures: Any, message: str) -> None:
    with pytest.raises(se.InvalidInputError, match=message):
        se.RegressionAccumulator(measures)


def test_budget_is_refused_without_quantiles() -> None:
    with pytest.raises(se.InvalidInputError, match="`budget` is for quantiles of the errors"):
        se.RegressionAccumulator(["mape"], budget=100)


def test_accumulators_of_other_measures_do_not_merge() -> None:
    one, other = se.RegressionAccumulator(["mape"]), se.RegressionAccumulator(["mape", "smape"])
    with pytest.raises(se.IncompatibleStateError, match=r"`measures` differs \(\('mape',\) and"):
        one.merge(other)


def test_options_stand_in_bytes_only_where_they_were_passed() -> None:
    assert b'"config":{},' in se.RegressionAccumulator().to_bytes()
    assert b'"config":{"measures":["mape"]},' in se.RegressionAccumulator(["mape"]).to_bytes()


def test_result_lists_what_was_asked_for_under_its_own_name() -> None:
    result = measured("huber(2)", "mape", "medae").compute()
    names = [*se.RegressionAccumulator().compute().as_dict()]
    measures = ["huber(delta=2)", "mape", "median_absolute_error"]
    assert [*result.as_dict()] == [*names, *measures]
    assert "huber(delta=2)  " in result.report()
    assert result.described(0.95).rows["huber(delta=2)"].heading == "Huber loss, delta 2"
    assert result.described(0.95).rows["mape"].heading == "Mean absolute percentage error"


def test_measure_is_read_by_any_of_its_names() -> None:
    result = measured("huber(2)", "mape", "poisson").compute()
    huber = result.value("huber(delta=2)")
    assert result.huber(2) == result.huber(delta=2.0) == huber
    assert [result.read(name).value for name in ("huber(2)", "huber(delta=2)")] == [huber] * 2
    assert (
        result.mape == result.value("mape") == result.read("mean_absolute_percentage_error").value
    )
    assert result.value("huber", 2) == huber


def test_measure_that_was_not_asked_for_is_no_attribute() -> None:
    result = measured("huber").compute()
    assert {"huber", "absolute_error_quantile", "mape"} & {*dir(result)} == {"huber"}
    with pytest.raises(AttributeError, match=r"the measures: count with measures=\['mape'\]\."):
        _ = result.mape


@each("name", ["mape", "huber(3)", "tweedie_deviance(1.5)", "error_quantile(0.5)"])
def test_measure_that_was_not_asked_for_says_how_to_ask(name: str) -> None:
    with pytest.raises(se.InvalidInputError, match="the measures: count with measures="):
        measured("huber").compute().read(name)
    with pytest.raises(se.InvalidInputError, match="with measures="):
        measured("huber").compute().value("mape")
    with pytest.raises(se.InvalidInputError, match=r"count with measures=\['huber\(delta=3\)'\]"):
        measured("huber").compute().huber(3.0)


def test_unknown_metric_is_answered_with_what_there_is() -> None:
    with pytest.raises(se.InvalidInputError, match="did you mean 'rmse'"):
        measured("huber").compute().read("rsme")


@each(
    ("call", "message"),
    [
        (lambda result: result.huber(1, 2), "`huber` takes delta alone"),
        (lambda result: result.huber(alpha=2), "`huber` takes delta alone"),
        (lambda result: result.value("mape", 2), "`mape` takes no argument"),
        (
            lambda result: result.absolute_error_quantile(),
            r"no metric 'absolute_error_quantile': did you mean 'absolute_error_quantile\(x\)'",
        ),
    ],
)
def test_measure_refuses_other_arguments(call: Any, message: str) -> None:
    with pytest.raises(se.InvalidInputError, match=message):
        call(measured("huber", "mape", "median_absolute_error").compute())


def test_quantile_refuses_a_level_outside_0_and_1() -> None:
    result = measured("median_absolute_error").compute()
    with pytest.raises(se.InvalidInputError, match=r"`q` must be in \[0, 1\], got 2.0"):
        result.absolute_error_quantile(2)


def test_measure_has_no_evidence() -> None:
    with pytest.raises(se.InvalidInputError, match="nothing bounds the errors"):
        measured("huber").compute().statistic("huber(1)")


@each(("level", "value"), [(0.0, 0.0), (0.3, 2.5), (0.31, 3.0), (0.5, 4.5), (0.9, 8.5), (1.0, 9.0)])
def test_quantile_reads_its_level_as_it_is_written(level: float, value: float) -> None:
    acc = se.RegressionAccumulator(["median_absolute_error"])
    assert acc.update(np.zeros(10), np.arange(10)).compute().absolute_error_quantile(level) == value


def test_median_is_read_from_the_sketch_of_another_quantile() -> None:
    result = measured("absolute_error_quantile(q=0.75)").compute()
    assert result.median_absolute_error == result.absolute_error_quantile(0.5)
    assert result.read("median_absolute_error").value == result.median_absolute_error
    assert "median_absolute_error" in result.readable()
    assert "median_absolute_error" not in result.readings(0.95)  # it was not requested


def test_quantile_counts_a_weight_as_that_many_rows() -> None:
    acc = se.RegressionAccumulator(["median_absolute_error"])
    acc.update([0, 0, 0], [1, 2, 5], sample_weight=[2, 0.5, 2.5])
    assert acc.compute().median_absolute_error == 3.5


def test_quantiles_have_bounds_past_the_budget() -> None:
    acc = se.RegressionAccumulator(["median_absolute_error"], budget=4)
    result = acc.update(np.zeros(100), np.arange(100) / 8).compute()
    value = result.median_absolute_error
    assert not result.exact
    assert value.low < 49.5 / 8 < value.high
    assert result.read("median_absolute_error").certified == (value.low, value.high)


@each("weights", [None, np.full(100, 0.75)])
def test_min_and_max_of_errors_are_exact_past_the_budget(weights: Any) -> None:
    acc = se.RegressionAccumulator(["median_absolute_error"], budget=1)
    acc.update(np.zeros(100), np.arange(1, 101) / 8, sample_weight=weights)
    found = [acc.compute().absolute_error_quantile(level) for level in (0, 1)]
    assert [repr(value) for value in found] == [repr(se.Bounded(end)) for end in (1 / 8, 100 / 8)]


def test_edges_of_cells_are_exact_past_the_budget() -> None:
    acc = se.RegressionAccumulator(["median_absolute_error"], budget=2)
    result = acc.update(np.zeros(8), [1.0, 1.25, 1.5, 1.75, 1e9, 2e9, 3e9, 4e9]).compute()
    assert repr(result.median_absolute_error) == repr(se.Bounded((1.75 + 1e9) / 2))
    assert not result.exact


def test_result_without_a_sketch_is_exact() -> None:
    assert measured("mape").compute().exact
    assert measured("median_absolute_error").compute().exact


def test_rows_of_weight_0_leave_no_trace() -> None:
    measures = [name for name in EVERY if name != "tweedie_deviance(power=1.5)"]
    one = se.RegressionAccumulator(measures).update(TRUTH, PREDICTION)
    other = se.RegressionAccumulator(measures)
    other.update([*TRUTH, 1e3], [*PREDICTION, 1e-3], sample_weight=[1, 1, 1, 1, 0])
    assert one.to_bytes() == other.to_bytes()
    other.reset().update([1.0], [2.0], sample_weight=[0.0])
    assert other.to_bytes() == se.RegressionAccumulator(measures).to_bytes()


@pytest.mark.slow
@each(
    "options",
    [
        {"measures": EVERY, "budget": None},
        {"measures": EVERY, "budget": 3},
        {"measures": ["mape", "max_error"]},
        {"intervals": True},
    ],
)
def test_groups_count_what_each_would_count_alone(options: dict[str, Any]) -> None:
    random = np.random.default_rng(3)
    truth, prediction = random.gamma(2.0, 1.0, (2, 200))
    weights, city = random.integers(0, 3, 200) / 2, random.integers(0, 5, 200)
    rows = {"y_true": truth, "y_pred": prediction, "sample_weight": weights}
    inner = se.RegressionAccumulator(**options)
    parts = [se.Sliced(inner, "city") for _ in range(3)]
    for part, index in zip(parts, np.array_split(np.arange(200), 3), strict=True):
        part.update({name: column[index] for name, column in (rows | {"city": city}).items()})
    sliced = parts[0].merge(*parts[1:])
    assert se.from_bytes(sliced.to_bytes()) == sliced
    for value in range(5):
        alone = inner.copy().update({name: column[city == value] for name, column in rows.items()})
        assert sliced.compute()[value].as_dict() == alone.compute().as_dict()
    windowed = se.Windowed(inner, pane=10, time="t").update(rows | {"t": np.arange(200)})
    whole = inner.copy().update(rows)
    assert windowed.compute().as_dict() == whole.compute().as_dict()


def test_states_are_added_without_a_budget() -> None:
    one = measured("median_absolute_error", "mape", budget=None)
    assert one._state + one._state == (one + one)._state


def test_collection_counts_measures_beside_others() -> None:
    members = {"errors": se.RegressionAccumulator(["mape"]), "usual": se.RegressionAccumulator()}
    result = se.Collection(members).update(TRUTH, PREDICTION).compute()
    assert result.read("errors/mape").value == BY_HAND["mape"]
    assert result["errors"].mae == result["usual"].mae


def with_intervals(*measures: str) -> se.RegressionAccumulator:
    return se.RegressionAccumulator(measures, intervals=True)


def test_sampling_intervals_are_worked_by_hand() -> None:
    result = with_intervals().update([0.0, 2.0, 4.0, 6.0], [1.0, 1.0, 7.0, 7.0]).compute()
    z = 1.959963984540054
    # errors of 1, -1, 3, 1 weigh as 36 / 12 rows, their squares as 144 / 84; for the bias, t of 3
    # degrees of freedom is more than z times the root of 1 + 2 / math.sqrt(3)
    of_errors, of_squares = 1 + 4 / math.sqrt(3), 1 + 4 / math.sqrt(144 / 84)
    reach = 3.182446 * math.sqrt(2 / 3)
    assert result.confidence("bias") == pytest.approx((1 - reach, 1 + reach), rel=1e-2)
    factor = math.exp(z * math.sqrt(1 / 3 * 3 / 4 * of_errors) / 1.5)
    assert result.confidence("mae") == pytest.approx((1.5 / factor, 1.5 * factor))
    factor = math.exp(z * math.sqrt(48 / 3 / 4 * of_squares) / 3)
    assert result.confidence("mse") == pytest.approx((3 / factor, 3 * factor))
    assert result.confidence("rmse") == pytest.approx(
        (math.sqrt(3 / factor), math.sqrt(3 * factor))
    )
    # e**2 / 3 - d**2 / 5 of 1, 1, 9, 1 and 9, 1, 1, 9
    squares = (1 / 3 - 9 / 5) ** 2 * 2 + (1 / 3 - 1 / 5) ** 2 + (3 - 1 / 5) ** 2
    both = (1 / 3 + 9 / 5) ** 2 * 2 + (1 / 3 + 1 / 5) ** 2 + (3 + 1 / 5) ** 2
    factor = math.exp(z * math.sqrt(squares / 3 / 4 * (1 + 4 * math.sqrt(both) / 8)))
    assert result.confidence("r2") == pytest.approx((1 - 3 / 5 * factor, 1 - 3 / 5 / factor))


def test_sampling_intervals_keep_every_digit_where_the_mean_is_far_beyond_the_spread() -> None:
    truth, prediction = np.array([0.0, 2.0, 4.0, 6.0]), np.array([1.0, 1.0, 7.0, 7.0])
    near = with_intervals().update(truth, prediction).compute()
    far = with_intervals().update(truth + 2.0**40, prediction + 2.0**40).compute()
    assert near.confidence("r2") == far.confidence("r2")


def test_sampling_intervals_are_shown_and_gate_where_they_were_asked_for() -> None:
    result = with_intervals("mape").update(TRUTH, PREDICTION).compute()
    assert result.read("rmse").deciding == result.confidence("rmse")
    assert result.read("mape").sampling is None
    assert "95% interval" in result.report()
    usual = se.RegressionAccumulator().update(TRUTH, PREDICTION).compute()
    assert usual.read("rmse").sampling is None
    assert usual.read("rmse").deciding == (usual.rmse, usual.rmse)


def test_gate_is_left_undecided_without_the_interval_that_was_asked_for() -> None:
    acc = with_intervals().update(TRUTH, PREDICTION, sample_weight=[1, 1, 1, 0.5])
    assert acc.compute().read("rmse").deciding is None


@each("rows", [0, 1])
def test_sampling_intervals_take_two_examples(rows: int) -> None:
    result = with_intervals().update(TRUTH[:rows], PREDICTION[:rows]).compute()
    expected = (0.0, math.inf) if rows else (math.nan, math.nan)
    assert str(result.confidence("mae")) == str(expected)


def test_errors_that_do_not_vary_may_be_of_any_size_elsewhere() -> None:
    perfect = with_intervals().update(TRUTH, TRUTH).compute()
    assert perfect.confidence("rmse") == perfect.confidence("mae") == (0.0, math.inf)
    assert perfect.confidence("r2") == (-math.inf, 1.0)
    assert perfect.confidence("bias") == (-math.inf, math.inf)
    alike = with_intervals().update([1.0, 2.0], [2.0, 1.0]).compute()
    assert alike.confidence("mae") == (0.0, math.inf)
    assert alike.confidence("r2") == (-math.inf, 1.0)  # the terms of its variance are alike too


@pytest.mark.slow
@each(("n", "at_least"), [(20, 0.91), (100, 0.92), (1000, 0.92)])
def test_sampling_interval_of_rmse_covers_heavy_tails(n: int, at_least: float) -> None:
    random, covered, times = np.random.default_rng(8), 0, 400
    for _ in range(times):
        low, high = (
            with_intervals()
            .update(np.zeros(n), random.standard_t(4, n))
            .compute()
            .confidence("rmse")
        )
        covered += low <= math.sqrt(2.0) <= high
    assert covered / times >= at_least


def test_sampling_interval_of_r2_is_undefined_for_a_constant_truth() -> None:
    result = with_intervals().update([1.0, 1.0], [0.0, 3.0]).compute()
    assert all(map(math.isnan, result.confidence("r2")))


@each(
    ("acc", "name", "message"),
    [
        (with_intervals(), "mape", "count with measures="),
        (
            with_intervals(),
            "nrmse_std",
            r"has no sampling interval\. These have one: rmse, mse, mae",
        ),
        (se.RegressionAccumulator(), "rmse", "`intervals` must be True when the accumulator"),
        (with_intervals().update([1], [2], sample_weight=[0.5]), "rmse", "had fractions"),
    ],
)
def test_sampling_interval_is_refused(
    acc: se.RegressionAccumulator, name: str, message: str
) -> None:
    with pytest.raises(se.InvalidInputError, match=message):
        acc.compute().confidence(name)


def test_intervals_refuse_numbers_whose_fourth_powers_overflow() -> None:
    with pytest.raises(
        se.InvalidInputError, match=r"`y_pred` must lie in .* for intervals, got 1e\+61"
    ):
        with_intervals().update([1.0], [1e61])
    acc = with_intervals().update([2.0**200, -(2.0**200)], [-(2.0**200), 0.0])
    assert math.isfinite(acc.compute().confidence("r2")[1])
    assert se.from_bytes(acc.to_bytes()) == acc


def test_intervals_stand_in_bytes_only_where_they_were_asked_for() -> None:
    assert b'"config":{"intervals":true},' in with_intervals().to_bytes()


def test_a_measure_pickles_as_its_name():
    measure = error_measure("huber(delta=2)")
    assert pickle.loads(pickle.dumps(measure)) == measure


def test_intervals_of_mae_and_bias_need_no_more_sums() -> None:
    free = se.RegressionAccumulator().update([1, 2, 3], [2, 2.5, 1])
    more = se.RegressionAccumulator(intervals=True).update([1, 2, 3], [2, 2.5, 1])
    for name in ("mae", "bias"):
        assert free.compute().confidence(name) == more.compute().confidence(name)
    measured = se.RegressionAccumulator(["mape"]).update([1, 2, 3], [2, 2.5, 1]).compute()
    assert measured.confidence("mae") == free.compute().confidence("mae")
