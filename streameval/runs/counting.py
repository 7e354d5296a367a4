"""How blocks are counted: a plan, and one function for one process, for many, and on engines."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from streameval.errors import (
    ArgumentNames,
    BadDataError,
    CountOverflowError,
    InvalidInputError,
    Named,
    StreamevalError,
)
from streameval.io.blocks import Block, Fault
from streameval.io.columns import Argument
from streameval.io.errors import BadRow, shown

if TYPE_CHECKING:
    from streameval.io.row_filters import RowFilter


# To find a refused row takes two updates: where half of a block is refused, options are wrong.
_MAX_REFUSED = 1000

MAYBE_PARTIAL = " and may still be being written"


def update_with(accumulator: Any, batch: Mapping[str, Any], **options: Any) -> str:
    """Count a batch; nothing is printed for its rows."""
    accumulator.update(batch, **options)
    return ""


def nothing_open(accumulator: Any) -> Iterable[str]:  # noqa: ARG001 - all is done
    """Finish an accumulator that holds nothing open."""
    return ()


@attrs.frozen(repr=False)
class RowShare:
    """A share of all rows.

    Parameters
    ----------
    percent : Decimal
        The share, 1 for one in a hundred.
    """

    percent: Decimal

    def __str__(self) -> str:
        """Format the share with a percent sign."""
        return f"{self.percent}%"

    def is_below(self, part: int, whole: int) -> bool:
        """Return whether some of the rows exceed this share of all of them."""
        return 100 * part > Fraction(self.percent) * whole


@attrs.frozen(eq=False, repr=False)
class Plan:
    """How blocks are counted; it pickles, so that workers get it with each block.

    Parameters
    ----------
    make : callable
        Makes the empty accumulator.
    columns : tuple of Argument
        The columns that make the arguments of its `update`.
    max_bad : int or RowShare
        The number of bad rows, or the share of all rows, that the whole run tolerates.
    notes : tuple of str
        Choices made because the user did not specify them.
    update : callable
        Counts a batch with an accumulator, all or nothing, and returns the text to print for its
        rows.
    unique : str, optional
        The argument whose values must be unique in the whole run.
    finish : callable
        Takes the final accumulator, counts what it still holds open, and returns the text to print
        for that.
    text : callable, optional
        Returns the text to print instead of the report, given a result and its origin.
    words : callable, optional
        The name in messages of an argument that has no column.
    advice : str
        The end of a sentence: what to do about a last line that a program may still be writing.
    where : RowFilter, optional
        Which rows are counted, by default all.
    is_buffered : bool
        Whether the accumulator buffers many rows, so that a single one should count many blocks.
    is_bounded : bool
        Whether the state of the accumulator stays small, so that a single one should count all
        blocks.
    """

    make: Callable[[], Any]
    columns: tuple[Argument, ...] = ()
    max_bad: int | RowShare = 0
    notes: tuple[str, ...] = ()
    update: Callable[[Any, Mapping[str, Any]], str] = update_with
    unique: str | None = None
    finish: Callable[[Any], Iterable[str]] = nothing_open
    text: Callable[[Any, dict[str, Any]], str] | None = None
    words: ArgumentNames | None = None
    advice: str = ""
    where: RowFilter | None = None
    is_buffered: bool = False
    is_bounded: bool = False

    def message_of(self, error: StreamevalError, *, with_position: bool = True) -> str:
        """Return the message of an error, with the names of columns for its arguments."""
        names = {column.argument: f"`{','.join(column.names)}`" for column in self.columns}
        others = self.words
        return error.told(
            lambda named: names.get(named.name) or (None if others is None else others(named)),
            with_position=with_position,
        )


@attrs.frozen(eq=False, repr=False)
class BlockCounts:
    """The counts of one block.

    Parameters
    ----------
    source : str
        The name of the file.
    accumulator : accumulator or None
        The good rows, possibly added to those of earlier blocks. None if it will come with a later
        block; then it may hold those of blocks before alone.
    n_good : int
        How many there are.
    bad : list of BadRow
        The others, in order.
    taken : int
        How many bytes of the file the block covers.
    text : str
        The text to print for the rows.
    unique : list
        What no other row may hold.
    n_left_out : int
        How many rows the filter left out.
    zones : set of bool
        Whether times as text have an offset from UTC: some, none, or both.
    """

    source: str
    accumulator: Any
    n_good: int
    bad: list[BadRow]
    taken: int
    text: str = ""
    unique: list[Any] = attrs.field(factory=list)
    n_left_out: int = 0
    zones: set[bool] = attrs.field(factory=set)


def count(
    block: Block, plan: Plan, accumulator: Any = None, *, may_renew: bool = False
) -> BlockCounts:
    """Parse a block and count its good rows.

    Parameters
    ----------
    block : Block
    plan : Plan
    accumulator : accumulator, optional
        The accumulator that counts them, by default a new one.
    may_renew : bool, default False
        Whether to count with a new one if this one refuses some rows, so that messages do not
        depend on what it counted before.

    Raises
    ------
    BadDataError
        If the block as a whole cannot be read, or its rows are inconsistent.
    """
    parsed = block.parse(plan.columns, plan.where)
    batch, text = parsed.batch, None
    refused: list[Fault] = []
    if accumulator is not None and may_renew:
        with suppress(InvalidInputError, CountOverflowError):
            text = plan.update(accumulator, batch) if len(parsed.row_ids) else ""
    if text is None:
        accumulator = plan.make() if accumulator is None or may_renew else accumulator
        batch, text, refused = update_good(accumulator, batch, parsed.row_ids, block, plan)
    return BlockCounts(
        block.source,
        accumulator,
        parsed.n_rows - len(refused),
        bad_rows(block, sorted(parsed.faults + refused), f"{MAYBE_PARTIAL}{plan.advice}"),
        block.taken,
        text,
        [] if plan.unique is None else batch[plan.unique].tolist(),
        parsed.n_left_out,
        parsed.zones,
    )


def update_good(
    accumulator: Any,
    batch: Mapping[str, Any],
    row_ids: Sequence[Any],
    block: Block,
    plan: Plan,
) -> tuple[Mapping[str, Any], str, list[Fault]]:
    """Count the rows that an accumulator accepts.

    Returns
    -------
    batch : mapping from argument to array
        These rows.
    text : str
        The text to print for them.
    faults : list of Fault
        The others. If there are more than the plan tolerates, the search ends and nothing is
        counted.

    Raises
    ------
    BadDataError
        If the rows are inconsistent, or most rows of a block are refused.
    """
    if not len(row_ids):
        return batch, "", []
    try:
        return batch, plan.update(accumulator, batch), []
    except (InvalidInputError, CountOverflowError):
        limit = _max_refused(plan, len(row_ids))
        refused = _refused(plan.make(), batch, row_ids, limit + 1, plan)
        if isinstance(plan.max_bad, RowShare) and len(refused) > limit:
            raise _mostly_refused(block, plan, refused[0]) from None
        good = _without(batch, row_ids, {row_id for row_id, _ in refused})
        text = "" if len(refused) > limit else _rest(accumulator, good, block, plan)
    return good, text, [(row_id, _reason(error, plan, block.unit)) for row_id, error in refused]


def bad_rows(block: Block, faults: Iterable[Fault], about_end: str = "") -> list[BadRow]:
    """List the rows of a block that cannot be counted; the last one may be incomplete."""
    more = f"; {block.unended}{about_end}" if block.unended else ""
    return [
        BadRow(block.source, block.unit, row_id, f"{reason}{more}") for row_id, reason in faults
    ]


def _refused(
    accumulator: Any, batch: Mapping[str, Any], row_ids: Sequence[Any], limit: int, plan: Plan
) -> list[tuple[Any, StreamevalError]]:
    """Find the rows that an accumulator refuses, by bisection.

    A failed update leaves no trace, so halves can be tried on the accumulator itself. The search
    ends after `limit` of them, because the run fails anyway.
    """
    try:
        plan.update(accumulator, batch)
    except (InvalidInputError, CountOverflowError) as error:
        if len(row_ids) == 1:
            return [(row_ids[0], error)]
    else:
        return []
    refused: list[tuple[Any, StreamevalError]] = []
    half = len(row_ids) // 2
    for part in (slice(half), slice(half, None)):
        if len(refused) < limit:
            rows = {name: array[part] for name, array in batch.items()}
            refused += _refused(accumulator, rows, row_ids[part], limit - len(refused), plan)
    return refused


def _max_refused(plan: Plan, n_rows: int) -> int:
    """Return how many refused rows of a block are worth finding."""
    return max(_MAX_REFUSED, n_rows // 2) if isinstance(plan.max_bad, RowShare) else plan.max_bad


def _mostly_refused(block: Block, plan: Plan, first: tuple[Any, StreamevalError]) -> BadDataError:
    """Give up on a block if most of its rows are refused, whatever their share of all rows."""
    row_id, error = first
    row = BadRow(block.source, block.unit, row_id, _reason(error, plan, block.unit))
    return BadDataError(
        str(row), " Most of the next rows are refused as well; ", Named("max_bad"),
        f" {plan.max_bad} allows only a few.",
    )  # fmt: skip


def _without(batch: Mapping[str, Any], row_ids: Sequence[Any], bad: set[Any]) -> Mapping[str, Any]:
    good = [row_id not in bad for row_id in row_ids]
    return {name: array[good] for name, array in batch.items()}


def _rest(accumulator: Any, batch: Mapping[str, Any], block: Block, plan: Plan) -> str:
    """Count the rows that are valid one by one; together they may not be."""
    if not any(map(len, batch.values())):
        return ""
    try:
        return plan.update(accumulator, batch)
    except (InvalidInputError, CountOverflowError) as error:
        raise BadDataError(f"{block.source}: {_reason(error, plan, block.unit)}.") from None


def _reason(error: StreamevalError, plan: Plan, unit: str) -> str:
    """Describe the fault, as the end of a sentence.

    The position is omitted: it means nothing in a batch of one row, and that of a document of a run
    refers to another file.
    """
    position = error.position
    row = position[0] if isinstance(position, tuple) else position
    return plan.message_of(error, with_position=unit != "query" and row != 0).removesuffix(".")


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

    def answer(self, block: Block) -> Counted:
        """Count a block as `count_closed` does, or return what ended that."""
        try:
            return self.count_closed(block), None
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

    def to(self, request: Plan | Block | None) -> BlockCounts | Counted | None:
        """Answer a block with its count, and None with the accumulator that may count more."""
        if isinstance(request, Plan):
            self._counter = Counter(request)
            return None  # it is up
        if request is None:
            rest: BlockCounts | Counted | None = self._counter.rest()
            return rest
        return _answered(self._counter, request)


def _answered(counter: Counter, block: Block) -> Counted:
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
