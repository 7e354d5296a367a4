"""What probes are told of a monitor: over HTTP, and while a step is running."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import streameval as se
from streameval.monitoring.health import Health
from streameval.monitoring.standard_input import StandardInput
from streameval.monitoring.status import Step

ROWS = [{"ts": t, "y_true": t % 2, "y_pred": 1} for t in range(90)]


def asked(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def monitor(folder: Path, predictions: Any, **options: Any) -> se.Monitor:
    windowed = se.Windowed(se.ConfusionAccumulator(), pane="1m", unit="s")
    return se.Monitor(folder / "ck.db", windowed, predictions=predictions, time="ts", **options)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def test_monitor_is_alive_and_ready(tmp_path: Path, log: Path) -> None:
    with monitor(tmp_path, str(log)) as watched:
        url = watched.serve("127.0.0.1:0").url
        for _ in range(2):
            assert [asked(f"{url}{path}") for path in ("healthz", "livez", "readyz")] == [
                (200, "ok\n")
            ] * 3
            watched.step()


def test_pattern_without_a_file_is_not_ready_until_there_is_one(tmp_path: Path, log: Path) -> None:
    patterns = [str(log), str(tmp_path / "late-*.jsonl")]
    with monitor(tmp_path, patterns) as watched:
        url = watched.serve("127.0.0.1:0").url
        watched.step()
        assert asked(f"{url}readyz") == (
            503,
            f"predictions: {patterns[1]}: no such file or directory\n",
        )
        assert asked(f"{url}healthz") == (200, "ok\n"), "a restart does not help"
        (tmp_path / "late-1.jsonl").touch()
        assert asked(f"{url}readyz") == (200, "ok\n")


class Slow:
    """A source whose reading waits, as that of a disk that hangs."""

    name, is_replayable, is_at_end, is_caught_up = "slow", True, False, False

    def __init__(self) -> None:
        self.reads, self.goes_on = threading.Event(), threading.Event()

    def seek(self, position: Any) -> None:
        pass

    def read(self, limit: int) -> None:
        self.reads.set()
        self.goes_on.wait(60)

    def warnings(self) -> list[str]:
        return []

    def close(self) -> None:
        pass


def test_probes_are_answered_while_a_step_hangs(tmp_path: Path) -> None:
    source = Slow()
    with monitor(tmp_path, source) as watched:
        url = watched.serve("127.0.0.1:0").url
        thread = threading.Thread(target=watched.step)
        thread.start()
        assert source.reads.wait(60)
        watched._health._clock = later(watched._health._clock, 299)
        assert asked(f"{url}healthz") == (200, "ok\n")
        watched._health._clock = later(watched._health._clock, 2)
        status, text = asked(f"{url}healthz")
        assert (status, text[:28]) == (503, "a step has been running for "), text
        source.goes_on.set()
        thread.join()
        assert asked(f"{url}healthz") == (200, "ok\n")
        assert asked(f"{url}readyz") == (503, "a server does not answer\n")


def test_what_is_done_with_a_step_is_a_part_of_the_loop(tmp_path: Path, log: Path) -> None:
    with monitor(tmp_path, str(log)) as watched:
        health = watched._health
        for _ in watched.run(poll=0.0):
            health._clock = later(health._clock, 301)
            assert not health.is_alive, "such as a full pipe that nobody reads"
            watched.stop()
        assert health.is_alive


def later(clock: Callable[[], float], seconds: float) -> Callable[[], float]:
    return lambda: clock() + seconds


@pytest.fixture
def health() -> Health:
    return Health({})


def test_failed_step_has_ended(health: Health) -> None:
    with pytest.raises(KeyError), health.during_step():
        raise KeyError
    health._clock = later(health._clock, 1000)
    assert health.routes["/healthz"](None).status == 200  # type: ignore[arg-type]


def test_standard_input_is_always_there() -> None:
    health = Health({"predictions": StandardInput()})
    assert health.routes["/readyz"](None).status == 200  # type: ignore[arg-type]


def test_server_that_is_behind_answers(health: Health) -> None:
    health.note(Step(is_idle=False, is_waiting=True))
    assert health.routes["/readyz"](None).status == 200  # type: ignore[arg-type]
