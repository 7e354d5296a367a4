"""A real Prometheus scrapes a monitor: rules, dashboard, crashes, hostile labels."""

import functools
import json
import random
import re
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import attrs
import pytest
from monitoring.prometheus_server import DOCS, Alertmanager, Prometheus, free_port
from waiting import until

import streameval as se
from streameval.monitoring.rule_text import slice_text

pytestmark = pytest.mark.server(name="prometheus")

HOSTILE = ['a"b', "back\\slash", "new\nline", "}=1 2", "\x00\x1b[2J", "\u2028", "é", " ", "{}"]
ACCURACIES = {"DE": 0.9, "FR": 0.5}
RECORDED = re.findall(r"- record: (\S+)", (DOCS / "recording_rules.yml").read_text())
ALERTS = re.findall(r"- alert: (\S+)", (DOCS / "alert_rules.yml").read_text())
DASHBOARD = json.loads((DOCS / "grafana_dashboard.json").read_text())


class Log:
    """A log of predictions, and one of labels, whose event time is now."""

    def __init__(self, folder, names):
        folder.mkdir()
        self.predictions, self.labels = folder / "predictions.jsonl", folder / "labels.jsonl"
        self.names = names
        self.rng = random.Random(1)
        self.n = self.n_right = 0

    def grow(self, size=50):
        with self.predictions.open("a") as predictions, self.labels.open("a") as labels:
            for _ in range(size):
                country = self.rng.choice(self.names)
                now = time.time()
                truth = self.rng.random() < 0.5
                right = self.rng.random() < ACCURACIES.get(country, 0.7)
                score = self.rng.uniform(0.5, 1) if right == truth else self.rng.uniform(0, 0.5)
                row = {"id": f"p{self.n}", "ts": now, "y_score": score, "country": country}
                predictions.write(json.dumps(row) + "\n")
                labels.write(json.dumps({"id": row["id"], "ts": now, "y_true": int(truth)}) + "\n")
                self.n += 1
                self.n_right += right


class Growing:
    """Lets logs grow until it is stopped."""

    def __init__(self, logs):
        self.logs = logs
        for log in logs:
            log.grow()
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.is_over.wait(0.1):
            for log in self.logs:
                log.grow(10)

    def stop(self):
        self.is_over.set()
        self.thread.join()


class Watch:
    """`streameval watch --serve` over these logs; it is killed now and then."""

    def __init__(self, folder, log, alertmanager):
        self.port = free_port()
        receiver = {"to": f"{alertmanager.url}/api/v2/alerts", "format": "alertmanager"}
        self.command = [
            *(sys.executable, "-m", "streameval", "watch", log.predictions, "--labels", log.labels),
            *("--key", "id", "--wait", "2s", "--time", "ts", "--unit", "s"),
            *("--task", "classification", "--y-score", "y_score", "--y-true", "y_true"),
            *("--by", "country=" + ",".join(ACCURACIES), "--pane", "1s", "--keep", "5m"),
            *("--windows", "5s", "--checkpoint", folder / "ck.db", "--quiet"),
            *("--alerts", "recall[1] < 0.8 for 1 pane", "--serve", f"127.0.0.1:{self.port}"),
            *("--on-alert", json.dumps(receiver), "--quarantine", folder / "quarantine.jsonl"),
        ]

    @property
    def instance(self):
        return f"127.0.0.1:{self.port}"

    def start(self):
        self.process = subprocess.Popen(list(map(str, self.command)), stdout=subprocess.DEVNULL)

    def kill(self):
        self.process.kill()
        self.process.wait()


def following(folder, log):
    """Make a monitor of the same process, with slices of hostile names and a curve."""
    members = {"cm": se.ConfusionAccumulator(), "curve": se.PRCurveSketch(4096)}
    inner = se.Collection(members, columns={"cm": {"y_pred": "y_score"}})
    return se.Monitor(
        folder / "curve.db",
        se.Windowed(se.Sliced(inner, "country", values=HOSTILE), pane="1s", unit="s"),
        predictions=str(log.predictions),
        labels=str(log.labels),
        key="id",
        wait="2s",
        time="ts",
    )


@attrs.frozen
class Scene:
    """Prometheus, a log that `watch` follows, and one of hostile names that a monitor follows."""

    prometheus: Prometheus
    log: Log
    hostile: Log
    watch: Watch
    metrics: str
    told: list[tuple[str, dict]]

    def query(self, promql):
        return self.prometheus.query(promql)

    def value(self, promql):
        """Ask for one number of `watch`."""
        return self.prometheus.value(promql.replace("@", f'{{instance="{self.watch.instance}"}}'))


@contextmanager
def receiving():
    """Collect path and alert of what Alertmanager posts, and give the URL to post to."""
    told = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            told.extend((self.path, alert) for alert in body["alerts"])
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            yield told, f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    """Let Prometheus scrape while logs grow, and while `watch` is killed and started again."""
    folder = tmp_path_factory.mktemp("prometheus")
    log, hostile = Log(folder / "a", list(ACCURACIES)), Log(folder / "b", HOSTILE)
    with ExitStack() as stack:
        told, url = stack.enter_context(receiving())
        alertmanager = stack.enter_context(Alertmanager(folder, url))
        watch = Watch(folder, log, alertmanager)
        growing = Growing([log, hostile])
        stack.callback(growing.stop)
        monitor = stack.enter_context(following(folder, hostile))
        server = monitor.serve("127.0.0.1:0", windows=["5s"])
        running = threading.Thread(target=lambda: list(monitor.run(poll=0.1)))
        running.start()
        stack.callback(running.join)
        stack.callback(monitor.stop)
        watch.start()
        stack.callback(watch.kill)
        ports = watch.port, int(server.url.rstrip("/").rpartition(":")[2])
        prometheus = stack.enter_context(Prometheus(folder, ports, alertmanager))
        scene = Scene(prometheus, log, hostile, watch, f"{server.url}metrics", told)
        for _ in range(3):
            until(lambda: scene.value("changes(streameval_predictions_total@[3s])"))
            watch.kill()
            time.sleep(0.3)
            watch.start()
        for instance in prometheus.query("up"):
            number = f'count(streameval_value{{instance="{instance[0]["instance"]}"}})'
            until(functools.partial(prometheus.value, number))
        growing.stop()
        until(lambda: scene.value("sum(streameval_confusion_total@)") == log.n)
        until(lambda: prometheus.value("sum(streameval_score_count)") == hostile.n)
        yield scene


def test_counts_are_those_of_the_log_after_kills(scene):
    cells = scene.query(f'streameval_confusion_total{{instance="{scene.watch.instance}"}}')
    right = [number for labels, number in cells if labels["actual"] == labels["predicted"]]
    assert sum(right) == scene.log.n_right
    assert scene.value("streameval_predictions_total@") == scene.log.n


def test_no_counter_was_reset_by_a_kill(scene):
    chosen = '{__name__=~"streameval_.*_(total|bucket|sum|count)"}'
    names = scene.prometheus.get("label/__name__/values", **{"match[]": chosen})
    found = [pair for name in names for pair in scene.query(f"resets({name}[1h])")]
    assert len(found) > 100
    assert [pair for pair in found if pair[1]] == []


def test_increase_is_that_of_the_log(scene):
    first = scene.value("min_over_time(streameval_predictions_total@[1h])")
    found = scene.value("increase(streameval_predictions_total@[1h])")
    counted = scene.log.n - first
    # Prometheus extrapolates by at most 1.1 mean distances of samples at both ends.
    n_samples = scene.value("count_over_time(streameval_predictions_total@[1h])")
    assert counted * (1 - 1e-9) <= found <= counted * (1 + 2.2 / (n_samples - 1)) * (1 + 1e-9)


def test_hostile_names_are_what_they_were(scene):
    named = {slice_text({"country": name}) for name in HOSTILE}
    found = {labels["slice"] for labels, _ in scene.query("streameval_examples_total")}
    assert found == named | {f"country={name}" for name in ACCURACIES} | {"other"}


def test_scores_are_a_histogram(scene):
    found = scene.query("sum by (le) (streameval_score_bucket)")
    below = {labels["le"]: number for labels, number in found}
    assert below["+Inf"] == scene.hostile.n
    assert 0 < below["0.5"] < below["0.75"] < below["+Inf"]
    assert scene.prometheus.value("sum(streameval_score_count)") == scene.hostile.n


def test_values_are_those_of_slices(scene):
    found = scene.query('streameval_value{metric="accuracy",window="5s",bound="value"}')
    values = {labels["slice"]: number for labels, number in found}
    assert values["country=DE"] > values["country=FR"]
    assert set(values) == {"all", *(f"country={name}" for name in ACCURACIES)}


def test_end_of_the_window_is_told_beside_its_values(scene):
    assert 2 < scene.value("min(time() - streameval_value_time_seconds)") < 300


def test_alert_of_the_monitor_is_an_alert_of_prometheus(scene):
    chosen = 'alertname="StreamevalAlert",slice="country=FR",name="recall[1] < 0.8 for 1 pane"'
    ((alert, _),) = until(lambda: scene.query(f"ALERTS{{{chosen}}}"))
    assert alert["alertstate"] == "firing"


def names_told(scene, path):
    return {alert["labels"]["alertname"] for at, alert in scene.told if at == path}


def test_alertmanager_passes_on_what_prometheus_and_the_monitor_post(scene):
    expected = {"StreamevalAlert", "recall[1] < 0.8 for 1 pane"}
    until(lambda: expected <= names_told(scene, "/page") | names_told(scene, "/ticket"))
    assert "StreamevalAlert" in names_told(scene, "/page"), "it has the severity"


def test_alertmanager_tells_that_an_alert_of_a_monitor_fires_and_is_resolved(tmp_path):
    log = tmp_path / "log.jsonl"
    windowed = se.Windowed(se.ConfusionAccumulator(), pane="1m", unit="s")
    rule = {"rule": "accuracy < 0.8 for 1 pane", "name": "low", "severity": "page"}
    rule |= {"labels": {"2nd team": "\u00e9"}, "links": {"the runbook": "https://wiki/low"}}
    with ExitStack() as stack:
        told, url = stack.enter_context(receiving())
        server = stack.enter_context(Alertmanager(tmp_path, url))
        receiver = {"to": f"{server.url}/api/v2/alerts", "format": "alertmanager"}
        options = {"predictions": str(log), "time": "ts", "alerts": [rule], "on_alert": receiver}
        log.write_text("")
        monitor = stack.enter_context(se.Monitor(tmp_path / "ck.db", windowed, **options))
        for pred, status in ((0, "firing"), (1, "resolved")):
            begin = 1_700_000_040 + 180 * pred
            with log.open("a") as file:
                for t in range(begin, begin + 130, 10):
                    file.write(json.dumps({"ts": t, "y_true": 1, "y_pred": pred}) + "\n")
            monitor.step()
            until(lambda status=status: [one for _, one in told if one["status"] == status])
    path, alert = told[-1]
    assert (path, alert["labels"]["alertname"], alert["status"]) == ("/page", "low", "resolved")


def test_every_rule_is_evaluated_without_an_error(scene):
    def rules():
        groups = scene.prometheus.get("rules")["groups"]
        found = [rule for group in groups for rule in group["rules"]]
        return all(rule["health"] != "unknown" for rule in found) and found

    found = until(rules)
    assert len(found) == len(RECORDED) + len(ALERTS)
    assert [rule for rule in found if rule["health"] != "ok"] == []


@pytest.mark.parametrize("name", RECORDED)
def test_every_recording_rule_records(scene, name):
    assert until(lambda: scene.query(name))


def queries():
    """List title and query of each panel, and what annotations ask."""
    panels = [
        (f"{panel['title']} {target['refId']}", target["expr"])
        for panel in DASHBOARD["panels"]
        for target in panel["targets"]
    ]
    return panels + [(one["name"], one["expr"]) for one in DASHBOARD["annotations"]["list"]]


@pytest.mark.parametrize(("title", "promql"), queries(), ids=[title for title, _ in queries()])
def test_every_query_of_the_dashboard_finds_something(scene, title, promql):
    filled = promql.replace("$__rate_interval", "1m").removesuffix(" > 0")
    filled = re.sub(r"\$(job|metric|window|slice)\b", ".*", filled)
    assert "$" not in filled
    assert scene.query(filled)


def test_variables_of_the_dashboard_have_values(scene):
    asked = [one["query"] for one in DASHBOARD["templating"]["list"] if one["type"] == "query"]
    for query in asked:
        metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", query["query"]).groups()
        assert scene.prometheus.get(f"label/{label}/values", **{"match[]": metric})
    assert len(asked) == 4


def test_what_is_exported_is_clean(scene):
    with urllib.request.urlopen(scene.metrics, timeout=30) as answer:
        data = answer.read()
    check = ["promtool", "check", "metrics"]
    found = subprocess.run(check, input=data, capture_output=True, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (0, b"", b"")


@pytest.mark.parametrize("name", ["recording_rules.yml", "alert_rules.yml"])
def test_rules_are_clean(name):
    check = ["promtool", "check", "rules", "--lint=all", "--lint-fatal", str(DOCS / name)]
    found = subprocess.run(check, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


def test_alerts_fire_where_they_should():
    cases = Path(__file__).with_name("alert_rules_test.yml")
    assert set(re.findall(r"alertname: (\w+)", cases.read_text())) == set(ALERTS)
    found = subprocess.run(
        ["promtool", "test", "rules", str(cases)], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stdout + found.stderr


def test_configuration_of_alertmanager_is_valid():
    check = ["amtool", "check-config", str(DOCS / "alertmanager.yml")]
    found = subprocess.run(check, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
