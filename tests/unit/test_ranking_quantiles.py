"""Quantiles of a measure over queries."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from offenders import each

import streameval as se


def result(**options: Any) -> se.Ranking:
    """Four queries with reciprocal ranks of 1, 1/2 and 1/3, and nothing relevant."""
    rows = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]
    acc = se.RankingAccumulator(["p@1", "mrr"], per_query=True, **options)
    return acc.update(rows, [[3, 2, 1]] * 4, query=[1, 2, 3, 4]).compute()


@each("q", [0, 0.1, 0.5, 0.75, 1])
def test_quantile_is_that_of_the_queries_that_count(q: float) -> None:
    assert result().quantile("mrr", q) == np.quantile([1, 1 / 2, 1 / 3, 0], q)
    assert result(empty="skip").quantile("RR", q) == np.quantile([1, 1 / 2, 1 / 3], q)


def test_quantile_is_the_median_by_default() -> None:
    assert result(empty="skip").quantile("mrr") == 1 / 2


def test_quantile_is_undefined_where_the_mean_is() -> None:
    assert math.isnan(result(empty="nan").quantile("mrr"))
    empty = se.RankingAccumulator("mrr", per_query=True).compute()
    assert math.isnan(empty.quantile("mrr"))


def test_quantile_of_merged_halves_is_that_of_the_whole() -> None:
    rng = np.random.default_rng(5)
    rows, scores = rng.integers(0, 2, (40, 6)), rng.random((40, 6))
    halves = [
        se.RankingAccumulator("map", per_query=True).update(rows[i::2], scores[i::2], query=ids)
        for i, ids in enumerate((np.arange(0, 40, 2), np.arange(1, 40, 2)))
    ]
    merged = (halves[0] + halves[1]).compute()
    assert merged.quantile("map", 0.9) == np.quantile(merged.per_query()["map"], 0.9)


def test_quantile_needs_the_values_of_queries() -> None:
    plain = se.RankingAccumulator("mrr").update([[1]], [[1]]).compute()
    with pytest.raises(se.InvalidInputError, match=r"^`per_query` must be True"):
        plain.quantile("mrr")


@each("q", [-0.1, 1.5])
def test_quantile_refuses_a_share_outside_of_0_to_1(q: float) -> None:
    with pytest.raises(se.InvalidInputError, match=r"^`q` must lie in \[0, 1\], got "):
        result().quantile("mrr", q)
