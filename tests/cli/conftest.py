import csv
import gzip
import io
import json
import sys
from types import SimpleNamespace

import attrs
import pyarrow as pa
import pytest
from cli.ranking_data import qrels_text, run_text
from pyarrow import parquet

import streameval as se
from streameval.cli import eval_run, main
from streameval.io import lines
from streameval.runs import judged_runs, slices


@attrs.frozen
class Call:
    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, so that messages name files alone."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def small_buffers(monkeypatch):
    """Read, count and hold a sixteenth or less at a time, so that a small file fills them all."""
    monkeypatch.setattr(lines, "PIECE_BYTES", 2**15)
    monkeypatch.setattr(judged_runs, "_ROWS", 2**12)
    monkeypatch.setattr(slices.ValueCounts.__init__, "__defaults__", (2**12,))
    monkeypatch.setattr(eval_run, "_MAX_BYTES", 2**20)


@pytest.fixture
def call(folder, capsys):
    """Run the command line in this process."""

    def call(*arguments):
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return Call(code, *capsys.readouterr())

    return call


@pytest.fixture
def on_a_terminal(monkeypatch):
    """Let commands of this process print on a terminal of some width."""

    def on_a_terminal(width):
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)

    return on_a_terminal


@pytest.fixture
def stdin(monkeypatch):
    def stdin(data):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))

    return stdin


@pytest.fixture
def write(folder):
    """Write rows to a file in the format that its name tells."""

    def write(name, rows):
        (folder / name).write_bytes(_packed(name, rows))
        return name

    return write


def _packed(name, rows):
    if name.endswith(".gz"):
        return gzip.compress(_packed(name.removesuffix(".gz"), rows))
    if name.endswith(".parquet"):
        sink = pa.BufferOutputStream()
        parquet.write_table(pa.Table.from_pylist(rows), sink, row_group_size=64)
        return sink.getvalue().to_pybytes()
    if name.endswith(".jsonl"):
        return "".join(json.dumps(row) + "\n" for row in rows).encode()
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, rows[0], delimiter="\t" if name.endswith(".tsv") else ",")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


@pytest.fixture
def labels(write):
    """A log of 200 rows of three labels, 80 % of them right."""
    rows = [{"id": n, "y_true": n % 3, "y_pred": (n + (n % 5 == 0)) % 3} for n in range(200)]
    return write("labels.jsonl", rows)


@pytest.fixture
def run(folder):
    """A run, beside its judgments."""
    (folder / "a.run").write_text(run_text())
    (folder / "a.qrels").write_text(qrels_text())
    return "a.run"


@pytest.fixture
def save(folder):
    """Save a state in the folder, and return its name."""

    def save(name, accumulator):
        se.save(accumulator, name)
        return name

    return save
