"""The outcomes at each threshold of a table of cells: lower bound, estimate, upper bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import attrs
import numpy as np

from streameval.configs.cached import Cached
from streameval.exact import Scale
from streameval.exact.array_types import Floats, Indices, Mask
from streameval.exact.fixed_point import FixedPoint
from streameval.exact.score_keys import scores_of
from streameval.states.cells import Cells
from streameval.states.sorted_rows import SortedRows

_CHUNK = 2**14  # temporaries stay in the cache


@attrs.frozen(eq=False)
class Outcomes:
    """The outcomes at falling thresholds, part by part.

    Parameters
    ----------
    max_size : int
        An upper bound of the number of thresholds.
    n_pos, n_neg : float
        The weight of all positives and negatives.
    parts : iterator of pairs of float64 arrays
        The weight of the positives, and of the negatives, that reach each threshold.
    """

    max_size: int
    n_pos: float
    n_neg: float
    parts: Iterator[tuple[Floats, Floats]]


@attrs.frozen(eq=False, slots=False)
class Points(Cached):
    """The outcomes at falling thresholds, read lazily from a table.

    Parameters
    ----------
    table : CellTable
    cell : int array, shape (m,)
        The cell of each threshold, which is one of its ends.
    is_upper : bool array, shape (m,), optional
        Whether it is the upper end; by default always the lower one.
    n_tp, n_fp : int array, shape (m,)
        The number of cells, from the first on, whose positives and negatives score at least the
        threshold.
    """

    table: CellTable
    cell: Indices | slice
    is_upper: Mask | None
    n_tp: Indices | slice
    n_fp: Indices | slice

    @cached_property
    def thresholds(self) -> Floats:
        """Distinct scores, the highest first."""
        lo = self.table.lo[self.cell]
        if self.is_upper is None:
            return lo
        return np.where(self.is_upper, self.table.hi[self.cell], lo)

    @cached_property
    def exact_tp(self) -> FixedPoint:
        """The weight of the positives that score at least the threshold."""
        return self.table.cumulated[0][self.n_tp]

    @cached_property
    def exact_fp(self) -> FixedPoint:
        """The weight of the negatives that score at least the threshold."""
        return self.table.cumulated[1][self.n_fp]

    @cached_property
    def tp(self) -> Floats:
        """The weight of the positives, rounded."""
        return self.table.rounded[0][self.n_tp]

    @cached_property
    def fp(self) -> Floats:
        """The weight of the negatives, rounded."""
        return self.table.rounded[1][self.n_fp]

    @property
    def n_pos(self) -> float:
        """The weight of all positives."""
        return float(self.tp[-1]) if len(self.tp) else 0.0

    @property
    def n_neg(self) -> float:
        """The weight of all negatives."""
        return float(self.fp[-1]) if len(self.fp) else 0.0

    def outcomes(self) -> Outcomes:
        """Yield the rounded weights that reach each threshold, part by part."""
        tp, fp = self.tp, self.fp
        parts = (slice(start, start + _CHUNK) for start in range(0, len(tp), _CHUNK))
        pairs = ((tp[part], fp[part]) for part in parts)
        return Outcomes(len(tp), self.n_pos, self.n_neg, pairs)

    @cached_property
    def recall(self) -> Floats:
        """The share of the positives at each threshold; there must be one."""
        return self.tp / self.n_pos

    @cached_property
    def precision(self) -> Floats:
        """The share of positives among the scores of at least the threshold."""
        return self.tp / (self.tp + self.fp)


@attrs.frozen(eq=False, slots=False)
class CellTable(Cached):
    """The cells of one curve, highest first, and the extreme data sets that they allow.

    With every positive of a cell at its upper end and every negative at its lower end, the true
    positives at any threshold are at least, and the false positives at most, those of the data.
    The reverse bounds them from the other side. A metric that never falls with true
    positives, and never rises with false positives, is between its values on these two data sets.

    Parameters
    ----------
    source : Cells or SortedRows
        Cells of one curve, or rows from which cells are made lazily.
    scale : {"probability", "real"}
        What the scores are.
    level : int
        The number of low bits in which the keys of a cell may differ.
    """

    source: Cells | SortedRows
    scale: Scale
    level: int = 0

    @cached_property
    def areas(self) -> dict[str, float]:
        """A cache, by name, of what functions have computed from all cells."""
        return {}

    def once(self, name: str, compute: Callable[[], float]) -> float:
        """Compute a number once, because its interval needs it too."""
        areas = self.areas  # looked up once: another thread may make it at the same time
        if name not in areas:
            areas[name] = compute()
        return areas[name]

    @cached_property
    def cells(self) -> Cells:
        """The cells, lowest first."""
        return Cells.of_sorted(self.source) if isinstance(self.source, SortedRows) else self.source

    def __eq__(self, other: object) -> bool:
        """Compare scale and cells, whether they come from rows or from a state."""
        if not isinstance(other, CellTable):
            return NotImplemented
        mine, theirs = self.cells, other.cells
        return (
            self.scale == other.scale
            and np.array_equal(mine.lo, theirs.lo)
            and np.array_equal(mine.hi, theirs.hi)
            and bool(mine.pos == theirs.pos)
            and bool(mine.neg == theirs.neg)
        )

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def lo(self) -> Floats:
        """The min score in each cell."""
        return scores_of(self.cells.lo, self.scale)[::-1]

    @cached_property
    def hi(self) -> Floats:
        """The max score in each cell."""
        if self.cells.hi is self.cells.lo:
            return self.lo
        return scores_of(self.cells.hi, self.scale)[::-1]

    @cached_property
    def pos(self) -> FixedPoint:
        """The weight of the positives in each cell."""
        return self.cells.pos[::-1]

    @cached_property
    def neg(self) -> FixedPoint:
        """The weight of the negatives in each cell."""
        return self.cells.neg[::-1]

    @property
    def n(self) -> int | float:
        """The total weight: an int while it is whole."""
        return (self.pos.sum() + self.neg.sum()).to_number()

    @property
    def n_pos(self) -> int | float:
        """The weight of the positives."""
        return self.pos.sum().to_number()

    @property
    def n_neg(self) -> int | float:
        """The weight of the negatives."""
        return self.neg.sum().to_number()

    @property
    def is_whole(self) -> bool:
        """Whether every weight is known to be whole."""
        return self.pos.is_whole and self.neg.is_whole

    @property
    def min_weight(self) -> FixedPoint:
        """The min weight of an example: 1 while all weights are whole, else 2**-62.

        Each end of a cell of several scores has at least this weight.
        """
        if self.is_whole:
            return FixedPoint(np.array(1))
        return FixedPoint(np.array(0), np.array(1))

    @property
    def resolution(self) -> float:
        """The width of the widest cell of several scores; 0.0 if there is none."""
        with np.errstate(over="ignore"):
            widths = self.hi[self.is_wide] - self.lo[self.is_wide]
        return float(widths.max(initial=0.0))

    @cached_property
    def is_wide(self) -> Mask:
        """Which cells hold several scores."""
        return np.asarray(self.cells.lo < self.cells.hi)[::-1]

    @cached_property
    def is_exact(self) -> bool:
        """Whether each cell is one score, so that every metric is exact."""
        source = self.source
        return isinstance(source, SortedRows) or source.hi is source.lo or not self.is_wide.any()

    @cached_property
    def estimate(self) -> Points:
        """The outcomes with the lower ends of cells as thresholds, which are exact."""
        return Points(self, slice(None), None, slice(1, None), slice(1, None))

    @cached_property
    def low(self) -> Points:
        """The outcomes with negatives at the upper ends and positives at the lower ones."""
        if self.is_exact:
            return self.estimate
        cell, is_upper = self._ends(self.neg)
        return Points(self, cell, is_upper, cell + 1 - is_upper, cell + 1)

    @cached_property
    def high(self) -> Points:
        """The outcomes with positives at the upper ends and negatives at the lower ones."""
        if self.is_exact:
            return self.estimate
        cell, is_upper = self._ends(self.pos)
        return Points(self, cell, is_upper, cell + 1, cell + 1 - is_upper)

    def outcomes(self) -> Outcomes:
        """Yield the outcomes of `estimate`, from rows without converting them to cells."""
        if isinstance(self.source, SortedRows):
            rows = self.source
            return Outcomes(len(rows), float(rows.n_pos), float(rows.n_neg), rows.outcomes())
        return self.estimate.outcomes()

    @cached_property
    def cumulated(self) -> tuple[FixedPoint, FixedPoint]:
        """The weights of positives and negatives in the first 0, 1, 2, ... cells."""
        return self.pos.cumsum(), self.neg.cumsum()

    @cached_property
    def rounded(self) -> tuple[Floats, Floats]:
        """The cumulated weights as floats."""
        tp, fp = self.cumulated
        return tp.near_floats(), fp.near_floats()

    def _ends(self, upper: FixedPoint) -> tuple[Indices, Mask]:
        """List the cells, a wide one twice if its upper end holds something."""
        is_split = self.is_wide & upper.is_positive()
        cell = np.repeat(np.arange(len(self.lo)), 1 + is_split)
        is_upper = np.zeros(len(cell), dtype=bool)
        is_upper[np.flatnonzero(is_split) + np.arange(np.count_nonzero(is_split))] = True
        return cell, is_upper
