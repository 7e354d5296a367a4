"""The names of regression measures that are asked for, and what is summed for each."""

from __future__ import annotations

import functools
import re
from typing import Any, Literal, Self

import attrs

from streameval.configs.names import (
    as_names,
    check_distinct,
    number_text,
    read_number,
    unknown_name,
)
from streameval.configs.options import Parameter, finite_number
from streameval.errors import InvalidInputError

Better = Literal["higher", "lower", ""]

_FORM = re.compile(r"(?P<name>[a-z_0-9]+)(?:\((?:(?P<key>[a-z]+)=)?(?P<value>[^()=]*)\))?")
_MAX_POWER = 100.0


@attrs.frozen
class Term:
    """What is computed of each row, and summed: a name, and a parameter if it has one.

    The functions of these names are in `streameval.states.error_terms`.
    """

    name: str
    parameter: float = 0.0


@attrs.frozen(kw_only=True)
class ErrorMeasureRow:
    """The facts about a measure; the function that reads it is in `streameval.metrics.regression`.

    Parameters
    ----------
    name : str
        The canonical name.
    heading : str
        The title on pages.
    help, notes, formula : str
        What it is, as of a `Metric`.
    oracle : str
        What the tests compare it with.
    others : tuple of str
        Its names in other tools, which are accepted too.
    better : {"higher", "lower", ""}
        The better direction.
    terms : tuple of Term
        What is summed for it; what stands in brackets replaces their parameter.
    extremes : tuple of str
        What the maximum is kept of.
    has_sketch : bool
        Whether it reads the sketch of the absolute errors.
    parameter : Parameter, optional
        What stands in brackets.
    """

    name: str
    heading: str
    help: str
    notes: str = ""
    formula: str
    oracle: str
    others: tuple[str, ...] = ()
    better: Better = "lower"
    terms: tuple[Term, ...] = ()
    extremes: tuple[str, ...] = ()
    has_sketch: bool = False
    parameter: Parameter | None = None


PREDICTION = Term("prediction")
SQUARED_PREDICTION = Term("squared_prediction")
MOMENTS = tuple(
    Term(name)
    for name in (
        "fourth_error",
        "squared_error_by_truth",
        "squared_error_by_squared_truth",
        "third_truth",
        "fourth_truth",
    )
)
"""What sampling intervals need beside the usual sums."""

_PRODUCTS = (PREDICTION, SQUARED_PREDICTION, Term("product"))
_DEVIANCE = r"2 \left(\frac{y_i^{2-p}}{(1-p)(2-p)} - \frac{y_i \hat y_i^{1-p}}{1-p} + "
_ROWS = (
    ErrorMeasureRow(
        name="mape",
        heading="Mean absolute percentage error",
        help="The mean of |prediction - truth| / |truth|, at least 0: 0.1 is ten percent.",
        notes="A truth below 2**-52 in magnitude counts as that.",
        formula=r"\frac1n \sum_i \frac{|\hat y_i - y_i|}{\max(|y_i|, 2^{-52})}",
        oracle="scikit-learn, mean_absolute_percentage_error",
        others=("mean_absolute_percentage_error",),
        terms=(Term("mape"),),
    ),
    ErrorMeasureRow(
        name="smape",
        heading="Symmetric mean absolute percentage error",
        help="The mean of 2 |prediction - truth| / (|truth| + |prediction|), in [0, 2].",
        notes="A row of two zeros counts 0.",
        formula=r"\frac1n \sum_i \frac{2 |\hat y_i - y_i|}{|y_i| + |\hat y_i|}",
        oracle="the definition of torchmetrics, SymmetricMeanAbsolutePercentageError",
        others=("symmetric_mean_absolute_percentage_error",),
        terms=(Term("smape"),),
    ),
    ErrorMeasureRow(
        name="wmape",
        heading="Weighted mean absolute percentage error",
        help="The sum of |prediction - truth| over the sum of |truth|; nan when every truth is 0.",
        formula=r"\frac{\sum_i |\hat y_i - y_i|}{\sum_i |y_i|}",
        oracle="the definition of torchmetrics, WeightedMeanAbsolutePercentageError",
        others=("weighted_mean_absolute_percentage_error", "wape"),
        terms=(Term("absolute_truth"),),
    ),
    ErrorMeasureRow(
        name="msle",
        heading="Mean squared logarithmic error",
        help="The mean of (log(1 + prediction) - log(1 + truth))**2, at least 0.",
        notes="Truth and prediction must be above -1.",
        formula=r"\frac1n \sum_i (\log(1 + \hat y_i) - \log(1 + y_i))^2",
        oracle="scikit-learn, mean_squared_log_error",
        others=("mean_squared_log_error", "mean_squared_logarithmic_error"),
        terms=(Term("squared_log_error"),),
    ),
    ErrorMeasureRow(
        name="rmsle",
        heading="Root mean squared logarithmic error",
        help="The square root of the mean squared logarithmic error, at least 0.",
        notes="Truth and prediction must be above -1.",
        formula=r"\sqrt{\frac1n \sum_i (\log(1 + \hat y_i) - \log(1 + y_i))^2}",
        oracle="scikit-learn, root_mean_squared_log_error",
        others=("root_mean_squared_log_error",),
        terms=(Term("squared_log_error"),),
    ),
    ErrorMeasureRow(
        name="max_error",
        heading="Largest error",
        help="The largest |prediction - truth|, at least 0.",
        formula=r"\max_i |\hat y_i - y_i|",
        oracle="scikit-learn, max_error",
        extremes=("absolute_error",),
    ),
    ErrorMeasureRow(
        name="nrmse_range",
        heading="RMSE over range",
        help="The root mean squared error over the range of the truth; nan when it is constant.",
        formula=r"\frac{RMSE}{\max_i y_i - \min_i y_i}",
        oracle="the definition of torchmetrics, NormalizedRootMeanSquaredError",
        extremes=("truth", "negated_truth"),
    ),
    ErrorMeasureRow(
        name="tweedie_deviance",
        heading="Tweedie deviance",
        help="The mean Tweedie deviance of a power, at least 0: 0 is the mean squared error, 1 the "
        "Poisson, 2 the gamma and 3 the inverse Gaussian deviance.",
        notes="Below power 0 the prediction must be above 0, from 1 on the truth must be at least "
        "0 too, from 2 on above 0.",
        formula=r"\frac1n \sum_i " + _DEVIANCE + r"\frac{\hat y_i^{2-p}}{2-p}\right)",
        oracle="scikit-learn, mean_tweedie_deviance",
        others=("mean_tweedie_deviance", "tweedie", "tweedie_deviance_score"),
        terms=(Term("tweedie"),),
        parameter=Parameter(
            name="power",
            rule="at most 0, or at least 1, within 100 of 0",
            is_valid=lambda power: not 0.0 < power < 1.0 and abs(power) <= _MAX_POWER,
        ),
    ),
    ErrorMeasureRow(
        name="poisson_deviance",
        heading="Poisson deviance",
        help="The mean Poisson deviance, at least 0.",
        notes="The truth must be at least 0 and the prediction above 0.",
        formula=r"\frac1n \sum_i 2 \left(y_i \log \frac{y_i}{\hat y_i} - y_i + \hat y_i\right)",
        oracle="scikit-learn, mean_poisson_deviance",
        others=("mean_poisson_deviance", "poisson"),
        terms=(Term("tweedie", 1.0),),
    ),
    ErrorMeasureRow(
        name="gamma_deviance",
        heading="Gamma deviance",
        help="The mean gamma deviance, at least 0.",
        notes="Truth and prediction must be above 0.",
        formula=r"\frac1n \sum_i 2 \left(\log \frac{\hat y_i}{y_i} + \frac{y_i}{\hat y_i} "
        r"- 1\right)",
        oracle="scikit-learn, mean_gamma_deviance",
        others=("mean_gamma_deviance", "gamma"),
        terms=(Term("tweedie", 2.0),),
    ),
    ErrorMeasureRow(
        name="huber",
        heading="Huber loss",
        help="The mean of e**2 / 2 where the error e is at most delta in magnitude, and of "
        "delta (|e| - delta / 2) elsewhere.",
        formula=r"\frac1n \sum_i \begin{cases} \frac12 e_i^2 & |e_i| \le \delta \\ "
        r"\delta (|e_i| - \frac12 \delta) & |e_i| > \delta \end{cases}",
        oracle="the definition of Keras, Huber",
        others=("huber_loss",),
        terms=(Term("huber"),),
        parameter=Parameter(
            name="delta",
            default=1.0,
            rule="above 0, at most 2**400",
            is_valid=lambda delta: 0.0 < delta <= 2.0**400,
        ),
    ),
    ErrorMeasureRow(
        name="log_cosh",
        heading="Log-cosh error",
        help="The mean of log(cosh(prediction - truth)), at least 0.",
        formula=r"\frac1n \sum_i \log \cosh(\hat y_i - y_i)",
        oracle="the definition of torchmetrics, LogCoshError",
        others=("logcosh", "log_cosh_error"),
        terms=(Term("log_cosh"),),
    ),
    ErrorMeasureRow(
        name="pearson",
        heading="Pearson correlation",
        help="The correlation of truth and prediction, in [-1, 1]; nan when one is constant.",
        formula=r"\frac{\mathrm{Cov}(y, \hat y)}{\sqrt{\mathrm{Var}(y) \mathrm{Var}(\hat y)}}",
        oracle="scipy, pearsonr",
        others=("pearson_corrcoef", "pearsonr", "correlation"),
        better="higher",
        terms=_PRODUCTS,
    ),
    ErrorMeasureRow(
        name="concordance",
        heading="Concordance correlation",
        help="The concordance correlation of truth and prediction, in [-1, 1].",
        notes="It is 1 only where they are equal: means that differ lower it, as do deviations "
        "(Lin, A concordance correlation coefficient to evaluate reproducibility, 1989). nan "
        "when both are constant and equal.",
        formula=r"\frac{2 \mathrm{Cov}(y, \hat y)}"
        r"{\mathrm{Var}(y) + \mathrm{Var}(\hat y) + (\bar y - \bar{\hat y})^2}",
        oracle="the definition, in fractions",
        others=("ccc", "concordance_corrcoef"),
        better="higher",
        terms=_PRODUCTS,
    ),
    ErrorMeasureRow(
        name="median_absolute_error",
        heading="Median absolute error",
        help="The median of |prediction - truth|, at least 0.",
        formula=r"\mathrm{median}_i |\hat y_i - y_i|",
        oracle="scikit-learn, median_absolute_error",
        others=("medae", "median_error"),
        has_sketch=True,
    ),
    ErrorMeasureRow(
        name="absolute_error_quantile",
        heading="Quantile of the absolute error",
        help="A quantile of |prediction - truth|, at least 0.",
        notes="The smallest that a share q of the examples does not exceed, or the middle between "
        "that and the next where the share is met exactly.",
        formula=r"\inf \{x : \#\{i : |\hat y_i - y_i| \le x\} \ge q n\}",
        oracle="NumPy, quantile of averaged_inverted_cdf",
        others=("error_quantile",),
        has_sketch=True,
        parameter=Parameter(name="q", rule="in [0, 1]", is_valid=lambda q: 0.0 <= q <= 1.0),
    ),
)
ERROR_MEASURES = {row.name: row for row in _ROWS}
"""The table of the measures."""

_ALWAYS = (
    "These need no measure, only `read` or --metrics: rmse, mse, mae, r2, bias, "
    "explained_variance, adjusted_r2, relative_squared_error, nrmse_std, nrmse_mean, pinball_loss."
)
_NAMES = {other: row.name for row in _ROWS for other in (row.name, *row.others)}


@attrs.frozen
class ErrorMeasure:
    """A measure that was asked for, taken apart.

    Parameters
    ----------
    row : ErrorMeasureRow
        The row of the table.
    parameter : float, optional
        What stands in brackets, if it takes something.
    """

    row: ErrorMeasureRow
    parameter: float | None = None

    @classmethod
    def of(cls, name: Any) -> Self:
        """Read a name, which may be that of another tool."""
        text = name.strip().lower().replace(" ", "") if isinstance(name, str) else ""
        match = _FORM.fullmatch(text)
        family = _NAMES.get(match["name"]) if match else None
        if match is None or family is None:
            raise unknown_name(name, ERROR_MEASURES, name="measures", remedy=_ALWAYS)
        row = ERROR_MEASURES[family]
        return cls(row, _parameter(row, match["key"], match["value"], name))

    @classmethod
    def called(cls, row: ErrorMeasureRow, *args: Any, **options: Any) -> Self:
        """Make a measure of an argument, as of a method."""
        own = row.parameter
        if own is None:
            return cls(row)
        number = finite_number([*args, *options.values(), own.default][0], name=own.name)
        if not own.is_valid(number):
            raise InvalidInputError(f"must be {own.rule}, got {number!r}", argument=own.name)
        return cls(row, number)

    @property
    def name(self) -> str:
        """The canonical name."""
        own = self.row.parameter
        if own is None or self.parameter is None:
            return self.row.name
        return f"{self.row.name}({own.name}={number_text(self.parameter)})"

    @property
    def terms(self) -> tuple[Term, ...]:
        """What is summed for it."""
        if self.parameter is None:
            return self.row.terms
        return tuple(Term(term.name, self.parameter) for term in self.row.terms)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the name: rows hold functions."""
        return error_measure, (self.name,)

    @property
    def title(self) -> str:
        """The title on pages, with what stands in brackets."""
        own = self.row.parameter
        if own is None or self.parameter is None:
            return self.row.heading
        return f"{self.row.heading}, {own.name} {number_text(self.parameter)}"


def canonical_error_measures(value: Any, *, name: str = "measures") -> tuple[str, ...]:
    """Convert names to canonical form; a single one may stand alone."""
    names = tuple(error_measure(one).name for one in as_names(value, name=name))
    check_distinct(names, name=name)
    return names


def error_measure(name: Any) -> ErrorMeasure:
    """Read a name, once."""
    return _error_measure(name) if isinstance(name, str) else ErrorMeasure.of(name)


@functools.lru_cache(maxsize=256)
def _error_measure(name: str) -> ErrorMeasure:
    return ErrorMeasure.of(name)


def _parameter(row: ErrorMeasureRow, key: str | None, text: str | None, name: str) -> float | None:
    """Read what stands in brackets."""
    own = row.parameter
    if own is None:
        if text is not None:
            raise InvalidInputError(
                f"accepts nothing in brackets of {row.name!r}, got {name!r}", argument="measures"
            )
        return None
    if text is None:
        if own.default is None:
            raise InvalidInputError(
                f"needs {own.name}= in brackets of {row.name!r}, got {name!r}",
                argument="measures",
            )
        return own.default
    if key not in (None, own.name):
        raise InvalidInputError(
            f"accepts {own.name}= in brackets of {row.name!r}, got {name!r}", argument="measures"
        )
    number = read_number(text)
    if number is None or not own.is_valid(number):
        raise own.unfit(name)
    return number + 0.0
