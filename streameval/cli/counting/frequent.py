"""The most frequent values of a column, found in a first pass over the files."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from streameval.cli.counting.plan import Plan
from streameval.cli.counting.slices import ARGUMENT, value_column
from streameval.cli.errors import UsageError
from streameval.io.streams import is_read_once, name_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["ValueCounts", "check_can_be_read_twice", "counting_plan"]

Value = str | None

_HELD = 2**16


class ValueCounts:
    """Count values in bounded memory, after Misra and Gries.

    While there are at most `held` different ones, every count is exact. Past that, those counted
    least are forgotten, and every count is too low by at most `missed`.

    Parameters
    ----------
    held : int
        How many counts are kept.

    References
    ----------
    P. K. Agarwal et al., "Mergeable summaries", PODS 2012, section 3.
    """

    def __init__(self, held: int = _HELD) -> None:
        self._held = held
        self._counts: Counter[Value] = Counter()
        self._missed = 0

    def update(self, values: Iterable[Value]) -> None:
        """Count more values."""
        self._counts.update(values)
        self._forget()

    def merge(self, other: ValueCounts) -> None:
        """Add what another one has counted."""
        self._counts.update(other._counts)
        self._missed += other._missed
        self._forget()

    def _forget(self) -> None:
        """Take the count of the first one too many from all, and leave out who has none left."""
        if len(self._counts) > self._held:
            too_many = sorted(self._counts.values(), reverse=True)[self._held]
            self._missed += too_many
            kept = {v: count - too_many for v, count in self._counts.items() if count > too_many}
            self._counts = Counter(kept)

    def top(self, number: int) -> tuple[tuple[Value, ...], bool]:
        """Give the most frequent values, the first first, and whether these are surely they.

        Of equally frequent values, the one that comes first as text is taken.
        """
        ranked = sorted(self._counts.items(), key=_by_frequency)
        chosen, rest = ranked[:number], ranked[number:]
        highest_left = (rest[0][1] if rest else 0) + self._missed
        is_sure = not self._missed or (len(chosen) == number and chosen[-1][1] > highest_left)
        return tuple(value for value, _ in chosen), is_sure


def counting_plan(column: str, max_bad: int) -> Plan:
    """Plan the first pass."""
    return Plan(ValueCounts, (value_column(column),), max_bad, update=_update)


def check_can_be_read_twice(files: Iterable[str]) -> None:
    """Raise UsageError if a file can be read only once, as a pipe can."""
    for file in files:
        if is_read_once(file):
            raise UsageError(
                f"{name_of(file)} can be read only once, but --by has to find the most frequent "
                "values first; name them, as in --by COLUMN=A,B,C."
            )


def _by_frequency(item: tuple[Value, int]) -> tuple[int, bool, str]:
    value, count = item
    return -count, value is not None, value or ""


def _update(counts: ValueCounts, batch: Mapping[str, Any]) -> str:
    counts.update(batch[ARGUMENT].tolist())
    return ""
