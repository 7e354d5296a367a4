"""Recognition of file types by their first bytes, with advice on how to read them."""

from __future__ import annotations

import codecs
import re
import shlex

from streameval.errors import BadDataError, Named
from streameval.io.streams import opened
from streameval.states.type_ids import MAGIC

PARQUET_MAGIC = b"PAR1"

_MAX_LINE = 1000
_MAX_HEAD = 4096
_MAX_NAME = 100  # bytes in which the first file of an archive is named
_UTF_16 = "is UTF-16; `iconv -f UTF-16 -t UTF-8 {file} > log.csv` writes UTF-8."
_WORKBOOK = (
    "is a workbook; save its sheet as CSV, or `soffice --headless --convert-to csv {file}` does."
)
_FOREIGN: dict[bytes, str] = {
    codecs.BOM_UTF16_LE: _UTF_16,
    codecs.BOM_UTF16_BE: _UTF_16,
    MAGIC: "is a state, not a log; `streameval show` reads it.",
    b"ARROW1\0": (
        "is an Arrow file; `python -c 'import pandas as p, sys; "
        'p.read_feather(sys.argv[1]).to_parquet("log.parquet")\' {file}` writes Parquet.'
    ),
    **dict.fromkeys(
        (b"\x80\x04\x95", b"\x80\x05\x95"),
        "is a pickle; `python -c 'import pandas as p, sys; "
        'p.read_pickle(sys.argv[1]).to_csv("log.csv")\' {file}` writes a data frame as CSV.',
    ),
    b"SQLite format 3\0": (
        "is a SQLite database; `sqlite3 -csv -header {file} 'SELECT ...' > log.csv` writes CSV."
    ),
    b"\xd0\xcf\x11\xe0": _WORKBOOK,
    b"PK\x03\x04": "is a ZIP archive; `unzip -p {file} | streameval eval -` reads a file in it.",
    b"Obj\x01": "is an Avro file; save it as Parquet or JSON lines.",
    b"\0": "begins with a NUL byte; it is not text.",
    b"\x93NUMPY": (
        'is a NumPy file; `python -c \'import numpy as n, sys; n.savetxt("log.csv", '
        'n.load(sys.argv[1]), delimiter=",")\' {file}` writes CSV without a header.'
    ),
}
_ARRAYS = "holds NumPy arrays; save them as the columns of a CSV."
_IN_WORKBOOKS = (b"[Content_Types].xml", b"opendocument")
_PIPED = "| streameval eval - --delimiter '|'` reads it."
_DRAWN = {
    rb"(?:shape: .*\s+)?\xe2\x94\x8c": (
        "`duckdb -csv -c 'SELECT ...' > log.csv` writes CSV, and so does write_csv of polars."
    ),
    rb"-\[ RECORD 1 \]": "`psql -X --csv -c 'SELECT ...' > log.csv` writes CSV.",
    rb" .* \| .*\r?\n-+(?:\+-+)+\s": f"`grep '|' {{file}} {_PIPED}",
    rb"(?:\+-[-+]*\+\s*)?\| .*\|\s*[|+][-: |+]+[|+]\s": (
        rf"`sed -n '/---/d; s/^ *| \(.*\) | *$/\1/p' {{file}} {_PIPED}"
    ),
}
"""How tables begin that psql and others draw for people, and what makes CSV of them."""


_DUMPED = {
    rb"\A\s*<(?:!DOCTYPE|html|table)()": (
        "is HTML; `python -c 'import pandas as p, sys; "
        'p.read_html(sys.argv[1])[0].to_csv("log.csv")\' {file}` writes its first table as CSV.'
    ),
    rb"\A\s*<\?xml()": (
        "is XML; `python -c 'import pandas as p, sys; "
        'p.read_xml(sys.argv[1]).to_csv("log.csv")\' {file}` writes its rows as CSV.'
    ),
    rb"(?m)^COPY [^;]*\(([^;]*)\) FROM stdin;": (
        r"is a dump of PostgreSQL; `sed '1,/^COPY/d; /^\\\./,$d' {file} | streameval eval - "
        "--delimiter tab --header '{name}'` reads its first table."
    ),
    rb"(?m)^CREATE TABLE (?:IF NOT EXISTS )?([^\s(]+)": (
        "is a dump of SQL; `(cat {file}; echo 'SELECT * FROM {name};') | sqlite3 -csv -header | "
        "streameval eval -` reads its first table."
    ),
    rb"(?m)^INSERT INTO [^;]*\(([^;()]*)\)\s*VALUES": (
        r"is a dump of SQL; `grep -oE '\([^()]+\)' {file} | tr -d '()' | streameval eval -` reads "
        "rows of values in parentheses."
    ),
}
"""What exports for other programs hold near the beginning, and what makes CSV of them."""


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
    advice = next((said for magic, said in _FOREIGN.items() if head.startswith(magic)), "")
    if any(name in head for name in _IN_WORKBOOKS) and advice:
        advice = _WORKBOOK
    elif b".npy" in head[:_MAX_NAME] and advice:
        advice = _ARRAYS
    advice = advice or _of_dump(head)
    if head[1:2] == b"\0":
        advice = advice or _UTF_16
    if head[:1] in (b" ", b"-", b"+", b"|", b"s", b"\xe2"):
        found = (said for form, said in _DRAWN.items() if re.match(form, head))
        advice = "".join(f"is a table drawn for people; {said}" for said in found)
    if advice:
        raise BadDataError(f"{source}: {advice.replace('{file}', shlex.quote(source))}")


def _of_dump(head: bytes) -> str:
    """Name the command that makes CSV of an export for another program; empty if it is none."""
    for form, said in _DUMPED.items():
        if found := re.search(form, head):
            return said.replace("{name}", found[1].decode("utf-8", "replace").replace(" ", ""))
    return ""


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
