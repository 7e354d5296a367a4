"""Groups that share pending rows: one split hands each group its own rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar

import attrs
import numpy as np
import numpy.typing as npt

from streameval.accumulators.base import Accumulator, merged
from streameval.accumulators.collection import Collection
from streameval.accumulators.members import Members
from streameval.accumulators.pending import Block, Rows
from streameval.accumulators.sealed import FlatLeaves, total_of
from streameval.configs.inner import Inner, OuterConfig
from streameval.errors import InvalidInputError
from streameval.exact.fixed_point import FixedPoint
from streameval.inputs.arrays import (
    as_array,
    as_labels,
    check_vector,
    first_index,
    is_missing,
    read_weights,
)
from streameval.inputs.batches import Table
from streameval.inputs.coded import CodedTexts, are_texts
from streameval.inputs.labels import distinct
from streameval.inputs.values import Value, ValueCodes
from streameval.states.flat import FlatStates
from streameval.states.runs import order_in_groups

__all__ = [
    "CODES",
    "TIMES",
    "WEIGHTS",
    "Batch",
    "Counter",
    "GroupedRows",
    "Grouping",
    "Held",
    "Take",
    "groups_of",
    "outer_difference",
    "read_inner",
    "refuse_split_queries",
]

Array = npt.NDArray[Any]
Key = Hashable
Take = Callable[[Any], Any]
"""Makes an accumulator that may change: a fork for an update, a copy for a reader."""

CODES, TIMES, WEIGHTS = 0, 1, 2
"""Keys of the columns that are not in the batch; its own columns have names."""

CAPACITY = 2**18
"""The maximum number of pending rows, over which the fixed cost of a group is spread."""

_FIRST_CAPACITY = 2**10
_MAX_BYTES = 2**25
_MAX_BLANK = 256
_MAX_CODES = 2**16

ConfigT = TypeVar("ConfigT", bound=OuterConfig)


def read_inner(accumulator: Any, *, outer: str, depth: int) -> Inner:
    """Check the accumulator that each group copies: it must have counted nothing."""
    if not isinstance(accumulator, Accumulator):
        given = type(accumulator).__name__
        raise InvalidInputError(f"must be an accumulator, got {given}", argument="accumulator")
    if accumulator._depth >= depth:
        raise InvalidInputError(
            f"cannot be a {type(accumulator).__name__} within a {outer}",
            argument="accumulator",
            remedy="They nest as Windowed, Sliced, Collection, any other, in this order.",
        )
    if accumulator != accumulator.copy().reset():
        raise InvalidInputError(
            f"must have counted nothing yet, got one with n={accumulator.n}",
            argument="accumulator",
            remedy="Reset it, or give a new one.",
        )
    return Inner(type(accumulator), accumulator._config)


@attrs.frozen(eq=False)
class GroupedRows:
    """Checked rows: the counted columns, and the columns that tell groups apart.

    Parameters
    ----------
    columns : dict from name to array, shapes (n, ...)
        The columns of the batch by name; `CODES`, `TIMES` and `WEIGHTS` where they exist.
    size : int
    values : list
        The value of each code.
    """

    columns: dict[Key, Array]
    size: int
    values: list[Value]

    @property
    def layout(self) -> tuple[Any, ...]:
        """The keys, types and shapes that rows must share to be pending together."""
        return tuple(
            (key, type(part), part.dtype, part.shape[1:]) for key, part in self.columns.items()
        )

    def taken(self, rows: Array) -> GroupedRows:
        """Copy some of the rows."""
        taken = {key: part[rows] for key, part in self.columns.items()}
        return GroupedRows(taken, len(rows), self.values)

    def part(self, start: int, end: int) -> GroupedRows:
        """Return neighbouring rows, as views."""
        part = {key: column[start:end] for key, column in self.columns.items()}
        return GroupedRows(part, end - start, self.values)


def groups_of(rows: GroupedRows, groups: Array, n_groups: int) -> Iterator[tuple[int, GroupedRows]]:
    """Split rows by the number of their group, and yield the groups with rows, in order.

    All rows are sorted once, whatever the number of groups.
    """
    counts = np.bincount(groups, minlength=n_groups)
    found = np.flatnonzero(counts)
    if len(found) == 1:
        yield int(found[0]), rows
        return
    ordered = rows.taken(order_in_groups(groups, n_groups))
    ends = np.cumsum(counts[found]).tolist()
    start = 0
    for number, end in zip(found.tolist(), ends, strict=True):
        yield number, ordered.part(start, end)
        start = end


class Counter:
    """Counts the rows of groups; what a member reads is checked once, for all groups together.

    Parameters
    ----------
    inner : Inner
        A single accumulator, or a collection of these.
    rows : GroupedRows
        Accepted rows.

    Attributes
    ----------
    rows : GroupedRows
        The columns that members count: those that were read, or those that `update` takes.
    """

    __slots__ = ("_inner", "_readers", "rows")

    def __init__(self, inner: Inner, rows: GroupedRows) -> None:
        self._inner = inner
        columns: dict[Key, Array] = {}
        self._readers = [
            _Reader.of(member, rows.columns, number, columns)
            for number, member in enumerate(inner.members)
        ]
        self.rows = GroupedRows(columns, rows.size, rows.values)

    def count(self, accumulator: Any, rows: GroupedRows, take: Take) -> Any:
        """Count some of the rows into a fork or a copy of an accumulator; None is an empty one."""
        made = self._inner.empty() if accumulator is None else take(accumulator)
        columns = rows.columns
        if self._inner.cls is not Collection:
            self._readers[0].hand_over(made, columns)
            return made
        held = made._held
        forks = []
        for member, reader in zip(held.accumulators, self._readers, strict=True):
            fork = member._fork()
            reader.hand_over(fork, columns)
            forks.append(fork)
        made._held = Members(held.names, tuple(forks))
        return made

    def count_all(self, groups: Array, n_groups: int) -> FlatLeaves:
        """Count the rows of many groups, each with rows, into flat columns."""
        columns = (
            self._count_states(member, reader, groups, n_groups)
            for member, reader in zip(self._inner.members, self._readers, strict=True)
        )
        return FlatLeaves(self._inner, tuple(columns))

    def _count_states(
        self, member: Any, reader: _Reader, groups: Array, n_groups: int
    ) -> FlatStates:
        """Count what one member reads: all groups at once, or one after the other."""
        state_type = member.cls._state_type(member.options)
        columns = self.rows.columns
        if reader.is_read:
            rows = reader.rows(columns)
            stacks = member.cls._count_groups(member.options, rows, groups, n_groups)
            if stacks is not None:
                return FlatStates.of_stacks(member.options, stacks, state_type)
        states = []
        own = GroupedRows({key: columns[key] for key in reader.keys}, len(groups), [])
        for _, part in groups_of(own, groups, n_groups):
            made = member.cls._empty(member.options)
            reader.hand_over(made, part.columns)
            states.append(made._state)
        return FlatStates.of(member.options, states, state_type)


@attrs.frozen(eq=False)
class _Reader:
    """What one member counts.

    Parameters
    ----------
    positional : tuple
        The keys of the columns: of `Rows` if they have been read, else of arrays by position.
    by_name : tuple of (array, key)
        The keys of arrays that `update` takes by name.
    weights : key, optional
        The key of the weights that have been read.
    is_read : bool
        Whether the columns have been read.
    is_open : bool
        Whether the member has a user's class, which takes one batch.
    """

    positional: tuple[Key, ...]
    by_name: tuple[tuple[str, Key], ...] = ()
    weights: Key = None
    is_read: bool = False
    is_open: bool = False

    @classmethod
    def of(
        cls, member: Any, given: Mapping[Key, Array], number: int, columns: dict[Key, Array]
    ) -> Self:
        """Read the columns of a member, and add what it counts to the columns of all."""
        keys: dict[str, Key] = {}
        for array, column in member.read.items():
            own = (array, column)
            key: Key = own if own in given else column
            if key in given:
                keys[array] = key
        arrays = {array: given[key] for array, key in keys.items()}
        rows = member.cls._read_rows(member.options, arrays)
        if rows is not None:
            parts = tuple((number, at) for at in range(len(rows.columns)))
            columns |= zip(parts, rows.columns, strict=True)
            if rows.weights is None:
                return cls(parts, is_read=True)
            columns[number, "weights"] = rows.weights
            return cls(parts, weights=(number, "weights"), is_read=True)
        columns |= {key: given[key] for key in keys.values()}
        is_open = member.cls._definition.is_open
        by_position = () if is_open else member.cls._arrays
        first = tuple(keys.pop(array) for array in by_position)
        return cls(first, tuple(keys.items()), is_open=is_open)

    @property
    def keys(self) -> list[Key]:
        """The keys of all columns."""
        named = [key for _, key in self.by_name]
        return [*self.positional, *named, *([] if self.weights is None else [self.weights])]

    def rows(self, columns: Mapping[Key, Array]) -> Rows:
        """Return rows that have been read."""
        weights = None if self.weights is None else columns[self.weights]
        return Rows(tuple([columns[key] for key in self.positional]), weights)

    def hand_over(self, accumulator: Any, columns: Mapping[Key, Array]) -> None:
        """Count rows; an accumulator of a user's class is sure to accept one batch."""
        if self.is_read:
            accumulator._take_rows(self.rows(columns))
            return
        named = {array: columns[key] for array, key in self.by_name}
        if self.is_open:
            accumulator.update(named)
        else:
            accumulator.update(*[columns[key] for key in self.positional], **named)


def outer_difference(config: Any, other: Any) -> tuple[str, str] | None:
    """Say how the inner accumulators of two configurations differ; None if they are equal."""
    mine, theirs = config.accumulator, other.accumulator
    if mine == theirs:
        return None
    if mine.cls is not theirs.cls:
        return "accumulator", f"differs ({mine.cls.__name__} and {theirs.cls.__name__})"
    option, difference = mine.cls._difference(mine.options, theirs.options)
    return "accumulator", f"differs: `{option}` {difference}"


class Batch:
    """The columns of one update, as passed.

    Parameters
    ----------
    table : Table
    columns : dict from name to array
        The counted columns; the only check so far is that they exist.
    inner : Inner
    """

    __slots__ = ("columns", "inner", "size", "table")

    def __init__(self, table: Table, columns: dict[str, Any], inner: Inner) -> None:
        self.table, self.columns, self.inner = table, columns, inner
        self.size = self._length(inner.required[0])

    @classmethod
    def of(cls, batch: Any, sample_weight: Any, inner: Inner) -> Self:
        """Take the columns out of a mapping, a data frame or an Arrow table."""
        table = Table.of(batch)
        if table is None:
            raise InvalidInputError(
                f"must be a mapping, a data frame or an Arrow table, got {type(batch).__name__}",
                argument="batch",
            )
        columns = {name: table.column(name) for name in inner.required}
        for name in inner.optional:
            if table.holds(name):
                columns[name] = table.column(name)
        if sample_weight is not None:
            columns |= _weight_columns(sample_weight, columns, inner)
        return cls(table, columns, inner)

    def _length(self, name: str) -> int:
        """Count the rows; a list of text labels with gaps is no array yet."""
        column = self.columns[name]
        if isinstance(column, (list, tuple)):
            return len(column)
        shape = getattr(column, "shape", None)
        if shape is None:
            shape = _listed(column, name).shape
        return int(shape[0]) if shape else 0

    def arrays(self) -> dict[Key, Array]:
        """Return the columns as arrays or codes; counting the batch has already checked them."""
        return {
            name: part if are_texts(part) else as_array(part, name=name, allow_missing=True)
            for name, part in self.columns.items()
        }

    def without_truth(self) -> Array | None:
        """Tell which rows have no label; None if all have."""
        found: Array | None = None
        for name in self.inner.truths:
            missing = _missing(self.columns[name], name)
            if missing is None:
                return None
            found = missing if found is None else found & missing
        return found if found is not None and found.any() else None

    def without(self, missing: Array) -> Batch:
        """Leave rows out."""
        kept = np.flatnonzero(~missing)
        columns = {}
        for name in self.columns:
            value = self.columns[name]
            array = value if isinstance(value, np.ndarray) else _listed(value, name)
            if len(array) != len(missing):
                raise InvalidInputError(
                    f"must have {len(missing)} rows, got {len(array)}", argument=name
                )
            columns[name] = array[kept]
        return Batch(self.table, columns, self.inner)

    def count_in(self, accumulator: Any) -> None:
        """Check the batch: count it with an accumulator of all rows, which may refuse it."""
        accumulator.update(dict(self.columns))

    def weights(self) -> Array | None:
        """Return the weight of each row, the maximum over members; None if all are 1."""
        columns = dict.fromkeys(self.inner.weights)
        given = [column for column in columns if column is not None and column in self.columns]
        found: Array | None = None
        for column in given:
            weights: Any = read_weights(self.columns[column], rows=self.size, name=column)
            found = weights if found is None else np.maximum(found, weights)
        return found if found is None or len(given) == len(columns) else np.maximum(found, 1)


def _missing(value: Any, name: str) -> Array | None:
    """Tell which items of a vector are missing; None if none can be."""
    if are_texts(value):
        return None
    array = value if isinstance(value, np.ndarray) else _listed(value, name)
    if array.dtype.kind == "f" and array.ndim == 1:
        return np.asarray(np.isnan(array))
    if array.dtype.kind != "O" or array.ndim != 1:
        return None
    known = (bool, int, str)
    return np.fromiter(
        (type(item) not in known and is_missing(item) for item in array.tolist()),
        bool,
        len(array),
    )


def _listed(value: Any, name: str) -> Array:
    """Make an array of the items of a column with gaps, so that rows can be left out."""
    if isinstance(value, CodedTexts):
        return np.asarray(value)
    items = value.to_list() if hasattr(value, "to_list") else value
    items = items.to_pylist() if hasattr(items, "to_pylist") else items
    if not isinstance(items, (list, tuple)):
        return as_array(value, name=name, allow_missing=True)
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def _weight_columns(weights: Any, columns: dict[str, Any], inner: Inner) -> dict[str, Any]:
    """Return weights passed by keyword, as the weight column of every member."""
    names = [member.read.get("sample_weight") for member in inner.members]
    for member, column in zip(inner.members, names, strict=True):
        if column is None:
            raise InvalidInputError(
                f"has no meaning here: {member.cls.__name__} reads {', '.join(member.arrays)}",
                argument="sample_weight",
            )
        if column in columns and column == "sample_weight":
            raise InvalidInputError(
                "is in the batch and is also passed by keyword", argument="sample_weight"
            )
    return {str(column): weights for column in names}


def refuse_split_queries(queries: Array, groups: Array, *, name: str, column: str) -> None:
    """Refuse queries whose rows lie in several groups."""
    first = np.zeros(int(queries.max()) + 1, dtype=groups.dtype)
    first[queries[::-1]] = groups[::-1]
    apart = first[queries] != groups
    if apart.any():
        raise InvalidInputError(
            f"must be the same in all rows of a query (column {column!r})",
            argument=name,
            position=first_index(apart),
        )


class Held:
    """A state, pending rows, and the accumulator of all rows.

    An update replaces it as a whole, so a reader sees all rows of a batch or none.

    Attributes
    ----------
    state : Slices or Panes
        The groups, without pending rows.
    total : accumulator or None
        Has counted all rows, pending ones too; None until it is needed.
    block, used, layout
        The pending rows, which all have the columns of the layout.
    blank : tuple of (times, weights)
        Pending rows without a label.
    codes : ValueCodes
        The values of the codes in the rows.
    texts : dict from key to dict from text to code
        The texts of pending columns that are stored as codes.
    n_queries : int
        The number of pending queries whose ids have been replaced by numbers.
    read : Slices or Panes, optional
        The state with the pending rows, kept by the first reader for the next.
    weight : float or None
        The approximate weight of all rows, once `_weighed` has computed it.
    """

    __slots__ = (
        *("blank", "block", "codes", "layout", "n_queries", "read", "state", "texts", "total"),
        *("used", "weight"),
    )

    def __init__(self, state: Any, total: Any = None, codes: ValueCodes | None = None) -> None:
        self.state, self.total = state, total
        self.block, self.used = Block((), 0), 0
        self.layout: tuple[Any, ...] = ()
        self.texts: dict[Key, dict[Any, int]] = {}
        self.blank: tuple[tuple[Array, Array | None], ...] = ()
        many = codes is None or len(codes.values) > _MAX_CODES
        self.codes = ValueCodes() if many or codes is None else codes
        self.n_queries, self.read = 0, None
        self.weight: float | None = None

    @property
    def is_counted(self) -> bool:
        """Whether nothing is pending."""
        return not self.used and not self.blank

    @property
    def rows(self) -> GroupedRows:
        """The pending rows, as views."""
        keys = [key for key, *_ in self.layout]
        columns: dict[Key, Any] = dict(zip(keys, self.block.rows(self.used).columns, strict=True))
        for key, known in self.texts.items():
            columns[key] = CodedTexts(columns[key], list(known))
        return GroupedRows(columns, self.used, self.codes.values)

    def following(self) -> Held:
        """Copy what is held, so that the copy can change."""
        if self.read is not None:
            return Held(self.read, self.total, self.codes)
        made = Held(self.state, self.total, self.codes)
        for name in self.__slots__:
            setattr(made, name, getattr(self, name))
        return made

    def has_capacity_for(self, rows: GroupedRows) -> bool:
        """Tell whether rows fit behind the pending ones."""
        return self.used + rows.size <= self.block.capacity and rows.layout == self.layout

    def put(self, rows: GroupedRows) -> None:
        """Write rows behind the pending ones."""
        self.used = self.block.put(self.used, self._stored(rows))

    def open(self, rows: GroupedRows, capacity: int) -> None:
        """Allocate a block for rows like these, and move pending rows into it."""
        old, used = self.block, self.used
        if not used:
            self.texts = {}
        self.block = Block.like(self._stored(rows), capacity)
        if used:
            self.block.put(0, old.rows(used))
        self.layout = rows.layout

    def _stored(self, rows: GroupedRows) -> Rows:
        """Return the columns as a block holds them: texts as codes of all pending ones."""
        columns = []
        for key, column in rows.columns.items():
            stored: Any = column
            if isinstance(stored, CodedTexts):
                known = self.texts.setdefault(key, {})
                codes = [known.setdefault(text, len(known)) for text in stored.texts]
                stored = np.array(codes, dtype=np.int64)[stored.codes]
            columns.append(stored)
        return Rows(tuple(columns))


class Grouping(Accumulator[ConfigT, Any]):
    """An accumulator that splits its rows into groups, each with an accumulator of its own.

    An update counts the batch with an accumulator of all rows, so a refused batch leaves no
    trace, and copies the rows into a block. The rows are split once the block is full, or when
    the state is read: each group's fixed cost is then paid once.
    """

    __slots__ = ()

    _held: Held

    @abstractmethod
    def _split(self, state: Any, held: Held, rows: GroupedRows | None, take: Take) -> Any:
        """Count rows, and the pending rows without a label, into their groups."""

    @abstractmethod
    def _read_keys(self, batch: Batch, held: Held) -> dict[Key, Array]:
        """Read the columns that tell groups apart, for all rows."""

    @property
    @abstractmethod
    def _key_columns(self) -> tuple[str, ...]:
        """Name the columns that tell groups apart."""

    @abstractmethod
    def _merge_states(self, states: Sequence[Any]) -> Any:
        """Merge states without changing their accumulators."""

    @property
    def n(self) -> Any:
        """The `n` of all groups together, in the form that their accumulators use."""
        return self._all_rows(self._held).n

    @property
    def _total(self) -> FixedPoint:
        total: FixedPoint = self._all_rows(self._held)._total
        return total

    @property
    def _state(self) -> Any:
        held = self._held
        total = self._all_rows(held).copy()
        return attrs.evolve(self._everything(held).detached(), total=total)

    @_state.setter
    def _state(self, state: Any) -> None:
        self._held = Held(state, state.total)

    def _everything(self, held: Held) -> Any:
        """Return the state with the pending rows counted; the caller must not change it."""
        if held.is_counted:
            return held.state
        if held.read is None:
            rows = held.rows if held.used else None
            held.read = self._split(held.state, held, rows, _copy)
        return held.read

    def _all_rows(self, held: Held) -> Any:
        """Return the accumulator of all rows; the caller must not change it."""
        if held.total is None:
            parts = self._everything(held).accumulators
            held.total = total_of(self._config.accumulator, parts)
        return held.total

    def _sum_of(self, alike: Sequence[Any]) -> Any:
        held = [one._held for one in alike]
        total = merged([self._all_rows(one) for one in held])
        state = self._merge_states([self._everything(one) for one in held])
        return attrs.evolve(state, total=total)

    def _append_batch(self, batch: Any, sample_weight: Any, partial: bool) -> Self:
        """Check a batch, and add its rows to the pending ones."""
        if partial is not False:
            raise InvalidInputError(
                f"must be False: {type(self).__name__} needs complete queries", argument="partial"
            )
        given = Batch.of(batch, sample_weight, self._config.accumulator)
        total = self._all_rows(self._held)._fork()
        held = self._held.following()
        given, keys, blank = self._labelled(given, held)
        given.count_in(total)
        held.total = total
        if blank is not None:
            held.blank = (*held.blank, blank)
        rows = self._checked_rows(given, keys, held)
        self._held = self._weighed(self._extended(held, rows), rows, blank)
        return self

    def _weighed(self, held: Held, rows: GroupedRows, blank: Any) -> Held:  # noqa: ARG002
        """Refuse rows that would raise the total weight past its limit."""
        return held

    def _labelled(
        self, batch: Batch, held: Held
    ) -> tuple[Batch, dict[Key, Array], tuple[Array, Array | None] | None]:
        """Read the keys of groups, and take out the rows without a label."""
        return batch, self._keys_of(batch, held), None

    def _keys_of(self, batch: Batch, held: Held) -> dict[Key, Array]:
        """Read the columns that tell groups apart; without rows they may be of any type."""
        if batch.size:
            return self._read_keys(batch, held)
        for name in self._key_columns:
            column = as_array(batch.table.column(name), name=name, allow_missing=True)
            check_vector(column.reshape(-1) if not column.size else column, rows=0, name=name)
        return {}

    def _checked_rows(self, batch: Batch, keys: dict[Key, Array], held: Held) -> GroupedRows:
        """Collect the columns of a batch, without rows of weight 0."""
        for key, column in keys.items():
            if len(column) != batch.size:
                raise InvalidInputError(
                    f"must have {batch.size} rows, got {len(column)}", argument=self._name_of(key)
                )
        if not batch.size:
            return GroupedRows({}, 0, held.codes.values)
        columns = batch.arrays() | keys
        is_counted = self._number_queries(columns, keys, held)
        rows = GroupedRows(columns, batch.size, held.codes.values)
        weights = batch.weights()
        if TIMES in keys and is_counted is not None:
            rows.columns[WEIGHTS] = np.where(is_counted, 1 if weights is None else weights, 0)
        elif TIMES in keys and weights is not None:
            rows.columns[WEIGHTS] = weights
        if weights is None or weights.all():
            return rows
        return rows.taken(np.flatnonzero(weights))

    @abstractmethod
    def _name_of(self, key: Key) -> str:
        """Name the column of a key."""

    def _number_queries(
        self, columns: dict[Key, Array], keys: dict[Key, Array], held: Held
    ) -> Array | None:
        """Refuse queries in two groups; number queries across batches where ids are not kept.

        Returns
        -------
        bool array, or None
            Which rows are the first of a query, where queries are all that is counted.
        """
        first: Array | None = None
        for column, keeps_ids in self._config.accumulator.queries:
            if column not in columns or columns[column].ndim != 1:
                continue
            known, numbers = distinct(as_labels(columns[column], name=column), name=column)
            for key, groups in keys.items():
                refuse_split_queries(numbers, groups, name=self._name_of(key), column=column)
            if not keeps_ids:
                columns["query", column] = numbers + held.n_queries
                held.n_queries += len(known)
            if TIMES in keys and all(m.cls._unit_array for m in self._config.accumulator.members):
                first = np.zeros(len(numbers), dtype=bool) if first is None else first
                first[np.unique(numbers, return_index=True)[1]] = True
        return first

    def _extended(self, held: Held, rows: GroupedRows) -> Held:
        """Write rows behind the pending ones, or split all of them."""
        if not rows.size:
            return self._flushed(held) if len(held.blank) > _MAX_BLANK else held
        limit = self._capacity(rows)
        if rows.size > limit // 2:
            return self._flushed(held, rows)
        if held.has_capacity_for(rows):
            held.put(rows)
            return held
        if held.used and (rows.layout != held.layout or held.used + rows.size > limit):
            if len(held.codes.values) > _MAX_CODES:
                return self._flushed(held, rows)
            n_queries, held = held.n_queries, self._flushed(held)
            held.n_queries = n_queries
        capacity = min(limit, max(_FIRST_CAPACITY, 8 * (held.used + rows.size)))
        held.open(rows, capacity)
        held.put(rows)
        return held

    def _capacity(self, rows: GroupedRows) -> int:
        """Choose the maximum number of pending rows like these."""
        width = sum(
            part.dtype.itemsize * (part.size // rows.size) for part in rows.columns.values()
        )
        return max(2, min(CAPACITY, _MAX_BYTES // max(width, 1)))

    def _flushed(self, held: Held, rows: GroupedRows | None = None) -> Held:
        """Split the pending rows, and new ones if given."""
        state = held.state
        if not held.is_counted:
            state = self._split(state, held, held.rows if held.used else None, _fork)
        if rows is not None:
            state = self._split(state, Held(state, None, held.codes), rows, _fork)
        return Held(state, held.total, held.codes)


def _fork(accumulator: Any) -> Any:
    return accumulator._fork()


def _copy(accumulator: Any) -> Any:
    return accumulator.copy()
