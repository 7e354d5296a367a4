"""The total of a run: states merged in a tree, good rows counted, bad rows listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from streameval.errors import (
    BadDataError,
    IncompatibleStateError,
    InvalidInputError,
    Named,
)
from streameval.io.errors import BadRow, RepeatedQueryError, shown
from streameval.io.notation import OPPOSED, OPTION
from streameval.runs.counting import BlockCounts, Plan, RowShare

_SHOWN = 5


class RunTotal:
    """Fold counted blocks into one accumulator as they arrive.

    Parts of similar size are merged, so each block takes part in log2(blocks) merges. With states
    that grow with the data, merging one after the other would take quadratic time.

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
        self.n_left_out: Counter[str] = Counter()
        self.zones: set[bool] = set()

    def add(self, counted: BlockCounts) -> None:
        """Add one block.

        Raises
        ------
        BadDataError
            If there are too many bad rows, inconsistent blocks, or a repeated row that must be
            unique.
        """
        self.bad.add(counted.bad)
        self._seen.add(counted.unique, counted.source)
        self.n_good[counted.source] += counted.n_good
        self.n_left_out[counted.source] += counted.n_left_out
        self.zones |= counted.zones
        held = counted.accumulator
        if (
            held is not None and held is not self._parts[-1][1]
        ):  # else it has counted this block too
            while len(self._parts) > 1 and self._parts[-2][0] <= self._parts[-1][0]:
                self._merge_last()
            self._parts.append((1, held))
        self._source = counted.source

    @property
    def accumulators(self) -> list[Any]:
        """The accumulators to be merged; the caller must not change them."""
        return [accumulator for _, accumulator in self._parts]

    def total(self) -> Any:
        """Merge the remaining parts, and return the accumulator of all blocks.

        Raises
        ------
        BadDataError
            If blocks are inconsistent, or the share of bad rows is too large.
        """
        self.bad.check(self.n_good.total() + self.n_left_out.total() + self.bad.n)
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
    limit : int or RowShare
        The number that is tolerated, or the share of all rows.
    """

    def __init__(self, limit: int | RowShare) -> None:
        self._limit = limit
        self.first: list[BadRow] = []
        self.n = 0
        self.readable: Counter[str] = Counter()  # those that an option would read, by its name
        self.n_opposed = 0  # those whose numbers have another notation than those of other rows
        self.n_outside = 0  # those with a value outside the range of its argument

    def add(self, rows: Iterable[BadRow]) -> None:
        """Count more bad rows.

        Raises
        ------
        BadDataError
            At the first one past the limit; the message names it.
        """
        for row in rows:
            self.n += 1
            if option := OPTION.search(row.reason):
                self.readable[option[1]] += 1
            self.n_opposed += OPPOSED in row.reason
            self.n_outside += "` must lie in " in row.reason
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
        """Compare their number with that of all rows.

        Raises
        ------
        BadDataError
            If their share is larger than tolerated; the message names the first one.
        """
        if isinstance(self._limit, RowShare) and self._limit.is_below(self.n, n_rows):
            found = f" {self.n:,} of {n_rows:,} rows are bad; "
            raise BadDataError(str(self.first[0]), found, Named("max_bad"), f" is {self._limit}.")

    def refuse_all(self) -> None:
        """Raise an error for the first one, because no row is good.

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
        """Add more queries.

        Raises
        ------
        BadDataError
            If one has been seen before; the message names it.
        """
        for query in queries:
            if query in self._sources:
                before, what = self._sources[query], f"{source}: query {shown(query)}"
                if before == source:
                    raise BadDataError(f"{what} comes twice.")
                raise RepeatedQueryError(f"{what} is in {before} as well.")
            self._sources[query] = source

    def __contains__(self, query: object) -> bool:
        return query in self._sources
