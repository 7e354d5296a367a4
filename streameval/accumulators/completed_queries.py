"""From complete queries to a state, and to whoever asks for the values of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt

from streameval.configs.ranking import RankingConfig
from streameval.errors import InvalidInputError
from streameval.exact.fixed_point import MAX_TOTAL, FixedPoint
from streameval.metrics.ranking import evaluate
from streameval.results.ranking import Ranking
from streameval.states.queries import Queries
from streameval.states.ranking import QueryValues, RankingState
from streameval.states.ranking_parts import Parts, summed, with_batch
from streameval.states.ranking_rows import Rows, complete_queries

__all__ = ["HeldQueries", "OnQueries", "completed", "missed"]

OnQueries = Callable[[dict[str, npt.NDArray[Any]]], object]

_WAITING_BATCHES = 32
_SMALL = 4096  # documents


@attrs.frozen(eq=False)
class HeldQueries:
    """Queries that have been counted, the last small batches of which wait to be ranked together.

    Ranking takes a millisecond of calls whatever the number of queries. Batches that wait have
    been checked, and are so small that nothing about them can fail later.

    Parameters
    ----------
    parts : tuple of RankingState
        Their sum is the state of what does not wait.
    waiting : tuple of Rows
        Complete queries, whose ids nobody keeps.
    """

    parts: Parts
    waiting: tuple[Rows, ...] = ()

    @property
    def n(self) -> FixedPoint:
        """The number of complete queries."""
        n_waiting = np.array(sum(map(len, self.waiting)))
        return sum((part.n for part in self.parts), start=FixedPoint(n_waiting))

    def state(self, config: RankingConfig) -> RankingState:
        """Add up everything; nothing that is held changes."""
        return summed(self._ranked(config).parts, config)

    def with_batch(self, batch: RankingState, config: RankingConfig) -> Self:
        """Add a batch."""
        return attrs.evolve(self, parts=with_batch(self.parts, batch, config))

    def takes(self, rows: Rows, config: RankingConfig) -> bool:
        """Tell whether a batch can wait."""
        if len(rows.score) > _SMALL or not rows.is_plain or config.keeps_ids:
            return False
        return int(self.parts[0].n.whole) < MAX_TOTAL // 2

    def with_rows(self, rows: Rows, config: RankingConfig) -> Self:
        """Let a batch wait, until there are enough."""
        held = attrs.evolve(self, waiting=(*self.waiting, rows.copied()))
        return held._ranked(config) if len(held.waiting) == _WAITING_BATCHES else held

    def _ranked(self, config: RankingConfig) -> Self:
        if not self.waiting:
            return self
        batch = completed(Rows.concatenate(self.waiting), config, None)
        return type(self)(with_batch(self.parts, batch, config))


def completed(
    queries: Queries | Rows, config: RankingConfig, on_queries: OnQueries | None
) -> RankingState:
    """Evaluate queries; `on_queries` gets the values of each, as `Ranking.per_query` gives them."""
    blocks = complete_queries(queries, config) if isinstance(queries, Rows) else [queries]
    values = QueryValues.concatenate([evaluate(block, config) for block in blocks])
    if on_queries is not None:
        if queries.ids is None:
            raise InvalidInputError("`query` is missing: `on_queries` needs ids.")
        kept = attrs.evolve(config, per_query=True)
        _tell(RankingState.of_complete(values, queries.ids, kept), kept, on_queries)
    return RankingState.of_complete(values, queries.ids, config)


def missed(
    ids: npt.NDArray[Any], config: RankingConfig, on_queries: OnQueries | None
) -> RankingState:
    """Count judged queries that are absent; `on_queries` gets what they count, if they do."""
    if on_queries is not None and len(ids):
        kept = attrs.evolve(config, per_query=True)
        _tell(RankingState.of_missing(ids, kept), kept, on_queries)
    return RankingState.of_missing(ids, config)


def _tell(state: RankingState, config: RankingConfig, on_queries: OnQueries) -> None:
    columns = Ranking.of(state, config, empty=None, missing=None).per_query()
    if len(columns["query"]):
        on_queries(columns)
