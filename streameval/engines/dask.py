"""Evaluation on a Dask cluster: every source is counted by a task, and a tree of tasks merges."""

from __future__ import annotations

# The engine may be missing where types are checked, and is taken for this file then.
# pyright: reportMissingImports=false, reportCallIssue=false
from collections.abc import Mapping
from typing import Any

from streameval.engines._counting import (
    Make,
    Progress,
    SourceCounter,
    States,
    as_sources,
    merge_tree,
    merged,
)

try:
    from dask import delayed
    from distributed import as_completed
except ImportError as error:
    raise ImportError('dask is missing: pip install "streameval[dask]".') from error

__all__ = ["evaluate"]


def evaluate(
    client: Any,
    sources: Any,
    make: Make,
    *,
    columns: Mapping[str, str] | None = None,
    by: str | None = None,
    options: Mapping[str, Any] | None = None,
    fan_in: int = 8,
    progress: Progress | None = None,
) -> Any:
    """Count sources on the workers of a cluster, the same bytes as in one process.

    Parameters
    ----------
    client : dask.distributed.Client
        Asynchronous ones are not supported.
    sources : sequence of paths or batches, or a Dask data frame
        Paths of Parquet, CSV or JSON lines that the workers can open; delayed batches; or a
        data frame, each of its partitions a source.
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
        Called with the number of sources that have been counted and that of all.

    Returns
    -------
    A new accumulator, or a dict of them by the values of the column `by`.

    Raises
    ------
    InvalidInputError
        When an argument breaks a rule, or a batch is refused.
    BadDataError
        When a file cannot be read, or holds rows that are refused; the message names it.

    Notes
    -----
    Merging leaves its arguments alone, so that tasks may be run twice, and are when a worker
    dies. Between workers and to the client, only states travel.

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
    counting = SourceCounter.of(make, columns, by, options)
    # The content of a path may change, so that no result of an earlier task may stand in.
    count = delayed(counting.count, pure=False)
    leaves = [count(source) for source in as_sources(_partitions(sources, counting))]
    root = merge_tree(leaves, delayed(merged, pure=False), fan_in)
    *counted, total = client.compute([*leaves, root])
    done = as_completed(counted)
    del counted  # what has been merged need not be kept
    for number, _ in enumerate(done, start=1):
        if progress is not None:
            progress(number, len(leaves))
    slices: States = total.result()
    return counting.result(slices)


def _partitions(sources: Any, counting: SourceCounter) -> Any:
    """Split a data frame into partitions, with the counted columns only."""
    if hasattr(sources, "to_delayed"):
        return sources[counting.names(sources.columns)].to_delayed()
    return sources
