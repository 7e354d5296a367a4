"""Logs that rotate: recognizing files after they were renamed or replaced."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import attrs

from streameval.io.packed import PACKED_SUFFIXES
from streameval.monitoring.contents import (
    FINGERPRINT_BYTES,
    Content,
    Mark,
    PackedContent,
    RowReader,
    check_json,
    opened_content,
    shown_path,
)
from streameval.monitoring.listing import NEWEST_AGE, Entry, log_name

_NOTHING = Mark()

Logs = Mapping[str, Sequence["FollowedFile"]]


@attrs.define(eq=False)
class FollowedFile:
    """A file that is followed, under whatever name.

    Parameters
    ----------
    path : str
        Its name when it was last seen.
    mark : Mark
        How far it was read.
    seen : Mark
        The fingerprint of the first bytes of an unread file.
    inode : tuple of int
        A hint that distinguishes files with equal beginnings, never a proof.
    stored : str
        After a compressed file was read to its end, the digest that identifies it without
        decompression.
    entry : Entry, optional
        The result of the last look; None if the file did not exist.
    reader : RowReader, optional
        The open file, even if it has been deleted.
    fruitless : tuple, optional
        Size, modification time and finality of the file when it had no new data.
    said : set of str
        The warnings that were given, each only once.
    """

    path: str
    mark: Mark = _NOTHING
    seen: Mark = _NOTHING
    inode: tuple[int, int] = (0, 0)
    stored: str = ""
    entry: Entry | None = None
    reader: RowReader | None = None
    fruitless: tuple[int, int, bool] | None = None
    said: set[str] = attrs.Factory(set)

    @property
    def name(self) -> str:
        """The name for messages."""
        return shown_path(self.path)

    @property
    def known(self) -> Mark:
        """The fingerprint that identifies the file."""
        return self.mark if self.mark.offset else self.seen

    @property
    def is_there(self) -> bool:
        """Whether it can be read, by its name or because it is still open."""
        return self.entry is not None or self.reader is not None

    @property
    def has_begun(self) -> bool:
        """Whether it has any contents."""
        return self.mark.offset > 0 or (self.entry is not None and self.entry.size > 0)

    @property
    def is_unread(self) -> bool:
        """Whether the last look found unread data."""
        if self.entry is None:
            return False
        if self.path.endswith(PACKED_SUFFIXES):
            return not self.has_nothing_new(self.entry.size, self.entry.changed, is_final=True)
        return self.entry.size > self.mark.offset

    def has_nothing_new(self, size: int, changed: int, *, is_final: bool) -> bool:
        """Return whether all rows had been read when the file was in this state."""
        return self.fruitless in ((size, changed, is_final), (size, changed, True))

    def is_stored_as(self, content: Content) -> bool:
        """Return whether a compressed file is the one that was read to its end."""
        if not self.stored or not isinstance(content, PackedContent):
            return False
        return content.stored_digest() == self.stored

    def found(self, entry: Entry | None) -> None:
        """Record its current name, if any."""
        self.entry = entry
        if entry is None:
            return
        self.path, self.inode = entry.path, entry.inode
        if self.reader is not None and self.reader.content.inode != entry.inode:
            self.close()
        elif self.reader is not None:
            self.reader.content.name = self.name
        if self.known.offset < min(entry.size, FINGERPRINT_BYTES) and not self.mark.offset:
            with suppress(OutdatedError), content_of(entry, self) as content:
                self.seen = Mark.at(content, content.size_up_to(FINGERPRINT_BYTES))

    def close(self) -> None:
        """Close the file."""
        if self.reader is not None:
            self.reader.content.close()
            self.reader = None

    def to_json(self) -> list[Any]:
        """Convert to JSON what is known about the part that was read."""
        return [self.path, *self.inode, self.stored, *self.mark.to_json()]

    @classmethod
    def from_json(cls, value: Any) -> FollowedFile:
        """Read what `to_json` wrote.

        Raises
        ------
        TypeError, ValueError
            If it is something else.
        """
        path, device, inode, stored, *mark = value
        check_json((path, stored), (device, inode))
        return cls(path, Mark.from_json(mark), inode=(device, inode), stored=stored)

    @classmethod
    def new(cls, entry: Entry, mark: Mark = _NOTHING) -> FollowedFile:
        """Follow a file from its beginning, or from a mark."""
        file = cls(entry.path, mark)
        file.found(entry)
        return file


@attrs.frozen
class Matches:
    """The files that one look at the folders recognizes.

    Parameters
    ----------
    found : mapping from FollowedFile to Entry
        The known files, by their current names.
    new : mapping from log to list of Entry
        The others.
    copies : mapping from log to list of (Entry, Mark)
        Partial copies of files that were read further, with marks at their ends.
    undecided : mapping from path to str
        Undecided entries, with their names: copies in progress, and truncated compressed files.
    """

    found: dict[FollowedFile, Entry] = attrs.Factory(dict)
    new: dict[str, list[Entry]] = attrs.Factory(lambda: defaultdict(list))
    copies: dict[str, list[tuple[Entry, Mark]]] = attrs.Factory(lambda: defaultdict(list))
    undecided: dict[str, str] = attrs.Factory(dict)


def match(logs: Logs, entries: Iterable[Entry]) -> Matches:
    """Find every known file among the existing files.

    A file is recognized by the fingerprint of the part that was read. If several files begin with
    that part, the inode, then the name, then the age decide; up to there, all of them hold the same
    rows.

    Raises
    ------
    OutdatedError
        If a file was renamed or replaced in the meantime.
    """
    matches = Matches()
    homes = {file.path: log for log, files in logs.items() for file in files}
    groups: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        groups[homes.get(entry.path, entry.log)].append(entry)
    for log, group in groups.items():
        files = logs.get(log, ())
        free = _match_log(files, sorted(group, key=lambda entry: entry.age), matches.found)
        for entry in free:
            _judge(log, entry, files, matches)
        _hold_copies(log, files, matches)
    _match_over_logs(logs, matches)
    return matches


def _match_log(
    files: Sequence[FollowedFile], free: list[Entry], found: dict[FollowedFile, Entry]
) -> list[Entry]:
    """Match the files of one log, and return the unmatched entries."""
    # Where little is known, many files fit: what is known better comes first.
    for file in sorted(files, key=lambda file: -file.known.offset):
        likely = sorted(free, key=lambda e: (e.inode != file.inode, e.path != file.path))
        entry = next((entry for entry in likely if _is_file(file, entry)), None)
        if entry is not None:
            found[file] = entry
            free.remove(entry)
    return free


def _is_file(file: FollowedFile, entry: Entry) -> bool:
    """Return whether an entry begins with what was read of a file."""
    if not file.known.offset or entry == file.entry:
        return entry.path == file.path or entry.inode == file.inode
    with content_of(entry, file) as content:
        return file.is_stored_as(content) or file.known.is_of(content)


@contextmanager
def content_of(entry: Entry, file: FollowedFile | None = None) -> Iterator[Content]:
    """Open the file of an entry.

    Raises
    ------
    OutdatedError
        If its name now belongs to another file.
    """
    if file is not None and file.reader is not None and file.reader.content.inode == entry.inode:
        yield file.reader.content
        return
    content = opened_content(entry.path)
    if content is None:
        raise OutdatedError
    try:
        if content.inode != entry.inode:
            raise OutdatedError
        yield content
    finally:
        content.close()


class OutdatedError(Exception):
    """A file was renamed or replaced since its folder was listed."""


def _judge(log: str, entry: Entry, files: Sequence[FollowedFile], matches: Matches) -> None:
    """Classify an entry that matches no known file of its log."""
    with content_of(entry) as content:
        for file in files:
            now = matches.found.get(file)
            if now is None and _is_shorter(entry, content, file):
                size = content.size_up_to(file.mark.offset)
                if content.is_cut:
                    matches.undecided[entry.path] = content.name
                else:
                    copy = Mark.at(content, size, file.mark.line)
                    matches.copies[log].append((entry, copy))
                return
            if now is not None and now.path == file.path and _is_being_copied(entry, now, file):
                matches.undecided[entry.path] = ""
                return
    matches.new[log].append(entry)


def _is_shorter(entry: Entry, content: Content, file: FollowedFile) -> bool:
    """Return whether an entry is a shorter copy of a file that is gone.

    The copy was made before the file grew and was read, or is still incomplete.
    """
    age = log_name(Path(file.path).name).age
    if entry.age > age or (entry.age == age and not content.is_packed):
        return False
    offset = file.known.offset
    if not file.known.began(content) or content.size_up_to(offset) == offset:
        return False
    return content.is_cut or file.mark.offset > 0


def _hold_copies(log: str, files: Sequence[FollowedFile], matches: Matches) -> None:
    """Hold copies of newer files back, as `_judge` does, if neither of the two was read."""
    new, found = matches.new[log], matches.found
    unread = [*new, *(found[file] for file in files if file in found and not file.mark.offset)]
    alike: dict[str, list[Entry]] = defaultdict(list)
    for entry in sorted(unread, key=lambda entry: entry.age) if new else ():
        if entry.size >= FINGERPRINT_BYTES:
            alike[_head(entry)].append(entry)
    for older, newer in chain.from_iterable(map(pairwise, alike.values())):
        if older in new and _is_being_copied(older, newer):
            new.remove(older)
            matches.undecided[older.path] = ""


def _is_being_copied(entry: Entry, now: Entry, file: FollowedFile | None = None) -> bool:
    """Return whether an entry is a copy of a newer file, as made by copytruncate.

    Reading continues in the copy once the file has been truncated, and in the file until then.
    """
    if entry.age >= now.age or not 0 < entry.size <= now.size:
        return False
    with content_of(entry) as copy, content_of(now, file) as original:
        size = copy.size_up_to(now.size + 1)
        return size <= now.size and Mark.at(copy, size).is_of(original)


def _match_over_logs(logs: Logs, matches: Matches) -> None:
    """Find files whose new names look like parts of another log."""
    missing = [
        (log, file)
        for log, files in logs.items()
        for file in files
        if file.known.offset and file not in matches.found
    ]
    by_inode: dict[Any, list[tuple[str, FollowedFile]]] = defaultdict(list)
    for log, file in missing:
        by_inode[file.inode].append((log, file))
        if file.known.offset >= FINGERPRINT_BYTES:
            by_inode[file.known.head].append((log, file))
    for other, entries in matches.new.items() if missing else ():
        for entry in entries[:]:
            tried = [*by_inode[entry.inode], *by_inode[_head(entry)]]
            others = (file for log, file in tried if log != other and file not in matches.found)
            known = next((file for file in others if _is_file(file, entry)), None)
            if known is not None:
                matches.found[known] = entry
                entries.remove(entry)


def _head(entry: Entry) -> str:
    with content_of(entry) as content:
        return Mark.at(content, FINGERPRINT_BYTES).head


def in_order(
    log: str, files: Sequence[FollowedFile], new: Sequence[FollowedFile]
) -> list[FollowedFile]:
    """Sort the files of a log, the oldest first.

    A file that is gone, or has the name of a part of another log, comes before its known successors
    and before all new files.
    """
    ages = {file: file.entry.age for file in new if file.entry is not None}
    known = {
        file: file.entry.age for file in files if file.entry is not None and file.entry.log == log
    }
    newest = max(known.values(), default=())
    after = min((age for age in ages.values() if age > newest), default=(NEWEST_AGE,))
    for file in reversed(files):
        after = ages[file] = known.get(file, after)
    return sorted([*files, *new], key=ages.__getitem__)
