"""Durations, such as 5m: numbers of microseconds; without NumPy."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from streameval.errors import InvalidInputError

MICROSECONDS = {
    "w": 7 * 86_400_000_000,
    "d": 86_400_000_000,
    "h": 3_600_000_000,
    "m": 60_000_000,
    "s": 1_000_000,
    "ms": 1000,
    "us": 1,
}
"""The units of durations, longest first."""

_PIECE = re.compile(r"([0-9]+)(us|ms|s|m|h|d|w)")
_TEXT = re.compile(r"(?:[0-9]+(?:us|ms|s|m|h|d|w))+")
_MICROSECOND = timedelta(microseconds=1)


def read_duration(value: Any, *, name: str) -> int:
    """Read a duration of at least one microsecond.

    Parameters
    ----------
    value : str, timedelta or numpy.timedelta64
        Text in the form that Prometheus uses: ``"30s"``, ``"5m"``, ``"1h30m"``, ``"7d"``.
    name : str
        The argument that errors name.
    """
    length = read_offset(value, name=name)
    if length <= 0:
        raise InvalidInputError(f"must be longer than zero, got {value!r}", argument=name)
    return length


def read_offset(value: Any, *, name: str) -> int:
    """Read a duration that may be zero or negative."""
    if isinstance(value, str):
        length = _length_of_text(value)
    elif isinstance(value, timedelta):
        length = None if getattr(value, "nanoseconds", 0) else value // _MICROSECOND
    elif type(value).__name__ == "timedelta64":
        length = _of_timedelta64(value)
    else:
        length = 0 if type(value) is int and value == 0 else None
    if length is None:
        raise InvalidInputError(
            f'must be a duration such as "30s", "5m", "1h" or "7d", or a timedelta of whole '
            f"microseconds, got {value!r}",
            argument=name,
        )
    if abs(length) >= 2**62:
        raise InvalidInputError(f"must be below 140,000 years, got {value!r}", argument=name)
    return length


def duration_text(length: int) -> str:
    """Write a duration in the longest unit that divides it: 5400 seconds are ``"90m"``."""
    unit = next(unit for unit, size in MICROSECONDS.items() if length % size == 0 or unit == "us")
    return f"{length // MICROSECONDS[unit]}{unit}" if length else "0s"


def _length_of_text(text: str) -> int | None:
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
    if not _TEXT.fullmatch(digits) or len(digits) > 64:
        return None
    return sign * sum(int(number) * MICROSECONDS[unit] for number, unit in _PIECE.findall(digits))


def _of_timedelta64(value: Any) -> int | None:
    """Read a NumPy duration; months and NaT have no fixed length."""
    import numpy as np  # noqa: PLC0415 (durations as text need none)

    if np.isnat(value) or np.datetime_data(value)[0] in ("Y", "M", "generic"):
        return None
    exact = value.astype("m8[us]")
    return int(exact.astype(np.int64)) if exact == value else None
