"""Which sampling interval belongs to which metric of a `Confusion`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from streameval.errors import InvalidInputError
from streameval.metrics import classification as metrics
from streameval.metrics import intervals
from streameval.metrics.classification import Average, Ratio
from streameval.metrics.intervals import UNDEFINED, Interval
from streameval.results.confusion_reading import AverageOption, Reading
from streameval.results.confusion_values import RATIOS, WRONG, bind, value
from streameval.states.confusion import MatrixCounts, MultilabelCounts

__all__ = ["confidence"]

Floats = npt.NDArray[np.float64]


def confidence(reading: Reading, name: str, *args: Any, level: float, **options: Any) -> Any:
    """Compute the interval of one metric; see `Confusion.confidence`."""
    z = intervals.normal_quantile(level)
    number = value(reading, name, *args, **options)
    if level == 0.0:
        return number, number
    if not reading.has_whole_weights:
        raise InvalidInputError(
            "`sample_weight` had fractions, and a fraction of an example is no draw: "
            "there is no sampling interval."
        )
    if name in RATIOS:
        return _of_ratio(reading, *bind(name, *args, **options), z)
    return _PLAIN_INTERVALS[name](reading, number, z)


def _of_ratio(
    reading: Reading, ratio: Ratio, average: AverageOption, zero_division: float, z: float
) -> Any:
    how = reading.resolve(average)
    if how == "micro":
        return _of_pooled(reading, ratio, z)
    values = ratio.of(reading.outcomes.to_floats(), zero_division)
    if how is None:
        alone = np.eye(len(values))
        ends = [_of_mean(reading, ratio, "binary", one, values, z) for one in alone]
        low, high = np.array(ends).reshape(-1, 2).T
        return low, high
    if how == "binary":
        weights = np.eye(len(values))[reading.config.positive_place]
    else:
        weights = metrics.class_weights(
            values, reading.outcomes, average=how, averaged=reading.averaged
        )
    return _of_mean(reading, ratio, how, weights, values, z)


def _of_mean(
    reading: Reading, ratio: Ratio, how: Average, weights: Floats, values: Floats, z: float
) -> Interval:
    """Treat a mean over classes as a proportion with the delta method's variance."""
    outcomes = reading.outcomes.to_floats()
    total = math.fsum(weights)
    below = ratio.parts(outcomes)[1]
    moving = (weights > 0) & (below > 0)
    if not total or not moving.any():
        return UNDEFINED
    shares = weights / total
    value = math.fsum(np.where(weights > 0, shares * values, 0.0))
    gradient = intervals.ratio_gradient(ratio, outcomes, shares)
    if how == "weighted":  # the weights are counts too
        by_support = np.where(weights > 0, (values - value) / total, 0.0)
        gradient[0] += by_support
        gradient[2] += by_support
    draws = below[moving] / _heaviest(ratio, value)
    return _of_gradient(reading, value, gradient, shares[moving], draws, z)


def _of_pooled(reading: Reading, ratio: Ratio, z: float) -> Interval:
    """Treat a ratio of pooled counts as a proportion with the delta method's variance."""
    outcomes, averaged = reading.outcomes.to_floats(), reading.averaged
    pooled = metrics.pool(outcomes, averaged)
    below = ratio.parts(pooled)[1]
    if not below > 0:
        return UNDEFINED
    value = float(ratio.of(pooled, 0.0)[0])
    one = np.ones(1)
    gradient = intervals.ratio_gradient(ratio, pooled, one) * averaged
    return _of_gradient(reading, value, gradient, one, below / _heaviest(ratio, value), z)


def _of_gradient(
    reading: Reading, value: float, gradient: Floats, shares: Floats, draws: Floats, z: float
) -> Interval:
    state, n = reading.state, reading.n
    if isinstance(state, MultilabelCounts):
        deviation = intervals.table_deviation(reading.outcomes.to_floats(), gradient)
        variance, fallback = deviation * deviation, 1.0 / math.fsum(shares / np.sqrt(draws)) ** 2
    else:
        variance = intervals.matrix_variance(state.matrix.to_floats(), gradient)
        fallback = 1.0 / math.fsum(shares * shares / draws)
    value = min(max(value, 0.0), 1.0)  # a mean of ones may round to just above 1
    return intervals.wilson(value, intervals.effective_draws(value, variance, min(fallback, n)), z)


def _heaviest(ratio: Ratio, value: float) -> float:
    """Give the most that one example can move the ratio at its end, in parts of 1 / below.

    At 1 an example can only become an error; at 0 it can only become a hit.
    """
    if value > 0.0:
        pairs = zip(ratio.numerator, ratio.denominator, strict=True)
        return max(below for above, below in pairs if not above)
    return max(ratio.numerator)


def _of_accuracy(reading: Reading, value: float, z: float) -> Interval:
    return intervals.wilson(value, reading.n, z)


def _of_hamming_loss(reading: Reading, value: float, z: float) -> Interval:
    if isinstance(reading.state, MultilabelCounts):
        return _of_pooled(reading, WRONG, z)
    return _of_accuracy(reading, value, z)


def _of_top_k(reading: Reading, value: float, z: float) -> Interval:
    state, n = reading.state, reading.n
    if not isinstance(state, MatrixCounts) or not n:
        return _of_accuracy(reading, value, z)
    cells = metrics.credited_cells(state.credit)
    square = math.fsum(weight * (within / tied) ** 2 for (within, tied), weight in cells) / n
    draws = intervals.effective_draws(value, (square - value * value) / n, n)
    return intervals.wilson(value, draws, z)


def _of_balanced_accuracy(reading: Reading, _value: float, z: float) -> Interval:
    supported = reading.outcomes.support.is_positive().astype(np.float64)
    recalls = metrics.RECALL.of(reading.outcomes.to_floats(), 0.0)
    return _of_mean(reading, metrics.RECALL, "macro", supported, recalls, z)


def _of_correlation(reading: Reading, value: float, z: float) -> Interval:
    matrix = reading.matrix_state("matthews_corrcoef").matrix.to_floats()
    if value == 1.0:
        return _of_perfect(matrix, z)
    if _is_degenerate(matrix):
        return UNDEFINED
    variance = math.fsum((matrix * intervals.matthews_gradient(matrix) ** 2).ravel())
    return intervals.fisher(value, variance, z)


def _of_kappa(reading: Reading, value: float, z: float) -> Interval:
    matrix = reading.matrix_state("cohen_kappa").matrix.to_floats()
    if math.isnan(value):
        return UNDEFINED
    if value == 1.0:
        return _of_perfect(matrix, z)
    variance = math.fsum((matrix * intervals.kappa_gradient(matrix) ** 2).ravel())
    return intervals.fisher(value, variance, z)


def _of_perfect(matrix: Floats, z: float) -> Interval:
    n = math.fsum(matrix.ravel())
    shares = np.diagonal(matrix) / n
    return intervals.perfect_agreement(math.fsum(shares * shares), n, z)


def _is_degenerate(matrix: Floats) -> bool:
    return any(int(np.count_nonzero(matrix.sum(axis=axis))) < 2 for axis in (0, 1))


_PLAIN_INTERVALS = {
    "accuracy": _of_accuracy,
    "hamming_loss": _of_hamming_loss,
    "top_k_accuracy": _of_top_k,
    "balanced_accuracy": _of_balanced_accuracy,
    "matthews_corrcoef": _of_correlation,
    "cohen_kappa": _of_kappa,
}
