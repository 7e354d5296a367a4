"""Receivers and their routes: who gets which events, and in which form."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from offenders import each

from streameval.errors import InvalidInputError
from streameval.monitoring.alerts import read_rules
from streameval.monitoring.receivers import Webhook
from streameval.monitoring.routes import AlertRoute, read_routes

URL = "https://hooks.example.org/s3cret"
RULES = read_rules(
    [
        {"rule": "recall[1] < 0.8", "name": "low", "severity": "page"},
        {"rule": "recall[1] < .9 for 3 panes", "severity": "ticket"},
        "no data for 10m",
    ]
)
EVENT = {
    "id": "e1",
    "alert": "a1",
    "rule": "recall[1] < 0.8",
    "state": "firing",
    "slice": {"country": "DE"},
    "metric": "recall[1]",
    "value": 0.754321,
    "certified": None,
    "interval": [0.7, 0.8],
    "limit": 0.8,
    "n": 1500,
    "start": "2026-01-01T00:00:00Z",
    "end": "2026-01-01T00:05:00Z",
    "at": "2026-01-01T01:00:00Z",
    "name": "low",
    "severity": "page",
    "labels": {"team": "search"},
    "links": {"runbook": "https://wiki.example.org/low"},
}
SILENT = EVENT | dict.fromkeys(("slice", "value", "interval", "n", "end"))
SILENT |= {"rule": "no data for 10m", "state": "resolved"}
for said in ("name", "severity", "labels", "links"):
    del SILENT[said]


@each(
    ("table", "takes", "takes_silence"),
    [
        ({}, True, True),
        ({"resolved": False}, True, False),
        ({"severity": "page"}, True, False),
        ({"severity": ["ticket", "page"]}, True, False),
        ({"severity": "ticket"}, False, False),
        ({"rules": "low"}, True, False),
        ({"rules": ["recall[1]<0.80", "no data for 600s"]}, True, True),
        ({"slices": "country=DE"}, True, False),
        ({"slices": ["country=FR", "all"]}, False, True),
        ({"slices": "country=DE,device=phone"}, False, False),
        ({"slices": "country=DE", "severity": "ticket"}, False, False),
    ],
)
def test_route_takes_events_that_meet_every_condition(
    table: dict[str, Any], takes: bool, takes_silence: bool
) -> None:
    (route,) = read_routes({"to": URL, **table}, RULES)
    assert [route.takes(event) for event in (EVENT, SILENT)] == [takes, takes_silence]


@each(
    ("given", "why"),
    [
        ({"url": URL}, "`on_alert` has no key 'url': choose from to, format"),
        ({"url": URL}, "rules, slices, resolved, heartbeat."),
        ({"to": URL, "receiver": print}, "`on_alert` has no key 'receiver'"),
        ({"severty": "page", "to": URL}, "`on_alert` has no key 'severty': did you mean 'severity"),
        ({"severity": "page"}, "`on_alert` is a table without the key 'to'"),
        ({"to": URL, "severity": 3}, "`on_alert` needs texts as 'severity'"),
        ({"to": URL, "severity": ["page", ""]}, "`on_alert` needs texts as 'severity'"),
        ({"to": URL, "resolved": "no"}, "`on_alert` needs true or false as 'resolved'"),
        ({"to": URL, "format": "slak"}, "has no format 'slak': did you mean 'slack'?"),
        ({"to": "sh", "format": "slack"}, "needs a URL as `to` if the format is slack"),
        ({"to": URL, "format": "pagerduty"}, "needs `key` if the format is pagerduty, and only"),
        ({"to": URL, "key": "s3cret"}, "needs `key` if the format is pagerduty, and only"),
        ({"to": "$NOT_SET"}, "names the variable NOT_SET, which is not set"),
        ({"to": URL, "severity": "pge"}, "names a severity 'pge', which no alert has: did you me"),
        ({"to": URL, "rules": "lwo"}, "names a rule 'lwo', which no alert has: did you mean 'low'"),
        ({"to": URL, "slices": "country"}, "expected = after the column"),
        ([URL, {"to": URL}], "names the same receiver twice"),
        (7, "must be a URL, a command or a function, got int"),
    ],
)
def test_route_that_cannot_work_is_refused_at_once(given: Any, why: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        read_routes(given, RULES)
    assert why in str(refused.value)
    assert "s3cret" not in str(refused.value)


def test_severity_of_a_route_needs_alerts_with_one() -> None:
    with pytest.raises(InvalidInputError, match="which no alert has: `alerts` gives none"):
        read_routes({"to": URL, "severity": "page"}, read_rules(["no data for 10m"]))


def test_route_names_its_conditions_and_no_credentials() -> None:
    table = {"to": URL, "severity": ["page"], "slices": "country=DE"}
    (route,) = read_routes(table, RULES)
    assert str(route) == "https://hooks.example.org (severity page; slices country=DE)"


def test_credentials_can_be_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", URL)
    monkeypatch.setenv("PAGER_KEY", "s3cret")
    route = AlertRoute(to="$PAGER", format="pagerduty", key="$PAGER_KEY")
    assert (route.to, route.key) == (URL, "s3cret")


def test_receivers_are_known_by_what_they_are() -> None:
    first, second = (AlertRoute(to=URL, severity=severity) for severity in (["page"], ["ticket"]))
    assert first.identity == second.identity == ("text", URL)
    assert AlertRoute(to=URL, format="slack").identity != first.identity
    assert AlertRoute(to=print).identity == ("function", "print")


def posted(event: dict[str, Any], name: str, **more: Any) -> Any:
    """Return what is posted in a format, as JSON gives it back."""
    receiver = AlertRoute(to=URL, format=name, **more).receiver
    assert isinstance(receiver, Webhook)
    return json.loads(json.dumps(receiver.template(event)))


def test_format_json_is_the_event() -> None:
    assert posted(EVENT, "json") == EVENT


def test_format_slack_escapes_its_markup() -> None:
    assert posted(EVENT, "slack") == {
        "text": "*firing: low (country=DE)*\nrule: recall[1] &lt; 0.8\nseverity: page\n"
        "value: 0.7543\ninterval: 0.7 to 0.8, 95%\nexamples: 1,500\n"
        "time: 2026-01-01T00:00:00Z to 2026-01-01T00:05:00Z\nteam: search\n"
        "<https://wiki.example.org/low|runbook>"
    }
    since = "*resolved: no data for 10m*\ntime: since 2026-01-01T00:00:00Z"
    assert posted(SILENT, "slack") == {"text": since}


def test_format_teams_is_an_adaptive_card() -> None:
    (attachment,) = posted(EVENT, "teams")["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    heading, facts = attachment["content"]["body"]
    assert (heading["text"], heading["color"]) == ("firing: low (country=DE)", "attention")
    assert facts["facts"][0] == {"title": "rule", "value": "recall[1] < 0.8"}
    (link,) = attachment["content"]["actions"]
    assert (link["title"], link["url"]) == ("runbook", "https://wiki.example.org/low")


def test_format_pagerduty_opens_and_resolves_one_incident() -> None:
    found = posted(EVENT, "pagerduty", key="k")
    assert (found["routing_key"], found["event_action"], found["dedup_key"]) == (
        *("k", "trigger", "a1"),
    )
    assert found["payload"]["summary"] == "firing: low (country=DE)"
    assert found["payload"]["severity"] == "critical", "page is none of PagerDuty's"
    assert found["payload"]["custom_details"] == EVENT
    assert found["links"] == [{"href": "https://wiki.example.org/low", "text": "runbook"}]
    over = posted(EVENT | {"state": "resolved", "severity": "warning"}, "pagerduty", key="k")
    assert (over["event_action"], over["dedup_key"]) == ("resolve", "a1")
    assert over["payload"]["severity"] == "warning"


def test_format_alertmanager_resolves_by_the_same_labels() -> None:
    (alert,) = posted(EVENT, "alertmanager")
    assert alert["labels"] == {
        "team": "search",
        "alertname": "low",
        "rule": "recall[1] < 0.8",
        "severity": "page",
        "slice": "country=DE",
    }
    assert alert["startsAt"] == "2026-01-01T01:00:00Z"
    assert datetime.fromisoformat(alert["endsAt"]) > datetime.now(UTC)
    assert alert["annotations"]["value"] == "0.7543"
    assert alert["annotations"]["interval"] == "0.7 to 0.8, 95%"
    assert alert["annotations"]["runbook"] == "https://wiki.example.org/low"
    (over,) = posted(EVENT | {"state": "resolved", "at": "2026-01-01T02:00:00Z"}, "alertmanager")
    assert over["labels"] == alert["labels"]
    assert over["endsAt"] == "2026-01-01T02:00:00Z"
    named = EVENT | {"labels": {"2nd team": "a", "": "b"}, "links": {"the page": "https://c"}}
    (valid,) = posted(named, "alertmanager")
    assert valid["labels"]["_2nd_team"] == "a"
    assert valid["labels"]["_"] == "b"
    assert valid["annotations"]["the_page"] == "https://c"
    (silent,) = posted(SILENT, "alertmanager")
    assert silent["labels"] == {"alertname": "no data for 10m", "rule": "no data for 10m"}
