"""The fast path counts what the general path counts, or leaves the batch to it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from offenders import each
from profiles import quick_cases

import streameval as se
from streameval.accumulators import code_block
from streameval.accumulators.code_block import CodeBlock, FastReader
from streameval.accumulators.pending import BufferedState
from streameval.configs.confusion import ConfusionConfig
from streameval.states.confusion import _any_in_row, _column_sums

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
    {"classes": 3, "top_k": 3, "measures": ["top_k"]},
    {"classes": 40, "top_k": 5},
    {"classes": [0, 2]},
    {"classes": 3, "ignore_label": 1},
    {"classes": 40},
    {"classes": 300},
]
MULTILABEL: list[dict[str, Any]] = [
    {},
    {"threshold": 0.75},
    {"threshold": 2.0},
    {"from_scores": True},
    {"from_scores": False},
    {"ignore_label": -1},
]
DTYPES = ["?", "i1", "u1", ">i2", "u4", "i8", "u8", "f2", "f4", ">f4", "f8", "g"]


def general(options: dict[str, Any], y_true: Any, y_pred: Any) -> se.ConfusionAccumulator:
    """Count with the general path alone."""
    return se.ConfusionAccumulator(**options)._update_general(y_true, y_pred, None)


def outcome(count: Any) -> Any:
    try:
        return count().to_bytes()
    except se.InvalidInputError as error:
        return str(error)


def predictions(random: np.random.Generator, limit: int, shape: Any, dtype: str) -> Any:
    if dtype in "?i1u1>i2u4i8u8":
        return random.integers(0, limit, shape).astype(dtype)
    scores = (random.integers(0, 2**limit, shape) / 8).astype(dtype)
    if random.random() < 0.1:
        scores[0] = np.nan
    return scores


@pytest.fixture(scope="module")
def small_pieces() -> Iterator[None]:
    """Let batches of a few hundred rows be large, and take several pieces."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code_block, "_PIECE", 613)
        patch.setattr(code_block, "_MIN_CAPACITY", 150)
        FastReader.under.cache_clear()
        yield
    FastReader.under.cache_clear()


@pytest.mark.usefixtures("small_pieces")
@given(
    options=st.sampled_from(OPTIONS),
    dtypes=st.tuples(st.sampled_from(DTYPES), st.sampled_from(DTYPES)),
    rows=st.sampled_from([1, 2, 7, 700]),
    columns=st.sampled_from([0, 1, 2, 3, 40]),
    limit=st.sampled_from([1, 2, 3, 4]),
    least=st.sampled_from([0, 0, 0, -1]),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=quick_cases(3000))
def test_fast_and_general_path_agree(
    options: dict[str, Any],
    dtypes: tuple[str, str],
    rows: int,
    columns: int,
    limit: int,
    least: int,
    seed: int,
) -> None:
    random = np.random.default_rng(seed)
    y_true = random.integers(least, limit, rows).astype(dtypes[0])
    shape = (rows, columns) if columns else (rows,)
    y_pred = predictions(random, limit, shape, dtypes[1])
    fast = outcome(lambda: se.ConfusionAccumulator(**options).update(y_true, y_pred))
    assert fast == outcome(lambda: general(options, y_true, y_pred))


@pytest.mark.usefixtures("small_pieces")
@given(
    options=st.sampled_from(MULTILABEL),
    dtypes=st.tuples(st.sampled_from(DTYPES), st.sampled_from(DTYPES)),
    rows=st.sampled_from([1, 2, 7, 60, 700]),
    columns=st.sampled_from([1, 2, 3, 40]),
    others=st.sampled_from([0, 0, 0, 1]),
    limit=st.sampled_from([1, 2, 2, 2, 3]),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=quick_cases(1000))
def test_fast_and_general_path_agree_on_many_labels(
    options: dict[str, Any],
    dtypes: tuple[str, str],
    rows: int,
    columns: int,
    others: int,
    limit: int,
    seed: int,
) -> None:
    random = np.random.default_rng(seed)
    options = options | {"classes": columns, "multilabel": True}
    y_true = random.integers(0, limit, (rows, columns)).astype(dtypes[0])
    y_pred = predictions(random, limit, (rows, columns + others), dtypes[1])
    fast = outcome(lambda: se.ConfusionAccumulator(**options).update(y_true, y_pred))
    assert fast == outcome(lambda: general(options, y_true, y_pred))


def block_of(accumulator: se.ConfusionAccumulator) -> CodeBlock:
    reader = FastReader.under(accumulator._config)
    assert reader is not None
    return CodeBlock.of(reader)


def neighbours(threshold: float, dtype: str) -> Any:
    """List the scores of a dtype around a threshold, and where the dtype ends."""
    limits = np.finfo(dtype)
    with np.errstate(over="ignore"):
        near = np.array([threshold, 0, limits.max, limits.tiny], dtype)
        near = np.concatenate([near, -near])
        ends = np.array([np.inf, -np.inf], dtype)
        return np.concatenate([near, *(np.nextafter(near, end) for end in ends), ends])


THRESHOLDS = [
    *(0.5, 0.1, 1 / 3, 1.0, 0.0, -0.1, 1e-40, 1e-45, -1e-45, 1e-300, -5e-324, 6e-8, 7e-6),
    *(65504.0, 65519.9, 65520.0, 70000.0, -70000.0, 3.4028235e38, 3.5e38, -1e39, 1.7e308),
]


@each("scale", ["probability", "real"])
@each("pieces", ["one by one", "together"])
@each("dtype", ["f2", "f4", "f8"])
def test_scores_reach_the_threshold_where_they_do_as_float64(
    dtype: str, pieces: str, scale: Any
) -> None:
    is_allowed = [scale == "real" or 0 <= threshold <= 1 for threshold in THRESHOLDS]
    thresholds = itertools.compress(THRESHOLDS, is_allowed)
    for threshold, positive in itertools.product(thresholds, [0, 1]):
        scores = neighbours(threshold, dtype)
        if scale == "probability":
            scores = scores[(scores >= 0) & (scores <= 1) & ~np.signbit(scores)]
        accumulator = se.ConfusionAccumulator(threshold=threshold, pos_label=positive, scores=scale)
        held = BufferedState.of(accumulator._state, block_of(accumulator))
        for part in np.split(scores, len(scores)) if pieces == "one by one" else [scores]:
            truth = np.ones(len(part), dtype=np.int64)
            assert held.block.put_batch(held, truth, part, None)
            accumulator.update(truth, part)
        reach = sum(float(score) >= threshold for score in scores)
        expected = [len(scores) - reach, reach] if positive else [reach, len(scores) - reach]
        assert accumulator.compute().matrix[1].tolist() == expected, (threshold, positive)


def test_a_large_batch_with_a_bad_row_at_its_end_leaves_no_trace() -> None:
    y_true, scores = np.zeros(300_000, dtype=np.int64), np.zeros(300_000)
    accumulator = se.ConfusionAccumulator().update(y_true, scores).update([1], [0.75])
    before = accumulator.to_bytes()
    scores[-1] = np.nan
    with pytest.raises(se.InvalidInputError, match="got NaN at position 299999"):
        accumulator.update(y_true, scores)
    assert accumulator.to_bytes() == before


@each("options", [{}, {"classes": 30}, {"classes": 3, "multilabel": True}])
def test_total_counts_pending_rows(options: dict[str, Any]) -> None:
    accumulator = se.ConfusionAccumulator(**options)
    y = np.zeros((2, 3) if "multilabel" in options else 2, dtype=np.int64)
    for updates in range(1, 4):
        assert accumulator.update(y, y).n == 2 * updates


@each(
    ("options", "y_true", "y_pred"),
    [
        ({}, np.array([0, 1]), np.array([1, 1])),
        ({}, np.array([0, 1]), np.array([0.2, 0.5], dtype=np.float32)),
        ({"classes": 3}, np.array([0, 2], dtype=np.uint8), np.array([1, 2])),
        ({"classes": 2, "multilabel": True}, np.eye(2, dtype=np.int64), np.eye(2)),
        ({"classes": 3}, np.array([0, 2]), np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]])),
        ({"classes": 3, "top_k": 2}, np.array([0, 2]), np.array([[0.1, 0.2, 0.3]] * 2)),
        ({"classes": 3, "top_k": 2}, np.array([0, 2]), np.zeros((2, 3))),
        ({"classes": ["b", "a"]}, np.array(["a", "b"], dtype=object), np.array(["a", "a"])),
        ({"classes": ["b", "a", "c"]}, np.array(["c", "b"]), np.array([[0, 1, 2], [2.0, 1, 0]])),
    ],
)
def test_the_usual_batches_take_the_fast_path(options: Any, y_true: Any, y_pred: Any) -> None:
    accumulator = se.ConfusionAccumulator(**options)
    held = BufferedState.of(accumulator._state, block_of(accumulator))
    assert held.block.put_batch(held, y_true, y_pred, None)
    rows = held.rows
    assert held.block.put_batch(held, y_true[:1], y_pred[:1], None)
    assert held.used == 3
    held.used = held.block.capacity - 1
    assert not held.block.put_batch(held, y_true, y_pred, None)
    n_columns = 3 if "top_k" in options else 2
    assert [column.shape[0] for column in rows.columns] == [2] * n_columns


@pytest.mark.parametrize("options", [{}, {"classes": 3}, {"classes": 1, "multilabel": True}])
@pytest.mark.parametrize("before", [0, 1, 2], ids="{} rows are pending".format)
@given(
    truth=st.tuples(st.sampled_from(DTYPES), st.integers(-1, 3)),
    prediction=st.tuples(st.sampled_from(DTYPES), st.sampled_from([-1, 0, 0.5, 1, 2, 3, np.nan])),
    dims=st.sampled_from([*[(1, 1)] * 4, (2, 2), (1, 2), (2, 1), (0, 1), (1, 0)]),
)
@settings(max_examples=quick_cases(300))
def test_fast_and_general_path_agree_on_one_row(
    options: dict[str, Any],
    before: int,
    truth: tuple[str, int],
    prediction: tuple[str, float],
    dims: tuple[int, int],
) -> None:
    with np.errstate(invalid="ignore"):
        y_true = np.full((1,) * dims[0], truth[1]).astype(truth[0])
        y_pred = np.full((1,) * dims[1], prediction[1]).astype(prediction[0])
    earlier = [np.zeros((1, 1) if "multilabel" in options else 1, dtype=np.int64)] * 2

    def update(accumulator: se.ConfusionAccumulator) -> se.ConfusionAccumulator:
        for _ in range(before):
            accumulator.update(*earlier)
        return accumulator

    def by_fast_path() -> se.ConfusionAccumulator:
        return update(se.ConfusionAccumulator(**options)).update(y_true, y_pred)

    def by_general_path() -> se.ConfusionAccumulator:
        return update(general(options, y_true, y_pred))

    assert outcome(by_fast_path) == outcome(by_general_path)


@pytest.mark.slow
@each("options", [{}, {"classes": 40}, {"classes": 3, "multilabel": True}])
@each("sizes", [[3, 300_000], [300_000, 3, 300_000], [300_000, 300_000]])
def test_rows_of_large_batches_are_counted_beside_pending_ones(
    options: dict[str, Any], sizes: list[int]
) -> None:
    random = np.random.default_rng(0)
    wide = options.get("multilabel")
    accumulator, expected = se.ConfusionAccumulator(**options), se.ConfusionAccumulator(**options)
    for size in sizes:
        y = random.integers(0, 2, (2, size, 3) if wide else (2, size))
        accumulator.update(*y)
        expected.merge(general(options, *y))
        assert accumulator.n == expected.n
        assert accumulator.to_bytes() == expected.to_bytes()
    assert (accumulator + accumulator).n == 2 * sum(sizes)


def test_rows_of_large_batches_never_pass_the_largest_total() -> None:
    rows = np.zeros(100_000, dtype=np.int64)
    room = 2**63 - 1 - 1_000_000
    accumulator = se.ConfusionAccumulator().update([0], [0], sample_weight=[room])
    for _ in range(10):
        accumulator.update(rows, rows)
    assert accumulator.n == accumulator.compute().n == 2**63 - 1
    with pytest.raises(se.CountOverflowError):
        accumulator.update(rows, rows)
    assert accumulator.n == 2**63 - 1


@each("rows", [1, 2, 63, 64, 65, 1000])
def test_rows_and_columns_of_marks_are_counted_as_numpy_counts_them(rows: int) -> None:
    for columns, share in itertools.product([1, 2, 3, 8, 20, 33, 64, 65, 200], [0, 0.01, 0.5, 1]):
        marks = np.random.default_rng(0).random((rows, columns)) < share
        sums = _column_sums(marks, ~marks)
        assert np.array_equal(sums, [marks.sum(axis=0), rows - marks.sum(axis=0)]), (columns, share)
        assert np.array_equal(_any_in_row(marks) != 0, marks.any(axis=1)), (columns, share)


@each("dtype", ["U3", "M8[s]", "c8", "V4"])
def test_arrays_of_other_dtypes_are_refused_by_name(dtype: str) -> None:
    odd, usual = np.zeros(1, dtype=dtype), np.array([1])
    accumulator = se.ConfusionAccumulator().update(usual, usual)
    for name, batch in (("y_true", (odd, usual)), ("y_pred", (usual, odd))):
        with pytest.raises(se.InvalidInputError, match=f"`{name}` (holds strings|must hold)"):
            accumulator.update(*batch)
    assert accumulator.n == 1


def test_objects_that_are_numbers_count_as_numbers() -> None:
    accumulator = se.ConfusionAccumulator().update(np.array([1]), np.array([1]))
    accumulator.update(np.array([0, 1], dtype=object), np.array([0.25, 0.75], dtype=object))
    assert accumulator.compute().matrix.tolist() == [[1, 0], [0, 2]]


def test_no_batch_takes_the_fast_path_when_rows_may_be_ignored() -> None:
    config: ConfusionConfig = se.ConfusionAccumulator(ignore_label=-1)._config
    assert FastReader.under(config) is None


@each("sizes", [[1] * 20_000, [4096] * 5, [8192, 1], [8000, 193, 8192, 9000], [3] * 5000])
def test_pending_rows_are_counted_whatever_the_sizes_of_batches(sizes: list[int]) -> None:
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


@each("truth", [["a", "x"], ["a", 1], ["a", None], ["a", ["b"]]])
def test_a_label_that_is_no_class_is_named_by_the_general_path(truth: list[Any]) -> None:
    accumulator = se.ConfusionAccumulator(["a", "b"]).update(["a", "b"], ["a", "a"])
    wrong = np.fromiter(truth, dtype=object, count=2)
    with pytest.raises(se.InvalidInputError, match="`y_true`"):
        accumulator.update(wrong, np.array(["a", "b"], dtype=object))
    assert accumulator.n == 2


@pytest.mark.slow
def test_labels_of_a_failed_update_are_no_labels_observed() -> None:
    accumulator = se.ConfusionAccumulator("auto").update(["a"], ["b"])
    many = [str(number) for number in range(4095)]
    for _ in range(2):
        with pytest.raises(se.InvalidInputError, match="at most 4096 labels, got 4097"):
            accumulator.update(many, many)
    accumulator.update(["c"], ["a"]).update(many[:4000], many[:4000])
    assert len(accumulator.compute().labels) == 4003
    accumulator.reset().update([1], [2])
    assert accumulator.compute().labels == (1, 2)


@each("dtype", [np.float16, np.float32, np.float64])
@each("ignored", [None, -1])
def test_labels_may_have_thresholds_of_their_own(dtype: type, ignored: int | None) -> None:
    random = np.random.default_rng(0)
    scores = np.concatenate([random.random((50, 3)), [[0.1, 0.5, 0.7]] * 2]).astype(dtype)
    truth = random.integers(0, 2, scores.shape)
    thresholds = [0.1, 0.5, 0.7]
    options = {"classes": 3, "multilabel": True, "ignore_label": ignored}
    acc = se.ConfusionAccumulator(threshold=np.array(thresholds), **options)
    acc.update(truth, scores).update(truth.tolist(), scores.tolist())
    decided = (scores.astype(float) >= thresholds).astype(int)
    assert (
        acc.compute().matrix == acc.copy().reset().update(truth, decided).compute().matrix * 2
    ).all()
    assert se.ConfusionAccumulator.from_bytes(acc.to_bytes()) == acc
    assert acc.options["threshold"] == (0.1, 0.5, 0.7)


def test_equal_thresholds_of_labels_are_one() -> None:
    one = se.ConfusionAccumulator(3, multilabel=True, threshold=0.25)
    assert se.ConfusionAccumulator(3, multilabel=True, threshold=[0.25] * 3) == one
    assert se.ConfusionAccumulator(3, multilabel=True, threshold=np.array(0.25)) == one
    real = se.ConfusionAccumulator(2, multilabel=True, threshold=[0.5, 2.0])
    assert real.update([[1, 1]], [[-3.0, 9.0]]).compute().matrix[1].tolist() == [[0, 0], [0, 1]]


@each(
    ("options", "says"),
    [
        ({"classes": 3, "multilabel": True}, "one for each of the classes, got 2"),
        ({"classes": 2}, "must be one number, or for multilabel one for each"),
        ({"classes": 2, "multilabel": True, "scores": "probability"}, "must lie in [0, 1] with"),
    ],
)
def test_thresholds_that_do_not_fit_are_refused(options: Any, says: str) -> None:
    with pytest.raises(se.InvalidInputError) as caught:
        se.ConfusionAccumulator(threshold=[0.25, 1.5], **options)
    assert says in str(caught.value)
    with pytest.raises(se.InvalidInputError, match="`threshold` must be a number"):
        se.ConfusionAccumulator(2, multilabel=True, threshold=[0.5, "high"])


def test_models_may_have_thresholds_of_labels() -> None:
    random = np.random.default_rng(0)
    truth, one, other = random.integers(0, 2, (9, 3)), random.random((9, 3)), random.random((9, 3))
    thresholds = [0.1, 0.5, 0.7]
    pair = se.Paired(3, multilabel=True, threshold=thresholds).update(truth, one, other)
    decided = [(scores >= thresholds).astype(int) for scores in (one, other)]
    same = se.Paired(3, multilabel=True).update(truth, *decided)
    assert pair.compute().as_dict() == same.compute().as_dict()
    assert se.Paired.from_bytes(pair.to_bytes()) == pair
