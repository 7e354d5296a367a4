"""What a source is: rows chunk by chunk, each with the position after it; servers go away."""

from __future__ import annotations

import abc
import time
from collections import Counter
from collections.abc import Mapping
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Unpack, runtime_checkable

import attrs

from streameval.errors import InvalidInputError, UnavailableError
from streameval.io.formats import FORMATS, Format, checked_format
from streameval.io.notation import Dialect, TableOptions

if TYPE_CHECKING:
    from streameval.io.blocks import Block

    Position = Any
    "A small value that `json.dumps` takes and `json.loads` returns."


@attrs.frozen
class Chunk:
    """Whole rows of one partition.

    Parameters
    ----------
    block : Block
        The rows, still to be parsed; its errors name the file and the line.
    partition : str
        Rows of one partition come in a fixed order, however they are cut into chunks, also after
        a restart.
    position : JSON value
        Where the whole source continues after this chunk.
    """

    block: Block
    partition: str
    position: Position


@runtime_checkable
class Source(Protocol):
    """Rows that are pulled, and pulled again from a position after a restart.

    Attributes
    ----------
    name : str
        Stable over restarts: the key of the position in a checkpoint.
    is_replayable : bool
        Whether the same position leads to the same rows; if not, each row is counted at most once.

    Notes
    -----
    A source may also have

    * ``partitions``, the names of those that hold rows, so that their rows are awaited before
      they are read;
    * ``is_caught_up``, False while None from `read` does not mean that all has been read, since
      a server has not answered;
    * ``counts()``, counters by name that the status of a monitor adds up;
    * ``lag_bytes``, how many bytes have not been read;
    * ``interrupt()``, which `Monitor.stop` calls from any thread or a handler of signals: from
      then on `read` waits for no server.
    """

    name: str
    is_replayable: bool

    def seek(self, position: Position | None) -> None:
        """Continue at a position, None for the beginning; once, before the first read.

        Raises
        ------
        InvalidInputError
            If it is not a position of such a source.
        """
        ...

    def read(self, limit: int) -> Chunk | None:
        """Return the next rows of one partition, about `limit` bytes; None if none are new.

        Raises
        ------
        BadDataError
            If a file cannot be read.
        """
        ...

    @property
    def is_at_end(self) -> bool:
        """Whether no more rows are expected, as far as the source can tell."""
        ...

    def warnings(self) -> list[str]:
        """Return what went wrong since the last call, as sentences."""
        ...

    def close(self) -> None:
        """Close the files."""
        ...


def patterns_of(value: Any, argument: str) -> tuple[str, ...]:
    """List the paths and globs of an argument as text.

    Raises
    ------
    InvalidInputError
        If there are none, or one is no path.
    """
    given = [value] if isinstance(value, str | PathLike) else value
    try:
        patterns: tuple[Any, ...] = tuple(fspath(path) for path in given)
    except TypeError:
        raise InvalidInputError(
            f"must be a source, a path, or a list of paths, got {type(value).__name__}",
            argument=argument,
        ) from None
    if not patterns or not all(isinstance(pattern, str) and pattern for pattern in patterns):
        raise InvalidInputError("must be one or more paths, each not empty", argument=argument)
    return patterns


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


class FileSource(ResumableSource):
    """A source of files.

    Parameters
    ----------
    **options
        Those of `Tail`.

    Raises
    ------
    InvalidInputError
        If an option is invalid.
    """

    _needs_lines: ClassVar[bool] = False

    def __init__(self, **options: Unpack[TableOptions]) -> None:
        super().__init__()
        dialect: dict[str, Any] = {**options}
        form = dialect.pop("format", None)
        if form is not None and form not in FORMATS:
            names = ", ".join(map(repr, FORMATS))
            raise InvalidInputError(f"must be one of {names}, got {form!r}", argument="format")
        self._form, self._dialect = form, Dialect(**dialect)
        self._said: set[Any] = set()
        known = self._format_of("files")
        if known is not None and known.layout is None and self._needs_lines:
            raise InvalidInputError(
                f"must be a format of lines, since {known.title} files do not grow",
                argument="format",
                remedy="Move them into a folder once they are whole, and read that with Folder.",
            )

    def _format_of(self, name: str) -> Format | None:
        """Return the format of a file, None if only its first bytes can tell."""
        return checked_format(name, self._form, self._dialect)

    def unmatched(self) -> list[str]:
        """List the paths and patterns that match no file now."""
        return []

    def would_read(self, path: str) -> bool:  # noqa: ARG002 - those with files in folders do
        """Return whether a file would be read if it existed."""
        return False

    def _warn_once(self, text: str, about: Any = None) -> None:
        """Warn, unless the same was said before, or anything about a file."""
        if (about or text) not in self._said:
            self._said.add(about or text)
            self._warn(text)


_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0


class ConnectionLostError(Exception):
    """The server does not answer; the message is the reason."""


class OutdatedConnectionError(Exception):
    """The connection has to be made again, although the server answers."""


class ServerSource(ResumableSource):
    """Rows that a server keeps, which may go away and come back.

    Before the first answer, a server that cannot be reached is an error. After that, reading
    returns None while it is away, and asks again after pauses that double up to half a minute.
    What was read and not returned is forgotten with the connection, and read again.

    A server is asked for a moment at a time, so that `interrupt` takes effect soon.
    """

    name: str
    _pause = _FIRST_PAUSE
    _retry_at = 0.0
    _has_answered = False
    _is_away = False
    _is_connected = False
    _is_interrupted = False

    def __init__(self) -> None:
        super().__init__()
        self._counts: Counter[str] = Counter()

    @property
    @abc.abstractmethod
    def is_caught_up(self) -> bool:
        """Whether the server has said that there is no more; else None may mean no answer."""

    def counts(self) -> Mapping[str, int]:
        """Return the connections and the rows that were lost since the last call."""
        counts, self._counts = self._counts, Counter()
        return counts

    def interrupt(self) -> None:
        """Stop reads from waiting for the server, now and later.

        Any thread may call it, and a handler of signals.
        """
        self._is_interrupted = True

    def close(self) -> None:
        """Close the connection; nothing can be read after that."""
        super().close()
        self._hang_up()

    def _next_chunk(self, limit: int) -> Chunk | None:
        """Return the next rows, None while there are none or the server is away."""
        if not self._is_connected and time.monotonic() < self._retry_at:
            return None
        try:
            if not self._is_connected:
                self._connect()
                self._is_connected = True
            chunk = self._fetch(limit)
        except ConnectionLostError as error:
            self._lose(str(error))
            return None
        except OutdatedConnectionError:
            self._hang_up()
            return None
        self._has_answered = True
        if self._is_away and (chunk is not None or self.is_caught_up):
            self._is_away, self._pause = False, _FIRST_PAUSE
            self._warn(f"{self.name}: answers again")
        return chunk

    def _lose(self, reason: str) -> None:
        """Forget the connection, and ask again after a pause."""
        self._hang_up()
        if not self._has_answered:
            if self._is_interrupted:
                return
            raise UnavailableError(f"{self.name}: cannot be reached: {reason}.")
        if not self._is_away:
            self._is_away = True
            self._counts["disconnected"] += 1
            self._warn(f"{self.name}: does not answer: {reason}; it is asked again until it does")
        self._retry_at = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)

    def _note_lost(self, n_rows: int, text: str) -> None:
        """Count rows that were deleted before they were read, and warn about them."""
        self._counts["lost"] += n_rows
        self._warn(text)

    def _hang_up(self) -> None:
        self._is_connected = False
        self._disconnect()

    @abc.abstractmethod
    def _connect(self) -> None:
        """Connect to the server and go to the position, or raise ConnectionLostError."""

    @abc.abstractmethod
    def _fetch(self, limit: int) -> Chunk | None:
        """Return the next rows, None if none are new, or raise ConnectionLostError."""

    @abc.abstractmethod
    def _disconnect(self) -> None:
        """Close the connection if there is one, and forget what was read ahead."""
