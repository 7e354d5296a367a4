"""Columns that the folders of a file name."""

from __future__ import annotations

import json
import pickle

import pyarrow as pa
import pytest
from offenders import each
from pyarrow import csv, parquet

from streameval.io.columns import Argument, Labels, Numbers, Texts
from streameval.io.formats import read_blocks
from streameval.io.row_filters import Condition, RowFilter
from streameval.runs.files import PartitionBlock, partitions_of, with_partition

FORMS = ["parquet", "csv", "jsonl"]
ROWS = {"y_true": [1, 0, 1], "note": ["a", "b", "c"]}


def write(path, columns=ROWS):
    """Write columns to a file of the format that its name says."""
    table = pa.table(columns)
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
    elif path.suffix == ".csv":
        csv.write_csv(table, path)
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in table.to_pylist()))
    return str(path)


def blocks(path, values, names=None):
    return list(with_partition(read_blocks(path), values, names))


@each(
    ("files", "expected"),
    [
        (["a.csv"], [()]),
        (["log/day=3/a.csv"], [(("day", 3),)]),
        (["c=DE/d=3/a", "c=FR/d=-4/b"], [(("c", "DE"), ("d", 3)), (("c", "FR"), ("d", -4))]),
        (["d=3/a", "d=007/b"], [(("d", "3"),), (("d", "007"),)]),
        (["d=3/a", "d=__HIVE_DEFAULT_PARTITION__/b"], [(("d", 3),), (("d", None),)]),
        (["city=S%C3%A3o%20Paulo/a"], [(("city", "São Paulo"),)]),
        (["d=a=b/x"], [(("d", "a=b"),)]),
        (["=3/x", "d=1.csv"], [(), ()]),
        (["log\\d=3\\a.csv"], [(("d", 3),)]),
    ],
)
def test_partitions_are_read_from_paths(files, expected):
    assert partitions_of(files) == expected


@pytest.mark.parametrize("form", FORMS)
def test_values_are_columns_of_every_row(form, tmp_path):
    (block,) = blocks(write(tmp_path / f"log.{form}"), (("country", "DE"), ("weight", 3)))
    block = pickle.loads(pickle.dumps(block))
    assert [row["country"] for row in block.rows()] == ["DE"] * 3
    columns = [
        Argument("y_true", ("y_true",), Labels(integers=True)),
        Argument("slice", ("country",), Texts()),
        Argument("sample_weight", ("weight",), Numbers()),
        Argument("pair", ("country", "note"), Texts()),
    ]
    batch = block.parse(columns).batch
    assert batch["y_true"].tolist() == [1, 0, 1]
    assert batch["slice"].tolist() == ["DE"] * 3
    assert batch["sample_weight"].tolist() == [3.0] * 3
    assert batch["pair"].tolist() == [["DE", "a"], ["DE", "b"], ["DE", "c"]]
    assert block.unit in ("line", "row")


@pytest.mark.parametrize(("wanted", "n_kept"), [("DE", 3), ("FR", 0)])
def test_filters_see_the_values(wanted, n_kept, tmp_path):
    (block,) = blocks(write(tmp_path / "log.csv"), (("country", "DE"),))
    where = RowFilter((Condition("country", "=", (wanted,)),))
    parsed = block.parse([Argument("y_true", ("y_true",), Labels(integers=True))], where)
    assert (len(parsed.row_ids), parsed.n_left_out) == (n_kept, 3 - n_kept)


def test_a_value_that_does_not_fit_makes_bad_rows(tmp_path):
    (block,) = blocks(write(tmp_path / "log.csv"), (("weight", "heavy"),))
    parsed = block.parse([Argument("sample_weight", ("weight",), Numbers())])
    assert parsed.faults[0] == (2, "`weight` must be a number, got 'heavy'")
    assert len(parsed.faults) == 3


@pytest.mark.parametrize("form", FORMS)
def test_a_column_of_the_file_comes_first(form, tmp_path):
    path = write(tmp_path / f"log.{form}")
    (block,) = blocks(path, (("note", "z"), ("country", "DE")))
    rows = list(block.rows())
    assert [(row["note"], row["country"]) for row in rows] == [(n, "DE") for n in "abc"]
    (whole,) = blocks(path, (("note", "z"),))
    assert not isinstance(whole, PartitionBlock)


def test_values_that_nobody_reads_change_nothing(tmp_path):
    path = write(tmp_path / "log.csv")
    assert blocks(path, (("country", "DE"),), {"y_true"}) == list(read_blocks(path))


def test_a_file_without_rows_stays_empty(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("")
    assert blocks(str(path), (("country", "DE"),)) == []
