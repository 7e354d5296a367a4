"""Names of rotated files: which of them belong to one log, and which is older."""

from __future__ import annotations

import re
from functools import lru_cache

import attrs

from streameval.io.packed import PACKED_SUFFIXES

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
