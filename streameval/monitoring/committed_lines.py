"""Files of lines that agree with the last commit."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from streameval.errors import BadDataError, refused


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
