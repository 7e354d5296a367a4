"""Evaluate two retrieval systems from TREC files, and compare them query by query.

    python docs/examples/retrieval.py QRELS RUN_A RUN_B

Numbers equal those of trec_eval with -c: a query that a run lacks counts as 0.
"""

from __future__ import annotations

import sys

import streameval as se

MEASURES = ["map", "recip_rank", "P_10", "ndcg_cut_10"]


def evaluate(run: str, qrels: se.io.Qrels) -> se.Ranking:
    """Count a run in pieces of whole queries, so that it need not fit into memory."""
    acc = se.RankingAccumulator.like("trec_eval", MEASURES, per_query=True)
    seen: set[str] = set()
    for piece in se.io.iter_run(run):
        acc.update_run(piece, qrels, count_missing=False)
        seen.update(piece)
    acc.add_missing(sorted(set(qrels) - seen))
    return acc.compute(missing="zero")


def main(qrels_path: str, *runs: str) -> None:
    """Print the measures of both systems, and the paired comparison."""
    qrels = se.io.read_qrels(qrels_path)
    a, b = (evaluate(run, qrels) for run in runs)
    for run, result in zip(runs, (a, b), strict=True):
        print(f"{run}: {result}\n")
    print(se.compare(a, b))


if __name__ == "__main__":
    main(*sys.argv[1:])
