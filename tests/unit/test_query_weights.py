"""Weights of queries: means are weighted, whole weights are repeats, and states merge exactly."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from offenders import each

import streameval as se

RELEVANCE = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]
SCORE = [[3, 2, 1]] * 4
RECIPROCAL = [1, Fraction(1, 2), Fraction(1, 3), 0]
IDS = ["a", "b", "c", "d"]


def counted(weights: Any, **options: Any) -> se.RankingAccumulator:
    """Four queries with reciprocal ranks of 1, 1/2 and 1/3, and nothing relevant."""
    acc = se.RankingAccumulator(["mrr", "p@1"], **options)
    return acc.update(RELEVANCE, SCORE, query=IDS, query_weight=weights)


def rows(weights: list[float]) -> dict[str, Any]:
    """The same queries row by row."""
    return {
        "relevance": np.ravel(RELEVANCE),
        "score": np.ravel(SCORE),
        "query": np.repeat(IDS, 3),
        "query_weight": np.repeat(weights, 3),
    }


def test_mean_is_weighted() -> None:
    weights = [0.5, 2, 0.25, 1.25]
    expected = sum(w * value for w, value in zip(weights, RECIPROCAL, strict=True)) / sum(weights)
    assert counted(weights).compute().mrr == pytest.approx(float(expected), abs=1e-15)


def test_whole_weights_are_repeats_to_the_byte() -> None:
    weights = [2, 1, 3, 4]
    repeated = se.RankingAccumulator(["mrr", "p@1"]).update(
        np.repeat(RELEVANCE, weights, axis=0), np.repeat(SCORE, weights, axis=0)
    )
    assert counted(weights).to_bytes() == repeated.to_bytes()
    assert counted(np.array(weights, dtype=float)).to_bytes() == repeated.to_bytes()


@each("options", [{}, {"per_query": True}])
def test_weights_of_1_leave_no_trace(options: dict[str, Any]) -> None:
    plain = se.RankingAccumulator(["mrr", "p@1"], **options).update(RELEVANCE, SCORE, query=IDS)
    assert counted([1.0] * 4, **options).to_bytes() == plain.to_bytes()


@each("options", [{}, {"per_query": True}])
def test_a_weight_of_0_leaves_the_query_out(options: dict[str, Any]) -> None:
    acc = se.RankingAccumulator(["mrr", "p@1"], **options)
    left = acc.update(RELEVANCE[1:], SCORE[1:], query=IDS[1:], query_weight=[2, 1, 0.5])
    assert counted([0, 2, 1, 0.5], **options).to_bytes() == left.to_bytes()
    assert counted([0] * 4, **options).to_bytes() == acc.reset().to_bytes()


@each("options", [{}, {"per_query": True}, {"track_queries": True}])
def test_every_way_to_pass_weights_gives_the_same_bytes(options: dict[str, Any]) -> None:
    weights = [0.5, 2, 0.25, 1]
    block = counted(weights, **options).to_bytes()
    mapping = dict(zip(IDS, weights, strict=True))
    assert counted(mapping, **options).to_bytes() == block
    acc = se.RankingAccumulator(["mrr", "p@1"], **options)
    assert acc.copy().update(rows(weights)).to_bytes() == block
    order = np.random.default_rng(0).permutation(12)
    shuffled = {name: column[order] for name, column in rows(weights).items()}
    workers = [acc.copy(), acc.copy()]
    for piece in range(12):
        batch = {name: column[piece : piece + 1] for name, column in shuffled.items()}
        workers[piece % 2].update(batch, partial=True)
    assert se.merge(workers).close().to_bytes() == block


def test_open_queries_keep_their_weights_in_bytes() -> None:
    acc = se.RankingAccumulator("mrr").update(rows([0.5, 2, 1, 3]), partial=True)
    back = se.from_bytes(acc.to_bytes())
    assert back == acc
    assert back.close(["b"]).compute().n_queries == 2


def test_weights_of_a_run_reach_missing_queries_too() -> None:
    run = {"a": {"d": 1.0, "e": 0.5}, "b": {"d": 1.0, "e": 0.5}}
    qrels = {"a": {"d": 1}, "b": {"e": 1}, "c": {"d": 1}, "d": {"d": 1}}
    weights = {"a": 1, "b": 2, "c": 0.5, "d": 0}
    acc = se.RankingAccumulator("mrr", per_query=True)
    result = acc.update_run(run, qrels, query_weight=weights).compute()
    assert (result.n_queries, result.n_missing) == (3, 0.5)
    assert result.mrr == (1 + 2 * 0.5) / 3.5


def test_missing_queries_take_weights_in_the_order_given() -> None:
    acc = se.RankingAccumulator("mrr", per_query=True)
    given = acc.copy().add_missing(["z", "y", "x"], query_weight=[3, 0, 2.5])
    columns = given.compute().per_query()
    assert columns["query"].tolist() == ["x", "z"]
    assert columns["query_weight"].tolist() == [2.5, 3]
    assert acc.copy().add_missing([], query_weight=[]) == acc
    named = acc.copy().add_missing(["x", "z"], query_weight={"z": 3, "x": 2.5})
    assert given.to_bytes() == named.to_bytes()


def test_numbers_of_queries_are_sums_of_weights() -> None:
    result = counted([0.5, 2, 0.25, 1.5]).compute()
    assert (result.n_queries, result.n_empty) == (4.25, 1.5)
    assert result.empty == {"mrr": 1.5, "p@1": 1.5}
    whole = counted([1, 2, 3, 4]).compute()
    assert repr(whole.n_queries) == "10"


def test_policies_of_empty_queries_are_weighted() -> None:
    acc = counted([1, 1, 1, 5])
    assert acc.compute(empty="skip").mrr == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    assert acc.compute(empty="one").mrr == pytest.approx((1 + 1 / 2 + 1 / 3 + 5) / 8)


def test_intervals_take_whole_weights_as_repeats() -> None:
    weights = [2, 1, 3, 4]
    repeated = se.RankingAccumulator(["mrr", "p@1"]).update(
        np.repeat(RELEVANCE, weights, axis=0), np.repeat(SCORE, weights, axis=0)
    )
    result = counted(weights, per_query=True).compute()
    assert result.confidence("mrr") == repeated.compute().confidence("mrr")
    assert result.stderr == repeated.compute().stderr


def test_fractional_weights_have_no_interval_and_say_why() -> None:
    result = counted([0.5, 1, 1, 1]).compute()
    assert result.read("mrr").sampling is None
    assert result.read("mrr").why_none == "weights had fractions"
    with pytest.raises(se.InvalidInputError, match="`query_weight` had fractions"):
        _ = result.stderr
    with pytest.raises(se.InvalidInputError, match="`query_weight` had fractions"):
        result.statistic("mrr")
    assert "mrr" in result.report()


def test_values_of_queries_stand_beside_their_weights() -> None:
    columns = counted([0.5, 2, 0.25, 1], per_query=True).compute().per_query()
    assert list(columns) == ["query", "query_weight", "mrr", "p@1"]
    assert columns["query_weight"].tolist() == [0.5, 2, 0.25, 1]


@each("q", [0, 0.1, 0.25, 0.5, 0.9, 1])
def test_quantile_of_whole_weights_is_that_of_repeats(q: float) -> None:
    weights = [2, 1, 3, 4]
    values = np.repeat([1, 1 / 2, 1 / 3, 0], weights)
    assert counted(weights, per_query=True).compute().quantile("mrr", q) == np.quantile(values, q)


def test_quantile_of_fractional_weights_is_where_the_share_is_reached() -> None:
    result = counted([0.5, 2, 0.25, 1.25], per_query=True).compute()
    # 0 of 1.25, 1/3 of 0.25, 1/2 of 2, 1 of 0.5: half of 4 is reached at 1/2
    assert result.quantile("mrr") == 0.5
    assert result.quantile("mrr", 0) == 0.0
    assert result.quantile("mrr", 1) == 1.0
    assert result.quantile("mrr", 0.3125) == (0 + 1 / 3) / 2


def test_weights_are_sliced_with_their_queries() -> None:
    acc = se.Sliced(se.RankingAccumulator("mrr"), "kind")
    acc.update(
        {
            "kind": ["x", "y", "x", "y"],
            "relevance": RELEVANCE,
            "score": SCORE,
            "query_weight": [1, 2.5, 3, 1],
        }
    )
    back = se.from_bytes(acc.to_bytes())
    assert back == acc
    assert back["x"].compute().mrr == pytest.approx((1 + 3 / 3) / 4)
    assert back["y"].compute().n_queries == 3.5


def test_weights_that_pass_the_largest_total_are_refused() -> None:
    acc = se.RankingAccumulator("mrr").update([[1]], [[1]], query_weight=[2**62])
    before = acc.to_bytes()
    with pytest.raises(se.CountOverflowError):
        acc.update([[1]], [[1]], query_weight=[2**62 + 2**61])
    assert acc.to_bytes() == before
    assert math.isclose(acc.compute().mrr, 1.0)


@pytest.mark.slow
@each("weights", [[3, 2, 5, 1], [0.5, 2, 0.25, 1], [0, 2, 0, 3], [0] * 4])
@each("is_block", [False, True])
def test_panes_and_slices_weigh_queries(weights: list[float], is_block: bool) -> None:
    batch = rows(weights)
    if is_block:
        batch = {"relevance": RELEVANCE, "score": SCORE, "query_weight": weights}
    repeats = 1 if is_block else 3
    times, values = np.repeat([0, 1, 1, 2], repeats), np.repeat(list("xxyy"), repeats)
    ranking = se.RankingAccumulator(["map", "mrr"])
    expected = ranking.copy().update(batch)
    outer: list[se.Windowed | se.Sliced] = [
        se.Windowed(ranking, pane=1),
        se.Windowed(se.Sliced(ranking, "value"), pane=1),
        se.Sliced(ranking, "value"),
    ]
    for acc in outer:
        acc.update(batch | {"time": times, "value": values})
        assert se.from_bytes(acc.to_bytes()) == acc
        assert acc.n == sum(weights)
        if isinstance(acc, se.Windowed):
            assert acc.n_rows() == sum(weights)
        else:
            assert acc.total() == expected


@each(
    ("given", "n_rows"),
    [({}, 12 + 2), ({"sample_weight": np.full(12, 5)}, 5 * 12), ({"query_weight": None}, 12)],
)
def test_panes_take_the_larger_weight_of_rows_and_queries(given: Any, n_rows: int) -> None:
    members: dict[str, Any] = {
        "ranking": se.RankingAccumulator("mrr"),
        "labels": se.ConfusionAccumulator(),
    }
    labels = {"y_true": [0, 1] * 6, "y_pred": [1, 1] * 6, "time": np.arange(12) // 3}
    batch = rows([0, 5 / 3, 1, 0.5]) | labels | given
    batch = {name: column for name, column in batch.items() if column is not None}
    acc = se.Windowed(se.Collection(members), pane=1).update(batch)
    assert se.from_bytes(acc.to_bytes()) == acc
    assert acc.n_rows() == pytest.approx(n_rows)


def test_panes_count_the_queries_of_each_member() -> None:
    members = {"a": se.RankingAccumulator("mrr"), "b": se.RankingAccumulator("mrr")}
    both = se.Collection(members, columns={"b": {"query": "session"}})
    batch = {"relevance": [1, 0, 1], "score": [3, 2, 1], "query": [1, 2, 3], "session": [1, 1, 1]}
    acc = se.Windowed(both, pane=1).update(batch | {"time": [0, 0, 0]})
    assert se.from_bytes(acc.to_bytes()) == acc
    assert acc.n_rows() == 3


@each("name", ["a", "b"])
def test_a_comparison_refuses_weights_that_it_would_ignore(name: str) -> None:
    given = {"a": [1, 1, 1, 1], "b": [1, 1, 1, 1], name: [1, 2, 1, 1]}
    a, b = (counted(weights, per_query=True).compute() for weights in given.values())
    with pytest.raises(se.InvalidInputError, match=f"^`{name}` has queries of weights other"):
        se.compare(a, b)


@each(
    "bring",
    [
        lambda acc: acc.merge(acc),
        lambda acc: acc + acc,
        lambda acc: acc.update([[1, 0]], [[2, 1]], query=[2], query_weight=[2**62]),
        lambda acc: acc.update([[1, 0]], [[2, 1]], query_weight=[2.0**63]),
        lambda acc: acc.update([[1, 0]] * 2, [[2, 1]] * 2, query_weight=[2**62, 2**62]),
        lambda acc: acc.update([[1]], [[1]], query_weight=np.array([2**63], dtype=np.uint64)),
        lambda acc: acc.add_missing([5, 6], query_weight=[2**62, 2**62]),
        lambda acc: acc.update([1], [1], query=[7], query_weight=[2**62], partial=True).close(),
    ],
)
def test_total_that_is_too_large_names_the_weights_of_queries(bring: Callable[[Any], Any]) -> None:
    acc = se.RankingAccumulator("map").update([[1, 0]], [[2, 1]], query_weight=[2**62])
    with pytest.raises(se.CountOverflowError, match=r"^`query_weight` would bring the total past"):
        bring(acc)
