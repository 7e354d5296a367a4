"""Rows that wait to be counted together: small batches cost a copy each, not a sort."""

from __future__ import annotations

from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt

from streameval._fixed_point import MAX_TOTAL, FixedPoint
from streameval._score_keys import Scale
from streameval.states.curve import ScoredRows, ScoreTables

__all__ = ["WaitingRows"]

Floats = npt.NDArray[np.floating[Any]]

_ENTRIES = 2**18  # float64 scores of all curves: so many are worth a pass over the cells
_LEAST_ROWS = 1024


@attrs.frozen(eq=False)
class WaitingRows:
    """A block that fills up with rows.

    Rows are written behind those in use, and the object with the new number replaces this one,
    so that a reader never sees half a batch.

    Parameters
    ----------
    scores : float32 or float64 array, shape (K, capacity)
        As wide as they came: most are float32, and take half the memory so.
    scale : {"probability", "real"}
        What the scores are.
    positive : bool array, shape (K, capacity)
    spare : int
        How much weight may still come without bringing the total to 2**63 - 1.
    weights : FixedPoint, shape (capacity,), optional
        None while every row counts once.
    used : int
        How many rows are in use.
    """

    scores: Floats
    scale: Scale
    positive: npt.NDArray[np.bool_]
    spare: int
    weights: FixedPoint | None = None
    used: int = 0

    @classmethod
    def beside(cls, state: ScoreTables, rows: ScoredRows) -> Self:
        """Make an empty block for such rows, to be added to a state.

        It grows with the cells, so that a row costs the same however many there are.
        """
        n_curves = len(state.sizes)
        dtype = np.float32 if rows.scores.itemsize <= 4 else np.float64
        n_entries = _ENTRIES * 8 // np.dtype(dtype).itemsize
        shape = n_curves, max(max(n_entries, 2 * len(state.lo)) // n_curves, _LEAST_ROWS)
        scores, positive = np.empty(shape, dtype), np.empty(shape, dtype=bool)
        return cls(scores, rows.scale, positive, MAX_TOTAL - 1 - int(state.n.whole))

    def have_room_for(self, rows: ScoredRows, most: int) -> bool:
        """Tell whether a batch fits, whose weights sum to no more than `most`."""
        return self.used + len(rows) <= self.positive.shape[1] and most <= self.spare

    def with_rows(self, rows: ScoredRows, most: int) -> Self:
        """Write a batch, for which there is room, behind the rows in use."""
        start, end = self.used, self.used + len(rows)
        scores: Floats = self.scores
        if rows.scores.itemsize > scores.itemsize:
            scores = np.empty(scores.shape)
            scores[:, :start] = self.scores[:, :start]
        scores[:, start:end] = rows.scores
        self.positive[:, start:end] = rows.positive
        weights = self._weights(rows, end)
        return type(self)(scores, self.scale, self.positive, self.spare - most, weights, end)

    def to_rows(self) -> ScoredRows:
        """Give the rows in use as one batch."""
        used = slice(self.used)
        weights = None if self.weights is None else self.weights.select(np.arange(self.used))
        return ScoredRows(self.scores[:, used], self.scale, self.positive[:, used], weights)

    def _weights(self, rows: ScoredRows, end: int) -> FixedPoint | None:
        if self.weights is None and rows.weights is None:
            return None
        part = slice(self.used, end)
        weights = self.weights or FixedPoint(np.ones(self.positive.shape[1], dtype=np.int64))
        fraction = weights.fraction
        weights.whole[part] = 1 if rows.weights is None else rows.weights.whole
        if rows.weights is not None and rows.weights.fraction is not None:
            fraction = np.zeros_like(weights.whole) if fraction is None else fraction
            fraction[part] = rows.weights.fraction
        elif fraction is not None:
            fraction[part] = 0
        return FixedPoint(weights.whole, fraction)
