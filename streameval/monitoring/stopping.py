"""Whether a monitor should end soon, and the wait for that."""

from __future__ import annotations

from contextlib import suppress
from queue import Empty, SimpleQueue


class Stopping:
    """A flag that handlers of signals may set wherever they interrupt the thread that waits.

    `threading.Event` takes a lock for that, which the interrupted thread may hold.
    """

    def __init__(self) -> None:
        self._is_set = False
        self._calls: SimpleQueue[None] = SimpleQueue()

    def set(self) -> None:
        """Set the flag, and end the wait."""
        self._is_set = True
        self._calls.put(None)

    def is_set(self) -> bool:
        """Tell whether the flag is set."""
        return self._is_set

    def wait(self, seconds: float) -> None:
        """Wait until the flag is set, or so many seconds have passed."""
        with suppress(Empty):
            self._calls.get(timeout=max(seconds, 0.0))
