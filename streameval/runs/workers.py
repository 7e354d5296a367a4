"""Blocks counted by this process or by several, in order either way."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from multiprocessing import connection, get_context
from typing import TYPE_CHECKING

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
    # Spawned: a forked child inherits locks of threads that it does not have.
    context = get_context("spawn")
    leash, held = context.Pipe(duplex=False)  # its end is noticed however this process ends
    pool = ProcessPoolExecutor(jobs, context, initializer=_start, initargs=(leash,))
    pending: deque[Future[BlockCounts]] = deque()
    try:
        for block in blocks:
            with _heirs_leave_interrupts():  # to submit may start a process
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
        held.close()  # ends the workers that are in the middle of a block nobody waits for
        pool.shutdown(cancel_futures=True)
        leash.close()


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
