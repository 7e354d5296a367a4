"""Other rules and receivers for a running monitor: what a restart with them would give."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from monitoring.memory import Clock, Rows
from offenders import each
from prometheus_client.parser import text_string_to_metric_families as families
from waiting import HANGS, until

import streameval as se
from streameval.errors import InvalidInputError
from streameval.monitoring.prometheus import MonitorCollector

START = 1_699_999_980
LOW = {"rule": "accuracy < 0.5 over 1m", "name": "low", "severity": "page"}
GOOD = {"rule": "accuracy > 0.9 over 1m", "severity": "ticket"}
NO_DATA = {"rule": "no data for 1d", "severity": "ticket"}


def row(minute: int, pred: int = 1) -> dict[str, Any]:
    return {"id": f"{minute}", "ts": START + 60 * minute, "y_true": 1, "y_pred": pred}


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., se.Monitor]:
    def start(source: Rows, checkpoint: str = "ck.db", **options: Any) -> se.Monitor:
        windowed = se.Windowed(se.ConfusionAccumulator(), pane="1m", unit="s", keep="1h")
        given = {"time": "ts", "clock": Clock()} | options
        return se.Monitor(tmp_path / checkpoint, windowed, predictions=source, **given)

    return start


def refuse(event: Any) -> None:
    raise OSError("down")


def exported(monitor: se.Monitor) -> dict[tuple[str, ...], float]:
    text = MonitorCollector(monitor).response()[1].decode()
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in families(text)
        for sample in family.samples
    }


def pieces() -> Iterator[list[dict[str, Any]]]:
    yield [row(0, 0), row(1, 0), row(2)]
    yield [row(3), row(4, 0), row(5)]


@pytest.mark.parametrize(
    "later", [[LOW], [LOW, GOOD], [GOOD], []], ids=["same", "more", "other", "none"]
)
def test_reload_is_a_restart_in_place(start: Any, later: list[Any]) -> None:
    told: dict[str, list[Any]] = {"reloaded": [], "restarted": []}
    for how, got in told.items():
        source = Rows()
        options = {"checkpoint": f"{how}.db", "on_alert": got.append}
        monitor = start(source, alerts=[LOW], **options)
        for rows in pieces():
            source.add("a", *rows)
            monitor.step()
            if how == "reloaded":
                monitor.reload(alerts=later, on_alert=got.append)
            else:
                monitor.close()
                monitor = start(source, alerts=later, **options)
        monitor.step()
        monitor.close()
    assert told["reloaded"] == told["restarted"]
    assert [one["state"] for one in told["reloaded"] if one.get("name") == "low"][:2] == [
        *("firing", "resolved"),
    ]


def test_rules_are_reloaded_while_a_source_has_no_row(start: Any) -> None:
    clock, got = Clock(), []  # type: ignore[var-annotated]
    options = {"labels": Rows("labels"), "key": "id", "wait": "1m", "clock": clock}
    with start(Rows(a=[row(0)]), **options) as monitor:
        monitor.step()
        clock.now += 700
        rules = ["no data for 10m", LOW]
        monitor.reload(alerts=rules, on_alert=got.append)
        monitor.step()
        clock.now += 700
        monitor.step()
        assert [one.rule for one in monitor.snapshot().alerts] == ["no data for 10m"]
    assert [(one["rule"], one["state"]) for one in got] == [("no data for 10m", "firing")]


@each(
    ("options", "why"),
    [
        ({"alerts": ["acuracy < 0.5"]}, "acuracy"),
        ({"alerts": ["matthews_corrcoef < 0.5"]}, "A comparison of the value takes any metric"),
        ({"alerts": [LOW], "on_alert": {"to": print, "severity": "tickt"}}, "a severity 'tickt'"),
        ({"alerts": [LOW], "on_alert": {"to": print, "slices": "a=b"}}, "names the slice {a=b}"),
        ({"alerts": [LOW], "on_alert": "no-such-program"}, "a program that can be started"),
        ({"alerts": ["accuracy < 0.5"], "false_alarms": "often"}, "often"),
    ],
)
def test_reload_is_all_or_nothing(start: Any, options: Any, why: str, tmp_path: Path) -> None:
    got: list[Any] = []
    source = Rows(a=[row(0, 0), row(1)])
    name = f"{hash(why)}.db"
    with start(source, name, alerts=[LOW], on_alert=got.append) as monitor:
        monitor.step()
        with pytest.raises(InvalidInputError) as refused:
            monitor.reload(**options)
        assert why in str(refused.value)
        source.add("a", row(2))
        monitor.step()
        assert exported(monitor)["streameval_config_last_reload_successful",] == 0
        monitor.reload(alerts=[LOW], on_alert=got.append)
        monitor.step()
        found = exported(monitor)
        assert found["streameval_config_last_reload_successful",] == 1
        assert found["streameval_config_last_reload_success_time_seconds",] == Clock().now
    assert [(one["rule"], one["state"]) for one in got] == [
        *((LOW["rule"], "firing"), (LOW["rule"], "resolved")),
    ]


def test_closed_monitor_cannot_reload(start: Any) -> None:
    monitor = start(Rows())
    monitor.close()
    with pytest.raises(InvalidInputError, match="`monitor` is closed"):
        monitor.reload()


def test_undelivered_event_goes_to_the_new_receiver_that_takes_it(start: Any) -> None:
    page, ticket = [], []  # type: ignore[var-annotated]
    rules = [LOW, NO_DATA]
    with start(Rows(a=[row(0, 0), row(1)]), alerts=rules, on_alert=refuse) as monitor:
        monitor.step()
        receivers = [
            {"to": page.append, "severity": "page"},
            {"to": ticket.append, "severity": "ticket"},
        ]
        monitor.reload(alerts=rules, on_alert=receivers)
        assert monitor.step().notes == ()
        until(lambda: page)
    assert ([one["name"] for one in page], ticket) == (["low"], [])


def test_receiver_that_stays_gets_an_event_in_delivery_once(start: Any) -> None:
    got, begun, goes_on = [], threading.Event(), threading.Event()  # type: ignore[var-annotated]

    def slow(event: Any) -> None:
        begun.set()
        goes_on.wait(HANGS)
        got.append(event)

    with start(Rows(a=[row(0, 0), row(1)]), alerts=[LOW], on_alert=slow) as monitor:
        monitor.step()
        assert begun.wait(HANGS)
        monitor.reload(alerts=[LOW], on_alert=[slow, print])
        monitor.step()
        goes_on.set()
        until(lambda: got)
        monitor.step()
    start(Rows(), alerts=[LOW], on_alert=[slow, print]).close()
    assert len(got) == 1


def test_receiver_of_the_same_name_takes_over(start: Any) -> None:
    first, second = [], []  # type: ignore[var-annotated]
    source = Rows(a=[row(0, 0), row(1)])
    with start(source, alerts=[LOW], on_alert=first.append) as monitor:
        monitor.step()
        until(lambda: first)
        monitor.reload(alerts=[LOW], on_alert=second.append)
        source.add("a", row(2))
        monitor.step()
        until(lambda: second)
    assert [one["state"] for one in (*first, *second)] == ["firing", "resolved"]


DROPPED = (
    f"dropped 1 event of a receiver that was removed, which no new one takes: {LOW['rule']!r} is "
    "firing"
)


@pytest.mark.parametrize("is_restart", [False, True])
def test_event_that_is_dropped_with_its_receiver_is_told_and_counted(
    start: Any, is_restart: bool
) -> None:
    got: list[Any] = []
    stays = {"to": got.append, "severity": "page"}
    source = Rows(a=[row(0, 0), row(1)])
    monitor = start(source, alerts=[LOW], on_alert=[stays, refuse])
    monitor.step()
    if is_restart:
        monitor.close()
        monitor = start(source, alerts=[LOW], on_alert=[stays])
    else:
        monitor.reload(alerts=[LOW], on_alert=[stays])
    assert monitor.step().notes == (DROPPED,)
    source.add("a", row(2))
    assert monitor.step().notes == ()
    assert exported(monitor)["streameval_dropped_events_total",] == 1
    monitor.close()
    with start(source, alerts=[LOW], on_alert=[stays]) as monitor:
        monitor.step()
        assert exported(monitor)["streameval_dropped_events_total",] == 1, "it is in the commit"
    assert [one["state"] for one in got] == ["firing", "resolved"]


def test_event_follows_its_receivers_although_no_commit_comes_between(start: Any) -> None:
    """A receiver that came back before a commit was dropped as one that had been told."""

    def receive(event: Any) -> None:
        if is_down:
            raise OSError
        got.append(event)

    got: list[Any] = []
    is_down, source = True, Rows(a=[row(0, 0), row(1)])
    monitor = start(source, alerts=[LOW], on_alert=[print, receive])
    monitor.step()
    monitor.reload(alerts=[LOW], on_alert=[print, refuse])
    monitor.close()
    is_down = False
    start(source, alerts=[LOW], on_alert=[print, receive]).close()
    assert len(got) == 1


@each("is_arrived", [False, True])
def test_events_keep_their_order_where_their_receivers_are_removed_in_turn(
    start: Any, is_arrived: bool
) -> None:
    """A beginning that had moved to a new receiver came after the end that was another one's."""

    def both(event: Any) -> None:
        if not (is_arrived and event["state"] == "firing"):
            raise OSError
        arrived.append(event)

    def later(event: Any) -> None:
        raise OSError

    got, arrived = [], []  # type: ignore[var-annotated]
    name, source = f"{is_arrived}.db", Rows(a=[row(0, 0), row(1)])
    monitor = start(source, name, alerts=[LOW], on_alert=[both, {"to": refuse, "resolved": False}])
    monitor.step()
    until(lambda: arrived or not is_arrived)
    source.add("a", row(2))
    monitor.step()
    monitor.reload(alerts=[LOW], on_alert=[both, {"to": later, "resolved": False}])
    monitor.reload(alerts=[LOW], on_alert=refuse)
    monitor.close()
    start(source, name, alerts=[LOW], on_alert=got.append).close()
    assert [one["state"] for one in got] == ["firing", "resolved"]


def test_note_of_dropped_events_is_short(start: Any) -> None:
    rules = [f"accuracy < 0.{limit} over 1m" for limit in range(4, 9)]
    with start(Rows(a=[row(0, 0), row(1)]), alerts=rules, on_alert=[print, refuse]) as monitor:
        monitor.step()
        monitor.reload(alerts=rules, on_alert=print)
        (note,) = monitor.step().notes
    assert note.startswith("dropped 5 events of a receiver that was removed, ")
    assert note.count("accuracy") == 3
    assert note.endswith(" is firing, ...")


def test_heartbeats_are_reloaded(start: Any) -> None:
    one, two = [], []  # type: ignore[var-annotated]
    with start(Rows(), on_alert={"to": one.append, "heartbeat": "10ms"}) as monitor:
        until(lambda: one)
        monitor.reload(on_alert={"to": two.append, "heartbeat": "10ms"})
        until(lambda: len(two) > 2)
        n_beats = len(one)
        until(lambda: len(two) > 6)
        assert len(one) <= n_beats + 1


def test_rule_that_comes_back_fires_with_another_id(start: Any) -> None:
    got: list[Any] = []
    source = Rows(a=[row(0, 0), row(1, 0)])
    with start(source, alerts=[LOW], on_alert=got.append) as monitor:
        monitor.step()
        monitor.reload(on_alert=got.append)
        monitor.step()
        monitor.reload(alerts=[LOW], on_alert=got.append)
        source.add("a", row(2, 0))
        monitor.step()
    with start(source, alerts=[LOW], on_alert=got.append) as monitor:
        source.add("a", row(3), row(4))
        monitor.step()
    states: dict[str, list[str]] = {}
    for event in got:
        states.setdefault(event["alert"], []).append(event["state"])
    assert [*states.values()] == [["firing", "resolved"], ["firing", "resolved"]]
    assert len({event["id"] for event in got}) == 4
