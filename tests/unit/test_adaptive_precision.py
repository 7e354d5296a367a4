"""Precision at k of queries with fewer than k documents, as torchmetrics' `adaptive_k` has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from offenders import each
from profiles import cases

import streameval as se


def retrieval_precision(score: Any, relevant: Any, k: int | None, *, adaptive: bool) -> float:
    """What torchmetrics.functional.retrieval_precision (1.9) computes of one query."""
    if k is None or (adaptive and k > len(score)):
        k = len(score)
    order = np.argsort(-score, kind="stable")
    return float(relevant[order][:k].sum() / k) if relevant.any() else 0.0


@each("name", ["adaptive_p@4", "p@4", "set_p"])
def test_precision_is_that_of_torchmetrics(name: str) -> None:
    random = np.random.default_rng(4)
    for _ in range(cases(200, least=20)):
        sizes = random.integers(1, 8, 5)
        rows = [(random.permutation(n), random.integers(0, 2, n)) for n in sizes]
        acc = se.RankingAccumulator(name)
        query = np.repeat(np.arange(5), sizes)
        acc.update(
            np.concatenate([relevant for _, relevant in rows]),
            np.concatenate([score for score, _ in rows]),
            query=query,
        )
        k = None if name == "set_p" else 4
        expected = [
            retrieval_precision(*row, k, adaptive=name.startswith("adaptive")) for row in rows
        ]
        assert acc.compute()[name] == pytest.approx(np.mean(expected), abs=1e-12)


def test_precision_of_few_documents_is_over_their_number() -> None:
    acc = se.RankingAccumulator(["p@5", "adaptive_p@5"]).update([[1, 0]], [[2, 1]])
    result = acc.compute()
    assert (result.precision[5], result.adaptive_p[5]) == (0.2, 0.5)


def test_precision_without_documents_is_0() -> None:
    acc = se.RankingAccumulator("adaptive_precision@5")
    acc.update([[1]], [[1]], retrieved=[[False]])
    assert acc.compute()["adaptive_p@5"] == 0.0
