"""An accumulator within flat columns."""

from __future__ import annotations

from typing import Any

import attrs

__all__ = ["Sealed", "detached", "live"]


@attrs.frozen(eq=False)
class Sealed:
    """An accumulator stored in flat columns together with many others.

    Parameters
    ----------
    columns : object
        An object whose method `part` makes the accumulator at an index, and `weight` weighs it.
    index : int
    """

    columns: Any
    index: int

    def copy(self) -> Any:
        """Make the accumulator."""
        return self.columns.part(self.index)

    _fork = copy

    @property
    def weight(self) -> int | float:
        """The weight of its rows, read without making the accumulator."""
        weight: int | float = self.columns.weight(self.index)
        return weight

    def __eq__(self, other: object) -> bool:
        """Return whether the accumulators are equal."""
        if isinstance(other, Sealed):
            is_same = self.columns is other.columns and self.index == other.index
            return is_same or self.copy() == other.copy()
        return bool(self.copy() == other)

    __hash__ = None  # type: ignore[assignment]


def live(part: Any) -> Any:
    """Return an accumulator as it is, or make one from a sealed one."""
    return part.copy() if isinstance(part, Sealed) else part


def detached(part: Any) -> Any:
    """Copy an accumulator, unless it is sealed: sealed ones never change."""
    return part if isinstance(part, Sealed) else part.copy()
