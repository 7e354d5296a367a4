"""Uncompressed contents of files by position, and marks of how far a file was read."""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, ClassVar

import attrs

from streameval.io.formats import Format, layout_of
from streameval.io.json_lines import JsonLayout
from streameval.io.lines import Piece, check_length, unended
from streameval.io.packed import HEAD_BYTES, packing_of
from streameval.io.streams import ByteStream, reading

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any

    from streameval.io.blocks import Block
    from streameval.io.lines import Layout
    from streameval.io.notation import Dialect

FINGERPRINT_BYTES = 1024
_PIECE_BYTES = 2**20
_HEADER_BYTES = 2**16


@attrs.define(eq=False)
class Content:
    """The bytes of an open file, by position.

    Parameters
    ----------
    _file : binary file
        The unbuffered file.
    name : str
        Its name for messages.
    """

    is_packed: ClassVar[bool] = False
    _file: BinaryIO
    name: str

    @property
    def is_cut(self) -> bool:
        """Whether compressed data turned out to be truncated."""
        return False

    def at(self, start: int, size: int) -> bytes:
        """Return bytes from a position; fewer than asked for only at the end."""
        with reading(self.name):
            return self._stored(start, size)

    def status(self) -> os.stat_result:
        """Return the status of the open file, whatever its current name."""
        with reading(self.name):
            return os.fstat(self._file.fileno())

    @property
    def inode(self) -> tuple[int, int]:
        """The numbers of the device and of the inode of the open file."""
        status = self.status()
        return status.st_dev, status.st_ino

    def size_up_to(self, limit: int) -> int:
        """Return the number of bytes, or the limit if there are more."""
        return min(self.status().st_size, limit)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _stored(self, start: int, size: int) -> bytes:
        self._file.seek(start)
        parts = []
        while size > 0 and (part := self._file.read(size)):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


@attrs.define(eq=False)
class StreamedContent(Content, ABC):
    """Bytes that come one after the other; of those that were read, the last are kept."""

    _start: int = attrs.field(default=0, init=False)  # the position of the window
    _window: bytearray = attrs.field(factory=bytearray, init=False)

    def at(self, start: int, size: int) -> bytes:
        """Return the bytes from a position on that are still in memory, or come now."""
        end = start + size
        with reading(self.name):
            while (reached := self._start + len(self._window)) < end:
                data = self._come(end - reached)
                if not data:
                    break
                # What comes right before is needed for the fingerprint.
                drop = max(min(start, reached) - FINGERPRINT_BYTES - self._start, 0)
                self._window += data
                del self._window[:drop]
                self._start += drop
        return bytes(memoryview(self._window)[start - self._start : end - self._start])

    @abstractmethod
    def _come(self, size: int) -> bytes:
        """Return the next bytes, none at the end."""


@attrs.define(eq=False)
class PackedContent(StreamedContent):
    """A compressed file, decompressed from the start as far as needed."""

    is_packed: ClassVar[bool] = True
    _stream: Any = None  # a ByteStream, once something was read
    _packed_size: int = 0
    _head: bytes = b""  # for fingerprints

    @property
    def is_cut(self) -> bool:
        """Whether the data turned out to be truncated."""
        return self._stream is not None and self._stream.is_cut

    def at(self, start: int, size: int) -> bytes:
        """Return uncompressed bytes from a position."""
        with reading(self.name):
            if self._stream is None or self.status().st_size != self._packed_size:
                self._restart()
            if start < self._start:
                if start + size <= len(self._head):
                    return self._head[start : start + size]
                self._restart()
        return super().at(start, size)

    def _come(self, size: int) -> bytes:
        data: bytes = self._stream.read(min(size, _PIECE_BYTES))
        self._head += data[: FINGERPRINT_BYTES - len(self._head)]
        return data

    def size_up_to(self, limit: int) -> int:
        """Return the number of uncompressed bytes, or the limit if there are more."""
        size = 0
        while size < limit and (data := self.at(size, min(_PIECE_BYTES, limit - size))):
            size += len(data)
        return size

    def stored_digest(self) -> str:
        """Identify the stored file without decompressing it; reading starts over."""
        with reading(self.name):
            size = self.status().st_size
            ends = (
                self._stored(at, FINGERPRINT_BYTES) for at in (0, max(size - FINGERPRINT_BYTES, 0))
            )
            self._stream = None
            return _digest(b"%d " % size + b"".join(ends))

    def _restart(self) -> None:
        self._packed_size = self.status().st_size
        self._file.seek(0)
        self._head, self._window = b"", bytearray()
        self._start = 0
        self._stream = ByteStream(self._file, self.name, may_be_cut=True)


def opened_content(path: str) -> Content | None:
    """Open a file; None if it does not exist.

    Raises
    ------
    BadDataError
        If it cannot be opened.
    """
    name = shown_path(path)
    with reading(name):
        try:
            file = Path(path).open("rb", buffering=0)  # noqa: SIM115 (kept open by its content)
        except FileNotFoundError:
            return None
        packing = packing_of(file.read(HEAD_BYTES))
    return Content(file, name) if packing is None else PackedContent(file, name)


def shown_path(path: str) -> str:
    r"""Write a path as messages have it: control characters and stray bytes escaped.

    >>> print(shown_path("logs/a.jsonl"), shown_path("a\x1b[2J"))
    logs/a.jsonl a\x1b[2J
    """
    return path if path.isprintable() else repr(path)[1:-1]


@attrs.frozen
class Mark:
    """How far a file was read, and the fingerprint of what was read.

    Parameters
    ----------
    offset : int
        The number of uncompressed bytes.
    line : int
        The number of the next line.
    head, tail : str
        Digests of the first and of the last bytes that were read, up to 1,024 of each.
    early : int
        The end of the first rows that were read, at least 2 KiB of them if possible.
    early_tail : str
        The digest of the last bytes before that end.
    """

    offset: int = 0
    line: int = 1
    head: str = ""
    tail: str = ""
    early: int = 0
    early_tail: str = ""

    @classmethod
    def at(cls, content: Content, offset: int, line: int = 1, before: Mark | None = None) -> Mark:
        """Mark a position in a file, given an earlier mark."""
        tail = _tail(content, offset)
        head = _digest(content.at(0, min(offset, FINGERPRINT_BYTES)))
        if before is not None and before.early >= 2 * FINGERPRINT_BYTES:
            return cls(offset, line, head, tail, before.early, before.early_tail)
        return cls(offset, line, head, tail, offset, tail)

    def to_json(self) -> list[int | str]:
        """Convert the mark to JSON, as part of a position."""
        return [*attrs.astuple(self)]

    @classmethod
    def from_json(cls, value: Sequence[Any]) -> Mark:
        """Read what `to_json` wrote.

        Raises
        ------
        TypeError, ValueError
            If it is malformed.
        """
        offset, line, head, tail, early, early_tail = value
        check_json((head, tail, early_tail), (offset, line, early))
        return cls(offset, line, head, tail, early, early_tail)

    def began(self, content: Content) -> bool:
        """Return whether a file begins with the first rows that were read, as far as it goes."""
        size = content.size_up_to(self.early)
        if size < self.early:
            return content.is_cut
        return self.early > 0 and self.early_tail == _tail(content, self.early)

    def is_of(self, content: Content) -> bool:
        """Return whether a file begins with everything that was read."""
        if not self.offset:
            return True
        size = min(self.offset, FINGERPRINT_BYTES)
        if self.head != _digest(content.at(0, size)):
            return False
        return self.tail == _tail(content, self.offset)


def _tail(content: Content, offset: int) -> str:
    """Return the digest of the last bytes before a position."""
    size = min(offset, FINGERPRINT_BYTES)
    return _digest(content.at(offset - size, size))


def check_json(texts: Collection[Any], numbers: Collection[Any]) -> None:
    """Raise TypeError or ValueError unless these are texts and non-negative numbers."""
    if not all(type(text) is str for text in texts):
        raise TypeError
    if not all(type(number) is int for number in numbers):
        raise TypeError
    if min(numbers) < 0:
        raise ValueError


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=8).hexdigest()


class RowReader:
    """Splits a text file into blocks of whole rows.

    Parameters
    ----------
    content : Content
        The file.
    form : Format, optional
        Its format; by default, its first line decides.
    dialect : Dialect
        The dialect of a text table.
    """

    def __init__(self, content: Content, form: Format | None, dialect: Dialect) -> None:
        self.content = content
        self._form = form
        self._dialect = dialect
        self._layout: Layout | None = None

    def next(self, mark: Mark, limit: int, *, is_final: bool = False) -> tuple[Block | None, Mark]:
        """Return the whole rows after a mark, about `limit` bytes, and the mark after them.

        Parameters
        ----------
        mark : Mark
            The start.
        limit : int
            The number of bytes to read; more if a row is longer.
        is_final : bool
            Whether the file will not grow, so that a last row without a newline counts.

        Raises
        ------
        BadDataError
            If a row is too long, or the file cannot be read.
        """
        size = limit
        while True:
            data = self.content.at(mark.offset, size)
            is_end = len(data) < size
            layout, piece = self._rows(data, mark)
            is_last = is_end and is_final and not self.content.is_cut
            if is_last and (layout is None or not piece.data):
                layout, piece = self._rows(data, mark, is_whole=True)
            if layout is not None and piece.data:
                self._layout = layout
                line = mark.line + data.count(b"\n", 0, piece.taken)
                after = Mark.at(self.content, mark.offset + piece.taken, line, mark)
                return layout.block(piece), after
            if is_end:
                return None, mark
            ends = (layout or JsonLayout).ends()
            check_length(len(data), data, ends, self.content.name, mark.line)
            size *= 2

    def _rows(
        self, data: bytes, mark: Mark, *, is_whole: bool = False
    ) -> tuple[Layout | None, Piece]:
        """Split off the whole rows after a mark."""
        if not mark.offset:
            name = self.content.name
            return layout_of(data, name, self._form, self._dialect, is_whole=is_whole)
        layout = self._layout = self._layout or self._layout_before(mark)
        ends = layout.ends()
        cut = len(data) if is_whole else ends.last(data)
        lacking = unended(data, ends) if is_whole else ""
        return layout, Piece(self.content.name, mark.line, data[:cut], cut, lacking)

    def _layout_before(self, mark: Mark) -> Layout:
        """Read the layout from the start of the rows that were read before."""
        size, layout = 0, None
        while layout is None:
            size = min(max(2 * size, _HEADER_BYTES), mark.offset)
            layout, _ = layout_of(
                self.content.at(0, size),
                self.content.name,
                self._form,
                self._dialect,
                is_whole=size == mark.offset,
            )
        return layout
