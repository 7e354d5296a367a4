"""Accumulators whose small batches are pending until they are counted together."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import chain
from typing import Any, ClassVar, Literal, Self

from streameval.accumulators.base import Accumulator, ConfigT, StateT
from streameval.accumulators.pending import Block, Held, Rows, pending_rows
from streameval.exact.fixed_point import FixedPoint

__all__ = ["BufferedAccumulator"]


class BufferedAccumulator(Accumulator[ConfigT, StateT]):
    """An accumulator with a state and a block of pending rows.

    A subclass reads a batch into columns, which it hands to `_append`, and says how columns are
    counted into a state. Checks belong to `update`, all of them: rows that are pending have been
    accepted, and counting them cannot fail.
    """

    __slots__ = ()

    _held: Held[StateT]
    _order: ClassVar[Literal["C", "F"]] = "C"
    """How columns of several entries a row lie in memory: row by row, or entry by entry."""

    @abstractmethod
    def _capacity(self, state: StateT, rows: Rows) -> int:
        """Choose how many rows like these may be pending beside a state."""

    def _count(self, rows: Rows) -> StateT:
        """Make a state of checked rows. A subclass defines this, or `_with_rows`, or both."""
        return self._with_rows(self._state_type(self._config).zero(self._config), rows)

    def _with_rows(self, state: StateT, rows: Rows) -> StateT:
        """Count checked rows into a state."""
        return self._sum(state, self._count(rows))

    @property
    def _state(self) -> StateT:
        return self._counted(self._held)

    @_state.setter
    def _state(self, state: StateT) -> None:
        self._held = Held.of(state)

    @property
    def _total(self) -> FixedPoint:
        return self._held.n

    def _fork(self) -> Self:
        made = super()._fork()
        made._held = self._held.fixed()
        return made

    def _counted(self, held: Held[StateT]) -> StateT:
        """Count the pending rows."""
        return self._with_rows(held.state, held.rows) if held.used else held.state

    def _append(self, rows: Rows) -> Self:
        """Let a batch of checked rows be pending; count it at once if it is large."""
        self._held = self._extended(self._held, rows)
        return self

    def _extended(self, held: Held[StateT], rows: Rows) -> Held[StateT]:
        if not rows.size:
            return held
        needed = rows.needed
        is_free = held.has_capacity_for(rows, needed)  # asked once: a reader may change it
        if not is_free:
            held = self._next(held, rows)
        if is_free or held.has_capacity_for(rows, needed):
            return held.extended(rows, needed)
        return Held.of(self._with_rows(self._counted(held), rows))

    def _next(self, held: Held[StateT], rows: Rows) -> Held[StateT]:
        """Count what is pending, and make an empty block for rows like these if they fit it."""
        state = self._counted(held)
        capacity = self._capacity(state, rows)
        if rows.size > capacity:
            return Held.of(state)
        return Held.of(state, self._block(rows, capacity))

    def _block(self, rows: Rows, capacity: int) -> Block:
        """Make an empty block for rows like these."""
        return Block.like(rows, capacity, order=self._order)

    def _sum_of(self, alike: Sequence[Any]) -> StateT:
        """Count the pending rows of all together: a few cost as much as thousands."""
        held: list[Held[StateT]] = [one._held for one in alike]
        size = max(one.block.capacity for one in held)
        pending = map(self._count, pending_rows(held, size))
        return self._sum_all(chain([one.state for one in held], pending))
