"""Alerts: the state of each rule for each slice, pane by pane.

A state depends on the mature panes in order of time, on the previous states and, for rules about
silence and shares, on the status of the monitor and the clock. Each pane is examined once, so
later rows change no decision.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from streameval.accumulators.evidence import mean_panes
from streameval.accumulators.windowed import Windowed
from streameval.errors import require
from streameval.monitoring.metric_rules import Detection, PaneSeries, ReadPanes
from streameval.monitoring.rules import read_rules
from streameval.monitoring.series import AlertState, Event, Series, StoredSeries, end_of_removed
from streameval.monitoring.source_rules import SourceSeries
from streameval.monitoring.status import time_number

if TYPE_CHECKING:
    from streameval.monitoring.status import Status

__all__ = ["AlertState", "Alerts", "Event"]


class Alerts:
    """The states of all rules.

    Parameters
    ----------
    rules : sequence of str or mapping
        In the syntax of `parse_rule`, or tables with the keys of `AlertRule`. A rule about a metric
        applies to all rows together and to each named slice, unless it names one of them.
    windowed : Windowed
        The accumulator of the panes; rules are checked against its options.
    false_alarms : str or float
        The average rate of alarms, over all slices and all rules that the e-detector decides, while
        all limits are kept; see `evidence`.

    Raises
    ------
    InvalidInputError
        When a rule is malformed, its metric or slice does not exist, or its metric has no evidence.
    """

    def __init__(
        self, rules: Iterable[Any], windowed: Windowed, *, false_alarms: str | float = "1 per 30d"
    ) -> None:
        config = windowed._config
        result = config.accumulator.leaf.empty().compute()
        self._series: list[Series] = []
        for alert in read_rules(rules):
            slices = alert.rule.slices(config)
            alert.rule.check(result)
            for value in slices:
                one = alert.rule.series(value, config)
                one.about = alert.about
                self._series.append(one)
        detectors = [one for one in self._series if isinstance(one, Detection)]
        if detectors:
            log_threshold = math.log(mean_panes(false_alarms, config) * len(detectors))
            for detector in detectors:
                detector.log_threshold = log_threshold
        self._removed: dict[str, StoredSeries] = {}

    def step(
        self,
        windowed: Windowed,
        mature_until: Any,
        status: Status | None = None,
        now: float = 0.0,
    ) -> tuple[Event, ...]:
        """Examine the panes that have matured, once for each commit.

        Parameters
        ----------
        windowed : Windowed
            Everything counted up to this commit.
        mature_until : datetime64[us], int or None
            The end of the newest mature pane.
        status : Status, optional
            The status of the monitor; without it, rules about silence and shares are not
            evaluated.
        now : float
            The time by the clock, in seconds since 1970.

        Returns
        -------
        tuple of Event
            In the order of panes, rules and slices. If it raises, no state has changed.
        """
        clock = round(now * 1e6)
        until = None if mature_until is None else time_number(mature_until)
        series = [copy.copy(one) if one.is_due(until) else one for one in self._series]
        events = [end_of_removed(key, stored, clock) for key, stored in self._removed.items()]
        if until is not None:
            events += _look(series, ReadPanes(windowed), until, clock)
        for one in series:
            if isinstance(one, SourceSeries) and status is not None:
                event = one.listen(status, clock)
                events += [] if event is None else [event]
        self._series, self._removed = series, {}
        return tuple(events)

    def states(self) -> tuple[AlertState, ...]:
        """Return the state of each rule for each slice."""
        return tuple(one.shown() for one in self._series)

    def to_json(self) -> dict[str, Any]:
        """Return the input of `restore`, in JSON types only."""
        return self._removed | {one.key: one.stored() for one in self._series}

    @classmethod
    def restore(
        cls,
        rules: Iterable[Any],
        windowed: Windowed,
        stored: Mapping[str, Any],
        *,
        false_alarms: str | float = "1 per 30d",
        number: int = 0,
    ) -> Self:
        """Continue from a stored state.

        New rules examine the panes that are kept; their events have other ids than those of the
        same rules before the commit of that `number`. Alerts of removed rules are resolved in the
        next step.
        """
        made = cls(rules, windowed, false_alarms=false_alarms)
        known = {one.key: one for one in made._series}
        for key in known.keys() - stored.keys():
            known[key].added = number
        for key, item in stored.items():
            if key in known:
                known[key].restore(item)
                continue
            require(isinstance(item, dict) and {"state", "alert"} <= item.keys(), "an alert")
            if item["state"] == "firing":
                made._removed[key] = item
        return made


def _look(series: Sequence[Series], panes: ReadPanes, mature_until: int, now: int) -> list[Event]:
    """Examine the new panes of each series, in order of time."""
    behind = [one for one in series if isinstance(one, PaneSeries) and one.is_due(mature_until)]
    if not behind:
        return []
    known = [one.until for one in behind if one.until is not None]
    low = min(known) if len(known) == len(behind) else None
    events = []
    for span in panes.between(low, mature_until):
        for one in behind:
            if one.until is None or one.until <= span.start:
                event = one.look(span, panes, now)
                events += [] if event is None else [event]
    for one in behind:
        one.until = mature_until
    return events
