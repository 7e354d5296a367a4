"""Ids of queries: read, found among others, and refused where they are known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from streameval.errors import InvalidInputError
from streameval.inputs.arrays import as_labels, check_vector
from streameval.inputs.labels import canonical_label, distinct
from streameval.states.ranking import RankingState

__all__ = ["check_new", "open_places", "read_ids"]

Array = npt.NDArray[Any]


def read_ids(value: Any, *, name: str) -> Array:
    """Read ids of queries, each given once; they come sorted."""
    ids = as_labels(value, name=name)
    if not ids.size:
        return np.zeros(0, dtype=np.int64)
    check_vector(ids, rows=None, name=name)
    known, places = distinct(ids, name=name)
    if len(known) < len(ids):
        twice = known[np.bincount(places) > 1][0]
        raise InvalidInputError(
            f"must be distinct, got {canonical_label(twice, name=name)!r} twice", argument=name
        )
    return known


def check_new(
    ids: Array | None, states: Iterable[RankingState], *, name: str, allow_open: bool = False
) -> None:
    """Refuse queries that are known to be counted, or open where that is not allowed."""
    if ids is None:
        return
    for state in states:
        _check_type(ids, state, name=name)
        held = {"has been counted": state.closed.values}
        if not allow_open:
            held["is open: close it instead"] = state.ids.values
        for what, known in held.items():
            twice = _among(ids, known)
            if twice.any():
                first = canonical_label(ids[int(twice.argmax())], name=name)
                raise InvalidInputError(f"holds {first!r}, which {what}", argument=name)


def open_places(ids: Array, state: RankingState, *, name: str) -> npt.NDArray[np.intp]:
    """Find the places of sorted ids among the open queries; others raise."""
    _check_type(ids, state, name=name)
    known = state.ids.values
    is_open = _among(ids, known)
    if not is_open.all():
        unknown = canonical_label(ids[int(is_open.argmin())], name=name)
        raise InvalidInputError(f"must be open queries, got {unknown!r}", argument=name)
    return np.searchsorted(known, ids)


def _check_type(ids: Array, state: RankingState, *, name: str) -> None:
    """Refuse ids of another type than those before."""
    for held in (state.ids, state.closed):
        if len(held) and len(ids) and held.values.dtype != ids.dtype:
            earlier, given = ("strings", "numbers")[:: 1 if held.kind == "text" else -1]
            raise InvalidInputError(f"must hold {earlier} as before, got {given}", argument=name)


def _among(ids: Array, known: Array) -> npt.NDArray[np.bool_]:
    """Tell which ids are among others, which are sorted."""
    found = np.zeros(len(ids), dtype=bool)
    if len(known) and len(ids):
        places = np.minimum(np.searchsorted(known, ids), len(known) - 1)
        found[:] = known[places] == ids
    return found
