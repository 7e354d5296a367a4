"""The ids of parts: one canonical form, one order, and their text in bytes."""

from __future__ import annotations

import json
import operator
import os
from typing import Any

from streameval.errors import CorruptStateError, InvalidInputError, require

Item = int | str
PartId = Item | tuple[Item, ...]

_MAX_ITEMS = 16
_MAX_CHARACTERS = 4096
_JSON = json.JSONEncoder(separators=(",", ":"))


def canonical_part_id(value: Any) -> PartId:
    """Return the one form of a part id: text, an integer, or a tuple of two or more of these.

    A path is its text, a list is a tuple, and a tuple of one item is that item: two ways to write
    one id must not count its part twice.
    """
    if not isinstance(value, (tuple, list)):
        return _item(value)
    if not 0 < len(value) <= _MAX_ITEMS:
        raise InvalidInputError(
            f"must be text, an integer, or a tuple of 1 to {_MAX_ITEMS} of these, got {value!r}",
            argument="part_id",
        )
    items = tuple(_item(item) for item in value)
    return items[0] if len(items) == 1 else items


def order_of(part_id: PartId) -> tuple[tuple[bool, Item], ...]:
    """Return what canonical ids are sorted by: item by item, integers before text."""
    items = part_id if isinstance(part_id, tuple) else (part_id,)
    return tuple((isinstance(item, str), item) for item in items)


def text_of_part_id(part_id: PartId) -> str:
    """Write a canonical id as JSON in ASCII."""
    return _JSON.encode(part_id)


def part_id_of_text(text: str) -> PartId:
    """Read what `text_of_part_id` wrote, and nothing else."""
    try:
        part_id = canonical_part_id(json.loads(text))
        is_canonical = text_of_part_id(part_id) == text
    except (ValueError, RecursionError):
        raise CorruptStateError("state is corrupt: the id of a part.") from None
    require(is_canonical, "the id of a part")
    return part_id


def _item(value: Any) -> Item:
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str):
        if len(value) > _MAX_CHARACTERS:
            raise InvalidInputError(
                f"must have texts of at most {_MAX_CHARACTERS} characters, got {len(value)}",
                argument="part_id",
            )
        return str.__str__(value)  # str() of an Enum member is its name
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise InvalidInputError(
            f"must be text, an integer, or a tuple of these, got {value!r}", argument="part_id"
        )
    if not -(2**63) <= number < 2**63:
        raise InvalidInputError("must have integers that fit 64 bits", argument="part_id")
    return number
