"""Strings of any column stay themselves, NULs at their ends included, and stay small."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from offenders import each

import streameval as se
from streameval.inputs.arrays import as_array

COLUMNS: dict[str, Callable[[list[str]], Any]] = {
    "list": list,
    "tuple": tuple,
    "objects": lambda items: np.array(items, dtype=object),
    "StringDType": lambda items: np.array(items, dtype=np.dtypes.StringDType()),
    "pandas": pd.Series,
    "pandas objects": lambda items: pd.Series(items, dtype=object),
    "pandas string": lambda items: pd.Series(items, dtype="string"),
    "pandas category": lambda items: pd.Series(items, dtype="category"),
    "polars": pl.Series,
    "polars in chunks": lambda items: pl.concat([pl.Series([item]) for item in items]),
    "polars categorical": lambda items: pl.Series(items, dtype=pl.Categorical),
    "arrow": pa.array,
    "arrow large": lambda items: pa.array(items, type=pa.large_string()),
    "arrow chunks": lambda items: pa.chunked_array([[item] for item in items]),
    "arrow dictionary": lambda items: pa.array(items).dictionary_encode(),
}
every_column = each("column", COLUMNS)

ENDS_IN_NUL = ["a\0", "a", "a\0\0", "a"]


@every_column
def test_strings_keep_the_nuls_at_their_ends(column: str) -> None:
    assert as_array(COLUMNS[column](ENDS_IN_NUL), name="y_true").tolist() == ENDS_IN_NUL


NESTED: dict[str, Callable[[list[str]], Any]] = {
    "lists": lambda items: [items, items],
    "tuples": lambda items: (tuple(items), tuple(items)),
    "polars rows": lambda items: [pl.Series(items), pl.Series(items)],
    "polars lists": lambda items: pl.Series([items, items]),
    "polars frame": lambda items: pl.DataFrame([items, items]).transpose(),
    "arrow lists": lambda items: pa.array([items, items]),
}


@each("rows", NESTED)
def test_rows_of_strings_keep_the_nuls_at_their_ends(rows: str) -> None:
    array = as_array(NESTED[rows](ENDS_IN_NUL), name="doc")
    assert array.tolist() == [ENDS_IN_NUL, ENDS_IN_NUL]


@every_column
def test_labels_that_differ_in_a_nul_are_two(column: str) -> None:
    labels = COLUMNS[column](ENDS_IN_NUL)
    met = se.ConfusionAccumulator("auto").update(labels, labels).compute()
    assert met.labels == ("a", "a\0", "a\0\0")
    assert met.matrix.diagonal().tolist() == [2, 1, 1]


@every_column
def test_ids_that_differ_in_a_nul_are_two(column: str) -> None:
    ids, truth, scores = COLUMNS[column](ENDS_IN_NUL), [1, 0, 1, 1], [0.5, 0.25, 0.5, 0.75]
    groups = se.GroupedAUC().update(truth, scores, ids).compute().per_group()
    assert groups["group"].tolist() == ["a", "a\0", "a\0\0"]
    kept = se.RankingAccumulator("mrr", per_query=True).update(truth, scores, query=ids)
    assert kept.compute().per_query()["query"].tolist() == ["a", "a\0", "a\0\0"]
    assert se.from_bytes(kept.to_bytes()) == kept


@every_column
def test_documents_that_differ_in_a_nul_are_two(column: str) -> None:
    documents = COLUMNS[column](ENDS_IN_NUL[:3])
    accumulator = se.RankingAccumulator("mrr", ties="docid_desc")
    accumulator.update([1, 0, 0], [0.5, 0.5, 0.5], query=[7, 7, 7], doc=documents, partial=True)
    assert accumulator.close().compute().mrr == 0.5  # below a\\0\\0, and above a


def test_the_positive_label_may_end_in_a_nul() -> None:
    sketch = se.PRCurveSketch(pos_label="a\0")
    assert sketch.update(ENDS_IN_NUL[:2], [0.75, 0.25]).compute().roc_auc == 1.0
    with pytest.raises(se.InvalidInputError, match="must hold two labels"):
        sketch.update(ENDS_IN_NUL[:3], [0.75, 0.25, 0.5])


def test_the_ignored_label_may_end_in_a_nul() -> None:
    options = {"classes": ["a", "a\0\0"], "ignore_label": "a\0"}
    counts = se.ConfusionAccumulator(**options).update(ENDS_IN_NUL, ["a", "a", "a\0\0", "a"])
    assert counts.compute().matrix.tolist() == [[2, 0], [0, 1]]


def test_an_ignored_row_needs_no_class_when_the_first_one_ends_in_a_nul() -> None:
    counts = se.ConfusionAccumulator(["a\0", "b"], ignore_label="?").update(["?", "b"], ["b", "b"])
    assert counts.compute().matrix.tolist() == [[0, 0], [0, 1]]


@each("column", ["list", "objects", "pandas", "polars", "arrow"])
def test_one_long_string_makes_no_others_long(column: str) -> None:
    items = [f"id{number}" for number in range(20_000)]
    values = COLUMNS[column]([*items, "u" * 2000])
    tracemalloc.start()
    try:
        as_array(values, name="query")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**23  # an array of text would take 160 MB


def test_one_long_string_makes_no_others_long_in_rows() -> None:
    rows = [[f"id{number}", "x"] for number in range(10_000)] + [["u" * 2000, "x"]]
    tracemalloc.start()
    try:
        as_array(rows, name="doc")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**23
