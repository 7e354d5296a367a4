"""Cells: groups of neighbouring scores with the weight of the positives and negatives in them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Self

import attrs
import numpy as np

from streameval.exact import Scale
from streameval.exact.array_types import Indices, Ints, Mask, Scores
from streameval.exact.fixed_point import FixedPoint
from streameval.exact.score_keys import Keys, keys_of, prefixes
from streameval.states.key_ranges import KeyRange, PrefixNumbers
from streameval.states.sorted_rows import SortedRows

_LARGEST_KEY = np.uint64(2**64 - 1)
_CHUNK = 2**15  # its temporaries stay in the cache
_ITEMS_A_PREFIX = 0.25  # items per prefix from which a table is faster than a sort
_PREFIXES_A_CELL = 16  # of the budget, among which the level of most rows is found
_SAMPLE = 2**12  # scores that show whether there are few


@attrs.frozen(eq=False, repr=False)
class Cells:
    """Cells in the order of their keys.

    In canonical form at a level, no two cells hold keys that agree in all but the lowest `level`
    bits. A cell whose ends are equal is one score, known exactly.

    Parameters
    ----------
    lo, hi : uint64 array, shape (m,)
        The min and the max key observed in each cell.
    pos, neg : FixedPoint, shape (m,)
        The weight of the positives and of the negatives.
    group : int64 array, shape (m,), optional
        The group of each cell, before its key in the order; None if there is one group.
    """

    lo: Keys
    hi: Keys
    pos: FixedPoint
    neg: FixedPoint
    group: Ints | None = None

    @classmethod
    def none(cls) -> Self:
        """Return no cells."""
        nothing = np.zeros(0, dtype=np.uint64)
        return cls(nothing, nothing, FixedPoint.zeros(0), FixedPoint.zeros(0))

    @classmethod
    def of_weights(cls, lo: Keys, hi: Keys, weight: FixedPoint) -> Self:
        """Make cells of numbers without classes, all of which count as positives."""
        return cls(lo, hi, weight, FixedPoint.zeros(len(lo)))

    @classmethod
    def concatenated(cls, parts: Sequence[Self]) -> Self:
        """Concatenate the cells of parts; a single part is not copied."""
        if len(parts) == 1:
            return parts[0]
        groups = [part.group for part in parts if part.group is not None]
        lo = hi = np.concatenate([part.lo for part in parts])
        if any(part.hi is not part.lo for part in parts):
            hi = np.concatenate([part.hi for part in parts])
        return cls(
            lo,
            hi,
            FixedPoint.concatenate([part.pos for part in parts]),
            FixedPoint.concatenate([part.neg for part in parts]),
            np.concatenate(groups) if groups else None,
        )

    @classmethod
    def of_rows(
        cls,
        keys: Keys,
        positive: Mask,
        weights: FixedPoint | None,
        level: int,
        group: Ints | None = None,
    ) -> Self:
        """Put the rows of a batch into cells of a level."""
        order = _order(keys, group, level)
        positive, keys = positive[order], keys[order]  # one column at a time, to save memory
        weights = None if weights is None else weights[order]
        group = None if group is None else group[order]
        del order
        return cls(keys, keys, *split_by_class(positive, weights), group)._merged(level)

    @classmethod
    def of_sorted(cls, rows: SortedRows) -> Self:
        """Give each distinct score of some rows a cell."""
        made = (cls(k, k, FixedPoint(pos), FixedPoint(neg)) for k, pos, neg in rows.distinct())
        return cls.concatenated([cls.none(), *made])

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.lo)

    def __getitem__(self, key: slice | Indices) -> Self:
        """Take some cells, in the order of the key."""
        group = None if self.group is None else self.group[key]
        lo = self.lo[key]
        hi = lo if self.hi is self.lo else self.hi[key]
        return type(self)(lo, hi, self.pos[key], self.neg[key], group)

    def to_rows(self) -> tuple[Keys, Mask]:
        """List the keys and classes of rows of weight 1; each cell is one score."""
        counts = np.column_stack([self.neg.whole, self.pos.whole]).ravel()
        positive = np.tile([False, True], len(self))
        return np.repeat(self.lo, counts[::2] + counts[1::2]), np.repeat(positive, counts)

    def joined(self, other: Self, level: int) -> Self:
        """Join two canonical lists at a level not below theirs."""
        mine, theirs = self._merged(level), other._merged(level)
        if not len(theirs):
            return mine
        if not len(mine):
            return theirs
        if mine.group is not None:
            return mine._joined(theirs, level)
        longer = mine if len(mine) > len(theirs) else theirs
        bounds = _bounds(longer.lo, level)
        pieces = zip(_pieces(mine.lo, bounds), _pieces(theirs.lo, bounds), strict=True)
        return self.concatenated([mine[i]._joined(theirs[j], level) for i, j in pieces])

    def _joined(self, other: Self, level: int) -> Self:
        both = self.concatenated([self, other])
        order = _order(both.lo, both.group, level)
        group = None if both.group is None else both.group[order]
        starts = _starts(prefixes(both.lo[order], level), group)
        # a cell is from one list or from both
        return both._paired(order[starts], order[_ends(starts, len(order))], level)

    def joined_within(self, other: Self, level: int, budget: int | None) -> tuple[int, Self]:
        """Join two canonical lists as `joined` does and fit them as `fitted` does, in one pass."""
        if level and len(self) and len(other) and self._are_counts and other._are_counts:
            numbers = KeyRange.of(self.lo, other.lo).numbers(level)
            if len(self) + len(other) >= _ITEMS_A_PREFIX * numbers.size:
                return self._overlaid(other, numbers, budget)
        return self.joined(other, level).fitted(budget, level)

    def with_rows(
        self, scores: Scores, scale: Scale, positive: Mask, weights: FixedPoint | None, level: int
    ) -> Self:
        """Add the rows of a batch to cells canonical at `level`, without groups."""
        if weights is None and level and len(scores):
            for held in self._ranges_with(scores, scale):
                numbers = held.numbers(level)
                if len(scores) >= _ITEMS_A_PREFIX * numbers.size:
                    return self._tabulated(scores, scale, positive, numbers)
        if weights is None:
            return self.joined(self.of_sorted(SortedRows.of(scores, scale, positive)), level)
        return self.joined(self.of_rows(keys_of(scores, scale), positive, weights, level), level)

    def with_rows_within(
        self,
        scores: Scores,
        scale: Scale,
        positive: Mask,
        weights: FixedPoint | None,
        level: int,
        budget: int | None,
    ) -> tuple[int, Self]:
        """Add rows as `with_rows` does and fit the cells as `fitted` does.

        Dense rows need no sort.
        """
        if weights is None and not level and budget is not None and len(scores) > budget:
            fits = self._seem_to_fit(scores[:_SAMPLE], scale, budget)
            numbers = None if fits else self._numbers_within(scores, scale, budget)
            if numbers is not None:
                cells = self._merged(numbers.level)
                return numbers.level, cells._tabulated(scores, scale, positive, numbers)
        return self.with_rows(scores, scale, positive, weights, level).fitted(budget, level)

    def _seem_to_fit(self, scores: Scores, scale: Scale, budget: int) -> bool:
        """Estimate by some rows whether the scores of all fit a budget, which are fast to sort.

        Of n rows with D equally frequent scores, a share of n / 2D of the scores comes again.
        """
        keys, n_rows = np.unique(keys_of(scores, scale), return_counts=True)
        first, last = (np.searchsorted(self.lo, keys, side) for side in ("left", "right"))
        n_again = np.count_nonzero((n_rows > 1) | (first < last))
        return bool(n_again > len(keys) * min(len(scores) / budget, 1) / 2)

    def _numbers_within(self, scores: Scores, scale: Scale, budget: int) -> PrefixNumbers | None:
        """Find numbers of prefixes at the lowest level at which these cells and rows fit a budget.

        None if that level is not above one at which a table of all prefixes is dense.
        """
        size = int(len(scores) / _ITEMS_A_PREFIX)
        for held in self._ranges_with(scores, scale):
            level = held.lowest_level(min(size, _PREFIXES_A_CELL * budget))
            numbers = held.numbers(level)
            is_occupied = np.zeros(numbers.size, dtype=bool)
            for part in (self.lo, *_keys_by_chunk(scores, scale)):
                is_occupied[numbers.of(part)] = True
            distinct = numbers.prefixes(np.flatnonzero(is_occupied))
            rise = _lowest_level(distinct[1:] ^ distinct[:-1], 1, budget)
            if rise:
                return held.numbers(level + rise)
        return None

    def _ranges_with(self, scores: Scores, scale: Scale) -> Iterator[KeyRange]:
        """Yield the range of these cells and some scores, and that without empty binades.

        The second takes more time to find.
        """
        ends = keys_of(np.array([scores.min(), scores.max()]), scale)
        whole = KeyRange.of(self.lo, ends)
        yield whole
        yield whole.only([self.lo, *_keys_by_chunk(scores, scale)])

    def fitted(self, budget: int | None, level: int) -> tuple[int, Self]:
        """Merge cells at the lowest level, not below theirs, at which they fit the budget.

        The level is a function of the rows alone, whatever their order: the number of cells
        never grows with the level, and never falls as rows are added. With groups the budget
        is no less than their number.
        """
        if budget is None or len(self) <= budget:
            return level, self
        gaps = self.lo[1:] ^ self.lo[:-1]
        if self.group is not None:
            gaps = gaps[self.group[1:] == self.group[:-1]]
        level = _lowest_level(gaps, len(self) - len(gaps), budget)
        return level, self._merged(level)

    def n_cells_at(self, level: int) -> int:
        """Count the cells that these canonical cells, one level up, would be at `level`."""
        return len(self) + int(
            np.count_nonzero(prefixes(self.lo, level) != prefixes(self.hi, level))
        )

    @property
    def _are_counts(self) -> bool:
        """Whether the table has neither groups nor fractional weights."""
        return self.group is None and self.pos.is_whole and self.neg.is_whole

    def _merged(self, level: int) -> Self:
        """Merge neighbours that share a cell at a level; they are already in order."""
        is_start = _is_start(prefixes(self.lo, level), self.group)
        if is_start.all():
            return self
        starts = np.flatnonzero(is_start)
        ends = _ends(starts, len(self))
        if (ends - starts).max() == 1:
            return self._paired(starts, ends, level)
        lo = hi = self.lo[starts]
        if level:
            hi = np.maximum.reduceat(self.hi, starts)
        if level and self.group is not None:  # any order is fine within a cell
            lo = np.minimum.reduceat(self.lo, starts)
        group = None if self.group is None else self.group[starts]
        return type(self)(lo, hi, self.pos.sum_runs(starts), self.neg.sum_runs(starts), group)

    def _paired(self, first: Indices, second: Indices, level: int) -> Self:
        """Merge cells in pairs, half the work of runs; a pair of the same cell is one cell."""
        one, two, are_two = self[first], self[second], first != second
        lo = hi = one.lo
        if level:
            lo, hi = np.minimum(lo, two.lo), np.maximum(one.hi, two.hi)
        return type(self)(
            lo,
            hi,
            one.pos + two.pos.where(are_two),
            one.neg + two.neg.where(are_two),
            one.group,
        )

    def _overlaid(
        self, other: Self, numbers: PrefixNumbers, budget: int | None
    ) -> tuple[int, Self]:
        """Join whole counts by a table of all prefixes in range."""
        mine, theirs = numbers.of(self.lo), numbers.of(other.lo)
        is_occupied = np.zeros(numbers.size, dtype=bool)
        is_occupied[mine] = is_occupied[theirs] = True
        occupied = np.flatnonzero(is_occupied)
        distinct = numbers.prefixes(occupied)
        rise = _lowest_level(distinct[1:] ^ distinct[:-1], 1, budget)
        is_start = _is_start(prefixes(distinct, rise), None)
        cell = np.empty(numbers.size, dtype=np.intp)
        cell[occupied] = np.cumsum(is_start) - 1
        mine, theirs = cell[mine], cell[theirs]

        def both(one: Any, two: Any, join: np.ufunc, empty: Any = 0) -> Any:
            joined = np.full(np.count_nonzero(is_start), empty, dtype=one.dtype)
            join.at(joined, mine, one)
            join.at(joined, theirs, two)
            return joined

        return numbers.level + rise, type(self)(
            both(self.lo, other.lo, np.minimum, _LARGEST_KEY),
            both(self.hi, other.hi, np.maximum),
            FixedPoint(both(self.pos.whole, other.pos.whole, np.add)),
            FixedPoint(both(self.neg.whole, other.neg.whole, np.add)),
        )

    def _tabulated(
        self, scores: Scores, scale: Scale, positive: Mask, numbers: PrefixNumbers
    ) -> Self:
        """Count rows in a table of all prefixes in range, and list its occupied cells."""
        held = numbers.of(self.lo)
        lo, hi = np.full(numbers.size, _LARGEST_KEY), np.zeros(numbers.size, dtype=np.uint64)
        lo[held], hi[held] = self.lo, self.hi
        counts = np.zeros((numbers.size, 2), dtype=np.int64)  # of negatives and of positives
        counts[held, 0], counts[held, 1] = self.neg.whole, self.pos.whole
        for start in range(0, len(scores), _CHUNK):
            part = keys_of(scores[start : start + _CHUNK], scale)
            at = numbers.of(part)
            # nearly all rows of a long stream are within known cells: a read is cheaper than a
            # write
            is_outside = (part < lo.take(at)) | (part > hi.take(at))
            ends, cells_of_ends = np.compress(is_outside, part), np.compress(is_outside, at)
            np.minimum.at(lo, cells_of_ends, ends)
            np.maximum.at(hi, cells_of_ends, ends)
            at <<= 1
            np.bitwise_or(at, positive[start : start + _CHUNK], out=at)
            np.add.at(counts.reshape(-1), at, 1)
        occupied = np.flatnonzero(lo <= hi)
        neg = _with_fractions(counts[occupied, 0], self.neg, occupied, held)
        pos = _with_fractions(counts[occupied, 1], self.pos, occupied, held)
        return type(self)(lo[occupied], hi[occupied], pos, neg)


def _ends(starts: Indices, size: int) -> Indices:
    """Find the last index of each run of a list of `size`."""
    return np.append(starts[1:], size)[: len(starts)] - 1


def _bounds(ordered: Keys, level: int) -> Keys:
    """Choose where to cut sorted keys so that no cell is cut."""
    inner = prefixes(ordered[_CHUNK::_CHUNK], level)
    return inner << np.uint64(min(level, 63))  # a shift by 64 bits is undefined


def _pieces(ordered: Keys, bounds: Keys) -> Iterator[slice]:
    """Cut sorted keys; work done piece by piece stays in the cache."""
    edges = [0, *np.searchsorted(ordered, bounds).tolist(), len(ordered)]
    return (slice(*ends) for ends in itertools.pairwise(edges))


def _lowest_level(gaps: Keys, n_groups: int, budget: int | None) -> int:
    """Find the lowest level at which cells fit a budget, from the xor of neighbouring keys.

    Cells are separate at a level if the xor of their keys has a bit above it.
    """
    if budget is None or len(gaps) <= budget - n_groups:
        return 0

    from bisect import bisect_left  # noqa: PLC0415 (for cells beyond a budget alone)

    def fits(level: int) -> bool:
        return int(np.count_nonzero(gaps >= np.uint64(1 << level))) <= budget - n_groups

    return bisect_left(range(64), True, key=fits)


def _keys_by_chunk(scores: Scores, scale: Scale) -> Iterator[Keys]:
    """Yield the keys of some scores, whose temporaries stay in the cache."""
    for start in range(0, len(scores), _CHUNK):
        yield keys_of(scores[start : start + _CHUNK], scale)


def _order(lo: Keys, group: Ints | None, level: int) -> Indices:
    """Find the order of cells at a level."""
    if group is None:
        # runs that are already in order are merged, not sorted again
        return np.argsort(lo, kind="stable")
    shift = max(level, _n_zeros(lo))
    if int(group.max(initial=0)).bit_length() + 64 - shift <= 64:
        packed = group.astype(np.uint64)
        packed <<= np.uint64(64 - shift)
        packed |= prefixes(lo, shift)
        return np.argsort(packed, kind="stable")
    by_key = np.argsort(lo)
    packed = group[by_key].astype(np.uint64)
    packed <<= np.uint64(32)
    packed |= np.arange(len(by_key), dtype=np.uint64)
    packed.sort()
    return by_key[(packed & np.uint64(2**32 - 1)).astype(np.intp)]


def _n_zeros(keys: Keys) -> int:
    """Count the low bits that are 0 in every key: those of float32 scores have 29 of them."""
    held = int(np.bitwise_or.reduce(keys)) if len(keys) else 0
    return (held & -held).bit_length() - 1 if held else 64


def split_by_class(positive: Mask, weights: FixedPoint | None) -> tuple[FixedPoint, FixedPoint]:
    """Return the weights of the positives and of the negatives, 0 where a row is the other."""
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
    whole: Ints, earlier: FixedPoint, occupied: Indices, held: Indices
) -> FixedPoint:
    """Copy the fractions of earlier cells, at `held`, to new counts: whole counts add none."""
    if earlier.fraction is None:
        return FixedPoint(whole)
    fraction = np.zeros(len(occupied), dtype=np.int64)
    fraction[np.searchsorted(occupied, held)] = earlier.fraction
    return FixedPoint(whole, fraction)


def _starts(prefix: Keys, group: Ints | None = None) -> Indices:
    """Find where a new prefix, or a new group, begins."""
    return np.flatnonzero(_is_start(prefix, group))


def _is_start(prefix: Keys, group: Ints | None) -> Mask:
    is_start = np.ones(len(prefix), dtype=bool)
    np.not_equal(prefix[1:], prefix[:-1], out=is_start[1:])
    if group is not None:
        is_start[1:] |= group[1:] != group[:-1]
    return is_start
