"""The batch of an update of groups: its columns as passed, before they are counted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from streameval.accumulators.grouped_rows import Key, rows_with_weight, weights_of
from streameval.configs.inner import Inner
from streameval.configs.sliced import ClusteredConfig
from streameval.errors import CountOverflowError, InvalidInputError, StreamevalError
from streameval.exact.array_types import Array
from streameval.inputs.arrays import (
    IDS,
    as_array,
    as_ids,
    as_labels,
    first_index,
    is_missing,
    passes_int64,
)
from streameval.inputs.batches import TableBatch
from streameval.inputs.coded import CodedTexts, are_texts
from streameval.inputs.values import ValueCodes, mixed
from streameval.inputs.weighted_rows import WeightedRows

_CHUNK = 2**15  # its temporaries stay in the cache


class Batch:
    """The columns of one update, as passed.

    Parameters
    ----------
    table : TableBatch
    columns : dict from name to array
        The counted columns; the only check so far is that they exist.
    inner : Inner
    """

    __slots__ = ("columns", "inner", "size", "table")

    def __init__(self, table: TableBatch, columns: dict[str, Any], inner: Inner) -> None:
        self.table, self.columns, self.inner = table, columns, inner
        self.size = self._length(inner.required[0])

    @classmethod
    def of(cls, batch: Any, sample_weight: Any, inner: Inner) -> Self:
        """Take the columns out of a mapping, a data frame or an Arrow table."""
        table = TableBatch.of(batch)
        if table is None:
            raise InvalidInputError(
                f"must be a mapping, a data frame or an Arrow table, got {type(batch).__name__}",
                argument="batch",
            )
        columns = {name: table.column(name) for name in inner.required}
        for name in inner.optional:
            if table.holds(name):
                columns[name] = table.column(name)
        if sample_weight is not None:
            columns |= _weight_columns(sample_weight, columns, inner)
        return cls(table, columns, inner)

    def _length(self, name: str) -> int:
        """Count the rows; a list with gaps and a column of Arrow are no arrays yet."""
        column = self.columns[name]
        if isinstance(column, (list, tuple)) or hasattr(column, "to_pylist"):
            return len(column)
        shape = getattr(column, "shape", None)
        if shape is None:
            shape = _listed(column, name).shape
        if not shape:
            error = InvalidInputError("must have shape (n,), got a scalar", argument=name)
            raise self.refusal(error, takes_unlabelled=False)
        return int(shape[0])

    def arrays(self) -> dict[Key, Array]:
        """Return the columns as arrays or codes; counting the batch has already checked them."""
        counted = [(one, of, name) for one in self.inner.counted for of, name in one.read.items()]
        names = {name for _, _, name in counted}
        # a column of values may have the name of ids
        ids = {
            name
            for one, of, name in counted
            if of in IDS and of in (*one.cls._arrays, *one.cls._optional_arrays)
        }
        return {
            name: _read(part, name, is_id=name in ids)
            for name, part in self.columns.items()
            if name in names
        }

    def without_truth(self) -> Array | None:
        """Return which rows have no label; None if all have one."""
        found: Array | None = None
        for name in self.inner.truths:
            missing = _missing(self.columns[name], name)
            if missing is None:
                return None
            found = missing if found is None else found & missing
        return found if found is not None and found.any() else None

    def without(self, missing: Array) -> Batch:
        """Leave rows out."""
        kept = np.flatnonzero(~missing)
        columns = {}
        for name in self.columns:
            value = self.columns[name]
            array = value if isinstance(value, np.ndarray) else _listed(value, name)
            rows = len(array) if array.ndim else "a scalar"
            if rows != len(missing):
                raise InvalidInputError(f"must have {len(missing)} rows, got {rows}", argument=name)
            columns[name] = array[kept]
        return Batch(self.table, columns, self.inner)

    def count_in(self, accumulator: Any) -> None:
        """Check the batch: count it with an accumulator of all rows, which may refuse it."""
        accumulator.update(dict(self.columns))

    def refusal(self, error: StreamevalError, *, takes_unlabelled: bool) -> StreamevalError:
        """Return why the accumulator of a group would refuse all rows; else the given error."""
        try:
            if not takes_unlabelled or self.without_truth() is None:
                self.count_in(self.inner.leaf.empty())
        except (InvalidInputError, CountOverflowError) as own:
            return own
        return error

    def weighted(self, keys: Iterable[str]) -> WeightedRows | None:
        """Take out the rows that have weight, with columns of keys; None if all have."""
        index = rows_with_weight(self.inner, self.columns, self.size)
        if index is None:
            return None
        weights = [self.columns[name] for name in self.inner.weights if name in self.columns]
        if any(np.ndim(array) > 1 for array in weights):
            self.count_in(self.inner.leaf.empty())  # refuses a shape, which zeros would hide
        arrays = self.columns | {key: self.table.column(key) for key in keys}
        return WeightedRows.of(arrays, index, rows=self.size)

    def weights(self) -> Array | None:
        """Return the weight of each row, the maximum over members; None if all are 1."""
        return weights_of(self.inner, self.columns, self.size)


def _read(part: Any, name: str, *, is_id: bool) -> Any:
    """Read a column; codes of texts stay codes."""
    if are_texts(part):
        return part
    return as_ids(part, name=name) if is_id else as_array(part, name=name, allow_missing=True)


def _missing(value: Any, name: str) -> Array | None:
    """Return which items of a vector are missing; None if none can be."""
    if value is None or are_texts(value):
        return None
    is_array = isinstance(getattr(value, "dtype", None), np.dtype) or _n_nulls(value) == 0
    array = np.asarray(value) if is_array else _listed(value, name)
    if array.dtype.kind in "fMm" and array.ndim == 1:  # gaps among numbers, or a column of gaps
        return np.asarray(np.isnan(array))
    if array.dtype.kind != "O" or array.ndim != 1:
        return None
    known = (bool, int, str)
    return np.fromiter(
        (type(item) not in known and is_missing(item) for item in array.tolist()),
        bool,
        len(array),
    )


def _n_nulls(column: Any) -> int | None:
    """Count the nulls of a column of Arrow or polars; None for anything else."""
    n: Any = getattr(column, "null_count", None)
    n = n() if callable(n) else n
    return n if isinstance(n, int) else None


def _listed(value: Any, name: str) -> Array:
    """Make an array of the items of a column with gaps, so that rows can be left out."""
    if isinstance(value, CodedTexts):
        return np.asarray(value)
    items = value.to_list() if hasattr(value, "to_list") else value
    items = items.to_pylist() if hasattr(items, "to_pylist") else items
    items = items.tolist() if hasattr(items, "isna") and items.ndim == 1 else items  # of pandas
    if not isinstance(items, (list, tuple)):
        return as_array(value, name=name, allow_missing=True)
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def _weight_columns(weights: Any, columns: dict[str, Any], inner: Inner) -> dict[str, Any]:
    """Return the weights passed by keyword, as the weight column of every member."""
    names = [member.read.get("sample_weight") for member in inner.members]
    for member, column in zip(inner.members, names, strict=True):
        if column is None:
            raise InvalidInputError(
                f"has no meaning here: {member.cls.__name__} reads {', '.join(member.arrays)}",
                argument="sample_weight",
            )
        if column in columns and column == "sample_weight":
            raise InvalidInputError(
                "is in the batch and is also passed by keyword", argument="sample_weight"
            )
    return {str(column): weights for column in names}


def groups_of_clusters(
    config: ClusteredConfig, by: str, table: TableBatch, codes: ValueCodes
) -> Array:
    """Return the group of the cluster of each row; codes remember the clusters that are texts."""
    column = table.column(by)
    dtype = getattr(column, "dtype", None)
    is_whole = isinstance(dtype, np.dtype) and dtype.kind in "iu" and column.ndim == 1
    if is_whole and not passes_int64(np.asarray(column)):
        numbers = as_labels(column, name=by)
        groups = np.empty(len(numbers), dtype=np.uint16)
        for start in range(0, len(numbers), _CHUNK):
            chunk = slice(start, start + _CHUNK)
            groups[chunk] = config.group_of(mixed(numbers[chunk].view(np.uint64)))
        return groups
    found = codes.read([column], [by])
    missing = codes.missing(found)
    if missing.any():
        raise InvalidInputError(
            "must hold a cluster in every row, got a missing one",
            argument=by,
            position=first_index(missing),
            remedy="Give rows that depend on no others ids of their own.",
        )
    return config.group_of(codes.hashes())[found]


def refuse_split_queries(queries: Array, groups: Array, *, name: str, column: str) -> None:
    """Refuse queries whose rows lie in several groups."""
    first = np.zeros(int(queries.max()) + 1, dtype=groups.dtype)
    first[queries[::-1]] = groups[::-1]
    apart = first[queries] != groups
    if apart.any():
        raise InvalidInputError(
            f"must be the same in all rows of a query (column {column!r})",
            argument=name,
            position=first_index(apart),
        )
