"""The law of pending rows: what is read is what was counted, whenever and in whatever pieces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from offenders import each

import streameval as se
from streameval.accumulators.base import fork
from streameval.accumulators.pending import BufferedState, RowBuffer, Rows

ROWS = 40_000
LAST = 2**63 - 1
random = np.random.default_rng(0)
BINARY, SCORES = random.integers(0, 2, ROWS), random.random(ROWS)
OF_FIVE, SHARES = random.integers(0, 5, ROWS), random.dirichlet(np.ones(5), ROWS)
NAMES = np.array(["no", "yes", "", "z", "10", "9"], dtype=object)
WEIGHTS = random.integers(0, 5, ROWS) / 4


@attrs.frozen(eq=False)
class Case:
    make: Callable[[], Any]
    columns: tuple[np.ndarray, ...]

    def batch(self, start: int, end: int) -> list[np.ndarray]:
        return [column[start:end] for column in self.columns]

    def of(self, start: int, end: int, **options: Any) -> Any:
        return self.make().update(*self.batch(start, end), **options)


CASES = {
    "labels": Case(se.ConfusionAccumulator, (BINARY, BINARY[::-1])),
    "thresholded": Case(se.ConfusionAccumulator, (BINARY, SCORES.astype(np.float32))),
    "classes": Case(lambda: se.ConfusionAccumulator(5), (OF_FIVE, OF_FIVE[::-1])),
    "highest of 5": Case(lambda: se.ConfusionAccumulator(5), (OF_FIVE, SHARES)),
    "tied highest of 5": Case(lambda: se.ConfusionAccumulator(5), (OF_FIVE, SHARES.round(1))),
    "best 2 of 5": Case(lambda: se.ConfusionAccumulator(5, top_k=2), (OF_FIVE, SHARES)),
    "tied best 2 of 5": Case(
        lambda: se.ConfusionAccumulator(5, top_k=2, measures="top_k"), (OF_FIVE, SHARES.round(1))
    ),
    "best 2 of 5 but for a label": Case(
        lambda: se.ConfusionAccumulator(5, top_k=2, ignore_label=9), (OF_FIVE, SHARES.round(1))
    ),
    "many classes": Case(lambda: se.ConfusionAccumulator(300), (OF_FIVE * 70, OF_FIVE[::-1])),
    "numbers as classes": Case(
        lambda: se.ConfusionAccumulator([4, 3, 2, 1, 0]), (OF_FIVE, OF_FIVE[::-1])
    ),
    "texts as classes": Case(
        lambda: se.ConfusionAccumulator(NAMES.tolist()), (NAMES[OF_FIVE], NAMES[OF_FIVE[::-1]])
    ),
    "ignored label": Case(
        lambda: se.ConfusionAccumulator(6, ignore_label=5), (OF_FIVE, OF_FIVE[::-1])
    ),
    "observed texts": Case(
        lambda: se.ConfusionAccumulator("auto"), (NAMES[OF_FIVE], NAMES[BINARY])
    ),
    "observed numbers": Case(lambda: se.ConfusionAccumulator("auto"), (OF_FIVE - 2, BINARY * 7)),
    "multilabel": Case(
        lambda: se.ConfusionAccumulator(5, multilabel=True), (SHARES > 0.2, SHARES[::-1])
    ),
    "regression": Case(se.RegressionAccumulator, (random.normal(size=ROWS), SCORES)),
    "paired": Case(se.Paired, (BINARY, BINARY[::-1], SCORES)),
    "calibration": Case(se.CalibrationAccumulator, (BINARY, SCORES)),
    "curve": Case(se.PRCurveSketch, (BINARY, SCORES)),
    "curve of real scores": Case(
        lambda: se.PRCurveSketch(scores="real"), (BINARY, SCORES.astype(np.float32))
    ),
    "exact curve": Case(lambda: se.PRCurveSketch(None), (BINARY, SCORES)),
    "coarse curve": Case(lambda: se.PRCurveSketch(4), (BINARY, SCORES)),
    "curves of 5": Case(lambda: se.PRCurveSketch(classes=5), (OF_FIVE, SHARES)),
    "named curve": Case(lambda: se.PRCurveSketch(pos_label="yes"), (NAMES[BINARY], SCORES)),
    "grouped": Case(se.GroupedAUC, (BINARY, SCORES, OF_FIVE * 7)),
    "coarse grouped": Case(lambda: se.GroupedAUC(100), (BINARY, SCORES, OF_FIVE * 7)),
    "grouped by text": Case(se.GroupedAUC, (BINARY, SCORES, NAMES[OF_FIVE])),
    "calibration of 5": Case(lambda: se.CalibrationAccumulator(classes=5), (OF_FIVE, SHARES)),
}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))


@pytest.mark.uncovered
@pytest.mark.slow
@each("case", CASES.values())
@each("weigh", [None, "all", "some"])
@each("size", [1, 31, 1000, 9000])
def test_batches_of_any_size_give_the_bytes_of_one(
    case: Case, size: int, weigh: str | None
) -> None:
    rows = {1: 300, 31: 17_000}.get(size, ROWS)  # the blocks of small batches hold 2**14 rows
    pieces, weights = case.make(), np.ones(rows)
    for number, start in enumerate(range(0, rows, size)):
        end, options = min(start + size, rows), {}
        if weigh == "all" or (weigh == "some" and number % 3 == 1):
            weights[start:end] = WEIGHTS[start:end]
            options = {"sample_weight": WEIGHTS[start:end]}
        pieces.update(*case.batch(start, end), **options)
        assert pieces.n == weights[:end].sum()
    assert pieces.to_bytes() == case.of(0, rows, sample_weight=weights).to_bytes()


@each("case", CASES.values())
@each("weight", [None, np.full(32, 2), np.full(32, 0.25)])
def test_small_batches_are_pending(case: Case, weight: Any) -> None:
    accumulator = case.of(0, 32, sample_weight=weight)
    zero = accumulator._held.state
    accumulator.update(*case.batch(32, 64), sample_weight=weight)
    assert accumulator._held.state is zero
    assert accumulator._held.used == 64


@each("case", CASES.values())
def test_reading_leaves_pending_rows_as_they_are(case: Case) -> None:
    accumulator = case.of(0, 32)
    buffered = accumulator._held
    accumulator.to_bytes()
    accumulator.compute()
    se.merge([accumulator, accumulator])
    assert accumulator == accumulator.copy()
    assert accumulator.n == 32
    assert accumulator._held is buffered


@each("case", CASES.values())
def test_a_copy_does_not_see_rows_that_come_later(case: Case) -> None:
    accumulator = case.of(0, 5)
    copy, before = accumulator.copy(), accumulator.to_bytes()
    accumulator.update(*case.batch(5, 9))
    assert (copy.to_bytes(), copy.n, accumulator.n) == (before, 5, 9)


@each("case", CASES.values())
@each("weight", [None, np.full(4, 0.5)])
def test_rows_of_a_dropped_fork_leave_no_trace(case: Case, weight: Any) -> None:
    accumulator, expected = case.of(0, 5), case.of(0, 5)
    fork(accumulator).update(*case.batch(5, 9), sample_weight=weight)
    assert accumulator == expected
    accumulator.update(*case.batch(9, 13))
    assert accumulator == expected.update(*case.batch(9, 13))


@every_case
def test_a_reader_at_any_moment_of_an_update_sees_whole_batches(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    accumulator, seen = case.of(0, 3), []
    before = accumulator.to_bytes()
    put_weights = RowBuffer.put_weights

    def put_while_read(*arguments: Any) -> None:
        seen.append(accumulator.to_bytes())
        put_weights(*arguments)
        seen.append(accumulator.to_bytes())

    monkeypatch.setattr(RowBuffer, "put_weights", put_while_read)
    accumulator.update(*case.batch(3, 7), sample_weight=np.full(4, 0.5))
    accumulator.update(*case.batch(7, 11))
    monkeypatch.undo()
    between = case.of(0, 7, sample_weight=[1, 1, 1, 0.5, 0.5, 0.5, 0.5]).to_bytes()
    assert seen == [before, before, between, between]


@pytest.mark.slow
@each("case", CASES.values())
def test_pending_rows_of_many_are_merged_together(case: Case) -> None:
    weights = np.where(np.arange(900) // 30 % 2, 1.0, WEIGHTS[:900])
    parts = [
        case.of(
            start, start + 30, sample_weight=weights[start : start + 30] if start % 60 else None
        )
        for start in range(0, 900, 30)
    ]
    weights = np.where(np.arange(900) // 30 % 2, weights, 1.0)
    assert se.merge(parts) == sum(parts) == case.of(0, 900, sample_weight=weights)


@each("case", CASES.values())
def test_pending_rows_never_pass_the_largest_total(case: Case) -> None:
    accumulator = case.of(0, 1, sample_weight=[LAST - 3]).update(*case.batch(0, 3))
    assert accumulator.n == LAST
    before = accumulator.to_bytes()
    for weight in (None, [1], [1.5], [2**60]):
        with pytest.raises(se.CountOverflowError):
            accumulator.update(*case.batch(0, 1), sample_weight=weight)
    assert accumulator.to_bytes() == before


@pytest.mark.slow
@each("case", CASES.values())
@each("weight", [2**53 + 1, 2.0**62])
def test_weights_that_no_block_can_hold_are_counted_at_once(case: Case, weight: Any) -> None:
    accumulator = case.of(0, 3).update(*case.batch(3, 4), sample_weight=[weight])
    assert accumulator.n == int(weight) + 3
    with pytest.raises(se.CountOverflowError):
        accumulator.update(*case.batch(0, 2), sample_weight=[2**62, 2**62])
    assert accumulator.n == int(weight) + 3


def test_a_block_holds_few_numbers_however_wide_the_rows() -> None:
    wide = se.CalibrationAccumulator(classes=2**14)
    wide.update([0], np.eye(1, 2**14)).update([0], np.eye(1, 2**14))
    assert sum(column.nbytes for column in wide._held.block.columns) <= 2**20


def test_wider_numbers_widen_a_block_and_leave_older_readers_theirs() -> None:
    narrow, wide = np.array([0.25, 0.5], np.float32), np.array([1 / 3])
    block = RowBuffer.like(Rows((narrow, np.ones(2, bool))), 8)
    state = se.RegressionAccumulator()._state
    first = BufferedState.of(state, block).extended(Rows((narrow, np.ones(2, bool))), 2)
    second = first.extended(Rows((wide, np.zeros(1, bool)), np.array([0.5])), 1)
    assert second.rows.columns[0].tolist() == [0.25, 0.5, 1 / 3]
    assert second.rows.weights is not None
    assert second.rows.weights.tolist() == [1.0, 1.0, 0.5]
    assert (first.rows.columns[0].dtype, first.rows.weights) == (np.dtype(np.float32), None)


@each("name", CASES)
def test_pending_rows_counted_apart_sum_up_with_the_state(name: str) -> None:
    accumulator = CASES[name].of(0, 40)
    buffered = accumulator._held
    empty = type(accumulator)._empty(accumulator._config)._state
    counted = accumulator._sum(buffered.state, accumulator._with_rows(empty, buffered.rows))
    assert buffered.used == 40
    assert counted == accumulator._state


def test_pending_rows_are_counted_once_for_all_readers() -> None:
    acc = se.ConfusionAccumulator(3).update([0, 1], [1, 1])
    read = acc._state
    assert acc._state is read
    acc.compute()
    acc.to_bytes()
    assert acc._state is read
    acc.update([2], [2])
    assert acc._state is not read
    assert acc.compute().matrix.sum() == 3


def test_rows_added_since_a_reader_counted_are_counted() -> None:
    acc = se.ConfusionAccumulator(3).update([0, 1], [1, 1])
    counted = acc._state
    acc.update([2], [2])
    acc._held.counted = 2, counted  # by a reader on another thread, who began before
    assert acc.compute().matrix.sum() == 3
