"""A server that accepts connections and never answers."""

from __future__ import annotations

import socket
import threading
from contextlib import closing, contextmanager

__all__ = ["check_interruption", "silent_listener"]


@contextmanager
def silent_listener():
    """Accept connections, which the system does by itself, and yield the port."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listener:
        yield listener.getsockname()[1]


def check_interruption(source):
    """Interrupt a source that would wait for an hour; its read ends without rows."""
    with closing(source):
        source.seek(None)
        timer = threading.Timer(0.3, source.interrupt)
        timer.start()
        try:
            assert source.read(100) is None
        finally:
            timer.join()
        assert not source.is_caught_up
