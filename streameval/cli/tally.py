"""The running total of a run: the accumulator, and how many rows went into it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from streameval.cli.bad_rows import BadRows
from streameval.errors import InvalidInputError
from streameval.io import BadDataError

if TYPE_CHECKING:
    from streameval.cli.count import Counted
    from streameval.cli.plan import Plan

__all__ = ["Tally"]


class Tally:
    """Fold counted blocks into one accumulator, in order.

    Parameters
    ----------
    plan : Plan
        How the blocks were counted.
    """

    def __init__(self, plan: Plan) -> None:
        self.accumulator: Any = plan.make()
        self.bad = BadRows(plan.max_bad)
        self.n_good: Counter[str] = Counter()

    def add(self, counted: Counted) -> None:
        """Add one block.

        Raises
        ------
        BadDataError
            If there are more bad rows than are tolerated, or more labels than are met.
        """
        self.bad.add(counted.bad)
        self.n_good[counted.source] += counted.n_good
        try:
            self.accumulator.merge(counted.accumulator)
        except InvalidInputError as error:
            raise BadDataError(f"{counted.source}: {error}") from None
