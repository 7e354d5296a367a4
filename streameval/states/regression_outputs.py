"""Exact sums of errors of rows with several outputs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain, pairwise
from typing import Any, Self, final

import attrs
import numpy as np

from streameval.configs.regression import RegressionConfig
from streameval.errors import require
from streameval.exact.array_types import Floats
from streameval.exact.exact_sum import ExactSum
from streameval.exact.fixed_point import FixedPoint
from streameval.states.column import Column
from streameval.states.regression import MeasuredSums
from streameval.states.state import BudgetedState

_SUMS = ("error", "absolute_error", "squared_error", "truth", "squared_truth")


@final
@attrs.frozen
class OutputSums(BudgetedState):
    """The fields of `MeasuredSums` for each of d outputs, one after the other.

    Parameters
    ----------
    n : FixedPoint, shape ()
        The sum of the weights, of rows.
    error, absolute_error, squared_error, truth, squared_truth : tuple of d ExactSum
        As for one output.
    terms : tuple of d T ExactSum
        The sum of each term of the configuration, output by output.
    extremes : Column of uint64, shape (d E,)
        The key of the maximum of each extreme of the configuration, output by output.
    levels, sizes : Column of int64, shape (d,); (0,) without sketches
        How many low bits the keys in a cell of each sketch may differ in, and its number of cells.
    lo, hi : Column of uint64, shape (m,)
        The ends of all cells.
    weight : FixedPoint, shape (m,)
        The weights in them.
    """

    error: tuple[ExactSum, ...]
    absolute_error: tuple[ExactSum, ...]
    squared_error: tuple[ExactSum, ...]
    truth: tuple[ExactSum, ...]
    squared_truth: tuple[ExactSum, ...]
    terms: tuple[ExactSum, ...]
    extremes: Column
    levels: Column
    sizes: Column
    lo: Column
    hi: Column = attrs.field(metadata={"above": "lo"})
    weight: FixedPoint

    @classmethod
    def zero(cls, config: RegressionConfig) -> Self:
        """Sum nothing."""
        return cls._of([MeasuredSums.zero(config)] * config.n_outputs)

    @classmethod
    def of(
        cls, config: RegressionConfig, truth: Floats, prediction: Floats, weights: FixedPoint | None
    ) -> Self:
        """Sum a batch of truths and predictions of shape (n, d)."""
        columns = (np.ascontiguousarray(part.T) for part in (truth, prediction))
        pairs = zip(*columns, strict=True)
        return cls._of([MeasuredSums.of(config, y, p, weights) for y, p in pairs])

    @classmethod
    def _of(cls, outputs: Sequence[MeasuredSums]) -> Self:
        """Put the sums of outputs side by side."""
        sums = (tuple(getattr(one, name) for one in outputs) for name in _SUMS)
        sizes = [len(one.lo) for one in outputs if len(one.level)]
        fields: tuple[Any, ...] = (
            outputs[0].n,
            *sums,
            tuple(chain.from_iterable(one.terms for one in outputs)),
            _side_by_side([one.extremes for one in outputs]),
            _side_by_side([one.level for one in outputs]),
            Column(np.array(sizes, dtype=np.int64)),
            _side_by_side([one.lo for one in outputs]),
            _side_by_side([one.hi for one in outputs]),
            FixedPoint.concatenate([one.weight for one in outputs]),
        )
        return cls(*fields)

    def outputs(self) -> list[MeasuredSums]:
        """Split the sums of the outputs."""
        n_outputs = len(self.error)
        n_terms, n_extremes = len(self.terms) // n_outputs, len(self.extremes) // n_outputs
        sizes = self.sizes.values.tolist() or [0] * n_outputs
        ends = pairwise(accumulate(sizes, initial=0))
        found = []
        for index, (start, end) in enumerate(ends):
            fields: tuple[Any, ...] = (
                self.n,
                *(getattr(self, name)[index] for name in _SUMS),
                self.terms[index * n_terms : (index + 1) * n_terms],
                Column(self.extremes.values[index * n_extremes : (index + 1) * n_extremes]),
                Column(self.levels.values[index : index + 1]),
                Column(self.lo.values[start:end]),
                Column(self.hi.values[start:end]),
                self.weight[start:end],
            )
            found.append(MeasuredSums(*fields))
        return found

    def joined(self, other: Self, budget: int | None) -> Self:
        """Add output by output, and keep the budget of each sketch."""
        pairs = zip(self.outputs(), other.outputs(), strict=True)
        return self._of([mine.joined(theirs, budget) for mine, theirs in pairs])

    def check(self, config: RegressionConfig) -> None:
        """Check that each output has its share of the fields, then check the outputs."""
        n_outputs, n_sketches = config.n_outputs, config.n_outputs * config.has_sketch
        for name in _SUMS:
            sums = getattr(self, name)
            are_sums = all(isinstance(total, ExactSum) for total in sums)
            require(are_sums and len(sums) == n_outputs, f"{name} of other outputs")
        require(len(self.terms) == n_outputs * len(config.terms), "terms of other outputs")
        n_extremes = n_outputs * len(config.extremes)
        require(len(self.extremes) == n_extremes, "extremes of other outputs")
        require(len(self.levels) == n_sketches, "levels of other outputs")
        sizes, n_cells = self.sizes.values, len(self.lo)
        is_column = self.sizes.kind == "int64" and len(sizes) == n_sketches
        require(is_column, "sizes of other outputs")
        is_within = bool(((sizes >= 0) & (sizes <= n_cells)).all())
        require(is_within and sum(sizes.tolist()) == n_cells, "sizes of other cells")
        are_cells = len(self.hi) == n_cells and self.weight.shape == (n_cells,)
        require(are_cells, "the ends of the cells")
        for one in self.outputs():
            one.check(config)


def _side_by_side(columns: Sequence[Column]) -> Column:
    return Column(np.concatenate([column.values for column in columns]))
