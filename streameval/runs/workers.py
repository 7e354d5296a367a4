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

from streameval.errors import BadDataError, Named, StreamevalError
from streameval.io.blocks import Emptied, emptied
from streameval.runs.counting import BlockCounts, count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from multiprocessing.connection import Connection

    from streameval.io import Block
    from streameval.runs.counting import Plan

__all__ = ["count_all"]

# A large state takes long to change; past so many rows, merges of states of like size are faster.
_BUFFERED_ROWS = 2**20
_MAX_GROUP = 16

# What a worker has counted of its blocks, and what ended that.
_Counted = tuple[list[BlockCounts], StreamevalError | None]
_plan: Any = None


def count_all(blocks: Iterable[Block], plan: Plan, jobs: int) -> Iterator[BlockCounts]:
    """Count blocks in `jobs` processes; the results come in the order of the blocks."""
    if jobs == 1:
        return _count_here(blocks, plan)
    return _count_in_pool(blocks, plan, jobs)


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


def _count_in_pool(blocks: Iterable[Block], plan: Plan, jobs: int) -> Iterator[BlockCounts]:
    context = _Spawning()
    leash, held = context.Pipe(duplex=False)  # its end is noticed however this process ends
    pool = ProcessPoolExecutor(jobs, context, initializer=_start, initargs=(leash, plan))

    def submitted(task: Any, *arguments: Any) -> Future[Any]:
        with _signals_held(), _heirs_leave_interrupts():  # to submit may start a process
            return pool.submit(task, *arguments)

    left = iter(blocks)
    pending: deque[Future[_Counted]] = deque()
    try:
        starting = [submitted(_nothing) for _ in range(jobs)]
        yield from _count_here(_until_started(left, starting), plan)
        for group in _groups(left, jobs):
            pending.append(submitted(_count_group, *group))
            if len(pending) == 2 * jobs:  # bounds the memory, and keeps every process busy
                yield from _told(pending.popleft())
        while pending:
            yield from _told(pending.popleft())
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
    BrokenProcessPool
        If one died before it was.
    """
    up = [future for future in starting if future.done()]
    for future in up:
        future.result()
    return bool(up)


def _groups(
    blocks: Iterable[Block], jobs: int
) -> Iterator[tuple[list[Block | Emptied], StreamevalError | None]]:
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


def _count_group(blocks: Iterable[Block | Emptied], after: StreamevalError | None) -> _Counted:
    """Count blocks in a worker, as far as that goes."""
    counted: list[BlockCounts] = []
    read = (block.filled() if isinstance(block, Emptied) else block for block in blocks)
    try:
        for one in _count_here(read, _plan):
            counted.append(one)  # noqa: PERF402 - those before an error are kept
    except StreamevalError as error:
        return counted, error
    return counted, after


def _told(future: Future[_Counted]) -> Iterator[BlockCounts]:
    """Yield what a worker has counted, and raise what ended it."""
    counted, error = future.result()
    yield from counted
    if error is not None:
        raise error


def _nothing() -> None:
    """Show that a worker is up."""


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


def _start(leash: Connection, plan: Plan) -> None:
    """Leave Ctrl-C, which reaches all processes of a terminal, to the parent; end with it."""
    global _plan  # noqa: PLW0603 - every task of this process has the same
    _plan = plan
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(leash,), daemon=True).start()


def _end_with(leash: Connection) -> None:
    """End this process at once when the parent lets go of its end of a pipe, or is no more."""
    connection.wait([leash])
    os._exit(1)
