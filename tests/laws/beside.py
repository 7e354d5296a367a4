"""A reader in one thread beside a writer in another, which meet after every step."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

__all__ = ["read_beside"]

SWITCH_SECONDS = 1e-5


def read_beside(steps: Sequence[Callable[[], object]], read: Callable[[], object]) -> None:
    """Take steps in one thread, and read in another until each of them is done.

    A step begins once both threads are done with the one before. So what is read beside step i
    follows i - 1 or i steps, whatever the scheduler does. Within a step the threads take turns
    every few microseconds.
    """
    meeting = threading.Barrier(2)
    is_done = threading.Event()

    def write() -> None:
        for step in steps:
            is_done.clear()
            meeting.wait()
            step()
            is_done.set()
            meeting.wait()

    def watch() -> None:
        for _ in steps:
            meeting.wait()
            read()
            while not is_done.is_set():
                read()
            meeting.wait()

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        except threading.BrokenBarrierError:
            pass  # the other thread failed, and says why
        except BaseException:
            meeting.abort()
            is_done.set()
            raise

    usual = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        with ThreadPoolExecutor(2) as pool:
            for outcome in [pool.submit(run, work) for work in (write, watch)]:
                outcome.result()
    finally:
        sys.setswitchinterval(usual)
