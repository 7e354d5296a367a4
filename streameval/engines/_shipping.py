"""What travels between the tasks of a run: states as bytes, and rows that are cheaper uncounted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from streameval.accumulators.base import Accumulator
from streameval.accumulators.merging import merge
from streameval.accumulators.pending import Rows
from streameval.accumulators.persistence import from_bytes

__all__ = ["Shipment", "Uncounted", "joined", "merged", "shipped"]


@attrs.frozen(eq=False)
class Uncounted:
    """An accumulator whose rows are all pending.

    Counting the rows of several tasks at once takes half of the time of counting those of each,
    checking the states that come out, and merging them.

    Parameters
    ----------
    empty : Accumulator
        What counts them.
    rows : Rows
        With neither weights nor a dictionary.
    """

    empty: Accumulator[Any, Any]
    rows: Rows

    def __sizeof__(self) -> int:
        """Tell engines that look after their memory how much there is."""
        return sum(column.nbytes for column in self.rows.columns)

    def counted_in(self, accumulator: Any) -> Any:
        """Add the rows to an accumulator of the same class and options."""
        accumulator._take_rows(self.rows)
        return accumulator


Shipment = Mapping[Any, bytes | Uncounted]
"""What a task has of each value of the column `by`, or of all rows under None."""


def shipped(accumulator: Any, empty: Any) -> bytes | Uncounted:
    """Choose how an accumulator travels: as rows, if it says that this takes less work."""
    rows = accumulator._rows_to_ship()
    return accumulator.to_bytes() if rows is None else Uncounted(empty, rows)


def merged(*parts: Shipment) -> dict[Any, bytes]:
    """Merge states into new ones; the arguments are left alone, so it may run any number of times.

    Examples
    --------
    >>> import streameval as se
    >>> part = {None: se.ConfusionAccumulator().update([1, 0], [1, 1]).to_bytes()}
    >>> whole = merged(part, merged(part, part))
    >>> se.from_bytes(whole[None]).n
    6
    """
    return _merged(parts, lambda accumulator, _: accumulator.to_bytes())


def joined(*parts: Shipment) -> Shipment:
    """Merge what still has to be merged with more, leaving rows uncounted if they are few."""
    return _merged(parts, shipped)


def _merged(parts: Sequence[Shipment], finish: Callable[[Any, Any], Any]) -> dict[Any, Any]:
    by_value: dict[Any, list[bytes | Uncounted]] = {}
    for part in parts:
        for value, state in part.items():
            by_value.setdefault(value, []).append(state)
    return {value: _one(states, finish) for value, states in by_value.items()}


def _one(parts: Sequence[bytes | Uncounted], finish: Callable[[Any, Any], Any]) -> Any:
    states = [part for part in parts if not isinstance(part, Uncounted)]
    uncounted = [part for part in parts if isinstance(part, Uncounted)]
    if not uncounted and len(states) == 1:
        return states[0]  # what one part alone has needs no reading
    made = merge(map(from_bytes, states)) if states else uncounted[0].empty.copy()
    if not uncounted:
        return made.to_bytes()
    for part in uncounted:  # after the states, whose cells show where to count rows
        part.counted_in(made)
    return finish(made, uncounted[0].empty)
