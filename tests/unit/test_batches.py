"""One object for a whole batch: what is taken apart, what is ignored, what is refused."""

import sys
from collections import UserDict
from collections.abc import Callable
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from offenders import each

import streameval as se
from streameval.inputs.batches import arguments

TRUTH = [1, 0, 1, 1]
PREDICTION = [1, 1, 0, 1]
WEIGHTS = [1, 2, 3, 4]
MATRIX = [[0, 1], [1, 2]]  # rows truth, columns prediction
WEIGHTED = [[0, 2], [3, 5]]

COLUMNS = {"y_true": TRUTH, "y_pred": PREDICTION}

MAPPINGS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "dict": dict,
    "mapping": UserDict,
    "arrays": lambda columns: {name: np.array(column) for name, column in columns.items()},
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow-table": pa.table,
    "arrow-chunks": lambda columns: pa.concat_tables(
        [pa.table(columns)[:1], pa.table(columns)[1:]]
    ),
    "arrow-batch": pa.RecordBatch.from_pydict,
}
every_mapping = each("make", MAPPINGS.values())

SEQUENCES: dict[str, Callable[[list[Any]], Any]] = {
    "tuple": tuple,
    "list": list,
    "arrays": lambda arrays: tuple(map(np.array, arrays)),
}
every_sequence = each("make", SEQUENCES.values())


def count(batch: Any, **more: Any) -> list[list[float]]:
    matrix: list[list[float]] = (
        se.ConfusionAccumulator().update(batch, **more).compute().matrix.tolist()
    )
    return matrix


def refused(*batch: Any, **more: Any) -> str:
    with pytest.raises(se.InvalidInputError) as caught:
        se.ConfusionAccumulator().update(*batch, **more)
    return str(caught.value)


@every_mapping
def test_a_batch_with_columns_is_taken_apart(make: Callable[..., Any]) -> None:
    assert count(make(COLUMNS)) == MATRIX


@every_mapping
def test_a_batch_with_columns_brings_its_weights(make: Callable[..., Any]) -> None:
    assert count(make(COLUMNS | {"sample_weight": WEIGHTS})) == WEIGHTED


@every_mapping
def test_a_batch_with_columns_takes_weights_by_keyword(make: Callable[..., Any]) -> None:
    assert count(make(COLUMNS), sample_weight=WEIGHTS) == WEIGHTED


@every_mapping
def test_the_order_of_columns_is_free_and_others_are_ignored(make: Callable[..., Any]) -> None:
    columns = {"note": ["?"] * 4, "y_pred": PREDICTION, "id": [7] * 4, "y_true": TRUTH}
    assert count(make(columns)) == MATRIX


@every_mapping
@each("missing", ["y_true", "y_pred"])
def test_a_missing_column_is_named_beside_those_there(
    make: Callable[..., Any], missing: str
) -> None:
    columns = {name: column for name, column in COLUMNS.items() if name != missing}
    (held,) = columns
    message = f"`{missing}` is missing: the batch has the columns {held}, label."
    assert refused(make(columns | {"label": TRUTH})) == message


def test_a_missing_column_is_named_when_there_are_none() -> None:
    assert refused({}) == "`y_true` is missing: the batch has the columns none."


@every_mapping
def test_weights_in_the_columns_and_by_keyword_are_refused(make: Callable[..., Any]) -> None:
    message = refused(make(COLUMNS | {"sample_weight": WEIGHTS}), sample_weight=WEIGHTS)
    assert message == "`sample_weight` is in the batch and is also passed by keyword."


def test_a_column_of_none_is_no_column() -> None:
    assert count(COLUMNS | {"sample_weight": None}) == MATRIX


def test_weights_by_keyword_count_when_the_column_is_none() -> None:
    assert count(COLUMNS | {"sample_weight": None}, sample_weight=WEIGHTS) == WEIGHTED


def test_keys_that_are_no_strings_are_ignored() -> None:
    assert count(COLUMNS | {0: "anything", None: 1}) == MATRIX


def test_a_required_column_of_none_is_refused() -> None:
    assert refused(COLUMNS | {"y_pred": None}) == "`y_pred` must be an array, got NoneType."


@each(
    "make",
    [
        lambda names, columns: pd.DataFrame(dict(enumerate(columns))).set_axis(names, axis=1),
        lambda names, columns: pa.table(columns, names=names),
    ],
)
def test_a_column_that_is_there_twice_is_refused_by_name(make: Callable[..., Any]) -> None:
    batch = make(["y_true", "y_pred", "y_true"], [TRUTH, PREDICTION, TRUTH])
    assert refused(batch).startswith("`y_true` ")


def test_a_lazy_frame_is_refused_or_read() -> None:
    frame = pl.LazyFrame(COLUMNS)
    try:
        matrix = count(frame)
    except se.InvalidInputError as error:
        assert "LazyFrame" in str(error)  # noqa: PT017 - either is fine, anything else is not
    else:
        assert matrix == MATRIX


@every_sequence
def test_a_sequence_is_taken_apart_in_order(make: Callable[..., Any]) -> None:
    assert count(make([TRUTH, PREDICTION])) == MATRIX


@every_sequence
def test_a_sequence_brings_its_weights(make: Callable[..., Any]) -> None:
    assert count(make([TRUTH, PREDICTION, WEIGHTS])) == WEIGHTED


@every_sequence
def test_a_sequence_takes_weights_by_keyword(make: Callable[..., Any]) -> None:
    assert count(make([TRUTH, PREDICTION]), sample_weight=WEIGHTS) == WEIGHTED


@every_sequence
def test_weights_in_the_sequence_and_by_keyword_are_refused(make: Callable[..., Any]) -> None:
    message = refused(make([TRUTH, PREDICTION, WEIGHTS]), sample_weight=WEIGHTS)
    assert message == "`sample_weight` is in the batch and is also passed by keyword."


def test_a_named_tuple_is_taken_apart_in_order() -> None:
    class Batch(NamedTuple):
        prediction: list[int]
        truth: list[int]

    assert count(Batch(TRUTH, PREDICTION)) == MATRIX


@each("keyword", [None, WEIGHTS])
def test_none_in_a_sequence_stands_for_no_weights(keyword: Any) -> None:
    expected = MATRIX if keyword is None else WEIGHTED
    assert count((TRUTH, PREDICTION, None), sample_weight=keyword) == expected


@each("length", [0, 1, 4, 5])
@each("kind", [tuple, list])
def test_a_sequence_of_another_length_is_refused(kind: Callable[..., Any], length: int) -> None:
    assert refused(kind([TRUTH] * length)) == (
        "`y_pred` is missing, or the batch must hold y_true, y_pred in this order "
        f"(2 to 3 arrays), got {length} items."
    )


@each(
    ("value", "kind"),
    [
        (np.array(TRUTH), "ndarray"),
        (np.array([TRUTH, PREDICTION]), "ndarray"),
        (pd.Series(TRUTH), "Series"),
        (pl.Series(TRUTH), "Series"),
        (pa.array(TRUTH), "Int64Array"),
        ("abc", "str"),
        (3, "int"),
        (None, "NoneType"),
    ],
)
def test_an_array_alone_is_refused(value: Any, kind: str) -> None:
    assert refused(value) == (
        "`y_pred` is missing: pass y_true, y_pred, or one batch that holds them "
        f"(tuple, mapping or table), got {kind}."
    )


def test_a_list_of_labels_alone_is_refused() -> None:
    assert refused([1, 0]) == (
        "`y_true` must have shape (n,), got a scalar. reshape(-1) makes one value a vector."
    )


def test_a_missing_truth_is_named() -> None:
    assert refused(None, PREDICTION) == "`y_true` is missing."


def test_a_batch_beside_a_second_array_is_refused() -> None:
    assert refused(COLUMNS, PREDICTION) == "`y_true` must be an array, got dict."


def test_arrays_by_keyword_are_taken() -> None:
    acc = se.ConfusionAccumulator().update(y_pred=PREDICTION, y_true=TRUTH)
    assert acc.compute().matrix.tolist() == MATRIX


@each(
    "arrays",
    [
        (["t"], ["p"], ["g"]),
        ((["t"], ["p"], ["g"]), None, None),
        ({"y_true": ["t"], "y_score": ["p"], "group": ["g"]}, None, None),
        ("t", "p", "g"),
    ],
)
def test_arguments_names_any_number_of_arrays(arrays: tuple[Any, ...]) -> None:
    names = ("y_true", "y_score", "group")
    given = arguments(*arrays, names=names, optional={"sample_weight": None, "mask": ["m"]})
    assert given == {
        "y_true": ["t"],
        "y_score": ["p"],
        "group": ["g"],
        "sample_weight": None,
        "mask": ["m"],
    }


def test_arguments_names_the_first_missing_array() -> None:
    names = ("y_true", "y_score", "group")
    with pytest.raises(se.InvalidInputError, match=r"^`y_score` is missing\.$"):
        arguments("t", None, "g", names=names, optional={})


def test_a_refused_batch_leaves_the_state_unchanged() -> None:
    acc = se.ConfusionAccumulator().update(TRUTH, PREDICTION)
    before = acc.to_bytes()
    with pytest.raises(se.InvalidInputError, match=r"^`y_pred`"):
        acc.update({"y_true": TRUTH, "y_pred": PREDICTION[:2]})
    assert acc.to_bytes() == before


class Stream:
    """A table or column that is exported by Arrow's C interface alone, once."""

    def __init__(self, held: Any) -> None:
        self._held = [held]

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self._held.pop().__arrow_c_stream__(requested_schema)


class ArrowArray:
    """A batch or an array that is exported by Arrow's C interface alone."""

    def __init__(self, held: Any) -> None:
        self._held = held

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        return self._held.__arrow_c_array__(requested_schema)


class Tensor:
    """An array that is exported by DLPack alone; one on a device is copied on demand."""

    def __init__(self, held: Any, device: str | None = None) -> None:
        self._held = np.asarray(held)
        self._device = device

    def __dlpack__(self, *, dl_device: Any = None, **options: Any) -> Any:
        if self._device == "lost" or (self._device and dl_device is None):
            raise BufferError("is on a device.\nSee the log")
        return self._held.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def column(items: list[Any]) -> Any:
    return pa.chunked_array([items[:1], items[1:]])


FOREIGN_BATCHES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "stream": lambda columns: Stream(MAPPINGS["arrow-chunks"](columns)),
    "arrow-array": lambda columns: ArrowArray(pa.RecordBatch.from_pydict(columns)),
    "reader": lambda columns: MAPPINGS["arrow-chunks"](columns).to_reader(),
    "lazy": pl.LazyFrame,
    "relation": lambda columns: duckdb.from_arrow(pa.table(columns)),
    "dict of streams": lambda columns: {
        name: Stream(column(items)) for name, items in columns.items()
    },
    "dict of tensors": lambda columns: {name: Tensor(items) for name, items in columns.items()},
}
FOREIGN_ARRAYS: dict[str, Callable[[list[Any]], Any]] = {
    "stream": lambda items: Stream(column(items)),
    "arrow-array": lambda items: ArrowArray(pa.array(items)),
    "tensor": Tensor,
    "on-device": lambda items: Tensor(items, "cuda"),
    "relation": lambda items: duckdb.from_arrow(pa.table({"": items})),
}


@each("make", FOREIGN_BATCHES.values())
def test_a_batch_that_is_exported_counts_as_its_columns_do(make: Callable[..., Any]) -> None:
    columns = COLUMNS | {"sample_weight": WEIGHTS}
    assert count(make(columns)) == WEIGHTED
    members = {"a": se.ConfusionAccumulator(), "b": se.ConfusionAccumulator(threshold=0.3)}
    assert se.Collection(members).update(make(columns)).n == {"a": 10, "b": 10}
    split = se.Sliced(se.ConfusionAccumulator(), "part")
    split.update(make(columns | {"part": [1, 1, 2, 2]}))
    assert [split[value].n for value in (1, 2)] == [3, 7]
    panes = se.Windowed(se.ConfusionAccumulator(), time="t", pane=1)
    panes.update(make(columns | {"t": [0, 1, 1, 2]}))
    assert panes.total().n == 10


@each("make", FOREIGN_ARRAYS.values())
def test_an_array_that_is_exported_counts_as_its_items_do(make: Callable[..., Any]) -> None:
    expected = se.PRCurveSketch().update(TRUTH, [0.1, 0.5, 0.4, 0.5])
    assert se.PRCurveSketch().update(make(TRUTH), make([0.1, 0.5, 0.4, 0.5])) == expected
    members = {"a": se.PRCurveSketch(), "b": se.PRCurveSketch(budget=None)}
    columns = {name: {"y_true": "t", "y_score": "s"} for name in members}
    both = se.Collection(members, columns=columns)
    both.update({"t": make(TRUTH), "s": make([0.1, 0.5, 0.4, 0.5])})
    assert both["a"] == expected


def test_weights_that_are_exported_once_reach_every_member() -> None:
    members = {"a": se.ConfusionAccumulator(), "b": se.ConfusionAccumulator(threshold=0.3)}
    for truth in (TRUTH, Stream(column(TRUTH))):
        weights = Stream(column(WEIGHTS))
        both = se.Collection(members).update(truth, PREDICTION, sample_weight=weights)
        assert both.n == {"a": 10, "b": 10}


def test_rows_that_are_exported_one_by_one_are_stacked() -> None:
    rows = [[0.75, 0.25, 0.0], [0.5, 0.25, 0.25]]
    expected = se.ConfusionAccumulator(3).update([0, 1], rows)
    for make in (Tensor, lambda row: Stream(column(row))):
        assert se.ConfusionAccumulator(3).update([0, 1], list(map(make, rows))) == expected


def test_text_that_is_exported_is_taken() -> None:
    held = se.ConfusionAccumulator("auto").update(
        Stream(column(["a", "b"])), ArrowArray(pa.array(["a", "c"]))
    )
    assert held == se.ConfusionAccumulator("auto").update(["a", "b"], ["a", "c"])


def test_large_integers_that_are_exported_once_are_named_exactly() -> None:
    with pytest.raises(se.InvalidInputError, match="must hold labels"):
        se.ConfusionAccumulator("auto").update(Stream(column([2.0**63, 1.0])), [1, 1])


def test_a_stream_that_fails_half_way_is_not_counted() -> None:
    table = pa.table(COLUMNS)

    def batches() -> Any:
        yield from table.to_batches()
        raise OSError("the disk is gone.\nReally")

    held = se.ConfusionAccumulator().update(table)
    before = held.to_bytes()
    with pytest.raises(se.InvalidInputError, match=r"`batch` cannot be read .*the disk is gone"):
        held.update(pa.RecordBatchReader.from_batches(table.schema, batches()))
    with pytest.raises(se.InvalidInputError, match=r"`y_true` cannot be read .*the disk is gone"):
        held.update(pa.RecordBatchReader.from_batches(table.schema, batches()), PREDICTION)
    assert held.to_bytes() == before


def test_a_lazy_frame_that_fails_is_not_counted() -> None:
    frame = pl.LazyFrame(COLUMNS).with_columns(pl.col("missing"))
    with pytest.raises(se.InvalidInputError, match="`batch` cannot be read from LazyFrame"):
        se.ConfusionAccumulator().update(frame)


def test_a_tensor_that_cannot_be_copied_is_refused() -> None:
    said = refused(Tensor(TRUTH, "lost"), PREDICTION)
    assert said == "`y_true` cannot be read from Tensor: is on a device."


def test_what_arrow_lends_needs_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert refused(Stream(None)) == (
        "`batch` is an Arrow object (Stream), which pyarrow reads. Install pyarrow."
    )
