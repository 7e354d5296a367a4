"""How far event time has come in a log, and in the partitions of a source."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import attrs
import numpy as np

from streameval.exact.array_types import Ints

NO_TIME = -(2**63)
"""Before every time."""

_ANY_STEP = 2**63
_RECENT = 15
_LEARNING = 4
_LONG_GAP = 5
_STRETCH = 8
_FIRST_BLOCK, _MAX_BLOCK = 16, 2**16


class LogTime:
    """The event time that a partition has reached, as a function of its rows in their order.

    A row moves it to its own time, unless the row *jumps*: it is more than `max_step` ahead, and
    also more than eight times the fifth-longest gap between the times of the 15 rows before it.
    A jump counts once more than half of the last 15 rows have reached its time. So the first rows
    after a real gap move it a few rows later, and up to seven wrong ones in a row never do. The
    first four rows, which show nothing usual yet, count as they are.

    Parameters
    ----------
    max_step : int, optional
        By how much a row can always move it; None for no limit.
    time : int, optional
        The time reached.
    recent : sequence of int
        The times of the last rows, at most 15.
    """

    def __init__(
        self, max_step: int | None, time: int | None = None, recent: Sequence[int] = ()
    ) -> None:
        self._max_step = max_step
        self.time = time
        self._recent = list(recent) or ([] if time is None else [time])

    def observe(self, times: Ints) -> Ints:
        """Note rows; return the time reached just before each, `NO_TIME` before the first."""
        before = np.empty(len(times), dtype=np.int64)
        start, size = 0, _FIRST_BLOCK
        while start < len(times):
            block = times[start : start + size]
            reached = np.maximum.accumulate(np.concatenate([[self._time], block]))
            end = self._n_steady(block, reached)
            before[start : start + end] = reached[:end]
            self._move(int(reached[end]), block[:end])
            start, size = start + end, min(2 * size, _MAX_BLOCK)
            if end < len(block):
                size = _FIRST_BLOCK
                few = times[start : start + size]
                before[start : start + size] = list(map(self._note, few.tolist()))
                start += len(few)
        return before

    def after(self, times: Ints) -> Self:
        """Return a copy that has noted more rows."""
        copy = type(self)(self._max_step, self.time, self._recent)
        copy.observe(times)
        return copy

    def to_json(self) -> list[int]:
        """Return the times of the last rows, which a restored one needs besides `time`."""
        return list(self._recent)

    @property
    def _time(self) -> int:
        return NO_TIME if self.time is None else self.time

    def _n_steady(self, block: Ints, reached: Ints) -> int:
        """Return how many rows come before the first that may jump."""
        if self._max_step is None:
            return len(block)
        is_ahead = block > reached[:-1] + self._max_step
        return int(is_ahead.argmax()) if is_ahead.any() else len(block)

    def _move(self, time: int, rows: Ints) -> None:
        if len(rows):
            self.time = time
            self._recent = [*self._recent, *rows[-_RECENT:].tolist()][-_RECENT:]

    def _note(self, row: int) -> int:
        """Note one row; return the time reached before it."""
        before, max_step = self._time, self._max_step or 0
        is_jump = row > before + max_step
        usual = max(self._usual_step(), max_step) if is_jump else 0
        self._recent.append(row)
        del self._recent[:-_RECENT]
        if not is_jump:
            self.time = max(before, row)
            return before
        ordered = sorted(self._recent)
        reached = max(before, ordered[(len(ordered) - 1) // 2])
        for time in ordered:  # several steps, if rows before it were held back
            if reached < time <= reached + usual:
                reached = time
        self.time = reached
        return before

    def _usual_step(self) -> int:
        """Return the longest step that the last rows show to be usual."""
        if len(self._recent) < _LEARNING:
            return _ANY_STEP
        ordered = sorted(self._recent)
        gaps = sorted(map(operator.sub, ordered[1:], ordered))
        return int(_STRETCH * gaps[-min(_LONG_GAP, len(gaps))])


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
