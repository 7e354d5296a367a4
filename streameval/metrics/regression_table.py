"""The table of the metrics of predicted numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache, partial
from typing import Any, cast

import attrs

from streameval.configs.error_measures import (
    ERROR_MEASURES,
    MOMENTS,
    ErrorMeasure,
    ErrorMeasureRow,
)
from streameval.configs.error_measures import error_measure as parsed
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
    not_measured,
    of_moments,
    without_interval,
)
from streameval.states.regression import ErrorSums, MeasuredSums


@attrs.frozen(slots=False, eq=False, repr=False)
class PredictionErrors:
    """The sums of the errors of one output."""

    _state: ErrorSums
    _config: RegressionConfig

    @cached_property
    def _moments(self) -> metrics.Moments:
        state, config = self._measured, self._config
        sums = {name: getattr(state, name) for name in _SUMS}
        sums |= {one.name: state.term(config, one) for one in MOMENTS * config.intervals}
        return metrics.Moments(**{name: total.to_fraction() for name, total in sums.items()})

    @property
    def _measured(self) -> MeasuredSums:
        """The state of an accumulator with measures."""
        return cast("MeasuredSums", self._state)


_SUMS = ("n", "error", "absolute_error", "squared_error", "truth", "squared_truth")


def _requested_name(measures: Sequence[str], name: str) -> str:
    """Return the canonical name of a requested measure, or the name itself."""
    own = own_name(name)
    return own if own in measures else name


def own_name(name: str) -> str:
    """Return the canonical name of a measure, or the name itself."""
    if name in TABLE and name not in ERROR_MEASURES:
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
        return TABLE
    usual = [row for name, row in TABLE.items() if name not in measures]
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
        TABLE[one.row.name],
        name=one.name,
        heading=one.title,
        value=lambda result: _READERS.get(one.row.name, _mean_of_term)(result, one),
        arguments=(),
        listed=always,
    )


def _from_sketch(row: Metric) -> Metric:
    """Offer a measure on request where the sketch of another one gives it."""
    return row if row.needs_argument else attrs.evolve(row, listed=always, on_request=True)


def _mse(result: PredictionErrors) -> float:
    return mean(result._state.squared_error, result._state.n)


def _squares(result: PredictionErrors) -> tuple[int, int]:
    """Return n times the sum of squared errors, and the spread of the truth, in one unit."""
    state = result._state
    n = state.n.to_fraction()
    whole = metrics.spread(state.truth, state.squared_truth, n)
    return metrics.scaled(state.squared_error, n), whole


def _r2(result: PredictionErrors) -> float:
    return metrics.explained(*_squares(result))


def _explained_variance(result: PredictionErrors) -> float:
    state = result._state
    rest = metrics.spread(state.error, state.squared_error, state.n.to_fraction())
    return metrics.explained(rest, _squares(result)[1])


def _relative_squared_error(result: PredictionErrors) -> float:
    return quotient(*_squares(result))


def _nrmse_mean(result: PredictionErrors) -> float:
    state = result._state
    total = state.truth.to_fraction()
    part = state.squared_error.to_fraction() * state.n.to_fraction()
    return math.copysign(math.sqrt(quotient(part, total**2)), total)


def _mean_of_term(result: PredictionErrors, measure: ErrorMeasure) -> float:
    (term,) = measure.terms
    return mean(result._measured.term(result._config, term), result._state.n)


def _wmape(result: PredictionErrors, measure: ErrorMeasure) -> float:
    (term,) = measure.terms
    whole = result._measured.term(result._config, term)
    return quotient(result._state.absolute_error.units, whole.units)


def _nrmse_range(result: PredictionErrors, measure: ErrorMeasure) -> float:  # noqa: ARG001
    highest, lowest = (
        result._measured.extreme(result._config, name) for name in ("truth", "negated_truth")
    )
    return quotient(TABLE["rmse"].value(result), highest + lowest)


def _products(result: PredictionErrors, measure: ErrorMeasure) -> tuple[int, int, int]:
    """Return the covariation and both spreads."""
    state, n = result._measured, result._state.n.to_fraction()
    total, squares, product = (state.term(result._config, term) for term in measure.terms)
    together = metrics.covariation(state.truth, total, product, n)
    own = metrics.spread(state.truth, state.squared_truth, n)
    return together, own, metrics.spread(total, squares, n)


def _concordance(result: PredictionErrors, measure: ErrorMeasure) -> float:
    state = result._measured
    apart = state.truth.units - state.term(result._config, measure.terms[0]).units
    apart = state.n.to_fraction().denominator * apart**2
    return metrics.concordance(*_products(result, measure), apart)


def _quantile(result: PredictionErrors, measure: ErrorMeasure) -> Bounded:
    level = 0.5 if measure.parameter is None else measure.parameter
    return cell_quantile(result._measured.cells, level)


_READERS: dict[str, Callable[[PredictionErrors, ErrorMeasure], float]] = {
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


def _read_measure(
    row: ErrorMeasureRow, result: PredictionErrors, *args: Any, **options: Any
) -> float:
    """Read a requested measure, or a quantile from the sketch."""
    one = ErrorMeasure.called(row, *args, **options)
    if one.name not in result._config.measures and not (
        row.has_sketch and result._config.has_sketch
    ):
        raise UnknownMetricError(*not_measured(one.name))
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


TABLE = Table(
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
    task="regression",
    made_by="RegressionAccumulator",
)
