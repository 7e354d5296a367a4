"""Fields of a row by name, or by path into nested objects: ``ctx.country``, ``scores.0.label``.

A field whose name is the whole text comes first. Otherwise the text is cut at a dot: the part
before it names an object or a list, the longest name first, and the part after it is looked up in
there. Items of a list are numbered from 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

_DEEPEST = 8

ABSENT = object()
"""Marks a path that leads to nothing, not even null."""


@attrs.frozen(eq=False, repr=False)
class Fields(Mapping[str, Any]):
    """A row whose nested fields are found by path.

    Parameters
    ----------
    row : mapping
        The row as it was read.
    """

    row: Mapping[str, Any]

    def __getitem__(self, path: str) -> Any:
        """Return the value of a field."""
        found = value_at(self.row, path)
        if found is ABSENT:
            raise KeyError(path)
        return found

    def get(self, path: str, default: Any = None) -> Any:
        """Return the value of a field, or the default."""
        if path in self.row:  # as nearly always
            return self.row[path]
        found = value_at(self.row, path)
        return default if found is ABSENT else found

    def __contains__(self, path: object) -> bool:
        """Tell whether there is such a field."""
        return isinstance(path, str) and (
            path in self.row or ("." in path and value_at(self.row, path) is not ABSENT)
        )

    def __iter__(self) -> Iterator[str]:
        """Iterate over the fields, the fields of nested objects after the object."""
        return _paths(self.row, "", _DEEPEST)

    def __len__(self) -> int:
        """Count the fields."""
        return sum(1 for _ in self)


def is_nested(name: str) -> bool:
    """Tell whether a name may lead into an object."""
    return "." in name


def cuts(path: str) -> Iterator[tuple[str, str]]:
    """Cut a path in two at each of its dots, the last one first.

    >>> list(cuts("a.b.c"))
    [('a.b', 'c'), ('a', 'b.c')]
    """
    end = path.rfind(".")
    while end >= 0:
        yield path[:end], path[end + 1 :]
        end = path.rfind(".", 0, end)


def value_at(held: Any, path: str) -> Any:
    """Find the value that a path leads to in an object or a list, or `ABSENT`.

    >>> row = {"a": {"b": 1, "c.d": 2}, "a.b": 3, "e": [4]}
    >>> [value_at(row, path) for path in ("a.b", "a.c.d", "e.0")]
    [3, 2, 4]
    """
    found = _field(held, path)
    if found is not ABSENT or "." not in path:
        return found
    for name, rest in cuts(path):
        inner = _field(held, name)
        found = ABSENT if inner is ABSENT else value_at(inner, rest)
        if found is not ABSENT:
            return found
    return ABSENT


def find(held: Any, path: str) -> Any:
    """Find the value that a path leads to; None if there is nothing."""
    found = value_at(held, path)
    return None if found is ABSENT else found


def _field(held: Any, name: str) -> Any:
    """Find a field of an object, or an item of a list."""
    if type(held) is dict or isinstance(held, Mapping):  # the general test takes longer
        return held.get(name, ABSENT)
    is_item = isinstance(held, list) and name.isdecimal() and name.isascii() and len(name) < 10
    return held[int(name)] if is_item and int(name) < len(held) else ABSENT


def _paths(row: Mapping[str, Any], prefix: str, depth: int) -> Iterator[str]:
    for name, value in row.items():
        yield prefix + name
        if isinstance(value, dict) and depth:
            yield from _paths(value, f"{prefix}{name}.", depth - 1)
