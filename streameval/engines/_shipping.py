"""What travels between the tasks of a run: states as bytes, and rows that are cheaper uncounted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from streameval.accumulators.base import Accumulator
from streameval.accumulators.parts import merge
from streameval.accumulators.pending import Rows
from streameval.accumulators.persistence import from_bytes


@attrs.frozen(eq=False)
class Uncounted:
    """An accumulator whose rows are all pending.

    Counting the rows of several tasks at once takes half of the time of counting those of each,
    checking the states that come out, and merging them.

    Parameters
    ----------
    kind : type
        The class of the accumulator.
    config : Config
        Its options.
    rows : Rows
        With neither weights nor a dictionary.
    """

    kind: type[Accumulator[Any, Any]]
    config: Any
    rows: Rows

    def __sizeof__(self) -> int:
        """Tell engines that look after their memory how much there is."""
        return sum(column.nbytes for column in self.rows.columns)

    def empty(self) -> Any:
        """Make an accumulator of this class and options that has counted nothing."""
        return self.kind._empty(self.config)


Shipment = Mapping[Any, bytes | Uncounted]
"""What a task has of each value of the column `by`, or of all rows under None."""


def shipped(accumulator: Any) -> bytes | Uncounted:
    """Choose how an accumulator travels: as rows, if it says that this takes less work."""
    loose = accumulator._loose_rows
    to_ship = None if loose is None else loose.to_ship
    rows = None if to_ship is None else to_ship(accumulator._config, accumulator._held)
    if rows is None:
        state: bytes = accumulator.to_bytes()
        return state
    return Uncounted(type(accumulator), accumulator._config, rows)


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
    return _merged(parts, Accumulator.to_bytes)


def joined(*parts: Shipment) -> Shipment:
    """Merge what still has to be merged with more, leaving rows uncounted if they are few."""
    return _merged(parts, shipped)


def _merged(parts: Sequence[Shipment], finish: Callable[[Any], Any]) -> dict[Any, Any]:
    by_value: dict[Any, list[bytes | Uncounted]] = {}
    for part in parts:
        for value, state in part.items():
            by_value.setdefault(value, []).append(state)
    return {value: _one(states, finish) for value, states in by_value.items()}


def _one(parts: Sequence[bytes | Uncounted], finish: Callable[[Any], Any]) -> Any:
    states = [part for part in parts if not isinstance(part, Uncounted)]
    uncounted = [part for part in parts if isinstance(part, Uncounted)]
    if not uncounted and len(states) == 1:
        return states[0]  # what one part alone has needs no reading
    made = merge(map(from_bytes, states)) if states else uncounted[0].empty()
    if not uncounted:
        return made.to_bytes()
    for part in uncounted:  # after the states, whose cells show where to count rows
        made._append(part.rows)
    return finish(made)
