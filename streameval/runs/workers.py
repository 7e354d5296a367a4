"""Blocks counted by this process or by several, in order either way."""

from __future__ import annotations

import os
import signal
import threading
import traceback
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from multiprocessing import connection, resource_tracker
from multiprocessing.context import SpawnContext
from queue import SimpleQueue
from typing import TYPE_CHECKING

from streameval.errors import BadDataError, Named, StreamevalError
from streameval.io.blocks import Block, Emptied, emptied
from streameval.runs.counting import BlockCounts, count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from multiprocessing.connection import Connection

    from streameval.runs.counting import Plan

__all__ = ["count_all"]

# A large state takes long to change; past so many rows, merges of states of like size are faster.
_BUFFERED_ROWS = 2**20
_MAX_GROUP = 16

# Blocks for a worker, and what ended the reading after them.
_Group = tuple[list[Block | Emptied], StreamevalError | None]
# What a worker has counted of its blocks, and what ended that.
_Counted = tuple[list[BlockCounts], Exception | None]


def count_all(blocks: Iterable[Block], plan: Plan, jobs: int) -> Iterator[BlockCounts]:
    """Count blocks in `jobs` processes; the results come in the order of the blocks."""
    if jobs == 1:
        return _count_here(blocks, plan)
    return _count_in_workers(blocks, plan, jobs)


def _count_here(blocks: Iterable[Block], plan: Plan) -> Iterator[BlockCounts]:
    """Count blocks one by one; one accumulator counts many of them if it can."""
    accumulator, n_rows = None, 0
    for block in blocks:
        counted = count(block, plan, accumulator, may_renew=plan.is_bounded)
        n_rows += counted.n_good
        if plan.is_bounded or (plan.is_buffered and n_rows < _BUFFERED_ROWS):
            accumulator = counted.accumulator
        else:
            accumulator, n_rows = None, 0
        yield counted


def _count_in_workers(blocks: Iterable[Block], plan: Plan, jobs: int) -> Iterator[BlockCounts]:
    context = SpawnContext()  # a forked process inherits locks of threads that it lacks
    leash, held = context.Pipe(duplex=False)  # its end is noticed however this process ends
    workers: list[_Worker] = []
    idle: SimpleQueue[_Worker] = SimpleQueue()
    threads = ThreadPoolExecutor(jobs)

    def wait_for_start(worker: _Worker) -> None:
        try:
            worker.wait()
        finally:
            idle.put(worker)

    def count_group(group: _Group) -> _Counted:
        worker = idle.get()
        try:
            return worker.counted(group)
        finally:
            idle.put(worker)  # a dead one too, or the next group would wait for it forever

    left = iter(blocks)
    pending: deque[Future[_Counted]] = deque()
    try:
        for _ in range(jobs):
            with _signals_held(), _heirs_leave_interrupts():
                workers.append(_Worker(context, leash, plan))
        starting = [threads.submit(wait_for_start, worker) for worker in workers]
        yield from _count_here(_until_started(left, starting), plan)
        for group in _groups(left, jobs):
            pending.append(threads.submit(count_group, group))
            if len(pending) == 2 * jobs:  # bounds the memory, and keeps every process busy
                yield from _told(pending.popleft())
        while pending:
            yield from _told(pending.popleft())
    finally:
        held.close()
        for worker in workers:
            worker.end()  # nobody waits for what it counts or still imports
        threads.shutdown(cancel_futures=True)
        leash.close()


class _Worker:
    """A process that counts the groups it is sent, one at a time.

    It alone holds the other end of its pipe, so that its death, be it in the middle of an answer,
    ends whatever waits for it. A shared queue, as that of `ProcessPoolExecutor`, waits forever
    for the rest.
    """

    def __init__(self, context: SpawnContext, leash: Connection, plan: Plan) -> None:
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, leash, plan))
        self._process.start()
        theirs.close()

    def wait(self) -> None:
        """Wait until it is up.

        Raises
        ------
        BadDataError
            If it died.
        """
        with _deaths_told():
            self._pipe.recv()

    def counted(self, group: _Group) -> _Counted:
        """Let it count a group.

        Raises
        ------
        BadDataError
            If it died.
        """
        with _deaths_told():
            self._pipe.send(group)
            counted: _Counted = self._pipe.recv()
        return counted

    def end(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.join()


@contextmanager
def _deaths_told() -> Iterator[None]:
    try:
        yield
    except (EOFError, OSError):
        raise BadDataError(
            "a worker process died, perhaps for lack of memory; try fewer ", Named("jobs"), "."
        ) from None


def _until_started(blocks: Iterator[Block], starting: Sequence[Future[None]]) -> Iterator[Block]:
    """Yield the blocks that can be counted here before the first worker is up."""
    while not _has_started(starting):
        block = next(blocks, None)
        if block is None:
            return
        yield block


def _has_started(starting: Iterable[Future[None]]) -> bool:
    """Tell whether a worker is up.

    Raises
    ------
    BadDataError
        If one died before it was.
    """
    up = [future for future in starting if future.done()]
    for future in up:
        future.result()
    return bool(up)


def _groups(blocks: Iterable[Block], jobs: int) -> Iterator[_Group]:
    """Put blocks together, ever more of them; what ends the reading comes with the last ones.

    One state comes back for all of them. In the end, one worker is at most a small part of what
    has been done behind the others.
    """
    group: list[Block | Emptied] = []
    n_blocks = 0
    try:
        for block in blocks:
            group.append(emptied(block))
            n_blocks += 1
            if len(group) >= min(n_blocks // (4 * jobs), _MAX_GROUP):
                yield group, None
                group = []
    except StreamevalError as error:
        yield group, error
        return
    if group:
        yield group, None


def _count_group(group: _Group, plan: Plan) -> _Counted:
    """Count blocks in a worker, as far as that goes."""
    blocks, after = group
    counted: list[BlockCounts] = []
    read = (block.filled() if isinstance(block, Emptied) else block for block in blocks)
    try:
        for one in _count_here(read, plan):
            counted.append(one)  # noqa: PERF402 - those before an error are kept
    except StreamevalError as error:
        return counted, error
    except Exception as error:
        error.add_note(f"In a worker process:\n{traceback.format_exc()}")
        return counted, error
    return counted, after


def _told(future: Future[_Counted]) -> Iterator[BlockCounts]:
    """Yield what a worker has counted, and raise what ended it."""
    counted, error = future.result()
    yield from counted
    if error is not None:
        raise error


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
    resource_tracker.ensure_running()  # or the first process starts it, which undoes the mask
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# Windows has no such masks; there the workers ignore Ctrl-C from their first task on.
_heirs_leave_interrupts = _interrupts_blocked if hasattr(signal, "pthread_sigmask") else nullcontext


def _serve(pipe: Connection, leash: Connection, plan: Plan) -> None:
    """Count what comes through a pipe, as a worker.

    Ctrl-C, which reaches all processes of a terminal, is left to the parent.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(leash,), daemon=True).start()
    with suppress(EOFError, OSError):  # the parent is no more
        pipe.send(None)  # it is up
        while True:
            pipe.send(_count_group(pipe.recv(), plan))


def _end_with(leash: Connection) -> None:
    """End this process at once when the parent lets go of its end of a pipe, or is no more."""
    connection.wait([leash])
    os._exit(1)
