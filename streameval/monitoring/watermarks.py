"""How far event time has come: the newest row of each partition of a source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Partitions"]

Int64Array = npt.NDArray[np.int64]

_FIRST = -(2**63)


@attrs.frozen
class _Partition:
    """The event time of the newest row, None before the first; and when a row came last."""

    newest: int | None
    seen: float


class Partitions:
    """The partitions of one source.

    Parameters
    ----------
    out_of_order : int
        How much older than the newest row before it a row of a partition may be.
    idle_after : float or None
        After so many seconds without a new row, although the source has been read to its end, a
        partition does not hold the others back. The one that is ahead always counts.
    state : mapping from str to JSON
        What `to_json` returned; empty at first.
    """

    def __init__(
        self, out_of_order: int, idle_after: float | None, state: Mapping[str, Any]
    ) -> None:
        self._out_of_order = out_of_order
        self._idle_after = idle_after
        self._found = {name: _Partition(*pair) for name, pair in state.get("found", {}).items()}
        self._gone = set(state.get("gone", ()))
        self._reached: int | None = state.get("reached")
        self.newest: int | None = state.get("newest")
        """The event time of the newest row."""

    @property
    def watermark(self) -> int | None:
        """The time before which no row is expected; None before every partition has begun."""
        newest = [one.newest for one in self._found.values()]
        marks = [time - self._out_of_order for time in newest if time is not None]
        if marks and len(marks) == len(newest):
            self._reached = max(min(marks), _FIRST if self._reached is None else self._reached)
        return self._reached

    def declare(self, names: Iterable[str], now: float) -> list[str]:
        """Name partitions before their rows are read, so that the others await them.

        Returns
        -------
        list of str
            Those that were unknown.
        """
        new = [name for name in names if name not in self._found and name not in self._gone]
        for name in new:
            self._found[name] = _Partition(None, now)
        return new

    def observe(self, name: str, times: Int64Array, now: float) -> Int64Array:
        """Note rows of a partition; return its watermark just before each of them."""
        found = self._found.get(name)
        before = _FIRST if found is None or found.newest is None else found.newest
        newest = np.maximum.accumulate(np.concatenate([[before], times]))
        self._found[name] = _Partition(int(newest[-1]), now)
        self._gone.discard(name)
        self.newest = int(newest[-1] if self.newest is None else max(self.newest, newest[-1]))
        marks: Int64Array = np.maximum(newest[:-1], _FIRST + self._out_of_order)
        return marks - self._out_of_order

    def release(self, now: float) -> list[str]:
        """Release partitions that have been silent for too long, and return their names."""
        if self._idle_after is None:
            return []
        gone = [
            name
            for name, one in self._found.items()
            if now - one.seen >= self._idle_after and one.newest != self.newest
        ]
        for name in gone:
            del self._found[name]
        self._gone.update(gone)
        return gone

    def to_json(self) -> dict[str, Any]:
        """Return what the checkpoint holds."""
        found = {name: [one.newest, one.seen] for name, one in self._found.items()}
        gone = sorted(self._gone)
        return {"found": found, "gone": gone, "reached": self.watermark, "newest": self.newest}
