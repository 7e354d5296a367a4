"""Columns of every type, in every format: engines and the command line read them alike."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from offenders import each
from pyarrow import csv, parquet

import streameval as se
from streameval.cli import main
from streameval.engines._counting import SourceCounter
from streameval.io.columns import as_text

DAY, LATER = datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)
NOON = datetime.datetime(2026, 1, 1, 12, 30)
MIDNIGHT = datetime.datetime(2026, 1, 1)
NANOSECOND = pa.array([1, 2, 2], pa.timestamp("ns"))

VALUES = pa.table({"loss": [0.5, 2.0], "group": [1, 2], "right": [True, None], "w": [1, 3]})

TYPES = {
    "int": pa.array([1, 0, 1]),
    "int8": pa.array([1, 0, 1], pa.int8()),
    "uint64": pa.array([1, 0, 1], pa.uint64()),
    "float": pa.array([0.5, 0.25, 1.0]),
    "whole float": pa.array([1.0, 0.0, 1.0]),
    "half": pa.array([0.5, 0.25, 1.0], pa.float16()),
    "decimal": pa.array([Decimal("0.50"), Decimal("0.25"), Decimal("1.00")]),
    "whole decimal": pa.array([Decimal("1.00"), Decimal("0.00"), Decimal("1.00")]),
    "bool": pa.array([True, False, True]),
    "text": pa.array(["a", "b", "a"]),
    "large text": pa.array(["a", "b", "a"], pa.large_string()),
    "categories": pa.array(["a", "b", "a"]).dictionary_encode(),
    "integer categories": pa.array([1, 0, 1]).dictionary_encode(),
    "dates": pa.array([DAY, LATER, DAY]),
    "timestamps": pa.array([NOON, MIDNIGHT, NOON]),
    "timestamps of a zone": pa.array([NOON, MIDNIGHT, NOON], pa.timestamp("us", "UTC")),
    "nanoseconds": NANOSECOND,
    "whole nanoseconds": pa.array([NOON, MIDNIGHT, NOON], pa.timestamp("ns")),
    "times": pa.array([NOON.time(), MIDNIGHT.time(), NOON.time()]),
    "time of nanoseconds": pa.array([1, 2, 2], pa.time64("ns")),
    "integers and null": pa.array([1, None, 1]),
    "text and null": pa.array(["a", None, "a"]),
    "dates and null": pa.array([DAY, None, DAY]),
    "categories and null": pa.array(["a", None, "a"]).dictionary_encode(),
    "null": pa.array([None, None, None]),
    "lists": pa.array([["a"], ["b"], ["a"]]),
    "bytes": pa.array([b"a", b"b", b"a"]),
    "durations": pa.array([1, 0, 1], pa.duration("s")),
}
every_form = pytest.mark.parametrize(
    "form",
    ["parquet", *(pytest.param(form, marks=pytest.mark.slow) for form in ("csv", "jsonl"))],
)
IN_TEXT = set(TYPES) - {"half", "lists", "bytes", "durations", "nanoseconds", "time of nanoseconds"}
"""What tables of text can hold."""

ROLES = {
    "label": (
        ["--y-true", "c", "--y-pred", "d"],
        lambda: SourceCounter.of(
            se.ConfusionAccumulator("auto").copy, {"y_true": "c", "y_pred": "d"}
        ),
    ),
    "truth": (
        ["--task", "binary", "--y-true", "c", "--y-score", "s"],
        lambda: SourceCounter.of(se.PRCurveSketch, {"y_true": "c", "y_score": "s"}),
    ),
    "score": (
        ["--task", "binary", "--y-true", "t", "--y-score", "c"],
        lambda: SourceCounter.of(se.PRCurveSketch, {"y_true": "t", "y_score": "c"}),
    ),
    "number": (
        ["--task", "regression", "--y-true", "c", "--y-pred", "s"],
        lambda: SourceCounter.of(se.RegressionAccumulator, {"y_true": "c", "y_pred": "s"}),
    ),
    "value": (
        ["--task", "values", "--value", "c"],
        lambda: SourceCounter.of(se.MeanAccumulator, {"value": "c"}),
    ),
    "weight": (
        ["--y-true", "t", "--y-pred", "u", "--sample-weight", "c"],
        lambda: SourceCounter.of(
            se.ConfusionAccumulator("auto").copy,
            {"y_true": "t", "y_pred": "u", "sample_weight": "c"},
        ),
    ),
    "group": (
        ["--task", "binary", "--y-true", "t", "--y-score", "s", "--group", "c"],
        lambda: SourceCounter.of(se.GroupedAUC, {"y_true": "t", "y_score": "s", "group": "c"}),
    ),
}


def json_item(value: object) -> object:
    """Return what a writer of JSON lines makes of a value."""
    if isinstance(value, Decimal):
        return float(value)
    return value if isinstance(value, (int, float, str, type(None))) else str(value)


def written(column: pa.Array, form: str) -> str:
    if form == "csv" and pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    labels = [1, 0, 1]
    table = pa.table({"c": column, "d": column, "t": labels, "u": labels, "s": [0.5, 0.25, 0.75]})
    name = f"log.{form}"
    if form == "parquet":
        parquet.write_table(table, name)
    elif form == "csv":
        csv.write_csv(table, name)
    else:
        rows = ({k: json_item(v) for k, v in row.items()} for row in table.to_pylist())
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return name


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told_by_the_command_line(options, name, capsys):
    code = main(["eval", name, *options, "-o", "cli.state", "--quiet"])
    if code == 0:
        return se.load("cli.state").to_bytes()
    return capsys.readouterr().err.removeprefix("streameval: error: ").rstrip("\n")


def told_by_an_engine(counting, name):
    try:
        return counting.count(name)[None]
    except se.BadDataError as error:
        return str(error)


def subject(told):
    """Leave the advice out, which names options on one side and arguments on the other."""
    if isinstance(told, bytes):
        return told
    for advice in (" as the first", ", got", " (--nan", ". Use `"):
        told = told.partition(advice)[0]
    return told.rstrip(".")


@every_form
@pytest.mark.parametrize("role", ROLES)
@each("name", TYPES)
def test_column_is_counted_or_refused_alike(name, role, form, capsys):
    if form != "parquet" and name not in IN_TEXT:
        return  # text has no such type
    path = written(TYPES[name], form)
    options, counting = ROLES[role]
    by_hand, by_engine = (
        told_by_the_command_line(options, path, capsys),
        told_by_an_engine(counting(), path),
    )
    if isinstance(by_hand, str) and by_hand.startswith("`c` holds "):
        assert isinstance(by_engine, str)  # the command line looks before it counts
        assert by_engine.startswith(f"{path}, ")
        assert ": `c` must " in by_engine
    else:
        assert subject(by_engine) == subject(by_hand)


@pytest.mark.slow
@every_form
@each("name", TYPES)
def test_slices_of_a_column_are_alike(name, form, capsys):
    if form != "parquet" and name not in IN_TEXT:
        return  # text has no such type
    path = written(TYPES[name], form)
    names = {"y_true": "t", "y_pred": "u"}
    counting = SourceCounter.of(se.ConfusionAccumulator("auto").copy, names, by="c")
    code = main(["eval", path, "--y-true", "t", "--y-pred", "u", "--by", "c", "--json"])
    done = capsys.readouterr()
    if code:
        with pytest.raises(se.BadDataError) as caught:
            counting.count(path)
        assert f"streameval: error: {caught.value}\n" == done.err
    else:
        by_hand = {part["value"]: part["n"] for part in json.loads(done.out)["slices"]}
        by_engine = counting.result(counting.count(path))
        assert {as_text(value): held.n for value, held in by_engine.items()} == by_hand


@every_form
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("dates", ["2026-01-01", "2026-01-02"]),
        ("timestamps", ["2026-01-01 12:30:00", "2026-01-01"]),
        ("whole decimal", ["0", "1"]),
        ("categories", ["a", "b"]),
        ("bool", ["true", "false"]),
        ("dates and null", ["2026-01-01", None]),
    ],
)
def test_slices_have_the_same_text_in_every_format(name, values, form):
    if name == "timestamps" and form != "parquet":
        values = None  # text holds them as their writer laid them out
    path = written(TYPES[name], form)
    counting = SourceCounter.of(se.PRCurveSketch, {"y_true": "t", "y_score": "s"}, by="c")
    found = {as_text(value) for value in counting.count(path)}
    assert values is None or found == set(values)


def test_parts_of_one_type_in_other_files_are_one_slice():
    counting = SourceCounter.of(se.PRCurveSketch, {"y_true": "t", "y_score": "s"}, by="c")
    for name in ("int", "whole float", "whole decimal"):
        forms = ("parquet", "csv", "jsonl")
        values = [as_text(v) for form in forms for v in counting.count(written(TYPES[name], form))]
        assert set(values) == {"0", "1"}


@each("suffix", ["parquet", "csv", "jsonl"])
def test_values_are_numbers_in_every_format_whatever_their_columns_are_called(suffix, tmp_path):
    path = tmp_path / f"a.{suffix}"
    if suffix == "parquet":
        parquet.write_table(VALUES, path)
    elif suffix == "csv":
        csv.write_csv(VALUES, path)
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in VALUES.to_pylist()))
    make = partial(se.MeanAccumulator, ["loss", "group", "right"], nan="skip")
    counter = SourceCounter.of(make, columns={"sample_weight": "w"})
    names = ["loss", "group", "right"]
    batch = {name: VALUES[name].to_pylist() for name in names}
    expected = make().update(batch, sample_weight=[1, 3])
    assert counter.result(counter.count(path)) == expected
