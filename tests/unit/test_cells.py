"""Cells: the same ones by sorting, by a table, in any order and cut, and at the least level."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from offenders import each
from small_states import parse_words

import streameval as se
from streameval.accumulators import curve
from streameval.exact import Scale
from streameval.exact.fixed_point import FixedPoint
from streameval.exact.score_keys import keys_of, scores_of
from streameval.states import cells as cells_module
from streameval.states.cells import Cells

Row = tuple[int, int, bool, Fraction]
"""Group, key, class and weight."""

KEYS = st.integers(0, 2**62) | st.integers(0, 40) | st.sampled_from([2**62, 2**52, 2**52 - 1])


def slow_cells(rows: list[Row], level: int) -> list[tuple[int, int, int, Fraction, Fraction]]:
    """Group, ends and weights of every cell, row by row."""
    cells: dict[tuple[int, int], list[Any]] = {}
    for group, key, positive, weight in rows:
        cell = cells.setdefault((group, key >> level), [key, key, Fraction(0), Fraction(0)])
        cell[:2] = min(cell[0], key), max(cell[1], key)
        cell[2 if positive else 3] += weight
    return [(group, *cell) for (group, _), cell in sorted(cells.items())]  # type: ignore[misc]


def slow_level(rows: list[Row], budget: int) -> int:
    return next(level for level in range(65) if len(slow_cells(rows, level)) <= budget)


def groups_of(cells: Cells) -> Any:
    return np.zeros(len(cells), dtype=int) if cells.group is None else cells.group


def listed(cells: Cells) -> list[tuple[int, int, int, Fraction, Fraction]]:
    group = groups_of(cells).tolist()
    pos, neg = (
        [Fraction(units) * part.unit for units in part.units()] for part in (cells.pos, cells.neg)
    )
    return list(zip(group, cells.lo.tolist(), cells.hi.tolist(), pos, neg, strict=True))


def is_same(one: Cells, other: Cells) -> bool:
    """Tell whether cells are equal to the bit, fractions or none included."""
    assert one.lo.dtype == other.lo.dtype == one.hi.dtype == other.hi.dtype == np.uint64
    keys = (groups_of, lambda cells: cells.lo, lambda cells: cells.hi)
    has_same_keys = all(np.array_equal(key(one), key(other)) for key in keys)
    return has_same_keys and one.pos == other.pos and one.neg == other.neg


def columns(rows: list[Row]) -> tuple[Any, Any, FixedPoint]:
    keys = np.array([row[1] for row in rows], dtype=np.uint64)
    positive = np.array([row[2] for row in rows], dtype=bool)
    weights = FixedPoint.of_floats(np.array([float(row[3]) for row in rows]), name="x")
    return keys, positive, weights


@st.composite
def rows_of(draw: st.DrawFn, *, groups: int = 1, least: int = 0) -> list[Row]:
    size = draw(st.integers(least, 40))
    quarters = draw(st.sampled_from([[4], [4, 8, 12], [1, 3, 4, 6]]))
    return [
        (
            draw(st.integers(0, groups - 1)),
            draw(KEYS),
            draw(st.booleans()),
            Fraction(draw(st.sampled_from(quarters)), 4),
        )
        for _ in range(size)
    ]


@given(rows_of(), st.integers(0, 64))
def test_rows_are_counted_as_one_by_one(rows: list[Row], level: int) -> None:
    assert listed(Cells.of_rows(*columns(rows), level)) == slow_cells(rows, level)


@given(rows_of(groups=3), st.integers(0, 64))
def test_rows_of_groups_are_counted_as_one_by_one(rows: list[Row], level: int) -> None:
    groups = np.array([row[0] for row in rows], dtype=np.int64)
    assert listed(Cells.of_rows(*columns(rows), level, groups)) == slow_cells(rows, level)


@given(rows_of(), st.integers(0, 64))
def test_rows_without_weights_are_counted_as_of_weight_1(rows: list[Row], level: int) -> None:
    keys, positive, _ = columns(rows)
    ones = FixedPoint(np.ones(len(rows), dtype=np.int64))
    plain = Cells.of_rows(keys, positive, None, level)
    assert is_same(plain, Cells.of_rows(keys, positive, ones, level))


@given(rows_of(groups=3), st.integers(0, 40), st.integers(0, 64), st.integers(0, 64))
def test_parts_are_joined_to_the_cells_of_all(
    rows: list[Row], cut: int, level: int, lower: int
) -> None:
    level, lower = max(level, lower), min(level, lower)
    groups = np.array([row[0] for row in rows], dtype=np.int64)
    keys, positive, weights = columns(rows)
    one, other = (
        Cells.of_rows(keys[part], positive[part], weights.select(part), lower, groups[part])
        for part in (np.arange(len(rows)) < cut, np.arange(len(rows)) >= cut)
    )
    assert listed(one.joined(other, level)) == slow_cells(rows, level)
    assert is_same(one.joined(other, level), other.joined(one, level))


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a few cells be several pieces of work."""
    monkeypatch.setattr(cells_module, "_CHUNK", 3)


@pytest.mark.usefixtures("small_chunks")
@given(rows_of(), st.integers(0, 64), st.sampled_from([0, 1, 2**63]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_are_counted_as_one_by_one_in_pieces(rows: list[Row], level: int, base: int) -> None:
    """Bases put keys next to 2**63 and around it, where the labels would not fit beside them."""
    ones = [(0, (key + base) % 2**64, positive, Fraction(1)) for _, key, positive, _ in rows]
    keys, positive, _ = columns(ones)
    assert listed(Cells.of_rows(keys, positive, None, level)) == slow_cells(ones, level)


@pytest.mark.usefixtures("small_chunks")
@given(rows_of(), st.integers(0, 40), st.integers(0, 64), st.integers(0, 64))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_parts_are_joined_in_pieces_to_the_cells_of_all(
    rows: list[Row], cut: int, level: int, lower: int
) -> None:
    level, lower = max(level, lower), min(level, lower)
    keys, positive, weights = columns(rows)
    one, other = (
        Cells.of_rows(keys[part], positive[part], weights.select(part), lower)
        for part in (np.arange(len(rows)) < cut, np.arange(len(rows)) >= cut)
    )
    assert listed(one.joined(other, level)) == slow_cells(rows, level)
    assert is_same(one.joined(other, level), other.joined(one, level))


@given(rows_of(), st.integers(1, 12), st.integers(0, 64))
def test_fitted_level_is_the_least_that_fits(rows: list[Row], budget: int, start: int) -> None:
    start = min(start, slow_level(rows, budget))
    level, cells = Cells.of_rows(*columns(rows), start).fitted(budget, start)
    if len(slow_cells(rows, start)) <= budget:
        assert level == start
    else:
        assert level == slow_level(rows, budget)
    assert listed(cells) == slow_cells(rows, level)


@given(rows_of(groups=4), st.integers(4, 12))
def test_fitted_level_of_groups_is_the_least_that_fits(rows: list[Row], budget: int) -> None:
    groups = np.unique([row[0] for row in rows], return_inverse=True)[1]
    level, cells = Cells.of_rows(*columns(rows), 0, groups).fitted(budget, 0)
    assert level == slow_level(rows, budget)
    assert len(cells) == len(slow_cells(rows, level))


def test_fitted_level_of_one_cell_is_that_of_the_highest_bit_that_differs() -> None:
    for place in range(64):
        keys = np.array([0, 2**place], dtype=np.uint64)
        cells = Cells.of_rows(keys, np.array([True, False]), None, 0)
        assert cells.fitted(1, 0)[0] == place + 1


def test_cells_are_not_merged_without_a_budget() -> None:
    cells = Cells.of_rows(np.arange(100, dtype=np.uint64), np.ones(100, dtype=bool), None, 0)
    assert cells.fitted(None, 0) == (0, cells)


NEAR_KEYS = st.lists(st.tuples(st.integers(0, 60), st.booleans()), max_size=30)
BUDGETS = st.none() | st.integers(1, 20)


@given(NEAR_KEYS, NEAR_KEYS, st.integers(0, 5), BUDGETS, st.sampled_from([1, 2**40]))
def test_joining_within_a_budget_is_joining_and_fitting(
    one: list[tuple[int, bool]],
    other: list[tuple[int, bool]],
    start: int,
    budget: int | None,
    apart: int,
) -> None:
    lists = []
    for rows in (one, other):
        keys = np.array([key for key, _ in rows], dtype=np.uint64) * np.uint64(apart)
        lists.append(Cells.of_rows(keys, np.array([p for _, p in rows], dtype=bool), None, start))
    level, cells = lists[0].joined_within(lists[1], start, budget)
    expected_level, expected = lists[0].joined(lists[1], start).fitted(budget, start)
    assert level == expected_level
    assert is_same(cells, expected)


@given(rows_of(), st.integers(0, 40), st.integers(0, 64), BUDGETS)
def test_weighted_cells_join_within_a_budget(
    rows: list[Row], cut: int, start: int, budget: int | None
) -> None:
    keys, positive, weights = columns(rows)
    one, other = (
        Cells.of_rows(keys[part], positive[part], weights.select(part), start)
        for part in (np.arange(len(rows)) < cut, np.arange(len(rows)) >= cut)
    )
    level, cells = one.joined_within(other, start, budget)
    expected_level, expected = one.joined(other, start).fitted(budget, start)
    assert level == expected_level
    assert is_same(cells, expected)


@given(rows_of(least=1), st.integers(1, 64))
def test_cells_one_level_below_are_counted_from_their_ends(rows: list[Row], level: int) -> None:
    cells = Cells.of_rows(*columns(rows), level)
    assert cells.n_cells_at(level - 1) == len(slow_cells(rows, level - 1))


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the tables of prefixes that were made."""
    made: list[int] = []
    tabulated = Cells._tabulated

    def noted(self: Cells, *arguments: Any) -> Cells:
        made.append(arguments[-1].size)
        return tabulated(self, *arguments)

    monkeypatch.setattr(Cells, "_tabulated", noted)
    return made


def random_rows(
    seed: int, size: int, *, quarters: bool = False
) -> tuple[Any, Any, FixedPoint | None]:
    random = np.random.default_rng(seed)
    scores = np.where(random.random(size) < 0.5, random.beta(2, 3, size), 0.25)
    weights = random.integers(1, 9, size) / 4 if quarters else None
    return (
        keys_of(scores, "probability"),
        random.random(size) < scores,
        None if weights is None else FixedPoint.of_floats(weights, name="x"),
    )


def scored_as(keys: Any) -> tuple[Any, Scale]:
    """Give scores that have these keys."""
    return scores_of(keys, "probability"), "probability"


EARLIER = {
    "nothing": lambda level: Cells.none(),
    "whole weights": lambda level: Cells.of_rows(*random_rows(1, 50), level),
    "weights with fractions": lambda level: Cells.of_rows(
        *random_rows(2, 50, quarters=True), level
    ),
    "fractions of positives alone": lambda level: Cells.of_rows(
        keys_of(np.array([0.1, 0.9]), "probability"),
        np.array([True, False]),
        FixedPoint.of_floats(np.array([0.5, 1.0]), name="x"),
        level,
    ),
    "cells below all": lambda level: Cells.of_rows(
        np.array([2**50], dtype=np.uint64), np.array([True]), None, level
    ),
    "cells above all": lambda level: Cells.of_rows(
        keys_of(np.array([1 - 1e-12]), "probability"), np.array([False]), None, level
    ),
}


@pytest.mark.slow
@each("earlier", EARLIER)
@each("level", [48, 50, 52, 53, 55, 60, 62, 63, 64])
def test_table_gives_the_cells_of_sorting(earlier: str, level: int, tables: list[int]) -> None:
    tables.clear()
    cells = EARLIER[earlier](level)
    keys, positive, _ = random_rows(3, 100_000)
    sorted_ones = cells.joined(Cells.of_rows(keys, positive, None, level), level)
    assert is_same(cells.with_rows(*scored_as(keys), positive, None, level), sorted_ones)
    assert len(tables) == 1


def test_table_is_made_from_a_quarter_of_a_row_a_prefix_on(tables: list[int]) -> None:
    cells, level = Cells.none(), 3
    for n_rows in (9, 10):
        keys = np.append(np.arange(n_rows - 1), 39).astype(np.uint64) << np.uint64(level)
        cells.with_rows(*scored_as(keys), np.ones(n_rows, dtype=bool), None, level)
    assert tables == [40]


def test_table_is_not_made_for_weights_nor_at_level_0_nor_of_nothing(tables: list[int]) -> None:
    keys, positive, weights = random_rows(4, 1000, quarters=True)
    cells = Cells.none()
    scores, scale = scored_as(keys)
    assert len(cells.with_rows(scores, scale, positive, weights, 60)) == len(
        cells.with_rows(scores, scale, positive, None, 60)
    )
    assert len(tables) == 1
    cells.with_rows(scores[:9], scale, positive[:9], None, 0)
    assert len(cells.with_rows(scores[:0], scale, positive[:0], None, 60)) == 0
    assert len(tables) == 1


ORDERS = {
    "random": lambda scores, random: scores,
    "sorted": lambda scores, random: np.sort(scores),
    "repeated": lambda scores, random: scores[random.integers(0, 3000, len(scores))],
    "some zeros": lambda scores, random: np.where(random.random(len(scores)) < 0.1, 0, scores),
    "two places": lambda scores, random: np.where(scores < 0.1, scores * 1e-20, scores),
}


@pytest.mark.slow
@each("earlier", ["nothing", "whole weights"])
@each("budget", [None, 60, 4000, 20_000])
@each("order", ORDERS)
@pytest.mark.parametrize("scale", ["probability", "real"])
def test_level_is_found_by_a_table_as_by_sorting(
    scale: Scale, order: str, budget: int | None, earlier: str, tables: list[int]
) -> None:
    random = np.random.default_rng(5)
    scores = random.random(40_000).astype(np.float32) - (0 if scale == "probability" else 0.5)
    positive = random.random(len(scores)) < scores
    scores = ORDERS[order](scores, random)
    first = EARLIER[earlier](0)
    tables.clear()
    level, cells = first.with_rows_within(scores, scale, positive, None, 0, budget)
    n_tables = len(tables)
    keys = keys_of(scores, scale)
    whole = first.joined(Cells.of_rows(keys, positive, None, 0), 0)
    expected_level, expected = whole.fitted(budget, 0)
    assert level == expected_level
    assert is_same(cells, expected)
    if budget is None or len(whole) <= budget or order == "repeated":
        assert n_tables == 0
    elif budget <= 4000 and scale == "probability":
        assert n_tables == 1


SCORES = st.sampled_from([0.0, 5e-324, 1e-300, 0.1, 0.25, 0.5, 0.75, 1.0]) | st.floats(0, 1)


@given(st.lists(SCORES), st.lists(SCORES), st.integers(1, 40), st.sampled_from([1, 2, 2**12]))
def test_rows_within_a_budget_are_those_fitted_to_it(
    earlier: list[float], later: list[float], budget: int, sample: int
) -> None:
    def columns_of(scores: list[float]) -> tuple[Any, Scale, Any]:
        return np.array(scores), "probability", np.arange(len(scores)) % 3 == 0

    first = Cells.none().with_rows(*columns_of(earlier), None, 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells_module, "_SAMPLE", sample)
        level, cells = first.with_rows_within(*columns_of(later), None, 0, budget)
    scores, scale, positive = columns_of(later)
    rows = Cells.of_rows(keys_of(scores, scale), positive, None, 0)
    expected_level, expected = first.joined(rows, 0).fitted(budget, 0)
    assert level == expected_level
    assert is_same(cells, expected)


@pytest.mark.slow
@each("bits", [0, 29])
def test_groups_are_in_the_same_order_packed_and_sorted_twice(bits: int) -> None:
    random = np.random.default_rng(bits)
    keys = random.integers(0, 2**33, 5000).astype(np.uint64) << np.uint64(bits)
    keys = np.append(keys, keys[:500])
    group, positive = random.integers(0, 50, len(keys)), random.random(len(keys)) < 0.5
    order = np.lexsort([keys, group])
    rows = list(
        zip(group.tolist(), keys.tolist(), positive.tolist(), [Fraction(1)] * 5500, strict=True)
    )
    for level in (0, 5, 30, 40, 64):
        expected = slow_cells(rows, level)
        for factor in (1, 2**25):  # 50 groups fit beside a short key, and so many do not
            cells = Cells.of_rows(keys, positive, None, level, group * factor)
            assert [(row[0] // factor, *row[1:]) for row in listed(cells)] == expected
    for factor in (1, 2**25):
        found = cells_module._order(keys, group * factor, 0)
        np.testing.assert_array_equal(keys[found], keys[order])
        np.testing.assert_array_equal(group[found], group[order])


@each("budget", [None, 1, 7, 1000])
def test_states_may_be_added_first_and_fit_the_budget_then(budget: int | None) -> None:
    random = np.random.default_rng(7)
    one, other = (
        se.PRCurveSketch(budget).update(random.integers(0, 2, 50), random.random(50))
        for _ in range(2)
    )
    none = se.PRCurveSketch(budget)._state
    assert (one._state + other._state).joined(none, budget) == (one + other)._state


ROWS, BUDGET = 600_000, 1000


@pytest.fixture(scope="module")
def large() -> dict[str, Any]:
    """More rows than a block holds, the last third with weights that have fractions."""
    random = np.random.default_rng(11)
    scores = np.where(
        random.random(ROWS) < 0.3, random.random(ROWS).round(3), random.beta(1, 9, ROWS)
    )
    weights = np.ones(ROWS)
    weights[400_000:] = random.integers(0, 9, 200_000) / 4
    return {"y_true": (random.random(ROWS) < scores).astype(int), "y_score": scores, "w": weights}


def count(large: dict[str, Any], rows: slice) -> se.PRCurveSketch:
    """Count some of the rows in batches of random sizes."""
    sketch = se.PRCurveSketch(BUDGET)
    random = np.random.default_rng(rows.start)
    start = rows.start
    while start < rows.stop:
        end = min(start + int(random.choice([1, 100, 3000, 70_000, 300_000])), rows.stop)
        weights = large["w"][start:end]
        sketch.update(
            large["y_true"][start:end],
            large["y_score"][start:end],
            sample_weight=None if (weights == 1).all() else weights,
        )
        start = end
    return sketch


def merged(parts: list[se.PRCurveSketch], random: np.random.Generator) -> se.PRCurveSketch:
    """Merge in a random tree."""
    parts = [part.copy() for part in parts]
    while len(parts) > 1:
        one, other = random.choice(len(parts), 2, replace=False)
        parts[one].merge(parts[other])
        del parts[other]
    return parts[0]


@pytest.mark.slow
def test_large_state_is_the_same_however_it_was_cut_and_merged(large: dict[str, Any]) -> None:
    random = np.random.default_rng(12)
    whole = count(large, slice(0, ROWS)).to_bytes()
    assert ROWS > 2 * curve._ENTRIES
    for _ in range(3):
        edges = [0, *sorted(random.integers(1, ROWS, 7).tolist()), ROWS]
        parts = [count(large, slice(*ends)) for ends in itertools.pairwise(edges)]
        assert merged(parts, random).to_bytes() == whole


@pytest.mark.slow
def test_large_state_is_that_of_counting_in_plain_numpy(large: dict[str, Any]) -> None:
    counted = large["w"] > 0
    score, quarters = large["y_score"][counted], (large["w"][counted] * 4).astype(int)
    half = np.float64(0.5).view(np.uint64)
    mirrored = 2 * half - (1 - score).view(np.uint64)
    key = np.where(score < 0.5, score.view(np.uint64), mirrored)
    distinct = np.unique(key)
    level = next(
        level
        for level in range(64)
        if np.count_nonzero(np.diff(distinct >> np.uint64(level))) < BUDGET
    )
    assert level > 0
    _, place = np.unique(key >> np.uint64(level), return_inverse=True)
    ends = [[], []]
    for part, choose in zip(ends, (min, max), strict=True):
        order = np.argsort(place, kind="stable")
        runs = np.split(key[order], np.flatnonzero(np.diff(place[order])) + 1)
        part += [choose(run.tolist()) for run in runs]
    positive = large["y_true"][counted] == 1
    pos = np.bincount(place, weights=np.where(positive, quarters, 0))
    neg = np.bincount(place, weights=np.where(positive, 0, quarters))

    parsed = parse_words(count(large, slice(0, ROWS)).to_bytes())
    size = len(ends[0])
    numbers = parsed.numbers
    assert numbers[0] + numbers[1] / 2**62 == large["w"].sum()
    assert numbers[3:5] == [level, size]
    held = np.array(numbers[5:]).reshape(6, size)
    assert held[0].tolist() == ends[0]
    assert held[1].tolist() == ends[1]
    np.testing.assert_array_equal(4 * held[2] + held[3] / 2**60, pos)
    np.testing.assert_array_equal(4 * held[4] + held[5] / 2**60, neg)
