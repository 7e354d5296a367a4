"""Ids that are numbers in one batch and strings in the next, also in panes, slices and members."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from offenders import each

import streameval as se
from streameval.cli import main

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


@pytest.mark.slow
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


LONG = {
    "objects": [2**70, 2**70 + 1, -3],
    "unsigned": np.array([2**63, 2**63 + 1, 3], dtype=np.uint64),
    "a list that NumPy makes floats": [2**63, -1, 2**63 + 1],
}


@pytest.mark.slow
@each("within", WITHIN)
@each("name", ACCUMULATORS)
@each("ids", LONG)
def test_ids_past_64_bits_are_texts_as_in_files(name: str, within: str, ids: str) -> None:
    texts = list(map(str, LONG[ids]))
    make = WITHIN[within]
    batch = NUMBERS | {"sample_weight": [1, 0, 1]} if name == "item" else NUMBERS
    one, other = (
        make(ACCUMULATORS[name]()).update(batch | {name: given}) for given in (LONG[ids], texts)
    )
    assert one.to_bytes() == other.to_bytes()


def test_documents_and_closed_queries_past_64_bits_are_texts() -> None:
    rows = {"relevance": [1, 0], "score": [0.5, 0.5]}
    long, texts = [2**70, 2**71], [str(2**70), str(2**71)]
    one, other = (
        se.RankingAccumulator("map", ties="docid_desc", track_queries=True)
        .update([[1, 0]], [[0.5, 0.5]], doc=[ids], query=ids[:1])
        .update(rows | {"query": [ids[1], ids[1]], "doc": ids}, partial=True)
        .close(ids[1:])
        for ids in (long, texts)
    )
    assert one == other


def test_mappings_by_query_take_keys_past_64_bits() -> None:
    rows = {"relevance": [1, 0], "score": [0.2, 0.1], "query": [2**70, 7]}
    acc = se.RankingAccumulator("r@2")
    assert acc.copy().update(rows, num_relevant={2**70: 2, 7: 4}).compute()["r@2"] == 0.25
    weighted = acc.copy().update(rows, query_weight={2**70: 0, 7: 2})
    assert (weighted.n, weighted.compute()["r@2"]) == (2, 0.0)
    with pytest.raises(se.InvalidInputError, match=f"not for '{2**70}'"):
        acc.update(rows, num_relevant={7: 4})


def test_ids_past_64_bits_as_rounded_floats_are_refused() -> None:
    with pytest.raises(se.InvalidInputError, match=r"`group` must hold labels within 64 bits"):
        se.GroupedAUC().update([0, 1], [0.1, 0.2], np.array([1.0, 2.0**70]))
    with pytest.raises(se.InvalidInputError, match=r"`group` must hold labels within 64 bits"):
        se.GroupedAUC().update([0, 1], [0.1, 0.2], [1.0, 2**70])


def test_file_with_long_ids_is_counted_as_the_same_arrays(tmp_path: Path) -> None:
    lines = ["query,relevance,score", f"{2**70},1,0.5", f"{2**70 + 1},0,0.4", "3,1,0.2"]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    state = tmp_path / "rows.state"
    options = ["--task", "ranking", "--measures", "map", "--track-queries", "-o", str(state)]
    assert main(["eval", str(tmp_path / "rows.csv"), *options]) == 0
    acc = se.RankingAccumulator("map", track_queries=True)
    assert se.load(state) == acc.update([1, 0, 1], [0.5, 0.4, 0.2], query=[2**70, 2**70 + 1, 3])
