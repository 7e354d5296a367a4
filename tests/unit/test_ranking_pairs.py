"""Measures of relevant documents beside others, by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest
from offenders import each

import streameval as se

NAMES = ["coverage_error", "label_ranking_loss", "query_auc", "fall_out@2"]


def values(relevance: list[float], score: list[float], **options: Any) -> dict[str, float]:
    acc = se.RankingAccumulator(NAMES, **options)
    result = acc.update(relevance, score, query=[0] * len(score)).compute()
    return {name: float(value) for name, value in result.items()}


def test_pair_measures_have_their_values_by_hand() -> None:
    # two of the three relevant documents have one and two of the others above them
    assert values([1, 0, 1, 0, 1], [5, 4, 3, 2, 1]) == {
        "coverage_error": 5.0,
        "label_ranking_loss": (0 + 1 + 2) / 6,
        "query_auc": 1 - (0 + 1 + 2) / 6,
        "fall_out@2": 1 / 2,
    }


@each(
    ("ties", "auc", "fall_out"),
    [("expected", 0.5, 2 / 3), ("optimistic", 1.0, 1.0), ("pessimistic", 0.0, 1 / 2)],
)
def test_ties_have_the_max_or_min_of_a_measure_unless_they_count_in_full(
    ties: Any, auc: float, fall_out: float
) -> None:
    assert values([0, 1, 0], [1, 1, 1], ties=ties) == {
        "coverage_error": 3.0,
        "label_ranking_loss": 1.0,
        "query_auc": auc,
        "fall_out@2": pytest.approx(fall_out),
    }


def test_relevant_documents_that_were_not_retrieved_stand_last() -> None:
    acc = se.RankingAccumulator(NAMES)
    acc.update([1, 0, 1, 0], [2, 1, 0, 0], query=[0] * 4, retrieved=[True, True, False, False])
    found = {name: float(value) for name, value in acc.compute().items()}
    assert found == {
        "coverage_error": 3.0,
        "label_ranking_loss": 0.5,
        "query_auc": 0.5,
        "fall_out@2": 0.5,
    }


def test_queries_without_a_pair_are_skipped_if_asked() -> None:
    acc = se.RankingAccumulator(NAMES, empty="skip")
    acc.update([[1, 1], [0, 0], [1, 0]], [[2, 1]] * 3)
    result = acc.compute()
    assert result.empty == {
        "coverage_error": 1,
        "label_ranking_loss": 1,
        "query_auc": 2,
        "fall_out@2": 1,
    }
    assert float(result["query_auc"]) == 1.0


@each(
    ("name", "low", "value", "high"),
    [
        ("coverage_error", 3.0, 3.5, 4.0),
        ("label_ranking_loss", 0.5, 0.625, 0.75),
        ("query_auc", 0.25, 0.375, 0.5),
    ],
)
def test_bounds_hold_every_order_of_dropped_rows(
    name: str, low: float, value: float, high: float
) -> None:
    acc = se.RankingAccumulator(name, rows_per_query=2)
    acc.update([0, 1, 1, 0], [4, 3, 2, 1], query=[0] * 4, partial=True)
    found = acc.close().compute()[name]
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-9)
    assert float(found) == pytest.approx(value)


@each("name", ["F1@2", "fallout@2", "Fall_out@2"])
def test_pair_measures_have_other_names(name: str) -> None:
    assert list(se.RankingAccumulator([name]).compute()) in (["f@2"], ["fall_out@2"])


def test_coverage_error_has_student_s_interval() -> None:
    acc = se.RankingAccumulator("coverage_error").update([[1, 0], [0, 1]] * 5, [[2, 1]] * 10)
    low, high = acc.compute().confidence("coverage_error")
    reach = 2.262157 * math.sqrt(10 * 0.5**2 / 9 / 10)  # t of 9 degrees of freedom
    assert (low, high) == pytest.approx((1.5 - reach, 1.5 + reach), abs=0.001)
