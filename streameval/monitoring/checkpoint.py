"""The checkpoint of a monitor: one SQLite file, and one transaction per commit."""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO
from weakref import WeakSet

import attrs

from streameval.accumulators.definition import check_alike
from streameval.accumulators.parts import merge
from streameval.accumulators.sliced import Sliced
from streameval.accumulators.windowed import Windowed
from streameval.errors import (
    BadDataError,
    CorruptStateError,
    IncompatibleStateError,
    StreamevalError,
    UnavailableError,
    UnsupportedVersionError,
    refused,
)
from streameval.monitoring.quarantine import MAX_BYTES, HeldRow

try:
    import fcntl
except ImportError:  # pragma: no cover (Windows)
    fcntl = None  # type: ignore[assignment]
_MAGIC = b"SQLite format 3\0"
_APPLICATION_ID = 0x5345636B  # "SEck"
_ID_BYTES = slice(68, 72)  # of the header of an SQLite file
_VERSION = 3
_BESIDE = 2  # the version with a table of rows without a label by slice
_BUSY_SECONDS = 60
_PAGE_BYTES = 2**14  # most of a commit is blobs of pending rows; a file keeps the size it has
_MAX_FREE = 4  # a file may have one page of four free, which later commits fill again
_LOG_BYTES = 2**26  # of the write-ahead log, between commits
_LOCK = "-lock"
_NO_FILES = ("SQLITE_CANTOPEN", "SQLITE_READONLY")
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


def checkpoint_files(path: str | os.PathLike[str]) -> list[str]:
    """List the files of a checkpoint: the file itself, those of SQLite, and the lock."""
    target = os.path.realpath(path)
    return [os.fspath(path), *(f"{target}{end}" for end in ("", "-wal", "-shm", _LOCK))]


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
def _reading(path: str | os.PathLike[str]) -> Iterator[sqlite3.Connection]:
    """Open a checkpoint that a monitor may be using."""
    name, target = os.fspath(path), os.path.realpath(path)
    if not is_checkpoint(path):
        raise BadDataError(f"{name}: is not a checkpoint.")
    with _told(name):
        try:
            opened: Any = closing(_opened_to_read(target, "mode=ro"))
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith(_NO_FILES):
                raise
            opened = _unwritten(target)
        with opened as base:
            yield base


def _opened_to_read(target: str, how: str) -> sqlite3.Connection:
    address = f"{Path(target).as_uri()}?{how}"
    base = sqlite3.connect(address, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
    try:
        _checked_version(base)
    except BaseException:
        base.close()
        raise
    return base


@contextmanager
def _unwritten(target: str) -> Iterator[sqlite3.Connection]:
    """Open a checkpoint where SQLite may create no files next to it, while nobody writes it."""
    log = Path(f"{target}-wal")

    def state() -> tuple[bool, int]:
        return log.exists() and log.stat().st_size > 0, Path(target).stat().st_mtime_ns

    before = state()
    if before[0]:
        raise BadDataError(
            f"its last commits are in {log.name}, which can only be read in a folder that may be "
            "written; copy both files to one."
        )
    try:
        with closing(_opened_to_read(target, "immutable=1")) as base:
            yield base
    finally:
        if state() != before:
            raise UnavailableError("a monitor has begun to write it; try again.")


def _opened(target: str) -> sqlite3.Connection:
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


def _check_header(target: Path) -> None:
    """Refuse a file of another type before SQLite creates files next to it."""
    if not target.parent.is_dir():
        raise BadDataError("there is no such folder.")
    if target.exists():
        with target.open("rb") as file:
            head = file.read(len(_MAGIC))
        if head and head != _MAGIC:
            raise BadDataError(_OTHER)


def _prepare(base: sqlite3.Connection) -> None:
    """Create the tables of a new file; refuse a file of another program or a newer release."""
    if not base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        own = f"PRAGMA application_id = {_APPLICATION_ID}; PRAGMA user_version = {_VERSION};"
        base.executescript(f"BEGIN IMMEDIATE;{_TABLES}{own}COMMIT;")
    if base.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION_ID:
        raise BadDataError(_OTHER)
    _checked_version(base)


def _compact(base: sqlite3.Connection) -> None:
    """Rewrite a file of an older release once, so that commits can give free pages back.

    It takes as long as to copy the pages in use, and as much space; without it, the file stays as
    it is until the next start.
    """
    if not base.execute("PRAGMA auto_vacuum").fetchone()[0] and _has_much_free(base):
        base.execute("PRAGMA auto_vacuum=INCREMENTAL")
        with suppress(sqlite3.OperationalError):  # the disk is full, or another reads
            base.execute("VACUUM")


def _has_much_free(base: sqlite3.Connection) -> bool:
    """Whether so many pages are free that it is worth to move others."""
    free, pages = (
        base.execute(f"PRAGMA {name}").fetchone()[0] for name in ("freelist_count", "page_count")
    )
    return bool(free * _MAX_FREE > pages)


def _checked_version(base: sqlite3.Connection) -> int:
    """Return the version of a checkpoint; refuse one of a newer release."""
    version: int = base.execute("PRAGMA user_version").fetchone()[0]
    if version > _VERSION:
        raise UnsupportedVersionError(
            f"a newer release has written this checkpoint, of version {version}; this one reads "
            f"up to {_VERSION}."
        )
    return version


def _locked(path: str, name: str) -> BinaryIO:
    """Lock the checkpoint for this process; the system releases it when the process ends."""
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
        raise UnavailableError(f"{name}: another monitor holds this checkpoint.") from None
    _HELD.add(file)
    return file


_HELD = WeakSet[BinaryIO]()


def _let_go() -> None:  # pragma: no cover (in a forked process)
    """Close the locks in a forked process, which would hold them after its parent has ended."""
    for file in _HELD:
        file.close()


if fcntl is not None:  # pragma: no branch (Windows)
    os.register_at_fork(after_in_child=_let_go)


def _identity(path: str) -> tuple[int, int] | None:
    """Return the identity of a file, None if it is gone; an open file keeps its inode."""
    try:
        status = Path(path).stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


@contextmanager
def _told(name: str) -> Iterator[None]:
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


_STATE = "state."
_WAITING = f"{_STATE}waiting"  # there is no commit of rows yet


@attrs.frozen(kw_only=True)
class Saved:
    """The contents of the last commit.

    Parameters
    ----------
    number : int
        Of the commit; 0 before the first.
    config : JSON
        The options of the monitor.
    windowed : Windowed
        What has been counted.
    state, positions
        As in `Changes`.
    values : dict from name to list
        The dictionaries.
    outbox : list of (str, JSON)
        The undelivered events, oldest first.
    runs, dead : mapping from id to bytes
        The pending rows, which are read when they are asked for, before the next commit.
    """

    number: int
    config: Any
    windowed: Windowed
    state: Mapping[str, Any]
    positions: Mapping[str, Any]
    values: Mapping[str, list[Any]]
    outbox: Sequence[tuple[str, Any]]
    runs: Mapping[Any, bytes] = attrs.field(factory=dict)
    dead: Mapping[Any, bytes] = attrs.field(factory=dict)


class Blobs(Mapping[Any, bytes]):
    """The blobs of a table, which are large together: each is read when it is asked for.

    Parameters
    ----------
    base : Connection
    table : str
    name : str
        The file, for messages.
    """

    def __init__(self, base: sqlite3.Connection, table: str, name: str) -> None:
        self._base = base
        self._name = name
        self._query = f"SELECT data, crc FROM {table} WHERE id = ?"  # noqa: S608
        self._ids = {number for (number,) in base.execute(f"SELECT id FROM {table}")}  # noqa: S608

    def __getitem__(self, number: Any) -> bytes:
        if number not in self._ids:
            raise KeyError(number)
        with _told(self._name):
            data, checksum = self._base.execute(self._query, (number,)).fetchone()
            if zlib.crc32(data) != checksum:
                raise CorruptStateError("state is corrupt: pending rows fail their checksum.")
        blob: bytes = data
        return blob

    def __contains__(self, number: object) -> bool:
        return number in self._ids

    def __iter__(self) -> Iterator[Any]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)


def read_numbers(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the row counters of a monitor as of its last commit.

    Raises
    ------
    BadDataError
        If the file is not a checkpoint, cannot be read, or has no commit.
    CorruptStateError
        If it is damaged.
    """
    with _reading(path) as base:
        meta = dict(base.execute("SELECT name, value FROM meta WHERE name != 'accumulator'"))
        if not meta.get("number") or _WAITING in meta:
            raise _nothing_counted(meta)
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
    """Read the last commit of a checkpoint, without pending rows; a monitor may be using it.

    Raises
    ------
    BadDataError
        If the file is not a checkpoint, cannot be read, or has no commit.
    CorruptStateError
        If it is damaged, or a newer release wrote it.
    """
    with _reading(path) as base:
        return _loaded(base)


def copy_checkpoint(path: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Copy the last commit of a checkpoint to a new file; a monitor may be using it.

    Raises
    ------
    BadDataError
        If the file is not a checkpoint or cannot be read, or the copy cannot be written.
    CorruptStateError
        If it is damaged, or a newer release wrote it.
    """
    with _reading(path) as base, closing(sqlite3.connect(target)) as copy:
        base.backup(copy)


def _loaded(base: sqlite3.Connection, empty: Windowed | None = None) -> Saved:
    """Read the last commit, without pending rows; `empty` is the stored accumulator, if known."""
    base.execute("BEGIN")
    try:
        meta = dict(base.execute("SELECT name, value FROM meta"))
        if "config" not in meta:
            raise _nothing_counted(meta)
        if empty is None:
            empty = Windowed.from_bytes(meta["accumulator"])
        values: dict[str, list[Any]] = {}
        query = "SELECT name, value FROM dictionary ORDER BY name, code"
        for name, value in base.execute(query):
            values.setdefault(name, []).append(json.loads(value))
        positions = base.execute("SELECT name, position FROM source")
        return Saved(
            number=meta["number"],
            config=json.loads(meta["config"]),
            windowed=_counted(base, empty),
            state=_state_of(meta),
            positions={name: json.loads(where) for name, where in positions},
            values=values,
            outbox=_outbox_of(base),
        )
    finally:
        base.execute("ROLLBACK")


def _nothing_counted(meta: Mapping[str, Any]) -> BadDataError:
    """Say what a checkpoint without a counted row has instead."""
    if _WAITING not in meta:
        return BadDataError("nothing has been committed yet.")
    state = _state_of(meta)
    held = [f"{n:,} rows of {role}" for role, n in state["waiting"]["rows"].items()]
    firing = [
        json.loads(key)[0]
        for key, one in state.get("alerts", {}).items()
        if one["state"] == "firing"
    ]
    alerts = f" Alerts that are firing: {', '.join(firing)}." if firing else ""
    return BadDataError(
        f"no row has been counted: {' and '.join(held)} have been read as of commit "
        f"{meta['number']}, and counting begins once each source has one.{alerts}"
    )


def _state_of(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Read the small parts."""
    return {
        name.removeprefix(_STATE): json.loads(value)
        for name, value in meta.items()
        if name.startswith(_STATE)
    }


def _outbox_of(base: sqlite3.Connection) -> list[tuple[str, Any]]:
    """Read the undelivered events, the oldest first."""
    outbox = base.execute("SELECT id, event FROM outbox ORDER BY number, rowid")
    return [(name, json.loads(event)) for name, event in outbox]


def _counted(base: sqlite3.Connection, empty: Windowed) -> Windowed:
    """Merge the pieces of what has been counted, with the rows without a label by slice."""
    total: Windowed = merge([empty, *_pieces(base, "piece")])
    beside = _pieces(base, "unlabelled") if _checked_version(base) == _BESIDE else []
    if beside:
        total = total.view().with_unlabelled(merge(beside).view()).copy()
    return total


def _pieces(base: sqlite3.Connection, table: str) -> list[Windowed]:
    pieces = base.execute(f"SELECT data FROM {table} ORDER BY id")  # noqa: S608
    return [Windowed.from_bytes(data) for (data,) in pieces]


_FAN_IN = 16
_MAX_PARTS = 2
_WHOLE = 1_000_000
"""The level of the piece that holds everything up to some commit."""
_GIVEN_BACK = 512  # pages that one commit moves at most; 8 MiB of writing
_SHOWN = 200
_MAY_DIFFER = ("allowed_lateness",)
"""The options that do not change what is stored."""
_LABEL_ROWS = (
    "CREATE TABLE IF NOT EXISTS label_row (key BLOB, time INTEGER, until INTEGER, entry TEXT)",
    "CREATE INDEX IF NOT EXISTS label_row_key ON label_row (key)",
    "CREATE INDEX IF NOT EXISTS label_row_until ON label_row (until)",
)
"""Only of a monitor with a quarantine and labels."""


_Piece = tuple[int, int, int]
"""The number of a piece, its level and its size."""


class Pieces:
    """The pieces that one accumulator is the sum of.

    A commit appends the rows that it has counted as an accumulator of their own. `Windowed` is a
    sum, so pieces are merged when they are loaded. Sixteen pieces of one level are merged into
    one of the next. Once the pieces are twice as large as everything together, everything is
    written instead. So a commit of a few rows writes little, whatever the number of panes.

    Parameters
    ----------
    base : Connection
    """

    def __init__(self, base: sqlite3.Connection) -> None:
        self._base = base

    def append(self, data: bytes, total: Windowed | None) -> None:
        """Store the rows of a commit within its transaction, and merge pieces where that is due.

        Parameters
        ----------
        data : bytes
            The accumulator of the rows; empty if there are none.
        total : Windowed, optional
            The accumulator of all rows, if there are some.
        """
        if total is None or not data:
            return
        held = self._held()
        all_of_them = sum(size for _, level, size in held if level == _WHOLE)
        parts = sum(size for _, level, size in held if level < _WHOLE)
        if parts + len(data) > _MAX_PARTS * all_of_them:
            self._replace(held, 0, _WHOLE, total.to_bytes() if held else data)
            return
        self._replace(held, len(held), 0, data)
        first, level = self._alike(held)
        while len(held) - first >= _FAN_IN:
            parts_held = [Windowed.from_bytes(self._read(name)) for name, _, _ in held[first:]]
            self._replace(held, first, level + 1, merge(parts_held).to_bytes())
            first, level = self._alike(held)

    def rewrite(self, whole: Windowed) -> None:
        """Store the accumulator of all rows in place of all pieces."""
        self._replace(self._held(), 0, _WHOLE, whole.to_bytes())

    def _held(self) -> list[_Piece]:
        """List the pieces in order."""
        query = "SELECT id, level, length(data) FROM piece ORDER BY id"
        return self._base.execute(query).fetchall()

    @staticmethod
    def _alike(pieces: Sequence[_Piece]) -> tuple[int, int]:
        """Return the index of the first of the last pieces of one level, and the level."""
        level = pieces[-1][1]
        first = len(pieces)
        while first and pieces[first - 1][1] == level:
            first -= 1
        return first, level

    def _replace(self, held: list[_Piece], first: int, level: int, data: bytes) -> None:
        """Put one piece where the last ones are."""
        for name, _, _ in held[first:]:
            self._base.execute("DELETE FROM piece WHERE id = ?", (name,))
        name = 1 + (held[first - 1][0] if first else 0)
        row = name, level, data
        self._base.execute("INSERT INTO piece VALUES (?, ?, ?)", row)
        held[first:] = [(name, level, len(data))]

    def _read(self, name: int) -> bytes:
        query = "SELECT data FROM piece WHERE id = ?"
        data: bytes = self._base.execute(query, (name,)).fetchone()[0]
        return data


@attrs.frozen(kw_only=True)
class Changes:
    """The changes of one commit.

    Parameters
    ----------
    rows : bytes
        An accumulator of the rows counted since the last commit; empty if there are none.
    total : Windowed, optional
        That of all rows, which is stored instead where that is cheaper.
    state : mapping from name to JSON
        The small parts, which are stored in full.
    positions : mapping from name to JSON
        How far sources have been read.
    values : mapping from name to sequence
        The new entries of dictionaries.
    runs, dead : mapping from id to bytes
        The new runs of pending rows, and the changed bitmaps.
    removed : iterable of id
        The removed runs.
    events : sequence of (str, JSON)
        The events to deliver, by id.
    label_rows : (int, sequence of HeldRow), optional
        The time before which labels are decided, and the new labels that are not.
    """

    rows: bytes = b""
    total: Windowed | None = None
    state: Mapping[str, Any]
    positions: Mapping[str, Any] = attrs.field(factory=dict)
    values: Mapping[str, Sequence[Any]] = attrs.field(factory=dict)
    runs: Mapping[Any, bytes] = attrs.field(factory=dict)
    dead: Mapping[Any, bytes] = attrs.field(factory=dict)
    removed: Iterable[Any] = ()
    events: Sequence[tuple[str, Any]] = ()
    label_rows: tuple[int, Sequence[HeldRow]] | None = None


class Checkpoint:
    """One SQLite file that one process writes; others may read it meanwhile.

    A file of an older release is brought up to date when it is opened to be written.

    Parameters
    ----------
    path : str
        The file; it is created if it does not exist or is empty.

    Raises
    ------
    BadDataError
        If another monitor uses the file, or it is not a checkpoint.
    UnsupportedVersionError
        If a newer release wrote it.
    CorruptStateError
        If it is damaged.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = os.fspath(path)
        target = os.path.realpath(path)
        with _told(self.name):
            _check_header(Path(target))
        self._lock = _locked(target, self.name)
        try:
            with _told(self.name):
                self._base = _opened(target)
                if _checked_version(self._base) < _VERSION:
                    _bring_up_to_date(self._base)
                self._target, self._identity = target, _identity(target)
        except BaseException:
            self._lock.close()
            raise

    def begin(self, config: Any, empty: Windowed, *, migrate: bool = False) -> Saved:
        """Store the options of a new monitor, or compare them with those of the file.

        Parameters
        ----------
        config : JSON object
            The options that must not change.
        empty : Windowed
            The empty accumulator.
        migrate : bool
            Whether options may differ where what is stored is that of the new ones, too.

        Raises
        ------
        IncompatibleStateError
            When an option differs; the message names it.
        """
        is_new = self.config is None
        if is_new:
            with self._transaction():
                self._put_options(config, empty)
                self._execute("INSERT OR IGNORE INTO meta VALUES ('number', 0)")
        saved = self.load(empty.copy() if is_new else None)
        with _told(self.name):
            found = _with_options(saved, config, empty) if migrate else saved
            _check_same(found.config, config)
            check_alike(found.windowed.view().config, empty.view().config, "continue")
        if found is not saved:
            with self._transaction():
                self._put_options(found.config, empty)
                Pieces(self._base).rewrite(found.windowed)
        return found

    def _put_options(self, config: Any, empty: Windowed) -> None:
        self._put("meta", [("config", _json(config)), ("accumulator", empty.to_bytes())])

    @property
    def _meta(self) -> dict[str, Any]:
        return dict(self._execute("SELECT name, value FROM meta"))

    @property
    def config(self) -> Any:
        """The options of the first commit of rows; None before, while they can still change."""
        with _told(self.name):
            meta = self._meta
            is_begun = meta.get("number") and _WAITING not in meta
            return json.loads(meta["config"]) if is_begun else None

    @property
    def state(self) -> dict[str, Any]:
        """The small parts of the last commit, and what was written since."""
        with _told(self.name):
            return _state_of(self._meta)

    def load(self, empty: Windowed | None = None) -> Saved:
        """Read the last commit; the stored accumulator is `empty`, if that is known."""
        with _told(self.name):
            runs, dead = (Blobs(self._base, table, self.name) for table in ("run", "dead"))
            return attrs.evolve(_loaded(self._base, empty), runs=runs, dead=dead)

    @property
    def outbox(self) -> list[tuple[str, Any]]:
        """The undelivered events by id, the oldest first."""
        with _told(self.name):
            return _outbox_of(self._base)

    def check_is_there(self) -> None:
        """Detect that the file was deleted or replaced, because later commits would be lost.

        Raises
        ------
        BadDataError
            If its name, or that of its lock, now belongs to another file or to none.
        """
        with _told(self.name):
            lock = os.fstat(self._lock.fileno())
            held = [self._identity, (lock.st_dev, lock.st_ino)]
            if [_identity(self._target), _identity(f"{self._target}{_LOCK}")] != held:
                raise BadDataError(
                    "was deleted or replaced while a monitor held it; nothing more is counted."
                )

    def commit(self, number: int, changes: Changes) -> None:
        """Write one commit, all or nothing; before there are options, its state says "waiting"."""
        with self._transaction():
            self._execute("DELETE FROM meta WHERE name = ?", (_WAITING,))
            Pieces(self._base).append(changes.rows, changes.total)
            for table, blobs in (("run", changes.runs), ("dead", changes.dead)):
                self._remove(table, changes.removed)
                self._put(table, [(name, data, zlib.crc32(data)) for name, data in blobs.items()])
            for name, values in changes.values.items():
                query = "SELECT count(*) FROM dictionary WHERE name = ?"
                first = self._execute(query, (name,)).fetchone()[0]
                self._put(
                    "dictionary", [(name, at, _json(v)) for at, v in enumerate(values, first)]
                )
            self._put("source", [(name, _json(at)) for name, at in changes.positions.items()])
            if changes.label_rows is not None:
                self._hold_label_rows(*changes.label_rows)
            self._put_out(number, changes.events)
            self._note(changes.state)
            self._put("meta", [("number", number)])
            for _ in range(_GIVEN_BACK if _has_much_free(self._base) else 0):
                # `sqlite3` takes one step of a statement without columns, which is one page.
                self._execute("PRAGMA incremental_vacuum(1)")

    def begin_label_rows(self, *, is_wanted: bool) -> None:
        """Create the table of rows of undecided labels, or drop it."""
        with self._transaction():
            for query in _LABEL_ROWS if is_wanted else ("DROP TABLE IF EXISTS label_row",):
                self._execute(query)
            if is_wanted:
                query = "SELECT total(length(entry)) FROM label_row"
                self._label_bytes = int(self._execute(query).fetchone()[0])

    def label_rows(self, key: bytes) -> list[tuple[int, Any]]:
        """Return the times and entries of the rows of undecided labels of an id."""
        query = "SELECT time, entry FROM label_row WHERE key = ?"
        with _told(self.name):
            found = self._execute(query, (key,)).fetchall()
        return [(time, json.loads(entry)) for time, entry in found]

    def _hold_label_rows(self, decided: int, rows: Iterable[HeldRow]) -> None:
        """Drop what is decided, and add rows up to a limit of bytes."""
        query = "SELECT total(length(entry)) FROM label_row WHERE until < ?"
        self._label_bytes -= int(self._execute(query, (decided,)).fetchone()[0])
        self._execute("DELETE FROM label_row WHERE until < ?", (decided,))
        for key, time, until, entry in rows:
            text = _json(entry)
            if self._label_bytes + len(text) <= MAX_BYTES:
                self._label_bytes += len(text)
                self._put("label_row", [(key, time, until, text)])

    def note(
        self,
        state: Mapping[str, Any] | None = None,
        *,
        events: Iterable[tuple[str, Any]] = (),
        delivered: Iterable[str] = (),
    ) -> None:
        """Write some of the small parts between two commits.

        Parameters
        ----------
        state : mapping from name to JSON, optional
            The parts.
        events : iterable of (str, JSON)
            Events for the end of the outbox.
        delivered : iterable of str
            The events that leave the outbox, before the others enter it.
        """
        with self._transaction():
            self._remove("outbox", delivered)
            self._put_out(self.number, events)
            self._note(state or {})

    @property
    def number(self) -> int:
        """That of the last commit; 0 before the first."""
        query = "SELECT value FROM meta WHERE name = 'number'"
        with _told(self.name):
            found = self._execute(query).fetchone()
            return 0 if found is None else int(found[0])

    def close(self) -> None:
        """Close the file, so that another monitor can use it."""
        try:
            self._base.close()
        finally:
            self._lock.close()

    def _put_out(self, number: int, events: Iterable[tuple[str, Any]]) -> None:
        """Add the events of a commit to the outbox."""
        self._put("outbox", [(name, number, _json(event)) for name, event in events])

    def _note(self, state: Mapping[str, Any]) -> None:
        """Write some of the small parts."""
        self._put("meta", [(f"{_STATE}{name}", _json(part)) for name, part in state.items()])

    def _put(self, table: str, rows: Iterable[Sequence[Any]]) -> None:
        """Add rows to a table, or replace those of the same key."""
        for row in rows:
            marks = ", ".join("?" * len(row))
            self._execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", row)  # noqa: S608

    def _remove(self, table: str, names: Iterable[Any]) -> None:
        for name in names:
            self._execute(f"DELETE FROM {table} WHERE id = ?", (name,))  # noqa: S608

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


def _bring_up_to_date(base: sqlite3.Connection) -> None:
    """Store what an older release had in a table of its own with what has been counted."""
    base.execute("BEGIN IMMEDIATE")
    try:
        found = base.execute("SELECT value FROM meta WHERE name = 'accumulator'").fetchone()
        if found is not None and _checked_version(base) == _BESIDE:
            Pieces(base).rewrite(_counted(base, Windowed.from_bytes(found[0])))
        base.execute("DROP TABLE IF EXISTS unlabelled")
        base.execute(f"PRAGMA user_version = {_VERSION}")
        base.execute("COMMIT")
    except BaseException:
        base.execute("ROLLBACK")
        raise


def _with_options(saved: Saved, config: Mapping[str, Any], empty: Windowed) -> Saved:
    """Turn a commit into that of other options, as far as what is stored allows it."""
    chosen = {**saved.config, **{name: config[name] for name in _MAY_DIFFER}}
    inner, found = (one.view().config.accumulator for one in (empty, saved.windowed))
    if inner.cls is not Sliced or found.cls is not Sliced or inner == found:
        is_same = _json(saved.config) == _json(chosen)
        return saved if is_same else attrs.evolve(saved, config=chosen)
    now = inner.options
    slices = attrs.evolve(found.options, values=now.values, max_values=now.max_values)
    windowed = saved.windowed.view().chosen_again(slices).copy()
    return attrs.evolve(saved, config=chosen, windowed=windowed)


def _check_same(before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Name the first option that has changed."""
    for name in {**before, **now}:
        old, new = _json(before.get(name)), _json(now.get(name))
        if old != new:
            raise IncompatibleStateError(
                f"differs ({_short(old)} then, {_short(new)} now)",
                argument=name,
                where="cannot continue: ",
            )


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
