"""Observe what a monitor exports as instruments of OpenTelemetry; histograms cannot be observed."""

from opentelemetry.metrics import Observation, get_meter


def observe(collector, meter=None):
    """Make an instrument for each counter and gauge of a `MonitorCollector`."""
    meter = meter or get_meter("streameval")
    makers = {
        "counter": meter.create_observable_counter,
        "gauge": meter.create_observable_gauge,
    }

    def observing(name):
        def callback(_options):
            for family in collector.collect():
                if family.name == name:
                    for sample in family.samples:
                        yield Observation(sample.value, sample.labels)

        return [callback]

    for family in collector.describe():
        if family.type in makers:
            makers[family.type](
                family.name, observing(family.name), description=family.documentation
            )
