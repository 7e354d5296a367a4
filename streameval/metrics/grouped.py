"""The AUC within each of many groups, and their weighted mean.

GAUC after Zhu et al., Optimized cost per click in Taobao display advertising (2017): the mean
of the AUCs of the users, weighted by their impressions, over the users with both classes.
"""

from __future__ import annotations

import math

import attrs
import numpy as np

from streameval.configs import GroupWeight
from streameval.exact.array_types import Floats, Ints, Mask
from streameval.exact.fixed_point import FixedPoint
from streameval.exact.row_order import blocks
from streameval.metrics.bounded import Bounded, Interval, outward
from streameval.metrics.intervals import hull, student, wilson
from streameval.metrics.shares import quotient, ratios
from streameval.metrics.table import EXAMPLES, SHARE, Metric, Table, count_row
from streameval.metrics.values import widening
from streameval.states.cells import Cells

_BLOCK = 2**16  # cells whose temporaries stay in the cache
_ROUNDING = 2.0**-39  # far above the rounding error of an area


@attrs.frozen(eq=False)
class GroupAreas:
    """The classes and the AUC of each of G groups.

    Parameters
    ----------
    n_pos, n_neg : FixedPoint, shape (G,)
        The weight of the positives and of the negatives.
    auc, low, high : float64 array, shape (G,)
        The AUC and its bounds; nan where a class is absent.
    """

    n_pos: FixedPoint
    n_neg: FixedPoint
    auc: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, cells: Cells, sizes: Ints) -> GroupAreas:
        """Compute the AUC of each group from its cells, lowest score first."""
        if not len(sizes):
            nothing = FixedPoint.zeros(0)
            return cls(nothing, nothing, np.zeros(0), np.zeros(0), np.zeros(0))
        ends = np.append(0, np.cumsum(sizes)).tolist()
        parts = [
            cls._of_block(cells[ends[groups.start] : ends[groups.stop]], sizes[groups])
            for groups in blocks(sizes, _BLOCK)
        ]
        n_pos, n_neg = ([getattr(part, name) for part in parts] for name in ("n_pos", "n_neg"))
        return cls(
            FixedPoint.concatenate(n_pos),
            FixedPoint.concatenate(n_neg),
            np.concatenate([part.auc for part in parts]),
            np.concatenate([part.low for part in parts]),
            np.concatenate([part.high for part in parts]),
        )

    @classmethod
    def _of_block(cls, cells: Cells, sizes: Ints) -> GroupAreas:
        starts = np.cumsum(sizes) - sizes
        n_pos, n_neg = cells.pos.sum_runs(starts), cells.neg.sum_runs(starts)
        # the negatives below each cell: in all cells before it, minus those of earlier groups
        before = cells.neg.cumsum()
        below = before[:-1] - before[np.repeat(starts, sizes)]
        pos, neg = cells.pos.near_floats(), cells.neg.near_floats()
        wins = np.add.reduceat(pos * (below.near_floats() + neg / 2), starts)
        is_wide = cells.lo < cells.hi
        unsure = np.add.reduceat(np.where(is_wide, pos * neg / 2, 0.0), starts)
        pairs = n_pos.near_floats() * n_neg.near_floats()
        auc, reach = (ratios(part, pairs, math.nan) for part in (wins, unsure))
        auc = np.minimum(auc, 1.0)  # rounded wins may exceed the pairs by one ulp
        reach = np.where(reach > 0, reach + _ROUNDING, reach)
        return cls(n_pos, n_neg, auc, np.maximum(auc - reach, 0.0), np.minimum(auc + reach, 1.0))

    @property
    def is_defined(self) -> Mask:
        """Which groups have both classes."""
        return ~np.isnan(self.auc)

    def weights(self, group_weight: GroupWeight) -> Floats:
        """Compute the weight of each group in the mean."""
        if group_weight == "impressions":
            return (self.n_pos + self.n_neg).near_floats()
        if group_weight == "positives":
            return self.n_pos.near_floats()
        return np.ones(len(self.auc))


def gauc(areas: GroupAreas, group_weight: GroupWeight, *, is_exact: bool) -> Bounded:
    """Bound the weighted mean of the AUCs of the groups with both classes."""
    held = areas.is_defined
    weights = areas.weights(group_weight)[held]
    total = math.fsum(weights)
    if not total:
        return Bounded(math.nan)
    low, value, high = (
        math.fsum(weights * part[held]) / total for part in (areas.low, areas.auc, areas.high)
    )
    return Bounded(value) if is_exact else outward(low, value, high)


def gauc_confidence(
    areas: GroupAreas, group_weight: GroupWeight, mean: Bounded, z: float
) -> Interval:
    """Compute the interval of the mean of groups that are independent.

    The variance of the mean is that of the areas between groups, which holds the spread within
    groups too. It is as much wider as that of a difference of losses, with ``1 - AUC`` the loss, or
    by Student's t of as many groups as effectively have the weight, and the mean is a proportion
    with that variance. If the areas do not vary, it is a proportion of
    as many draws as there are groups, fewer if their weights differ. If cells hold several scores,
    the interval covers those of all possible data.

    Parameters
    ----------
    mean : Bounded
        The GAUC.
    z : float
        The number of deviations.
    """
    held = areas.is_defined
    weights, auc = areas.weights(group_weight)[held], areas.auc[held]
    low, high = areas.low[held], areas.high[held]
    shares = weights / math.fsum(weights)
    apart = auc - auc[0]  # exactly 0 if all areas are equal
    apart -= math.fsum(shares * apart)
    deviation = _norm(shares * apart) + _norm(shares * np.maximum(high - auc, auc - low))
    lost = (_norm(shares * (1.0 - low)) / (1.0 - mean.high)) ** 2 if mean.high < 1.0 else 1.0
    draws, ends = 1.0 / _norm(shares) ** 2, (mean.low, mean.high)
    few = max(widening(lost, is_signed=True), student(z, max(draws, 2.0)) ** 2)
    variance = deviation**2 * len(auc) / max(len(auc) - 1, 1) * few
    if variance:
        # the largest variance of numbers in [0, 1] leaves a sixth of the draws, or more
        draws = max(min(end * (1.0 - end) for end in ends) / variance, draws / 6.0)
    return hull([wilson(end, draws, z) for end in ends])


def _norm(values: Floats) -> float:
    return math.sqrt(math.fsum(values * values))


def coverage(areas: GroupAreas) -> float:
    """Compute the share of the weight in groups with both classes."""
    impressions = areas.weights("impressions")
    return quotient(math.fsum(impressions[areas.is_defined]), math.fsum(impressions))


TABLE = Table(
    EXAMPLES,
    count_row(
        "n_groups",
        "Groups",
        "The number of groups.",
        value=lambda one: len(one._state.groups),
    ),
    count_row(
        "n_averaged",
        "Groups of both classes",
        "The number of groups that hold both classes.",
        value=lambda one: int(np.count_nonzero(one._areas.is_defined)),
    ),
    count_row(
        "cells", "", "The number of bins of all groups.", value=lambda one: len(one._state.lo)
    ),
    Metric(
        name="gauc",
        value=lambda one: gauc(one._areas, one._config.group_weight, is_exact=one.exact),
        limits=SHARE,
        aliases=("auc", "roc_auc", "grouped_auc", "group_auc"),
        heading="Mean AUC (GAUC)",
        qualifier=lambda result: result._config.group_weight,
        help="The mean AUC of the groups with both classes, in [0, 1]; nan if there is none.",
        notes="Weighted by their examples, or as group_weight says.",
        formula=r"\frac{\sum_g w_g AUC_g}{\sum_g w_g}",
        better="higher",
        certified=True,
        sampling=lambda result, value, z: gauc_confidence(
            result._areas, result._config.group_weight, value, z
        ),
        why_none="it takes a group of both classes",
        why_no_evidence="the spread of a mean over groups is not kept",
        oracle="scikit-learn, roc_auc_score of each group",
        headline=1,
    ),
    Metric(
        name="coverage",
        value=lambda result: coverage(result._areas),
        limits=None,
        heading="Coverage of the examples",
        help="The share of examples in groups with both classes, in [0, 1]; nan without examples.",
        formula=r"\frac{n_{\text{both}}}{n}",
        better="higher",
        why_no_evidence="it says which groups occur, not how good the scores are",
        oracle="the definition, group by group",
        headline=2,
    ),
    task="grouped",
    made_by="GroupedAUC",
)
