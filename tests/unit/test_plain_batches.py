"""The short way in counts what the full reading counts, or leaves the batch to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import streameval as se
from streameval import confusion
from streameval._plain_batches import PlainBatches
from streameval.configs.confusion import ConfusionConfig

OPTIONS: list[dict[str, Any]] = [
    {},
    {"pos_label": 0},
    {"threshold": 0.75},
    {"threshold": 2.0},
    {"threshold": -1.0},
    {"from_scores": True},
    {"from_scores": False},
    {"classes": 3},
    {"classes": 3, "from_scores": True},
    {"classes": 3, "top_k": 2},
    {"classes": [0, 2]},
    {"classes": 3, "ignore_label": 1},
    {"classes": 40},
]
DTYPES = ["?", "i1", "u1", ">i2", "u4", "i8", "u8", "f2", "f4", ">f4", "f8", "g"]


def fully(options: dict[str, Any], y_true: Any, y_pred: Any) -> se.ConfusionAccumulator:
    """Count with the full reading alone."""
    accumulator = se.ConfusionAccumulator(**options)
    counts = confusion._count(accumulator._config, y_true, y_pred, None)
    return accumulator._absorb(counts)


def outcome(count: Any) -> Any:
    try:
        return count().to_bytes()
    except se.InvalidInputError as error:
        return str(error)


@given(
    options=st.sampled_from(OPTIONS),
    dtypes=st.tuples(st.sampled_from(DTYPES), st.sampled_from(DTYPES)),
    rows=st.sampled_from([1, 2, 7, 600]),
    columns=st.sampled_from([0, 1, 2, 3, 40]),
    limit=st.sampled_from([1, 2, 3, 4]),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=3000, deadline=None, derandomize=True, database=None)
def test_plain_and_full_reading_agree(
    options: dict[str, Any],
    dtypes: tuple[str, str],
    rows: int,
    columns: int,
    limit: int,
    seed: int,
) -> None:
    random = np.random.default_rng(seed)
    y_true = random.integers(0, limit, rows).astype(dtypes[0])
    shape = (rows, columns) if columns else (rows,)
    if dtypes[1] in "?i1u1>i2u4i8u8":
        y_pred = random.integers(0, limit, shape).astype(dtypes[1])
    else:
        y_pred = (random.integers(0, 2**limit, shape) / 8).astype(dtypes[1])
        if random.random() < 0.1:
            y_pred[0] = np.nan
    short = outcome(lambda: se.ConfusionAccumulator(**options).update(y_true, y_pred))
    assert short == outcome(lambda: fully(options, y_true, y_pred))


@pytest.mark.parametrize(
    ("options", "y_true", "y_pred"),
    [
        ({}, np.array([0, 1]), np.array([1, 1])),
        ({}, np.array([0, 1]), np.array([0.2, 0.5], dtype=np.float32)),
        ({"classes": 3}, np.array([0, 2], dtype=np.uint8), np.array([1, 2])),
        ({"classes": 3}, np.array([0, 2]), np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]])),
    ],
    ids=["labels", "scores", "several classes", "score rows"],
)
def test_the_usual_batches_are_plain(options: Any, y_true: Any, y_pred: Any) -> None:
    plain = PlainBatches.under(se.ConfusionAccumulator(**options)._config)
    assert plain is not None
    assert plain.cells(y_true, y_pred) is not None


def test_no_batch_is_plain_when_rows_may_be_ignored() -> None:
    config: ConfusionConfig = se.ConfusionAccumulator(ignore_label=-1)._config
    assert PlainBatches.under(config) is None


@pytest.mark.parametrize("sizes", [[1] * 20_000, [8192, 1], [8000, 193, 8192, 9000], [3] * 5000])
def test_waiting_rows_are_counted_whatever_the_sizes_of_batches(sizes: list[int]) -> None:
    random = np.random.default_rng(0)
    y_true, y_pred = random.integers(0, 5, (2, sum(sizes)))
    accumulator = se.ConfusionAccumulator(5)
    ends = np.cumsum(sizes)
    for start, end in zip(ends - sizes, ends, strict=True):
        accumulator.update(y_true[start:end], y_pred[start:end])
    expected = np.zeros((5, 5), dtype=np.int64)
    np.add.at(expected, (y_true, y_pred), 1)
    assert np.array_equal(accumulator.compute().matrix, expected)
    assert accumulator.n == sum(sizes)


def test_reading_leaves_waiting_rows_where_they_are() -> None:
    accumulator = se.ConfusionAccumulator().update(np.array([0, 1]), np.array([1, 1]))
    held = accumulator._held
    accumulator.to_bytes()
    accumulator.compute()
    assert accumulator == accumulator.copy()
    assert accumulator._held is held


def test_waiting_rows_never_pass_the_largest_total() -> None:
    rows = np.zeros(3, dtype=np.int64)
    accumulator = se.ConfusionAccumulator().update([0], [0], sample_weight=[2**63 - 5])
    accumulator.update(rows, rows)
    assert accumulator.n == 2**63 - 2
    with pytest.raises(se.CountOverflowError):
        accumulator.update(rows, rows)
    assert accumulator.n == 2**63 - 2
