"""A Prometheus server for tests, and what is asked of it."""

from __future__ import annotations

import json
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from waiting import until

__all__ = ["Alertmanager", "Prometheus", "free_port"]

DOCS = Path(__file__).parents[2] / "docs" / "monitoring"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Program:
    """A server of a free port, until it is closed."""

    def __init__(self, folder, name, *options):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = (folder / f"{name}.log").open("w")
        command = [name, *options, f"--web.listen-address=127.0.0.1:{self.port}"]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT)
        until(self._is_ready)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.log.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def _is_ready(self):
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False


def configured(folder, name, *changes):
    """Copy a configuration of the docs with these changes, and return its path."""
    config = (DOCS / name).read_text()
    for before, after in changes:
        assert before in config
        config = config.replace(before, after)
    path = folder / name
    path.write_text(config)
    return path


class Alertmanager(Program):
    """The server, with the configuration of the docs, which tells a URL at once."""

    def __init__(self, folder, told):
        changes = [
            ("group_wait: 30s", "group_wait: 0s"),
            ("group_interval: 5m", "group_interval: 1s"),
            ("http://127.0.0.1:9000", told),
        ]
        path = configured(folder, "alertmanager.yml", *changes)
        options = f"--config.file={path}", f"--storage.path={folder / 'am'}"
        super().__init__(folder, "prometheus-alertmanager", *options, "--cluster.listen-address=")


class Prometheus(Program):
    """The server, with the rules of the docs, which scrapes ports every tenth of a second."""

    def __init__(self, folder, ports, alertmanager):
        changes = [
            ("scrape_interval: 15s", "scrape_interval: 100ms"),
            ("evaluation_interval: 30s", "evaluation_interval: 500ms"),
            ('"127.0.0.1:8765"', ", ".join(f'"127.0.0.1:{port}"' for port in ports)),
            ("127.0.0.1:9093", f"127.0.0.1:{alertmanager.port}"),
        ]
        path = configured(folder, "prometheus.yml", *changes)
        for name in ("recording_rules.yml", "alert_rules.yml"):
            configured(folder, name)
        options = f"--config.file={path}", f"--storage.tsdb.path={folder / 'data'}"
        super().__init__(folder, "prometheus", *options)

    def get(self, path, **query):
        url = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(query, doseq=True)}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                found = json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from None
        assert not found.get("warnings"), found
        return found["data"]

    def query(self, promql):
        """Return labels and value of each series now."""
        return [
            (one["metric"], float(one["value"][1]))
            for one in self.get("query", query=promql)["result"]
        ]

    def value(self, promql):
        """Return the value of the only series, None while there is none."""
        found = self.query(promql)
        assert len(found) < 2, found
        return found[0][1] if found else None
