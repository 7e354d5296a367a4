"""Accumulators by value, and one for the values without a slice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import attrs

from streameval.inputs.values import Value
from streameval.states.sealed import detached

__all__ = ["Slices"]

MergeAll = Callable[[Sequence[Sequence[Any]]], Sequence[Any]]


@attrs.frozen
class Slices:
    """The slices of the observed values that are first in a fixed order.

    The accumulators never change: an update makes new slices from forks. The rows alone decide
    which values are kept: a value among the first of all rows was among the first of every
    part, so its slice is complete, and `other` holds the rest.

    Parameters
    ----------
    parts : dict from value to accumulator or Sealed
        The slices of observed values.
    other : accumulator, Sealed or None
        None while every value has a slice.
    total : accumulator or None
        The accumulator of all rows, if it is known.
    """

    parts: dict[Value, Any]
    other: Any
    total: Any = attrs.field(default=None, eq=False)

    @classmethod
    def zero(cls, config: Any) -> Self:
        """Make an empty state."""
        return cls({}, None, config.accumulator.empty())

    @property
    def accumulators(self) -> list[Any]:
        """All accumulators, `other` last."""
        return [*self.parts.values(), *([] if self.other is None else [self.other])]

    def detached(self) -> Self:
        """Copy the accumulators, so that later updates change only one of the two."""
        return attrs.evolve(
            self,
            parts={value: detached(part) for value, part in self.parts.items()},
            other=None if self.other is None else detached(self.other),
            total=None if self.total is None else self.total.copy(),
        )

    @classmethod
    def sum_of(
        cls,
        states: Sequence[Self],
        kept: Callable[[Iterable[Value]], set[Value]],
        merge_all: MergeAll,
    ) -> Self:
        """Merge slices, value by value.

        Parameters
        ----------
        states : sequence of Slices
        kept : callable
            Chooses which of the observed values have a slice.
        merge_all : callable
            Merges each group of one or more accumulators into one.
        """
        groups: dict[Value, list[Any]] = {}
        for state in states:
            for value, part in state.parts.items():
                groups.setdefault(value, []).append(part)
        rest = [state.other for state in states if state.other is not None]
        for value in groups.keys() - kept(groups):
            rest += groups.pop(value)
        merged = merge_all([*groups.values(), *([rest] if rest else [])])
        parts = dict(zip(groups, merged, strict=False))
        return cls(parts, merged[-1] if rest else None)
