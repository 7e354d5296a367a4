"""Folders of whole files that are moved in: each is read once, in order of name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import attrs

from streameval.configs.names import spelled_out
from streameval.errors import BadDataError
from streameval.io.formats import read_blocks, recognized
from streameval.io.notation import TableOptions
from streameval.io.streams import reading
from streameval.monitoring.contents import (
    Content,
    Mark,
    RowReader,
    check_json,
    opened_content,
    shown_path,
)
from streameval.monitoring.sources import Chunk, FileSource, patterns_of

if TYPE_CHECKING:
    from os import PathLike

    from streameval.io.blocks import Block

    State = tuple[int, int]
    """The size of a file, and when it was written last."""

_NOTHING = Mark()
_HEAD_BYTES = 64
_HIDDEN = (".", "_")


@attrs.define(eq=False)
class _OpenFile:
    """The file that is being read.

    Parameters
    ----------
    name : str
        Its name in the folder.
    state : tuple of int
        Its state when reading began.
    reader : RowReader or list of Block
        Its rows.
    mark : Mark
        How far a file of text was read.
    n_groups : int
        How many row groups of a Parquet file were read.
    """

    name: str
    state: State
    reader: RowReader | list[Block]
    mark: Mark = _NOTHING
    n_groups: int = 0

    def next(self, limit: int) -> Block | None:
        """Return the next rows, None at the end."""
        if isinstance(self.reader, list):
            self.n_groups += 1
            return self.reader[self.n_groups - 1] if self.n_groups <= len(self.reader) else None
        block, self.mark = self.reader.next(self.mark, limit, is_final=True)
        return block

    @property
    def content(self) -> Content | None:
        """The open file, if it is one of text."""
        return None if isinstance(self.reader, list) else self.reader.content

    def close(self) -> None:
        """Close the file."""
        if self.content is not None:
            self.content.close()

    def to_json(self) -> list[Any]:
        """Convert to JSON how far it was read."""
        return [self.name, *self.state, self.n_groups, *self.mark.to_json()]


class Folder(FileSource):
    """Read every file of a folder once, in order of name, as files arrive.

    Write files elsewhere, and move them in when they are complete, under a name that sorts after
    the earlier ones. Folders, and names that begin with a dot or an underscore, are ignored. All
    files form one partition.

    Parameters
    ----------
    path : path
        The folder; it need not exist yet.
    format : {"jsonl", "csv", "tsv", "parquet"}, optional
        By default, the name of a file decides, or else its first bytes.
    delimiter : str, optional
        The character between two cells of a table.
    header : sequence of str, optional
        The names of the columns of tables that have no header; empty to call them 1, 2, and so on.
    decimal : {",", "."}, optional
        The decimal separator of numbers in tables, by default a point.
    thousands : str, optional
        The separator of thousands in tables: a comma, point, space, apostrophe or underscore.
    percent : bool, optional
        Whether 6.95% is 0.0695 in tables.
    na : sequence of str, optional
        The cells of tables that are missing values, besides empty ones, such as ``["NULL"]``.
    dates : {"dmy", "mdy"}, optional
        Whether the day or the month comes first in dates of tables such as 01.05.2026.
    encoding : str, optional
        The encoding of tables, by default UTF-8, such as cp1252.

    Raises
    ------
    InvalidInputError
        If an option is invalid.

    Notes
    -----
    A position lists the files that were read and still exist, so remove old files from time to
    time.

    Examples
    --------
    >>> folder = se.Folder("predictions/")  # doctest: +SKIP
    """

    _noun = "a folder"

    @spelled_out(TableOptions)
    def __init__(
        self,
        path: str | PathLike[str],
        **options: Unpack[TableOptions],
    ) -> None:
        (self.name,) = patterns_of([path], "path")
        super().__init__(**options)
        self._read: dict[str, State] = {}
        self._file: _OpenFile | None = None
        self._resumed: tuple[str, State, int, Mark] | None = None

    def __repr__(self) -> str:
        return f"Folder({self.name!r})"

    def _go_to(self, position: Any) -> None:
        self._read = {
            str(name): (int(size), int(at)) for name, (size, at) in position["read"].items()
        }
        name, size, changed, n_groups, *mark = position["now"]
        check_json([name, *self._read], (size, changed, n_groups))
        self._resumed = (name, (size, changed), n_groups, Mark.from_json(mark))

    def _next_chunk(self, limit: int) -> Chunk | None:
        """Return the next rows, or one row group."""
        while True:
            if self._file is None:
                self._file = self._next_file()
            if self._file is None:
                return None
            block = self._file.next(limit)
            if block is not None:
                now = self._file.to_json()
                return Chunk(block, self.name, self._versioned(read=self._read, now=now))
            self._finish(self._file)

    def unmatched(self) -> list[str]:
        """Name the folder if it does not exist."""
        return [] if os.path.exists(self.name) else [self.name]

    def would_read(self, path: str) -> bool:
        """Return whether a file would be read if it existed."""
        home, name = os.path.split(path)
        is_here = os.path.realpath(home or ".") == os.path.realpath(self.name)
        return is_here and not name.startswith(_HIDDEN)

    def close(self) -> None:
        """Close the open file; nothing can be read afterwards."""
        super().close()
        if self._file is not None:
            self._file.close()
            self._file = None

    def _next_file(self) -> _OpenFile | None:
        """Open the first unread file, or the one that was being read."""
        states = self._listing()
        if not states:  # it may be a disk that is not mounted
            return None
        resumed, self._resumed = self._resumed, None
        if resumed is not None:
            file = self._resume(states, *resumed)
            if file is not None:
                return file
        self._forget(states)
        newest = max(self._read, default="")
        for name in sorted(states.keys() - self._read.keys()):
            if name < newest:
                self._warn(f"{self._shown(name)}: is read late, since {newest!r} was read before")
            file = self._open(name, states[name])
            if file is not None:
                return file
        return None

    def _listing(self) -> dict[str, State]:
        """List the files of the folder, each with its state; none before it exists."""
        states: dict[str, State] = {}
        with reading(shown_path(self.name)):
            try:
                scanned = os.scandir(self.name)
            except FileNotFoundError:
                self._warn_once(f"{shown_path(self.name)}: there is no such folder so far")
                return states
            with scanned:
                for item in scanned:
                    if item.name.startswith(_HIDDEN) or not item.is_file():
                        continue
                    status = item.stat()
                    states[item.name] = (status.st_size, status.st_mtime_ns)
        return states

    def _forget(self, states: dict[str, State]) -> None:
        """Drop removed files, and warn about changed ones."""
        kept = {name: states[name] for name in self._read if name in states}
        for name, state in kept.items():
            if state != self._read[name]:
                shown = self._shown(name)
                self._warn(f"{shown}: was changed after it was read; it is not read again")
        self._read = kept

    def _open(self, name: str, state: State) -> _OpenFile | None:
        """Open a file; None if it is gone."""
        path = str(Path(self.name) / name)
        content = opened_content(path)
        if content is None:
            return None
        form = self._format_of(name)
        found = form or recognized(content.at(0, _HEAD_BYTES))
        if found.layout is None:
            content.close()
            return _OpenFile(name, state, list(read_blocks(path, found.name)))
        return _OpenFile(name, state, RowReader(content, form, self._dialect))

    def _resume(
        self, states: dict[str, State], name: str, state: State, n_groups: int, mark: Mark
    ) -> _OpenFile | None:
        """Open the file that was being read when the position was taken; None if it is done."""
        file = self._open(name, state) if name in states else None
        if file is None:
            self._warn(f"{self._shown(name)}: is gone; rows that were not read are lost")
            return None
        file.n_groups, file.mark = n_groups, mark
        is_same = states[name] == file.state
        if is_same or (file.content is not None and file.mark.is_of(file.content)):
            return file
        self._finish(file)
        return None

    def _finish(self, file: _OpenFile) -> None:
        """Close a file that was read; refuse one that is truncated."""
        content = file.content
        if content is not None and content.is_cut:
            raise BadDataError(f"{content.name}: the packed data is cut short.")
        self._file = None
        file.close()
        self._read = {**self._read, file.name: file.state}

    def _shown(self, name: str) -> str:
        return shown_path(str(Path(self.name) / name))
