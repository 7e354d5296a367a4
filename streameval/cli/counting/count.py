"""One block counted: the same function in one process and in many."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import attrs

from streameval.cli.wording import in_words_of_the_user
from streameval.errors import BadDataError, CountOverflowError, InvalidInputError
from streameval.io import BadRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from streameval.cli.counting.plan import Plan
    from streameval.io import Block
    from streameval.io.rows import Fault

__all__ = ["MAYBE_PARTIAL", "Counted", "bad_rows", "count"]

MAYBE_PARTIAL = " and may still be being written; --partial-last-line skip leaves it for next time"

# The position in the batch of one row that was left after bisection says nothing, and that of
# a document of a run not either: it is from another file.
_POSITION = re.compile(r" at position (0|\(0, \d+\))| in row 0")
_ANY_POSITION = re.compile(r" at position \d+")


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
    text : str
        What is to be printed of the rows.
    unique : list
        What no other row may hold.
    """

    source: str
    accumulator: Any
    n_good: int
    bad: list[BadRow]
    taken: int
    text: str = ""
    unique: list[Any] = attrs.field(factory=list)


def count(block: Block, plan: Plan) -> Counted:
    """Parse a block and count its good rows.

    Raises
    ------
    BadDataError
        If the block as a whole cannot be read, or its rows do not fit together.
    """
    parsed = block.parse(plan.columns)
    accumulator = plan.make()
    batch, places, text, refused = parsed.batch, parsed.places, "", []
    if len(places):
        try:
            text = plan.update(accumulator, batch)
        except (InvalidInputError, CountOverflowError):
            refused = _refused(plan.make(), batch, places, plan.max_bad + 1, plan)
            batch = _without(batch, places, {place for place, _ in refused})
            text = "" if len(refused) > plan.max_bad else _rest(accumulator, batch, block, plan)
    faults = [(place, _reason(message, plan, block)) for place, message in refused]
    return Counted(
        block.source,
        accumulator,
        parsed.n_rows - len(refused),
        bad_rows(block, sorted(parsed.faults + faults)),
        block.taken,
        text,
        [] if plan.unique is None else batch[plan.unique].tolist(),
    )


def bad_rows(block: Block, faults: Iterable[Fault]) -> list[BadRow]:
    """Name the rows of a block that cannot be counted; one may still be being written."""
    advice = f"; {block.unended}{MAYBE_PARTIAL}" if block.unended else ""
    return [
        BadRow(block.source, block.unit, place, f"{reason}{advice}") for place, reason in faults
    ]


def _refused(
    accumulator: Any, batch: Mapping[str, Any], places: Sequence[Any], limit: int, plan: Plan
) -> list[Fault]:
    """Find the rows that an accumulator refuses, by bisection.

    A failed update leaves no trace, so halves can be tried on the accumulator itself. The
    search ends after `limit` of them, where the run is lost anyway.
    """
    try:
        plan.update(accumulator, batch)
    except (InvalidInputError, CountOverflowError) as error:
        if len(places) == 1:
            return [(places[0], str(error))]
    else:
        return []
    refused: list[Fault] = []
    half = len(places) // 2
    for part in (slice(half), slice(half, None)):
        if len(refused) < limit:
            rows = {name: array[part] for name, array in batch.items()}
            refused += _refused(accumulator, rows, places[part], limit - len(refused), plan)
    return refused


def _without(batch: Mapping[str, Any], places: Sequence[Any], bad: set[Any]) -> Mapping[str, Any]:
    good = [place not in bad for place in places]
    return {name: array[good] for name, array in batch.items()}


def _rest(accumulator: Any, batch: Mapping[str, Any], block: Block, plan: Plan) -> str:
    """Count the rows that are good alone; they may not be so together."""
    if not any(map(len, batch.values())):
        return ""
    try:
        return plan.update(accumulator, batch)
    except (InvalidInputError, CountOverflowError) as error:
        raise BadDataError(f"{block.source}: {_reason(str(error), plan, block)}.") from None


def _reason(message: str, plan: Plan, block: Block) -> str:
    """Say what is wrong with one row, as the end of a sentence."""
    position = _ANY_POSITION if block.unit == "query" else _POSITION
    return position.sub("", in_words_of_the_user(message, plan.columns)).removesuffix(".")
