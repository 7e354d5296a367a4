"""The result of `RegressionAccumulator`."""

from __future__ import annotations

import math

import attrs

from streameval.metrics import regression as metrics
from streameval.results.number_text import on_the_point
from streameval.states.regression import RegressionSums

__all__ = ["Regression"]

_METRICS = ("rmse", "mse", "mae", "r2", "bias")


@attrs.frozen(repr=False)
class Regression:
    """Errors of predicted numbers.

    Made by `RegressionAccumulator.compute`. Each metric is the exact value of the sums, rounded
    once; all are nan of nothing. Units are those of the target, squared for `mse`.
    """

    _state: RegressionSums

    @property
    def n(self) -> int | float:
        """The sum of the weights of all examples."""
        number: int | float = self._state.n.to_numbers().item()
        return number

    @property
    def mse(self) -> float:
        """The mean squared error, at least 0."""
        return metrics.mean(self._state.squared_error, self._state.n)

    @property
    def rmse(self) -> float:
        """The square root of the mean squared error, at least 0."""
        return math.sqrt(self.mse)

    @property
    def mae(self) -> float:
        """The mean absolute error, at least 0."""
        return metrics.mean(self._state.absolute_error, self._state.n)

    @property
    def r2(self) -> float:
        """1 - SSE / SST, at most 1; nan when the truth is constant.

        1 is perfect, 0 is as good as always predicting the mean, and less is worse.
        """
        state = self._state
        return metrics.r2(state.squared_error, state.truth, state.squared_truth, state.n)

    @property
    def bias(self) -> float:
        """The mean of prediction - truth: above 0 the model predicts too much."""
        return metrics.mean(self._state.error, self._state.n)

    def as_dict(self) -> dict[str, int | float]:
        """Flatten to plain numbers for a logger."""
        return {"n": self.n, **{name: getattr(self, name) for name in _METRICS}}

    def report(self) -> str:
        """Lay the metrics out as a text table."""
        metrics = {name: f"{getattr(self, name):.6g}" for name in _METRICS}
        return "\n".join(on_the_point({"n": f"{self.n:,}"} | metrics))

    def __repr__(self) -> str:
        numbers = ", ".join(f"{name}={getattr(self, name):.6g}" for name in _METRICS)
        return f"Regression(n={self.n}, {numbers})"

    def __str__(self) -> str:
        return self.report()

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{name}</th><td style='text-align:right'>"
            f"{value:.6g}</td></tr>"
            for name, value in self.as_dict().items()
        )
        return f"<table>{rows}</table>"
