"""An accumulator within flat columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

_AT_ONCE = 32  # accumulators that are not sealed


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


def live_in_turn(parts: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield single accumulators as they are, or made from sealed ones; nobody may change them.

    Small ones are made together, which takes half of the time.
    """
    columns = {id(one.columns): one.columns for one in parts if isinstance(one, Sealed)}
    step = min([one.n_at_once for one in columns.values()], default=_AT_ONCE)
    for first in range(0, len(parts), step):
        yield _all_live(parts[first : first + step])


def _all_live(parts: Sequence[Any]) -> list[Any]:
    made = list(parts)
    positions: dict[int, list[int]] = {}
    for position, part in enumerate(parts):
        if isinstance(part, Sealed):
            positions.setdefault(id(part.columns), []).append(position)
    for some in positions.values():
        found = parts[some[0]].columns.several([parts[position].index for position in some])
        for position, part in zip(some, found, strict=True):
            made[position] = part
    return made
