"""What a table of cells says of the outcomes at each threshold: at least, about, and at most."""

from __future__ import annotations

from functools import cached_property

import attrs
import numpy as np
import numpy.typing as npt

from streameval._fixed_point import FixedPoint
from streameval._score_keys import Scale, scores_of
from streameval.states.cells import Cells

__all__ = ["CellTable", "Points"]

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.intp]


@attrs.frozen(eq=False)
class Points:
    """The outcomes at falling thresholds.

    Parameters
    ----------
    thresholds : float64 array, shape (m,)
        Distinct scores, the highest first.
    exact_tp, exact_fp : FixedPoint, shape (m,)
        The weight of the positives and of the negatives that score at least the threshold.
    tp, fp : float64 array, shape (m,)
        The same, rounded.
    are_floats_exact : bool
        Whether nothing was rounded: all counts are whole and at most 2**53.
    """

    thresholds: Floats
    exact_tp: FixedPoint
    exact_fp: FixedPoint
    tp: Floats
    fp: Floats
    are_floats_exact: bool

    @property
    def n_pos(self) -> float:
        """The weight of all positives."""
        return float(self.tp[-1]) if len(self.tp) else 0.0

    @property
    def n_neg(self) -> float:
        """The weight of all negatives."""
        return float(self.fp[-1]) if len(self.fp) else 0.0

    @property
    def recall(self) -> Floats:
        """The share of the positives at each threshold; there must be one."""
        return self.tp / self.n_pos

    @property
    def precision(self) -> Floats:
        """The share of positives among what scores at least the threshold."""
        return self.tp / (self.tp + self.fp)


@attrs.frozen(eq=False, slots=False)
class CellTable:
    """The cells of one curve, highest first, and the data sets at the ends of what they allow.

    Put every positive of a cell at its upper end and every negative at its lower end: at every
    threshold the true positives are no fewer, and the false positives no more, than in the
    data. The reverse bounds them from the other side. So a metric that never falls with true
    positives, and never rises with false ones, lies between its values on these two data sets.

    Parameters
    ----------
    lo, hi : float64 array, shape (m,)
        The least and the greatest score in each cell.
    pos, neg : FixedPoint, shape (m,)
        The weights in it.
    scale : {"probability", "real"}
        Whether scores are probabilities.
    """

    lo: Floats
    hi: Floats
    pos: FixedPoint
    neg: FixedPoint
    scale: Scale

    @classmethod
    def of(cls, cells: Cells, scale: Scale) -> CellTable:
        """Read cells."""
        lo, hi = (scores_of(keys[::-1], scale) for keys in (cells.lo, cells.hi))
        return cls(lo, hi, cells.pos[::-1], cells.neg[::-1], scale)

    @property
    def n(self) -> int | float:
        """The weight of everything: an int while it is whole."""
        return _number(self.pos.sum() + self.neg.sum())

    @property
    def n_pos(self) -> int | float:
        """The weight of the positives."""
        return _number(self.pos.sum())

    @property
    def n_neg(self) -> int | float:
        """The weight of the negatives."""
        return _number(self.neg.sum())

    @property
    def resolution(self) -> float:
        """The width of the widest cell of several scores; 0.0 if there is none."""
        with np.errstate(over="ignore"):
            widths = self.hi[self.is_wide] - self.lo[self.is_wide]
        return float(widths.max(initial=0.0))

    @cached_property
    def is_wide(self) -> Mask:
        """Which cells hold several scores."""
        return np.asarray(self.lo < self.hi)

    @cached_property
    def is_exact(self) -> bool:
        """Whether each cell is one score, so that nothing is open."""
        return not self.is_wide.any()

    @cached_property
    def estimate(self) -> Points:
        """The outcomes with the lower end of each cell as the threshold: these are exact."""
        every = np.arange(1, len(self.lo) + 1)
        return self._points(self.lo, every, every)

    @cached_property
    def low(self) -> Points:
        """The outcomes with negatives at the upper ends and positives at the lower ones."""
        cell, is_upper = self._ends(self.neg)
        thresholds = np.where(is_upper, self.hi[cell], self.lo[cell])
        return self._points(thresholds, cell + 1 - is_upper, cell + 1)

    @cached_property
    def high(self) -> Points:
        """The outcomes with positives at the upper ends and negatives at the lower ones."""
        cell, is_upper = self._ends(self.pos)
        thresholds = np.where(is_upper, self.hi[cell], self.lo[cell])
        return self._points(thresholds, cell + 1, cell + 1 - is_upper)

    @cached_property
    def cumulated(self) -> tuple[FixedPoint, FixedPoint]:
        """The weights of positives and negatives in the first 0, 1, 2, ... cells."""
        nothing = FixedPoint.zeros(1)
        tp, fp = (FixedPoint.concatenate([nothing, part]).cumsum() for part in (self.pos, self.neg))
        return tp, fp

    @cached_property
    def _rounded(self) -> tuple[Floats, Floats]:
        tp, fp = self.cumulated
        return tp.near_floats(), fp.near_floats()

    def _points(self, thresholds: Floats, tp_at: Places, fp_at: Places) -> Points:
        """Read the outcomes after so many cells."""
        exact_tp, exact_fp = self.cumulated
        tp, fp = self._rounded
        is_whole = exact_tp.is_whole and exact_fp.is_whole
        return Points(
            thresholds,
            exact_tp[tp_at],
            exact_fp[fp_at],
            tp[tp_at],
            fp[fp_at],
            are_floats_exact=bool(is_whole and tp[-1] + fp[-1] <= 2.0**53),
        )

    def _ends(self, upper: FixedPoint) -> tuple[Places, Mask]:
        """List the cells, twice where the upper end of a wide one holds something."""
        is_split = self.is_wide & upper.is_positive()
        cell = np.repeat(np.arange(len(self.lo)), 1 + is_split)
        is_upper = np.zeros(len(cell), dtype=bool)
        is_upper[np.flatnonzero(is_split) + np.arange(np.count_nonzero(is_split))] = True
        return cell, is_upper


def _number(weight: FixedPoint) -> int | float:
    number: int | float = weight.to_numbers().item()
    return number
