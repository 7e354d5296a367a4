"""JSON: one object on each line, the items of an array, or objects over several lines."""

from __future__ import annotations

import codecs
import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, ClassVar, Self

import attrs

from streameval.errors import BadDataError
from streameval.inputs.paths import Fields, find, is_nested
from streameval.io.blocks import Fault, Parsed, assemble, fields_read
from streameval.io.columns import Argument
from streameval.io.errors import shown
from streameval.io.json_structs import StructReader, Utf8Lines, struct_reader
from streameval.io.lines import (
    BYTE_ORDER_MARK,
    LONGEST_LINE,
    PIECE_BYTES,
    LineEnds,
    Piece,
    is_text,
    pieces,
    text_blocks,
    text_of,
)
from streameval.io.notation import Dialect, Notation
from streameval.io.packed import UNPACKING
from streameval.io.recognition import check_is_text
from streameval.io.streams import STANDARD_INPUT, ByteStream, CutShortError, name_of

if TYPE_CHECKING:
    from streameval.io.blocks import Block
    from streameval.io.row_filters import RowFilter


_decoder: Any = json.JSONDecoder()
_decode = _decoder.raw_decode
_scan = _decoder.scan_once  # of which `_decode` is a wrapper

# The numbers of some lines, their contents, and the faults of other lines.
_Rows = tuple[Sequence[int], list[Any], list[Fault]]

_SPACE = " \t\r\n"
_AFTER_ITEM = re.compile(r"[ \t\r\n]*([,\]])[ \t\r\n]*")
_AFTER_OBJECT = re.compile(r"()[ \t\r\n]*")
_NEXT_ITEM = re.compile(r"\n\{|\},\s*\{")
_LINE_ENDS = re.compile(r"[\r\n]+")

_AT_ONCE = 256  # lines whose objects are in memory, before they become columns


@attrs.frozen
class JsonLayout:
    """How JSON lines are cut, and what their texts mean."""

    notation: Notation = attrs.field(factory=Notation)

    @staticmethod
    def ends() -> LineEnds:
        """Return where a file may be cut."""
        return LineEnds()

    @classmethod
    def blocks(
        cls, stream: ByteStream, dialect: Dialect, *_: Any, may_be_cut: bool = False
    ) -> Iterator[Block]:
        """Cut a file of lines, of items or of log records, as its first bytes show."""
        head, layout = stream.peek(), cls(dialect.notation)
        if holds_records(head):
            return record_blocks(stream, layout)
        if holds_items(head):
            return item_blocks(stream, layout, may_be_cut=may_be_cut)
        return text_blocks(stream, cls, dialect)

    @classmethod
    def of(cls, piece: Piece, dialect: Dialect, *_: Any, **__: Any) -> tuple[Self | None, Piece]:
        """Return the layout, which all files share, once there is a line."""
        return (cls(dialect.notation) if piece.taken else None), piece

    def block(self, piece: Piece) -> JsonBlock:
        """Make a block of whole lines."""
        return JsonBlock(**attrs.asdict(piece), layout=self)


_USUAL = JsonLayout()


@attrs.frozen
class JsonBlock(Piece):
    """Whole lines of a file of JSON lines.

    Blank lines are skipped. If an object has a key twice, the last one counts. Each line is
    parsed on its own, so a bad line is named exactly and no value extends over two lines.

    Parameters
    ----------
    layout : JsonLayout
        What texts mean.
    """

    unit: ClassVar[str] = "line"
    layout: JsonLayout = _USUAL

    def rows(
        self,
        names: Iterable[str] | None = None,  # noqa: ARG002 - all are read anyway
    ) -> Iterator[Mapping[str, Any]]:
        """Yield the lines that are objects."""
        rows = (row for _, rows, _ in self._pieces() for row in rows)
        return rows if self.layout.notation.is_usual else map(self.layout.notation.read_value, rows)

    def cells(self, names: Iterable[str]) -> dict[str, dict[int, Any]]:
        """List the values of some fields and paths by line, as far as there are such."""
        numbers = chain.from_iterable(numbers for numbers, _, _ in self._pieces())
        rows = dict(zip(numbers, map(Fields, self.rows()), strict=True))
        found = {name: {n: row[name] for n, row in rows.items() if name in row} for name in names}
        return {name: values for name, values in found.items() if values}

    def parse(self, columns: Sequence[Argument], where: RowFilter | None = None) -> Parsed:
        """Read the columns of all lines that have them."""
        fields = fields_read(columns, where)
        found: dict[str, list[Any]] = {name: [] for name, _ in fields}
        reader = struct_reader(tuple(found))
        lines = None if reader is None else Utf8Lines.of(self.data)
        read, values_of = (
            (self._pieces(), _values)
            if reader is None or lines is None
            else (self._structs(lines, reader), reader.values)
        )
        numbered: list[Sequence[int]] = []
        faults: list[Fault] = []
        for numbers, rows, bad in read:
            numbered.append(numbers)
            faults += bad
            # Lists by column: a list for each row would keep the garbage collector busy.
            for name, items in found.items():
                items.extend(values_of(rows, name))
        if not self.layout.notation.is_usual:
            found = {name: self.layout.notation.read_value(items) for name, items in found.items()}
        values = {field: found[field[0]] for field in fields}
        row_ids = _joined(numbered)
        return assemble(columns, values, row_ids, faults, where)

    def _structs(self, lines: Utf8Lines, reader: StructReader) -> Iterator[_Rows]:
        """Yield structs as `_pieces` yields objects."""
        for start, part in lines.parts(reader):
            first = self.first_line + start
            if isinstance(part, list):
                yield range(first, first + len(part)), part, []
            else:
                few = attrs.evolve(self, first_line=first, data=part)
                for numbers, rows, faults in few._pieces():
                    yield numbers, list(map(reader.struct, rows)), faults

    def _pieces(self) -> Iterator[_Rows]:
        """Yield the numbers and objects of several lines at a time, and the faults of others."""
        whole = text_of(self.data)
        lines = whole.removesuffix("\n").split("\n")
        are_text = is_text(whole)
        for start in range(0, len(lines), _AT_ONCE):
            part = lines[start : start + _AT_ONCE]
            yield _parsed(self.first_line + start, part, self._read, are_text=are_text)

    def _read(self, text: str) -> dict[str, Any] | str:
        """Parse a line that is not only an object, or describe its fault."""
        if is_list(text):
            return _of_lists(self.source, text)
        return _of_array(self.source) if text.startswith("[") else _object(text)


@attrs.frozen
class JsonItems(JsonBlock):
    """Items of an array, or objects over several lines, each written on a line of its own."""

    unit: ClassVar[str] = "item"

    def _read(self, text: str) -> dict[str, Any] | str:
        return _of_lists(self.source, text, ".[] | ") if is_list(text) else _object(text)


def is_list(text: str) -> bool:
    """Tell whether a text is a list of values, such as the cells of a row.

    >>> is_list("[1, 0.9]"), is_list('["y_true", "y_score"]'), is_list('[{"y_true": 1}]')
    (True, True, False)
    """
    if text[:1] != "[":
        return False
    try:
        value, end = _decode(text)
    except (ValueError, RecursionError):
        return False
    is_row = any(not isinstance(item, dict | list) for item in value)
    return end == len(text.rstrip()) and is_row


def holds_items(head: bytes) -> bool:
    r"""Tell by its first bytes whether a file is one array, or objects over several lines.

    >>> holds_items(b'[{"a": 1}]'), holds_items(b'{\n  "a": 1\n}'), holds_items(b'{"a": 1}\n')
    (True, True, False)
    """
    text = head.removeprefix(BYTE_ORDER_MARK).lstrip()
    line, newline, _ = text.partition(b"\n")
    if newline and is_list(line.decode("utf-8", "replace")):
        return False
    return text.startswith(b"[") or (newline == b"\n" and line.strip() == b"{")


def item_blocks(
    stream: ByteStream, layout: JsonLayout = _USUAL, *, may_be_cut: bool = False
) -> Iterator[JsonItems]:
    """Cut an array, or objects over several lines, into blocks, in memory that does not grow.

    If the text may be cut and is, the last block is empty and says so.

    Raises
    ------
    CutShortError
        If the text ends in an item or in the array.
    BadDataError
        If an item cannot be read, since nobody knows where the next one begins; or if the array
        has no end, or is followed by more.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape")
    text, number, taken, items = "", 1, 0, _Items()
    while chunk := stream.read(PIECE_BYTES):
        if not taken:
            check_is_text(chunk, stream.name)
        lines, text = items.cut(text + decoder.decode(chunk))
        if len(text) > LONGEST_LINE:
            break
        if lines:
            data = "".join(lines).encode("utf-8", "surrogateescape")
            yield JsonItems(stream.name, number, data, stream.taken - taken, layout=layout)
        number, taken = number + len(lines), stream.taken
    text += decoder.decode(b"", final=True)
    reason = items.fault(text)
    if not reason:
        return
    item = f"{stream.name}, item {number}"
    if not items.is_cut(text):
        raise BadDataError(f"{item}: {reason}.")
    if not may_be_cut:
        raise CutShortError(item, f"{reason}; the last item has no end")
    yield JsonItems(stream.name, number, b"", 0, f"item {number} has no end", layout=layout)


class _Items:
    """Where the items of a text begin and end, however the text is cut."""

    def __init__(self) -> None:
        self._is_array: bool | None = None
        self._has_items = self._has_ended = False

    def cut(self, text: str) -> tuple[list[str], str]:
        """Return the whole items, each on a line, and the rest of the text."""
        lines: list[str] = []
        at = self._next(text, 0)
        while at < len(text) and not self._has_ended:
            try:
                _, end = _scan(text, at)
            except (StopIteration, ValueError, RecursionError):
                break
            after = (_AFTER_ITEM if self._is_array else _AFTER_OBJECT).match(text, end)
            if after is None:
                break
            item = text[at:end]
            lines.append(f"{_LINE_ENDS.sub(' ', item) if chr(10) in item else item}\n")
            self._has_items, self._has_ended = True, after[1] == "]"
            at = after.end()
        return lines, text[at:]

    def fault(self, rest: str) -> str:
        """Say what is wrong with what is left at the end; empty if nothing is."""
        rest = rest.strip()
        if self._has_ended:
            return "more text after the array" if rest else ""
        reason = _object(rest) if rest else ""
        if not self._is_array:
            return str(reason)
        is_cut = not isinstance(reason, str) or not reason
        return "the array has no end" if is_cut else f"{reason}, or the array has no end"

    def is_cut(self, rest: str) -> bool:
        """Tell whether what is left is the beginning of one item, and of no more."""
        rest = rest.strip()
        if self._has_ended or not rest.startswith("{") or _NEXT_ITEM.search(rest):
            return False
        try:
            _decode(rest)
        except json.JSONDecodeError as error:
            return error.pos == len(rest) or error.msg.startswith("Unterminated string")
        except (ValueError, RecursionError):
            pass
        return False

    def _next(self, text: str, at: int) -> int:
        """Return where the next item begins, past the bracket and white space."""
        at = len(text) - len(text[at:].lstrip(_SPACE))
        if at < len(text) and self._is_array is None:
            self._is_array = text[at] == "["
            return self._next(text, at + 1) if self._is_array else at
        if self._is_array and not self._has_items and text[at : at + 1] == "]":
            self._has_ended = True
            return at + 1
        return at


def _joined(numbered: Sequence[Sequence[int]]) -> Sequence[int]:
    """Concatenate numbers of lines, as a range if no line was left out."""
    known = [numbers for numbers in numbered if numbers]
    whole = range(known[0][0], known[-1][-1] + 1) if known else range(0)
    is_gapless = len(whole) == sum(map(len, known))
    return whole if is_gapless else list(chain.from_iterable(known))


def _values(rows: Sequence[Mapping[str, Any]], name: str) -> list[Any]:
    """Return the values of one field or path, None where it is absent."""
    return [find(row, name) for row in rows] if is_nested(name) else [row.get(name) for row in rows]


def _parsed(
    first: int,
    lines: Sequence[str],
    read: Callable[[str], dict[str, Any] | str],
    *,
    are_text: bool,
) -> _Rows:
    """Parse each line that is not blank, into an object or its fault."""
    good: list[int] = []
    rows: list[dict[str, Any]] = []
    faults: list[Fault] = []
    for number, line in enumerate(lines, first):
        try:  # an object and nothing else, like almost every line
            value, end = _scan(line, 0)
        except (StopIteration, ValueError, RecursionError):
            value, end = None, 0
        if type(value) is not dict or not are_text or line[end:] not in ("", "\r"):
            text = line.strip(" \t\r")
            if not text:
                continue
            value = read(text)
        if isinstance(value, str):
            faults.append((number, value))
        else:
            good.append(number)
            rows.append(value)
    return good, rows, faults


def _of_array(source: str) -> str:
    """Say how to make lines of an array, as which the whole file was probably written."""
    path = Path(source)
    path = path.with_suffix("") if path.suffix in UNPACKING else path
    made = shlex.quote(f"{path.with_suffix('')}.lines.jsonl")
    command = _through(source, "jq -c '.[]'", f"> {made} makes them")
    return f"begins with '[', but JSON lines are expected, one object a line; {command}"


_NAMED = "[$n, .] | transpose | map({(.[0]): .[1]}) | add'"
_NAMED_LINES = f"-nc 'input as $n | inputs | {_NAMED}"
_NAMED_ITEMS = f"-c '.[0] as $n | .[1:][] | {_NAMED}"


def _of_lists(source: str, text: str, rows: str = "") -> str:
    """Say how to read rows that are lists, of which the first one may name the columns."""
    items = json.loads(text)
    if all(isinstance(item, str) for item in items):
        jq, read = f"jq {_NAMED_ITEMS if rows else _NAMED_LINES}", "lists"
    else:
        names = ascii_uppercase[: len(items)]
        pairs = ", ".join(f"{name}: .[{at}]" for at, name in enumerate(names))
        jq, read = f"jq -c {shlex.quote(f'{rows}{{{pairs}}}')}", f"the columns {', '.join(names)}"
    command = _through(source, jq, f"| streameval eval - reads {read}")
    return f"a list, and not an object; {command}"


def _through(source: str, jq: str, then: str) -> str:
    """Write a command that reads a file by jq."""
    suffix = Path(source).suffix
    if source == name_of(STANDARD_INPUT):
        return f"pipe it through {jq}"
    if suffix in UNPACKING:
        return f"{UNPACKING[suffix]} {shlex.quote(source)} | {jq} {then}"
    return f"{jq} {shlex.quote(source)} {then}"


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
        advice = "; sed 's/,\\r*$//' leaves out a last comma" if text[end:] == "," else ""
        return f"not JSON (more text after the value, at character {end + 1}{advice})"
    if not is_text(text):
        return "not UTF-8"
    return value if isinstance(value, dict) else f"not an object, got {shown(value)}"


_HEAD = re.compile(rb'\s*\{\s*"resourceLogs"\s*:')
_NAMES = {"eventName": "event.name", "traceId": "trace_id", "spanId": "span_id"}


def holds_records(head: bytes) -> bool:
    """Tell by its first bytes whether a file holds exported log records.

    >>> holds_records(b'{"resourceLogs": [{"scopeLogs": []}]}'), holds_records(b'{"y_true": 1}')
    (True, False)
    """
    return _HEAD.match(head) is not None


def record_blocks(stream: ByteStream, layout: JsonLayout = _USUAL) -> Iterator[JsonItems]:
    """Make a row of each record: the attributes of it and of its resource, its time and its name.

    Raises
    ------
    BadDataError
        If a line is no such export.
    """
    number = 1
    for piece in pieces(stream, layout.ends()):
        lines: list[str] = []
        for line, text in enumerate(piece.data.split(b"\n"), piece.first_line):
            if text.strip():
                try:
                    rows = [json.dumps(row) for row in _records(json.loads(text))]
                except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                    if not piece.unended:
                        raise BadDataError(
                            f"{stream.name}, line {line}: not log records of OpenTelemetry in JSON."
                        ) from None
                    rows = [text.decode("utf-8", "surrogateescape")]
                lines += rows
        data = "".join(f"{row}\n" for row in lines).encode("utf-8", "surrogateescape")
        yield JsonItems(stream.name, number, data, piece.taken, piece.unended, layout=layout)
        number += len(lines)


def _records(export: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for resource in export["resourceLogs"]:
        shared = _attributes(resource.get("resource", {}))
        for scope in resource.get("scopeLogs", []):
            for record in scope.get("logRecords", []):
                named = {new: record[name] for name, new in _NAMES.items() if name in record}
                time = record.get("timeUnixNano") or record.get("observedTimeUnixNano")
                yield {**shared, "time": time and int(time), **named, **_attributes(record)}


def _attributes(holder: dict[str, Any]) -> dict[str, Any]:
    return {pair["key"]: _value(pair["value"]) for pair in holder.get("attributes", [])}


def _value(value: dict[str, Any]) -> Any:
    """Unpack a value, whose type is its key; integers are texts."""
    ((kind, held),) = value.items()
    match kind:
        case "intValue":
            return int(held)
        case "arrayValue":
            return [_value(item) for item in held.get("values", [])]
        case "kvlistValue":
            return {pair["key"]: _value(pair["value"]) for pair in held.get("values", [])}
        case _:
            return held
