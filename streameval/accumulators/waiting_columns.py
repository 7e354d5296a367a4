"""Rows that wait to be summed together: small batches cost a copy each, not a dozen of sums."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt

from streameval.accumulators.base import Accumulator, ConfigT, StateT
from streameval.exact.fixed_point import MAX_TOTAL, FixedPoint

__all__ = ["WaitingAccumulator", "WaitingColumns"]

Array = npt.NDArray[Any]

_ENTRIES = 2**14  # of one column: from so many on, adding up takes longer than the calls for it


@attrs.frozen(eq=False)
class WaitingColumns:
    """Columns that fill up with rows of weight 1.

    Rows are written behind those in use, and the object with the new number replaces this one,
    so that a reader never sees half a batch.
    """

    columns: tuple[Array, ...]
    used: int = 0

    @classmethod
    def beside(cls, columns: tuple[Array, ...]) -> Self:
        """Make empty columns for rows like these."""
        widest = max(int(np.prod(column.shape[1:])) for column in columns)
        rows = max(_ENTRIES // widest, 1)
        return cls(tuple(np.empty((rows, *part.shape[1:]), part.dtype) for part in columns))

    def __len__(self) -> int:
        """Give the number of rows for which there is room."""
        return len(self.columns[0])

    def have_room_for(self, columns: tuple[Array, ...]) -> bool:
        """Tell whether a batch fits."""
        return self.used + len(columns[0]) <= len(self)

    def with_rows(self, columns: tuple[Array, ...]) -> Self:
        """Write a batch, for which there is room, behind the rows in use."""
        end = self.used + len(columns[0])
        for room, column in zip(self.columns, columns, strict=True):
            room[self.used : end] = column
        return type(self)(self.columns, end)

    def to_columns(self) -> tuple[Array, ...]:
        """Give the rows in use."""
        return tuple(column[: self.used] for column in self.columns)

    @staticmethod
    def joined(parts: Iterable[WaitingColumns]) -> Iterator[tuple[Array, ...]]:
        """Give the rows in use of several, up to twice what one has room for at a time."""
        together: list[tuple[Array, ...]] = []
        rows = 0
        for part in parts:
            together.append(part.to_columns())
            rows += part.used
            if rows >= len(part):
                yield _end_to_end(together)
                together, rows = [], 0
        if together:
            yield _end_to_end(together)


def _end_to_end(parts: Sequence[tuple[Array, ...]]) -> tuple[Array, ...]:
    return tuple(map(np.concatenate, zip(*parts, strict=True)))


class WaitingAccumulator(Accumulator[ConfigT, StateT]):
    """An accumulator whose small batches of weight 1 wait to be summed together."""

    __slots__ = ()

    # a state and the rows that are not in it yet; both are replaced as one
    _held: tuple[StateT, WaitingColumns | None]

    @abstractmethod
    def _sum_rows(self, columns: tuple[Any, ...]) -> StateT:
        """Make a state of checked columns."""

    @property
    def _state(self) -> StateT:
        state, waiting = self._held
        if waiting is None:
            return state
        total: StateT = state + self._sum_rows(waiting.to_columns())
        return total

    @_state.setter
    def _state(self, state: StateT) -> None:
        self._held = state, None

    def _sum_of(self, alike: Sequence[Any]) -> StateT:
        """Sum the rows that wait in all of them together: a few cost as much as thousands."""
        held: list[Any] = [one._held for one in alike]
        waiting = (rows for _, rows in held if rows is not None)
        batches = map(self._sum_rows, WaitingColumns.joined(waiting))
        return self._sum_all(chain((state for state, _ in held), batches))

    @property
    def _total(self) -> FixedPoint:
        state, waiting = self._held
        return state.n if waiting is None else state.n + FixedPoint(np.array(waiting.used))

    def _count_rows(self, *columns: Array) -> Self:
        """Let a small batch of checked rows wait; sum a large one, and what waits if it is full."""
        state, waiting = self._held
        room = waiting or WaitingColumns.beside(columns)
        if 2 * len(columns[0]) > len(room) or state.n.whole > MAX_TOTAL - 2 * len(room):
            return self._absorb(self._sum_rows(columns))
        if room.have_room_for(columns):
            self._held = state, room.with_rows(columns)
        else:
            self._held = self._state, WaitingColumns.beside(columns).with_rows(columns)
        return self
