"""Rules of alerts as text, and tables of options: the same in a file, on the command line, here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar

import attrs

from streameval.configs.names import nearest
from streameval.errors import InvalidInputError
from streameval.monitoring.metric_rules import MetricRule
from streameval.monitoring.rule_text import RuleText
from streameval.monitoring.series import Rule
from streameval.monitoring.source_rules import SOURCE_RULES

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
