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
        An object whose method `part` makes the accumulator at an index.
    index : int
    """

    columns: Any
    index: int

    def copy(self) -> Any:
        """Make the accumulator."""
        return self.columns.part(self.index)

    _fork = copy

    def __eq__(self, other: object) -> bool:
        """Tell whether the accumulators are equal."""
        if isinstance(other, Sealed):
            is_same = self.columns is other.columns and self.index == other.index
            return is_same or self.copy() == other.copy()
        return bool(self.copy() == other)

    __hash__ = None  # type: ignore[assignment]


def live(part: Any) -> Any:
    """Return an accumulator as it is, or make one from a sealed one."""
    return part.copy() if isinstance(part, Sealed) else part


def detached(part: Any) -> Any:
    """Copy an accumulator, so that later updates change one of the two; sealed ones never do."""
    return part if isinstance(part, Sealed) else part.copy()
