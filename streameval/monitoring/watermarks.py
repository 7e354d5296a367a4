"""How far event time has come in a log, and in the partitions of a source."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import attrs
import numpy as np

from streameval.errors import InvalidInputError
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


@attrs.define
class PartitionTime:
    """What is known of a partition.

    Parameters
    ----------
    log : LogTime
        The event time that it has reached.
    floor : int, optional
        The watermark of all partitions when it was named, where its own begins.
    seen : float
        When a row came last, in seconds; those who read the rows note it.
    """

    log: LogTime
    floor: int | None = None
    seen: float = 0.0

    def watermark(self, out_of_order: int) -> int | None:
        """Return the time that no later row will precede; None before the first row."""
        if self.log.time is None:
            return self.floor
        mark = self.log.time - out_of_order
        return mark if self.floor is None else max(mark, self.floor)


class Partitions:
    """The partitions of one source, or of one side of a join: how far event time has come in each.

    Parameters
    ----------
    out_of_order : int
        How much older than the time that its partition has reached a row may be.
    max_step : int, optional
        By how much a row can always move its partition; see `LogTime`.

    Attributes
    ----------
    found : dict from str to PartitionTime
        Those that hold the others back.
    newest : int or None
        The event time that the partition ahead has reached.
    newest_finished : int or None
        How far those have come that do not hold the others back any more.
    reached : int or None
        The watermark when it was used last.
    """

    def __init__(self, out_of_order: int, max_step: int | None = None) -> None:
        self._out_of_order = out_of_order
        self._max_step = max_step
        self.found: dict[str, PartitionTime] = {}
        self._gone: set[str] = set()
        self.newest: int | None = None
        self.newest_finished: int | None = None
        self.reached: int | None = None

    @property
    def bound(self) -> tuple[int, str | None] | None:
        """The time that no later row can precede, and the partition that it is of (None: any).

        None before every partition has begun.
        """
        if not self.found:
            newest = self.newest_finished
            return None if newest is None else (newest, None)
        marks = [(one.watermark(self._out_of_order), name) for name, one in self.found.items()]
        known = [(mark, name) for mark, name in marks if mark is not None]
        return min(known) if len(known) == len(marks) else None

    @property
    def watermark(self) -> int | None:
        """The time of `bound`."""
        bound = self.bound
        return None if bound is None else bound[0]

    def declare(self, names: Iterable[str], now: float = 0.0) -> None:
        """Name partitions before their rows are read, so that the others await them."""
        for name in names:
            if name not in self.found and name not in self._gone:
                self.found[name] = self.restored(None, self.reached, seen=now)

    def restored(
        self, time: int | None, floor: int | None, recent: Sequence[int] = (), seen: float = 0.0
    ) -> PartitionTime:
        """Make a partition that has come as far as an earlier one."""
        return PartitionTime(LogTime(self._max_step, time, recent), floor, seen)

    def log(self, name: str) -> LogTime:
        """Return the event time that a partition has reached; nobody else may change it."""
        found = self.found.get(name)
        return LogTime(self._max_step) if found is None else found.log

    def observe(self, name: str, times: Ints) -> Ints:
        """Note rows of a partition; return its watermark just before each of them."""
        self._gone.discard(name)
        self.declare([name])
        one = self.found[name]
        before = one.log.observe(times)
        self.newest = _latest(self.newest, one.log.time)
        marks: Ints = np.maximum(before, NO_TIME + self._out_of_order)
        return marks - self._out_of_order

    def finish(self, name: str) -> None:
        """Release a partition that will have no more rows; if it has, it is a new one."""
        gone = self.found.pop(name, None)
        if gone is None:
            raise InvalidInputError(f"is unknown: {name!r}", argument="partition")
        self.newest_finished = _latest(gone.log.time, gone.floor, self.newest_finished)

    def release(self, now: float, idle_after: float | None) -> list[str]:
        """Release partitions that have been silent for too long, and return their names.

        That is for so many seconds, although the source has been read to its end. The one that is
        ahead always counts.
        """
        if idle_after is None:
            return []
        gone = [
            name
            for name, one in self.found.items()
            if now - one.seen >= idle_after and one.log.time != self.newest
        ]
        for name in gone:
            self.finish(name)
        self._gone.update(gone)
        return gone

    def to_json(self) -> dict[str, Any]:
        """Return what the checkpoint holds."""
        found = {
            name: [one.log.time, one.seen, one.log.to_json()] for name, one in self.found.items()
        }
        gone = sorted(self._gone)
        return {"found": found, "gone": gone, "reached": self.reached, "newest": self.newest}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from what `to_json` returned; what a join has restored is as far."""
        if not self.found:
            self.reached = state.get("reached")
        for name, (time, seen, *recent) in state.get("found", {}).items():
            if name not in self.found:
                self.found[name] = self.restored(time, self.reached, *recent)
            self.found[name].seen = seen
        self._gone, self.newest = set(state.get("gone", ())), state.get("newest")


def _latest(*times: int | None) -> int | None:
    """Return the latest time that is known."""
    return max((time for time in times if time is not None), default=None)
