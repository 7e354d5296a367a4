"""What collections add to the law: forks that leave no trace, and members that stay in step."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws.beside import read_beside
from laws.collection_cases import MEMBERS, SCORES, large_rows, options_of
from laws.test_laws import draw_case, every, lawful
from offenders import each
from profiles import quick_cases

import streameval as se
from streameval.accumulators.base import fork


def split(data: st.DataObject, size: int, most: int) -> list[np.ndarray]:
    ends = sorted(data.draw(st.lists(st.integers(0, size), max_size=most)))
    return np.split(np.arange(size), ends)


@every
@given(data=st.data())
@lawful
def test_a_fork_shows_nowhere_and_leaves_no_trace(name: str, data: st.DataObject) -> None:
    case = draw_case(data, name)
    accumulator = case.empty()
    for rows in split(data, case.size, 5):
        before = accumulator.to_bytes()
        tried = fork(accumulator)
        case.add(tried, slice(case.size - len(rows), None))
        assert accumulator.to_bytes() == before
        case.add(accumulator, rows)
    assert accumulator.to_bytes() == case.of().to_bytes()


@every
@given(data=st.data())
@lawful
def test_a_fork_goes_on_in_place_of_the_original(name: str, data: st.DataObject) -> None:
    case = draw_case(data, name)
    accumulator = case.empty()
    for rows in split(data, case.size, 5):
        replaced, before = accumulator, accumulator.to_bytes()
        accumulator = fork(accumulator)
        case.add(accumulator, rows)
        assert replaced.to_bytes() == before
    assert accumulator.to_bytes() == case.of().to_bytes()


@given(data=st.data())
@lawful
def test_members_are_what_they_are_alone(data: st.DataObject) -> None:
    case = draw_case(data, "Collection")
    col = case.empty()
    parts = split(data, case.size, 3)
    for rows in parts:
        case.add(col, rows)
    for name in set(col) - {"inner"}:
        alone = MEMBERS[name].copy()
        columns = SCORES.get(name, {})
        for rows in parts:
            batch = {array: column[rows] for array, column in case.rows.items()}
            alone.update(batch | {array: batch[column] for array, column in columns.items()})
        assert col[name].to_bytes() == alone.to_bytes()


@given(data=st.data())
@lawful
def test_a_batch_that_fails_between_others_leaves_no_trace(data: st.DataObject) -> None:
    case = draw_case(data, "Collection")
    col = case.empty()
    bad = {name: [*column, 0] for name, column in case.rows.items()} | {"y_true": [1] * case.size}
    for rows in split(data, case.size, 4):
        before = col.to_bytes()
        with pytest.raises(se.InvalidInputError, match=r"^member '"):
            col.update(bad)
        assert col.to_bytes() == before
        case.add(col, rows)
    assert col.to_bytes() == case.of().to_bytes()


def ranked() -> se.Collection:
    """Rankings beside counts: a query per user, and one for all of them."""
    members = {
        "cm": se.ConfusionAccumulator(),
        "rank": se.RankingAccumulator(["map", "ndcg@2", "hit@1"], track_queries=True),
    }
    return se.Collection(members, columns={"rank": {"relevance": "y_true", "query": "user"}})


@given(data=st.data())
@lawful
def test_any_cut_between_queries_gives_the_same_bytes(data: st.DataObject) -> None:
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    size = data.draw(st.integers(1, 24))
    rows = {
        "y_true": random.integers(0, 2, size),
        "y_pred": random.integers(0, 2, size),
        "score": random.integers(0, 9, size) / 8,
        "user": random.integers(0, 6, size),
    }
    worker = random.integers(0, 3, 6)[rows["user"]]
    parts = [
        ranked().update({name: column[worker == number] for name, column in rows.items()})
        for number in range(3)
    ]
    assert se.merge(parts).to_bytes() == ranked().update(rows).to_bytes()


READERS: dict[str, Callable[[Any], Any]] = {
    "n": lambda col: col.n,
    "compute": lambda col: {name: result.n for name, result in col.compute().items()},
    "copy": lambda col: col.copy().n,
    "bytes": lambda col: se.from_bytes(col.to_bytes()).n,
    "merge": lambda col: (col + col.copy().reset()).n,
}


@pytest.mark.slow
@pytest.mark.uncovered
@each("read", READERS)
def test_a_reader_never_sees_members_out_of_step(read: str) -> None:
    names = ["cm", "curve", "gauc", "cal", "fit"]
    options, rows = options_of(names), large_rows()[1]
    del rows["sample_weight"]
    shared, seen = se.Collection(**options), []

    def update(piece: np.ndarray) -> None:
        batch = {name: column[piece] for name, column in rows.items()}
        shared.update(batch)
        with pytest.raises(se.InvalidInputError, match="2"):
            shared.update(batch | {"p": batch["p"] + 2})

    steps = [
        partial(update, piece) for piece in np.array_split(np.arange(20_000), quick_cases(400))
    ]
    read_beside(steps, read=lambda: seen.append(READERS[read](shared)))
    counts = [set(found.values()) for found in seen]
    assert {len(found) for found in counts} == {1}
    assert len(set.union(*counts)) >= len(steps) / 2
