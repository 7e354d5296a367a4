"""A Prometheus server for tests, and what is asked of it."""

from __future__ import annotations

import json
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

__all__ = ["Prometheus", "free_port", "wait_until"]

DOCS = Path(__file__).parents[2] / "docs" / "monitoring"
PATIENCE = 60


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_until(found, seconds=PATIENCE):
    """Ask until the answer is truthy, and return it."""
    end = time.monotonic() + seconds
    while True:
        answer = found()
        if answer:
            return answer
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.1)


class Prometheus:
    """The server, with the rules of the docs, which scrapes ports every tenth of a second."""

    def __init__(self, folder, ports):
        targets = ", ".join(f'"127.0.0.1:{port}"' for port in ports)
        config = (DOCS / "prometheus.yml").read_text()
        for before, after in (
            ("scrape_interval: 15s", "scrape_interval: 100ms"),
            ("evaluation_interval: 30s", "evaluation_interval: 500ms"),
            ('"127.0.0.1:8765"', targets),
        ):
            assert before in config
            config = config.replace(before, after)
        for name in ("recording_rules.yml", "alert_rules.yml"):
            (folder / name).write_text((DOCS / name).read_text())
        path, port = folder / "prometheus.yml", free_port()
        path.write_text(config)
        self.url = f"http://127.0.0.1:{port}"
        self.log = (folder / "log").open("w")
        self.process = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={path}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=self.log,
            stderr=subprocess.STDOUT,
        )
        wait_until(self._is_ready)

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
