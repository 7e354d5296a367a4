"""Rows as the file has them, by the numbers that blocks give them."""

import json

import pytest

from streameval.io.csv_rows import CsvBlock, CsvLayout
from streameval.io.json_lines import JsonBlock
from streameval.io.messages import FieldEntries, JsonMessages, raw_rows


def test_lines_of_json_are_found_by_number():
    block = JsonBlock("f", 10, b'{"a": "\\""}\n{\n\xff', 12)
    assert list(raw_rows(block, [12, 10])) == [b"\xff", b'{"a": "\\""}']


def test_rows_of_a_table_include_their_quoted_lines():
    layout = CsvLayout(("x", "y"), ",")
    block = CsvBlock("f", 2, b'1,a\n2,"b\nc"\n3,"open', 20, layout=layout)
    assert list(raw_rows(block, [2, 3, 5])) == [b"1,a", b'2,"b\nc"', b'3,"open']


def test_messages_are_found_by_their_ids():
    block = JsonMessages.of("topic", [7, 9], [b"{}", b"{bad"])
    assert list(raw_rows(block, [9])) == [b"{bad"]


def test_entries_of_fields_are_shown_as_json():
    block = FieldEntries("stream", ["1-0", "2-0"], [{b"a": b"1"}, {b"a": b"\xff"}], 9)
    (row,) = raw_rows(block, ["2-0"])
    assert json.loads(row) == {"a": "\\xff"}


def test_rows_of_parquet_are_shown_as_json(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    from streameval.io.parquet import ParquetBlock

    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.table({"a": [1, 2, 3]}), path)
    (row,) = raw_rows(ParquetBlock(str(path), 0, 11, 9), [12])
    assert json.loads(row) == {"a": 2}
