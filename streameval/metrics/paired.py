"""Two models on the same rows: differences between their metrics, and their uncertainty.

DeLong, DeLong and Clarke-Pearson, Comparing the areas under two or more correlated receiver
operating characteristic curves (1988), and Sun and Xu, Fast implementation of DeLong's algorithm
(2014). The placement ``V`` of a positive is the share of the negatives that score below it, ties
counting half; that of a negative is the share of the positives above it. An area is the mean
placement of either class, so the variance of a difference of areas is that of the difference of
placements, ``D = V_a - V_b``, row by row::

    var(D of the positives) / n_pos + var(D of the negatives) / n_neg

with variances that divide by one less than their number. This equals DeLong's estimate, in terms
of differences instead of covariances.

Few examples often miss those on which the models differ, and then this variance is too small. As
for one area (`streameval.metrics.delong`), a part of the variance of random ranks is added: with
n the examples of both classes and r those of the rarer one, and for an interval of z deviations,
``z**2 (n + 1) / (12 n_pos n_neg) / (2 r)``. Without differences, that is the reach of a score
interval. The constant was chosen by simulation (docs/interval_coverage.py).

Pairs that were merged have known bounds. Let ``A`` be the mean of the estimated placements over
the rows whose keys by model A share a prefix, and ``R_a`` the root mean square distance of the
placements of single rows from it, at most; likewise ``B`` and ``R_b``. Then by the triangle
inequality the deviation of ``D`` lies within ``R_a + R_b`` of that of ``A - B``, which the pairs
of prefixes give exactly.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal, Self

import attrs
import numpy as np

from streameval.exact import Scale
from streameval.exact.array_types import Floats, Indices
from streameval.exact.fixed_point import FixedPoint
from streameval.exact.score_keys import Keys, prefixes
from streameval.metrics import envelope
from streameval.metrics.bounded import Bounded, Interval, outward
from streameval.metrics.delong import auc_confidence, variance_by_chance
from streameval.metrics.intervals import (
    score_reach,
    student_pvalue,
    two_sided_pvalue,
)
from streameval.metrics.points import CellTable
from streameval.metrics.shares import mean, ratios
from streameval.metrics.values import MeanLoss
from streameval.states.cells import Cells
from streameval.states.paired import LossSums
from streameval.states.score_pairs import ScorePairs
from streameval.states.tables import LeveledCells

Model = Literal["a", "b"]


@attrs.frozen
class Means:
    """The mean losses of two models.

    The difference of two means of the same rows has a normal interval with the variance of the row
    differences, as much wider as that of the mean of both losses of a row together.

    Parameters
    ----------
    sums : LossSums
    n : FixedPoint, shape ()
        The sum of the weights.
    largest : float
        The end of the range of the loss.
    """

    sums: LossSums
    n: FixedPoint
    largest: float

    @property
    def a(self) -> float:
        """The mean loss of A."""
        return mean(self.sums.a, self.n)

    @property
    def b(self) -> float:
        """The mean loss of B."""
        return mean(self.sums.b, self.n)

    @property
    def difference(self) -> float:
        """The mean of the loss of A minus that of B."""
        return mean(self.sums.difference, self.n)

    @property
    def pvalue(self) -> float:
        """The two-sided p-value of the difference: of the z at which `interval` ends at 0."""
        variance = self._of_difference.variance if self.n.to_fraction() >= 2 else 0.0
        if not variance:
            return self._t_pvalue
        widened = variance * self._both.widening(is_signed=True)
        return max(two_sided_pvalue(self.difference, widened), self._t_pvalue)

    def interval_of(self, model: Model, z: float) -> Interval:
        """Compute the interval of the mean loss of a model."""
        return self._of(model).interval(z, largest=self.largest)

    def interval(self, z: float) -> Interval:
        """Compute the interval of the difference."""
        return self._of_difference.signed_interval(z, self._both, largest=self.largest)

    @property
    def _t_pvalue(self) -> float:
        """The two-sided p-value of the paired t-test; nan if it has no variance to compare with."""
        found = self._of_difference
        if found.n < 2 or (not found.variance and found.total):
            return math.nan
        if not found.total:
            return 1.0
        t = float(found.mean) / math.sqrt(found.variance)
        return student_pvalue(t, float(found.n) - 1.0)

    def _of(self, model: Model) -> MeanLoss:
        sums = self.sums
        totals = (sums.a, sums.aa) if model == "a" else (sums.b, sums.bb)
        return MeanLoss.of(self.n, *totals)

    @property
    def _of_difference(self) -> MeanLoss:
        return MeanLoss.of(self.n, self.sums.difference, self.sums.squared_difference)

    @property
    def _both(self) -> MeanLoss:
        """The loss that tells how many rows make the difference up."""
        return MeanLoss.of(self.n, self.sums.both, self.sums.squared_both)


@attrs.frozen
class MeanValues(Means):
    """The mean values of two models, of either sign, as in Student's paired test."""

    @property
    def pvalue(self) -> float:
        """The two-sided p-value of the paired t-test."""
        return self._t_pvalue

    def interval_of(self, model: Model, z: float) -> Interval:
        """Compute the interval of the mean of a model."""
        return self._of(model).signed_interval(z, self._both, largest=self.largest)

    @property
    def _both(self) -> MeanLoss:
        """Nothing: Student's interval is as wide however many rows make the difference up."""
        return MeanLoss(self.n.to_fraction(), Fraction(0), Fraction(0))


@attrs.frozen
class Areas:
    """The areas under the ROC curves of two models, and the deviation of their difference.

    Parameters
    ----------
    tables : pair of CellTable
        The cells of both models.
    a, b : Bounded
        The areas.
    deviation : Bounded
        DeLong's estimate; a class of one example adds nothing.
    """

    tables: tuple[CellTable, CellTable]
    a: Bounded
    b: Bounded
    deviation: Bounded

    @classmethod
    def of(cls, pairs: ScorePairs, scale: Scale) -> Self:
        """Compute the areas from pairs of scores."""
        margins = pairs.margin(0), pairs.margin(1)
        first, second = (CellTable(cells, scale, level) for level, cells in margins)
        a, b = map(envelope.roc_auc, (first, second))
        return cls((first, second), a, b, _deviation(pairs, margins))

    @property
    def difference(self) -> Bounded:
        """The area of A minus that of B."""
        if self.a.exact and self.b.exact:
            return Bounded(self.a - self.b)
        low, high = self.a.low - self.b.high, self.a.high - self.b.low
        return outward(low, self.a - self.b, high, min_value=-1.0)

    @property
    def pvalue(self) -> Bounded:
        """The two-sided p-value: the lowest level at which `interval` excludes 0."""
        found, deviation, unit = self.difference, self.deviation, self._unit
        value = two_sided_pvalue(found, deviation**2, unit)
        if (found.exact and deviation.exact) or math.isnan(value):
            return Bounded(value)
        nearest = 0.0 if found.low <= 0.0 <= found.high else min(abs(found.low), abs(found.high))
        low = two_sided_pvalue(max(abs(found.low), abs(found.high)), deviation.low**2, unit)
        high = two_sided_pvalue(nearest, deviation.high**2, unit)
        return Bounded(value, min(low, value), max(high, value))

    def interval_of(self, model: Model, z: float) -> Interval:
        """Compute the interval of the area of a model."""
        return auc_confidence(self.tables["ab".index(model)], z)

    def interval(self, z: float) -> Interval:
        """Compute the interval of `z` deviations, wide enough for all possible data sets."""
        found, reach = self.difference, score_reach(self.deviation.high**2, self._unit, z)
        return max(found.low - reach, -1.0), min(found.high + reach, 1.0)

    @property
    def _unit(self) -> float:
        """The variance that is added, per squared deviation of the interval.

        Few examples of a class often miss those on which the models differ.
        """
        n_pos, n_neg = self.tables[0].estimate.n_pos, self.tables[0].estimate.n_neg
        rarer = min(n_pos, n_neg)
        return variance_by_chance(n_pos, n_neg) / (2.0 * rarer) if rarer else math.nan


@attrs.frozen(eq=False)
class _Placements:
    """The known facts about the placements of one class by one model.

    Parameters
    ----------
    mean : array, shape (g,)
        The mean estimate of each group of cells that share a prefix.
    spread : float
        The root mean square distance of the estimates of rows from the means.
    reach : float
        An upper bound of the same distance, for any order of the scores within a cell.
    """

    mean: Floats
    spread: float
    reach: float

    @classmethod
    def of(
        cls, own: Floats, other: Floats, below: Floats, is_wide: Floats, group: Indices | None
    ) -> Self:
        """Compute the placements from the weights of both classes in each cell.

        `below` is the weight of the other class in all cells that a row certainly outranks; without
        groups, each cell is one score.
        """
        estimate = (below + other / 2.0) / math.fsum(other)
        if group is None:
            return cls(estimate, 0.0, 0.0)
        off = is_wide * other / 2.0 / math.fsum(other)
        weight = np.bincount(group, weights=own)
        total = np.bincount(group, weights=own * estimate)
        mean = ratios(total, weight)
        away, n = np.abs(estimate - mean[group]), math.fsum(own)
        return cls(
            mean,
            math.sqrt(math.fsum(own * away**2) / n),
            math.sqrt(math.fsum(own * (away + off) ** 2) / n),
        )


def _deviation(pairs: ScorePairs, margins: tuple[LeveledCells, LeveledCells]) -> Bounded:
    """Estimate the deviation of the difference, and bound the estimate; nan without a class."""
    pos, neg = pairs.pos.near_floats(), pairs.neg.near_floats()
    if not (pos.any() and neg.any()):
        return Bounded(math.nan)
    parts = [
        _parts(keys, cells, pairs.level)
        for keys, (_, cells) in zip((pairs.a, pairs.b), margins, strict=True)
    ]
    sums = [0.0, 0.0, 0.0]
    for which, own in enumerate((pos, neg)):
        (a, at_a), (b, at_b) = ((placements[which], index) for placements, index in parts)
        variances = _variances(a, a.mean[at_a] - b.mean[at_b], b, own)
        sums = [one + more for one, more in zip(sums, variances, strict=True)]
    low, value, high = map(math.sqrt, sums)
    if not pairs.level:
        return Bounded(value)
    return outward(low, value, high, max_value=math.inf)


def _parts(keys: Keys, cells: Cells, level: int) -> tuple[tuple[_Placements, _Placements], Indices]:
    """Compute the placements of both classes, and find the group of cells of each pair."""
    prefix = prefixes(cells.lo, level)
    found, group = np.unique(prefix, return_inverse=True) if level else (prefix, None)
    is_wide = (cells.lo < cells.hi).astype(np.float64)
    pos, neg = cells.pos.near_floats(), cells.neg.near_floats()
    lower = np.cumsum(neg) - neg
    upper = math.fsum(pos) - np.cumsum(pos)
    placements = (
        _Placements.of(pos, neg, lower, is_wide, group),
        _Placements.of(neg, pos, upper, is_wide, group),
    )
    return placements, np.searchsorted(found, keys)


def _variances(a: _Placements, difference: Floats, b: _Placements, own: Floats) -> Floats:
    """Bound and estimate the variance of a mean difference of placements: low, value, high.

    It is 0 for fewer than two rows, which show none.
    """
    n = math.fsum(own)
    if n < 2.0:
        return np.zeros(3)
    middle = math.fsum(own * difference) / n
    deviation = math.sqrt(math.fsum(own * (difference - middle) ** 2) / n)
    reach = a.reach + b.reach
    ends = max(deviation - reach, 0.0), math.hypot(deviation, a.spread, b.spread), deviation + reach
    return np.array([end**2 / (n - 1.0) for end in ends])
