"""Quarantine: the rows that were not counted, in a file that agrees with the last commit."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from streameval.errors import BadDataError, refused
from streameval.exact.array_types import Ints
from streameval.io.messages import raw_rows
from streameval.monitoring.pending_runs import MAX_TIME, hash_ids
from streameval.monitoring.status import BAD
from streameval.render.text import json_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from streameval.io.blocks import Block, Fault
    from streameval.monitoring.join import Join
    from streameval.monitoring.pending_runs import ArrayColumns
    from streameval.monitoring.settings import Settings


class CommittedLines:
    """A file to which commits append lines; lines that were not committed are cut off.

    Parameters
    ----------
    path : str
        The file; its folder must exist.
    max_bytes : int, optional
        How long it and the file before it, of the same name and ``.1``, become together. Such a
        file may be moved away or emptied at any time; any other one must not.
    """

    def __init__(self, path: str, max_bytes: int | None = None) -> None:
        self.path = path
        self.older = f"{path}.1"
        self._max_bytes = None if max_bytes is None else max_bytes // 2
        self._length = 0
        self._inode = 0

    def restore(self, state: Any) -> Any:
        """Cut the file back to its committed length, None without one; return what to commit.

        Raises
        ------
        BadDataError
            If the file is another one, or cannot be written.
        """
        name = os.path.realpath(self.path)
        held = state or {}
        known = held.get("path") == name
        self._length = held["length"] if known else 0
        try:
            if known and self._max_bytes is not None and _inode(self.older) == held["inode"]:
                Path(self.older).replace(self.path)  # renamed by a commit that was not finished
            with Path(self.path).open("ab") as file:
                there = file.seek(0, os.SEEK_END)
                if there < self._length and self._max_bytes is None:
                    raise BadDataError(
                        f"{self.path}: is shorter than what was committed, "
                        f"{there:,} of {self._length:,} bytes; was it replaced?"
                    )
                if there and not known:
                    raise BadDataError(
                        f"{self.path}: exists and does not belong to this checkpoint; choose "
                        "another name."
                    )
                self._length = min(there, self._length)
                file.truncate(self._length)
                self._inode = os.fstat(file.fileno()).st_ino
        except OSError as error:
            raise refused(self.path, error) from None
        return self._state()

    def append(self, lines: Sequence[str]) -> Any:
        """Append lines durably, and return what to commit."""
        if lines:
            data = "".join(lines).encode()
            try:
                data = data if self._max_bytes is None else self._bounded(data, self._max_bytes)
                with Path(self.path).open("ab") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                    self._inode = os.fstat(file.fileno()).st_ino
                    self._length = file.tell()
            except OSError as error:
                raise refused(self.path, error) from None
        return self._state()

    def _bounded(self, data: bytes, limit: int) -> bytes:
        """Begin another file if this one would become too long; of much data, keep the end."""
        if self._length and self._length + len(data) > limit and Path(self.path).exists():
            Path(self.path).replace(self.older)
        cut = len(data) - limit
        return data if cut <= 0 else data[data.index(b"\n", cut - 1) + 1 :]

    def _state(self) -> Any:
        state = {"path": os.path.realpath(self.path), "length": self._length}
        return state if self._max_bytes is None else {**state, "inode": self._inode}


def _inode(path: str) -> int | None:
    try:
        return Path(path).stat().st_ino
    except OSError:
        return None


MAX_BYTES = 2**26
"""Of the file and the one before it together, and of the labels that may still be unmatched."""
MAX_ROW = 4096
"""How many bytes of a row are written."""

REASONS = (*BAD, "late_label", "orphan_expired")
"""Why a row is not counted."""

RowEntry = dict[str, Any]
HeldRow = tuple[bytes, int, int, RowEntry]
"""A label that no prediction has yet: its id, its time, the watermark if later, and its entry."""


class Quarantine:
    """A file with a JSON line for each row that was not counted.

    Each has the ``role`` of its source, ``source``, ``unit`` and ``position``, the ``reason``,
    which is the name of a counter, and the ``row``, up to 4 KiB; ``cut`` is true if it was longer.
    Bad rows have an ``error``, too. Source, position and row are null where they are not known: of
    labels that were read before there was a quarantine, or while 64 MiB of others were held.

    Parameters
    ----------
    path : str
        The file. Once it has 32 MiB, it gets the name PATH.1, and the file of that name goes.
    """

    def __init__(self, path: str) -> None:
        self._file = CommittedLines(path, MAX_BYTES)
        self.paths = [path, self._file.older]
        self._lines: list[str] = []
        self.counts: dict[str, int] = dict.fromkeys(REASONS, 0)
        """The rows that were added, by reason."""

    def restore(self, state: Any) -> Any:
        """Cut off what was not committed."""
        self.counts |= (state or {}).get("counts", {})
        return self._with_counts(self._file.restore(state))

    def add_faults(self, role: str, block: Block, reason: str, faults: Sequence[Fault]) -> None:
        """Add bad rows of a block."""
        if faults:
            row_ids, errors = zip(*faults, strict=True)
            for entry, error in zip(entries_of(block, row_ids), errors, strict=True):
                self.add(role, reason, {**entry, "error": error})

    def add(self, role: str, reason: str, entry: RowEntry) -> None:
        """Add a row."""
        self.counts[reason] += 1
        self._lines.append(json_line({"role": role, "reason": reason, **entry}))

    def write(self) -> Any:
        """Write the rows of a commit, and return the state to commit."""
        lines, self._lines = self._lines, []
        return self._with_counts(self._file.append(lines))

    def _with_counts(self, state: Any) -> Any:
        return {**state, "counts": dict(self.counts)}


UNKNOWN: RowEntry = dict.fromkeys(("source", "unit", "position", "row"))


def entries_of(block: Block, row_ids: Iterable[Any]) -> list[RowEntry]:
    """Describe rows of a block."""
    listed = list(row_ids)
    return [
        {
            "source": block.source,
            "unit": block.unit,
            "position": row_id,
            "row": raw[:MAX_ROW].decode("utf-8", "backslashreplace"),
            **({"cut": True} if len(raw) > MAX_ROW else {}),
        }
        for row_id, raw in zip(listed, raw_rows(block, listed), strict=True)
    ]


@attrs.define(eq=False)
class LabelRows:
    """The rows of labels until it is decided whether they belong to a prediction.

    A join keeps the hash of an id. So rows that are undecided at a commit are stored beside it, and
    found again by that hash and by time.

    Parameters
    ----------
    quarantine : Quarantine
        Where labels without a prediction go.
    stored : callable
        Returns the times and entries of the stored rows of an id.
    settings : Settings
        How long a label can be undecided.
    """

    _quarantine: Quarantine
    _stored: Callable[[bytes], list[tuple[int, RowEntry]]]
    _settings: Settings
    _new: list[tuple[Block, Sequence[Any], Ints, ArrayColumns]] = attrs.field(
        init=False, factory=list
    )

    def note(self, block: Block, row_ids: Sequence[Any], ids: Sequence[Any], times: Ints) -> None:
        """Note labels that the join has taken."""
        high, low = hash_ids(ids, name="ids")
        self._new.append((block, row_ids, times, {"high": high, "low": low}))

    def lose(self, reason: str, labels: ArrayColumns) -> None:
        """Put labels that belong to no prediction into quarantine."""
        fresh: dict[bytes, list[tuple[int, Block, Any]]] = {}
        for block, row_ids, times, keys in self._new:
            for at in np.flatnonzero(np.isin(keys["high"], labels["high"])).tolist():
                found = int(times[at]), block, row_ids[at]
                fresh.setdefault(_key(keys, at), []).append(found)
        for at, arrived in enumerate(labels["time"].tolist()):
            key = _key(labels, at)
            rows = self._stored(key)
            rows += [(t, entries_of(block, [n])[0]) for t, block, n in fresh.get(key, ())]
            # A label arrives at its own time, or later if it is out of order.
            before = [row for row in rows if row[0] <= arrived]
            latest = max(before, key=lambda row: row[0], default=None)
            self._quarantine.add("labels", reason, UNKNOWN if latest is None else latest[1])

    def undecided(self, join: Join) -> tuple[int, list[HeldRow]]:
        """Return the time before which all is decided, and the new rows that are not."""
        found = []
        watermark = -MAX_TIME if join.watermark is None else join.watermark
        for block, row_ids, times, keys in self._new:
            at = np.flatnonzero(join.holds_labels(keys)).tolist()
            entries = entries_of(block, [row_ids[one] for one in at])
            for one, entry in zip(at, entries, strict=True):
                time = int(times[one])
                found.append((_key(keys, one), time, max(time, watermark), entry))
        self._new, settings = [], self._settings
        span = 2 * settings.wait + (settings.settle or 0) + settings.out_of_order
        return watermark - span, found


def _key(keys: Mapping[str, Any], at: int) -> bytes:
    return b"".join(int(keys[half][at]).to_bytes(8, "big") for half in ("high", "low"))
