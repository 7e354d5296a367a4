"""What classes with cached properties have in common."""

from __future__ import annotations

from functools import cached_property
from typing import Any


class Cached:
    """The base of classes with cached properties, which copies and pickles leave out.

    Another thread may cache a value meanwhile: the copy of the attributes is atomic, and iterating
    over themselves, as pickle does, fails then.
    """

    __slots__ = ()

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes that are not cached properties."""
        cls = type(self)
        return {
            name: value
            for name, value in self.__dict__.copy().items()
            if not isinstance(getattr(cls, name, None), cached_property)
        }
