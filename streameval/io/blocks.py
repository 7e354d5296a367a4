"""Blocks: parts of a file that a worker process can parse by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from streameval.io.columns import Column
    from streameval.io.rows import Parsed

__all__ = ["Block"]


class Block(Protocol):
    """A part of a file: a frozen value that pickles, with what is needed to parse it.

    Its `unit` is what a place in the file is called, "line", "row" or
    "query".
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

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Give the rows that can be read, to look at; every field of them, as JSON would."""
        ...

    def parse(self, columns: Sequence[Column]) -> Parsed:
        """Read the columns; rows that cannot be read are set apart.

        Raises
        ------
        BadDataError
            If the block as a whole cannot be read.
        """
        ...
