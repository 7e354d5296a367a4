"""Maps type ids to classes. A class is known once it is defined; nothing is imported here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streameval.errors import UnknownTypeError
from streameval.states.type_ids import FIRST_OPEN_ID, OWN_TYPES, is_type_name

if TYPE_CHECKING:
    from streameval.states.codec import EncodedParts

_LAST_ID = 0xFFFF
_PACKAGE = "streameval"
_MAIN = ("__main__", "__mp_main__")

_open: dict[int, type[Any]] = {}


def check_type(cls: type[Any], type_id: Any, name: Any) -> None:
    """Raise TypeError unless a class may have this type id and this name."""
    if type(type_id) is not int or not 0 < type_id <= _LAST_ID:
        raise TypeError(f"`type_id` must be from 0x8000 to 0xffff, got {type_id!r}.")
    if not is_type_name(name):
        raise TypeError(f"`name` must be printable text of 1 to 128 characters, got {name!r}.")
    if type_id >= FIRST_OPEN_ID:
        holder = _open.get(type_id)
        if holder is not None and not _is_defined_again(holder, cls):
            raise TypeError(
                f"type id {type_id:#x} is that of {_where(holder)}, so {_where(cls)} "
                "needs another one."
            )
    elif OWN_TYPES.get(type_id) != name or cls.__module__.partition(".")[0] != _PACKAGE:
        raise TypeError(
            f"type id {type_id:#x} is not for {_where(cls)}: ids below 0x8000 are streameval's own."
        )


def register(cls: type[Any]) -> None:
    """Register a class to read the bytes with its type id."""
    if cls.type_id >= FIRST_OPEN_ID:
        _open[cls.type_id] = cls


def open_class(parts: EncodedParts) -> type[Any]:
    """Find the class of bytes whose type id is open to others.

    Raises
    ------
    UnknownTypeError
        When no class of this type id and name is defined.
    """
    found = _open.get(parts.type_id)
    held = f"these bytes hold a {parts.type_name} (type id {parts.type_id:#x})"
    if found is None:
        raise UnknownTypeError(
            f"{held}, which is not defined here. Import the module that defines it first."
        )
    if found.type_name != parts.type_name:
        raise UnknownTypeError(f"{held}, and here that type id is of {found.type_name}.")
    return found


def _is_defined_again(holder: type[Any], cls: type[Any]) -> bool:
    """Tell whether a class was known already because its module ran again.

    A script is `__main__`, `__mp_main__` in the processes it spawns, and itself if imported.
    """
    if holder.__qualname__ != cls.__qualname__:
        return False
    modules = holder.__module__, cls.__module__
    return modules[0] == modules[1] or any(module in _MAIN for module in modules)


def _where(cls: type[Any]) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
