"""Metrics of probabilities, from exact sums; every division is of exact numbers, rounded once."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from streameval.exact.exact_sum import ExactSum
from streameval.exact.fixed_point import FixedPoint
from streameval.metrics.regression import mean

__all__ = ["ReliabilityCurve", "ece", "mean", "pcopc", "reliability_curve", "total"]

Floats = npt.NDArray[np.float64]
ReliabilityCurve = tuple[Floats, Floats, npt.NDArray[np.int64] | npt.NDArray[np.float64]]


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
    highest of several probabilities. nan of nothing.
    """
    unit = int(label.unit / ExactSum(1).to_fraction())
    pairs = zip(label.units(), prediction, strict=True)
    return mean(ExactSum(sum(abs(units * unit - part.units) for units, part in pairs)), n)


def reliability_curve(
    prediction: tuple[ExactSum, ...], label: FixedPoint, weight: FixedPoint
) -> ReliabilityCurve:
    """Compute mean prediction, mean label and weight of each bin that holds any weight."""
    occupied = np.flatnonzero(weight.is_positive())
    means = [mean(prediction[index], weight[index]) for index in occupied]
    rates = [mean(label[index], weight[index]) for index in occupied]
    return np.array(means), np.array(rates), weight[occupied].to_numbers()
