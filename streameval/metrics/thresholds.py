"""Metrics of a curve at a threshold, and thresholds that reach a metric.

A score of at least the threshold is a positive prediction.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any, Self, overload

import attrs
import numpy as np

from streameval.exact.array_types import Array, Floats, Mask
from streameval.exact.fixed_point import FixedPoint
from streameval.metrics import curves
from streameval.metrics.bounded import ROUNDING, Bounded, Threshold
from streameval.metrics.envelope import of_shares
from streameval.metrics.points import CellTable, Points
from streameval.metrics.shares import reaches

FractionPair = tuple[Fraction, Fraction]


@attrs.frozen(eq=False, repr=False)
class BoundedArray:
    """Estimates and the intervals that contain the exact values: an array of `Bounded`.

    NumPy reads it as the array of the estimates. An index returns a `Bounded`, a slice an array.

    Parameters
    ----------
    value, low, high : float64 arrays, shape (m,)
        The estimates, and the ends of their intervals. Read-only.
    """

    value: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, numbers: Iterable[Bounded]) -> Self:
        """Collect numbers."""
        ends = [(float(number), number.low, number.high) for number in numbers]
        columns = np.array(ends, dtype=np.float64).reshape(-1, 3).T.copy()
        columns.flags.writeable = False
        return cls(*columns)

    @property
    def exact(self) -> bool:
        """Whether every value is certain."""
        return bool(((self.low == self.high) | np.isnan(self.value)).all())

    def __len__(self) -> int:
        """Count the numbers."""
        return len(self.value)

    @overload
    def __getitem__(self, index: int) -> Bounded: ...
    @overload
    def __getitem__(self, index: slice) -> BoundedArray: ...
    def __getitem__(self, index: int | slice) -> Bounded | BoundedArray:
        """Return one number, or a slice."""
        value, low, high = self.value[index], self.low[index], self.high[index]
        if isinstance(index, slice):
            return BoundedArray(value, low, high)
        return Bounded(float(value), float(low), float(high))

    def __iter__(self) -> Iterator[Bounded]:
        """Yield each number."""
        return (self[index] for index in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return the estimates."""
        return np.array(self.value, dtype=dtype) if copy else np.asarray(self.value, dtype=dtype)

    def __repr__(self) -> str:
        if self.exact:
            return f"BoundedArray({self.value.tolist()})"
        return f"BoundedArray({[*self]})"


@attrs.frozen(eq=False)
class Outcome:
    """Positives and negatives that score at least a threshold.

    Parameters
    ----------
    min_tp, max_tp, min_fp, max_fp : FixedPoint, shape ()
        Min and max differ if the threshold divides a cell.
    share : float
        The estimated share of that cell above the threshold.
    """

    min_tp: FixedPoint
    max_tp: FixedPoint
    min_fp: FixedPoint
    max_fp: FixedPoint
    share: float

    @property
    def low(self) -> FractionPair:
        """The fewest true positives and the most false ones."""
        return self.min_tp.to_fraction(), self.max_fp.to_fraction()

    @property
    def high(self) -> FractionPair:
        """The most true positives and the fewest false ones."""
        return self.max_tp.to_fraction(), self.min_fp.to_fraction()

    @property
    def estimate(self) -> FractionPair:
        """True and false positives, assuming an evenly filled cell."""
        (min_tp, max_fp), (max_tp, min_fp) = self.low, self.high
        share = Fraction(self.share)
        tp = min_tp + share * (max_tp - min_tp)
        return tp, min_fp + share * (max_fp - min_fp)


@attrs.frozen(eq=False)
class ThresholdRates:
    """Precision, recall and the false positive rate at given thresholds.

    Parameters
    ----------
    thresholds : float64 array, shape (m,)
        In the order in which they were given.
    precision, recall, fpr : BoundedArray, length m
        Each contains the exact value. They are exact where no threshold divides a cell.
    """

    thresholds: Floats
    precision: BoundedArray
    recall: BoundedArray
    fpr: BoundedArray


def outcome_at(table: CellTable, threshold: float) -> Outcome:
    """Count the examples that score at least a threshold.

    If a threshold divides a cell, at least one example, at the cell's upper end, is above it,
    and at least one, at the lower end, is below it. In a cell of one class both are of that
    class, so neither none nor all of it scores at least the threshold. In a cell of both classes
    the ends can be of either class, so each class can be entirely above or below.
    """
    passed = _count_from(table.lo, threshold)
    reached = _count_from(table.hi, threshold)
    tp, fp = ((part[passed], part[reached]) for part in table.cumulated)
    if tp[0] == tp[1] or fp[0] == fp[1]:
        tp, fp = (_without_ends(*part, table.min_weight) for part in (tp, fp))
    return Outcome(*tp, *fp, _share(table, passed, threshold))


def rates_at(table: CellTable, thresholds: Floats) -> ThresholdRates:
    """Bound precision, recall and the false positive rate at each of some thresholds."""
    n_pos, n_neg = (part.sum().to_fraction() for part in (table.pos, table.neg))
    outcomes = [outcome_at(table, threshold) for threshold in thresholds.tolist()]
    return ThresholdRates(
        thresholds,
        BoundedArray.of(map(_precision, outcomes)),
        BoundedArray.of(_recall(outcome, n_pos) for outcome in outcomes),
        BoundedArray.of(_fpr(outcome, n_neg) for outcome in outcomes),
    )


def precision_at(table: CellTable, threshold: float) -> Bounded:
    """Compute the share of positives among scores of at least a threshold, 0 without any."""
    return _precision(outcome_at(table, threshold))


def recall_at(table: CellTable, threshold: float) -> Bounded:
    """Compute the share of the positives that score at least a threshold.

    nan without a positive.
    """
    return _recall(outcome_at(table, threshold), table.pos.sum().to_fraction())


def f_at(table: CellTable, threshold: float, beta: float = 1.0) -> Bounded:
    """Compute F at a threshold, 0 where nothing is positive or predicted so.

    Parameters
    ----------
    threshold : float
        A score of at least this is a positive prediction.
    beta : float
        At least 0; 1 weighs precision and recall alike.
    """
    n_pos, square = table.pos.sum().to_fraction(), Fraction(beta) ** 2
    return _of_outcome(
        outcome_at(table, threshold),
        lambda tp, fp: _ratio((1 + square) * tp, square * n_pos + tp + fp),
    )


def net_benefit(table: CellTable, threshold: float) -> Bounded:
    """Compute true positives an example, less false ones at the odds of a threshold.

    ``TP / n - FP / n * threshold / (1 - threshold)`` (Vickers and Elkin, 2006), the benefit of
    acting on probabilities of at least the threshold: each false positive is worth what
    somebody who acts from this probability on must hold it worth. Compare it with acting on
    nobody, 0, and on everybody, ``n_pos / n - n_neg / n * threshold / (1 - threshold)``. nan
    without an example.

    Parameters
    ----------
    threshold : float
        The probability from which on to act, in [0, 1).

    Raises
    ------
    InvalidInputError
        If the threshold is outside [0, 1), or scores are not probabilities.

    Examples
    --------
    >>> import streameval as se
    >>> curve = se.PRCurveSketch().update([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).compute()
    >>> curve.net_benefit(0.2), curve.net_benefit(0.5)
    (0.4375, 0.25)
    """
    n = (table.pos.sum() + table.neg.sum()).to_fraction()
    odds = Fraction(threshold) / (1 - Fraction(threshold))
    return _of_outcome(outcome_at(table, threshold), lambda tp, fp: (tp - odds * fp) / n)


def selective_accuracy(table: CellTable, confidence: float) -> Bounded:
    """Compute the accuracy of decisions at 0.5, if those of less confidence are rejected.

    The confidence of a score ``p`` is that of the likelier class, ``max(p, 1 - p)``. With
    `selective_coverage`, it gives the curve of accuracy against rejection (Nadeem et al.,
    2009), or of risk against coverage (Geifman and El-Yaniv, 2017).

    Parameters
    ----------
    confidence : float
        The least confidence of a decision, in [0.5, 1].

    Returns
    -------
    Bounded
        In [0, 1]. 0 if all decisions are rejected. nan without an example.

    Raises
    ------
    InvalidInputError
        If the confidence is outside [0.5, 1], or scores are not probabilities.

    Examples
    --------
    >>> import streameval as se
    >>> curve = se.PRCurveSketch().update([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).compute()
    >>> for confidence in (0.5, 0.6, 0.7):
    ...     print(curve.selective_accuracy(confidence), curve.selective_coverage(confidence))
    0.75 1.0
    0.75 1.0
    1.0 0.5
    """
    right, wrong = _decided(table, confidence)
    low, value, high = (
        _ratio(some, some + others) for some, others in zip(right, wrong[::-1], strict=True)
    )
    return Bounded(float(value), float(low), float(high))


def selective_coverage(table: CellTable, confidence: float) -> Bounded:
    """Compute the share of the examples that are decided if `confidence` is the least.

    One less the share that is rejected; see `selective_accuracy`. nan without an example.
    """
    n = (table.pos.sum() + table.neg.sum()).to_fraction()
    right, wrong = _decided(table, confidence)
    low, value, high = (float((one + other) / n) for one, other in zip(right, wrong, strict=True))
    return Bounded(value, low, high)


FractionRange = tuple[Fraction, Fraction, Fraction]
"""The fewest, the estimate and the most of something that is counted."""


def _decided(table: CellTable, confidence: float) -> tuple[FractionRange, FractionRange]:
    """Count right and wrong decisions: for scores from a confidence on, against those below."""
    n_pos, n_neg = (part.sum().to_fraction() for part in (table.pos, table.neg))
    tp, fp = _ranges(outcome_at(table, confidence))
    others_tp, others_fp = _ranges(outcome_at(table, min(_above_complement(confidence), 0.5)))
    right, wrong = (
        (some[0] + n - others[2], some[1] + n - others[1], some[2] + n - others[0])
        for some, n, others in ((tp, n_neg, others_fp), (fp, n_pos, others_tp))
    )
    return right, wrong


def _ranges(outcome: Outcome) -> tuple[FractionRange, FractionRange]:
    """Return the ranges of true and of false positives."""
    (min_tp, max_fp), (max_tp, min_fp) = outcome.low, outcome.high
    tp, fp = outcome.estimate
    return (min_tp, tp, max_tp), (min_fp, fp, max_fp)


def _above_complement(confidence: float) -> float:
    """Return the lowest score ``p`` whose ``1 - p``, rounded, is below a confidence."""
    half_gap = (confidence - math.nextafter(confidence, 0.0)) / 2
    limit = (1.0 - confidence) + half_gap  # a tie, which can be rounded either way
    return limit if 1.0 - limit < confidence else math.nextafter(limit, 1.0)


def threshold_at_precision(table: CellTable, p: float) -> Threshold:
    """Find the threshold of `recall_at_precision`.

    If several have the highest recall, this is the one with the highest precision; nan if no
    threshold reaches `p`. The interval is the hull of the cells that can contain it.
    """
    # The counts at the lower end of a cell are exact, so the highest recall is at least that at the
    # last lower end with enough precision. Beyond it, the threshold can only be inside a cell,
    # above the lower end, where it excludes a negative.
    points, fewest = table.estimate, min_fp(table)
    last = curves.last_at_precision(points, p)
    return of_highest_recall(table, last, reaches(points.exact_tp, fewest, p))


def of_highest_recall(table: CellTable, last: int | None, can_reach: Mask) -> Threshold:
    """Bound the threshold of the highest recall that reaches a limit, the highest of several.

    Parameters
    ----------
    last : int, optional
        The last cell whose lower end reaches the limit.
    can_reach : bool array, shape (m,)
        Whether the positives of a cell can reach it, with as few of its negatives as possible.

    Returns
    -------
    Threshold
        nan if no threshold that finds a positive can reach it.
    """
    points = table.estimate
    is_found = last is not None and points.tp[last] > 0
    first = _first_with_recall_of(points, last) if is_found and last is not None else -1
    cell = np.arange(len(points.tp))
    is_past = cell > (-1 if last is None else last)
    is_mixed = table.is_wide & table.neg.is_positive()
    can_hold = can_reach & table.pos.is_positive() & (cell >= first)
    cells = np.flatnonzero(can_hold & (is_mixed | ~is_past))
    if not len(cells):
        return Threshold(math.nan)
    # if no lower end reaches it, the upper end of a cell is best
    best = points.tp[cells] / (points.tp + min_fp(table).near_floats())[cells]
    value = float(table.lo[first] if is_found else table.hi[cells[best.argmax()]])
    if table.is_exact:
        return Threshold(value)
    low = float(table.lo[cells[-1]])
    if is_past[cells[-1]]:
        low = math.nextafter(low, math.inf)
    return Threshold(value, low, float(table.hi[cells[0]]))


def hull(table: CellTable, cell: int) -> Threshold:
    """Bound a threshold that is one of the scores of a cell, and reached at its lower end."""
    low = float(table.lo[cell])
    return Threshold(low, low, float(table.hi[cell]))


def _first_with_recall_of(points: Points, index: int) -> int:
    """Find the first threshold with the same exact number of true positives."""
    tp = points.exact_tp
    return bisect_left(range(index), tp[index].to_fraction(), key=lambda at: tp[at].to_fraction())


def best_f(table: CellTable, beta: float) -> tuple[Bounded, Threshold]:
    """Bound the highest F and its threshold, the highest of several."""
    n_pos = table.estimate.n_pos
    if not n_pos:
        return Bounded(math.nan), Threshold(math.nan)
    value = curves.best_f(table.estimate, beta)
    best = curves.f_scores(table.estimate.tp, min_fp(table).near_floats(), n_pos, beta)
    can_hold = (best >= value * (1.0 - ROUNDING)) & table.pos.is_positive()
    bounded = of_shares(table, lambda points: curves.best_f(points, beta))
    threshold = float(table.lo[curves.best_f_index(table.estimate, beta)])
    if table.is_exact:
        return bounded, Threshold(threshold)
    cells = np.flatnonzero(can_hold)
    return bounded, Threshold(threshold, float(table.lo[cells[-1]]), float(table.hi[cells[0]]))


def min_fp(table: CellTable) -> FixedPoint:
    """Compute the min false positives with all positives of each cell."""
    cell = np.arange(len(table.lo))
    return table.cumulated[1][np.where(table.is_wide, cell, cell + 1)]


def _precision(outcome: Outcome) -> Bounded:
    return _of_outcome(outcome, lambda tp, fp: _ratio(tp, tp + fp))


def _recall(outcome: Outcome, n_pos: Fraction) -> Bounded:
    if not n_pos:
        return Bounded(math.nan)
    return _of_outcome(outcome, lambda tp, fp: tp / n_pos)  # noqa: ARG005


def _fpr(outcome: Outcome, n_neg: Fraction) -> Bounded:
    """Bound a rate that falls where the others rise."""
    if not n_neg:
        return Bounded(math.nan)
    high, value, low = (
        float(fp / n_neg) for _, fp in (outcome.low, outcome.estimate, outcome.high)
    )
    return Bounded(min(max(value, low), high), low, high)


def _of_outcome(outcome: Outcome, metric: Callable[[Fraction, Fraction], Fraction]) -> Bounded:
    """Bound a ratio, which is rounded once, so rounding keeps the order."""
    low, high = metric(*outcome.low), metric(*outcome.high)
    value = min(max(metric(*outcome.estimate), low), high)
    return Bounded(float(value), float(low), float(high))


def _without_ends(
    low: FixedPoint, high: FixedPoint, weight: FixedPoint
) -> tuple[FixedPoint, FixedPoint]:
    """Move the ends of a range inward, unless it is one point."""
    return (low, high) if low == high else (low + weight, high - weight)


def _ratio(above: Fraction, below: Fraction) -> Fraction:
    return above / below if below else Fraction(0)


def _count_from(falling: Floats, threshold: float) -> int:
    """Count the values of at least a threshold."""
    return len(falling) - int(np.searchsorted(falling[::-1], threshold, side="left"))


def _share(table: CellTable, cell: int, threshold: float) -> float:
    """Compute the share of a cell's range above a threshold that divides it."""
    if cell == len(table.lo) or table.hi[cell] < threshold:
        return 0.0
    low, high = float(table.lo[cell]), float(table.hi[cell])
    width = high - low
    return (high - threshold) / width if math.isfinite(width) else 0.5
