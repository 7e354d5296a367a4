"""The result of `RegressionAccumulator`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, ClassVar, cast

import attrs

from streameval.configs.error_measures import (
    ERROR_MEASURES,
    MOMENTS,
    ErrorMeasure,
    ErrorMeasureRow,
)
from streameval.configs.error_measures import error_measure as parsed
from streameval.configs.options import finite_number, natural_number
from streameval.configs.regression import RegressionConfig
from streameval.errors import InvalidInputError, UnknownMetricError
from streameval.metrics import regression as metrics
from streameval.metrics.bounded import Bounded, Interval
from streameval.metrics.quantiles import cell_quantile
from streameval.metrics.shares import mean, quotient
from streameval.metrics.table import (
    CORRELATION,
    EXAMPLES,
    NOT_NEGATIVE,
    UNLIMITED,
    UP_TO_ONE,
    Metric,
    Table,
    always,
    never,
)
from streameval.results import findings
from streameval.results.members import RegressionMembers, add_members
from streameval.results.result import Report, SumsResult, not_measured, of_moments, without_interval
from streameval.states.regression import ErrorSums, MeasuredSums


@attrs.frozen(repr=False, eq=False, slots=False)
class Regression(RegressionMembers, SumsResult):
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

    TASK = "regression"
    _REPORT = Report(findings=findings.of_regression)
    _PAGE: ClassVar = {"heading": "Regression", "title": "Errors"}
    MADE_BY = "RegressionAccumulator"

    _state: ErrorSums
    _config: RegressionConfig

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

    @property
    def _moments(self) -> metrics.Moments:
        state, config = self._measured, self._config
        sums = {name: getattr(state, name) for name in _SUMS}
        sums |= {one.name: state.term(config, one) for one in MOMENTS * config.intervals}
        return metrics.Moments(**{name: total.to_fraction() for name, total in sums.items()})

    @property
    def _measured(self) -> MeasuredSums:
        """The state of an accumulator with measures."""
        return cast("MeasuredSums", self._state)

    def _unknown(self, name: str) -> UnknownMetricError:
        family = _own_name(name).partition("(")[0]
        row = ERROR_MEASURES.get(family)
        if row is not None and not (row.has_sketch and self._config.has_sketch):
            return UnknownMetricError(*not_measured(name))
        return super()._unknown(name)

    def __repr__(self) -> str:
        numbers = (f"{name}={number:.6g}" for name, number in self._numbers().items())
        return f"Regression({', '.join(numbers)})"


def _requested_name(measures: Sequence[str], name: str) -> str:
    """Return the canonical name of a requested measure, or the name itself."""
    own = _own_name(name)
    return own if own in measures else name


def _own_name(name: str) -> str:
    """Return the canonical name of a measure, or the name itself."""
    if name in Regression.TABLE and name not in ERROR_MEASURES:
        return name
    try:
        return parsed(name).name
    except InvalidInputError:
        return name


@lru_cache(maxsize=1024)
def rows_with(config: RegressionConfig) -> Table:
    """List the rows of the class, and of requested measures, under their own names."""
    measures = config.measures
    if config.intervals and not measures:
        return Regression.TABLE
    usual = [row for name, row in Regression.TABLE.items() if name not in measures]
    if not config.intervals:
        usual = [row if row.name in _FREE else without_interval(row) for row in usual]
    if config.has_sketch:
        usual = [_from_sketch(row) if row.certified else row for row in usual]
    return Table(
        *usual,
        *map(_requested, map(parsed, measures)),
        canonical=partial(_requested_name, measures),
    )


def _requested(one: ErrorMeasure) -> Metric:
    """Make the row of a requested measure, under its own name."""
    return attrs.evolve(
        Regression.TABLE[one.row.name],
        name=one.name,
        heading=one.title,
        value=lambda result: _READERS.get(one.row.name, _mean_of_term)(result, one),
        arguments=(),
        listed=always,
    )


def _from_sketch(row: Metric) -> Metric:
    """Offer a measure on request where the sketch of another one gives it."""
    return row if row.needs_argument else attrs.evolve(row, listed=always, on_request=True)


def _mse(result: Regression) -> float:
    return mean(result._state.squared_error, result._state.n)


def _squares(result: Regression) -> tuple[int, int]:
    """Return n times the sum of squared errors, and the spread of the truth, in one unit."""
    state = result._state
    n = state.n.to_fraction()
    whole = metrics.spread(state.truth, state.squared_truth, n)
    return metrics.scaled(state.squared_error, n), whole


def _r2(result: Regression) -> float:
    return metrics.explained(*_squares(result))


def _explained_variance(result: Regression) -> float:
    state = result._state
    rest = metrics.spread(state.error, state.squared_error, state.n.to_fraction())
    return metrics.explained(rest, _squares(result)[1])


def _relative_squared_error(result: Regression) -> float:
    return quotient(*_squares(result))


def _nrmse_mean(result: Regression) -> float:
    state = result._state
    total = state.truth.to_fraction()
    part = state.squared_error.to_fraction() * state.n.to_fraction()
    return math.copysign(math.sqrt(quotient(part, total**2)), total)


def _mean_of_term(result: Regression, measure: ErrorMeasure) -> float:
    (term,) = measure.terms
    return mean(result._measured.term(result._config, term), result._state.n)


def _wmape(result: Regression, measure: ErrorMeasure) -> float:
    (term,) = measure.terms
    whole = result._measured.term(result._config, term)
    return quotient(result._state.absolute_error.units, whole.units)


def _nrmse_range(result: Regression, measure: ErrorMeasure) -> float:  # noqa: ARG001
    highest, lowest = (
        result._measured.extreme(result._config, name) for name in ("truth", "negated_truth")
    )
    return quotient(result.rmse, highest + lowest)


def _products(result: Regression, measure: ErrorMeasure) -> tuple[int, int, int]:
    """Return the covariation and both spreads."""
    state, n = result._measured, result._state.n.to_fraction()
    total, squares, product = (state.term(result._config, term) for term in measure.terms)
    together = metrics.covariation(state.truth, total, product, n)
    own = metrics.spread(state.truth, state.squared_truth, n)
    return together, own, metrics.spread(total, squares, n)


def _concordance(result: Regression, measure: ErrorMeasure) -> float:
    state = result._measured
    apart = state.truth.units - state.term(result._config, measure.terms[0]).units
    apart = state.n.to_fraction().denominator * apart**2
    return metrics.concordance(*_products(result, measure), apart)


def _quantile(result: Regression, measure: ErrorMeasure) -> Bounded:
    level = 0.5 if measure.parameter is None else measure.parameter
    return cell_quantile(result._measured.cells, level)


_READERS: dict[str, Callable[[Regression, ErrorMeasure], float]] = {
    "rmsle": lambda result, measure: math.sqrt(_mean_of_term(result, measure)),
    "wmape": _wmape,
    "max_error": lambda result, _: result._measured.extreme(result._config, "absolute_error"),
    "nrmse_range": _nrmse_range,
    "pearson": lambda *of: metrics.pearson(*_products(*of)),
    "concordance": _concordance,
    "median_absolute_error": _quantile,
    "absolute_error_quantile": _quantile,
}
"""The functions that read measures other than means of a term."""


_FREE = ("mae", "bias")
"""The metrics whose intervals need no sums but those that are always kept."""
_SUMS = ("n", "error", "absolute_error", "squared_error", "truth", "squared_truth")

_LIMITS: dict[str, Interval | None] = {
    "pearson": CORRELATION,
    "concordance": CORRELATION,
    "max_error": None,
}
"""The ranges of the measures that may be negative; no sample has the largest error of all."""


def _of_measure(row: ErrorMeasureRow) -> Metric:
    """Make the row of a measure."""
    own = row.parameter
    arguments: tuple[str, ...] = ()
    if own is not None:
        arguments = (own.name if own.default is None else f"{own.name}={own.default}",)
    return _metric(
        row.name,
        aliases=row.others,
        heading=row.heading,
        help=row.help,
        notes=row.notes,
        formula=row.formula,
        better=row.better,
        limits=_LIMITS.get(row.name, NOT_NEGATIVE),
        certified=row.has_sketch,
        value=partial(_read_measure, row),
        arguments=arguments,
        oracle=row.oracle,
        listed=never,  # results list what was asked for
        measured=True,
        absent=partial(_why_absent, row),
    )


def _why_absent(row: ErrorMeasureRow, result: Any, name: str) -> tuple[object, ...]:
    """Say that all measures of that name are absent because none was requested."""
    config = result._config
    if any(one.row is row for one in config.parsed) or (row.has_sketch and config.has_sketch):
        return ()
    return not_measured(name)


def _read_measure(row: ErrorMeasureRow, result: Regression, *args: Any, **options: Any) -> float:
    """Read a requested measure, or a quantile from the sketch."""
    one = ErrorMeasure.called(row, *args, **options)
    if one.name not in result._config.measures and not (
        row.has_sketch and result._config.has_sketch
    ):
        raise result._unknown(one.name)
    return _READERS.get(row.name, _mean_of_term)(result, one)


def _metric(name: str, **row: Any) -> Metric:
    defaults: dict[str, Any] = {
        "better": "lower",
        "limits": NOT_NEGATIVE,
        "why_no_evidence": "nothing bounds the errors that may come",
    }
    return Metric(name=name, **defaults | row)


def _sampled(name: str, **row: Any) -> Metric:
    """Make the row of a metric with a sampling interval."""
    moments = of_moments(lambda one, z: getattr(one._moments, name)(z))
    needed = {"why_none": "it takes whole weights"} if name in _FREE else {}
    return _metric(name, **moments | needed, **row)


Regression.TABLE = Table(
    EXAMPLES,
    _sampled(
        "rmse",
        value=lambda result: math.sqrt(_mse(result)),
        aliases=("root_mean_squared_error",),
        heading="Root mean squared error",
        help="The square root of the mean squared error, at least 0.",
        formula=r"\sqrt{\frac1n \sum_i (\hat y_i - y_i)^2}",
        oracle="scikit-learn, root_mean_squared_error",
        headline=1,
    ),
    _sampled(
        "mse",
        value=_mse,
        aliases=("mean_squared_error",),
        heading="Mean squared error",
        help="The mean squared error, at least 0.",
        formula=r"\frac1n \sum_i (\hat y_i - y_i)^2",
        oracle="scikit-learn, mean_squared_error",
    ),
    _sampled(
        "mae",
        value=lambda result: mean(result._state.absolute_error, result._state.n),
        aliases=("mean_absolute_error",),
        heading="Mean absolute error",
        help="The mean absolute error, at least 0.",
        formula=r"\frac1n \sum_i |\hat y_i - y_i|",
        oracle="scikit-learn, mean_absolute_error",
        headline=2,
    ),
    _sampled(
        "r2",
        limits=UP_TO_ONE,
        value=_r2,
        aliases=("r2_score", "r_squared", "rsquared"),
        heading="R²",
        help="1 - SSE / SST, at most 1; nan when the truth is constant.",
        notes="1 is perfect, 0 is as good as always predicting the mean, and less is worse.",
        formula=r"1 - \frac{\sum_i (\hat y_i - y_i)^2}{\sum_i (y_i - \bar y)^2}",
        better="higher",
        oracle="scikit-learn, r2_score",
    ),
    _sampled(
        "bias",
        limits=UNLIMITED,
        value=lambda result: mean(result._state.error, result._state.n),
        aliases=("mean_error",),
        heading="Bias, prediction minus truth",
        help="The mean of prediction - truth; above 0, the model predicts too much.",
        formula=r"\frac1n \sum_i (\hat y_i - y_i)",
        better="",
        oracle="the definition, in fractions",
        headline=3,
    ),
    _metric(
        "explained_variance",
        limits=UP_TO_ONE,
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
        limits=UP_TO_ONE,
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
        value=lambda result: math.sqrt(_relative_squared_error(result)),
        oracle="the definition of torchmetrics, NormalizedRootMeanSquaredError",
        on_request=True,
    ),
    _metric(
        "nrmse_mean",
        limits=UNLIMITED,
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
    *map(_of_measure, ERROR_MEASURES.values()),
    of_result=lambda one: rows_with(one._config),
)

add_members(Regression)
