"""What sources of files share: options, positions, warnings and an end."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, ClassVar

from streameval.errors import InvalidInputError
from streameval.io import FORMATS, Dialect
from streameval.io.formats import checked_format

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streameval.monitoring.source_protocol import Chunk, Position

__all__ = ["FileSource"]

_VERSION = 1


class FileSource(abc.ABC):
    """A source of files.

    Parameters
    ----------
    format, delimiter, header, decimal
        As `Tail` has them.

    Raises
    ------
    InvalidInputError
        If an option does not fit.
    """

    is_replayable = True
    _noun: ClassVar[str]
    """What a position is one of."""

    def __init__(
        self,
        form: str | None,
        delimiter: str | None,
        header: Sequence[str] | None,
        decimal: str | None,
    ) -> None:
        if form is not None and form not in FORMATS:
            names = ", ".join(map(repr, FORMATS))
            raise InvalidInputError(f"must be one of {names}, got {form!r}", argument="format")
        if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
            raise InvalidInputError(
                f"must be one character other than a quote, got {delimiter!r}",
                argument="delimiter",
            )
        if isinstance(header, str):
            raise InvalidInputError(f"must be a list of names, got {header!r}", argument="header")
        if decimal not in (None, ",", "."):
            raise InvalidInputError(f"must be ',' or '.', got {decimal!r}", argument="decimal")
        names_of_columns = None if header is None else tuple(header)
        self._form, self._dialect = form, Dialect(delimiter, names_of_columns, decimal)
        if form is not None:
            checked_format("files", form, self._dialect)
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
            If a file cannot be read, or is of another format.
        InvalidInputError
            If the source is closed.
        """
        if self._is_closed:
            raise InvalidInputError("is closed", argument="source")
        return self._next_chunk(limit)

    def would_read(self, path: str) -> bool:  # noqa: ARG002 - those with files in folders do
        """Tell whether a file would be read if it were there."""
        return False

    def warnings(self) -> list[str]:
        """Return what may have been lost, and what was passed over, since the last call."""
        said, self._warnings = self._warnings, []
        return said

    def close(self) -> None:
        """Close the files; nothing can be read after that."""
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
