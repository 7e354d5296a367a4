"""False alarms, delays and flapping of alerts on simulated time, as the docs promise them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import pytest
from offenders import each

import streameval as se
from streameval.monitoring.alerts import Alerts, Event

Floats = npt.NDArray[np.float64]
Level = Callable[[npt.NDArray[np.int64]], Floats]
"""The share of predictions that are right, of panes by number."""

ROWS = 100
HEALTHY, FLOOR = 0.91, 0.9


@attrs.frozen
class Seen:
    n_rows: int = 0
    n_labelled: int = 0
    n_pending: int = 0


def simulated(
    rules: list[str], level: Level, panes: int, *, minutes: int = 10, seed: int = 0
) -> list[Event]:
    """Count hundred rows a pane, and look a hundred panes at a time."""
    random = np.random.default_rng(seed)
    w = se.Windowed(se.ConfusionAccumulator(), pane=f"{minutes}m", unit="s", keep="30d")
    alerts, events = Alerts(rules, w), []
    for first in range(0, panes, 100):
        numbers = np.arange(first, min(first + 100, panes))
        hits = random.binomial(ROWS, level(numbers))
        batch = {
            "y_true": np.ones(2 * len(numbers), dtype=np.int64),
            "y_pred": np.tile([1, 0], len(numbers)),
            "time": np.repeat(numbers * 60 * minutes, 2),
        }
        w.update(batch, sample_weight=np.stack([hits, ROWS - hits], axis=1).reshape(-1))
        end = np.datetime64(int(numbers[-1] + 1) * 60 * minutes, "s").astype("M8[us]")
        events += alerts.step(w, end, Seen(), 0.0)
    return events


def constant(share: float) -> Level:
    return lambda numbers: np.full(len(numbers), share)


def dropped(share: float, begin: int, end: int) -> Level:
    def level(numbers: npt.NDArray[np.int64]) -> Floats:
        return np.where((numbers >= begin) & (numbers < end), share, HEALTHY)

    return level


def ends(events: list[Event], state: str, minutes: int = 1) -> list[int]:
    """Return the numbers of the panes with which alerts begin to fire, or are resolved."""
    times = [np.datetime64(str(one.end).rstrip("Z")) for one in events if one.state == state]
    return [int(time.astype("M8[m]").astype(np.int64)) // minutes for time in times]


@pytest.mark.slow
def test_month_of_healthy_data_has_no_alarm() -> None:
    rules = ["accuracy < 0.9", "accuracy < 0.9 for 3 panes"]
    events = simulated(rules, constant(HEALTHY), 30 * 144)
    fired = [event.rule for event in events if event.state == "firing"]
    assert "accuracy < 0.9" not in fired
    assert fired.count("accuracy < 0.9 for 3 panes") > 50


@pytest.mark.slow
@each(("share", "median", "late"), [(0.8, 3, 5), (0.87, 24, 38)])
def test_delay_after_a_drop_is_that_of_the_docs(share: float, median: int, late: int) -> None:
    delays = []
    for seed in range(7):
        level = dropped(share, 100, 1000)
        events = simulated(["accuracy < 0.9"], level, 200, minutes=1, seed=seed)
        delays.append(ends(events, "firing")[0] - 100)
    assert min(delays) > 0
    assert abs(sorted(delays)[3] - median) <= median / 2
    assert max(delays) <= 2 * late


@pytest.mark.slow
def test_alert_is_resolved_about_as_fast_as_it_was_raised() -> None:
    for seed, share in enumerate([0.8, 0.8, 0.87, 0.87]):
        level = dropped(share, 100, 300)
        events = simulated(["accuracy < 0.9"], level, 400, minutes=1, seed=seed)
        fired, resolved = ends(events, "firing"), ends(events, "resolved")
        assert 100 < fired[0] < 150
        assert 300 < resolved[-1] < 350
        assert len(fired) == len(resolved) <= 2


@pytest.mark.long
def test_2000_days_at_the_floor_keep_the_promise() -> None:
    """One alarm in 30 days is 67; their number is about Poisson's, or lower."""
    events = simulated(["accuracy < 0.9"], constant(FLOOR), 2000 * 144)
    assert len(ends(events, "firing")) <= 67 + 3 * 67**0.5


@pytest.mark.long
def test_2000_days_of_four_series_keep_the_promise_of_all_together() -> None:
    rules: Any = ["accuracy < 0.9", "recall < 0.9", "recall[1]{all} < 0.9", "jaccard[1] < 0.9"]
    events = simulated(rules, constant(FLOOR), 2000 * 144)
    assert len(ends(events, "firing")) <= 67 + 3 * 67**0.5
