"""What ranking takes block by block, or does in a faster way, is what the plain way gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from offenders import each

import streameval as se
from streameval.configs.ranking import RankingConfig
from streameval.exact import row_order
from streameval.exact.row_order import distinct_values, run_bounds, standings
from streameval.metrics import ranking as metrics
from streameval.states import queries, ranking, ranking_rows
from streameval.states.ranking import QueryValues, RankingState

MEASURES = [
    "ndcg@10",
    "ndcg",
    "map",
    "mrr",
    "p@3",
    "lrap",
    "rbp(p=0.8)",
    "err@5",
    "bpref",
    "gm_map",
]
SEEDS = range(8)


def ragged(random: np.random.Generator, **more: Any) -> dict[str, Any]:
    sizes = random.integers(1, 30, 40)
    n = int(sizes.sum())
    return {
        "relevance": random.integers(0, 4, n) * (random.random(n) < random.choice([0.1, 1.0])),
        "score": random.integers(0, int(random.choice([3, 10**6])), n).astype(np.float32),
        "query": np.repeat(np.arange(40), sizes),
        **more,
    }


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 40, 300])
@pytest.mark.parametrize("module", [ranking_rows, metrics], ids=["documents", "positions"])
def test_complete_queries_in_blocks_give_the_same_state(
    module: Any, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in SEEDS:
        batch = ragged(np.random.default_rng(seed))
        whole = se.RankingAccumulator(MEASURES, per_query=True).update(batch)
        with monkeypatch.context() as patched:
            patched.setattr(module, "_BLOCK", 8 * rows)
            cut = se.RankingAccumulator(MEASURES, per_query=True).update(batch)
        assert cut.to_bytes() == whole.to_bytes(), seed


@pytest.mark.slow
def test_open_queries_closed_in_blocks_give_the_same_state(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in SEEDS:
        batch = ragged(np.random.default_rng(seed), partial=True)
        made = [se.RankingAccumulator(MEASURES, rows_per_query=5) for _ in range(2)]
        whole = made[0].update(**batch).close()
        with monkeypatch.context() as patched:
            patched.setattr(metrics, "_BLOCK", 50)
            assert made[1].update(**batch).close().to_bytes() == whole.to_bytes(), seed


def block_sizes(relevance: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the documents of each block that is ranked, where 100 may be asked for."""
    monkeypatch.setattr(ranking_rows, "_BLOCK", 100)
    monkeypatch.setattr(ranking_rows, "_MAX_ROWS", 2000)
    standing, seen = ranking_rows.standings, []

    def seeing(values: np.ndarray, *others: Any) -> Any:
        seen.append(len(values))
        return standing(values, *others)

    monkeypatch.setattr(ranking_rows, "standings", seeing)
    se.RankingAccumulator(["map"]).update(relevance, np.zeros(relevance.shape)).compute()
    return seen


@pytest.mark.parametrize(("share", "most"), [(1.0, 110), (0.1, 1500), (0.0, 2000)])
def test_blocks_are_larger_where_fewer_documents_are_asked_for(
    share: float, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    relevance = (np.random.default_rng(0).random((600, 10)) < share).astype(int)
    sizes = block_sizes(relevance, monkeypatch)
    assert sum(sizes) == relevance.size
    assert 0.5 * most <= max(sizes) <= most


@pytest.mark.parametrize("n_queries", [0, 1, 32, 600])
def test_sums_together_are_the_sums_one_by_one(
    n_queries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = config_of("map", "mrr", "gm_map")
    for seed in SEEDS:
        random = np.random.default_rng(seed)
        value = random.random((3, n_queries)) ** random.integers(1, 90)
        value[2] = -value[2]
        value[random.random(value.shape) < 0.3] = 0.0
        is_empty = random.random(value.shape) < 0.2
        values = QueryValues(value, value, value, is_empty, is_empty[0])
        states = []
        for few in (0, 10**6):
            monkeypatch.setattr(ranking, "_FEW", few)
            states.append(RankingState.of_complete(values, None, config))
        assert states[0] == states[1], seed


def config_of(*measures: str) -> RankingConfig:
    return se.RankingAccumulator(measures)._config


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint64])
def test_standing_is_found_in_groups_of_every_size_and_order(
    dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in SEEDS:
        random = np.random.default_rng(seed)
        monkeypatch.setattr(row_order, "_BLOCK", int(random.choice([8, 64, 2**16])))
        sizes = random.integers(0, 40, 30)
        sizes[-1] = random.choice([1, 39])  # rows of the last ones reach past the end
        place = np.repeat(np.arange(len(sizes)), sizes)
        values = random.integers(0, 30, len(place)).astype(dtype)
        asked = np.flatnonzero(random.random(len(place)) < 0.4)
        greater, equal = standings(values, sizes, asked, place[asked])
        own = place[asked][:, None] == place
        assert np.array_equal(greater, (own & (values > values[asked, None])).sum(axis=1)), seed
        assert np.array_equal(equal, (own & (values == values[asked, None])).sum(axis=1)), seed


@each("values", [[], [3], [1, 2, 5], [1, 1, 2], [2, 1, 2]])
def test_distinct_values_are_those_of_numpy(values: list[int]) -> None:
    array = np.array(values, dtype=np.uint64)
    known, places = distinct_values(array)
    assert known.tolist() == sorted(set(values))
    assert known[places].tolist() == values


@each(
    ("values", "bounds"),
    [([], [0]), ([4], [0, 1]), ([4, 4, 1, 4], [0, 2, 3, 4]), ([7, 7], [0, 2])],
)
def test_runs_end_where_the_next_begins(values: list[int], bounds: list[int]) -> None:
    assert run_bounds(np.array(values, dtype=np.int64)).tolist() == bounds


def test_rows_above_are_counted_by_query() -> None:
    place, count = np.array([0, 0, 2, 2, 2, 5]), np.array([3, 1, 1, 4, 1, 2])
    assert queries.runs_above(count, place).tolist() == [0, 3, 0, 1, 5, 0]
    assert queries.runs_above(count[:0], place[:0]).tolist() == []
