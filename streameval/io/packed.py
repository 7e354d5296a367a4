"""Packed data (gzip, bzip2, xz, Zstandard) and UTF-16, recognised by the first bytes, streamed."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import re
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, BinaryIO, Protocol, cast

import attrs

HEAD_BYTES = 10
"""The number of bytes at the start of a file that identify its packing."""

UNPACKING = {".gz": "gzip -dc", ".bz2": "bzip2 -dc", ".xz": "xz -dc", ".zst": "zstd -dc"}
"""The commands that unpack files, by how their names end."""
PACKED_SUFFIXES = tuple(UNPACKING)

_MAGIC_BYTES = 6  # the most that identify a member after the first
_CHUNK = 2**14  # bytes of packed data at a time
# xz -9 needs 65 MiB; a hostile file may request 4 GiB.
_XZ_MEMORY = 2**29

# A frame of Zstandard, or a skippable frame that some writers begin with.
_FRAME = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = [bytes([first]) + b"\x2a\x4d\x18" for first in range(0x50, 0x60)]


class Readable(Protocol):
    """Bytes that are read from start to end."""

    def read(self, size: int = -1, /) -> bytes:
        """Return up to `size` bytes."""
        ...


class Unpacked(Protocol):
    """The unpacked bytes of a file."""

    def read1(self, size: int = -1, /) -> bytes:
        """Return up to `size` bytes, none at the end.

        Raises
        ------
        EOFError
            If the packed data ends in the middle.
        """
        ...


class DamagedError(Exception):
    """Packed data cannot be unpacked; the message gives the reason if it is known."""


class _Decompressor(Protocol):
    """The common interface of `bz2`, `lzma` and `compression.zstd`, which unpacks one member."""

    eof: bool
    needs_input: bool
    unused_data: bytes

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """Return up to `max_length` bytes."""
        ...


@attrs.frozen(eq=False, repr=False)
class Packing:
    """A format of packed data.

    Parameters
    ----------
    name : str
        The name of the format in messages.
    beginning : re.Pattern
        A pattern that matches the first bytes.
    unpacked : callable
        Turns a packed file into its unpacked bytes.
    """

    name: str
    beginning: re.Pattern[bytes]
    unpacked: Callable[[Readable], Unpacked]


class _Gzip:
    """Consecutive gzip members."""

    def __init__(self, file: Readable) -> None:
        # GzipFile needs only `read` as long as it reads forward.
        self._file = gzip.GzipFile(fileobj=cast("BinaryIO", file))

    def read1(self, size: int = -1, /) -> bytes:
        """Return up to `size` bytes."""
        try:
            return self._file.read1(size)
        except (gzip.BadGzipFile, zlib.error):
            raise DamagedError from None


class _Members:
    """Consecutive members of a file, possibly padded with zeros.

    The file objects of the standard library stop silently at anything that is not a member.

    Parameters
    ----------
    file : Readable
        The packed file.
    make : callable
        Makes a decompressor for one member.
    error : type of exception
        What the decompressor raises for damaged data.
    *magics : bytes
        The possible first bytes of a member, at most `_MAGIC_BYTES`.
    """

    def __init__(
        self, file: Readable, make: Callable[[], Any], error: type[Exception], *magics: bytes
    ) -> None:
        self._file = file
        self._make = make
        self._error = error
        self._magics = magics
        self._member: _Decompressor = make()

    def read1(self, size: int = -1, /) -> bytes:
        """Return up to `size` bytes."""
        data = b""
        while not data:
            packed = self._next_member() if self._member.eof else self._more()
            if packed is None:
                break
            try:
                data = self._member.decompress(packed, size)
            except self._error as error:
                raise DamagedError(str(error)) from None
        return data

    def _more(self) -> bytes:
        """Return more packed bytes for the current member."""
        if not self._member.needs_input:
            return b""
        packed = self._file.read(_CHUNK)
        if not packed:
            raise EOFError
        return packed

    def _next_member(self) -> bytes | None:
        """Begin the next member and return the first of its bytes; None at the end of the file."""
        packed = self._member.unused_data.lstrip(b"\0")
        while not packed:
            chunk = self._file.read(_CHUNK)
            if not chunk:
                return None
            packed = chunk.lstrip(b"\0")
        while len(packed) < _MAGIC_BYTES and (chunk := self._file.read(_CHUNK)):
            packed += chunk
        # A decompressor would accept a few bytes of anything as a truncated member.
        if not any(magic.startswith(packed[: len(magic)]) for magic in self._magics):
            raise DamagedError
        self._member = self._make()
        return packed


class _ArrowZstandard:
    """Zstandard through pyarrow."""

    def __init__(self, file: Readable, arrow: Any) -> None:
        self._stream = arrow.CompressedInputStream(arrow.PythonFile(_File(file), "r"), "zstd")

    def read1(self, size: int = -1, /) -> bytes:
        """Return up to `size` bytes; the last few of truncated data are lost."""
        try:
            data: bytes = self._stream.read(min(size, _CHUNK))
        except OSError as error:
            if "truncated" in str(error).lower():
                raise EOFError from None
            raise DamagedError(str(error)) from None
        return data


class _Utf16:
    """Text of two bytes a character, as spreadsheets export it, in UTF-8."""

    def __init__(self, file: Readable, encoding: str) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder(encoding)()

    def read1(self, size: int = -1, /) -> bytes:
        """Return up to `size` bytes, or a few more."""
        text = ""
        while not text and (data := self._file.read(max(size, 2))):
            text = self._decoded(data)
        if not text:
            pending, _ = self._decoder.getstate()
            if pending:
                raise EOFError
        return text.encode()

    def _decoded(self, data: bytes) -> str:
        try:
            return self._decoder.decode(data)
        except UnicodeDecodeError as error:
            raise DamagedError(error.reason) from None


class _Unwrapped:
    """What a packed file holds, in UTF-8 if its first bytes are of UTF-16."""

    def __init__(self, unpacked: Unpacked) -> None:
        self._unpacked = unpacked
        self._head = b""
        self._text: Unpacked | None = None

    def read1(self, size: int = -1, /) -> bytes:
        """Return up to `size` bytes, or a few more."""
        if self._text is None:
            self._head = self._unpacked.read1(max(size, HEAD_BYTES))
            packing = _found(self._head, _TEXTS)
            if packing is None:
                self._text = self._unpacked
                return self._head
            self._text = packing.unpacked(self)
        return self._text.read1(size)

    def read(self, size: int = -1, /) -> bytes:
        """Return the first bytes, which were read to recognise them, and then the others."""
        head, self._head = self._head, b""
        return head or self._unpacked.read1(size)


@attrs.define(eq=False, repr=False)
class _File:
    """The file interface that pyarrow needs."""

    _file: Readable
    closed: bool = False

    def read(self, size: int = -1, /) -> bytes:
        """Return up to `size` bytes."""
        return self._file.read(size)

    def close(self) -> None:
        """Do nothing: the caller that opened the file closes it."""


def _bzip2(file: Readable) -> Unpacked:
    return _Members(file, bz2.BZ2Decompressor, OSError, b"BZh")


def _xz(file: Readable) -> Unpacked:
    def member() -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)

    return _Members(file, member, lzma.LZMAError, b"\xfd7zXZ\0")


def _zstandard(file: Readable) -> Unpacked:
    """Unpack with Python 3.14 or its backport, else with pyarrow."""
    zstd = _zstd_module()
    if zstd is not None:
        return _Members(file, zstd.ZstdDecompressor, zstd.ZstdError, _FRAME, *_SKIPPABLE)
    try:
        import pyarrow  # noqa: PLC0415 (optional, and slow to import)
    except ImportError:
        needed = 'pip install "streameval[zstd]"'
        raise ModuleNotFoundError(f"Zstandard data needs Python 3.14 or {needed}") from None
    return _ArrowZstandard(file, pyarrow)


def _zstd_module() -> Any:
    try:
        # new in Python 3.14
        from compression import zstd  # noqa: PLC0415 # pyright: ignore[reportMissingImports]
    except ImportError:
        try:
            from backports import zstd  # noqa: PLC0415 (optional)
        except ImportError:
            return None
    return zstd


def _bzip2_beginning() -> re.Pattern[bytes]:
    """Match the magic bytes of a bzip2 file, then of its first block, or its end if it is empty.

    In a truncated file, the magic bytes of the block may be incomplete.
    """
    marks = (b"1AY&SY", b"\x17rE8P\x90")
    cut = (re.escape(mark[:size]) + rb"\Z" for mark in marks for size in range(1, len(mark)))
    return re.compile(b"BZh[1-9](?:%b)" % b"|".join([*map(re.escape, marks), *cut]))


_TEXTS = tuple(
    Packing("UTF-16", re.compile(beginning), partial(_Utf16, encoding=encoding))
    for beginning, encoding in (
        (rb"\xff\xfe(?!\0\0)|\xfe\xff", "utf-16"),
        (rb"(?:[\t -~]\0){2}", "utf-16-le"),
        (rb"(?:\0[\t -~]){2}", "utf-16-be"),
    )
)
_PACKINGS = (
    Packing("gzip", re.compile(rb"\x1f\x8b"), _Gzip),
    Packing("bzip2", _bzip2_beginning(), _bzip2),
    Packing("xz", re.compile(rb"\xfd7zXZ\0"), _xz),
    Packing("Zstandard", re.compile(b"|".join(map(re.escape, [_FRAME, *_SKIPPABLE]))), _zstandard),
)


def packing_of(head: bytes) -> Packing | None:
    r"""Identify the packing from the first bytes of a file; None if it is not packed.

    >>> packing_of(b"\x1f\x8b\x08").name, packing_of(b"BZh is a name")
    ('gzip', None)
    """
    packing = _found(head, _PACKINGS)
    if packing is None:
        return _found(head, _TEXTS)
    return attrs.evolve(packing, unpacked=lambda file: _Unwrapped(packing.unpacked(file)))


def _found(head: bytes, packings: Sequence[Packing]) -> Packing | None:
    return next((packing for packing in packings if packing.beginning.match(head)), None)
