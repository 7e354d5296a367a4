"""The monitor without a join: counting, commits, closing of panes, bad rows."""

import json
import pathlib
import re
import sqlite3
import sys
import threading
from contextlib import closing
from datetime import date
from decimal import Decimal

import numpy as np
import pytest
from monitoring.fake_kafka import Error
from monitoring.fake_kafka import Kafka as FakeKafka
from monitoring.memory import Clock, Rows, ServedRows
from offenders import each

import streameval as se
from streameval.errors import InvalidInputError
from streameval.monitoring.intake import row_to_json
from streameval.monitoring.screening import Screening
from streameval.monitoring.status import Weights
from streameval.runs.counting import RowShare

START = 1_699_999_980
IN_2099 = 4_070_908_800


def row(second, truth=1, pred=1, **more):
    return {"ts": START + second, "y_true": truth, "y_pred": pred, **more}


def windowed(accumulator=None, **options):
    return se.Windowed(
        accumulator or se.ConfusionAccumulator(),
        **{"pane": "1m", "unit": "s", "keep": "1h"} | options,
    )


@pytest.fixture
def start(tmp_path):
    """Start a monitor on the checkpoint of the test."""

    def start(source, accumulator=None, **options):
        given = {"time": "ts", "clock": Clock()} | options
        return se.Monitor(
            tmp_path / "ck.db", accumulator or windowed(), predictions=source, **given
        )

    return start


def counted(rows, accumulator=None):
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    columns["time"] = columns.pop("ts")
    return (accumulator or windowed()).update(columns)


def test_step_counts_what_is_there(start):
    rows = [row(at, at % 2) for at in range(0, 300, 7)]
    with start(Rows(a=rows)) as monitor:
        step = monitor.step()
        assert (step.n_rows, step.is_idle) == (len(rows), True)
        assert monitor.windowed.to_bytes() == counted(rows).to_bytes()


def test_values_are_numbers_whatever_their_columns_are_called(start):
    names = ["loss", "group", "y_pred", "retrieved", "y_true"]
    rows = [
        {"ts": START, "loss": 0.5, "group": 2.5, "y_pred": True, "retrieved": 7, "y_true": 1.5},
        {"ts": START + 1, "loss": 1, "group": 3, "y_pred": None, "retrieved": 0.5, "y_true": None},
    ]
    inner = se.MeanAccumulator(names, nan="skip")
    expected = inner.copy().update({name: [row[name] for row in rows] for name in names})
    with start(Rows(a=rows), windowed(inner)) as monitor:
        monitor.step()
        assert monitor.windowed.total() == expected


def test_monitor_goes_on_with_the_last_commit(start):
    rows = [row(at, at % 2) for at in range(0, 300, 7)]
    source = Rows(a=rows[:20])
    with start(source) as monitor:
        monitor.step()
    source.add("a", *rows[20:])
    with start(source) as monitor:
        assert monitor.status().n_rows == 20
        monitor.step()
        assert monitor.windowed.to_bytes() == counted(rows).to_bytes()


def test_status_tells_the_last_commit(start):
    source = Rows(a=[row(0), row(59), row(60, None), row(130)])
    with start(source, out_of_order="5s") as monitor:
        assert (monitor.status().number, monitor.status().watermark) == (0, None)
        monitor.step()
        status = monitor.status()
    assert (status.number, status.n_rows, status.n_counted, status.n_labelled) == (1, 4, 4, 3)
    assert str(status.watermark) == "2023-11-14T22:15:05.000000"
    assert str(status.mature_until) == "2023-11-14T22:15:00.000000"
    assert str(status.last_event_time) == "2023-11-14T22:15:10.000000"
    assert status.positions == {"predictions": {"a": 4}}
    assert (status.coverage, status.n_bad, status.counters) == (0.75, 0, {})
    assert status.committed_at == Clock().now


def test_snapshot_holds_a_copy_of_what_was_committed(start):
    with start(Rows(a=[row(0)])) as monitor:
        monitor.step()
        snapshot = monitor.snapshot()
        assert snapshot.windowed == monitor.windowed
        snapshot.windowed.reset()
        assert monitor.windowed.n == 1
        assert (snapshot.status, snapshot.alerts) == (monitor.status(), ())


def test_coverage_is_unknown_before_the_first_row(start):
    with start(Rows()) as monitor:
        assert monitor.status().coverage is None


def test_panes_are_closed_once_the_watermark_has_passed_them(start):
    source = Rows(a=[row(0), row(61, 0), row(125)])
    with start(source, allowed_lateness="10s") as monitor:
        assert [str(pane.start) for pane in monitor.step().closed] == ["2023-11-14T22:13:00.000000"]
        source.add("a", row(130), row(131))
        (pane,) = monitor.step().closed
        assert str(pane.end) == "2023-11-14T22:15:00.000000"
        assert (pane.n_rows, pane.n_labelled, pane.coverage, pane.is_revised) == (1, 1, 1.0, False)
        assert pane.accumulator.compute().accuracy == 0.0
        assert monitor.step().closed == ()


def test_rows_without_a_label_are_known_by_slice(start):
    sliced = se.Windowed(
        se.Sliced(se.ConfusionAccumulator(), "country", values=["DE"]), pane="1m", unit="s"
    )
    truths = [("DE", 1), ("DE", None), ("FR", None), ("FR", None)]
    given = [
        {"ts": START, "y_true": truth, "y_pred": 1, "country": country} for country, truth in truths
    ]
    last = {"ts": START + 60, "y_true": 1, "y_pred": 1, "country": "DE"}
    monitor = start(Rows(a=[*given, last]), sliced)
    with monitor:
        (pane,) = monitor.step().closed
        assert pane.by_slice.of("DE") == Weights(1, 2)
        assert pane.by_slice.of("FR") == Weights(0, 2)
        counted = monitor.snapshot().windowed
        assert (counted.total().n, counted.n_rows()) == (2, 5)
    assert monitor.snapshot().windowed == counted
    with start(Rows(a=[*given, last]), sliced) as again:
        assert again.snapshot().windowed == counted


def test_panes_without_slices_have_no_rows_by_slice(start):
    rows = [{"ts": START + at, "y_true": None, "y_pred": 1} for at in (0, 90)]
    with start(Rows(a=rows)) as monitor:
        (pane,) = monitor.step().closed
        assert pane.by_slice is None


def test_pane_of_unlabelled_rows_is_closed_too(start):
    with start(Rows(a=[row(0, None), row(3, None), row(61)])) as monitor:
        (pane,) = monitor.step().closed
    assert (pane.n_rows, pane.n_labelled, pane.coverage) == (2, 0, 0.0)


def test_late_rows_count_and_revise_their_pane(start):
    source = Rows(a=[row(0), row(125)])
    with start(source) as monitor:
        monitor.step()
        source.add("a", row(1, 0), row(2), row(185))
        revised, closed = monitor.step().closed
        assert (revised.is_revised, revised.n_rows) == (True, 3)
        assert revised.accumulator.n == 3
        assert not closed.is_revised
        assert monitor.status().counters == {"late": 2}


@pytest.mark.parametrize("read_bytes", [1, 100, 10**6])
def test_late_rows_are_those_behind_their_own_partition(start, read_bytes):
    rows = [row(second) for second in (0, 70, 10, 119, 179, 119, 60, 300)]
    source = Rows(a=rows, b=[row(second) for second in (5, 6, 7)])
    with start(source, read_bytes=read_bytes, out_of_order="10s") as monitor:
        monitor.step()
        assert monitor.status().counters == {"late": 3}


def test_slowest_partition_holds_panes_open(start):
    source = Rows(a=[row(0), row(300)], b=[row(1), row(70)])
    with start(source) as monitor:
        assert len(monitor.step().closed) == 1


def test_silent_partition_is_let_go(start):
    clock = Clock()
    source = Rows(a=[row(0), row(300)], b=[row(1), row(70)])
    with start(source, clock=clock, idle_after="1m") as monitor:
        monitor.step()
        clock.now += 61
        assert [str(pane.end) for pane in monitor.step().closed] == ["2023-11-14T22:15:00.000000"]
        source.add("b", row(71))
        step = monitor.step()
        assert [pane.is_revised for pane in step.closed] == [True]


def test_partition_that_is_let_go_stays_so_over_a_restart(start):
    clock = Clock()
    source = Rows(a=[row(0), row(300)], b=[row(1), row(70)])
    with start(source, clock=clock, idle_after="1m") as monitor:
        monitor.step()
        clock.now += 61
        monitor.step()
        mature = monitor.status().mature_until
    with start(source, clock=clock, idle_after="1m") as monitor:
        monitor.step()
        assert monitor.status().mature_until == mature


def test_no_partition_is_let_go_without_a_limit(start):
    clock = Clock()
    source = Rows(a=[row(0), row(300)], b=[row(1), row(70)])
    with start(source, clock=clock, idle_after=None) as monitor:
        monitor.step()
        clock.now += 10**6
        assert monitor.step().closed == ()


def test_no_partition_is_let_go_while_its_server_is_away(start):
    clock = Clock()
    source = ServedRows(a=[row(0), row(300)], b=[row(1), row(70)])
    with start(source, clock=clock, idle_after="1m") as monitor:
        assert not monitor.step().is_waiting
        clock.now += 61
        source.is_caught_up = False
        step = monitor.step()
        assert (step.is_idle, step.is_waiting, step.closed) == (True, True, ())
        source.is_caught_up = True
        assert len(monitor.step().closed) == 1


def test_monitor_waits_for_a_server_with_the_first_rows(start):
    source = ServedRows(a=[row(0)])
    source.is_caught_up = False
    with start(source) as monitor:
        step = monitor.step()
        assert (step.is_idle, step.is_waiting) == (True, True)


def test_what_a_source_counts_is_committed(start):
    source = ServedRows(a=[row(0)])
    source.counted = {"lost": 3, "disconnected": 1}
    with start(source) as monitor:
        monitor.step()
        source.add("a", row(1))
        source.counted = {"lost": 2}
        monitor.step()
    with start(source) as monitor:
        assert monitor.status().counters == {"lost": 5, "disconnected": 1}


def test_what_a_source_counts_is_committed_although_it_has_no_rows(start):
    source = ServedRows(a=[row(0)])
    with start(source) as monitor:
        monitor.step()
        source.counted, source.is_caught_up = {"disconnected": 1}, False
        monitor.step()
        assert monitor.status().counters == {"disconnected": 1}


def test_declared_partition_holds_panes_open(start):
    source = Rows(a=[row(0), row(300)])
    source.partitions = ["a", "b"]
    with start(source) as monitor:
        assert monitor.step().closed == ()


def test_commits_are_bounded(start):
    source = Rows(a=[row(at) for at in range(50)])
    with start(source, read_bytes=1, commit_bytes=100) as monitor:
        step = monitor.step()
        assert (step.n_rows, step.is_idle) == (3, False)
        while not monitor.step().is_idle:
            pass
        assert monitor.status().number == 17


def test_nothing_is_committed_while_nothing_happens(start):
    with start(Rows(a=[row(0)])) as monitor:
        for _ in range(3):
            monitor.step()
        assert monitor.status().number == 1


def test_monitor_waits_for_first_rows(start):
    source = Rows()
    with start(source) as monitor:
        assert monitor.step().is_idle
        assert monitor.windowed == windowed()
        source.add("a", row(0))
        assert monitor.step().n_rows == 1


@pytest.mark.parametrize(
    ("bad", "reason", "said"),
    [
        ("{", "unreadable", "rows/a, line 2: not JSON"),
        (row(1, pred="x"), "unreadable", "rows/a, line 2: `y_pred` must be"),
        (row(1, truth=7), "refused", "rows/a, line 2: `y_true` must"),
        (row(3700 + 20), "future", "rows/a, line 2: lies in the future: 2023-11-14T23:15:00"),
    ],
)
def test_bad_rows_are_counted_by_reason_and_named(start, bad, reason, said):
    source = Rows(a=[row(0), bad, row(2)])
    with start(source, max_bad=1) as monitor:
        step = monitor.step()
        assert len(step.notes) == 1
        assert step.notes[0].startswith(said)
        assert monitor.status().counters == {reason: 1}
        assert (monitor.status().n_bad, monitor.windowed.n) == (1, 2)


def test_too_many_bad_rows_stop_the_monitor_over_restarts(start):
    source = Rows(a=[row(0), "{"])
    with start(source, max_bad=1) as monitor:
        monitor.step()
    source.add("a", row(1), row(2, truth=7))
    for _ in range(2):
        with start(source, max_bad=1) as monitor:
            with pytest.raises(se.BadDataError, match=r"line 4: .* That is bad row 2; "):
                monitor.step()
            assert (monitor.status().n_rows, monitor.windowed.n) == (1, 1)
    with start(source, max_bad=2) as monitor:
        monitor.step()
        assert monitor.windowed.n == 2


def test_share_of_bad_rows_is_that_of_a_thousand_at_first(start):
    source = Rows(a=[row(0), *["{"] * 10])
    with start(source, max_bad=RowShare(Decimal(1))) as monitor:
        monitor.step()
        source.add("a", row(1), "}")
        with pytest.raises(se.BadDataError, match=r"13: .* 11 of the last 13 rows are bad; .*1%"):
            monitor.step()


@pytest.mark.slow
@pytest.mark.parametrize("restarts", [False, True])
def test_share_of_bad_rows_is_that_of_the_newest_rows(start, restarts):
    source, tenth = Rows(a=[row(0)]), [*[row(0)] * 990, *["{"] * 10]
    limit = RowShare(Decimal(1))
    for _ in range(30):
        with start(source, max_bad=limit) as monitor:
            monitor.step()
            for _ in range(1 if restarts else 30):
                source.add("a", *tenth)
                monitor.step()
        if not restarts:
            break
    source.add("a", *["{"] * 2)
    for _ in range(2):
        with (
            start(source, max_bad=limit) as monitor,
            pytest.raises(se.BadDataError, match=r"102 of the last 10,002 rows are bad; "),
        ):
            monitor.step()


def test_share_of_bad_rows_forgets_those_of_an_older_checkpoint(start, monkeypatch):
    source = Rows(a=[row(0), *["{"] * 10])
    with monkeypatch.context() as older:
        older.setattr(Screening, "to_json", lambda _: None)
        with start(source, max_bad=10) as monitor:
            monitor.step()
    source.add("a", *["{"] * 10)
    with start(source, max_bad=RowShare(Decimal(1))) as monitor:
        assert monitor.step().n_rows == 0


def test_only_the_first_bad_rows_are_named(start):
    with start(Rows(a=[row(0), *["{"] * 9]), max_bad=10) as monitor:
        assert len(monitor.step().notes) == 5


def test_monitor_is_closed_after_an_error(start):
    source = Rows(a=["{"])
    monitor = start(source)
    with pytest.raises(se.BadDataError):
        monitor.step()
    assert source.is_closed
    with pytest.raises(se.InvalidInputError, match="`monitor` is closed"):
        monitor.step()
    monitor.close()


def test_first_rows_of_which_none_can_be_read_are_named(start):
    source = Rows(a=["{"] * 70)
    refused = pytest.raises(se.BadDataError, match="rows: none of the first rows can be counted")
    with start(source, max_bad=100, read_bytes=1) as monitor, refused:
        monitor.step()


def test_first_rows_may_come_after_bad_ones(start):
    source = Rows(a=["{", "{"])
    with start(source, max_bad=2, read_bytes=1) as monitor:
        assert monitor.step().n_rows == 0
        source.add("a", row(0))
        assert monitor.step().n_rows == 1
        assert monitor.status().counters == {"unreadable": 2}


def test_warnings_of_sources_are_passed_on(start):
    source = Rows(a=[row(0)])
    source.said = ["app.log: was truncated."]
    with start(source) as monitor:
        assert monitor.step().notes == ("app.log: was truncated.",)
        assert monitor.step().notes == ()


def test_run_yields_steps_until_it_is_stopped(start):
    with start(Rows(a=[row(0)])) as monitor:
        for number, _ in enumerate(monitor.run(poll=0.001)):
            if number == 2:
                monitor.stop()
        assert number == 2


def test_handler_of_signals_may_stop_wherever_run_waits(start):
    """A profiler is called where a handler would be: at every call, locks held or not."""
    with start(Rows(a=[row(0)])) as monitor:

        def follow():
            for _ in monitor.run(poll=1000):
                sys.setprofile(lambda *_: monitor.stop())
            sys.setprofile(None)

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        thread.join(60)
        assert not thread.is_alive()


def test_pages_see_the_commit_without_a_copy(start, monkeypatch):
    source = Rows(a=[row(0), row(90)])
    with start(source) as monitor:
        monitor.step()
        with monitor.serve(":0"), monkeypatch.context() as patch:
            [page] = monitor._pages
            source.add("a", row(180))
            patch.setattr(se.Windowed, "copy", None)
            monitor.step()
        seen = page._snapshot
        assert seen.windowed == monitor.windowed
        assert seen.windowed.total() == monitor.windowed.total()
        assert seen.windowed.n == 3


def test_close_lets_the_checkpoint_go_when_the_wait_for_deliveries_fails(start, monkeypatch):
    def interrupted(*_):
        raise RuntimeError("interrupted")

    monitor = start(Rows(a=[row(0)]), on_alert=print)
    monkeypatch.setattr("streameval.monitoring.delivery.Outbox.flush", interrupted)
    with pytest.raises(RuntimeError, match="interrupted"):
        monitor.close()
    monitor.close()
    start(Rows()).close()


@pytest.mark.parametrize("use", ["step", "reload", "serve"])
def test_a_process_that_inherits_a_monitor_cannot_use_it(use, start, monkeypatch):
    """Both would count the same rows, under one lock."""
    monitor = start(Rows(a=[row(0)]))
    with monkeypatch.context() as child:
        child.setattr("os.getpid", lambda: -1)
        child.setattr(monitor, "_busy", None)  # a thread that was not copied may hold it
        with pytest.raises(se.InvalidInputError, match=r"^`monitor` belongs to process \d+, "):
            getattr(monitor, use)()
    with monitor:
        monitor.step()
    assert monitor.status().n_rows == 1


def test_a_process_that_inherits_a_monitor_ends_silently(start, monkeypatch):
    told = []
    monitor = start(Rows(a=[row(0)]), on_alert=told.append)
    with monkeypatch.context() as child:
        child.setattr("os.getpid", lambda: -1)
        child.setattr(monitor, "_busy", None)
        with pytest.raises(SystemExit), monitor:
            raise SystemExit
    with monitor:
        monitor.step()
    assert (monitor.status().n_rows, told) == (1, [])


def test_close_waits_for_the_step_that_is_running(start):
    """SQLite crashes the process if a connection is closed while another thread uses it."""
    begun, finish, closed = threading.Event(), threading.Event(), threading.Event()

    class Slow(Rows):
        def read(self, limit):
            begun.set()
            finish.wait(60)
            return super().read(limit)

    monitor = start(Slow(a=[row(0)]))

    def close():
        monitor.close()
        closed.set()

    stepping = threading.Thread(target=monitor.step, daemon=True)
    stepping.start()
    begun.wait(60)
    closing = threading.Thread(target=close, daemon=True)
    closing.start()
    assert not closed.wait(0.1)
    finish.set()
    stepping.join(60)
    assert closed.wait(60)
    assert monitor.status().n_rows == 1


def test_close_does_nothing_more_when_another_has_closed_meanwhile(start, monkeypatch):
    times = []

    def closed_by_another(*_):
        times.append(1)
        if len(times) == 2:
            return []
        monitor.close()
        return [name]

    source = Rows(a=[row(0)])
    monitor = start(source, on_alert=print)
    name = f"an event@{monitor._delivery.to_json()['receivers'][0]}"
    monitor._delivery.note_committed([(name, {})])
    monkeypatch.setattr("streameval.monitoring.delivery.Outbox.flush", closed_by_another)
    monkeypatch.setattr("streameval.monitoring.delivery.Outbox.deliver", lambda *_: [])
    closed = []
    monkeypatch.setattr(source, "close", lambda: closed.append(source))
    monitor.close()
    assert closed == [source]
    start(Rows()).close()


def test_close_closes_all_when_a_source_raises(start):
    class Stuck(Rows):
        def close(self):
            raise OSError("stuck")

    labels = Rows("labels", a=[])
    monitor = start(Stuck(a=[row(0)]), labels=labels, key="id", wait="1m")
    with pytest.raises(OSError, match="stuck"):
        monitor.close()
    assert labels.is_closed
    start(Rows()).close()


def test_run_ends_with_its_sources(start):
    source = Rows(a=[row(0), row(1)])
    source.is_at_end = True
    with start(source, commit_bytes=1) as monitor:
        assert [step.n_rows for step in monitor.run()] == [2, 0]


def test_second_monitor_is_refused(start):
    with start(Rows()), pytest.raises(se.BadDataError, match="another monitor holds"):
        start(Rows())


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"out_of_order": "1s"}, "`out_of_order` differs"),
        ({"allowed_lateness": "1s"}, "`allowed_lateness` differs"),
        ({"columns": {"y_pred": "y_true"}}, "`columns` differs"),
        ({"source": Rows("others")}, '`predictions` differs .*"rows" then, "others" now'),
        ({"accumulator": windowed(pane="2m")}, "cannot continue: `pane` differs"),
    ],
)
def test_changed_options_are_refused(start, options, named):
    with start(Rows(a=[row(0)])) as monitor:
        monitor.step()
    source = options.pop("source", Rows())
    with pytest.raises(se.IncompatibleStateError, match=named):
        start(source, **options)
    start(Rows()).close()


def by_country(*values, max_values=3):
    return se.Windowed(
        se.Sliced(se.ConfusionAccumulator(), "country", values=values, max_values=max_values),
        pane="1m",
        unit="s",
    )


def from_countries(first, stop):
    return [
        row(at, [0, 1, None][at % 3], country=["DE", "FR"][at % 2]) for at in range(first, stop)
    ]


@pytest.mark.parametrize(
    ("slices", "others"), [(["DE", "FR"], {}), (["FR", "IT"], {"allowed_lateness": "5m"}), ([], {})]
)
def test_migrated_checkpoint_is_that_of_the_new_options(start, slices, others):
    with start(Rows(a=from_countries(0, 150)), by_country("DE")) as monitor:
        monitor.step()
    rows = Rows(a=from_countries(0, 300))
    with start(rows, by_country(*slices), migrate=True, **others) as monitor:
        assert monitor.step().n_rows == 150
    expected = counted(from_countries(0, 300), by_country(*slices))
    with start(rows, by_country(*slices), **others) as monitor:
        assert monitor.step().n_rows == 0
        assert monitor.windowed.to_bytes() == expected.to_bytes()


def test_migration_of_lateness_reports_every_pane_once(start):
    source = Rows(a=[row(0), row(61), row(125)])
    with start(source) as monitor:
        assert len(monitor.step().closed) == 2
    source.add("a", row(181), row(241), row(301))
    with start(source, allowed_lateness="2m", migrate=True) as monitor:
        assert [pane.n_rows for pane in monitor.step().closed] == [1]
    with start(source, allowed_lateness="0s", migrate=True) as monitor:
        assert [pane.n_rows for pane in monitor.step().closed] == [1, 1]
        assert monitor.windowed.n == 6


def test_refused_migration_leaves_the_checkpoint(start):
    with start(Rows(a=from_countries(0, 150)), by_country("DE", max_values=1)) as monitor:
        monitor.step()
    with pytest.raises(se.IncompatibleStateError, match="cannot continue: `values` would need"):
        start(Rows(), by_country("DE", "FR"), migrate=True)
    with pytest.raises(se.IncompatibleStateError, match="cannot continue: `out_of_order` differs"):
        start(Rows(), by_country("DE", max_values=1), migrate=True, out_of_order="1s")
    with start(Rows(), by_country("DE", max_values=1), migrate=True) as monitor:
        assert monitor.windowed.n == 100


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"accumulator": se.ConfusionAccumulator()}, "`accumulator` must be a Windowed"),
        ({"accumulator": counted([row(0)])}, "`accumulator` must have counted nothing"),
        (
            {"accumulator": se.Windowed(se.RankingAccumulator(), pane="1m")},
            "`accumulator` cannot count rankings",
        ),
        ({"columns": {"x": "y"}}, "`columns` must be for y_true, y_pred, .*got 'x'"),
        ({"columns": ["y_true"]}, "`columns` must map arguments to columns, got list"),
        ({"columns": {"y_true": 1}}, "`columns` must map names to names, got 1 for 'y_true'"),
        ({"out_of_order": "-1s"}, "`out_of_order` must be at least 0s"),
        (
            {"out_of_order": "20000000d"},
            "`out_of_order` must be at least 0s and below 36,000 years, got '20000000d'",
        ),
        ({"out_of_order": None}, "`out_of_order` must be a duration"),
        (
            {
                "accumulator": se.Windowed(se.ConfusionAccumulator(), pane=10),
                "allowed_lateness": 2**60,
            },
            r"`allowed_lateness` must be an integer, .* of at least 0 and below 2\*\*60, got",
        ),
        ({"max_ahead": "soon"}, "`max_ahead` must be a duration"),
        ({"time": 1}, "`time` must be the name of a column, got 1"),
        ({"key": 1}, "`key` must be the name of a column, got 1"),
        ({"label_time": ["t"]}, r"`label_time` must be the name of a column, got \['t'\]"),
        ({"unlabelled": {1}}, "`unlabelled` must be a label, got {1}"),
        ({"alerts": None}, "`alerts` must be a list of rules, got None"),
        ({"quarantine": 1}, "`quarantine` must be a path, got 1"),
        ({"quarantine": "a\0b"}, "`quarantine` must be a path, got"),
        ({"quarantine": pathlib.Path("a\0b")}, "`quarantine` must be a path, got"),
        ({"read_bytes": 0}, "`read_bytes` must be an integer of at least 1, got 0"),
        ({"read_bytes": 2**60}, "`read_bytes` must be at most 1,073,741,824, got"),
        ({"clock": 3}, "`clock` must be a function that returns seconds since 1970, got 3"),
        ({"output": 3}, "`output` must have `path`, `restore` and `write`, got 3"),
        ({"clock": lambda: "now"}, "`clock` must be a function .*, got 'now'"),
        ({"clock": lambda: float("nan")}, "`clock` must be a function .*, got nan"),
        ({"key": "id"}, "`key` needs `labels`"),
        ({"wait": "1h"}, "`wait` needs `labels`"),
        ({"alerts": ["late labels > 1%"]}, "`alerts` 'late labels > 1%' needs `labels`"),
        ({"settle": "1h"}, "`settle` needs `labels`"),
        ({"unlabelled": 0}, "`unlabelled` needs `labels`"),
        ({"label_time": "t"}, "`label_time` needs `labels`"),
        ({"labels": Rows(), "wait": "1h"}, "`labels` needs `key`"),
        ({"labels": Rows(), "key": "id"}, "`labels` needs `wait`"),
        ({"labels": Rows(), "key": "id", "wait": "0s"}, "`wait` must be longer than zero"),
    ],
)
def test_wrong_options_are_refused(start, options, message):
    accumulator = options.pop("accumulator", None)
    with pytest.raises(se.InvalidInputError, match=message):
        start(Rows(), accumulator, **options)


@each("name", [None, 3, b"ck.db", "a\0b", "\ud800"])
def test_a_checkpoint_that_is_no_path_is_refused(name):
    with pytest.raises(se.InvalidInputError, match="`checkpoint` must be a path, got"):
        se.Monitor(name, windowed(), predictions=Rows(), time="ts")


def test_missing_column_is_named(start):
    refused = pytest.raises(se.InvalidInputError, match="`y_pred` is missing: the first rows have")
    with start(Rows(a=[{"ts": START, "y_true": 1}])) as monitor, refused:
        monitor.step()


def test_columns_may_have_other_names(start):
    source = Rows(a=[{"ts": START, "truth": 1, "guess": 1}])
    with start(source, columns={"y_true": "truth", "y_pred": "guess"}) as monitor:
        monitor.step()
        assert monitor.windowed.n == 1


def test_panes_may_be_steps(start):
    accumulator = se.Windowed(se.ConfusionAccumulator(), pane=10, time="step")
    rows = [{"ts": at, "y_true": 1, "y_pred": 1} for at in (0, 9, 25, 10**12)]
    with start(Rows(a=rows), accumulator, out_of_order=5, allowed_lateness=3) as monitor:
        step = monitor.step()
        assert [(pane.start, pane.end) for pane in step.closed] == [(0, 10), (20, 30)]
        assert monitor.status().watermark == 10**12 - 5


@pytest.mark.parametrize("value", ["1s", True, -1])
def test_spans_of_steps_are_integers(start, value):
    accumulator = se.Windowed(se.ConfusionAccumulator(), pane=10)
    with pytest.raises(se.InvalidInputError, match="`out_of_order` must be an integer, as the"):
        start(Rows(), accumulator, out_of_order=value)


def test_alerts_are_part_of_the_commit(start):
    source = Rows(a=[row(0, 0), row(61)])
    options = {"alerts": ["accuracy < 0.5, n >= 1"]}
    with start(source, **options) as monitor:
        (event,) = monitor.step().events
        assert (event.state, event.value) == ("firing", 0.0)
        assert [alert.state for alert in monitor.snapshot().alerts] == ["firing"]
    with start(source, **options) as monitor:
        assert [alert.state for alert in monitor.snapshot().alerts] == ["firing"]
        assert monitor.step().events == ()
        source.add("a", row(122))
        assert [event.state for event in monitor.step().events] == ["resolved"]


def test_alerts_may_change_between_runs(start):
    source = Rows(a=[row(0, 0), row(61)])
    with start(source, alerts=["accuracy < 0.5, n >= 1"]) as monitor:
        monitor.step()
    with start(source) as monitor:
        assert [event.state for event in monitor.step().events] == ["resolved"]
        assert monitor.step().events == ()


def test_silence_is_noticed_without_rows(start):
    clock = Clock()
    with start(Rows(a=[row(0)]), clock=clock, alerts=["no data for 10m"]) as monitor:
        assert monitor.step().events == ()
        clock.now += 601
        assert [event.state for event in monitor.step().events] == ["firing"]
        assert monitor.status().number == 2


def test_events_are_delivered_after_their_commit(start):
    got = []
    options = {"alerts": ["accuracy < 0.5, n >= 1"], "on_alert": got.append}
    with start(Rows(a=[row(0, 0), row(61)]), **options) as monitor:
        (event,) = monitor.step().events
    assert got == [event.to_json()]
    with start(Rows(), **options) as monitor:
        monitor.step()
    assert got == [event.to_json()]


def test_events_that_were_not_delivered_come_again(start, tmp_path):
    def refuse(event):
        raise OSError("down")

    rules = {"alerts": ["accuracy < 0.5, n >= 1"]}
    monitor = start(Rows(a=[row(0, 0), row(61)]), on_alert=refuse, **rules)
    (event,) = monitor.step().events
    monitor.close()
    got = []
    start(Rows(), on_alert=got.append, **rules).close()
    assert [one["id"] for one in got] == [event.id]


@pytest.mark.parametrize("second", ["https://hooks.example.org/a", "cat"])
def test_receiver_given_twice_is_refused(start, second):
    with pytest.raises(InvalidInputError, match=r"on_alert.* names the same receiver twice"):
        start(Rows(), on_alert=[second, print, second])


def test_each_of_several_receivers_gets_every_event_on_its_own(start):
    one, two = [], []

    def refuse(event):
        raise OSError("down")

    rules = {"alerts": ["accuracy < 0.5, n >= 1"]}
    monitor = start(Rows(a=[row(0, 0), row(61)]), on_alert=[one.append, refuse], **rules)
    (event,) = monitor.step().events
    monitor.close()
    assert [got["id"] for got in one] == [event.id]
    # one.append has its own; what was refused goes to the receivers that are new
    start(Rows(), on_alert=[one.append, two.append, print], **rules).close()
    assert [got["id"] for got in one] == [event.id]
    assert [got["id"] for got in two] == [event.id]
    start(Rows(), on_alert=[one.append, two.append, print], **rules).close()
    assert [len(one), len(two)] == [1, 1]


@pytest.mark.parametrize("stays", [True, False])
def test_undelivered_events_of_a_removed_receiver(start, stays):
    """Receivers that stay had the events; without any, the events wait for the next one."""
    got = []

    def refuse(event):
        raise OSError("down")

    rules = {"alerts": ["accuracy < 0.5, n >= 1"]}
    monitor = start(Rows(a=[row(0, 0), row(61)]), on_alert=[print, refuse], **rules)
    monitor.step()
    monitor.close()
    start(Rows(), on_alert=[print] if stays else None, **rules).close()
    start(Rows(), on_alert=[print, got.append], **rules).close()
    assert len(got) == (not stays)


def test_undelivered_events_of_an_older_release_go_to_every_receiver(start, tmp_path):
    def refuse(event):
        raise OSError("down")

    rules = {"alerts": ["accuracy < 0.5, n >= 1"]}
    monitor = start(Rows(a=[row(0, 0), row(61)]), on_alert=refuse, **rules)
    (event,) = monitor.step().events
    monitor.close()
    with closing(sqlite3.connect(tmp_path / "ck.db")) as base, base:
        base.execute("UPDATE outbox SET id = ?", (event.id,))
        base.execute("DELETE FROM meta WHERE name = 'state.delivery'")
    one, two = [], []
    start(Rows(), on_alert=[one.append, two.append], **rules).close()
    start(Rows(), on_alert=[one.append, two.append], **rules).close()
    assert [[got["id"] for got in each] for each in (one, two)] == [[event.id], [event.id]]


LOW = {"rule": "accuracy < 0.5, n >= 1", "name": "low", "severity": "page"}


def test_events_go_to_the_receivers_that_take_them(start):
    paged, told, unresolved = [], [], []
    receivers = [
        {"to": paged.append, "severity": "page"},
        {"to": told.append, "severity": ["ticket"]},
        {"to": unresolved.append, "resolved": False},
    ]
    alerts = [LOW | {"labels": {"team": "a"}}, {"rule": "accuracy < 0.9 over 1m"}]
    alerts.append({"rule": "no data for 1d", "severity": "ticket"})
    source = Rows(a=[row(0, 0), row(61), row(122)])
    with start(source, alerts=alerts, on_alert=receivers) as monitor:
        monitor.step()
    assert [(one["name"], one["severity"], one["labels"], one["state"]) for one in paged] == [
        ("low", "page", {"team": "a"}, "firing"),
        ("low", "page", {"team": "a"}, "resolved"),
    ]
    assert told == []
    assert [(one.get("name"), one["state"]) for one in unresolved] == [
        *(("low", "firing"), (None, "firing")),
    ]


@pytest.mark.parametrize("later", [[LOW["rule"]], [LOW | {"severity": "ticket"}], []])
def test_end_of_an_alert_is_told_to_those_who_got_its_beginning(start, later):
    got = []
    page = {"to": got.append, "severity": "page"}
    ticket = {"rule": "no data for 1d", "severity": "page"}
    with start(Rows(a=[row(0, 0), row(61)]), alerts=[LOW, ticket], on_alert=[page]) as monitor:
        monitor.step()
    source = Rows(a=[row(0, 0), row(61), row(122)])
    with start(source, alerts=[*later, ticket], on_alert=[page]) as monitor:
        monitor.step()
    assert [(one["name"], one["state"]) for one in got] == [("low", "firing"), ("low", "resolved")]


def test_undelivered_event_moves_to_a_new_receiver_that_takes_it(start):
    def refuse(event):
        raise OSError("down")

    one, two = [], []
    rules = {"alerts": [LOW, {"rule": "no data for 1d", "severity": "ticket"}]}
    monitor = start(Rows(a=[row(0, 0), row(61)]), on_alert=refuse, **rules)
    monitor.step()
    monitor.close()
    receivers = [
        {"to": one.append, "severity": "page"},
        {"to": two.append, "severity": "ticket"},
    ]
    start(Rows(), on_alert=receivers, **rules).close()
    assert ([event["name"] for event in one], two) == (["low"], [])


def test_checkpoint_says_nothing_of_tables_of_rules_that_are_not_used(start, tmp_path):
    def alerts():
        with closing(sqlite3.connect(tmp_path / "ck.db")) as base:
            query = "SELECT value FROM meta WHERE name = 'state.alerts'"
            (state,) = json.loads(base.execute(query).fetchone()[0]).values()
        return state.keys()

    source = Rows(a=[row(0, 0), row(61)])
    with start(source, alerts=[LOW["rule"]]) as monitor:
        monitor.step()
    assert alerts() == {"state", "since", "alert", "until", "run"}


@each(
    ("alert", "why"),
    [
        ({"rule": "accuracy < 0.5", "sevrity": "page"}, "has no key 'sevrity': did you mean 'seve"),
        ({"name": "low"}, "is a table without the key 'rule'"),
        ({"rule": "accuracy < 0.5", "name": 3}, "needs text as 'name'"),
        ({"rule": "accuracy < 0.5", "links": {"runbook": 3}}, "needs a table of URLs as 'links'"),
        ({"rule": "accuracy < 0.5", "labels": "a"}, "needs a table of texts as 'labels'"),
        ({"rule": "accuracy <"}, "'accuracy <' is not a rule: expected a finite number"),
    ],
)
def test_mistake_in_the_table_of_a_rule_is_named(start, alert, why):
    with pytest.raises(InvalidInputError, match=re.escape(why)):
        start(Rows(), alerts=[alert])


def test_rule_with_two_meanings_is_refused(start):
    again = LOW | {"severity": "ticket"}
    start(Rows(), alerts=[LOW, LOW]).close()
    with pytest.raises(InvalidInputError, match="twice, with different keys"):
        start(Rows(), alerts=[LOW, again])
    with pytest.raises(InvalidInputError, match="must be a list of rules"):
        start(Rows(), alerts=LOW)


def test_route_of_a_slice_without_alerts_is_refused(start):
    def begin(slices):
        source = Rows(a=[row(0, country="DE"), row(61, country="DE")])
        sliced = windowed(se.Sliced(se.ConfusionAccumulator(), "country", values=["DE"]))
        route = {"to": print, "slices": slices}
        with start(source, sliced, alerts=[LOW], on_alert=[route]) as monitor:
            monitor.step()

    begin(["all", "country=DE"])
    with pytest.raises(InvalidInputError, match=r"slice \{country=FR\}, about which there"):
        begin(["country=FR"])


def test_rows_of_any_type_are_kept_as_json(start):
    rows = [row(0, when={"a": [1, None]}), row(61)]
    with start(Rows(a=rows)) as monitor:
        monitor.step()
    with start(Rows(a=rows)) as monitor:
        assert monitor.windowed.n == 2


def test_first_rows_keep_their_types_as_json():
    value = {"a": [Decimal("1.5"), date(2026, 1, 2), None, "x"]}
    assert row_to_json(value) == {"a": [1.5, "2026-01-02", None, "x"]}


def test_panes_are_reported_although_one_commit_could_move_them_out_of_what_is_kept(start):
    source = Rows(a=[row(60 * minute) for minute in range(-400, 0)])
    closed = []
    with start(source, windowed(keep="30m"), read_bytes=1) as monitor:
        for step in monitor.run():
            closed += step.closed
            assert not step.notes
            if step.is_idle:
                break
    assert [str(pane.start) for pane in closed] == [
        str(np.datetime64(START + 60 * minute, "s").astype("M8[us]")) for minute in range(-400, -1)
    ]


def test_panes_that_one_read_moves_out_of_what_is_kept_are_noted(start):
    rows = [row(60 * minute) for minute in range(-400, 0)]
    with start(Rows(a=rows), windowed(keep="30m"), read_bytes=10_000) as monitor:
        step = monitor.step()
        (note,) = step.notes
        assert note.startswith("panes before 2023-11-14T18:")
        assert note.endswith(
            "left `keep` within one step and were not reported; their rows are counted"
        )
        assert monitor.windowed.total().n == step.n_rows > 100


@pytest.mark.parametrize(
    ("options", "rollups"), [({"allowed_lateness": "5m"}, ()), ({"out_of_order": "5m"}, ())]
)
def test_panes_must_be_kept_until_they_are_mature(start, options, rollups):
    short = windowed(keep="5m", rollups=rollups)
    with (
        start(Rows(a=[row(0)]), short, **options) as monitor,
        pytest.raises(se.InvalidInputError, match="`keep` must be longer"),
    ):
        monitor.step()
    rolled = windowed(keep="5m", rollups=[("10m", None)])
    with start(Rows(a=[row(0)]), rolled, **options) as monitor:
        assert monitor.step().n_rows == 1


def test_options_are_checked(start):
    for name in ("read_bytes", "commit_bytes", "max_pending"):
        with pytest.raises(se.InvalidInputError, match=f"`{name}` must be"):
            start(Rows(), **{name: 0})
    with pytest.raises(se.InvalidInputError, match="`alerts` must be a list of rules"):
        start(Rows(), alerts="accuracy < 0.9")


def test_what_is_shown_before_the_first_row_is_a_copy(start):
    with start(Rows()) as monitor:
        monitor.windowed.update({"y_true": [1], "y_pred": [1], "time": [START]})
        assert monitor.windowed.newest is None


def test_monitor_may_be_used_by_another_thread(start):
    source = Rows(a=[row(0), row(70)])
    monitor = start(source)
    thread = threading.Thread(target=monitor.step)
    thread.start()
    thread.join()
    assert monitor.snapshot().status.n_rows == 2
    closing = threading.Thread(target=monitor.close)
    closing.start()
    closing.join()
    start(source).close()


@pytest.mark.parametrize("lost", ["ck.db", "ck.db-lock"])
def test_checkpoint_that_is_deleted_is_noticed_before_rows_are_read(start, tmp_path, lost):
    source = Rows(a=[row(0)])
    monitor = start(source)
    monitor.step()
    (tmp_path / lost).unlink()
    with pytest.raises(se.BadDataError, match=r"ck\.db: was deleted or replaced while a monitor"):
        monitor.step()


def test_checkpoint_that_is_replaced_is_noticed(start, tmp_path):
    monitor = start(Rows(a=[row(0)]))
    monitor.step()
    copy = (tmp_path / "ck.db").read_bytes()
    (tmp_path / "ck.db").unlink()
    (tmp_path / "ck.db").write_bytes(copy)
    with pytest.raises(se.BadDataError, match="was deleted or replaced"):
        monitor.step()


@pytest.mark.parametrize("source", ["", "*", "ck.*", "ck.db-*", "ck.db", "../*/ck.d?", "**/*"])
def test_checkpoint_among_the_files_that_are_read_is_refused(start, tmp_path, source):
    with pytest.raises(se.InvalidInputError, match="`checkpoint` must not be among the files"):
        start(str(tmp_path / source))
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("source", ["-", "*.jsonl", "other/*"])
def test_checkpoint_beside_the_files_that_are_read_is_taken(start, tmp_path, source):
    start(str(tmp_path / source) if source != "-" else source).close()
    assert (tmp_path / "ck.db").is_file()


def many_panes(n_panes):
    return [row(60 * at) for at in range(n_panes + 1)]


@pytest.mark.parametrize("n_first", [1, 3, 100])
def test_panes_are_closed_once_and_in_order_however_many_a_step_may_close(
    start, monkeypatch, n_first
):
    monkeypatch.setattr("streameval.monitoring.closing._FIRST_CLOSED", n_first)
    source = Rows(a=many_panes(20))
    kept = windowed(keep="4h")
    with start(source, kept, alerts=["accuracy > 2, n >= 1"]) as monitor:
        panes = [pane for step in until_idle(monitor) for pane in step.closed]
        assert [pane.start for pane in panes] == [*np.unique([pane.start for pane in panes])]
        assert len(panes) == 20
        source.add("a", *many_panes(10))
        revised = [pane for step in until_idle(monitor) for pane in step.closed]
    assert [pane.start for pane in revised] == [pane.start for pane in panes[:11]]
    assert all(pane.is_revised for pane in revised)


def until_idle(monitor):
    while True:
        step = monitor.step()
        yield step
        if step.is_idle:
            return


def test_panes_that_are_not_yet_reported_are_after_a_restart(start, monkeypatch):
    monkeypatch.setattr("streameval.monitoring.closing._FIRST_CLOSED", 2)
    source, kept = Rows(a=many_panes(5)), windowed(keep="4h")
    starts = []
    with start(source, kept) as monitor:
        starts += [pane.start for step in until_idle(monitor) for pane in step.closed]
    source.add("a", *many_panes(5))
    while True:
        with start(source, kept) as monitor:
            step = monitor.step()
        starts += [pane.start for pane in step.closed]
        if step.is_idle:
            break
    assert [*map(starts.count, sorted({*starts}))] == [2] * 5


def test_more_panes_are_closed_in_a_step_while_steps_are_short(start, monkeypatch):
    for is_long, pace in ((False, [1, 2, 4, 4, 4]), (True, [4, 2, 1, 1, 1])):
        with monkeypatch.context() as patch, start(Rows(a=many_panes(60))) as monitor:
            patch.setattr("streameval.monitoring.closing._FIRST_CLOSED", pace[0])
            patch.setattr("streameval.monitoring.closing._MAX_CLOSED", 4)
            patch.setattr("streameval.monitoring.closing._LONG", -1 if is_long else 1e9)
            patch.setattr("streameval.monitoring.closing._SHORT", -1 if is_long else 1e9)
            assert [len(monitor.step().closed) for _ in pace] == pace
        monitor._checkpoint.close()
        for path in pathlib.Path(monitor._name).parent.iterdir():
            path.unlink()


def test_stop_ends_a_step_after_the_next_read(start):
    with start(Rows(a=[row(at) for at in range(100)]), read_bytes=1) as monitor:
        monitor.stop()
        step = monitor.step()
        assert (step.n_rows, step.is_idle) == (1, False)


def test_rules_are_checked_before_the_first_row(start):
    with pytest.raises(se.InvalidInputError, match=r"no metric 'acuracy': did you mean 'accuracy'"):
        start(Rows(), alerts=["acuracy < 0.5"])


def test_new_receiver_is_told_of_alerts_that_began_before(start):
    rules = {"alerts": ["accuracy < 0.5, n >= 1"]}
    source, got = Rows(a=[row(0, 0), row(61)]), []
    with start(source, **rules) as monitor:
        (begun,) = monitor.step().events
    with start(source, on_alert=got.append, **rules) as monitor:
        monitor.step()
    source.add("a", row(122))
    with start(source, on_alert=got.append, **rules) as monitor:
        (ended,) = monitor.step().events
    assert json.dumps(got) == json.dumps([begun.to_json(), ended.to_json()])


def test_new_receiver_is_not_told_of_alerts_that_are_over(start):
    rules = {"alerts": ["accuracy < 0.5, n >= 1"]}
    source, got = Rows(a=[row(0, 0), row(61)]), []
    with start(source, **rules) as monitor:
        monitor.step()
    source.add("a", row(122))
    with start(source, **rules) as monitor:
        assert [event.state for event in monitor.step().events] == ["resolved"]
    with start(source, on_alert=got.append, **rules) as monitor:
        monitor.step()
    assert got == []


def test_receiver_that_comes_back_is_told_of_the_end(start):
    rules = {"alerts": ["accuracy < 0.5, n >= 1"]}
    source, got = Rows(a=[row(0, 0), row(61)]), []
    with start(source, on_alert=got.append, **rules) as monitor:
        monitor.step()
    source.add("a", row(122))
    with start(source, **rules) as monitor:
        monitor.step()
    with start(source, on_alert=got.append, **rules) as monitor:
        monitor.step()
    assert [event["state"] for event in got] == ["firing", "resolved"]


def test_stop_ends_the_wait_for_servers(tmp_path, monkeypatch):
    kafka = FakeKafka(failure=Error("_TRANSPORT")).install(monkeypatch)
    monitor = se.Monitor(
        tmp_path / "ck.db",
        windowed(),
        predictions="kafka://broker/clicks",
        labels="kafka://broker/labels",
        key="id",
        wait="1m",
        time="ts",
    )
    kafka.wait = lambda _: monitor.stop()
    with monitor:
        steps = list(monitor.run())
    assert [(step.is_idle, step.is_waiting) for step in steps] == [(True, True)]
    assert kafka.n_asked == 2
    assert kafka.n_open == 0


def test_log_ahead_of_the_clock_waits_for_it(start):
    rows = [row(at, at % 2) for at in range(600)]
    clock = Clock(START - 7200.0)
    source = Rows(a=rows)
    with start(source, clock=clock, alerts=["no data for 1h"]) as monitor:
        step = monitor.step()
        assert (step.n_rows, step.is_idle) == (0, True)
        (note,) = step.notes
        assert note.startswith(
            "rows up to 2023-11-14T22:22:59.000000 are not read yet: by the clock"
        )
        assert str(monitor.status().waits_for) == "2023-11-14T22:22:59.000000"
        clock.now += 3600
        assert monitor.step().notes == ()
        assert monitor.status().n_rows == 0
        source.add("a", *(row(at, at % 2) for at in range(600, 700)))
    with start(source, clock=clock) as monitor:
        assert monitor.status().waits_for is None
        monitor.step()
        assert monitor.status().waits_for is not None
        clock.now += 600 + 100
        assert monitor.step().n_rows == 700
        assert monitor.status().waits_for is None
        assert monitor.status().counters == {}


@pytest.mark.slow
@pytest.mark.parametrize("read_bytes", [1, 500, 10**6])
def test_log_that_comes_up_to_the_clock_waits_there(start, read_bytes):
    source = Rows(a=[row(at, at % 2) for at in range(0, 7200, 10)])
    clock = Clock(START + 0.0)
    with start(source, clock=clock, read_bytes=read_bytes) as monitor:
        n_rows = 0
        while not (step := monitor.step()).is_idle:
            n_rows += step.n_rows
        assert n_rows + step.n_rows <= 361
        while monitor.status().waits_for is not None:
            clock.now += 20
            while not monitor.step().is_idle:
                pass
            assert monitor.status().n_rows <= (clock.now + 3600 - START) / 10 + 1
        assert (monitor.status().n_rows, monitor.status().n_bad) == (720, 0)


@pytest.mark.parametrize("read_bytes", [1, 10**6])
@pytest.mark.parametrize("at", [0, 1, 30, 59])
def test_row_of_the_far_future_stops_no_log(start, at, read_bytes):
    rows = [row(second) for second in range(60)]
    rows.insert(at, {**row(0), "ts": IN_2099})
    source = Rows(a=rows, b=[row(second) for second in range(60)])
    with start(source, max_bad=1, read_bytes=read_bytes) as monitor:
        while not monitor.step().is_idle:
            pass
        assert (monitor.status().n_rows, monitor.status().counters) == (120, {"future": 1})


@pytest.mark.parametrize("n_others", [1, 100])
def test_lone_row_of_the_far_future_waits_for_others(start, n_others):
    source = Rows(a=[{**row(0), "ts": IN_2099}])
    with start(source, max_bad=1, read_bytes=1) as monitor:
        monitor.step()
        assert monitor.status().waits_for is not None
        source.add("b", *(row(at) for at in range(n_others)))
        while not monitor.step().is_idle:
            pass
        assert monitor.status().n_rows == n_others
        assert (monitor.status().waits_for, monitor.status().counters) == (None, {"future": 1})


def test_partition_that_waits_for_the_clock_is_not_let_go(start):
    clock = Clock(START + 0.0)
    source = Rows(a=[row(0), row(61)], b=[row(1), row(2)])
    with start(source, clock=clock, idle_after="1m") as monitor:
        monitor.step()
        source.add("b", *(row(at) for at in range(60, 4000, 60)))
        monitor.step()
        clock.now += 90
        assert monitor.step().closed == ()
        assert monitor.status().waits_for is not None


def test_source_at_its_end_is_followed_until_its_rows_are_read(start):
    clock = Clock(START - 7200.0)
    source = Rows(a=[row(at) for at in range(20)])
    source.is_at_end = True
    with start(source, clock=clock) as monitor:
        n_rows = []
        for step in monitor.run(poll=0.0):
            n_rows.append(step.n_rows)
            clock.now += 3600
        assert n_rows == [0, 0, 20]
