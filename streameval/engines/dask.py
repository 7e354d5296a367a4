"""Evaluation on a Dask cluster: tasks count files of like size, and a tree of tasks merges."""

from __future__ import annotations

# The engine may be missing where types are checked, and is taken for this file then.
# pyright: reportMissingImports=false, reportCallIssue=false
import ctypes
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import getitem
from os import PathLike
from typing import Any
from uuid import uuid4

from streameval.engines._counting import Make, Progress, SourceCounter
from streameval.engines._running import Engine, Policy, evaluate_on
from streameval.engines._sources import Sources
from streameval.errors import BadDataError, InvalidInputError

try:
    from dask import delayed, is_dask_collection
    from distributed import Client, as_completed
except ImportError as error:
    raise ImportError('dask is missing: pip install "streameval[dask]".') from error

__all__ = ["evaluate"]


def evaluate(
    client: Any,
    sources: Any,
    make: Make,
    *,
    columns: Mapping[str, str] | None = None,
    by: str | Sequence[str] | None = None,
    options: Mapping[str, Any] | None = None,
    fan_in: int = 8,
    progress: Progress | None = None,
    target_bytes: int | None = None,
    on_error: str | Callable[[BadDataError], object] = "raise",
    resume: str | PathLike[str] | None = None,
    missing_columns: str = "raise",
    nulls: str = "raise",
    filesystem: Any = None,
) -> Any:
    """Count sources on the workers of a cluster, the same bytes as in one process.

    Parameters
    ----------
    client : dask.distributed.Client
        One that is not asynchronous.
    sources : path, batch, stream, sequence of these, or a collection of Dask
        As every engine takes them; batches may be delayed. A data frame is counted by partition,
        and a mapping of arrays by the chunks of their rows.
    make, columns, by, options, fan_in, progress, target_bytes, on_error, resume, \
    missing_columns, nulls, filesystem
        As every engine takes them: `streameval.engines`.

    Returns
    -------
    A new accumulator, or a dict of them by the values of the column `by`.

    Notes
    -----
    Merging leaves its arguments alone, so that tasks may be run twice, and are when a worker
    dies. The states of the values of a column are merged by several tasks, each with its own
    values. Only states travel, except that curves travel between workers as scores and labels
    while these take less memory; a merge counts them all at once.

    The nannies of Dask let the allocator of a worker give back every array at once, which takes
    more than half of the time. While a task counts or merges, freed memory is kept.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import streameval as se
    >>> from dask.distributed import Client
    >>> from streameval.engines.dask import evaluate
    >>> days = [pa.table({"y_true": [1, 0], "y_pred": [1, label]}) for label in (0, 1)]
    >>> with Client(processes=False, n_workers=1, dashboard_address=":0") as client:
    ...     evaluate(client, days, se.ConfusionAccumulator).compute().accuracy
    0.75
    """
    if client.asynchronous:
        raise InvalidInputError("must not be asynchronous", argument="client")
    policy = Policy(
        fan_in=fan_in,
        target_bytes=target_bytes,
        progress=progress,
        on_error=on_error,
        resume=resume,
    )
    counter = SourceCounter.of(make, columns, by, options, missing_columns, nulls)
    split = _partitions(sources, counter)
    found = Sources.of(split, filesystem, "source" if split is sources else "partition")
    return evaluate_on(_Cluster(client), counter, found, policy)


class _Cluster(Engine):
    """The workers of a client."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.n_slots = sum(client.nthreads().values())
        self._n_merges = 0

    # The content of a path may change, so that no result of an earlier task may stand in.

    def start(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Start a task for each call, the first ones first unless arguments are delayed."""
        called = partial(_with_steady_memory, function)
        if not any(is_dask_collection(argument) for call in calls for argument in call):
            name = f"{function.__name__}-{uuid4().hex}"  # one group of tasks, which workers fetch
            keyed = enumerate(calls)
            return [self._client.submit(called, *call, key=(name, at)) for at, call in keyed]
        task = delayed(called, pure=False)
        futures: list[Any] = self._client.compute([task(*call) for call in calls])
        return futures

    def start_several(
        self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], n_results: int
    ) -> list[list[Any]]:
        """Start a task for each call, and one for each of its results, which takes it out.

        Without a list of workers, Dask takes many of these for the first tasks of a graph, and
        spreads them over all workers: each would fetch the results of a task as a whole.
        """
        started = self.start(function, calls)
        taken = partial(self._submit_to, self._workers(), getitem, priority=1)
        return [[taken(future, number) for number in range(n_results)] for future in started]

    def merge(self, function: Callable[..., Any], states: Sequence[Any]) -> Any:
        """Merge states, on each worker in turn: Dask might choose one of them for all."""
        workers = self._workers()
        self._n_merges += 1
        chosen = workers[self._n_merges % len(workers)]
        return self._submit_to([chosen], _with_steady_memory, function, *states, priority=2)

    def _workers(self) -> list[str]:
        return list(self._client.nthreads())

    def _submit_to(
        self, workers: list[str], function: Callable[..., Any], *arguments: Any, priority: int
    ) -> Any:
        """Start a task on one of these workers that holds its arguments, or another if they die."""
        return self._client.submit(
            function,
            *arguments,
            pure=False,
            priority=priority,
            workers=workers,
            allow_other_workers=True,
        )

    def finished(self, handles: Sequence[Any]) -> Iterator[Any]:
        """Yield futures as they finish."""
        yield from as_completed(handles)

    def ready(self, handles: Sequence[Any]) -> list[Any]:
        """List the futures that have finished."""
        return [future for future in handles if future.status == "finished"]

    def result(self, handle: Any) -> Any:
        """Fetch a result."""
        return handle.result()

    def cancel(self, handles: Sequence[Any]) -> None:
        """Forget futures."""
        self._client.cancel(handles)


_memory = threading.Lock()
_n_steady = 0
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
_USUAL_MMAP_THRESHOLD = 2**17
_KEPT = 2**25  # as far as glibc goes by itself, where nobody sets a threshold


def _with_steady_memory(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function while the allocator keeps what was freed for the next array.

    Dask starts workers with `MALLOC_TRIM_THRESHOLD_`, by which every array of a block is mapped
    anew and given back: more than half of the time goes into page faults. Afterwards the
    thresholds are what they were, and the memory goes back.
    """
    global _n_steady  # noqa: PLW0603 - so is the allocator
    threshold = os.environ.get("MALLOC_TRIM_THRESHOLD_", "")
    allocator = ctypes.CDLL(None)
    if not threshold.isdecimal() or not hasattr(allocator, "mallopt"):
        return function(*arguments)
    with _memory:
        _n_steady += 1
        allocator.mallopt(_TRIM_THRESHOLD, 2 * _KEPT)
        allocator.mallopt(_MMAP_THRESHOLD, _KEPT)
    try:
        return function(*arguments)
    finally:
        with _memory:
            _n_steady -= 1
            if not _n_steady:
                allocator.mallopt(_TRIM_THRESHOLD, int(threshold))
                allocator.mallopt(_MMAP_THRESHOLD, _USUAL_MMAP_THRESHOLD)
                allocator.malloc_trim(0)


def _partitions(sources: Any, counting: SourceCounter) -> Any:
    """Split a data frame or arrays into partitions, with the counted columns only."""
    if hasattr(sources, "to_delayed"):
        return sources[counting.names(sources.columns)].to_delayed()
    if isinstance(sources, Mapping) and any(
        is_dask_collection(column) for column in sources.values()
    ):
        names = counting.names(sources)
        columns = [_chunks(sources[name], sources[names[0]]) for name in names]
        parts = zip(*columns, strict=True)
        return [delayed(dict)(list(zip(names, part, strict=True))) for part in parts]
    return sources


def _chunks(column: Any, first: Any) -> list[Any]:
    """List the chunks of the rows of an array, as those of the first array are."""
    made = column.rechunk({0: first.chunks[0]} | dict.fromkeys(range(1, column.ndim), -1))
    return list(made.to_delayed().ravel())
