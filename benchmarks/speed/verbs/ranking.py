"""Ranking: whole queries beside libraries of rankings, whose runs and judgements lie ready."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import streameval as se
from speed import data
from speed.contest import Contest, Data, Numbers, Peer, Side, yardstick

MEASURES = ("ndcg@10", "map", "mrr")
CANDIDATES = 100
OPEN_MEASURES = ("mrr@10", "ndcg@10", "p@10", "r@10", "hit@10")
OPEN_QUERIES = 50_000

Dicts = tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]


def dense_dicts(batch: Data) -> Dicts:
    """Name the documents of a block."""
    relevance, score = batch
    query = np.repeat(np.arange(len(relevance)), relevance.shape[1])
    return ragged_dicts((relevance.ravel(), score.ravel(), query))


def ragged_dicts(batch: Data) -> Dicts:
    """Name the documents of rows that come query by query."""
    relevance, score, query = batch
    run: dict[str, dict[str, float]] = {}
    judged: dict[str, dict[str, int]] = {}
    starts = np.flatnonzero(np.r_[True, query[1:] != query[:-1]])
    for start, end in zip(starts, [*starts[1:], len(query)], strict=True):
        name = str(query[start])
        run[name] = {f"d{i}": s for i, s in enumerate(score[start:end].tolist())}
        grades = enumerate(relevance[start:end].tolist())
        judged[name] = {f"d{i}": grade for i, grade in grades if grade} or {"none": 0}
    return run, judged


def by_trec_eval(as_dicts: Callable[[Data], Dicts], goal: float) -> Peer:
    """Evaluate with trec_eval's code."""

    def ready(pytrec_eval: Any, batch: Data) -> Side:
        run, judged = as_dicts(batch)
        evaluator = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut.10", "map", "recip_rank"})
        names = dict(zip(MEASURES, ("ndcg_cut_10", "map", "recip_rank"), strict=True))

        def numbers() -> Numbers:
            queries = evaluator.evaluate(run).values()
            return {
                ours: sum(query[theirs] for query in queries) / len(run)
                for ours, theirs in names.items()
            }

        return Side(partial(evaluator.evaluate, run), numbers)

    return Peer(
        library="pytrec-eval-terrier",
        module="pytrec_eval",
        name="RelevanceEvaluator",
        ready=ready,
        goal=goal,
        tolerance=1e-6,
        why="The peer is one compiled loop; with few queries, our NumPy calls dominate.",
    )


def one_query() -> Peer:
    """Show what our calls cost for any number of queries."""

    def make(batch: Data) -> Any:
        return ours(MEASURES)(tuple(part[:1] for part in batch)).run

    return yardstick("the same for one query", make, "streameval")


def by_ranx(as_dicts: Callable[[Data], Dicts], goal: float, why: str = "") -> Peer:
    """Evaluate with ranx, which is compiled at the first call."""

    def ready(ranx: Any, batch: Data) -> Side:
        run, judged = as_dicts(batch)
        held = ranx.Qrels(judged), ranx.Run(run)
        return Side.of_function(lambda: dict(ranx.evaluate(*held, list(MEASURES))))

    return Peer(library="ranx", name="evaluate", ready=ready, goal=goal, tolerance=1e-6, why=why)


def ours(measures: tuple[str, ...]) -> Callable[[Data], Side]:
    """Count a block of queries, or rows, and read the means."""

    def side(batch: Data) -> Side:
        relevance, score, *query = batch

        def run() -> Numbers:
            accumulator = se.RankingAccumulator(measures)
            accumulator.update(relevance, score, query=query[0] if query else None)
            found = accumulator.compute()
            return {measure: float(found[measure]) for measure in measures}

        return Side.of_function(run)

    return side


def dense(queries: int) -> Contest:
    """Rank blocks of queries with as many candidates each."""
    goal, why = 1.0, ""
    if queries == 10_000:
        goal, why = 10.0, "Earlier runs of this page gave 10 to 13."
    return Contest(
        verb="ranking",
        accumulator="RankingAccumulator",
        work=f"NDCG@10, MAP, MRR, blocks of {CANDIDATES}",
        size=queries * CANDIDATES,
        data=partial(data.rankings, CANDIDATES),
        ours=ours(MEASURES),
        peers=[
            by_ranx(dense_dicts, goal, why),
            by_trec_eval(dense_dicts, goal),
            *([one_query()] if queries < 100 else []),
        ],
    )


def ndcg_alone(queries: int) -> Contest:
    """Compute NDCG@10 with tied scores averaged."""

    def ready(metrics: Any, batch: Data) -> Side:
        return Side.of_function(lambda: {"ndcg@10": metrics.ndcg_score(*batch, k=10)})

    peer = Peer(
        library="scikit-learn",
        module="sklearn.metrics",
        name="ndcg_score",
        ready=ready,
        goal=2.0 if queries == 10_000 else 1.0,
    )
    return Contest(
        verb="ranking",
        accumulator="RankingAccumulator",
        work=f"NDCG@10, blocks of {CANDIDATES}",
        size=queries * CANDIDATES,
        data=partial(data.rankings, CANDIDATES),
        ours=ours(("ndcg@10",)),
        peers=[peer],
    )


def ragged(rows: int = 1_000_000) -> Contest:
    """Rank queries of different lengths, row by row."""
    return Contest(
        verb="ranking",
        accumulator="RankingAccumulator",
        work="NDCG@10, MAP, MRR, rows of 50 to 150",
        size=rows,
        data=data.ragged_rankings,
        ours=ours(MEASURES),
        peers=[by_ranx(ragged_dicts, 8.0), by_trec_eval(ragged_dicts, 8.0)],
    )


def pieces_of_open_queries(rows: int = 1_000_000) -> Contest:
    """Add rows to 50,000 open queries that have as many, beside a sort of their keys."""

    def pieces(number: int) -> Data:
        random = np.random.default_rng(data.SEED)
        query = random.integers(0, OPEN_QUERIES, (2, number))
        relevance = (random.random((2, number)) < 0.1).astype(np.int64)
        return relevance, random.random((2, number)), query

    def side(parts: Data) -> Side:
        relevance, score, query = parts
        first = se.RankingAccumulator(OPEN_MEASURES)
        first.update(relevance[0], score[0], query=query[0], partial=True)
        return Side(
            lambda: first.copy().update(relevance[1], score[1], query=query[1], partial=True)
        )

    def sort(_: Any, parts: Data) -> Side:
        keys = np.random.default_rng(data.SEED).integers(0, 2**63, parts[0].shape[1])
        return Side(lambda: np.sort(keys))

    yardstick = Peer(library="numpy", name="np.sort of as many int64", ready=sort, goal=1 / 40)
    return Contest(
        verb="ranking",
        accumulator="RankingAccumulator",
        work="pieces of open queries",
        size=rows,
        data=pieces,
        ours=side,
        peers=[yardstick],
    )


CONTESTS = [
    *(dense(queries) for queries in (32, 1000, 10_000)),
    *(ndcg_alone(queries) for queries in (32, 1000, 10_000)),
    ragged(),
    pieces_of_open_queries(),
]
