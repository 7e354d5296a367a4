"""The result of `RegressionAccumulator`."""

from __future__ import annotations

import math
from typing import Any

import attrs

from streameval.configs.options import finite_number, natural_number
from streameval.errors import InvalidInputError
from streameval.metrics import regression as metrics
from streameval.metrics.table import EXAMPLES, Metric, Table
from streameval.render import notebook
from streameval.render.blocks import Description, Row
from streameval.results.calls import CalledMetrics
from streameval.results.metric_values import MetricValue
from streameval.results.result import SumsResult
from streameval.states.regression import RegressionSums

__all__ = ["Regression"]


@attrs.frozen(repr=False)
class Regression(SumsResult, CalledMetrics):
    """Errors of predicted numbers.

    Made by `RegressionAccumulator.compute`. Each metric is the exact value of the sums, rounded
    once; all are nan of nothing. Units are those of the target, squared for `mse`.
    """

    TASK = "regression"
    MADE_BY = "RegressionAccumulator"

    _state: RegressionSums

    @property
    def mse(self) -> MetricValue:
        """The mean squared error, at least 0."""
        return MetricValue(metrics.mean(self._state.squared_error, self._state.n))

    @property
    def rmse(self) -> MetricValue:
        """The square root of the mean squared error, at least 0."""
        return MetricValue(math.sqrt(self.mse))

    @property
    def mae(self) -> MetricValue:
        """The mean absolute error, at least 0."""
        return MetricValue(metrics.mean(self._state.absolute_error, self._state.n))

    @property
    def r2(self) -> MetricValue:
        """1 - SSE / SST, at most 1; nan when the truth is constant.

        1 is perfect, 0 is as good as always predicting the mean, and less is worse.
        """
        state = self._state
        return MetricValue(
            metrics.r2(state.squared_error, state.truth, state.squared_truth, state.n)
        )

    @property
    def bias(self) -> MetricValue:
        """The mean of prediction - truth: above 0 the model predicts too much."""
        return MetricValue(metrics.mean(self._state.error, self._state.n))

    def adjusted_r2(self, n_features: int) -> float:
        """Compute R2 with a penalty for the number of features of the model.

        nan when the truth is constant, or unless n is more than n_features + 1.

        Parameters
        ----------
        n_features : int
            At least 0.

        Examples
        --------
        >>> import streameval as se
        >>> acc = se.RegressionAccumulator().update([3.0, -0.5, 2.0, 7.0], [2.5, 0.0, 2.0, 8.0])
        >>> round(acc.compute().adjusted_r2(1), 4)
        0.9229
        """
        whole = isinstance(n_features, float) and n_features.is_integer()
        size = natural_number(int(n_features) if whole else n_features, name="n_features")
        return metrics.adjusted_r2(self.r2, self._state.n, size)

    def pinball_loss(self, alpha: float) -> float:
        """Compute the mean pinball loss, that of predicted quantiles.

        A prediction below the truth costs alpha times its error, one above 1 - alpha times; with
        alpha of 0.5 that is half the mean absolute error.

        Parameters
        ----------
        alpha : float
            In [0, 1].

        Examples
        --------
        >>> import streameval as se
        >>> acc = se.RegressionAccumulator().update([3.0, -0.5, 2.0, 7.0], [2.5, 0.0, 2.0, 8.0])
        >>> acc.compute().pinball_loss(0.1), acc.compute().pinball_loss(0.9)
        (0.35, 0.15)
        """
        level = finite_number(alpha, name="alpha")
        if not 0.0 <= level <= 1.0:
            raise InvalidInputError(f"must lie in [0, 1], got {level!r}", argument="alpha")
        state = self._state
        return metrics.pinball_loss(state.absolute_error, state.error, state.n, level)

    def report(self) -> str:
        """Lay the metrics out as a text table."""
        return self.text(0.95)

    def described(self, level: float) -> Description:
        """Describe the result to a page: the errors."""
        rows = {
            name: Row(self.TABLE[name].heading, reading)
            for name, reading in self.readings(level).items()
        }
        return Description(heading="Regression", title="Errors", rows=rows)

    def __repr__(self) -> str:
        numbers = (f"{name}={number:.6g}" for name, number in self._numbers().items())
        return f"Regression({', '.join(numbers)})"

    def _repr_html_(self) -> str:
        return notebook.sheet(self.sheet(0.95))


def _explained_variance(result: Regression) -> float:
    state = result._state
    rest = metrics.spread(state.error, state.squared_error, state.n)
    return metrics.explained(rest, metrics.spread(state.truth, state.squared_truth, state.n))


def _relative_squared_error(result: Regression) -> float:
    state = result._state
    whole = metrics.spread(state.truth, state.squared_truth, state.n)
    return metrics.ratio(state.squared_error.to_fraction(), whole)


def _nrmse_std(result: Regression) -> float:
    state = result._state
    whole = metrics.spread(state.truth, state.squared_truth, state.n)
    return math.sqrt(metrics.ratio(state.squared_error.to_fraction(), whole))


def _nrmse_mean(result: Regression) -> float:
    state = result._state
    total = state.truth.to_fraction()
    part = state.squared_error.to_fraction() * state.n.to_fraction()
    return math.copysign(math.sqrt(metrics.ratio(part, total**2)), total)


def _metric(name: str, **row: Any) -> Metric:
    defaults: dict[str, Any] = {
        "better": "lower",
        "why_no_evidence": "nothing bounds the errors that may come",
    }
    return Metric(name=name, **defaults | row)


Regression.TABLE = Table(
    EXAMPLES,
    _metric(
        "rmse",
        aliases=("root_mean_squared_error",),
        heading="Root mean squared error",
        help="The square root of the mean squared error, at least 0.",
        formula=r"\sqrt{\frac1n \sum_i (\hat y_i - y_i)^2}",
        oracle="scikit-learn, root_mean_squared_error",
        headline=1,
    ),
    _metric(
        "mse",
        aliases=("mean_squared_error",),
        heading="Mean squared error",
        help="The mean squared error, at least 0.",
        formula=r"\frac1n \sum_i (\hat y_i - y_i)^2",
        oracle="scikit-learn, mean_squared_error",
    ),
    _metric(
        "mae",
        aliases=("mean_absolute_error",),
        heading="Mean absolute error",
        help="The mean absolute error, at least 0.",
        formula=r"\frac1n \sum_i |\hat y_i - y_i|",
        oracle="scikit-learn, mean_absolute_error",
        headline=2,
    ),
    _metric(
        "r2",
        aliases=("r2_score", "r_squared", "rsquared"),
        heading="R²",
        help="1 - SSE / SST, at most 1; nan when the truth is constant.",
        notes="1 is perfect, 0 is as good as always predicting the mean, and less is worse.",
        formula=r"1 - \frac{\sum_i (\hat y_i - y_i)^2}{\sum_i (y_i - \bar y)^2}",
        better="higher",
        oracle="scikit-learn, r2_score",
    ),
    _metric(
        "bias",
        aliases=("mean_error",),
        heading="Bias, prediction over truth",
        help="The mean of prediction - truth: above 0 the model predicts too much.",
        formula=r"\frac1n \sum_i (\hat y_i - y_i)",
        better="",
        oracle="the definition, in fractions",
        headline=3,
    ),
    _metric(
        "explained_variance",
        aliases=("explained_variance_score", "explainedvariance"),
        heading="Explained variance",
        help="1 - variance of the errors / variance of the truth, at most 1.",
        notes="R2 without the bias of the predictions; nan when the truth is constant.",
        formula=r"1 - \frac{\mathrm{Var}(\hat y - y)}{\mathrm{Var}(y)}",
        better="higher",
        value=_explained_variance,
        oracle="scikit-learn, explained_variance_score",
        on_request=True,
    ),
    _metric(
        "adjusted_r2",
        aliases=("adjusted_r_squared", "r2_adjusted", "adj_r2"),
        heading="Adjusted R²",
        help="R2 with a penalty for the number of features of the model.",
        notes="nan when the truth is constant, or unless n is more than n_features + 1.",
        formula=r"1 - (1 - R^2) \frac{n - 1}{n - p - 1}",
        better="higher",
        arguments=("n_features",),
        oracle="the definition, of scikit-learn's r2_score",
    ),
    _metric(
        "relative_squared_error",
        aliases=("rse",),
        heading="Relative squared error",
        help="SSE / SST, 1 - R2, at least 0; nan when the truth is constant.",
        formula=r"\frac{\sum_i (\hat y_i - y_i)^2}{\sum_i (y_i - \bar y)^2}",
        value=_relative_squared_error,
        oracle="the definition, of scikit-learn's r2_score",
        on_request=True,
    ),
    _metric(
        "nrmse_std",
        aliases=("nrmse", "normalized_root_mean_squared_error", "rrse"),
        heading="RMSE over deviation",
        help="The root mean squared error over the standard deviation of the truth.",
        notes="The root of the relative squared error; nan when the truth is constant.",
        formula=r"\frac{RMSE}{\sqrt{\frac1n \sum_i (y_i - \bar y)^2}}",
        value=_nrmse_std,
        oracle="the definition of torchmetrics, NormalizedRootMeanSquaredError",
        on_request=True,
    ),
    _metric(
        "nrmse_mean",
        aliases=("cvrmse", "cv_rmse"),
        heading="RMSE over mean",
        help="The root mean squared error over the mean of the truth; nan when that is 0.",
        formula=r"\frac{RMSE}{\bar y}",
        value=_nrmse_mean,
        oracle="the definition of torchmetrics, NormalizedRootMeanSquaredError",
        on_request=True,
    ),
    _metric(
        "pinball_loss",
        aliases=("mean_pinball_loss", "pinball", "quantile_loss"),
        heading="Pinball loss",
        help="The mean pinball loss, that of predicted quantiles.",
        notes="A prediction below the truth costs alpha times its error, one above 1 - alpha "
        "times; with alpha of 0.5 that is half the mean absolute error.",
        formula=r"\frac1n \sum_i \max(\alpha (y_i - \hat y_i), (1 - \alpha) (\hat y_i - y_i))",
        arguments=("alpha",),
        oracle="scikit-learn, mean_pinball_loss",
    ),
)
