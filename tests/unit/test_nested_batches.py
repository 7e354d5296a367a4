"""Paths into columns of a batch: structures of Arrow and polars, objects of pandas and lists."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from offenders import each

import streameval as se
from streameval.engines._counting import SourceCounter
from streameval.inputs.batches import TableBatch

ROWS: dict[str, list[Any]] = {
    "id": [1, 2, 3, 4],
    "truth": [{"label": 1}, {"label": 0}, {"label": 1}, {"label": 1}],
    "model": [{"out": {"score": s}, "v": "a"} for s in (0.9, 0.2, 0.4, 0.7)],
    "ctx": [{"country": "DE"}, {"country": "FR"}, {"country": "DE"}, None],
    "ranked": [[0.5, 1.0], [0.25, 2.0], [0.75, 3.0], [1.0, 4.0]],
    "a.b": [1, 1, 0, 0],
}
COLUMNS = {"y_true": "truth.label", "y_score": "model.out.score"}

every_frame = pytest.mark.parametrize(
    "frame",
    [
        dict,
        pd.DataFrame,
        pl.DataFrame,
        pa.table,
        pa.RecordBatch.from_pydict,
        lambda rows: pa.table(rows).to_pandas(types_mapper=pd.ArrowDtype),
    ],
    ids=["mapping", "pandas", "polars", "arrow", "record batch", "pandas of arrow"],
)
Frame = Callable[[Any], Any]


def expected() -> Any:
    return se.PRCurveSketch().update([1, 0, 1, 1], [0.9, 0.2, 0.4, 0.7])


def nested() -> Any:
    return se.Collection({"curve": se.PRCurveSketch()}, columns={"curve": COLUMNS})


@each(
    "frame",
    [
        dict,
        pd.DataFrame,
        pl.DataFrame,
        pa.table,
        pa.RecordBatch.from_pydict,
        lambda rows: pa.table(rows).to_pandas(types_mapper=pd.ArrowDtype),
    ],
)
def test_engines_take_columns_by_path(frame: Frame) -> None:
    counting = pickle.loads(pickle.dumps(SourceCounter.of(se.PRCurveSketch, COLUMNS)))
    assert counting.result(counting.count(frame(ROWS))) == expected()


@every_frame
def test_engines_split_by_a_path(frame: Frame) -> None:
    if frame is dict:
        pytest.importorskip("pyarrow")
    counting = SourceCounter.of(se.PRCurveSketch, COLUMNS, by="ctx.country")
    found = counting.result(counting.count(frame(ROWS)))
    assert {value: part.n for value, part in found.items()} == {"DE": 2, "FR": 1, None: 1}


@each(
    "frame",
    [
        dict,
        pd.DataFrame,
        pl.DataFrame,
        pa.table,
        pa.RecordBatch.from_pydict,
        lambda rows: pa.table(rows).to_pandas(types_mapper=pd.ArrowDtype),
    ],
)
def test_collection_reads_columns_by_path(frame: Frame) -> None:
    assert nested().update(frame(ROWS))["curve"] == expected()


@each(
    "frame",
    [
        dict,
        pd.DataFrame,
        pl.DataFrame,
        pa.table,
        pa.RecordBatch.from_pydict,
        lambda rows: pa.table(rows).to_pandas(types_mapper=pd.ArrowDtype),
    ],
)
def test_sliced_splits_by_a_path(frame: Frame) -> None:
    by = se.Sliced(nested(), "ctx.country").update(frame(ROWS))
    assert [by["DE"]["curve"].n, by["FR"]["curve"].n] == [2, 1]


@each(
    "frame",
    [
        dict,
        pd.DataFrame,
        pl.DataFrame,
        pa.table,
        pa.RecordBatch.from_pydict,
        lambda rows: pa.table(rows).to_pandas(types_mapper=pd.ArrowDtype),
    ],
)
def test_items_of_lists_are_numbered(frame: Frame) -> None:
    counting = SourceCounter.of(se.RegressionAccumulator, {"y_true": "ranked.0", "y_pred": "id"})
    found = counting.result(counting.count(frame(ROWS)))
    assert found == se.RegressionAccumulator().update([0.5, 0.25, 0.75, 1.0], [1, 2, 3, 4])


@each(
    "frame",
    [
        dict,
        pd.DataFrame,
        pl.DataFrame,
        pa.table,
        pa.RecordBatch.from_pydict,
        lambda rows: pa.table(rows).to_pandas(types_mapper=pd.ArrowDtype),
    ],
)
def test_column_whose_name_has_a_dot_comes_before_a_path(frame: Frame) -> None:
    rows = {"a": [{"b": 0}, {"b": 0}, {"b": 0}, {"b": 0}], **ROWS}
    counting = SourceCounter.of(se.ConfusionAccumulator, {"y_true": "truth.label", "y_pred": "a.b"})
    found = counting.result(counting.count(frame(rows)))
    assert found == se.ConfusionAccumulator().update([1, 0, 1, 1], [1, 1, 0, 0])


@each(
    "frame",
    [
        dict,
        pd.DataFrame,
        pl.DataFrame,
        pa.table,
        pa.RecordBatch.from_pydict,
        lambda rows: pa.table(rows).to_pandas(types_mapper=pd.ArrowDtype),
    ],
)
@each("path", ["truth.other", "truth.label.more", "nothing.label", "id.x", "x"])
def test_path_that_leads_to_nothing_is_named(frame: Frame, path: str) -> None:
    counting = SourceCounter.of(se.ConfusionAccumulator, {"y_true": path, "y_pred": "id"})
    with pytest.raises(se.InvalidInputError, match=rf"`{path}` is missing: the batch has the col"):
        counting.count(frame(ROWS))


@each(
    "frame",
    [
        dict,
        pd.DataFrame,
        pl.DataFrame,
        pa.table,
        pa.RecordBatch.from_pydict,
        lambda rows: pa.table(rows).to_pandas(types_mapper=pd.ArrowDtype),
    ],
)
def test_optional_column_by_path_is_taken_where_it_is_there(frame: Frame) -> None:
    columns = {**COLUMNS, "sample_weight": "model.weight"}
    made = se.Collection({"curve": se.PRCurveSketch()}, columns={"curve": columns})
    with pytest.raises(se.InvalidInputError, match="weight"):
        made.update(frame(ROWS))
    rows = ROWS | {"model": [row | {"weight": 2} for row in ROWS["model"]]}
    assert made.update(frame(rows))["curve"].n == 8


@each("make", [pa.table, pl.DataFrame, pd.DataFrame])
def test_field_of_a_structure_that_is_null_is_missing(make: Frame) -> None:
    rows = {**ROWS, "truth": [{"label": 1}, None, {"label": 1}, {"label": 0}]}
    with pytest.raises(se.InvalidInputError, match=r"`y_true` must .* 1"):
        nested().update(make(rows))


@each("by", ["id", "ctx.country"])
def test_slices_are_those_of_the_column_or_of_the_field(by: str) -> None:
    counting = SourceCounter.of(se.PRCurveSketch, COLUMNS, by=by)
    batch = pa.RecordBatch.from_pydict(ROWS)
    values = ROWS["id"] if by == "id" else [row and row["country"] for row in ROWS["ctx"]]
    slices = counting.count_batches([batch], "here")
    assert {value: se.from_bytes(state).n for value, state in slices.items()} == Counter(values)


def test_path_is_followed_once_however_often_it_is_asked_for():
    table = TableBatch.of({"ctx": [{"score": 0.5}, {"score": 0.25}]})
    assert table is not None
    assert table.holds("ctx.score")
    assert table.holds("ctx.score")
    assert list(table.column("ctx.score")) == [0.5, 0.25]
