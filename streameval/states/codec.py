"""The byte format, version 2: a prefix of 28 bytes, a JSON header, integers.

====== ======= =============================================
offset size    meaning
====== ======= =============================================
0      8       magic ``89 53 45 56 4C 0D 0A 1A``
8      2       u16 version
10     2       u16 type id of the accumulator
12     4       u32 header length
16     8       u64 payload length
24     4       u32 CRC-32 of everything else
28     header  canonical JSON: sorted keys, ASCII, no spaces
...    payload integers of 1, 2, 4 or 8 bytes, and text
====== ======= =============================================

All integers are little-endian. Those of an array are as narrow as the widest of them allows. The
prefix never changes, and version 1, with 8 bytes for all integers, stays readable forever. The
checksum detects accidents, not forgery, so the reader checks the state as well.
"""

from __future__ import annotations

import base64
import functools
import io
import json
import struct
import zlib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import attrs
import numpy as np

from streameval.errors import (
    CorruptStateError,
    InvalidInputError,
    UnsupportedVersionError,
    corrupt,
    require,
)
from streameval.exact.array_types import Array, Ints
from streameval.exact.exact_sum import ExactSum
from streameval.exact.fixed_point import FixedPoint
from streameval.states.column import Column
from streameval.states.narrow import WIDTHS, is_narrow, min_width, narrowest_width
from streameval.states.type_ids import FIRST_OPEN_ID, MAGIC, OWN_TYPES, is_type_name

VERSION = 2
PREFIX = struct.Struct("<8sHHIQI")
_CHECKSUM = struct.Struct("<I")
MAX_HEADER = 2**24
MAX_DIMENSIONS = 3
MAX_DIGITS = 1024
MAX_SIZE = 2**40
_WORD = 8
_TEXT_WIDTHS = 4, 8  # lengths: a string in memory is many times as large as a short text here
_PIECES = 2**12
_NO_BASES: Mapping[str, str] = {}
_IN_THE_HEADER = {"exact_sum", "float64"}
_LITTLE = {f"{letter}{width}": np.dtype(f"<{letter}{width}") for letter in "iu" for width in WIDTHS}
_WORDS, _UNSIGNED = np.dtype(np.int64), np.dtype(np.uint64)  # faster than their classes
_SHORT_HEADER = 2**12
_LARGE = 2**16  # bytes
_quoted = json.encoder.encode_basestring_ascii
_CANONICAL_JSON = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


@attrs.frozen
class Prefix:
    """The first 28 bytes; magic, version and lengths are checked, type id and checksum are not."""

    version: int
    type_id: int
    header_size: int
    payload_size: int
    checksum: int

    @property
    def size(self) -> int:
        """The length of all bytes, as the prefix declares it."""
        return PREFIX.size + self.header_size + self.payload_size


@attrs.frozen
class EncodedParts:
    """The checked parts of encoded bytes; the type is built in, or has a name in the header."""

    version: int
    type_id: int
    header_bytes: bytes
    header: dict[str, Any]
    payload: memoryview

    @property
    def type_name(self) -> str:
        """The name of the type, from a built-in class or from the header."""
        return OWN_TYPES.get(self.type_id) or self.header["type"]

    @property
    def options(self) -> dict[str, Any]:
        """The options in the header, by name."""
        return {name: from_json(value) for name, value in self.header["config"].items()}

    def fields(self, names: Iterable[str], above: Mapping[str, str] = _NO_BASES) -> dict[str, Any]:
        """Read the fields of the state, which were written in the order of these names."""
        described = {name: self.header["state"][name] for name in names}
        return decode_fields(described, self.payload, self.version, above=above)

    def check_header(self, settings: str, fields: Mapping[str, Any]) -> None:
        """Check that writing what was read would give the same header.

        The descriptions of the payload were checked while it was read.
        """
        described = {
            name: self.header["state"][name]
            if isinstance(value, _IN_THE_PAYLOAD)
            else to_json(value)
            for name, value in fields.items()
        }
        expected = encode_header(self.type_id, self.type_name, settings, described)
        require(expected == self.header_bytes, "the header is not in canonical form")


@attrs.frozen
class Nested:
    """Encoded states that are part of another."""

    items: tuple[bytes | memoryview, ...]


_IN_THE_PAYLOAD = FixedPoint, Column, Nested


def encode(
    type_id: int,
    name: str,
    settings: str,
    fields: Mapping[str, Any],
    above: Mapping[str, str] = _NO_BASES,
) -> bytes:
    """Write one state.

    Parameters
    ----------
    type_id, name : int and str
        Those of the class of the accumulator; the name is written for ids of user-defined
        classes.
    settings : str
        The configuration, as `settings_json` writes it.
    fields : mapping
        The state: `FixedPoint` arrays, `Column`s and `Nested` states, which fill the payload,
        and `ExactSum` numbers, labels, and tuples of these, which are in the header.
    above : mapping of names
        The uint64 columns that are written as the difference from an earlier column of equal
        length, and that column. If both are equal, or nearly so, this takes a byte per item.
    """
    described, payload = _described(fields, above)
    header = encode_header(type_id, name, settings, described)
    size = sum([_size(part) for part in payload])
    prefix = PREFIX.pack(MAGIC, VERSION, type_id, len(header), size, 0)[:-4]
    narrow = [part for part in payload if not isinstance(part, _Wide)]
    if len(narrow) < len(payload):
        return _encoded_in_place(prefix, header, payload)
    checksum = zlib.crc32(header, zlib.crc32(prefix))
    for part in narrow:
        checksum = zlib.crc32(part, checksum)
    return b"".join((prefix, _CHECKSUM.pack(checksum), header, *narrow))


def _encoded_in_place(prefix: bytes, header: bytes, payload: Sequence[_Piece]) -> bytes:
    """Finish bytes whose payload is narrowed as it is written."""
    written = _written(prefix + bytes(_CHECKSUM.size) + header, payload)
    with written.getbuffer() as view:
        checksum = zlib.crc32(view[PREFIX.size :], zlib.crc32(prefix))
        _CHECKSUM.pack_into(view, len(prefix), checksum)
    return written.getvalue()  # no copy


def _written(head: bytes, payload: Sequence[_Piece]) -> io.BytesIO:
    """Write pieces one after the other into new memory."""
    written = io.BytesIO()
    written.write(head)
    for piece in payload:
        if not isinstance(piece, _Wide):
            written.write(piece)
            continue
        start = written.tell()
        written.seek(start + piece.nbytes - 1)
        written.write(b"\0")
        with written.getbuffer() as view:
            piece.write(view[start:])
    return written


def settings_json(config: Mapping[str, Any]) -> str:
    """Write a configuration: booleans, integers, floats, strings, None and tuples of these."""
    return canonical_json({name: to_json(value) for name, value in config.items()})


def encode_header(type_id: int, name: str, settings: str, described: Mapping[str, Any]) -> bytes:
    """Write the header: equal configurations and descriptions give equal bytes."""
    fields = ",".join([f"{_quoted(name)}:{_json(described[name])}" for name in sorted(described)])
    own = f',"type":{_quoted(name)}' if type_id >= FIRST_OPEN_ID else ""
    return f'{{"config":{settings},"state":{{{fields}}}{own}}}'.encode("ascii")


def _json(described: Any) -> str:
    """Write what `canonical_json` writes, most descriptions in a third of the time."""
    if type(described) is dict:
        if "exact_sum" in described:
            return f'{{"exact_sum":"{described["exact_sum"]}"}}'
        if "widths" in described:
            shape, widths = map(str, described["shape"]), map(str, described["widths"])
            return f'{{"shape":[{",".join(shape)}],"widths":[{",".join(widths)}]}}'
        if "width" in described:
            column, length, width = (described[name] for name in ("column", "length", "width"))
            above = f'"above":{_quoted(described["above"])},' if "above" in described else ""
            return f'{{{above}"column":"{column}","length":{length},"width":{width}}}'
    return canonical_json(described)


def read_prefix(head: bytes | bytearray | memoryview, size: int | None) -> Prefix:
    """Read the prefix, and compare the declared size with the actual one.

    Parameters
    ----------
    head : bytes
        The first 28 bytes, or more of them.
    size : int or None
        The total number of bytes; None if it is not yet known.

    Raises
    ------
    CorruptStateError
        When the bytes cannot be those of a state, or are more or fewer than declared.
    UnsupportedVersionError
        When a newer release wrote them.
    """
    if size is not None and size > MAX_SIZE:
        raise corrupt(f"{size} bytes are more than any state has")
    if len(head) < PREFIX.size:
        raise corrupt(f"prefix (expected {PREFIX.size} bytes, got {len(head)})")
    magic, version, type_id, header_size, payload_size, checksum = PREFIX.unpack_from(head)
    require(magic == MAGIC, "these are not the bytes of an accumulator")
    if not 1 <= version <= VERSION:
        raise UnsupportedVersionError(
            f"state has format version {version}, this release reads versions 1 to {VERSION}."
        )
    if header_size > MAX_HEADER:
        raise corrupt(f"header length {header_size}")
    prefix = Prefix(version, type_id, header_size, payload_size, checksum)
    if size is not None and size != prefix.size:
        raise corrupt(f"length (expected {prefix.size} bytes, got {size})")
    return prefix


def split(data: Any) -> EncodedParts:
    """Check prefix and checksum, and split the bytes without copying the payload.

    Raises
    ------
    CorruptStateError
        When the bytes are damaged or truncated, or never were a state.
    UnsupportedVersionError
        When a newer release wrote them.
    """
    view = _view(data)
    prefix = read_prefix(view, len(view))
    expected = prefix.checksum
    actual = zlib.crc32(view[PREFIX.size :], zlib.crc32(view[: PREFIX.size - 4]))
    if actual != expected:
        raise corrupt(f"checksum (expected {expected:08x}, got {actual:08x})")
    type_id = prefix.type_id
    if type_id not in OWN_TYPES and type_id < FIRST_OPEN_ID:
        raise corrupt(f"unknown type id {type_id}")
    start = PREFIX.size + prefix.header_size
    header_bytes = bytes(view[PREFIX.size : start])
    is_short = len(header_bytes) <= _SHORT_HEADER
    header = (_parse_short if is_short else _parse)(header_bytes, type_id)
    return EncodedParts(prefix.version, type_id, header_bytes, header, view[start:])


def decode_fields(
    described: Mapping[str, Any],
    payload: memoryview,
    version: int = VERSION,
    *,
    above: Mapping[str, str] = _NO_BASES,
    widen: bool = True,
) -> dict[str, Any]:
    """Read the fields of a state; declared sizes are compared before anything is allocated.

    An array that is written wider than its numbers need is refused.

    Parameters
    ----------
    described : mapping
        The descriptions of the fields in the header, in the order of writing.
    payload : memoryview
        Their payload, to its end.
    version : int
        The version of the format.
    above : mapping of names
        The columns that were written as differences, and from which; none in version 1.
    widen : bool
        Whether columns have 8 bytes per item in memory, not their stored width.
    """
    fields: dict[str, Any] = {}
    source = _Source(payload, version, widen)
    for name, description in described.items():
        source.name = name
        if isinstance(description, dict) and "column" in description:
            base = above.get(name) if version > 1 else None
            start = None if base is None else fields[base]
            fields[name] = source.take_column(description, base, start)
        elif isinstance(description, dict) and _IN_THE_HEADER.isdisjoint(description):
            fields[name] = source.take_numbers(description)
        else:
            fields[name] = from_json(description)
    if source.payload:
        raise corrupt(f"payload has {len(source.payload)} bytes too many")
    return fields


def decode_named(names: Sequence[str], parts: EncodedParts) -> dict[str, Any]:
    """Read the fields of a state that must have these names, in this order."""
    described = parts.header["state"]
    require(described.keys() == {*names}, "the fields are not those of this version")
    return parts.fields(names)


def encode_block(fields: Mapping[str, Any]) -> bytes:
    """Write fields within a state: the length of a header, the header, and the payload."""
    described, payload = _described(fields)
    header = canonical_json(described).encode("ascii")
    return _written(struct.pack("<Q", len(header)) + header, payload).getvalue()


def decode_block(
    names: Sequence[str], data: bytes | memoryview, *, optional: Container[str] = ()
) -> dict[str, Any]:
    """Read what `encode_block` wrote; integers stay as narrow as they are."""
    view = memoryview(data)
    require(len(view) >= _WORD, "a block is cut")
    (size,) = struct.unpack_from("<Q", view)
    require(size <= min(MAX_HEADER, len(view) - _WORD), "a block declares more than there is")
    header = bytes(view[_WORD : _WORD + size])
    described = _parse_json(header)
    required = {name for name in names if name not in optional}
    fits = isinstance(described, dict) and required <= described.keys() <= {*names}
    require(fits, "the parts of a block")
    ordered = {name: described[name] for name in names if name in described}
    fields = decode_fields(ordered, view[_WORD + size :], widen=False)
    is_own = canonical_json(described).encode("ascii") == header
    require(is_own, "a block is not in canonical form")
    return fields


def canonical_json(value: Any) -> str:
    """Write canonical JSON: equal values give equal text."""
    return _CANONICAL_JSON.encode(value)


def to_json(value: Any) -> Any:
    """Convert an option, or another value of the header, to JSON."""
    if isinstance(value, ExactSum):
        return {"exact_sum": f"{value.units:x}"}
    if isinstance(value, tuple):
        return [to_json(item) for item in value]
    if isinstance(value, float):
        return {"float64": struct.pack(">d", value).hex()}
    return value


def from_json(value: Any) -> Any:
    """Undo the encoding of one value of the header."""
    if isinstance(value, list):
        return tuple(from_json(item) for item in value)
    if isinstance(value, dict):
        return _to_sum(value) if "exact_sum" in value else _to_float(value)
    return value


def is_kept(value: Any) -> bool:
    """Return whether an option would be read as it was written."""
    try:
        return bool(from_json(json.loads(canonical_json(to_json(value)))) == value)
    except (TypeError, ValueError):
        return False


def to_state_dict(data: bytes) -> dict[str, str]:
    """Write bytes as text, the only form that every checkpoint, metadata and JSON can hold."""
    return {"state": base64.b64encode(data).decode("ascii")}


def from_state_dict(state_dict: Any) -> bytes:
    """Read the bytes that `to_state_dict` wrote."""
    if not isinstance(state_dict, Mapping):
        got = type(state_dict).__name__
        raise InvalidInputError(f"must be what `state_dict` gave, got {got}", argument="state_dict")
    require(state_dict.keys() == {"state"}, "a state dict has one entry, 'state'")
    text = state_dict["state"]
    require(isinstance(text, str), f"'state' must be text, got {type(text).__name__}")
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise CorruptStateError(f"state is corrupt: 'state' is no base64: {error}.") from error


def _to_float(value: dict[str, Any]) -> float:
    require(value.keys() == {"float64"}, "a number")
    try:
        return float(struct.unpack(">d", bytes.fromhex(value["float64"]))[0])
    except (TypeError, ValueError, struct.error):
        raise CorruptStateError("state is corrupt: a number.") from None


def _to_sum(value: dict[str, Any]) -> ExactSum:
    digits = value["exact_sum"]
    is_sum = isinstance(digits, str) and len(digits) <= MAX_DIGITS and len(value) == 1
    require(is_sum, "an exact sum")
    try:
        return ExactSum(int(digits, 16))
    except ValueError:
        raise CorruptStateError("state is corrupt: an exact sum.") from None


def _described(
    fields: Mapping[str, Any], above: Mapping[str, str] = _NO_BASES
) -> tuple[dict[str, Any], list[_Piece]]:
    """Describe fields for the header, and return the payload in pieces."""
    described: dict[str, Any] = {}
    payload: list[_Piece] = []
    for name, value in fields.items():
        base = above.get(name)
        if base is None:
            described[name], parts = _lay_out(value)
        else:
            description, parts = _lay_out(Column(value.values - fields[base].values))
            described[name] = description | {"above": base}
        payload += parts
    return described, payload


def _lay_out(value: Any) -> tuple[Any, Sequence[_Piece]]:
    """Describe a field for the header, and return its payload in pieces."""
    if not isinstance(value, _IN_THE_PAYLOAD):
        return to_json(value), ()
    if isinstance(value, FixedPoint):
        arrays = (value.whole,) if value.fraction is None else (value.whole, value.fraction)
        if not value.whole.ndim:
            numbers = [_packed_number(array.item()) for array in arrays]
            return {"shape": [], "widths": [len(number) for number in numbers]}, numbers
        parts = [_packed(array.astype(_WORDS, copy=False).view(_UNSIGNED)) for array in arrays]
        widths = [part.itemsize for part in parts]
        return {"shape": [*value.whole.shape], "widths": widths}, parts
    if isinstance(value, Column) and value.kind == "text":
        return _lay_out_pieces("text", [text.encode("utf-8") for text in value.values])
    if isinstance(value, Nested):
        return _lay_out_pieces("bytes", value.items)
    part = _packed(value.values)
    item_type = "uint64" if value.values.dtype.kind == "u" else "int64"
    return {"column": item_type, "length": len(value), "width": part.itemsize}, [part]


def _lay_out_pieces(
    item_type: str, pieces: Sequence[bytes | memoryview]
) -> tuple[Any, Sequence[_Piece]]:
    """Lay out pieces of any length: the length of each, then all of them."""
    lengths = _packed(np.array([len(piece) for piece in pieces], dtype=np.uint64), _TEXT_WIDTHS)
    description = {"column": item_type, "length": len(pieces), "width": lengths.itemsize}
    return description, [lengths, *pieces]


def _packed_number(number: int) -> bytes:
    """Return the narrowest little-endian integer, as for an array."""
    return number.to_bytes(min_width(number), "little")


def _packed(array: Array, widths: Sequence[int] = WIDTHS) -> memoryview | _Wide:
    """Return the narrowest little-endian integers, without a copy if the array holds them."""
    dtype = _LITTLE[f"{array.dtype.kind}{narrowest_width(array, widths)}"]
    if array.size * dtype.itemsize >= _LARGE and array.dtype != dtype:
        return _Wide(array, dtype)
    return array.astype(dtype, order="C", copy=False).data


@attrs.frozen(eq=False)
class _Wide:
    """A large array that is narrowed while it is written.

    Touching new memory takes longer than narrowing, so there should be no intermediate copy.
    """

    array: Array
    dtype: np.dtype[Any]

    @property
    def itemsize(self) -> int:
        """The bytes of an item after narrowing."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all items after narrowing."""
        return self.array.size * self.dtype.itemsize

    def write(self, view: memoryview) -> None:
        """Write the items."""
        narrow = np.frombuffer(view, self.dtype).reshape(self.array.shape)
        np.copyto(narrow, self.array, casting="unsafe")


_Piece: TypeAlias = bytes | memoryview | _Wide


def _size(piece: _Piece) -> int:
    return piece.nbytes if isinstance(piece, _Wide) else memoryview(piece).nbytes


@attrs.define
class _Source:
    """The unread rest of a payload, and the current field."""

    payload: memoryview
    version: int
    widen: bool
    name: str = ""

    def take_column(
        self, description: dict[str, Any], above: str | None, base: Any
    ) -> Column | Nested:
        """Read a described column; add it to its base if it was written as a difference."""
        keys = {"column", "length", "width"} if self.version > 1 else {"column", "length"}
        width: Any = description.get("width", _WORD)
        item_type, length = description["column"], description.get("length", -1)
        is_text = item_type in ("text", "bytes")
        well_formed = (
            description.keys() == (keys if above is None else keys | {"above"})
            and description.get("above") == above
            and (item_type in ("int64", "uint64") or (is_text and above is None))
            and type(length) is type(width) is int
        )
        require(well_formed, self.name)
        if is_text:
            return self._take_pieces(item_type, length, width)
        numbers = self._take(length, width, item_type[0], WIDTHS)
        numbers = numbers.astype(item_type if self.widen else numbers.dtype.newbyteorder("="))
        if above is not None:
            fits = isinstance(base, Column) and base.kind == item_type == "uint64"
            require(fits and len(base) == length, self.name)
            numbers += base.values
        return Column(numbers)

    def take_numbers(self, description: dict[str, Any]) -> FixedPoint:
        """Read described numbers."""
        keys, widths = {"shape", "widths"}, description.get("widths")
        if self.version == 1:
            has_fraction = description.get("fraction")
            keys = {"shape", "fraction"}
            widths = [_WORD] * (1 + has_fraction) if type(has_fraction) is bool else None
        shape = description.get("shape")
        well_formed = (
            description.keys() == keys
            and isinstance(shape, list)
            and isinstance(widths, list)
            and len(shape) <= MAX_DIMENSIONS
            and 1 <= len(widths) <= 2
            and {*map(type, shape), *map(type, widths)} == {int}
        )
        require(well_formed, self.name)
        assert isinstance(shape, list)  # noqa: S101 - tells the type checker
        assert isinstance(widths, list)  # noqa: S101
        items = 1
        for size in shape:
            self._require_there(size)
            items *= size
        whole, *fraction = (
            self._take(items, width, "u", WIDTHS).astype(np.int64).reshape(shape)
            for width in widths
        )
        return FixedPoint(whole, *fraction)

    def _take(self, length: int, width: int, letter: str, widths: Sequence[int]) -> Array:
        """View integers without a copy; they must be as narrow as possible."""
        require(width in widths, self.name)
        size = length * width
        self._require_there(size)
        array = np.frombuffer(self.payload[:size], _LITTLE[f"{letter}{width}"])
        self.payload = self.payload[size:]
        if self.version > 1 and not is_narrow(array, widths):
            raise corrupt(f"{self.name} is wider than its numbers need")
        return array

    def _take_pieces(self, item_type: str, length: int, width: int) -> Column | Nested:
        lengths = self._take(length, width, "u" if self.version > 1 else "i", _TEXT_WIDTHS)
        if length:
            shortest = int(lengths.min())
            self._require_there(shortest)
            self._require_there(int(lengths.max()))
            require(item_type == "text" or shortest >= PREFIX.size, f"{self.name} holds no states")
        # none is longer than the payload, so a sum too large for int64 is negative
        ends = np.cumsum(lengths, dtype=np.int64)
        self._require_there(int(ends.min(initial=0)))
        total = int(ends[-1]) if length else 0
        size = total + (-total % _WORD if self.version == 1 else 0)
        self._require_there(size)
        text, padding = self.payload[:total], self.payload[total:size]
        require(not any(padding), f"{self.name} is not padded with zeros")
        self.payload = self.payload[size:]
        pieces = _cut(text, ends)
        return Nested(tuple(pieces)) if item_type == "bytes" else self._texts(pieces, length)

    def _texts(self, pieces: Iterator[memoryview], length: int) -> Column:
        texts = (str(piece, "utf-8") for piece in pieces)
        try:
            return Column(np.fromiter(texts, dtype=object, count=length))
        except UnicodeDecodeError:
            raise CorruptStateError(f"state is corrupt: {self.name} is not text.") from None

    def _require_there(self, size: int) -> None:
        if not 0 <= size <= len(self.payload):
            raise corrupt(f"{self.name} declares more than there is")


def _cut(text: memoryview, ends: Ints) -> Iterator[memoryview]:
    start = 0
    for first in range(0, len(ends), _PIECES):  # Python integers take four times the memory
        for end in ends[first : first + _PIECES].tolist():
            yield text[start:end]
            start = end


def _view(data: Any) -> memoryview:
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise InvalidInputError(f"must be bytes, got {type(data).__name__}", argument="data")
    try:
        view = memoryview(data)
    except ValueError:
        raise InvalidInputError("must be memory that is not released", argument="data") from None
    if view.format not in ("B", "b", "c") or not view.contiguous:
        raise InvalidInputError("must be contiguous bytes", argument="data")
    return view.cast("B")


def _parse_json(header: bytes) -> Any:
    try:
        return json.loads(header.decode("ascii"))
    except (ValueError, RecursionError):
        raise CorruptStateError("state is corrupt: the header is not JSON.") from None


@functools.lru_cache(maxsize=64)  # most states in a process share their options
def _parse_short(header: bytes, type_id: int) -> dict[str, Any]:
    """Parse a header; callers must not change it."""
    return _parse(header, type_id)


def _parse(header: bytes, type_id: int) -> dict[str, Any]:
    parsed = _parse_json(header)
    parts = {"config", "state"} | ({"type"} if type_id >= FIRST_OPEN_ID else set())
    well_formed = (
        isinstance(parsed, dict)
        and parsed.keys() == parts
        and all(isinstance(parsed[part], dict) for part in ("config", "state"))
    )
    if not well_formed:
        raise corrupt(f"the header has other parts than {', '.join(sorted(parts))}")
    if "type" in parts:
        require(is_type_name(parsed["type"]), "the name of the type")
    return dict(parsed)
