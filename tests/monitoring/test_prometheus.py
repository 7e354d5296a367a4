"""What a monitor exports to Prometheus."""

import datetime as dt
import importlib
import re
import sys
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from monitoring.memory import Clock, Rows, ServedRows
from offenders import each
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as openmetrics_families,
)
from prometheus_client.parser import text_string_to_metric_families as text_families
from win_rate import WinRate

import streameval as se
from streameval.inputs.values import rank_of
from streameval.monitoring.alerts import parse_rule
from streameval.monitoring.checkpoint import Checkpoint
from streameval.monitoring.prometheus import MonitorCollector
from streameval.monitoring.rule_text import slice_text

START = 1_699_999_980
OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
HOSTILE = ['a"b', "back\\slash", "new\nline", "}=1 2", "\x00\x1b[2J", "\u2028", "é", "", " ", "{}"]


def rows(*several):
    """Make rows of second, truth, prediction and more."""
    return [
        {"ts": START + second, "y_true": truth, "y_pred": prediction, **more}
        for second, truth, prediction, more in (
            (*row, {}) if len(row) == 3 else row for row in several
        )
    ]


def windowed(inner=None, **options):
    counted = se.ConfusionAccumulator() if inner is None else inner
    return se.Windowed(counted, pane="1m", unit="s", **options)


@pytest.fixture
def start(tmp_path):
    """Start a monitor on the checkpoint of the test."""

    def start(predictions, accumulator=None, **options):
        source = predictions if isinstance(predictions, Rows) else Rows(a=predictions)
        given = {"time": "ts", "clock": Clock()} | options
        accumulator = windowed() if accumulator is None else accumulator
        return se.Monitor(tmp_path / "ck.db", accumulator, predictions=source, **given)

    return start


@pytest.fixture
def exported(start):
    """Count rows in one step, and return what is exported then."""

    def exported(predictions, accumulator=None, *, options=None, **chosen):
        with start(predictions, accumulator, **(options or {})) as monitor:
            monitor.step()
            return samples(MonitorCollector(monitor, **chosen))

    return exported


def samples(collector, families=text_families, accept=""):
    """Render and parse: the value of each series, by its name and labels."""
    _, body = collector.response(accept)
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in families(body.decode())
        for sample in family.samples
    }


def of(found, name, **labels):
    """Return the value of one series."""
    return found[name, *sorted(labels.items())]


def every(found, name):
    """Return the values of all series of a name, by their labels."""
    return {tuple(dict(key[1:]).values()): value for key, value in found.items() if key[0] == name}


def counters(found):
    suffixes = ("_total", "_bucket", "_sum", "_count")
    return {key: value for key, value in found.items() if key[0].endswith(suffixes)}


def test_rows_are_counted_by_truth_and_prediction(exported):
    found = exported(rows((0, 1, 1), (1, 1, 0), (2, 0, 0), (3, 1, 1)))
    cells = every(found, "streameval_confusion_total")
    assert cells == {
        ("0", "0", "all"): 1,
        ("0", "1", "all"): 0,
        ("1", "0", "all"): 1,
        ("1", "1", "all"): 2,
    }
    assert of(found, "streameval_examples_total", slice="all") == 4


def test_fractions_of_weights_are_counted(exported):
    weighted = [row | {"sample_weight": 0.5} for row in rows((0, 1, 1), (1, 1, 1), (2, 1, 1))]
    found = exported(weighted)
    assert of(found, "streameval_confusion_total", slice="all", actual="1", predicted="1") == 1.5


def test_scores_are_a_histogram(exported):
    scored = [{"ts": START + i, "y_true": i % 2, "y_score": i / 16} for i in range(16)]
    found = exported(scored, windowed(se.PRCurveSketch()))
    labels = {"slice": "all", "actual": "1"}
    assert of(found, "streameval_score_bucket", le="0.5", **labels) == 4
    assert of(found, "streameval_score_bucket", le="+Inf", **labels) == 8
    assert of(found, "streameval_score_count", **labels) == 8
    assert of(found, "streameval_score_sum", **labels) == pytest.approx(4.0, rel=1 / 64)


def test_histogram_of_any_numbers_has_no_sum(exported):
    scored = [{"ts": START, "y_true": 1, "y_score": -3.0}]
    found = exported(scored, windowed(se.PRCurveSketch(scores="real")))
    assert of(found, "streameval_score_bucket", slice="all", actual="1", le="-2.0") == 1
    assert not every(found, "streameval_score_sum")


def test_what_is_left_out_is_said(exported):
    scored = [{"ts": START, "y_true": 1, "y_score": 0.5}]
    found = exported(scored, windowed(se.PRCurveSketch(16)))
    assert not every(found, "streameval_score_bucket")
    assert of(found, "streameval_left_out", family="streameval_score") == 2
    assert of(found, "streameval_left_out", family="streameval_confusion") == 0


def test_matrix_of_many_classes_is_left_out(exported):
    found = exported(rows((0, 1, 1)), windowed(se.ConfusionAccumulator(33)))
    assert not every(found, "streameval_confusion_total")
    assert of(found, "streameval_left_out", family="streameval_confusion") == 33 * 33


def test_labels_of_multilabel_rows_are_counted_one_by_one(exported):
    accumulator = se.ConfusionAccumulator(["a", "b"], multilabel=True)
    found = exported(rows((0, [1, 0], [1, 1])), windowed(accumulator))
    series = {"slice": "all", "label": "b", "actual": "0", "predicted": "1"}
    assert of(found, "streameval_label_confusion_total", **series) == 1
    assert of(found, "streameval_label_confusion_total", **series | {"label": "a"}) == 0


def test_members_of_a_collection_are_told_apart(exported):
    inner = se.Collection(
        {"cm": se.ConfusionAccumulator(), "curve": se.PRCurveSketch()},
        columns={"cm": {"y_pred": "y_score"}},
    )
    scored = [{"ts": START + i, "y_true": 1, "y_score": 0.7} for i in (0, 61)]
    found = exported(scored, windowed(inner), metrics=["cm/recall[1]"], level=0)
    cell = {"slice": "all", "actual": "1", "predicted": "1", "member": "cm"}
    assert of(found, "streameval_confusion_total", **cell) == 2
    assert of(found, "streameval_score_count", slice="all", actual="1", member="curve") == 2
    assert every(found, "streameval_value") == {("value", "cm/recall[1]", "all", "1m"): 1}


def by_country(*values, max_values=100):
    inner = se.Sliced(se.ConfusionAccumulator(), "country", values=values, max_values=max_values)
    return windowed(inner)


def test_sum_over_slices_counts_each_row_once(exported):
    found = exported(
        rows(*((i, 1, 1, {"country": name}) for i, name in enumerate(["DE", "FR", "FR", "IT"]))),
        by_country("DE", "FR", "ES", max_values=3),
    )
    assert every(found, "streameval_examples_total") == {
        ("country=DE",): 1,
        ("country=FR",): 2,
        ("country=ES",): 0,
        ("other",): 1,
    }
    assert sum(every(found, "streameval_confusion_total").values()) == 4


def test_other_rows_are_counted_from_zero_on(exported):
    found = exported(rows((0, 1, 1, {"country": "DE"})), by_country("DE"))
    cell = {"slice": "other", "actual": "1", "predicted": "1"}
    assert of(found, "streameval_confusion_total", **cell) == 0


def test_values_are_those_of_slices_and_of_all_rows(exported):
    several = [(0, 1, 1, "DE"), (1, 1, 0, "FR"), (2, 1, 1, "IT"), (3, 1, 0, "ES"), (60, 1, 1, "DE")]
    found = exported(
        rows(*((second, y, p, {"country": name}) for second, y, p, name in several)),
        by_country("DE", "FR", max_values=2),
        metrics=["recall[1]"],
        level=0,
    )
    assert every(found, "streameval_value") == {
        ("value", "recall[1]", "all", "1m"): 0.5,
        ("value", "recall[1]", "country=DE", "1m"): 1,
        ("value", "recall[1]", "country=FR", "1m"): 0,
        ("value", "recall[1]", "other", "1m"): 0.5,
    }


def test_slice_that_the_total_has_turned_away_is_among_the_others(exported):
    kept, away = sorted(["DE", "FR"], key=rank_of)
    found = exported(
        rows(
            *((second, 1, 1, {"country": c}) for second, c in ((0, kept), (61, away), (122, kept)))
        ),
        by_country(max_values=1),
        metrics=["accuracy"],
        level=0,
    )
    named = slice_text({"country": kept})
    assert every(found, "streameval_examples_total") == {(named,): 2, ("other",): 1}
    assert every(found, "streameval_value") == {
        ("value", "accuracy", "all", "1m"): 1,
        ("value", "accuracy", "other", "1m"): 1,
    }


def test_only_mature_windows_are_exported(start):
    first = rows((0, 1, 1), (30, 0, 1))
    source = Rows(a=first)
    with start(source, allowed_lateness="30s") as monitor:
        collector = MonitorCollector(monitor, windows=["2m"], metrics=["accuracy"], level=0)
        monitor.step()
        assert every(samples(collector), "streameval_value") == {}
        source.add("a", *rows((89, 1, 1)))
        monitor.step()
        assert every(samples(collector), "streameval_value") == {}
        source.add("a", *rows((90, 1, 1)))
        monitor.step()
        found = samples(collector)
        assert every(found, "streameval_value") == {
            ("value", "accuracy", "all", "1m"): 0.5,
            ("value", "accuracy", "all", "2m"): 0.5,
        }
        end = START + 60
        assert every(found, "streameval_value_time_seconds") == {("1m",): end, ("2m",): end}
        assert of(found, "streameval_mature_until_seconds") == end
        assert of(found, "streameval_watermark_seconds", source="predictions") == START + 90
        assert of(found, "streameval_last_event_time_seconds") == START + 90


def test_mature_pane_without_rows_has_no_value(exported):
    found = exported(rows((0, 1, 1), (130, 1, 1)), windows=["2m"], metrics=["accuracy"], level=0)
    assert every(found, "streameval_value") == {("value", "accuracy", "all", "2m"): 1}


def test_windows_of_one_width_are_one(exported):
    widths = ["60s", "2m", dt.timedelta(minutes=2)]
    found = exported(rows((0, 1, 1), (130, 1, 1)), windows=widths, metrics=["accuracy"], level=0)
    assert every(found, "streameval_value") == {("value", "accuracy", "all", "2m"): 1}


def test_alert_that_is_given_twice_has_one_series(start):
    rule = "recall[1] < 0.8 for 1 pane"
    with start(rows((0, 1, 0), (61, 1, 1)), alerts=[rule, rule]) as monitor:
        monitor.step()
        _, body = MonitorCollector(monitor).response()
    assert body.decode().count("streameval_alert{") == 1


def test_window_that_is_no_longer_kept_is_left_out(exported):
    found = exported(
        rows((0, 1, 1), (130, 1, 1), (190, 1, 1)),
        windowed(keep="2m"),
        windows=["3m"],
        metrics=["accuracy"],
        level=0,
    )
    assert every(found, "streameval_value") == {("value", "accuracy", "all", "1m"): 1}
    assert of(found, "streameval_left_out", family="streameval_value") == 1


def test_bounds_have_series_of_their_own(exported):
    scored = [{"ts": START + i, "y_true": i % 2, "y_score": (i * 7 % 11) / 11} for i in range(61)]
    found = exported(scored, windowed(se.PRCurveSketch(8)), metrics=["roc_auc"])
    bounds = {labels[0]: value for labels, value in every(found, "streameval_value").items()}
    assert bounds["certified_low"] < bounds["value"] < bounds["certified_high"]
    assert bounds["sampling_low"] < bounds["certified_low"]
    assert bounds["sampling_high"] > bounds["certified_high"]


def test_headline_metrics_are_the_usual_ones(exported):
    found = exported(rows((0, 1, 1), (70, 1, 1)))
    names = {labels[1] for labels in every(found, "streameval_value")}
    assert names == set(se.ConfusionAccumulator().compute().headline())


def test_undefined_value_has_no_series(exported):
    scored = [{"ts": START + i, "y_true": 1, "y_score": 0.5} for i in (0, 61)]
    found = exported(scored, windowed(se.PRCurveSketch()), metrics=["roc_auc"])
    assert every(found, "streameval_value") == {}


def test_class_that_no_row_has_yet_has_no_series(exported):
    found = exported(
        rows((0, "a", "a"), (70, "a", "a")),
        windowed(se.ConfusionAccumulator("auto")),
        metrics=["recall[b]", "recall[a]"],
        level=0,
    )
    assert every(found, "streameval_value") == {("value", "recall[a]", "all", "1m"): 1}


def test_result_of_a_class_of_ones_own_has_no_values(exported):
    source = [{"ts": START + i, "preference": "a"} for i in (0, 61)]
    found = exported(source, windowed(WinRate()))
    assert of(found, "streameval_examples_total", slice="all") == 2
    assert every(found, "streameval_value") == {}


def test_coverage_of_each_slice_is_exported(exported):
    inner = se.Sliced(se.ConfusionAccumulator(), "country", values=["DE"], max_values=2)
    known = [("DE", 1), ("DE", None), ("FR", 1), ("FR", None), ("FR", None), ("FR", None)]
    last = (60, 1, 1, {"country": "DE"})
    given = rows(*((0, truth, 1, {"country": country}) for country, truth in known), last)
    found = exported(given, windowed(inner), windows=["2m", "1h"])
    shares = {"all": 2 / 6, "country=DE": 1 / 2, "country=FR": 1 / 4}
    assert every(found, "streameval_label_coverage") == {
        (name, width): share for name, share in shares.items() for width in ("1m", "2m", "1h")
    }


def test_coverage_of_other_rows_is_exported_where_it_is_known(exported):
    inner = se.Sliced(se.ConfusionAccumulator(), ["country"], values=["DE"], max_values=1)
    given = rows(
        *((0, truth, 1, {"country": country}) for country in "AB" for truth in (1, 0, None)),
        (60, 1, 1, {"country": "DE"}),
    )
    found = exported(given, windowed(inner))
    assert every(found, "streameval_label_coverage") == {
        ("all", "1m"): 4 / 6,
        ("other", "1m"): 4 / 6,
    }


def joined(start, predictions, labels, **options):
    given = {"key": "id", "wait": "1m", "labels": Rows("labels", b=labels)} | options
    return start(Rows("predictions", a=predictions), **given)


def test_labels_and_what_the_join_made_of_them_are_counted(start):
    predictions = [{"id": i, "ts": START + 20 * i, "y_pred": 1} for i in range(10)]
    labels = [{"id": i, "ts": START + 20 * i, "y_true": 1} for i in (0, 0, 1, 9)]
    with joined(start, predictions, labels) as monitor:
        monitor.step()
        found = samples(MonitorCollector(monitor, windows=["2m"]))
    assert of(found, "streameval_predictions_total") == 10
    assert of(found, "streameval_labels_total") == 4
    assert of(found, "streameval_labelled_total") == 3
    assert of(found, "streameval_counted_total") == 3 + of(
        found, "streameval_join_total", outcome="unlabelled"
    )
    assert of(found, "streameval_join_total", outcome="joined") == 3
    assert of(found, "streameval_join_total", outcome="duplicate_label") == 1
    assert of(found, "streameval_join_total", outcome="conflicting") == 0
    assert of(found, "streameval_pending") == monitor.status().n_pending > 0
    assert of(found, "streameval_label_coverage", window="1m", slice="all") == 0
    assert of(found, "streameval_label_coverage", window="2m", slice="all") == 2 / 6
    assert of(found, "streameval_watermark_seconds", source="labels") == START + 180


def test_log_ahead_of_the_clock_is_exported(exported):
    given = rows((0, 1, 1), (60, 1, 1))
    assert of(exported(given), "streameval_waiting_for_clock") == 0
    given = rows(*((60 * at, 1, 1) for at in range(200)))
    assert of(exported(given), "streameval_waiting_for_clock") == 1


def test_monitor_without_labels_counts_none(exported):
    found = exported(rows((0, 1, 1)))
    assert not every(found, "streameval_join_total")
    assert not every(found, "streameval_labels_total")


def test_late_and_bad_rows_are_counted(start):
    wrong = [*rows((0, 1, 1), (130, 1, 1), (1, 1, 1), (2, 7, 1), (10**6, 1, 1)), "{"]
    with start(wrong, max_bad=10) as monitor:
        monitor.step()
        found = samples(MonitorCollector(monitor))
    assert of(found, "streameval_late_total") == 1
    assert every(found, "streameval_bad_rows_total") == {
        ("unreadable",): 1,
        ("refused",): 1,
        ("future",): 1,
    }
    assert of(found, "streameval_commits_total") == 1
    assert of(found, "streameval_last_commit_time_seconds") == Clock().now


def test_what_servers_have_lost_is_counted_from_zero_on(start):
    source = ServedRows(a=rows((0, 1, 1)))
    with start(source) as monitor:
        collector = MonitorCollector(monitor)
        monitor.step()
        names = ("streameval_lost_rows_total", "streameval_disconnections_total")
        assert [of(samples(collector), name) for name in names] == [0, 0]
        source.counted = {"lost": 7, "disconnected": 1}
        monitor.step()
        assert [of(samples(collector), name) for name in names] == [7, 1]


def test_alert_is_one_while_it_fires(start):
    source = Rows(a=rows((0, 1, 0), (61, 1, 0, {}), (122, 1, 1)))
    with start(source, alerts=["recall[1] < 0.8 for 1 pane", "no data for 10m"]) as monitor:
        collector = MonitorCollector(monitor)
        monitor.step()
        assert every(samples(collector), "streameval_alert") == {
            ("recall[1] < 0.8 for 1 pane", "all"): 1,
            ("no data for 10m", "all"): 0,
        }
        source.add("a", *rows((183, 1, 1)))
        monitor.step()
        assert set(every(samples(collector), "streameval_alert").values()) == {0}


def test_alerts_are_of_slices(exported):
    found = exported(
        rows((0, 1, 0, {"country": "DE"}), (61, 1, 1, {"country": "DE"})),
        by_country("DE", "FR"),
        options={"alerts": ["recall[1] < 0.8 for 1 pane"]},
    )
    fired = {labels[1]: value for labels, value in every(found, "streameval_alert").items()}
    assert fired == {"all": 1, "country=DE": 1, "country=FR": 0}


def test_steps_are_no_seconds(tmp_path):
    accumulator = se.Windowed(se.ConfusionAccumulator(), pane=10, time="time")
    source = Rows(a=[{"step": i, "y_true": 1, "y_pred": 1} for i in range(25)])
    with se.Monitor(tmp_path / "ck.db", accumulator, predictions=source, time="step") as monitor:
        monitor.step()
        found = samples(MonitorCollector(monitor, windows=[20], metrics=["accuracy"], level=0))
    assert every(found, "streameval_value_time_steps") == {("10",): 20, ("20",): 20}
    assert of(found, "streameval_watermark_steps", source="predictions") == 24
    assert of(found, "streameval_last_event_time_steps") == 24
    of_clock = {"streameval_config_last_reload_success_time_seconds"}
    names = {name for name, *_ in found if name.endswith("_seconds") and "commit" not in name}
    assert names == of_clock


@attrs.frozen
class Stub:
    """A monitor that stays at one commit."""

    last: Any

    def status(self):
        return self.last.status

    def snapshot(self):
        return self.last


def test_no_window_is_exported_while_nothing_is_known_to_be_mature(start):
    with start(rows((0, 1, 1), (70, 1, 1))) as monitor:
        monitor.step()
        last = monitor.snapshot()
    status = attrs.evolve(last.status, mature_until=None)
    found = samples(MonitorCollector(Stub(attrs.evolve(last, status=status))))
    assert of(found, "streameval_examples_total", slice="all") == 2
    assert every(found, "streameval_value") == {}


def test_monitor_without_an_accumulator_yet_exports_its_status(start):
    with start([]) as monitor:
        last = attrs.evolve(monitor.snapshot(), windowed=None)
    found = samples(MonitorCollector(Stub(last), metrics=["recall[1]"]))
    assert of(found, "streameval_predictions_total") == 0


def test_nothing_is_counted_before_the_first_rows(start):
    with start([]) as monitor:
        found = samples(MonitorCollector(monitor))
    assert of(found, "streameval_commits_total") == 0
    assert not every(found, "streameval_last_commit_time_seconds")
    assert not every(found, "streameval_confusion_total")


def test_openmetrics_is_sent_to_those_who_accept_it(start):
    with start(rows((0, 1, 1), (70, 1, 1))) as monitor:
        monitor.step()
        collector = MonitorCollector(monitor)
        content_type, body = collector.response(OPENMETRICS)
        assert content_type.startswith("application/openmetrics-text; version=1.0.0")
        assert body.endswith(b"# EOF\n")
        content_type, _ = collector.response("text/html")
        assert content_type.startswith("text/plain; version=")
        assert samples(collector, openmetrics_families, OPENMETRICS) == samples(collector)


@pytest.mark.parametrize("families", [text_families, openmetrics_families])
def test_hostile_labels_are_what_they_were(exported, start, families):
    found = [{"country": name, "y": name} for name in HOSTILE]
    several = rows(*((i, one["y"], one["y"], one) for i, one in enumerate(found)), (90, "é", "é"))
    accumulator = windowed(se.Sliced(se.ConfusionAccumulator("auto"), "country", values=HOSTILE))
    with start(several[:-1], accumulator) as monitor:
        monitor.step()
        accept = OPENMETRICS if families is openmetrics_families else ""
        read = samples(MonitorCollector(monitor), families, accept)
    cells = [dict(key[1:]) for key, value in read.items() if "confusion_total" in key[0] and value]
    assert sorted(cell["actual"] for cell in cells) == sorted(HOSTILE)
    assert {cell["slice"] for cell in cells} == {slice_text({"country": n}) for n in HOSTILE}


VALUES = st.one_of(st.none(), st.integers(), st.text(max_size=8))


@given(st.lists(st.tuples(VALUES, VALUES), min_size=2, max_size=2, unique_by=repr))
def test_different_slices_have_different_names(pairs):
    one, two = (slice_text(dict(zip("ab", pair, strict=True))) for pair in pairs)
    assert one != two


@each("value", [1, "1", -3, "-3", None, "(missing)", "DE", "a,b=c", 'say "x"'])
def test_name_of_a_slice_is_what_rules_call_it(value):
    rule = parse_rule(f"accuracy{{{slice_text({'country': value})}}} < 0.5")
    others = [v for v in (1, "1", -3, "-3", None, "(missing)") if v != value]
    assert rule.selector.chooses({"country": value})
    chosen = [other for other in others if rule.selector.chooses({"country": other})]
    assert chosen in ([], [str(value)], ["(missing)"])  # what is bare means text too


def test_what_is_committed_is_computed_once(start, monkeypatch):
    source = Rows(a=rows((0, 1, 1)))
    with start(source) as monitor:
        collector = MonitorCollector(monitor)
        monitor.step()
        calls = []
        taken = se.Monitor.snapshot
        monkeypatch.setattr(se.Monitor, "snapshot", lambda self: calls.append(1) or taken(self))
        assert samples(collector) == samples(collector)
        assert len(calls) == 1
        source.add("a", *rows((1, 1, 1)))
        monitor.step()
        assert of(samples(collector), "streameval_examples_total", slice="all") == 2
        assert len(calls) == 2


def test_two_monitors_in_one_registry_are_refused(start):
    registry = CollectorRegistry()
    with start([]) as monitor:
        registry.register(MonitorCollector(monitor))
        with pytest.raises(ValueError, match="Duplicated timeseries"):
            registry.register(MonitorCollector(monitor))


@pytest.mark.slow
def test_counters_do_not_fall_when_a_monitor_dies_before_its_commit(start, monkeypatch):
    rng = np.random.default_rng(7)
    source, before = Rows(a=[]), {}
    inner = se.Collection(
        {"cm": se.ConfusionAccumulator(), "curve": se.PRCurveSketch(4096)},
        columns={"cm": {"y_pred": "y_score"}},
    )
    commit = Checkpoint.commit
    monitor = start(source, windowed(inner, keep="2m"), read_bytes=1000)
    for second in range(0, 360, 30):
        scores = rng.random(40)
        more = [
            {"ts": START + second + i % 30, "y_true": int(rng.random() < s), "y_score": s}
            for i, s in enumerate(scores.tolist())
        ]
        source.add("a", *more)
        collector = MonitorCollector(monitor)
        if second % 60:
            monkeypatch.setattr(Checkpoint, "commit", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                monitor.step()
            monkeypatch.setattr(Checkpoint, "commit", commit)
            monitor.close()
            monitor = start(source, windowed(inner, keep="2m"), read_bytes=1000)
            collector = MonitorCollector(monitor)
        else:
            monitor.step()
        now = counters(samples(collector))
        assert [key for key, value in before.items() if now[key] < value] == []
        before = now
    monitor.step()
    assert of(counters(samples(collector)), "streameval_predictions_total") == 480
    monitor.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": ["recal"]}, "no metric 'recal'"),
        ({"windows": ["90s"]}, "`windows` must be a multiple of the pane, '1m', got '90s'"),
        ({"level": 1.0}, "`level`"),
    ],
)
def test_wrong_options_are_refused(start, options, message):
    with start([]) as monitor, pytest.raises(se.InvalidInputError, match=message):
        MonitorCollector(monitor, **options)


def test_metrics_of_a_class_of_ones_own_are_refused(start):
    message = "`metrics` needs a result with a table"
    refused = pytest.raises(se.InvalidInputError, match=message)
    with start([], windowed(WinRate())) as monitor, refused:
        MonitorCollector(monitor, metrics=["win_rate"])


def test_missing_client_is_named_with_what_installs_it(monkeypatch):
    monkeypatch.delitem(sys.modules, MonitorCollector.__module__)
    monkeypatch.setitem(sys.modules, "prometheus_client.core", None)
    message = 'prometheus_client is missing: pip install "streameval[prometheus]".'
    with pytest.raises(ImportError, match=re.escape(message)):
        importlib.import_module(MonitorCollector.__module__)
