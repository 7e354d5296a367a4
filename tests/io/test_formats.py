import gzip
import io
import subprocess
import sys
from types import SimpleNamespace

import pytest
from offenders import each

from streameval.io.formats import format_of, read_blocks


@each(
    ("name", "form"),
    [
        ("a.jsonl", "jsonl"),
        ("a.ndjson.gz", "jsonl"),
        ("a.json", "jsonl"),
        ("A.CSV", "csv"),
        ("b.csv.GZ", "csv"),
        ("a.tsv", "tsv"),
        ("a.parquet", "parquet"),
        ("a.pq", "parquet"),
        ("a.txt", None),
        ("a.gz", None),
        ("a.jsonl.bz2", "jsonl"),
        ("a.csv.xz", "csv"),
        ("a.tsv.zst", "tsv"),
        (".gz", None),
        ("-", None),
    ],
)
def test_format_is_told_by_the_name(name, form):
    assert format_of(name) == form


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ('{"a": 1}\n', {"a": 1}),
        ('\ufeff\n {"a": 1}\n', {"a": 1}),
        ("a,b\n1,2\n", {"a": 1, "b": 2}),
        ("a\tb\n1\t2\n", {"a": 1, "b": 2}),
        ("a,b\n1\t,2\n", {"a": 1, "b": 2}),
    ],
    ids=["json", "json after a mark", "csv", "tsv", "csv with a tab"],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_format_is_told_by_the_content_when_the_name_does_not(text, row, pack, monkeypatch):
    data = io.BytesIO(pack(text.encode()))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=data))
    assert [next(block.rows()) | row for block in read_blocks("-")] == [row]


@pytest.mark.parametrize("text", ['[{"a": 1}]', '[\n  {"a": 1}\n]'], ids=["one line", "lines"])
def test_array_of_objects_is_read_item_by_item(text, monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
    assert [block.unit for block in read_blocks("-")] == ["item"]


def test_format_of_a_bracketed_header_is_a_table(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"[a],[b]\n1,2\n")))
    (block,) = read_blocks("-")
    assert list(block.rows()) == [{"[a]": 1, "[b]": 2}]


def test_format_given_wins_over_the_name(tmp_path):
    (tmp_path / "a.csv").write_text('{"a": 1}')
    (block,) = read_blocks(str(tmp_path / "a.csv"), "jsonl")
    assert list(block.rows()) == [{"a": 1}]


@pytest.mark.slow
def test_reading_text_does_not_import_pyarrow():
    code = "import sys, streameval.cli; print('pyarrow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
