"""Blocks: parts of a file that a worker process can parse by itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

import attrs

from streameval.errors import BadDataError
from streameval.io.streams import reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from streameval.io.columns import Column
    from streameval.io.row_filters import RowFilter
    from streameval.io.rows import Parsed

__all__ = ["Block", "Emptied", "emptied"]


class Block(Protocol):
    """A part of a file: a frozen value that pickles and can be parsed on its own.

    Its `unit` is what a row of the file is called, "line", "row" or "query", or "offset" or
    "entry" on a server.
    """

    unit: ClassVar[str]

    @property
    def source(self) -> str:
        """The name of the file for messages."""
        ...

    @property
    def taken(self) -> int:
        """How many bytes of the file it covers, before unpacking."""
        ...

    @property
    def unended(self) -> str:
        """What the last line of its file lacks, if that is the block; else nothing."""
        ...

    def rows(self, names: Iterable[str] | None = None) -> Iterator[Mapping[str, Any]]:
        """Yield the rows that can be read, to look at; every field of them, as JSON would.

        Fields that are not among `names` may be left out as None.
        """
        ...

    def parse(self, columns: Sequence[Column], where: RowFilter | None = None) -> Parsed:
        """Read the columns of the rows that a filter keeps; set apart rows that cannot be read.

        Raises
        ------
        BadDataError
            If the block as a whole cannot be read.
        """
        ...


@attrs.frozen
class Emptied:
    """A block of a file that can be read again, without its bytes.

    Parameters
    ----------
    block : Block
        All else of it.
    start, size : int
        Where its bytes are in the file.
    """

    _block: Any
    _start: int
    _size: int

    def filled(self) -> Block:
        """Read the bytes.

        Raises
        ------
        BadDataError
            If the file is shorter by now, or cannot be read.
        """
        path = self._block.source
        with reading(path), Path(path).open("rb") as file:
            file.seek(self._start)
            data = file.read(self._size)
        if len(data) < self._size:
            raise BadDataError(f"{path}: has become shorter while it was read.")
        filled: Block = attrs.evolve(self._block, data=data)
        return filled


def emptied(block: Any) -> Block | Emptied:
    """Leave out the bytes of a block if its file can be read again."""
    end = getattr(block, "end", None)
    if end is None:
        return cast("Block", block)
    size = len(block.data)
    return Emptied(attrs.evolve(block, data=b""), end - size, size)
