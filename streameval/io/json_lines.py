"""JSON lines: one object on each line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from streameval.inputs.paths import find, is_path
from streameval.io.errors import shown
from streameval.io.lines import LineEnds, is_text, pieces, text_of
from streameval.io.rows import Fault, Field, Parsed, assemble, fields_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from streameval.io.columns import Column
    from streameval.io.row_filters import RowFilter
    from streameval.io.streams import ByteStream

__all__ = ["JsonBlock", "json_blocks"]

# Usually of a file that is one array.
_ARRAY = "begins with '[', but JSON lines are expected, one object a line; jq -c '.[]' makes them"

_decoder: Any = json.JSONDecoder()
_decode = _decoder.raw_decode
_scan = _decoder.scan_once  # of which `_decode` is a wrapper


@attrs.frozen
class JsonBlock:
    """Whole lines of a file of JSON lines.

    Blank lines are skipped. Where an object has a key twice, the last one counts. Lines are
    parsed one by one, so that a bad one is named exactly and none can borrow from the next.

    Parameters
    ----------
    source : str
        The name of the file.
    first_line : int
        The number of the first line.
    data : bytes
        The lines.
    taken : int
        How many bytes of the file they are, before unpacking.
    unended : str
        What the last line lacks, as `Piece` has it.
    """

    unit: ClassVar[str] = "line"
    source: str
    first_line: int
    data: bytes = attrs.field(repr=False)
    taken: int
    unended: str = ""

    def rows(
        self,
        names: Iterable[str] | None = None,  # noqa: ARG002 - all are read anyway
    ) -> Iterator[Mapping[str, Any]]:
        """Yield the lines that are objects."""
        return (row for _, row in self._lines() if isinstance(row, dict))

    def parse(self, columns: Sequence[Column], where: RowFilter | None = None) -> Parsed:
        """Read the columns of all lines that hold them."""
        values: dict[Field, list[Any]] = {field: [] for field in fields_of(columns, where)}
        # Lists by column: a list for each row would keep the garbage collector busy.
        adders = [(name, items.append) for (name, _), items in values.items() if not is_path(name)]
        finders = [(name, items.append) for (name, _), items in values.items() if is_path(name)]
        row_ids: list[int] = []
        faults: list[Fault] = []
        for line, row in self._lines():
            if isinstance(row, str):
                faults.append((line, row))
                continue
            row_ids.append(line)
            for name, add in adders:
                add(row.get(name))
            for path, add in finders:
                add(find(row, path))
        return assemble(columns, values, row_ids, faults, where)

    def _lines(self) -> Iterator[tuple[int, dict[str, Any] | str]]:
        """Yield every line that is not blank, as an object or as its fault."""
        whole = text_of(self.data)
        are_text = is_text(whole)
        for number, line in enumerate(whole.split("\n"), self.first_line):
            try:  # an object and nothing else, as almost every line is
                value, end = _scan(line, 0)
            except (StopIteration, ValueError, RecursionError):
                value, end = None, 0
            if type(value) is dict and are_text and line[end:] in ("", "\r"):
                yield number, value
                continue
            text = line.strip(" \t\r")
            if text:
                yield number, _ARRAY if text.startswith("[") else _object(text)


def json_blocks(stream: ByteStream) -> Iterator[JsonBlock]:
    """Cut a stream of JSON lines into blocks."""
    for piece in pieces(stream, LineEnds()):
        yield JsonBlock(stream.name, piece.first_line, piece.data, piece.taken, piece.unended)


def _object(text: str) -> dict[str, Any] | str:
    """Parse one line, or describe its fault."""
    try:
        value, end = _decode(text)
    except json.JSONDecodeError as error:
        return f"not JSON ({error.msg.lower()}, at character {error.pos + 1})"
    except ValueError:
        return "not JSON (a number of thousands of digits)"
    except RecursionError:
        return "not JSON (nested too deeply)"
    if end != len(text):
        return f"not JSON (more text after the value, at character {end + 1})"
    if not is_text(text):
        return "not UTF-8"
    return value if isinstance(value, dict) else f"not an object, got {shown(value)}"
