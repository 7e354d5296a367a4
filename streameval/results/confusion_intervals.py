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
    if how in (None, "binary"):
        low, high = _of_each(reading, ratio, values, z)
        if how is None:
            return low, high
        place = reading.config.positive_place
        return low[place].item(), high[place].item()
    weights = metrics.class_weights(
        values, reading.outcomes, average=how, averaged=reading.averaged
    )
    return _of_mean(reading, ratio, how, weights, values, z)


def _of_each(reading: Reading, ratio: Ratio, values: Floats, z: float) -> tuple[Floats, Floats]:
    """Give the interval of each class, whose own four outcomes are all that matters."""
    outcomes = reading.outcomes.to_floats()
    gradient = intervals.ratio_gradient(ratio, outcomes, np.ones(len(values)))
    variances = (outcomes * gradient * gradient).sum(axis=0)
    below = ratio.parts(outcomes)[1]
    ends = [
        _of_proportion(reading, ratio, *of_class, z) if of_class[2] > 0 else UNDEFINED
        for of_class in zip(values.tolist(), variances.tolist(), below.tolist(), strict=True)
    ]
    low, high = np.array(ends).reshape(-1, 2).T
    return low, high


def _of_mean(
    reading: Reading, ratio: Ratio, how: Average, weights: Floats, values: Floats, z: float
) -> Interval:
    """Give the wider end of two approximations of a mean over classes.

    The linear one knows how classes depend on each other, but not how uncertain a small class
    at 0 or 1 is; combining the limits of the classes (MOVER) knows just that.
    """
    low, high = _of_each(reading, ratio, values, z)
    total = math.fsum(weights)
    moving = (weights > 0) & ~np.isnan(low)
    if not total or not moving.any():
        return UNDEFINED
    shares = weights / total
    value = min(math.fsum(np.where(weights > 0, shares * values, 0.0)), 1.0)
    independent = not isinstance(reading.state, MultilabelCounts)
    below = intervals.combined((shares * (values - low))[moving], independent=independent)
    above = intervals.combined((shares * (high - values))[moving], independent=independent)

    gradient = intervals.ratio_gradient(ratio, reading.outcomes.to_floats(), shares)
    if how == "weighted":  # the weights are counts too
        by_support = np.where(weights > 0, (values - value) / total, 0.0)
        gradient[0] += by_support
        gradient[2] += by_support
    draws = intervals.effective_draws(value, _variance(reading, gradient), math.inf)
    linear_low, linear_high = intervals.wilson(value, draws, z)
    return max(min(value - below, linear_low), 0.0), min(max(value + above, linear_high), 1.0)


def _of_pooled(reading: Reading, ratio: Ratio, z: float) -> Interval:
    """Treat a ratio of pooled counts as a proportion with the delta method's variance."""
    outcomes, averaged = reading.outcomes.to_floats(), reading.averaged
    pooled = metrics.pool(outcomes, averaged)
    below = ratio.parts(pooled)[1].item()
    if not below > 0:
        return UNDEFINED
    value = ratio.of(pooled, 0.0).item()
    gradient = intervals.ratio_gradient(ratio, pooled, np.ones(1)) * averaged
    return _of_proportion(reading, ratio, value, _variance(reading, gradient), below, z)


def _of_proportion(
    reading: Reading, ratio: Ratio, value: float, variance: float, below: float, z: float
) -> Interval:
    fallback = min(below / _heaviest(ratio, value), reading.n)
    return intervals.wilson(value, intervals.effective_draws(value, variance, fallback), z)


def _variance(reading: Reading, gradient: Floats) -> float:
    """Compute the linear variance; for multilabel, the largest that any dependence allows."""
    if isinstance(reading.state, MultilabelCounts):
        return intervals.table_deviation(reading.outcomes.to_floats(), gradient) ** 2
    return intervals.matrix_variance(reading.state.matrix.to_floats(), gradient)


def _heaviest(ratio: Ratio, value: float) -> float:
    """Give the most that one example can move a ratio that is at 0 or 1, in parts of 1 / below.

    At 1 an example can only become an error, which then stands in the denominator with its own
    factor; at 0 it can only become a hit. With ``h`` that factor and ``e`` such examples the
    distance from the end is ``h e / below``, a proportion of ``below / h`` draws.
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
    if math.isnan(value) or _is_degenerate(matrix):
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
