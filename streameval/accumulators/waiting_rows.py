"""Rows that wait to be counted together: small batches cost a copy each, not a sort."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt

from streameval.exact.fixed_point import MAX_TOTAL, FixedPoint
from streameval.exact.score_keys import Scale
from streameval.metrics.points import CellTable
from streameval.states.curve import ScoredRows, ScoreTables
from streameval.states.sorted_rows import SortedRows

__all__ = ["WaitingRows"]

Floats = npt.NDArray[np.floating[Any]]

_ENTRIES = 2**18  # float64 scores of all curves: so many are worth a pass over the cells
_MOST_ENTRIES = 2**24  # scores that wait where a cell for each would take more memory
_LEAST_ROWS = 1024
_FEW_ROWS = 4096
_ONE = FixedPoint(np.array(1))


@attrs.frozen(eq=False, slots=False)
class WaitingRows:
    """A state, and a block that fills up with rows to be added to it.

    Rows are written behind those in use, and the object with the new number replaces this one,
    so that a reader never sees half a batch.

    Parameters
    ----------
    state : ScoreTables
        What has been counted.
    budget : int or None
        The number of cells that each curve may have.
    scale : {"probability", "real"}
        What the scores are.
    scores : float32 or float64 array, shape (K, capacity)
        As wide as they came: most are float32, and take half the memory so.
    positive : bool array, shape (K, capacity)
    spare : int
        How much weight may still come without bringing the total to 2**63 - 1.
    weights : FixedPoint, shape (capacity,), optional
        None while every row counts once.
    used : int
        How many rows are in use.
    """

    state: ScoreTables
    budget: int | None
    scale: Scale
    scores: Floats
    positive: npt.NDArray[np.bool_]
    spare: int = 0
    weights: FixedPoint | None = None
    used: int = 0

    @classmethod
    def none(cls, state: ScoreTables, budget: int | None, scale: Scale) -> Self:
        """Hold a state, and no room for rows."""
        shape = len(state.sizes), 0
        return cls(state, budget, scale, np.empty(shape, np.float32), np.empty(shape, dtype=bool))

    @property
    def counted(self) -> ScoreTables:
        """The state with the rows; where a budget bounds it, reading it again costs nothing.

        It may be read by another thread, and so be known from one moment to the next.
        """
        known: ScoreTables | None = vars(self).get("_counted")
        if known is None:
            known = self._with_rows(self.state, self.to_rows()) if self.used else self.state
            if self.budget is not None:
                vars(self)["_counted"] = known  # two readers at once would find the same
        return known

    @property
    def n(self) -> FixedPoint:
        """The weight of everything."""
        return self.state.n + self.to_rows().n

    def tables(self) -> Iterator[CellTable]:
        """Give what there is to read of each curve: rows, while these are all and fit."""
        fits = self.budget is None or self.used <= self.budget
        if fits and self._are_plain and not self._is_counted:
            for scores, positive in zip(*self._used_part, strict=True):
                yield CellTable(SortedRows.of(scores, self.scale, positive), self.scale)
        else:
            for level, cells in self.counted.tables():
                yield CellTable(cells, self.scale, level)

    def updated(self, rows: ScoredRows) -> Self:
        """Add a batch; a negative label that is not the one before raises."""
        most = rows.most
        has_room = self._has_room_for(rows, most)  # asked once: a reader may change the answer
        block = self if has_room else self._next_block(rows)
        state = block.state.noting(rows)
        if has_room or block._has_room_for(rows, most):
            return block._written(state, rows, most)
        return self.none(block._with_rows(state, rows), self.budget, self.scale)

    def joined(self, other: Self) -> Self:
        """Add what another one holds: as rows if it is little, which cost less than a join."""
        rows = other._as_rows(most=max(len(self.state.lo), _FEW_ROWS))
        if rows is not None:
            return self.updated(rows)
        state = self.counted.joined(other.counted, self.budget)
        return self.none(state, self.budget, self.scale)

    def to_rows(self) -> ScoredRows:
        """Give the rows in use as one batch."""
        weights = None if self.weights is None else self.weights.select(np.arange(self.used))
        scores, positive = self._used_part
        return ScoredRows(scores, self.scale, positive, weights)

    def _as_rows(self, most: int) -> ScoredRows | None:
        """Give all that is held as one batch, if it is rows, or a state of at most so many."""
        if not len(self.state.lo):
            state, rows = self.state, self.to_rows()
            return attrs.evolve(rows, skipped=state.skipped, negative_label=state.negative_label)
        return self.counted.to_rows(self.scale, most)

    @property
    def _used_part(self) -> tuple[Floats, npt.NDArray[np.bool_]]:
        return self.scores[:, : self.used], self.positive[:, : self.used]

    @property
    def _is_counted(self) -> bool:
        return "_counted" in vars(self)

    @property
    def _does_without_cells(self) -> bool:
        """Whether this block is one of those that are larger than their cells ask for."""
        return not len(self.state.lo) and self.positive.size >= _MOST_ENTRIES // 2

    @property
    def _are_plain(self) -> bool:
        """Whether rows without weights are all there is."""
        return self.weights is None and not len(self.state.lo)

    def _with_rows(self, state: ScoreTables, rows: ScoredRows) -> ScoreTables:
        return state.with_rows(rows).fitted(self.budget)

    def _has_room_for(self, rows: ScoredRows, most: int) -> bool:
        """Tell whether a batch fits, whose weights sum to no more than `most`."""
        if self._is_counted or (rows.weights is not None and self._does_without_cells):
            return False
        return self.used + len(rows) <= self.positive.shape[1] and most <= self.spare

    def _next_block(self, rows: ScoredRows) -> Self:
        """Make room for such a batch, unless it is too large to wait."""
        n_curves, itemsize = len(self.scores), max(rows.scores.itemsize, 4)
        if self._can_do_without_cells(rows):
            block = self._block(self.state, itemsize, _MOST_ENTRIES // n_curves)
            return block._written(self.state, self.to_rows(), self.used)
        # it grows with the cells, so that a row costs the same however many there are
        state = self.counted
        entries = max(_ENTRIES * 8 // itemsize, 2 * len(state.lo))
        return self._block(state, itemsize, max(entries // n_curves, _LEAST_ROWS))

    def _can_do_without_cells(self, rows: ScoredRows) -> bool:
        """Tell whether rows may wait in a block of the largest size, as some do already.

        Where most scores occur once, a cell takes three times the memory of a row or more, and
        the area under the ROC curve is read from rows in a quarter of the time.
        """
        if self.budget is not None or not self._are_plain:
            return False
        if rows.weights is not None or self.used + len(rows) > _MOST_ENTRIES // len(self.scores):
            return False
        known = self._used_part[0] if self.used else rows.scores[:, :_ENTRIES]
        return known.size >= _ENTRIES and _n_distinct(known) > known.size // 2

    def _block(self, state: ScoreTables, itemsize: int, capacity: int) -> Self:
        """Make an empty block; what is not written to takes no memory."""
        shape = len(self.scores), capacity
        scores, positive = np.empty(shape, f"f{itemsize}"), np.empty(shape, dtype=bool)
        spare = MAX_TOTAL - 1 - int(state.n.whole)
        return type(self)(state, self.budget, self.scale, scores, positive, spare)

    def _written(self, state: ScoreTables, rows: ScoredRows, most: int) -> Self:
        """Write a batch, for which there is room, behind the rows in use."""
        start, end = self.used, self.used + len(rows)
        scores: Floats = self.scores
        if rows.scores.itemsize > scores.itemsize:
            scores = np.empty(scores.shape)
            scores[:, :start] = self.scores[:, :start]
        scores[:, start:end] = rows.scores
        self.positive[:, start:end] = rows.positive
        return type(self)(
            state,
            self.budget,
            self.scale,
            scores,
            self.positive,
            self.spare - most,
            self._weights(rows, end),
            end,
        )

    def _weights(self, rows: ScoredRows, end: int) -> FixedPoint | None:
        """Write the weights of a batch behind those in use; memory past its end stays untouched."""
        if self.weights is None and rows.weights is None:
            return None
        start = self.used
        weights, more = self.weights or self._ones(), rows.weights or _ONE
        fraction = weights.fraction
        weights.whole[start:end] = more.whole
        if fraction is None and more.fraction is not None:
            fraction = np.empty_like(weights.whole)
            fraction[:start] = 0
        if fraction is not None:
            fraction[start:end] = 0 if more.fraction is None else more.fraction
        return FixedPoint(weights.whole, fraction)

    def _ones(self) -> FixedPoint:
        """Make weights for a block whose rows so far count once each."""
        whole = np.empty(self.positive.shape[1], dtype=np.int64)
        whole[: self.used] = 1
        return FixedPoint(whole)


def _n_distinct(scores: Floats) -> int:
    """Count the distinct scores of all curves."""
    ordered = np.sort(scores, axis=1)
    return len(ordered) + int(np.count_nonzero(ordered[:, 1:] != ordered[:, :-1]))
