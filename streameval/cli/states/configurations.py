"""The options that a state was counted with, and which of them are defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streameval.accumulators.collection import Collection
from streameval.configs.collection import SEPARATOR
from streameval.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping


def every_option(accumulator: Any) -> dict[str, Any]:
    """Return the options; options of members are named ``member/option``, like their metrics."""
    options = _flat(accumulator.options)
    if isinstance(accumulator, Collection):
        columns = accumulator.columns
        for name in _flat(accumulator.n):
            options[f"{name}{SEPARATOR}columns"] = columns.get(name, {})
    return options


def is_default(accumulator: Any, name: str) -> bool:
    """Tell whether the option would have the same value if it were left out."""
    others = {option: value for option, value in accumulator.options.items() if option != name}
    try:
        defaults = type(accumulator)(**others).options
    except (InvalidInputError, TypeError):  # the other options require this one, or the class does
        return False
    return bool(defaults[name] == accumulator.options[name])


def _flat(options: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in options.items():
        if isinstance(value, dict):
            inner = _flat(value).items()
            flat |= {f"{name}{SEPARATOR}{option}": item for option, item in inner}
        else:
            flat[name] = value
    return flat
