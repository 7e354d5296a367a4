"""Merge: make one state of two, and of a thousand."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import streameval as se
from speed import data
from speed.contest import Contest, Data, Numbers, Side, yardstick
from speed.peers import torcheval, torchmetrics
from speed.sides import Make, Read, attributes, matrix, tensors, value
from speed.verbs.compute import grid_of_200, np_sort, uniform

SHARDS = 1000


def shards(draw: Callable[[int], Data], number: int, rows: int) -> list[Data]:
    """Cut what is drawn into shards of equal length."""
    return data.cut(draw(rows), rows // number)


def our_merge(make: Callable[[], Any], read: Read) -> Callable[[Data], Side]:
    """Merge accumulators into a new one."""

    def ours(parts: Data) -> Side:
        accumulators = [make().update(*part) for part in parts]
        return Side(lambda: se.merge(accumulators), lambda: read(se.merge(accumulators).compute()))

    return ours


def of_torchmetrics(make: Make, read: Read) -> Any:
    """Merge metrics of torchmetrics into a new one, one after another."""

    def ready(library: Any, parts: Data) -> Side:
        metrics = [updated(make(library), part) for part in parts]

        def run() -> Any:
            total = make(library)
            for metric in metrics:
                total.merge_state(metric)
            return total

        def numbers() -> Numbers:
            total = run()
            total._update_count = 1  # or it warns that nothing has been counted
            return read(total.compute())

        return Side(run, numbers)

    return ready


def of_torcheval(make: Make, read: Read, *, computed: bool = False) -> Any:
    """Merge metrics of torcheval into a new one, all at once."""

    def ready(library: Any, parts: Data) -> Side:
        metrics = [updated(make(library), part) for part in parts]

        def run() -> Any:
            total = make(library).merge_state(metrics)
            return total.compute() if computed else total

        return Side(run, lambda: read(run() if computed else run().compute()))

    return ready


def updated(metric: Any, part: Data) -> Any:
    """Give a metric of torch one batch."""
    metric.update(*tensors(part))
    return metric


def confusion(classes: int, number: int) -> Contest:
    """Add matrices."""
    return Contest(
        verb="merge",
        accumulator="ConfusionAccumulator",
        work=f"{number:,} of {classes:,} classes",
        size=100 * number,
        data=partial(shards, partial(data.labels, classes), number),
        ours=our_merge(partial(se.ConfusionAccumulator, classes), matrix),
        peers=[
            torchmetrics(of_torchmetrics, "MulticlassConfusionMatrix", matrix, num_classes=classes),
            torcheval(
                of_torcheval,
                "MulticlassConfusionMatrix",
                matrix,
                why="We compare and add shards one at a time, and check each sum for overflow.",
                num_classes=classes,
            ),
        ],
    )


def regression(number: int) -> Contest:
    """Add exact sums."""
    read = value("mse")
    why = "The rows of our small shards are still pending, so the merge has to count them, exactly."

    def counted(parts: Data) -> Any:
        states = [se.RegressionAccumulator().update(*part).to_bytes() for part in parts]
        return partial(se.merge, list(map(se.from_bytes, states)))

    return Contest(
        verb="merge",
        accumulator="RegressionAccumulator",
        work=f"{number:,} of numbers",
        size=100 * number,
        data=partial(shards, data.numbers, number),
        ours=our_merge(se.RegressionAccumulator, attributes("mse")),
        peers=[
            torchmetrics(of_torchmetrics, "MeanSquaredError", read),
            torcheval(of_torcheval, "MeanSquaredError", read, why=why),
            yardstick("the same of shards without pending rows", counted, "streameval"),
        ],
    )


def sketches(number: int, rows: int) -> Contest:
    """Join the cells of sketches."""
    return Contest(
        verb="merge",
        accumulator="PRCurveSketch",
        work=f"{number:,} sketches",
        size=rows,
        data=partial(shards, uniform, number),
        ours=our_merge(se.PRCurveSketch, attributes("roc_auc")),
        peers=[
            *([np_sort(1 / 2)] if number == 2 else []),
            grid_of_200(of_torchmetrics),
        ],
    )


def sketches_and_auc(number: int, rows: int) -> Contest:
    """Join sketches and read the ROC AUC, beside a peer that only puts merged rows aside."""

    def ours(parts: Data) -> Side:
        accumulators = [se.PRCurveSketch().update(*part) for part in parts]
        return Side.of_function(lambda: {"roc_auc": se.merge(accumulators).compute().roc_auc})

    way = partial(of_torcheval, computed=True)
    return Contest(
        verb="merge",
        accumulator="PRCurveSketch",
        work=f"{number:,} sketches, and ROC AUC",
        size=rows,
        data=partial(shards, uniform, number),
        ours=ours,
        peers=[torcheval(way, "BinaryAUROC", value("roc_auc"))],
    )


CONTESTS = [
    *(confusion(classes, 2) for classes in (2, 1000)),
    regression(2),
    sketches(2, 2_000_000),
    sketches_and_auc(2, 2_000_000),
    confusion(10, SHARDS),
    regression(SHARDS),
    sketches(SHARDS, 1_000_000),
    sketches_and_auc(SHARDS, 1_000_000),
]
