"""Tables of cells, each with a level: as columns, and the union of many at once."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import numpy as np

from streameval.exact import Scale
from streameval.exact.array_types import Indices, Ints, Mask, Scores
from streameval.exact.fixed_point import FixedPoint
from streameval.exact.score_keys import Keys, keys_of, prefixes
from streameval.states.cells import Cells, split_by_class
from streameval.states.column import Column
from streameval.states.runs import chunks, run_indices

_CHUNK = 2**15  # cells whose temporaries stay in the cache
_BITS = 64
_MANY = 2**11  # items a table from which tables are made one by one
_OFTEN = 0.2  # from this share of the cells on, adding up run by run is faster


LeveledCells = tuple[int, Cells]
"""How many low bits the keys in a cell may differ in, and the cells."""


def columns_of(tables: Iterable[LeveledCells]) -> tuple[Column, Column, Cells]:
    """Store tables as columns: their levels, their numbers of cells, and all cells."""
    levels, sizes, cells = _stored(tables)
    return Column(levels), Column(sizes), cells


def tables_of(levels: Column, sizes: Column, cells: Cells) -> Iterator[LeveledCells]:
    """Yield the tables that `columns_of` stored."""
    if len(levels) == 1:
        yield levels.values.item(), cells
        return
    ends = np.cumsum(sizes.values).tolist()
    for level, start, end in zip(levels.values.tolist(), [0, *ends], ends, strict=False):
        yield level, cells[start:end]


def joined_each(
    mine: Iterable[LeveledCells], theirs: Iterable[LeveledCells], budget: int | None
) -> Iterator[LeveledCells]:
    """Join tables one by one, and fit each to the budget."""
    for (level, cells), (other_level, others) in zip(mine, theirs, strict=True):
        yield cells.joined_within(others, max(level, other_level), budget)


def joined_tables(
    cells: Cells, sizes: Ints, levels: Ints, n_runs: Ints, budget: int | None
) -> tuple[Ints, Ints, Cells]:
    """Join canonical lists of cells, and fit each table to the budget.

    Parameters
    ----------
    cells : Cells
        The cells of all lists, one after the other.
    sizes, levels : int64 arrays, shape (R,)
        The number of cells of each list, and its level.
    n_runs : int64 array, shape (T,)
        The number of neighbouring lists that make up each table, at least one.
    budget : int or None
        How many cells a table may have.

    Returns
    -------
    levels, sizes : int64 arrays, shape (T,)
        The level and the number of cells of each table.
    cells : Cells
        The cells of all tables, one after the other.
    """
    if len(cells) >= _MANY * len(sizes):
        return _stored(_joined_in_turn(cells, sizes, levels, n_runs, budget))
    starts = np.cumsum(n_runs) - n_runs
    level = np.maximum.reduceat(levels, starts)
    n_cells = np.add.reduceat(sizes, starts)
    edges = np.append(0, np.cumsum(n_cells))
    parts: list[tuple[Ints, Ints, Cells]] = [
        _joined(cells[edges[first] : edges[last]], n_cells[first:last], level[first:last], budget)
        for first, last in chunks(n_cells + 1, _CHUNK + 1)
    ]
    new_levels, new_sizes, joined = zip(*parts, strict=True)
    return np.concatenate(new_levels), np.concatenate(new_sizes), Cells.concatenated(joined)


def joined_tables_of_states(
    cells: Cells, sizes: Ints, levels: Ints, n_states: Ints, n_tables: int, budget: int | None
) -> tuple[Ints, Ints, Cells]:
    """Join the tables of runs of states, each with as many, table by table.

    Parameters
    ----------
    cells, sizes, levels, budget
        As for `joined_tables`, of the tables of one state after the other.
    n_states : int64 array
        The number of states in each run, at least one.
    n_tables : int
        The number of tables of a state.
    """
    if n_tables > 1:  # from state after state to table after table
        run = np.repeat(np.arange(len(n_states)), n_states)
        tables = (run[:, None] * n_tables + np.arange(n_tables)).ravel()
        order = np.argsort(tables, kind="stable")
        starts = (np.cumsum(sizes) - sizes)[order]
        sizes, levels = sizes[order], levels[order]
        cells = cells[run_indices(starts, sizes)]
    return joined_tables(cells, sizes, levels, np.repeat(n_states, n_tables), budget)


def counted_tables(
    scores: Scores,
    positive: Mask,
    weights: FixedPoint | None,
    sizes: Ints,
    scale: Scale,
    budget: int | None,
) -> tuple[Ints, Ints, Cells]:
    """Count rows into tables, and fit each to the budget.

    Parameters
    ----------
    scores, positive, weights : arrays, shape (n,)
        The rows of one table after the other.
    sizes : int64 array, shape (T,)
        The number of rows of each table.
    scale, budget
        As in `joined_tables`, whose form the tables have.
    """
    if len(scores) < _MANY * len(sizes):
        keys = keys_of(scores, scale)
        rows = Cells(keys, keys, *split_by_class(positive, weights))
        nothing = np.zeros(len(sizes), dtype=np.int64)
        return joined_tables(rows, sizes, nothing, np.ones_like(nothing), budget)
    edges = itertools.pairwise([0, *np.cumsum(sizes).tolist()])
    return _stored(
        Cells.none().with_rows_within(
            scores[start:end],
            scale,
            positive[start:end],
            None if weights is None else weights[start:end],
            0,
            budget,
        )
        for start, end in edges
    )


def _stored(tables: Iterable[LeveledCells]) -> tuple[Ints, Ints, Cells]:
    """Store tables one after the other."""
    held = [*tables]
    sizes = np.array([len(cells) for _, cells in held], dtype=np.int64)
    every = Cells.concatenated([cells for _, cells in held] or [Cells.none()])
    return np.array([level for level, _ in held], dtype=np.int64), sizes, every


def _joined_in_turn(
    cells: Cells, sizes: Ints, levels: Ints, n_runs: Ints, budget: int | None
) -> Iterator[LeveledCells]:
    """Join lists of many cells one by one, which needs no sort of all cells."""
    ends = np.cumsum(sizes)
    lists = zip(levels.tolist(), (ends - sizes).tolist(), ends.tolist(), strict=True)
    for n_lists in n_runs.tolist():
        level, start, end = next(lists)
        joined = cells[start:end]
        for _ in range(n_lists - 1):
            other, start, end = next(lists)
            level, joined = joined.joined_within(cells[start:end], max(level, other), budget)
        yield level, joined


def shifted(keys: Keys, levels: Ints, sizes: Ints) -> Keys:
    """Drop the low bits of each key, as many as the level of its table."""
    if (levels == levels[0]).all():
        return prefixes(keys, int(levels[0]))
    shift = np.repeat(levels.astype(np.uint64), sizes)
    left: Keys = keys >> np.minimum(shift, np.uint64(_BITS - 1))
    left[shift == _BITS] = 0  # a shift by 64 is not a shift
    return left


def _joined(cells: Cells, sizes: Ints, level: Ints, budget: int | None) -> tuple[Ints, Ints, Cells]:
    """Join the cells of neighbouring tables."""
    table = np.repeat(np.arange(len(sizes)), sizes)
    order, is_start = _ordered(cells.lo, table, sizes, level)
    starts = np.flatnonzero(is_start)
    made = _merged(cells, order, starts, int(level.max(initial=0)))
    table = table[starts]  # cells are in the order of their tables, before and after
    n_cells = np.bincount(table, minlength=len(sizes))
    if budget is None or int(n_cells.max(initial=0)) <= budget:
        return level, n_cells, made
    return _fitted(made, table, n_cells, level, budget)


def _ordered(lo: Keys, table: Ints, sizes: Ints, level: Ints) -> tuple[Ints, Mask]:
    """Sort cells by table and prefix, and find where a new cell begins."""
    is_start = np.ones(len(lo), dtype=bool)
    if not len(lo):
        return table, is_start
    prefix = shifted(lo, level, sizes)
    prefix = prefix - prefix.min()
    zeros = int(np.bitwise_or.reduce(prefix))
    zeros = (zeros & -zeros).bit_length() - 1 if zeros else 0
    prefix >>= np.uint64(zeros)
    width = int(prefix.max()).bit_length()
    if int(table[-1]).bit_length() + width <= _BITS:
        if table[-1]:
            prefix |= table.astype(np.uint64) << np.uint64(width)
        order = np.argsort(prefix, kind="stable")
        ordered = prefix[order]
        np.not_equal(ordered[1:], ordered[:-1], out=is_start[1:])
        return order, is_start
    by_prefix = np.argsort(prefix, kind="stable")
    of_prefix = table[by_prefix].astype(np.uint16)
    order = by_prefix[np.argsort(of_prefix, kind="stable")]
    ordered, tables = prefix[order], table[order]
    np.not_equal(ordered[1:], ordered[:-1], out=is_start[1:])
    is_start[1:] |= tables[1:] != tables[:-1]
    return order, is_start


def _fitted(
    cells: Cells, table: Ints, sizes: Ints, level: Ints, budget: int
) -> tuple[Ints, Ints, Cells]:
    """Raise the level of each table that is over budget to the lowest that fits."""
    gaps = cells.lo[1:] ^ cells.lo[:-1]
    gaps &= ~(gaps >> np.uint64(1))  # so that rounding to a float carries into no other bit
    bits = np.frexp(gaps.astype(np.float64))[1].astype(np.int64)
    is_inner = table[1:] == table[:-1]
    of_bits = (table[1:] * (_BITS + 1) + bits)[is_inner]
    counts = np.bincount(of_bits, minlength=len(sizes) * (_BITS + 1)).reshape(len(sizes), -1)
    above = sizes[:, None] - 1 - np.cumsum(counts, axis=1)  # the gaps that remain at a level
    raised = np.maximum(level, (above > budget - 1).sum(axis=1))
    is_start = np.ones(len(cells), dtype=bool)
    is_start[1:] = ~is_inner | (bits > raised[table[1:]])
    starts = np.flatnonzero(is_start)
    ends = np.append(starts[1:], len(cells)) - 1
    made = Cells(
        cells.lo[starts], cells.hi[ends], cells.pos.sum_runs(starts), cells.neg.sum_runs(starts)
    )
    return raised, np.bincount(table[starts], minlength=len(sizes)), made


def _merged(cells: Cells, order: Ints, starts: Indices, level: int) -> Cells:
    """Merge the runs of ordered cells that begin at `starts`."""
    if not len(starts):
        return cells
    sizes = np.diff(starts, append=len(order))
    n_inner = len(order) - len(starts) - np.count_nonzero(sizes > 1)
    is_whole = cells.pos.is_whole and cells.neg.is_whole
    if n_inner > len(order) * _OFTEN or (n_inner and not is_whole):
        ordered = cells[order]
        lo = hi = ordered.lo[starts]
        if level:
            lo, hi = (
                np.minimum.reduceat(ordered.lo, starts),
                np.maximum.reduceat(ordered.hi, starts),
            )
        return Cells(lo, hi, ordered.pos.sum_runs(starts), ordered.neg.sum_runs(starts))
    made = cells._paired(order[starts], order[starts + sizes - 1], level)
    if n_inner:  # most runs have one or two cells: add the rest to these
        long = np.flatnonzero(sizes > 2)
        run = np.repeat(long, sizes[long] - 2)
        inner = order[run_indices(starts[long] + 1, sizes[long] - 2)]
        if level:
            np.minimum.at(made.lo, run, cells.lo[inner])
            np.maximum.at(made.hi, run, cells.hi[inner])
        np.add.at(made.pos.whole, run, cells.pos.whole[inner])
        np.add.at(made.neg.whole, run, cells.neg.whole[inner])
    return made
