"""Cells: groups of neighbouring scores with the weight of the positives and negatives in them."""

from __future__ import annotations

from typing import Self

import attrs
import numpy as np
import numpy.typing as npt

from streameval._fixed_point import FixedPoint
from streameval._score_keys import Keys, prefixes

__all__ = ["Cells", "split_by_class"]

Places = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_LARGEST_KEY = np.uint64(2**64 - 1)
_CHUNK = 2**15  # its temporaries stay in the cache
_ROWS_A_PREFIX = 0.25  # from so many rows for each prefix in range, a table is faster


@attrs.frozen(eq=False)
class Cells:
    """Cells in the order of their keys.

    Settled at a level, no two cells hold keys that agree in all but the lowest `level` bits.
    A cell whose ends are equal is one score, known exactly.

    Parameters
    ----------
    lo, hi : uint64 array, shape (m,)
        The least and the greatest key seen in each cell.
    pos, neg : FixedPoint, shape (m,)
        The weight of the positives and of the negatives.
    group : int64 array, shape (m,), optional
        The group of each cell, before its key in the order; None if there is one group.
    """

    lo: Keys
    hi: Keys
    pos: FixedPoint
    neg: FixedPoint
    group: Places | None = None

    @classmethod
    def none(cls) -> Self:
        """Hold nothing."""
        nothing = np.zeros(0, dtype=np.uint64)
        return cls(nothing, nothing, FixedPoint.zeros(0), FixedPoint.zeros(0))

    @classmethod
    def of_rows(
        cls,
        keys: Keys,
        positive: Mask,
        weights: FixedPoint | None,
        level: int,
        group: Places | None = None,
    ) -> Self:
        """Settle the rows of a batch."""
        if weights is None and group is None:
            return cls._of_class(keys[positive], level, is_positive=True).joined(
                cls._of_class(keys[~positive], level, is_positive=False), level
            )
        pos, neg = split_by_class(positive, weights)
        rows = cls(keys, keys, pos, neg, group)
        return rows._sorted(level)._merged(level)

    def __len__(self) -> int:
        """Give the number of cells."""
        return len(self.lo)

    def __getitem__(self, key: slice | npt.NDArray[np.intp]) -> Self:
        """Take some cells, in the order of the key."""
        group = None if self.group is None else self.group[key]
        return type(self)(self.lo[key], self.hi[key], self.pos[key], self.neg[key], group)

    def joined(self, other: Self, level: int) -> Self:
        """Put two settled lists together and settle the result at a level not below theirs."""
        if not len(other):
            return self._merged(level)
        if not len(self):
            return other._merged(level)
        groups = [part.group for part in (self, other) if part.group is not None]
        both = type(self)(
            np.concatenate([self.lo, other.lo]),
            np.concatenate([self.hi, other.hi]),
            FixedPoint.concatenate([self.pos, other.pos]),
            FixedPoint.concatenate([self.neg, other.neg]),
            np.concatenate(groups) if groups else None,
        )
        return both._sorted(level)._merged(level)

    def with_rows(self, keys: Keys, positive: Mask, weights: FixedPoint | None, level: int) -> Self:
        """Add the rows of a batch to cells settled at `level`, without groups."""
        if weights is None and level and len(keys):
            ends = np.array([keys.min(), keys.max(), *self.lo[:1], *self.lo[-1:]])
            first, last = prefixes(np.array([ends.min(), ends.max()]), level).tolist()
            span = last - first + 1
            if len(keys) >= _ROWS_A_PREFIX * span:
                return self._tabulated(keys, positive, level, np.uint64(first), span)
        return self.joined(self.of_rows(keys, positive, weights, level), level)

    def fitted(self, budget: int | None, level: int) -> tuple[int, Self]:
        """Settle cells at the least level, not below theirs, at which they fit the budget.

        The level is a function of the rows alone, whatever the way here: the number of cells
        never grows with the level, and never falls as rows are added. With groups the budget
        is at least their number.
        """
        if budget is None or len(self) <= budget:
            return level, self
        gaps = self.lo[1:] ^ self.lo[:-1]
        if self.group is not None:
            gaps = gaps[self.group[1:] == self.group[:-1]]
        # cells part at a level if the xor of their keys reaches above it, so the level is that
        # of the largest gap for which there is no cell left
        n_groups = len(self) - len(gaps)
        place = len(gaps) - 1 - (budget - n_groups)
        level = int(np.partition(gaps, place)[place]).bit_length()
        return level, self._merged(level)

    def n_cells_at(self, level: int) -> int:
        """Count the cells that these settled cells, one level up, would be at `level`."""
        return len(self) + int(
            np.count_nonzero(prefixes(self.lo, level) != prefixes(self.hi, level))
        )

    @classmethod
    def _of_class(cls, keys: Keys, level: int, *, is_positive: bool) -> Self:
        """Settle rows of one class: values are sorted faster than their places."""
        ordered = np.sort(keys)
        starts = _starts(prefixes(ordered, level))
        counts = FixedPoint(np.diff(starts, append=len(ordered)))
        nothing = FixedPoint.zeros(len(starts))
        ends = np.append(starts[1:], len(ordered))[: len(starts)] - 1
        pos, neg = (counts, nothing) if is_positive else (nothing, counts)
        return cls(ordered[starts], ordered[ends], pos, neg)

    def _sorted(self, level: int) -> Self:
        """Put cells in order, at least as far as they can be told apart at a level."""
        if self.group is None:
            # runs that are in order already are merged, not sorted again
            return self[np.argsort(self.lo, kind="stable")]
        shift = max(level, _n_zeros(self.lo))
        if int(self.group.max(initial=0)).bit_length() + 64 - shift <= 64:
            packed = self.group.astype(np.uint64) << np.uint64(64 - shift)
            return self[np.argsort(packed | prefixes(self.lo, shift), kind="stable")]
        by_key = np.argsort(self.lo)
        packed = self.group[by_key].astype(np.uint64) << np.uint64(32)
        packed |= np.arange(len(by_key), dtype=np.uint64)
        packed.sort()
        return self[by_key[(packed & np.uint64(2**32 - 1)).astype(np.intp)]]

    def _merged(self, level: int) -> Self:
        """Merge neighbours that share a cell at a level; the order is right already."""
        starts = _starts(prefixes(self.lo, level), self.group)
        if len(starts) == len(self):
            return self
        lo = hi = self.lo[starts]
        if level:
            hi = np.maximum.reduceat(self.hi, starts)
        if level and self.group is not None:  # within a cell the order may be any
            lo = np.minimum.reduceat(self.lo, starts)
        group = None if self.group is None else self.group[starts]
        return type(self)(lo, hi, self.pos.sum_runs(starts), self.neg.sum_runs(starts), group)

    def _tabulated(
        self, keys: Keys, positive: Mask, level: int, first: np.uint64, span: int
    ) -> Self:
        """Count rows in a table of all prefixes in range, and list its occupied cells."""
        places = (prefixes(self.lo, level) - first).astype(np.intp)
        lo, hi = np.full(span, _LARGEST_KEY), np.zeros(span, dtype=np.uint64)
        lo[places], hi[places] = self.lo, self.hi
        counts = np.zeros(2 * span, dtype=np.int64)  # of negatives, then of positives
        counts[places], counts[places + span] = self.neg.whole, self.pos.whole
        for start in range(0, len(keys), _CHUNK):
            part = keys[start : start + _CHUNK]
            at = (prefixes(part, level) - first).astype(np.intp)
            np.minimum.at(lo, at, part)
            np.maximum.at(hi, at, part)
            np.add.at(counts, at + span * positive[start : start + _CHUNK], 1)
        occupied = np.flatnonzero(lo <= hi)
        neg = _with_fractions(counts[occupied], self.neg, occupied, places)
        pos = _with_fractions(counts[occupied + span], self.pos, occupied, places)
        return type(self)(lo[occupied], hi[occupied], pos, neg)


def _n_zeros(keys: Keys) -> int:
    """Count the low bits that are 0 in every key: those of float32 scores have 29 of them."""
    held = int(np.bitwise_or.reduce(keys)) if len(keys) else 0
    return (held & -held).bit_length() - 1 if held else 64


def split_by_class(positive: Mask, weights: FixedPoint | None) -> tuple[FixedPoint, FixedPoint]:
    """Give the weights of the positives and of the negatives, 0 where a row is the other."""
    if weights is None:
        ones = positive.astype(np.int64)
        return FixedPoint(ones), FixedPoint(1 - ones)
    return _only(weights, positive), _only(weights, ~positive)


def _only(weights: FixedPoint, kept: Mask) -> FixedPoint:
    whole, fraction = np.where(kept, weights.whole, 0), weights.fraction
    if fraction is None or not fraction[kept].any():
        return FixedPoint(whole)
    return FixedPoint(whole, np.where(kept, fraction, 0))


def _with_fractions(
    whole: npt.NDArray[np.int64],
    earlier: FixedPoint,
    occupied: npt.NDArray[np.intp],
    places: npt.NDArray[np.intp],
) -> FixedPoint:
    """Give new counts the fractions of the cells at `places`, which whole counts leave alone."""
    if earlier.fraction is None:
        return FixedPoint(whole)
    fraction = np.zeros(len(occupied), dtype=np.int64)
    fraction[np.searchsorted(occupied, places)] = earlier.fraction
    return FixedPoint(whole, fraction)


def _starts(prefix: Keys, group: Places | None = None) -> npt.NDArray[np.intp]:
    """Find where a new prefix, or a new group, begins."""
    is_start = np.ones(len(prefix), dtype=bool)
    np.not_equal(prefix[1:], prefix[:-1], out=is_start[1:])
    if group is not None:
        is_start[1:] |= group[1:] != group[:-1]
    return np.flatnonzero(is_start)
