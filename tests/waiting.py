"""Wait for what other threads and processes do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")

HANGS = 600.0
"""Seconds after which something hangs, and is not just slow on a busy machine."""


def until(asked: Callable[[], Answer]) -> Answer:
    """Ask until the answer is truthy, and return it."""
    end = time.monotonic() + HANGS
    while not (answer := asked()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)
    return answer
