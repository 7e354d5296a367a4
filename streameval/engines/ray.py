"""Evaluation on a Ray cluster: every source is counted by a task, and a tree of tasks merges."""

from __future__ import annotations

# The engine may be missing where types are checked, and is taken for this file then.
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false
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
    import ray
except ImportError as error:
    raise ImportError('ray is missing: pip install "streameval[ray]".') from error

__all__ = ["evaluate"]


def evaluate(
    sources: Any,
    make: Make,
    *,
    columns: Mapping[str, str] | None = None,
    by: str | None = None,
    options: Mapping[str, Any] | None = None,
    fan_in: int = 8,
    progress: Progress | None = None,
) -> Any:
    """Count sources in tasks of a Ray cluster, the same bytes as in one process.

    Parameters
    ----------
    sources : sequence of paths or batches, or a Ray data set
        Paths of Parquet, CSV or JSON lines that the workers can open; batches, or references
        to batches that were put into the object store; or a `ray.data.Dataset`, each of its
        blocks a source.
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
    counting = SourceCounter.of(make, columns, by, options)
    count, merge_some = ray.remote(SourceCounter.count), ray.remote(merged)
    shared = ray.put(counting)
    leaves = [count.remote(shared, source) for source in as_sources(_blocks(sources))]
    root = merge_tree(leaves, merge_some.remote, fan_in)
    try:
        if progress is not None:
            _tell(progress, leaves)
        slices: States = ray.get(root)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error
    return counting.result(slices)


def _tell(progress: Progress, leaves: list[Any]) -> None:
    """Wait for the sources, and tell when one has been counted or raise what it raised."""
    pending = leaves
    while pending:
        (finished,), pending = ray.wait(pending, num_returns=1)
        ray.get(finished)
        progress(len(leaves) - len(pending), len(leaves))


def _blocks(sources: Any) -> Any:
    """Take a data set apart into references to Arrow tables."""
    return sources.to_arrow_refs() if hasattr(sources, "to_arrow_refs") else sources
