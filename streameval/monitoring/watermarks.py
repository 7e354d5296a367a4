"""How far event time has come in the partitions of a source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs
import numpy as np

from streameval.exact.array_types import Ints
from streameval.monitoring.log_time import NO_TIME, LogTime


@attrs.frozen
class _Partition:
    """The event time that it has reached, and when a row came last."""

    log: LogTime
    seen: float


class Partitions:
    """The partitions of one source.

    Parameters
    ----------
    out_of_order : int
        How much older than the time that its partition has reached a row may be.
    idle_after : float or None
        After so many seconds without a new row, although the source has been read to its end, a
        partition does not hold the others back. The one that is ahead always counts.
    state : mapping from str to JSON
        What `to_json` returned; empty at first.
    max_step : int, optional
        By how much a row can always move its partition; see `LogTime`.
    """

    def __init__(
        self,
        out_of_order: int,
        idle_after: float | None,
        state: Mapping[str, Any],
        max_step: int | None = None,
    ) -> None:
        self._out_of_order = out_of_order
        self._idle_after = idle_after
        self._max_step = max_step
        self._found = {
            name: _Partition(LogTime(max_step, time, *recent), seen)
            for name, (time, seen, *recent) in state.get("found", {}).items()
        }
        self._gone = set(state.get("gone", ()))
        self._reached: int | None = state.get("reached")
        self.newest: int | None = state.get("newest")
        """The event time that the partition ahead has reached."""

    @property
    def watermark(self) -> int | None:
        """The time before which no row is expected; None before every partition has begun."""
        times = [one.log.time for one in self._found.values()]
        marks = [time - self._out_of_order for time in times if time is not None]
        if marks and len(marks) == len(times):
            self._reached = max(min(marks), NO_TIME if self._reached is None else self._reached)
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
            self._found[name] = _Partition(LogTime(self._max_step), now)
        return new

    def log(self, name: str) -> LogTime:
        """Return the event time that a partition has reached; nobody else may change it."""
        found = self._found.get(name)
        return LogTime(self._max_step) if found is None else found.log

    def observe(self, name: str, times: Ints, now: float) -> Ints:
        """Note rows of a partition; return its watermark just before each of them."""
        log = self.log(name)
        before = log.observe(times)
        self._found[name] = _Partition(log, now)
        self._gone.discard(name)
        known = [time for time in (self.newest, log.time) if time is not None]
        self.newest = max(known, default=None)
        marks: Ints = np.maximum(before, NO_TIME + self._out_of_order)
        return marks - self._out_of_order

    def release(self, now: float) -> list[str]:
        """Release partitions that have been silent for too long, and return their names."""
        if self._idle_after is None:
            return []
        gone = [
            name
            for name, one in self._found.items()
            if now - one.seen >= self._idle_after and one.log.time != self.newest
        ]
        for name in gone:
            del self._found[name]
        self._gone.update(gone)
        return gone

    def to_json(self) -> dict[str, Any]:
        """Return what the checkpoint holds."""
        found = {
            name: [one.log.time, one.seen, one.log.to_json()] for name, one in self._found.items()
        }
        gone = sorted(self._gone)
        return {"found": found, "gone": gone, "reached": self.watermark, "newest": self.newest}
