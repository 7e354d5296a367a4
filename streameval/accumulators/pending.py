"""Pending rows: checked, copied into a block of columns, and counted together later.

A small batch therefore costs a copy, not a count. Nothing here depends on the meaning of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, Literal, Self, TypeVar

import attrs
import numpy as np

from streameval.exact.array_types import Array, Ints
from streameval.exact.fixed_point import MAX_TOTAL, FixedPoint
from streameval.inputs.arrays import check_id_type
from streameval.inputs.labels import Dictionary, distinct
from streameval.states.column import Column
from streameval.states.stack import Stack

StateT = TypeVar("StateT")

LABEL_TYPES = frozenset({int, bool})
NumberRange = tuple[frozenset[type], float, float]

LABELS: NumberRange = LABEL_TYPES, 0, 1
"""What a row of Python numbers may hold: the types, the min and the max."""


def numbers_within(low: float, high: float) -> NumberRange:
    """Allow numbers in a range."""
    return frozenset({float, int, bool}), low, high


def row_of(first: Any, second: Any) -> tuple[Any, Any]:
    """Return the numbers in two arrays, or two lists, of one row; anything else as it is.

    Times are no numbers, although `item` returns those in nanoseconds as integers.
    """
    form = type(first)
    if form is not type(second):
        return first, second
    if form is np.ndarray and first.size == 1 == second.size and first.ndim == 1 == second.ndim:
        are_numbers = first.dtype.kind in "biuf" and second.dtype.kind in "biuf"
        return (first.item(), second.item()) if are_numbers else (first, second)
    are_lists = form is list and len(first) == 1 == len(second)
    return (first[0], second[0]) if are_lists else (first, second)


_MAX_WHOLE = 2**53  # up to here float64 holds every integer


def max_total(weights: Array) -> int:
    """Compute an integer upper bound of the sum of one or more weights.

    It is the max total if a weight is an integer that a block of floats cannot hold exactly.
    """
    largest = weights.item(weights.argmax())
    if type(largest) is int and largest > _MAX_WHOLE:
        return MAX_TOTAL
    return len(weights) * (int(largest) + 1)


class Rows:
    """Rows that have been checked, column by column.

    Parameters
    ----------
    columns : tuple of arrays, shapes (n, ...)
        At least one.
    weights : float64 or int64 array, shape (n,) or (n, K), optional
        As `read_weights` returns them; by default every row counts once. Those of K entries are 0
        where an entry does not count, and a row has the largest of its own.
    dictionary : Dictionary, optional
        The texts of the codes in a column. A block holds codes of a single dictionary.

    Attributes
    ----------
    size : int
        The number of rows.
    """

    # every update makes one, in a third of the time of an attrs class
    __slots__ = ("columns", "dictionary", "size", "weights")

    def __init__(
        self,
        columns: tuple[Array, ...],
        weights: Array | None = None,
        dictionary: Dictionary | None = None,
    ) -> None:
        self.columns, self.weights, self.dictionary = columns, weights, dictionary
        self.size = len(columns[0])

    def taken(self, rows: Any) -> Rows:
        """Take some of the rows, by indices or a slice."""
        weights = None if self.weights is None else self.weights[rows]
        return Rows(tuple([part[rows] for part in self.columns]), weights, self.dictionary)

    @property
    def unequal_weights(self) -> Array | None:
        """The weights; None if all of them are 1, which is faster to count."""
        weights = self.weights
        return None if weights is None or (weights == 1).all() else weights

    @property
    def fixed_weights(self) -> FixedPoint | None:
        """The same weights in fixed point."""
        weights = self.unequal_weights
        return None if weights is None else FixedPoint.of_numbers(weights)

    @property
    def n(self) -> FixedPoint:
        """The sum of the weights."""
        weights = self.fixed_weights
        return FixedPoint(np.array(self.size)) if weights is None else weights.by_row().total()

    @property
    def needed(self) -> int:
        """The spare weight it needs, beyond a weight of 1 for each row of the capacity."""
        return 0 if self.weights is None else max_total(self.weights)


class RowBuffer:
    """Preallocated columns that fill up with rows.

    Rows in use never change: later batches are written behind them. The owner of a block, such as
    `BufferedState`, knows how many are in use, so a reader never sees half a batch.

    Parameters
    ----------
    columns : tuple of arrays, shapes (capacity or more, ...)
    capacity : int
        The max number of pending rows. Space behind them is scratch memory of the owner.
    dictionary : Dictionary, optional

    Attributes
    ----------
    weights : float64 array, shape (capacity or more,) or (capacity or more, K), optional
        Allocated with the first weight; the rows before it count once.
    keeps_counted : bool
        Whether the state that includes the rows is cached, once it has been read.
    limits : pair of limits, optional
        The numbers that each of two columns takes without any other check.
    """

    __slots__ = ("capacity", "columns", "dictionary", "keeps_counted", "limits", "weights")

    columns: tuple[Array, ...]
    capacity: int
    dictionary: Dictionary | None
    keeps_counted: bool
    limits: tuple[NumberRange, NumberRange] | None
    weights: Array | None

    def __init__(
        self, columns: tuple[Array, ...], capacity: int, dictionary: Dictionary | None = None
    ) -> None:
        self.columns, self.capacity, self.dictionary = columns, capacity, dictionary
        self.weights, self.keeps_counted, self.limits = None, True, None

    @classmethod
    def like(
        cls,
        rows: Rows,
        capacity: int,
        *,
        order: Literal["C", "F"] = "C",
        limits: tuple[NumberRange, NumberRange] | None = None,
    ) -> Self:
        """Make an empty block for rows like these; unwritten pages take no memory.

        Narrower columns than float64 would round numbers, so they have no limits.
        """
        shapes = ((capacity, *part.shape[1:]) for part in rows.columns)
        pairs = zip(shapes, rows.columns, strict=True)
        columns = tuple(np.empty(shape, part.dtype, order) for shape, part in pairs)
        made = cls(columns, capacity, rows.dictionary)
        if any(column.dtype == np.float64 for column in columns):
            made.limits = limits
        return made

    def wide_enough(self, columns: tuple[Array, ...], used: int) -> RowBuffer:
        """Return a block whose types can hold a batch, with the same rows in use."""
        for own, part in zip(self.columns, columns, strict=True):
            if part.dtype is not own.dtype and not np.can_cast(part.dtype, own.dtype):
                return self._widened(columns, used)
        return self

    def _widened(self, columns: tuple[Array, ...], used: int) -> RowBuffer:
        wide = []
        for own, part in zip(self.columns, columns, strict=True):
            wider = own
            if not np.can_cast(part.dtype, own.dtype):
                wider = np.empty_like(own, np.promote_types(own.dtype, part.dtype))
                wider[:used] = own[:used]
            wide.append(wider)
        block = RowBuffer(tuple(wide), self.capacity, self.dictionary)
        block.weights, block.keeps_counted = self.weights, self.keeps_counted
        return block

    def put_one(self, owner: BufferedState[Any], first: Any, second: Any) -> bool:
        """Write a row of two numbers behind those in use; False if it is anything else or unusual.

        Arrays of one row take ten times as long: they are for whatever is unusual.
        """
        limits, used = self.limits, owner.used
        if limits is None or used >= self.capacity or self.weights is not None:
            return False
        (types, low, high), (others, lowest, highest) = limits
        if type(first) not in types:
            first, second = row_of(first, second)
            if type(first) not in types:
                return False
        is_within = type(second) in others and low <= first <= high and lowest <= second <= highest
        if not is_within:
            return False
        one, other = self.columns
        one[used] = first
        other[used] = second
        owner.used = used + 1
        return True

    def put(self, start: int, rows: Rows) -> int:
        """Write a batch from row `start` on, and return where it ends."""
        end = start + rows.size
        for own, part in zip(self.columns, rows.columns, strict=True):
            own[start:end] = part
        if rows.weights is not None or self.weights is not None:
            self.put_weights(start, end, rows.weights)
        return end

    def put_weights(self, start: int, end: int, weights: Array | None) -> None:
        """Write the weights of a batch whose columns are written; None is 1 for each row."""
        own, of_row = self.weights, () if weights is None else weights.shape[1:]
        if own is None or own.ndim <= len(of_row):
            shape = len(self.columns[0]), *of_row
            wide = np.empty(shape)
            wide[:start].T[...] = 1.0 if own is None else own[:start]
            own = wide
        own[start:end].T[...] = 1.0 if weights is None else weights.T
        self.weights = own

    def rows(self, end: int) -> Rows:
        """Return the rows before `end`, as views."""
        weights = None if self.weights is None else self.weights[:end]
        return Rows(tuple([column[:end] for column in self.columns]), weights, self.dictionary)


NO_BLOCK = RowBuffer((), 0)
"""It takes no rows, so that owners can share it."""


class BufferedState(Generic[StateT]):
    """A state and a block of pending rows, which have not been counted into it yet.

    An update ends by replacing it as a whole, or `used` alone, so a reader sees all rows of a
    batch or none. Rows are written only if the total weight stays within 2**63 - 1, so counting
    them cannot fail.

    Parameters
    ----------
    state : State
        The state of the counted rows.
    block : RowBuffer
    used : int
        The number of rows of the block in use.
    spare : int
        The weight that pending rows may still add, besides the weight of 1 that is reserved for
        each row of the capacity.

    Attributes
    ----------
    counted : tuple of int and State, optional
        How many rows were in use when everything was last counted, and its state then.
    """

    __slots__ = ("block", "counted", "spare", "state", "used")

    state: StateT
    block: RowBuffer
    used: int
    spare: int
    counted: tuple[int, StateT] | None

    def __init__(self, state: StateT, block: RowBuffer, used: int, spare: int) -> None:
        self.state, self.block, self.used, self.spare = state, block, used, spare
        self.counted = None

    @classmethod
    def of(cls, state: Any, block: RowBuffer = NO_BLOCK) -> BufferedState[Any]:
        """Combine a state and an empty block; without a block no row can be pending."""
        spare = MAX_TOTAL - 1 - int(state.n.whole) - block.capacity
        return cls(state, block if spare >= 0 else NO_BLOCK, 0, spare)

    @classmethod
    def holding(cls, state: Any, rows: Rows) -> BufferedState[Any]:
        """Combine a state and unweighted rows, without copying them; no other fits behind them."""
        made = cls.of(state, RowBuffer(rows.columns, rows.size))
        made.used = rows.size
        return made

    def snapshot(self) -> BufferedState[StateT]:
        """Make a copy that later updates of this one do not reach."""
        return BufferedState(self.state, self.block, self.used, self.spare)

    @property
    def rows(self) -> Rows:
        """The pending rows, as views."""
        return self.block.rows(self.used)

    def state_by(self, count: Callable[[StateT, Rows], StateT]) -> StateT:
        """Count the pending rows into the state, once for each number of them."""
        used, known = self.used, self.counted  # a writer on another thread may add rows
        if not used:
            return self.state
        if known is None or known[0] != used:
            known = used, count(self.state, self.block.rows(used))
            if self.block.keeps_counted:
                self.counted = known
        return known[1]

    def restarted(self) -> BufferedState[StateT]:
        """Return one without pending rows, if the state that includes them is cached."""
        known = self.counted
        is_known = known is not None and known[0] == self.used
        return BufferedState.of(known[1]) if known and is_known else self

    def skipping(self, rows: Rows, is_gap: Array) -> tuple[BufferedState[StateT], Rows]:
        """Count rows that are left out, beside the pending ones; return the others, too."""
        if not is_gap.any():
            return self, rows
        held, n = self.restarted(), rows.taken(is_gap).n
        state: Any = held.state
        state = attrs.evolve(state, skipped=state.skipped + n.reshape(*state.skipped.shape))
        return BufferedState(state, held.block, held.used, held.spare), rows.taken(~is_gap)

    @property
    def n(self) -> FixedPoint:
        """The total weight, pending rows included."""
        state: Any = self.state
        used, weights = self.used, self.block.weights
        total: FixedPoint = state.n
        if weights is None:
            return total + FixedPoint(np.array(used)) if used else total
        return total + self.block.rows(used).n

    def has_capacity_for(self, rows: Rows, needed: int) -> bool:
        """Check whether a batch that takes some spare weight can be written."""
        block = self.block
        is_free = self.used + rows.size <= block.capacity and needed <= self.spare
        is_alike = rows.dictionary is block.dictionary and len(rows.columns) == len(block.columns)
        return is_free and is_alike

    def extended(self, rows: Rows, needed: int) -> BufferedState[StateT]:
        """Write a batch, which must fit, behind the rows in use."""
        block = self.block.wide_enough(rows.columns, self.used)
        end = block.put(self.used, rows)
        return BufferedState(self.state, block, end, self.spare - needed)


ROWS_A_GROUP = 2**9
"""Up to how many rows of a group its fixed cost exceeds that of exact sums of cells."""


@attrs.frozen(eq=False, repr=False)
class LooseRows:
    """How the rows of a class are counted without an accumulator of it.

    Parameters
    ----------
    read : callable
        Reads the arrays of an `update` that would be accepted, given the configuration, as `Rows`
        for `_append`; None if each group has to be updated alone.
    count_groups : callable
        Counts such rows, given the configuration, the group of each and the number of groups,
        which all have rows. Returns the states field by field, as `Stack`; None if each group has
        to be counted alone.
    to_ship : callable, optional
        Copies the rows of a configuration and its `BufferedState`, if all are pending and counting
        them elsewhere takes less work; else returns None, and the state is sent.
    """

    read: Callable[[Any, Mapping[str, Any]], Rows | None]
    count_groups: Callable[[Any, Rows, Array, int], Mapping[str, Stack] | None]
    to_ship: Callable[[Any, BufferedState[Any]], Rows | None] | None = None


def pending_rows(buffered: Iterable[BufferedState[Any]]) -> Iterator[Rows]:
    """Yield the pending rows of many, about a block at a time: a few cost as much to count."""
    together: list[tuple[RowBuffer, int]] = []
    n_rows, dictionary, n_columns = 0, None, 0
    for one in buffered:
        block, used = one.block, one.used
        if not used:
            continue
        is_alike = block.dictionary is dictionary and len(block.columns) == n_columns
        if n_rows >= block.capacity or not is_alike:
            if together:
                yield _joined(together)
            together, n_rows = [], 0
            dictionary, n_columns = block.dictionary, len(block.columns)
        together.append((block, used))
        n_rows += used
    if together:
        yield _joined(together)


def _joined(parts: Sequence[tuple[RowBuffer, int]]) -> Rows:
    """Concatenate the rows of several blocks with codes of one dictionary."""
    first, used = parts[0]
    if len(parts) == 1:
        return first.rows(used)
    columns = tuple(
        np.concatenate([block.columns[column][:used] for block, used in parts])
        for column in range(len(first.columns))
    )
    if all(block.weights is None for block, _ in parts):
        return Rows(columns, None, first.dictionary)
    weights = (
        np.ones(used) if block.weights is None else block.weights[:used] for block, used in parts
    )
    return Rows(columns, np.concatenate(list(weights)), first.dictionary)


_MAX_TEXTS = 2**20  # a larger dictionary is replaced by a new one, and its rows are counted


def coded_ids(
    ids: Array, buffered: BufferedState[Any], *, name: str
) -> tuple[Array, Dictionary | None]:
    """Code ids that are texts by the dictionary of the pending rows, or a new one once it is large.

    Numbers are their own codes.
    """
    if ids.dtype != object:
        return ids, None
    dictionary = buffered.block.dictionary
    if dictionary is None or len(dictionary) > _MAX_TEXTS:
        dictionary = Dictionary()
    return dictionary.encode(ids.tolist(), name=name), dictionary


def check_ids(buffered: BufferedState[Any], counted: Column, rows: Rows, *, name: str) -> None:
    """Refuse ids of another type than those before, unless there are none."""
    if not rows.size:
        return
    if buffered.used:
        were_texts = buffered.block.dictionary is not None
    elif len(counted):
        were_texts = counted.kind == "text"
    else:
        return
    check_id_type(were_texts=were_texts, are_texts=rows.dictionary is not None, name=name)


def distinct_ids(codes: Array, dictionary: Dictionary | None, *, name: str) -> tuple[Array, Ints]:
    """Find the distinct ids as a sorted array, and the position of each among them.

    Parameters
    ----------
    codes : int64 array, shape (n,)
        Numbers, or the codes of texts.
    dictionary : Dictionary or None
        The texts.
    name : str
        The argument, for messages.
    """
    ids, index = distinct(codes, name=name)
    if dictionary is None:
        return ids, index
    texts, rank = distinct(np.array(dictionary.decode(ids), dtype=object), name=name)
    return texts, rank[index]
