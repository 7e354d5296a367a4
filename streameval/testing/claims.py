"""Claims about accumulators, with messages that name the difference."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import attrs

from streameval.states import Column, FixedPoint
from streameval.testing.trial import Trial

_SHOWN = 200  # characters of a value in a message


class Broken(Exception):  # noqa: N818 - what leaves this package is an AssertionError
    """A law does not hold."""


def claim(holds: object, otherwise: str) -> None:
    """Raise Broken with a message, unless a claim holds."""
    if not holds:
        raise Broken(f"{otherwise}.")


def same(what: str, one: Any, other_what: str, other: Any) -> None:
    """Claim that two accumulators have the same bytes."""
    if one.to_bytes() != other.to_bytes():
        raise Broken(f"{what} and {other_what} differ. {_difference(one, other)}")


def same_numbers(trial: Trial, what: str, one: Any, other_what: str, other: Any) -> None:
    """Claim that two accumulators give the same numbers."""
    mine, theirs = trial.numbers(one), trial.numbers(other)
    claim(mine == theirs, f"{what} gives {_cut(mine)}, and {other_what} {_cut(theirs)}")


@contextmanager
def unchanged(accumulator: Any, what: str, by: str) -> Iterator[None]:
    """Claim that the block does not change an accumulator."""
    before = accumulator.to_bytes()
    yield
    if accumulator.to_bytes() != before:
        kept = type(accumulator).from_bytes(before)
        raise Broken(f"{by} changed {what}. {_difference(accumulator, kept)}")


def _difference(one: Any, other: Any) -> str:
    """List the options and state fields in which two accumulators differ."""
    pairs = [(f"option {name}", value, other.options[name]) for name, value in one.options.items()]
    mine, theirs = one._state, other._state
    pairs += [
        (field.name, getattr(mine, field.name), getattr(theirs, field.name))
        for field in attrs.fields(type(mine))
    ]
    parts = [f"{name}: {_values(a, b)}" for name, a, b in pairs if a != b]
    return f"{'; '.join(parts) or 'Their bytes alone do'}."


def _values(a: Any, b: Any) -> str:
    """Show two different values, as numbers if these differ."""
    numbers = _numbers(a), _numbers(b)
    one, other = numbers if numbers[0] != numbers[1] else (a, b)
    return f"{shown(one)} and {shown(other)}"


def _numbers(value: Any) -> Any:
    if isinstance(value, FixedPoint):
        return value.to_numbers().tolist()
    return value.values.tolist() if isinstance(value, Column) else value


def shown(value: Any) -> str:
    """Show a value on one line, truncated."""
    return _cut(" ".join(repr(value).split()))


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
