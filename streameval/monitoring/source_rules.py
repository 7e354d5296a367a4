"""Rules about what arrives, which look at no pane: silence, and rows that cannot be used."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

import attrs

from streameval.inputs.durations import duration_text
from streameval.monitoring.series import Event, Phase, Rule, Series, time_text
from streameval.monitoring.status import Recent

if TYPE_CHECKING:
    from streameval.configs.windowed import WindowedConfig
    from streameval.monitoring.rule_text import RuleText
    from streameval.monitoring.status import Status

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
