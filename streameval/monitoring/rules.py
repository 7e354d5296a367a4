"""What a rule is, with its state for one slice; rules about what arrives, such as silence."""

from __future__ import annotations

import copy
import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import attrs
import numpy as np

from streameval.errors import require
from streameval.inputs.durations import duration_text
from streameval.monitoring.status import Recent
from streameval.render.text import time_text

if TYPE_CHECKING:
    from streameval.configs.windowed import WindowedConfig
    from streameval.monitoring.rule_text import RuleText
    from streameval.monitoring.status import Status
    from streameval.results.names import MetricName

Phase = Literal["inactive", "pending", "firing", "resolved"]
StoredState = dict[str, Any]

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


@attrs.define(slots=False)
class Rule(ABC):
    """A condition that fires an alert while it holds; `follow` begins its state for a slice.

    Attributes
    ----------
    value : value of the column, or tuple of them
        The slice that it is followed for; `...` stands for all rows.
    config : WindowedConfig
        That of the panes.
    about : dict
        What events say besides the rule.
    subject : dict
        What events and states say of the rule and the slice.
    key : str
        What identifies both in a checkpoint.
    state : str
    since : int or None
        When the state began.
    alert : str or None
        The id of the event with which it began to fire.
    until : int or None
        The end of the last pane examined.
    told : dict
        What events said when the alert began: its end says the same, so that it is told to the same
        receivers.
    added : int
        The commit after which the rule was added, 0 if it was there from the beginning.
    """

    OWN: ClassVar[tuple[str, ...]] = ()
    """The further attributes that are stored."""
    RARE: ClassVar[tuple[str, ...]] = ("told", "added")
    """Those that are only stored if they say something."""

    value: Any = attrs.field(init=False, eq=False, default=...)
    config: Any = attrs.field(init=False, eq=False, default=None)
    about: dict[str, Any] = attrs.field(init=False, eq=False, factory=dict)
    subject: dict[str, Any] = attrs.field(init=False, eq=False, factory=dict)
    key: str = attrs.field(init=False, eq=False, default="")
    state: Phase = attrs.field(init=False, eq=False, default="inactive")
    since: int | None = attrs.field(init=False, eq=False, default=None)
    alert: str | None = attrs.field(init=False, eq=False, default=None)
    until: int | None = attrs.field(init=False, eq=False, default=None)
    told: dict[str, Any] = attrs.field(init=False, eq=False, factory=dict)
    added: int = attrs.field(init=False, eq=False, default=0)

    @classmethod
    @abstractmethod
    def read(cls, text: RuleText) -> Self | None:
        """Read a rule of this class, None if the text is another one."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The rule in its canonical form, which identifies it."""

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

    def follow(self, value: Any, config: WindowedConfig, about: dict[str, Any]) -> Self:
        """Return a copy that begins with the state of a slice."""
        made = copy.copy(self)
        made.value, made.config, made.about = value, config, about
        metric = None if self.metric is None else str(self.metric)
        of = None if value is ... else config.accumulator.options.items(value)
        made.subject = {"rule": self.text, "metric": metric, "slice": of, "limit": self.number}
        made.key = _text([self.text, of])
        return made

    def is_due(self, mature_until: int | None) -> bool:
        """Tell whether there may be something new to evaluate: by default, panes."""
        return mature_until is not None and (self.until is None or self.until < mature_until)

    def stored(self) -> StoredState:
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

    def event(self, state: Phase, anchor: int, now: int, **known: Any) -> Event:
        """Start to fire, or resolve the alert, and return the event."""
        added = [self.added] if self.added else []
        number = _digest([self.subject["rule"], self.subject["slice"], anchor, state, *added])
        if state == "firing":
            self.alert, self.told = number, self.about
        return Event(
            id=number,
            alert=self.alert or number,
            state=state,
            at=utc_text(now),
            about=self.told,
            **self.subject,
            **known,
        )

    def shown(self) -> AlertState:
        """Return the state as others see it."""
        return AlertState(
            state=self.state,
            since=self.time(self.since),
            alert=self.alert if self.state in ("firing", "resolved") else None,
            about=self.about,
            **self.subject,
        )

    def time(self, time: int | None) -> str | int | None:
        """Write a time of the panes."""
        return time if time is None or self.config.is_step else utc_text(time)


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
        at=utc_text(now),
        about={"error": error},
    )
    return event.to_json()


def end_of_end(event: Mapping[str, Any], now: int) -> dict[str, Any]:
    """Return the event, as JSON, that a monitor which had ended makes steps again."""
    number = _digest([event["id"], "resolved"])
    return {**event, "id": number, "state": "resolved", "at": utc_text(now)}


def end_of_removed(key: str, stored: StoredState, now: int) -> Event:
    """Resolve an alert whose rule was removed."""
    rule, of_slice = json.loads(key)
    return Event(
        id=_digest([rule, of_slice, stored["alert"], "resolved"]),
        alert=stored["alert"],
        rule=rule,
        state="resolved",
        slice=of_slice,
        at=utc_text(now),
        about=stored.get("told", {}),
    )


def _text(item: Any) -> str:
    return json.dumps(item, sort_keys=True, separators=(",", ":"))


def _digest(item: Any) -> str:
    return hashlib.blake2b(_text(item).encode(), digest_size=16).hexdigest()


def utc_text(time: int) -> str:
    """Write microseconds as ISO 8601."""
    return f"{time_text(np.datetime64(time, 'us'))}Z"


_MIN_ROWS, _ROWS = 100, 1000
"""The fewest rows or labels whose share is looked at, and how many of the last make a share."""


@attrs.define(slots=False)
class SourceRule(Rule):
    """A rule about the status of the monitor and the clock, evaluated at each step."""

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
        return None if time is None else utc_text(time)


@attrs.define(slots=False)
class SilenceRule(SourceRule):
    """An alarm while nothing new arrives: ``no data for 10m``, ``labels stalled for 30m``.

    Its state is a count, and since when it has not grown.

    Parameters
    ----------
    of_labels : bool
        Whether labels have to come, while predictions wait for them; else rows.
    duration : int
        For how long by the clock, in microseconds.
    """

    OWN = ("count", "grown")

    of_labels: bool
    duration: int
    count: int | float = attrs.field(init=False, eq=False, default=-1)
    grown: int | None = attrs.field(init=False, eq=False, default=None)

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

    def listen(self, status: Status, now: int) -> Event | None:
        """Compare the count with the previous one."""
        count = status.n_labelled if self.of_labels else status.n_rows
        is_idle = self.of_labels and not status.n_pending
        since = self.grown
        has_grown, self.count = count > self.count, count
        if has_grown or since is None or is_idle:
            self.grown = None if is_idle else now
            state: Phase = "resolved"
        elif now - since >= self.duration:
            state = "firing"
        else:
            return None
        return None if since is None else self.turned(state, since, now, start=utc_text(since))


@attrs.define(slots=False)
class ShareRule(SourceRule):
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

    OWN = ("marks",)

    of: str
    share: float
    marks: list[Any] = attrs.field(init=False, eq=False, factory=lambda: [[0, 0]])

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
        state: Phase = "firing" if n_lost > self.share * n else "resolved"
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
        n = n_labels if self.needs_labels else status.n_rows + n_labels + status.n_bad
        return n, lost[self.of]


SOURCE_RULES = (SilenceRule, ShareRule)
