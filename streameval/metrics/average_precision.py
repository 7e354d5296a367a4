"""Step and trapezoid areas under the precision-recall curve of a table with wide cells.

Both depend on ties, so they are bounded cell by cell. T and F are the positives and negatives
above a cell, p and n its own, and C = F + n. The mean precision over the recall of a cell is
lowest with negatives first and positives untied, and highest with positives first, tied (for
steps) or untied (for trapezoids). Sums over single positives are bounded by integrals of the
concave ``x / (x + C)``. The estimate follows the path along which both classes arrive at constant
rates (Davis and Goadrich, The relationship between precision-recall and ROC curves, 2006).
"""

from __future__ import annotations

import attrs
import numpy as np

from streameval.exact.array_types import Floats, Mask
from streameval.exact.cell_sums import rounded_sum
from streameval.exact.log import log1p
from streameval.metrics import curves
from streameval.metrics.bounded import Bounded, outward
from streameval.metrics.curves import best_from
from streameval.metrics.intervals import hull, wilson
from streameval.metrics.points import CellTable
from streameval.metrics.shares import ratios


@attrs.frozen(eq=False)
class _Steps:
    """The cells that hold a positive, and the weights above each."""

    above_pos: Floats
    above_neg: Floats
    pos: Floats
    neg: Floats
    is_wide: Mask
    best_below: Floats  # the highest precision at the end of any later cell; 0 after the last
    half: float  # the offset of an integral over steps of 1; 0 if a weight has a fraction

    @classmethod
    def of(cls, table: CellTable) -> _Steps:
        tp, fp = table.estimate.tp, table.estimate.fp
        held = table.pos.is_positive()
        return cls(
            above_pos=np.append(0.0, tp)[:-1][held],
            above_neg=np.append(0.0, fp)[:-1][held],
            pos=table.pos.near_floats()[held],
            neg=table.neg.near_floats()[held],
            is_wide=table.is_wide[held],
            best_below=np.append(best_from(table.estimate.precision), 0.0)[1:][held],
            half=0.5 if table.is_whole else 0.0,
        )

    @property
    def below_neg(self) -> Floats:
        """The negatives down to the end of each cell."""
        return self.above_neg + self.neg

    @property
    def end_precision(self) -> Floats:
        """The precision at the end of each cell."""
        above = self.above_pos + self.pos
        return above / (above + self.below_neg)

    def total(self, narrow: Floats, wide: Floats) -> float:
        """Sum the terms of all cells over the number of positives."""
        return rounded_sum(np.where(self.is_wide, wide, narrow)) / rounded_sum(self.pos)


def average_precision(table: CellTable) -> Bounded:
    """Bound the step-wise average precision."""
    if table.is_exact:
        value = table.once("average_precision", lambda: curves.average_precision(table.estimate))
        return Bounded(value)
    steps = _Steps.of(table)
    narrow = steps.pos * steps.end_precision
    first, tied = _negatives_first(steps), steps.above_pos + steps.pos
    return outward(
        steps.total(narrow, first),
        steps.total(narrow, _path(steps, steps.pos)),
        steps.total(narrow, steps.pos * tied / (tied + steps.above_neg)),
    )


def average_precision_confidence(table: CellTable, z: float) -> tuple[float, float]:
    """Compute the interval of `z` deviations.

    As if the value were a proportion of the positives (Boyd, Eng and Page, Area under the
    precision-recall curve: point estimates and confidence intervals, 2013), with Wilson's interval,
    which exists at 0 and 1. It counts two positives less, since the value of few positives is too
    high on average. If cells hold several scores, it covers the intervals of both bounds.
    """
    value, n_pos = average_precision(table), table.estimate.n_pos
    return hull([wilson(end, max(n_pos - 2.0, 1.0), z) for end in (value.low, value.high)])


def pr_auc(table: CellTable) -> Bounded:
    """Bound the area of the trapezoids."""
    if table.is_exact:
        return Bounded(curves.pr_auc(table.estimate))
    steps = _Steps.of(table)
    narrow = steps.pos * (_start_precision(steps) + steps.end_precision) / 2
    return outward(
        steps.total(narrow, _chord(steps)),
        steps.total(narrow, _path(steps, steps.pos)),
        steps.total(narrow, _concave(steps.pos, steps.above_neg, steps.above_pos)),
    )


def pr_auc_davis_goadrich(table: CellTable) -> Bounded:
    """Bound the area under the points joined along the path of constant rates.

    Precision at a recall falls with the false positives at that recall. There are fewest if all
    positives of a cell are first, and most if all negatives are first.
    """
    steps = _Steps.of(table)
    path = _path(steps, steps.pos)
    value = steps.total(path, path)
    if table.is_exact:
        return Bounded(value)
    first = _concave(steps.pos, steps.below_neg, steps.above_pos)
    last = _concave(steps.pos, steps.above_neg, steps.above_pos)
    return outward(steps.total(path, first), value, steps.total(path, last))


def average_precision_interpolated(table: CellTable) -> Bounded:
    """Bound the interpolated average precision by its values on the extreme data sets."""
    metric = curves.average_precision_interpolated
    if table.is_exact:
        return Bounded(metric(table.estimate))
    steps = _Steps.of(table)
    best_after = np.maximum(steps.best_below, steps.end_precision)
    # along the path, precision falls to the precision at the end, or never exceeds it
    until = np.clip(_time_to(steps, best_after), 0.0, steps.pos)
    wide = _path(steps, until) + (steps.pos - until) * best_after
    estimate = steps.total(steps.pos * best_after, wide)
    return outward(metric(table.low), estimate, metric(table.high))


def average_precision_11pt(table: CellTable) -> Bounded:
    """Bound the 11-point average precision by its values on the extreme data sets."""
    metric = curves.average_precision_11pt
    low = metric(table.low)
    if table.is_exact:
        return Bounded(low)
    high = metric(table.high)
    return outward(low, (low + high) / 2, high)


def _negatives_first(steps: _Steps) -> Floats:
    """Integrate precision over positives, one by one, after the cell's negatives."""
    start = steps.above_pos + steps.half + steps.below_neg
    return _less_log(steps.pos, steps.below_neg, start)


def _concave(pos: Floats, above_neg: Floats, above_pos: Floats) -> Floats:
    """Integrate precision over positives after some negatives."""
    return _less_log(pos, above_neg, above_pos + above_neg)


def _less_log(pos: Floats, neg: Floats, start: Floats) -> Floats:
    """Integrate ``x / (x + neg)`` over `pos`, from where ``x + neg`` is `start`."""
    share = ratios(pos, start)
    return pos - neg * log1p(share)


def _chord(steps: _Steps) -> Floats:
    """Take the trapezoid under ``x / (x + C)``, which is concave."""
    total, below = steps.above_pos + steps.pos, steps.below_neg
    start = ratios(steps.above_pos, steps.above_pos + below, 1.0)
    return steps.pos * (start + total / (total + below)) / 2


def _start_precision(steps: _Steps) -> Floats:
    """Compute the precision above each cell, 1 before the first score."""
    return ratios(steps.above_pos, steps.above_pos + steps.above_neg, 1.0)


def _path(steps: _Steps, until: Floats) -> Floats:
    """Integrate precision along the path of constant rates, over `until` positives."""
    rate = 1.0 + steps.neg / steps.pos
    above = steps.above_pos + steps.above_neg
    grown = ratios(rate * until, above)
    return (until + (steps.above_pos - above / rate) * log1p(grown)) / rate


def _time_to(steps: _Steps, min_precision: Floats) -> Floats:
    """Compute the number of positives after which precision falls to `min_precision`."""
    excess = steps.above_pos - min_precision * (steps.above_pos + steps.above_neg)
    fall = min_precision * (1.0 + steps.neg / steps.pos) - 1.0
    return np.divide(excess, fall, out=np.zeros_like(fall), where=(excess > 0) & (fall > 0))
