"""The path that Prometheus scrapes, beside the live page."""

import sys
import urllib.error
import urllib.request

import pytest
from monitoring.memory import Clock, Rows

import streameval as se

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
