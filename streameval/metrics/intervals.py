"""Sampling intervals: how far a metric of these counts may be from its value in the population.

Examples are treated as independent draws, so counts are multinomial. The variance of a metric
is that of its linear approximation (the delta method): with ``g`` the derivative of the metric
by the count of each cell, it is ``sum of count * g**2``, since every metric here is unchanged
when all counts are multiplied. A metric in [0, 1] with value ``v`` and variance ``s2`` gets
Wilson's interval for ``v (1 - v) / s2`` draws (Wilson, Probable inference, 1927). For accuracy,
precision, recall, specificity and Jaccard, that number is exactly the denominator. A
correlation gets Fisher's interval (1921) on the atanh scale, and products and ratios of proportions
combine Wilson's on the log scale.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np

from streameval.configs.options import real_number
from streameval.errors import InvalidInputError
from streameval.exact.array_types import Floats
from streameval.metrics.bounded import Interval
from streameval.metrics.confusion import ClassMetric
from streameval.metrics.shares import ratios

UNDEFINED: Interval = (math.nan, math.nan)
_FAR_OUT = 2.576  # deviations of a level just above 99%


def paired_proportions(only_a: float, only_b: float, n: float, z: float) -> Interval:
    """Compute Tango's score interval of the difference of two proportions of the same examples.

    The limits are the differences d at which the score statistic

        (only_a - only_b - n d) / sqrt(n (2 q + d (1 - d)))

    is `z` and ``-z``, with q the most likely share of `only_b` given d. Without examples that only
    one has, it reaches ``z**2 / (n + z**2)`` to both sides. Tango, Equivalence test and confidence
    interval for the difference in proportions for the paired-sample design (1998).

    Parameters
    ----------
    only_a, only_b : float
        The weights of the examples that are hits of one alone.
    n : float
        The weight of all examples, above zero.
    z : float
        The number of deviations.
    """
    return -_upper_limit(only_b, only_a, n, z), _upper_limit(only_a, only_b, n, z)


def _upper_limit(more: float, less: float, n: float, z: float) -> float:
    """Find the difference above the observed one at which the score statistic is ``-z``."""

    def is_below(d: float) -> bool:
        linear = (2.0 * n - more + less) * d - more - less
        # never below 0 but for rounding, near a difference of -1
        root = math.sqrt(max(linear**2 + 8.0 * n * less * d * (1.0 - d), 0.0))
        # of the two forms of the root of a quadratic equation, the one without cancellation
        if linear > 0.0:
            share = 2.0 * less * d * (1.0 - d) / (root + linear)
        else:
            share = (root - linear) / (4.0 * n)
        return n * d - more + less < z * math.sqrt(n * max(2.0 * share + d * (1.0 - d), 0.0))

    low, high = (more - less) / n, 1.0
    while low < (middle := (low + high) / 2.0) < high:
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return high


def normal_quantile(level: float) -> float:
    """Compute z such that a standard normal variable is within z of 0 with probability `level`."""
    if type(level) is not float:
        level = real_number(level, name="level")
    if not 0.0 <= level < 1.0:
        raise InvalidInputError(f"must lie in [0, 1), got {level!r}", argument="level")
    return _quantile(level)


_quantile = lru_cache(maxsize=64)(lambda level: -NormalDist().inv_cdf((1.0 - level) / 2.0))
"""A command or a monitor reads all of its numbers at one level."""


def level_of_each(level: float, n: int) -> float:
    """Return the level of each of `n` intervals that hold at once (Bonferroni); 0 stays."""
    return 1.0 - (1.0 - level) / max(n, 1) if level else 0.0


def student(z: float, n: float) -> float:
    """Compute by how much the interval of a mean of few numbers is wider than that of many.

    It is t / z, for the quantile t of Student's distribution with n - 1 degrees of freedom: for
    more than two numbers up to the fourth power of 1 / (n - 1) (Abramowitz and Stegun, 1964,
    26.7.5), which is within 1 % at a level of 0.95.
    """
    if n == 2.0:
        return math.tan(math.erf(z / math.sqrt(2.0)) * math.pi / 2.0) / z
    square, rest = z**2, 1.0 / (n - 1.0)
    terms = (
        (square + 1.0) / 4.0,
        (5.0 * square**2 + 16.0 * square + 3.0) / 96.0,
        (3.0 * square**3 + 19.0 * square**2 + 17.0 * square - 15.0) / 384.0,
        (79.0 * square**4 + 776.0 * square**3 + 1482.0 * square**2 - 1920.0 * square - 945.0)
        / 92160.0,
    )
    return 1.0 + math.fsum(term * rest ** (power + 1) for power, term in enumerate(terms))


def wilson(value: float, draws: float, z: float) -> Interval:
    """Compute Wilson's score interval of a proportion observed in `draws` draws.

    Above a level of 99%, as for many intervals that hold at once, it leaves out shares near 0 and 1
    that are likely enough. So there, it holds the interval of the likelihood ratio too: all shares
    whose deviance from the observed one is at most ``z**2``.
    """
    if not draws > 0.0 or math.isnan(value):
        return UNDEFINED
    share = z * z / draws
    middle = (value + share / 2.0) / (1.0 + share)
    half = math.sqrt(value * (1.0 - value) / draws + share / (4.0 * draws)) * z / (1.0 + share)
    low, high = min(max(middle - half, 0.0), value), max(min(middle + half, 1.0), value)
    if z > _FAR_OUT:
        low, high = min(low, _likely(value, share)), max(high, 1.0 - _likely(1.0 - value, share))
    return low, high


def _likely(observed: float, deviance: float) -> float:
    """Find the share below the observed one that has this deviance from it, for one draw."""
    if observed in (0.0, 1.0):
        return observed * math.exp(-deviance / 2.0)
    low, high = 0.0, observed
    for _ in range(40):
        share = (low + high) / 2.0
        hits = observed * math.log1p((observed - share) / share)
        misses = (1.0 - observed) * math.log1p((share - observed) / (1.0 - share))
        if 2.0 * (hits + misses) > deviance:
            low = share
        else:
            high = share
    return low


def score_reach(variance: float, unit: float, z: float) -> float:
    """Compute how far the interval of a difference reaches to both sides.

    `unit` is a variance that every squared deviation adds, as it does in score intervals, so that
    differences which no row has shown yet have a reach too.
    """
    return z * math.sqrt(variance + z**2 * unit)


def two_sided_pvalue(difference: float, variance: float, unit: float = 0.0) -> float:
    """Compute the p-value of a difference: of the z at which `score_reach` just touches 0.

    Without any variance, the p-value of a difference of 0 is 1, and that of any other is nan.
    """
    if math.isnan(variance) or not difference:
        return math.nan if math.isnan(variance) else 1.0
    # the root of z**2 (variance + z**2 unit) = difference**2, over 2
    scale = variance + math.hypot(variance, 2.0 * math.sqrt(unit) * difference)
    return math.erfc(math.sqrt(difference / scale * difference)) if scale > 0.0 else math.nan


def fisher(value: float, variance: float, z: float) -> Interval:
    """Compute an interval of a correlation between -1 and 1 on the atanh scale."""
    reach = z * math.sqrt(variance) / (1.0 - value * value)
    middle = math.atanh(value)
    return min(math.tanh(middle - reach), value), max(math.tanh(middle + reach), value)


def or_limits(ends: tuple[Any, Any], value: Any, limits: Interval) -> tuple[Any, Any]:
    """Return an interval, or the whole range of a metric where rows do not say how far off it is.

    It is nan where the metric itself is, and nowhere else. Arrays hold an interval each.
    """
    low, high = ends
    if isinstance(low, np.ndarray):
        is_open, gap = np.isnan(low), np.where(np.isnan(value), math.nan, 0.0)
        return np.where(is_open, limits[0], low) + gap, np.where(is_open, limits[1], high) + gap
    if math.isnan(value):
        return UNDEFINED
    return limits if math.isnan(low) else ends


def hull(intervals: Sequence[Interval]) -> Interval:
    """Cover all intervals; nan if one of them is."""
    lows, highs = zip(*intervals, strict=True)
    return UNDEFINED if any(map(math.isnan, lows)) else (min(lows), max(highs))


def combined(distances: Floats, *, independent: bool) -> float:
    """Combine the distances to the limits of several terms into the distance for their sum.

    Zou and Donner's MOVER (Construction of confidence limits about effect measures, 2008)
    for independent terms. For dependent terms, the sum of the distances, which is never too short.
    """
    if independent:
        return math.sqrt(math.fsum(distances * distances))
    return math.fsum(distances)


def product_of_powers(
    value: float, shares: Sequence[tuple[float, float]], powers: Sequence[float], z: float
) -> Interval:
    """Compute the interval of a product of powers of independent proportions.

    The distances to the limits of each, which are Wilson's, combine on the log scale (MOVER:
    Donner and Zou, Closed-form confidence intervals for functions of the normal mean and standard
    deviation, 2012). Where a proportion of 0 has no logarithm, the product reaches to the product
    of all upper limits.

    Parameters
    ----------
    value : float
        The product.
    shares : sequence of (hits, draws)
    powers : sequence of float
    z : float
    """
    lows, middles, highs = [], [], []
    for (hits, draws), power in zip(shares, powers, strict=True):
        share = hits / draws
        low, high = (power * _log(end) for end in wilson(share, draws, z))
        lows.append(min(low, high))
        middles.append(power * _log(share))
        highs.append(max(low, high))
    if not value:
        return 0.0, math.exp(math.fsum(highs))
    below = math.hypot(*map(operator.sub, middles, lows))
    above = math.hypot(*map(operator.sub, highs, middles))
    return value * math.exp(-below), value * math.exp(above)


def _log(value: float) -> float:
    return math.log(value) if value > 0.0 else -math.inf


def unseen(matrix: Floats, gradient: Floats) -> float:
    """Compute the variance that one further example of each true class adds, right by half.

    `gradient` holds the derivatives of a metric by each cell of the matrix. A wrong example is of
    any of the other classes alike.
    """
    right = np.diagonal(gradient)[:, None]
    of_class = ((right - gradient) ** 2).sum(axis=1)[matrix.any(axis=1)]
    return math.fsum(of_class) / (4.0 * (len(matrix) - 1))


def effective_draws(value: float, variance: float, fallback: float) -> float:
    """Compute the number of draws of a proportion with this value and variance.

    At 0 and 1 the linear variance is 0 and carries no information, so the result is `fallback`.
    """
    spread = value * (1.0 - value)
    return spread / variance if spread > 0.0 and variance > 0.0 else fallback


def proportion(value: float, variance: float, fallback: float, z: float) -> Interval:
    """Compute Wilson's interval of a proportion with a variance; see `effective_draws`."""
    return wilson(value, effective_draws(value, variance, fallback), z)


def ratio_gradient(ratio: ClassMetric, outcomes: Floats, weights: Floats) -> Floats:
    """Compute the derivatives of the weighted mean of a ratio by the outcomes, shape (4, K).

    Classes whose denominator is 0 are constants.
    """
    above, below = ratio.parts(outcomes)
    share = ratios(weights, below)
    value = ratios(above, below)
    numerator, denominator = ratio.slopes(outcomes)
    return np.asarray((numerator - value * denominator) * share)


def matrix_variance(matrix: Floats, by_outcome: Floats) -> float:
    """Sum count * g**2 over a (K, K) matrix, given the derivatives by tp, fp, fn and tn."""
    gradient = matrix_gradient(by_outcome)
    return math.fsum((matrix * gradient * gradient).ravel())


def matrix_gradient(by_outcome: Floats) -> Floats:
    """Compute derivatives by each cell of a (K, K) matrix, from the derivatives by outcome.

    An example of truth i predicted as j is a miss of i, a false alarm of j and a true negative
    of the others.
    """
    tp, fp, fn, tn = by_outcome
    others = math.fsum(tn)
    gradient = (fn - tn)[:, None] + (fp - tn)[None, :] + others
    np.fill_diagonal(gradient, tp - tn + others)
    return np.asarray(gradient)


def table_deviation(outcomes: Floats, by_outcome: Floats) -> float:
    """Bound the standard deviation of a mean over K two-way tables, shape (4, K).

    The labels of one example may depend on each other in any way. The deviation of a sum is at
    most the sum of the deviations, so the bound is never too small.
    """
    totals = outcomes.sum(axis=0)
    mean = ratios((outcomes * by_outcome).sum(axis=0), totals)
    variances = (outcomes * (by_outcome - mean) ** 2).sum(axis=0)
    return math.fsum(np.sqrt(variances))


def kappa_gradient(matrix: Floats) -> Floats:
    """Compute derivatives of Cohen's kappa by each cell (Fleiss, Cohen and Everitt, 1969)."""
    shares, rows, columns = _shares(matrix)
    observed, chance = math.fsum(np.diagonal(shares)), math.fsum(rows * columns)
    of_chance = columns[:, None] + rows[None, :]
    return _centred(
        (np.eye(len(rows)) * (1.0 - chance) - (1.0 - observed) * of_chance) / (1.0 - chance) ** 2,
        matrix,
    )


def weighted_kappa_gradient(matrix: Floats, penalty: Floats) -> Floats:
    """Compute derivatives of weighted kappa by each cell (Fleiss, Cohen and Everitt, 1969)."""
    shares, rows, columns = _shares(matrix)
    by_row, by_column = penalty @ columns, rows @ penalty
    observed = math.fsum((shares * penalty).ravel())
    expected = math.fsum(rows * by_row)
    of_chance = by_row[:, None] + by_column[None, :]
    return _centred((observed / expected * of_chance - penalty) / expected, matrix)


def matthews_gradient(matrix: Floats) -> Floats:
    """Compute derivatives of Gorodkin's correlation by each cell of the matrix."""
    shares, rows, columns = _shares(matrix)
    covariance = math.fsum(np.diagonal(shares)) - math.fsum(rows * columns)
    of_rows, of_columns = 1.0 - math.fsum(rows * rows), 1.0 - math.fsum(columns * columns)
    by_covariance = np.eye(len(rows)) - columns[:, None] - rows[None, :]
    by_spread = rows[:, None] / of_rows + columns[None, :] / of_columns
    gradient = (by_covariance + covariance * by_spread) / math.sqrt(of_rows * of_columns)
    return _centred(gradient, matrix)


def _shares(matrix: Floats) -> tuple[Floats, Floats, Floats]:
    shares = matrix / math.fsum(matrix.ravel())
    return shares, shares.sum(axis=1), shares.sum(axis=0)


def _centred(gradient: Floats, matrix: Floats) -> Floats:
    """Subtract the mean: the metric does not change if all counts grow by the same factor."""
    n = math.fsum(matrix.ravel())
    return np.asarray((gradient - math.fsum((matrix * gradient).ravel()) / n) / n)


def jackknife_variance(value: float, without: Sequence[float]) -> float:
    """Compute the variance of a metric: ``(G - 1) / G * sum of (v_g - v)**2``.

    The jackknife that deletes a group (Quenouille, Notes on bias in estimation, 1956; Shao and Tu,
    The jackknife and bootstrap, 1995, 2.3) needs no formula of a metric. If dependent rows always
    share a group, groups are independent, and its variance is right however rows within a group
    depend on each other.

    Parameters
    ----------
    value : float
        The metric ``v`` of all rows.
    without : sequence of float
        The metric ``v_g`` without each of G groups.

    Returns
    -------
    float
        nan with fewer than two groups, or if the metric is undefined without one of them.

    Examples
    --------
    Of a mean of groups of one row, it is the variance of the rows over their number:

    >>> jackknife_variance(2.0, [2.5, 2.0, 1.5])
    0.3333333333333333
    """
    n = len(without)
    if n < 2:
        return math.nan
    return (n - 1) / n * math.fsum((one - value) ** 2 for one in without)


def jackknife_interval(
    value: float,
    without: Sequence[float],
    limits: Interval,
    z: float,
    plain: Interval | None = None,
) -> Interval:
    """Compute the interval of a metric by the jackknife, with Student's t for the G groups.

    Between two limits it is Wilson's interval for the draws with the same variance; above or below
    one limit, it is normal on the log scale. It contains the interval of independent rows: with few
    examples of a class, most groups agree whatever another sample would hold, and their variance is
    far too small.

    Parameters
    ----------
    value, without
        As for `jackknife_variance`.
    limits : (low, high)
        The lowest and the highest possible value.
    z : float
        The number of deviations of a normal interval.
    plain : (low, high), optional
        The interval of independent rows; None if the metric has none.

    Returns
    -------
    (low, high)
        Without variance, for G draws; the limits, where neither groups nor independent rows say how
        far off the metric may be, or if it is undefined without one of the groups: one cluster
        decides everything. nan if the metric is.

    Examples
    --------
    >>> low, high = jackknife_interval(0.9, [0.89, 0.92, 0.9, 0.89] * 5, (0.0, 1.0), 1.96)
    >>> round(low, 3), round(high, 3)
    (0.736, 0.967)
    >>> jackknife_interval(1.0, [1.0] * 20, (0.0, 1.0), 1.96)
    (0.0, 1.0)
    """
    ends = _of_groups(value, without, limits, z, is_alone=plain is None)
    low, high = or_limits(ends, value, limits)
    if plain is None:
        return low, high
    return min(low, plain[0]), max(high, plain[1])


def _of_groups(
    value: float, without: Sequence[float], limits: Interval, z: float, *, is_alone: bool
) -> Interval:
    """Compute the interval that follows from the groups; nan if none does."""
    variance = jackknife_variance(value, without)
    low, high = limits
    if math.isnan(variance) or (is_alone and not variance):
        return UNDEFINED
    few = student(z, len(without)) ** 2
    if math.isfinite(high - low):
        share = (value - low) / (high - low)
        ends = proportion(share, variance * few / (high - low) ** 2, len(without) / few, z)
        return (
            min(low + ends[0] * (high - low), value),
            max(low + ends[1] * (high - low), value),
        )
    if not 0.0 < variance < math.inf:
        return UNDEFINED
    reach = z * math.sqrt(variance * few)
    if math.isfinite(low):
        return _above(value - low, reach, low) if value > low else UNDEFINED
    if math.isfinite(high):
        below, above = _above(high - value, reach, 0.0) if value < high else UNDEFINED
        return high - above, high - below
    return value - reach, value + reach


def _above(distance: float, reach: float, low: float) -> Interval:
    """Compute an interval on the scale of the logarithm of the distance from a limit."""
    factor = math.exp(min(reach / distance, 700.0))
    return low + distance / factor, low + distance * factor


_SMALLEST = 1e-300
_LARGE = 100.0  # from here on, the series of the gamma ratio is exact to the last bits


def student_pvalue(t: float, degrees: float) -> float:
    """Compute the two-sided p-value of a t statistic.

    It is the regularized incomplete beta function ``I_x(degrees / 2, 1 / 2)`` at
    ``x = degrees / (degrees + t**2)`` (Abramowitz and Stegun, 1964, 26.5.27), by its continued
    fraction (26.5.8), to nine digits and more.

    Parameters
    ----------
    t : float
        The statistic; infinite ones have the p-value 0.
    degrees : float
        The degrees of freedom, above 0.

    Returns
    -------
    float
        In [0, 1]; nan for a nan.

    Examples
    --------
    >>> round(student_pvalue(2.0, 10), 6)
    0.073388
    """
    a, square = degrees / 2.0, t * t
    if not math.isfinite(square):
        return math.nan if math.isnan(t) else 0.0
    x, rest = degrees / (degrees + square), square / (degrees + square)
    # x**a * (1 - x)**(1 / 2) / B(a, 1 / 2)
    front = math.exp(_log_gamma_ratio(a) - a * math.log1p(square / degrees))
    front *= math.sqrt(rest / math.pi)
    if x < (a + 1.0) / (a + 2.5):
        return front * _fraction(x, a, 0.5) / a
    return 1.0 - front * _fraction(rest, 0.5, a) / 0.5


def _log_gamma_ratio(a: float) -> float:
    """Compute ``log(gamma(a + 1 / 2) / gamma(a))``, without cancellation for large numbers."""
    if a < _LARGE:
        return math.lgamma(a + 0.5) - math.lgamma(a)
    return math.log(a) / 2.0 - 1.0 / (8.0 * a) + 1.0 / (192.0 * a**3) - 1.0 / (640.0 * a**5)


def _fraction(x: float, a: float, b: float) -> float:
    """Compute the continued fraction of the incomplete beta function (Lentz's method)."""
    d = 1.0 / _away_from_zero(1.0 - (a + b) * x / (a + 1.0))
    c, value, m = 1.0, d, 0
    while True:
        m += 1
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        for term in (even, odd):
            d = 1.0 / _away_from_zero(1.0 + term * d)
            c = _away_from_zero(1.0 + term / c)
            value *= c * d
        if abs(c * d - 1.0) < 1e-15:
            return value


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _SMALLEST else _SMALLEST


def holm(pvalues: Sequence[float]) -> list[float]:
    """Correct p-values for their number, so that errors of the first kind are rare among all.

    The i-th smallest of m is multiplied by ``m - i + 1``, and is at least the one before it. If the
    corrected ones up to alpha are called significant, the probability of any false one is at most
    alpha, however the tests depend on each other (Holm, A simple sequentially rejective multiple
    test procedure, 1979).

    Parameters
    ----------
    pvalues : sequence of float
        nan stays nan and is not counted.

    Returns
    -------
    list of float
        In the same order, at most 1.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected = [math.nan] * len(pvalues)
    known = [index for index, one in enumerate(pvalues) if not math.isnan(one)]
    highest = 0.0
    for rank, index in enumerate(sorted(known, key=lambda index: pvalues[index])):
        highest = max(highest, min((len(known) - rank) * pvalues[index], 1.0))
        corrected[index] = highest
    return corrected
