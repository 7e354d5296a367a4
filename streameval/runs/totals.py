"""The total of a run: states merged in a tree, good rows counted, bad ones set apart."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from streameval.errors import (
    BadDataError,
    IncompatibleStateError,
    InvalidInputError,
    Named,
)
from streameval.io import BadRow
from streameval.io.errors import shown
from streameval.runs.counting import Share

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streameval.runs.counting import BlockCounts, Plan

__all__ = ["BadRows", "Seen", "Tally"]

_SHOWN = 5


class Tally:
    """Fold counted blocks, as they come, into one accumulator.

    Parts of like size are merged, so that each block takes part in a merge log2(blocks) times:
    states that grow with the data would make one merge after the other quadratic.

    Parameters
    ----------
    plan : Plan
        How the blocks were counted.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._parts: list[tuple[int, Any]] = [(0, plan.make())]
        self._source = ""
        self._seen = Seen()
        self.bad = BadRows(plan.max_bad)
        self.n_good: Counter[str] = Counter()
        self.n_left_out = 0

    def add(self, counted: BlockCounts) -> None:
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
        self.n_left_out += counted.n_left_out
        if counted.accumulator is not self._parts[-1][1]:  # else it has counted this block too
            while len(self._parts) > 1 and self._parts[-2][0] <= self._parts[-1][0]:
                self._merge_last()
            self._parts.append((1, counted.accumulator))
        self._source = counted.source

    @property
    def accumulators(self) -> list[Any]:
        """The accumulators that are to be merged; the caller must not change them."""
        return [accumulator for _, accumulator in self._parts]

    def total(self) -> Any:
        """Merge what is left, and return the accumulator of all blocks.

        Raises
        ------
        BadDataError
            If there are blocks that do not fit together, or too large a share of bad rows.
        """
        self.bad.check(self.n_good.total() + self.n_left_out + self.bad.n)
        while len(self._parts) > 1:
            self._merge_last()
        return self._parts[0][1]

    def _merge_last(self) -> None:
        n_blocks, last = self._parts.pop()
        n_before, total = self._parts.pop()
        try:
            total.merge(last)
        except (InvalidInputError, IncompatibleStateError) as error:
            raise BadDataError(f"{self._source}: {self._plan.message_of(error)}") from None
        self._parts.append((n_before + n_blocks, total))


class BadRows:
    """Count bad rows, and keep the first few to show.

    Parameters
    ----------
    limit : int or Share
        How many are tolerated, or which share of all rows.
    """

    def __init__(self, limit: int | Share) -> None:
        self._limit = limit
        self.first: list[BadRow] = []
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
            if isinstance(self._limit, int) and self.n > self._limit:
                limit = (
                    f" That is bad row {self.n:,}; ",
                    Named("max_bad"),
                    f" is {self._limit:,}.",
                )
                raise BadDataError(str(row), *(limit if self._limit else ()))
            if self.n <= _SHOWN:
                self.first.append(row)

    def check(self, n_rows: int) -> None:
        """Compare them with all rows.

        Raises
        ------
        BadDataError
            If they are a larger share than is tolerated; the message names the first.
        """
        if isinstance(self._limit, Share) and self._limit.is_below(self.n, n_rows):
            found = f" {self.n:,} of {n_rows:,} rows are bad; "
            raise BadDataError(str(self.first[0]), found, Named("max_bad"), f" is {self._limit}.")

    def refuse_all(self) -> None:
        """Name the first of them where no row is good.

        Raises
        ------
        BadDataError
            If there are any.
        """
        if self.n:
            raise BadDataError(str(self.first[0]), f" No row is valid; bad rows: {self.n:,}.")


class Seen:
    """The queries seen so far, each with its file."""

    def __init__(self) -> None:
        self._sources: dict[Any, str] = {}

    def add(self, queries: Iterable[Any], source: str) -> None:
        """Meet more of them.

        Raises
        ------
        BadDataError
            If one has been seen before; the message names it.
        """
        for query in queries:
            if query in self._sources:
                before = self._sources[query]
                again = "comes twice" if before == source else f"is in {before} as well"
                raise BadDataError(f"{source}: query {shown(query)} {again}.")
            self._sources[query] = source

    def __contains__(self, query: object) -> bool:
        return query in self._sources
