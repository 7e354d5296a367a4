"""Columns of rows as blobs; damaged blobs are refused."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from streameval.errors import require
from streameval.exact.array_types import Array, Mask

ArrayColumns = dict[str, Array]
ColumnTypes = Mapping[str, np.dtype[Any]]

_HEAD = struct.Struct("<8sQI")
_MAGIC = b"SEVJOIN1"


def concatenate(parts: Sequence[ArrayColumns]) -> ArrayColumns:
    """Concatenate rows with the same columns."""
    if len(parts) == 1:
        return parts[0]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def select(columns: ArrayColumns, rows: Array | slice) -> ArrayColumns:
    """Return some rows, by a mask, by their positions or by a range."""
    return {name: column[rows] for name, column in columns.items()}


def encode(columns: ArrayColumns, layout: ColumnTypes) -> bytes:
    """Write columns of equal length in the order of the layout."""
    pieces = [
        np.ascontiguousarray(columns[name], dtype=_little(dtype)).view(np.uint8).data
        for name, dtype in layout.items()
    ]
    return _sealed(pieces, len(columns[next(iter(layout))]))


def decode(blob: bytes, layout: ColumnTypes) -> ArrayColumns:
    """Read what `encode` wrote of at least one row."""
    n_rows, body = _opened(blob)
    width = sum(dtype.itemsize for dtype in layout.values())
    require(n_rows and n_rows * width == len(body), f"{len(body)} bytes are not {n_rows} rows")
    columns, start = {}, 0
    for name, dtype in layout.items():
        piece = np.frombuffer(body, _little(dtype), n_rows, start)
        columns[name] = piece.astype(dtype)
        start += n_rows * dtype.itemsize
    return columns


def encode_bits(bits: Mask) -> bytes:
    """Write a bitmap."""
    return _sealed([np.packbits(bits).data], len(bits))


def decode_bits(blob: bytes, n_rows: int) -> Mask:
    """Read a bitmap of a known number of rows."""
    n_bits, body = _opened(blob)
    require(n_bits == n_rows, f"a bitmap has {n_bits} rows instead of {n_rows}")
    require(len(body) == -(-n_rows // 8), "a bitmap has another length")
    bits = np.unpackbits(np.frombuffer(body, np.uint8))
    require(not bits[n_rows:].any(), "a bitmap has bits past its end")
    return bits[:n_rows].astype(np.bool_)


def _sealed(pieces: Sequence[Any], n_rows: int) -> bytes:
    checksum = zlib.crc32(n_rows.to_bytes(8, "little"))
    for piece in pieces:
        checksum = zlib.crc32(piece, checksum)
    return b"".join([_HEAD.pack(_MAGIC, n_rows, checksum), *pieces])


def _opened(blob: bytes) -> tuple[int, memoryview]:
    require(isinstance(blob, bytes), "a blob of the join is not bytes")
    require(len(blob) >= _HEAD.size, "a blob of the join is cut short")
    magic, n_rows, checksum = _HEAD.unpack_from(blob)
    require(magic == _MAGIC, "a blob is not one of the join")
    body = memoryview(blob)[_HEAD.size :]
    found = zlib.crc32(body, zlib.crc32(n_rows.to_bytes(8, "little")))
    require(found == checksum, "the checksum of a blob differs")
    return n_rows, body


def _little(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype.newbyteorder("<")
