"""The byte format, version 1: a prefix of 28 bytes, a JSON header, integers.

====== ======= =============================================
offset size    meaning
====== ======= =============================================
0      8       magic ``89 53 45 56 4C 0D 0A 1A``
8      2       u16 version
10     2       u16 kind of accumulator
12     4       u32 header length
16     8       u64 payload length
24     4       u32 CRC-32 of everything else
28     header  canonical JSON: sorted keys, ASCII, no spaces
...    payload integers of 8 bytes, and text, field after field
====== ======= =============================================

All integers are little-endian. The prefix is the same for ever. The checksum finds accidents,
not forgery; what it lets through is still checked as a state by the reader.
"""

from __future__ import annotations

import base64
import itertools
import json
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from streameval.errors import (
    CorruptStateError,
    InvalidInputError,
    UnsupportedVersionError,
    require,
)
from streameval.exact.exact_sum import ExactSum
from streameval.exact.fixed_point import FixedPoint
from streameval.states.column import Column

__all__ = [
    "KINDS",
    "MAGIC",
    "PREFIX",
    "VERSION",
    "Nested",
    "Parts",
    "Prefix",
    "decode_fields",
    "encode",
    "encode_header",
    "from_json",
    "from_state_dict",
    "read_prefix",
    "split",
    "to_state_dict",
]

MAGIC = b"\x89SEVL\r\n\x1a"
VERSION = 1
PREFIX = struct.Struct("<8sHHIQI")
KINDS = {
    1: "ConfusionAccumulator",
    2: "RegressionAccumulator",
    3: "PRCurveSketch",
    4: "CalibrationAccumulator",
    5: "GroupedAUC",
    6: "RankingAccumulator",
    7: "Collection",
}
"""The class that each kind belongs to; a number is never given twice."""
MAX_HEADER = 2**24
MAX_DIMENSIONS = 3
MAX_DIGITS = 1024
MAX_SIZE = 2**40
_WORD = 8
_CANONICAL_JSON = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


@attrs.frozen
class Prefix:
    """The first 28 bytes; magic, version and lengths are checked, kind and checksum are not."""

    kind: int
    header_size: int
    payload_size: int
    checksum: int

    @property
    def size(self) -> int:
        """The length of all bytes, as the prefix declares it."""
        return PREFIX.size + self.header_size + self.payload_size


@attrs.frozen
class Parts:
    """The checked parts of encoded bytes; the kind is one of `KINDS`."""

    kind: int
    header_bytes: bytes
    header: dict[str, Any]
    payload: memoryview

    def check_header(self, config: Mapping[str, Any], fields: Mapping[str, Any]) -> None:
        """Check that the header is the one that would be written of what was read."""
        expected = encode_header(config, fields)
        require(expected == self.header_bytes, "the header is not in canonical form")


@attrs.frozen
class Nested:
    """Encoded states that are part of another."""

    items: tuple[bytes | memoryview, ...]


def encode(kind: int, config: Mapping[str, Any], fields: Mapping[str, Any]) -> bytes:
    """Write one state.

    Parameters
    ----------
    kind : int
        The number of the kind of accumulator.
    config : mapping
        The configuration: booleans, integers, floats, strings, None and tuples of these.
    fields : mapping
        The state: `FixedPoint` arrays, `Column`s and `Nested` states, which fill the payload,
        and `ExactSum` numbers, labels, and tuples of these, which stand in the header.
    """
    header = encode_header(config, fields)
    payload = [part for value in fields.values() for part in _payload(value)]
    size = sum(memoryview(part).nbytes for part in payload)
    prefix = PREFIX.pack(MAGIC, VERSION, kind, len(header), size, 0)[:-4]
    checksum = zlib.crc32(header, zlib.crc32(prefix))
    for part in payload:
        checksum = zlib.crc32(part, checksum)
    return b"".join((prefix, struct.pack("<I", checksum), header, *payload))


def encode_header(config: Mapping[str, Any], fields: Mapping[str, Any]) -> bytes:
    """Write the header: equal configurations and shapes give equal bytes."""
    described = {name: _describe(value) for name, value in fields.items()}
    settings = {name: _to_json(value) for name, value in config.items()}
    header = {"config": settings, "state": described}
    return _CANONICAL_JSON.encode(header).encode("ascii")


def read_prefix(head: bytes | bytearray | memoryview, size: int | None) -> Prefix:
    """Read the prefix, and compare what it declares with the bytes that there are.

    Parameters
    ----------
    head : bytes
        The first 28 bytes, or more of them.
    size : int or None
        How many bytes there are altogether; None if that shows only at their end.

    Raises
    ------
    CorruptStateError
        When the bytes cannot be those of a state, or are more or fewer than declared.
    UnsupportedVersionError
        When a newer release wrote them.
    """
    require(size is None or size <= MAX_SIZE, f"{size} bytes are more than any state has")
    require(len(head) >= PREFIX.size, f"prefix (expected {PREFIX.size} bytes, got {len(head)})")
    magic, version, kind, header_size, payload_size, checksum = PREFIX.unpack_from(head)
    require(magic == MAGIC, "these are not the bytes of an accumulator")
    if version != VERSION:
        raise UnsupportedVersionError(
            f"state has format version {version}, this release reads version {VERSION}."
        )
    require(header_size <= MAX_HEADER, f"header length {header_size}")
    prefix = Prefix(kind, header_size, payload_size, checksum)
    require(size in (None, prefix.size), f"length (expected {prefix.size} bytes, got {size})")
    return prefix


def split(data: Any) -> Parts:
    """Check prefix and checksum, and take the bytes apart without copying the payload.

    Raises
    ------
    CorruptStateError
        When the bytes are damaged, cut, or never were a state.
    UnsupportedVersionError
        When a newer release wrote them.
    """
    view = _view(data)
    prefix = read_prefix(view, len(view))
    expected = prefix.checksum
    actual = zlib.crc32(view[PREFIX.size :], zlib.crc32(view[: PREFIX.size - 4]))
    require(actual == expected, f"checksum (expected {expected:08x}, got {actual:08x})")
    require(prefix.kind in KINDS, f"unknown kind {prefix.kind}")
    start = PREFIX.size + prefix.header_size
    header_bytes = bytes(view[PREFIX.size : start])
    return Parts(prefix.kind, header_bytes, _parse(header_bytes), view[start:])


def decode_fields(described: Mapping[str, Any], payload: memoryview) -> dict[str, Any]:
    """Read the fields of a state; declared sizes are compared before anything is allocated.

    `described` must list the fields in the order in which they were written.
    """
    fields: dict[str, Any] = {}
    for name, description in described.items():
        if isinstance(description, dict) and "column" in description:
            fields[name], payload = _take_column(description, payload, name)
        elif isinstance(description, dict) and "exact_sum" not in description:
            fields[name], payload = _take_numbers(description, payload, name)
        else:
            fields[name] = from_json(description)
    require(not payload, f"payload has {len(payload)} bytes too many")
    return fields


def from_json(value: Any) -> Any:
    """Undo the encoding of one value of the header."""
    if isinstance(value, list):
        return tuple(from_json(item) for item in value)
    if isinstance(value, dict):
        return _to_sum(value) if "exact_sum" in value else _to_float(value)
    return value


def to_state_dict(data: bytes) -> dict[str, str]:
    """Write bytes as text: the one form that every checkpoint, metadata and JSON can hold."""
    return {"state": base64.b64encode(data).decode("ascii")}


def from_state_dict(state_dict: Any) -> bytes:
    """Read the bytes that `to_state_dict` wrote."""
    if not isinstance(state_dict, Mapping):
        kind = type(state_dict).__name__
        raise InvalidInputError(f"`state_dict` must be what `state_dict` gave, got {kind}.")
    require(state_dict.keys() == {"state"}, "a state dict has one entry, 'state'")
    text = state_dict["state"]
    require(isinstance(text, str), f"'state' must be text, got {type(text).__name__}")
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise CorruptStateError(f"state is corrupt: 'state' is no base64: {error}.") from error


def _to_json(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_to_json(item) for item in value]
    if isinstance(value, float):
        return {"float64": struct.pack(">d", value).hex()}
    if isinstance(value, ExactSum):
        return {"exact_sum": f"{value.units:x}"}
    return value


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
    return ExactSum(int(digits, 16))


def _describe(value: Any) -> Any:
    if isinstance(value, FixedPoint):
        return {"fraction": value.fraction is not None, "shape": list(value.shape)}
    if isinstance(value, Column):
        return {"column": value.kind, "length": len(value)}
    if isinstance(value, Nested):
        return {"column": "bytes", "length": len(value.items)}
    return _to_json(value)


def _payload(value: Any) -> Iterable[bytes | memoryview]:
    """Write what does not stand in the header, in pieces of whole words."""
    if isinstance(value, FixedPoint):
        yield _words(value.whole)
        if value.fraction is not None:
            yield _words(value.fraction)
    elif isinstance(value, Column) and value.kind == "text":
        yield from _pieces([text.encode("utf-8") for text in value.values])
    elif isinstance(value, Column):
        yield _words(value.values)
    elif isinstance(value, Nested):
        yield from _pieces(value.items)


def _pieces(pieces: Sequence[bytes | memoryview]) -> Iterable[bytes | memoryview]:
    """Write pieces of any length: the length of each, then all of them up to a whole word."""
    lengths = np.array([len(piece) for piece in pieces], dtype=np.int64)
    yield _words(lengths)
    yield from pieces
    yield bytes(int(-lengths.sum() % _WORD))


def _words(array: npt.NDArray[Any]) -> memoryview:
    """Look at an array as bytes; where these are in order, nothing is copied."""
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).data


def _take_column(
    description: dict[str, Any], payload: memoryview, name: str
) -> tuple[Column | Nested, memoryview]:
    require(description.keys() == {"column", "length"}, name)
    kind, length = description["column"], description["length"]
    require(kind in ("int64", "uint64", "text", "bytes") and type(length) is int, name)
    size = _WORD * length
    require(0 <= size <= len(payload), f"{name} declares more than there is")
    words = np.frombuffer(payload[:size], dtype="<u8" if kind == "uint64" else "<i8")
    payload = payload[size:]
    if kind in ("int64", "uint64"):
        return Column(words.astype(kind)), payload
    pieces, payload = _take_pieces(words, payload, name)
    return Nested(tuple(pieces)) if kind == "bytes" else _texts(pieces, name), payload


def _take_pieces(
    lengths: npt.NDArray[np.int64], payload: memoryview, name: str
) -> tuple[Iterable[memoryview], memoryview]:
    within = (lengths >= 0) & (lengths <= len(payload))
    require(within.all(), f"{name} declares more than there is")
    ends = list(itertools.accumulate(lengths.tolist(), initial=0))
    size = ends[-1] + -ends[-1] % _WORD
    require(size <= len(payload), f"{name} declares more than there is")
    require(not any(payload[ends[-1] : size]), f"{name} is not padded with zeros")
    pieces = (payload[start:end] for start, end in itertools.pairwise(ends))
    return pieces, payload[size:]


def _texts(pieces: Iterable[memoryview], name: str) -> Column:
    try:
        texts = [str(piece, "utf-8") for piece in pieces]
    except UnicodeDecodeError:
        raise CorruptStateError(f"state is corrupt: {name} is not text.") from None
    return Column(np.fromiter(texts, dtype=object, count=len(texts)))


def _take_numbers(
    description: dict[str, Any], payload: memoryview, name: str
) -> tuple[FixedPoint, memoryview]:
    require(description.keys() == {"fraction", "shape"}, name)
    shape, has_fraction = description["shape"], description["fraction"]
    require(isinstance(has_fraction, bool) and isinstance(shape, list), name)
    require(len(shape) <= MAX_DIMENSIONS and all(type(size) is int for size in shape), name)
    items = 1
    for size in shape:
        require(0 <= size <= len(payload), f"{name} declares more than there is")
        items *= size
    size = _WORD * items * (2 if has_fraction else 1)
    require(size <= len(payload), f"{name} declares more than there is")
    arrays = np.frombuffer(payload[:size], dtype="<i8").astype(np.int64)
    whole = arrays[:items].reshape(shape)
    fraction = arrays[items:].reshape(shape) if has_fraction else None
    return FixedPoint(whole, fraction), payload[size:]


def _view(data: Any) -> memoryview:
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise InvalidInputError(f"`data` must be bytes, got {type(data).__name__}.")
    try:
        view = memoryview(data)
    except ValueError:
        raise InvalidInputError("`data` must be memory that is not released.") from None
    if view.format not in ("B", "b", "c") or not view.contiguous:
        raise InvalidInputError("`data` must be contiguous bytes.")
    return view.cast("B")


def _parse(header: bytes) -> dict[str, Any]:
    try:
        parsed = json.loads(header.decode("ascii"))
    except (ValueError, RecursionError):
        raise CorruptStateError("state is corrupt: the header is not JSON.") from None
    well_formed = (
        isinstance(parsed, dict)
        and parsed.keys() == {"config", "state"}
        and all(isinstance(part, dict) for part in parsed.values())
    )
    require(well_formed, "the header has other parts than config and state")
    return dict(parsed)
