"""The options with which a state was counted, and which of them are the usual ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streameval.accumulators.collection import Collection
from streameval.configs.collection import SEPARATOR
from streameval.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["every_option", "is_usual"]


def every_option(accumulator: Any) -> dict[str, Any]:
    """Return the options, those of members named as their metrics are, ``member/option``."""
    options = _flat(accumulator.options)
    if isinstance(accumulator, Collection):
        columns = accumulator.columns
        for name in _flat(accumulator.n):
            options[f"{name}{SEPARATOR}columns"] = columns.get(name, {})
    return options


def is_usual(accumulator: Any, name: str) -> bool:
    """Tell whether an option that is left out would be the same, all others as they are."""
    others = {option: value for option, value in accumulator.options.items() if option != name}
    try:
        usual = type(accumulator)(**others).options
    except (InvalidInputError, TypeError):  # the others need this one, or all need it
        return False
    return bool(usual[name] == accumulator.options[name])


def _flat(options: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in options.items():
        if isinstance(value, dict):
            inner = _flat(value).items()
            flat |= {f"{name}{SEPARATOR}{option}": item for option, item in inner}
        else:
            flat[name] = value
    return flat
