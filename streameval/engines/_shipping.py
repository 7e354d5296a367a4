"""What travels between the tasks of a run, and between ranks.

Tasks send states as bytes, and rows that are cheaper uncounted. Ranks send parcels: pending rows
uncounted, and columns byte by byte. A parcel is shorter than the bytes of a state. The same program
reads it at once, so it is no format to keep. It has no checksum, which would take as long as
packing: it travels like gradients.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from streameval.accumulators.base import Accumulator, BufferedAccumulator
from streameval.accumulators.collection import Collection
from streameval.accumulators.members import Members
from streameval.accumulators.parts import merge
from streameval.accumulators.pending import BufferedState, Rows
from streameval.accumulators.persistence import from_bytes
from streameval.exact.array_types import Array
from streameval.exact.fixed_point import FixedPoint
from streameval.states.column import Column
from streameval.states.narrow import narrowed
from streameval.states.state import bases, fields_of


@attrs.frozen(eq=False)
class Uncounted:
    """An accumulator whose rows are all pending.

    Counting the rows of several tasks at once takes half of the time of counting those of each,
    checking the states that come out, and merging them.

    Parameters
    ----------
    kind : type
        The class of the accumulator.
    config : Config
        Its options.
    rows : Rows
        With neither weights nor a dictionary.
    """

    kind: type[Accumulator[Any, Any]]
    config: Any
    rows: Rows

    def __sizeof__(self) -> int:
        """Tell engines that look after their memory how much there is."""
        return sum(column.nbytes for column in self.rows.columns)

    def empty(self) -> Any:
        """Make an accumulator of this class and options that has counted nothing."""
        return self.kind._empty(self.config)


Shipment = Mapping[Any, bytes | Uncounted]
"""What a task has of each value of the column `by`, or of all rows under None."""


def shipped(accumulator: Any) -> bytes | Uncounted:
    """Choose how an accumulator travels: as rows, if it says that this takes less work."""
    loose = accumulator._loose_rows
    to_ship = None if loose is None else loose.to_ship
    rows = None if to_ship is None else to_ship(accumulator._config, accumulator._held)
    if rows is None:
        state: bytes | Uncounted = accumulator.to_bytes()
        return state
    return Uncounted(type(accumulator), accumulator._config, rows)


def merged(*parts: Shipment) -> dict[Any, bytes]:
    """Merge states into new ones; the arguments are left alone, so it may run any number of times.

    Examples
    --------
    >>> import streameval as se
    >>> part = {None: se.ConfusionAccumulator().update([1, 0], [1, 1]).to_bytes()}
    >>> whole = merged(part, merged(part, part))
    >>> se.from_bytes(whole[None]).n
    6
    """
    return _merged(parts, Accumulator.to_bytes)


def joined(*parts: Shipment) -> Shipment:
    """Merge what still has to be merged with more, leaving rows uncounted if they are few."""
    return _merged(parts, shipped)


def _merged(parts: Sequence[Shipment], finish: Callable[[Any], Any]) -> dict[Any, Any]:
    by_value: dict[Any, list[bytes | Uncounted]] = {}
    for part in parts:
        for value, state in part.items():
            by_value.setdefault(value, []).append(state)
    return {value: _one(states, finish) for value, states in by_value.items()}


def _one(parts: Sequence[bytes | Uncounted], finish: Callable[[Any], Any]) -> Any:
    states = [part for part in parts if not isinstance(part, Uncounted)]
    uncounted = [part for part in parts if isinstance(part, Uncounted)]
    if not uncounted and len(states) == 1:
        return states[0]  # what one part alone has needs no reading
    made = merge(map(from_bytes, states)) if states else uncounted[0].empty()
    if not uncounted:
        return made.to_bytes()
    for part in uncounted:  # after the states, whose cells show where to count rows
        made._append(part.rows)
    return finish(made)


_WORD = 4  # bytes of the length of the header
_SAMPLE = 2**12
_SPARSE_SHARE = 0.9  # of a byte, above which its exceptions take less
_NIBBLE = 15


def packed(accumulator: Any) -> bytes:
    """Write an accumulator for the same program on another rank."""
    pieces: list[bytes] = []
    header = json.dumps(_described(accumulator, pieces)).encode()
    return b"".join([len(header).to_bytes(_WORD, "little"), header, *pieces])


def unpacked(parcel: bytes | memoryview) -> Any:
    """Read what `packed` wrote; rows that were pending still are."""
    view = memoryview(parcel)
    end = _WORD + int.from_bytes(view[:_WORD], "little")
    return _read(json.loads(bytes(view[_WORD:end])), _Pieces(view[end:]))


def _described(accumulator: Any, pieces: list[bytes]) -> dict[str, Any]:
    """Describe an accumulator, and append its arrays to the pieces."""
    if isinstance(accumulator, Collection):
        empty = _of_bytes(_empty_bytes(accumulator), pieces)
        members = [_described(member, pieces) for member in accumulator._held.accumulators]
        return {"empty": empty, "members": members}
    arrays = _rows_of(accumulator)
    if arrays is None and isinstance(accumulator, BufferedAccumulator):
        arrays = _fields_of(accumulator._state)
    if arrays is None:
        return {"bytes": _of_bytes(accumulator.to_bytes(), pieces)}
    empty = _of_bytes(_empty_bytes(accumulator), pieces)
    return {"empty": empty, "arrays": {name: _put(array, pieces) for name, array in arrays.items()}}


def _read(described: dict[str, Any], pieces: _Pieces) -> Any:
    """Read an accumulator as described, from the next pieces."""
    if "bytes" in described:
        return from_bytes(pieces.take(described["bytes"]).data)
    made = from_bytes(pieces.take(described["empty"]).data)
    if "members" in described:
        members = tuple(_read(member, pieces) for member in described["members"])
        made._held = Members(made._held.names, members)
        return made
    arrays = {name: pieces.take(array) for name, array in described["arrays"].items()}
    if "0" in arrays:
        rows = Rows(tuple(arrays.values()))
        if rows.size <= made._block(made._state, rows).capacity:
            return made._append(rows)
        made._held = BufferedState.holding(made._state, rows)
        return made
    made._state = _state_of(made._state, arrays)
    return made


def _empty_bytes(accumulator: Any) -> bytes:
    empty: bytes = type(accumulator)._empty(accumulator._config).to_bytes()
    return empty


def _rows_of(accumulator: Any) -> dict[str, Array] | None:
    """List the columns of pending rows by number, if a state would not be less."""
    loose = accumulator._loose_rows
    if loose is None or loose.to_ship is None:
        return None
    rows = loose.to_ship(accumulator._config, accumulator._held)
    if rows is None or _repeats(rows.columns[0]):
        return None
    return {str(number): column for number, column in enumerate(rows.columns)}


def _repeats(column: Array) -> bool:
    """Estimate whether most numbers come again, so that there are fewer cells than rows."""
    sample = np.sort(column[: max(_SAMPLE // column[:1].size, 2)], axis=0)
    return bool(np.count_nonzero(sample[1:] == sample[:-1]) > sample.size // 2)


def _fields_of(state: Any) -> dict[str, Array] | None:
    """List the arrays of a state by name; None if it holds anything else."""
    fields, above = fields_of(state), _bases_of(state)
    arrays: dict[str, Array] = {}
    for name, value in fields.items():
        if isinstance(value, FixedPoint):
            arrays[name] = value.whole
            if value.fraction is not None:
                arrays[f"{name}.fraction"] = value.fraction
        elif not isinstance(value, Column) or value.kind == "text":
            if value:
                return None
        elif name in above:
            arrays[name] = value.values - fields[above[name]].values
        elif value.kind == "uint64":  # in order, but for a few
            arrays[name] = np.diff(value.values, prepend=np.uint64(0))
        else:
            arrays[name] = value.values
    return arrays


def _state_of(empty: Any, arrays: dict[str, Array]) -> Any:
    """Make the state that `_fields_of` listed; `empty` has counted nothing."""
    fields, above = fields_of(empty), _bases_of(empty)
    for name, value in fields.items():
        if isinstance(value, FixedPoint):
            parts = (arrays.get(part) for part in (name, f"{name}.fraction"))
            fields[name] = FixedPoint(*(p.astype(np.int64) for p in parts if p is not None))
        elif name in above:
            fields[name] = Column(arrays[name] + fields[above[name]].values)
        elif name in arrays:
            is_key = value.kind == "uint64"
            array = arrays[name]
            fields[name] = Column(
                np.cumsum(array, dtype=np.uint64) if is_key else array.astype(np.int64)
            )
    return attrs.evolve(empty, **fields)


def _bases_of(state: Any) -> dict[str, str]:
    state_type: Any = type(state)
    return bases(state_type)


def _of_bytes(data: bytes, pieces: list[bytes]) -> dict[str, Any]:
    return _put(np.frombuffer(data, np.uint8), pieces)


def _put(array: Array, pieces: list[bytes]) -> dict[str, Any]:
    """Append an array to the pieces, and describe it."""
    items, truth, shift = array.ravel("F"), "", 0
    if array.dtype == bool:
        indices = np.flatnonzero(items).astype(np.uint32)
        truth = "indices" if 8 * indices.nbytes < items.size else "bits"
        items = indices if truth == "indices" else np.packbits(items)
    elif array.dtype.kind in "iu":
        shift = _n_zeros(items)
        items = narrowed(items >> shift)
    planes = items.view(np.uint8).reshape(items.size, -1).T if items.size else ()
    made = [_packed_plane(plane) for plane in planes]
    if all(way == _RAW for way, _ in made):
        made = [(_RAW, items.tobytes())]
    pieces += [piece for _, piece in made]
    return {
        "shape": array.shape,
        "truth": truth,
        "shift": shift,
        "dtype": items.dtype.str,
        "size": items.size,
        "pieces": [(way, len(piece)) for way, piece in made],
    }


def _n_zeros(items: Array) -> int:
    """Count the low bits that are 0 in every integer: those of float32 scores have 29 of them."""
    held = int(np.bitwise_or.reduce(items)) if items.size else 0
    return (held & -held).bit_length() - 1 if held else 0


_RAW, _SPARSE, _HALVED = "raw", "sparse", "halved"


def _packed_plane(plane: Array) -> tuple[str, bytes]:
    """Write one byte of every item: those of exponents, small differences and counts are few.

    Half bytes take a millisecond a megabyte; a general compressor takes longer than sending.
    """
    sample = plane[:: max(1, len(plane) // _SAMPLE)]
    if len(plane) < _SAMPLE:
        return _RAW, plane.tobytes()
    counts = np.bincount(sample)
    commonest = counts.argmax()
    if counts[commonest] > _SPARSE_SHARE * len(sample):
        indices = np.flatnonzero(plane != commonest)
        others = np.append(plane[indices], commonest).astype(np.uint8)
        return _SPARSE, others.tobytes() + indices.astype(np.uint32).tobytes()
    low = max((int(sample.min()) + int(sample.max()) - _NIBBLE) // 2, 0)
    if np.ptp(sample) > _NIBBLE or (nibbles := plane - np.uint8(low)).max() > _NIBBLE:
        return _RAW, plane.tobytes()
    pairs = nibbles[::2].copy()
    pairs[: len(plane) // 2] |= nibbles[1::2] << 4
    return _HALVED, bytes([low]) + pairs.tobytes()


def _read_plane(way: str, data: memoryview, plane: Array) -> None:
    """Fill in one byte of every item."""
    if way == _SPARSE:
        n = len(data) // (1 + np.dtype(np.uint32).itemsize)
        plane[:] = data[n]
        plane[np.frombuffer(data[n + 1 :], np.uint32)] = np.frombuffer(data[:n], np.uint8)
    else:
        read = np.frombuffer(data, np.uint8)
        if way == _HALVED:
            low, pairs = read[0], read[1:]
            plane[::2] = (pairs & _NIBBLE) + low
            plane[1::2] = (pairs[: len(plane) // 2] >> 4) + low
            return
        plane[:] = read


class _Pieces:
    """The unread rest of the pieces."""

    def __init__(self, view: memoryview) -> None:
        self._view = view

    def take(self, described: dict[str, Any]) -> Array:
        """Read the next array."""
        size, dtype, shape = described["size"], np.dtype(described["dtype"]), described["shape"]
        pieces = [(way, self._next(length)) for way, length in described["pieces"]]
        if len(pieces) == dtype.itemsize and size:
            planes = np.empty((size, dtype.itemsize), np.uint8)
            for plane, piece in zip(planes.T, pieces, strict=True):
                _read_plane(*piece, plane)
            items = planes.view(dtype)[:, 0]
        else:
            items = np.frombuffer(b"".join(data for _, data in pieces), dtype)
        if described["truth"] == "bits":
            items = np.unpackbits(items, count=int(np.prod(shape))).astype(bool)
        elif described["truth"]:
            indices, items = items, np.zeros(int(np.prod(shape)), bool)
            items[indices] = True
        elif described["shift"]:
            items = items.astype(np.int64 if dtype.kind == "i" else np.uint64) << described["shift"]
        array: Array = items.reshape(shape, order="F")
        return array

    def _next(self, length: int) -> memoryview:
        piece, self._view = self._view[:length], self._view[length:]
        return piece
