"""Exact sums, extremes and cells of values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Self, final

import attrs
import numpy as np

from streameval.configs.values import MeanConfig
from streameval.errors import require
from streameval.exact.array_types import Floats, Ints
from streameval.exact.exact_sum import ExactSum, added_sums
from streameval.exact.fixed_point import FixedPoint, total_weight
from streameval.exact.power_sums import power_sums
from streameval.exact.score_keys import are_keys, keys_of, scores_of
from streameval.states.cells import Cells
from streameval.states.column import Column
from streameval.states.curve import check_weighted_cells
from streameval.states.regression import LARGEST_SUM, check_squares
from streameval.states.stack import Stack, SummableState, are_same
from streameval.states.state import BudgetedState, check_numbers, check_total
from streameval.states.tables import (
    LeveledCells,
    columns_of,
    joined_each,
    joined_tables_of_states,
    tables_of,
)

_NO_HIGHEST, _NO_LOWEST = np.uint64(0), np.uint64(2**64 - 1)
_SUMS = ("total", "magnitude", "squares")


@final
@attrs.frozen
class ValueSums(BudgetedState, SummableState):
    """What is known of the values of K columns.

    Parameters
    ----------
    n : FixedPoint, shape ()
        The sum of the weights of rows with a value in some column.
    skipped : FixedPoint, shape ()
        The weight of rows left out because all their values are NaN.
    counts : FixedPoint, shape (K,)
        The sum of the weights of the values of each column.
    total, magnitude, squares : tuple of K ExactSum
        The weighted sums of the values, of their magnitudes and of their squares.
    lowest, highest : Column of uint64, shape (K,)
        The keys of the min and the max; beyond the keys of all numbers without values.
    levels, sizes : Column of int64, shape (K,); (0,) without quantiles
        How many low bits the keys in a cell of each column may differ in, and its number of cells.
    lo, hi : Column of uint64, shape (m,)
        The ends of all cells.
    weight : FixedPoint, shape (m,)
        The weights in them.
    """

    skipped: FixedPoint
    counts: FixedPoint
    total: tuple[ExactSum, ...]
    magnitude: tuple[ExactSum, ...]
    squares: tuple[ExactSum, ...]
    lowest: Column
    highest: Column
    levels: Column
    sizes: Column
    lo: Column
    hi: Column = attrs.field(metadata={"above": "lo"})
    weight: FixedPoint

    @classmethod
    def zero(cls, config: MeanConfig) -> Self:
        """Sum nothing."""
        return cls.of(config, np.zeros((0, config.n_columns)), None)

    @classmethod
    def of(cls, config: MeanConfig, values: Floats, weights: FixedPoint | None) -> Self:
        """Sum rows of shape (n, K), each with at least one value that is not NaN."""
        columns = [_known(column, weights, config) for column in values.T]
        sums = [power_sums(*column) for column in columns]
        total, magnitude, squares = zip(*sums, strict=True)
        found = [_extremes(column) for column, _ in columns]
        lowest, highest = (np.array(ends, dtype=np.uint64) for ends in zip(*found, strict=True))
        counts = [total_weight(held, len(column)).reshape(1) for column, held in columns]
        tables = [_table(*column, config.budget) for column in columns] if config.has_sketch else []
        return cls(
            total_weight(weights, len(values)),
            FixedPoint.zeros(()),
            FixedPoint.concatenate(counts),
            total,
            magnitude,
            squares,
            Column(lowest),
            Column(highest),
            *_fields_of(tables),
        )

    def tables(self) -> Iterator[LeveledCells]:
        """Yield the level and the cells of each column; none without quantiles."""
        cells = Cells.of_weights(self.lo.values, self.hi.values, self.weight)
        return tables_of(self.levels, self.sizes, cells)

    def joined(self, other: Self, budget: int | None) -> Self:
        """Add sum by sum, join the cells of each column, and keep the budget."""
        tables = joined_each(self.tables(), other.tables(), budget)
        return type(self)(
            self.n + other.n,
            self.skipped + other.skipped,
            self.counts + other.counts,
            added_sums(self.total, other.total),
            added_sums(self.magnitude, other.magnitude),
            added_sums(self.squares, other.squares),
            Column(np.minimum(self.lowest.values, other.lowest.values)),
            Column(np.maximum(self.highest.values, other.highest.values)),
            *_fields_of(tables),
        )

    @classmethod
    def sum_all(
        cls, config: MeanConfig, fields: Mapping[str, Stack], sizes: Ints
    ) -> dict[str, Stack]:
        """Add up runs of states: sums, extremes, and cells within the budget of each column."""
        n_columns = config.n_columns
        stacks = {name: fields[name].summed(sizes) for name in ("n", "skipped", "counts", *_SUMS)}
        starts, lengths = np.cumsum(sizes) - sizes, np.full(len(sizes), n_columns)
        for name, better in (("lowest", np.minimum), ("highest", np.maximum)):
            keys = fields[name].items.reshape(int(sizes.sum()), n_columns)
            found = better.reduceat(keys, starts, axis=0)
            stacks[name] = Stack.of_vectors(found.ravel(), lengths)
        lo, hi, weight = (fields[name] for name in ("lo", "hi", "weight"))
        levels, n_cells = (fields[name].items for name in ("levels", "sizes"))
        cells = Cells.of_weights(lo.items, hi.items, weight.items)
        if not config.has_sketch:
            lengths = of_states = np.zeros_like(sizes)
        else:
            levels, n_cells, cells = joined_tables_of_states(
                cells, n_cells, levels, sizes, n_columns, config.budget
            )
            of_states = n_cells.reshape(-1, n_columns).sum(axis=1)
        has_fraction = np.logical_or.reduceat(weight.has_fraction, starts)
        return stacks | {
            "levels": Stack.of_vectors(levels, lengths),
            "sizes": Stack.of_vectors(n_cells, lengths),
            "lo": Stack.of_vectors(cells.lo, of_states),
            "hi": Stack.of_vectors(cells.hi, of_states),
            "weight": Stack.of_vectors(cells.pos, of_states, has_fraction),
        }

    def check(self, config: MeanConfig) -> None:
        """Check shapes and ranges, and that sums, extremes and cells are of the same values."""
        n_columns = config.n_columns
        check_total(self.n)
        check_numbers(self.skipped, (), "skipped")
        check_numbers(self.counts, (n_columns,), "counts")
        is_skipped = bool(self.skipped.is_positive())
        require(is_skipped or self.skipped.is_whole, "skipped has fractions of nothing")
        require(is_skipped <= (config.nan == "skip"), "skipped rows")
        require(self.counts.is_whole == self.n.is_whole, "counts differ from n in their fractions")
        counts, n = [self.counts[index].to_fraction() for index in range(n_columns)], self._n
        is_full = config.nan == "raise" or n_columns == 1
        within = all(count == n if is_full else count <= n for count in counts)
        require(within and sum(counts) >= n, "counts of other rows")
        for name in _SUMS:
            sums = getattr(self, name)
            are_sums = all(isinstance(one, ExactSum) for one in sums)
            require(are_sums and len(sums) == n_columns, f"{name} of other columns")
        for name, keys in (("lowest", self.lowest), ("highest", self.highest)):
            require(keys.kind == "uint64" and len(keys) == n_columns, name)
        for index, count in enumerate(counts):
            self._check_sums(index, count)
        self._check_tables(config)

    @property
    def _n(self) -> Fraction:
        return self.n.to_fraction()

    def _check_sums(self, index: int, count: Fraction) -> None:
        """Check that sums are those of values between the extremes."""
        total, magnitude, squares = (getattr(self, name)[index] for name in _SUMS)
        keys = np.array([self.lowest.values[index], self.highest.values[index]])
        if not count:
            is_zero = not (total.units or magnitude.units or squares.units)
            is_none = keys.tolist() == [int(_NO_LOWEST), int(_NO_HIGHEST)]
            require(is_zero and is_none, "sums of nothing")
            return
        require(are_keys(keys, "real") and keys[0] <= keys[1], "extremes that are no numbers")
        low, high = scores_of(keys, "real")
        require(bool(np.isfinite([low, high]).all()), "extremes that are not finite")
        within = Fraction(low) * count <= total.to_fraction() <= Fraction(high) * count
        require(within, "a total beyond the extremes")
        require(abs(total.units) <= magnitude.units < LARGEST_SUM, "a total beyond the magnitudes")
        check_squares("magnitude", magnitude, squares, count)

    def _check_tables(self, config: MeanConfig) -> None:
        """Check that the cells of each column hold its values."""
        n_tables = config.n_columns * config.has_sketch
        levels, sizes = self.levels, self.sizes
        are_columns = levels.kind == sizes.kind == "int64"
        require(are_columns and len(levels) == len(sizes) == n_tables, "tables of other columns")
        n_cells = sizes.values
        within = bool(((n_cells >= 0) & (n_cells <= len(self.lo))).all())
        require(within and sum(n_cells.tolist()) == len(self.lo), "sizes of other cells")
        check_weighted_cells(levels.values, n_cells, self.lo, self.hi, self.weight, config.budget)
        if not config.has_sketch:
            return
        require(self.weight.is_whole == self.n.is_whole, "n differs from the cells in its fraction")
        totals = self.weight.run_totals(n_cells)
        require(are_same(totals, self.counts), "counts differ from the sums of the cells")
        held = np.flatnonzero(n_cells)
        ends = np.cumsum(n_cells)[held]
        first, last = self.lo.values[ends - n_cells[held]], self.hi.values[ends - 1]
        is_lowest = np.array_equal(first, self.lowest.values[held])
        is_highest = np.array_equal(last, self.highest.values[held])
        require(is_lowest and is_highest, "cells beyond the extremes")


def _known(
    column: Floats, weights: FixedPoint | None, config: MeanConfig
) -> tuple[Floats, FixedPoint | None]:
    """Take the values of a column that are not NaN, with their weights."""
    values = np.ascontiguousarray(column)
    is_gap = np.isnan(values) if config.nan == "skip" else np.zeros(0, dtype=bool)
    if not is_gap.any():
        return values, weights
    known = np.flatnonzero(~is_gap)
    return values[known], None if weights is None else weights.select(known)


def _extremes(values: Floats) -> tuple[np.uint64, np.uint64]:
    """Find the keys of the min and the max; special ones without values."""
    if not len(values):
        return _NO_LOWEST, _NO_HIGHEST
    low, high = keys_of(np.array([values.min(), values.max()]), "real")
    return low, high


def _table(values: Floats, weights: FixedPoint | None, budget: int | None) -> LeveledCells:
    if not len(values):
        return 0, Cells.none()
    every = np.ones(len(values), dtype=bool)
    return Cells.none().with_rows_within(values, "real", every, weights, 0, budget)


def _fields_of(tables: Iterable[LeveledCells]) -> tuple[Column, Column, Column, Column, FixedPoint]:
    """Make the fields of the tables."""
    levels, sizes, cells = columns_of(tables)
    return levels, sizes, Column(cells.lo), Column(cells.hi), cells.pos
