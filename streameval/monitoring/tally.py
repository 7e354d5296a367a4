"""What a monitor has counted: all rows, and those since the last commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streameval.monitoring.checkpoint import Addition
from streameval.monitoring.unlabelled import empty_beside, note_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from streameval.accumulators.windowed import Windowed
    from streameval.monitoring.checkpoint import Saved


class Tally:
    """The accumulator of a monitor, and the rows without a label by slice beside it.

    Parameters
    ----------
    make : callable
        Makes an accumulator that has counted nothing.
    saved : Saved
        The last commit.

    Attributes
    ----------
    total : Windowed
        All rows that have been counted; nobody else may change it.
    beside : Windowed or None
        Those of them without a label, by slice; None without slices.
    fresh : Windowed
        The rows counted since the last commit.
    """

    def __init__(self, make: Callable[[], Windowed], saved: Saved) -> None:
        self._make = make
        self.total = saved.windowed
        self.beside = saved.unlabelled
        self.renew()

    def renew(self) -> None:
        """Begin with the rows of the next commit."""
        self.fresh = self._make()
        self._fresh_beside = empty_beside(self.fresh)

    def count(self, batch: Mapping[str, Any]) -> None:
        """Count a batch."""
        self.fresh.update(batch)
        self.note(batch)

    def note(self, batch: Mapping[str, Any]) -> None:
        """Count which rows lack a label, of a batch that `fresh` has counted."""
        if self._fresh_beside is not None:
            note_rows(self._fresh_beside, self.fresh, batch)

    def take_in(self) -> tuple[Addition, Addition | None]:
        """Add the rows counted since the last commit to all; return what is to be stored."""
        rows = Addition(_taken_in(self.total, self.fresh), lambda: self.total)
        beside, fresh = self.beside, self._fresh_beside
        if beside is None or fresh is None:
            return rows, None
        return rows, Addition(_taken_in(beside, fresh), lambda: beside)


def _taken_in(total: Windowed, fresh: Windowed) -> bytes:
    return b"" if fresh.newest is None else total._take_in(fresh)
