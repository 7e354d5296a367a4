"""Messages of a server: JSON or text fields, identified by an id instead of a line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import attrs

from streameval.io.blocks import Block, Fault, Parsed, assemble, fields_read
from streameval.io.columns import Argument
from streameval.io.csv_rows import CsvBlock
from streameval.io.json_lines import JsonBlock
from streameval.io.lines import is_text, text_of
from streameval.io.notation import value_of_cell

if TYPE_CHECKING:
    from streameval.io.row_filters import RowFilter


@attrs.frozen
class JsonMessages:
    """Messages that are JSON objects.

    Parameters
    ----------
    source : str
        Where they come from, for messages.
    ids : sequence of int or str
        One for each message.
    lines : JsonBlock
        A message on each line, counted from 0.
    """

    unit: ClassVar[str] = "offset"
    source: str
    ids: Sequence[Any] = attrs.field(repr=False)
    lines: JsonBlock
    unended: str = ""

    @classmethod
    def of(cls, source: str, ids: Sequence[Any], values: Sequence[bytes]) -> Self:
        """Put each message on one line; in JSON, newlines occur only between tokens."""
        data = b"\n".join(
            [value.replace(b"\n", b"\t") if b"\n" in value else value for value in values]
        )
        return cls(source, ids, JsonBlock(source, 0, data, len(data)))

    @property
    def taken(self) -> int:
        """How many bytes were read."""
        return self.lines.taken

    def rows(self, names: Iterable[str] | None = None) -> Iterator[Mapping[str, Any]]:
        """Yield the messages that are objects."""
        return self.lines.rows(names)

    def parse(self, columns: Sequence[Argument], where: RowFilter | None = None) -> Parsed:
        """Read the columns of all messages that have them."""
        parsed = self.lines.parse(columns, where)
        return attrs.evolve(
            parsed,
            row_ids=[self.ids[line] for line in parsed.row_ids],
            faults=[(self.ids[line], reason) for line, reason in parsed.faults],
        )


@attrs.frozen
class JsonEntries(JsonMessages):
    """Entries with a JSON object in one field."""

    unit: ClassVar[str] = "entry"


@attrs.frozen
class FieldEntries:
    """Entries with text fields, which are read like the cells of a table.

    Parameters
    ----------
    source, ids
        As in `JsonMessages`.
    entries : sequence of mapping from bytes to bytes
        The fields of each.
    taken : int
        How many bytes were read.
    """

    unit: ClassVar[str] = "entry"
    source: str
    ids: Sequence[Any] = attrs.field(repr=False)
    entries: Sequence[Mapping[bytes, bytes]] = attrs.field(repr=False)
    taken: int
    unended: str = ""

    def rows(
        self,
        names: Iterable[str] | None = None,  # noqa: ARG002 - all are read anyway
    ) -> Iterator[Mapping[str, Any]]:
        """Yield the entries, with fields that look like numbers as numbers."""
        for row in map(_texts, self.entries):
            if not isinstance(row, str):
                yield {name: value_of_cell(cell) for name, cell in row.items()}

    def parse(self, columns: Sequence[Argument], where: RowFilter | None = None) -> Parsed:
        """Read the columns of all entries that have them; an absent field is empty."""
        good: list[Mapping[str, str]] = []
        row_ids: list[Any] = []
        faults: list[Fault] = []
        for row_id, row in zip(self.ids, map(_texts, self.entries), strict=True):
            if isinstance(row, str):
                faults.append((row_id, row))
            else:
                row_ids.append(row_id)
                good.append(row)
        values = {
            field: field[1].from_text([row.get(field[0], "") for row in good])
            for field in fields_read(columns, where)
        }
        return assemble(columns, values, row_ids, faults, where)


def _texts(fields: Mapping[bytes, bytes]) -> Mapping[str, str] | str:
    """Decode the fields of an entry, or describe its fault."""
    row = {text_of(name): text_of(value) for name, value in fields.items()}
    are_text = all(is_text(name) and is_text(value) for name, value in row.items())
    return row if are_text else "not UTF-8"


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
