"""Alerts: their rules as text or tables, and the state of each for each slice, pane by pane.

A state depends on the mature panes in order of time, on the previous states and, for rules about
silence and shares, on the status of the monitor and the clock. Each pane is examined once, so
later rows change no decision.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

import attrs

from streameval.accumulators.evidence import mean_panes
from streameval.accumulators.windowed import Windowed
from streameval.configs.names import nearest
from streameval.errors import InvalidInputError, require
from streameval.monitoring.metric_rules import EvidenceRule, MetricRule, ReadPanes
from streameval.monitoring.rule_text import RuleText
from streameval.monitoring.rules import (
    SOURCE_RULES,
    AlertState,
    Event,
    Rule,
    SourceRule,
    StoredState,
    end_of_removed,
)
from streameval.monitoring.status import time_number

if TYPE_CHECKING:
    from streameval.monitoring.status import Status

T = TypeVar("T")

_RULES: tuple[type[Rule], ...] = (*SOURCE_RULES, MetricRule)
"""Those that begin with words of their own come first."""


def parse_rule(text: str) -> Rule:
    """Read a rule, whose class says how it is written.

    >>> parse_rule("recall[1]<.8 for 3 panes,n>=500").text
    'recall[1] < 0.8 for 3 panes, n >= 500'

    Raises
    ------
    InvalidInputError
        When the text is not a rule; the message names the rule and the position.
    """
    if not isinstance(text, str):
        raise InvalidInputError(f"must be text, got {text!r}", argument="rule")
    unread = RuleText(text)
    rule = next(filter(None, (cls.read(unread) for cls in _RULES)))
    unread.end("the end of the rule")
    return rule


def read_table(declared: type[T], value: Any, *, main: str, argument: str) -> T:
    """Make an object of options from a table, or from the value of its main key alone.

    Parameters
    ----------
    declared : attrs class
        Its fields are the keys; their converters check what they hold.
    value : mapping, object of the class, or value of the main key
    main : str
        The only key that a table needs.
    argument : str
        What errors name.

    Raises
    ------
    InvalidInputError
        If a key is unknown or the main one is missing; no value is shown: it may be a credential.
    """
    if isinstance(value, declared):
        return value
    table = value if isinstance(value, Mapping) else {main: value}
    known = [field.name for field in attrs.fields(declared) if field.init]  # type: ignore[arg-type]
    for key in table:
        if key not in known:
            hint = nearest(str(key), known).removesuffix(".")
            raise InvalidInputError(f"has no key {key!r}: {hint}", argument=argument)
    if main not in table:
        raise InvalidInputError(f"is a table without the key {main!r}", argument=argument)
    return declared(**table)


def key_of(
    argument: str, name: str, read: Callable[[Any], Any], what: str, default: Any = None
) -> Any:
    """Declare a key as a field, which is converted, and whose errors name the argument and the key.

    Parameters
    ----------
    argument, name : str
    read : callable
        Returns what it reads; None means that it cannot.
    what : str
        What the value must be.
    default : object
        What a table without the key has.
    """

    def convert(value: Any) -> Any:
        found = read(value)
        if found is None and value is not None:
            raise InvalidInputError(f"needs {what} as {name!r}", argument=argument)
        return found

    return attrs.field(default=default, converter=convert)


def text(value: Any) -> str | None:
    """Read text that is not empty."""
    return value if isinstance(value, str) and value else None


def texts(value: Any) -> tuple[str, ...] | None:
    """Read a text, or several."""
    given = (value,) if isinstance(value, str) else value
    fits = isinstance(given, list | tuple) and all(text(one) is not None for one in given)
    return tuple(given) if fits else None


def texts_by_name(value: Any) -> dict[str, str] | None:
    """Read a table of texts."""
    fits = isinstance(value, Mapping) and all(
        text(one) is not None for pair in value.items() for one in pair
    )
    return dict(value) if fits else None


_key = partial(key_of, "alerts")


@attrs.frozen(kw_only=True)
class AlertRule:
    """A rule, and what its events say besides.

    Parameters
    ----------
    rule : str
        In the syntax of `parse_rule`.
    name : str, optional
        What people call it; several rules may share a name.
    severity : str, optional
        How much it matters, such as "page" or "ticket".
    labels : mapping from str to str
        What else its events carry, such as the team.
    links : mapping from str to str
        URLs by what they show, such as a runbook.
    """

    rule: Rule = attrs.field(converter=parse_rule)
    name: str | None = _key("name", text, "text")
    severity: str | None = _key("severity", text, "text")
    labels: Mapping[str, str] = _key("labels", texts_by_name, "a table of texts", {})
    links: Mapping[str, str] = _key("links", texts_by_name, "a table of URLs", {})

    @property
    def about(self) -> dict[str, Any]:
        """What events say besides the rule; nothing of keys that are not given."""
        found = {name: getattr(self, name) for name in ("name", "severity", "labels", "links")}
        return {name: value for name, value in found.items() if value}


def read_rules(alerts: Any) -> tuple[AlertRule, ...]:
    """Read rules, each as text or as a table with the keys of `AlertRule`.

    Raises
    ------
    InvalidInputError
        If one is malformed, or comes twice with different keys.
    """
    if isinstance(alerts, str | Mapping) or not isinstance(alerts, Iterable):
        raise InvalidInputError(f"must be a list of rules, got {alerts!r}", argument="alerts")
    found: dict[str, AlertRule] = {}
    for one in alerts:
        made = read_table(AlertRule, one, main="rule", argument="alerts")
        if found.setdefault(made.rule.text, made) != made:
            raise InvalidInputError(
                f"has the rule {made.rule.text!r} twice, with different keys", argument="alerts"
            )
    return tuple(found.values())


__all__ = ["AlertState", "Alerts", "Event"]


_OVERLOOKED = (
    "the rule {!r} looks at no slice, because none is named in `values` of the `Sliced` "
    "(--by COLUMN=A,B); with {{all}} after the metric, it says that all rows are meant"
)


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
        config = windowed.view().config
        result = config.accumulator.leaf.empty().compute()
        self._followed: list[Rule] = []
        self.notes: list[str] = []
        """What to warn of: rules that see no slice, though there are some."""
        for alert in read_rules(rules):
            if isinstance(alert.rule, MetricRule) and alert.rule.overlooks(config):
                self.notes.append(_OVERLOOKED.format(alert.rule.text))
            slices = alert.rule.slices(config)
            alert.rule.check(result)
            self._followed += [alert.rule.follow(one, config, alert.about) for one in slices]
        detectors = [one for one in self._followed if isinstance(one, EvidenceRule)]
        if detectors:
            log_threshold = math.log(mean_panes(false_alarms, config) * len(detectors))
            for detector in detectors:
                detector.log_threshold = log_threshold
        self._removed: dict[str, StoredState] = {}

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
        rules = [copy.copy(one) if one.is_due(until) else one for one in self._followed]
        events = [end_of_removed(key, stored, clock) for key, stored in self._removed.items()]
        if until is not None:
            events += _look(rules, ReadPanes(windowed), until, clock)
        for one in rules:
            if isinstance(one, SourceRule) and status is not None:
                event = one.listen(status, clock)
                events += [] if event is None else [event]
        self._followed, self._removed = rules, {}
        return tuple(events)

    def states(self) -> tuple[AlertState, ...]:
        """Return the state of each rule for each slice."""
        return tuple(one.shown() for one in self._followed)

    def to_json(self) -> dict[str, Any]:
        """Return the input of `restore`, in JSON types only."""
        return self._removed | {one.key: one.stored() for one in self._followed}

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
        known = {one.key: one for one in made._followed}
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


def _look(rules: Sequence[Rule], panes: ReadPanes, mature_until: int, now: int) -> list[Event]:
    """Examine the panes that are new to each rule, in order of time."""
    behind = [one for one in rules if isinstance(one, MetricRule) and one.is_due(mature_until)]
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
