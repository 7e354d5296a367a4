"""The numbers of the monitor itself: what it costs, and how far it is behind."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_STATM = Path("/proc/self/statm")


@attrs.frozen(kw_only=True)
class Vitals:
    """What a monitor costs, and how far it is behind, as of its last step.

    Parameters
    ----------
    commit_seconds : float or None
        How long the last step took that committed; None before the first.
    lag_bytes : mapping from role to int
        The bytes of files that have not been read, where they are known.
    lag_seconds : mapping from role to float
        The clock minus the event time of the newest row, if times are clock times.
    checkpoint_bytes : int
        The size of the checkpoint, with its write-ahead log.
    pending_bytes : int
        The memory of pending rows.
    memory_bytes : int or None
        The resident memory of the process; None where the system does not say.
    undelivered, refused : mapping from receiver to int
        The events that have not arrived, and the refused attempts of this process.
    is_reloaded : bool
        Whether the last reload succeeded, or there was none.
    reloaded_at : float
        When rules and receivers were last read, in seconds since 1970.
    """

    commit_seconds: float | None
    lag_bytes: Mapping[str, int]
    lag_seconds: Mapping[str, float]
    checkpoint_bytes: int
    pending_bytes: int
    memory_bytes: int | None
    undelivered: Mapping[str, int]
    refused: Mapping[str, int]
    is_reloaded: bool
    reloaded_at: float


def memory_of_process() -> int | None:
    """Return the resident bytes of this process; None where the system does not say."""
    try:
        resident = _STATM.read_text(encoding="ascii").split()[1]
    except OSError:
        return None
    return int(resident) * os.sysconf("SC_PAGE_SIZE")


def size_of_files(paths: Iterable[str]) -> int:
    """Add up the sizes of the files that exist."""
    size = 0
    for path in paths:
        with suppress(OSError):
            size += Path(path).stat().st_size
    return size


def summed(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Add up numbers by name: two receivers of one host have one name."""
    total: Counter[str] = Counter()
    for name, number in pairs:
        total[name] += number
    return dict(total)
