"""Rows sorted, counted, merged and looked up: as Python's own sort of tuples does it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from offenders import each
from profiles import quick_cases

from streameval.exact import row_order
from streameval.exact.row_order import (
    are_in_order,
    coded,
    distinct_rows,
    merged_rows,
    order_in_groups,
    standings,
    turned,
)

NOTHING = np.zeros(0, dtype=np.int64)
KEYS = np.array([0, 1, 2**31, 2**63, 2**63 + 1, 2**64 - 1], dtype=np.uint64)
SEEDS = range(quick_cases(200))

short_words = pytest.mark.parametrize("max_bits", [63, 8, 3])


def draw(seed: int) -> tuple[np.random.Generator, np.ndarray, np.ndarray]:
    """Groups of any sizes, some of none, and keys many of which are tied."""
    random = np.random.default_rng(seed)
    size, groups = int(random.integers(0, 60)), int(random.integers(1, 9))
    group = random.integers(0, groups, size)
    if seed % 3 == 0:  # groups of one size
        group = np.repeat(np.arange(groups), size // groups)
    if seed % 2:
        group.sort()
    keys = KEYS if seed % 5 else random.integers(0, 2**64 - 1, 9, dtype=np.uint64)
    return random, group, keys[random.integers(0, len(keys), len(group))]


def test_codes_are_indices_into_the_distinct_values() -> None:
    values = np.array([7, 0, 2**64 - 1, 7, 0, 3], dtype=np.uint64)
    table, (codes, bits) = coded(values)
    assert table[codes].tolist() == values.tolist()
    assert table.tolist() == [0, 3, 7, 2**64 - 1]
    assert codes.max() < 2**bits


@each("values", [[], [0], [0, 0], [5]])
def test_codes_of_few_values_are_indices_too(values: list[int]) -> None:
    table, (codes, bits) = coded(np.array(values, dtype=np.uint64))
    assert table[codes].tolist() == values
    assert codes.max(initial=0) < 2**bits


def test_turning_a_column_turns_its_order_around() -> None:
    column = np.array([0, 5, 3, 7]), 3
    codes, bits = turned(column)
    assert np.argsort(codes).tolist() == [3, 1, 2, 0]
    assert turned((codes, bits))[0].tolist() == column[0].tolist()


@short_words
def test_rows_come_by_group_then_by_falling_key_and_code(
    max_bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_order, "_MAX_BITS", max_bits)
    for seed in SEEDS:
        random, group, key = draw(seed)
        minor = random.integers(0, 8, len(group))
        order = order_in_groups(group, key, (minor, 3))
        rows = [(p, -int(k), -m) for p, k, m in zip(group.tolist(), key, minor, strict=True)]
        assert [rows[row] for row in order] == sorted(rows), seed
        assert sorted(order.tolist()) == list(range(len(rows)))


VALUES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "keys": lambda random, size: KEYS[random.integers(0, len(KEYS), size)],
    "floats": lambda random, size: random.choice([-np.inf, -1.5, -0.0, 0.0, 2.0, np.inf], size),
    "float32": lambda random, size: random.integers(0, 40, size).astype(np.float32),
    "one value": lambda _, size: np.full(size, -np.inf),
}


@pytest.mark.parametrize("block", [1, 20, 2**16])
@pytest.mark.parametrize("kind", VALUES)
def test_standing_of_a_row_is_how_many_are_greater_and_equal(
    kind: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_order, "_BLOCK", block)
    for seed in SEEDS:
        random = np.random.default_rng(seed)
        sizes = random.integers(0, 12, int(random.integers(1, 9)))
        if seed % 3 == 0:  # groups of one size
            sizes[:] = sizes[0]
        group = np.repeat(np.arange(len(sizes)), sizes)
        values = VALUES[kind](random, len(group))
        asked = np.flatnonzero(random.random(len(group)) < random.choice([0.2, 1.0]))
        greater, equal = standings(values, sizes, asked, group[asked])
        assert len(greater) == len(equal) == len(asked)
        for row, above, tied in zip(asked, greater, equal, strict=True):
            own = values[group == group[row]]
            assert above == np.count_nonzero(own > values[row]), seed
            assert tied == np.count_nonzero(own == values[row]), seed


@short_words
@pytest.mark.parametrize("is_counted", [False, True])
def test_equal_rows_are_counted_together(
    max_bits: int, is_counted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_order, "_MAX_BITS", max_bits)
    for seed in SEEDS:
        random = np.random.default_rng(seed)
        size = int(random.integers(0, 40))
        columns = [random.integers(0, 2**bits, size) for bits in (2, 1, 2)]
        counts = random.integers(1, 5, size) if is_counted else None
        expected: Counter[Any] = Counter()
        for index, row in enumerate(zip(*map(np.ndarray.tolist, columns), strict=True)):
            expected[row] += 1 if counts is None else int(counts[index])
        coded_columns = list(zip(columns, (2, 1, 2), strict=True))
        found, sizes = distinct_rows(coded_columns, counts)
        rows = list(zip(*map(np.ndarray.tolist, found), strict=True))
        assert rows == sorted(expected)
        assert sizes.tolist() == [expected[row] for row in rows]


def rising_then_falling(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return row[0], *(-int(item) for item in row[1:])


def table(random: np.random.Generator, size: int) -> list[np.ndarray]:
    """Distinct rows in order: the first column rising, the others falling."""
    rows = {
        (int(random.integers(0, 4)), int(random.choice(KEYS)), int(random.integers(0, 3)))
        for _ in range(size)
    }
    ordered = sorted(rows, key=rising_then_falling)
    dtypes = (np.int64, np.uint64, np.int64)
    columns = zip(*ordered, strict=True) if ordered else ((), (), ())
    return [np.array(column, dtype) for column, dtype in zip(columns, dtypes, strict=True)]


def rows_of(columns: list[np.ndarray]) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_tables_in_order_are_merged_in_order() -> None:
    for seed in SEEDS:
        random = np.random.default_rng(seed)
        mine, theirs = (table(random, int(random.integers(0, 25))) for _ in range(2))
        order, starts = merged_rows(mine, theirs)
        both = rows_of(mine) + rows_of(theirs)
        merged = [both[row] for row in order]
        assert merged == sorted(both, key=rising_then_falling), seed
        assert [merged[start] for start in starts] == sorted(set(both), key=rising_then_falling)
        assert sorted(order.tolist()) == list(range(len(both)))


def test_tables_of_strings_are_merged_in_order() -> None:
    mine = [np.array([0, 0, 1]), np.array(["b", "a", "日"], dtype=object)]
    theirs = [np.array([0, 1, 1]), np.array(["b", "日本", ""], dtype=object)]
    order, starts = merged_rows(mine, theirs)
    texts = np.concatenate([mine[1], theirs[1]])
    assert texts[order].tolist() == ["b", "b", "a", "日本", "日", ""]
    assert starts.tolist() == [0, 2, 3, 4, 5]


def test_order_of_a_table_is_told_from_any_other() -> None:
    for seed in SEEDS:
        random = np.random.default_rng(seed)
        columns = table(random, 6)
        assert are_in_order(columns)
        changed = random.permutation(len(columns[0]))
        shuffled = rows_of([column[changed] for column in columns])
        is_same = shuffled == rows_of(columns)
        assert are_in_order([column[changed] for column in columns]) == is_same
        twice = np.repeat(np.arange(len(columns[0])), 2)
        assert not are_in_order([column[twice] for column in columns])


def test_nothing_is_in_order() -> None:
    assert are_in_order([NOTHING, NOTHING])
    assert order_in_groups(NOTHING, NOTHING.astype(np.uint64), (NOTHING, 0)).tolist() == []
    assert [part.tolist() for part in merged_rows([NOTHING], [NOTHING])] == [[], []]
