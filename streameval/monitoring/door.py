"""The door: which rows of a chunk can be counted, and what is wrong with the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from streameval.monitoring.status import BAD
from streameval.runs.counting import bad_rows, update_good
from streameval.runs.totals import BadRows

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping, Sequence

    from streameval.configs.windowed import WindowedConfig
    from streameval.io import BadRow, Block
    from streameval.runs.counting import Plan, Share

__all__ = ["Door"]

Array = npt.NDArray[Any]

_SHARE_FROM = 1000
_NOTES = 5
_MICROSECONDS = 1_000_000


class Door:
    """Lets rows in that can be read, that an accumulator takes, and that are not of the future.

    Parameters
    ----------
    windows : WindowedConfig
        Knows the column of time, and whether it is a clock's.
    max_ahead : int
        How far event time may be ahead of the clock, in microseconds.
    max_bad : int or Share
        How many bad rows are tolerated.
    counters : Counter
        Where the others are counted, by reason.
    """

    def __init__(
        self,
        windows: WindowedConfig,
        max_ahead: int,
        max_bad: int | Share,
        counters: Counter[str],
    ) -> None:
        self._windows = windows
        self._max_ahead = max_ahead
        self._counters = counters
        self._bad = BadRows(max_bad)
        self._notes: list[str] = []

    def restore(self) -> None:
        """Go on from the counters, which have been restored."""
        self._bad.n = sum(self._counters[reason] for reason in BAD)

    def admit(self, block: Block, plan: Plan, accumulator: Any, now: float) -> Mapping[str, Array]:
        """Update an accumulator with the good rows of a block, and return them.

        Raises
        ------
        BadDataError
            If there are more bad rows than are tolerated.
        """
        parsed = block.parse(plan.columns, plan.where)
        batch, row_ids, future = self._not_ahead(parsed.batch, parsed.row_ids, now)
        batch, _, refused = update_good(accumulator, batch, row_ids, block, plan)
        faults = {"unreadable": parsed.faults, "refused": refused, "future": future}
        for reason, found in faults.items():
            self._counters[reason] += len(found)
        self._counters["left_out"] += parsed.n_left_out
        self._add(bad_rows(block, sorted(fault for found in faults.values() for fault in found)))
        return batch

    def check_share(self, n_good: int) -> None:
        """Compare bad rows with all rows, once a share of them means something.

        Raises
        ------
        BadDataError
            If there are more than are tolerated.
        """
        n_rows = n_good + self._bad.n
        if n_rows >= _SHARE_FROM and self._bad.first:
            self._bad.check(n_rows)

    def take_notes(self) -> list[str]:
        """Return the first few bad rows, those that came since the last call."""
        notes, self._notes = self._notes, []
        return notes

    def _add(self, rows: Sequence[BadRow]) -> None:
        """Count bad rows, and name the first few."""
        left = max(_NOTES - self._bad.n, 0)
        self._bad.add(rows)
        self._notes += map(str, rows[:left])

    def _not_ahead(
        self, batch: Mapping[str, Array], row_ids: Sequence[Any], now: float
    ) -> tuple[Mapping[str, Array], Sequence[Any], list[tuple[Any, str]]]:
        """Refuse rows whose event time lies in the future."""
        if self._windows.is_step:
            return batch, row_ids, []
        times = batch[self._windows.time].view(np.int64)
        ahead = times > int(now * _MICROSECONDS) + self._max_ahead
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
