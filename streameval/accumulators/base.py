"""What every accumulator is: a configuration, a state, and the verbs between them."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Generic, Self, TypeVar

import attrs

from streameval.errors import (
    CorruptStateError,
    IncompatibleStateError,
    InvalidInputError,
    StreamevalError,
    require,
)
from streameval.exact.fixed_point import FixedPoint
from streameval.inputs.batches import arguments
from streameval.states import codec
from streameval.states.state import State

__all__ = ["Accumulator", "merge"]

ConfigT = TypeVar("ConfigT", bound=attrs.AttrsInstance)
StateT = TypeVar("StateT", bound=State)


class Accumulator(ABC, Generic[ConfigT, StateT]):
    """The thin mutable shell around a frozen configuration and a frozen state.

    A subclass is final. It gives its kind number and its configuration class, the state class
    that belongs to a configuration, the names of its arrays, `update` and `compute`; everything
    else follows from the sum of states. Each mutating verb ends in one assignment, so a failure
    leaves no trace.
    """

    __slots__ = ("_config", "_held")

    kind: ClassVar[int]
    _config_type: ClassVar[type[Any]]
    _arrays: ClassVar[tuple[str, ...]]
    _optional_arrays: ClassVar[tuple[str, ...]] = ("sample_weight",)
    _config: ConfigT
    _held: Any

    def __init_subclass__(
        cls, *, kind: int | None = None, config: type[Any] | None = None, **options: Any
    ) -> None:
        """Give the subclass the number that its bytes carry, unless it is a base of others."""
        super().__init_subclass__(**options)
        if kind is None or config is None:
            return
        if codec.KINDS.get(kind) != cls.__name__:
            raise TypeError(f"kind {kind} is not that of {cls.__name__}.")
        cls.kind, cls._config_type = kind, config

    def __init__(self, config: ConfigT) -> None:
        self._config = config
        self.reset()

    @property
    @abstractmethod
    def _state(self) -> StateT:
        """The state of everything counted. Reading it changes nothing that can be seen.

        What is held is more: small batches are pending, and are counted here.
        """

    @_state.setter
    @abstractmethod
    def _state(self, state: StateT) -> None:
        """Hold a state, and no pending rows."""

    @staticmethod
    @abstractmethod
    def _state_type(config: ConfigT) -> type[StateT]:
        """Choose the class of the states that belong to a configuration."""

    @abstractmethod
    def compute(self) -> Any:
        """Compute the result of everything counted so far; the state does not change."""

    @property
    def n(self) -> int | float:
        """The sum of the weights counted: the number of examples when there are no weights.

        An int, or a float once a weight with a fraction has been counted.
        """
        number: int | float = self._total.to_numbers().item()
        return number

    @property
    def options(self) -> dict[str, Any]:
        """The options by name, in one canonical form; accumulators with equal ones can merge."""
        return _fields(self._config)

    @property
    def _total(self) -> FixedPoint:
        """The sum of the weights; where rows are pending, cheaper than the state of everything."""
        return self._state.n

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
        self._fold([self, *map(self._alike, others)])
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
        """Tell whether class, options and state are equal."""
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

        The format is versioned, checksummed and free of code; see `streameval.states.codec`.
        """
        return codec.encode(self.kind, _fields(self._config), _fields(self._state))

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
            When they hold another kind of accumulator.
        """
        return cls._decode(codec.split(data))

    def state_dict(self) -> dict[str, str]:
        """Give the bytes as text in a plain dict, which checkpoints of any framework can hold."""
        return codec.to_state_dict(self.to_bytes())

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` gave; what was counted is forgotten.

        Raises
        ------
        CorruptStateError
            When it is damaged, or none. As always, nothing has changed then.
        IncompatibleStateError
            When it holds another kind of accumulator, or other options; the message names them.
        """
        loaded = self.from_bytes(codec.from_state_dict(state_dict))
        self._check_alike(loaded, "load")
        self._state = loaded._state

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle through `to_bytes`."""
        return type(self).from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        """Show the options that differ from their defaults, and the total."""
        usual = _fields(type(self)()._config)  # type: ignore[call-arg] # subclasses have defaults
        options = [
            f"{name}={value!r}"
            for name, value in _fields(self._config).items()
            if value is not None and value != usual[name]
        ]
        return f"{type(self).__name__}({', '.join([*options, f'n={self.n}'])})"

    def _named(self, *arrays: Any, optional: tuple[Any, ...]) -> dict[str, Any]:
        """Name the arrays of one `update`, however they were handed over."""
        keywords = dict(zip(self._optional_arrays, optional, strict=True))
        return arguments(*arrays, names=self._arrays, optional=keywords)

    def _fork(self) -> Self:
        """Make a shell that holds the same, pending rows included, to try an update on.

        Updates of it show nowhere else, whether they succeed or not. Only one of the two may be
        updated after that: the fork, or this one if the fork is dropped.
        """
        made = type(self).__new__(type(self))
        made._config, made._held = self._config, self._held
        return made

    def _absorb(self, batch: StateT) -> Self:
        """Add the counts of one batch."""
        self._state = self._sum(self._state, batch)
        return self

    def _fold(self, alike: Sequence[Any]) -> None:
        """Hold the sum of accumulators, of which this is the first."""
        self._state = self._sum_of(alike)

    def _sum_of(self, alike: Sequence[Any]) -> StateT:
        """Add the states of accumulators; a subclass may count their pending rows together."""
        return self._sum_all(one._state for one in alike)

    def _sum_all(self, states: Iterable[StateT]) -> StateT:
        """Add states, one at least; a subclass overrides this where it is faster at once."""
        return functools.reduce(self._sum, states)

    def _sum(self, a: StateT, b: StateT) -> StateT:
        """Add two states; a subclass whose configuration limits their size overrides this."""
        total: StateT = a + b
        return total

    @classmethod
    def _empty(cls, config: ConfigT) -> Self:
        made = cls.__new__(cls)
        made._config = config
        return made.reset()

    @classmethod
    def _make(cls, config: ConfigT, state: StateT) -> Self:
        made = cls.__new__(cls)
        made._config, made._state = config, state
        return made

    @classmethod
    def _decode(cls, parts: codec.Parts) -> Self:
        if parts.kind != cls.kind:
            held = codec.KINDS[parts.kind]
            raise IncompatibleStateError(f"these bytes hold a {held}, not a {cls.__name__}.")
        try:
            config, state = cls._decode_parts(parts)
        except CorruptStateError:
            raise
        except (StreamevalError, TypeError, ValueError, OverflowError, RecursionError) as error:
            reason = str(error).rstrip(".")
            raise CorruptStateError(f"state is corrupt: {reason}.") from error
        return cls._make(config, state)

    @classmethod
    def _decode_parts(cls, parts: codec.Parts) -> tuple[ConfigT, StateT]:
        config = cls._decode_config(parts.header["config"])
        state = cls._decode_state(config, parts)
        parts.check_header(_fields(config), _fields(state))
        return config, state

    @classmethod
    def _decode_config(cls, described: dict[str, Any]) -> ConfigT:
        expected = {field.name for field in attrs.fields(cls._config_type)}
        require(described.keys() == expected, "the options are not those of this version")
        config: ConfigT = cls._config_type.of(
            **{name: codec.from_json(value) for name, value in described.items()}
        )
        return config

    @classmethod
    def _decode_state(cls, config: ConfigT, parts: codec.Parts) -> StateT:
        state_type = cls._state_type(config)
        types = {field.name: field.type for field in attrs.fields(state_type)}
        described = parts.header["state"]
        require(described.keys() == types.keys(), "the fields are not those of this version")
        ordered = {name: described[name] for name in types}
        fields = codec.decode_fields(ordered, parts.payload)
        for name, value in fields.items():
            require(type(value).__name__ == str(types[name]).partition("[")[0], f"field {name}")
        state = state_type(**fields)
        state.check(config)
        return state

    def _alike(self, other: Any) -> Any:
        """Check that another accumulator can be merged."""
        if type(self) is not type(other):
            if not isinstance(other, Accumulator):
                kind = type(other).__name__
                raise InvalidInputError(f"`others` must be accumulators, got {kind}.")
            kinds = f"{type(self).__name__} and {type(other).__name__}"
            raise IncompatibleStateError(f"cannot merge: the kind differs ({kinds}).")
        self._check_alike(other, "merge")
        return other

    def _check_alike(self, other: Self, verb: str) -> None:
        if self._config != other._config:
            difference = self._difference(self._config, other._config)
            raise IncompatibleStateError(f"cannot {verb}: {difference}.")

    @classmethod
    def _difference(cls, config: ConfigT, other: ConfigT) -> str | None:
        """Say in which option two configurations differ first."""
        for name, mine in _fields(config).items():
            theirs = getattr(other, name)
            if mine != theirs:
                return f"`{name}` differs ({mine!r} and {theirs!r})"
        return None


def merge(accumulators: Iterable[Accumulator[Any, Any]]) -> Any:
    """Merge any number of accumulators into a new one; the arguments are left untouched.

    Any order and any grouping give the same bytes. An iterator is consumed one by one, so
    that only the result and one argument need be in memory; a list or tuple, all of which are
    in memory already, is merged at once, which is faster.

    Parameters
    ----------
    accumulators : iterable of accumulators
        Of one class and with equal options; at least one.

    Raises
    ------
    InvalidInputError
        When there is nothing to merge.
    IncompatibleStateError
        When class or options differ.

    Examples
    --------
    >>> import streameval as se
    >>> parts = [se.ConfusionAccumulator().update([1, 0], [1, y]) for y in (0, 1)]
    >>> se.merge(parts).compute().accuracy
    0.75
    """
    if isinstance(accumulators, Accumulator):
        raise InvalidInputError("`accumulators` must be an iterable of accumulators, got one.")
    given = map(_checked, accumulators)
    first = next(given, None)
    if first is None:
        raise InvalidInputError("`accumulators` must hold at least one accumulator.")
    if isinstance(accumulators, (list, tuple)):
        return first._make(first._config, first._sum_of([first, *map(first._alike, given)]))
    total = first.copy()
    for accumulator in given:
        total.merge(accumulator)
    return total


def _checked(value: Any) -> Accumulator[Any, Any]:
    if not isinstance(value, Accumulator):
        raise InvalidInputError(
            f"`accumulators` must hold accumulators, got {type(value).__name__}."
        )
    return value


def _fields(value: attrs.AttrsInstance) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in attrs.fields(type(value))}
