"""The result of `RegressionAccumulator`."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs

from streameval.configs.error_measures import ERROR_MEASURES
from streameval.configs.options import finite_number, natural_number
from streameval.errors import InvalidInputError, UnknownMetricError
from streameval.metrics import regression as metrics
from streameval.metrics import regression_table
from streameval.metrics.regression_table import PredictionErrors, own_name
from streameval.metrics.table import not_measured
from streameval.results import findings
from streameval.results.members import RegressionMembers, add_members
from streameval.results.result import Report, SumsResult


@attrs.frozen(repr=False, eq=False, slots=False)
class Regression(RegressionMembers, PredictionErrors, SumsResult):
    """Errors of predicted numbers.

    Made by `RegressionAccumulator.compute`. Each metric is the exact value of the sums, rounded
    once; all are nan without examples. Units are those of the target, squared for `mse`. The
    measures requested from the accumulator are attributes too; those with a parameter are methods.

    Notes
    -----
    The intervals of `confidence` need an accumulator made with ``intervals=True``, but for those of
    `mae` and `bias`. They follow from the delta method, on the logarithmic scale for errors and
    1 - R2, and are wider where few rows make up much of a loss. With fewer than 50 examples and
    heavy tails they may still be too narrow. They are all of the range of a metric for one example,
    or if no error is larger than another.

    Examples
    --------
    >>> import numpy as np
    >>> import streameval as se
    >>> random = np.random.default_rng(0)
    >>> truth, noise = random.normal(size=(2, 1000))
    >>> acc = se.RegressionAccumulator(intervals=True).update(truth, truth + noise / 2)
    >>> [round(end, 3) for end in acc.compute().confidence("rmse")]
    [0.488, 0.535]

    Every metric of four examples:

    >>> measures = ["mape", "smape", "wmape", "msle", "rmsle", "max_error", "poisson_deviance"]
    >>> measures += ["tweedie_deviance(power=1.5)", "gamma_deviance", "huber", "log_cosh"]
    >>> measures += ["pearson", "concordance", "nrmse_range", "median_absolute_error"]
    >>> acc = se.RegressionAccumulator(measures).update([4, 0.5, 2, 8], [5, 1, 2, 7])
    >>> result = acc.compute()
    >>> names = [name for name in result.readable() if not name.endswith('(x)')]
    >>> for name in names:
    ...     print(f"{name:30}{result.read(name).value:8.4f}")
    n                               4.0000
    rmse                            0.7500
    mse                             0.5625
    mae                             0.6250
    r2                              0.9290
    bias                            0.1250
    mape                            0.3438
    smape                           0.2556
    wmape                           0.1724
    msle                            0.0325
    rmsle                           0.1802
    max_error                       1.0000
    poisson_deviance                0.1646
    tweedie_deviance(power=1.5)     0.1233
    gamma_deviance                  0.1128
    huber(delta=1)                  0.2812
    log_cosh                        0.2469
    pearson                         0.9730
    concordance                     0.9587
    nrmse_range                     0.1000
    median_absolute_error           0.7500
    explained_variance              0.9310
    relative_squared_error          0.0710
    nrmse_std                       0.2665
    nrmse_mean                      0.2069

    >>> round(result.adjusted_r2(1), 4), result.pinball_loss(0.5)
    (0.8935, 0.3125)
    >>> result.absolute_error_quantile(1)
    1.0
    """

    TABLE = regression_table.TABLE
    _REPORT = Report(findings=findings.of_regression)
    _PAGE: ClassVar = {"heading": "Regression", "title": "Errors"}

    @property
    def exact(self) -> bool:
        """Whether no value has bounds, because each distinct absolute error has its own bin."""
        if not self._config.has_sketch:
            return True
        cells = self._measured.cells
        return bool((cells.lo == cells.hi).all())

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
        number: Any = n_features
        if isinstance(number, float) and number.is_integer():  # as parsed from a name
            number = int(number)
        size = natural_number(number, name="n_features")
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

    def _unknown(self, name: str) -> UnknownMetricError:
        family = own_name(name).partition("(")[0]
        row = ERROR_MEASURES.get(family)
        if row is not None and not (row.has_sketch and self._config.has_sketch):
            return UnknownMetricError(*not_measured(name))
        return super()._unknown(name)

    def __repr__(self) -> str:
        numbers = (f"{name}={number:.6g}" for name, number in self._numbers().items())
        return f"Regression({', '.join(numbers)})"


add_members(Regression)
