"""Bounds of metrics by their values on the two extreme data sets of a table of cells."""

from __future__ import annotations

import math
from collections.abc import Callable

from streameval.metrics import curves
from streameval.metrics.bounded import ROUNDING, Bounded, outward
from streameval.metrics.points import CellTable, Points


def of_sums(table: CellTable, metric: Callable[[Points], float]) -> Bounded:
    """Bound a metric that is rounded more than once."""
    value = metric(table.estimate)
    if table.is_exact:
        return Bounded(value)
    return outward(metric(table.low), value, metric(table.high))


def of_shares(table: CellTable, metric: Callable[[Points], float]) -> Bounded:
    """Bound a metric of exact counts that is rounded once, so that rounding keeps the order."""
    value = metric(table.estimate)
    if table.is_exact:
        return Bounded(value)
    return Bounded(value, metric(table.low), metric(table.high))


def roc_auc(table: CellTable) -> Bounded:
    """Bound the area under the ROC curve, which is midway between those of the extreme data sets.

    Each pair of a positive and a negative in a cell of several scores counts half in the estimate,
    and nothing or in full at the ends.
    """
    value = curves.area_of(table)
    if table.is_exact:
        return Bounded(value)
    pos, neg = (part.near_floats()[table.is_wide] for part in (table.pos, table.neg))
    pairs = table.estimate.n_pos * table.estimate.n_neg
    half = float((pos * neg).sum()) / (2.0 * pairs) if pairs else math.nan
    off = (value + half) * ROUNDING  # both are rounded, and their difference may be small
    return outward(value - half - off, value, value + half + off)


def ks(table: CellTable) -> Bounded:
    """Bound the max of two distances; one rises as the other falls."""
    low, middle, high = (curves.ks(part) for part in (table.low, table.estimate, table.high))
    if table.is_exact:
        return Bounded(max(middle))
    return outward(max(low[0], high[1]), max(middle), max(high[0], low[1]))
