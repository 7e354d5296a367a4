"""Rows of several integer columns, sorted and counted as single integers.

Sorting values is several times as fast as sorting places, and that as fast again as sorting by
several columns. So columns of small integers are packed into one number a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "Coded",
    "are_in_order",
    "coded",
    "distinct_rows",
    "distinct_values",
    "grouped",
    "merged_rows",
    "order_in_groups",
    "run_bounds",
    "standings",
    "turned",
]

Codes = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]
Values = npt.NDArray[Any]
Coded = tuple[Codes, int]
"""A column of integers from 0, and how many bits they have at most."""

_MOST_BITS = 63
_LAST = np.uint64(2**64 - 1)
_DENSE = 4  # numbers this dense in their range are counted, 10 times as fast as sorted
_STEPS = 4  # up a tie, before it is searched: most are short
_BLOCK = 2**16  # rows: a table that stays in the cache


def coded(values: Keys) -> tuple[Keys, Coded]:
    """Give the distinct values, 0 among them, and places; fast where most values are 0."""
    some = np.flatnonzero(values)
    kept = values[some]
    table = np.append(np.uint64(0), np.unique(kept))
    codes = np.zeros(len(values), dtype=np.int64)
    codes[some] = np.searchsorted(table, kept)
    return table, (codes, len(table).bit_length())


def distinct_values(values: Values) -> tuple[Values, npt.NDArray[np.intp]]:
    """Give the distinct values, rising, and the place of each among them; fast where they rise."""
    if (values[1:] > values[:-1]).all():
        return values, np.arange(len(values))
    known, places = np.unique(values, return_inverse=True)
    return known, places


def turned(column: Coded) -> Coded:
    """Turn the order of a column around; done twice, it is as before."""
    codes, bits = column
    return codes ^ np.int64((1 << bits) - 1), bits


def order_in_groups(place: Codes, key: Keys, minor: Coded) -> npt.NDArray[np.intp]:
    """Sort rows by rising place, then by falling key, then by falling code.

    The keys are too long to be packed. So rows are grouped first, and groups of similar size
    are then sorted together as the rows of a matrix, which is far faster than one long sort.
    """
    codes, bits = turned(minor)
    if int(place.max(initial=0)).bit_length() + bits + len(place).bit_length() <= _MOST_BITS:
        order = grouped(place << np.int64(bits) | codes)
    else:
        order = np.lexsort((codes, place))
    sizes = np.bincount(place)
    starts, width_of = np.cumsum(sizes) - sizes, _widths(sizes)
    falling, result = ~key[order], order.copy()
    for width in np.unique(width_of[sizes > 1]).tolist():
        group = np.flatnonzero((width_of == width) & (sizes > 1))
        table = _as_rows(falling, starts[group], sizes[group], width, _LAST)
        ranks = np.argsort(table, axis=1, kind="stable")  # what fills a row up stays behind
        is_real = np.arange(width) < sizes[group, None]
        rows = starts[group, None] + np.arange(width)
        result[rows[is_real]] = order[(starts[group, None] + ranks)[is_real]]
    return result


def standings(values: Values, sizes: Codes, asked: Codes, place: Codes) -> tuple[Codes, Codes]:
    """Count the rows of the same group with a greater value, and those with the same value.

    Only values are sorted, those of groups of similar size together as the rows of a matrix,
    and only the rows asked for are looked up. Sorted float32 scores of a million rows in groups
    of 100, and a tenth of them looked up: 5 ns a row, where ordering all would take 100.

    Parameters
    ----------
    values : float32, float64 or uint64 array, shape (n,)
        What is compared, without NaN; the rows of a group stand together.
    sizes : int64 array, shape (g,)
        How many rows each group has.
    asked : int64 array, shape (m,)
        The rows to look up, in order.
    place : int64 array, shape (m,)
        The group of each.

    Returns
    -------
    greater, equal : int64 array, shape (m,)
        How many rows; each is equal to itself.
    """
    counts = np.bincount(place, minlength=len(sizes))
    groups = np.flatnonzero(counts)
    groups = groups[np.argsort(-sizes[groups], kind="stable")]
    order = _items(groups, counts)
    asked_values = values[asked] if order is None else values[asked[order]]
    found = np.empty((2, len(asked)), dtype=np.int64)
    starts, ends = np.cumsum(sizes) - sizes, np.cumsum(counts[groups])
    first = item = 0
    while first < len(groups):
        block = groups[first : first + max(_BLOCK // int(sizes[groups[first]]), 1)]
        table, filled = _as_table(values, starts[block], sizes[block])
        items = slice(item, int(ends[first + len(block) - 1]))
        row = np.repeat(np.arange(len(block)), counts[block])
        found[:, items] = _looked_up(table, filled, row, asked_values[items])
        first, item = first + len(block), items.stop
    if order is not None:
        for column in found:
            column[order] = column.copy()
    return found[0], found[1]


def distinct_rows(
    columns: Sequence[Coded], counts: Codes | None = None
) -> tuple[list[Codes], Codes]:
    """Sort rows, first column first, and count how often each occurs.

    Parameters
    ----------
    columns : sequence of (int64 array, shape (n,); int)
        The columns, and how many bits each has.
    counts : int64 array, shape (n,), optional
        How often each row counts; once by default.

    Returns
    -------
    columns : list of int64 arrays, shape (m,)
        The distinct rows in order.
    counts : int64 array, shape (m,)
        How often each occurs.
    """
    packed, tables = _packed(columns)
    if counts is None:
        if int(packed.max(initial=-1)) < _DENSE * len(packed):
            sizes = np.bincount(packed)
            kept = np.flatnonzero(sizes)
            return _unpacked(kept, columns, tables), sizes[kept]
        packed = np.sort(packed)
    else:
        order = np.argsort(packed, kind="stable")  # fast where two runs in order follow each other
        packed, counts = packed[order], counts[order]
    bounds = run_bounds(packed)
    starts = bounds[:-1]
    if counts is None:
        sizes = np.diff(bounds)
    else:
        sizes = np.add.reduceat(counts, starts) if len(starts) else counts
    return _unpacked(packed[starts], columns, tables), sizes


def run_bounds(values: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Find where runs of equal values begin, and the end of the last."""
    begins = np.ones(len(values) + 1, dtype=bool)
    np.not_equal(values[1:], values[:-1], out=begins[1:-1])
    return np.flatnonzero(begins)


def merged_rows(
    mine: Sequence[npt.NDArray[Any]], theirs: Sequence[npt.NDArray[Any]]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Merge two tables that are in order: the first column rising, the others falling.

    Each row of the second finds its place among those of the first that share its first
    column, all rows at once, by halving.

    Parameters
    ----------
    mine, theirs : sequence of arrays, shape (n,) and (m,)
        The columns; the first one holds integers from 0.

    Returns
    -------
    order : int array, shape (n + m,)
        The rows of both in order, as places in one after the other.
    starts : int array, shape (d,)
        Where another row begins in that order.
    """
    size = max(int(column[0].max(initial=-1)) for column in (mine, theirs)) + 1
    ends = np.cumsum(np.bincount(mine[0], minlength=size))
    high = ends[theirs[0]]
    low = np.append(0, ends)[theirs[0]]
    for _ in range(int((high - low).max(initial=0)).bit_length()):
        middle = (low + high) >> 1
        at = np.minimum(middle, max(len(mine[0]) - 1, 0))
        comes_first = (middle < high) & _falls(mine[1:], at, theirs[1:])
        low = np.where(comes_first, middle + 1, low)
        high = np.where(comes_first | (middle >= high), high, middle)
    total = len(mine[0]) + len(theirs[0])
    order = np.empty(total, dtype=np.intp)
    is_theirs = np.zeros(total, dtype=bool)
    is_theirs[low + np.arange(len(low))] = True
    order[~is_theirs] = np.arange(len(mine[0]))
    order[is_theirs] = np.arange(len(mine[0]), total)
    is_first = np.ones(total, dtype=bool)
    is_first[1:] = False
    for own, other in zip(mine, theirs, strict=True):
        column = np.concatenate([own, other])[order]
        is_first[1:] |= column[1:] != column[:-1]
    return order, np.flatnonzero(is_first)


def are_in_order(columns: Sequence[npt.NDArray[Any]]) -> bool:
    """Tell whether distinct rows are in the order of `merged_rows`."""
    first = columns[0]
    above = first[:-1] < first[1:]
    tied = np.flatnonzero(first[:-1] == first[1:])
    above[tied] = _falls(columns[1:], tied, [column[tied + 1] for column in columns[1:]])
    return bool(above.all())


def _falls(
    mine: Sequence[npt.NDArray[Any]], at: npt.NDArray[np.intp], theirs: Sequence[npt.NDArray[Any]]
) -> npt.NDArray[np.bool_]:
    """Tell which rows of the first table, taken at some places, stand above those of the other."""
    own, other = mine[0][at], theirs[0]
    above: npt.NDArray[np.bool_] = np.asarray(own > other, dtype=bool)
    if len(mine) > 1:
        tied = np.flatnonzero(own == other)
        rest = [column[tied] for column in theirs[1:]]
        above[tied] = _falls(mine[1:], at[tied], rest)
    return above


def grouped(place: Codes) -> npt.NDArray[np.intp]:
    """Sort rows by a number, those of one number in their own order."""
    bits = np.int64(len(place).bit_length())
    packed = place << bits | np.arange(len(place))
    packed.sort()
    return packed & ((np.int64(1) << bits) - 1)


def _widths(sizes: npt.NDArray[np.intp]) -> Codes:
    """Give the width of the matrix that each group is sorted in: a power of two, or its size."""
    if len(sizes) and (sizes == sizes[0]).all():
        return sizes
    return np.int64(1) << np.frexp(np.maximum(sizes, 1) - 0.5)[1].astype(np.int64)


def _as_rows(
    values: Keys,
    starts: npt.NDArray[np.intp],
    sizes: npt.NDArray[np.intp],
    width: int,
    filling: np.uint64,
) -> Keys:
    """Lay groups out as the rows of a new matrix, filled up at the end."""
    if len(values) == len(starts) * width and (sizes == width).all():
        return values.reshape(-1, width).copy()
    step = np.arange(width)
    rows = np.minimum(starts[:, None] + step, len(values) - 1)
    return np.where(step < sizes[:, None], values[rows], filling)


def _items(groups: Codes, counts: Codes) -> Codes | None:
    """List the items of groups, group after group, where those of each stand together.

    None if they stand so.
    """
    if (groups[1:] > groups[:-1]).all():
        return None
    sizes = counts[groups]
    shift = (np.cumsum(counts) - counts)[groups] - (np.cumsum(sizes) - sizes)
    return np.repeat(shift, sizes) + np.arange(int(sizes.sum()))


def _as_table(values: Values, starts: Codes, sizes: Codes) -> tuple[Values, Codes]:
    """Sort groups as the rows of a new matrix, each filled up in front by so many least values.

    The sizes fall.
    """
    width = int(sizes[0])
    if sizes[-1] == width and starts[-1] - starts[0] == width * (len(starts) - 1):
        together = values[starts[0] : starts[-1] + width]
        return np.sort(together.reshape(-1, width), axis=1), np.zeros_like(sizes)
    # whole rows are copied at once, in a quarter of the time of single items
    shape = len(values) - width + 1, width
    windows = np.lib.stride_tricks.as_strided(values, shape, 2 * values.strides, writeable=False)
    table, step = windows[np.minimum(starts, len(windows) - 1)], np.arange(width)
    cut = np.flatnonzero(starts >= len(windows))
    if len(cut):
        table[cut] = values.take(starts[cut, None] + step, mode="clip")
    least, filling = int(sizes[-1]), 0 if values.dtype.kind == "u" else -np.inf
    np.copyto(table[:, least:], filling, where=step[least:] >= sizes[:, None])
    table.sort(axis=1)
    return table, width - sizes


def _looked_up(table: Values, filled: Codes, row: Codes, value: Values) -> tuple[Codes, Codes]:
    """Count the items of a sorted row above a value that is in it, and those equal to it."""
    width, flat = table.shape[1], table.ravel()
    base = row * width
    end = _searched(flat, base, value, width, np.less_equal)
    first = end - 1
    tied = np.flatnonzero(flat[first - 1] == value)  # or first of a row, after one that ends so
    if len(tied):
        places = first[tied], base[tied], filled[row[tied]]
        first[tied] = _first_of_ties(flat, *places, value[tied], width)
    return base + width - end, end - first


def _first_of_ties(
    flat: Values, first: Codes, base: Codes, filled: Codes, value: Values, width: int
) -> Codes:
    """Find where the ties begin whose last items are known: by steps up, then by a search."""
    start, tied = base + filled, np.arange(len(first))
    for _ in range(_STEPS):
        tied = tied[first[tied] > start[tied]]
        tied = tied[flat[first[tied] - 1] == value[tied]]
        first[tied] -= 1
    if len(tied):
        first[tied] = _searched(flat, base[tied], value[tied], width, np.less)
        np.maximum(first, start, out=first)
    return first


def _searched(flat: Values, base: Codes, value: Values, width: int, below: np.ufunc) -> Codes:
    """Find in sorted rows the first item that is not below a value, all at once, by halving."""
    place, left = base.copy(), width + 1
    while left > 1:
        half = left >> 1
        place += below(flat[half - 1 :].take(place), value) * half
        left -= half
    return place


def _packed(columns: Sequence[Coded]) -> tuple[Codes, list[Codes | None]]:
    """Pack rows into numbers; where these would pass 63 bits, number the distinct ones first."""
    packed, size = columns[0]
    tables: list[Codes | None] = []
    for codes, bits in columns[1:]:
        table = None
        if size + bits > _MOST_BITS:
            table, packed = np.unique(packed, return_inverse=True)
            size = len(table).bit_length()
        packed = packed << np.int64(bits) | codes
        size += bits
        tables.append(table)
    return packed, tables


def _unpacked(packed: Codes, columns: Sequence[Coded], tables: list[Codes | None]) -> list[Codes]:
    found = []
    for (_, bits), table in zip(columns[:0:-1], tables[::-1], strict=True):
        found.append(packed & np.int64((1 << bits) - 1))
        packed = packed >> np.int64(bits)
        packed = packed if table is None else table[packed]
    return [packed, *reversed(found)]
