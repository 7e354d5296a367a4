"""Bytes of a file or of standard input, unpacked if they are gzipped."""

from __future__ import annotations

import gzip
import stat
import sys
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol, cast

from streameval.errors import BadDataError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "CUT_SHORT",
    "STANDARD_INPUT",
    "ByteStream",
    "CutShortError",
    "is_read_once",
    "name_of",
    "opened",
    "reading",
    "size_of",
]

STANDARD_INPUT = "-"
CUT_SHORT = "the gzip data is cut short"
_GZIP_MAGIC = b"\x1f\x8b"


class CutShortError(BadDataError):
    """Gzip data ends in the middle, as it does while it is being written."""


class _Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes:
        """Give up to `size` bytes."""
        ...


class _Counted:
    """A binary file that counts what is read, after a head that was read to look at it."""

    def __init__(self, file: _Readable, head: bytes) -> None:
        self._file = file
        self._head = head
        self.taken = 0

    def read(self, size: int = -1, /) -> bytes:
        """Give the head first, and count."""
        data = self._head + self._file.read(size - len(self._head))
        self._head = b""
        self.taken += len(data)
        return data


class ByteStream:
    """The plain bytes of one file, read once from front to end.

    Parameters
    ----------
    file : binary file
        Where the bytes come from; gzip is recognised by its first two bytes.
    name : str
        The name of the file for messages.
    may_be_cut : bool
        Whether gzip data that is cut short ends there, with `is_cut`, in place of an EOFError.
    """

    def __init__(self, file: _Readable, name: str, *, may_be_cut: bool = False) -> None:
        self.name = name
        self.is_cut = False
        self._may_be_cut = may_be_cut
        self._ahead = b""
        head = file.read(len(_GZIP_MAGIC))
        self._counted = _Counted(file, head)
        self._gzip: gzip.GzipFile | None = None
        if head == _GZIP_MAGIC:
            # GzipFile asks its file for nothing but `read` while it goes forward.
            self._gzip = gzip.GzipFile(fileobj=cast("BinaryIO", self._counted))

    @property
    def taken(self) -> int:
        """Count the bytes of the file read so far; packed ones if it is packed."""
        return self._counted.taken

    def peek(self, size: int = 4096) -> bytes:
        """Look at the first bytes; the next `read` gives them again."""
        self._ahead = self.read(size)
        return self._ahead

    def read(self, size: int) -> bytes:
        """Read about `size` bytes; none means the end of the file."""
        ahead, self._ahead = self._ahead, b""
        if ahead or self._gzip is None:
            return ahead or self._counted.read(size)
        data = b"" if self.is_cut else self._unpacked(self._gzip, size)
        if self.is_cut and not data and not self._may_be_cut:
            raise EOFError
        return data

    def _unpacked(self, packed: gzip.GzipFile, size: int) -> bytes:
        """Unpack about `size` bytes, and all that there are before the data is cut short."""
        parts: list[bytes] = []
        try:
            while size > 0 and (part := packed.read1(size)):  # `read` would lose them
                parts.append(part)
                size -= len(part)
        except EOFError:
            self.is_cut = True
        return b"".join(parts)


@contextmanager
def opened(
    name: str, *, may_be_cut: bool = False, copy: BinaryIO | None = None
) -> Iterator[ByteStream]:
    """Open a file, or standard input for "-", or a copy of it, to be read inside the block."""
    if copy is not None:
        with reading(name_of(name)):
            copy.seek(0)
            yield ByteStream(copy, name_of(name), may_be_cut=may_be_cut)
    elif name == STANDARD_INPUT:
        with reading(name_of(name)):
            yield ByteStream(sys.stdin.buffer, name_of(name), may_be_cut=may_be_cut)
    else:
        with reading(name), Path(name).open("rb") as file:
            yield ByteStream(file, name, may_be_cut=may_be_cut)


def is_read_once(name: str) -> bool:
    """Tell whether a source can be read only once, as standard input and a pipe can."""
    if name == STANDARD_INPUT:
        return True
    try:
        mode = Path(name).stat().st_mode
    except OSError:
        return False  # reading it says what is wrong
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def name_of(source: str) -> str:
    """Give the name of a source as messages have it."""
    return "standard input" if source == STANDARD_INPUT else source


def size_of(name: str) -> int | None:
    """Give the size of a file in bytes, or None for what has none, a pipe."""
    try:
        status = Path(name).stat()
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) and name != STANDARD_INPUT else None


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn what can go wrong while reading a file into one sentence."""
    try:
        yield
    except EOFError:
        raise CutShortError(f"{name}: {CUT_SHORT}.") from None
    except (gzip.BadGzipFile, zlib.error):
        raise BadDataError(f"{name}: the gzip data is damaged.") from None
    except IsADirectoryError:
        raise BadDataError(f"{name}: is a directory; name the files in it.") from None
    except OSError as error:
        raise BadDataError(f"{name}: {str(error.strerror or error).lower()}.") from None
