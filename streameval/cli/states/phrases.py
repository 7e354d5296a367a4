"""Values in sentences."""

from __future__ import annotations

from typing import Any

_LONGEST = 50


def brief(value: Any) -> str:
    """Write the value of an option; shorten a long one to its beginning.

    >>> brief(0.5), brief(tuple(range(99)))
    ('0.5', '(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ... 99 in all)')
    """
    text = repr(value)
    if len(text) <= _LONGEST:
        return text
    if not isinstance(value, tuple):
        return f"{text[: _LONGEST - 3]}..."
    end = f"... {len(value):,} in all)"
    start = text[: _LONGEST - len(end)].rpartition(", ")
    return f"{start[0]}{start[1]}{end}"
