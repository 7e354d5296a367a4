"""Ids that are numbers in one batch and strings in the next, also in panes, slices and members."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from offenders import each

import streameval as se

NUMBERS = {
    "relevance": [1, 0, 1],
    "score": [3, 2, 1],
    "query": [1, 1, 2],
    "item": [1, 2, 3],
    "rank": [1, 2, 3],
    "y_true": [0, 1, 1],
    "y_score": [0.1, 0.2, 0.3],
    "group": [1, 2, 1],
    "city": ["x"] * 3,
    "time": [5] * 3,
}
STRINGS = NUMBERS | {"query": ["a", "a", "b"], "item": ["a", "b", "c"], "group": ["a", "b", "a"]}
ELSEWHERE = STRINGS | {"city": ["y"] * 3, "time": [15] * 3}

ACCUMULATORS: dict[str, Callable[[], Any]] = {
    "item": lambda: se.CatalogAccumulator(9),
    "group": se.GroupedAUC,
    "query": lambda: se.RankingAccumulator("map", track_queries=True),
}
WITHIN: dict[str, Callable[[Any], Any]] = {
    "alone": lambda one: one,
    "member": lambda one: se.Collection({"r": one}),
    "slices": lambda one: se.Sliced(one, "city"),
    "panes": lambda one: se.Windowed(one, pane=10),
    "panes of slices": lambda one: se.Windowed(se.Sliced(one, "city"), pane=10),
    "panes of members": lambda one: se.Windowed(se.Collection({"r": one}), pane=10),
    "slices of members": lambda one: se.Sliced(se.Collection({"r": one}), "city"),
}


@each("within", WITHIN)
@each("name", ACCUMULATORS)
@each("batch", [STRINGS, ELSEWHERE])
def test_ids_of_another_type_are_refused_and_leave_no_trace(
    name: str, within: str, batch: dict[str, Any]
) -> None:
    make = WITHIN[within]
    acc = make(ACCUMULATORS[name]()).update(NUMBERS)
    other = make(ACCUMULATORS[name]()).update(batch)
    kept = acc.to_bytes()
    with pytest.raises(se.InvalidInputError, match=f"`{name}` must hold numbers as before"):
        acc.update(batch)
    with pytest.raises(se.IncompatibleStateError, match=f"`{name}` holds strings in one"):
        acc.merge(other)
    assert acc.to_bytes() == kept
    assert se.from_bytes(kept) == acc


@each("within", WITHIN)
def test_ids_of_complete_queries_that_are_not_kept_may_have_any_type(within: str) -> None:
    make = WITHIN[within]
    acc = make(se.RankingAccumulator("map")).update(NUMBERS).update(ELSEWHERE)
    assert se.from_bytes(acc.to_bytes()) == acc
    numbered = ELSEWHERE | {"query": [3, 3, 4]}
    assert acc == make(se.RankingAccumulator("map")).update(NUMBERS).update(numbered)
