"""Blocks: parts of a file that a worker process can parse by itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

import attrs

from streameval.errors import BadDataError
from streameval.io.streams import reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from streameval.io.columns import Argument
    from streameval.io.row_filters import RowFilter
    from streameval.io.rows import Parsed


class Block(Protocol):
    """A part of a file: a frozen value that pickles and can be parsed on its own.

    Its `unit` is what messages call a row: "line", "row" or "query" of a file, "offset" or
    "entry" of a server.
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
        """What the last line of the file lacks, if the block ends with it; otherwise empty."""
        ...

    def rows(self, names: Iterable[str] | None = None) -> Iterator[Mapping[str, Any]]:
        """Yield the readable rows with all of their fields, for display.

        Fields that are not among `names` may be None.
        """
        ...

    def parse(self, columns: Sequence[Argument], where: RowFilter | None = None) -> Parsed:
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
        The block without its bytes.
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
            If the file has become shorter, or cannot be read.
        """
        path = self._block.source
        with reading(path), Path(path).open("rb") as file:
            file.seek(self._start)
            data = file.read(self._size)
        if len(data) < self._size:
            raise BadDataError(f"{path}: has become shorter while it was read.")
        return _with_data(self._block, data)


def emptied(block: Any) -> Block | Emptied:
    """Drop the bytes of a block if its file can be read again."""
    end = getattr(block, "end", None)
    if end is None:
        return cast("Block", block)
    size = len(block.data)
    return Emptied(_with_data(block, b""), end - size, size)


def _with_data(block: Any, data: bytes) -> Block:
    """Replace the bytes of a block, or of the block inside of it."""
    is_outer = not hasattr(type(block), "data")
    changed = {"block": _with_data(block.block, data)} if is_outer else {"data": data}
    replaced: Block = attrs.evolve(block, **changed)
    return replaced
