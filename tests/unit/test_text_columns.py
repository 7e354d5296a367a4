"""Columns of text as codes, against their texts; and what is left to others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from offenders import each

import streameval as se
from streameval.inputs import coded as module
from streameval.inputs.coded import CodedTexts, coded_texts

NAMES = ["", "cat", "dog", "ein Ü", "a\0b", "sheepdog", "cats"]
LISTED = [NAMES[index] for index in np.random.default_rng(0).integers(0, len(NAMES), 20_000)]


def objects(items: list[Any]) -> Any:
    return np.fromiter(items, dtype=object, count=len(items))


CODED = {
    "code points": np.array,
    "code points of odd width": lambda items: np.array(items, dtype="U9"),
    "objects": objects,
    "pandas": pd.Series,
    "pandas string": lambda items: pd.Series(items, dtype="string"),
    "pandas category": lambda items: pd.Series(items, dtype="category"),
    "pandas index": pd.Index,
    "polars": pl.Series,
    "polars categorical": lambda items: pl.Series(items, dtype=pl.Categorical),
    "arrow": pa.array,
    "arrow large": lambda items: pa.array(items, type=pa.large_string()),
    "arrow dictionary": lambda items: pa.array(items).dictionary_encode(),
    "arrow chunks": lambda items: pa.chunked_array([items[:7], items[7:]]),
    "arrow chunks of dictionaries": lambda items: pa.chunked_array(
        [pa.array(items[:7]).dictionary_encode(), pa.array(items[7:]).dictionary_encode()]
    ),
    "codes": CodedTexts.of,
}
every_form = each("form", CODED)


@every_form
def test_codes_are_those_of_the_texts(form: str) -> None:
    coded = coded_texts(CODED[form](LISTED))
    assert coded is not None
    assert coded.tolist() == LISTED
    assert len(set(coded.texts)) == len(coded.texts)


@every_form
def test_short_columns_are_left_to_others(form: str) -> None:
    assert coded_texts(CODED[form](LISTED[:100])) is None


@every_form
@each("classes", ["auto", NAMES])
def test_labels_count_as_a_list_of_them_does(form: str, classes: Any) -> None:
    predicted = LISTED[1:] + LISTED[:1]
    expected = se.ConfusionAccumulator(classes).update(LISTED, predicted)
    counted = se.ConfusionAccumulator(classes).update(CODED[form](LISTED), CODED[form](predicted))
    assert counted.to_bytes() == expected.to_bytes()


@every_form
def test_an_unknown_label_is_refused_as_in_a_list(form: str) -> None:
    refusals = []
    for make in (list, CODED[form]):
        acc = se.ConfusionAccumulator(NAMES[:-1])
        with pytest.raises(se.InvalidInputError) as refusal:
            acc.update(make(LISTED), make(LISTED))
        refusals.append(str(refusal.value))
    assert refusals[0] == refusals[1]
    assert "got 'cats' at position" in refusals[0]


DIFFERENT = [f"text {number}" for number in range(4000)]
LEFT: dict[str, Any] = {
    "numbers": np.arange(4000),
    "objects, all different": objects(DIFFERENT),
    "objects, most different behind equal ones": objects(["cat"] * 600 + DIFFERENT),
    "objects, not side by side": objects(LISTED)[::2],
    "objects of other types": objects([1, "cat"] * 2000),
    "rows of text": np.array([["cat", "dog"]] * 2000),
    "long code points": np.array(["cat" * 30] * 4000),
    "foreign code points": np.array(LISTED, dtype=">U9"),
    "a list": LISTED,
    "a scalar": "cat",
    "pandas numbers": pd.Series(np.arange(4000)),
    "pandas with a gap": pd.Series([*LISTED, None]),
    "pandas categories of numbers": pd.Series([1, 2] * 2000, dtype="category"),
    "pandas frame": pd.DataFrame({"label": LISTED}),
    "polars numbers": pl.Series([1.5] * 4000),
    "polars with a gap": pl.Series([*LISTED, None]),
    "arrow numbers": pa.array(range(4000)),
    "arrow with a gap": pa.array([*LISTED, None]),
    "rows of a larger dictionary": pa.DictionaryArray.from_arrays([0] * 600, DIFFERENT),
    "equal entries": pa.DictionaryArray.from_arrays([0, 1] * 600, ["cat", "cat"]),
    "missing entry": pa.DictionaryArray.from_arrays([0, 1] * 600, ["cat", None]),
    "codes of a gap": CodedTexts.of(["cat", None] * 600),
}


@each("column", LEFT)
def test_other_columns_are_left_to_others(column: str) -> None:
    assert coded_texts(LEFT[column]) is None


def test_bytes_that_are_no_text_are_left_to_others() -> None:
    bad = pa.Array.from_buffers(
        pa.string(),
        600,
        [None, pa.py_buffer(np.arange(601, dtype=np.int32)), pa.py_buffer(b"\xff" * 600)],
    )
    assert coded_texts(bad) is None


def test_equal_texts_in_several_objects_are_one() -> None:
    several = [("cat " + str(number % 3))[:3] for number in range(30)]
    coded = coded_texts(objects(several * 100))
    assert coded is not None
    assert coded.texts == ["cat"]


@pytest.mark.parametrize("form", ["code points", "objects"])
def test_texts_that_share_a_slot_are_told_apart(form: str, monkeypatch: Any) -> None:
    column = CODED[form](["cat", "dog"] * 1000)
    monkeypatch.setattr(module, "_FACTORS", [np.uint64(0)] * 2 + module._FACTORS)
    coded = coded_texts(column)
    assert coded is not None
    assert coded.tolist() == column.tolist()
    monkeypatch.setattr(module, "_FACTORS", [np.uint64(0)] * 80)
    assert coded_texts(column) is None
