"""What sources of the library share: positions with a version, warnings and an end."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, ClassVar

from streameval.errors import InvalidInputError

if TYPE_CHECKING:
    from streameval.monitoring.source_protocol import Chunk, Position

__all__ = ["ResumableSource"]

_VERSION = 1


class ResumableSource(abc.ABC):
    """A source that is read on from a position."""

    is_replayable = True
    _noun: ClassVar[str]
    """What a position is one of."""

    def __init__(self) -> None:
        self._warnings: list[str] = []
        self._is_closed = False

    @property
    def is_at_end(self) -> bool:
        """Always False: more may come at any time."""
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
            If it cannot be read, or holds something else than rows.
        InvalidInputError
            If the source is closed.
        """
        if self._is_closed:
            raise InvalidInputError("is closed", argument="source")
        return self._next_chunk(limit)

    def warnings(self) -> list[str]:
        """Return what may have been lost, and what was passed over, since the last call."""
        said, self._warnings = self._warnings, []
        return said

    def close(self) -> None:
        """Close what is open; nothing can be read after that."""
        self._is_closed = True

    @abc.abstractmethod
    def _next_chunk(self, limit: int) -> Chunk | None: ...

    @abc.abstractmethod
    def _go_to(self, position: Any) -> None:
        """Continue at a position, or raise an error of a value that is none."""

    def _versioned(self, **position: Any) -> dict[str, Any]:
        """Write a position."""
        return {"version": _VERSION, **position}

    def _warn(self, text: str) -> None:
        self._warnings.append(f"{text}.")
