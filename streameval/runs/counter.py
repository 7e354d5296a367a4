"""Blocks counted one after the other by one process, the first or a worker."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np

from streameval.errors import BadDataError, CountOverflowError, InvalidInputError, StreamevalError
from streameval.io.blocks import Block, Emptied
from streameval.io.errors import shown
from streameval.runs.counting import BlockCounts, Plan, count

_BUFFERED_ROWS = 2**22
"""A large state takes long to change; past so many rows, merges of like states are faster."""

Counted = tuple[BlockCounts | None, Exception | None]
"""What a block comes to, and what ended that."""


class Counter:
    """Count blocks one after the other.

    Parameters
    ----------
    plan : Plan
        How they are counted.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._n_rows = 0
        self._source = ""
        self._open: Any = None

    def count(self, block: Block) -> BlockCounts:
        """Count a block; the next ones may be counted by the same accumulator."""
        plan = self._plan
        counted = count(block, plan, self._open, may_renew=plan.is_bounded)
        self._n_rows += counted.n_good
        if plan.is_bounded or (plan.is_buffered and self._n_rows < _BUFFERED_ROWS):
            self._open = counted.accumulator
        else:
            self._open, self._n_rows = None, 0
        return counted

    def count_closed(self, block: Block) -> BlockCounts:
        """Count a block, and return no accumulator that the next ones may be counted by.

        If the one before is left for a new one, it is returned.
        """
        before = self._open
        counted = self.count(block)
        self._source = counted.source
        if counted.accumulator is not self._open:
            return counted
        is_left = before is not None and before is not self._open
        return attrs.evolve(counted, accumulator=before if is_left else None)

    def answer(self, block: Block | Emptied) -> Counted:
        """Count a block as `count_closed` does, or return what ended that."""
        try:
            return self.count_closed(block.filled() if isinstance(block, Emptied) else block), None
        except StreamevalError as error:
            return None, error

    def rest(self) -> BlockCounts | None:
        """Return the accumulator that more blocks might have been counted by."""
        held, self._open = self._open, None
        return None if held is None else BlockCounts(self._source, held, 0, [], 0)


class Answers:
    """What a worker answers: it counts blocks by the plan before them."""

    def __init__(self) -> None:
        self._counter: Any = None

    def to(self, request: Plan | Block | Emptied | None) -> BlockCounts | Counted | None:
        """Answer a block with its count, and None with the accumulator that may count more."""
        if isinstance(request, Plan):
            self._counter = Counter(request)
            return None  # it is up
        if request is None:
            rest: BlockCounts | Counted | None = self._counter.rest()
            return rest
        return _answered(self._counter, request)


def _answered(counter: Counter, block: Block | Emptied) -> Counted:
    """Count a block in a worker; what was not expected says where it happened."""
    try:
        return counter.answer(block)
    except Exception as error:
        error.add_note(f"In a worker process:\n{traceback.format_exc()}")
        return None, error


class Gathered:
    """Batches that are held until the last row of every query has been read.

    Parameters
    ----------
    make : callable
        Makes an empty accumulator of groups, which takes complete queries; the accumulator of a
        group also takes parts of queries.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        trial = make()
        while "accumulator" in trial.options:
            trial = trial.options["accumulator"]
        self._trial = trial
        self._batches: list[Mapping[str, Any]] = []

    def update(
        self, batch: Mapping[str, Any], update: Callable[[Any, Mapping[str, Any]], object]
    ) -> None:
        """Hold a batch whose rows the trial accumulator does not refuse."""
        update(self._trial.copy(), batch)
        self._batches.append(batch)

    def merge(self, other: Gathered) -> None:
        """Add the batches that another one holds."""
        self._batches += other._batches

    def counted(self, plan: Plan) -> Any:
        """Count all rows together.

        Raises
        ------
        BadDataError
            If the rows of a query are inconsistent; the message names it.
        """
        accumulator, held = self._make(), self._batches
        if held:
            batch = {name: np.concatenate([part[name] for part in held]) for name in held[0]}
            try:
                accumulator.update(batch)
            except (InvalidInputError, CountOverflowError) as error:
                reason = plan.message_of(error, with_position=False).removesuffix(".")
                raise BadDataError(f"{reason}{_of_query(error.position, batch)}.") from None
        return accumulator


def _of_query(position: Any, batch: Mapping[str, Any]) -> str:
    """Name the query of a row, as the end of a sentence."""
    if position is None:
        return ""
    (query,) = batch["query"][position : position + 1].tolist()
    return f", in query {shown(query)}"
