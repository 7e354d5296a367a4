"""From complete queries to a state, and to whoever asks for the values of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy.typing as npt

from streameval.configs.ranking import RankingConfig
from streameval.errors import InvalidInputError
from streameval.metrics.ranking import evaluate
from streameval.results.ranking import Ranking
from streameval.states.queries import Queries
from streameval.states.ranking import RankingState

__all__ = ["OnQueries", "completed"]

OnQueries = Callable[[dict[str, npt.NDArray[Any]]], object]


def completed(
    queries: Queries, config: RankingConfig, on_queries: OnQueries | None
) -> RankingState:
    """Evaluate queries; `on_queries` gets the values of each, as `Ranking.per_query` does."""
    values = evaluate(queries, config)
    if on_queries is not None:
        if queries.ids is None:
            raise InvalidInputError("`query` is missing: `on_queries` needs ids.")
        kept = attrs.evolve(config, per_query=True)
        state = RankingState.of_complete(values, queries.ids, kept)
        on_queries(Ranking.of(state, kept, empty=None, missing=None).per_query())
    return RankingState.of_complete(values, queries.ids, config)
