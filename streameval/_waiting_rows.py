"""Rows that wait to be counted together: small batches cost a copy each, not a sort."""

from __future__ import annotations

from typing import Self

import attrs
import numpy as np
import numpy.typing as npt

from streameval._fixed_point import FixedPoint
from streameval._score_keys import Keys
from streameval.states.curve import ScoredRows

__all__ = ["WaitingRows"]

_ENTRIES = 2**18  # of all curves: so many are worth a pass over the cells
_LEAST_ROWS = 1024


@attrs.frozen(eq=False)
class WaitingRows:
    """A block that fills up with rows.

    Rows are written behind those in use, and the object with the new number replaces this one,
    so that a reader never sees half a batch.

    Parameters
    ----------
    keys : uint64 array, shape (K, capacity)
    positive : bool array, shape (K, capacity)
    weights : FixedPoint, shape (capacity,), optional
        None while every row counts once.
    used : int
        How many rows are in use.
    most : int
        No less than the sum of their weights.
    """

    keys: Keys
    positive: npt.NDArray[np.bool_]
    weights: FixedPoint | None = None
    used: int = 0
    most: int = 0

    @classmethod
    def for_curves(cls, n_curves: int) -> Self:
        """Make an empty block."""
        shape = n_curves, max(_ENTRIES // n_curves, _LEAST_ROWS)
        return cls(np.empty(shape, dtype=np.uint64), np.empty(shape, dtype=bool))

    def have_room_for(self, rows: ScoredRows) -> bool:
        """Tell whether a batch fits."""
        return bool(self.used + len(rows) <= self.keys.shape[1])

    def with_rows(self, rows: ScoredRows, most: int) -> Self:
        """Write a batch, whose weights sum to no more than `most`, behind the rows in use."""
        start, end = self.used, self.used + len(rows)
        self.keys[:, start:end] = rows.keys
        self.positive[:, start:end] = rows.positive
        return attrs.evolve(self, weights=self._weights(rows, end), used=end, most=self.most + most)

    def to_rows(self) -> ScoredRows:
        """Give the rows in use as one batch."""
        used = slice(self.used)
        weights = None if self.weights is None else self.weights.select(np.arange(self.used))
        return ScoredRows(
            self.keys[:, used], self.positive[:, used], weights, FixedPoint.zeros(()), ()
        )

    def _weights(self, rows: ScoredRows, end: int) -> FixedPoint | None:
        if self.weights is None and rows.weights is None:
            return None
        part = slice(self.used, end)
        weights = self.weights or FixedPoint(np.ones(self.keys.shape[1], dtype=np.int64))
        fraction = weights.fraction
        weights.whole[part] = 1 if rows.weights is None else rows.weights.whole
        if rows.weights is not None and rows.weights.fraction is not None:
            fraction = np.zeros_like(weights.whole) if fraction is None else fraction
            fraction[part] = rows.weights.fraction
        elif fraction is not None:
            fraction[part] = 0
        return FixedPoint(weights.whole, fraction)
