"""Accumulators from bytes and in files: a crash leaves the old file or the new one."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO

from streameval.accumulators.base import Accumulator
from streameval.accumulators.parts import Parts, read_accumulator
from streameval.errors import InvalidInputError
from streameval.states import codec

_PIECE = 2**20


def from_bytes(data: bytes | bytearray | memoryview) -> Any:
    """Read any accumulator, or parts, from bytes.

    Parameters
    ----------
    data : bytes, bytearray or memoryview
        What `to_bytes` wrote; they may come from anywhere.

    Raises
    ------
    CorruptStateError
        When the bytes are damaged.
    UnknownTypeError
        When they hold an accumulator of a class of your own that is not defined here: import
        its module first. Nothing in the bytes makes this function import any.
    UnsupportedVersionError
        When a newer release wrote them.

    Examples
    --------
    >>> import streameval as se
    >>> data = se.ConfusionAccumulator().update([1, 0], [1, 1]).to_bytes()
    >>> se.from_bytes(data)
    ConfusionAccumulator(n=2)
    """
    parts = codec.split(data)
    return Parts._decode(parts) if parts.type_id == Parts.type_id else read_accumulator(parts)


def save(accumulator: Accumulator[Any, Any] | Parts, path: str | os.PathLike[str]) -> None:
    """Write an accumulator, or parts, to a file, all or nothing.

    The bytes go to a new file in the same folder, are flushed to the disk, and replace the old
    file in one step. The mode of an old file is kept, and so is a link to it.

    Parameters
    ----------
    accumulator : Accumulator or Parts
        What to write.
    path : path
        The file to write; an existing one is replaced.

    Raises
    ------
    InvalidInputError
        When `accumulator` is neither.
    OSError
        When the disk or the folder refuses; an old file is untouched then. Only if the last
        step fails, flushing the folder, has the new file replaced it already.

    Examples
    --------
    >>> import tempfile, pathlib, streameval as se
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "state.state")
    ...     se.save(se.ConfusionAccumulator().update([1, 0], [1, 1]), path)
    ...     se.load(path).n
    2
    """
    if not isinstance(accumulator, (Accumulator, Parts)):
        given = type(accumulator).__name__
        raise InvalidInputError(f"must be an accumulator, got {given}", argument="accumulator")
    replace_file(path, accumulator.to_bytes())


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Put bytes into a file, all or nothing, as `save` does."""
    target = Path(os.path.realpath(path))  # a link stays, and its file is replaced
    if target.is_symlink():  # a link that leads back to itself
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    new = target.parent / f".streameval-{os.urandom(8).hex()}"
    try:
        with new.open("xb") as file:
            if mode is not None:
                new.chmod(mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        new.replace(target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            new.unlink()
        if isinstance(error, OSError):  # it may name the temporary file, which users need not know
            raise OSError(error.errno, error.strerror, os.fspath(path)) from None
        raise
    _flush_folder(target.parent)


def load(path: str | os.PathLike[str]) -> Any:
    """Read an accumulator, or parts, from a file that `save` wrote.

    Parameters
    ----------
    path : path
        The file; its bytes may come from anywhere.

    Raises
    ------
    CorruptStateError, UnsupportedVersionError
        As `from_bytes`. A file that does not begin like a state, or is shorter or longer than it
        declares, is refused before it is read.
    OSError
        When the file cannot be read.
    """
    with Path(path).open("rb") as file:
        return from_bytes(_read(file))


def _read(file: BinaryIO) -> bytearray:
    """Read a state; refuse anything else after the first bytes, however long it is."""
    status = os.fstat(file.fileno())
    # Pipes have no size, and some file systems report 0 for files generated on reading.
    size = (status.st_size or None) if stat.S_ISREG(status.st_mode) else None
    data = bytearray(file.read(codec.PREFIX.size))
    end = codec.read_prefix(data, size).size + 1  # one byte past the end shows that there are more
    while piece := file.read(min(end - len(data), _PIECE)):
        data += piece
    return data


def _flush_folder(folder: Path) -> None:
    """Flush the new name to the disk; only POSIX can open a folder for that."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
