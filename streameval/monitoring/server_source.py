"""What sources on servers share: a connection that may be lost, and is made again."""

from __future__ import annotations

import abc
import time
from collections import Counter
from collections.abc import Mapping

from streameval.errors import UnavailableError
from streameval.monitoring.source_protocol import Chunk, ResumableSource

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
