"""Quantiles of weighted numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["quantile"]

Floats = npt.NDArray[np.float64]


def quantile(values: Floats, weights: npt.NDArray[Any] | None, q: float) -> float:
    """Compute a quantile of one or more numbers, some of which may count more than others.

    Of whole weights it is `numpy.quantile` of the numbers repeated: interpolated between the two
    whose ranks enclose ``q * (n - 1)``. Of others it is the smallest number that a share q of the
    weight does not exceed, and the middle between it and the next where the share is met exactly,
    which `numpy.quantile` calls "averaged_inverted_cdf". Neither falls when a number rises.

    Parameters
    ----------
    values : float64 array, shape (n,)
        At least one.
    weights : array, shape (n,), optional
        Above 0; integers are repeats.
    q : float
        In [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> values = np.array([0.25, 1.0])
    >>> quantile(values, None, 0.5), quantile(values, np.array([3, 1]), 0.5)
    (0.625, 0.25)
    >>> quantile(values, np.array([0.75, 0.5]), 0.5)
    0.25
    """
    if weights is None:
        return float(np.quantile(values, q))
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    if weights.dtype.kind == "f":
        return _of_shares(ordered, weights[order], q)
    ends = np.cumsum(weights[order].astype(object))
    rank = (ends[-1] - 1) * q
    below = math.floor(rank)
    low, high = (
        float(ordered[np.argmax(ends > at)]) for at in (below, min(below + 1, ends[-1] - 1))
    )
    return _between(low, high, rank - below)


def _of_shares(ordered: Floats, weights: Floats, q: float) -> float:
    """Find the first number by which a share of the weight is reached."""
    ends = np.cumsum([Fraction(weight) for weight in weights.tolist()])
    target = Fraction(repr(q)) * ends[-1]
    first = int(np.argmax(ends >= target))
    is_met = ends[first] == target and first + 1 < len(ordered)
    return float((ordered[first] + ordered[first + is_met]) / 2)


def _between(low: float, high: float, share: float) -> float:
    """Interpolate as NumPy does: from the nearer end."""
    if share < 0.5:
        return low + (high - low) * share
    return high - (high - low) * (1.0 - share)
