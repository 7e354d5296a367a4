"""The type of ids in pending rows: strings or numbers, but not both."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from streameval.accumulators.pending import BufferedState, Rows
from streameval.errors import InvalidInputError
from streameval.inputs.dictionary import Dictionary
from streameval.inputs.labels import distinct
from streameval.states.column import Column

_MAX_TEXTS = 2**20  # a larger dictionary is replaced by a new one, and its rows are counted


def fresh_dictionary(buffered: BufferedState[Any]) -> Dictionary:
    """Return the dictionary of the pending rows, or a new one once it is large."""
    known = buffered.block.dictionary
    return Dictionary() if known is None or len(known) > _MAX_TEXTS else known


def check_id_type(buffered: BufferedState[Any], counted: Column, rows: Rows, *, name: str) -> None:
    """Refuse ids of another type than those before, unless there are none."""
    if not rows.size:
        return
    are_texts = rows.dictionary is not None
    if buffered.used:
        were_texts = buffered.block.dictionary is not None
    elif len(counted):
        were_texts = counted.kind == "text"
    else:
        return
    if were_texts != are_texts:
        before, given = ("strings", "numbers")[:: 1 if were_texts else -1]
        raise InvalidInputError(f"must hold {before} as before, got {given}", argument=name)


def distinct_ids(
    codes: npt.NDArray[Any], dictionary: Dictionary | None, *, name: str
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Find the distinct ids as a sorted array, and the position of each among them.

    Parameters
    ----------
    codes : int64 array, shape (n,)
        Numbers, or the codes of texts.
    dictionary : Dictionary or None
        The texts.
    name : str
        The argument, for messages.
    """
    ids, index = distinct(codes, name=name)
    if dictionary is None:
        return ids, index
    texts, rank = distinct(np.array(dictionary.decode(ids), dtype=object), name=name)
    return texts, rank[index]
