"""The share of bad rows among the newest rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streameval.errors import BadDataError, Named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streameval.runs.counting import RowShare

_RECENT = 10_000
_FEWEST = 1000  # a share of fewer rows means little: it is taken of this many
_APART = 1000


class RecentBad:
    """Compare bad rows with the newest rows, at least the last 10,000.

    A log that lives for years may have many bad rows in all; what is wrong is when they become
    frequent.
    """

    def __init__(self) -> None:
        self._marks: list[tuple[int, int]] = [(0, 0)]
        self._now = 0, 0

    def restore(self, marks: Sequence[Sequence[int]] | None, n_rows: int, n_bad: int) -> None:
        """Continue from `to_json`; without it, from numbers of rows that count no more."""
        self._marks = [(n_rows, n_bad)] if marks is None else [(rows, bad) for rows, bad in marks]

    def to_json(self) -> list[Any]:
        """Return what a checkpoint stores: numbers of rows and bad rows, some time ago first."""
        return [*map(list, self._marks)]

    def note(self, n_rows: int, n_bad: int) -> None:
        """Note how many rows, and bad rows of them, have been read so far."""
        while len(self._marks) > 1 and n_rows - self._marks[1][0] >= _RECENT:
            self._marks.pop(0)
        self._now = n_rows, n_bad
        if n_rows - self._marks[-1][0] >= _APART:
            self._marks.append(self._now)

    def check(self, limit: RowShare, example: object) -> None:
        """Raise an error if too many of the newest rows are bad.

        Raises
        ------
        BadDataError
            The message names an example.
        """
        rows, bad = (now - then for now, then in zip(self._now, self._marks[0], strict=True))
        if limit.is_below(bad, max(rows, _FEWEST)):
            found = f" {bad:,} of the last {rows:,} rows are bad; "
            raise BadDataError(str(example), found, Named("max_bad"), f" is {limit}.")
