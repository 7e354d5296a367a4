"""The base of all states: named fields, their sum, and the check after reading bytes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import attrs

from streameval.errors import CorruptStateError, StreamevalError, corrupt, require
from streameval.exact.fixed_point import FRACTION_BITS, MAX_TOTAL, FixedPoint

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

    def check(self, config: Any) -> None:  # noqa: B027 - not every state has more to check
        """Raise `CorruptStateError` unless examples could have built this state.

        It is called after reading bytes: the fields have their types, and numbers are not negative.
        The class checks their consistency.
        """


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


def as_corrupt(error: Exception) -> CorruptStateError:
    """Report bytes as corrupt, with the reason of an error."""
    if isinstance(error, CorruptStateError):
        return error
    reason = str(error).rstrip(".") or type(error).__name__
    return CorruptStateError(f"state is corrupt: {reason}.")
