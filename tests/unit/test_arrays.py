"""Whatever holds numbers or strings comes in as it is, and nothing else comes in."""

import datetime
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from offenders import each

import streameval as se
from streameval import inputs
from streameval.inputs.arrays import (
    as_array,
    as_comparable,
    as_labels,
    as_numbers,
    as_scores,
    as_weights,
    check_matrix,
    check_vector,
    first_index,
    shape_text,
)

TRUTH = [1, 0, 1, 1]
PREDICTION = [1, 1, 0, 1]
MATRIX = [[0, 1], [1, 2]]  # rows truth, columns prediction

WORD_TRUTH = ["b", "a", "b", "b"]
WORD_PREDICTION = ["b", "b", "a", "b"]

SCORES = [[0.5, 0.25, 0.25], [0.125, 0.125, 0.75], [0.25, 0.5, 0.25]]
BEST = [0, 2, 1]

NUMERIC_DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "longdouble"),
    *(">i2", ">i4", ">i8", ">u4", ">u8", ">f2", ">f4", ">f8"),
]
FLOAT_DTYPES = ["float16", "float32", "float64", "longdouble", ">f2", ">f4", ">f8"]


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch")


@pytest.fixture
def jax() -> Any:
    return pytest.importorskip("jax")


def count(y_true: Any, y_pred: Any, **options: Any) -> list[list[int]]:
    """The matrix of one batch."""
    matrix: list[list[int]] = (
        se.ConfusionAccumulator(**options).update(y_true, y_pred).compute().matrix.tolist()
    )
    return matrix


def count_words(y_true: Any, y_pred: Any) -> list[list[int]]:
    return count(y_true, y_pred, classes=["a", "b"])


def count_best(y_pred: Any) -> list[list[int]]:
    """The matrix of (3, 3) scores whose best places are the truth."""
    return count(BEST, y_pred, classes=3, from_scores=True)


def refused(value: Any) -> str:
    """The message with which an argument is refused for a value."""
    with pytest.raises(se.InvalidInputError) as caught:
        as_array(value, name="y_true")
    return str(caught.value)


@each("dtype", NUMERIC_DTYPES)
def test_update_counts_labels_of_every_dtype(dtype: str) -> None:
    y_true, y_pred = np.array(TRUTH, dtype), np.array(PREDICTION, dtype)
    assert count(y_true, y_pred, from_scores=False) == MATRIX


@each("dtype", FLOAT_DTYPES)
def test_update_counts_scores_of_every_float_dtype(dtype: str) -> None:
    assert count([0, 1, 1, 0], np.array([0.25, 0.5, 0.75, 1.0], dtype)) == [[1, 1], [0, 2]]


@each("dtype", NUMERIC_DTYPES)
def test_as_labels_gives_native_int64(dtype: str) -> None:
    labels = as_labels(np.array(TRUTH, dtype), name="y_true")
    assert (labels.dtype, labels.dtype.isnative, labels.tolist()) == (np.int64, True, TRUTH)


@each("dtype", NUMERIC_DTYPES)
def test_as_scores_gives_native_float64(dtype: str) -> None:
    scores = as_scores(np.array(TRUTH, dtype), name="y_score")
    assert (scores.dtype, scores.dtype.isnative, scores.tolist()) == (np.float64, True, TRUTH)


@each("dtype", NUMERIC_DTYPES)
def test_as_weights_takes_every_dtype(dtype: str) -> None:
    weights = as_weights(np.array(TRUTH, dtype), rows=4)
    assert weights is not None
    assert weights.units() == TRUTH


@each("label", [-(2**63), -(2**53) - 1, 2**53 + 1, 2**63 - 1])
def test_as_labels_keeps_every_bit_of_an_integer(label: int) -> None:
    assert as_labels(np.array([label]), name="y_true").tolist() == [label]
    assert as_labels(np.array([label], dtype=object), name="y_true").tolist() == [label]


def test_as_labels_keeps_every_bit_of_an_unsigned_integer() -> None:
    labels = as_labels(np.array([2**63 - 1], np.uint64), name="y_true")
    assert labels.tolist() == [2**63 - 1]


@each(
    "labels",
    [np.array([1, 2**63], np.uint64), [1, 2**63], np.array([1, 2**63], object), [1.0, 2.0**63]],
)
def test_as_labels_refuses_what_int64_cannot_hold(labels: Any) -> None:
    with pytest.raises(se.InvalidInputError, match=r"^`y_true` must hold labels .* position 1\.$"):
        as_labels(labels, name="y_true")


def test_as_labels_takes_the_largest_float16() -> None:
    assert as_labels(np.array([65504], np.float16), name="y_true").tolist() == [65504]


@each("label", [0.5, np.nan, np.inf, -np.inf, 1e300])
@each("dtype", ["float64", "longdouble"])
def test_as_labels_refuses_a_float_that_is_no_label(label: float, dtype: str) -> None:
    with pytest.raises(se.InvalidInputError, match=r"`y_pred` must hold labels.* at position 2\.$"):
        as_labels(np.array([0, 1, label], dtype), name="y_pred")


def test_as_scores_keeps_infinities() -> None:
    assert as_scores([np.inf, -np.inf], name="y_score").tolist() == [np.inf, -np.inf]


def test_as_scores_gives_infinity_for_a_longdouble_past_float64() -> None:
    assert as_scores(np.array(["1e4000"], np.longdouble), name="y_score").tolist() == [np.inf]


@each(
    ("scores", "position"),
    [([0.5, np.nan], "position 1"), ([[0.5, 0.5], [np.nan, 0.5]], r"position \(1, 0\)")],
)
def test_as_scores_refuses_nan(scores: Any, position: str) -> None:
    with pytest.raises(se.InvalidInputError, match=rf"^`y_score` must not hold NaN.*{position}\.$"):
        as_scores(scores, name="y_score")


@each("make", [list, np.array])
def test_as_scores_refuses_strings(make: Callable[..., Any]) -> None:
    with pytest.raises(se.InvalidInputError, match=r"^`y_score` must hold scores, got strings\.$"):
        as_scores(make(["0.5", "0.25"]), name="y_score")


def test_as_scores_takes_an_empty_list() -> None:
    assert as_scores([], name="y_score").tolist() == []


@each("dtype", NUMERIC_DTYPES)
def test_as_comparable_keeps_float32_and_widens_the_rest(dtype: str) -> None:
    scores = as_comparable(np.array(TRUTH, dtype), name="y_score")
    expected = np.float32 if dtype == "float32" else np.float64
    assert (scores.dtype, scores.dtype.isnative, scores.tolist()) == (expected, True, TRUTH)


@each("dtype", NUMERIC_DTYPES)
def test_as_numbers_gives_native_float64(dtype: str) -> None:
    numbers = as_numbers(np.array(TRUTH, dtype), name="y_true")
    assert (numbers.dtype, numbers.dtype.isnative, numbers.tolist()) == (np.float64, True, TRUTH)


@each("number", [np.nan, np.inf, -np.inf, 1e300, -1e300])
def test_as_numbers_refuses_what_has_no_finite_square(number: float) -> None:
    with pytest.raises(se.InvalidInputError) as caught:
        as_numbers([0.0, number], name="y_true")
    assert str(caught.value) == (
        f"`y_true` must be finite and at most 2**400 in magnitude, got {number!r} at position 1."
    )


def test_as_numbers_takes_the_largest_it_promises() -> None:
    assert as_numbers([2.0**400, -(2.0**400)], name="y_true").tolist() == [2.0**400, -(2.0**400)]


def test_as_numbers_refuses_strings() -> None:
    with pytest.raises(se.InvalidInputError, match=r"^`y_true` must hold numbers, got strings\.$"):
        as_numbers(["1"], name="y_true")


def test_as_weights_gives_none_for_no_weights() -> None:
    assert as_weights(None, rows=3) is None


@each(
    ("weights", "message"),
    [
        ([1, -2, 3], "`sample_weight` must not be negative, got -2 at position 1."),
        ([1, 2, -0.5], "`sample_weight` must not be negative, got -0.5 at position 2."),
        ([1, np.nan, 3], "`sample_weight` must be finite, got nan at position 1."),
        ([np.inf, 2, 3], "`sample_weight` must be finite, got inf at position 0."),
        (["1", "2", "3"], "`sample_weight` must hold numbers, got strings."),
        ([[1], [2], [3]], "`sample_weight` must have shape (n,), got (3, 1)."),
        ([1, 2], "`sample_weight` must have 3 rows, got 2."),
        (
            2.0,
            (
                "`sample_weight` must have shape (n,), got a scalar. "
                "reshape(-1) makes one value a vector."
            ),
        ),
    ],
)
def test_as_weights_refuses(weights: Any, message: str) -> None:
    with pytest.raises(se.InvalidInputError) as caught:
        as_weights(weights, rows=3)
    assert str(caught.value) == message


@each(
    "make",
    [
        list,
        tuple,
        lambda items: [np.int8(item) for item in items],
        lambda items: [np.array(item) for item in items],
        lambda items: [bool(item) for item in items],
        lambda items: np.array(items, dtype=object),
        np.ma.array,
        np.array,
    ],
)
def test_update_counts_sequences(make: Callable[..., Any]) -> None:
    assert count(make(TRUTH), make(PREDICTION)) == MATRIX


@each(
    "make",
    [
        lambda rows: rows,
        lambda rows: tuple(map(tuple, rows)),
        lambda rows: [np.array(row) for row in rows],
        lambda rows: [np.array(row, np.float32) for row in rows],
        lambda rows: np.array(rows, dtype=object),
        pd.DataFrame,
        lambda rows: pl.DataFrame(rows, orient="row"),
        pd.Series,
        lambda rows: pd.Series([np.array(row) for row in rows]),
        pl.Series,
        lambda rows: pl.Series(rows, dtype=pl.Array(pl.Float32, 3)),
        pa.array,
        lambda rows: pa.array(rows, type=pa.list_(pa.float32(), 3)),
        lambda rows: pa.chunked_array([rows[:1], rows[1:]]),
    ],
)
def test_update_counts_scores_in_rows(make: Callable[..., Any]) -> None:
    assert count_best(make(SCORES)) == np.eye(3).tolist()


@each(
    "view",
    [
        lambda items: np.array(items)[::-1][::-1],
        lambda items: np.array(items[::-1])[::-1],
        lambda items: np.repeat(items, 3, axis=0)[::3],
        np.asfortranarray,
        lambda items: np.ascontiguousarray(np.array(items).T).T,
        lambda items: np.array(items).view(np.ma.MaskedArray),
    ],
)
def test_update_counts_views(view: Callable[..., Any]) -> None:
    assert count(view(TRUTH), view(PREDICTION)) == MATRIX
    assert count_best(view(SCORES)) == np.eye(3).tolist()


def test_update_counts_a_broadcast_view() -> None:
    ones = np.broadcast_to(np.int64(1), (5,))
    assert count(ones, ones) == [[0, 0], [0, 5]]


def read_only(items: Any, dtype: Any = None) -> Any:
    array = np.array(items, dtype)
    array.flags.writeable = False
    return array


@each("dtype", ["int64", "uint8", "float64", "float32", "object", "U1", ">i8"])
def test_update_counts_read_only_arrays(dtype: str) -> None:
    classes = ["0", "1"] if dtype == "U1" else 2
    y_true, y_pred = read_only(TRUTH, dtype), read_only(PREDICTION, dtype)
    acc = se.ConfusionAccumulator(classes, from_scores=False)
    acc.update(y_true, y_pred, sample_weight=read_only([1.0, 1.0, 1.0, 1.0]))
    assert acc.compute().matrix.tolist() == MATRIX


@each(
    ("options", "y_true", "y_pred"),
    [
        ({}, TRUTH, PREDICTION),
        ({}, TRUTH, [0.9, 0.6, 0.1, 0.8]),
        ({"ignore_label": 0}, TRUTH, PREDICTION),
        ({"classes": [1, 0]}, TRUTH, PREDICTION),
        ({"classes": "auto", "ignore_label": 0}, TRUTH, PREDICTION),
        ({"classes": 3, "top_k": 2, "ignore_label": 1}, BEST, SCORES),
        ({"classes": 3, "multilabel": True, "ignore_label": -1}, [[1, 0, -1]] * 3, SCORES),
        ({"classes": ["a", "b"]}, WORD_TRUTH, WORD_PREDICTION),
    ],
)
def test_update_writes_to_none_of_its_inputs(options: Any, y_true: Any, y_pred: Any) -> None:
    given = [np.array(y_true), np.array(y_pred), np.linspace(0.0, 2.0, len(y_true))]
    before = [array.copy() for array in given]

    se.ConfusionAccumulator(**options).update(given[0], given[1], sample_weight=given[2])
    assert [array.tolist() for array in given] == [array.tolist() for array in before]


def test_update_keeps_no_view_of_its_inputs() -> None:
    y_true, y_pred, weights = np.array(TRUTH), np.array(PREDICTION), np.ones(4, dtype=np.int64)
    acc = se.ConfusionAccumulator().update(y_true, y_pred, sample_weight=weights)

    for array in (y_true, y_pred, weights):
        array[:] = 0
    assert acc.compute().matrix.tolist() == MATRIX


@each(
    "make",
    [
        list,
        tuple,
        lambda items: [np.str_(item) for item in items],
        np.array,
        lambda items: np.array(items, dtype=object),
        lambda items: np.array(items, dtype=np.dtypes.StringDType()),
        lambda items: np.repeat(items, 2)[::2],
        pd.Series,
        pd.Index,
        lambda items: pd.Series(items, dtype=object),
        lambda items: pd.Series(items, dtype="string"),
        lambda items: pd.Series(items, dtype=pd.ArrowDtype(pa.string())),
        lambda items: pd.Series(items, dtype="category"),
        pl.Series,
        lambda items: pl.Series(items, dtype=pl.Categorical),
        lambda items: pl.Series(items, dtype=pl.Enum(["a", "b"])),
        pa.array,
        lambda items: pa.array(items, type=pa.large_string()),
        lambda items: pa.array(items).dictionary_encode(),
        lambda items: pa.chunked_array([items[:1], items[1:]]),
        lambda items: pa.chunked_array([items[:1], items[1:]]).dictionary_encode(),
    ],
)
def test_update_counts_strings(make: Callable[..., Any]) -> None:
    assert count_words(make(WORD_TRUTH), make(WORD_PREDICTION)) == MATRIX


@each("dtype", [pl.Categorical, pl.Enum(["a", "b"])])
def test_categories_of_polars_need_no_pyarrow(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    words = pl.Series(["a", "b"] * 2500, dtype=dtype)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert se.ConfusionAccumulator(classes="auto").update(words, words).n == 5000


@each(
    "make",
    [
        pd.Series,
        pd.Index,
        pd.array,
        lambda items: pd.Series(items, dtype="Int64"),
        lambda items: pd.Series(items, dtype="UInt8"),
        lambda items: pd.Series(items, dtype="Float64"),
        lambda items: pd.Series(items, dtype="boolean"),
        lambda items: pd.Series(items, dtype="category"),
        lambda items: pd.Series(items, dtype="int64[pyarrow]"),
        lambda items: pd.Series(items, index=range(9, 5, -1)),
        pl.Series,
        lambda items: pl.Series(items, dtype=pl.UInt8),
        lambda items: pl.Series(items, dtype=pl.Float32),
        lambda items: pl.Series(map(bool, items)),
        lambda items: pl.concat([pl.Series(items[:1]), pl.Series(items[1:])], rechunk=False),
        pa.array,
        lambda items: pa.array(items, type=pa.int8()),
        lambda items: pa.array(items, type=pa.float64()),
        lambda items: pa.array(map(bool, items)),
        lambda items: pa.array(items).dictionary_encode(),
        lambda items: pa.chunked_array([items[:1], items[1:]]),
        lambda items: pa.array([0, *items])[1:],
    ],
)
def test_update_counts_columns_of_numbers(make: Callable[..., Any]) -> None:
    assert count(make(TRUTH), make(PREDICTION)) == MATRIX


@each(
    ("value", "items"),
    [
        ([Decimal("0.5"), Decimal(2)], [0.5, 2.0]),
        ([Fraction(1, 4), Fraction(1)], [0.25, 1.0]),
        ([Decimal("0.5"), Fraction(1, 4), 1, 2.5, True], [0.5, 0.25, 1.0, 2.5, 1.0]),
        (np.array([1, 2.5, np.float32(0.5)], object), [1.0, 2.5, 0.5]),
        (np.array([1, np.int8(2), True, np.True_], object), [1, 2, 1, 1]),
        ([10**19, 0.5], [1e19, 0.5]),
        (np.array([10**19, 1], object), [1e19, 1.0]),
    ],
)
def test_as_array_settles_numbers_of_several_types(value: Any, items: list[float]) -> None:
    array = as_array(value, name="y_score")
    assert array.tolist() == items
    assert array.dtype == (np.int64 if all(type(item) is int for item in items) else np.float64)


def test_as_array_keeps_the_shape_of_an_object_matrix() -> None:
    array = as_array(np.array([[1, 2.5], [3, 4]], dtype=object), name="y_score")
    assert (array.dtype, array.tolist()) == (np.float64, [[1.0, 2.5], [3.0, 4.0]])


@each(
    "value",
    [["a", "long" * 1000], np.array(["a", "b"]), [["a", "b"], ["c", "d"]]],
)
def test_as_array_gives_strings_as_objects(value: Any) -> None:
    array = as_array(value, name="y_true")
    assert (array.dtype, array.tolist()) == (object, np.array(value).tolist())


@each(
    "value",
    [[1, "a"], ["a", 1], (1, "a"), [1.5, "a"], [True, "a"], np.array([1, "a"], dtype=object)],
)
def test_as_array_refuses_strings_among_numbers(value: Any) -> None:
    assert refused(value).startswith("`y_true` must hold numbers or strings, one of the two, got")


@each(
    "value",
    [
        [[1, "a"], [2, "b"]],
        [["a", 1], ["b", 2]],
        [["a", "b"], [1, 2]],
        [[1, 2], ["a", "b"]],
        [np.array([1, 2]), np.array(["a", "b"])],
    ],
)
def test_as_array_refuses_strings_among_numbers_in_nested_rows(value: Any) -> None:
    assert refused(value).startswith("`y_true` must ")


MISSING = {
    "None": [1, None],
    "None among strings": ["a", None],
    "nan among strings": ["a", float("nan")],
    "nan in objects": np.array([1, float("nan")], dtype=object),
    "numpy nan in objects": np.array([1, np.float32("nan")], dtype=object),
    "Decimal nan": [Decimal(1), Decimal("NaN")],
    "Decimal signaling nan": [Decimal(1), Decimal("sNaN")],
    "pd.NA": [1, pd.NA],
    "pd.NA among strings": ["a", pd.NA],
    "pd.NaT": [1, pd.NaT],
    "StringDType None": np.array(["a", None], np.dtypes.StringDType(na_object=None)),
    "StringDType nan": np.array(["a", np.nan], np.dtypes.StringDType(na_object=np.nan)),
    "pandas str": pd.Series(["a", None]),
    "pandas string": pd.Series(["a", None], dtype="string"),
    "pandas object": pd.Series(["a", None], dtype=object),
    "pandas category": pd.Series(["a", None], dtype="category"),
    "pandas boolean": pd.Series([True, None], dtype="boolean"),
    "polars strings": pl.Series(["a", None]),
    "polars categorical": pl.Series(["a", None], dtype=pl.Categorical),
    "polars enum": pl.Series(["a", None], dtype=pl.Enum(["a"])),
    "polars bool": pl.Series([True, None]),
    "polars lists": pl.Series([[1.0], None]),
    "arrow strings": pa.array(["a", None]),
    "arrow dictionary": pa.array(["a", None]).dictionary_encode(),
    "arrow bool": pa.array([True, None]),
    "arrow chunks": pa.chunked_array([["a"], [None]]),
    "arrow chunks of a dictionary": pa.chunked_array([["a"], [None]]).dictionary_encode(),
    "arrow lists": pa.array([[1.0], None]),
    "arrow fixed lists": pa.array([[1.0], None], type=pa.list_(pa.float64(), 1)),
}


@each("value", MISSING.values())
def test_as_array_names_the_position_of_a_missing_value(value: Any) -> None:
    message = refused(value)
    assert message.startswith("`y_true` must not hold missing values, got ")
    assert message.endswith(" at position 1.")


MISSING_NUMBERS = {
    "nan": [1.0, np.nan],
    "pandas Int64": pd.Series([1, None], dtype="Int64"),
    "pandas Float64": pd.Series([1, None], dtype="Float64"),
    "pandas arrow": pd.Series([1, None], dtype="int64[pyarrow]"),
    "pandas category": pd.Series([1, None], dtype="category"),
    "polars int": pl.Series([1, None]),
    "polars float": pl.Series([1.0, None]),
    "arrow int": pa.array([1, None]),
    "arrow float": pa.array([1.0, None]),
    "arrow chunks": pa.chunked_array([[1], [None]]),
    "arrow dictionary": pa.array([1, None]).dictionary_encode(),
    "arrow chunks of a dictionary": pa.chunked_array([[1], [None]]).dictionary_encode(),
}


@each("column", MISSING_NUMBERS.values())
def test_update_names_the_position_of_a_missing_number(column: Any) -> None:
    acc = se.ConfusionAccumulator()
    with pytest.raises(se.InvalidInputError, match=r"^`y_true` must .* at position 1\.$"):
        acc.update(column, [1, 1])
    with pytest.raises(se.InvalidInputError, match=r"^`y_pred` must .* at position 1\.$"):
        acc.update([1, 1], column)
    with pytest.raises(se.InvalidInputError, match=r"^`sample_weight` must .* at position 1\.$"):
        acc.update([1, 1], [1, 1], sample_weight=column)


@each(
    "scores",
    [
        pl.Series([[0.5, 0.5], [None, 1.0]]),
        pl.Series([[0.5, 0.5], [None, 1.0]], dtype=pl.Array(pl.Float64, 2)),
        pa.array([[0.5, 0.5], [None, 1.0]]),
        pa.array([[0.5, 0.5], [None, 1.0]], type=pa.list_(pa.float64(), 2)),
        pd.Series([[0.5, 0.5], [None, 1.0]]),
    ],
)
def test_as_scores_names_the_position_of_a_missing_score_within_a_row(scores: Any) -> None:
    with pytest.raises(se.InvalidInputError, match=r"^`y_score` must not hold .*\(1, 0\)\.$"):
        as_scores(scores, name="y_score")


REFUSED = {
    "bytes": (np.array([b"a"]), "must hold numbers or strings, got dtype |S1."),
    "list of bytes": ([b"a"], "must hold numbers or strings, got dtype |S1."),
    "object bytes": (np.array([b"a"], object), "one of the two, got bytes."),
    "arrow bytes": (pa.array([b"a"]), "one of the two, got bytes."),
    "complex": (np.array([1j]), "must hold numbers or strings, got dtype complex128."),
    "list of complex": ([1j], "must hold numbers or strings, got dtype complex128."),
    "datetime": (np.array(["2020"], "M8[s]"), "got dtype datetime64[s]."),
    "NaT": (np.array(["NaT"], "M8[s]"), "got dtype datetime64[s]."),
    "timedelta": (np.array([1], "m8[s]"), "got dtype timedelta64[s]."),
    "NaT among objects": (np.array([np.datetime64("NaT")], object), "got datetime64."),
    "dates": ([datetime.date(2020, 1, 1)], "one of the two, got date."),
    "pandas datetime": (pd.Series(pd.to_datetime(["2020-01-01"])), "got dtype datetime64"),
    "polars date": (pl.Series([datetime.date(2020, 1, 1)]), "got dtype datetime64[D]."),
    "structured": (np.zeros(1, [("a", int)]), "got dtype [('a', '<i8')]."),
    "void": (np.zeros(1, "V3"), "got dtype |V3."),
    "dict": ({"a": 1}, "must be an array, got dict."),
    "set": ({1, 2}, "must be an array, got set."),
    "generator": ((item for item in [1]), "must be an array, got generator."),
    "map": (map(int, "12"), "must be an array, got map."),
    "None": (None, "must be an array, got NoneType."),
    "object": (object(), "must be an array, got object."),
    "arrow scalar": (pa.scalar(1), "must be an array, got Int64Scalar."),
    "objects": ([object()], "one of the two, got object."),
    "sets": ([{1}, {2}], "one of the two, got set."),
    "rows and numbers": (np.array([[1, 2], 3], dtype=object), "one of the two, got int and list."),
    "ragged": ([[1], [2, 3]], "must have rows of one length."),
    "ragged strings": ([["a"], ["b", "c"]], "must "),
    "ragged polars": (pl.Series([[1.0], [2.0, 3.0]]), "must have rows of one length."),
    "ragged arrow": (pa.array([[1.0], [2.0, 3.0]]), "must have rows of one length."),
    "masked": (np.ma.array([1, 2], mask=[False, True]), "must not hold masked items."),
    "masked matrix": (np.ma.array([[1, 2]], mask=[[0, 1]]), "must not hold masked items."),
    "masked rows": ([np.ma.array([1, 2], mask=[0, 1])], "must not hold masked items."),
    "integer past float": ([10**400, 1.5], "must "),
    "fraction past float": ([Fraction(10**400)], "must "),
    "polars int128": (pl.Series([1], dtype=pl.Int128), "must be an array: cannot convert i128"),
}


@each(("value", "phrase"), REFUSED.values())
def test_as_array_refuses(value: Any, phrase: str) -> None:
    message = refused(value)
    assert message.startswith("`y_true` must ")
    assert phrase in message
    assert message.endswith(".")


@each(("truth", "prediction"), [(np.array(1), np.array(1)), ("b", np.array(["b"])), (1, [1])])
def test_update_refuses_a_scalar_unless_both_are_a_number_or_text(
    truth: Any, prediction: Any
) -> None:
    acc = se.ConfusionAccumulator(["abc", "b"] if isinstance(truth, str) else 2)
    message = r"^`y_true` must have shape \(n,\), got a scalar\."
    with pytest.raises(se.InvalidInputError, match=message):
        acc.update(truth, prediction)


def test_a_refused_array_leaves_the_state_unchanged() -> None:
    acc = se.ConfusionAccumulator().update(TRUTH, PREDICTION)
    before = acc.to_bytes()
    with pytest.raises(se.InvalidInputError, match=r"^`y_pred`"):
        acc.update([1, 0], [1, None])
    assert acc.to_bytes() == before


def test_as_array_reads_a_cupy_array_through_get() -> None:
    class Array:
        def get(self) -> Any:
            return np.array(TRUTH)

    Array.__module__ = "cupy"
    assert as_array(Array(), name="y_true").tolist() == TRUTH
    assert count(Array(), PREDICTION) == MATRIX


@pytest.mark.parametrize(
    "make",
    [
        lambda torch, items: torch.tensor(items),
        lambda torch, items: torch.tensor(items, dtype=torch.int8),
        lambda torch, items: torch.tensor(items, dtype=torch.uint8),
        lambda torch, items: torch.tensor(items, dtype=torch.uint16),
        lambda torch, items: torch.tensor(items, dtype=torch.bool),
        lambda torch, items: torch.tensor(items, dtype=torch.float16),
        lambda torch, items: torch.tensor(items, dtype=torch.bfloat16),
        lambda torch, items: torch.tensor(items).float().to(torch.float8_e4m3fn),
        lambda torch, items: torch.tensor(items).float().to(torch.float8_e5m2),
        lambda torch, items: torch.tensor(items, dtype=torch.float32, requires_grad=True),
        lambda torch, items: torch.tensor(items, dtype=torch.bfloat16, requires_grad=True),
        lambda torch, items: torch.nn.Parameter(torch.tensor(items, dtype=torch.float64)),
        lambda torch, items: torch.tensor(items, dtype=torch.float32, requires_grad=True) * 1,
        lambda torch, items: torch.tensor(items).repeat_interleave(3)[::3],
        lambda torch, items: torch.tensor(items).expand(2, 4).T[:, 0],
        lambda torch, items: (
            torch.complex(torch.zeros(4), -torch.tensor(items).float()).conj().imag
        ),
        lambda torch, items: list(torch.tensor(items)),
    ],
    ids=[
        *("int64", "int8", "uint8", "uint16", "bool", "float16", "bfloat16", "float8_e4m3fn"),
        *("float8_e5m2", "grad", "bfloat16-grad", "parameter", "result-of-grad"),
        *("strided", "transposed", "negated-view", "list-of-scalars"),
    ],
)
def test_update_counts_torch_tensors(torch: Any, make: Callable[..., Any]) -> None:
    assert count(make(torch, TRUTH), make(torch, PREDICTION)) == MATRIX


@pytest.mark.parametrize(
    "make",
    [
        lambda torch: [torch.tensor(1.0, requires_grad=True), torch.tensor(0.0)],
        lambda torch: [torch.tensor(1, dtype=torch.bfloat16), torch.tensor(0.0)],
        lambda torch: [torch.ones(2, requires_grad=True), torch.zeros(2)],
    ],
    ids=["grad-scalars", "bfloat16-scalars", "grad-rows"],
)
def test_as_array_reads_a_list_of_torch_tensors(torch: Any, make: Callable[..., Any]) -> None:
    array = as_array(make(torch), name="y_score")
    assert (array.dtype.kind, array.ravel()[0], array.ravel()[-1]) == ("f", 1.0, 0.0)


def test_as_array_reads_a_subclass_of_a_torch_tensor(torch: Any) -> None:
    class Image(torch.Tensor):  # type: ignore[misc, name-defined]
        pass

    image = torch.ones(2, requires_grad=True).as_subclass(Image)
    assert as_array(image, name="y_score").tolist() == [1.0, 1.0]


def test_update_counts_transposed_torch_scores(torch: Any) -> None:
    scores = torch.tensor(SCORES).T.contiguous().T.requires_grad_()
    assert count_best(scores) == np.eye(3).tolist()


def test_as_scores_widens_bfloat16_exactly(torch: Any) -> None:
    scores = torch.tensor([0.1, 0.7], dtype=torch.bfloat16)
    expected = [0.10009765625, 0.69921875]  # 8 bits of 0.1 and 0.7
    assert as_scores(scores, name="y_score").tolist() == expected


@pytest.mark.parametrize(
    ("make", "phrase"),
    [
        (lambda torch: torch.eye(2).to_sparse(), "must be a dense tensor of numbers: "),
        (lambda torch: torch.empty(2, device="meta"), "must be a dense tensor of numbers: "),
        (lambda torch: torch.Size([1, 2]), "must be a dense tensor of numbers: "),
        (lambda torch: torch.float32, "must be a dense tensor of numbers: "),
        (lambda torch: torch.tensor([1j]), "must hold numbers or strings, got dtype complex64."),
        (lambda torch: torch.tensor([1j]).conj(), "got dtype complex64."),
    ],
    ids=["sparse", "meta", "size", "dtype", "complex", "conjugate"],
)
def test_as_array_refuses_of_torch(torch: Any, make: Callable[..., Any], phrase: str) -> None:
    message = refused(make(torch))
    assert message.startswith("`y_true` must ")
    assert phrase in message
    assert message.endswith(".")


def test_update_leaves_a_torch_tensor_as_it_was(torch: Any) -> None:
    scores = torch.tensor([0.9, 0.6, 0.1, 0.8], requires_grad=True)
    se.ConfusionAccumulator().update(torch.tensor(TRUTH), scores)
    assert (scores.requires_grad, scores.tolist()) == (True, pytest.approx([0.9, 0.6, 0.1, 0.8]))


def test_update_counts_tensors_on_a_gpu(torch: Any) -> None:
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    y_true = torch.tensor(TRUTH, device="cuda")
    scores = torch.tensor([0.9, 0.6, 0.1, 0.8], device="cuda", dtype=torch.bfloat16)
    assert count(y_true, scores.requires_grad_()) == MATRIX


@pytest.mark.parametrize(
    "dtype",
    [
        "int32",
        "int8",
        "uint8",
        "bool",
        "float32",
        "float16",
        "bfloat16",
        "float8_e4m3fn",
        "float8_e5m2",
    ],
)
def test_update_counts_jax_arrays(jax: Any, dtype: str) -> None:
    y_true = jax.numpy.array(TRUTH).astype(dtype)
    assert count(y_true, jax.numpy.array(PREDICTION).astype(dtype)) == MATRIX


def test_update_counts_rows_of_jax_scores(jax: Any) -> None:
    rows = [jax.numpy.array(row, dtype="bfloat16") for row in SCORES]
    assert count_best(rows) == np.eye(3).tolist()


@pytest.mark.parametrize("transform", ["jit", "vmap", "grad"])
def test_update_refuses_a_traced_jax_array_and_says_outside_jit(jax: Any, transform: str) -> None:
    def loss(scores: Any) -> Any:
        with pytest.raises(se.InvalidInputError) as caught:
            se.ConfusionAccumulator().update([1, 0], scores)
        messages.append(str(caught.value))
        return scores.sum()

    messages: list[str] = []
    getattr(jax, transform)(loss)(jax.numpy.ones((2, 2) if transform == "vmap" else 2))
    assert messages == [
        "`y_pred` is a traced JAX array. Call update outside jit, or by jax.debug.callback."
    ]


def test_as_array_refuses_complex_jax_arrays(jax: Any) -> None:
    assert refused(jax.numpy.array([1j])).endswith("got dtype complex64.")


@each(
    ("mask", "index"),
    [([False, True, True], 1), ([[False, False], [False, True]], (1, 1))],
)
def test_first_index_finds_what_is_true(mask: Any, index: object) -> None:
    assert first_index(np.array(mask)) == index


@each(("shape", "text"), [((2, 3), "(2, 3)"), ((), "a scalar")])
def test_shape_text(shape: tuple[int, ...], text: str) -> None:
    assert shape_text(np.zeros(shape)) == text


@each(
    ("array", "rows", "message"),
    [
        (np.zeros((2, 1)), None, "`a` must have shape (n,), got (2, 1)."),
        (
            np.zeros(()),
            None,
            "`a` must have shape (n,), got a scalar. reshape(-1) makes one value a vector.",
        ),
        (np.zeros(2), 3, "`a` must have 3 rows, got 2."),
    ],
)
def test_check_vector_refuses(array: Any, rows: int | None, message: str) -> None:
    with pytest.raises(se.InvalidInputError) as caught:
        check_vector(array, rows=rows, name="a")
    assert str(caught.value) == message


@each(
    ("array", "rows", "message"),
    [
        (np.zeros(4), None, "`a` must have shape (n, 4), got (4,)."),
        (np.zeros((4, 3)), None, "`a` must have shape (n, 4), got (4, 3)."),
        (np.zeros((2, 4)), 3, "`a` must have 3 rows, got 2."),
    ],
)
def test_check_matrix_refuses(array: Any, rows: int | None, message: str) -> None:
    with pytest.raises(se.InvalidInputError) as caught:
        check_matrix(array, rows=rows, columns=4, name="a")
    assert str(caught.value) == message


def test_check_matrix_names_the_option_that_takes_other_columns() -> None:
    with pytest.raises(se.InvalidInputError, match=r"got \(4, 3\)\. Pass k=3 for 3 columns\.$"):
        check_matrix(np.zeros((4, 3)), rows=None, columns=4, name="a", option="k")
    with pytest.raises(se.InvalidInputError, match=r"got \(4, 1\)\.$"):
        check_matrix(np.zeros((4, 1)), rows=None, columns=4, name="a", option="k")


def test_checks_accept_the_right_shapes() -> None:
    check_vector(np.zeros(3), rows=3, name="a")
    check_vector(np.zeros(3), rows=None, name="a")
    check_matrix(np.zeros((3, 2)), rows=3, columns=2, name="a")
    check_matrix(np.zeros((3, 2)), rows=None, columns=2, name="a")


@each("label", [2**63, 2**64 + 1, -(2**63) - 1, 10**30])
@each(
    "make",
    [
        lambda label: [1, -1, label],
        lambda label: (1, -1, label),
        lambda label: [[1], [-1], [label]],
        lambda label: np.array([1, -1, label], dtype=object),
        lambda label: pd.Series([1, -1, label], dtype=object),
        lambda label: [1.0, -1, label],
    ],
)
def test_as_labels_shows_a_label_past_64_bits_as_given(make: Any, label: int) -> None:
    with pytest.raises(se.InvalidInputError, match=f"within 64 bits, got {label} at"):
        as_labels(make(label), name="y_true")


def test_as_labels_shows_a_float_past_64_bits_as_a_float() -> None:
    for given in ([1e30], np.array([1e30]), [np.array([1e30]), np.array([1.0])]):
        with pytest.raises(se.InvalidInputError, match=r"within 64 bits, got 1e\+30 at"):
            as_labels(given, name="y_true")


@each("label", [2**63, 2**64 + 1, -(2**63) - 1])
@each(
    ("name", "update"),
    [
        ("y_true", lambda label: se.ConfusionAccumulator().update([-1, label], [1, 1])),
        ("y_true", lambda label: se.ConfusionAccumulator("auto").update([-1, label], [1, 1])),
        ("y_pred", lambda label: se.ConfusionAccumulator("auto").update([1, 1], [-1, label])),
        ("y_true", lambda label: se.PRCurveSketch().update([-1, label], [0.1, 0.2])),
        ("y_true", lambda label: se.GroupedAUC().update([-1, label], [0.1, 0.2], [1, 2])),
        ("y_true", lambda label: se.CalibrationAccumulator().update([-1, label], [0.1, 0.2])),
    ],
)
def test_update_shows_a_label_past_64_bits_as_given(name: str, update: Any, label: int) -> None:
    with pytest.raises(se.InvalidInputError, match=f"`{name}` must hold labels.*, got {label} at"):
        update(label)


def test_scores_may_be_given_as_integers_among_floats() -> None:
    scores = [[0.5, 2**64, 0], [2**64, 0.5, 0]]
    accumulator = se.ConfusionAccumulator(3).update([1, 0], scores)
    assert accumulator.compute().accuracy == 1.0


def test_readers_of_arguments_are_those_of_arrays_and_other_names_are_not_there() -> None:
    assert inputs.__getattr__("as_labels") is as_labels
    with pytest.raises(AttributeError, match="no attribute 'as_table'"):
        inputs.__getattr__("as_table")
