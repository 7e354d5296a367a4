"""Evaluation on a Dask cluster: tasks count files of like size, and others merge."""

from __future__ import annotations

# The engine may be missing where types are checked, and is taken for this file then.
# pyright: reportMissingImports=false, reportCallIssue=false
import ctypes
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from operator import getitem
from os import PathLike
from typing import Any
from uuid import uuid4

from streameval.engines._counting import Make, OnProgress, SourceCounter
from streameval.engines._running import Engine, Policy, evaluate_on
from streameval.engines._sources import Sources
from streameval.errors import BadDataError, InvalidInputError

try:
    from dask import delayed, is_dask_collection
    from distributed import Client, LocalCluster, as_completed, wait
except ImportError as error:
    raise ImportError('dask is missing: pip install "streameval[dask]".') from error

__all__ = ["evaluate"]

_TAKING_OUT = 0.5
"""For how many seconds a failure waits for the results of tasks that have ended, to keep them."""


def evaluate(
    client: Any,
    sources: Any,
    make: Make,
    *,
    columns: Mapping[str, str] | None = None,
    by: str | Sequence[str] | None = None,
    options: Mapping[str, Any] | None = None,
    fan_in: int = 8,
    progress: OnProgress | None = None,
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
    while these take at most twice the memory; a merge counts them all at once.

    By default, Dask's nannies make the allocator of a worker return the memory of every array at
    once, which takes more than half of the time. While a task counts or merges, the allocator
    keeps freed memory instead.

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
    policy = Policy(fan_in, target_bytes, progress, on_error, resume)
    counter = SourceCounter.of(make, columns, by, options, missing_columns, nulls)
    split = _partitions(sources, counter)
    found = Sources.of(split, filesystem, "source" if split is sources else "partition")
    return evaluate_on(_DaskCluster(client), counter, found, policy)


class _DaskCluster(Engine):
    """The workers of a client."""

    def __init__(self, client: Client) -> None:
        self._client = client
        # by default, the scheduler fetches results and passes them on
        self._is_direct = True if isinstance(client.cluster, LocalCluster) else None
        threads = client.nthreads()
        self.n_slots = sum(threads.values())
        self._workers = list(threads)
        self._sources: dict[Any, Any] = {}  # the keys of results, each with that of its task

    # The content of a path may change, so that no result of an earlier task may stand in.

    def start(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Start a task for each call, the first ones first unless arguments are delayed."""
        called = partial(_with_steady_memory, function)
        if not any(is_dask_collection(argument) for call in calls for argument in call):
            name = f"{function.__name__}-{uuid4().hex}"  # one group of tasks, which workers fetch
            keys = [(name, at) for at in range(len(calls))]
            started: list[Any] = self._client.map(called, *zip(*calls, strict=True), key=keys)
            return started
        task = delayed(called, pure=False)
        futures: list[Any] = self._client.compute([task(*call) for call in calls])
        return futures

    def start_several(
        self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], n_results: int
    ) -> list[list[Any]]:
        """Start a task for each call, and one for each of its results, which takes it out.

        If there are two results, merges take the second one out themselves.

        Without a list of workers, Dask takes many of these for the first tasks of a graph, and
        spreads them over all workers: each would fetch the results of a task as a whole.
        """
        started = self.start(function, calls)
        n_taken = 1 if n_results == 2 else n_results
        taken = self._client.map(
            getitem,
            [future for future in started for _ in range(n_taken)],
            [*range(n_taken)] * len(started),
            pure=False,
            priority=1,
            workers=self._workers,
            allow_other_workers=True,
        )
        for number, result in enumerate(taken):
            self._sources[result.key] = started[number // n_taken].key
        firsts = range(0, len(taken), n_taken)
        results = [taken[first : first + n_taken] for first in firsts]
        if n_taken < n_results:
            return [[*taken, whole] for taken, whole in zip(results, started, strict=True)]
        return results

    def merge(self, function: Callable[..., Any], states: Sequence[Any], lane: int) -> Any:
        """Merge states on the worker of the lane: Dask might choose one of them for all lanes."""
        chosen = lane % max(len(self._workers), 1)
        return self._client.submit(
            _with_steady_memory,
            _merge,
            function,
            *states,
            pure=False,
            priority=2,
            workers=self._workers[chosen : chosen + 1],
            allow_other_workers=True,
        )

    def finished(self, handles: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        """Yield futures and their results; of those that finish together, the failed ones last."""
        for batch in as_completed([*handles]).batches():
            found = [future for future in batch if future.status == "finished"]
            results = self._client.gather(found, direct=self._is_direct)
            yield from zip(found, map(_state, results), strict=True)
            for future in batch:
                if future not in found:
                    future.result()

    def ready(self, handles: Sequence[Any]) -> list[Any]:
        """List the futures that have finished, or do in a moment because their tasks have."""
        held = self._client.who_has()
        soon = [future for future in handles if held.get(self._sources.get(future.key))]
        with suppress(TimeoutError):
            wait(soon, timeout=_TAKING_OUT)
        return [future for future in handles if future.status == "finished"]

    def result(self, handle: Any) -> Any:
        """Fetch a result."""
        return _state(handle.result())

    def cancel(self, handles: Sequence[Any]) -> None:
        """Forget futures."""
        self._client.cancel(handles)


def _merge(function: Callable[..., Any], *states: Any) -> Any:
    return function(*map(_state, states))


def _state(result: Any) -> Any:
    """Take the state out of the results of a task that counts, if these are not apart."""
    return result[1] if isinstance(result, tuple) else result


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
