"""Worker processes: started and ended together, each with a pipe of its own."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Self

from streameval.errors import BadDataError, Named

if TYPE_CHECKING:
    from concurrent.futures import Future
    from multiprocessing.connection import Connection

_WORTH_BYTES = 2**26
"""So many bytes of text take 0.4 s or more, and a worker that is forked 0.1 s to start."""
AHEAD = 8
"""Requests that a worker has at most; with 2, it waited a fifth of its time for this process."""


_MAX_CPUS = 8
"""One process reads for all, and has no time for more."""
_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_THREADS = Path("/proc/self/task")


def n_cpus() -> int:
    """Count the CPUs that this process may use: those of its affinity, and of its container.

    At most 8, since a process more costs 100 MB and more.
    """
    if hasattr(os, "sched_getaffinity"):
        allowed = len(os.sched_getaffinity(0))
    else:  # pragma: no cover (macOS and Windows)
        allowed = os.cpu_count() or 1
    return max(1, min(allowed, _quota(), _MAX_CPUS))


def _quota() -> int:
    """Return how many CPUs the quota of a container comes to, rounded down."""
    try:
        quota, period = _QUOTA.read_text().split()
        return int(quota) // int(period)
    except (OSError, ValueError):  # there is none, or it is "max"
        return _MAX_CPUS


class Team:
    """Worker processes, started and ended together.

    Parameters
    ----------
    n_max : int
        How many may be started.

    Attributes
    ----------
    workers : list of Worker
        Those that run.
    """

    def __init__(self, n_max: int) -> None:
        self.n_max = n_max
        self.workers: list[Worker] = []

    def start_for(self, size: int | None) -> None:
        """Start what is worth it if so many bytes are to be read."""
        self.start(0 if size is None else size // _WORTH_BYTES)

    def start(self, n_workers: int) -> None:
        """Start workers until there are so many, or as many as there may be."""
        n_more = min(n_workers, self.n_max) - len(self.workers)
        if n_more <= 0:
            return
        can_fork = _is_single_threaded()
        with _signals_held(), _heirs_leave_interrupts(can_fork=can_fork):
            for _ in range(n_more):
                self.workers.append(Worker(can_fork=can_fork))
            for worker in self.workers[-n_more:]:
                worker.listen()  # by threads, which no later process may inherit

    def end(self) -> None:
        """End all workers, whatever they do."""
        with _signals_held():  # a second Ctrl-C would leave the others running
            while self.workers:
                self.workers.pop().end()  # nobody waits for what it does or still imports

    def __enter__(self) -> Self:
        """Begin; no worker runs yet."""
        return self

    def __exit__(self, *exception: object) -> None:
        """End all workers, even after an exception."""
        self.end()


class Worker:
    """A process that answers requests one after the other.

    Only this process holds the other end of its pipe, so its death ends every wait for it, even in
    the middle of an answer. A shared queue, like that of `ProcessPoolExecutor`, would wait forever
    for the rest. One thread sends and one receives, so that it has its next request before it has
    answered, and neither waits for this process.

    Parameters
    ----------
    can_fork : bool
        Whether it may begin as a copy of this process, which has imported what it needs.
    """

    def __init__(self, *, can_fork: bool) -> None:
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 (most commands need none)
        from multiprocessing import get_context  # noqa: PLC0415 (the same)

        context: Any = get_context("fork" if can_fork else "spawn")
        self._pipe, theirs = context.Pipe()
        copied = self._pipe if can_fork else None
        self._process = context.Process(target=_serve, args=(theirs, copied))
        self._process.start()
        theirs.close()
        self._sending, self._receiving = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        self._ahead: deque[Future[Any]] = deque()

    def listen(self) -> None:
        """Start the threads, while signals are held."""
        for threads in (self._sending, self._receiving):
            threads.submit(int)

    def begin(self, request: Any) -> None:
        """Send the first request; until it is answered, the worker has as many as it may have."""
        self._ahead = deque([self._asked(request)] * AHEAD)

    def n_ahead(self) -> int:
        """Count the requests that it has not answered."""
        while self._ahead and self._ahead[0].done():
            self._ahead.popleft()
        return len(self._ahead)

    def ask(self, request: Any) -> Future[Any]:
        """Let it answer a request.

        The result raises BadDataError if it died.
        """
        self._ahead.append(answered := self._asked(request))
        return answered

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.join()
        for threads in (self._sending, self._receiving):
            threads.shutdown(cancel_futures=True)

    def _asked(self, request: Any) -> Future[Any]:
        self._sending.submit(self._send, request)
        return self._receiving.submit(self._received)

    def _send(self, request: Any) -> None:
        try:
            self._pipe.send(request)
        except BaseException:
            self._process.kill()  # or the answer would be waited for
            raise

    def _received(self) -> Any:
        try:
            return self._pipe.recv()
        except (EOFError, OSError):
            raise BadDataError(
                "a worker process died, perhaps for lack of memory; try fewer ", Named("jobs"), "."
            ) from None


def _is_single_threaded() -> bool:
    """Tell whether a copy of this process lacks no thread that might hold a lock, on Linux."""
    return _THREADS.is_dir() and len(list(_THREADS.iterdir())) == 1


@contextmanager
def _signals_held() -> Iterator[None]:
    """Delay the signal handlers: a half-started process would print errors.

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
def _heirs_leave_interrupts(*, can_fork: bool) -> Iterator[None]:
    """Block Ctrl-C; a process started now inherits the mask from its first moment."""
    if not hasattr(signal, "pthread_sigmask"):  # pragma: no cover (Windows)
        yield  # workers ignore Ctrl-C from their first task on
        return
    if not can_fork:
        from multiprocessing import resource_tracker  # noqa: PLC0415 (most start no process)

        resource_tracker.ensure_running()  # or the first process starts it, which undoes the mask
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(pipe: Connection, copied: Connection | None) -> None:
    """Run a worker: answer what arrives through a pipe.

    Ctrl-C, which reaches all processes of a terminal, is left to the parent. A copy of the parent
    drops its handlers of signals and its end of the pipe.
    """
    if copied is not None:
        copied.close()
        for number in _ENDING:
            if callable(signal.getsignal(number)):
                signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from streameval.runs.counting import Answers  # noqa: PLC0415 (only workers need it)

    answers = Answers()
    requests: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_receive, args=(pipe, requests), daemon=True).start()
    with suppress(OSError):  # the parent is no more
        while True:
            pipe.send(answers.to(requests.get()))


def _receive(pipe: Connection, requests: SimpleQueue[Any]) -> None:
    """Take requests from a pipe ahead of their answers.

    Ends this process at once when the parent lets go of its end of the pipe, or is no more.
    """
    try:
        with suppress(EOFError, OSError):
            while True:
                requests.put(pipe.recv())
    finally:
        os._exit(1)
