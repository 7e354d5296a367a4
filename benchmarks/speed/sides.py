"""How sides are built: ours by our verbs, those of torch and river by theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from speed.contest import Data, Numbers, Side
from speed.data import Stream, once_or_anew

Read = Callable[[Any], Numbers]

_ROWS_A_TURN = 2**21
"""So many rows go into a turn of ours at least: several times what is pending."""


def our_updates(
    make: Callable[[], Any], read: Read, *, before: Callable[[], Iterable[Data]] = tuple
) -> Callable[[Data], Side]:
    """Update one of our accumulators again and again with the same batch."""

    def ours(data: Data) -> Side:
        accumulator = make()
        for batch in before():
            accumulator.update(*batch)
        # a row comes as numbers, as it does to river
        given = [part.item() for part in data] if len(data[0]) == 1 else data
        return Side(
            partial(accumulator.update, *given),
            lambda: read(accumulator.compute()),
            calls=-(-_ROWS_A_TURN // len(data[0])),
        )

    return ours


def our_weighted_updates(make: Callable[[], Any], read: Read) -> Callable[[Data], Side]:
    """Update one of our accumulators with the same batch, the last array of which are weights."""

    def ours(data: Data) -> Side:
        *batch, weights = data
        side = our_updates(make, read)(tuple(batch))
        run = partial(side.run, sample_weight=weights)
        return Side(run, side.numbers, calls=side.calls)

    return ours


def our_updates_without(
    make: Callable[[], Any], convert: Callable[[Data], Data]
) -> Callable[[Any, Data], Side]:
    """Update with a simpler form of the batch: a yardstick."""

    def ready(_: Any, data: Data) -> Side:
        side = our_updates(make, vars)(convert(data))
        return Side(side.run, calls=side.calls)

    return ready


def our_stream(make: Callable[[], Any], read: Read) -> Callable[[Data], Side]:
    """Go from nothing over batches to the numbers."""

    def ours(data: Data) -> Side:
        def run() -> Numbers:
            accumulator = make()
            for batch in data:
                accumulator.update(*batch)
            return read(accumulator.compute())

        return Side.of_function(run)

    return ours


def our_compute(make: Callable[[], Any], read: Read) -> Callable[[Data], Side]:
    """Read the numbers of an accumulator that has counted the batches."""

    def ours(data: Data) -> Side:
        accumulator = make()
        for batch in data:
            accumulator.update(*batch)
        return Side.of_function(lambda: read(accumulator.compute()))

    return ours


def tensors(batch: Data) -> list[Any]:
    """Share a batch with torch, in its order: predictions before the truth."""
    import torch  # noqa: PLC0415 - only peers need it

    torch.set_num_threads(1)
    shared = [torch.from_numpy(np.ascontiguousarray(part)) for part in batch]
    return [*shared[1::-1], *shared[2:]]


def tensor_batches(parts: Any) -> Iterable[list[Any]]:
    """Share batches with torch: those of a stream one after another, others at once."""
    return map(tensors, parts) if isinstance(parts, Stream) else [tensors(part) for part in parts]


def torchmetric(library: Any, name: str, **options: Any) -> Any:
    """Make a metric of torchmetrics that computes anew whenever it is asked."""
    kind = getattr(library, name, None) or getattr(library.classification, name)
    return kind(**options, compute_with_cache=False)


def torcheval_metric(library: Any, name: str, **options: Any) -> Any:
    """Make a metric of torcheval."""
    return getattr(library, name)(**options)


Make = Callable[[Any], Any]
"""From an imported library to a new metric of it."""

TorchWay = Callable[[Make, Read], Callable[[Any, Data], Side]]
"""From how a metric is made and read to how its side is made ready."""


def torch_updates(make: Make, read: Read, *, before: Callable[[], Iterable[Data]] = tuple) -> Any:
    """Update a metric of torchmetrics or torcheval with tensors that are ready."""

    def ready(library: Any, data: Data) -> Side:
        metric = make(library)
        for batch in before():
            metric.update(*tensors(batch))
        return Side(partial(metric.update, *tensors(data)), lambda: read(metric.compute()))

    return ready


def torch_stream(make: Make, read: Read) -> Any:
    """Go from a new metric over batches of tensors to its value."""

    def ready(library: Any, data: Data) -> Side:
        batches = once_or_anew(data, tensor_batches)

        def run() -> Numbers:
            metric = make(library)
            for batch in batches():
                metric.update(*batch)
            return read(metric.compute())

        return Side.of_function(run)

    return ready


def torch_compute(make: Make, read: Read) -> Any:
    """Compute the value of a metric that has seen the batches."""

    def ready(library: Any, data: Data) -> Side:
        metric = make(library)
        for batch in data:
            metric.update(*tensors(batch))
        return Side.of_function(lambda: read(metric.compute()))

    return ready


def river_updates(make: Make, read: Read, *, decide: bool = False) -> Any:
    """Update a metric of river row by row, from Python numbers that are ready."""

    def ready(library: Any, data: Data) -> Side:
        metric = make(library)
        truth, prediction = data
        rows = list(zip(truth.tolist(), _decided(prediction, decide=decide), strict=True))
        if len(rows) == 1:
            return Side(partial(metric.update, *rows[0]), lambda: read(metric))

        def run() -> None:
            for row in rows:
                metric.update(*row)

        return Side(run, lambda: read(metric))

    return ready


def _decided(prediction: np.ndarray, *, decide: bool) -> list[Any]:
    return ((prediction >= 0.5).astype(np.int64) if decide else prediction).tolist()


def value(key: str) -> Read:
    """Read a number under a name; with some metrics of torcheval, thresholds follow it."""
    return lambda result: {key: float(result[0] if isinstance(result, tuple) else result)}


def matrix(result: Any) -> Numbers:
    """Read a confusion matrix, ours or a tensor."""
    return {"matrix": np.asarray(getattr(result, "matrix", result))}


def attributes(*names: str) -> Read:
    """Read results of ours by name."""

    def read(result: Any) -> Mapping[str, float]:
        return {name: float(getattr(result, name)) for name in names}

    return read
