"""What a rule is, and its state for one slice; rules about what arrives, such as silence."""

from __future__ import annotations

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import attrs
import numpy as np

from streameval.configs.windowed import WindowedConfig
from streameval.errors import require
from streameval.inputs.durations import duration_text
from streameval.monitoring.rule_text import RuleText
from streameval.monitoring.status import Recent
from streameval.results.names import MetricName

if TYPE_CHECKING:
    from streameval.configs.windowed import WindowedConfig
    from streameval.monitoring.rule_text import RuleText
    from streameval.monitoring.status import Status

Phase = Literal["inactive", "pending", "firing", "resolved"]
StoredSeries = dict[str, Any]

_STORED = ("state", "since", "alert", "until")


@attrs.frozen(kw_only=True)
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
    slice: dict[str, Any] | None = None
    metric: str | None = None
    value: float | None = None
    certified: tuple[float, float] | None = None
    interval: tuple[float, float] | None = None
    limit: float | None = None
    n: int | float | None = None
    start: str | int | None = None
    end: str | int | None = None
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
    limit : float, optional
        The number in the rule.
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
    limit: float | None = None
    about: dict[str, Any] = attrs.field(factory=dict)


class Rule(ABC):
    """A condition that fires an alert while it holds.

    Attributes
    ----------
    looks_at_panes : bool
        Whether it is about panes that have been counted, and so begins once there are some.
    """

    looks_at_panes: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def read(cls, text: RuleText) -> Self | None:
        """Read a rule of this class, None if the text is another one."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The rule in its canonical form, which identifies it."""

    @abstractmethod
    def series(self, value: Any, config: WindowedConfig) -> Series:
        """Make its series for a slice."""

    @property
    def needs_labels(self) -> bool:
        """Whether it is about labels that come later, in a log of their own."""
        return False

    @property
    def metric(self) -> MetricName | None:
        """The metric that its events name."""
        return None

    @property
    def result_metric(self) -> MetricName | None:
        """The metric, if results have it."""
        return None

    @property
    def number(self) -> float | None:
        """The limit that its events show."""
        return None

    def slices(self, config: WindowedConfig) -> Sequence[Any]:  # noqa: ARG002 - all rows
        """List the slices that it applies to; `...` stands for all rows."""
        return [...]

    def check(self, result: Any) -> None:  # noqa: B027 - most read no result
        """Refuse what results do not have."""


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
        self.text = rule.text
        self.metric = None if rule.metric is None else str(rule.metric)
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
        return _text([self.text, self.slice])

    @property
    def slice(self) -> dict[str, Any] | None:
        """The value of each column; None for all rows."""
        if self.value is ...:
            return None
        items: dict[str, Any] = self.config.accumulator.options.items(self.value)
        return items

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
        number = _digest([self.text, self.slice, anchor, state, *added])
        if state == "firing":
            self.alert, self.told = number, self.about
        return Event(
            id=number,
            alert=self.alert or number,
            rule=self.text,
            state=state,
            slice=self.slice,
            metric=self.metric,
            limit=self.rule.number,
            at=time_text(now),
            about=self.told,
            **known,
        )

    def shown(self) -> AlertState:
        """Return the state as others see it."""
        return AlertState(
            rule=self.text,
            metric=self.metric,
            slice=self.slice,
            state=self.state,
            since=self.time(self.since),
            alert=self.alert if self.state in ("firing", "resolved") else None,
            limit=self.rule.number,
            about=self.about,
        )

    def time(self, time: int | None) -> str | int | None:
        """Write a time of the panes."""
        return time if time is None or self.config.is_step else time_text(time)


ENDED = "monitor ended"
"""The rule of the event that a monitor ends with an error."""


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
        at=time_text(now),
        about={"error": error},
    )
    return event.to_json()


def end_of_end(event: Mapping[str, Any], now: int) -> dict[str, Any]:
    """Return the event, as JSON, that a monitor which had ended makes steps again."""
    number = _digest([event["id"], "resolved"])
    return {**event, "id": number, "state": "resolved", "at": time_text(now)}


def end_of_removed(key: str, stored: StoredSeries, now: int) -> Event:
    """Resolve an alert whose rule was removed."""
    rule, of_slice = json.loads(key)
    return Event(
        id=_digest([rule, of_slice, stored["alert"], "resolved"]),
        alert=stored["alert"],
        rule=rule,
        state="resolved",
        slice=of_slice,
        at=time_text(now),
        about=stored.get("told", {}),
    )


def _text(item: Any) -> str:
    return json.dumps(item, sort_keys=True, separators=(",", ":"))


def _digest(item: Any) -> str:
    return hashlib.blake2b(_text(item).encode(), digest_size=16).hexdigest()


def time_text(time: int) -> str:
    """Write microseconds as ISO 8601."""
    return f"{np.datetime64(time, 'us')}Z".replace(".000000Z", "Z")


_MIN_ROWS, _ROWS = 100, 1000
"""The fewest rows or labels whose share is looked at, and how many of the last make a share."""


class SourceSeries(Series, ABC):
    """A series that looks at the status of the monitor and the clock at each step."""

    @abstractmethod
    def listen(self, status: Status, now: int) -> Event | None:
        """Look at what has arrived."""

    def is_due(self, mature_until: int | None) -> bool:  # noqa: ARG002 - panes are not looked at
        """Return True: time always passes."""
        return True

    def turned(self, state: Phase, anchor: int, now: int, **known: Any) -> Event | None:
        """Fire or resolve the alert, unless it is in that state."""
        if (self.state == "firing") is (state == "firing"):
            return None
        self.turn(state, now)
        return self.event(state, anchor, now, **known)

    def time(self, time: int | None) -> str | int | None:
        """Write a time of the clock."""
        return None if time is None else time_text(time)


@attrs.frozen
class SilenceRule(Rule):
    """An alarm while nothing new arrives: ``no data for 10m``, ``labels stalled for 30m``.

    Parameters
    ----------
    of_labels : bool
        Whether labels have to come, while predictions wait for them; else rows.
    duration : int
        For how long by the clock, in microseconds.
    """

    of_labels: bool
    duration: int

    @classmethod
    def read(cls, text: RuleText) -> Self | None:
        """Read the words, and the duration."""
        match = text.take(re.compile(r"(no\s+data|labels\s+stalled)\s+for\b"))
        return match and cls(match[1].startswith("labels"), text.duration())

    @property
    def needs_labels(self) -> bool:
        """Whether labels have to come."""
        return self.of_labels

    @property
    def text(self) -> str:
        """The rule in its canonical form."""
        what = "labels stalled" if self.of_labels else "no data"
        return f"{what} for {duration_text(self.duration)}"

    def series(self, value: Any, config: WindowedConfig) -> Silence:
        """Make its series."""
        return Silence(self, value, config)


class Silence(SourceSeries):
    """A count that must go on growing, by the clock."""

    rule: SilenceRule
    OWN = ("count", "grown")

    def __init__(self, rule: SilenceRule, value: Any, config: WindowedConfig) -> None:
        super().__init__(rule, value, config)
        self.count: int | float = -1
        self.grown: int | None = None

    def listen(self, status: Status, now: int) -> Event | None:
        """Compare the count with the previous one."""
        of_labels = self.rule.of_labels
        count = status.n_labelled if of_labels else status.n_rows
        is_idle = of_labels and not status.n_pending
        since = self.grown
        has_grown, self.count = count > self.count, count
        if has_grown or since is None or is_idle:
            self.grown = None if is_idle else now
            state: Phase = "resolved"
        elif now - since >= self.rule.duration:
            state = "firing"
        else:
            return None
        return None if since is None else self.turned(state, since, now, start=time_text(since))


@attrs.frozen
class ShareRule(Rule):
    """An alarm while more than a share of the newest rows, or labels, cannot be used.

    ``bad rows > 1%`` is about rows that cannot be counted, ``late labels > 1%`` about labels that
    came after the wait of their prediction, ``unmatched labels > 5%`` about those without a
    prediction.

    Parameters
    ----------
    of : {"bad rows", "late labels", "unmatched labels"}
    share : float
        In [0, 1).
    """

    of: str
    share: float

    @classmethod
    def read(cls, text: RuleText) -> Self | None:
        """Read the words, and the share."""
        match = text.take(re.compile(r"(bad\s+rows|(?:late|unmatched)\s+labels)\s*>"))
        return match and cls(" ".join(match[1].split()), text.share())

    @property
    def needs_labels(self) -> bool:
        """Whether it is about labels that come later."""
        return self.of != "bad rows"

    @property
    def text(self) -> str:
        """The rule in its canonical form."""
        return f"{self.of} > {100 * self.share:.12g}%"

    @property
    def number(self) -> float:
        """The share."""
        return self.share

    def series(self, value: Any, config: WindowedConfig) -> LostShare:
        """Make its series."""
        return LostShare(self, value, config)


class LostShare(SourceSeries):
    """The share of rows, or labels, that cannot be used, among the newest."""

    rule: ShareRule
    OWN = ("marks",)

    def __init__(self, rule: ShareRule, value: Any, config: WindowedConfig) -> None:
        super().__init__(rule, value, config)
        self.marks: list[Any] = [[0, 0]]

    def listen(self, status: Status, now: int) -> Event | None:
        """Compare the share among the last rows, once there are enough of them."""
        rows, lost = self._numbers(status)
        if rows < self.marks[-1][0]:  # rows that were only held are read for good
            self.marks = [[0, 0]]
        first, recent = self.marks[0], Recent(_ROWS, _ROWS, self.marks)
        n, n_lost = rows - first[0], lost - first[1]
        if n < _MIN_ROWS:
            return None
        recent.note(rows, lost)
        self.marks = recent.marks
        state: Phase = "firing" if n_lost > self.rule.share * n else "resolved"
        return self.turned(state, now, now, value=n_lost / n, n=n)

    def _numbers(self, status: Status) -> tuple[int, int]:
        """Return how many there have been, and how many of them could not be used."""
        count = status.counters.get
        n_labels = count("labels", 0)
        lost = {
            "bad rows": status.n_bad,
            "late labels": count("late_label", 0),
            "unmatched labels": count("orphan_expired", 0),
        }
        n = n_labels if self.rule.needs_labels else status.n_rows + n_labels + status.n_bad
        return n, lost[self.rule.of]


SOURCE_RULES = (SilenceRule, ShareRule)
