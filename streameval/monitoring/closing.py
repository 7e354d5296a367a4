"""The panes that a step reports: newly mature ones, and reported ones with new rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from streameval.accumulators.windowed import Windowed
from streameval.configs.windowed import WindowedConfig
from streameval.exact.array_types import Ints
from streameval.monitoring.status import Closed, SliceRows

_FIRST_CLOSED, _MAX_CLOSED = 16, 4096
_SHORT, _LONG = 0.1, 0.4
"""Seconds of a step after which more, or fewer, panes are closed in the next."""


class Closing:
    """The panes that have been reported, and those that have not.

    Parameters
    ----------
    windows : WindowedConfig
        The accumulator of the panes.
    delay : int
        How long after its end a pane is mature.
    notes : list of str
        Gets a warning of panes that left `keep` before they could be reported.
    """

    def __init__(self, windows: WindowedConfig, delay: int, notes: list[str]) -> None:
        self._windows = windows
        self._delay = delay
        self._notes = notes
        self._reported: int | None = None
        self._oldest: int | None = None
        self._unreported: list[int] = []
        self._revised: set[int] = set()
        self._pace = _FIRST_CLOSED
        self.has_more = False
        """Whether panes are left to report, so that nothing should be read before."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from what `to_json` returned."""
        self._reported = state["reported"]
        self._revised = set(state.get("revised", ()))

    def to_json(self) -> dict[str, Any]:
        """Return the input of `restore`."""
        return {"reported": self._reported, "revised": sorted(self._revised)}

    def note_read(self, times: Ints) -> None:
        """Record where panes begin, from the first rows read."""
        if self._oldest is None and len(times):
            self._oldest = int(times.min())

    def note_counted(self, times: Ints) -> None:
        """Record reported panes that have new rows, and the oldest of the others."""
        new = times
        if self._reported is not None:
            is_late = times < self._reported
            self._revised.update(np.unique(self._windows.end_of(times[is_late])).tolist())
            new = times[~is_late]
        if len(new):
            self._unreported += [int(new.min()), int(new.max())]

    def is_far_ahead(self, newest: int | None) -> bool:
        """Return whether panes must be reported before more rows move them out of `keep`."""
        keep = self._windows.tiers[0].keep
        since = self._oldest if self._reported is None else self._reported
        if keep is None or newest is None or since is None:
            return False
        return newest - since - self._delay > (keep - self._delay) // 2

    def due(self, total: Windowed, until: int | None) -> tuple[tuple[Closed, ...], int | None]:
        """Return the next panes to report: those with new rows, and those that have matured.

        Parameters
        ----------
        total : Windowed
            What has been counted.
        until : int or None
            The end of the newest mature pane.

        Returns
        -------
        panes : tuple of Closed
        until : int or None
            The end of the time in which all panes have been reported.
        """
        reported = self._reported
        moves = until is not None and (reported is None or until > reported)
        self.has_more = False
        if not moves and not self._revised:
            return (), until
        view = total.view()
        ends = sorted(self._revised)[: self._pace]
        self._revised.difference_update(ends)
        again = [span for end in ends for span in view.spans(end - self._windows.width, end)]
        new = view.spans(reported, until) if moves else []
        left = self._pace - len(ends)
        self.has_more = bool(self._revised) or len(new) > left
        if len(new) > left:
            new = new[:left]
            until = new[-1].end if new else reported
        if new:
            self._reported = new[-1].end
        return (
            *(self._closed(span, is_revised=True) for span in again),
            *(self._closed(span, is_revised=False) for span in new),
        ), until

    def check_reported(self) -> None:
        """Warn about panes that left `keep` before they could be reported."""
        times, self._unreported = self._unreported, []
        if not times:
            return
        edge, *_ = self._windows.edges(max(times))
        if min(times) < edge:
            shown = self._windows.shown(edge)
            said = f"panes before {shown} left `keep` within one step and were not reported"
            self._notes.append(f"{said}; their rows are counted")

    def set_pace(self, seconds: float) -> None:
        """Limit the panes of a step, so that it stops soon, however much each pane costs."""
        if self.has_more and seconds < _SHORT:
            self._pace = min(2 * self._pace, _MAX_CLOSED)
        elif seconds > _LONG:
            self._pace = max(self._pace // 2, 1)

    def _closed(self, span: Any, *, is_revised: bool) -> Closed:
        shown, part = self._windows.shown, span.part
        return Closed(
            start=shown(span.start),
            end=shown(span.end),
            n_rows=span.n_rows,
            part=self._windows.accumulator.empty() if part is None else part,
            by_slice=SliceRows.of_pane(span),
            is_revised=is_revised,
        )
