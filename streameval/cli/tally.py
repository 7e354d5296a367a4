"""The running total of a run: the accumulator, the rows in it, and the bad ones."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from streameval.cli.terminal import Note
from streameval.errors import InvalidInputError
from streameval.io import BadDataError, BadRow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streameval.cli.count import Counted
    from streameval.cli.plan import Plan

__all__ = ["BadRows", "Tally"]


_SHOWN = 5


class BadRows:
    """Count bad rows, and keep the first few to show.

    Parameters
    ----------
    limit : int
        How many are tolerated.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._first: list[BadRow] = []
        self.n = 0

    def add(self, rows: Iterable[BadRow]) -> None:
        """Count more of them.

        Raises
        ------
        BadDataError
            At the first one past the limit; the message names it.
        """
        for row in rows:
            self.n += 1
            if self.n > self._limit:
                past = f" That is bad row {self.n:,}; --max-bad is {self._limit:,}."
                raise BadDataError(f"{row}{past if self._limit else ''}")
            if self.n <= _SHOWN:
                self._first.append(row)

    def notes(self) -> list[Note]:
        """Give a warning for each of the first, and one for the rest."""
        notes = [Note("warning", str(row)) for row in self._first]
        more = self.n - len(notes)
        return [*notes, Note("warning", f"{more:,} more bad rows.")] if more else notes


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
