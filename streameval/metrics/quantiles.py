"""Quantiles of weighted numbers, some of which are known only by bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from streameval.exact.fixed_point import FixedPoint
from streameval.exact.score_keys import scores_of
from streameval.states.cells import Cells

Floats = npt.NDArray[np.float64]


def quantile(values: Floats, weights: FixedPoint, q: float, *, is_whole: bool) -> float:
    """Compute a quantile of one or more weighted numbers.

    With whole weights, it is `numpy.quantile` of the repeated numbers: interpolated between the two
    whose ranks enclose ``q * (n - 1)``. With other weights, it is the smallest number such that at
    least a share q of the weight is at most this number; if the share is exactly q, it is the
    middle between this number and the next. `numpy.quantile` calls this "averaged_inverted_cdf".
    Neither falls when a number rises.

    Parameters
    ----------
    values : float64 array, shape (n,)
        At least one.
    weights : FixedPoint, shape (n,)
        Above 0.
    q : float
        In [0, 1]; read as the decimal that Python prints.
    is_whole : bool
        Whether weights are repeats.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.array([0.25, 1.0])
    >>> quantile(values, FixedPoint(np.array([1, 1])), 0.5, is_whole=True)
    0.625
    >>> quantile(values, FixedPoint(np.array([3, 1])), 0.5, is_whole=True)
    0.25
    """
    order = np.argsort(values, kind="stable")
    ordered, units = values[order], weights[order].units()
    ends = np.cumsum(np.array(units, dtype=object))
    if not is_whole:
        target = Fraction(repr(q)) * ends[-1]
        first = int(np.argmax(ends >= target))
        is_met = ends[first] == target and first + 1 < len(ordered)
        return float((ordered[first] + ordered[first + is_met]) / 2)
    rank = (ends[-1] - 1) * q
    below = min(math.floor(rank), ends[-1] - 1)
    low, high = (
        float(ordered[np.argmax(ends > at)]) for at in (below, min(below + 1, ends[-1] - 1))
    )
    share: float = rank - below
    # as NumPy does, from the nearer end
    return low + (high - low) * share if share < 0.5 else high - (high - low) * (1.0 - share)


def quantile_ends(
    lows: Sequence[Cells],
    highs: Sequence[Cells],
    q: float,
    *,
    is_whole: bool,
    are_logs: bool,
) -> tuple[float, float]:
    """Bound a quantile of values, given cells of lower and upper bounds, or of their logarithms.

    A value is between the ends of its cell. A cell of several values has one at either end, so the
    smallest possible weight counts there: 1 with whole weights, else ``2**-62``.
    """
    ends = []
    for tables, is_low in ((lows, True), (highs, False)):
        values, weights = _at_ends(tables, is_whole=is_whole, is_low=is_low)
        if are_logs:
            values = np.array([math.exp(value) for value in values.tolist()])
        ends.append(quantile(values, weights, q, is_whole=is_whole))
    return ends[0], ends[1]


def _at_ends(tables: Sequence[Cells], *, is_whole: bool, is_low: bool) -> tuple[Floats, FixedPoint]:
    """Put the weight of each cell at one end, except for the smallest weight at the other."""
    cells = Cells.concatenated(tables)
    ends = cells.lo if is_low else cells.hi
    values, weights = scores_of(ends, "real"), cells.pos
    wide = np.flatnonzero(cells.lo != cells.hi)
    others = scores_of((cells.hi if is_low else cells.lo)[wide], "real")
    one, zero = np.ones(len(wide), dtype=np.int64), np.zeros(len(wide), dtype=np.int64)
    moved = FixedPoint(one) if is_whole else FixedPoint(zero, one)
    taken = moved.scatter(wide, len(values))
    return np.concatenate([values, others]), FixedPoint.concatenate([weights - taken, moved])
