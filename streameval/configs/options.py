"""Checks of single options: each gives the canonical value or names the option in an error."""

from __future__ import annotations

import math
import operator
from numbers import Real
from typing import Any

import numpy as np

from streameval.errors import InvalidInputError


def flag(value: Any, *, name: str) -> bool:
    """Accept True and False, and nothing that is merely true or false."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidInputError(f"must be True or False, got {value!r}", argument=name)
    return bool(value)


def optional_flag(value: Any, *, name: str) -> bool | None:
    """Accept True, False and None."""
    if value is None:
        return None
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidInputError(f"must be True, False or None, got {value!r}", argument=name)
    return bool(value)


def finite_number(value: Any, *, name: str) -> float:
    """Accept a finite number; -0.0 becomes 0.0, so that equal options have equal bytes."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError(f"must be a number, got {value!r}", argument=name) from None
    if isinstance(value, (bool, np.bool_)):
        raise InvalidInputError(f"must be a number, got {value!r}", argument=name)
    if isinstance(value, (str, bytes, bytearray)) or not math.isfinite(number):
        raise InvalidInputError(f"must be a finite number, got {value!r}", argument=name)
    return number + 0.0


def real_number(value: Any, *, name: str) -> float:
    """Accept a number of any type, infinite or nan; strings are none."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (Real, np.number)):
        raise InvalidInputError(f"must be a number, got {value!r}", argument=name)
    return float(value)


def positive_integer(value: Any, *, name: str) -> int:
    """Accept an integer of at least 1."""
    return _integer_from(1, value, name=name)


def natural_number(value: Any, *, name: str) -> int:
    """Accept an integer of at least 0."""
    return _integer_from(0, value, name=name)


def _integer_from(minimum: int, value: Any, *, name: str) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidInputError(f"must be an integer, got {value!r}", argument=name) from None
    if isinstance(value, (bool, np.bool_)) or number < minimum:
        raise InvalidInputError(
            f"must be an integer of at least {minimum}, got {value!r}", argument=name
        )
    return number


def optional_positive_integer(value: Any, *, name: str) -> int | None:
    """Accept an integer of at least 1, and None."""
    return None if value is None else positive_integer(value, name=name)


def one_of(value: Any, allowed: tuple[str, ...], *, name: str) -> Any:
    """Accept one of a few words."""
    if not isinstance(value, str) or value not in allowed:
        words = " or ".join(f'"{word}"' for word in allowed)
        raise InvalidInputError(f"must be {words}, got {value!r}", argument=name)
    return allowed[allowed.index(value)]
