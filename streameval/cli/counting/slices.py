"""`--by`: rows counted by the values of a column, each value for itself."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from streameval.accumulators.merging import merge
from streameval.io import Column, Texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from streameval.cli.counting.plan import Plan

__all__ = ["ARGUMENT", "Sliced", "Slices", "sliced", "value_column"]

ARGUMENT = "slice"
"""What the column of the values is called in a batch."""


@attrs.frozen(kw_only=True)
class Slices:
    """Results, or accumulators, by the values of a column.

    Parameters
    ----------
    column : str
        The name of the column.
    by_value : dict from str or None
        That of each value; None is a missing one.
    other : object
        That of the rows with any other value; None if there is no such row.
    """

    column: str
    by_value: dict[str | None, Any]
    other: Any

    def __iter__(self) -> Iterator[Any]:
        """Give those of the values, and then that of the rest, if there is one."""
        yield from self.by_value.values()
        if self.other is not None:
            yield self.other

    def computed(self) -> Slices:
        """Give the results of accumulators."""
        return Slices(
            column=self.column,
            by_value={value: held.compute() for value, held in self.by_value.items()},
            other=None if self.other is None else self.other.compute(),
        )


class Sliced:
    """An accumulator for each value, and one for the rest.

    Parameters
    ----------
    make : callable
        Makes an empty accumulator.
    values : tuple of str or None
        The values that have one of their own.
    """

    def __init__(self, make: Callable[[], Any], values: tuple[str | None, ...]) -> None:
        self._places = {value: place for place, value in enumerate(values)}
        self._parts = [make() for _ in range(len(values) + 1)]
        self._is_met = [False] * len(self._parts)

    def update(self, batch: Mapping[str, Any], update: Callable[[Any, Any], str]) -> None:
        """Count each row of a batch where it belongs, all or nothing.

        Parameters
        ----------
        batch : mapping from argument to array
            The rows, with their values.
        update : callable
            Counts rows with one accumulator.
        """
        rest = len(self._parts) - 1
        places = np.array([self._places.get(value, rest) for value in batch[ARGUMENT]])
        met = np.unique(places).tolist()
        changed = {place: self._parts[place].copy() for place in met}
        for place, part in changed.items():
            rows = places == place
            arrays = ((name, array[rows]) for name, array in batch.items() if name != ARGUMENT)
            update(part, dict(arrays))
        for place, part in changed.items():
            self._parts[place], self._is_met[place] = part, True

    def merge(self, other: Sliced) -> None:
        """Add what another one has counted."""
        for place, part in enumerate(other._parts):
            if other._is_met[place]:
                self._parts[place].merge(part)
                self._is_met[place] = True

    def total(self) -> Any:
        """Merge the parts: that is what all rows would have come to at once."""
        return merge(self._parts)

    def slices(self, column: str) -> Slices:
        """Give the accumulators by value."""
        by_value = dict(zip(self._places, self._parts, strict=False))
        return Slices(
            column=column, by_value=by_value, other=self._parts[-1] if self._is_met[-1] else None
        )


def value_column(name: str) -> Column:
    """Read the value of each row as text."""
    return Column(ARGUMENT, (name,), Texts())


def sliced(plan: Plan, column: str, values: tuple[str | None, ...]) -> Plan:
    """Change a plan into one that counts each value for itself."""
    return attrs.evolve(
        plan,
        make=partial(Sliced, plan.make, values),
        columns=(*plan.columns, value_column(column)),
        update=partial(_update, update=plan.update),
    )


def _update(slices: Sliced, batch: Mapping[str, Any], *, update: Callable[[Any, Any], str]) -> str:
    slices.update(batch, update)
    return ""
