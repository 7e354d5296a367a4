"""The areas of many curves at once, which are those of each alone, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from offenders import each

import streameval as se
from streameval.exact.fixed_point import FixedPoint
from streameval.metrics.curves import area_of
from streameval.metrics.delong import note_areas, variance_of
from streameval.metrics.points import CellTable
from streameval.results.names import parse_metric
from streameval.states.cells import Cells

SEED = 7


def table(pos: Any, neg: Any) -> CellTable:
    keys = np.arange(1, 1 + len(pos), dtype=np.uint64)
    positives, negatives = (FixedPoint(np.array(part, dtype=np.int64)) for part in (pos, neg))
    return CellTable(Cells(keys, keys, positives, negatives), "real")


def random_table(size: int, most: int) -> CellTable:
    random = np.random.default_rng([SEED, size, most])
    pos, neg = random.integers(0, most, (2, size))
    return table(pos + (pos + neg == 0), neg)


def huge(size: int) -> tuple[list[int], list[int]]:
    """Return counts of cells, the lowest two of which are lost in rounding."""
    pos, neg = np.random.default_rng([SEED, size]).integers(1, 2**57, (2, size)).tolist()
    return [1, 1, *pos], [1, 1, *neg]


TABLES = {
    **{f"{size} cells of up to {most}": (size, most) for size in (5, 9, 130, 1024)
       for most in (2, 50, 2**44)},
    **{f"{size} cells of up to 2**57": huge(size) for size in (15, 23, 31, 47)},
    "perfect": ([0, 0, 3], [2, 1, 0]),
    "one score": ([3], [4]),
}  # fmt: skip
ALONE = {
    "many cells": (1025, 3),
    "no positive": ([0, 0], [1, 4]),
    "one negative": ([1, 3], [0, 1]),
    "no cells": ([], []),
}


def made(given: Any) -> CellTable:
    return random_table(*given) if isinstance(given[0], int) else table(*given)


def bits(one: CellTable) -> list[str]:
    return [area_of(one).hex(), variance_of(one).hex()]


def test_areas_at_once_have_the_bits_of_each_alone() -> None:
    together = [made(given) for given in (TABLES | ALONE).values()]
    note_areas(together * 20)
    for held, given in zip(together, (TABLES | ALONE).values(), strict=True):
        assert bits(held) == bits(made(given))


@each("name", [*TABLES, *ALONE])
def test_areas_are_noted_where_that_is_faster_and_both_are_defined(name: str) -> None:
    one = made((TABLES | ALONE)[name])
    note_areas([one, table([1, 1], [2, 1])])
    assert bool(one.areas) is (name in TABLES)


@each(
    "options",
    [{"budget": 4}, {"weights": np.tile([0.5, 1.5], 20)}, {}],
)
def test_areas_of_other_tables_are_left_to_each_alone(options: dict[str, Any]) -> None:
    scores = np.linspace(0.0, 1.0, 40)
    sketch = se.PRCurveSketch(options.get("budget")).update(
        scores > 0.4, scores[::-1], sample_weight=options.get("weights")
    )
    curve: Any = sketch.compute()
    note_areas([curve._table])
    assert not curve._table.areas


@each(("metric", "is_noted"), [("gini", True), ("brier", False)])
def test_curves_prepare_the_areas_that_metrics_need(metric: str, is_noted: bool) -> None:
    sketch = se.PRCurveSketch().update([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4])
    curves: Any = [(sketch + sketch).compute()]
    curves[0]._prepare(curves, [parse_metric(metric)])
    assert bool(curves[0]._table.areas) is is_noted


def test_area_is_read_even_if_another_thread_replaces_what_is_noted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """From Python 3.12 on, two threads may both make a cached property, and one of them is kept."""
    made = table([0, 3, 0, 4], [2, 0, 5, 0])
    expected = area_of(made), variance_of(made)
    monkeypatch.setattr(CellTable, "areas", property(lambda table: {}))
    assert (area_of(made), variance_of(made)) == expected


def test_a_table_is_equal_to_tables_of_its_cells_alone() -> None:
    assert table([1, 0], [2, 3]) == table([1, 0], [2, 3])
    assert table([1, 0], [2, 3]) != table([1, 0], [2, 4])
    assert table([1, 0], [2, 3]) != [[1, 0], [2, 3]]
