"""Quantiles over queries that are not kept: exact while they fit the budget, bounded beyond."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from offenders import each
from profiles import quick_cases

import streameval as se

SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
MEASURES = ("map", "mrr", "dcg@3", "gm_map", "p@2")
QUANTILES = tuple(f"{name}[q={q}]" for name in MEASURES for q in SHARES)


def batch(seed: int, queries: int = 60, **more: Any) -> dict[str, Any]:
    """Random queries, a few of them with nothing relevant."""
    random = np.random.default_rng(seed)
    return {
        "relevance": random.integers(0, 3, (queries, 7)) * (random.random((queries, 1)) < 0.9),
        "score": random.random((queries, 7)).round(1),
        "query": np.arange(queries) + 1000 * seed,
        **more,
    }


def sketched(budget: int | None = 65_536, **options: Any) -> se.RankingAccumulator:
    return se.RankingAccumulator(QUANTILES, budget=budget, **options)


@each("empty", ["zero", "one", "skip"])
def test_quantile_is_that_of_the_kept_queries_while_it_fits(empty: str) -> None:
    kept = se.RankingAccumulator(MEASURES, per_query=True).update(batch(1)).add_missing([-1, -2])
    result = sketched().update(batch(1)).add_missing([-1, -2]).compute(empty=empty)
    expected = kept.compute(empty=empty)
    for name, q in itertools.product(MEASURES, SHARES):
        found = result.quantile(name, q)
        assert found.exact
        assert found == expected.quantile(name, q)
        assert found == result[f"{name}[q={q}]"]


@pytest.mark.slow
@each("budget", [1, 2, 3, 5, 8])
@each("weights", [None, [1, 2, 5], [0.5, 1, 2.25]])
def test_quantile_lies_within_its_bounds_past_the_budget(budget: int, weights: Any) -> None:
    for seed in range(quick_cases(6, least=2)):
        rows = batch(seed)
        if weights is not None:
            rows["query_weight"] = np.random.default_rng(seed).choice(weights, 60)
        kept = se.RankingAccumulator(MEASURES, per_query=True).update(rows).compute()
        result = sketched(budget).update(rows).compute()
        for name, q in itertools.product(MEASURES, SHARES):
            exact, found = kept.quantile(name, q), result.quantile(name, q)
            assert found.low <= exact <= found.high
        assert not result.exact


@each("weights", [None, [1, 2, 5], [0.5, 1, 2.25], [2.0**-62, 0.5]])
def test_min_and_max_are_exact_past_the_budget(weights: Any) -> None:
    rows = batch(3)
    if weights is not None:
        rows["query_weight"] = np.random.default_rng(3).choice(weights, 60)
    kept = se.RankingAccumulator(MEASURES, per_query=True).update(rows).compute()
    found = sketched(1).update(rows).compute()
    for name in MEASURES:
        for q in (0, 1):
            assert found.quantile(name, q).exact
            assert found.quantile(name, q) == kept.quantile(name, q)
    assert not found["map[median]"].exact


@each("budget", [4, 65_536])
def test_any_cut_and_tree_gives_the_same_bytes(budget: int) -> None:
    rows = batch(5, query_weight=np.random.default_rng(5).choice([0.5, 1, 2], 60))
    whole = sketched(budget).update(rows)
    parts = []
    for start in range(0, 60, 7):
        part = {name: column[start : start + 7] for name, column in rows.items()}
        parts.append(sketched(budget).update(part))
    assert se.merge(reversed(parts)).to_bytes() == whole.to_bytes()
    assert se.from_bytes(whole.to_bytes()) == whole
    steps = sketched(budget)
    for start in range(0, 60, 7):
        steps.update({name: column[start : start + 7] for name, column in rows.items()})
    assert steps.to_bytes() == whole.to_bytes()


def test_values_with_bounds_give_quantiles_with_bounds() -> None:
    rows = {
        name: np.repeat(np.arange(20), 40) if name == "query" else column
        for name, column in {
            "query": None,
            "relevance": np.random.default_rng(0).integers(0, 2, 800),
            "score": np.random.default_rng(1).random(800),
        }.items()
    }
    names = ["map[median]", "map[q=0.9]", "mrr[min]", "p@2[median]"]
    few, every = (
        se.RankingAccumulator(names, rows_per_query=size).update(rows, partial=True).close()
        for size in (5, 1000)
    )
    found, exact = few.compute(), every.compute()
    for name in names:
        assert found[name].low <= exact[name] <= found[name].high
        assert exact[name].exact
    assert not found["map[median]"].exact
    assert found["p@2[median]"].exact
    assert se.from_bytes(few.to_bytes()) == few


def test_names_of_quantiles_have_one_canonical_form() -> None:
    acc = se.RankingAccumulator(["AP[ q = 0.50 ]", "RR@10[MIN]", "p@5", "map[q=1]"])
    assert acc.options["measures"] == ("map[median]", "mrr@10[min]", "p@5", "map[max]")
    means = ["p@5", "map", "mrr@10"]
    assert list(acc.compute()) == [*means, "map[median]", "mrr@10[min]", "map[max]"]
    assert type(acc)(**acc.options) == acc


def test_measures_of_presets_take_quantiles() -> None:
    acc = se.RankingAccumulator.like("trec_eval", ["rbp[median]", "official"])
    assert acc.options["measures"][0] == "rbp(p=0.9)[median]"
    assert se.RankingAccumulator.like("sklearn", ["lrap[min]"]).options["empty"] == "one"


def test_bytes_without_quantiles_name_none() -> None:
    plain = se.RankingAccumulator("map").update([[1]], [[1]])
    assert b"sketch" not in plain.to_bytes()
    assert b"budget" not in plain.to_bytes()


def test_accumulators_of_other_quantiles_do_not_merge() -> None:
    one = se.RankingAccumulator("map[median]")
    with pytest.raises(se.IncompatibleStateError, match="`measures` differs"):
        one.merge(se.RankingAccumulator("map"))


@each("text", ["map[mean]", "map[q=2]", "map[q=nan]", "map[0.5]", "map[q=]"])
def test_a_quantile_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(se.InvalidInputError, match="`measures` needs min, median, max or a share"):
        se.RankingAccumulator(text)


def test_a_budget_without_quantiles_is_refused() -> None:
    with pytest.raises(se.InvalidInputError, match=r"^`budget` is for quantiles over queries"):
        se.RankingAccumulator("map", budget=10)


def test_a_quantile_is_read_by_its_name_everywhere() -> None:
    result = se.RankingAccumulator(["mrr", "mrr[median]"]).update([[1, 0]] * 3, [[2, 1]] * 3)
    result = result.compute()
    assert list(result) == ["mrr", "mrr[median]"]
    assert result.read("RR[q=0.5]").value == 1.0
    assert result.read("mrr[max]").value == 1.0  # the sketch has every quantile
    assert result.read("mrr[median]").sampling is None
    with pytest.raises(se.InvalidInputError, match="These have one: mrr"):
        result.confidence("mrr[median]")
    assert "mrr[median]" in result.report()
    assert result.stderr.keys() == {"mrr"}
    assert result.empty == {"mrr": 0}


@each("name", ["map[median]", "mrr[mean]", "map"])
def test_a_quantile_of_a_measure_without_is_not_found(name: str) -> None:
    result = se.RankingAccumulator("mrr[median]").compute()
    with pytest.raises(KeyError):
        result[name]
    assert name not in result


def test_a_quantile_that_nothing_keeps_is_not_found() -> None:
    with pytest.raises(KeyError, match="is not among the measures mrr"):
        se.RankingAccumulator("mrr").compute()["mrr[median]"]


def test_quantile_is_undefined_where_the_mean_is() -> None:
    acc = se.RankingAccumulator("map[median]", empty="nan").update([[0]], [[1]])
    assert math.isnan(acc.compute()["map[median]"])
    assert math.isnan(se.RankingAccumulator("map[median]").compute()["map[median]"])


def test_a_quantile_has_no_evidence() -> None:
    result = se.RankingAccumulator("map[median]").update([[1]], [[1]]).compute()
    with pytest.raises(se.InvalidInputError, match="a quantile is not a mean over queries"):
        result.statistic("map[median]")
