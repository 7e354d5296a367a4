"""What has been met in a run, and may not come again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streameval.errors import BadDataError
from streameval.io.errors import shown

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Seen"]


class Seen:
    """The queries met so far, each with the file that it came from."""

    def __init__(self) -> None:
        self._sources: dict[Any, str] = {}

    def add(self, queries: Iterable[Any], source: str) -> None:
        """Meet more of them.

        Raises
        ------
        BadDataError
            If one has been met before; the message names it.
        """
        for query in queries:
            if query in self._sources:
                before = self._sources[query]
                again = "comes twice" if before == source else f"is in {before} as well"
                raise BadDataError(f"{source}: query {shown(query)} {again}.")
            self._sources[query] = source

    def __contains__(self, query: object) -> bool:
        return query in self._sources
