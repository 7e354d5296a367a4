"""The result of `RegressionAccumulator`."""

from __future__ import annotations

import math
from typing import Any

import attrs

from streameval.metrics import regression as metrics
from streameval.metrics.table import EXAMPLES, Metric, Table
from streameval.render import notebook
from streameval.render.blocks import Description, Row
from streameval.results.metric_values import MetricValue
from streameval.results.result import SumsResult
from streameval.states.regression import RegressionSums

__all__ = ["Regression"]


@attrs.frozen(repr=False)
class Regression(SumsResult):
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
)
