"""A ranking state in parts of falling size, so that a small batch is not added to all there is."""

from __future__ import annotations

import functools
from typing import Self

import attrs
import numpy as np

from streameval.configs.ranking import RankingConfig
from streameval.exact.fixed_point import FixedPoint
from streameval.states.queries import MAX_ROWS
from streameval.states.ranking import RankingState

__all__ = ["Parts", "added"]


def added(a: RankingState, b: RankingState, config: RankingConfig) -> RankingState:
    """Add two states, and keep of open queries what measures ask for."""
    total = a + b
    return total.fitted(config) if len(a.ids) and len(b.ids) else total


@attrs.frozen(eq=False)
class Parts:
    """States, one at least, of which a ranking state is the sum."""

    states: tuple[RankingState, ...]

    @property
    def n(self) -> FixedPoint:
        """The number of complete queries."""
        return sum((part.n for part in self.states), start=FixedPoint(np.array(0)))

    def summed(self, config: RankingConfig) -> RankingState:
        """Add up all parts."""
        return functools.reduce(lambda a, b: added(a, b, config), reversed(self.states))

    def with_batch(self, batch: RankingState, config: RankingConfig) -> Self:
        """Add a batch to the parts that are not much larger than it.

        So a row is added some log2(n) times, and no update takes time in proportion to all rows
        but the few that close a gap. Ids have been checked: a part is only left for later where
        adding it cannot fail.
        """
        total = [*self.states, batch]
        may_be_left = batch.size > 0 and _cannot_fail(total, config)
        while len(total) > 1 and (not may_be_left or total[-2].size <= 2 * total[-1].size):
            last = total.pop()
            total[-1] = added(total[-1], last, config)
        return type(self)(tuple(total))


def _cannot_fail(parts: list[RankingState], config: RankingConfig) -> bool:
    if config.keeps_documents or config.max_open_queries is not None:
        return False
    is_declared = any((part.declared.values >= 0).any() for part in parts)
    return not is_declared and sum(part.largest for part in parts) <= MAX_ROWS
