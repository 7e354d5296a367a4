"""Batches that come as one object: tuples, mappings, data frames and Arrow tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

import attrs
import numpy as np

from streameval.errors import InvalidInputError
from streameval.inputs.arrays import converted, to_host
from streameval.inputs.paths import ABSENT, cuts, is_nested, value_at
from streameval.inputs.weighted_rows import are_positive


@attrs.define(eq=False, repr=False)
class TableBatch:
    """A batch with columns: a mapping, a data frame or an Arrow table."""

    batch: Any
    names: list[str]
    _taken: dict[str, Any] = attrs.field(factory=dict, init=False)

    @classmethod
    def of(cls, batch: Any) -> Self | None:
        """Read a batch of another library, and the names of its columns; None if it has none."""
        batch = converted(batch, name="batch")
        names = _column_names(batch)
        return None if names is None else cls(batch, names)

    def holds(self, name: str) -> bool:
        """Tell whether there is a column of this name, or one that it leads into."""
        return name in self.names or (is_nested(name) and self._inside(name) is not None)

    def column(self, name: str) -> Any:
        """Take a column out, once for all calls; an error names a missing one.

        A name that no column has may be a path into structures or objects, ``ctx.country``.
        """
        taken = self._taken
        if name not in taken:
            if name in self.names:
                taken[name] = self._whole(name)
            elif self._inside(name) is None:
                listed = ", ".join(self.names) or "none"
                raise InvalidInputError(
                    f"is missing: the batch has the columns {listed}", argument=name
                )
        return taken[name]

    def _whole(self, name: str) -> Any:
        try:
            return to_host(self.batch[name], name=name)
        except (KeyError, ValueError) as error:
            raise InvalidInputError(
                f"cannot be taken from the batch: {error}", argument=name
            ) from error

    def _inside(self, path: str) -> Any:
        """Take out the column that a path leads to, the longest name first; None without one."""
        if path not in self._taken:
            outer = ((name, rest) for name, rest in cuts(path) if name in self.names)
            found = (field_of(self.column(name), rest) for name, rest in outer)
            column = next((column for column in found if column is not None), None)
            if column is None:
                return None
            self._taken[path] = column
        return self._taken[path]


def field_of(column: Any, path: str) -> Any:
    """Take a field out of a column of structures or objects; None if nothing is there.

    Columns of Arrow and polars keep their types; those of pandas and lists become lists.
    """
    for name, rest in [(path, ""), *cuts(path)]:
        inner = _field(column, name)
        if inner is not None:
            return field_of(inner, rest) if rest else inner
    listed = getattr(column, "to_pylist", None) or getattr(column, "to_list", None)
    items = column if listed is None else listed()
    found = [value_at(item, path) for item in items] if isinstance(items, Iterable) else []
    if all(item is ABSENT for item in found):
        return None
    return [None if item is ABSENT else item for item in found]


def _field(column: Any, name: str) -> Any:
    """Take a field out of a column of Arrow or polars; None if its type has no such field."""
    arrow_type: Any = getattr(column, "type", None)
    if str(arrow_type).startswith("struct<"):
        names = [arrow_type.field(at).name for at in range(arrow_type.num_fields)]
        # flatten() knows the rows whose structure is null, and field() does not
        return column.flatten()[names.index(name)] if names.count(name) == 1 else None
    fields = getattr(getattr(column, "dtype", None), "fields", None)
    is_there = isinstance(fields, list) and any(field.name == name for field in fields)
    return column.struct.field(name) if is_there else None


def arguments(
    first: Any, *rest: Any, names: tuple[str, ...], optional: Mapping[str, Any]
) -> dict[str, Any]:
    """Name the arrays of one `update`, however they were handed over.

    Parameters
    ----------
    first, *rest
        The positional arguments of `update`; when all of `rest` are None, `first` is a batch
        that holds every array. If only one is required, it may be that array itself.
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
            raise InvalidInputError("is missing", argument=missing[0])
        if all(map(is_single, given.values())):
            return _one_row(given | dict(optional))
        hosted = {name: to_host(item, name=name) for name, item in optional.items()}
        return given | hosted
    held = _take_apart(first, names, tuple(optional))
    for name, item in optional.items():
        if held.get(name) is None:
            held[name] = item
        elif item is not None:
            raise InvalidInputError("is in the batch and is also passed by keyword", argument=name)
    return held


def is_single(value: Any) -> bool:
    """Tell whether this is one number or text, of Python or NumPy."""
    return isinstance(value, (int, float, str, np.generic))


def all_have_weight(first: Any, second: Any, weights: Any) -> bool:
    """Tell whether these are certainly two arrays, and weights above 0 if there are any."""
    if first is None or second is None:
        return False
    return (weights is None or are_positive(weights)) and (
        type(first) is np.ndarray or not is_single(first)
    )


def _one_row(given: dict[str, Any]) -> dict[str, Any]:
    """Make arrays of one row of numbers and texts."""
    return {name: [item] if is_single(item) else item for name, item in given.items()}


def _take_apart(batch: Any, names: tuple[str, ...], optional: tuple[str, ...]) -> dict[str, Any]:
    if type(batch) is dict and all(type(batch.get(name)) is np.ndarray for name in names):
        there = (*names, *(name for name in optional if name in batch))
        return {name: to_host(batch[name], name=name) for name in there}
    if len(names) == 1:
        batch = converted(batch, name=names[0])  # it may be the array itself
    table = None if type(batch) is np.ndarray else TableBatch.of(batch)
    if table is not None:
        found = [name for name in optional if name in table.names]
        return {name: table.column(name) for name in (*names, *found)}
    if len(names) == 1 and not isinstance(batch, tuple):
        return {names[0]: batch}
    wanted = ", ".join(names)
    first_missing = (names[1:] or names)[0]
    if not isinstance(batch, (tuple, list)):
        raise InvalidInputError(
            f"is missing: pass {wanted}, or one batch that holds them (tuple, mapping or table), "
            f"got {type(batch).__name__}",
            argument=first_missing,
        )
    highest = len(names) + len(optional)
    if not len(names) <= len(batch) <= highest:
        raise InvalidInputError(
            f"is missing, or the batch must hold {wanted} in this order ({len(names)} to {highest} "
            f"arrays), got {len(batch)} items",
            argument=first_missing,
        )
    # two numbers are a row as two arguments, and scalars as a batch: [1, 0] may be labels
    arrays = [np.asarray(item) if is_single(item) else item for item in batch]
    return dict(zip(names + optional, arrays, strict=False))


def _column_names(batch: Any) -> list[str] | None:
    """List the columns of a mapping, a data frame or an Arrow table; None for anything else."""
    if isinstance(batch, Mapping):
        return [str(name) for name in batch]
    if hasattr(batch, "collect"):
        raise InvalidInputError(
            f"must hold data, got a {type(batch).__name__}",
            argument="batch",
            remedy=f"Call its {'toPandas' if hasattr(batch, 'toPandas') else 'collect'}() first.",
        )
    for attribute in ("column_names", "columns"):
        names = getattr(batch, attribute, None)
        if isinstance(names, Iterable) and not isinstance(names, str):
            return [str(name) for name in names]
    return None
