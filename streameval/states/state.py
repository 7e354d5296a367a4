"""The base of all states: fields, how they are written, their sum, the check after reading."""

from __future__ import annotations

import functools
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Self, get_origin

import attrs

from streameval.errors import CorruptStateError, StreamevalError, corrupt, require
from streameval.exact.fixed_point import FRACTION_BITS, MAX_TOTAL, FixedPoint
from streameval.states.column import Column

_COLUMN_TYPES = ("int64", "uint64", "text")

OF_NOTHING = "n has fractions of nothing"

READ_ERRORS = (StreamevalError, TypeError, ValueError, OverflowError, RecursionError)
"""The errors that hostile bytes may raise in the library's own code."""


@attrs.frozen
class State(ABC):
    """A frozen summary of a multiset of examples.

    A field is a `FixedPoint` array, an `ExactSum`, a `Column`, or a tuple of labels or sums.
    Adding states adds examples, so the sum is associative and commutative, with the zero of
    the configuration as its identity.

    Parameters
    ----------
    n : FixedPoint, shape ()
        The sum of the weights.
    """

    n: FixedPoint

    @property
    def has_counted(self) -> bool:
        """Whether this can be a state other than zero."""
        return self.n.fraction is not None or bool(self.n.whole)

    @classmethod
    @abstractmethod
    def zero(cls, config: Any) -> Self:
        """Make the state of no examples."""

    @abstractmethod
    def __add__(self, other: Any) -> Self:
        """Sum two states of one configuration."""

    @classmethod
    def sum_of(cls, states: Sequence[Any], config: Any) -> Self:  # noqa: ARG003 - for limits
        """Add up one or more states, within the limits of their configuration.

        By default they are added with ``+``. A class overrides this if the configuration limits
        its size, or if adding all at once is faster.
        """
        total: Self = functools.reduce(operator.add, states)
        return total

    def check(self, config: Any) -> None:  # noqa: B027 - not every state has more to check
        """Raise `CorruptStateError` unless examples could have built this state.

        It is called after reading bytes: the fields have their types, and numbers are not negative.
        The class checks their consistency.
        """


@attrs.frozen
class BudgetedState(State):
    """A state with cells, whose number the `budget` of its configuration limits."""

    @abstractmethod
    def joined(self, other: Any, budget: int | None) -> Self:
        """Sum two states, and keep the budget."""

    def __add__(self, other: Any) -> Self:
        """Sum two states without a budget."""
        return self.joined(other, None)

    @classmethod
    def sum_of(cls, states: Sequence[Any], config: Any) -> Self:
        """Add up one or more states, and keep the budget."""
        joined: Self = functools.reduce(lambda a, b: a.joined(b, config.budget), states)
        return joined


@attrs.frozen
class LimitedState(State):
    """A state of items or groups, whose number its configuration limits."""

    @abstractmethod
    def fitted(self, config: Any) -> Self:
        """Keep the limits, or refuse more than they allow."""

    @classmethod
    def sum_of(cls, states: Sequence[Any], config: Any) -> Self:
        """Add up one or more states, and keep the limits."""
        joined: Self = functools.reduce(lambda a, b: (a + b).fitted(config), states)
        return joined


def check_numbers(numbers: FixedPoint, shape: tuple[int, ...], name: str) -> int:
    """Check the shape and the range of one field, and return its largest integer part."""
    if numbers.shape != shape:
        raise corrupt(f"{name} has shape {numbers.shape} instead of {shape}")
    largest = numbers.largest
    if largest > MAX_TOTAL:
        raise corrupt(f"{name} holds negative numbers")
    if numbers.fraction is not None:
        within = (numbers.fraction >= 0) & (numbers.fraction >> FRACTION_BITS == 0)
        require(within.all(), f"{name} holds fractions outside [0, 1)")
    return largest


def check_total(n: FixedPoint) -> None:
    """Check the range of a total, and that its fractions are of something."""
    check_numbers(n, (), "n")
    require(n.is_whole or bool(n.is_positive()), OF_NOTHING)


def as_corrupt(error: Exception) -> CorruptStateError:
    """Report bytes as corrupt, with the reason of an error."""
    if isinstance(error, CorruptStateError):
        return error
    reason = str(error).rstrip(".") or type(error).__name__
    return CorruptStateError(f"state is corrupt: {reason}.")


def fields_of(value: attrs.AttrsInstance) -> dict[str, Any]:
    """Return the fields of a configuration or a state by name."""
    return {name: getattr(value, name) for name in _names(type(value))}


def written_values(value: attrs.AttrsInstance) -> dict[str, Any]:
    """Return the fields that the bytes hold, by name: all except omitted defaults.

    A field declared ``attrs.field(default=..., metadata={"omit_default": True})`` is written only
    if it differs from its default, so that bytes from releases without the field
    equal the bytes of its default.
    """
    defaults = omitted_defaults(type(value))
    return {
        name: held
        for name, held in fields_of(value).items()
        if name not in defaults or held != defaults[name]
    }


@functools.lru_cache(maxsize=256)
def omitted_defaults(owner: Any) -> dict[str, Any]:
    """Return the defaults that bytes omit, by name of the field."""
    return {
        field.name: field.default
        for field in attrs.fields(owner)
        if field.metadata.get("omit_default")
    }


@functools.lru_cache(maxsize=256)
def _names(cls: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in attrs.fields(cls))


@functools.lru_cache(maxsize=256)
def field_getter(cls: Any) -> Callable[[Any], tuple[Any, ...]]:
    """Make a function that returns the fields, two or more, of a state in their order."""
    return operator.attrgetter(*_names(cls))


@functools.lru_cache(maxsize=256)  # called for all bytes read or written
def field_types(state_type: type[Any]) -> dict[str, str]:
    """Name the type of each field, however its annotation is written."""
    return {field.name: _type_name(field.type) for field in attrs.fields(state_type)}


@functools.lru_cache(maxsize=256)
def bases(state_type: type[Any]) -> dict[str, str]:
    """Map each column that is written as its difference from an earlier one to that one.

    It is declared ``attrs.field(metadata={"above": "lo"})``.
    """
    fields = attrs.fields(state_type)
    return {field.name: field.metadata["above"] for field in fields if "above" in field.metadata}


def make_state(state_type: type[Any], fields: dict[str, Any]) -> Any:
    """Make a state from fields that were read; its class must keep them unchanged."""
    state = state_type(**fields)
    for name, value in fields.items():
        kept = getattr(state, name)
        if kept is not value and kept != value:
            raise corrupt(f"{name} is not what its class makes of it")
    return state


def check_values(fields: dict[str, Any]) -> None:
    """Raise `CorruptStateError` unless numbers and columns are valid for their types."""
    check_numbers(fields["n"], (), "n")
    for name, value in fields.items():
        if isinstance(value, FixedPoint):
            check_numbers(value, value.shape, name)
        elif isinstance(value, Column):
            require(value.kind in _COLUMN_TYPES, f"{name} is a column of {value.kind}")
        elif isinstance(value, float):
            require(value == value, f"{name} is nan")  # noqa: PLR0124


def _type_name(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation.partition("[")[0].rpartition(".")[2]
    return getattr(get_origin(annotation) or annotation, "__name__", str(annotation))
