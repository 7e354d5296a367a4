"""The running total of a run: the accumulator, the rows in it, and the bad ones."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from streameval.cli.counting.seen import Seen
from streameval.cli.terminal import Note
from streameval.cli.wording import in_words_of_the_user
from streameval.errors import BadDataError, IncompatibleStateError, InvalidInputError
from streameval.io import BadRow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streameval.cli.counting.count import Counted
    from streameval.cli.counting.plan import Plan

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
    """Fold counted blocks into one accumulator.

    Parts of like size are merged, so that each block takes part in a merge log2(blocks) times:
    states that grow with the data would make one merge after the other quadratic.

    Parameters
    ----------
    plan : Plan
        How the blocks were counted.
    """

    def __init__(self, plan: Plan) -> None:
        self._columns = plan.columns
        self._parts: list[tuple[int, Any]] = [(0, plan.make())]
        self._source = ""
        self._seen = Seen()
        self.bad = BadRows(plan.max_bad)
        self.n_good: Counter[str] = Counter()

    def add(self, counted: Counted) -> None:
        """Add one block.

        Raises
        ------
        BadDataError
            If there are more bad rows than are tolerated, or blocks that do not fit together, or
            a row comes again that may not.
        """
        self.bad.add(counted.bad)
        self._seen.add(counted.unique, counted.source)
        self.n_good[counted.source] += counted.n_good
        self._source = counted.source
        self._parts.append((1, counted.accumulator))
        while len(self._parts) > 1 and self._parts[-2][0] <= self._parts[-1][0]:
            self._merge_last()

    def total(self) -> Any:
        """Merge what is left, and give the accumulator of all blocks.

        Raises
        ------
        BadDataError
            If there are blocks that do not fit together.
        """
        while len(self._parts) > 1:
            self._merge_last()
        return self._parts[0][1]

    def _merge_last(self) -> None:
        n_blocks, last = self._parts.pop()
        n_before, total = self._parts.pop()
        try:
            total.merge(last)
        except (InvalidInputError, IncompatibleStateError) as error:
            reason = in_words_of_the_user(str(error), self._columns)
            raise BadDataError(f"{self._source}: {reason}") from None
        self._parts.append((n_before + n_blocks, total))
