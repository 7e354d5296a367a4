"""Blocks counted by this process or by several, in order either way."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from multiprocessing import connection
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import TYPE_CHECKING, Any

from streameval.errors import BadDataError, Named
from streameval.runs.counting import BlockCounts, count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from multiprocessing.connection import Connection

    from streameval.io import Block
    from streameval.runs.counting import Plan

__all__ = ["count_all"]

# A large state takes long to change; past so many rows, merges of states of like size are faster.
_BUFFERED_ROWS = 2**20


def count_all(blocks: Iterable[Block], plan: Plan, jobs: int) -> Iterator[BlockCounts]:
    """Count blocks in `jobs` processes; the results come in the order of the blocks."""
    if jobs == 1:
        return _count_here(blocks, plan)
    return _count_in_pool(blocks, plan, jobs)


def _count_here(blocks: Iterable[Block], plan: Plan) -> Iterator[BlockCounts]:
    """Count blocks one by one; an accumulator with a large buffer counts many of them."""
    accumulator, n_rows = None, 0
    for block in blocks:
        counted = count(block, plan, accumulator)
        n_rows += counted.n_good
        if plan.is_buffered:
            accumulator = counted.accumulator if n_rows < _BUFFERED_ROWS else None
        if accumulator is None:
            n_rows = 0
        yield counted


def _count_in_pool(blocks: Iterable[Block], plan: Plan, jobs: int) -> Iterator[BlockCounts]:
    context = _Spawning()
    leash, held = context.Pipe(duplex=False)  # its end is noticed however this process ends
    pool = ProcessPoolExecutor(jobs, context, initializer=_start, initargs=(leash,))
    pending: deque[Future[BlockCounts]] = deque()
    try:
        for block in blocks:
            with _signals_held(), _heirs_leave_interrupts():  # to submit may start a process
                pending.append(pool.submit(count, block, plan))
            if len(pending) == 2 * jobs:  # bounds the memory, and keeps every process busy
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
        pool.shutdown()
    except BrokenProcessPool:
        raise BadDataError(
            "a worker process died, perhaps for lack of memory; try fewer ", Named("jobs"), "."
        ) from None
    finally:
        held.close()
        for worker in [made for made in context.made if made.pid is not None]:
            worker.kill()  # nobody waits for what it counts or still imports
        pool.shutdown(cancel_futures=True)
        leash.close()


class _Spawning(SpawnContext):
    """Spawn processes, since a forked one inherits locks of threads that it lacks; keep them."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[SpawnProcess] = []

    def Process(self, *args: Any, **options: Any) -> SpawnProcess:  # type: ignore[override]  # noqa: N802
        """Make a process as the pool asks for it."""
        process = SpawnProcess(*args, **options)
        self.made.append(process)
        return process


@contextmanager
def _signals_held() -> Iterator[None]:
    """Call the handlers of signals only afterwards: a process that is half started complains.

    Blocking the signals does not suffice, since any thread of NumPy's may take them.
    """
    is_main = threading.current_thread() is threading.main_thread()
    handlers = {number: signal.getsignal(number) for number in _ENDING} if is_main else {}
    arrived: list[int] = []
    held = {number: handler for number, handler in handlers.items() if callable(handler)}
    try:
        for number in held:
            signal.signal(number, lambda number, _: arrived.append(number))
        yield
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)
        for number in arrived:
            signal.raise_signal(number)


_ENDING = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Hold Ctrl-C back; a process started now inherits that, and needs no time to say so."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# Windows has no such masks; there the workers ignore Ctrl-C from their first task on.
_heirs_leave_interrupts = _interrupts_blocked if hasattr(signal, "pthread_sigmask") else nullcontext


def _start(leash: Connection) -> None:
    """Leave Ctrl-C, which reaches all processes of a terminal, to the parent; end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(leash,), daemon=True).start()


def _end_with(leash: Connection) -> None:
    """End this process at once when the parent lets go of its end of a pipe, or is no more."""
    connection.wait([leash])
    os._exit(1)
