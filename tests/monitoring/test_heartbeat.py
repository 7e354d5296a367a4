"""Signs of life, and the end of a monitor with an error."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from typing import Any

import pytest
from monitoring.memory import Clock, Rows
from offenders import each
from waiting import until

import streameval as se
from streameval.errors import (
    BadDataError,
    CorruptStateError,
    IncompatibleStateError,
    InvalidInputError,
    UnavailableError,
)
from streameval.monitoring.delivery import Heartbeat
from streameval.monitoring.receivers import receiver_of
from streameval.monitoring.routes import AlertRoute

ALERT = "accuracy < 0.5, n >= 1"


@pytest.fixture
def start(tmp_path: Any) -> Any:
    def start(source: Any, **options: Any) -> se.Monitor:
        windowed = se.Windowed(se.ConfusionAccumulator(), pane="1m", unit="s", keep="1h")
        given = {"time": "ts", "clock": Clock()} | options
        return se.Monitor(tmp_path / "ck.db", windowed, predictions=source, **given)

    return start


def row(second: int) -> dict[str, Any]:
    return {"ts": 1_699_999_980 + second, "y_true": 0, "y_pred": 1}


class Broken(Rows):
    """Rows that cannot be read for a while."""

    why = "the disk is gone"

    def read(self, limit: int) -> Any:
        if self.why:
            raise BadDataError(self.why)
        return super().read(limit)


def test_heartbeat_begins_before_the_first_row(start: Any) -> None:
    got: list[Any] = []
    with start(Rows(), on_alert={"to": got.append, "heartbeat": "10ms"}):
        until(lambda: len(got) > 2)
    assert {(one["rule"], one["state"]) for one in got} == {("heartbeat", "alive")}
    time.sleep(0.05)
    n_sent = len(got)
    time.sleep(0.05)
    assert len(got) == n_sent, "a closed monitor is not alive"


def test_heartbeat_goes_to_no_receiver_of_events(start: Any) -> None:
    beats: list[Any] = []
    events: list[Any] = []
    heart = {"to": beats.append, "heartbeat": "1h"}
    source = Rows(a=[row(0), row(61)])
    with start(source, alerts=[ALERT], on_alert=[heart, events.append]) as monitor:
        monitor.step()
        until(lambda: beats and events)
    assert ([one["state"] for one in beats], [one["rule"] for one in events]) == (
        ["alive"],
        [ALERT],
    )


def test_heartbeat_stops_with_the_steps(capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[int] = []

    def is_alive() -> bool:
        asked.append(len(asked))
        return len(asked) < 3

    got: list[Any] = []
    heartbeat = Heartbeat(receiver_of(got.append), 0.001, is_alive)
    until(lambda: len(asked) > 5)
    heartbeat.close()
    assert len(got) == 2
    assert capsys.readouterr().err == ""


def test_heartbeat_that_is_refused_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    tries: list[Any] = []

    def refuse(beat: Any) -> None:
        tries.append(beat)
        raise OSError("\x1b down")

    heartbeat = Heartbeat(receiver_of(refuse), 0.001, lambda: True)
    until(lambda: len(tries) > 5)
    heartbeat.close()
    warning = "refuse raised OSError: \\x1b down; heartbeats go on\n"
    assert capsys.readouterr().err == warning
    heartbeat = Heartbeat(receiver_of("false"), 0.001, lambda: True)
    said: list[str] = []
    until(lambda: said.append(capsys.readouterr().err) or "".join(said))
    heartbeat.close()
    assert "".join(said).startswith("false ended with the exit sta")


@each(
    ("more", "why"),
    [
        ({"severity": "page"}, "cannot have 'severity' beside 'heartbeat'"),
        ({"resolved": False}, "cannot have 'resolved' beside 'heartbeat'"),
        ({"heartbeat": "soon"}, 'must be a duration such as "30s"'),
        ({"heartbeat": "0s"}, "must be longer than zero"),
    ],
)
def test_heartbeat_takes_no_events(more: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidInputError, match=why):
        AlertRoute(**{"to": "true", "heartbeat": "1m"} | more)


def test_end_with_an_error_is_told_and_resolved(start: Any) -> None:
    got: list[Any] = []
    source = Broken(a=[row(0)])
    for _ in range(2):  # the same error after the same commit is told once
        with pytest.raises(BadDataError, match="the disk is gone"):
            start(source, on_alert=got.append).step()
    (event,) = got
    assert (event["rule"], event["state"], event["error"]) == (
        *("monitor ended", "firing", "the disk is gone"),
    )
    source.why = "another reason"
    with pytest.raises(BadDataError):
        start(source, on_alert=got.append).step()
    source.why = ""
    with start(source, on_alert=got.append) as monitor:
        monitor.step()
        monitor.step()
    assert [(one["state"], one["alert"]) for one in got] == [
        *(("firing", event["alert"]), ("firing", event["alert"]), ("resolved", event["alert"])),
    ]
    assert len({one["id"] for one in got}) == 3
    assert json.loads(json.dumps(got)) == got


def test_end_that_was_not_delivered_is_told_by_the_next_monitor(start: Any) -> None:
    def receive(event: Any) -> None:
        if not is_up:
            raise OSError
        got.append(event["state"])

    got: list[Any] = []
    is_up = False
    source = Broken(a=[row(0)])
    monitor = start(source, on_alert=receive)
    monitor.stop()
    with pytest.raises(BadDataError):
        monitor.step()
    is_up, source.why = True, ""
    with start(source, on_alert=receive) as monitor:
        monitor.step()
    assert got == ["firing", "resolved"]


class Hook:
    """A receiver by name, which refuses events for a while."""

    def __init__(self, name: str) -> None:
        self.__qualname__ = name
        self.got: list[str] = []
        self.is_up = False

    def __call__(self, event: Any) -> None:
        if not self.is_up:
            raise OSError
        self.got.append(event["state"])


@each("where", ["at the start", "before its first commit"])
def test_own_event_survives_a_receiver_that_was_there_for_one_start_only(
    start: Any, where: str
) -> None:
    """The receivers of that start are committed with the event, not only with rows."""
    always, one, other = Hook("always"), Hook("one"), Hook("other")
    source = Broken(a=[row(0)])
    source.why = ""
    always.is_up = True
    with start(source, on_alert=[always, one], alerts=[ALERT]) as monitor:
        monitor.step()
    if where == "at the start":
        with pytest.raises(IncompatibleStateError, match="`out_of_order`"):
            start(source, on_alert=[always, other], out_of_order="1s")
    else:
        source.why = "the disk is gone"
        with pytest.raises(BadDataError):
            start(source, on_alert=[always, other]).step()
    one.is_up, source.why = True, ""
    only_of_others = {"to": one, "rules": [ALERT]}
    with start(source, on_alert=[always, only_of_others], alerts=[ALERT]) as monitor:
        monitor.step()
        assert monitor.status().n_dropped == 0
    assert sorted(one.got) == sorted(always.got)


def test_end_before_the_receivers_are_known_does_not_replace_them(
    start: Any, tmp_path: Any
) -> None:
    got: list[Any] = []
    start(Rows(a=[row(0)]), on_alert=got.append).close()
    with closing(sqlite3.connect(tmp_path / "ck.db")) as base, base:
        base.execute("INSERT OR REPLACE INTO meta VALUES ('state.delivery', '{')")
    with pytest.raises(CorruptStateError):
        start(Rows(), on_alert=got.append)
    assert [one["rule"] for one in got] == ["monitor ended"]
    with closing(sqlite3.connect(tmp_path / "ck.db")) as base:
        query = "SELECT value FROM meta WHERE name = 'state.delivery'"
        assert base.execute(query).fetchall() == [("{",)]


def test_end_is_told_although_the_checkpoint_is_gone(start: Any, tmp_path: Any) -> None:
    got: list[Any] = []
    monitor = start(Rows(a=[row(0)]), on_alert=got.append)
    monitor.step()
    (tmp_path / "ck.db").unlink()
    with pytest.raises(BadDataError, match="was deleted or replaced"):
        monitor.step()
    (event,) = got
    assert "was deleted or replaced" in event["error"]


def test_end_at_the_start_is_told_once_and_resolved(start: Any) -> None:
    got: list[Any] = []
    source = Broken(a=[row(0)])
    source.why = ""
    with start(source, on_alert=got.append) as monitor:
        monitor.step()
    for _ in range(2):
        with pytest.raises(IncompatibleStateError, match="`out_of_order` differs"):
            start(source, on_alert=got.append, out_of_order="1s")
    (event,) = got
    assert (event["rule"], event["state"]) == ("monitor ended", "firing")
    assert "`out_of_order` differs" in event["error"]
    source.why = "the disk is gone"
    with pytest.raises(BadDataError):
        start(source, on_alert=got.append).step()
    source.why = ""
    with start(source, on_alert=got.append) as monitor:
        monitor.step()
    assert [one["state"] for one in got] == ["firing", "firing", "resolved"]
    assert len({one["alert"] for one in got}) == 1, "so that no alert stays without its end"


@pytest.mark.parametrize("is_header", [False, True])
def test_damaged_checkpoint_is_told(start: Any, tmp_path: Any, is_header: bool) -> None:
    got: list[Any] = []
    start(Rows(a=[row(0)]), on_alert=got.append).close()
    path = tmp_path / "ck.db"
    data = bytearray(path.read_bytes())
    path.write_bytes(data[:100] + bytes(len(data) - 100) if is_header else data[: len(data) // 2])
    with pytest.raises(CorruptStateError):
        start(Rows(), on_alert=got.append).step()
    (event,) = got
    assert (event["rule"], "state is corrupt" in event["error"]) == ("monitor ended", True)


def test_second_monitor_on_a_checkpoint_tells_nobody(start: Any) -> None:
    got: list[Any] = []
    with start(Rows(), on_alert=got.append), pytest.raises(UnavailableError):
        start(Rows(), on_alert=got.append)
    assert got == []


def test_error_around_the_steps_is_told(start: Any) -> None:
    got: list[Any] = []
    monitor = start(Rows(a=[row(0)]), on_alert=got.append)
    monitor.step()
    with pytest.raises(KeyError), monitor:
        raise KeyError("why")
    assert [(one["rule"], one["error"]) for one in got] == [("monitor ended", "'why'")]


def test_interruption_is_no_error(start: Any) -> None:
    class Interrupted(Rows):
        def read(self, limit: int) -> Any:
            raise KeyboardInterrupt

    got: list[Any] = []
    with pytest.raises(KeyboardInterrupt):
        start(Interrupted(a=[row(0)]), on_alert=got.append).step()
    assert got == []
