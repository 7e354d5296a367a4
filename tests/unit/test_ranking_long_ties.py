"""Long tie levels: values are those of sums over every rank, in time that no count decides.

A level of millions of documents takes a few bytes of a state, doubled by merges or forged.
"""

from __future__ import annotations

import itertools
import math
import sys
import tracemalloc
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from offenders import each

import streameval as se
from streameval.metrics import ranks

slow = pytest.mark.slow

MEASURES = (
    "map",
    "map@700",
    "mrr",
    "mrr@1500",
    "dcg",
    "ndcg@2000",
    "hit@1200",
    "hit@3",
    "rbp(p=0.999)",
)


def by_rank(above: int, size: int, relevant: int) -> dict[str, float]:
    """Add up over the ranks of one level, below documents that are not relevant."""
    ranks = np.arange(above + 1, above + size + 1)
    step, share = ranks - above, relevant / size
    precision = share * (1 + (step - 1) * (relevant - 1) / max(size - 1, 1)) / ranks / relevant
    missed = [Fraction(1)]  # none of the first j is relevant
    for drawn in range(size):
        left = size - drawn
        missed.append(missed[-1] * max(left - relevant, 0) / left if missed[-1] else Fraction(0))
        if missed[-1] < Fraction(1, 2**200):
            missed[-1] = Fraction(0)
        missed[-1] = Fraction(int(missed[-1] * 2**300), 2**300)
    none = np.array([float(a - b) for a, b in pairwise(missed)])
    gain = share / np.log2(ranks + 1.0)
    ideal = math.fsum(1.0 / np.log2(np.arange(2.0, min(relevant, 2000) + 2.0)))
    cut = [max(min(k - above, size), 0) for k in (1200, 3)]
    return {
        "map": math.fsum(precision),
        "map@700": math.fsum(precision[ranks <= 700]),
        "mrr": math.fsum(none / ranks),
        "mrr@1500": math.fsum((none / ranks)[ranks <= 1500]),
        "dcg": math.fsum(gain),
        "ndcg@2000": math.fsum(gain[ranks <= 2000]) / ideal,
        "hit@1200": float(1 - missed[cut[0]]),
        "hit@3": float(1 - missed[cut[1]]),
        "rbp(p=0.999)": math.fsum(
            share * 0.001 * math.exp((r - 1) * math.log(0.999)) for r in ranks
        ),
    }


@pytest.mark.slow
@each("above", [0, 5, 70_000])
@pytest.mark.parametrize("size", [257, 1500, pytest.param(20_000, marks=slow)])
def test_long_tie_is_the_sum_over_its_ranks(above: int, size: int) -> None:
    for relevant in (1, 2, 33, 34, size // 30, size // 2, size):
        _check_long_tie(above, size, relevant)


def _check_long_tie(above: int, size: int, relevant: int) -> None:
    relevance = np.zeros(above + size, dtype=int)
    relevance[above : above + relevant] = 1
    score = np.where(np.arange(above + size) < above, 2.0, 1.0)
    found = se.RankingAccumulator(MEASURES).update(relevance[None], score[None]).compute()
    for name, expected in by_rank(above, size, relevant).items():
        assert found[name] == pytest.approx(expected, rel=1e-12, abs=1e-300), (name, relevant)


@each("wrong", [0, 1, 32, 33, 500, 1995])
def test_chance_that_all_drawn_from_a_long_tie_are_relevant(wrong: int) -> None:
    relevance = np.repeat([1, 0], [2000 - wrong, wrong])
    cuts = (1, 5, 1024, 1025, 1500, 2000)
    acc = se.RankingAccumulator([f"all_hit@{k}" for k in cuts])
    found = acc.update(relevance[None], np.zeros((1, 2000))).compute()
    for k in cuts:
        expected = float(Fraction(math.comb(2000 - wrong, k), math.comb(2000, k)))
        assert found[f"all_hit@{k}"] == pytest.approx(expected, rel=1e-12, abs=1e-60)


def expected_stop(cells: list[tuple[Fraction, int]], above: int, cutoff: int) -> Fraction:
    """Return the mean of 1 / rank of the stop by the elementary symmetric polynomials."""
    size = sum(count for _, count in cells)
    reach = min(cutoff - above, size)
    sums = [Fraction(1)] + [Fraction(0)] * reach
    for stop, count in cells:
        for _ in range(count):
            for drawn in range(reach, 0, -1):
                sums[drawn] += (1 - stop) * sums[drawn - 1]
    passed = [part / math.comb(size, drawn) for drawn, part in enumerate(sums)]
    return sum(
        ((passed[n - 1] - passed[n]) / (above + n) for n in range(1, reach + 1)), Fraction(0)
    )


STOPS = [
    ({1: 40, 0: 60}, 0, 20, 4),
    ({3: 50, 1: 40, 0: 90}, 0, 30, 4),
    ({4: 60, 3: 40, 2: 33}, 3, 60, 4),
    ({2: 33, 1: 40, 0: 70}, 2, 25, 30),  # a stop is so rare that 1 - stop loses digits
    ({1: 34, 0: 60}, 0, 40, 62),
]


@each(("counts", "above", "cutoff", "most"), STOPS)
def test_stop_in_a_long_tie_is_the_mean_over_its_orders(
    counts: dict[int, int], above: int, cutoff: int, most: int
) -> None:
    grades = np.repeat(list(counts), list(counts.values()))
    relevance = np.concatenate([np.zeros(above, dtype=int), grades])
    score = np.where(np.arange(len(relevance)) < above, 2.0, 1.0)
    name = f"err(max={most})@{cutoff}"
    found = se.RankingAccumulator(name).update(relevance[None], score[None]).compute()[name]
    cells = [(Fraction(2**grade - 1, 2**most), count) for grade, count in counts.items()]
    assert found == pytest.approx(float(expected_stop(cells, above, cutoff)), rel=1e-13)


def test_levels_below_a_long_tie_are_reached_as_often_as_it_is_passed() -> None:
    score = np.repeat([3.0, 2.0, 1.0], [40, 30, 200])
    relevance = np.repeat([2, 1, 3], [40, 30, 200])
    found = se.RankingAccumulator("err@75").update(relevance[None], score[None]).compute()
    value, going_on = Fraction(0), Fraction(1)
    for grade, count, above in ((2, 40, 0), (1, 30, 40), (3, 200, 70)):
        stop = Fraction(2**grade - 1, 16)
        value += going_on * expected_stop([(stop, count)], above, 75)
        going_on *= (1 - stop) ** count
    assert found["err@75"] == pytest.approx(float(value), rel=1e-13)


@each("ties", ["expected", "optimistic", "pessimistic"])
def test_everything_relevant_is_perfect_however_long_the_tie(ties: Any) -> None:
    acc = se.RankingAccumulator(("map", "ndcg", "mrr", "p@5", "rprec", "lrap"), ties=ties)
    relevance = np.repeat([1, 0], [3000, 0 if ties == "expected" else 50])
    found = acc.update(relevance[None], np.ones((1, len(relevance)))).compute()
    if ties == "pessimistic":
        assert found.mrr == 1 / 51
        return
    assert [float(found[name]) for name in ("map", "ndcg", "mrr", "rprec")] == [1.0] * 4


def test_unequal_gains_below_equal_ones_change_no_bit() -> None:
    def dcg(relevance: list[float], score: list[float]) -> float:
        acc = se.RankingAccumulator(("dcg@3",)).update([relevance], [score])
        return float(acc.compute()["dcg@3"])

    alone = dcg([0.1, 0.1, 0.1], [0.75, 0.75, 0.75])
    assert dcg([0.1, 0.1, 0.1, 0.2, 0.3], [0.75, 0.75, 0.75, 0.5, 0.5]) == alone


def test_queries_that_are_counted_together_are_those_of_each_alone() -> None:
    measures = ("map", "mrr@3", "hit@2", "hit@4", "all_hit@2", "bpref", "ndcg@3", "rbp(p=0.8)")
    random = np.random.default_rng(6)
    rows = {
        "relevance": random.integers(0, 3, 400),
        "score": random.integers(0, 3, 400),
        "query": random.integers(0, 50, 400),
    }
    together = se.RankingAccumulator(measures, per_query=True).update(rows).compute().per_query()
    for query in together["query"]:
        own = {name: column[rows["query"] == query] for name, column in rows.items()}
        alone = se.RankingAccumulator(measures, per_query=True).update(own).compute().per_query()
        for name in measures:
            assert together[name][together["query"] == query] == alone[name], (name, query)


@each("first", [1, ranks._KEPT_TABLE - 1, ranks._KEPT_TABLE, ranks._KEPT_TABLE + 1])
def test_discounts_and_powers_are_those_of_their_ranks(first: int) -> None:
    rank = np.array([1, 2, 3, first, ranks._KEPT_TABLE - 1])
    assert ranks.discounts(rank) == pytest.approx(1.0 / np.log2(rank + 1.0), rel=1e-14)
    assert ranks.powers(0.9999, rank) == pytest.approx(0.9999**rank, rel=1e-11)


ALL = (
    *("map", "map@10", "mrr", "mrr@1000", "ndcg", "ndcg@10", "dcg", "p@5", "r@2000000000", "lrap"),
    *("hit@10", "hit@2000000000", "judged@5", "rprec", "rbp(p=0.999999)", "bpref", "err@20"),
    *("err@1000", "err(max=62)@100", "set_f", "gm_map"),
)


@pytest.mark.slow
@pytest.mark.parametrize("relevance", [[1, 0], [3, 1], [1] + [0] * 200], ids=["half", "all", "few"])
@each("measure", ALL)
@each("ties", ["expected", "optimistic", "pessimistic"])
def test_query_doubled_by_merges_costs_little(relevance: Any, measure: str, ties: Any) -> None:
    size = len(relevance)
    acc = se.RankingAccumulator(measure, ties=ties)
    acc.update(relevance, np.ones(size), query=np.zeros(size, dtype=int), partial=True)
    for _ in range((2**24 // size).bit_length() - 1):
        acc.merge(acc)
    with pytest.raises(se.CountOverflowError, match="past 16777216"):
        acc.copy().merge(acc, acc)
    assert_cheap(lambda: se.from_bytes(acc.to_bytes()).close().compute().as_dict())


@pytest.mark.slow
@each("measure", ["map", "ndcg", "rbp(p=0.9)", "bpref", "lrap"])
def test_rows_that_are_not_kept_cost_little(measure: str) -> None:
    """What lies outside is one long level, in the worst case and in the best."""
    acc = se.RankingAccumulator(measure, rows_per_query=1)
    acc.update([1, 1, 0], [3.0, 2.0, 1.0], query=[0, 0, 0], partial=True)
    for _ in range(22):
        acc.merge(acc)
    assert_cheap(lambda: acc.close().compute().as_dict())


def test_many_relevant_documents_that_are_declared_cost_little() -> None:
    acc = se.RankingAccumulator("ndcg")
    assert_cheap(lambda: acc.update([[1]] * 30, [[1]] * 30, num_relevant=[2**24] * 30).compute())


def test_many_levels_take_memory_block_by_block() -> None:
    acc = se.RankingAccumulator("map", rows_per_query=10**6)
    acc.update(np.ones(2**13), np.arange(2.0**13), query=np.zeros(2**13, dtype=int), partial=True)
    for _ in range(8):
        acc.merge(acc)
    assert_cheap(lambda: acc.close().compute())
    assert acc.compute().map == 1.0


def assert_cheap(call: Any) -> None:
    """Bound the memory, and with it the length of any array, and the number of calls."""
    calls = itertools.count()
    tracemalloc.start()
    sys.setprofile(lambda *_: next(calls))
    try:
        call()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        sys.setprofile(None)
        tracemalloc.stop()
    assert peak < 24 * 2**20
    assert next(calls) < 200_000
