"""The bad rows of a run: tolerated and counted up to a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streameval.cli.terminal import Note
from streameval.io import BadDataError, BadRow

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["BadRows"]

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
