"""Accumulators as values: copies, pickles, equality, and results that stay as they are."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from offenders import each
from small_states import EVERY, SMALL

import streameval as se

every_state = each("name", EVERY)


def ones(*truth: int) -> se.ConfusionAccumulator:
    """Count some labels, all predicted 1."""
    return se.ConfusionAccumulator().update(truth, [1] * len(truth))


def cells(accumulator: se.ConfusionAccumulator) -> list[Any]:
    return accumulator.compute().matrix.tolist()


COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": lambda accumulator: accumulator.copy(),
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "bytes": lambda accumulator: se.from_bytes(accumulator.to_bytes()),
} | {
    f"pickle of protocol {protocol}": lambda accumulator, protocol=protocol: pickle.loads(
        pickle.dumps(accumulator, protocol=protocol)
    )
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
}


@pytest.mark.slow
@every_state
def test_every_copy_is_equal(name: str) -> None:
    accumulator = EVERY[name]()
    assert [how for how in COPIES if COPIES[how](accumulator) != accumulator] == []
    assert accumulator == EVERY[name]()


@each(
    "empty",
    [se.ConfusionAccumulator(2), se.PRCurveSketch(budget=64), se.RegressionAccumulator()],
)
def test_accumulators_of_threads_merge_to_the_bytes_of_one(empty: Any) -> None:
    """The lane of Python 3.14t runs them side by side."""
    random = np.random.default_rng(0)
    truth, score = random.integers(0, 2, 4_000), random.random(4_000)

    def counted(rows: Any) -> Any:
        accumulator = empty.copy()
        for part in np.array_split(rows, 20):
            accumulator.update(truth[part], score[part])
        return accumulator

    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(counted, np.array_split(np.arange(4_000), 32)))
    assert se.merge(parts).to_bytes() == empty.copy().update(truth, score).to_bytes()


@each("how", COPIES)
def test_update_of_a_copy_leaves_the_original_alone(how: str) -> None:
    accumulator = ones(0)
    COPIES[how](accumulator).update([1], [1])
    assert cells(accumulator) == [[0, 1], [0, 0]]


@each("how", COPIES)
def test_update_of_the_original_leaves_a_copy_alone(how: str) -> None:
    accumulator = ones(0)
    copied = COPIES[how](accumulator)
    accumulator.update([1], [1])
    assert cells(copied) == [[0, 1], [0, 0]]


def test_pickle_holds_the_bytes() -> None:
    accumulator = SMALL["met"]()
    assert accumulator.to_bytes() in pickle.dumps(accumulator)


@each(
    ("one", "other"),
    [
        (ones(0, 1), ones(1, 0)),
        (se.ConfusionAccumulator(2), se.ConfusionAccumulator([0, 1], pos_label=1)),
        (se.ConfusionAccumulator(threshold=0.0), se.ConfusionAccumulator(threshold=-0.0)),
    ],
)
def test_accumulators_are_equal_when_they_differ_only_in(one: Any, other: Any) -> None:
    assert one == other
    assert one.to_bytes() == other.to_bytes()


@each(
    "other",
    [
        ones(1),
        ones(0, 0),
        se.ConfusionAccumulator(threshold=0.25).update([0], [1.0]),
        se.ConfusionAccumulator("auto").update([0], [1]),
        0,
        None,
        ones(0).to_bytes(),
    ],
)
def test_accumulators_are_not_equal_when_they_differ_in(other: Any) -> None:
    assert ones(0) != other
    assert (ones(0) == other) is False


def test_accumulators_are_not_hashable() -> None:
    assert not isinstance(ones(0), Hashable)


@every_state
def test_compute_leaves_the_accumulator_alone(name: str) -> None:
    accumulator = EVERY[name]()
    accumulator.compute().as_dict()
    assert accumulator.to_bytes() == EVERY[name]().to_bytes()


@every_state
def test_text_of_a_result_is_its_report(name: str) -> None:
    result = EVERY[name]().compute()
    assert str(result) == result.report()


def test_compute_repeats_itself() -> None:
    accumulator = SMALL["top_k"]()
    assert accumulator.compute() == accumulator.compute()


def test_result_stays_as_it_was_when_updates_follow() -> None:
    accumulator = ones(0)
    result = accumulator.compute()
    accumulator.update([1, 1], [1, 1])
    assert (result.n, result.accuracy, result.matrix.tolist()) == (1, 0.0, [[0, 1], [0, 0]])


def test_result_stays_as_it_was_when_merges_follow() -> None:
    accumulator = ones(0)
    result = accumulator.compute()
    accumulator.merge(ones(1), accumulator)
    assert result.matrix.tolist() == [[0, 1], [0, 0]]


@each("attribute", ["n", "matrix", "_state", "other"])
def test_result_is_frozen(attribute: str) -> None:
    with pytest.raises(AttributeError):
        setattr(ones(0).compute(), attribute, 5)


@each("attribute", ["matrix", "tp", "fp", "fn", "tn", "support"])
@each("name", SMALL)
def test_writing_into_an_array_of_a_result_alters_neither_it_nor_the_accumulator(
    name: str, attribute: str
) -> None:
    accumulator = SMALL[name]()
    result = accumulator.compute()
    np.asarray(getattr(result, attribute))[...] = 77
    assert result == accumulator.compute() == SMALL[name]().compute()
    assert repr(result.as_dict()) == repr(SMALL[name]().compute().as_dict())
    assert accumulator.to_bytes() == SMALL[name]().to_bytes()
