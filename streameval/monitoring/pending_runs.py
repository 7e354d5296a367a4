"""Rows of the join, found by the hash of their id: a log-structured merge tree of arrays."""

from __future__ import annotations

import hashlib
import itertools
import mmap
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from streameval.errors import InvalidInputError, require
from streameval.exact.array_types import Array, Ints, Mask
from streameval.inputs.values import canonical_value, mixed

MAX_TIME = 2**62


class BlobLog:
    """Blobs under unique numbers, and which of them are written.

    Attributes
    ----------
    next : int
        The next number.
    """

    def __init__(self) -> None:
        self.next = 0
        self._new: dict[int, bytes] = {}
        self._written: set[int] = set()

    def add(self, blob: bytes) -> int:
        """Hold a blob until it is written, and return its number."""
        number, self.next = self.next, self.next + 1
        self._new[number] = blob
        return number

    def restore(self, next_number: int, written: Iterable[int]) -> None:
        """Continue after what was written."""
        self.next, self._written = next_number, {*written}

    def changes(self, used: Iterable[int]) -> tuple[dict[int, bytes], set[int]]:
        """Return the blobs to write and the numbers of those to remove, given all in use."""
        kept = {*used}
        added = {number: blob for number, blob in self._new.items() if number in kept}
        removed = self._written - kept
        self._new, self._written = {}, kept
        return added, removed


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


KEY_LAYOUT: ColumnTypes = {
    "high": np.dtype(np.uint64),
    "low": np.dtype(np.uint64),
    "time": np.dtype(np.int64),
}
"""The columns of every row: the hash of its id, and its arrival time."""

_TAKEN: ColumnTypes = {"taken": np.dtype(np.bool_)}
"""The column of a run that is no part of its blobs."""
_OF_PAST = (*KEY_LAYOUT, *_TAKEN)

MAX_RUN = 1_000_000  # merging two runs of 2.5e6 stops everything for a second
MAX_BLOB = 2**17  # written again by a commit
_RUN_SHIFT = np.int64(40)
_POSITION = np.int64(2**40 - 1)
_MAX_STEPS = 16  # from the start of its range to a row: there is one row a range on average
_CHUNK = 2**16  # temporary arrays are no longer than this
_BITS = np.uint8(1) << np.arange(8, dtype=np.uint8)
_MAPPED = 2**21  # bytes of an array that has pages of its own
_FILTER_BITS = 8  # a row; an id that is not there is searched for in one run of eight


def key_order(rows: ArrayColumns) -> Ints:
    """Return the order by hash, rows of equal hash as they are."""
    order: Ints = np.argsort(rows["high"], kind="stable")
    high, low = rows["high"][order], rows["low"]
    same = np.flatnonzero(high[1:] == high[:-1])
    if (low[order[same + 1]] < low[order[same]]).any():
        return np.lexsort((low, rows["high"]))
    return order


def key_starts(rows: ArrayColumns) -> Mask:
    """Return which of sorted rows are the first of their id."""
    starts = np.ones(len(rows["high"]), dtype=np.bool_)
    starts[1:] = (rows["high"][1:] != rows["high"][:-1]) | (rows["low"][1:] != rows["low"][:-1])
    return starts


@attrs.frozen(eq=False)
class Found:
    """Pairs of a key and a row with its id.

    Parameters
    ----------
    keys : array of int64, shape (n,)
        Positions among the given keys.
    rows : array of int64, shape (n,)
        The rows, valid until the next row is added or dropped.
    """

    keys: Ints
    rows: Ints


def _large(size: int, dtype: np.dtype[Any]) -> Array:
    """Allocate an array whose memory returns to the system when freed; others leave holes."""
    n_bytes = size * dtype.itemsize
    if n_bytes < _MAPPED:
        return np.empty(size, dtype)
    return np.frombuffer(mmap.mmap(-1, n_bytes), dtype, size)


class _IdIndex:
    """The position of an id in a run, with a filter that rules out most absent ids.

    Parameters
    ----------
    high : array of uint64, shape (n,)
        The upper half of the hashes, sorted.
    """

    __slots__ = ("_bits", "_n_rows", "_shift", "_starts")

    def __init__(self, high: Words) -> None:
        n_rows = len(high)
        log = max((_FILTER_BITS * n_rows - 1).bit_length(), 3)
        self._shift = np.uint64(64 - log)
        self._n_rows = np.uint64(n_rows)
        self._bits = np.zeros(1 << log >> 3, dtype=np.uint8)
        self._starts = np.zeros(n_rows + 1, dtype=np.int32)
        for first in range(0, n_rows, _CHUNK):
            part = high[first : first + _CHUNK]
            byte, mask = self._bit(part)
            np.bitwise_or.at(self._bits, byte, mask)
            np.add.at(self._starts, self._bucket(part) + 1, np.int32(1))
        np.cumsum(self._starts, out=self._starts)

    def may_hold(self, high: Words) -> Mask:
        """Return False for most hashes that are not in the run, and True for all that are."""
        byte, mask = self._bit(high)
        held: Mask = self._bits[byte] & mask != 0
        return held

    def start(self, high: Words) -> Ints:
        """Return a position before all rows of the hash, and close to the first one."""
        return self._starts[self._bucket(high)].astype(np.int64)

    def _bit(self, high: Words) -> tuple[Ints, npt.NDArray[np.uint8]]:
        bit = high >> self._shift
        return (bit >> np.uint64(3)).view(np.int64), _BITS[bit & np.uint64(7)]

    def _bucket(self, high: Words) -> Ints:
        """Divide the hashes into as many equal ranges as there are rows."""
        return ((high >> np.uint64(32)) * self._n_rows >> np.uint64(32)).view(np.int64)


class _Run:
    """Rows sorted by the hash of their id, with whether they were taken, and their blobs."""

    def __init__(self, columns: ArrayColumns, blobs: tuple[int, ...] = ()) -> None:
        self.columns = columns
        self.taken: Mask = columns["taken"]
        self.blobs = blobs
        self.is_marked = False
        self.index = _IdIndex(columns["high"])
        times = columns["time"]
        self.first, self.last = int(times.min()), int(times.max())
        self.n_taken = int(self.taken.sum())
        self.n_past = 0
        self.next_past = self.first

    def __len__(self) -> int:
        return len(self.taken)

    @property
    def is_past(self) -> bool:
        """Whether the wait of every row is over."""
        return self.n_past == len(self)

    def find(self, high: Words, low: Words) -> tuple[Ints, Ints]:
        """Return positions of keys, and of a row that has that id."""
        keys = np.flatnonzero(self.index.may_hold(high))
        at, rows = self._first_rows(high[keys])
        keys = keys[at]
        own_high = self.columns["high"]
        after = np.minimum(rows + 1, len(self) - 1)
        is_many = (own_high[after] == own_high[rows]) & (after > rows)
        if is_many.any():
            counts = np.searchsorted(own_high, high[keys], side="right") - rows
            rows = np.repeat(rows - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
            keys = np.repeat(keys, counts)
        is_same = self.columns["low"][rows] == low[keys]
        return keys[is_same], rows[is_same]

    def _first_rows(self, sought: Words) -> tuple[Ints, Ints]:
        """Return the positions of hashes that exist, and the first row of each."""
        own_high = self.columns["high"]
        at, rows = np.arange(len(sought)), self.index.start(sought)
        found_at, found_rows = [at[:0]], [rows[:0]]
        n_steps = 0
        while len(sought):
            is_inside = rows < len(self)
            at, sought, rows = at[is_inside], sought[is_inside], rows[is_inside]
            seen = own_high[rows]
            is_here = seen == sought
            found_at.append(at[is_here])
            found_rows.append(rows[is_here])
            is_ahead = seen < sought
            at, sought, rows = at[is_ahead], sought[is_ahead], rows[is_ahead] + 1
            n_steps += 1
            if n_steps == _MAX_STEPS:  # the hashes are close by chance, or were chosen so
                rows = np.searchsorted(own_high, sought)
        return np.concatenate(found_at), np.concatenate(found_rows)


def _by_hash(first: _Run, second: _Run) -> Iterator[ArrayColumns]:
    """Yield rows of two runs by ranges of the hash, which fit the cache."""
    edges = max(first, second, key=len).columns["high"][_CHUNK::_CHUNK]
    cuts = [
        np.concatenate([[0], np.searchsorted(run.columns["high"], edges), [len(run)]]).tolist()
        for run in (first, second)
    ]
    for ranges in zip(*map(itertools.pairwise, cuts), strict=True):
        pairs = zip((first, second), ranges, strict=True)
        yield concatenate([select(run.columns, slice(*part)) for run, part in pairs])


class PendingRuns:
    """Rows found by id, in sorted runs that never change, except for which rows were taken.

    A run is added in one piece. The last two runs are merged if they have similar sizes and are not
    too large, so n rows are copied log(n) times, and a search covers n / MAX_RUN + log(MAX_RUN)
    runs, most of which a few bits per row rule out. On disk a run is one blob, or the blobs of the
    runs that it was made of, so that no more than `MAX_BLOB` rows are written again.

    Parameters
    ----------
    layout : mapping from str to dtype
        The columns besides those of `KEY_LAYOUT`.
    blobs : BlobLog
        Where blobs go.
    keeps_taken : bool
        Whether taken rows are still found. If so, no bitmap of them is written, and the caller of
        `restore` provides it.
    """

    def __init__(self, layout: ColumnTypes, blobs: BlobLog, *, keeps_taken: bool) -> None:
        self._layout = {**KEY_LAYOUT, **layout}
        self._blobs = blobs
        self._keeps_taken = keeps_taken
        self._runs: list[_Run] = []
        self._horizon = -MAX_TIME

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    @property
    def n_untaken(self) -> int:
        """The number of rows that were not taken."""
        return sum(len(run) - run.n_taken for run in self._runs)

    @property
    def n_current(self) -> int:
        """The number of rows, taken or not, that no call of `take_past` has passed."""
        return sum(len(run) - run.n_past for run in self._runs)

    @property
    def n_bytes(self) -> int:
        """The bytes of the columns."""
        return sum(column.nbytes for run in self._runs for column in run.columns.values())

    def add(self, rows: ArrayColumns) -> None:
        """Add rows that are sorted by `key_order`."""
        size = self._max_run
        for start in range(0, len(rows["high"]), size):
            piece = {name: rows[name][start : start + size] for name in self._layout}
            self._append(_Run({**piece, "taken": np.zeros(len(piece["high"]), np.bool_)}))

    def find(self, keys: ArrayColumns) -> Found:
        """Find all rows of some ids."""
        found_keys, found_rows = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for number, run in enumerate(self._runs):
            of_keys, at = run.find(keys["high"], keys["low"])
            if not self._keeps_taken and len(at):
                free = ~run.taken[at]
                of_keys, at = of_keys[free], at[free]
            found_keys.append(of_keys)
            found_rows.append(at + (np.int64(number) << _RUN_SHIFT))
        return Found(np.concatenate(found_keys), np.concatenate(found_rows))

    def between(self, start: int, end: int) -> Ints:
        """Find the rows that were not taken, of arrival times from start up to end."""
        found = [np.zeros(0, np.int64)]
        for number, run in enumerate(self._runs):
            if run.first < end and run.last >= start:
                times = run.columns["time"]
                at = np.flatnonzero((times >= start) & (times < end) & ~run.taken)
                found.append(at + (np.int64(number) << _RUN_SHIFT))
        return np.concatenate(found)

    def column(self, name: str, rows: Ints) -> Array:
        """Return one column of some rows."""
        return self.columns(rows, [name])[name]

    def columns(self, rows: Ints, names: Iterable[str] = ()) -> ArrayColumns:
        """Return some columns of some rows; by default all."""
        types = {**self._layout, **_TAKEN}
        values = {name: np.empty(len(rows), types[name]) for name in names or self._layout}
        for run, chosen, at in self._by_run(rows):
            for name, column in values.items():
                column[chosen] = run.columns[name][at]
        return values

    def is_taken(self, rows: Ints) -> Mask:
        """Return which rows were taken."""
        return self.column("taken", rows)

    def take(self, rows: Ints) -> None:
        """Mark rows as taken, each of them once."""
        for run, _, at in self._by_run(rows):
            run.taken[at] = True
            run.n_taken += len(at)
            run.is_marked = True

    def take_past(self, horizon: int) -> Ints:
        """Take and return the rows that arrived before a time and were not taken yet."""
        found = [np.zeros(0, np.int64)]
        for number, run in enumerate(self._runs):
            if run.next_past < horizon:
                times = run.columns["time"]
                is_past = times < horizon
                run.n_past = int(is_past.sum())
                run.next_past = int(times[~is_past].min(initial=MAX_TIME))
                at = np.flatnonzero(is_past & ~run.taken)
                found.append(at + (np.int64(number) << _RUN_SHIFT))
        rows = np.concatenate(found)
        self.take(rows)
        return rows

    def drop(self, horizon: int) -> None:
        """Drop rows that arrived before a time, and taken rows that are not kept.

        If all rows of a run are past, only its columns of `KEY_LAYOUT`, and which rows were taken,
        stay in memory.
        """
        self._horizon = horizon
        self._runs = [
            run
            for run in self._runs
            if run.last >= horizon and (self._keeps_taken or run.n_taken < len(run))
        ]
        for run in self._runs:
            if run.is_past and len(run.columns) > len(_OF_PAST):
                self._encode(run)
                run.columns = {name: run.columns[name] for name in _OF_PAST}

    def write(self) -> dict[int, bytes]:
        """Make a blob of each new run; return the bitmaps that differ from the last ones."""
        marked = {}
        for run in self._runs:
            if not run.blobs:
                self._encode(run)
                run.is_marked = run.n_taken > 0
            if run.is_marked and not self._keeps_taken:
                marked[run.blobs[0]] = encode_bits(run.taken)
            run.is_marked = False
        return marked

    def to_json(self) -> list[int]:
        """Return the ids of the blobs in order."""
        return [number for run in self._runs for number in run.blobs]

    def restore(
        self, state: Any, blobs: Mapping[int, bytes], bitmaps: Mapping[int, bytes]
    ) -> list[int]:
        """Restore what `write` and `to_json` returned; return the ids of blobs in use."""
        require(isinstance(state, list), "the runs are not a list")
        for number in state:
            require(type(number) is int and number in blobs, "a run is missing")
            columns = decode(blobs[number], self._layout)
            high, low, times = columns["high"], columns["low"], columns["time"]
            ordered = (high[:-1] < high[1:]) | ((high[:-1] == high[1:]) & (low[:-1] <= low[1:]))
            require(ordered.all(), "a run is not sorted")
            require(times.min() > -MAX_TIME and times.max() < MAX_TIME, "a time is out of range")
            columns["taken"] = np.zeros(len(high), dtype=np.bool_)
            if number in bitmaps and not self._keeps_taken:
                columns["taken"] = decode_bits(bitmaps[number], len(high))
            self._append(_Run(columns, (number,)))
        return list(state)

    @property
    def _max_run(self) -> int:
        """The number of rows of the largest run; a bitmap is that of one blob."""
        return MAX_RUN if self._keeps_taken else MAX_BLOB

    def _by_run(self, rows: Ints) -> Iterator[tuple[_Run, Any, Ints]]:
        """Yield each run with its rows among the given ones, and their positions."""
        numbers = rows >> _RUN_SHIFT
        for number in np.flatnonzero(np.bincount(numbers)).tolist():
            chosen = np.flatnonzero(numbers == number)
            yield self._runs[number], chosen, rows[chosen] & _POSITION

    def _append(self, run: _Run) -> None:
        """Add a run, and merge the last two while they have similar sizes."""
        runs = self._runs
        runs.append(run)
        while (
            len(runs) > 1
            and not runs[-2].is_past
            and len(runs[-2]) <= 2 * len(runs[-1])
            and len(runs[-2]) + len(runs[-1]) <= self._max_run
        ):
            second, first = runs.pop(), runs.pop()
            merged = self._merged(first, second)
            if merged is not None:
                runs.append(merged)

    def _merged(self, first: _Run, second: _Run) -> _Run | None:
        """Merge two runs without dropped rows."""
        blobs: tuple[int, ...] = ()
        if len(first) + len(second) > MAX_BLOB:
            for run in (first, second):
                self._encode(run)
            blobs = first.blobs + second.blobs
        size = len(first) + len(second)
        types = {**self._layout, **_TAKEN}
        columns = {name: _large(size, dtype) for name, dtype in types.items()}
        end = 0
        for part in _by_hash(first, second):
            order = key_order(part)
            keep = part["time"] >= self._horizon
            if not self._keeps_taken:
                keep &= ~part["taken"]
            order = order[keep[order]]
            start, end = end, end + len(order)
            for name, column in columns.items():
                column[start:end] = part[name][order]
        if not end:
            return None
        return _Run({name: column[:end] for name, column in columns.items()}, blobs)

    def _encode(self, run: _Run) -> None:
        """Make the blob of a run, unless it has some."""
        if not run.blobs:
            run.blobs = (self._blobs.add(encode(run.columns, self._layout)),)
