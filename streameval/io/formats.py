"""The formats of files: which reader reads which."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from streameval.io.csv_rows import csv_blocks
from streameval.io.json_lines import json_blocks
from streameval.io.lines import BYTE_ORDER_MARK
from streameval.io.packed import PACKED_SUFFIXES
from streameval.io.parquet import parquet_blocks
from streameval.io.streams import opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from streameval.io.blocks import Block
    from streameval.io.streams import ByteStream

__all__ = ["FORMATS", "format_of", "read_blocks"]

_PARQUET = "parquet"
_STREAM_READERS: dict[str, Callable[[ByteStream], Iterator[Block]]] = {
    "jsonl": json_blocks,
    "csv": csv_blocks,
    "tsv": partial(csv_blocks, delimiter="\t"),
}
_SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": _PARQUET,
    ".pq": _PARQUET,
}
FORMATS = (*_STREAM_READERS, _PARQUET)


def format_of(source: str) -> str | None:
    """Tell the format by the name of a file, or None if the name does not say."""
    path = Path(source.lower())
    inner = path.with_suffix("") if path.suffix in PACKED_SUFFIXES else path
    return _SUFFIXES.get(inner.suffix)


def read_blocks(
    source: str, form: str | None = None, *, may_be_cut: bool = False
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

    Raises
    ------
    BadDataError
        If the file cannot be read.
    """
    form = form or format_of(source)
    if form == _PARQUET:
        yield from parquet_blocks(source)
        return
    with opened(source, may_be_cut=may_be_cut) as stream:
        yield from _STREAM_READERS[form or _sniffed(stream.peek())](stream)


def _sniffed(head: bytes) -> str:
    r"""Tell the format by the first bytes: ``{`` begins JSON lines, all else is a table.

    An array of objects is JSON as well; its reader says that it takes lines.

    >>> _sniffed(b' {"y_true": 1}'), _sniffed(b"y_true,y_pred"), _sniffed(b"y_true\ty_pred\n")
    ('jsonl', 'csv', 'tsv')
    """
    text = head.removeprefix(BYTE_ORDER_MARK).lstrip()
    if text.removeprefix(b"[").lstrip().startswith(b"{"):
        return "jsonl"
    return "tsv" if b"\t" in text.partition(b"\n")[0] else "csv"
