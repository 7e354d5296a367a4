"""The file of a checkpoint: its tables, who holds it, and the errors that name it."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from streameval.errors import (
    BadDataError,
    CorruptStateError,
    StreamevalError,
    UnavailableError,
    UnsupportedVersionError,
    refused,
)

try:
    import fcntl
except ImportError:  # pragma: no cover (Windows)
    fcntl = None  # type: ignore[assignment]
_MAGIC = b"SQLite format 3\0"
_APPLICATION_ID = 0x5345636B  # "SEck"
_ID_BYTES = slice(68, 72)  # of the header of an SQLite file
VERSION = 3
BESIDE = 2  # the version with a table of rows without a label by slice
_BUSY_SECONDS = 60
_PAGE_BYTES = 2**14  # most of a commit is blobs of pending rows; a file keeps the size it has
_MAX_FREE = 4  # a file may have one page of four free, which later commits fill again
_LOG_BYTES = 2**26  # of the write-ahead log, between commits
LOCK = "-lock"
_PASSING = ("SQLITE_BUSY", "SQLITE_FULL", "SQLITE_IOERR", "SQLITE_LOCKED")
_OTHER = "exists and is not a checkpoint; choose another name."
_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE piece (id INTEGER PRIMARY KEY, level INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE run (id PRIMARY KEY, data BLOB NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE dead (id PRIMARY KEY, data BLOB NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE dictionary (name TEXT NOT NULL, code INTEGER NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (name, code)) WITHOUT ROWID;
CREATE TABLE source (name TEXT PRIMARY KEY, position TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE outbox (id TEXT PRIMARY KEY, number INTEGER NOT NULL, event TEXT NOT NULL);
"""


def files_of(path: str | os.PathLike[str]) -> list[str]:
    """List the files of a checkpoint: the file itself, those of SQLite, and the lock."""
    target = os.path.realpath(path)
    return [os.fspath(path), *(f"{target}{end}" for end in ("", "-wal", "-shm", LOCK))]


def is_checkpoint(path: str | os.PathLike[str]) -> bool:
    """Recognize a checkpoint by its first bytes; a file that cannot be read twice is not one."""
    try:
        if not Path(path).is_file():
            return False
        with Path(path).open("rb") as file:
            head = file.read(_ID_BYTES.stop)
    except OSError:
        return False
    own = _APPLICATION_ID.to_bytes(4, "big")
    return head.startswith(_MAGIC) and head[_ID_BYTES] == own


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[sqlite3.Connection]:
    """Open a checkpoint that a monitor may be using."""
    name = os.fspath(path)
    if not is_checkpoint(path):
        raise BadDataError(f"{name}: is not a checkpoint.")
    address = f"{Path(os.path.realpath(path)).as_uri()}?mode=ro"
    with (
        told(name),
        closing(
            sqlite3.connect(address, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
        ) as base,
    ):
        checked_version(base)
        yield base


def opened(target: str) -> sqlite3.Connection:
    """Open a checkpoint to write it; a new file gets its tables."""
    base = sqlite3.connect(target, _BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    base.execute(f"PRAGMA page_size={_PAGE_BYTES}")
    base.execute("PRAGMA auto_vacuum=INCREMENTAL")  # of a new file
    _prepare(base)
    _compact(base)
    base.execute("PRAGMA journal_mode=WAL")
    base.execute(f"PRAGMA journal_size_limit={_LOG_BYTES}")
    base.execute("PRAGMA synchronous=FULL")
    return base


def check_header(path: str, name: str) -> None:
    """Refuse a file of another type before SQLite creates files next to it."""
    target = Path(path)
    if not target.parent.is_dir():
        raise BadDataError(f"{name}: there is no such folder.")
    if target.exists():
        with told(name), target.open("rb") as file:
            head = file.read(len(_MAGIC))
        if head and head != _MAGIC:
            raise BadDataError(f"{name}: {_OTHER}")


def _prepare(base: sqlite3.Connection) -> None:
    """Create the tables of a new file; refuse a file of another program or a newer release."""
    if not base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        own = f"PRAGMA application_id = {_APPLICATION_ID}; PRAGMA user_version = {VERSION};"
        base.executescript(f"BEGIN IMMEDIATE;{_TABLES}{own}COMMIT;")
    if base.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION_ID:
        raise BadDataError(_OTHER)
    checked_version(base)


def _compact(base: sqlite3.Connection) -> None:
    """Rewrite a file of an older release once, so that commits can give free pages back.

    It takes as long as to copy the pages in use, and as much room; without it, the file stays as it
    is until the next start.
    """
    if not base.execute("PRAGMA auto_vacuum").fetchone()[0] and has_much_free(base):
        base.execute("PRAGMA auto_vacuum=INCREMENTAL")
        with suppress(sqlite3.OperationalError):  # the disk is full, or another reads
            base.execute("VACUUM")


def has_much_free(base: sqlite3.Connection) -> bool:
    """Whether so many pages are free that it is worth to move others."""
    free, pages = (
        base.execute(f"PRAGMA {name}").fetchone()[0] for name in ("freelist_count", "page_count")
    )
    return bool(free * _MAX_FREE > pages)


def checked_version(base: sqlite3.Connection) -> int:
    """Return the version of a checkpoint; refuse one of a newer release."""
    version: int = base.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise UnsupportedVersionError(
            f"a newer release has written this checkpoint, of version {version}; this one reads "
            f"up to {VERSION}."
        )
    return version


def locked(path: str, name: str) -> BinaryIO:
    """Lock the checkpoint for this process; the system releases it when the process ends."""
    with told(name):
        file = Path(f"{path}{LOCK}").open("ab")  # noqa: SIM115 - held until the end
    try:
        if fcntl is None:  # pragma: no cover (Windows)
            import msvcrt  # noqa: PLC0415

            system: Any = msvcrt
            system.locking(file.fileno(), system.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise UnavailableError(f"{name}: another monitor holds this checkpoint.") from None
    return file


def identity(path: str) -> tuple[int, int] | None:
    """Return the identity of a file, None if it is gone; an open file keeps its inode."""
    try:
        status = Path(path).stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


@contextmanager
def told(name: str) -> Iterator[None]:
    """Convert errors of SQLite, JSON and the system into errors that name the file."""
    try:
        yield
    except sqlite3.OperationalError as error:
        is_passing = getattr(error, "sqlite_errorname", "").startswith(_PASSING)
        raise (UnavailableError if is_passing else BadDataError)(f"{name}: {error}.") from None
    except (sqlite3.DatabaseError, json.JSONDecodeError, KeyError) as error:
        raise CorruptStateError(f"{name}: state is corrupt: {error}.") from None
    except OSError as error:
        raise refused(name, error) from None
    except StreamevalError as error:
        raise (error if str(error).startswith(name) else error.within(name)) from None
