"""Bytes: write a state and read it back, ours checked, beside a pickle of the peer's state."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import streameval as se
from speed import data
from speed.contest import Contest, Data, Measure, Side, yardstick
from speed.peers import torcheval, torchmetrics
from speed.sides import Make, Read, attributes, matrix, tensors, value
from speed.verbs.compute import grid_of_200
from speed.verbs.stream import batches

Way = Literal["to_bytes", "from_bytes", "size"]


def ours_of(make: Callable[[], Any], read: Read, way: Way) -> Callable[[Data], Side]:
    """Write or read one of our accumulators."""

    def ours(parts: Data) -> Side:
        accumulator = make()
        for part in parts:
            accumulator.update(*part)
        written = accumulator.to_bytes()
        runs: dict[Way, Callable[[], Any]] = {
            "to_bytes": accumulator.to_bytes,
            "from_bytes": partial(se.from_bytes, written),
            "size": lambda: len(accumulator.to_bytes()),
        }
        return Side(runs[way], lambda: read(se.from_bytes(written).compute()))

    return ours


def theirs_of(way: Way, make: Make, read: Read) -> Callable[[Any, Data], Side]:
    """Pickle the state of a metric of torch, or load it into another."""

    def ready(library: Any, parts: Data) -> Side:
        metric, other = new(make, library), new(make, library)
        for part in parts:
            metric.update(*tensors(part))
        written = pickle.dumps(metric.state_dict())

        def load() -> Any:
            other.load_state_dict(pickle.loads(written))
            return other

        runs: dict[Way, Callable[[], Any]] = {
            "to_bytes": lambda: pickle.dumps(metric.state_dict()),
            "from_bytes": load,
            "size": lambda: len(pickle.dumps(metric.state_dict())),
        }
        return Side(runs[way], lambda: read(load().compute()))

    return ready


def new(make: Make, library: Any) -> Any:
    """Make a metric whose state dict holds its state, which torchmetrics must be told."""
    metric = make(library)
    if hasattr(metric, "persistent"):
        metric.persistent(True)
        metric._update_count = 1  # or it warns that nothing has been counted
    return metric


def confusion(classes: int, way: Way) -> Contest:
    """Write a matrix."""
    name, theirs = "MulticlassConfusionMatrix", partial(theirs_of, way)
    why = "The peer's pickle is not checked; we compute a checksum, and check every number."

    def checksum(parts: Data) -> Any:
        accumulator = se.ConfusionAccumulator(classes)
        for part in parts:
            accumulator.update(*part)
        return partial(zlib.crc32, accumulator.to_bytes())

    checks = [yardstick("the checksum", checksum)] if way != "size" else []
    return Contest(
        verb="bytes",
        accumulator="ConfusionAccumulator",
        work=f"{way}, {classes:,} classes",
        size=100_000,
        data=lambda rows: data.cut(data.labels(classes, rows)),
        ours=ours_of(partial(se.ConfusionAccumulator, classes), matrix, way),
        peers=[
            torchmetrics(theirs, name, matrix, why=why, num_classes=classes),
            torcheval(theirs, name, matrix, why=why, num_classes=classes),
            *checks,
        ],
        measure=measured(way),
    )


def sketch(way: Way) -> Contest:
    """Write a sketch, beside all scores and beside 200 thresholds."""
    name, read, theirs = "BinaryAUROC", value("roc_auc"), partial(theirs_of, way)
    return Contest(
        verb="bytes",
        accumulator="PRCurveSketch",
        work=f"{way}, after a million",
        size=1_000_000,
        data=batches,
        ours=ours_of(se.PRCurveSketch, attributes("roc_auc"), way),
        peers=[
            torcheval(theirs, name, read),
            grid_of_200(theirs),
        ],
        measure=measured(way),
    )


def regression(way: Way) -> Contest:
    """Write exact sums."""
    name, read, theirs = "MeanSquaredError", value("mse"), partial(theirs_of, way)
    why = "The peer keeps one float32 sum; we keep five, each an integer of up to 2,100 bits."
    return Contest(
        verb="bytes",
        accumulator="RegressionAccumulator",
        work=f"{way}, numbers",
        size=100_000,
        data=lambda rows: data.cut(data.numbers(rows)),
        ours=ours_of(se.RegressionAccumulator, attributes("mse"), way),
        peers=[
            torchmetrics(theirs, name, read, why=why if way == "size" else ""),
            torcheval(theirs, name, read, why=why if way == "size" else ""),
        ],
        measure=measured(way),
    )


def measured(way: Way) -> Measure:
    """Say whether the time of a way is measured."""
    return "size" if way == "size" else "time"


WAYS: tuple[Way, ...] = ("to_bytes", "from_bytes", "size")

CONTESTS = [
    contest
    for way in WAYS
    for contest in (confusion(2, way), confusion(1000, way), sketch(way), regression(way))
]
