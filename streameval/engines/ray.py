"""Evaluation on a Ray cluster: tasks count files of like size, and a tree of tasks merges."""

from __future__ import annotations

# The engine may be missing where types are checked, and is taken for this file then.
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from os import PathLike
from typing import Any

from streameval.engines._counting import (
    Make,
    OnProgress,
    SourceCounter,
    States,
    text_of,
    value_of,
)
from streameval.engines._running import Engine, Policy, evaluate_on
from streameval.engines._shipping import joined, merged
from streameval.engines._sources import Sources
from streameval.errors import BadDataError, InvalidInputError, StreamevalError

try:
    import pyarrow as pa
    import ray
    import ray.data
    from ray.data.aggregate import AggregateFn
except ImportError as error:
    raise ImportError('ray is missing: pip install "streameval[ray]".') from error

__all__ = ["EvaluateFn", "evaluate"]

_REFUSED = "refused"
_AHEAD = 4
"""How many tasks are started for each CPU, before others have ended."""


def evaluate(
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
    """Count sources in tasks of a Ray cluster, the same bytes as in one process.

    Parameters
    ----------
    sources : path, batch, stream, sequence of these, or a Ray data set
        As every engine takes them, or references to batches that were put into the object store;
        or a `ray.data.Dataset`, whose blocks are counted as they stream and merged here.
    make, columns, by, options, fan_in, progress, target_bytes, on_error, resume, \
    missing_columns, nulls, filesystem
        As every engine takes them: `streameval.engines`.

    Returns
    -------
    A new accumulator, or a dict of them by the values of the column `by`.

    Notes
    -----
    Arrays of the object store are read-only; they are counted where they are, without a copy.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import ray
    >>> import streameval as se
    >>> from streameval.engines.ray import evaluate
    >>> _ = ray.init(num_cpus=1, include_dashboard=False)
    >>> days = [pa.table({"y_true": [1, 0], "y_pred": [1, label]}) for label in (0, 1)]
    >>> evaluate([ray.put(day) for day in days], se.ConfusionAccumulator).compute().accuracy
    0.75
    >>> ray.shutdown()
    """
    policy = Policy(fan_in, target_bytes, progress, on_error, resume)
    counter = SourceCounter.of(make, columns, by, options, missing_columns, nulls)
    if isinstance(sources, ray.data.Dataset):
        return _stream(sources, counter, policy.fan_in)
    return evaluate_on(_RayCluster(), counter, Sources.of(sources, filesystem), policy)


class _RayCluster(Engine):
    """The processes that Ray has started."""

    def __init__(self) -> None:
        self.n_slots = max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._ahead = self.at_once = _AHEAD * self.n_slots
        self._merges = {function: ray.remote(function) for function in (joined, merged)}

    def start(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Start a task for each call."""
        task = ray.remote(function)
        return [task.remote(*call) for call in calls]

    def start_several(
        self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], n_results: int
    ) -> list[list[Any]]:
        """Start a task for each call; each of its results is an object of its own."""
        task = ray.remote(function).options(num_returns=n_results)
        return [task.remote(*call) for call in calls]

    def merge(
        self,
        function: Callable[..., Any],
        states: Sequence[Any],
        lane: int,  # noqa: ARG002 - Ray chooses a worker by what it holds
    ) -> Any:
        """Merge states."""
        return self._merges[function].remote(*states)

    def finished(self, handles: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        """Yield references and their objects as these are there."""
        coming = iter(handles)
        pending: list[Any] = []
        while pending := [*pending, *islice(coming, self._ahead - len(pending))]:
            (found,), pending = ray.wait(pending, num_returns=1, fetch_local=False)
            yield found, self.result(found)

    def ready(self, handles: Sequence[Any]) -> list[Any]:
        """List the references whose objects are there."""
        if not handles:
            return []
        found, _ = ray.wait(handles, num_returns=len(handles), timeout=0, fetch_local=False)
        return [handle for handle in found if not _has_failed(handle)]

    def result(self, handle: Any) -> Any:
        """Fetch an object, or raise what its task raised."""
        try:
            return ray.get(handle)
        except ray.exceptions.RayTaskError as error:
            raise error.cause from error

    def cancel(self, handles: Sequence[Any]) -> None:
        """Let the few tasks end that have been started, and start no more.

        Ray may end this process when a task completes while it is cancelled.
        """


class EvaluateFn(AggregateFn):  # type: ignore[misc] # it is Any to the type checker
    """Aggregate rows of a data set, or of each of its groups, into the bytes of an accumulator.

    For ``Dataset.aggregate`` and ``GroupedData.aggregate``, beside aggregations of Ray's own.

    Parameters
    ----------
    make : callable
        Returns an empty accumulator, and can be pickled: a class, a `functools.partial`, or the
        method `copy` of an empty accumulator.
    columns : mapping from argument to column, optional
        The columns of `update` arguments that have other names.
    options : mapping, optional
        Keyword arguments of `update`, such as ``{"partial": True}`` for rankings.
    nulls : {"raise", "skip"}
        What happens where a column that is counted is null: the rows are refused, or left out.
    name : str
        The column of the states, which `streameval.from_bytes` reads.

    Raises
    ------
    InvalidInputError
        When an argument breaks a rule. Rows that are refused end the execution with an error of
        Ray, which quotes the InvalidInputError.

    Notes
    -----
    Grouping shuffles rows, so that `evaluate` with ``by`` is faster while a process can hold the
    states of all values. Here they stay in a data set, however many there are.

    An ``AggregateFnV2`` of Ray reads one column, and Ray drops the others before it; metrics read
    several, so this is the more general ``AggregateFn``.

    Examples
    --------
    >>> import ray
    >>> import streameval as se
    >>> from streameval.engines.ray import EvaluateFn
    >>> _ = ray.init(num_cpus=1, include_dashboard=False)
    >>> rows = [("DE", 1, 1), ("DE", 0, 1), ("FR", 1, 1)]
    >>> names = ["country", "y_true", "y_pred"]
    >>> data = ray.data.from_items([dict(zip(names, row)) for row in rows])
    >>> groups = data.groupby("country", num_partitions=1)
    >>> counted = groups.aggregate(EvaluateFn(se.ConfusionAccumulator))
    >>> states = {row["country"]: se.from_bytes(row["state"]) for row in counted.take_all()}
    >>> states["DE"].compute().accuracy
    0.5
    >>> ray.shutdown()
    """

    def __init__(
        self,
        make: Make,
        *,
        columns: Mapping[str, str] | None = None,
        options: Mapping[str, Any] | None = None,
        nulls: str = "raise",
        name: str = "state",
    ) -> None:
        self._counter = SourceCounter.of(make, columns, None, options, nulls=nulls)
        super().__init__(self._empty, self._merged, name, accumulate_block=self._with_block)

    def _empty(self, key: Any) -> bytes:  # noqa: ARG002 - every group begins alike
        state: bytes = self._counter.make().to_bytes()
        return state

    def _with_block(self, state: bytes, block: Any) -> bytes:
        """Count a block, or the rows of a group in it."""
        return self._merged(state, self._counter.count_batches([block])[None])

    def _merged(self, state: bytes, other: bytes) -> bytes:
        return merged({None: state}, {None: other})[None]


def _has_failed(handle: Any) -> bool:
    try:
        ray.get(handle)
    except ray.exceptions.RayError:
        return True
    return False


def _stream(data: Any, counter: SourceCounter, fan_in: int) -> Any:
    """Count the blocks of a data set as they come, and merge their states here."""
    counted = data.select_columns(counter.names(data.columns() or ())).map_batches(
        _count_block, batch_format="pyarrow", batch_size=None, fn_args=(counter,)
    )
    parts: list[States] = []
    for found in counted.iter_batches(batch_format="pyarrow", batch_size=None):
        columns = [found.column(name).to_pylist() for name in ("type", "text", "state")]
        if _REFUSED in columns[0]:
            raise InvalidInputError(columns[1][0])
        parts.append({value_of(*value): state for *value, state in zip(*columns, strict=True)})
        if len(parts) == fan_in:
            parts = [merged(*parts)]
    return counter.result(merged(*parts))


def _count_block(block: pa.Table, counter: SourceCounter) -> pa.Table:
    """Count one block into a row for each value, or a row that says why it is refused."""
    try:
        states = counter.count_batches([block])
        values = [text_of(value) for value in states]
    except StreamevalError as error:  # Ray hands on its text alone
        states, values = {None: b""}, [(_REFUSED, str(error))]
    types, texts = ([value[at] for value in values] for at in (0, 1))
    columns = [pa.array(column, pa.string()) for column in (types, texts)]
    columns.append(pa.array(states.values(), pa.binary()))
    return pa.Table.from_arrays(columns, names=["type", "text", "state"])
