"""Accumulators whose small batches are pending until they are counted together."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

from streameval.accumulators.base import Accumulator, ConfigT, StateT
from streameval.accumulators.pending import (
    BufferedState,
    RowBuffer,
    Rows,
    pending_rows,
)
from streameval.exact.fixed_point import FixedPoint


class BufferedAccumulator(Accumulator[ConfigT, StateT]):
    """An accumulator with a state and a block of pending rows.

    A subclass reads a batch into columns for `_append`, and defines how columns are counted into
    a state. All checks belong to `update`: pending rows have been accepted, and counting them
    cannot fail.
    """

    __slots__ = ()

    _held: BufferedState[StateT]

    @abstractmethod
    def _capacity(self, state: StateT, rows: Rows) -> int:
        """Choose the max number of pending rows like these beside a state."""

    def _count(self, rows: Rows) -> StateT:
        """Make a state of checked rows. A subclass defines this, or `_with_rows`, or both."""
        return self._with_rows(self._state_type(self._config).zero(self._config), rows)

    def _with_rows(self, state: StateT, rows: Rows) -> StateT:
        """Count checked rows into a state."""
        return self._sum(state, self._count(rows))

    @property
    def _state(self) -> StateT:
        return self._counted_state(self._held)

    @_state.setter
    def _state(self, state: StateT) -> None:
        self._held = BufferedState.of(state)

    @property
    def _total(self) -> FixedPoint:
        return self._held.n

    def _fork(self) -> Self:
        made = super()._fork()
        made._held = self._held.snapshot()
        return made

    def _counted_state(self, buffered: BufferedState[StateT]) -> StateT:
        """Count the pending rows, and cache the state until more rows arrive."""
        return buffered.state_by(self._with_rows)

    def _put(self, first: Any, second: Any) -> bool:
        """Write a row of two Python numbers behind the pending ones; False if it is unusual.

        Arrays of one row take ten times as long: they are for whatever is unusual.
        """
        held = self._held
        block, used = held.block, held.used
        limits = block.limits
        if limits is None or used >= block.capacity or block.weights is not None:
            return False
        low, high, lowest, highest = limits
        if not (low <= first <= high and lowest <= second <= highest):
            return False
        one, other = block.columns
        one[used] = first
        other[used] = second
        held.used = used + 1
        return True

    def _append(self, rows: Rows) -> Self:
        """Buffer a batch of checked rows; a large one is counted at once."""
        self._held = self._appended(self._held, rows)
        return self

    def _appended(self, buffered: BufferedState[StateT], rows: Rows) -> BufferedState[StateT]:
        """Write rows after the pending ones, into a new block if needed, or count them."""
        if not rows.size:
            return buffered
        needed = rows.needed
        if buffered.has_capacity_for(rows, needed):
            return buffered.extended(rows, needed)
        state = self._counted_state(buffered)
        capacity = self._capacity(state, rows)
        if rows.size <= capacity:
            empty: BufferedState[StateT] = BufferedState.of(state, self._block(rows, capacity))
            if empty.has_capacity_for(rows, needed):
                return empty.extended(rows, needed)
        return BufferedState.of(self._with_rows(state, rows))

    def _block(self, rows: Rows, capacity: int) -> RowBuffer:
        """Make an empty block for rows like these."""
        return RowBuffer.like(rows, capacity)

    def _fold(self, alike: Sequence[Any]) -> BufferedState[StateT]:
        """Count all pending rows together: counting a few costs as much as counting thousands."""
        buffered: list[BufferedState[StateT]] = [one._held for one in alike]
        pending = map(self._count, pending_rows(buffered))
        return BufferedState.of(self._sum(*(one.state for one in buffered), *pending))
