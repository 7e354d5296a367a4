"""Listings of the files that patterns match, including their rotated parts."""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from pathlib import Path

import attrs

from streameval.errors import BadDataError
from streameval.io.packed import PACKED_SUFFIXES
from streameval.io.streams import reading
from streameval.monitoring.contents import shown_path

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
    if not glob.has_magic(folder) or Path(folder).is_dir():
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
        raise BadDataError(
            f"{shown_path(path)}: is a folder; name the files in it, or read it with Folder."
        )
    raise BadDataError(
        f"{shown_path(path)}: is not a regular file, so it cannot be read again after a restart; "
        "read it as standard input."
    )


def _unpacked(path: str) -> str | None:
    end = next((end for end in PACKED_SUFFIXES if path.endswith(end)), None)
    return None if end is None else path.removesuffix(end)
