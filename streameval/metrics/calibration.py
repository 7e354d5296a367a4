"""Metrics of probabilities, from exact sums; every division is of exact numbers, rounded once."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

import attrs
import numpy as np

from streameval.exact.array_types import Floats, Ints
from streameval.exact.exact_sum import UNITS_OF_ONE, ExactSum
from streameval.exact.fixed_point import FixedPoint
from streameval.metrics.shares import mean, quotient

ReliabilityCurve = tuple[Floats, Floats, Ints | Floats]


def total(sums: Iterable[ExactSum]) -> ExactSum:
    """Add up several sums."""
    return ExactSum(sum(part.units for part in sums))


def pcopc(prediction: ExactSum, label: FixedPoint) -> float:
    """Divide predicted by observed positives (predicted click over click); nan without any."""
    return mean(prediction, label)


def ece(prediction: tuple[ExactSum, ...], label: FixedPoint, n: FixedPoint) -> float:
    """Compute the expected calibration error: sum over bins of |labels - predictions| / n.

    Naeini, Cooper and Hauskrecht (Obtaining well calibrated probabilities using Bayesian
    binning, 2015); Guo et al. (On calibration of modern neural networks, 2017) for the
    highest of several probabilities. nan without examples.
    """
    labels, predictions = label.units_of(UNITS_OF_ONE), [part.units for part in prediction]
    return mean(ExactSum(sum(map(abs, map(operator.sub, labels, predictions)))), n)


@attrs.frozen
class Bin:
    """The exact totals of the rows of one bin, which is not empty.

    Parameters
    ----------
    prediction, label, weight : Fraction
        The sums of the predictions, of the labels and of the weights.
    """

    prediction: Fraction
    label: Fraction
    weight: Fraction

    @property
    def gap(self) -> Fraction:
        """The distance between mean label and mean prediction."""
        return abs(self.label - self.prediction) / self.weight


def bins_of(prediction: tuple[ExactSum, ...], label: FixedPoint, weight: FixedPoint) -> list[Bin]:
    """List the bins that hold any weight."""
    return [
        Bin(
            prediction[index].to_fraction(),
            label[index].to_fraction(),
            weight[index].to_fraction(),
        )
        for index in np.flatnonzero(weight.is_positive()).tolist()
    ]


def max_gap(bins: Sequence[Bin]) -> float:
    """Find the largest gap of a bin; nan without examples."""
    return float(max((one.gap for one in bins), default=math.nan))


def rms_gap(bins: Sequence[Bin]) -> float:
    """Compute the root of the mean squared gap, weighted by examples; nan without examples."""
    return math.sqrt(_mean_of(bins, lambda one: one.gap**2))


def reliability(bins: Sequence[Bin]) -> float:
    """Compute the mean squared gap, weighted by examples (Murphy, 1973); nan without examples."""
    return _mean_of(bins, lambda one: one.gap**2)


def resolution(bins: Sequence[Bin]) -> float:
    """Compute the mean squared distance of the bins' labels from their mean (Murphy, 1973)."""
    base = _base_rate(bins)
    return _mean_of(bins, lambda one: (one.label / one.weight - base) ** 2)


def uncertainty(bins: Sequence[Bin]) -> float:
    """Compute the variance of the labels (Murphy, 1973); nan without examples."""
    base = _base_rate(bins)
    return float(base * (1 - base)) if bins else math.nan


def entropy(weights: Sequence[Fraction]) -> float:
    """Compute the entropy of classes with these weights, in nats; nan without examples."""
    total = sum(weights)
    shares = [float(weight / total) for weight in weights if weight]
    return -math.fsum(share * math.log(share) for share in shares) if shares else math.nan


def gini_impurity(weights: Sequence[Fraction]) -> Fraction:
    """Compute the Brier score of always predicting the share of each of these classes.

    ``1 - sum(share**2)``, of the sum over classes; 0 without examples.
    """
    total = sum(weights)
    squares = [(weight / total) ** 2 for weight in weights] if total else [Fraction(1)]
    return 1 - sum(squares, Fraction(0))


def d2(loss: Fraction | float, null: Fraction | float) -> float:
    """Compute the share of the loss of a constant prediction that is avoided.

    ``1 - loss / null``, at most 1; 0 is as good as always predicting the shares of the classes. nan
    where these leave nothing to predict, because all examples are of one class.
    """
    return float(1 - loss / null) if null > 0 else math.nan


def pcopc_of(bins: Sequence[Bin]) -> Floats:
    """Divide the predictions of each bin by its labels; nan without any."""
    return np.array([quotient(one.prediction, one.label) for one in bins])


def _mean_of(bins: Sequence[Bin], value: Callable[[Bin], Fraction]) -> float:
    return quotient(sum(one.weight * value(one) for one in bins), sum(one.weight for one in bins))


def _base_rate(bins: Sequence[Bin]) -> Fraction:
    total = sum(one.weight for one in bins)
    return sum((one.label for one in bins), Fraction(0)) / total if bins else Fraction(0)


def reliability_curve(
    prediction: tuple[ExactSum, ...], label: FixedPoint, weight: FixedPoint
) -> ReliabilityCurve:
    """Compute mean prediction, mean label and weight of each bin that holds any weight."""
    occupied = np.flatnonzero(weight.is_positive())
    means = [mean(prediction[index], weight[index]) for index in occupied]
    rates = [mean(label[index], weight[index]) for index in occupied]
    return np.array(means), np.array(rates), weight[occupied].to_numbers()
