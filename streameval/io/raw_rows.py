"""Rows of a block as the file has them, for people who look for what is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from streameval.io.blocks import Block
from streameval.io.csv_rows import CsvBlock
from streameval.io.messages import FieldEntries, JsonMessages


def raw_rows(block: Block, row_ids: Iterable[Any]) -> Iterator[bytes]:
    """Yield rows by the numbers or ids that `parse` gives them.

    Of text, it is the line, or the lines up to the end of a quoted cell; of Parquet and of fields
    of a server, the row as JSON.
    """
    if isinstance(block, JsonMessages | FieldEntries):
        index = {row_id: at for at, row_id in enumerate(block.ids)}
        row_ids = [index[row_id] for row_id in row_ids]
    if isinstance(block, FieldEntries):
        texts = [{_text(k): _text(v) for k, v in entry.items()} for entry in block.entries]
        yield from (_json(texts[at]) for at in row_ids)
        return
    lines: Any = block.lines if isinstance(block, JsonMessages) else block
    if hasattr(lines, "data"):
        whole = lines.data.split(b"\n")
        read = _quoted_row if isinstance(block, CsvBlock) else list.__getitem__
        yield from (read(whole, row_id - lines.first_line) for row_id in row_ids)
        return
    rows = list(block.rows())
    yield from (_json(rows[row_id - lines.first_row]) for row_id in row_ids)


def _quoted_row(lines: list[bytes], at: int) -> bytes:
    r"""Return a line and, while a quoted cell is open, those after it.

    >>> _quoted_row([b'1,"a', b'b",2', b"3"], 0)
    b'1,"a\nb",2'
    """
    row = lines[at]
    while row.count(b'"') % 2 and at + 1 < len(lines):
        at += 1
        row += b"\n" + lines[at]
    return row


def _json(row: Any) -> bytes:
    return json.dumps(row, default=str).encode()


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")
