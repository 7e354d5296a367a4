"""Recognition of file types by their first bytes, with advice on how to read them."""

from __future__ import annotations

import codecs

from streameval.errors import BadDataError, Named
from streameval.io.streams import opened
from streameval.states.type_ids import MAGIC

PARQUET_MAGIC = b"PAR1"

_MAX_LINE = 1000
_UTF_16 = ("is UTF-16; save it as UTF-8.",)
_WORKBOOK = ("is a ZIP archive, or a workbook; unpack it, or export it as CSV.",)
_FOREIGN: dict[bytes, tuple[object, ...]] = {
    codecs.BOM_UTF16_LE: _UTF_16,
    codecs.BOM_UTF16_BE: _UTF_16,
    MAGIC: ("is a state, not a log; `streameval show` reads it.",),
    PARQUET_MAGIC: ("is a Parquet file; ", Named("format", "parquet"), " reads it."),
    b"ARROW1\0": ("is an Arrow file; save it as Parquet.",),
    b"SQLite format 3\0": ("is a SQLite database; export the table as CSV.",),
    b"PK\x03\x04": _WORKBOOK,
    b"Obj\x01": ("is an Avro file; save it as Parquet or JSON lines.",),
    b"\0": ("begins with a NUL byte; it is not text.",),
    b"\x93NUMPY": ("is a NumPy file; save it as CSV.",),
}


def check_is_text(head: bytes, source: str) -> None:
    """Refuse a file whose first bytes are not UTF-8 text.

    Raises
    ------
    BadDataError
        If the file has another known type; the message says how to read it.
    """
    for magic, advice in _FOREIGN.items():
        if head.startswith(magic):
            raise BadDataError(f"{source}: ", *advice)
    if head[1:2] == b"\0":
        raise BadDataError(f"{source}: ", *_UTF_16)


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
