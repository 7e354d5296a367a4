"""A monitor while one of its sources has no row yet."""

import json
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from decimal import Decimal

import pytest
from monitoring.memory import Clock, Rows
from prometheus_client.parser import text_string_to_metric_families as families

import streameval as se
from streameval.cli.window_text import event_text
from streameval.monitoring.checkpoint import read_checkpoint, read_numbers
from streameval.monitoring.live_page import LivePage
from streameval.monitoring.prometheus import MonitorCollector
from streameval.runs.counting import RowShare

START = 1_699_999_980
STALLED, NO_DATA = "labels stalled for 10m", "no data for 10m"


def prediction(number, score=0.5, **more):
    return {"id": f"{number}", "ts": START + number, "y_pred": score, **more}


def label(number, truth=1, **more):
    return {"id": f"{number}", "ts": START + number + 5, "y_true": truth, **more}


PREDICTIONS = [prediction(n, n % 7 / 7, site="AB"[n % 2]) for n in range(200)]
LABELS = [label(n, n % 2) for n in range(0, 200, 3)]


def windowed(**options):
    return se.Windowed(se.ConfusionAccumulator(), pane="1m", unit="s", keep="1h", **options)


@pytest.fixture
def start(tmp_path):
    """Start a monitor that joins, on the checkpoint of the test."""

    def start(predictions, labels, *, checkpoint="ck.db", **options):
        given = {"time": "ts", "clock": Clock(), "key": "id", "wait": "2m"} | options
        path = tmp_path / checkpoint
        return se.Monitor(path, windowed(), predictions=predictions, labels=labels, **given)

    return start


def sources(predictions=PREDICTIONS, labels=()):
    return Rows("predictions", a=predictions), Rows("labels", b=labels)


def exported(collector):
    text = collector.response()[1].decode()
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in families(text)
        for sample in family.samples
    }


def states(events):
    return [(event.rule, event.state) for event in events]


def test_predictions_are_pending_while_labels_are_missing(start):
    predictions, labels = sources()
    with start(predictions, labels) as monitor:
        collector = MonitorCollector(monitor)
        monitor.step()
        status = monitor.status()
        assert (status.n_rows, status.n_pending, status.number) == (200, 200, 1)
        found = exported(collector)
        assert found["streameval_predictions_total",] == 200
        assert found["streameval_pending",] == 200
        assert found["streameval_labels_total",] == 0
        monitor.step()
        assert monitor.status().number == 1
        predictions.add("a", prediction(300))
        monitor.step()
        assert (monitor.status().n_pending, monitor.status().number) == (201, 2)


def test_page_shows_what_waits_for_labels(start):
    with start(*sources(), alerts=[STALLED]) as monitor:
        monitor.step()
        page = LivePage("ck.db", monitor.snapshot())
        text = page.routes["/"](None).body.decode()
    assert "Waiting for labels" in text
    assert "<dt>Waiting for a label</dt><dd>200</dd>" in text


def test_labels_that_never_came_are_stalled(start):
    clock = Clock()
    with start(*sources(), clock=clock, alerts=[STALLED, NO_DATA]) as monitor:
        assert monitor.step().events == ()
        assert exported(MonitorCollector(monitor))["streameval_alert", STALLED, "all"] == 0
        clock.now += 600
        assert states(monitor.step().events) == [(STALLED, "firing"), (NO_DATA, "firing")]
        assert exported(MonitorCollector(monitor))["streameval_alert", STALLED, "all"] == 1


def test_alert_about_labels_ends_with_the_first_joined_one(start):
    clock, got = Clock(), []
    predictions, labels = sources()
    options = {"clock": clock, "alerts": [STALLED, "accuracy < 0.1, n >= 10"]}
    with start(predictions, labels, **options, on_alert=got.append) as monitor:
        monitor.step()
        clock.now += 600
        monitor.step()
        labels.add("b", *LABELS)
        assert states(monitor.step().events) == [(STALLED, "resolved")]
    assert [event["state"] for event in got] == ["firing", "resolved"]
    assert len({event["alert"] for event in got}) == 1


@pytest.mark.parametrize("has_labels", [False, True])
def test_source_without_any_row_is_silent(start, has_labels):
    clock = Clock()
    both = sources([], LABELS) if has_labels else (Rows(), None)
    join = {} if has_labels else {"key": None, "wait": None}
    with start(*both, clock=clock, alerts=[NO_DATA], **join) as monitor:
        assert monitor.step().events == ()
        assert exported(MonitorCollector(monitor))["streameval_alert", NO_DATA, "all"] == 0
        clock.now += 600
        (event,) = monitor.step().events
        assert event_text(event) == f"{NO_DATA} is firing"
        assert event.start == "2023-11-14T22:13:20Z"
        assert monitor.status().n_rows == 0
        assert monitor.status().counters == ({"labels": len(LABELS)} if has_labels else {})


def test_silence_goes_on_over_a_restart(start):
    clock, both = Clock(), sources()
    alerts = [STALLED, NO_DATA]
    with start(*both, clock=clock, alerts=alerts) as monitor:
        monitor.step()
    clock.now += 300
    both = sources()
    with start(*both, clock=clock, alerts=alerts) as monitor:
        assert monitor.status().n_pending == 200  # of the last commit
        assert monitor.step().events == ()
        clock.now += 300
        assert len(monitor.step().events) == 2
    with start(*sources(), clock=clock, alerts=alerts) as monitor:
        assert {alert.state for alert in monitor.snapshot().alerts} == {"firing"}
        assert monitor.step().events == ()
    with start(*sources(), clock=clock) as monitor:  # without the rules
        assert {event.state for event in monitor.step().events} == {"resolved"}


def test_undelivered_events_outlive_a_monitor_that_waits(start):
    clock, got = Clock(), []
    with start(*sources(), clock=clock, alerts=[STALLED]) as monitor:
        monitor.step()
        clock.now += 600
        assert len(monitor.step().events) == 1  # nobody is told
    with start(*sources(), clock=clock, alerts=[STALLED], on_alert=got.append) as monitor:
        assert monitor.step().events == ()
    assert [event["rule"] for event in got] == [STALLED]


@pytest.mark.parametrize("n_restarts", [0, 3])
def test_rows_that_were_held_count_as_without_the_wait(n_restarts, start):
    with start(*sources(labels=LABELS), checkpoint="whole.db") as whole:
        whole.step()
        expected, status = whole.windowed.to_bytes(), whole.status()
    assert status.counters["joined"] == len(LABELS)
    for _ in range(n_restarts):
        with start(*sources()) as monitor:
            monitor.step()
    predictions, labels = sources()
    with start(predictions, labels) as monitor:
        monitor.step()
        labels.add("b", *LABELS)
        step = monitor.step()
        assert (step.n_rows, step.n_labels) == (200, len(LABELS))
        assert monitor.windowed.to_bytes() == expected
        assert monitor.status().counters == status.counters
        assert monitor.status().n_pending == status.n_pending


def test_counter_does_not_fall_when_bad_rows_are_found(start):
    predictions, labels = sources([*PREDICTIONS, prediction(300, "no score")])
    with start(predictions, labels, max_bad=1) as monitor:
        collector = MonitorCollector(monitor)
        monitor.step()
        assert exported(collector)["streameval_predictions_total",] == 201
        labels.add("b", *LABELS)
        monitor.step()
        assert monitor.status().n_rows == 200
        assert exported(collector)["streameval_predictions_total",] == 201


def test_silence_is_not_broken_by_a_smaller_number(start):
    clock = Clock()
    predictions, labels = sources([*PREDICTIONS, prediction(300, "no score")])
    with start(predictions, labels, max_bad=1, clock=clock, alerts=[NO_DATA]) as monitor:
        monitor.step()
        clock.now += 600
        assert states(monitor.step().events) == [(NO_DATA, "firing")]
        labels.add("b", *LABELS)
        assert monitor.step().events == ()
        predictions.add("a", prediction(301))
        assert states(monitor.step().events) == [(NO_DATA, "resolved")]


def test_rows_of_other_shards_do_not_wait_here(start):
    numbers = []
    for shard in ("1/3", "2/3", "3/3"):
        with start(*sources(), checkpoint=f"{shard[0]}.db", shard=shard) as monitor:
            monitor.step()
            numbers.append(monitor.status().n_pending)
    assert sum(numbers) == 200
    assert min(numbers) > 40


def test_reading_ahead_stops_at_max_pending(start):
    predictions, labels = sources()
    with start(predictions, labels, max_pending=150, read_bytes=400) as monitor:
        monitor.step()
        status = monitor.status()
        assert (status.is_full, 150 <= status.n_pending < 160) == (True, True)
        monitor.step()
        assert monitor.status() == status


def test_reading_ahead_stops_at_some_bytes(start):
    predictions, labels = sources()
    with start(predictions, labels, read_bytes=100) as monitor:
        monitor.step()
        assert (monitor.status().is_full, monitor.status().n_pending < 150) == (True, True)
        labels.add("b", *LABELS)
        monitor.step()
        assert monitor.status().n_rows == 200


def test_bad_rows_end_a_monitor_that_waits(start):
    predictions, labels = sources([*PREDICTIONS, "{", {"ts": 1}])
    with (
        start(predictions, labels, max_bad=1) as monitor,
        pytest.raises(se.BadDataError, match=r"line 202: `id` is missing\. That is bad row 2"),
    ):
        monitor.step()


def test_share_of_bad_rows_ends_a_monitor_that_waits(start):
    predictions, labels = sources([*PREDICTIONS[:1], *["{"] * 50])
    refused = pytest.raises(se.BadDataError, match="50 of 51 rows are bad")
    with start(predictions, labels, max_bad=RowShare(Decimal(1))) as monitor, refused:
        monitor.step()


def test_wait_for_labels_is_told_once(start):
    with start(*sources()) as monitor:
        (note,) = monitor.step().notes
        assert note == "labels: has no rows yet; predictions wait for the first label"
        assert monitor.step().notes == ()


def test_checkpoint_without_a_counted_row_says_what_it_holds(start, tmp_path):
    clock = Clock()
    with start(*sources(), alerts=["labels stalled for 1m"], clock=clock) as monitor:
        monitor.step()
        clock.now += 61
        monitor.step()
        assert monitor.windowed == windowed()
    assert monitor.windowed == windowed()
    assert monitor.snapshot().status.n_pending == 200
    for read in (read_checkpoint, read_numbers):
        with pytest.raises(se.BadDataError) as refused:
            read(tmp_path / "ck.db")
        assert str(refused.value) == (
            f"{tmp_path / 'ck.db'}: no row has been counted: 200 rows of predictions and 0 rows of "
            "labels have been read as of commit 2, and counting begins once each source has one. "
            "Alerts that are firing: labels stalled for 1m."
        )


def test_options_may_change_before_rows_are_counted(start):
    with start(*sources()) as monitor:
        monitor.step()
    with start(*sources(labels=LABELS), wait="3m") as monitor:
        monitor.step()
    with pytest.raises(se.IncompatibleStateError, match="`wait` differs"):
        start(*sources(), wait="2m")


COMMAND = (
    *("watch", "p.jsonl", "--labels", "l.jsonl", "--key", "id", "--wait", "2m"),
    *("--task", "classification", "--time", "ts", "--unit", "s", "--pane", "1m"),
    *("--quiet", "--keep", "1h", "--alerts", "labels stalled for 1s"),
)


@pytest.mark.uncovered
@pytest.mark.slow
def test_process_killed_before_the_first_label_counts_every_row(tmp_path):
    def streameval(checkpoint, *options):
        command = [sys.executable, "-m", "streameval", *COMMAND, "--checkpoint", checkpoint]
        return subprocess.Popen([*command, *options], cwd=tmp_path, stderr=subprocess.DEVNULL)

    def write(name, rows):
        with (tmp_path / name).open("a") as file:
            file.writelines(f"{json.dumps(row)}\n" for row in rows)

    def has_committed(n_rows):
        """Return whether so many rows wait, and the alert fires."""
        path = f"{(tmp_path / 'ck.db').as_uri()}?mode=ro"
        try:
            with closing(sqlite3.connect(path, uri=True)) as base:
                meta = dict(base.execute("SELECT name, value FROM meta"))
        except sqlite3.OperationalError:
            return False
        rows = json.loads(meta.get("state.waiting", "{}")).get("rows", {})
        return rows.get("predictions") == n_rows and "firing" in meta["state.alerts"]

    for start, end in ((0, 100), (100, 200)):
        rows = PREDICTIONS[start:end]
        write("p.jsonl", [row | {"y_pred": round(row["y_pred"])} for row in rows])
        process, deadline = streameval("ck.db"), time.monotonic() + 60
        while not has_committed(end) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.kill()
        assert process.wait() == -signal.SIGKILL
    assert has_committed(200)
    write("l.jsonl", LABELS)
    for checkpoint in ("ck.db", "whole.db"):
        assert streameval(checkpoint, "--once").wait() == 0
    killed, whole = (read_checkpoint(tmp_path / name) for name in ("ck.db", "whole.db"))
    assert killed.windowed.to_bytes() == whole.windowed.to_bytes()
    assert killed.state["join"]["counters"] == whole.state["join"]["counters"]
