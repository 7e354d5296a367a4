"""Who gets which events: receivers with conditions, and the forms that services expect."""

from __future__ import annotations

import copy
import html
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Self

import attrs

from streameval.configs.names import nearest
from streameval.errors import InvalidInputError
from streameval.inputs.durations import read_duration
from streameval.monitoring.alerts import AlertRule, key_of, parse_rule, read_table, text, texts
from streameval.monitoring.receivers import Receiver, Webhook, receiver_of
from streameval.monitoring.rule_text import Selector, parse_selector, slice_text
from streameval.monitoring.rules import ENDED
from streameval.render.text import shorten

_COLOURS = {"firing": "attention", "resolved": "good"}
_PAGERDUTY = ("critical", "error", "warning", "info")
_SUMMARY = 1024  # characters that PagerDuty takes
_NO_NAME = re.compile(r"^(?=\d|$)|\W", re.ASCII)
_FIRES_ON = timedelta(days=3650)
_escaped = partial(html.escape, quote=False)  # what the markup of Slack reads


def slack(event: Mapping[str, Any]) -> Any:
    """Write a message of Slack, in its markup; Mattermost and Rocket.Chat take it too."""
    links = [f"<{url}|{_escaped(name)}>" for name, url in event.get("links", {}).items()]
    facts = [f"{_escaped(name)}: {_escaped(value)}" for name, value in _facts(event).items()]
    return {"text": "\n".join([f"*{_escaped(title(event))}*", *facts, *links])}


def teams(event: Mapping[str, Any]) -> Any:
    """Write a message of Teams: an adaptive card, as the webhooks of its workflows take it."""
    heading = {
        "type": "TextBlock",
        "text": title(event),
        "weight": "bolder",
        "wrap": True,
        "color": _COLOURS[event["state"]],
    }
    facts = [{"title": name, "value": value} for name, value in _facts(event).items()]
    links = [
        {"type": "Action.OpenUrl", "title": name, "url": url}
        for name, url in event.get("links", {}).items()
    ]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [heading, {"type": "FactSet", "facts": facts}],
        "actions": links,
    }
    content_type = "application/vnd.microsoft.card.adaptive"
    attachment = {"contentType": content_type, "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def pagerduty(event: Mapping[str, Any], *, key: str) -> Any:
    """Write an event of PagerDuty's Events API v2; severities that it does not know are critical.

    The end of an alert resolves the incident of its beginning.
    """
    severity = event.get("severity")
    return {
        "routing_key": key,
        "event_action": "resolve" if event["state"] == "resolved" else "trigger",
        "dedup_key": event["alert"],
        "payload": {
            "summary": shorten(title(event), _SUMMARY),
            "source": "streameval",
            "severity": severity if severity in _PAGERDUTY else "critical",
            "timestamp": event["at"],
            "custom_details": {**event},
        },
        "links": [{"href": url, "text": name} for name, url in event.get("links", {}).items()],
        "client": "streameval",
    }


def alertmanager(event: Mapping[str, Any]) -> Any:
    """Write alerts of Alertmanager's API v2.

    An alert that begins has its end so far in the future that only its end resolves it.
    """
    own = {
        "alertname": event.get("name", event["rule"]),
        "rule": event["rule"],
        "severity": event.get("severity"),
        "slice": _slice(event),
    }
    labels = {**event.get("labels", {}), **{name: value for name, value in own.items() if value}}
    is_over = event["state"] == "resolved"
    end = event["at"] if is_over else f"{datetime.now(UTC) + _FIRES_ON:%Y-%m-%dT%H:%M:%SZ}"
    annotations = {"summary": title(event), **_facts(event), **event.get("links", {})}
    # The time at which it began is not known at the end; Alertmanager keeps its own.
    start = {} if is_over else {"startsAt": event["at"]}
    named = {"labels": _with_names(labels), "annotations": _with_names(annotations)}
    return [{**named, **start, "endsAt": end}]


TEMPLATES: dict[str, Callable[..., Any]] = {
    "slack": slack,
    "teams": teams,
    "pagerduty": pagerduty,
    "alertmanager": alertmanager,
}
"""What is posted for an event, by the format of the receiver."""


def title(event: Mapping[str, Any]) -> str:
    """Say in one line what has happened.

    >>> title({"rule": "recall[1] < 0.8", "name": "low", "state": "firing", "slice": {"c": "DE"}})
    'firing: low (c=DE)'
    """
    about = _slice(event)
    return f"{event['state']}: {event.get('name', event['rule'])}{f' ({about})' if about else ''}"


def _with_names(texts: Mapping[str, str]) -> dict[str, str]:
    """Give texts names that Alertmanager takes: it refuses alerts with any other."""
    return {_NO_NAME.sub("_", name): text for name, text in texts.items()}


def _slice(event: Mapping[str, Any]) -> str:
    return slice_text(event["slice"] or {})


def _facts(event: Mapping[str, Any]) -> dict[str, str]:
    """List what is known, in words."""
    interval, start, end = (event[name] for name in ("interval", "start", "end"))
    found = {
        "rule": event["rule"] if "name" in event else None,
        "severity": event.get("severity"),
        "value": None if event["value"] is None else f"{event['value']:.4g}",
        "interval": interval and "{:.4g} to {:.4g}, 95%".format(*interval),
        "examples": None if event["n"] is None else f"{event['n']:,}",
        "time": (f"{start} to {end}" if end is not None else f"since {start}") if start else None,
        "error": event.get("error"),
        **event.get("labels", {}),
    }
    return {name: value for name, value in found.items() if value}


_ARGUMENT = "on_alert"
_VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
JSON = "json"
_key = partial(key_of, _ARGUMENT)


def _secret(value: Any) -> Any:
    """Read a value, from a variable of the environment if it is ``$NAME``."""
    variable = _VARIABLE.fullmatch(value) if isinstance(value, str) else None
    if variable is None:
        return value
    found = os.environ.get(variable[1])
    if not found:
        raise InvalidInputError(
            f"names the variable {variable[1]}, which is not set", argument=_ARGUMENT
        )
    return found


def _period(value: Any) -> float | None:
    return None if value is None else read_duration(value, name=_ARGUMENT) / 1e6


def _format(value: Any) -> str:
    known = [JSON, *TEMPLATES]
    if value not in known:
        hint = nearest(str(value), known).removesuffix(".")
        raise InvalidInputError(f"has no format {value!r}: {hint}", argument=_ARGUMENT)
    return str(value)


@attrs.frozen(kw_only=True)
class AlertRoute:
    """A receiver, and the events that it gets: those that meet every condition.

    Parameters
    ----------
    to : str or callable
        A command, a URL, or a function; ``"$NAME"`` is a variable of the environment.
    format : {"json", "slack", "teams", "pagerduty", "alertmanager"}
        What is posted.
    key : str, optional
        The integration key of PagerDuty; ``"$NAME"`` is a variable of the environment.
    severity, rules, slices : sequence of str
        Only events of these severities, of rules with these names, and of these slices, such as
        ``"country=DE"`` or ``"all"``; without any, of every one.
    resolved : bool
        Whether the end of an alert is an event too.
    heartbeat : duration, optional
        Instead of events, the receiver gets a sign of life after each such time.
    """

    to: Any = attrs.field(converter=_secret)
    format: str = attrs.field(default=JSON, converter=_format)
    key: str | None = _key("key", lambda value: text(_secret(value)), "text")
    severity: tuple[str, ...] = _key("severity", texts, "texts", ())
    rules: tuple[str, ...] = _key("rules", texts, "texts", ())
    slices: tuple[str, ...] = _key("slices", texts, "texts", ())
    resolved: bool = _key(
        "resolved", lambda value: value if isinstance(value, bool) else None, "true or false", True
    )
    heartbeat: float | None = attrs.field(default=None, converter=_period)
    receiver: Receiver = attrs.field(init=False, eq=False)
    _selectors: tuple[Selector, ...] = attrs.field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        """Find out how events are delivered."""
        receiver: Receiver = receiver_of(self.to)
        fields = attrs.fields(type(self))
        others = [
            one.name
            for one in (fields.format, fields.key, fields.severity, fields.rules, fields.slices)
            if getattr(self, one.name) != one.default
        ]
        if self.heartbeat is not None and (others or not self.resolved):
            name = [*others, "resolved"][0]
            raise InvalidInputError(
                f"cannot have {name!r} beside 'heartbeat', which takes no events",
                argument=_ARGUMENT,
            )
        if (self.key is None) is (self.format == "pagerduty"):
            raise InvalidInputError(
                "needs `key` if the format is pagerduty, and only then", argument=_ARGUMENT
            )
        if self.format != JSON:
            if not isinstance(receiver, Webhook):
                raise InvalidInputError(
                    f"needs a URL as `to` if the format is {self.format}", argument=_ARGUMENT
                )
            template = TEMPLATES[self.format]
            if self.key is not None:
                template = partial(template, key=self.key)
            receiver = attrs.evolve(receiver, template=template)
        object.__setattr__(self, "receiver", receiver)
        object.__setattr__(self, "_selectors", tuple(map(parse_selector, self.slices)))

    @property
    def identity(self) -> tuple[str, str]:
        """How a receiver is known after a restart: by what it is, and not by its conditions."""
        if not isinstance(self.to, str):
            name = getattr(self.to, "__qualname__", type(self.to).__qualname__)
            return "function", name
        return "text" if self.format == JSON else f"{self.format} {self.key}", self.to

    def takes(self, event: Mapping[str, Any]) -> bool:
        """Tell whether the receiver gets an event; those of the monitor itself go to all."""
        names = {event.get("name"), event.get("rule")}
        return ENDED in names or (
            (self.resolved or event.get("state") != "resolved")
            and (not self.severity or event.get("severity") in self.severity)
            and (not self.rules or any(_canonical(name) in names for name in self.rules))
            and (not self.slices or any(one.covers(event.get("slice")) for one in self._selectors))
        )

    def __str__(self) -> str:
        """Name the receiver and its conditions, without credentials."""
        conditions = [
            f"{name} {', '.join(given)}"
            for name, given in attrs.asdict(self).items()
            if name in ("severity", "rules", "slices") and given
        ]
        only = f" ({'; '.join(conditions)})" if conditions else ""
        return f"{self.receiver.name}{only}"

    def sent_to(self, receiver: Receiver) -> Self:
        """Return the same route to another receiver."""
        made = copy.copy(self)
        object.__setattr__(made, "receiver", receiver)
        return made

    def check_slices(self, slices: Sequence[Mapping[str, Any] | None]) -> None:
        """Refuse a condition on a slice about which there is no alert.

        Raises
        ------
        InvalidInputError
            If there is one.
        """
        for selector in self._selectors:
            if not any(map(selector.covers, slices)):
                raise InvalidInputError(
                    f"names the slice {selector}, about which there is no alert; `values` of the "
                    "`Sliced` name those that have some",
                    argument=_ARGUMENT,
                )

    def check(self, alerts: Sequence[AlertRule]) -> None:
        """Refuse conditions that no rule meets.

        Raises
        ------
        InvalidInputError
            If a name or a severity is not that of a rule.
        """
        names = [name for one in alerts for name in (one.name, one.rule.text) if name]
        severities = [one.severity for one in alerts if one.severity]
        for what, given, known in (
            ("rule", map(_canonical, self.rules), names),
            ("severity", self.severity, severities),
        ):
            for one in given:
                if one not in known:
                    hint = nearest(one, known).removesuffix(".") if known else "`alerts` gives none"
                    raise InvalidInputError(
                        f"names a {what} {one!r}, which no alert has: {hint}", argument=_ARGUMENT
                    )


@attrs.define
class Unsent:
    """Counts the events of a receiver in a rehearsal.

    Parameters
    ----------
    name : str
    n_events : int
    """

    name: str
    n_events: int = 0

    def send(self, event: Mapping[str, Any], timeout: float) -> str:  # noqa: ARG002 - as all take
        """Count an event."""
        self.n_events += 1
        return ""


def _canonical(name: str) -> str:
    """Return the canonical form of a rule, or the name of one."""
    try:
        return parse_rule(name).text
    except InvalidInputError:
        return name


def read_routes(on_alert: Any, alerts: Sequence[AlertRule]) -> list[AlertRoute]:
    """Read receivers: each a command, a URL, a function, or a table with the keys of `AlertRoute`.

    Raises
    ------
    InvalidInputError
        If one is malformed, given twice, or has a condition that no rule meets.
    """
    routes: list[AlertRoute] = []
    for one in _listed(on_alert):
        route = read_table(AlertRoute, one, main="to", argument=_ARGUMENT)
        if isinstance(route.to, str) and route in routes:
            raise InvalidInputError("names the same receiver twice", argument=_ARGUMENT)
        route.check(alerts)
        routes.append(route)
    return routes


def _listed(on_alert: Any) -> Iterable[Any]:
    is_many = isinstance(on_alert, Iterable) and not isinstance(on_alert, str | bytes | Mapping)
    return on_alert if is_many else [] if on_alert is None else [on_alert]
