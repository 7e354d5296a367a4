"""The numbers of the monitor itself: what it costs, and how far it is behind."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs

from streameval.monitoring.status import Recent
from streameval.render.text import clock_text, duration, number, size

_STATM = Path("/proc/self/statm")
_SPAN = 60.0


@attrs.frozen
class _Vital:
    """How a number is presented.

    Parameters
    ----------
    family : str
        Its name in Prometheus, empty if it is not exported.
    text : str
        The help there.
    heading : str
        Its name on a page.
    write : callable
        Makes its text on a page.
    labels : sequence of str
        What the keys are, if it is a mapping.
    is_counter : bool
        Whether it never decreases while the process lives.
    """

    family: str
    text: str
    heading: str
    write: Callable[[Any], str]
    labels: Sequence[str] = ()
    is_counter: bool = False


def _vital(*presented: Any) -> Any:
    return attrs.field(metadata={"vital": _Vital(*presented)})


@attrs.frozen(kw_only=True)
class Vitals:
    """What a monitor costs, and how far it is behind, as of its last step.

    A number is missing, or None, where it is not known.
    """

    rows_per_second: Mapping[str, float] = _vital(
        "",  # in Prometheus, it is the rate of a counter
        "Rows read a second in the last minute.",
        "Rows a second",
        lambda pace: f"{pace:,.3g}" if pace < 100 else f"{pace:,.0f}",
        ("source",),
    )
    lag_bytes: Mapping[str, int] = _vital(
        "streameval_lag_bytes",
        "Bytes of files that have not been read.",
        "Unread",
        size,
        ("source",),
    )
    lag_seconds: Mapping[str, float] = _vital(
        "streameval_lag_seconds",
        "Clock minus the event time of the newest row.",
        "Newest row is older than the clock by",
        duration,
        ("source",),
    )
    commit_seconds: float | None = _vital(
        "streameval_commit_duration_seconds",
        "How long the last step took that committed.",
        "Last step with a commit",
        lambda seconds: f"{seconds:.3g} s",
    )
    checkpoint_bytes: int = _vital(
        "streameval_checkpoint_bytes",
        "Size of the checkpoint, with its write-ahead log.",
        "Checkpoint",
        size,
    )
    pending_bytes: int = _vital(
        "streameval_pending_bytes", "Memory of pending rows.", "Memory of pending rows", size
    )
    memory_bytes: int | None = _vital(
        "streameval_memory_bytes", "Resident memory of the process.", "Memory", size
    )
    undelivered: Mapping[str, int] = _vital(
        "streameval_undelivered",
        "Events that have not arrived.",
        "Events not delivered",
        number,
        ("receiver",),
    )
    refused: Mapping[str, int] = _vital(
        "streameval_refused",
        "Attempts that a receiver refused, since the start.",
        "Refused attempts",
        number,
        ("receiver",),
        True,
    )
    is_reloaded: bool = _vital(
        "streameval_config_last_reload_successful",
        "0 after a reload that was refused, 1 otherwise.",
        "Last reload",
        lambda is_done: "done" if is_done else "refused",
    )
    reloaded_at: float = _vital(
        "streameval_config_last_reload_success_time_seconds",
        "When rules and receivers were last read.",
        "Rules and receivers read",
        clock_text,
    )
    quarantined: Mapping[str, int] = _vital(
        "streameval_quarantined_rows",
        "Rows written to the quarantine.",
        "Rows in quarantine",
        number,
        ("reason",),
        True,
    )

    def numbers(self) -> Iterator[tuple[_Vital, str | None, float]]:
        """Yield each number that is known: how to present it, its key in a mapping, and itself."""
        for field in attrs.fields(type(self)):
            vital, found = field.metadata["vital"], getattr(self, field.name)
            for key, one in found.items() if vital.labels else [(None, found)]:
                if one is not None:
                    yield vital, key, one


VITALS: tuple[_Vital, ...] = tuple(one.metadata["vital"] for one in attrs.fields(Vitals))
"""How each of the numbers is presented."""


class Pace:
    """How many rows a second each source has had in the last minute."""

    def __init__(self) -> None:
        self._seen = Recent(_SPAN)

    def observe(self, now: float, n_rows: Mapping[str, int]) -> dict[str, float]:
        """Note the rows that have been read until now, and return the pace of each source."""
        began, before = self._seen.note(now, n_rows)
        if now <= began:
            return {}
        return {role: (n - before[role]) / (now - began) for role, n in n_rows.items()}


def memory_of_process() -> int | None:
    """Return the resident bytes of this process; None where the system does not say."""
    try:
        resident = _STATM.read_text(encoding="ascii").split()[1]
    except OSError:
        return None
    return int(resident) * os.sysconf("SC_PAGE_SIZE")


def size_of_files(paths: Iterable[str]) -> int:
    """Add up the sizes of the files that exist."""
    n_bytes = 0
    for path in paths:
        with suppress(OSError):
            n_bytes += Path(path).stat().st_size
    return n_bytes


def summed(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Add up numbers by name: two receivers of one host have one name."""
    total: Counter[str] = Counter()
    for name, n in pairs:
        total[name] += n
    return dict(total)
