"""The common part of the sources of the library: versioned positions, warnings, closing."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, ClassVar

from streameval.errors import InvalidInputError

if TYPE_CHECKING:
    from streameval.monitoring.source_protocol import Chunk, Position

_VERSION = 1


class ResumableSource(abc.ABC):
    """A source that can continue from a position."""

    is_replayable = True
    _noun: ClassVar[str]
    """What a position is one of."""

    def __init__(self) -> None:
        self._warnings: list[str] = []
        self._is_closed = False

    @property
    def is_at_end(self) -> bool:
        """Always False, because rows can arrive at any time."""
        return False

    def seek(self, position: Position | None) -> None:
        """Continue at a position, None for the beginning.

        Raises
        ------
        InvalidInputError
            If it is not a position of such a source.
        """
        if position is None:
            return
        try:
            is_known = position["version"] == _VERSION
            if is_known:
                self._go_to(position)
        except (TypeError, ValueError, KeyError, AttributeError):
            is_known = False
        if not is_known:
            raise InvalidInputError(f"is not one of {self._noun}", argument="position")

    def read(self, limit: int) -> Chunk | None:
        """Return the next rows of one partition, about `limit` bytes; None if none are new.

        Raises
        ------
        BadDataError
            If it cannot be read, or does not hold rows.
        InvalidInputError
            If the source is closed.
        """
        if self._is_closed:
            raise InvalidInputError("is closed", argument="source")
        return self._next_chunk(limit)

    def warnings(self) -> list[str]:
        """Return warnings about lost or ignored rows since the last call."""
        said, self._warnings = self._warnings, []
        return said

    def close(self) -> None:
        """Close the source; nothing can be read afterwards."""
        self._is_closed = True

    @abc.abstractmethod
    def _next_chunk(self, limit: int) -> Chunk | None: ...

    @abc.abstractmethod
    def _go_to(self, position: Any) -> None:
        """Continue at a position, or raise an error if the value is not one."""

    def _versioned(self, **position: Any) -> dict[str, Any]:
        """Write a position."""
        return {"version": _VERSION, **position}

    def _warn(self, text: str) -> None:
        self._warnings.append(f"{text}.")
