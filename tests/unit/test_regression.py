"""Numbers of `RegressionAccumulator` at the limits of what floats can represent."""

from __future__ import annotations

import math

import pytest
from offenders import each

import streameval as se


@each(
    ("y_true", "y_pred", "r2"),
    [
        ([0.0, 1e-150], [1e100, 1e100], -math.inf),
        ([1.0, 2.0], [1.0, 2.0], 1.0),
        ([1.0, 2.0], [1.5, 1.5], 0.0),
    ],
)
def test_r2_is_what_the_fractions_say(y_true: list[float], y_pred: list[float], r2: float) -> None:
    assert se.RegressionAccumulator().update(y_true, y_pred).compute().r2 == r2


def test_r2_without_bounds_may_be_anything() -> None:
    acc = se.RegressionAccumulator(intervals=True)
    result = acc.update([0.0, 1e-160], [1.0, 1.5]).compute()
    assert (result.r2, result.read("r2").sampling) == (-math.inf, (-math.inf, 1.0))
    assert "-inf" in result.report()


@each(
    ("y_true", "y_pred"),
    [
        ([1.9e-152], [7.7e-150]),
        (
            [-2e-87, 5e-88, -2e-87, 6e-88, -5e-88, 9e-88],
            [1e-80, -7e-81, 9e-81, 4e-82, 4e-81, 5e-81],
        ),
    ],
)
def test_r2_may_be_anything_where_sums_are_too_small_to_tell(
    y_true: list[float], y_pred: list[float]
) -> None:
    result = se.RegressionAccumulator(intervals=True).update(y_true, y_pred).compute()
    assert result.confidence("r2") == (-math.inf, 1.0)


@each("y_true", [[], [2.0], [2.0, 2.0]])
def test_r2_is_undefined_without_a_spread(y_true: list[float]) -> None:
    assert math.isnan(se.RegressionAccumulator().update(y_true, y_true).compute().r2)


def test_variants_of_r2_and_rmse_are_worked_by_hand() -> None:
    result = se.RegressionAccumulator().update([0.0, 2.0, 4.0], [1.0, 2.0, 6.0]).compute()
    assert result.explained_variance == 1 - (2 / 3) / (8 / 3)
    assert result.relative_squared_error == 5 / 8
    assert result.nrmse_std == math.sqrt(5 / 8)
    assert result.nrmse_mean == pytest.approx(math.sqrt(5 / 3) / 2, rel=1e-15)
    assert result.adjusted_r2(0) == result.r2
    assert result.adjusted_r2(1) == 1 - 5 / 8 * 2 / 1


def test_variants_are_undefined_without_a_spread() -> None:
    result = se.RegressionAccumulator().update([2.0, 2.0], [1.0, 3.0]).compute()
    for name in ("explained_variance", "relative_squared_error", "nrmse_std"):
        assert math.isnan(result.value(name))
    assert result.nrmse_mean == 0.5


def test_variants_are_undefined_of_nothing() -> None:
    result = se.RegressionAccumulator().compute()
    for name in ("explained_variance", "relative_squared_error", "nrmse_std", "nrmse_mean"):
        assert math.isnan(result.value(name))
    assert math.isnan(result.pinball_loss(0.5))
    assert math.isnan(result.adjusted_r2(0))


def test_nrmse_has_the_sign_of_the_mean() -> None:
    result = se.RegressionAccumulator().update([-1.0, -3.0], [-1.0, -1.0]).compute()
    assert result.nrmse_mean == pytest.approx(math.sqrt(2) / -2, rel=1e-15)


def test_relative_error_is_infinite_when_errors_pass_any_float_times_the_spread() -> None:
    result = se.RegressionAccumulator().update([1e-150, 0.0], [1e120, 0.0]).compute()
    assert result.relative_squared_error == result.nrmse_std == math.inf


@each("n_features", [2, 3, 2.0])
def test_adjusted_r2_is_undefined_without_more_rows_than_features(n_features: float) -> None:
    result = se.RegressionAccumulator().update([0.0, 2.0, 4.0], [1.0, 2.0, 6.0]).compute()
    assert math.isnan(result.adjusted_r2(n_features))


@each("n_features", [-1, 1.5, "two"])
def test_adjusted_r2_refuses_what_is_no_number_of_features(n_features: object) -> None:
    with pytest.raises(se.InvalidInputError, match="`n_features` must be an integer"):
        se.RegressionAccumulator().compute().adjusted_r2(n_features)


def test_pinball_loss_weighs_errors_by_their_side() -> None:
    result = se.RegressionAccumulator().update([0.0, 0.0], [-3.0, 1.0]).compute()
    assert [result.pinball_loss(alpha) for alpha in (0, 0.25, 1)] == [0.5, 0.75, 1.5]
    assert result.pinball_loss(0.5) == result.mae / 2


@each("alpha", [-0.1, 1.1])
def test_pinball_loss_refuses_what_is_no_share(alpha: float) -> None:
    with pytest.raises(se.InvalidInputError, match=r"`alpha` must lie in \[0, 1\]"):
        se.RegressionAccumulator().compute().pinball_loss(alpha)


def test_metrics_with_arguments_are_read_by_name() -> None:
    result = se.RegressionAccumulator().update([0.0, 2.0, 4.0], [1.0, 2.0, 6.0]).compute()
    assert result.read("pinball_loss(0.25)").value == result.pinball_loss(0.25)
    assert result.read("adjusted_r2(1)").value == result.adjusted_r2(1)
    with pytest.raises(se.InvalidInputError, match="did you mean 'nrmse_std'"):
        result.read("rrse")
