"""The checkpoint of a monitor: one SQLite file, and one transaction a commit."""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from streameval.accumulators.merging import merge
from streameval.accumulators.windowed import Windowed
from streameval.errors import (
    BadDataError,
    CorruptStateError,
    IncompatibleStateError,
    StreamevalError,
    UnsupportedVersionError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import BinaryIO

try:
    import fcntl
except ImportError:  # pragma: no cover (Windows)
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "Changes",
    "Checkpoint",
    "Saved",
    "files_of",
    "is_checkpoint",
    "read_checkpoint",
    "read_numbers",
]

_MAGIC = b"SQLite format 3\0"
_APPLICATION_ID = 0x5345636B  # "SEck"
_ID_BYTES = slice(68, 72)  # of the header of an SQLite file
_VERSION = 1
_BUSY_SECONDS = 60
_PAGE_BYTES = 2**14  # most of a commit is blobs of pending rows; a file keeps the size it has
_FAN_IN = 16
_MAX_PARTS = 2
_SHOWN = 200
_LOCK = "-lock"
_OTHER = "exists and is not a checkpoint; choose another name."
_EMPTY = "nothing has been committed yet."
_WHOLE = 1_000_000
"""The level of the piece that holds everything up to some commit."""

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


@attrs.frozen(kw_only=True)
class Changes:
    """What one commit adds.

    Parameters
    ----------
    rows : bytes
        The accumulator of the rows counted since the last commit; empty if there are none.
    whole : callable
        Returns the accumulator of all rows; called when that is cheaper to store.
    state : mapping from name to JSON
        The small parts that are stored whole.
    positions : mapping from name to JSON
        How far sources have been read.
    values : mapping from name to sequence
        What has been appended to dictionaries.
    runs, dead : mapping from id to bytes
        The runs of pending rows that are new, and the bitmaps that have changed.
    removed : iterable of id
        The runs that are gone.
    events : sequence of (str, JSON)
        What is to be delivered, by id.
    """

    rows: bytes
    whole: Callable[[], Windowed]
    state: Mapping[str, Any]
    positions: Mapping[str, Any]
    values: Mapping[str, Sequence[Any]] = attrs.field(factory=dict)
    runs: Mapping[Any, bytes] = attrs.field(factory=dict)
    dead: Mapping[Any, bytes] = attrs.field(factory=dict)
    removed: Iterable[Any] = ()
    events: Sequence[tuple[str, Any]] = ()


@attrs.frozen(kw_only=True)
class Saved:
    """What the last commit holds.

    Parameters
    ----------
    number : int
        Of the commit; 0 before the first.
    config : JSON
        The options that the monitor was started with.
    windowed : Windowed
        What has been counted.
    state, positions
        As in `Changes`.
    values : dict from name to list
        The dictionaries.
    runs, dead : dict from id to bytes
        The pending rows.
    outbox : list of (str, JSON)
        What is still to be delivered, oldest first.
    """

    number: int
    config: Any
    windowed: Windowed
    state: Mapping[str, Any]
    positions: Mapping[str, Any]
    values: Mapping[str, list[Any]]
    runs: Mapping[Any, bytes]
    dead: Mapping[Any, bytes]
    outbox: Sequence[tuple[str, Any]]


class Checkpoint:
    """One SQLite file that one process writes; others may read it meanwhile.

    A commit appends the rows that it has counted as an accumulator of their own. `Windowed` is a
    sum, so pieces are merged when they are loaded. Sixteen pieces of one level are merged into
    one of the next. Once the pieces are twice as large as everything together, everything is
    written instead. So a commit of a few rows writes little, whatever the number of panes.

    Parameters
    ----------
    path : str
        The file; it is made if it does not exist or is empty.

    Raises
    ------
    BadDataError
        If another monitor holds the file, or it is no checkpoint.
    UnsupportedVersionError
        If a newer release has written it.
    CorruptStateError
        If it is damaged.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = os.fspath(path)
        target = os.path.realpath(path)
        _check_header(target, self.name)
        self._lock = _locked(target, self.name)
        try:
            with _told(self.name):
                self._base = sqlite3.connect(
                    *(target, _BUSY_SECONDS), isolation_level=None, check_same_thread=False
                )
                self._base.execute(f"PRAGMA page_size={_PAGE_BYTES}")
                _prepare(self._base)
                self._base.execute("PRAGMA journal_mode=WAL")
                self._base.execute("PRAGMA synchronous=FULL")
                self._pieces = self._base.execute(
                    "SELECT id, level, length(data) FROM piece ORDER BY id"
                ).fetchall()
                self._target, self._identity = target, _identity(target)
        except BaseException:
            self._lock.close()
            raise

    def begin(self, config: Any, empty: Windowed) -> Saved:
        """Store the options of a new monitor, or compare them with those of the file.

        Parameters
        ----------
        config : JSON object
            The options that must not change.
        empty : Windowed
            The accumulator, which has counted nothing.

        Raises
        ------
        IncompatibleStateError
            When an option differs; the message names it.
        """
        if self.config is None:
            rows = {"config": _json(config), "accumulator": empty.to_bytes(), "number": 0}
            with self._transaction():
                self._many("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows.items())
        saved = self.load()
        with _told(self.name):
            _check_alike(saved.config, config)
            saved.windowed._check_alike(empty, "go on")
        return saved

    @property
    def config(self) -> Any:
        """The options of the first commit; None before it, so that they may still be mended."""
        query = "SELECT value FROM meta WHERE name = 'number'"
        with _told(self.name):
            number = self._execute(query).fetchone()
            if number is None or not number[0]:
                return None
            (held,) = self._execute("SELECT value FROM meta WHERE name = 'config'").fetchone()
        return json.loads(held)

    def load(self) -> Saved:
        """Read the last commit."""
        with _told(self.name):
            return _loaded(self._base, with_pending=True)

    def check_is_there(self) -> None:
        """Notice that the file was deleted or replaced: what is written to it would be lost.

        Raises
        ------
        BadDataError
            If another file, or none, has its name now, or that of its lock.
        """
        with _told(self.name):
            lock = os.fstat(self._lock.fileno())
            held = [self._identity, (lock.st_dev, lock.st_ino)]
            if [_identity(self._target), _identity(f"{self._target}{_LOCK}")] != held:
                raise BadDataError(
                    "was deleted or replaced while a monitor held it; nothing more is counted."
                )

    def commit(self, number: int, changes: Changes) -> None:
        """Write one commit, all or nothing."""
        pieces = list(self._pieces)
        with self._transaction():
            self._append(pieces, changes)
            self._many("DELETE FROM run WHERE id = ?", [(name,) for name in changes.removed])
            self._many("DELETE FROM dead WHERE id = ?", [(name,) for name in changes.removed])
            for table, blobs in (("run", changes.runs), ("dead", changes.dead)):
                rows = [(name, data, zlib.crc32(data)) for name, data in blobs.items()]
                self._many(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?)", rows)  # noqa: S608
            for name, values in changes.values.items():
                self._extend(name, values)
            positions = [(name, _json(where)) for name, where in changes.positions.items()]
            self._many("INSERT OR REPLACE INTO source VALUES (?, ?)", positions)
            events = [(name, number, _json(event)) for name, event in changes.events]
            self._many("INSERT OR REPLACE INTO outbox VALUES (?, ?, ?)", events)
            state = [(f"state.{name}", _json(value)) for name, value in changes.state.items()]
            self._many("INSERT OR REPLACE INTO meta VALUES (?, ?)", [*state, ("number", number)])
        self._pieces = pieces

    def note(self, name: str, state: Any) -> None:
        """Write one part of the state by itself."""
        with self._transaction():
            self._execute(
                "INSERT OR REPLACE INTO meta VALUES (?, ?)", (f"state.{name}", _json(state))
            )

    def delivered(self, names: Iterable[str]) -> None:
        """Forget events that have been delivered."""
        with self._transaction():
            self._many("DELETE FROM outbox WHERE id = ?", [(name,) for name in names])

    def close(self) -> None:
        """Close the file, and let another monitor have it."""
        try:
            self._base.close()
        finally:
            self._lock.close()

    def _append(self, pieces: list[tuple[int, int, int]], changes: Changes) -> None:
        """Store the rows of a commit, and merge pieces where that is due."""
        data = changes.rows
        if not data:
            return
        whole = sum(size for _, level, size in pieces if level == _WHOLE)
        parts = sum(size for _, level, size in pieces if level < _WHOLE)
        if parts + len(data) > _MAX_PARTS * whole:
            everything = changes.whole().to_bytes() if pieces else data
            self._replace(pieces, 0, _WHOLE, everything)
            return
        self._replace(pieces, len(pieces), 0, data)
        first, level = self._alike(pieces)
        while len(pieces) - first >= _FAN_IN:
            held = [Windowed.from_bytes(self._piece(name)) for name, _, _ in pieces[first:]]
            self._replace(pieces, first, level + 1, merge(held).to_bytes())
            first, level = self._alike(pieces)

    @staticmethod
    def _alike(pieces: Sequence[tuple[int, int, int]]) -> tuple[int, int]:
        """Return the index of the first of the last pieces of one level, and the level."""
        level = pieces[-1][1]
        first = len(pieces)
        while first and pieces[first - 1][1] == level:
            first -= 1
        return first, level

    def _replace(
        self, pieces: list[tuple[int, int, int]], first: int, level: int, data: bytes
    ) -> None:
        """Put one piece where the last ones are."""
        self._many("DELETE FROM piece WHERE id = ?", [(name,) for name, _, _ in pieces[first:]])
        name = 1 + (pieces[first - 1][0] if first else 0)
        self._execute("INSERT INTO piece VALUES (?, ?, ?)", (name, level, data))
        pieces[first:] = [(name, level, len(data))]

    def _piece(self, name: int) -> bytes:
        data: bytes = self._execute("SELECT data FROM piece WHERE id = ?", (name,)).fetchone()[0]
        return data

    def _extend(self, name: str, values: Sequence[Any]) -> None:
        query = "SELECT count(*) FROM dictionary WHERE name = ?"
        first = self._execute(query, (name,)).fetchone()[0]
        rows = [(name, first + at, _json(value)) for at, value in enumerate(values)]
        self._many("INSERT INTO dictionary VALUES (?, ?, ?)", rows)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self.check_is_there()
        with _told(self.name):
            self._execute("BEGIN IMMEDIATE")
            try:
                yield
                self._execute("COMMIT")
            except BaseException:
                if self._base.in_transaction:
                    self._base.execute("ROLLBACK")
                raise

    def _execute(self, query: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        return self._base.execute(query, values)

    def _many(self, query: str, rows: Iterable[Sequence[Any]]) -> None:
        for row in rows:
            self._execute(query, row)


def files_of(path: str | os.PathLike[str]) -> list[str]:
    """Name the files of a checkpoint: its own, those of SQLite beside it, and its lock."""
    target = os.path.realpath(path)
    return [os.fspath(path), *(f"{target}{end}" for end in ("", "-wal", "-shm", _LOCK))]


def is_checkpoint(path: str | os.PathLike[str]) -> bool:
    """Tell a checkpoint by its first bytes; what cannot be read, or only once, is none."""
    try:
        if not Path(path).is_file():
            return False
        with Path(path).open("rb") as file:
            head = file.read(_ID_BYTES.stop)
    except OSError:
        return False
    own = _APPLICATION_ID.to_bytes(4, "big")
    return head.startswith(_MAGIC) and head[_ID_BYTES] == own


def read_numbers(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read how many rows a monitor has read, and what became of them, up to its last commit.

    Raises
    ------
    BadDataError
        If the file is no checkpoint, cannot be read, or nothing has been committed to it.
    CorruptStateError
        If it is damaged.
    """
    with _reading(path) as base:
        meta = dict(base.execute("SELECT name, value FROM meta WHERE name != 'accumulator'"))
        if not meta.get("number"):
            raise BadDataError(_EMPTY)
        state = json.loads(meta["state.monitor"])
        counters = state["counters"]
        if "state.join" in meta:
            counters |= json.loads(meta["state.join"])["counters"]
        return {
            "commit": meta["number"],
            "committed_at": state["committed_at"],
            "n_rows": state["rows"],
            "n_counted": state["counted"],
            "n_labelled": state["labelled"],
            "counters": {name: number for name, number in counters.items() if number},
        }


def read_checkpoint(path: str | os.PathLike[str]) -> Saved:
    """Read the last commit of a checkpoint, without the pending rows; a monitor may hold it.

    Raises
    ------
    BadDataError
        If the file is no checkpoint, cannot be read, or nothing has been committed to it.
    CorruptStateError
        If it is damaged, or a newer release has written it.
    """
    with _reading(path) as base:
        return _loaded(base, with_pending=False)


@contextmanager
def _reading(path: str | os.PathLike[str]) -> Iterator[sqlite3.Connection]:
    """Open a checkpoint that a monitor may hold."""
    name = os.fspath(path)
    if not is_checkpoint(path):
        raise BadDataError(f"{name}: is not a checkpoint.")
    address = f"{Path(os.path.realpath(path)).as_uri()}?mode=ro"
    with (
        _told(name),
        closing(
            sqlite3.connect(address, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
        ) as base,
    ):
        _check_version(base)
        yield base


def _check_header(path: str, name: str) -> None:
    """Refuse a file of another type before anything is made beside it."""
    target = Path(path)
    if not target.parent.is_dir():
        raise BadDataError(f"{name}: there is no such folder.")
    if target.exists():
        with _told(name), target.open("rb") as file:
            head = file.read(len(_MAGIC))
        if head and head != _MAGIC:
            raise BadDataError(f"{name}: {_OTHER}")


def _prepare(base: sqlite3.Connection) -> None:
    """Make the tables of a new file; refuse one of another program or of a newer release."""
    if not base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        own = f"PRAGMA application_id = {_APPLICATION_ID}; PRAGMA user_version = {_VERSION};"
        base.executescript(f"BEGIN IMMEDIATE;{_TABLES}{own}COMMIT;")
    if base.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION_ID:
        raise BadDataError(_OTHER)
    _check_version(base)


def _check_version(base: sqlite3.Connection) -> None:
    version = base.execute("PRAGMA user_version").fetchone()[0]
    if version > _VERSION:
        raise UnsupportedVersionError(
            f"a newer release has written this checkpoint, of version {version}; this one reads "
            f"up to {_VERSION}."
        )


def _loaded(base: sqlite3.Connection, *, with_pending: bool) -> Saved:
    base.execute("BEGIN")
    try:
        meta = dict(base.execute("SELECT name, value FROM meta"))
        if "config" not in meta:
            raise BadDataError(_EMPTY)
        pieces = [data for (data,) in base.execute("SELECT data FROM piece ORDER BY id")]
        values: dict[str, list[Any]] = {}
        query = "SELECT name, value FROM dictionary ORDER BY name, code"
        for name, value in base.execute(query):
            values.setdefault(name, []).append(json.loads(value))
        positions = base.execute("SELECT name, position FROM source")
        outbox = base.execute("SELECT id, event FROM outbox ORDER BY number, rowid")
        return Saved(
            number=meta["number"],
            config=json.loads(meta["config"]),
            windowed=merge(map(Windowed.from_bytes, [meta["accumulator"], *pieces])),
            state={
                name.removeprefix("state."): json.loads(value)
                for name, value in meta.items()
                if name.startswith("state.")
            },
            positions={name: json.loads(where) for name, where in positions},
            values=values,
            runs=_blobs(base, "run") if with_pending else {},
            dead=_blobs(base, "dead") if with_pending else {},
            outbox=[(name, json.loads(event)) for name, event in outbox],
        )
    finally:
        base.execute("ROLLBACK")


def _blobs(base: sqlite3.Connection, table: str) -> dict[Any, bytes]:
    found = {}
    for name, data, crc in base.execute(f"SELECT id, data, crc FROM {table} ORDER BY rowid"):  # noqa: S608
        if zlib.crc32(data) != crc:
            raise CorruptStateError("state is corrupt: pending rows fail their checksum.")
        found[name] = data
    return found


def _check_alike(before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Name the first option that has changed."""
    for name in {**before, **now}:
        old, new = _json(before.get(name)), _json(now.get(name))
        if old != new:
            raise IncompatibleStateError(
                f"cannot go on: `{name}` differs ({_short(old)} then, {_short(new)} now)."
            )


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _locked(path: str, name: str) -> BinaryIO:
    """Hold the checkpoint for this process; the system lets go of it when the process ends."""
    with _told(name):
        file = Path(f"{path}{_LOCK}").open("ab")  # noqa: SIM115 - held until the end
    try:
        if fcntl is None:  # pragma: no cover (Windows)
            import msvcrt  # noqa: PLC0415

            system: Any = msvcrt
            system.locking(file.fileno(), system.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise BadDataError(f"{name}: another monitor holds this checkpoint.") from None
    return file


def _identity(path: str) -> tuple[int, int] | None:
    """Return what tells a file from others, None if it is gone; an open one keeps its inode."""
    try:
        status = Path(path).stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


@contextmanager
def _told(name: str) -> Iterator[None]:
    """Turn what SQLite, JSON and the system say into errors that name the file."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise BadDataError(f"{name}: {error}.") from None
    except (sqlite3.DatabaseError, json.JSONDecodeError, KeyError) as error:
        raise CorruptStateError(f"{name}: state is corrupt: {error}.") from None
    except OSError as error:
        raise BadDataError(f"{name}: {str(error.strerror or error).lower()}.") from None
    except StreamevalError as error:
        raise (error if str(error).startswith(name) else error.within(name)) from None


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
