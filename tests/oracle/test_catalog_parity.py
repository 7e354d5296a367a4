"""Metrics of a catalog against their definitions and SciPy, item by item and row by row."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from offenders import each
from scipy import stats

import streameval as se

COMPARED = {"coverage", "gini", "entropy", "novelty", "average_popularity"}


def rows_of(seed: int) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    random = np.random.default_rng(seed)
    size = int(random.integers(1, 200))
    n_items = int(random.integers(1, 60))
    rows = {
        "item": random.integers(0, n_items, size) * 7 - 100,
        "rank": random.integers(1, 8, size),
        "popularity": 10.0 ** -random.uniform(0, random.choice([1, 12]), size),
    }
    if seed % 2:
        rows["sample_weight"] = random.integers(0, 4, size) / random.choice([1, 8])
    return {"n_items": n_items, "k": int(random.integers(1, 9)), "popularity": True}, rows


def exposures_of(options: dict[str, Any], rows: dict[str, np.ndarray]) -> list[Fraction]:
    """The exposures of all items of the catalog, with zeros."""
    found = dict.fromkeys((7 * item - 100 for item in range(options["n_items"])), Fraction(0))
    weights = rows.get("sample_weight", np.ones(len(rows["item"])))
    for item, rank, weight in zip(rows["item"], rows["rank"], weights, strict=True):
        if rank <= options["k"]:
            found[int(item)] += Fraction(float(weight))
    return list(found.values())


def gini(exposures: list[Fraction]) -> float:
    """Half of the mean difference of two items, over the mean; as RecBole's GiniIndex."""
    total, n = sum(exposures), len(exposures)
    if not total:
        return math.nan
    return float(sum(abs(a - b) for a in exposures for b in exposures) / (2 * n * total))


def recbole_gini(exposures: list[Fraction]) -> float:
    """``GiniIndex.get_gini`` of RecBole 1.2."""
    counts = np.array(sorted(float(one) for one in exposures if one))
    n_items, total = len(exposures), counts.sum()
    index = np.arange(n_items - len(counts) + 1, n_items + 1)
    return float(np.sum((2 * index - n_items - 1) * counts) / total / n_items)


def weighted_mean(values: np.ndarray, weights: np.ndarray) -> float:
    return math.fsum(values * weights) / math.fsum(weights) if weights.sum() else math.nan


@each("seed", range(200))
def test_metrics_are_those_of_the_definitions(seed: int) -> None:
    options, rows = rows_of(seed)
    result = se.CatalogAccumulator(**options).update(rows).compute()
    exposures = exposures_of(options, rows)
    counted = rows["rank"] <= options["k"]
    weights = rows.get("sample_weight", np.ones(len(counted)))[counted]
    popularity = rows["popularity"][counted]
    shown = [one for one in exposures if one]
    expected = {
        "coverage": len(shown) / options["n_items"],
        "gini": gini(exposures),
        "entropy": float(stats.entropy([float(one) for one in shown], base=2)) if shown else None,
        "novelty": weighted_mean(-np.log2(popularity), weights),
        "average_popularity": weighted_mean(popularity, weights),
    }
    assert expected.keys() == COMPARED
    for name, value in expected.items():
        wanted = math.nan if value is None else value
        assert result.value(name) == pytest.approx(wanted, rel=1e-12, abs=1e-12, nan_ok=True), name
    if shown:
        assert result.gini == pytest.approx(recbole_gini(exposures), rel=1e-12, abs=1e-12)
