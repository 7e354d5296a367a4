"""Batches that come as one object: tuples, mappings, data frames and Arrow tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from streameval.errors import InvalidInputError

__all__ = ["arguments"]


def arguments(
    first: Any, *rest: Any, names: tuple[str, ...], optional: Mapping[str, Any]
) -> dict[str, Any]:
    """Name the arrays of one `update`, however they were handed over.

    Parameters
    ----------
    first, *rest
        The positional arguments of `update`; when all of `rest` are None, `first` is a batch
        that holds every array.
    names : tuple of str
        The required arrays, in signature order.
    optional : mapping of str to array or None
        The keyword arguments of `update` as they were passed.

    Returns
    -------
    dict
        One entry for each required and each optional name.
    """
    if any(item is not None for item in rest):
        given = dict(zip(names, (first, *rest), strict=True))
        missing = [name for name, item in given.items() if item is None]
        if missing:
            raise InvalidInputError(f"`{missing[0]}` is missing.")
        return given | dict(optional)
    held = _take_apart(first, names, tuple(optional))
    for name, item in optional.items():
        if held.get(name) is None:
            held[name] = item
        elif item is not None:
            raise InvalidInputError(f"`{name}` is in the batch and is also passed by keyword.")
    return held


def _take_apart(batch: Any, names: tuple[str, ...], optional: tuple[str, ...]) -> dict[str, Any]:
    columns = _column_names(batch)
    if columns is not None:
        return _take_columns(batch, columns, names, optional)
    wanted = ", ".join(names)
    if not isinstance(batch, (tuple, list)):
        raise InvalidInputError(
            f"`{names[1]}` is missing: pass {wanted}, or one batch that holds them "
            f"(tuple, mapping or table), got {type(batch).__name__}."
        )
    most = len(names) + len(optional)
    if not len(names) <= len(batch) <= most:
        raise InvalidInputError(
            f"`{names[1]}` is missing, or the batch must hold {wanted} in this order "
            f"({len(names)} to {most} arrays), got {len(batch)} items."
        )
    return dict(zip(names + optional, batch, strict=False))


def _take_columns(
    batch: Any, columns: list[str], names: tuple[str, ...], optional: tuple[str, ...]
) -> dict[str, Any]:
    for name in names:
        if name not in columns:
            raise InvalidInputError(
                f"`{name}` is missing: the batch has the columns {', '.join(columns) or 'none'}."
            )
    return {name: _column(batch, name) for name in names + optional if name in columns}


def _column(batch: Any, name: str) -> Any:
    try:
        return batch[name]
    except (KeyError, ValueError) as error:
        raise InvalidInputError(f"`{name}` cannot be taken from the batch: {error}.") from error


def _column_names(batch: Any) -> list[str] | None:
    """List the columns of a mapping, a data frame or an Arrow table; None for anything else."""
    if isinstance(batch, Mapping):
        return [str(name) for name in batch]
    if hasattr(batch, "collect"):
        raise InvalidInputError(
            f"`batch` must hold data, got a {type(batch).__name__}. Call its collect() first."
        )
    for attribute in ("column_names", "columns"):
        names = getattr(batch, attribute, None)
        if isinstance(names, Iterable) and not isinstance(names, str):
            return [str(name) for name in names]
    return None
