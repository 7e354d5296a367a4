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
    "merged_rows",
    "order_in_groups",
    "standings",
    "turned",
]

Codes = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]
Coded = tuple[Codes, int]
"""A column of integers from 0, and how many bits they have at most."""

_MOST_BITS = 63
_LAST = np.uint64(2**64 - 1)


def coded(values: Keys) -> tuple[Keys, Coded]:
    """Give the distinct values, 0 among them, and places; fast where most values are 0."""
    some = np.flatnonzero(values)
    kept = values[some]
    table = np.append(np.uint64(0), np.unique(kept))
    codes = np.zeros(len(values), dtype=np.int64)
    codes[some] = np.searchsorted(table, kept)
    return table, (codes, len(table).bit_length())


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
        order = _grouped(place << np.int64(bits) | codes)
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


def standings(place: Codes, key: Keys, asked: Codes) -> tuple[Codes, Codes]:
    """Count the rows of the same group with a greater key, and those with the same key.

    Only values are sorted, and only the rows asked for are looked up.

    Parameters
    ----------
    place : int64 array, shape (n,)
        The group of each row.
    key : uint64 array, shape (n,)
        What is compared.
    asked : int64 array, shape (m,)
        The rows to look up.

    Returns
    -------
    greater, equal : int64 array, shape (m,)
        How many rows; each is equal to itself.
    """
    greater, equal = np.zeros(len(asked), dtype=np.int64), np.zeros(len(asked), dtype=np.int64)
    sizes = np.bincount(place)
    starts, width_of = np.cumsum(sizes) - sizes, _widths(sizes)
    is_grouped = bool((place[1:] >= place[:-1]).all())
    key_in_groups = key if is_grouped else key[_grouped(place)]
    group_of = place[asked]
    for width in np.unique(width_of[group_of]).tolist():
        group = np.flatnonzero(width_of == width)
        table = _as_rows(key_in_groups, starts[group], sizes[group], width, np.uint64(0))
        table.sort(axis=1)
        number = np.zeros(len(sizes), dtype=np.int64)
        number[group] = np.arange(len(group))
        own = np.flatnonzero(width_of[group_of] == width)
        row, value = number[group_of[own]], key[asked[own]]
        last = _searched(table, row, value, np.less_equal)
        first = np.maximum(last - 1, 0)
        tied = np.flatnonzero(table[row, np.maximum(last - 2, 0)] == value)
        first[tied] = _searched(table, row[tied], value[tied], np.less)
        filling = width - sizes[group][row]  # stands first
        greater[own], equal[own] = width - last, last - np.maximum(first, filling)
    return greater, equal


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
        packed = np.sort(packed)
    else:
        order = np.argsort(packed, kind="stable")  # fast where two runs in order follow each other
        packed, counts = packed[order], counts[order]
    is_first = np.empty(len(packed), dtype=bool)
    is_first[:1] = True
    np.not_equal(packed[1:], packed[:-1], out=is_first[1:])
    starts = np.flatnonzero(is_first)
    if counts is None:
        sizes = np.diff(starts, append=len(packed))
    else:
        sizes = np.add.reduceat(counts, starts) if len(starts) else counts
    return _unpacked(packed[starts], columns, tables), sizes


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


def _grouped(place: Codes) -> npt.NDArray[np.intp]:
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


def _searched(table: Keys, row: Codes, value: Keys, below: np.ufunc) -> Codes:
    """Count the items of a sorted row that are below a value, all rows at once, by halving."""
    width = table.shape[1]
    flat, base = table.ravel(), row * width
    low, high = np.zeros_like(row), np.full_like(row, width)
    for _ in range(width.bit_length()):
        middle = (low + high) >> 1
        is_below = below(flat[base + np.minimum(middle, width - 1)], value) & (middle < high)
        low = np.where(is_below, middle + 1, low)
        high = np.where(is_below, high, middle)
    return low


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
