"""The driver of an evaluation: starts tasks on an engine and merges what they count."""

from __future__ import annotations

import json
import time
import warnings
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, cycle, islice
from os import PathLike
from pathlib import Path
from typing import Any

import attrs

from streameval.accumulators.parts import Parts
from streameval.accumulators.persistence import from_bytes, load, save
from streameval.configs.options import integer_from
from streameval.engines._counting import (
    OnProgress,
    OptionalColumns,
    SourceCounter,
    States,
    same_layout,
    text_of,
    value_of,
)
from streameval.engines._shipping import Shipment, joined, merged
from streameval.engines._sources import Sources
from streameval.engines._tasks import Cut, Done, FileTask, count_batch, count_files, plan_tasks
from streameval.errors import BadDataError, InvalidInputError

_MAX_SHARES = 16
"""By how many tasks, at most, the states of the values of a column are merged, each a share."""
_SHARES = 4
"""How many shares there are for each slot, at least."""
_SAVING = 0.05
"""The share of the time that goes into saving finished parts."""
_SHOWN = 3

Handle = Any


class Engine(ABC):
    """What runs tasks: each function is called on a worker, and its result stays there."""

    n_slots: int
    at_once: int | None = None
    """How many tasks are started together; None starts all, which `cancel` can stop."""

    @abstractmethod
    def start(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Handle]:
        """Start a task for each call."""

    @abstractmethod
    def start_several(
        self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], n_results: int
    ) -> list[list[Handle]]:
        """Start a task for each call that gives as many results, each with a handle."""

    @abstractmethod
    def merge(self, function: Callable[..., Any], states: Sequence[Handle], lane: int) -> Handle:
        """Start a task that calls `joined` or `merged` on states, before those that count.

        Those of the same lane should run on the same worker, those of the next one on the next.
        """

    @abstractmethod
    def finished(self, handles: Iterable[Handle]) -> Iterator[tuple[Handle, Any]]:
        """Yield handles and their results as these are there, or raise what a task raised.

        Taking a handle may start tasks, so that an engine takes no more than it can run or stop.
        """

    @abstractmethod
    def ready(self, handles: Sequence[Handle]) -> list[Handle]:
        """List the handles whose results are there, without those of tasks that failed."""

    @abstractmethod
    def result(self, handle: Handle) -> Any:
        """Fetch a result, or raise what the task raised."""

    @abstractmethod
    def cancel(self, handles: Sequence[Handle]) -> None:
        """Stop tasks, finished ones too, whose results nobody needs any more."""


@attrs.frozen
class Policy:
    """How tasks are made and failures are treated.

    Parameters
    ----------
    fan_in : int
        How many states a task merges.
    target_bytes : int or None
        How many bytes of files a task counts, about.
    progress : callable or None
        The function that receives the progress.
    on_error : "raise", "skip" or callable
        What happens to a source that cannot be counted.
    resume : path or None
        The file of what has been counted.
    """

    fan_in: int = 8
    target_bytes: int | None = None
    progress: OnProgress | None = None
    on_error: str | Callable[[BadDataError], object] = "raise"
    resume: str | PathLike[str] | None = None

    def __attrs_post_init__(self) -> None:
        """Check what every engine takes."""
        integer_from(2, self.fan_in, name="fan_in")
        if self.target_bytes is not None:
            integer_from(1, self.target_bytes, name="target_bytes")
        if self.on_error not in ("raise", "skip") and not callable(self.on_error):
            raise InvalidInputError(
                f"must be 'raise', 'skip' or callable, got {self.on_error!r}", argument="on_error"
            )

    @property
    def skips(self) -> bool:
        """Whether sources are left out."""
        return self.on_error != "raise"

    def tell(self, left_out: Sequence[BadDataError], n_skipped: int) -> None:
        """Report the sources and the number of rows that were left out."""
        if n_skipped:
            warnings.warn(f"left out {n_skipped:,} rows with nulls", stacklevel=4)
        if callable(self.on_error):
            for error in left_out:
                self.on_error(error)
        elif left_out:
            listed = " ".join(map(str, left_out[:_SHOWN]))
            rest = len(left_out) - _SHOWN
            more = f" And {rest:,} more." if rest > 0 else ""
            warnings.warn(f"left out {len(left_out):,} sources: {listed}{more}", stacklevel=4)


def evaluate_on(engine: Engine, counter: SourceCounter, sources: Sources, policy: Policy) -> Any:
    """Count sources on an engine, and return the accumulator or those by value."""
    paths = sources.paths
    if policy.resume is not None and (sources.batches or sources.streams):
        raise InvalidInputError("needs files, which a later run can recognise", argument="resume")
    finished = _Finished(counter, policy.resume)
    n_merged = None if counter.by is None else policy.fan_in
    cut = Cut(policy.target_bytes, engine.n_slots, n_merged, policy.skips, finished.settings)
    tasks: list[FileTask] = []
    if paths:
        tasks = engine.result(*engine.start(plan_tasks, [(paths, cut, finished.known())]))
    return _Evaluation(engine, counter, policy, finished, tasks, sources).run()


class _Evaluation:
    """One evaluation that is under way."""

    def __init__(
        self,
        engine: Engine,
        counter: SourceCounter,
        policy: Policy,
        finished: _Finished,
        tasks: Sequence[FileTask],
        sources: Sources,
    ) -> None:
        self._engine, self._counter, self._policy = engine, counter, policy
        self._finished = finished
        self._tasks = [task for task in tasks if task not in finished]
        self._again = [task for task in tasks if task in finished]
        self._batches, self._streams = sources.batches, sources.streams
        n_others = len(self._batches) + len(self._streams)
        self._n_all = sum(len(task.pieces) for task in tasks) + n_others
        self._n_done = self._n_skipped = 0
        self._streamed: list[States] = []
        self._layout: OptionalColumns = {}
        self._left_out: list[BadDataError] = []
        self._heads: list[Handle] = []
        self._roots: list[Handle] = []
        self._jobs: dict[Handle, tuple[Sequence[Handle], FileTask | None]] = {}

    def run(self) -> Any:
        """Start the tasks, merge what they count, and end with the first that fails."""
        engine = self._engine
        started = self._start()
        try:
            first = [*islice(started, 1)]
            for again in self._again:
                self._note(self._finished.done(again))
            for stream in self._streams:  # while the tasks run
                done, states = _count(
                    self._counter, *stream, self._policy.skips, n_shares=1, ships_rows=False
                )
                self._note(done)
                self._streamed.append(states)
            for handle, done in engine.finished(chain(first, started)):
                self._keep(done, *self._jobs.pop(handle))
                self._note(done)
            result = self._read(total for _, total in engine.finished(self._roots))
            self._check_some_counted()
        except BaseException:
            if self._finished.is_kept:
                for handle in engine.ready(list(self._jobs)):
                    self._keep(engine.result(handle), *self._jobs[handle])
            engine.cancel([*self._heads, *self._roots])  # the error refers to them while it lives
            self._jobs.clear()
            raise
        finally:
            self._finished.save()
        return self._told(result)

    def _start(self) -> Iterator[Handle]:
        """Start tasks, and merges of those that are started together; yield their handles."""
        n_shares = self._n_shares()
        how = (self._policy.skips, n_shares, self._ships_rows())
        tasks = [*self._tasks, *(None for _ in self._batches)]
        sources = [*((task, "") for task in self._tasks), *self._batches]
        calls = [(self._counter, *source, *how) for source in sources]
        n_together = self._engine.at_once or max(len(calls), 1)
        shares = [_Share(self._engine, self._policy.fan_in, at, n_shares) for at in range(n_shares)]
        for begin in range(0, len(calls), n_together):
            end = begin + n_together
            some = calls[begin:end], tasks[begin:end]
            yield from self._start_some(*some, shares, are_last=end >= len(calls))

    def _start_some(
        self,
        calls: Sequence[tuple[Any, ...]],
        tasks: Sequence[FileTask | None],
        shares: Sequence[_Share],
        *,
        are_last: bool,
    ) -> Sequence[Handle]:
        """Start tasks, and the merges of each share of their states; return handles of reports."""
        started = self._engine.start_several(_count, calls, len(shares) + 1)
        for (head, *states), task in zip(started, tasks, strict=True):
            self._jobs[head] = (states if self._finished.is_kept else (), task)
        heads, *counted = zip(*started, strict=True)
        self._heads += heads
        for share, found in zip(shares, counted, strict=True):
            share.add(found)
            if are_last:
                self._roots.append(share.total())
        return heads

    def _check_some_counted(self) -> None:
        """Raise the first error if every source was left out."""
        if self._left_out and len(self._left_out) >= self._n_all:
            raise self._left_out[0]

    def _n_shares(self) -> int:
        """Choose how many merges share the values of a column, each with its own values.

        There are several for each slot, so that some are fetched and read while others are merged;
        and as many as a merge takes states, so that it holds no more than one task has counted.
        """
        if self._counter.by is None:
            return 1
        n_merged = min(self._policy.fan_in, len(self._tasks) + len(self._batches))
        return min(max(_SHARES * self._engine.n_slots, n_merged), _MAX_SHARES)

    def _ships_rows(self) -> bool:
        """Whether merges count rows: they follow, and nobody keeps what tasks have counted."""
        return len(self._tasks) + len(self._batches) > 1 and not self._finished.is_kept

    def _keep(self, done: Done, shares: Sequence[Handle], task: FileTask | None) -> None:
        """Keep the states of a task for another run."""
        if task is not None and not done.left_out:
            self._finished.add(task, done, partial(map, self._engine.result, shares))

    def _note(self, done: Done) -> None:
        """Record a task, and report progress unless it is the last: merging is still to come."""
        self._layout = same_layout(self._layout, done.layout)
        self._left_out += done.left_out
        self._n_done += done.n_sources
        self._n_skipped += done.n_skipped
        if self._policy.progress is not None and self._n_done < self._n_all:
            self._policy.progress(self._n_done, self._n_all)

    def _read(self, totals: Iterable[States]) -> Any:
        """Read what was merged, while there is more to merge."""
        here = [*self._streamed, *map(self._finished.states, self._again)]
        if here:
            return self._counter.result(merged(*totals, *here))
        return self._counter.result_of(totals)

    def _told(self, result: Any) -> Any:
        """Return a result, and tell what is not in it."""
        if self._policy.progress is not None:
            self._policy.progress(self._n_all, self._n_all)
        self._policy.tell(self._left_out, self._n_skipped)
        return result


class _Share:
    """The states of some values, which are merged while tasks count more of them.

    A merge adds states to the result of an earlier one, so that one result is held, however many
    tasks there are. There are several such chains of merges, which run at the same time, if there
    are fewer shares than slots.

    Parameters
    ----------
    engine : Engine
        What merges.
    fan_in : int
        How many states a task merges.
    number, n_shares : int
        Which share it is, of how many.
    """

    def __init__(self, engine: Engine, fan_in: int, number: int, n_shares: int) -> None:
        self._engine, self._fan_in, self._number = engine, fan_in, number
        n_chains = -(-engine.n_slots // n_shares)
        self._lanes = cycle(range(number, number + max(n_chains, 1) * n_shares, n_shares))
        self._chains: dict[int, Handle] = {}
        self._pending: list[Handle] = []

    def add(self, states: Iterable[Handle]) -> None:
        """Add what tasks have counted; more pending states than a merge takes are merged."""
        self._pending += states
        while len(self._pending) > self._fan_in:
            lane = next(self._lanes)
            before = [self._chains.pop(lane)] if lane in self._chains else []
            n_new = self._fan_in - len(before)
            some, self._pending = self._pending[:n_new], self._pending[n_new:]
            self._chains[lane] = self._engine.merge(joined, [*before, *some], lane)

    def total(self) -> Handle:
        """Merge what is left down to one state."""
        states = [*self._pending, *self._chains.values()]
        while len(states) > self._fan_in:
            some, rest = states[: self._fan_in], states[self._fan_in :]
            states = [*rest, self._engine.merge(joined, some, self._number)]
        return self._engine.merge(merged, states, self._number) if len(states) > 1 else states[0]


class _Finished:
    """Tasks of earlier runs and of this one, in a file of `Parts` if there is to be one.

    A part has the key of its task as its id, and which optional columns the task found; where
    values of a column are counted apart, the value as well.

    Parameters
    ----------
    counter : SourceCounter
        What is counted.
    path : path or None
        The file, which need not exist.
    """

    def __init__(self, counter: SourceCounter, path: str | PathLike[str] | None) -> None:
        _, *settings = attrs.astuple(counter, recurse=False)  # all but what makes accumulators
        self.settings = repr(settings)
        self._path = None if path is None else Path(path)
        self._parts = Parts()
        if self._path is not None and self._path.exists():
            self._parts = load(self._path)
            if not isinstance(self._parts, Parts):
                raise InvalidInputError(f"must be a file of parts, got {path}", argument="resume")
        self._ids: dict[tuple[str, int, str], list[tuple[Any, ...]]] = {}
        for part_id in self._parts:
            if isinstance(part_id, tuple) and len(part_id) in (4, 6):
                first, number, digest = part_id[:3]
                self._ids.setdefault((str(first), int(number), str(digest)), []).append(part_id)
        self._by = counter.by
        self._changed = False
        self._saved_at = self._saved_in = 0.0

    @property
    def is_kept(self) -> bool:
        """Whether there is a file."""
        return self._path is not None

    def known(self) -> dict[tuple[str, int], set[str]]:
        """List the tasks for those who plan."""
        found: dict[tuple[str, int], set[str]] = {}
        for first, number, digest in self._ids:
            found.setdefault((first, number), set()).add(digest)
        return found

    def __contains__(self, task: FileTask) -> bool:
        return bool(self._ids) and task.key(self.settings) in self._ids

    def done(self, task: FileTask) -> Done:
        """Return the report of a task of an earlier run."""
        found = self._ids[task.key(self.settings)]
        has = json.loads(found[0][3])
        first = str(task.pieces[0])
        return Done(len(task.pieces), {name: (is_there, first) for name, is_there in has.items()})

    def states(self, task: FileTask) -> States:
        """Return the states of a task of an earlier run."""
        found = self._ids[task.key(self.settings)]
        return {self._value(part_id[4:]): self._parts[part_id].to_bytes() for part_id in found}

    def _value(self, text: Sequence[str]) -> Any:
        return value_of(*text) if text else None

    def add(self, task: FileTask, done: Done, shares: Callable[[], Iterable[States]]) -> None:
        """Keep what a task has counted."""
        if self._path is None:
            return
        has = json.dumps({name: is_there for name, (is_there, _) in sorted(done.layout.items())})
        for states in shares():
            for value, state in states.items():
                text = () if self._by is None else text_of(value)
                self._parts.add((*task.key(self.settings), has, *text), from_bytes(state))
        self._changed = True
        if time.monotonic() - self._saved_at > self._saved_in / _SAVING:
            self.save()

    def save(self) -> None:
        """Write the file if something is new."""
        if self._changed and self._path is not None:
            start = time.monotonic()
            save(self._parts, self._path)
            self._saved_at = time.monotonic()
            self._saved_in = self._saved_at - start
            self._changed = False


def _count(
    counter: SourceCounter, source: Any, name: str, skips: bool, n_shares: int, ships_rows: bool
) -> tuple[Any, ...]:
    """Count the files of a task, or a batch, into a report and the shares of its states."""
    try:
        done, running = (
            count_files(counter, source, skips=skips)
            if isinstance(source, FileTask)
            else count_batch(counter, source, name)
        )
    except InvalidInputError as error:
        if not skips:
            raise
        return Done(1, {}, (BadDataError(str(error)),)), *_shares({}, n_shares)
    return done, *_shares(running.shipment() if ships_rows else running.states(), n_shares)


def _shares(states: Shipment, n_shares: int) -> list[Shipment]:
    """Distribute states by value, so that no task has to hold all of them."""
    if n_shares == 1:
        return [states]
    dealt: list[dict[Any, Any]] = [{} for _ in range(n_shares)]
    for value, state in states.items():
        dealt[zlib.crc32(repr(value).encode()) % n_shares][value] = state
    return [*dealt]
