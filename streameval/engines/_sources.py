"""What sources are: paths, data sets of files, batches, and streams that only this process has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from os import PathLike, fspath
from typing import Any

import attrs

from streameval.errors import InvalidInputError
from streameval.inputs.batches import TableBatch
from streameval.io.streams import Stored, arrow_store
from streameval.runs.files import Partition


@attrs.frozen
class DataFile:
    """A file of a data set, with the columns that its partition has.

    Parameters
    ----------
    file : str
        The path.
    form : str
        The format.
    partition : Partition
        The columns and their values.
    """

    file: str
    form: str
    partition: Partition


@attrs.frozen
class PolarsFrame:
    """A frame of polars that is collected on a worker, batch by batch.

    Parameters
    ----------
    frame : polars.LazyFrame
        What is collected.
    """

    frame: Any

    def names(self) -> list[str]:
        """List the columns."""
        return list(self.frame.collect_schema().names())

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield data frames with some of the columns."""
        chosen = self.frame.select(columns)
        if hasattr(chosen, "collect_batches"):
            yield from chosen.collect_batches(maintain_order=True)
        else:  # of a polars that is older
            yield chosen.collect()


@attrs.frozen
class Stream:
    """Batches that can be read once, by this process.

    Parameters
    ----------
    source : object
        A data set or a reader of Arrow, or a relation of DuckDB.
    """

    source: Any

    def names(self) -> list[str]:
        """List the columns."""
        held = self.source
        return list(held.schema.names if hasattr(held, "schema") else held.columns)

    def files(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the files of a data set that have rows, each with its own columns."""
        held = self.source
        for file in getattr(held, "files", ()):
            fragment = held.format.make_fragment(file, held.filesystem)
            if fragment.head(1, columns=[]).num_rows:
                yield file, fragment.physical_schema.names

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield batches of Arrow with some of the columns, and perhaps others."""
        held = self.source
        if hasattr(held, "to_batches"):
            yield from held.to_batches(columns=list(columns))
        elif _is_relation(held):
            import pyarrow as pa  # noqa: PLC0415

            yield from pa.RecordBatchReader.from_stream(held.select(*map(_quoted, columns)))
        else:
            yield from held


@attrs.frozen
class Sources:
    """Sources, sorted by how they are counted.

    Parameters
    ----------
    paths : list of str or DataFile
        Files, folders and patterns, grouped into tasks by size.
    batches : list of (object, str)
        Batches and frames, each one task, with the names that messages have.
    streams : list of (Stream, str)
        What is counted by this process.
    """

    paths: list[str | DataFile] = attrs.field(factory=list)
    batches: list[tuple[Any, str]] = attrs.field(factory=list)
    streams: list[tuple[Stream, str]] = attrs.field(factory=list)

    @classmethod
    def of(cls, sources: Any, filesystem: Any = None, noun: str = "source") -> Sources:
        """Sort sources; there must be one. A batch is one, as a path is.

        Parameters
        ----------
        sources : object
            One of them, or an iterable.
        filesystem : file system of pyarrow or fsspec, optional
            Where the paths are.
        noun : str
            What messages call a batch.
        """
        store = None if filesystem is None else arrow_store(filesystem)
        made = cls()
        for number, source in enumerate(_listed(sources), start=1):
            name = f"{noun} {number}"
            if is_path(source):
                path = fspath(source)
                made.paths.append(path if store is None else Stored(store, path))
            elif _is_data_set(source) and _is_read_as_files(source):
                made.paths.extend(_files_of(source))
            elif _is_stream(source):
                made.streams.append((Stream(source), name))
            else:
                made.batches.append((PolarsFrame(source) if _is_lazy(source) else source, name))
        return made


def is_path(source: Any) -> bool:
    """Tell the path of a file from a batch."""
    return isinstance(source, (str, PathLike))


def _listed(sources: Any) -> list[Any]:
    is_one = is_path(sources) or _is_stream(sources) or _is_lazy(sources)
    if is_one:
        return [sources]
    table = TableBatch.of(sources)
    if table is not None:
        return [table.batch]
    if not isinstance(sources, Iterable):
        type_name = type(sources).__name__
        raise InvalidInputError(
            f"must be paths, or batches with columns, got {type_name}", argument="sources"
        )
    listed = list(sources)
    if not listed:
        raise InvalidInputError("must hold at least one path or batch", argument="sources")
    return listed


def _has(source: Any, package: str, attribute: str) -> bool:
    """Recognise objects of a package by class: delayed objects of Dask have every attribute."""
    root = type(source).__module__.partition(".")[0]
    return root.lstrip("_") == package and hasattr(source, attribute)


def _is_data_set(source: Any) -> bool:
    return _has(source, "pyarrow", "get_fragments")


def _is_stream(source: Any) -> bool:
    """Tell data sets, readers and relations from tables, which have their rows."""
    is_reader = _has(source, "pyarrow", "read_next_batch")
    return is_reader or _is_relation(source) or _is_data_set(source)


def _is_relation(source: Any) -> bool:
    return _has(source, "duckdb", "fetchall")


def _is_lazy(source: Any) -> bool:
    return _has(source, "polars", "collect")


def _is_read_as_files(data: Any) -> bool:
    """Tell whether a data set is its files of Parquet, all rows of them."""
    form = getattr(data, "format", None)
    is_parquet = getattr(form, "default_extname", "") == "parquet"
    return is_parquet and not getattr(data, "_scan_options", None)


def _files_of(data: Any) -> Iterator[DataFile]:
    from pyarrow import dataset  # noqa: PLC0415 (whoever has a data set has imported it)

    for fragment in data.get_fragments():
        partition = dataset.get_partition_keys(fragment.partition_expression)
        file = Stored(fragment.filesystem, fragment.path)
        yield DataFile(file, "parquet", tuple(partition.items()))


def _quoted(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))
