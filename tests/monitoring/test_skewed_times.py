"""Rows whose time is wrong: those around them are joined and counted as if they were right."""

import random

import pytest
from monitoring.memory import Clock, Rows

import streameval as se

START = 1_600_000_000
WAIT = 3600


def windowed():
    return se.Windowed(se.ConfusionAccumulator(), pane="1m", unit="s")


def drained(path, predictions, labels, rng, **options):
    """Count everything, cut and begun again at random; return the accumulator and the counters."""
    sources = {
        "predictions": Rows("predictions", a=predictions),
        "labels": Rows("labels", b=labels),
    }
    given = {"time": "ts", "key": "id", "wait": f"{WAIT}s", "unlabelled": 0, "clock": Clock()}
    events, is_idle = [], False
    while not is_idle:
        limit = rng.choice([20_000, 300_000, 10**7])
        cut = {"read_bytes": limit, "commit_bytes": limit}
        with se.Monitor(path, windowed(), **sources, **given, **cut, **options) as monitor:
            for _ in range(rng.randrange(1, 20)):
                step = monitor.step()
                events += step.events
                is_idle = step.is_idle
            counters, total = monitor.status().counters, monitor.windowed
    return total, counters, events


def flushed(rows, name, end):
    """Add rows so late that every wait before them is over."""
    last = ({**rows[-1], "id": f"{name}-{at}", "ts": end + at} for at in range(8))
    return [*rows, *last]


def test_one_label_ahead_makes_no_other_late(tmp_path):
    predictions = [{"id": at, "ts": START + 10 * at, "y_pred": at % 2} for at in range(2000)]
    labels = [{"id": at, "ts": START + 10 * at + 300, "y_true": at % 2} for at in range(2000)]
    labels[1000]["ts"] += 3500
    rule = "accuracy < 0.9 for 1 pane"
    rng = random.Random(0)
    total, counters, events = drained(tmp_path / "ck", predictions, labels, rng, alerts=[rule])
    assert counters["late_label"] == 1
    assert (total.total().compute().accuracy, events) == (1.0, [])


@pytest.mark.slow
@pytest.mark.uncovered
@pytest.mark.parametrize("n_rows", [6_000, pytest.param(60_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("of_predictions", [False, True])
def test_only_skewed_rows_miss_their_label(n_rows, of_predictions, tmp_path):
    rng = random.Random(n_rows)
    skews = [0] * n_rows
    for at in rng.sample(range(10, n_rows), n_rows // 100):
        skews[at] = rng.choice([3500, 20_000, rng.randrange(-20_000, 20_000)])
    rows = [(START + 10 * at, rng.randrange(3000)) for at in range(n_rows)]
    predictions, labels, expected = [], [], windowed()
    arrivals = sorted(range(n_rows), key=lambda at: sum(rows[at]))
    of_label = dict(zip(arrivals, skews, strict=True))
    joined = []
    for at, (time, delay) in enumerate(rows):
        made = time + (skews[at] if of_predictions else 0)
        told = time + delay + (0 if of_predictions else of_label[at])
        predictions.append({"id": at, "ts": made, "y_pred": 1})
        labels.append((time + delay, {"id": at, "ts": told, "y_true": 1}))
        arrives = max(made, time), max(told, time + delay)
        has_label = abs(arrives[1] - arrives[0]) <= WAIT
        joined.append((made, 1 if has_label else 0, 1))
    names = ("time", "y_true", "y_pred")
    columns = {name: list(of) for name, of in zip(names, zip(*joined, strict=True), strict=True)}
    expected.update(columns)
    end = START + 10 * n_rows + 10 * WAIT
    labels = [label for _, label in sorted(labels, key=lambda pair: pair[0])]
    total, counters, _ = drained(
        tmp_path / "ck", flushed(predictions, "p", end), flushed(labels, "l", end), rng
    )
    n_lost = sum(truth != pred for _, truth, pred in joined)
    assert 0 < n_lost < n_rows / 100
    assert counters.get("late_label", 0) + counters.get("orphan_expired", 0) == n_lost
    assert total.to_bytes() == expected.to_bytes()


@pytest.mark.slow
def test_late_labels_are_warned_of(tmp_path):
    predictions = [{"id": at, "ts": START + 10 * at, "y_pred": 1} for at in range(2000)]
    labels = [{"id": at, "ts": START + 10 * at + 5000, "y_true": 1} for at in range(2000)]
    sources = {"predictions": Rows("p", a=predictions), "labels": Rows("l", b=labels)}
    given = {
        "time": "ts",
        "key": "id",
        "wait": "1h",
        "clock": Clock(),
        "alerts": ["late labels>1%"],
    }
    notes, events, is_idle = [], [], False
    while not is_idle:
        cut = {"read_bytes": 1000, "commit_bytes": 1000}
        with se.Monitor(tmp_path / "ck", windowed(), **sources, **given, **cut) as monitor:
            for _ in range(100):
                step = monitor.step()
                notes += [note for note in step.notes if "came after the wait" in note]
                events += step.events
                is_idle = step.is_idle
    assert notes[0].endswith("labels came after the wait of the prediction, and will not count")
    assert 2 <= len(notes) <= 4
    assert [(event.rule, event.state) for event in events] == [("late labels > 1%", "firing")]
    assert events[0].value > 0.01
