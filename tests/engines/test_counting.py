"""What every engine's workers do, without an engine: read, rename, split, count and merge."""

from __future__ import annotations

import datetime
import gzip
import importlib
import json
import pickle
import random
import sys
from functools import partial

import pandas as pd
import pyarrow as pa
import pytest
from engines.cases import CASES, TABLE, every_case, parts, write_parts
from offenders import each
from pyarrow import parquet

import streameval as se
from streameval.engines._counting import RunningCount, SourceCounter
from streameval.engines._shipping import merged
from streameval.engines._sources import Sources

ADAPTERS = {
    "beam": ("apache_beam", "apache-beam"),
    "dask": ("distributed", "dask"),
    "ray": ("ray", "ray"),
    "spark": ("pyspark.sql.types", "pyspark"),
    "torch": ("torch", "torch"),
}


@every_case
def test_states_of_parts_merge_to_the_bytes_of_one_process(case):
    counting = pickle.loads(pickle.dumps(SourceCounter.of(**case.arguments)))
    states = [counting.count(part) for part in parts()]
    random.Random(0).shuffle(states)
    total = merged(merged(*states[:3]), merged(*states[3:]))
    assert counting.result(total).to_bytes() == case.serial().to_bytes()


def test_merging_leaves_its_arguments_untouched():
    counting = SourceCounter.of(se.PRCurveSketch)
    states = [counting.count(part) for part in parts()]
    before = pickle.dumps(states)
    assert merged(*states) == merged(*states)
    assert pickle.dumps(states) == before


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
def test_files_of_a_format_are_counted(form, tmp_path):
    case = CASES["grouped"]
    counting = SourceCounter.of(**case.arguments)
    paths = [path for path in write_parts(tmp_path, form) if (tmp_path / path).stat().st_size]
    total = merged(*map(counting.count, paths))
    assert counting.result(total).to_bytes() == case.serial().to_bytes()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("log.tsv", b"y_true\ty_pred\n1\t1\n0\t1\n"),
        ("log.csv.gz", gzip.compress(b"y_true,y_pred\n1,1\n0,1\n", mtime=0)),
        ("log.ndjson", b'{"y_true": 1, "y_pred": 1}\n{"y_true": 0, "y_pred": 1, "more": [1]}\n'),
        (
            "log.json.gz",
            gzip.compress(b'{"y_true": 1, "y_pred": 1}\n{"y_true": 0, "y_pred": 1}\n', mtime=0),
        ),
    ],
)
def test_names_of_files_tell_their_format(name, data, tmp_path):
    path = tmp_path / name
    path.write_bytes(data)
    counting = SourceCounter.of(se.ConfusionAccumulator)
    assert counting.result(counting.count(path)).compute().accuracy == 0.5


def test_folder_of_files_is_a_source(tmp_path):
    folder = tmp_path / "log.parquet"
    folder.mkdir()
    write_parts(folder)
    counting = SourceCounter.of(se.PRCurveSketch)
    assert counting.result(counting.count(folder)) == se.PRCurveSketch().update(TABLE)


def test_columns_that_are_not_counted_are_not_read(tmp_path):
    path = tmp_path / "log.parquet"
    parquet.write_table(TABLE, path)
    whole = path.read_bytes()
    place = whole.index(b"x" * 100)
    path.write_bytes(whole[: place - 40] + bytes(100) + whole[place + 60 :])
    with pytest.raises((OSError, pa.ArrowException)):
        parquet.read_table(path)
    counting = SourceCounter.of(se.PRCurveSketch)
    assert counting.result(counting.count(path)) == se.PRCurveSketch().update(TABLE)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("absent.csv", None, ": no such file or directory."),
        ("log.parquet", b"y_true", ": not a sound Parquet file ("),
        (
            "log.csv",
            b"y_true,y_score\n1,0.5\n0,7\n",
            ', line 3: `y_score` must lie in [0, 1], got 7.0. Pass scores="real" for',
        ),
        ("log.csv", b"y_true\n1\n", ": `y_score` is missing: the batch has the columns y_true."),
        ("log.jsonl", b'{"y_true": 1, "y_score": 0.5}\n{"y_', ", line 2: not JSON ("),
    ],
)
def test_file_that_cannot_be_counted_is_named(name, data, message, tmp_path):
    path = tmp_path / name
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(se.BadDataError) as caught:
        SourceCounter.of(se.PRCurveSketch).count(path)
    assert str(caught.value).startswith(f"{path}{message}")
    assert str(caught.value).endswith(".")


DAY = datetime.date(2024, 1, 1)


@each(
    ("values", "expected"),
    [
        (["b", "a", "b"], ["a", "b"]),
        ([2, None, 10], [2, 10, None]),
        ([True, False, True], [False, True]),
        ([DAY, DAY, None], [DAY, None]),
        (pa.array(["b", None, "a"]).dictionary_encode(), ["a", "b", None]),
        (pa.chunked_array([["b"], [], ["a", "b"]]).dictionary_encode(), ["a", "b"]),
    ],
)
def test_values_of_a_column_are_counted_apart(values, expected):
    table = pa.table({"y_true": [1, 0, 1], "y_pred": [1, 1, 1], "slice": values})
    counting = SourceCounter.of(se.ConfusionAccumulator, by="slice")
    counted = counting.result(counting.count(table))
    assert list(counted) == expected
    rows = table.column("slice").to_pylist()
    assert {value: acc.n for value, acc in counted.items()} == {
        value: rows.count(value) for value in expected
    }


def test_fractions_are_counted_apart_by_their_text():
    table = pa.table({"y_true": [1] * 4, "y_pred": [1] * 4, "slice": [0.5, 2.0, 0.5, float("nan")]})
    counting = SourceCounter.of(se.ConfusionAccumulator, by="slice")
    counted = counting.result(merged(counting.count(table), counting.count(table)))
    assert {value: acc.n for value, acc in counted.items()} == {"0.5": 4, "2": 2, "nan": 2}


def test_values_of_several_types_are_in_order():
    counting = SourceCounter.of(se.ConfusionAccumulator, by="slice")
    tables = [pa.table({"y_true": [1], "y_pred": [1], "slice": [value]}) for value in ("b", 2, "a")]
    assert list(counting.result(merged(*map(counting.count, tables)))) == [2, "a", "b"]


@each("column", [list, tuple, pd.Series, pa.array])
def test_values_that_differ_in_a_nul_are_counted_apart(column):
    batch = {"y_true": [1, 0, 1], "y_pred": [1, 1, 1], "slice": column(["a\0", "a", "a"])}
    counting = SourceCounter.of(se.ConfusionAccumulator, by="slice")
    counted = counting.result(counting.count(batch))
    assert {value: acc.n for value, acc in counted.items()} == {"a": 2, "a\0": 1}


def test_batches_of_any_kind_are_split():
    scores = [[0.1, 0.9, 0.0], [0.8, 0.2, 0.0]]
    arrays = {"y_true": [1, 0], "y_pred": scores, "slice": ["a", "b"]}
    table = pa.table(arrays)
    for batch in (arrays, table, table.to_batches()[0], table.to_pandas()):
        counting = SourceCounter.of(se.ConfusionAccumulator(3).copy, by="slice")
        counted = counting.result(merged(counting.count(batch), counting.count(batch)))
        assert {value: acc.compute().accuracy for value, acc in counted.items()} == {"a": 1, "b": 1}


@each("make", [se.ConfusionAccumulator(2).copy, se.PRCurveSketch])
def test_refused_row_is_that_of_the_batch_whatever_its_value(make):
    scores = {"y_pred": [1, 0, 1, -1], "y_score": [0.5, 0.5, 0.5, 1.5]}
    batch = {"y_true": [1, 0, 1, 0], **scores, "slice": ["a", "b", "a", "b"]}
    with pytest.raises(se.InvalidInputError) as caught:
        SourceCounter.of(make, by="slice").count(batch)
    assert caught.value.position == 3


def test_column_that_is_refused_has_no_position_among_the_rows_of_a_value():
    batch = {"y_true": [1, 0], "y_score": ["high", "low"], "slice": ["a", "b"]}
    with pytest.raises(se.InvalidInputError, match="`y_score` must hold scores") as caught:
        SourceCounter.of(se.PRCurveSketch, by="slice").count(batch)
    assert caught.value.position is None


@each(
    "labels",
    [[*range(4200)], pd.Series([*range(2100), *map(str, range(2100))], dtype=object)],
)
def test_labels_of_each_value_are_found_apart(labels):
    counting = SourceCounter.of(lambda: se.ConfusionAccumulator("auto"), by="slice")
    table = {"y_true": labels, "y_pred": labels, "slice": [0] * 2100 + [1] * 2100}
    batches = [{name: column[at : at + 2100] for name, column in table.items()} for at in (0, 2100)]
    counted = counting.result(counting.count_batches(batches))
    assert [len(one.compute().labels) for one in counted.values()] == [2100, 2100]


@each("by", ["slice", "country"])
def test_column_that_is_counted_may_have_any_name(by, tmp_path):
    batch = {"slice": [1.0, 2.0], "country": ["a", "b"]}
    counting = SourceCounter.of(lambda: se.MeanAccumulator(columns=["slice"]), by=by)
    path = tmp_path / "log.parquet"
    parquet.write_table(pa.table(batch), path)
    for source in (batch, path):
        counted = counting.result(counting.count(source)).values()
        assert [one.compute()["slice"].mean for one in counted] == [1, 2]


def test_empty_table_has_no_slices():
    counting = SourceCounter.of(se.PRCurveSketch, by="country")
    assert counting.count(TABLE.slice(0, 0)) == {}
    assert counting.count(TABLE.schema.empty_table()) == {}


def test_without_batches_nothing_is_counted():
    assert SourceCounter.of(se.PRCurveSketch).count_batches([]) == {
        None: se.PRCurveSketch().to_bytes()
    }
    assert SourceCounter.of(se.PRCurveSketch, by="country").count_batches([]) == {}
    assert SourceCounter.of(se.PRCurveSketch).result({}) == se.PRCurveSketch()


def test_optional_columns_are_read_where_they_are():
    batch = {"y_true": [1, 0], "y_pred": [1, 1], "sample_weight": [3, 1]}
    counting = SourceCounter.of(se.ConfusionAccumulator)
    assert counting.result(counting.count(batch)).n == 4
    del batch["sample_weight"]
    assert counting.result(counting.count(batch)).n == 2


def test_optional_column_that_is_named_must_be_there():
    counting = SourceCounter.of(se.ConfusionAccumulator, {"sample_weight": "w"})
    with pytest.raises(se.InvalidInputError, match="`w` is missing: the batch has the columns"):
        counting.count({"y_true": [1], "y_pred": [1]})


def test_columns_of_a_collection_may_be_renamed():
    members = {"rate": se.ConfusionAccumulator(), "curve": se.PRCurveSketch()}
    make = se.Collection(members, columns={"curve": {"y_score": "p"}}).copy
    counting = SourceCounter.of(make, {"y_true": "label", "p": "score"})
    batch = {"label": [1, 0], "y_pred": [1, 1], "score": [0.9, 0.2], "y_true": ["no"]}
    assert counting.names([*batch, "more"]) == ["label", "y_pred", "score"]
    assert counting.result(counting.count(batch)).n == {"rate": 2, "curve": 2}


@each(
    ("change", "message"),
    [
        ({"make": se.PRCurveSketch()}, "`make` must be callable and give an empty accumulator,"),
        ({"make": dict}, "`make` must give an accumulator, got dict."),
        (
            {"make": se.RegressionAccumulator().update([1], [1]).copy},
            "`make` must give an empty accumulator, got n=1.",
        ),
        ({"columns": ["y_true"]}, "`columns` must map arguments to columns, got list."),
        ({"columns": {"y_true": 1}}, "`columns` must map names to names, got 1 for 'y_true'."),
        ({"columns": {"y": "z"}}, "`columns` must be for y_true, y_score, sample_weight, got 'y'."),
        ({"by": 1}, "`by` must be the name of a column, or different ones, got 1."),
    ],
)
def test_argument_that_breaks_a_rule_is_named(change, message):
    with pytest.raises(se.InvalidInputError) as caught:
        SourceCounter.of(**({"make": se.PRCurveSketch} | change))
    assert str(caught.value).startswith(message)


@each(
    ("batch", "by", "message"),
    [
        ([1, 0], None, "`sources` must be paths, or batches with columns, got list."),
        ({"y_true": [1], "y_score": [0.5]}, "day", "`day` is missing: the batch has the columns"),
        ({}, None, "`y_true` is missing: the batch has the columns none."),
        (
            {"y_true": [1, 0], "y_score": [0.5, 0.5], "tags": [["a"], ["b"]]},
            "tags",
            "`tags` must be a single value, got ['a'] at position 0.",
        ),
        ({"y_true": 1, "y_score": 0.5}, None, "`y_score` must have shape (n,), got a scalar"),
    ],
)
def test_batch_that_is_refused_is_explained(batch, by, message):
    with pytest.raises(se.InvalidInputError) as caught:
        SourceCounter.of(se.PRCurveSketch, by=by).count(batch)
    assert str(caught.value).startswith(message)


APART = {
    "table": se.ConfusionAccumulator(2),
    "clusters": se.Clustered(se.ConfusionAccumulator(2), by="user"),
    "cells": se.Collection({"a": se.ConfusionAccumulator(2), "b": se.PRCurveSketch(16)}),
    "slices": se.Sliced(se.ConfusionAccumulator(2), "user", max_values=3),
    "panes": se.Windowed(se.ConfusionAccumulator(2), pane=10, time="user"),
    "queries": se.RankingAccumulator(["map"]),
}


@pytest.mark.parametrize("made", APART.values(), ids=APART)
def test_states_of_values_are_those_of_their_rows_alone(made):
    columns = {"score": "rank_score", "y_pred": "y_true"}
    names = SourceCounter.of(made.copy).columns
    columns = {name: column for name, column in columns.items() if name in names}
    counting = SourceCounter.of(made.copy, columns, by="country")
    states = merged(*map(counting.count, parts()))
    for value in ("DE", "FR", "IT"):
        alone = SourceCounter.of(made.copy, columns)
        rows = [part.filter(pa.compute.field("country") == value) for part in parts()]
        assert states[value] == merged(*map(alone.count, rows))[None]


@each("make", [se.ConfusionAccumulator, se.PRCurveSketch])
def test_refused_batch_leaves_no_trace_in_any_value(make):
    running = RunningCount(SourceCounter.of(make, by="slice"))
    batch = {"y_true": [1, 0], "y_pred": [1, 0], "y_score": [0.5, 0.5], "slice": ["a", "b"]}
    running.add_batch(batch)
    with pytest.raises(se.InvalidInputError, match="`y_true` must hold"):
        running.add_batch(batch | {"y_true": [1, 0.5], "slice": ["a", "c"]})
    running.add_batch(batch | {"slice": ["d", "b"]})
    assert {value: se.from_bytes(state).n for value, state in running.states().items()} == {
        "a": 1,
        "b": 2,
        "d": 1,
    }


def test_values_whose_rows_weigh_nothing_are_there():
    batch = {"y_true": [1, 0], "y_pred": [1, 1], "sample_weight": [2, 0], "slice": [True, False]}
    counting = SourceCounter.of(se.ConfusionAccumulator, by="slice")
    counted = counting.result(counting.count(batch))
    assert {value: acc.n for value, acc in counted.items()} == {False: 0, True: 2}


def test_column_of_too_many_values_is_refused(monkeypatch):
    monkeypatch.setattr("streameval.runs.slices.MAX_SLICES", 2)
    with pytest.raises(se.InvalidInputError, match="`by` must name a column of at most 2 values"):
        SourceCounter.of(se.PRCurveSketch, by="country").count(TABLE)


def test_one_path_is_a_source_and_none_is_refused():
    assert Sources.of("log.csv").paths == ["log.csv"]
    assert Sources.of(iter(["a", "b"])).paths == ["a", "b"]
    with pytest.raises(se.InvalidInputError, match="`sources` must hold at least one"):
        Sources.of([])


def test_made_accumulators_may_have_options():
    counting = SourceCounter.of(partial(se.PRCurveSketch, 64))
    assert counting.result(counting.count(TABLE)).options["budget"] == 64


@pytest.mark.parametrize("name", ADAPTERS)
def test_missing_engine_is_named_with_what_installs_it(name, monkeypatch):
    module, package = ADAPTERS[name]
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, f"streameval.engines.{name}", raising=False)
    with pytest.raises(ImportError) as caught:
        importlib.import_module(f"streameval.engines.{name}")
    assert str(caught.value) == f'{package} is missing: pip install "streameval[{name}]".'


@pytest.mark.parametrize("name", ["log.jsonl", "log.parquet", "log.jsonl.gz"])
def test_columns_of_files_may_be_paths(name, tmp_path):
    rows = [
        {
            "truth": {"label": n % 2},
            "found": [{"p": str(n / 9)}],
            "ctx": {"at": "DE" if n else None},
        }
        for n in range(9)
    ]
    path = tmp_path / name
    if name.endswith("parquet"):
        parquet.write_table(pa.Table.from_pylist(rows), path)
    else:
        lines = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
        path.write_bytes(gzip.compress(lines) if name.endswith("gz") else lines)
    columns = {"y_true": "truth.label", "y_score": "found.0.p"}
    states = SourceCounter.of(se.PRCurveSketch, columns, by="ctx.at").count(path)
    expected = {
        value: se.PRCurveSketch().update([n % 2 for n in ns], [n / 9 for n in ns]).to_bytes()
        for value, ns in ((None, range(1)), ("DE", range(1, 9)))
    }
    assert states == expected


def test_scores_by_class_of_files_are_counted(tmp_path):
    rows = [{"y_true": "ab"[n % 2], "y_score": {"b": n / 9, "a": 1 - n / 9}} for n in range(9)]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    make = partial(se.PRCurveSketch, classes=("a", "b"))
    states = SourceCounter.of(make).count(path)
    scores = [[1 - n / 9, n / 9] for n in range(9)]
    assert states[None] == make().update(["ab"[n % 2] for n in range(9)], scores).to_bytes()


GROUPS = {
    "sliced": se.Sliced(se.ConfusionAccumulator(), "country", values=["DE"], max_values=2),
    "clustered": se.Clustered(se.ConfusionAccumulator(), by="at"),
    "clustered member": se.Collection(
        {
            "users": se.Clustered(se.ConfusionAccumulator(), by="user"),
            "plain": se.ConfusionAccumulator(),
        },
        columns={"users": {"user": "at"}},
    ),
    "windowed": se.Windowed(se.ConfusionAccumulator(), pane="1h", time="at", unit="s"),
    "steps of slices of members": se.Windowed(
        se.Sliced(
            se.Collection({"cm": se.ConfusionAccumulator(), "fit": se.RegressionAccumulator()}),
            "country",
        ),
        pane=5000,
        time="at",
    ),
}


UNREAD = {"sliced": ["at"], "clustered": ["country"], "windowed": ["country"]}
UNREAD |= {"clustered member": ["country"]}


def rows_of_groups(accumulator):
    """Rows of which, where there are panes, some have no label."""
    has_gaps = isinstance(accumulator, se.Windowed)
    return [
        {
            "y_true": None if has_gaps and k % 5 == 0 else k % 2,
            "guess": k % 3 % 2,
            "nation": ["DE", "FR", None][k % 4 % 3],
            "at": 1_700_000_000 + 700 * k,
        }
        for k in range(60)
    ]


def columns_of_groups(rows):
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return {"y_pred": columns.pop("guess"), "country": columns.pop("nation"), **columns}


@pytest.mark.parametrize("name", GROUPS)
@pytest.mark.parametrize("form", ["batch", "parquet", "csv", "jsonl"])
def test_slices_and_windows_are_counted_in_parts(name, form, tmp_path):
    made = GROUPS[name]
    renamed = {"y_pred": "guess", "country": "nation"}
    known = {column: renamed.get(column, column) for column in ("y_pred", "country", "at")}
    kept = {column: known[column] for column in known if column not in UNREAD.get(name, ())}
    counting = pickle.loads(pickle.dumps(SourceCounter.of(made.copy, kept)))
    rows = rows_of_groups(made)
    states = []
    for part in (rows[:25], rows[25:]):
        table = pa.Table.from_pylist(part)
        source = table
        if form != "batch":
            source = tmp_path / f"{len(states)}.{form}"
            write_table(table, source)
        assert "y_true" in counting.names(table.column_names)
        states.append(counting.count(source))
    total = counting.result(merged(*states))
    assert total.to_bytes() == made.copy().update(columns_of_groups(rows)).to_bytes()


def write_table(table, path):
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
    elif path.suffix == ".csv":
        table.to_pandas().astype({"y_true": "Int64"}).to_csv(path, index=False)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))


def test_column_that_splits_rows_must_be_there():
    counting = SourceCounter.of(GROUPS["windowed"].copy)
    with pytest.raises(se.InvalidInputError, match="`at` is missing: the batch has the columns"):
        counting.count(pa.table({"y_true": [1], "y_pred": [1]}))
