"""The checkpoint of a monitor: one SQLite file, and one transaction per commit."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import attrs

from streameval.accumulators.parts import merge
from streameval.accumulators.sliced import Sliced
from streameval.accumulators.windowed import Windowed
from streameval.errors import BadDataError, IncompatibleStateError
from streameval.monitoring.checkpoint_contents import (
    STATE,
    WAITING,
    Blobs,
    Saved,
    counted,
    loaded,
    outbox_of,
    state_of,
)
from streameval.monitoring.checkpoint_file import (
    BESIDE,
    LOCK,
    VERSION,
    check_header,
    checked_version,
    has_much_free,
    identity,
    locked,
    opened,
    told,
)
from streameval.monitoring.quarantine import MAX_BYTES, HeldRow

if TYPE_CHECKING:
    import sqlite3


_FAN_IN = 16
_MAX_PARTS = 2
_WHOLE = 1_000_000
"""The level of the piece that holds everything up to some commit."""
_GIVEN_BACK = 512  # pages that one commit moves at most; 8 MiB of writing
_SHOWN = 200
_OWN = f"{STATE}own"  # the last event of the monitor itself
_DELIVERY = f"{STATE}delivery"  # the receivers, and events that none has been told
_MAY_DIFFER = ("allowed_lateness",)
"""The options that do not change what is stored."""
_LABEL_ROWS = (
    "CREATE TABLE IF NOT EXISTS label_row (key BLOB, time INTEGER, until INTEGER, entry TEXT)",
    "CREATE INDEX IF NOT EXISTS label_row_key ON label_row (key)",
    "CREATE INDEX IF NOT EXISTS label_row_until ON label_row (until)",
)
"""Only of a monitor with a quarantine and labels."""


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
        query = "SELECT id, level, length(data) FROM piece ORDER BY id"
        self._held: list[tuple[int, int, int]] = base.execute(query).fetchall()
        self._new = self._held

    def append(self, data: bytes, total: Windowed) -> None:
        """Store the rows of a commit within its transaction, and merge pieces where that is due.

        Parameters
        ----------
        data : bytes
            The accumulator of the rows; empty if there are none.
        total : Windowed
            The accumulator of all rows.
        """
        held = self._new = list(self._held)
        if not data:
            return
        all_of_them = sum(size for _, level, size in held if level == _WHOLE)
        parts = sum(size for _, level, size in held if level < _WHOLE)
        if parts + len(data) > _MAX_PARTS * all_of_them:
            self._replace(0, _WHOLE, total.to_bytes() if held else data)
            return
        self._replace(len(held), 0, data)
        first, level = self._alike(held)
        while len(held) - first >= _FAN_IN:
            parts_held = [Windowed.from_bytes(self._read(name)) for name, _, _ in held[first:]]
            self._replace(first, level + 1, merge(parts_held).to_bytes())
            first, level = self._alike(held)

    def rewrite(self, whole: Windowed) -> None:
        """Store the accumulator of all rows in place of all pieces."""
        self._new = list(self._held)
        self._replace(0, _WHOLE, whole.to_bytes())

    def note_committed(self) -> None:
        """Note that what was appended is stored."""
        self._held = self._new

    @staticmethod
    def _alike(pieces: Sequence[tuple[int, int, int]]) -> tuple[int, int]:
        """Return the index of the first of the last pieces of one level, and the level."""
        level = pieces[-1][1]
        first = len(pieces)
        while first and pieces[first - 1][1] == level:
            first -= 1
        return first, level

    def _replace(self, first: int, level: int, data: bytes) -> None:
        """Put one piece where the last ones are."""
        held = self._new
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
    total : Windowed
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

    rows: bytes
    total: Windowed
    state: Mapping[str, Any]
    positions: Mapping[str, Any]
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
        check_header(target, self.name)
        self._lock = locked(target, self.name)
        try:
            with told(self.name):
                self._base = opened(target)
                if checked_version(self._base) < VERSION:
                    _bring_up_to_date(self._base)
                self._counted = Pieces(self._base)
                self._target, self._identity = target, identity(target)
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
            rows = {"config": _json(config), "accumulator": empty.to_bytes()}
            with self._transaction():
                self._many("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows.items())
                self._execute("INSERT OR IGNORE INTO meta VALUES ('number', 0)")
        saved = self.load(empty.copy() if is_new else None)
        with told(self.name):
            found = _with_options(saved, config, empty) if migrate else saved
            _check_alike(found.config, config)
            found.windowed._check_alike(empty, "continue")
        if found is not saved:
            self._rewrite(found, empty)
        return found

    def _rewrite(self, saved: Saved, empty: Windowed) -> None:
        """Store the options and the accumulators anew."""
        rows = {"config": _json(saved.config), "accumulator": empty.to_bytes()}
        with self._transaction():
            self._many("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows.items())
            self._counted.rewrite(saved.windowed)
        self._counted.note_committed()

    @property
    def config(self) -> Any:
        """The options of the first commit of rows; None before, while they can still change."""
        query = "SELECT name, value FROM meta WHERE name IN ('number', 'config', ?)"
        with told(self.name):
            found = dict(self._execute(query, (WAITING,)))
        if not found.get("number") or WAITING in found:
            return None
        return json.loads(found["config"])

    @property
    def state(self) -> dict[str, Any]:
        """The small parts of the last commit, and what was written since."""
        with told(self.name):
            return state_of(dict(self._execute("SELECT name, value FROM meta")))

    def load(self, empty: Windowed | None = None) -> Saved:
        """Read the last commit; the stored accumulator is `empty`, if that is known."""
        with told(self.name):
            runs, dead = (Blobs(self._base, table, self.name) for table in ("run", "dead"))
            return attrs.evolve(loaded(self._base, empty), runs=runs, dead=dead)

    @property
    def outbox(self) -> list[tuple[str, Any]]:
        """The undelivered events by id, the oldest first."""
        with told(self.name):
            return outbox_of(self._base)

    def check_is_there(self) -> None:
        """Detect that the file was deleted or replaced, because later commits would be lost.

        Raises
        ------
        BadDataError
            If its name, or that of its lock, now belongs to another file or to none.
        """
        with told(self.name):
            lock = os.fstat(self._lock.fileno())
            held = [self._identity, (lock.st_dev, lock.st_ino)]
            if [identity(self._target), identity(f"{self._target}{LOCK}")] != held:
                raise BadDataError(
                    "was deleted or replaced while a monitor held it; nothing more is counted."
                )

    def commit_early(
        self, number: int, state: Mapping[str, Any], events: Iterable[tuple[str, Any]]
    ) -> None:
        """Write a commit before there are options: the state must have a part "waiting"."""
        with self._transaction():
            self._write(number, state, events)

    def commit(self, number: int, changes: Changes) -> None:
        """Write one commit, all or nothing."""
        with self._transaction():
            self._execute("DELETE FROM meta WHERE name = ?", (WAITING,))
            self._counted.append(changes.rows, changes.total)
            self._many("DELETE FROM run WHERE id = ?", [(name,) for name in changes.removed])
            self._many("DELETE FROM dead WHERE id = ?", [(name,) for name in changes.removed])
            for table, blobs in (("run", changes.runs), ("dead", changes.dead)):
                rows = [(name, data, zlib.crc32(data)) for name, data in blobs.items()]
                self._many(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?)", rows)  # noqa: S608
            for name, values in changes.values.items():
                self._extend(name, values)
            positions = [(name, _json(where)) for name, where in changes.positions.items()]
            self._many("INSERT OR REPLACE INTO source VALUES (?, ?)", positions)
            if changes.label_rows is not None:
                self._hold_label_rows(*changes.label_rows)
            self._write(number, changes.state, changes.events)
            if has_much_free(self._base):
                # `sqlite3` takes one step of a statement without columns, which is one page.
                self._many("PRAGMA incremental_vacuum(1)", [()] * _GIVEN_BACK)
        self._counted.note_committed()

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
        with told(self.name):
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
                query = "INSERT INTO label_row VALUES (?, ?, ?, ?)"
                self._execute(query, (key, time, until, text))

    def note(self, name: str, state: Any) -> None:
        """Write a single part of the state."""
        with self._transaction():
            self._note(f"{STATE}{name}", state)

    def tell(self, number: int, events: Iterable[tuple[str, Any]], own: Any, delivery: Any) -> None:
        """Add an event of the monitor itself to the outbox, with two parts of the state.

        "own" is the event, and "delivery" names the receivers.
        """
        with self._transaction():
            rows = [(name, number, _json(event)) for name, event in events]
            self._many("INSERT OR REPLACE INTO outbox VALUES (?, ?, ?)", rows)
            self._note(_OWN, own)
            self._note(_DELIVERY, delivery)

    @property
    def number(self) -> int:
        """That of the last commit; 0 before the first."""
        with told(self.name):
            found = self._execute("SELECT value FROM meta WHERE name = 'number'").fetchone()
            return 0 if found is None else int(found[0])

    def delivered(self, names: Iterable[str]) -> None:
        """Remove events that have been delivered."""
        with self._transaction():
            self._many("DELETE FROM outbox WHERE id = ?", [(name,) for name in names])

    def readdress(self, names: Mapping[str, Iterable[str]], state: Any) -> None:
        """Replace undelivered events by copies, each under its own name and in the same place.

        The receivers of these names are the part "delivery" of the state.
        """
        query = "INSERT OR IGNORE INTO outbox SELECT ?, number, event FROM outbox WHERE id = ?"
        with self._transaction():
            for name, copies in names.items():
                self._many(query, [(copy, name) for copy in copies])
                self._execute("DELETE FROM outbox WHERE id = ?", (name,))
            self._note(_DELIVERY, state)

    def close(self) -> None:
        """Close the file, so that another monitor can use it."""
        try:
            self._base.close()
        finally:
            self._lock.close()

    def _write(
        self, number: int, state: Mapping[str, Any], events: Iterable[tuple[str, Any]]
    ) -> None:
        """Write the number of a commit, the small parts and the events."""
        rows = [(name, number, _json(event)) for name, event in events]
        self._many("INSERT OR REPLACE INTO outbox VALUES (?, ?, ?)", rows)
        parts = [(f"{STATE}{name}", _json(value)) for name, value in state.items()]
        self._many("INSERT OR REPLACE INTO meta VALUES (?, ?)", [*parts, ("number", number)])

    def _note(self, name: str, state: Any) -> None:
        self._execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, _json(state)))

    def _extend(self, name: str, values: Sequence[Any]) -> None:
        query = "SELECT count(*) FROM dictionary WHERE name = ?"
        first = self._execute(query, (name,)).fetchone()[0]
        rows = [(name, first + at, _json(value)) for at, value in enumerate(values)]
        self._many("INSERT INTO dictionary VALUES (?, ?, ?)", rows)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self.check_is_there()
        with told(self.name):
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


def _bring_up_to_date(base: sqlite3.Connection) -> None:
    """Store what an older release had in a table of its own with what has been counted."""
    base.execute("BEGIN IMMEDIATE")
    try:
        found = base.execute("SELECT value FROM meta WHERE name = 'accumulator'").fetchone()
        if found is not None and checked_version(base) == BESIDE:
            Pieces(base).rewrite(counted(base, Windowed.from_bytes(found[0])))
        base.execute("DROP TABLE IF EXISTS unlabelled")
        base.execute(f"PRAGMA user_version = {VERSION}")
        base.execute("COMMIT")
    except BaseException:
        base.execute("ROLLBACK")
        raise


def _with_options(saved: Saved, config: Mapping[str, Any], empty: Windowed) -> Saved:
    """Turn a commit into that of other options, as far as what is stored allows it."""
    may_differ = {name: config[name] for name in _MAY_DIFFER}
    inner, found = empty._config.accumulator, saved.windowed._config.accumulator
    if inner.cls is not Sliced or found.cls is not Sliced or inner == found:
        is_same = _json(saved.config) == _json({**saved.config, **may_differ})
        return saved if is_same else attrs.evolve(saved, config={**saved.config, **may_differ})

    def chosen(windowed: Windowed) -> Windowed:
        options = windowed._config.accumulator.options
        return windowed._with_slices(
            attrs.evolve(options, values=inner.options.values, max_values=inner.options.max_values)
        )

    return attrs.evolve(
        saved,
        config={**saved.config, **may_differ},
        windowed=chosen(saved.windowed),
    )


def _check_alike(before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
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
