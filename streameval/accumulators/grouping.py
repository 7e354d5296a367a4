"""The base of accumulators of groups, whose pending rows are split all at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self, TypeVar

import attrs
import numpy as np

from streameval.accumulators.base import Accumulator, fork, merged
from streameval.accumulators.grouped_batches import Batch, groups_of_clusters, refuse_split_queries
from streameval.accumulators.grouped_rows import (
    CLUSTERS,
    CODES,
    TIMES,
    WEIGHTS,
    GroupedRows,
    Key,
    count_flat,
    weights_of,
)
from streameval.accumulators.panes import Panes
from streameval.accumulators.pending import NO_BLOCK, RowBuffer, Rows
from streameval.accumulators.sealed import (
    FlatGroups,
    FlatLeaves,
    FlatSlices,
    Sealed,
    decode_inner,
)
from streameval.configs.inner import Inner, OuterConfig, key_columns
from streameval.configs.sliced import ClusteredConfig, SlicedConfig
from streameval.configs.windowed import WindowedConfig
from streameval.errors import CountOverflowError, InvalidInputError, require
from streameval.exact.array_types import Array
from streameval.exact.fixed_point import FixedPoint
from streameval.inputs.arrays import as_array, as_ids, check_vector
from streameval.inputs.coded import CodedTexts
from streameval.inputs.labels import distinct
from streameval.inputs.values import ValueCodes
from streameval.states import codec
from streameval.states.state import as_corrupt

CAPACITY = 2**18
"""The maximum number of pending rows, over which the fixed cost of a group is spread."""

_FIRST_CAPACITY = 2**10
_MAX_BYTES = 2**26
_MAX_BLANK = 256
_MAX_CODES = 2**16
_SPREAD = 2**11

_TABLES = Panes, FlatSlices, FlatGroups, FlatLeaves
_FIELDS = ("accumulator", *(name for one in _TABLES for name in one.NAMES), *Panes.OPTIONAL)
"""The fields of bytes that may exist, in their order."""

_LEVEL_OF: dict[Key, Any] = {
    CODES: SlicedConfig,
    CLUSTERS: ClusteredConfig,
    TIMES: WindowedConfig,
}

ConfigT = TypeVar("ConfigT", bound=OuterConfig)


def with_inner(arguments: dict[str, Any]) -> dict[str, Any]:
    """Check the accumulator that each group copies, among the arguments of a constructor.

    It must have counted nothing.
    """
    accumulator, outer = arguments["accumulator"], type(arguments["self"])
    if not isinstance(accumulator, Accumulator):
        given = type(accumulator).__name__
        raise InvalidInputError(f"must be an accumulator, got {given}", argument="accumulator")
    if accumulator._depth >= outer._depth:
        raise InvalidInputError(
            f"cannot be a {type(accumulator).__name__} within a {outer.__name__}",
            argument="accumulator",
            remedy="They nest in this order: Windowed, Sliced, Clustered, Collection, any other.",
        )
    if accumulator != accumulator.copy().reset():
        raise InvalidInputError(
            f"must have counted nothing yet, got one with n={accumulator.n}",
            argument="accumulator",
            remedy="Reset it, or give a new one.",
        )
    return arguments | {"accumulator": Inner(type(accumulator), accumulator._config)}


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
    blank : tuple of GroupedRows
        Pending rows without a label.
    codes : ValueCodes
        The values of the codes in the rows.
    texts : dict from key to dict from text to code
        The texts of pending columns that are stored as codes.
    n_queries : int
        The number of pending queries whose ids have been replaced by numbers.
    read : Slices or Panes, optional
        The state with the pending rows, kept by the first reader for the next.
    weight : FixedPoint or None
        The weight of all rows, pending ones too; None if it is that of the state.
    """

    __slots__ = (
        *("blank", "block", "codes", "layout", "n_queries", "read", "state", "texts", "total"),
        *("used", "weight"),
    )

    def __init__(self, state: Any, total: Any = None, codes: ValueCodes | None = None) -> None:
        self.state: Any = state
        self.total = total
        self.block, self.used = NO_BLOCK, 0
        self.layout: tuple[Any, ...] = ()
        self.texts: dict[Key, dict[Any, int]] = {}
        self.blank: tuple[GroupedRows, ...] = ()
        self.codes = ValueCodes() if codes is None or len(codes.values) > _MAX_CODES else codes
        self.n_queries, self.read = 0, None
        self.weight: FixedPoint | None = None

    @property
    def is_counted(self) -> bool:
        """Whether nothing is pending."""
        return not self.used and not self.blank

    def rows(self, block: RowBuffer) -> GroupedRows | None:
        """Return the pending rows, as views of their block; None if there are none."""
        if not self.used:
            return None
        keys = [key for key, *_ in self.layout]
        columns: dict[Key, Any] = dict(zip(keys, block.rows(self.used).columns, strict=True))
        for key, known in self.texts.items():
            columns[key] = CodedTexts(columns[key], list(known))
        return GroupedRows(columns, self.used, self.codes)

    def following(self) -> Held:
        """Copy what is held, so that the copy can change."""
        made = Held.__new__(Held)  # a copy in a third of the time of `copy.copy`
        for name in self.__slots__:
            setattr(made, name, getattr(self, name))
        read = self.read  # looked up last, because its first reader releases the rest
        return made if read is None else Held(read, made.total, made.codes)

    def set_read(self, state: Any) -> None:
        """Keep the state with the pending rows, and release what it was counted from."""
        self.read = state  # first: see `_everything`
        self.state, self.block = None, NO_BLOCK

    def put(self, rows: GroupedRows, limit: int) -> None:
        """Append rows to the pending ones, which are like these, in a larger block if necessary."""
        old, used, stored = self.block, self.used, self._stored(rows)
        if used + rows.size > old.capacity:
            capacity = min(limit, max(_FIRST_CAPACITY, 8 * (used + rows.size)))
            self.block, self.layout = RowBuffer.like(stored, capacity), rows.layout
            if used:
                self.block.put(0, old.rows(used))
        self.used = self.block.put(used, stored)

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
    """An accumulator that splits its rows into groups, each with its own accumulator.

    An update counts the batch with an accumulator of all rows, so a refused batch leaves no
    trace, and copies the rows into a block. The rows are split once the block is full, or when
    the state is read: each group's fixed cost is then paid once.
    """

    __slots__ = ()

    _held: Held
    _within: ClassVar[tuple[type[Any], ...]]
    """The classes that the accumulator may have besides those of single ones, in bytes."""
    _takes_unlabelled: ClassVar[bool] = False
    """Whether rows may have no label."""

    def update(
        self,
        batch: Any,
        *arrays: Any,
        sample_weight: Any = None,
        partial: bool = False,
        **columns: Any,
    ) -> Self:
        """Count one batch: each row in the slice of its value, or in the pane of its time.

        Parameters
        ----------
        batch : mapping, data frame or Arrow table
            The column of the values or of the times, and the columns that the accumulator reads.
        sample_weight : array of shape (n,), or that of entries or items, optional
            Non-negative weights, unless a column holds them: 2 counts a row twice, 0 leaves it out.
        partial : bool
            Must be False: the rows of a query cannot go on in other batches.
        *arrays, **columns
            Refused: pass every array as a column of `batch`.

        Returns
        -------
        The accumulator itself.

        Raises
        ------
        InvalidInputError
            When a column is missing, or has the wrong shape, type or values; when a time is
            missing, or looks like another unit. Then nothing of the batch has been counted.
        CountOverflowError
            When the total would pass 2**63 - 1. Nothing has been counted then.
        """
        if arrays or columns:
            names = dict.fromkeys((*self._config.accumulator.required, *self._key_columns))
            raise InvalidInputError(
                f"must be one mapping or table with the columns {', '.join(names)}; arrays were "
                "passed one by one",
                argument="batch",
            )
        return self._append_batch(batch, sample_weight, partial)

    def _split(self, state: Any, held: Held, rows: Any) -> Any:  # noqa: ARG002 - panes need it
        """Count rows, and the pending rows without a label, into their groups."""
        owners = np.zeros(rows.size, dtype=np.uint8)
        return state.joined([state, count_flat(state.inner, rows, owners, 1)])

    def reset(self) -> Self:
        """Forget everything counted; the options stay. Returns the accumulator itself."""
        empty = self._state_type(self._config).empty(Inner(type(self), self._config), 1)
        self._held = Held(empty, self._config.accumulator.leaf.empty())
        return self

    def total(self) -> Any:
        """Copy the accumulator of all rows with a label, as if there were no groups.

        That of a `Clustered` has the intervals of independent rows.
        """
        held, inner = self._held, self._config.accumulator
        if inner is inner.leaf:
            return self._all_rows(held).copy()
        return self._everything(held).leaves.merged()

    def to_bytes(self) -> bytes:
        """Write options and groups as flat columns; equal accumulators give equal bytes."""
        fields = {"accumulator": codec.Nested((self._config.accumulator.empty().to_bytes(),))}
        fields |= self._everything(self._held).written()
        settings = codec.settings_json(self._config.settings)
        return codec.encode(self.type_id, self.type_name, settings, fields)

    @classmethod
    def _decode_parts(cls, parts: codec.EncodedParts) -> tuple[ConfigT, Any]:
        require(parts.version > 1, "version 1 has no groups")
        definition, described = cls._definition, parts.header["state"]
        fields = codec.decode_named([name for name in _FIELDS if name in described], parts)
        accumulator = decode_inner(fields.get("accumulator"), parts.version, cls._within)
        options = {field.name for field in attrs.fields(definition.config)} - {"accumulator"}
        require(parts.header["config"].keys() == options, "the options are not those of this class")
        config = definition.make_config({"accumulator": accumulator, **parts.options})
        inner, state_type = Inner(cls, config), cls._state_type(config)
        names = ["accumulator", *state_type.names(inner)]
        left_out = [name for name in state_type.OPTIONAL if name not in fields]
        require([*fields, *left_out] == names, "the fields are not those of its groups")
        parts.check_header(codec.settings_json(config.settings), fields)
        state = state_type.read(inner, 1, fields)
        errors = (error for one in accumulator.counted for error in one.cls._definition.errors)
        try:
            return config, attrs.evolve(state, total=state.all_rows())
        except tuple(errors) as error:  # no rows have made parts that cannot be merged
            raise as_corrupt(error) from error

    def _read_keys(self, batch: Batch, held: Held) -> dict[Key, Array]:
        """Read the columns that define groups, for all rows."""
        keys: dict[Key, Any] = {}
        for level in self._config.levels:
            if isinstance(level, SlicedConfig):
                columns = [batch.table.column(name) for name in level.column]
                keys[CODES] = held.codes.read(columns, level.column)
            elif isinstance(level, ClusteredConfig):
                keys[CLUSTERS] = groups_of_clusters(level, level.by, batch.table, held.codes)
        for member in self._config.accumulator.members:
            if isinstance(member.options, ClusteredConfig):
                level, by = member.options, member.required[member.options.by]
                keys[level.groups, by] = groups_of_clusters(level, by, batch.table, held.codes)
        return keys

    @property
    def _key_columns(self) -> tuple[str, ...]:
        """Name the columns that define groups."""
        return key_columns(self._config)

    @property
    def options(self) -> dict[str, Any]:
        """The options by name; `accumulator` is one that has counted nothing."""
        return super().options | {"accumulator": self._config.accumulator.empty()}

    @property
    def n(self) -> Any:
        """The `n` of all groups together, in the form that their accumulators use."""
        return self._all_rows(self._held).n

    @property
    def _state(self) -> Any:
        held = self._held
        return attrs.evolve(self._everything(held), total=self._all_rows(held).copy())

    @_state.setter
    def _state(self, state: Any) -> None:
        self._held = Held(state, state._total)

    def _view(self) -> Any:
        """Return the state with the total, if that has been counted."""
        held = self._held
        state = self._everything(held)
        return state if held.total is None else attrs.evolve(state, total=held.total)

    def _copy_of(self, part: Sealed | None) -> Any:
        """Copy the accumulator of a group; without one, no rows are in it."""
        return self._config.accumulator.empty() if part is None else part.copy()

    def _everything(self, held: Held) -> Any:
        """Return the state with the pending rows counted; the caller must not change it."""
        if held.is_counted:
            return held.state
        state, block = held.state, held.block  # before `read`, whose first reader releases them
        if held.read is None:
            held.set_read(self._split(state, held, held.rows(block)))
        return held.read

    def _all_rows(self, held: Held) -> Any:
        """Return the accumulator of all rows; the caller must not change it."""
        if held.total is None:
            held.total = self._everything(held).total
        return held.total

    def _fold(self, alike: Sequence[Any]) -> Held:
        held = [one._held for one in alike]
        total = merged([self._all_rows(one) for one in held])
        states = [self._everything(one) for one in held]
        return Held(states[0].joined(states), total)

    def _append_batch(self, batch: Any, sample_weight: Any, partial: bool) -> Self:
        """Check a batch, and add its rows to the pending ones."""
        if partial is not False:
            raise InvalidInputError(
                f"must be False: {type(self).__name__} needs complete queries", argument="partial"
            )
        given = Batch.of(batch, sample_weight, self._config.accumulator)
        try:
            return self._append(given)
        except (InvalidInputError, CountOverflowError) as error:
            if error.argument in self._key_columns:
                raise
            refusal = given.refusal(error, takes_unlabelled=self._takes_unlabelled)
            raise refusal from refusal.__cause__

    def _append(self, given: Batch) -> Self:
        """Add the rows of a batch to the pending ones, unless something in it is refused."""
        weighted = given.weighted(self._key_columns)
        if weighted is not None:
            return weighted.count_by(
                lambda **columns: self._append_batch(columns, None, partial=False)
            )
        total = fork(self._all_rows(self._held))
        held = self._held.following()
        given, keys, blank = self._labelled(given, held)
        given.count_in(total)
        held.total = total
        if blank is not None:
            held.blank = (*held.blank, blank)
        rows = self._checked_rows(given, keys, held)
        weight = self._weighed(held, [rows, *([] if blank is None else [blank])])
        held = self._extended(held, rows)
        held.weight = weight
        self._held = held
        return self

    def _weighed(self, held: Held, rows: Sequence[GroupedRows]) -> FixedPoint | None:  # noqa: ARG002
        """Refuse rows that would raise the total weight past its limit; return it."""
        return None

    def _labelled(
        self, batch: Batch, held: Held
    ) -> tuple[Batch, dict[Key, Array], GroupedRows | None]:
        """Read the keys of groups, and take out the rows without a label, if there may be any."""
        keys = self._keys_of(batch, held)
        missing = batch.without_truth() if self._takes_unlabelled and batch.size else None
        if missing is None:
            return batch, keys, None
        self._check_lengths(keys, batch.size)
        columns: dict[Key, Array] = {TIMES: keys[TIMES][missing]}
        columns |= {CODES: keys[CODES][missing]} if CODES in keys else {}
        blank = GroupedRows(columns, len(columns[TIMES]), held.codes)
        weights = batch.weights()
        if weights is not None:
            columns[WEIGHTS] = weights[missing]
            blank = blank.taken(np.flatnonzero(columns[WEIGHTS]))
        labelled = {key: column[~missing] for key, column in keys.items()}
        return batch.without(missing), labelled, blank if blank.size else None

    def _keys_of(self, batch: Batch, held: Held) -> dict[Key, Array]:
        """Read the columns that define groups; without rows they can have any type."""
        if batch.size:
            return self._read_keys(batch, held)
        for name in self._key_columns:
            column = as_array(batch.table.column(name), name=name, allow_missing=True)
            check_vector(column.reshape(-1) if not column.size else column, rows=0, name=name)
        return {}

    def _checked_rows(self, batch: Batch, keys: dict[Key, Array], held: Held) -> GroupedRows:
        """Collect the columns of a batch."""
        self._check_lengths(keys, batch.size)
        if not batch.size:
            return GroupedRows({}, 0, held.codes)
        columns = batch.arrays() | keys
        is_counted = self._number_queries(columns, batch, keys, held)
        rows = GroupedRows(columns, batch.size, held.codes)
        weights = weights_of(self._config.accumulator, columns, batch.size)
        if is_counted is not None:
            weights = np.where(is_counted, 1 if weights is None else weights, 0)
        if TIMES in keys and weights is not None:
            rows.columns[WEIGHTS] = weights
        return rows

    def _check_lengths(self, keys: dict[Key, Array], size: int) -> None:
        for key, column in keys.items():
            if len(column) != size:
                raise InvalidInputError(
                    f"must have {size} rows, got {len(column)}", argument=self._name_of(key)
                )

    def _name_of(self, key: Key) -> str:
        """Name the column of a key, or the first of several; members have checked their own."""
        levels = (level for level in self._config.levels if isinstance(level, _LEVEL_OF[key]))
        name: str = next(levels).key_columns[0]
        return name

    def _number_queries(
        self, columns: dict[Key, Array], batch: Batch, keys: dict[Key, Array], held: Held
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
            known, numbers = distinct(as_ids(columns[column], name=column), name=column)
            for key, groups in keys.items():
                if key not in _LEVEL_OF:  # a member's clusters, which has checked its queries
                    continue
                name = self._name_of(key)
                values = groups
                if key == CLUSTERS:  # several have the same group
                    values = ValueCodes().read([batch.table.column(name)], [name])
                refuse_split_queries(numbers, values, name=name, column=column)
            if not keeps_ids:
                columns["query", column] = numbers + held.n_queries
                held.n_queries += len(known)
            if TIMES in keys and all(m.cls._unit_array for m in self._config.accumulator.members):
                first = np.zeros(len(numbers), dtype=bool) if first is None else first
                first[np.unique(numbers, return_index=True)[1]] = True
        return first

    def _extended(self, held: Held, rows: GroupedRows) -> Held:
        """Append rows to the pending ones, or split all of them."""
        n_blank = sum(part.size for part in held.blank)
        is_full = len(held.blank) > _MAX_BLANK or n_blank > CAPACITY
        if not rows.size:
            return self._flushed(held) if is_full else held
        limit = self._capacity(rows, held)
        if is_full or rows.size > limit // 2:
            return self._flushed(held, rows)
        if held.used and (rows.layout != held.layout or held.used + rows.size > limit):
            if len(held.codes.values) > _MAX_CODES:
                return self._flushed(held, rows)
            held = self._flushed(held)
        held.put(rows, limit)
        return held

    def _capacity(self, rows: GroupedRows, held: Held) -> int:
        """Choose the maximum number of pending rows like these: more if a split costs more."""
        width = sum(
            part.dtype.itemsize * (part.size // rows.size) for part in rows.columns.values()
        )
        n_values = len(held.codes.values)
        wanted: int = max(CAPACITY, held.state.n_items, CAPACITY * n_values // _SPREAD)
        return max(2, min(wanted, _MAX_BYTES // max(width, 1)))

    def _flushed(self, held: Held, rows: GroupedRows | None = None) -> Held:
        """Split the pending rows, and new ones if given."""
        state = held.state
        if not held.is_counted:
            state = self._split(state, held, held.rows(held.block))
        if rows is not None:
            state = self._split(state, Held(state, None, held.codes), rows)
        made = Held(state, held.total, held.codes)
        made.n_queries = held.n_queries  # the numbers of queries are in use
        return made
