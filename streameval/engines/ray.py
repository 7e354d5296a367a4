"""Evaluation on a Ray cluster: tasks count files of like size, and a tree of tasks merges."""

from __future__ import annotations

# The engine may be missing where types are checked, and is taken for this file then.
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false
from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any

from streameval.engines._counting import (
    Make,
    Progress,
    SourceCounter,
    States,
    merged,
    text_of,
    value_of,
)
from streameval.engines._running import Engine, Policy, evaluate_on
from streameval.errors import BadDataError, InvalidInputError, StreamevalError

try:
    import pyarrow as pa
    import ray
    import ray.data
except ImportError as error:
    raise ImportError('ray is missing: pip install "streameval[ray]".') from error

__all__ = ["evaluate"]

_REFUSED = "refused"


def evaluate(
    sources: Any,
    make: Make,
    *,
    columns: Mapping[str, str] | None = None,
    by: str | None = None,
    options: Mapping[str, Any] | None = None,
    fan_in: int = 8,
    progress: Progress | None = None,
    target_bytes: int | None = None,
    on_error: str | Callable[[BadDataError], object] = "raise",
    resume: str | PathLike[str] | None = None,
    missing_columns: str = "raise",
) -> Any:
    """Count sources in tasks of a Ray cluster, the same bytes as in one process.

    Parameters
    ----------
    sources : path, batch, sequence of these, or a Ray data set
        Paths of Parquet, CSV or JSON lines that the workers can open, folders of such, and
        patterns; batches, or references to batches that were put into the object store; or a
        `ray.data.Dataset`, whose blocks are counted as they stream and merged here.
    make : callable
        Gives an empty accumulator, and pickles: a class, a `functools.partial`, or the method
        `copy` of an empty accumulator.
    columns : mapping from argument to column, optional
        The columns of arguments of `update` that do not bear their names.
    by : str, optional
        A column: rows are counted for each of its values, None where it is missing.
    options : mapping, optional
        Keyword arguments of `update`, such as ``{"partial": True}`` for rankings.
    fan_in : int
        How many states a task merges.
    progress : callable, optional
        Called with how many files, row groups of large files, and batches have been counted, and
        how many there are. It says all only when everything is merged.
    target_bytes : int, optional
        How many bytes of files a task counts, about: small files are grouped, a large file of
        Parquet is split by row groups. By default up to 128 MiB, less if the workers would idle.
    on_error : {"raise", "skip"} or callable
        What happens when a source cannot be counted: the run ends with its error at once; or it is
        left out as a whole, and a warning counts and lists what was. A callable gets each of these
        errors instead.
    resume : path, optional
        A file of `Parts` that keeps the states of finished tasks, here and not on the workers. A
        run that finds it counts only files that are new or have changed. Only for files.
    missing_columns : {"raise", "default"}
        What happens where some sources have an optional column, such as `sample_weight`, and others
        do not: an error names one of them; or each is counted with the columns that it has.

    Returns
    -------
    A new accumulator, or a dict of them by the values of the column `by`.

    Raises
    ------
    InvalidInputError
        When an argument breaks a rule, or a batch is refused.
    BadDataError
        When a file cannot be read, holds rows that are refused, or lacks an optional column that
        others have; the message names it, and the row.

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
    policy = Policy(
        fan_in=fan_in,
        target_bytes=target_bytes,
        progress=progress,
        on_error=on_error,
        resume=resume,
    )
    counter = SourceCounter.of(make, columns, by, options, missing_columns)
    if isinstance(sources, ray.data.Dataset):
        return _stream(sources, counter, policy.fan_in)
    return evaluate_on(_Cluster(), counter, sources, policy)


class _Cluster(Engine):
    """The processes that Ray has started."""

    def __init__(self) -> None:
        self.n_slots = int(ray.cluster_resources().get("CPU", 1))
        self._merge = ray.remote(merged)

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

    def merge(self, states: Sequence[Any]) -> Any:
        """Merge states."""
        return self._merge.remote(*states)

    def finished(self, handles: Sequence[Any]) -> Iterator[Any]:
        """Yield references as their objects are there."""
        pending = list(handles)
        while pending:
            (found,), pending = ray.wait(pending, num_returns=1, fetch_local=False)
            yield found

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
        """Stop tasks."""
        for handle in handles:
            ray.cancel(handle)


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
