"""Queries that span several blocks, for accumulators that count complete queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from streameval.errors import BadDataError, CountOverflowError, InvalidInputError
from streameval.io.errors import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from streameval.runs.counting import Plan


class Gathered:
    """Batches that are held until the last row of every query has been read.

    Parameters
    ----------
    make : callable
        Makes an empty accumulator of groups, which takes complete queries; the accumulator of a
        group also takes parts of queries.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._trial = make()._config.accumulator.leaf.empty()
        self._batches: list[Mapping[str, Any]] = []

    def update(
        self, batch: Mapping[str, Any], update: Callable[[Any, Mapping[str, Any]], object]
    ) -> None:
        """Hold a batch whose rows the trial accumulator does not refuse."""
        update(self._trial.copy(), batch)
        self._batches.append(batch)

    def merge(self, other: Gathered) -> None:
        """Add the batches that another one holds."""
        self._batches += other._batches

    def counted(self, plan: Plan) -> Any:
        """Count all rows together.

        Raises
        ------
        BadDataError
            If the rows of a query are inconsistent; the message names it.
        """
        accumulator, held = self._make(), self._batches
        if held:
            batch = {name: np.concatenate([part[name] for part in held]) for name in held[0]}
            try:
                accumulator.update(batch)
            except (InvalidInputError, CountOverflowError) as error:
                reason = plan.message_of(error, with_position=False).removesuffix(".")
                raise BadDataError(f"{reason}{_of_query(error.position, batch)}.") from None
        return accumulator


def _of_query(position: Any, batch: Mapping[str, Any]) -> str:
    """Name the query of a row, as the end of a sentence."""
    if position is None:
        return ""
    (query,) = batch["query"][position : position + 1].tolist()
    return f", in query {shown(query)}"
