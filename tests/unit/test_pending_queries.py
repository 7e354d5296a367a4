"""Small blocks of queries are pending until they are ranked together; only a clock can tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from offenders import each
from profiles import quick_cases

import streameval as se
from streameval.accumulators import ranking
from streameval.exact.fixed_point import FixedPoint
from streameval.states import ranking_rows

MEASURES = ("ndcg@3", "map", "mrr", "err@2", "bpref", "judged@3", "lrap")

TYPES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "int64": lambda levels: levels,
    "uint8": lambda levels: levels.astype(np.uint8),
    "uint64": lambda levels: levels.astype(np.uint64),
    "float32": lambda levels: levels.astype(np.float32),
    "float64": lambda levels: levels.astype(np.float64),
    "bool": lambda levels: levels > 0,
    "some not judged": lambda levels: np.where(levels == 2, np.nan, levels),
}


def block(random: np.random.Generator, kind: str = "int64") -> tuple[np.ndarray, np.ndarray]:
    shape = int(random.integers(0, 5)), int(random.integers(0, 9))
    score = random.integers(0, 6, shape) / 4
    dtype = np.float32 if random.random() < 0.5 else np.float64
    return TYPES[kind](random.integers(0, 4, shape)), score.astype(dtype)


def blocks(seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    random = np.random.default_rng(seed)
    return [block(random, str(random.choice(list(TYPES)))) for _ in range(11)]


def at_once(batch: tuple[Any, Any], **options: Any) -> se.RankingAccumulator:
    """Rank a block by itself: flags that are all true keep it from being pending."""
    relevance, score = batch
    accumulator = se.RankingAccumulator(MEASURES, **options)
    rows = relevance.shape[0]
    return accumulator.update(
        relevance, score, mask=np.ones(score.shape, bool), num_relevant=None, query=np.arange(rows)
    )


@pytest.mark.parametrize("capacity", [8, 40, 10_000])
@pytest.mark.parametrize("seed", range(quick_cases(8)))
def test_pending_blocks_count_as_those_that_are_not(
    capacity: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "_CAPACITY", capacity)
    options: dict[str, Any] = {"unjudged": ["nonrelevant", "drop"][seed % 2]}
    accumulator = se.RankingAccumulator(MEASURES, **options)
    total = se.RankingAccumulator(MEASURES, **options)
    for batch in blocks(seed):
        accumulator.update(*batch)
        total += at_once(batch, **options)
        assert accumulator.n == total.n
        assert accumulator.to_bytes() == total.to_bytes()
    assert accumulator.compute() == total.compute()


def test_reading_changes_nothing_that_is_pending() -> None:
    read, unread = (se.RankingAccumulator(MEASURES) for _ in range(2))
    for batch in blocks(1):
        read.update(*batch)
        unread.update(*batch)
        read.compute()
        assert read._held.used == unread._held.used
    assert read == unread
    assert read.copy() == unread


def test_arrays_may_change_after_the_update() -> None:
    relevance, score = np.array([[1, 0, 2]]), np.array([[0.5, 0.25, 0.125]])
    accumulator = se.RankingAccumulator(MEASURES).update(relevance, score)
    before = accumulator.to_bytes()
    relevance[:], score[:] = 0, 0
    assert accumulator.to_bytes() == before


def test_bad_block_leaves_pending_ones() -> None:
    accumulator = se.RankingAccumulator(MEASURES).update([[1, 0]], [[1, 0]])
    before = accumulator.to_bytes()
    with pytest.raises(se.InvalidInputError, match="must not hold NaN, got NaN at position"):
        accumulator.update([[1, 0]], [[1, np.nan]])
    with pytest.raises(se.InvalidInputError, match="must not be negative"):
        accumulator.update([[1, -1]], [[1, 0]])
    assert accumulator.to_bytes() == before


@each("kind", TYPES)
@each("level", [-1, 0, 0.5, 1, 2])
def test_types_of_relevances_do_not_matter(kind: str, level: float) -> None:
    random = np.random.default_rng(3)
    relevance, score = block(random, kind)
    wide = relevance.astype(np.float64)
    short, full = (
        se.RankingAccumulator(("ndcg@3", "map", "p@2"), relevance_level=level) for _ in range(2)
    )
    assert short.update(relevance, score) == full.update(
        wide, score, mask=np.ones(score.shape, bool)
    )


def test_great_integers_are_relevances_as_floats() -> None:
    great = np.array([[2**53 + 1, 2**53, 5], [2**62 + 1, 2**62, 0]])
    score = np.array([[1.0, 2.0, 2.0], [1.0, 1.0, 3.0]])
    short, full = (se.RankingAccumulator(MEASURES[:3]) for _ in range(2))
    assert short.update(great, score) == full.update(great.astype(float), score)


@pytest.mark.parametrize("rows", [1, 7, 10**6])
def test_queries_counted_in_blocks_are_the_same(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5)
    rows_of = {
        "relevance": random.integers(0, 3, 90),
        "score": random.integers(0, 5, 90),
        "query": random.integers(0, 13, 90),
        "retrieved": random.random(90) < 0.8,
    }
    whole = se.RankingAccumulator(MEASURES, per_query=True).update(rows_of)
    monkeypatch.setattr(ranking_rows, "_BLOCK", rows)
    assert se.RankingAccumulator(MEASURES, per_query=True).update(rows_of) == whole


@each("options", [{"per_query": True}, {"track_queries": True}])
def test_queries_with_ids_to_keep_are_not_pending(options: dict[str, Any]) -> None:
    accumulator = se.RankingAccumulator(MEASURES, **options)
    accumulator.update([[1]], [[1]], query=[3])
    with pytest.raises(se.InvalidInputError, match="has been counted"):
        accumulator.update([[1]], [[1]], query=[3])


def test_declared_numbers_are_checked_at_once() -> None:
    accumulator = se.RankingAccumulator("map")
    batch = {"relevance": [[1, 1]], "score": [[1, 0]], "num_relevant": [1]}
    with pytest.raises(se.InvalidInputError, match="must not be less"):
        accumulator.update(batch)
    assert accumulator.n == 0


@each("ids", [None, [3]])
def test_nothing_is_pending_near_the_limit_of_counts(ids: list[int] | None) -> None:
    accumulator = se.RankingAccumulator("map").update([[1]], [[1]])
    state = attrs.evolve(accumulator._state, n=FixedPoint(np.array(2**63 - 2)))
    accumulator._state = state
    assert accumulator.update([[1]], [[1]], query=ids).n == 2**63 - 1
    with pytest.raises(se.CountOverflowError):
        accumulator.update([[1]], [[1]], query=ids)
    assert accumulator.n == 2**63 - 1


def test_scores_that_are_nan_rank_last_whatever_their_type() -> None:
    score = np.array([[np.nan, -np.inf, 1.0, np.nan]])
    for dtype in (np.float32, np.float64):
        accumulator = se.RankingAccumulator("mrr", nan="last")
        assert accumulator.update([[1, 0, 0, 0]], score.astype(dtype)).compute().mrr == (
            pytest.approx((1 / 3 + 1 / 4) / 2)
        )


@each("later", ["query", "partial"])
def test_queries_stay_pending_when_others_are_counted_at_once(later: str) -> None:
    accumulator = se.RankingAccumulator("map").update([[1, 0]], [[0.25, 0.5]])
    accumulator.update([0, 1], [0.5, 0.25], query=["a", "a"], partial=later == "partial")
    assert accumulator._held.used == 2
    assert accumulator.close().n == 2
    assert accumulator.compute().map == 0.5


def test_queries_without_documents_are_counted_at_once() -> None:
    accumulator = se.RankingAccumulator("map").update(np.zeros((2, 0)), np.zeros((2, 0)))
    accumulator.update([[1]], [[0.5]]).update(np.zeros((1, 0)), np.zeros((1, 0)))
    assert accumulator.n == accumulator.compute().n_queries == 4
