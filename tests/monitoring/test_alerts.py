"""Alerts: a slow model of every rule, restarts, late rows, and what is refused."""

from __future__ import annotations

import base64
import json
import math
import re
import statistics
from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from offenders import each
from win_rate import WinRate

import streameval as se
from streameval.cli.window_text import event_text
from streameval.errors import CorruptStateError, InvalidInputError, UnknownMetricError
from streameval.monitoring.alerts import Alerts, AlertState, Event
from streameval.monitoring.status import Status

PANE = 10
PROMISE = 30.0

Counts = tuple[int, int]
"""Hits and misses of a slice in a pane."""


def status(*numbers: float, **changes: Any) -> Status:
    """Return the status of a monitor with these numbers of rows, labelled and pending ones."""
    named = dict(zip(("n_rows", "n_labelled", "n_pending"), numbers, strict=False))
    return Status(positions={}, **named | changes)


def windowed(**options: Any) -> se.Windowed:
    sliced = se.Sliced(se.ConfusionAccumulator(), "country", values=["DE", "FR"])
    return se.Windowed(sliced, **{"pane": PANE, **options})


def rows(number: int, hits: int, misses: int, country: Any = "DE", blank: int = 0) -> Any:
    n = hits + misses
    return {
        "y_true": [1] * n + [None] * blank,
        "y_pred": [1] * hits + [0] * misses + [1] * blank,
        "country": [country] * (n + blank),
        "time": [PANE * number] * (n + blank),
    }


def count(w: se.Windowed, number: int, slices: Sequence[Counts]) -> se.Windowed:
    for country, counts in zip(["DE", "FR", "IT"], slices, strict=False):
        if any(counts):
            w.update(rows(number, *counts, country))
    return w


class Run:
    """Steps of alerts, stored and restored before each."""

    def __init__(self, *rules: str, w: se.Windowed | None = None, **options: Any) -> None:
        self.rules = rules
        self.w = windowed() if w is None else w
        self.options = {"false_alarms": PROMISE, **options}
        self.alerts = Alerts(rules, self.w, **self.options)
        self.events: list[Event] = []

    def restart(self, *rules: str) -> None:
        stored = json.loads(json.dumps(self.alerts.to_json(), allow_nan=False))
        self.rules = rules or self.rules
        self.alerts = Alerts.restore(self.rules, self.w, stored, **self.options)

    def step(self, mature: int | None, seen: Any = None, now: float = 0.0) -> list[Event]:
        self.restart()
        until = None if mature is None else PANE * mature
        events = self.alerts.step(self.w, until, status() if seen is None else seen, now)
        self.events += events
        return list(events)

    def through(self, *panes: Counts, first: int = 0) -> list[Event]:
        """Count panes of one slice, and step after each."""
        found = []
        for number, counts in enumerate(panes, first):
            count(self.w, number, [counts])
            found += self.step(number + 1)
        return found

    def state(self, at: int = 0) -> str:
        return self.alerts.states()[at].state


def brief(events: Sequence[Event]) -> list[tuple[str, Any]]:
    return [(event.state, event.end) for event in events]


# The model of the e-detector: sums over all runs of panes, from the definition.

TILTS = [2.0 ** (-8.0 + 11.0 * j / 31.0) for j in range(32)]


def worth(counts: Counts, limit: float, tilt: float) -> float:
    norm = 1.0 - limit + limit * math.exp(-tilt)
    hits, misses = counts
    return math.exp(-tilt * hits) / norm ** (hits + misses)


def evidence(panes: Sequence[Counts | None], limit: float) -> tuple[float, float]:
    """Sum the worth of all runs that end with the last pane; and the length of the best one."""
    total, best = 0.0, (-1.0, 0)
    for tilt in TILTS:
        product = 1.0
        for back, counts in enumerate(reversed(panes), 1):
            if counts is not None:
                product *= worth(counts, limit, tilt)
                total += product
                best = max(best, (product, -back))
    return total / len(TILTS), -best[1]


def model_of_evidence(
    panes: Sequence[Counts | None], limit: float, threshold: float, exists: Sequence[bool]
) -> Iterator[tuple[str, int]]:
    """Yield what happens, and at the end of which pane."""
    since = crossed = rests_on = 0
    firing = False
    for end in range(1, len(panes) + 1):
        if not exists[end - 1]:
            continue
        amount, length = evidence(panes[since:end], limit)
        if amount >= threshold:
            if not firing:
                yield "firing", end
            firing, since, crossed, rests_on = True, end, end, max(length, 3)
        elif firing and end - crossed >= rests_on:
            recent = [counts for counts in panes[end - rests_on : end] if counts is not None]
            hits, n = sum(h for h, _ in recent), sum(h + m for h, m in recent)
            if n and hits / n >= limit:
                firing = False
                yield "resolved", end


def model_of_plain(
    panes: Sequence[Counts | None],
    limit: float,
    exists: Sequence[bool],
    *,
    needed: int = 1,
    min_n: int = 0,
    over: int = 1,
) -> Iterator[tuple[str, int]]:
    run, firing = 0, False
    for end in range(1, len(panes) + 1):
        window = [counts for counts in panes[max(end - over, 0) : end] if counts is not None]
        hits, n = sum(h for h, _ in window), sum(h + m for h, m in window)
        if not exists[end - 1] or not n or n < min_n:
            continue
        run = run + 1 if hits / n < limit else 0
        if run == needed and not firing:
            firing = True
            yield "firing", end
        if not run and firing:
            firing = False
            yield "resolved", end


COUNTS = st.tuples(st.integers(0, 6), st.integers(0, 6))
PANES = st.lists(st.tuples(COUNTS, COUNTS, COUNTS), max_size=40)


def of_slices(panes: Sequence[Sequence[Counts]]) -> dict[Any, list[Counts | None]]:
    """List the counts of all rows, and of each named slice."""
    sums = [(sum(h for h, _ in pane), sum(m for _, m in pane)) for pane in panes]
    columns = {None: sums, "DE": [pane[0] for pane in panes], "FR": [pane[1] for pane in panes]}
    return {name: [c if any(c) else None for c in column] for name, column in columns.items()}


@given(panes=PANES, steps=st.lists(st.booleans(), min_size=40, max_size=40))
def test_alerts_are_those_of_the_model_however_steps_are_cut(
    panes: list[Any], steps: list[bool]
) -> None:
    rules = ["recall < 0.6", "recall < 0.55 for 2 panes, n >= 4", "recall < 0.5 over 3 panes"]
    run = Run(*rules)
    for number, counts in enumerate(panes):
        count(run.w, number, counts)
        if steps[number]:
            run.step(number + 1)
    run.step(len(panes))
    exists = [any(map(any, pane)) for pane in panes]
    expected: dict[Any, list[Any]] = {}
    for name, column in of_slices(panes).items():
        expected |= {
            (rules[0], name): [*model_of_evidence(column, 0.6, PROMISE * 3, exists)],
            (rules[1], name): [*model_of_plain(column, 0.55, exists, needed=2, min_n=4)],
            (rules[2], name): [*model_of_plain(column, 0.5, exists, over=3)],
        }
    found: dict[Any, list[Any]] = {key: [] for key in expected}
    for event in run.events:
        name = None if event.slice is None else event.slice["country"]
        assert isinstance(event.end, int)
        found[event.rule, name].append((event.state, event.end // PANE))
    assert found == expected
    assert len({event.id for event in run.events}) == len(run.events)


@given(panes=st.lists(COUNTS, min_size=1, max_size=40))
def test_alarms_are_those_of_evidence_that_begins_again_after_each(panes: list[Counts]) -> None:
    run = Run("recall{all} < 0.6")
    run.through(*panes)
    count(run.w, len(panes), [(1, 0)])  # the newest pane goes on
    since = None
    alarms = []
    while True:
        options: Any = {"at_least": 0.6, "false_alarms": PROMISE, "since": since}
        found = se.evidence(run.w, "recall", **options)
        if not found.firing:
            break
        since = found.fired_at
        alarms.append(since)
    fired = [event.end for event in run.events if event.state == "firing"]
    assert set(fired) <= set(alarms)
    assert fired[:1] == alarms[:1]
    if not any(event.state == "resolved" for event in run.events):
        log_evidence = run.alerts.states()[0].log_evidence
        expected = found.log_evidence if found.n_panes else -math.inf
        assert log_evidence == (expected if math.isfinite(expected) else None)


@given(panes=st.lists(COUNTS, min_size=1, max_size=40))
def test_value_of_an_alarm_is_beyond_the_limit_from_the_likeliest_change_on(
    panes: list[Counts],
) -> None:
    run = Run("recall{country=DE} < 0.6")
    run.through(*panes)
    fired = [event for event in run.events if event.state == "firing"]
    assert all(event.value is not None and event.value < 0.6 for event in fired)
    for event in fired[:1]:
        assert isinstance(event.end, int)
        _, length = evidence(panes[: event.end // PANE], 0.6)
        assert event.start == event.end - PANE * length


def areas(offsets: Sequence[tuple[float, float]], n: int = 400) -> se.Windowed:
    """Count panes whose scores have an area under the curve, and are moved by a number."""
    w = se.Windowed(se.PRCurveSketch(scores="real"), pane=PANE)
    random = np.random.default_rng(3)
    for number, (area, moved) in enumerate(offsets):
        labels = np.arange(n) % 2
        apart = math.sqrt(2.0) * statistics.NormalDist().inv_cdf(area)
        scores = random.normal(size=n) + apart * labels + moved
        w.update({"y_true": labels, "y_score": scores, "time": [PANE * number] * n})
    return w


def test_area_of_an_alarm_begins_with_the_drop() -> None:
    w = areas([(0.9, 0.0)] * 24 + [(0.7, 0.0)] * 3)
    [event] = Alerts(["roc_auc < 0.8"], w, false_alarms=720).step(w, 27 * PANE)
    assert event.start == 24 * PANE
    assert event.value is not None
    assert event.value < 0.75


def test_area_of_an_alarm_is_below_the_limit_if_scores_of_panes_differ() -> None:
    """Together, the panes of a long drop rank well: scores and the share of positives move."""
    w = se.Windowed(se.PRCurveSketch(scores="real"), pane=PANE)
    random = np.random.default_rng(5)
    for number in range(30):
        is_high = number % 2
        labels = (random.random(300) < (0.95 if is_high else 0.05)).astype(np.int64)
        scores = random.normal(size=300) + 0.9 * labels + 8.0 * is_high
        w.update({"y_true": labels, "y_score": scores, "time": [PANE * number] * 300})
    events = Alerts(["roc_auc < 0.8"], w, false_alarms=720).step(w, 30 * PANE)
    assert w.total().compute().roc_auc > 0.9
    fired = [event for event in events if event.state == "firing"]
    assert fired
    assert all(event.value is not None and event.value < 0.8 for event in fired)


@pytest.mark.slow
@each("sign", ["<", ">"])
def test_alarm_reports_the_pane_of_a_known_change(sign: str) -> None:
    random = np.random.default_rng(11)
    off = []
    for _ in range(20):
        shares = [0.95] * 30 + [0.8] * 30
        hits = random.binomial(100, shares if sign == "<" else 1.0 - np.array(shares))
        run = Run(f"recall{{country=DE}} {sign} {0.9 if sign == '<' else 0.1}", false_alarms=10_000)
        for number, n in enumerate(hits.tolist()):
            count(run.w, number, [(n, 100 - n)])
        fired = [event for event in run.step(60) if event.state == "firing"]
        assert isinstance(fired[0].start, int)
        off.append(abs(fired[0].start // PANE - 30))
        assert fired[0].value is not None
        assert (fired[0].value < 0.9) if sign == "<" else (fired[0].value > 0.1)
    assert np.mean(np.array(off) <= 2) >= 0.9


def test_detector_of_an_older_checkpoint_goes_on() -> None:
    """It held the mean age of runs where it now holds the best run."""
    run = Run("recall{country=DE} < 0.9", false_alarms=100_000)
    run.through(*[(19, 1)] * 5, *[(12, 8)] * 2)
    stored = run.alerts.to_json()
    [series] = stored.values()
    sums, _, ages = np.split(np.frombuffer(base64.b64decode(series["sums"])), 3)
    old = np.concatenate([sums, sums + np.log(ages)])
    series["sums"] = base64.b64encode(old.tobytes()).decode()
    run.alerts = Alerts.restore(run.rules, run.w, stored, **run.options)
    [event] = run.through((12, 8), first=7)
    assert (event.start, event.end, event.value) == (50, 80, 0.6)


def test_evidence_event_is_of_the_panes_that_it_rests_on() -> None:
    run = Run("recall{country=DE} < 0.9", false_alarms=100_000)
    run.through(*[(19, 1)] * 20, *[(12, 8)] * 5)
    [event] = run.events
    assert event.to_json() == {
        "id": event.id,
        "alert": event.id,
        "rule": "recall{country=DE} < 0.9",
        "state": "firing",
        "slice": {"country": "DE"},
        "metric": "recall",
        "value": 0.6,
        "certified": None,
        "interval": run.w.window(30, end=230)["DE"].compute().read("recall").sampling,
        "limit": 0.9,
        "n": 60,
        "start": 200,
        "end": 230,
        "at": "1970-01-01T00:00:00Z",
    }
    assert re.fullmatch("[0-9a-f]{32}", event.id)
    assert run.alerts.states() == (
        attrs.evolve(run.alerts.states()[0], state="firing", since=230, alert=event.id),
    )


def test_evidence_alert_is_resolved_once_as_many_panes_keep_the_limit() -> None:
    run = Run("recall{all} < 0.9", false_alarms=100_000)
    run.through(*[(19, 1)] * 20, *[(12, 8)] * 3)
    assert [run.state(), *brief(run.events)] == ["firing", ("firing", 230)]
    assert run.through(*[(12, 8)] * 20, first=23) == []  # further alarms are the same alert
    assert brief(run.through(*[(20, 0)] * 4, first=43)) == [("resolved", 460)]
    assert run.events[-1].alert == run.events[0].id != run.events[-1].id
    assert (run.events[-1].value, run.events[-1].n) == (1.0, 60)
    assert run.state() == "resolved"
    assert run.alerts.states()[0].since == 460


def test_evidence_alert_is_not_resolved_before_that_by_one_good_pane() -> None:
    run = Run("recall{all} < 0.9", false_alarms=100_000)
    run.through(*[(19, 1)] * 20, *[(12, 8)] * 3, *[(1000, 0)] * 2)
    assert brief(run.events) == [("firing", 230)]
    assert brief(run.through((1000, 0), first=25)) == [("resolved", 260)]


def test_further_alarm_puts_off_the_end() -> None:
    run = Run("recall{all} < 0.9", false_alarms=100_000)
    run.through(*[(19, 1)] * 20, *[(12, 8)] * 6)  # a second alarm at 260
    assert run.through((1000, 0), (1000, 0), first=26) == []
    assert brief(run.through((1000, 0), first=28)) == [("resolved", 290)]


@each("others", [0, 1])
def test_evidence_rests_on_the_time_that_has_passed(others: int) -> None:
    """A pause within a drop belongs to it, with rows of other slices or without any."""
    run = Run("recall{country=DE} < 0.9", false_alarms=100_000)
    run.through(*[(12, 8)] * 2)
    for number in range(2, 12):
        count(run.w, number, [(0, 0), (others, 0)])
        run.step(number + 1)
    [event] = run.through(*[(12, 8)], first=12)
    assert (event.start, event.end, event.n) == (0, 130, 60)


def test_evidence_alert_stays_while_nothing_comes() -> None:
    run = Run("recall{country=DE} < 0.9", false_alarms=1000)
    run.through(*[(19, 1)] * 5, *[(12, 8)] * 3)
    for number in range(8, 40):
        run.w.update(rows(number, 5, 5, "FR"))
        assert run.step(number + 1) == []
    assert run.state() == "firing"


def test_evidence_is_pending_from_a_tenth_of_an_alarm_on() -> None:
    run = Run("recall{all} < 0.9", false_alarms=1000)
    states = []
    for number, counts in enumerate([*[(15, 5)] * 4, *[(20, 0)] * 2]):
        run.through(counts, first=number)
        shown = run.alerts.states()[0]
        assert shown.log_threshold == pytest.approx(math.log(1000))
        assert shown.log_evidence is not None
        is_near = math.log(100) <= shown.log_evidence < math.log(1000)
        assert (shown.state == "pending") is is_near
        states.append(shown.state)
    assert set(states) == {"inactive", "pending"}
    assert states[-1] == "inactive"


def test_history_is_the_evidence_behind_each_decision() -> None:
    run = Run("recall{all} < 0.9", false_alarms=1000)
    counts: list[Counts | None] = [*[(15, 5)] * 4, None, (20, 0), *[(2, 18)] * 2, (20, 0)]
    for number, pane in enumerate(counts):
        run.through((0, 0) if pane is None else pane, first=number)
    history = dict(run.alerts.states()[0].history)
    since = 0
    for end in range(1, len(counts) + 1):
        if counts[end - 1] is None:
            assert PANE * end not in history, "it was not looked at"
            continue
        amount = evidence(counts[since:end], 0.9)[0]
        share = math.log(amount) / math.log(1000)
        assert history[PANE * end] == pytest.approx(min(max(share, 0.0), 1.0), abs=0.01)
        if amount >= 1000:
            assert history[PANE * end] == 1.0
            since = end
    assert brief(run.events)[0] == ("firing", PANE * (counts.index((2, 18)) + 1))


def test_history_is_bounded_and_unknown_to_older_checkpoints() -> None:
    run = Run("recall{all} < 0.9")
    run.through(*[(19, 1)] * 70)
    history = run.alerts.states()[0].history
    assert [end for end, _ in history] == [PANE * (number + 1) for number in range(10, 70)]
    stored = run.alerts.to_json()
    for series in stored.values():
        del series["looks"]
    run.alerts = Alerts.restore(run.rules, run.w, stored, **run.options)
    assert run.alerts.states()[0].history == ()
    run.through((19, 1), first=70)
    assert [end for end, _ in run.alerts.states()[0].history] == [PANE * 71]


def test_series_of_all_rules_and_slices_share_the_promise() -> None:
    rules = ["recall < 0.9", "accuracy{all} < 0.9", "recall < 1 for 1 pane", "coverage < 0.5"]
    alerts = Alerts(rules, windowed(), false_alarms=50)
    thresholds = [state.log_threshold for state in alerts.states()]
    assert thresholds == [math.log(200.0)] * 4 + [None] * 6
    by_time = windowed(pane="1m", unit="s")
    [state] = Alerts(["recall{all} < 0.9"], by_time).states()
    assert state.log_threshold == math.log(30 * 1440)


def test_pane_without_enough_examples_changes_nothing() -> None:
    run = Run("recall{all} < 0.8 for 2 panes, n >= 5")
    assert run.through((1, 9), (0, 4), (0, 0), (4, 4)) == run.events
    assert brief(run.events) == [("firing", 40)]
    assert run.through((4, 0), (0, 0), first=4) == []
    assert brief(run.through((10, 0), first=6)) == [("resolved", 70)]


def test_pending_comparison_that_fails_is_inactive_again() -> None:
    run = Run("recall{all} < 0.8 for 3 panes")
    states = []
    for number, counts in enumerate([(1, 9), (1, 9), (9, 1), (1, 9)]):
        run.through(counts, first=number)
        states.append(run.state())
    assert (states, run.events) == (["pending", "pending", "inactive", "pending"], [])


def test_rate_of_nothing_is_no_value() -> None:
    run = Run("recall{all} < 0.8 for 1 pane", "specificity{all} < 0.8 for 1 pane")
    run.through((10, 0))
    assert run.events == []
    assert [state.state for state in run.alerts.states()] == ["inactive"] * 2


def test_class_that_has_not_come_yet_is_no_value() -> None:
    w = se.Windowed(se.ConfusionAccumulator(classes="auto"), pane=PANE)
    run = Run("recall[b] < 0.5 for 1 pane", "recall[b] < 0.5", w=w)
    for number, labels in enumerate([["a", "c"], ["a", "b"], ["a"]]):
        times = [PANE * number] * len(labels)
        w.update({"y_true": labels, "y_pred": ["a"] * len(labels), "time": times})
        run.step(number + 1)
    assert brief(run.events) == [("firing", 20)]


def test_alarm_needs_the_whole_certified_interval_beyond_the_limit() -> None:
    w = se.Windowed(se.PRCurveSketch(16), pane=PANE)
    scores = np.random.default_rng(0).random(4000)
    batch = {"y_true": np.arange(4000) % 2, "y_score": scores, "time": np.zeros(4000, dtype=int)}
    w.update(batch)
    area = w.total().compute().roc_auc
    assert area.low < area.high
    for limit in (area.low, float(area), area.high):
        assert Run(f"roc_auc < {limit!r} for 1 pane", w=w).step(1) == []
    [event] = Run(f"roc_auc <= {area.high!r} for 1 pane", w=w).step(1)
    assert (event.value, event.certified) == (float(area), (area.low, area.high))


def test_losses_are_compared_with_a_ceiling() -> None:
    w = se.Windowed(se.RegressionAccumulator(), pane=PANE)
    run = Run("rmse > 2 for 2 panes", w=w)
    for number, error in enumerate([1.0, 3.0, 4.0, 2.0]):
        w.update({"y_true": [0.0], "y_pred": [error], "time": [PANE * number]})
        run.step(number + 1)
    assert [(event.state, event.value) for event in run.events] == [
        ("firing", 4.0),
        ("resolved", 2.0),
    ]
    assert run.events[0].interval is None


def test_undefined_values_are_none() -> None:
    w = se.Windowed(se.RegressionAccumulator(), pane=PANE)
    run = Run("r2 < 0.5 for 1 pane", w=w)
    w.update({"y_true": [1.0], "y_pred": [1.0], "time": [0]})  # of one row there is no variance
    assert run.step(1) == []


def test_member_of_a_collection_has_its_own_size() -> None:
    inner = se.Collection({"cm": se.ConfusionAccumulator()})
    w = se.Windowed(inner, pane=PANE)
    run = Run("cm/recall[1] < 0.8 for 1 pane, n >= 4", "cm/recall[1] < 0.8", w=w)
    batch = rows(0, 1, 3)
    w.update({name: batch[name] for name in ("y_true", "y_pred", "time")})
    [event] = run.step(1)
    assert (event.metric, event.n, event.value) == ("cm/recall[1]", 4, 0.25)


def test_coverage_is_the_share_of_rows_with_a_label() -> None:
    run = Run("coverage < 0.5 for 2 panes")
    for number, (labelled, blank) in enumerate([(1, 9), (5, 5), (0, 4), (1, 3), (3, 3)]):
        run.w.update(rows(number, labelled, 0, blank=blank))
        run.step(number + 1)
    found = {
        key: [(one.state, one.value, one.n) for one in run.events if (one.slice is None) is key]
        for key in (True, False)
    }
    assert found[True] == [("firing", 0.25, 4), ("resolved", 0.5, 6)]
    assert found[False] == found[True], "all rows are those of one slice"
    assert {event.metric for event in run.events} == {"coverage"}
    assert run.events[0].interval is None


def test_coverage_of_each_named_slice_is_watched() -> None:
    w = windowed()
    for country, labelled, blank in (("DE", 9, 1), ("FR", 1, 9), ("IT", 0, 9)):
        batch = rows(0, labelled, 0, country, blank=blank)
        w.update(batch)
    of_all = Alerts(["coverage < 0.5 for 1 pane"], w)
    events = of_all.step(w, PANE)
    assert [(event.slice, event.value, event.n) for event in events] == [
        (None, 10 / 29, 29),
        ({"country": "FR"}, 0.1, 10),
    ]
    one = Alerts(["coverage{country=DE} < 0.95 for 1 pane"], w)
    assert [event.value for event in one.step(w, PANE)] == [0.9]


def test_coverage_of_a_slice_that_is_not_known_changes_nothing() -> None:
    w = windowed().update(rows(0, 1, 0, "FR", blank=9))
    state = w._state
    panes = {key: attrs.evolve(pane, is_known=False) for key, pane in state.panes.items()}
    older = w._make(w._config, attrs.evolve(state, panes=panes))
    alerts = Alerts(["coverage < 0.5 for 1 pane"], older)
    assert [event.slice for event in alerts.step(older, PANE)] == [None]
    assert [state.state for state in alerts.states()] == ["firing", "inactive", "inactive"]


def test_panes_that_are_not_mature_do_not_count() -> None:
    run = Run("recall{all} < 0.8 for 1 pane")
    count(run.w, 0, [(9, 1)])
    count(run.w, 1, [(0, 9)])
    assert run.step(None) == []
    assert run.step(1) == []
    assert len(run.step(2)) == 1
    assert run.step(2) == []


def test_late_rows_change_no_decision() -> None:
    run = Run("recall{all} < 0.8 for 1 pane", "recall{all} < 0.8")
    run.through((9, 1), (0, 0), (9, 1))
    before = run.alerts.to_json()
    run.w.update(rows(0, 0, 50))
    run.w.update(rows(1, 0, 50))
    assert run.step(3) == []
    assert run.alerts.to_json() == before
    assert run.through((9, 1), first=3) == []


def test_rolled_up_panes_count_once() -> None:
    w = windowed(keep=2 * PANE, rollups=[(4 * PANE, None)])
    run = Run("recall{all} < 0.8 for 2 panes", w=w)
    for number in range(12):
        count(w, number, [(0, 1)] if number < 8 else [(1, 0)])
    assert [end for _, end, _ in w.panes()] == [40, 80, 90, 100, 110, 120]
    run.step(12)
    assert brief(run.events) == [("firing", 80), ("resolved", 90)]


def test_pane_that_was_looked_at_in_part_is_left_out() -> None:
    w = windowed(keep=2 * PANE, rollups=[(4 * PANE, None)])
    run = Run("recall{all} < 0.8 for 1 pane", w=w)
    count(w, 0, [(1, 0)])
    run.step(1)
    for number in range(1, 12):
        count(w, number, [(0, 1)])
    assert brief(run.step(12)) == [("firing", 80)]


def test_alarm_on_a_rolled_up_pane_is_of_that_pane() -> None:
    w = windowed(keep=PANE, rollups=[(8 * PANE, None)])
    run = Run("recall{all} < 0.8", w=w)
    for number in range(17):
        count(w, number, [(0, 5)])
    events = run.step(17)
    assert [(event.start, event.end, event.n) for event in events] == [(0, 80, 40)]


def test_new_rule_looks_at_the_panes_that_are_kept() -> None:
    run = Run("recall{all} < 0.8 for 3 panes")  # which does not look at them again
    run.through((9, 1), (1, 9))
    run.restart(*run.rules, "recall{country=DE} < 0.7 for 2 panes")
    [event] = run.through((1, 9), first=2)
    assert (event.rule, event.end) == ("recall{country=DE} < 0.7 for 2 panes", 30)
    assert run.state() == "pending"


def test_alert_of_a_rule_that_is_no_more_is_resolved() -> None:
    run = Run("recall{country=DE} < 0.8 for 1 pane", "recall{all} < 0.1 for 1 pane")
    run.through((1, 9))
    [fired] = run.events
    run.restart("coverage < 0.5")
    run.restart("coverage < 0.5")
    [event] = run.step(1, now=3.5)
    assert (event.state, event.rule, event.alert) == ("resolved", fired.rule, fired.id)
    assert (event.slice, event.value, event.at) == (
        {"country": "DE"},
        None,
        "1970-01-01T00:00:03.500000Z",
    )
    assert run.step(1) == []
    assert len({event.id, fired.id}) == 2


def test_restart_gives_the_same_ids() -> None:
    first, second = (Run("recall < 0.8 for 1 pane", "recall < 0.8") for _ in range(2))
    for run in (first, second):
        run.through((5, 5), (9, 1), (1, 9), (2, 8), (9, 1))
    assert [event.id for event in first.events] == [event.id for event in second.events]
    assert len(first.events) > 4


@each("n_at_once", [1, 3, 20])
def test_windows_that_slide_are_those_of_the_panes(n_at_once: int) -> None:
    run = Run("recall < 0.6 over 3 panes")
    for number in range(20):
        if number % 6:
            count(run.w, number, [(number % 7, 3), (3, number % 5)])
        if not (number + 1) % n_at_once or number == 19:
            run.step(number + 1)
    assert len(run.events) > 6
    for event in run.events:
        assert isinstance(event.end, int)
        window = run.w.window(30, end=event.end)
        part = window.total() if event.slice is None else window[event.slice["country"]]
        assert (event.value, event.n) == (part.compute().recall(), part.n)
        inside = [start for start, _, _ in run.w.panes() if event.end - 30 <= start < event.end]
        assert event.start == inside[0]


def test_windows_slide_over_panes_without_slices() -> None:
    w = se.Windowed(se.ConfusionAccumulator(), pane=PANE)
    run = Run("recall < 0.6 over 2 panes", w=w)
    for number, hits in enumerate([9, 2, 5, 9]):
        w.update(rows(number, hits, 10 - hits))
    assert [(event.start, event.end, event.value) for event in run.step(4)] == [
        (0, 20, 0.55),
        (20, 40, 0.7),
    ]


def test_window_does_not_hold_wider_panes_that_were_rolled_up() -> None:
    w = windowed(keep=2 * PANE, rollups=[(4 * PANE, None)])
    run = Run("recall{all} < 0.6 over 2 panes", w=w)
    for number in range(12):
        count(w, number, [(0, 1) if number < 8 else (1, 0)])
    count(w, 11, [(0, 9)])
    [event] = run.step(12)
    assert (event.start, event.end, event.n) == (100, 120, 11)


def test_step_that_raises_changes_nothing() -> None:
    w = se.Windowed(se.ConfusionAccumulator(), pane=PANE)
    run = Run("recall < 0.8", "no data for 10s", w=w)
    batch = {"y_true": [1, 1], "y_pred": [1, 1], "time": [0, PANE]}
    w.update(batch, sample_weight=[1, 0.5])
    before = run.alerts.to_json()
    with pytest.raises(InvalidInputError, match="had fractions"):
        run.step(2)
    assert run.alerts.to_json() == before


def test_silence_is_told_by_the_clock_alone() -> None:
    run = Run("no data for 10m")
    said = []
    for minute, n_rows in enumerate([0, 5, 9, *[9] * 11, 10, *[10] * 9]):
        said += [(minute, event) for event in run.step(None, status(n_rows), 60.0 * minute)]
    assert [(minute, event.state, event.start, event.at) for minute, event in said] == [
        (12, "firing", "1970-01-01T00:02:00Z", "1970-01-01T00:12:00Z"),
        (14, "resolved", "1970-01-01T00:02:00Z", "1970-01-01T00:14:00Z"),
    ]
    assert said[1][1].alert == said[0][1].id != said[1][1].id
    assert {event.metric for _, event in said} == {event.value for _, event in said} == {None}
    assert run.alerts.states() == (
        AlertState(
            "no data for 10m", None, None, "resolved", "1970-01-01T00:14:00Z", said[0][1].id
        ),
    )


def test_labels_that_nothing_waits_for_change_no_state() -> None:
    """So that a monitor without data has nothing to commit."""
    run = Run("labels stalled for 10m", "no data for 10m")
    states = []
    for minute in range(5):
        run.step(None, status(n_rows=7), 60.0 * minute)
        states.append(run.alerts.to_json())
    assert states[1:] == states[:-1]


def test_labels_are_stalled_only_while_predictions_wait() -> None:
    run = Run("labels stalled for 10m")
    told = []
    for minute, (labelled, pending) in enumerate(
        [(0, 0), *[(0, 0)] * 20, *[(0, 5)] * 11, (0.5, 5), *[(0.5, 5)] * 10, (0.5, 0)]
    ):
        seen = status(minute, labelled, pending)
        told += [(minute, event.state) for event in run.step(None, seen, 60.0 * minute)]
    assert told == [(31, "firing"), (32, "resolved"), (42, "firing"), (43, "resolved")]


def test_late_labels_are_a_share_of_the_newest() -> None:
    run = Run("late labels > 1%")
    told = []
    for minute, (labels, late) in enumerate(
        [(0, 0), (99, 50), (5000, 50), (5100, 102), (7000, 103), (9000, 103), (9100, 103)]
    ):
        seen = status(counters={"labels": labels, "late_label": late})
        told += [
            (minute, event.state, event.value, event.limit, event.n, event.metric)
            for event in run.step(None, seen, 60.0 * minute)
        ]
    assert told == [
        (3, "firing", 102 / 5100, 0.01, 5100, None),
        (6, "resolved", 0.0, 0.01, 2100, None),
    ]


@each(
    ("rule", "counter"),
    [
        ("bad rows > 5%", "refused"),
        ("bad rows > 5%", "future"),
        ("unmatched labels > 5%", "orphan"),
    ],
)
def test_share_of_rows_that_cannot_be_used(rule: str, counter: str) -> None:
    run = Run(rule)
    counter = {"orphan": "orphan_expired"}.get(counter, counter)
    told = []
    for minute, (rows, lost) in enumerate([(95, 5), (188, 12), (2000, 12), (3000, 12)]):
        counts = {"labels": rows} if "labels" in rule else {"labels": 10}
        n_rows = 0 if "labels" in rule else rows - 10
        seen = status(n_rows, counters=counts | {counter: lost})
        told += [(minute, one.state, one.value) for one in run.step(None, seen, 60.0 * minute)]
    n = 188 if "labels" in rule else 200
    assert told[0] == (1, "firing", 12 / n)
    assert [event[:2] for event in told[1:]] == [(2, "resolved")]


def test_share_begins_again_with_rows_that_were_only_held() -> None:
    run = Run("bad rows > 5%")
    for n_rows, bad, n_events in ((5000, 0, 0), (10, 0, 0), (95, 90, 1)):
        assert len(run.step(None, status(n_rows, counters={"refused": bad}), 0.0)) == n_events


@each(
    ("rule", "message"),
    [
        ("recal < 1", "'recal < 1': no metric 'recal': did you mean 'recall'?"),
        ("recall[2] < 1", "'recall[2] < 1': no class '2': "),
        ("roc_auc < 1 for 1 pane", "'roc_auc < 1 for 1 pane': no metric 'roc_auc'"),
        ("recall < 1.5", "'recall < 1.5': the limit must lie strictly between 0 and 1"),
        (
            "cohen_kappa < 0.5",
            "'cohen_kappa < 0.5': `cohen_kappa` has no evidence that stays valid however often",
        ),
        ("recall{city=DE} < 1", "'recall{city=DE} < 1': no slices by 'city': choose from country."),
        (
            "recall{country=ES} < 1",
            "'recall{country=ES} < 1': no named slice {country=ES}: did you mean '{country=DE}'?",
        ),
        (
            "recall < 1 for 1h",
            "'recall < 1 for 1h': must be in panes, because a pane is a number of steps",
        ),
    ],
)
def test_rule_about_what_is_not_there_is_refused(rule: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}"):
        Alerts([rule], windowed(), false_alarms=10)


def test_metric_without_evidence_may_be_compared() -> None:
    with pytest.raises(InvalidInputError) as refused:
        Alerts(["rmse > 2"], se.Windowed(se.RegressionAccumulator(), pane=PANE), false_alarms=10)
    assert str(refused.value) == (
        "'rmse > 2': `rmse` has no evidence that stays valid however often you look: nothing "
        "bounds the errors that may come. A comparison of the value takes any metric: "
        "'rmse > 2 for 3 panes'."
    )


def test_slices_must_be_named() -> None:
    inner = se.ConfusionAccumulator()
    with pytest.raises(InvalidInputError, match="names a slice, but panes are not a Sliced"):
        Alerts(["recall{country=DE} < 1 for 1 pane"], se.Windowed(inner, pane=PANE))
    unnamed = se.Windowed(se.Sliced(inner, "country"), pane=PANE)
    with pytest.raises(InvalidInputError, match="name it in `values` of the `Sliced`"):
        Alerts(["recall{country=DE} < 1 for 1 pane"], unnamed)
    assert len(Alerts(["recall < 1 for 1 pane"], unnamed).states()) == 1


@pytest.mark.parametrize(
    ("rule", "values", "is_overlooking"),
    [
        ("recall < 0.5", None, True),
        ("recall < 0.5 for 1 pane", None, True),
        ("recall{all} < 0.5", None, False),
        ("no data for 1h", None, False),
        ("recall < 0.5", ["DE"], False),
    ],
)
def test_a_rule_that_sees_no_slice_is_told(rule, values, is_overlooking) -> None:
    """A monitor by model, whose rule looks at no model, would be silent where it matters."""
    sliced = se.Sliced(se.ConfusionAccumulator(), "country", values=values or [])
    notes = Alerts([rule], se.Windowed(sliced, pane="1m")).notes
    start = [f"the rule {rule!r} looks at no slice, because none is named"] * is_overlooking
    assert [note[: len(told)] for note, told in zip(notes, start, strict=True)] == start


def test_slices_of_several_columns_are_named_by_all() -> None:
    inner = se.Sliced(se.ConfusionAccumulator(), ["a", "b"], values=[("x", 1), ("x", None)])
    w = se.Windowed(inner, pane=PANE)
    states = Alerts(["recall{b=(missing), a=x} < 1 for 1 pane", "accuracy < 1, n >= 1"], w).states()
    assert [state.slice for state in states] == [
        {"a": "x", "b": None},
        None,
        {"a": "x", "b": 1},
        {"a": "x", "b": None},
    ]


@each(("text", "value"), [("1", 1), ("'1'", "1"), ("x", "x")])
def test_quotes_tell_a_text_from_a_number(text: str, value: Any) -> None:
    inner = se.Sliced(se.ConfusionAccumulator(), "a", values=["1", 1, "x"])
    [state] = Alerts([f"recall{{a={text}}} < 1, n >= 1"], se.Windowed(inner, pane=PANE)).states()
    assert state.slice == {"a": value}


def test_result_without_a_table_has_no_metric() -> None:
    w = se.Windowed(WinRate(), pane=PANE)
    with pytest.raises(InvalidInputError, match="needs a result with a table of metrics, got a"):
        Alerts(["win_rate < 1 for 1 pane"], w)
    assert Alerts(["coverage < 1"], w).states()
    member = se.Windowed(se.Collection({"own": WinRate()}), pane=PANE)
    with pytest.raises(InvalidInputError, match="has a result without a table of metrics"):
        Alerts(["own/win_rate < 1 for 1 pane"], member)


def test_durations_are_whole_panes() -> None:
    w = windowed(pane="5m", unit="s")
    alerts = Alerts(["recall{all} < 1 over 1h for 15m"], w)
    assert len(alerts.states()) == 1
    with pytest.raises(InvalidInputError, match="12m must be a multiple of the pane, 5m"):
        Alerts(["recall < 1 for 12m"], w)


def test_promise_in_time_needs_panes_in_time() -> None:
    with pytest.raises(InvalidInputError, match="`false_alarms` must be the mean number of panes"):
        Alerts(["recall < 0.8"], windowed())
    assert Alerts(["coverage < 0.8"], windowed()).states()


def test_times_are_iso_8601() -> None:
    w = windowed(pane="1m", unit="s")
    w.update(rows(6, 1, 9))
    alerts = Alerts(["recall{all} < 0.8, n >= 1"], w)
    [event] = alerts.step(w, np.datetime64("1970-01-01T00:02", "us"), status(), 120.25)
    assert (event.start, event.end) == ("1970-01-01T00:01:00Z", "1970-01-01T00:02:00Z")
    assert event.at == "1970-01-01T00:02:00.250000Z"
    json.dumps(event.to_json(), allow_nan=False)


@each("stored", [None, {}, {"state": "firing"}])
def test_corrupt_state_is_refused(stored: Any) -> None:
    alerts = Alerts(["recall{all} < 0.8"], windowed(), false_alarms=10)
    [key] = alerts.to_json()
    for rules in (["recall{all} < 0.8"], []):
        with pytest.raises(CorruptStateError, match="state is corrupt: an alert"):
            Alerts.restore(rules, windowed(), {key: stored}, false_alarms=10)


def test_corrupt_sums_are_refused() -> None:
    alerts = Alerts(["recall{all} < 0.8"], windowed(), false_alarms=10)
    [(key, stored)] = alerts.to_json().items()
    with pytest.raises(CorruptStateError, match="state is corrupt: the sums of an alert"):
        Alerts.restore(
            ["recall{all} < 0.8"], windowed(), {key: stored | {"sums": "AAAA" * 2}}, false_alarms=10
        )


def test_equal_rules_are_one() -> None:
    alerts = Alerts(["recall{all}<.8", "recall{all} < 0.80"], windowed(), false_alarms=10)
    assert len(alerts.states()) == 1


def test_unknown_metric_keeps_its_type() -> None:
    with pytest.raises(UnknownMetricError):
        Alerts(["recal < 0.5 for 1 pane"], windowed())


def test_terminal_names_the_slice_of_an_event_as_rules_do() -> None:
    event = Event(
        id="1",
        alert="1",
        rule="recall < 0.8 for 1 pane",
        state="firing",
        at="1970-01-01T00:00:00Z",
        slice={"country": None, "device": "a, b", "version": "1"},
    )
    named = 'country=(missing),device="a, b",version="1"'
    assert event_text(event) == f"recall < 0.8 for 1 pane {named} is firing"
