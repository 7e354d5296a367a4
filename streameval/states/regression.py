"""Exact sums of errors and of the truth, and the additional sums of measures."""

from __future__ import annotations

import math
import operator
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Self, final

import attrs
import numpy as np

from streameval.configs.error_measures import PREDICTION, SQUARED_PREDICTION, Term
from streameval.configs.regression import RegressionConfig
from streameval.errors import require
from streameval.exact.array_types import Floats, Indices, Ints
from streameval.exact.cell_sums import cell_squares, cell_sums, single_sum
from streameval.exact.exact_sum import ExactSum, added_sums
from streameval.exact.fixed_point import FixedPoint, total_weight
from streameval.exact.power_sums import power_sums, sum_and_square
from streameval.exact.score_keys import are_keys, keys_of, scores_of
from streameval.states.cells import Cells
from streameval.states.column import Column
from streameval.states.curve import check_weighted_cells
from streameval.states.error_terms import NONNEGATIVE, ErrorRows
from streameval.states.stack import Stack, SummableState, are_same
from streameval.states.state import BudgetedState, check_total, field_getter
from streameval.states.tables import joined_tables

_UNITS = ExactSum.of(np.ones(1)).units
LARGEST_SUM = _UNITS << 1000  # sums of accepted numbers stay far below
_NO_EXTREME = np.uint64(0)  # below the keys of all numbers
_ZERO_ERROR = np.uint64(1 << 63)  # the key of 0.0


@attrs.frozen
class ErrorSums(SummableState):
    """The weighted, exact sums behind the usual metrics of numbers.

    The error is the prediction minus the truth, rounded once to float64; its square and those
    of the truth are kept without rounding.

    Parameters
    ----------
    n : FixedPoint, shape ()
        The sum of the weights.
    error, absolute_error, squared_error : ExactSum
        The sums of the errors.
    truth, squared_truth : ExactSum
        The sums of the true values.
    """

    error: ExactSum
    absolute_error: ExactSum
    squared_error: ExactSum
    truth: ExactSum
    squared_truth: ExactSum

    @classmethod
    @abstractmethod
    def of(
        cls, config: RegressionConfig, truth: Floats, prediction: Floats, weights: FixedPoint | None
    ) -> Self:
        """Sum a batch."""

    def check(self, config: RegressionConfig) -> None:
        """Check ranges, and that squares are at least what their means imply."""
        check_total(self.n)
        n = self.n.to_fraction()
        check_squares("error", self.error, self.squared_error, n)
        check_squares("absolute_error", self.absolute_error, self.squared_error, n)
        check_squares("truth", self.truth, self.squared_truth, n)
        require(abs(self.error.units) <= self.absolute_error.units, "error passes absolute_error")
        require(n or self == self.zero(config), "sums of nothing")


def check_squares(name: str, total: ExactSum, squares: ExactSum, n: Fraction) -> None:
    """Check that the squares of n numbers are at least what their mean implies."""
    spare = ExactSum(round((n + 1) * 2**64)).to_fraction()  # squares below 2**-968 are rounded
    enough = total.to_fraction() ** 2 <= n * (squares.to_fraction() + spare)
    require(enough and 0 <= squares.units < LARGEST_SUM, f"{name} passes its squares")


def _summed(truth: Floats, prediction: Floats, weights: FixedPoint | None) -> tuple[Any, ...]:
    """Sum a batch into the fields that every state has."""
    errors = power_sums(prediction, weights, less=truth)
    of_truth = sum_and_square(truth, weights)
    return (total_weight(weights, len(truth)), *errors, *of_truth)


@final
@attrs.frozen
class RegressionSums(ErrorSums):
    """The sums, if no measure needs more."""

    @classmethod
    def zero(cls, config: RegressionConfig) -> Self:  # noqa: ARG003 - one signature for all
        """Sum nothing."""
        nothing = ExactSum()
        return cls(FixedPoint.zeros(()), nothing, nothing, nothing, nothing, nothing)

    @classmethod
    def of(
        cls,
        config: RegressionConfig,  # noqa: ARG003
        truth: Floats,
        prediction: Floats,
        weights: FixedPoint | None,
    ) -> Self:
        """Sum a batch."""
        return cls(*_summed(truth, prediction, weights))

    @staticmethod
    def of_groups(
        truth: Floats, prediction: Floats, groups: Indices, n_groups: int
    ) -> dict[str, Stack]:
        """Sum the rows of many groups at once, without weights; the states are stacked."""
        error, counts = prediction - truth, np.bincount(groups, minlength=n_groups)
        sums = {
            "error": cell_sums(error, None, groups, n_groups),
            "absolute_error": cell_sums(np.abs(error), None, groups, n_groups),
            "squared_error": cell_squares(error, groups, n_groups),
            "truth": cell_sums(truth, None, groups, n_groups),
            "squared_truth": cell_squares(truth, groups, n_groups),
        }
        n = Stack.of_numbers(FixedPoint(counts), ())
        return {"n": n} | {name: Stack.of_values(own) for name, own in sums.items()}

    @classmethod
    def sum_of(cls, states: Sequence[Any], config: RegressionConfig) -> Self:
        """Add up one or more states: many as five columns of integers, not as five sums a state."""
        if len(states) < 3:
            return super().sum_of(states, config)
        counts, *sums = zip(*map(field_getter(cls), states), strict=True)
        totals = (ExactSum(sum(one.units for one in part)) for part in sums)
        return cls(FixedPoint.total_of(counts), *totals)


@final
@attrs.frozen
class MeasuredSums(BudgetedState, ErrorSums):
    """The sums, and the additional counts that measures need.

    Parameters
    ----------
    terms : tuple of ExactSum
        The sum of each term of the measures, each once, in their order; for intervals then those
        of e**4, e**2 y, e**2 y**2, y**3 and y**4, for the error e and the truth y.
    extremes : Column of uint64, shape (E,)
        The key of the maximum of each extreme of the configuration; 0 without rows.
    level : Column of int64, shape (1,); (0,) without a sketch
        How many low bits the keys in a cell of the sketch may differ in.
    lo, hi : Column of uint64, shape (m,)
        The ends of the cells: keys of absolute errors.
    weight : FixedPoint, shape (m,)
        The weights in them.
    """

    terms: tuple[ExactSum, ...]
    extremes: Column
    level: Column
    lo: Column
    hi: Column = attrs.field(metadata={"above": "lo"})
    weight: FixedPoint

    @classmethod
    def zero(cls, config: RegressionConfig) -> Self:
        """Sum nothing."""
        nothing = ExactSum()
        extremes = Column(np.full(len(config.extremes), _NO_EXTREME))
        fields: tuple[Any, ...] = (
            FixedPoint.zeros(()),
            *(nothing,) * 5,
            (nothing,) * len(config.terms),
            extremes,
            *_sketch(0, Cells.none(), config.has_sketch),
        )
        return cls(*fields)

    @classmethod
    def of(
        cls, config: RegressionConfig, truth: Floats, prediction: Floats, weights: FixedPoint | None
    ) -> Self:
        """Sum a batch; `fitted` keeps the budget."""
        rows = ErrorRows(truth, prediction, prediction - truth)
        base = _summed(truth, prediction, weights)
        terms = tuple(single_sum(rows.terms(term), weights) for term in config.terms)
        kept, held = rows, weights
        if weights is not None:
            positive = np.flatnonzero(weights.is_positive())
            kept, held = rows.taken(positive), weights.select(positive)
        keys = [_largest(kept.extreme(name)) for name in config.extremes]
        level, cells = 0, Cells.none()
        if config.has_sketch:
            errors = np.abs(kept.error)
            every = np.ones(len(errors), dtype=bool)
            level, cells = cells.with_rows_within(errors, "real", every, held, 0, config.budget)
        extremes = Column(np.array(keys, dtype=np.uint64))
        sketch = _sketch(level, cells, config.has_sketch)
        fields: tuple[Any, ...] = (*base, terms, extremes, *sketch)
        return cls(*fields)

    def joined(self, other: Self, budget: int | None) -> Self:
        """Add sum by sum, join the cells, and keep the budget."""
        sums, level, cells = field_getter(RegressionSums), 0, Cells.none()
        if len(self.level):
            level = max(self._level, other._level)
            level, cells = self.cells.joined_within(other.cells, level, budget)
        fields: tuple[Any, ...] = (
            *map(operator.add, sums(self), sums(other)),
            added_sums(self.terms, other.terms),
            Column(np.maximum(self.extremes.values, other.extremes.values)),
            *_sketch(level, cells, bool(len(self.level))),
        )
        return type(self)(*fields)

    @classmethod
    def sum_all(
        cls, config: RegressionConfig, fields: Mapping[str, Stack], sizes: Ints
    ) -> dict[str, Stack]:
        """Add up runs of states: sums, extremes, and cells within the budget of each run."""
        added = [field.name for field in attrs.fields(RegressionSums)] + ["terms"]
        starts, n_extremes = np.cumsum(sizes) - sizes, len(config.extremes)
        extremes = fields["extremes"].items.reshape(int(sizes.sum()), n_extremes)
        highest = np.maximum.reduceat(extremes, starts, axis=0)
        stacks = {name: fields[name].summed(sizes) for name in added}
        stacks["extremes"] = Stack.of_vectors(highest.ravel(), np.full(len(sizes), n_extremes))
        lo, hi, weight = (fields[name] for name in ("lo", "hi", "weight"))
        levels, lengths = fields["level"].items, np.zeros_like(sizes)
        cells = Cells.of_weights(lo.items, hi.items, weight.items)
        if config.has_sketch:
            levels, lengths, cells = joined_tables(cells, lo.lengths, levels, sizes, config.budget)
        has_fraction = np.logical_or.reduceat(weight.has_fraction, starts)
        return stacks | {
            "level": Stack.of_vectors(levels, np.full(len(sizes), int(config.has_sketch))),
            "lo": Stack.of_vectors(cells.lo, lengths),
            "hi": Stack.of_vectors(cells.hi, lengths),
            "weight": Stack.of_vectors(cells.pos, lengths, has_fraction),
        }

    @property
    def cells(self) -> Cells:
        """The cells of the sketch, each with its weight."""
        return Cells.of_weights(self.lo.values, self.hi.values, self.weight)

    @property
    def _level(self) -> int:
        return int(self.level.values[0])

    def extreme(self, config: RegressionConfig, name: str) -> float:
        """Return a maximum; nan without examples."""
        if not self.has_counted:
            return math.nan
        key = self.extremes.values[[config.extremes.index(name)]]
        return float(scores_of(key, "real")[0])

    def term(self, config: RegressionConfig, term: Term) -> ExactSum:
        """Return the sum of a term."""
        return self.terms[config.terms.index(term)]

    def check(self, config: RegressionConfig) -> None:
        """Check shapes and ranges too, and that the cells hold every row."""
        terms = zip(config.terms, self.terms, strict=False)
        is_sum = all(isinstance(total, ExactSum) for total in self.terms)
        require(is_sum and len(self.terms) == len(config.terms), "terms")
        for term, total in terms:
            smallest = 0 if term.name in NONNEGATIVE else -LARGEST_SUM
            require(smallest <= total.units < LARGEST_SUM, f"term {term.name} is out of range")
        self._check_extremes(config)
        self._check_sketch(config)
        super().check(config)
        if SQUARED_PREDICTION in config.terms:
            squares = self.term(config, SQUARED_PREDICTION)
            of_prediction = self.term(config, PREDICTION)
            check_squares("prediction", of_prediction, squares, self.n.to_fraction())

    def _check_extremes(self, config: RegressionConfig) -> None:
        keys = self.extremes.values
        is_column = self.extremes.kind == "uint64" and len(keys) == len(config.extremes)
        require(is_column, "extremes")
        if not self.n.is_positive():
            return
        is_number = are_keys(keys, "real") and np.isfinite(scores_of(keys, "real")).all()
        require(is_number, "extremes of no numbers")
        if "absolute_error" in config.extremes:
            require(self.extreme(config, "absolute_error") >= 0.0, "a maximal error below 0")
        if "truth" in config.extremes:
            highest, lowest = (self.extreme(config, name) for name in ("truth", "negated_truth"))
            require(highest + lowest >= 0.0, "the maximum of the truth is below its minimum")

    def _check_sketch(self, config: RegressionConfig) -> None:
        levels = self.level.values
        is_level = self.level.kind == "int64" and len(levels) == int(config.has_sketch)
        require(is_level, "level")
        are_errors = bool((self.lo.values >= _ZERO_ERROR).all())
        require(are_errors or not config.has_sketch, "an absolute error below 0")
        sizes = np.full(len(levels), len(self.lo))
        check_weighted_cells(levels, sizes, self.lo, self.hi, self.weight, config.budget)
        if not config.has_sketch:
            return
        require(self.weight.is_whole == self.n.is_whole, "n differs from the cells in its fraction")
        require(are_same(self.weight.totals(), self.n), "n differs from the sum of the cells")


def _sketch(
    level: int, cells: Cells, has_sketch: bool
) -> tuple[Column, Column, Column, FixedPoint]:
    """Make the fields of the sketch."""
    levels = np.full(int(has_sketch), level, dtype=np.int64)
    return Column(levels), Column(cells.lo), Column(cells.hi), cells.pos


def _largest(values: Floats) -> np.uint64:
    """Return the key of the largest value, or a special key without values."""
    return keys_of(values.max(keepdims=True), "real")[0] if len(values) else _NO_EXTREME
