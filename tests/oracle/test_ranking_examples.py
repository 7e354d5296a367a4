"""Worked examples of blogs and libraries, their numbers copied here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from offenders import each

import streameval as se

EVERY_TIES = ("expected", "pessimistic", "optimistic")
every_ties = each("ties", EVERY_TIES)


def ranked(relevance: Sequence[float], num_relevant: int | None = None) -> dict[str, Any]:
    """One query whose documents are given best first."""
    n = len(relevance)
    given = {} if num_relevant is None else {"num_relevant": np.array([num_relevant])}
    return {"relevance": [list(relevance)], "score": [[1 - i / n for i in range(n)]], **given}


def from_ranks(ranks: Sequence[int], n: int) -> list[int]:
    return [int(rank in ranks) for rank in range(1, n + 1)]


def accumulator(*measures: str, **options: Any) -> Any:
    return se.RankingAccumulator(measures, **options)


@each(
    ("relevance", "num_relevant", "expected", "printed"),
    [
        ([0, 1, 1, 0, 1, 0, 0, 0, 1, 0], 4, 0.5527777777777778, 0.55),
        ([1, 0, 0, 1, 1, 1], 4, 0.6916666666666667, 0.6917),
    ],
)
@every_ties
def test_average_precision_of_a_list(
    relevance: list[int], num_relevant: int, expected: float, printed: float, ties: str
) -> None:
    acc = accumulator("map", "lrap", ties=ties).update(**ranked(relevance, num_relevant))
    result = acc.compute()
    assert float(result["map"]) == pytest.approx(expected, rel=1e-12)
    assert float(result["lrap"]) == pytest.approx(expected, rel=1e-12)
    assert float(result["map"]) == pytest.approx(printed, abs=5e-3)


@each("relevance", [[0, 1, 1, 0, 1, 0, 0, 0, 1, 0], [1, 0, 0, 1, 1, 1]])
def test_average_precision_of_a_list_counts_its_relevant_documents(relevance: list[int]) -> None:
    by_rows = accumulator("map").update(**ranked(relevance))
    assert by_rows == accumulator("map").update(**ranked(relevance, 4))


@each(
    ("ranks", "num_relevant", "expected"),
    [
        ([1, 2, 4, 7], 4, 0.8303571428571429),
        ([1, 3, 5], 5, 0.4533333333333333),
        ([1, 3, 6, 9, 10], 5, 0.6222222222222222),
    ],
)
@each("n", [10, 25])
def test_average_precision_of_ranks(
    ranks: list[int], num_relevant: int, expected: float, n: int
) -> None:
    acc = accumulator("map").update(**ranked(from_ranks(ranks, n), num_relevant))
    assert float(acc.compute()["map"]) == pytest.approx(expected, rel=1e-12)


def test_mean_average_precision_of_two_topics() -> None:
    """The second topic has five relevant pages, of which two were not retrieved."""
    acc = accumulator("map")
    acc.update(**ranked(from_ranks([1, 2, 4, 7], 7), 4))
    acc.update(**ranked(from_ranks([1, 3, 5], 5), 5))
    assert float(acc.compute()["map"]) == pytest.approx(0.6418452380952381, rel=1e-12)
    assert float(acc.compute().map) == pytest.approx(0.64, abs=5e-3)


def test_pages_not_retrieved_may_be_given_as_rows() -> None:
    """The same second topic, its two missed pages among the rows."""
    relevance = np.array([[*from_ranks([1, 3, 5], 5), 1, 1]])
    acc = accumulator("map").update(
        relevance,
        np.array([[5.0, 4.0, 3.0, 2.0, 1.0, 9.0, 9.0]]),
        retrieved=np.array([[True] * 5 + [False] * 2]),
    )
    assert float(acc.compute()["map"]) == pytest.approx(0.4533333333333333, rel=1e-12)


@every_ties
def test_mean_reciprocal_rank_of_cats_tori_and_viruses(ties: str) -> None:
    acc = accumulator("mrr", ties=ties)
    for rank in (3, 2, 1):
        acc.update(**ranked(from_ranks([rank], 3)))
    assert float(acc.compute()["mrr"]) == pytest.approx(0.6111111111111112, rel=1e-12)
    assert float(acc.compute().mrr) == pytest.approx(0.61, abs=5e-3)


@every_ties
def test_label_ranking_average_precision_of_two_lines(ties: str) -> None:
    y_true, y_score = [[1, 0, 0], [0, 0, 1]], [[0.75, 0.5, 1], [1, 0.2, 0.1]]
    acc = accumulator("lrap", ties=ties).update(y_true, y_score)
    assert float(acc.compute()["lrap"]) == pytest.approx(0.4166666666666667, rel=1e-12)


FIVE = [5, 2, 4, 4, 4]
DCG = {
    "exp2": [31.0, 32.89278926071437, 40.39278926071437, 46.852937631815266, 52.65572974033339],
    "linear": [5.0, 6.2618595071429155, 8.261859507142916, 9.984565739436487, 11.531976968374654],
}
PRINTED = [31, 32.9, 40.4, 46.9, 52.7]
NDCG = {"exp2": 0.9473069778637526, "linear": 0.9593886374186069}
every_gain = each("gain", DCG)


@every_gain
@each("k", range(1, 6))
def test_dcg_of_five_results(gain: str, k: int) -> None:
    result = accumulator(f"dcg@{k}", gain=gain).update(**ranked(FIVE)).compute()
    assert float(result[f"dcg@{k}"]) == pytest.approx(DCG[gain][k - 1], rel=1e-12)
    if gain == "exp2":
        assert float(result[f"dcg@{k}"]) == pytest.approx(PRINTED[k - 1], abs=0.051)


@every_gain
@each("name", ["ndcg", "ndcg@5", "ndcg@10"])
def test_ndcg_of_five_results(gain: str, name: str) -> None:
    result = accumulator(name, "dcg", gain=gain).update(**ranked(FIVE)).compute()
    assert float(result[name]) == pytest.approx(NDCG[gain], rel=1e-12)
    assert float(result["dcg"]) == pytest.approx(DCG[gain][-1], rel=1e-12)


def test_exponential_gains_are_those_of_a_mapping() -> None:
    by_name = accumulator("dcg", gain="exp2").update(**ranked(FIVE)).compute()
    by_level = accumulator("dcg", gain={5: 31, 2: 3, 4: 15}).update(**ranked(FIVE)).compute()
    assert float(by_name["dcg"]) == float(by_level["dcg"])


def test_the_first_results_of_a_query() -> None:
    """Precision, recall and NDCG of the first N of ten results, four of them relevant."""
    relevance = [0, 1, 1, 0, 1, 0, 0, 0, 1, 0]
    names = [f"{name}@{k}" for name in ("p", "r", "hit") for k in (1, 3, 5, 10)]
    result = accumulator(*names).update(**ranked(relevance)).compute()
    expected = [0, 2 / 3, 3 / 5, 4 / 10, 0, 2 / 4, 3 / 4, 1, 0, 1, 1, 1]
    assert [float(result[name]) for name in names] == pytest.approx(expected, rel=1e-15)
    assert float(result.precision[3]) == float(result["p@3"])
    assert float(result.recall[3]) == float(result["r@3"])
    assert float(result.hit[3]) == float(result["hit@3"])
