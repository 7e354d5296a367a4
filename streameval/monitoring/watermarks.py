"""How far event time has come: the newest row of each partition of a source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Partition", "Partitions"]

Int64Array = npt.NDArray[np.int64]

_FIRST = -(2**63)


@attrs.define
class Partition:
    """The newest row of a partition, and when it last had a new one.

    Parameters
    ----------
    newest : int
        The event time of its newest row.
    seen : float
        When it last had new rows, in seconds since 1970.
    """

    newest: int
    seen: float


class Partitions:
    """The partitions of one source.

    Parameters
    ----------
    out_of_order : int
        How much older than the newest row before it a row of a partition may be.
    idle_after : float or None
        After so many seconds without a new row, although the source has been read to its end, a
        partition does not hold the others back. The one that is ahead never counts as silent.
    state : mapping from name to (newest, seen)
        What `to_json` returned.
    """

    def __init__(
        self, out_of_order: int, idle_after: float | None, state: Mapping[str, Any]
    ) -> None:
        self._out_of_order = out_of_order
        self._idle_after = idle_after
        self._found = {name: Partition(*pair) for name, pair in state.items()}

    def watermark(self, now: float) -> int | None:
        """Return the time before which no row is expected; None before the first row."""
        if not self._found:
            return None
        newest = [one.newest for one in self._found.values()]
        held = [one.newest for one in self._found.values() if not self._is_idle(one, now)]
        return min(held, default=max(newest)) - self._out_of_order

    def idle(self, now: float) -> list[str]:
        """List the partitions that do not hold the others back."""
        return [name for name, one in self._found.items() if self._is_idle(one, now)]

    @property
    def newest(self) -> int | None:
        """The event time of the newest row."""
        return max((one.newest for one in self._found.values()), default=None)

    def observe(self, name: str, times: Int64Array, now: float) -> Int64Array:
        """Note rows of a partition; return its watermark just before each of them."""
        found = self._found.get(name)
        before = _FIRST if found is None else found.newest
        newest = np.maximum.accumulate(np.concatenate([[before], times]))
        self._found[name] = Partition(int(newest[-1]), now)
        marks: Int64Array = np.maximum(newest[:-1], _FIRST + self._out_of_order)
        return marks - self._out_of_order

    def to_json(self) -> dict[str, Any]:
        """Return what the checkpoint holds."""
        return {name: [one.newest, one.seen] for name, one in self._found.items()}

    def _is_idle(self, one: Partition, now: float) -> bool:
        return self._idle_after is not None and now - one.seen >= self._idle_after
