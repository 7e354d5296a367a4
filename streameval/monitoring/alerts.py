"""Alerts: the state of each rule for each slice, pane by pane.

A state depends on the mature panes in order of time, on the previous states and, for rules about
silence and shares, on the status of the monitor and the clock. Each pane is examined once, so
later rows change no decision.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from streameval.accumulators.evidence import mean_panes
from streameval.accumulators.sliced import Sliced
from streameval.accumulators.windowed import Windowed
from streameval.configs.names import nearest
from streameval.configs.windowed import WindowedConfig
from streameval.errors import InvalidInputError, require
from streameval.monitoring.rules import AlertRule, Rule, ShareRule, SilenceRule, read_rules
from streameval.monitoring.series import (
    AlertState,
    ComparedSeries,
    Detection,
    Event,
    LostShare,
    PaneSeries,
    Progress,
    ReadPanes,
    Series,
    Silence,
    StoredSeries,
    end_of_removed,
)
from streameval.results.result import Result
from streameval.results.sliced import slice_names

__all__ = ["AlertState", "Alerts", "Event", "Progress"]


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
        pairs = [
            (alert, value) for alert in read_rules(rules) for value in _slices(alert.rule, config)
        ]
        inner = config.accumulator.leaf.empty().compute()
        tested = [pair for pair in pairs if _check(pair[0].rule, inner)]
        log_threshold = (
            math.log(mean_panes(false_alarms, config) * len(tested)) if tested else math.inf
        )
        self._config = config
        self._series: list[Series] = [
            _series(alert, value, config, log_threshold) for alert, value in pairs
        ]
        self._removed: dict[str, StoredSeries] = {}

    def step(
        self,
        windowed: Windowed,
        mature_until: Any,
        progress: Progress | None = None,
        now: float = 0.0,
    ) -> tuple[Event, ...]:
        """Examine the panes that have matured, once for each commit.

        Parameters
        ----------
        windowed : Windowed
            Everything counted up to this commit.
        mature_until : datetime64[us], int or None
            The end of the newest mature pane.
        progress : Progress, optional
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
        until = None if mature_until is None else int(np.asarray(mature_until).astype(np.int64))
        series = [copy.copy(one) if one.is_due(until) else one for one in self._series]
        events = [end_of_removed(key, stored, clock) for key, stored in self._removed.items()]
        if until is not None:
            events += _look(series, ReadPanes(windowed), until, clock)
        for one in series:
            if isinstance(one, Silence | LostShare) and progress is not None:
                event = one.listen(progress, clock)
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


def _series(alert: AlertRule, value: Any, config: WindowedConfig, log_threshold: float) -> Series:
    rule = alert.rule
    made: Series
    if isinstance(rule, SilenceRule):
        made = Silence(rule, value, config)
    elif isinstance(rule, ShareRule):
        made = LostShare(rule, value, config)
    elif rule.is_evidence:
        made = Detection(rule, value, config, log_threshold)
    else:
        made = ComparedSeries(rule, value, config)
    made.about = alert.about
    return made


def _slices(rule: Rule, config: WindowedConfig) -> list[Any]:
    """List the slices that a rule applies to; `...` stands for all rows."""
    if isinstance(rule, SilenceRule | ShareRule):
        return [...]
    inner, selector = config.accumulator, rule.selector
    if selector is not None and not selector.pairs:
        return [...]
    if inner.cls is not Sliced:
        if selector is None:
            return [...]
        raise InvalidInputError(
            f"{rule.text!r} names a slice, but panes are not a Sliced; --by makes one"
        )
    options = inner.options
    if selector is None:
        return [..., *options.values]
    for column, _, _ in selector.pairs:
        if column not in options.column:
            raise InvalidInputError(
                f"{rule.text!r}: no slices by {column!r}: {nearest(column, options.column)}"
            )
    found = [value for value in options.values if selector.chooses(options.column, value)]
    if not found:
        known = [f"{{{name}}}" for name in slice_names(options, options.values)]
        hint = f"{nearest(str(selector), known)} Name others" if known else "name it"
        raise InvalidInputError(
            f"{rule.text!r}: no named slice {selector}: {hint} in `values` of the `Sliced`."
        )
    return [min(found, key=_n_texts)]  # quotes tell text from a number


def _check(rule: Rule, result: Any) -> bool:
    """Refuse a rule about an unknown metric; return whether the e-detector decides it."""
    if isinstance(rule, SilenceRule | ShareRule) or rule.is_coverage:
        return False
    if not isinstance(result, Result):
        got = type(result).__name__
        raise InvalidInputError(
            f"{rule.text!r} needs a result with a table of metrics, got a {got}"
        )
    metric = rule.claim.metric
    try:
        result.check(metric)
    except InvalidInputError as error:
        raise error.within(repr(rule.text)) from None
    if not rule.is_evidence:
        return False
    try:
        statistic = result.statistic(metric)
    except InvalidInputError as error:
        remedy = f"A comparison of the value takes any metric: '{rule.text} for 3 panes'."
        raise InvalidInputError(f"{rule.text!r}: {error} {remedy}") from None
    try:
        statistic.checked(rule.limit)
    except InvalidInputError as error:
        raise InvalidInputError(f"{rule.text!r}: the limit {error.reason}") from None
    return True


def _n_texts(value: Any) -> int:
    return sum(isinstance(item, str) for item in (value if isinstance(value, tuple) else [value]))
