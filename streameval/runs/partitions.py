"""Partitions: columns that the folders of a file name, ``country=DE/day=3/part-0.parquet``."""

from __future__ import annotations

import re
from itertools import chain, islice
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import attrs

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from streameval.io.blocks import Block, Parsed
    from streameval.io.columns import Argument
    from streameval.io.row_filters import RowFilter

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
