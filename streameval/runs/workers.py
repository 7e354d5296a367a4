"""Blocks counted by this process or by several, in order either way."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from streameval.errors import StreamevalError
from streameval.io.blocks import Block
from streameval.runs.counting import BlockCounts, Counted, Counter, Plan
from streameval.runs.processes import AHEAD, Team, Worker

_LOOK_SECONDS = 0.1
"""So long a count tells how long the rest will take."""
_WORTH_SECONDS = 0.8
"""A worker takes 0.3 to 0.4 s to start; it is worth that where it saves twice as much."""
_MAX_PENDING = 4 * AHEAD
"""Blocks counted or sent behind one that is not counted yet; a limit of memory."""


def count_all(
    blocks: Iterable[Block], plan: Plan, team: Team, size: int | None = None
) -> Iterator[BlockCounts]:
    """Count blocks here and in the workers of a team; in the order of the blocks.

    If no worker runs yet, some are started once the rest is worth it. Whatever they have counted
    by the end comes last. They run on, and can count again by another plan.

    Parameters
    ----------
    blocks : iterable of Block
    plan : Plan
    team : Team
        The workers.
    size : int, optional
        How many bytes the blocks take, if that is known.
    """
    left = iter(blocks)
    if not team.n_max:
        yield from _count_here(left, plan)
        return
    alone = _Alone(size)
    if not team.workers:
        yield from _count_here(alone.short(left), plan)
        team.start(alone.n_worth)
    if team.workers:
        yield from _count_together(left, plan, team.workers, alone.n_left)


def _count_here(blocks: Iterable[Block], plan: Plan) -> Iterator[BlockCounts]:
    """Count blocks one by one; one accumulator counts many of them if it can."""
    counter = Counter(plan)
    return map(counter.count, blocks)


class _Alone:
    """How long one process counts before others are started.

    Parameters
    ----------
    size : int, optional
        How many bytes there are to read, if that is known.

    Attributes
    ----------
    n_worth : int
        How many workers the rest is worth, once that is known.
    n_left : int or None
        How many bytes are left.
    """

    def __init__(self, size: int | None) -> None:
        self.n_worth = 0
        self.n_left = size

    def short(self, blocks: Iterator[Block]) -> Iterator[Block]:
        """Yield blocks until the rest of them is worth a worker.

        The first one is not timed: modules are imported for it.
        """
        timed, start = 0, 0.0
        for block in blocks:
            yield block
            now = time.process_time()
            timed += block.taken if start else 0
            start = start or now
            self.n_left = _without(self.n_left, block)
            if now - start >= _LOOK_SECONDS and timed:
                self.n_worth = int(self._rest(now - start, timed) / _WORTH_SECONDS)
                if self.n_worth:
                    return

    def _rest(self, seconds: float, timed: int) -> float:
        """Predict the seconds that the rest takes; where its size is unknown, as many as so far."""
        return seconds if self.n_left is None else seconds / timed * self.n_left


def _count_together(
    left: Iterator[Block], plan: Plan, workers: Sequence[Worker], n_left: int | None
) -> Iterator[BlockCounts]:
    """Count blocks here and in workers; each keeps its accumulator as long as it can."""
    here = Counter(plan)
    pending: deque[Counted | Worker] = deque()  # a worker, for its next answer
    asked: set[Worker] = set()
    for worker in workers:
        worker.begin(plan)
    for block, error in _until_error(left):
        if error is not None:
            pending.append((None, error))
            break
        n_left = _without(n_left, block)
        most = _most_ahead(block, n_left, len(workers))
        ready = [worker for worker in workers if worker.n_ahead() < most]
        if ready:
            worker = min(ready, key=Worker.n_ahead)
            worker.ask(block)
            asked.add(worker)
            pending.append(worker)
        else:
            pending.append(here.answer(block))
        while pending and (_is_known(pending[0]) or len(pending) > _MAX_PENDING * len(workers)):
            yield _told(pending.popleft())
    while pending:
        yield _told(pending.popleft())
    for worker in asked:
        worker.ask(None)
    rests = [here.rest(), *(worker.answer() for worker in workers if worker in asked)]
    yield from (rest for rest in rests if rest is not None)


def _most_ahead(block: Block, n_left: int | None, n_workers: int) -> int:
    """Return how many blocks a worker may have: fewer at the end, so that all end together."""
    if n_left is None:
        return AHEAD
    return min(AHEAD, 1 + n_left // (max(block.taken, 1) * (n_workers + 1)))


def _without(n_left: int | None, block: Block) -> int | None:
    """Return how many bytes are left after a block, if that is known; none of a file that grows."""
    return None if n_left is None else max(n_left - block.taken, 0)


def _until_error(blocks: Iterator[Block]) -> Iterator[tuple[Any, StreamevalError | None]]:
    """Yield blocks, and what ends the reading in their order."""
    try:
        for block in blocks:
            yield block, None
    except StreamevalError as error:
        yield None, error


def _is_known(counted: Counted | Worker) -> bool:
    return not isinstance(counted, Worker) or counted.has_answered()


def _told(counted: Counted | Worker) -> BlockCounts:
    """Return what a block comes to, or raise what ended that."""
    found, error = counted.answer() if isinstance(counted, Worker) else counted
    if found is None:
        raise cast("Exception", error)
    return cast("BlockCounts", found)
