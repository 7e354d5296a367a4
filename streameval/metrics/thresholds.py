"""What a curve says of one threshold, and which threshold does what was asked for.

A score of at least the threshold is a positive prediction.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction

import attrs
import numpy as np
import numpy.typing as npt

from streameval.exact.fixed_point import FixedPoint
from streameval.metrics import curves
from streameval.metrics.bounded import ROUNDING, Bounded
from streameval.metrics.envelope import of_sums
from streameval.metrics.points import CellTable, Points

__all__ = [
    "Outcome",
    "best_f",
    "f_at",
    "outcome_at",
    "precision_at",
    "recall_at",
    "threshold_at_precision",
]

Floats = npt.NDArray[np.float64]
Counts = tuple[Fraction, Fraction]


@attrs.frozen(eq=False)
class Outcome:
    """Positives and negatives that score at least a threshold.

    Parameters
    ----------
    least_tp, most_tp, least_fp, most_fp : FixedPoint, shape ()
        They differ where the threshold divides a cell.
    share : float
        About how much of that cell is above the threshold.
    """

    least_tp: FixedPoint
    most_tp: FixedPoint
    least_fp: FixedPoint
    most_fp: FixedPoint
    share: float

    @property
    def low(self) -> Counts:
        """The fewest true positives and the most false ones."""
        return self.least_tp.to_fraction(), self.most_fp.to_fraction()

    @property
    def high(self) -> Counts:
        """The most true positives and the fewest false ones."""
        return self.most_tp.to_fraction(), self.least_fp.to_fraction()

    @property
    def estimate(self) -> Counts:
        """True and false positives, if the cell is filled evenly."""
        (least_tp, most_fp), (most_tp, least_fp) = self.low, self.high
        share = Fraction(self.share)
        tp = least_tp + share * (most_tp - least_tp)
        return tp, least_fp + share * (most_fp - least_fp)


def outcome_at(table: CellTable, threshold: float) -> Outcome:
    """Count what scores at least a threshold.

    A threshold that divides a cell has an example at the cell's upper end above it, and one at
    the lower end below it. In a cell of one class both are of that class: neither none of it
    nor all of it scores at least the threshold. In a cell of both classes either example can
    be of the other class, so each class can be above as a whole, or below.
    """
    passed = _count_from(table.lo, threshold)
    reached = _count_from(table.hi, threshold)
    tp, fp = ((part[passed], part[reached]) for part in table.cumulated)
    if tp[0] == tp[1] or fp[0] == fp[1]:
        tp, fp = (_without_ends(*part, table.min_weight) for part in (tp, fp))
    return Outcome(*tp, *fp, _share(table, passed, threshold))


def precision_at(table: CellTable, threshold: float) -> Bounded:
    """Bound the share of positives among what scores at least a threshold, 0 of nothing."""
    return _of_outcome(outcome_at(table, threshold), lambda tp, fp: _ratio(tp, tp + fp))


def recall_at(table: CellTable, threshold: float) -> Bounded:
    """Bound the share of the positives that score at least a threshold."""
    n_pos = table.pos.sum().to_fraction()
    if not n_pos:
        return Bounded(math.nan)
    return _of_outcome(outcome_at(table, threshold), lambda tp, fp: tp / n_pos)  # noqa: ARG005


def f_at(table: CellTable, threshold: float, beta: float) -> Bounded:
    """Bound F at a threshold, 0 where nothing is positive or predicted so."""
    n_pos, square = table.pos.sum().to_fraction(), Fraction(beta) ** 2
    return _of_outcome(
        outcome_at(table, threshold),
        lambda tp, fp: _ratio((1 + square) * tp, square * n_pos + tp + fp),
    )


def threshold_at_precision(table: CellTable, least: float) -> Bounded:
    """Bound the threshold of the highest recall with a precision of at least `least`.

    Of several the one of the highest precision, which is the highest of them; nan if none.

    Every threshold that is the lower end of a cell is exact. So recall reaches at least that of
    the last such threshold which is precise enough, and no later one is: from there on the
    threshold can only be inside a cell, above its lower end, and if that leaves a negative out.
    """
    points, best = table.estimate, _best_precision(table)
    last = curves.last_at_precision(points, least)
    first = -1 if last is None else _first_with_recall_of(points, last)
    cell = np.arange(len(best))
    is_past = cell > (-1 if last is None else last)
    is_mixed = table.is_wide & table.neg.is_positive()
    can_hold = (best >= least * (1.0 - ROUNDING)) & table.pos.is_positive() & (cell >= first)
    cells = np.flatnonzero(can_hold & (is_mixed | ~is_past))
    if not len(cells):
        return Bounded(math.nan)
    # where every lower end misses, the upper end of a cell does best
    top = table.hi[cells[best[cells].argmax()]]
    value = float(top if last is None else table.lo[first])
    if table.is_exact:
        return Bounded(value)
    low = float(table.lo[cells[-1]])
    if is_past[cells[-1]]:
        low = math.nextafter(low, math.inf)
    return Bounded(value, low, float(table.hi[cells[0]]))


def _first_with_recall_of(points: Points, place: int) -> int:
    """Find the first threshold with as many true positives, which are not rounded."""
    tp = points.exact_tp
    most = tp[place].to_fraction()
    return bisect_left(range(place), most, key=lambda at: tp[at].to_fraction())


def best_f(table: CellTable, beta: float) -> tuple[Bounded, Bounded]:
    """Bound the highest F and its threshold, the highest of several."""
    n_pos = table.estimate.n_pos
    if not n_pos:
        return Bounded(math.nan), Bounded(math.nan)
    value = curves.best_f(table.estimate, beta)
    tp, fp = table.estimate.tp, table.estimate.fp
    best = curves.f_scores(tp, _least_fp(table), n_pos, beta)
    can_hold = (best >= value * (1.0 - ROUNDING)) & table.pos.is_positive()
    likely = int(curves.f_scores(tp, fp, n_pos, beta).argmax())
    bounded = of_sums(table, lambda points: curves.best_f(points, beta))
    threshold = float(table.lo[likely])
    if table.is_exact:
        return bounded, Bounded(threshold)
    cells = np.flatnonzero(can_hold)
    return bounded, Bounded(threshold, float(table.lo[cells[-1]]), float(table.hi[cells[0]]))


def _least_fp(table: CellTable) -> Floats:
    """Give the fewest false positives with all positives of each cell."""
    fp = table.estimate.fp
    return np.asarray(np.where(table.is_wide, np.append(0.0, fp)[:-1], fp))


def _best_precision(table: CellTable) -> Floats:
    """Give the highest precision that each cell can hold; nan where it is of nothing."""
    tp = table.estimate.tp
    predicted = tp + _least_fp(table)
    best: Floats = np.full(len(tp), np.nan)
    np.divide(tp, predicted, out=best, where=predicted > 0)
    return best


def _of_outcome(outcome: Outcome, metric: Callable[[Fraction, Fraction], Fraction]) -> Bounded:
    """Bound a ratio, which is rounded once, so that the order is kept."""
    low, high = metric(*outcome.low), metric(*outcome.high)
    value = min(max(metric(*outcome.estimate), low), high)
    return Bounded(float(value), float(low), float(high))


def _without_ends(
    least: FixedPoint, most: FixedPoint, weight: FixedPoint
) -> tuple[FixedPoint, FixedPoint]:
    """Move the ends of a range inward, unless it is one point."""
    return (least, most) if least == most else (least + weight, most - weight)


def _ratio(above: Fraction, below: Fraction) -> Fraction:
    return above / below if below else Fraction(0)


def _count_from(falling: Floats, threshold: float) -> int:
    """Count the values of at least a threshold."""
    return len(falling) - int(np.searchsorted(falling[::-1], threshold, side="left"))


def _share(table: CellTable, cell: int, threshold: float) -> float:
    """Give how much of a cell's range lies above a threshold that divides it."""
    if cell == len(table.lo) or table.hi[cell] < threshold:
        return 0.0
    low, high = float(table.lo[cell]), float(table.hi[cell])
    width = high - low
    return (high - threshold) / width if math.isfinite(width) else 0.5
