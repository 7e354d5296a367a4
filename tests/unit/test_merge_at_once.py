"""Many accumulators merged at once: the bytes of merging them one by one, and its errors."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from offenders import each

import streameval as se

random = np.random.default_rng(0)


def labels(classes: int) -> Callable[[int], list[np.ndarray]]:
    return lambda rows: list(random.integers(0, classes, (2, rows)))


def numbers(rows: int) -> list[np.ndarray]:
    return list(random.normal(size=(2, rows)))


def probabilities(rows: int) -> list[np.ndarray]:
    return [random.integers(0, 2, rows), random.random(rows)]


CASES: dict[str, tuple[Callable[[], Any], Callable[[int], list[np.ndarray]]]] = {
    "2 classes": (se.ConfusionAccumulator, labels(2)),
    "10 classes": (lambda: se.ConfusionAccumulator(10), labels(10)),
    "40 classes": (lambda: se.ConfusionAccumulator(40), labels(40)),
    "met classes": (lambda: se.ConfusionAccumulator("auto"), labels(5)),
    "classes beside one to ignore": (
        lambda: se.ConfusionAccumulator(3, ignore_label=-1),
        labels(3),
    ),
    "multilabel": (
        lambda: se.ConfusionAccumulator(4, multilabel=True),
        lambda rows: list(random.integers(0, 2, (2, rows, 4))),
    ),
    "regression": (se.RegressionAccumulator, numbers),
    "paired": (se.Paired, lambda rows: list(random.integers(0, 2, (3, rows)))),
    "calibration": (se.CalibrationAccumulator, probabilities),
    "sketch": (se.PRCurveSketch, probabilities),
}
every_case = each("case", CASES)


def parts(case: str, sizes: list[int]) -> list[Any]:
    """Count batches, whose rows wait in every other accumulator, and which weigh in some."""
    make, draw = CASES[case]
    made = []
    for place, rows in enumerate(sizes):
        accumulator = make().update(*draw(rows)) if rows else make()
        if place % 2:
            accumulator = accumulator.copy()
        if place % 5 == 3:
            accumulator.update(*draw(2), sample_weight=[0.25, 0.5])
        made.append(accumulator)
    return made


def one_by_one(accumulators: list[Any]) -> bytes:
    total: bytes = functools.reduce(operator.add, accumulators).to_bytes()
    return total


@pytest.mark.slow
@every_case
@each("number", [1, 2, 3, 40])
def test_a_list_gives_the_bytes_of_one_by_one(case: str, number: int) -> None:
    made = parts(case, random.integers(0, 30, number).tolist())
    before = [accumulator.to_bytes() for accumulator in made]
    expected = one_by_one(made)
    assert se.merge(made).to_bytes() == expected
    assert se.merge(tuple(made)).to_bytes() == expected
    assert se.merge(iter(made)).to_bytes() == expected
    assert made[0].copy().merge(*made[1:]).to_bytes() == expected
    assert [accumulator.to_bytes() for accumulator in made] == before


@every_case
def test_a_list_of_nothing_gives_nothing(case: str) -> None:
    make, _ = CASES[case]
    assert se.merge([make(), make(), make()]).to_bytes() == make().to_bytes()


@every_case
def test_a_list_of_whole_counts_gives_the_bytes_of_one_by_one(case: str) -> None:
    made = [accumulator.copy() for accumulator in parts(case, [3, 1, 2])]
    assert se.merge(made).to_bytes() == one_by_one(made)


@each("case", ["10 classes", "40 classes", "regression", "calibration"])
def test_more_rows_wait_than_are_counted_at_a_time(case: str) -> None:
    make, draw = CASES[case]
    made = [make().update(*draw(4_000)) for _ in range(40)]
    assert se.merge(made).to_bytes() == one_by_one(made)


@each("case", ["2 classes", "10 classes", "multilabel"])
@each("rows", [[40_000] * 3, [3, 50_000, 0, 100_000, 1], [40_000]])
def test_large_batches_are_counted_beside_rows_that_wait(case: str, rows: list[int]) -> None:
    make, draw = CASES[case]
    made = [make().update(*draw(2)).update(*draw(many)) if many else make() for many in rows]
    expected = one_by_one(made)
    assert se.merge(made).to_bytes() == expected
    assert made[0].merge(*made[1:]).to_bytes() == expected


@every_case
def test_what_weighs_less_than_one_is_not_left_out(case: str) -> None:
    make, draw = CASES[case]
    made = [make(), make().update(*draw(1), sample_weight=[0.25]), make()]
    assert se.merge(made).to_bytes() == made[1].to_bytes() == one_by_one(made)


@each("case", ["10 classes", "multilabel", "regression", "calibration"])
@each("weights", [[2**63 - 3], [2**63 - 3, 0.5]])
def test_rows_that_wait_are_refused_where_the_total_would_overflow(
    case: str, weights: list[float]
) -> None:
    make, draw = CASES[case]
    full = make()
    for weight in weights:
        full.update(*draw(1), sample_weight=[weight])
    made = [full, make().update(*draw(1)), make().update(*draw(1))]
    assert se.merge(made).to_bytes() == one_by_one(made)
    made.append(make().update(*draw(1)))
    before = [accumulator.to_bytes() for accumulator in made]
    with pytest.raises(se.CountOverflowError):
        se.merge(made)
    with pytest.raises(se.CountOverflowError):
        made[0].merge(*made[1:])
    assert [accumulator.to_bytes() for accumulator in made] == before


def test_what_is_merged_goes_its_own_way() -> None:
    made = [se.ConfusionAccumulator(3).update([place], [2]) for place in range(3)]
    total = se.merge(made)
    made[0].update([0], [2])
    total.update([1], [2])
    assert total.compute().matrix.tolist() == [[0, 0, 1], [0, 0, 2], [0, 0, 1]]
    assert made[0].compute().matrix.tolist() == [[0, 0, 2], [0, 0, 0], [0, 0, 0]]
    assert made[1].n == 1


@each("kind", [list, iter])
def test_what_cannot_merge_is_refused_however_it_is_given(kind: Callable[[Any], Any]) -> None:
    two, three = se.ConfusionAccumulator(2), se.ConfusionAccumulator(3)
    with pytest.raises(se.IncompatibleStateError, match="`classes` differs"):
        se.merge(kind([two, two, three, 1]))
    with pytest.raises(se.IncompatibleStateError, match="`classes` differs"):
        se.merge(kind([two, two, three]))
    with pytest.raises(se.IncompatibleStateError, match="the class differs"):
        se.merge(kind([two, se.RegressionAccumulator()]))
    with pytest.raises(se.InvalidInputError, match="`accumulators` must hold accumulators, got"):
        se.merge(kind([two, 1, three]))
    with pytest.raises(se.InvalidInputError, match="at least one"):
        se.merge(kind([]))
