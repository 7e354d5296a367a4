"""The recipe for OpenTelemetry in the docs, with its SDK."""

import importlib.util
from pathlib import Path

import pytest

import streameval as se
from streameval.monitoring.prometheus import MonitorCollector

pytestmark = pytest.mark.server(name="opentelemetry")

RECIPE = Path(__file__).parents[2] / "docs" / "monitoring" / "otel_callbacks.py"


def test_instruments_observe_what_is_exported(tmp_path):
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    spec = importlib.util.spec_from_file_location("otel_callbacks", RECIPE)
    recipe = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(recipe)
    log = tmp_path / "log.csv"
    log.write_text("ts,y_true,y_pred\n0,1,1\n30,0,1\n70,1,1\n")
    windowed = se.Windowed(se.ConfusionAccumulator(), pane="1m", unit="s")
    reader = InMemoryMetricReader()
    meter = MeterProvider(metric_readers=[reader]).get_meter("test")
    with se.Monitor(tmp_path / "ck.db", windowed, predictions=str(log), time="ts") as monitor:
        collector = MonitorCollector(monitor, metrics=["accuracy"], level=0)
        recipe.observe(collector, meter)
        monitor.step()
        (resource,) = reader.get_metrics_data().resource_metrics
    (scope,) = resource.scope_metrics
    found = {
        (metric.name, *sorted(point.attributes.items())): point.value
        for metric in scope.metrics
        for point in metric.data.data_points
    }
    expected = {
        (family.name, *sorted(sample.labels.items())): sample.value
        for family in collector.collect()
        for sample in family.samples
    }
    assert found == expected
    cell = ("actual", "1"), ("predicted", "1"), ("slice", "all")
    assert found["streameval_confusion", *cell] == 2
