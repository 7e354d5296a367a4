"""Heartbeats: a sign of life to a service that raises an alarm when there is none."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from streameval.monitoring.outbox import LOG, Refused
from streameval.render.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from streameval.monitoring.outbox import Receiver

_TIMEOUT = 10.0


class Heartbeat:
    """Send a heartbeat at once, and again after each period, in a thread, until it is closed.

    Parameters
    ----------
    receiver : Receiver
    every : float
        The period, in seconds.
    is_alive : callable
        Without life, nothing is sent.
    """

    def __init__(self, receiver: Receiver, every: float, is_alive: Callable[[], bool]) -> None:
        self._receiver = receiver
        self._every = every
        self._is_alive = is_alive
        self._closed = threading.Event()
        self._was_refused = False
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Send no more; one that is being sent is not waited for."""
        self._closed.set()

    def _work(self) -> None:
        while not self._closed.is_set():
            if self._is_alive():
                self._send()
            self._closed.wait(self._every)

    def _send(self) -> None:
        """Send one, and warn of the first of several refusals."""
        at = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        beat = {"id": f"heartbeat {at}", "rule": "heartbeat", "state": "alive", "at": at}
        refusal = None
        try:
            self._receiver.send(beat, _TIMEOUT)
        except Refused as error:
            refusal = str(error)
        except Exception as error:
            refusal = f"raised {type(error).__name__}: {printable(str(error))}"
        if refusal is not None and not self._was_refused:
            LOG.error("%s %s; heartbeats go on", self._receiver.name, refusal)
        self._was_refused = refusal is not None
