"""Quantiles of weighted numbers, some of which are known only by bounds, and their intervals."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from streameval.exact.array_types import Floats
from streameval.exact.fixed_point import FixedPoint
from streameval.exact.score_keys import Keys, scores_of
from streameval.metrics.bounded import Bounded, Interval
from streameval.metrics.evidence import deviance, log_binomial
from streameval.states.cells import Cells

_MAX_FLOAT_RANK = 2**53
_MAX_SUMMED = 2.0**14  # a variance of ranks up to which tails are summed
_NEGLIGIBLE = 2.0**-60


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
        first = bisect_left(ends, target)
        is_reached = ends[first] == target and first + 1 < len(ordered)
        return float((ordered[first] + ordered[first + is_reached]) / 2)
    # as NumPy does, while the product of floats is close enough
    rank = (ends[-1] - 1) * (q if ends[-1] <= _MAX_FLOAT_RANK else Fraction(q))
    below = min(math.floor(rank), ends[-1] - 1)
    low, high = (
        float(ordered[bisect_right(ends, at)]) for at in (below, min(below + 1, ends[-1] - 1))
    )
    share = float(rank - below)
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


def bounded_quantile(cells: Cells, q: float) -> Bounded:
    """Compute a quantile of numbers in cells as `quantile` does, with certified bounds.

    Weights are repeats while none has a fraction; nan without numbers.
    """
    if not len(cells):
        return Bounded(math.nan)
    low, high = quantile_ends([cells], [cells], q, is_whole=cells.pos.is_whole, are_logs=False)
    return Bounded(min(max(float(cell_quantile(cells, q)), low), high), low, high)


def cell_quantile(cells: Cells, level: float) -> Bounded:
    """Bound the smallest number such that a share of the weight is at most that number.

    If the share is met exactly, the quantile is the middle between that number and the next, like
    the median. The level is read as a decimal: three of ten numbers meet 0.3 exactly.

    Parameters
    ----------
    cells : Cells
        The cells; the weights of their positives count.
    level : float
        In [0, 1].
    """
    if not len(cells):
        return Bounded(math.nan)
    units = cells.pos.units()
    reached = np.cumsum(np.array(units, dtype=object))
    target = Fraction(repr(level)) * reached[-1]
    first = bisect_left(reached, target)
    low, high = (
        Fraction(scores_of(ends[first : first + 1], "real").item()) for ends in (cells.lo, cells.hi)
    )
    # the first and the last number of a cell are known
    if not target:
        return Bounded(float(low))
    if reached[first] == target:
        after = scores_of(cells.lo[first + 1 : first + 2], "real")
        return Bounded(float((high + Fraction(after.item())) / 2 if after.size else high))
    share = 1 - Fraction(reached[first] - target) / units[first]
    return Bounded(*map(float, (low + (high - low) * share, low, high)))


def quantile_interval(cells: Cells, level: float, z: float) -> Interval:
    """Compute the interval of a quantile from the order of the numbers alone.

    Of n independent numbers, as many are at most the quantile as a binomial variable of n draws
    with the chance `level` says. So it lies between two of the numbers in order, whose ranks leave
    that variable outside with at most half the error probability to each side (Hahn and Meeker,
    Statistical intervals, 1991, section 5.2), whatever their distribution. An end is infinite if
    there are too few numbers for such a rank.

    Parameters
    ----------
    cells : Cells
        The cells, one or more, with whole weights; those of the positives count.
    level : float
        In [0, 1].
    z : float
        The number of deviations.
    """
    reached = np.cumsum(cells.pos.whole)
    n = int(reached[-1])
    tail = math.erfc(z / math.sqrt(2.0)) / 2.0
    rest = float(1 - Fraction(repr(level)))
    first, last = _rank(n, level, tail), n + 1 - _rank(n, rest, tail)
    low, high = -math.inf, math.inf
    if first:
        low = _at(cells.lo, int(np.searchsorted(reached, first)))
    if last <= n:
        high = _at(cells.hi, int(np.searchsorted(reached, last)))
    return low, high


def _at(keys: Keys, index: int) -> float:
    return float(scores_of(keys[index : index + 1], "real").item())


def _rank(n: int, share: float, tail: float) -> int:
    """Find the largest k such that fewer than k of n draws hit with a chance of at most `tail`."""
    low, high = 0, int(n * share)
    while low < high:
        middle = (low + high + 1) // 2
        if _chance(middle - 1, n, share) <= tail:
            low = middle
        else:
            high = middle - 1
    return low


def _chance(hits: int, n: int, share: float) -> float:
    """Compute the chance of at most `hits` of n draws, fewer than expected.

    If there are many, it is that of the signed root of the deviance.
    """
    misses = n - hits
    if n * share * (1.0 - share) > _MAX_SUMMED:
        off = deviance(hits + 0.5, n * share) + deviance(misses - 0.5, n * (1.0 - share))
        return math.erfc(math.sqrt(off)) / 2.0
    odds = (1.0 - share) / share
    total = term = 1.0
    for k in range(hits, 0, -1):
        term *= k / (n - k + 1) * odds
        total += term
        if term < _NEGLIGIBLE * total:
            break
    return math.exp(log_binomial(hits, misses, share)) * total
