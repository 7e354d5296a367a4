"""The base of all accumulators: a configuration, a state, and the verbs between them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, cast

import attrs

from streameval.accumulators.definition import Definition, check_alike, register
from streameval.accumulators.pending import (
    BufferedState,
    LooseRows,
    RowBuffer,
    Rows,
    pending_rows,
)
from streameval.configs.names import with_advice
from streameval.configs.options import Arrays, Config
from streameval.errors import CorruptStateError, IncompatibleStateError, InvalidInputError
from streameval.inputs.weighted_rows import WeightedRows
from streameval.states.state import State, as_corrupt, bases, fields_of, written_values

if TYPE_CHECKING:
    from streameval.states.codec import EncodedParts

ConfigT = TypeVar("ConfigT", bound=attrs.AttrsInstance)
StateT = TypeVar("StateT", bound=State)
AccumulatorT = TypeVar("AccumulatorT", bound="Accumulator[Any, Any]")


class Accumulator(ABC, Generic[ConfigT, StateT]):
    """The thin mutable shell around a frozen configuration and a frozen state.

    A subclass is final. It defines its type id, the classes of its configuration and its state,
    the names of its arrays, and `compute`; everything else follows from the sum of states. Each
    mutating verb ends in one assignment, so a failure leaves no trace.

    Parameters
    ----------
    **options
        The fields of the configuration.

    Notes
    -----
    Class arguments of a subclass, as in ``class WinRate(Accumulator, type_id=0x8000, state=Wins,
    arrays=("preference",))``:

    type_id : int
        From 0x8000 to 0xffff: the id in the bytes. A second class with the same one is refused.
    state : type
        A frozen attrs class under `streameval.states.State`.
    arrays, optional : tuples of str
        The arrays that `update` takes; by default the optional one is the weights.
    config : type, optional
        A frozen attrs class of the options, if there are any.
    name : str, optional
        The name in the bytes; by default that of the class.
    """

    __slots__ = ("_config", "_held")

    type_id: ClassVar[int]
    type_name: ClassVar[str]
    _definition: ClassVar[Definition]
    _arrays: ClassVar[tuple[str, ...]] = ()
    _optional_arrays: ClassVar[tuple[str, ...]] = ("sample_weight",)
    _unit_array: ClassVar[str | None] = None
    """The array of ids whose rows are one example: they belong together in an update."""
    _weight_array: ClassVar[str] = "sample_weight"
    """The array of the weights of rows, or of what `_unit_array` makes of them."""
    _depth: ClassVar[int] = 0
    """Its nesting depth: an accumulator can only be inside deeper ones."""
    _loose_rows: ClassVar[LooseRows | None] = None
    """How rows are read, counted and sent without an accumulator, if that takes less work."""
    _config: ConfigT
    _held: Any
    """The state, with what a base class adds to it: pending rows, members. See `_state`."""

    def __init_subclass__(
        cls,
        *,
        type_id: int | None = None,
        config: type[Any] | None = None,
        state: type[Any] | Callable[[Any], type[Any]] | None = None,
        arrays: tuple[str, ...] | None = None,
        optional: tuple[str, ...] | None = None,
        name: str | None = None,
        **options: Any,
    ) -> None:
        """Register the subclass by the id in its bytes, unless it is a base of others."""
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            cls.__init__ = with_advice(vars(cls)["__init__"], cls.__name__)  # type: ignore[method-assign]
        if arrays is not None:
            cls._arrays = tuple(arrays)
        if optional is not None:
            cls._optional_arrays = tuple(optional)
        if type_id is None:
            if hasattr(cls, "_definition"):
                raise TypeError(f"{cls.__name__} needs a `type_id`: not that of its base.")
            return
        cls._definition = Definition.of(
            cls, type_id, cls.__name__ if name is None else name, config, state
        )
        cls.type_id, cls.type_name = type_id, cls._definition.name
        register(cls)

    def __init__(self, config: ConfigT | None = None, /, **options: Any) -> None:
        if not hasattr(self, "_definition"):
            raise TypeError(f"{type(self).__name__} is a base of others: it has no `type_id`.")
        definition = self._definition
        made: Any = definition.make_config(options) if config is None else config
        self._config = definition.share(made)
        definition.check_written(self._config)
        self.reset()

    def _configure(self, arguments: dict[str, Any]) -> None:
        """Take the arguments of a constructor, as `locals()` has them, as the options."""
        options = {name: value for name, value in arguments.items() if name != "self"}
        Accumulator.__init__(self, **options)

    @classmethod
    def _arrays_of(cls, config: ConfigT) -> Arrays:
        """Name the arrays that `update` must have, in order, and those that it may have."""
        own = config.arrays if isinstance(config, Config) else None
        return own or (cls._arrays, cls._optional_arrays)

    @property
    def _state(self) -> StateT:
        """The state of everything counted; reading it counts the pending rows."""
        state: StateT = self._held
        return state

    @_state.setter
    def _state(self, state: StateT) -> None:
        """Replace the state and drop pending rows."""
        self._held = state

    @classmethod
    def _state_type(cls, config: ConfigT) -> type[StateT]:
        """Find the class of the states of a configuration."""
        state = cls._definition.state
        chosen = state if state is None or isinstance(state, type) else state(config)
        return cast("type[StateT]", chosen)

    def update(self, *args: Any, **kwargs: Any) -> Self:
        """Count one batch: all of it, or nothing if it is refused.

        Parameters
        ----------
        *args
            The arrays, in the order of the class; or alone, a batch: a tuple of them, or a
            mapping, data frame or Arrow table with columns of their names.
        **kwargs
            The optional arrays, such as `sample_weight`.

        Returns
        -------
        The accumulator itself.
        """
        given = self._definition.signature.bind(*args, **kwargs)
        given.apply_defaults()
        first, *rest = (given.arguments[name] for name in self._arrays)
        optional = tuple(given.arguments[name] for name in self._optional_arrays)
        return self._take_batch(first, *rest, optional=optional)

    @abstractmethod
    def compute(self) -> Any:
        """Compute the result of everything counted so far; the state does not change."""

    @property
    def n(self) -> int | float:
        """The sum of the weights counted, which is the number of examples without weights.

        An int, or a float once a weight with a fraction has been counted.
        """
        number: int | float = self._held.n.to_number()
        return number

    @property
    def options(self) -> dict[str, Any]:
        """The options by name, in one canonical form; accumulators with equal ones can merge."""
        return fields_of(self._config)

    def merge(self, *others: Self) -> Self:
        """Fold other accumulators into this one.

        The result is the same bytes as if this accumulator had counted all their batches, in
        any order. The others are left untouched; ``a.merge(a)`` doubles.

        Parameters
        ----------
        *others : accumulators
            Of the same class and with equal options.

        Returns
        -------
        The accumulator itself.

        Raises
        ------
        IncompatibleStateError
            When the class or an option differs; the message names it.
        CountOverflowError
            When the total would pass 2**63 - 1. Nothing has been merged then.
        """
        self._held = self._fold([self, *map(self._alike, others)])
        return self

    def __add__(self, other: Self) -> Self:
        """Merge into a new accumulator; neither argument changes."""
        if not isinstance(other, Accumulator):
            return NotImplemented
        return self.copy().merge(other)

    def __radd__(self, other: int) -> Self:
        """Let `sum` start from 0."""
        if other != 0:
            return NotImplemented
        return self.copy()

    def __iadd__(self, other: Self) -> Self:
        """Merge in place."""
        if not isinstance(other, Accumulator):
            return NotImplemented
        return self.merge(other)

    def reset(self) -> Self:
        """Forget everything counted; the options stay. Returns the accumulator itself."""
        self._state = self._state_type(self._config).zero(self._config)
        return self

    def copy(self) -> Self:
        """Make an independent accumulator with the same options and state."""
        return self._make(self._config, self._state)

    def __eq__(self, other: object) -> bool:
        """Compare class, options and state."""
        if not isinstance(other, Accumulator):
            return NotImplemented
        return (
            type(self) is type(other)
            and self._config == other._config
            and self._state == other._state
        )

    __hash__ = None  # type: ignore[assignment]

    def to_bytes(self) -> bytes:
        """Write options and state; equal accumulators give equal bytes.

        The format is versioned, checksummed and free of code; see the byte format in the reference.
        """
        from streameval.states import codec  # noqa: PLC0415 (for bytes alone)

        state = self._state
        self._definition.check_state(state)
        settings, fields = self._definition.settings(self._config), written_values(state)
        return codec.encode(self.type_id, self.type_name, settings, fields, bases(type(state)))

    def _summary(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """Return the counts independently of the byte format: options and fields by name.

        Digests depend on it, so it must never change. Inner accumulators form a separate field, a
        tuple.
        """
        return written_values(self._config), written_values(self._state)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what `to_bytes` wrote.

        Parameters
        ----------
        data : bytes, bytearray or memoryview
            May come from anywhere: nothing in it is executed, and time and memory are linear
            in its length.

        Raises
        ------
        CorruptStateError
            When the bytes are damaged, or are no state that could have been counted.
        UnsupportedVersionError
            When a newer release wrote them.
        IncompatibleStateError
            When they hold another type of accumulator.
        """
        from streameval.states import codec  # noqa: PLC0415 (for bytes alone)

        return cls._decode(codec.split(data))

    def state_dict(self) -> dict[str, str]:
        """Encode the bytes as text in a dict, which checkpoints of any framework can hold."""
        from streameval.states import codec  # noqa: PLC0415 (for bytes alone)

        return codec.to_state_dict(self.to_bytes())

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned, which replaces what was counted.

        Raises
        ------
        CorruptStateError
            When it is damaged or no state at all. Nothing has changed then.
        IncompatibleStateError
            When it holds another type of accumulator, or other options; the message names them.
        """
        from streameval.states import codec  # noqa: PLC0415 (for bytes alone)

        loaded = self.from_bytes(codec.from_state_dict(state_dict))
        check_alike(self._config, loaded._config, "load")
        self._state = loaded._state

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle through `to_bytes`."""
        return type(self).from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        """Show the options that differ from their defaults, and the total."""
        defaults = _defaults_of(type(self))
        options = [
            f"{name}={value!r}"
            for name, value in self.options.items()
            if value is not None and (name not in defaults or value != defaults[name])
        ]
        return f"{type(self).__name__}({', '.join([*options, f'n={self.n}'])})"

    def _take_batch(
        self, *arrays: Any, optional: tuple[Any, ...], may_weigh_entries: bool = True
    ) -> Self:
        """Count the rows of one batch that have weight, whatever form the batch has."""
        given = self._named(*arrays, optional=optional)
        weighted = WeightedRows.among(given, may_weigh_entries=may_weigh_entries)
        return (
            self._count_arrays(**given)
            if weighted is None
            else weighted.count_by(self._count_arrays)
        )

    def _named(self, *arrays: Any, optional: tuple[Any, ...]) -> dict[str, Any]:
        """Name the arrays of one `update`, whatever form they have."""
        from streameval.inputs.batches import arguments  # noqa: PLC0415 (for batches alone)

        keywords = dict(zip(self._optional_arrays, optional, strict=True))
        return arguments(*arrays, names=self._arrays_of(self._config)[0], optional=keywords)

    def _count_arrays(self, /, *arrays: Any, **named: Any) -> Self:
        """Count the arrays of a batch, whose rows all have weight."""
        state_type: Any = self._state_type(self._config)
        return self._absorb(state_type.of(self._config, *arrays, **named))

    def _absorb(self, batch: StateT) -> Self:
        """Add the counts of one batch."""
        self._state = self._sum(self._state, batch)
        return self

    def _fold(self, alike: Sequence[Any]) -> Any:
        """Fold accumulators into what one holds; this is the first of them, or a fork of it."""
        return self._sum(*(one._state for one in alike))

    def _sum(self, *states: StateT) -> StateT:
        """Add one or more states."""
        return self._state_type(self._config).sum_of(states, self._config)

    @classmethod
    def _empty(cls, config: ConfigT) -> Self:
        """Make an accumulator of a checked configuration that has counted nothing."""
        made = cls.__new__(cls)
        made._config = config
        return made.reset()

    @classmethod
    def _make(cls, config: ConfigT, state: StateT) -> Self:
        """Make an accumulator of a checked configuration and its state."""
        made = cls.__new__(cls)
        made._config, made._state = config, state
        return made

    @classmethod
    def _decode(cls, parts: EncodedParts) -> Self:
        """Make an accumulator of bytes whose checksum is right; all else is checked."""
        if (parts.type_id, parts.type_name) != (cls.type_id, cls.type_name):
            raise IncompatibleStateError(
                f"these bytes hold a {parts.type_name}, not a {cls.type_name}."
            )
        try:
            config, state = cls._decode_parts(parts)
        except CorruptStateError:
            raise
        except cls._definition.errors as error:
            raise as_corrupt(error) from error
        return cls._make(config, state)

    @classmethod
    def _decode_parts(cls, parts: EncodedParts) -> tuple[ConfigT, StateT]:
        """Read the configuration and the state; headers that were read before are looked up."""
        definition = cls._definition
        config = definition.known.get(parts.header_bytes)
        if config is not None:  # the header is in canonical form
            return config, definition.read_state(cls._state_type(config), config, parts)
        config = definition.read_config(parts)
        state = definition.read_state(cls._state_type(config), config, parts)
        parts.check_header(definition.settings(config), written_values(state))
        definition.remember(config, parts)
        return config, state

    def _alike(self, other: Any) -> Any:
        """Check that another accumulator can be merged."""
        if type(self) is not type(other):
            if not isinstance(other, Accumulator):
                type_name = type(other).__name__
                raise InvalidInputError(f"must be accumulators, got {type_name}", argument="others")
            classes = f"{type(self).__name__} and {type(other).__name__}"
            raise IncompatibleStateError(f"cannot merge: the class differs ({classes}).")
        check_alike(self._config, other._config, "merge")
        return other


class BufferedAccumulator(Accumulator[ConfigT, StateT]):
    """An accumulator with a state and a block of pending rows.

    A subclass reads a batch into columns for `_append`, and defines how many may be pending
    (`_block`) and how they are counted into a state (`_with_rows`). All checks belong to `update`:
    pending rows have been accepted, and counting them cannot fail.
    """

    __slots__ = ()

    _held: BufferedState[StateT]

    @abstractmethod
    def _block(self, state: StateT, rows: Rows) -> RowBuffer:
        """Make an empty block for rows like these, of as many as may be pending beside a state."""

    @abstractmethod
    def _with_rows(self, state: StateT, rows: Rows) -> StateT:
        """Count checked rows into a state."""

    @property
    def _state(self) -> StateT:
        return self._held.state_by(self._with_rows)

    @_state.setter
    def _state(self, state: StateT) -> None:
        self._held = BufferedState.of(state)

    def _append(self, rows: Rows) -> Self:
        """Buffer a batch of checked rows; a large one is counted at once."""
        self._held = self._appended(self._held, rows)
        return self

    def _appended(self, buffered: BufferedState[StateT], rows: Rows) -> BufferedState[StateT]:
        """Write rows after the pending ones, into a new block if needed, or count them."""
        if not rows.size:
            return buffered
        needed = rows.needed
        if buffered.has_capacity_for(rows, needed):
            return buffered.extended(rows, needed)
        state = buffered.state_by(self._with_rows)
        empty: BufferedState[StateT] = BufferedState.of(state, self._block(state, rows))
        if empty.has_capacity_for(rows, needed):
            return empty.extended(rows, needed)
        return BufferedState.of(self._with_rows(state, rows))

    def _fold(self, alike: Sequence[Any]) -> BufferedState[StateT]:
        """Count all pending rows together: counting a few costs as much as counting thousands."""
        buffered: list[BufferedState[StateT]] = [one._held for one in alike]
        state = self._sum(*(one.state for one in buffered))
        for rows in pending_rows(buffered):
            state = self._with_rows(state, rows)
        return BufferedState.of(state)


def _defaults_of(cls: Any) -> dict[str, Any]:
    """Return the options that have a default: of an accumulator made without any, or declared."""
    try:
        options: dict[str, Any] = cls().options
    except TypeError:  # some are required
        return {field.name: field.default for field in attrs.fields(cls._definition.config)}
    return options


def fork(accumulator: AccumulatorT) -> AccumulatorT:
    """Make a shell with the same contents, pending rows included, to read or to try an update on.

    Its updates are visible nowhere else, whether they succeed or not. Afterwards, only one of the
    two may be updated: the fork or, if the fork is dropped, the accumulator.
    """
    made, held = type(accumulator).__new__(type(accumulator)), accumulator._held
    made._config = accumulator._config
    made._held = held.snapshot() if isinstance(held, BufferedState) else held
    return made


def merged(accumulators: Iterable[Accumulator[Any, Any]]) -> Any:
    """Merge one or more accumulators at once into a new one."""
    first, *others = every = [*accumulators]
    configs = [one._config for one in every if type(one) is type(first)]
    if configs.count(first._config) < len(every):  # in one call; else somewhere is a difference
        every = [first, *map(first._alike, others)]
    return merged_alike(every)


def merged_alike(accumulators: Sequence[Accumulator[Any, Any]]) -> Any:
    """Merge one or more accumulators that are known to have one class and equal options."""
    made = fork(accumulators[0])
    made._held = made._fold(accumulators)
    return made
