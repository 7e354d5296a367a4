"""The formats of files: which reader reads which."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from streameval.errors import BadDataError, InvalidInputError
from streameval.io.csv_rows import Dialect, csv_blocks
from streameval.io.json_lines import json_blocks
from streameval.io.lines import BYTE_ORDER_MARK
from streameval.io.packed import PACKED_SUFFIXES
from streameval.io.parquet import parquet_blocks
from streameval.io.recognition import PARQUET_MAGIC
from streameval.io.streams import is_read_once, name_of, opened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streameval.io.blocks import Block

__all__ = ["FORMATS", "format_of", "read_blocks"]

_PARQUET = "parquet"
_PIPED_PARQUET = (
    "is a Parquet file, which cannot be read from a pipe; save it, and "
    "`streameval eval FILE.parquet` reads it."
)
_DELIMITERS = {"csv": ",", "tsv": "\t"}
_SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": _PARQUET,
    ".pq": _PARQUET,
}
FORMATS = (*dict.fromkeys(_SUFFIXES.values()),)


def format_of(source: str) -> str | None:
    """Tell the format by the name of a file, or None if the name does not say."""
    path = Path(source.lower())
    inner = path.with_suffix("") if path.suffix in PACKED_SUFFIXES else path
    return _SUFFIXES.get(inner.suffix)


def read_blocks(
    source: str,
    form: str | None = None,
    *,
    may_be_cut: bool = False,
    dialect: Dialect | None = None,
) -> Iterator[Block]:
    """Cut a file into blocks.

    Parameters
    ----------
    source : str
        A path, or "-" for standard input.
    form : str, optional
        One of `FORMATS`. By default the name tells, and if it does not, the first bytes.
    may_be_cut : bool, default False
        Whether packed data that is cut short is read as far as it goes; the last block says so.
    dialect : Dialect, optional
        How a table of text is written; a file that is none is refused then.

    Raises
    ------
    BadDataError
        If the file cannot be read.
    """
    form = form or format_of(source)
    argument = None if dialect is None else dialect.argument
    if argument is not None:
        form = form or "csv"
        if form not in _DELIMITERS:
            raise InvalidInputError(
                f"is for tables of text, and {name_of(source)} is of the format {form}",
                argument=argument,
            )
    if form == _PARQUET:
        yield from parquet_blocks(source)
        return
    with opened(source, may_be_cut=may_be_cut) as stream:
        head = stream.peek()
        if head.startswith(PARQUET_MAGIC) and is_read_once(source):
            raise BadDataError(f"{stream.name}: {_PIPED_PARQUET}")
        form = form or _sniffed(head)
        if form == "jsonl":
            yield from json_blocks(stream)
        elif form in _DELIMITERS:
            chosen = dialect or Dialect()
            delimiter, decimal = chosen.delimiter or _DELIMITERS[form], chosen.decimal or "."
            yield from csv_blocks(stream, delimiter, chosen.header, decimal)
    if form == _PARQUET:
        yield from parquet_blocks(source)


def _sniffed(head: bytes) -> str:
    r"""Tell the format by the first bytes: ``{`` begins JSON lines, all else is a table.

    An array of objects is JSON as well; its reader says that it takes lines.

    >>> _sniffed(b' {"y_true": 1}'), _sniffed(b"y_true,y_pred"), _sniffed(b"y_true\ty_pred\n")
    ('jsonl', 'csv', 'tsv')
    """
    if head.startswith(PARQUET_MAGIC):
        return _PARQUET
    text = head.removeprefix(BYTE_ORDER_MARK).lstrip()
    if text.removeprefix(b"[").lstrip().startswith(b"{"):
        return "jsonl"
    return "tsv" if b"\t" in text.partition(b"\n")[0] else "csv"
