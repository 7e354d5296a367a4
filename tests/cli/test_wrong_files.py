"""Files of the wrong type are recognised, and named with the command that reads them."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import shlex
import sqlite3
import subprocess
import threading
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from offenders import each
from pyarrow import feather, parquet

import streameval as se


def array_bytes(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


ROWS = [{"y_true": 1, "y_pred": 1}, {"y_true": 0, "y_pred": 1}]


def parquet_bytes():
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_pylist(ROWS), sink)
    return sink.getvalue().to_pybytes()


def make(name):
    """Write a file of the type that its name says."""
    if name.startswith("state"):
        se.save(se.ConfusionAccumulator().update([1], [1]), name)
    elif name.startswith("parquet"):
        Path(name).write_bytes(parquet_bytes())
    elif name.startswith("arrow"):
        feather.write_feather(pa.Table.from_pylist(ROWS), name)
    elif name.startswith(("sqlite", "db")):
        with sqlite3.connect(name) as connection:
            connection.execute("create table log (y_true)")
    elif name.startswith("zip"):
        with zipfile.ZipFile(name, "w") as archive:
            archive.writestr("log.csv", "y_true,y_pred\n1,1\n")
    elif name.startswith("wb"):
        with zipfile.ZipFile(name, "w") as archive:
            archive.writestr("[Content_Types].xml", "<Types/>")
    else:
        with Path(name).open("wb") as file:
            np.save(file, np.arange(3))
    return name


ARROW = """is an Arrow file; `python -c 'import pandas as p, sys; \
p.read_feather(sys.argv[1]).to_parquet("log.parquet")' arrow` writes Parquet."""
ARRAY = """is a NumPy file; `python -c 'import numpy as n, sys; \
n.savetxt("log.csv", n.load(sys.argv[1]), delimiter=",")' npy` writes CSV without a header."""
WORKBOOK = "is a workbook; save its sheet as CSV, or `soffice --headless --convert-to csv wb` does."
STATE = "is a state, not a log; `streameval show` reads it."


@pytest.mark.parametrize("command", [(), ("--format", "csv"), ("--format", "jsonl")])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("state", STATE),
        ("state.csv", STATE),
        ("arrow", ARROW),
        (
            "db",
            "is a SQLite database; `sqlite3 -csv -header db 'SELECT ...' > log.csv` writes CSV.",
        ),
        ("zip 1", "is a ZIP archive; `unzip -p 'zip 1' | streameval eval -` reads a file in it."),
        ("wb", WORKBOOK),
        ("npy", ARRAY),
    ],
)
def test_eval_recognises(name, message, command, folder, call):
    done = call("eval", make(name), *command)
    assert (done.code, done.err) == (3, f"streameval: error: {name}: {message}\n")


@each(
    "head",
    [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"\xff\xd8\xff\xe0\0\x10JFIF", b"GIF89a", b"%PDF-1.7"],
)
def test_eval_says_that_a_picture_in_a_folder_is_not_text(head, folder, call):
    (folder / "log").mkdir(exist_ok=True)
    (folder / "log/a.csv").write_text("y_true,y_pred\n1,1\n")
    (folder / "log/b").write_bytes(head + bytes(range(256)))
    for options in ((), ("--encoding", "cp1252")):
        done = call("eval", "log", *options)
        message = "log/b: is a picture or a PDF, not text; name the files to read."
        assert (done.code, done.err) == (3, f"streameval: error: {message}\n")


DRAWN = {
    "psql": " y_true | y_pred \n--------+--------\n      1 |      1\n      0 |      1\n(2 rows)\n",
    "mysql": "+--------+--------+\n| y_true | y_pred |\n+--------+--------+\n| 1      | 1      |\n"
    "| 0      | 1      |\n+--------+--------+\n",
    "to_markdown": "| y_true | y_pred |\n|---:|:---|\n| 1 | 1 |\n| 0 | 1 |\n",
    "prettier": "| y_true | y_pred |\n| --- | :-: |\n| 1 | 1 |\n| 0 | 1 |\n",
}


@each("name", list(DRAWN))
def test_eval_names_the_command_that_reads_a_drawn_table(name, folder, call, stdin):
    (folder / "my log").write_text(DRAWN[name])
    said = call("eval", "my log").err
    assert said.startswith("streameval: error: my log: is a table drawn for people; `")
    command, _, options = said.split("`")[1].partition(" | streameval eval - ")
    stdin(subprocess.run(command, shell=True, capture_output=True, check=True).stdout)
    done = call("eval", "-", *shlex.split(options), "--json")
    assert (done.json["rows"], done.json["metrics"]["accuracy"]) == (2, 0.5)


@each("title", ["", "shape: (2, 1)\n"])
def test_eval_names_the_command_that_writes_what_duckdb_and_polars_draw(title, folder, call):
    (folder / "log").write_text(f"{title}┌────────┐\n│ y_true │\n└────────┘\n", "utf-8")
    said = (
        "log: is a table drawn for people; `duckdb -csv -c 'SELECT ...' > log.csv` writes CSV, and"
    )
    assert call("eval", "log", "--max-bad", "9").err.startswith(
        f"streameval: error: {said} so does"
    )


def test_eval_names_the_command_that_reads_line_ends_of_old_macs(folder, call, stdin):
    (folder / "my log").write_bytes(b"y_true,y_pred\r1,1\r0,1\r")
    said = call("eval", "my log").err
    assert said.startswith("streameval: error: my log: has carriage returns for line ends; `")
    command, _, _ = said.split("`")[1].partition(" | streameval eval -")
    stdin(subprocess.run(command, shell=True, capture_output=True, check=True).stdout)
    assert call("eval", "-", "--json").json["rows"] == 2
    (folder / "log").write_bytes(b'y_true,y_pred,"a\rb"\r\n1,1,2\r\n')
    assert call("eval", "log", "--json").json["rows"] == 1


@each("title", ["[log start]", "[[log] start]", "[", "[1] start", "[" * 9999])
def test_titles_in_brackets_are_no_lists(title, folder, call):
    (folder / "log").write_text(f"{title}\ny_true,y_pred\n1,1\n0,1\n")
    assert call("eval", "log", "--json").json["rows"] == 2


NAMED = "[$n, .] | transpose | map({(.[0]): .[1]}) | add"


@pytest.mark.parametrize("ending", ["", ".json", ".json.gz"])
@pytest.mark.parametrize(
    ("text", "jq"),
    [
        ("[[1, 1], [0, 1]]", "-c '.[] | {A: .[0], B: .[1]}'"),
        ("[1, 1]\n[0, 1]\n", "-c '{A: .[0], B: .[1]}'"),
        ('[["A", "B"],\n [1, 1], [0, 1]]', f"-c '.[0] as $n | .[1:][] | {NAMED}'"),
        ('["A", "B", "C"]\n[1, 1, [1, 2]]\n[0, 1, []]\n', f"-nc 'input as $n | inputs | {NAMED}'"),
    ],
)
def test_eval_names_the_command_that_reads_lists(text, jq, ending, folder, call, stdin):
    packed = gzip.compress(text.encode()) if ending.endswith("gz") else text.encode()
    (folder / f"a{ending}").write_bytes(packed)
    said = call("eval", f"a{ending}").err
    command, _, _ = said.partition(" reads ")
    _, _, command = command.partition("an object; ")
    assert f"jq {jq} " in f"{command} "
    before, named, rest = command.rpartition(" | streameval eval -")
    assert (bool(before), named, rest) == (True, " | streameval eval -", "")
    stdin(subprocess.run(before, shell=True, capture_output=True, check=True).stdout)
    found = call("eval", "-", "--y-true", "A", "--y-pred", "B", "--json").json
    assert (found["rows"], found["metrics"]["accuracy"]) == (2, 0.5)


def test_eval_names_the_command_that_exports_records_of_psql(folder, call):
    (folder / "log").write_text("-[ RECORD 1 ]\ny_true | 1\ny_pred | 1\n")
    said = "log: is a table drawn for people; `psql -X --csv -c 'SELECT ...' > log.csv` writes CSV."
    assert call("eval", "log").err == f"streameval: error: {said}\n"


@each("name", ["state", "sqlite"])
def test_eval_recognises_what_was_called_parquet(name, folder, call):
    done = call("eval", make(name), "--format", "parquet")
    assert done.code == 3
    assert done.err.startswith(f"streameval: error: {name}: is a ")
    assert "sound" not in done.err


def test_eval_recognises_a_state_on_standard_input(folder, call, stdin):
    stdin(se.ConfusionAccumulator().update([1], [1]).to_bytes())
    done = call("eval", "-")
    assert (done.code, done.err) == (3, f"streameval: error: standard input: {STATE}\n")


def test_eval_recognises_a_state_among_files_of_a_run(folder, call):
    (folder / "a.qrels").write_text("q1 0 d1 1\n")
    done = call("eval", make("state"), "--task", "ranking", "--qrels", "a.qrels")
    assert (done.code, done.err) == (3, f"streameval: error: state: {STATE}\n")


@pytest.mark.parametrize("options", [(), ("--format", "csv")])
def test_eval_recognises_parquet_on_standard_input(options, folder, call, stdin):
    stdin(parquet_bytes())
    done = call("eval", "-", *options)
    message = (
        "standard input: is a Parquet file, which cannot be read from a pipe; save it, and "
        "`streameval eval FILE.parquet` reads it."
    )
    assert (done.code, done.err) == (3, f"streameval: error: {message}\n")


def test_eval_reads_parquet_by_its_first_bytes(folder, call):
    done = call("eval", make("parquet"), "--json")
    assert (done.code, done.json["rows"]) == (0, 2)


def test_eval_recognises_parquet_of_another_name(folder, call):
    done = call("eval", make("parquet.csv"))
    message = "parquet.csv: is a Parquet file; --format parquet reads it."
    assert (done.code, done.err) == (3, f"streameval: error: {message}\n")
    assert call("eval", "parquet.csv", "--format", "parquet").code == 0


@each(
    ("data", "what"),
    [
        (b'{"y_true": 1}\n', "a log of JSON lines"),
        (b'\xef\xbb\xbf [{"y_true": 1}]\n', "a log of JSON lines"),
        (gzip.compress(b'{"y_true": 1}\n', mtime=0), "a log of JSON lines"),
        (b"y_true,y_pred\r\n1,1\r\n", "a table of text"),
        ("é;ü\n1;1\n".encode(), "a table of text"),
        (("a," * 600 + "é" * 3000).encode(), "a table of text"),
        (b"y_true\ty_pred\n", "a table of text"),
        (b"q1 Q0 d1 1 0.5 tag\n", "a TREC run"),
        (parquet_bytes(), "a Parquet file"),
    ],
)
@each("command", [("show",), ("merge", "-o", "out"), ("diff", "log")])
def test_states_are_not_logs(data, what, command, folder, call):
    (folder / "log").write_bytes(data)
    done = call(*command, "log")
    message = f"log: is {what}, not a state; `streameval eval` reads it."
    assert (done.code, done.err) == (3, f"streameval: error: {message}\n")


@each(
    "data",
    [
        b"",
        b"\x00\x01,",
        b"a word",
        b"\xff\xfe,\n",
        gzip.compress(b"a,b", mtime=0)[:12],
        b"BZh91AY&SY,,,,",
    ],
)
def test_show_leaves_open_what_it_does_not_recognise(data, folder, call):
    (folder / "log").write_bytes(data)
    done = call("show", "log")
    assert (done.code, "is corrupt" in done.err) == (3, True)


def test_show_does_not_look_twice_at_a_pipe(folder, call):
    os.mkfifo("pipe")
    writer = threading.Thread(target=Path("pipe").write_bytes, args=(b'{"y_true": 1}\n' * 9,))
    writer.start()
    done = call("show", "pipe")
    writer.join()
    assert (done.code, "is corrupt" in done.err) == (3, True)


def test_eval_refuses_bytes_that_are_no_text_before_it_looks_for_a_line(folder, call):
    with Path("holes.jsonl").open("wb") as file:
        file.truncate(2**30)
    message = "holes.jsonl: begins with a NUL byte; it is not text."
    assert call("eval", "holes.jsonl").err == f"streameval: error: {message}\n"


PREDICTIONS = pd.DataFrame({"y_true": [1, 0, 1], "y_pred": [1, 1, 1]})
ROWS_OF_SQL = "(1, 1),\n(0, 1),\n(1, 1);\n"
COPIED = '(y_true, "y_pred") FROM stdin;\n1\t1\n0\t1\n1\t1\n\\.\n\nCOPY b (a) FROM stdin;\n1\n\\.\n'
DUMPS = {
    "set": f"SET a = 1;\nCOPY public.preds {COPIED}",
    "copy": f"COPY public.preds {COPIED}",
    "pg_dump": f"--\n-- PostgreSQL database dump\n--\n\n\\restrict a\n\nCOPY p {COPIED}",
    "create": f"CREATE TABLE p (y_true INT, y_pred INT);\nINSERT INTO p VALUES {ROWS_OF_SQL}",
    "sqlite": 'PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE IF NOT EXISTS "my p"'
    f'(y_true, y_pred);\nINSERT INTO "my p" VALUES{ROWS_OF_SQL}COMMIT;\n',
    "inserts": "INSERT INTO p (y_true, y_pred) VALUES (1, 1);\nINSERT INTO p (y_true, y_pred)\n"
    "VALUES (0, 1);\nINSERT INTO p (y_true, y_pred) VALUES (1, 1);\n",
    "texts": "/* of a(b) */\nINSERT INTO p (y_true, y_pred) VALUES ('f(a,b)', 'f(a,b)'), "
    "('x', 'f(a,b)'), ('f(a,b)', 'f(a,b)');\n",
}


def write(path, text):
    path.write_text(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "write", "options"),
    [
        ("a.pkl", PREDICTIONS.to_pickle, ()),
        ("a.feather", PREDICTIONS.to_feather, ()),
        ("a.npy", lambda path: np.save(path, PREDICTIONS), ("--header", "y_true,y_pred")),
        *(
            (f"{number}.pkl", partial(PREDICTIONS.to_pickle, protocol=number), ())
            for number in (2, 3, 4)
        ),
        *((f"{name}.sql", partial(write, text=text), None) for name, text in DUMPS.items()),
    ],
)
def test_refusal_names_a_command_that_makes_a_log(name, write, options, folder, call, stdin):
    write(folder / name)
    said = call("eval", name).err
    command = said.partition("`")[2].partition("`")[0]
    before, piped, after = command.partition(" | streameval eval -")
    done = subprocess.run(before, shell=True, capture_output=True, check=True)
    if piped:
        stdin(done.stdout)
    made = ["-"] if piped else [path.name for path in folder.glob("log.*")]
    options = shlex.split(after) if options is None else options
    found = call("eval", *made, *options, "--json").json
    assert (found["rows"], found["metrics"]["accuracy"]) == (3, 2 / 3)


@each("ending", ["", ".gz"])
def test_commands_for_packed_and_piped_files_name_one_to_save(ending, folder, call, stdin):
    data = DUMPS["texts"].encode()
    (folder / "in.sql.gz").write_bytes(gzip.compress(data))
    stdin(data)
    said = call("eval", "in.sql.gz" if ending else "-").err
    first, then = said.split("`")[1::2] if ending else ("cat in.sql > FILE", said.split("`")[1])
    (folder / "in.sql").write_bytes(data)
    assert "save it as FILE first, and `" in said or first == "gzip -dc in.sql.gz > FILE"
    for command in (first, then.partition(" | streameval")[0]):
        done = subprocess.run(command, shell=True, capture_output=True, check=True)
    stdin(done.stdout)
    assert call("eval", "-", "--json").json["rows"] == 3


LOAD = "is a dump of SQL; load it into its database, and save a SELECT as CSV."


@each(
    ("data", "said"),
    [
        (b"-- MySQL dump 10.13\n/*!40101 SET NAMES utf8 */;\nDROP TABLE IF EXISTS `t`;\n", LOAD),
        (b"--\n-- PostgreSQL database dump\n--\nSET a = 1;\nCREATE TABLE p.t (\n", LOAD),
        (b"CREATE TABLE p.t (\n", LOAD),
        (b"INSERT INTO p VALUES (1, 1);\n", LOAD),
        (
            pickle.dumps([{"a": 1}]),
            "is a pickle; save what it holds as CSV, Parquet or JSON lines.",
        ),
        (pickle.dumps(np.arange(3), 2), "is a pickle; save what it holds as CSV, Parquet or JSON"),
        (array_bytes(np.zeros((1, 1, 1))), "is a NumPy file; save what it holds as the columns of"),
        (
            array_bytes(np.array(["a"])),
            "is a NumPy file; save what it holds as the columns of a CSV",
        ),
        (b"<!doctype html>\n<body>", "is HTML; save its table as CSV."),
        (b"<!doctype html>\n<body><table>", "is HTML; `python -c "),
    ],
)
def test_no_command_is_named_that_may_fail(data, said, folder, call):
    (folder / "log").write_bytes(data)
    assert f"log: {said}" in call("eval", "log").err


@each(
    "text",
    [
        "query,y_true,y_pred\nCREATE TABLE t,1,0\nSELECT 1,1,1\n",
        "query,y_true,y_pred\nCREATE TABLE t (a),1,0\nINSERT INTO t (a) VALUES (1),1,1\n",
        '--query;y_true;y_pred\n"COPY t (a) FROM stdin;";1;0\nSELECT 1;1;1\n',
    ],
)
def test_tables_that_hold_sql_are_no_dumps(text, folder, call):
    (folder / "s.csv").write_text(text)
    assert call("eval", "s.csv", "--json").json["rows"] == 2


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"<table border=1>\n<tr>", "log: is HTML; `python -c "),
        (b"<?xml version='1.0'?>\n<rows>", "log: is XML; `python -c "),
    ],
)
def test_pages_are_named_with_what_reads_them(data, said, folder, call):
    (folder / "log").write_bytes(data)
    assert said in call("eval", "log").err


def test_archives_of_arrays_are_named(folder, call):
    np.savez(folder / "a.npz", y_true=[1], y_pred=[1])
    assert "a.npz: holds NumPy arrays; save them as" in call("eval", "a.npz").err
