"""What services for alerts expect to be posted, made from an event."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from streameval.monitoring.rule_text import slice_text
from streameval.render.text import shorten

_COLOURS = {"firing": "attention", "resolved": "good"}
_PAGERDUTY = ("critical", "error", "warning", "info")
_SUMMARY = 1024  # characters that PagerDuty takes
_NO_NAME = re.compile(r"^(?=\d|$)|\W", re.ASCII)
_FIRES_ON = timedelta(days=3650)


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
    items = event["slice"] or {}
    return slice_text([*items], [*items.values()])


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


def _escaped(text: str) -> str:
    """Escape what Slack's markup reads; a rule has signs of it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
