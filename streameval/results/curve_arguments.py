"""Checks of the arguments that the metrics of a curve take."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from streameval.configs.options import finite_number, real_number
from streameval.errors import InvalidInputError
from streameval.inputs.arrays import as_array, as_scores, check_vector

Floats = npt.NDArray[np.float64]


def threshold_value(value: Any) -> float:
    """Check a threshold: any number but nan."""
    number = real_number(value, name="threshold")
    if math.isnan(number):
        raise InvalidInputError("must be a number, got nan", argument="threshold")
    return number


def threshold_values(value: Any) -> Floats:
    """Check an array of thresholds: any numbers but nan."""
    array = as_array(value, name="thresholds")
    check_vector(array, rows=None, name="thresholds")
    return as_scores(array, name="thresholds").copy()


def rate_value(value: Any, *, name: str) -> float:
    """Check a share in [0, 1]."""
    number = finite_number(value, name=name)
    if not 0.0 <= number <= 1.0:
        raise InvalidInputError(f"must lie in [0, 1], got {number!r}", argument=name)
    return number


def positive_rate_value(value: Any, *, name: str) -> float:
    """Check a share in (0, 1]."""
    number = rate_value(value, name=name)
    if not number:
        raise InvalidInputError("must be above 0", argument=name)
    return number


def confidence_value(value: Any) -> float:
    """Check the least probability of a likelier class, in [0.5, 1]."""
    number = rate_value(value, name="confidence")
    if number < 0.5:
        raise InvalidInputError(
            "must be at least 0.5, since one of two classes has that", argument="confidence"
        )
    return number


def probability_below_1(value: Any, *, name: str) -> float:
    """Check a probability in [0, 1)."""
    number = rate_value(value, name=name)
    if number == 1.0:
        raise InvalidInputError("must be below 1", argument=name)
    return number


def cost_value(value: Any, *, name: str) -> float:
    """Check a cost, which must not be negative."""
    number = finite_number(value, name=name)
    if number < 0.0:
        raise InvalidInputError(f"must be at least 0, got {number!r}", argument=name)
    return number


def max_fpr_value(value: Any) -> float:
    """Check a rate above 0; below 2**-1000, areas would underflow."""
    number = finite_number(value, name="max_fpr")
    if not 2.0**-1000 <= number <= 1.0:
        raise InvalidInputError(f"must lie in [2**-1000, 1], got {number!r}", argument="max_fpr")
    return number


def beta_value(value: Any) -> float:
    """Check a beta, and clip it to 2**100, where F equals recall to the last bit."""
    number = real_number(value, name="beta")
    if not number >= 0:
        raise InvalidInputError(f"must be at least 0, got {number!r}", argument="beta")
    return min(number, 2.0**100)
