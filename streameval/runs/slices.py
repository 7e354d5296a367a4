"""Slices: rows counted separately for each value of a column."""

from __future__ import annotations

import gc
import heapq
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from streameval.accumulators.base import fork
from streameval.accumulators.parts import merge
from streameval.accumulators.sealed import Rest
from streameval.accumulators.sliced import Sliced
from streameval.errors import InvalidInputError
from streameval.exact.array_types import Indices
from streameval.inputs.coded import CodedTexts
from streameval.inputs.values import combined, items_of, rank_of
from streameval.io.columns import Argument, Texts
from streameval.runs.counting import Plan, RowShare, update_with
from streameval.states.runs import stable_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from streameval.runs.totals import RunTotal


ARGUMENT = "\0slice"
"""What the column of the values is called in a batch, unlike any column that is counted."""

MAX_SLICES = 100_000
"""How many values a column may have where each is returned."""
_HELD = 2**16
_UNNAMED = "x" * 257  # is longer than any value of a file
_MAX_OPEN = 2**16  # slices of this many values pass every limit of their memory
_BUFFERS = 11_000  # bytes that pending rows touch, by the memory of processes with many states
_MIN_GROWTH = 1.1

Value = Any
"""What a slice is of: any single value, or None for a missing one."""


@attrs.frozen(kw_only=True)
class Slices:
    """Results, or accumulators, by the values of a column.

    Parameters
    ----------
    column : str or tuple of str
        The name of the column, or the names of several.
    by_value : dict from str, None or tuple
        The slice of each value; None stands for a missing value, a tuple for the values of several
        columns.
    other : object
        The slice of the rows with any other value; None if there is no such row.
    is_each : bool
        Whether the slices are those of each of several columns; then `by_value` maps a pair of
        column and value.
    chosen_by : {"", "count", "hash"}
        How the values were chosen among more: the most frequent ones, or the first by their hashes.
    """

    column: str | tuple[str, ...]
    by_value: dict[Value, Any]
    other: Any
    is_each: bool = False
    chosen_by: str = ""

    def pairs(self, value: Value) -> list[tuple[str, Value]]:
        """List the columns of a slice, each with its value."""
        if self.is_each:
            return [value]
        return [*zip(names_of(self.column), items_of(value), strict=True)]

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the slices of the values, then the slice of the rest if there is one."""
        yield from self.by_value.values()
        if self.other is not None:
            yield self.other

    def computed(self) -> Slices:
        """Return the results of accumulators."""
        return attrs.evolve(
            self,
            by_value={value: held.compute() for value, held in self.by_value.items()},
            other=None if self.other is None else self.other.compute(),
        )


class RowsByValue:
    """Rows counted for each value of a column, and how many rows each value has.

    Parameters
    ----------
    make : callable
        Makes an empty accumulator.
    column : str or tuple of str
        The name of the column, or the names of several.
    values : tuple, optional
        The values with their own slices; the others share one. By default every value has its own.
    update : callable, optional
        Counts the rows of each slice apart. By default, a table counts all at once.
    """

    def __init__(
        self,
        make: Callable[[], Any],
        column: str | tuple[str, ...],
        values: tuple[Value, ...] | None = None,
        update: Callable[..., object] | None = None,
    ) -> None:
        self._column = column
        self._values = values
        self._arguments = _arguments(column)
        self._empty = make()
        self._table: Any = None
        if update is None:
            limit = _MAX_OPEN if values is None else max(len(values), 1)
            self._table = Sliced(
                self._empty, self._arguments, values=values or (), max_values=limit
            )
        else:
            self._table = Apart(self._empty, self._arguments, values, update)
        self._n_rows: Counter[Value] = Counter()
        self._number: int | None = None
        self._n_first: int | None = None
        self._has_left_out = False

    @property
    def options(self) -> dict[str, Any]:
        """The options of the slices by name; `accumulator` is one that has counted nothing."""
        return {"accumulator": self._empty.copy()}

    @property
    def n_values(self) -> int:
        """How many values have been counted."""
        return len(self._n_rows)

    @property
    def n_rows(self) -> int:
        """How many rows have been counted."""
        return self._n_rows.total()

    def fork(self) -> RowsByValue:
        """Try an update on a copy; afterwards, only one of the two may be updated."""
        made = copy(self)
        made._table, made._n_rows = fork(self._table), self._n_rows.copy()
        return made

    def update(self, batch: Mapping[str, Any]) -> None:
        """Count each row in the slice of its value, all or nothing."""
        columns = [self._named(number, batch[name]) for number, name in enumerate(self._arguments)]
        self._table.update({**batch, **dict(zip(self._arguments, columns, strict=True))})
        self._add_rows(_numbers_of(_together(columns)))

    def merge(self, other: RowsByValue) -> None:
        """Add the counts of another one."""
        if self._n_first is not None:
            other.keep_first(self._n_first)
            self._has_left_out |= other._has_left_out
        self._table.merge(other._table)
        self._add_rows(other._n_rows)

    def _add_rows(self, numbers: Mapping[Value, int]) -> None:
        """Count the rows of values; only the first ones, once these are chosen by their hashes."""
        self._n_rows.update(numbers)
        if self._n_first is not None:
            self._has_left_out |= len(self._n_rows) > self._n_first
            first = heapq.nsmallest(self._n_first, self._n_rows, key=rank_of)
            self._n_rows = Counter({value: self._n_rows[value] for value in first})

    @property
    def is_open(self) -> bool:
        """Whether every value has a slice of its own."""
        return self._values is None

    def measured(self) -> int:
        """Estimate the bytes that the slices will hold as accumulators."""
        view = self._table.view()
        return int(view.nbytes) + _BUFFERS * len(view.every)

    def keep_most_frequent(self, number: int) -> None:
        """Merge the slices of all values except the most frequent ones."""
        self._number = number

    def keep_first(self, number: int) -> None:
        """Merge the slices of all values, also of those to come, except the first by their hashes.

        These are complete, whatever the order of rows: unlike the most frequent ones, they can be
        chosen before all rows have been seen.
        """
        if self._n_first is None:
            view = self._table.view()
            fewer = view.chosen_again(attrs.evolve(view.config, max_values=number))
            self._n_first, self._table = number, fewer.copy()
            self._add_rows({})

    @property
    def chosen_by(self) -> str:
        """How values are chosen among more: by their "count", or by their "hash"."""
        return "count" if self._n_first is None else "hash"

    def without_rows(self) -> list[Value]:
        """List the values with their own slices that no row has."""
        return [value for value in self._values or () if value not in self._n_rows]

    def total(self) -> Any:
        """Copy the accumulator of all rows."""
        return self._table.total()

    def slices(self) -> Slices:
        """Return the accumulators of the values, also of named empty ones, and of the rest."""
        named = self._values
        shown = _ranked(self._n_rows)[: self._number] if named is None else list(named)
        has_other = self._has_left_out or not self._n_rows.keys() <= set(shown)
        parts = dict(self._table.view().every)
        by_value = {
            value: (parts.pop(value) if value in parts else self._empty).copy() for value in shown
        }  # if all rows of a value have weight 0, it has no slice
        rest = [part.copy() for part in parts.values()]
        other = merge([self._empty, *rest]) if has_other else None
        return Slices(column=self._column, by_value=by_value, other=other)

    def _named(self, number: int, column: Any) -> CodedTexts:
        """Encode a column of values; values without a name share one code and no memory."""
        coded: CodedTexts = (
            column if isinstance(column, CodedTexts) else CodedTexts.of(column.tolist())
        )
        if self._values is None:
            return coded
        values = self._values
        known = {items_of(value)[number] for value in values}
        return coded.mapped(lambda text: text if text in known else _UNNAMED)


class Apart:
    """What a `Sliced` is, value by value, for what no table counts at once.

    These are queries, which go on in other batches and may have rows of several values; panes and
    slices, which are tables themselves; and on engines, where batches are large, states of cells,
    which a table would copy with each of them, and whose rows travel uncounted.

    Parameters
    ----------
    accumulator : accumulator
        What counts the rows of each value. It must have counted nothing.
    columns : tuple of str
        The columns of a batch that hold the values, as codes.
    values : tuple, optional
        The values with their own accumulators; the others share one. By default all.
    update : callable
        Counts a batch with an accumulator.
    """

    def __init__(
        self,
        accumulator: Any,
        columns: tuple[str, ...],
        values: tuple[Value, ...] | None = None,
        update: Callable[..., object] = update_with,
    ) -> None:
        self._empty, self._columns, self._update = accumulator, columns, update
        self._named = None if values is None else {*values}
        self._by_value: dict[Value, Any] = {}

    def update(self, batch: Mapping[str, Any], **options: Any) -> None:
        """Count each row with the accumulator of its value, all or nothing."""
        coded, named = _together([batch[name] for name in self._columns]), self._named
        if named is not None:
            coded = coded.mapped(lambda value: value if value in named else Rest)
        arrays = {name: array for name, array in batch.items() if name not in self._columns}
        order = stable_order(coded.codes, len(coded.texts))
        ends = np.cumsum(np.bincount(coded.codes, minlength=len(coded.texts))).tolist()
        changed = {}
        for value, rows in zip(coded.texts, map(slice, [0, *ends], ends), strict=True):
            if rows.start < rows.stop:
                part = self._by_value.get(value)
                changed[value] = self._empty.copy() if part is None else fork(part)
                index = order[rows]
                taken = {name: _taken(array, index) for name, array in arrays.items()}
                try:
                    self._update(changed[value], taken, **options)
                except InvalidInputError as error:
                    if error.position is None:
                        raise
                    raise error.moved(index.tolist()) from None
        self._by_value |= changed

    def merge(self, other: Apart) -> None:
        """Add the counts of another one, which must not be updated afterwards."""
        for value, part in other._by_value.items():
            own = self._by_value.get(value)
            self._by_value[value] = part if own is None else merge([own, part])

    def total(self) -> Any:
        """Merge the accumulators, which equals counting all rows at once."""
        return merge([self._empty, *self._by_value.values()])

    def view(self) -> Apart:
        """Return this, which a `Sliced` has a table for."""
        return self

    @property
    def every(self) -> dict[Value, Any]:
        """The accumulator of each value, and of `Rest`."""
        return self._by_value

    @property
    def nbytes(self) -> int:
        """Estimate the memory of the states, in 0.1 ms each."""
        return sum(bytes_held(part.copy()) for part in self._by_value.values())


def _together(columns: Sequence[CodedTexts]) -> CodedTexts:
    """Join columns of values into one; the values of several are tuples."""
    if len(columns) == 1:
        return columns[0]
    return CodedTexts(*combined([(column.codes, [*column.texts]) for column in columns]))


def _taken(column: Any, rows: Indices) -> Any:
    """Copy some rows of an array, or of a column of Arrow."""
    return column.take(rows) if hasattr(column, "type") else column[rows]


def rows_by_value(
    plan: Plan,
    column: str | tuple[str, ...],
    values: tuple[Value, ...] | None = None,
    *,
    is_apart: bool = False,
) -> Plan:
    """Change a plan into one that counts each value of a column separately.

    Parameters
    ----------
    plan : Plan
        How the rows of one slice are counted.
    column : str or tuple of str
        The column of the values, or several, whose values are tuples.
    values : tuple, optional
        The values with their own slices; by default all.
    is_apart : bool
        Whether each slice has to be counted by the plan, and not in a table by one `update`.
    """
    pairs = zip(_arguments(column), names_of(column), strict=True)
    return attrs.evolve(
        plan,
        make=partial(RowsByValue, plan.make, column, values, plan.update if is_apart else None),
        columns=(*plan.columns, *(Argument(own, (name,), Texts()) for own, name in pairs)),
        update=update_with if is_apart else plan.update,
        is_buffered=plan.is_buffered or not is_apart,
        is_bounded=False,
    )


def names_of(column: str | tuple[str, ...]) -> tuple[str, ...]:
    """List the columns: one, or several."""
    return (column,) if isinstance(column, str) else column


def _arguments(column: str | tuple[str, ...]) -> tuple[str, ...]:
    """Name the columns of values in a batch, which may also use the same column."""
    return tuple(f"{ARGUMENT} {name}" for name in names_of(column))


def _values_of(batch: Mapping[str, Any]) -> Sequence[Value]:
    """List the values of the rows of a batch, tuples if there are several columns."""
    values = batch[ARGUMENT]
    return values if values.ndim == 1 else list(map(tuple, values.tolist()))


class ValueCounts:
    """Count values in bounded memory, after Misra and Gries.

    With at most `held` different values, every count is exact. Beyond that, the least frequent ones
    are dropped, and every count is too low by at most `missed`.

    Parameters
    ----------
    held : int
        The number of counts kept.

    References
    ----------
    P. K. Agarwal et al., "Mergeable summaries", PODS 2012, section 3.
    """

    def __init__(self, held: int = _HELD) -> None:
        self._held = held
        self._counts: Counter[str | None] = Counter()
        self._missed = 0

    def update(self, values: Iterable[str | None]) -> None:
        """Count more values."""
        self._counts.update(values)
        self._forget()

    def merge(self, other: ValueCounts) -> None:
        """Add the counts of another one."""
        self._counts.update(other._counts)
        self._missed += other._missed
        self._forget()

    def _forget(self) -> None:
        """Shrink to capacity: subtract the largest surplus count from all, and drop zeros."""
        if len(self._counts) > self._held:
            too_many = sorted(self._counts.values(), reverse=True)[self._held]
            self._missed += too_many
            kept = {v: count - too_many for v, count in self._counts.items() if count > too_many}
            self._counts = Counter(kept)

    def values(self) -> Iterable[str | None]:
        """List the values that are counted."""
        return self._counts.keys()

    def top(self, number: int) -> tuple[tuple[str | None, ...], bool]:
        """Return the most frequent values in order, and whether the choice is certain.

        Among equally frequent values, the first one as text wins.
        """
        ranked = sorted(self._counts.items(), key=_by_frequency)
        chosen, rest = ranked[:number], ranked[number:]
        highest_left = (rest[0][1] if rest else 0) + self._missed
        is_sure = not self._missed or (len(chosen) == number and chosen[-1][1] > highest_left)
        return tuple(value for value, _ in chosen), is_sure


def counting_plan(column: str | tuple[str, ...], max_bad: int | RowShare) -> Plan:
    """Plan to count how often each value of a column occurs."""
    values = Argument(ARGUMENT, names_of(column), Texts())
    return Plan(ValueCounts, (values,), max_bad, update=_count_values)


def _numbers_of(column: CodedTexts) -> dict[Value, int]:
    """Count the rows of each value."""
    numbers = np.bincount(column.codes, minlength=len(column.texts)).tolist()
    return {text: n for text, n in zip(column.texts, numbers, strict=True) if n}


def _ranked(counts: Mapping[Value, int]) -> list[Value]:
    """List the values by decreasing frequency."""
    return [value for value, _ in sorted(counts.items(), key=_by_frequency)]


def _by_frequency(item: tuple[Value, int]) -> tuple[int, list[tuple[bool, str]]]:
    """Order values by decreasing frequency; among equals, a missing value first, then as text."""
    value, count = item
    return -count, [(text is not None, text or "") for text in items_of(value)]


class SizeLimit:
    """Detect that the states of slices exceed a number of bytes.

    States grow no faster than the rows that they count. So they are measured again only after
    enough rows to reach the limit, and the time for measuring does not grow with the number of
    blocks.

    Parameters
    ----------
    max_bytes : int
        The limit.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._next = 0.0

    def is_passed_by(self, tally: RunTotal) -> bool:
        """Measure the slices of a tally, if a measurement is due."""
        n_rows = tally.n_good.total()
        if n_rows < self._next:
            return False
        size: int = sum(held.measured() for held in tally.accumulators)
        self._next = n_rows * max(self._max_bytes / max(size, 1), _MIN_GROWTH)
        return size > self._max_bytes


def _count_values(counts: ValueCounts, batch: Mapping[str, Any]) -> str:
    counts.update(_values_of(batch))
    return ""


_SHARED = (type, ModuleType, FunctionType, BuiltinFunctionType)
"""What belongs to the program, not to its data."""


def bytes_held(*objects: Any) -> int:
    """Add up the bytes of objects and of everything that they reference, counting each object once.

    It takes about a microsecond per object. Buffers count in full, filled or not.

    >>> row = np.zeros(1000)
    >>> bytes_held([row, row[:500]]) - bytes_held([row]) < 200
    True
    """
    seen: set[int] = set()
    left = list(objects)
    total = 0
    while left:
        item = left.pop()
        if id(item) in seen or isinstance(item, _SHARED):
            continue
        seen.add(id(item))
        total += sys.getsizeof(item)  # of an array: its items too, unless it is a view
        left += gc.get_referents(item)
        if isinstance(item, np.ndarray) and item.base is not None:
            left.append(item.base)
    return total


MAX_VALUES = 100
"""How many values a column may have; those of more are left out."""


class RowsByColumn:
    """A `RowsByValue` for each column, as long as it has few values.

    Parameters
    ----------
    make : callable
        Makes an empty accumulator.
    columns : tuple of str
        The columns.
    left_out : mapping of str to str
        Other columns, each with the reason why it is left out.
    finds_columns : bool
        Whether nobody chose the columns; then those that say nothing are left out too.
    """

    def __init__(
        self,
        make: Callable[[], Any],
        columns: tuple[str, ...],
        left_out: Mapping[str, str],
        *,
        finds_columns: bool,
    ) -> None:
        self._left_out = dict(left_out)
        self._finds_columns = finds_columns
        self._make = make
        self._parts = {column: RowsByValue(make, column) for column in columns}

    def update(self, batch: Mapping[str, Any]) -> None:
        """Count each row in the slices of its values, all or nothing."""
        if not self._parts:
            self._make().update(batch)  # a row may be bad although none is counted
            return
        parts = {column: part.fork() for column, part in self._parts.items()}
        for part in parts.values():
            part.update(batch)
        self._parts = parts
        self._leave_out()

    def merge(self, other: RowsByColumn) -> None:
        """Add the counts of another one."""
        self._left_out |= other._left_out
        self._parts = {
            column: part for column, part in self._parts.items() if column in other._parts
        }
        for column, part in self._parts.items():
            part.merge(other._parts[column])
        self._leave_out()

    def measured(self) -> int:
        """Estimate the bytes that the slices will hold as accumulators."""
        return sum(part.measured() for part in self._parts.values())

    def total(self) -> Any:
        """Copy the accumulator of all rows, which every column has counted; there must be one."""
        return next(iter(self._parts.values())).total()

    def left_out(self) -> dict[str, str]:
        """Map each column that is left out to the reason."""
        found = dict(self._left_out)
        for column, part in self._parts.items():
            why = _says_nothing(part) if self._finds_columns else ""
            if why:
                found[column] = why
        return found

    def slices(self) -> Slices:
        """Return the accumulators of the values of each column, by column and value."""
        left = self.left_out()
        kept = {column: part for column, part in self._parts.items() if column not in left}
        by_value = {
            (column, value): held
            for column, part in kept.items()
            for value, held in part.slices().by_value.items()
        }
        return Slices(column=tuple(kept), by_value=by_value, other=None, is_each=True)

    def _leave_out(self) -> None:
        """Leave out columns of too many values."""
        for column in [name for name, part in self._parts.items() if part.n_values > MAX_VALUES]:
            del self._parts[column]
            self._left_out[column] = f"more than {MAX_VALUES} values"


def _says_nothing(part: RowsByValue) -> str:
    """Say why no slice of a column can differ from another, if so."""
    if part.n_values < 2:
        return "one value"
    return "a value for almost every row" if 2 * part.n_values > part.n_rows else ""


def rows_by_column(
    plan: Plan, columns: tuple[str, ...], left_out: Mapping[str, str], *, finds_columns: bool
) -> Plan:
    """Change a plan for rows into one that counts them once for each column.

    Parameters
    ----------
    plan : Plan
        How one `update` counts the rows of a slice.
    columns, left_out, finds_columns
        As for `RowsByColumn`.
    """
    return attrs.evolve(
        rows_by_value(plan, columns),
        make=partial(RowsByColumn, plan.make, columns, dict(left_out), finds_columns=finds_columns),
    )
