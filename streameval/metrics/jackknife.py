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
from streameval.metrics.intervals import UNDEFINED, effective_draws, or_limits, student, wilson

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
    t = z * student(z, len(without))
    if math.isfinite(high - low):
        share = (value - low) / (high - low)
        draws = effective_draws(share, variance / (high - low) ** 2, float(len(without)))
        ends = wilson(share, draws, t)
        return (
            min(low + ends[0] * (high - low), value),
            max(low + ends[1] * (high - low), value),
        )
    if not 0.0 < variance < math.inf:
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
