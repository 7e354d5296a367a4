"""Worker processes: started and ended together, each with a pipe of its own."""

from __future__ import annotations

import atexit
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Self

from streameval.errors import BadDataError, Named

if TYPE_CHECKING:
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
        with _signals_held(), _heirs_leave_signals(can_fork=can_fork):
            for _ in range(n_more):
                self.workers.append(Worker(can_fork=can_fork))
            for worker in self.workers[-n_more:]:
                worker.listen()  # by threads, which no later process may inherit
            atexit.register(self.end)  # or Python would wait for them, should Ctrl-C prevent it

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
    answered, and neither waits for this process. They move bytes and need no lock of Python, as
    imports do: if Ctrl-C arrives as the main thread takes one, it stays taken.

    Parameters
    ----------
    can_fork : bool
        Whether it may begin as a copy of this process, which has imported what it needs.
    """

    def __init__(self, *, can_fork: bool) -> None:
        from multiprocessing import get_context  # noqa: PLC0415 (most commands need none)

        context: Any = get_context("fork" if can_fork else "spawn")
        self._pipe, theirs = context.Pipe()
        copied = self._pipe if can_fork else None
        self._process = context.Process(target=_serve, args=(theirs, copied))
        self._process.start()
        theirs.close()
        self._requests: SimpleQueue[Any] = SimpleQueue()
        self._answers: SimpleQueue[Any] = SimpleQueue()
        died = partial(self._answers.put, None)
        self._threads = [
            threading.Thread(target=_send, args=(self._pipe, self._requests), daemon=True),
            threading.Thread(target=_receive, args=(self._pipe, self._answers, died), daemon=True),
        ]
        self._n_asked = 0  # whose answers have not been taken
        self._n_skipped = 0  # of these, the first ones

    def listen(self) -> None:
        """Start the threads, while signals are held."""
        for thread in self._threads:
            thread.start()

    def begin(self, request: Any) -> None:
        """Send the first request of a count; its answer, and those of a count before, are skipped.

        Until it is answered, the worker has as many as it may have.
        """
        self.ask(request)
        self._n_skipped = self._n_asked

    def n_ahead(self) -> int:
        """Count the requests that it has not answered."""
        n_answered = self._answers.qsize()
        return AHEAD if n_answered < self._n_skipped else self._n_asked - n_answered

    def ask(self, request: Any) -> None:
        """Let it answer a request."""
        self._requests.put(_pickler().dumps(request))
        self._n_asked += 1

    def has_answered(self) -> bool:
        """Tell whether the next answer can be taken without a wait."""
        return self._answers.qsize() > self._n_skipped

    def answer(self) -> Any:
        """Take the next answer; they come in the order of the requests.

        Raises
        ------
        BadDataError
            If the process died.
        """
        for _ in range(self._n_skipped):
            self._taken()
        self._n_skipped = 0
        return self._taken()

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.join()
        self._requests.put(None)
        for thread in self._threads:
            thread.join()

    def _taken(self) -> Any:
        answer = self._answers.get()
        if answer is None:
            self._answers.put(None)  # it died for whoever asks next as well
            raise BadDataError(
                "a worker process died, perhaps for lack of memory; try fewer ", Named("jobs"), "."
            )
        self._n_asked -= 1
        return _pickler().loads(answer)


def _pickler() -> Any:
    """Return what pipes send and receive objects by."""
    from multiprocessing.reduction import ForkingPickler  # noqa: PLC0415 (most commands need none)

    return ForkingPickler


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
def _heirs_leave_signals(*, can_fork: bool) -> Iterator[None]:
    """Block signals to end; a process started now inherits the mask from its first moment."""
    if not hasattr(signal, "pthread_sigmask"):  # pragma: no cover (Windows)
        yield  # workers ignore signals from their first task on
        return
    if not can_fork:
        from multiprocessing import resource_tracker  # noqa: PLC0415 (most start no process)

        resource_tracker.ensure_running()  # or the first process starts it, which undoes the mask
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(pipe: Connection, copied: Connection | None) -> None:
    """Run a worker: answer what arrives through a pipe.

    Signals to end, which may reach all processes of a terminal or service, are left to the parent.
    A copy of it drops its end of the pipe.
    """
    if copied is not None:
        copied.close()
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)
    from streameval.runs.counting import Answers  # noqa: PLC0415 (only workers need it)

    answers = Answers()
    requests: SimpleQueue[Any] = SimpleQueue()
    parent_left = partial(os._exit, 1)  # at once, even in the middle of an answer
    threading.Thread(target=_receive, args=(pipe, requests, parent_left), daemon=True).start()
    with suppress(OSError):  # the parent is no more
        while True:
            pipe.send(answers.to(_pickler().loads(requests.get())))


def _send(pipe: Connection, requests: SimpleQueue[Any]) -> None:
    """Send requests up to None, as long as there is somebody to take them."""
    with suppress(OSError):
        for request in iter(requests.get, None):
            pipe.send_bytes(request)


def _receive(pipe: Connection, messages: SimpleQueue[Any], end: Callable[[], object]) -> None:
    """Take messages ahead, until the other end of the pipe is let go of or its process is no more.

    However that ends, `end` tells it, or the next message would be waited for.
    """
    try:
        with suppress(EOFError, OSError, MemoryError):
            while True:
                messages.put(pipe.recv_bytes())
    finally:
        end()
