"""Recognition of file types by their first bytes, with advice on how to read them."""

from __future__ import annotations

import codecs
import re
import shlex
from pathlib import Path

from streameval.errors import BadDataError, Named
from streameval.io.packed import UNPACKING
from streameval.io.streams import STANDARD_INPUT, name_of, opened
from streameval.states.type_ids import MAGIC

PARQUET_MAGIC = b"PAR1"

_MAX_LINE = 1000
_MAX_HEAD = 4096
_MAX_NAME = 100  # bytes in which the first file of an archive is named
_UTF_16 = "is UTF-16; `iconv -f UTF-16 -t UTF-8 {file} > log.csv` writes UTF-8."
_WORKBOOK = (
    "is a workbook; save its sheet as CSV, or `soffice --headless --convert-to csv {file}` does."
)
_ARRAYS = "holds NumPy arrays; save them as the columns of a CSV."
_DRAWN = "is a table drawn for people; "
_PIPED = "| streameval eval - --delimiter '|'` reads it."
_FORMS: dict[bytes, str] = {
    rb"(?s)(?:PK\x03\x04|\s*<\?xml).*(?:\[Content_Types\]\.xml|opendocument)": _WORKBOOK,
    rb"\xd0\xcf\x11\xe0": _WORKBOOK,
    rb"(?s)PK\x03\x04.{0,92}\.npy": _ARRAYS,
    rb"PK\x03\x04": "is a ZIP archive; `unzip -p {file} | streameval eval -` reads a file in it.",
    re.escape(MAGIC): "is a state, not a log; `streameval show` reads it.",
    rb"ARROW1\0": (
        "is an Arrow file; `python -c 'import pandas as p, sys; "
        'p.read_feather(sys.argv[1]).to_parquet("log.parquet")\' {file}` writes Parquet.'
    ),
    rb"SQLite format 3\0": (
        "is a SQLite database; `sqlite3 -csv -header {file} 'SELECT ...' > log.csv` writes CSV."
    ),
    rb"Obj\x01": "is an Avro file; save it as Parquet or JSON lines.",
    rb"(?s)\x80(?:[\2\3]c|[\4\5]\x95.{8}\x8c.)pandas[a-z.]*(?:\n|\x94\x8c\t)DataFrame": (
        "is a pickle; `python -c 'import pandas as p, sys; "
        'p.read_pickle(sys.argv[1]).to_csv("log.csv")\' {file}` writes its data frame as CSV.'
    ),
    rb"\x80[\2-\5][^,;\t]": "is a pickle; save what it holds as CSV, Parquet or JSON lines.",
    rb"(?s)\x93NUMPY.{4,6}\{'descr': '[<>|][biuf]\d+', .*'shape': \(\d+,(?: \d+)?\)": (
        'is a NumPy file; `python -c \'import numpy as n, sys; n.savetxt("log.csv", '
        'n.load(sys.argv[1]), delimiter=",")\' {file}` writes CSV without a header.'
    ),
    rb"\x93NUMPY": "is a NumPy file; save what it holds as the columns of a CSV.",
    rb"(?is)\s*(?=<(?:!DOCTYPE html|html|table)\b).*<table": (
        "is HTML; `python -c 'import pandas as p, sys; "
        'p.read_html(sys.argv[1])[0].to_csv("log.csv")\' {file}` writes its first table as CSV.'
    ),
    rb"(?i)\s*<(?:!DOCTYPE html|html|table)\b": "is HTML; save its table as CSV.",
    rb"\s*<\?xml": (
        "is XML; `python -c 'import pandas as p, sys; "
        'p.read_xml(sys.argv[1]).to_csv("log.csv")\' {file}` writes its rows as CSV.'
    ),
    rb"(?:shape: .*\s+)?\xe2\x94\x8c": (
        f"{_DRAWN}`duckdb -csv -c 'SELECT ...' > log.csv` writes CSV, and so does write_csv of "
        "polars."
    ),
    rb"-\[ RECORD 1 \]": f"{_DRAWN}`psql -X --csv -c 'SELECT ...' > log.csv` writes CSV.",
    rb" .* \| .*\r?\n-+(?:\+-+)+\s": f"{_DRAWN}`grep '|' {{file}} {_PIPED}",
    rb"(?:\+-[-+]*\+\s*)?\| .*\|\s*[|+][-: |+]+[|+]\s": (
        rf"{_DRAWN}`sed -n '/---/d; s/^ *| \(.*\) | *$/\1/p' {{file}} {_PIPED}"
    ),
    rb"\x89PNG|\xff\xd8\xff|GIF8|%PDF-": "is a picture or a PDF, not text; name the files to read.",
    rb"\xff\xfe|\xfe\xff|(?s:[^\0]\0)": _UTF_16,
    rb"\0": "begins with a NUL byte; it is not text.",
    rb'[^\n"]*\r[^\r\n][^\n]*\Z': (
        r"has carriage returns for line ends; `tr '\r' '\n' < {file} | streameval eval -` reads it."
    ),
}
"""How files of other types begin, and what makes CSV or Parquet of them; the first that fits."""
_SQL = re.compile(
    rb"(?:\s|--[^\n]*\n|/\*[^*]*\*+(?:[^*/][^*]*\*+)*/;?)*"
    rb"(?:(?:ALTER|BEGIN|COPY|CREATE|DROP|INSERT|LOCK|PRAGMA|SELECT|SET|START|USE) |BEGIN;|\\)"
)
"""How dumps of SQL begin: with a statement below comments."""
_NOT_OF_SQLITE = re.compile(r"`|/\*!|ENGINE=|(?:My|Postgre)SQL|MariaDB")
_DUMP = re.compile(r"(?m)^(?:CREATE TABLE|INSERT INTO) [^,]+\(|^-- .*(?:SQL|DB).* dump")
_LOADED = "is a dump of SQL; load it into its database, and save a SELECT as CSV."
_COPIED = re.compile(r"(?m)^COPY [^;]*\(([^;']*)\) FROM stdin;")
_NAME = r"""("[^"'\n]+"|\w+)\s*"""
_TABLE = re.compile(
    rf"(?m)^CREATE TABLE (?:IF NOT EXISTS )?{_NAME}\(|^INSERT INTO {_NAME}(\([^;()']*\))\s*VALUES"
)


def check_is_text(head: bytes, source: str) -> None:
    """Refuse a file whose first bytes are not rows of text.

    Raises
    ------
    BadDataError
        If the file has another known type; the message says how to read it.
    """
    head = head[:_MAX_HEAD]
    if head.startswith(PARQUET_MAGIC):
        raise BadDataError(
            f"{source}: is a Parquet file; ", Named("format", "parquet"), " reads it."
        )
    known = (said for form, said in _FORMS.items() if re.match(form, head))
    advice = next(known, "") or _of_dump(head)
    if advice:
        raise BadDataError(f"{source}: {_about(advice, source)}")


def _about(advice: str, source: str) -> str:
    """Name a file in the command that reads it, which needs one that is not packed."""
    suffix = Path(source).suffix
    is_piped = source == name_of(STANDARD_INPUT)
    if "{file}" not in advice or not (is_piped or suffix in UNPACKING):
        return advice.replace("{file}", shlex.quote(source))
    saved = "save it as FILE" if is_piped else f"`{UNPACKING[suffix]} {shlex.quote(source)} > FILE`"
    what, _, command = advice.partition("; ")
    return f"{what}; {saved} first, and {command.replace('{file}', 'FILE')}"


def _of_dump(head: bytes) -> str:
    """Name the command that makes CSV of a dump of SQL; empty if it is none."""
    text = head.decode("utf-8", "replace") if _SQL.match(head) else ""
    if copied := _COPIED.search(text):
        return (
            r"is a dump of PostgreSQL; `awk '/^\\\.\r?$/{exit} on; /^COPY /{on=1}' {file} | "
            "streameval eval - --delimiter tab --header '{names}'` reads its first table."
        ).replace("{names}", re.sub(r'\s*"\s*|\s*(,)\s*', r"\1", copied[1]))
    table = None if _NOT_OF_SQLITE.search(text) else _TABLE.search(text)
    if table is not None:
        name, columns = table[1] or table[2], table[3]
        make = f"echo 'CREATE TABLE {name} {' '.join(columns.split())};'; " if columns else ""
        return (
            f"is a dump of SQL; `({make}cat {{file}}; echo 'SELECT * FROM {name};') | "  # noqa: S608
            "sqlite3 -csv -header | streameval eval -` reads its first table."
        )
    is_dump = _DUMP.search(text) is not None
    return _LOADED if is_dump else ""


def log_type_of(path: str) -> str | None:
    """Tell which type of log a file looks like; None if it does not look like a log.

    Raises
    ------
    BadDataError
        If it cannot be read.
    """
    with opened(path) as stream:
        head = stream.peek()
    if head.startswith(PARQUET_MAGIC):
        return "a Parquet file"
    text = head.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape").lstrip()
    line = text.partition("\n")[0].rstrip("\r")[:_MAX_LINE]
    if line.startswith(("{", "[")):
        return "a log of JSON lines"
    if not line.replace("\t", "").isprintable():
        return None
    if is_of_run(line):
        return "a TREC run"
    return "a table of text" if any(delimiter in line for delimiter in ",\t;|") else None


def is_of_run(line: str) -> bool:
    """Tell whether a line looks like one of a TREC run.

    >>> is_of_run("301 Q0 d7 1 3.5 bm25"), is_of_run("y_true,y_pred")
    (True, False)
    """
    fields = line.split()
    return len(fields) >= 5 and fields[1] in ("Q0", "0")
