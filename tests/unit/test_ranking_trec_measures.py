"""Measures that trec_eval made known, by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest
from offenders import each

import streameval as se

# a b c d e by falling score; c was not judged, f and g were not returned
RUN = {"q": {"a": 5.0, "b": 4.0, "c": 3.0, "d": 2.0, "e": 1.0}}
QRELS = {"q": {"a": 2, "b": 0, "d": 1, "e": 1, "f": 1, "g": 0}}


def log2(value: float) -> float:
    return 1 / math.log2(value)


IDEAL = [2, 2 + log2(3), 2 + log2(3) + log2(4), 2 + log2(3) + log2(4) + log2(5)]
GAINED = [2.0, 2.0, 2.0, 2 + log2(5), 2 + log2(5) + log2(6)]
EXPECTED = {
    "num_ret": 5.0,
    "num_rel": 4.0,
    "num_rel_ret": 3.0,
    "num_nonrel_judged_ret": 1.0,
    "utility": 3.0 - 2.0,
    "set_map": 3 / 5 * 3 / 4,
    "set_relative_p": 3 / 4,
    "relative_p@2": 1 / 2,
    "relative_p@10": 3 / 4,
    "rprec_mult(times=0.2)": 1.0,  # of one document
    "rprec_mult(times=1.6)": 3 / 7,
    "iprec(recall=0.0)": 1.0,
    "iprec(recall=0.3)": 1.0,  # of 1.2 documents, rounded
    "iprec(recall=0.5)": 3 / 5,
    "iprec(recall=1.0)": 0.0,
    "11pt_avg": (4 * 1.0 + 5 * 3 / 5 + 0.0 * 2) / 11,
    "bin_g": (1 + 2 * log2(4)) / 4,
    "g": (2 * log2(2) + log2(2 + 5 - 3) + log2(2 + 6 - 4)) / 5,
    "ndcg_rel": (1 + GAINED[3] / IDEAL[3] + 2 * GAINED[4] / IDEAL[3]) / 4,
    "rndcg": (GAINED[0] / IDEAL[0] + GAINED[3] / IDEAL[3]) / 2,
    "rbp_resid": 0.1 * 0.9**2 + 0.9**5,
    "unj@2": 0.0,
    "unj@10": 0.1,
    "gm_bpref": (1 + 2 * (1 - 1 / 2)) / 4,
}


@each("name", EXPECTED)
def test_measure_of_trec_eval_has_the_value_by_hand(name: str) -> None:
    result = se.RankingAccumulator.like("trec_eval", [name]).update_run(RUN, QRELS).compute()
    assert float(result[name]) == pytest.approx(EXPECTED[name], rel=1e-14)


def test_rndcg_counts_the_last_rank_where_two_documents_follow_the_gains() -> None:
    acc = se.RankingAccumulator("rndcg").update([0, 0, 1, 0], [4, 3, 2, 1], query=[0] * 4)
    assert float(acc.compute()["rndcg"]) == pytest.approx((0 + log2(4)) / 2)


@each(("ties", "expected"), [("optimistic", 1.0), ("pessimistic", 0.5)])
@each("name", ["iprec(recall=1.0)", "11pt_avg"])
def test_interpolated_precision_orders_ties(name: str, ties: Any, expected: float) -> None:
    acc = se.RankingAccumulator(name, ties=ties).update([[0, 1]], [[0.5, 0.5]])
    assert float(acc.compute()[name]) == expected


@each(("ties", "expected"), [("optimistic", 1.0), ("pessimistic", 0.0)])
def test_unjudged_share_is_lowest_where_ties_count_least(ties: Any, expected: float) -> None:
    acc = se.RankingAccumulator("unj@1", ties=ties).update([[math.nan, 1]], [[0.5, 0.5]])
    assert float(acc.compute()["unj@1"]) == expected


def closed(name: str, relevance: list[float]) -> se.Bounded:
    """A query in pieces of which two rows are kept."""
    acc = se.RankingAccumulator(name, ties="docid_desc", rows_per_query=2)
    size = len(relevance)
    acc.update(relevance, range(size, 0, -1), query=[0] * size, doc=range(size), partial=True)
    return acc.close().compute()[name]


@each(
    ("name", "low", "high"),
    [
        ("iprec(recall=1.0)", 2 / 4, 2 / 3),
        ("bin_g", (1 + log2(4)) / 2, (1 + log2(3)) / 2),
        ("g", 0.0, 1.0),
        ("ndcg_rel", 0.0, 1.0),
    ],
)
def test_bounds_hold_every_order_of_dropped_rows(name: str, low: float, high: float) -> None:
    found = closed(name, [1, 0, 1, 0])
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-9)
    assert float(found) == pytest.approx((low + high) / 2)


@each("name", ["iprec(recall=1.0)", "g", "ndcg_rel", "rbp_resid"])
def test_measure_is_exact_where_nothing_that_counts_was_dropped(name: str) -> None:
    assert closed(name, [1, 1, 0, 0] if name != "rbp_resid" else [0, math.nan, math.nan]).exact


def test_total_is_the_sum_over_queries() -> None:
    acc = se.RankingAccumulator(["num_ret", "map"], empty="nan")
    result = acc.update([[1, 0, 1], [0, 0, 0]], [[3, 2, 1]] * 2).compute()
    assert result.total("num_ret") == 6.0
    assert math.isnan(result.total("map"))


@each("name", ["utility", "num_ret"])
def test_count_has_student_s_interval_within_its_range(name: str) -> None:
    rows = [[1, 0, 0], [1, 1, 1]] * 2
    low, high = se.RankingAccumulator(name).update(rows, [[3, 2, 1]] * 4).compute().confidence(name)
    reach = 3.182446 * math.sqrt((4 * 2.0**2) / 3 / 4)  # t of 3 degrees of freedom
    assert (low, high) == pytest.approx(
        (0.0, math.inf) if name == "num_ret" else (1.0 - reach, 1.0 + reach), abs=0.01
    )


def test_utility_has_no_evidence_for_it_may_be_negative() -> None:
    row = se.Ranking.TABLE["utility"]
    assert row.evidence is None
    assert row.why_no_evidence == "its values may be negative"


@each("name", ["utility", "num_ret", "gm_bpref", "unj@2"])
def test_state_of_a_measure_of_trec_eval_survives_bytes(name: str) -> None:
    rows = [[1, 0, 0, math.nan], [0, 0, 0, 0], [1, 1, 1, 1]]
    acc = se.RankingAccumulator(name, per_query=True)
    acc.update(rows, [[4, 3, 2, 1]] * 3, query=["a", "b", "c"])
    assert se.from_bytes(acc.to_bytes()) == acc
    assert acc.compute().per_query()[name].shape == (3,)
