"""Measures that need an order of all documents, and trec_eval's whole list of measures."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import pytrec_eval
from offenders import each
from oracle.ranking_oracles import (
    ARRANGED,
    ORDERED,
    Options,
    Row,
    as_arguments,
    draw_query,
    per_query,
)
from oracle.test_ranking_partial import draw_long, in_pieces
from oracle.test_ranking_ties import accumulator
from profiles import cases
from sklearn import metrics

import streameval as se

N_QUERIES = cases(200, least=20)
BY_TIES = {
    "docid_desc": ARRANGED | ORDERED,
    "pessimistic": ARRANGED,
    "optimistic": ARRANGED,
}
by_ties = each("ties", BY_TIES)

TREC = {
    "num_ret": "num_ret",
    "num_rel": "num_rel",
    "num_rel_ret": "num_rel_ret",
    "num_nonrel_judged_ret": "num_nonrel_judged_ret",
    "utility": "utility",
    "bin_g": "binG",
    "g": "G",
    "ndcg_rel": "ndcg_rel",
    "rndcg": "Rndcg",
    "set_map": "set_map",
    "set_relative_p": "set_relative_P",
    **{f"relative_p@{k}": f"relative_P_{k}" for k in (5, 10)},
    **{f"rprec_mult(times={x})": f"Rprec_mult_{x:.2f}" for x in (0.2, 0.6, 1.0, 1.8)},
    **{f"iprec(recall={i / 10})": f"iprec_at_recall_{i / 10:.2f}" for i in range(11)},
}
"""Our names, and trec_eval's."""


@by_ties
@each("gain", ["linear", "exp2"])
def test_ordered_measures_equal_brute_force(gain: Any, ties: Any) -> None:
    rng = np.random.default_rng([71, list(BY_TIES).index(ties)])
    options, measures = Options(ties=ties, gain=gain), BY_TIES[ties]
    drawn = {i: draw_query(rng) for i in range(N_QUERIES)}
    acc = accumulator(options, measures, per_query=True).update(**as_arguments(drawn))
    columns = acc.compute().per_query()
    for query, rows in drawn.items():
        for name, value in per_query(rows, options, measures).items():
            expected = pytest.approx(float(value or 0), rel=1e-12, abs=1e-15)
            assert columns[name][query] == expected, (name, rows)


@by_ties
def test_intervals_of_ordered_measures_hold_the_exact_value(ties: Any) -> None:
    rng = np.random.default_rng([72, list(BY_TIES).index(ties)])
    options, measures = Options(ties=ties), BY_TIES[ties]
    n_wide = 0
    for _ in range(N_QUERIES):
        rows, most = draw_long(rng), int(rng.integers(3, 9))
        empty = accumulator(options, measures, rows_per_query=most)
        acc = in_pieces(rng, empty, as_arguments({7: rows}), n_pieces=int(rng.integers(1, 5)))
        acc.close()
        result = acc.compute()
        for name, value in per_query(rows, options, measures).items():
            truth, found = float(value or 0), result[name]
            if found.exact:
                assert float(found) == pytest.approx(truth, rel=1e-12), (name, rows)
                continue
            assert found.low <= truth <= found.high, (name, rows)
            assert found.low <= float(found) <= found.high, (name, rows)
            n_wide += 1
    assert n_wide


def draw_topic(rng: np.random.Generator) -> tuple[dict[str, float], dict[str, int]]:
    """A run and judgements, with at least one relevant document."""
    names = [f"d{i:02}" for i in rng.permutation(40)]
    run = {doc: float(rng.integers(0, 9)) for doc in names[: int(rng.integers(1, 30))]}
    judged = rng.permutation(names)[: int(rng.integers(1, 30))]
    qrels = {str(doc): int(rng.integers(0, 4)) for doc in judged}
    qrels[names[-1]] = 1
    return run, qrels


def agrees(name: str, n_relevant: int) -> bool:
    """Whether trec_eval 9, which rounds recall times R up, needs as many documents as 10 does."""
    if not name.startswith("iprec"):
        return True
    share = float(name[len("iprec(recall=") : -1]) * n_relevant
    return math.floor(share + 0.5) == int(share + 0.9)


def test_every_measure_of_trec_eval_equals_pytrec_eval() -> None:
    rng = np.random.default_rng(73)
    n_checked = dict.fromkeys(TREC, 0)
    for _ in range(N_QUERIES):
        run, qrels = draw_topic(rng)
        asked = {name.split("_0")[0].split("_1")[0].split("_5")[0] for name in TREC.values()}
        evaluator = pytrec_eval.RelevanceEvaluator({"q": qrels}, asked)
        theirs = evaluator.evaluate({"q": run})["q"]
        acc = se.RankingAccumulator.like("trec_eval", tuple(TREC))
        ours = acc.update_run({"q": run}, {"q": qrels}).compute()
        n_relevant = sum(grade > 0 for grade in qrels.values())
        for name, trec_name in TREC.items():
            if agrees(name, n_relevant):
                n_checked[name] += 1
                expected = pytest.approx(theirs[trec_name], rel=1e-10, abs=1e-12)
                assert float(ours[name]) == expected, (name, run, qrels)
    assert min(n_checked.values()) >= N_QUERIES / 10


def test_geometric_bpref_equals_pytrec_eval() -> None:
    rng = np.random.default_rng(74)
    topics = {f"q{i}": draw_topic(rng) for i in range(N_QUERIES)}
    run = {query: found for query, (found, _) in topics.items()}
    qrels = {query: judged for query, (_, judged) in topics.items()}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"gm_bpref"}).evaluate(run)
    logs = [found["gm_bpref"] for found in theirs.values()]
    acc = se.RankingAccumulator.like("trec_eval", ["gm_bpref"]).update_run(run, qrels)
    expected = pytest.approx(math.exp(math.fsum(logs) / len(logs)), rel=1e-10)
    assert float(acc.compute()["gm_bpref"]) == expected


def test_rbp_residual_is_what_unjudged_documents_may_add() -> None:
    rows = {1: [Row(1, 3.0, "a"), Row(None, 2.0, "b"), Row(0, 1.0, "c")]}
    acc = se.RankingAccumulator(["rbp(p=0.5)", "rbp_resid(p=0.5)"]).update(**as_arguments(rows))
    result = acc.compute()
    assert float(result["rbp(p=0.5)"]) == 0.5
    assert float(result["rbp_resid(p=0.5)"]) == 0.25 + 0.125


def test_pair_measures_equal_scikit_learn() -> None:
    rng = np.random.default_rng(75)
    names = ("coverage_error", "label_ranking_loss", "query_auc")
    for _ in range(N_QUERIES):
        shape = int(rng.integers(1, 6)), int(rng.integers(2, 9))
        truth, score = rng.integers(0, 2, shape), rng.integers(0, 5, shape) / 4
        result = se.RankingAccumulator.like(
            "sklearn", names, per_query=True, empty={"query_auc": "nan"}
        )
        columns = result.update(truth, score, query=np.arange(len(truth))).compute().per_query()
        about = f"{truth}, {score}"
        for row in range(len(truth)):
            one = truth[row : row + 1], score[row : row + 1]
            loss = metrics.label_ranking_loss(*one)
            assert columns["label_ranking_loss"][row] == pytest.approx(loss, rel=1e-12), about
            assert columns["coverage_error"][row] == metrics.coverage_error(*one), about
            if 0 < truth[row].sum() < shape[1]:
                auc = metrics.roc_auc_score(truth[row], score[row])
                assert columns["query_auc"][row] == pytest.approx(auc, rel=1e-12), about
            else:
                assert np.isnan(columns["query_auc"][row]), about
