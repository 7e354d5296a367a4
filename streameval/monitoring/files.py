"""Files and globs that grow and rotate, identified by their contents."""

from __future__ import annotations

import logging
from collections import deque
from itertools import chain
from typing import TYPE_CHECKING, Any, Unpack

from streameval.configs.names import spelled_out
from streameval.io.notation import TableOptions
from streameval.io.packed import PACKED_SUFFIXES
from streameval.monitoring.contents import Mark, PackedContent, RowReader, opened_content
from streameval.monitoring.followed import (
    FollowedFile,
    OutdatedError,
    in_order,
    listing,
    match,
    would_list,
)
from streameval.monitoring.sources import Chunk, FileSource, patterns_of

if TYPE_CHECKING:
    from collections.abc import Container, Sequence
    from os import PathLike

    from streameval.io.blocks import Block
    from streameval.monitoring.followed import Entry, Matches

_log = logging.getLogger("streameval")
_MAX_OPEN = 256
_MAX_LOOKS = 20
# Marks of files that are gone, kept for each log in case they come back.
_MAX_MISSING = 4


class Tail(FileSource):
    r"""Follow files of JSON lines or tables of text that grow and rotate.

    A file is identified by its contents, through a fingerprint of the part that was read, and not
    by its name or inode. If it is renamed or compressed, reading continues under the new name, and
    a new file under the old name is a different file. ``app.log.1``, ``app.log.2.gz``,
    ``app.log-20261122`` and ``app-20261122.log`` are older parts of ``app.log``; they are found in
    its folder and read first, as one partition. Each log that matches a glob is a separate
    partition, including logs that appear later.

    Only whole lines are read. A last line without a newline is left until a newer file has begun.

    Parameters
    ----------
    patterns : path or sequence of paths
        Files and globs; ``**`` matches any number of folders. They need not exist yet.
    format : {"jsonl", "csv", "tsv"}, optional
        By default, the name of a file decides, or else its first line.
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
        If there is no pattern, or an option is invalid.

    Notes
    -----
    A log that is truncated in place, for example by logrotate with ``copytruncate``, can lose rows
    written between the copy and the truncation. A warning reports it.

    Examples
    --------
    Each chunk has the position after it, as JSON. Store it with what you have counted: reading
    goes on there, although the log has been renamed and compressed.

    >>> import gzip, pathlib, tempfile, streameval as se
    >>> folder = tempfile.TemporaryDirectory()
    >>> log = pathlib.Path(folder.name, "app.log")
    >>> _ = log.write_text('{"id": 1}\n{"id": 2}\n{"id')  # half of a line so far
    >>> tail = se.Tail(log)
    >>> chunk = tail.read(1_000_000)
    >>> list(chunk.block.rows())
    [{'id': 1}, {'id': 2}]
    >>> tail.close()
    >>> packed = gzip.compress(log.read_bytes() + b'": 3}\n')
    >>> _ = log.with_suffix(".log.1.gz").write_bytes(packed)
    >>> _ = log.write_text('{"id": 4}\n')
    >>> tail = se.Tail(log)
    >>> tail.seek(chunk.position)
    >>> while chunk := tail.read(1_000_000):
    ...     print(list(chunk.block.rows()))
    [{'id': 3}]
    [{'id': 4}]
    >>> tail.close()
    >>> folder.cleanup()
    """

    _noun = "files that are followed"
    _needs_lines = True

    @spelled_out(TableOptions)
    def __init__(
        self,
        patterns: str | PathLike[str] | Sequence[str | PathLike[str]],
        **options: Unpack[TableOptions],
    ) -> None:
        self._patterns = patterns_of(patterns, "patterns")
        super().__init__(**options)
        self.name = ", ".join(self._patterns)
        self._logs: dict[str, list[FollowedFile]] = {}
        self._encoded: dict[str, list[Any]] = {}
        self._round: deque[str] = deque()
        self._open: deque[FollowedFile] = deque()
        self._inodes: dict[str, tuple[int, int]] | None = None
        self._is_stale = True
        self._is_undecided = False
        self._is_restored = False

    def __repr__(self) -> str:
        return f"Tail({self.name!r})"

    @property
    def partitions(self) -> list[str]:
        """The logs found so far that have a file with contents."""
        return [log for log, files in self._logs.items() if any(map(_has_rows, files))]

    def _go_to(self, position: Any) -> None:
        logs = position["logs"].items()
        self._logs = {log: [*map(FollowedFile.from_json, files)] for log, files in logs}
        self._is_restored = True
        for log in self._logs:
            self._encode(log)

    def _next_chunk(self, limit: int) -> Chunk | None:
        """Return the next rows of one log; logs take turns."""
        for n_looks in range(_MAX_LOOKS):
            while self._round:
                chunk = self._next(self._round.popleft(), limit)
                if chunk is not None:
                    return chunk
            if (n_looks and not self._is_stale) or not self._look():
                break
            self._round.extend(self._logs)
        return None

    def unmatched(self) -> list[str]:
        """List the patterns that match no file now."""
        return [pattern for pattern in self._patterns if not listing((pattern,))]

    @property
    def lag_bytes(self) -> int:
        """How many bytes were unread at the last look; compressed ones as they are stored."""
        unread = 0
        for file in (file for files in self._logs.values() for file in files):
            if file.entry is not None and file.is_unread:
                is_packed = file.path.endswith(PACKED_SUFFIXES)
                unread += file.entry.size - (0 if is_packed else file.mark.offset)
        return unread

    def would_read(self, path: str) -> bool:
        """Return whether a file would be followed if it existed."""
        return would_list(self._patterns, path)

    def close(self) -> None:
        """Close the files; nothing can be read after that."""
        super().close()
        for files in self._logs.values():
            for file in files:
                file.close()
        self._open.clear()

    def _next(self, log: str, limit: int) -> Chunk | None:
        """Continue with the oldest file of a log that has new data."""
        files = [file for file in self._logs[log] if file.is_there]
        for number, file in enumerate(files, 1):
            newer = files[number:]
            # A writer that has begun the next file has ended this one.
            is_final = any(other.has_begun for other in newer)
            found = self._read(log, file, limit, is_final=is_final)
            if found is not None:
                block, file.mark = found
                self._judge(file, block, newer)
                self._encode(log)
                return Chunk(block, log, self._versioned(logs=dict(self._encoded)))
            if self._is_stale:
                return None
            if file.reader is not None and file.reader.content.is_cut:
                self._warn_of_cut(file.name)
                return None
            if is_final:
                file.close()
        return None

    def _read(
        self, log: str, file: FollowedFile, limit: int, *, is_final: bool
    ) -> tuple[Block, Mark] | None:
        """Read the next rows of a file; None if there are none, or if the file was replaced."""
        if file.reader is None:
            self._open_file(log, file, is_final=is_final)
        if file.reader is None:
            return None
        content = file.reader.content
        status = content.status()
        is_final = is_final or content.is_packed
        state = (status.st_size, status.st_mtime_ns, is_final)
        if file.fruitless == state:
            return None
        if file.is_stored_as(content):
            block = None
        elif file.mark.is_of(content):
            block, mark = file.reader.next(file.mark, limit, is_final=is_final)
            if block is not None:
                return block, mark
        else:
            self._is_stale = True
            file.entry = None
            return None
        file.fruitless = state
        if isinstance(content, PackedContent) and not content.is_cut:
            file.stored = content.stored_digest()
        return None

    def _open_file(self, log: str, file: FollowedFile, *, is_final: bool) -> None:
        """Open a file that has new data, so that reading continues even if it is deleted."""
        entry = file.entry
        if entry is None or file.has_nothing_new(entry.size, entry.changed, is_final=is_final):
            return
        content = opened_content(entry.path)
        if content is None or content.inode != entry.inode:
            self._is_stale = True
            if content is not None:
                content.close()
            return
        file.reader = RowReader(content, self._format_of(log), self._dialect)
        self._open.append(file)
        if len(self._open) > _MAX_OPEN:
            oldest = self._open.popleft()
            if oldest.entry is not None and oldest is not file:
                oldest.close()

    def _judge(self, file: FollowedFile, block: Block, newer: Sequence[FollowedFile]) -> None:
        """Warn about suspicious rows."""
        if block.unended:
            self._warn(
                f"{file.name}: {block.unended}; the file is finished, so it is read as a row"
            )
        begun = next((other for other in newer if other.mark.offset), None)
        if begun is not None:
            text = f"{file.name}: is read late, since {begun.name} is newer and was begun before"
            self._warn_once(text, file)

    def _look(self) -> bool:
        """Find the current name of each file; return False if names keep changing."""
        for _ in range(_MAX_LOOKS):
            entries = listing(self._patterns)
            inodes = {path: entry.inode for path, entry in entries.items()}
            if inodes == self._inodes and not self._is_stale and not self._is_undecided:
                for file in chain.from_iterable(self._logs.values()):
                    file.found(file.entry and entries.get(file.entry.path))
                return True
            try:
                matches = match(self._logs, entries.values())
            except OutdatedError:
                continue
            # While files are renamed, a listing may show one of them twice or not at all.
            again = listing(self._patterns)
            if {path: entry.inode for path, entry in again.items()} == inodes:
                break
        else:
            return False
        self._inodes = inodes
        self._is_stale = False
        self._is_undecided = bool(matches.undecided)
        self._apply(matches, inodes)
        for name in matches.undecided.values():
            if name:
                self._warn_of_cut(name)
        if not entries:
            self._warn_once(f"nothing matches {self.name} so far")
        return True

    def _apply(self, matches: Matches, paths: Container[str]) -> None:
        """Record the current names of files, new files, and files that are gone."""
        for log in sorted({*self._logs, *matches.new, *matches.copies}):
            files = self._logs.get(log, [])
            for file in files:
                self._found(file, matches.found.get(file), paths)
            if files and self._is_restored and not files[-1].is_there:
                self._warn(
                    f"{files[-1].name}: is gone; rows after line {files[-1].mark.line - 1:,}, "
                    "if there were any, are lost"
                )
            new = [FollowedFile.new(entry) for entry in matches.new[log]]
            for file in new:
                _log.info("%s: found%s", file.name, ", after a rotation" if files else "")
            new += [FollowedFile.new(*copy) for copy in matches.copies[log]]
            ordered = in_order(log, files, new)
            if any(file.entry for file in ordered):  # else a disk may not be mounted
                gone = [file for file in ordered if not file.is_there]
                kept = [file for file in gone if file.mark.offset][-_MAX_MISSING:]
                ordered = [file for file in ordered if file.is_there or file in kept]
            self._logs[log] = ordered
            self._encode(log)
        self._is_restored = False

    def _found(self, file: FollowedFile, entry: Entry | None, paths: Container[str]) -> None:
        """Record the name of a file, and warn if some of its rows may be lost."""
        if file.reader is not None and not file.mark.is_of(file.reader.content):
            self._warn_of_truncation(file)
            file.close()
        elif entry is None and file.reader is None and file.is_unread:
            self._warn(f"{file.name}: is gone before it was read to its end")
        elif entry is not None and file.reader is None and file.path in paths:
            # A file that is renamed keeps its inode; a copy has another, and the file its name.
            is_packed = entry.path.endswith(PACKED_SUFFIXES)
            if entry.path != file.path and entry.inode != file.inode and not is_packed:
                self._warn_of_truncation(file)
        file.found(entry)

    def _warn_of_truncation(self, file: FollowedFile) -> None:
        self._warn(
            f"{file.name}: was truncated or rewritten, as copytruncate does; rows that were "
            "in no other file are lost"
        )

    def _encode(self, log: str) -> None:
        """Convert what is known about a log to JSON, for positions."""
        known = [file.to_json() for file in self._logs[log] if file.mark.offset]
        if known:
            self._encoded[log] = known

    def _warn_of_cut(self, name: str) -> None:
        self._warn_once(
            f"{name}: the packed data is cut short; the log is read on once it is whole"
        )


def _has_rows(file: FollowedFile) -> bool:
    return bool(file.mark.offset or (file.entry is not None and file.entry.size))
