"""The terms that a row adds to regression measures, and the numbers that the measures accept.

The terms use only operations that IEEE 754 defines to the last bit, element by element, so they are
the same on every CPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import attrs
import numpy as np

from streameval.configs.error_measures import MOMENTS, Term
from streameval.exact.array_types import Floats, Indices
from streameval.exact.exact_sum import exact_product
from streameval.exact.log import exp, expm1, log, log1p

Terms = tuple[Floats, ...]

_EPSILON = 2.0**-52  # scikit-learn divides by this instead of by a truth of 0
_LOG_2 = 0.6931471805599453
_LARGE = 20.0  # from here on log(cosh(x)) is x - log(2)
_MAX_EXPONENT = 400
_MAX_TERM = 480  # no term of a deviance exceeds two to this power
_MIN_LOG = -700.0
_NEAR = 0.5
_SMALL_RATIO = 2.0**-1000


@attrs.frozen
class Range:
    """The numbers that a measure accepts, both ends included."""

    low: float
    high: float
    text: str


@attrs.frozen
class ErrorRows:
    """The rows of a batch, with the error of each: the prediction minus the truth."""

    truth: Floats
    prediction: Floats
    error: Floats

    def taken(self, indices: Indices) -> ErrorRows:
        """Select some rows."""
        return ErrorRows(self.truth[indices], self.prediction[indices], self.error[indices])

    def terms(self, term: Term) -> Terms:
        """Compute vectors that add up to the term of each row."""
        return _TERMS[term.name](self, term.parameter)

    def extreme(self, name: str) -> Floats:
        """Compute the values whose maximum is kept."""
        return EXTREMES[name](self)


def ranges_of(term: Term) -> tuple[Range | None, Range | None]:
    """Return the ranges of truth and prediction that a term accepts."""
    if term in MOMENTS:
        return _FOR_MOMENTS, _FOR_MOMENTS
    if term.name == "squared_log_error":
        return _ABOVE_MINUS_1, _ABOVE_MINUS_1
    power = term.parameter
    if term.name != "tweedie" or power == 0.0:
        return None, None
    exponent = min(_MAX_EXPONENT, math.floor(_MAX_TERM / (1.0 + abs(1.0 - power))))
    size = 2.0**exponent
    positive = Range(1.0 / size, size, f"[2**-{exponent}, 2**{exponent}]")
    if power >= 2.0:
        return positive, positive
    if power >= 1.0:
        return Range(0.0, size, f"[0, 2**{exponent}]"), positive
    return Range(-size, size, f"[-2**{exponent}, 2**{exponent}]"), positive


def _mape(rows: ErrorRows) -> Floats:
    return np.abs(rows.error) / np.maximum(np.abs(rows.truth), _EPSILON)


def _smape(rows: ErrorRows) -> Floats:
    size = np.abs(rows.truth) + np.abs(rows.prediction)
    return 2.0 * (np.abs(rows.error) / np.where(size == 0.0, 1.0, size))


def _squared_log_error(rows: ErrorRows) -> Terms:
    difference = log1p(rows.prediction) - log1p(rows.truth)
    return exact_product(difference, difference)


def _huber(rows: ErrorRows, delta: float) -> Terms:
    size = np.abs(rows.error)
    inner = np.minimum(size, delta)
    return (inner * (size - 0.5 * inner),)


def _log_cosh(rows: ErrorRows) -> Floats:
    """Compute ``log(1 + m**2 / (2 (1 + m)))`` with ``m = exp(|e|) - 1``, exact for small errors."""
    size = np.abs(rows.error)
    m = expm1(np.minimum(size, _LARGE))
    return np.where(size < _LARGE, log1p(m * m / (2.0 * (1.0 + m))), size - _LOG_2)


def _tweedie(rows: ErrorRows, power: float) -> Terms:
    """Compute the deviance as a function of ``r = y / p``, which is 0 at 1.

    ``2 p (r log(r) - (r - 1))`` for Poisson, ``2 ((r - 1) - log(r))`` for gamma, else
    ``2 p**b (r**b - 1 - b (r - 1)) / ((1 - power) b)`` with ``b = 2 - power``.
    """
    if power == 0.0:
        return exact_product(rows.error, rows.error)
    prediction, b = rows.prediction, 2.0 - power
    ratio, excess = rows.truth / prediction, (rows.truth - prediction) / prediction
    logarithm = _log_ratio(ratio, excess)
    if power == 1.0:
        half = prediction * (ratio * logarithm - excess)
    elif power == 2.0:
        half = excess - logarithm
    else:
        growth = expm1(np.maximum(b * logarithm, _MIN_LOG))
        half = exp(b * log(prediction)) * ((growth - b * excess) / ((1.0 - power) * b))
    return (2.0 * np.maximum(half, 0.0),)  # negative only by rounding


def _products(a: Terms, b: Terms) -> Terms:
    """Multiply sums of vectors without error."""
    return tuple(part for x in a for y in b for part in exact_product(x, y))


def _squared_error(rows: ErrorRows) -> Terms:
    return exact_product(rows.error, rows.error)


def _squared_truth(rows: ErrorRows) -> Terms:
    return exact_product(rows.truth, rows.truth)


def _log_ratio(ratio: Floats, excess: Floats) -> Floats:
    """Compute the logarithm of a ratio from its excess over 1; a low number for ratios up to 0."""
    is_near = np.abs(excess) < _NEAR
    near = log1p(np.where(is_near, excess, 0.0))
    return np.where(is_near, near, log(np.maximum(ratio, _SMALL_RATIO)))


_FOR_MOMENTS = Range(-(2.0**200), 2.0**200, "[-2**200, 2**200]")
_ABOVE_MINUS_1 = Range(float(np.nextafter(-1.0, 0.0)), 2.0**_MAX_EXPONENT, "(-1, 2**400]")
_TERMS: dict[str, Callable[[ErrorRows, float], Terms]] = {
    "prediction": lambda rows, _: (rows.prediction,),
    "squared_prediction": lambda rows, _: exact_product(rows.prediction, rows.prediction),
    "product": lambda rows, _: exact_product(rows.truth, rows.prediction),
    "absolute_truth": lambda rows, _: (np.abs(rows.truth),),
    "mape": lambda rows, _: (_mape(rows),),
    "smape": lambda rows, _: (_smape(rows),),
    "squared_log_error": lambda rows, _: _squared_log_error(rows),
    "log_cosh": lambda rows, _: (_log_cosh(rows),),
    "fourth_error": lambda rows, _: _products(_squared_error(rows), _squared_error(rows)),
    "squared_error_by_truth": lambda rows, _: _products(_squared_error(rows), (rows.truth,)),
    "squared_error_by_squared_truth": lambda rows, _: _products(
        _squared_error(rows), _squared_truth(rows)
    ),
    "third_truth": lambda rows, _: _products(_squared_truth(rows), (rows.truth,)),
    "fourth_truth": lambda rows, _: _products(_squared_truth(rows), _squared_truth(rows)),
    "huber": _huber,
    "tweedie": _tweedie,
}
NONNEGATIVE = _TERMS.keys() - {
    *("prediction", "product", "squared_error_by_truth", "third_truth"),
}
"""The terms that are nonnegative in each row."""

EXTREMES: dict[str, Callable[[ErrorRows], Floats]] = {
    "absolute_error": lambda rows: np.abs(rows.error),
    "truth": lambda rows: rows.truth,
    "negated_truth": lambda rows: -rows.truth,
}
"""The values whose maxima are kept."""
