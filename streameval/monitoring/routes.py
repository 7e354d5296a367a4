"""Receivers and their routes: who gets which events, and in which form."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Self

import attrs

from streameval.configs.names import nearest
from streameval.errors import InvalidInputError
from streameval.inputs.durations import read_duration
from streameval.monitoring.outbox import Receiver, Webhook, receiver_of
from streameval.monitoring.rule_text import Selector, parse_selector
from streameval.monitoring.rules import AlertRule, key_of, parse_rule, read_table, text, texts
from streameval.monitoring.series import ENDED
from streameval.monitoring.templates import TEMPLATES

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
