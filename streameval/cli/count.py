"""One block counted: the same function in one process and in many."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import attrs

from streameval.cli.wording import in_words_of_the_user
from streameval.errors import CountOverflowError, InvalidInputError
from streameval.io import BadRow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from streameval.cli.plan import Plan
    from streameval.io import Block

__all__ = ["Counted", "count"]

# The position in the batch of one row that was left after bisection says nothing.
_POSITION = re.compile(r" at position (0|\(0, \d+\))| in row 0")


@attrs.frozen
class Counted:
    """What one block comes to.

    Parameters
    ----------
    source : str
        The name of the file.
    accumulator : accumulator
        The good rows, counted.
    n_good : int
        How many there are.
    bad : list of BadRow
        The others, in order.
    taken : int
        How many bytes of the file the block covers.
    """

    source: str
    accumulator: Any
    n_good: int
    bad: list[BadRow]
    taken: int


def count(block: Block, plan: Plan) -> Counted:
    """Parse a block and count its good rows.

    Raises
    ------
    BadDataError
        If the block as a whole cannot be read.
    """
    parsed = block.parse(plan.columns)
    accumulator = plan.make()
    refused = _update(accumulator, parsed.batch, parsed.places, plan.max_bad + 1)
    faults = [(place, _reason(message, plan)) for place, message in refused]
    bad = [BadRow(block.source, block.unit, *fault) for fault in sorted(parsed.faults + faults)]
    return Counted(block.source, accumulator, len(parsed.places) - len(refused), bad, block.taken)


def _update(
    accumulator: Any, batch: Mapping[str, Any], places: Sequence[int], limit: int
) -> list[tuple[int, str]]:
    """Count all rows but those that the accumulator refuses, found by bisection.

    A failed update leaves no trace, so halves can be tried on the accumulator itself. The
    search ends after `limit` of them, where the run is lost anyway.
    """
    if not places:
        return []
    try:
        accumulator.update(batch)
    except (InvalidInputError, CountOverflowError) as error:
        if len(places) == 1:
            return [(places[0], str(error))]
    else:
        return []
    refused: list[tuple[int, str]] = []
    half = len(places) // 2
    for part in (slice(half), slice(half, None)):
        if len(refused) < limit:
            rows = {name: array[part] for name, array in batch.items()}
            refused += _update(accumulator, rows, places[part], limit - len(refused))
    return refused


def _reason(message: str, plan: Plan) -> str:
    """Say what is wrong with one row, as the end of a sentence."""
    return _POSITION.sub("", in_words_of_the_user(message, plan.columns)).removesuffix(".")
