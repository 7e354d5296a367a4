"""What a curve says of one threshold, and which threshold does what was asked for.

A score of at least the threshold is a positive prediction.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import attrs
import numpy as np
import numpy.typing as npt

from streameval.exact.fixed_point import FixedPoint
from streameval.metrics import curves
from streameval.metrics.bounded import ROUNDING, Bounded
from streameval.metrics.envelope import of_sums
from streameval.metrics.points import CellTable

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
Mask = npt.NDArray[np.bool_]
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
    """Count what scores at least a threshold."""
    tp, fp = table.cumulated
    passed = _count_from(table.lo, threshold)
    reached = _count_from(table.hi, threshold)
    return Outcome(
        tp[passed], tp[reached], fp[passed], fp[reached], _share(table, passed, threshold)
    )


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
    """
    points, best = table.estimate, _best_precision(table)
    can_reach = best >= least * (1.0 - ROUNDING)
    last = curves.last_at_precision(points, least)
    if last is None:
        return _hull(table, can_reach & table.pos.is_positive(), None, best)
    # every threshold that is the lower end of a cell is exact, so recall reaches that much
    has_recall = points.tp >= points.tp[last]
    can_hold = can_reach & has_recall & table.pos.is_positive()
    return _hull(table, can_hold, int(has_recall.argmax()), best)


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
    return bounded, _hull(table, can_hold, likely, best)


def _hull(table: CellTable, can_hold: Mask, likely: int | None, best: Floats) -> Bounded:
    """Give the range of the cells that can hold a threshold, and the likeliest one.

    That is the first cell at whose end the metric is as good as at any; without one, the cell
    in which it can be best.
    """
    cells = np.flatnonzero(can_hold)
    if not len(cells) or (likely is None and table.is_exact):
        return Bounded(math.nan)
    likely = cells[best[cells].argmax()] if likely is None else likely
    value = float(table.lo[likely])
    if table.is_exact:
        return Bounded(value)
    return Bounded(value, float(table.lo[cells[-1]]), float(table.hi[cells[0]]))


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
