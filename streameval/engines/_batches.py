"""Batches of a source: where they are read, what of them is counted, and how they are split."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np

from streameval.errors import BadDataError, InvalidInputError
from streameval.inputs.batches import Table
from streameval.io.formats import format_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["check_there", "is_path", "read_batches", "renamed", "split"]

_MOST_SLICES = 100_000


def is_path(source: Any) -> bool:
    """Tell the path of a file from a batch."""
    return isinstance(source, (str, PathLike))


def check_there(columns: Mapping[str, bool], names: Sequence[str]) -> None:
    """Refuse names without the columns that must be there."""
    for column, is_needed in columns.items():
        if is_needed and column not in names:
            listed = ", ".join(names) or "none"
            raise InvalidInputError(f"`{column}` is missing: the batch has the columns {listed}.")


def read_batches(source: Any, columns: Mapping[str, bool]) -> Iterator[Any]:
    """Give the batches of a source: of a file one after the other, a batch as it is.

    Parameters
    ----------
    source : path or batch
        A file of Parquet, CSV or JSON lines, or a folder of such files whose name ends as
        theirs do; what `pyarrow.dataset` takes as a path may lie in a cloud's store.
    columns : mapping from str to bool
        The columns that are read, and whether they must be there.

    Raises
    ------
    BadDataError
        When the file cannot be read, or lacks a column.
    """
    if not is_path(source):
        yield source
        return
    import pyarrow as pa  # noqa: PLC0415 (optional, and slow to import)

    name = fspath(source)
    try:
        data = _dataset(name)
        found = [column for column in columns if column in data.schema.names]
        check_there(columns, data.schema.names)
        yield from data.to_batches(columns=found, use_threads=False)
    except FileNotFoundError as error:
        raise BadDataError(f"{name}: no such file.") from error
    except (pa.ArrowException, OSError, InvalidInputError) as error:
        raise BadDataError(f"{name}: {_one_line(error)}.") from error


def renamed(batch: Any, columns: Mapping[str, str], required: Mapping[str, str]) -> dict[str, Any]:
    """Take the columns out of a batch, under the names of the arguments of `update`.

    Parameters
    ----------
    batch : mapping, data frame or Arrow table
    columns : mapping from argument to column
        Those that are taken if they are there.
    required : mapping from argument to column
        Those of them that must be there.
    """
    table = Table.of(batch)
    if table is None:
        kind = type(batch).__name__
        raise InvalidInputError(f"`sources` must be paths, or batches with columns, got {kind}.")
    check_there(dict.fromkeys(required.values(), True), table.names)
    return {
        argument: table.column(column)
        for argument, column in columns.items()
        if column in table.names
    }


def split(batch: Any, by: str) -> Iterator[tuple[Any, pa.Table]]:
    """Split a batch by the values of a column; None stands for a value that is missing."""
    import pyarrow as pa  # noqa: PLC0415

    table = _arrow_table(batch)
    check_there({by: True}, table.column_names)
    column = table.column(by)
    if pa.types.is_floating(column.type):
        raise InvalidInputError(f"`by` must name a column without fractions, got {column.type}.")
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    column = column.unify_dictionaries().combine_chunks()
    values = [*column.dictionary.to_pylist(), None]
    if len(values) > _MOST_SLICES:
        raise InvalidInputError(
            f"`by` must name a column of at most {_MOST_SLICES} values, got more of {by!r}."
        )
    places = column.indices.fill_null(len(values) - 1).to_numpy(zero_copy_only=False)
    order = np.argsort(places, kind="stable")
    ends = np.cumsum(np.bincount(places, minlength=len(values)))
    for value, rows in zip(values, np.split(order, ends[:-1]), strict=True):
        if len(rows):
            yield value, table.take(pa.array(rows))


def _dataset(name: str) -> Any:
    from pyarrow import csv, dataset  # noqa: PLC0415

    form = format_of(name.rstrip("/"))
    if form is None:
        raise InvalidInputError("the name must end in .parquet, .csv, .tsv or .jsonl")
    if form == "tsv":
        return dataset.dataset(name, format=dataset.CsvFileFormat(csv.ParseOptions(delimiter="\t")))
    return dataset.dataset(name, format="json" if form == "jsonl" else form)


def _arrow_table(batch: Any) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415

    if isinstance(batch, pa.RecordBatch):
        return pa.Table.from_batches([batch])
    if isinstance(batch, Mapping):
        return pa.table({name: _items(column) for name, column in batch.items()})
    return pa.table(batch)


def _items(column: Any) -> list[Any]:
    """List the rows of a column; through an array, text would lose the NULs at its ends."""
    return list(column if isinstance(column, (list, tuple)) else np.asarray(column))


def _one_line(error: BaseException) -> str:
    return str(error).partition("\n")[0].rstrip(".")
