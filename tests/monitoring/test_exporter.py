"""The path that Prometheus scrapes, beside the live page."""

import json
import re
import sys
import urllib.error
import urllib.request

import pytest
from monitoring.memory import Clock, Rows
from waiting import until

import streameval as se
from streameval.monitoring.quarantine import REASONS
from streameval.monitoring.status import Pace, memory_of_process

START = 1_699_999_980


@pytest.fixture
def monitor(tmp_path):
    rows = [{"ts": START + 10 * i, "y_true": 1, "y_pred": i % 2} for i in range(20)]
    windowed = se.Windowed(se.ConfusionAccumulator(), pane="1m", unit="s")
    source = Rows(a=rows)
    with se.Monitor(
        tmp_path / "ck.db", windowed, predictions=source, time="ts", clock=Clock()
    ) as made:
        yield made


def scraped(server, accept="*/*"):
    request = urllib.request.Request(f"{server.url}metrics", headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=30) as response:
        return response.headers["Content-Type"], response.read().decode()


def test_scrape_gets_the_last_commit(monitor):
    with monitor.serve("127.0.0.1:0", metrics=["recall[1]"], windows=["2m"], level=0) as server:
        assert "streameval_commits_total 0.0" in scraped(server)[1]
        monitor.step()
        content_type, text = scraped(server)
    assert content_type.startswith("text/plain; version=")
    lines = text.splitlines()
    value = 'streameval_value{bound="value",metric="recall[1]",slice="all",window='
    assert f'{value}"1m"}} 0.5' in lines
    assert f'{value}"2m"}} 0.5' in lines
    assert "streameval_commits_total 1.0" in lines


def test_scrape_gets_the_numbers_of_the_monitor_itself(tmp_path):
    def refuse(event):
        raise OSError("down")

    log = tmp_path / "log.jsonl"
    rows = [{"ts": START + 10 * i, "y_true": 1, "y_pred": 0, "id": i} for i in range(20)]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "labels.jsonl").write_text(json.dumps(rows[0]) + "\n{}\n")
    windowed = se.Windowed(se.ConfusionAccumulator(), pane="1m", unit="s")
    join = {"labels": str(tmp_path / "labels.jsonl"), "key": "id", "wait": "1h"}
    options = {"clock": lambda: START + 200.0, "on_alert": [refuse, print], "max_bad": 1}
    options["quarantine"] = tmp_path / "quarantine.jsonl"
    with (
        se.Monitor(
            tmp_path / "ck.db", windowed, predictions=str(log), time="ts", **join, **options
        ) as monitor,
        monitor.serve("127.0.0.1:0") as server,
    ):
        assert monitor.vitals() is None
        assert "streameval_lag" not in scraped(server)[1]
        monitor.step()
        first = monitor.vitals()
        with log.open("a") as file:
            file.write(json.dumps(rows[0]))  # half a line
        monitor.step()
        text = scraped(server)[1]
    assert monitor.vitals().commit_seconds == first.commit_seconds > 0, "this step did not commit"
    lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if line[:1] != "#")
    numbers = {name: float(number) for name, number in lines.items()}
    assert numbers['streameval_lag_seconds{source="predictions"}'] == 10
    assert numbers['streameval_lag_seconds{source="labels"}'] == 200
    assert numbers['streameval_lag_bytes{source="predictions"}'] == len(json.dumps(rows[0]))
    assert numbers['streameval_lag_bytes{source="labels"}'] == 0
    assert numbers["streameval_checkpoint_bytes"] >= (tmp_path / "ck.db").stat().st_size
    assert numbers["streameval_pending_bytes"] > 20 * 24
    assert 1e6 < numbers["streameval_memory_bytes"] < 1e11
    assert numbers['streameval_undelivered{receiver="refuse"}'] == 0
    assert numbers['streameval_refused_total{receiver="print"}'] == 0
    assert numbers['streameval_quarantined_rows_total{reason="unreadable"}'] == 1
    assert not any("per_second" in name for name in numbers), "Prometheus has rate()"


def test_page_shows_the_numbers_of_the_monitor_itself(tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text("".join(f'{{"ts": {START + i}, "y_true": 1, "y_pred": 1}}\n' for i in range(9)))
    windowed = se.Windowed(se.ConfusionAccumulator(), pane="1m", unit="s")
    options = {"clock": lambda: START + 3600.0, "on_alert": print, "max_bad": 1}
    with (
        se.Monitor(tmp_path / "ck.db", windowed, predictions=str(log), time="ts", **options) as m,
        m.serve("127.0.0.1:0") as server,
    ):
        m.step()
        with urllib.request.urlopen(server.url, timeout=30) as answer:
            page = answer.read().decode()
    shown = dict(re.findall("<dt>([^<]+)</dt><dd>([^<]+)</dd>", page.split('id="monitor"')[1]))
    assert shown["Unread (predictions)"] == "0 B"
    assert shown["Newest row is older than the clock by (predictions)"] == "59:52"
    assert shown["Events not delivered (print)"] == "0"
    assert float(shown["Rows a second (predictions)"].replace(",", "")) > 0
    assert re.fullmatch(r"[\d.]+ s", shown["Last step with a commit"])
    assert {"Checkpoint", "Memory", "Memory of pending rows"} <= shown.keys()


def test_pace_is_that_of_the_last_minute():
    pace = Pace()
    assert pace.observe(100.0, {"a": 10}) == {}
    assert pace.observe(110.0, {"a": 30}) == {"a": 2.0}
    assert pace.observe(160.0, {"a": 130}) == {"a": 2.0}
    assert pace.observe(180.0, {"a": 130}) == {"a": 100 / 70}, "since the last one before that"
    assert pace.observe(300.0, {"a": 130}) == {"a": 0.0}


def test_counts_of_the_quarantine_go_on_after_a_restart(tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text("{}\n" * 3 + f'{{"ts": {START}, "y_true": 1, "y_pred": 1}}\n')
    for n_bad in (3, 4):
        windowed = se.Windowed(se.ConfusionAccumulator(), pane="1m", unit="s")
        options = {"quarantine": tmp_path / "bad.jsonl", "max_bad": 9, "time": "ts"}
        with se.Monitor(tmp_path / "ck.db", windowed, predictions=str(log), **options) as monitor:
            monitor.step()
            found = monitor.vitals().quarantined
            assert found == {**dict.fromkeys(REASONS, 0), "unreadable": n_bad}
        with log.open("a") as file:
            file.write("{}\n")


def test_undelivered_events_and_refusals_are_exported(tmp_path, monkeypatch):
    monkeypatch.setattr("streameval.monitoring.delivery.FIRST_PAUSE", 3600.0)

    def refuse(event):
        raise OSError("down")

    rows = [{"ts": START + 61 * i, "y_true": 1, "y_pred": 0} for i in range(2)]
    windowed = se.Windowed(se.ConfusionAccumulator(), pane="1m", unit="s")
    rules = {"alerts": ["accuracy < 0.5, n >= 1"], "on_alert": [refuse, refuse]}
    source = Rows(a=rows)
    with se.Monitor(
        tmp_path / "ck.db", windowed, predictions=source, time="ts", clock=Clock(), **rules
    ) as monitor:
        monitor.step()
        until(lambda: monitor._delivery.numbers()[1] == {"refuse": 2})
        monitor.step()
        vitals = monitor.vitals()
    assert (vitals.undelivered, vitals.refused) == ({"refuse": 2}, {"refuse": 2})
    assert vitals.lag_bytes == {}, "rows in memory have no bytes"


def test_memory_is_unknown_without_the_file_of_linux(monitor, monkeypatch, tmp_path):
    monkeypatch.setattr("streameval.monitoring.status._STATM", tmp_path / "statm")
    assert memory_of_process() is None
    with monitor.serve("127.0.0.1:0") as server:
        monitor.step()
        text = scraped(server)[1]
    assert "\nstreameval_checkpoint_bytes " in text
    assert "\nstreameval_memory_bytes " not in text


def test_steps_have_no_lag_in_seconds(tmp_path):
    windowed = se.Windowed(se.ConfusionAccumulator(), pane=10)
    rows = [{"ts": at, "y_true": 1, "y_pred": 0} for at in range(20)]
    with se.Monitor(tmp_path / "ck.db", windowed, predictions=Rows(a=rows), time="ts") as monitor:
        monitor.step()
    assert monitor.vitals().lag_seconds == {}


def test_scrape_gets_openmetrics_if_it_accepts_them(monitor):
    with monitor.serve("127.0.0.1:0") as server:
        content_type, text = scraped(server, "application/openmetrics-text;version=1.0.0")
    assert content_type.startswith("application/openmetrics-text")
    assert text.endswith("# EOF\n")


def test_scrape_without_the_client_is_told_what_installs_it(monitor, monkeypatch):
    monkeypatch.delitem(sys.modules, "streameval.monitoring.prometheus", raising=False)
    monkeypatch.setitem(sys.modules, "prometheus_client.core", None)
    with monitor.serve("127.0.0.1:0") as server:
        with pytest.raises(urllib.error.HTTPError) as caught:
            scraped(server)
        with urllib.request.urlopen(server.url, timeout=30) as page:
            assert page.status == 200
    assert caught.value.code == 501
    assert 'pip install "streameval[prometheus]"' in caught.value.read().decode()


@pytest.mark.parametrize(
    ("options", "message"),
    [({"windows": ["90s"]}, "multiple of the pane"), ({"metrics": ["recal"]}, "no metric 'recal'")],
)
def test_wrong_options_are_refused_before_a_server_is_there(monitor, options, message):
    with pytest.raises(se.InvalidInputError, match=message):
        monitor.serve("127.0.0.1:0", **options)
