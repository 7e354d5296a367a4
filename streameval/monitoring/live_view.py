"""What a live page shows of a commit: the cards of all rows and of slices, read pane by pane."""

from __future__ import annotations

import functools
import math
import operator
import time
from collections.abc import Iterator, Sequence
from itertools import compress, count
from typing import Any

import attrs
import numpy as np

from streameval.accumulators.collection import heaviest
from streameval.accumulators.panes import Pane
from streameval.accumulators.sealed import Rest, live, live_in_turn
from streameval.accumulators.sliced import Sliced
from streameval.accumulators.windowed import Windowed
from streameval.configs.windowed import WindowedConfig
from streameval.metrics.table import NO_VALUE, Reading
from streameval.monitoring.live_markup import (
    Card,
    MetricSeries,
    Point,
    View,
    ViewedPane,
    ViewedPanes,
)
from streameval.monitoring.metric_rules import COVERAGE, N_PANES
from streameval.monitoring.rules import AlertState
from streameval.monitoring.status import (
    SliceRows,
    Snapshot,
    Status,
    Vitals,
    time_number,
)
from streameval.render.blocks import numbers_of
from streameval.render.text import time_text
from streameval.results.collection import read_or_nan
from streameval.results.names import MetricName, parse_metric, tables
from streameval.results.result import Result
from streameval.results.sliced import OTHER, slice_names

_STATES = ("firing", "pending", "silent", "resolved", "inactive")
_CLEAR = 2.0
_NARROWEST = 1e-9


class ViewBuilder:
    """Builds a view of each commit, and reads the panes that have changed since the one before.

    The newest are read first, then older ones for some seconds; the next view continues.
    """

    def __init__(self, metrics: Sequence[MetricName], level: float, patience: float = 1.0) -> None:
        self._metrics = metrics
        self._level = level
        self._patience = patience
        self._is_complete = True
        self._known: dict[tuple[int, int], ViewedPane] = {}
        self._cards: dict[Any, Card] = {}
        self._viewed: Sequence[ViewedPane] = ()
        self._values: dict[Any, None] = {}
        self._has_values = False

    def build(self, title: str, snapshot: Snapshot, vitals: Vitals | None = None) -> View:
        """Put together what a page shows of a commit."""
        counted = self._read(snapshot)
        panes, n_same = self._panes(counted, snapshot.status)
        return View(
            title=title,
            status=snapshot.status,
            vitals=vitals,
            panes=panes,
            cards=self._all_cards(panes, n_same, snapshot) if counted else [],
            others=_raised([one for one in snapshot.alerts if _is_about_all(one)]),
            level=self._level,
            is_complete=self._is_complete,
        )

    def _all_cards(self, panes: ViewedPanes, n_same: int, snapshot: Snapshot) -> list[Card]:
        """Make the card of all rows, then those of slices in the order of attention."""
        alerts, config = _alerts_by_slice(snapshot.alerts), snapshot.windowed.view().config
        named = [(..., "All rows", None), *self._named_values(config)]
        for value, name, items in named:
            kept = self._cards.get(value)
            self._cards[value] = self._card(kept, panes, n_same, value, name, alerts.get(items, ()))
        whole, *slices = [self._cards[value] for value, _, _ in named]
        return [whole, *sorted(slices, key=lambda card: _rank(card, whole, panes))]

    def _panes(self, counted: Sequence[ViewedPane], status: Status) -> tuple[ViewedPanes, int]:
        """Return what all cards share, and how many panes from the first on the last view had."""
        until = None if status.mature_until is None else time_number(status.mature_until)
        before, self._viewed = self._viewed, counted
        changed = compress(count(), map(operator.is_not, before, counted))
        mature = [one for one in counted if until is not None and one.span.end <= until]
        is_old = bool(mature) and mature[-1].span.end != until
        as_of = _pane_text(mature[-1].start) if is_old else ""
        n_same = next(changed, min(len(before), len(counted)))
        return ViewedPanes(counted, len(mature), as_of), n_same

    def _named_values(self, config: WindowedConfig) -> Iterator[tuple[Any, str, Any]]:
        """Yield each value that has a slice, its name, and its columns as alerts list them."""
        values = [value for value in self._values if value is not Rest]
        if values:
            options = config.accumulator.options
            for value, name in zip(values, slice_names(options, values), strict=True):
                yield value, name, tuple(options.items(value).items())
        if Rest in self._values:
            yield Rest, OTHER, Rest  # no alert is about the rest

    def _card(
        self,
        kept: Card | None,
        panes: ViewedPanes,
        n_same: int,
        value: Any,
        name: str,
        alerts: Sequence[AlertState],
    ) -> Card:
        """Make the card of a slice; what the last one drew of panes that stayed is kept."""
        points = [] if kept is None else kept.points
        before = [MetricSeries(str(one)) for one in self._metrics] if kept is None else kept.series
        first, empty = min(n_same, len(points)), Point(0, math.nan, self._undefined)
        changed = [one.slices.get(value, empty) for one in panes.counted[first:]]
        points = [*points[:first], *changed]
        series = []
        for index, one in enumerate(before):
            about = [alert for alert in alerts if alert.metric == one.metric]
            limits = dict.fromkeys(alert.limit for alert in about if alert.limit is not None)
            new = [point.readings[index] for point in changed]
            series.append(
                attrs.evolve(
                    one,
                    numbers=np.concatenate([one.numbers[:, :first], numbers_of(new)], axis=1),
                    limits=tuple(limits),
                    fired=_fired(panes, about),
                    evidence=_evidence_in(panes, about),
                )
            )
        states: set[str] = {one.state for one in alerts}
        if value is not Rest and _is_silent(points[: panes.n_mature]):
            states.add("silent")
        state = min(states, key=_STATES.index, default="inactive")
        return Card(name, state, _raised(alerts), series, points, _evidence(alerts))

    def _read(self, snapshot: Snapshot) -> list[ViewedPane]:
        """Return the newest panes in order of time, as far as patience lasts."""
        windowed = snapshot.windowed
        if windowed is None or windowed.newest is None:
            return []
        view = windowed.view()
        if not self._metrics:
            self._metrics = _default_metrics(windowed, snapshot.alerts)
        if not self._has_values:
            self._has_values = True
            for part in (*view.parts, *view.held("unlabelled")):
                self._values |= dict.fromkeys(_slices_of(live(part)))
        known, self._known = self._known, {}
        began, n_read = time.monotonic(), 0
        spans = view.spans()[-N_PANES:]
        for span in reversed(spans):
            key = span.start, span.end
            held = known.get(key)
            if held is None or not held.is_of(span):
                if n_read and time.monotonic() - began > self._patience:
                    break
                held, n_read = self._counted(span, view.config), n_read + 1
            self._known[key] = held
        self._is_complete = len(self._known) == len(spans)
        return [self._known[key] for key in reversed(self._known)]

    def _counted(self, span: Pane, config: WindowedConfig) -> ViewedPane:
        """Read all slices of a pane."""
        rows = SliceRows(span)
        held = _slices_of(rows.labelled)
        values = list(held)
        if span.is_known and Rest not in held:
            values = list(dict.fromkeys([*values, *_slices_of(rows.unlabelled)]))
        self._values |= dict.fromkeys(values)
        named = [value for value in values if value is not Rest]
        parts = [rows.part(...), *map(held.get, values)]
        slices = {}
        for value, (weight, readings) in zip([..., *values], self._read_all(parts), strict=True):
            # without labelled rows here, they may be among the others
            found = rows.without(named) if value is Rest else rows.of(value, weight or None)
            coverage = math.nan if found is None else found.coverage
            slices[value] = Point(weight, coverage, readings)
        start, end = config.shown(span.start), config.shown(span.end)
        return ViewedPane(span, start, end, span.n_rows, slices)

    def _read_all(self, parts: Sequence[Any]) -> Iterator[tuple[int | float, Sequence[Reading]]]:
        """Yield the weight of each slice, None without rows, and what the metrics read of it."""
        for some in live_in_turn(parts):
            weights = [0 if part is None else heaviest(part.n) for part in some]
            results = [part.compute() for part, weight in zip(some, weights, strict=True) if weight]
            if results:
                results[0]._prepare(results, self._metrics)
            unread = iter(results)
            for weight in weights:
                yield weight, self._readings(next(unread)) if weight else self._undefined

    def _readings(self, result: Result) -> Sequence[Reading]:
        return tuple([read_or_nan(result, metric, self._level).defined for metric in self._metrics])

    @property
    def _undefined(self) -> tuple[Reading, ...]:
        return (NO_VALUE,) * len(self._metrics)


def _default_metrics(windowed: Windowed, alerts: Sequence[AlertState]) -> list[MetricName]:
    """List the metrics that alerts are about, then the headline of the result."""
    named = [one.metric for one in alerts if one.metric not in (None, COVERAGE)]
    result = windowed.view().total.compute()
    named += [one for one in result.headline() if not result.read(one, level=0.0).is_count]
    return [parse_metric(name) for name in dict.fromkeys(named)]


def _slices_of(part: Any) -> dict[Any, Any]:
    """Map each value that has a slice with rows to it, live or sealed."""
    return part.view().every if isinstance(part, Sliced) else {}


def _alerts_by_slice(alerts: Sequence[AlertState]) -> dict[Any, list[AlertState]]:
    """Group alerts about metrics by the columns of their slice; None is all rows."""
    found: dict[Any, list[AlertState]] = {}
    for one in alerts:
        if not _is_about_all(one):
            key = None if one.slice is None else tuple(one.slice.items())
            found.setdefault(key, []).append(one)
    return found


def _fired(panes: ViewedPanes, alerts: Sequence[AlertState]) -> list[int]:
    """List the panes with which alerts about a metric began that are firing."""
    begun = {time_text(one.since) for one in alerts if one.state == "firing"}
    if not begun:
        return []
    return [at for at, one in enumerate(panes.counted) if time_text(one.end) in begun]


def _evidence_in(panes: ViewedPanes, alerts: Sequence[AlertState]) -> list[float]:
    """Return the evidence in each pane for the alert about a metric that is nearest to firing.

    It is a share of that of an alarm, nan where none was looked for; empty if all alerts about
    the metric are inactive.
    """
    known = [dict(one.history) for one in alerts if one.history]
    if not known:
        return []
    return [
        max([one[pane.end] for one in known if pane.end in one], default=math.nan)
        for pane in panes.counted
    ]


def _is_silent(mature: Sequence[Point]) -> bool:
    """Return whether a slice usually has rows, but none in the newest mature pane."""
    if not mature or mature[-1].labelled:
        return False
    return 2 * [one.labelled > 0 for one in mature].count(True) > len(mature)


def _evidence(alerts: Sequence[AlertState]) -> float:
    """Return how close an e-detector is to its alarm, in steps that keep the cards in order."""
    shares = [
        one.log_evidence / one.log_threshold
        for one in alerts
        if one.log_evidence is not None and one.log_threshold
    ]
    return round(min(max([*shares, 0.0]), 1.0), 1)


def _rank(card: Card, whole: Card, panes: ViewedPanes) -> tuple[Any, ...]:
    """Return what sorts cards: those that need attention first, then the heaviest."""
    urgency, worse = _STATES.index(card.state), _worse(card, whole, panes)
    weight = sum([one.labelled for one in card.points])
    return urgency, -card.evidence, -worse, -weight, card.name


def _worse(card: Card, whole: Card, panes: ViewedPanes) -> int:
    """Return how clearly a slice is worse than all rows, in half widths of its intervals."""
    found, newest = 0.0, [panes.newest(one.points) for one in (card, whole)]
    pairs = zip(*(one.readings for one in newest if one is not None), strict=True)
    for series, (mine, all_rows) in zip(card.series, pairs, strict=False):
        if mine.sampling is None:
            continue
        low, high = mine.sampling
        gap = float(all_rows.value) - float(mine.value)
        found = max(found, _sign(series.metric) * gap * 2 / max(high - low, _NARROWEST))
    return int(found) if found >= _CLEAR else 0


@functools.cache
def _sign(metric: str) -> int:
    """Return -1 for a metric whose lower values are better."""
    name = parse_metric(metric).name.rpartition("/")[2]
    rows = (table[name].better for table in tables() if name in table)
    return -1 if next(rows, "") == "lower" else 1


def _is_about_all(alert: AlertState) -> bool:
    """Return whether an alert is about the sources, not about a metric or a slice."""
    return alert.metric is None or (alert.metric == COVERAGE and alert.slice is None)


def _raised(alerts: Sequence[AlertState]) -> list[AlertState]:
    """List the alerts that are not inactive, the most urgent ones first."""
    raised = [one for one in alerts if one.state != "inactive"]
    return sorted(raised, key=lambda one: _STATES.index(one.state))


def _pane_text(start: Any) -> str:
    return time_text(start, " ").removesuffix(":00")
