"""Sampling intervals of any metric from its values without one group of the data at a time.

The jackknife that deletes a group (Quenouille, Notes on bias in estimation, 1956; Shao and Tu, The
jackknife and bootstrap, 1995, 2.3) needs no formula of a metric. If dependent rows always share a
group, groups are independent, and its variance is right however rows within a group depend on each
other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from streameval.metrics.bounded import Interval
from streameval.metrics.intervals import UNDEFINED, effective_draws, student, wilson

"""The lowest and the highest possible value of a metric, which may be infinite."""


def jackknife_variance(value: float, without: Sequence[float]) -> float:
    """Compute the variance of a metric: ``(G - 1) / G * sum of (v_g - v)**2``.

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
        Without variance, for G draws; the limits, if they are finite and independent rows have no
        interval either, or if the metric is undefined without one of the groups: one cluster
        decides everything. nan if the metric, its variance or the interval of independent rows is
        undefined, or if it does not vary between groups and has no two limits.

    Examples
    --------
    >>> low, high = jackknife_interval(0.9, [0.89, 0.92, 0.9, 0.89] * 5, (0.0, 1.0), 1.96)
    >>> round(low, 3), round(high, 3)
    (0.736, 0.967)
    >>> jackknife_interval(1.0, [1.0] * 20, (0.0, 1.0), 1.96)
    (0.0, 1.0)
    """
    low, high = _of_groups(value, without, limits, z, is_alone=plain is None)
    if plain is None:
        return low, high
    if math.isnan(low) or math.isnan(plain[0]):
        return UNDEFINED
    return min(low, plain[0]), max(high, plain[1])


def _of_groups(
    value: float, without: Sequence[float], limits: Interval, z: float, *, is_alone: bool
) -> Interval:
    """Compute the interval that follows from the groups."""
    variance = jackknife_variance(value, without)
    low, high = limits
    is_bounded = math.isfinite(high - low)
    if math.isnan(variance) or (is_alone and not variance):
        is_wide = is_bounded and len(without) > 1 and not math.isnan(value)
        return limits if is_wide else UNDEFINED
    t = z * student(z, len(without))
    if is_bounded:
        share = (value - low) / (high - low)
        draws = effective_draws(share, variance / (high - low) ** 2, float(len(without)))
        ends = wilson(share, draws, t)
        return (
            min(low + ends[0] * (high - low), value),
            max(low + ends[1] * (high - low), value),
        )
    if not variance > 0.0 or not math.isfinite(variance):
        return UNDEFINED
    reach = t * math.sqrt(variance)
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
