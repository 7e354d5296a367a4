"""Tables of options, the same in a file, on the command line and in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import attrs

from streameval.configs.names import nearest
from streameval.errors import InvalidInputError

T = TypeVar("T")


def read_table(declared: type[T], value: Any, *, main: str, argument: str) -> T:
    """Make an object of options from a table, or from the value of its main key alone.

    Parameters
    ----------
    declared : attrs class
        Its fields are the keys; their converters check what they hold.
    value : mapping, object of the class, or value of the main key
    main : str
        The only key that a table needs.
    argument : str
        What errors name.

    Raises
    ------
    InvalidInputError
        If a key is unknown or the main one is missing; no value is shown: it may be a credential.
    """
    if isinstance(value, declared):
        return value
    table = value if isinstance(value, Mapping) else {main: value}
    known = [field.name for field in attrs.fields(declared) if field.init]  # type: ignore[arg-type]
    for key in table:
        if key not in known:
            hint = nearest(str(key), known).removesuffix(".")
            raise InvalidInputError(f"has no key {key!r}: {hint}", argument=argument)
    if main not in table:
        raise InvalidInputError(f"is a table without the key {main!r}", argument=argument)
    return declared(**table)


def key_of(argument: str, name: str, read: Callable[[Any], Any], what: str) -> Callable[[Any], Any]:
    """Make the converter of a key, whose errors name the argument and the key.

    Parameters
    ----------
    argument, name : str
    read : callable
        Returns what it reads; None means that it cannot.
    what : str
        What the value must be.
    """

    def convert(value: Any) -> Any:
        found = read(value)
        if found is None and value is not None:
            raise InvalidInputError(f"needs {what} as {name!r}", argument=argument)
        return found

    return convert


def text(value: Any) -> str | None:
    """Read text that is not empty."""
    return value if isinstance(value, str) and value else None


def texts(value: Any) -> tuple[str, ...] | None:
    """Read a text, or several."""
    given = (value,) if isinstance(value, str) else value
    fits = isinstance(given, list | tuple) and all(text(one) is not None for one in given)
    return tuple(given) if fits else None


def texts_by_name(value: Any) -> dict[str, str] | None:
    """Read a table of texts."""
    fits = isinstance(value, Mapping) and all(
        text(one) is not None for pair in value.items() for one in pair
    )
    return dict(value) if fits else None
