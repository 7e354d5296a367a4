"""Logs that rotate: their files by name, and recognizing them after they were renamed."""

from __future__ import annotations

import glob
import os
import re
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import attrs

from streameval.errors import BadDataError, UnavailableError
from streameval.io.packed import PACKED_SUFFIXES
from streameval.io.streams import reading
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

# app.log.1, app.log.2: the higher the number, the older.
_NUMBERED = re.compile(r"(?P<stem>.+)\.(?P<number>[0-9]{1,4})", re.DOTALL)
# app.log-20261122, app.log.2026-11-22_10, app-20261122.log, 2026-11-22.1.log, app.log-1795305600:
# a day with perhaps a time, or seconds since 1970, and perhaps a counter.
_DATED = re.compile(
    r"""(?P<stem>.*?) (?:^|[-._])
    (?P<date> (?:19|20)[0-9]{2} -?[01][0-9] -?[0-3][0-9] (?P<time>(?:[-_T.:]?[0-9]{2}){0,3}) Z?
            | 1[0-9]{9})
    (?:[-._](?P<counter>[0-9]{1,4}))?
    (?P<suffix>\.[A-Za-z][A-Za-z0-9]*)?""",
    re.DOTALL | re.VERBOSE,
)
_DATED_AGE, _NUMBERED_AGE, NEWEST_AGE = range(3)


@attrs.frozen
class LogName:
    """The part of a file in a rotation, according to its name.

    Parameters
    ----------
    log : str
        The name of the log that rotates.
    age : tuple
        Sorts the files of one log, the oldest first.
    """

    log: str
    age: tuple[int, ...]


@lru_cache(maxsize=2**14)
def log_name(name: str) -> LogName:
    """Read the name of a file.

    >>> [log_name(name).log for name in ("app.log", "app.log.2.gz", "app-20261122.log")]
    ['app.log', 'app.log', 'app.log']
    >>> names = ["app.log", "app.log.1", "app.log.10.gz", "app.log-20261122", "app.log-20261121"]
    >>> sorted(names, key=lambda name: log_name(name).age)
    ['app.log-20261121', 'app.log-20261122', 'app.log.10.gz', 'app.log.1', 'app.log']
    """
    inner = next((name.removesuffix(end) for end in PACKED_SUFFIXES if name.endswith(end)), name)
    dated = _DATED.fullmatch(inner)
    if dated is not None:
        # Digits of the day without dashes, and pairs of digits of the time, sort as numbers.
        day = re.sub("[^0-9]", "", dated["date"].removesuffix(dated["time"] or ""))
        pairs = re.findall("[0-9]{2}", dated["time"] or "")
        counter = [dated["counter"]] if dated["counter"] else []
        age = (_DATED_AGE, *map(int, (day, *pairs, *counter)))
        return LogName((dated["stem"] or "*") + (dated["suffix"] or ""), age)
    numbered = _NUMBERED.fullmatch(inner)
    if numbered is not None:
        return LogName(numbered["stem"], (_NUMBERED_AGE, -int(numbered["number"])))
    return LogName(inner, (NEWEST_AGE,))


@attrs.frozen
class Entry:
    """A file found in its folder.

    Parameters
    ----------
    path : str
        Its path.
    inode : tuple of int
        The numbers of the device and of the inode.
    size : int
        The number of stored bytes.
    changed : int
        The modification time, in nanoseconds.
    """

    path: str
    inode: tuple[int, int]
    size: int
    changed: int

    @property
    def age(self) -> tuple[int, ...]:
        """The sort key of the files of one log, the oldest first."""
        return log_name(Path(self.path).name).age

    @property
    def log(self) -> str:
        """The path of its log."""
        path = Path(self.path)
        return str(path.with_name(log_name(path.name).log))


def listing(patterns: tuple[str, ...]) -> dict[str, Entry]:
    """List the regular files that match a pattern, and the rotated parts of such files.

    If a file has several names, the first one is listed, links last. A compressed file is left out
    while its uncompressed version exists, because it is still being written.

    Raises
    ------
    BadDataError
        If a folder cannot be listed, or a path is neither a pattern nor a file.
    """
    found = {path: is_link for pattern in patterns for path, is_link in _matching(pattern)}
    given = {str(Path(pattern)) for pattern in patterns}
    entries: dict[str, Entry] = {}
    seen = set()
    for path, _ in sorted(found.items(), key=lambda item: (item[1], item[0])):
        entry = _entry(path, is_given=str(Path(path)) in given)
        if entry is not None and entry.inode not in seen:
            seen.add(entry.inode)
            entries[path] = entry
    return {path: entry for path, entry in entries.items() if _unpacked(path) not in entries}


def would_list(patterns: tuple[str, ...], path: str) -> bool:
    """Return whether a file would be listed if it existed."""
    home, name = os.path.split(path)
    return any(
        _is_wanted(name, wanted) and any(map(partial(_is_same, home), folders))
        for folders, wanted in map(_folders, patterns)
    )


def _is_same(folder: str, other: str) -> bool:
    return os.path.realpath(folder or ".") == os.path.realpath(other or ".")


def _folders(pattern: str) -> tuple[list[str], str]:
    """List the folders of a pattern, each with the name pattern for its files."""
    folder, wanted = os.path.split(pattern)
    if not glob.has_magic(folder) or os.path.isdir(folder):
        return [folder], wanted
    # Path.glob would want a root to begin at. Two stars match no folder as well.
    found = glob.glob(f"{folder}{os.sep}", recursive=True)  # noqa: PTH207
    return found + [""] * (folder == "**"), wanted


def _matching(pattern: str) -> Iterator[tuple[str, bool]]:
    """Yield the paths that match a pattern, each with whether it is a link."""
    folders, wanted = _folders(pattern)
    for found in folders:
        with reading(shown_path(found)):
            try:
                scanned = os.scandir(found or ".")
            except (FileNotFoundError, NotADirectoryError):
                continue
            with scanned:
                for item in scanned:
                    if _is_wanted(item.name, wanted):
                        yield item.path if found else item.name, item.is_symlink()


def _is_wanted(name: str, wanted: str) -> bool:
    """Return whether a name, or the name of its log, matches the end of a pattern."""
    if name == wanted:
        return True
    if name.startswith(".") and not wanted.startswith("."):
        return False
    log = log_name(name).log
    return log == wanted or fnmatchcase(name, wanted) or fnmatchcase(log, wanted)


def _entry(path: str, *, is_given: bool) -> Entry | None:
    """Look at a file; None if it is gone, or something else that a glob matched."""
    with reading(shown_path(path)):
        try:
            status = Path(path).stat()
        except FileNotFoundError:  # renamed since, or a link that leads nowhere
            return None
    if stat.S_ISREG(status.st_mode):
        inode = (status.st_dev, status.st_ino)
        return Entry(path, inode, status.st_size, status.st_mtime_ns)
    if not is_given:
        return None
    if stat.S_ISDIR(status.st_mode):
        raise UnavailableError(
            f"{shown_path(path)}: is a folder; name the files in it, or read it with Folder, as a "
            "restart of `watch` does."
        )
    raise BadDataError(
        f"{shown_path(path)}: is not a regular file, so it cannot be read again after a restart; "
        "read it as standard input."
    )


def _unpacked(path: str) -> str | None:
    end = next((end for end in PACKED_SUFFIXES if path.endswith(end)), None)
    return None if end is None else path.removesuffix(end)


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
    """

    path: str
    mark: Mark = _NOTHING
    seen: Mark = _NOTHING
    inode: tuple[int, int] = (0, 0)
    stored: str = ""
    entry: Entry | None = None
    reader: RowReader | None = None
    fruitless: tuple[int, int, bool] | None = None

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
