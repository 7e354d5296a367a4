"""The options of a monitor that joins labels: their meaning and valid combinations."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Self
from zlib import crc32

import attrs
import numpy as np

from streameval.errors import InvalidInputError
from streameval.exact.array_types import Array, Mask
from streameval.io.columns import Argument
from streameval.monitoring.planning import read_one

_NEEDED = ("key", "wait")
_OF_JOIN = (*_NEEDED, "settle", "unlabelled", "label_time", "shard")
"""The options about labels from a source of their own."""

_SHARD = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")


@attrs.frozen
class Shard:
    """The part of all ids that one of several monitors joins.

    Parameters
    ----------
    index : int
        The index of the monitor, from 0.
    count : int
        The number of monitors.
    """

    index: int
    count: int

    @classmethod
    def of(cls, text: Any) -> Self:
        """Read text such as ``"1/4"``, the first of four.

        Raises
        ------
        InvalidInputError
            If it has another form.
        """
        match = _SHARD.fullmatch(text) if isinstance(text, str) else None
        number, count = map(int, match.groups()) if match is not None else (0, 0)
        if not 1 <= number <= count:
            raise InvalidInputError(
                f'must be like "1/4", the first of four, got {text!r}', argument="shard"
            )
        return cls(number - 1, count)

    def has(self, ids: Sequence[str]) -> Mask:
        """Return which ids belong to it, by a hash that is the same everywhere."""
        hashes = (crc32(one.encode()) for one in ids)
        is_own: Mask = np.fromiter(hashes, np.int64, len(ids)) % self.count == self.index
        return is_own


def check_join(has_labels: bool, given: Mapping[str, Any]) -> None:
    """Refuse options of a join without labels, and labels without those that join them."""
    for name in _OF_JOIN:
        is_given = given[name] is not None and (name, given[name]) != ("unlabelled", "drop")
        if has_labels and not is_given and name in _NEEDED:
            raise InvalidInputError("is needed to join labels", argument=name)
        if not has_labels and is_given:
            raise InvalidInputError("cannot be used without labels", argument=name)
    if given["shard"] is not None:
        Shard.of(given["shard"])


def label_of(unlabelled: Any, truths: Sequence[Argument]) -> dict[str, Array] | None:
    """Read the label for predictions that get none; None leaves them unlabelled."""
    if unlabelled == "drop":
        return None
    found = {column.argument: read_one(column.field_type, unlabelled) for column in truths}
    if len(truths) > 1 or len(truths[0].names) > 1:
        raise InvalidInputError("cannot be one label: there are several", argument="unlabelled")
    ((name, label),) = found.items()
    if label is None:
        wanted = truths[0].field_type.fault(unlabelled)
        raise InvalidInputError(f"must be {wanted}, got {unlabelled!r}", argument="unlabelled")
    return {name: label}
