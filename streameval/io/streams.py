"""Byte streams of files and standard input, unpacked if necessary."""

from __future__ import annotations

import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from streameval.errors import BadDataError, InvalidInputError, refused
from streameval.io.packed import HEAD_BYTES, DamagedError, Readable, Unpacked, packing_of

STANDARD_INPUT = "-"


class Stored(str):
    """The name of a file in a file system of pyarrow.

    Parameters
    ----------
    store : pyarrow.fs.FileSystem
        The file system.
    path : str
        The path in the file system.
    name : str, optional
        The name of the file in messages, by default its path.
    """

    store: Any
    path: str

    def __new__(cls, store: Any, path: str, name: str | None = None) -> Stored:
        """Make the name."""
        made = super().__new__(cls, path if name is None else name)
        made.store, made.path = store, path
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the file system as well."""
        return Stored, (self.store, self.path, str(self))


class CutShortError(BadDataError):
    """Packed data is truncated, for example because it is still being written.

    Parameters
    ----------
    source : str
        The file.
    what : str
        What is cut short, as the end of a sentence.
    """

    def __init__(self, source: str, what: str) -> None:
        super().__init__(f"{source}: {what}.")
        self.source = source
        self.what = what


class _CountingReader:
    """A binary file whose head was read ahead; it counts the bytes read."""

    def __init__(self, file: Readable, head: bytes) -> None:
        self._file = file
        self._head = head
        self.taken = 0

    def read(self, size: int = -1, /) -> bytes:
        """Read the head first, and count the bytes."""
        if 0 <= size <= len(self._head):
            data, self._head = self._head[:size], self._head[size:]
        else:
            data = self._head + self._file.read(max(size - len(self._head), -1))
            self._head = b""
        self.taken += len(data)
        return data


class ByteStream:
    """The unpacked bytes of one file, read once from front to end.

    Parameters
    ----------
    file : binary file
        The source of the bytes; packed data is recognised by its first bytes.
    name : str
        The name of the file for messages.
    may_be_cut : bool
        Whether truncated packed data ends there, with `is_cut`, instead of raising an error.

    Raises
    ------
    InvalidInputError
        If no installed package can unpack the data.
    """

    def __init__(self, file: Readable, name: str, *, may_be_cut: bool = False) -> None:
        self.name = name
        self.is_cut = False
        self._may_be_cut = may_be_cut
        self._ahead = b""
        head = file.read(HEAD_BYTES)
        self._file = _CountingReader(file, head)
        packing = packing_of(head)
        self._packing = "" if packing is None else packing.name
        self._unpacked: Unpacked | None = None
        if packing is not None:
            try:
                self._unpacked = packing.unpacked(self._file)
            except ModuleNotFoundError as error:
                raise InvalidInputError(f"{name}: {error}.") from None

    @property
    def taken(self) -> int:
        """The number of bytes of the file read so far, before unpacking."""
        return self._file.taken

    @property
    def cut_short(self) -> str:
        """The end of a sentence that says that the packed data is truncated."""
        return f"the {self._packing} data is cut short"

    def peek(self, size: int = 4096) -> bytes:
        """Return the first bytes without consuming them."""
        self._ahead = self.read(size)
        return self._ahead

    def read(self, size: int) -> bytes:
        """Read about `size` bytes; an empty result means the end of the file."""
        ahead, self._ahead = self._ahead[:size], self._ahead[size:]
        size -= len(ahead)
        if self._unpacked is None:
            return ahead + self._file.read(size)
        data = ahead if self.is_cut else ahead + self._unpack(self._unpacked, size)
        if self.is_cut and not data and not self._may_be_cut:
            raise CutShortError(self.name, self.cut_short)
        return data

    def _unpack(self, unpacked: Unpacked, size: int) -> bytes:
        """Unpack about `size` bytes; cut data is unpacked up to where it ends."""
        parts: list[bytes] = []
        try:
            while size > 0 and (part := unpacked.read1(size)):  # `read` would lose them
                parts.append(part)
                size -= len(part)
        except EOFError:
            self.is_cut = True
        except DamagedError as error:
            reason = f" ({error})" if str(error) else ""
            raise BadDataError(
                f"{self.name}: the {self._packing} data is damaged{reason}."
            ) from None
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
        with reading(name), _file(name) as file:
            yield ByteStream(file, name, may_be_cut=may_be_cut)


def _file(name: str) -> Any:
    """Open a local file, or one at an address of a store that pyarrow knows."""
    found = store_of(name)
    return Path(name).open("rb") if found is None else found[0].open_input_stream(found[1], None)


def store_of(name: str) -> tuple[Any, str] | None:
    """Find the file system of an address, ``s3://bucket/log.csv``, and the path in it.

    fsspec, the extra `fsspec`, opens addresses that pyarrow does not know.
    """
    if isinstance(name, Stored):
        return name.store, name.path
    if "://" not in name:
        return None
    try:
        from pyarrow import ArrowInvalid, fs  # noqa: PLC0415 (optional, and slow to import)
    except ImportError:
        return None
    try:
        found: tuple[Any, str] = fs.FileSystem.from_uri(name)
    except ArrowInvalid:
        return _of_fsspec(name)
    return found


def _of_fsspec(address: str) -> tuple[Any, str] | None:
    """Find the file system and path if fsspec knows the protocol; None for an ordinary path."""
    try:
        import fsspec  # noqa: PLC0415 (optional)
    except ImportError:
        return None
    if address.partition("://")[0] not in fsspec.available_protocols():
        return None
    try:
        store, path = fsspec.core.url_to_fs(address)
    except (ImportError, ValueError) as error:  # its package or one of its options is missing
        raise BadDataError(f"{address}: {str(error).rstrip('.')}.") from None
    return arrow_store(store), path


def arrow_store(store: Any) -> Any:
    """Convert a file system of fsspec to one of pyarrow.

    Raises
    ------
    InvalidInputError
        If it is neither.
    """
    from pyarrow import fs  # noqa: PLC0415 (optional, and slow to import)

    if isinstance(store, fs.FileSystem):
        return store
    if not hasattr(store, "open") or not hasattr(store, "protocol"):
        type_name = type(store).__name__
        raise InvalidInputError(
            f"must be a file system of pyarrow or fsspec, got {type_name}", argument="filesystem"
        )
    return fs.PyFileSystem(fs.FSSpecHandler(store))


def is_read_once(name: str) -> bool:
    """Tell whether a source can be read only once, like standard input or a pipe."""
    if name == STANDARD_INPUT:
        return True
    try:
        mode = Path(name).stat().st_mode
    except OSError:
        return False  # reading it raises the right error
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def name_of(source: str) -> str:
    """Return the name of a source for messages."""
    return "standard input" if source == STANDARD_INPUT else source


def size_of(name: str) -> int | None:
    """Return the size of a local file in bytes; None for a pipe, which has no size."""
    if isinstance(name, Stored):
        return None
    try:
        status = Path(name).stat()
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) and name != STANDARD_INPUT else None


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn an error while reading a file into one sentence."""
    try:
        yield
    except IsADirectoryError:
        raise BadDataError(f"{name}: is a directory; name the files in it.") from None
    except FileNotFoundError:  # some file systems give only its name
        raise BadDataError(f"{name}: no such file or directory.") from None
    except OSError as error:
        raise refused(name, error) from None


@contextmanager
def writing_temporary_file() -> Iterator[None]:
    """Turn an error while writing a temporary file into one sentence."""
    try:
        yield
    except OSError as error:
        raise refused("a temporary file cannot be written", error) from None
