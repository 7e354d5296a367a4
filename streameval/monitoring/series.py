"""Rules about one slice each, and their states: inactive, pending, firing, resolved."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol

import attrs
import numpy as np

from streameval.accumulators.collection import heaviest
from streameval.accumulators.evidence import slice_of
from streameval.accumulators.panes import Span
from streameval.accumulators.parts import merge
from streameval.accumulators.sealed import live
from streameval.accumulators.windowed import TwoStacks, Windowed
from streameval.configs.windowed import WindowedConfig
from streameval.errors import InvalidInputError, UnknownMetricError, require
from streameval.inputs.durations import read_duration
from streameval.metrics.evidence import TILTS, Detector
from streameval.metrics.table import Reading
from streameval.monitoring.rules import ENDED, MetricRule, Rule, ShareRule, SilenceRule
from streameval.monitoring.status import BAD
from streameval.monitoring.unlabelled import SliceRows, Weights
from streameval.results.evidence import read_pane
from streameval.results.names import MetricName
from streameval.results.result import Result

LEVEL = 0.95
"""Of the sampling intervals that events show."""

Phase = Literal["inactive", "pending", "firing", "resolved"]
StoredSeries = dict[str, Any]

N_PANES = 60
"""How many panes a page shows of a series, and the evidence of how many is kept."""

_STORED = ("state", "since", "alert", "until")
_VALUES = ("value", "certified", "interval", "n", "start", "end")

_LOST_LABELS = {"late labels": "late_label", "unmatched labels": "orphan_expired"}
"""The counters of labels that cannot be used."""

UNDEFINED = Reading(math.nan)
"""The reading of a metric that has no value."""

_NEAR = math.log(10.0)
_MIN_PANES = 3

_MIN_ROWS, _ROWS = 100, 1000
"""The fewest rows or labels whose share is looked at, and how many of the last make a share."""


class Progress(Protocol):
    """What rules that look at no pane read of the status of a monitor."""

    @property
    def n_rows(self) -> int:
        """The number of predictions that have been read."""
        ...

    @property
    def n_labelled(self) -> int | float:
        """The weight of the rows that have been counted with a label."""
        ...

    @property
    def n_pending(self) -> int:
        """The number of pending predictions."""
        ...

    @property
    def counters(self) -> Mapping[str, int]:
        """The numbers of labels, of late ones, and of bad rows, among others."""
        ...


@attrs.frozen
class Event:
    """An alert that begins to fire, or is resolved.

    Parameters
    ----------
    id : str
        The same for the same rule, slice, pane and state: a repeated event keeps its id. A rule
        that was removed and added again has new ones.
    alert : str
        The `id` of the event with which the alert began.
    rule : str
        The rule in its canonical form.
    state : {"firing", "resolved"}
    slice : dict, optional
        The value of each column; None for all rows.
    metric : str, optional
        The metric of the rule; None of rules about silence.
    value : float, optional
        Its value from `start` to `end`; None where there is none.
    certified, interval : (float, float), optional
        The bounds of the exact value, if they differ, and the 95% sampling interval.
    limit : float, optional
        The number in the rule.
    n : int or float, optional
        The number of examples from `start` to `end`.
    start, end : str or int, optional
        The rows that `value` covers; a pane ends at `end`. For rules about silence, `start` is
        when something last arrived.
    at : str
        When the monitor decided.
    about : dict
        What the table of the rule says when the alert begins: its name, severity, labels and links.

    Examples
    --------
    >>> import streameval as se
    >>> from streameval.monitoring.alerts import Alerts
    >>> w = se.Windowed(se.ConfusionAccumulator(), pane="1m", unit="s")
    >>> for minute, right in enumerate([9, 7, 9]):
    ...     batch = {"y_true": [1] * 10, "y_pred": [1] * right + [0] * (10 - right)}
    ...     w = w.update(batch | {"time": [60 * minute] * 10})
    >>> (firing,) = Alerts(["accuracy < 0.8 for 1 pane"], w).step(w, w.newest)
    >>> for key, item in firing.to_json().items():
    ...     print(key, item)
    id e61418efe66705c57c6841d3faded3a4
    alert e61418efe66705c57c6841d3faded3a4
    rule accuracy < 0.8 for 1 pane
    state firing
    slice None
    metric accuracy
    value 0.7
    certified None
    interval (0.39677814746114537, 0.8922087325936989)
    limit 0.8
    n 10
    start 1970-01-01T00:01:00Z
    end 1970-01-01T00:02:00Z
    at 1970-01-01T00:00:00Z
    """

    id: str
    alert: str
    rule: str
    state: Phase
    slice: dict[str, Any] | None
    metric: str | None
    value: float | None
    certified: tuple[float, float] | None
    interval: tuple[float, float] | None
    limit: float | None
    n: int | float | None
    start: str | int | None
    end: str | int | None
    at: str
    about: dict[str, Any] = attrs.field(factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return what a receiver gets; numbers are finite."""
        items = attrs.asdict(self)
        about: dict[str, Any] = items.pop("about")
        return {**items, **about}


@attrs.frozen
class AlertState:
    """The state of a rule for one slice.

    Parameters
    ----------
    rule : str
        The rule in its canonical form.
    metric : str, optional
    slice : dict, optional
        The value of each column; None for all rows.
    state : {"inactive", "pending", "firing", "resolved"}
    since : str or int, optional
        The end of the pane with which the state began, or the time by the clock.
    alert : str, optional
        The id of the event with which it began to fire.
    log_evidence, log_threshold : float, optional
        Where the e-detector decides: the evidence, and from where on there is an alarm.
    history : tuple of (datetime64[us] or int, float)
        The ends of the last 60 panes that it looked at, and the evidence then as a share of that of
        an alarm, in [0, 1]. Empty while the state is inactive.
    about : dict
        What the table of the rule says: its name, severity, labels and links.
    """

    rule: str
    metric: str | None
    slice: dict[str, Any] | None
    state: Phase
    since: str | int | None
    alert: str | None
    log_evidence: float | None = None
    log_threshold: float | None = None
    history: tuple[tuple[Any, float], ...] = ()
    about: dict[str, Any] = attrs.field(factory=dict)


@attrs.frozen
class _Value:
    """The value of a metric from `start` to `end`; `read` adds the sampling interval."""

    reading: Reading
    read: Callable[[], Reading]
    n: int | float
    start: int
    end: int

    @property
    def is_empty(self) -> bool:
        """Whether the metric is undefined there."""
        return math.isnan(self.reading.value)


class ReadPanes:
    """The panes of a `Windowed`, one after the other; each is read once for all rules.

    Parameters
    ----------
    windowed : Windowed
    """

    def __init__(self, windowed: Windowed) -> None:
        self._config = windowed._config
        self._view = windowed.view()
        self._parts: dict[int, Any] = {}
        self._by_slice: dict[int, SliceRows | None] = {}
        self._results: dict[Any, Result | None] = {}
        self._windows: dict[int, _Window] = {}

    def between(self, low: int | None, high: int) -> Iterator[Span]:
        """Yield the panes within two times, in order; what was read of one goes with it."""
        for span in self._view.spans(low, high):
            yield span
            self._results.clear()
            self._parts.clear()
            self._by_slice.clear()

    def result(self, span: Span, value: Any) -> Result | None:
        """Compute the result of a slice in a pane; None without rows."""
        if value not in self._results:
            part = slice_of(self._live(span), value)
            self._results[value] = None if part is None else part.compute()
        return self._results[value]

    def window(self, span: Span, width: int, value: Any) -> tuple[Result | None, int]:
        """Compute the result of a slice in the window that ends with a pane, and where it begins.

        Windows slide along: two or three merges a pane, for all slices.
        """
        window = self._windows.setdefault(width, _Window(self._config.accumulator, width))
        if window.end != span.end:
            low = span.end - width if window.end is None else window.end
            window.slide(self._view.spans(low, span.end), span.end)
        return slice_of(window.merged, value).compute(), window.start

    def over(self, start: int, end: int, value: Any) -> tuple[Result | None, int]:
        """Compute the result of a slice in all panes within two times, and where they begin."""
        spans = self._view.spans(start, end)
        parts = [slice_of(self._live(span), value) for span in spans]
        found = [part for part in parts if part is not None]
        return (merge(found).compute(), spans[0].start) if found else (None, start)

    def coverage(self, span: Span, value: Any) -> _Value:
        """Divide the rows of a slice in a pane that have a label by all of them."""
        if value is ...:
            part, rows = self._live(span), span.n_rows
            found: Weights | None = Weights(0 if part is None else heaviest(part.n), rows)
        else:
            by_slice = self._rows(span)
            found = None if by_slice is None else by_slice.of(value)
        if found is None or not found.rows:
            return _Value(UNDEFINED, lambda: UNDEFINED, 0, span.start, span.end)
        reading = Reading(found.coverage)
        return _Value(reading, lambda: reading, found.rows, span.start, span.end)

    def _rows(self, span: Span) -> SliceRows | None:
        if span.end not in self._by_slice:
            self._by_slice[span.end] = SliceRows.of_pane(span.pane)
        return self._by_slice[span.end]

    def _live(self, span: Span) -> Any:
        if span.end not in self._parts:
            self._parts[span.end] = live(span.part)
        return self._parts[span.end]


class _Window:
    """All panes within a width, merged, as it slides along."""

    def __init__(self, inner: Any, width: int) -> None:
        self._inner = inner
        self.width = width
        self.end: int | None = None
        self.merged: Any = None
        self._stacks = TwoStacks(inner)
        self._spans: deque[Span] = deque()

    @property
    def start(self) -> int:
        """Where the first pane in it begins."""
        return self._spans[0].start if self._spans else 0

    def slide(self, spans: Sequence[Span], end: int) -> None:
        """Add the panes up to `end`, and drop those that are now outside of the window."""
        for span in spans:
            self._stacks.push(span.part)
        self._spans.extend(spans)
        while self._spans and self._spans[0].start < end - self.width:
            self._spans.popleft()
            self._stacks.pop()
        self.end, self.merged = end, self._stacks.merged()


class Series:
    """A rule about one slice, and its state.

    Attributes
    ----------
    state : str
    since : int or None
        When the state began.
    alert : str or None
        The id of the event with which it began to fire.
    until : int or None
        The end of the last pane examined.
    about : dict
        What events say besides the rule.
    told : dict
        What they said when the alert began: its end says the same, so that it is told to the same
        receivers.
    added : int
        The commit after which the rule was added, 0 if it was there from the beginning.
    """

    OWN: ClassVar[tuple[str, ...]] = ()
    """The further attributes that are stored."""
    RARE: ClassVar[tuple[str, ...]] = ("told", "added")
    """Those that are only stored if they say something."""

    def __init__(self, rule: Rule, value: Any, config: WindowedConfig) -> None:
        self.rule = rule
        self.value = value
        self.config = config
        self.state: Phase = "inactive"
        self.since: int | None = None
        self.alert: str | None = None
        self.until: int | None = None
        self.about: dict[str, Any] = {}
        self.told: dict[str, Any] = {}
        self.added = 0

    @property
    def key(self) -> str:
        """What identifies it in a checkpoint."""
        return _text([self.rule.text, self.slice])

    @property
    def slice(self) -> dict[str, Any] | None:
        """The value of each column; None for all rows."""
        if self.value is ...:
            return None
        columns = self.config.accumulator.options.column
        items = self.value if len(columns) > 1 else (self.value,)
        return dict(zip(columns, items, strict=True))

    def is_due(self, mature_until: int | None) -> bool:
        """Tell whether the series may have something new to evaluate."""
        return mature_until is not None and (self.until is None or self.until < mature_until)

    def stored(self) -> StoredSeries:
        """Return the state that `restore` reads."""
        rare = [name for name in self.RARE if getattr(self, name)]
        return {name: getattr(self, name) for name in (*_STORED, *self.OWN, *rare)}

    def restore(self, stored: Any) -> None:
        """Continue from a stored state."""
        names = {*_STORED, *self.OWN}
        require(isinstance(stored, dict) and stored.keys() - {*self.RARE} == names, "an alert")
        for name, item in stored.items():
            setattr(self, name, item)

    def turn(self, state: Phase, since: int) -> None:
        """Change the state."""
        if state != self.state:
            self.state, self.since = state, since

    def calm(self, since: int) -> None:
        """Return from pending to inactive; keep any other state."""
        self.turn("inactive" if self.state == "pending" else self.state, since)

    def event(self, state: Phase, anchor: int, now: int, **known: Any) -> Event:
        """Start to fire, or resolve the alert, and return the event."""
        added = [self.added] if self.added else []
        number = _digest([self.rule.text, self.slice, anchor, state, *added])
        if state == "firing":
            self.alert, self.told = number, self.about
        claim = self.rule.claim if isinstance(self.rule, MetricRule) else None
        limit: dict[str, Any] = {"limit": None if claim is None else claim.number}
        return Event(
            id=number,
            alert=self.alert or number,
            rule=self.rule.text,
            state=state,
            slice=self.slice,
            metric=None if claim is None else str(claim.metric),
            at=_time_text(now),
            about=self.told,
            **{**dict.fromkeys(_VALUES), **limit, **known},
        )

    def shown(self) -> AlertState:
        """Return the state as others see it."""
        rule = self.rule
        metric = str(rule.claim.metric) if isinstance(rule, MetricRule) else None
        alert = self.alert if self.state in ("firing", "resolved") else None
        since = self.time(self.since)
        return AlertState(rule.text, metric, self.slice, self.state, since, alert, about=self.about)

    def time(self, time: int | None) -> str | int | None:
        """Write a time of the panes."""
        return time if time is None or self.config.is_step else _time_text(time)


class PaneSeries(Series, ABC):
    """A series that looks at every mature pane once."""

    rule: MetricRule

    @abstractmethod
    def look(self, span: Span, panes: ReadPanes, now: int) -> Event | None:
        """Look at the next pane."""

    def found(self, state: Phase, value: _Value, now: int, end: int) -> Event:
        """Make the event of a value."""
        self.turn(state, end)
        reading = value.read()
        low, high = (float(bound) for bound in reading.certified)
        return self.event(
            state,
            end,
            now,
            value=_finite(float(reading.value)),
            certified=(low, high) if reading.is_open else None,
            interval=reading.sampling,
            n=value.n,
            start=self.time(value.start),
            end=self.time(value.end),
        )


class ComparedSeries(PaneSeries):
    """A comparison of values, which has to hold for some panes."""

    OWN = ("run",)

    def __init__(self, rule: MetricRule, value: Any, config: WindowedConfig) -> None:
        super().__init__(rule, value, config)
        self.run = 0
        self.needed = _panes_of(rule, rule.lasting, config) or 1
        self.width = (_panes_of(rule, rule.over, config) or 0) * config.width

    def look(self, span: Span, panes: ReadPanes, now: int) -> Event | None:
        """Compare; a pane without a value changes nothing."""
        value = self._read(span, panes)
        if value.is_empty or value.n < (self.rule.min_n or 0):
            return None
        if not self.rule.claim.holds_certainly(value.reading):
            self.run = 0
            if self.state == "firing":
                return self.found("resolved", value, now, span.end)
            self.calm(span.end)
            return None
        self.run = min(self.run + 1, self.needed)
        if self.state == "firing":
            return None
        if self.run == self.needed:
            return self.found("firing", value, now, span.end)
        self.turn("pending", span.end)
        return None

    def _read(self, span: Span, panes: ReadPanes) -> _Value:
        if self.rule.is_coverage:
            return panes.coverage(span, self.value)
        if not self.width:
            return _read(panes.result(span, self.value), self.rule, span.start, span.end)
        result, start = panes.window(span, self.width, self.value)
        return _read(result, self.rule, start, span.end)


class Detection(PaneSeries):
    """The e-detector, which begins again after every alarm.

    While an alert fires, the detector goes on. The alert is resolved once as many panes as its
    last alarm rests on, three at least, have passed without a further alarm, if the value of
    the metric in all of them together keeps the limit.

    An alarm rests on the panes from the likeliest change on, see `Detector.age`. For shares and
    means, the value in them is beyond the limit; an area of all of them together need not be, since
    it ranks their rows against each other, and then the first of them are left out.
    """

    OWN = ("sums", "seen", "crossed", "rests_on")
    RARE = (*Series.RARE, "looks")

    def __init__(
        self, rule: MetricRule, value: Any, config: WindowedConfig, log_threshold: float
    ) -> None:
        super().__init__(rule, value, config)
        self.log_threshold = log_threshold
        self.detector = Detector.zero()
        self.seen: int | None = None
        self.crossed = 0
        self.rests_on = 0
        self.looks: list[list[int]] = []  # how many panes each took, and percent of an alarm

    @property
    def history(self) -> tuple[tuple[Any, float], ...]:
        """The ends of the last panes, and the evidence as a share of that of an alarm."""
        end, found = self.seen or 0, []
        for n_panes, percent in reversed(self.looks):
            found.append((self.config.shown(end), percent / 100))
            end -= n_panes * self.config.width
        return tuple(reversed(found))

    @property
    def sums(self) -> str:
        """The sums of the detector, as text."""
        sums = np.concatenate(attrs.astuple(self.detector))
        return base64.b64encode(sums.astype("<f8").tobytes()).decode("ascii")

    @sums.setter
    def sums(self, text: str) -> None:
        data = base64.b64decode(text)
        n_parts, rest = divmod(len(data), 8 * len(TILTS))
        require(n_parts in (2, 3) and not rest, "the sums of an alert")
        parts = np.split(np.frombuffer(data, dtype="<f8").astype(np.float64), n_parts)
        self.detector = Detector(*parts) if n_parts == 3 else Detector.of_means(*parts)

    def look(self, span: Span, panes: ReadPanes, now: int) -> Event | None:
        """Go on by a pane, and decide."""
        _, statistic = read_pane(panes.result(span, self.value), self.rule.claim.metric)
        before = span.start if self.seen is None else self.seen
        n_empty = (span.start - before) // self.config.width
        self.detector = self.detector.after(statistic, self.rule.limit, n_empty)
        self.seen = span.end
        log_evidence = self.detector.log_evidence
        look = [(span.end - before) // self.config.width, self._percent(log_evidence)]
        self.looks = [*self.looks, look][-N_PANES:]
        if log_evidence >= self.log_threshold:
            n_panes = self.detector.age
            self.rests_on = max(n_panes, _MIN_PANES)
            self.crossed = span.end
            self.detector = Detector.zero()
            if self.state == "firing":
                return None
            return self.found("firing", self._basis(span, panes, n_panes), now, span.end)
        if self.state == "firing":
            return self._resolved(span, panes, now)
        if log_evidence >= self.log_threshold - _NEAR:
            self.turn("pending", span.end)
        else:
            self.calm(span.end)
        return None

    def shown(self) -> AlertState:
        """Show the evidence too."""
        return attrs.evolve(
            super().shown(),
            log_evidence=_finite(self.detector.log_evidence),
            log_threshold=self.log_threshold,
            history=() if self.state == "inactive" else self.history,
        )

    def _percent(self, log_evidence: float) -> int:
        if log_evidence >= self.log_threshold:
            return 100
        return int(100 * log_evidence / self.log_threshold) if log_evidence > 0 else 0

    def _resolved(self, span: Span, panes: ReadPanes, now: int) -> Event | None:
        if span.end - self.crossed < self.rests_on * self.config.width:
            return None
        value = self._recent(span, panes, self.rests_on)
        if value.is_empty or self.rule.claim.holds_certainly(value.reading):
            return None
        return self.found("resolved", value, now, span.end)

    def _basis(self, span: Span, panes: ReadPanes, n_panes: int) -> _Value:
        """Read the panes that an alarm rests on, whose value is beyond the limit."""
        value = self._recent(span, panes, n_panes)
        while not self.rule.limit.is_broken(value.reading.value) and n_panes > 1:
            n_panes -= 1
            value = self._recent(span, panes, n_panes)
        return value

    def _recent(self, span: Span, panes: ReadPanes, n_panes: int) -> _Value:
        """Read the last panes."""
        first = min(span.end - n_panes * self.config.width, span.start)
        result, start = panes.over(first, span.end, self.value)
        return _read(result, self.rule, start, span.end)


class Silence(Series):
    """A count that must go on growing, by the clock."""

    rule: SilenceRule
    OWN = ("count", "grown")

    def __init__(self, rule: SilenceRule, value: Any, config: WindowedConfig) -> None:
        super().__init__(rule, value, config)
        self.count: int | float = -1
        self.grown: int | None = None

    def is_due(self, mature_until: int | None) -> bool:  # noqa: ARG002 - panes are not looked at
        """Return True: time always passes."""
        return True

    def listen(self, progress: Progress, now: int) -> Event | None:
        """Compare the count with the previous one."""
        of_labels = self.rule.of_labels
        count = progress.n_labelled if of_labels else progress.n_rows
        is_idle = of_labels and not progress.n_pending
        since = self.grown
        has_grown, self.count = count > self.count, count
        if has_grown or since is None or is_idle:
            self.grown = None if is_idle else now
            return None if since is None else self._turned("resolved", since, now)
        is_late = now - since >= self.rule.duration
        return self._turned("firing", since, now) if is_late else None

    def _turned(self, state: Phase, since: int, now: int) -> Event | None:
        if (self.state == "firing") is (state == "firing"):
            return None
        self.turn(state, now)
        return self.event(state, since, now, start=_time_text(since))

    def time(self, time: int | None) -> str | int | None:
        """Write a time of the clock."""
        return None if time is None else _time_text(time)


class LostShare(Series):
    """The share of rows, or labels, that cannot be used, among the newest."""

    rule: ShareRule
    OWN = ("marks",)

    def __init__(self, rule: ShareRule, value: Any, config: WindowedConfig) -> None:
        super().__init__(rule, value, config)
        self.marks = [[0, 0]]

    def is_due(self, mature_until: int | None) -> bool:  # noqa: ARG002 - panes are not looked at
        """Return True: rows may have come."""
        return True

    def listen(self, progress: Progress, now: int) -> Event | None:
        """Compare the share among the last rows, once there are enough of them."""
        rows, lost = self._numbers(progress)
        if rows < self.marks[-1][0]:  # rows that were only held are read for good
            self.marks = [[0, 0]]
        first = self.marks[0]
        n, n_lost = rows - first[0], lost - first[1]
        if n < _MIN_ROWS:
            return None
        if rows - self.marks[-1][0] >= _ROWS:
            self.marks = [self.marks[-1], [rows, lost]]
        state: Phase = "firing" if n_lost > self.rule.share * n else "resolved"
        if (self.state == "firing") is (state == "firing"):
            return None
        self.turn(state, now)
        return self.event(state, now, now, value=n_lost / n, limit=self.rule.share, n=n)

    def _numbers(self, progress: Progress) -> tuple[int, int]:
        """Return how many there have been, and how many of them could not be used."""
        count = Counter(progress.counters)
        if self.rule.of_labels:
            return count["labels"], count[_LOST_LABELS[self.rule.of]]
        n_bad = sum(count[reason] for reason in BAD)
        return progress.n_rows + count["labels"] + n_bad, n_bad

    def time(self, time: int | None) -> str | int | None:
        """Write a time of the clock."""
        return None if time is None else _time_text(time)


def event_of_end(checkpoint: str, number: int, error: str, now: int) -> dict[str, Any]:
    """Return the event, as JSON, that a monitor ends with an error.

    It is the same event when a restart fails again, with the same error after the same commit.
    """
    alert = _digest([ENDED, checkpoint, number])
    event = Event(
        id=_digest([ENDED, checkpoint, number, error]),
        alert=alert,
        rule=ENDED,
        state="firing",
        slice=None,
        metric=None,
        limit=None,
        at=_time_text(now),
        about={"error": error},
        **dict.fromkeys(_VALUES),
    )
    return event.to_json()


def end_of_end(event: Mapping[str, Any], now: int) -> dict[str, Any]:
    """Return the event, as JSON, that a monitor which had ended makes steps again."""
    number = _digest([event["id"], "resolved"])
    return {**event, "id": number, "state": "resolved", "at": _time_text(now)}


def end_of_removed(key: str, stored: StoredSeries, now: int) -> Event:
    """Resolve an alert whose rule was removed."""
    rule, of_slice = json.loads(key)
    return Event(
        id=_digest([rule, of_slice, stored["alert"], "resolved"]),
        alert=stored["alert"],
        rule=rule,
        state="resolved",
        slice=of_slice,
        metric=None,
        limit=None,
        at=_time_text(now),
        about=stored.get("told", {}),
        **dict.fromkeys(_VALUES),
    )


def _panes_of(rule: MetricRule, length: int | str | None, config: WindowedConfig) -> int | None:
    """Return a length as a number of panes."""
    if length is None or isinstance(length, int):
        return length
    if config.is_step:
        raise InvalidInputError(
            f"{rule.text!r}: must be in panes, because a pane is a number of steps"
        )
    size = read_duration(length, name="rule")
    if size % config.width:
        raise InvalidInputError(
            f"{rule.text!r}: {length} must be a multiple of the pane, {config.pane}"
        )
    return size // config.width


def _read(result: Result | None, rule: MetricRule, start: int, end: int) -> _Value:
    """Read the value of a metric: nan where it is undefined."""
    metric = rule.claim.metric
    if result is None or not _is_defined(result, metric):
        return _Value(UNDEFINED, lambda: UNDEFINED, 0, start, end)
    asked = result.asked(metric)
    reading, n = asked.read(0.0), asked.size
    return _Value(reading, lambda: result.read(metric, level=LEVEL), n, start, end)


def read_defined(result: Result, metric: MetricName, level: float) -> Reading:
    """Read a metric; it is undefined if a class is absent, or if a rate has no examples."""
    try:
        reading = result.read(metric, level=level)
    except UnknownMetricError:
        return UNDEFINED
    is_doubtful = reading.value in (0.0, 1.0)
    return UNDEFINED if is_doubtful and not _is_defined(result, metric) else reading


def _is_defined(result: Result, metric: MetricName) -> bool:
    """Tell whether a pane has examples that the metric needs; without them, a rate reads 0."""
    try:
        return not result.statistic(metric).is_empty
    except UnknownMetricError:
        return False
    except InvalidInputError:  # there is no evidence of it; nan is no value
        return True


def _text(item: Any) -> str:
    return json.dumps(item, sort_keys=True, separators=(",", ":"))


def _digest(item: Any) -> str:
    return hashlib.blake2b(_text(item).encode(), digest_size=16).hexdigest()


def _time_text(time: int) -> str:
    """Write microseconds as ISO 8601."""
    return f"{np.datetime64(time, 'us')}Z".replace(".000000Z", "Z")


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
