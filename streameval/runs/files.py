"""The files of folders, patterns and file systems, with their formats and partitions."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from glob import glob, has_magic
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import attrs

from streameval.errors import BadDataError
from streameval.io.formats import format_of
from streameval.io.streams import Stored, reading, store_of

if TYPE_CHECKING:
    from streameval.io.blocks import Block, Parsed
    from streameval.io.columns import Argument
    from streameval.io.row_filters import RowFilter


def files_of(path: str) -> list[tuple[str, str | None]]:
    """List the files of a folder or pattern, or the single file at a path, with their formats.

    If the name of a file does not show its format, that of its folder may, as in ``log.parquet``.
    Files whose names begin with a dot or an underscore are left out, because engines write markers
    under such names; partitions such as ``_day=3`` are kept.

    Raises
    ------
    BadDataError
        If a folder has no file, or no file matches a pattern.
    """
    found = store_of(path)
    if found is not None:
        return _stored(path, *found)
    if not is_pattern(path):
        below = _below(path)
        return [(path, None)] if below is None else _in_folder(path, below)
    fitting = sorted(glob(path, recursive=True))  # noqa: PTH207 - it may begin anywhere
    return _fitting(path, (one for one in fitting if not _is_hidden(Path(one).name)))


def is_pattern(path: str) -> bool:
    """Return whether a text is a pattern, such as ``logs/*.parquet``, and not an existing path."""
    return has_magic(path) and not os.path.exists(path)


def _in_folder(folder: str, below: Iterable[str]) -> list[tuple[str, str | None]]:
    """List the files of a folder, whose paths are relative to it."""
    root = folder.rstrip("/")
    found = store_of(folder)
    names = [name for name in sorted(below) if not _is_hidden(name)]
    if not names:
        raise BadDataError(f"{folder}: there is no file in this folder.")
    files = [f"{root}/{name}" for name in names]
    if found is not None:
        store, inner = found[0], found[1].rstrip("/")
        files = [
            Stored(store, f"{inner}/{name}", file) for name, file in zip(names, files, strict=True)
        ]
    return [(file, format_of(file) or format_of(root)) for file in files]


def _fitting(pattern: str, paths: Iterable[str]) -> list[tuple[str, str | None]]:
    """List the files of the paths that match a pattern, each once."""
    listed = dict(file for path in paths for file in files_of(path))
    if not listed:
        raise BadDataError(f"{pattern}: no file matches this pattern.")
    return list(listed.items())


def _below(folder: str) -> list[str] | None:
    """List the files below a folder, relative to it; None if it is not a folder."""
    if not os.path.isdir(folder):
        return None
    return [Path(file).relative_to(folder).as_posix() for file in _files_in(folder)]


def _files_in(folder: str) -> Iterator[str]:
    """Yield the files below; a folder is refused whose rows would be missing silently."""
    with reading(folder):
        entries = [one for one in os.scandir(folder) if not _is_hidden(one.name)]
        files = [one.path for one in entries if one.is_file()]
        folders = [one.path for one in entries if one.is_dir(follow_symlinks=False)]
    yield from files
    for one in folders:
        yield from _files_in(one)


def _stored(address: str, store: Any, path: str) -> list[tuple[str, str | None]]:
    """List the files of a path, or of a pattern, in a file system."""
    from pyarrow import fs  # noqa: PLC0415 (a store is one of its own)

    with reading(address):
        info = store.get_file_info(path)
        if info.type == fs.FileType.NotFound and has_magic(path):
            return _fitting(address, _stored_fitting(address, store, path))
        if info.type != fs.FileType.Directory:
            return [(Stored(store, path, address), None)]
        inside = store.get_file_info(fs.FileSelector(path, recursive=True))
    files = (info.path for info in inside if info.type == fs.FileType.File)
    return _in_folder(address, [file.removeprefix(path).lstrip("/") for file in files])


def _stored_fitting(address: str, store: Any, pattern: str) -> list[str]:
    """List the paths in a file system that match a pattern, as messages show them."""
    from pyarrow import fs  # noqa: PLC0415 (a store is one of its own)

    parts = pattern.split("/")
    n_whole = next(at for at, part in enumerate(parts) if has_magic(part))
    base = "/".join(parts[:n_whole])
    inside = store.get_file_info(fs.FileSelector(base, recursive=True, allow_not_found=True))
    start = address.removesuffix(pattern.lstrip("/"))
    paths = sorted(info.path for info in inside)
    return [
        Stored(store, path, start + path.lstrip("/"))
        for path in paths
        if _fits(path.split("/"), parts) and not _is_hidden(path.rpartition("/")[2])
    ]


def _fits(path: Sequence[str], pattern: Sequence[str]) -> bool:
    """Match the parts of a path; ``**`` stands for any number of them."""
    if not pattern or not path:
        return not path and all(part == "**" for part in pattern)
    first, *rest = pattern
    if first == "**":
        return _fits(path, rest) or (not _is_hidden(path[0]) and _fits(path[1:], pattern))
    are_shown = first.startswith(".") or not path[0].startswith(".")
    return are_shown and fnmatchcase(path[0], first) and _fits(path[1:], rest)


def _is_hidden(name: str) -> bool:
    return any(part.startswith((".", "_")) and "=" not in part for part in Path(name).parts)


Partition = tuple[tuple[str, Any], ...]
"""The columns that the folders of a file name, each with its value."""

_NULL = "__HIVE_DEFAULT_PARTITION__"
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_FIRST_ROWS = 100


def partitions_of(files: Sequence[str]) -> list[Partition]:
    """Read the partitions of files from their paths, in the style of Hive and most engines.

    The values of a column are integers if all of them are written as such, else text, so that
    007 keeps its zeros.

    >>> partitions_of(["log/day=3/a.csv", "log/day=10/b.csv"])
    [(('day', 3),), (('day', 10),)]
    >>> partitions_of(["log/day=3/a.csv", "log/day=07/b.csv", "c.csv"])
    [(('day', '3'),), (('day', '07'),), ()]
    """
    texts = [dict(_named(file)) for file in files]
    others = {
        name
        for found in texts
        for name, text in found.items()
        if text is not None and not _INTEGER.fullmatch(text)
    }
    return [
        tuple(
            (name, text if text is None or name in others else int(text))
            for name, text in found.items()
        )
        for found in texts
    ]


def _named(file: str) -> Iterator[tuple[str, str | None]]:
    if "=" in file:
        for part in re.split(r"[/\\]", file)[:-1]:
            name, equals, text = part.partition("=")
            if name and equals:
                yield unquote(name), None if text == _NULL else unquote(text)


def with_partition(
    blocks: Iterator[Block], partition: Partition, names: Container[str] | None = None
) -> Iterator[Block]:
    """Add the columns of a partition to the blocks of a file; its own columns take precedence.

    Parameters
    ----------
    blocks : iterator of Block
        The file.
    partition : Partition
        The columns that its folders name.
    names : container of str, optional
        The columns that are read, by default all.
    """
    wanted = [pair for pair in partition if names is None or pair[0] in names]
    if not wanted:
        return blocks
    return _with_values(blocks, wanted)


def _with_values(blocks: Iterator[Block], wanted: Sequence[tuple[str, Any]]) -> Iterator[Any]:
    first = next(blocks, None)
    if first is None:
        return
    rows = list(islice(first.rows([name for name, _ in wanted]), _FIRST_ROWS))
    left = tuple(pair for pair in wanted if not any(pair[0] in row for row in rows))
    for block in chain([first], blocks):
        yield PartitionBlock(block, left) if left else block


@attrs.frozen
class PartitionBlock:
    """A block whose rows share some additional values.

    Parameters
    ----------
    block : Block
        A part of a file.
    values : Partition
        The values that its folders name.
    """

    block: Any
    values: Partition

    def __getattr__(self, name: str) -> Any:
        """Delegate everything else to the block."""
        return getattr(self.block, name)

    def rows(self, names: Iterable[str] | None = None) -> Iterator[Mapping[str, Any]]:
        """Yield the rows that can be read, with the values."""
        values = dict(self.values)
        return ({**row, **values} for row in self.block.rows(names))

    def parse(self, columns: Sequence[Argument], where: RowFilter | None = None) -> Parsed:
        """Read the columns; a filter sees the values too."""
        changed = [attrs.evolve(column, fixed=self.values) for column in columns]
        if where is not None:
            where = attrs.evolve(where, fixed=self.values)
        parsed: Parsed = self.block.parse(changed, where)
        return parsed
