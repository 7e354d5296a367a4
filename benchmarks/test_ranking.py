"""Rankings: complete queries beside trec_eval and ranx, pieces of open queries beside a sort."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

import streameval as se

pytrec_eval = pytest.importorskip("pytrec_eval")
ranx = pytest.importorskip("ranx")

Rankings = tuple[np.ndarray, np.ndarray]

QUERIES, CANDIDATES = 10_000, 100
MEASURES = ("ndcg@10", "map", "mrr")
OPEN_MEASURES = ("mrr@10", "ndcg@10", "p@10", "r@10", "hit@10")
OPEN_QUERIES, ROWS = 50_000, 1_000_000


def rankings() -> Rankings:
    """Rank with scores that are all different, of which a tenth is relevant."""
    random = np.random.default_rng(0)
    relevance = random.integers(1, 4, (QUERIES, CANDIDATES))
    relevance *= random.random((QUERIES, CANDIDATES)) < 0.1
    score = random.permuted(np.tile(np.arange(CANDIDATES), (QUERIES, 1)), axis=1)
    return relevance, score.astype(np.float32)


def as_dicts(relevance: np.ndarray, score: np.ndarray) -> tuple[Any, Any]:
    names = [f"d{place}" for place in range(CANDIDATES)]
    run = {str(q): dict(zip(names, row, strict=True)) for q, row in enumerate(score.tolist())}
    qrels = {
        str(q): {name: int(grade) for name, grade in zip(names, row, strict=True) if grade}
        for q, row in enumerate(relevance)
    }
    return run, {query: judged or {"none": 0} for query, judged in qrels.items()}


def dense(relevance: np.ndarray, score: np.ndarray) -> Callable[[], float]:
    def run() -> float:
        return se.RankingAccumulator(MEASURES).update(relevance, score).compute().map

    return run


def ragged(relevance: np.ndarray, score: np.ndarray) -> Callable[[], float]:
    ids = np.repeat(np.arange(QUERIES), CANDIDATES)
    rows = relevance.ravel(), score.ravel()

    def run() -> float:
        return se.RankingAccumulator(MEASURES).update(*rows, query=ids).compute().map

    return run


def trec_eval(relevance: np.ndarray, score: np.ndarray) -> Callable[[], float]:
    run, qrels = as_dicts(relevance, score)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "map", "recip_rank"})
    return lambda: sum(query["map"] for query in evaluator.evaluate(run).values()) / QUERIES


def ranx_evaluate(relevance: np.ndarray, score: np.ndarray) -> Callable[[], float]:
    run, qrels = as_dicts(relevance, score)
    held = ranx.Qrels(qrels), ranx.Run(run)
    return lambda: float(ranx.evaluate(*held, list(MEASURES))["map"])


@pytest.mark.parametrize("contender", [dense, ragged, trec_eval, ranx_evaluate])
def test_complete_queries(benchmark: Any, contender: Callable[..., Callable[[], float]]) -> None:
    benchmark.group = f"NDCG@10, MAP and MRR of {QUERIES:,} queries of {CANDIDATES}"
    relevance, score = rankings()
    expected = dense(relevance, score)()
    value = benchmark.pedantic(contender(relevance, score), rounds=5, warmup_rounds=1)
    assert value == pytest.approx(expected, abs=1e-6)


def ours_ndcg(relevance: np.ndarray, score: np.ndarray) -> float:
    return se.RankingAccumulator("ndcg@10").update(relevance, score).compute()["ndcg@10"]


def scikit_learn_ndcg(relevance: np.ndarray, score: np.ndarray) -> float:
    return float(ndcg_score(relevance, score, k=10))


@pytest.mark.parametrize("contender", [ours_ndcg, scikit_learn_ndcg])
def test_ndcg_alone(benchmark: Any, contender: Callable[..., float]) -> None:
    benchmark.group = f"NDCG@10 of {QUERIES:,} queries of {CANDIDATES}, ties averaged"
    value = benchmark.pedantic(contender, args=rankings(), rounds=5, warmup_rounds=1)
    assert value == pytest.approx(ours_ndcg(*rankings()), abs=1e-9)


def pieces() -> Callable[[], Any]:
    """Add a million rows to 50,000 open queries that have as many."""
    random = np.random.default_rng(0)
    query = random.integers(0, OPEN_QUERIES, (2, ROWS))
    relevance, score = (random.random((2, ROWS)) < 0.1) * 1, random.random((2, ROWS))
    first = se.RankingAccumulator(OPEN_MEASURES)
    first.update(relevance[0], score[0], query=query[0], partial=True)
    assert len(first.to_bytes()) <= 600 * OPEN_QUERIES

    def run() -> Any:
        return first.copy().update(relevance[1], score[1], query=query[1], partial=True)

    return run


def forty_sorts() -> Callable[[], Any]:
    keys = np.random.default_rng(0).integers(0, 2**63, ROWS).astype(np.uint64)
    return lambda: [np.sort(keys) for _ in range(40)]


@pytest.mark.parametrize("contender", [pieces, forty_sorts])
def test_pieces_of_open_queries(benchmark: Any, contender: Callable[[], Any]) -> None:
    benchmark.group = f"{ROWS:,} rows of {OPEN_QUERIES:,} open queries beside 40 sorts of so many"
    benchmark.pedantic(contender(), rounds=5, warmup_rounds=1)
