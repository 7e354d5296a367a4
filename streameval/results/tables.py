"""Results as columns, which pandas, polars and Arrow accept directly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeGuard

from streameval.errors import InvalidInputError
from streameval.metrics.bounded import Bounded

if TYPE_CHECKING:
    from streameval.results.result import Result

Columns = dict[str, list[Any]]
Row = dict[str, Any]


def flat(name: str, number: Any, *, bounds: bool, of: str = "") -> Row:
    """Name a number, and the ends of its certified interval if it has one."""
    if not isinstance(number, Bounded):
        return {f"{name}{of}": number}
    ends = {f"{name}_low{of}": number.low, f"{name}_high{of}": number.high} if bounds else {}
    return {f"{name}{of}": float(number), **ends}


def in_columns(rows: Iterable[Mapping[str, Any]]) -> Columns:
    """Turn rows into columns of one type each; gaps are None."""
    listed = list(rows)
    names = dict.fromkeys(name for row in listed for name in row)
    return {name: _of_one_type([row.get(name) for row in listed]) for name in names}


def stacked(results: Mapping[Any, Result], per: str | None, *, key: str, bounds: bool) -> list[Row]:
    """List the rows of several results, each with its key; without `per`, one row a result."""
    rows = [
        (of, row)
        for of, result in results.items()
        for row in ([result.as_dict(bounds=bounds)] if per is None else result.rows(per, bounds))
    ]
    if any(key in row for _, row in rows):
        raise InvalidInputError(
            f"must not be the name of another column, got {key!r}", argument="key"
        )
    return [{key: of, **row} for of, row in rows]


def table(
    results: Result | Mapping[Any, Result],
    per: str | None = None,
    *,
    key: str = "slice",
    bounds: bool = False,
) -> Columns:
    """Lay results out as columns, for ``pandas.DataFrame``, ``polars.DataFrame`` and Arrow tables.

    Parameters
    ----------
    results : result, or mapping of results
        A result of `compute`, or several by slice, model, epoch or the like.
    per : {"class", "group", "query"}, optional
        What each row holds: see the method `table` of a result. By default, each metric has a
        row; in a mapping, each result.
    key : str
        The name of the column for the keys of a mapping; no other column may have it.
    bounds : bool
        Whether to add the ends of certified intervals.

    Examples
    --------
    >>> import streameval as se
    >>> def count(*batch):
    ...     return se.ConfusionAccumulator().update(*batch).compute()
    >>> countries = {"DE": count([0, 1], [0, 1]), "FR": count([0, 1], [1, 1])}
    >>> columns = se.table(countries, key="country")
    >>> columns["country"], columns["accuracy"]
    (['DE', 'FR'], [1.0, 0.5])
    """
    if _has_table(results):
        columns: Columns = results.table(per, bounds=bounds)
        return columns
    if not isinstance(results, Mapping):
        got = type(results).__name__
        raise InvalidInputError(f"must be a result or a mapping, got {got}", argument="results")
    for of, result in results.items():
        if not _has_table(result):
            got = type(result).__name__
            raise InvalidInputError(f"must map to results, got {got} at {of!r}", argument="results")
    return in_columns(stacked(results, per, key=key, bounds=bounds))


def _has_table(value: Any) -> TypeGuard[Result]:
    """Tell whether a value is a result; the class itself imports this module."""
    return callable(getattr(value, "table", None))


def _of_one_type(values: list[Any]) -> list[Any]:
    """Convert mixed numbers to floats, and mixed numbers and texts to texts."""
    if len({isinstance(value, str) for value in values if value is not None}) > 1:
        return [None if value is None else str(value) for value in values]
    if not any(isinstance(value, float) for value in values):
        return values
    return [float(value) if isinstance(value, int) else value for value in values]
