"""Screening: which rows of a chunk can be counted, and why the others cannot.

Rows ahead of the clock
-----------------------
A row is *ahead* if its event time is more than `max_ahead` after the clock. Either its time is
wrong, or the clock is behind. It is wrong, and so a bad row, if it is ahead of its own log as well:
if the rows of its chunk do not bring the log there (`LogTime`), or if at least half of up to 15
rows are not ahead, namely the first row ahead and those after it, of its own partition first.
Otherwise the log as a whole is ahead of the clock: then the chunk waits until the clock has reached
the time of the log after it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from streameval.errors import BadDataError, Named
from streameval.exact.array_types import Array, Ints
from streameval.io.errors import BadRow
from streameval.monitoring.status import BAD, Recent
from streameval.runs.counting import RowShare, bad_rows, update_good
from streameval.runs.totals import BadRows

if TYPE_CHECKING:
    from streameval.configs.windowed import WindowedConfig
    from streameval.io.blocks import Block, Parsed
    from streameval.monitoring.intake import Reader
    from streameval.monitoring.quarantine import Quarantine
    from streameval.monitoring.watermarks import LogTime


_RECENT = 10_000
_FEWEST = 1000  # a share of fewer rows means little: it is taken of this many
_APART = 1000
_NOTES = 5
_WITNESSES = 15
_NO_LIMIT = 2**63 - 1
_MICROSECONDS = 1_000_000


@attrs.define(eq=False)
class Screening:
    """Keeps rows that can be read, that the accumulator accepts, and that are not in the future.

    Parameters
    ----------
    windows : WindowedConfig
        The plan, which knows the time column and whether its times are clock times.
    max_ahead : int
        How far event time may be ahead of the clock, in microseconds.
    max_bad : int or RowShare
        The number of bad rows that are tolerated, or their share of the newest rows: a log that
        lives for years may have many in all; what is wrong is when they become frequent.
    counters : Counter
        The counters of the other rows, by reason.
    notes : list of str
        Gets the first few bad rows.
    quarantine : Quarantine, optional
        Where these go.
    """

    _windows: WindowedConfig
    _max_ahead: int
    _max_bad: int | RowShare
    _counters: Counter[str]
    _notes: list[str]
    _quarantine: Quarantine | None = None
    _bad: BadRows = attrs.field(init=False)
    _recent: Recent = attrs.field(init=False)
    _n_judged: int = attrs.field(init=False, default=0)
    _newest: BadRow | None = attrs.field(init=False, default=None)

    def __attrs_post_init__(self) -> None:
        self._bad = BadRows(self._max_bad)
        self._recent = Recent(_RECENT, _APART, [(0, 0)])

    def restore(self, recent: Sequence[Sequence[int]] | None, n_good: int) -> None:
        """Continue from the restored counters, and from `to_json` if it was stored."""
        self._bad.n = self._n_judged = sum(self._counters[reason] for reason in BAD)
        # without marks, earlier rows count no more
        marks = [(n_good + self._bad.n, self._bad.n)] if recent is None else recent
        self._recent = Recent(_RECENT, _APART, marks)

    def to_json(self) -> list[Any]:
        """Return what a checkpoint stores beside the counters."""
        return self._recent.marks

    def waits_for(
        self,
        parsed: Parsed,
        following: Iterable[tuple[bool, Callable[[], Parsed]]],
        log: LogTime,
        now: float,
    ) -> int | None:
        """Return the event time that the clock must reach before a chunk is admitted, if any.

        Parameters
        ----------
        parsed : Parsed
            The rows of the chunk.
        following : iterable of (bool, callable)
            Of each chunk that can be read after it, whether it is of the same partition, and what
            parses it.
        log : LogTime
            How far the partition has come before the chunk.
        now : float
            The clock, in seconds since 1970.
        """
        limit, times = self._limit(now), self._times(parsed)
        is_ahead = times > limit
        reached = log.after(times).time if is_ahead.any() else None
        if reached is None or reached <= limit:
            return None
        rows: dict[bool, list[Array]] = {True: [times[int(is_ahead.argmax()) :]], False: []}
        for is_own, parse in following:
            if sum(map(len, rows[True])) >= _WITNESSES:
                break
            rows[is_own].append(self._times(parse()))
        witnesses = np.concatenate(rows[True] + rows[False])[:_WITNESSES]
        return reached if 2 * int((witnesses > limit).sum()) > len(witnesses) else None

    def admit(
        self, parsed: Parsed, block: Block, reader: Reader, accumulator: Any, now: float
    ) -> tuple[Mapping[str, Array], Sequence[Any]]:
        """Update an accumulator with the good rows of a block; return them and their numbers.

        Raises
        ------
        BadDataError
            If there are too many bad rows.
        """
        batch, row_ids, future = self._not_ahead(parsed.batch, parsed.row_ids, now)
        batch, _, refused = update_good(accumulator, batch, row_ids, block, reader.plan)
        faults = {"unreadable": parsed.faults, "refused": refused, "future": future}
        for reason, found in faults.items():
            self._counters[reason] += len(found)
            if self._quarantine is not None:
                self._quarantine.add_faults(reader.role, block, reason, found)
        self._counters["left_out"] += parsed.n_left_out
        self._add(bad_rows(block, sorted(fault for found in faults.values() for fault in found)))
        if refused:
            bad = {row_id for row_id, _ in refused}
            row_ids = [row_id for row_id in row_ids if row_id not in bad]
        return batch, row_ids

    def check_share(self, n_good: int) -> None:
        """Compare new bad rows with the newest rows, if a share is the limit.

        Raises
        ------
        BadDataError
            If there are too many; the message names an example.
        """
        limit, n_rows = self._max_bad, n_good + self._bad.n
        before, n_before = self._recent.note(n_rows, self._bad.n)
        rows, bad = n_rows - before, self._bad.n - n_before
        is_new, self._n_judged = self._bad.n > self._n_judged, self._bad.n
        if isinstance(limit, RowShare) and is_new and limit.is_below(bad, max(rows, _FEWEST)):
            found = f" {bad:,} of the last {rows:,} rows are bad; "
            raise BadDataError(str(self._newest), found, Named("max_bad"), f" is {limit}.")

    def _add(self, rows: Sequence[BadRow]) -> None:
        """Count bad rows, and name the first few."""
        left = max(_NOTES - self._bad.n, 0)
        self._newest = rows[-1] if rows else self._newest
        self._bad.add(rows)
        self._notes += map(str, rows[:left])

    def _limit(self, now: float) -> int:
        """Return the last event time that is not ahead of the clock."""
        if self._windows.is_step:
            return _NO_LIMIT
        return int(now * _MICROSECONDS) + self._max_ahead

    def _times(self, parsed: Parsed) -> Ints:
        return parsed.batch[self._windows.time].view(np.int64)

    def _not_ahead(
        self, batch: Mapping[str, Array], row_ids: Sequence[Any], now: float
    ) -> tuple[Mapping[str, Array], Sequence[Any], list[tuple[Any, str]]]:
        """Refuse rows whose event time lies in the future."""
        times = batch[self._windows.time].view(np.int64)
        ahead = times > self._limit(now)
        if not ahead.any():
            return batch, row_ids, []
        shown = self._windows.shown
        faults = [
            (row_ids[at], f"lies in the future: {shown(int(times[at]))}")
            for at in np.flatnonzero(ahead).tolist()
        ]
        kept = np.flatnonzero(~ahead)
        return (
            {name: array[kept] for name, array in batch.items()},
            [row_ids[at] for at in kept.tolist()],
            faults,
        )
