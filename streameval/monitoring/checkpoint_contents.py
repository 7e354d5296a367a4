"""The contents of a checkpoint, as its last commit left them."""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import attrs

from streameval.accumulators.parts import merge
from streameval.accumulators.windowed import Windowed
from streameval.errors import BadDataError, CorruptStateError
from streameval.monitoring.checkpoint_file import BESIDE, checked_version, reading, told

STATE = "state."
WAITING = f"{STATE}waiting"  # there is no commit of rows yet


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
        with told(self._name):
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
    with reading(path) as base:
        meta = dict(base.execute("SELECT name, value FROM meta WHERE name != 'accumulator'"))
        if not meta.get("number") or WAITING in meta:
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
    with reading(path) as base:
        return loaded(base)


def copy_checkpoint(path: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Copy the last commit of a checkpoint to a new file; a monitor may be using it.

    Raises
    ------
    BadDataError
        If the file is not a checkpoint or cannot be read, or the copy cannot be written.
    CorruptStateError
        If it is damaged, or a newer release wrote it.
    """
    with reading(path) as base, closing(sqlite3.connect(target)) as copy:
        base.backup(copy)


def loaded(base: sqlite3.Connection, empty: Windowed | None = None) -> Saved:
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
            windowed=counted(base, empty),
            state=state_of(meta),
            positions={name: json.loads(where) for name, where in positions},
            values=values,
            outbox=outbox_of(base),
        )
    finally:
        base.execute("ROLLBACK")


def _nothing_counted(meta: Mapping[str, Any]) -> BadDataError:
    """Say what a checkpoint without a counted row has instead."""
    if WAITING not in meta:
        return BadDataError("nothing has been committed yet.")
    state = state_of(meta)
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


def state_of(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Read the small parts."""
    return {
        name.removeprefix(STATE): json.loads(value)
        for name, value in meta.items()
        if name.startswith(STATE)
    }


def outbox_of(base: sqlite3.Connection) -> list[tuple[str, Any]]:
    """Read the undelivered events, the oldest first."""
    outbox = base.execute("SELECT id, event FROM outbox ORDER BY number, rowid")
    return [(name, json.loads(event)) for name, event in outbox]


def counted(base: sqlite3.Connection, empty: Windowed) -> Windowed:
    """Merge the pieces of what has been counted, with the rows without a label by slice."""
    total = merge([empty, *_pieces(base, "piece")])
    beside = _pieces(base, "unlabelled") if checked_version(base) == BESIDE else []
    whole: Windowed = total._with_unlabelled(merge(beside)) if beside else total
    return whole


def _pieces(base: sqlite3.Connection, table: str) -> list[Windowed]:
    pieces = base.execute(f"SELECT data FROM {table} ORDER BY id")  # noqa: S608
    return [Windowed.from_bytes(data) for (data,) in pieces]
