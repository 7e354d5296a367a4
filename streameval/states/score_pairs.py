"""Pairs of the scores that two models give the same rows, by class, in bounded memory."""

from __future__ import annotations

import bisect
from typing import Self

import attrs
import numpy as np

from streameval.exact.array_types import Mask
from streameval.exact.fixed_point import FixedPoint
from streameval.exact.score_keys import Keys, prefixes
from streameval.states.cells import Cells, split_by_class
from streameval.states.tables import LeveledCells

MAX_LEVEL = 64


@attrs.frozen(eq=False)
class ScorePairs:
    """The distinct pairs of scores, and the weight of the positives and the negatives of each.

    While they fit the budget, they are exact, and nothing else is kept. Beyond the budget, the keys
    of both scores lose their lowest bits. The level is the lowest at which the pairs fit, so it
    depends only on the rows. The scores of each model are then also kept in separate cells, which
    are much finer than the pairs.

    Parameters
    ----------
    level : int
        How many low bits of the keys have been dropped.
    a, b : uint64 array, shape (m,)
        The keys of both scores without these bits, in the order of `a` and then of `b`.
    pos, neg : FixedPoint, shape (m,)
        The weights of each pair.
    margins : pair of tables
        The cells of each model; empty while the level is 0.
    """

    level: int
    a: Keys
    b: Keys
    pos: FixedPoint
    neg: FixedPoint
    margins: tuple[LeveledCells, LeveledCells]

    @classmethod
    def none(cls) -> Self:
        """Return no pairs."""
        nothing = np.zeros(0, dtype=np.uint64)
        return cls._exact(nothing, nothing, FixedPoint.zeros(0), FixedPoint.zeros(0))

    @classmethod
    def _exact(cls, a: Keys, b: Keys, pos: FixedPoint, neg: FixedPoint) -> Self:
        return cls(0, a, b, pos, neg, ((0, Cells.none()), (0, Cells.none())))

    @classmethod
    def of_rows(
        cls, a: Keys, b: Keys, positive: Mask, weights: FixedPoint | None, budget: int | None
    ) -> Self:
        """Count rows by the keys of both scores."""
        if weights is not None:
            kept = weights.is_positive()
            a, b, positive, weights = a[kept], b[kept], positive[kept], weights.select(kept)
        pos, neg = split_by_class(positive, weights)
        return cls._exact(*grouped_pairs(a, b, pos, neg)).fitted(budget)

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.a)

    def margin(self, model: int, budget: int | None = None) -> LeveledCells:
        """Return the cells of model 0 or 1."""
        if self.level:
            return self.margins[model]
        keys = (self.a, self.b)[model]
        order = np.argsort(keys, kind="stable")
        every = Cells(keys, keys, self.pos, self.neg)[order]
        return every.joined(Cells.none(), 0).fitted(budget, 0)

    def joined(self, other: Self, budget: int | None) -> Self:
        """Add the pairs of another, and keep the budget."""
        level = max(self.level, other.level)
        mine, theirs = self._keys_at(level), other._keys_at(level)
        a, b = (np.concatenate(pair) for pair in zip(mine, theirs, strict=True))
        pos = FixedPoint.concatenate([self.pos, other.pos])
        neg = FixedPoint.concatenate([self.neg, other.neg])
        joined = type(self)._exact(*grouped_pairs(a, b, pos, neg))
        if level:
            first, second = (self._joined_margin(other, model, budget) for model in (0, 1))
            joined = attrs.evolve(joined, level=level, margins=(first, second))
        return joined.fitted(budget)

    def fitted(self, budget: int | None) -> Self:
        """Raise the level to the lowest at which the pairs fit the budget."""
        if budget is None or len(self) <= budget:
            return self

        def fits(level: int) -> bool:
            a, b = self._keys_at(level)
            return len(grouped_pairs(a, b, self.pos, self.neg)[0]) <= budget

        level = bisect.bisect_left(range(MAX_LEVEL), True, lo=self.level + 1, key=fits)
        pairs = grouped_pairs(*self._keys_at(level), self.pos, self.neg)
        return type(self)(level, *pairs, (self.margin(0, budget), self.margin(1, budget)))

    def _keys_at(self, level: int) -> tuple[Keys, Keys]:
        """Drop the bits between this level and a higher one."""
        return prefixes(self.a, level - self.level), prefixes(self.b, level - self.level)

    def _joined_margin(self, other: Self, model: int, budget: int | None) -> LeveledCells:
        (level, cells), (other_level, others) = (
            part.margin(model, budget) for part in (self, other)
        )
        return cells.joined_within(others, max(level, other_level), budget)


def grouped_pairs(
    a: Keys, b: Keys, pos: FixedPoint, neg: FixedPoint
) -> tuple[Keys, Keys, FixedPoint, FixedPoint]:
    """Sort pairs, and add up the weights of equal ones."""
    order = np.lexsort((b, a))
    a, b, pos, neg = a[order], b[order], pos[order], neg[order]
    is_start = np.ones(len(a), dtype=bool)
    is_start[1:] = (a[1:] != a[:-1]) | (b[1:] != b[:-1])
    if is_start.all():
        return a, b, pos, neg
    starts = np.flatnonzero(is_start)
    return a[starts], b[starts], pos.sum_runs(starts), neg.sum_runs(starts)
