"""Rows that wait: what is read is what was counted, whenever and in whatever pieces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import streameval as se
from streameval.accumulators.waiting_columns import WaitingColumns

ROWS = 40_000
random = np.random.default_rng(0)
TRUTH, PROBABILITY = random.integers(0, 2, ROWS), random.random(ROWS)
OF_FIVE = random.dirichlet(np.ones(5), ROWS)

CASES: dict[str, tuple[Callable[[], Any], tuple[np.ndarray, np.ndarray]]] = {
    "regression": (se.RegressionAccumulator, (random.normal(size=ROWS), PROBABILITY)),
    "calibration": (se.CalibrationAccumulator, (TRUTH, PROBABILITY)),
    "calibration of 5": (lambda: se.CalibrationAccumulator(classes=5), (TRUTH, OF_FIVE)),
}
every_case = pytest.mark.parametrize("case", CASES)


@pytest.mark.slow
@every_case
@pytest.mark.parametrize("size", [1, 31, 1000, 9000])
def test_batches_of_any_size_give_the_bytes_of_one(case: str, size: int) -> None:
    make, columns = CASES[case]
    rows = ROWS if size > 1 else 300
    waiting, weighted = make(), make()
    for start in range(0, rows, size):
        batch = [column[start : min(start + size, rows)] for column in columns]
        waiting.update(*batch)
        weighted.update(*batch, sample_weight=np.ones(len(batch[0])))
        assert waiting.n == min(start + size, rows)
    assert waiting.to_bytes() == weighted.to_bytes() == waiting.to_bytes()


@every_case
def test_a_copy_does_not_see_rows_that_come_later(case: str) -> None:
    make, (first, second) = CASES[case]
    acc = make().update(first[:5], second[:5])
    copy, before = acc.copy(), acc.to_bytes()
    acc.update(first[5:9], second[5:9])
    assert (copy.to_bytes(), copy.n, acc.n) == (before, 5, 9)


@every_case
def test_weighted_rows_come_after_those_that_wait(case: str) -> None:
    make, (first, second) = CASES[case]
    mixed = make().update(first[:5], second[:5])
    mixed.update(first[5:9], second[5:9], sample_weight=[2, 1, 1, 1]).update(first[9:], second[9:])
    whole = make().update(first, second).update(first[5:6], second[5:6])
    assert mixed.to_bytes() == whole.to_bytes()


@every_case
def test_rows_that_wait_never_pass_the_largest_total(case: str) -> None:
    make, (first, second) = CASES[case]
    acc = make().update(first[:1], second[:1], sample_weight=[2**63 - 4])
    acc.update(first[:3], second[:3])
    assert acc.n == 2**63 - 1
    before = acc.to_bytes()
    with pytest.raises(se.CountOverflowError):
        acc.update(first[:1], second[:1])
    assert acc.to_bytes() == before


def test_room_is_for_a_few_numbers_however_wide_the_rows() -> None:
    wide = WaitingColumns.beside((np.zeros(1), np.zeros((1, 100_000))))
    assert [column.shape for column in wide.columns] == [(1,), (1, 100_000)]
    assert wide.columns[1].nbytes <= 2**20
