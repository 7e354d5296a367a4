"""Rows of the join: ids as 128-bit hashes, and columns as blobs; damaged blobs are refused."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from streameval.errors import InvalidInputError, require
from streameval.exact.array_types import Array, Ints, Mask
from streameval.inputs.values import canonical_value, mixed

Words = npt.NDArray[np.uint64]
ArrayColumns = dict[str, Array]
ColumnTypes = Mapping[str, np.dtype[Any]]

_HEAD = struct.Struct("<8sQI")
_MAGIC = b"SEVJOIN1"


def hash_ids(ids: Sequence[Any] | Array, *, name: str) -> tuple[Words, Words]:
    """Return the two halves of the hash of each id.

    Text is hashed by blake2b to 128 bits: among 1e7 ids, two collide with a probability of 1e-25;
    with 64 bits, it would be 3e-6. Integers are mixed by a bijection, so they never collide. As
    with labels, 1, 1.0 and True are the same id, and "1" is a different one.

    Parameters
    ----------
    ids : sequence of str or int, length n
    name : str
        The argument that errors name.

    Returns
    -------
    high, low : arrays of uint64, shape (n,)

    Raises
    ------
    InvalidInputError
        If an id is missing, or is neither text nor an integer.

    Examples
    --------
    >>> high, low = hash_ids(["a", 1, "1", True], name="ids")
    >>> high[1] == high[3], high[1] == high[2]
    (np.True_, np.False_)
    """
    listed = ids.tolist() if isinstance(ids, np.ndarray) else ids
    types = set(map(type, listed))
    if types == {str}:
        return _of_text(listed, name)
    if types == {int}:
        try:
            return _of_integers(np.fromiter(listed, np.int64, len(listed)))
        except OverflowError:
            pass
    canonical = [_canonical(item, position, name) for position, item in enumerate(listed)]
    high = np.zeros(len(canonical), dtype=np.uint64)
    low = np.zeros_like(high)
    is_text = np.fromiter((isinstance(item, str) for item in canonical), np.bool_, len(canonical))
    texts: list[Any] = [item for item in canonical if isinstance(item, str)]
    numbers = [item for item in canonical if not isinstance(item, str)]
    high[is_text], low[is_text] = _of_text(texts, name)
    of_numbers = _of_integers(np.fromiter(numbers, np.int64, len(numbers)))
    high[~is_text], low[~is_text] = of_numbers
    return high, low


def _canonical(item: Any, position: int, name: str) -> int | str:
    try:
        value = canonical_value(item, name=name)
    except InvalidInputError as error:
        raise InvalidInputError(error.reason, argument=name, position=position) from None
    if value is None:
        raise InvalidInputError(
            f"must hold an id in every row, got {item!r}", argument=name, position=position
        )
    return value


def _of_text(texts: Sequence[str], name: str) -> tuple[Words, Words]:
    """Hash text; a copy of an empty hash takes two thirds of the time of a new one."""
    copy = hashlib.blake2b(digest_size=16).copy
    encode = str.encode
    digests = []
    try:
        for text in texts:
            digest = copy()
            digest.update(encode(text))
            digests.append(digest.digest())
    except UnicodeEncodeError:
        position = len(digests)
        raise InvalidInputError(
            f"must be Unicode text, got {texts[position]!r}", argument=name, position=position
        ) from None
    words = np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64, copy=False)
    return words[::2].copy(), words[1::2].copy()


def _of_integers(numbers: Ints) -> tuple[Words, Words]:
    high = mixed(numbers.view(np.uint64))
    return high, mixed(high)


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
